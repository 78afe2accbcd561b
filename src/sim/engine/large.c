#include "sim/engine/large.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINES = 128, LARGE_PAGE = 2 << 20 };

void *lull_large_alloc(size_t size)
{
    void *memory = NULL;
    if (size < LARGE_PAGE)
        return posix_memalign(&memory, LINES, size ? size : 1) == 0 ? memory : NULL;
    if (posix_memalign(&memory, LARGE_PAGE, size) != 0)
        return NULL;
    madvise(memory, size, MADV_HUGEPAGE); /* where it is refused, small pages do as well */
    return memory;
}

void *lull_large_zero(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *memory = lull_large_alloc(bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

void *lull_large_grow(void *array, size_t used, size_t size)
{
    void *larger = lull_large_alloc(size);
    if (!larger)
        return NULL;
    if (used)
        memcpy(larger, array, used);
    free(array);
    return larger;
}
