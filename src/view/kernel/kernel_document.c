#include "view/kernel/kernel_document.h"

#include "view/kernel/kernel_facts.h"
#include "view/notices_document.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct kernel_drawing {
    struct lull_document *document;
    const struct lull_kernel_prediction *prediction; /* of the nest, or one of its loops */
    const char *id, *place; /* "_2" and "Loop 2, line 7: " of a loop among several; else "" */
    const struct lull_kernel_show *show;
    struct lull_notices *notices;
    struct lull_arena *arena;
};

/* ---- cells and texts ------------------------------------------------------------------------ */

static const char *sizes_text(const struct lull_kernel *kernel, struct lull_arena *arena)
{
    const char *text = "";
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].is_size && !kernel->symbols[s].divisor)
            text = lull_arena_printf(arena, "%s%s%s = %.0f", text, *text ? ", " : "",
                                     kernel->symbols[s].name, kernel->symbols[s].value);
    return *text ? text : "fixed";
}

/* ---- facts ---------------------------------------------------------------------------------- */

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
                       lull_cell_text(lull_kernel_machine_text(prediction->machine)));
    lull_document_fact(document, "clock", "Clock", lull_cell_quantity(prediction->clock, "Hz"));
    lull_document_fact(document, "unit_iterations", "Unit of work (iterations)",
                       lull_cell_number(prediction->unit, 0));
    lull_document_fact(document, "flops", "Flop per iteration", lull_cell_number(per_iteration, 1));
    lull_document_fact(document, "footprint", "All arrays",
                       lull_cell_bytes((uint64_t)prediction->layers.footprint));
    if (prediction->n_loops > 0)
        lull_kernel_add_compiler(document, &prediction->incore, arena);
    else
        lull_kernel_add_in_core(document, &prediction->incore, arena);
    if (prediction->n_loops == 0)
        lull_kernel_add_crossing(document, &prediction->crossing, arena);
    lull_document_fact(document, "ecm", "ECM",
                       lull_cell_text(lull_kernel_tuple_text(prediction, arena)));
    lull_document_fact(document, "ecm_prediction", "ECM prediction",
                       lull_cell_text(lull_kernel_ladder_text(prediction, arena)));
    lull_document_fact(document, "cycles", "Time per unit (cy)",
                       lull_cell_number(prediction->cycles, 1));
    lull_document_fact(document, "performance", "Performance, 1 core",
                       lull_cell_quantity(lull_prediction_rate(prediction, prediction->cycles),
                                          lull_kernel_rate_unit(prediction)));
    if (prediction->saturation)
        lull_document_fact(document, "saturation", "Memory saturates at (cores)",
                           lull_cell_count(prediction->saturation));
    else
        lull_document_fact(document, "saturation", "Memory saturates at (cores)",
                           lull_cell_absent(prediction->n_loops > 0
                                                ? "never: a loop has no traffic with memory"
                                                : "never: no traffic with memory"));
    if (prediction->n_loops > 0)
        return; /* each loop has its roofs */
    lull_document_fact(
        document, "roofline",
        lull_arena_printf(arena, "Roofline, %u core%s", prediction->roofline.cores,
                          prediction->roofline.cores == 1 ? "" : "s"),
        lull_cell_quantity(prediction->roofline.performance, lull_kernel_rate_unit(prediction)));
    lull_document_fact(document, "bottleneck", "Roofline's bottleneck",
                       lull_cell_text(lull_kernel_bottleneck_text(&prediction->roofline, arena)));
}

static struct lull_table *add_table(const struct kernel_drawing *drawing, const char *id,
                                    const char *title)
{
    struct lull_arena *arena = drawing->arena;
    return lull_document_table(drawing->document, lull_arena_printf(arena, "%s%s", id, drawing->id),
                               lull_arena_printf(arena, "%s%s", drawing->place, title),
                               LULL_BY_COLUMN);
}

/* ---- tables --------------------------------------------------------------------------------- */

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
    const char *unit = lull_kernel_rate_unit(prediction);
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
                       lull_cell_quantity(point->naive, lull_kernel_rate_unit(prediction)));
        lull_table_set(table, row, 1,
                       lull_cell_quantity(point->latency, lull_kernel_rate_unit(prediction)));
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

/* ---- measurement ---------------------------------------------------------------------------- */

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
                   lull_cell_quantity(work / predicted, lull_kernel_rate_unit(prediction)));
    lull_table_set(table, row, 1,
                   lull_cell_quantity(work / measured->seconds, lull_kernel_rate_unit(prediction)));
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

/* ---- notes ---------------------------------------------------------------------------------- */

static void tell_disagreements(const struct kernel_drawing *drawing)
{
    const struct lull_kernel_prediction *prediction = drawing->prediction;
    for (size_t i = 0; i < prediction->layers.n_levels; i++) {
        const struct lull_ecm_lines *lines = &prediction->layers.lines[i];
        const struct lull_ecm_lines *simulated = &prediction->simulated.lines[i];
        if (!prediction->disagreements[i])
            continue;
        bool others = prediction->layers.has_others; /* then loads alone are compared */
        lull_notices_add(
            drawing->notices, LULL_NOTICE_WARNING,
            "%sbeyond L%zu the layer conditions say %.2f lines%s, the simulation %.2f: %s",
            drawing->place, i + 1, lines->loads + (others ? 0 : lines->stores),
            others ? " loaded" : "", simulated->loads + (others ? 0 : simulated->stores),
            prediction->disagreements[i]);
    }
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
    tell_disagreements(drawing);
}

/* "L3 beside L1 92 %, beside L2 -40 %" */
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
        lull_document_note(drawing->document, LULL_NOTE_INFO, "%s", LULL_KERNEL_SUM_NOTE);
    for (size_t i = 0; i < prediction->kernel->n_calls; i++)
        lull_document_note(drawing->document, LULL_NOTE_INFO,
                           "Calls of %s count %.4g cy each, as stated.",
                           prediction->kernel->calls[i].name, prediction->kernel->calls[i].cycles);
}

/* ---- the document --------------------------------------------------------------------------- */

static void add_loop(const struct kernel_drawing *drawing)
{
    add_cache_levels(drawing);
    add_conditions(drawing);
    add_roofline(drawing);
}

/* `draw` for each innermost loop, or for the only one. */
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
        loop.place =
            lull_arena_printf(arena, "%s: ", lull_kernel_loop_text(loop.prediction, arena));
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
    lull_kernel_add_loops(drawing.document, prediction, arena);
    for_each_loop(&drawing, add_loop);
    add_core_scaling(&drawing);
    for_each_loop(&drawing, add_ports);
    add_kernel_measured(&drawing);
    for_each_loop(&drawing, tell_loop);
    tell_notes(&drawing);
    lull_document_add_notices(drawing.document, notices);
    return drawing.document;
}
