/* What commands that simulate share in reading what the user typed. Mistakes are told here;
 * functions return LULL_EXIT_OK, or another exit status after a message. */
#ifndef LULL_CLI_SIMULATION_OPTIONS_H
#define LULL_CLI_SIMULATION_OPTIONS_H

#include "study/simulated.h"

/* As typed; NULL where nothing was said. */
struct lull_simulation_settings {
    char *specs[LULL_SIMULATE_SPECS];
    char **delays; /* ended by NULL */
    char *machine, *seed;
};

/* Sets sweep, delays, machine and seed of *inputs, which live in `arena`. Without a network and a
 * machine the network is `fallback`. */
int lull_simulation_read(const struct lull_simulation_settings *settings, const char *fallback,
                         struct lull_simulate_inputs *inputs, struct lull_arena *arena);

#endif
