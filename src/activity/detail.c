/* What is kept beside the ledger's times, where somebody wants it: SPANs and STRETCHes, sums by
 * region, and what was counted. */
#include "activity/interpreter.h"

/* ---- time ---------------------------------------------------------------------------------- */

/* Time goes on in a span like the one before, or a new one begins. */
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
    const uint8_t kind = it->stretches[it->slot], mark = top ? top->mark : 0;
    if (it->stretch.kind != kind || it->stretch.mark != mark) {
        lull_emit_stretch(it);
        it->stretch.kind = kind;
        it->stretch.mark = mark;
    }
    it->stretch.user = top ? top->user : LULL_NONE;
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

void lull_detail_spend(struct lull_interpreter *it, int64_t length)
{
    const struct frame *top = it->depth ? &it->stack[it->depth - 1] : NULL;
    if (it->spans)
        go_on_with_span(it, top);
    if (it->stretches)
        go_on_with_stretch(it, top);
    if (it->sums)
        spend_in_region(it, top, length);
    it->last = it->activity;
}

/* ---- counters ------------------------------------------------------------------------------ */

/* What of a reading over `whole` belongs to its first `part`; readings that went backwards (the
 * counters of some tracers do) are negative numbers. Cut down, so that what belongs to parts that
 * adjoin adds up. */
static int64_t share_of(uint64_t reading, int64_t part, int64_t whole)
{
    return (int64_t)((__int128)(int64_t)reading * part / whole);
}

/* What of a reading taken now belongs to the windows, which may cut the time since the one before;
 * two readings at once: to the time right before. */
static uint64_t share_of_windows(const struct lull_interpreter *it, uint32_t counter,
                                 uint64_t reading)
{
    const struct lull_interval *windows = lull_windows_of(it);
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

void lull_detail_counters(struct lull_interpreter *it, const struct lull_event *event)
{
    if (!it->ledger.counters)
        return;
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_reading *reading = &event->readings.values[i];
        if (it->last < LULL_ACTIVITY_DISABLED) {
            const uint64_t share = share_of_windows(it, reading->counter, reading->value);
            it->ledger.counters[(size_t)reading->counter * LULL_ACTIVITIES + it->last] += share;
            tell_reading(it, reading->counter, share);
        }
        it->read_at[reading->counter] = it->ledger.now;
    }
}

/* ---- runs ---------------------------------------------------------------------------------- */

/* There must be room on the stack. */
const struct lull_event *lull_detail_call(struct lull_interpreter *it,
                                          const struct lull_event *event,
                                          const struct lull_event *last)
{
    const int64_t end = event->time + event->duration;
    const struct lull_event *next = event + 1;
    while (next <= last && lull_is_operation(next) && next->time <= end)
        next++;
    if (next > last || next->time < end)
        return NULL;
    lull_spend(it, event->time);
    lull_region_enter(it, event->id, NULL);
    for (const struct lull_event *operation = event + 1; operation < next; operation++) {
        lull_spend(it, operation->time);
        lull_emit_operation(it, operation, lull_kept(it));
    }
    lull_spend(it, end);
    lull_region_leave(it);
    return next - 1;
}

/* One event, and the operations of a CALL. Returns the last that was taken; NULL, and nothing has
 * happened: it must be taken the long way. */
static const struct lull_event *take_event(struct lull_interpreter *it,
                                           const struct lull_event *event,
                                           const struct lull_event *last)
{
    switch (event->kind) {
    case LULL_EVENT_CALL:
        return it->depth < it->capacity ? lull_detail_call(it, event, last) : NULL;
    case LULL_EVENT_ENTER:
        if (it->depth == it->capacity)
            return NULL;
        lull_spend(it, event->time);
        lull_region_enter(it, event->id, NULL);
        return event;
    case LULL_EVENT_LEAVE:
        lull_spend(it, event->time);
        lull_region_leave(it);
        return event;
    case LULL_EVENT_COUNTERS:
        lull_spend(it, event->time);
        lull_detail_counters(it, event);
        return event;
    default:
        if (!lull_is_operation(event))
            return NULL;
        lull_spend(it, event->time);
        lull_emit_operation(it, event, lull_kept(it));
        return event;
    }
}

const struct lull_event *lull_detail_run(struct lull_interpreter *it,
                                         const struct lull_event *event,
                                         const struct lull_event *last)
{
    if (event->time >= it->limit)
        return event;
    last = lull_run_last(it, event, last);
    for (const struct lull_event *taken; event < last; event = taken + 1) {
        taken = take_event(it, event, last);
        if (!taken)
            break;
        if (!(LULL_SILENT_EVENTS >> taken->kind & 1))
            it->last_time = it->ledger.now;
    }
    return event;
}
