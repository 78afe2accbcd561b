/* One thread: its steps become notes, and notes move its time. */
#include "activity/channel.h"
#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/channels.h"
#include "replay/ideal/share.h"
#include "replay/lost.h"

/* ---- steps --------------------------------------------------------------------------------- */

static bool is_process(const struct share *share, int32_t peer)
{
    return peer >= 0 && (uint32_t)peer < share->ideal->trace->n_processes;
}

/* NULL: no memory, which is noted. */
static struct route *find_route(struct share *share, struct stream *stream, uint32_t channel)
{
    if (!lull_array_reserve(&stream->routes, &stream->route_capacity, (size_t)channel + 1,
                            sizeof *stream->routes)) {
        lull_share_no_memory(share);
        return NULL;
    }
    while (stream->n_routes <= channel)
        stream->routes[stream->n_routes++] = (struct route){LULL_NONE, LULL_NONE};
    return &stream->routes[channel];
}

static uint32_t link_of(struct share *share, struct stream *stream, uint32_t channel,
                        const struct lull_channels *channels)
{
    if (channel < stream->n_routes && stream->routes[channel].link != LULL_NONE)
        return stream->routes[channel].link;
    struct route *route = find_route(share, stream, channel);
    return route ? route->link = lull_channel_link(share, lull_channels_at(channels, channel))
                 : LULL_NONE;
}

static uint32_t queue_of(struct share *share, struct stream *stream, uint32_t channel,
                         const struct lull_channels *channels)
{
    if (channel < stream->n_routes && stream->routes[channel].queue != LULL_NONE)
        return stream->routes[channel].queue;
    struct route *route = find_route(share, stream, channel);
    return route ? route->queue = lull_channel_queue(share, lull_channels_at(channels, channel))
                 : LULL_NONE;
}

bool lull_ideal_stream_note(struct share *share, struct stream *stream,
                            const struct lull_step *step, const struct lull_channels *channels,
                            struct note *ret_note)
{
    ret_note->time = step->time;
    ret_note->kept = step->kept_ns;
    ret_note->kind = step->kind;
    ret_note->op = step->op;
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
    case LULL_STEP_CALL_END:
        ret_note->what = step->region;
        return true;
    case LULL_STEP_SEND:
        ret_note->what = LULL_NONE; /* it is recorded, even to nobody */
        if (is_process(share, step->message.peer))
            ret_note->what = link_of(share, stream, step->channel, channels);
        return true;
    case LULL_STEP_RECV:
        ret_note->what = LULL_NONE;
        ret_note->value = step->message.bytes;
        ret_note->has_request = step->message.request != LULL_NO_REQUEST;
        if (is_process(share, step->message.peer))
            ret_note->what = queue_of(share, stream, step->channel, channels);
        return true;
    case LULL_STEP_COLLECTIVE_BEGIN:
    case LULL_STEP_COLLECTIVE_END:
        ret_note->what = step->comm;
        ret_note->number = (uint32_t)step->collective.root;
        ret_note->ticket = LULL_NONE;
        ret_note->value = step->collective.request;
        ret_note->has_request = step->collective.request != LULL_NO_REQUEST;
        return ret_note->has_request || step->kind == LULL_STEP_COLLECTIVE_END;
    case LULL_STEP_RECV_POST:
    case LULL_STEP_SEND_DONE:
    case LULL_STEP_CANCEL:
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
    case LULL_STEP_END:
        return true;
    default:
        return false;
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

static void send_message(struct share *share, const struct stream *stream, const struct note *note)
{
    if (note->what == LULL_NONE)
        return;
    const struct link *link = &share->links[note->what];
    if (link->share == share->index)
        lull_channel_put(share, link->queue, note->number, stream->time, note->time);
    else if (link->share != LULL_NONE)
        lull_channel_post(share, link, note->number, stream->time, note->time);
    else
        share->n_nobody++;
}

static bool take_message(struct share *share, const struct stream *stream,
                         const struct pending *wanted, int64_t *ret_time)
{
    const struct lull_ideal_options *options = share->ideal->options;
    struct message message;
    if (!lull_channel_take(share, wanted->what, wanted->number, &message))
        return false;
    *ret_time = message.time;
    if (!options->message)
        return true;
    const struct lull_channel channel = lull_channel_of_queue(share, wanted->what);
    const struct lull_ideal_message told = {.source = channel.source,
                                            .target = channel.target,
                                            .bytes = wanted->bytes,
                                            .sent = message.sent,
                                            .called = stream->call_began,
                                            .received = wanted->time};
    options->message(options->message_context, share->index, &told);
    return true;
}

static void add_pending(struct share *share, struct stream *stream, const struct pending *wanted)
{
    if (!lull_array_reserve(&stream->pending, &stream->pending_capacity, stream->n_pending + 1,
                            sizeof *stream->pending))
        lull_share_no_memory(share);
    else
        stream->pending[stream->n_pending++] = *wanted;
}

/* What is there already is not kept. */
void lull_ideal_stream_receive(struct share *share, struct stream *stream,
                               const struct pending *wanted)
{
    int64_t time;
    share->n_received++;
    if (!take_message(share, stream, wanted, &time))
        add_pending(share, stream, wanted);
    else if (time > stream->done)
        stream->done = time;
}

static void receive_message(struct share *share, struct stream *stream, const struct note *note)
{
    if (note->has_request && stream->open_receives > 0)
        stream->open_receives--;
    if (note->what == LULL_NONE)
        return;
    const struct pending wanted = {.what = note->what,
                                   .number = note->number,
                                   .comm = LULL_NONE,
                                   .time = note->time,
                                   .bytes = note->value};
    lull_ideal_stream_receive(share, stream, &wanted);
}

/* ---- collective operations ----------------------------------------------------------------- */

static bool is_known(const struct share *share, const struct note *note)
{
    const struct lull_trace *trace = share->ideal->trace;
    return note->what < trace->n_comms && trace->comms[note->what].paradigm == LULL_PARADIGM_MPI &&
           note->op != LULL_COLLECTIVE_UNKNOWN;
}

/* Tracers may give all the communicators of one process the same definition. */
static bool is_alone(const struct share *share, uint32_t comm)
{
    const struct lull_comm *c = &share->ideal->trace->comms[comm];
    return c->size == 1 && c->remote == LULL_NONE;
}

bool lull_ideal_stream_gathers(const struct share *share, const struct note *note)
{
    return (note->kind == LULL_STEP_COLLECTIVE_BEGIN) == note->has_request &&
           is_known(share, note) && !is_alone(share, note->what);
}

static bool arrive(struct share *share, struct stream *stream, const struct note *note,
                   int64_t time, struct pending *ret_pending)
{
    const struct arrival arrival = {.comm = note->what,
                                    .op = note->op,
                                    .non_blocking = note->has_request,
                                    .root = (int32_t)note->number,
                                    .ticket = note->ticket,
                                    .time = time,
                                    .measured = note->time};
    return lull_gather_arrive(share, stream, &arrival, ret_pending);
}

static void begin_collective(struct share *share, struct stream *stream, const struct note *note)
{
    if (!lull_array_reserve(&stream->open, &stream->open_capacity, stream->n_open + 1,
                            sizeof *stream->open)) {
        lull_share_no_memory(share);
        return;
    }
    struct open_collective *open = &stream->open[stream->n_open++];
    *open = (struct open_collective){.request = note->value, .time = stream->time};
    stream->completed = true; /* it is recorded */
    if (is_known(share, note) && !is_alone(share, note->what))
        open->arrived = arrive(share, stream, note, stream->time, &open->pending);
}

/* Takes an operation off the list of those in flight; false: it began before the trace. */
static bool close_collective(struct stream *stream, uint64_t request,
                             struct open_collective *ret_open)
{
    for (size_t i = 0; i < stream->n_open; i++)
        if (stream->open[i].request == request) {
            *ret_open = stream->open[i];
            stream->open[i] = stream->open[--stream->n_open];
            return true;
        }
    return false;
}

static void end_collective(struct share *share, struct stream *stream, const struct note *note)
{
    if (!is_known(share, note))
        return; /* the call is left without a record, which is counted at its end */
    struct open_collective now = {.time = stream->time};
    int64_t time;
    stream->completed = true;
    if (note->has_request && !close_collective(stream, note->value, &now))
        return;
    if (is_alone(share, note->what))
        return;
    if (!now.arrived && !arrive(share, stream, note, now.time, &now.pending))
        return;
    if (!lull_gather_leave(share, &now.pending, &time))
        add_pending(share, stream, &now.pending);
    else if (time > stream->done)
        stream->done = time;
}

static void count_epoch(const struct share *share, struct stream *stream, const struct note *note)
{
    struct lull_event event = {.kind = LULL_EVENT_COLLECTIVE_END, .op = note->op, .id = note->what};
    event.collective.request = note->value;
    stream->epoch += lull_lost_is_epoch(share->ideal->trace, &event, share->ideal->n_ranks);
}

/* ---- waiting ------------------------------------------------------------------------------- */

static bool is_there(struct share *share, struct stream *stream, const struct pending *pending,
                     int64_t *ret_time)
{
    if (pending->comm == LULL_NONE) {
        if (take_message(share, stream, pending, ret_time))
            return true;
        struct queue *queue = &share->queues[pending->what];
        stream->blocked = ON_MESSAGE;
        stream->next_waiting = queue->waiting;
        queue->waiting = stream;
        return false;
    }
    if (lull_gather_leave(share, pending, ret_time))
        return true;
    stream->blocked = ON_GATHERING;
    lull_gather_wait(share, stream, pending);
    return false;
}

/* Goes on when all that the call waits for is there; else the stream is blocked. */
static void wait_for_all(struct share *share, struct stream *stream)
{
    for (int64_t time; stream->pending_at < stream->n_pending; stream->pending_at++) {
        if (!is_there(share, stream, &stream->pending[stream->pending_at], &time))
            return;
        if (time > stream->done)
            stream->done = time;
    }
    stream->pending_at = stream->n_pending = 0;
    if (stream->done > stream->time)
        stream->time = stream->done;
}

/* ---- notes --------------------------------------------------------------------------------- */

static void end_stream(struct stream *stream)
{
    stream->blocked = ENDED;
    free(stream->pending);
    free(stream->open);
    stream->pending = NULL;
    stream->open = NULL;
    stream->pending_at = stream->n_pending = stream->pending_capacity = 0;
    stream->n_open = stream->open_capacity = 0;
}

void lull_ideal_stream_free(struct stream *stream)
{
    if (!stream)
        return;
    end_stream(stream);
    free(stream->routes);
    free(stream->losses);
    free(stream);
}

/* Behind the analysed span nothing takes time, and nothing in it waits for what comes then; except
 * for the arrival of a call that reaches beyond. */
static bool is_beyond(const struct share *share, const struct stream *stream,
                      const struct note *note)
{
    if (!share->ideal->options->has_span)
        return false;
    return note->kind == LULL_STEP_CALL_END ? note->time > share->ideal->to
                                            : !stream->in_call && note->time >= share->ideal->to;
}

static inline void advance(struct stream *stream, int64_t kept)
{
    stream->time += kept - stream->kept;
    stream->kept = kept;
}

static void take_operation(struct share *share, struct stream *stream, const struct note *note)
{
    switch (note->kind) {
    case LULL_STEP_SEND:
        stream->completed = true;
        send_message(share, stream, note);
        return;
    case LULL_STEP_RECV:
        stream->completed = true;
        receive_message(share, stream, note);
        return;
    case LULL_STEP_RECV_POST:
        stream->open_receives++;
        return;
    case LULL_STEP_CANCEL:
        stream->open_receives -= stream->open_receives > 0;
        return;
    case LULL_STEP_SEND_DONE:
        stream->completed = true;
        return;
    case LULL_STEP_COLLECTIVE_BEGIN:
        begin_collective(share, stream, note);
        return;
    default: /* COLLECTIVE_END */
        count_epoch(share, stream, note);
        end_collective(share, stream, note);
    }
}

static void end_call(struct share *share, struct stream *stream, const struct note *note)
{
    advance(stream, note->kept);
    if (stream->in_call && stream->completed)
        share->recorded[note->op] = true;
    else if (stream->in_call)
        lull_ideal_stream_look_for_lost(share, stream, note);
    stream->in_call = false;
    stream->stopped_at = stream->call_began;
    wait_for_all(share, stream);
}

/* The operations of a call happen when it begins; outside of calls each waits for itself. */
void lull_ideal_stream_take(struct share *share, struct stream *stream, const struct note *note)
{
    if (is_beyond(share, stream, note)) {
        advance(stream, note->kept);
        end_stream(stream);
        return;
    }
    switch (note->kind) {
    case LULL_STEP_CALL_BEGIN:
        advance(stream, note->kept);
        stream->in_call = true;
        stream->completed = false;
        stream->call_began = note->time;
        stream->done = stream->time;
        return;
    case LULL_STEP_CALL_END:
        end_call(share, stream, note);
        return;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        if (stream->follows)
            return; /* no more than a point of its kept time */
        advance(stream, note->kept);
        stream->stopped_at = note->time;
        if (stream->process->crew && note->what != LULL_NONE)
            lull_crew_meet(share, stream, note->what, note->number);
        return;
    case LULL_STEP_END:
        advance(stream, note->kept);
        end_stream(stream);
        return;
    default:
        if (stream->in_call) {
            take_operation(share, stream, note);
            return;
        }
        advance(stream, note->kept);
        stream->done = stream->time;
        take_operation(share, stream, note);
        stream->stopped_at = note->time;
        wait_for_all(share, stream);
    }
}

/* ---- a stream that is alone in its process ------------------------------------------------- */

static void number_message(struct share *share, struct note *note)
{
    if (note->kind == LULL_STEP_SEND && note->what != LULL_NONE)
        note->number = share->links[note->what].sent++;
    else if (note->kind == LULL_STEP_RECV && note->what != LULL_NONE)
        note->number = share->queues[note->what].received++;
}

static void keep_note(struct share *share, struct stream *stream, const struct note *note)
{
    struct note *kept = lull_notes_push(&share->pool, &stream->notes);
    if (kept)
        *kept = *note;
    else
        lull_share_no_memory(share);
}

void lull_ideal_stream_steps(struct share *share, struct stream *stream,
                             const struct lull_steps *steps)
{
    struct note note = {0};
    for (uint32_t i = 0; i < steps->count && stream->blocked != ENDED; i++) {
        if (!lull_ideal_stream_note(share, stream, &steps->steps[i], steps->channels, &note))
            continue;
        number_message(share, &note);
        if (share->status != LULL_OK)
            return;
        if (stream->blocked == RUNNABLE)
            lull_ideal_stream_take(share, stream, &note);
        else
            keep_note(share, stream, &note);
    }
}

static void go_on(struct share *share, struct stream *stream)
{
    while (stream->blocked == RUNNABLE && !lull_notes_empty(&stream->notes) &&
           share->status == LULL_OK) {
        const struct note note = *lull_notes_front(&stream->notes);
        lull_notes_pop(&share->pool, &stream->notes);
        lull_ideal_stream_take(share, stream, &note);
    }
    while (stream->blocked == ENDED && !lull_notes_empty(&stream->notes))
        lull_notes_pop(&share->pool, &stream->notes);
}

void lull_ideal_stream_resume(struct share *share, struct stream *stream)
{
    bool on_threads = stream->blocked == ON_THREADS;
    stream->blocked = RUNNABLE;
    if (!on_threads)
        wait_for_all(share, stream);
    if (stream->process->crew)
        lull_crew_resume(share, stream);
    else
        go_on(share, stream);
}
