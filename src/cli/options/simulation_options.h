/* What commands that simulate share in reading what the user typed. */
#ifndef LULL_CLI_SIMULATION_OPTIONS_H
#define LULL_CLI_SIMULATION_OPTIONS_H

#include "cli/call.h"
#include "sim/disturbance.h"
#include "study/simulated.h"

#include <popt.h>

/* As typed; NULL where nothing was said. */
struct lull_simulation_settings {
    char *specs[LULL_SIMULATE_SPECS];
    char **delays; /* ended by NULL */
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

/* Sets sweep, delays, machine and seed of *inputs, which live in call->arena. Without a network and
 * a machine the network is `fallback`. Fails with LULL_ERR_RANGE, or as files are read, in
 * call->err. */
lull_status lull_simulation_read(const struct lull_simulation_settings *settings,
                                 const char *fallback, struct lull_cli_call *call,
                                 struct lull_simulate_inputs *inputs);

/* --inject (NULL at the end; NULL: not said) and its --seed; *ret_disturbance is NULL where nothing
 * is to be injected. Fails with LULL_ERR_RANGE. */
lull_status lull_injection_read(char *const *specs, const char *seed, struct lull_cli_call *call,
                                const struct lull_disturbance **ret_disturbance);

#endif
