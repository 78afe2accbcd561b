/* Writing: events of all locations in time order to lines of a .prv.
 *
 * What happens on a location at one time is gathered into one line. Calls and flushes end by
 * themselves: their ends wait in a heap. States are rebuilt from the regions where the trace has
 * none, by the rules by which a breakdown without states spends time; so reading back spends it
 * the same. */
#include "trace/format/paraver/write/writer.h"

#include "base/array.h"
#include "base/output_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- regions --------------------------------------------------------------------------------- */

/* The code to enter a region by: in a type that does not stack only one can be open. */
static uint32_t code_of(const struct lull_prv_writer *writer,
                        const struct lull_prv_writer_track *track, uint32_t region)
{
    const struct lull_prv_code *codes = writer->codes->regions;
    if (writer->trace->regions[region].whole != LULL_NONE)
        region = writer->trace->regions[region].whole;
    for (uint32_t i = 0; !codes[region].nests && i < track->depth; i++)
        if (codes[track->stack[i].code].type == codes[region].type)
            return writer->trace->n_regions + region;
    return region;
}

static void enter_written_region(struct lull_prv_writer *writer, uint32_t location, uint32_t region)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    uint32_t code = code_of(writer, track, region);
    if (!lull_array_reserve(&track->stack, &track->capacity, (size_t)track->depth + 1,
                            sizeof *track->stack)) {
        writer->out_of_memory = true;
        return;
    }
    uint8_t activity =
        lull_activity_on(&writer->trace->regions[region], writer->trace->locations[location].kind);
    if (activity == LULL_PRV_INHERIT && track->depth > 0)
        activity = track->stack[track->depth - 1].activity;
    track->stack[track->depth++] = (struct lull_prv_frame){region, code, activity};
    track->parallel_depth += writer->trace->regions[region].parallel;
    writer->codes->regions[code].used = true;
    lull_prv_add_pair(writer, location, writer->codes->regions[code].type,
                      writer->codes->regions[code].value);
    if (*writer->trace->regions[region].site) {
        writer->codes->regions[region].called = true;
        lull_prv_add_pair(writer, location, LULL_PRV_CALLER, LULL_PRV_OWN_VALUES + region);
    }
}

static void leave_written_region(struct lull_prv_writer *writer, uint32_t location)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    if (track->depth == 0)
        return;
    const struct lull_prv_frame *frame = &track->stack[--track->depth];
    track->parallel_depth -= writer->trace->regions[frame->region].parallel;
    lull_prv_add_pair(writer, location, writer->codes->regions[frame->code].type, 0);
    if (*writer->trace->regions[frame->region].site)
        lull_prv_add_pair(writer, location, LULL_PRV_CALLER, 0);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static bool is_deadline_before(const struct lull_prv_deadline *a, const struct lull_prv_deadline *b)
{
    return a->time != b->time ? a->time < b->time : a->location < b->location;
}

static void add_deadline(struct lull_prv_writer *writer, int64_t time, uint32_t location)
{
    if (!lull_array_reserve(&writer->heap, &writer->heap_capacity, writer->n_heap + 1,
                            sizeof *writer->heap)) {
        writer->out_of_memory = true;
        return;
    }
    struct lull_prv_deadline added = {time, location};
    size_t at = writer->n_heap++;
    for (; at > 0 && is_deadline_before(&added, &writer->heap[(at - 1) / 2]); at = (at - 1) / 2)
        writer->heap[at] = writer->heap[(at - 1) / 2];
    writer->heap[at] = added;
}

static struct lull_prv_deadline take_deadline(struct lull_prv_writer *writer)
{
    struct lull_prv_deadline first = writer->heap[0], last = writer->heap[--writer->n_heap];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= writer->n_heap)
            break;
        if (child + 1 < writer->n_heap &&
            is_deadline_before(&writer->heap[child + 1], &writer->heap[child]))
            child++;
        if (!is_deadline_before(&writer->heap[child], &last))
            break;
        writer->heap[at] = writer->heap[child];
        at = child;
    }
    writer->heap[at] = last;
    return first;
}

static void move_to(struct lull_prv_writer *writer, int64_t time)
{
    if (time <= writer->now)
        return;
    lull_prv_put_lines(writer);
    writer->now = time;
}

static void end_call(struct lull_prv_writer *writer, uint32_t location)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    if (track->call_end == LULL_PRV_NEVER)
        return;
    track->call_end = LULL_PRV_NEVER;
    leave_written_region(writer, location);
}

/* What has ended by itself on a location by now. A deadline whose call was cut finds nothing. */
static void end_due(struct lull_prv_writer *writer, uint32_t location)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    if (track->call_end <= writer->now)
        end_call(writer, location);
    if (track->flush_end <= writer->now) {
        track->flush_end = LULL_PRV_NEVER;
        lull_prv_add_pair(writer, location, LULL_PRV_FLUSH, 0);
    }
}

/* All that ends before `time`; at the same time messages and collectives of a call come first. */
static void pass_deadlines(struct lull_prv_writer *writer, int64_t time)
{
    while (writer->n_heap > 0 && writer->heap[0].time < time) {
        struct lull_prv_deadline deadline = take_deadline(writer);
        struct lull_prv_writer_track *track = &writer->tracks[deadline.location];
        move_to(writer, deadline.time);
        track->last_time = writer->now > track->last_time ? writer->now : track->last_time;
        end_due(writer, deadline.location);
        lull_prv_update_state(writer, deadline.location);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Readings at one time add up: the reader takes the first of a time alone. */
static void counters(struct lull_prv_writer *writer, uint32_t location,
                     const struct lull_event *event)
{
    if (event->readings.count == 0)
        return;
    struct lull_prv_writer_track *track = lull_prv_open_line(writer, location);
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_reading *reading = &event->readings.values[i];
        uint32_t at = 0;
        while (at < track->n_counters && track->counters[at].counter != reading->counter)
            at++;
        if (!lull_array_reserve(&track->counters, &track->counters_capacity, (size_t)at + 1,
                                sizeof *track->counters)) {
            writer->out_of_memory = true;
            return;
        }
        if (at == track->n_counters)
            track->counters[track->n_counters++] =
                (struct lull_reading){.counter = reading->counter};
        track->counters[at].value += reading->value;
    }
}

/* Events that Extrae does not write: type, and value 1 or number + 1. */
static void write_own_event(struct lull_prv_writer *writer, uint32_t location,
                            const struct lull_event *event)
{
    uint64_t type = 0, value = 1;
    for (size_t i = 0; i < lull_prv_n_known_types; i++)
        if (lull_prv_known_types[i].kind == LULL_PRV_OWN &&
            lull_prv_known_types[i].index == event->kind)
            type = lull_prv_known_types[i].number;
    switch (event->kind) {
    case LULL_EVENT_FORK:
    case LULL_EVENT_TASK_CREATE:
    case LULL_EVENT_TASK_SWITCH:
    case LULL_EVENT_TASK_COMPLETE:
    case LULL_EVENT_LOCK_ACQUIRE:
    case LULL_EVENT_LOCK_RELEASE:
        value = event->number + 1;
        break;
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        value = event->op + UINT64_C(1);
        break;
    default:
        break;
    }
    if (type == 0)
        return; /* requests: Paraver knows complete messages only */
    lull_prv_add_own_pair(writer, location, type, value);
    if (event->kind != LULL_EVENT_RMA && event->kind != LULL_EVENT_IO)
        return;
    lull_prv_add_own_pair(writer, location, LULL_PRV_RMA_SIZE, event->transfer.bytes);
    lull_prv_add_own_pair(writer, location, LULL_PRV_RMA_TARGET,
                          lull_prv_target_of(event->transfer.target));
}

static void write_call(struct lull_prv_writer *writer, uint32_t location,
                       const struct lull_event *event)
{
    end_call(writer, location);
    enter_written_region(writer, location, event->id);
    writer->tracks[location].call_end = event->time + event->duration;
    add_deadline(writer, event->time + event->duration, location);
}

static void begin_flush(struct lull_prv_writer *writer, uint32_t location,
                        const struct lull_event *event)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    int64_t end = event->time + event->duration;
    if (track->flush_end == LULL_PRV_NEVER)
        lull_prv_add_pair(writer, location, LULL_PRV_FLUSH, 1);
    if (track->flush_end == LULL_PRV_NEVER || track->flush_end < end)
        track->flush_end = end;
    add_deadline(writer, end, location);
}

static void team(struct lull_prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    if (event->kind == LULL_EVENT_TEAM_BEGIN)
        track->parallel_depth++;
    else if (track->parallel_depth > 0)
        track->parallel_depth--;
    write_own_event(writer, location, event);
}

/* Before these what ends at the same time has ended. */
#define BEGINS_OR_ENDS \
    (LULL_MASK_TIME & ~(LULL_MASK(LULL_EVENT_STATE) | LULL_MASK(LULL_EVENT_COUNTERS)))

static void put_event(struct lull_prv_writer *writer, uint32_t location,
                      const struct lull_event *event)
{
    struct lull_prv_writer_track *track = &writer->tracks[location];
    lull_prv_break_line(writer, location);
    if (BEGINS_OR_ENDS >> event->kind & 1)
        end_due(writer, location);
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        end_call(writer, location);
        enter_written_region(writer, location, event->id);
        break;
    case LULL_EVENT_LEAVE:
        end_call(writer, location);
        leave_written_region(writer, location);
        break;
    case LULL_EVENT_CALL:
        write_call(writer, location, event);
        break;
    case LULL_EVENT_STATE:
        lull_prv_put_state(writer, location, event);
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV:
        lull_prv_add_message(writer, location, event);
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN:
        lull_prv_begin_collective(writer, location, event);
        break;
    case LULL_EVENT_COLLECTIVE_END:
        lull_prv_end_collective(writer, location, event);
        break;
    case LULL_EVENT_COUNTERS:
        counters(writer, location, event);
        break;
    case LULL_EVENT_FLUSH:
        begin_flush(writer, location, event);
        break;
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        team(writer, location, event);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        track->off = event->kind == LULL_EVENT_MEASURE_OFF;
        lull_prv_add_pair(writer, location, LULL_PRV_TRACING, !track->off);
        break;
    case LULL_EVENT_MARKER:
        writer->codes->markers[event->id].used = true;
        lull_prv_add_pair(writer, location, writer->codes->markers[event->id].type, event->number);
        break;
    default:
        write_own_event(writer, location, event);
    }
}

/* A thread lives from its first event to its last, among those that say how it spends its time. */
static void note_life(struct lull_prv_writer_track *track, const struct lull_event *event)
{
    if (!(LULL_MASK_TIME >> event->kind & 1))
        return;
    track->last_time = event->time;
    track->began = event->kind != LULL_EVENT_THREAD_END;
}

static lull_status write_prv_block(void *state, const struct lull_block *block,
                                   struct lull_error *err)
{
    struct lull_prv_writer *writer = state;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        pass_deadlines(writer, event->time);
        move_to(writer, event->time);
        note_life(&writer->tracks[block->location], event);
        put_event(writer, block->location, event);
        lull_prv_update_state(writer, block->location);
    }
    if (writer->out_of_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_output_path(writer->prv));
    return LULL_OK;
}

static void release_writer(struct lull_prv_writer *writer)
{
    for (uint32_t l = 0; writer->tracks && l < writer->trace->n_locations; l++) {
        free(writer->tracks[l].pairs.data);
        free(writer->tracks[l].own.data);
        free(writer->tracks[l].counters);
        free(writer->tracks[l].stack);
    }
    free(writer->tracks);
    free(writer->in_line);
    free(writer->heap);
    lull_prv_matcher_free(&writer->matcher);
    lull_prv_spool_close(writer->spool);
    lull_output_discard(writer->prv);
    lull_output_discard(writer->pcf);
    lull_output_discard(writer->row);
    lull_arena_destroy(writer->arena);
    free(writer);
}

static lull_status close_prv_writer(void *state, bool commit, struct lull_error *err)
{
    struct lull_prv_writer *writer = state;
    lull_status status = LULL_OK;
    if (commit) {
        pass_deadlines(writer, INT64_MAX);
        lull_prv_put_lines(writer);
        status = lull_prv_finish(writer, err);
    }
    release_writer(writer);
    return status;
}

/* ---- the beginning --------------------------------------------------------------------------- */

static lull_status open_outputs(struct lull_prv_writer *writer, const char *path, bool replace,
                                struct lull_error *err)
{
    lull_status status = lull_output_begin(path, false, replace, &writer->prv, err);
    if (status == LULL_OK)
        status = lull_output_begin(lull_prv_sibling(path, ".pcf", writer->arena), false, replace,
                                   &writer->pcf, err);
    if (status == LULL_OK)
        status = lull_output_begin(lull_prv_sibling(path, ".row", writer->arena), false, replace,
                                   &writer->row, err);
    if (status == LULL_OK)
        status = lull_prv_spool_open(path, &writer->spool, err);
    return status;
}

static lull_status prepare_writer(struct lull_prv_writer *writer, const char *path,
                                  struct lull_error *err)
{
    const struct lull_trace *trace = writer->trace;
    writer->codes = lull_prv_codes_make(trace, writer->arena);
    writer->tracks = calloc(trace->n_locations, sizeof *writer->tracks);
    writer->in_line = calloc(trace->n_locations, sizeof *writer->in_line);
    if (!writer->tracks || !writer->in_line)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %u locations", path,
                         trace->n_locations);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_prv_writer_track *track = &writer->tracks[l];
        track->call_end = track->flush_end = LULL_PRV_NEVER;
        track->counted_time = INT64_MIN;
        track->collective_position = LULL_PRV_NO_POSITION;
        if (!trace->has_states)
            lull_prv_begin_state(writer, l, lull_prv_state_now(writer, l, false));
    }
    return LULL_OK;
}

lull_status lull_prv_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                 struct lull_writer *ret_writer, struct lull_error *err)
{
    struct lull_prv_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    size_t length = strlen(path);
    writer->trace = trace;
    writer->arena = lull_arena_create(NULL);
    writer->gzip = length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
    lull_status status = open_outputs(writer, path, replace, err);
    if (status == LULL_OK)
        status = prepare_writer(writer, path, err);
    if (status != LULL_OK) {
        release_writer(writer);
        return status;
    }
    *ret_writer = (struct lull_writer){
        .state = writer, .global_order = true, .block = write_prv_block, .close = close_prv_writer};
    return LULL_OK;
}
