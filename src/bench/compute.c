/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/compute.h"

#include "bench/benchmark.h"
#include "bench/kernel.h"

#include <string.h>

/* ==== compute ================================================================================= */

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

lull_status lull_compute_plan(const struct lull_benchmark *self, struct lull_bench *bench,
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
