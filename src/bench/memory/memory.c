/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/memory/memory.h"

#include "base/memory_limit.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT (UINT64_C(2) << 20)
/* So much address space is left for each region: the stack of the thread that uses it, and what that
 * allocates. */
#define LEFT_FREE (UINT64_C(16) << 20)

struct region {
    char *start; /* aligned */
    uint64_t touched;
};

struct lull_bench_memory {
    struct region *regions;
    size_t count;
    void *mapping;
    uint64_t mapped, most;
};

lull_status lull_bench_memory_open(size_t regions, uint64_t most, struct lull_arena *arena,
                                   struct lull_bench_memory **ret_memory, struct lull_error *err)
{
    struct lull_bench_memory *memory = lull_arena_zero(arena, 1, sizeof *memory);
    uint64_t each = (most + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const uint64_t left_free = regions * LEFT_FREE;
    memory->mapped = each * regions + ALIGNMENT;
    memory->mapping = mmap(NULL, memory->mapped + left_free, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory->mapping == MAP_FAILED)
        return lull_fail(err, LULL_ERR_MEMORY, "cannot reserve memory to measure with");
    munmap((char *)memory->mapping + memory->mapped, left_free);
    /* Without huge pages the time to look addresses up is measured with the caches. */
    madvise(memory->mapping, memory->mapped, MADV_HUGEPAGE);
    memory->regions = lull_arena_zero(arena, regions, sizeof *memory->regions);
    memory->count = regions;
    memory->most = each;
    uintptr_t start = (uintptr_t)memory->mapping;
    char *aligned = (char *)memory->mapping + (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;
    for (size_t i = 0; i < regions; i++)
        memory->regions[i].start = aligned + i * each;
    *ret_memory = memory;
    return LULL_OK;
}

void lull_bench_memory_close(struct lull_bench_memory *memory)
{
    if (memory)
        munmap(memory->mapping, memory->mapped);
}

void *lull_bench_memory_region(const struct lull_bench_memory *memory, size_t region)
{
    return memory->regions[region].start;
}

/* Ones, so that no sum overflows and nothing is denormal. */
void lull_bench_memory_touch(struct lull_bench_memory *memory, size_t region, uint64_t bytes)
{
    struct region *to = &memory->regions[region];
    bytes = bytes > memory->most ? memory->most : bytes;
    if (bytes <= to->touched)
        return;
    for (double *at = (double *)(void *)(to->start + to->touched / 8 * 8);
         at < (double *)(void *)(to->start + bytes); at++)
        *at = 1;
    to->touched = bytes;
}

/* Kilobytes of huge pages in our mapping, as the kernel lists them; -1: not to be had. */
static long huge_kilobytes(const struct lull_bench_memory *memory)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    char *line = NULL;
    size_t size = 0;
    long huge = -1;
    bool ours = false;
    uintptr_t begin = (uintptr_t)memory->mapping, end = begin + memory->mapped;
    while (file && getline(&line, &size, file) > 0) {
        unsigned long from, to;
        long value;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            ours = from < end && to > begin;
        else if (ours && sscanf(line, "AnonHugePages: %ld kB", &value) == 1)
            huge = (huge < 0 ? 0 : huge) + value;
    }
    free(line);
    if (file)
        fclose(file);
    return huge;
}

const char *lull_bench_memory_pages(const struct lull_bench_memory *memory,
                                    struct lull_arena *arena)
{
    uint64_t touched = 0;
    for (size_t i = 0; i < memory->count; i++)
        touched += memory->regions[i].touched;
    long huge = huge_kilobytes(memory);
    char page[32];
    lull_format_size((uint64_t)sysconf(_SC_PAGESIZE), page, sizeof page);
    if (huge < 0 || touched == 0)
        return NULL;
    double share = (double)huge * 1024 / (double)touched;
    if (share < 0.01)
        return lull_arena_printf(arena, "pages of %s", page);
    return share > 0.95 ? "transparent huge pages"
                        : lull_arena_printf(arena, "transparent huge pages for %.0f %%, else of %s",
                                            100 * share, page);
}

/* ---- what is free ---------------------------------------------------------------------------- */

static uint64_t system_free(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    if (kilobytes)
        return kilobytes * 1024;
    long pages = sysconf(_SC_AVPHYS_PAGES);
    return pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* The memory that the system has free, or less where the limits of control groups leave less. */
uint64_t lull_bench_memory_free(void)
{
    const uint64_t free_bytes = system_free(), left = lull_memory_limit_find("").left;
    return left < free_bytes ? left : free_bytes;
}
