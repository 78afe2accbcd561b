/* SPDX-License-Identifier: BSD-3-Clause */
/* The cycle of a simulated pattern: how long one of its iterations takes, found during the
 * simulation from the marks with which iterations begin. */
#ifndef LULL_STUDY_WAVE_WAVE_SIMULATED_H
#define LULL_STUDY_WAVE_WAVE_SIMULATED_H

#include "sim/engine/engine.h"

struct lull_wave_cycle;

/* Follows a simulation of `n_ranks` ranks, one stream each, whose operations repeat after `period`
 * iterations. With `may_stop` it ends the simulation with LULL_ERR_CANCELLED as soon as the rest
 * would only repeat what has been simulated. That presumes that neither noise nor delays nor shared
 * memory disturb the simulation, and that messages share nothing (any_order of struct
 * lull_network_class). NULL: no memory. */
struct lull_wave_cycle *lull_wave_cycle_create(uint32_t n_ranks, uint32_t period, bool may_stop);
const struct lull_sim_sink *lull_wave_cycle_sink(struct lull_wave_cycle *cycle);
bool lull_wave_cycle_stopped(const struct lull_wave_cycle *cycle);
/* The length of an iteration in ns: the mean over all ranks and the second half of the iterations,
 * in which the run has settled; over whole periods where the run is periodic. `result` is that of
 * the whole simulation, and is not looked at if the simulation was stopped. NAN: too few
 * iterations. */
double lull_wave_cycle_mean(const struct lull_wave_cycle *cycle,
                            const struct lull_sim_result *result);
void lull_wave_cycle_destroy(struct lull_wave_cycle *cycle); /* NULL is allowed */

#endif
