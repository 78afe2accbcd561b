/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/critical_path.h"

#include "base/arena.h"
#include "base/hash.h"
#include "replay/ideal/ideal.h"

#include <string.h>

unsigned lull_critical_site_of(const struct lull_critical_parts *parts, const char *name,
                               const char *site)
{
    unsigned s = 1;
    while (s < parts->n_sites &&
           (strcmp(parts->sites[s]->name, name) != 0 || strcmp(parts->sites[s]->site, site) != 0))
        s++;
    return s;
}

static void find_sites(struct lull_critical_parts *parts, const struct lull_trace *trace,
                       struct lull_arena *arena)
{
    uint32_t *site_of = lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *site_of);
    parts->sites = lull_arena_zero(arena, LULL_IDEAL_SITES, sizeof *parts->sites);
    parts->n_sites = 1;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        if (region->paradigm != LULL_PARADIGM_MPI)
            continue;
        const unsigned site = lull_critical_site_of(parts, region->name, region->site);
        if (site == parts->n_sites && site < LULL_IDEAL_SITES)
            parts->sites[parts->n_sites++] = region;
        site_of[r] = site < parts->n_sites ? site : 0;
    }
    parts->site_of = site_of;
}

const struct lull_critical_parts *lull_critical_parts_of(const struct lull_trace *trace,
                                                         struct lull_arena *arena)
{
    struct lull_critical_parts *parts = lull_arena_zero(arena, 1, sizeof *parts);
    uint32_t *part_of = lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *part_of);
    struct lull_hash by_name = {0};
    parts->names = lull_arena_zero(arena, LULL_IDEAL_PARTS, sizeof *parts->names);
    parts->names[0] = "(no region)";
    parts->n_parts = 1;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        const bool is_user = region->user && region->paradigm != LULL_PARADIGM_MPI;
        if (!is_user && region->role != LULL_ROLE_PARALLEL)
            continue;
        bool is_new;
        const bool fits = parts->n_parts < LULL_IDEAL_PARTS - 1;
        const uint64_t *part = lull_hash_add(&by_name, region->name, strlen(region->name),
                                             fits ? parts->n_parts : LULL_IDEAL_PARTS - 1, &is_new);
        part_of[r] = part ? (uint32_t)*part : 0;
        if (part && is_new && fits)
            parts->names[parts->n_parts++] = region->name;
        else if (part && is_new)
            parts->left_out++;
    }
    lull_hash_free(&by_name);
    if (parts->left_out > 0)
        parts->names[parts->n_parts++] = "(other regions)";
    parts->part_of = part_of;
    find_sites(parts, trace, arena);
    return parts;
}

unsigned lull_critical_part_of(const struct lull_critical_parts *parts, const char *name)
{
    unsigned part = 0;
    while (part < parts->n_parts && strcmp(parts->names[part], name) != 0)
        part++;
    return part;
}
