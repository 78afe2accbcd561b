#include "view/kernel/kernel_document.h"
#include "view/kernel/kernel_facts.h"
#include "view/notices_document.h"

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

/* What each loop has of the nest's cycles. */
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
    lull_table_set(table, row, column++,
                   lull_cell_quantity(rate, lull_kernel_rate_unit(prediction)));
    if (!measured)
        return;
    double error = lull_kernel_error(prediction, measured);
    lull_table_set(table, row, column++,
                   lull_cell_quantity(rate * (1 + error), lull_kernel_rate_unit(prediction)));
    lull_table_set(table, row, column, lull_cell_share(error));
}

/* Notes of a loop, of the first size with which it runs: the code is the same for all. */
static void tell_in_core(struct lull_document *document,
                         const struct lull_kernel_prediction *predictions, size_t count, int loop,
                         bool several, struct lull_arena *arena)
{
    const struct lull_kernel_prediction *found = NULL;
    for (size_t p = 0; p < count && !found; p++)
        found = prediction_of(&predictions[p], loop);
    for (size_t i = 0; found && i < found->incore.n_notes; i++)
        lull_document_note(document, LULL_NOTE_INFO, "%s%s%s",
                           several ? lull_kernel_loop_text(found, arena) : "", several ? ": " : "",
                           found->incore.notes[i]);
}

/* Another loop may be the busiest with other sizes. */
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
                       lull_cell_text(lull_kernel_machine_text(predictions[0].machine)));
    lull_document_fact(document, "unit_iterations", "Unit of work (iterations)",
                       lull_cell_number(predictions[0].unit, 0));
    bool several = lull_kernel_count_innermost(predictions[0].kernel) > 1;
    if (several)
        lull_kernel_add_compiler(document, &predictions[0].incore, arena);
    else
        lull_kernel_add_in_core(document, &predictions[0].incore, arena);
    struct lull_table *table =
        lull_document_table(document, "sweep", "Cycles per unit of work", LULL_BY_COLUMN);
    add_columns(table, size, &predictions[0], measured, arena);
    for (size_t p = 0; p < count; p++)
        add_sweep_row(table, values[p], &predictions[p], measured ? &measured[p] : NULL, arena);
    for (int l = 0; l < (int)predictions[0].kernel->n_loops; l++)
        tell_in_core(document, predictions, count, l, several, arena);
    tell_units(document, predictions, values, count, size);
    if (several)
        lull_document_note(document, LULL_NOTE_INFO, "%s", LULL_KERNEL_SUM_NOTE);
    lull_document_add_notices(document, notices);
    return document;
}
