/* Loads that wait for each other: the address of each is the result of the one before it. */
#include "bench/memory/latency.h"

enum { LOADS = 16 };

static void *follow_pointers(void *from, uint64_t repetitions)
{
#if defined(__x86_64__)
#define FOUR(text) text text text text
    if (repetitions > 0)
        __asm__ volatile(".p2align 6\n\t"
                         "1:\n\t" FOUR(FOUR("mov (%[at]), %[at]\n\t")) "dec %[n]\n\t"
                                                                       "jnz 1b\n\t"
                         : [at] "+&r"(from), [n] "+&r"(repetitions)
                         :
                         : "memory", "cc");
    return from;
#else
    for (uint64_t i = 0; i < LOADS * repetitions; i++)
        from = *(void *volatile *)from;
    return from;
#endif
}

const struct lull_bench_kernel lull_kernel_chase = {
    .name = "latency", .formula = "p = *p", .chase = follow_pointers, .chase_loads = LOADS};

const struct lull_benchmark lull_bench_latency = {
    .name = "latency",
    .group = "latency",
    .summary = "time of a load whose address is the result of the one before it",
    .plan = lull_latency_plan,
    .kernel = &lull_kernel_chase,
};
