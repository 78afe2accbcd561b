/* Slow reference simulator: the written rules of LogGOPSim's model, step by step, with nothing
 * clever in it. For tests of the engine.
 *
 * Reads GOAL text with one statement per line (labels l1, l2, ... in this order, ranks in order) by
 * its own means. The queue is an array that is searched from end to end for the least (time, seq),
 * matching goes through lists from the front, and a requirement that is met is looked for among all
 * of the rank. */
#ifndef LULL_TESTS_SLOW_GOAL_H
#define LULL_TESTS_SLOW_GOAL_H

#include <stdbool.h>
#include <stdint.h>

struct slow_network {
    int64_t latency, overhead, gap;          /* L, o, g: ns */
    int64_t gap_per_byte, overhead_per_byte; /* G, O: ns per byte */
    int64_t eager;                           /* S: bytes */
};

struct slow_result {
    unsigned n_ranks;
    int64_t *ends; /* malloc'd */
    uint64_t done, operations;
    uint64_t unexpected; /* messages that were never received */
    bool complete;       /* everything was done and received */
};

/* Aborts on text that it does not understand. */
void slow_goal_run(const char *text, const struct slow_network *network,
                   struct slow_result *ret_result);

#endif
