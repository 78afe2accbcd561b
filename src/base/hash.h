/* SPDX-License-Identifier: BSD-3-Clause */
/* One hash table: byte strings to 64-bit values. It is made for tuples that get a small number each
 * (interning), for ids and for names:
 *
 *     struct lull_hash table = {0};
 *     uint64_t *index = lull_hash_add(&table, &key, sizeof key, count, &is_new);
 *     if (!index)
 *         return no memory;
 *     if (is_new)
 *         count++;
 *     ...
 *     lull_hash_free(&table);
 *
 * Keys are equal when their sizes and all of their bytes are; a struct as a key must have no
 * padding. Keys of different sizes may share a table. Entries stay in order of arrival, so that
 * going over them does not depend on the hash; they cannot be removed. Memory: about 40 bytes and
 * the key per entry. A table may be moved in memory. Several threads may look up at the same time,
 * but not while one adds. A table of zeros is empty, and allowed everywhere. */
#ifndef LULL_BASE_HASH_H
#define LULL_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_hash_entry {
    uint64_t value;
    uint64_t hash;
    size_t key, size; /* where the key begins in `keys`, and its bytes */
};

struct lull_hash {
    struct lull_hash_entry *entries; /* in order of arrival */
    size_t count, capacity;
    unsigned char *keys; /* copies, one behind the other, each with a NUL at its end */
    size_t keys_size, keys_capacity;
    uint32_t *slots; /* linear probing; entry + 1, 0 is free */
    size_t n_slots;  /* a power of two */
};

/* The value of a key, to be read or changed; NULL if it is unknown. The address is good until the
 * next lull_hash_add. */
uint64_t *lull_hash_find(const struct lull_hash *table, const void *key, size_t size);

/* As lull_hash_find; an unknown key is copied into the table with `value` first. NULL: no memory,
 * or more than 2^31 entries; the table is as before. `ret_new` may be NULL. */
uint64_t *lull_hash_add(struct lull_hash *table, const void *key, size_t size, uint64_t value,
                        bool *ret_new);

/* The key of an entry, `table->entries[entry].size` bytes with a NUL behind them; good until the
 * next lull_hash_add. */
const void *lull_hash_key(const struct lull_hash *table, size_t entry);

/* Releases everything; the table is empty then. */
void lull_hash_free(struct lull_hash *table);

#endif
