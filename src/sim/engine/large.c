/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/engine/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINES = 128, LARGE_PAGE = 2 << 20 };

static size_t whole_pages(size_t size)
{
    return (size + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);
}

static void *map(size_t size)
{
    size_t pages = whole_pages(size);
    if (pages < size || pages + LARGE_PAGE < pages)
        return NULL;
    char *memory = mmap(NULL, pages + LARGE_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)memory & (LARGE_PAGE - 1);
    if (before)
        munmap(memory, before);
    munmap(memory + before + pages, LARGE_PAGE - before);
    madvise(memory + before, pages, MADV_HUGEPAGE); /* where refused, small pages do as well */
    return memory + before;
}

void *lull_large_alloc(size_t size)
{
    void *memory = NULL;
    if (size >= LARGE_PAGE)
        return map(size);
    return posix_memalign(&memory, LINES, size ? size : 1) == 0 ? memory : NULL;
}

void *lull_large_zero(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *memory = lull_large_alloc(bytes);
    if (memory && bytes < LARGE_PAGE) /* what is mapped is cleared */
        memset(memory, 0, bytes);
    return memory;
}

void lull_large_free(void *array, size_t size)
{
    if (size < LARGE_PAGE)
        free(array);
    else if (array)
        munmap(array, whole_pages(size));
}

void *lull_large_grow(void *array, size_t old_size, size_t size)
{
    void *larger = lull_large_alloc(size);
    if (!larger || !array)
        return larger;
    if (old_size < LARGE_PAGE) {
        memcpy(larger, array, old_size);
        free(array);
        return larger;
    }
    /* Pages move as they are: nothing is copied, and only new ones must be cleared. */
    void *moved = mremap(array, whole_pages(old_size), whole_pages(size),
                         MREMAP_MAYMOVE | MREMAP_FIXED, larger);
    if (moved == MAP_FAILED) {
        lull_large_free(larger, size);
        return NULL;
    }
    madvise(moved, whole_pages(size), MADV_HUGEPAGE);
    return moved;
}
