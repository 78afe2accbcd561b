/* SPDX-License-Identifier: BSD-3-Clause */
/* Program: what the ranks of a message-passing program do, as streams of operations.
 *
 * A program is either a set of *streams*, each a thread of control that executes one operation
 * after the other (patterns, traces), or a *graph* per rank, whose operations start when those that
 * they require are done (GOAL). The engine pulls streams while it simulates: nothing but what is in
 * flight is in memory.
 *
 * Ranks are numbered 0 .. n_ranks-1. Each rank has one stream or more (threads that call MPI);
 * stream s of rank r is named by its index first_stream[r] + s. With one stream per rank
 * (first_stream == NULL) stream and rank are the same number.
 *
 * Rules of a stream:
 *  - COMPUTE occupies the rank's processor for `duration` and ends then.
 *  - SEND and RECV start a transfer and go on; the transfer is a request of the stream with the
 *    number `request`, chosen by the source and free again once it was waited for.
 *  - WAIT goes on when all requests it names are complete.
 *  - COLLECTIVE takes part in the next collective operation of `comm`; with a request it goes on at
 *    once, without one it goes on when it is complete for this rank. The engine expands it by the
 *    network's choice of algorithm.
 *  - SYNC goes on when `peer` streams of this rank have reached the SYNC with the same number
 *    (join of threads). Streams that need not wait for each other alike arrive and wait apart:
 *    an arrival goes on at once, and `peer` arrivals let those go on that wait
 *    (enum lull_sync_part). An arrival counts `delay` later than its stream comes.
 *  - MARK takes no time: iteration `bytes` begins; delays refer to it.
 * Operations from one blocking operation (COMPUTE, WAIT, SYNC, COLLECTIVE without request) to the
 * next become ready together. */
#ifndef LULL_SIM_PROGRAM_H
#define LULL_SIM_PROGRAM_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum lull_op_kind {
    LULL_OP_SEND, /* the order in which graphs start what becomes ready at the same moment */
    LULL_OP_RECV,
    LULL_OP_COMPUTE,
    LULL_OP_WAIT,
    LULL_OP_COLLECTIVE,
    LULL_OP_SYNC,
    LULL_OP_MARK,
    LULL_OP_KINDS
};

enum lull_op_flags {
    LULL_OP_CALL_BEGINS = 1, /* a call of `region` begins before this operation ... */
    LULL_OP_CALL_ENDS = 2,   /* ... ends when this operation lets the stream go on */
    LULL_OP_WAIT_ALL = 4,    /* WAIT: for all open requests of the stream; `requests` is not used */
    LULL_OP_NOT_SCALED = 8,  /* COMPUTE: not subject to processor speed and noise (I/O, RMA, ...) */
    LULL_OP_SYNCHRONOUS = 16, /* SEND: complete only when matched, whatever its size */
    LULL_OP_BUFFERED = 32,    /* SEND: complete at once, whatever its size; COLLECTIVE: nobody waits
                                 for this rank's part, and its stream goes on at once */
    LULL_OP_BLOCKING = 64,    /* RECV: posted by the call that waits for it */
    LULL_OP_MEETING = 128     /* COLLECTIVE: on any network all leave when the last has come */
};

enum lull_sync_part {
    LULL_SYNC_BOTH,
    LULL_SYNC_ARRIVES, /* does not block */
    LULL_SYNC_WAITS
};

/* A rank has at most so many streams. */
enum { LULL_RANK_STREAMS = 256 };

#define LULL_OP_ANY        UINT32_MAX /* peer or tag of a RECV */
#define LULL_OP_NO_REQUEST UINT32_MAX
#define LULL_OP_NO_REGION  UINT32_MAX

struct lull_op {
    uint8_t kind;       /* enum lull_op_kind */
    uint8_t flags;      /* enum lull_op_flags */
    uint8_t collective; /* COLLECTIVE: enum lull_collective; SYNC: enum lull_sync_part */
    uint8_t reserved;
    uint32_t region; /* COMPUTE: where it happens; else: the call that it is part of */
    uint32_t peer;   /* SEND, RECV: rank; COLLECTIVE: root as a rank of the program, or
                         LULL_OP_ANY; SYNC: how many streams */
    uint32_t tag;  /* SEND, RECV; COLLECTIVE with MEETING: the rank's place in the group plus 1, as
                         it may have several, or 0; SYNC: its number, and ... */
    uint32_t comm; /* ... the upper half of that; SEND, RECV: matches only the same;
                         COLLECTIVE: index of a group */
    uint32_t request; /* SEND, RECV, COLLECTIVE */
    union {
        int64_t duration; /* COMPUTE: ns */
        uint64_t bytes;   /* SEND, RECV; COLLECTIVE: sent by this rank; MARK: iteration; SYNC in
                             two parts: how many will wait */
    };
    union {
        uint64_t received;        /* COLLECTIVE: bytes received by this rank */
        const uint32_t *requests; /* WAIT: n_requests of them, valid until the next pull */
        int64_t measured;         /* others: time in the trace, for messages to the user */
    };
    union {
        uint32_t n_requests; /* WAIT */
        int64_t delay;       /* SYNC: it arrives so many ns later */
    };
};

/* Whether a stream goes on behind an operation only when that is over. */
static inline bool lull_op_blocks(const struct lull_op *op)
{
    return op->kind == LULL_OP_COMPUTE || op->kind == LULL_OP_WAIT ||
           (op->kind == LULL_OP_SYNC && op->collective != LULL_SYNC_ARRIVES) ||
           (op->kind == LULL_OP_COLLECTIVE && op->request == LULL_OP_NO_REQUEST &&
            !(op->flags & LULL_OP_BUFFERED));
}

/* A group of ranks, for collectives. Ranks are in the order of the communicator. */
struct lull_group {
    uint32_t size;
    const uint32_t *ranks; /* NULL: first .. first + size - 1 */
    uint32_t first;
    /* Of two groups that exchange data with each other: how many are of the first one; else 0. On
     * networks where everybody waits for what he needs alone, that is for the other group. */
    uint32_t split;
};

struct lull_program;

struct lull_program_class {
    const char *name; /* "goal", "pattern", "trace" */
    /* The next operations of a stream, in `ret_ops` (room for `room` >= 16 of them), *ret_count of
     * them; 0: the stream has ended. A batch ends at the latest behind a blocking operation.
     * Streams of different ranks may be pulled by different threads at the same time. NULL for
     * graphs. */
    lull_status (*next)(struct lull_program *program, uint32_t stream, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err);
    /* Starts all streams again, for another simulation of the same program. NULL for graphs. */
    lull_status (*rewind)(struct lull_program *program, struct lull_error *err);
    void (*close)(struct lull_program *program); /* may be NULL */
    /* "rank 3: line 17: label l4", "rank 3 at 1.234 s": where an operation comes from, for messages
     * to the user; writes into `text` and returns it. */
    const char *(*place)(const struct lull_program *program, uint32_t rank,
                         const struct lull_op *op, char *text, unsigned size);
};

/* ---- graphs ---------------------------------------------------------------------------------- */

/* A graph: a program whose operations wait for each other by name, as GOAL text has it.
 *
 * All of it is in memory, in about 40 bytes per operation and, while it is simulated, 16 more and
 * 32 for each that has several requirements: any operation may require any other, so none can be
 * left out before the end of its rank is known. Operations keep the order of the text. An operation
 * starts when every operation that it *requires* is done and every one that it *irequires* has
 * started. */

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

/* ---- programs -------------------------------------------------------------------------------- */

struct lull_program {
    const struct lull_program_class *class;
    const char *name; /* of the file, the trace, or the spec */
    struct lull_arena *arena;
    uint32_t n_ranks, n_streams;
    const uint32_t *first_stream; /* [n_ranks + 1], or NULL: one stream per rank */
    uint32_t n_regions;
    const char *const *regions; /* names; the class says what they are */
    uint32_t n_groups;
    const struct lull_group *groups; /* group 0, where there is one, is all ranks */
    const struct lull_graph *graph;  /* a graph program, else NULL */
    bool has_meetings;               /* there may be operations with LULL_OP_MEETING */
    bool unfinished; /* its last operations may lack their partners, which is no failure: the run
                        that it replays was cut, or killed */
    void *data;      /* of the class */
};

/* Releases the program with its arena. NULL is allowed. */
void lull_program_close(struct lull_program *program);

#endif
