/* Queue of events in the order (time, key).
 *
 * A monotone radix heap with digits of six bits: an entry lies at the level of the highest digit in
 * which its time differs from that of the run, in the bucket of its own digit there. The lowest
 * bucket becomes the *run*, which is sorted; a large one is distributed over lower levels first.
 * What comes before the end of the run and does not fit behind it goes to a small binary heap,
 * which is looked at first: that keeps the order exact for entries of any time, even before the
 * last one popped. Buckets and run are chains of chunks from one pool, so that memory follows the
 * number of entries. */
#ifndef LULL_SIM_ENGINE_QUEUE_H
#define LULL_SIM_ENGINE_QUEUE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 24 bytes. */
struct lull_entry {
    int64_t time; /* >= 0 */
    uint64_t key; /* orders what happens at the same time; all different */
    uint32_t rank, id;
};

enum { LULL_QUEUE_LEVELS = 11, LULL_CHUNK_ENTRIES = 170 };

struct lull_chunk { /* 4 KiB */
    struct lull_chunk *next;
    size_t count;
    struct lull_entry entries[LULL_CHUNK_ENTRIES];
};

/* The last chunk is not empty. */
struct lull_bucket {
    struct lull_chunk *first, *last; /* NULL: empty */
    size_t count;
};

struct lull_entries {
    struct lull_entry *entries;
    size_t count, capacity;
};

struct lull_queue {
    int64_t last; /* the run's time: entries of buckets are later */
    size_t run_at;
    uint64_t n_runs;                    /* so far */
    struct lull_bucket run;             /* sorted; of its first chunk, from run_at on */
    struct lull_entries side;           /* binary heap */
    uint64_t filled[LULL_QUEUE_LEVELS]; /* which buckets are not empty */
    struct lull_bucket buckets[LULL_QUEUE_LEVELS][64];
    struct lull_entries scratch[2]; /* for sorting */
    struct lull_chunk *unused;
    void **slabs;
    size_t n_slabs, slab_room;
    bool out_of_memory;
};

void lull_queue_open(struct lull_queue *queue);
void lull_queue_close(struct lull_queue *queue);

/* Not for callers: the ways off the straight path. */
bool lull_queue_chunk(struct lull_queue *queue, struct lull_bucket *bucket);
void lull_queue_side_push(struct lull_queue *queue, const struct lull_entry *entry);
void lull_queue_side_pop(struct lull_queue *queue, struct lull_entry *ret_entry);
void lull_queue_next_chunk(struct lull_queue *queue);
bool lull_queue_refill(struct lull_queue *queue);

static inline bool lull_entry_less(const struct lull_entry *a, const struct lull_entry *b)
{
    return a->time < b->time || (a->time == b->time && a->key < b->key);
}

static inline void lull_queue_append(struct lull_queue *queue, struct lull_bucket *bucket,
                                     const struct lull_entry *entry)
{
    if ((!bucket->last || bucket->last->count == LULL_CHUNK_ENTRIES) &&
        !lull_queue_chunk(queue, bucket))
        return;
    bucket->last->entries[bucket->last->count++] = *entry;
    bucket->count++;
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
    struct lull_bucket *run = &queue->run;
    if (!run->last || lull_entry_less(&run->last->entries[run->last->count - 1], entry))
        lull_queue_append(queue, run, entry);
    else
        lull_queue_side_push(queue, entry);
}

/* false: the queue is empty. */
static inline bool lull_queue_pop(struct lull_queue *queue, struct lull_entry *ret_entry)
{
    if (!queue->run.first) {
        if (queue->side.count) {
            lull_queue_side_pop(queue, ret_entry);
            return true;
        }
        if (!lull_queue_refill(queue))
            return false;
    }
    const struct lull_chunk *chunk = queue->run.first;
    if (queue->side.count &&
        lull_entry_less(&queue->side.entries[0], &chunk->entries[queue->run_at])) {
        lull_queue_side_pop(queue, ret_entry);
        return true;
    }
    *ret_entry = chunk->entries[queue->run_at++];
    if (queue->run_at == chunk->count)
        lull_queue_next_chunk(queue);
    return true;
}

/* The entry of the run that is `ahead` others away; NULL: not at hand. */
static inline const struct lull_entry *lull_queue_ahead(const struct lull_queue *queue,
                                                        size_t ahead)
{
    const struct lull_chunk *chunk = queue->run.first;
    size_t at = queue->run_at + ahead;
    if (chunk && at >= chunk->count) {
        at -= chunk->count;
        chunk = chunk->next;
    }
    return chunk && at < chunk->count ? &chunk->entries[at] : NULL;
}

#endif
