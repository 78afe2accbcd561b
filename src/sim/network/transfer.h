/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer: an operation in flight, and what a network's back-end may do with it.
 *
 * All that is here lives in flat arrays and is named by index: transfers by their number,
 * processors and NICs by rank and position. A transfer is a send together with its message, a
 * posted receive, or (inside the engine) a computation that waits for its processor. */
#ifndef LULL_SIM_NETWORK_TRANSFER_H
#define LULL_SIM_NETWORK_TRANSFER_H

#include "sim/engine/path.h"
#include "sim/network/network.h"

#define LULL_NO_TRANSFER UINT32_MAX

enum lull_transfer_flags {
    LULL_TRANSFER_RECEIVE = 1, /* with COMPUTE: a collective operation */
    LULL_TRANSFER_COMPUTE = 2,
    LULL_TRANSFER_SYNCHRONOUS = 4, /* rendezvous, whatever the size */
    LULL_TRANSFER_OF_SCRIPT = 8,   /* part of a collective operation */
    LULL_TRANSFER_OPEN = 16,       /* its request was not waited for yet */
    LULL_TRANSFER_OVER = 32,       /* the operation is over */
    LULL_TRANSFER_AWAITED = 64,    /* a WAIT for it has begun */
    LULL_TRANSFER_HELD = 128       /* a message that was not received yet */
};

/* A transfer is one cache line. A message belongs to the back-end from `send` until both lull_sent
 * and lull_received were called for it, except for three members: `child` is the engine's until
 * `match`, `link` and `partner` are the engine's between lull_arrived and `match`. */
struct lull_transfer {
    union {
        uint64_t seq; /* compat: order among what happens at the same time; never changes */
        int64_t over; /* else: ns, when the operation was over, once it is */
    };
    uint64_t bytes;          /* of a computation: ns; of a posted receive: its number */
    int64_t time;            /* of a message: for the back-end; of a receive: when it was posted */
    uint32_t source, target; /* ranks; the source of a receive may be LULL_OP_ANY */
    uint32_t tag, comm;
    uint32_t link, child; /* of lists */
    uint32_t partner;     /* of a message: the receive, once it is matched */
    uint32_t owner;       /* operation of a graph, request of a stream, or script */
    uint32_t open_next;   /* the next one in the list of the stream's requests */
    uint8_t flags;
    uint8_t phase : 6;    /* for the back-end; 0 at the start */
    uint8_t buffered : 1; /* of a message: its sender never waits, whatever the size */
    uint8_t blocking : 1; /* of a receive: the stream waits for it at once */
    uint8_t cpu, nic;     /* of the rank that started it */
};

/* A time and, when the longest path is wanted, what it consists of. */
struct lull_moment {
    int64_t time; /* ns */
    uint32_t path;
};

/* Until when a processor or a direction of a NIC is busy, in ns. */
struct lull_clock {
    int64_t *busy;
    uint32_t *path; /* NULL: not wanted */
};

/* What the engine knows of a rank. What is touched with every event comes first, in one cache line.
 */
struct lull_rank_state {
    int64_t busy[3];                      /* processor 0, NIC 0 sending, NIC 0 receiving */
    uint32_t posted, posted_last;         /* list of posted receives; if hashed, how many */
    uint32_t unexpected, unexpected_last; /* list of messages whose receive is not posted */
    union {
        uint64_t caused;     /* how many events the rank has caused */
        uint32_t blocked[2]; /* compat: sends and computations that wait */
    };
    uint32_t blocked_messages;  /* compat */
    uint32_t extra;             /* index in fabric->extra of the clocks of its further processors,
                                   then of its further NICs (two clocks each) */
    uint8_t last_cpu, last_nic; /* the highest numbers */
    uint8_t hashed;             /* bits: 1: posted, 2: unexpected are found by hash */
    uint8_t wild;               /* kinds of posted receives that the rank ever had (match.h) */
    uint32_t draws;             /* of noise, so far */
    uint64_t sent, received, bytes_sent, bytes_received;
    int64_t compute, noise, overhead;
    int64_t end; /* when the last of its streams ended */
};

enum { LULL_CLOCK_CPU, LULL_CLOCK_SEND, LULL_CLOCK_RECEIVE };

/* The part of the engine that back-ends see. */
struct lull_fabric {
    const struct lull_network *network;
    struct lull_arena *arena;
    void *state; /* of the back-end */
    uint32_t n_ranks;
    bool uniform; /* all levels have the same values */
    struct lull_rank_state *ranks;
    struct lull_transfer *transfers;
    struct lull_path *path;  /* NULL: not wanted */
    uint32_t *transfer_path; /* [as transfers]: path of the moment that was scheduled last */
    uint32_t *rank_path;     /* [3 n_ranks]: paths of the busy[] of all ranks */
    int64_t *extra;
    uint32_t *extra_path;
};

/* How many clocks a rank has for its processors and NICs beyond the first. */
static inline uint64_t lull_clocks_beyond(const struct lull_rank_state *rank)
{
    return rank->last_cpu + 2 * (uint64_t)rank->last_nic;
}

/* The values of the network's parameters that hold between two ranks. */
static inline const double *lull_between(const struct lull_fabric *fabric, uint32_t a, uint32_t b)
{
    if (fabric->uniform)
        return fabric->network->values[LULL_LEVEL_CLUSTER];
    return fabric->network->values[lull_placement_level(&fabric->network->placement, a, b)];
}

/* A cost as whole nanoseconds: rounded to the nearest, at most LULL_COST_MOST. */
#define LULL_COST_MOST (INT64_C(1) << 60)
static inline int64_t lull_cost(double ns)
{
    return ns < (double)LULL_COST_MOST ? (int64_t)(ns + 0.5) : LULL_COST_MOST;
}

static inline struct lull_clock lull_clock_extra(const struct lull_fabric *fabric, uint32_t at)
{
    return (struct lull_clock){&fabric->extra[at], fabric->path ? &fabric->extra_path[at] : NULL};
}

/* Processor `cpu` of a rank; processor 0 if there are not so many. */
static inline struct lull_clock lull_cpu(const struct lull_fabric *fabric, uint32_t rank,
                                         unsigned cpu)
{
    struct lull_rank_state *state = &fabric->ranks[rank];
    if (cpu == 0 || cpu > state->last_cpu)
        return (struct lull_clock){&state->busy[LULL_CLOCK_CPU],
                                   fabric->path ? &fabric->rank_path[3 * (size_t)rank] : NULL};
    return lull_clock_extra(fabric, state->extra + cpu - 1);
}

/* A NIC of a rank; NIC 0 if there are not so many. `direction` is LULL_CLOCK_SEND or
 * LULL_CLOCK_RECEIVE. */
static inline struct lull_clock lull_nic(const struct lull_fabric *fabric, uint32_t rank,
                                         unsigned nic, unsigned direction)
{
    struct lull_rank_state *state = &fabric->ranks[rank];
    if (nic == 0 || nic > state->last_nic)
        return (struct lull_clock){&state->busy[direction],
                                   fabric->path ? &fabric->rank_path[3 * (size_t)rank + direction]
                                                : NULL};
    return lull_clock_extra(fabric, state->extra + state->last_cpu + 2 * (nic - 1) +
                                        (direction - LULL_CLOCK_SEND));
}

/* The moment `ns` later; this time is spent on `part`. */
static inline struct lull_moment lull_after(const struct lull_fabric *fabric,
                                            struct lull_moment moment, enum lull_path_part part,
                                            int64_t ns)
{
    if (fabric->path)
        moment.path = lull_path_add(fabric->path, moment.path, part, ns);
    moment.time += ns;
    return moment;
}

/* The moment `latency` ns later, at another rank; this counts as a hop of the path. */
static inline struct lull_moment lull_hop(const struct lull_fabric *fabric,
                                          struct lull_moment moment, int64_t latency)
{
    if (fabric->path)
        moment.path = lull_path_hop(fabric->path, moment.path, latency);
    moment.time += latency;
    return moment;
}

/* The moment when both something is ready, which is at `moment`, and the clock is free. */
static inline struct lull_moment lull_free(struct lull_moment moment, struct lull_clock clock)
{
    if (*clock.busy < moment.time)
        return moment;
    return (struct lull_moment){*clock.busy, clock.path ? *clock.path : 0};
}

static inline void lull_keep_busy(struct lull_clock clock, struct lull_moment until)
{
    *clock.busy = until.time;
    if (clock.path)
        *clock.path = until.path;
}

/* In `send` and `advance`: the present moment, whose time is `time`. In `match`: the moment of
 * lull_arrived, if its time is `time`. */
static inline struct lull_moment lull_now(const struct lull_fabric *fabric, uint32_t message,
                                          int64_t time)
{
    return (struct lull_moment){time, fabric->path ? fabric->transfer_path[message] : 0};
}

/* In `match`: the moment when the receive was posted. */
static inline struct lull_moment lull_posted(const struct lull_fabric *fabric, uint32_t receive)
{
    return lull_now(fabric, receive, fabric->transfers[receive].time);
}

/* In `match`: the present moment, which is that of the arrival or that of the receive. */
static inline struct lull_moment lull_matched(const struct lull_fabric *fabric, uint32_t message,
                                              uint32_t receive, int64_t now)
{
    return fabric->transfers[receive].time == now ? lull_posted(fabric, receive)
                                                  : lull_now(fabric, message, now);
}

/* Whether the sender must wait for the receiver. `limit`: the largest eager message, in bytes. */
static inline bool lull_is_rendezvous(const struct lull_transfer *message, double limit)
{
    return ((double)message->bytes > limit && !message->buffered) ||
           (message->flags & LULL_TRANSFER_SYNCHRONOUS);
}

/* Has `advance` called for the message at `moment`, which must not be before the event that is
 * being handled. `rank` is the rank whose processors or NICs that event is about. */
void lull_schedule(struct lull_fabric *fabric, uint32_t message, uint32_t rank,
                   struct lull_moment moment);
/* In `advance`: as lull_schedule, but the event keeps its place among the events of one time, so
 * that what the message meets on its way does not let others of its channel pass. */
void lull_postpone(struct lull_fabric *fabric, uint32_t message, uint32_t rank,
                   struct lull_moment moment);
/* The envelope has come to its rank: `match` is called now, or later when the receive is posted. */
void lull_arrived(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment);
/* A send begins to be executed, so that what waits for its start goes on. Once per message. */
void lull_started(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment);
/* The send is over, or the receive that was matched with the message, now or at a later time. */
void lull_sent(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment);
void lull_received(struct lull_fabric *fabric, uint32_t message, struct lull_moment moment);

#endif
