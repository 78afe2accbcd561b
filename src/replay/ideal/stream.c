/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: the notes of a thread move its ideal time. Also the channels on which messages wait,
 * synchronous sends, and calls of which nothing was recorded. */
#include "replay/ideal/stream.h"

#include "base/array.h"
#include "replay/ideal/ahead.h"
#include "replay/ideal/crew.h"
#include "replay/ideal/epochs.h"
#include "replay/ideal/gather.h"
#include "replay/ideal/mail.h"
#include "replay/program/items.h"
#include "replay/program/lost.h"
#include "trace/trace.h"

/* ==== channels ================================================================================ */

/* Each location looks its channels up once: then the shares of the sender and of the receiver each
 * have a queue for the channel. Messages wait in that of the receiver. */

/* Tells the share of the receiver of a channel, before the first message, and gives it a port. */
static bool introduce_channel(struct share *share, struct lull_match_queue *queue,
                              const struct lull_channel *channel)
{
    struct letter *letter = lull_post(share, queue->holder, LETTER_CHANNEL);
    if (!letter)
        return false;
    queue->port = share->ports[queue->holder].given++;
    letter->a = queue->port;
    letter->b = channel->source;
    letter->c = channel->target;
    letter->time = channel->comm;
    letter->measured = channel->tag;
    return true;
}

static bool open_queue(struct share *share, uint32_t index, const struct lull_channel *channel)
{
    struct lull_match_queue *queue = &share->queues.all[index];
    const uint16_t holder = share->ideal->share_of[channel->target];
    queue->holder = holder == NOBODY ? LULL_NONE : holder;
    if (share->ideal->synchronous) {
        if (!lull_array_reserve(&share->handshakes, &share->handshake_capacity, index + (size_t)1,
                                sizeof *share->handshakes))
            return false;
        share->handshakes[index] = (struct handshake){LULL_NONE, LULL_NONE, LULL_NONE, NULL};
    }
    return holder == NOBODY || holder == share->index || introduce_channel(share, queue, channel);
}

/* The index of a queue, made if needed. LULL_NONE: no memory, which is noted. */
static uint32_t channel_queue(struct share *share, const struct lull_channel *channel)
{
    bool is_new;
    const uint32_t index = lull_match_queue_of(&share->queues, channel, &is_new);
    if (index != LULL_NONE && (!is_new || open_queue(share, index, channel)))
        return index;
    lull_share_no_memory(share);
    return LULL_NONE;
}

/* Posts a message of a stream to the holder of a queue; `sent`: measured. */
static void post_message(struct share *share, const struct lull_match_queue *queue, uint32_t number,
                         const struct stream *stream, int64_t sent)
{
    lull_post_path(share, queue->holder, stream->path);
    struct letter *letter = lull_post(share, queue->holder, LETTER_MESSAGE);
    if (!letter)
        return;
    letter->a = queue->port;
    letter->b = number;
    letter->time = stream->time;
    letter->measured = sent;
}

static void wake_receiver(struct share *share, uint32_t index, uint32_t number)
{
    struct lull_match_queue *queue = &share->queues.all[index];
    struct stream *before = NULL, *stream = queue->waiting;
    for (; stream && stream->pending[stream->pending_at].number != number;
         stream = stream->next_waiting)
        before = stream;
    if (!stream)
        return;
    if (before)
        before->next_waiting = stream->next_waiting;
    else
        queue->waiting = stream->next_waiting;
    lull_share_ready(share, stream);
}

/* A message of the queue `index` has been sent. */
static inline void put_message(struct share *share, uint32_t index, uint32_t number,
                               struct message sent)
{
    struct message *message = lull_match_put(&share->queues, sizeof *message, index, number);
    if (!message) {
        lull_share_no_memory(share);
        return;
    }
    *message = sent;
    if (share->queues.all[index].waiting)
        wake_receiver(share, index, number);
}

void lull_channel_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    struct lull_match_ports *ports = &share->ports[from];
    if (letter->kind == LETTER_MESSAGE) {
        put_message(
            share, ports->queues[letter->a], letter->b,
            (struct message){letter->time, letter->measured, lull_post_path_of(share, from)});
        return;
    }
    const struct lull_channel channel = {letter->b, letter->c, (uint32_t)letter->time,
                                         (int32_t)letter->measured};
    const uint32_t queue = channel_queue(share, &channel);
    if (queue == LULL_NONE || !lull_match_port_set(ports, letter->a, queue))
        lull_share_no_memory(share);
}

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

static void take_answer(struct share *share, uint32_t queue, uint32_t number, int64_t time,
                        uint32_t path)
{
    struct handshake *handshake = &share->handshakes[queue];
    add_to_list(share, &handshake->answers, number, (struct message){.time = time, .path = path});
    for (struct stream **at = &handshake->waiting; *at; at = &(*at)->next_waiting)
        if ((*at)->pending[(*at)->pending_at].number == number) {
            struct stream *stream = *at;
            *at = stream->next_waiting;
            lull_share_ready(share, stream);
            return;
        }
}

/* Whether the answer has come: when the receive began. The answer is forgotten then. */
static bool synchronous_answer(struct share *share, uint32_t queue, uint32_t number,
                               struct message *ret_answer)
{
    return remove_item(share, &share->handshakes[queue].answers, number, ret_answer);
}

/* ---- the receiver -------------------------------------------------------------------------- */

/* The caller holds `path` no more. */
static void tell_sender(struct share *share, uint64_t asker, uint32_t number, int64_t time,
                        uint32_t path)
{
    const uint32_t to = (uint32_t)(asker >> 32), queue = (uint32_t)asker;
    if (to == share->index) {
        take_answer(share, queue, number, time, path);
        return;
    }
    lull_post_path(share, to, path);
    lull_ideal_path_drop(share->paths, path);
    struct letter *letter = lull_post(share, to, LETTER_ANSWER);
    if (!letter)
        return;
    letter->a = queue;
    letter->b = number;
    letter->time = time;
}

static void begin_receive(struct share *share, uint32_t queue, uint32_t number, int64_t time,
                          uint32_t path)
{
    struct handshake *handshake = &share->handshakes[queue];
    struct message asked;
    const uint32_t held = lull_ideal_path_hold(share->paths, path);
    if (remove_item(share, &handshake->asked, number, &asked))
        tell_sender(share, (uint64_t)asked.sent, number, time, held);
    else
        add_to_list(share, &handshake->begun, number, (struct message){.time = time, .path = held});
}

static void take_question(struct share *share, uint32_t queue, uint32_t number, uint64_t asker)
{
    struct handshake *handshake = &share->handshakes[queue];
    struct message begun;
    if (remove_item(share, &handshake->begun, number, &begun))
        tell_sender(share, asker, number, begun.time, begun.path);
    else
        add_to_list(share, &handshake->asked, number, (struct message){.sent = (int64_t)asker});
}

/* Message `number` of a queue has been taken. */
static void synchronous_taken(struct share *share, uint32_t queue, uint32_t number)
{
    if (!share->ideal->synchronous)
        return;
    struct message begun; /* is in the list unless its sender has asked */
    if (remove_item(share, &share->handshakes[queue].begun, number, &begun))
        lull_ideal_path_drop(share->paths, begun.path);
}

/* A synchronous message is sent next: asks its receiver when the receive begins. */
static void synchronous_ask(struct share *share, uint32_t index, uint32_t number)
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
        take_answer(share, letter->a, letter->b, letter->time, lull_post_path_of(share, from));
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
        tell_sender(share, (uint64_t)asked.sent, number, 0, 0);
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

static void remove_posting(struct share *share, struct stream *stream, struct posting *posting)
{
    lull_ideal_path_drop(share->paths, posting->path);
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
        begin_receive(share, posting->queue, posting->number, posting->time, posting->path);
}

/* The thread comes to a post, to a receive of a message, and to a CANCEL or FREE of a post. */
static void synchronous_post(struct share *share, struct stream *stream, const struct note *note)
{
    struct posting *posting = find_posting(stream, note->ticket);
    if (!posting)
        return;
    posting->time = stream->time;
    lull_ideal_path_set(share->paths, &posting->path,
                        lull_ideal_path_hold(share->paths, stream->path));
    if (posting->queue != LULL_NONE)
        begin_receive(share, posting->queue, posting->number, posting->time, posting->path);
}

static void synchronous_receive(struct share *share, struct stream *stream, const struct note *note)
{
    if (!share->ideal->synchronous)
        return;
    struct posting *posting = find_posting(stream, note->ticket);
    if (posting)
        remove_posting(share, stream, posting);
    else
        begin_receive(share, note->what, note->number, stream->time, stream->path);
}

static void synchronous_drop(struct share *share, struct stream *stream, uint32_t post)
{
    struct posting *posting = find_posting(stream, post);
    if (posting)
        remove_posting(share, stream, posting);
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
        queue = *route = channel_queue(share, lull_channels_at(channels, channel));
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
    synchronous_ask(share, note->what, number);
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
        put_message(share, note->what, number,
                    (struct message){stream->time, note->time,
                                     lull_ideal_path_hold(share->paths, stream->path)});
    else if (queue->holder != LULL_NONE)
        post_message(share, queue, number, stream, note->time);
    else
        share->n_nobody++;
}

static bool take_awaited_message(struct share *share, const struct stream *stream,
                                 const struct pending *wanted, struct message *ret_message)
{
    const struct lull_ideal_options *options = share->ideal->options;
    struct message message;
    if (!lull_match_take(&share->queues, sizeof message, wanted->what, wanted->number, &message))
        return false;
    synchronous_taken(share, wanted->what, wanted->number);
    *ret_message = message;
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
static void take_or_await(struct share *share, struct stream *stream, const struct pending *wanted)
{
    struct message message;
    share->n_received++;
    if (share->ideal->options->message || stream->first_tail ||
        !take_awaited_message(share, stream, wanted, &message))
        add_pending(share, stream, wanted);
    else
        lull_ideal_path_later(share->paths, &stream->done, &stream->done_path, message.time,
                              message.path);
}

static void receive_message(struct share *share, struct stream *stream, const struct note *note)
{
    if ((note->flags & NOTE_REQUEST) && stream->open_receives > 0)
        stream->open_receives--;
    if (note->what == LULL_NONE)
        return;
    if (lull_note_says_called(share, stream, note))
        stream->call_began = note->called;
    bool numbered = stream->process->crew || stream->owner || share->ideal->synchronous;
    uint32_t number = numbered ? note->number : share->queues.all[note->what].received++;
    synchronous_receive(share, stream, note);
    const struct pending wanted = {.what = note->what,
                                   .number = number,
                                   .comm = LULL_NONE,
                                   .time = note->time,
                                   .bytes = note->value};
    take_or_await(share, stream, &wanted);
}

/* ---- collective operations ----------------------------------------------------------------- */

static bool arrive(struct share *share, struct stream *stream, const struct note *note,
                   int64_t time, uint32_t path, struct pending *ret_pending)
{
    const struct arrival arrival = {.comm = note->what,
                                    .op = note->op,
                                    .non_blocking = (note->flags & NOTE_REQUEST),
                                    .moves = (note->flags & NOTE_DATA),
                                    .root = (int32_t)note->number,
                                    .in_call = !(note->flags & NOTE_WAITS),
                                    .ticket = note->ticket,
                                    .time = time,
                                    .measured = note->time,
                                    .path = path};
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
    *open = (struct open_collective){.request = note->value,
                                     .time = stream->time,
                                     .path = lull_ideal_path_hold(share->paths, stream->path)};
    if (lull_circle_knows(share->ideal->trace, note->what, note->op) &&
        !lull_circle_is_alone(share->ideal->trace, note->what))
        open->arrived = arrive(share, stream, note, stream->time, stream->path, &open->pending);
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
    uint32_t path;
    const bool closes = note->flags & NOTE_REQUEST;
    if (closes && !close_collective(stream, note->value, &now))
        return;
    if (!lull_circle_is_alone(share->ideal->trace, note->what) &&
        (now.arrived ||
         arrive(share, stream, note, now.time, closes ? now.path : stream->path, &now.pending))) {
        if (!lull_gather_leave(share, &now.pending, &time, &path))
            add_pending(share, stream, &now.pending);
        else
            lull_ideal_path_later(share->paths, &stream->done, &stream->done_path, time, path);
    }
    lull_ideal_path_drop(share->paths, now.path);
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
                      struct message *ret_begun)
{
    if (synchronous_answer(share, pending->what, pending->number, ret_begun))
        return true;
    struct handshake *handshake = &share->handshakes[pending->what];
    lull_stream_set(stream, ON_RECEIVE);
    stream->next_waiting = handshake->waiting;
    handshake->waiting = stream;
    return false;
}

/* Whether what the stream waits for is there: at which time, with its path, which the caller holds then. */
static bool is_there(struct share *share, struct stream *stream, const struct pending *pending,
                     struct message *ret_there)
{
    if (pending->is_send)
        return has_begun(share, stream, pending, ret_there);
    if (pending->comm == LULL_NONE) {
        if (stream->first_tail) { /* tails take their messages first; the last wakes the stream */
            lull_stream_set(stream, ON_MESSAGE);
            return false;
        }
        if (take_awaited_message(share, stream, pending, ret_there))
            return true;
        struct lull_match_queue *queue = &share->queues.all[pending->what];
        lull_stream_set(stream, ON_MESSAGE);
        stream->next_waiting = queue->waiting;
        queue->waiting = stream;
        return false;
    }
    if (lull_gather_leave(share, pending, &ret_there->time, &ret_there->path))
        return true;
    lull_stream_set(stream, ON_GATHERING);
    lull_gather_wait(share, stream, pending);
    return false;
}

/* The path has come from another thread. */
static void count_change(struct share *share, struct stream *stream)
{
    const struct lull_ideal_options *options = share->ideal->options;
    if (share->paths && options->n_sites > 0)
        lull_ideal_path_add(
            share->paths, &stream->path,
            options->n_parts + (stream->call == LULL_NONE ? 0 : options->site_of[stream->call]), 1);
}

/* Moves the time of the stream to when all that its call waits for is there. If something is not
 * there yet, the stream is blocked, and this is called again. */
static void wait_for_all(struct share *share, struct stream *stream)
{
    for (struct message there; stream->pending_at < stream->n_pending; stream->pending_at++) {
        if (!is_there(share, stream, &stream->pending[stream->pending_at], &there))
            return;
        lull_ideal_path_later(share->paths, &stream->done, &stream->done_path, there.time,
                              there.path);
    }
    stream->pending_at = stream->n_pending = 0;
    if (stream->done > stream->time && lull_epoch_is_later(share, stream, stream->done))
        lull_epochs_spoil(share->ideal);
    if (lull_ideal_path_later(share->paths, &stream->time, &stream->path, stream->done,
                              stream->done_path))
        count_change(share, stream);
    stream->done = 0;
    stream->done_path = 0;
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
    if (ideal->mailbox && !ideal->silent)
        ideal->silent = lull_trace_silent_create(trace);
    if (ideal->mailbox && !ideal->silent)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    return lull_lost_create(ideal->mailbox ? ideal->silent : trace, ideal->reading->application,
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
    uint32_t queue = channel_queue(share, &channel);
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
    take_or_await(share, stream, &wanted);
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

/* At the end of a call of which nothing was recorded: notes what should have been. */
static void look_for_lost(struct share *share, struct stream *stream, const struct note *call)
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
                                add_losses in result.c */
    case LULL_CALL_COLLECTIVE:
        lose(share, stream, call);
        return;
    default:
        return;
    }
}

/* ==== notes =================================================================================== */

static void end_noted_call(struct share *share, struct stream *stream, const struct note *note)
{
    stream->stopped_at = (int64_t)note->value;
    stream->call = note->what;
    if (!stream->tells_calls)
        stream->call_began = stream->stopped_at;
    stream->waits_for_sends = note->flags & NOTE_SENDS;
    lull_epoch_leave(share, stream);
    if (note->flags & NOTE_LOST)
        look_for_lost(share, stream, note);
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
        synchronous_drop(share, stream, note->ticket);
        return;
    default: /* RECV_POST */
        synchronous_post(share, stream, note);
        return;
    }
}

void lull_ideal_stream_take(struct share *share, struct stream *stream, const struct note *note)
{
    stream->open_receives += note->posts;
    if (note->flags & NOTE_MOVES)
        lull_ideal_stream_move(share, stream, note->kept);
    switch (note->kind) {
    case LULL_STEP_USER:
        stream->to_come[note->what] += (int64_t)note->value;
        return;
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
        lull_share_end_stream(stream);
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
            stream->call = LULL_NONE;
            wait_for_all(share, stream);
        }
    }
}

/* ---- a stream that is alone in its process ------------------------------------------------- */

void lull_ideal_stream_notes(struct share *share, struct stream *stream, const struct note *notes,
                             size_t count)
{
    const bool foresees = share->ideal->synchronous;
    const bool looks_ahead = share->ideal->most_epochs > 0 && !foresees;
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
        if (looks_ahead)
            lull_ahead_look(share, stream, note, is_first);
    }
}

void lull_ideal_stream_wake(struct share *share, struct stream *stream)
{
    const unsigned char blocked = stream->blocked;
    lull_stream_set(stream, RUNNABLE);
    if (blocked == ON_LIFE)
        lull_lives_take(share, stream, &stream->waited);
    else if (blocked != ON_THREADS)
        wait_for_all(share, stream);
}

void lull_ideal_stream_go_on(struct share *share, struct stream *stream)
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
