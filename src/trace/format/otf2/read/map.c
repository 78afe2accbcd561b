#include "trace/format/otf2/otf2.h"

#include <string.h>

/* Ids count as dense while the array is not much larger than a hash table would be. */
static bool is_dense(uint64_t largest, uint32_t count)
{
    return largest < UINT64_C(4096) + UINT64_C(4) * count;
}

static bool put_dense(struct lull_otf2_map *map, uint64_t id, uint32_t value)
{
    if (map->dense[id] != LULL_NONE)
        return false;
    map->dense[id] = value;
    return true;
}

static bool put_hashed(struct lull_otf2_map *map, uint64_t id, uint32_t value)
{
    uint64_t at = lull_otf2_hash(id) & map->slot_mask;
    while (map->slots[at].value != LULL_NONE) {
        if (map->slots[at].id == id)
            return false;
        at = (at + 1) & map->slot_mask;
    }
    map->slots[at] = (struct lull_otf2_slot){id, value};
    return true;
}

static void make_dense(struct lull_otf2_map *map, struct lull_arena *arena, uint64_t size)
{
    map->dense = lull_arena_alloc(arena, size * sizeof *map->dense);
    map->n_dense = size;
    for (uint64_t i = 0; i < size; i++)
        map->dense[i] = LULL_NONE;
}

static void make_hashed(struct lull_otf2_map *map, struct lull_arena *arena, uint32_t count)
{
    uint64_t size = 16;
    while (size < UINT64_C(2) * count)
        size *= 2;
    map->slots = lull_arena_alloc(arena, size * sizeof *map->slots);
    map->slot_mask = size - 1;
    for (uint64_t i = 0; i < size; i++)
        map->slots[i].value = LULL_NONE;
}

static uint64_t id_at(const void *ids, size_t stride, uint32_t i)
{
    uint64_t id;
    memcpy(&id, (const char *)ids + stride * i, sizeof id);
    return id;
}

uint32_t lull_otf2_map_build(struct lull_otf2_map *map, struct lull_arena *arena, const void *ids,
                             size_t stride, const uint32_t *values, uint32_t count)
{
    *map = (struct lull_otf2_map){0};
    if (count == 0)
        return 0;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; i++)
        if (id_at(ids, stride, i) > largest)
            largest = id_at(ids, stride, i);
    if (is_dense(largest, count))
        make_dense(map, arena, largest + 1);
    else
        make_hashed(map, arena, count);
    uint32_t repeated = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = values ? values[i] : i;
        if (value == LULL_NONE)
            continue;
        uint64_t id = id_at(ids, stride, i);
        bool fresh = map->dense ? put_dense(map, id, value) : put_hashed(map, id, value);
        repeated += !fresh;
    }
    return repeated;
}
