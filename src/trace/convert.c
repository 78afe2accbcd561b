/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion: location after location, or merged in time order over all locations. */
#include "trace/convert.h"

#include "trace/scan.h"

#include <stdlib.h>

static lull_status pass_block_on(void *context, unsigned worker, const struct lull_block *block,
                                 struct lull_error *err)
{
    const struct lull_writer *writer = context;
    (void)worker;
    return writer->block(writer->state, block, err);
}

struct progress {
    void (*report)(void *context, double share);
    void *context;
};

static lull_status write_by_location(const struct lull_trace *trace, struct lull_writer *writer,
                                     const struct progress *progress, struct lull_error *err)
{
    struct lull_visitor visitor = {.context = writer, .block = pass_block_on};
    struct lull_scan_options options = {.workers = 1,
                                        .application = LULL_NONE,
                                        .progress = progress->report,
                                        .progress_context = progress->context};
    return lull_scan(trace, &options, &visitor, err);
}

/* ---- merged ---------------------------------------------------------------------------------- */

/* A cursor and where it stands; items form a binary heap by (time, location). */
struct item {
    struct lull_cursor *cursor;
    struct lull_block block;
    uint32_t next; /* index in the block of the next event */
};

static int64_t time_of_item(const struct item *item)
{
    return item->block.events[item->next].time;
}

static bool is_item_before(const struct item *a, const struct item *b)
{
    if (time_of_item(a) != time_of_item(b))
        return time_of_item(a) < time_of_item(b);
    return a->block.location < b->block.location;
}

static void sift_down(struct item *heap, size_t count, size_t at)
{
    struct item moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && is_item_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_item_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* Hands over the events of the first item that come before those of all other items. */
static lull_status write_run(struct item *heap, size_t count, struct lull_writer *writer,
                             struct lull_error *err)
{
    struct item *item = &heap[0];
    const struct item *rival = count > 1 ? &heap[1] : NULL;
    if (count > 2 && is_item_before(&heap[2], rival))
        rival = &heap[2];
    uint32_t first = item->next;
    do
        item->next++;
    while (item->next < item->block.count && (!rival || is_item_before(item, rival)));
    struct lull_block run = {.location = item->block.location,
                             .count = item->next - first,
                             .events = item->block.events + first};
    return writer->block(writer->state, &run, err);
}

static lull_status merge(struct item *heap, size_t count, struct lull_writer *writer,
                         const struct lull_trace *trace, const struct progress *progress,
                         struct lull_error *err)
{
    for (size_t i = count; i-- > 0;)
        sift_down(heap, count, i);
    for (uint64_t runs = 0; count > 0; runs++) {
        lull_status status = write_run(heap, count, writer, err);
        struct item *item = &heap[0];
        if (status == LULL_OK && item->next == item->block.count) {
            item->next = 0;
            status = lull_cursor_next(item->cursor, &item->block, err);
        }
        if (status != LULL_OK)
            return status;
        if (item->block.count == 0) {
            struct item ended = heap[0];
            heap[0] = heap[--count];
            heap[count] = ended; /* ended; its cursor is closed later */
        }
        if (count > 0)
            sift_down(heap, count, 0);
        if (progress->report && runs % 65536 == 0 && count > 0 && trace->duration > 0)
            progress->report(progress->context,
                             (double)time_of_item(&heap[0]) / (double)trace->duration);
    }
    return LULL_OK;
}

static lull_status write_merged(const struct lull_trace *trace, struct lull_writer *writer,
                                const struct progress *progress, struct lull_error *err)
{
    struct item *heap = calloc(trace->n_locations, sizeof *heap);
    if (!heap)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    lull_status status = LULL_OK;
    size_t opened = 0, live = 0;
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        struct item item = {0};
        status = lull_cursor_open(trace, l, LULL_MASK_ALL, &item.cursor, err);
        if (status != LULL_OK)
            break;
        status = lull_cursor_next(item.cursor, &item.block, err);
        heap[opened++] = item;
        if (status == LULL_OK && item.block.count > 0) { /* items with events stand at the front */
            heap[opened - 1] = heap[live];
            heap[live++] = item;
        }
    }
    if (status == LULL_OK)
        status = merge(heap, live, writer, trace, progress, err);
    for (size_t i = 0; i < opened; i++)
        lull_cursor_close(heap[i].cursor);
    free(heap);
    return status;
}

lull_status lull_convert(const struct lull_trace *trace, const char *path,
                         const struct lull_format *format, bool replace,
                         void (*report)(void *context, double share), void *progress_context,
                         struct lull_error *err)
{
    if (!format || (!format->writer_open && !format->write))
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: this format cannot be written", path);
    if (trace->events == LULL_EVENTS_NONE)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: holds sums and no events (a profile): there is nothing to convert",
                         trace->path);
    if (format->write)
        return format->write(trace, path, replace, report, progress_context, err);
    struct lull_writer writer;
    lull_status status = format->writer_open(trace, path, replace, &writer, err);
    if (status != LULL_OK)
        return status;
    struct progress progress = {report, progress_context};
    status = writer.global_order ? write_merged(trace, &writer, &progress, err)
                                 : write_by_location(trace, &writer, &progress, err);
    lull_status closed =
        writer.close(writer.state, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}
