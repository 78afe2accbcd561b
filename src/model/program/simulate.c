#include "model/program/simulate.h"

#include "model/program/code.h"
#include "sim/engine/engine.h"
#include "sim/network/machine.h"
#include "sim/setup.h"
#include "sim/spec.h"

#include <math.h>

/* ---- the network ---------------------------------------------------------------------------- */

/* Hockney's model with the model's own latency and bandwidth, at this point, both as processes have
 * their part of a core, and no limit of what is sent eagerly: what the closed form assumes. */
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

/* ---- time by term --------------------------------------------------------------------------- */

struct stopwatch {
    int64_t *since; /* [n_ranks] when the term began ... */
    uint32_t *term; /* ... and which; UINT32_MAX: none yet */
    int64_t *ns;    /* [n_terms], of all ranks */
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

/* ---- the simulation ------------------------------------------------------------------------- */

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
