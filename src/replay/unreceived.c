#include "replay/unreceived.h"

#include "activity/pass.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct channel_rest {
    struct lull_channel channel;
    int64_t count; /* above 0 */
};

struct lull_unreceived {
    struct channel_rest *rests; /* sorted by target, communicator, source, tag */
    size_t n_rests;
};

/* ---- counting ------------------------------------------------------------------------------ */

/* What a pass has counted: by channel sends less receives, below 0 where receives come first. */
struct counting {
    const struct lull_trace *trace;
    uint32_t application;
    pthread_mutex_t lock;
    struct lull_hash counts;
};

static bool count_unreceived(struct counting *counting, const struct lull_steps *steps,
                             const struct lull_step *step)
{
    if (step->channel == LULL_NONE)
        return true;
    const struct lull_channel *channel = lull_channels_at(steps->channels, step->channel);
    uint64_t *count = lull_hash_add(&counting->counts, channel, sizeof *channel, 0, NULL);
    if (count)
        *count += step->kind == LULL_STEP_SEND ? 1 : UINT64_MAX;
    return count;
}

static lull_status take_steps_for_unreceived(void *context, unsigned worker,
                                             const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    struct counting *counting = context;
    const uint32_t process = counting->trace->locations[steps->location].process;
    bool fits = true;
    if (counting->trace->processes[process].application != counting->application)
        return LULL_OK;
    pthread_mutex_lock(&counting->lock);
    for (uint32_t i = 0; fits && i < steps->count; i++)
        if (steps->steps[i].kind == LULL_STEP_SEND || steps->steps[i].kind == LULL_STEP_RECV)
            fits = count_unreceived(counting, steps, &steps->steps[i]);
    pthread_mutex_unlock(&counting->lock);
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            counting->trace->path);
}

static int compare_channels(const struct lull_channel *a, const struct lull_channel *b)
{
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

static int by_channel(const void *a, const void *b)
{
    return compare_channels(&((const struct channel_rest *)a)->channel,
                            &((const struct channel_rest *)b)->channel);
}

/* Keeps the channels on which more was sent than received; false: no memory. */
static bool keep_rests(struct lull_unreceived *unreceived, const struct lull_hash *counts)
{
    size_t n = 0;
    for (size_t i = 0; i < counts->count; i++)
        n += (int64_t)counts->entries[i].value > 0;
    unreceived->rests = malloc((n + 1) * sizeof *unreceived->rests);
    if (!unreceived->rests)
        return false;
    for (size_t i = 0; i < counts->count; i++) {
        struct channel_rest rest = {.count = (int64_t)counts->entries[i].value};
        memcpy(&rest.channel, lull_hash_key(counts, i), sizeof rest.channel); /* anywhere */
        if (rest.count > 0)
            unreceived->rests[unreceived->n_rests++] = rest;
    }
    qsort(unreceived->rests, n, sizeof *unreceived->rests, by_channel);
    return true;
}

lull_status lull_unreceived_create(const struct lull_trace *trace, uint32_t application,
                                   struct lull_unreceived **ret_unreceived, struct lull_error *err)
{
    struct counting counting = {.trace = trace, .application = application};
    const struct lull_pass_options options = {.application = application};
    const struct lull_consumer consumer = {.context = &counting,
                                           .wants = LULL_STEP_MASK(LULL_STEP_SEND) |
                                                    LULL_STEP_MASK(LULL_STEP_RECV),
                                           .steps = take_steps_for_unreceived};
    pthread_mutex_init(&counting.lock, NULL);
    lull_status status = lull_pass_run(trace, &options, &consumer, 1, err);
    struct lull_unreceived *unreceived = calloc(1, sizeof *unreceived);
    if (status == LULL_OK && (!unreceived || !keep_rests(unreceived, &counting.counts)))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    pthread_mutex_destroy(&counting.lock);
    lull_hash_free(&counting.counts);
    if (status != LULL_OK) {
        lull_unreceived_destroy(unreceived);
        return status;
    }
    *ret_unreceived = unreceived;
    return LULL_OK;
}

void lull_unreceived_destroy(struct lull_unreceived *unreceived)
{
    if (unreceived)
        free(unreceived->rests);
    free(unreceived);
}

/* ---- taking -------------------------------------------------------------------------------- */

/* The first rest that is not below a channel. */
static size_t lower_bound(const struct lull_unreceived *unreceived,
                          const struct lull_channel *channel)
{
    size_t low = 0, high = unreceived->n_rests;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_channels(&unreceived->rests[middle].channel, channel) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool lull_unreceived_take(const struct lull_unreceived *unreceived,
                          const struct lull_channel *wanted, struct lull_hash *taken,
                          struct lull_channel *ret_channel, bool *ret_fits)
{
    const bool any_source = wanted->source == LULL_NONE, any_tag = wanted->tag == LULL_ANY;
    const struct lull_channel first = {.target = wanted->target,
                                       .comm = wanted->comm,
                                       .source = any_source ? 0 : wanted->source,
                                       .tag = any_tag ? INT32_MIN : wanted->tag};
    *ret_fits = true;
    for (size_t i = lower_bound(unreceived, &first); i < unreceived->n_rests; i++) {
        const struct lull_channel *channel = &unreceived->rests[i].channel;
        if (channel->target != wanted->target || channel->comm != wanted->comm ||
            (!any_source && channel->source != wanted->source))
            return false;
        const uint64_t *gone = lull_hash_find(taken, channel, sizeof *channel);
        if ((!any_tag && channel->tag != wanted->tag) ||
            unreceived->rests[i].count <= (gone ? (int64_t)*gone : 0))
            continue;
        uint64_t *count = lull_hash_add(taken, channel, sizeof *channel, 0, NULL);
        *ret_fits = count != NULL;
        if (count)
            ++*count;
        *ret_channel = *channel;
        return count;
    }
    return false;
}
