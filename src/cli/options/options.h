/* What commands share in reading what the user typed. Functions that return a status tell nothing:
 * lull_cli_refuse() does, with LULL_ERR_RANGE as wrong usage. Those that return an exit status have
 * told mistakes. */
#ifndef LULL_CLI_OPTIONS_H
#define LULL_CLI_OPTIONS_H

#include "base/error.h"

#include <popt.h>
#include <stdbool.h>
#include <stdint.h>

/* What popt returns when it meets an option: whole numbers whose limits lull_read_options() checks,
 * and the one that every command has. */
enum lull_option_id {
    LULL_OPTION_HELP = 1,
    LULL_OPTION_THREADS,
    LULL_OPTION_APPLICATION,
    LULL_OPTION_DIGITS
};

/* Entries of option tables; their values are objects of static storage. 0 threads are all
 * processors; applications count from 1, and are 1 where nothing is said. */
/* clang-format off */
#define LULL_THREADS_OPTION(threads, purpose) \
    {"threads", 'j', POPT_ARG_INT, &(threads), LULL_OPTION_THREADS, \
     purpose " (all processors)", "N"}
#define LULL_APPLICATION_OPTION(application, meaning) \
    {"application", '\0', POPT_ARG_INT, &(application), LULL_OPTION_APPLICATION, \
     meaning " (1)", "N"}
#define LULL_RAW_NAMES_OPTION(raw_names) \
    {"raw-names", '\0', POPT_ARG_NONE, &(raw_names), 0, \
     "names of C++ and Fortran functions as the run has them", NULL}
/* clang-format on */

/* Reads all options. `options` also has --help, and ends with an empty entry. *ret_help: it was
 * asked for, and what follows it is not read. */
int lull_read_options(poptContext context, const struct poptOption *options, bool *ret_help);

/* The operands that are left, NULL at the end, and their number. */
const char *const *lull_operands(poptContext context, uint32_t *ret_count);
/* The only operand, NULL where there is none; `what` it may be. */
int lull_one_operand(poptContext context, const char *what, const char **ret_operand);

/* Values of options --NAME, NULL where nothing was said. Fail with LULL_ERR_RANGE. */

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

#endif
