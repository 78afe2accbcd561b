/* Scalar product of two arrays, in eight independent sums. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define OLD(MOV, T, B, K, S)                                       \
    LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", S))     \
    LULL_DO("mul" T " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", S)) \
    LULL_DO("add" T " " LULL_REG("xmm", S) ", " LULL_REG("xmm", K))
#define OLD_1(W, B, K, S) OLD("movsd", "sd", B, K, S)
#define OLD_2(W, B, K, S) OLD("movapd", "pd", B, K, S)
#define NEW(W, B, K, S)                                       \
    LULL_DO("vmovapd " LULL_MEM(a, B, K) ", " LULL_REG(W, S)) \
    LULL_DO("vfmadd231pd " LULL_MEM(b, B, K) ", " LULL_REG(W, S) ", " LULL_REG(W, K))

LULL_STREAM_FUNCTIONS(OLD, NEW, out[0] += a[i] * b[i], ZERO, SAVE)

const struct lull_bench_kernel lull_kernel_dot = {
    .name = "dot",
    .formula = "sum += a[i] b[i]",
    .arrays = 2,
    .loads = 2,
    .stores = 0,
    .flops = 2,
    .allocates = 0,
    .stream = LULL_STREAM_CODES,
    .needs_fma = {[LULL_SIMD_AVX2] = true, [LULL_SIMD_AVX512] = true},
};

LULL_STREAM_BENCHMARK(dot, "scalar product of two arrays");
