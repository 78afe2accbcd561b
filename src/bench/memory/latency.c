/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/memory/latency.h"

#include "bench/benchmark.h"
#include "bench/kernel.h"
#include "bench/memory/memory.h"
#include "bench/memory/stream.h"

#include <string.h>

/* ==== latency ================================================================================= */

#define LINE       64
#define MOST_BYTES ((uint64_t)1 << 30) /* that a larger multiple of the caches may take */
#define MULTIPLIER UINT64_C(6364136223846793005)
#define INCREMENT  UINT64_C(1442695040888963407)

struct latency_job {
    const struct lull_bench_kernel *kernel;
    struct lull_bench_memory *memory;
    size_t region;
    uint64_t end; /* of the cycle in the region */
    char *cycle;  /* in a region of its own: pointers are denormal numbers to the other kernels */
    size_t lines; /* a power of two */
    bool own;     /* the level belongs to one core */
    void *at;     /* NULL before the first visit */
};

void lull_latency_make_cycle(void *memory, size_t lines)
{
    for (size_t i = 0; i < lines; i++) {
        size_t next = (size_t)(i * MULTIPLIER + INCREMENT) & (lines - 1);
        *(void **)(void *)((char *)memory + i * LINE) = (char *)memory + next * LINE;
    }
}

static void chase_cycle(void *context, unsigned thread, uint64_t repetitions)
{
    struct latency_job *job = context;
    (void)thread;
    job->at = job->kernel->chase(job->at, repetitions);
}

static void prepare_cycle(void *context, unsigned thread)
{
    struct latency_job *job = context;
    if (!job->at) {
        lull_bench_memory_touch(job->memory, job->region, job->end);
        lull_latency_make_cycle(job->cycle, job->lines);
        job->at = job->cycle;
    }
    if (job->lines < 1 << 17) /* through it once where that takes no time */
        chase_cycle(context, thread, job->lines / job->kernel->chase_loads + 1);
}

static lull_status visit_latency(struct lull_bench *bench, const struct lull_task *task,
                                 double seconds, struct lull_error *err)
{
    const struct lull_timing timing = {.body = chase_cycle,
                                       .prepare = prepare_cycle,
                                       .context = task->data,
                                       .threads = 1,
                                       .seconds = seconds,
                                       .clock = ((const struct latency_job *)task->data)->own};
    return lull_bench_time(bench, task, &timing, err);
}

static size_t power_of_two(uint64_t most)
{
    size_t lines = 64;
    while (2 * lines <= most)
        lines *= 2;
    return lines;
}

/* The bytes of a level's working set. For memory it is larger than for bandwidth, where that is
 * cheap, because the part of it that the caches still hold is met at random. */
static uint64_t bytes_for(const struct lull_bench *bench, const struct lull_bench_level *level,
                          bool is_memory)
{
    uint64_t more = 4 * level->bytes < MOST_BYTES ? 4 * level->bytes : MOST_BYTES;
    if (bench->memory_limit && more > bench->memory_limit)
        more = bench->memory_limit;
    return is_memory && more > level->bytes ? more : level->bytes;
}

static lull_status latency_plan(const struct lull_benchmark *self, struct lull_bench *bench,
                                struct lull_error *err)
{
    (void)err;
    struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS];
    size_t count =
        lull_bench_find_levels(bench->topology, 1, bench->memory_limit, bench->arena, levels);
    size_t region = bench->topology->n_cores;
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = lull_bench_text(bench, "%s.latency.1", levels[i].name);
        if (levels[i].not_there) {
            lull_bench_skip(bench, "%s: %s", name, levels[i].not_there);
            continue;
        }
        struct latency_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
        uint64_t bytes = bytes_for(bench, &levels[i], i + 1 == count);
        size_t lines = power_of_two(bytes / LINE);
        char *start = lull_bench_memory_region(bench->memory, region);
        *job = (struct latency_job){self->kernel, bench->memory, region,        used + lines * LINE,
                                    start + used, lines,         levels[i].own, NULL};
        used = job->end;
        const struct lull_probe probe = {.name = name,
                                         .unit = "s",
                                         .scale = 1.0 / self->kernel->chase_loads,
                                         .note = levels[i].note};
        const struct lull_task task = {.name = name,
                                       .visit = visit_latency,
                                       .data = job,
                                       .first_probe = lull_bench_probe(bench, &probe),
                                       .n_probes = 1};
        lull_bench_task(bench, &task);
    }
    return LULL_OK;
}

/* ==== chase =================================================================================== */

/* Loads that wait for each other: the address of each is the result of the one before it. */

enum { LOADS = 16 };

static void *follow_pointers(void *from, uint64_t repetitions)
{
#if defined(__x86_64__)
#define FOUR(text) text text text text
    if (repetitions > 0)
        __asm__ volatile(".p2align 6\n\t"
                         "1:\n\t" FOUR(FOUR("mov (%[at]), %[at]\n\t")) "dec %[n]\n\t"
                                                                       "jnz 1b\n\t"
                         : [at] "+&r"(from), [n] "+&r"(repetitions)
                         :
                         : "memory", "cc");
    return from;
#else
    for (uint64_t i = 0; i < LOADS * repetitions; i++)
        from = *(void *volatile *)from;
    return from;
#endif
}

const struct lull_bench_kernel lull_kernel_chase = {
    .name = "latency", .formula = "p = *p", .chase = follow_pointers, .chase_loads = LOADS};

const struct lull_benchmark lull_bench_latency = {
    .name = "latency",
    .group = "latency",
    .summary = "time of a load whose address is the result of the one before it",
    .plan = latency_plan,
    .kernel = &lull_kernel_chase,
};
