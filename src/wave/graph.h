/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph: along which messages a delay passes from rank to rank, and how fast it should.
 *
 * On a silent system, one without noise, a delay of a rank reaches all ranks that wait for it:
 * eager messages carry the delay from sender to receiver, messages beyond the eager limit
 * (rendezvous) also back to the sender, who waits for the receiver. The way of a delay from phase
 * to phase and from iteration to iteration is a shortest path. In a homogeneous pattern it gets
 * kappa ranks far in an iteration: the sum over the phases of the largest offset that a message has
 * in each phase. Source: Afzal, Hager and Wellein, Analytic Modeling of Idle Waves in Parallel
 * Programs, 2021. */
#ifndef LULL_WAVE_GRAPH_H
#define LULL_WAVE_GRAPH_H

#include "sim/network/network.h"
#include "wave/field.h"

/* A message on which a delay travels: if its rank is delayed before or in `phase`, then `peer`
 * waits in its own phase `peer_phase`. */
struct lull_wave_link {
    uint32_t peer;
    uint16_t phase, peer_phase;
};

struct lull_wave_graph {
    uint32_t n_ranks;
    const uint64_t *first; /* [n_ranks + 1]: index of the first link of each rank */
    const struct lull_wave_link *links;
    bool periodic;               /* ranks are a ring: the last ones talk to the first ones */
    bool rendezvous;             /* some messages are beyond the eager limit */
    double kappa_up, kappa_down; /* ranks per iteration, to higher and to lower ranks: medians over
                                    the ranks */
};

/* `network` says by its parameter `eager` or `S` which messages are eager; NULL: all of them. A
 * send for which the receiver has no receive in the same iteration is passed over. The graph lives
 * in `arena`. */
lull_status lull_wave_graph_make(const struct lull_wave_field *field,
                                 const struct lull_network *network, struct lull_arena *arena,
                                 const struct lull_wave_graph **ret_graph, struct lull_error *err);

/* How many ranks `to` is above `from`, on a ring the shorter way; negative if it is below. */
int64_t lull_wave_offset(const struct lull_wave_graph *graph, uint32_t from, uint32_t to);

/* When, and from where, a delay reached the ranks. All arrays are [n_ranks]. */
struct lull_wave_path {
    int32_t *arrivals; /* iteration in which the rank is idle, of the origin that of the delay; -1:
                          never */
    int32_t *offsets;  /* ranks above the origin, counted along the way that the delay took: on a
                          ring this way may go round */
    uint8_t *carriers; /* what brought the delay. 0: a message; else 1 + enum lull_collective, the
                          collective operation in which the rank waited */
};

/* Predicts the path that a delay of `rank` in iteration `begin` takes on a silent system. The path
 * lives in `arena`. */
lull_status lull_wave_predict(const struct lull_wave_graph *graph, uint32_t rank, int32_t begin,
                              struct lull_arena *arena, struct lull_wave_path *ret_path,
                              struct lull_error *err);
/* Makes a path that has reached no rank yet; false: no memory. */
bool lull_wave_path_make(uint32_t n_ranks, struct lull_arena *arena,
                         struct lull_wave_path *ret_path);

/* The least number of messages that a delay of `rank` takes to each rank; UINT32_MAX: never. */
lull_status lull_wave_hops(const struct lull_wave_graph *graph, uint32_t rank, uint32_t *ret_hops,
                           struct lull_error *err);

#endif
