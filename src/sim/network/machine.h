/* From a measured machine to what a simulation takes: the network and the noise of a machine file.
 *
 * The machine's levels socket, node and remote become the levels of the network: socket also serves
 * a core (a rank to itself), remote also nodes behind different switches. A level that was not
 * measured costs what the next nearer one does, or the nearest where there is no nearer one. */
#ifndef LULL_SIM_NETWORK_MACHINE_H
#define LULL_SIM_NETWORK_MACHINE_H

#include "machine/machine.h"
#include "sim/network/network.h"
#include "sim/noise/noise.h"

/* A network of class `class_name`, or where that is NULL of loggops if the machine has its
 * parameters and of hockney otherwise. Ranks fill the cores of the machine, node after node.
 *
 * hockney: latency and bandwidth of the smallest and of the largest messages; eager: the limit.
 * loggops, loggops-compat: L, o, g, G as measured, O = 0, S the eager limit (0: what the class has
 * by default where the machine does not say). ideal: nothing is taken.
 *
 * *ret_note is NULL, or one line that says what was not measured and what it was taken from. Fails
 * with LULL_ERR_RANGE where the machine has no network, no parameters of that class, or values out
 * of its limits, and for a class that does not exist. */
lull_status lull_network_from_machine(const struct lull_machine *machine, const char *class_name,
                                      uint32_t n_ranks, struct lull_arena *arena,
                                      struct lull_network *ret_network, const char **ret_note,
                                      struct lull_error *err);

/* The recordings of all cores (machine/noise_trace.h), each rank somewhere else in them; NULL where
 * the machine has none. Fails as lull_noise_trace_of does. */
lull_status lull_noise_from_machine(const struct lull_machine *machine, struct lull_arena *arena,
                                    const struct lull_noise **ret_noise, struct lull_error *err);

#endif
