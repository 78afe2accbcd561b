/* The messages of a process: sent, received, and receives that are posted. */
#include "activity/channel.h"
#include "base/array.h"
#include "wait/shared/letters.h"

/* ---- routes -------------------------------------------------------------------------------- */

static void find_route(struct lull_waits *waits, struct wait_stream *stream,
                       const struct lull_channels *channels, uint32_t index)
{
    if (!lull_array_reserve(&stream->routes, &stream->route_capacity, (size_t)index + 1,
                            sizeof *stream->routes)) {
        waits->no_memory = true;
        return;
    }
    for (; stream->n_routes <= index; stream->n_routes++)
        stream->routes[stream->n_routes] = (struct wait_route){LULL_NONE, false};
    struct wait_route *route = &stream->routes[index];
    const struct lull_channel *channel = lull_channels_at(channels, index);
    const struct lull_process *processes = waits->trace->processes;
    const uint32_t application = waits->options.application;
    route->known = true;
    if (processes[channel->source].application != application ||
        processes[channel->target].application != application)
        return;
    route->queue = lull_wait_queue(waits, channel);
}

/* Of a receive that says which message it takes: the queue, else LULL_NONE. */
static void name_queue(struct lull_waits *waits, const struct wait_stream *stream,
                       struct wait_note *note)
{
    const struct lull_trace *trace = waits->trace;
    const bool named = note->root >= 0 && (uint32_t)note->root < trace->n_processes &&
                       note->tag != LULL_ANY && note->comm < trace->n_comms &&
                       trace->processes[note->root].application == waits->options.application;
    const struct lull_channel channel = {.source = (uint32_t)note->root,
                                         .target = stream->process,
                                         .comm = named ? lull_comm_canonical(trace, note->comm)
                                                       : LULL_NONE,
                                         .tag = note->tag};
    note->channel = named ? lull_wait_queue(waits, &channel) : LULL_NONE;
}

void lull_wait_find_routes(struct lull_waits *waits, struct wait_stream *stream,
                           const struct lull_channels *channels, struct wait_note *notes,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t kind = notes[i].kind;
        if (kind == NOTE_SEND_CALL || kind == NOTE_SEND || kind == NOTE_RECEIVE) {
            const uint32_t channel = notes[i].channel;
            if (channel != LULL_NONE &&
                (channel >= stream->n_routes || !stream->routes[channel].known))
                find_route(waits, stream, channels, channel);
        } else if (kind == NOTE_POST) {
            name_queue(waits, stream, &notes[i]);
        }
    }
}

/* ---- sends --------------------------------------------------------------------------------- */

static void wait_for_receive(struct lull_waits *waits, struct wait_stream *stream,
                             const struct wait_note *note, uint32_t queue, uint32_t number)
{
    const struct wait_pending pending = {
        .what = queue, .number = number, .kind = LULL_WAIT_LATE_RECEIVER, .is_post = true};
    if (note->value == LULL_NO_REQUEST) {
        lull_wait_need(waits, stream, &pending);
    } else if (lull_array_reserve(&stream->issued, &stream->issued_capacity, stream->n_issued + 1,
                                  sizeof *stream->issued)) {
        stream->issued[stream->n_issued++] = (struct wait_issued){note->value, pending};
    } else {
        waits->no_memory = true;
    }
}

/* To a process that another member of the team has. */
static void post_message(struct lull_waits *waits, uint32_t queue, uint32_t number,
                         bool waits_for_receive, const struct wait_cause *sent)
{
    struct wait_cause dropped = *sent;
    lull_wait_post_message(waits, queue, number, waits_for_receive, sent);
    if (waits->follows_posts)
        waits->queues[queue].n_sent++;
    lull_wait_cause_drop(&dropped);
}

static void send_message(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *note)
{
    lull_wait_tell_until(stream, note->time);
    const uint32_t queue =
        note->channel == LULL_NONE ? LULL_NONE : stream->routes[note->channel].queue;
    if (queue == LULL_NONE)
        return;
    const struct wait_cause sent = lull_wait_make_cause(waits, stream, note->time);
    if (!sent.late.snapshot)
        return;
    const bool waits_for_it =
        waits->follows_posts &&
        lull_wait_may_wait(note, stream->in_call ? stream->call_kind : LULL_CALL_OTHER);
    const uint32_t number = waits->queues[queue].n_sent;
    if (lull_wait_is_far(waits, waits->queues[queue].target))
        post_message(waits, queue, note->number, waits_for_it, &sent);
    else
        lull_wait_deliver(waits, queue, note->number, waits_for_it, &sent);
    if (waits_for_it)
        wait_for_receive(waits, stream, note, queue, number);
}

static void end_send(struct lull_waits *waits, struct wait_stream *stream, uint64_t request)
{
    for (size_t i = stream->n_issued; i-- > 0;)
        if (stream->issued[i].request == request) {
            lull_wait_need(waits, stream, &stream->issued[i].pending);
            stream->issued[i] = stream->issued[--stream->n_issued];
            return;
        }
}

/* ---- receives ------------------------------------------------------------------------------ */

static void post_receive(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *note)
{
    lull_wait_tell_until(stream, note->time);
    const int64_t told = stream->in_call ? stream->call_began : note->time;
    const struct wait_cause posted = lull_wait_make_cause(waits, stream, note->time);
    if (note->channel != LULL_NONE)
        lull_wait_tell_post(waits, note->channel, &posted, told);
    else if (lull_array_reserve(&stream->posted, &stream->posted_capacity, stream->n_posted + 1,
                                sizeof *stream->posted))
        stream->posted[stream->n_posted++] = (struct wait_posted){note->value, posted};
    else
        waits->no_memory = true;
}

/* One that blocks begins with its call. */
static struct wait_cause post_of_call(struct lull_waits *waits, struct wait_stream *stream)
{
    struct wait_cause posted = lull_wait_make_cause(waits, stream, stream->call_began);
    posted.late.in_mpi -= stream->told - stream->call_began;
    return posted;
}

/* It is complete, and known now which message it took. */
static void tell_receive(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *note, uint32_t queue)
{
    if (note->value == LULL_NO_REQUEST) {
        if (stream->call_kind == LULL_CALL_RECV || stream->call_kind == LULL_CALL_SENDRECV) {
            const struct wait_cause posted = post_of_call(waits, stream);
            lull_wait_tell_post(waits, queue, &posted, stream->call_began);
        }
        return;
    }
    for (size_t i = stream->n_posted; i-- > 0;)
        if (stream->posted[i].request == note->value) {
            lull_wait_tell_post(waits, queue, &stream->posted[i].posted,
                                stream->in_call ? stream->call_began : note->time);
            stream->posted[i] = stream->posted[--stream->n_posted];
            return;
        }
}

static void receive_message(struct lull_waits *waits, struct wait_stream *stream,
                            const struct wait_note *note)
{
    if (note->channel == LULL_NONE)
        return;
    const struct wait_route *route = &stream->routes[note->channel];
    const struct wait_pending pending = {.what = route->queue,
                                         .number = note->number,
                                         .kind = LULL_WAIT_LATE_SENDER,
                                         .is_message = true};
    if (route->queue == LULL_NONE) {
        stream->unmatched = true;
        return;
    }
    lull_wait_need(waits, stream, &pending);
    if (waits->follows_posts)
        tell_receive(waits, stream, note, route->queue);
}

void lull_wait_note_message(struct lull_waits *waits, struct wait_stream *stream,
                            const struct wait_note *note)
{
    if (note->kind == NOTE_SEND || note->kind == NOTE_SEND_CALL)
        send_message(waits, stream, note);
    else if (note->kind == NOTE_SEND_DONE)
        end_send(waits, stream, note->value);
    else if (note->kind == NOTE_RECEIVE)
        receive_message(waits, stream, note);
    else if (waits->follows_posts)
        post_receive(waits, stream, note);
}
