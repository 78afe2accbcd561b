/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels: the loops whose speed is measured, one constant struct per file in bench/kernel/.
 *
 * On x86-64 the loops are written in the processor's own instructions, so that every compiler and
 * every level of optimisation runs the same ones, and none is left out. Elsewhere there is a loop
 * in C for the scalar width. tests/bench counts the instructions in the compiled loops and compares
 * their bytes and flops with what a kernel claims here. */
#ifndef LULL_BENCH_KERNEL_H
#define LULL_BENCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lull_simd {
    LULL_SIMD_SCALAR,
    LULL_SIMD_SSE,
    LULL_SIMD_AVX2,
    LULL_SIMD_AVX512,
    LULL_SIMD_WIDTHS
};
const char *lull_simd_name(enum lull_simd simd); /* "scalar", "sse", "avx2", "avx512" */
unsigned lull_simd_bytes(enum lull_simd simd);   /* bytes of a register as used: 8, 16, 32, 64 */
/* Whether processor and system have the registers, and with `fma` also fused multiply-add for them;
 * the processor is asked at run time. AVX2 as a width means AVX with 256 bit. */
bool lull_simd_usable(enum lull_simd simd, bool fma);

/* A stream over arrays of doubles: elements i = 0 .. count - 1, with count a positive multiple of
 * LULL_KERNEL_STEP and arrays aligned to 64 bytes. A kernel with a result (dot: the sum; load: the
 * sum of the elements loaded last) leaves parts of it in the LULL_KERNEL_OUT values of `out`, which
 * are 0 before: the result is their sum. The constant s in formulas is LULL_KERNEL_FACTOR. */
typedef void lull_stream_code(double *a, double *b, double *c, double *d, size_t count,
                              double *out);
#define LULL_KERNEL_STEP   64
#define LULL_KERNEL_OUT    64
#define LULL_KERNEL_FACTOR 0.9999999

/* Work in registers, or along a chain of pointers. */
typedef double lull_compute_code(uint64_t repetitions);
typedef void *lull_chase_code(void *from, uint64_t repetitions);

struct lull_bench_kernel {
    const char *name;    /* "triad" */
    const char *formula; /* "a[i] = b[i] + c[i] d[i]" */
    /* Of stream kernels, per element: */
    unsigned
        arrays; /* how many of a, b, c, d it uses, in this order; more than four: up to j, which
                        lie behind d at the same distance as b behind a */
    unsigned loads, stores, flops;
    unsigned allocates; /* stores to lines that are read from memory only because they are written
                           to: the element is not loaded as well, and the store does not bypass the
                           caches */
    lull_stream_code *stream[LULL_SIMD_WIDTHS]; /* NULL where there is no such width */
    bool needs_fma[LULL_SIMD_WIDTHS];
    /* Of arithmetic kernels: the code at each width, and floating-point operations of one
     * repetition. */
    lull_compute_code *compute[LULL_SIMD_WIDTHS];
    double operations[LULL_SIMD_WIDTHS];
    bool fma;    /* it needs fused multiply-add at every width */
    bool single; /* single precision, else double */
    /* Of latency kernels: the code, and loads per repetition that depend on each other. */
    lull_chase_code *chase;
    unsigned chase_loads;
};

/* The widest code of a stream that this processor runs. */
enum lull_simd lull_kernel_widest(const struct lull_bench_kernel *kernel);

/* All kernels; NULL at the end. */
extern const struct lull_bench_kernel *const lull_kernels[];

#endif
