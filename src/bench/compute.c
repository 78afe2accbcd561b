#include "bench/compute.h"

#include <string.h>

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

lull_status lull_clock_plan(const struct lull_benchmark *self, struct lull_bench *bench,
                            struct lull_error *err)
{
    (void)err;
    plan_arithmetic(bench, self->kernel, LULL_SIMD_SCALAR, 1, "clock.effective", "Hz");
    return LULL_OK;
}
