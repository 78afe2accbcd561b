/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/fit_document.h"

#include "report/document.h"
#include "study/model/fit_study.h"
#include "study/notices.h"
#include "view/document_parts.h"

#include <math.h>
#include <string.h>

enum { FIT_DOUBLINGS = 4 };

/* ==== the chart =============================================================================== */

/* From this ratio of its ends on an axis is logarithmic. */
static const double wide_range = 32;

/* Where the curve ends: at the last prediction that is made. */
static double last_x(const struct lull_fit *fit, const struct lull_fit_show *show,
                     struct lull_arena *arena)
{
    double reach = lull_fit_reach(fit, arena), last = fit->high[0];
    if (show->n_at == 0)
        return fmin(reach, fit->high[0] * (1 << FIT_DOUBLINGS));
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

/* ==== the document ============================================================================ */

struct fit_drawing {
    struct lull_document *document;
    const struct lull_fit_study *study;
    const struct lull_fit *fit;
    const struct lull_fit_model *best;
    const struct lull_fit_show *show;
    struct lull_notices *notices;
    struct lull_arena *arena;
};

/* ---- cells ----------------------------------------------------------------------------------- */

/* The values of the parameters at a point: "4" or "4, 100". */
static const char *place_text(const struct fit_drawing *drawing, const double *x)
{
    const char *text = "";
    for (size_t p = 0; p < drawing->fit->n_params; p++)
        text = lull_arena_printf(drawing->arena, "%s%s%.10g", text, p ? ", " : "", x[p]);
    return text;
}

static const char *parameters_text(const struct fit_drawing *drawing)
{
    const char *text = "";
    for (size_t p = 0; p < drawing->fit->n_params; p++)
        text = lull_arena_printf(drawing->arena, "%s%s%s", text, p ? ", " : "",
                                 drawing->study->table->params[p]);
    return text;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_fit_facts(const struct fit_drawing *drawing)
{
    const struct lull_fit *fit = drawing->fit;
    struct lull_document *document = drawing->document;
    lull_document_fact(document, "y", "Measured",
                       lull_cell_text(lull_fit_series_name(fit->series, drawing->arena)));
    lull_document_fact(document, "kind", "Taken as",
                       lull_cell_text(lull_fit_kind_name(fit->series->kind)));
    lull_document_fact(document, "x", "Over", lull_cell_text(parameters_text(drawing)));
    lull_document_fact(document, "points", "Points", lull_cell_count(fit->series->count));
    lull_document_fact(document, "law", "Law", lull_cell_text(drawing->best->law->name));
    lull_document_fact(document, "formula", "Formula",
                       lull_cell_text(lull_fit_formula(drawing->best, drawing->study->table->params,
                                                       drawing->arena)));
    lull_document_fact(document, "confidence", "Intervals", lull_cell_share(fit->confidence));
    lull_document_fact(document, "errors", "Errors",
                       lull_cell_text(drawing->best->relative ? "relative" : "absolute"));
    if (fit->n_params == 1)
        lull_document_fact(document, "reach", "The data bear up to",
                           lull_number_cell(lull_fit_reach(fit, drawing->arena)));
}

static void add_law(const struct fit_drawing *drawing, struct lull_table *table,
                    const struct lull_fit_model *model)
{
    const struct lull_fit_series *series = drawing->fit->series;
    uint32_t row = lull_table_row(table, model->law->name, model->law->name, LULL_NO_ROW);
    if (model->absent) {
        lull_table_set(table, row, 3, lull_cell_absent(model->absent));
        return;
    }
    const char *formula = lull_fit_formula(model, drawing->study->table->params, drawing->arena);
    lull_table_row_about(table, row, formula);
    lull_table_set(table, row, 3, lull_cell_share(model->cv_error));
    if (model->law->searched) /* of laws that are not searched --list tells the formula */
        lull_table_set(table, row, 4, lull_cell_text(formula));
    for (size_t c = 0; c < model->n_coefficients; c++) {
        const struct lull_fit_coefficient *coefficient = &model->coefficients[c];
        /* The first coefficient has the unit of what was measured; the others, of laws of speedup,
         * are fractions. */
        const char *unit = c == 0 ? series->unit : "";
        const char *id =
            lull_arena_printf(drawing->arena, "%s.%s", model->law->name, coefficient->name);
        uint32_t child = lull_table_row(table, id, coefficient->name, row);
        lull_table_set(table, child, 0, lull_value_cell(coefficient->value, unit));
        lull_table_set(table, child, 1, lull_value_cell(coefficient->low, unit));
        lull_table_set(table, child, 2, lull_value_cell(coefficient->high, unit));
        if (coefficient->bounded)
            lull_table_set(table, child, 4, lull_cell_text("held at its bound"));
    }
}

static void add_laws(const struct fit_drawing *drawing)
{
    struct lull_table *table =
        lull_document_table(drawing->document, "laws", "Laws", LULL_BY_COLUMN);
    lull_table_corner(table, "Law");
    lull_table_column(table, "value", "Value");
    lull_table_column(table, "low", "Low");
    lull_table_column(table, "high", "High");
    lull_table_column(table, "cv_error", "Left-out error");
    lull_table_column(table, "note", "");
    for (size_t m = 0; m < drawing->fit->n_models; m++)
        add_law(drawing, table, &drawing->fit->models[m]);
}

static void add_points(const struct fit_drawing *drawing)
{
    const struct lull_fit_series *series = drawing->fit->series;
    struct lull_table *table =
        lull_document_table(drawing->document, "points",
                            "Measurements, and the interval of a further one", LULL_BY_COLUMN);
    lull_table_corner(table, parameters_text(drawing));
    lull_table_column(table, "measured", "Measured");
    lull_table_column(table, "times", "Times");
    lull_table_column(table, "fitted", "Fitted");
    lull_table_column(table, "low", "Low");
    lull_table_column(table, "high", "High");
    for (size_t i = 0; i < series->count; i++) {
        const struct lull_fit_point *point = &series->points[i];
        struct lull_fit_prediction fitted = lull_fit_predict(drawing->best, point->x);
        const char *place = place_text(drawing, point->x);
        uint32_t row = lull_table_row(table, place, place, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_value_cell(point->y, series->unit));
        lull_table_set(table, row, 1, lull_cell_count((uint64_t)point->repetitions));
        lull_table_set(table, row, 2, lull_value_cell(fitted.value, series->unit));
        lull_table_set(table, row, 3, lull_value_cell(fitted.low, series->unit));
        lull_table_set(table, row, 4, lull_value_cell(fitted.high, series->unit));
    }
}

/* Notes if the intervals have no width, because that does not make the law certain. */
static void tell_exact(const struct fit_drawing *drawing)
{
    static const double rounding = 1e-9;
    const struct lull_fit_series *series = drawing->fit->series;
    for (size_t i = 0; i < series->count; i++) {
        struct lull_fit_prediction fitted = lull_fit_predict(drawing->best, series->points[i].x);
        if (!(fitted.high - fitted.low <= rounding * fabs(fitted.value)))
            return;
    }
    lull_document_note(drawing->document, LULL_NOTE_INFO,
                       "The law meets every measurement to rounding. Its intervals have no width, "
                       "which does not say that it holds where nothing was measured.");
}

static void add_prediction(const struct fit_drawing *drawing, struct lull_table *table,
                           const double *x)
{
    const char *unit = drawing->fit->series->unit, *place = place_text(drawing, x);
    const char *why = lull_fit_not_borne(drawing->fit, x, drawing->arena);
    uint32_t row = lull_table_row(table, place, place, LULL_NO_ROW);
    if (why)
        lull_notices_add(
            drawing->notices, LULL_NOTICE_WARNING,
            "%s = %s: the data do not bear a prediction: %s%s", parameters_text(drawing), place,
            why, drawing->show->extrapolate ? "" : " (--extrapolate makes it all the same)");
    if (why && !drawing->show->extrapolate) {
        for (uint32_t column = 0; column < 3; column++)
            lull_table_set(table, row, column, lull_cell_absent(why));
        return;
    }
    struct lull_fit_prediction prediction = lull_fit_predict(drawing->best, x);
    lull_table_set(table, row, 0, lull_value_cell(prediction.value, unit));
    lull_table_set(table, row, 1, lull_value_cell(prediction.low, unit));
    lull_table_set(table, row, 2, lull_value_cell(prediction.high, unit));
}

static void add_predictions(const struct fit_drawing *drawing)
{
    double reach = drawing->fit->n_params == 1 ? lull_fit_reach(drawing->fit, drawing->arena) : 0;
    if (drawing->show->n_at == 0 && !(2 * drawing->fit->high[0] <= reach))
        return;
    struct lull_table *table =
        lull_document_table(drawing->document, "predictions", "Predictions", LULL_BY_COLUMN);
    lull_table_corner(table, parameters_text(drawing));
    lull_table_column(table, "value", "Value");
    lull_table_column(table, "low", "Low");
    lull_table_column(table, "high", "High");
    for (size_t i = 0; i < drawing->show->n_at; i++)
        add_prediction(drawing, table, drawing->show->at[i]);
    if (drawing->show->n_at > 0)
        return;
    double x[LULL_FIT_PARAMETERS] = {2 * drawing->fit->high[0]};
    for (int i = 0; i < FIT_DOUBLINGS && x[0] <= reach; i++, x[0] *= 2)
        add_prediction(drawing, table, x);
}

/* ---- the parts ------------------------------------------------------------------------------- */

static struct lull_cell turning_cell(const struct fit_drawing *drawing, double x, double reach)
{
    if (isfinite(x))
        return lull_number_cell(x);
    return lull_cell_absent(
        lull_arena_printf(drawing->arena, "not up to %.6g, as far as the data bear", floor(reach)));
}

/* Whether parts have a share of the whole: the time of the whole is drawn, and regions are its
 * parts. */
static bool has_shares(const struct fit_drawing *drawing)
{
    return !*drawing->fit->series->region && drawing->fit->series->kind == LULL_FIT_TIME;
}

static void add_part(const struct fit_drawing *drawing, struct lull_table *table,
                     const struct lull_fit_part *part, bool turns)
{
    const char *name = *part->series->region ? part->series->region : part->series->metric;
    uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
    if (!part->fit) {
        lull_table_set(table, row, 0, lull_cell_absent(part->why_not));
        return;
    }
    const struct lull_fit_model *best = &part->fit->models[part->fit->best];
    const struct lull_fit_series *front = drawing->fit->series;
    double last = part->series->points[part->series->count - 1].y;
    double whole = front->points[front->count - 1].y;
    lull_table_set(table, row, 0, lull_cell_text(best->law->name));
    lull_table_set(
        table, row, 1,
        lull_cell_text(lull_fit_formula(best, drawing->study->table->params, drawing->arena)));
    lull_table_set(table, row, 2, lull_value_cell(last, part->series->unit));
    if (has_shares(drawing) && part->series != front)
        lull_table_set(table, row, 3, lull_cell_share(last / whole));
    if (!turns)
        return;
    double reach = lull_fit_reach(part->fit, drawing->arena);
    struct lull_fit_turning turning = lull_fit_turning(part->fit, reach);
    lull_table_set(table, row, 4, turning_cell(drawing, turning.half, reach));
    lull_table_set(table, row, 5, turning_cell(drawing, turning.peak, reach));
}

static void tell_first_stop(const struct fit_drawing *drawing)
{
    const struct lull_fit_study *study = drawing->study;
    if (study->stops_first == study->n_parts) {
        lull_document_note(drawing->document, LULL_NOTE_INFO,
                           "No region stops scaling as far as the data bear.");
        return;
    }
    const struct lull_fit *fit = study->parts[study->stops_first].fit;
    double half = lull_fit_turning(fit, lull_fit_reach(fit, drawing->arena)).half;
    lull_document_fact(drawing->document, "stops_first", "Stops scaling first",
                       lull_cell_text(fit->series->region));
    lull_document_note(drawing->document, LULL_NOTE_INFO,
                       "%s stops scaling first: its efficiency falls below one half at %s = %.4g.",
                       fit->series->region, study->table->params[0], half);
}

static void add_fitted_parts(const struct fit_drawing *drawing)
{
    const struct lull_fit_study *study = drawing->study;
    bool turns = study->table->n_params == 1 && strcmp(study->table->params[0], "size") != 0;
    if (study->n_parts < 2)
        return;
    struct lull_table *table =
        lull_document_table(drawing->document, "regions", "Regions", LULL_BY_COLUMN);
    lull_table_corner(table, "Region");
    lull_table_column(table, "law", "Law");
    lull_table_column(table, "formula", "Formula");
    lull_table_column(table, "last", "Last measured");
    lull_table_column(table, "share", "Share");
    if (turns) {
        lull_table_column(table, "half", "Efficiency 50 % at");
        lull_table_column(table, "peak", "Best at");
    }
    for (size_t i = 0; i < study->n_parts; i++)
        add_part(drawing, table, &study->parts[i], turns);
    if (turns)
        tell_first_stop(drawing);
}

/* A law that predicts points left out better is not chosen where that may be chance (lull_fit_series_fit). */
static void tell_smaller_error(const struct fit_drawing *drawing)
{
    const struct lull_fit_model *best = drawing->best, *least = best;
    for (size_t m = 0; m < drawing->fit->n_models; m++) {
        const struct lull_fit_model *model = &drawing->fit->models[m];
        if (!model->absent && model->cv_error < least->cv_error)
            least = model;
    }
    if (least->cv_error < 0.99 * best->cv_error) /* else the table prints them nearly alike */
        lull_document_note(
            drawing->document, LULL_NOTE_INFO,
            "%s has the smaller left-out error, %.1f %% beside %.1f %% of %s, but what "
            "it gains over a simpler law may be chance (F test at 5 %%): more points than "
            "%zu decide, or --law.",
            least->law->name, 100 * least->cv_error, 100 * best->cv_error, best->law->name,
            drawing->fit->series->count);
}

struct lull_document *lull_fit_document(const struct lull_fit_study *study,
                                        const struct lull_fit_show *show,
                                        struct lull_notices *notices, struct lull_arena *arena)
{
    const struct fit_drawing drawing = {.document = lull_document_create(arena, "lull-fit/1", ""),
                                        .study = study,
                                        .fit = study->fit,
                                        .best = &study->fit->models[study->fit->best],
                                        .show = show,
                                        .notices = notices,
                                        .arena = arena};
    add_fit_facts(&drawing);
    add_laws(&drawing);
    tell_smaller_error(&drawing);
    add_points(&drawing);
    tell_exact(&drawing);
    add_predictions(&drawing);
    add_fitted_parts(&drawing);
    lull_document_add_notices(drawing.document, notices);
    return drawing.document;
}

struct lull_document *lull_fit_list(struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-fit-list/1", "");
    struct lull_table *table = lull_document_table(document, "laws", "Laws", LULL_BY_COLUMN);
    lull_table_corner(table, "Law");
    lull_table_column(table, "points", "Values needed");
    lull_table_column(table, "time", "Time at P processes");
    lull_table_column(table, "summary", "What it says");
    for (size_t l = 0; lull_fit_laws[l]; l++) {
        const struct lull_fit_law *law = lull_fit_laws[l];
        const struct lull_fit_model model = {.law = law, .n_params = 1, .n_coefficients = 1};
        uint32_t row = lull_table_row(table, law->name, law->name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(law->least_values));
        if (!law->searched)
            lull_table_set(
                table, row, 1,
                lull_cell_text(lull_fit_formula(&model, (const char *const[]){"P"}, arena)));
        lull_table_set(table, row, 2, lull_cell_text(law->summary));
    }
    return document;
}
