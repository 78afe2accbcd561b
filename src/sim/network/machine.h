/* SPDX-License-Identifier: BSD-3-Clause */
/* The network and the noise of a machine file, as a simulation takes them.
 *
 * The machine's levels socket, node and remote become the levels of the network: socket is also
 * used for messages of a core to itself, remote for nodes of one switch and of different switches.
 * A level that was not measured costs what the next nearer level costs; if no nearer level was
 * measured, it costs what the nearest one costs that was. */
#ifndef LULL_SIM_NETWORK_MACHINE_H
#define LULL_SIM_NETWORK_MACHINE_H

#include "machine/machine.h"
#include "sim/network/network.h"
#include "sim/noise/noise.h"

/* Makes a network of class `class_name`; NULL: of loggops if the machine has its parameters, else
 * of ranges. Ranks fill the cores of the machine, node after node.
 *
 * For loggops and loggops-compat, L, o, g and G are those that were measured, O is 0, and S is the
 * eager limit. For ranges, the costs of all ranges of sizes are taken; latency and bandwidth are
 * those of the smallest messages, and eager is the limit. A limit that the machine does not say is
 * the default of the class. For other classes nothing is taken: their parameters have the defaults.
 *
 * *ret_note is NULL, or one line that says what was not measured and what it was taken from. Fails
 * with LULL_ERR_RANGE if the machine has no network, no parameters of the class, or values out of
 * their limits, and for a class that does not exist. */
lull_status lull_network_from_machine(const struct lull_machine *machine, const char *class_name,
                                      uint32_t n_ranks, struct lull_arena *arena,
                                      struct lull_network *ret_network, const char **ret_note,
                                      struct lull_error *err);

/* Makes a noise of the recordings of all cores (machine/noise_trace.h). Each rank begins at a
 * random place in them. *ret_noise is NULL if the machine has none. Fails as lull_noise_trace_of
 * does. */
lull_status lull_noise_from_machine(const struct lull_machine *machine, struct lull_arena *arena,
                                    const struct lull_noise **ret_noise, struct lull_error *err);

#endif
