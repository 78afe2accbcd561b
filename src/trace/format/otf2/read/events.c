/* Translation of events: regions, metrics, markers and what the tracer says of itself. */
#include "trace/format/otf2/read/events.h"

#include <inttypes.h>
#include <stdarg.h>

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

void lull_otf2_add_quirk(const struct otf2_stream *stream, const char *kind, const char *what,
                         uint64_t id)
{
    if (!stream->probing)
        lull_trace_add_quirk(stream->trace, kind, "location %" PRIu64 ": %s %" PRIu64,
                             stream->trace->locations[stream->location].source_id, what, id);
}

/* ---- regions --------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_enter(COMMON, OTF2_RegionRef region)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = lull_otf2_find(&stream->archive->regions, region);
    if (index == LULL_NONE)
        return interrupt(stream, position, "region", region);
    lull_otf2_add(stream, time, LULL_EVENT_ENTER, index);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_leave(COMMON, OTF2_RegionRef region)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = lull_otf2_find(&stream->archive->regions, region);
    if (index == LULL_NONE)
        return interrupt(stream, position, "region", region);
    lull_otf2_add(stream, time, LULL_EVENT_LEAVE, index);
    return OTF2_CALLBACK_SUCCESS;
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
    lull_otf2_add(stream, time, LULL_EVENT_ENTER, index);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_context_leave(COMMON, OTF2_CallingContextRef context)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = region_of_context(stream, context);
    if (index == LULL_NONE)
        return interrupt(stream, position, "calling context", context);
    lull_otf2_add(stream, time, LULL_EVENT_LEAVE, index);
    return OTF2_CALLBACK_SUCCESS;
}

/* A span that begins at `begin` ends with the run at the latest; while the run's length is looked
 * for, with itself. What begins before the run is refused later. */
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
    struct lull_event *event = lull_otf2_add(stream, time, LULL_EVENT_FLUSH, LULL_NONE);
    event->duration = within_run(stream, event->time, stop > time ? end - event->time : 0);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_measurement(COMMON, OTF2_MeasurementMode mode)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint8_t kind = mode == OTF2_MEASUREMENT_OFF ? LULL_EVENT_MEASURE_OFF : LULL_EVENT_MEASURE_ON;
    return stream->mask & LULL_MASK(kind) ? lull_otf2_add_number(stream, time, kind, 0)
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
    return 0; /* not a number, or none that means anything */
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
    struct lull_event *event = lull_otf2_add(stream, time, LULL_EVENT_STATE, (uint32_t)state);
    event->duration =
        within_run(stream, event->time, duration <= INT64_MAX ? (int64_t)duration : 0);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode add_readings(struct otf2_stream *stream, OTF2_TimeStamp time,
                                      const struct lull_otf2_class *class, uint32_t count,
                                      const OTF2_Type *types, const OTF2_MetricValue *values)
{
    struct lull_reading *readings = stream->readings + stream->n_readings;
    for (uint32_t m = 0; m < count; m++) {
        uint32_t counter = class->counters[m];
        uint64_t value = whole_number(types[m], values[m]);
        readings[m] = (struct lull_reading){
            .value = since_previous(stream, counter, class->modes[m], value), .counter = counter};
    }
    stream->n_readings += count;
    struct lull_event *event = lull_otf2_add(stream, time, LULL_EVENT_COUNTERS, LULL_NONE);
    event->readings.values = readings;
    event->readings.count = count;
    return OTF2_CALLBACK_SUCCESS;
}

/* Registered for states, for counters or for both: stream->readings tells about counters. */
static OTF2_CallbackCode on_metric(COMMON, OTF2_MetricRef metric, uint8_t count,
                                   const OTF2_Type *types, const OTF2_MetricValue *values)
{
    IGNORE_COMMON;
    struct otf2_stream *stream = user;
    uint32_t index = lull_otf2_find(&stream->archive->classes, metric);
    if (index == LULL_NONE) {
        lull_otf2_add_quirk(stream, "metrics of a class that is not defined are left out", "class",
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

/* ---- markers --------------------------------------------------------------------------------- */

static OTF2_CallbackCode add_marker_event(struct otf2_stream *stream, OTF2_TimeStamp time,
                                          OTF2_ParameterRef parameter, uint64_t value)
{
    uint32_t index = lull_otf2_find(&stream->archive->parameters, parameter);
    if (index != LULL_NONE)
        lull_otf2_add(stream, time, LULL_EVENT_MARKER, index)->number = value;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_parameter_int(COMMON, OTF2_ParameterRef parameter, int64_t value)
{
    IGNORE_COMMON;
    return add_marker_event(user, time, parameter, (uint64_t)value);
}

static OTF2_CallbackCode on_parameter_unsigned(COMMON, OTF2_ParameterRef parameter, uint64_t value)
{
    IGNORE_COMMON;
    return add_marker_event(user, time, parameter, value);
}

static OTF2_CallbackCode on_parameter_string(COMMON, OTF2_ParameterRef parameter,
                                             OTF2_StringRef string)
{
    IGNORE_COMMON;
    return add_marker_event(user, time, parameter, string);
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

void lull_otf2_set_callbacks(struct lull_otf2_callbacks *callbacks, uint64_t mask)
{
    set_regions(callbacks, mask);
    lull_otf2_set_messages(callbacks, mask);
    lull_otf2_set_collectives(callbacks, mask);
    lull_otf2_set_transfers(callbacks, mask);
    lull_otf2_set_threads(callbacks, mask);
    lull_otf2_set_tasks_and_locks(callbacks, mask);
    if (mask & (LULL_MASK(LULL_EVENT_COUNTERS) | LULL_MASK(LULL_EVENT_STATE)))
        SET(Metric, on_metric);
    if (mask & LULL_MASK(LULL_EVENT_FLUSH))
        SET(BufferFlush, on_flush);
    if (mask & (LULL_MASK(LULL_EVENT_MEASURE_OFF) | LULL_MASK(LULL_EVENT_MEASURE_ON)))
        SET(MeasurementOnOff, on_measurement);
    if (mask & LULL_MASK(LULL_EVENT_MARKER)) {
        SET(ParameterInt, on_parameter_int);
        SET(ParameterUnsignedInt, on_parameter_unsigned);
        SET(ParameterString, on_parameter_string);
    }
}
