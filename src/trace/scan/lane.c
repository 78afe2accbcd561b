#include "trace/scan/lane.h"

#include "trace/format.h"

#include <stdlib.h>

struct lull_lane_room *lull_lane_room_create(size_t n_events)
{
    struct lull_lane_room *room = malloc(sizeof *room + n_events * sizeof room->events[0]);
    if (!room)
        return NULL;
    room->scratch = (struct lull_event_buffer){0};
    room->n_events = n_events;
    return room;
}

void lull_lane_room_destroy(struct lull_lane_room *room)
{
    if (room)
        free(room->scratch.events);
    free(room);
}

lull_status lull_lane_open(struct lull_lane *lane, const struct lull_trace *trace,
                           uint32_t location, uint64_t mask, struct lull_error *err)
{
    *lane = (struct lull_lane){.trace = trace, .location = location};
    lull_nesting_begin(&lane->nesting, mask, false);
    return trace->format->reader->stream_open(trace, location, lull_nesting_mask(mask),
                                              &lane->stream, err);
}

lull_status lull_lane_next(struct lull_lane *lane, struct lull_lane_room *room,
                           struct lull_block *ret_block, struct lull_error *err)
{
    const struct lull_trace *trace = lane->trace;
    struct lull_block block = {.location = lane->location, .events = room->events};
    size_t got = 0;
    lull_status status =
        trace->format->reader->stream_read(lane->stream, room->events, room->n_events, &got, err);
    if (status != LULL_OK)
        return status;
    block.count = (uint32_t)got;
    lane->ended = got == 0;
    status = lane->ended ? lull_nesting_close_all(&lane->nesting, trace, lane->location,
                                                  &block.events, &block.count, &room->scratch, err)
                         : lull_nesting_repair(&lane->nesting, trace, lane->location, &block.events,
                                               &block.count, &room->scratch, err);
    if (status == LULL_OK)
        *ret_block = block;
    return status;
}

lull_status lull_lane_visit(struct lull_lane *lane, struct lull_lane_room *room,
                            const struct lull_visitor *visitor, unsigned worker,
                            struct lull_error *err)
{
    struct lull_block block;
    lull_status status = lull_lane_next(lane, room, &block, err);
    if (status == LULL_OK && block.count > 0)
        status = visitor->block(visitor->context, worker, &block, err);
    if (status == LULL_OK && lane->ended && visitor->end)
        status = visitor->end(visitor->context, worker, lane->location, err);
    return status;
}

void lull_lane_close(struct lull_lane *lane)
{
    if (lane->stream)
        lane->trace->format->reader->stream_close(lane->stream);
    lane->stream = NULL;
    lull_nesting_end(&lane->nesting);
}

bool lull_lane_is_selected(const struct lull_trace *trace, const struct lull_scan_options *options,
                           uint32_t location)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (options->application != LULL_NONE && process->application != options->application)
        return false;
    return !options->masters_only || process->first_location == location;
}

bool lull_lane_is_wanted(const struct lull_trace *trace, const struct lull_scan_options *options,
                         uint32_t location)
{
    return lull_in_range(options->range, trace->locations[location].process) &&
           lull_lane_is_selected(trace, options, location);
}
