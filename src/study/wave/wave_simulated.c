/* SPDX-License-Identifier: BSD-3-Clause */
/* Waves in patterns: each point of a sweep is simulated without noise, without delays, and several
 * times with both. */
#include "study/wave/wave_simulated.h"

#include "base/array.h"
#include "base/parallel.h"
#include "replay/sim_tape.h"
#include "sim/pattern/pattern.h"
#include "stats/special.h"
#include "study/wave/wave_study.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ==== the cycle =============================================================================== */

/* A run repeats itself after at least so many iterations of one length. */
enum { ALIKE = 4 };

struct rank {
    int64_t begun, span; /* ns: of the last iteration, and of the one before it */
    uint64_t iteration;
    uint32_t alike; /* iterations in a row that took `span` */
};

struct begun {
    int64_t sum; /* ns, of all ranks' beginnings of an iteration */
    uint32_t count;
};

struct lull_wave_cycle {
    struct lull_sim_sink sink;
    struct rank *ranks;
    struct begun *iterations;
    size_t room, n_iterations;
    uint32_t n_ranks, period;
    bool may_stop, stopped;
};

/* Whether the run only repeats itself from here on. That is so when all ranks are in one iteration
 * or the next, and the last iterations of all ranks, at least one for each iteration of a period,
 * took the same time. The reason: an iteration of a rank ends at the maximum of several times, each
 * the begin of an iteration of some rank plus a constant. If all these begins have moved by the
 * same time, so has the maximum, and the same holds for all iterations to come. */
static bool repeats(const struct lull_wave_cycle *cycle, uint64_t iteration)
{
    const uint32_t least = cycle->period > ALIKE ? cycle->period : ALIKE;
    for (uint32_t r = 0; r < cycle->n_ranks; r++) {
        const struct rank *rank = &cycle->ranks[r];
        if (rank->alike < least || rank->span != cycle->ranks[0].span ||
            rank->iteration > iteration + 1)
            return false;
    }
    return true;
}

static lull_status take_start(void *context, uint32_t stream, const struct lull_op *op,
                              int64_t time, struct lull_error *err)
{
    struct lull_wave_cycle *cycle = context;
    if (op->kind != LULL_OP_MARK)
        return LULL_OK;
    struct rank *rank = &cycle->ranks[stream];
    uint64_t iteration = op->bytes;
    if (!lull_array_reserve(&cycle->iterations, &cycle->room, iteration + 1,
                            sizeof *cycle->iterations))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the iterations");
    while (cycle->n_iterations <= iteration)
        cycle->iterations[cycle->n_iterations++] = (struct begun){0, 0};
    cycle->iterations[iteration].sum += time;
    cycle->iterations[iteration].count++;
    rank->alike = time - rank->begun == rank->span ? rank->alike + 1 : 1;
    rank->span = time - rank->begun;
    rank->begun = time;
    rank->iteration = iteration;
    cycle->stopped = cycle->may_stop && cycle->iterations[iteration].count == cycle->n_ranks &&
                     repeats(cycle, iteration);
    return cycle->stopped ? lull_fail(err, LULL_ERR_CANCELLED, "the run repeats itself") : LULL_OK;
}

struct lull_wave_cycle *lull_wave_cycle_create(uint32_t n_ranks, uint32_t period, bool may_stop)
{
    struct lull_wave_cycle *cycle = calloc(1, sizeof *cycle);
    struct rank *ranks = calloc(n_ranks + (size_t)1, sizeof *ranks);
    if (!cycle || !ranks) {
        free(cycle);
        free(ranks);
        return NULL;
    }
    *cycle = (struct lull_wave_cycle){.sink = {.context = cycle, .start = take_start},
                                      .ranks = ranks,
                                      .n_ranks = n_ranks,
                                      .period = period,
                                      .may_stop = may_stop};
    return cycle;
}

const struct lull_sim_sink *lull_wave_cycle_sink(struct lull_wave_cycle *cycle)
{
    return &cycle->sink;
}

bool lull_wave_cycle_stopped(const struct lull_wave_cycle *cycle)
{
    return cycle->stopped;
}

double lull_wave_cycle_mean(const struct lull_wave_cycle *cycle,
                            const struct lull_sim_result *result)
{
    if (cycle->stopped)
        return (double)cycle->ranks[0].span;
    size_t n = cycle->n_iterations, middle = n / 2 + 1;
    if (middle >= n)
        return NAN;
    if (n - middle > cycle->period)
        middle += (n - middle) % cycle->period;
    int64_t end = 0;
    for (uint32_t r = 0; r < cycle->n_ranks; r++)
        end += result->ranks[r].end;
    return (double)(end - cycle->iterations[middle].sum) / cycle->n_ranks / (double)(n - middle);
}

void lull_wave_cycle_destroy(struct lull_wave_cycle *cycle)
{
    if (!cycle)
        return;
    free(cycle->ranks);
    free(cycle->iterations);
    free(cycle);
}

/* ==== waves in patterns ======================================================================= */

enum {
    NOISE_DRAWS = 1 << 16, /* draws from which the spread of a noise is estimated */
    MOST_DELAYED = 1024    /* ranks up to which each is delayed once, to see who waits for it */
};

/* The simulations of a point: SILENT without delays and noise, QUIET without delays, and DELAYED
 * and above with both, each with a seed of its own. */
enum { SILENT, QUIET, DELAYED };

struct outcome {
    uint64_t number; /* of the point */
    lull_status status;
    struct lull_arena *arena;
    struct lull_simulate_point point;
    struct lull_simulate_setup setup;
    struct lull_wave_scene scene;
    double cycle, noise_mean;
};

struct wave_work {
    const struct lull_wave_inputs *inputs;
    struct lull_wave_case *cases;
    struct outcome *outcomes; /* [n_points][DELAYED + repeat] */
    uint32_t kinds;           /* DELAYED + repeat */
    atomic_ullong next;
};

static bool has_noise(const struct outcome *outcome)
{
    return outcome->setup.noise != NULL;
}

/* Whether a run without delays tells something that a run with delays does not. */
static bool is_changed_by_waves(const struct outcome *outcome)
{
    return outcome->setup.noise || outcome->setup.memory;
}

/* ---- one simulation -------------------------------------------------------------------------- */

/* Whether the ranks communicate in collective operations only, in which no wave travels. */
static bool is_collective(const struct lull_wave_inputs *inputs, uint64_t number,
                          struct lull_arena *arena)
{
    const struct lull_spec *pattern =
        lull_sweep_spec(inputs->simulate.sweep, number, LULL_SIMULATE_PATTERN, arena);
    return strcmp(lull_spec_name(pattern), "collective") == 0;
}

/* A sink that passes on what the engine tells to two others: to the collector and to the tape. */
struct both {
    const struct lull_sim_sink *sinks[2];
};

static lull_status both_compute(void *context, uint32_t stream, const struct lull_op *op,
                                int64_t begin, int64_t end, int64_t noise, int64_t delay,
                                struct lull_error *err)
{
    const struct lull_sim_sink *tape = ((struct both *)context)->sinks[1];
    return tape->compute(tape->context, stream, op, begin, end, noise, delay, err);
}

static lull_status both_call(void *context, uint32_t stream, const struct lull_op *op, bool begins,
                             int64_t time, struct lull_error *err)
{
    struct both *both = context;
    lull_status status = LULL_OK;
    for (unsigned i = 0; i < 2 && status == LULL_OK; i++)
        status = both->sinks[i]->call(both->sinks[i]->context, stream, op, begins, time, err);
    return status;
}

static lull_status both_start(void *context, uint32_t stream, const struct lull_op *op,
                              int64_t time, struct lull_error *err)
{
    struct both *both = context;
    lull_status status = LULL_OK;
    for (unsigned i = 0; i < 2 && status == LULL_OK; i++)
        status = both->sinks[i]->start(both->sinks[i]->context, stream, op, time, err);
    return status;
}

static lull_status both_done(void *context, uint32_t stream, const struct lull_op *op,
                             uint32_t source, uint32_t tag, uint64_t bytes, int64_t time,
                             struct lull_error *err)
{
    struct both *both = context;
    lull_status status = LULL_OK;
    for (unsigned i = 0; i < 2 && status == LULL_OK; i++)
        status = both->sinks[i]->done(both->sinks[i]->context, stream, op, source, tag, bytes, time,
                                      err);
    return status;
}

/* Simulates with the options, whose sink is the collector's or NULL. If `path` is not NULL, the run
 * is also written there, as a tape. */
static lull_status simulate_outcome(struct outcome *outcome, struct lull_sim_options *options,
                                    const char *path, struct lull_error *err)
{
    struct lull_program *program = outcome->point.program;
    struct lull_sim_result *result = &outcome->point.result;
    struct lull_sim_tape *tape = NULL;
    struct both both = {{options->sink, NULL}};
    const struct lull_sim_sink sink = {.context = &both,
                                       .compute = both_compute,
                                       .call = both_call,
                                       .start = both_start,
                                       .done = both_done};
    lull_status status =
        path ? lull_sim_tape_open(program, NULL, path, false, &tape, err) : LULL_OK;
    if (status != LULL_OK)
        return status;
    if (tape) {
        both.sinks[1] = lull_sim_tape_sink(tape);
        options->sink = options->sink ? &sink : both.sinks[1];
    }
    status = lull_simulate(program, options, outcome->arena, result, NULL, err);
    if (tape) {
        bool done = status == LULL_OK;
        lull_status closed = lull_sim_tape_close(tape, done ? result : NULL, done ? err : NULL);
        status = done ? closed : status;
    }
    return status;
}

static lull_status find_simulated_waves(const struct wave_work *work, struct outcome *outcome,
                                        struct lull_error *err)
{
    struct lull_wave_scene *scene = &outcome->scene;
    lull_status status = lull_wave_collector_conclude(scene->collector, &scene->field, err);
    if (status == LULL_OK)
        status = lull_wave_graph_make(scene->field, &outcome->setup.network, outcome->arena,
                                      &scene->graph, err);
    if (status == LULL_OK)
        status = lull_wave_outliers_find(scene->field, work->inputs->options.least, outcome->arena,
                                         &scene->waves.outliers, err);
    if (status == LULL_OK)
        status = lull_waves_find(scene->field, scene->graph, &scene->waves.outliers,
                                 &work->inputs->options, outcome->arena, &scene->waves, err);
    return status;
}

/* Simulates without delays, only to find how long an iteration takes. */
static lull_status measure_cycle(struct outcome *outcome, struct lull_sim_options *options,
                                 struct lull_error *err)
{
    const struct lull_program *program = outcome->point.program;
    bool may_stop = !options->noise && !options->memory && options->network->class->any_order;
    struct lull_wave_cycle *cycle =
        lull_wave_cycle_create(program->n_ranks, lull_pattern_period(program), may_stop);
    if (!cycle)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the iterations");
    options->sink = lull_wave_cycle_sink(cycle);
    lull_status status = simulate_outcome(outcome, options, NULL, err);
    if (lull_wave_cycle_stopped(cycle))
        status = LULL_OK;
    if (status == LULL_OK)
        outcome->cycle = lull_wave_cycle_mean(cycle, &outcome->point.result);
    lull_wave_cycle_destroy(cycle);
    return status;
}

static lull_status run_with_delays(const struct wave_work *work, struct outcome *outcome,
                                   struct lull_sim_options *options, const char *tape,
                                   struct lull_error *err)
{
    lull_status status = lull_wave_collector_of_simulation(outcome->point.program->n_ranks,
                                                           &outcome->scene.collector, err);
    if (status != LULL_OK)
        return status;
    options->sink = lull_wave_collector_sink(outcome->scene.collector);
    status = simulate_outcome(outcome, options, tape, err);
    return status == LULL_OK ? find_simulated_waves(work, outcome, err) : status;
}

static lull_status run_one(const struct wave_work *work, uint64_t number, uint32_t kind,
                           struct outcome *outcome)
{
    const struct lull_simulate_inputs *inputs = &work->inputs->simulate;
    struct lull_error *err = &outcome->point.err;
    outcome->arena = outcome->point.arena = lull_arena_create(inputs->out_of_memory);
    lull_status status = lull_simulate_prepare(inputs, number, &outcome->point, &outcome->setup);
    outcome->point.usage = outcome->point.usage && status == LULL_ERR_RANGE;
    if (status != LULL_OK)
        return status;
    /* Without noise SILENT and QUIET are the same, and a run with delays tells all but how long it
     * would be without them. */
    bool apart = is_changed_by_waves(outcome);
    if (kind == SILENT && !apart)
        return LULL_OK;
    struct lull_sim_options options = {.network = &outcome->setup.network,
                                       .noise = kind == SILENT ? NULL : outcome->setup.noise,
                                       .memory = outcome->setup.memory,
                                       .delays = inputs->delays,
                                       .n_delays = kind >= DELAYED ? inputs->n_delays : 0,
                                       .seed = inputs->seed + (kind > DELAYED ? kind - DELAYED : 0),
                                       .workers = 1};
    const char *tape = kind == DELAYED ? inputs->tape : NULL;
    bool collective = is_collective(work->inputs, number, outcome->arena);
    if (collective || (kind < DELAYED && !apart))
        status = simulate_outcome(outcome, &options, tape, err);
    else if (kind < DELAYED)
        status = measure_cycle(outcome, &options, err);
    else
        status = run_with_delays(work, outcome, &options, tape, err);
    if (status != LULL_OK)
        return status;
    const struct lull_sim_result *result = &outcome->point.result;
    double noise = 0;
    for (uint32_t r = 0; r < result->n_ranks; r++)
        noise += (double)result->ranks[r].noise;
    outcome->noise_mean = result->n_computes ? noise / (double)result->n_computes : 0;
    outcome->scene.runtime = result->runtime;
    return LULL_OK;
}

/* ---- from simulations to a case -------------------------------------------------------------- */

/* The mean of a member of the repeats, with Student's interval; if only one repeat has a value,
 * that value with its own interval. */
static struct lull_wave_value mean_of(const struct lull_wave_repeat *repeats, uint32_t count,
                                      size_t member, double confidence)
{
    double sum = 0, squares = 0, widths = 0, n = 0;
    struct lull_wave_value only = {NAN, NAN, NAN};
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_wave_value *value =
            (const struct lull_wave_value *)(const void *)((const char *)&repeats[i] + member);
        if (!repeats[i].found || isnan(value->value))
            continue;
        only = *value;
        widths += (value->high - value->low) / 2;
        sum += value->value;
        squares += value->value * value->value;
        n++;
    }
    if (n < 2)
        return only;
    double mean = sum / n, variance = fmax(0, (squares - n * mean * mean) / (n - 1));
    double half = lull_student_quantile(0.5 + confidence / 2, n - 1) * sqrt(variance / n);
    /* Values that were rounded alike differ by less than their own intervals. */
    if (isfinite(widths))
        half = fmax(half, widths / n / sqrt(n));
    return (struct lull_wave_value){mean, mean - half, mean + half};
}

/* The wave that the first delay made; NULL: it was not found. */
static const struct lull_wave *find_wave(const struct lull_waves *waves,
                                         const struct lull_delay *delay)
{
    for (uint32_t w = 0; delay && w < waves->count; w++) {
        const struct lull_wave *wave = &waves->waves[w];
        if (wave->rank == delay->rank && (!delay->at_iteration || wave->iteration == delay->when))
            return wave;
    }
    return NULL;
}

static void take_repeats(const struct lull_wave_inputs *inputs, const struct outcome *outcomes,
                         struct lull_wave_case *result)
{
    const struct lull_delay *first = inputs->simulate.n_delays ? inputs->simulate.delays : NULL;
    double confidence = inputs->options.confidence > 0 ? inputs->options.confidence : 0.95;
    result->cost = 0;
    for (uint32_t i = 0; i < inputs->repeat; i++) {
        const struct outcome *outcome = &outcomes[DELAYED + i];
        struct lull_wave_repeat *repeat = &result->repeats[i];
        const struct lull_wave *wave = find_wave(&outcome->scene.waves, first);
        *repeat = (struct lull_wave_repeat){.seed = inputs->simulate.seed + i, .found = wave};
        /* Only the first repeat has the noise of the QUIET run, so only these two can be
         * compared. */
        if (i == 0 || !has_noise(outcome))
            repeat->cost = outcome->scene.runtime - outcomes[QUIET].scene.runtime;
        if (i == 0)
            result->cost = (double)repeat->cost;
        if (!wave)
            continue;
        repeat->up = wave->up.ranks_per_iteration;
        repeat->down = wave->down.ranks_per_iteration;
        repeat->decay = wave->decay;
    }
    result->up =
        mean_of(result->repeats, inputs->repeat, offsetof(struct lull_wave_repeat, up), confidence);
    result->down = mean_of(result->repeats, inputs->repeat, offsetof(struct lull_wave_repeat, down),
                           confidence);
    result->decay = mean_of(result->repeats, inputs->repeat,
                            offsetof(struct lull_wave_repeat, decay), confidence);
}

/* The standard deviation of what a noise adds to a computation of mean length, in ns. */
static double spread_of_noise(const struct lull_wave_inputs *inputs, const struct outcome *outcome)
{
    const struct lull_sim_result *result = &outcome->point.result;
    double compute = 0, sum = 0, squares = 0;
    if (!has_noise(outcome) || result->n_computes == 0)
        return 0;
    for (uint32_t r = 0; r < result->n_ranks; r++)
        compute += (double)result->ranks[r].compute;
    int64_t duration = (int64_t)(compute / (double)result->n_computes);
    for (uint32_t i = 0; i < NOISE_DRAWS; i++) {
        uint32_t rank = i % result->n_ranks;
        struct lull_noise_rank draws = {i / result->n_ranks};
        double noise =
            (double)lull_noise_extend(outcome->setup.noise, inputs->simulate.seed, rank, &draws,
                                      duration * (i / result->n_ranks), duration);
        sum += noise;
        squares += noise * noise;
    }
    double mean = sum / NOISE_DRAWS;
    return sqrt(fmax(0, squares / NOISE_DRAWS - mean * mean));
}

static lull_status predict_wave(const struct lull_wave_inputs *inputs,
                                const struct outcome *outcomes, struct lull_arena *arena,
                                struct lull_wave_case *result)
{
    const struct outcome *delayed = &outcomes[DELAYED];
    const struct lull_wave_field *field = delayed->scene.field;
    const struct lull_delay *delay = inputs->simulate.n_delays ? inputs->simulate.delays : NULL;
    bool noisy = has_noise(delayed), apart = is_changed_by_waves(delayed);
    result->cycle = apart ? outcomes[QUIET].cycle : delayed->scene.waves.outliers.usual.cycle;
    result->cycle_silent = apart ? outcomes[SILENT].cycle : result->cycle;
    result->noise_mean = noisy ? outcomes[QUIET].noise_mean : 0;
    result->noise_sd = noisy ? spread_of_noise(inputs, &outcomes[QUIET]) : 0;
    const struct lull_wave *wave = find_wave(&delayed->scene.waves, delay);
    uint32_t rank = delay ? delay->rank : field->n_ranks / 2;
    double when = delay ? (double)delay->when : 0;
    int32_t iteration = wave                            ? wave->iteration
                        : !delay || delay->at_iteration ? (int32_t)when
                                                        : (int32_t)(when / result->cycle);
    lull_status status = lull_wave_prediction_make(
        delayed->scene.graph, rank, iteration, delay ? (double)delay->length : NAN,
        result->cycle_silent + result->noise_mean, result->cycle, arena, &result->predicted,
        &result->err);
    /* How fast the front travels depends on which ranks share a memory: no rule predicts it. */
    if (delayed->setup.memory)
        result->predicted.decay = result->predicted.survival = result->predicted.up_per_second =
            result->predicted.down_per_second = NAN;
    return status;
}

/* ---- collective operations ------------------------------------------------------------------- */

/* The share of the other ranks that end later if `rank` is delayed. */
static double share_delayed(const struct lull_sim_result *with,
                            const struct lull_sim_result *without, uint32_t rank)
{
    uint32_t later = 0;
    for (uint32_t r = 0; r < with->n_ranks; r++)
        later += r != rank && with->ranks[r].end > without->ranks[r].end;
    return with->n_ranks > 1 ? (double)later / (with->n_ranks - 1) : 0;
}

static lull_status delay_each(const struct lull_wave_inputs *inputs, struct outcome *outcome,
                              const struct lull_sim_result *without, double *ret_mean,
                              struct lull_error *err)
{
    struct lull_delay delay = inputs->simulate.delays[0];
    double sum = 0;
    for (uint32_t r = 0; r < without->n_ranks; r++) {
        struct lull_sim_result result;
        delay.rank = r;
        struct lull_sim_options options = {.network = &outcome->setup.network,
                                           .noise = outcome->setup.noise,
                                           .memory = outcome->setup.memory,
                                           .delays = &delay,
                                           .n_delays = 1,
                                           .seed = inputs->simulate.seed,
                                           .workers = 1};
        lull_program_close(outcome->point.program);
        outcome->point.program = NULL;
        lull_status status = lull_simulate_prepare(&inputs->simulate, outcome->number,
                                                   &outcome->point, &outcome->setup);
        if (status == LULL_OK)
            status =
                lull_simulate(outcome->point.program, &options, outcome->arena, &result, NULL, err);
        if (status != LULL_OK)
            return status;
        sum += share_delayed(&result, without, r);
    }
    *ret_mean = sum / without->n_ranks;
    return LULL_OK;
}

static lull_status conclude_collective(const struct lull_wave_inputs *inputs,
                                       struct outcome *outcomes, struct lull_wave_case *result)
{
    const struct lull_sim_result *without = &outcomes[QUIET].point.result;
    result->collective_only = true;
    result->delayed = result->delayed_mean = NAN;
    if (inputs->simulate.n_delays == 0)
        return LULL_OK;
    result->cost = (double)(outcomes[DELAYED].scene.runtime - outcomes[QUIET].scene.runtime);
    result->delayed =
        share_delayed(&outcomes[DELAYED].point.result, without, inputs->simulate.delays[0].rank);
    return without->n_ranks <= MOST_DELAYED ? delay_each(inputs, &outcomes[DELAYED], without,
                                                         &result->delayed_mean, &result->err)
                                            : LULL_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void run_outcomes(void *context, unsigned worker)
{
    struct wave_work *work = context;
    uint64_t count = work->inputs->simulate.sweep->n_points * work->kinds;
    (void)worker;
    for (;;) {
        uint64_t at = atomic_fetch_add(&work->next, 1);
        if (at >= count)
            return;
        struct outcome *outcome = &work->outcomes[at];
        outcome->number = at / work->kinds;
        uint32_t kind = (uint32_t)(at % work->kinds);
        outcome->status = run_one(work, outcome->number, kind, outcome);
        /* Of the other runs with delays only the numbers are wanted. */
        if (kind != DELAYED)
            lull_wave_scene_close(&outcome->scene);
    }
}

static void conclude_case(const struct wave_work *work, uint64_t number, struct lull_arena *arena)
{
    struct lull_wave_case *result = &work->cases[number];
    struct outcome *outcomes = &work->outcomes[number * work->kinds];
    result->repeats = lull_arena_zero(arena, work->inputs->repeat, sizeof *result->repeats);
    for (uint32_t kind = 0; kind < work->kinds; kind++)
        if (outcomes[kind].status != LULL_OK) {
            result->status = outcomes[kind].status;
            result->usage = outcomes[kind].point.usage;
            result->err = outcomes[kind].point.err;
            return;
        }
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++)
        result->texts[s] = outcomes[DELAYED].point.texts[s]
                               ? lull_arena_strdup(arena, outcomes[DELAYED].point.texts[s])
                               : NULL;
    result->note = outcomes[DELAYED].point.note
                       ? lull_arena_strdup(arena, outcomes[DELAYED].point.note)
                       : NULL;
    if (is_collective(work->inputs, number, arena)) {
        result->status = conclude_collective(work->inputs, outcomes, result);
        return;
    }
    take_repeats(work->inputs, outcomes, result);
    result->status = predict_wave(work->inputs, outcomes, arena, result);
    result->scene = outcomes[DELAYED].scene;
    result->scene.name = "simulated";
    if (result->status == LULL_OK && work->inputs->simulate.sweep->n_axes == 0)
        result->status =
            lull_wave_raster_make(result->scene.field, &result->scene.waves, result->scene.runtime,
                                  arena, &result->scene.raster, &result->err);
}

void lull_wave_simulate(const struct lull_wave_inputs *inputs, struct lull_wave_case *cases,
                        unsigned workers, struct lull_arena *arena)
{
    uint64_t points = inputs->simulate.sweep->n_points;
    struct wave_work work = {.inputs = inputs, .cases = cases, .kinds = DELAYED + inputs->repeat};
    work.outcomes = lull_arena_zero(arena, points * work.kinds, sizeof *work.outcomes);
    uint64_t tasks = points * work.kinds;
    workers = workers ? workers : lull_worker_count();
    lull_parallel_run(workers < tasks ? workers : (unsigned)tasks, run_outcomes, &work);
    for (uint64_t p = 0; p < points; p++) {
        conclude_case(&work, p, arena);
        for (uint32_t kind = 0; kind < work.kinds; kind++) {
            struct outcome *outcome = &work.outcomes[p * work.kinds + kind];
            lull_program_close(outcome->point.program);
            if (kind == DELAYED && cases[p].status == LULL_OK && !cases[p].collective_only)
                cases[p].arena = outcome->arena; /* graph and waves live there */
            else {
                lull_wave_scene_close(&outcome->scene);
                lull_arena_destroy(outcome->arena);
            }
        }
        if (inputs->simulate.sweep->n_axes > 0)
            lull_wave_scene_close(&cases[p].scene);
    }
}

void lull_wave_cases_release(const struct lull_wave_inputs *inputs, struct lull_wave_case *cases)
{
    for (uint64_t p = 0; p < inputs->simulate.sweep->n_points; p++) {
        lull_wave_scene_close(&cases[p].scene);
        if (cases[p].arena)
            lull_arena_destroy(cases[p].arena);
    }
}
