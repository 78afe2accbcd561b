/* One thread: its steps become notes, and notes move its time. */
#include "activity/channel.h"
#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/channels.h"
#include "replay/ideal/share.h"
#include "replay/program/epoch.h"
#include "replay/program/lost.h"

/* ---- steps --------------------------------------------------------------------------------- */

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

/* A message is at hand of a channel; LULL_NONE in `what`: with nobody. */
static void read_message(struct share *share, struct stream *stream, const struct lull_step *step,
                         const struct lull_channels *channels, struct note *note)
{
    bool sends = step->kind == LULL_STEP_SEND;
    note->what = LULL_NONE;
    note->value = step->message.bytes;
    note->flags |= step->message.request != LULL_NO_REQUEST ? NOTE_REQUEST : 0;
    stream->reading.completed = true;
    if (!is_process(share, step->message.peer))
        return;
    note->what = sends ? link_of(share, stream, step->channel, channels)
                       : queue_of(share, stream, step->channel, channels);
    stream->reading.waits |= !sends;
}

/* False: a blocking one begins; its end says more, at the same ideal time. */
static bool read_collective(const struct share *share, struct stream *stream,
                            const struct lull_step *step, struct note *note)
{
    bool blocks = step->collective.request == LULL_NO_REQUEST;
    bool begins = step->kind == LULL_STEP_COLLECTIVE_BEGIN;
    note->what = step->comm;
    note->number = (uint32_t)step->collective.root;
    note->ticket = LULL_NONE;
    note->value = step->collective.request;
    note->flags |= blocks ? 0 : NOTE_REQUEST;
    if (begins && blocks)
        return false;
    if (begins || is_known(share, note))
        stream->reading.completed = true; /* else its call is left without a record */
    stream->reading.waits |= !begins;
    return true;
}

/* Behind the analysed span nothing takes time, and nothing in it waits for what comes then; except
 * for the arrival of a call that reaches beyond. */
static bool is_beyond(const struct share *share, const struct reading *reading,
                      const struct lull_step *step)
{
    const struct lull_ideal *ideal = share->ideal;
    return ideal->options->has_span &&
           (reading->in_call ? step->kind == LULL_STEP_CALL_END && step->time > ideal->to
                             : step->time >= ideal->to);
}

/* Whether a call of which nothing was recorded should have left something. */
static bool should_leave_records(struct reading *reading, uint8_t call)
{
    reading->lost_collective |= call == LULL_CALL_ICOLLECTIVE;
    if (call == LULL_CALL_TEST)
        return reading->lost_collective;
    return call != LULL_CALL_OTHER && call != LULL_CALL_ISEND && call != LULL_CALL_ISSEND &&
           call != LULL_CALL_IRECV;
}

/* Whose notes tell the measured times of its calls: threads that meet their master in between, and
 * receivers whose messages somebody wants to know all about. */
static bool needs_begin(const struct share *share, const struct stream *stream)
{
    return stream->follows || share->ideal->options->message;
}

static bool read_begin(const struct share *share, struct stream *stream,
                       const struct lull_step *step, struct note *note)
{
    struct reading *reading = &stream->reading;
    reading->in_call = true;
    reading->completed = reading->waits = false;
    reading->call_began = step->time;
    reading->call_kept = step->kept_ns;
    note->what = step->region;
    note->flags = NOTE_MOVES;
    return needs_begin(share, stream);
}

/* A call that does not wait takes no time, and needs no note. */
static bool read_end(struct share *share, struct stream *stream, const struct lull_step *step,
                     struct note *note)
{
    struct reading *reading = &stream->reading;
    reading->in_call = false;
    note->what = step->region;
    note->value = (uint64_t)reading->call_began;
    note->flags = NOTE_MOVES;
    if (reading->completed)
        share->recorded[step->op] = true;
    else if (should_leave_records(reading, step->op))
        note->flags |= NOTE_LOST;
    return reading->waits || note->flags & NOTE_LOST || stream->follows;
}

/* An operation happens when its call begins. Where a thread meets its master in between, that is
 * told by the note of the begin, and the time of this one is its own. */
static void place_operation(const struct stream *stream, struct note *note)
{
    const struct reading *reading = &stream->reading;
    if (!reading->in_call)
        note->flags = NOTE_MOVES | NOTE_WAITS;
    else if (stream->follows)
        note->flags = 0;
    else {
        note->flags = NOTE_MOVES;
        note->kept = reading->call_kept;
    }
}

static bool read_post(struct stream *stream)
{
    return ++stream->reading.posts == UINT8_MAX;
}

/* What is done for every step before it becomes a note; false: it does not. */
static bool read_step(struct share *share, struct stream *stream, const struct lull_step *step,
                      const struct lull_channels *channels, struct note *note)
{
    struct reading *reading = &stream->reading;
    switch (step->kind) {
    case LULL_STEP_CALL_BEGIN:
        return read_begin(share, stream, step, note);
    case LULL_STEP_CALL_END:
        return read_end(share, stream, step, note);
    case LULL_STEP_SEND:
    case LULL_STEP_RECV:
        place_operation(stream, note);
        read_message(share, stream, step, channels, note);
        return note->what != LULL_NONE || note->flags & NOTE_REQUEST;
    case LULL_STEP_COLLECTIVE_BEGIN:
    case LULL_STEP_COLLECTIVE_END:
        place_operation(stream, note);
        return read_collective(share, stream, step, note);
    case LULL_STEP_RECV_POST:
        note->flags = 0;
        return read_post(stream);
    case LULL_STEP_SEND_DONE:
        reading->completed = true;
        return false;
    case LULL_STEP_CANCEL:
        note->flags = 0;
        return true;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        reading->call_kept = step->kept_ns;
        note->flags = stream->follows ? 0 : NOTE_MOVES; /* of others no more than a point of time */
        return stream->process->crew != NULL;
    case LULL_STEP_END:
        note->flags = NOTE_MOVES;
        return true;
    default:
        return false;
    }
}

bool lull_ideal_stream_read(struct share *share, struct stream *stream,
                            const struct lull_step *step, const struct lull_channels *channels,
                            struct note *ret_note)
{
    struct reading *reading = &stream->reading;
    ret_note->time = step->time;
    ret_note->kept = step->kept_ns;
    ret_note->kind = step->kind;
    ret_note->op = step->op;
    if (reading->over)
        return false;
    if (is_beyond(share, reading, step)) {
        reading->over = true;
        ret_note->kind = LULL_STEP_END;
        ret_note->flags = NOTE_MOVES;
    } else if (!read_step(share, stream, step, channels, ret_note)) {
        return false;
    }
    ret_note->posts = reading->posts;
    reading->posts = 0;
    return true;
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
    if ((note->flags & NOTE_REQUEST) && stream->open_receives > 0)
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

bool lull_ideal_stream_gathers(const struct share *share, const struct note *note)
{
    bool begins = note->kind == LULL_STEP_COLLECTIVE_BEGIN;
    return begins == ((note->flags & NOTE_REQUEST) != 0) && is_known(share, note) &&
           !is_alone(share, note->what);
}

static bool arrive(struct share *share, struct stream *stream, const struct note *note,
                   int64_t time, struct pending *ret_pending)
{
    const struct arrival arrival = {.comm = note->what,
                                    .op = note->op,
                                    .non_blocking = (note->flags & NOTE_REQUEST),
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
    if ((note->flags & NOTE_REQUEST) && !close_collective(stream, note->value, &now))
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
    struct lull_step step = {.kind = LULL_STEP_COLLECTIVE_END, .op = note->op, .comm = note->what};
    step.collective.request = note->value;
    stream->epoch += lull_is_epoch(share->ideal->trace, &step, share->ideal->n_ranks);
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
    stream->done = 0;
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

static inline void move_on(struct stream *stream, int64_t kept)
{
    stream->time += kept - stream->kept;
    stream->kept = kept;
}

static void end_call(struct share *share, struct stream *stream, const struct note *note)
{
    stream->stopped_at = (int64_t)note->value;
    if (note->flags & NOTE_LOST)
        lull_ideal_stream_look_for_lost(share, stream, note);
    wait_for_all(share, stream);
}

static void take_operation(struct share *share, struct stream *stream, const struct note *note)
{
    switch (note->kind) {
    case LULL_STEP_SEND:
        send_message(share, stream, note);
        return;
    case LULL_STEP_RECV:
        receive_message(share, stream, note);
        return;
    case LULL_STEP_COLLECTIVE_BEGIN:
        begin_collective(share, stream, note);
        return;
    case LULL_STEP_COLLECTIVE_END:
        count_epoch(share, stream, note);
        end_collective(share, stream, note);
        return;
    case LULL_STEP_CANCEL:
        stream->open_receives -= stream->open_receives > 0;
        return;
    default: /* RECV_POST */
        return;
    }
}

void lull_ideal_stream_take(struct share *share, struct stream *stream, const struct note *note)
{
    stream->open_receives += note->posts;
    if (note->flags & NOTE_MOVES)
        move_on(stream, note->kept);
    switch (note->kind) {
    case LULL_STEP_CALL_BEGIN:
        stream->call_began = note->time;
        return;
    case LULL_STEP_CALL_END:
        end_call(share, stream, note);
        return;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        if (stream->process->crew && !stream->follows && note->what != LULL_NONE) {
            stream->stopped_at = note->time;
            lull_crew_meet(share, stream, note->what, note->number);
        }
        return;
    case LULL_STEP_END:
        end_stream(stream);
        return;
    default:
        take_operation(share, stream, note);
        if (note->flags & NOTE_WAITS) {
            stream->stopped_at = note->time;
            wait_for_all(share, stream);
        }
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

/* Read where it waits, so that it need not be moved. */
static void keep_step(struct share *share, struct stream *stream, const struct lull_step *step,
                      const struct lull_channels *channels)
{
    struct note *note = lull_notes_push(&share->pool, &stream->notes);
    if (!note)
        lull_share_no_memory(share);
    else if (lull_ideal_stream_read(share, stream, step, channels, note))
        number_message(share, note);
    else
        lull_notes_unpush(&share->pool, &stream->notes);
}

void lull_ideal_stream_steps(struct share *share, struct stream *stream,
                             const struct lull_steps *steps)
{
    struct note note = {0};
    for (uint32_t i = 0; i < steps->count && share->status == LULL_OK; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (stream->blocked == RUNNABLE) {
            if (!lull_ideal_stream_read(share, stream, step, steps->channels, &note))
                continue;
            number_message(share, &note);
            lull_ideal_stream_take(share, stream, &note);
        } else if (stream->blocked != ENDED) {
            keep_step(share, stream, step, steps->channels);
        }
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
