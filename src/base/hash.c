/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/hash.h"

#include "base/array.h"
#include "base/mix.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16 };
static const size_t most_entries = (size_t)1 << 31;

/* Eight bytes at a time; the last step carries every bit of a word to every bit of the result. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t hash = size, word;
    for (; size >= sizeof word; size -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = lull_mix(hash, word);
    }
    word = 0;
    if (size > 0)
        memcpy(&word, bytes, size);
    return lull_scatter(hash ^ word);
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t *find_slot(const struct lull_hash *table, const void *key, size_t size,
                           uint64_t hash)
{
    for (size_t at = (size_t)hash & (table->n_slots - 1);; at = (at + 1) & (table->n_slots - 1)) {
        uint32_t slot = table->slots[at];
        if (slot == 0)
            return &table->slots[at];
        const struct lull_hash_entry *entry = &table->entries[slot - 1];
        if (entry->hash == hash && entry->size == size &&
            memcmp(table->keys + entry->key, key, size) == 0)
            return &table->slots[at];
    }
}

/* Twice the slots; at most three quarters of them are taken. */
static bool enlarge_slots(struct lull_hash *table)
{
    size_t n_slots = table->n_slots ? table->n_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    for (size_t e = 0; e < table->count; e++) {
        size_t at = (size_t)table->entries[e].hash & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)e + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->n_slots = n_slots;
    return true;
}

uint64_t *lull_hash_find(const struct lull_hash *table, const void *key, size_t size)
{
    if (table->n_slots == 0)
        return NULL;
    uint32_t slot = *find_slot(table, key, size, hash_bytes(key, size));
    return slot ? &table->entries[slot - 1].value : NULL;
}

uint64_t *lull_hash_add(struct lull_hash *table, const void *key, size_t size, uint64_t value,
                        bool *ret_new)
{
    if (table->count * 4 >= table->n_slots * 3 && !enlarge_slots(table))
        return NULL;
    uint64_t hash = hash_bytes(key, size);
    uint32_t *slot = find_slot(table, key, size, hash);
    if (ret_new)
        *ret_new = *slot == 0;
    if (*slot)
        return &table->entries[*slot - 1].value;
    if (table->count >= most_entries || size >= SIZE_MAX - table->keys_size ||
        !lull_array_reserve(&table->entries, &table->capacity, table->count + 1,
                            sizeof *table->entries) ||
        !lull_array_reserve(&table->keys, &table->keys_capacity, table->keys_size + size + 1, 1))
        return NULL;
    memcpy(table->keys + table->keys_size, key, size);
    table->keys[table->keys_size + size] = '\0';
    struct lull_hash_entry *entry = &table->entries[table->count++];
    *entry = (struct lull_hash_entry){value, hash, table->keys_size, size};
    table->keys_size += size + 1;
    *slot = (uint32_t)table->count;
    return &entry->value;
}

const void *lull_hash_key(const struct lull_hash *table, size_t entry)
{
    return table->keys + table->entries[entry].key;
}

void lull_hash_free(struct lull_hash *table)
{
    free(table->entries);
    free(table->keys);
    free(table->slots);
    *table = (struct lull_hash){0};
}
