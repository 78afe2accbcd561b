/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/solver_document.h"

#include <math.h>

static struct lull_cell cell_of_seconds(double seconds)
{
    return lull_cell_time(llround(seconds * 1e9));
}

static const char *level_name(size_t level, size_t levels, struct lull_arena *arena)
{
    return level == levels ? "memory" : lull_arena_printf(arena, "L%zu", level + 1);
}

static const struct lull_solver_scale *last_scale(const struct lull_solver_prediction *prediction)
{
    return &prediction->scales[prediction->n_scales - 1];
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void add_solver_facts(struct lull_document *document, const struct lull_solver_study *study,
                             struct lull_arena *arena)
{
    const struct lull_solver_prediction *prediction = study->prediction;
    const struct lull_solver *solver = prediction->solver;
    lull_document_fact(document, "machine", "Machine", lull_cell_text(study->machine_name));
    lull_document_fact(document, "clock", "Clock", lull_cell_quantity(prediction->clock, "Hz"));
    lull_document_fact(document, "cores", "Cores", lull_cell_count(prediction->n_scales));
    lull_document_fact(document, "points", "Points", lull_cell_number(solver->points, 0));
    lull_document_fact(document, "bytes", "All arrays", lull_cell_bytes((uint64_t)solver->bytes));
    for (size_t i = 0; i < solver->n_parameters; i++) {
        const struct lull_solver_parameter *parameter = &solver->parameters[i];
        int digits = parameter->value == floor(parameter->value) ? 0 : 3;
        lull_document_fact(document, lull_arena_printf(arena, "parameter.%s", parameter->name),
                           parameter->name, lull_cell_number(parameter->value, digits));
    }
}

/* ---- kernels -------------------------------------------------------------------------------- */

enum { AFTER_LINKS_TIME, AFTER_LINKS_CORES, AFTER_LINKS_LIMIT, AFTER_LINKS_ONE, AFTER_LINKS_ALL };

static void add_kernel_columns(struct lull_table *table, const struct lull_ecm *ecm, size_t cores,
                               struct lull_arena *arena)
{
    lull_table_corner(table, "Kernel");
    lull_table_column(table, "count", "Times");
    lull_table_column(table, "t_ol", "T_OL");
    lull_table_column(table, "t_nol", "T_nOL");
    for (size_t l = 0; l < ecm->n_links; l++)
        lull_table_column(table, lull_arena_printf(arena, "t_%s", ecm->links[l].name),
                          ecm->links[l].name);
    lull_table_column(table, "t_ecm", "T_ECM\n1 core");
    lull_table_column(table, "saturation_cores", "Saturates\non cores");
    lull_table_column(table, "limit", lull_arena_printf(arena, "Limit\n%zu cores", cores));
    lull_table_column(table, "share_one", "Share\n1 core");
    lull_table_column(table, "share_all", lull_arena_printf(arena, "Share\n%zu cores", cores));
}

static void add_kernel_row(struct lull_table *table,
                           const struct lull_solver_prediction *prediction, size_t number,
                           struct lull_arena *arena)
{
    const struct lull_solver_kernel *kernel = &prediction->solver->kernels[number];
    const struct lull_solver_kernel_time *time = &prediction->kernels[number];
    uint32_t row = lull_table_row(table, kernel->name, kernel->name, LULL_NO_ROW), column = 3;
    lull_table_row_about(table, row,
                         lull_arena_printf(arena, "memory bandwidth of %s: %.4g GB/s",
                                           time->memory.kernel, time->memory.value / 1e9));
    lull_table_set(table, row, 0, lull_cell_number(kernel->count, 0));
    lull_table_set(table, row, 1, lull_cell_number(kernel->t_ol, 1));
    lull_table_set(table, row, 2, lull_cell_number(kernel->t_nol, 1));
    for (size_t l = 0; l < time->ecm.n_links; l++)
        lull_table_set(table, row, column++, lull_cell_number(time->ecm.links[l].cycles, 1));
    lull_table_set(table, row, column + AFTER_LINKS_TIME, lull_cell_number(time->cycles, 1));
    lull_table_set(table, row, column + AFTER_LINKS_CORES,
                   time->saturation ? lull_cell_count(time->saturation)
                                    : lull_cell_absent("no traffic with memory"));
    lull_table_set(table, row, column + AFTER_LINKS_LIMIT, lull_cell_number(time->limit, 2));
    const struct lull_solver_scale *all = last_scale(prediction);
    lull_table_set(table, row, column + AFTER_LINKS_ONE,
                   lull_cell_share(time->seconds / prediction->scales[0].seconds));
    lull_table_set(table, row, column + AFTER_LINKS_ALL,
                   lull_cell_share(all->kernels[number] / all->seconds));
}

static void add_kernels(struct lull_document *document, const struct lull_solver_study *study,
                        struct lull_arena *arena)
{
    const struct lull_solver_prediction *prediction = study->prediction;
    size_t links = prediction->kernels[0].ecm.n_links;
    struct lull_table *table =
        lull_document_table(document, "kernels",
                            "Kernels, cycles per line of 8 points, data in memory", LULL_BY_COLUMN);
    add_kernel_columns(table, &prediction->kernels[0].ecm, prediction->n_scales, arena);
    for (size_t i = 0; i < prediction->solver->n_kernels; i++)
        add_kernel_row(table, prediction, i, arena);
    lull_table_rule(table);
    uint32_t sum = lull_table_row(table, "sum", "Sum", LULL_NO_ROW);
    uint32_t column = 3 + (uint32_t)links;
    lull_table_set(table, sum, column + AFTER_LINKS_TIME, lull_cell_number(prediction->cycles, 1));
    lull_table_set(table, sum, column + AFTER_LINKS_LIMIT, lull_cell_number(prediction->limit, 2));
}

static void add_lines(struct lull_document *document, const struct lull_solver_study *study,
                      struct lull_arena *arena)
{
    const struct lull_solver_prediction *prediction = study->prediction;
    const struct lull_ecm *ecm = &prediction->kernels[0].ecm;
    struct lull_table *table = lull_document_table(
        document, "lines", "Cache lines read and written per line of 8 points", LULL_BY_COLUMN);
    lull_table_corner(table, "Kernel");
    for (size_t l = 0; l < ecm->n_links; l++) {
        const char *link = ecm->links[l].name;
        lull_table_column(table, lull_arena_printf(arena, "loads_%s", link),
                          lull_arena_printf(arena, "%s\nread", link));
        lull_table_column(table, lull_arena_printf(arena, "stores_%s", link),
                          lull_arena_printf(arena, "%s\nwritten", link));
    }
    for (size_t i = 0; i < prediction->solver->n_kernels; i++) {
        const struct lull_solver_kernel *kernel = &prediction->solver->kernels[i];
        uint32_t row = lull_table_row(table, kernel->name, kernel->name, LULL_NO_ROW), column = 0;
        for (size_t l = 0; l < kernel->n_lines; l++) {
            lull_table_set(table, row, column++, lull_cell_number(kernel->lines[l].loads, 2));
            lull_table_set(table, row, column++, lull_cell_number(kernel->lines[l].stores, 2));
        }
    }
}

/* ---- cores and sweep ------------------------------------------------------------------------ */

static bool has_pipeline(const struct lull_solver *solver)
{
    for (size_t i = 0; i < solver->n_kernels; i++)
        if (solver->kernels[i].wavefronts > 0)
            return true;
    return false;
}

/* The floating-point operations of an iteration; 0: the description does not say. */
static double flops_of(const struct lull_solver *solver)
{
    double flops = 0;
    for (size_t i = 0; i < solver->n_kernels; i++)
        flops += solver->kernels[i].count * solver->kernels[i].points * solver->kernels[i].flops;
    return flops;
}

static struct lull_cell sync_cell(const struct lull_solver_prediction *prediction,
                                  const struct lull_solver_scale *scale)
{
    return prediction->sync_known ? lull_cell_share(scale->sync / scale->seconds)
                                  : lull_cell_absent("cost of a barrier unknown");
}

static void add_solver_cores(struct lull_document *document, const struct lull_solver_study *study,
                             struct lull_arena *arena)
{
    const struct lull_solver_prediction *prediction = study->prediction;
    size_t levels = prediction->solver->kernels[0].n_lines;
    bool pipeline = has_pipeline(prediction->solver);
    double flops = flops_of(prediction->solver);
    struct lull_table *table =
        lull_document_table(document, "cores", "One iteration over cores", LULL_BY_COLUMN);
    lull_table_corner(table, "Cores");
    lull_table_column(table, "level", "Data in");
    lull_table_column(table, "cycles", "Cycles\nper line");
    lull_table_column(table, "time", "Time");
    lull_table_column(table, "time_latency", "Time with\nlatency penalty");
    lull_table_column(table, "speedup", "Speedup");
    lull_table_column(table, "performance", "Performance");
    lull_table_column(table, "sync", "Barriers\nand regions");
    if (pipeline)
        lull_table_column(table, "fill", "Pipelines\nidle");
    for (size_t i = 0; i < prediction->n_scales; i++) {
        const struct lull_solver_scale *scale = &prediction->scales[i];
        const char *cores = lull_arena_printf(arena, "%u", scale->cores);
        uint32_t row = lull_table_row(table, cores, cores, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_text(level_name(scale->level, levels, arena)));
        lull_table_set(table, row, 1, lull_cell_number(scale->cycles, 1));
        lull_table_set(table, row, 2, cell_of_seconds(scale->seconds));
        lull_table_set(table, row, 3, cell_of_seconds(scale->latency));
        lull_table_set(table, row, 4,
                       lull_cell_number(prediction->scales[0].seconds / scale->seconds, 2));
        lull_table_set(table, row, 5,
                       flops > 0 ? lull_cell_quantity(flops / scale->seconds, "flop/s")
                                 : lull_cell_absent("no flops in the description"));
        lull_table_set(table, row, 6, sync_cell(prediction, scale));
        if (pipeline)
            lull_table_set(table, row, 7, lull_cell_share(scale->fill / scale->seconds));
    }
}

static void add_solver_sweep(struct lull_document *document, const struct lull_solver_study *study,
                             struct lull_arena *arena)
{
    struct lull_table *table = lull_document_table(
        document, "sweep", lull_arena_printf(arena, "Over %s", study->swept), LULL_BY_COLUMN);
    size_t cores = study->prediction->n_scales;
    lull_table_corner(table, study->swept);
    lull_table_column(table, "level", "Data in");
    lull_table_column(table, "cycles_one", "Cycles per line\n1 core");
    lull_table_column(table, "time_one", "Time\n1 core");
    lull_table_column(table, "time_all", lull_arena_printf(arena, "Time\n%zu cores", cores));
    lull_table_column(table, "speedup", "Speedup");
    lull_table_column(table, "sync", "Barriers\nand regions");
    for (size_t i = 0; i < study->n_sweep; i++) {
        const struct lull_solver_prediction *prediction = &study->sweep[i].prediction;
        const struct lull_solver_scale *one = prediction->scales, *all = last_scale(prediction);
        const char *value = lull_arena_printf(arena, "%.10g", study->sweep[i].value);
        uint32_t row = lull_table_row(table, value, value, LULL_NO_ROW);
        lull_table_set(
            table, row, 0,
            lull_cell_text(level_name(all->level, prediction->solver->kernels[0].n_lines, arena)));
        lull_table_set(table, row, 1, lull_cell_number(one->cycles, 1));
        lull_table_set(table, row, 2, cell_of_seconds(one->seconds));
        lull_table_set(table, row, 3, cell_of_seconds(all->seconds));
        lull_table_set(table, row, 4, lull_cell_number(one->seconds / all->seconds, 2));
        lull_table_set(table, row, 5, sync_cell(prediction, all));
    }
}

struct lull_document *lull_solver_document(const struct lull_solver_study *study,
                                           struct lull_arena *arena)
{
    const struct lull_solver_prediction *prediction = study->prediction;
    struct lull_document *document =
        lull_document_create(arena, "lull-model-solver/1", prediction->solver->title);
    add_solver_facts(document, study, arena);
    add_kernels(document, study, arena);
    add_lines(document, study, arena);
    add_solver_cores(document, study, arena);
    if (study->swept)
        add_solver_sweep(document, study, arena);
    if (!prediction->sync_known)
        lull_document_note(document, LULL_NOTE_WARNING,
                           "the machine file does not say what barriers and parallel regions cost: "
                           "they count nothing (`lull bench` measures them, --barrier sets it)");
    return document;
}

/* ---- chart ---------------------------------------------------------------------------------- */

static const struct lull_chart *sweep_chart(const struct lull_solver_study *study,
                                            struct lull_arena *arena)
{
    struct lull_chart *chart = lull_chart_create(
        arena, lull_arena_printf(arena, "%s: barriers and regions on %zu cores",
                                 study->prediction->solver->title, study->prediction->n_scales));
    struct lull_chart_point *points = lull_arena_zero(arena, study->n_sweep, sizeof *points);
    for (size_t i = 0; i < study->n_sweep; i++) {
        const struct lull_solver_scale *all = last_scale(&study->sweep[i].prediction);
        points[i] = (struct lull_chart_point){study->sweep[i].value, 100 * all->sync / all->seconds,
                                              NAN, NAN};
    }
    lull_chart_x_axis(chart, study->swept, "", LULL_CHART_LOG);
    lull_chart_y_axis(chart, "share of the time in %", "", LULL_CHART_LINEAR);
    lull_chart_series(chart, "barriers and regions", LULL_CHART_LINE, points, study->n_sweep);
    return chart;
}

const struct lull_chart *lull_solver_chart(const struct lull_solver_study *study,
                                           struct lull_arena *arena)
{
    if (study->swept)
        return sweep_chart(study, arena);
    const struct lull_solver_prediction *prediction = study->prediction;
    struct lull_chart *chart = lull_chart_create(arena, prediction->solver->title);
    struct lull_chart_point *naive = lull_arena_zero(arena, prediction->n_scales, sizeof *naive);
    struct lull_chart_point *latency =
        lull_arena_zero(arena, prediction->n_scales, sizeof *latency);
    for (size_t i = 0; i < prediction->n_scales; i++) {
        const struct lull_solver_scale *scale = &prediction->scales[i];
        naive[i] = (struct lull_chart_point){scale->cores, 1 / scale->seconds, NAN, NAN};
        latency[i] = (struct lull_chart_point){scale->cores, 1 / scale->latency, NAN, NAN};
    }
    lull_chart_x_axis(chart, "cores", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "iterations per second", "", LULL_CHART_LINEAR);
    lull_chart_series(chart, "naive saturation", LULL_CHART_LINE, naive, prediction->n_scales);
    lull_chart_series(chart, "with latency penalty", LULL_CHART_LINE, latency,
                      prediction->n_scales);
    return chart;
}
