#include "sim/queue.h"

#include "sim/large.h"

#include <stdlib.h>
#include <string.h>

/* A bucket of so few entries is sorted at once instead of being distributed further. */
enum { SORTED_AT_ONCE = 64, SORTED_SIMPLY = 64 };

void lull_queue_open(struct lull_queue *queue)
{
    memset(queue, 0, sizeof *queue);
}

void lull_queue_close(struct lull_queue *queue)
{
    for (size_t level = 0; level < LULL_QUEUE_LEVELS; level++)
        for (size_t i = 0; i < 64; i++)
            free(queue->buckets[level][i].entries);
    free(queue->run.entries);
    free(queue->side.entries);
    free(queue->scratch.entries);
    memset(queue, 0, sizeof *queue);
}

static bool reserve(struct lull_queue *queue, struct lull_entries *entries, size_t capacity)
{
    if (capacity <= entries->capacity)
        return true;
    struct lull_entry *more =
        lull_large_grow(entries->entries, entries->count * sizeof *more, capacity * sizeof *more);
    if (!more) {
        queue->out_of_memory = true;
        return false;
    }
    entries->entries = more;
    entries->capacity = capacity;
    return true;
}

bool lull_queue_grow(struct lull_queue *queue, struct lull_entries *entries)
{
    return reserve(queue, entries, entries->capacity ? 2 * entries->capacity : 64);
}

void lull_queue_side_push(struct lull_queue *queue, const struct lull_entry *entry)
{
    struct lull_entries *side = &queue->side;
    lull_queue_append(queue, side, entry);
    if (queue->out_of_memory)
        return;
    size_t at = side->count - 1;
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
static void sort(struct lull_queue *queue, struct lull_entries *run)
{
    if (run->count <= SORTED_SIMPLY) {
        insertion_sort(run->entries, run->count);
        return;
    }
    while (piece_end(run->entries, 0, run->count) < run->count) {
        if (!reserve(queue, &queue->scratch, run->capacity))
            return;
        const struct lull_entry *in = run->entries;
        for (size_t at = 0; at < run->count;) {
            size_t middle = piece_end(in, at, run->count);
            size_t end = middle < run->count ? piece_end(in, middle, run->count) : middle;
            merge(in + at, middle - at, in + middle, end - middle, queue->scratch.entries + at);
            at = end;
        }
        struct lull_entries swap = *run;
        *run = queue->scratch;
        run->count = swap.count;
        queue->scratch = swap;
    }
}

static int64_t latest(const struct lull_entries *bucket)
{
    int64_t most = 0;
    for (size_t i = 0; i < bucket->count; i++)
        most = bucket->entries[i].time > most ? bucket->entries[i].time : most;
    return most;
}

/* Entries of the bucket's first moment become the run, the others go to lower levels. */
static void distribute(struct lull_queue *queue, unsigned level, unsigned digit)
{
    struct lull_entries *bucket = &queue->buckets[level][digit];
    uint64_t above = ~UINT64_C(0) << 6 * level << 6, last = (uint64_t)queue->last & above;
    queue->last = (int64_t)(last | (uint64_t)digit << 6 * level);
    for (size_t i = 0; i < bucket->count; i++) {
        const struct lull_entry *entry = &bucket->entries[i];
        if (entry->time == queue->last)
            lull_queue_append(queue, &queue->run, entry);
        else
            lull_queue_push(queue, entry);
    }
    bucket->count = 0;
}

bool lull_queue_refill(struct lull_queue *queue)
{
    struct lull_entries *run = &queue->run;
    queue->run_at = run->count = 0;
    while (run->count == 0) {
        unsigned level = 0;
        while (level < LULL_QUEUE_LEVELS && !queue->filled[level])
            level++;
        if (level == LULL_QUEUE_LEVELS)
            return false;
        unsigned digit = (unsigned)__builtin_ctzll(queue->filled[level]);
        struct lull_entries *bucket = &queue->buckets[level][digit];
        queue->filled[level] &= queue->filled[level] - 1;
        if (level > 0 && bucket->count > SORTED_AT_ONCE) {
            distribute(queue, level, digit);
        } else { /* at level 0 all have the same time */
            struct lull_entries swap = *run;
            *run = *bucket;
            *bucket = swap;
            queue->last = level ? latest(run) : run->entries[0].time;
        }
    }
    sort(queue, run);
    return true;
}
