/* Writes one array past the caches, so that its lines are not read first. Single elements
 * pass through an integer register, because there is no such store of theirs. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

#define NTSTORE_OLD_1(W, B, K, S) LULL_DO("movnti %%rax, " LULL_MEM(a, B, K))
#define NTSTORE_OLD_2(W, B, K, S) LULL_DO("movntpd %%xmm15, " LULL_MEM(a, B, K))
#define NTSTORE_NEW(W, B, K, S)   LULL_DO("vmovntpd " LULL_REG(W, 15) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(NTSTORE_OLD, NTSTORE_NEW, a[i] = LULL_KERNEL_FACTOR, FACTOR, FENCE)

const struct lull_bench_kernel lull_kernel_ntstore = {
    .name = "ntstore",
    .formula = "a[i] = s, non-temporal",
    .arrays = 1,
    .loads = 0,
    .stores = 1,
    .flops = 0,
    .allocates = 0,
    .stream = LULL_STREAM_CODES,
};

LULL_STREAM_BENCHMARK(ntstore, "write one array past the caches");
