/* SPDX-License-Identifier: BSD-3-Clause */
/* Arena: many allocations, one release. The owner of the arena owns everything in it.
 *
 * Not safe for concurrent use; give each thread its own. Memory is aligned to 16 bytes. */
#ifndef LULL_BASE_ARENA_H
#define LULL_BASE_ARENA_H

#include <stddef.h>

struct lull_arena;

/* Never returns NULL. When memory runs out inside any function of this header except
 * lull_arena_try, `out_of_memory` is called and must not return (NULL: abort()). */
struct lull_arena *lull_arena_create(void (*out_of_memory)(void));
void lull_arena_destroy(struct lull_arena *arena); /* NULL is allowed */

void *lull_arena_alloc(struct lull_arena *arena, size_t size); /* not cleared */
void *lull_arena_zero(struct lull_arena *arena, size_t count, size_t size);
char *lull_arena_strdup(struct lull_arena *arena, const char *text);
char *lull_arena_strndup(struct lull_arena *arena, const char *text, size_t length);
char *lull_arena_printf(struct lull_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For sizes that an input file dictates: cleared memory, or NULL when count * size overflows or
 * cannot be had. */
void *lull_arena_try(struct lull_arena *arena, size_t count, size_t size);

/* Grows an array in the arena: returns an array of at least `need` elements that begins with the
 * `*capacity` old ones (new ones cleared) and updates `*capacity`; the old array stays valid but
 * stale. */
void *lull_arena_grow(struct lull_arena *arena, void *array, size_t *capacity, size_t need,
                      size_t element_size);

/* Everything that lives in `other` lives in `arena` from now on; `other` is gone. So several threads,
 * each with an arena of its own, make one result. */
void lull_arena_join(struct lull_arena *arena, struct lull_arena *other);

/* Bytes handed out so far, for memory accounting in tests. */
size_t lull_arena_used(const struct lull_arena *arena);

#endif
