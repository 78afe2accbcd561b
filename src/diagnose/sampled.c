/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/sampled.h"

#include "base/array.h"
#include "metrics/callers.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What is read of one location. */
struct sampled_reading {
    struct lull_samples samples;
    /* Samples of the burst that is open, of first threads: the call at its end is not known yet.
     * Where there is no room for more of them, those of one place and context become one. */
    struct lull_samples_item *open;
    size_t n_open, open_capacity;
    uint32_t parallel; /* 1 + the parallel region that was entered last; 0: that is not known */
};

struct lull_sampled_collector {
    const struct lull_trace *trace;
    struct sampled_reading *readings; /* [n_locations] */
    atomic_uint items;                /* of all readings */
    struct lull_callers *callers;     /* NULL: there are no functions of Python */
};

/* Adds samples that are all alike. False: no memory. */
static bool add_item(struct lull_sampled_collector *collector, struct sampled_reading *reading,
                     const struct lull_samples_item *item)
{
    const size_t before = reading->samples.n_items;
    const bool good = lull_samples_add(&reading->samples, item, LULL_SAMPLED_PLACES_MOST);
    if (reading->samples.n_items > before)
        atomic_fetch_add_explicit(&collector->items, 1, memory_order_relaxed);
    return good;
}

/* ---- the burst that is open ------------------------------------------------------------------ */

/* Makes one of all open items that are alike. Of more places than are told apart, those with higher
 * addresses become one. */
static void join_open_items(struct sampled_reading *reading)
{
    static const struct lull_samples_context anything = {0, LULL_NONE, LULL_NONE, 0};
    struct lull_samples_item *open = reading->open;
    const size_t most = LULL_SAMPLED_PLACES_MOST;
    size_t n = 0;
    qsort(open, reading->n_open, sizeof *open, lull_samples_order);
    for (size_t i = 0; i < reading->n_open; i++)
        if (n > 0 && (n > most || lull_samples_order(&open[n - 1], &open[i]) == 0)) {
            open[n - 1].count += open[i].count;
            open[n - 1].weight = lull_samples_weights(open[n - 1].weight, open[i].weight);
        } else {
            open[n++] = open[i];
        }
    if (n > most)
        open[most] =
            (struct lull_samples_item){anything, 0, LULL_NONE, open[most].count, open[most].weight};
    reading->n_open = n;
}

/* Keeps a sample until its burst ends. False: no memory. */
static bool keep_open(struct sampled_reading *reading, const struct lull_samples_item *item)
{
    if (reading->n_open == 2 * (size_t)LULL_SAMPLED_PLACES_MOST)
        join_open_items(reading);
    if (!lull_array_reserve(&reading->open, &reading->open_capacity, reading->n_open + 1,
                            sizeof *reading->open))
        return false;
    reading->open[reading->n_open++] = *item;
    return true;
}

bool lull_sampled_end_burst(struct lull_sampled_collector *collector, uint32_t location,
                            uint32_t call)
{
    struct sampled_reading *reading = &collector->readings[location];
    bool good = true;
    if (reading->n_open == 0)
        return true;
    for (size_t i = 0; i < reading->n_open && good; i++) {
        reading->open[i].context.call = call;
        good = add_item(collector, reading, &reading->open[i]);
    }
    reading->n_open = 0;
    return good;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool take_sample(struct lull_sampled_collector *collector, unsigned worker,
                        uint32_t location, const struct lull_step *step, uint32_t path)
{
    const struct lull_trace *trace = collector->trace;
    struct sampled_reading *reading = &collector->readings[location];
    const struct lull_caller place = lull_callers_place(collector->callers, worker, location, step);
    const uint32_t process = trace->locations[location].process;
    const bool is_first = trace->processes[process].first_location == location;
    const struct lull_samples_item item = {.context = {.path = path,
                                                       .call = LULL_NONE,
                                                       .parallel = !step->parallel ? LULL_NONE
                                                                   : reading->parallel
                                                                       ? reading->parallel - 1
                                                                       : LULL_SAMPLES_UNNAMED,
                                                       .locked = step->sample.locked},
                                           .offset = place.offset,
                                           .object = (uint32_t)place.object,
                                           .count = 1,
                                           .weight = step->sample.weight};
    lull_samples_count(&reading->samples, item.weight);
    return is_first ? keep_open(reading, &item) : add_item(collector, reading, &item);
}

bool lull_sampled_take(struct lull_sampled_collector *collector, unsigned worker, uint32_t location,
                       const struct lull_step *step, uint32_t path)
{
    struct sampled_reading *reading = &collector->readings[location];
    if (step->kind == LULL_STEP_FORK)
        reading->parallel = step->region + 1; /* 0: LULL_NONE */
    if (step->kind != LULL_STEP_SAMPLE || step->activity != LULL_USEFUL ||
        step->sample.weight == 0 ||
        atomic_load_explicit(&collector->items, memory_order_relaxed) > LULL_SAMPLED_ITEMS_MOST)
        return true;
    return take_sample(collector, worker, location, step, path);
}

/* ---- the collector --------------------------------------------------------------------------- */

struct lull_sampled_collector *lull_sampled_create(const struct lull_trace *trace, unsigned workers)
{
    struct lull_sampled_collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return NULL;
    collector->trace = trace;
    collector->readings = calloc(trace->n_locations + (size_t)1, sizeof *collector->readings);
    if (!collector->readings ||
        (lull_callers_has_python(trace) &&
         lull_callers_create(trace, workers, &collector->callers, NULL) != LULL_OK)) {
        free(collector->readings);
        free(collector);
        return NULL;
    }
    return collector;
}

void lull_sampled_destroy(struct lull_sampled_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t l = 0; l < collector->trace->n_locations; l++) {
        lull_samples_free(&collector->readings[l].samples);
        free(collector->readings[l].open);
    }
    lull_callers_destroy(collector->callers);
    free(collector->readings);
    free(collector);
}

/* ---- from member to member ------------------------------------------------------------------- */

bool lull_sampled_put(const struct lull_sampled_collector *collector, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t l = 0; good && l < collector->trace->n_locations; l++)
        if (collector->readings[l].samples.n_items > 0)
            good = lull_flow_put(flow, &l, sizeof l) &&
                   lull_samples_put(&collector->readings[l].samples, flow);
    return good && lull_flow_put(flow, &last, sizeof last);
}

bool lull_sampled_get(struct lull_sampled_collector *collector, struct lull_flow *flow)
{
    uint32_t l = 0;
    while (lull_flow_get(flow, &l, sizeof l) && l < collector->trace->n_locations) {
        struct lull_samples *samples = &collector->readings[l].samples;
        if (!lull_samples_get(samples, flow))
            return false;
        atomic_fetch_add(&collector->items, (unsigned)samples->n_items);
        if (atomic_load(&collector->items) > LULL_SAMPLED_ITEMS_MOST) /* nothing will be told */
            lull_samples_free(samples);
    }
    return l == LULL_NONE;
}

/* ---- the result ------------------------------------------------------------------------------ */

const struct lull_sampled *lull_sampled_conclude(const struct lull_sampled_collector *collector,
                                                 struct lull_arena *arena)
{
    const struct lull_trace *trace = collector->trace;
    const unsigned items = atomic_load(&collector->items);
    if (items == 0 || items > LULL_SAMPLED_ITEMS_MOST)
        return NULL;
    struct lull_sampled *sampled = lull_arena_zero(arena, 1, sizeof *sampled);
    struct lull_samples *threads =
        lull_arena_zero(arena, trace->n_locations + (size_t)1, sizeof *threads);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        threads[l] = lull_samples_copy(&collector->readings[l].samples, arena);
    *sampled = (struct lull_sampled){.trace = trace, .threads = threads};
    return sampled;
}
