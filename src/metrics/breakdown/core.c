/* Per location a clock that only goes forward, and the slot (activity, inside or outside parallel
 * regions) into which the time up to the next event goes. An event moves the clock, then changes
 * what decides the slot. Things that end by themselves (states, calls, flushes, windows) are
 * deadlines: the earliest is `limit`, and the clock stops there on its way.
 *
 * The common case, regions that are not parallel, needs none of this and has a loop of its own
 * (run_of_regions): nothing per event but two additions and a table look-up. */
#include "metrics/breakdown/place.h"

#include <assert.h>
#include <stdlib.h>

enum { MAX_DEPTH = 1 << 20 };

/* ---- the slot ------------------------------------------------------------------------------ */

static uint8_t find_base(const struct place *place)
{
    if (place->kind == LULL_LOCATION_DEVICE)
        return LULL_IDLE;
    if (place->role == LULL_THREAD_WORKER)
        return place->parallel_depth ? LULL_USEFUL : LULL_IDLE;
    return place->alive ? LULL_USEFUL : LULL_OTHER;
}

static uint8_t top_activity(const struct place *place)
{
    return place->depth ? place->stack[place->depth - 1].code.activity : INHERIT;
}

/* With states only Running is useful; a runtime's region says the others better. */
static uint8_t stated_activity(const struct place *place, uint8_t top)
{
    if (place->state == LULL_USEFUL)
        return LULL_USEFUL;
    if (place->flush_end != NEVER)
        return LULL_FLUSH;
    if (top != INHERIT && top != LULL_USEFUL)
        return top;
    return place->state == NO_STATE ? LULL_OTHER : place->state;
}

static uint8_t find_activity(const struct lull_core *core, const struct place *place)
{
    if (place->off)
        return DISABLED;
    uint8_t top = top_activity(place);
    if (core->trace->has_states)
        return stated_activity(place, top);
    if (place->flush_end != NEVER)
        return LULL_FLUSH;
    return top == INHERIT ? place->base : top;
}

static void set_slot(const struct lull_core *core, struct place *place)
{
    place->activity = find_activity(core, place);
    place->slot = SLOT(place->inside ? place->activity : OUTSIDE, place->parallel_depth > 0);
}

void lull_place_refresh(const struct lull_core *core, struct place *place)
{
    int64_t limit = place->window_at;
    limit = place->state_end < limit ? place->state_end : limit;
    limit = place->call_end < limit ? place->call_end : limit;
    limit = place->flush_end < limit ? place->flush_end : limit;
    limit = place->cut_at < limit ? place->cut_at : limit;
    place->limit = limit;
    place->base = find_base(place);
    place->plain =
        place->inside && !place->off && place->flush_end == NEVER && !core->trace->has_states;
    place->quick = place->plain && !place->detail && place->alive;
    set_slot(core, place);
}

/* After a change of the stack. */
static inline void refresh_top(const struct lull_core *core, struct place *place)
{
    if (!place->plain) {
        set_slot(core, place);
        return;
    }
    uint8_t top = top_activity(place);
    place->activity = top == INHERIT ? place->base : top;
    place->slot = SLOT(place->activity, place->parallel_depth > 0);
}

/* ---- the clock ----------------------------------------------------------------------------- */

static void spend_in_region(struct place *place, int64_t length)
{
    if (ACTIVITY_OF(place->slot) >= DISABLED)
        return;
    place->analysed += length;
    if (!place->depth)
        return;
    struct region_sum *sum = &place->sums[place->stack[place->depth - 1].region];
    sum->exclusive_ns += length;
    if (ACTIVITY_OF(place->slot) == LULL_USEFUL)
        sum->useful_ns += length;
}

static inline void spend(struct place *place, int64_t until)
{
    int64_t length = until - place->now;
    if (length <= 0)
        return;
    place->ns[place->slot] += length;
    place->now = until;
    if (!place->detail)
        return;
    place->last = place->activity;
    if (place->sums)
        spend_in_region(place, length);
}

static void leave_region(const struct lull_core *core, struct place *place);

static const struct lull_interval *windows_of(const struct lull_core *core,
                                              const struct place *place)
{
    return core->windows ? core->windows->intervals[place->process] : &core->whole;
}

static void cross_window(const struct lull_core *core, struct place *place)
{
    const struct lull_interval *intervals = windows_of(core, place);
    uint32_t count = core->windows ? core->windows->counts[place->process] : 1;
    if (place->inside) {
        place->inside = false;
        place->window++;
    } else if (place->window < count) {
        place->inside = true;
    }
    place->window_at = NEVER;
    if (place->window < count)
        place->window_at =
            place->inside ? intervals[place->window].end : intervals[place->window].begin;
}

static void hand_over_span(struct place *place);

static bool has_span(const struct place *place)
{
    return place->thread > 0 && place->parallel_depth > 0 && place->executions;
}

/* A worker's span is handed over in pieces, or what waits for it would grow with its length. They
 * are cut at times of the run's own, so that the sums do not depend on how a format is read. */
static void cut_span(const struct lull_core *core, struct place *place)
{
    if (has_span(place)) {
        hand_over_span(place);
        place->span_begin = place->now;
    }
    place->cut_at += core->piece;
}

/* Moves the clock over all deadlines up to `time`. */
static void cross(const struct lull_core *core, struct place *place, int64_t time)
{
    while (place->limit <= time) {
        int64_t at = place->limit;
        spend(place, at);
        if (place->call_end <= at) {
            place->call_end = NEVER;
            leave_region(core, place);
        }
        if (place->state_end <= at) {
            place->state_end = NEVER;
            place->state = NO_STATE;
        }
        if (place->flush_end <= at)
            place->flush_end = NEVER;
        while (place->window_at <= at)
            cross_window(core, place);
        while (place->cut_at <= at)
            cut_span(core, place);
        lull_place_refresh(core, place);
    }
}

static inline void advance(const struct lull_core *core, struct place *place, int64_t time)
{
    if (time >= place->limit)
        cross(core, place, time);
    spend(place, time);
}

/* ---- parallel regions ---------------------------------------------------------------------- */

static const uint8_t cause_of[LULL_ACTIVITIES] = {
    [LULL_USEFUL] = LULL_CAUSE_USEFUL,      [LULL_MPI_P2P] = LULL_CAUSE_MPI,
    [LULL_MPI_COLLECTIVE] = LULL_CAUSE_MPI, [LULL_MPI_ONE_SIDED] = LULL_CAUSE_MPI,
    [LULL_MPI_IO] = LULL_CAUSE_MPI,         [LULL_MPI_OTHER] = LULL_CAUSE_MPI,
    [LULL_OMP_SYNC] = LULL_CAUSE_SYNC,      [LULL_OMP_SCHEDULE] = LULL_CAUSE_SCHEDULE,
    [LULL_OMP_LOCK] = LULL_CAUSE_LOCK,      [LULL_IDLE] = LULL_CAUSE_OTHER,
    [LULL_DEVICE] = LULL_CAUSE_OTHER,       [LULL_IO] = LULL_CAUSE_OTHER,
    [LULL_FLUSH] = LULL_CAUSE_OTHER,        [LULL_OTHER] = LULL_CAUSE_OTHER,
};

/* What has gone into the parallel slots since the last span: they change inside of spans alone. */
static inline void end_span(struct place *place, struct lull_span *ret_span)
{
    *ret_span = (struct lull_span){.begin = place->span_begin, .end = place->now};
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        int64_t ns = place->ns[SLOT(activity, 1)] - place->handed_over[activity];
        if (ns == 0)
            continue;
        ret_span->ns[cause_of[activity]] += ns;
        place->handed_over[activity] += ns;
    }
}

/* A team may begin before its region is entered: the first region that is known gives the name. */
static void enter_parallel(struct place *place, uint32_t region)
{
    bool outermost = place->parallel_depth++ == 0;
    if (!place->executions)
        return;
    if (outermost || place->execution == LULL_NONE)
        place->execution = region;
    if (!outermost)
        return;
    place->span_begin = place->now;
    if (place->thread == 0 &&
        lull_executions_open(place->executions, place->now, place->inside, NULL) != LULL_OK)
        place->failed = true;
}

static void hand_over_span(struct place *place)
{
    struct lull_span span;
    end_span(place, &span);
    if (place->thread > 0)
        place->failed |=
            lull_executions_add(place->executions, place->thread, &span, NULL) != LULL_OK;
    else if (!place->failed)
        lull_executions_close(place->executions, &span, place->execution);
}

static void leave_parallel(struct place *place)
{
    if (--place->parallel_depth == 0 && place->executions)
        hand_over_span(place);
}

/* ---- regions ------------------------------------------------------------------------------- */

static bool is_open(const struct place *place, uint32_t region)
{
    for (uint32_t i = place->depth; i-- > 0;) {
        if (place->stack[i].region == region)
            return true;
    }
    return false;
}

static lull_status grow_stack(const struct lull_core *core, struct place *place,
                              struct lull_error *err)
{
    const struct lull_trace *trace = core->trace;
    if (place->depth >= MAX_DEPTH)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: process %u, thread %u: more than %d regions are open at once",
                         trace->path, trace->processes[place->process].rank, place->thread,
                         MAX_DEPTH);
    uint32_t capacity = place->capacity ? 2 * place->capacity : 16;
    struct frame *stack = realloc(place->stack, capacity * sizeof *stack);
    if (!stack)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for %u open regions", capacity);
    place->stack = stack;
    place->capacity = capacity;
    return LULL_OK;
}

static lull_status enter_region(const struct lull_core *core, struct place *place, uint32_t region,
                                struct lull_error *err)
{
    if (place->depth == place->capacity) {
        lull_status status = grow_stack(core, place, err);
        if (status != LULL_OK)
            return status;
    }
    struct frame *frame = &place->stack[place->depth];
    frame->region = region;
    frame->code = place->codes[region];
    if (frame->code.activity == INHERIT)
        frame->code.activity = top_activity(place);
    if (place->sums) {
        frame->outermost = !is_open(place, region);
        frame->entered = place->analysed;
        place->sums[region].visits += place->inside;
    }
    place->depth++;
    if (frame->code.parallel) {
        enter_parallel(place, region);
        place->base = find_base(place);
    }
    refresh_top(core, place);
    return LULL_OK;
}

static void leave_region(const struct lull_core *core, struct place *place)
{
    if (place->depth == 0) /* the scan drops these; nothing to close */
        return;
    const struct frame *frame = &place->stack[--place->depth];
    if (place->sums && frame->outermost)
        place->sums[frame->region].inclusive_ns += place->analysed - frame->entered;
    if (frame->code.parallel) {
        leave_parallel(place);
        place->base = find_base(place);
    }
    refresh_top(core, place);
}

/* A CALL is a region with a deadline. Should another event of regions come first, the call ends
 * with it. */
static void cut_call(const struct lull_core *core, struct place *place)
{
    if (place->call_end == NEVER)
        return;
    place->call_end = NEVER;
    leave_region(core, place);
    lull_place_refresh(core, place);
}

/* ---- events -------------------------------------------------------------------------------- */

static int64_t end_of(const struct lull_core *core, const struct lull_event *event)
{
    int64_t left = core->whole.end - event->time;
    return event->duration > left ? core->whole.end : event->time + event->duration;
}

/* What of a reading over `whole` belongs to its first `part`; readings that went backwards (the
 * counters of some tracers do) are negative numbers. Cut down, so that what belongs to parts that
 * adjoin adds up. */
static int64_t share_of(uint64_t reading, int64_t part, int64_t whole)
{
    return (int64_t)((__int128)(int64_t)reading * part / whole);
}

/* What of a reading taken now belongs to the windows, which may cut the time since the one before;
 * two readings at once: to the time right before. */
static uint64_t share_of_windows(const struct lull_core *core, const struct place *place,
                                 uint32_t counter, uint64_t reading)
{
    const struct lull_interval *windows = windows_of(core, place);
    const int64_t to = place->now;
    const int64_t from = place->read_at[counter] < to ? place->read_at[counter] : to - 1;
    if (place->inside && windows[place->window].begin <= from) /* as nearly always */
        return reading;
    uint64_t sum = 0;
    for (uint32_t i = place->window + place->inside; i-- > 0 && windows[i].end > from;) {
        int64_t begin = windows[i].begin > from ? windows[i].begin : from;
        int64_t end = windows[i].end < to ? windows[i].end : to;
        if (begin < end)
            sum += (uint64_t)(share_of(reading, end - from, to - from) -
                              share_of(reading, begin - from, to - from));
    }
    return sum;
}

static void read_counters(const struct lull_core *core, struct place *place,
                          const struct lull_event *event)
{
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_reading *reading = &event->readings.values[i];
        if (place->last < DISABLED)
            place->counters[(size_t)reading->counter * LULL_ACTIVITIES + place->last] +=
                share_of_windows(core, place, reading->counter, reading->value);
        place->read_at[reading->counter] = place->now;
    }
}

static void change_team(struct place *place, bool begins)
{
    if (begins) {
        place->team_depth++;
        enter_parallel(place, LULL_NONE);
    } else if (place->team_depth > 0) { /* not one that began before the trace */
        place->team_depth--;
        leave_parallel(place);
    }
}

static void begin_state(const struct lull_core *core, struct place *place,
                        const struct lull_event *event)
{
    if (event->duration == 0)
        return;
    place->state = core->trace->states[event->id].activity;
    place->state_end = end_of(core, event);
}

/* The kinds that are rare, and a CALL that does not fit the quick way. */
static lull_status handle_rare(const struct lull_core *core, struct place *place,
                               const struct lull_event *event, struct lull_error *err)
{
    lull_status status = LULL_OK;
    switch (event->kind) {
    case LULL_EVENT_CALL:
        cut_call(core, place);
        status = enter_region(core, place, event->id, err);
        place->call_end = end_of(core, event);
        break;
    case LULL_EVENT_STATE:
        begin_state(core, place, event);
        break;
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        change_team(place, event->kind == LULL_EVENT_TEAM_BEGIN);
        break;
    case LULL_EVENT_THREAD_BEGIN:
    case LULL_EVENT_THREAD_END:
        place->alive = event->kind == LULL_EVENT_THREAD_BEGIN;
        break;
    case LULL_EVENT_FLUSH:
        if (place->flush_end == NEVER || place->flush_end < end_of(core, event))
            place->flush_end = end_of(core, event);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        place->off = event->kind == LULL_EVENT_MEASURE_OFF;
        break;
    default:
        return LULL_OK;
    }
    lull_place_refresh(core, place);
    return status;
}

static void begin_life(const struct lull_core *core, struct place *place)
{
    place->began = place->alive = true;
    for (uint32_t i = 0; i < core->trace->n_counters; i++)
        place->read_at[i] = place->now;
    lull_place_refresh(core, place);
}

static lull_status handle(const struct lull_core *core, struct place *place,
                          const struct lull_event *event, struct lull_error *err)
{
    advance(core, place, event->time);
    if (!place->began)
        begin_life(core, place);
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        cut_call(core, place);
        return enter_region(core, place, event->id, err);
    case LULL_EVENT_LEAVE:
        cut_call(core, place);
        leave_region(core, place);
        return LULL_OK;
    case LULL_EVENT_COUNTERS:
        read_counters(core, place, event);
        return LULL_OK;
    default:
        return handle_rare(core, place, event, err);
    }
}

static inline uint8_t slot_of(const struct place *place, uint8_t top, unsigned parallel)
{
    return SLOT(top == INHERIT ? place->base : top, parallel);
}

/* What a run of regions changes, in registers. */
struct run {
    int64_t now;
    uint32_t depth;
    uint8_t slot;
    uint8_t top; /* activity of the innermost region */
    uint8_t parallel;
};

static inline struct run begin_run(const struct place *place)
{
    return (struct run){.now = place->now,
                        .depth = place->depth,
                        .slot = place->slot,
                        .top = top_activity(place),
                        .parallel = place->parallel_depth > 0};
}

static inline void end_run(struct place *place, const struct run *run)
{
    place->now = run->now;
    place->depth = run->depth;
    place->slot = run->slot;
}

/* A parallel region begins or ends. */
static struct run change_parallel(struct place *place, struct run run, uint32_t region, bool enters)
{
    end_run(place, &run);
    if (enters)
        enter_parallel(place, region);
    else
        leave_parallel(place);
    place->base = find_base(place);
    run.parallel = place->parallel_depth > 0;
    return run;
}

/* The last event before the time; `last` if all are. Events[0] is. */
static const struct lull_event *last_before(const struct lull_event *event,
                                            const struct lull_event *last, int64_t time)
{
    if (last->time < time)
        return last;
    while (last - event > 1) {
        const struct lull_event *middle = event + (last - event) / 2;
        if (middle->time < time)
            event = middle;
        else
            last = middle;
    }
    return event;
}

/* Takes ENTERs, LEAVEs and CALLs for as long as another event follows before the next deadline, and
 * each CALL ends before that. Returns the first event that is left; `last`, the last of a block,
 * always is. The scan sees to it that time runs forward and that calls hold no regions. */
static const struct lull_event *run_of_regions(struct place *place, const struct lull_event *event,
                                               const struct lull_event *last)
{
    if (event->time >= place->limit)
        return event;
    const struct region_code *codes = place->codes;
    struct frame *stack = place->stack;
    int64_t *ns = place->ns;
    struct run run = begin_run(place);
    last = last_before(event, last, place->limit);
    for (; event < last; event++) {
        const int64_t time = event->time;
        if (event->kind == LULL_EVENT_CALL) {
            const struct region_code code = codes[event->id];
            const int64_t end = time + event->duration;
            if (code.parallel || end > event[1].time)
                break;
            ns[run.slot] += time - run.now;
            ns[code.activity == INHERIT ? run.slot : SLOT(code.activity, run.parallel)] +=
                event->duration;
            run.now = end;
        } else if (event->kind == LULL_EVENT_ENTER) {
            const struct region_code code = codes[event->id];
            if (run.depth == place->capacity)
                break;
            ns[run.slot] += time - run.now;
            run.now = time;
            run.top = code.activity == INHERIT ? run.top : code.activity;
            struct frame *frame = &stack[run.depth++];
            frame->region = event->id;
            frame->code = (struct region_code){run.top, code.parallel};
            if (code.parallel)
                run = change_parallel(place, run, event->id, true);
            run.slot = slot_of(place, run.top, run.parallel);
        } else if (event->kind == LULL_EVENT_LEAVE) {
            if (run.depth == 0)
                break;
            ns[run.slot] += time - run.now;
            run.now = time;
            if (stack[--run.depth].code.parallel)
                run = change_parallel(place, run, event->id, false);
            run.top = run.depth ? stack[run.depth - 1].code.activity : INHERIT;
            run.slot = slot_of(place, run.top, run.parallel);
        } else {
            break;
        }
    }
    end_run(place, &run);
    return event;
}

static struct region_sum *sums_of_worker(const struct lull_core *core, unsigned worker)
{
    assert(worker < core->workers);
    return core->sums ? core->sums + (size_t)worker * core->trace->n_regions : NULL;
}

static lull_status pass(struct place *place, int64_t until, struct lull_error *err)
{
    if (place->failed)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for parallel regions");
    if (!place->executions)
        return LULL_OK;
    return lull_executions_pass(place->executions, place->thread, until, err);
}

lull_status lull_core_block(void *context, unsigned worker, const struct lull_block *block,
                            struct lull_error *err)
{
    const struct lull_core *core = context;
    struct place *place = core->places[block->location];
    if (!place)
        return LULL_OK;
    place->sums = sums_of_worker(core, worker);
    const struct lull_event *end = block->events + block->count;
    for (const struct lull_event *event = block->events; event < end; event++) {
        if (place->quick && place->call_end == NEVER)
            event = run_of_regions(place, event, end - 1);
        lull_status status = handle(core, place, event, err);
        if (status != LULL_OK)
            return status;
    }
    return pass(place, has_span(place) ? place->span_begin : place->now, err);
}

lull_status lull_core_begin(void *context, unsigned worker, uint32_t location,
                            struct lull_error *err)
{
    (void)context, (void)worker, (void)location, (void)err;
    return LULL_OK;
}

lull_status lull_core_end(void *context, unsigned worker, uint32_t location, struct lull_error *err)
{
    const struct lull_core *core = context;
    struct place *place = core->places[location];
    if (!place)
        return LULL_OK;
    place->sums = sums_of_worker(core, worker);
    if (place->call_end != NEVER) /* still a sign of life */
        advance(core, place, place->call_end);
    place->alive = false;
    lull_place_refresh(core, place);
    advance(core, place, core->whole.end);
    cut_call(core, place);
    while (place->depth > 0)
        leave_region(core, place);
    while (place->team_depth > 0)
        change_team(place, false);
    free(place->stack);
    place->stack = NULL;
    place->capacity = 0;
    return pass(place, NEVER, err);
}
