/* Graph: a program whose operations wait for each other by name, as GOAL text has it.
 *
 * All of it is in memory, in about 40 bytes per operation and, while it is simulated, 16 more and
 * 32 for each that has several requirements: any operation may require any other, so none can be
 * left out before the end of its rank is known. Operations keep the order of the text. An operation
 * starts when every operation that it *requires* is done and every one that it *irequires* has
 * started. */
#ifndef LULL_SIM_ENGINE_GRAPH_H
#define LULL_SIM_ENGINE_GRAPH_H

#include "sim/program.h"

struct lull_graph_op {
    uint8_t kind; /* LULL_OP_SEND, LULL_OP_RECV or LULL_OP_COMPUTE */
    uint8_t cpu, nic;
    uint8_t reserved;
    uint32_t peer;       /* rank, or LULL_OP_ANY */
    uint32_t tag;        /* or LULL_OP_ANY */
    uint32_t line;       /* of the text */
    uint64_t size;       /* bytes, or ns */
    uint32_t requires;   /* how many operations it waits for, of both kinds */
    uint32_t first_edge; /* to those that wait for it: up to first_edge of the next operation */
};

/* The operation that waits, with this bit: from the start, else from the end of the other one. */
#define LULL_GRAPH_FROM_START UINT32_C(0x80000000)

struct lull_graph_rank {
    const struct lull_graph_op *ops; /* [n_ops + 1]: the last only closes the edges */
    const uint32_t *edges;           /* of each operation in the order of the text */
    uint32_t n_ops;
    uint16_t n_cpus, n_nics; /* highest used + 1, at least 1 */
};

struct lull_graph {
    const struct lull_graph_rank *ranks; /* [n_ranks] */
    uint64_t n_ops, n_edges;
};

#endif
