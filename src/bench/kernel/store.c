/* Writes one array; its lines are read first, because stores allocate. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define OLD(MOV, T, B, K, S) LULL_DO(MOV " %%xmm15, " LULL_MEM(a, B, K))
#define OLD_1(W, B, K, S)    OLD("movsd", "sd", B, K, S)
#define OLD_2(W, B, K, S)    OLD("movapd", "pd", B, K, S)
#define NEW(W, B, K, S)      LULL_DO("vmovapd " LULL_REG(W, 15) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(OLD, NEW, a[i] = LULL_KERNEL_FACTOR, FACTOR, NOTHING)

const struct lull_bench_kernel lull_kernel_store = {
    .name = "store",
    .formula = "a[i] = s",
    .arrays = 1,
    .loads = 0,
    .stores = 1,
    .flops = 0,
    .allocates = 1,
    .stream = LULL_STREAM_CODES,
};

LULL_STREAM_BENCHMARK(store, "write one array");
