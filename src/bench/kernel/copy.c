/* Copies an array. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define COPY_OLD(MOV, T, B, K, S)                              \
    LULL_DO(MOV " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", K)) \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define COPY_OLD_1(W, B, K, S) COPY_OLD("movsd", "sd", B, K, S)
#define COPY_OLD_2(W, B, K, S) COPY_OLD("movapd", "pd", B, K, S)
#define COPY_NEW(W, B, K, S)                                  \
    LULL_DO("vmovapd " LULL_MEM(b, B, K) ", " LULL_REG(W, K)) \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(COPY_OLD, COPY_NEW, a[i] = b[i], NOTHING, NOTHING)

const struct lull_bench_kernel lull_kernel_copy = {
    .name = "copy",
    .formula = "a[i] = b[i]",
    .arrays = 2,
    .loads = 1,
    .stores = 1,
    .flops = 0,
    .allocates = 1,
    .stream = LULL_STREAM_CODES,
};

LULL_STREAM_BENCHMARK(copy, "copy an array");
