/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/program/bursts.h"

#include "replay/program/items.h"

#include <stdlib.h>

/* Makes the bursts of one master: the numbers are those of its next burst. */
struct counter {
    struct lull_items maker;
    uint32_t stream, location, phase, ordinal, meets;
};

struct lull_bursts {
    const struct lull_trace *trace;
    struct lull_bursts_options options;
    uint32_t application;
    uint32_t n_processes;      /* of it */
    struct counter **counters; /* [n_processes of the trace]; NULL: no steps have come yet */
    uint32_t *streams;         /* [n_processes of the trace]: the stream of each master */
};

static struct counter *begin_counter(struct lull_bursts *bursts, uint32_t process)
{
    const struct lull_items_options options = {.pieces = bursts->options.pieces, .master = true};
    struct counter *counter = malloc(sizeof *counter);
    if (!counter)
        return NULL;
    *counter = (struct counter){.stream = bursts->streams[process],
                                .location = bursts->trace->processes[process].first_location};
    lull_items_init(&counter->maker, &options);
    bursts->counters[process] = counter;
    return counter;
}

static bool take_burst_item(struct lull_bursts *bursts, struct counter *counter,
                            const struct lull_item *item)
{
    if (item->kind == LULL_ITEM_STEP &&
        lull_is_epoch(bursts->trace, item->step, bursts->n_processes)) {
        counter->phase++;
        counter->ordinal = 0;
    }
    counter->meets += item->kind == LULL_ITEM_MEET;
    if (item->kind != LULL_ITEM_BURST && item->kind != LULL_ITEM_FIXED)
        return true;
    const struct lull_replay_burst burst = {.stream = counter->stream,
                                            .location = counter->location,
                                            .region = item->region,
                                            .mark = item->mark,
                                            .fixed = item->kind == LULL_ITEM_FIXED,
                                            .phase = counter->phase,
                                            .ordinal = counter->ordinal++,
                                            .execution = lull_replay_execution(counter->meets),
                                            .begin = item->begin,
                                            .end = item->end,
                                            .ns = item->ns};
    return bursts->options.take(bursts->options.context, &burst);
}

static lull_status take_steps_for_bursts(void *context, unsigned worker,
                                         const struct lull_steps *steps, struct lull_error *err)
{
    (void)worker;
    struct lull_bursts *bursts = context;
    const uint32_t index = bursts->trace->locations[steps->location].process;
    const struct lull_process *process = &bursts->trace->processes[index];
    if (process->first_location != steps->location || process->application != bursts->application)
        return LULL_OK;
    struct counter *counter = bursts->counters[index];
    bool fits = counter || (counter = begin_counter(bursts, index)) != NULL;
    for (uint32_t i = 0; fits && i < steps->count; i++) {
        struct lull_item items[LULL_ITEMS_OF_A_STEP];
        uint32_t count = lull_items_take(&counter->maker, &steps->steps[i], items);
        for (uint32_t k = 0; fits && k < count; k++)
            fits = take_burst_item(bursts, counter, &items[k]);
    }
    return fits ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                            bursts->trace->path);
}

struct lull_consumer lull_bursts_consumer(struct lull_bursts *bursts)
{
    return (struct lull_consumer){
        .context = bursts, .wants = LULL_ITEMS_WANT, .steps = take_steps_for_bursts};
}

lull_status lull_bursts_create(const struct lull_trace *trace,
                               const struct lull_bursts_options *options,
                               struct lull_bursts **ret_bursts, struct lull_error *err)
{
    struct lull_bursts *bursts = calloc(1, sizeof *bursts);
    const size_t n = trace->n_processes + (size_t)1;
    if (bursts) {
        bursts->trace = trace;
        bursts->options = *options;
        bursts->options.reading = NULL; /* of which only the application is needed */
        bursts->application = lull_reading_of(options->reading)->application;
        bursts->n_processes = lull_count_processes(trace, bursts->application);
        bursts->counters = calloc(n, sizeof(struct counter *));
        bursts->streams = calloc(n, sizeof *bursts->streams);
    }
    if (!bursts || !bursts->counters || !bursts->streams) {
        lull_bursts_destroy(bursts);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    }
    uint32_t stream = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        bursts->streams[p] = stream;
        stream += process->application == bursts->application && process->n_threads > 0;
    }
    *ret_bursts = bursts;
    return LULL_OK;
}

void lull_bursts_destroy(struct lull_bursts *bursts)
{
    if (!bursts)
        return;
    for (uint32_t p = 0; bursts->counters && p < bursts->trace->n_processes; p++)
        free(bursts->counters[p]);
    free(bursts->counters);
    free(bursts->streams);
    free(bursts);
}
