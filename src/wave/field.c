/* Making a field: from the steps of a pass, or from what a simulation tells. */
#include "wave/field.h"

#include "wave/collector.h"

#include <stdlib.h>
#include <string.h>

lull_status lull_wave_no_memory(const struct lull_wave_collector *collector, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for its iterations",
                     collector->name);
}

static lull_status create(uint32_t n_ranks, const char *name,
                          struct lull_wave_collector **ret_collector, struct lull_error *err)
{
    struct lull_wave_collector *collector = calloc(1, sizeof *collector);
    if (collector) {
        collector->name = name;
        collector->field.n_ranks = collector->field.own_end = n_ranks;
        collector->marker = LULL_NONE;
        collector->builders = calloc(n_ranks + (size_t)1, sizeof *collector->builders);
        collector->field.rows = calloc(n_ranks + (size_t)1, sizeof *collector->field.rows);
        collector->told = calloc(n_ranks + (size_t)1, sizeof *collector->told);
    }
    if (!collector || !collector->builders || !collector->field.rows || !collector->told) {
        lull_wave_collector_destroy(collector);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for %u ranks", name, n_ranks);
    }
    *ret_collector = collector;
    return LULL_OK;
}

void lull_wave_row_free(struct lull_wave_row *row)
{
    free(row->cells);
    free(row->messages);
    free(row->collectives);
    *row = (struct lull_wave_row){0};
}

void lull_wave_collector_destroy(struct lull_wave_collector *collector)
{
    if (!collector)
        return;
    for (uint32_t r = 0; r < collector->field.n_ranks; r++) {
        if (collector->builders)
            lull_wave_builder_free(&collector->builders[r]);
        if (collector->field.rows)
            lull_wave_row_free(&collector->field.rows[r]);
    }
    free(collector->calls_of);
    free(collector->builders);
    free(collector->field.rows);
    free(collector->told);
    free(collector);
}

/* ---- from a trace ---------------------------------------------------------------------------- */

/* Of that name; LULL_NONE: there is none. */
static uint32_t find_marker(const struct lull_trace *trace, const char *name)
{
    for (uint32_t m = 0; m < trace->n_markers; m++)
        if (strcmp(trace->markers[m].name, name) == 0)
            return m;
    return LULL_NONE;
}

lull_status lull_wave_collector_create(const struct lull_trace *trace, uint32_t application,
                                       const char *marker,
                                       struct lull_wave_collector **ret_collector,
                                       struct lull_error *err)
{
    uint32_t first = 0, count = 0, mark = marker ? find_marker(trace, marker) : LULL_NONE;
    if (marker && mark == LULL_NONE)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no marker '%s'", trace->path, marker);
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == application && count++ == 0)
            first = p;
    lull_status status = create(count, trace->path, ret_collector, err);
    if (status != LULL_OK)
        return status;
    struct lull_wave_collector *collector = *ret_collector;
    collector->trace = trace;
    collector->first_process = first;
    collector->marker = mark;
    collector->field.clock_error = trace->clock_error;
    collector->field.first_origin = !lull_trace_is_simulated(trace);
    return LULL_OK;
}

/* Whether a call of MPI may wait for messages. */
static bool waits(unsigned call)
{
    switch (call) {
    case LULL_CALL_SEND:
    case LULL_CALL_SSEND:
    case LULL_CALL_RECV:
    case LULL_CALL_SENDRECV:
    case LULL_CALL_WAIT:
    case LULL_CALL_WAITALL:
        return true;
    default:
        return false;
    }
}

static bool take_call(struct lull_wave_builder *builder, const struct lull_trace *trace,
                      uint8_t call, uint32_t region, int64_t begin, int64_t end)
{
    /* A test that completed a receive ends a phase like a wait; nobody knows how many tests before
     * it were part of waiting. */
    if (waits(call) || (call == LULL_CALL_TEST && builder->open_received > 0))
        return lull_wave_builder_wait(builder, begin, end);
    if (call == LULL_CALL_COLLECTIVE && region != LULL_NONE)
        return lull_wave_builder_collective(builder, trace->regions[region].collective, begin, end);
    return true;
}

/* One that takes no time at all is none. */
static bool take_span(const struct lull_wave_collector *collector,
                      struct lull_wave_builder *builder, const struct lull_step *span)
{
    if ((span->activity != LULL_MPI_P2P && span->activity != LULL_MPI_COLLECTIVE) ||
        span->region == LULL_NONE)
        return true;
    return take_call(builder, collector->trace, collector->calls_of[span->region], span->region,
                     span->time, span->span.end);
}

static bool finish_rank(struct lull_wave_collector *collector, uint32_t rank, int64_t begin)
{
    return lull_wave_builder_finish(&collector->builders[rank], begin,
                                    collector->marker != LULL_NONE, &collector->field.rows[rank]);
}

static lull_status take_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct lull_wave_collector *collector = context;
    const struct lull_trace *trace = collector->trace;
    (void)worker;
    uint32_t process = trace->locations[steps->location].process;
    uint32_t rank = process - collector->first_process;
    if (trace->processes[process].first_location != steps->location)
        return LULL_OK;
    struct lull_wave_builder *builder = &collector->builders[rank];
    bool good = true;
    for (uint32_t i = 0; i < steps->count && good; i++) {
        const struct lull_step *step = &steps->steps[i];
        switch (step->kind) {
        case LULL_STEP_SEND:
        case LULL_STEP_RECV:
            if (step->message.peer >= 0)
                good = lull_wave_builder_message(
                    builder, step->kind == LULL_STEP_SEND,
                    (uint32_t)step->message.peer - collector->first_process, step->message.bytes);
            break;
        case LULL_STEP_CALL_END:
            if (!collector->calls_of)
                good =
                    take_call(builder, trace, step->op, step->region, step->call_began, step->time);
            break;
        case LULL_STEP_SPAN:
            if (collector->calls_of)
                good = take_span(collector, builder, step);
            break;
        case LULL_STEP_MARKER:
            if (step->marker == collector->marker)
                good = lull_wave_builder_mark(builder);
            break;
        case LULL_STEP_END:
            good = finish_rank(collector, rank, trace->processes[process].main_begin);
            break;
        default:
            break;
        }
    }
    return good ? LULL_OK : lull_wave_no_memory(collector, err);
}

static struct lull_consumer consumer_of(struct lull_wave_collector *collector, uint32_t calls)
{
    uint32_t marker = collector->marker != LULL_NONE ? LULL_STEP_MASK(LULL_STEP_MARKER) : 0;
    return (struct lull_consumer){.context = collector,
                                  .wants = marker | calls | LULL_STEP_MASK(LULL_STEP_SEND) |
                                           LULL_STEP_MASK(LULL_STEP_RECV) |
                                           LULL_STEP_MASK(LULL_STEP_END),
                                  .steps = take_steps};
}

struct lull_consumer lull_wave_collector_consumer(struct lull_wave_collector *collector)
{
    return consumer_of(collector,
                       LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END));
}

lull_status lull_wave_collector_consumer_of_spans(struct lull_wave_collector *collector,
                                                  struct lull_consumer *ret_consumer,
                                                  struct lull_error *err)
{
    const struct lull_trace *trace = collector->trace;
    collector->calls_of = malloc(trace->n_regions + (size_t)1);
    if (!collector->calls_of)
        return lull_wave_no_memory(collector, err);
    for (uint32_t r = 0; r < trace->n_regions; r++)
        collector->calls_of[r] = (uint8_t)lull_call_of_region(&trace->regions[r]);
    *ret_consumer = consumer_of(collector, LULL_STEP_MASK(LULL_STEP_SPAN));
    return LULL_OK;
}

/* ---- from a simulation ----------------------------------------------------------------------- */

/* Ends the phase of a rank without calls. */
static bool end_gap(struct lull_wave_collector *collector, uint32_t rank, int64_t end)
{
    struct lull_wave_told *told = &collector->told[rank];
    if (told->calls || !told->waited)
        return true;
    told->waited = false;
    return lull_wave_builder_wait(&collector->builders[rank], told->computed, end);
}

static lull_status told_compute(void *context, uint32_t stream, const struct lull_op *op,
                                int64_t begin, int64_t end, int64_t noise, int64_t delay,
                                struct lull_error *err)
{
    struct lull_wave_collector *collector = context;
    (void)op;
    (void)noise;
    (void)delay;
    if (!end_gap(collector, stream, begin))
        return lull_wave_no_memory(collector, err);
    collector->told[stream].computed = end;
    return LULL_OK;
}

static lull_status told_call(void *context, uint32_t stream, const struct lull_op *op, bool begins,
                             int64_t time, struct lull_error *err)
{
    struct lull_wave_collector *collector = context;
    struct lull_wave_builder *builder = &collector->builders[stream];
    if (begins) {
        collector->told[stream].call_began = time;
        collector->told[stream].calls = true;
        return LULL_OK;
    }
    bool good = true;
    if (op->kind == LULL_OP_WAIT || ((op->kind == LULL_OP_SEND || op->kind == LULL_OP_RECV) &&
                                     op->request == LULL_OP_NO_REQUEST))
        good = lull_wave_builder_wait(builder, collector->told[stream].call_began, time);
    else if (op->kind == LULL_OP_COLLECTIVE && op->request == LULL_OP_NO_REQUEST)
        good = lull_wave_builder_collective(builder, op->collective,
                                            collector->told[stream].call_began, time);
    return good ? LULL_OK : lull_wave_no_memory(collector, err);
}

static lull_status told_start(void *context, uint32_t stream, const struct lull_op *op,
                              int64_t time, struct lull_error *err)
{
    struct lull_wave_collector *collector = context;
    (void)time;
    if (op->kind != LULL_OP_SEND)
        return LULL_OK;
    return lull_wave_builder_message(&collector->builders[stream], true, op->peer, op->bytes)
               ? LULL_OK
               : lull_wave_no_memory(collector, err);
}

static lull_status told_done(void *context, uint32_t stream, const struct lull_op *op,
                             uint32_t source, uint32_t tag, uint64_t bytes, int64_t time,
                             struct lull_error *err)
{
    struct lull_wave_collector *collector = context;
    (void)tag;
    collector->told[stream].waited = true;
    collector->told[stream].done = time;
    if (op->kind != LULL_OP_RECV)
        return LULL_OK;
    return lull_wave_builder_message(&collector->builders[stream], false, source, bytes)
               ? LULL_OK
               : lull_wave_no_memory(collector, err);
}

static void tell_again(void *context)
{
    struct lull_wave_collector *collector = context;
    for (uint32_t r = 0; r < collector->field.n_ranks; r++) {
        lull_wave_builder_free(&collector->builders[r]);
        collector->told[r] = (struct lull_wave_told){0};
    }
}

bool lull_wave_collector_end_rank(struct lull_wave_collector *collector, uint32_t rank)
{
    struct lull_wave_told *told = &collector->told[rank];
    if (told->ended)
        return true;
    told->ended = true;
    return end_gap(collector, rank, told->done) && finish_rank(collector, rank, 0);
}

lull_status lull_wave_collector_of_simulation(uint32_t n_ranks,
                                              struct lull_wave_collector **ret_collector,
                                              struct lull_error *err)
{
    lull_status status = create(n_ranks, "simulation", ret_collector, err);
    if (status == LULL_OK)
        (*ret_collector)->sink = (struct lull_sim_sink){.context = *ret_collector,
                                                        .any_order = true,
                                                        .again = tell_again,
                                                        .compute = told_compute,
                                                        .call = told_call,
                                                        .start = told_start,
                                                        .done = told_done};
    return status;
}

const struct lull_sim_sink *lull_wave_collector_sink(struct lull_wave_collector *collector)
{
    return &collector->sink;
}
