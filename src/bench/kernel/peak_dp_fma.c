/* Fused multiply-adds, double precision. */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

#if defined(__x86_64__)
#define PEAK_DP_FMA_SCALAR(W, K) \
    LULL_DO("vfmadd231sd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_FMA_SSE(W, K) \
    LULL_DO("vfmadd231pd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_FMA_AVX(W, K) \
    LULL_DO("vfmadd231pd " LULL_REG(W, 15) ", " LULL_REG(W, 14) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(double, 8, NEW, PEAK_DP_FMA_SCALAR, PEAK_DP_FMA_SCALAR, PEAK_DP_FMA_SSE,
                       PEAK_DP_FMA_SSE, PEAK_DP_FMA_AVX, PEAK_DP_FMA_AVX)
#else
#define PEAK_DP_FMA_EVEN(x) (x + factor * addend)
#define PEAK_DP_FMA_ODD(x)  (x + factor * addend)
LULL_COMPUTE_PORTABLE(double, PEAK_DP_FMA_EVEN, PEAK_DP_FMA_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_dp_fma = {
    .name = "peak-dp-fma",
    .formula = "x = x + a b",
    .compute = LULL_COMPUTE_CODES,
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
