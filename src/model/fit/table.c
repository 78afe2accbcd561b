#include "model/fit/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

lull_status lull_fit_table_create(struct lull_arena *arena, const char *const *params,
                                  size_t n_params, struct lull_fit_table **ret_table,
                                  struct lull_error *err)
{
    if (n_params == 0 || n_params > LULL_FIT_PARAMETERS)
        return lull_fail(err, LULL_ERR_RANGE, "%zu parameters, expected 1 to %d", n_params,
                         LULL_FIT_PARAMETERS);
    struct lull_fit_table *table = lull_arena_zero(arena, 1, sizeof *table);
    table->arena = arena;
    table->n_params = n_params;
    for (size_t i = 0; i < n_params; i++)
        table->params[i] = lull_arena_strdup(arena, params[i]);
    *ret_table = table;
    return LULL_OK;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcasecmp(&text[length - wanted], end) == 0;
}

enum lull_fit_kind lull_fit_kind_of(const char *metric)
{
    static const struct {
        const char *end;
        enum lull_fit_kind kind;
    } known[] = {{"throughput", LULL_FIT_RATE},
                 {"speedup", LULL_FIT_RATE},
                 {"rate", LULL_FIT_RATE},
                 {"performance", LULL_FIT_RATE},
                 {"efficiency", LULL_FIT_EFFICIENCY},
                 {"bytes", LULL_FIT_QUANTITY},
                 {"flops", LULL_FIT_QUANTITY},
                 {"flop", LULL_FIT_QUANTITY},
                 {"instructions", LULL_FIT_QUANTITY},
                 {"messages", LULL_FIT_QUANTITY},
                 {"visits", LULL_FIT_QUANTITY}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(metric, known[i].end))
            return known[i].kind;
    return LULL_FIT_TIME;
}

const char *lull_fit_kind_name(enum lull_fit_kind kind)
{
    static const char *const names[] = {"time", "throughput", "efficiency", "quantity"};
    return names[kind];
}

struct lull_fit_series *lull_fit_table_series(struct lull_fit_table *table, const char *region,
                                              const char *metric)
{
    /* Files keep to a series for many lines: the last one is the likeliest. */
    for (size_t i = table->n_series; i-- > 0;)
        if (strcmp(table->series[i].region, region) == 0 &&
            strcmp(table->series[i].metric, metric) == 0)
            return &table->series[i];
    table->series = lull_arena_grow(table->arena, table->series, &table->capacity,
                                    table->n_series + 1, sizeof *table->series);
    struct lull_fit_series *series = &table->series[table->n_series++];
    *series = (struct lull_fit_series){.region = lull_arena_strdup(table->arena, region),
                                       .metric = lull_arena_strdup(table->arena, metric),
                                       .unit = "",
                                       .kind = lull_fit_kind_of(metric)};
    return series;
}

lull_status lull_fit_table_add(struct lull_fit_table *table, struct lull_fit_series *series,
                               const double *x, double y, struct lull_error *err)
{
    struct lull_fit_point point = {.y = y, .repetitions = 1};
    for (size_t i = 0; i < table->n_params; i++) {
        if (!(x[i] > 0) || !isfinite(x[i]))
            return lull_fail(err, LULL_ERR_RANGE, "%s is %g, expected a number above 0",
                             table->params[i], x[i]);
        point.x[i] = x[i];
    }
    if (!(y >= 0) || !isfinite(y))
        return lull_fail(err, LULL_ERR_RANGE, "%s is %g, expected a number of 0 or more",
                         *series->metric ? series->metric : "the value", y);
    series->points = lull_arena_grow(table->arena, series->points, &series->capacity,
                                     series->count + 1, sizeof *series->points);
    series->points[series->count++] = point;
    return LULL_OK;
}

const char *lull_fit_series_name(const struct lull_fit_series *series, struct lull_arena *arena)
{
    if (*series->region && *series->metric)
        return lull_arena_printf(arena, "%s of %s", series->metric, series->region);
    return *series->region ? series->region : *series->metric ? series->metric : "value";
}

static int compare_points(const void *left, const void *right)
{
    const struct lull_fit_point *a = left, *b = right;
    for (int i = 0; i < LULL_FIT_PARAMETERS; i++)
        if (a->x[i] != b->x[i])
            return a->x[i] < b->x[i] ? -1 : 1;
    return (a->y > b->y) - (a->y < b->y); /* so that a sum does not depend on the order of lines */
}

static void merge_repetitions(struct lull_fit_series *series)
{
    size_t kept = 0;
    if (series->count)
        qsort(series->points, series->count, sizeof *series->points, compare_points);
    for (size_t i = 0; i < series->count; i++) {
        struct lull_fit_point *last = kept ? &series->points[kept - 1] : NULL;
        if (last && memcmp(last->x, series->points[i].x, sizeof last->x) == 0) {
            last->repetitions++;
            last->y += (series->points[i].y - last->y) / last->repetitions;
        } else {
            series->points[kept++] = series->points[i];
        }
    }
    series->count = kept;
}

void lull_fit_table_finish(struct lull_fit_table *table)
{
    for (size_t i = 0; i < table->n_series; i++)
        merge_repetitions(&table->series[i]);
}
