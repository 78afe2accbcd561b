/* Streams: the notes of a thread move its ideal time. Also the workers of the pass, which read
 * steps and evaluate notes; synchronous sends; and calls of which nothing was recorded. Most of it
 * is declared in share.h. */
#include "replay/ideal/stream.h"

#include "activity/channel.h"
#include "activity/pass.h"
#include "base/array.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/share.h"
#include "replay/program/items.h"
#include "replay/program/lost.h"
#include "trace/trace.h"

/* ==== synchronous sends ======================================================================= */

/* A synchronous send is not over before its receive begins. The sender asks the receiver when that
 * was. The receiver answers as soon as it is known which receive takes the message, and the thread
 * has come to the begin of that receive. Which message a non-blocking receive takes is known when
 * its completion is read, which may be far ahead of the thread. So a receiver that waits for
 * something else in between does not hold up a sender that MPI would let go on. The lists hold what
 * is in flight. */

/* ---- lists --------------------------------------------------------------------------------- */

static void add_to_list(struct share *share, uint32_t *list, uint32_t number, struct message item)
{
    struct message *room = lull_match_list_add(&share->queues, sizeof *room, list, number);
    if (room)
        *room = item;
    else
        lull_share_no_memory(share);
}

static bool remove_item(struct share *share, uint32_t *list, uint32_t number,
                        struct message *ret_item)
{
    return lull_match_list_remove(&share->queues, sizeof *ret_item, list, number, ret_item);
}

/* ---- the sender ---------------------------------------------------------------------------- */

static void take_answer(struct share *share, uint32_t queue, uint32_t number, int64_t time)
{
    struct handshake *handshake = &share->handshakes[queue];
    add_to_list(share, &handshake->answers, number, (struct message){.time = time});
    for (struct stream **at = &handshake->waiting; *at; at = &(*at)->next_waiting)
        if ((*at)->pending[(*at)->pending_at].number == number) {
            struct stream *stream = *at;
            *at = stream->next_waiting;
            lull_share_ready(share, stream);
            return;
        }
}

bool lull_synchronous_answer(struct share *share, uint32_t queue, uint32_t number,
                             int64_t *ret_time)
{
    struct message answer;
    if (!remove_item(share, &share->handshakes[queue].answers, number, &answer))
        return false;
    *ret_time = answer.time;
    return true;
}

/* ---- the receiver -------------------------------------------------------------------------- */

static void tell_sender(struct share *share, uint64_t asker, uint32_t number, int64_t time)
{
    const uint32_t to = (uint32_t)(asker >> 32), queue = (uint32_t)asker;
    if (to == share->index) {
        take_answer(share, queue, number, time);
        return;
    }
    struct letter *letter = lull_post(share, to, LETTER_ANSWER);
    if (!letter)
        return;
    letter->a = queue;
    letter->b = number;
    letter->time = time;
}

static void begin_receive(struct share *share, uint32_t queue, uint32_t number, int64_t time)
{
    struct handshake *handshake = &share->handshakes[queue];
    struct message asked;
    if (remove_item(share, &handshake->asked, number, &asked))
        tell_sender(share, (uint64_t)asked.sent, number, time);
    else
        add_to_list(share, &handshake->begun, number, (struct message){.time = time});
}

static void take_question(struct share *share, uint32_t queue, uint32_t number, uint64_t asker)
{
    struct handshake *handshake = &share->handshakes[queue];
    struct message begun;
    if (remove_item(share, &handshake->begun, number, &begun))
        tell_sender(share, asker, number, begun.time);
    else
        add_to_list(share, &handshake->asked, number, (struct message){.sent = (int64_t)asker});
}

void lull_synchronous_taken(struct share *share, uint32_t queue, uint32_t number)
{
    if (!share->ideal->synchronous)
        return;
    struct message begun; /* is in the list unless its sender has asked */
    remove_item(share, &share->handshakes[queue].begun, number, &begun);
}

void lull_synchronous_ask(struct share *share, uint32_t index, uint32_t number)
{
    const struct lull_match_queue *queue = &share->queues.all[index];
    if (queue->holder == share->index) {
        take_question(share, index, number, (uint64_t)share->index << 32 | index);
        return;
    }
    struct letter *letter = lull_post(share, queue->holder, LETTER_ASK);
    if (!letter)
        return;
    letter->a = queue->port;
    letter->b = number;
    letter->c = index;
}

void lull_synchronous_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    if (letter->kind == LETTER_ANSWER)
        take_answer(share, letter->a, letter->b, letter->time);
    else
        take_question(share, share->ports[from].queues[letter->a], letter->b,
                      (uint64_t)from << 32 | letter->c);
}

/* Whether no receive of the message has been read. */
static bool is_unread(const struct share *share, uint32_t queue, uint32_t number)
{
    return (int32_t)(number - share->queues.all[queue].received) >= 0;
}

/* The first message that is asked for, with `all` false the first of them that is unread. */
static const struct lull_match_item *find_asked(const struct share *share, uint32_t queue, bool all)
{
    for (uint32_t at = share->handshakes[queue].asked; at != LULL_NONE;) {
        const struct lull_match_item *item =
            lull_match_item_at(&share->queues, sizeof(struct message), at);
        if (all || is_unread(share, queue, item->number))
            return item;
        at = item->next;
    }
    return NULL;
}

static void release_asked(struct share *share, uint32_t queue, bool all)
{
    const struct lull_match_item *item;
    while ((item = find_asked(share, queue, all))) {
        const uint32_t number = item->number;
        struct message asked;
        remove_item(share, &share->handshakes[queue].asked, number, &asked);
        tell_sender(share, (uint64_t)asked.sent, number, 0);
    }
}

bool lull_synchronous_asks(const struct lull_ideal *ideal, bool all)
{
    for (unsigned s = ideal->first_share; ideal->synchronous && s < ideal->end_share; s++) {
        const struct share *share = ideal->shares[s];
        for (uint32_t q = 0; q < share->queues.by_channel.count; q++)
            if (find_asked(share, q, all))
                return true;
    }
    return false;
}

/* Readers that get a letter wake, but evaluate nothing before all shares have been looked at. */
void lull_synchronous_release(struct lull_ideal *ideal, bool all)
{
    if (all) /* without epochs, others might have come to the begin of such a receive */
        lull_epochs_spoil(ideal);
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        pthread_mutex_lock(&ideal->shares[s]->evaluation);
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++) {
        struct share *share = ideal->shares[s];
        for (uint32_t q = 0; q < share->queues.by_channel.count; q++)
            release_asked(share, q, all);
        lull_post_flush(share);
    }
    for (unsigned s = ideal->first_share; s < ideal->end_share; s++)
        pthread_mutex_unlock(&ideal->shares[s]->evaluation);
}

/* ---- posts --------------------------------------------------------------------------------- */

/* NULL: there is no such post. */
static struct posting *find_posting(struct stream *stream, uint32_t post)
{
    size_t i = 0;
    while (i < stream->n_postings && stream->postings[i].post != post)
        i++;
    return i < stream->n_postings && post != LULL_NONE ? &stream->postings[i] : NULL;
}

static void remove_posting(struct stream *stream, struct posting *posting)
{
    *posting = stream->postings[--stream->n_postings];
}

void lull_synchronous_foresee(struct share *share, struct stream *stream, const struct note *note)
{
    if (!share->ideal->synchronous)
        return;
    if (note->kind == LULL_STEP_RECV_POST && note->ticket != LULL_NONE) {
        if (lull_array_reserve(&stream->postings, &stream->posting_capacity, stream->n_postings + 1,
                               sizeof *stream->postings))
            stream->postings[stream->n_postings++] =
                (struct posting){.time = -1, .post = note->ticket, .queue = LULL_NONE};
        else
            lull_share_no_memory(share);
        return;
    }
    struct posting *posting =
        note->kind == LULL_STEP_RECV ? find_posting(stream, note->ticket) : NULL;
    if (!posting || note->what == LULL_NONE)
        return;
    posting->queue = note->what;
    posting->number = note->number;
    if (posting->time >= 0)
        begin_receive(share, posting->queue, posting->number, posting->time);
}

void lull_synchronous_post(struct share *share, struct stream *stream, const struct note *note)
{
    struct posting *posting = find_posting(stream, note->ticket);
    if (!posting)
        return;
    posting->time = stream->time;
    if (posting->queue != LULL_NONE)
        begin_receive(share, posting->queue, posting->number, posting->time);
}

void lull_synchronous_receive(struct share *share, struct stream *stream, const struct note *note)
{
    if (!share->ideal->synchronous)
        return;
    struct posting *posting = find_posting(stream, note->ticket);
    if (posting)
        remove_posting(stream, posting);
    else
        begin_receive(share, note->what, note->number, stream->time);
}

void lull_synchronous_drop(struct stream *stream, uint32_t post)
{
    struct posting *posting = find_posting(stream, post);
    if (posting)
        remove_posting(stream, posting);
}

/* ==== reading of steps ======================================================================== */

/* A reader takes the share to add a channel to it; the reader of a crew holds it already. */
static void hold_share(struct share *share, const struct stream *stream)
{
    if (!stream->process->crew)
        pthread_mutex_lock(&share->evaluation);
}

static void let_go_share(struct share *share, const struct stream *stream)
{
    if (!stream->process->crew)
        pthread_mutex_unlock(&share->evaluation);
}

uint32_t lull_read_queue(struct share *share, struct stream *stream, uint32_t channel,
                         const struct lull_channels *channels)
{
    hold_share(share, stream);
    uint32_t *route = lull_match_route(&stream->routes, channel);
    uint32_t queue = LULL_NONE;
    if (route)
        queue = *route = lull_channel_queue(share, lull_channels_at(channels, channel));
    else
        lull_share_no_memory(share);
    let_go_share(share, stream);
    return queue;
}

uint32_t lull_read_post(struct share *share, struct stream *stream, uint64_t request)
{
    struct reading *reading = &stream->reading;
    if (request == LULL_NO_REQUEST)
        return LULL_NONE;
    if (!lull_array_reserve(&reading->open, &reading->open_capacity, reading->n_open + 1,
                            sizeof *reading->open)) {
        hold_share(share, stream);
        lull_share_no_memory(share);
        let_go_share(share, stream);
        return LULL_NONE;
    }
    reading->open[reading->n_open++] = (struct read_post){request, reading->n_posts};
    return reading->n_posts++;
}

uint32_t lull_read_completion(struct reading *reading, uint64_t request)
{
    for (size_t i = 0; i < reading->n_open && request != LULL_NO_REQUEST; i++)
        if (reading->open[i].request == request) {
            const uint32_t post = reading->open[i].post;
            reading->open[i] = reading->open[--reading->n_open];
            return post;
        }
    return LULL_NONE;
}

bool lull_read_leaves_records(struct reading *reading, uint8_t call)
{
    reading->lost_collective |= call == LULL_CALL_ICOLLECTIVE;
    return call == LULL_CALL_TEST ? reading->lost_collective : lull_call_leaves_operations(call);
}

bool lull_read_is_beyond(const struct share *share, const struct reading *reading,
                         const struct lull_step *step)
{
    int64_t to = share->ideal->to;
    return reading->in_call ? step->kind == LULL_STEP_CALL_END && step->time > to
                            : step->time >= to;
}

bool lull_read_gathers(const struct share *share, const struct note *note)
{
    bool begins = note->kind == LULL_STEP_COLLECTIVE_BEGIN;
    return begins == ((note->flags & NOTE_REQUEST) != 0) &&
           lull_circle_knows(share->ideal->trace, note->what, note->op) &&
           !lull_circle_is_alone(share->ideal->trace, note->what);
}

/* ==== evaluation of one thread ================================================================ */

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

/* A synchronous send that does not block is over: the call waits for it, unless the call gives its
 * request back (MPI_Request_free). */
static void end_synchronous(struct share *share, struct stream *stream, const struct note *note)
{
    size_t i = 0;
    while (i < stream->n_sends && stream->sends[i].request != note->value)
        i++;
    if (i == stream->n_sends)
        return;
    const struct pending pending = {.what = stream->sends[i].queue,
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
    struct lull_match_queue *queue = &share->queues.all[note->what];
    uint32_t number = stream->process->crew || stream->owner ? note->number : queue->sent++;
    if (note->flags & NOTE_SYNCHRONOUS && queue->holder != LULL_NONE)
        begin_synchronous(share, stream, note, number);
    if (queue->holder == share->index)
        lull_channel_put(share, note->what, number, stream->time, note->time);
    else if (queue->holder != LULL_NONE)
        lull_channel_post(share, queue, number, stream->time, note->time);
    else
        share->n_nobody++;
}

static bool take_awaited_message(struct share *share, const struct stream *stream,
                                 const struct pending *wanted, int64_t *ret_time)
{
    const struct lull_ideal_options *options = share->ideal->options;
    struct message message;
    if (!lull_match_take(&share->queues, sizeof message, wanted->what, wanted->number, &message))
        return false;
    lull_synchronous_taken(share, wanted->what, wanted->number);
    *ret_time = message.time;
    if (!options->message)
        return true;
    const struct lull_channel channel = lull_match_channel(&share->queues, wanted->what);
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

/* A message that is there already is taken at once. It is left for the end of the call if messages
 * are told to options->message, which is done there, or if a tail has to take its messages first.
 */
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
    uint32_t number = numbered ? note->number : share->queues.all[note->what].received++;
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
                                    .moves = (note->flags & NOTE_DATA),
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
    if (lull_circle_knows(share->ideal->trace, note->what, note->op) &&
        !lull_circle_is_alone(share->ideal->trace, note->what))
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
    if (!lull_circle_knows(share->ideal->trace, note->what, note->op))
        return; /* the call is left without a record, which is counted at its end */
    struct open_collective now = {.time = stream->time};
    int64_t time;
    if ((note->flags & NOTE_REQUEST) && !close_collective(stream, note->value, &now))
        return;
    if (lull_circle_is_alone(share->ideal->trace, note->what))
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

/* Whether the receive of a synchronous send has begun; else the stream is blocked. */
static bool has_begun(struct share *share, struct stream *stream, const struct pending *pending,
                      int64_t *ret_time)
{
    if (lull_synchronous_answer(share, pending->what, pending->number, ret_time))
        return true;
    struct handshake *handshake = &share->handshakes[pending->what];
    lull_stream_set(stream, ON_RECEIVE);
    stream->next_waiting = handshake->waiting;
    handshake->waiting = stream;
    return false;
}

static bool is_there(struct share *share, struct stream *stream, const struct pending *pending,
                     int64_t *ret_time)
{
    if (pending->is_send)
        return has_begun(share, stream, pending, ret_time);
    if (pending->comm == LULL_NONE) {
        if (stream->first_tail) { /* tails take their messages first; the last wakes the stream */
            lull_stream_set(stream, ON_MESSAGE);
            return false;
        }
        if (take_awaited_message(share, stream, pending, ret_time))
            return true;
        struct lull_match_queue *queue = &share->queues.all[pending->what];
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

/* Moves the time of the stream to when all that its call waits for is there. If something is not
 * there yet, the stream is blocked, and this is called again. */
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
    free(stream->routes.queues);
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
                numbered.number = share->queues.all[note->what].received++;
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

/* ==== lost calls ============================================================================== */

/* Calls that should have left records but did not. They are taken to wait for nothing, and their
 * time is counted. Receives whose completion a tracer does not record are guessed
 * (replay/program/lost.h). */

static struct losses *losses_of(struct share *share, struct stream *stream)
{
    if (!stream->losses)
        stream->losses = calloc(1, sizeof *stream->losses);
    if (!stream->losses)
        lull_share_no_memory(share);
    return stream->losses;
}

static void lose(struct share *share, struct stream *stream, const struct note *call)
{
    struct losses *losses = losses_of(share, stream);
    if (!losses)
        return;
    const struct lull_ideal *ideal = share->ideal;
    int64_t from = stream->stopped_at > ideal->from ? stream->stopped_at : ideal->from;
    int64_t to = call->time < ideal->to ? call->time : ideal->to;
    losses->ns[call->op] += to > from ? to - from : 0;
    losses->region[call->op] = call->what;
}

/* In a team, a member reads the whole run for that, also what others read in the pass. It reads a
 * silent copy of the trace, so that quirks are not counted twice. */
static lull_status create_lost(struct lull_ideal *ideal, struct lull_error *err)
{
    const struct lull_trace *trace = ideal->trace;
    if (ideal->mail && !ideal->silent)
        ideal->silent = lull_trace_silent_create(trace);
    if (ideal->mail && !ideal->silent)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    return lull_lost_create(ideal->mail ? ideal->silent : trace, ideal->reading->application,
                            &ideal->lost, err);
}

/* All threads share one list, made when the first needs it. NULL: a failure, which is noted. */
static struct lull_lost *open_lost(struct share *share)
{
    struct lull_ideal *ideal = share->ideal;
    struct lull_error err;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&ideal->lost_lock);
    if (!ideal->lost)
        status = create_lost(ideal, &err);
    struct lull_lost *lost = ideal->lost;
    pthread_mutex_unlock(&ideal->lost_lock);
    if (status != LULL_OK)
        lull_share_fail(share, status, &err);
    return status == LULL_OK ? lost : NULL;
}

static void receive_guessed(struct share *share, struct stream *stream, const struct note *call,
                            const struct lull_lost_send *send)
{
    static const char quirk[] =
        "non-blocking receives do not say what they received; what had been sent before their "
        "wait ended is taken";
    const struct lull_trace *trace = share->ideal->trace;
    const struct lull_channel channel = {send->source, stream->process->index,
                                         lull_comm_canonical(trace, send->comm), send->tag};
    uint32_t queue = lull_channel_queue(share, &channel);
    if (queue == LULL_NONE)
        return;
    const struct pending wanted = {.what = queue,
                                   .number = share->queues.all[queue].received++,
                                   .comm = LULL_NONE,
                                   .time = call->time,
                                   .bytes = send->bytes};
    lull_trace_add_quirk(&share->ideal->tally.trace, quirk, "rank %u at %.9g s",
                         trace->processes[stream->process->index].rank,
                         1e-9 * (double)stream->stopped_at);
    lull_ideal_stream_receive(share, stream, &wanted);
}

/* A wait of whose completions nothing was recorded, although receives are open. */
static void count_lost_receives(struct share *share, struct stream *stream, const struct note *call)
{
    const struct lull_lost_send *sends;
    if (share->ideal->most_epochs > 0) { /* a guess is told as a quirk, but could become void */
        lull_epochs_spoil(share->ideal);
        return;
    }
    struct lull_lost *lost = open_lost(share);
    if (!lost)
        return;
    uint64_t most = call->op == LULL_CALL_WAITALL ? stream->open_receives : 1;
    struct lull_lost_wait wait = {.process = stream->process->index,
                                  .epoch = stream->lost_epoch,
                                  .time = call->time,
                                  .most = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most};
    uint32_t count = lull_lost_take(lost, &wait, &sends);
    stream->open_receives -= call->op == LULL_CALL_WAITALL ? most : count;
    for (uint32_t i = 0; i < count && share->status == LULL_OK; i++)
        receive_guessed(share, stream, call, &sends[i]);
}

static void look_at_wait(struct share *share, struct stream *stream, const struct note *call)
{
    struct losses *losses = stream->losses;
    bool waits = call->op != LULL_CALL_TEST;
    if (losses && losses->open > 0) {
        lose(share, stream, call);
        if (waits)
            losses->open -= call->op == LULL_CALL_WAIT ? 1 : losses->open;
    }
    if (waits && stream->open_receives > 0)
        count_lost_receives(share, stream, call);
}

void lull_ideal_stream_look_for_lost(struct share *share, struct stream *stream,
                                     const struct note *call)
{
    struct losses *losses;
    switch (call->op) {
    case LULL_CALL_WAIT:
    case LULL_CALL_WAITALL:
    case LULL_CALL_TEST:
        look_at_wait(share, stream, call);
        return;
    case LULL_CALL_ICOLLECTIVE:
        losses = losses_of(share, stream);
        if (losses)
            losses->open++;
        lose(share, stream, call);
        return;
    case LULL_CALL_SEND:
    case LULL_CALL_SSEND:
    case LULL_CALL_BSEND:
    case LULL_CALL_RECV:
    case LULL_CALL_SENDRECV: /* if others of its form have records, it was with MPI_PROC_NULL: see
                                add_losses in ideal.c */
    case LULL_CALL_COLLECTIVE:
        lose(share, stream, call);
        return;
    default:
        return;
    }
}

/* ==== readers ================================================================================= */

/* Readers are the workers of the pass. A reader makes notes of what it reads at once, without
 * holding the share. If nobody else holds the share then, it evaluates its notes and the letters
 * for the share. Else it keeps its notes at hand and reads on, until it has MOST_AT_HAND of them.
 */

enum { MOST_AT_HAND = 1 << 12 }; /* notes */

struct reader *lull_reader_create(void)
{
    struct reader *reader = lull_alloc_apart(sizeof *reader);
    if (reader)
        pthread_cond_init(&reader->wake, NULL);
    return reader;
}

void lull_reader_destroy(struct reader *reader)
{
    if (!reader)
        return;
    pthread_cond_destroy(&reader->wake);
    free(reader->notes);
    free(reader->sheaves);
    free(reader);
}

/* ---- evaluation ---------------------------------------------------------------------------- */

void lull_reader_evaluate(struct reader *reader, struct share *share)
{
    lull_post_take(share);
    lull_share_run(share);
    if (share != reader->share)
        return;
    const struct note *notes = reader->notes;
    for (size_t i = 0; i < reader->n_sheaves; i++) {
        const struct sheaf *sheaf = &reader->sheaves[i];
        lull_ideal_stream_notes(share, sheaf->stream, notes, sheaf->count);
        lull_share_run(share);
        notes += sheaf->count;
    }
    reader->n_notes = reader->n_sheaves = 0;
}

/* Whether too many notes wait. A share that was full stays so until half of the bound is free;
 * otherwise readers would be woken for every step. */
static bool is_full(const struct share *share, bool was)
{
    size_t bound = atomic_load_explicit(&share->ideal->bound, memory_order_relaxed);
    return share->pool.queued >= (was ? bound / 2 + 1 : bound);
}

void lull_reader_let_go(struct reader *reader, struct share *share)
{
    bool was = atomic_load_explicit(&share->full, memory_order_relaxed);
    bool full = is_full(share, was);
    atomic_store(&share->full, full);
    pthread_mutex_unlock(&share->evaluation);
    if (!was && !full) /* nobody rests */
        return;
    for (unsigned r = 0; r < share->n_readers; r++) {
        struct reader *other = share->readers[r];
        if (!full)
            atomic_store(&other->hungry, true);
        if (other != reader && atomic_load(&other->hungry))
            lull_post_rouse(other, RESTING);
    }
}

lull_status lull_reader_failure(struct share *share, struct lull_error *err)
{
    return share->status == LULL_OK ? LULL_OK
                                    : lull_fail(err, share->status, "%s", share->error.text);
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Makes notes of the steps of a stream that is alone in its process. False: no memory. */
static bool read_notes(struct reader *reader, struct stream *stream, const struct lull_steps *steps)
{
    struct share *share = reader->share;
    size_t before = reader->n_notes;
    if (!lull_array_reserve(&reader->notes, &reader->note_capacity, before + steps->count,
                            sizeof *reader->notes) ||
        !lull_array_reserve(&reader->sheaves, &reader->sheaf_capacity, reader->n_sheaves + 1,
                            sizeof *reader->sheaves))
        return false;
    struct note *note = reader->notes + before;
    for (uint32_t i = 0; i < steps->count; i++)
        if (!lull_read_is_silent(share, stream, &steps->steps[i]))
            lull_read_note(share, stream, &steps->steps[i], steps->channels, note++);
    reader->n_notes = (size_t)(note - reader->notes);
    if (reader->n_notes > before)
        reader->sheaves[reader->n_sheaves++] =
            (struct sheaf){.stream = stream, .count = reader->n_notes - before};
    return true;
}

/* Takes share->evaluation; false: another reader has it, and this one does not wait for it. */
static bool take_share(struct share *share, bool waits)
{
    if (waits)
        pthread_mutex_lock(&share->evaluation);
    return waits || pthread_mutex_trylock(&share->evaluation) == 0;
}

/* NULL: no memory, which is noted. */
static struct stream *find_stream(struct share *share, uint32_t location)
{
    struct stream *stream = share->ideal->streams[location];
    if (stream)
        return stream;
    pthread_mutex_lock(&share->evaluation);
    stream = lull_share_stream(share, location);
    pthread_mutex_unlock(&share->evaluation);
    return stream;
}

lull_status lull_reader_steps(struct reader *reader, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct share *share = reader->share;
    struct stream *stream = find_stream(share, steps->location);
    const bool crew = stream && stream->process->crew;
    bool good = !stream || crew || !stream->calls || read_notes(reader, stream, steps);
    atomic_exchange(&reader->hungry, false); /* after this, whatever made it hungry is seen */
    if (!take_share(share, crew || !good || reader->n_notes >= MOST_AT_HAND))
        return LULL_OK;
    if (!good)
        lull_share_no_memory(share);
    lull_reader_evaluate(reader, share);
    if (crew) {
        lull_crew_steps(share, stream, steps);
        lull_share_run(share);
    }
    lull_post_flush_now_and_then(share);
    lull_status status = lull_reader_failure(share, err);
    lull_reader_let_go(reader, share);
    return status;
}
