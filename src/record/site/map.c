/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/site/map.h"

#include <sys/mman.h>

static struct rec_map_table *make_table(size_t capacity)
{
    struct rec_map_table *table = mmap(NULL, sizeof *table + capacity * sizeof *table->entries,
                                       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED)
        return NULL;
    table->mask = capacity - 1;
    return table;
}

static void put_entry(struct rec_map_table *table, uintptr_t key, uintptr_t value)
{
    size_t i = rec_map_hash(key);
    while (table->entries[i & table->mask].key != 0 && table->entries[i & table->mask].key != key)
        i++;
    struct rec_map_entry *entry = &table->entries[i & table->mask];
    __atomic_store_n(&entry->value, value, __ATOMIC_RELEASE);
    if (entry->key == 0)
        table->used++;
    __atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
}

bool rec_map_put(struct rec_map *map, uintptr_t key, uintptr_t value)
{
    struct rec_map_table *table = map->table;
    if (!table || table->used * 2 > table->mask) {
        enum { FIRST = 255 };
        struct rec_map_table *larger = make_table(table ? (table->mask + 1) * 2 : FIRST + 1);
        if (!larger)
            return false;
        for (size_t i = 0; table && i <= table->mask; i++)
            if (table->entries[i].key != 0)
                put_entry(larger, table->entries[i].key, table->entries[i].value);
        /* The old table stays, because another thread may be reading it. All old tables together
         * are as large as the new one. */
        __atomic_store_n(&map->table, larger, __ATOMIC_RELEASE);
        table = larger;
    }
    put_entry(table, key, value);
    return true;
}

void rec_map_clear(struct rec_map *map)
{
    struct rec_map_table *table = map->table;
    for (size_t i = 0; table && i <= table->mask; i++)
        __atomic_store_n(&table->entries[i].value, 0, __ATOMIC_RELEASE);
}
