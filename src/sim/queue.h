/* Queue of events in the order (time, seq).
 *
 * A monotone radix heap with digits of six bits: an entry lies at the level of the highest digit in
 * which its time differs from that of the run, in the bucket of its own digit there. The lowest
 * bucket becomes the *run*, which is sorted; a large one is distributed over lower levels first.
 * What comes before the end of the run and does not fit behind it goes to a small binary heap,
 * which is looked at first: that keeps the order exact for entries of any time, even before the
 * last one popped. */
#ifndef LULL_SIM_QUEUE_H
#define LULL_SIM_QUEUE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 24 bytes. */
struct lull_entry {
    int64_t time;      /* >= 0 */
    uint64_t seq_kind; /* seq << 3 | kind; all different */
    uint32_t rank, id;
};

struct lull_entries {
    struct lull_entry *entries;
    size_t count, capacity;
};

enum { LULL_QUEUE_LEVELS = 11 };

struct lull_queue {
    int64_t last; /* the run's time: entries of buckets are later */
    size_t run_at;
    struct lull_entries run;  /* from run_at on, sorted */
    struct lull_entries side; /* binary heap */
    uint64_t filled[LULL_QUEUE_LEVELS]; /* which buckets are not empty */
    struct lull_entries buckets[LULL_QUEUE_LEVELS][64];
    struct lull_entries scratch; /* for sorting */
    bool out_of_memory;
};

void lull_queue_open(struct lull_queue *queue);
void lull_queue_close(struct lull_queue *queue);

/* Not for callers: the ways off the straight path. */
bool lull_queue_grow(struct lull_queue *queue, struct lull_entries *entries);
void lull_queue_side_push(struct lull_queue *queue, const struct lull_entry *entry);
void lull_queue_side_pop(struct lull_queue *queue, struct lull_entry *ret_entry);
bool lull_queue_refill(struct lull_queue *queue);

static inline bool lull_entry_less(const struct lull_entry *a, const struct lull_entry *b)
{
    return a->time < b->time || (a->time == b->time && a->seq_kind < b->seq_kind);
}

static inline void lull_queue_append(struct lull_queue *queue, struct lull_entries *entries,
                                     const struct lull_entry *entry)
{
    if (entries->count == entries->capacity && !lull_queue_grow(queue, entries))
        return;
    entries->entries[entries->count++] = *entry;
}

/* When memory runs out, the entry is lost and `out_of_memory` is set. */
static inline void lull_queue_push(struct lull_queue *queue, const struct lull_entry *entry)
{
    if (entry->time > queue->last) {
        unsigned differs = 63 - (unsigned)__builtin_clzll((uint64_t)(entry->time ^ queue->last));
        unsigned level = differs / 6;
        unsigned digit = (uint64_t)entry->time >> 6 * level & 63;
        queue->filled[level] |= UINT64_C(1) << digit;
        lull_queue_append(queue, &queue->buckets[level][digit], entry);
        return;
    }
    struct lull_entries *run = &queue->run;
    if (queue->run_at == run->count)
        queue->run_at = run->count = 0;
    if (run->count == 0 || lull_entry_less(&run->entries[run->count - 1], entry))
        lull_queue_append(queue, run, entry);
    else
        lull_queue_side_push(queue, entry);
}

/* false: the queue is empty. */
static inline bool lull_queue_pop(struct lull_queue *queue, struct lull_entry *ret_entry)
{
    const struct lull_entries *run = &queue->run;
    if (queue->run_at == run->count) {
        if (queue->side.count) {
            lull_queue_side_pop(queue, ret_entry);
            return true;
        }
        if (!lull_queue_refill(queue))
            return false;
    } else if (queue->side.count &&
               lull_entry_less(&queue->side.entries[0], &run->entries[queue->run_at])) {
        lull_queue_side_pop(queue, ret_entry);
        return true;
    }
    *ret_entry = run->entries[queue->run_at++];
    return true;
}

#endif
