/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for arrays that are touched here and there: on large pages where they are big and the
 * system has such, since looking up small pages costs as much as the data. */
#ifndef LULL_SIM_ENGINE_LARGE_H
#define LULL_SIM_ENGINE_LARGE_H

#include <stddef.h>

/* Not cleared, aligned to 128 bytes; NULL: there is not enough. */
void *lull_large_alloc(size_t size);
void *lull_large_zero(size_t count, size_t size);
/* A larger array that begins with the old one, of old_size bytes, which is released; NULL: there is
 * not enough, and the old one is as it was. */
void *lull_large_grow(void *array, size_t old_size, size_t size);
/* `size`: as it was allocated or grown. NULL is allowed. */
void lull_large_free(void *array, size_t size);

/* Has the cache line fetched that is needed soon. Compilers take a function that does nothing but
 * prefetch for one without effect and drop the call: the empty statement keeps it. */
static inline void lull_fetch(const void *address)
{
    __builtin_prefetch(address, 1);
    __asm__ volatile("");
}

#endif
