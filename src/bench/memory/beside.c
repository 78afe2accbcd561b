/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads from two levels at the same time: scalar products of an array in a cache or in memory with
 * an array in a nearer cache, which is run through again and again. Where the transfers of the two
 * overlap, they take as long as the slower one. Else they take as long as both one after the other
 * (half of a scalar product in each level), or longer where they hinder each other. */
#include "bench/memory/memory.h"
#include "bench/memory/stream.h"

enum { PAIR_ALIAS_BYTES = 4096, NEAR_SHARE = 2 /* of the nearer level's working set */, SPOTS = 8 };
#define PAIR_SPOT_BYTES  ((uint64_t)2 << 20)  /* spots begin on huge pages of their own */
#define PAIR_CHUNK_BYTES ((size_t)128 << 10)  /* of either array; a repetition on large ones */
#define PAIR_WARM_BYTES  ((uint64_t)64 << 20) /* arrays up to this are run through before timing */

extern const struct lull_bench_kernel lull_kernel_dot;

struct pair_job {
    lull_stream_code *code;
    struct lull_bench_memory *memory;
    double *far, *near;
    size_t n_far, n_near; /* elements; multiples of those of a repetition */
    size_t chunk;         /* elements of a repetition */
    size_t next_far, next_near;
    unsigned n_spots, visits; /* each visit uses the next spot, as streams do (memory/stream.h) */
    bool clock;
    double out[LULL_KERNEL_OUT];
};

static uint64_t pair_spot_bytes(const struct pair_job *job)
{
    uint64_t bytes = (job->n_far + job->n_near) * sizeof(double) + PAIR_ALIAS_BYTES;
    return (bytes + PAIR_SPOT_BYTES - 1) / PAIR_SPOT_BYTES * PAIR_SPOT_BYTES;
}

static void move_pair_to_spot(struct pair_job *job, unsigned spot)
{
    char *first = lull_bench_memory_region(job->memory, 0);
    job->far = (double *)(void *)(first + spot * pair_spot_bytes(job));
    job->near = job->far + job->n_far + PAIR_ALIAS_BYTES / 2 / sizeof(double);
    job->next_far = job->next_near = 0;
}

static void multiply_pair(void *context, unsigned thread, uint64_t repetitions)
{
    struct pair_job *job = context;
    (void)thread;
    for (uint64_t i = 0; i < repetitions; i++) {
        double *near = job->near + job->next_near;
        job->code(job->far + job->next_far, near, near, near, job->chunk, job->out);
        job->next_far = job->next_far + job->chunk < job->n_far ? job->next_far + job->chunk : 0;
        job->next_near =
            job->next_near + job->chunk < job->n_near ? job->next_near + job->chunk : 0;
    }
}

static void prepare_pair(void *context, unsigned thread)
{
    struct pair_job *job = context;
    lull_bench_memory_touch(job->memory, thread, job->n_spots * pair_spot_bytes(job));
    if (pair_spot_bytes(job) <= PAIR_WARM_BYTES)
        multiply_pair(context, thread, 2 * job->n_far / job->chunk);
}

static lull_status visit_pair(struct lull_bench *bench, const struct lull_task *task,
                              double seconds, struct lull_error *err)
{
    struct pair_job *job = task->data;
    move_pair_to_spot(job, job->visits++ % job->n_spots);
    const struct lull_timing timing = {.body = multiply_pair,
                                       .prepare = prepare_pair,
                                       .context = job,
                                       .threads = 1,
                                       .seconds = seconds,
                                       .clock = job->clock};
    return lull_bench_time(bench, task, &timing, err);
}

/* Plans a pair of levels. The nearer array is so large that it stays where it is while the farther
 * one passes, and has left the cache before that by the time it comes again. */
static void plan_pair(struct lull_bench *bench, const struct lull_bench_level *near,
                      const struct lull_bench_level *far)
{
    const char *name =
        lull_bench_text(bench, "%s+%s.%s.1", far->name, near->name, lull_kernel_dot.name);
    const char *not_there = far->not_there ? far->not_there : near->not_there;
    if (not_there) {
        lull_bench_skip(bench, "%s: %s", name, not_there);
        return;
    }
    struct pair_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    job->code = lull_kernel_dot.stream[lull_kernel_widest(&lull_kernel_dot)];
    job->memory = bench->memory;
    job->clock = far->own;
    job->n_near = near->bytes / NEAR_SHARE / sizeof(double) / LULL_KERNEL_STEP * LULL_KERNEL_STEP;
    job->n_near = job->n_near ? job->n_near : LULL_KERNEL_STEP;
    job->chunk = PAIR_CHUNK_BYTES / sizeof(double);
    if (job->n_near < 2 * job->chunk)
        job->chunk = job->n_near;
    job->n_near = job->n_near / job->chunk * job->chunk;
    job->n_far = (far->bytes / sizeof(double) / job->n_near + 1) * job->n_near;
    bool room = !bench->memory_limit || SPOTS * pair_spot_bytes(job) <= bench->memory_limit;
    job->n_spots = far->own && room ? SPOTS : 1;
    const struct lull_probe probe = {
        .name = name, .unit = "B/s", .amount = 2.0 * (double)job->chunk * sizeof(double)};
    const struct lull_task task = {.name = name,
                                   .visit = visit_pair,
                                   .data = job,
                                   .first_probe = lull_bench_probe(bench, &probe),
                                   .n_probes = 1};
    lull_bench_task(bench, &task);
}

static lull_status plan_pairs(const struct lull_benchmark *self, struct lull_bench *bench,
                              struct lull_error *err)
{
    (void)self, (void)err;
    struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS];
    size_t count =
        lull_bench_find_levels(bench->topology, 1, bench->memory_limit, bench->arena, levels);
    for (size_t far = 1; far < count; far++)
        for (size_t near = 0; near < far; near++)
            plan_pair(bench, &levels[near], &levels[far]);
    return LULL_OK;
}

const struct lull_benchmark lull_bench_beside = {
    .name = "beside",
    .group = "bandwidth",
    .summary = "scalar product of an array in a cache or in memory with one in a cache before it",
    .plan = plan_pairs,
};
