/* Starts likwid-bench so that its loop and one of lull's take turns (likwid_turns.c), over the
 * working set that lull bench uses for a level of the memory hierarchy.
 *
 * usage: bench_likwid LEVEL KERNEL WIDTH LIKWID_KERNEL     say: L2 triad avx512 triad_avx512_fma
 *
 * Prints what likwid_turns.c says. Status 2: this machine has no such level. */
#include "likwid.h"

#include "bench/memory/memory.h"
#include "bench/memory/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of one turn: what streams read and write, 50 us from a first-level cache; and what likwid's loops
 * of arithmetic read, which do 30 flops with each element. */
#define STREAM_BYTES  (UINT64_C(16) << 20)
#define COMPUTE_BYTES (UINT64_C(2) << 20)

static int complain(const char *what)
{
    fprintf(stderr, "bench_likwid: %s\n", what);
    return EXIT_FAILURE;
}

/* Bytes; 0: there is no such level. */
static uint64_t working_set(const char *level)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology;
    struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS];
    size_t count = 0;
    uint64_t bytes = 0;
    if (lull_topology_open(arena, &topology, NULL) == LULL_OK) {
        count = lull_bench_find_levels(topology, 1, lull_bench_memory_free() / 4, arena, levels);
        lull_topology_close(topology);
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(levels[i].name, level) == 0 && !levels[i].not_there)
            bytes = levels[i].bytes;
    lull_arena_destroy(arena);
    return bytes;
}

/* What a job of that size has in its arrays: whole steps. */
static uint64_t whole_steps(uint64_t bytes, const struct lull_bench_kernel *kernel,
                            enum lull_simd simd)
{
    struct lull_bench bench = {.arena = lull_arena_create(NULL)};
    uint64_t whole = bytes / LULL_KERNEL_STEP * LULL_KERNEL_STEP;
    if (kernel->arrays &&
        lull_bench_memory_open(1, bytes, bench.arena, &bench.memory, NULL) == LULL_OK) {
        struct lull_stream_job *job = lull_stream_job_create(&bench, kernel, simd, 1, bytes);
        whole = job->count * sizeof(double) * kernel->arrays;
        lull_bench_memory_close(bench.memory);
    }
    lull_arena_destroy(bench.arena);
    return whole;
}

/* The library lies beside this program. */
static bool preload(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof LULL_LIKWID_TURNS);
    if (length < 0)
        return false;
    memcpy(path + length, LULL_LIKWID_TURNS, sizeof LULL_LIKWID_TURNS);
    return setenv("LD_PRELOAD", path, 1) == 0;
}

int main(int argc, char **argv)
{
    const struct lull_bench_kernel *kernel;
    enum lull_simd simd;
    if (argc != 5 || !lull_likwid_find(argv[2], argv[3], &kernel, &simd))
        return complain("usage: bench_likwid LEVEL KERNEL WIDTH LIKWID_KERNEL");
    unsigned long long bytes = working_set(argv[1]);
    if (bytes == 0)
        return 2;
    bytes = whole_steps(bytes, kernel, simd);
    unsigned long long wanted = kernel->arrays ? STREAM_BYTES : COMPUTE_BYTES;
    unsigned long long passes = wanted > bytes ? wanted / bytes : 1;
    char match[128], group[64], iterations[32];
    snprintf(match, sizeof match, "%s %s %llu %llu", argv[2], argv[3], bytes, passes);
    snprintf(group, sizeof group, "S0:%lluB:1", bytes);
    snprintf(iterations, sizeof iterations, "%llu", passes);
    if (setenv(LULL_LIKWID_MATCH, match, 1) != 0 || !preload())
        return complain("cannot tell likwid-bench what to load");
    execlp("likwid-bench", "likwid-bench", "-t", argv[4], "-w", group, "-i", iterations, NULL);
    return complain("likwid-bench cannot be started");
}
