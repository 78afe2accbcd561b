/* SPDX-License-Identifier: BSD-3-Clause */
/* What commands share in reading what the user typed: entries for their tables of options, and
 * functions that turn texts into what the rooms want. A function that returns an exit status has
 * told the mistake. */
#ifndef LULL_CLI_OPTIONS_H
#define LULL_CLI_OPTIONS_H

#include "cli/command.h"
#include "sim/disturbance.h"
#include "study/compare.h"
#include "study/history/check.h"
#include "study/simulated.h"

#include <popt.h>
#include <stdbool.h>
#include <stdint.h>

/* ==== all commands ============================================================================ */

/* What popt returns when it meets an option: --help, which every command has, and options with a
 * whole number, whose limits lull_read_options() checks. */
enum lull_option_id {
    LULL_OPTION_HELP = 1,
    LULL_OPTION_THREADS,
    LULL_OPTION_APPLICATION,
    LULL_OPTION_DIGITS
};

/* Entries of option tables; their values are objects of static storage. 0 threads means all
 * processors. Applications count from 1, and the value is 1 where nothing is said. */
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

/* Reads all options. `options` includes --help and ends with an empty entry. *ret_help: help was
 * asked for, and what follows that option is not read. */
int lull_read_options(poptContext context, const struct poptOption *options, bool *ret_help);

/* The name of the first option, among those with these names (NULL at the end), that was given;
 * NULL: none. */
const char *lull_option_said(const struct poptOption *options, const char *const *names);
#define LULL_OPTION_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ==== options of commands that analyse runs =================================================== */

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

/* ==== options of commands around histories ==================================================== */

/* As typed; NULL and 0 where nothing was said, but application, which begins as 1. */
struct lull_history_settings {
    char *program, *input, *machine, *commit, *time;
    int application, force, threads, no_replay, whole;
};

/* Lines for a table of options; `settings` is an object of static storage. */
/* clang-format off */
#define LULL_HISTORY_KEY_OPTIONS(settings) \
    {"program", 'p', POPT_ARG_STRING, &(settings).program, 0, \
     "what ran (the program that the run names)", "NAME"}, \
    {"input", 'i', POPT_ARG_STRING, &(settings).input, 0, \
     "on which input (the run's label 'input')", "NAME"}, \
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
     "of which version ($GITHUB_SHA or $CI_COMMIT_SHA, or what the run says)", "ID"}, \
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

/* ==== options of commands that simulate ======================================================= */

/* As typed; NULL where nothing was said. */
struct lull_simulation_settings {
    char *specs[LULL_SIMULATE_SPECS];
    char **delays; /* NULL at the end */
    char *machine, *seed;
};

/* Lines for a table of options; `settings` is an object of static storage. */
/* clang-format off */
#define LULL_PATTERN_OPTION(settings, meaning) \
    {"pattern", 'p', POPT_ARG_STRING, &(settings).specs[LULL_SIMULATE_PATTERN], 0, meaning, "SPEC"}
#define LULL_NETWORK_OPTION(settings, fallback) \
    {"network", 'n', POPT_ARG_STRING, &(settings).specs[LULL_SIMULATE_NETWORK], 0, \
     "what messages cost (" fallback ")", "SPEC"}
#define LULL_MACHINE_OPTION(settings) \
    {"machine", 'm', POPT_ARG_STRING, &(settings).machine, 0, \
     "take network and noise of a machine file (lull bench) where they are not said", "FILE"}
#define LULL_NOISE_OPTION(settings) \
    {"noise", '\0', POPT_ARG_STRING, &(settings).specs[LULL_SIMULATE_NOISE], 0, \
     "what lengthens computations (nothing)", "SPEC"}
#define LULL_DELAY_OPTION(settings) \
    {"delay", 'd', POPT_ARG_ARGV, &(settings).delays, 0, \
     "one computation of a rank takes LENGTH longer: the first that begins at or after WHEN, " \
     "a time or as i12 an iteration; may be given several times", "RANK@WHEN:LENGTH"}
#define LULL_PLACEMENT_OPTION(settings) \
    {"placement", '\0', POPT_ARG_STRING, &(settings).specs[LULL_SIMULATE_PLACEMENT], 0, \
     "which ranks share sockets, nodes and switches (none)", "SPEC"}
#define LULL_MEMORY_OPTION(settings) \
    {"memory", '\0', POPT_ARG_STRING, &(settings).specs[LULL_SIMULATE_MEMORY], 0, \
     "how ranks that compute at the same time share memory bandwidth (they do not)", "SPEC"}
#define LULL_SEED_OPTION(settings) \
    {"seed", 's', POPT_ARG_STRING, &(settings).seed, 0, "of all random numbers (1)", "N"}
#define LULL_SPECS_OPTION(list, letter) \
    {"list", letter, POPT_ARG_NONE, &(list), 0, \
     "list networks, noises, patterns, placements and memories with their parameters", NULL}

/* clang-format on */

/* Sets sweep, delays, machine and seed of *inputs, which live in call->arena. The network is
 * `fallback` where neither a network nor a machine was given. Fails with LULL_ERR_RANGE, or with
 * what reading a file gives, in call->err. */
lull_status lull_simulation_read(const struct lull_simulation_settings *settings,
                                 const char *fallback, struct lull_cli_call *call,
                                 struct lull_simulate_inputs *inputs);

/* Reads the specs of --inject (NULL at the end; NULL: not given) and its --seed. *ret_disturbance
 * is NULL where nothing is to be injected. Fails with LULL_ERR_RANGE. */
lull_status lull_injection_read(char *const *specs, const char *seed, struct lull_cli_call *call,
                                const struct lull_disturbance **ret_disturbance);

#endif
