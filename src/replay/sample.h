/* SPDX-License-Identifier: BSD-3-Clause */
/* A sample: of many items the LULL_SAMPLE with the smallest hashes. So a sample does not depend on
 * the order of the items; it may be taken in parts that are put together; and two samples of the
 * same messages, such as of their sends and of their receives, hold the same messages. Memory: 160
 * kB. Internal to the room. */
#ifndef LULL_REPLAY_SAMPLE_H
#define LULL_REPLAY_SAMPLE_H

#include "team/team.h"

enum { LULL_SAMPLE = 2048 };

struct lull_sample_item {
    uint64_t hash;
    uint64_t bytes;
    int64_t times[2]; /* as its user likes */
    uint32_t process; /* set by collective_costs.c alone; else 0 */
};

struct lull_sample {
    struct lull_sample_item items[2 * LULL_SAMPLE];
    uint32_t count;
    uint64_t most; /* items with larger hashes are left out */
};

/* The hash of an item, of one made by lull_mix. By this hash, whose upper bits depend on all others, it is
 * decided which items are kept; another one would keep others. */
static inline uint64_t lull_sample_hash(uint64_t mixed)
{
    return mixed * UINT64_C(0xc2b2ae3d27d4eb4f);
}

/* Whether an item with this hash may be kept; one that may not is left out by lull_sample_add, too, now
 * and later. `sample` may be NULL. */
static inline bool lull_sample_takes(const struct lull_sample *sample, uint64_t hash)
{
    return !sample || hash <= sample->most;
}

/* Adds an item to a sample, which is made if it is NULL; false: no memory. */
bool lull_sample_add(struct lull_sample **sample, const struct lull_sample_item *item);
/* Adds the items of another sample, which may be NULL; false: no memory. */
bool lull_sample_join(struct lull_sample **sample, const struct lull_sample *other);
/* Sorts the items by hash and leaves at most LULL_SAMPLE. */
void lull_sample_settle(struct lull_sample *sample);
/* From member to member of a team; what is got is added. The sample that is put may be NULL, the
 * one that gets is made if it is needed. */
bool lull_sample_put(struct lull_sample *sample, struct lull_flow *flow);
bool lull_sample_get(struct lull_sample **sample, struct lull_flow *flow);

#endif
