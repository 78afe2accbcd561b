/* Additions and multiplications by turns, double precision. */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

#if defined(__x86_64__)
#define PEAK_DP_SCALAR_EVEN(W, K) LULL_DO("addsd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_DP_SCALAR_ODD(W, K)  LULL_DO("mulsd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_SSE_EVEN(W, K)    LULL_DO("addpd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_DP_SSE_ODD(W, K)     LULL_DO("mulpd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_AVX_EVEN(W, K) \
    LULL_DO("vaddpd " LULL_REG(W, 15) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
#define PEAK_DP_AVX_ODD(W, K) \
    LULL_DO("vmulpd " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(double, 8, OLD, PEAK_DP_SCALAR_EVEN, PEAK_DP_SCALAR_ODD, PEAK_DP_SSE_EVEN,
                       PEAK_DP_SSE_ODD, PEAK_DP_AVX_EVEN, PEAK_DP_AVX_ODD)
#else
#define PEAK_DP_EVEN(x) (x + addend)
#define PEAK_DP_ODD(x)  (x * factor)
LULL_COMPUTE_PORTABLE(double, PEAK_DP_EVEN, PEAK_DP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_dp = {
    .name = "peak-dp",
    .formula = "x = x + a; y = y b",
    .compute = LULL_COMPUTE_CODES,
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
