#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 128 }; /* small arrays are many (one per location), so they begin small */

bool lull_array_enlarge(void *array, size_t *capacity, size_t need, size_t size)
{
    const size_t most = PTRDIFF_MAX / size;
    size_t larger = *capacity > 0 ? *capacity * 2 : FIRST_BYTES / size;
    if (larger > most)
        larger = most;
    if (larger < need)
        larger = need;
    if (need > most)
        return false;
    /* All pointers to objects look alike (POSIX), but only memcpy may write one of any type. */
    void *memory;
    memcpy(&memory, array, sizeof memory);
    void *fresh = realloc(memory, larger * size);
    if (!fresh)
        return false;
    memcpy(array, &fresh, sizeof fresh);
    *capacity = larger;
    return true;
}

void lull_array_insert(void *items, uint32_t *count, uint32_t most, uint32_t at, const void *item,
                       size_t size)
{
    if (at == most)
        return;
    const uint32_t moved = (*count < most ? (*count)++ : most - 1) - at;
    char *place = (char *)items + at * size;
    memmove(place + size, place, moved * size);
    memcpy(place, item, size);
}
