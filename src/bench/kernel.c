/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/kernel.h"

/* ==== simd ==================================================================================== */

const char *lull_simd_name(enum lull_simd simd)
{
    static const char *const names[LULL_SIMD_WIDTHS] = {"scalar", "sse", "avx2", "avx512"};
    return names[simd];
}

unsigned lull_simd_bytes(enum lull_simd simd)
{
    static const unsigned bytes[LULL_SIMD_WIDTHS] = {8, 16, 32, 64};
    return bytes[simd];
}

bool lull_simd_usable(enum lull_simd simd, bool fma)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (fma && !__builtin_cpu_supports("fma"))
        return false;
    switch (simd) {
    case LULL_SIMD_AVX2:
        return __builtin_cpu_supports("avx2");
    case LULL_SIMD_AVX512:
        return __builtin_cpu_supports("avx512f");
    default:
        return true; /* SSE2 is part of x86-64 */
    }
#else
    (void)fma;
    return simd == LULL_SIMD_SCALAR;
#endif
}

enum lull_simd lull_kernel_widest(const struct lull_bench_kernel *kernel)
{
    for (int simd = LULL_SIMD_WIDTHS - 1; simd > 0; simd--)
        if (kernel->stream[simd] && lull_simd_usable((enum lull_simd)simd, kernel->needs_fma[simd]))
            return (enum lull_simd)simd;
    return LULL_SIMD_SCALAR;
}

/* ==== kernels ================================================================================= */

extern const struct lull_bench_kernel lull_kernel_load, lull_kernel_store, lull_kernel_copy,
    lull_kernel_update, lull_kernel_daxpy, lull_kernel_triad, lull_kernel_add3, lull_kernel_add8,
    lull_kernel_sum8, lull_kernel_ntstore, lull_kernel_dot, lull_kernel_peak_dp_fma,
    lull_kernel_peak_dp, lull_kernel_peak_sp_fma, lull_kernel_peak_sp, lull_kernel_divide_dp,
    lull_kernel_divide_sp, lull_kernel_chase, lull_kernel_clock;

const struct lull_bench_kernel *const lull_kernels[] = {
    &lull_kernel_load,      &lull_kernel_store,
    &lull_kernel_copy,      &lull_kernel_update,
    &lull_kernel_daxpy,     &lull_kernel_triad,
    &lull_kernel_add3,      &lull_kernel_add8,
    &lull_kernel_sum8,      &lull_kernel_ntstore,
    &lull_kernel_dot,       &lull_kernel_peak_dp_fma,
    &lull_kernel_peak_dp,   &lull_kernel_peak_sp_fma,
    &lull_kernel_peak_sp,   &lull_kernel_divide_dp,
    &lull_kernel_divide_sp, &lull_kernel_chase,
    &lull_kernel_clock,     NULL};
