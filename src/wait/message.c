/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: which are sent and not received yet, and when their receives were posted. */
#include "activity/channel.h"
#include "base/array.h"
#include "wait/letters.h"

#include <stdlib.h>

/* ==== post ==================================================================================== */

/* When receives were posted, for senders that wait for that. Message k of a channel is taken by the
 * k-th receive that the trace tells for the channel: a receive that names its message is told when
 * it is posted, any other when it is complete.
 *
 * A sender that waits needs what the receiver posted before the wait ended, so the receiver's
 * stream must have come that far. As long as clocks agree, this makes no circle of streams that
 * wait for each other: the process that blocks the receiver ended its call or sent before. Where
 * clocks do not agree, two processes that wait for each other are recognised here, and longer
 * circles at the end of the run. */

/* UNKNOWN: neither the message nor the receive has been seen. NEEDED: the sender of the message
 * waits for the receive. THERE: the receive was posted. DONE: nobody needs the post any more. */
enum post_state { POST_UNKNOWN, POST_NEEDED, POST_THERE, POST_DONE };

/* The receive of one message of a channel. Element i of the ring has the number first_post + i. */
struct wait_post {
    struct wait_cause posted;
    int64_t told; /* begin of the call in which the trace tells which message it takes */
    uint8_t state;
};

/* The post of a message, which is made if it does not exist. NULL: the message is done with; or
 * there is no memory, which is noted. */
static struct wait_post *find_post(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    struct lull_ring *ring = &waits->channels[queue].posts;
    if ((int32_t)(number - waits->channels[queue].first_post) < 0)
        return NULL;
    const uint32_t place = number - waits->channels[queue].first_post;
    while (ring->count <= place) {
        struct wait_post *added = lull_ring_push(ring, sizeof(struct wait_post));
        if (!added) {
            waits->no_memory = true;
            return NULL;
        }
        *added = (struct wait_post){.state = POST_UNKNOWN};
    }
    return lull_ring_at(ring, sizeof(struct wait_post), place);
}

/* Nobody needs a post any more. */
static void finish_post(struct lull_waits *waits, uint32_t queue, struct wait_post *post)
{
    struct lull_ring *ring = &waits->channels[queue].posts;
    if (post->state == POST_THERE)
        lull_wait_cause_drop(&post->posted);
    post->state = POST_DONE;
    while (ring->count > 0 &&
           ((struct wait_post *)lull_ring_at(ring, sizeof *post, 0))->state == POST_DONE) {
        lull_ring_pop(ring);
        waits->channels[queue].first_post++;
    }
}

void lull_wait_count_send(struct lull_waits *waits, uint32_t queue, bool waits_for_receive)
{
    struct wait_post *post = find_post(waits, queue, waits->queues.all[queue].sent++);
    if (post && !waits_for_receive)
        finish_post(waits, queue, post);
    else if (post && post->state == POST_UNKNOWN)
        post->state = POST_NEEDED;
}

/* It is known what a watcher waits for. Takes the references of `posted`. */
static void answer(struct lull_waits *waits, struct wait_watcher *watcher,
                   const struct wait_cause *posted)
{
    struct wait_cause dropped = *posted;
    if (!watcher->stream) {
        lull_wait_post_answer(waits, watcher, posted);
        lull_wait_cause_drop(&dropped);
        free(watcher);
        return;
    }
    watcher->stream->answered = true;
    watcher->stream->answer = *posted;
    lull_wait_ready(waits, watcher->stream);
}

/* Whether it is known when the receive was posted that a watcher waits for. If so, *ret_posted has
 * it, and the message is done with. */
static bool is_known(struct lull_waits *waits, const struct wait_watcher *watcher,
                     struct wait_cause *ret_posted)
{
    const uint32_t receiver = waits->channels[watcher->queue].target;
    struct wait_post *post = find_post(waits, watcher->queue, watcher->number);
    *ret_posted = (struct wait_cause){.time = -1};
    if (!post)
        return true;
    if (post->state != POST_THERE && waits->reached[receiver] <= watcher->call_ends &&
        !watcher->alone)
        return false;
    if (post->state == POST_THERE && post->told <= watcher->call_ends)
        *ret_posted = lull_wait_cause_keep(&post->posted);
    finish_post(waits, watcher->queue, post);
    return true;
}

/* If a watcher waits for the receive of this message, and the post is known, the watcher's stream
 * goes on. */
static void tell_watcher(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    struct wait_watcher **at = &waits->watchers[waits->channels[queue].target];
    while (*at && ((*at)->queue != queue || (*at)->number != number))
        at = &(*at)->next;
    struct wait_watcher *watcher = *at;
    struct wait_cause posted;
    if (!watcher || !is_known(waits, watcher, &posted))
        return;
    *at = watcher->next;
    answer(waits, watcher, &posted);
}

/* Lets the watchers of a receiver go on whose posts are known. A watcher whose sender is the
 * process `alone` goes on in any case; LULL_NONE: there is no such process. */
static void recheck_watchers(struct lull_waits *waits, uint32_t receiver, uint32_t alone)
{
    struct wait_watcher **at = &waits->watchers[receiver];
    while (*at) {
        struct wait_watcher *watcher = *at;
        struct wait_cause posted;
        watcher->alone |= watcher->process == alone;
        if (is_known(waits, watcher, &posted)) {
            *at = watcher->next;
            answer(waits, watcher, &posted);
        } else {
            at = &watcher->next;
        }
    }
}

void lull_wait_tell_post(struct lull_waits *waits, uint32_t queue, const struct wait_cause *posted,
                         int64_t told)
{
    const uint32_t number = waits->channels[queue].n_posted++;
    struct wait_post *post = find_post(waits, queue, number);
    struct wait_cause dropped = *posted;
    if (!post || post->state == POST_DONE) {
        lull_wait_cause_drop(&dropped);
        return;
    }
    post->posted = *posted;
    post->told = told;
    post->state = POST_THERE;
    tell_watcher(waits, queue, number);
}

/* ---- who watches whom ---------------------------------------------------------------------- */

/* Whether a stream waits for a message of a process, and none has come. */
static bool is_blocked_by(const struct lull_waits *waits, const struct wait_stream *stream,
                          uint32_t process)
{
    if (!stream || !stream->blocked)
        return false;
    const struct wait_pending *pending = &stream->pending[stream->pending_at];
    return pending->is_message && waits->channels[pending->what].source == process &&
           waits->queues.all[pending->what].first == LULL_NONE;
}

/* Whether it is known now what a watcher waits for; else it joins the watchers of the receiver. */
static bool watch(struct lull_waits *waits, struct wait_watcher *watcher,
                  struct wait_cause *ret_posted)
{
    const uint32_t receiver = waits->channels[watcher->queue].target;
    const uint32_t master = waits->trace->processes[receiver].first_location;
    watcher->alone = is_blocked_by(waits, waits->streams[master], watcher->process);
    if (is_known(waits, watcher, ret_posted))
        return true;
    watcher->next = waits->watchers[receiver];
    waits->watchers[receiver] = watcher;
    return false;
}

bool lull_wait_is_posted(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_pending *pending, struct wait_cause *ret_posted)
{
    if (!stream->answered && lull_wait_is_far(waits, waits->channels[pending->what].target)) {
        lull_wait_post_watch(waits, pending->what, pending->number, stream->call_ends);
        return false;
    }
    if (!stream->answered) {
        stream->watcher = (struct wait_watcher){.stream = stream,
                                                .process = stream->process,
                                                .queue = pending->what,
                                                .number = pending->number,
                                                .call_ends = stream->call_ends};
        return watch(waits, &stream->watcher, ret_posted);
    }
    *ret_posted = stream->answer;
    stream->answer = (struct wait_cause){.time = -1};
    stream->answered = false;
    return true;
}

void lull_wait_reach(struct lull_waits *waits, uint32_t process, int64_t time)
{
    waits->reached[process] = time;
    if (waits->watchers[process])
        recheck_watchers(waits, process, LULL_NONE);
}

void lull_wait_blocked_by(struct lull_waits *waits, uint32_t process, uint32_t source)
{
    if (waits->watchers[process])
        recheck_watchers(waits, process, source);
}

void lull_wait_watch_from(struct lull_waits *waits, uint32_t member, uint32_t far_queue,
                          uint32_t queue, uint32_t number, int64_t call_ends)
{
    struct wait_watcher *watcher = malloc(sizeof *watcher);
    struct wait_cause posted;
    if (!watcher) {
        waits->no_memory = true;
        return;
    }
    *watcher = (struct wait_watcher){.member = member,
                                     .far_queue = far_queue,
                                     .process = waits->channels[queue].source,
                                     .queue = queue,
                                     .number = number,
                                     .call_ends = call_ends};
    if (watch(waits, watcher, &posted))
        answer(waits, watcher, &posted);
}

void lull_wait_take_answer(struct lull_waits *waits, uint32_t queue, uint32_t number,
                           const struct wait_cause *posted)
{
    const uint32_t source = waits->channels[queue].source;
    struct wait_stream *stream = waits->streams[waits->trace->processes[source].first_location];
    struct wait_cause dropped = *posted;
    const struct wait_pending *pending =
        stream && stream->blocked ? &stream->pending[stream->pending_at] : NULL;
    if (!pending || !pending->is_post || pending->what != queue || pending->number != number ||
        stream->answered) {
        lull_wait_cause_drop(&dropped);
        return;
    }
    stream->watcher.stream = stream;
    answer(waits, &stream->watcher, posted);
}

void lull_wait_post_is_done(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    struct wait_post *post = find_post(waits, queue, number);
    if (post)
        finish_post(waits, queue, post);
}

void lull_wait_give_up(struct lull_waits *waits, struct wait_stream *stream)
{
    const struct wait_pending *pending = &stream->pending[stream->pending_at];
    const struct wait_cause nothing = {.time = -1};
    if (lull_wait_is_far(waits, waits->channels[pending->what].target))
        lull_wait_post_give_up(waits, pending->what, pending->number);
    else
        lull_wait_post_is_done(waits, pending->what, pending->number);
    stream->watcher.stream = stream;
    answer(waits, &stream->watcher, &nothing);
}

void lull_wait_unwatch_all(struct lull_waits *waits)
{
    for (uint32_t p = 0; p < waits->trace->n_processes; p++)
        for (struct wait_watcher *watcher = waits->watchers[p]; watcher;) {
            struct wait_watcher *next = watcher->next;
            if (!watcher->stream)
                free(watcher);
            waits->watchers[p] = watcher = next;
        }
}

void lull_wait_posts_free(struct wait_channel *channel)
{
    for (uint32_t i = 0; i < channel->posts.count; i++) {
        struct wait_post *post = lull_ring_at(&channel->posts, sizeof *post, i);
        if (post->state == POST_THERE)
            lull_wait_cause_drop(&post->posted);
    }
    lull_ring_free(&channel->posts);
}

/* ==== mail ==================================================================================== */

/* Messages that are sent and not received. Message k of a channel belongs to receive k: messages
 * come in this order, or are numbered (lanes in stream.c). */

static_assert(sizeof(struct wait_cause) % 8 == 0, "messages carry it");

uint32_t lull_wait_queue(struct lull_waits *waits, const struct lull_channel *channel)
{
    const size_t count = waits->queues.by_channel.count;
    uint32_t index = LULL_NONE;
    bool is_new = false;
    if (lull_array_reserve(&waits->channels, &waits->channel_capacity, count + 1,
                           sizeof *waits->channels))
        index = lull_match_queue_of(&waits->queues, channel, &is_new);
    if (index == LULL_NONE)
        waits->no_memory = true;
    if (is_new) {
        waits->channels[index] =
            (struct wait_channel){.source = channel->source,
                                  .target = channel->target,
                                  .next_of_source = waits->queues_of[channel->source]};
        waits->queues_of[channel->source] = index;
        if (lull_wait_is_far(waits, channel->target))
            lull_wait_post_queue(waits, index, channel);
    }
    return index;
}

void lull_wait_wake_queue(struct lull_waits *waits, uint32_t index)
{
    struct lull_match_queue *queue = &waits->queues.all[index];
    while (queue->waiting) {
        struct wait_stream *waiting = queue->waiting;
        queue->waiting = waiting->next_waiting;
        lull_wait_ready(waits, waiting);
    }
}

static void put_message(struct lull_waits *waits, uint32_t index, uint32_t number,
                        const struct wait_cause *sent)
{
    struct wait_cause *room = lull_match_put(&waits->queues, sizeof *room, index, number);
    struct wait_cause dropped = *sent;
    if (!room) {
        waits->no_memory = true;
        lull_wait_cause_drop(&dropped);
        return;
    }
    *room = *sent;
    lull_wait_wake_queue(waits, index);
}

void lull_wait_deliver(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       bool waits_for_receive, const struct wait_cause *sent)
{
    put_message(waits, queue, number, sent);
    if (waits->follows_posts)
        lull_wait_count_send(waits, queue, waits_for_receive);
}

bool lull_wait_receive(struct lull_waits *waits, uint32_t index, uint32_t number,
                       struct wait_cause *ret_sent)
{
    return lull_match_take(&waits->queues, sizeof *ret_sent, index, number, ret_sent);
}

void lull_wait_mail_free(struct lull_waits *waits)
{
    const size_t size = sizeof(struct wait_cause);
    for (size_t q = 0; q < waits->queues.by_channel.count; q++) {
        lull_wait_posts_free(&waits->channels[q]);
        for (uint32_t at = waits->queues.all[q].first; at != LULL_NONE;) {
            struct lull_match_item *item = lull_match_item_at(&waits->queues, size, at);
            lull_wait_cause_drop(lull_match_carried(item));
            at = item->next;
        }
    }
    lull_match_queues_free(&waits->queues);
    free(waits->channels);
}

/* ==== message ================================================================================= */

/* ---- routes -------------------------------------------------------------------------------- */

static void find_route(struct lull_waits *waits, struct wait_stream *stream,
                       const struct lull_channels *channels, uint32_t index)
{
    uint32_t *route = lull_match_route(&stream->routes, index);
    if (!route) {
        waits->no_memory = true;
        return;
    }
    const struct lull_channel *channel = lull_channels_at(channels, index);
    const struct lull_process *processes = waits->trace->processes;
    const uint32_t application = waits->reading->application;
    *route = processes[channel->source].application == application &&
                     processes[channel->target].application == application
                 ? lull_wait_queue(waits, channel)
                 : WAIT_NOBODY;
}

/* Puts the queue of the message that a posted receive takes into its note; LULL_NONE: the receive
 * does not say which message it takes. */
static void name_queue(struct lull_waits *waits, const struct wait_stream *stream,
                       struct wait_note *note)
{
    const struct lull_trace *trace = waits->trace;
    const bool named = note->root >= 0 && (uint32_t)note->root < trace->n_processes &&
                       note->tag != LULL_ANY && note->comm < trace->n_comms &&
                       trace->processes[note->root].application == waits->reading->application;
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
            if (channel != LULL_NONE && lull_match_route_of(&stream->routes, channel) == LULL_NONE)
                find_route(waits, stream, channels, channel);
        } else if (kind == NOTE_POST) {
            name_queue(waits, stream, &notes[i]);
        }
    }
}

/* ---- sends --------------------------------------------------------------------------------- */

/* The call of a send waits for the receive of its message; for a send with a request, the call that
 * completes it. */
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

/* Sends a message to a process that another member of the team reads. Takes the references of
 * `sent`. */
static void post_message(struct lull_waits *waits, uint32_t queue, uint32_t number,
                         bool waits_for_receive, const struct wait_cause *sent)
{
    struct wait_cause dropped = *sent;
    lull_wait_post_message(waits, queue, number, waits_for_receive, sent);
    if (waits->follows_posts)
        waits->queues.all[queue].sent++;
    lull_wait_cause_drop(&dropped);
}

static void send_message(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_note *note)
{
    lull_wait_tell_until(stream, note->time);
    const uint32_t queue = lull_wait_queue_of_note(stream, note);
    if (queue == LULL_NONE)
        return;
    const struct wait_cause sent = lull_wait_make_cause(waits, stream, note->time);
    if (!sent.late.snapshot)
        return;
    const bool waits_for_it =
        waits->follows_posts &&
        lull_wait_may_wait(note, stream->in_call ? stream->call_kind : LULL_CALL_OTHER);
    const uint32_t number = waits->queues.all[queue].sent;
    if (lull_wait_is_far(waits, waits->channels[queue].target))
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

/* The post of a receive that blocks: it was posted at the begin of the call. */
static struct wait_cause post_of_call(struct lull_waits *waits, struct wait_stream *stream)
{
    struct wait_cause posted = lull_wait_make_cause(waits, stream, stream->call_began);
    posted.late.in_mpi -= stream->told - stream->call_began;
    return posted;
}

/* A receive is complete, so it is known now which message it took; if its post was not told before,
 * it is told now. */
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
    const uint32_t queue = lull_wait_queue_of_note(stream, note);
    const struct wait_pending pending = {
        .what = queue, .number = note->number, .kind = LULL_WAIT_LATE_SENDER, .is_message = true};
    if (queue == LULL_NONE) {
        stream->unmatched = true;
        return;
    }
    lull_wait_need(waits, stream, &pending);
    if (waits->follows_posts)
        tell_receive(waits, stream, note, queue);
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
