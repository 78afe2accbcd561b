/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/kernel_document.h"

#include "model/kernel/predict.h"
#include "report/document.h"
#include "view/document_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== what all documents say ================================================================== */

/* What the documents of one prediction and of a sweep have in common. */

/* What the prediction of a nest of several innermost loops means. */
#define KERNEL_SUM_NOTE                                                                       \
    "The nest is the sum of its innermost loops, each predicted on its own: what one leaves " \
    "in the caches for the next counts in the simulation, not in the layer conditions."

/* The unit of performance: "flop/s", or "it/s" of a kernel without floating-point operations. */
static const char *kernel_rate_unit(const struct lull_kernel_prediction *prediction)
{
    return prediction->flops > 0 ? "flop/s" : "it/s";
}

static const char *kernel_machine_text(const struct lull_machine *machine)
{
    const char *label = lull_machine_label(machine);
    return label ? label : "unnamed";
}

static const char *in_core_text(const struct lull_incore *incore, struct lull_arena *arena)
{
    switch (incore->source) {
    case LULL_INCORE_GIVEN:
        return "given";
    case LULL_INCORE_ESTIMATE:
        return "rough estimate from counted instructions";
    case LULL_INCORE_MCA:
        break;
    }
    return lull_arena_printf(arena, "llvm-mca for %s", incore->cpu);
}

/* Cycles with one decimal, "16.9", or without if that would be a zero, "7". */
static const char *cycles_text(double cycles, struct lull_arena *arena)
{
    return lull_arena_printf(arena, "%.*f", fabs(cycles - round(cycles)) < 0.05 ? 0 : 1, cycles);
}

/* The parts of the ECM model, {T_OL || T_nOL | a link to each cache and memory}: "{2 || 4 | 6.7 |
 * 10 | 16.9} cy". */
static const char *kernel_tuple_text(const struct lull_kernel_prediction *prediction,
                                     struct lull_arena *arena)
{
    const struct lull_ecm *ecm = &prediction->ecm;
    const char *text = lull_arena_printf(arena, "{%s || %s", cycles_text(ecm->t_ol, arena),
                                         cycles_text(ecm->t_nol, arena));
    for (size_t i = 0; i < ecm->n_links; i++)
        text = lull_arena_printf(arena, "%s | %s", text, cycles_text(ecm->links[i].cycles, arena));
    return lull_arena_printf(arena, "%s} cy", text);
}

/* The predicted cycles with the data in the first cache, the second, ...: "{7 ] 7 ] 14 ] 32.4}
 * cy"; as all predictions not below the loop-carried chain. */
static const char *kernel_ladder_text(const struct lull_kernel_prediction *prediction,
                                      struct lull_arena *arena)
{
    const char *text = "{";
    for (size_t i = 0; i <= prediction->ecm.n_links; i++)
        text = lull_arena_printf(arena, "%s%s%s", text, i ? " ] " : "",
                                 cycles_text(lull_prediction_cycles(prediction, i), arena));
    return lull_arena_printf(arena, "%s} cy", text);
}

/* What limits a kernel by the Roofline model: "bandwidth of L2". */
static const char *kernel_bottleneck_text(const struct lull_roofline *roofline,
                                          struct lull_arena *arena)
{
    if (roofline->limit != LULL_KERNEL_NONE)
        return lull_arena_printf(arena, "bandwidth of %s", roofline->roofs[roofline->limit].level);
    return roofline->peak <= roofline->in_core ? "peak arithmetic" : "the core's execution";
}

/* Names a loop: "Loop 2, line 7". */
static const char *kernel_loop_text(const struct lull_kernel_prediction *loop,
                                    struct lull_arena *arena)
{
    const struct lull_kernel *kernel = loop->kernel;
    return lull_arena_printf(arena, "Loop %zu, line %u", lull_kernel_number(kernel),
                             kernel->loops[kernel->body].line);
}

/* Says where the in-core times come from. */
static void kernel_add_compiler(struct lull_document *document, const struct lull_incore *incore,
                                struct lull_arena *arena)
{
    lull_document_fact(document, "in_core", "In-core times",
                       lull_cell_text(in_core_text(incore, arena)));
    if (incore->flags)
        lull_document_fact(
            document, "compiled", "Compiled with",
            lull_cell_text(lull_arena_printf(arena, "%s %s", incore->compiler, incore->flags)));
}

/* Says where the in-core times come from, and what they are made of. */
static void kernel_add_in_core(struct lull_document *document, const struct lull_incore *incore,
                               struct lull_arena *arena)
{
    kernel_add_compiler(document, incore, arena);
    if (incore->source == LULL_INCORE_GIVEN)
        return;
    lull_document_fact(document, "iterations_per_pass", "Iterations per pass",
                       lull_cell_number(incore->per_pass, 0));
    if (isfinite(incore->chain))
        lull_document_fact(document, "chain", "Loop-carried chain (cy)",
                           lull_cell_number(incore->chain, 1));
    if (isfinite(incore->alone))
        lull_document_fact(document, "alone", "llvm-mca's own time (cy)",
                           lull_cell_number(incore->alone, 1));
}

/* Adds how many vectors cross from one cache line to the next, if any do. */
static void kernel_add_crossing(struct lull_document *document,
                                const struct lull_crossing *crossing, struct lull_arena *arena)
{
    if (crossing->loads + crossing->stores == 0)
        return;
    const char *cost = crossing->known
                           ? lull_arena_printf(arena, "%.1f cy of T_nOL", crossing->load_cycles)
                           : "not counted, `lull bench crossing` measures what they cost";
    lull_document_fact(document, "crossing", "Vectors across cache lines",
                       lull_cell_text(lull_arena_printf(arena, "%.1f loads, %.1f stores: %s",
                                                        crossing->loads, crossing->stores, cost)));
}

/* ---- the loops of a nest --------------------------------------------------------------------- */

/* Sets the columns about compiled code, which there are not if the user gave the times. */
static void set_compiled(const struct lull_kernel_prediction *loop, uint32_t row, uint32_t column,
                         struct lull_table *table)
{
    lull_table_set(table, row, column++, lull_cell_number(loop->incore.per_pass, 0));
    if (isfinite(loop->incore.chain))
        lull_table_set(table, row, column, lull_cell_number(loop->incore.chain, 1));
}

static void set_loop(const struct lull_kernel_prediction *nest, size_t number,
                     struct lull_arena *arena, struct lull_table *table)
{
    const struct lull_kernel_prediction *loop = &nest->loops[number];
    const char *id = lull_arena_printf(arena, "loop_%zu", lull_kernel_number(loop->kernel));
    uint32_t row = lull_table_row(table, id, kernel_loop_text(loop, arena), LULL_NO_ROW);
    double iterations = lull_kernel_iterations(loop->kernel, loop->kernel->body);
    lull_table_set(table, row, 0, lull_cell_number(iterations, 0));
    lull_table_set(table, row, 1, lull_cell_number(loop->weight, 3));
    lull_table_set(table, row, 2, lull_cell_text(kernel_tuple_text(loop, arena)));
    lull_table_set(table, row, 3, lull_cell_number(loop->cycles, 1));
    lull_table_set(table, row, 4, lull_cell_number(loop->weight * loop->cycles, 1));
    lull_table_set(table, row, 5, lull_cell_share(loop->weight * loop->cycles / nest->cycles));
    if (loop->saturation)
        lull_table_set(table, row, 6, lull_cell_count(loop->saturation));
    lull_table_set(table, row, 7, lull_cell_text(kernel_bottleneck_text(&loop->roofline, arena)));
    if (loop->incore.source != LULL_INCORE_GIVEN)
        set_compiled(loop, row, 8, table);
}

/* Adds a table of the innermost loops of a nest; none if there is only one. */
static void kernel_add_loops(struct lull_document *document,
                             const struct lull_kernel_prediction *nest, struct lull_arena *arena)
{
    if (nest->n_loops == 0)
        return;
    struct lull_table *table = lull_document_table(
        document, "loops", "Innermost loops: cycles per unit of work of its own, and of the nest",
        LULL_BY_COLUMN);
    lull_table_corner(table, "Loop");
    lull_table_column(table, "iterations", "Iterations");
    lull_table_column(table, "weight", "Units in\none of\nthe nest");
    lull_table_column(table, "ecm", "ECM");
    lull_table_column(table, "cycles", "Its unit\n(cy)");
    lull_table_column(table, "nest_cycles", "In the\nnest's\n(cy)");
    lull_table_column(table, "share", "Share");
    lull_table_column(table, "saturation", "Saturates\nat\n(cores)");
    lull_table_column(table, "bottleneck", "Roofline's bottleneck");
    if (nest->incore.source != LULL_INCORE_GIVEN) {
        lull_table_column(table, "iterations_per_pass", "Iterations\nper pass");
        lull_table_column(table, "chain", "Chain\n(cy)");
    }
    for (size_t l = 0; l < nest->n_loops; l++)
        set_loop(nest, l, arena, table);
}

/* ==== the document of a sweep ================================================================= */

/* The prediction of one of the kernel's loops; NULL: it does not run. */
static const struct lull_kernel_prediction *
prediction_of(const struct lull_kernel_prediction *prediction, int loop)
{
    if (prediction->n_loops == 0)
        return prediction->kernel->body == loop ? prediction : NULL;
    for (size_t l = 0; l < prediction->n_loops; l++)
        if (prediction->loops[l].kernel->body == loop)
            return &prediction->loops[l];
    return NULL;
}

static void add_loop_columns(struct lull_table *table, const struct lull_kernel *kernel,
                             struct lull_arena *arena)
{
    size_t number = 0;
    for (int l = 0; l < (int)kernel->n_loops; l++)
        if (lull_kernel_is_innermost(kernel, l)) {
            number++;
            lull_table_column(
                table, lull_arena_printf(arena, "loop_%zu", number),
                lull_arena_printf(arena, "Loop %zu,\nline %u", number, kernel->loops[l].line));
        }
}

/* Sets how many of the nest's cycles each loop has. */
static uint32_t set_loops(struct lull_table *table, uint32_t row, uint32_t column,
                          const struct lull_kernel_prediction *prediction)
{
    const struct lull_kernel *kernel = prediction->kernel;
    for (int l = 0; l < (int)kernel->n_loops; l++) {
        const struct lull_kernel_prediction *loop = prediction_of(prediction, l);
        if (!lull_kernel_is_innermost(kernel, l))
            continue;
        if (loop)
            lull_table_set(table, row, column, lull_cell_number(loop->weight * loop->cycles, 1));
        column++;
    }
    return column;
}

static void add_columns(struct lull_table *table, const char *size,
                        const struct lull_kernel_prediction *first, bool measured,
                        struct lull_arena *arena)
{
    const struct lull_ecm *ecm = &first->ecm;
    lull_table_corner(table, size);
    lull_table_column(table, "footprint", "Arrays");
    lull_table_column(table, "t_ol", "T_OL");
    lull_table_column(table, "t_nol", "T_nOL");
    for (size_t i = 0; i < ecm->n_links; i++)
        lull_table_column(table, ecm->links[i].name, ecm->links[i].name);
    if (lull_kernel_count_innermost(first->kernel) > 1)
        add_loop_columns(table, first->kernel, arena);
    lull_table_column(table, "cycles", "ECM");
    lull_table_column(table, "performance", "Performance");
    if (measured) {
        lull_table_column(table, "measured", "Measured");
        lull_table_column(table, "error", "Error");
    }
}

static void add_sweep_row(struct lull_table *table, double value,
                          const struct lull_kernel_prediction *prediction,
                          const struct lull_kernel_measured *measured, struct lull_arena *arena)
{
    const struct lull_ecm *ecm = &prediction->ecm;
    const char *id = lull_arena_printf(arena, "%.0f", value);
    uint32_t row = lull_table_row(table, id, id, LULL_NO_ROW), column = 0;
    lull_table_set(table, row, column++, lull_cell_bytes((uint64_t)prediction->layers.footprint));
    lull_table_set(table, row, column++, lull_cell_number(ecm->t_ol, 1));
    lull_table_set(table, row, column++, lull_cell_number(ecm->t_nol, 1));
    for (size_t i = 0; i < ecm->n_links; i++)
        lull_table_set(table, row, column++, lull_cell_number(ecm->links[i].cycles, 1));
    if (lull_kernel_count_innermost(prediction->kernel) > 1)
        column = set_loops(table, row, column, prediction);
    lull_table_set(table, row, column++, lull_cell_number(prediction->cycles, 1));
    double rate = lull_prediction_rate(prediction, prediction->cycles);
    lull_table_set(table, row, column++, lull_cell_quantity(rate, kernel_rate_unit(prediction)));
    if (!measured)
        return;
    double error = lull_kernel_error(prediction, measured);
    lull_table_set(table, row, column++,
                   lull_cell_quantity(rate * (1 + error), kernel_rate_unit(prediction)));
    lull_table_set(table, row, column, lull_cell_share(error));
}

/* Adds the notes of a loop, at the first size at which it runs: the code is the same at all
 * sizes. */
static void tell_in_core(struct lull_document *document,
                         const struct lull_kernel_prediction *predictions, size_t count, int loop,
                         bool several, struct lull_arena *arena)
{
    const struct lull_kernel_prediction *found = NULL;
    for (size_t p = 0; p < count && !found; p++)
        found = prediction_of(&predictions[p], loop);
    for (size_t i = 0; found && i < found->incore.n_notes; i++)
        lull_document_note(document, LULL_NOTE_INFO, "%s%s%s",
                           several ? kernel_loop_text(found, arena) : "", several ? ": " : "",
                           found->incore.notes[i]);
}

/* Notes where another loop becomes the busiest, whose unit of work counts from then on. */
static void tell_units(struct lull_document *document,
                       const struct lull_kernel_prediction *predictions, const double *values,
                       size_t count, const char *size)
{
    for (size_t p = 1; p < count; p++) {
        const struct lull_kernel *kernel = predictions[p].kernel;
        if (kernel->body != predictions[p - 1].kernel->body)
            lull_document_note(
                document, LULL_NOTE_INFO,
                "From %s = %.0f on the loop at line %u is the busiest, whose unit of "
                "work counts (%.0f iterations).",
                size, values[p], kernel->loops[kernel->body].line, predictions[p].unit);
    }
}

struct lull_document *lull_kernel_sweep_document(const struct lull_kernel_prediction *predictions,
                                                 const double *values, size_t count,
                                                 const char *size,
                                                 const struct lull_kernel_measured *measured,
                                                 struct lull_notices *notices,
                                                 struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-model-kernel-sweep/1", "");
    lull_document_fact(document, "kernel", "Kernel", lull_cell_text(predictions[0].kernel->name));
    lull_document_fact(document, "machine", "Machine",
                       lull_cell_text(kernel_machine_text(predictions[0].machine)));
    lull_document_fact(document, "unit_iterations", "Unit of work (iterations)",
                       lull_cell_number(predictions[0].unit, 0));
    bool several = lull_kernel_count_innermost(predictions[0].kernel) > 1;
    if (several)
        kernel_add_compiler(document, &predictions[0].incore, arena);
    else
        kernel_add_in_core(document, &predictions[0].incore, arena);
    struct lull_table *table =
        lull_document_table(document, "sweep", "Cycles per unit of work", LULL_BY_COLUMN);
    add_columns(table, size, &predictions[0], measured, arena);
    for (size_t p = 0; p < count; p++)
        add_sweep_row(table, values[p], &predictions[p], measured ? &measured[p] : NULL, arena);
    for (int l = 0; l < (int)predictions[0].kernel->n_loops; l++)
        tell_in_core(document, predictions, count, l, several, arena);
    tell_units(document, predictions, values, count, size);
    if (several)
        lull_document_note(document, LULL_NOTE_INFO, "%s", KERNEL_SUM_NOTE);
    lull_document_add_notices(document, notices);
    return document;
}

/* ==== charts ================================================================================== */

static struct lull_chart_point point(double x, double y)
{
    return (struct lull_chart_point){x, y, NAN, NAN};
}

static const char *work_unit(const struct lull_roofline *roofline)
{
    return roofline->counts_flops ? "flop" : "it";
}

/* ---- roofline -------------------------------------------------------------------------------- */

static double ceiling(const struct lull_roofline *roofline)
{
    return isfinite(roofline->peak) ? roofline->peak : roofline->in_core;
}

/* Adds a roof: up the slope of its bandwidth, then along the ceiling. */
static void add_roof(struct lull_chart *chart, const struct lull_roofline *roofline, size_t number,
                     double left, double right, enum lull_chart_style style,
                     struct lull_arena *arena)
{
    double top = ceiling(roofline), bandwidth = roofline->roofs[number].bandwidth;
    struct lull_chart_point points[] = {point(left, fmin(top, left * bandwidth)),
                                        point(top / bandwidth, top), point(right, top)};
    lull_chart_series(chart,
                      lull_arena_printf(arena, "%s, %u core%s", roofline->roofs[number].level,
                                        roofline->cores, roofline->cores == 1 ? "" : "s"),
                      style, points, 3);
}

static void widen(const struct lull_roofline *roofline, double *left, double *right)
{
    for (size_t i = 0; i < roofline->n_roofs; i++) {
        double knee = ceiling(roofline) / roofline->roofs[i].bandwidth;
        *right = fmax(*right, 2 * knee);
        *left = fmin(*left, knee / 10);
        if (isfinite(roofline->roofs[i].intensity)) {
            *left = fmin(*left, roofline->roofs[i].intensity / 2);
            *right = fmax(*right, roofline->roofs[i].intensity * 2);
        }
    }
}

/* The level farthest from the core that data travel from; NULL: none do. */
static const struct lull_roof *farthest(const struct lull_roofline *roofline)
{
    for (size_t i = roofline->n_roofs; i-- > 0;)
        if (isfinite(roofline->roofs[i].intensity))
            return &roofline->roofs[i];
    return NULL;
}

static unsigned line_of(const struct lull_kernel_prediction *prediction)
{
    return prediction->kernel->loops[prediction->kernel->body].line;
}

struct lull_chart *lull_kernel_roofline_chart(const struct lull_kernel_prediction *prediction,
                                              const struct lull_roofline *all,
                                              const struct lull_kernel_measured *measured,
                                              struct lull_arena *arena)
{
    const struct lull_roofline *roofline = &prediction->roofline;
    /* If there are several loops, each has its own roofs. */
    bool several = prediction->n_loops > 0;
    struct lull_chart *chart = lull_chart_create(
        arena, several ? lull_arena_printf(arena, "Roofline of %s, busiest loop: line %u",
                                           prediction->kernel->name, line_of(prediction))
                       : lull_arena_printf(arena, "Roofline of %s", prediction->kernel->name));
    double left = INFINITY, right = 0;
    const char *unit = work_unit(roofline);
    widen(roofline, &left, &right);
    if (all)
        widen(all, &left, &right);
    lull_chart_x_axis(chart, lull_arena_printf(arena, "Intensity (%s/B)", unit), "",
                      LULL_CHART_LOG);
    lull_chart_y_axis(chart, "Performance", lull_arena_printf(arena, "%s/s", unit), LULL_CHART_LOG);
    for (size_t i = 0; i < roofline->n_roofs; i++) {
        add_roof(chart, roofline, i, left, right, LULL_CHART_LINE, arena);
        if (all)
            add_roof(chart, all, i, left, right, LULL_CHART_CURVE, arena);
    }
    for (size_t i = 0; i < roofline->n_roofs; i++) {
        const struct lull_roof *roof = &roofline->roofs[i];
        struct lull_chart_point at =
            point(roof->intensity, fmin(roof->limit, fmin(roofline->peak, roofline->in_core)));
        if (isfinite(roof->intensity))
            lull_chart_series(
                chart, lull_arena_printf(arena, "%s at %s", prediction->kernel->name, roof->level),
                LULL_CHART_POINTS, &at, 1);
    }
    const struct lull_roof *last = farthest(roofline);
    if (measured && last && !several) {
        double rate = lull_prediction_rate(prediction, prediction->cycles) *
                      (1 + lull_kernel_error(prediction, measured)) * measured->cores;
        struct lull_chart_point at = point(last->intensity, rate);
        lull_chart_series(chart, "measured", LULL_CHART_POINTS, &at, 1);
    }
    return chart;
}

/* ---- cores ----------------------------------------------------------------------------------- */

struct lull_chart *lull_kernel_cores_chart(const struct lull_kernel_prediction *prediction,
                                           struct lull_arena *arena)
{
    size_t count = prediction->n_points;
    struct lull_chart_point *naive = lull_arena_zero(arena, count + 1, sizeof *naive);
    struct lull_chart_point *latency = lull_arena_zero(arena, count + 1, sizeof *latency);
    struct lull_chart_point roof[2];
    struct lull_chart *chart = lull_chart_create(
        arena, lull_arena_printf(arena, "ECM: %s over cores", prediction->kernel->name));
    const char *unit = work_unit(&prediction->roofline);
    lull_chart_x_axis(chart, "Cores", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "Performance", lull_arena_printf(arena, "%s/s", unit),
                      LULL_CHART_LINEAR);
    for (size_t i = 0; i < count; i++) {
        naive[i] = point(prediction->points[i].cores, prediction->points[i].naive);
        latency[i] = point(prediction->points[i].cores, prediction->points[i].latency);
    }
    lull_chart_series(chart, "naive saturation", LULL_CHART_LINE, naive, count);
    lull_chart_series(chart, "with latency penalty", LULL_CHART_LINE, latency, count);
    if (prediction->ecm.shared > 0) {
        double limit = lull_prediction_rate(prediction, prediction->ecm.shared);
        roof[0] = point(1, limit);
        roof[1] = point((double)count, limit);
        lull_chart_series(chart, "bandwidth of memory", LULL_CHART_CURVE, roof, 2);
    }
    return chart;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* In-core cycles without the loop-carried chain; of a nest the sum of its loops. */
static double in_core(const struct lull_kernel_prediction *prediction)
{
    double sum = 0;
    for (size_t l = 0; l < prediction->n_loops; l++)
        sum += prediction->loops[l].weight * in_core(&prediction->loops[l]);
    return prediction->n_loops > 0 ? sum : lull_ecm_time(&prediction->ecm, 0);
}

struct lull_chart *lull_kernel_sweep_chart(const struct lull_kernel_prediction *predictions,
                                           const double *values, size_t count, const char *size,
                                           const struct lull_kernel_measured *measured,
                                           struct lull_arena *arena)
{
    struct lull_chart_point *points = lull_arena_zero(arena, count + 1, sizeof *points);
    struct lull_chart *chart = lull_chart_create(
        arena, lull_arena_printf(arena, "ECM: %s over %s", predictions[0].kernel->name, size));
    lull_chart_x_axis(chart, size, "", LULL_CHART_LOG);
    lull_chart_y_axis(chart, "Cycles per unit of work", "", LULL_CHART_LINEAR);
    for (size_t i = 0; i < count; i++)
        points[i] = point(values[i], predictions[i].cycles);
    lull_chart_series(chart, "ECM", LULL_CHART_LINE, points, count);
    for (size_t i = 0; i < count; i++)
        points[i] = point(values[i], in_core(&predictions[i]));
    lull_chart_series(chart, "in core", LULL_CHART_LINE, points, count);
    for (size_t l = 0; l < predictions[0].ecm.n_links; l++) {
        for (size_t i = 0; i < count; i++)
            points[i] = point(values[i], predictions[i].ecm.links[l].cycles);
        lull_chart_series(chart, predictions[0].ecm.links[l].name, LULL_CHART_LINE, points, count);
    }
    for (size_t i = 0; measured && i < count; i++)
        points[i] = point(values[i], predictions[i].cycles /
                                         (1 + lull_kernel_error(&predictions[i], &measured[i])));
    if (measured)
        lull_chart_series(chart, "measured", LULL_CHART_POINTS, points, count);
    return chart;
}

/* ==== the document of one prediction ========================================================== */

struct kernel_drawing {
    struct lull_document *document;
    const struct lull_kernel_prediction *prediction; /* of the nest, or of one of its loops */
    /* For a loop among several, such as "_2" and "Loop 2, line 7: "; else "". */
    const char *id, *place;
    const struct lull_kernel_show *show;
    struct lull_notices *notices;
    struct lull_arena *arena;
};

/* ---- cells and texts ------------------------------------------------------------------------- */

static const char *sizes_text(const struct lull_kernel *kernel, struct lull_arena *arena)
{
    const char *text = "";
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].is_size && !kernel->symbols[s].divisor)
            text = lull_arena_printf(arena, "%s%s%s = %.0f", text, *text ? ", " : "",
                                     kernel->symbols[s].name, kernel->symbols[s].value);
    return *text ? text : "fixed";
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void add_kernel_facts(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    struct lull_arena *arena = drawing->arena;
    struct lull_document *document = drawing->document;
    const struct lull_kernel *kernel = prediction->kernel;
    double per_iteration = prediction->flops / prediction->unit;
    lull_document_fact(document, "kernel", "Kernel", lull_cell_text(kernel->name));
    lull_document_fact(document, "sizes", "Sizes", lull_cell_text(sizes_text(kernel, arena)));
    lull_document_fact(document, "machine", "Machine",
                       lull_cell_text(kernel_machine_text(prediction->machine)));
    lull_document_fact(document, "clock", "Clock", lull_cell_quantity(prediction->clock, "Hz"));
    lull_document_fact(document, "unit_iterations", "Unit of work (iterations)",
                       lull_cell_number(prediction->unit, 0));
    lull_document_fact(document, "flops", "Flop per iteration", lull_cell_number(per_iteration, 1));
    lull_document_fact(document, "footprint", "All arrays",
                       lull_cell_bytes((uint64_t)prediction->layers.footprint));
    if (prediction->n_loops > 0)
        kernel_add_compiler(document, &prediction->incore, arena);
    else
        kernel_add_in_core(document, &prediction->incore, arena);
    if (prediction->n_loops == 0)
        kernel_add_crossing(document, &prediction->crossing, arena);
    lull_document_fact(document, "ecm", "ECM",
                       lull_cell_text(kernel_tuple_text(prediction, arena)));
    lull_document_fact(document, "ecm_prediction", "ECM prediction",
                       lull_cell_text(kernel_ladder_text(prediction, arena)));
    lull_document_fact(document, "cycles", "Time per unit (cy)",
                       lull_cell_number(prediction->cycles, 1));
    lull_document_fact(document, "performance", "Performance, 1 core",
                       lull_cell_quantity(lull_prediction_rate(prediction, prediction->cycles),
                                          kernel_rate_unit(prediction)));
    if (prediction->saturation)
        lull_document_fact(document, "saturation", "Memory saturates at (cores)",
                           lull_cell_count(prediction->saturation));
    else
        lull_document_fact(document, "saturation", "Memory saturates at (cores)",
                           lull_cell_absent(prediction->n_loops > 0
                                                ? "never: a loop has no traffic with memory"
                                                : "never: no traffic with memory"));
    if (prediction->n_loops > 0)
        return; /* each loop has its own roofs */
    lull_document_fact(
        document, "roofline",
        lull_arena_printf(arena, "Roofline, %u core%s", prediction->roofline.cores,
                          prediction->roofline.cores == 1 ? "" : "s"),
        lull_cell_quantity(prediction->roofline.performance, kernel_rate_unit(prediction)));
    lull_document_fact(document, "bottleneck", "Roofline's bottleneck",
                       lull_cell_text(kernel_bottleneck_text(&prediction->roofline, arena)));
}

static struct lull_table *add_table(const struct kernel_drawing *drawing, const char *id,
                                    const char *title)
{
    struct lull_arena *arena = drawing->arena;
    return lull_document_table(drawing->document, lull_arena_printf(arena, "%s%s", id, drawing->id),
                               lull_arena_printf(arena, "%s%s", drawing->place, title),
                               LULL_BY_COLUMN);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void add_cache_levels(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    struct lull_table *table =
        add_table(drawing, "levels", "Cache lines and cycles per unit of work");
    lull_table_corner(table, "Data from");
    lull_table_column(table, "loads", "Loads");
    lull_table_column(table, "stores", "Stores");
    if (prediction->has_simulation) {
        lull_table_column(table, "simulated_loads", "Loads,\nsimulated");
        lull_table_column(table, "simulated_stores", "Stores,\nsimulated");
    }
    lull_table_column(table, "cycles", "Transfer\n(cy)");
    lull_table_column(table, "prediction", "ECM up to\nhere (cy)");
    for (size_t i = 0; i <= prediction->ecm.n_links; i++) {
        bool is_memory = i == prediction->ecm.n_links;
        const char *id = is_memory ? "memory" : lull_arena_printf(drawing->arena, "L%zu", i + 1);
        uint32_t row = lull_table_row(table, id, is_memory ? "Memory" : id, LULL_NO_ROW),
                 column = 0;
        if (i > 0) {
            lull_table_set(table, row, column++,
                           lull_cell_number(prediction->layers.lines[i - 1].loads, 2));
            lull_table_set(table, row, column++,
                           lull_cell_number(prediction->layers.lines[i - 1].stores, 2));
            if (prediction->has_simulation) {
                lull_table_set(table, row, column++,
                               lull_cell_number(prediction->simulated.lines[i - 1].loads, 2));
                lull_table_set(table, row, column++,
                               lull_cell_number(prediction->simulated.lines[i - 1].stores, 2));
            }
        } else {
            column = prediction->has_simulation ? 4 : 2;
        }
        lull_table_set(
            table, row, column++,
            lull_cell_number(i ? prediction->ecm.links[i - 1].cycles : prediction->ecm.t_nol, 2));
        lull_table_set(table, row, column,
                       lull_cell_number(lull_prediction_cycles(prediction, i), 2));
    }
}

static const char *held_text(const struct kernel_drawing *drawing,
                             const struct lull_layer_condition *condition,
                             const struct lull_layer_held *held)
{
    const struct lull_kernel *kernel = drawing->prediction->kernel;
    const char *text = held->holds ? "yes" : "no";
    if (isfinite(held->largest))
        text = lull_arena_printf(drawing->arena, "%s, %s <= %.0f", text,
                                 kernel->symbols[condition->size].name, held->largest);
    if (isfinite(held->block))
        text = lull_arena_printf(drawing->arena, "%s, block %s by %.0f", text,
                                 kernel->symbols[kernel->loops[kernel->body].symbol].name,
                                 held->block);
    return text;
}

static void add_conditions(const struct kernel_drawing *drawing)
{
    const struct lull_layers *layers = &drawing->prediction->layers;
    if (layers->n_conditions == 0)
        return;
    struct lull_table *table =
        add_table(drawing, "conditions",
                  "Layer conditions: reuse that a cache keeps if it holds so many bytes");
    lull_table_corner(table, "Reuse");
    lull_table_column(table, "needs", "Needs (B)");
    lull_table_column(table, "bytes", "Here");
    lull_table_column(table, "loads", "Loads if\nit holds");
    for (size_t i = 0; i < layers->n_levels; i++) {
        const char *id = lull_arena_printf(drawing->arena, "L%zu", i + 1);
        lull_table_column(table, id, lull_arena_printf(drawing->arena, "%s holds it", id));
    }
    for (size_t c = 0; c < layers->n_conditions; c++) {
        const struct lull_layer_condition *condition = &layers->conditions[c];
        const char *label =
            lull_arena_printf(drawing->arena, "%s over %s", condition->array, condition->distance);
        uint32_t row = lull_table_row(table, label, label, LULL_NO_ROW);
        if (condition->formula)
            lull_table_set(table, row, 0, lull_cell_text(condition->formula));
        lull_table_set(table, row, 1, lull_cell_bytes((uint64_t)condition->value));
        lull_table_set(table, row, 2, lull_cell_number(condition->misses, 2));
        for (size_t i = 0; i < layers->n_levels; i++)
            lull_table_set(
                table, row, (uint32_t)(3 + i),
                lull_cell_text(held_text(drawing, condition, lull_layers_held(layers, c, i))));
    }
}

static void add_roofline(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    const struct lull_roofline *roofline = &prediction->roofline;
    const char *unit = kernel_rate_unit(prediction);
    struct lull_table *table =
        add_table(drawing, "roofline",
                  lull_arena_printf(drawing->arena, "Roofline, %u core%s", roofline->cores,
                                    roofline->cores == 1 ? "" : "s"));
    lull_table_corner(table, "Limit");
    lull_table_column(table, "bandwidth", "Bandwidth");
    lull_table_column(table, "intensity",
                      roofline->counts_flops ? "Intensity\n(flop/B)" : "Intensity\n(it/B)");
    lull_table_column(table, "limit", "Performance");
    lull_table_column(table, "source", "From");
    uint32_t row = lull_table_row(table, "peak", "Peak arithmetic", LULL_NO_ROW);
    if (isfinite(roofline->peak)) {
        lull_table_set(table, row, 2, lull_cell_quantity(roofline->peak, unit));
        lull_table_set(table, row, 3, lull_cell_text(roofline->peak_source));
    } else {
        lull_table_set(table, row, 2,
                       lull_cell_absent(roofline->counts_flops
                                            ? "the machine file has none: lull bench peak-dp-fma"
                                            : "the kernel has no arithmetic"));
    }
    row = lull_table_row(table, "core", "This loop in L1", LULL_NO_ROW);
    lull_table_set(table, row, 2, lull_cell_quantity(roofline->in_core, unit));
    lull_table_set(table, row, 3, lull_cell_text("max(T_OL, T_nOL, chain)"));
    for (size_t i = 0; i < roofline->n_roofs; i++) {
        const struct lull_roof *roof = &roofline->roofs[i];
        row = lull_table_row(table, roof->level, roof->level, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_quantity(roof->bandwidth, "B/s"));
        lull_table_set(table, row, 3, lull_cell_text(roof->source));
        if (isfinite(roof->intensity)) {
            lull_table_set(table, row, 1, lull_cell_number(roof->intensity, 3));
            lull_table_set(table, row, 2, lull_cell_quantity(roof->limit, unit));
        } else {
            lull_table_set(table, row, 2, lull_cell_absent("no traffic"));
        }
    }
}

static void add_core_scaling(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    if (prediction->n_points < 2)
        return;
    struct lull_table *table = lull_document_table(
        drawing->document, "cores", "Performance over cores, each with its own data of these sizes",
        LULL_BY_COLUMN);
    lull_table_corner(table, "Cores");
    lull_table_column(table, "naive", "Naive\nsaturation");
    lull_table_column(table, "latency", "With latency\npenalty");
    for (size_t i = 0; i < prediction->n_points; i++) {
        const struct lull_core_point *point = &prediction->points[i];
        const char *id = lull_arena_printf(drawing->arena, "%u", point->cores);
        uint32_t row = lull_table_row(table, id, id, LULL_NO_ROW);
        lull_table_set(table, row, 0,
                       lull_cell_quantity(point->naive, kernel_rate_unit(prediction)));
        lull_table_set(table, row, 1,
                       lull_cell_quantity(point->latency, kernel_rate_unit(prediction)));
    }
}

static void add_ports(const struct kernel_drawing *drawing)
{
    const struct lull_incore *incore = &drawing->prediction->incore;
    if (!drawing->show->ports || !incore->assembly)
        return;
    struct lull_table *table = add_table(drawing, "ports", "Ports, busy per unit of work");
    lull_table_corner(table, "Port");
    lull_table_column(table, "cycles", "Cycles");
    lull_table_column(table, "group", "Counts in");
    for (size_t i = 0; i < incore->n_ports; i++) {
        const struct lull_incore_port *port = &incore->ports[i];
        uint32_t row = lull_table_row(table, port->name, port->name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_number(port->cycles, 2));
        lull_table_set(table, row, 1, lull_cell_text(port->loads ? "T_nOL" : "T_OL"));
    }
    lull_document_fact(drawing->document,
                       lull_arena_printf(drawing->arena, "assembly%s", drawing->id),
                       lull_arena_printf(drawing->arena, "%sLoop", drawing->place),
                       lull_cell_text(incore->assembly));
}

/* ---- measurement ----------------------------------------------------------------------------- */

static void add_kernel_measured(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    const struct lull_kernel_measured *measured = drawing->show->measured;
    const struct lull_kernel *kernel = prediction->kernel;
    if (!measured)
        return;
    double units = lull_kernel_iterations(kernel, kernel->body) / prediction->unit;
    double work = measured->cores * units * prediction->work;
    double predicted = lull_kernel_seconds(prediction, measured->cores);
    struct lull_table *table = lull_document_table(
        drawing->document, "measured",
        lull_arena_printf(drawing->arena, "Measured on this machine, %u core%s%s", measured->cores,
                          measured->cores == 1 ? "" : "s", measured->mean ? ", means" : ""),
        LULL_BY_ROW);
    lull_table_column(table, "predicted", "Predicted");
    lull_table_column(table, "measured", "Measured");
    lull_table_column(table, "low", "Low");
    lull_table_column(table, "high", "High");
    lull_table_column(table, "error", "Error");
    uint32_t row = lull_table_row(table, "seconds", "Time of the nest", LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_quantity(predicted, "s"));
    lull_table_set(table, row, 1, lull_cell_quantity(measured->seconds, "s"));
    lull_table_set(table, row, 2, lull_cell_quantity(measured->low, "s"));
    lull_table_set(table, row, 3, lull_cell_quantity(measured->high, "s"));
    lull_table_set(table, row, 4, lull_cell_share(lull_kernel_error(prediction, measured)));
    row = lull_table_row(table, "performance", "Performance", LULL_NO_ROW);
    lull_table_set(table, row, 0,
                   lull_cell_quantity(work / predicted, kernel_rate_unit(prediction)));
    lull_table_set(table, row, 1,
                   lull_cell_quantity(work / measured->seconds, kernel_rate_unit(prediction)));
    if (isfinite(measured->cycle)) {
        row = lull_table_row(table, "cycles", "Cycles per unit", LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_number(predicted * prediction->clock / units, 2));
        lull_table_set(table, row, 1,
                       lull_cell_number(measured->seconds / measured->cycle / units, 2));
    }
    if (measured->disturbed)
        lull_notices_add(drawing->notices, LULL_NOTICE_WARNING, "the measurement was disturbed: %s",
                         measured->disturbed);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void tell_disagreements(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    for (size_t i = 0; i < prediction->layers.n_levels; i++) {
        const struct lull_ecm_lines *lines = &prediction->layers.lines[i];
        const struct lull_ecm_lines *simulated = &prediction->simulated.lines[i];
        if (!prediction->disagreements[i])
            continue;
        bool others = prediction->layers.has_others; /* true: only loads can be compared */
        lull_notices_add(
            drawing->notices, LULL_NOTICE_WARNING,
            "%sbeyond L%zu the layer conditions say %.2f lines%s, the simulation %.2f: %s",
            drawing->place, i + 1, lines->loads + (others ? 0 : lines->stores),
            others ? " loaded" : "", simulated->loads + (others ? 0 : simulated->stores),
            prediction->disagreements[i]);
    }
}

/* "9.0 lines read for each that is written". */
static const char *read_per_written(double written, struct lull_arena *arena)
{
    return lull_arena_printf(arena, "%.1f lines read for each that is written",
                             (1 - written) / written);
}

/* Says which benchmark's bandwidth memory is taken to have, unless one has just the loop's mix of
 * lines read and written. */
static void tell_memory(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    const struct lull_ecm_bandwidth *memory = &prediction->memory;
    const struct lull_ecm_lines *lines = &prediction->lines[prediction->ecm.n_links - 1];
    double written = lines->stores / (lines->loads + lines->stores);
    struct lull_arena *arena = drawing->arena;
    if (memory->mix == LULL_ECM_SAME)
        return;
    const char *of_loop =
        written > 0 ? read_per_written(written, arena) : "lines that are only read";
    if (memory->mix == LULL_ECM_INTERPOLATED)
        lull_document_note(drawing->document, LULL_NOTE_INFO,
                           "%sThe bandwidth of memory is interpolated between %s: for %s.",
                           drawing->place, memory->kernel, of_loop);
    else
        lull_document_note(
            drawing->document, LULL_NOTE_INFO,
            "%sThe bandwidth of memory is that of %s (%s), the nearest to %s: the machine file has "
            "no "
            "mixes to interpolate between (lull bench add3 add8 sum8).",
            drawing->place, memory->kernel,
            memory->written > 0 ? read_per_written(memory->written, arena) : "only read", of_loop);
}

static void tell_loop(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    for (size_t i = 0; i < prediction->incore.n_notes; i++)
        lull_document_note(drawing->document, LULL_NOTE_INFO, "%s%s", drawing->place,
                           prediction->incore.notes[i]);
    if (prediction->incore.chain > lull_ecm_time(&prediction->ecm, 0))
        lull_document_note(drawing->document, LULL_NOTE_INFO,
                           "%sEach pass waits for the one before it: the loop-carried chain takes "
                           "%.1f cy per unit, more than any port; more partial sums would help.",
                           drawing->place, prediction->incore.chain);
    tell_memory(drawing);
    tell_disagreements(drawing);
}

/* Adds a text like "L3 beside L1 92 %, beside L2 -40 %". */
static void add_shares(const double *shares, size_t far, bool is_cache, char *text, size_t size)
{
    for (size_t near = 0; near < far; near++) {
        size_t length = strlen(text);
        char name[32] = "memory";
        if (is_cache)
            snprintf(name, sizeof name, "L%zu", far + 1);
        snprintf(text + length, size - length, "%s%s%sbeside L%zu %.0f %%", length ? ", " : "",
                 near ? "" : name, near ? "" : " ", near + 1, 100 * shares[near]);
    }
}

static void tell_overlap(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    const struct lull_ecm_overlap *overlap = &prediction->overlap;
    char text[512] = "";
    if (overlap->source == LULL_ECM_ASSUMED)
        lull_document_note(
            drawing->document, LULL_NOTE_INFO,
            "The machine file does not say whether transfers overlap (core/overlap), and `lull "
            "bench dot beside` has not measured it: by the vendor, %s is taken.",
            overlap->caches ? "caches" : "none");
    if (overlap->source != LULL_ECM_MEASURED)
        return;
    size_t caches = prediction->ecm.n_links;
    for (size_t far = 1; far <= caches; far++) {
        const double *shares = far < caches ? overlap->shares[far - 1] : overlap->memory;
        add_shares(shares, far, far < caches, text, sizeof text);
    }
    lull_document_note(drawing->document, LULL_NOTE_INFO,
                       "Lines from two levels overlap as was measured: %s of what could; below 0 "
                       "they hinder each other.",
                       text);
}

static void tell_notes(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    tell_overlap(drawing);
    if (prediction->n_loops > 0)
        lull_document_note(drawing->document, LULL_NOTE_INFO, "%s", KERNEL_SUM_NOTE);
    for (size_t i = 0; i < prediction->kernel->n_calls; i++)
        lull_document_note(drawing->document, LULL_NOTE_INFO,
                           "Calls of %s count %.4g cy each, as stated.",
                           prediction->kernel->calls[i].name, prediction->kernel->calls[i].cycles);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_loop(const struct kernel_drawing *drawing)
{
    add_cache_levels(drawing);
    add_conditions(drawing);
    add_roofline(drawing);
}

/* Calls `draw` for each innermost loop, or once if there is only one. */
static void for_each_loop(const struct kernel_drawing *drawing,
                          void (*draw)(const struct kernel_drawing *))
{
    struct lull_arena *arena = drawing->arena;
    if (drawing->prediction->n_loops == 0)
        draw(drawing);
    for (size_t l = 0; l < drawing->prediction->n_loops; l++) {
        struct kernel_drawing loop = *drawing;
        loop.prediction = &drawing->prediction->loops[l];
        loop.id = lull_arena_printf(arena, "_%zu", lull_kernel_number(loop.prediction->kernel));
        loop.place = lull_arena_printf(arena, "%s: ", kernel_loop_text(loop.prediction, arena));
        draw(&loop);
    }
}

struct lull_document *lull_kernel_document(const struct lull_kernel_prediction *prediction,
                                           const struct lull_kernel_show *show,
                                           struct lull_notices *notices, struct lull_arena *arena)
{
    const struct kernel_drawing drawing = {
        .document = lull_document_create(arena, "lull-model-kernel/1", ""),
        .prediction = prediction,
        .id = "",
        .place = "",
        .show = show,
        .notices = notices,
        .arena = arena};
    add_kernel_facts(&drawing);
    kernel_add_loops(drawing.document, prediction, arena);
    for_each_loop(&drawing, add_loop);
    add_core_scaling(&drawing);
    for_each_loop(&drawing, add_ports);
    add_kernel_measured(&drawing);
    for_each_loop(&drawing, tell_loop);
    tell_notes(&drawing);
    lull_document_add_notices(drawing.document, notices);
    return drawing.document;
}
