#include "study/model/program_study.h"

#include "study/census.h"
#include "study/compare.h"
#include "study/cores.h"
#include "study/model/processor_time.h"
#include "study/model/recorded.h"

#include <math.h>
#include <string.h>

/* ---- what a run holds ----------------------------------------------------------------------- */

static bool is_of_term(const struct lull_model_term *term, const char *region)
{
    for (const char *const *name = term->regions; name && *name; name++)
        if (strcmp(*name, region) == 0)
            return true;
    return false;
}

/* Useful time of a thread, on average: with a core, where `time` knows that. */
static double useful_time(const struct lull_breakdown *breakdown,
                          const struct lull_processor_time *time)
{
    double seconds = 0;
    uint32_t count = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        if (breakdown->threads[t].kind == LULL_LOCATION_THREAD) {
            seconds += lull_useful_seconds(time, breakdown, t);
            count++;
        }
    return count > 0 ? seconds / count : NAN;
}

static double time_in(const struct lull_breakdown *breakdown,
                      const struct lull_processor_time *time, const struct lull_model_term *term)
{
    int64_t ns = 0;
    double waits = 0;
    bool is_there = false;
    if (is_of_term(term, "useful"))
        return useful_time(breakdown, time);
    for (uint32_t i = 0; i < breakdown->n_regions; i++) {
        const struct lull_region_breakdown *region = &breakdown->regions[i];
        if (!is_of_term(term, region->name))
            continue;
        is_there = true;
        ns += breakdown->from_sums ? region->exclusive_ns : region->inclusive_ns;
    }
    for (const char *const *name = term->regions; name && *name; name++)
        waits += lull_processor_waits(time, *name);
    return is_there ? fmax(0, (double)ns / 1e9 - waits) / breakdown->n_processes : NAN;
}

static lull_status count_messages(const struct lull_run *run, unsigned workers,
                                  struct lull_arena *arena, struct lull_model_run *ret_run,
                                  struct lull_error *err)
{
    struct lull_census *census;
    if (!run->trace)
        return LULL_OK;
    lull_status status =
        lull_census_take(run->trace, NULL, workers, NULL, NULL, arena, &census, err);
    if (status != LULL_OK)
        return status;
    ret_run->has_messages = true;
    ret_run->messages = (double)census->sent;
    ret_run->bytes = (double)census->sent_bytes;
    for (unsigned c = 0; c < LULL_COLLECTIVES; c++)
        if (c != LULL_COLLECTIVE_CREATE && c != LULL_COLLECTIVE_FREE)
            ret_run->collectives += (double)census->collectives[c];
    return LULL_OK;
}

static lull_status take_run(const struct lull_program_model *model, const struct lull_run *run,
                            unsigned workers, struct lull_arena *arena,
                            struct lull_model_run *ret_run, struct lull_error *err)
{
    ret_run->name = lull_arena_strdup(arena, run->name);
    ret_run->processes = run->processes;
    ret_run->seconds = (double)run->breakdown->runtime_ns / 1e9;
    ret_run->terms = lull_arena_zero(arena, model->n_terms, sizeof *ret_run->terms);
    struct lull_processor_time time;
    lull_status status = lull_processor_time_read(run, arena, &time, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t t = 0; t < model->n_terms; t++)
        ret_run->terms[t] = time_in(run->breakdown, &time, &model->terms[t]);
    if (model->waiting != LULL_MODEL_NONE)
        ret_run->terms[model->waiting] = NAN; /* they wait in calls of MPI, too */
    return count_messages(run, workers, arena, ret_run, err);
}

/* ---- what the model is told of it ----------------------------------------------------------- */

/* A word that nobody has chosen for a run is the first one; told once. */
static void tell_choice(const struct lull_model_parameter *parameter, const char *path,
                        struct lull_notices *notices)
{
    const char *text = lull_arena_printf(
        notices->arena, "%s: taken as one with %s = %s; %s,%s=WORD says it otherwise", path,
        parameter->name, parameter->choices[(size_t)parameter->value], path, parameter->name);
    for (size_t i = 0; i < notices->count; i++)
        if (strcmp(notices->items[i].text, text) == 0)
            return;
    lull_notices_add(notices, LULL_NOTICE_WARNING, "%s", text);
}

static void take_from_run(struct lull_model_parameter *parameter, const struct lull_run *run,
                          struct lull_arena *arena)
{
    if (!parameter->run)
        return;
    uint32_t value = run->processes;
    if (strcmp(parameter->run, "threads") == 0)
        value = run->max_threads;
    else if (strcmp(parameter->run, "cores") == 0)
        value = run->trace ? lull_cores_of(run->trace, arena) : 0;
    if (value == 0) /* the run does not tell */
        return;
    parameter->value = value;
    parameter->source = LULL_PARAMETER_RUN;
}

/* The parameters as they are now, with what the run says; they are put back afterwards. */
static lull_status take_values(struct lull_program_model *model, const struct lull_run *run,
                               const struct lull_model_run_wish *wish, const bool *open,
                               struct lull_notices *notices, struct lull_model_run *ret_run,
                               struct lull_error *err)
{
    size_t size = model->n_parameters * sizeof *model->parameters;
    struct lull_arena *arena = notices->arena;
    struct lull_model_parameter *before = lull_arena_alloc(arena, size);
    lull_status status = LULL_OK;
    memcpy(before, model->parameters, size);
    for (uint32_t p = 0; p < model->n_parameters; p++)
        take_from_run(&model->parameters[p], run, arena);
    for (const char *const *text = wish->settings; status == LULL_OK && text && *text; text++)
        status = lull_model_set(model, *text, LULL_PARAMETER_SET, err);
    if (status == LULL_OK)
        status = lull_model_check_values(model, open, err);
    for (uint32_t p = 0; status == LULL_OK && p < model->n_parameters; p++)
        if (model->parameters[p].choices && model->parameters[p].source == LULL_PARAMETER_DEFAULT)
            tell_choice(&model->parameters[p], wish->path, notices);
    ret_run->values = lull_arena_zero(arena, model->n_parameters, sizeof *ret_run->values);
    lull_model_values(model, ret_run->values);
    memcpy(model->parameters, before, size);
    return status;
}

/* What was measured of the runs of a list, each path once; values are not taken yet. */
struct measured_runs {
    struct lull_runs runs;
    struct lull_model_run *made; /* [runs.count], in their order */
};

static lull_status measure_runs(const struct lull_program_model *model,
                                const struct lull_program_wish *wish, struct lull_notices *notices,
                                struct lull_arena *arena, struct measured_runs *ret_measured,
                                struct lull_error *err)
{
    uint32_t n_wishes = wish->n_calibrate + wish->n_against, count = 0;
    const char **paths = lull_arena_zero(arena, n_wishes, sizeof *paths);
    for (uint32_t i = 0; i < n_wishes; i++) {
        const char *path = i < wish->n_calibrate ? wish->calibrate[i].path
                                                 : wish->against[i - wish->n_calibrate].path;
        uint32_t known = 0;
        while (known < count && strcmp(paths[known], path) != 0)
            known++;
        if (known == count)
            paths[count++] = path;
    }
    struct lull_runs *runs = &ret_measured->runs;
    lull_status status = lull_runs_load(paths, count, &wish->runs, notices, arena, runs, err);
    if (status == LULL_OK)
        status = lull_study_check(runs, wish->runs.force, notices, arena, err);
    ret_measured->made = lull_arena_zero(arena, count, sizeof *ret_measured->made);
    for (uint32_t i = 0; status == LULL_OK && i < count; i++)
        status =
            take_run(model, &runs->runs[i], wish->runs.workers, arena, &ret_measured->made[i], err);
    return status;
}

/* In the order of the wishes; a parameter that is neither set nor in `open` ([n_parameters]) is
 * refused. */
static lull_status choose_runs(struct lull_program_model *model,
                               const struct measured_runs *measured,
                               const struct lull_model_run_wish *wishes, uint32_t count,
                               const bool *open, struct lull_notices *notices,
                               struct lull_model_run **ret_runs, struct lull_error *err)
{
    lull_status status = LULL_OK;
    *ret_runs = lull_arena_zero(notices->arena, count, sizeof **ret_runs);
    for (uint32_t i = 0; status == LULL_OK && i < count; i++) {
        uint32_t number = 0;
        while (strcmp(measured->runs.runs[number].path, wishes[i].path) != 0)
            number++;
        (*ret_runs)[i] = measured->made[number];
        status = take_values(model, &measured->runs.runs[number], &wishes[i], open, notices,
                             &(*ret_runs)[i], err);
    }
    return status;
}

/* ---- calibration ---------------------------------------------------------------------------- */

/* Afterwards parameters say from how many runs they are. */
static lull_status calibrate(struct lull_program_model *model, const struct lull_program_wish *wish,
                             const struct lull_model_run *runs, struct lull_arena *arena,
                             struct lull_calibration *ret_calibration, struct lull_error *err)
{
    uint32_t count = wish->n_calibrate;
    size_t n_measured = 0;
    struct lull_measured_term *measured =
        lull_arena_zero(arena, (size_t)count * model->n_terms + 1, sizeof *measured);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t t = 0; t < model->n_terms; t++)
            if (runs[i].terms[t] > 0)
                measured[n_measured++] =
                    (struct lull_measured_term){runs[i].values, t, runs[i].terms[t]};
    lull_status status = lull_model_calibrate(model, wish->free, wish->n_free, measured, n_measured,
                                              wish->confidence, arena, ret_calibration, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "%s", model->path);
    for (size_t j = 0; j < wish->n_free; j++)
        model->parameters[wish->free[j]].origin =
            lull_arena_printf(arena, "%u run%s", count, count == 1 ? "" : "s");
    return LULL_OK;
}

static lull_status choose_and_calibrate(struct lull_program_model *model,
                                        const struct lull_program_wish *wish,
                                        const struct measured_runs *measured,
                                        struct lull_notices *notices,
                                        struct lull_program_study *study, struct lull_error *err)
{
    struct lull_arena *arena = notices->arena;
    bool *open = lull_arena_zero(arena, model->n_parameters, sizeof *open);
    for (size_t j = 0; j < wish->n_free; j++)
        open[wish->free[j]] = true;
    if (wish->n_free == 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: has no free parameter to calibrate; --free NAME,... says which",
                         model->path);
    struct lull_model_run *runs;
    lull_status status =
        choose_runs(model, measured, wish->calibrate, wish->n_calibrate, open, notices, &runs, err);
    if (status == LULL_OK)
        status = calibrate(model, wish, runs, arena, &study->calibration, err);
    study->free = wish->free;
    study->n_free = wish->n_free;
    return status;
}

/* ---- the study ------------------------------------------------------------------------------ */

static lull_status compare_measured_runs(struct lull_program_model *model,
                                         const struct lull_program_wish *wish,
                                         const struct measured_runs *measured,
                                         struct lull_notices *notices,
                                         struct lull_program_study *study, struct lull_error *err)
{
    struct lull_arena *arena = notices->arena;
    lull_status status = choose_runs(model, measured, wish->against, wish->n_against, NULL, notices,
                                     &study->against, err);
    study->n_against = wish->n_against;
    for (uint32_t i = 0; status == LULL_OK && i < wish->n_against; i++) {
        struct lull_model_run *run = &study->against[i];
        run->predicted = lull_arena_zero(arena, model->n_terms, sizeof *run->predicted);
        status = lull_model_evaluate(model, run->values, run->predicted, err);
        if (status == LULL_OK)
            status = lull_model_uncertainty(model, run->values, &run->uncertainty, err);
    }
    return status;
}

static lull_status find_sensitivities(struct lull_program_model *model, struct lull_arena *arena,
                                      struct lull_program_study *study, struct lull_error *err)
{
    const struct lull_model_sweep *sweep = &study->sweep;
    double *values = lull_arena_zero(arena, model->n_parameters, sizeof *values);
    size_t last = sweep->n_points - 1;
    lull_model_sweep_values(model, sweep, sweep->best[last], last, values);
    return lull_model_sensitivities(model, values, arena, &study->sensitivities,
                                    &study->n_sensitivities, err);
}

static lull_status simulate_variants(struct lull_program_model *model,
                                     const struct lull_model_engine *engine,
                                     struct lull_arena *arena, struct lull_program_study *study,
                                     struct lull_error *err)
{
    const struct lull_model_sweep *sweep = &study->sweep;
    double *values = lull_arena_zero(arena, model->n_parameters, sizeof *values);
    study->simulations = lull_arena_zero(arena, sweep->n_variants, sizeof *study->simulations);
    for (uint32_t v = 0; v < sweep->n_variants; v++) {
        study->simulations[v] =
            lull_arena_zero(arena, sweep->n_points, sizeof *study->simulations[v]);
        for (size_t i = 0; i < sweep->n_points; i++) {
            lull_model_sweep_values(model, sweep, v, i, values);
            lull_status status =
                lull_model_simulate(model, values, engine, arena, &study->simulations[v][i], err);
            if (status != LULL_OK)
                return status;
        }
    }
    return LULL_OK;
}

static lull_status look_at_runs(struct lull_program_model *model,
                                const struct lull_program_wish *wish, struct lull_notices *notices,
                                struct lull_arena *arena, struct lull_program_study *study,
                                struct lull_error *err)
{
    struct measured_runs measured;
    if (wish->n_calibrate + wish->n_against == 0)
        return LULL_OK;
    lull_status status = measure_runs(model, wish, notices, arena, &measured, err);
    if (status == LULL_OK && wish->n_calibrate > 0)
        status = choose_and_calibrate(model, wish, &measured, notices, study, err);
    if (status == LULL_OK && wish->n_against > 0)
        status = compare_measured_runs(model, wish, &measured, notices, study, err);
    lull_runs_close(&measured.runs);
    return status;
}

lull_status lull_program_study_make(struct lull_program_model *model,
                                    const struct lull_program_wish *wish,
                                    struct lull_notices *notices, struct lull_arena *arena,
                                    struct lull_program_study *ret_study, struct lull_error *err)
{
    struct lull_recorded_reader reader = {&wish->runs, notices};
    *ret_study = (struct lull_program_study){.model = model};
    lull_model_set_reader(model, lull_recorded_region, &reader);
    lull_status status = look_at_runs(model, wish, notices, arena, ret_study, err);
    if (status == LULL_OK)
        status = lull_model_check_values(model, NULL, err);
    if (status == LULL_OK)
        status =
            lull_model_sweep_run(model, wish->axes, wish->n_axes, arena, &ret_study->sweep, err);
    if (status == LULL_OK)
        status = find_sensitivities(model, arena, ret_study, err);
    if (status == LULL_OK && wish->engine)
        status = simulate_variants(model, wish->engine, arena, ret_study, err);
    lull_model_set_reader(model, NULL, NULL);
    return status;
}
