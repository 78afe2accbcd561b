/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a field: from the steps of a pass, or from what a simulation tells. */
#include "wave/field.h"

#include "base/array.h"
#include "base/mix.h"
#include "base/parallel.h"
#include "base/sorted.h"
#include "team/team.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ==== row ===================================================================================== */

/* From the phases of a rank to its iterations. */

enum {
    LEAST_ITERATIONS = 3,
    MOST_PHASES = 4096,  /* of an iteration */
    MOST_KINDS = 65536,  /* of phases; a rank with more does not repeat itself */
    TOLERATED_SHARE = 10 /* one phase in so many may differ from that of the iteration before */
};

/* ---- while the rank is followed ------------------------------------------------------------ */

bool lull_wave_builder_message(struct lull_wave_builder *builder, bool send, uint32_t peer,
                               uint64_t bytes)
{
    if (!lull_array_reserve(&builder->messages, &builder->messages_room, builder->n_messages + 1,
                            sizeof *builder->messages))
        return false;
    builder->messages[builder->n_messages++] =
        (struct lull_wave_message){.peer = peer, .bytes = bytes, .send = send};
    builder->open_hash += lull_scatter((uint64_t)peer << 1 | send);
    *(send ? &builder->open_sent : &builder->open_received) += 1;
    return true;
}

/* The kind of the phase that is open, which is new if no phase before had these messages.
 * MOST_KINDS: there are too many kinds; UINT32_MAX: no memory. Looks first at the kind behind the
 * last one that was found, because phases repeat in order. */
static uint32_t take_kind(struct lull_wave_builder *builder)
{
    uint64_t hash = builder->open_hash;
    for (size_t i = 0, k = builder->next_kind; i < builder->n_kinds; i++, k++) {
        k = k < builder->n_kinds ? k : 0;
        if (builder->kinds[k].hash == hash) {
            builder->next_kind = k + 1;
            builder->n_messages = builder->first_open; /* known messages are not kept */
            return (uint32_t)k;
        }
    }
    if (builder->n_kinds >= MOST_KINDS)
        return MOST_KINDS;
    if (!lull_array_reserve(&builder->kinds, &builder->kinds_room, builder->n_kinds + 1,
                            sizeof *builder->kinds))
        return UINT32_MAX;
    builder->kinds[builder->n_kinds] = (struct lull_wave_phase_kind){
        hash, (uint32_t)builder->first_open, (uint32_t)(builder->n_messages - builder->first_open),
        builder->open_sent << 16 | (builder->open_received & 0xffff)};
    builder->first_open = builder->n_messages;
    builder->next_kind = 0;
    return (uint32_t)builder->n_kinds++;
}

bool lull_wave_builder_wait(struct lull_wave_builder *builder, int64_t begin, int64_t end)
{
    if (builder->open_sent + builder->open_received == 0)
        return true;
    uint32_t kind = take_kind(builder);
    builder->n_messages = builder->first_open;
    builder->open_hash = 0;
    builder->open_sent = builder->open_received = 0;
    if (kind == UINT32_MAX || !lull_array_reserve(&builder->phases, &builder->phases_room,
                                                  builder->n_phases + 1, sizeof *builder->phases))
        return false;
    builder->phases[builder->n_phases++] = (struct lull_wave_phase){begin, end, kind};
    return true;
}

bool lull_wave_builder_collective(struct lull_wave_builder *builder, uint8_t operation,
                                  int64_t begin, int64_t end)
{
    if (!lull_array_reserve(&builder->collectives, &builder->collectives_room,
                            builder->n_collectives + 1, sizeof *builder->collectives))
        return false;
    builder->collectives[builder->n_collectives++] =
        (struct lull_wave_collective){0, operation, begin, end};
    return true;
}

bool lull_wave_builder_mark(struct lull_wave_builder *builder)
{
    if (!lull_array_reserve(&builder->marks, &builder->marks_room, builder->n_marks + 1,
                            sizeof *builder->marks))
        return false;
    builder->marks[builder->n_marks++] = builder->n_phases;
    return true;
}

static void wave_builder_free(struct lull_wave_builder *builder)
{
    free(builder->phases);
    free(builder->kinds);
    free(builder->messages);
    free(builder->collectives);
    free(builder->marks);
    *builder = (struct lull_wave_builder){0};
}

/* ---- iterations ---------------------------------------------------------------------------- */

/* By what phases are compared: by their kind or, `by_shape`, by how many messages were sent and
 * received in them. */
static uint32_t token(const struct lull_wave_builder *builder, size_t phase, bool by_shape)
{
    uint32_t kind = builder->phases[phase].kind;
    return by_shape && kind < builder->n_kinds ? builder->kinds[kind].shape : kind;
}

/* How many phases an iteration has: the smallest distance at which nearly all phases repeat; 0:
 * there is no such distance. */
static uint32_t find_period(const struct lull_wave_builder *builder, bool by_shape)
{
    size_t n = builder->n_phases;
    for (uint32_t period = 1; period <= MOST_PHASES && period * (size_t)LEAST_ITERATIONS <= n;
         period++) {
        size_t allowed = (n - period) / TOLERATED_SHARE, different = 0;
        for (size_t k = 0; k + period < n && different <= allowed; k++)
            different += token(builder, k, by_shape) != token(builder, k + period, by_shape);
        if (different <= allowed)
            return period;
    }
    return 0;
}

static bool same_phases(const struct lull_wave_builder *builder, bool by_shape, size_t a, size_t b,
                        uint32_t period)
{
    if (a + period > builder->n_phases || b + period > builder->n_phases)
        return false;
    for (uint32_t i = 0; i < period; i++)
        if (token(builder, a + i, by_shape) != token(builder, b + i, by_shape))
            return false;
    return true;
}

/* Takes the messages of the iteration that begins with phase `first` into the row. */
static bool take_messages(const struct lull_wave_builder *builder, size_t first,
                          struct lull_wave_row *row)
{
    size_t count = 0;
    for (uint32_t i = 0; i < row->n_phases; i++) {
        uint32_t kind = builder->phases[first + i].kind;
        count += kind < builder->n_kinds ? builder->kinds[kind].count : 0;
    }
    row->messages = malloc((count + 1) * sizeof *row->messages);
    if (!row->messages)
        return false;
    for (uint32_t i = 0; i < row->n_phases; i++) {
        uint32_t kind = builder->phases[first + i].kind;
        if (kind >= builder->n_kinds)
            continue;
        for (uint32_t m = 0; m < builder->kinds[kind].count; m++) {
            struct lull_wave_message *message = &row->messages[row->n_messages++];
            *message = builder->messages[builder->kinds[kind].first + m];
            message->phase = i;
        }
    }
    return true;
}

static int64_t waited(const struct lull_wave_builder *builder, size_t first, size_t count)
{
    int64_t wait = 0;
    for (size_t k = first; k < first + count; k++)
        wait += builder->phases[k].end - builder->phases[k].begin;
    return wait;
}

/* An iteration goes from one mark to the next. What lies before the first mark is in no iteration,
 * and a mark with no phase before the next mark begins none. The messages of the row are those of
 * the iteration in the middle. */
static bool cut_at_marks(const struct lull_wave_builder *builder, struct lull_wave_row *row)
{
    size_t middle = 0;
    row->cells = malloc((builder->n_marks + 1) * sizeof *row->cells);
    if (!row->cells)
        return false;
    for (size_t m = 0; m < builder->n_marks; m++) {
        size_t first = builder->marks[m];
        size_t next = m + 1 < builder->n_marks ? builder->marks[m + 1] : builder->n_phases;
        if (next == first)
            continue;
        if (row->n_cells == 0 && first > 0)
            row->begin = builder->phases[first - 1].end;
        if (m <= builder->n_marks / 2 || row->n_cells == 0) {
            middle = first;
            row->n_phases = (uint32_t)(next - first);
        }
        row->cells[row->n_cells++] = (struct lull_wave_cell){builder->phases[next - 1].end,
                                                             waited(builder, first, next - first)};
    }
    return take_messages(builder, middle, row);
}

/* Cuts phases into iterations of `period` phases that are like the first iteration. Phases that do
 * not fit belong to the iteration before them, and lengthen its wait. */
static bool cut_iterations(const struct lull_wave_builder *builder, bool by_shape, uint32_t period,
                           struct lull_wave_row *row)
{
    size_t first = 0, n = builder->n_phases;
    row->n_phases = period;
    while (first + 2 * (size_t)period <= n &&
           !same_phases(builder, by_shape, first, first + period, period))
        first++;
    row->cells = malloc((n / period + 1) * sizeof *row->cells);
    if (!row->cells)
        return false;
    if (first > 0)
        row->begin = builder->phases[first - 1].end;
    for (size_t k = first; k < n;) {
        bool whole = same_phases(builder, by_shape, first, k, period);
        uint32_t taken = whole ? period : 1;
        if (whole)
            row->cells[row->n_cells++] = (struct lull_wave_cell){0, 0};
        row->cells[row->n_cells - 1].wait += waited(builder, k, taken);
        row->cells[row->n_cells - 1].end = builder->phases[k + taken - 1].end;
        k += taken;
    }
    return take_messages(builder, first, row);
}

/* Takes the collective operations into the row. An operation belongs to the iteration in which it
 * begins; operations before the first iteration and behind the last one are dropped. */
static bool take_collectives(const struct lull_wave_builder *builder, struct lull_wave_row *row)
{
    row->collectives = malloc((builder->n_collectives + 1) * sizeof *row->collectives);
    if (!row->collectives)
        return false;
    uint32_t iteration = 0;
    for (size_t c = 0; c < builder->n_collectives; c++) {
        struct lull_wave_collective collective = builder->collectives[c];
        if (collective.begin < row->begin)
            continue;
        while (iteration < row->n_cells && row->cells[iteration].end <= collective.begin)
            iteration++;
        if (iteration == row->n_cells)
            break;
        collective.iteration = iteration;
        row->collectives[row->n_collectives++] = collective;
    }
    return true;
}

static bool find_iterations(const struct lull_wave_builder *builder, struct lull_wave_row *row)
{
    bool by_shape = false;
    uint32_t period = find_period(builder, by_shape);
    if (!period) {
        by_shape = true;
        period = find_period(builder, by_shape);
    }
    return !period || cut_iterations(builder, by_shape, period, row);
}

bool lull_wave_builder_finish(struct lull_wave_builder *builder, int64_t begin, bool marked,
                              struct lull_wave_row *ret_row)
{
    struct lull_wave_row row = {.begin = begin};
    bool good = marked ? cut_at_marks(builder, &row) : find_iterations(builder, &row);
    good = good && (row.n_cells == 0 || take_collectives(builder, &row));
    wave_builder_free(builder);
    if (row.n_cells < LEAST_ITERATIONS)
        row.n_cells = 0;
    *ret_row = row;
    return good;
}

/* ==== field =================================================================================== */

static lull_status wave_no_memory(const struct lull_wave_collector *collector,
                                  struct lull_error *err)
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

/* Frees what a row has; it is empty then. */
static void wave_row_free(struct lull_wave_row *row)
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
            wave_builder_free(&collector->builders[r]);
        if (collector->field.rows)
            wave_row_free(&collector->field.rows[r]);
    }
    free(collector->calls_of);
    free(collector->builders);
    free(collector->field.rows);
    free(collector->told);
    free(collector);
}

/* ---- from a trace ---------------------------------------------------------------------------- */

/* The marker of that name; LULL_NONE: there is none. */
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
    /* A test that completed a receive ends a phase like a wait. Which tests before it were part of
     * the waiting is not known, so that their time does not count. */
    if (waits(call) || (call == LULL_CALL_TEST && builder->open_received > 0))
        return lull_wave_builder_wait(builder, begin, end);
    if (call == LULL_CALL_COLLECTIVE && region != LULL_NONE)
        return lull_wave_builder_collective(builder, trace->regions[region].collective, begin, end);
    return true;
}

/* Takes a span in MPI as a call that ends. A call that took no time has no span, and is missed. */
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
    return good ? LULL_OK : wave_no_memory(collector, err);
}

static struct lull_consumer consumer_of(struct lull_wave_collector *collector, uint32_t calls)
{
    uint64_t marker = collector->marker != LULL_NONE ? LULL_STEP_MASK(LULL_STEP_MARKER) : 0;
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
        return wave_no_memory(collector, err);
    for (uint32_t r = 0; r < trace->n_regions; r++)
        collector->calls_of[r] = (uint8_t)lull_call_of_region(&trace->regions[r]);
    *ret_consumer = consumer_of(collector, LULL_STEP_MASK(LULL_STEP_SPAN));
    return LULL_OK;
}

/* ---- from a simulation ----------------------------------------------------------------------- */

/* Ends the phase of a rank whose program has no calls, where what lies between two computations is
 * a wait if an operation ended in it. */
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
        return wave_no_memory(collector, err);
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
    return good ? LULL_OK : wave_no_memory(collector, err);
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
               : wave_no_memory(collector, err);
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
               : wave_no_memory(collector, err);
}

static void tell_again(void *context)
{
    struct lull_wave_collector *collector = context;
    for (uint32_t r = 0; r < collector->field.n_ranks; r++) {
        wave_builder_free(&collector->builders[r]);
        collector->told[r] = (struct lull_wave_told){0};
    }
}

/* Makes the row of a rank of a simulation, unless it is made; false: no memory. */
static bool wave_collector_end_rank(struct lull_wave_collector *collector, uint32_t rank)
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

/* ==== gather ================================================================================== */

/* What the members of a team have collected comes to the first: of each rank the head and the
 * messages, or all. */

struct gathering {
    struct lull_wave_collector *collector;
    bool whole; /* the cells and collective operations, too; the members lose their rows then */
};

/* ---- out ----------------------------------------------------------------------------------- */

/* Of which ranks a member tells; sent first. */
struct range {
    uint32_t first, end;
};

/* What is sent of a rank before its lists. A rank that did not end has no row yet; its number of
 * phases tells whether it exchanged messages. */
struct head {
    struct lull_wave_row row; /* the receiver must not use its pointers */
    uint64_t n_open;          /* phases that are in no row */
};

static bool put_rank(const struct lull_wave_collector *collector, uint32_t rank, bool whole,
                     struct lull_flow *flow)
{
    const struct lull_wave_row *row = &collector->field.rows[rank];
    const struct head head = {*row, collector->builders[rank].n_phases};
    return lull_flow_put(flow, &head, sizeof head) &&
           lull_flow_put_items(flow, row->messages, row->n_messages, sizeof *row->messages) &&
           (!whole || (lull_flow_put_items(flow, row->cells, row->n_cells, sizeof *row->cells) &&
                       lull_flow_put_items(flow, row->collectives, row->n_collectives,
                                           sizeof *row->collectives)));
}

static bool put(void *context, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    struct lull_wave_field *field = &gathering->collector->field;
    const struct range own = {field->own, field->own_end};
    bool good = lull_flow_put(flow, &own, sizeof own);
    for (uint32_t r = own.first; good && r < own.end; r++) {
        good = put_rank(gathering->collector, r, gathering->whole, flow);
        if (gathering->whole)
            wave_row_free(&field->rows[r]);
    }
    return good;
}

/* ---- in ------------------------------------------------------------------------------------ */

static bool get_rank(struct lull_wave_collector *collector, uint32_t rank, bool whole,
                     struct lull_flow *flow)
{
    struct lull_wave_row *row = &collector->field.rows[rank];
    struct head head;
    size_t n;
    if (!lull_flow_get(flow, &head, sizeof head))
        return false;
    *row = head.row;
    row->cells = NULL;
    row->collectives = NULL;
    collector->builders[rank].n_phases = head.n_open;
    row->messages = lull_flow_get_items(flow, sizeof *row->messages, &n);
    if (whole && row->messages)
        row->cells = lull_flow_get_items(flow, sizeof *row->cells, &n);
    if (whole && row->cells)
        row->collectives = lull_flow_get_items(flow, sizeof *row->collectives, &n);
    return whole ? row->collectives != NULL : row->messages != NULL;
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    struct lull_wave_collector *collector = gathering->collector;
    struct range theirs;
    (void)member;
    bool good = lull_flow_get(flow, &theirs, sizeof theirs);
    for (uint32_t r = theirs.first; good && r < theirs.end; r++)
        good = get_rank(collector, r, gathering->whole, flow);
    return good;
}

static lull_status gather(struct lull_wave_collector *collector, bool whole, struct lull_error *err)
{
    struct gathering gathering = {collector, whole};
    const struct lull_freight freight = {put, get, &gathering, "the iterations of all ranks"};
    return lull_team_bring(collector->field.team, &freight, err);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Brings what is known of all ranks, but for their cells and collective operations, to the first.
 * Called by all members together. */
static lull_status wave_collector_gather_heads(struct lull_wave_collector *collector,
                                               struct lull_error *err)
{
    return gather(collector, false, err);
}

lull_status lull_wave_collector_gather(struct lull_wave_collector *collector,
                                       struct lull_error *err)
{
    struct lull_wave_field *field = &collector->field;
    lull_status status = gather(collector, true, err);
    field->team = NULL;
    field->own = 0;
    field->own_end = field->n_ranks;
    return status;
}

void lull_wave_collector_share(struct lull_wave_collector *collector, struct lull_team *team,
                               uint32_t first, uint32_t end)
{
    collector->field.team = team;
    collector->field.own = first;
    collector->field.own_end = end;
}

/* How many ranks belong to processes before the given one of the run. */
static uint32_t ranks_before(const struct lull_wave_collector *collector, uint32_t process)
{
    const uint32_t first = collector->first_process, n_ranks = collector->field.n_ranks;
    const uint32_t rank = process > first ? process - first : 0;
    return rank < n_ranks ? rank : n_ranks;
}

void lull_wave_collector_share_processes(struct lull_wave_collector *collector,
                                         const struct lull_division *division)
{
    if (!division)
        return;
    const uint32_t *cuts = &division->cuts[lull_team_index(division->team)];
    lull_wave_collector_share(collector, division->team, ranks_before(collector, cuts[0]),
                              ranks_before(collector, cuts[1]));
}

/* ==== select ================================================================================== */

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

static int64_t median_of_three(int64_t a, int64_t b, int64_t c)
{
    if (a > b)
        swap(&a, &b);
    return c < a ? a : c > b ? b : c;
}

int64_t lull_wave_select(int64_t *values, size_t count, size_t k)
{
    size_t low = 0, high = count; /* the value is in [low, high) */
    while (high - low > 1) {
        int64_t pivot =
            median_of_three(values[low], values[low + (high - low) / 2], values[high - 1]);
        size_t less = low, next = low, greater = high;
        while (next < greater) {
            if (values[next] < pivot)
                swap(&values[less++], &values[next++]);
            else if (values[next] > pivot)
                swap(&values[next], &values[--greater]);
            else
                next++;
        }
        if (k < less)
            high = less;
        else if (k < greater)
            return pivot;
        else
            low = greater;
    }
    return values[low];
}

/* ==== conclude ================================================================================ */

/* All that was collected becomes a field: how many iterations there are, and what is usual in them.
 */

uint32_t lull_wave_collectives(const struct lull_wave_row *row, uint32_t iteration,
                               uint32_t *ret_first)
{
    uint32_t end = *ret_first = (uint32_t)lull_sorted_first_u32(
        row->collectives, row->n_collectives, sizeof *row->collectives,
        offsetof(struct lull_wave_collective, iteration), iteration);
    while (end < row->n_collectives && row->collectives[end].iteration == iteration)
        end++;
    return end - *ret_first;
}

int64_t lull_wave_work(const struct lull_wave_row *row, uint32_t iteration)
{
    const struct lull_wave_cell *cell = &row->cells[iteration];
    int64_t begin = iteration > 0 ? cell[-1].end : row->begin;
    int64_t work = cell->end - begin - cell->wait;
    uint32_t c = 0;
    for (uint32_t n = lull_wave_collectives(row, iteration, &c); n > 0; n--, c++)
        work -= row->collectives[c].end - row->collectives[c].begin;
    return work;
}

/* ---- how many iterations --------------------------------------------------------------------- */

/* What all members are asked; the largest of their answers counts. */
struct answers {
    int64_t messages; /* 1: a rank has messages; 0: none has */
    int64_t without;  /* n_ranks - r for the lowest rank r without iterations; 0: there is none */
    int64_t fewest;   /* UINT32_MAX - n for the rank that has the fewest iterations, n of them */
};

static_assert(sizeof(struct answers) == 3 * sizeof(int64_t), "compared as integers");

static void keep_larger(int64_t *largest, int64_t value)
{
    *largest = value > *largest ? value : *largest;
}

/* Answers for the ranks of this member; false: no memory. */
static bool ask_own(struct lull_wave_collector *collector, struct answers *answers)
{
    const struct lull_wave_field *field = &collector->field;
    for (uint32_t r = field->own; r < field->own_end; r++) {
        answers->messages |= collector->builders[r].n_phases || field->rows[r].n_messages;
        if (!collector->trace && !wave_collector_end_rank(collector, r))
            return false;
        answers->messages |= field->rows[r].n_messages != 0;
        keep_larger(&answers->fewest, (int64_t)UINT32_MAX - field->rows[r].n_cells);
        if (field->rows[r].n_cells == 0)
            keep_larger(&answers->without, (int64_t)field->n_ranks - r);
    }
    return true;
}

/* Finds how many iterations all ranks have. All members fail alike. */
static lull_status count_iterations(struct lull_wave_collector *collector, struct lull_error *err)
{
    struct lull_wave_field *field = &collector->field;
    struct answers answers = {0, 0, 0};
    lull_status status = ask_own(collector, &answers) ? LULL_OK : wave_no_memory(collector, err);
    status = lull_team_agree(field->team, status, err);
    if (status == LULL_OK)
        status = lull_team_max_to_all(field->team, &answers.messages, 3, err);
    if (status != LULL_OK)
        return status;
    if (!answers.messages)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: ranks exchange no messages in calls that wait for them",
                         collector->name);
    if (answers.without)
        return lull_fail(err, LULL_ERR_FORMAT,
                         collector->marker != LULL_NONE
                             ? "%s: rank %u: less than three iterations with messages are marked"
                             : "%s: rank %u: no iterations: its messages do not repeat three times",
                         collector->name, (unsigned)(field->n_ranks - answers.without));
    field->n_iterations = (uint32_t)(UINT32_MAX - answers.fewest);
    return LULL_OK;
}

/* ---- what is usual --------------------------------------------------------------------------- */

struct medians {
    struct lull_wave_field *field;
    atomic_uint next;
    atomic_bool failed;
};

static void find_medians(void *context, unsigned worker)
{
    struct medians *medians = context;
    const struct lull_wave_field *field = medians->field;
    (void)worker;
    int64_t *values = malloc((field->n_iterations + (size_t)1) * sizeof *values);
    if (!values)
        atomic_store(&medians->failed, true);
    for (uint32_t r; values && (r = atomic_fetch_add(&medians->next, 1)) < field->own_end;) {
        struct lull_wave_row *row = &field->rows[r];
        uint32_t n = field->n_iterations;
        for (uint32_t i = 0; i < n; i++)
            values[i] = row->cells[i].wait;
        row->usual_wait = lull_wave_select(values, n, n / 2);
        for (uint32_t i = 0; i < n; i++)
            values[i] = lull_wave_work(row, i);
        row->usual_work = lull_wave_select(values, n, n / 2);
        n = row->n_collectives < n ? row->n_collectives : n;
        for (uint32_t i = 0; i < n; i++)
            values[i] = row->collectives[i].end - row->collectives[i].begin;
        row->usual_collective = n ? lull_wave_select(values, n, (n - 1) / 2) : 0;
    }
    free(values);
}

/* ---- all ------------------------------------------------------------------------------------- */

lull_status lull_wave_collector_conclude(struct lull_wave_collector *collector,
                                         const struct lull_wave_field **ret_field,
                                         struct lull_error *err)
{
    struct lull_wave_field *field = &collector->field;
    if (field->n_ranks < 2)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: has one rank, and no one to pass a wave on to",
                         collector->name);
    lull_status status = count_iterations(collector, err);
    if (status != LULL_OK)
        return status;
    struct medians medians = {.field = field, .next = field->own};
    lull_parallel_run(lull_worker_count(), find_medians, &medians);
    if (atomic_load(&medians.failed))
        status = wave_no_memory(collector, err);
    status = lull_team_agree(field->team, status, err);
    if (status == LULL_OK)
        status = wave_collector_gather_heads(collector, err);
    *ret_field = status == LULL_OK ? field : NULL;
    return status;
}
