/* Adds a multiple of one array to another. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define DAXPY_OLD(MOV, T, B, K, S)                                 \
    LULL_DO(MOV " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", K))     \
    LULL_DO("mul" T " %%xmm15, " LULL_REG("xmm", K))               \
    LULL_DO("add" T " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", K)) \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define DAXPY_OLD_1(W, B, K, S) DAXPY_OLD("movsd", "sd", B, K, S)
#define DAXPY_OLD_2(W, B, K, S) DAXPY_OLD("movapd", "pd", B, K, S)
#define DAXPY_NEW(W, B, K, S)                                                          \
    LULL_DO("vmovapd " LULL_MEM(b, B, K) ", " LULL_REG(W, K))                          \
    LULL_DO("vfmadd213pd " LULL_MEM(a, B, K) ", " LULL_REG(W, 15) ", " LULL_REG(W, K)) \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(DAXPY_OLD, DAXPY_NEW, a[i] += LULL_KERNEL_FACTOR * b[i], FACTOR, NOTHING)

const struct lull_bench_kernel lull_kernel_daxpy = {
    .name = "daxpy",
    .formula = "a[i] = a[i] + s b[i]",
    .arrays = 2,
    .loads = 2,
    .stores = 1,
    .flops = 2,
    .allocates = 0,
    .stream = LULL_STREAM_CODES,
    .needs_fma = {[LULL_SIMD_AVX2] = true, [LULL_SIMD_AVX512] = true},
};

LULL_STREAM_BENCHMARK(daxpy, "add a multiple of an array to another");
