/* Tables of measurements from files: CSV, and the text and JSON Lines files of Extra-P. */
#ifndef LULL_MODEL_FIT_READ_H
#define LULL_MODEL_FIT_READ_H

#include "model/fit/table.h"

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
