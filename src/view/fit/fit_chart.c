#include "view/fit/fit_chart.h"

#include <math.h>

/* From here on an axis is logarithmic. */
static const double wide_range = 32;

/* Where the curve ends: at the last prediction that is made. */
static double last_x(const struct lull_fit *fit, const struct lull_fit_show *show,
                     struct lull_arena *arena)
{
    double reach = lull_fit_reach(fit, arena), last = fit->high[0];
    if (show->n_at == 0)
        return fmin(reach, fit->high[0] * (1 << LULL_FIT_DOUBLINGS));
    for (size_t i = 0; i < show->n_at; i++)
        if (show->extrapolate || show->at[i][0] <= reach)
            last = fmax(last, show->at[i][0]);
    return last;
}

static void add_measurements(struct lull_chart *chart, const struct lull_fit_series *series,
                             struct lull_arena *arena)
{
    struct lull_chart_point *points = lull_arena_zero(arena, series->count, sizeof *points);
    for (size_t i = 0; i < series->count; i++)
        points[i] =
            (struct lull_chart_point){series->points[i].x[0], series->points[i].y, NAN, NAN};
    lull_chart_series(chart, "measured", LULL_CHART_POINTS, points, series->count);
}

static void add_curve(struct lull_chart *chart, const struct lull_fit *fit, double last,
                      struct lull_arena *arena)
{
    enum { CURVE_STEPS = 200 };
    const struct lull_fit_model *best = &fit->models[fit->best];
    struct lull_chart_point curve[CURVE_STEPS + 1];
    for (int i = 0; i <= CURVE_STEPS; i++) {
        double x = fit->low[0] * pow(last / fit->low[0], (double)i / CURVE_STEPS);
        struct lull_fit_prediction prediction = lull_fit_predict(best, &x);
        curve[i] = (struct lull_chart_point){x, prediction.value, prediction.low, prediction.high};
    }
    lull_chart_series(chart, best->law->name, LULL_CHART_CURVE, curve, CURVE_STEPS + 1);
    lull_chart_series(
        chart, lull_arena_printf(arena, "%g %% of further measurements", 100 * fit->confidence),
        LULL_CHART_BAND, curve, CURVE_STEPS + 1);
}

const struct lull_chart *lull_fit_chart(const struct lull_fit_study *study,
                                        const struct lull_fit_show *show, struct lull_arena *arena)
{
    const struct lull_fit *fit = study->fit;
    const struct lull_fit_series *series = fit->series;
    if (fit->n_params > 1)
        return NULL;
    const char *name = lull_fit_series_name(series, arena), *param = study->table->params[0];
    const char *formula = lull_fit_formula(&fit->models[fit->best], study->table->params, arena);
    struct lull_chart *chart =
        lull_chart_create(arena, lull_arena_printf(arena, "%s = %s", name, formula));
    double last = last_x(fit, show, arena);
    bool wide = last / fit->low[0] > wide_range;
    lull_chart_x_axis(chart, param, "", wide ? LULL_CHART_LOG : LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, name, series->unit,
                      wide && series->kind == LULL_FIT_TIME ? LULL_CHART_LOG : LULL_CHART_LINEAR);
    add_measurements(chart, series, arena);
    add_curve(chart, fit, last, arena);
    if (last > fit->high[0])
        lull_chart_mark(chart, fit->high[0], "measured up to here");
    return chart;
}
