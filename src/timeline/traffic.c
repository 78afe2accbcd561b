/* Messages as they come: sums per channel of a leaf, which become the traffic between processes
 * when the leaf has ended, and notes of single messages while there are not too many. */
#include "timeline/builder.h"

#include "base/array.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

enum { SENT, RECEIVED };

bool lull_timeline_mail_create(struct lull_timeline_mail *mail, unsigned workers)
{
    mail->workers = workers;
    mail->posts = calloc(mail->timeline->n_leaves + (size_t)1, sizeof *mail->posts);
    mail->totals = calloc(workers, sizeof *mail->totals);
    mail->has_lock = pthread_mutex_init(&mail->lock, NULL) == 0;
    for (unsigned w = 0; mail->totals && w < workers; w++)
        if (!(mail->totals[w] = lull_alloc_apart(sizeof **mail->totals)))
            return false;
    return mail->posts && mail->totals && mail->has_lock;
}

static void release_post(struct lull_timeline_post *post)
{
    for (int side = SENT; side <= RECEIVED; side++) {
        free(post->links[side]);
        free(post->notes[side].items);
    }
    free(post->channels);
    free(post->arrivals);
    *post = (struct lull_timeline_post){0};
}

void lull_timeline_mail_release(struct lull_timeline_mail *mail)
{
    for (uint32_t l = 0; mail->posts && l < mail->timeline->n_leaves; l++)
        release_post(&mail->posts[l]);
    for (unsigned w = 0; mail->totals && w < mail->workers; w++)
        free(mail->totals[w]);
    free(mail->posts);
    free(mail->totals);
    free(mail->traffic);
    lull_hash_free(&mail->pairs);
    if (mail->has_lock)
        pthread_mutex_destroy(&mail->lock);
}

/* ---- messages ------------------------------------------------------------------------------ */

/* What begins at the very end of a run belongs to a window that reaches so far. */
static bool is_inside(const struct lull_timeline_mail *mail, uint32_t leaf, int64_t time)
{
    if (!mail->windows)
        return true;
    const struct lull_trace *trace = mail->timeline->trace;
    const uint32_t process = trace->locations[mail->timeline->leaves[leaf].location].process;
    const struct lull_interval *windows = mail->windows->intervals[process];
    uint32_t low = 0, high = mail->windows->counts[process]; /* the first that ends behind it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const int64_t end = windows[middle].end;
        if (end > time || (end == time && end == trace->duration))
            high = middle;
        else
            low = middle + 1;
    }
    return low < mail->windows->counts[process] && windows[low].begin <= time;
}

static struct lull_timeline_link *link_of(struct lull_timeline_post *post, int side,
                                          uint32_t channel)
{
    if (!lull_array_reserve(&post->links[side], &post->capacity[side], channel + (size_t)1,
                            sizeof *post->links[side]))
        return NULL;
    for (; post->n_links[side] <= channel; post->n_links[side]++)
        post->links[side][post->n_links[side]] = (struct lull_timeline_link){0};
    return &post->links[side][channel];
}

static unsigned size_class(uint64_t bytes)
{
    return bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);
}

/* In the order in which they came; those of the leaf are given up when there are too many of all.
 */
static bool note_message(struct lull_timeline_mail *mail, struct lull_timeline_post *post, int side,
                         const struct lull_timeline_note *note)
{
    struct lull_timeline_notes *notes = &post->notes[side];
    if (atomic_load_explicit(&mail->over, memory_order_relaxed)) {
        if (notes->items) {
            free(notes->items);
            *notes = (struct lull_timeline_notes){0};
        }
        return true;
    }
    if (atomic_fetch_add_explicit(&mail->count, 1, memory_order_relaxed) >= 2 * mail->most)
        atomic_store_explicit(&mail->over, true, memory_order_relaxed);
    if (!lull_array_reserve(&notes->items, &notes->capacity, notes->count + 1,
                            sizeof *notes->items))
        return false;
    notes->items[notes->count++] = *note;
    return true;
}

static bool note_arrival(struct lull_timeline_post *post, const struct lull_step *step)
{
    if (!lull_array_reserve(&post->arrivals, &post->arrivals_capacity, post->n_arrivals + 1,
                            sizeof *post->arrivals))
        return false;
    post->arrivals[post->n_arrivals++] = (struct lull_timeline_arrival){step->time, step->channel};
    return true;
}

bool lull_timeline_mail_message(struct lull_timeline_mail *mail, unsigned worker, uint32_t leaf,
                                const struct lull_step *step)
{
    const int side = step->kind == LULL_STEP_SEND ? SENT : RECEIVED;
    if (step->message.peer == LULL_PROC_NULL)
        return true;
    const bool inside = is_inside(mail, leaf, step->time);
    if (inside) {
        struct lull_timeline_totals *totals = mail->totals[worker];
        const unsigned size = size_class(step->message.bytes);
        totals->count[side]++;
        totals->bytes[side] += step->message.bytes;
        if (side == SENT)
            totals->sizes[size < LULL_TIMELINE_SIZES ? size : LULL_TIMELINE_SIZES - 1]++;
    }
    if (step->channel == LULL_NONE)
        return true;
    struct lull_timeline_post *post = &mail->posts[leaf];
    struct lull_timeline_link *link = link_of(post, side, step->channel);
    if (!link)
        return false;
    const struct lull_timeline_note note = {step->time, step->message.bytes, link->before++,
                                            step->channel};
    if (!inside)
        return true;
    link->count++;
    link->bytes += step->message.bytes;
    return note_message(mail, post, side, &note) && (side == SENT || note_arrival(post, step));
}

void lull_timeline_mail_span(struct lull_timeline_mail *mail, uint32_t leaf,
                             const struct lull_step *span)
{
    struct lull_timeline_post *post = &mail->posts[leaf];
    const bool waits = span->activity >= LULL_MPI_P2P && span->activity <= LULL_MPI_OTHER;
    int64_t since = span->time;
    for (size_t i = 0; waits && i < post->n_arrivals; i++) {
        const struct lull_timeline_arrival *arrival = &post->arrivals[i];
        if (arrival->time <= since || arrival->time > span->span.end)
            continue;
        post->links[RECEIVED][arrival->channel].wait_ns += arrival->time - since;
        since = arrival->time;
    }
    post->n_arrivals = 0;
}

/* ---- the end of a leaf --------------------------------------------------------------------- */

static struct lull_timeline_traffic *traffic_of(struct lull_timeline_mail *mail, uint32_t source,
                                                uint32_t target)
{
    const uint32_t key[2] = {source, target};
    bool is_new;
    uint64_t *index = lull_hash_add(&mail->pairs, key, sizeof key, mail->n_traffic, &is_new);
    if (!index)
        return NULL;
    if (!is_new)
        return &mail->traffic[*index];
    if (!lull_array_reserve(&mail->traffic, &mail->traffic_capacity, mail->n_traffic + 1,
                            sizeof *mail->traffic))
        return NULL;
    mail->traffic[mail->n_traffic] =
        (struct lull_timeline_traffic){.source = source, .target = target};
    return &mail->traffic[mail->n_traffic++];
}

static bool add_link(struct lull_timeline_mail *mail, const struct lull_channel *channel, int side,
                     const struct lull_timeline_link *link)
{
    const uint32_t source = mail->layout->party_of[channel->source];
    const uint32_t target = mail->layout->party_of[channel->target];
    if (link->count == 0 || source == LULL_NONE || target == LULL_NONE)
        return true;
    struct lull_timeline_traffic *traffic = traffic_of(mail, source, target);
    if (!traffic)
        return false;
    if (side == SENT) {
        traffic->sent += link->count;
        traffic->sent_bytes += link->bytes;
    } else {
        traffic->received += link->count;
        traffic->received_bytes += link->bytes;
        traffic->wait_ns += link->wait_ns;
    }
    return true;
}

static bool copy_channels(struct lull_timeline_post *post, const struct lull_channels *channels)
{
    const uint32_t n = lull_channels_count(channels);
    if (post->notes[SENT].count + post->notes[RECEIVED].count == 0)
        return true;
    post->n_channels = n;
    post->channels = malloc((n + (size_t)1) * sizeof *post->channels);
    for (uint32_t c = 0; post->channels && c < n; c++)
        post->channels[c] = *lull_channels_at(channels, c);
    return post->channels != NULL;
}

bool lull_timeline_mail_end(struct lull_timeline_mail *mail, uint32_t leaf,
                            const struct lull_channels *channels)
{
    struct lull_timeline_post *post = &mail->posts[leaf];
    bool good = true;
    if (!post->links[SENT] && !post->links[RECEIVED])
        return true;
    pthread_mutex_lock(&mail->lock);
    for (int side = SENT; side <= RECEIVED; side++)
        for (uint32_t c = 0; good && c < post->n_links[side]; c++)
            good = add_link(mail, lull_channels_at(channels, c), side, &post->links[side][c]);
    pthread_mutex_unlock(&mail->lock);
    if (atomic_load_explicit(&mail->over, memory_order_relaxed)) {
        release_post(post);
        return good;
    }
    for (int side = SENT; side <= RECEIVED; side++) {
        free(post->links[side]);
        post->links[side] = NULL;
    }
    return good && copy_channels(post, channels);
}

/* ---- from member to member ----------------------------------------------------------------- */

bool lull_timeline_mail_put_leaf(const struct lull_timeline_mail *mail, uint32_t leaf,
                                 bool all_messages, struct lull_flow *flow)
{
    const struct lull_timeline_post *post = &mail->posts[leaf];
    bool good = true;
    for (int side = SENT; all_messages && good && side <= RECEIVED; side++)
        good = lull_flow_put_items(flow, post->notes[side].items, post->notes[side].count,
                                   sizeof *post->notes[side].items);
    return good && (!all_messages || lull_flow_put_items(flow, post->channels, post->n_channels,
                                                         sizeof *post->channels));
}

bool lull_timeline_mail_get_leaf(struct lull_timeline_mail *mail, uint32_t leaf, bool all_messages,
                                 struct lull_flow *flow)
{
    struct lull_timeline_post *post = &mail->posts[leaf];
    size_t n = 0;
    for (int side = SENT; all_messages && side <= RECEIVED; side++) {
        struct lull_timeline_notes *notes = &post->notes[side];
        notes->items = lull_flow_get_items(flow, sizeof *notes->items, &notes->count);
        if (!notes->items)
            return false;
    }
    if (all_messages)
        post->channels = lull_flow_get_items(flow, sizeof *post->channels, &n);
    post->n_channels = (uint32_t)n;
    return !all_messages || post->channels;
}

static void add_totals(struct lull_timeline_totals *sum, const struct lull_timeline_totals *part)
{
    for (unsigned i = 0; i < LULL_TIMELINE_SIZES; i++)
        sum->sizes[i] += part->sizes[i];
    for (int side = SENT; side <= RECEIVED; side++) {
        sum->count[side] += part->count[side];
        sum->bytes[side] += part->bytes[side];
    }
}

bool lull_timeline_mail_put(const struct lull_timeline_mail *mail, struct lull_flow *flow)
{
    struct lull_timeline_totals totals = {0};
    for (unsigned w = 0; w < mail->workers; w++)
        add_totals(&totals, mail->totals[w]);
    return lull_flow_put(flow, &totals, sizeof totals) &&
           lull_flow_put_items(flow, mail->traffic, mail->n_traffic, sizeof *mail->traffic);
}

bool lull_timeline_mail_get(struct lull_timeline_mail *mail, struct lull_flow *flow)
{
    struct lull_timeline_totals totals;
    size_t n;
    if (!lull_flow_get(flow, &totals, sizeof totals))
        return false;
    add_totals(mail->totals[0], &totals);
    struct lull_timeline_traffic *parts = lull_flow_get_items(flow, sizeof *parts, &n);
    bool good = parts != NULL;
    for (size_t i = 0; good && i < n; i++) {
        const struct lull_timeline_traffic *part = &parts[i];
        struct lull_timeline_traffic *traffic = traffic_of(mail, part->source, part->target);
        good = traffic != NULL;
        if (good) {
            traffic->sent += part->sent;
            traffic->sent_bytes += part->sent_bytes;
            traffic->received += part->received;
            traffic->received_bytes += part->received_bytes;
            traffic->wait_ns += part->wait_ns;
        }
    }
    free(parts);
    return good;
}

/* ---- behind the pass ----------------------------------------------------------------------- */

static int compare_traffic(const void *a, const void *b)
{
    const struct lull_timeline_traffic *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

lull_status lull_timeline_mail_conclude(struct lull_timeline_mail *mail,
                                        struct lull_timeline *timeline, struct lull_arena *arena,
                                        struct lull_error *err)
{
    struct lull_timeline_totals totals = {0};
    for (unsigned w = 0; w < mail->workers; w++)
        add_totals(&totals, mail->totals[w]);
    memcpy(timeline->sizes, totals.sizes, sizeof totals.sizes);
    timeline->sent = totals.count[SENT];
    timeline->sent_bytes = totals.bytes[SENT];
    timeline->received = totals.count[RECEIVED];
    timeline->received_bytes = totals.bytes[RECEIVED];
    if (mail->n_traffic)
        qsort(mail->traffic, mail->n_traffic, sizeof *mail->traffic, compare_traffic);
    timeline->traffic = mail->traffic;
    timeline->n_traffic = mail->n_traffic;
    timeline->n_messages =
        timeline->sent > timeline->received ? timeline->sent : timeline->received;
    timeline->all_messages = !atomic_load(&mail->over);
    if (!timeline->all_messages)
        return LULL_OK;
    return lull_timeline_match(mail, timeline, arena, err);
}
