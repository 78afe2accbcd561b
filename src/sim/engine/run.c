/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/engine/run.h"

#include "base/array.h"
#include "base/parallel.h"
#include "sim/collective/collective.h"
#include "sim/engine/engine.h"
#include "sim/engine/large.h"
#include "sim/engine/match.h"
#include "sim/engine/queue.h"
#include "sim/network/transfer.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Prefetching for an operation that starts or ends soon, in this order. */
static inline void graph_fetch(const struct lull_engine *engine, uint32_t rank, uint32_t op)
{
    lull_fetch(&engine->graph[rank][op]);
}

static inline void graph_fetch_next(const struct lull_engine *engine, uint32_t rank, uint32_t op)
{
    const struct lull_graph_step *step = &engine->graph[rank][op];
    if (step->n_next == LULL_STEP_LISTED)
        return;
    const char *next = (const char *)(step + step->next);
    for (size_t at = 0; at < step->n_next * sizeof *step && at < 256; at += 64)
        lull_fetch(next + at);
}

/* ==== events, one after the other ============================================================= */

enum { TELL_EVERY = 1 << 16 };

static void handle(struct lull_engine *engine, const struct lull_entry *entry)
{
    switch ((enum lull_event_of_run)(entry->key & LULL_RUN_KINDS)) {
    case LULL_RUN_START:
        lull_compat_start(engine, entry);
        break;
    case LULL_RUN_ADVANCE:
        if (engine->compat)
            lull_compat_advance(engine, entry);
        else
            engine->class->advance(&engine->fabric, entry->id, entry->time);
        break;
    case LULL_RUN_UNBLOCK:
        lull_compat_unblock(engine, entry);
        break;
    case LULL_RUN_STARTED:
        lull_graph_op_started(engine, entry->rank, entry->id,
                              lull_graph_moment(engine, LULL_RUN_STARTED, entry->rank, entry->id));
        break;
    case LULL_RUN_DONE:
        lull_graph_done_event(engine, entry->rank, entry->id);
        break;
    case LULL_RUN_RESUME:
        lull_stream_wake(engine, entry->id);
        break;
    case LULL_RUN_SCRIPT:
        lull_script_step(engine, entry->id);
        break;
    case LULL_RUN_DOMAIN:
        lull_domain_event(engine, entry->id);
        break;
    }
}

/* Events of many ranks alternate, so nearly everything they touch comes from far away. Fetching it
 * while the events before are handled hides most of that. */
static inline void fetch_first(const struct lull_engine *engine, const struct lull_entry *entry)
{
    unsigned kind = entry->key & LULL_RUN_KINDS;
    lull_fetch(&engine->fabric.ranks[entry->rank]);
    lull_fetch((const char *)&engine->fabric.ranks[entry->rank] + 64);
    if (kind <= LULL_RUN_UNBLOCK)
        lull_fetch(&engine->fabric.transfers[entry->id]);
    if (engine->graph)
        lull_fetch(&engine->graph[entry->rank]);
    else if (kind == LULL_RUN_RESUME)
        lull_fetch(&engine->streams[entry->id]);
}

static inline void fetch_second(const struct lull_engine *engine, const struct lull_entry *entry)
{
    unsigned kind = entry->key & LULL_RUN_KINDS;
    const struct lull_transfer *transfers = engine->fabric.transfers;
    uint32_t posted = engine->fabric.ranks[entry->rank].posted;
    if (kind == LULL_RUN_START) {
        uint32_t behind = transfers[entry->id].child; /* in line */
        if (behind < engine->n_transfers)
            lull_fetch(&transfers[behind]);
        if (engine->graph)
            graph_fetch(engine, entry->rank, transfers[entry->id].owner);
    } else if (kind == LULL_RUN_DONE) {
        graph_fetch(engine, entry->rank, entry->id);
    } else if (kind == LULL_RUN_ADVANCE && posted < engine->n_transfers) {
        lull_fetch(&transfers[posted]);
    }
}

/* Whether a posted receive of the rank is at hand; a hashed rank only counts them. */
static inline bool is_posted(const struct lull_engine *engine, uint32_t rank, uint32_t id)
{
    if (id >= engine->n_transfers)
        return false;
    const struct lull_transfer *transfer = &engine->fabric.transfers[id];
    return (transfer->flags & LULL_TRANSFER_RECEIVE) && transfer->target == rank;
}

static inline void fetch_third(const struct lull_engine *engine, const struct lull_entry *entry)
{
    unsigned kind = entry->key & LULL_RUN_KINDS;
    const struct lull_transfer *transfers = engine->fabric.transfers;
    uint32_t posted = engine->fabric.ranks[entry->rank].posted;
    if (kind == LULL_RUN_START)
        graph_fetch_next(engine, entry->rank, transfers[entry->id].owner);
    else if (kind == LULL_RUN_DONE)
        graph_fetch_next(engine, entry->rank, entry->id);
    else if (kind == LULL_RUN_ADVANCE && is_posted(engine, entry->rank, posted))
        graph_fetch(engine, entry->rank, transfers[posted].owner);
}

static inline void fetch_fourth(const struct lull_engine *engine, const struct lull_entry *entry)
{
    const struct lull_transfer *transfers = engine->fabric.transfers;
    uint32_t posted = engine->fabric.ranks[entry->rank].posted;
    if ((entry->key & LULL_RUN_KINDS) == LULL_RUN_ADVANCE && is_posted(engine, entry->rank, posted))
        graph_fetch_next(engine, entry->rank, transfers[posted].owner);
}

enum { AHEAD_FIRST = 15, AHEAD_SECOND = 10, AHEAD_THIRD = 6, AHEAD_FOURTH = 3 };

/* Each of these looks at what the calls for earlier events have fetched, so the order matters. */
static inline void prefetch(const struct lull_engine *engine)
{
    const struct lull_entry *entry = lull_queue_ahead(&engine->queue, AHEAD_FIRST);
    if (entry)
        fetch_first(engine, entry);
    entry = lull_queue_ahead(&engine->queue, AHEAD_SECOND);
    if (entry)
        fetch_second(engine, entry);
    if (!engine->graph)
        return;
    entry = lull_queue_ahead(&engine->queue, AHEAD_THIRD);
    if (entry)
        fetch_third(engine, entry);
    entry = lull_queue_ahead(&engine->queue, AHEAD_FOURTH);
    if (entry)
        fetch_fourth(engine, entry);
}

/* The same for the first entries of a run, which prefetch() has not seen. */
static void prefetch_run(const struct lull_engine *engine)
{
    const struct lull_entry *entry;
    for (size_t i = 0; i < AHEAD_FIRST; i++)
        if ((entry = lull_queue_ahead(&engine->queue, i)))
            fetch_first(engine, entry);
    for (size_t i = 0; i < AHEAD_SECOND; i++)
        if ((entry = lull_queue_ahead(&engine->queue, i)))
            fetch_second(engine, entry);
}

static lull_status compact_path(struct lull_engine *engine)
{
    struct lull_path *path = engine->fabric.path;
    lull_path_begin_compact(path);
    for (uint32_t i = 0; i < engine->n_transfers; i++) {
        lull_path_root(path, &engine->fabric.transfer_path[i]);
        lull_path_root(path, &engine->over_path[i]);
    }
    for (uint32_t r = 0; r < engine->fabric.n_ranks; r++) {
        for (unsigned i = 0; i < 3; i++)
            lull_path_root(path, &engine->fabric.rank_path[3 * (size_t)r + i]);
        const struct lull_rank_state *rank = &engine->fabric.ranks[r];
        for (uint64_t i = 0; i < lull_clocks_beyond(rank); i++)
            lull_path_root(path, &engine->fabric.extra_path[rank->extra + i]);
        lull_path_root(path, &engine->end_path[r]);
    }
    if (engine->graph)
        lull_graph_roots(engine);
    else
        lull_stream_roots(engine);
    lull_domain_roots(engine);
    return lull_path_end_compact(path, engine->err);
}

void lull_run_next(struct lull_engine *engine, const struct lull_entry *entry)
{
    bool late = (entry->key & LULL_RUN_KINDS) == LULL_RUN_RESUME;
    if (late) { /* what was put off waits for those that are behind; messages must keep their order
                 */
        lull_queue_push(&engine->queue, entry);
        return;
    }
    if (engine->n_next == engine->next_room && engine->next_at > engine->n_next / 2) {
        engine->n_next -= engine->next_at;
        memmove(engine->next_events, engine->next_events + engine->next_at,
                engine->n_next * sizeof *entry);
        engine->next_at = 0;
    }
    if (!lull_array_reserve(&engine->next_events, &engine->next_room, engine->n_next + 1,
                            sizeof *engine->next_events))
        lull_run_out_of_memory(engine);
    else
        engine->next_events[engine->n_next++] = *entry;
}

static inline bool take_event(struct lull_engine *engine, struct lull_entry *ret_entry)
{
    if (engine->next_at == engine->n_next)
        return lull_queue_pop(&engine->queue, ret_entry);
    *ret_entry = engine->next_events[engine->next_at++];
    return true;
}

static lull_status check_events(struct lull_engine *engine, const struct lull_entry *entry)
{
    if (engine->status != LULL_OK)
        return engine->status;
    if (engine->queue.out_of_memory || engine->matcher.out_of_memory)
        return lull_run_out_of_memory(engine);
    if (entry->time > LULL_TIME_MOST)
        return lull_fail(engine->err, LULL_ERR_RANGE,
                         "simulation: rank %u: time passes 2^60 ns, 36 years", entry->rank);
    if (engine->fabric.path && lull_path_is_full(engine->fabric.path))
        return compact_path(engine);
    return LULL_OK;
}

static lull_status check_memory(struct lull_engine *engine)
{
    if (engine->queue.out_of_memory || engine->matcher.out_of_memory)
        return lull_run_out_of_memory(engine);
    return engine->status;
}

static inline lull_status handle_whole(struct lull_engine *engine, const struct lull_entry *entry)
{
    lull_status status = check_events(engine, entry);
    if (status != LULL_OK)
        return status;
    prefetch(engine);
    bool again = engine->by_time && entry->time == engine->now && engine->front > entry->key;
    engine->front = again ? engine->front : entry->key;
    engine->now = entry->time;
    engine->at = entry->rank;
    engine->key = entry->key;
    handle(engine, entry);
    if (engine->n_released)
        lull_graph_start_released(engine);
    if (engine->n_ready)
        lull_stream_run_ready(engine);
    if (++engine->n_handled % TELL_EVERY == 0 && engine->options->progress && engine->shard == 0)
        engine->options->progress(engine->options->progress_context, engine->now);
    return LULL_OK;
}

lull_status lull_run_all(struct lull_engine *engine)
{
    uint64_t n_runs = 0;
    struct lull_entry entry;
    while (take_event(engine, &entry)) {
        if (engine->queue.n_runs != n_runs)
            prefetch_run(engine);
        n_runs = engine->queue.n_runs;
        lull_status status = handle_whole(engine, &entry);
        if (status != LULL_OK)
            return status;
    }
    return check_memory(engine);
}

lull_status lull_run_some(struct lull_engine *engine, uint32_t most, bool *ret_more)
{
    struct lull_entry entry;
    for (uint32_t i = 0; i < most; i++) {
        if (!take_event(engine, &entry)) {
            *ret_more = false;
            return check_memory(engine);
        }
        lull_status status = handle_whole(engine, &entry);
        if (status != LULL_OK)
            return status;
    }
    *ret_more = true;
    return check_memory(engine);
}

/* Handles the events of the first window of the queue. */
static lull_status run_first_window(struct lull_engine *engine)
{
    struct lull_entry entry;
    if (engine->queue.run.count == engine->queue.run_at && engine->queue.side.count == 0)
        lull_queue_refill(&engine->queue);
    prefetch_run(engine);
    while (lull_queue_pop_run(&engine->queue, &entry)) {
        lull_status status = handle_whole(engine, &entry);
        if (status != LULL_OK)
            return status;
    }
    return check_memory(engine);
}

/* ==== shards ================================================================================== */

enum { NO_RECORD_YET = LULL_NO_TRANSFER, SPINS = 2000 };

/* More shards than threads even out what the ranks have to do, as trees need it; but what passes
 * between shards is copied, so they must be large. */
enum { MOST_OF_THREAD = 4, LARGE_SHARD = 1 << 16 /* ranks */ };

/* A message for a rank of another shard, where it gets a record of its own. `to` is that record's
 * number where there is one already: a rendezvous goes to and fro. */
struct parcel {
    struct lull_entry entry;
    struct lull_transfer message;
    uint32_t from, to;
};

struct box {
    struct parcel *parcels;
    size_t n, room;
};

/* Its thread writes it with each message, so it shares no cache line with others; nor do its boxes
 * and its engine. */
struct lull_shard {
    _Alignas(LULL_APART) struct lull_engine *engine;
    struct box *boxes[2]; /* [n_shards]: filled in this window, emptied in the next; by turns */
    int64_t next;         /* its next window, or that of what it put into boxes */
    atomic_uint_fast64_t turn;
};

struct lull_shards {
    struct lull_shard *shards;
    uint32_t n, block; /* shard i has the ranks from i * block on */
    uint32_t n_threads;
    int64_t window;
    atomic_uint_fast64_t turn; /* number of the window; LAST: there are no more */
    atomic_uint done;          /* shards that are ready with it */
};

#define LAST UINT_FAST64_MAX

/* --- ranks in pieces ------------------------------------------------------------------------ */

struct pieces {
    struct lull_engine *engine;
    lull_piece_body body;
    void *context;
    atomic_uint next;
};

static void run_pieces(void *context, unsigned worker)
{
    (void)worker;
    struct pieces *pieces = context;
    uint32_t n_ranks = pieces->engine->program->n_ranks, piece;
    while ((piece = atomic_fetch_add(&pieces->next, 1)) < lull_run_n_pieces(pieces->engine)) {
        uint32_t first = piece * LULL_PIECE_RANKS, left = n_ranks - first;
        pieces->body(pieces->engine, pieces->context, piece, first,
                     first + (left < LULL_PIECE_RANKS ? left : LULL_PIECE_RANKS));
    }
}

void lull_run_pieces(struct lull_engine *engine, lull_piece_body body, void *context)
{
    struct pieces pieces = {.engine = engine, .body = body, .context = context};
    uint32_t n = lull_run_n_pieces(engine);
    lull_parallel_run(n < engine->n_threads ? n : engine->n_threads, run_pieces, &pieces);
}

/* --- messages between shards --------------------------------------------------------------- */

/* Where the number of the other record is: of a send in `partner`, of a message that came from
 * another shard in `open_next`. */
static uint32_t *other_record(const struct lull_engine *engine, struct lull_transfer *message)
{
    return lull_is_own(engine, message->source) ? &message->partner : &message->open_next;
}

static bool grow_box(struct box *box)
{
    size_t room = box->room ? 2 * box->room : 64;
    struct parcel *parcels =
        lull_large_grow(box->parcels, box->room * sizeof *parcels, room * sizeof *parcels);
    if (!parcels)
        return false;
    box->parcels = parcels;
    box->room = room;
    return true;
}

void lull_shard_send(struct lull_engine *engine, const struct lull_entry *entry)
{
    struct lull_shards *all = engine->shards;
    struct lull_shard *shard = &all->shards[engine->shard];
    struct lull_transfer *message = lull_transfer_at(engine, entry->id);
    unsigned turn = atomic_load_explicit(&shard->turn, memory_order_relaxed) & 1;
    struct box *box = &shard->boxes[turn][entry->rank / all->block];
    if (box->n == box->room && !grow_box(box)) {
        lull_run_out_of_memory(engine);
        return;
    }
    box->parcels[box->n++] =
        (struct parcel){*entry, *message, entry->id, *other_record(engine, message)};
    int64_t window = lull_queue_window(&engine->queue, entry->time);
    shard->next = window < shard->next ? window : shard->next;
    if (lull_is_own(engine, message->source))
        message->flags &= (uint8_t)~LULL_TRANSFER_HELD; /* it is received elsewhere */
}

static void receive_parcel(struct lull_engine *engine, const struct parcel *parcel)
{
    struct lull_entry entry = parcel->entry;
    entry.id = parcel->to;
    if (entry.id == NO_RECORD_YET) {
        entry.id = lull_transfer_new(engine);
        if (entry.id == NO_RECORD_YET)
            return;
        *lull_transfer_at(engine, entry.id) = parcel->message;
        lull_transfer_at(engine, entry.id)->flags =
            (parcel->message.flags & LULL_TRANSFER_SYNCHRONOUS) | LULL_TRANSFER_HELD |
            LULL_TRANSFER_OVER;
    }
    struct lull_transfer *message = lull_transfer_at(engine, entry.id);
    message->phase = parcel->message.phase;
    *other_record(engine, message) = parcel->from;
    lull_queue_push(&engine->queue, &entry);
}

/* --- windows ------------------------------------------------------------------------------- */

static void start_shard(struct lull_engine *engine)
{
    lull_status status = engine->graph ? lull_graph_start(engine) : lull_stream_start(engine);
    if (engine->status == LULL_OK)
        engine->status = status;
}

static void run_window(struct lull_shards *all, struct lull_shard *shard, uint_fast64_t turn)
{
    struct lull_engine *engine = shard->engine;
    shard->next = INT64_MAX;
    for (uint32_t i = 0; i < all->n && turn > 1; i++) {
        struct box *box = &all->shards[i].boxes[(turn & 1) ^ 1][engine->shard];
        for (size_t k = 0; k < box->n; k++)
            receive_parcel(engine, &box->parcels[k]);
        box->n = 0;
    }
    if (turn == 1)
        start_shard(engine);
    if (lull_queue_first(&engine->queue) == all->window && engine->status == LULL_OK)
        engine->status = run_first_window(engine);
    int64_t first = lull_queue_first(&engine->queue);
    shard->next = first < shard->next ? first : shard->next;
}

/* Handles the window in shards that nobody has yet, its own first: its memory is near. */
static void help(struct lull_shards *all, unsigned worker, uint_fast64_t turn)
{
    uint32_t first = (uint32_t)((uint64_t)worker * all->n / all->n_threads);
    for (uint32_t i = 0; i < all->n; i++) {
        struct lull_shard *shard = &all->shards[(first + i) % all->n];
        uint_fast64_t before = turn - 1;
        if (!atomic_compare_exchange_strong(&shard->turn, &before, turn))
            continue;
        run_window(all, shard, turn);
        atomic_fetch_add(&all->done, 1);
    }
}

static void wait_a_little(unsigned *spins)
{
    if (++*spins > SPINS)
        sched_yield();
}

/* The next window, or false: it is over, or has failed. */
static bool begin_window(struct lull_shards *all, uint_fast64_t turn)
{
    all->window = turn == 1 ? 0 : INT64_MAX;
    for (uint32_t i = 0; i < all->n; i++) {
        if (all->shards[i].engine->status != LULL_OK)
            return false;
        if (turn > 1 && all->shards[i].next < all->window)
            all->window = all->shards[i].next;
    }
    if (all->window == INT64_MAX)
        return false;
    atomic_store(&all->done, 0);
    atomic_store(&all->turn, turn);
    return true;
}

static void lead(struct lull_shards *all)
{
    for (uint_fast64_t turn = 1; begin_window(all, turn); turn++) {
        unsigned spins = 0;
        help(all, 0, turn);
        while (atomic_load(&all->done) < all->n)
            wait_a_little(&spins);
    }
    atomic_store(&all->turn, LAST);
}

static void work_on_shards(void *context, unsigned worker)
{
    struct lull_shards *all = context;
    if (worker == 0) {
        lead(all);
        return;
    }
    unsigned spins = 0;
    for (uint_fast64_t seen = 0, turn; (turn = atomic_load(&all->turn)) != LAST;) {
        if (turn == seen) {
            wait_a_little(&spins);
            continue;
        }
        spins = 0;
        help(all, worker, turn);
        seen = turn;
    }
}

/* --- set-up -------------------------------------------------------------------------------- */

static bool open_shard(struct lull_shards *all, struct lull_engine *leader, uint32_t i)
{
    struct lull_shard *shard = &all->shards[i];
    uint32_t n_ranks = leader->program->n_ranks;
    struct lull_engine *engine = i == 0 ? leader : lull_run_follower(leader);
    shard->engine = engine;
    shard->boxes[0] = lull_alloc_apart(all->n * sizeof *shard->boxes[0]);
    shard->boxes[1] = lull_alloc_apart(all->n * sizeof *shard->boxes[1]);
    if (!engine || !shard->boxes[0] || !shard->boxes[1])
        return false;
    engine->shards = all;
    engine->shard = i;
    engine->first_rank = i * all->block;
    engine->n_own =
        n_ranks - engine->first_rank < all->block ? n_ranks - engine->first_rank : all->block;
    return true;
}

static void close_box(const struct box *box)
{
    lull_large_free(box->parcels, box->room * sizeof *box->parcels);
}

static void close_shards(struct lull_shards *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        struct lull_shard *shard = &all->shards[i];
        for (unsigned turn = 0; turn < 2; turn++) {
            for (uint32_t k = 0; shard->boxes[turn] && k < all->n; k++)
                close_box(&shard->boxes[turn][k]);
            free(shard->boxes[turn]);
        }
        if (i > 0 && shard->engine)
            lull_run_close_follower(shard->engine);
    }
    free(all->shards);
}

static lull_status gather(const struct lull_shards *all, struct lull_engine *leader)
{
    struct lull_sim_result *sum = &leader->result;
    for (uint32_t i = 0; i < all->n; i++) {
        struct lull_engine *engine = all->shards[i].engine;
        if (engine->status != LULL_OK)
            return engine->status;
        if (lull_run_has_left_over(engine) || !lull_collect_agrees(leader, engine))
            return LULL_ERR_FORMAT;
        if (i == 0)
            continue;
        sum->n_sends += engine->result.n_sends;
        sum->n_receives += engine->result.n_receives;
        sum->n_computes += engine->result.n_computes;
        sum->n_messages += engine->result.n_messages;
        sum->n_collectives += engine->result.n_collectives;
    }
    return LULL_OK;
}

lull_status lull_shards_run(struct lull_engine *leader, unsigned n_threads)
{
    uint32_t n_ranks = leader->program->n_ranks, wanted = n_ranks / LARGE_SHARD;
    if (wanted / MOST_OF_THREAD >= n_threads)
        wanted = n_threads * MOST_OF_THREAD;
    if (wanted < n_threads)
        wanted = n_threads;
    uint32_t block = (n_ranks + wanted - 1) / wanted;
    struct lull_shards all = {.block = block, .n = (n_ranks + block - 1) / block};
    all.n_threads = n_threads < all.n ? n_threads : all.n;
    all.shards = lull_alloc_apart(all.n * sizeof *all.shards);
    if (!all.shards)
        return lull_run_out_of_memory(leader);
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < all.n && status == LULL_OK; i++)
        if (!open_shard(&all, leader, i))
            status = lull_run_out_of_memory(leader);
    if (status == LULL_OK) {
        lull_parallel_run(all.n_threads, work_on_shards, &all);
        status = gather(&all, leader);
    }
    close_shards(&all);
    leader->shards = NULL;
    return status;
}
