/* SPDX-License-Identifier: BSD-3-Clause */
/* Translation of events: regions, metrics, markers and what the tracer says of itself. */
#include "trace/format/otf2/otf2_events.h"

#include "base/collective.h"
#include "trace/format/otf2/otf2_archive.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>

/* The arguments that all callbacks have, and those of them that none uses. */
#define COMMON                                                                     \
    OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user, \
        OTF2_AttributeList *attributes
#define IGNORE_COMMON       ((void)location, (void)position, (void)attributes)
#define SET(kind, callback) (callbacks->kind = (callback))

/* Adds an event in the place that the stream provides. Every callback adds one event at most, but
 * two where the stream makes regions of copies. Fields that the kind does not use are left as they
 * are. */
static inline struct lull_event *otf2_add(struct otf2_stream *stream, OTF2_TimeStamp time,
                                          uint8_t kind, uint32_t id)
{
    struct lull_event *event = stream->next++;
    event->time = lull_otf2_ns(&stream->archive->clock, time);
    event->kind = kind;
    event->op = 0;
    event->reserved = 0;
    event->id = id;
    return event;
}

static inline OTF2_CallbackCode otf2_add_number(struct otf2_stream *stream, OTF2_TimeStamp time,
                                                uint8_t kind, uint64_t number)
{
    otf2_add(stream, time, kind, LULL_NONE)->number = number;
    return OTF2_CALLBACK_SUCCESS;
}

/* ==== threads ================================================================================= */

/* ---- threads --------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_fork(COMMON, OTF2_Paradigm model, uint32_t threads)
{
    IGNORE_COMMON;
    (void)model;
    return otf2_add_number(user, time, LULL_EVENT_FORK, threads);
}

static OTF2_CallbackCode on_join(COMMON, OTF2_Paradigm model)
{
    IGNORE_COMMON;
    (void)model;
    return otf2_add_number(user, time, LULL_EVENT_JOIN, 0);
}

/* The team of an event, as a communicator; LULL_NONE: it is not defined, as is often so. The event
 * still tells who works in a parallel region. */
static uint32_t team_index(const struct otf2_stream *stream, OTF2_CommRef team)
{
    uint32_t index = lull_otf2_find(&stream->archive->comms, team);
    bool is_team =
        index != LULL_NONE && stream->trace->comms[index].paradigm == LULL_PARADIGM_OPENMP;
    return is_team ? index : LULL_NONE;
}

static OTF2_CallbackCode on_team_begin(COMMON, OTF2_CommRef team)
{
    IGNORE_COMMON;
    otf2_add(user, time, LULL_EVENT_TEAM_BEGIN, team_index(user, team))->number = 0;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_team_end(COMMON, OTF2_CommRef team)
{
    IGNORE_COMMON;
    otf2_add(user, time, LULL_EVENT_TEAM_END, team_index(user, team))->number = 0;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_thread_begin(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    IGNORE_COMMON;
    (void)contingent;
    (void)sequence;
    return otf2_add_number(user, time, LULL_EVENT_THREAD_BEGIN, 0);
}

static OTF2_CallbackCode on_thread_end(COMMON, OTF2_CommRef contingent, uint64_t sequence)
{
    IGNORE_COMMON;
    (void)contingent;
    (void)sequence;
    return otf2_add_number(user, time, LULL_EVENT_THREAD_END, 0);
}

static OTF2_CallbackCode on_program_begin(COMMON, OTF2_StringRef name, uint32_t n_arguments,
                                          const OTF2_StringRef *arguments)
{
    IGNORE_COMMON;
    (void)name;
    (void)n_arguments;
    (void)arguments;
    return otf2_add_number(user, time, LULL_EVENT_THREAD_BEGIN, 0);
}

static OTF2_CallbackCode on_program_end(COMMON, int64_t exit_status)
{
    IGNORE_COMMON;
    (void)exit_status;
    return otf2_add_number(user, time, LULL_EVENT_THREAD_END, 0);
}

static OTF2_CallbackCode on_lock(COMMON, OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)model;
    (void)order;
    return otf2_add_number(user, time, LULL_EVENT_LOCK_ACQUIRE, lock);
}

static OTF2_CallbackCode on_unlock(COMMON, OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)model;
    (void)order;
    return otf2_add_number(user, time, LULL_EVENT_LOCK_RELEASE, lock);
}

/* A task is known by the thread that made it and by that thread's number for it. */
static uint64_t task_number(uint32_t creator, uint32_t generation)
{
    return (uint64_t)creator << 32 | generation;
}

static OTF2_CallbackCode on_task_create(COMMON, OTF2_CommRef team, uint32_t creator,
                                        uint32_t generation)
{
    IGNORE_COMMON;
    (void)team;
    return otf2_add_number(user, time, LULL_EVENT_TASK_CREATE, task_number(creator, generation));
}

static OTF2_CallbackCode on_task_switch(COMMON, OTF2_CommRef team, uint32_t creator,
                                        uint32_t generation)
{
    IGNORE_COMMON;
    (void)team;
    return otf2_add_number(user, time, LULL_EVENT_TASK_SWITCH, task_number(creator, generation));
}

static OTF2_CallbackCode on_task_complete(COMMON, OTF2_CommRef team, uint32_t creator,
                                          uint32_t generation)
{
    IGNORE_COMMON;
    (void)team;
    return otf2_add_number(user, time, LULL_EVENT_TASK_COMPLETE, task_number(creator, generation));
}

/* Records of OTF2 before 1.2. */

static OTF2_CallbackCode on_old_fork(COMMON, uint32_t threads)
{
    IGNORE_COMMON;
    return otf2_add_number(user, time, LULL_EVENT_FORK, threads);
}

static OTF2_CallbackCode on_old_join(COMMON)
{
    IGNORE_COMMON;
    return otf2_add_number(user, time, LULL_EVENT_JOIN, 0);
}

static OTF2_CallbackCode on_old_lock(COMMON, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)order;
    return otf2_add_number(user, time, LULL_EVENT_LOCK_ACQUIRE, lock);
}

static OTF2_CallbackCode on_old_unlock(COMMON, uint32_t lock, uint32_t order)
{
    IGNORE_COMMON;
    (void)order;
    return otf2_add_number(user, time, LULL_EVENT_LOCK_RELEASE, lock);
}

static OTF2_CallbackCode on_old_task_create(COMMON, uint64_t task)
{
    IGNORE_COMMON;
    return otf2_add_number(user, time, LULL_EVENT_TASK_CREATE, task);
}

static OTF2_CallbackCode on_old_task_switch(COMMON, uint64_t task)
{
    IGNORE_COMMON;
    return otf2_add_number(user, time, LULL_EVENT_TASK_SWITCH, task);
}

static OTF2_CallbackCode on_old_task_complete(COMMON, uint64_t task)
{
    IGNORE_COMMON;
    return otf2_add_number(user, time, LULL_EVENT_TASK_COMPLETE, task);
}

/* ---- registration ---------------------------------------------------------------------------- */

static void otf2_set_threads(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_FORK)) {
        SET(ThreadFork, on_fork);
        SET(OmpFork, on_old_fork);
    }
    if (mask & LULL_MASK(LULL_EVENT_JOIN)) {
        SET(ThreadJoin, on_join);
        SET(OmpJoin, on_old_join);
    }
    if (mask & LULL_MASK(LULL_EVENT_TEAM_BEGIN))
        SET(ThreadTeamBegin, on_team_begin);
    if (mask & LULL_MASK(LULL_EVENT_TEAM_END))
        SET(ThreadTeamEnd, on_team_end);
    if (mask & LULL_MASK(LULL_EVENT_THREAD_BEGIN)) {
        SET(ThreadBegin, on_thread_begin);
        SET(ProgramBegin, on_program_begin);
    }
    if (mask & LULL_MASK(LULL_EVENT_THREAD_END)) {
        SET(ThreadEnd, on_thread_end);
        SET(ProgramEnd, on_program_end);
    }
}

static void otf2_set_tasks_and_locks(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_TASK_CREATE)) {
        SET(ThreadTaskCreate, on_task_create);
        SET(OmpTaskCreate, on_old_task_create);
    }
    if (mask & LULL_MASK(LULL_EVENT_TASK_SWITCH)) {
        SET(ThreadTaskSwitch, on_task_switch);
        SET(OmpTaskSwitch, on_old_task_switch);
    }
    if (mask & LULL_MASK(LULL_EVENT_TASK_COMPLETE)) {
        SET(ThreadTaskComplete, on_task_complete);
        SET(OmpTaskComplete, on_old_task_complete);
    }
    if (mask & LULL_MASK(LULL_EVENT_LOCK_ACQUIRE)) {
        SET(ThreadAcquireLock, on_lock);
        SET(OmpAcquireLock, on_old_lock);
    }
    if (mask & LULL_MASK(LULL_EVENT_LOCK_RELEASE)) {
        SET(ThreadReleaseLock, on_unlock);
        SET(OmpReleaseLock, on_old_unlock);
    }
}

/* ==== events ================================================================================== */

/* ---- what is wrong --------------------------------------------------------------------------- */

static OTF2_CallbackCode interrupt(struct otf2_stream *stream, uint64_t position, const char *what,
                                   uint64_t id)
{
    stream->status = lull_fail(
        &stream->error, LULL_ERR_FORMAT,
        "%s: location %" PRIu64 ": event %" PRIu64 " names %s %" PRIu64 ", which is not defined",
        stream->trace->path, stream->trace->locations[stream->location].source_id, position, what,
        id);
    return OTF2_CALLBACK_INTERRUPT;
}

/* Counts a quirk of this kind, at "location <its id>: <what> <id>". */
static void otf2_add_quirk(const struct otf2_stream *stream, const char *kind, const char *what,
                           uint64_t id)
{
    if (!stream->probing)
        lull_trace_add_quirk(stream->trace, kind, "location %" PRIu64 ": %s %" PRIu64,
                             stream->trace->locations[stream->location].source_id, what, id);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Whether a copy goes on and no kernel runs, so that the copy's region is open. */
static bool is_copying(const struct otf2_stream *stream)
{
    return stream->copies_begun > stream->copies_completed && stream->depth == 0;
}

static OTF2_CallbackCode add_enter(struct otf2_stream *stream, OTF2_TimeStamp time, uint32_t region)
{
    if (stream->makes_copies && is_copying(stream))
        otf2_add(stream, time, LULL_EVENT_LEAVE, stream->copy);
    stream->depth++;
    otf2_add(stream, time, LULL_EVENT_ENTER, region);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode add_leave(struct otf2_stream *stream, OTF2_TimeStamp time, uint32_t region)
{
    otf2_add(stream, time, LULL_EVENT_LEAVE, region);
    if (stream->depth > 0 && --stream->depth == 0 && stream->makes_copies && is_copying(stream))
        otf2_add(stream, time, LULL_EVENT_ENTER, stream->copy);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_enter(COMMON, OTF2_RegionRef region)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = lull_otf2_find(&stream->archive->regions, region);
    if (index == LULL_NONE)
        return interrupt(stream, position, "region", region);
    return add_enter(stream, time, index);
}

static OTF2_CallbackCode on_leave(COMMON, OTF2_RegionRef region)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = lull_otf2_find(&stream->archive->regions, region);
    if (index == LULL_NONE)
        return interrupt(stream, position, "region", region);
    return add_leave(stream, time, index);
}

static uint32_t region_of_context(const struct otf2_stream *stream, OTF2_CallingContextRef context)
{
    uint32_t index = lull_otf2_find(&stream->archive->contexts, context);
    return index == LULL_NONE ? LULL_NONE : stream->archive->context_regions[index];
}

static OTF2_CallbackCode on_context_enter(COMMON, OTF2_CallingContextRef context, uint32_t distance)
{
    IGNORE_COMMON;
    (void)distance;
    struct otf2_stream *stream = user;
    uint32_t index = region_of_context(stream, context);
    if (index == LULL_NONE)
        return interrupt(stream, position, "calling context", context);
    return add_enter(stream, time, index);
}

static OTF2_CallbackCode on_context_leave(COMMON, OTF2_CallingContextRef context)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = region_of_context(stream, context);
    if (index == LULL_NONE)
        return interrupt(stream, position, "calling context", context);
    return add_leave(stream, time, index);
}

/* How long a span that begins at `begin` lasts: until the end of the run at most. While the length
 * of the run is looked for, it is not cut. A span that begins before the run is refused later. */
static int64_t within_run(const struct otf2_stream *stream, int64_t begin, int64_t length)
{
    if (stream->probing)
        return length;
    bool inside = begin >= 0 && begin < stream->trace->duration;
    int64_t rest = inside ? stream->trace->duration - begin : 0;
    return length < rest ? length : rest;
}

/* ---- the tracer itself ----------------------------------------------------------------------- */

static OTF2_CallbackCode on_flush(COMMON, OTF2_TimeStamp stop)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    int64_t end = lull_otf2_ns(&stream->archive->clock, stop);
    struct lull_event *event = otf2_add(stream, time, LULL_EVENT_FLUSH, LULL_NONE);
    event->duration = within_run(stream, event->time, stop > time ? end - event->time : 0);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_measurement(COMMON, OTF2_MeasurementMode mode)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint8_t kind = mode == OTF2_MEASUREMENT_OFF ? LULL_EVENT_MEASURE_OFF : LULL_EVENT_MEASURE_ON;
    return stream->mask & LULL_MASK(kind) ? otf2_add_number(stream, time, kind, 0)
                                          : OTF2_CALLBACK_SUCCESS;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static uint64_t whole_number(OTF2_Type type, OTF2_MetricValue value)
{
    if (type != OTF2_TYPE_DOUBLE && type != OTF2_TYPE_FLOAT)
        return value.unsigned_int;
    double number = value.floating_point;
    if (number >= 0 && number < 18446744073709549568.0)
        return (uint64_t)(number + 0.5);
    if (number < 0 && number > -9223372036854774784.0)
        return (uint64_t)(int64_t)(number - 0.5);
    return 0; /* not a number, or one that means nothing */
}

static uint64_t since_previous(struct otf2_stream *stream, uint32_t counter, uint8_t mode,
                               uint64_t value)
{
    uint64_t previous = stream->previous[counter];
    if (mode == LULL_OTF2_AS_IS)
        return value;
    stream->previous[counter] = value;
    return mode == LULL_OTF2_DELAYED ? previous : value - previous;
}

static OTF2_CallbackCode add_state_event(struct otf2_stream *stream, OTF2_TimeStamp time,
                                         uint64_t position, uint64_t state, uint64_t duration)
{
    if (state >= stream->trace->n_states)
        return interrupt(stream, position, "state", state);
    struct lull_event *event = otf2_add(stream, time, LULL_EVENT_STATE, (uint32_t)state);
    event->duration =
        within_run(stream, event->time, duration <= INT64_MAX ? (int64_t)duration : 0);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode add_readings(struct otf2_stream *stream, OTF2_TimeStamp time,
                                      const struct lull_otf2_class *class, uint32_t count,
                                      const OTF2_Type *types, const OTF2_MetricValue *values)
{
    struct lull_counter_reading *readings = stream->readings + stream->n_readings;
    for (uint32_t m = 0; m < count; m++) {
        uint32_t counter = class->counters[m];
        uint64_t value = whole_number(types[m], values[m]);
        readings[m] = (struct lull_counter_reading){
            .value = since_previous(stream, counter, class->modes[m], value), .counter = counter};
    }
    stream->n_readings += count;
    struct lull_event *event = otf2_add(stream, time, LULL_EVENT_COUNTERS, LULL_NONE);
    event->readings.values = readings;
    event->readings.count = count;
    return OTF2_CALLBACK_SUCCESS;
}

/* Takes a metric record, for states, for counters or for both. stream->readings is NULL if counters
 * are not wanted. */
static OTF2_CallbackCode on_metric(COMMON, OTF2_MetricRef metric, uint8_t count,
                                   const OTF2_Type *types, const OTF2_MetricValue *values)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = lull_otf2_find(&stream->archive->classes, metric);
    if (index == LULL_NONE) {
        otf2_add_quirk(stream, "metrics of a class that is not defined are left out", "class",
                       metric);
        return OTF2_CALLBACK_SUCCESS;
    }
    const struct lull_otf2_class *class = &stream->archive->class_list[index];
    if (class->state)
        return stream->mask & LULL_MASK(LULL_EVENT_STATE) && count == 2
                   ? add_state_event(stream, time, position, values[0].unsigned_int,
                                     values[1].unsigned_int)
                   : OTF2_CALLBACK_SUCCESS;
    if (!stream->readings)
        return OTF2_CALLBACK_SUCCESS;
    uint32_t known = count < class->n_members ? count : class->n_members;
    return add_readings(stream, time, class, known, types, values);
}

/* ---- markers, and what devices do ------------------------------------------------------------ */

/* Takes a parameter of lull's own: a field of the event to come, or its number, by which the event is complete. */
static void take_device_parameter(struct otf2_stream *stream, OTF2_TimeStamp time, unsigned which,
                                  uint64_t value)
{
    static const uint8_t kinds[LULL_OTF2_DEVICE_PARAMETERS] = {
        [LULL_OTF2_SUBMIT] = LULL_EVENT_SUBMIT,
        [LULL_OTF2_DEPEND] = LULL_EVENT_DEPEND,
        [LULL_OTF2_WAIT] = LULL_EVENT_DEVICE_WAIT,
        [LULL_OTF2_RUN] = LULL_EVENT_OPERATION};
    struct lull_event *told = &stream->submission;
    switch (which) {
    case LULL_OTF2_LOCATION:
        told->operation.location = lull_otf2_find(&stream->archive->locations, value);
        return;
    case LULL_OTF2_REGION:
        told->id = lull_otf2_find(&stream->archive->regions, value);
        return;
    case LULL_OTF2_BYTES:
    case LULL_OTF2_OTHER:
        told->operation.bytes = value;
        return;
    case LULL_OTF2_SEQUENCE:
        told->operation.sequence = value;
        return;
    case LULL_OTF2_PEER:
        told->operation.peer = value <= INT32_MAX ? (int32_t)value : LULL_ANY;
        return;
    default:
        break;
    }
    if (stream->mask & LULL_MASK(kinds[which])) {
        struct lull_event *event = otf2_add(stream, time, kinds[which], told->id);
        event->operation = told->operation;
        event->operation.number = value;
    }
    stream->submission = lull_otf2_nothing_told;
}

static OTF2_CallbackCode take_parameter(struct otf2_stream *stream, OTF2_TimeStamp time,
                                        OTF2_ParameterRef parameter, uint64_t value)
{
    const uint32_t index = lull_otf2_find(&stream->archive->parameters, parameter);
    if (index < LULL_OTF2_DEVICE_PARAMETERS)
        take_device_parameter(stream, time, index, value);
    else if (index != LULL_NONE && stream->mask & LULL_MASK(LULL_EVENT_MARKER))
        otf2_add(stream, time, LULL_EVENT_MARKER, index - LULL_OTF2_DEVICE_PARAMETERS)->number =
            value;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_parameter_int(COMMON, OTF2_ParameterRef parameter, int64_t value)
{
    IGNORE_COMMON;
    return take_parameter(user, time, parameter, (uint64_t)value);
}

static OTF2_CallbackCode on_parameter_unsigned(COMMON, OTF2_ParameterRef parameter, uint64_t value)
{
    IGNORE_COMMON;
    return take_parameter(user, time, parameter, value);
}

static OTF2_CallbackCode on_parameter_string(COMMON, OTF2_ParameterRef parameter,
                                             OTF2_StringRef string)
{
    IGNORE_COMMON;
    return take_parameter(user, time, parameter, string);
}

/* ---- registration ---------------------------------------------------------------------------- */

static void set_regions(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_ENTER)) {
        SET(Enter, on_enter);
        SET(CallingContextEnter, on_context_enter);
    }
    if (mask & LULL_MASK(LULL_EVENT_LEAVE)) {
        SET(Leave, on_leave);
        SET(CallingContextLeave, on_context_leave);
    }
}

static void otf2_set_messages(struct lull_otf2_callbacks *callbacks, uint64_t mask);
static void otf2_set_collectives(struct lull_otf2_callbacks *callbacks, uint64_t mask);
static void otf2_set_transfers(struct lull_otf2_callbacks *callbacks, uint64_t mask);
static void set_copies(struct lull_otf2_callbacks *callbacks);

void lull_otf2_set_callbacks(struct lull_otf2_callbacks *callbacks, uint64_t mask, bool copies)
{
    set_regions(callbacks, mask);
    otf2_set_messages(callbacks, mask);
    otf2_set_collectives(callbacks, mask);
    otf2_set_transfers(callbacks, mask);
    if (copies)
        set_copies(callbacks);
    otf2_set_threads(callbacks, mask);
    otf2_set_tasks_and_locks(callbacks, mask);
    if (mask & (LULL_MASK(LULL_EVENT_COUNTERS) | LULL_MASK(LULL_EVENT_STATE)))
        SET(Metric, on_metric);
    if (mask & LULL_MASK(LULL_EVENT_FLUSH))
        SET(BufferFlush, on_flush);
    if (mask & (LULL_MASK(LULL_EVENT_MEASURE_OFF) | LULL_MASK(LULL_EVENT_MEASURE_ON)))
        SET(MeasurementOnOff, on_measurement);
    if (mask & LULL_MASK(LULL_EVENT_MARKER)) {
        SET(ParameterInt, on_parameter_int);
        SET(ParameterString, on_parameter_string);
    }
    if (mask & (LULL_MASK(LULL_EVENT_MARKER) | LULL_MASK_DEVICES))
        SET(ParameterUnsignedInt, on_parameter_unsigned);
}

/* ==== totals ================================================================================== */

static uint64_t divide(uint64_t total, uint32_t ranks)
{
    if (total % ranks == 0)
        return total / ranks;
    return ranks > 1 && total % (ranks - 1) == 0 ? total / (ranks - 1) : total;
}

/* Finds the bytes of one from the totals of a scan. A rank of a scan sends to the ranks behind it
 * and receives from those before it, and except in exscan and in place also to and from itself. */
static void divide_scan(uint32_t ranks, uint32_t rank, uint64_t *sent, uint64_t *received)
{
    bool with_itself = *sent * (rank + 1) == *received * (ranks - rank);
    uint32_t parts = with_itself ? ranks + 1 : ranks - 1;
    if (parts > 0)
        *sent = *received = (*sent + *received) / parts;
}

void lull_otf2_bytes_of_one(uint8_t op, uint32_t ranks, uint32_t rank, uint64_t *sent,
                            uint64_t *received)
{
    if (ranks == 0 || rank >= ranks)
        return;
    switch (op) {
    case LULL_COLLECTIVE_BCAST: /* at its root */
    case LULL_COLLECTIVE_ALLGATHER:
    case LULL_COLLECTIVE_ALLGATHERV:
        *sent = divide(*sent, ranks);
        break;
    case LULL_COLLECTIVE_REDUCE: /* at its root */
    case LULL_COLLECTIVE_REDUCE_SCATTER:
    case LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        *received = divide(*received, ranks);
        break;
    case LULL_COLLECTIVE_ALLREDUCE:
        *sent = divide(*sent, ranks);
        *received = divide(*received, ranks);
        break;
    case LULL_COLLECTIVE_SCAN:
    case LULL_COLLECTIVE_EXSCAN:
        divide_scan(ranks, rank, sent, received);
        break;
    default: /* gather, scatter and alltoall hold the data of all ranks */
        break;
    }
}

/* ==== messages ================================================================================ */

/* ---- communicators and ranks ----------------------------------------------------------------- */

static uint32_t comm_index(const struct otf2_stream *stream, OTF2_CommRef comm)
{
    uint32_t index = lull_otf2_find(&stream->archive->comms, comm);
    if (index == LULL_NONE)
        otf2_add_quirk(
            stream,
            "an event names a communicator that is not defined; its ranks are taken as those "
            "of the world",
            "communicator", comm);
    return index;
}

static int32_t process_in_world(const struct otf2_stream *stream, uint32_t rank)
{
    return rank < stream->trace->n_processes ? (int32_t)rank : LULL_PROC_NULL;
}

/* The group to which ranks of a communicator refer. Between two groups it is the one that this
 * process is not in. */
static const struct lull_comm *rank_group(const struct otf2_stream *stream, uint32_t index)
{
    const struct lull_comm *comm = &stream->trace->comms[index];
    if (comm->remote == LULL_NONE)
        return comm;
    return lull_comm_rank(comm, stream->process) == LULL_NONE ? comm
                                                              : &stream->trace->comms[comm->remote];
}

static int32_t process_of_rank(const struct otf2_stream *stream, uint32_t index, uint32_t rank)
{
    if (index == LULL_NONE)
        return process_in_world(stream, rank);
    if (stream->archive->self_comms[index])
        return (int32_t)stream->process;
    const struct lull_comm *comm = rank_group(stream, index);
    uint32_t process =
        comm->paradigm == LULL_PARADIGM_OPENMP ? LULL_NONE : lull_comm_member(comm, rank);
    if (process != LULL_NONE)
        return (int32_t)process;
    otf2_add_quirk(
        stream,
        "an event names a rank that its communicator does not have; taken as a rank of the "
        "world",
        "rank", rank);
    return process_in_world(stream, rank);
}

/* MPI_PROC_NULL and MPI_ANY_SOURCE are -1 to -3, depending on the MPI library. */
enum { NEGATIVE_RANKS = 3 };

static int32_t peer_process(const struct otf2_stream *stream, uint32_t index, uint32_t rank)
{
    if (rank > UINT32_MAX - NEGATIVE_RANKS)
        return LULL_PROC_NULL;
    return process_of_rank(stream, index, rank);
}

static int32_t root_process(const struct otf2_stream *stream, uint32_t index, uint32_t root)
{
    if (root == OTF2_COLLECTIVE_ROOT_SELF)
        return (int32_t)stream->process;
    if (root == OTF2_COLLECTIVE_ROOT_NONE || root == OTF2_COLLECTIVE_ROOT_THIS_GROUP)
        return LULL_ANY;
    return process_of_rank(stream, index, root);
}

/* ---- point-to-point -------------------------------------------------------------------------- */

/* What a message record says, in OTF2's terms. */
struct message {
    uint32_t rank;
    OTF2_CommRef comm;
    uint32_t tag;
    uint64_t bytes;
    uint64_t request;
};

static OTF2_CallbackCode add_message_event(struct otf2_stream *stream, OTF2_TimeStamp time,
                                           uint8_t kind, const struct message *message)
{
    uint32_t comm = comm_index(stream, message->comm);
    struct lull_event *event = otf2_add(stream, time, kind, comm);
    event->message.bytes = message->bytes;
    event->message.request = message->request;
    event->message.peer = peer_process(stream, comm, message->rank);
    event->message.tag = (int32_t)message->tag;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_send(COMMON, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    IGNORE_COMMON;
    const struct message message = {receiver, comm, tag, bytes, LULL_NO_REQUEST};
    return add_message_event(user, time, LULL_EVENT_SEND, &message);
}

static OTF2_CallbackCode on_isend(COMMON, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    const struct message message = {receiver, comm, tag, bytes, request};
    stream->sends_posted++;
    return add_message_event(stream, time, LULL_EVENT_SEND, &message);
}

static OTF2_CallbackCode on_recv(COMMON, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    IGNORE_COMMON;
    const struct message message = {sender, comm, tag, bytes, LULL_NO_REQUEST};
    return add_message_event(user, time, LULL_EVENT_RECV, &message);
}

static OTF2_CallbackCode on_irecv(COMMON, uint32_t sender, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    const struct message message = {sender, comm, tag, bytes, request};
    stream->receives_completed++;
    return add_message_event(stream, time, LULL_EVENT_RECV, &message);
}

static OTF2_CallbackCode add_request(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t kind,
                                     uint64_t request)
{
    struct lull_event *event = otf2_add(stream, time, kind, LULL_NONE);
    event->message.bytes = 0;
    event->message.request = request;
    event->message.peer = LULL_ANY;
    event->message.tag = LULL_ANY;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_isend_complete(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    stream->sends_completed++;
    return add_request(stream, time, LULL_EVENT_SEND_DONE, request);
}

static OTF2_CallbackCode on_irecv_request(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    stream->receives_posted++;
    return add_request(stream, time, LULL_EVENT_RECV_POST, request);
}

static OTF2_CallbackCode on_request_test(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    return add_request(user, time, LULL_EVENT_REQUEST_TEST, request);
}

static OTF2_CallbackCode on_request_cancelled(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    stream->requests_cancelled++;
    return stream->mask & LULL_MASK(LULL_EVENT_REQUEST_CANCELLED)
               ? add_request(stream, time, LULL_EVENT_REQUEST_CANCELLED, request)
               : OTF2_CALLBACK_SUCCESS;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static OTF2_CallbackCode add_collective_begin(struct otf2_stream *stream, OTF2_TimeStamp time,
                                              uint64_t request)
{
    struct lull_event *event = otf2_add(stream, time, LULL_EVENT_COLLECTIVE_BEGIN, LULL_NONE);
    event->op = LULL_COLLECTIVE_UNKNOWN;
    event->collective.sent = 0;
    event->collective.received = 0;
    event->collective.request = request;
    event->collective.root = LULL_ANY;
    event->collective.reserved = 0;
    stream->collectives_begun++;
    return OTF2_CALLBACK_SUCCESS;
}

/* What the end record of a collective operation says, in OTF2's terms; the communicator is
 * apart. */
struct collective {
    OTF2_CollectiveOp op;
    uint32_t root;
    uint64_t sent, received;
    uint64_t request;
};

static void take_own_bytes(const struct otf2_stream *stream, uint32_t comm,
                           struct lull_event *event)
{
    const struct lull_comm *group = rank_group(stream, comm);
    uint32_t rank = 0;
    if (group->paradigm == LULL_PARADIGM_OPENMP || stream->archive->self_comms[comm])
        return;
    if (event->op == LULL_COLLECTIVE_SCAN || event->op == LULL_COLLECTIVE_EXSCAN)
        rank = lull_comm_rank(group, stream->process);
    lull_otf2_bytes_of_one(event->op, group->size, rank, &event->collective.sent,
                           &event->collective.received);
}

static OTF2_CallbackCode add_collective_end(struct otf2_stream *stream, OTF2_TimeStamp time,
                                            uint32_t comm, const struct collective *collective)
{
    struct lull_event *event = otf2_add(stream, time, LULL_EVENT_COLLECTIVE_END, comm);
    event->op = lull_otf2_collective_from(collective->op);
    event->collective.sent = collective->sent;
    event->collective.received = collective->received;
    if (stream->archive->totals && comm != LULL_NONE)
        take_own_bytes(stream, comm, event);
    event->collective.request = collective->request;
    event->collective.root = root_process(stream, comm, collective->root);
    event->collective.reserved = 0;
    stream->collectives_ended++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_collective_begin(COMMON)
{
    IGNORE_COMMON;
    return add_collective_begin(user, time, LULL_NO_REQUEST);
}

static OTF2_CallbackCode on_collective_request(COMMON, uint64_t request)
{
    IGNORE_COMMON;
    return add_collective_begin(user, time, request);
}

static OTF2_CallbackCode on_collective_end(COMMON, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                           uint32_t root, uint64_t sent, uint64_t received)
{
    IGNORE_COMMON;
    const struct collective collective = {op, root, sent, received, LULL_NO_REQUEST};
    return add_collective_end(user, time, comm_index(user, comm), &collective);
}

static OTF2_CallbackCode on_collective_complete(COMMON, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                                uint32_t root, uint64_t sent, uint64_t received,
                                                uint64_t request)
{
    IGNORE_COMMON;
    const struct collective collective = {op, root, sent, received, request};
    return add_collective_end(user, time, comm_index(user, comm), &collective);
}

/* ---- one-sided ------------------------------------------------------------------------------- */

static uint32_t window_comm(const struct otf2_stream *stream, uint32_t window)
{
    return window == LULL_NONE ? LULL_NONE : stream->archive->window_comms[window];
}

static OTF2_CallbackCode on_rma_collective_end(COMMON, OTF2_CollectiveOp op,
                                               OTF2_RmaSyncLevel level, OTF2_RmaWinRef window,
                                               uint32_t root, uint64_t sent, uint64_t received)
{
    IGNORE_COMMON;
    (void)level;
    struct otf2_stream *stream = user;
    const struct collective collective = {op, root, sent, received, LULL_NO_REQUEST};
    uint32_t comm = window_comm(stream, lull_otf2_find(&stream->archive->windows, window));
    return add_collective_end(stream, time, comm, &collective);
}

static OTF2_CallbackCode add_rma(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t op,
                                 OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes)
{
    uint32_t index = lull_otf2_find(&stream->archive->windows, window);
    struct lull_event *event = otf2_add(stream, time, LULL_EVENT_RMA, index);
    event->op = op;
    event->transfer.bytes = bytes;
    event->transfer.reserved = 0;
    event->transfer.target = remote == OTF2_UNDEFINED_UINT32
                                 ? LULL_ANY
                                 : peer_process(stream, window_comm(stream, index), remote);
    return OTF2_CALLBACK_SUCCESS;
}

static void begin_copy(struct otf2_stream *stream, OTF2_TimeStamp time, uint32_t region)
{
    const bool copying = is_copying(stream);
    stream->copies_begun++;
    if (copying || !is_copying(stream))
        return;
    stream->copy = region;
    otf2_add(stream, time, LULL_EVENT_ENTER, region);
}

/* Copies of a stream are counted and not told apart: Score-P gives all of them the same id. */
static void end_copy(struct otf2_stream *stream, OTF2_TimeStamp time)
{
    const bool copying = is_copying(stream);
    if (stream->copies_completed == stream->copies_begun)
        return;
    stream->copies_completed++;
    if (copying && !is_copying(stream))
        otf2_add(stream, time, LULL_EVENT_LEAVE, stream->copy);
}

/* Adds a transfer that a device stream makes, or a process. */
static OTF2_CallbackCode add_transfer(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t op,
                                      OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes)
{
    if (stream->makes_copies)
        begin_copy(stream, time,
                   op == LULL_RMA_GET ? stream->archive->copy_to_device
                                      : stream->archive->copy_from_device);
    return stream->mask & LULL_MASK(LULL_EVENT_RMA)
               ? add_rma(stream, time, op, window, remote, bytes)
               : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_put(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes,
                                uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)matching_id;
    return add_transfer(user, time, LULL_RMA_PUT, window, remote, bytes);
}

static OTF2_CallbackCode on_get(COMMON, OTF2_RmaWinRef window, uint32_t remote, uint64_t bytes,
                                uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)matching_id;
    return add_transfer(user, time, LULL_RMA_GET, window, remote, bytes);
}

/* Only asked for on device streams, and while the ends of the run are looked for. */
static OTF2_CallbackCode on_rma_complete(COMMON, OTF2_RmaWinRef window, uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)matching_id;
    struct otf2_stream *stream = user;
    if (stream->probing)
        return add_rma(stream, time, LULL_RMA_SYNC, window, OTF2_UNDEFINED_UINT32, 0);
    end_copy(stream, time);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_atomic(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                   OTF2_RmaAtomicType type, uint64_t sent, uint64_t received,
                                   uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)type;
    (void)matching_id;
    return add_rma(user, time, LULL_RMA_ATOMIC, window, remote, sent + received);
}

static OTF2_CallbackCode on_rma_sync(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                     OTF2_RmaSyncType type)
{
    IGNORE_COMMON;
    (void)type;
    return add_rma(user, time, LULL_RMA_SYNC, window, remote, 0);
}

static OTF2_CallbackCode on_group_sync(COMMON, OTF2_RmaSyncLevel level, OTF2_RmaWinRef window,
                                       OTF2_GroupRef group)
{
    IGNORE_COMMON;
    (void)level;
    (void)group;
    return add_rma(user, time, LULL_RMA_SYNC, window, OTF2_UNDEFINED_UINT32, 0);
}

static OTF2_CallbackCode on_rma_lock(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                     uint64_t lock_id, OTF2_LockType type)
{
    IGNORE_COMMON;
    (void)lock_id;
    (void)type;
    return add_rma(user, time, LULL_RMA_SYNC, window, remote, 0);
}

static OTF2_CallbackCode on_rma_unlock(COMMON, OTF2_RmaWinRef window, uint32_t remote,
                                       uint64_t lock_id)
{
    IGNORE_COMMON;
    (void)lock_id;
    return add_rma(user, time, LULL_RMA_SYNC, window, remote, 0);
}

static OTF2_CallbackCode on_wait_change(COMMON, OTF2_RmaWinRef window)
{
    IGNORE_COMMON;
    return add_rma(user, time, LULL_RMA_SYNC, window, OTF2_UNDEFINED_UINT32, 0);
}

/* ---- input and output ------------------------------------------------------------------------ */

static OTF2_CallbackCode add_io(struct otf2_stream *stream, OTF2_TimeStamp time, uint8_t op,
                                uint64_t bytes)
{
    struct lull_event *event = otf2_add(stream, time, LULL_EVENT_IO, LULL_NONE);
    event->op = op;
    event->transfer.bytes = bytes;
    event->transfer.reserved = 0;
    event->transfer.target = LULL_ANY;
    return OTF2_CALLBACK_SUCCESS;
}

/* Keeps the operation, which only the begin record has; only the end record has the bytes that were
 * moved. The two become one event, at the end. */
static OTF2_CallbackCode on_io_begin(COMMON, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
                                     OTF2_IoOperationFlag flags, uint64_t bytes,
                                     uint64_t matching_id)
{
    IGNORE_COMMON;
    (void)time;
    (void)flags;
    (void)bytes;
    struct otf2_stream *stream = user;
    uint8_t op = mode == OTF2_IO_OPERATION_MODE_READ    ? LULL_IO_READ
                 : mode == OTF2_IO_OPERATION_MODE_WRITE ? LULL_IO_WRITE
                                                        : LULL_IO_OTHER;
    stream->io[stream->n_io++ % LULL_OTF2_PENDING_IO] =
        (struct lull_otf2_pending_io){matching_id, handle, op};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_io_complete(COMMON, OTF2_IoHandleRef handle, uint64_t bytes,
                                        uint64_t matching_id)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    unsigned kept = stream->n_io < LULL_OTF2_PENDING_IO ? stream->n_io : LULL_OTF2_PENDING_IO;
    uint8_t op = LULL_IO_OTHER;
    for (unsigned back = 1; back <= kept; back++) { /* the latest first */
        const struct lull_otf2_pending_io *begun =
            &stream->io[(stream->n_io - back) % LULL_OTF2_PENDING_IO];
        if (begun->matching_id != matching_id || begun->handle != handle)
            continue;
        op = begun->op;
        break;
    }
    return add_io(stream, time, op, bytes);
}

static OTF2_CallbackCode on_io_open(COMMON, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
                                    OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)
{
    IGNORE_COMMON;
    (void)handle;
    (void)mode;
    (void)creation;
    (void)status;
    return add_io(user, time, LULL_IO_OPEN, 0);
}

static OTF2_CallbackCode on_io_close(COMMON, OTF2_IoHandleRef handle)
{
    IGNORE_COMMON;
    (void)handle;
    return add_io(user, time, LULL_IO_CLOSE, 0);
}

static OTF2_CallbackCode on_io_seek(COMMON, OTF2_IoHandleRef handle, int64_t requested,
                                    OTF2_IoSeekOption whence, uint64_t result)
{
    IGNORE_COMMON;
    (void)handle;
    (void)requested;
    (void)whence;
    (void)result;
    return add_io(user, time, LULL_IO_OTHER, 0);
}

/* ---- registration ---------------------------------------------------------------------------- */

static void otf2_set_messages(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_SEND)) {
        SET(MpiSend, on_send);
        SET(MpiIsend, on_isend);
    }
    if (mask & LULL_MASK(LULL_EVENT_SEND_DONE))
        SET(MpiIsendComplete, on_isend_complete);
    if (mask & LULL_MASK(LULL_EVENT_RECV_POST))
        SET(MpiIrecvRequest, on_irecv_request);
    if (mask & LULL_MASK(LULL_EVENT_RECV)) {
        SET(MpiRecv, on_recv);
        SET(MpiIrecv, on_irecv);
    }
    if (mask & LULL_MASK(LULL_EVENT_REQUEST_TEST))
        SET(MpiRequestTest, on_request_test);
    /* Cancelled requests explain why completions are missing. */
    if (mask & (LULL_MASK(LULL_EVENT_REQUEST_CANCELLED) | LULL_MASK(LULL_EVENT_SEND_DONE) |
                LULL_MASK(LULL_EVENT_RECV_POST)))
        SET(MpiRequestCancelled, on_request_cancelled);
}

static void otf2_set_collectives(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN)) {
        SET(MpiCollectiveBegin, on_collective_begin);
        SET(RmaCollectiveBegin, on_collective_begin);
        SET(NonBlockingCollectiveRequest, on_collective_request);
    }
    if (mask & LULL_MASK(LULL_EVENT_COLLECTIVE_END)) {
        SET(MpiCollectiveEnd, on_collective_end);
        SET(RmaCollectiveEnd, on_rma_collective_end);
        SET(NonBlockingCollectiveComplete, on_collective_complete);
    }
}

static void set_copies(struct lull_otf2_callbacks *callbacks)
{
    SET(RmaPut, on_put);
    SET(RmaGet, on_get);
    SET(RmaOpCompleteBlocking, on_rma_complete);
    SET(RmaOpCompleteNonBlocking, on_rma_complete);
}

static void otf2_set_transfers(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    if (mask & LULL_MASK(LULL_EVENT_RMA)) {
        SET(RmaPut, on_put);
        SET(RmaGet, on_get);
        SET(RmaAtomic, on_atomic);
        SET(RmaSync, on_rma_sync);
        SET(RmaGroupSync, on_group_sync);
        SET(RmaAcquireLock, on_rma_lock);
        SET(RmaReleaseLock, on_rma_unlock);
        SET(RmaWaitChange, on_wait_change);
    }
    if (mask & LULL_MASK(LULL_EVENT_IO)) {
        SET(IoOperationBegin, on_io_begin);
        SET(IoOperationComplete, on_io_complete);
        SET(IoCreateHandle, on_io_open);
        SET(IoDestroyHandle, on_io_close);
        SET(IoSeek, on_io_seek);
    }
}
