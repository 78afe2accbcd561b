/* SPDX-License-Identifier: BSD-3-Clause */
/* Bandwidth of loads over the size of the working set: the curve whose steps are the caches. */
#include "bench/memory/memory.h"
#include "bench/memory/stream.h"

#include <math.h>

extern const struct lull_bench_kernel lull_kernel_load;

static const struct {
    double from, per_octave[LULL_EFFORTS]; /* bytes; points per doubling */
} sizes = {4096, {1, 2, 4}};

static lull_status plan_sweep(const struct lull_benchmark *self, struct lull_bench *bench,
                              struct lull_error *err)
{
    (void)self;
    (void)err;
    struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS];
    size_t count =
        lull_bench_find_levels(bench->topology, 1, bench->memory_limit, bench->arena, levels);
    double step = pow(2, 1 / sizes.per_octave[bench->settings.effort]);
    uint64_t last = 0;
    for (double size = sizes.from; size <= (double)levels[count - 1].bytes; size *= step) {
        struct lull_stream_job *job = lull_stream_job_create(
            bench, &lull_kernel_load, lull_kernel_widest(&lull_kernel_load), 1, (uint64_t)size);
        uint64_t bytes = job->count * sizeof(double);
        if (bytes == last)
            continue;
        last = bytes;
        const struct lull_probe probe = {
            .name = lull_bench_text(bench, "sweep.load.%llu", (unsigned long long)bytes),
            .unit = "B/s",
            .amount = lull_stream_job_bytes(job),
            .point = true};
        const struct lull_task task = {.name = probe.name,
                                       .visit = lull_stream_visit,
                                       .data = job,
                                       .first_probe = lull_bench_probe(bench, &probe),
                                       .n_probes = 1};
        lull_bench_task(bench, &task);
    }
    return LULL_OK;
}

static lull_status finish_sweep(const struct lull_benchmark *self, struct lull_bench *bench,
                                struct lull_error *err)
{
    (void)err;
    struct lull_series *series = lull_bench_series(bench);
    *series = (struct lull_series){
        .name = "sweep.load.1",
        .title = "Load bandwidth over the working set, one core",
        .x_label = "working set",
        .x_unit = "B",
        .y_label = "bandwidth",
        .y_unit = "B/s",
        .points = lull_arena_zero(bench->arena, bench->n_tasks, sizeof *series->points)};
    for (size_t i = 0; i < bench->n_tasks; i++) {
        const struct lull_task *task = &bench->tasks[i];
        const struct lull_probe *probe = &bench->probes[task->first_probe];
        if (task->of != self || probe->n_rounds == 0)
            continue;
        const struct lull_stream_job *job = task->data;
        struct lull_number number =
            lull_probe_number(probe, bench->settings.precision, bench->arena);
        series->points[series->n_points++] = (struct lull_series_point){
            (double)(job->count * sizeof(double)), number.value, number.low, number.high};
    }
    return LULL_OK;
}

const struct lull_benchmark lull_bench_sweep = {
    .name = "sweep",
    .group = "sweep",
    .summary = "load bandwidth over the working set, for the curve",
    .plan = plan_sweep,
    .finish = finish_sweep,
};
