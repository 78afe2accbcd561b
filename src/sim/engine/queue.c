#include "sim/engine/queue.h"

#include "sim/engine/large.h"

#include <stdlib.h>
#include <string.h>

/* A bucket of so few entries is sorted at once instead of being distributed further. */
enum { SORTED_AT_ONCE = 64, SLAB_CHUNKS = 512 };

void lull_queue_open(struct lull_queue *queue)
{
    memset(queue, 0, sizeof *queue);
}

void lull_queue_close(struct lull_queue *queue)
{
    for (size_t i = 0; i < queue->n_slabs; i++)
        free(queue->slabs[i]);
    free(queue->slabs);
    free(queue->side.entries);
    free(queue->scratch[0].entries);
    free(queue->scratch[1].entries);
    memset(queue, 0, sizeof *queue);
}

/* --- chunks -------------------------------------------------------------------------------- */

/* Slabs begin small, so that small simulations stay small. */
static bool new_slab(struct lull_queue *queue)
{
    if (queue->n_slabs == queue->slab_room) {
        size_t room = queue->slab_room ? 2 * queue->slab_room : 16;
        void **slabs = realloc(queue->slabs, room * sizeof *slabs);
        if (!slabs)
            return false;
        queue->slabs = slabs;
        queue->slab_room = room;
    }
    size_t n = queue->n_slabs < 4 ? (size_t)SLAB_CHUNKS / 16 : SLAB_CHUNKS;
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

void lull_queue_next_chunk(struct lull_queue *queue)
{
    drop_first(queue, &queue->run);
    queue->run_at = 0;
}

/* --- what comes before the end of the run -------------------------------------------------- */

static bool reserve(struct lull_queue *queue, struct lull_entries *entries, size_t capacity)
{
    if (capacity <= entries->capacity)
        return true;
    size_t used = entries->count * sizeof *entries->entries;
    struct lull_entry *more =
        lull_large_grow(entries->entries, used, capacity * sizeof *entries->entries);
    if (!more) {
        queue->out_of_memory = true;
        return false;
    }
    entries->entries = more;
    entries->capacity = capacity;
    return true;
}

void lull_queue_side_push(struct lull_queue *queue, const struct lull_entry *entry)
{
    struct lull_entries *side = &queue->side;
    if (side->count == side->capacity &&
        !reserve(queue, side, side->capacity ? 2 * side->capacity : 64))
        return;
    size_t at = side->count++;
    for (; at > 0 && lull_entry_less(entry, &side->entries[(at - 1) / 2]); at = (at - 1) / 2)
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
        if (child + 1 < count && lull_entry_less(&heap[child + 1], &heap[child]))
            child++;
        if (!lull_entry_less(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void insertion_sort(struct lull_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (!lull_entry_less(&entries[i], &entries[i - 1]))
            continue;
        struct lull_entry entry = entries[i];
        size_t at = i;
        for (; at > 0 && lull_entry_less(&entry, &entries[at - 1]); at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

/* End of the sorted piece that begins at `from`. */
static size_t piece_end(const struct lull_entry *entries, size_t from, size_t count)
{
    size_t end = from + 1;
    while (end < count && lull_entry_less(&entries[end - 1], &entries[end]))
        end++;
    return end;
}

static void merge(const struct lull_entry *a, size_t n_a, const struct lull_entry *b, size_t n_b,
                  struct lull_entry *out)
{
    size_t i = 0, k = 0;
    while (i < n_a && k < n_b)
        *out++ = lull_entry_less(&b[k], &a[i]) ? b[k++] : a[i++];
    memcpy(out, a + i, (n_a - i) * sizeof *out);
    memcpy(out + (n_a - i), b + k, (n_b - k) * sizeof *out);
}

/* Merges sorted pieces in pairs until one is left: entries mostly come in long sorted pieces. */
static const struct lull_entry *merge_pieces(struct lull_queue *queue, size_t count)
{
    struct lull_entries *in = &queue->scratch[0], *out = &queue->scratch[1];
    while (piece_end(in->entries, 0, count) < count) {
        for (size_t at = 0; at < count;) {
            size_t middle = piece_end(in->entries, at, count);
            size_t end = middle < count ? piece_end(in->entries, middle, count) : middle;
            merge(in->entries + at, middle - at, in->entries + middle, end - middle,
                  out->entries + at);
            at = end;
        }
        struct lull_entries *swap = in;
        in = out;
        out = swap;
    }
    return in->entries;
}

static bool is_sorted(const struct lull_bucket *bucket)
{
    const struct lull_entry *before = NULL;
    for (const struct lull_chunk *chunk = bucket->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; before = &chunk->entries[i++])
            if (before && lull_entry_less(&chunk->entries[i], before))
                return false;
    return true;
}

static void sort(struct lull_queue *queue, struct lull_bucket *run)
{
    if (run->first == run->last && run->count <= SORTED_AT_ONCE) {
        insertion_sort(run->first->entries, run->count);
        return;
    }
    if (is_sorted(run) || !reserve(queue, &queue->scratch[0], run->count) ||
        !reserve(queue, &queue->scratch[1], run->count))
        return;
    size_t n = 0;
    for (struct lull_chunk *chunk = run->first; chunk; chunk = chunk->next) {
        memcpy(queue->scratch[0].entries + n, chunk->entries,
               chunk->count * sizeof *chunk->entries);
        n += chunk->count;
    }
    const struct lull_entry *sorted = merge_pieces(queue, n);
    for (struct lull_chunk *chunk = run->first; chunk; chunk = chunk->next) {
        memcpy(chunk->entries, sorted, chunk->count * sizeof *chunk->entries);
        sorted += chunk->count;
    }
}

static int64_t latest(const struct lull_bucket *bucket)
{
    int64_t most = 0;
    for (const struct lull_chunk *chunk = bucket->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->count; i++)
            most = chunk->entries[i].time > most ? chunk->entries[i].time : most;
    return most;
}

/* Entries of the bucket's first moment become the run, the others go to lower levels. */
static void distribute(struct lull_queue *queue, unsigned level, unsigned digit)
{
    struct lull_bucket *bucket = &queue->buckets[level][digit];
    uint64_t above = ~UINT64_C(0) << 6 * level << 6, last = (uint64_t)queue->last & above;
    queue->last = (int64_t)(last | (uint64_t)digit << 6 * level);
    while (bucket->first) {
        for (size_t i = 0; i < bucket->first->count; i++) {
            const struct lull_entry *entry = &bucket->first->entries[i];
            if (entry->time == queue->last)
                lull_queue_append(queue, &queue->run, entry);
            else
                lull_queue_push(queue, entry);
        }
        drop_first(queue, bucket);
    }
}

bool lull_queue_refill(struct lull_queue *queue)
{
    struct lull_bucket *run = &queue->run;
    queue->run_at = 0;
    while (!run->first) {
        unsigned level = 0;
        while (level < LULL_QUEUE_LEVELS && !queue->filled[level])
            level++;
        if (level == LULL_QUEUE_LEVELS || queue->out_of_memory)
            return false;
        unsigned digit = (unsigned)__builtin_ctzll(queue->filled[level]);
        struct lull_bucket *bucket = &queue->buckets[level][digit];
        queue->filled[level] &= queue->filled[level] - 1;
        if (level > 0 && bucket->count > SORTED_AT_ONCE) {
            distribute(queue, level, digit);
        } else { /* at level 0 all have the same time */
            *run = *bucket;
            *bucket = (struct lull_bucket){0};
            queue->last = level ? latest(run) : run->first->entries[0].time;
        }
    }
    sort(queue, run);
    queue->n_runs++;
    return true;
}
