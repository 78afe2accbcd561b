/* What commands share in reading what the user typed. Mistakes are told here; functions return
 * LULL_EXIT_OK, or LULL_EXIT_USAGE after a message. */
#ifndef LULL_CLI_OPTIONS_H
#define LULL_CLI_OPTIONS_H

#include <popt.h>

/* An entry of an option table; its value is checked by lull_option_threads(). */
/* clang-format off */
#define LULL_THREADS_OPTION(threads) \
    {"threads", 'j', POPT_ARG_INT, &(threads), 0, "threads to read with (all processors)", "N"}
/* clang-format on */

/* A mistake that popt has found; `code` is what poptGetNextOpt() returned. */
int lull_bad_option(poptContext context, const struct poptOption *options, int code);

/* Which of the words (NULL at the end) the value of --NAME is, counted from 1; 0 where it is
 * NULL, not said. */
int lull_option_word(const char *name, const char *value, const char *const *words,
                     unsigned *ret_number);

/* The values of --threads (0: all processors) and --application. */
int lull_option_threads(int threads);
int lull_option_application(int application);

#endif
