/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/sampled.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What is read of one location. */
struct sampled_reading {
    struct lull_sampled_item *items;
    size_t n_items, capacity;
    struct lull_hash numbers; /* by context, object and offset */
    /* Samples of the burst that is open, of first threads: the call at its end is not known yet.
     * Where there is no room for more of them, those of one place and context become one. */
    struct lull_sampled_item *open;
    size_t n_open, open_capacity;
    uint64_t weight, heaviest;
    uint32_t parallel; /* 1 + the parallel region that was entered last; 0: that is not known */
};

struct lull_sampled_collector {
    const struct lull_trace *trace;
    struct sampled_reading *readings; /* [n_locations] */
    atomic_uint items;                /* of all readings */
};

/* ---- places ---------------------------------------------------------------------------------- */

/* What items differ in. */
struct sampled_key {
    struct lull_sampled_context context;
    uint64_t offset;
    uint64_t object;
};

/* Of samples for which there is no place of their own. */
static const struct lull_sampled_context anything = {0, LULL_NONE, LULL_NONE, 0};

static struct sampled_key key_of_item(const struct lull_sampled_item *item)
{
    return (struct sampled_key){item->context, item->offset, item->object};
}

/* Adds samples that are all alike. False: no memory. */
static bool add_item(struct lull_sampled_collector *collector, struct sampled_reading *reading,
                     const struct lull_sampled_item *item)
{
    struct sampled_key key = key_of_item(item);
    const uint64_t *number = lull_hash_find(&reading->numbers, &key, sizeof key);
    if (!number && reading->n_items >= LULL_SAMPLED_PLACES_MOST)
        key = (struct sampled_key){anything, 0, LULL_NONE};
    if (!number)
        number = lull_hash_add(&reading->numbers, &key, sizeof key, reading->n_items, NULL);
    if (!number)
        return false;
    if (*number == reading->n_items) {
        if (!lull_array_reserve(&reading->items, &reading->capacity, reading->n_items + 1,
                                sizeof *reading->items))
            return false;
        reading->items[reading->n_items++] = (struct lull_sampled_item){
            .context = key.context, .offset = key.offset, .object = (uint32_t)key.object};
        atomic_fetch_add_explicit(&collector->items, 1, memory_order_relaxed);
    }
    struct lull_sampled_item *known = &reading->items[*number];
    known->count += item->count;
    known->weight += item->weight;
    return true;
}

/* ---- the burst that is open ------------------------------------------------------------------ */

static int compare_items(const void *a, const void *b)
{
    const struct lull_sampled_item *x = a, *y = b;
    const uint64_t of_x[] = {x->context.path, x->context.parallel, x->context.locked, x->object,
                             x->offset};
    const uint64_t of_y[] = {y->context.path, y->context.parallel, y->context.locked, y->object,
                             y->offset};
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        if (of_x[i] != of_y[i])
            return of_x[i] < of_y[i] ? -1 : 1;
    return 0;
}

/* Makes one of all open items that are alike. */
static void join_open_items(struct sampled_reading *reading)
{
    size_t n = 0;
    qsort(reading->open, reading->n_open, sizeof *reading->open, compare_items);
    for (size_t i = 0; i < reading->n_open; i++)
        if (n > 0 && compare_items(&reading->open[n - 1], &reading->open[i]) == 0) {
            reading->open[n - 1].count += reading->open[i].count;
            reading->open[n - 1].weight += reading->open[i].weight;
        } else {
            reading->open[n++] = reading->open[i];
        }
    reading->n_open = n;
}

/* Keeps a sample until its burst ends. Of more than twice as many places as are told apart, those
 * with higher addresses become one. False: no memory. */
static bool keep_open(struct sampled_reading *reading, const struct lull_sampled_item *item)
{
    if (reading->n_open == 2 * (size_t)LULL_SAMPLED_PLACES_MOST) {
        join_open_items(reading);
        for (size_t i = LULL_SAMPLED_PLACES_MOST + 1; i < reading->n_open; i++) {
            reading->open[LULL_SAMPLED_PLACES_MOST].count += reading->open[i].count;
            reading->open[LULL_SAMPLED_PLACES_MOST].weight += reading->open[i].weight;
        }
        if (reading->n_open > LULL_SAMPLED_PLACES_MOST) {
            struct lull_sampled_item *others = &reading->open[LULL_SAMPLED_PLACES_MOST];
            others->context = anything;
            others->object = LULL_NONE;
            others->offset = 0;
            reading->n_open = LULL_SAMPLED_PLACES_MOST + 1;
        }
    }
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

static bool take_sample(struct lull_sampled_collector *collector, struct sampled_reading *reading,
                        uint32_t location, const struct lull_step *step, uint32_t path)
{
    const struct lull_trace *trace = collector->trace;
    const uint32_t process = trace->locations[location].process;
    const bool is_first = trace->processes[process].first_location == location;
    const struct lull_sampled_item item = {.context = {.path = path,
                                                       .call = LULL_NONE,
                                                       .parallel = !step->parallel ? LULL_NONE
                                                                   : reading->parallel
                                                                       ? reading->parallel - 1
                                                                       : LULL_SAMPLED_UNNAMED,
                                                       .locked = step->sample.locked},
                                           .offset = step->sample.offset,
                                           .object = step->object,
                                           .count = 1,
                                           .weight = step->sample.weight};
    reading->weight += item.weight;
    reading->heaviest = item.weight > reading->heaviest ? item.weight : reading->heaviest;
    return is_first ? keep_open(reading, &item) : add_item(collector, reading, &item);
}

bool lull_sampled_take(struct lull_sampled_collector *collector, uint32_t location,
                       const struct lull_step *step, uint32_t path)
{
    struct sampled_reading *reading = &collector->readings[location];
    if (step->kind == LULL_STEP_FORK)
        reading->parallel = step->region + 1; /* 0: LULL_NONE */
    if (step->kind != LULL_STEP_SAMPLE || step->activity != LULL_USEFUL ||
        step->sample.weight == 0 ||
        atomic_load_explicit(&collector->items, memory_order_relaxed) > LULL_SAMPLED_ITEMS_MOST)
        return true;
    return take_sample(collector, reading, location, step, path);
}

/* ---- the collector --------------------------------------------------------------------------- */

struct lull_sampled_collector *lull_sampled_create(const struct lull_trace *trace)
{
    struct lull_sampled_collector *collector = calloc(1, sizeof *collector);
    if (!collector)
        return NULL;
    collector->trace = trace;
    collector->readings = calloc(trace->n_locations + (size_t)1, sizeof *collector->readings);
    if (!collector->readings) {
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
        free(collector->readings[l].items);
        free(collector->readings[l].open);
        lull_hash_free(&collector->readings[l].numbers);
    }
    free(collector->readings);
    free(collector);
}

/* ---- from member to member ------------------------------------------------------------------- */

bool lull_sampled_put(const struct lull_sampled_collector *collector, struct lull_flow *flow)
{
    const uint32_t last = LULL_NONE;
    bool good = true;
    for (uint32_t l = 0; good && l < collector->trace->n_locations; l++) {
        const struct sampled_reading *reading = &collector->readings[l];
        if (reading->n_items > 0)
            good =
                lull_flow_put(flow, &l, sizeof l) &&
                lull_flow_put(flow, &reading->weight, sizeof reading->weight) &&
                lull_flow_put(flow, &reading->heaviest, sizeof reading->heaviest) &&
                lull_flow_put_items(flow, reading->items, reading->n_items, sizeof *reading->items);
    }
    return good && lull_flow_put(flow, &last, sizeof last);
}

bool lull_sampled_get(struct lull_sampled_collector *collector, struct lull_flow *flow)
{
    uint32_t l = 0;
    while (lull_flow_get(flow, &l, sizeof l) && l < collector->trace->n_locations) {
        struct sampled_reading *reading = &collector->readings[l];
        if (!lull_flow_get(flow, &reading->weight, sizeof reading->weight) ||
            !lull_flow_get(flow, &reading->heaviest, sizeof reading->heaviest))
            return false;
        free(reading->items);
        reading->items = lull_flow_get_items(flow, sizeof *reading->items, &reading->n_items);
        if (!reading->items)
            return false;
        atomic_fetch_add(&collector->items, (unsigned)reading->n_items);
        if (atomic_load(&collector->items) > LULL_SAMPLED_ITEMS_MOST) { /* nothing will be told */
            free(reading->items);
            reading->items = NULL;
            reading->n_items = 0;
        }
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
    struct lull_sampled_thread *threads =
        lull_arena_zero(arena, trace->n_locations + (size_t)1, sizeof *threads);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct sampled_reading *reading = &collector->readings[l];
        struct lull_sampled_item *copy = NULL;
        if (reading->n_items > 0) {
            copy = lull_arena_zero(arena, reading->n_items, sizeof *copy);
            memcpy(copy, reading->items, reading->n_items * sizeof *copy);
        }
        threads[l] = (struct lull_sampled_thread){.items = copy,
                                                  .n_items = (uint32_t)reading->n_items,
                                                  .weight = reading->weight,
                                                  .heaviest = reading->heaviest};
    }
    *sampled = (struct lull_sampled){.trace = trace, .threads = threads};
    return sampled;
}
