/* Reads one array. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define LOAD_OLD(MOV, T, B, K, S) LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", K))
#define LOAD_OLD_1(W, B, K, S)    LOAD_OLD("movsd", "sd", B, K, S)
#define LOAD_OLD_2(W, B, K, S)    LOAD_OLD("movapd", "pd", B, K, S)
#define LOAD_NEW(W, B, K, S)      LULL_DO("vmovapd " LULL_MEM(a, B, K) ", " LULL_REG(W, K))

LULL_STREAM_FUNCTIONS(LOAD_OLD, LOAD_NEW, out[0] = a[i], NOTHING, SAVE)

const struct lull_bench_kernel lull_kernel_load = {
    .name = "load",
    .formula = "load a[i]",
    .arrays = 1,
    .loads = 1,
    .stores = 0,
    .flops = 0,
    .allocates = 0,
    .stream = LULL_STREAM_CODES,
};

LULL_STREAM_BENCHMARK(load, "read one array");
