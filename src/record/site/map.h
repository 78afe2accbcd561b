/* SPDX-License-Identifier: BSD-3-Clause */
/* A map from numbers that are not 0 (handles, addresses) to numbers. It is read without a lock, and
 * written under a lock of the caller's. Keys are never removed: MPI libraries use handles again, so
 * that a map has as many keys as there were handles at one time. */
#ifndef LULL_RECORD_SITE_MAP_H
#define LULL_RECORD_SITE_MAP_H

#include "base/mix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rec_map_entry {
    uintptr_t key; /* 0: free */
    uintptr_t value;
};

struct rec_map_table {
    size_t mask, used;
    struct rec_map_entry entries[];
};

struct rec_map {
    struct rec_map_table *table; /* NULL: empty */
};

static inline size_t rec_map_hash(uintptr_t key)
{
    return (size_t)(lull_spread(key) >> 24);
}

/* 0 when the key is not there. */
static inline uintptr_t rec_map_get(const struct rec_map *map, uintptr_t key)
{
    const struct rec_map_table *table = __atomic_load_n(&map->table, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!table, 0))
        return 0;
    const size_t hash = rec_map_hash(key), mask = table->mask;
    const struct rec_map_entry *first = &table->entries[hash & mask];
    if (__builtin_expect(__atomic_load_n(&first->key, __ATOMIC_ACQUIRE) == key, 1))
        return __atomic_load_n(&first->value, __ATOMIC_ACQUIRE);
    for (size_t i = hash;; i++) {
        const struct rec_map_entry *entry = &table->entries[i & mask];
        uintptr_t found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
        if (found == key)
            return __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);
        if (found == 0)
            return 0;
    }
}

/* Sets the value of a key. False when there is no memory. */
bool rec_map_put(struct rec_map *map, uintptr_t key, uintptr_t value);
/* Sets the values of all keys to 0. */
void rec_map_clear(struct rec_map *map);

#endif
