#include "activity/interpreter.h"

#include <stdlib.h>

/* ---- the slot ------------------------------------------------------------------------------ */

/* With states only Running is useful; a runtime's region says the others better. */
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
    uint8_t top = lull_top_activity(it);
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

void lull_interpreter_refresh(struct lull_interpreter *it)
{
    int64_t limit = it->window_at;
    limit = it->state_end < limit ? it->state_end : limit;
    limit = it->call_end < limit ? it->call_end : limit;
    limit = it->flush_end < limit ? it->flush_end : limit;
    limit = it->tick_at < limit ? it->tick_at : limit;
    it->limit = limit;
    it->base = lull_interpreter_base(it);
    it->plain = !it->off && it->flush_end == NEVER && !it->shared->trace->has_states;
    it->quick = it->plain && it->alive;
    set_slot(it);
}

void lull_interpreter_refresh_top(struct lull_interpreter *it)
{
    if (!it->plain) {
        set_slot(it);
        return;
    }
    uint8_t top = lull_top_activity(it);
    it->activity = top == INHERIT ? it->base : top;
    it->slot = LULL_SLOT(it->inside ? it->activity : LULL_ACTIVITY_OUTSIDE, it->parallel_depth > 0);
}

/* ---- the clock ----------------------------------------------------------------------------- */

/* A window up to the end of the run has what begins at that moment, because nothing is behind it:
 * the last call of a program that died has often taken less than the clock can tell. */
static int64_t end_of_window(const struct lull_interpreter *it, const struct lull_interval *window)
{
    return window->end < it->shared->whole.end ? window->end : NEVER;
}

static void cross_window(struct lull_interpreter *it)
{
    const struct lull_interval *intervals = lull_windows_of(it);
    const struct lull_windows *windows = it->shared->options->windows;
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
        lull_spend(it, at);
        if (it->call_end <= at) {
            it->call_end = NEVER;
            lull_region_leave(it);
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
        lull_interpreter_refresh(it);
    }
}

void lull_interpreter_advance(struct lull_interpreter *it, int64_t time)
{
    if (time >= it->limit)
        cross(it, time);
    lull_spend(it, time);
}

/* ---- events -------------------------------------------------------------------------------- */

/* A CALL is a region with a deadline. Should another event of regions come first, the call ends
 * with it. */
static void cut_call(struct lull_interpreter *it)
{
    if (it->call_end == NEVER)
        return;
    it->call_end = NEVER;
    lull_region_leave(it);
    lull_interpreter_refresh(it);
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
        lull_parallel_enter(it, LULL_NONE);
    } else if (it->team_depth > 0) { /* not one that began before the trace */
        it->team_depth--;
        lull_parallel_leave(it);
    }
}

static void begin_state(struct lull_interpreter *it, const struct lull_event *event)
{
    if (event->duration == 0)
        return;
    it->state = it->shared->trace->states[event->id].activity;
    it->state_end = end_of(it, event);
}

/* The kinds that are rare, and a CALL that does not fit the quick way. */
static lull_status handle_rare(struct lull_interpreter *it, const struct lull_event *event,
                               struct lull_error *err)
{
    lull_status status = LULL_OK;
    switch (event->kind) {
    case LULL_EVENT_CALL:
        cut_call(it);
        status = lull_region_enter(it, event->id, err);
        if (it->sums && it->inside)
            it->sums[event->id].visits += lull_calls_of(event) - 1;
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
        it->off = event->kind == LULL_EVENT_MEASURE_OFF;
        break;
    default:
        return LULL_OK;
    }
    lull_interpreter_refresh(it);
    return status;
}

/* Operations of a call may come at its very end: the call is not over before they are. */
static void handle_operation(struct lull_interpreter *it, const struct lull_event *event)
{
    if (event->time == it->call_end) {
        if (it->limit < it->call_end)
            cross(it, it->call_end - 1);
        lull_spend(it, event->time);
    } else if (event->time > it->ledger.now)
        lull_interpreter_advance(it, event->time);
    lull_emit_operation(it, event, lull_kept(it));
}

static void begin_life(struct lull_interpreter *it)
{
    it->began = it->alive = true;
    for (uint32_t i = 0; it->read_at && i < it->shared->trace->n_counters; i++)
        it->read_at[i] = it->ledger.now;
    lull_interpreter_refresh(it);
}

static lull_status handle(struct lull_interpreter *it, const struct lull_event *event,
                          struct lull_error *err)
{
    if (lull_is_operation(event) && it->began) {
        handle_operation(it, event);
        return LULL_OK;
    }
    lull_interpreter_advance(it, event->time);
    if (!it->began)
        begin_life(it);
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        cut_call(it);
        return lull_region_enter(it, event->id, err);
    case LULL_EVENT_LEAVE:
        cut_call(it);
        lull_region_leave(it);
        return LULL_OK;
    case LULL_EVENT_COUNTERS:
        lull_detail_counters(it, event);
        return LULL_OK;
    default:
        if (lull_is_operation(event)) {
            lull_emit_operation(it, event, lull_kept(it));
            return LULL_OK;
        }
        return handle_rare(it, event, err);
    }
}

lull_status lull_interpreter_block(struct lull_interpreter *it, const struct lull_event *events,
                                   uint32_t count, struct lull_emitter *out, struct lull_error *err)
{
    it->out = out;
    if (it->shared->options->regions)
        it->sums =
            it->shared->options->regions + (size_t)out->worker * it->shared->trace->n_regions;
    const struct lull_event *end = events + count;
    for (const struct lull_event *event = events; event < end; event++) {
        if (it->quick && it->call_end == NEVER)
            event = it->detail ? lull_detail_run(it, event, end - 1)
                               : lull_interpreter_run(it, event, end - 1);
        lull_status status = handle(it, event, err);
        if (status != LULL_OK)
            return status;
        if (!(LULL_SILENT_EVENTS >> event->kind & 1))
            it->last_time = it->ledger.now;
    }
    if (it->shared->wants_ledger || out->count > 0)
        lull_emit_deliver(it);
    return out->status;
}

lull_status lull_interpreter_end(struct lull_interpreter *it, struct lull_emitter *out,
                                 struct lull_error *err)
{
    (void)err;
    it->out = out;
    if (it->shared->options->regions)
        it->sums =
            it->shared->options->regions + (size_t)out->worker * it->shared->trace->n_regions;
    if (it->call_end != NEVER) /* still a sign of life */
        lull_interpreter_advance(it, it->call_end);
    it->alive = false;
    lull_interpreter_refresh(it);
    lull_interpreter_advance(it, it->shared->whole.end);
    cut_call(it);
    while (it->depth > 0)
        lull_region_leave(it);
    while (it->team_depth > 0)
        change_team(it, false);
    lull_emit_time(it);
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
