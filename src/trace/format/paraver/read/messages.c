/* Communication records are not in time order and each speaks of two locations. So they are read
 * in a pass of their own, and sorted: 32 bytes per half message, and as many while they are. */
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

static lull_status out_of_memory(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for messages", trace->path);
}

static int compare(const void *a, const void *b)
{
    const struct lull_prv_half *left = a, *right = b;
    if (left->location != right->location)
        return left->location < right->location ? -1 : 1;
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

static lull_status take_batch(void *context, const struct lull_prv_batch *batch, uint64_t line,
                              double share, struct lull_error *err)
{
    (void)share;
    struct collection *collection = context;
    struct lull_prv_messages *messages = collection->messages;
    for (size_t i = 0; i < batch->n_items; i++) {
        lull_prv_tell_late(collection->trace, &batch->items[i], line + batch->items[i].line);
        if (batch->items[i].kind == LULL_PRV_BAD_ITEM)
            return lull_prv_bad_batch(collection->trace, batch, line + batch->items[i].line, err);
    }
    if (!lull_array_reserve(&messages->halves, &messages->capacity,
                            messages->n_halves + batch->n_halves, sizeof *messages->halves))
        return out_of_memory(collection->trace, err);
    if (batch->n_halves > 0)
        memcpy(messages->halves + messages->n_halves, batch->halves,
               batch->n_halves * sizeof *batch->halves);
    messages->n_halves += batch->n_halves;
    return LULL_OK;
}

/* ---- order --------------------------------------------------------------------------------- */

/* Brings those of one location together, in a new array. */
static bool group(const struct lull_trace *trace, struct lull_prv_messages *messages)
{
    const size_t n = messages->n_halves;
    struct lull_prv_half *halves = malloc((n + 1) * sizeof *halves);
    size_t *next = calloc((size_t)trace->n_locations + 1, sizeof *next);
    messages->first = calloc((size_t)trace->n_locations + 1, sizeof *messages->first);
    if (!halves || !next || !messages->first) {
        free(halves);
        free(next);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        messages->first[messages->halves[i].location + 1]++;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        next[l + 1] = messages->first[l + 1] += messages->first[l];
    for (size_t i = 0; i < n; i++)
        halves[next[messages->halves[i].location]++] = messages->halves[i];
    free(messages->halves);
    free(next);
    messages->halves = halves;
    messages->capacity = n + 1;
    return true;
}

static void sort_locations(void *context, unsigned worker)
{
    (void)worker;
    struct collection *collection = context;
    const struct lull_prv_messages *messages = collection->messages;
    uint32_t l;
    while ((l = atomic_fetch_add(&collection->next, 1)) < collection->trace->n_locations) {
        struct lull_prv_half *halves = messages->halves + messages->first[l];
        size_t n = messages->first[l + 1] - messages->first[l], i = 1;
        while (i < n && compare(&halves[i - 1], &halves[i]) <= 0)
            i++;
        if (i < n)
            qsort(halves, n, sizeof *halves, compare);
    }
}

lull_status lull_prv_messages_read(const struct lull_trace *trace, unsigned workers,
                                   struct lull_prv_messages *messages, struct lull_error *err)
{
    const struct lull_prv_wish wish = {.messages = true};
    struct collection collection = {.trace = trace, .messages = messages};
    atomic_init(&collection.next, 0);
    *messages = (struct lull_prv_messages){0};
    lull_status status =
        lull_prv_pipe_run(trace, true, workers, &wish, take_batch, &collection, err);
    if (status == LULL_OK && !group(trace, messages))
        status = out_of_memory(trace, err);
    if (status == LULL_OK)
        lull_parallel_run(workers, sort_locations, &collection);
    else
        lull_prv_messages_free(messages);
    return status;
}

void lull_prv_messages_free(struct lull_prv_messages *messages)
{
    free(messages->halves);
    free(messages->first);
    *messages = (struct lull_prv_messages){0};
}
