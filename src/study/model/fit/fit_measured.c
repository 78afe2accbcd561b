#include "study/model/fit/fit_measured.h"

#include "model/fit/read.h"
#include "study/compare.h"

#include <math.h>
#include <string.h>

/* ---- what runs measure ---------------------------------------------------------------------- */

static const char *const axes[] = {"processes", "threads", LULL_FIT_SIZE};
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

/* Nanoseconds of a region of that name, wherever it is called. */
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

static lull_status measure_y(const struct lull_run *run, struct lull_fit_y y, double *ret_value,
                             struct lull_error *err)
{
    switch (y.subject) {
    case LULL_FIT_REGION:
        return measure_region(run, y.name, ret_value, err);
    case LULL_FIT_METRIC:
        return measure_metric(run, y.name, ret_value, err);
    case LULL_FIT_COLUMN:
        return lull_fail(err, LULL_ERR_RANGE,
                         "--y is '%s', expected runtime, region:NAME or metric:NAME", y.name);
    case LULL_FIT_RUNTIME:
        break;
    }
    *ret_value = run->input->runtime;
    return LULL_OK;
}

/* ---- the table ------------------------------------------------------------------------------ */

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
    series->unit = y.subject == LULL_FIT_METRIC ? "" : "s";
    if (y.subject == LULL_FIT_METRIC)
        series->kind = strcmp(y.name, "speedup") == 0 ? LULL_FIT_RATE : LULL_FIT_EFFICIENCY;
    lull_status status = LULL_OK;
    for (uint32_t r = 0; status == LULL_OK && r < filling->runs->count; r++) {
        double value = 0;
        status = measure_y(&filling->runs->runs[r], y, &value, filling->err);
        if (status == LULL_OK)
            status = add_run_to_series(filling, series, &filling->runs->runs[r], value);
    }
    return status;
}

/* The exclusive time of a region; NULL: what is outside of all. A run that does not have it adds no
 * point, and a region without points no series. */
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

lull_status lull_fit_find_series(const struct lull_fit_table *table, struct lull_fit_y y,
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

/* ---- from files ----------------------------------------------------------------------------- */

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
        status = lull_fit_find_series(*ret_table, wish->y, arena, ret_front, err);
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
