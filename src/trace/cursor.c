#include "base/file.h"
#include "base/output_file.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/nesting.h"
#include "trace/shared.h"

#include <stdlib.h>

enum { BLOCK_EVENTS = 256 };

struct lull_cursor {
    const struct lull_trace *trace;
    uint32_t location;
    struct lull_stream *stream;
    struct lull_nesting nesting;
    struct lull_event_buffer scratch;
    bool ended;
    struct lull_event events[BLOCK_EVENTS];
};

/* The output is never committed: its temporary folder holds the copy until the trace is closed. */
static lull_status convert_to_tape(const struct lull_trace *trace, struct lull_error *err)
{
    struct lull_trace_shared *shared = trace->shared;
    const char *path = lull_arena_printf(trace->arena, "%s/lull", lull_temporary_folder());
    lull_status status = lull_output_begin(path, true, true, &shared->by_location_output, err);
    if (status != LULL_OK)
        return status;
    const char *tape =
        lull_arena_printf(trace->arena, "%s/tape", lull_output_path(shared->by_location_output));
    status = lull_convert(trace, tape, &lull_format_tape, false, NULL, NULL, err);
    if (status == LULL_OK)
        status = lull_trace_open(tape, &shared->by_location, err);
    if (status != LULL_OK) {
        lull_output_discard(shared->by_location_output);
        shared->by_location_output = NULL;
    }
    return status;
}

/* The trace to read single locations from: `trace` itself or its temporary copy. */
static lull_status readable_by_location(const struct lull_trace *trace,
                                        const struct lull_trace **ret_trace, struct lull_error *err)
{
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    if (reader && reader->stream_open) {
        *ret_trace = trace;
        return LULL_OK;
    }
    if (!reader || !reader->drive)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: this trace has no events", trace->path);
    struct lull_trace_shared *shared = trace->shared;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&shared->convert_lock);
    if (!shared->by_location)
        status = convert_to_tape(trace, err);
    *ret_trace = shared->by_location;
    pthread_mutex_unlock(&shared->convert_lock);
    return status;
}

lull_status lull_cursor_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                             struct lull_cursor **ret_cursor, struct lull_error *err)
{
    mask = mask ? mask : LULL_MASK_ALL;
    lull_status status = readable_by_location(trace, &trace, err);
    if (status != LULL_OK)
        return status;
    struct lull_cursor *cursor = malloc(sizeof *cursor);
    if (!cursor)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    cursor->trace = trace;
    cursor->location = location;
    cursor->scratch = (struct lull_event_buffer){0};
    cursor->ended = false;
    lull_nesting_begin(&cursor->nesting, mask, false);
    status = trace->format->reader->stream_open(trace, location, lull_nesting_mask(mask),
                                                &cursor->stream, err);
    if (status != LULL_OK) {
        free(cursor);
        return status;
    }
    *ret_cursor = cursor;
    return LULL_OK;
}

lull_status lull_cursor_next(struct lull_cursor *cursor, struct lull_block *ret_block,
                             struct lull_error *err)
{
    struct lull_block block = {.location = cursor->location, .events = cursor->events};
    while (block.count == 0 && !cursor->ended) {
        size_t got = 0;
        lull_status status = cursor->trace->format->reader->stream_read(
            cursor->stream, cursor->events, BLOCK_EVENTS, &got, err);
        block.events = cursor->events;
        block.count = (uint32_t)got;
        cursor->ended = got == 0;
        if (status == LULL_OK && !cursor->ended)
            status = lull_nesting_repair(&cursor->nesting, cursor->trace, cursor->location,
                                         &block.events, &block.count, &cursor->scratch, err);
        else if (status == LULL_OK)
            status = lull_nesting_close_all(&cursor->nesting, cursor->trace, cursor->location,
                                            &block.events, &block.count, &cursor->scratch, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_block = block;
    return LULL_OK;
}

void lull_cursor_close(struct lull_cursor *cursor)
{
    if (!cursor)
        return;
    cursor->trace->format->reader->stream_close(cursor->stream);
    lull_nesting_end(&cursor->nesting);
    free(cursor->scratch.events);
    free(cursor);
}
