/* When receives were posted, for senders that wait for that. Message k of a channel is taken by
 * the receive that is told as the k-th: one that names its message when it is posted, others when
 * they are complete.
 *
 * Who waits needs what the receiver posted before this wait ended, so the receiver's stream must
 * have come so far. No circle arises: whoever blocks the receiver ended or sent before, as long as
 * clocks agree. Where they do not, two that wait for each other are told apart here, and longer
 * circles at the end of the run. */
#include "base/array.h"
#include "wait/share.h"

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

uint32_t lull_wait_count_send(struct lull_waits *waits, uint32_t queue, bool waits_for_receive)
{
    const uint32_t number = waits->queues[queue].n_sent++;
    struct wait_post *post = find_post(waits, queue, number);
    if (post && !waits_for_receive)
        finish_post(waits, queue, post);
    else if (post && post->state == POST_UNKNOWN)
        post->state = POST_NEEDED;
    return number;
}

static void wake_sender(struct lull_waits *waits, uint32_t queue, uint32_t number)
{
    struct wait_stream **at = &waits->watchers[waits->queues[queue].target];
    for (; *at; at = &(*at)->next_waiting) {
        struct wait_stream *watcher = *at;
        const struct wait_pending *pending = &watcher->pending[watcher->pending_at];
        if (pending->what != queue || pending->number != number)
            continue;
        *at = watcher->next_waiting;
        lull_wait_ready(waits, watcher);
        return;
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
    wake_sender(waits, queue, number);
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

bool lull_wait_is_posted(struct lull_waits *waits, struct wait_stream *stream,
                         const struct wait_pending *pending, struct wait_cause *ret_posted)
{
    const uint32_t receiver = waits->queues[pending->what].target;
    struct wait_post *post = find_post(waits, pending->what, pending->number);
    *ret_posted = (struct wait_cause){.time = -1};
    if (!post)
        return true;
    if (post->state != POST_THERE && waits->reached[receiver] <= stream->call_ends &&
        !stream->alone &&
        !is_blocked_by(waits, waits->streams[waits->trace->processes[receiver].first_location],
                       stream->process)) {
        stream->next_waiting = waits->watchers[receiver];
        waits->watchers[receiver] = stream;
        return false;
    }
    if (post->state == POST_THERE && post->told <= stream->call_ends)
        *ret_posted = lull_wait_cause_keep(&post->posted);
    finish_post(waits, pending->what, post);
    return true;
}

/* Those who may go on; `alone`: whoever sends from that process goes on without. */
static void wake_watchers(struct lull_waits *waits, uint32_t receiver, uint32_t alone)
{
    struct wait_stream **at = &waits->watchers[receiver];
    while (*at) {
        struct wait_stream *watcher = *at;
        if (watcher->call_ends >= waits->reached[receiver] && watcher->process != alone) {
            at = &watcher->next_waiting;
            continue;
        }
        watcher->alone = watcher->process == alone;
        *at = watcher->next_waiting;
        lull_wait_ready(waits, watcher);
    }
}

void lull_wait_reach(struct lull_waits *waits, uint32_t process, int64_t time)
{
    waits->reached[process] = time;
    if (waits->watchers[process])
        wake_watchers(waits, process, LULL_NONE);
}

void lull_wait_blocked_by(struct lull_waits *waits, uint32_t process, uint32_t source)
{
    if (waits->watchers[process])
        wake_watchers(waits, process, source);
}

void lull_wait_unwatch(struct lull_waits *waits, const struct wait_pending *pending)
{
    const uint32_t receiver = waits->queues[pending->what].target;
    for (struct wait_stream *at = waits->watchers[receiver]; at; at = at->next_waiting)
        at->alone = true;
    while (waits->watchers[receiver]) {
        struct wait_stream *watcher = waits->watchers[receiver];
        waits->watchers[receiver] = watcher->next_waiting;
        lull_wait_ready(waits, watcher);
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
