/* Prints what every kernel claims of its loops, for check_kernels.py:
 * kernel, function, kind, and per element (streams) or repetition (the others) loads, stores,
 * flops. */
#include "bench/kernel.h"

#include <stdio.h>

int main(void)
{
    for (size_t i = 0; lull_kernels[i]; i++) {
        const struct lull_bench_kernel *kernel = lull_kernels[i];
        for (int simd = 0; simd < LULL_SIMD_WIDTHS; simd++) {
            const char *width = lull_simd_name((enum lull_simd)simd);
            if (kernel->stream[simd])
                printf("%s %s_%s stream %u %u %u\n", kernel->name, kernel->name, width,
                       kernel->loads, kernel->stores, kernel->flops);
            else if (kernel->compute[simd] && kernel->compute[1])
                printf("%s %s_%s compute 0 0 %.0f\n", kernel->name, kernel->name, width,
                       kernel->operations[simd]);
        }
        if (kernel->chase)
            printf("%s follow_pointers chase %u 0 0\n", kernel->name, kernel->chase_loads);
        else if (kernel->compute[0] && !kernel->compute[1])
            printf("%s add_registers chain 0 0 %.0f\n", kernel->name, kernel->operations[0]);
    }
    return 0;
}
