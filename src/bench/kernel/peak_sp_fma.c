/* Fused multiply-adds, single precision. */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

#if defined(__x86_64__)
#define PEAK_SP_FMA_SCALAR(W, K) \
    LULL_DO("vfmadd231ss " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_FMA_SSE(W, K) \
    LULL_DO("vfmadd231ps " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_FMA_AVX(W, K) \
    LULL_DO("vfmadd231ps " LULL_REG(W, 15) ", " LULL_REG(W, 14) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(float, 4, NEW, PEAK_SP_FMA_SCALAR, PEAK_SP_FMA_SCALAR, PEAK_SP_FMA_SSE,
                       PEAK_SP_FMA_SSE, PEAK_SP_FMA_AVX, PEAK_SP_FMA_AVX)
#else
#define PEAK_SP_FMA_EVEN(x) (x + factor * addend)
#define PEAK_SP_FMA_ODD(x)  (x + factor * addend)
LULL_COMPUTE_PORTABLE(float, PEAK_SP_FMA_EVEN, PEAK_SP_FMA_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_sp_fma = {
    .name = "peak-sp-fma",
    .formula = "x = x + a b",
    .compute = LULL_COMPUTE_CODES,
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
