/* Shards: parts of the ranks, each followed by an engine of its own, on several threads.
 *
 * Possible where the network's class has a lookahead: time is cut into windows of that length, and
 * what one rank causes for another one comes in a later window. All shards handle the same window,
 * each its own ranks; messages for ranks of others are put into boxes, which are emptied before the
 * next window. Events carry the same numbers whatever the shards are, so the result has the same
 * bits for any number of them. */
#ifndef LULL_SIM_ENGINE_SHARD_H
#define LULL_SIM_ENGINE_SHARD_H

#include "sim/engine/run.h"

/* Runs the simulation of `leader`, whose shared part is open and which has no ranks yet, on
 * n_threads >= 2 threads, which take the shards of a window as they come. Fails without words where
 * something is left over, does not fit, or must be handled by time. The sums of all shards are in
 * leader->result. */
lull_status lull_shards_run(struct lull_engine *leader, unsigned n_threads);

#endif
