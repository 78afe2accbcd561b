/* When receives were posted, for senders that wait for that. Message k of a channel is taken by
 * the receive that is told as the k-th: one that names its message when it is posted, others when
 * they are complete.
 *
 * Who waits needs what the receiver posted before this wait ended, so the receiver's stream must
 * have come so far. No circle arises: whoever blocks the receiver ended or sent before, as long as
 * clocks agree. Where they do not, two that wait for each other are told apart here, and longer
 * circles at the end of the run. */
#include "base/array.h"
#include "wait/shared/letters.h"

#include <stdlib.h>

enum post_state { POST_UNKNOWN, POST_NEEDED, POST_THERE, POST_DONE };

/* One message of a channel; number = first + place in the ring. */
struct wait_post {
    struct wait_cause posted;
    int64_t told; /* begin of the call that told it */
    uint8_t state;
};

/* NULL: no memory, which is noted; or the message is done with. */
static struct wait_post *find_post(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    struct lull_ring *ring = &waits->queues[queue].posts;
    if ((int32_t)(number - waits->queues[queue].first_post) < 0)
        return NULL;
    const uint32_t place = number - waits->queues[queue].first_post;
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

static void finish_post(struct lull_waits *waits, uint32_t queue, struct wait_post *post)
{
    struct lull_ring *ring = &waits->queues[queue].posts;
    if (post->state == POST_THERE)
        lull_wait_cause_drop(&post->posted);
    post->state = POST_DONE;
    while (ring->count > 0 &&
           ((struct wait_post *)lull_ring_at(ring, sizeof *post, 0))->state == POST_DONE) {
        lull_ring_pop(ring);
        waits->queues[queue].first_post++;
    }
}

void lull_wait_count_send(struct lull_waits *waits, uint32_t queue, bool waits_for_receive)
{
    struct wait_post *post = find_post(waits, queue, waits->queues[queue].n_sent++);
    if (post && !waits_for_receive)
        finish_post(waits, queue, post);
    else if (post && post->state == POST_UNKNOWN)
        post->state = POST_NEEDED;
}

/* What it waits for is known. Takes the references. */
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

/* Whether it is known when a receive was posted; then *ret_posted has it, and the message is done
 * with. */
static bool is_known(struct lull_waits *waits, const struct wait_watcher *watcher,
                     struct wait_cause *ret_posted)
{
    const uint32_t receiver = waits->queues[watcher->queue].target;
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

/* The one that waits for this message, if there is one, may go on. */
static void tell_watcher(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    struct wait_watcher **at = &waits->watchers[waits->queues[queue].target];
    while (*at && ((*at)->queue != queue || (*at)->number != number))
        at = &(*at)->next;
    struct wait_watcher *watcher = *at;
    struct wait_cause posted;
    if (!watcher || !is_known(waits, watcher, &posted))
        return;
    *at = watcher->next;
    answer(waits, watcher, &posted);
}

/* Those who may go on, do. `alone`: whoever sends from that process goes on without. */
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
    const uint32_t number = waits->queues[queue].n_posted++;
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

static bool is_blocked_by(const struct lull_waits *waits, const struct wait_stream *stream,
                          uint32_t process)
{
    if (!stream || !stream->blocked)
        return false;
    const struct wait_pending *pending = &stream->pending[stream->pending_at];
    const struct wait_queue *queue = &waits->queues[pending->what];
    return pending->is_message && queue->source == process && queue->first == LULL_NONE;
}

/* Whether it is known now what the watcher waits for; else it watches until it is. */
static bool watch(struct lull_waits *waits, struct wait_watcher *watcher,
                  struct wait_cause *ret_posted)
{
    const uint32_t receiver = waits->queues[watcher->queue].target;
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
    if (!stream->answered && lull_wait_is_far(waits, waits->queues[pending->what].target)) {
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
                                     .process = waits->queues[queue].source,
                                     .queue = queue,
                                     .number = number,
                                     .call_ends = call_ends};
    if (watch(waits, watcher, &posted))
        answer(waits, watcher, &posted);
}

void lull_wait_take_answer(struct lull_waits *waits, uint32_t queue, uint32_t number,
                           const struct wait_cause *posted)
{
    const uint32_t source = waits->queues[queue].source;
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
    if (lull_wait_is_far(waits, waits->queues[pending->what].target))
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

void lull_wait_posts_free(struct wait_queue *queue)
{
    for (uint32_t i = 0; i < queue->posts.count; i++) {
        struct wait_post *post = lull_ring_at(&queue->posts, sizeof *post, i);
        if (post->state == POST_THERE)
            lull_wait_cause_drop(&post->posted);
    }
    lull_ring_free(&queue->posts);
}
