/* Scalar product of two arrays, in eight independent sums. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define DOT_OLD(MOV, T, B, K, S)                                   \
    LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", S))     \
    LULL_DO("mul" T " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", S)) \
    LULL_DO("add" T " " LULL_REG("xmm", S) ", " LULL_REG("xmm", K))
#define DOT_OLD_1(W, B, K, S) DOT_OLD("movsd", "sd", B, K, S)
#define DOT_OLD_2(W, B, K, S) DOT_OLD("movapd", "pd", B, K, S)
#define DOT_NEW(W, B, K, S)                                   \
    LULL_DO("vmovapd " LULL_MEM(a, B, K) ", " LULL_REG(W, S)) \
    LULL_DO("vfmadd231pd " LULL_MEM(b, B, K) ", " LULL_REG(W, S) ", " LULL_REG(W, K))

LULL_STREAM_FUNCTIONS(DOT_OLD, DOT_NEW, out[0] += a[i] * b[i], ZERO, SAVE)

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
