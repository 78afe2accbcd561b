/* SPDX-License-Identifier: BSD-3-Clause */
#include "activity/interpreter.h"

#include "base/array.h"
#include "base/sorted.h"
#include "trace/scan.h"

#include <stdlib.h>
#include <string.h>

#define NEVER INT64_MAX

/* The activity below all regions. */
static inline uint8_t interpreter_base(const struct lull_interpreter *it)
{
    if (it->kind == LULL_LOCATION_DEVICE)
        return LULL_IDLE;
    if (it->role == LULL_THREAD_WORKER)
        return it->parallel_depth ? LULL_USEFUL : LULL_IDLE;
    return it->alive ? LULL_USEFUL : LULL_OTHER;
}

static inline uint8_t top_activity(const struct lull_interpreter *it)
{
    return it->depth ? it->stack[it->depth - 1].code.activity : INHERIT;
}

static void detail_spend(struct lull_interpreter *it, int64_t length);
static const struct lull_event *run_last(const struct lull_interpreter *it,
                                         const struct lull_event *event,
                                         const struct lull_event *last);
static void parallel_enter(struct lull_interpreter *it, uint32_t region);
static void parallel_leave(struct lull_interpreter *it);
static void call_begin(struct lull_interpreter *it, uint32_t region, int64_t kept);
static void end_call(struct lull_interpreter *it, int64_t kept);
static lull_status region_enter(struct lull_interpreter *it, const struct lull_event *event,
                                struct lull_error *err);
static void region_leave(struct lull_interpreter *it);

/* Moves the clock, within the slot. */
static inline void spend_until(struct lull_interpreter *it, int64_t until)
{
    int64_t length = until - it->ledger.now;
    if (length <= 0)
        return;
    if (it->detail)
        detail_spend(it, length);
    it->ledger.ns[it->slot] += length;
    it->ledger.now = until;
}

static inline const struct lull_interval *windows_of(const struct lull_interpreter *it)
{
    const struct lull_windows *windows = it->shared->options->reading->windows;
    return windows ? windows->intervals[it->process] : &it->shared->whole;
}

/* Whether the kept time grows in a slot. */
static inline bool is_kept(const struct lull_interpreter *it, uint8_t slot)
{
    return it->shared->stretches[it->master][slot] != LULL_STRETCH_WAIT;
}

/* The time inside the windows and not paused, up to the clock. */
static inline int64_t analysed_time(const struct lull_interpreter *it)
{
    const int64_t *ns = it->ledger.ns;
    return it->ledger.now - ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 0)] -
           ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 1)] - ns[LULL_SLOT(LULL_ACTIVITY_OUTSIDE, 0)] -
           ns[LULL_SLOT(LULL_ACTIVITY_OUTSIDE, 1)];
}

/* How threads make each other and wait for each other. */
#define EVENTS_OF_THREADS                                                            \
    (LULL_MASK(LULL_EVENT_THREAD_CREATE) | LULL_MASK(LULL_EVENT_THREAD_WAIT_BEGIN) | \
     LULL_MASK(LULL_EVENT_THREAD_WAIT_END))

/* Events that change no activity: each becomes a step, or is told by one. */
#define OPERATION_EVENTS                                                                           \
    (LULL_MASK_MESSAGES | LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |                                 \
     LULL_MASK(LULL_EVENT_COLLECTIVE_END) | LULL_MASK(LULL_EVENT_RMA) | LULL_MASK(LULL_EVENT_IO) | \
     LULL_MASK(LULL_EVENT_LOCK_ACQUIRE) | LULL_MASK(LULL_EVENT_LOCK_RELEASE) |                     \
     LULL_MASK(LULL_EVENT_MARKER) | LULL_MASK(LULL_EVENT_SAMPLE) | EVENTS_OF_THREADS |             \
     LULL_MASK_DEVICES)

/* Events that are read only where somebody asks for them. They must not decide when a location begins (but for
 * counters, by which tracers begin) and ends (last_time), or that would depend on who asks. */
#define SILENT_EVENTS                                                                        \
    (LULL_MASK(LULL_EVENT_COUNTERS) | LULL_MASK(LULL_EVENT_RMA) | LULL_MASK(LULL_EVENT_IO) | \
     LULL_MASK(LULL_EVENT_LOCK_ACQUIRE) | LULL_MASK(LULL_EVENT_LOCK_RELEASE) |               \
     LULL_MASK(LULL_EVENT_MARKER) | LULL_MASK(LULL_EVENT_SAMPLE) | EVENTS_OF_THREADS |       \
     LULL_MASK_DEVICES)

static inline bool is_operation(const struct lull_event *event)
{
    return OPERATION_EVENTS >> event->kind & 1;
}

/* ==== waits for collective operations ========================================================= */

/* The operations that complete in a call of MPI_Wait or its like tell what the call waited for. They
 * stand behind the ENTER or CALL. Where a block ends before they are known, the call waits for the
 * next block. */

/* Whether a non-blocking collective operation completes in the call that begins with an event. Sets
 * `*ret_known` to false where `end`, behind the last event, comes before that can be said. */
static bool awaits_collective(const struct lull_event *begin, const struct lull_event *end,
                              bool *ret_known)
{
    *ret_known = true;
    for (const struct lull_event *event = begin + 1; event < end; event++) {
        if (event->kind <= LULL_EVENT_CALL ||
            (begin->kind == LULL_EVENT_CALL && event->time - begin->time > begin->duration))
            return false;
        if (event->kind == LULL_EVENT_COLLECTIVE_END &&
            event->collective.request != LULL_NO_REQUEST)
            return true;
    }
    *ret_known = false;
    return false;
}

/* The effect of a region on its thread, at an ENTER or CALL. */
static inline struct region_code code_of(const struct lull_interpreter *it,
                                         const struct lull_event *event)
{
    struct region_code code = it->codes[event->id];
    bool known;
    if (code.special & COMPLETES && awaits_collective(event, it->block_end, &known))
        code.activity = LULL_MPI_COLLECTIVE;
    return code;
}

/* ---- calls that wait for the next block ---------------------------------------------------- */

enum { MOST_HELD = 1 << 20 }; /* events; a call with more is one of a damaged trace */

static lull_status no_memory_for_held(const struct lull_interpreter *it, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for the events of a call",
                     it->shared->trace->path);
}

/* Readings live as long as their block. */
static bool keep_readings(struct held *held, struct lull_event *event)
{
    if (event->kind != LULL_EVENT_COUNTERS || event->readings.count == 0)
        return true;
    const size_t n = event->readings.count;
    struct lull_counter_reading *values = malloc(n * sizeof *values);
    if (!values)
        return false;
    memcpy(values, event->readings.values, n * sizeof *values);
    event->readings.values = values;
    held->has_readings = true;
    return true;
}

static void clear_held(struct held *held)
{
    for (size_t i = 0; held->has_readings && i < held->count; i++)
        if (held->events[i].kind == LULL_EVENT_COUNTERS && held->events[i].readings.count > 0)
            free((void *)(uintptr_t)held->events[i].readings.values);
    held->count = 0;
    held->has_readings = false;
}

static lull_status hold(struct lull_interpreter *it, const struct lull_event *events, size_t count,
                        struct lull_error *err)
{
    struct held *held = &it->held;
    if (!lull_array_reserve(&held->events, &held->capacity, held->count + count,
                            sizeof *held->events))
        return no_memory_for_held(it, err);
    for (size_t i = 0; i < count; i++) {
        struct lull_event *event = &held->events[held->count];
        *event = events[i];
        if (!keep_readings(held, event))
            return no_memory_for_held(it, err);
        held->count++;
    }
    return LULL_OK;
}

/* How many events a block begins with before the first that enters or leaves a region. */
static size_t count_operations(const struct lull_event *events, size_t count)
{
    size_t n = 0;
    while (n < count && events[n].kind > LULL_EVENT_CALL)
        n++;
    return n;
}

/* How many events at the end of a block wait for the next one. */
static size_t undecided_events(const struct lull_interpreter *it, const struct lull_event *events,
                               size_t count)
{
    size_t last = count;
    while (last > 0 && events[last - 1].kind > LULL_EVENT_CALL)
        last--;
    if (last == 0)
        return 0;
    const struct lull_event *call = &events[last - 1];
    bool known;
    if (call->kind == LULL_EVENT_LEAVE || !(it->codes[call->id].special & COMPLETES))
        return 0;
    awaits_collective(call, events + count, &known);
    return known ? 0 : count - (last - 1);
}

/* ==== beyond the ledger's times =============================================================== */

/* Beside the ledger's ns[], where a consumer wants them: SPANs and STRETCHes, sums by region, and
 * values of counters. */

/* ---- time ---------------------------------------------------------------------------------- */

/* Time passes: the SPAN goes on if it is like the one before, else a new one begins. */
static void go_on_with_span(struct lull_interpreter *it, const struct frame *top)
{
    const uint32_t region = top ? top->region : LULL_NONE, user = top ? top->user : LULL_NONE;
    const uint8_t mark = top ? top->mark : 0;
    if (it->span.slot == it->slot && it->span.region == region && it->span.user == user &&
        it->span.mark == mark)
        return;
    lull_emit_span(it);
    it->span.slot = it->slot;
    it->span.region = region;
    it->span.user = user;
    it->span.mark = mark;
}

static void go_on_with_stretch(struct lull_interpreter *it, const struct frame *top)
{
    const uint8_t mark = top ? top->mark : 0;
    uint8_t kind = it->stretches[it->slot];
    if (it->device_stretches && kind == LULL_STRETCH_BURST &&
        (it->refers.number > 0 || it->refers.stream != LULL_NONE))
        kind = LULL_STRETCH_DEVICE;
    if (it->stretch.kind != kind || it->stretch.mark != mark) {
        lull_emit_stretch(it);
        it->stretch.kind = kind;
        it->stretch.mark = mark;
    }
    it->stretch.user = top ? top->user : LULL_NONE;
}

static void go_on_with_phase(struct lull_interpreter *it, const struct frame *top)
{
    const uint8_t activity = ACTIVITY_OF(it->slot);
    const uint32_t region = it->cpu || !top ? LULL_NONE : top->region;
    if (it->phase.activity == activity && it->phase.region == region &&
        it->phase.refers.number == it->refers.number &&
        it->phase.refers.stream == it->refers.stream && it->phase.refers.call == it->refers.call &&
        it->phase.refers.serial == it->refers.serial)
        return;
    lull_emit_phase(it);
    it->phase.activity = activity;
    it->phase.region = region;
    it->phase.refers = it->refers;
}

static void spend_in_region(struct lull_interpreter *it, const struct frame *top, int64_t length)
{
    if (ACTIVITY_OF(it->slot) >= LULL_ACTIVITY_DISABLED || !top)
        return;
    struct lull_region_ledger *sum = &it->sums[top->region];
    sum->exclusive_ns += length;
    if (ACTIVITY_OF(it->slot) == LULL_USEFUL)
        sum->useful_ns += length;
}

static void detail_spend(struct lull_interpreter *it, int64_t length)
{
    const struct frame *top = it->depth ? &it->stack[it->depth - 1] : NULL;
    if (it->spans)
        go_on_with_span(it, top);
    if (it->stretches)
        go_on_with_stretch(it, top);
    if (it->phases)
        go_on_with_phase(it, top);
    if (it->sums)
        spend_in_region(it, top, length);
    it->last = it->activity;
}

/* ---- counters ------------------------------------------------------------------------------ */

/* Which share of a reading over `whole` ns belongs to its first `part` ns. Readings that went
 * backwards (the counters of some tracers do) are negative numbers. Fractions are cut off, so that
 * the differences of such shares, one per adjoining part, add up to the reading. */
static int64_t share_of(uint64_t reading, int64_t part, int64_t whole)
{
    return (int64_t)((__int128)(int64_t)reading * part / whole);
}

/* Which share of a reading taken now belongs to the windows, which may hold only a part of the time
 * since the reading before. A second reading at the same time counts for the last ns before it. */
static uint64_t share_of_windows(const struct lull_interpreter *it, uint32_t counter,
                                 uint64_t reading)
{
    const struct lull_interval *windows = windows_of(it);
    const int64_t to = it->ledger.now;
    const int64_t from = it->read_at[counter] < to ? it->read_at[counter] : to - 1;
    if (it->inside && windows[it->window].begin <= from) /* as nearly always */
        return reading;
    uint64_t sum = 0;
    for (uint32_t i = it->window + it->inside; i-- > 0 && windows[i].end > from;) {
        int64_t begin = windows[i].begin > from ? windows[i].begin : from;
        int64_t end = windows[i].end < to ? windows[i].end : to;
        if (begin < end)
            sum += (uint64_t)(share_of(reading, end - from, to - from) -
                              share_of(reading, begin - from, to - from));
    }
    return sum;
}

static void tell_reading(struct lull_interpreter *it, uint32_t counter, uint64_t value)
{
    if (!lull_wants(it, LULL_STEP_READING))
        return;
    struct lull_step *step = lull_emit(it, LULL_STEP_READING, it->ledger.now, 0);
    step->activity = it->last;
    step->counter = counter;
    step->reading.value = value;
    step->reading.since = it->read_at[counter];
}

static void detail_counters(struct lull_interpreter *it, const struct lull_event *event)
{
    if (!it->ledger.counters)
        return;
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_counter_reading *reading = &event->readings.values[i];
        if (it->last < LULL_ACTIVITY_DISABLED) {
            const uint64_t share = share_of_windows(it, reading->counter, reading->value);
            it->ledger.counters[(size_t)reading->counter * LULL_ACTIVITIES + it->last] += share;
            tell_reading(it, reading->counter, share);
        }
        it->read_at[reading->counter] = it->ledger.now;
    }
}

/* ---- runs ---------------------------------------------------------------------------------- */

/* Takes a CALL that ends before the next event, with its operations; there must be room on the
 * stack. Returns the last event that was taken. Returns NULL, and has done nothing, where the call
 * does not end before the next event of the block: it must be taken by handle(). */
static const struct lull_event *detail_call(struct lull_interpreter *it,
                                            const struct lull_event *event,
                                            const struct lull_event *last)
{
    const int64_t end = event->time + event->duration;
    const struct lull_event *next = event + 1;
    while (next <= last && is_operation(next) && next->time <= end)
        next++;
    if (next > last || next->time < end)
        return NULL;
    spend_until(it, event->time);
    region_enter(it, event, NULL);
    for (const struct lull_event *operation = event + 1; operation < next; operation++) {
        spend_until(it, operation->time);
        lull_emit_operation(it, operation, lull_kept(it));
    }
    spend_until(it, end);
    region_leave(it);
    return next - 1;
}

/* Takes one event, and with a CALL its operations. Returns the last event that was taken; NULL, and
 * has done nothing, where the event must be taken by handle(). */
static const struct lull_event *take_event(struct lull_interpreter *it,
                                           const struct lull_event *event,
                                           const struct lull_event *last)
{
    switch (event->kind) {
    case LULL_EVENT_CALL:
        return it->depth < it->capacity ? detail_call(it, event, last) : NULL;
    case LULL_EVENT_ENTER:
        if (it->depth == it->capacity)
            return NULL;
        spend_until(it, event->time);
        region_enter(it, event, NULL);
        return event;
    case LULL_EVENT_LEAVE:
        spend_until(it, event->time);
        region_leave(it);
        return event;
    case LULL_EVENT_COUNTERS:
        spend_until(it, event->time);
        detail_counters(it, event);
        return event;
    default:
        if (!is_operation(event))
            return NULL;
        spend_until(it, event->time);
        lull_emit_operation(it, event, lull_kept(it));
        return event;
    }
}

/* As interpreter_run, where more than the ledger's times is kept. */
static const struct lull_event *detail_run(struct lull_interpreter *it,
                                           const struct lull_event *event,
                                           const struct lull_event *last)
{
    last = run_last(it, event, last);
    for (const struct lull_event *taken; event < last; event = taken + 1) {
        taken = take_event(it, event, last);
        if (!taken)
            break;
        if (!(SILENT_EVENTS >> event->kind & 1))
            it->last_time = it->ledger.now;
    }
    return event;
}

/* ==== runs of events ========================================================================== */

/* A run takes regions, calls and operations, which are nearly all events of a trace, in one go. It
 * ends before the next deadline, so that no deadline lies within it.
 *
 * Where nobody wants more than the ledger's times and the steps of message passing, an event costs
 * a table look-up: time is added only where the slot changes. */

/* The members of an interpreter that a run of events changes, kept in registers meanwhile. The
 * ledger does not have the time from `now` on yet. */
struct run {
    int64_t now;
    uint32_t depth;
    uint8_t slot;
    uint8_t top; /* activity of the innermost region */
    uint8_t parallel;
};

static inline struct run begin_run(const struct lull_interpreter *it)
{
    return (struct run){.now = it->ledger.now,
                        .depth = it->depth,
                        .slot = it->slot,
                        .top = top_activity(it),
                        .parallel = it->parallel_depth > 0};
}

static inline void spend_run(struct lull_interpreter *it, struct run *run, int64_t time)
{
    it->ledger.ns[run->slot] += time - run->now;
    run->now = time;
}

static inline void store_run(struct lull_interpreter *it, const struct run *run)
{
    it->ledger.now = run->now;
    it->depth = run->depth;
    it->slot = run->slot;
}

/* Spends the time up to the end of `event`, the last one of the run. */
static void end_run(struct lull_interpreter *it, struct run *run, const struct lull_event *event)
{
    int64_t end = event->kind == LULL_EVENT_CALL ? event->time + event->duration : event->time;
    if (end > run->now)
        spend_run(it, run, end);
    store_run(it, run);
    it->last_time = run->now;
}

static inline uint8_t slot_of(const struct lull_interpreter *it, uint8_t top, unsigned parallel)
{
    return LULL_SLOT(!it->inside      ? (uint8_t)LULL_ACTIVITY_OUTSIDE
                     : top == INHERIT ? it->base
                                      : top,
                     parallel);
}

/* ---- regions ------------------------------------------------------------------------------- */

/* Enters or leaves a region that does more than change the slot. */
static void change_special(struct lull_interpreter *it, struct run *run,
                           const struct lull_event *event, struct region_code code)
{
    bool enters = event->kind == LULL_EVENT_ENTER;
    spend_run(it, run, event->time);
    store_run(it, run);
    if (code.special & CALL_OF_MPI) {
        if (enters)
            call_begin(it, event->id, lull_kept(it));
        else
            end_call(it, lull_kept(it));
    }
    if (code.special & PARALLEL) {
        if (enters)
            parallel_enter(it, event->id);
        else
            parallel_leave(it);
        it->base = interpreter_base(it);
        run->parallel = it->parallel_depth > 0;
    }
}

static inline void change_slot(struct lull_interpreter *it, struct run *run, int64_t time)
{
    uint8_t slot = slot_of(it, run->top, run->parallel);
    if (slot == run->slot)
        return;
    spend_run(it, run, time);
    run->slot = slot;
}

static inline void enter_run(struct lull_interpreter *it, struct run *run,
                             const struct lull_event *event)
{
    const struct region_code code = code_of(it, event);
    if (code.special)
        change_special(it, run, event, code);
    run->top = code.activity == INHERIT ? run->top : code.activity;
    struct frame *frame = &it->stack[run->depth++];
    frame->region = event->id;
    frame->code = code;
    frame->code.activity = run->top;
    change_slot(it, run, event->time);
}

static inline void leave_run(struct lull_interpreter *it, struct run *run,
                             const struct lull_event *event)
{
    const struct region_code code = it->stack[--run->depth].code;
    if (code.special)
        change_special(it, run, event, code);
    run->top = run->depth ? it->stack[run->depth - 1].code.activity : INHERIT;
    change_slot(it, run, event->time);
}

/* ---- calls and operations ------------------------------------------------------------------ */

/* Takes an operation outside of a CALL. */
static inline void take_operation(struct lull_interpreter *it, struct run *run,
                                  const struct lull_event *event)
{
    if (event->time > run->now)
        spend_run(it, run, event->time);
    it->ledger.now = run->now;
    lull_emit_operation(it, event, lull_kept(it));
}

/* Takes a CALL of MPI with the operations behind it. Returns as detail_call. */
static const struct lull_event *take_call_of_mpi(struct lull_interpreter *it, struct run *run,
                                                 const struct lull_event *event,
                                                 const struct lull_event *last)
{
    const int64_t end = event->time + event->duration;
    const struct lull_event *next = event + 1;
    while (next <= last && is_operation(next) && next->time <= end)
        next++;
    if (next > last || next->time < end)
        return NULL;
    const uint8_t outer = run->slot;
    spend_run(it, run, event->time);
    store_run(it, run);
    const int64_t kept = lull_kept(it);
    call_begin(it, event->id, kept);
    run->slot = slot_of(it, code_of(it, event).activity, run->parallel);
    const bool grows = is_kept(it, run->slot);
    for (const struct lull_event *operation = event + 1; operation < next; operation++) {
        int64_t since = operation->time - event->time;
        lull_emit_operation(it, operation, kept + (grows ? since : 0));
    }
    spend_run(it, run, end);
    it->ledger.now = run->now;
    end_call(it, kept + (grows ? event->duration : 0));
    run->slot = outer;
    return next - 1;
}

static inline const struct lull_event *take_special(struct lull_interpreter *it, struct run *run,
                                                    const struct lull_event *event,
                                                    const struct lull_event *last,
                                                    struct region_code code)
{
    if ((code.special & ~COMPLETES) == CALL_OF_MPI)
        return take_call_of_mpi(it, run, event, last);
    if (run->depth == it->capacity)
        return NULL;
    store_run(it, run);
    const struct lull_event *taken = detail_call(it, event, last);
    *run = begin_run(it);
    return taken;
}

/* Takes any other CALL, which ends before the next event. */
static inline void take_call(struct lull_interpreter *it, struct run *run,
                             const struct lull_event *event, struct region_code code)
{
    uint8_t slot = code.activity == INHERIT ? run->slot : slot_of(it, code.activity, run->parallel);
    if (slot == run->slot)
        return;
    spend_run(it, run, event->time);
    it->ledger.ns[slot] += event->duration;
    run->now = event->time + event->duration;
}

/* ---- the run ------------------------------------------------------------------------------- */

/* The last event before the next deadline, from `event` to `last`; `event` where there is none. */
static const struct lull_event *run_last(const struct lull_interpreter *it,
                                         const struct lull_event *event,
                                         const struct lull_event *last)
{
    const int64_t time = it->limit;
    if (last->time < time)
        return last;
    for (ptrdiff_t stride = 1; last - event > stride; stride *= 2) { /* deadlines may be close */
        if (event[stride].time < time) {
            event += stride;
        } else {
            last = event + stride;
            break;
        }
    }
    const size_t between = last > event ? (size_t)(last - event - 1) : 0;
    return event + lull_sorted_first_i64(event + 1, between, sizeof *event,
                                         offsetof(struct lull_event, time), time);
}

/* Takes ENTERs, LEAVEs, CALLs and operations as long as the event behind them comes before the next
 * deadline, and each CALL ends before that event. Returns the first event that is left; `last`, the
 * last of a block, always is. The scan guarantees that time runs forward and that calls hold no
 * regions. */
static const struct lull_event *interpreter_run(struct lull_interpreter *it,
                                                const struct lull_event *event,
                                                const struct lull_event *last)
{
    if (event->time >= it->limit)
        return event;
    const struct region_code *codes = it->codes;
    struct run run = begin_run(it);
    const struct lull_event *const first = event;
    last = run_last(it, event, last);
    for (; event < last; event++) {
        if (event->kind == LULL_EVENT_CALL) {
            const struct region_code code = codes[event->id];
            if ((code.special & ~COMPLETES) == CALL_OF_MPI ||
                (code.special & ~(TOLD | OF_CREW | TAKES)) == VISITED) {
                const struct lull_event *taken = take_special(it, &run, event, last, code);
                if (!taken)
                    break;
                event = taken;
                continue;
            }
            if (code.special || event->time + event->duration > event[1].time)
                break;
            take_call(it, &run, event, code);
        } else if (event->kind == LULL_EVENT_ENTER) {
            if (run.depth == it->capacity || codes[event->id].special & VISITED)
                break;
            enter_run(it, &run, event);
        } else if (event->kind == LULL_EVENT_LEAVE) {
            if (run.depth == 0 || it->stack[run.depth - 1].code.special & VISITED)
                break;
            leave_run(it, &run, event);
        } else if ((OPERATION_EVENTS & ~SILENT_EVENTS) >> event->kind & 1) {
            take_operation(it, &run, event);
        } else {
            break;
        }
    }
    if (event > first)
        end_run(it, &run, event - 1);
    return event;
}

/* ==== events one by one ======================================================================= */

/* ---- the slot ------------------------------------------------------------------------------ */

/* The activity in a trace with states. The state alone decides what is useful; for other states the
 * region of a runtime, if one is open, tells the activity more exactly. */
static uint8_t stated_activity(const struct lull_interpreter *it, uint8_t top)
{
    if (it->state == LULL_USEFUL)
        return LULL_USEFUL;
    if (it->flush_end != NEVER)
        return LULL_FLUSH;
    if (top != INHERIT && top != LULL_USEFUL)
        return top;
    return it->state == NO_STATE ? LULL_OTHER : it->state;
}

static uint8_t find_activity(const struct lull_interpreter *it)
{
    if (it->off)
        return LULL_ACTIVITY_DISABLED;
    uint8_t top = top_activity(it);
    if (it->shared->trace->has_states)
        return stated_activity(it, top);
    if (it->flush_end != NEVER)
        return LULL_FLUSH;
    return top == INHERIT ? it->base : top;
}

static void set_slot(struct lull_interpreter *it)
{
    it->activity = find_activity(it);
    it->slot = LULL_SLOT(it->inside ? it->activity : LULL_ACTIVITY_OUTSIDE, it->parallel_depth > 0);
}

/* Finds the earliest deadline, the base and the slot anew. */
static void interpreter_refresh(struct lull_interpreter *it)
{
    int64_t limit = it->window_at;
    limit = it->state_end < limit ? it->state_end : limit;
    limit = it->call_end < limit ? it->call_end : limit;
    limit = it->flush_end < limit ? it->flush_end : limit;
    limit = it->tick_at < limit ? it->tick_at : limit;
    it->limit = limit;
    it->base = interpreter_base(it);
    it->plain = !it->off && it->flush_end == NEVER && !it->shared->trace->has_states;
    it->quick = it->plain && it->alive;
    set_slot(it);
}

/* Finds the slot anew after a change of the stack. */
static void interpreter_refresh_top(struct lull_interpreter *it)
{
    if (!it->plain) {
        set_slot(it);
        return;
    }
    uint8_t top = top_activity(it);
    it->activity = top == INHERIT ? it->base : top;
    it->slot = LULL_SLOT(it->inside ? it->activity : LULL_ACTIVITY_OUTSIDE, it->parallel_depth > 0);
}

/* ---- the clock ----------------------------------------------------------------------------- */

/* A window that lasts until the end of the run also holds what begins at that very moment, because
 * nothing comes behind it: the last call of a program that died has often taken less time than the
 * clock can tell. */
static int64_t end_of_window(const struct lull_interpreter *it, const struct lull_interval *window)
{
    return window->end < it->shared->whole.end ? window->end : NEVER;
}

static void cross_window(struct lull_interpreter *it)
{
    const struct lull_interval *intervals = windows_of(it);
    const struct lull_windows *windows = it->shared->options->reading->windows;
    uint32_t count = windows ? windows->counts[it->process] : 1;
    if (it->inside) {
        it->inside = false;
        it->window++;
    } else if (it->window < count) {
        it->inside = true;
    }
    it->window_at = NEVER;
    if (it->window < count)
        it->window_at =
            it->inside ? end_of_window(it, &intervals[it->window]) : intervals[it->window].begin;
}

static void tick(struct lull_interpreter *it)
{
    if (it->parallel_depth > 0)
        lull_emit_parallel(it, LULL_STEP_TICK);
    it->tick_at += it->shared->options->tick;
    if (it->tick_at > it->shared->whole.end) /* a damaged time may lie any number of ticks away */
        it->tick_at = NEVER;
}

/* Moves the clock over all deadlines up to `time`. */
static void cross(struct lull_interpreter *it, int64_t time)
{
    while (it->limit <= time) {
        int64_t at = it->limit;
        spend_until(it, at);
        if (it->call_end <= at) {
            it->call_end = NEVER;
            region_leave(it);
            it->last_time = it->ledger.now;
        }
        if (it->state_end <= at) {
            it->state_end = NEVER;
            it->state = NO_STATE;
        }
        if (it->flush_end <= at)
            it->flush_end = NEVER;
        while (it->window_at <= at)
            cross_window(it);
        while (it->tick_at <= at)
            tick(it);
        interpreter_refresh(it);
    }
}

static void interpreter_advance(struct lull_interpreter *it, int64_t time)
{
    if (time >= it->limit)
        cross(it, time);
    spend_until(it, time);
}

/* ---- events -------------------------------------------------------------------------------- */

/* A CALL is a region with a deadline. If an event of another region comes first, the call ends
 * there. */
static void cut_call(struct lull_interpreter *it)
{
    if (it->call_end == NEVER)
        return;
    it->call_end = NEVER;
    region_leave(it);
    interpreter_refresh(it);
}

static int64_t end_of(const struct lull_interpreter *it, const struct lull_event *event)
{
    int64_t left = it->shared->whole.end - event->time;
    return event->duration > left ? it->shared->whole.end : event->time + event->duration;
}

static void change_team(struct lull_interpreter *it, bool begins)
{
    if (begins) {
        it->team_depth++;
        parallel_enter(it, LULL_NONE);
    } else if (it->team_depth > 0) { /* not one that began before the trace */
        it->team_depth--;
        parallel_leave(it);
    }
}

static void begin_state(struct lull_interpreter *it, const struct lull_event *event)
{
    if (event->duration == 0)
        return;
    it->state = it->shared->trace->states[event->id].activity;
    it->state_end = end_of(it, event);
}

/* Takes an event of a rare kind, or a CALL that a run could not take. */
static lull_status handle_rare(struct lull_interpreter *it, const struct lull_event *event,
                               struct lull_error *err)
{
    lull_status status = LULL_OK;
    switch (event->kind) {
    case LULL_EVENT_CALL:
        cut_call(it);
        status = region_enter(it, event, err);
        it->call_end = end_of(it, event);
        break;
    case LULL_EVENT_STATE:
        begin_state(it, event);
        break;
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        change_team(it, event->kind == LULL_EVENT_TEAM_BEGIN);
        break;
    case LULL_EVENT_THREAD_BEGIN:
    case LULL_EVENT_THREAD_END:
        it->alive = event->kind == LULL_EVENT_THREAD_BEGIN;
        lull_emit_operation(it, event, lull_kept(it));
        break;
    case LULL_EVENT_FLUSH:
        if (it->flush_end == NEVER || it->flush_end < end_of(it, event))
            it->flush_end = end_of(it, event);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        it->off = it->summary || event->kind == LULL_EVENT_MEASURE_OFF;
        break;
    default:
        return LULL_OK;
    }
    interpreter_refresh(it);
    return status;
}

/* Takes an operation. One at the very end of a call still belongs to it, so that deadline is not
 * crossed. */
static void handle_operation(struct lull_interpreter *it, const struct lull_event *event)
{
    if (event->time == it->call_end) {
        if (it->limit < it->call_end)
            cross(it, it->call_end - 1);
        spend_until(it, event->time);
    } else if (event->time > it->ledger.now)
        interpreter_advance(it, event->time);
    lull_emit_operation(it, event, lull_kept(it));
}

static void begin_life(struct lull_interpreter *it)
{
    it->began = it->alive = true;
    for (uint32_t i = 0; it->read_at && i < it->shared->trace->n_counters; i++)
        it->read_at[i] = it->ledger.now;
    interpreter_refresh(it);
}

static lull_status handle(struct lull_interpreter *it, const struct lull_event *event,
                          struct lull_error *err)
{
    if (is_operation(event) && it->began) {
        handle_operation(it, event);
        return LULL_OK;
    }
    interpreter_advance(it, event->time);
    if (!it->began && (event->kind == LULL_EVENT_COUNTERS || !(SILENT_EVENTS >> event->kind & 1)))
        begin_life(it);
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        cut_call(it);
        return region_enter(it, event, err);
    case LULL_EVENT_LEAVE:
        cut_call(it);
        region_leave(it);
        return LULL_OK;
    case LULL_EVENT_COUNTERS:
        detail_counters(it, event);
        return LULL_OK;
    default:
        if (is_operation(event)) {
            lull_emit_operation(it, event, lull_kept(it));
            return LULL_OK;
        }
        return handle_rare(it, event, err);
    }
}

static void set_output(struct lull_interpreter *it, struct lull_emitter *out)
{
    it->out = out;
    if (it->shared->options->regions)
        it->sums =
            it->shared->options->regions + (size_t)out->worker * it->shared->trace->n_regions;
}

static lull_status take_events(struct lull_interpreter *it, const struct lull_event *events,
                               size_t count, struct lull_error *err)
{
    const struct lull_event *end = it->block_end = events + count;
    for (const struct lull_event *event = events; event < end; event++) {
        if (it->quick && it->call_end == NEVER)
            event =
                it->detail ? detail_run(it, event, end - 1) : interpreter_run(it, event, end - 1);
        lull_status status = handle(it, event, err);
        if (status != LULL_OK)
            return status;
        if (!(SILENT_EVENTS >> event->kind & 1))
            it->last_time = it->ledger.now;
    }
    return LULL_OK;
}

static lull_status take_held(struct lull_interpreter *it, struct lull_error *err)
{
    lull_status status = take_events(it, it->held.events, it->held.count, err);
    clear_held(&it->held);
    return status;
}

/* Takes the events that are held, and those of a block, but for those that are to be held. */
static lull_status take_block(struct lull_interpreter *it, const struct lull_event *events,
                              size_t count, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (it->held.count > 0) {
        const size_t more = count_operations(events, count);
        status = hold(it, events, more, err);
        if (status == LULL_OK && more == count && it->held.count < MOST_HELD &&
            undecided_events(it, it->held.events, it->held.count) > 0)
            return LULL_OK;
        if (status == LULL_OK)
            status = take_held(it, err);
        events += more;
        count -= more;
    }
    const size_t rest = undecided_events(it, events, count);
    if (status == LULL_OK)
        status = take_events(it, events, count - rest, err);
    return status == LULL_OK && rest > 0 ? hold(it, events + count - rest, rest, err) : status;
}

lull_status lull_interpreter_block(struct lull_interpreter *it, const struct lull_event *events,
                                   uint32_t count, struct lull_emitter *out, struct lull_error *err)
{
    set_output(it, out);
    lull_status status = it->shared->decides_waits ? take_block(it, events, count, err)
                                                   : take_events(it, events, count, err);
    if (status != LULL_OK)
        return status;
    if (it->shared->wants_ledger || out->count > 0)
        lull_emit_deliver(it);
    return out->status;
}

lull_status lull_interpreter_end(struct lull_interpreter *it, struct lull_emitter *out,
                                 struct lull_error *err)
{
    set_output(it, out);
    lull_status status = take_held(it, err);
    if (status != LULL_OK)
        return status;
    if (it->call_end != NEVER) /* still a sign of life */
        interpreter_advance(it, it->call_end);
    it->alive = false;
    interpreter_refresh(it);
    interpreter_advance(it, it->shared->whole.end);
    cut_call(it);
    while (it->depth > 0)
        region_leave(it);
    while (it->team_depth > 0)
        change_team(it, false);
    lull_emit_time(it);
    if (it->crew)
        lull_crew_step(it, (struct lull_step){.kind = LULL_STEP_END, .time = it->ledger.now});
    if (lull_wants(it, LULL_STEP_END)) {
        struct lull_step *step = lull_emit(it, LULL_STEP_END, it->ledger.now, lull_kept(it));
        step->last_time = it->last_time;
    }
    lull_emit_deliver(it);
    free(it->stack);
    it->stack = NULL;
    it->capacity = 0;
    return out->status;
}

/* ==== the stack of regions ==================================================================== */

enum { MAX_DEPTH = 1 << 20 };

/* ---- parallel regions ---------------------------------------------------------------------- */

/* A team may begin before its region is entered: the FORK and JOIN name the first region that is
 * known. */
static void parallel_enter(struct lull_interpreter *it, uint32_t region)
{
    bool outermost = it->parallel_depth++ == 0;
    if (outermost || it->parallel_region == LULL_NONE)
        it->parallel_region = region;
    if (!outermost)
        return;
    it->ledger.forked = (struct lull_forked){it->ledger.now, it->inside};
    lull_emit_parallel(it, LULL_STEP_FORK);
}

static void parallel_leave(struct lull_interpreter *it)
{
    if (--it->parallel_depth > 0)
        return;
    lull_emit_parallel(it, LULL_STEP_JOIN);
    it->ledger.forked.time = LULL_NOT_FORKED;
}

/* ---- calls of MPI -------------------------------------------------------------------------- */

static void emit_call(struct lull_interpreter *it, uint8_t kind, int64_t kept)
{
    if (!lull_wants(it, kind))
        return;
    lull_emit_time(it);
    struct lull_step *step = lull_emit(it, kind, it->ledger.now, kept);
    step->region = it->call_region;
    step->op = it->codes[it->call_region].call;
    step->parallel = it->parallel_depth > 0;
    step->call_began = it->call_began;
}

static void emit_call_in_short(struct lull_interpreter *it, int64_t kept)
{
    if (it->master && !it->told && !lull_call_leaves_operations(it->codes[it->call_region].call))
        return;
    emit_call(it, LULL_STEP_CALL, kept);
    struct lull_step *step = &it->out->steps[it->out->count - 1];
    step->sends = it->sends;
    step->posts = it->posts;
    it->posts = 0;
}

/* A call of MPI begins, perhaps inside another one; `kept` is lull_kept(it). */
static void call_begin(struct lull_interpreter *it, uint32_t region, int64_t kept)
{
    if (it->mpi_depth++ > 0)
        return;
    it->call_region = region;
    it->call_began = it->ledger.now;
    it->call_kept = kept;
    it->told = it->sends = false;
    emit_call(it, LULL_STEP_CALL_BEGIN, kept);
}

static void end_call(struct lull_interpreter *it, int64_t kept)
{
    if (--it->mpi_depth > 0)
        return;
    if (it->brief)
        emit_call_in_short(it, kept);
    else
        emit_call(it, LULL_STEP_CALL_END, kept);
    it->call_region = LULL_NONE;
}

/* ---- entering and leaving ------------------------------------------------------------------ */

static bool is_open(const struct lull_interpreter *it, uint32_t region)
{
    for (uint32_t i = it->depth; i-- > 0;)
        if (it->stack[i].region == region)
            return true;
    return false;
}

static lull_status grow_stack(struct lull_interpreter *it, struct lull_error *err)
{
    const struct lull_trace *trace = it->shared->trace;
    if (it->depth >= MAX_DEPTH)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: process %u, thread %u: more than %d regions are open at once",
                         trace->path, trace->processes[it->process].rank, it->thread, MAX_DEPTH);
    if (!lull_array_reserve(&it->stack, &it->capacity, it->depth + (size_t)1, sizeof *it->stack))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for %u open regions",
                         it->depth + 1);
    return LULL_OK;
}

/* Notes in the frame what the sums and VISITs need to know when the region is left. */
static void note_visit(struct lull_interpreter *it, struct frame *frame,
                       const struct lull_event *event)
{
    frame->outermost = !is_open(it, event->id);
    frame->counted = it->inside;
    frame->entered = analysed_time(it);
    frame->time = it->ledger.now;
    if (it->sums && it->inside)
        it->sums[event->id].visits += event->kind == LULL_EVENT_CALL ? lull_calls_of(event) : 1;
}

static void note_user(const struct lull_interpreter *it, struct frame *frame, uint32_t region)
{
    const uint8_t *marks = it->shared->options->marks;
    const struct frame *below = it->depth ? frame - 1 : NULL;
    frame->user = it->shared->user[region] ? region : below ? below->user : LULL_NONE;
    frame->mark = marks && marks[region] ? marks[region] : below ? below->mark : 0;
    frame->locked = (below && below->locked) || it->shared->locks[region];
}

/* Tells that the region of the user in the topmost frame is entered or left. */
static void tell_user(struct lull_interpreter *it, const struct frame *frame, uint8_t op)
{
    const uint32_t below = it->depth > 1 ? (frame - 1)->user : LULL_NONE;
    if (frame->user == below)
        return;
    lull_emit_span(it);
    struct lull_step *step = lull_emit(it, LULL_STEP_USER, it->ledger.now, lull_kept(it));
    step->region = frame->region;
    step->op = op;
}

static void forget_reference(struct lull_interpreter *it)
{
    const uint32_t serial = it->cpu ? 0 : it->refers.serial + 1;
    it->refers = (struct reference){.stream = LULL_NONE, .call = LULL_NONE, .serial = serial};
}

static lull_status region_enter(struct lull_interpreter *it, const struct lull_event *event,
                                struct lull_error *err)
{
    const uint32_t region = event->id;
    if (it->depth == it->capacity) {
        lull_status status = grow_stack(it, err);
        if (status != LULL_OK)
            return status;
    }
    forget_reference(it);
    struct frame *frame = &it->stack[it->depth];
    frame->region = region;
    frame->code = code_of(it, event);
    if (frame->code.activity == INHERIT)
        frame->code.activity = top_activity(it);
    if (frame->code.special & CALL_OF_MPI)
        call_begin(it, region, lull_kept(it));
    if (frame->code.special & VISITED)
        note_visit(it, frame, event);
    if (it->notes_user)
        note_user(it, frame, region);
    it->depth++;
    if (it->users)
        tell_user(it, frame, LULL_USER_ENTERED);
    if (frame->code.special & PARALLEL) {
        parallel_enter(it, region);
        it->base = interpreter_base(it);
    }
    interpreter_refresh_top(it);
    return LULL_OK;
}

static void end_visit(struct lull_interpreter *it, const struct frame *frame)
{
    int64_t inclusive = analysed_time(it) - frame->entered;
    if (it->sums && frame->outermost)
        it->sums[frame->region].inclusive_ns += inclusive;
    if (it->crew && frame->code.special & OF_CREW)
        lull_crew_visit(it, frame);
    if (!(frame->code.special & TOLD))
        return;
    struct lull_step *step = lull_emit(it, LULL_STEP_VISIT, frame->time, lull_kept(it));
    step->region = frame->region;
    step->visit.end = it->ledger.now;
    step->visit.inclusive_ns = inclusive;
    step->visit.flags = (uint8_t)((frame->outermost ? LULL_VISIT_OUTERMOST : 0) |
                                  (frame->counted ? LULL_VISIT_COUNTED : 0));
}

/* A lock that a test has set is not seen, so that more may be given back than are known. */
static void count_lock(struct lull_interpreter *it, int8_t more)
{
    if (more > 0)
        it->locks++;
    else if (it->locks > 0)
        it->locks--;
}

static void region_leave(struct lull_interpreter *it)
{
    if (it->depth == 0) /* the scan drops these; nothing to close */
        return;
    forget_reference(it);
    if (it->users)
        tell_user(it, &it->stack[it->depth - 1], LULL_USER_LEFT);
    const struct frame *frame = &it->stack[--it->depth];
    if (frame->code.special & VISITED)
        end_visit(it, frame);
    if (frame->code.special & TAKES)
        count_lock(it, it->shared->trace->regions[frame->region].locks);
    if (frame->code.special & CALL_OF_MPI)
        end_call(it, lull_kept(it));
    if (frame->code.special & PARALLEL) {
        parallel_leave(it);
        it->base = interpreter_base(it);
    }
    interpreter_refresh_top(it);
}

/* ==== making interpreters ===================================================================== */

static const uint64_t call_kinds = LULL_STEPS_OF_MPI | LULL_STEP_MASK(LULL_STEP_CALL) |
                                   LULL_STEP_MASK(LULL_STEP_ONE_SIDED) |
                                   LULL_STEP_MASK(LULL_STEP_IO);

/* CREWs are made of these steps, and of visits of regions that threads meet in. */
static const uint64_t crew_kinds = LULL_STEPS_OF_THREADS | LULL_STEP_MASK(LULL_STEP_SPAN) |
                                   LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN) |
                                   LULL_STEP_MASK(LULL_STEP_LOCK_ACQUIRE) |
                                   LULL_STEP_MASK(LULL_STEP_LOCK_RELEASE);

static unsigned visits_of(const struct lull_interpretation *shared, uint32_t region)
{
    const bool *visits = shared->options->visits;
    const bool told =
        shared->wants & LULL_STEP_MASK(LULL_STEP_VISIT) && (!visits || visits[region]);
    const bool of_crew = shared->wants & LULL_STEP_MASK(LULL_STEP_CREW) &&
                         lull_crew_meets_in(&shared->trace->regions[region]);
    const bool takes = shared->counts_locks && shared->trace->regions[region].locks != 0;
    return (told ? VISITED | TOLD : 0) | (of_crew ? VISITED | OF_CREW : 0) |
           (takes ? VISITED | TAKES : 0) | (shared->options->regions ? VISITED : 0);
}

/* Whether the requests that calls wait for may be those of collective operations. */
static bool has_collective_requests(const struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (lull_makes_collective_requests(&trace->regions[r]))
            return true;
    return false;
}

static bool completes_requests(uint8_t call)
{
    return call == LULL_CALL_WAIT || call == LULL_CALL_WAITALL || call == LULL_CALL_TEST;
}

static struct region_code *make_codes(const struct lull_interpretation *shared,
                                      unsigned location_kind)
{
    const struct lull_trace *trace = shared->trace;
    struct region_code *codes = calloc(trace->n_regions + (size_t)1, sizeof *codes);
    for (uint32_t i = 0; codes && i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        uint8_t activity = lull_activity_on(region, location_kind);
        codes[i].activity = activity == LULL_ACTIVITIES ? INHERIT : activity;
        const bool mpi = region->paradigm == LULL_PARADIGM_MPI;
        const bool told = mpi && shared->wants & call_kinds;
        codes[i].call = mpi ? lull_call_of_region(region) : LULL_CALL_OTHER;
        const bool decided = mpi && shared->decides_waits && completes_requests(codes[i].call);
        codes[i].special = (uint16_t)((told ? CALL_OF_MPI : 0) | (decided ? COMPLETES : 0) |
                                      visits_of(shared, i) | (region->parallel ? PARALLEL : 0));
    }
    return codes;
}

static bool *find_user_regions(const struct lull_trace *trace)
{
    bool *user = calloc(trace->n_regions + (size_t)1, sizeof *user);
    for (uint32_t i = 0; user && i < trace->n_regions; i++)
        user[i] = trace->regions[i].user && trace->regions[i].paradigm != LULL_PARADIGM_MPI;
    return user;
}

static bool *find_locks(const struct lull_trace *trace)
{
    bool *locks = calloc(trace->n_regions + (size_t)1, sizeof *locks);
    for (uint32_t i = 0; locks && i < trace->n_regions; i++)
        locks[i] = lull_crew_locks_in(&trace->regions[i]);
    return locks;
}

/* Some recorders do not tell when locks are given back: then nobody knows who has them. */
static bool gives_locks_back(const struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (trace->regions[r].locks < 0)
            return true;
    return false;
}

/* Says for each slot what its time is to a replay: kept or not, in agreement with lull_kept, and if
 * kept, whether a faster processor shortens it. */
static void find_stretches(struct lull_interpretation *shared)
{
    static const bool waits[LULL_STEP_ACTIVITIES] = {
        [LULL_MPI_P2P] = true, [LULL_MPI_COLLECTIVE] = true, [LULL_MPI_OTHER] = true};
    static const bool fixed[LULL_STEP_ACTIVITIES] = {
        [LULL_MPI_ONE_SIDED] = true, [LULL_MPI_IO] = true, [LULL_IO] = true, [LULL_FLUSH] = true};
    for (unsigned slot = 0; slot < 2 * LULL_SLOT_ACTIVITIES; slot++) {
        const unsigned activity = ACTIVITY_OF(slot), parallel = slot / LULL_SLOT_ACTIVITIES;
        for (unsigned master = 0; activity < LULL_STEP_ACTIVITIES && master < 2; master++) {
            bool absent = !master && (activity == LULL_IDLE || activity == LULL_OTHER);
            bool kept = activity < LULL_ACTIVITIES && (parallel || !(waits[activity] || absent));
            shared->stretches[master][slot] = !kept             ? LULL_STRETCH_WAIT
                                              : fixed[activity] ? LULL_STRETCH_FIXED
                                                                : LULL_STRETCH_BURST;
        }
    }
}

/* The kinds of events that must be read to make the wanted steps. */
static uint64_t find_mask(const struct lull_interpretation *shared)
{
    static const struct {
        uint8_t step;
        uint64_t events;
    } needs[] = {
        {LULL_STEP_CALL, LULL_MASK(LULL_EVENT_RECV_POST) | LULL_MASK(LULL_EVENT_SEND_DONE)},
        {LULL_STEP_SEND, LULL_MASK(LULL_EVENT_SEND)},
        {LULL_STEP_SEND_DONE, LULL_MASK(LULL_EVENT_SEND_DONE)},
        {LULL_STEP_RECV_POST, LULL_MASK(LULL_EVENT_RECV_POST)},
        {LULL_STEP_RECV, LULL_MASK(LULL_EVENT_RECV)},
        {LULL_STEP_PHASE, LULL_MASK(LULL_EVENT_OPERATION) | LULL_MASK(LULL_EVENT_DEVICE_WAIT)},
        {LULL_STEP_SUBMIT, LULL_MASK(LULL_EVENT_SUBMIT)},
        {LULL_STEP_DEPEND, LULL_MASK(LULL_EVENT_DEPEND)},
        {LULL_STEP_DEVICE_WAIT, LULL_MASK(LULL_EVENT_DEVICE_WAIT)},
        {LULL_STEP_TEST, LULL_MASK(LULL_EVENT_REQUEST_TEST)},
        {LULL_STEP_CANCEL, LULL_MASK(LULL_EVENT_REQUEST_CANCELLED)},
        {LULL_STEP_FREE, LULL_MASK(LULL_EVENT_REQUEST_FREED)},
        {LULL_STEP_COLLECTIVE_BEGIN, LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN)},
        {LULL_STEP_COLLECTIVE_END, LULL_MASK(LULL_EVENT_COLLECTIVE_END)},
        {LULL_STEP_ONE_SIDED, LULL_MASK(LULL_EVENT_RMA)},
        {LULL_STEP_IO, LULL_MASK(LULL_EVENT_IO)},
        {LULL_STEP_LOCK_ACQUIRE, LULL_MASK(LULL_EVENT_LOCK_ACQUIRE)},
        {LULL_STEP_LOCK_RELEASE, LULL_MASK(LULL_EVENT_LOCK_RELEASE)},
        {LULL_STEP_MARKER, LULL_MASK(LULL_EVENT_MARKER)},
        {LULL_STEP_SAMPLE, LULL_MASK(LULL_EVENT_SAMPLE)},
        {LULL_STEP_THREAD_CREATE, LULL_MASK(LULL_EVENT_THREAD_CREATE)},
        {LULL_STEP_THREAD_WAIT_BEGIN, LULL_MASK(LULL_EVENT_THREAD_WAIT_BEGIN)},
        {LULL_STEP_THREAD_WAIT_END, LULL_MASK(LULL_EVENT_THREAD_WAIT_END)},
    };
    uint64_t mask = LULL_MASK_TIME;
    if (shared->decides_waits)
        mask |= LULL_MASK(LULL_EVENT_COLLECTIVE_END);
    if (!shared->wants_ledger || !shared->trace->n_counters)
        mask &= ~LULL_MASK(LULL_EVENT_COUNTERS);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (shared->wants >> needs[i].step & 1)
            mask |= needs[i].events;
    return mask;
}

lull_status lull_interpretation_create(const struct lull_trace *trace,
                                       const struct lull_pass_options *options,
                                       const struct lull_consumer *consumers, uint32_t n_consumers,
                                       struct lull_interpretation **ret_shared,
                                       struct lull_error *err)
{
    struct lull_interpretation *shared = calloc(1, sizeof *shared);
    if (shared) {
        shared->trace = trace;
        shared->options = options;
        for (uint32_t i = 0; i < n_consumers; i++) {
            shared->wants |= consumers[i].wants;
            shared->wants_ledger |= consumers[i].wants_ledger;
        }
        if (shared->wants & LULL_STEP_MASK(LULL_STEP_CREW))
            shared->wants |= crew_kinds;
        shared->whole = (struct lull_interval){0, trace->duration};
        shared->decides_waits = has_collective_requests(trace);
        shared->counts_locks =
            shared->wants & LULL_STEP_MASK(LULL_STEP_SAMPLE) && gives_locks_back(trace);
        shared->event_mask = find_mask(shared);
        shared->codes[LULL_LOCATION_THREAD] = make_codes(shared, LULL_LOCATION_THREAD);
        shared->codes[LULL_LOCATION_DEVICE] = make_codes(shared, LULL_LOCATION_DEVICE);
        shared->user = find_user_regions(trace);
        shared->locks = find_locks(trace);
        find_stretches(shared);
    }
    if (!shared || !shared->codes[LULL_LOCATION_THREAD] || !shared->codes[LULL_LOCATION_DEVICE] ||
        !shared->user || !shared->locks) {
        lull_interpretation_destroy(shared);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u regions", trace->path,
                         trace->n_regions);
    }
    *ret_shared = shared;
    return LULL_OK;
}

void lull_interpretation_destroy(struct lull_interpretation *shared)
{
    if (!shared)
        return;
    free(shared->codes[LULL_LOCATION_THREAD]);
    free(shared->codes[LULL_LOCATION_DEVICE]);
    free(shared->user);
    free(shared->locks);
    free(shared);
}

static void place_interpreter(struct lull_interpreter *it, uint32_t index)
{
    const struct lull_interpretation *shared = it->shared;
    const struct lull_location *location = &shared->trace->locations[index];
    const struct lull_process *process = &shared->trace->processes[location->process];
    it->location = index;
    it->process = location->process;
    it->thread = index - process->first_location;
    it->cpu = it->thread < process->n_threads;
    it->master = it->thread == 0;
    it->kind = location->kind;
    it->off = it->summary = location->stream && location->stream->summary;
    it->codes = shared->codes[location->kind];
    it->role = location->role;
}

static bool allocate_counters(struct lull_interpreter *it)
{
    const struct lull_trace *trace = it->shared->trace;
    if (!it->shared->wants_ledger || !trace->n_counters)
        return true;
    it->ledger.counters =
        calloc((size_t)trace->n_counters * LULL_ACTIVITIES, sizeof *it->ledger.counters);
    it->read_at = calloc(trace->n_counters, sizeof *it->read_at);
    return it->ledger.counters && it->read_at;
}

static bool allocate_crew(struct lull_interpreter *it)
{
    const struct lull_process *process = &it->shared->trace->processes[it->process];
    if (!lull_wants(it, LULL_STEP_CREW) || !it->cpu || process->n_threads < 2)
        return true;
    it->crew = lull_crew_reading_create();
    return it->crew;
}

static void set_deadlines(struct lull_interpreter *it)
{
    const struct lull_pass_options *options = it->shared->options;
    const struct lull_windows *windows = options->reading->windows;
    it->state_end = it->call_end = it->flush_end = NEVER;
    it->window_at = it->shared->whole.begin;
    if (windows)
        it->window_at =
            windows->counts[it->process] ? windows->intervals[it->process][0].begin : NEVER;
    it->tick_at = options->tick > 0 && it->cpu && !it->master ? options->tick : NEVER;
}

lull_status lull_interpreter_create(const struct lull_interpretation *shared, uint32_t location,
                                    struct lull_interpreter **ret_interpreter,
                                    struct lull_error *err)
{
    struct lull_interpreter *it = calloc(1, sizeof *it);
    if (it) {
        it->shared = shared;
        place_interpreter(it, location);
        it->state = NO_STATE;
        it->last = LULL_ACTIVITY_OUTSIDE;
        it->call_region = it->parallel_region = LULL_NONE;
        it->spans = lull_wants(it, LULL_STEP_SPAN);
        it->users = lull_wants(it, LULL_STEP_USER);
        it->notes_user = it->spans || it->users || lull_wants(it, LULL_STEP_STRETCH) ||
                         lull_wants(it, LULL_STEP_SAMPLE);
        it->brief = lull_wants(it, LULL_STEP_CALL) && !lull_wants(it, LULL_STEP_CALL_BEGIN);
        if (lull_wants(it, LULL_STEP_STRETCH))
            it->stretches = shared->stretches[it->master];
        it->device_stretches = it->stretches && it->cpu && lull_wants(it, LULL_STEP_DEVICE_WAIT);
        it->span.slot = NO_STATE;
        it->phases = lull_wants(it, LULL_STEP_PHASE);
        it->phase.activity = LULL_STEP_ACTIVITIES;
        forget_reference(it);
        it->ledger.forked.time = LULL_NOT_FORKED;
        it->detail = shared->options->regions || it->notes_user || it->phases ||
                     (shared->wants_ledger && shared->trace->n_counters);
        it->channels = lull_channels_create();
    }
    if (!it || !it->channels || !allocate_counters(it) || !allocate_crew(it)) {
        lull_interpreter_destroy(it);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u locations",
                         shared->trace->path, shared->trace->n_locations);
    }
    set_deadlines(it);
    interpreter_refresh(it);
    *ret_interpreter = it;
    return LULL_OK;
}

void lull_interpreter_destroy(struct lull_interpreter *it)
{
    if (!it)
        return;
    clear_held(&it->held);
    free(it->held.events);
    free(it->stack);
    free(it->ledger.counters);
    free(it->read_at);
    free(it->crew);
    lull_channels_destroy(it->channels);
    free(it);
}
