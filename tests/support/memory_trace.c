#include "support/memory_trace.h"
#include "trace/scan.h"

#include <stdlib.h>
#include <string.h>

struct sequence {
    struct lull_event *events;
    size_t count, capacity;
};

struct memory {
    struct sequence *sequences; /* per location, made when the first event comes */
    uint32_t n_sequences;
};

/* Test code: memory that runs out ends the test. */
static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void close_memory(struct lull_trace *trace)
{
    struct memory *memory = trace->format_data;
    for (uint32_t l = 0; l < memory->n_sequences; l++)
        free(memory->sequences[l].events);
    free(memory->sequences);
    free(memory);
}

struct lull_trace *memory_trace_create(void)
{
    struct lull_trace *trace = lull_trace_create();
    trace->path = "memory";
    trace->format = &memory_format_pull;
    trace->format_data = must(calloc(1, sizeof(struct memory)));
    return trace;
}

struct lull_trace *memory_trace_simple(uint32_t processes, uint32_t threads, int64_t duration,
                                       const char *const *regions)
{
    struct lull_trace *trace = memory_trace_create();
    trace->duration = duration;
    trace->n_processes = processes;
    trace->processes = lull_arena_zero(trace->arena, processes, sizeof *trace->processes);
    trace->n_locations = processes * threads;
    trace->locations = lull_arena_zero(trace->arena, trace->n_locations, sizeof *trace->locations);
    for (uint32_t p = 0; p < processes; p++)
        trace->processes[p] = (struct lull_process){
            .name = lull_arena_printf(trace->arena, "rank %u", p), .rank = p, .node = LULL_NONE};
    for (uint32_t l = 0; l < trace->n_locations; l++)
        trace->locations[l] = (struct lull_location){
            .name = lull_arena_printf(trace->arena, "rank %u thread %u", l / threads, l % threads),
            .process = l / threads,
            .number = l % threads};
    while (regions[trace->n_regions])
        trace->n_regions++;
    trace->regions = lull_arena_zero(trace->arena, trace->n_regions, sizeof *trace->regions);
    for (uint32_t r = 0; r < trace->n_regions; r++)
        trace->regions[r] =
            (struct lull_region){.name = regions[r], .file = "", .site = "", .whole = LULL_NONE};
    struct lull_error err;
    if (lull_trace_complete(trace, &err) != LULL_OK)
        abort();
    return trace;
}

void memory_trace_world(struct lull_trace *trace, uint32_t processes)
{
    trace->n_comms = 1;
    trace->comms = lull_arena_zero(trace->arena, 1, sizeof *trace->comms);
    trace->comms[0] = (struct lull_comm){.name = "world",
                                         .size = processes,
                                         .parent = LULL_NONE,
                                         .remote = LULL_NONE,
                                         .paradigm = LULL_PARADIGM_MPI};
}

void memory_trace_add(struct lull_trace *trace, uint32_t location, const struct lull_event *event)
{
    struct memory *memory = trace->format_data;
    if (memory->n_sequences == 0) {
        memory->sequences = must(calloc(trace->n_locations, sizeof *memory->sequences));
        memory->n_sequences = trace->n_locations;
    }
    struct sequence *sequence = &memory->sequences[location];
    if (sequence->count == sequence->capacity) {
        sequence->capacity = sequence->capacity ? sequence->capacity * 2 : 64;
        sequence->events =
            must(realloc(sequence->events, sequence->capacity * sizeof *sequence->events));
    }
    struct lull_event *copy = &sequence->events[sequence->count++];
    *copy = *event;
    if (event->kind == LULL_EVENT_COUNTERS) {
        size_t size = event->readings.count * sizeof *event->readings.values;
        struct lull_counter_reading *values = lull_arena_alloc(trace->arena, size);
        memcpy(values, event->readings.values, size);
        copy->readings.values = values;
    }
}

void memory_trace_clear(struct lull_trace *trace, uint32_t location)
{
    struct memory *memory = trace->format_data;
    if (memory->n_sequences > 0)
        memory->sequences[location].count = 0;
}

void memory_trace_end_in(struct lull_trace *trace, uint32_t region)
{
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        uint32_t count;
        const struct lull_event *events = memory_trace_events(trace, l, &count);
        const struct lull_event last = count ? events[count - 1] : memory_event(0, 0, 0);
        int64_t time = last.time + (last.kind == LULL_EVENT_CALL ? last.duration : 0);
        struct lull_event enter = memory_event(time, LULL_EVENT_ENTER, region);
        struct lull_event leave = memory_event(trace->duration, LULL_EVENT_LEAVE, region);
        memory_trace_add(trace, l, &enter);
        memory_trace_add(trace, l, &leave);
    }
}

struct lull_event memory_event(int64_t time, unsigned kind, uint32_t id)
{
    return (struct lull_event){.time = time, .kind = (uint8_t)kind, .id = id};
}

struct lull_event memory_span(int64_t time, unsigned kind, uint32_t id, int64_t duration)
{
    struct lull_event event = memory_event(time, kind, id);
    event.duration = duration;
    return event;
}

const struct lull_event *memory_trace_events(const struct lull_trace *trace, uint32_t location,
                                             uint32_t *ret_count)
{
    const struct memory *memory = trace->format_data;
    *ret_count = memory->n_sequences ? (uint32_t)memory->sequences[location].count : 0;
    return *ret_count ? memory->sequences[location].events : NULL;
}

/* ---- serving --------------------------------------------------------------------------------- */

struct memory_stream {
    const struct lull_event *events;
    uint32_t count, next;
    uint64_t mask;
};

static lull_status stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                               void **ret_stream, struct lull_error *err)
{
    (void)err;
    struct memory_stream *stream = must(calloc(1, sizeof *stream));
    stream->events = memory_trace_events(trace, location, &stream->count);
    stream->mask = mask;
    *ret_stream = stream;
    return LULL_OK;
}

static lull_status stream_read(void *opened, struct lull_event *events, size_t capacity,
                               size_t *ret_count, struct lull_error *err)
{
    struct memory_stream *stream = opened;
    (void)err;
    size_t count = 0;
    for (; count < capacity && stream->next < stream->count; stream->next++)
        if (stream->mask >> stream->events[stream->next].kind & 1)
            events[count++] = stream->events[stream->next];
    *ret_count = count;
    return LULL_OK;
}

static void stream_close(void *opened)
{
    struct memory_stream *stream = opened;
    free(stream);
}

/* Location of the earliest event not yet delivered, LULL_NONE at the end. */
static uint32_t earliest(const struct memory *memory, const size_t *next)
{
    uint32_t best = LULL_NONE;
    for (uint32_t l = 0; l < memory->n_sequences; l++) {
        const struct sequence *sequence = &memory->sequences[l];
        if (next[l] < sequence->count &&
            (best == LULL_NONE ||
             sequence->events[next[l]].time < memory->sequences[best].events[next[best]].time))
            best = l;
    }
    return best;
}

static lull_status drive(const struct lull_trace *trace, uint64_t mask, bool unordered,
                         struct lull_sink *sink, struct lull_error *err)
{
    (void)unordered;
    const struct memory *memory = trace->format_data;
    size_t *next = must(calloc(trace->n_locations, sizeof *next));
    lull_status status = LULL_OK;
    for (uint32_t l; status == LULL_OK && (l = earliest(memory, next)) != LULL_NONE; next[l]++) {
        const struct lull_event *event = &memory->sequences[l].events[next[l]];
        if (mask >> event->kind & 1)
            status = lull_sink_block(sink, l, event, 1, err);
    }
    free(next);
    return status;
}

static const struct lull_reader by_location = {.close = close_memory,
                                               .stream_open = stream_open,
                                               .stream_read = stream_read,
                                               .stream_close = stream_close};

static const struct lull_reader as_one_sequence = {.close = close_memory, .drive = drive};

const struct lull_format memory_format_pull = {
    .name = "memory", .summary = "events in memory, by location", .reader = &by_location};

const struct lull_format memory_format_push = {
    .name = "memory", .summary = "events in memory, as one sequence", .reader = &as_one_sequence};
