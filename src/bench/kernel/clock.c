/* Additions of registers that wait for each other take one cycle each on every processor that lull
 * knows (adding a constant does not: some fold that while renaming registers). So their rate is the
 * clock that the core really has. */
#include "bench/compute.h"

enum { ADDITIONS = 64 };

#define FOUR(text) text text text text

static double add_registers(uint64_t repetitions)
{
    uint64_t sum = 0, addend = 1;
#if defined(__x86_64__)
    if (repetitions > 0)
        __asm__ volatile(".p2align 6\n\t"
                         "1:\n\t" FOUR(FOUR(FOUR("add %[addend], %[sum]\n\t"))) "dec %[n]\n\t"
                                                                                "jnz 1b\n\t"
                         : [sum] "+&r"(sum), [n] "+&r"(repetitions)
                         : [addend] "r"(addend)
                         : "cc");
#else
    for (uint64_t i = 0; i < repetitions; i++) {
#if defined(__aarch64__)
        __asm__ volatile(FOUR(FOUR(FOUR("add %[sum], %[sum], %[addend]\n\t")))
                         : [sum] "+&r"(sum)
                         : [addend] "r"(addend));
#else
        for (int k = 0; k < ADDITIONS; k++) {
            sum += addend;
            __asm__ volatile("" : "+r"(sum));
        }
#endif
    }
#endif
    return (double)sum;
}

const struct lull_bench_kernel lull_kernel_clock = {.name = "clock",
                                                    .formula = "n = n + m",
                                                    .compute = {add_registers, NULL, NULL, NULL},
                                                    .operations = {ADDITIONS, 0, 0, 0}};

const struct lull_benchmark lull_bench_clock = {
    .name = "clock",
    .group = "compute",
    .summary = "effective clock, from additions that wait for each other",
    .plan = lull_clock_plan,
    .kernel = &lull_kernel_clock,
};
