#include "replay/ideal/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- messages ------------------------------------------------------------------------------ */

static bool same_key(const struct lull_message_key *a, const struct lull_message_key *b)
{
    return a->source == b->source && a->target == b->target && a->comm == b->comm &&
           a->tag == b->tag;
}

static lull_status send(struct ideal *ideal, const struct stream *stream,
                        const struct lull_event *event)
{
    uint32_t target = (uint32_t)event->message.peer;
    if (event->message.peer < 0 || target >= ideal->trace->n_processes)
        return LULL_OK;
    struct lull_message_key key = {
        stream->process, target, lull_comm_canonical(ideal->trace, event->id), event->message.tag};
    if (!lull_messages_put(&ideal->messages, &key, stream->time, event->time))
        return lull_ideal_no_memory(ideal);
    for (uint32_t s = ideal->first_stream[target]; s < ideal->first_stream[target + 1]; s++)
        if (ideal->streams[s].blocked == ON_MESSAGE && same_key(&ideal->streams[s].waits_for, &key))
            lull_ideal_wake(ideal, s);
    return LULL_OK;
}

static struct pending *add_pending(struct stream *stream)
{
    if (stream->n_pending == stream->pending_capacity) {
        uint32_t capacity = stream->pending_capacity ? 2 * stream->pending_capacity : 8;
        struct pending *larger = realloc(stream->pending, capacity * sizeof *larger);
        if (!larger)
            return NULL;
        stream->pending = larger;
        stream->pending_capacity = capacity;
    }
    struct pending *fresh = &stream->pending[stream->n_pending++];
    memset(fresh, 0, sizeof *fresh);
    return fresh;
}

static bool take_message(struct ideal *ideal, const struct stream *stream,
                         const struct pending *wanted, int64_t *ret_time)
{
    struct lull_ideal_message message = {.source = wanted->key.source,
                                         .target = wanted->key.target,
                                         .bytes = wanted->bytes,
                                         .called = stream->call_began,
                                         .received = wanted->received};
    if (!lull_messages_take(&ideal->messages, &wanted->key, ret_time, &message.sent))
        return false;
    if (ideal->options->message)
        ideal->options->message(ideal->options->message_context, &message);
    return true;
}

/* What is there already is not kept. */
static lull_status receive(struct ideal *ideal, struct stream *stream, const struct pending *wanted)
{
    int64_t time;
    ideal->result->messages++;
    if (take_message(ideal, stream, wanted, &time)) {
        stream->done = time > stream->done ? time : stream->done;
        return LULL_OK;
    }
    struct pending *pending = add_pending(stream);
    if (!pending)
        return lull_ideal_no_memory(ideal);
    *pending = *wanted;
    return LULL_OK;
}

static lull_status receive_event(struct ideal *ideal, struct stream *stream,
                                 const struct lull_event *event)
{
    if (event->message.request != LULL_NO_REQUEST && stream->open_receives > 0)
        stream->open_receives--;
    if (event->message.peer < 0 || (uint32_t)event->message.peer >= ideal->trace->n_processes)
        return LULL_OK;
    const struct pending wanted = {.bytes = event->message.bytes,
                                   .received = event->time,
                                   .key = {(uint32_t)event->message.peer, stream->process,
                                           lull_comm_canonical(ideal->trace, event->id),
                                           event->message.tag}};
    return receive(ideal, stream, &wanted);
}

/* A wait of whose completions nothing was recorded, although receives are open. */
static lull_status receive_lost(struct ideal *ideal, struct stream *stream,
                                const struct lull_replay_item *call)
{
    static const char quirk[] =
        "non-blocking receives do not say what they received; what had been sent before their "
        "wait ended is taken";
    const struct lull_lost_send *sends;
    if (!ideal->lost) {
        lull_status status =
            lull_lost_create(ideal->trace, ideal->options->application, &ideal->lost, ideal->err);
        if (status != LULL_OK)
            return status;
    }
    uint64_t most = call->call == LULL_CALL_WAITALL ? stream->open_receives : 1;
    struct lull_lost_wait wait = {.process = stream->process,
                                  .epoch = stream->epoch,
                                  .time = call->end,
                                  .most = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most};
    uint32_t count = lull_lost_take(ideal->lost, &wait, &sends);
    stream->open_receives -= call->call == LULL_CALL_WAITALL ? most : count;
    for (uint32_t i = 0; i < count; i++) {
        const struct pending wanted = {.bytes = sends[i].bytes,
                                       .received = call->end,
                                       .key = {sends[i].source, stream->process,
                                               lull_comm_canonical(ideal->trace, sends[i].comm),
                                               sends[i].tag}};
        lull_trace_add_quirk(ideal->trace, quirk, "%s",
                             lull_ideal_place(ideal, stream, call->begin));
        lull_status status = receive(ideal, stream, &wanted);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* ---- collectives --------------------------------------------------------------------------- */

static lull_status arrive(struct ideal *ideal, const struct stream *stream, int64_t measured,
                          const struct lull_arrival *arrival, struct lull_gathering **ret_gathering)
{
    char why[128];
    struct lull_gathering *at = lull_gatherings_arrive(ideal->gatherings, arrival, why);
    if (!at && !*why)
        return lull_ideal_no_memory(ideal);
    if (!at)
        return lull_ideal_impossible(ideal, "collectives do not match",
                                     lull_arena_printf(ideal->arena, "%s: %s",
                                                       lull_ideal_place(ideal, stream, measured),
                                                       why));
    ideal->result->collectives += at->arrived == at->size;
    if (lull_gathering_news(at)) {
        uint32_t waiting = at->waiting;
        at->waiting = LULL_NONE;
        while (waiting != LULL_NONE) {
            uint32_t next = ideal->streams[waiting].next_waiting;
            lull_ideal_wake(ideal, waiting);
            waiting = next;
        }
    }
    *ret_gathering = at;
    return LULL_OK;
}

/* Tracers may give all the communicators of one process the same definition. */
static bool is_alone(const struct ideal *ideal, uint32_t comm)
{
    const struct lull_comm *c = &ideal->trace->comms[comm];
    return c->size == 1 && c->remote == LULL_NONE;
}

static bool known_comm(const struct ideal *ideal, uint32_t comm)
{
    return comm < ideal->trace->n_comms && ideal->trace->comms[comm].paradigm == LULL_PARADIGM_MPI;
}

static lull_status begin_collective(struct ideal *ideal, struct stream *stream,
                                    const struct lull_event *event)
{
    if (event->collective.request == LULL_NO_REQUEST)
        return LULL_OK; /* its end says more, at the same ideal time */
    if (stream->n_open == stream->open_capacity) {
        uint32_t capacity = stream->open_capacity ? 2 * stream->open_capacity : 4;
        struct open_collective *larger = realloc(stream->open, capacity * sizeof *larger);
        if (!larger)
            return lull_ideal_no_memory(ideal);
        stream->open = larger;
        stream->open_capacity = capacity;
    }
    struct open_collective *open = &stream->open[stream->n_open++];
    *open = (struct open_collective){.request = event->collective.request,
                                     .arrival = {.process = stream->process,
                                                 .comm = event->id,
                                                 .op = event->op,
                                                 .non_blocking = true,
                                                 .root = event->collective.root,
                                                 .time = stream->time}};
    stream->completed = true; /* it is recorded */
    if (!known_comm(ideal, event->id) || event->op == LULL_COLLECTIVE_UNKNOWN ||
        is_alone(ideal, event->id))
        return LULL_OK;
    return arrive(ideal, stream, event->time, &open->arrival, &open->gathering);
}

static struct open_collective *find_open(struct stream *stream, uint64_t request)
{
    for (uint32_t i = 0; i < stream->n_open; i++)
        if (stream->open[i].request == request)
            return &stream->open[i];
    return NULL;
}

static lull_status end_collective(struct ideal *ideal, struct stream *stream,
                                  const struct lull_event *event)
{
    if (!known_comm(ideal, event->id) || event->op == LULL_COLLECTIVE_UNKNOWN)
        return LULL_OK; /* the call is left without a record, which is counted at its end */
    stream->completed = true;
    struct open_collective now = {.arrival = {.process = stream->process,
                                              .comm = event->id,
                                              .op = event->op,
                                              .root = event->collective.root,
                                              .time = stream->time}};
    if (event->collective.request != LULL_NO_REQUEST) {
        struct open_collective *open = find_open(stream, event->collective.request);
        if (!open)
            return LULL_OK; /* begun before the trace */
        now.gathering = open->gathering;
        now.arrival.time = open->arrival.time;
        now.arrival.non_blocking = true;
        *open = stream->open[--stream->n_open];
    }
    if (is_alone(ideal, event->id))
        return LULL_OK;
    if (!now.gathering) {
        lull_status status = arrive(ideal, stream, event->time, &now.arrival, &now.gathering);
        if (status != LULL_OK)
            return status;
    }
    struct pending *pending = add_pending(stream);
    if (!pending)
        return lull_ideal_no_memory(ideal);
    pending->gathering = now.gathering;
    pending->arrival = now.arrival;
    return LULL_OK;
}

/* ---- waiting ------------------------------------------------------------------------------- */

static bool is_there(struct ideal *ideal, struct stream *stream, const struct pending *pending,
                     int64_t *ret_time)
{
    if (!pending->gathering) {
        if (take_message(ideal, stream, pending, ret_time))
            return true;
        stream->blocked = ON_MESSAGE;
        stream->waits_for = pending->key;
        return false;
    }
    const struct lull_arrival *arrival = &pending->arrival;
    uint32_t rank = lull_gatherings_rank(ideal->gatherings, arrival->comm, arrival->process);
    if (lull_gathering_ready(pending->gathering, arrival, rank, ret_time)) {
        lull_gatherings_leave(ideal->gatherings, arrival->comm, pending->gathering);
        return true;
    }
    stream->blocked = ON_GATHERING;
    stream->next_waiting = pending->gathering->waiting;
    pending->gathering->waiting = (uint32_t)(stream - ideal->streams);
    return false;
}

/* Whether all that the call waits for is there; else the stream is blocked. */
bool lull_ideal_wait(struct ideal *ideal, struct stream *stream)
{
    uint32_t i = 0;
    for (int64_t time; i < stream->n_pending; i++) {
        if (!is_there(ideal, stream, &stream->pending[i], &time))
            break;
        stream->done = time > stream->done ? time : stream->done;
    }
    stream->n_pending -= i;
    if (stream->n_pending) {
        memmove(stream->pending, stream->pending + i, stream->n_pending * sizeof *stream->pending);
        return false;
    }
    stream->time = stream->done > stream->time ? stream->done : stream->time;
    return true;
}

/* A call of which nothing was recorded that should have been. */
static void lose(struct ideal *ideal, struct stream *stream, const struct lull_replay_item *call)
{
    int64_t from = call->begin > ideal->codes->from ? call->begin : ideal->codes->from;
    int64_t to = call->end < ideal->codes->to ? call->end : ideal->codes->to;
    stream->lost_ns[call->call] += to > from ? to - from : 0;
    ideal->lost_name[call->call] = ideal->trace->regions[call->region].name;
}

lull_status lull_ideal_look_for_lost(struct ideal *ideal, struct stream *stream,
                                     const struct lull_replay_item *call)
{
    bool waits = call->call == LULL_CALL_WAIT || call->call == LULL_CALL_WAITALL;
    if (stream->completed) {
        ideal->recorded[call->call] = true;
        return LULL_OK;
    }
    switch (call->call) {
    case LULL_CALL_WAIT:
    case LULL_CALL_WAITALL:
    case LULL_CALL_TEST:
        if (stream->lost_open > 0)
            lose(ideal, stream, call);
        if (waits && stream->lost_open > 0)
            stream->lost_open -= call->call == LULL_CALL_WAIT ? 1 : stream->lost_open;
        if (waits && stream->open_receives > 0)
            return receive_lost(ideal, stream, call);
        return LULL_OK;
    case LULL_CALL_ICOLLECTIVE:
        stream->lost_open++;
        lose(ideal, stream, call);
        return LULL_OK;
    case LULL_CALL_SEND:
    case LULL_CALL_SSEND:
    case LULL_CALL_RECV:
    case LULL_CALL_SENDRECV: /* lost, unless others are recorded: then it was with MPI_PROC_NULL */
    case LULL_CALL_COLLECTIVE:
        lose(ideal, stream, call);
        return LULL_OK;
    default:
        return LULL_OK;
    }
}

lull_status lull_ideal_event(struct ideal *ideal, struct stream *stream,
                             const struct lull_event *event)
{
    switch (event->kind) {
    case LULL_EVENT_SEND:
        stream->completed = true;
        return send(ideal, stream, event);
    case LULL_EVENT_RECV:
        stream->completed = true;
        return receive_event(ideal, stream, event);
    case LULL_EVENT_RECV_POST:
        stream->open_receives++;
        return LULL_OK;
    case LULL_EVENT_REQUEST_CANCELLED:
        stream->open_receives -= stream->open_receives > 0;
        return LULL_OK;
    case LULL_EVENT_SEND_DONE:
        stream->completed = true;
        return LULL_OK;
    case LULL_EVENT_COLLECTIVE_BEGIN:
        return begin_collective(ideal, stream, event);
    case LULL_EVENT_COLLECTIVE_END:
        stream->epoch += lull_lost_is_epoch(ideal->trace, event, ideal->n_ranks);
        return end_collective(ideal, stream, event);
    default:
        return LULL_OK;
    }
}
