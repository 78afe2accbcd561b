/* What commands share in reading what the user typed. Those that return an exit status have told
 * mistakes. */
#ifndef LULL_CLI_OPTIONS_H
#define LULL_CLI_OPTIONS_H

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

/* Which of the options with these names, NULL at the end, was said: the first; NULL: none. */
const char *lull_option_said(const struct poptOption *options, const char *const *names);
#define LULL_OPTION_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The operands that are left, NULL at the end, and their number. */
const char *const *lull_operands(poptContext context, uint32_t *ret_count);

#endif
