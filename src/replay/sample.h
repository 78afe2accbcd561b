/* Samples: up to LULL_SAMPLE of what is drawn from a stream, those with the smallest hashes. So
 * they are the same whatever the order, may be taken in parts and put together, and two samples of
 * the same messages hold the same messages. Internal to the room. */
#ifndef LULL_REPLAY_SAMPLE_H
#define LULL_REPLAY_SAMPLE_H

#include "team/team.h"

enum { LULL_SAMPLE = 2048 };

struct lull_sampled {
    uint64_t hash;
    uint64_t bytes;
    int64_t times[2];
    uint32_t process; /* of those who say who they are; else 0 */
};

struct lull_sample {
    struct lull_sampled items[2 * LULL_SAMPLE];
    uint32_t count;
    uint64_t most; /* those with larger hashes are out */
};

/* Into a sample that is made when it is needed; false: no memory. */
bool lull_sample_add(struct lull_sample **sample, const struct lull_sampled *item);
/* Adds those of another one, which may be NULL; false: no memory. */
bool lull_sample_join(struct lull_sample **sample, const struct lull_sample *other);
/* Leaves at most LULL_SAMPLE, by hash. */
void lull_sample_settle(struct lull_sample *sample);
/* From member to member of a team: what is got is added. `sample` may be NULL, or be made. */
bool lull_sample_put(struct lull_sample *sample, struct lull_flow *flow);
bool lull_sample_get(struct lull_sample **sample, struct lull_flow *flow);

static inline uint64_t lull_sample_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
