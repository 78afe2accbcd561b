/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic in registers: peak rates and the throughput of divisions. Each section is a kernel and
 * its benchmark. */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

/* ==== peak dp ================================================================================= */

/* Additions and multiplications by turns, double precision. */

#if defined(__x86_64__)
#define PEAK_DP_SCALAR_EVEN(W, K) LULL_DO("addsd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_DP_SCALAR_ODD(W, K)  LULL_DO("mulsd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_SSE_EVEN(W, K)    LULL_DO("addpd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_DP_SSE_ODD(W, K)     LULL_DO("mulpd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_AVX_EVEN(W, K) \
    LULL_DO("vaddpd " LULL_REG(W, 15) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
#define PEAK_DP_AVX_ODD(W, K) \
    LULL_DO("vmulpd " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_dp, double, 8, OLD, PEAK_DP_SCALAR_EVEN, PEAK_DP_SCALAR_ODD,
                       PEAK_DP_SSE_EVEN, PEAK_DP_SSE_ODD, PEAK_DP_AVX_EVEN, PEAK_DP_AVX_ODD)
#else
#define PEAK_DP_EVEN(x) (x + addend)
#define PEAK_DP_ODD(x)  (x * factor)
LULL_COMPUTE_PORTABLE(peak_dp, double, PEAK_DP_EVEN, PEAK_DP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_dp = {
    .name = "peak-dp",
    .formula = "x = x + a; y = y b",
    .compute = LULL_COMPUTE_CODES(peak_dp),
    .operations = LULL_COMPUTE_COUNTS(8, 1),
    .fma = false,
    .single = false,
};

const struct lull_benchmark lull_bench_peak_dp = {
    .name = "peak-dp",
    .group = "compute",
    .summary = "peak rate of additions and multiplications, double precision",
    .plan = lull_compute_plan,
    .kernel = &lull_kernel_peak_dp,
};

/* ==== peak dp fma ============================================================================= */

/* Fused multiply-adds, double precision. */

#if defined(__x86_64__)
#define PEAK_DP_FMA_SCALAR(W, K) \
    LULL_DO("vfmadd231sd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_FMA_SSE(W, K) \
    LULL_DO("vfmadd231pd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_FMA_AVX(W, K) \
    LULL_DO("vfmadd231pd " LULL_REG(W, 15) ", " LULL_REG(W, 14) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_dp_fma, double, 8, NEW, PEAK_DP_FMA_SCALAR, PEAK_DP_FMA_SCALAR,
                       PEAK_DP_FMA_SSE, PEAK_DP_FMA_SSE, PEAK_DP_FMA_AVX, PEAK_DP_FMA_AVX)
#else
#define PEAK_DP_FMA_EVEN(x) (x + factor * addend)
#define PEAK_DP_FMA_ODD(x)  (x + factor * addend)
LULL_COMPUTE_PORTABLE(peak_dp_fma, double, PEAK_DP_FMA_EVEN, PEAK_DP_FMA_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_dp_fma = {
    .name = "peak-dp-fma",
    .formula = "x = x + a b",
    .compute = LULL_COMPUTE_CODES(peak_dp_fma),
    .operations = LULL_COMPUTE_COUNTS(8, 2),
    .fma = true,
    .single = false,
};

const struct lull_benchmark lull_bench_peak_dp_fma = {
    .name = "peak-dp-fma",
    .group = "compute",
    .summary = "peak rate of fused multiply-adds, double precision",
    .plan = lull_compute_plan,
    .kernel = &lull_kernel_peak_dp_fma,
};

/* ==== peak sp ================================================================================= */

/* Additions and multiplications by turns, single precision. */

#if defined(__x86_64__)
#define PEAK_SP_SCALAR_EVEN(W, K) LULL_DO("addss " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_SP_SCALAR_ODD(W, K)  LULL_DO("mulss " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_SSE_EVEN(W, K)    LULL_DO("addps " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_SP_SSE_ODD(W, K)     LULL_DO("mulps " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_AVX_EVEN(W, K) \
    LULL_DO("vaddps " LULL_REG(W, 15) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
#define PEAK_SP_AVX_ODD(W, K) \
    LULL_DO("vmulps " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_sp, float, 4, OLD, PEAK_SP_SCALAR_EVEN, PEAK_SP_SCALAR_ODD,
                       PEAK_SP_SSE_EVEN, PEAK_SP_SSE_ODD, PEAK_SP_AVX_EVEN, PEAK_SP_AVX_ODD)
#else
#define PEAK_SP_EVEN(x) (x + addend)
#define PEAK_SP_ODD(x)  (x * factor)
LULL_COMPUTE_PORTABLE(peak_sp, float, PEAK_SP_EVEN, PEAK_SP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_sp = {
    .name = "peak-sp",
    .formula = "x = x + a; y = y b",
    .compute = LULL_COMPUTE_CODES(peak_sp),
    .operations = LULL_COMPUTE_COUNTS(4, 1),
    .fma = false,
    .single = true,
};

const struct lull_benchmark lull_bench_peak_sp = {
    .name = "peak-sp",
    .group = "compute",
    .summary = "peak rate of additions and multiplications, single precision",
    .plan = lull_compute_plan,
    .kernel = &lull_kernel_peak_sp,
};

/* ==== peak sp fma ============================================================================= */

/* Fused multiply-adds, single precision. */

#if defined(__x86_64__)
#define PEAK_SP_FMA_SCALAR(W, K) \
    LULL_DO("vfmadd231ss " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_FMA_SSE(W, K) \
    LULL_DO("vfmadd231ps " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_FMA_AVX(W, K) \
    LULL_DO("vfmadd231ps " LULL_REG(W, 15) ", " LULL_REG(W, 14) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_sp_fma, float, 4, NEW, PEAK_SP_FMA_SCALAR, PEAK_SP_FMA_SCALAR,
                       PEAK_SP_FMA_SSE, PEAK_SP_FMA_SSE, PEAK_SP_FMA_AVX, PEAK_SP_FMA_AVX)
#else
#define PEAK_SP_FMA_EVEN(x) (x + factor * addend)
#define PEAK_SP_FMA_ODD(x)  (x + factor * addend)
LULL_COMPUTE_PORTABLE(peak_sp_fma, float, PEAK_SP_FMA_EVEN, PEAK_SP_FMA_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_sp_fma = {
    .name = "peak-sp-fma",
    .formula = "x = x + a b",
    .compute = LULL_COMPUTE_CODES(peak_sp_fma),
    .operations = LULL_COMPUTE_COUNTS(4, 2),
    .fma = true,
    .single = true,
};

const struct lull_benchmark lull_bench_peak_sp_fma = {
    .name = "peak-sp-fma",
    .group = "compute",
    .summary = "peak rate of fused multiply-adds, single precision",
    .plan = lull_compute_plan,
    .kernel = &lull_kernel_peak_sp_fma,
};

/* ==== divide dp =============================================================================== */

/* Divisions, double precision. The operands are no powers of two, which some dividers finish early.
 */

#if defined(__x86_64__)
#define DIVIDE_DP_SCALAR(W, K) LULL_DO("divsd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_DP_SSE(W, K)    LULL_DO("divpd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_DP_AVX(W, K) \
    LULL_DO("vdivpd " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(divide_dp, double, 8, OLD, DIVIDE_DP_SCALAR, DIVIDE_DP_SCALAR, DIVIDE_DP_SSE,
                       DIVIDE_DP_SSE, DIVIDE_DP_AVX, DIVIDE_DP_AVX)
#else
#define DIVIDE_DP_EVEN(x) (x / factor)
#define DIVIDE_DP_ODD(x)  (x / factor)
LULL_COMPUTE_PORTABLE(divide_dp, double, DIVIDE_DP_EVEN, DIVIDE_DP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_divide_dp = {
    .name = "divide-dp",
    .formula = "x = x / a",
    .compute = LULL_COMPUTE_CODES(divide_dp),
    .operations = LULL_COMPUTE_COUNTS(8, 1),
    .fma = false,
    .single = false,
};

const struct lull_benchmark lull_bench_divide_dp = {
    .name = "divide-dp",
    .group = "compute",
    .summary = "throughput of divisions, double precision",
    .plan = lull_compute_plan,
    .kernel = &lull_kernel_divide_dp,
};

/* ==== divide sp =============================================================================== */

/* Divisions, single precision. The operands are no powers of two, which some dividers finish early.
 */

#if defined(__x86_64__)
#define DIVIDE_SP_SCALAR(W, K) LULL_DO("divss " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_SP_SSE(W, K)    LULL_DO("divps " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_SP_AVX(W, K) \
    LULL_DO("vdivps " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(divide_sp, float, 4, OLD, DIVIDE_SP_SCALAR, DIVIDE_SP_SCALAR, DIVIDE_SP_SSE,
                       DIVIDE_SP_SSE, DIVIDE_SP_AVX, DIVIDE_SP_AVX)
#else
#define DIVIDE_SP_EVEN(x) (x / factor)
#define DIVIDE_SP_ODD(x)  (x / factor)
LULL_COMPUTE_PORTABLE(divide_sp, float, DIVIDE_SP_EVEN, DIVIDE_SP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_divide_sp = {
    .name = "divide-sp",
    .formula = "x = x / a",
    .compute = LULL_COMPUTE_CODES(divide_sp),
    .operations = LULL_COMPUTE_COUNTS(4, 1),
    .fma = false,
    .single = true,
};

const struct lull_benchmark lull_bench_divide_sp = {
    .name = "divide-sp",
    .group = "compute",
    .summary = "throughput of divisions, single precision",
    .plan = lull_compute_plan,
    .kernel = &lull_kernel_divide_sp,
};
