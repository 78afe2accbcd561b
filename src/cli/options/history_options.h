/* What the commands around histories share in reading what the user typed. */
#ifndef LULL_CLI_HISTORY_OPTIONS_H
#define LULL_CLI_HISTORY_OPTIONS_H

#include "cli/call.h"
#include "study/history/check.h"

#include <popt.h>

/* As typed; NULL and 0 where nothing was said, but application, which begins as 1. */
struct lull_history_settings {
    char *program, *input, *machine, *commit, *time;
    int application, force, threads, no_replay, whole;
};

/* Lines for a table of options; `settings` is an object of static storage. */
/* clang-format off */
#define LULL_HISTORY_KEY_OPTIONS(settings) \
    {"program", 'p', POPT_ARG_STRING, &(settings).program, 0, "what ran", "NAME"}, \
    {"input", 'i', POPT_ARG_STRING, &(settings).input, 0, "on which input", "NAME"}, \
    {"machine", 'm', POPT_ARG_STRING, &(settings).machine, 0, \
     "where it ran (the node that the run names)", "NAME"}
#define LULL_HISTORY_READ_OPTIONS(settings) \
    LULL_APPLICATION_OPTION((settings).application, "which program of a trace that holds several"), \
    {"whole", '\0', POPT_ARG_NONE, &(settings).whole, 0, \
     "the whole run; without it a run that lull recorded is analysed from the end of MPI_Init to " \
     "the begin of MPI_Finalize", \
     NULL}, \
    LULL_THREADS_OPTION((settings).threads, "threads to read with"), \
    LULL_FORCE_OPTION(settings)
#define LULL_HISTORY_RUNS_OPTIONS(settings) \
    {"commit", '\0', POPT_ARG_STRING, &(settings).commit, 0, \
     "of which version ($GITHUB_SHA or $CI_COMMIT_SHA)", "ID"}, \
    {"time", '\0', POPT_ARG_STRING, &(settings).time, 0, \
     "when it ran, as 2026-11-23T02:51:09Z or in seconds since 1970 (what the run says, or now)", \
     "TIME"}, \
    LULL_NO_REPLAY_OPTION(settings), \
    LULL_HISTORY_READ_OPTIONS(settings)
/* clang-format on */

/* Fails with LULL_ERR_RANGE in call->err. */
lull_status lull_history_settings_read(const struct lull_history_settings *settings,
                                       struct lull_cli_call *call, struct lull_runs_options *runs,
                                       struct lull_history_about *about);

#endif
