/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: each pulls its next operations when what blocks it is over. */
#include "base/array.h"
#include "base/mix.h"
#include "sim/engine/large.h"
#include "sim/engine/run.h"

#include <stdlib.h>

/* ==== SYNC: threads of one rank wait for each other =========================================== */

enum { NO_SYNC = UINT32_MAX, FIRST_BUCKETS = 64 };

struct lull_sync {
    uint64_t number;
    uint32_t rank;
    uint32_t arrived;
    uint32_t gone;             /* on, of those that only wait */
    uint32_t waiting;          /* streams, through `link` */
    uint32_t next;             /* of the bucket; of the free ones */
    uint32_t last;             /* the stream that came last, of those the first */
    struct lull_moment moment; /* when it came */
};

/* A rank may have many at the same time: one for each operation of its devices that is not over. */
struct lull_syncs {
    uint32_t *buckets; /* [n_buckets]: those that are open, by rank and number */
    size_t n_buckets;  /* a power of two */
    struct lull_sync *syncs;
    size_t n, room, n_open;
    uint32_t free;
};

static uint32_t *bucket_of(const struct lull_syncs *all, uint32_t rank, uint64_t number)
{
    return &all->buckets[lull_scatter(lull_mix(rank, number)) & (all->n_buckets - 1)];
}

/* As many buckets as may be open, or more. */
static bool spread_syncs(struct lull_syncs *all, size_t n_buckets)
{
    uint32_t *old = all->buckets;
    const size_t n_old = all->n_buckets;
    uint32_t *buckets = malloc(n_buckets * sizeof *buckets);
    if (!buckets)
        return false;
    for (size_t b = 0; b < n_buckets; b++)
        buckets[b] = NO_SYNC;
    all->buckets = buckets;
    all->n_buckets = n_buckets;
    for (size_t b = 0; b < n_old; b++)
        for (uint32_t id = old[b], next; id != NO_SYNC; id = next) {
            struct lull_sync *sync = &all->syncs[id];
            uint32_t *bucket = bucket_of(all, sync->rank, sync->number);
            next = sync->next;
            sync->next = *bucket;
            *bucket = id;
        }
    free(old);
    return true;
}

static bool open_syncs(struct lull_engine *engine)
{
    struct lull_syncs *all = engine->syncs = calloc(1, sizeof *all);
    if (!all)
        return false;
    all->free = NO_SYNC;
    return spread_syncs(all, FIRST_BUCKETS);
}

void lull_sync_roots(struct lull_engine *engine)
{
    for (size_t i = 0; engine->syncs && i < engine->syncs->n; i++)
        lull_path_root(engine->fabric.path, &engine->syncs->syncs[i].moment.path);
}

void lull_sync_close(struct lull_engine *engine)
{
    if (!engine->syncs)
        return;
    free(engine->syncs->buckets);
    free(engine->syncs->syncs);
    free(engine->syncs);
}

static uint32_t new_sync(struct lull_syncs *all, uint32_t rank, uint64_t number)
{
    uint32_t id = all->free;
    if (all->n_open >= all->n_buckets && !spread_syncs(all, 2 * all->n_buckets))
        return NO_SYNC;
    if (id != NO_SYNC)
        all->free = all->syncs[id].next;
    else if (lull_array_reserve(&all->syncs, &all->room, all->n + 1, sizeof *all->syncs))
        id = (uint32_t)all->n++;
    else
        return NO_SYNC;
    uint32_t *bucket = bucket_of(all, rank, number);
    all->syncs[id] = (struct lull_sync){
        .number = number, .rank = rank, .waiting = NO_SYNC, .next = *bucket, .last = NO_SYNC};
    *bucket = id;
    all->n_open++;
    return id;
}

static void close_sync(struct lull_syncs *all, uint32_t *before)
{
    uint32_t id = *before;
    *before = all->syncs[id].next;
    all->syncs[id].next = all->free;
    all->free = id;
    all->n_open--;
}

static struct lull_moment later_moment(struct lull_moment a, struct lull_moment b)
{
    return b.time > a.time ? b : a;
}

/* The streams that wait in a SYNC go on. In a SYNC of two parts, a stream that waits goes on no
 * earlier than it has come itself. */
static uint32_t wake_all(struct lull_engine *engine, struct lull_sync *sync, bool apart)
{
    uint32_t woken = 0;
    for (uint32_t s = sync->waiting, next; s != NO_SYNC; s = next, woken++) {
        struct lull_moment moment = sync->moment;
        next = engine->streams[s].link;
        if (apart) {
            const struct lull_moment own = {engine->streams[s].resume,
                                            engine->stream_path ? engine->stream_path[s] : 0};
            moment = later_moment(own, moment);
        }
        lull_stream_resume(engine, s, moment);
    }
    sync->waiting = NO_SYNC;
    return woken;
}

/* The place of a sync in the list of its bucket; NULL: no memory. */
static uint32_t *find_sync(struct lull_engine *engine, uint32_t rank, uint64_t number)
{
    if (!engine->syncs && !open_syncs(engine))
        return NULL;
    struct lull_syncs *all = engine->syncs;
    uint32_t *before = bucket_of(all, rank, number);
    while (*before != NO_SYNC &&
           (all->syncs[*before].number != number || all->syncs[*before].rank != rank))
        before = &all->syncs[*before].next;
    if (*before != NO_SYNC)
        return before;
    return new_sync(all, rank, number) == NO_SYNC ? NULL : bucket_of(all, rank, number);
}

static void arrive_at_sync(struct lull_sync *sync, uint32_t s, struct lull_moment moment)
{
    if (sync->last == NO_SYNC || moment.time > sync->moment.time ||
        (moment.time == sync->moment.time && s < sync->last)) {
        sync->last = s;
        sync->moment = moment;
    }
    sync->arrived++;
}

static void await_sync(struct lull_engine *engine, struct lull_sync *sync, uint32_t s,
                       struct lull_moment moment)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    stream->state = LULL_STREAM_SYNC;
    stream->resume = moment.time;
    if (engine->stream_path)
        engine->stream_path[s] = moment.path;
    stream->link = sync->waiting;
    sync->waiting = s;
}

lull_status lull_sync_begin(struct lull_engine *engine, uint32_t s, const struct lull_op *op,
                            struct lull_moment moment)
{
    const uint64_t number = (uint64_t)op->comm << 32 | op->tag;
    uint32_t *before = find_sync(engine, engine->streams[s].rank, number);
    if (!before)
        return lull_run_out_of_memory(engine);
    struct lull_sync *sync = &engine->syncs->syncs[*before];
    const bool apart = op->collective != LULL_SYNC_BOTH;
    if (op->collective != LULL_SYNC_WAITS)
        arrive_at_sync(sync, s, lull_after(&engine->fabric, moment, LULL_PATH_LATENCY, op->delay));
    if (op->collective != LULL_SYNC_ARRIVES)
        await_sync(engine, sync, s, moment);
    if (sync->arrived < op->peer)
        return LULL_OK;
    sync->gone += wake_all(engine, sync, apart);
    if (!apart || sync->gone >= op->bytes)
        close_sync(engine->syncs, before);
    return LULL_OK;
}

/* ==== stream ================================================================================== */

enum { NO_NEW_TRANSFER = LULL_NO_TRANSFER, BATCH = 64 };

static size_t room_of_streams(const struct lull_program *program)
{
    return program->n_streams ? program->n_streams : 1;
}

lull_status lull_stream_open(struct lull_engine *engine)
{
    const struct lull_program *program = engine->program;
    size_t n = room_of_streams(program);
    engine->streams = lull_large_zero(n, sizeof *engine->streams);
    if (engine->fabric.path)
        engine->stream_path = calloc(2 * n, sizeof *engine->stream_path);
    if (engine->sink)
        engine->stream_ops = calloc(n, sizeof *engine->stream_ops);
    if (!engine->streams || (engine->fabric.path && !engine->stream_path) ||
        (engine->sink && !engine->stream_ops))
        return lull_run_out_of_memory(engine);
    return program->class->rewind ? program->class->rewind(engine->program, engine->err) : LULL_OK;
}

lull_status lull_stream_start(struct lull_engine *engine)
{
    const struct lull_program *program = engine->program;
    uint32_t first = engine->first_rank;
    uint32_t s = program->first_stream ? program->first_stream[first] : first;
    for (uint32_t r = first; r < first + engine->n_own; r++) {
        uint32_t end = program->first_stream ? program->first_stream[r + 1] : r + 1;
        for (uint32_t cpu = 0; s < end; s++, cpu++) {
            struct lull_engine_stream *stream = &engine->streams[s];
            *stream = (struct lull_engine_stream){.rank = r, .cpu = (uint8_t)cpu};
            stream->open = stream->open_last = stream->awaited = NO_NEW_TRANSFER;
            lull_stream_resume(engine, s, (struct lull_moment){0, 0});
        }
    }
    lull_stream_run_ready(engine);
    return engine->status;
}

void lull_stream_close(struct lull_engine *engine)
{
    lull_large_free(engine->streams, room_of_streams(engine->program) * sizeof *engine->streams);
    free(engine->stream_path);
    free(engine->stream_ops);
}

void lull_stream_roots(struct lull_engine *engine)
{
    for (size_t i = 0; i < 2 * room_of_streams(engine->program); i++)
        lull_path_root(engine->fabric.path, &engine->stream_path[i]);
    lull_collect_roots(engine);
    lull_sync_roots(engine);
}

/* --- telling the sink ---------------------------------------------------------------------- */

static void tell_call(struct lull_engine *engine, uint32_t s, const struct lull_op *op, bool begins)
{
    if (engine->sink->call && engine->status == LULL_OK &&
        (op->flags & (begins ? LULL_OP_CALL_BEGINS : LULL_OP_CALL_ENDS)))
        engine->status = engine->sink->call(engine->sink->context, s, op, begins,
                                            engine->streams[s].clock, engine->err);
}

static void advance_clock(struct lull_engine *engine, uint32_t s, int64_t time)
{
    if (engine->streams[s].clock < time)
        engine->streams[s].clock = time;
}

/* Requests in the order of their start. */
static void tell_awaited(struct lull_engine *engine, uint32_t s)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    uint32_t reversed = NO_NEW_TRANSFER;
    for (uint32_t id = stream->awaited, next; id != NO_NEW_TRANSFER; id = next) {
        next = lull_transfer_at(engine, id)->open_next;
        lull_transfer_at(engine, id)->open_next = reversed;
        reversed = id;
    }
    stream->awaited = NO_NEW_TRANSFER;
    for (uint32_t id = reversed, next; id != NO_NEW_TRANSFER; id = next) {
        const struct lull_transfer *transfer = lull_transfer_at(engine, id);
        next = transfer->open_next;
        if (engine->sink->done && engine->status == LULL_OK)
            engine->status = engine->sink->done(engine->sink->context, s, &engine->transfer_ops[id],
                                                transfer->source, transfer->tag, transfer->bytes,
                                                stream->clock, engine->err);
        lull_request_forget(engine, id);
    }
}

/* The operation that blocked the stream is over. */
static void tell_resumed(struct lull_engine *engine, uint32_t s)
{
    struct lull_op *op = &engine->stream_ops[s];
    advance_clock(engine, s, engine->now);
    tell_awaited(engine, s);
    tell_call(engine, s, op, false);
    op->flags = 0;
}

/* --- operations ---------------------------------------------------------------------------- */

static lull_status check_peer(struct lull_engine *engine, uint32_t s, const struct lull_op *op)
{
    if (op->peer < engine->program->n_ranks ||
        (op->kind == LULL_OP_RECV && op->peer == LULL_OP_ANY))
        return LULL_OK;
    char place[256];
    return lull_fail(engine->err, LULL_ERR_FORMAT, "%s: %s: rank %u does not exist (there are %u)",
                     engine->program->name,
                     engine->program->class->place(engine->program, engine->streams[s].rank, op,
                                                   place, sizeof place),
                     op->peer, engine->program->n_ranks);
}

/* any_order: whether an operation allows it. The order of time matters with wildcards, and where
 * several streams share a channel. */
static bool order_is_free(struct lull_engine *engine, uint32_t rank, const struct lull_op *op,
                          struct lull_transfer *transfer)
{
    const uint32_t *first = engine->program->first_stream;
    engine->needs_order |=
        op->kind == LULL_OP_RECV && (op->peer == LULL_OP_ANY || op->tag == LULL_OP_ANY);
    if (first && first[rank + 1] - first[rank] > 1) {
        transfer->flags |= op->kind == LULL_OP_RECV ? LULL_TRANSFER_RECEIVE : 0;
        engine->needs_order |= !lull_channel_of_one_stream(engine, transfer);
    }
    return !engine->needs_order;
}

static lull_status communicate(struct lull_engine *engine, uint32_t s, const struct lull_op *op,
                               struct lull_moment moment)
{
    bool receives = op->kind == LULL_OP_RECV;
    uint32_t rank = engine->streams[s].rank;
    lull_status status = check_peer(engine, s, op);
    if (status != LULL_OK)
        return status;
    uint32_t id = lull_request_new(engine, s, op);
    if (id == NO_NEW_TRANSFER)
        return engine->status;
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->source = receives ? op->peer : rank;
    transfer->target = receives ? rank : op->peer;
    transfer->tag = op->tag;
    transfer->comm = op->comm;
    transfer->bytes = op->bytes;
    if (engine->any_order && !order_is_free(engine, rank, op, transfer))
        return LULL_ERR_UNSUPPORTED;
    transfer->flags |= receives                          ? LULL_TRANSFER_RECEIVE
                       : op->flags & LULL_OP_SYNCHRONOUS ? LULL_TRANSFER_SYNCHRONOUS
                                                         : 0;
    if (op->flags & (LULL_OP_BUFFERED | LULL_OP_BLOCKING)) { /* they are cleared */
        transfer->buffered = !receives;
        transfer->blocking = receives;
    }
    if (engine->sink && engine->sink->start && engine->status == LULL_OK)
        engine->status = engine->sink->start(engine->sink->context, s, op, engine->streams[s].clock,
                                             engine->err);
    if (!engine->compat || !receives) {
        lull_run_release(engine, id, moment);
    } else { /* behind the sends of the batch */
        if (!lull_array_reserve(&engine->deferred, &engine->deferred_room, engine->n_deferred + 1,
                                sizeof *engine->deferred))
            return lull_run_out_of_memory(engine);
        engine->deferred[engine->n_deferred++] = id;
    }
    return engine->status;
}

static void release_deferred(struct lull_engine *engine, struct lull_moment moment)
{
    for (size_t i = 0; i < engine->n_deferred; i++)
        lull_run_release(engine, engine->deferred[i], moment);
    engine->n_deferred = 0;
}

static lull_status begin_computation(struct lull_engine *engine, uint32_t s,
                                     const struct lull_op *op, struct lull_moment moment)
{
    uint32_t id = lull_transfer_new(engine);
    if (id == NO_NEW_TRANSFER)
        return engine->status;
    if (op->duration < 0) {
        char place[256];
        return lull_fail(engine->err, LULL_ERR_RANGE, "%s: %s: computes for a negative time",
                         engine->program->name,
                         engine->program->class->place(engine->program, engine->streams[s].rank, op,
                                                       place, sizeof place));
    }
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->flags = LULL_TRANSFER_COMPUTE;
    transfer->source = engine->streams[s].rank;
    transfer->cpu = engine->streams[s].cpu;
    transfer->bytes = op->bytes;
    transfer->tag = op->region;
    transfer->phase = op->flags & LULL_OP_NOT_SCALED;
    if (engine->keeps_ops)
        engine->transfer_ops[id] = *op;
    lull_run_release(engine, id, moment);
    return engine->status;
}

/* A collective operation is waited for like a request, at once when it has none. */
static lull_status begin_collective(struct lull_engine *engine, uint32_t s,
                                    const struct lull_op *op, struct lull_moment moment)
{
    uint32_t id = lull_request_new(engine, s, op);
    if (id == NO_NEW_TRANSFER)
        return engine->status;
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->source = transfer->target = engine->streams[s].rank;
    transfer->flags |= LULL_TRANSFER_RECEIVE | LULL_TRANSFER_COMPUTE;
    transfer->bytes = op->bytes;
    if (engine->sink && engine->sink->start && !(op->flags & LULL_OP_BUFFERED))
        engine->status = engine->sink->start(engine->sink->context, s, op, engine->streams[s].clock,
                                             engine->err);
    if (engine->status != LULL_OK)
        return engine->status;
    if (lull_op_blocks(op)) {
        transfer->flags |= LULL_TRANSFER_OPEN;
        engine->streams[s].latest = LULL_OP_NO_REQUEST;
        lull_request_await(engine, s, id);
    }
    engine->result.n_collectives++;
    return lull_collect_begin(engine, s, op, id, moment);
}

static lull_status begin_op(struct lull_engine *engine, uint32_t s, const struct lull_op *op,
                            struct lull_moment moment)
{
    if (engine->sink)
        tell_call(engine, s, op, true);
    if (lull_op_blocks(op)) {
        release_deferred(engine, moment);
        if (engine->sink)
            engine->stream_ops[s] = *op;
    }
    lull_status status = LULL_OK;
    switch ((enum lull_op_kind)op->kind) {
    case LULL_OP_SEND:
    case LULL_OP_RECV:
        status = communicate(engine, s, op, moment);
        break;
    case LULL_OP_COMPUTE:
        status = begin_computation(engine, s, op, moment);
        break;
    case LULL_OP_WAIT:
        status = lull_request_await_named(engine, s, op, moment);
        break;
    case LULL_OP_COLLECTIVE:
        status = begin_collective(engine, s, op, moment);
        break;
    case LULL_OP_SYNC:
        status = lull_sync_begin(engine, s, op, moment);
        break;
    case LULL_OP_MARK:
        engine->streams[s].iteration = op->bytes;
        if (engine->sink && engine->sink->start)
            status = engine->sink->start(engine->sink->context, s, op, engine->streams[s].clock,
                                         engine->err);
        break;
    case LULL_OP_KINDS:
        break;
    }
    if (engine->sink && !lull_op_blocks(op))
        tell_call(engine, s, op, false);
    return status == LULL_OK ? engine->status : status;
}

/* --- running ------------------------------------------------------------------------------- */

static void end_stream(struct lull_engine *engine, uint32_t s, struct lull_moment moment)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    stream->state = LULL_STREAM_ENDED;
    stream->resume = moment.time;
    if (engine->stream_path)
        engine->stream_path[s] = moment.path;
    while (stream->open != NO_NEW_TRANSFER) { /* nobody waits for these any more */
        uint32_t id = stream->open;
        stream->open = lull_transfer_at(engine, id)->open_next;
        lull_request_forget(engine, id);
    }
}

/* What a blocking operation leads to: whether the stream may go on at once. */
static bool goes_on(struct lull_engine *engine, uint32_t s, const struct lull_op *op,
                    struct lull_moment *moment)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    if (op->kind != LULL_OP_WAIT || stream->wait_for > 0) {
        if (stream->state == LULL_STREAM_READY)
            stream->state = op->kind == LULL_OP_COMPUTE ? LULL_STREAM_COMPUTES : LULL_STREAM_WAITS;
        return false;
    }
    if (engine->stream_path)
        moment->path = engine->stream_path[s];
    if (stream->resume > engine->now) {
        moment->time = stream->resume;
        lull_stream_resume(engine, s, *moment);
        return false;
    }
    if (engine->sink)
        tell_resumed(engine, s);
    return true;
}

static lull_status run_stream(struct lull_engine *engine, uint32_t s)
{
    struct lull_program *program = engine->program;
    struct lull_op ops[BATCH];
    struct lull_moment moment = {engine->now, engine->stream_path ? engine->stream_path[s] : 0};
    engine->at = engine->streams[s].rank;
    if (engine->any_order)
        engine->now = moment.time = engine->streams[s].resume;
    if (engine->sink)
        tell_resumed(engine, s);
    engine->streams[s].state = LULL_STREAM_READY;
    for (;;) {
        uint32_t n = 0;
        lull_status status = program->class->next(program, s, ops, BATCH, &n, engine->err);
        if (status != LULL_OK)
            return status;
        if (n == 0) {
            release_deferred(engine, moment);
            end_stream(engine, s, moment);
            return engine->status;
        }
        for (uint32_t i = 0; i < n; i++) {
            status = begin_op(engine, s, &ops[i], moment);
            if (status != LULL_OK)
                return status;
        }
        if (lull_op_blocks(&ops[n - 1]) && !goes_on(engine, s, &ops[n - 1], &moment))
            return LULL_OK;
    }
}

void lull_stream_wake(struct lull_engine *engine, uint32_t s)
{
    if (!lull_array_reserve(&engine->ready, &engine->ready_room, engine->n_ready + 1,
                            sizeof *engine->ready))
        lull_run_out_of_memory(engine);
    else
        engine->ready[engine->n_ready++] = s;
}

/* any_order: a stream may run on without an event unless something must be seen to in between: too
 * many messages are under way, other processes may have sent letters, the longest path needs room,
 * or time is over. */
static bool may_run_on(struct lull_engine *engine, int64_t time)
{
    size_t most = 4096 + 8 * (size_t)engine->program->n_streams;
    if (engine->options->part && ++engine->since_look > LULL_LOOK_EVERY)
        return false;
    return engine->n_transfers - engine->n_gone < most && time <= LULL_TIME_MOST &&
           !(engine->fabric.path && lull_path_is_full(engine->fabric.path));
}

void lull_stream_resume(struct lull_engine *engine, uint32_t s, struct lull_moment moment)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    stream->resume = moment.time;
    stream->state = LULL_STREAM_READY;
    if (engine->stream_path)
        engine->stream_path[s] = moment.path;
    if (engine->any_order && may_run_on(engine, moment.time))
        lull_stream_wake(engine, s);
    else if (moment.time > engine->now)
        lull_push(engine, LULL_RUN_RESUME, moment.time, stream->rank, s);
    else
        lull_stream_wake(engine, s);
}

void lull_stream_run_ready(struct lull_engine *engine)
{
    for (size_t i = 0; i < engine->n_ready && engine->status == LULL_OK; i++) {
        uint32_t s = engine->ready[i];
        lull_status status;
        bool on;
        do { /* any_order: until it is blocked */
            status = run_stream(engine, s);
            on = engine->any_order && engine->n_ready > i + 1 &&
                 engine->ready[engine->n_ready - 1] == s;
            engine->n_ready -= on;
        } while (on && status == LULL_OK && engine->status == LULL_OK);
        if (engine->status == LULL_OK)
            engine->status = status;
    }
    engine->n_ready = 0;
}

bool lull_stream_waits(const struct lull_engine *engine)
{
    const uint32_t *first = engine->program->first_stream;
    const uint32_t end = engine->first_rank + engine->n_own;
    uint32_t s = first ? first[engine->first_rank] : engine->first_rank;
    while (s < (first ? first[end] : end) && engine->streams[s].state == LULL_STREAM_ENDED)
        s++;
    return s < (first ? first[end] : end);
}

/* ==== requests ================================================================================ */

/* A request is the transfer record that its operation started. The open requests of a stream are a
 * list in the order of their start. A record is released when it was waited for, its operation is
 * over, and, if that is a send, its message was received. */

enum { NO_RECORD = LULL_NO_TRANSFER };

/* A wait is over at the latest of the moments of the requests that it waits for. If several are
 * equally late, that of the highest request counts, in whatever order they became known. */
static void wait_until(struct lull_engine *engine, uint32_t s, uint32_t request,
                       struct lull_moment moment)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    if (moment.time < stream->resume ||
        (moment.time == stream->resume && stream->latest != LULL_OP_NO_REQUEST &&
         request < stream->latest))
        return;
    stream->resume = moment.time;
    stream->latest = request;
    if (engine->stream_path)
        engine->stream_path[s] = moment.path;
}

/* Where the processor has to do something for a message that is waited for. */
static void keep_receiving(struct lull_engine *engine, uint32_t s,
                           const struct lull_transfer *receive)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    const struct lull_network *network = engine->fabric.network;
    enum lull_level level =
        engine->fabric.uniform
            ? LULL_LEVEL_CLUSTER
            : lull_placement_level(&network->placement, receive->source, receive->target);
    int64_t cost = engine->class->receiving(network, level, receive->bytes);
    uint32_t *path =
        engine->stream_path ? &engine->stream_path[engine->program->n_streams + s] : NULL;
    struct lull_moment until = {stream->receiving, path ? *path : 0};
    if (cost == 0)
        return;
    until = lull_after(&engine->fabric, until, LULL_PATH_OVERHEAD, cost);
    stream->receiving = until.time;
    if (path)
        *path = until.path;
    engine->fabric.ranks[stream->rank].overhead += cost;
    wait_until(engine, s, receive->owner, until);
}

/* A request that is waited for is complete. */
static inline void complete_awaited(struct lull_engine *engine, uint32_t s, uint32_t id,
                                    struct lull_moment moment)
{
    const struct lull_transfer *transfer = lull_transfer_at(engine, id);
    unsigned collective = LULL_TRANSFER_RECEIVE | LULL_TRANSFER_COMPUTE;
    wait_until(engine, s, transfer->owner, moment);
    if (engine->receives && (transfer->flags & collective) == LULL_TRANSFER_RECEIVE)
        keep_receiving(engine, s, transfer);
}

void lull_request_complete(struct lull_engine *engine, uint32_t id, struct lull_moment moment)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    if (!engine->compat) /* there, nothing is over later than now */
        transfer->over = moment.time;
    if (engine->over_path)
        engine->over_path[id] = moment.path;
    if (!(transfer->flags & LULL_TRANSFER_AWAITED))
        return;
    uint32_t s = lull_stream_of(engine, transfer);
    struct lull_engine_stream *stream = &engine->streams[s];
    complete_awaited(engine, s, id, moment);
    if (--stream->wait_for == 0) {
        moment =
            (struct lull_moment){stream->resume, engine->stream_path ? engine->stream_path[s] : 0};
        lull_stream_resume(engine, s, moment);
    }
}

/* Nobody will name the request any more. */
void lull_request_forget(struct lull_engine *engine, uint32_t id)
{
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->flags &= (uint8_t)~LULL_TRANSFER_OPEN;
    if ((transfer->flags & LULL_TRANSFER_OVER) && !(transfer->flags & LULL_TRANSFER_HELD))
        lull_transfer_free(engine, id);
}

/* A wait for a request that is no longer in the list of open ones. */
void lull_request_await(struct lull_engine *engine, uint32_t s, uint32_t id)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    if (transfer->flags & LULL_TRANSFER_OVER) {
        if (!engine->compat)
            complete_awaited(engine, s, id,
                             (struct lull_moment){transfer->over,
                                                  engine->over_path ? engine->over_path[id] : 0});
    } else {
        transfer->flags |= LULL_TRANSFER_AWAITED;
        stream->wait_for++;
    }
    if (engine->sink) { /* told of when the wait is over */
        transfer->open_next = stream->awaited;
        stream->awaited = id;
    } else {
        lull_request_forget(engine, id);
    }
}

/* Takes a request out of the list of open ones; NONE: there is none of that number. */
static uint32_t take_request(struct lull_engine *engine, struct lull_engine_stream *stream,
                             uint32_t request)
{
    uint32_t before = NO_RECORD, id = stream->open;
    while (id != NO_RECORD && lull_transfer_at(engine, id)->owner != request) {
        before = id;
        id = lull_transfer_at(engine, id)->open_next;
    }
    if (id == NO_RECORD)
        return NO_RECORD;
    uint32_t next = lull_transfer_at(engine, id)->open_next;
    if (before == NO_RECORD)
        stream->open = next;
    else
        lull_transfer_at(engine, before)->open_next = next;
    if (stream->open_last == id)
        stream->open_last = before;
    return id;
}

lull_status lull_request_await_named(struct lull_engine *engine, uint32_t s,
                                     const struct lull_op *op, struct lull_moment begin)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    stream->latest = LULL_OP_NO_REQUEST;
    if (engine->receives)
        stream->receiving = begin.time;
    if (engine->receives && engine->stream_path)
        engine->stream_path[engine->program->n_streams + s] = begin.path;
    if (op->flags & LULL_OP_WAIT_ALL) {
        uint32_t id = stream->open;
        stream->open = stream->open_last = NO_RECORD;
        for (uint32_t next; id != NO_RECORD; id = next) {
            next = lull_transfer_at(engine, id)->open_next;
            lull_request_await(engine, s, id);
        }
        return LULL_OK;
    }
    for (uint32_t i = 0; i < op->n_requests; i++) {
        uint32_t id = take_request(engine, stream, op->requests[i]);
        if (id == NO_RECORD) {
            char place[256];
            return lull_fail(engine->err, LULL_ERR_FORMAT,
                             "%s: %s: waits for request %u, which was not started",
                             engine->program->name,
                             engine->program->class->place(engine->program, stream->rank, op, place,
                                                           sizeof place),
                             op->requests[i]);
        }
        lull_request_await(engine, s, id);
    }
    return LULL_OK;
}

uint32_t lull_request_new(struct lull_engine *engine, uint32_t s, const struct lull_op *op)
{
    struct lull_engine_stream *stream = &engine->streams[s];
    uint32_t id = lull_transfer_new(engine);
    if (id == NO_RECORD)
        return NO_RECORD;
    struct lull_transfer *transfer = lull_transfer_at(engine, id);
    transfer->cpu = stream->cpu;
    transfer->owner = op->request;
    transfer->open_next = NO_RECORD;
    if (engine->keeps_ops)
        engine->transfer_ops[id] = *op;
    if (op->request == LULL_OP_NO_REQUEST)
        return id;
    transfer->flags = LULL_TRANSFER_OPEN;
    if (stream->open == NO_RECORD)
        stream->open = id;
    else
        lull_transfer_at(engine, stream->open_last)->open_next = id;
    stream->open_last = id;
    return id;
}
