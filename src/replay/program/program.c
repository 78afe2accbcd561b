/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/replay.h"

#include "replay/program/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lull_status next(struct lull_program *program, uint32_t stream, struct lull_op *ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    struct lull_replay *replay = program->data;
    if (!replay->device_streams[stream])
        return lull_replay_stream_next(replay->streams[stream], ops, room, ret_count, err);
    *ret_count = lull_device_stream_next(replay->device_streams[stream], ops);
    return LULL_OK;
}

static void close_streams(struct lull_replay *replay)
{
    for (uint32_t s = 0; s < replay->n_streams; s++) {
        lull_replay_stream_close(replay->streams[s]);
        lull_device_stream_close(replay->device_streams[s]);
        replay->streams[s] = NULL;
        replay->device_streams[s] = NULL;
    }
    lull_lost_destroy(replay->lost); /* read again when needed: messages were taken off its list */
    replay->lost = NULL;
}

static bool is_device_stream(const struct lull_replay *replay, uint32_t stream)
{
    return replay->trace->locations[replay->locations[stream]].kind == LULL_LOCATION_DEVICE;
}

static lull_status open_device_stream(struct lull_replay *replay, uint32_t stream,
                                      struct lull_error *err)
{
    const uint32_t location = replay->locations[stream],
                   process = replay->trace->locations[location].process;
    const struct lull_windows *windows = replay->reading.windows;
    const struct lull_device_stream_options options = {
        .window = windows ? windows->intervals[process][0]
                          : (struct lull_interval){0, replay->trace->duration},
        .ends_at = replay->ends_at,
        .shift = lull_survey_shift(replay->survey, process),
        .change = replay->options.change,
        .track = replay->tracks[stream],
        .exchanges = replay->options.exchanges,
        .first_circle = replay->first_circle,
        .ranks = replay->ranks};
    replay->device_streams[stream] = lull_device_stream_open(replay->devices, location, &options);
    return replay->device_streams[stream]
               ? LULL_OK
               : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                           replay->trace->path);
}

static lull_status rewind_all(struct lull_program *program, struct lull_error *err)
{
    struct lull_replay *replay = program->data;
    close_streams(replay);
    const struct lull_process_range range = replay->reading.range;
    for (uint32_t s = 0; s < replay->n_streams; s++) {
        if (!lull_in_range(range, lull_replay_process(program, s)))
            continue;
        lull_status status = is_device_stream(replay, s)
                                 ? open_device_stream(replay, s, err)
                                 : lull_replay_stream_open(replay, s, &replay->streams[s], err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static void close_program(struct lull_program *program)
{
    struct lull_replay *replay = program->data;
    close_streams(replay);
    lull_survey_destroy(replay->own_survey);
    lull_unreceived_destroy(replay->unreceived);
    pthread_mutex_destroy(&replay->lock);
}

void lull_replay_measured(const struct lull_op *op, int64_t *ret_begin, int64_t *ret_end)
{
    *ret_begin = op->measured;
    *ret_end = op->measured + (int64_t)((uint64_t)op->tag << 32 | op->comm);
}

uint32_t lull_replay_location(const struct lull_program *program, uint32_t stream)
{
    const struct lull_replay *replay = program->data;
    return replay->locations[stream];
}

uint32_t lull_replay_process(const struct lull_program *program, uint32_t stream)
{
    const struct lull_replay *replay = program->data;
    return replay->trace->locations[replay->locations[stream]].process;
}

bool lull_replay_is_of_copies(const struct lull_program *program, uint32_t stream)
{
    const struct lull_replay *replay = program->data;
    return replay->tracks[stream] == LULL_TRACK_COPIES;
}

uint32_t lull_replay_most_streams(const struct lull_trace *trace)
{
    uint32_t most = trace->n_locations;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        most += trace->locations[l].kind == LULL_LOCATION_DEVICE;
    return most;
}

bool lull_replay_is_master(const struct lull_program *program, uint32_t stream)
{
    const struct lull_replay *replay = program->data;
    return replay->first_stream[replay->ranks[lull_replay_process(program, stream)]] == stream;
}

uint32_t lull_replay_ranks_before(const struct lull_program *program, uint32_t process)
{
    const struct lull_replay *replay = program->data;
    while (process < replay->trace->n_processes && replay->ranks[process] == LULL_NONE)
        process++;
    return process < replay->trace->n_processes ? replay->ranks[process] : replay->n_ranks;
}

bool lull_replay_was_delayed(const struct lull_program *program, uint32_t delay)
{
    const struct lull_replay *replay = program->data;
    const uint32_t rank = replay->options.disturbance->delays[delay].rank;
    const struct lull_replay_stream *stream =
        rank < replay->n_ranks ? replay->streams[replay->first_stream[rank]] : NULL;
    return stream && lull_replay_stream_was_delayed(stream, delay);
}

static const char *place_in_replay(const struct lull_program *program, uint32_t rank,
                                   const struct lull_op *op, char *text, unsigned size)
{
    const char *call = op->region < program->n_regions ? program->regions[op->region] : "";
    if (op->kind == LULL_OP_WAIT || op->kind == LULL_OP_COLLECTIVE)
        snprintf(text, size, "rank %u%s%s", rank, *call ? " in " : "", call);
    else
        snprintf(text, size, "rank %u at %.9g s%s%s", rank, 1e-9 * (double)op->measured,
                 *call ? " in " : "", call);
    return text;
}

static const struct lull_program_class class_trace = {.name = "trace",
                                                      .next = next,
                                                      .rewind = rewind_all,
                                                      .close = close_program,
                                                      .place = place_in_replay};

static bool has_stream(const struct lull_replay *replay, uint32_t location)
{
    const struct lull_location *l = &replay->trace->locations[location];
    const struct lull_process *p = &replay->trace->processes[l->process];
    if (p->application != replay->reading.application)
        return false;
    const bool submits = replay->devices && lull_replay_devices_need(replay->devices, location);
    if (l->kind != LULL_LOCATION_THREAD)
        return l->kind == LULL_LOCATION_DEVICE && submits;
    return location == p->first_location || submits ||
           (replay->options.callers && replay->options.callers[location]) ||
           lull_survey_meets(replay->survey, location);
}

static void add_stream(struct lull_replay *replay, uint32_t location, uint8_t track)
{
    replay->locations[replay->n_streams] = location;
    replay->tracks[replay->n_streams++] = track;
}

/* Numbers ranks in the order of processes and streams in the order of locations, so that the
 * streams of a rank are neighbours. */
static void number_streams(struct lull_replay *replay)
{
    const struct lull_trace *trace = replay->trace;
    const bool overlap = replay->options.change && replay->options.change->overlap;
    replay->n_ranks = replay->n_streams = 0;
    memset(replay->meets, 0, trace->n_processes * sizeof *replay->meets);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        replay->ranks[p] = LULL_NONE;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        if (!has_stream(replay, l))
            continue;
        uint32_t process = trace->locations[l].process;
        if (replay->ranks[process] == LULL_NONE) {
            replay->first_stream[replay->n_ranks] = replay->n_streams;
            replay->ranks[process] = replay->n_ranks++;
        }
        replay->meets[replay->ranks[process]] += trace->locations[l].kind == LULL_LOCATION_THREAD &&
                                                 trace->locations[l].role != LULL_THREAD_FREE;
        const bool device = trace->locations[l].kind == LULL_LOCATION_DEVICE;
        const bool two = device && overlap && lull_replay_devices_mixes(replay->devices, l);
        add_stream(replay, l, two ? LULL_TRACK_OTHERS : LULL_TRACK_ALL);
        if (two)
            add_stream(replay, l, LULL_TRACK_COPIES);
    }
    replay->first_stream[replay->n_ranks] = replay->n_streams;
}

static uint32_t most_streams(const struct lull_replay *replay)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < replay->n_ranks; r++) {
        const uint32_t n = replay->first_stream[r + 1] - replay->first_stream[r];
        most = n > most ? n : most;
    }
    return most;
}

static lull_status number_ranks(struct lull_replay *replay, struct lull_arena *arena,
                                struct lull_error *err)
{
    const struct lull_trace *trace = replay->trace;
    size_t processes = trace->n_processes + (size_t)1,
           streams = lull_replay_most_streams(trace) + (size_t)1;
    replay->ranks = lull_arena_try(arena, processes, sizeof *replay->ranks);
    replay->meets = lull_arena_try(arena, processes, sizeof *replay->meets);
    replay->first_stream = lull_arena_try(arena, processes, sizeof *replay->first_stream);
    replay->locations = lull_arena_try(arena, streams, sizeof *replay->locations);
    replay->tracks = lull_arena_try(arena, streams, sizeof *replay->tracks);
    replay->streams = lull_arena_try(arena, streams, sizeof(struct lull_replay_stream *));
    replay->device_streams = lull_arena_try(arena, streams, sizeof(struct lull_device_stream *));
    if (!replay->ranks || !replay->meets || !replay->first_stream || !replay->locations ||
        !replay->tracks || !replay->streams || !replay->device_streams)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    number_streams(replay);
    if (!replay->devices || most_streams(replay) <= LULL_RANK_STREAMS)
        return LULL_OK;
    if (replay->options.change)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: has a process with more than %d threads and device streams, which is "
                         "the most that can be replayed",
                         trace->path, LULL_RANK_STREAMS);
    replay->devices = NULL; /* the waits of threads for them stay as measured */
    number_streams(replay);
    return LULL_OK;
}

static const char *const *region_names(const struct lull_trace *trace, struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof(const char *));
    for (uint32_t i = 0; i < trace->n_regions; i++)
        names[i] = trace->regions[i].name;
    return names;
}

/* The end of the part that is replayed, where the run goes on behind it. */
static int64_t end_of_part(const struct lull_trace *trace, const struct lull_reading *reading)
{
    int64_t begin, end = trace->duration;
    const struct lull_windows *windows = reading->windows;
    lull_trace_main_part(trace, reading->application, &begin, &end);
    for (uint32_t p = 0; windows && p < trace->n_processes; p++)
        if (trace->processes[p].application == reading->application && windows->counts[p] > 0 &&
            windows->intervals[p][0].end < end)
            return windows->intervals[p][0].end;
    return INT64_MAX;
}

/* Whether some process was killed before it came to MPI_Finalize: messages to it may have no receive. */
static bool was_ended(const struct lull_trace *trace, uint32_t application)
{
    int64_t begin, end;
    return lull_trace_main_part(trace, application, &begin, &end) && end >= trace->duration;
}

lull_status lull_replay_open(const struct lull_trace *trace,
                             const struct lull_replay_options *options,
                             struct lull_program **ret_program, struct lull_error *err)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_program *program = lull_arena_zero(arena, 1, sizeof *program);
    struct lull_replay *replay = lull_arena_zero(arena, 1, sizeof *replay);
    *program = (struct lull_program){.class = &class_trace,
                                     .name = trace->path,
                                     .arena = arena,
                                     .n_regions = trace->n_regions,
                                     .regions = region_names(trace, arena),
                                     .data = replay};
    replay->trace = trace;
    replay->options = *options;
    replay->reading = *lull_reading_of(options->reading);
    replay->options.reading = &replay->reading;
    const uint32_t application = replay->reading.application;
    replay->ends_at = options->excerpt ? INT64_MAX : end_of_part(trace, &replay->reading);
    program->unfinished =
        !options->excerpt && (replay->ends_at < INT64_MAX || was_ended(trace, application));
    if (options->network)
        replay->eager = lull_network_parameter(options->network->class, "eager");
    lull_status status = LULL_OK;
    if (!options->survey)
        status = lull_survey_take(trace, application, options->callers != NULL, &replay->own_survey,
                                  err);
    replay->survey = options->survey ? options->survey : replay->own_survey;
    if (options->devices)
        replay->devices = lull_survey_devices(replay->survey);
    if (status == LULL_OK)
        status = number_ranks(replay, arena, err);
    if (status == LULL_OK)
        status = lull_replay_make_groups(program, replay, err);
    if (status != LULL_OK) {
        lull_survey_destroy(replay->own_survey);
        lull_arena_destroy(arena);
        return status;
    }
    pthread_mutex_init(&replay->lock, NULL);
    program->n_ranks = replay->n_ranks;
    program->n_streams = replay->n_streams;
    program->first_stream = replay->first_stream;
    status = rewind_all(program, err);
    if (status != LULL_OK) {
        lull_program_close(program);
        return status;
    }
    *ret_program = program;
    return LULL_OK;
}
