/* SPDX-License-Identifier: BSD-3-Clause */
/* Longest path: what the time of each state of a simulation consists of.
 *
 * A node is a state's time: that of its parent and an amount of one part more. Times are never
 * stored: the amounts from a node to the origin add up to it, exactly. Nodes are only appended;
 * now and then those that no state refers to are dropped and chains are joined, so that memory
 * follows the number of states and not the length of the run. Node 0 is the origin, time 0. */
#ifndef LULL_SIM_ENGINE_PATH_H
#define LULL_SIM_ENGINE_PATH_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* What time on the longest path is spent on. The parts add up to the runtime. */
enum lull_path_part {
    LULL_PATH_COMPUTE,
    LULL_PATH_NOISE, /* noise and delays */
    LULL_PATH_OVERHEAD,
    LULL_PATH_LATENCY,
    LULL_PATH_BANDWIDTH,
    LULL_PATH_WAITING, /* for resources of the network: gaps, buses, links */
    LULL_PATH_PARTS
};

struct lull_path;

/* `n_regions` 0: computation is not told by region. */
struct lull_path *lull_path_create(uint32_t n_regions);
void lull_path_destroy(struct lull_path *path); /* NULL is allowed */

/* A node `ns` (>= 0) later than `parent`. */
uint32_t lull_path_add(struct lull_path *path, uint32_t parent, enum lull_path_part part,
                       int64_t ns);
/* LATENCY, and the path passes to another rank. */
uint32_t lull_path_hop(struct lull_path *path, uint32_t parent, int64_t ns);
/* COMPUTE in a region (LULL_OP_NO_REGION: none). */
uint32_t lull_path_compute(struct lull_path *path, uint32_t parent, uint32_t region, int64_t ns);

/* Whether it is time to compact. Then: lull_path_begin_compact, lull_path_root for each reference
 * that a state holds (it is rewritten), lull_path_end_compact. */
int lull_path_is_full(const struct lull_path *path);
void lull_path_begin_compact(struct lull_path *path);
void lull_path_root(struct lull_path *path, uint32_t *reference);
lull_status lull_path_end_compact(struct lull_path *path, struct lull_error *err);

struct lull_path_sum {
    int64_t parts[LULL_PATH_PARTS];
    uint64_t hops;
};
/* Adds up from `node` to the origin; `regions` [n_regions], cleared by the caller, or NULL. */
void lull_path_total(const struct lull_path *path, uint32_t node, struct lull_path_sum *ret_sum,
                     int64_t *regions);

/* Nodes in memory, for tests of its bound. */
size_t lull_path_nodes(const struct lull_path *path);

#endif
