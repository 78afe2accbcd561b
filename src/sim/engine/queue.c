/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/engine/queue.h"

#include "base/array.h"
#include "sim/engine/large.h"

#include <stdlib.h>
#include <string.h>

/* A bucket of so few entries is sorted at once instead of being distributed further. */
enum { SORTED_AT_ONCE = 64, SLAB_CHUNKS = 512, MOST_RADIX_PIECES = 1 << 16 };

void lull_queue_open(struct lull_queue *queue, int64_t window)
{
    memset(queue, 0, sizeof *queue);
    if (window > 1) /* rounded up: windows are not wider than that */
        queue->scale = UINT64_MAX / (uint64_t)window + 1;
}

/* Slabs begin small, so that small simulations stay small. */
static size_t slab_chunks(size_t slab)
{
    return slab < 4 ? (size_t)SLAB_CHUNKS / 16 : SLAB_CHUNKS;
}

static void free_entries(const struct lull_entries *entries)
{
    lull_large_free(entries->entries, entries->capacity * sizeof *entries->entries);
}

void lull_queue_close(struct lull_queue *queue)
{
    for (size_t i = 0; i < queue->n_slabs; i++)
        lull_large_free(queue->slabs[i], slab_chunks(i) * sizeof(struct lull_chunk));
    free(queue->slabs);
    free_entries(&queue->run);
    free_entries(&queue->side);
    free_entries(&queue->scratch);
    free(queue->counts);
    memset(queue, 0, sizeof *queue);
}

/* --- chunks -------------------------------------------------------------------------------- */

static bool new_slab(struct lull_queue *queue)
{
    if (!lull_array_reserve(&queue->slabs, &queue->slab_room, queue->n_slabs + 1,
                            sizeof *queue->slabs))
        return false;
    size_t n = slab_chunks(queue->n_slabs);
    struct lull_chunk *chunks = lull_large_alloc(n * sizeof *chunks);
    if (!chunks)
        return false;
    queue->slabs[queue->n_slabs++] = chunks;
    for (size_t i = n; i-- > 0;) {
        chunks[i].next = queue->unused;
        queue->unused = &chunks[i];
    }
    return true;
}

bool lull_queue_chunk(struct lull_queue *queue, struct lull_bucket *bucket)
{
    if (!queue->unused && !new_slab(queue)) {
        queue->out_of_memory = true;
        return false;
    }
    struct lull_chunk *chunk = queue->unused;
    queue->unused = chunk->next;
    chunk->next = NULL;
    chunk->count = 0;
    if (bucket->last)
        bucket->last->next = chunk;
    else
        bucket->first = chunk;
    bucket->last = chunk;
    return true;
}

static void drop_first(struct lull_queue *queue, struct lull_bucket *bucket)
{
    struct lull_chunk *chunk = bucket->first;
    bucket->first = chunk->next;
    if (!bucket->first)
        bucket->last = NULL;
    bucket->count -= chunk->count;
    chunk->next = queue->unused;
    queue->unused = chunk;
}

/* --- what comes before the end of the run -------------------------------------------------- */

static bool reserve_entries(struct lull_queue *queue, struct lull_entries *entries, size_t capacity)
{
    if (capacity <= entries->capacity)
        return true;
    struct lull_entry *more =
        lull_large_grow(entries->entries, entries->capacity * sizeof *entries->entries,
                        capacity * sizeof *entries->entries);
    if (!more) {
        queue->out_of_memory = true;
        return false;
    }
    entries->entries = more;
    entries->capacity = capacity;
    return true;
}

bool lull_queue_run_push(struct lull_queue *queue, const struct lull_entry *entry)
{
    struct lull_entries *run = &queue->run;
    if (queue->run_at == run->count)
        queue->run_at = run->count = 0;
    if (run->count == run->capacity &&
        !reserve_entries(queue, run, run->capacity ? 2 * run->capacity : 64))
        return false;
    run->entries[run->count++] = *entry;
    return true;
}

void lull_queue_side_push(struct lull_queue *queue, const struct lull_entry *entry)
{
    struct lull_entries *side = &queue->side;
    if (side->count == side->capacity &&
        !reserve_entries(queue, side, side->capacity ? 2 * side->capacity : 64))
        return;
    size_t at = side->count++;
    for (; at > 0 && lull_queue_less(queue, entry, &side->entries[(at - 1) / 2]); at = (at - 1) / 2)
        side->entries[at] = side->entries[(at - 1) / 2];
    side->entries[at] = *entry;
}

void lull_queue_side_pop(struct lull_queue *queue, struct lull_entry *ret_entry)
{
    struct lull_entries *side = &queue->side;
    struct lull_entry *heap = side->entries;
    *ret_entry = heap[0];
    size_t count = --side->count, at = 0;
    struct lull_entry moved = heap[count];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && lull_queue_less(queue, &heap[child + 1], &heap[child]))
            child++;
        if (!lull_queue_less(queue, &heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void insertion_sort(const struct lull_queue *queue, struct lull_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (!lull_queue_less(queue, &entries[i], &entries[i - 1]))
            continue;
        struct lull_entry entry = entries[i];
        size_t at = i;
        for (; at > 0 && lull_queue_less(queue, &entry, &entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

/* End of the sorted piece that begins at `from`. */
static size_t piece_end(const struct lull_queue *queue, const struct lull_entry *entries,
                        size_t from, size_t count)
{
    size_t end = from + 1;
    while (end < count && lull_queue_less(queue, &entries[end - 1], &entries[end]))
        end++;
    return end;
}

static void merge(const struct lull_queue *queue, const struct lull_entry *a, size_t n_a,
                  const struct lull_entry *b, size_t n_b, struct lull_entry *out)
{
    size_t i = 0, k = 0;
    while (i < n_a && k < n_b)
        *out++ = lull_queue_less(queue, &b[k], &a[i]) ? b[k++] : a[i++];
    memcpy(out, a + i, (n_a - i) * sizeof *out);
    memcpy(out + (n_a - i), b + k, (n_b - k) * sizeof *out);
}

/* Merges sorted pieces in pairs until one is left: entries often come in long sorted pieces.
 * `scratch` has room for as many. */
static void merge_sort(const struct lull_queue *queue, struct lull_entry *entries, size_t count,
                       struct lull_entry *scratch)
{
    struct lull_entry *in = entries, *out = scratch;
    while (piece_end(queue, in, 0, count) < count) {
        for (size_t at = 0; at < count;) {
            size_t middle = piece_end(queue, in, at, count);
            size_t end = middle < count ? piece_end(queue, in, middle, count) : middle;
            merge(queue, in + at, middle - at, in + middle, end - middle, out + at);
            at = end;
        }
        struct lull_entry *swap = in;
        in = out;
        out = swap;
    }
    if (in != entries)
        memcpy(entries, in, count * sizeof *entries);
}

static void sort(struct lull_queue *queue, struct lull_entry *entries, size_t count)
{
    if (count <= SORTED_AT_ONCE)
        insertion_sort(queue, entries, count);
    else if (piece_end(queue, entries, 0, count) < count &&
             reserve_entries(queue, &queue->scratch, count))
        merge_sort(queue, entries, count, queue->scratch.entries);
}

/* --- from buckets to the run --------------------------------------------------------------- */

/* Where ranks go before they are sorted: pieces of equal width, about as many as entries. */
struct spread {
    uint32_t least;
    unsigned shift;
    size_t n;
};

static struct spread spread_of(const struct lull_bucket *bucket)
{
    struct spread spread = {.least = UINT32_MAX};
    uint32_t most = 0;
    for (const struct lull_chunk *chunk = bucket->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; i++) {
            uint32_t rank = chunk->entries[i].rank;
            spread.least = rank < spread.least ? rank : spread.least;
            most = rank > most ? rank : most;
        }
    size_t wanted = bucket->count < MOST_RADIX_PIECES ? bucket->count : (size_t)MOST_RADIX_PIECES;
    while ((most - spread.least) >> spread.shift >= wanted)
        spread.shift++;
    spread.n = ((most - spread.least) >> spread.shift) + (size_t)1;
    return spread;
}

/* Sorts by rank first: entries are dealt out to pieces, which are small mostly. */
static void deal_out(struct lull_queue *queue, const struct lull_bucket *bucket)
{
    struct spread spread = spread_of(bucket);
    uint32_t *counts = queue->counts;
    struct lull_entry *run = queue->run.entries;
    memset(counts, 0, (spread.n + 1) * sizeof *counts);
    for (const struct lull_chunk *chunk = bucket->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; i++)
            counts[((chunk->entries[i].rank - spread.least) >> spread.shift) + 1]++;
    for (size_t i = 0; i < spread.n; i++)
        counts[i + 1] += counts[i];
    for (const struct lull_chunk *chunk = bucket->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; i++)
            run[counts[(chunk->entries[i].rank - spread.least) >> spread.shift]++] =
                chunk->entries[i];
    for (size_t i = 0, begin = 0; i < spread.n; begin = counts[i++])
        if (counts[i] - begin > 1)
            sort(queue, run + begin, counts[i] - begin);
}

/* The bucket becomes the run. */
static bool take_bucket(struct lull_queue *queue, struct lull_bucket *bucket)
{
    size_t count = bucket->count, n = 0;
    if (!reserve_entries(queue, &queue->run, count))
        return false;
    if (queue->scale && !queue->counts) {
        queue->counts = malloc((MOST_RADIX_PIECES + 2) * sizeof *queue->counts);
        if (!queue->counts) {
            queue->out_of_memory = true;
            return false;
        }
    }
    if (queue->scale)
        deal_out(queue, bucket);
    for (; bucket->first; drop_first(queue, bucket)) {
        if (queue->scale)
            continue;
        memcpy(queue->run.entries + n, bucket->first->entries,
               bucket->first->count * sizeof *queue->run.entries);
        n += bucket->first->count;
    }
    if (!queue->scale)
        sort(queue, queue->run.entries, count);
    queue->run.count = count;
    return true;
}

static int64_t latest_in_bucket(const struct lull_bucket *bucket)
{
    int64_t most = 0;
    for (const struct lull_chunk *chunk = bucket->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; i++)
            most = chunk->entries[i].time > most ? chunk->entries[i].time : most;
    return most;
}

/* Entries of the bucket's first window become the run, the others go to lower levels. */
static void distribute(struct lull_queue *queue, unsigned level, unsigned digit)
{
    struct lull_bucket *bucket = &queue->buckets[level][digit], now = {0};
    uint64_t above = ~UINT64_C(0) << 6 * level << 6, last = (uint64_t)queue->last & above;
    queue->last = (int64_t)(last | (uint64_t)digit << 6 * level);
    while (bucket->first) {
        for (size_t i = 0; i < bucket->first->count; i++) {
            const struct lull_entry *entry = &bucket->first->entries[i];
            if (lull_queue_window(queue, entry->time) == queue->last)
                lull_queue_append(queue, &now, entry);
            else
                lull_queue_push(queue, entry);
        }
        drop_first(queue, bucket);
    }
    if (now.first)
        take_bucket(queue, &now);
}

static unsigned lowest_level(const struct lull_queue *queue)
{
    unsigned level = 0;
    while (level < LULL_QUEUE_LEVELS && !queue->filled[level])
        level++;
    return level;
}

bool lull_queue_refill(struct lull_queue *queue)
{
    queue->run_at = queue->run.count = 0;
    while (queue->run.count == 0) {
        unsigned level = lowest_level(queue);
        if (level == LULL_QUEUE_LEVELS || queue->out_of_memory)
            return false;
        unsigned digit = (unsigned)__builtin_ctzll(queue->filled[level]);
        struct lull_bucket *bucket = &queue->buckets[level][digit];
        queue->filled[level] &= queue->filled[level] - 1;
        if (level > 0 && (queue->scale || bucket->count > SORTED_AT_ONCE)) {
            distribute(queue, level, digit);
        } else { /* at level 0 all have the same window */
            queue->last = level ? latest_in_bucket(bucket)
                                : lull_queue_window(queue, bucket->first->entries[0].time);
            take_bucket(queue, bucket);
        }
    }
    queue->n_runs++;
    return true;
}

int64_t lull_queue_first(const struct lull_queue *queue)
{
    if (queue->run_at < queue->run.count || queue->side.count)
        return queue->last;
    unsigned level = lowest_level(queue);
    if (level == LULL_QUEUE_LEVELS)
        return INT64_MAX;
    const struct lull_bucket *bucket =
        &queue->buckets[level][__builtin_ctzll(queue->filled[level])];
    int64_t first = INT64_MAX;
    for (const struct lull_chunk *chunk = bucket->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; i++) {
            int64_t window = lull_queue_window(queue, chunk->entries[i].time);
            first = window < first ? window : first;
        }
    return first;
}
