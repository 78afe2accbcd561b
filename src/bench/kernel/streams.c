/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: loops over arrays that read, write, or do both. Each section is a kernel and the
 * benchmark of the bandwidth that it reaches. */
#include "bench/kernel/x86.h"
#include "bench/memory/stream.h"

/* ==== store =================================================================================== */

/* Writes one array; its lines are read first, because stores allocate. */

#define STORE_OLD(MOV, T, B, K, S) LULL_DO(MOV " %%xmm15, " LULL_MEM(a, B, K))
#define STORE_OLD_1(W, B, K, S)    STORE_OLD("movsd", "sd", B, K, S)
#define STORE_OLD_2(W, B, K, S)    STORE_OLD("movapd", "pd", B, K, S)
#define STORE_NEW(W, B, K, S)      LULL_DO("vmovapd " LULL_REG(W, 15) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(store, STORE_OLD, STORE_NEW, a[i] = LULL_KERNEL_FACTOR, FACTOR, NOTHING)

const struct lull_bench_kernel lull_kernel_store = {
    .name = "store",
    .formula = "a[i] = s",
    .arrays = 1,
    .loads = 0,
    .stores = 1,
    .flops = 0,
    .allocates = 1,
    .stream = LULL_STREAM_CODES(store),
};
LULL_STREAM_BENCHMARK(store, "write one array");

/* ==== ntstore ================================================================================= */

/* Writes one array past the caches, so that its lines are not read first. Single elements
 * pass through an integer register, because there is no such store of theirs. */

#define NTSTORE_OLD_1(W, B, K, S) LULL_DO("movnti %%rax, " LULL_MEM(a, B, K))
#define NTSTORE_OLD_2(W, B, K, S) LULL_DO("movntpd %%xmm15, " LULL_MEM(a, B, K))
#define NTSTORE_NEW(W, B, K, S)   LULL_DO("vmovntpd " LULL_REG(W, 15) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(ntstore, NTSTORE_OLD, NTSTORE_NEW, a[i] = LULL_KERNEL_FACTOR, FACTOR, FENCE)

const struct lull_bench_kernel lull_kernel_ntstore = {
    .name = "ntstore",
    .formula = "a[i] = s, non-temporal",
    .arrays = 1,
    .loads = 0,
    .stores = 1,
    .flops = 0,
    .allocates = 0,
    .stream = LULL_STREAM_CODES(ntstore),
};
LULL_STREAM_BENCHMARK(ntstore, "write one array past the caches");

/* ==== copy ==================================================================================== */

/* Copies an array. */

#define COPY_OLD(MOV, T, B, K, S)                              \
    LULL_DO(MOV " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", K)) \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define COPY_OLD_1(W, B, K, S) COPY_OLD("movsd", "sd", B, K, S)
#define COPY_OLD_2(W, B, K, S) COPY_OLD("movapd", "pd", B, K, S)
#define COPY_NEW(W, B, K, S)                                  \
    LULL_DO("vmovapd " LULL_MEM(b, B, K) ", " LULL_REG(W, K)) \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(copy, COPY_OLD, COPY_NEW, a[i] = b[i], NOTHING, NOTHING)

const struct lull_bench_kernel lull_kernel_copy = {
    .name = "copy",
    .formula = "a[i] = b[i]",
    .arrays = 2,
    .loads = 1,
    .stores = 1,
    .flops = 0,
    .allocates = 1,
    .stream = LULL_STREAM_CODES(copy),
};
LULL_STREAM_BENCHMARK(copy, "copy an array");

/* ==== update ================================================================================== */

/* Reads and writes one array. */

#define UPDATE_OLD(MOV, T, B, K, S)                            \
    LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", K)) \
    LULL_DO("mul" T " %%xmm15, " LULL_REG("xmm", K))           \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define UPDATE_OLD_1(W, B, K, S) UPDATE_OLD("movsd", "sd", B, K, S)
#define UPDATE_OLD_2(W, B, K, S) UPDATE_OLD("movapd", "pd", B, K, S)
#define UPDATE_NEW(W, B, K, S)                                                    \
    LULL_DO("vmulpd " LULL_MEM(a, B, K) ", " LULL_REG(W, 15) ", " LULL_REG(W, K)) \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(update, UPDATE_OLD, UPDATE_NEW, a[i] *= LULL_KERNEL_FACTOR, FACTOR, NOTHING)

const struct lull_bench_kernel lull_kernel_update = {
    .name = "update",
    .formula = "a[i] = s a[i]",
    .arrays = 1,
    .loads = 1,
    .stores = 1,
    .flops = 1,
    .allocates = 0,
    .stream = LULL_STREAM_CODES(update),
};
LULL_STREAM_BENCHMARK(update, "scale an array in place");

/* ==== daxpy =================================================================================== */

/* Adds a multiple of one array to another. */

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

LULL_STREAM_FUNCTIONS(daxpy, DAXPY_OLD, DAXPY_NEW, a[i] += LULL_KERNEL_FACTOR * b[i], FACTOR,
                      NOTHING)

const struct lull_bench_kernel lull_kernel_daxpy = {
    .name = "daxpy",
    .formula = "a[i] = a[i] + s b[i]",
    .arrays = 2,
    .loads = 2,
    .stores = 1,
    .flops = 2,
    .allocates = 0,
    .stream = LULL_STREAM_CODES(daxpy),
    .needs_fma = {[LULL_SIMD_AVX2] = true, [LULL_SIMD_AVX512] = true},
};
LULL_STREAM_BENCHMARK(daxpy, "add a multiple of an array to another");

/* ==== triad =================================================================================== */

/* Vector triad: three arrays read, one written. */

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

LULL_STREAM_FUNCTIONS(triad, TRIAD_OLD, TRIAD_NEW, a[i] = b[i] + c[i] * d[i], NOTHING, NOTHING)

const struct lull_bench_kernel lull_kernel_triad = {
    .name = "triad",
    .formula = "a[i] = b[i] + c[i] d[i]",
    .arrays = 4,
    .loads = 3,
    .stores = 1,
    .flops = 2,
    .allocates = 1,
    .stream = LULL_STREAM_CODES(triad),
    .needs_fma = {[LULL_SIMD_AVX2] = true, [LULL_SIMD_AVX512] = true},
};
LULL_STREAM_BENCHMARK(triad, "vector triad, three arrays read and one written");

/* ==== add3, add8, sum8 ======================================================================== */

/* Mixes of lines read and written between those of the kernels above: 4 to 1 without a line that is
 * read only because it is written to, and 9 to 1 without and with it. */

#define PLUS_OLD(T, array, B, K) LULL_DO("add" T " " LULL_MEM(array, B, K) ", " LULL_REG("xmm", K))
#define PLUS_NEW(W, array, B, K) \
    LULL_DO("vaddpd " LULL_MEM(array, B, K) ", " LULL_REG(W, K) ", " LULL_REG(W, K))

#define ADD3_OLD(MOV, T, B, K, S)                              \
    LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", K)) \
    PLUS_OLD(T, b, B, K)                                       \
    PLUS_OLD(T, c, B, K)                                       \
    PLUS_OLD(T, d, B, K)                                       \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define ADD3_OLD_1(W, B, K, S) ADD3_OLD("movsd", "sd", B, K, S)
#define ADD3_OLD_2(W, B, K, S) ADD3_OLD("movapd", "pd", B, K, S)
#define ADD3_NEW(W, B, K, S)                                  \
    LULL_DO("vmovapd " LULL_MEM(a, B, K) ", " LULL_REG(W, K)) \
    PLUS_NEW(W, b, B, K)                                      \
    PLUS_NEW(W, c, B, K)                                      \
    PLUS_NEW(W, d, B, K)                                      \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_STREAM_FUNCTIONS(add3, ADD3_OLD, ADD3_NEW, a[i] = a[i] + b[i] + c[i] + d[i], NOTHING, NOTHING)

const struct lull_bench_kernel lull_kernel_add3 = {
    .name = "add3",
    .formula = "a[i] = a[i] + b[i] + c[i] + d[i]",
    .arrays = 4,
    .loads = 4,
    .stores = 1,
    .flops = 3,
    .allocates = 0,
    .stream = LULL_STREAM_CODES(add3),
};
LULL_STREAM_BENCHMARK(add3, "add three arrays to a fourth");

#define PLUS_SEVEN_OLD(T, B, K) \
    PLUS_OLD(T, c, B, K)        \
    PLUS_OLD(T, d, B, K)        \
    PLUS_OLD(T, e, B, K)        \
    PLUS_OLD(T, f, B, K)        \
    PLUS_OLD(T, g, B, K)        \
    PLUS_OLD(T, h, B, K)        \
    PLUS_OLD(T, j, B, K)
#define PLUS_SEVEN_NEW(W, B, K) \
    PLUS_NEW(W, c, B, K)        \
    PLUS_NEW(W, d, B, K)        \
    PLUS_NEW(W, e, B, K)        \
    PLUS_NEW(W, f, B, K)        \
    PLUS_NEW(W, g, B, K)        \
    PLUS_NEW(W, h, B, K)        \
    PLUS_NEW(W, j, B, K)

#define ADD8_OLD(MOV, T, B, K, S)                              \
    LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", K)) \
    PLUS_OLD(T, b, B, K)                                       \
    PLUS_SEVEN_OLD(T, B, K)                                    \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define ADD8_OLD_1(W, B, K, S) ADD8_OLD("movsd", "sd", B, K, S)
#define ADD8_OLD_2(W, B, K, S) ADD8_OLD("movapd", "pd", B, K, S)
#define ADD8_NEW(W, B, K, S)                                  \
    LULL_DO("vmovapd " LULL_MEM(a, B, K) ", " LULL_REG(W, K)) \
    PLUS_NEW(W, b, B, K)                                      \
    PLUS_SEVEN_NEW(W, B, K)                                   \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_NINE_FUNCTIONS(add8, ADD8_OLD, ADD8_NEW,
                    a[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i] + j[i])

const struct lull_bench_kernel lull_kernel_add8 = {
    .name = "add8",
    .formula = "a[i] = a[i] + b[i] + ... + j[i], eight arrays",
    .arrays = 9,
    .loads = 9,
    .stores = 1,
    .flops = 8,
    .allocates = 0,
    .stream = LULL_STREAM_CODES(add8),
};
LULL_STREAM_BENCHMARK(add8, "add eight arrays to a ninth");

#define SUM8_OLD(MOV, T, B, K, S)                              \
    LULL_DO(MOV " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", K)) \
    PLUS_SEVEN_OLD(T, B, K)                                    \
    LULL_DO(MOV " " LULL_REG("xmm", K) ", " LULL_MEM(a, B, K))
#define SUM8_OLD_1(W, B, K, S) SUM8_OLD("movsd", "sd", B, K, S)
#define SUM8_OLD_2(W, B, K, S) SUM8_OLD("movapd", "pd", B, K, S)
#define SUM8_NEW(W, B, K, S)                                  \
    LULL_DO("vmovapd " LULL_MEM(b, B, K) ", " LULL_REG(W, K)) \
    PLUS_SEVEN_NEW(W, B, K)                                   \
    LULL_DO("vmovapd " LULL_REG(W, K) ", " LULL_MEM(a, B, K))

LULL_NINE_FUNCTIONS(sum8, SUM8_OLD, SUM8_NEW,
                    a[i] = b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i] + j[i])

const struct lull_bench_kernel lull_kernel_sum8 = {
    .name = "sum8",
    .formula = "a[i] = b[i] + ... + j[i], eight arrays",
    .arrays = 9,
    .loads = 8,
    .stores = 1,
    .flops = 7,
    .allocates = 1,
    .stream = LULL_STREAM_CODES(sum8),
};
LULL_STREAM_BENCHMARK(sum8, "write the sum of eight arrays to a ninth");

/* ==== dot ===================================================================================== */

/* Scalar product of two arrays, in eight independent sums. */

#define DOT_OLD(MOV, T, B, K, S)                                   \
    LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", S))     \
    LULL_DO("mul" T " " LULL_MEM(b, B, K) ", " LULL_REG("xmm", S)) \
    LULL_DO("add" T " " LULL_REG("xmm", S) ", " LULL_REG("xmm", K))
#define DOT_OLD_1(W, B, K, S) DOT_OLD("movsd", "sd", B, K, S)
#define DOT_OLD_2(W, B, K, S) DOT_OLD("movapd", "pd", B, K, S)
#define DOT_NEW(W, B, K, S)                                   \
    LULL_DO("vmovapd " LULL_MEM(a, B, K) ", " LULL_REG(W, S)) \
    LULL_DO("vfmadd231pd " LULL_MEM(b, B, K) ", " LULL_REG(W, S) ", " LULL_REG(W, K))

LULL_STREAM_FUNCTIONS(dot, DOT_OLD, DOT_NEW, out[0] += a[i] * b[i], ZERO, SAVE)

const struct lull_bench_kernel lull_kernel_dot = {
    .name = "dot",
    .formula = "sum += a[i] b[i]",
    .arrays = 2,
    .loads = 2,
    .stores = 0,
    .flops = 2,
    .allocates = 0,
    .stream = LULL_STREAM_CODES(dot),
    .needs_fma = {[LULL_SIMD_AVX2] = true, [LULL_SIMD_AVX512] = true},
};
LULL_STREAM_BENCHMARK(dot, "scalar product of two arrays");

/* ==== load ==================================================================================== */

/* Reads one array. */

#define LOAD_OLD(MOV, T, B, K, S) LULL_DO(MOV " " LULL_MEM(a, B, K) ", " LULL_REG("xmm", K))
#define LOAD_OLD_1(W, B, K, S)    LOAD_OLD("movsd", "sd", B, K, S)
#define LOAD_OLD_2(W, B, K, S)    LOAD_OLD("movapd", "pd", B, K, S)
#define LOAD_NEW(W, B, K, S)      LULL_DO("vmovapd " LULL_MEM(a, B, K) ", " LULL_REG(W, K))

LULL_STREAM_FUNCTIONS(load, LOAD_OLD, LOAD_NEW, out[0] = a[i], NOTHING, SAVE)

const struct lull_bench_kernel lull_kernel_load = {
    .name = "load",
    .formula = "load a[i]",
    .arrays = 1,
    .loads = 1,
    .stores = 0,
    .flops = 0,
    .allocates = 0,
    .stream = LULL_STREAM_CODES(load),
};
LULL_STREAM_BENCHMARK(load, "read one array");
