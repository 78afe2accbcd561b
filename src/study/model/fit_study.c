/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/model/fit_study.h"

#include "base/text.h"
#include "model/fit/measurements.h"
#include "study/compare.h"
#include "study/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== the measurements ======================================================================== */

/* The parameter that is the size of the problem, not what works on it. */
#define FIT_SIZE "size"

/* ---- what runs measure ----------------------------------------------------------------------- */

static const char *const axes[] = {"processes", "threads", FIT_SIZE};

enum axis { AXIS_PROCESSES, AXIS_THREADS, AXIS_SIZE, AXES };

static double axis_value(const struct lull_run *run, const struct lull_fit_wish *wish,
                         enum axis axis)
{
    return axis == AXIS_PROCESSES ? run->processes
           : axis == AXIS_THREADS ? run->threads
                                  : wish->sizes[run->order];
}

static bool varies(const struct lull_runs *runs, const struct lull_fit_wish *wish, enum axis axis)
{
    bool any = false;
    for (uint32_t r = 1; r < runs->count; r++)
        any |= axis_value(&runs->runs[r], wish, axis) != axis_value(&runs->runs[0], wish, axis);
    return any;
}

static lull_status find_axes(const struct lull_runs *runs, const struct lull_fit_wish *wish,
                             enum axis ret_axes[LULL_FIT_PARAMETERS], size_t *ret_count,
                             struct lull_error *err)
{
    *ret_count = wish->x ? wish->n_x : 1;
    if (*ret_count > LULL_FIT_PARAMETERS)
        return lull_fail(err, LULL_ERR_RANGE, "%zu parameters, expected %d at most", *ret_count,
                         LULL_FIT_PARAMETERS);
    if (!wish->x)
        ret_axes[0] = varies(runs, wish, AXIS_PROCESSES)                 ? AXIS_PROCESSES
                      : varies(runs, wish, AXIS_THREADS) || !wish->sizes ? AXIS_THREADS
                                                                         : AXIS_SIZE;
    for (size_t i = 0; wish->x && i < wish->n_x; i++) {
        unsigned axis = 0;
        while (axis < AXES && strcmp(wish->x[i], axes[axis]) != 0)
            axis++;
        if (axis == AXES)
            return lull_fail(err, LULL_ERR_RANGE,
                             "--x is '%s', expected processes, threads or size of runs",
                             wish->x[i]);
        if (axis == AXIS_SIZE && !wish->sizes)
            return lull_fail(err, LULL_ERR_RANGE,
                             "--x size needs the size of each run's problem, as --sizes 100,200");
        ret_axes[i] = (enum axis)axis;
    }
    return LULL_OK;
}

/* The time in all regions of one name, in ns, wherever they are called. */
static double region_ns(const struct lull_breakdown *breakdown, const char *name, bool inclusive)
{
    double sum = 0;
    for (uint32_t r = 0; r < breakdown->n_regions; r++)
        if (strcmp(breakdown->regions[r].name, name) == 0)
            sum += (double)(inclusive ? breakdown->regions[r].inclusive_ns
                                      : breakdown->regions[r].exclusive_ns);
    return sum;
}

static double all_ns(const struct lull_breakdown *breakdown)
{
    double sum = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        for (int a = 0; a < LULL_ACTIVITIES; a++)
            sum += (double)breakdown->threads[t].times.ns[a][0] +
                   (double)breakdown->threads[t].times.ns[a][1];
    return sum;
}

static double outside_ns(const struct lull_breakdown *breakdown)
{
    double sum = all_ns(breakdown);
    for (uint32_t r = 0; r < breakdown->n_regions; r++)
        sum -= (double)breakdown->regions[r].exclusive_ns;
    return sum;
}

static lull_status measure_region(const struct lull_run *run, const char *name, double *ret_value,
                                  struct lull_error *err)
{
    if (run->breakdown->from_sums)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: holds sums, which do not tell a region with all that it calls",
                         run->path);
    *ret_value = region_ns(run->breakdown, name, true) * 1e-9 / run->threads;
    if (!(*ret_value > 0))
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no time in a region '%s'", run->path, name);
    return LULL_OK;
}

static lull_status measure_metric(const struct lull_run *run, const char *name, double *ret_value,
                                  struct lull_error *err)
{
    int index = lull_metric_find(name);
    if (index < 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--y: there is no metric '%s'; lull metrics --format json names them",
                         name);
    if (run->values[index].absent)
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s: %s", run->path, name,
                         run->values[index].absent);
    *ret_value = run->values[index].value;
    return LULL_OK;
}

/* Of runs; in a table "memory" is a column like others. */
static bool is_memory(struct lull_fit_y y)
{
    return y.subject == LULL_FIT_COLUMN && strcmp(y.name, "memory") == 0;
}

/* The most that a process had. */
static lull_status measure_memory(const struct lull_run *run, double *ret_value,
                                  struct lull_error *err)
{
    uint64_t most = 0;
    for (uint32_t p = 0; p < run->breakdown->n_processes; p++)
        if (run->breakdown->processes[p].memory.peak > most)
            most = run->breakdown->processes[p].memory.peak;
    if (most == 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: does not say how much memory its processes had",
                         run->path);
    *ret_value = (double)most;
    return LULL_OK;
}

static lull_status measure_y(const struct lull_run *run, struct lull_fit_y y, double *ret_value,
                             struct lull_error *err)
{
    switch (y.subject) {
    case LULL_FIT_REGION:
        return measure_region(run, y.name, ret_value, err);
    case LULL_FIT_METRIC:
        return measure_metric(run, y.name, ret_value, err);
    case LULL_FIT_COLUMN:
        if (is_memory(y))
            return measure_memory(run, ret_value, err);
        return lull_fail(err, LULL_ERR_RANGE,
                         "--y is '%s', expected runtime, memory, region:NAME or metric:NAME",
                         y.name);
    case LULL_FIT_RUNTIME:
        break;
    }
    *ret_value = run->input->runtime;
    return LULL_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct table_filling {
    struct lull_fit_table *table;
    const struct lull_runs *runs;
    const struct lull_fit_wish *wish;
    enum axis axes[LULL_FIT_PARAMETERS];
    struct lull_error *err;
};

static lull_status add_run_to_series(const struct table_filling *filling,
                                     struct lull_fit_series *series, const struct lull_run *run,
                                     double value)
{
    double x[LULL_FIT_PARAMETERS];
    for (size_t i = 0; i < filling->table->n_params; i++)
        x[i] = axis_value(run, filling->wish, filling->axes[i]);
    lull_status status = lull_fit_table_add(filling->table, series, x, value, filling->err);
    return status == LULL_OK ? status : lull_fail_prefix(filling->err, status, "%s", run->path);
}

static lull_status add_front(const struct table_filling *filling)
{
    const struct lull_fit_y y = filling->wish->y;
    bool is_region = y.subject == LULL_FIT_REGION;
    struct lull_fit_series *series =
        lull_fit_table_series(filling->table, is_region ? y.name : "", is_region ? "time" : y.name);
    series->unit = y.subject == LULL_FIT_METRIC ? "" : is_memory(y) ? "B" : "s";
    if (y.subject == LULL_FIT_METRIC)
        series->kind = strcmp(y.name, "speedup") == 0 ? LULL_FIT_RATE : LULL_FIT_EFFICIENCY;
    else if (is_memory(y))
        series->kind = LULL_FIT_QUANTITY;
    lull_status status = LULL_OK;
    for (uint32_t r = 0; status == LULL_OK && r < filling->runs->count; r++) {
        double value = 0;
        status = measure_y(&filling->runs->runs[r], y, &value, filling->err);
        if (status == LULL_OK)
            status = add_run_to_series(filling, series, &filling->runs->runs[r], value);
    }
    return status;
}

/* Adds the series of a region's exclusive time; `name` NULL: of the time outside of all regions. A
 * run without the region adds no point, and a series without points is left out. */
static lull_status add_region(const struct table_filling *filling, const char *name)
{
    struct lull_fit_series *series =
        lull_fit_table_series(filling->table, name ? name : "(outside regions)", "exclusive time");
    lull_status status = LULL_OK;
    series->unit = "s";
    for (uint32_t r = 0; status == LULL_OK && r < filling->runs->count; r++) {
        const struct lull_run *run = &filling->runs->runs[r];
        double ns = name ? region_ns(run->breakdown, name, false) : outside_ns(run->breakdown);
        if (ns > 0)
            status = add_run_to_series(filling, series, run, ns * 1e-9 / run->threads);
    }
    filling->table->n_series -= series->count == 0;
    return status;
}

static bool is_known_series(const struct lull_fit_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_series; i++)
        if (strcmp(table->series[i].region, name) == 0 &&
            strcmp(table->series[i].metric, "exclusive time") == 0)
            return true;
    return false;
}

static lull_status add_series_of_regions(const struct table_filling *filling)
{
    static const double least_share = 0.01;
    lull_status status = add_region(filling, NULL);
    for (uint32_t r = 0; r < filling->runs->count; r++) {
        const struct lull_breakdown *breakdown = filling->runs->runs[r].breakdown;
        const double least_ns = least_share * all_ns(breakdown);
        for (uint32_t i = 0; status == LULL_OK && i < breakdown->n_regions; i++) {
            const char *name = breakdown->regions[i].name;
            if (region_ns(breakdown, name, false) >= least_ns &&
                !is_known_series(filling->table, name))
                status = add_region(filling, name);
        }
    }
    return status;
}

lull_status lull_fit_table_of_runs(const struct lull_runs *runs, const struct lull_fit_wish *wish,
                                   struct lull_arena *arena, struct lull_fit_table **ret_table,
                                   struct lull_error *err)
{
    struct table_filling filling = {.runs = runs, .wish = wish, .err = err};
    const char *names[LULL_FIT_PARAMETERS];
    size_t count;
    if (wish->sizes && wish->n_sizes != runs->count)
        return lull_fail(err, LULL_ERR_RANGE, "--sizes has %zu numbers for %u runs", wish->n_sizes,
                         runs->count);
    lull_status status = find_axes(runs, wish, filling.axes, &count, err);
    for (size_t i = 0; status == LULL_OK && i < count; i++)
        names[i] = axes[filling.axes[i]];
    if (status == LULL_OK)
        status = lull_fit_table_create(arena, names, count, &filling.table, err);
    if (status == LULL_OK)
        status = add_front(&filling);
    if (status == LULL_OK && wish->by_region)
        status = add_series_of_regions(&filling);
    if (status != LULL_OK)
        return status;
    lull_fit_table_finish(filling.table);
    *ret_table = filling.table;
    return LULL_OK;
}

/* Finds the series of the region or the metric that the user named; the first series if none is
 * named. Fails with the names that there are. */
static lull_status fit_find_series(const struct lull_fit_table *table, struct lull_fit_y y,
                                   struct lull_arena *arena, size_t *ret_index,
                                   struct lull_error *err)
{
    bool by_metric = y.subject == LULL_FIT_METRIC;
    const char *known = "";
    *ret_index = 0;
    if (!by_metric && y.subject != LULL_FIT_REGION)
        return LULL_OK;
    for (size_t i = 0; i < table->n_series; i++) {
        const char *name = by_metric ? table->series[i].metric : table->series[i].region;
        if (strcmp(name, y.name) == 0) {
            *ret_index = i;
            return LULL_OK;
        }
        if (i < 10)
            known = lull_arena_printf(arena, "%s%s%s", known, i ? ", " : "", name);
    }
    return lull_fail(err, LULL_ERR_RANGE, "--y: there is no %s '%s', expected one of: %s",
                     by_metric ? "metric" : "region", y.name, known);
}

/* ---- from files ------------------------------------------------------------------------------ */

static lull_status read_runs_to_fit(const char *const *paths, uint32_t count,
                                    const struct lull_fit_wish *wish,
                                    const struct lull_runs_options *options,
                                    struct lull_notices *notices, struct lull_fit_table **ret_table,
                                    struct lull_error *err)
{
    struct lull_runs_options wanted = *options;
    struct lull_arena *arena = notices->arena;
    struct lull_runs runs;
    wanted.regions = wish->by_region || wish->y.subject == LULL_FIT_REGION;
    wanted.no_replay = wish->y.subject != LULL_FIT_METRIC;
    lull_status status = lull_runs_load(paths, count, &wanted, notices, arena, &runs, err);
    if (status == LULL_OK)
        status = lull_study_check(&runs, wanted.force, notices, arena, err);
    if (status == LULL_OK)
        status = lull_study_compute(&runs, arena, err);
    if (status == LULL_OK)
        status = lull_fit_table_of_runs(&runs, wish, arena, ret_table, err);
    lull_runs_close(&runs);
    return status;
}

static lull_status read_table(const char *path, const struct lull_fit_format *format,
                              const struct lull_fit_wish *wish, struct lull_arena *arena,
                              struct lull_fit_table **ret_table, size_t *ret_front,
                              struct lull_error *err)
{
    const enum lull_fit_subject subject = wish->y.subject;
    bool names_series = subject == LULL_FIT_REGION || subject == LULL_FIT_METRIC;
    const struct lull_fit_read_options wanted = {
        .params = wish->x, .n_params = wish->n_x, .y = names_series ? NULL : wish->column};
    lull_status status = lull_fit_read(path, format, &wanted, arena, ret_table, err);
    if (status == LULL_OK)
        status = fit_find_series(*ret_table, wish->y, arena, ret_front, err);
    for (size_t s = 0; status == LULL_OK && wish->has_kind && s < (*ret_table)->n_series; s++)
        (*ret_table)->series[s].kind = wish->kind;
    return status;
}

lull_status lull_fit_measured_read(const char *const *paths, uint32_t count,
                                   const struct lull_fit_wish *wish,
                                   const struct lull_runs_options *options,
                                   struct lull_notices *notices, struct lull_fit_table **ret_table,
                                   size_t *ret_front, struct lull_error *err)
{
    const struct lull_fit_format *format = NULL;
    uint32_t number = 0;
    while (number < count && !(format = lull_fit_recognise(paths[number])))
        number++;
    *ret_front = 0;
    if (!format && wish->has_kind)
        return lull_fail(err, LULL_ERR_RANGE, "--kind is for tables; of runs it is known");
    if (!format)
        return read_runs_to_fit(paths, count, wish, options, notices, ret_table, err);
    if (count > 1)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: is a table of measurements (%s), expected it alone", paths[number],
                         format->name);
    return read_table(paths[0], format, wish, notices->arena, ret_table, ret_front, err);
}

/* ==== the wish ================================================================================ */

struct lull_fit_y lull_fit_y_read(const char *text)
{
    if (!text || strcmp(text, "runtime") == 0)
        return (struct lull_fit_y){LULL_FIT_RUNTIME, "runtime"};
    if (strncmp(text, "region:", 7) == 0)
        return (struct lull_fit_y){LULL_FIT_REGION, text + 7};
    if (strncmp(text, "metric:", 7) == 0)
        return (struct lull_fit_y){LULL_FIT_METRIC, text + 7};
    return (struct lull_fit_y){LULL_FIT_COLUMN, text};
}

/* Reads names of laws, separated by commas. *ret_laws has them in the order of lull_fit_laws, each
 * once, with NULL at the end; it is NULL for "all" and for no text. */
static lull_status read_laws(const char *text, struct lull_arena *arena,
                             const struct lull_fit_law *const **ret_laws, struct lull_error *err)
{
    size_t count, found = 0;
    const char **names = lull_split(text, ",", arena, &count);
    *ret_laws = NULL;
    if (!count || (count == 1 && strcmp(names[0], "all") == 0))
        return LULL_OK;
    const struct lull_fit_law **laws = lull_arena_zero(arena, count + 1, sizeof *laws);
    for (size_t i = 0; i < count; i++)
        if (!lull_fit_law_find(names[i]))
            return lull_fail(err, LULL_ERR_RANGE, "there is no '%s'; --list names the laws",
                             names[i]);
    for (size_t l = 0; lull_fit_laws[l]; l++)
        for (size_t i = 0; i < count; i++)
            if (lull_fit_law_find(names[i]) == lull_fit_laws[l]) {
                laws[found++] = lull_fit_laws[l];
                break;
            }
    *ret_laws = laws;
    return LULL_OK;
}

/* Reads a number above 0 that ends at `end`. */
static bool is_number(const char *text, const char *end, double *ret_value)
{
    char *stop;
    *ret_value = strtod(text, &stop);
    return stop == end && stop != text && *ret_value > 0 && isfinite(*ret_value);
}

static lull_status read_fit_sizes(const char *text, struct lull_arena *arena,
                                  const double **ret_sizes, size_t *ret_count,
                                  struct lull_error *err)
{
    const char **pieces = lull_split(text, ",", arena, ret_count);
    double *sizes = lull_arena_zero(arena, *ret_count + 1, sizeof *sizes);
    for (size_t i = 0; i < *ret_count; i++)
        if (!is_number(pieces[i], pieces[i] + strlen(pieces[i]), &sizes[i]))
            return lull_fail(err, LULL_ERR_RANGE, "'%s', expected a number above 0", pieces[i]);
    *ret_sizes = text ? sizes : NULL;
    return LULL_OK;
}

static lull_status read_words(const struct lull_fit_texts *texts, struct lull_fit_wish *wish,
                              struct lull_fit_options *options, struct lull_error *err)
{
    static const char *const kinds[] = {"time", "throughput", "efficiency", "quantity", NULL};
    static const char *const errors[] = {"relative", "absolute", NULL};
    static const char *const parts[] = {"region", NULL};
    unsigned kind, error, part;
    lull_status status = lull_option_word("kind", texts->kind, kinds, &kind, err);
    if (status == LULL_OK)
        status = lull_option_word("errors", texts->errors, errors, &error, err);
    if (status == LULL_OK)
        status = lull_option_word("by", texts->by, parts, &part, err);
    if (status != LULL_OK)
        return status;
    wish->has_kind = kind > 0;
    wish->kind = (enum lull_fit_kind)(kind ? kind - 1 : 0);
    wish->by_region = part > 0;
    options->errors = (enum lull_fit_errors)error;
    return LULL_OK;
}

lull_status lull_fit_wish_read(const struct lull_fit_texts *texts, struct lull_arena *arena,
                               struct lull_fit_wish *ret_wish, struct lull_fit_options *ret_options,
                               struct lull_error *err)
{
    *ret_wish = (struct lull_fit_wish){.y = lull_fit_y_read(texts->y), .column = texts->y};
    *ret_options = (struct lull_fit_options){0};
    ret_wish->x = lull_split(texts->x, ",", arena, &ret_wish->n_x);
    if (read_laws(texts->laws, arena, &ret_options->laws, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--law");
    lull_status status = read_words(texts, ret_wish, ret_options, err);
    if (status == LULL_OK)
        status = lull_option_percent("confidence", texts->confidence, 50, 99.99,
                                     &ret_options->confidence, err);
    if (status == LULL_OK &&
        read_fit_sizes(texts->sizes, arena, &ret_wish->sizes, &ret_wish->n_sizes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--sizes");
    return status;
}

lull_status lull_fit_places_read(const char *text, size_t n_params, struct lull_arena *arena,
                                 const double (**ret_places)[LULL_FIT_PARAMETERS],
                                 size_t *ret_count, struct lull_error *err)
{
    const char **pieces = lull_split(text, ",", arena, ret_count);
    double(*places)[LULL_FIT_PARAMETERS] = lull_arena_zero(arena, *ret_count + 1, sizeof *places);
    for (size_t i = 0; i < *ret_count; i++) {
        const char *rest = pieces[i];
        for (size_t p = 0; p < n_params; p++) {
            const char *end = rest + strcspn(rest, ":");
            bool last = p + 1 == n_params;
            if (!is_number(rest, end, &places[i][p]) || (*end == '\0') != last)
                return lull_fail(err, LULL_ERR_RANGE, "'%s', expected %zu number%s above 0%s",
                                 pieces[i], n_params, n_params == 1 ? "" : "s",
                                 n_params == 1 ? "" : " with colons between them");
            rest = end + !last;
        }
    }
    *ret_places = (const double(*)[LULL_FIT_PARAMETERS])places;
    return LULL_OK;
}

/* ==== the study =============================================================================== */

/* ---- the fits -------------------------------------------------------------------------------- */

static double last_measured(const struct lull_fit_part *part)
{
    return part->series->points[part->series->count - 1].y;
}

/* Finds the part whose efficiency falls below one half first. Of parts for which that is at the
 * same value, it is the one that takes longest in the last run. */
static void find_first_stop(struct lull_fit_study *study, struct lull_arena *arena)
{
    double first = INFINITY;
    study->stops_first = study->n_parts;
    if (study->table->n_params > 1 || strcmp(study->table->params[0], FIT_SIZE) == 0)
        return;
    for (size_t i = 0; i < study->n_parts; i++) {
        const struct lull_fit_part *part = &study->parts[i];
        if (!part->fit || !*part->series->region || part->series->kind == LULL_FIT_QUANTITY)
            continue;
        double half = lull_fit_turning(part->fit, lull_fit_reach(part->fit, arena)).half;
        bool same = isfinite(first) && fabs(half - first) <= 1e-9 * first;
        if ((same && last_measured(part) > last_measured(&study->parts[study->stops_first])) ||
            (!same && half < first)) {
            first = half;
            study->stops_first = i;
        }
    }
}

lull_status lull_fit_study_make(const struct lull_fit_table *table, size_t front,
                                const struct lull_fit_options *options, struct lull_arena *arena,
                                struct lull_fit_study *ret_study, struct lull_error *err)
{
    const struct lull_fit_series *first = &table->series[front];
    struct lull_fit *fit;
    struct lull_fit_study study = {.table = table};
    lull_status status =
        lull_fit_series_fit(first, table->params, table->n_params, options, arena, &fit, err);
    if (status != LULL_OK)
        return status;
    study.fit = fit;
    study.parts = lull_arena_zero(arena, table->n_series, sizeof *study.parts);
    for (size_t i = 0; i < table->n_series; i++) {
        const struct lull_fit_series *series = &table->series[i];
        struct lull_error why;
        struct lull_fit_part part = {.series = series, .fit = series == first ? fit : NULL};
        if (series != first && strcmp(series->metric, first->metric) != 0 &&
            strcmp(series->metric, "exclusive time") != 0)
            continue;
        if (!part.fit && lull_fit_series_fit(series, table->params, table->n_params, options, arena,
                                             &part.fit, &why) != LULL_OK)
            part.why_not = lull_arena_strdup(arena, why.text);
        study.parts[study.n_parts++] = part;
    }
    find_first_stop(&study, arena);
    *ret_study = study;
    return LULL_OK;
}
