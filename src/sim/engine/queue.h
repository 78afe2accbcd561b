/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue of events, in the order of time or window by window.
 *
 * In the order of time, entries come by (time, key). In windows, time is cut into pieces of the
 * same width, and the entries of one piece come by (rank, time, key): for networks where what a
 * rank causes for another comes at least a window later, so that each rank can be followed to the
 * end of the window before the next one. What is pushed while a window is handled must be for a
 * later window or for the rank at hand.
 *
 * A monotone radix heap with digits of six bits: an entry lies at the level of the highest digit in
 * which its window (its time) differs from that of the run, in the bucket of its own digit there.
 * The lowest bucket becomes the *run*, which is sorted; a large one is distributed over lower
 * levels first. What comes before the end of the run and does not fit behind it goes to a small
 * binary heap, which is looked at first: that keeps the order exact for entries of any time, even
 * before the last one popped. Buckets are chains of chunks from one pool, so that memory follows
 * the number of entries. */
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
    uint64_t scale;           /* windows: window = time * scale / 2^64; 0: in the order of time */
    int64_t last;             /* the run's window or time: entries of buckets are later */
    size_t run_at;            /* the next of the run */
    uint64_t n_runs;          /* so far */
    struct lull_entries run;  /* sorted */
    struct lull_entries side; /* binary heap */
    uint64_t filled[LULL_QUEUE_LEVELS]; /* which buckets are not empty */
    struct lull_bucket buckets[LULL_QUEUE_LEVELS][64];
    struct lull_entries scratch; /* for sorting */
    uint32_t *counts;            /* for sorting */
    struct lull_chunk *unused;
    void **slabs;
    size_t n_slabs, slab_room;
    bool out_of_memory;
};

/* `window`: width in ns, at least 2; less: in the order of time. */
void lull_queue_open(struct lull_queue *queue, int64_t window);
void lull_queue_close(struct lull_queue *queue);

/* The window of the first entry (in the order of time: its time), INT64_MAX: there is none. */
int64_t lull_queue_first(const struct lull_queue *queue);

/* Not for callers: the ways off the straight path. */
bool lull_queue_chunk(struct lull_queue *queue, struct lull_bucket *bucket);
bool lull_queue_run_push(struct lull_queue *queue, const struct lull_entry *entry);
void lull_queue_side_push(struct lull_queue *queue, const struct lull_entry *entry);
void lull_queue_side_pop(struct lull_queue *queue, struct lull_entry *ret_entry);
bool lull_queue_refill(struct lull_queue *queue);

static inline bool lull_queue_less(const struct lull_queue *queue, const struct lull_entry *a,
                                   const struct lull_entry *b)
{
    if (queue->scale && a->rank != b->rank)
        return a->rank < b->rank;
    return a->time < b->time || (a->time == b->time && a->key < b->key);
}

static inline int64_t lull_queue_window(const struct lull_queue *queue, int64_t time)
{
    __extension__ typedef unsigned __int128 wide;
    return queue->scale ? (int64_t)((wide)(uint64_t)time * queue->scale >> 64) : time;
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
    int64_t window = lull_queue_window(queue, entry->time);
    if (window > queue->last) {
        unsigned differs = 63 - (unsigned)__builtin_clzll((uint64_t)(window ^ queue->last));
        unsigned level = differs / 6;
        unsigned digit = (uint64_t)window >> 6 * level & 63;
        queue->filled[level] |= UINT64_C(1) << digit;
        lull_queue_append(queue, &queue->buckets[level][digit], entry);
        return;
    }
    const struct lull_entries *run = &queue->run;
    if (run->count == queue->run_at || lull_queue_less(queue, &run->entries[run->count - 1], entry))
        lull_queue_run_push(queue, entry);
    else
        lull_queue_side_push(queue, entry);
}

/* false: the window is over. */
static inline bool lull_queue_pop_run(struct lull_queue *queue, struct lull_entry *ret_entry)
{
    if (queue->run_at == queue->run.count) {
        if (queue->side.count == 0)
            return false;
        lull_queue_side_pop(queue, ret_entry);
        return true;
    }
    const struct lull_entry *first = &queue->run.entries[queue->run_at];
    if (queue->side.count && lull_queue_less(queue, &queue->side.entries[0], first)) {
        lull_queue_side_pop(queue, ret_entry);
        return true;
    }
    *ret_entry = *first;
    queue->run_at++;
    return true;
}

/* false: the queue is empty. */
static inline bool lull_queue_pop(struct lull_queue *queue, struct lull_entry *ret_entry)
{
    return lull_queue_pop_run(queue, ret_entry) ||
           (lull_queue_refill(queue) && lull_queue_pop_run(queue, ret_entry));
}

/* The entry of the run that is `ahead` others away; NULL: not at hand. */
static inline const struct lull_entry *lull_queue_ahead(const struct lull_queue *queue,
                                                        size_t ahead)
{
    size_t at = queue->run_at + ahead;
    return at < queue->run.count ? &queue->run.entries[at] : NULL;
}

#endif
