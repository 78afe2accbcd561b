#include "sim/ideal.h"

#include "base/text.h"
#include "sim/ideal_match.h"
#include "sim/replay_lost.h"
#include "sim/replay_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 32 };

enum blocked { RUNNABLE, ON_MESSAGE, ON_GATHERING, ENDED };

/* What a call waits for at its end. */
struct pending {
    struct lull_gathering *gathering; /* NULL: a message */
    uint64_t bytes;
    int64_t received; /* measured */
    union {
        struct lull_message_key key;
        struct lull_arrival arrival;
    };
};

/* A non-blocking collective in flight. */
struct open_collective {
    uint64_t request;
    struct lull_gathering *gathering; /* NULL: its communicator is not known yet */
    struct lull_arrival arrival;
};

/* A thread that calls MPI. */
struct stream {
    struct lull_replay_reader *reader;
    uint32_t process;
    uint8_t blocked;    /* enum blocked */
    bool in_call;       /* of MPI */
    bool completed;     /* something in this call */
    bool communicates;  /* it has records of its own */
    int64_t time;       /* ideal */
    int64_t done;       /* what the call waited for so far was there by then */
    int64_t stopped_at; /* measured time, for messages to the user */
    int64_t call_began; /* measured */
    struct lull_message_key waits_for;
    uint32_t next_waiting; /* of the same gathering */
    struct pending *pending;
    uint32_t n_pending, pending_capacity;
    struct open_collective *open;
    uint32_t n_open, open_capacity;
    uint64_t open_receives;             /* posted, not complete */
    uint32_t epoch;                     /* collective operations of all processes so far */
    uint32_t lost_open;                 /* non-blocking collectives of whose end nothing is known */
    int64_t lost_ns[LULL_REPLAY_CALLS]; /* time in calls without the records they should have */
    uint32_t n_items, at;
    struct lull_replay_item items[ROOM];
};

struct entry {
    int64_t time;
    uint32_t stream;
};

struct ideal {
    const struct lull_trace *trace;
    const struct lull_ideal_options *options;
    struct lull_arena *arena;
    struct lull_ideal_result *result;
    struct lull_replay_codes *codes;
    struct stream *streams;
    uint32_t n_streams;
    uint32_t *first_stream; /* [n_processes + 1] */
    struct entry *heap;     /* runnable streams, the one that lags first */
    uint32_t n_heap;
    struct lull_messages messages;
    struct lull_gatherings *gatherings;
    struct lull_lost *lost;                   /* when needed */
    bool recorded[LULL_REPLAY_CALLS];         /* a call of this kind has records */
    const char *lost_name[LULL_REPLAY_CALLS]; /* one that has not */
    struct lull_error *err;
    uint64_t steps;
};

static lull_status no_memory(struct ideal *ideal)
{
    return lull_fail(ideal->err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                     ideal->trace->path);
}

/* Ends the replay with a reason instead of a number. */
static lull_status impossible(struct ideal *ideal, const char *absent, const char *detail)
{
    ideal->result->absent = absent;
    ideal->result->detail = detail;
    return LULL_ERR_CANCELLED;
}

static const char *place_of(const struct ideal *ideal, const struct stream *stream, int64_t time)
{
    return lull_arena_printf(ideal->arena, "rank %u at %.9g s",
                             ideal->trace->processes[stream->process].rank, 1e-9 * (double)time);
}

/* ---- the stream that lags ------------------------------------------------------------------ */

static void push(struct ideal *ideal, uint32_t index)
{
    struct entry entry = {lull_replay_reader_now(ideal->streams[index].reader), index};
    uint32_t at = ideal->n_heap++;
    for (; at > 0 && ideal->heap[(at - 1) / 2].time > entry.time; at = (at - 1) / 2)
        ideal->heap[at] = ideal->heap[(at - 1) / 2];
    ideal->heap[at] = entry;
}

static uint32_t pop(struct ideal *ideal)
{
    struct entry *heap = ideal->heap;
    uint32_t top = heap[0].stream, n = --ideal->n_heap, at = 0;
    struct entry last = heap[n];
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1].time < heap[child].time;
        if (heap[child].time >= last.time)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static void wake(struct ideal *ideal, uint32_t index)
{
    ideal->streams[index].blocked = RUNNABLE;
    push(ideal, index);
}

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
        return no_memory(ideal);
    for (uint32_t s = ideal->first_stream[target]; s < ideal->first_stream[target + 1]; s++)
        if (ideal->streams[s].blocked == ON_MESSAGE && same_key(&ideal->streams[s].waits_for, &key))
            wake(ideal, s);
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
        return no_memory(ideal);
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
        lull_trace_add_quirk(ideal->trace, quirk, "%s", place_of(ideal, stream, call->begin));
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
        return no_memory(ideal);
    if (!at)
        return impossible(
            ideal, "collectives do not match",
            lull_arena_printf(ideal->arena, "%s: %s", place_of(ideal, stream, measured), why));
    ideal->result->collectives += at->arrived == at->size;
    if (lull_gathering_news(at)) {
        uint32_t waiting = at->waiting;
        at->waiting = LULL_NONE;
        while (waiting != LULL_NONE) {
            uint32_t next = ideal->streams[waiting].next_waiting;
            wake(ideal, waiting);
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
            return no_memory(ideal);
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
        return no_memory(ideal);
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
static bool wait_for_all(struct ideal *ideal, struct stream *stream)
{
    uint32_t i = 0;
    for (int64_t time; i < stream->n_pending; i++) {
        if (!is_there(ideal, stream, &stream->pending[i], &time))
            break;
        stream->done = time > stream->done ? time : stream->done;
    }
    stream->n_pending -= i;
    memmove(stream->pending, stream->pending + i, stream->n_pending * sizeof *stream->pending);
    if (stream->n_pending)
        return false;
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

static lull_status look_for_lost(struct ideal *ideal, struct stream *stream,
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

/* ---- one stream ---------------------------------------------------------------------------- */

static lull_status event_of_mpi(struct ideal *ideal, struct stream *stream,
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
        stream->epoch += lull_lost_is_epoch(ideal->trace, event, ideal->n_streams);
        return end_collective(ideal, stream, event);
    default:
        return LULL_OK;
    }
}

/* Behind the analysed span nothing takes time, and nothing in it waits for what comes then; except
 * for the arrival of a call that reaches beyond. */
static bool is_beyond(const struct ideal *ideal, const struct stream *stream,
                      const struct lull_replay_item *item)
{
    if (!ideal->options->has_span)
        return false;
    return item->kind == LULL_ITEM_CALL_END ? item->end > ideal->codes->to
                                            : !stream->in_call && item->begin >= ideal->codes->to;
}

/* *ret_stopped: the stream has to wait within this item, and takes it up again later. */
static lull_status take_item(struct ideal *ideal, struct stream *stream,
                             const struct lull_replay_item *item, bool *ret_stopped)
{
    lull_status status = LULL_OK;
    *ret_stopped = is_beyond(ideal, stream, item);
    if (*ret_stopped) {
        stream->blocked = ENDED;
        return LULL_OK;
    }
    switch (item->kind) {
    case LULL_ITEM_BURST:
    case LULL_ITEM_FIXED:
        stream->time += item->ns;
        return LULL_OK;
    case LULL_ITEM_CALL_BEGIN:
        stream->in_call = true;
        stream->call_began = item->begin;
        stream->completed = false;
        stream->done = stream->time;
        return LULL_OK;
    case LULL_ITEM_CALL_END:
        if (stream->in_call)
            status = look_for_lost(ideal, stream, item);
        stream->in_call = false;
        stream->stopped_at = item->begin;
        *ret_stopped = status == LULL_OK && !wait_for_all(ideal, stream);
        return status;
    case LULL_ITEM_EVENT:
        if (stream->in_call)
            return event_of_mpi(ideal, stream, item->event);
        if (stream->n_pending == 0) { /* not in a call: not taken up again */
            stream->done = stream->time;
            status = event_of_mpi(ideal, stream, item->event);
        }
        stream->stopped_at = item->begin;
        *ret_stopped = status == LULL_OK && !wait_for_all(ideal, stream);
        return status;
    default:
        return LULL_OK;
    }
}

static lull_status run_stream(struct ideal *ideal, uint32_t index)
{
    struct stream *stream = &ideal->streams[index];
    if (stream->at == stream->n_items) {
        stream->at = 0;
        lull_status status = lull_replay_reader_next(stream->reader, stream->items, ROOM,
                                                     &stream->n_items, ideal->err);
        if (status != LULL_OK)
            return status;
        if (stream->n_items == 0) {
            stream->blocked = ENDED;
            return LULL_OK;
        }
    }
    for (; stream->at < stream->n_items; stream->at++) {
        bool stopped;
        lull_status status = take_item(ideal, stream, &stream->items[stream->at], &stopped);
        if (status != LULL_OK || stopped)
            return status;
    }
    push(ideal, index);
    return LULL_OK;
}

/* ---- all of them --------------------------------------------------------------------------- */

static uint32_t masters_of(const struct ideal *ideal, uint32_t process)
{
    const struct lull_process *p = &ideal->trace->processes[process];
    return p->application == ideal->options->application && p->n_threads > 0;
}

static lull_status open_streams(struct ideal *ideal)
{
    const struct lull_trace *trace = ideal->trace;
    ideal->first_stream = calloc(trace->n_processes + (size_t)1, sizeof *ideal->first_stream);
    if (!ideal->first_stream)
        return no_memory(ideal);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        ideal->first_stream[p + 1] = ideal->first_stream[p] + masters_of(ideal, p);
    uint32_t n = ideal->first_stream[trace->n_processes];
    ideal->streams = calloc(n + (size_t)1, sizeof *ideal->streams);
    ideal->heap = calloc(n + (size_t)1, sizeof *ideal->heap);
    ideal->gatherings = lull_gatherings_create(trace);
    if (!ideal->streams || !ideal->heap || !ideal->gatherings)
        return no_memory(ideal);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (!masters_of(ideal, p))
            continue;
        struct stream *stream = &ideal->streams[ideal->n_streams];
        stream->process = p;
        lull_status status = lull_replay_reader_open(
            ideal->codes, trace->processes[p].first_location, &stream->reader, ideal->err);
        if (status != LULL_OK)
            return status;
        push(ideal, ideal->n_streams++);
    }
    return LULL_OK;
}

static void close_all(struct ideal *ideal)
{
    for (uint32_t s = 0; ideal->streams && s < ideal->n_streams; s++) {
        lull_replay_reader_close(ideal->streams[s].reader);
        free(ideal->streams[s].pending);
        free(ideal->streams[s].open);
    }
    free(ideal->streams);
    free(ideal->heap);
    free(ideal->first_stream);
    lull_messages_free(&ideal->messages);
    lull_gatherings_destroy(ideal->gatherings);
    lull_lost_destroy(ideal->lost);
}

static void tell(struct ideal *ideal, uint32_t stream)
{
    if (!ideal->options->progress || ideal->steps++ % 4096 != 0)
        return;
    int64_t now = lull_replay_reader_now(ideal->streams[stream].reader);
    ideal->options->progress(ideal->options->progress_context,
                             (double)now / (double)(ideal->trace->duration + 1));
}

static lull_status run_all(struct ideal *ideal)
{
    while (ideal->n_heap > 0) {
        uint32_t index = pop(ideal);
        tell(ideal, index);
        lull_status status = run_stream(ideal, index);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* Nobody can go on: what the first of them waits for is not in the trace. */
static lull_status explain(struct ideal *ideal, const struct stream *stream)
{
    const char *place = place_of(ideal, stream, stream->stopped_at);
    if (stream->blocked == ON_MESSAGE &&
        ideal->trace->processes[stream->waits_for.source].application !=
            ideal->options->application)
        return impossible(
            ideal, "messages come from another application",
            lull_arena_printf(ideal->arena,
                              "%s waits for a message of '%s', which "
                              "belongs to another application",
                              place, ideal->trace->processes[stream->waits_for.source].name));
    if (stream->blocked == ON_MESSAGE)
        return impossible(ideal, "messages were not recorded",
                          lull_arena_printf(ideal->arena,
                                            "%s waits for a message of rank %u with tag %d that is "
                                            "not sent in this trace",
                                            place,
                                            ideal->trace->processes[stream->waits_for.source].rank,
                                            stream->waits_for.tag));
    const struct pending *pending = &stream->pending[0];
    return impossible(ideal, "collectives were not recorded",
                      lull_arena_printf(ideal->arena,
                                        "%s waits in %s on '%s' for processes that do not come in "
                                        "this trace",
                                        place, lull_collective_name(pending->gathering->op),
                                        ideal->trace->comms[pending->arrival.comm].name));
}

/* Who waits for a message says more than who waits for somebody who waits for a message. */
static bool comes_before(const struct stream *a, const struct stream *b)
{
    if (a->blocked != b->blocked)
        return a->blocked == ON_MESSAGE;
    return a->stopped_at < b->stopped_at;
}

static void add_lost(struct ideal *ideal, const struct stream *stream)
{
    int64_t lost = 0;
    const char *name = NULL;
    for (int call = 0; call < LULL_REPLAY_CALLS; call++) {
        bool to_nobody = call >= LULL_CALL_SEND && call <= LULL_CALL_SENDRECV;
        if (stream->lost_ns[call] == 0 || (to_nobody && ideal->recorded[call]))
            continue;
        lost += stream->lost_ns[call];
        name = ideal->lost_name[call];
    }
    if (lost > ideal->result->lost_ns) {
        ideal->result->lost_ns = lost;
        ideal->result->lost = name;
    }
}

static lull_status conclude(struct ideal *ideal)
{
    struct lull_ideal_result *result = ideal->result;
    const struct stream *first = NULL;
    for (uint32_t s = 0; s < ideal->n_streams; s++) {
        const struct stream *stream = &ideal->streams[s];
        if (stream->blocked != ENDED && (!first || comes_before(stream, first)))
            first = stream;
        result->runtime = stream->time > result->runtime ? stream->time : result->runtime;
        add_lost(ideal, stream);
    }
    if (first)
        return explain(ideal, first);
    result->unmatched_sends = ideal->messages.count;
    int64_t span = ideal->codes->to - ideal->codes->from;
    char lost[32];
    if (ideal->n_streams > 1 && /* there is somebody to wait for */
        (double)result->lost_ns > LULL_IDEAL_LOST_MOST * (double)span)
        return impossible(
            ideal, "records of MPI calls are missing",
            lull_arena_printf(ideal->arena,
                              "it is not recorded what calls such as %s waited for, in which a "
                              "thread spent %s",
                              result->lost, lull_format_time(result->lost_ns, lost, sizeof lost)));
    return LULL_OK;
}

lull_status lull_ideal_runtime(const struct lull_trace *trace,
                               const struct lull_ideal_options *options, struct lull_arena *arena,
                               struct lull_ideal_result *ret_result, struct lull_error *err)
{
    struct lull_ideal_result result = {0};
    struct ideal ideal = {
        .trace = trace, .options = options, .arena = arena, .result = &result, .err = err};
    lull_status status = lull_replay_codes_create(trace, arena, &ideal.codes, err);
    if (status != LULL_OK)
        return status;
    if (options->has_span) {
        ideal.codes->from = options->from > 0 ? options->from : 0;
        ideal.codes->to = options->to < trace->duration ? options->to : trace->duration;
    }
    status = open_streams(&ideal);
    if (status == LULL_OK)
        status = run_all(&ideal);
    if (status == LULL_OK)
        status = conclude(&ideal);
    close_all(&ideal);
    if (status == LULL_ERR_CANCELLED && result.absent)
        status = LULL_OK;
    if (status == LULL_OK)
        *ret_result = result;
    return status;
}
