/* SPDX-License-Identifier: BSD-3-Clause */
/* From what users say to what the engine takes: networks, placements, delays. */
#ifndef LULL_SIM_SETUP_H
#define LULL_SIM_SETUP_H

#include "sim/engine/engine.h"
#include "sim/spec.h"

/* A network for a program of n_ranks. Keys beside the parameters of the class and LEVEL.PARAMETER
 * (core, socket, node, switch, cluster; for all levels alike where no level is named):
 *     cpu-speed=FACTOR                     how much faster this machine computes
 *     collectives=algorithm|closed         as messages, or in closed form where the class has one
 *     algorithms=allreduce:ring+bcast:binomial    sim/collective/collective.h
 * `placement` (may be NULL: every rank on a node of its own) is one of
 *     block:cores-per-node=N,cores-per-socket=N,nodes-per-switch=N      rank r on core r
 *     cyclic:nodes=N,cores-per-node=N,...                  rank r on node r modulo nodes
 *     map:cores=0+4+8-11,cores-per-node=N,...              rank r on the r-th core of the list
 * Fails with LULL_ERR_RANGE. The network borrows texts from `arena`, where the specs live. */
lull_status lull_network_read(struct lull_spec *spec, struct lull_spec *placement, uint32_t n_ranks,
                              struct lull_arena *arena, struct lull_network *ret_network,
                              struct lull_error *err);

/* The placement alone, for a network that comes from elsewhere. */
lull_status lull_placement_read(struct lull_spec *spec, uint32_t n_ranks, struct lull_arena *arena,
                                struct lull_placement *ret_placement, struct lull_error *err);

/* "RANK@WHEN:LENGTH": WHEN is a time, or an iteration as i12. */
lull_status lull_delay_read(const char *text, struct lull_delay *ret_delay, struct lull_error *err);
/* Of several, NULL at the end, or NULL. */
lull_status lull_delays_read(char *const *texts, struct lull_arena *arena,
                             const struct lull_delay **ret_delays, uint32_t *ret_count,
                             struct lull_error *err);

/* Names of placements with their keys, for people; name NULL at the end. */
struct lull_placement_kind {
    const char *name, *keys;
};
extern const struct lull_placement_kind lull_placement_kinds[];

#endif
