/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/nesting.h"

#include "base/array.h"

#include <stdlib.h>

#define REGION_MASK (LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE))

uint64_t lull_nesting_mask(uint64_t mask)
{
    return mask & REGION_MASK ? mask | REGION_MASK : mask;
}

void lull_nesting_begin(struct lull_nesting *nesting, uint64_t mask, bool unordered)
{
    /* Times begin at 0, so that the first event is checked like all others. */
    *nesting = (struct lull_nesting){.hidden = lull_nesting_mask(mask) & ~mask,
                                     .unordered = unordered,
                                     .cut_begin = true,
                                     .tells_off = mask >> LULL_EVENT_MEASURE_OFF & 1};
}

void lull_nesting_end(struct lull_nesting *nesting)
{
    free(nesting->open);
    nesting->open = NULL;
}

static lull_status no_memory_for_nesting(const struct lull_trace *trace, uint32_t location,
                                         struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: %s: out of memory for nested regions", trace->path,
                     trace->locations[location].name);
}

static bool push_open_region(struct lull_nesting *nesting, uint32_t region)
{
    if (!lull_array_reserve(&nesting->open, &nesting->capacity, (size_t)nesting->depth + 1,
                            sizeof *nesting->open))
        return false;
    nesting->open[nesting->depth++] = region;
    nesting->cut_begin = false;
    return true;
}

static bool append_event(struct lull_event_buffer *scratch, uint32_t *count,
                         const struct lull_event *event)
{
    if (!lull_array_reserve(&scratch->events, &scratch->capacity, (size_t)*count + 1,
                            sizeof *scratch->events))
        return false;
    scratch->events[(*count)++] = *event;
    return true;
}

static bool append_leave(struct lull_nesting *nesting, struct lull_event_buffer *scratch,
                         uint32_t *count, int64_t time)
{
    struct lull_event leave = {
        .time = time, .kind = LULL_EVENT_LEAVE, .id = nesting->open[--nesting->depth]};
    return append_event(scratch, count, &leave);
}

static lull_status time_backwards(const struct lull_nesting *nesting,
                                  const struct lull_trace *trace, uint32_t location,
                                  const struct lull_event *event, struct lull_error *err)
{
    if (event->time < 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: %s: %s at %lld ns, before the run begins",
                         trace->path, trace->locations[location].name,
                         lull_event_kind_name(event->kind), (long long)event->time);
    return lull_fail(err, LULL_ERR_FORMAT,
                     "%s: %s: time runs backwards: %s at %lld ns after an event at %lld ns",
                     trace->path, trace->locations[location].name,
                     lull_event_kind_name(event->kind), (long long)event->time,
                     (long long)nesting->last_time);
}

/* Order and extent of one event; false when they are wrong. */
static inline bool in_order(struct lull_nesting *nesting, const struct lull_event *event)
{
    if (event->time < nesting->last_time)
        return false;
    nesting->last_time = event->time;
    if (event->kind > LULL_EVENT_CALL)
        return true;
    if (event->time < nesting->call_end)
        return false;
    return event->kind != LULL_EVENT_CALL ||
           (event->duration >= 0 &&
            !__builtin_add_overflow(event->time, event->duration, &nesting->call_end));
}

/* Says what in_order() found. */
static lull_status bad_order(const struct lull_nesting *nesting, const struct lull_trace *trace,
                             uint32_t location, const struct lull_event *event,
                             struct lull_error *err)
{
    if (event->time < nesting->last_time)
        return time_backwards(nesting, trace, location, event, err);
    return lull_fail(err, LULL_ERR_FORMAT,
                     "%s: %s: %s at %lld ns, expected none inside of a call that lasts until %lld "
                     "ns",
                     trace->path, trace->locations[location].name,
                     lull_event_kind_name(event->kind), (long long)event->time,
                     (long long)nesting->call_end);
}

/* Messages that may come in any order take no part in the checks. */
static inline bool passed_by(const struct lull_nesting *nesting, const struct lull_event *event)
{
    return nesting->unordered && LULL_MASK_MESSAGES >> event->kind & 1;
}

/* A LEAVE that does not close the innermost open region. */
static bool repair_leave(struct lull_nesting *nesting, const struct lull_trace *trace,
                         uint32_t location, const struct lull_event *leave,
                         struct lull_event_buffer *scratch, uint32_t *count)
{
    uint32_t at = nesting->depth;
    while (at > 0 && nesting->open[at - 1] != leave->id)
        at--;
    if (at == 0) {
        const char *name = trace->locations[location].name;
        const char *region = leave->id < trace->n_regions ? trace->regions[leave->id].name : "?";
        lull_trace_add_quirk(
            trace,
            nesting->cut_begin && nesting->depth == 0
                ? "regions were open when the recording began; their end is ignored"
                : "a region is left that was not entered; ignored",
            "%s: '%s' at %lld ns", name, region, (long long)leave->time);
        return true;
    }
    lull_trace_add_quirk(trace, "a region is left before those inside it; they are closed with it",
                         "%s: '%s' at %lld ns", trace->locations[location].name,
                         trace->regions[leave->id].name, (long long)leave->time);
    while (nesting->depth >= at)
        if (!append_leave(nesting, scratch, count, leave->time))
            return false;
    return true;
}

static inline bool closes_innermost(const struct lull_nesting *nesting,
                                    const struct lull_event *leave)
{
    return nesting->depth > 0 && nesting->open[nesting->depth - 1] == leave->id;
}

/* Takes out what was not asked for. */
static lull_status hide(const struct lull_nesting *nesting, const struct lull_trace *trace,
                        uint32_t location, const struct lull_event **events, uint32_t *count,
                        struct lull_event_buffer *scratch, struct lull_error *err)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        struct lull_event event = (*events)[i]; /* may lie in the scratch buffer itself */
        if (!(nesting->hidden >> event.kind & 1) && !append_event(scratch, &kept, &event))
            return no_memory_for_nesting(trace, location, err);
    }
    *events = scratch->events;
    *count = kept;
    return LULL_OK;
}

static bool is_beyond(const struct lull_trace *trace, const struct lull_event *event)
{
    int64_t length = event->kind == LULL_EVENT_CALL ? event->duration : 0;
    return event->time > trace->duration || length > trace->duration - event->time;
}

/* Takes back the last events as long as they lie behind the run: where time runs backwards, the
 * later of two times may be the wrong one. Readers look at the last event of a block only. */
static void take_back(struct lull_nesting *nesting, const struct lull_trace *trace,
                      const struct lull_event_buffer *scratch, uint32_t *count)
{
    if (nesting->last_time <= trace->duration && nesting->call_end <= trace->duration)
        return;
    for (; *count > 0 && is_beyond(trace, &scratch->events[*count - 1]); --*count) {
        const struct lull_event *event = &scratch->events[*count - 1];
        if (event->kind == LULL_EVENT_ENTER)
            nesting->depth--;
        else if (event->kind == LULL_EVENT_LEAVE)
            nesting->open[nesting->depth++] = event->id;
    }
    nesting->last_time = *count > 0 ? scratch->events[*count - 1].time : nesting->before;
}

/* In the place of the first event out of order, behind `count` good ones in the scratch buffer. */
static lull_status leave_out_rest(struct lull_nesting *nesting, const struct lull_trace *trace,
                                  uint32_t location, const struct lull_event *bad,
                                  struct lull_event_buffer *scratch, uint32_t *count,
                                  struct lull_error *err)
{
    struct lull_error wrong;
    lull_status status = bad_order(nesting, trace, location, bad, &wrong);
    status = lull_trace_leave_out(trace, location, status, &wrong);
    if (status != LULL_OK)
        return lull_fail(err, status, "%s", wrong.text);
    nesting->left_out = true;
    take_back(nesting, trace, scratch, count);
    const struct lull_event off = {.time = nesting->last_time, .kind = LULL_EVENT_MEASURE_OFF};
    return !nesting->tells_off || append_event(scratch, count, &off)
               ? LULL_OK
               : no_memory_for_nesting(trace, location, err);
}

/* From the first irregular event on, whose order has been looked at: a copy with the repairs. */
static lull_status repair_from(uint32_t first, bool order_is_bad, struct lull_nesting *nesting,
                               const struct lull_trace *trace, uint32_t location,
                               const struct lull_event **events, uint32_t *count,
                               struct lull_event_buffer *scratch, struct lull_error *err)
{
    uint32_t kept = 0;
    bool good = true;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; good && i < first; i++)
        good = append_event(scratch, &kept, &(*events)[i]);
    for (uint32_t i = first; good && i < *count; i++) {
        const struct lull_event *event = &(*events)[i];
        if (order_is_bad ||
            (i > first && !passed_by(nesting, event) && !in_order(nesting, event))) {
            status = leave_out_rest(nesting, trace, location, event, scratch, &kept, err);
            break;
        }
        if (event->kind == LULL_EVENT_LEAVE && !closes_innermost(nesting, event)) {
            good = repair_leave(nesting, trace, location, event, scratch, &kept);
            continue;
        }
        if (event->kind == LULL_EVENT_LEAVE)
            nesting->depth--;
        else if (event->kind == LULL_EVENT_ENTER)
            good = push_open_region(nesting, event->id);
        good = good && append_event(scratch, &kept, event);
    }
    if (!good)
        return no_memory_for_nesting(trace, location, err);
    if (status != LULL_OK)
        return status;
    *events = scratch->events;
    *count = kept;
    return nesting->hidden ? hide(nesting, trace, location, events, count, scratch, err) : LULL_OK;
}

/* Takes regions, calls and messages for as long as all is regular, from events[i] on; what is most
 * of a trace is checked here, with everything in registers. Returns the first that is left. */
static uint32_t take_regular(struct lull_nesting *nesting, const struct lull_event *events,
                             uint32_t i, uint32_t count)
{
    const uint64_t in_calls = nesting->unordered
                                  ? 0
                                  : LULL_MASK_MESSAGES | LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |
                                        LULL_MASK(LULL_EVENT_COLLECTIVE_END);
    int64_t last = nesting->last_time, call_end = nesting->call_end;
    uint32_t depth = nesting->depth;
    uint32_t *open = nesting->open;
    for (; i < count; i++) {
        const struct lull_event *event = &events[i];
        const int64_t time = event->time;
        if (time < last)
            break;
        if (event->kind == LULL_EVENT_CALL) {
            if (time < call_end || ((uint64_t)event->duration | (uint64_t)time) >> 62)
                break;
            call_end = time + event->duration;
        } else if (event->kind == LULL_EVENT_ENTER) {
            if (time < call_end || depth == nesting->capacity)
                break;
            open[depth++] = event->id;
            nesting->cut_begin = false;
        } else if (event->kind == LULL_EVENT_LEAVE) {
            if (time < call_end || depth == 0 || open[depth - 1] != event->id)
                break;
            depth--;
        } else if (!(in_calls >> event->kind & 1)) {
            break;
        }
        last = time;
    }
    nesting->last_time = last;
    nesting->call_end = call_end;
    nesting->depth = depth;
    return i;
}

lull_status lull_nesting_repair(struct lull_nesting *nesting, const struct lull_trace *trace,
                                uint32_t location, const struct lull_event **events,
                                uint32_t *count, struct lull_event_buffer *scratch,
                                struct lull_error *err)
{
    if (nesting->left_out)
        *count = 0;
    nesting->before = nesting->last_time;
    for (uint32_t i = 0; (i = take_regular(nesting, *events, i, *count)) < *count; i++) {
        const struct lull_event *event = &(*events)[i];
        if (!passed_by(nesting, event) && !in_order(nesting, event))
            return repair_from(i, true, nesting, trace, location, events, count, scratch, err);
        if (event->kind == LULL_EVENT_LEAVE) {
            if (!closes_innermost(nesting, event))
                return repair_from(i, false, nesting, trace, location, events, count, scratch, err);
            nesting->depth--;
        } else if (event->kind == LULL_EVENT_ENTER && !push_open_region(nesting, event->id)) {
            return no_memory_for_nesting(trace, location, err);
        }
    }
    return nesting->hidden ? hide(nesting, trace, location, events, count, scratch, err) : LULL_OK;
}

lull_status lull_nesting_close_all(struct lull_nesting *nesting, const struct lull_trace *trace,
                                   uint32_t location, const struct lull_event **ret_events,
                                   uint32_t *ret_count, struct lull_event_buffer *scratch,
                                   struct lull_error *err)
{
    uint32_t count = 0;
    if (nesting->depth > 0) {
        const struct lull_region *last = &trace->regions[nesting->open[nesting->depth - 1]];
        lull_trace_add_quirk(trace, "regions were open when the recording ended; closed at the end",
                             "%s: '%s'%s%s", trace->locations[location].name, last->name,
                             *last->site ? " called from " : "", last->site);
    }
    int64_t end = trace->duration > nesting->last_time ? trace->duration : nesting->last_time;
    while (nesting->depth > 0)
        if (!append_leave(nesting, scratch, &count, end))
            return no_memory_for_nesting(trace, location, err);
    *ret_events = scratch->events;
    *ret_count = nesting->hidden & LULL_MASK(LULL_EVENT_LEAVE) ? 0 : count;
    return LULL_OK;
}
