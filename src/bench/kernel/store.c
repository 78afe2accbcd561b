/* Writes one array; its lines are read first, because stores allocate. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define STORE_OLD(MOV, T, B, K, S) LULL_DO(MOV " %%xmm15, " LULL_MEM(a, B, K))
#define STORE_OLD_1(W, B, K, S)    STORE_OLD("movsd", "sd", B, K, S)
#define STORE_OLD_2(W, B, K, S)    STORE_OLD("movapd", "pd", B, K, S)
#define STORE_NEW(W, B, K, S)      LULL_DO("vmovapd " LULL_REG(W, 15) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(STORE_OLD, STORE_NEW, a[i] = LULL_KERNEL_FACTOR, FACTOR, NOTHING)

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
