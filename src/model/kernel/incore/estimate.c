/* Without llvm-mca: what a present core of x86 does per cycle. */
#include "model/kernel/incore/parts.h"

#include <math.h>
#include <string.h>

/* Two loads, one store, two operations on vectors, four instructions: what cores of Intel since
 * Haswell and of AMD since Zen 2 do at least (A. Fog, The microarchitecture of Intel, AMD and VIA
 * CPUs). Divisions take about half as many cycles as they give bits of a double. */
static const double loads_per_cycle = 2, stores_per_cycle = 1, usual_operations_per_cycle = 2,
                    instructions_per_cycle = 4, cycles_per_division = 8;

/* Until a result is there, of the same cores (A. Fog, Instruction tables): additions,
 * multiplications and both at once take 3 to 5 cycles, mostly 4; a divided double 13 to 15. Moves
 * from register to register take none, everything else one. */
static const double arithmetic_latency = 4, division_latency = 13, other_latency = 1;

static double latency_of(const struct lull_instruction *instruction)
{
    static const char *const arithmetic[] = {"add", "sub", "mul", "fm", "fnm", "max", "min", "cvt"};
    const char *name = instruction->text + (*instruction->text == 'v');
    if (instruction->division)
        return division_latency;
    if (strncmp(name, "mov", 3) == 0)
        return 0;
    for (size_t i = 0; instruction->floating && i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (strncmp(name, arithmetic[i], strlen(arithmetic[i])) == 0)
            return arithmetic_latency;
    return other_latency;
}

double lull_incore_estimate_chain(const struct lull_assembly_loop *loop, struct lull_arena *arena)
{
    double *latency = lull_arena_zero(arena, loop->count + 1, sizeof *latency);
    for (size_t i = 0; i < loop->count; i++)
        latency[i] = latency_of(&loop->items[i]);
    return lull_assembly_chain(loop, latency, arena);
}

/* Of registers of this width as many as the machine was measured to multiply and add, because some
 * cores take the widest ones in two halves. */
static double operations_per_cycle(const struct lull_machine *machine, unsigned vector_bits)
{
    const struct lull_number *peak =
        lull_machine_find(machine, vector_bits == 512   ? "peak.dp.fma.avx512.1"
                                   : vector_bits == 256 ? "peak.dp.fma.avx2.1"
                                   : vector_bits == 128 ? "peak.dp.fma.sse.1"
                                                        : "peak.dp.fma.scalar.1");
    double flops = 2 * fmax(1, vector_bits / 64);
    return peak && peak->in_cycles > 0 ? peak->in_cycles / flops : usual_operations_per_cycle;
}

/* A gather loads each of its elements by itself. */
static double loads_of(const struct lull_instruction *instruction)
{
    const char *name = instruction->text + (*instruction->text == 'v');
    if (strncmp(name, "gather", 6) != 0 && strncmp(name, "pgather", 7) != 0)
        return instruction->load;
    size_t length = strcspn(name, " \t");
    bool floats = name[length - 1] == 's' || strncmp(name + length - 2, "dd", 2) == 0;
    return instruction->register_bits / (floats ? 32.0 : 64.0);
}

void lull_incore_estimate(const struct lull_assembly_loop *loop, const struct lull_machine *machine,
                          struct lull_arena *arena, struct lull_incore *incore)
{
    double loads = 0, stores = 0, operations = 0, divisions = 0;
    for (size_t i = 0; i < loop->count; i++) {
        const struct lull_instruction *instruction = &loop->items[i];
        loads += loads_of(instruction);
        stores += instruction->store;
        operations += instruction->arithmetic;
        divisions += instruction->division;
    }
    incore->source = LULL_INCORE_ESTIMATE;
    incore->t_nol = loads / loads_per_cycle;
    incore->t_ol =
        fmax(fmax(stores / stores_per_cycle,
                  operations / operations_per_cycle(machine, incore->vector_bits)),
             fmax((double)loop->count / instructions_per_cycle, divisions * cycles_per_division));
    incore->chain = lull_incore_estimate_chain(loop, arena);
    incore->alone = NAN;
}
