/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/model/program_study.h"

#include "base/text.h"
#include "model/program/program_model.h"
#include "study/census.h"
#include "study/compare.h"
#include "study/runs.h"
#include "trace/resources.h"
#include "trace/trace.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* ==== the wish ================================================================================ */

static lull_status read_run_wishes(const char *option, const char *const *texts,
                                   struct lull_arena *arena,
                                   const struct lull_model_run_wish **ret_wishes,
                                   uint32_t *ret_count, struct lull_error *err)
{
    struct lull_model_run_wish *wishes = NULL;
    const char **pairs = NULL;
    size_t capacity = 0, count = 0, n_pairs = 0, pairs_capacity = 0;
    for (; texts && *texts; texts++)
        for (const char *text = *texts; text;) {
            size_t length = strcspn(text, ",");
            bool is_whole = access(text, F_OK) == 0; /* perhaps with a comma in its name */
            const char *piece = is_whole ? text : lull_arena_strndup(arena, text, length);
            text = !is_whole && text[length] ? text + length + 1 : NULL;
            if (!strchr(piece, '=') || access(piece, F_OK) == 0) {
                wishes = lull_arena_grow(arena, wishes, &capacity, count + 1, sizeof *wishes);
                wishes[count++] = (struct lull_model_run_wish){piece, NULL};
                pairs = NULL;
                n_pairs = pairs_capacity = 0;
                continue;
            }
            if (count == 0)
                return lull_fail(err, LULL_ERR_RANGE, "%s: '%s', expected a RUN before it", option,
                                 piece);
            pairs = lull_arena_grow(arena, pairs, &pairs_capacity, n_pairs + 2, sizeof *pairs);
            pairs[n_pairs++] = piece;
            pairs[n_pairs] = NULL;
            wishes[count - 1].settings = pairs;
        }
    *ret_wishes = wishes;
    *ret_count = (uint32_t)count;
    return LULL_OK;
}

/* Whether a name is one of Lua that no other parameter of a derived model has. */
static bool is_size_name(const char *name)
{
    static const char *const taken[] = {"P", "T", "T_core", "T_turn", "B", "iterations", "cores"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return false;
    for (const char *c = name; *c; c++)
        if (!isalpha((unsigned char)*c) && *c != '_' && (c == name || !isdigit((unsigned char)*c)))
            return false;
    return *name != '\0';
}

static lull_status read_sizes_of_runs(const struct lull_model_run_wish *wishes, uint32_t count,
                                      struct lull_arena *arena, const char **ret_name,
                                      const double **ret_sizes, struct lull_error *err)
{
    double *sizes = lull_arena_zero(arena, count, sizeof *sizes);
    const char *size_name = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *const *texts = wishes[i].settings;
        if (!texts && !size_name)
            continue;
        if (!texts || texts[1])
            return lull_fail(err, LULL_ERR_RANGE, "%s: expected one size, as behind the other runs",
                             wishes[i].path);
        const char *equals = strchr(texts[0], '=');
        const char *name = lull_arena_strndup(arena, texts[0], (size_t)(equals - texts[0]));
        bool is_number = lull_parse_real(equals + 1, &sizes[i]) == LULL_OK;
        if (!is_size_name(name) || (size_name ? strcmp(name, size_name) != 0 : i > 0))
            return lull_fail(err, LULL_ERR_RANGE,
                             "'%s': expected one name of a size behind every run, and not P, T, "
                             "T_core, T_turn, B, "
                             "iterations, cores",
                             texts[0]);
        if (!is_number || sizes[i] <= 0)
            return lull_fail(err, LULL_ERR_RANGE, "'%s', expected a number above 0", texts[0]);
        size_name = name;
    }
    *ret_name = size_name;
    *ret_sizes = size_name ? sizes : NULL;
    return LULL_OK;
}

static lull_status read_free(const struct lull_program_model *model, const char *text,
                             struct lull_arena *arena, const uint32_t **ret_free, size_t *ret_count,
                             struct lull_error *err)
{
    uint32_t *free = lull_arena_zero(arena, model->n_parameters, sizeof *free);
    size_t count = 0, n_names;
    const char **names = lull_split(text, ",", arena, &n_names);
    for (uint32_t p = 0; p < model->n_parameters && !text; p++)
        if (model->parameters[p].is_free && model->parameters[p].source != LULL_PARAMETER_SET)
            free[count++] = p;
    for (size_t n = 0; n < n_names; n++) {
        uint32_t parameter = lull_model_parameter_find(model, names[n]);
        if (parameter == LULL_MODEL_NONE || model->parameters[parameter].choices)
            return lull_fail(err, LULL_ERR_RANGE, "%s has no number '%s'", model->path, names[n]);
        for (size_t i = 0; i < count; i++)
            if (free[i] == parameter)
                return lull_fail(err, LULL_ERR_RANGE, "'%s' is there twice", names[n]);
        free[count++] = parameter;
    }
    *ret_free = free;
    *ret_count = count;
    return LULL_OK;
}

static lull_status read_axes(struct lull_program_model *model, const char *const *texts,
                             struct lull_arena *arena, const struct lull_model_axis **ret_axes,
                             size_t *ret_count, struct lull_error *err)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    struct lull_model_axis *axes = lull_arena_zero(arena, count + 1, sizeof *axes);
    for (size_t a = 0; a < count; a++) {
        lull_status status = lull_model_axis_read(model, texts[a], arena, &axes[a], err);
        if (status != LULL_OK)
            return status;
        struct lull_model_parameter *parameter = &model->parameters[axes[a].parameter];
        if (parameter->source == LULL_PARAMETER_ABSENT) { /* values of an axis set it */
            parameter->value = axes[a].values[0];
            parameter->source = LULL_PARAMETER_SET;
        }
    }
    *ret_axes = axes;
    *ret_count = count;
    return LULL_OK;
}

/* ---- a model --------------------------------------------------------------------------------- */

lull_status lull_program_wish_read(const struct lull_program_texts *texts, struct lull_arena *arena,
                                   struct lull_program_wish *wish, struct lull_error *err)
{
    struct lull_model_engine *engine = lull_arena_zero(arena, 1, sizeof *engine);
    *engine = (struct lull_model_engine){.network = texts->network, .seed = 1};
    wish->engine = texts->simulate ? engine : NULL;
    wish->confidence = 0.95;
    lull_status status =
        lull_option_percent("confidence", texts->confidence, 50, 99.99, &wish->confidence, err);
    if (status == LULL_OK)
        status = lull_option_number("seed", texts->seed, 0, UINT64_MAX, &engine->seed, err);
    if (status == LULL_OK && !texts->simulate && (texts->network || texts->seed))
        return lull_fail(err, LULL_ERR_RANGE, "--%s is for --simulate",
                         texts->network ? "network" : "seed");
    if (status == LULL_OK && texts->free && !texts->calibrate)
        return lull_fail(err, LULL_ERR_RANGE, "--free is for --calibrate");
    if (status == LULL_OK)
        status = read_run_wishes("--calibrate", texts->calibrate, arena, &wish->calibrate,
                                 &wish->n_calibrate, err);
    return status == LULL_OK ? read_run_wishes("--against", texts->against, arena, &wish->against,
                                               &wish->n_against, err)
                             : status;
}

static lull_status take_model_machine(const char *path, struct lull_program_model *model,
                                      struct lull_notices *notices, struct lull_arena *arena,
                                      struct lull_program_wish *wish, struct lull_error *err)
{
    struct lull_machine *machine;
    const char *const *missing;
    lull_status status = lull_machine_read(path, arena, &machine, err);
    if (status != LULL_OK)
        return status;
    if (lull_model_take_machine(model, machine, path, &missing, err) != LULL_OK)
        return LULL_ERR_FORMAT; /* the machine file has a number in another unit than the model */
    for (; *missing; missing++)
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s", *missing);
    if (wish->engine)
        wish->engine->machine = machine->n_network > 0 ? machine : NULL;
    return LULL_OK;
}

lull_status lull_program_wish_apply(const struct lull_program_texts *texts,
                                    struct lull_program_model *model, struct lull_notices *notices,
                                    struct lull_arena *arena, struct lull_program_wish *wish,
                                    struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (const char *const *text = texts->set; text && *text; text++)
        if (lull_model_set(model, *text, LULL_PARAMETER_SET, err) != LULL_OK)
            return lull_fail_prefix(err, LULL_ERR_RANGE, "--set");
    if (texts->machine)
        status = take_model_machine(texts->machine, model, notices, arena, wish, err);
    if (status != LULL_OK)
        return status;
    if (read_free(model, texts->free, arena, &wish->free, &wish->n_free, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--free");
    return read_axes(model, texts->sweep, arena, &wish->axes, &wish->n_axes, err) == LULL_OK
               ? LULL_OK
               : lull_fail_prefix(err, LULL_ERR_RANGE, "--sweep");
}

/* ---- a derived model ------------------------------------------------------------------------- */

lull_status lull_derive_wish_read(const char *const *texts, struct lull_arena *arena,
                                  struct lull_derive_wish *ret_wish, struct lull_error *err)
{
    const struct lull_model_run_wish *runs;
    uint32_t count;
    lull_status status = read_run_wishes("--derive", texts, arena, &runs, &count, err);
    if (status != LULL_OK)
        return status;
    *ret_wish = (struct lull_derive_wish){
        .paths = lull_arena_zero(arena, count, sizeof(*ret_wish->paths)), .count = count};
    for (uint32_t i = 0; i < count; i++)
        ret_wish->paths[i] = runs[i].path;
    status = read_sizes_of_runs(runs, count, arena, &ret_wish->size_name, &ret_wish->sizes, err);
    return status == LULL_OK ? LULL_OK : lull_fail_prefix(err, status, "--derive");
}

/* ==== regions of recorded runs ================================================================ */

struct recorded_reader {
    const struct lull_runs_options *options; /* of all runs */
    struct lull_notices *notices;
};

/* The time of a process's master in the windows that were analysed, in seconds. */
static double master_seconds(const struct lull_breakdown *breakdown, uint32_t process)
{
    const struct lull_process_breakdown *p = &breakdown->processes[process];
    int64_t ns = 0;
    for (uint32_t t = p->first_thread; t < p->first_thread + p->n_cpu_threads; t++)
        for (unsigned a = 0; breakdown->threads[t].master && a < LULL_ACTIVITIES; a++)
            ns += breakdown->threads[t].times.ns[a][0] + breakdown->threads[t].times.ns[a][1];
    return (double)ns / 1e9;
}

static lull_status take_time(const struct lull_run *run, const char *region,
                             struct lull_region_time *ret_time, struct lull_error *err)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    struct lull_region_time time = {0};
    uint64_t visits = 0;
    for (uint32_t r = 0; r < breakdown->n_regions; r++)
        if (strcmp(breakdown->regions[r].name, region) == 0)
            visits += breakdown->regions[r].visits;
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        double seconds = master_seconds(breakdown, p);
        time.mean += seconds / breakdown->n_processes;
        time.longest = fmax(time.longest, seconds);
    }
    time.visits = (double)visits / breakdown->n_processes;
    if (visits == 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: region '%s' was never entered", run->path,
                         region);
    *ret_time = time;
    return LULL_OK;
}

/* Reads the time of each process's master inside of a region, over the whole run. For
 * lull_model_set_reader; `context` is a struct recorded_reader. */
static lull_status recorded_region(void *context, const char *run, const char *region,
                                   struct lull_region_time *ret_time, struct lull_error *err)
{
    const struct recorded_reader *reader = context;
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct lull_runs_options options = *reader->options;
    struct lull_runs runs;
    options.region = region;
    options.regions = options.no_replay = true;
    lull_status status = lull_runs_load(&run, 1, &options, reader->notices, scratch, &runs, err);
    if (status == LULL_OK)
        status = take_time(&runs.runs[0], region, ret_time, err);
    lull_runs_close(&runs);
    lull_arena_destroy(scratch);
    return status;
}

/* ==== processor time ========================================================================== */

/* The index of the counter of processor time; n_counters: there is none. */
static uint32_t find_counter(const struct lull_trace *trace)
{
    uint32_t c = 0;
    while (c < trace->n_counters && trace->counters[c].role != LULL_COUNTER_PROCESSOR_TIME)
        c++;
    return c;
}

/* Adds to `waits`, in seconds, the time in each region of user code in which the thread had no
 * core: the clock's time minus the processor time, at least 0, because of rounding. */
static void add_waits(const struct lull_trace *trace, uint32_t counter,
                      const struct lull_sums *sums, double *waits)
{
    for (uint32_t i = 0; i < sums->n_regions; i++) {
        const struct lull_region_sum *sum = &sums->regions[i];
        const struct lull_region *region = &trace->regions[sum->region];
        if (!region->user && region->activity != LULL_USEFUL)
            continue;
        double had = (double)(sum->counts[0][counter] + sum->counts[1][counter]);
        waits[sum->region] += fmax(0, (double)(sum->ns[0] + sum->ns[1]) - had) / 1e9;
    }
}

lull_status lull_processor_time_read(const struct lull_run *run, struct lull_arena *arena,
                                     struct lull_processor_time *ret_time, struct lull_error *err)
{
    const struct lull_trace *trace = run->trace;
    *ret_time = (struct lull_processor_time){.trace = trace};
    if (!trace || !trace->has_sums || (run->reading->windows && !run->main_part && !run->life_ns))
        return LULL_OK;
    uint32_t counter = find_counter(trace);
    if (counter == trace->n_counters)
        return LULL_OK;
    double *waits = lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *waits);
    lull_status status = LULL_OK;
    for (uint32_t l = 0; l < trace->n_locations && status == LULL_OK; l++) {
        struct lull_arena *scratch = lull_arena_create(NULL);
        struct lull_sums sums;
        status = lull_trace_read_sums(trace, l, scratch, &sums, err);
        if (status == LULL_OK)
            add_waits(trace, counter, &sums, waits);
        lull_arena_destroy(scratch);
    }
    ret_time->is_known = status == LULL_OK;
    ret_time->waits = waits;
    return status;
}

double lull_processor_waits(const struct lull_processor_time *time, const char *region)
{
    double seconds = 0;
    for (uint32_t r = 0; time->is_known && r < time->trace->n_regions; r++)
        if (strcmp(time->trace->regions[r].name, region) == 0)
            seconds += time->waits[r];
    return seconds;
}

double lull_useful_seconds(const struct lull_processor_time *time,
                           const struct lull_breakdown *breakdown, uint32_t thread)
{
    const struct lull_thread_breakdown *of = &breakdown->threads[thread];
    for (uint32_t c = 0; time->is_known && c < breakdown->n_counters; c++)
        if (breakdown->counters[c].role == LULL_COUNTER_PROCESSOR_TIME)
            return (double)of->counters[(size_t)c * LULL_ACTIVITIES + LULL_USEFUL] / 1e9;
    return (double)(of->times.ns[LULL_USEFUL][0] + of->times.ns[LULL_USEFUL][1]) / 1e9;
}

/* ==== the study =============================================================================== */

/* ---- what a run holds ------------------------------------------------------------------------ */

static bool is_of_term(const struct lull_model_term *term, const char *region)
{
    for (const char *const *name = term->regions; name && *name; name++)
        if (strcmp(*name, region) == 0)
            return true;
    return false;
}

/* Mean useful time of a thread, in seconds; without the time that it waited for a core, if `time`
 * knows that. */
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
    const struct lull_reading whole = {.application = LULL_NONE, .workers = workers};
    lull_status status = lull_census_take(run->trace, &whole, arena, &census, err);
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
        ret_run->terms[model->waiting] = NAN; /* not told apart from other time in MPI calls */
    return count_messages(run, workers, arena, ret_run, err);
}

/* ---- what the model is told of it ------------------------------------------------------------ */

/* Warns once, for each run and parameter, that a choice which nobody made is taken to be the first
 * word. */
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
    if (value == 0) /* the run does not tell the value */
        return;
    parameter->value = value;
    parameter->source = LULL_PARAMETER_RUN;
}

/* Takes values of the parameters from the run and from what the user set for it; the model's own
 * values are put back afterwards. */
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

/* What was measured of the runs of a list, each path once. */
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

/* Makes the runs of a list, in the order of the wishes. Fails if a parameter is neither set nor in
 * `open` ([n_parameters]). */
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

/* ---- calibration ----------------------------------------------------------------------------- */

/* Calibrates the free parameters; their origin then says how many runs they are from. */
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

/* ---- the study ------------------------------------------------------------------------------- */

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
    struct recorded_reader reader = {&wish->runs, notices};
    *ret_study = (struct lull_program_study){.model = model};
    lull_model_set_reader(model, recorded_region, &reader);
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
