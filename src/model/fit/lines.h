/* Internal to fit: texts line by line, and numbers in them. */
#ifndef LULL_MODEL_FIT_LINES_H
#define LULL_MODEL_FIT_LINES_H

#include "model/fit/read.h"

extern const struct lull_fit_format lull_fit_csv, lull_fit_extrap_text, lull_fit_extrap_lines;

struct lull_fit_lines {
    const char *rest, *end;
    size_t number; /* of the line last returned, from 1 */
    const char *path;
    struct lull_error *err;
    struct lull_arena *arena;
};

/* The next line without its end, a copy in the arena; NULL at the end. With `comments` empty lines
 * and those that begin with # are passed over. */
char *lull_fit_next_line(struct lull_fit_lines *lines, bool comments);

/* "PATH: line 4: ..." with LULL_ERR_FORMAT. */
lull_status lull_fit_wrong(const struct lull_fit_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The whole of the text is a number in C's decimal notation. */
bool lull_fit_number(const char *text, double *ret_value);

/* A text of a file for a message: cut where it is long. */
const char *lull_fit_excerpt(const char *text, struct lull_arena *arena);

/* Which of the file's parameters are wanted, as indices in the order of the options (all: in the
 * order of the file). Fails, naming the file, for unknown ones. */
lull_status lull_fit_pick(const struct lull_fit_lines *lines,
                          const struct lull_fit_read_options *options, const char *const *names,
                          size_t n_names, size_t ret_picked[LULL_FIT_PARAMETERS],
                          size_t *ret_count);

#endif
