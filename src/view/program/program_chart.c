#include "view/program/program_chart.h"

#include <math.h>

/* From here on an axis is logarithmic. */
static const double wide_sweep_range = 32;

struct view {
    const struct lull_program_study *study;
    const struct lull_model_axis *axis;
    enum lull_program_drawing drawing;
    struct lull_chart *chart;
    struct lull_chart_point *points; /* [n_points], filled again for each series */
};

static double value_of(const struct view *view, const struct lull_model_point *point)
{
    switch (view->drawing) {
    case LULL_DRAW_SPEEDUP:
        return point->speedup;
    case LULL_DRAW_EFFICIENCY:
        return point->efficiency;
    default:
        return point->total.seconds;
    }
}

static void add_variants(const struct view *view)
{
    const struct lull_model_sweep *sweep = &view->study->sweep;
    for (uint32_t v = 0; v < sweep->n_variants; v++) {
        const char *name = sweep->variants[v].name;
        for (size_t i = 0; i < sweep->n_points; i++)
            view->points[i] = (struct lull_chart_point){
                view->axis->values[i], value_of(view, &sweep->points[v][i]), NAN, NAN};
        lull_chart_series(view->chart, *name ? name : "model", LULL_CHART_LINE, view->points,
                          sweep->n_points);
        if (!view->study->simulations || view->drawing != LULL_DRAW_TIME)
            continue;
        for (size_t i = 0; i < sweep->n_points; i++)
            view->points[i].y = view->study->simulations[v][i].seconds;
        lull_chart_series(view->chart, "simulated", LULL_CHART_CURVE, view->points,
                          sweep->n_points);
    }
}

static void add_ideal(const struct view *view)
{
    for (size_t i = 0; i < view->study->sweep.n_points; i++)
        view->points[i] =
            (struct lull_chart_point){view->axis->values[i], view->axis->values[i], NAN, NAN};
    lull_chart_series(view->chart, "ideal", LULL_CHART_LINE, view->points,
                      view->study->sweep.n_points);
}

/* The variant whose terms are drawn: that which is best at the last point. */
static uint32_t drawn_variant(const struct lull_model_sweep *sweep)
{
    return sweep->best[sweep->n_points - 1];
}

static const char *title_of(const struct lull_program_study *study, bool of_terms,
                            struct lull_arena *arena)
{
    const char *variant = study->sweep.variants[drawn_variant(&study->sweep)].name;
    return of_terms && *variant ? lull_arena_printf(arena, "%s, %s", study->model->title, variant)
                                : study->model->title;
}

/* False where single terms were not kept. */
static bool add_term_series(const struct view *view)
{
    const struct lull_program_model *model = view->study->model;
    const struct lull_model_sweep *sweep = &view->study->sweep;
    const struct lull_model_point *points = sweep->points[drawn_variant(sweep)];
    for (uint32_t t = 0; t < model->n_terms; t++) {
        double most = 0;
        for (size_t i = 0; i < sweep->n_points; i++) {
            if (!points[i].terms)
                return false;
            view->points[i] = (struct lull_chart_point){view->axis->values[i],
                                                        points[i].terms[t].seconds, NAN, NAN};
            most = fmax(most, points[i].terms[t].seconds);
        }
        if (t == model->waiting && most == 0)
            continue;
        lull_chart_series(view->chart, model->terms[t].name, LULL_CHART_LINE, view->points,
                          sweep->n_points);
    }
    return true;
}

const struct lull_chart *lull_program_chart(const struct lull_program_study *study,
                                            enum lull_program_drawing drawing,
                                            struct lull_arena *arena)
{
    static const char *const labels[] = {"", "time", "speedup", "efficiency", "time"};
    const struct lull_model_sweep *sweep = &study->sweep;
    const struct lull_program_model *model = study->model;
    if (sweep->n_axes != 1 || model->parameters[sweep->axes[0].parameter].choices)
        return NULL;
    const struct lull_model_parameter *parameter = &model->parameters[sweep->axes[0].parameter];
    bool is_processes = sweep->axes[0].parameter == model->processes;
    if (drawing == LULL_DRAW_USUAL)
        drawing = is_processes ? LULL_DRAW_SPEEDUP : LULL_DRAW_TIME;
    const struct view view = {
        .study = study,
        .axis = &sweep->axes[0],
        .drawing = drawing,
        .chart = lull_chart_create(arena, title_of(study, drawing == LULL_DRAW_TERMS, arena)),
        .points = lull_arena_zero(arena, sweep->n_points, sizeof *view.points)};
    double first = view.axis->values[0], last = view.axis->values[sweep->n_points - 1];
    bool is_wide = first > 0 && last / first > wide_sweep_range;
    bool is_time = drawing == LULL_DRAW_TIME || drawing == LULL_DRAW_TERMS;
    bool is_plain = parameter->unit[0] == '1' && parameter->unit[1] == '\0';
    lull_chart_x_axis(view.chart, parameter->name, is_plain ? "" : parameter->unit,
                      is_wide ? LULL_CHART_LOG : LULL_CHART_LINEAR);
    lull_chart_y_axis(view.chart, labels[drawing], is_time ? "s" : "",
                      is_wide && drawing != LULL_DRAW_EFFICIENCY ? LULL_CHART_LOG
                                                                 : LULL_CHART_LINEAR);
    if (drawing == LULL_DRAW_TERMS)
        return add_term_series(&view) ? view.chart : NULL;
    add_variants(&view);
    if (drawing == LULL_DRAW_SPEEDUP && is_processes)
        add_ideal(&view);
    return view.chart;
}
