/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine from inside: the state of one simulation. Internal to the room. The files of the
 * engine:
 *
 * simulate.c     set-up and result; a simulation whose ranks several processes have
 * run.c          events, one after the other; ranks on several threads
 * operation.c    transfers, and what back-ends call; operations that wait in line (compat);
 *                messages that keep the order of their channel
 * stream.c       streams of operations, what they wait for, and the threads of a rank
 * graph.c        graphs: which operation waits for which
 * collectives.c  collective operations, as messages or in closed form
 * domain.c       computations that share the bandwidth of memory
 * diagnose.c     what is left over at the end
 * large.c, match.c, path.c, queue.c  arrays, matching of messages, longest path, queue of events
 *
 * Events are handled in one of three ways, with the same result to the last bit: in the order of
 * time; in windows on several threads, where what a rank causes for another comes a while later
 * (shards, below); or each rank until it is blocked, in any order, where all times follow from when
 * sends and receives begin. In any order several processes can do it together (engine.h).
 *
 * An event is handled to its end before the next one. What it releases (streams that go on,
 * operations of a graph) is put into a list and started after it, so that nothing calls itself.
 * Transfers do not move in memory while a back-end's function runs. */
#ifndef LULL_SIM_ENGINE_RUN_H
#define LULL_SIM_ENGINE_RUN_H

#include "sim/collective/collective.h"
#include "sim/engine/engine.h"
#include "sim/engine/large.h"
#include "sim/engine/match.h"
#include "sim/engine/queue.h"
#include "sim/network/transfer.h"

#include <assert.h>

/* ==== the state of a simulation =============================================================== */

enum lull_event_of_run {
    LULL_RUN_START,   /* compat: a transfer that waits for its processor may start */
    LULL_RUN_ADVANCE, /* the back-end of a message has asked for this event */
    LULL_RUN_UNBLOCK, /* compat: a message that waits for processor and NIC may go on */
    LULL_RUN_STARTED, /* an operation of a graph starts */
    LULL_RUN_DONE,    /* an operation of a graph is done */
    LULL_RUN_RESUME,  /* a stream goes on */
    LULL_RUN_SCRIPT,  /* the next step of a collective operation begins */
    LULL_RUN_DOMAIN   /* in a memory domain a computation begins or ends */
};

enum { LULL_RUN_KIND_BITS = 3, LULL_RUN_KINDS = 7, LULL_NUMBER_BITS = 33 };

/* The source of an event stands in the highest bits of its key. */
#define LULL_MOST_RANKS (UINT32_C(1) << (64 - LULL_NUMBER_BITS - LULL_RUN_KIND_BITS))

/* The latest simulated time. A cost that is too long to be expressed goes beyond it, too. */
#define LULL_TIME_MOST (LULL_COST_MOST - 1)

/* compat: lists of what waits for processor 0 and NIC 0 of a rank */
enum { LULL_LINE_SEND, LULL_LINE_COMPUTE };

enum lull_sim_stream_state {
    LULL_STREAM_READY,
    LULL_STREAM_WAITS, /* for requests */
    LULL_STREAM_COMPUTES,
    LULL_STREAM_SYNC,
    LULL_STREAM_ENDED
};

/* A stream of the program; one cache line. */
struct lull_engine_stream {
    uint32_t rank;
    uint32_t open, open_last; /* list of its requests that were not waited for, by open_next */
    uint32_t awaited;         /* with a sink: list of the requests that the sink is to be told of */
    uint32_t wait_for;        /* how many requests that it waits for are not complete */
    union {
        uint32_t latest; /* in a WAIT: request that `resume` comes from, or LULL_OP_NO_REQUEST */
        uint32_t link;   /* in a SYNC: next stream that waits in it */
    };
    int64_t resume;     /* it goes on at this time, or later */
    int64_t receiving;  /* in a WAIT: the processor receives until this time at least */
    uint64_t iteration; /* that of its last MARK */
    int64_t clock;      /* with a sink: time of the last thing that the sink was told */
    uint8_t cpu, state; /* state: enum lull_sim_stream_state */
};
static_assert(sizeof(struct lull_engine_stream) == 64, "streams lie in cache lines of their own");

/* An operation of a graph as the loop needs it, packed so that four fit in a cache line. Parameters
 * that do not fit are read from the graph itself. */
struct lull_graph_step {
    union {
        uint32_t size;       /* bytes, or ns */
        uint32_t many_waits; /* LARGE: instead of `waits` */
    };
    union {
        uint32_t peer;
        uint32_t wait; /* SEVERAL: its place among the waits; it is LARGE or a computation */
    };
    uint16_t tag;   /* or LULL_STEP_ANY_TAG */
    uint16_t waits; /* requirements that are not met yet */
    int16_t next;   /* where the operations are that wait for its end: the distance to the first of
                       them, behind which the others follow */
    uint8_t n_next; /* how many these are; LULL_STEP_LISTED: the edges of the graph tell */
    uint8_t flags;  /* kind, and some of the flags below */
};

enum {
    LULL_STEP_KIND = 3,     /* mask of the kind */
    LULL_STEP_LARGE = 4,    /* its parameters do not fit */
    LULL_STEP_QUEUED = 8,   /* its end stands in the queue */
    LULL_STEP_SEVERAL = 16, /* it has several requirements */
    LULL_STEP_LISTED = UINT8_MAX,
    LULL_STEP_ANY_TAG = UINT16_MAX
};

static inline uint32_t lull_step_waits(const struct lull_graph_step *step)
{
    return step->flags & LULL_STEP_LARGE ? step->many_waits : step->waits;
}

/* An operation with several requirements: of the requirements whose end is known, the last one. */
struct lull_graph_wait {
    int64_t time;    /* ns, of that end */
    uint64_t number; /* of its event */
    uint32_t op;
    uint32_t edge; /* index among the edges of `op`: the last one that leads to here */
};

/* An operation of a graph that may start. */
struct lull_released {
    uint32_t rank, op;
    uint32_t path; /* node of the longest path */
    uint8_t kind;  /* of the operation */
    bool started;  /* compat: it has been started, and stays in the list until those before are */
};

/* The part of one rank in a collective operation that is made of messages. */
struct lull_script {
    struct lull_collective_call call;
    uint32_t record; /* the transfer that stands for the operation */
    uint32_t group, comm;
    uint32_t step, pending;    /* present step; transfers of it that are not complete */
    uint32_t latest;           /* transfer of the step that `resume` comes from, from 1; 0: none */
    uint32_t path, later_path; /* nodes of the longest path: of the moment of this step, of the next
                                  one */
    int64_t resume;            /* when the next step begins, as far as is known */
};

struct lull_scripts {
    struct lull_script *items;
    uint32_t count;
    uint32_t first_free, n_free; /* linked by `step` */
    size_t room;
};

struct lull_collectives;     /* collectives.c */
struct lull_syncs;           /* stream.c */
struct lull_domain;          /* domain.c */
struct lull_engine_channels; /* operation.c */
struct lull_shards;          /* run.c */

struct lull_engine {
    struct lull_fabric fabric; /* the first member: back-ends hold this */
    struct lull_queue queue;
    struct lull_entry
        *next_events; /* any_order: first in, first out; n_next of them from next_at */
    size_t next_at, n_next, next_room;
    struct lull_matcher matcher;
    struct lull_program *program;
    const struct lull_sim_options *options;
    const struct lull_network_class *class;
    const struct lull_sim_sink *sink; /* NULL: none */
    bool keeps_ops;                   /* transfer_ops is wanted */
    bool compat;
    bool scaled;        /* the network's processors have another speed */
    bool receives;      /* receives take time of the processor */
    bool by_time;       /* events are handled in the order of their times */
    bool any_order;     /* events are handled in any order: there is no queue */
    bool needs_order;   /* they were not handled by time, but must be, so all must begin again */
    int64_t window;     /* that of the queue, ns */
    uint64_t n_handled; /* events so far */
    uint32_t n_transfers, transfer_room;
    uint32_t
        *gone; /* [n_gone]: transfers to be used again, the last one first, as it is most likely
                       in the cache */
    size_t n_gone;
    unsigned n_threads;         /* for work that is done for each rank by itself */
    struct lull_shards *shards; /* NULL: this engine has all ranks */
    uint32_t shard;             /* number of the shard of this engine */
    uint32_t first_rank, n_own; /* its ranks */
    uint32_t n_foreign;         /* part: messages of other processes that were not received yet */
    uint32_t since_look;        /* part: what was done since it last looked for letters */
    int64_t now;
    uint64_t key;   /* of the event that is handled */
    uint64_t front; /* the highest key handled at this moment: without latency, an event may cause
                       another one at the same time with a lower key, which then comes late */
    uint32_t at;    /* the rank that acts */
    uint64_t seq;   /* compat: number of the next event */
    struct lull_op *transfer_ops; /* the operations that transfers stand for; or NULL */
    uint32_t *over_path;          /* with the longest path: by transfer, the node of its end */

    struct lull_graph_step **graph; /* by rank; NULL: the program has streams */
    struct lull_graph_step *steps;  /* of all ranks */
    struct lull_graph_wait *waits;  /* of SEVERAL steps; NULL: every end is an event */
    bool from_start;                /* the graph has requirements that are met by a start */
    uint32_t **op_path;             /* with the longest path: by rank, [2 n_ops]: the nodes of the
                                       moments when operations will be done, then of those when they
                                       start */
    struct lull_released *released;
    size_t n_released, released_room;

    struct lull_engine_stream *streams;
    uint32_t *stream_path;      /* [2 n_streams], nodes of the longest path: of `resume`, then of
                                   `receiving` */
    struct lull_op *stream_ops; /* with a sink: the operation that blocks the stream */
    uint32_t *ready;            /* streams that go on after this event */
    size_t n_ready, ready_room;
    uint32_t *deferred; /* compat: receives of a batch, which are started after its sends */
    size_t n_deferred, deferred_room;
    struct lull_syncs *syncs;
    struct lull_collectives *collectives;
    struct lull_scripts scripts;
    struct lull_engine_channels *channels;
    bool holds_back; /* messages are held back that would overtake others of their channel */

    struct lull_domain *domains; /* NULL: computations do not share memory */
    uint32_t n_domains;
    uint32_t *end_path; /* [n_ranks]: nodes of the longest path, of the ends of ranks */
    struct lull_delay *delays;
    bool
        *delay_over; /* [n_delays], shared by all engines of the simulation: each delay concerns one
                         rank, and so one engine */
    struct lull_sim_result result;
    lull_status status; /* the first failure inside a back-end's call */
    struct lull_error *err;
};

static inline struct lull_engine *lull_engine_of(struct lull_fabric *fabric)
{
    return (struct lull_engine *)(void *)fabric;
}

static inline struct lull_transfer *lull_transfer_at(const struct lull_engine *engine, uint32_t id)
{
    return &engine->fabric.transfers[id];
}

/* The number that orders events of the same time: first by the rank that caused them, then by that
 * rank's own count of events. With compat: by the order in which they were put into the queue. */
static inline uint64_t lull_next_number(struct lull_engine *engine)
{
    if (engine->compat)
        return engine->seq++;
    return (uint64_t)engine->at << LULL_NUMBER_BITS | engine->fabric.ranks[engine->at].caused++;
}

void lull_run_next(struct lull_engine *engine, const struct lull_entry *entry);
void lull_shard_send(struct lull_engine *engine, const struct lull_entry *entry);

static inline void lull_push_numbered(struct lull_engine *engine, enum lull_event_of_run kind,
                                      int64_t time, uint64_t number, uint32_t rank, uint32_t id)
{
    struct lull_entry entry = {time, number << LULL_RUN_KIND_BITS | kind, rank, id};
    if (engine->any_order)
        lull_run_next(engine, &entry);
    else if (rank - engine->first_rank >= engine->n_own)
        lull_shard_send(engine, &entry);
    else
        lull_queue_push(&engine->queue, &entry);
}

static inline void lull_push(struct lull_engine *engine, enum lull_event_of_run kind, int64_t time,
                             uint32_t rank, uint32_t id)
{
    lull_push_numbered(engine, kind, time, lull_next_number(engine), rank, id);
}

static inline lull_status lull_run_out_of_memory(struct lull_engine *engine)
{
    return engine->status =
               lull_fail(engine->err, LULL_ERR_MEMORY, "simulation: not enough memory");
}

/* ---- simulate.c: one engine for each shard --------------------------------------------------- */

/* An engine for other ranks of the same simulation, which has no ranks yet; NULL: no memory. */
struct lull_engine *lull_run_follower(const struct lull_engine *leader);
void lull_run_close_follower(struct lull_engine *engine);

/* ---- run.c: work for each rank by itself ----------------------------------------------------- */

enum { LULL_PIECE_RANKS = 1 << 12 }; /* ranks of a piece of work */
static inline uint32_t lull_run_n_pieces(const struct lull_engine *engine)
{
    return engine->program->n_ranks / LULL_PIECE_RANKS + 1;
}

/* Calls `body` for all ranks in pieces, from `first` to before `end`, on the engine's threads. */
typedef void (*lull_piece_body)(struct lull_engine *engine, void *context, uint32_t piece,
                                uint32_t first, uint32_t end);
void lull_run_pieces(struct lull_engine *engine, lull_piece_body body, void *context);

/* ---- simulate.c: ranks of several processes -------------------------------------------------- */

/* How much is done between two looks for letters: events, or operations and letters of streams that
 * run on. */
enum { LULL_LOOK_EVERY = 4096 };

/* Handles all events of this process's ranks, until the ranks of all processes are over. */
lull_status lull_part_run(struct lull_engine *engine);
/* Which process has a rank. */
uint32_t lull_part_of(const struct lull_engine *engine, uint32_t rank);
void lull_part_post(struct lull_engine *engine, uint32_t to, const struct lull_sim_letter *letter);
/* A message arrives at a rank of another process. */
void lull_part_send(struct lull_engine *engine, uint32_t message, int64_t time);
/* The send of a message that came from another process is over. */
void lull_part_sent(struct lull_engine *engine, uint32_t message, int64_t time);

static inline bool lull_is_own(const struct lull_engine *engine, uint32_t rank)
{
    return rank - engine->first_rank < engine->n_own;
}

/* ---- run.c: events --------------------------------------------------------------------------- */

/* Handles all events. */
lull_status lull_run_all(struct lull_engine *engine);
/* Handles up to `most` of them; *ret_more: there are others. */
lull_status lull_run_some(struct lull_engine *engine, uint32_t most, bool *ret_more);

/* ---- operation.c: transfers ------------------------------------------------------------------ */

uint32_t lull_transfer_new(struct lull_engine *engine); /* cleared; LULL_NO_TRANSFER: no memory */
static inline void lull_transfer_free(struct lull_engine *engine, uint32_t id)
{
    engine->gone[engine->n_gone++] = id;
}

/* Starts a transfer that is ready at `moment`, which is now; with compat: puts it in line. */
void lull_run_release(struct lull_engine *engine, uint32_t id, struct lull_moment moment);
/* Carries it out; with compat: its processor and NIC are free. */
void lull_run_execute(struct lull_engine *engine, uint32_t id, struct lull_moment moment);

/* A computation from `start` on is over, before its noise and its delay. */
void lull_computed(struct lull_engine *engine, uint32_t id, struct lull_moment start,
                   int64_t duration, int64_t noise, int64_t delay);

/* ---- domain.c -------------------------------------------------------------------------------- */

lull_status lull_domain_open(struct lull_engine *engine);
void lull_domain_close(struct lull_engine *engine);
void lull_domain_roots(struct lull_engine *engine); /* of the longest path */
/* A computation begins at `start`, which may be later than now; lull_computed ends it. */
void lull_domain_compute(struct lull_engine *engine, uint32_t id, struct lull_moment start,
                         int64_t duration, int64_t noise, int64_t delay);
void lull_domain_event(struct lull_engine *engine, uint32_t domain);

/* ---- operation.c: the order of LogGOPSim ----------------------------------------------------- */

void lull_compat_insert(struct lull_engine *engine, uint32_t id);
void lull_compat_start(struct lull_engine *engine, const struct lull_entry *entry);
void lull_compat_advance(struct lull_engine *engine, const struct lull_entry *entry);
void lull_compat_unblock(struct lull_engine *engine, const struct lull_entry *entry);

/* ---- graph.c --------------------------------------------------------------------------------- */

lull_status lull_graph_open(struct lull_engine *engine); /* of all ranks */
void lull_graph_close(struct lull_engine *engine);
lull_status lull_graph_start(struct lull_engine *engine); /* its own ranks */
void lull_graph_op_started(struct lull_engine *engine, uint32_t rank, uint32_t op,
                           struct lull_moment moment);
void lull_graph_op_done(struct lull_engine *engine, uint32_t rank, uint32_t op,
                        struct lull_moment moment);
void lull_graph_start_released(struct lull_engine *engine);
/* The event of its end has come. */
void lull_graph_done_event(struct lull_engine *engine, uint32_t rank, uint32_t op);

void lull_graph_roots(struct lull_engine *engine); /* of the longest path */
/* The moments of an operation for which an event was pushed. */
struct lull_moment lull_graph_moment(struct lull_engine *engine, enum lull_event_of_run kind,
                                     uint32_t rank, uint32_t op);

/* ---- stream.c: streams ----------------------------------------------------------------------- */

lull_status lull_stream_open(struct lull_engine *engine); /* of all ranks */
void lull_stream_close(struct lull_engine *engine);
lull_status lull_stream_start(struct lull_engine *engine); /* of its own ranks */
/* The stream goes on at `moment`. */
void lull_stream_resume(struct lull_engine *engine, uint32_t stream, struct lull_moment moment);
void lull_stream_wake(struct lull_engine *engine, uint32_t stream); /* that moment has come */
void lull_stream_roots(struct lull_engine *engine);                 /* of the longest path */
void lull_stream_run_ready(struct lull_engine *engine);
bool lull_stream_waits(const struct lull_engine *engine); /* one of its own ranks has not ended */

static inline uint32_t lull_stream_of(const struct lull_engine *engine,
                                      const struct lull_transfer *transfer)
{
    bool receives = transfer->flags & LULL_TRANSFER_RECEIVE;
    uint32_t rank = receives ? transfer->target : transfer->source;
    const uint32_t *first = engine->program->first_stream;
    return first ? first[rank] + transfer->cpu : rank;
}

/* ---- stream.c: requests ---------------------------------------------------------------------- */

/* The record of an operation of a stream, in the list of open requests if it has a request;
 * LULL_NO_TRANSFER: no memory. */
uint32_t lull_request_new(struct lull_engine *engine, uint32_t stream, const struct lull_op *op);
/* The stream waits for a record that is no longer in the list; or for those that a WAIT names. */
void lull_request_await(struct lull_engine *engine, uint32_t stream, uint32_t id);
lull_status lull_request_await_named(struct lull_engine *engine, uint32_t stream,
                                     const struct lull_op *op, struct lull_moment begin);
/* A record of a stream is over: its request is complete at `moment`. */
void lull_request_complete(struct lull_engine *engine, uint32_t id, struct lull_moment moment);
/* Nobody will name it any more. */
void lull_request_forget(struct lull_engine *engine, uint32_t id);

/* ---- collectives.c: operations of groups ----------------------------------------------------- */

lull_status lull_collect_open(struct lull_engine *engine);
void lull_collect_close(struct lull_engine *engine);
/* Whether the ranks of two engines called the same operations. */
bool lull_collect_agrees(const struct lull_engine *a, const struct lull_engine *b);
/* Of each group what this engine's ranks called (sim/engine/engine.h). */
void lull_collect_sign(const struct lull_engine *engine, uint64_t *signatures);
/* Part, closed forms: the ranks of a process have come to an operation of a group, the last of them
 * at `time`; and those of all have. */
void lull_collect_came(struct lull_engine *engine, uint32_t group, uint32_t number,
                       uint32_t n_ranks, int64_t time);
void lull_collect_leaves(struct lull_engine *engine, uint32_t group, uint32_t number,
                         struct lull_moment moment);
/* `record` stands for the operation until it is complete. */
lull_status lull_collect_begin(struct lull_engine *engine, uint32_t stream,
                               const struct lull_op *op, uint32_t record,
                               struct lull_moment moment);
/* It is complete. */
void lull_collect_over(struct lull_engine *engine, uint32_t record, struct lull_moment moment);
void lull_collect_roots(struct lull_engine *engine); /* of the longest path */
/* Closed forms: a rank that has not come yet, for a record that waits; or LULL_OP_ANY. */
uint32_t lull_collect_missing(const struct lull_engine *engine, uint32_t record);

static inline uint32_t lull_group_rank(const struct lull_group *group, uint32_t position)
{
    return group->ranks ? group->ranks[position] : group->first + position;
}

/* ---- collectives.c: scripts ------------------------------------------------------------------ */

/* A copy; UINT32_MAX: no memory, which is noted. */
uint32_t lull_script_new(struct lull_engine *engine, const struct lull_script *script);
void lull_script_step(struct lull_engine *engine, uint32_t script);
/* A part of the script's step is over. */
void lull_script_progress(struct lull_engine *engine, uint32_t script, uint32_t part,
                          struct lull_moment moment);
void lull_script_roots(struct lull_engine *engine); /* of the longest path */
uint32_t lull_script_record(const struct lull_engine *engine, uint32_t script);
void lull_script_close(struct lull_engine *engine);

/* ---- stream.c: SYNC -------------------------------------------------------------------------- */

lull_status lull_sync_begin(struct lull_engine *engine, uint32_t stream, const struct lull_op *op,
                            struct lull_moment moment);
void lull_sync_close(struct lull_engine *engine);
void lull_sync_roots(struct lull_engine *engine); /* of the longest path */

/* ---- operation.c: channels ------------------------------------------------------------------- */

lull_status lull_channel_open(struct lull_engine *engine);
void lull_channel_close(struct lull_engine *engine);
/* any_order: whether all sends of the channel, and all receives, are those of one stream. */
bool lull_channel_of_one_stream(struct lull_engine *engine, const struct lull_transfer *transfer);
/* With `holds_back`: a send begins; its message is the next of its channel. */
void lull_channel_sent(struct lull_engine *engine, uint32_t message);
/* Whether all messages before this one have arrived; else it is held. */
bool lull_channel_is_next(struct lull_engine *engine, uint32_t message);
/* A message was let through: the one that was held for it, or LULL_NO_TRANSFER. */
uint32_t lull_channel_held(struct lull_engine *engine, const struct lull_transfer *before);

/* ---- diagnose.c ------------------------------------------------------------------------------ */

/* Whether operations of this engine's ranks are not over. */
bool lull_run_has_left_over(struct lull_engine *engine);
/* Fails if something is left over, with the words for a table in *ret_problems. */
lull_status lull_run_diagnose(struct lull_engine *engine, struct lull_arena *arena,
                              const char *const **ret_problems);

/* ==== shards ================================================================================== */

/* A shard is a part of the ranks with an engine of its own, so that several threads can simulate.
 *
 * That is possible where the network's class has a lookahead: time is cut into windows of that
 * length, so that what one rank causes for another one comes in a later window. All shards handle
 * the same window, each its own ranks. Messages for ranks of other shards are put into boxes, which
 * are emptied before the next window. The numbers of events do not depend on the shards, so the
 * result has the same bits for any number of shards. */

/* Runs the simulation of `leader`, which is open but has no ranks yet, on n_threads >= 2 threads;
 * each thread takes the next shard of a window when it is free. Fails without words where something
 * is left over, does not fit into memory, or must be handled by time. The sums of all shards are in
 * leader->result. */
lull_status lull_shards_run(struct lull_engine *leader, unsigned n_threads);

#endif
