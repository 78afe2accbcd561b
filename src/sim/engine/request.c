/* Requests: each is the transfer record that its operation started; the open ones of a stream are a
 * list in the order of their start. Records are released when they were waited for, are over, and,
 * for sends, their message was received. */
#include "sim/engine/run.h"

enum { NO_RECORD = LULL_NO_TRANSFER };

/* Waits are over at the latest of the moments of what they wait for; of several that are equally
 * late the one of the highest request counts, in whatever order they became known. */
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
