/* From the operations of terms to steps that all ranks take. */
#include "base/collective.h"
#include "model/program/code.h"
#include "model/program/simulate.h"
#include "model/program/stepping.h"

#include <math.h>
#include <string.h>

enum {
    MOST_RANKS = 1 << 24,
    MOST_ITERATIONS = 1 << 30,
    MOST_ITERATION_STEPS = 1 << 20 /* of one iteration */
};

struct building {
    struct lull_program_model *model;
    const double *values;
    struct lull_arena *arena;
    struct step *steps; /* of the term at hand */
    size_t n_steps, capacity;
    const char *algorithms;          /* as struct lull_network has them, each behind a '+' */
    bool presumed[LULL_COLLECTIVES]; /* operations that are left to the simulator's own choice */
};

static void add_step(struct building *building, const struct step *step)
{
    building->steps = lull_arena_grow(building->arena, building->steps, &building->capacity,
                                      building->n_steps + 1, sizeof *step);
    building->steps[building->n_steps++] = *step;
}

/* To one side, from the other, and wait for both. */
static void add_exchange(struct building *building, const struct lull_operation *operation,
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

/* From the parent and then to all children, or the other way round. */
static void add_tree(struct building *building, const struct lull_operation *operation, bool up)
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

static lull_status add_algorithm(struct building *building, const struct lull_operation *operation,
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

/* What all ranks together send or receive in a step must be countable. */
static lull_status check_bytes(const struct building *building,
                               const struct lull_operation *operation, struct lull_error *err)
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

static lull_status add_operation(struct building *building, const struct lull_operation *operation,
                                 struct lull_error *err)
{
    struct step step = {.kind = LULL_OP_COMPUTE, .operation = operation};
    switch (operation->kind) {
    case LULL_OPERATION_NOISE:
        step.draws = true; /* fall through */
    case LULL_OPERATION_COMPUTE:
        add_step(building, &step);
        break;
    case LULL_OPERATION_SHIFT:
        add_exchange(building, operation, 0, true);
        break;
    case LULL_OPERATION_HALO:
        for (uint8_t d = 0; d < LULL_GRID_DIMENSIONS; d++)
            for (int up = 1; up >= 0 && operation->grid[d] > 1; up--)
                add_exchange(building, operation, d, up);
        break;
    case LULL_OPERATION_TREE:
        if (operation->direction != LULL_TREE_UP)
            add_tree(building, operation, false);
        if (operation->direction != LULL_TREE_DOWN)
            add_tree(building, operation, true);
        break;
    case LULL_OPERATION_COLLECTIVE:
        step.kind = LULL_OP_COLLECTIVE;
        add_step(building, &step);
        return add_algorithm(building, operation, err);
    }
    return LULL_OK;
}

/* One computation in the place of everything else. */
static void replace_by_computation(struct building *building, double seconds)
{
    struct lull_operation *operation = lull_arena_zero(building->arena, 1, sizeof *operation);
    operation->kind = LULL_OPERATION_COMPUTE;
    operation->seconds = seconds;
    building->n_steps = 0;
    add_step(building, &(struct step){.kind = LULL_OP_COMPUTE, .operation = operation});
}

static lull_status add_operations(struct building *building,
                                  const struct lull_operation *operations, size_t count,
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
    struct lull_operation *operations;
    size_t count;
    double seconds;
    building->steps = NULL;
    building->n_steps = building->capacity = 0;
    ret_term->every = 1;
    ret_term->is_uneven = building->model->terms[index].is_uneven;
    if (index == building->model->waiting) /* that comes of itself */
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
    *ret_replaced = !(fabs(seconds - sum) <= 1e-9 * seconds); /* also where the sum is no number */
    if (*ret_replaced)
        replace_by_computation(building, seconds);
    ret_term->steps = building->steps;
    ret_term->n_steps = building->n_steps;
    return LULL_OK;
}

/* Each core as a memory of its own, which serves the successive ranks that it has: those that
 * compute have equal parts of it. Durations are those of the time in which all of them compute. */
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

/* ---- the program ---------------------------------------------------------------------------- */

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

/* Where the model counts no iterations, as many as the rarest term needs. */
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
    program->class = &lull_program_of_model;
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
