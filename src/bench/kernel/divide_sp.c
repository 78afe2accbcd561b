/* Divisions, single precision. The operands are no powers of two, which some dividers finish early.
 */
#include "bench/compute.h"
#include "bench/kernel/compute.h"

#if defined(__x86_64__)
#define DIVIDE_SP_SCALAR(W, K) LULL_DO("divss " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_SP_SSE(W, K)    LULL_DO("divps " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_SP_AVX(W, K) \
    LULL_DO("vdivps " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(float, 4, OLD, DIVIDE_SP_SCALAR, DIVIDE_SP_SCALAR, DIVIDE_SP_SSE,
                       DIVIDE_SP_SSE, DIVIDE_SP_AVX, DIVIDE_SP_AVX)
#else
#define DIVIDE_SP_EVEN(x) (x / factor)
#define DIVIDE_SP_ODD(x)  (x / factor)
LULL_COMPUTE_PORTABLE(float, DIVIDE_SP_EVEN, DIVIDE_SP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_divide_sp = {
    .name = "divide-sp",
    .formula = "x = x / a",
    .compute = LULL_COMPUTE_CODES,
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
