#include "view/program/program_runs.h"

#include <math.h>

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
        if (t == model->waiting && predicted == 0) /* each process has a core */
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
    set_pair(table, row, lull_times_cell(predicted), lull_times_cell(measured),
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
        lull_program_set_interval(table, row, RUN_LOW, total.seconds, run->uncertainty);
    add_times(table, model, run, row, arena);
    if (!run->has_messages)
        return;
    add_count(table, run, "messages", total.messages, run->messages, row, arena);
    add_count(table, run, "bytes", total.bytes, run->bytes, row, arena);
    add_count(table, run, "collective calls", total.collectives, run->collectives, row, arena);
}

void lull_program_add_runs(struct lull_document *document, const struct lull_program_study *study,
                           struct lull_arena *arena)
{
    struct lull_table *table = lull_document_table(
        document, "against", "Predicted and measured, of a process on average", LULL_BY_COLUMN);
    lull_table_corner(table, "Run");
    lull_table_column(table, "predicted", "Predicted");
    lull_table_column(table, "measured", "Measured");
    lull_table_column(table, "error", "Error");
    if (study->model->has_uncertainty)
        lull_program_add_interval(table);
    for (uint32_t i = 0; i < study->n_against; i++)
        add_run(table, study->model, &study->against[i], arena);
}
