#include "view/kernel/kernel_facts.h"

#include <math.h>

const char *lull_kernel_rate_unit(const struct lull_kernel_prediction *prediction)
{
    return prediction->flops > 0 ? "flop/s" : "it/s";
}

const char *lull_kernel_machine_text(const struct lull_machine *machine)
{
    return machine->name        ? machine->name
           : machine->host.name ? machine->host.name
           : machine->cpu.model ? machine->cpu.model
                                : "unnamed";
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

/* "16.9" and "7" */
static const char *cycles_text(double cycles, struct lull_arena *arena)
{
    return lull_arena_printf(arena, "%.*f", fabs(cycles - round(cycles)) < 0.05 ? 0 : 1, cycles);
}

const char *lull_kernel_tuple_text(const struct lull_kernel_prediction *prediction,
                                   struct lull_arena *arena)
{
    const struct lull_ecm *ecm = &prediction->ecm;
    const char *text = lull_arena_printf(arena, "{%s || %s", cycles_text(ecm->t_ol, arena),
                                         cycles_text(ecm->t_nol, arena));
    for (size_t i = 0; i < ecm->n_links; i++)
        text = lull_arena_printf(arena, "%s | %s", text, cycles_text(ecm->links[i].cycles, arena));
    return lull_arena_printf(arena, "%s} cy", text);
}

/* Without the chain, as the notation has it. */
static double time_at(const struct lull_kernel_prediction *prediction, size_t level)
{
    double sum = 0;
    for (size_t l = 0; l < prediction->n_loops; l++)
        sum += prediction->loops[l].weight * lull_ecm_time(&prediction->loops[l].ecm, level);
    return prediction->n_loops > 0 ? sum : lull_ecm_time(&prediction->ecm, level);
}

const char *lull_kernel_ladder_text(const struct lull_kernel_prediction *prediction,
                                    struct lull_arena *arena)
{
    const char *text = "{";
    for (size_t i = 0; i <= prediction->ecm.n_links; i++)
        text = lull_arena_printf(arena, "%s%s%s", text, i ? " ] " : "",
                                 cycles_text(time_at(prediction, i), arena));
    return lull_arena_printf(arena, "%s} cy", text);
}

const char *lull_kernel_bottleneck_text(const struct lull_roofline *roofline,
                                        struct lull_arena *arena)
{
    if (roofline->limit != LULL_KERNEL_NONE)
        return lull_arena_printf(arena, "bandwidth of %s", roofline->roofs[roofline->limit].level);
    return roofline->peak <= roofline->in_core ? "peak arithmetic" : "the core's execution";
}

const char *lull_kernel_loop_text(const struct lull_kernel_prediction *loop,
                                  struct lull_arena *arena)
{
    const struct lull_kernel *kernel = loop->kernel;
    return lull_arena_printf(arena, "Loop %zu, line %u", lull_kernel_number(kernel),
                             kernel->loops[kernel->body].line);
}

void lull_kernel_add_compiler(struct lull_document *document, const struct lull_incore *incore,
                              struct lull_arena *arena)
{
    lull_document_fact(document, "in_core", "In-core times",
                       lull_cell_text(in_core_text(incore, arena)));
    if (incore->flags)
        lull_document_fact(
            document, "compiled", "Compiled with",
            lull_cell_text(lull_arena_printf(arena, "%s %s", incore->compiler, incore->flags)));
}

void lull_kernel_add_in_core(struct lull_document *document, const struct lull_incore *incore,
                             struct lull_arena *arena)
{
    lull_kernel_add_compiler(document, incore, arena);
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

void lull_kernel_add_crossing(struct lull_document *document, const struct lull_crossing *crossing,
                              struct lull_arena *arena)
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

/* ---- the loops of a nest -------------------------------------------------------------------- */

/* Columns of what was compiled, which given times have not. */
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
    uint32_t row = lull_table_row(table, id, lull_kernel_loop_text(loop, arena), LULL_NO_ROW);
    double iterations = lull_kernel_iterations(loop->kernel, loop->kernel->body);
    lull_table_set(table, row, 0, lull_cell_number(iterations, 0));
    lull_table_set(table, row, 1, lull_cell_number(loop->weight, 3));
    lull_table_set(table, row, 2, lull_cell_text(lull_kernel_tuple_text(loop, arena)));
    lull_table_set(table, row, 3, lull_cell_number(loop->cycles, 1));
    lull_table_set(table, row, 4, lull_cell_number(loop->weight * loop->cycles, 1));
    lull_table_set(table, row, 5, lull_cell_share(loop->weight * loop->cycles / nest->cycles));
    if (loop->saturation)
        lull_table_set(table, row, 6, lull_cell_count(loop->saturation));
    lull_table_set(table, row, 7,
                   lull_cell_text(lull_kernel_bottleneck_text(&loop->roofline, arena)));
    if (loop->incore.source != LULL_INCORE_GIVEN)
        set_compiled(loop, row, 8, table);
}

void lull_kernel_add_loops(struct lull_document *document,
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
