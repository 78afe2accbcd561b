/* What bench_likwid tells the library that it loads into likwid-bench. */
#ifndef LULL_BENCH_LIKWID_H
#define LULL_BENCH_LIKWID_H

#include "bench/kernel.h"

#include <string.h>

#define LULL_LIKWID_MATCH "LULL_LIKWID_MATCH" /* variable: "KERNEL WIDTH BYTES PASSES" */
#define LULL_LIKWID_TURNS "_turns.so"         /* the library: behind the path of the program */

/* A kernel by name, at a width that it has and that this processor runs. */
static inline bool lull_likwid_find(const char *name, const char *width,
                                    const struct lull_bench_kernel **ret_kernel,
                                    enum lull_simd *ret_simd)
{
    for (size_t i = 0; lull_kernels[i]; i++) {
        const struct lull_bench_kernel *kernel = lull_kernels[i];
        for (int simd = 0; strcmp(kernel->name, name) == 0 && simd < LULL_SIMD_WIDTHS; simd++) {
            bool fma = kernel->fma || kernel->needs_fma[simd];
            if (strcmp(lull_simd_name((enum lull_simd)simd), width) == 0 &&
                (kernel->stream[simd] || kernel->compute[simd]) &&
                lull_simd_usable((enum lull_simd)simd, fma)) {
                *ret_kernel = kernel;
                *ret_simd = (enum lull_simd)simd;
                return true;
            }
        }
    }
    return false;
}

#endif
