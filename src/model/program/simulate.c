/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/program/simulate.h"

#include "base/collective.h"
#include "model/program/closed_form.h"
#include "model/program/model_code.h"
#include "model/program/primitives.h"
#include "sim/engine/engine.h"
#include "sim/network/machine.h"
#include "sim/program.h"
#include "sim/setup.h"
#include "sim/spec.h"
#include "stats/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== what a rank does next =================================================================== */

/* A step that every rank takes. A rank that lacks the neighbour, parent or child of the step passes
 * over it. */
struct step {
    uint8_t kind;      /* enum lull_op_kind */
    uint8_t dimension; /* SEND, RECV: a dimension of the grid */
    bool up;           /* SEND: to the next rank of the dimension; RECV: from it */
    bool draws;        /* COMPUTE: its length is a draw of noise */
    bool children;     /* SEND, RECV: one with each child in a tree */
    bool parent;       /* SEND, RECV: with the parent */
    const struct lull_model_operation *operation;
};

struct term {
    const struct step *steps;
    size_t n_steps;
    double every;
    /* The last rank has so much more, and the others have so much less, together. */
    bool is_uneven;
};

/* Where a rank is in its program. */
struct rank_state {
    uint32_t iteration, term, at, draws;
    uint32_t child; /* the next child, in a step with all children */
    int64_t owed;   /* ns, 0 or below: by so much the next computation is shorter */
};

struct model_program {
    uint64_t seed;
    uint32_t iterations, n_terms;
    /* Processes of a core, at least 1: computations take so many times as long. */
    double share;
    struct term *terms;
    struct rank_state *ranks;
};

static int64_t ns_of(double seconds)
{
    return (int64_t)llround(fmax(fmin(seconds * 1e9, 0x1p61), -0x1p61));
}

static int64_t draw(const struct model_program *data, struct rank_state *state,
                    const struct lull_model_operation *operation, uint32_t rank, uint32_t n_ranks)
{
    /* Another seed would draw other noise, and predict other times. */
    uint64_t owner = (uint64_t)((double)rank * (operation->draws / n_ranks));
    struct lull_random random;
    lull_random_seed(&random, data->seed + owner * UINT64_C(0x9e3779b97f4a7c15) +
                                  state->draws++ * UINT64_C(0xd1b54a32d192ed03));
    return ns_of(operation->quantiles.count > 0
                     ? lull_quantiles_sample(&operation->quantiles, lull_random_uniform(&random))
                     : lull_distribution_sample(&operation->noise, &random));
}

/* The length of a computation in ns. It would be negative for ranks with less of uneven work, and
 * for draws of noise below 0. In that case it is 0, and what is owed shortens the rank's next
 * computations. */
static int64_t computation(const struct lull_program *program, struct rank_state *state,
                           const struct step *step, uint32_t rank)
{
    const struct model_program *data = program->data;
    int64_t ns = step->draws ? draw(data, state, step->operation, rank, program->n_ranks)
                             : ns_of(step->operation->seconds);
    if (data->terms[state->term].is_uneven && rank + 1 < program->n_ranks)
        ns = -ns / (program->n_ranks - 1);
    if (data->share > 1)
        ns = ns_of((double)ns / 1e9 * data->share);
    ns += state->owed;
    state->owed = ns < 0 ? ns : 0;
    return ns < 0 ? 0 : ns;
}

/* The neighbour in a grid, along whose first extent ranks follow each other; false: there is
 * none. */
static bool neighbour(const struct step *step, uint32_t rank, uint32_t n_ranks, uint32_t *ret_peer)
{
    const struct lull_model_operation *operation = step->operation;
    bool is_shift = operation->kind == LULL_MODEL_SHIFT;
    uint32_t stride = 1, extent = is_shift ? n_ranks : operation->grid[step->dimension];
    for (unsigned d = 0; d < step->dimension; d++)
        stride *= operation->grid[d];
    uint32_t at = rank / stride % extent, to = step->up ? at + 1 : at + extent - 1;
    bool is_beyond = step->up ? at + 1 == extent : at == 0;
    if (is_beyond && !is_shift && !operation->periodic)
        return false;
    *ret_peer = rank - at * stride + to % extent * stride;
    return true;
}

/* Sets what MPI counts as sent and received by a rank. */
static void set_collective(const struct lull_model_operation *operation, uint32_t rank,
                           uint32_t n_ranks, struct lull_op *op)
{
    uint64_t bytes = (uint64_t)operation->bytes[0];
    op->collective = operation->form->operation;
    op->bytes = op->received = bytes;
    op->peer = LULL_OP_ANY;
    switch (op->collective) {
    case LULL_COLLECTIVE_BARRIER:
        op->bytes = op->received = 0;
        break;
    case LULL_COLLECTIVE_BCAST:
        op->peer = 0;
        op->bytes = rank == 0 ? bytes : 0;
        op->received = rank == 0 ? 0 : bytes;
        break;
    case LULL_COLLECTIVE_REDUCE:
        op->peer = 0;
        op->received = rank == 0 ? bytes : 0;
        break;
    case LULL_COLLECTIVE_GATHER:
        op->peer = 0;
        op->received = rank == 0 ? bytes * n_ranks : 0;
        break;
    case LULL_COLLECTIVE_SCATTER:
        op->peer = 0;
        op->bytes = rank == 0 ? bytes * n_ranks : 0;
        break;
    case LULL_COLLECTIVE_REDUCE_SCATTER:
        op->received = bytes / n_ranks;
        break;
    case LULL_COLLECTIVE_ALLGATHER:
        op->received = bytes * n_ranks;
        break;
    case LULL_COLLECTIVE_ALLTOALL:
        op->bytes = op->received = bytes * n_ranks;
        break;
    default:
        break;
    }
}

/* Makes a message with the parent or with the next child; false: there is none. */
static bool along_tree(struct rank_state *state, const struct step *step, uint32_t rank,
                       uint32_t n_ranks, struct lull_op *op)
{
    const struct lull_model_operation *operation = step->operation;
    op->bytes = (uint64_t)llround(operation->bytes[0]);
    op->tag = step->up;
    op->request = state->child;
    if (step->parent) {
        op->peer = rank > 0 ? lull_tree_parent(operation->tree, rank) : 0;
        return rank > 0;
    }
    if (state->child >= lull_tree_children(operation->tree, n_ranks, rank))
        return false;
    op->peer = lull_tree_child(operation->tree, rank, state->child++);
    return true;
}

/* Makes the operation of a step; false: this rank has none. */
static bool make(const struct lull_program *program, struct rank_state *state,
                 const struct step *step, uint32_t rank, struct lull_op *op)
{
    *op = (struct lull_op){.kind = step->kind,
                           .region = state->term,
                           .request = LULL_OP_NO_REQUEST,
                           .measured = state->iteration};
    switch (step->kind) {
    case LULL_OP_COMPUTE:
        op->duration = computation(program, state, step, rank);
        return true;
    case LULL_OP_SEND:
    case LULL_OP_RECV:
        if (step->children || step->parent)
            return along_tree(state, step, rank, program->n_ranks, op);
        op->bytes = (uint64_t)llround(step->operation->bytes[step->dimension]);
        op->tag = step->dimension * 2U + (step->kind == LULL_OP_SEND ? step->up : !step->up);
        op->request = step->kind;
        return neighbour(step, rank, program->n_ranks, &op->peer);
    case LULL_OP_WAIT:
        op->flags = LULL_OP_WAIT_ALL;
        op->requests = NULL;
        return true;
    default: /* COLLECTIVE */
        set_collective(step->operation, rank, program->n_ranks, op);
        return true;
    }
}

static bool is_due(const struct term *term, uint32_t iteration)
{
    return floor((iteration + 1.0) / term->every) > floor(iteration / term->every);
}

/* Makes a mark with the number of the term, which tells a sink that the term begins. */
static void make_mark(const struct rank_state *state, struct lull_op *op)
{
    *op = (struct lull_op){.kind = LULL_OP_MARK,
                           .region = LULL_OP_NO_REGION,
                           .request = LULL_OP_NO_REQUEST,
                           .bytes = state->term,
                           .measured = state->iteration};
}

/* Moves to the first step of the next term that is due; false: the program is over. */
static bool next_term(const struct model_program *data, struct rank_state *state)
{
    state->at = 0;
    do {
        if (++state->term >= data->n_terms) {
            state->term = 0;
            state->iteration++;
        }
    } while (state->iteration < data->iterations &&
             !is_due(&data->terms[state->term], state->iteration));
    return state->iteration < data->iterations;
}

static bool blocks(uint8_t kind)
{
    return kind == LULL_OP_COMPUTE || kind == LULL_OP_WAIT || kind == LULL_OP_COLLECTIVE;
}

/* Gives the next operations of a rank. state->at is 0 for the mark of a term, else the number of
 * the step + 1. */
static lull_status next(struct lull_program *program, uint32_t stream, struct lull_op *ret_ops,
                        uint32_t room, uint32_t *ret_count, struct lull_error *err)
{
    const struct model_program *data = program->data;
    struct rank_state *state = &data->ranks[stream];
    uint32_t count = 0;
    (void)err;
    while (count < room && state->iteration < data->iterations) {
        const struct term *term = &data->terms[state->term];
        if (state->at == 0 && !is_due(term, state->iteration)) {
            next_term(data, state);
            continue;
        }
        if (state->at == 0) {
            make_mark(state, &ret_ops[count++]);
            state->at = 1;
        } else if (state->at > term->n_steps) {
            next_term(data, state);
        } else {
            const struct step *step = &term->steps[state->at - 1];
            bool made = make(program, state, step, stream, &ret_ops[count]);
            count += made;
            if (made && step->children) /* the next child is served by the same step */
                continue;
            state->at++;
            state->child = 0;
            if (made && blocks(step->kind))
                break;
        }
    }
    *ret_count = count;
    return LULL_OK;
}

static lull_status start_again(struct lull_program *program, struct lull_error *err)
{
    const struct model_program *data = program->data;
    (void)err;
    memset(data->ranks, 0, program->n_ranks * sizeof *data->ranks);
    return LULL_OK;
}

static const char *place_of_operation(const struct lull_program *program, uint32_t rank,
                                      const struct lull_op *op, char *text, unsigned size)
{
    snprintf(text, size, "rank %u in term '%s', iteration %lld", rank,
             op->region < program->n_regions ? program->regions[op->region] : "?",
             (long long)op->measured);
    return text;
}

/* The class of these programs, whose data is a struct model_program. */
static const struct lull_program_class program_of_model = {
    .name = "model", .next = next, .rewind = start_again, .place = place_of_operation};

/* ==== from operations to a program ============================================================ */

/* Operations of terms become steps that all ranks take. */

enum {
    MOST_RANKS = 1 << 24,
    MOST_ITERATIONS = 1 << 30,
    MOST_ITERATION_STEPS = 1 << 20 /* steps of one iteration */
};

struct building {
    struct lull_program_model *model;
    const double *values;
    struct lull_arena *arena;
    struct step *steps; /* of the term at hand */
    size_t n_steps, capacity;
    /* In the form of struct lull_network, each behind a '+'. */
    const char *algorithms;
    /* Operations whose algorithm is left to the simulator. */
    bool presumed[LULL_COLLECTIVES];
};

static void add_step(struct building *building, const struct step *step)
{
    building->steps = lull_arena_grow(building->arena, building->steps, &building->capacity,
                                      building->n_steps + 1, sizeof *step);
    building->steps[building->n_steps++] = *step;
}

/* Adds steps that send to one side, receive from the other, and wait for both. */
static void add_exchange(struct building *building, const struct lull_model_operation *operation,
                         uint8_t dimension, bool up)
{
    const struct step shape = {.dimension = dimension, .operation = operation};
    struct step receive = shape, send = shape, wait = shape;
    receive.kind = LULL_OP_RECV;
    receive.up = !up;
    send.kind = LULL_OP_SEND;
    send.up = up;
    wait.kind = LULL_OP_WAIT;
    add_step(building, &receive);
    add_step(building, &send);
    add_step(building, &wait);
}

/* Adds steps that receive from the parent and then send to all children, or (`up`) receive from all
 * children and then send to the parent. */
static void add_tree(struct building *building, const struct lull_model_operation *operation,
                     bool up)
{
    const struct step shape = {.up = up, .operation = operation};
    for (int half = 0; half < 2; half++) {
        struct step step = shape, wait = shape;
        step.kind = half == 0 ? LULL_OP_RECV : LULL_OP_SEND;
        step.children = (half == 0) == up;
        step.parent = !step.children;
        wait.kind = LULL_OP_WAIT;
        add_step(building, &step);
        add_step(building, &wait);
    }
}

static lull_status add_algorithm(struct building *building,
                                 const struct lull_model_operation *operation,
                                 struct lull_error *err)
{
    const char *name = lull_collective_name(operation->form->operation);
    const char *head = lull_arena_printf(building->arena, "+%s:", name);
    const char *pair = lull_arena_printf(building->arena, "%s%s", head, operation->form->algorithm);
    const char *said = strstr(building->algorithms, head);
    bool *presumed = &building->presumed[operation->form->operation];
    size_t length = strlen(pair);
    if (said && !operation->presumed && strncmp(said, pair, length) == 0 &&
        (said[length] == '+' || !said[length]))
        return LULL_OK;
    if (operation->presumed && !said) {
        *presumed = true;
        return LULL_OK;
    }
    if (said || *presumed)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: %s by two algorithms cannot be simulated in one program",
                         building->model->path, name);
    building->algorithms = lull_arena_printf(building->arena, "%s%s", building->algorithms, pair);
    return LULL_OK;
}

/* Checks that the bytes that all ranks send or receive in a step can be counted. */
static lull_status check_bytes(const struct building *building,
                               const struct lull_model_operation *operation, struct lull_error *err)
{
    double n_ranks = building->values[building->model->processes];
    for (unsigned d = 0; d < LULL_GRID_DIMENSIONS; d++)
        if (!(operation->bytes[d] * n_ranks <= 0x1p62))
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: messages of %g bytes cannot be simulated: those of %g ranks are "
                             "more than 2^62 bytes",
                             building->model->path, operation->bytes[d], n_ranks);
    return LULL_OK;
}

static lull_status add_operation(struct building *building,
                                 const struct lull_model_operation *operation,
                                 struct lull_error *err)
{
    struct step step = {.kind = LULL_OP_COMPUTE, .operation = operation};
    switch (operation->kind) {
    case LULL_MODEL_NOISE:
        step.draws = true; /* fall through */
    case LULL_MODEL_COMPUTE:
        add_step(building, &step);
        break;
    case LULL_MODEL_SHIFT:
        add_exchange(building, operation, 0, true);
        break;
    case LULL_MODEL_HALO:
        for (uint8_t d = 0; d < LULL_GRID_DIMENSIONS; d++)
            for (int up = 1; up >= 0 && operation->grid[d] > 1; up--)
                add_exchange(building, operation, d, up);
        break;
    case LULL_MODEL_TREE:
        if (operation->direction != LULL_TREE_UP)
            add_tree(building, operation, false);
        if (operation->direction != LULL_TREE_DOWN)
            add_tree(building, operation, true);
        break;
    case LULL_MODEL_COLLECTIVE:
        step.kind = LULL_OP_COLLECTIVE;
        add_step(building, &step);
        return add_algorithm(building, operation, err);
    }
    return LULL_OK;
}

/* Replaces the steps of a term by one computation. */
static void replace_by_computation(struct building *building, double seconds)
{
    struct lull_model_operation *operation = lull_arena_zero(building->arena, 1, sizeof *operation);
    operation->kind = LULL_MODEL_COMPUTE;
    operation->seconds = seconds;
    building->n_steps = 0;
    add_step(building, &(struct step){.kind = LULL_OP_COMPUTE, .operation = operation});
}

static lull_status add_operations(struct building *building,
                                  const struct lull_model_operation *operations, size_t count,
                                  struct lull_error *err)
{
    for (size_t i = 0; i < count; i++) {
        double times = operations[i].count;
        if (times != floor(times) || times > MOST_ITERATION_STEPS)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: a count of %g cannot be simulated, expected a whole number up to "
                             "%d",
                             building->model->path, times, MOST_ITERATION_STEPS);
        lull_status status = check_bytes(building, &operations[i], err);
        if (status != LULL_OK)
            return status;
        for (double repeated = 0; repeated < times; repeated++) {
            status = add_operation(building, &operations[i], err);
            if (status != LULL_OK)
                return status;
            if (building->n_steps > MOST_ITERATION_STEPS)
                return lull_fail(err, LULL_ERR_RANGE, "%s: more than %d operations in a term",
                                 building->model->path, MOST_ITERATION_STEPS);
        }
    }
    return LULL_OK;
}

static lull_status build_term(struct building *building, uint32_t index, struct term *ret_term,
                              bool *ret_replaced, struct lull_error *err)
{
    struct lull_model_operation *operations;
    size_t count;
    double seconds;
    building->steps = NULL;
    building->n_steps = building->capacity = 0;
    ret_term->every = 1;
    ret_term->is_uneven = building->model->terms[index].is_uneven;
    if (index == building->model->waiting) /* waiting for a core comes about by itself */
        return LULL_OK;
    lull_status status =
        lull_model_every(building->model, building->values, index, &ret_term->every, err);
    if (status == LULL_OK)
        status = lull_model_record(building->model, building->values, index, building->arena,
                                   &operations, &count, &seconds, err);
    if (status == LULL_OK)
        status = add_operations(building, operations, count, err);
    if (status != LULL_OK)
        return status;
    double sum = building->model->code->tally.cost.seconds;
    *ret_replaced = !(fabs(seconds - sum) <= 1e-9 * seconds); /* also if the sum is NAN */
    if (*ret_replaced)
        replace_by_computation(building, seconds);
    ret_term->steps = building->steps;
    ret_term->n_steps = building->n_steps;
    return LULL_OK;
}

/* The cores that ranks share, as memories of the simulator: each core is a memory of its own, which
 * serves successive ranks, and those of them that compute have equal parts of it. Computations have
 * the length that they take if all of these ranks compute. */
static const struct lull_memory *share_cores(const struct lull_program *program)
{
    const struct model_program *data = program->data;
    uint32_t share = data->share < program->n_ranks ? (uint32_t)data->share : program->n_ranks;
    if (share <= 1)
        return NULL;
    struct lull_memory *memory = lull_arena_zero(program->arena, 1, sizeof *memory);
    double *pace = lull_arena_zero(program->arena, share + (size_t)1, sizeof *pace);
    for (uint32_t n = 1; n <= share; n++)
        pace[n] = (double)share / n;
    *memory = (struct lull_memory){.ranks = share, .pace = pace};
    return memory;
}

/* ---- the program ----------------------------------------------------------------------------- */

static lull_status read_count(const struct lull_program_model *model, uint32_t parameter,
                              double value, uint32_t most, uint32_t *ret_count,
                              struct lull_error *err)
{
    if (!(value >= 1 && value <= most && value == floor(value)))
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: %s is %g, expected a whole number up to %u to simulate it",
                         model->path, model->parameters[parameter].name, value, most);
    *ret_count = (uint32_t)value;
    return LULL_OK;
}

/* Reads how many iterations there are. If the model does not count them, there are as many as the
 * rarest term needs. */
static lull_status read_iterations(const struct lull_program_model *model, const double *values,
                                   struct model_program *data, struct lull_error *err)
{
    double most = 1;
    if (model->iterations != LULL_MODEL_NONE)
        return read_count(model, model->iterations, values[model->iterations], MOST_ITERATIONS,
                          &data->iterations, err);
    for (uint32_t t = 0; t < data->n_terms; t++)
        most = fmax(most, ceil(data->terms[t].every));
    data->iterations = (uint32_t)fmin(most, MOST_ITERATIONS);
    return LULL_OK;
}

static void fill_program(struct lull_program *program, const struct lull_program_model *model,
                         struct model_program *data, uint32_t n_ranks)
{
    const char **names = lull_arena_zero(program->arena, model->n_terms, sizeof *names);
    struct lull_group *group = lull_arena_zero(program->arena, 1, sizeof *group);
    for (uint32_t t = 0; t < model->n_terms; t++)
        names[t] = lull_arena_strdup(program->arena, model->terms[t].name);
    group->size = n_ranks;
    program->class = &program_of_model;
    program->name = lull_arena_strdup(program->arena, model->path);
    program->n_ranks = program->n_streams = n_ranks;
    program->n_regions = model->n_terms;
    program->regions = names;
    program->n_groups = 1;
    program->groups = group;
    program->data = data;
}

static lull_status build_program(struct building *building, uint64_t seed, bool *ret_replaced,
                                 struct lull_program *program, struct lull_error *err)
{
    const struct lull_program_model *model = building->model;
    struct model_program *data = lull_arena_zero(building->arena, 1, sizeof *data);
    uint32_t n_ranks;
    lull_status status = read_count(model, model->processes, building->values[model->processes],
                                    MOST_RANKS, &n_ranks, err);
    data->terms = lull_arena_zero(building->arena, model->n_terms, sizeof *data->terms);
    data->n_terms = model->n_terms;
    data->seed = seed;
    if (status == LULL_OK)
        status = lull_model_share(building->model, building->values, &data->share, err);
    for (uint32_t t = 0; status == LULL_OK && t < model->n_terms; t++)
        status = build_term(building, t, &data->terms[t], &ret_replaced[t], err);
    if (status == LULL_OK)
        status = read_iterations(model, building->values, data, err);
    if (status != LULL_OK)
        return status;
    data->ranks = lull_arena_try(building->arena, n_ranks, sizeof *data->ranks);
    if (!data->ranks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: no memory for %u ranks", model->path, n_ranks);
    fill_program(program, model, data, n_ranks);
    return LULL_OK;
}

lull_status lull_model_make_program(struct lull_program_model *model, const double *values,
                                    uint64_t seed, bool *ret_replaced,
                                    struct lull_model_made *ret_made, struct lull_error *err)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct building building = {.model = model, .values = values, .arena = arena, .algorithms = ""};
    struct lull_program *program = lull_arena_zero(arena, 1, sizeof *program);
    program->arena = arena;
    lull_status status = build_program(&building, seed, ret_replaced, program, err);
    if (status != LULL_OK) {
        lull_arena_destroy(arena);
        return status;
    }
    *ret_made = (struct lull_model_made){
        .program = program,
        .algorithms = *building.algorithms ? building.algorithms + 1 : NULL,
        .cores = share_cores(program),
        .iterations = ((struct model_program *)program->data)->iterations,
    };
    return LULL_OK;
}

/* ==== simulate ================================================================================ */

/* ---- the network ----------------------------------------------------------------------------- */

/* Makes a network by Hockney's model, with the model's own latency and bandwidth at this point,
 * each as for a process's part of a core. All messages are sent eagerly, as the closed form
 * assumes. */
static lull_status take_own_network(struct lull_program_model *model, const double *values,
                                    uint32_t n_ranks, struct lull_network *ret_network,
                                    struct lull_error *err)
{
    double share, latency, bandwidth;
    const struct lull_network_class *hockney = lull_network_find("hockney");
    lull_status status = lull_model_network(model, values, &latency, &bandwidth, err);
    if (status == LULL_OK && (isnan(latency) || isnan(bandwidth)))
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: has no network to simulate; --network or --machine gives one",
                         model->path);
    if (status == LULL_OK)
        status = lull_model_share(model, values, &share, err);
    if (status != LULL_OK)
        return status;
    lull_network_init(ret_network, hockney);
    ret_network->placement.n_ranks = n_ranks;
    lull_network_set(ret_network, lull_network_parameter(hockney, "latency"), LULL_LEVELS,
                     latency * 1e9 * share);
    lull_network_set(ret_network, lull_network_parameter(hockney, "bandwidth"), LULL_LEVELS,
                     bandwidth / share);
    lull_network_set(ret_network, lull_network_parameter(hockney, "eager"), LULL_LEVELS, INFINITY);
    return lull_network_check(ret_network, n_ranks, err);
}

static lull_status take_network(struct lull_program_model *model, const double *values,
                                const struct lull_model_engine *engine, uint32_t n_ranks,
                                struct lull_arena *arena, struct lull_network *ret_network,
                                struct lull_error *err)
{
    struct lull_spec *spec;
    const char *note;
    if (engine->network) {
        lull_status status = lull_spec_parse(engine->network, arena, &spec, err);
        return status == LULL_OK ? lull_network_read(spec, NULL, n_ranks, arena, ret_network, err)
                                 : status;
    }
    if (engine->machine)
        return lull_network_from_machine(engine->machine, NULL, n_ranks, arena, ret_network, &note,
                                         err);
    return take_own_network(model, values, n_ranks, ret_network, err);
}

/* ---- time by term ---------------------------------------------------------------------------- */

struct stopwatch {
    int64_t *since; /* [n_ranks] when the term at hand began */
    uint32_t *term; /* [n_ranks] which term that is; UINT32_MAX: none yet */
    int64_t *ns;    /* [n_terms] of all ranks together */
};

static void stop(struct stopwatch *watch, uint32_t rank, int64_t now)
{
    if (watch->term[rank] != UINT32_MAX)
        watch->ns[watch->term[rank]] += now - watch->since[rank];
}

static lull_status see_start(void *context, uint32_t stream, const struct lull_op *op, int64_t time,
                             struct lull_error *err)
{
    struct stopwatch *watch = context;
    (void)err;
    if (op->kind != LULL_OP_MARK)
        return LULL_OK;
    stop(watch, stream, time);
    watch->term[stream] = (uint32_t)op->bytes;
    watch->since[stream] = time;
    return LULL_OK;
}

static lull_status make_stopwatch(const struct lull_program_model *model, uint32_t n_ranks,
                                  struct lull_arena *arena, struct stopwatch *ret_watch,
                                  struct lull_error *err)
{
    ret_watch->since = lull_arena_try(arena, n_ranks, sizeof *ret_watch->since);
    ret_watch->term = lull_arena_try(arena, n_ranks, sizeof *ret_watch->term);
    ret_watch->ns = lull_arena_zero(arena, model->n_terms, sizeof *ret_watch->ns);
    if (!ret_watch->since || !ret_watch->term)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: no memory for %u ranks", model->path, n_ranks);
    for (uint32_t r = 0; r < n_ranks; r++)
        ret_watch->term[r] = UINT32_MAX;
    return LULL_OK;
}

/* ---- the simulation -------------------------------------------------------------------------- */

static void conclude_simulation(const struct lull_program_model *model,
                                const struct lull_model_made *made,
                                const struct lull_sim_result *result, struct stopwatch *watch,
                                struct lull_model_simulation *simulation)
{
    double whole = model->iterations == LULL_MODEL_NONE ? made->iterations : 1;
    simulation->iterations = made->iterations;
    simulation->seconds = (double)result->runtime / 1e9 / whole;
    for (uint32_t r = 0; r < result->n_ranks; r++)
        stop(watch, r, result->ranks[r].end);
    for (uint32_t t = 0; t < model->n_terms; t++)
        simulation->terms[t] = (double)watch->ns[t] / 1e9 / result->n_ranks / whole;
}

static lull_status simulate_program(struct lull_program_model *model, const double *values,
                                    const struct lull_model_engine *engine,
                                    const struct lull_model_made *made,
                                    struct lull_model_simulation *simulation,
                                    struct lull_error *err)
{
    struct lull_arena *arena = made->program->arena;
    struct lull_network network;
    struct lull_sim_result result;
    struct stopwatch watch = {NULL, NULL, NULL};
    uint32_t n_ranks = made->program->n_ranks;
    lull_status status = take_network(model, values, engine, n_ranks, arena, &network, err);
    if (status == LULL_OK)
        status = make_stopwatch(model, n_ranks, arena, &watch, err);
    if (status != LULL_OK)
        return status;
    if (made->cores && !network.class->any_order)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: processes that share cores cannot be simulated on %s, whose messages "
                         "take time of processors or share links; on ideal and hockney they can",
                         model->path, network.class->name);
    if (!network.algorithms)
        network.algorithms = made->algorithms;
    const struct lull_sim_sink sink = {.context = &watch, .start = see_start};
    const struct lull_sim_options options = {
        .network = &network, .memory = made->cores, .seed = engine->seed, .sink = &sink};
    status = lull_simulate(made->program, &options, arena, &result, NULL, err);
    if (status == LULL_OK)
        conclude_simulation(model, made, &result, &watch, simulation);
    return status;
}

lull_status lull_model_simulate(struct lull_program_model *model, const double *values,
                                const struct lull_model_engine *engine, struct lull_arena *arena,
                                struct lull_model_simulation *ret_simulation,
                                struct lull_error *err)
{
    struct lull_model_simulation made_of = {
        .terms = lull_arena_zero(arena, model->n_terms, sizeof *made_of.terms),
        .as_computation = lull_arena_zero(arena, model->n_terms, sizeof *made_of.as_computation)};
    struct lull_model_made made;
    lull_status status =
        lull_model_make_program(model, values, engine->seed, made_of.as_computation, &made, err);
    if (status != LULL_OK)
        return status;
    status = simulate_program(model, values, engine, &made, &made_of, err);
    lull_program_close(made.program);
    if (status == LULL_OK)
        *ret_simulation = made_of;
    return status;
}
