/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops of x86-64 instructions; internal. A kernel names the instructions for one register's worth
 * of elements; here they become loops over eight of these, for every width.
 *
 * Instructions are given twice: in the old form with two operands, for one element and for SSE, and
 * in the newer form with three, for AVX with 32 and 64 bytes. As arguments they get
 *   B  bytes of a register, as a plain number     K  number of this group's register, 0 to 7
 *   S  number of a second register, 8 to 15       W  "xmm", "ymm" or "zmm"
 * Register 15 holds the constant in kernels that have one; these do not use S. */
#ifndef LULL_BENCH_KERNEL_X86_H
#define LULL_BENCH_KERNEL_X86_H

#include "bench/kernel.h"

/* The arrays behind a, b, c, d of a kernel of nine arrays. */
#define LULL_OTHER_ARRAYS                                                                      \
    double *const e = a + 4 * (b - a), *const f = a + 5 * (b - a), *const g = a + 6 * (b - a), \
                  *const h = a + 7 * (b - a), *const j = a + 8 * (b - a);

#if defined(__x86_64__)

#define LULL_ALL_REGISTERS                                                                   \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "rax", "memory", "cc"

#define LULL_MEM(array, B, K) #B "*" #K "(%[" #array "],%[i],8)"
#define LULL_OUT(K)           "64*" #K "(%[out])"
#define LULL_REG(W, K)        "%%" W #K
#define LULL_DO(text)         text "\n\t"

#define LULL_EIGHT(G, W, B) \
    G(W, B, 0, 8)           \
    G(W, B, 1, 9)           \
    G(W, B, 2, 10)          \
    G(W, B, 3, 11)          \
    G(W, B, 4, 12)          \
    G(W, B, 5, 13)          \
    G(W, B, 6, 14)          \
    G(W, B, 7, 15)

#define LULL_STREAM_FUNCTION(name, setup, G, W, B, elements, finish)                        \
    static void name(double *a, double *b, double *c, double *d, size_t count, double *out) \
    {                                                                                       \
        static const double factor = LULL_KERNEL_FACTOR;                                    \
        size_t i = 0;                                                                       \
        __asm__ volatile(setup LULL_DO(".p2align 6") LULL_DO("1:") LULL_EIGHT(G, W, B)      \
                             LULL_DO("add $" #elements ", %[i]") LULL_DO("cmp %[n], %[i]")  \
                                 LULL_DO("jb 1b") finish                                    \
                         : [i] "+&r"(i)                                                     \
                         : [a] "r"(a), [b] "r"(b), [c] "r"(c), [d] "r"(d), [n] "r"(count),  \
                           [out] "r"(out), [factor] "r"(&factor)                            \
                         : LULL_ALL_REGISTERS);                                             \
    }

/* A kernel of nine arrays, without constant and result. */
#define LULL_NINE_FUNCTION(name, G, W, B, elements, finish)                                        \
    static void name(double *a, double *b, double *c, double *d, size_t count, double *out)        \
    {                                                                                              \
        LULL_OTHER_ARRAYS                                                                          \
        size_t i = 0;                                                                              \
        (void)out;                                                                                 \
        __asm__ volatile(LULL_DO(".p2align 6") LULL_DO("1:") LULL_EIGHT(G, W, B)                   \
                             LULL_DO("add $" #elements ", %[i]") LULL_DO("cmp %[n], %[i]")         \
                                 LULL_DO("jb 1b") finish                                           \
                         : [i] "+&r"(i)                                                            \
                         : [a] "r"(a), [b] "r"(b), [c] "r"(c), [d] "r"(d), [e] "r"(e), [f] "r"(f), \
                           [g] "r"(g), [h] "r"(h), [j] "r"(j), [n] "r"(count)                      \
                         : LULL_ALL_REGISTERS);                                                    \
    }

/* What may stand before the loop (nothing, the factor, zeros) and behind it (nothing, saving the
 * registers, a fence). */
#define LULL_NOTHING_SSE    ""
#define LULL_NOTHING_AVX(W) ""
#define LULL_FACTOR_SSE                   \
    LULL_DO("movsd (%[factor]), %%xmm15") \
    LULL_DO("unpcklpd %%xmm15, %%xmm15") LULL_DO("mov (%[factor]), %%rax")
#define LULL_FACTOR_AVX(W)      LULL_DO("vbroadcastsd (%[factor]), %%" W "15")
#define LULL_ZERO_1(W, B, K, S) LULL_DO("xorpd %%xmm" #K ", %%xmm" #K)
#define LULL_ZERO_2(W, B, K, S) LULL_DO("vxorpd %%xmm" #K ", %%xmm" #K ", %%xmm" #K)
#define LULL_ZERO_SSE           LULL_EIGHT(LULL_ZERO_1, "", 0)
#define LULL_ZERO_AVX(W)        LULL_EIGHT(LULL_ZERO_2, "", 0)
#define LULL_SAVE_1(W, B, K, S) LULL_DO("movupd " LULL_REG(W, K) ", " LULL_OUT(K))
#define LULL_SAVE_2(W, B, K, S) LULL_DO("vmovupd " LULL_REG(W, K) ", " LULL_OUT(K))
#define LULL_SAVE_SSE           LULL_EIGHT(LULL_SAVE_1, "xmm", 0)
#define LULL_SAVE_AVX(W)        LULL_EIGHT(LULL_SAVE_2, W, 0)
#define LULL_FENCE_SSE          LULL_DO("sfence")
#define LULL_FENCE_AVX(W)       LULL_DO("sfence")

/* Defines KERNEL_scalar, KERNEL_sse, KERNEL_avx2 and KERNEL_avx512 from the two forms of the
 * instructions: OLD_1(W, B, K, S) for one element, OLD_2(W, B, K, S) for SSE, and NEW(W, B, K, S)
 * for AVX. `before` and `after` are names from the list above, without their endings. The statement
 * is for other processors. */
#define LULL_STREAM_FUNCTIONS(kernel, OLD, NEW, statement, before, after)                 \
    LULL_STREAM_FUNCTION(kernel##_scalar, LULL_##before##_SSE, OLD##_1, "xmm", 8, 8,      \
                         LULL_##after##_SSE)                                              \
    LULL_STREAM_FUNCTION(kernel##_sse, LULL_##before##_SSE, OLD##_2, "xmm", 16, 16,       \
                         LULL_##after##_SSE)                                              \
    LULL_STREAM_FUNCTION(kernel##_avx2, LULL_##before##_AVX("ymm"), NEW, "ymm", 32, 32,   \
                         LULL_##after##_AVX("ymm") LULL_DO("vzeroupper"))                 \
    LULL_STREAM_FUNCTION(kernel##_avx512, LULL_##before##_AVX("zmm"), NEW, "zmm", 64, 64, \
                         LULL_##after##_AVX("zmm") LULL_DO("vzeroupper"))
#define LULL_NINE_FUNCTIONS(kernel, OLD, NEW, statement)                         \
    LULL_NINE_FUNCTION(kernel##_scalar, OLD##_1, "xmm", 8, 8, "")                \
    LULL_NINE_FUNCTION(kernel##_sse, OLD##_2, "xmm", 16, 16, "")                 \
    LULL_NINE_FUNCTION(kernel##_avx2, NEW, "ymm", 32, 32, LULL_DO("vzeroupper")) \
    LULL_NINE_FUNCTION(kernel##_avx512, NEW, "zmm", 64, 64, LULL_DO("vzeroupper"))
#define LULL_STREAM_CODES(kernel)                                     \
    {                                                                 \
        kernel##_scalar, kernel##_sse, kernel##_avx2, kernel##_avx512 \
    }

#else

/* Other processors: the compiler's loop. */
#define LULL_STREAM_FUNCTIONS(kernel, OLD, NEW, statement, before, after)                 \
    static void kernel##_scalar(double *a, double *b, double *c, double *d, size_t count, \
                                double *out)                                              \
    {                                                                                     \
        (void)a, (void)b, (void)c, (void)d, (void)out;                                    \
        for (size_t i = 0; i < count; i++) {                                              \
            statement;                                                                    \
            __asm__ volatile("" ::: "memory");                                            \
        }                                                                                 \
    }
#define LULL_NINE_FUNCTIONS(kernel, OLD, NEW, statement)                                  \
    static void kernel##_scalar(double *a, double *b, double *c, double *d, size_t count, \
                                double *out)                                              \
    {                                                                                     \
        LULL_OTHER_ARRAYS(void) out;                                                      \
        for (size_t i = 0; i < count; i++) {                                              \
            statement;                                                                    \
            __asm__ volatile("" ::: "memory");                                            \
        }                                                                                 \
    }
#define LULL_STREAM_CODES(kernel)         \
    {                                     \
        kernel##_scalar, NULL, NULL, NULL \
    }

#endif

/* The benchmark of a stream kernel, whose file has the struct of the kernel. */
#define LULL_STREAM_BENCHMARK(its_name, text)                                      \
    const struct lull_benchmark lull_bench_##its_name = {.name = #its_name,        \
                                                         .group = "bandwidth",     \
                                                         .summary = text,          \
                                                         .plan = lull_stream_plan, \
                                                         .kernel = &lull_kernel_##its_name}

#endif
