/* SPDX-License-Identifier: BSD-3-Clause */
/* An arena consists of chunks that double in size up to 32 MiB; larger requests get a chunk of
 * their own. Big chunks ask for large pages, because what is in them is often touched here and
 * there. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ALIGNMENT = 16,
    PAGE = 4096,
    FIRST_CHUNK = 4096,
    LARGEST_CHUNK = 32 << 20,
    PAGED_CHUNK = 4 << 20
};

struct chunk {
    struct chunk *next;
    size_t size; /* of data */
    _Alignas(ALIGNMENT) unsigned char data[];
};

struct lull_arena {
    struct chunk *chunks; /* the first is the one being filled */
    size_t filled;        /* of the first */
    size_t next_size;
    size_t used;
    void (*out_of_memory)(void);
};

struct lull_arena *lull_arena_create(void (*out_of_memory)(void))
{
    if (!out_of_memory)
        out_of_memory = abort;
    struct lull_arena *arena = calloc(1, sizeof *arena);
    if (!arena) {
        out_of_memory();
        abort();
    }
    arena->next_size = FIRST_CHUNK;
    arena->out_of_memory = out_of_memory;
    return arena;
}

void lull_arena_destroy(struct lull_arena *arena)
{
    if (!arena)
        return;
    for (struct chunk *chunk = arena->chunks; chunk;) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(arena);
}

static struct chunk *new_chunk(size_t size)
{
    /* calloc: fresh pages from the system are clear already and stay untouched until used. */
    struct chunk *chunk = calloc(1, sizeof *chunk + size);
    if (!chunk)
        return NULL;
    chunk->size = size;
    if (size >= PAGED_CHUNK) {
        size_t skipped = PAGE - (uintptr_t)chunk % PAGE;
        madvise((unsigned char *)chunk + skipped, (size - skipped) / PAGE * PAGE, MADV_HUGEPAGE);
    }
    return chunk;
}

/* Cleared memory or NULL. */
static void *take(struct lull_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (arena->chunks && arena->chunks->size - arena->filled >= size) {
        void *memory = arena->chunks->data + arena->filled;
        arena->filled += size;
        arena->used += size;
        return memory;
    }
    if (size > LARGEST_CHUNK / 4) { /* its own chunk, behind the one being filled */
        struct chunk *chunk = new_chunk(size);
        if (!chunk)
            return NULL;
        if (arena->chunks) {
            chunk->next = arena->chunks->next;
            arena->chunks->next = chunk;
        } else {
            arena->chunks = chunk;
            arena->filled = size;
        }
        arena->used += size;
        return chunk->data;
    }
    size_t chunk_size = arena->next_size > size ? arena->next_size : size;
    struct chunk *chunk = new_chunk(chunk_size);
    if (!chunk)
        return NULL;
    if (arena->next_size < LARGEST_CHUNK)
        arena->next_size *= 2;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->filled = size;
    arena->used += size;
    return chunk->data;
}

void *lull_arena_alloc(struct lull_arena *arena, size_t size)
{
    void *memory = take(arena, size);
    if (!memory) {
        arena->out_of_memory();
        abort();
    }
    return memory;
}

void *lull_arena_zero(struct lull_arena *arena, size_t count, size_t size)
{
    void *memory = lull_arena_try(arena, count, size);
    if (!memory) {
        arena->out_of_memory();
        abort();
    }
    return memory;
}

void *lull_arena_try(struct lull_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return take(arena, bytes ? bytes : 1);
}

char *lull_arena_strndup(struct lull_arena *arena, const char *text, size_t length)
{
    char *copy = lull_arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *lull_arena_strdup(struct lull_arena *arena, const char *text)
{
    return lull_arena_strndup(arena, text, strlen(text));
}

char *lull_arena_printf(struct lull_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return lull_arena_strdup(arena, format);
    char *text = lull_arena_alloc(arena, (size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void *lull_arena_grow(struct lull_arena *arena, void *array, size_t *capacity, size_t need,
                      size_t element_size)
{
    if (need <= *capacity)
        return array;
    size_t grown = *capacity ? *capacity * 2 : 8;
    if (grown < need)
        grown = need;
    void *larger = lull_arena_zero(arena, grown, element_size);
    if (*capacity)
        memcpy(larger, array, *capacity * element_size);
    *capacity = grown;
    return larger;
}

void lull_arena_join(struct lull_arena *arena, struct lull_arena *other)
{
    struct chunk **last = &other->chunks;
    while (*last)
        last = &(*last)->next;
    if (arena->chunks) { /* the chunk that is being filled stays the first */
        *last = arena->chunks->next;
        arena->chunks->next = other->chunks;
    } else {
        arena->chunks = other->chunks;
        arena->filled = other->filled;
    }
    arena->used += other->used;
    free(other);
}

size_t lull_arena_used(const struct lull_arena *arena)
{
    return arena->used;
}
