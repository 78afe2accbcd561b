/* Communication records are not in time order and each speaks of two locations. So they are read
 * in a pass of their own, and sorted: 32 bytes per half message. */
#include "trace/format/paraver/read/records.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static bool add(struct lull_prv_messages *messages, const struct lull_prv_half halves[2])
{
    if (!lull_array_reserve(&messages->halves, &messages->capacity, messages->n_halves + 2,
                            sizeof *messages->halves))
        return false;
    messages->halves[messages->n_halves++] = halves[0];
    messages->halves[messages->n_halves++] = halves[1];
    return true;
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

static lull_status collect(struct lull_prv_records *records, struct lull_prv_messages *messages,
                           struct lull_error *err)
{
    const uint8_t *at, *end;
    lull_status status;
    while ((status = lull_prv_records_next(records, &at, &end, err)) == LULL_OK && at < end) {
        for (; at < end; at = (const uint8_t *)memchr(at, '\n', (size_t)(end - at)) + 1) {
            struct lull_prv_half halves[2];
            if (at[0] == '3' && at[1] == ':') {
                status = lull_prv_message(records, at + 2, halves, err);
                if (status != LULL_OK)
                    return status;
                if (!add(messages, halves))
                    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for messages",
                                     records->trace->path);
            }
            records->line++;
        }
    }
    return status;
}

static lull_status sort(const struct lull_trace *trace, struct lull_prv_messages *messages,
                        struct lull_error *err)
{
    messages->first = calloc((size_t)trace->n_locations + 1, sizeof *messages->first);
    if (!messages->first)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for messages", trace->path);
    if (messages->n_halves > 0)
        qsort(messages->halves, messages->n_halves, sizeof *messages->halves, compare);
    for (size_t i = 0; i < messages->n_halves; i++)
        messages->first[messages->halves[i].location + 1]++;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        messages->first[l + 1] += messages->first[l];
    return LULL_OK;
}

lull_status lull_prv_messages_read(const struct lull_trace *trace,
                                   struct lull_prv_messages *messages, struct lull_error *err)
{
    struct lull_prv_records records;
    *messages = (struct lull_prv_messages){0};
    lull_status status = lull_prv_records_open(trace, true, &records, err);
    if (status != LULL_OK)
        return status;
    status = collect(&records, messages, err);
    if (status == LULL_OK)
        status = sort(trace, messages, err);
    lull_prv_records_close(&records);
    if (status != LULL_OK)
        lull_prv_messages_free(messages);
    return status;
}

void lull_prv_messages_free(struct lull_prv_messages *messages)
{
    free(messages->halves);
    free(messages->first);
    *messages = (struct lull_prv_messages){0};
}
