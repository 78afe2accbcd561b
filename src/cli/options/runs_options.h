/* What commands that analyse runs share in reading what the user typed. */
#ifndef LULL_CLI_RUNS_OPTIONS_H
#define LULL_CLI_RUNS_OPTIONS_H

#include "cli/call.h"
#include "study/compare.h"

#include <popt.h>

/* As typed; NULL and 0 where nothing was said, but application, which begins as 1. */
struct lull_runs_settings {
    char *reference, *scaling, *region, *window;
    int raw_names, application, force, threads, no_replay, whole;
};

/* Lines for a table of options; `settings` is an object of static storage. */
/* clang-format off */
#define LULL_RUNS_OPTIONS(settings) \
    {"reference", 'r', POPT_ARG_STRING, &(settings).reference, 0, \
     "the run that the others are compared with (that with the fewest threads)", "RUN"}, \
    {"scaling", '\0', POPT_ARG_STRING, &(settings).scaling, 0, \
     "how the problem grows with the threads: not, in proportion, or guess (strong)", \
     "strong|weak|auto"}, \
    {"region", '\0', POPT_ARG_STRING, &(settings).region, 0, \
     "only the time each process spends in the region NAME", "NAME"}, \
    {"window", 'w', POPT_ARG_STRING, &(settings).window, 0, \
     "only the time between FROM and TO, as in 200ms:1.5s; without unit: seconds; either may be " \
     "left out", \
     "FROM:TO"}, \
    {"whole", '\0', POPT_ARG_NONE, &(settings).whole, 0, \
     "the whole run; without it, or a region or window, a run that lull recorded is analysed from " \
     "the end of MPI_Init to the begin of MPI_Finalize", \
     NULL}
#define LULL_NO_REPLAY_OPTION(settings) \
    {"no-replay", '\0', POPT_ARG_NONE, &(settings).no_replay, 0, \
     "do not replay the run on an ideal network, which transfer and serialisation need", NULL}
#define LULL_FORCE_OPTION(settings) \
    {"force", '\0', POPT_ARG_NONE, &(settings).force, 0, \
     "go on where the tracer disturbed the run too much, or where runs seem not to be of one " \
     "program", \
     NULL}
/* clang-format on */

/* Fails with LULL_ERR_RANGE in call->err. */
lull_status lull_runs_settings_read(const struct lull_runs_settings *settings,
                                    struct lull_cli_call *call, struct lull_runs_options *runs,
                                    struct lull_comparison_wish *comparison);

#endif
