/* `lull record --inject`: what users say, for the recorder. */
#ifndef LULL_CLI_INJECTION_H
#define LULL_CLI_INJECTION_H

#include "launch/recording.h"
#include "sim/disturbance.h"

/* Reads --inject (NULL at the end; NULL: not said) and --seed. *ret_disturbance is NULL where
 * nothing is to be injected. Returns an exit status and has told mistakes. */
int lull_cli_read_injection(char *const *specs, const char *seed, struct lull_arena *arena,
                            const struct lull_disturbance **ret_disturbance);

/* For the program that `recording` is about; NULL: nothing. Where that cannot be, the program runs
 * undisturbed, and rank 0 says why. */
void lull_cli_inject(const struct lull_disturbance *disturbance,
                     const struct lull_recording *recording, struct lull_arena *arena);

#endif
