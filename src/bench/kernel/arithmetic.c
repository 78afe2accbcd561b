/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of arithmetic in registers: "peak.dp.fma.avx2.1", "divide.sp.sse.1", and the clock of the cores. First how
 * they are timed, then the loop that all kernels have; each section behind these is a kernel and its benchmark. */
#include "bench/benchmark.h"
#include "bench/kernel.h"
#include "bench/kernel/x86.h"

#include <string.h>

/* ==== how they are timed ====================================================================== */

extern const struct lull_bench_kernel lull_kernel_clock;

struct arithmetic_job {
    lull_compute_code *code;
    unsigned threads;
    bool clock; /* measure the cores' clock, too */
};

static void run_arithmetic(void *context, unsigned thread, uint64_t repetitions)
{
    (void)thread;
    lull_keep(((const struct arithmetic_job *)context)->code(repetitions));
}

static lull_status visit_arithmetic(struct lull_bench *bench, const struct lull_task *task,
                                    double seconds, struct lull_error *err)
{
    struct arithmetic_job *job = task->data;
    const struct lull_timing timing = {.body = run_arithmetic,
                                       .context = job,
                                       .threads = job->threads,
                                       .seconds = seconds,
                                       .clock = job->clock};
    return lull_bench_time(bench, task, &timing, err);
}

/* "peak-dp-fma" as the begin of a number's name: "peak.dp.fma". */
static const char *dotted(struct lull_bench *bench, const char *name)
{
    char *copy = lull_arena_strdup(bench->arena, name);
    for (char *at = copy; (at = strchr(at, '-')) != NULL;)
        *at = '.';
    return copy;
}

static void plan_arithmetic(struct lull_bench *bench, const struct lull_bench_kernel *kernel,
                            enum lull_simd simd, unsigned threads, const char *name,
                            const char *unit)
{
    struct arithmetic_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    *job = (struct arithmetic_job){kernel->compute[simd], threads, kernel != &lull_kernel_clock};
    const struct lull_probe probe = {
        .name = name, .unit = unit, .amount = kernel->operations[simd] * threads};
    const struct lull_task task = {.name = probe.name,
                                   .visit = visit_arithmetic,
                                   .data = job,
                                   .first_probe = lull_bench_probe(bench, &probe),
                                   .n_probes = 1};
    lull_bench_task(bench, &task);
}

static void plan_rate(struct lull_bench *bench, const struct lull_bench_kernel *kernel,
                      enum lull_simd simd, unsigned threads)
{
    plan_arithmetic(bench, kernel, simd, threads,
                    lull_bench_text(bench, "%s.%s.%u", dotted(bench, kernel->name),
                                    lull_simd_name(simd), threads),
                    "flop/s");
}

/* The `plan` of the benchmarks of arithmetic kernels: every width on one core, the widest on all
 * cores. */
static lull_status plan_compute(const struct lull_benchmark *self, struct lull_bench *bench,
                                struct lull_error *err)
{
    (void)err;
    const struct lull_bench_kernel *kernel = self->kernel;
    int widest = -1;
    for (int simd = 0; simd < LULL_SIMD_WIDTHS; simd++) {
        if (!kernel->compute[simd] || !lull_simd_usable((enum lull_simd)simd, kernel->fma))
            continue;
        widest = simd;
        plan_rate(bench, kernel, (enum lull_simd)simd, 1);
    }
    if (widest < 0)
        lull_bench_skip(bench, "%s: this processor has no fused multiply-add", self->name);
    else if (bench->topology->n_cores > 1)
        plan_rate(bench, kernel, (enum lull_simd)widest, (unsigned)bench->topology->n_cores);
    return LULL_OK;
}

/* Plans the number "clock.effective": the clock that one core really has. */
static lull_status clock_plan(const struct lull_benchmark *self, struct lull_bench *bench,
                              struct lull_error *err)
{
    (void)err;
    plan_arithmetic(bench, self->kernel, LULL_SIMD_SCALAR, 1, "clock.effective", "Hz");
    return LULL_OK;
}

/* ==== clock =================================================================================== */

/* Additions of registers that wait for each other take one cycle each on every processor that lull
 * knows. (Adding a constant does not: some processors fold that while renaming registers.) So their
 * rate is the clock that the core really has. */

enum { ADDITIONS = 64 };

#define FOUR(text) text text text text

static double add_registers(uint64_t repetitions)
{
    uint64_t sum = 0, addend = 1;
#if defined(__x86_64__)
    if (repetitions > 0)
        __asm__ volatile(".p2align 6\n\t"
                         "1:\n\t" FOUR(FOUR(FOUR("add %[addend], %[sum]\n\t"))) "dec %[n]\n\t"
                                                                                "jnz 1b\n\t"
                         : [sum] "+&r"(sum), [n] "+&r"(repetitions)
                         : [addend] "r"(addend)
                         : "cc");
#else
    for (uint64_t i = 0; i < repetitions; i++) {
#if defined(__aarch64__)
        __asm__ volatile(FOUR(FOUR(FOUR("add %[sum], %[sum], %[addend]\n\t")))
                         : [sum] "+&r"(sum)
                         : [addend] "r"(addend));
#else
        for (int k = 0; k < ADDITIONS; k++) {
            sum += addend;
            __asm__ volatile("" : "+r"(sum));
        }
#endif
    }
#endif
    return (double)sum;
}

const struct lull_bench_kernel lull_kernel_clock = {.name = "clock",
                                                    .formula = "n = n + m",
                                                    .compute = {add_registers, NULL, NULL, NULL},
                                                    .operations = {ADDITIONS, 0, 0, 0}};

const struct lull_benchmark lull_bench_clock = {
    .name = "clock",
    .group = "compute",
    .summary = "effective clock, from additions that wait for each other",
    .plan = clock_plan,
    .kernel = &lull_kernel_clock,
};

/* ==== the loop of all kernels ================================================================= */

/* Registers 0 to 13 are independent chains, enough for two units of up to seven cycles latency, or
 * for three units that share additions and multiplications of up to four cycles. Register 14 is
 * what chains are multiplied with or divided by, register 15 what is added. One repetition runs
 * each chain twice. The result of a function is the sum over all elements of all chains, so that
 * every element of every instruction has a part in it. */

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

/* ==== peak dp ================================================================================= */

/* Additions and multiplications by turns, double precision. */

#if defined(__x86_64__)
#define PEAK_DP_SCALAR_EVEN(W, K) LULL_DO("addsd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_DP_SCALAR_ODD(W, K)  LULL_DO("mulsd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_SSE_EVEN(W, K)    LULL_DO("addpd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_DP_SSE_ODD(W, K)     LULL_DO("mulpd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_AVX_EVEN(W, K) \
    LULL_DO("vaddpd " LULL_REG(W, 15) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
#define PEAK_DP_AVX_ODD(W, K) \
    LULL_DO("vmulpd " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_dp, double, 8, OLD, PEAK_DP_SCALAR_EVEN, PEAK_DP_SCALAR_ODD,
                       PEAK_DP_SSE_EVEN, PEAK_DP_SSE_ODD, PEAK_DP_AVX_EVEN, PEAK_DP_AVX_ODD)
#else
#define PEAK_DP_EVEN(x) (x + addend)
#define PEAK_DP_ODD(x)  (x * factor)
LULL_COMPUTE_PORTABLE(peak_dp, double, PEAK_DP_EVEN, PEAK_DP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_dp = {
    .name = "peak-dp",
    .formula = "x = x + a; y = y b",
    .compute = LULL_COMPUTE_CODES(peak_dp),
    .operations = LULL_COMPUTE_COUNTS(8, 1),
    .fma = false,
    .single = false,
};

const struct lull_benchmark lull_bench_peak_dp = {
    .name = "peak-dp",
    .group = "compute",
    .summary = "peak rate of additions and multiplications, double precision",
    .plan = plan_compute,
    .kernel = &lull_kernel_peak_dp,
};

/* ==== peak dp fma ============================================================================= */

/* Fused multiply-adds, double precision. */

#if defined(__x86_64__)
#define PEAK_DP_FMA_SCALAR(W, K) \
    LULL_DO("vfmadd231sd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_FMA_SSE(W, K) \
    LULL_DO("vfmadd231pd " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_DP_FMA_AVX(W, K) \
    LULL_DO("vfmadd231pd " LULL_REG(W, 15) ", " LULL_REG(W, 14) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_dp_fma, double, 8, NEW, PEAK_DP_FMA_SCALAR, PEAK_DP_FMA_SCALAR,
                       PEAK_DP_FMA_SSE, PEAK_DP_FMA_SSE, PEAK_DP_FMA_AVX, PEAK_DP_FMA_AVX)
#else
#define PEAK_DP_FMA_EVEN(x) (x + factor * addend)
#define PEAK_DP_FMA_ODD(x)  (x + factor * addend)
LULL_COMPUTE_PORTABLE(peak_dp_fma, double, PEAK_DP_FMA_EVEN, PEAK_DP_FMA_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_dp_fma = {
    .name = "peak-dp-fma",
    .formula = "x = x + a b",
    .compute = LULL_COMPUTE_CODES(peak_dp_fma),
    .operations = LULL_COMPUTE_COUNTS(8, 2),
    .fma = true,
    .single = false,
};

const struct lull_benchmark lull_bench_peak_dp_fma = {
    .name = "peak-dp-fma",
    .group = "compute",
    .summary = "peak rate of fused multiply-adds, double precision",
    .plan = plan_compute,
    .kernel = &lull_kernel_peak_dp_fma,
};

/* ==== peak sp ================================================================================= */

/* Additions and multiplications by turns, single precision. */

#if defined(__x86_64__)
#define PEAK_SP_SCALAR_EVEN(W, K) LULL_DO("addss " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_SP_SCALAR_ODD(W, K)  LULL_DO("mulss " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_SSE_EVEN(W, K)    LULL_DO("addps " LULL_REG("xmm", 15) ", " LULL_REG("xmm", K))
#define PEAK_SP_SSE_ODD(W, K)     LULL_DO("mulps " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_AVX_EVEN(W, K) \
    LULL_DO("vaddps " LULL_REG(W, 15) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
#define PEAK_SP_AVX_ODD(W, K) \
    LULL_DO("vmulps " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_sp, float, 4, OLD, PEAK_SP_SCALAR_EVEN, PEAK_SP_SCALAR_ODD,
                       PEAK_SP_SSE_EVEN, PEAK_SP_SSE_ODD, PEAK_SP_AVX_EVEN, PEAK_SP_AVX_ODD)
#else
#define PEAK_SP_EVEN(x) (x + addend)
#define PEAK_SP_ODD(x)  (x * factor)
LULL_COMPUTE_PORTABLE(peak_sp, float, PEAK_SP_EVEN, PEAK_SP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_sp = {
    .name = "peak-sp",
    .formula = "x = x + a; y = y b",
    .compute = LULL_COMPUTE_CODES(peak_sp),
    .operations = LULL_COMPUTE_COUNTS(4, 1),
    .fma = false,
    .single = true,
};

const struct lull_benchmark lull_bench_peak_sp = {
    .name = "peak-sp",
    .group = "compute",
    .summary = "peak rate of additions and multiplications, single precision",
    .plan = plan_compute,
    .kernel = &lull_kernel_peak_sp,
};

/* ==== peak sp fma ============================================================================= */

/* Fused multiply-adds, single precision. */

#if defined(__x86_64__)
#define PEAK_SP_FMA_SCALAR(W, K) \
    LULL_DO("vfmadd231ss " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_FMA_SSE(W, K) \
    LULL_DO("vfmadd231ps " LULL_REG("xmm", 15) ", " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define PEAK_SP_FMA_AVX(W, K) \
    LULL_DO("vfmadd231ps " LULL_REG(W, 15) ", " LULL_REG(W, 14) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(peak_sp_fma, float, 4, NEW, PEAK_SP_FMA_SCALAR, PEAK_SP_FMA_SCALAR,
                       PEAK_SP_FMA_SSE, PEAK_SP_FMA_SSE, PEAK_SP_FMA_AVX, PEAK_SP_FMA_AVX)
#else
#define PEAK_SP_FMA_EVEN(x) (x + factor * addend)
#define PEAK_SP_FMA_ODD(x)  (x + factor * addend)
LULL_COMPUTE_PORTABLE(peak_sp_fma, float, PEAK_SP_FMA_EVEN, PEAK_SP_FMA_ODD)
#endif

const struct lull_bench_kernel lull_kernel_peak_sp_fma = {
    .name = "peak-sp-fma",
    .formula = "x = x + a b",
    .compute = LULL_COMPUTE_CODES(peak_sp_fma),
    .operations = LULL_COMPUTE_COUNTS(4, 2),
    .fma = true,
    .single = true,
};

const struct lull_benchmark lull_bench_peak_sp_fma = {
    .name = "peak-sp-fma",
    .group = "compute",
    .summary = "peak rate of fused multiply-adds, single precision",
    .plan = plan_compute,
    .kernel = &lull_kernel_peak_sp_fma,
};

/* ==== divide dp =============================================================================== */

/* Divisions, double precision. The operands are no powers of two, which some dividers finish early.
 */

#if defined(__x86_64__)
#define DIVIDE_DP_SCALAR(W, K) LULL_DO("divsd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_DP_SSE(W, K)    LULL_DO("divpd " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_DP_AVX(W, K) \
    LULL_DO("vdivpd " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(divide_dp, double, 8, OLD, DIVIDE_DP_SCALAR, DIVIDE_DP_SCALAR, DIVIDE_DP_SSE,
                       DIVIDE_DP_SSE, DIVIDE_DP_AVX, DIVIDE_DP_AVX)
#else
#define DIVIDE_DP_EVEN(x) (x / factor)
#define DIVIDE_DP_ODD(x)  (x / factor)
LULL_COMPUTE_PORTABLE(divide_dp, double, DIVIDE_DP_EVEN, DIVIDE_DP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_divide_dp = {
    .name = "divide-dp",
    .formula = "x = x / a",
    .compute = LULL_COMPUTE_CODES(divide_dp),
    .operations = LULL_COMPUTE_COUNTS(8, 1),
    .fma = false,
    .single = false,
};

const struct lull_benchmark lull_bench_divide_dp = {
    .name = "divide-dp",
    .group = "compute",
    .summary = "throughput of divisions, double precision",
    .plan = plan_compute,
    .kernel = &lull_kernel_divide_dp,
};

/* ==== divide sp =============================================================================== */

/* Divisions, single precision. The operands are no powers of two, which some dividers finish early.
 */

#if defined(__x86_64__)
#define DIVIDE_SP_SCALAR(W, K) LULL_DO("divss " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_SP_SSE(W, K)    LULL_DO("divps " LULL_REG("xmm", 14) ", " LULL_REG("xmm", K))
#define DIVIDE_SP_AVX(W, K) \
    LULL_DO("vdivps " LULL_REG(W, 14) ", " LULL_REG(W, K) ", " LULL_REG(W, K))
LULL_COMPUTE_FUNCTIONS(divide_sp, float, 4, OLD, DIVIDE_SP_SCALAR, DIVIDE_SP_SCALAR, DIVIDE_SP_SSE,
                       DIVIDE_SP_SSE, DIVIDE_SP_AVX, DIVIDE_SP_AVX)
#else
#define DIVIDE_SP_EVEN(x) (x / factor)
#define DIVIDE_SP_ODD(x)  (x / factor)
LULL_COMPUTE_PORTABLE(divide_sp, float, DIVIDE_SP_EVEN, DIVIDE_SP_ODD)
#endif

const struct lull_bench_kernel lull_kernel_divide_sp = {
    .name = "divide-sp",
    .formula = "x = x / a",
    .compute = LULL_COMPUTE_CODES(divide_sp),
    .operations = LULL_COMPUTE_COUNTS(4, 1),
    .fma = false,
    .single = true,
};

const struct lull_benchmark lull_bench_divide_sp = {
    .name = "divide-sp",
    .group = "compute",
    .summary = "throughput of divisions, single precision",
    .plan = plan_compute,
    .kernel = &lull_kernel_divide_sp,
};
