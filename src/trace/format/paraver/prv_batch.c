/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/paraver/prv_batch.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* ==== batch =================================================================================== */

void lull_prv_batch_clear(struct lull_prv_batch *batch)
{
    batch->n_items = batch->n_pairs = batch->n_readings = batch->n_halves = 0;
    batch->n_lines = 0;
    batch->in_order = true;
    batch->first_time = INT64_MAX;
    batch->last_time = INT64_MIN;
    /* Who goes through them by a pointer begins at an array that is there. */
    batch->no_memory =
        !lull_array_reserve(&batch->pairs, &batch->pair_capacity, 1, sizeof *batch->pairs) ||
        !lull_array_reserve(&batch->readings, &batch->reading_capacity, 1, sizeof *batch->readings);
}

void lull_prv_batch_free(struct lull_prv_batch *batch)
{
    free(batch->items);
    free(batch->pairs);
    free(batch->readings);
    free(batch->halves);
}

/* ==== order =================================================================================== */

void lull_prv_order_begin(struct lull_prv_order *order, const struct lull_trace *trace)
{
    *order = (struct lull_prv_order){.trace = trace, .latest = INT64_MIN};
}

static lull_status no_memory_for_order(const struct lull_prv_order *order, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", order->trace->path);
}

/* Whether an item is a line of a thread, which has its place in the order of time. */
static bool has_place(const struct lull_prv_item *item)
{
    return (item->kind == LULL_PRV_STATE_ITEM || item->kind == LULL_PRV_EVENTS_ITEM) &&
           item->location != LULL_NONE;
}

static size_t pairs_of_item(const struct lull_trace *trace, const struct lull_prv_item *item)
{
    if (item->kind == LULL_PRV_STATE_ITEM)
        return item->state + 1 == trace->n_states;
    return item->kind == LULL_PRV_EVENTS_ITEM ? item->n_pairs : 0;
}

static size_t readings_of_item(const struct lull_prv_item *item)
{
    return item->kind == LULL_PRV_EVENTS_ITEM ? item->n_readings : 0;
}

/* ---- late lines ------------------------------------------------------------------------------ */

/* A late line that has a place: in front of an item of a batch. */
struct late_line {
    size_t batch, before; /* indices of both */
    uint64_t line;        /* its number in the file */
    struct lull_prv_item item;
    const struct lull_prv_pair *pairs; /* of the item */
    const struct lull_counter_reading *readings;
};

struct late_lines {
    struct late_line *lines; /* malloc'd */
    size_t n, capacity;
    bool *gone; /* malloc'd, for each item of the last batch: whether it is one of the lines */
};

/* Late lines that move to one place come in order of time there. */
static int compare_late_lines(const void *a, const void *b)
{
    const struct late_line *left = a, *right = b;
    if (left->batch != right->batch)
        return left->batch < right->batch ? -1 : 1;
    if (left->before != right->before)
        return left->before < right->before ? -1 : 1;
    if (left->item.time != right->item.time)
        return left->item.time < right->item.time ? -1 : 1;
    return left->line < right->line ? -1 : left->line > right->line;
}

/* Finds where the late line at an index of the last batch belongs: in front of the first later line
 * of its thread, and of later lines of others that stand in front of that one. Lines that are
 * `gone` from the last batch stand in no line's way. False: there is no such line among those that
 * it may move past. */
static bool find_late_place(struct lull_prv_batch *const *batches, size_t n_batches,
                            const bool *gone, size_t index, struct late_line *late)
{
    bool found = false, adjacent = false;
    for (size_t b = n_batches; b-- > 0; index = b > 0 ? batches[b - 1]->n_items : 0) {
        for (size_t i = index; i-- > 0;) {
            const struct lull_prv_item *item = &batches[b]->items[i];
            if (batches[b]->line + item->line + LULL_PRV_LATE_LINES < late->line)
                return found;
            if (!has_place(item) || (b + 1 == n_batches && gone[i]))
                continue;
            const bool later = item->time > late->item.time;
            adjacent = later && (adjacent || item->location == late->item.location);
            if (adjacent) {
                found = true;
                late->batch = b;
                late->before = i;
            }
        }
    }
    return found;
}

/* Looks at the lines of a batch without moving any. */
static void look_at_order(struct lull_prv_order *order, const struct lull_prv_batch *batch)
{
    for (size_t i = 0; i < batch->n_items; i++) {
        const struct lull_prv_item *item = &batch->items[i];
        if (has_place(item) && item->time > order->threads[item->location].latest)
            order->threads[item->location].latest = item->time;
    }
}

static void count_late(struct lull_prv_thread_order *thread, uint64_t line)
{
    if (thread->late++ == 0)
        thread->line = line;
}

/* Lists the late lines of the last batch that have a place. */
static bool list_late(struct lull_prv_order *order, struct lull_prv_batch *const *batches,
                      size_t n_batches, struct late_lines *late)
{
    const struct lull_prv_batch *batch = batches[n_batches - 1];
    const struct lull_prv_pair *pairs = batch->pairs;
    const struct lull_counter_reading *readings = batch->readings;
    late->gone = calloc(batch->n_items + 1, sizeof *late->gone);
    for (size_t i = 0; late->gone && i < batch->n_items; i++) {
        const struct lull_prv_item *item = &batch->items[i];
        struct late_line line = {
            .line = batch->line + item->line, .item = *item, .pairs = pairs, .readings = readings};
        pairs += pairs_of_item(order->trace, item);
        readings += readings_of_item(item);
        if (!has_place(item))
            continue;
        struct lull_prv_thread_order *thread = &order->threads[item->location];
        if (item->time >= thread->latest) {
            thread->latest = item->time;
            continue;
        }
        if (!find_late_place(batches, n_batches, late->gone, i, &line))
            continue;
        late->gone[i] = true;
        count_late(thread, line.line);
        if (!lull_array_reserve(&late->lines, &late->capacity, late->n + 1, sizeof *late->lines))
            return false;
        late->lines[late->n++] = line;
    }
    return late->gone;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void append_item(struct lull_prv_batch *batch, const struct lull_prv_item *item,
                        const struct lull_prv_pair *pairs, size_t n_pairs,
                        const struct lull_counter_reading *readings, size_t n_readings)
{
    batch->items[batch->n_items++] = *item;
    if (n_pairs > 0)
        memcpy(batch->pairs + batch->n_pairs, pairs, n_pairs * sizeof *pairs);
    if (n_readings > 0)
        memcpy(batch->readings + batch->n_readings, readings, n_readings * sizeof *readings);
    batch->n_pairs += n_pairs;
    batch->n_readings += n_readings;
}

static void append_late(const struct lull_trace *trace, struct lull_prv_batch *batch,
                        const struct late_line *late)
{
    append_item(batch, &late->item, late->pairs, pairs_of_item(trace, &late->item), late->readings,
                readings_of_item(&late->item));
    batch->items[batch->n_items - 1].line = (uint32_t)(late->line - batch->line);
}

/* Makes room in `fresh` for what a batch and the late lines hold. */
static bool reserve_merged(const struct lull_trace *trace, const struct lull_prv_batch *batch,
                           const struct late_line *late, size_t n_late,
                           struct lull_prv_batch *fresh)
{
    size_t n_pairs = batch->n_pairs + 1, n_readings = batch->n_readings + 1;
    for (size_t i = 0; i < n_late; i++) {
        n_pairs += pairs_of_item(trace, &late[i].item);
        n_readings += readings_of_item(&late[i].item);
    }
    return lull_array_reserve(&fresh->items, &fresh->item_capacity, batch->n_items + n_late,
                              sizeof *fresh->items) &&
           lull_array_reserve(&fresh->pairs, &fresh->pair_capacity, n_pairs,
                              sizeof *fresh->pairs) &&
           lull_array_reserve(&fresh->readings, &fresh->reading_capacity, n_readings,
                              sizeof *fresh->readings);
}

/* Puts late lines into a batch, and drops the lines of `gone`, [n_items], or of none if it is
 * NULL. */
static bool merge_late(const struct lull_trace *trace, struct lull_prv_batch *batch,
                       const struct late_line *late, size_t n_late, const bool *gone)
{
    struct lull_prv_batch fresh = *batch;
    fresh.items = NULL;
    fresh.pairs = NULL;
    fresh.readings = NULL;
    fresh.n_items = fresh.n_pairs = fresh.n_readings = 0;
    fresh.item_capacity = fresh.pair_capacity = fresh.reading_capacity = 0;
    const bool good = reserve_merged(trace, batch, late, n_late, &fresh);
    const struct lull_prv_pair *pairs = batch->pairs;
    const struct lull_counter_reading *readings = batch->readings;
    size_t next = 0;
    for (size_t i = 0; good && i < batch->n_items; i++) {
        const struct lull_prv_item *item = &batch->items[i];
        const size_t n_pairs = pairs_of_item(trace, item), n_readings = readings_of_item(item);
        for (; next < n_late && late[next].before == i; next++)
            append_late(trace, &fresh, &late[next]);
        if (!gone || !gone[i])
            append_item(&fresh, item, pairs, n_pairs, readings, n_readings);
        pairs += n_pairs;
        readings += n_readings;
    }
    struct lull_prv_batch *old = good ? batch : &fresh;
    free(old->items);
    free(old->pairs);
    free(old->readings);
    if (good)
        *batch = fresh;
    return good;
}

/* Moves the late lines, which all stand in the last batch: to that one last, because they point
 * into it. */
static bool move_late(const struct lull_trace *trace, struct lull_prv_batch *const *batches,
                      size_t n_batches, struct late_lines *late)
{
    size_t begin = 0;
    bool good = true;
    qsort(late->lines, late->n, sizeof *late->lines, compare_late_lines);
    for (size_t b = 0; good && b < n_batches; b++) {
        size_t end = begin;
        while (end < late->n && late->lines[end].batch == b)
            end++;
        const bool last = b + 1 == n_batches;
        if (last || end > begin)
            good = merge_late(trace, batches[b], &late->lines[begin], end - begin,
                              last ? late->gone : NULL);
        begin = end;
    }
    return good;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* From now on the latest time of each thread is known. */
static bool begin_threads(struct lull_prv_order *order, struct lull_prv_batch *const *before,
                          size_t n_before)
{
    const uint32_t n = order->trace->n_locations;
    order->threads = calloc((size_t)n + 1, sizeof *order->threads);
    for (uint32_t l = 0; order->threads && l < n; l++)
        order->threads[l].latest = INT64_MIN;
    for (size_t b = 0; order->threads && b < n_before; b++)
        look_at_order(order, before[b]);
    return order->threads;
}

lull_status lull_prv_order_restore(struct lull_prv_order *order,
                                   struct lull_prv_batch *const *batches, size_t n_batches,
                                   struct lull_error *err)
{
    struct late_lines late = {0};
    bool good = (order->threads || begin_threads(order, batches, n_batches - 1)) &&
                list_late(order, batches, n_batches, &late);
    if (good && late.n > 0)
        good = move_late(order->trace, batches, n_batches, &late);
    free(late.lines);
    free(late.gone);
    return good ? LULL_OK : no_memory_for_order(order, err);
}

static void tell_thread_order(const struct lull_trace *trace, uint32_t location,
                              const struct lull_prv_thread_order *thread)
{
    const struct lull_location *own = &trace->locations[location];
    for (uint64_t i = 0; i < thread->late; i++)
        lull_trace_add_quirk(trace,
                             "lines of a thread stand behind later ones of it; lines that are at "
                             "most 1000 lines late are sorted",
                             "line %llu, %llu of process %u, thread %u",
                             (unsigned long long)thread->line, (unsigned long long)thread->late,
                             own->process, own->number);
}

void lull_prv_order_end(struct lull_prv_order *order, bool tell)
{
    for (uint32_t l = 0; tell && order->threads && l < order->trace->n_locations; l++)
        tell_thread_order(order->trace, l, &order->threads[l]);
    free(order->threads);
}
