/* SPDX-License-Identifier: BSD-3-Clause */
/* Circles: which processes take part in the collective operations of a communicator, for which of the
 * others each of them waits there, and which operations are open.
 *
 * A circle is the sequence of ranks of a communicator. The circle of an inter-communicator has the
 * ranks of both groups: first those of the local group, then those of the remote group. The
 * communicator of a circle is canonical (lull_comm_canonical): an inter-communicator has one
 * definition for each of its groups, and the one with the lower index is taken.
 *
 * A series is the sequence of the blocking operations on a communicator, or of its non-blocking
 * ones of one kind (all MPI_Ibcast, say). The k-th operation of a series consists of the k-th call
 * of each rank. Each series is matched by itself, because tracers tell the communicator of a
 * non-blocking operation only when the operation ends. */
#ifndef LULL_MATCH_CIRCLE_H
#define LULL_MATCH_CIRCLE_H

#include "base/array.h"
#include "base/collective.h"
#include "trace/trace.h"

#include <string.h>

/* ==== ranks =================================================================================== */

/* All functions but lull_circle_knows require `comm` < n_comms. */

uint32_t lull_circle_size(const struct lull_trace *trace, uint32_t comm);
/* The process with a rank. LULL_NONE: there is no such rank. */
uint32_t lull_circle_process(const struct lull_trace *trace, uint32_t comm, uint32_t rank);
/* The rank of a process. LULL_NONE: the process takes no part. Takes time linear in the size of the
 * communicator where the communicator lists its members. */
uint32_t lull_circle_rank(const struct lull_trace *trace, uint32_t comm, uint32_t process);

/* Whether the communicator is an inter-communicator, of two groups that wait for each other. */
bool lull_circle_is_between(const struct lull_trace *trace, uint32_t comm);
/* The group that a rank belongs to: 0 is the local group, 1 the remote one. 0 where there is one
 * group. */
unsigned lull_circle_side(const struct lull_trace *trace, uint32_t comm, uint32_t rank);
/* The number of ranks of a group; 0 for group 1 where there is one group. */
uint32_t lull_circle_side_size(const struct lull_trace *trace, uint32_t comm, unsigned side);

/* ==== operations ============================================================================== */

/* Whether an operation (enum lull_collective) on a communicator can be followed: the trace tells
 * both of them, and the communicator is one of MPI. Any value of `comm` is allowed. */
bool lull_circle_knows(const struct lull_trace *trace, uint32_t comm, uint8_t op);
/* Whether the communicator has a single rank. Operations on it wait for nobody. Analyses leave them
 * out, because tracers may give the communicators of several single processes one common
 * definition. */
bool lull_circle_is_alone(const struct lull_trace *trace, uint32_t comm);

/* The kind of the series that an operation belongs to: 0 if the operation blocks, else the
 * operation plus 1. */
uint8_t lull_circle_series(uint8_t op, bool blocks);

/* Whose data the processes need in an operation on this communicator. */
enum lull_collective_needs lull_circle_needs(const struct lull_trace *trace, uint32_t comm,
                                             uint8_t op);

/* For whom a process waits in an operation. */
enum lull_awaited {
    LULL_AWAITS_NOBODY,
    LULL_AWAITS_ROOT, /* the root; where the trace does not tell which process is the root, all
                         ranks */
    LULL_AWAITS_ALL,
    LULL_AWAITS_OTHERS, /* all ranks of the other group */
    LULL_AWAITS_LOWER   /* all ranks below that of the process */
};

/* The part of one process in an operation. */
struct lull_circle_part {
    uint8_t needs;  /* enum lull_collective_needs of the operation, the same for all ranks */
    uint8_t awaits; /* enum lull_awaited */
    bool is_root;
};
/* The part of `process` in an operation. `root` is the process that the trace names as the root;
 * below 0, the trace names none. In an inter-communicator the processes of the root's group name no
 * root, and of these processes only the root itself sends or receives something: `moves` says that
 * this process does. */
struct lull_circle_part lull_circle_part_of(const struct lull_trace *trace, uint32_t comm,
                                            uint8_t op, uint32_t process, int32_t root, bool moves);

/* ==== operations that are open ================================================================ */

/* Which operations of a series are open: somebody has come to them, or to a later
 * one, and not all have left.
 *
 * What is kept of an operation depends on the analysis: the ideal runtime keeps times, waits keep what
 * those who came had done. It has `size` bytes, the same in all calls for a series. Callers pass a
 * constant, so that the compiler can use it in these functions. Operations are opened and closed in
 * the order of their numbers, which are modulo 2^32. */

/* A struct of zeros has no open operation; the first one has the number 0. lull_ring_free(&operations)
 * releases it; what the kept bytes refer to stays with the caller. */
struct lull_match_series {
    uint32_t first;              /* the number of the oldest operation that is open */
    struct lull_ring operations; /* what is kept of each, from `first` on */
};

/* Whether an operation has been closed. */
static inline bool lull_match_is_closed(const struct lull_match_series *series, uint32_t number)
{
    return (int32_t)(number - series->first) < 0;
}

/* What is kept of an open operation, by its place behind the oldest one. */
static inline void *lull_match_open_at(const struct lull_match_series *series, uint32_t size,
                                       uint32_t place)
{
    return lull_ring_at(&series->operations, size, place);
}

/* What is kept of an operation that has not been closed. It and those before it are opened if need be,
 * as copies of `fresh`. Valid until the next one is opened. NULL: no memory. */
static inline void *lull_match_open(struct lull_match_series *series, uint32_t size,
                                    uint32_t number, const void *fresh)
{
    while (number - series->first >= series->operations.count) {
        void *opened = lull_ring_push(&series->operations, size);
        if (!opened)
            return NULL;
        memcpy(opened, fresh, size);
    }
    return lull_match_open_at(series, size, number - series->first);
}

/* Closes the oldest operation; there must be one. */
static inline void lull_match_close(struct lull_match_series *series)
{
    lull_ring_pop(&series->operations);
    series->first++;
}

#endif
