#include "view/kernel/kernel_document.h"
#include "view/kernel/kernel_facts.h"
#include "view/notices_document.h"

static void add_columns(struct lull_table *table, const char *size, const struct lull_ecm *ecm,
                        bool measured)
{
    lull_table_corner(table, size);
    lull_table_column(table, "footprint", "Arrays");
    lull_table_column(table, "t_ol", "T_OL");
    lull_table_column(table, "t_nol", "T_nOL");
    for (size_t i = 0; i < ecm->n_links; i++)
        lull_table_column(table, ecm->links[i].name, ecm->links[i].name);
    lull_table_column(table, "cycles", "ECM");
    lull_table_column(table, "performance", "Performance");
    if (measured) {
        lull_table_column(table, "measured", "Measured");
        lull_table_column(table, "error", "Error");
    }
}

static void add_row(struct lull_table *table, double value,
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
    lull_kernel_add_in_core(document, &predictions[0].incore, arena);
    struct lull_table *table =
        lull_document_table(document, "sweep", "Cycles per unit of work", LULL_BY_COLUMN);
    add_columns(table, size, &predictions[0].ecm, measured);
    for (size_t p = 0; p < count; p++)
        add_row(table, values[p], &predictions[p], measured ? &measured[p] : NULL, arena);
    for (size_t i = 0; i < predictions[0].incore.n_notes; i++)
        lull_document_note(document, LULL_NOTE_INFO, "%s", predictions[0].incore.notes[i]);
    lull_document_add_notices(document, notices);
    return document;
}
