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

void lull_kernel_add_in_core(struct lull_document *document, const struct lull_incore *incore,
                             struct lull_arena *arena)
{
    lull_document_fact(document, "in_core", "In-core times",
                       lull_cell_text(in_core_text(incore, arena)));
    if (incore->flags)
        lull_document_fact(
            document, "compiled", "Compiled with",
            lull_cell_text(lull_arena_printf(arena, "%s %s", incore->compiler, incore->flags)));
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
