/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/sim_tape.h"

#include "trace/format.h"

#include <string.h>

struct rank_state {
    int64_t last; /* no event is earlier */
    bool inside;  /* in "communication" */
    bool in_call;
};

struct lull_sim_tape {
    const struct lull_program *program;
    struct lull_trace *trace;
    struct lull_writer writer;
    struct lull_sim_sink sink;
    struct rank_state *ranks;
    uint32_t compute, noise, delay, communication, finalize; /* regions */
};

static lull_status put(struct lull_sim_tape *tape, uint32_t rank, struct lull_event *event,
                       struct lull_error *err)
{
    struct rank_state *state = &tape->ranks[rank];
    if (event->time < state->last)
        event->time = state->last;
    state->last = event->time;
    struct lull_block block = {.location = rank, .count = 1, .events = event};
    return tape->writer.block(tape->writer.state, &block, err);
}

static lull_status put_region(struct lull_sim_tape *tape, uint32_t rank, bool enter,
                              uint32_t region, int64_t time, struct lull_error *err)
{
    struct lull_event event = {
        .time = time, .kind = enter ? LULL_EVENT_ENTER : LULL_EVENT_LEAVE, .id = region};
    return put(tape, rank, &event, err);
}

/* ---- communication: all that is neither computation nor a call ------------------------------- */

static lull_status communicate(struct lull_sim_tape *tape, uint32_t rank, struct lull_error *err)
{
    struct rank_state *state = &tape->ranks[rank];
    if (state->inside)
        return LULL_OK;
    state->inside = true;
    return put_region(tape, rank, true, tape->communication, state->last, err);
}

/* The rank communicates until `time`, unless it is in a call. */
static lull_status end_communication(struct lull_sim_tape *tape, uint32_t rank, int64_t time,
                                     struct lull_error *err)
{
    struct rank_state *state = &tape->ranks[rank];
    if (state->in_call)
        return LULL_OK;
    lull_status status = time > state->last ? communicate(tape, rank, err) : LULL_OK;
    if (status != LULL_OK || !state->inside)
        return status;
    state->inside = false;
    return put_region(tape, rank, false, tape->communication, time, err);
}

/* ---- sink ------------------------------------------------------------------------------------ */

/* A region from `begin` to `end`; nothing where it has no length. */
static lull_status put_span(struct lull_sim_tape *tape, uint32_t rank, uint32_t region,
                            int64_t begin, int64_t end, struct lull_error *err)
{
    if (end <= begin)
        return LULL_OK;
    lull_status status = put_region(tape, rank, true, region, begin, err);
    return status == LULL_OK ? put_region(tape, rank, false, region, end, err) : status;
}

static lull_status write_computation(void *context, uint32_t rank, const struct lull_op *op,
                                     int64_t begin, int64_t end, int64_t noise, int64_t delay,
                                     struct lull_error *err)
{
    struct lull_sim_tape *tape = context;
    lull_status status = end_communication(tape, rank, begin, err);
    uint32_t region = op->region < tape->program->n_regions ? op->region : tape->compute;
    if (status != LULL_OK || end <= tape->ranks[rank].last)
        return status;
    int64_t computed = end - delay - noise;
    status = put_span(tape, rank, region, begin, computed, err);
    if (status == LULL_OK)
        status = put_span(tape, rank, tape->noise, computed, end - delay, err);
    return status == LULL_OK ? put_span(tape, rank, tape->delay, end - delay, end, err) : status;
}

static lull_status call(void *context, uint32_t rank, const struct lull_op *op, bool begins,
                        int64_t time, struct lull_error *err)
{
    struct lull_sim_tape *tape = context;
    if (op->region >= tape->program->n_regions)
        return LULL_OK;
    lull_status status = begins ? end_communication(tape, rank, time, err) : LULL_OK;
    tape->ranks[rank].in_call = begins;
    return status == LULL_OK ? put_region(tape, rank, begins, op->region, time, err) : status;
}

static uint64_t request_of(const struct lull_op *op)
{
    return op->request == LULL_OP_NO_REQUEST ? LULL_NO_REQUEST : op->request;
}

/* A tag or peer for the trace, which has 32 signed bits: wildcards and large numbers do not fit. */
static int32_t signed_number(uint32_t number)
{
    return number == LULL_OP_ANY ? LULL_ANY : (int32_t)(number & INT32_MAX);
}

static uint32_t comm_of(const struct lull_sim_tape *tape, const struct lull_op *op)
{
    return op->comm < tape->trace->n_comms ? op->comm : 0;
}

static struct lull_event message(const struct lull_sim_tape *tape, unsigned kind,
                                 const struct lull_op *op, int64_t time, uint32_t peer,
                                 uint32_t tag, uint64_t bytes)
{
    return (struct lull_event){.time = time,
                               .kind = (uint8_t)kind,
                               .id = comm_of(tape, op),
                               .message = {.bytes = bytes,
                                           .request = request_of(op),
                                           .peer = signed_number(peer),
                                           .tag = signed_number(tag)}};
}

static struct lull_event collective(const struct lull_sim_tape *tape, unsigned kind,
                                    const struct lull_op *op, int64_t time)
{
    return (struct lull_event){.time = time,
                               .kind = (uint8_t)kind,
                               .op = op->collective,
                               .id = comm_of(tape, op),
                               .collective = {.sent = op->bytes,
                                              .received = op->received,
                                              .request = request_of(op),
                                              .root = signed_number(op->peer)}};
}

static lull_status start(void *context, uint32_t rank, const struct lull_op *op, int64_t time,
                         struct lull_error *err)
{
    struct lull_sim_tape *tape = context;
    struct lull_event event;
    if (op->kind == LULL_OP_MARK) {
        event = (struct lull_event){.time = time, .kind = LULL_EVENT_MARKER, .number = op->bytes};
        return put(tape, rank, &event, err);
    }
    lull_status status = tape->program->graph ? communicate(tape, rank, err) : LULL_OK;
    if (status != LULL_OK || (op->kind == LULL_OP_RECV && op->request == LULL_OP_NO_REQUEST))
        return status; /* a blocking receive is told when it is done */
    if (op->kind == LULL_OP_COLLECTIVE)
        event = collective(tape, LULL_EVENT_COLLECTIVE_BEGIN, op, time);
    else
        event = message(tape, op->kind == LULL_OP_SEND ? LULL_EVENT_SEND : LULL_EVENT_RECV_POST, op,
                        time, op->peer, op->tag, op->bytes);
    return put(tape, rank, &event, err);
}

static lull_status done(void *context, uint32_t rank, const struct lull_op *op, uint32_t source,
                        uint32_t tag, uint64_t bytes, int64_t time, struct lull_error *err)
{
    struct lull_sim_tape *tape = context;
    struct lull_event event;
    lull_status status = tape->program->graph ? communicate(tape, rank, err) : LULL_OK;
    if (status != LULL_OK || (op->kind == LULL_OP_SEND && op->request == LULL_OP_NO_REQUEST))
        return status;
    if (op->kind == LULL_OP_COLLECTIVE)
        event = collective(tape, LULL_EVENT_COLLECTIVE_END, op, time);
    else if (op->kind == LULL_OP_RECV)
        event = message(tape, LULL_EVENT_RECV, op, time, source, tag, bytes);
    else
        event = message(tape, LULL_EVENT_SEND_DONE, op, time, 0, 0, 0);
    return put(tape, rank, &event, err);
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* Nodes are numbered as in the placement, up to the last one with a rank. */
static void define_nodes(struct lull_trace *trace, const struct lull_placement *placement,
                         uint32_t n_ranks)
{
    for (uint32_t r = 0; r < n_ranks; r++) {
        const uint32_t node = lull_placement_node(placement, r);
        trace->processes[r].node = node;
        trace->n_nodes = node >= trace->n_nodes ? node + 1 : trace->n_nodes;
    }
    trace->nodes = lull_arena_zero(trace->arena, trace->n_nodes, sizeof *trace->nodes);
    for (uint32_t n = 0; n < trace->n_nodes; n++)
        trace->nodes[n] = (struct lull_node){.name = lull_arena_printf(trace->arena, "node %u", n),
                                             .class_name = "node",
                                             .parent = LULL_NONE};
}

static void define_places(struct lull_trace *trace, uint32_t n_ranks)
{
    struct lull_arena *arena = trace->arena;
    trace->n_processes = trace->n_locations = n_ranks;
    trace->n_applications = 1;
    trace->processes = lull_arena_zero(arena, n_ranks, sizeof *trace->processes);
    trace->locations = lull_arena_zero(arena, n_ranks, sizeof *trace->locations);
    for (uint32_t r = 0; r < n_ranks; r++) {
        trace->processes[r] = (struct lull_process){.name = lull_arena_printf(arena, "rank %u", r),
                                                    .rank = r,
                                                    .node = LULL_NONE,
                                                    .first_location = r,
                                                    .n_locations = 1,
                                                    .n_threads = 1};
        trace->locations[r] = (struct lull_location){.name = trace->processes[r].name,
                                                     .source_id = r,
                                                     .process = r,
                                                     .kind = LULL_LOCATION_THREAD,
                                                     .role = LULL_THREAD_MASTER};
    }
}

static uint32_t add_region(struct lull_trace *trace, const char *name, bool mpi)
{
    trace->regions[trace->n_regions] =
        (struct lull_region){.name = lull_arena_strdup(trace->arena, name),
                             .file = "",
                             .paradigm = mpi ? LULL_PARADIGM_MPI : LULL_PARADIGM_USER,
                             .role = LULL_ROLE_FUNCTION};
    return trace->n_regions++;
}

static void define_regions(struct lull_sim_tape *tape)
{
    const struct lull_program *program = tape->program;
    struct lull_trace *trace = tape->trace;
    tape->compute = LULL_NONE;
    trace->regions = lull_arena_zero(trace->arena, program->n_regions + 5, sizeof *trace->regions);
    for (uint32_t r = 0; r < program->n_regions; r++) {
        add_region(trace, program->regions[r], strncmp(program->regions[r], "MPI_", 4) == 0);
        if (strcmp(program->regions[r], "compute") == 0)
            tape->compute = r;
    }
    if (tape->compute == LULL_NONE)
        tape->compute = add_region(trace, "compute", false);
    tape->noise = add_region(trace, "noise", false);
    tape->delay = add_region(trace, "delay", false);
    tape->finalize = add_region(trace, "MPI_Finalize", true);
    tape->communication = add_region(trace, "communication", true);
    trace->regions[tape->communication].role = LULL_ROLE_POINT2POINT;
}

/* Communicator 0 is all ranks, also where the program has no groups. */
static void define_comms(struct lull_trace *trace, const struct lull_program *program)
{
    uint32_t n = program->n_groups > 0 ? program->n_groups : 1;
    trace->n_comms = n;
    trace->comms = lull_arena_zero(trace->arena, n, sizeof *trace->comms);
    for (uint32_t c = 0; c < n; c++) {
        const struct lull_group all = {.size = program->n_ranks};
        const struct lull_group *group = c < program->n_groups ? &program->groups[c] : &all;
        trace->comms[c] = (struct lull_comm){
            .name = c == 0 ? "MPI_COMM_WORLD" : lull_arena_printf(trace->arena, "group %u", c),
            .size = group->size,
            .members = group->ranks,
            .first = group->first,
            .parent = LULL_NONE,
            .remote = LULL_NONE,
            .paradigm = LULL_PARADIGM_MPI};
    }
}

static lull_status define(struct lull_sim_tape *tape, const struct lull_placement *placement,
                          struct lull_error *err)
{
    struct lull_trace *trace = tape->trace;
    trace->path = tape->program->name;
    trace->producer = LULL_SIMULATOR;
    trace->clock_resolution = 1;
    define_places(trace, tape->program->n_ranks);
    if (placement)
        define_nodes(trace, placement, tape->program->n_ranks);
    define_regions(tape);
    define_comms(trace, tape->program);
    trace->markers = lull_arena_zero(trace->arena, 1, sizeof *trace->markers);
    trace->markers[0] = (struct lull_marker){.name = "iteration"};
    trace->n_markers = 1;
    return lull_trace_complete(trace, err);
}

/* ---- opening and closing --------------------------------------------------------------------- */

lull_status lull_sim_tape_open(const struct lull_program *program,
                               const struct lull_placement *placement, const char *path,
                               bool replace, struct lull_sim_tape **ret_tape,
                               struct lull_error *err)
{
    struct lull_trace *trace = lull_trace_create();
    struct lull_sim_tape *tape = lull_arena_zero(trace->arena, 1, sizeof *tape);
    tape->program = program;
    tape->trace = trace;
    tape->sink = (struct lull_sim_sink){
        .context = tape, .compute = write_computation, .call = call, .start = start, .done = done};
    tape->ranks = lull_arena_zero(trace->arena, program->n_ranks, sizeof *tape->ranks);
    lull_status status = LULL_OK;
    if (program->n_streams != program->n_ranks)
        status =
            lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: has ranks of several threads", program->name);
    if (status == LULL_OK)
        status = define(tape, placement, err);
    if (status == LULL_OK)
        status = lull_format_tape.writer_open(trace, path, replace, &tape->writer, err);
    if (status != LULL_OK) {
        lull_trace_close(trace);
        return status;
    }
    *ret_tape = tape;
    return LULL_OK;
}

const struct lull_sim_sink *lull_sim_tape_sink(const struct lull_sim_tape *tape)
{
    return &tape->sink;
}

/* Writes what is left of a rank: it waits in MPI_Finalize for the others. */
static lull_status end_rank(struct lull_sim_tape *tape, uint32_t rank, int64_t end, int64_t runtime,
                            struct lull_error *err)
{
    lull_status status = end_communication(tape, rank, end, err);
    if (status == LULL_OK && end < tape->ranks[rank].last)
        end = tape->ranks[rank].last;
    if (status == LULL_OK && end < runtime)
        status = put_region(tape, rank, true, tape->finalize, end, err);
    if (status == LULL_OK && end < runtime)
        status = put_region(tape, rank, false, tape->finalize, runtime, err);
    return status;
}

lull_status lull_sim_tape_close(struct lull_sim_tape *tape, const struct lull_sim_result *result,
                                struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t r = 0; result && status == LULL_OK && r < result->n_ranks; r++)
        status = end_rank(tape, r, result->ranks[r].end, result->runtime, err);
    if (result)
        tape->trace->duration = result->runtime;
    bool commit = result && status == LULL_OK;
    lull_status closed = tape->writer.close(tape->writer.state, commit, commit ? err : NULL);
    lull_trace_close(tape->trace);
    return status == LULL_OK ? closed : status;
}
