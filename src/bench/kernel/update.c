/* Reads and writes one array. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define UPDATE_OLD(MOV, T, B, K, S)                            \
    LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", K)) \
    LULL_DO("mul" T " %%xmm15, " LULL_REG("xmm", K))           \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define UPDATE_OLD_1(W, B, K, S) UPDATE_OLD("movsd", "sd", B, K, S)
#define UPDATE_OLD_2(W, B, K, S) UPDATE_OLD("movapd", "pd", B, K, S)
#define UPDATE_NEW(W, B, K, S)                                                    \
    LULL_DO("vmulpd " LULL_MEM(a, B, K) ", " LULL_REG(W, 15) ", " LULL_REG(W, K)) \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(UPDATE_OLD, UPDATE_NEW, a[i] *= LULL_KERNEL_FACTOR, FACTOR, NOTHING)

const struct lull_bench_kernel lull_kernel_update = {
    .name = "update",
    .formula = "a[i] = s a[i]",
    .arrays = 1,
    .loads = 1,
    .stores = 1,
    .flops = 1,
    .allocates = 0,
    .stream = LULL_STREAM_CODES,
};

LULL_STREAM_BENCHMARK(update, "scale an array in place");
