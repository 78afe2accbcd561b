/* Additions and multiplications by turns, single precision. */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

#if defined(__x86_64__)
#define PEAK_SP_SCALAR_EVEN(W, K) LULL_DO("addss " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_SP_SCALAR_ODD(W, K)  LULL_DO("mulss " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_SSE_EVEN(W, K)    LULL_DO("addps " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_SP_SSE_ODD(W, K)     LULL_DO("mulps " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_AVX_EVEN(W, K) \
    LULL_DO("vaddps " LULL_REG(W, 15) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
#define PEAK_SP_AVX_ODD(W, K) \
    LULL_DO("vmulps " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(float, 4, OLD, PEAK_SP_SCALAR_EVEN, PEAK_SP_SCALAR_ODD, PEAK_SP_SSE_EVEN,
                       PEAK_SP_SSE_ODD, PEAK_SP_AVX_EVEN, PEAK_SP_AVX_ODD)
#else
#define PEAK_SP_EVEN(x) (x + addend)
#define PEAK_SP_ODD(x)  (x * factor)
LULL_COMPUTE_PORTABLE(float, PEAK_SP_EVEN, PEAK_SP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_sp = {
    .name = "peak-sp",
    .formula = "x = x + a; y = y b",
    .compute = LULL_COMPUTE_CODES,
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
