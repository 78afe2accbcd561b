/* Values that users give to options --NAME, NULL where nothing was said. All fail with
 * LULL_ERR_RANGE and a text that begins with the option. */
#ifndef LULL_BASE_TEXT_OPTION_H
#define LULL_BASE_TEXT_OPTION_H

#include "base/error.h"

#include <stdint.h>

/* Which of the words (NULL at the end) it is, counted from 1; 0: not said. */
lull_status lull_option_word(const char *name, const char *value, const char *const *words,
                             unsigned *ret_number, struct lull_error *err);
/* A whole number from `least` to `most`; not said: *value stays. */
lull_status lull_option_number(const char *name, const char *text, uint64_t least, uint64_t most,
                               uint64_t *value, struct lull_error *err);
/* A number from `least` up that may have a fraction; not said: *value stays. */
lull_status lull_option_real(const char *name, const char *text, double least, double *value,
                             struct lull_error *err);
/* Percent from `least` to `most`, of which *value becomes a hundredth; not said: it stays. */
lull_status lull_option_percent(const char *name, const char *text, double least, double most,
                                double *value, struct lull_error *err);
/* A size of `least` bytes or more, and a time in ns of `least` or more, with units (base/text.h);
 * `expected` says in words what is too little. Not said: *value stays. */
lull_status lull_option_size(const char *name, const char *text, uint64_t least,
                             const char *expected, uint64_t *value, struct lull_error *err);
lull_status lull_option_time(const char *name, const char *text, int64_t least,
                             const char *expected, int64_t *value, struct lull_error *err);

#endif
