/* Without llvm-mca: what a present core of x86 does per cycle. */
#include "model/kernel/incore/parts.h"

#include <math.h>

/* Two loads, one store, two operations on vectors, four instructions: what cores of Intel since
 * Haswell and of AMD since Zen 2 do at least (A. Fog, The microarchitecture of Intel, AMD and VIA
 * CPUs). Divisions take about half as many cycles as they give bits of a double. */
static const double loads_per_cycle = 2, stores_per_cycle = 1, operations_per_cycle = 2,
                    instructions_per_cycle = 4, cycles_per_division = 8;

void lull_incore_estimate(const struct lull_assembly_loop *loop, struct lull_incore *incore)
{
    double loads = 0, stores = 0, operations = 0, divisions = 0;
    for (size_t i = 0; i < loop->count; i++) {
        const struct lull_instruction *instruction = &loop->items[i];
        loads += instruction->load;
        stores += instruction->store;
        operations += instruction->arithmetic;
        divisions += instruction->division;
    }
    incore->source = LULL_INCORE_ESTIMATE;
    incore->t_nol = loads / loads_per_cycle;
    incore->t_ol = fmax(fmax(stores / stores_per_cycle, operations / operations_per_cycle),
                        fmax((double)loop->count / instructions_per_cycle,
                             divisions * cycles_per_division));
    incore->chain = incore->alone = NAN;
}
