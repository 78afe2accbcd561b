#include "replay/program/barriers.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct lull_barrier {
    uint32_t complete; /* meetings from the first on that all came to */
    uint32_t *came;    /* [begin, end): to the meetings behind these */
    size_t begin, end, capacity;
};

struct barrier_key {
    uint32_t process, barrier;
};

static struct barrier_key key_of(uint32_t process, uint64_t meeting)
{
    return (struct barrier_key){process, (uint32_t)(meeting >> 32)};
}

static struct lull_barrier *find_or_add_meeting(struct lull_barriers *barriers, uint32_t process,
                                                uint64_t meeting)
{
    const struct barrier_key key = key_of(process, meeting);
    bool is_new;
    uint64_t *index = lull_hash_add(&barriers->by_key, &key, sizeof key, barriers->count, &is_new);
    if (!index)
        return NULL;
    if (is_new) {
        if (!lull_array_reserve(&barriers->items, &barriers->capacity, barriers->count + 1,
                                sizeof *barriers->items))
            return NULL;
        barriers->items[barriers->count++] = (struct lull_barrier){0};
    }
    return &barriers->items[*index];
}

/* Room for `count` meetings behind the complete ones. */
static bool reserve(struct lull_barrier *barrier, size_t count)
{
    const size_t open = barrier->end - barrier->begin;
    if (count <= open)
        return true;
    if (barrier->begin > barrier->capacity / 2) {
        memmove(barrier->came, barrier->came + barrier->begin, open * sizeof *barrier->came);
        barrier->begin = 0;
        barrier->end = open;
    }
    if (!lull_array_reserve(&barrier->came, &barrier->capacity, barrier->begin + count,
                            sizeof *barrier->came))
        return false;
    memset(barrier->came + barrier->end, 0, (count - open) * sizeof *barrier->came);
    barrier->end = barrier->begin + count;
    return true;
}

bool lull_barriers_come(struct lull_barriers *barriers, uint32_t process, uint64_t meeting,
                        uint32_t threads)
{
    struct lull_barrier *barrier = find_or_add_meeting(barriers, process, meeting);
    if (!barrier)
        return false;
    const uint32_t number = (uint32_t)meeting;
    if (number < barrier->complete || number - barrier->complete >= LULL_BARRIER_MOST_AHEAD)
        return true;
    const size_t at = number - barrier->complete;
    if (!reserve(barrier, at + 1))
        return false;
    barrier->came[barrier->begin + at]++;
    while (barrier->begin < barrier->end && barrier->came[barrier->begin] >= threads) {
        barrier->begin++;
        barrier->complete++;
    }
    return true;
}

bool lull_barriers_all_came(const struct lull_barriers *barriers, uint32_t process,
                            uint64_t meeting, uint32_t threads)
{
    const struct barrier_key key = key_of(process, meeting);
    const uint64_t *index = lull_hash_find(&barriers->by_key, &key, sizeof key);
    if (!index)
        return false;
    const struct lull_barrier *barrier = &barriers->items[*index];
    const uint32_t number = (uint32_t)meeting;
    if (number < barrier->complete)
        return true;
    const size_t at = number - barrier->complete;
    return at < barrier->end - barrier->begin && barrier->came[barrier->begin + at] >= threads;
}

bool lull_barriers_put(const struct lull_barriers *barriers, struct lull_flow *flow)
{
    const uint64_t count = barriers->count;
    bool good = lull_flow_put(flow, &count, sizeof count);
    for (size_t i = 0; good && i < count; i++) {
        const struct lull_barrier *barrier = &barriers->items[i];
        const uint32_t *came = barrier->came ? barrier->came + barrier->begin : NULL;
        good =
            lull_flow_put(flow, lull_hash_key(&barriers->by_key, i), sizeof(struct barrier_key)) &&
            lull_flow_put(flow, &barrier->complete, sizeof barrier->complete) &&
            lull_flow_put_items(flow, came, barrier->end - barrier->begin, sizeof *came);
    }
    return good;
}

bool lull_barriers_get(struct lull_barriers *barriers, struct lull_flow *flow)
{
    uint64_t count;
    bool good = lull_flow_get(flow, &count, sizeof count);
    for (uint64_t i = 0; good && i < count; i++) {
        struct barrier_key key;
        good = lull_flow_get(flow, &key, sizeof key);
        struct lull_barrier *barrier =
            good ? find_or_add_meeting(barriers, key.process, (uint64_t)key.barrier << 32) : NULL;
        good = barrier && lull_flow_get(flow, &barrier->complete, sizeof barrier->complete) &&
               (barrier->came = lull_flow_get_items(flow, sizeof *barrier->came, &barrier->end));
        if (good)
            barrier->capacity = barrier->end + 1;
    }
    return good;
}

void lull_barriers_free(struct lull_barriers *barriers)
{
    for (size_t i = 0; i < barriers->count; i++)
        free(barriers->items[i].came);
    free(barriers->items);
    lull_hash_free(&barriers->by_key);
}
