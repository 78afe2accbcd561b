/* The stack of regions, and what entering and leaving them means. */
#include "activity/interpreter.h"
#include "base/array.h"

enum { MAX_DEPTH = 1 << 20 };

/* ---- parallel regions ---------------------------------------------------------------------- */

/* A team may begin before its region is entered: the first region that is known gives the name. */
void lull_parallel_enter(struct lull_interpreter *it, uint32_t region)
{
    bool outermost = it->parallel_depth++ == 0;
    if (outermost || it->parallel_region == LULL_NONE)
        it->parallel_region = region;
    if (!outermost)
        return;
    it->ledger.forked = (struct lull_forked){it->ledger.now, it->inside};
    lull_emit_parallel(it, LULL_STEP_FORK);
}

void lull_parallel_leave(struct lull_interpreter *it)
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

void lull_call_begin(struct lull_interpreter *it, uint32_t region, int64_t kept)
{
    if (it->mpi_depth++ > 0)
        return;
    it->call_region = region;
    it->call_began = it->ledger.now;
    it->call_kept = kept;
    it->told = it->sends = false;
    emit_call(it, LULL_STEP_CALL_BEGIN, kept);
}

void lull_call_end(struct lull_interpreter *it, int64_t kept)
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

/* What is kept of a visit for who wants to know of it. */
static void note_visit(struct lull_interpreter *it, struct frame *frame, uint32_t region)
{
    frame->outermost = !is_open(it, region);
    frame->counted = it->inside;
    frame->entered = lull_analysed(it);
    frame->time = it->ledger.now;
    if (it->sums)
        it->sums[region].visits += it->inside;
}

static void note_user(const struct lull_interpreter *it, struct frame *frame, uint32_t region)
{
    const uint8_t *marks = it->shared->options->marks;
    const struct frame *below = it->depth ? frame - 1 : NULL;
    frame->user = it->shared->user[region] ? region : below ? below->user : LULL_NONE;
    frame->mark = marks && marks[region] ? marks[region] : below ? below->mark : 0;
}

lull_status lull_region_enter(struct lull_interpreter *it, uint32_t region, struct lull_error *err)
{
    if (it->depth == it->capacity) {
        lull_status status = grow_stack(it, err);
        if (status != LULL_OK)
            return status;
    }
    struct frame *frame = &it->stack[it->depth];
    frame->region = region;
    frame->code = it->codes[region];
    if (frame->code.activity == INHERIT)
        frame->code.activity = lull_top_activity(it);
    if (frame->code.special & CALL_OF_MPI)
        lull_call_begin(it, region, lull_kept(it));
    if (frame->code.special & VISITED)
        note_visit(it, frame, region);
    if (it->spans || it->stretches)
        note_user(it, frame, region);
    it->depth++;
    if (frame->code.special & PARALLEL) {
        lull_parallel_enter(it, region);
        it->base = lull_interpreter_base(it);
    }
    lull_interpreter_refresh_top(it);
    return LULL_OK;
}

static void end_visit(struct lull_interpreter *it, const struct frame *frame)
{
    int64_t inclusive = lull_analysed(it) - frame->entered;
    if (it->sums && frame->outermost)
        it->sums[frame->region].inclusive_ns += inclusive;
    if (!(frame->code.special & TOLD))
        return;
    struct lull_step *step = lull_emit(it, LULL_STEP_VISIT, frame->time, lull_kept(it));
    step->region = frame->region;
    step->visit.end = it->ledger.now;
    step->visit.inclusive_ns = inclusive;
    step->visit.flags = (uint8_t)((frame->outermost ? LULL_VISIT_OUTERMOST : 0) |
                                  (frame->counted ? LULL_VISIT_COUNTED : 0));
}

void lull_region_leave(struct lull_interpreter *it)
{
    if (it->depth == 0) /* the scan drops these; nothing to close */
        return;
    const struct frame *frame = &it->stack[--it->depth];
    if (frame->code.special & VISITED)
        end_visit(it, frame);
    if (frame->code.special & CALL_OF_MPI)
        lull_call_end(it, lull_kept(it));
    if (frame->code.special & PARALLEL) {
        lull_parallel_leave(it);
        it->base = lull_interpreter_base(it);
    }
    lull_interpreter_refresh_top(it);
}
