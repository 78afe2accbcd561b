/* Runs of regions and calls in one go: nothing per event but two additions and a table look-up, and
 * for calls of MPI the steps that somebody wants. */
#include "activity/interpreter.h"

/* What a run changes, in registers. */
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

static inline void end_run(struct lull_interpreter *it, const struct run *run)
{
    it->ledger.now = run->now;
    it->depth = run->depth;
    it->slot = run->slot;
}

static inline uint8_t slot_of(const struct lull_interpreter *it, uint8_t top, unsigned parallel)
{
    return LULL_SLOT(top == INHERIT ? it->base : top, parallel);
}

/* A parallel region begins or ends. */
static struct run change_parallel(struct lull_interpreter *it, struct run run, uint32_t region,
                                  bool enters)
{
    end_run(it, &run);
    if (enters)
        lull_parallel_enter(it, region);
    else
        lull_parallel_leave(it);
    it->base = lull_interpreter_base(it);
    run.parallel = it->parallel_depth > 0;
    return run;
}

static inline void spend_run(struct lull_interpreter *it, struct run *run, int64_t time)
{
    it->ledger.ns[run->slot] += time - run->now;
    run->now = time;
}

/* ---- calls of MPI -------------------------------------------------------------------------- */

/* An operation in a call, or between others. */
static inline void take_operation(struct lull_interpreter *it, struct run *run,
                                  const struct lull_event *event)
{
    if (event->time > run->now)
        spend_run(it, run, event->time);
    it->ledger.now = run->now;
    lull_emit_operation(it, event, lull_kept(it));
}

/* A CALL of MPI with the operations behind it. Returns the last event that was taken; `event` minus
 * one, and nothing has happened: it must be taken step by step. */
static const struct lull_event *take_call(struct lull_interpreter *it, struct run *run,
                                          const struct lull_event *event,
                                          const struct lull_event *last, struct region_code code)
{
    const int64_t end = event->time + event->duration;
    const struct lull_event *next = event + 1;
    while (next <= last && lull_is_operation(next) && next->time <= end)
        next++;
    if (next > last || next->time < end)
        return event - 1;
    spend_run(it, run, event->time);
    uint8_t outer = run->slot;
    it->ledger.now = run->now;
    lull_call_begin(it, event->id);
    run->slot = LULL_SLOT(code.activity, run->parallel);
    for (const struct lull_event *operation = event + 1; operation < next; operation++)
        take_operation(it, run, operation);
    spend_run(it, run, end);
    it->ledger.now = run->now;
    lull_call_end(it);
    run->slot = outer;
    return next - 1;
}

/* ---- the run ------------------------------------------------------------------------------- */

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

static inline void enter_run(struct lull_interpreter *it, struct run *run,
                             const struct lull_event *event)
{
    const struct region_code code = it->codes[event->id];
    spend_run(it, run, event->time);
    if (code.special) {
        it->ledger.now = run->now;
        lull_call_begin(it, event->id);
    }
    run->top = code.activity == INHERIT ? run->top : code.activity;
    struct frame *frame = &it->stack[run->depth++];
    frame->region = event->id;
    frame->code = code;
    frame->code.activity = run->top;
    if (code.parallel)
        *run = change_parallel(it, *run, event->id, true);
    run->slot = slot_of(it, run->top, run->parallel);
}

static inline void leave_run(struct lull_interpreter *it, struct run *run,
                             const struct lull_event *event)
{
    spend_run(it, run, event->time);
    const struct region_code code = it->stack[--run->depth].code;
    if (code.special) {
        it->ledger.now = run->now;
        lull_call_end(it);
    }
    if (code.parallel)
        *run = change_parallel(it, *run, event->id, false);
    run->top = run->depth ? it->stack[run->depth - 1].code.activity : INHERIT;
    run->slot = slot_of(it, run->top, run->parallel);
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
    int64_t *ns = it->ledger.ns;
    struct run run = begin_run(it);
    const struct lull_event *const first = event;
    last = last_before(event, last, it->limit);
    for (; event < last; event++) {
        if (event->kind == LULL_EVENT_CALL) {
            const struct region_code code = codes[event->id];
            const int64_t end = event->time + event->duration;
            if (code.special == CALL_OF_MPI) {
                const struct lull_event *taken = take_call(it, &run, event, last, code);
                if (taken < event)
                    break;
                event = taken;
                continue;
            }
            if (code.parallel || code.special || end > event[1].time)
                break;
            ns[run.slot] += event->time - run.now;
            ns[code.activity == INHERIT ? run.slot : LULL_SLOT(code.activity, run.parallel)] +=
                event->duration;
            run.now = end;
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
    end_run(it, &run);
    if (event > first)
        lull_note_last(it);
    return event;
}
