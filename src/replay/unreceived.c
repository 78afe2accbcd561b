#include "replay/unreceived.h"

#include "trace/trace.h"

bool lull_unreceived_count(struct lull_unreceived *unreceived, const struct lull_channel *channel,
                           bool sent)
{
    uint64_t *count = lull_hash_add(&unreceived->counts, channel, sizeof *channel, 0, NULL);
    if (count)
        *count += sent ? 1 : UINT64_MAX; /* below 0 where receives come first */
    return count;
}

void lull_unreceived_free(struct lull_unreceived *unreceived)
{
    lull_hash_free(&unreceived->counts);
}

static bool fits(const struct lull_channel *wanted, const struct lull_channel *channel)
{
    return channel->target == wanted->target && channel->comm == wanted->comm &&
           (wanted->source == LULL_NONE || channel->source == wanted->source) &&
           (wanted->tag == LULL_ANY || channel->tag == wanted->tag);
}

static bool is_lower(const struct lull_channel *a, const struct lull_channel *b)
{
    return a->source != b->source ? a->source < b->source : a->tag < b->tag;
}

bool lull_unreceived_take(const struct lull_unreceived *unreceived,
                          const struct lull_channel *wanted, struct lull_hash *taken,
                          struct lull_channel *ret_channel, bool *ret_fits)
{
    const struct lull_channel *lowest = NULL;
    for (size_t i = 0; i < unreceived->counts.count; i++) {
        const struct lull_channel *channel = lull_hash_key(&unreceived->counts, i);
        const int64_t left = (int64_t)unreceived->counts.entries[i].value;
        const uint64_t *gone = lull_hash_find(taken, channel, sizeof *channel);
        if (fits(wanted, channel) && left > (gone ? (int64_t)*gone : 0) &&
            (!lowest || is_lower(channel, lowest)))
            lowest = channel;
    }
    *ret_fits = true;
    if (!lowest)
        return false;
    *ret_channel = *lowest;
    uint64_t *count = lull_hash_add(taken, lowest, sizeof *lowest, 0, NULL);
    *ret_fits = count != NULL;
    if (count)
        ++*count;
    return count;
}
