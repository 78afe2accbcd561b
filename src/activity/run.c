/* Runs of regions, calls and operations in one go: nearly all events of a trace. A run ends before
 * the next deadline, so nothing ends by itself inside.
 *
 * Where nobody wants more than the ledger's times and the steps of message passing, an event costs
 * a table look-up: time is spent where the slot changes. */
#include "activity/interpreter.h"

/* What a run changes, in registers. Time from `now` on is not spent yet. */
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
                        .top = lull_top_activity(it),
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

/* Spends the time up to where an event ends, the last of the run. */
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

/* A region is entered or left that does more than change the slot. */
static void change_special(struct lull_interpreter *it, struct run *run,
                           const struct lull_event *event, struct region_code code)
{
    bool enters = event->kind == LULL_EVENT_ENTER;
    spend_run(it, run, event->time);
    store_run(it, run);
    if (code.special & CALL_OF_MPI) {
        if (enters)
            lull_call_begin(it, event->id, lull_kept(it));
        else
            lull_call_end(it, lull_kept(it));
    }
    if (code.special & PARALLEL) {
        if (enters)
            lull_parallel_enter(it, event->id);
        else
            lull_parallel_leave(it);
        it->base = lull_interpreter_base(it);
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
    const struct region_code code = it->codes[event->id];
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

/* An operation in a call, or between others. */
static inline void take_operation(struct lull_interpreter *it, struct run *run,
                                  const struct lull_event *event)
{
    if (event->time > run->now)
        spend_run(it, run, event->time);
    it->ledger.now = run->now;
    lull_emit_operation(it, event, lull_kept(it));
}

/* A CALL of MPI with the operations behind it. Returns the last event that was taken; NULL, and
 * nothing has happened: it must be taken step by step. */
static const struct lull_event *take_call_of_mpi(struct lull_interpreter *it, struct run *run,
                                                 const struct lull_event *event,
                                                 const struct lull_event *last)
{
    const int64_t end = event->time + event->duration;
    const struct lull_event *next = event + 1;
    while (next <= last && lull_is_operation(next) && next->time <= end)
        next++;
    if (next > last || next->time < end)
        return NULL;
    const uint8_t outer = run->slot;
    spend_run(it, run, event->time);
    store_run(it, run);
    const int64_t kept = lull_kept(it);
    lull_call_begin(it, event->id, kept);
    run->slot = slot_of(it, it->codes[event->id].activity, run->parallel);
    const bool grows = lull_is_kept(it, run->slot);
    for (const struct lull_event *operation = event + 1; operation < next; operation++) {
        int64_t since = operation->time - event->time;
        lull_emit_operation(it, operation, kept + (grows ? since : 0));
    }
    spend_run(it, run, end);
    it->ledger.now = run->now;
    lull_call_end(it, kept + (grows ? event->duration : 0));
    run->slot = outer;
    return next - 1;
}

static inline const struct lull_event *take_special(struct lull_interpreter *it, struct run *run,
                                                    const struct lull_event *event,
                                                    const struct lull_event *last,
                                                    struct region_code code)
{
    if (code.special == CALL_OF_MPI)
        return take_call_of_mpi(it, run, event, last);
    if (run->depth == it->capacity)
        return NULL;
    store_run(it, run);
    const struct lull_event *taken = lull_detail_call(it, event, last);
    *run = begin_run(it);
    return taken;
}

/* Any other, which ends before the next event. */
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

const struct lull_event *lull_run_last(const struct lull_interpreter *it,
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
    while (last - event > 1) {
        const struct lull_event *middle = event + (last - event) / 2;
        if (middle->time < time)
            event = middle;
        else
            last = middle;
    }
    return event;
}

/* Takes ENTERs, LEAVEs, CALLs and operations for as long as another event follows before the next
 * deadline, and each CALL ends before that. Returns the first event that is left; `last`, the last
 * of a block, always is. The scan sees to it that time runs forward and that calls hold no regions.
 */
const struct lull_event *lull_interpreter_run(struct lull_interpreter *it,
                                              const struct lull_event *event,
                                              const struct lull_event *last)
{
    if (event->time >= it->limit)
        return event;
    const struct region_code *codes = it->codes;
    struct run run = begin_run(it);
    const struct lull_event *const first = event;
    last = lull_run_last(it, event, last);
    for (; event < last; event++) {
        if (event->kind == LULL_EVENT_CALL) {
            const struct region_code code = codes[event->id];
            if (code.special == CALL_OF_MPI || (code.special & ~TOLD) == VISITED) {
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
        } else if ((LULL_OPERATION_EVENTS & ~LULL_SILENT_EVENTS) >> event->kind & 1) {
            take_operation(it, &run, event);
        } else {
            break;
        }
    }
    if (event > first)
        end_run(it, &run, event - 1);
    return event;
}
