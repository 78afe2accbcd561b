/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/memory/stream.h"

#include "base/text.h"
#include "bench/memory/memory.h"

#include <string.h>

/* ==== levels ================================================================================== */

/* Working sets that lie in one level of the memory hierarchy. */

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum {
    TIMES_BELOW = 4, /* a shared cache's working set over the cache below it, if it has the room */
    TIMES_LAST = 4,  /* memory's over the last-level caches */
    LEAST_MEMORY = 64,  /* MiB, all threads together */
    BLIND_MEMORY = 1024 /* MiB, where no cache is known */
};

/* How many of the first `threads` cores share one cache of the last level with core 0. Caches below
 * it are taken to be shared as the numbers of their cores say. */
static unsigned sharers(const struct lull_topology *topology,
                        const struct lull_machine_cache *cache, unsigned threads)
{
    bool is_last = cache == &topology->caches[topology->n_caches - 1];
    unsigned most = 0;
    for (size_t i = 0; is_last && i < threads; i++) {
        unsigned same = 0;
        for (size_t k = 0; k < threads; k++)
            same += topology->cores[k].cache == topology->cores[i].cache;
        most = same > most ? same : most;
    }
    if (!is_last)
        most = threads < cache->shared_cores ? threads : cache->shared_cores;
    return most ? most : 1;
}

static unsigned last_level_caches(const struct lull_topology *topology, unsigned threads)
{
    unsigned count = 0;
    for (size_t i = 0; i < threads; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= topology->cores[k].cache == topology->cores[i].cache;
        count += !seen;
    }
    return count;
}

static struct lull_bench_level cache_level(const struct lull_topology *topology, size_t index,
                                           unsigned threads, uint64_t limit,
                                           struct lull_arena *arena)
{
    const struct lull_machine_cache *cache = &topology->caches[index];
    uint64_t below = index ? topology->caches[index - 1].bytes : 0;
    uint64_t share = cache->bytes / sharers(topology, cache, threads), wanted = share / 2;
    bool alone = cache->shared_cores == 1; /* 0: unknown */
    if (below && !alone && TIMES_BELOW * below < wanted)
        wanted = TIMES_BELOW * below;
    const bool is_limited = limit && limit < wanted;
    wanted = is_limited ? limit : wanted;
    struct lull_bench_level level = {
        .name = lull_arena_printf(arena, "L%u", cache->level), .bytes = wanted, .own = alone};
    if (wanted < below + below / 2) {
        char have[32], have_below[32];
        level.not_there = lull_arena_printf(
            arena,
            is_limited ? "%s of memory to be had are too little beside the level below it, %s"
                       : "a core's share, %s, is hardly larger than the level below it, %s",
            lull_format_size(is_limited ? limit : share, have, sizeof have),
            lull_format_size(below, have_below, sizeof have_below));
    }
    return level;
}

static struct lull_bench_level memory_level(const struct lull_topology *topology, unsigned threads,
                                            uint64_t limit, struct lull_arena *arena)
{
    struct lull_bench_level level = {.name = "memory"};
    uint64_t cached = 0, total = BLIND_MEMORY * MIB;
    if (topology->n_caches) {
        cached =
            topology->caches[topology->n_caches - 1].bytes * last_level_caches(topology, threads);
        total = TIMES_LAST * cached;
        total = total < LEAST_MEMORY * MIB ? LEAST_MEMORY * MIB : total;
    } else {
        level.note = "cache sizes are not known, so the caches may take part";
    }
    if (limit && total > limit) {
        char text[32];
        total = limit;
        level.note = lull_arena_printf(arena, "working set limited to %s by the memory to be had",
                                       lull_format_size(limit, text, sizeof text));
        if (total < 2 * cached)
            level.not_there =
                lull_arena_printf(arena, "%s of memory to be had are too little beside the caches",
                                  lull_format_size(limit, text, sizeof text));
    }
    level.bytes = total / threads;
    return level;
}

size_t lull_bench_find_levels(const struct lull_topology *topology, unsigned threads,
                              uint64_t memory_limit, struct lull_arena *arena,
                              struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS])
{
    size_t count = 0;
    for (size_t i = 0; i < topology->n_caches && count + 1 < LULL_BENCH_MOST_LEVELS; i++)
        levels[count++] = cache_level(topology, i, threads, memory_limit, arena);
    levels[count++] = memory_level(topology, threads, memory_limit, arena);
    return count;
}

/* ==== stream ================================================================================== */

#define STREAM_CHUNK_BYTES \
    ((size_t)256 << 10) /* of all arrays; a repetition on large working sets */
#define STREAM_WARM_BYTES \
    ((uint64_t)64 << 20) /* working sets up to this are run through before timing \
                          */
#define STREAM_ALIAS_BYTES 4096
#define STREAM_LINE_BYTES  64
#define STREAM_SPOT_BYTES  ((size_t)2 << 20) /* spots begin on huge pages of their own */
#define MOST_SPOTS         16

/* Where a thread stands in its arrays; on a line of its own. */
struct lull_stream_place {
    double *arrays[4];
    size_t next;
    double out[LULL_KERNEL_OUT];
    char padding[STREAM_LINE_BYTES];
};

static size_t round_size_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Bytes from the begin of one array to that of the next: whole pages and a share of one, so that
 * the arrays stand apart as far as they can modulo a page, and none is less than a quarter of a
 * page before the first one, which is stored to: a load waits for a store that seems to be to its
 * place. */
static size_t distance(const struct lull_stream_job *job)
{
    size_t arrays = job->kernel->arrays, skew = STREAM_ALIAS_BYTES / arrays;
    if (arrays > 4)
        skew = STREAM_ALIAS_BYTES / 4 * 3 / (arrays - 1);
    return round_size_up(job->count * sizeof(double), STREAM_ALIAS_BYTES) +
           skew / STREAM_LINE_BYTES * STREAM_LINE_BYTES % STREAM_ALIAS_BYTES;
}

static size_t used_bytes(const struct lull_stream_job *job)
{
    return job->kernel->arrays * distance(job);
}

static size_t stream_spot_bytes(const struct lull_stream_job *job)
{
    return round_size_up(used_bytes(job), STREAM_SPOT_BYTES);
}

static void move_streams_to_spot(struct lull_stream_job *job, unsigned spot)
{
    for (unsigned i = 0; i < job->threads; i++)
        for (unsigned k = 0; k < 4; k++)
            job->places[i].arrays[k] =
                (double *)(void *)((char *)lull_bench_memory_region(job->memory, i) +
                                   spot * stream_spot_bytes(job) +
                                   (k < job->kernel->arrays ? k : 0) * distance(job));
}

struct lull_stream_job *lull_stream_job_create(struct lull_bench *bench,
                                               const struct lull_bench_kernel *kernel,
                                               enum lull_simd simd, unsigned threads,
                                               uint64_t bytes)
{
    struct lull_stream_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    job->kernel = kernel;
    job->simd = simd;
    job->memory = bench->memory;
    job->threads = threads;
    size_t each = sizeof(double) * kernel->arrays;
    job->count = bytes / each / LULL_KERNEL_STEP * LULL_KERNEL_STEP;
    job->count = job->count ? job->count : LULL_KERNEL_STEP;
    job->chunk = STREAM_CHUNK_BYTES / each / LULL_KERNEL_STEP * LULL_KERNEL_STEP;
    if (job->count < 2 * job->chunk)
        job->chunk = job->count;
    job->count = job->count / job->chunk * job->chunk;
    job->places = lull_arena_zero(bench->arena, threads, sizeof *job->places);
    job->n_spots = 1;
    move_streams_to_spot(job, 0);
    return job;
}

double lull_stream_job_bytes(const struct lull_stream_job *job)
{
    return (double)(job->kernel->loads + job->kernel->stores) * sizeof(double) *
           (double)job->chunk * job->threads;
}

double *const *lull_stream_job_arrays(const struct lull_stream_job *job, unsigned thread)
{
    return job->places[thread].arrays;
}

void lull_stream_job_run(void *context, unsigned thread, uint64_t repetitions)
{
    const struct lull_stream_job *job = context;
    struct lull_stream_place *place = &job->places[thread];
    lull_stream_code *code = job->kernel->stream[job->simd];
    for (uint64_t i = 0; i < repetitions; i++) {
        size_t at = place->next;
        code(place->arrays[0] + at, place->arrays[1] + at, place->arrays[2] + at,
             place->arrays[3] + at, job->chunk, place->out);
        place->next = at + job->chunk < job->count ? at + job->chunk : 0;
    }
}

static void prepare_streams(void *context, unsigned thread)
{
    const struct lull_stream_job *job = context;
    lull_bench_memory_touch(job->memory, thread,
                            (job->n_spots - 1) * stream_spot_bytes(job) + used_bytes(job));
    if (used_bytes(job) <= STREAM_WARM_BYTES)
        lull_stream_job_run(context, thread, 2 * job->count / job->chunk);
}

lull_status lull_stream_visit(struct lull_bench *bench, const struct lull_task *task,
                              double seconds, struct lull_error *err)
{
    struct lull_stream_job *job = task->data;
    const struct lull_timing timing = {.body = lull_stream_job_run,
                                       .prepare = prepare_streams,
                                       .context = job,
                                       .threads = job->threads,
                                       .seconds = seconds,
                                       .clock = job->clock};
    move_streams_to_spot(job, job->visits++ % job->n_spots);
    return lull_bench_time(bench, task, &timing, err);
}

/* ---- the benchmarks of the kernels ----------------------------------------------------------- */

/* As many places as the memory that may be used has room for. */
static unsigned count_spots(const struct lull_stream_job *job, uint64_t memory_limit)
{
    uint64_t room = memory_limit / job->threads / stream_spot_bytes(job);
    return memory_limit == 0 || room > MOST_SPOTS ? MOST_SPOTS : room > 1 ? (unsigned)room : 1;
}

/* Plans a kernel at one level. In the innermost level a store finds its line, and nothing is
 * allocated. */
static void plan_stream(const struct lull_benchmark *self, struct lull_bench *bench,
                        const struct lull_bench_level *level, unsigned threads, bool innermost)
{
    const struct lull_bench_kernel *kernel = self->kernel;
    const char *name = lull_bench_text(bench, "%s.%s.%u", level->name, kernel->name, threads);
    if (level->not_there) {
        lull_bench_skip(bench, "%s: %s", name, level->not_there);
        return;
    }
    struct lull_stream_job *job =
        lull_stream_job_create(bench, kernel, lull_kernel_widest(kernel), threads, level->bytes);
    job->clock = level->own;
    if (level->own)
        job->n_spots = count_spots(job, bench->memory_limit);
    double explicit_lines = kernel->loads + kernel->stores;
    const struct lull_probe probe = {.name = name,
                                     .unit = "B/s",
                                     .amount = lull_stream_job_bytes(job),
                                     .write_allocate =
                                         kernel->allocates && !innermost
                                             ? (explicit_lines + kernel->allocates) / explicit_lines
                                             : 0,
                                     .note = level->note};
    const struct lull_task task = {.name = name,
                                   .visit = lull_stream_visit,
                                   .data = job,
                                   .first_probe = lull_bench_probe(bench, &probe),
                                   .n_probes = 1};
    lull_bench_task(bench, &task);
}

/* Whether the kernel's stores bypass the caches; then memory is its only level. */
static bool bypasses(const struct lull_bench_kernel *kernel)
{
    return kernel->loads == 0 && kernel->allocates == 0;
}

/* Plans caches on one core and on all, and memory on every thread count that is worth it. */
lull_status lull_stream_plan(const struct lull_benchmark *self, struct lull_bench *bench,
                             struct lull_error *err)
{
    (void)err;
    unsigned counts[64], all = (unsigned)bench->topology->n_cores;
    size_t n_counts = lull_bench_thread_counts(bench->topology, counts, 64);
    for (size_t i = 0; i < n_counts; i++) {
        struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS];
        size_t n_levels = lull_bench_find_levels(bench->topology, counts[i], bench->memory_limit,
                                                 bench->arena, levels);
        for (size_t k = 0; k < n_levels; k++) {
            bool is_memory = k + 1 == n_levels;
            if (is_memory || ((counts[i] == 1 || counts[i] == all) && !bypasses(self->kernel)))
                plan_stream(self, bench, &levels[k], counts[i], k == 0 && !is_memory);
        }
    }
    return LULL_OK;
}
