/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/census.h"

#include "base/fnv.h"
#include "base/mix.h"
#include "metrics/windows.h"
#include "study/joint_pass.h"
#include "trace/scan.h"

#include <string.h>

/* Each worker counts into a census of its own, so that workers share nothing; they are added up at
 * the end. */
struct census_counting {
    const struct lull_trace *trace;
    struct lull_census *parts; /* [workers] */
    uint32_t *streams; /* [n_locations]: index among the device streams; NULL: there are none */
    uint32_t *regions; /* [n_streams]: that began last */
};

static bool is_stream(const struct census_counting *counting, uint32_t location)
{
    return counting->streams && counting->streams[location] != LULL_NONE;
}

/* Whether sums tell what a device stream did: where events do not tell all of it. */
static bool is_summed(const struct census_counting *counting, uint32_t location)
{
    const struct lull_trace *trace = counting->trace;
    const struct lull_stream *stream = trace->locations[location].stream;
    return is_stream(counting, location) && trace->has_sums &&
           (trace->events != LULL_EVENTS_ALL || (stream && stream->summary));
}

static void count_readings(struct lull_census *census, const struct lull_event *event)
{
    for (uint32_t i = 0; i < event->readings.count; i++)
        census->readings[event->readings.values[i].counter]++;
}

static void count_collective(struct lull_census *census, const struct lull_event *event,
                             uint64_t sent)
{
    unsigned op = event->op < LULL_COLLECTIVES ? event->op : LULL_COLLECTIVE_UNKNOWN;
    census->collectives[op]++;
    census->collective_bytes[op] += sent;
}

/* A region of a device stream is entered or left at `time`, or has its whole length there. */
static void count_span(const struct lull_trace *trace, struct lull_census_stream *stream,
                       const struct lull_event *event)
{
    const uint8_t activity = lull_activity_on(&trace->regions[event->id], LULL_LOCATION_DEVICE);
    const bool kernel = activity == LULL_USEFUL;
    uint64_t *count = kernel ? &stream->kernels : &stream->moves,
             *ns = kernel ? &stream->kernel_ns : &stream->move_ns;
    if (!kernel && activity != LULL_DEVICE)
        return;
    if (event->kind == LULL_EVENT_CALL)
        *ns += (uint64_t)event->duration;
    else
        *ns += event->kind == LULL_EVENT_LEAVE ? (uint64_t)event->time : -(uint64_t)event->time;
    if (event->kind != LULL_EVENT_LEAVE)
        *count += event->kind == LULL_EVENT_CALL ? lull_calls_of(event) : 1;
}

/* What the call before, of the region, was. */
static void count_operation(const struct census_counting *counting,
                            struct lull_census_stream *stream, uint32_t region,
                            const struct lull_event *event)
{
    stream->bytes += event->operation.bytes;
    if (event->operation.sequence == LULL_NO_SEQUENCE || region == LULL_NONE)
        return;
    const char *name = counting->trace->regions[region].name;
    const uint64_t hash = lull_fnv(LULL_FNV_BEGIN, name, strlen(name));
    stream->exchanges++;
    stream->exchanges_hash += lull_scatter(lull_mix(hash, event->operation.sequence));
}

static void count_stream(const struct census_counting *counting, struct lull_census *census,
                         uint32_t location, const struct lull_event *event)
{
    const uint32_t index = counting->streams[location];
    struct lull_census_stream *stream = &census->streams[index];
    const bool spans = event->kind == LULL_EVENT_CALL;
    const uint64_t end = (uint64_t)(event->time + (spans ? event->duration : 0));
    if (end > census->streams_end[index])
        census->streams_end[index] = end;
    if (event->kind == LULL_EVENT_CALL || event->kind == LULL_EVENT_ENTER)
        counting->regions[index] = event->id;
    if (event->kind <= LULL_EVENT_CALL)
        count_span(counting->trace, stream, event);
    else if (event->kind == LULL_EVENT_OPERATION)
        count_operation(counting, stream, counting->regions[index], event);
}

static uint64_t believe(const struct census_counting *counting, uint32_t location, uint64_t bytes)
{
    return lull_believed_bytes(counting->trace, location, bytes);
}

static void count_event(const struct census_counting *counting, unsigned worker, uint32_t location,
                        const struct lull_event *event)
{
    struct lull_census *census = &counting->parts[worker];
    uint64_t bytes;
    census->events[event->kind] += event->kind == LULL_EVENT_CALL ? lull_calls_of(event) : 1;
    if (is_stream(counting, location) && !is_summed(counting, location))
        count_stream(counting, census, location, event);
    switch (event->kind) {
    case LULL_EVENT_SEND:
        if (event->message.peer == LULL_PROC_NULL)
            break; /* a message to MPI_PROC_NULL is not sent */
        census->sent++;
        bytes = believe(counting, location, event->message.bytes);
        census->sent_bytes += bytes;
        if (bytes > census->largest_message)
            census->largest_message = bytes;
        break;
    case LULL_EVENT_RECV:
        if (event->message.peer == LULL_PROC_NULL)
            break;
        census->received++;
        bytes = believe(counting, location, event->message.bytes);
        census->received_bytes += bytes;
        if (bytes > census->largest_received)
            census->largest_received = bytes;
        break;
    case LULL_EVENT_COLLECTIVE_END:
        count_collective(census, event, believe(counting, location, event->collective.sent));
        break;
    case LULL_EVENT_RMA:
        census->rma_bytes += believe(counting, location, event->transfer.bytes);
        break;
    case LULL_EVENT_IO:
        census->io_bytes += believe(counting, location, event->transfer.bytes);
        break;
    case LULL_EVENT_COUNTERS:
        count_readings(census, event);
        break;
    default:
        break;
    }
}

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_samples(struct lull_census_samples *sum, const struct lull_census_samples *part)
{
    for (unsigned way = 0; way < LULL_SAMPLES_WAYS; way++)
        sum->ways[way] += part->ways[way];
    sum->kept += part->kept;
    sum->taken += part->taken;
    sum->lost += part->lost;
    sum->interval = larger_of(sum->interval, part->interval);
    sum->last_interval = larger_of(sum->last_interval, part->last_interval);
    sum->refused = larger_of(sum->refused, part->refused);
}

/* A device stream of which sums tell. */
static lull_status count_summed(const struct census_counting *counting, unsigned worker,
                                uint32_t location, struct lull_error *err)
{
    const uint32_t index = counting->streams[location];
    struct lull_census_stream *stream = &counting->parts[worker].streams[index];
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct lull_sums sums;
    const lull_status status = lull_trace_read_sums(counting->trace, location, scratch, &sums, err);
    for (uint32_t i = 0; status == LULL_OK && i < sums.n_regions; i++) {
        const struct lull_region_sum *sum = &sums.regions[i];
        const struct lull_region *region = &counting->trace->regions[sum->region];
        const uint8_t activity = lull_activity_on(region, LULL_LOCATION_DEVICE);
        const bool kernel = activity == LULL_USEFUL;
        if (!kernel && activity != LULL_DEVICE)
            continue;
        *(kernel ? &stream->kernels : &stream->moves) += sum->visits[0] + sum->visits[1];
        *(kernel ? &stream->kernel_ns : &stream->move_ns) += (uint64_t)(sum->ns[0] + sum->ns[1]);
        stream->bytes += sum->bytes;
        counting->parts[worker].streams_end[index] = (uint64_t)sums.end;
    }
    lull_arena_destroy(scratch);
    return status;
}

/* Asks how the location that begins was sampled, and takes its sums where they tell more. */
static lull_status begin_census(void *context, unsigned worker, uint32_t location,
                                struct lull_error *err)
{
    const struct census_counting *counting = context;
    if (is_summed(counting, location)) {
        const lull_status status = count_summed(counting, worker, location, err);
        if (status != LULL_OK)
            return status;
    }
    struct lull_sampling sampling;
    const lull_status status = lull_trace_read_sampling(counting->trace, location, &sampling, err);
    if (status != LULL_OK)
        return status;
    struct lull_census_samples one = {.kept = sampling.kept,
                                      .taken = sampling.taken,
                                      .lost = sampling.lost,
                                      .interval = (uint64_t)sampling.interval,
                                      .last_interval = (uint64_t)sampling.last_interval,
                                      .refused = sampling.refused};
    one.ways[sampling.way] = 1;
    add_samples(&counting->parts[worker].samples, &one);
    return LULL_OK;
}

static lull_status count_block(void *context, unsigned worker, const struct lull_block *block,
                               struct lull_error *err)
{
    (void)err;
    for (uint32_t i = 0; i < block->count; i++)
        count_event(context, worker, block->location, &block->events[i]);
    return LULL_OK;
}

static void add(struct lull_census *sum, const struct lull_census *part, uint32_t n_counters)
{
    for (unsigned i = 0; i < LULL_EVENT_KINDS; i++)
        sum->events[i] += part->events[i];
    for (unsigned i = 0; i < LULL_COLLECTIVES; i++) {
        sum->collectives[i] += part->collectives[i];
        sum->collective_bytes[i] += part->collective_bytes[i];
    }
    sum->sent += part->sent;
    sum->received += part->received;
    sum->sent_bytes += part->sent_bytes;
    sum->received_bytes += part->received_bytes;
    if (part->largest_message > sum->largest_message)
        sum->largest_message = part->largest_message;
    if (part->largest_received > sum->largest_received)
        sum->largest_received = part->largest_received;
    sum->rma_bytes += part->rma_bytes;
    sum->io_bytes += part->io_bytes;
    for (uint32_t i = 0; i < n_counters; i++)
        sum->readings[i] += part->readings[i];
    for (uint32_t i = 0; i < sum->n_streams; i++) {
        sum->streams[i].kernels += part->streams[i].kernels;
        sum->streams[i].kernel_ns += part->streams[i].kernel_ns;
        sum->streams[i].moves += part->streams[i].moves;
        sum->streams[i].move_ns += part->streams[i].move_ns;
        sum->streams[i].bytes += part->streams[i].bytes;
        sum->streams[i].exchanges += part->streams[i].exchanges;
        sum->streams[i].exchanges_hash += part->streams[i].exchanges_hash;
        sum->streams_end[i] = larger_of(sum->streams_end[i], part->streams_end[i]);
    }
    add_samples(&sum->samples, &part->samples);
}

/* Adds up, on the first member of a team, what all members have counted. */
static lull_status sum_up(struct lull_team *team, struct lull_census *census, uint32_t n_counters,
                          struct lull_error *err)
{
    struct {
        uint64_t *numbers;
        size_t count;
    } const sums[] = {{census->events, LULL_EVENT_KINDS},
                      {census->collectives, LULL_COLLECTIVES},
                      {census->collective_bytes, LULL_COLLECTIVES},
                      {&census->sent, 1},
                      {&census->received, 1},
                      {&census->sent_bytes, 1},
                      {&census->received_bytes, 1},
                      {&census->rma_bytes, 1},
                      {&census->io_bytes, 1},
                      {census->readings, n_counters},
                      {census->samples.ways, LULL_SAMPLES_WAYS},
                      {&census->samples.kept, 1},
                      {&census->samples.taken, 1},
                      {&census->samples.lost, 1},
                      {(uint64_t *)census->streams,
                       census->n_streams * sizeof *census->streams / sizeof(uint64_t)}};
    uint64_t *const largest[] = {&census->largest_message, &census->largest_received,
                                 &census->samples.interval, &census->samples.last_interval,
                                 &census->samples.refused};
    lull_status status = LULL_OK;
    for (size_t i = 0; i < sizeof sums / sizeof *sums && status == LULL_OK; i++)
        status = lull_team_sum(team, (int64_t *)sums[i].numbers, sums[i].count, err);
    for (size_t i = 0; i < sizeof largest / sizeof *largest && status == LULL_OK; i++)
        status = lull_team_max(team, (int64_t *)largest[i], 1, err);
    return status == LULL_OK
               ? lull_team_max(team, (int64_t *)census->streams_end, census->n_streams, err)
               : status;
}

/* Numbers the device streams; returns how many there are. */
static uint32_t number_streams(struct census_counting *counting, struct lull_arena *arena)
{
    const struct lull_trace *trace = counting->trace;
    uint32_t n = 0;
    counting->streams = lull_arena_zero(arena, trace->n_locations, sizeof *counting->streams);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        counting->streams[l] = trace->locations[l].kind == LULL_LOCATION_DEVICE ? n++ : LULL_NONE;
    if (n == 0)
        counting->streams = NULL;
    counting->regions = lull_arena_zero(arena, n + (size_t)1, sizeof *counting->regions);
    for (uint32_t s = 0; s < n; s++)
        counting->regions[s] = LULL_NONE;
    return n;
}

lull_status lull_census_take(const struct lull_trace *trace, const struct lull_reading *reading,
                             struct lull_arena *arena, struct lull_census **ret_census,
                             struct lull_error *err)
{
    struct lull_scan_options options = {.workers = reading->workers,
                                        .application = reading->application,
                                        .range = reading->range,
                                        .unordered = true,
                                        .progress = reading->progress,
                                        .progress_context = reading->progress_context};
    unsigned parts = lull_scan_workers(trace, &options);
    struct census_counting counting = {
        .trace = trace, .parts = lull_arena_zero(arena, parts, sizeof(*counting.parts))};
    const uint32_t n_streams = number_streams(&counting, arena);
    for (unsigned i = 0; i < parts; i++) {
        struct lull_census *part = &counting.parts[i];
        part->readings = lull_arena_zero(arena, trace->n_counters + 1, sizeof(*part->readings));
        part->n_streams = n_streams;
        part->streams = lull_arena_zero(arena, n_streams + (size_t)1, sizeof *part->streams);
        part->streams_end =
            lull_arena_zero(arena, n_streams + (size_t)1, sizeof *part->streams_end);
    }
    struct lull_visitor visitor = {
        .context = &counting, .begin = begin_census, .block = count_block};
    struct lull_team *team = lull_division_team(reading->division);
    lull_status status = lull_team_agree(team, lull_scan(trace, &options, &visitor, err), err);
    if (status != LULL_OK)
        return status;
    for (unsigned i = 1; i < parts; i++)
        add(&counting.parts[0], &counting.parts[i], trace->n_counters);
    status = sum_up(team, counting.parts, trace->n_counters, err);
    if (status == LULL_OK)
        status = lull_division_gather_quirks(reading->division, trace, err);
    if (status != LULL_OK)
        return status;
    struct lull_census *census = *ret_census = counting.parts;
    census->received_bytes = lull_received_bytes(
        trace,
        &(struct lull_message_sums){census->sent, census->sent_bytes, census->largest_message},
        &(struct lull_message_sums){census->received, census->received_bytes,
                                    census->largest_received});
    return LULL_OK;
}
