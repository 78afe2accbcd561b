/* Tables of measurements from files: CSV, and the text and JSON Lines files of Extra-P. */
#ifndef LULL_MODEL_FIT_MEASUREMENTS_H
#define LULL_MODEL_FIT_MEASUREMENTS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== table =================================================================================== */

/* Measurements to be fitted: parameters (processes, size ...), and for each region and metric what
 * was measured at which values of them. */

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

const char *lull_fit_kind_name(enum lull_fit_kind kind); /* "time", "throughput" ... */

/* ==== read ==================================================================================== */

struct lull_fit_read_options {
    const char *const *params; /* columns of a CSV, or which parameters of others; NULL: all */
    size_t n_params;
    const char *y; /* column of a CSV; NULL: the last. Others have metrics. */
};

struct lull_fit_format {
    const char *name;
    bool has_columns; /* y may name one */
    /* Whether the file, which begins so, is of this format. */
    bool (*recognise)(const char *head, size_t size);
    lull_status (*read)(const char *text, size_t size, const char *path,
                        const struct lull_fit_read_options *options, struct lull_arena *arena,
                        struct lull_fit_table **ret_table, struct lull_error *err);
};

/* By content; NULL: the file is none of these, or cannot be read. */
const struct lull_fit_format *lull_fit_recognise(const char *path);

/* Errors name file, line and, in a CSV, column. The table is finished, lives in `arena` and has a
 * series at least. */
lull_status lull_fit_read(const char *path, const struct lull_fit_format *format,
                          const struct lull_fit_read_options *options, struct lull_arena *arena,
                          struct lull_fit_table **ret_table, struct lull_error *err);

/* The same from memory, of a recognised format; `path` serves messages. */
lull_status lull_fit_parse(const char *text, size_t size, const char *path,
                           const struct lull_fit_format *format,
                           const struct lull_fit_read_options *options, struct lull_arena *arena,
                           struct lull_fit_table **ret_table, struct lull_error *err);
const struct lull_fit_format *lull_fit_recognise_text(const char *text, size_t size);

#endif
