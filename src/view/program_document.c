/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/program_document.h"

#include "report/document.h"
#include "study/model/program_study.h"
#include "view/document_parts.h"

#include <math.h>
#include <string.h>

/* ==== the document of a model ================================================================= */

struct program_drawing {
    struct lull_document *document;
    const struct lull_program_study *study;
    const struct lull_program_model *model;
    const struct lull_model_sweep *sweep;
    struct lull_arena *arena;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* A value of a parameter. */
static struct lull_cell parameter_cell(const struct lull_model_parameter *parameter, double value)
{
    static const char *const with_prefix[] = {"s", "B", "B/s", "flop/s", "flop", "Hz", NULL};
    if (parameter->choices)
        return lull_cell_text(parameter->choices[(size_t)value]);
    for (const char *const *unit = with_prefix; *unit; unit++)
        if (strcmp(*unit, parameter->unit) == 0)
            return lull_cell_quantity(value, parameter->unit);
    return value == floor(value) && fabs(value) < 1e15 ? lull_cell_number(value, 0)
                                                       : lull_number_cell(value);
}

/* A number of messages. It may have decimals if the model does not count iterations. */
static struct lull_cell times_cell(double number)
{
    return number == floor(number) && number < 0x1p63 ? lull_cell_count((uint64_t)number)
                                                      : lull_number_cell(number);
}

static const char *point_text(const struct program_drawing *drawing, size_t point)
{
    const struct lull_model_sweep *sweep = drawing->sweep;
    const char *text = "";
    for (size_t a = 0; a < sweep->n_axes; a++) {
        const struct lull_model_parameter *parameter =
            &drawing->model->parameters[sweep->axes[a].parameter];
        double value = lull_model_sweep_value(sweep, a, point);
        text = parameter->choices
                   ? lull_arena_printf(drawing->arena, "%s%s%s", text, a ? ", " : "",
                                       parameter->choices[(size_t)value])
                   : lull_arena_printf(drawing->arena, "%s%s%.10g", text, a ? ", " : "", value);
    }
    return text;
}

static const char *axes_text(const struct program_drawing *drawing)
{
    const char *text = "";
    for (size_t a = 0; a < drawing->sweep->n_axes; a++)
        text =
            lull_arena_printf(drawing->arena, "%s%s%s", text, a ? ", " : "",
                              drawing->model->parameters[drawing->sweep->axes[a].parameter].name);
    return text;
}

/* The name of a variant, such as "2-D"; "all" if it is the only one and has none. */
static const char *variant_name(const struct program_drawing *drawing, uint32_t variant)
{
    const char *name = drawing->sweep->variants[variant].name;
    return *name ? name : "all";
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Adds the columns "low" and "high" of an interval. */
static void program_add_interval(struct lull_table *table)
{
    lull_table_column(table, "low", "Low");
    lull_table_column(table, "high", "High");
}

static void program_set_interval(struct lull_table *table, uint32_t row, uint32_t column,
                                 double seconds, double uncertainty)
{
    static const char why[] =
        "the runs are too few, too different, or met to rounding: it is not known";
    bool is_known = isfinite(uncertainty);
    lull_table_set(table, row, column,
                   is_known ? lull_cell_quantity(seconds / (1 + uncertainty), "s")
                            : lull_cell_absent(why));
    lull_table_set(table, row, column + 1,
                   is_known ? lull_cell_quantity(seconds * (1 + uncertainty), "s")
                            : lull_cell_absent(why));
}

static void tell_interval(const struct program_drawing *drawing)
{
    if (drawing->model->has_uncertainty)
        lull_document_note(drawing->document, LULL_NOTE_INFO,
                           "Low and High: between them 95 of 100 runs are expected, by what the "
                           "model says of its uncertainty, if its terms hold there.");
}

/* ---- parameters ------------------------------------------------------------------------------ */

static bool is_swept(const struct program_drawing *drawing, uint32_t parameter)
{
    for (size_t a = 0; a < drawing->sweep->n_axes; a++)
        if (drawing->sweep->axes[a].parameter == parameter)
            return true;
    return false;
}

static const char *source_text(const struct program_drawing *drawing, uint32_t index)
{
    const struct lull_model_parameter *parameter = &drawing->model->parameters[index];
    if (is_swept(drawing, index))
        return "--sweep";
    switch (parameter->source) {
    case LULL_PARAMETER_SET:
        return "--set";
    case LULL_PARAMETER_MACHINE:
        return lull_arena_printf(drawing->arena, "machine: %s", parameter->machine);
    case LULL_PARAMETER_CALIBRATED:
        return lull_arena_printf(drawing->arena, "calibrated: %s", parameter->origin);
    default:
        return parameter->choices && drawing->sweep->n_variants > 1 ? "every choice" : "the model";
    }
}

static const char *choices_text(const struct program_drawing *drawing,
                                const struct lull_model_parameter *parameter)
{
    const char *text = "";
    for (uint32_t c = 0; c < parameter->n_choices; c++)
        text =
            lull_arena_printf(drawing->arena, "%s%s%s", text, c ? ", " : "", parameter->choices[c]);
    return text;
}

static void set_interval(struct lull_table *table, uint32_t row,
                         const struct lull_model_parameter *parameter)
{
    static const char why[] = "as many free parameters as measured times";
    bool is_known = isfinite(parameter->low) && isfinite(parameter->high);
    lull_table_set(table, row, 1,
                   is_known ? parameter_cell(parameter, parameter->low) : lull_cell_absent(why));
    lull_table_set(table, row, 2,
                   is_known ? parameter_cell(parameter, parameter->high) : lull_cell_absent(why));
}

static void add_program_parameters(const struct program_drawing *drawing)
{
    struct lull_table *table =
        lull_document_table(drawing->document, "parameters", "Parameters", LULL_BY_ROW);
    bool has_intervals = drawing->study->n_free > 0;
    lull_table_corner(table, "Parameter");
    lull_table_column(table, "value", "Value");
    if (has_intervals) {
        lull_table_column(table, "low", "Low");
        lull_table_column(table, "high", "High");
    }
    uint32_t unit = lull_table_column(table, "unit", "Unit");
    lull_table_column(table, "from", "From");
    lull_table_column(table, "about", "What it is");
    for (uint32_t p = 0; p < drawing->model->n_parameters; p++) {
        const struct lull_model_parameter *parameter = &drawing->model->parameters[p];
        bool is_varied = parameter->choices && parameter->source == LULL_PARAMETER_DEFAULT &&
                         drawing->sweep->n_variants > 1;
        uint32_t row = lull_table_row(table, parameter->name, parameter->name, LULL_NO_ROW);
        if (is_varied)
            lull_table_set(table, row, 0, lull_cell_text(choices_text(drawing, parameter)));
        else if (!is_swept(drawing, p))
            lull_table_set(table, row, 0, parameter_cell(parameter, parameter->value));
        lull_table_set(table, row, unit,
                       lull_cell_text(strcmp(parameter->unit, "1") ? parameter->unit : ""));
        lull_table_set(table, row, unit + 1, lull_cell_text(source_text(drawing, p)));
        lull_table_set(table, row, unit + 2, lull_cell_text(parameter->about));
        if (parameter->source == LULL_PARAMETER_CALIBRATED)
            set_interval(table, row, parameter);
    }
}

/* ---- one point ------------------------------------------------------------------------------- */

enum {
    COLUMN_TIME,
    COLUMN_SHARE,
    COLUMN_LIMIT,
    COLUMN_SPEEDUP,
    COLUMN_EFFICIENCY,
    COLUMN_MESSAGES,
    COLUMN_BYTES,
    COLUMN_COLLECTIVES,
    COLUMN_SIMULATED,
    COLUMN_DIFFERENCE
};

static void set_cost(struct lull_table *table, uint32_t row, const struct lull_term_cost *cost)
{
    lull_table_set(table, row, COLUMN_TIME, lull_cell_quantity(cost->seconds, "s"));
    if (cost->seconds > 0)
        lull_table_set(table, row, COLUMN_LIMIT,
                       lull_cell_text(lull_resource_name(lull_model_limit(cost))));
    lull_table_set(table, row, COLUMN_MESSAGES, times_cell(cost->messages));
    lull_table_set(table, row, COLUMN_BYTES, times_cell(cost->bytes));
    lull_table_set(table, row, COLUMN_COLLECTIVES, times_cell(cost->collectives));
}

static void set_simulated(struct lull_table *table, uint32_t row, double seconds, double closed)
{
    lull_table_set(table, row, COLUMN_SIMULATED, lull_cell_quantity(seconds, "s"));
    if (closed > 0)
        lull_table_set(table, row, COLUMN_DIFFERENCE, lull_cell_share(seconds / closed - 1));
}

static void add_term_rows(const struct program_drawing *drawing, struct lull_table *table,
                          uint32_t variant, uint32_t parent)
{
    const struct lull_program_model *model = drawing->model;
    const struct lull_model_point *point = &drawing->sweep->points[variant][0];
    for (uint32_t t = 0; t < model->n_terms; t++) {
        const struct lull_term_cost *cost = &point->terms[t];
        if (t == model->waiting && cost->seconds == 0) /* each process has a core of its own */
            continue;
        const char *id = lull_arena_printf(drawing->arena, "%s.%s", variant_name(drawing, variant),
                                           model->terms[t].name);
        uint32_t row = lull_table_row(table, id, model->terms[t].name, parent);
        set_cost(table, row, cost);
        if (point->total.seconds > 0)
            lull_table_set(table, row, COLUMN_SHARE,
                           lull_cell_share(cost->seconds / point->total.seconds));
        if (drawing->study->simulations)
            set_simulated(table, row, drawing->study->simulations[variant][0].terms[t],
                          cost->seconds);
    }
}

static void add_program_point(const struct program_drawing *drawing)
{
    struct lull_table *table = lull_document_table(
        drawing->document, "terms",
        drawing->model->iterations == LULL_MODEL_NONE ? "Time of an iteration" : "Time of the run",
        LULL_BY_COLUMN);
    lull_table_corner(table, "Term");
    lull_table_column(table, "time", "Time");
    lull_table_column(table, "share", "Share");
    lull_table_column(table, "limit", "Limited by");
    lull_table_column(table, "speedup", "Speedup");
    lull_table_column(table, "efficiency", "Efficiency");
    lull_table_column(table, "messages", "Messages");
    lull_table_column(table, "bytes", "Bytes");
    lull_table_column(table, "collectives", "Collective\ncalls");
    if (drawing->study->simulations) {
        lull_table_column(table, "simulated", "Simulated");
        lull_table_column(table, "difference", "Difference");
    }
    if (drawing->model->has_uncertainty)
        program_add_interval(table);
    for (uint32_t v = 0; v < drawing->sweep->n_variants; v++) {
        const struct lull_model_point *point = &drawing->sweep->points[v][0];
        const char *name = variant_name(drawing, v);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        set_cost(table, row, &point->total);
        lull_table_set(table, row, COLUMN_SPEEDUP, lull_number_cell(point->speedup));
        lull_table_set(table, row, COLUMN_EFFICIENCY, lull_cell_efficiency(point->efficiency));
        if (drawing->study->simulations)
            set_simulated(table, row, drawing->study->simulations[v][0].seconds,
                          point->total.seconds);
        if (drawing->model->has_uncertainty)
            program_set_interval(
                table, row, drawing->study->simulations ? COLUMN_DIFFERENCE + 1 : COLUMN_SIMULATED,
                point->total.seconds, point->uncertainty);
        add_term_rows(drawing, table, v, row);
    }
}

static void add_resources(const struct program_drawing *drawing)
{
    struct lull_table *table = lull_document_table(drawing->document, "resources",
                                                   "What the time is spent on", LULL_BY_COLUMN);
    lull_table_corner(table, "Resource");
    for (uint32_t v = 0; v < drawing->sweep->n_variants; v++)
        lull_table_column(table, variant_name(drawing, v), variant_name(drawing, v));
    for (unsigned r = 0; r < LULL_RESOURCES; r++) {
        double most = 0;
        for (uint32_t v = 0; v < drawing->sweep->n_variants; v++)
            most = fmax(most, drawing->sweep->points[v][0].total.parts[r]);
        if (most == 0)
            continue;
        uint32_t row =
            lull_table_row(table, lull_resource_name(r), lull_resource_name(r), LULL_NO_ROW);
        for (uint32_t v = 0; v < drawing->sweep->n_variants; v++) {
            const struct lull_term_cost *total = &drawing->sweep->points[v][0].total;
            lull_table_set(table, row, v, lull_cell_share(total->parts[r] / total->seconds));
        }
    }
}

/* ---- a sweep --------------------------------------------------------------------------------- */

static void add_sweep_columns(const struct program_drawing *drawing, struct lull_table *table)
{
    static const struct {
        const char *id, *heading;
    } columns[] = {
        {"time", "Time"},        {"speedup", "Speedup"},     {"efficiency", "Efficiency"},
        {"limit", "Limited by"}, {"simulated", "Simulated"}, {"low", "Low"},
        {"high", "High"}};
    for (uint32_t v = 0; v < drawing->sweep->n_variants; v++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            if (c == 4 ? !drawing->study->simulations : c > 4 && !drawing->model->has_uncertainty)
                continue;
            const char *name = drawing->sweep->variants[v].name;
            const char *id =
                lull_arena_printf(drawing->arena, "%s%s%s", name, *name ? "." : "", columns[c].id);
            const char *heading = lull_arena_printf(drawing->arena, "%s%s%s", name,
                                                    *name ? "\n" : "", columns[c].heading);
            lull_table_column(table, id, heading);
        }
    if (drawing->sweep->n_variants > 1)
        lull_table_column(table, "best", "Best");
}

static void add_program_sweep(const struct program_drawing *drawing)
{
    const struct lull_model_sweep *sweep = drawing->sweep;
    struct lull_table *table = lull_document_table(
        drawing->document, "sweep",
        drawing->model->iterations == LULL_MODEL_NONE ? "Time of an iteration" : "Time of the run",
        LULL_BY_COLUMN);
    lull_table_corner(table, axes_text(drawing));
    add_sweep_columns(drawing, table);
    for (size_t i = 0; i < sweep->n_points; i++) {
        const char *place = point_text(drawing, i);
        uint32_t row = lull_table_row(table, place, place, LULL_NO_ROW), column = 0;
        for (uint32_t v = 0; v < sweep->n_variants; v++) {
            const struct lull_model_point *point = &sweep->points[v][i];
            lull_table_set(table, row, column++, lull_cell_quantity(point->total.seconds, "s"));
            lull_table_set(table, row, column++, lull_number_cell(point->speedup));
            lull_table_set(table, row, column++, lull_cell_efficiency(point->efficiency));
            lull_table_set(table, row, column++, lull_cell_text(lull_resource_name(point->limit)));
            if (drawing->study->simulations)
                lull_table_set(table, row, column++,
                               lull_cell_quantity(drawing->study->simulations[v][i].seconds, "s"));
            if (drawing->model->has_uncertainty) {
                program_set_interval(table, row, column, point->total.seconds, point->uncertainty);
                column += 2;
            }
        }
        if (sweep->n_variants > 1)
            lull_table_set(table, row, column,
                           lull_cell_text(sweep->variants[sweep->best[i]].name));
    }
}

static void add_changes(const struct program_drawing *drawing)
{
    const struct lull_model_sweep *sweep = drawing->sweep;
    if (sweep->n_changes == 0)
        return;
    struct lull_table *table =
        lull_document_table(drawing->document, "changes", "Where that changes", LULL_BY_COLUMN);
    const struct lull_model_parameter *parameter =
        &drawing->model->parameters[sweep->axes[0].parameter];
    lull_table_corner(table, "");
    lull_table_column(table, "from", "Until then");
    lull_table_column(table, "to", "From there on");
    lull_table_column(table, "at", lull_arena_printf(drawing->arena, "At %s", parameter->name));
    for (size_t i = 0; i < sweep->n_changes; i++) {
        const struct lull_model_change *change = &sweep->changes[i];
        const char *name = sweep->variants[change->variant].name;
        const char *label = change->is_best ? "best"
                                            : lull_arena_printf(drawing->arena, "%s%slimited by",
                                                                name, *name ? " " : "");
        uint32_t row = lull_table_row(table, label, label, LULL_NO_ROW);
        lull_table_set(table, row, 0,
                       lull_cell_text(change->is_best ? sweep->variants[change->from].name
                                                      : lull_resource_name(change->from)));
        lull_table_set(table, row, 1,
                       lull_cell_text(change->is_best ? sweep->variants[change->to].name
                                                      : lull_resource_name(change->to)));
        lull_table_set(table, row, 2, parameter_cell(parameter, change->at));
    }
}

/* ---- what matters most ----------------------------------------------------------------------- */

static struct lull_cell factor_change_cell(double factor)
{
    return isnan(factor) ? lull_cell_absent("the model has no value there")
                         : lull_cell_share(factor - 1);
}

static void add_sensitivities(const struct program_drawing *drawing)
{
    const struct lull_model_sweep *sweep = drawing->sweep;
    size_t last = sweep->n_points - 1;
    const char *name = sweep->variants[sweep->best[last]].name;
    const char *title = "What matters most: change of the time";
    if (*name)
        title = lull_arena_printf(drawing->arena, "%s of %s", title, name);
    if (sweep->n_axes > 0)
        title = lull_arena_printf(drawing->arena, "%s at %s = %s", title, axes_text(drawing),
                                  point_text(drawing, last));
    struct lull_table *table =
        lull_document_table(drawing->document, "sensitivity", title, LULL_BY_COLUMN);
    lull_table_corner(table, "Parameter");
    lull_table_column(table, "doubled", "Twice as large");
    lull_table_column(table, "halved", "Half as large");
    for (size_t i = 0; i < drawing->study->n_sensitivities; i++) {
        const struct lull_model_sensitivity *sensitivity = &drawing->study->sensitivities[i];
        const char *parameter = drawing->model->parameters[sensitivity->parameter].name;
        uint32_t row = lull_table_row(table, parameter, parameter, LULL_NO_ROW);
        lull_table_set(table, row, 0, factor_change_cell(sensitivity->doubled));
        lull_table_set(table, row, 1, factor_change_cell(sensitivity->halved));
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_program_facts(const struct program_drawing *drawing)
{
    const struct lull_model_sweep *sweep = drawing->sweep;
    lull_document_fact(drawing->document, "model", "Model", lull_cell_text(drawing->model->title));
    if (sweep->n_axes == 0)
        lull_document_fact(drawing->document, "processes", "Processes",
                           times_cell(sweep->variants[0].values[drawing->model->processes]));
    if (sweep->n_axes == 0 && sweep->n_variants > 1)
        lull_document_fact(drawing->document, "best", "Best",
                           lull_cell_text(sweep->variants[sweep->best[0]].name));
}

static void tell_replaced(const struct program_drawing *drawing)
{
    if (!drawing->study->simulations)
        return;
    for (uint32_t t = 0; t < drawing->model->n_terms; t++)
        if (drawing->study->simulations[0][0].as_computation[t])
            lull_document_note(
                drawing->document, LULL_NOTE_INFO,
                "Term '%s' is simulated as a computation of its time: it is no plain "
                "sum of primitives.",
                drawing->model->terms[t].name);
}

static void program_add_runs(struct lull_document *document, const struct lull_program_study *study,
                             struct lull_arena *arena);

struct lull_document *lull_program_document(const struct lull_program_study *study,
                                            const struct lull_notices *notices,
                                            struct lull_arena *arena)
{
    const struct program_drawing drawing = {
        .document = lull_document_create(arena, "lull-model-program/1", ""),
        .study = study,
        .model = study->model,
        .sweep = &study->sweep,
        .arena = arena};
    add_program_facts(&drawing);
    add_program_parameters(&drawing);
    if (study->n_against > 0)
        program_add_runs(drawing.document, study, arena);
    if (study->sweep.n_axes == 0) {
        add_program_point(&drawing);
        add_resources(&drawing);
    } else {
        add_program_sweep(&drawing);
        add_changes(&drawing);
    }
    add_sensitivities(&drawing);
    tell_interval(&drawing);
    tell_replaced(&drawing);
    if (study->n_free > 0 && isfinite(study->calibration.residual))
        lull_document_note(drawing.document, LULL_NOTE_INFO,
                           "Calibrated with %zu measured times of terms, which it meets within "
                           "%.1f %% (root mean square).",
                           study->calibration.n_points, 100 * study->calibration.residual);
    lull_document_add_notices(drawing.document, notices);
    return drawing.document;
}

/* ==== predictions beside measured runs ======================================================== */

enum { RUN_PREDICTED, RUN_MEASURED, RUN_ERROR, RUN_LOW };

static void set_pair(struct lull_table *table, uint32_t row, struct lull_cell predicted,
                     struct lull_cell measured, double error)
{
    lull_table_set(table, row, RUN_PREDICTED, predicted);
    lull_table_set(table, row, RUN_MEASURED, measured);
    if (isfinite(error))
        lull_table_set(table, row, RUN_ERROR, lull_cell_share(error));
}

static const char *why_not_measured(const struct lull_program_model *model, uint32_t term)
{
    if (term == model->waiting)
        return "a part of the time in calls of MPI, too";
    return model->terms[term].regions ? "none of its regions is in the run"
                                      : "the model names no regions of runs";
}

static void add_times(struct lull_table *table, const struct lull_program_model *model,
                      const struct lull_model_run *run, uint32_t parent, struct lull_arena *arena)
{
    double rest = run->seconds;
    for (uint32_t t = 0; t < model->n_terms; t++) {
        double predicted = run->predicted[t].seconds, measured = run->terms[t];
        if (t == model->waiting && predicted == 0) /* each process has a core of its own */
            continue;
        const char *id = lull_arena_printf(arena, "%s.%s", run->name, model->terms[t].name);
        uint32_t row = lull_table_row(table, id, model->terms[t].name, parent);
        set_pair(table, row, lull_cell_quantity(predicted, "s"),
                 isnan(measured) ? lull_cell_absent(why_not_measured(model, t))
                                 : lull_cell_quantity(measured, "s"),
                 measured > 0 ? predicted / measured - 1 : NAN);
        rest -= isnan(measured) ? 0 : measured;
    }
    uint32_t row = lull_table_row(table, lull_arena_printf(arena, "%s#rest", run->name),
                                  "outside of all terms", parent);
    lull_table_set(table, row, RUN_MEASURED, lull_cell_quantity(rest, "s"));
}

static void add_count(struct lull_table *table, const struct lull_model_run *run, const char *key,
                      double predicted, double measured, uint32_t parent, struct lull_arena *arena)
{
    const char *id = lull_arena_printf(arena, "%s#%s", run->name, key);
    uint32_t row = lull_table_row(table, id, key, parent);
    set_pair(table, row, times_cell(predicted), times_cell(measured),
             measured > 0    ? predicted / measured - 1
             : predicted > 0 ? NAN
                             : 0);
}

static void add_run(struct lull_table *table, const struct lull_program_model *model,
                    const struct lull_model_run *run, struct lull_arena *arena)
{
    struct lull_term_cost total = lull_model_total(model, run->predicted);
    uint32_t row = lull_table_row(
        table, run->name, lull_arena_printf(arena, "%s (%u processes)", run->name, run->processes),
        LULL_NO_ROW);
    set_pair(table, row, lull_cell_quantity(total.seconds, "s"),
             lull_cell_quantity(run->seconds, "s"), total.seconds / run->seconds - 1);
    if (model->has_uncertainty)
        program_set_interval(table, row, RUN_LOW, total.seconds, run->uncertainty);
    add_times(table, model, run, row, arena);
    if (!run->has_messages)
        return;
    add_count(table, run, "messages", total.messages, run->messages, row, arena);
    add_count(table, run, "bytes", total.bytes, run->bytes, row, arena);
    add_count(table, run, "collective calls", total.collectives, run->collectives, row, arena);
}

/* Adds the table "against": runs and their terms. */
static void program_add_runs(struct lull_document *document, const struct lull_program_study *study,
                             struct lull_arena *arena)
{
    struct lull_table *table = lull_document_table(
        document, "against", "Predicted and measured, of a process on average", LULL_BY_COLUMN);
    lull_table_corner(table, "Run");
    lull_table_column(table, "predicted", "Predicted");
    lull_table_column(table, "measured", "Measured");
    lull_table_column(table, "error", "Error");
    if (study->model->has_uncertainty)
        program_add_interval(table);
    for (uint32_t i = 0; i < study->n_against; i++)
        add_run(table, study->model, &study->against[i], arena);
}

/* ==== the chart =============================================================================== */

/* From this ratio of its ends on an axis is logarithmic. */
static const double wide_sweep_range = 32;

struct view {
    const struct lull_program_study *study;
    const struct lull_model_axis *axis;
    enum lull_program_drawing drawing;
    struct lull_chart *chart;
    struct lull_chart_point *points; /* [n_points]; filled again for each series */
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

/* The variant whose terms are drawn: the best one at the last point. */
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

/* Adds a series for each term. False: the terms were not kept. */
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
