/* Divisions, double precision. The operands are no powers of two, which some dividers finish early.
 */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

#if defined(__x86_64__)
#define DIVIDE_DP_SCALAR(W, K) LULL_DO("divsd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_DP_SSE(W, K)    LULL_DO("divpd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_DP_AVX(W, K) \
    LULL_DO("vdivpd " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(double, 8, OLD, DIVIDE_DP_SCALAR, DIVIDE_DP_SCALAR, DIVIDE_DP_SSE,
                       DIVIDE_DP_SSE, DIVIDE_DP_AVX, DIVIDE_DP_AVX)
#else
#define DIVIDE_DP_EVEN(x) (x / factor)
#define DIVIDE_DP_ODD(x)  (x / factor)
LULL_COMPUTE_PORTABLE(double, DIVIDE_DP_EVEN, DIVIDE_DP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_divide_dp = {
    .name = "divide-dp",
    .formula = "x = x / a",
    .compute = LULL_COMPUTE_CODES,
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
