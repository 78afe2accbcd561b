/* One thread: its steps become notes, and notes move its time. */
#include "activity/channel.h"
#include "base/array.h"
#include "replay/ideal/channels.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/read.h"
#include "replay/program/epoch.h"

/* ---- messages ------------------------------------------------------------------------------ */

static void add_pending(struct share *share, struct stream *stream, const struct pending *wanted)
{
    if (!lull_array_reserve(&stream->pending, &stream->pending_capacity, stream->n_pending + 1,
                            sizeof *stream->pending))
        lull_share_no_memory(share);
    else
        stream->pending[stream->n_pending++] = *wanted;
}

static void begin_synchronous(struct share *share, struct stream *stream, const struct note *note,
                              uint32_t number)
{
    lull_synchronous_ask(share, note->what, number);
    const struct pending pending = {
        .what = note->what, .number = number, .comm = LULL_NONE, .is_send = true};
    if (!(note->flags & NOTE_REQUEST))
        add_pending(share, stream, &pending);
    else if (lull_array_reserve(&stream->sends, &stream->send_capacity, stream->n_sends + 1,
                                sizeof *stream->sends))
        stream->sends[stream->n_sends++] = (struct open_send){note->value, note->what, number};
    else
        lull_share_no_memory(share);
}

/* A synchronous send that does not block is waited for, unless its request is given back. */
static void end_synchronous(struct share *share, struct stream *stream, const struct note *note)
{
    size_t i = 0;
    while (i < stream->n_sends && stream->sends[i].request != note->value)
        i++;
    if (i == stream->n_sends)
        return;
    const struct pending pending = {.what = stream->sends[i].link,
                                    .number = stream->sends[i].number,
                                    .comm = LULL_NONE,
                                    .is_send = true};
    stream->sends[i] = stream->sends[--stream->n_sends];
    if (note->op != LULL_CALL_REQUEST_FREE)
        add_pending(share, stream, &pending);
}

static void send_message(struct share *share, struct stream *stream, const struct note *note)
{
    if (note->what == LULL_NONE)
        return;
    struct link *link = &share->links[note->what];
    uint32_t number = stream->process->crew || stream->owner ? note->number : link->sent++;
    if (note->flags & NOTE_SYNCHRONOUS && link->share != LULL_NONE)
        begin_synchronous(share, stream, note, number);
    if (link->share == share->index)
        lull_channel_put(share, link->queue, number, stream->time, note->time);
    else if (link->share != LULL_NONE)
        lull_channel_post(share, link, number, stream->time, note->time);
    else
        share->n_nobody++;
}

static bool take_awaited_message(struct share *share, const struct stream *stream,
                                 const struct pending *wanted, int64_t *ret_time)
{
    const struct lull_ideal_options *options = share->ideal->options;
    struct message message;
    if (!lull_channel_take(share, wanted->what, wanted->number, &message))
        return false;
    lull_synchronous_taken(share, wanted->what, wanted->number);
    *ret_time = message.time;
    if (!options->message)
        return true;
    const struct lull_channel channel = lull_channel_of_queue(share, wanted->what);
    const struct lull_ideal_message told = {.source = channel.source,
                                            .target = channel.target,
                                            .location = stream->location,
                                            .bytes = wanted->bytes,
                                            .sent = message.sent,
                                            .called = stream->call_began,
                                            .received = wanted->time,
                                            .with_sends = stream->waits_for_sends};
    options->message(options->message_context, share->index - share->ideal->first_share, &told);
    return true;
}

/* What is there already is not kept, unless somebody wants to know what messages cost: that is told
 * at the end of the call. */
void lull_ideal_stream_receive(struct share *share, struct stream *stream,
                               const struct pending *wanted)
{
    int64_t time;
    share->n_received++;
    if (share->ideal->options->message || stream->first_tail ||
        !take_awaited_message(share, stream, wanted, &time))
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
    bool numbered = stream->process->crew || stream->owner || share->ideal->synchronous;
    uint32_t number = numbered ? note->number : share->queues[note->what].received++;
    lull_synchronous_receive(share, stream, note);
    const struct pending wanted = {.what = note->what,
                                   .number = number,
                                   .comm = LULL_NONE,
                                   .time = note->time,
                                   .bytes = note->value};
    lull_ideal_stream_receive(share, stream, &wanted);
}

/* ---- collective operations ----------------------------------------------------------------- */

static bool arrive(struct share *share, struct stream *stream, const struct note *note,
                   int64_t time, struct pending *ret_pending)
{
    const struct arrival arrival = {.comm = note->what,
                                    .op = note->op,
                                    .non_blocking = (note->flags & NOTE_REQUEST),
                                    .is_root_between = (note->flags & NOTE_ROOT),
                                    .root = (int32_t)note->number,
                                    .in_call = !(note->flags & NOTE_WAITS),
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
    if (lull_read_is_known(share, note) && !lull_read_is_alone(share, note->what))
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
    if (!lull_read_is_known(share, note))
        return; /* the call is left without a record, which is counted at its end */
    struct open_collective now = {.time = stream->time};
    int64_t time;
    if ((note->flags & NOTE_REQUEST) && !close_collective(stream, note->value, &now))
        return;
    if (lull_read_is_alone(share, note->what))
        return;
    if (!now.arrived && !arrive(share, stream, note, now.time, &now.pending))
        return;
    if (!lull_gather_leave(share, &now.pending, &time))
        add_pending(share, stream, &now.pending);
    else if (time > stream->done)
        stream->done = time;
}

static void count_lost_epoch(const struct share *share, struct stream *stream,
                             const struct note *note)
{
    struct lull_step step = {.kind = LULL_STEP_COLLECTIVE_END, .op = note->op, .comm = note->what};
    step.collective.request = note->value;
    stream->lost_epoch += lull_is_epoch(share->ideal->trace, &step, share->ideal->n_ranks);
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* For the receive of a synchronous send to begin. */
static bool has_begun(struct share *share, struct stream *stream, const struct pending *pending,
                      int64_t *ret_time)
{
    if (lull_synchronous_answer(share, pending->what, pending->number, ret_time))
        return true;
    struct link *link = &share->links[pending->what];
    lull_stream_set(stream, ON_RECEIVE);
    stream->next_waiting = link->waiting;
    link->waiting = stream;
    return false;
}

static bool is_there(struct share *share, struct stream *stream, const struct pending *pending,
                     int64_t *ret_time)
{
    if (pending->is_send)
        return has_begun(share, stream, pending, ret_time);
    if (pending->comm == LULL_NONE) {
        if (stream->first_tail) { /* whose messages come first; then it is roused */
            lull_stream_set(stream, ON_MESSAGE);
            return false;
        }
        if (take_awaited_message(share, stream, pending, ret_time))
            return true;
        struct queue *queue = &share->queues[pending->what];
        lull_stream_set(stream, ON_MESSAGE);
        stream->next_waiting = queue->waiting;
        queue->waiting = stream;
        return false;
    }
    if (lull_gather_leave(share, pending, ret_time))
        return true;
    lull_stream_set(stream, ON_GATHERING);
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
    if (stream->done > stream->time) {
        if (lull_epoch_is_later(share, stream, stream->done))
            lull_epochs_spoil(share->ideal);
        stream->time = stream->done;
    }
    stream->done = 0;
}

/* ---- notes --------------------------------------------------------------------------------- */

static void end_stream(struct stream *stream)
{
    lull_stream_set(stream, ENDED);
    free(stream->pending);
    free(stream->open);
    free(stream->sends);
    free(stream->postings);
    stream->pending = NULL;
    stream->open = NULL;
    stream->sends = NULL;
    stream->postings = NULL;
    stream->pending_at = stream->n_pending = stream->pending_capacity = 0;
    stream->n_open = stream->open_capacity = 0;
    stream->n_sends = stream->send_capacity = 0;
    stream->n_postings = stream->posting_capacity = 0;
}

void lull_ideal_stream_free(struct stream *stream)
{
    if (!stream)
        return;
    end_stream(stream);
    free(stream->routes);
    free(stream->losses);
    free(stream->reading.open);
    free(stream);
}

static inline void move_on(struct stream *stream, int64_t kept)
{
    stream->time += kept - stream->kept;
    stream->kept = kept;
}

static void end_noted_call(struct share *share, struct stream *stream, const struct note *note)
{
    stream->stopped_at = (int64_t)note->value;
    stream->waits_for_sends = note->flags & NOTE_SENDS;
    lull_epoch_leave(share, stream);
    if (note->flags & NOTE_LOST)
        lull_ideal_stream_look_for_lost(share, stream, note);
    wait_for_all(share, stream);
}

static void take_noted_operation(struct share *share, struct stream *stream,
                                 const struct note *note)
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
        count_lost_epoch(share, stream, note);
        end_collective(share, stream, note);
        return;
    case LULL_STEP_SEND_DONE:
        end_synchronous(share, stream, note);
        return;
    case LULL_STEP_CANCEL:
    case LULL_STEP_FREE:
        stream->open_receives -= stream->open_receives > 0;
        lull_synchronous_drop(stream, note->ticket);
        return;
    default: /* RECV_POST */
        lull_synchronous_post(share, stream, note);
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
        end_noted_call(share, stream, note);
        return;
    case LULL_STEP_FORK:
    case LULL_STEP_JOIN:
        if (stream->process->crew && !stream->follows && note->what != LULL_NONE) {
            stream->stopped_at = note->time;
            lull_crew_meet(share, stream, note->what, note->number);
        }
        return;
    case LULL_STEP_END:
        lull_epoch_leave(share, stream);
        end_stream(stream);
        return;
    case LULL_STEP_THREAD_CREATE:
    case LULL_STEP_THREAD_BEGIN:
    case LULL_STEP_THREAD_END:
    case LULL_STEP_THREAD_WAIT_BEGIN:
    case LULL_STEP_THREAD_WAIT_END:
        stream->stopped_at = note->time;
        lull_lives_take(share, stream, note);
        return;
    default:
        take_noted_operation(share, stream, note);
        if (note->flags & NOTE_WAITS) {
            stream->stopped_at = note->time;
            wait_for_all(share, stream);
        }
    }
}

/* ---- a stream that is alone in its process ------------------------------------------------- */

void lull_ideal_stream_notes(struct share *share, struct stream *stream, const struct note *notes,
                             size_t count)
{
    const bool foresees = share->ideal->synchronous;
    struct note numbered;
    for (size_t i = 0; i < count && share->status == LULL_OK; i++) {
        const struct note *note = &notes[i];
        if (stream->blocked == ENDED)
            return;
        if (foresees) {
            numbered = *note;
            note = &numbered;
            if (note->kind == LULL_STEP_RECV && note->what != LULL_NONE)
                numbered.number = share->queues[note->what].received++;
            lull_synchronous_foresee(share, stream, note);
        }
        if (stream->blocked == RUNNABLE) {
            lull_ideal_stream_take(share, stream, note);
            continue;
        }
        const bool is_first = lull_notes_empty(&stream->notes);
        struct note *later = lull_notes_push(&share->pool, &stream->notes);
        if (!later) {
            lull_share_no_memory(share);
            return;
        }
        *later = *note;
        lull_ahead_look(share, stream, note, is_first);
    }
}

static void go_on_with_notes(struct share *share, struct stream *stream)
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
    const unsigned char blocked = stream->blocked;
    lull_stream_set(stream, RUNNABLE);
    if (blocked == ON_LIFE)
        lull_lives_take(share, stream, &stream->waited);
    else if (blocked != ON_THREADS)
        wait_for_all(share, stream);
    if (stream->process->crew)
        lull_crew_resume(share, stream);
    else
        go_on_with_notes(share, stream);
    const unsigned char now = stream->blocked;
    struct reader *reader = stream->reader;
    if (stream->owner && now == RUNNABLE && lull_notes_empty(&stream->notes))
        lull_ahead_end_tail(share, stream);
    if ((now == RUNNABLE || now == ENDED) &&
        atomic_load_explicit(&share->full, memory_order_relaxed))
        atomic_store(&reader->hungry, true);
}
