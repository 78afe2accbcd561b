/* Additions and multiplications by turns, double precision. */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

#if defined(__x86_64__)
#define SCALAR_EVEN(W, K) LULL_DO("addsd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define SCALAR_ODD(W, K)  LULL_DO("mulsd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define SSE_EVEN(W, K)    LULL_DO("addpd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define SSE_ODD(W, K)     LULL_DO("mulpd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define AVX_EVEN(W, K)    LULL_DO("vaddpd " LULL_REG(W, 15) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
#define AVX_ODD(W, K)     LULL_DO("vmulpd " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(double, 8, OLD, SCALAR_EVEN, SCALAR_ODD, SSE_EVEN, SSE_ODD, AVX_EVEN,
                       AVX_ODD)
#else
#define EVEN(x) (x + addend)
#define ODD(x)  (x * factor)
LULL_COMPUTE_PORTABLE(double, EVEN, ODD)
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
