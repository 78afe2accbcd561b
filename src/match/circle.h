/* Circles: who takes part in the collective operations of a communicator, and whose coming each one
 * needs.
 *
 * A circle is the ranks of a communicator; of an inter-communicator those of both groups as one
 * sequence, in which the ranks of the remote group follow those of the local one. Its communicator
 * is canonical (lull_comm_canonical): of two groups the one with the lower index.
 *
 * A series is the blocking operations on a communicator one after the other, or its non-blocking
 * ones of one kind. The k-th operation of a series is the k-th of each rank. Each series is matched
 * by itself, because tracers tell the communicator of a non-blocking operation only when it ends.
 */
#ifndef LULL_MATCH_CIRCLE_H
#define LULL_MATCH_CIRCLE_H

#include "base/collective.h"
#include "trace/trace.h"

/* ==== ranks =================================================================================== */

/* Of all functions but lull_circle_knows: `comm` < n_comms. */

uint32_t lull_circle_size(const struct lull_trace *trace, uint32_t comm);
/* LULL_NONE: there is no such rank. */
uint32_t lull_circle_process(const struct lull_trace *trace, uint32_t comm, uint32_t rank);
/* LULL_NONE: the process takes no part. Takes time linear in the size where members are listed. */
uint32_t lull_circle_rank(const struct lull_trace *trace, uint32_t comm, uint32_t process);

/* Whether there are two groups, which wait for each other. */
bool lull_circle_is_between(const struct lull_trace *trace, uint32_t comm);
/* Which of two groups a rank belongs to: 0 or 1; 0 where there is one group. */
unsigned lull_circle_side(const struct lull_trace *trace, uint32_t comm, uint32_t rank);
uint32_t lull_circle_side_size(const struct lull_trace *trace, uint32_t comm, unsigned side);

/* ==== operations ============================================================================== */

/* Whether an operation (enum lull_collective) on a communicator can be followed: both are known,
 * and it is one of MPI. Any value of `comm` is allowed. */
bool lull_circle_knows(const struct lull_trace *trace, uint32_t comm, uint8_t op);
/* Whether one rank takes part: its operations wait for nobody. They are left out, because tracers
 * may give the communicators of single processes one definition together. */
bool lull_circle_is_alone(const struct lull_trace *trace, uint32_t comm);

/* The kind of the series that an operation belongs to: 0: it blocks; else the operation plus 1. */
uint8_t lull_circle_series(uint8_t op, bool blocks);

enum lull_collective_needs lull_circle_needs(const struct lull_trace *trace, uint32_t comm,
                                             uint8_t op);

/* For whom a process waits in an operation. */
enum lull_awaited {
    LULL_AWAITS_NOBODY,
    LULL_AWAITS_ROOT, /* where the trace does not tell who that is, for all */
    LULL_AWAITS_ALL,
    LULL_AWAITS_OTHERS, /* the other group */
    LULL_AWAITS_LOWER   /* the ranks below its own */
};

/* The part of one process in an operation. */
struct lull_circle_part {
    uint8_t needs;  /* enum lull_collective_needs: that of the operation, the same for all */
    uint8_t awaits; /* enum lull_awaited */
    bool is_root;
};
/* `root`: a process, or below 0: none, or not said. Between two groups those of the root's group
 * name no root, and of them only the root itself sends or receives something, which `moves` says of
 * this process. */
struct lull_circle_part lull_circle_part_of(const struct lull_trace *trace, uint32_t comm,
                                            uint8_t op, uint32_t process, int32_t root, bool moves);

#endif
