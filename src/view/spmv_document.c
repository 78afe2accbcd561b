/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/spmv_document.h"

#include "model/spmv/generate.h"

#include <math.h>

struct spmv_drawing {
    struct lull_document *document;
    const struct lull_spmv_study *study;
    struct lull_arena *arena;
};

static struct lull_cell rate_cell(double flops)
{
    return isfinite(flops) ? lull_cell_quantity(flops, "flop/s")
                           : lull_cell_absent("nothing comes from memory");
}

static void add_spmv_facts(const struct spmv_drawing *drawing)
{
    const struct lull_spmv_study *study = drawing->study;
    const struct lull_spmv_shape *shape = &study->shape;
    struct lull_document *document = drawing->document;
    lull_document_fact(document, "matrix", "Matrix", lull_cell_text(study->name));
    lull_document_fact(document, "rows", "Rows", lull_cell_count((uint64_t)shape->rows));
    lull_document_fact(document, "columns", "Columns", lull_cell_count((uint64_t)shape->columns));
    lull_document_fact(document, "nonzeros", "Nonzeros",
                       lull_cell_count((uint64_t)shape->nonzeros));
    lull_document_fact(document, "nonzeros_per_row", "Nonzeros per row",
                       lull_cell_number(shape->nonzeros / shape->rows, 2));
    lull_document_fact(document, "storage", "Storage", lull_cell_text(study->storage));
    if (shape->chunk > 0)
        lull_document_fact(document, "padding", "Padding",
                           lull_cell_share(1 - shape->nonzeros / shape->stored));
    lull_document_fact(document, "product", "Product",
                       lull_cell_text(shape->transposed ? "y = A^T x" : "y = A x"));
    lull_document_fact(document, "value_bytes", "Bytes of a value",
                       lull_cell_count((uint64_t)shape->value_bytes));
    if (study->machine_name)
        lull_document_fact(document, "machine", "Machine", lull_cell_text(study->machine_name));
}

/* ---- intensity ------------------------------------------------------------------------------ */

static uint32_t add_alpha(const struct spmv_drawing *drawing, struct lull_table *table,
                          const char *id, const char *label, double alpha)
{
    const struct lull_spmv_shape *shape = &drawing->study->shape;
    double once = lull_spmv_alpha_once(shape);
    uint32_t row = lull_table_row(table, id, label, LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_number(alpha, 4));
    lull_table_set(table, row, 1, lull_cell_number(alpha / once, 2));
    lull_table_set(table, row, 2, lull_cell_number(lull_spmv_bytes(shape, alpha), 2));
    lull_table_set(table, row, 3, lull_cell_number(lull_spmv_intensity(shape, alpha), 4));
    lull_table_set(
        table, row, 4,
        lull_cell_number(lull_spmv_intensity(shape, once) / lull_spmv_intensity(shape, alpha), 2));
    return row;
}

/* Adds the alpha that follows from bytes, which were measured or follow from a time at the
 * bandwidth of memory. */
static void add_measured_alpha(const struct spmv_drawing *drawing, struct lull_table *table,
                               const char *id, const char *label, double bytes)
{
    double alpha = lull_spmv_alpha(&drawing->study->shape, bytes);
    if (alpha >= 0) {
        add_alpha(drawing, table, id, label, alpha);
        return;
    }
    uint32_t row = lull_table_row(table, id, label, LULL_NO_ROW);
    lull_table_set(table, row, 0,
                   lull_cell_absent("less than what matrix and result alone bring from memory: "
                                    "they stay in cache"));
}

static void add_intensity(const struct spmv_drawing *drawing)
{
    const struct lull_spmv_study *study = drawing->study;
    struct lull_arena *arena = drawing->arena;
    struct lull_table *table = lull_document_table(
        drawing->document, "intensity", "Traffic with memory and intensity", LULL_BY_COLUMN);
    lull_table_corner(table, study->shape.transposed ? "Result" : "Vector");
    lull_table_column(table, "alpha", "alpha");
    lull_table_column(table, "loads", "Times\nloaded");
    lull_table_column(table, "bytes_per_nonzero", "Byte per\nnonzero");
    lull_table_column(table, "intensity", "flop/byte");
    lull_table_column(table, "slower", "Slower than\nloaded once");
    if (study->n_points) {
        lull_table_column(table, "alpha_low", "Least alpha\nof a thread");
        lull_table_column(table, "alpha_high", "Largest");
    }
    add_alpha(drawing, table, "cached", "in cache", 0);
    add_alpha(drawing, table, "once", "loaded once", lull_spmv_alpha_once(&study->shape));
    for (size_t i = 0; i < study->n_points; i++) {
        const struct lull_spmv_point *point = &study->points[i];
        unsigned cores = point->prediction.cores;
        uint32_t row =
            add_alpha(drawing, table, lull_arena_printf(arena, "simulated.%u", cores),
                      lull_arena_printf(arena, "simulated, %u core%s", cores, cores > 1 ? "s" : ""),
                      point->prediction.traffic.alpha);
        lull_table_set(table, row, 5, lull_cell_number(point->prediction.traffic.alpha_low, 4));
        lull_table_set(table, row, 6, lull_cell_number(point->prediction.traffic.alpha_high, 4));
    }
    for (size_t i = 0; i < study->n_points; i++) {
        const struct lull_spmv_point *point = &study->points[i];
        unsigned cores = point->prediction.cores;
        if (!isnan(point->measured))
            add_measured_alpha(
                drawing, table, lull_arena_printf(arena, "measured.%u", cores),
                lull_arena_printf(arena, "from the time, %u core%s", cores, cores > 1 ? "s" : ""),
                point->measured * point->prediction.memory.value -
                    point->prediction.update_bytes * study->shape.nonzeros);
    }
    if (!isnan(study->volume))
        add_measured_alpha(drawing, table, "volume", "measured bytes", study->volume);
}

/* ---- performance ---------------------------------------------------------------------------- */

static void add_spmv_measured(struct lull_table *table, uint32_t row, uint32_t column,
                              const struct lull_spmv_study *study,
                              const struct lull_spmv_point *point)
{
    double measured = study->shape.nonzeros * study->shape.flops / point->measured;
    lull_table_set(table, row, column, rate_cell(measured));
    if (isfinite(point->prediction.roofline))
        lull_table_set(table, row, column + 1,
                       lull_cell_share(point->prediction.roofline / measured - 1));
    lull_table_set(table, row, column + 2,
                   lull_cell_share(point->prediction.ecm_naive / measured - 1));
}

static void add_performance(const struct spmv_drawing *drawing)
{
    const struct lull_spmv_study *study = drawing->study;
    bool measured = false;
    for (size_t i = 0; i < study->n_points; i++)
        measured = measured || !isnan(study->points[i].measured);
    struct lull_table *table =
        lull_document_table(drawing->document, "performance", "Performance", LULL_BY_COLUMN);
    lull_table_corner(table, "Cores");
    lull_table_column(table, "bandwidth", "Memory\nbandwidth");
    lull_table_column(table, "roofline_once", "Roofline\nloaded once");
    lull_table_column(table, "roofline", "Roofline\nsimulated");
    lull_table_column(table, "ecm", "ECM");
    lull_table_column(table, "ecm_latency", "ECM with\nlatency penalty");
    lull_table_column(table, "time", "Time\nby ECM");
    if (measured) {
        lull_table_column(table, "measured", "Measured");
        lull_table_column(table, "roofline_error", "Error of\nRoofline");
        lull_table_column(table, "ecm_error", "Error of\nECM");
    }
    for (size_t i = 0; i < study->n_points; i++) {
        const struct lull_spmv_prediction *prediction = &study->points[i].prediction;
        const char *cores = lull_arena_printf(drawing->arena, "%u", prediction->cores);
        uint32_t row = lull_table_row(table, cores, cores, LULL_NO_ROW);
        lull_table_row_about(table, row,
                             lull_arena_printf(drawing->arena, "bandwidth of %s on %u cores",
                                               prediction->memory.kernel,
                                               prediction->memory.threads));
        lull_table_set(table, row, 0, lull_cell_quantity(prediction->memory.value, "B/s"));
        lull_table_set(table, row, 1, rate_cell(prediction->roofline_once));
        lull_table_set(table, row, 2, rate_cell(prediction->roofline));
        lull_table_set(table, row, 3, rate_cell(prediction->ecm_naive));
        lull_table_set(table, row, 4, rate_cell(prediction->ecm_latency));
        lull_table_set(table, row, 5, lull_cell_time(llround(prediction->seconds * 1e9)));
        if (!isnan(study->points[i].measured))
            add_spmv_measured(table, row, 6, study, &study->points[i]);
    }
}

static void add_ecm(const struct spmv_drawing *drawing)
{
    const struct lull_spmv_study *study = drawing->study;
    const struct lull_ecm *first = &study->points[0].prediction.ecm;
    struct lull_table *table = lull_document_table(
        drawing->document, "ecm", "ECM, cycles per 8 nonzeros on one of the cores", LULL_BY_COLUMN);
    lull_table_corner(table, "Cores");
    lull_table_column(table, "t_ol", "T_OL");
    lull_table_column(table, "t_nol", "T_nOL");
    for (size_t l = 0; l < first->n_links; l++)
        lull_table_column(table, lull_arena_printf(drawing->arena, "t_%s", first->links[l].name),
                          first->links[l].name);
    lull_table_column(table, "t_ecm", "T_ECM");
    lull_table_column(table, "saturation_cores", "Saturates\non cores");
    for (size_t i = 0; i < study->n_points; i++) {
        const struct lull_ecm *ecm = &study->points[i].prediction.ecm;
        const char *cores =
            lull_arena_printf(drawing->arena, "%u", study->points[i].prediction.cores);
        uint32_t row = lull_table_row(table, cores, cores, LULL_NO_ROW), column = 2;
        double alone = lull_ecm_time(ecm, ecm->n_links);
        unsigned saturation = lull_ecm_saturation(alone, ecm->shared);
        lull_table_set(table, row, 0, lull_cell_number(ecm->t_ol, 1));
        lull_table_set(table, row, 1, lull_cell_number(ecm->t_nol, 1));
        for (size_t l = 0; l < ecm->n_links; l++)
            lull_table_set(table, row, column++, lull_cell_number(ecm->links[l].cycles, 1));
        lull_table_set(table, row, column++, lull_cell_number(alone, 1));
        lull_table_set(table, row, column,
                       saturation ? lull_cell_count(saturation)
                                  : lull_cell_absent("nothing comes from memory"));
    }
}

static const struct lull_spmv_prediction *last_point(const struct lull_spmv_study *study)
{
    return &study->points[study->n_points - 1].prediction;
}

static void add_order(const struct spmv_drawing *drawing, struct lull_table *table, const char *id,
                      const char *label, uint32_t bandwidth, double alpha)
{
    const struct lull_spmv_study *study = drawing->study;
    const struct lull_spmv_prediction *last = last_point(study);
    uint32_t row = lull_table_row(table, id, label, LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_count(bandwidth));
    lull_table_set(table, row, 1, lull_cell_number(alpha, 4));
    lull_table_set(table, row, 2, lull_cell_number(lull_spmv_bytes(&study->shape, alpha), 2));
    lull_table_set(table, row, 3,
                   lull_cell_share(lull_spmv_bytes(&study->shape, last->traffic.alpha) /
                                       lull_spmv_bytes(&study->shape, alpha) -
                                   1));
}

static void add_reordered(const struct spmv_drawing *drawing)
{
    const struct lull_spmv_study *study = drawing->study;
    const struct lull_spmv_prediction *last = last_point(study);
    struct lull_table *table = lull_document_table(
        drawing->document, "reordering",
        lull_arena_printf(drawing->arena, "Would another order help? Simulated on %u core%s",
                          last->cores, last->cores > 1 ? "s" : ""),
        LULL_BY_COLUMN);
    lull_table_corner(table, "Order");
    lull_table_column(table, "bandwidth", "Farthest from\nthe diagonal");
    lull_table_column(table, "alpha", "alpha");
    lull_table_column(table, "bytes_per_nonzero", "Byte per\nnonzero");
    lull_table_column(table, "gain", "Faster by\nRoofline");
    add_order(drawing, table, "given", "as it is", study->bandwidth[0], last->traffic.alpha);
    add_order(drawing, table, "rcm", "reverse Cuthill-McKee", study->bandwidth[1],
              study->reordered_alpha);
}

struct lull_document *lull_spmv_document(const struct lull_spmv_study *study,
                                         struct lull_arena *arena)
{
    const struct spmv_drawing drawing = {
        .document = lull_document_create(arena, "lull-model-spmv/1", "Sparse matrix times vector"),
        .study = study,
        .arena = arena};
    add_spmv_facts(&drawing);
    add_intensity(&drawing);
    if (study->n_points) {
        add_performance(&drawing);
        add_ecm(&drawing);
    }
    if (study->reordered)
        add_reordered(&drawing);
    return drawing.document;
}

/* ---- chart and list ------------------------------------------------------------------------- */

static void add_spmv_series(struct lull_chart *chart, const struct lull_spmv_study *study,
                            const char *label, enum lull_chart_style style,
                            double (*value)(const struct lull_spmv_study *study,
                                            const struct lull_spmv_point *point),
                            struct lull_arena *arena)
{
    struct lull_chart_point *points = lull_arena_zero(arena, study->n_points, sizeof *points);
    bool any = false;
    for (size_t i = 0; i < study->n_points; i++) {
        double y = value(study, &study->points[i]);
        any = any || isfinite(y);
        points[i] = (struct lull_chart_point){study->points[i].prediction.cores, y, NAN, NAN};
    }
    if (any)
        lull_chart_series(chart, label, style, points, study->n_points);
}

static double roofline_of(const struct lull_spmv_study *study, const struct lull_spmv_point *point)
{
    (void)study;
    return point->prediction.roofline;
}

static double ecm_of(const struct lull_spmv_study *study, const struct lull_spmv_point *point)
{
    (void)study;
    return point->prediction.ecm_naive;
}

static double latency_of(const struct lull_spmv_study *study, const struct lull_spmv_point *point)
{
    (void)study;
    return point->prediction.ecm_latency;
}

static double measured_of(const struct lull_spmv_study *study, const struct lull_spmv_point *point)
{
    return study->shape.nonzeros * study->shape.flops / point->measured;
}

const struct lull_chart *lull_spmv_chart(const struct lull_spmv_study *study,
                                         struct lull_arena *arena)
{
    struct lull_chart *chart = lull_chart_create(
        arena, lull_arena_printf(arena, "%s, %s, %s", study->name, study->storage,
                                 study->shape.transposed ? "y = A^T x" : "y = A x"));
    lull_chart_x_axis(chart, "cores", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "performance", "flop/s", LULL_CHART_LINEAR);
    add_spmv_series(chart, study, "Roofline, simulated traffic", LULL_CHART_LINE, roofline_of,
                    arena);
    add_spmv_series(chart, study, "ECM", LULL_CHART_LINE, ecm_of, arena);
    add_spmv_series(chart, study, "ECM with latency penalty", LULL_CHART_LINE, latency_of, arena);
    add_spmv_series(chart, study, "measured", LULL_CHART_POINTS, measured_of, arena);
    return chart;
}

struct lull_document *lull_spmv_list(struct lull_arena *arena)
{
    struct lull_document *document =
        lull_document_create(arena, "lull-model-spmv-list/1", "Matrices that can be made");
    struct lull_table *table = lull_document_table(document, "matrices", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Name");
    lull_table_column(table, "usual", "Parameters and their usual values");
    lull_table_column(table, "summary", "What it is");
    for (size_t i = 0; lull_generators[i]; i++) {
        const struct lull_generator *generator = lull_generators[i];
        uint32_t row = lull_table_row(table, generator->name, generator->name, LULL_NO_ROW);
        const char *usual = "";
        for (size_t p = 0; p < LULL_GENERATOR_PARAMETERS && generator->parameters[p].name; p++)
            usual =
                lull_arena_printf(arena, "%s%s%s=%.10g", usual, p ? "," : "",
                                  generator->parameters[p].name, generator->parameters[p].usual);
        lull_table_set(table, row, 0, lull_cell_text(usual));
        lull_table_set(table, row, 1, lull_cell_text(generator->summary));
    }
    return document;
}
