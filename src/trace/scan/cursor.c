#include "base/file.h"
#include "base/output_file.h"
#include "trace/format.h"
#include "trace/scan/lane.h"
#include "trace/shared.h"

#include <stdlib.h>

/* Of those of all cursors that may be open side by side. */
enum { MOST_EVENTS = 256, LEAST_EVENTS = 32, EVENTS_IN_SIGHT = 1 << 17 };

struct lull_cursor {
    struct lull_lane lane;
    struct lull_lane_room *room;
};

/* ---- copies of what cannot be read by location ------------------------------------------------
 */

static lull_status copy_block(void *context, unsigned worker, const struct lull_block *block,
                              struct lull_error *err)
{
    const struct lull_writer *writer = context;
    (void)worker;
    return writer->block(writer->state, block, err);
}

static lull_status write_tape(const struct lull_trace *trace, struct lull_process_range range,
                              const char *path, struct lull_error *err)
{
    struct lull_writer writer;
    lull_status status = lull_format_tape.writer_open(trace, path, false, &writer, err);
    if (status != LULL_OK)
        return status;
    const struct lull_visitor visitor = {.context = &writer, .block = copy_block};
    const struct lull_scan_options options = {
        .workers = 1, .application = LULL_NONE, .range = range};
    status = lull_scan(trace, &options, &visitor, err);
    lull_status closed =
        writer.close(writer.state, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}

/* The output is never committed: its temporary folder holds the copy until the trace is closed. */
static lull_status make_copy(const struct lull_trace *trace, struct lull_process_range range,
                             struct lull_copy *copy, struct lull_error *err)
{
    const char *path = lull_arena_printf(trace->arena, "%s/lull", lull_temporary_folder());
    lull_status status = lull_output_begin(path, true, true, &copy->output, err);
    if (status != LULL_OK)
        return status;
    const char *tape = lull_arena_printf(trace->arena, "%s/tape", lull_output_path(copy->output));
    status = write_tape(trace, range, tape, err);
    if (status == LULL_OK)
        status = lull_trace_open(tape, &copy->trace, err);
    if (status == LULL_OK)
        copy->range = range;
    else
        lull_copy_discard(copy);
    return status;
}

void lull_copy_discard(struct lull_copy *copy)
{
    lull_trace_close(copy->trace);
    lull_output_discard(copy->output);
    *copy = (struct lull_copy){0};
}

/* The trace to read a location from: `trace` itself or a temporary copy. */
static lull_status readable_by_location(const struct lull_trace *trace, uint32_t location,
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
    struct lull_copy *copy = &shared->part;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&shared->copy_lock);
    if (!copy->trace || !lull_in_range(copy->range, trace->locations[location].process)) {
        copy = &shared->whole;
        if (!copy->trace)
            status = make_copy(trace, (struct lull_process_range){0, 0}, copy, err);
    }
    *ret_trace = copy->trace;
    pthread_mutex_unlock(&shared->copy_lock);
    return status;
}

lull_status lull_cursors_prepare(const struct lull_trace *trace, struct lull_process_range range,
                                 struct lull_error *err)
{
    struct lull_trace_shared *shared = trace->shared;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&shared->copy_lock);
    if (lull_trace_is_sequence(trace) && range.end > 0 && !shared->part.trace)
        status = make_copy(trace, range, &shared->part, err);
    pthread_mutex_unlock(&shared->copy_lock);
    return status;
}

/* ---- cursors --------------------------------------------------------------------------------- */

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
    lull_status status = readable_by_location(trace, location, &trace, err);
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
