/* The measured network: what the messages of a trace cost, in the terms of Hockney's model.
 *
 * A message that its receiver was already waiting for takes latency + bytes / bandwidth, and longer
 * where somebody was disturbed. So the low quantile (LULL_NETWORK_QUANTILE) of the times of small
 * messages gives the latency, and its growth with the size the bandwidth. Inside nodes and between
 * them apart, where the trace says which process is on which node. Where nobody ever waited for a
 * message, the time that receives took after the message was sent is all there is. */
#ifndef LULL_REPLAY_MEASURED_NETWORK_H
#define LULL_REPLAY_MEASURED_NETWORK_H

#include "replay/ideal/ideal.h"
#include "sim/network/network.h"

#define LULL_NETWORK_QUANTILE 0.1

/* Fills *ret_network (class hockney, with a placement in `arena`) and *ret_ideal (the ideal replay
 * that it comes from). A level without messages gets the numbers of the other; a trace without
 * messages costs nothing. */
lull_status lull_replay_network(const struct lull_trace *trace, uint32_t application,
                                struct lull_arena *arena, struct lull_network *ret_network,
                                struct lull_ideal_result *ret_ideal, struct lull_error *err);

/* The placement of the ranks of an application on the nodes of its trace. */
void lull_replay_placement(const struct lull_trace *trace, uint32_t application,
                           struct lull_arena *arena, struct lull_placement *ret_placement);

#endif
