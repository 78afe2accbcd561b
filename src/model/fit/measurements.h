/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements to be fitted: a table of parameters (processes, size ...), and for each region and
 * metric what was measured at which values of the parameters. A table is filled by its functions or
 * read from a file: CSV, or the text and JSON Lines files of Extra-P. It lives in an arena. */
#ifndef LULL_MODEL_FIT_MEASUREMENTS_H
#define LULL_MODEL_FIT_MEASUREMENTS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== the table =============================================================================== */

enum { LULL_FIT_PARAMETERS = 3 }; /* the most parameters of a table */

/* What was measured. It decides what a law of speedup says of it: a time falls where a rate
 * grows. */
enum lull_fit_kind {
    LULL_FIT_TIME,
    LULL_FIT_RATE,       /* work per time, speedup */
    LULL_FIT_EFFICIENCY, /* speedup per process */
    LULL_FIT_QUANTITY    /* anything else: laws of speedup say nothing of it */
};

/* One coordinate, with the mean of what was measured there. */
struct lull_fit_point {
    double x[LULL_FIT_PARAMETERS]; /* values of the parameters */
    double y;                      /* mean of the measurements, in the unit of the series */
    double repetitions;            /* how many measurements y is the mean of */
};

/* All measurements of one metric of one region. */
struct lull_fit_series {
    const char *region, *metric; /* "" where the file does not say */
    const char *unit;            /* "s"; "" if unknown */
    enum lull_fit_kind kind;
    struct lull_fit_point *points; /* after lull_fit_table_finish sorted by x, each coordinate once;
                                      before it as they were added */
    size_t count, capacity;
};

struct lull_fit_table {
    struct lull_arena *arena;
    const char *params[LULL_FIT_PARAMETERS];
    size_t n_params;
    struct lull_fit_series *series; /* in the order in which they were first asked for */
    size_t n_series, capacity;
};

/* An empty table. Fails with LULL_ERR_RANGE for no parameters or more than LULL_FIT_PARAMETERS. */
lull_status lull_fit_table_create(struct lull_arena *arena, const char *const *params,
                                  size_t n_params, struct lull_fit_table **ret_table,
                                  struct lull_error *err);

/* The series of a region and a metric, a new one where there is none. Its kind follows from the
 * name of the metric: "throughput", say, is a rate. The address is good until the next call. */
struct lull_fit_series *lull_fit_table_series(struct lull_fit_table *table, const char *region,
                                              const char *metric);

/* Adds one measurement. Fails with LULL_ERR_RANGE for a parameter that is not above 0 and for a
 * value that is negative or not finite; the message names no file or line. */
lull_status lull_fit_table_add(struct lull_fit_table *table, struct lull_fit_series *series,
                               const double *x, double y, struct lull_error *err);

/* The series for people: "time of solve", "time", "solve"; "value" where the file names neither
 * metric nor region. */
const char *lull_fit_series_name(const struct lull_fit_series *series, struct lull_arena *arena);

/* Sorts the points and joins repetitions; to be called after the last addition. */
void lull_fit_table_finish(struct lull_fit_table *table);

const char *lull_fit_kind_name(enum lull_fit_kind kind); /* "time", "throughput" ... */

/* ==== reading a file ========================================================================== */

struct lull_fit_read_options {
    const char *const *params; /* which parameters of the file are read, in this order; in a CSV
                                  names of columns; NULL: all */
    size_t n_params;
    const char *y; /* the column of a CSV that holds what was measured; NULL: the last. Files of
                      other formats have metrics instead. */
};

struct lull_fit_format {
    const char *name;
    bool has_columns; /* `y` of the options may name one */
    /* Whether a file that begins with `head` is of this format. */
    bool (*recognise)(const char *head, size_t size);
    lull_status (*read)(const char *text, size_t size, const char *path,
                        const struct lull_fit_read_options *options, struct lull_arena *arena,
                        struct lull_fit_table **ret_table, struct lull_error *err);
};

/* The format of a file, by its content; NULL: none of these, or the file cannot be read. */
const struct lull_fit_format *lull_fit_recognise(const char *path);

/* Reads a table, which is finished, lives in `arena` and has at least one series. Errors name file,
 * line and, in a CSV, column. */
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
