/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic in registers; internal.
 *
 * Registers 0 to 13 are independent chains, enough for two units of up to seven cycles latency, or
 * for three units that share additions and multiplications of up to four cycles. Register 14 is
 * what chains are multiplied with or divided by, register 15 what is added. One repetition runs
 * each chain twice. The result of a function is the sum over all elements of all chains, so that
 * every element of every instruction has a part in it. */
#ifndef LULL_BENCH_KERNEL_COMPUTE_H
#define LULL_BENCH_KERNEL_COMPUTE_H

#include "bench/kernel/x86.h"

enum {
    LULL_COMPUTE_CHAINS = 14,
    LULL_COMPUTE_STEPS = 2, /* instructions of each chain in a repetition */
};

/* Values of the chains at the start, and of the two operands. */
#define LULL_COMPUTE_START  1.0
#define LULL_COMPUTE_FACTOR (1 + 0x1p-20)
#define LULL_COMPUTE_ADDEND 0.25

#if defined(__x86_64__)

#define LULL_FOURTEEN(E, O, W) \
    E(W, 0)                    \
    O(W, 1)                    \
    E(W, 2)                    \
    O(W, 3) E(W, 4) O(W, 5) E(W, 6) O(W, 7) E(W, 8) O(W, 9) E(W, 10) O(W, 11) E(W, 12) O(W, 13)

#define LULL_STATE(K)       "64*" #K "(%[state])"
#define LULL_FILL_OLD(W, K) LULL_DO("movups " LULL_STATE(K) ", " LULL_REG("xmm", K))
#define LULL_KEEP_OLD(W, K) LULL_DO("movups " LULL_REG("xmm", K) ", " LULL_STATE(K))
#define LULL_FILL_NEW(W, K) LULL_DO("vmovups " LULL_STATE(K) ", " LULL_REG(W, K))
#define LULL_KEEP_NEW(W, K) LULL_DO("vmovups " LULL_REG(W, K) ", " LULL_STATE(K))
#define LULL_LEAVE_OLD      ""
#define LULL_LEAVE_NEW      LULL_DO("vzeroupper")

/* E and O are the instruction of even and of odd chains; FORM is OLD or NEW. */
#define LULL_COMPUTE_FUNCTION(name, real, lanes, FORM, E, O, W)                                    \
    static double name(uint64_t repetitions)                                                       \
    {                                                                                              \
        _Alignas(64) real state[16][64 / sizeof(real)];                                            \
        for (size_t i = 0; i < 16; i++)                                                            \
            for (size_t lane = 0; lane < 64 / sizeof(real); lane++)                                \
                state[i][lane] = i == 14   ? (real)LULL_COMPUTE_FACTOR                             \
                                 : i == 15 ? (real)LULL_COMPUTE_ADDEND                             \
                                           : (real)LULL_COMPUTE_START;                             \
        if (repetitions > 0)                                                                       \
            __asm__ volatile(                                                                      \
                LULL_FOURTEEN(LULL_FILL_##FORM, LULL_FILL_##FORM, W) LULL_FILL_##FORM(W, 14)       \
                    LULL_FILL_##FORM(W, 15) LULL_DO(".p2align 6") LULL_DO("1:")                    \
                        LULL_FOURTEEN(E, O, W) LULL_FOURTEEN(E, O, W) LULL_DO("dec %[n]")          \
                            LULL_DO("jnz 1b") LULL_FOURTEEN(LULL_KEEP_##FORM, LULL_KEEP_##FORM, W) \
                                LULL_LEAVE_##FORM                                                  \
                : [n] "+&r"(repetitions)                                                           \
                : [state] "r"(state)                                                               \
                : LULL_ALL_REGISTERS);                                                             \
        double sum = 0;                                                                            \
        for (size_t i = 0; i < LULL_COMPUTE_CHAINS; i++)                                           \
            for (size_t lane = 0; lane < (lanes); lane++)                                          \
                sum += (double)state[i][lane];                                                     \
        return sum;                                                                                \
    }

/* Defines KERNEL_scalar, KERNEL_sse, KERNEL_avx2 and KERNEL_avx512 for one type. S_*, P_* and N_*
 * are the instructions for one element, for SSE and for AVX: FORM is that of the former two (OLD:
 * two operands, NEW: three). */
#define LULL_COMPUTE_FUNCTIONS(kernel, real, size, FORM, S_EVEN, S_ODD, P_EVEN, P_ODD, N_EVEN, \
                               N_ODD)                                                          \
    LULL_COMPUTE_FUNCTION(kernel##_scalar, real, 1, FORM, S_EVEN, S_ODD, "xmm")                \
    LULL_COMPUTE_FUNCTION(kernel##_sse, real, 16 / size, FORM, P_EVEN, P_ODD, "xmm")           \
    LULL_COMPUTE_FUNCTION(kernel##_avx2, real, 32 / size, NEW, N_EVEN, N_ODD, "ymm")           \
    LULL_COMPUTE_FUNCTION(kernel##_avx512, real, 64 / size, NEW, N_EVEN, N_ODD, "zmm")
#define LULL_COMPUTE_CODES(kernel)                                    \
    {                                                                 \
        kernel##_scalar, kernel##_sse, kernel##_avx2, kernel##_avx512 \
    }

#else

/* Other processors: the compiler's code for single elements. */
#define LULL_COMPUTE_PORTABLE(kernel, real, even, odd)                                         \
    static double kernel##_scalar(uint64_t repetitions)                                        \
    {                                                                                          \
        const volatile real given[2] = {(real)LULL_COMPUTE_FACTOR, (real)LULL_COMPUTE_ADDEND}; \
        const real factor = given[0], addend = given[1];                                       \
        real x[LULL_COMPUTE_CHAINS];                                                           \
        (void)addend, (void)factor;                                                            \
        for (size_t i = 0; i < LULL_COMPUTE_CHAINS; i++)                                       \
            x[i] = (real)LULL_COMPUTE_START;                                                   \
        for (uint64_t k = 0; k < LULL_COMPUTE_STEPS * repetitions; k++)                        \
            for (size_t i = 0; i < LULL_COMPUTE_CHAINS; i += 2) {                              \
                x[i] = even(x[i]);                                                             \
                x[i + 1] = odd(x[i + 1]);                                                      \
            }                                                                                  \
        double sum = 0;                                                                        \
        for (size_t i = 0; i < LULL_COMPUTE_CHAINS; i++)                                       \
            sum += (double)x[i];                                                               \
        return sum;                                                                            \
    }
#define LULL_COMPUTE_CODES(kernel)        \
    {                                     \
        kernel##_scalar, NULL, NULL, NULL \
    }

#endif

/* Operations of one repetition at each width, `each` of them per element and step. */
#define LULL_COMPUTE_EACH(each) (LULL_COMPUTE_CHAINS * LULL_COMPUTE_STEPS * (each))
#define LULL_COMPUTE_COUNTS(size, each)                                                      \
    {                                                                                        \
        LULL_COMPUTE_EACH(each), LULL_COMPUTE_EACH(each) * (16 / (size)),                    \
            LULL_COMPUTE_EACH(each) * (32 / (size)), LULL_COMPUTE_EACH(each) * (64 / (size)) \
    }

#endif
