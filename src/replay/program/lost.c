/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/program/lost.h"

#include "activity/pass.h"
#include "base/array.h"
#include "base/sorted.h"
#include "replay/program/items.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== unreceived ============================================================================== */

struct channel_rest {
    struct lull_channel channel;
    int64_t count; /* above 0 */
};

struct lull_unreceived {
    struct channel_rest *rests; /* sorted by target, communicator, source, tag */
    size_t n_rests;
};

/* ---- counting ------------------------------------------------------------------------------ */

/* What a pass has counted: by channel, how many more sends than receives; below 0 while receives
 * are read before their sends. */
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
        memcpy(&rest.channel, lull_hash_key(counts, i), sizeof rest.channel); /* not aligned */
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
    const struct lull_reading reading = {.application = application};
    const struct lull_pass_options options = {.reading = &reading};
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

/* The index of the first rest whose channel is not before the given one. */
static size_t lower_bound(const struct lull_unreceived *unreceived,
                          const struct lull_channel *channel)
{
    struct lull_bisection at = {.end = unreceived->n_rests};
    while (lull_bisect(&at))
        at.in_front = compare_channels(&unreceived->rests[at.middle].channel, channel) < 0;
    return at.begin;
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

/* ==== lost ==================================================================================== */

struct target {
    size_t first, end;    /* indices of the sends to this process that are not taken yet */
    bool has_completions; /* the trace says when receives of this process were complete */
};

struct lost_list {
    struct lull_lost_send *items;
    size_t count, capacity;
};

struct lull_lost {
    const struct lull_trace *trace;
    pthread_mutex_t lock;      /* while a pass collects the members below */
    struct lost_list sends;    /* those that no blocking receive has taken */
    struct lost_list received; /* messages that blocking receives took, as the receives tell them */
    struct target *targets;    /* [n_processes] */
    uint32_t *epochs;          /* [n_locations]: how many epochs have ended */
    uint32_t n_processes;      /* of the application */
    bool has_epochs;           /* some process has been through an epoch's end */
};

static bool add_lost_send(struct lost_list *list, const struct lull_lost_send *item)
{
    if (!lull_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = *item;
    return true;
}

static bool take_lost_message(struct lull_lost *lost, const struct lull_step *step,
                              uint32_t location)
{
    uint32_t process = lost->trace->locations[location].process;
    bool completes = step->kind == LULL_STEP_RECV && step->message.request != LULL_NO_REQUEST;
    if (completes)
        lost->targets[process].has_completions = true;
    if (completes || step->message.peer < 0 ||
        (uint32_t)step->message.peer >= lost->trace->n_processes)
        return true;
    uint32_t peer = (uint32_t)step->message.peer;
    bool sent = step->kind == LULL_STEP_SEND;
    struct lull_lost_send item = {.time = step->time,
                                  .source = sent ? process : peer,
                                  .target = sent ? peer : process,
                                  .comm = step->comm,
                                  .tag = step->message.tag,
                                  .epoch = lost->epochs[location],
                                  .bytes = step->message.bytes};
    return add_lost_send(sent ? &lost->sends : &lost->received, &item);
}

static lull_status take_steps_for_lost(void *context, unsigned worker,
                                       const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    struct lull_lost *lost = context;
    bool fits = true;
    pthread_mutex_lock(&lost->lock);
    for (uint32_t i = 0; fits && i < steps->count; i++) {
        const struct lull_step *step = &steps->steps[i];
        if (step->kind == LULL_STEP_SEND || step->kind == LULL_STEP_RECV) {
            fits = take_lost_message(lost, step, steps->location);
        } else if (lull_is_epoch(lost->trace, step, lost->n_processes)) {
            lost->epochs[steps->location]++;
            lost->has_epochs = true;
        }
    }
    pthread_mutex_unlock(&lost->lock);
    return fits ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the messages");
}

static int compare_keys(const struct lull_lost_send *x, const struct lull_lost_send *y)
{
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int by_key(const void *a, const void *b)
{
    const struct lull_lost_send *x = a, *y = b;
    int order = compare_keys(x, y);
    return order ? order : x->time < y->time ? -1 : x->time > y->time;
}

static int by_turn(const void *a, const void *b)
{
    const struct lull_lost_send *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return compare_keys(x, y);
}

static void sort(struct lost_list *list, int (*compare)(const void *a, const void *b))
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare);
}

/* Takes away the sends of messages that blocking receives took, since no wait can have received
 * them. A receive names source, communicator and tag, and takes the first message of these: in MPI
 * messages between two processes do not overtake each other. */
static void remove_received(struct lull_lost *lost)
{
    size_t kept = 0, next = 0;
    sort(&lost->sends, by_key);
    sort(&lost->received, by_key);
    for (size_t i = 0; i < lost->sends.count; i++) {
        const struct lull_lost_send *send = &lost->sends.items[i];
        while (next < lost->received.count && compare_keys(&lost->received.items[next], send) < 0)
            next++;
        if (next < lost->received.count && compare_keys(&lost->received.items[next], send) == 0)
            next++;
        else
            lost->sends.items[kept++] = *send;
    }
    lost->sends.count = kept;
}

/* Sets the ordinals of the sends, which are sorted by_key. */
static void number(struct lull_lost *lost)
{
    for (size_t i = 1; i < lost->sends.count; i++) {
        struct lull_lost_send *send = &lost->sends.items[i];
        bool same = compare_keys(&send[-1], send) == 0 && send[-1].epoch == send->epoch;
        send->ordinal = same ? send[-1].ordinal + 1 : 0;
    }
}

static void index_targets(struct lull_lost *lost)
{
    const struct lost_list *sends = &lost->sends;
    for (size_t i = 0; i < sends->count;) {
        uint32_t process = sends->items[i].target;
        struct target *target = &lost->targets[process];
        target->first = i;
        while (i < sends->count && sends->items[i].target == process)
            i++;
        target->end = i;
    }
}

lull_status lull_lost_create(const struct lull_trace *trace, uint32_t application,
                             struct lull_lost **ret_lost, struct lull_error *err)
{
    struct lull_lost *lost = calloc(1, sizeof *lost);
    struct target *targets = calloc(trace->n_processes + (size_t)1, sizeof *targets);
    uint32_t *epochs = calloc(trace->n_locations + (size_t)1, sizeof *epochs);
    if (!lost || !targets || !epochs) {
        free(lost);
        free(targets);
        free(epochs);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    lost->trace = trace;
    lost->targets = targets;
    lost->epochs = epochs;
    lost->n_processes = lull_count_processes(trace, application);
    pthread_mutex_init(&lost->lock, NULL);
    const struct lull_reading reading = {.application = application};
    const struct lull_pass_options options = {.reading = &reading};
    const struct lull_consumer consumer = {.context = lost,
                                           .wants = LULL_STEP_MASK(LULL_STEP_SEND) |
                                                    LULL_STEP_MASK(LULL_STEP_RECV) |
                                                    LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END),
                                           .steps = take_steps_for_lost};
    lull_status status = lull_pass_run(trace, &options, &consumer, 1, err);
    if (status != LULL_OK) {
        lull_lost_destroy(lost);
        return status;
    }
    remove_received(lost);
    number(lost);
    sort(&lost->sends, by_turn);
    index_targets(lost);
    *ret_lost = lost;
    return LULL_OK;
}

void lull_lost_destroy(struct lull_lost *lost)
{
    if (!lost)
        return;
    pthread_mutex_destroy(&lost->lock);
    free(lost->sends.items);
    free(lost->received.items);
    free(lost->targets);
    free(lost->epochs);
    free(lost);
}

static bool had_come(const struct lull_lost *lost, const struct lull_lost_wait *wait,
                     const struct lull_lost_send *send)
{
    return lost->has_epochs ? send->epoch <= wait->epoch : send->time <= wait->time;
}

uint32_t lull_lost_take(struct lull_lost *lost, const struct lull_lost_wait *wait,
                        const struct lull_lost_send **ret_sends)
{
    struct target *target = &lost->targets[wait->process];
    uint32_t count = 0;
    if (target->has_completions)
        return 0;
    *ret_sends = &lost->sends.items[target->first];
    while (count < wait->most && target->first < target->end &&
           had_come(lost, wait, &lost->sends.items[target->first])) {
        target->first++;
        count++;
    }
    return count;
}
