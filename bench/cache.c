/* How fast the cache simulator is, on the caches of an Intel Haswell core:
 *
 *     bench_cache stencil|stream|random
 *
 * Prints accesses per second of processor time: of a five-point stencil on 4000 x 2000 points, a
 * stream of reads, and reads and writes anywhere in 128 MiB. */
#include "model/cache.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BATCH = 4096, COLUMNS = 4000, ROWS = 2000, BATCHES = 8000 };

struct work {
    struct lull_cache *cache;
    lull_cache_access batch[BATCH];
    size_t count;
    uint64_t accesses;
    double seconds; /* in the simulator alone */
};

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void add(struct work *work, lull_cache_access access)
{
    work->batch[work->count++] = access;
    if (work->count < BATCH)
        return;
    double began = processor_time();
    lull_cache_run(work->cache, 0, work->batch, work->count);
    work->seconds += processor_time() - began;
    work->accesses += work->count;
    work->count = 0;
}

static void run_stencil(struct work *work)
{
    for (uint64_t j = 1; j < ROWS - 1; j++)
        for (uint64_t i = 1; i < COLUMNS - 1; i++) {
            uint64_t at = 8 * (j * COLUMNS + i);
            add(work, lull_cache_read(at - 8));
            add(work, lull_cache_read(at + 8));
            add(work, lull_cache_read(at - 8 * COLUMNS));
            add(work, lull_cache_read(at + 8 * COLUMNS));
            add(work, lull_cache_write((UINT64_C(1) << 40) + at));
        }
}

static void run_stream(struct work *work)
{
    for (uint64_t i = 0; i < (uint64_t)BATCHES * BATCH; i++)
        add(work, lull_cache_read(8 * i));
}

static void run_random(struct work *work)
{
    uint64_t state = 1;
    for (uint64_t i = 0; i < (uint64_t)BATCHES * BATCH; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t at = (state >> 33) % (UINT64_C(1) << 27) & ~(uint64_t)7;
        add(work, state >> 63 ? lull_cache_read(at) : lull_cache_write(at));
    }
}

int main(int argc, char **argv)
{
    static struct work work;
    const struct lull_cache_spec spec = {
        .levels = {{32768, 8, LULL_CACHE_LRU, LULL_CACHE_NORMAL, 1},
                   {262144, 8, LULL_CACHE_LRU, LULL_CACHE_NORMAL, 1},
                   {9437184, 16, LULL_CACHE_LRU, LULL_CACHE_INCLUSIVE, 1}},
        .n_levels = 3,
        .line_bytes = 64,
        .cores = 1};
    const char *what = argc == 2 ? argv[1] : "";
    if (lull_cache_create(&spec, &work.cache, NULL) != LULL_OK)
        return 1;
    if (strcmp(what, "stencil") == 0)
        run_stencil(&work);
    else if (strcmp(what, "stream") == 0)
        run_stream(&work);
    else if (strcmp(what, "random") == 0)
        run_random(&work);
    else
        return 2;
    printf("%.0f\n", (double)work.accesses / work.seconds);
    lull_cache_free(work.cache);
    return 0;
}
