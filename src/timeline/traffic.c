/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages as they come: sums per channel of a leaf, which become the traffic between processes
 * when the leaf has ended, and notes of single messages while there are not too many. */
#include "base/array.h"
#include "base/parallel.h"
#include "base/sorted.h"
#include "timeline/builder.h"

#include <stdlib.h>
#include <string.h>

/* ==== match =================================================================================== */

/* Notes of sending and of receiving become messages: the n-th one of a channel is the same. */

/* One side of a message. */
struct side {
    uint32_t channel; /* number of all leaves */
    uint32_t leaf;
    uint64_t number, bytes;
    int64_t time;
    int32_t tag;
};

/* One side of all channels. */
struct sides {
    struct side *items;
    size_t count;
    uint32_t *only; /* [channel]: the leaf that has it + 1; LULL_NONE: several */
    uint32_t n_only;
    size_t only_capacity;
};

static int compare_by_time(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if ((x->number == LULL_TIMELINE_GAP) != (y->number == LULL_TIMELINE_GAP))
        return x->number == LULL_TIMELINE_GAP ? -1 : 1; /* it lies before its time */
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_by_number(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel < y->channel ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_messages(const void *a, const void *b)
{
    const struct lull_timeline_message *x = a, *y = b;
    if (x->sent != y->sent)
        return x->sent < y->sent ? -1 : 1;
    if (x->sender != y->sender)
        return x->sender < y->sender ? -1 : 1;
    if (x->received != y->received)
        return x->received < y->received ? -1 : 1;
    if (x->receiver != y->receiver)
        return x->receiver < y->receiver ? -1 : 1;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static bool own_channel(struct sides *sides, uint32_t channel, uint32_t leaf)
{
    if (!lull_array_reserve(&sides->only, &sides->only_capacity, channel + (size_t)1,
                            sizeof *sides->only))
        return false;
    for (; sides->n_only <= channel; sides->n_only++)
        sides->only[sides->n_only] = 0;
    uint32_t *only = &sides->only[channel];
    *only = *only == 0 || *only == leaf + 1 ? leaf + 1 : LULL_NONE;
    return true;
}

/* The numbers of a leaf's channels among those of all leaves, as they are needed. */
struct numbering {
    struct lull_hash *of_all;
    const struct lull_channel *channels;
    uint32_t *known; /* number + 1; 0: not yet */
};

/* LULL_NONE: no memory. */
static uint32_t number_of(const struct numbering *numbering, uint32_t channel)
{
    struct lull_hash *of_all = numbering->of_all;
    uint32_t *known = &numbering->known[channel];
    if (*known > 0)
        return *known - 1;
    const uint64_t *number = lull_hash_add(of_all, &numbering->channels[channel],
                                           sizeof *numbering->channels, of_all->count, NULL);
    if (!number)
        return LULL_NONE;
    *known = (uint32_t)*number + 1;
    return (uint32_t)*number;
}

static bool gather_leaf(const struct lull_timeline_post *post, uint32_t leaf, int which,
                        struct lull_hash *numbers, struct sides *sides)
{
    struct numbering numbering = {numbers, post->channels, NULL};
    const struct lull_timeline_notes *notes = &post->notes[which];
    bool good = true;
    if (notes->count == 0)
        return true;
    numbering.known = calloc(post->n_channels + (size_t)1, sizeof *numbering.known);
    for (size_t i = 0; numbering.known && good && i < notes->count; i++) {
        const struct lull_timeline_note *note = &notes->items[i];
        const uint32_t number = number_of(&numbering, note->channel);
        good = number != LULL_NONE && own_channel(sides, number, leaf);
        sides->items[sides->count++] = (struct side){
            number, leaf, note->number, note->bytes, note->time, post->channels[note->channel].tag};
    }
    good = good && numbering.known;
    free(numbering.known);
    return good;
}

static bool gather(const struct lull_timeline_mail *mail, int which, struct lull_hash *numbers,
                   struct sides *sides)
{
    size_t total = 0;
    const uint32_t n_leaves = mail->timeline->n_leaves;
    for (uint32_t l = 0; l < n_leaves; l++)
        total += mail->posts[l].notes[which].count;
    sides->items = malloc((total + 1) * sizeof *sides->items);
    bool good = sides->items != NULL;
    for (uint32_t l = 0; good && l < n_leaves; l++)
        good = gather_leaf(&mail->posts[l], l, which, numbers, sides);
    return good;
}

/* By channel, and otherwise as they were gathered. */
static bool group_by_channel(struct sides *sides)
{
    size_t *next = calloc(sides->n_only + (size_t)2, sizeof *next);
    struct side *grouped = malloc((sides->count + 1) * sizeof *grouped);
    for (size_t i = 0; next && grouped && i < sides->count; i++)
        next[sides->items[i].channel + 1]++;
    for (uint32_t c = 0; next && grouped && c < sides->n_only; c++)
        next[c + 1] += next[c];
    for (size_t i = 0; next && grouped && i < sides->count; i++)
        grouped[next[sides->items[i].channel]++] = sides->items[i];
    const bool good = next && grouped;
    if (good) {
        free(sides->items);
        sides->items = grouped;
    } else {
        free(grouped);
    }
    free(next);
    return good;
}

static bool is_in_order(const struct side *sides, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (sides[i - 1].number > sides[i].number)
            return false;
    return true;
}

/* The messages of a channel that several threads use, numbered by time, without its gaps. Returns how
 * many there are. */
static size_t number_by_time(struct side *sides, size_t count)
{
    uint64_t number = 0;
    size_t kept = 0;
    qsort(sides, count, sizeof *sides, compare_by_time);
    for (size_t i = 0; i < count; i++) {
        if (sides[i].number == LULL_TIMELINE_GAP) {
            number += sides[i].bytes;
            continue;
        }
        sides[kept] = sides[i];
        sides[kept++].number = number++;
    }
    return kept;
}

/* The same of a channel that one thread uses, which has numbered its messages itself. */
static size_t order_by_number(struct side *sides, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (sides[i].number != LULL_TIMELINE_GAP)
            sides[kept++] = sides[i];
    if (!is_in_order(sides, kept))
        qsort(sides, kept, sizeof *sides, compare_by_number);
    return kept;
}

/* By channel and number. */
static bool order_sides(struct sides *sides)
{
    if (!group_by_channel(sides))
        return false;
    size_t end, kept = 0;
    for (size_t begin = 0; begin < sides->count; begin = end) {
        struct side *first = &sides->items[begin];
        for (end = begin; end < sides->count && sides->items[end].channel == first->channel;)
            end++;
        const size_t n = sides->only[first->channel] == LULL_NONE
                             ? number_by_time(first, end - begin)
                             : order_by_number(first, end - begin);
        memmove(&sides->items[kept], first, n * sizeof *first);
        kept += n;
    }
    sides->count = kept;
    return true;
}

static void join_sides(const struct sides *sent, const struct sides *received,
                       struct lull_timeline *timeline, struct lull_arena *arena)
{
    const size_t most = sent->count < received->count ? sent->count : received->count;
    timeline->messages = lull_arena_alloc(arena, (most + 1) * sizeof *timeline->messages);
    for (size_t s = 0, r = 0; s < sent->count && r < received->count;) {
        const struct side *from = &sent->items[s], *to = &received->items[r];
        int order = compare_by_number(from, to);
        if (order == 0)
            timeline->messages[timeline->n_kept_messages++] = (struct lull_timeline_message){
                from->time, to->time, from->leaf, to->leaf, from->bytes, from->tag};
        s += order <= 0;
        r += order >= 0;
    }
    timeline->unmatched = sent->count + received->count - 2 * timeline->n_kept_messages;
    qsort(timeline->messages, timeline->n_kept_messages, sizeof *timeline->messages,
          compare_messages);
}

lull_status lull_timeline_match(const struct lull_timeline_mail *mail,
                                struct lull_timeline *timeline, struct lull_arena *arena,
                                struct lull_error *err)
{
    struct lull_hash numbers = {0};
    struct sides sides[2] = {0};
    bool good = gather(mail, 0, &numbers, &sides[0]) && gather(mail, 1, &numbers, &sides[1]);
    good = good && order_sides(&sides[0]) && order_sides(&sides[1]);
    if (good)
        join_sides(&sides[0], &sides[1], timeline, arena);
    for (int i = 0; i < 2; i++) {
        free(sides[i].items);
        free(sides[i].only);
    }
    lull_hash_free(&numbers);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its messages",
                            timeline->trace->path);
}

/* ==== traffic ================================================================================= */

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

/* Whether a time lies in a window of the leaf's process. *ret_begin: when the first window begins that
 * does not end before that time; INT64_MAX: no window is left; INT64_MIN: the whole run is one
 * window. A message at the very end of a run belongs to a window that reaches so far. */
static bool is_inside(const struct lull_timeline_mail *mail, uint32_t leaf, int64_t time,
                      int64_t *ret_begin)
{
    *ret_begin = INT64_MIN;
    if (!mail->windows)
        return true;
    const struct lull_trace *trace = mail->timeline->trace;
    const uint32_t process = trace->locations[mail->timeline->leaves[leaf].location].process;
    const struct lull_interval *windows = mail->windows->intervals[process];
    const uint32_t n = mail->windows->counts[process];
    const size_t first = lull_sorted_first_i64(
        windows, n, sizeof *windows, offsetof(struct lull_interval, end),
        time == trace->duration ? time : time + 1); /* the first that ends behind it */
    *ret_begin = first < n ? windows[first].begin : INT64_MAX;
    return *ret_begin <= time;
}

static bool has_threads(const struct lull_timeline_mail *mail, uint32_t leaf)
{
    const struct lull_trace *trace = mail->timeline->trace;
    const uint32_t process = trace->locations[mail->timeline->leaves[leaf].location].process;
    return trace->processes[process].n_threads > 1;
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

/* A message before the window that begins at `begin`, of a process with several threads. */
static bool note_gap(struct lull_timeline_mail *mail, struct lull_timeline_post *post, int side,
                     struct lull_timeline_link *link, int64_t begin, uint32_t channel)
{
    struct lull_timeline_notes *notes = &post->notes[side];
    if (link->gap > 0 && link->gap <= notes->count && notes->items[link->gap - 1].time == begin) {
        notes->items[link->gap - 1].bytes++;
        return true;
    }
    const struct lull_timeline_note gap = {begin, 1, LULL_TIMELINE_GAP, channel};
    const bool good = note_message(mail, post, side, &gap);
    link->gap = notes->count;
    return good;
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
    int64_t begin;
    const bool inside = is_inside(mail, leaf, step->time, &begin);
    struct lull_timeline_totals *totals = mail->totals[worker];
    if (step->message.bytes > totals->sums[side].largest)
        totals->sums[side].largest = step->message.bytes;
    if (inside) {
        const unsigned size = size_class(step->message.bytes);
        totals->sums[side].count++;
        totals->sums[side].bytes += step->message.bytes;
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
        return begin == INT64_MAX || !has_threads(mail, leaf) ||
               note_gap(mail, post, side, link, begin, step->channel);
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
        sum->sums[side].count += part->sums[side].count;
        sum->sums[side].bytes += part->sums[side].bytes;
        if (part->sums[side].largest > sum->sums[side].largest)
            sum->sums[side].largest = part->sums[side].largest;
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
    timeline->sent = totals.sums[SENT].count;
    timeline->sent_bytes = totals.sums[SENT].bytes;
    timeline->received = totals.sums[RECEIVED].count;
    timeline->received_bytes =
        lull_received_bytes(timeline->trace, &totals.sums[SENT], &totals.sums[RECEIVED]);
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
