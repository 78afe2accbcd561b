#include "base/file.h"
#include "base/output_file.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/lane.h"
#include "trace/shared.h"

#include <stdlib.h>

/* Of those of all cursors that may be open side by side. */
enum { MOST_EVENTS = 256, LEAST_EVENTS = 32, EVENTS_IN_SIGHT = 1 << 17 };

struct lull_cursor {
    struct lull_lane lane;
    struct lull_lane_room *room;
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

uint32_t lull_cursor_block(const struct lull_trace *trace)
{
    uint32_t events = MOST_EVENTS;
    while (events > LEAST_EVENTS && (uint64_t)events * trace->n_locations > EVENTS_IN_SIGHT)
        events /= 2;
    return events;
}

lull_status lull_cursor_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                             struct lull_cursor **ret_cursor, struct lull_error *err)
{
    mask = mask ? mask : LULL_MASK_ALL;
    lull_status status = readable_by_location(trace, &trace, err);
    if (status != LULL_OK)
        return status;
    struct lull_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor || !(cursor->room = lull_lane_room_create(lull_cursor_block(trace))))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    if (status == LULL_OK)
        status = lull_lane_open(&cursor->lane, trace, location, mask, err);
    if (status != LULL_OK) {
        lull_cursor_close(cursor);
        return status;
    }
    *ret_cursor = cursor;
    return LULL_OK;
}

lull_status lull_cursor_next(struct lull_cursor *cursor, struct lull_block *ret_block,
                             struct lull_error *err)
{
    struct lull_block block = {.location = cursor->lane.location, .events = cursor->room->events};
    while (block.count == 0 && !cursor->lane.ended) {
        lull_status status = lull_lane_next(&cursor->lane, cursor->room, &block, err);
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
    lull_lane_close(&cursor->lane);
    lull_lane_room_destroy(cursor->room);
    free(cursor);
}
