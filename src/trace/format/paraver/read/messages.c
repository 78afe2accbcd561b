/* Communication records are not in time order and each speaks of two locations. So they are read
 * in a pass of their own, and sorted by location: 32 bytes per half message, up to twice as many
 * while they are read. */
#include "trace/format/paraver/read/pipe.h"

#include "base/array.h"
#include "base/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct collection {
    const struct lull_trace *trace;
    struct lull_prv_messages *messages;
    atomic_uint next; /* location to be sorted */
};

static lull_status no_memory_for_messages(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for messages", trace->path);
}

static int compare_halves(const void *a, const void *b)
{
    const struct lull_prv_half *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    if (left->kind != right->kind)
        return left->kind > right->kind ? -1 : 1;
    if (left->peer != right->peer)
        return left->peer < right->peer ? -1 : 1;
    if (left->tag != right->tag)
        return left->tag < right->tag ? -1 : 1;
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

static lull_status take_message_batch(void *context, const struct lull_prv_batch *batch,
                                      uint64_t line, double share, struct lull_error *err)
{
    (void)share;
    struct collection *collection = context;
    struct lull_prv_messages *messages = collection->messages;
    for (size_t i = 0; i < batch->n_items; i++) {
        lull_prv_tell_late(collection->trace, &batch->items[i], line + batch->items[i].line);
        if (batch->items[i].kind == LULL_PRV_BAD_ITEM)
            return lull_prv_bad_batch(collection->trace, batch, line + batch->items[i].line, err);
    }
    for (size_t i = 0; i < batch->n_halves; i++) {
        struct lull_prv_location_messages *own = &messages->of_location[batch->halves[i].location];
        if (!lull_array_reserve(&own->halves, &own->capacity, own->n + 1, sizeof *own->halves))
            return no_memory_for_messages(collection->trace, err);
        own->halves[own->n++] = batch->halves[i];
    }
    return LULL_OK;
}

/* ---- order --------------------------------------------------------------------------------- */

/* Most are nearly in order: each is moved to its place, unless that takes too long in all. */
static void sort_halves(struct lull_prv_half *halves, size_t n)
{
    size_t moves_left = 8 * n;
    for (size_t i = 1; i < n; i++) {
        struct lull_prv_half half = halves[i];
        size_t at = i;
        for (; at > 0 && moves_left > 0 && compare_halves(&half, &halves[at - 1]) < 0;
             at--, moves_left--)
            halves[at] = halves[at - 1];
        halves[at] = half;
        if (moves_left == 0) {
            qsort(halves, n, sizeof *halves, compare_halves);
            return;
        }
    }
}

static void sort_locations(void *context, unsigned worker)
{
    (void)worker;
    struct collection *collection = context;
    const struct lull_prv_messages *messages = collection->messages;
    uint32_t l;
    while ((l = atomic_fetch_add(&collection->next, 1)) < messages->n_locations)
        sort_halves(messages->of_location[l].halves, messages->of_location[l].n);
}

lull_status lull_prv_messages_read(const struct lull_trace *trace, unsigned workers,
                                   struct lull_prv_messages *messages, struct lull_error *err)
{
    const struct lull_prv_wish wish = {.messages = true};
    struct collection collection = {.trace = trace, .messages = messages};
    atomic_init(&collection.next, 0);
    *messages = (struct lull_prv_messages){
        .of_location = calloc((size_t)trace->n_locations + 1, sizeof *messages->of_location),
        .n_locations = trace->n_locations};
    if (!messages->of_location)
        return no_memory_for_messages(trace, err);
    lull_status status =
        lull_prv_pipe_run(trace, true, workers, &wish, take_message_batch, &collection, err);
    if (status == LULL_OK)
        lull_parallel_run(workers, sort_locations, &collection);
    else
        lull_prv_messages_free(messages);
    return status;
}

void lull_prv_messages_free(struct lull_prv_messages *messages)
{
    for (uint32_t l = 0; messages->of_location && l < messages->n_locations; l++)
        free(messages->of_location[l].halves);
    free(messages->of_location);
    *messages = (struct lull_prv_messages){0};
}
