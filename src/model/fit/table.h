/* Measurements to be fitted: parameters (processes, size ...), and for each region and metric what
 * was measured at which values of them. */
#ifndef LULL_MODEL_FIT_TABLE_H
#define LULL_MODEL_FIT_TABLE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { LULL_FIT_PARAMETERS = 3 };

/* What a law of speedup says of a quantity depends on what it is. */
enum lull_fit_kind {
    LULL_FIT_TIME,
    LULL_FIT_RATE,       /* work per time, speedup */
    LULL_FIT_EFFICIENCY, /* speedup per process */
    LULL_FIT_QUANTITY    /* anything else: laws of speedup say nothing */
};

/* One coordinate, with the mean of what was measured there. */
struct lull_fit_point {
    double x[LULL_FIT_PARAMETERS];
    double y;
    double repetitions;
};

struct lull_fit_series {
    const char *region, *metric; /* "" where the file does not say */
    const char *unit;            /* "s"; "" if unknown */
    enum lull_fit_kind kind;
    struct lull_fit_point *points; /* by x, each coordinate once, after lull_fit_table_finish */
    size_t count, capacity;
};

struct lull_fit_table {
    struct lull_arena *arena;
    const char *params[LULL_FIT_PARAMETERS];
    size_t n_params;
    struct lull_fit_series *series; /* in order of arrival */
    size_t n_series, capacity;
};

/* An empty table. Fails with LULL_ERR_RANGE for none or more than LULL_FIT_PARAMETERS. */
lull_status lull_fit_table_create(struct lull_arena *arena, const char *const *params,
                                  size_t n_params, struct lull_fit_table **ret_table,
                                  struct lull_error *err);

/* The series of a region and a metric, a new one where there is none. The kind follows from the
 * name of the metric (lull_fit_kind_of); the address is good until the next call. */
struct lull_fit_series *lull_fit_table_series(struct lull_fit_table *table, const char *region,
                                              const char *metric);

/* One measurement. Fails with LULL_ERR_RANGE, without place, for a parameter that is not above 0
 * and a value that is negative or not finite. */
lull_status lull_fit_table_add(struct lull_fit_table *table, struct lull_fit_series *series,
                               const double *x, double y, struct lull_error *err);

/* "time of solve", "time", "solve"; "value" where nothing is said. */
const char *lull_fit_series_name(const struct lull_fit_series *series, struct lull_arena *arena);

/* Sorts points and puts repetitions together, after the last addition. */
void lull_fit_table_finish(struct lull_fit_table *table);

/* "throughput", "speedup", "rate", "performance" (also as the end of a longer name) are rates,
 * "efficiency" is an efficiency, "flops", "bytes" and the like are quantities only if said so:
 * everything else is taken as a time. */
enum lull_fit_kind lull_fit_kind_of(const char *metric);
const char *lull_fit_kind_name(enum lull_fit_kind kind); /* "time", "throughput" ... */

#endif
