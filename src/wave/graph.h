/* Graph: along which messages a delay passes from rank to rank, and how fast it should.
 *
 * On a silent system a delay of a rank reaches everybody who waits for it: eager messages carry it
 * from sender to receiver, messages beyond the eager limit (rendezvous) also back to the sender,
 * who waits for the receiver. From phase to phase and iteration to iteration that is a shortest
 * path. Its speed in a homogeneous pattern is kappa, the sum over the phases of the largest offset
 * reachable in each. Source: Afzal, Hager and Wellein, Analytic Modeling of Idle Waves in Parallel
 * Programs, 2021. */
#ifndef LULL_WAVE_GRAPH_H
#define LULL_WAVE_GRAPH_H

#include "sim/network/network.h"
#include "wave/field.h"

/* A delay of this rank before or in `phase` makes `peer` wait in `peer_phase`. */
struct lull_wave_link {
    uint32_t peer;
    uint16_t phase, peer_phase;
};

struct lull_wave_graph {
    uint32_t n_ranks;
    const uint64_t *first; /* [n_ranks + 1] */
    const struct lull_wave_link *links;
    bool periodic;               /* ranks are a ring: the last ones talk to the first ones */
    bool rendezvous;             /* some messages are beyond the eager limit */
    double kappa_up, kappa_down; /* ranks per iteration, of the median rank */
};

/* `network` says which messages are eager (parameter `eager` or `S`); NULL: all of them. Messages
 * without a partner in the same iteration are passed over. Lives in `arena`. */
lull_status lull_wave_graph_make(const struct lull_wave_field *field,
                                 const struct lull_network *network, struct lull_arena *arena,
                                 const struct lull_wave_graph **ret_graph, struct lull_error *err);

/* How far `to` is above `from`, on a ring the shorter way. */
int64_t lull_wave_offset(const struct lull_wave_graph *graph, uint32_t from, uint32_t to);

/* When, and from where, a delay reached the ranks. Both arrays are [n_ranks]. */
struct lull_wave_path {
    int32_t *arrivals; /* iteration in which the rank is idle, of the origin that of the delay; -1:
                          never */
    int32_t *offsets;  /* ranks above the origin, counted along the way that the delay took: on a
                          ring it may go round */
    uint8_t *carriers; /* 0: a message; else the collective operation in which it waited, plus 1 */
};

/* The path of a delay of `rank` in iteration `begin` on a silent system, in `arena`. */
lull_status lull_wave_predict(const struct lull_wave_graph *graph, uint32_t rank, int32_t begin,
                              struct lull_arena *arena, struct lull_wave_path *ret_path,
                              struct lull_error *err);
bool lull_wave_path_make(uint32_t n_ranks, struct lull_arena *arena,
                         struct lull_wave_path *ret_path); /* nobody reached; false: no memory */

/* The least number of messages that a delay of `rank` takes to each rank; UINT32_MAX: never. */
lull_status lull_wave_hops(const struct lull_wave_graph *graph, uint32_t rank, uint32_t *ret_hops,
                           struct lull_error *err);

#endif
