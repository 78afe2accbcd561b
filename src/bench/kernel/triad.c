/* Vector triad: three arrays read, one written. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define TRIAD_OLD(MOV, T, B, K, S)                                 \
    LULL_DO(MOV " " LULL_MEM(c, B, K) ", " LULL_REG("xmm", K))     \
    LULL_DO("mul" T " " LULL_MEM(d, B, K) ", " LULL_REG("xmm", K)) \
    LULL_DO("add" T " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", K)) \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define TRIAD_OLD_1(W, B, K, S) TRIAD_OLD("movsd", "sd", B, K, S)
#define TRIAD_OLD_2(W, B, K, S) TRIAD_OLD("movapd", "pd", B, K, S)
#define TRIAD_NEW(W, B, K, S)                                                         \
    LULL_DO("vmovapd " LULL_MEM(b, B, K) ", " LULL_REG(W, K))                         \
    LULL_DO("vmovapd " LULL_MEM(c, B, K) ", " LULL_REG(W, S))                         \
    LULL_DO("vfmadd231pd " LULL_MEM(d, B, K) ", " LULL_REG(W, S) ", " LULL_REG(W, K)) \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(TRIAD_OLD, TRIAD_NEW, a[i] = b[i] + c[i] * d[i], NOTHING, NOTHING)

const struct lull_bench_kernel lull_kernel_triad = {
    .name = "triad",
    .formula = "a[i] = b[i] + c[i] d[i]",
    .arrays = 4,
    .loads = 3,
    .stores = 1,
    .flops = 2,
    .allocates = 1,
    .stream = LULL_STREAM_CODES,
    .needs_fma = {[LULL_SIMD_AVX2] = true, [LULL_SIMD_AVX512] = true},
};

LULL_STREAM_BENCHMARK(triad, "vector triad, three arrays read and one written");
