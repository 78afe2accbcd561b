#include "study/history/parts.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int lull_part_compare(const struct lull_part *a, const struct lull_part *b)
{
    int order = strcmp(a->region, b->region);
    if (order == 0)
        order = strcmp(a->site, b->site);
    return order ? order : (int)a->activity - (int)b->activity;
}

static int compare_parts_of_run(const void *left, const void *right)
{
    return lull_part_compare(left, right);
}

const struct lull_part *lull_parts_find(const struct lull_parts *parts,
                                        const struct lull_part *like)
{
    return parts->count ? bsearch(like, parts->parts, parts->count, sizeof(*parts->parts),
                                  compare_parts_of_run)
                        : NULL;
}

int64_t lull_parts_useful(const struct lull_parts *parts)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        sum += parts->parts[i].activity == LULL_USEFUL ? parts->parts[i].ns : 0;
    return sum;
}

/* "exchange (heat.c:120)", perhaps with its callers behind, is line 120 of heat.c. */
static void read_site(struct lull_part *part, struct lull_arena *arena)
{
    const char *end = strstr(part->site, LULL_SITE_CALLER);
    end = end ? end : part->site + strlen(part->site);
    const char *open = NULL, *colon = NULL;
    for (const char *at = part->site; at < end; at++) {
        open = *at == '(' ? at + 1 : open;
        colon = *at == ':' ? at : colon;
    }
    uint64_t line;
    if (!open || !colon || colon < open || end[-1] != ')' ||
        lull_parse_u64(colon + 1, (size_t)(end - 1 - (colon + 1)), &line) != LULL_OK)
        return;
    part->file = lull_arena_strndup(arena, open, (size_t)(colon - open));
    part->line = (uint32_t)line;
}

/* Functions have no site; the run knows where they are. */
static void find_place(struct lull_part *part, const struct lull_trace *trace,
                       struct lull_arena *arena)
{
    part->file = "";
    if (*part->site) {
        read_site(part, arena);
        return;
    }
    for (uint32_t r = 0; trace && *part->region && r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        if (!*region->site && *region->file && strcmp(region->name, part->region) == 0) {
            part->file = lull_arena_strdup(arena, region->file);
            part->line = region->line;
            return;
        }
    }
}

/* Names are copied: parts outlive the trace. */
static void add_part(struct lull_parts *parts, const struct lull_part *part,
                     struct lull_arena *arena)
{
    if (part->ns == 0)
        return;
    struct lull_part *copy = &parts->parts[parts->count++];
    *copy = *part;
    copy->region = lull_arena_strdup(arena, part->region);
    copy->site = lull_arena_strdup(arena, part->site);
}

/* What each region accounts for, which is taken away from `left`. */
static void add_parts_of_regions(const struct lull_breakdown *breakdown, struct lull_parts *parts,
                                 int64_t left[LULL_ACTIVITIES + 1], struct lull_arena *arena)
{
    for (uint32_t r = 0; r < breakdown->n_regions; r++) {
        const struct lull_region_breakdown *region = &breakdown->regions[r];
        struct lull_part part = {.region = region->name, .site = region->site};
        part.activity = LULL_USEFUL;
        part.ns = region->useful_ns;
        left[LULL_USEFUL] -= part.ns;
        add_part(parts, &part, arena);
        if (region->activity == LULL_USEFUL || region->activity >= LULL_ACTIVITIES)
            continue;
        part.activity = region->activity;
        part.ns = region->exclusive_ns - region->useful_ns;
        left[part.activity] -= part.ns;
        add_part(parts, &part, arena);
    }
}

void lull_parts_of_run(const struct lull_run *run, struct lull_arena *arena,
                       struct lull_parts *ret_parts)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    int64_t left[LULL_ACTIVITIES + 1] = {0};
    *ret_parts = (struct lull_parts){
        .parts = lull_arena_zero(arena, 2 * (size_t)breakdown->n_regions + LULL_ACTIVITIES + 1,
                                 sizeof(struct lull_part))};
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        for (int activity = 0; activity < LULL_ACTIVITIES; activity++)
            left[activity] += thread->times.ns[activity][0] + thread->times.ns[activity][1];
        left[LULL_ACTIVITIES] += thread->disabled_ns;
    }
    for (int activity = 0; activity <= LULL_ACTIVITIES; activity++)
        ret_parts->total_ns += left[activity];
    add_parts_of_regions(breakdown, ret_parts, left, arena);
    for (int activity = 0; activity <= LULL_ACTIVITIES; activity++) {
        const struct lull_part rest = {
            .region = "", .site = "", .activity = (uint8_t)activity, .ns = left[activity]};
        add_part(ret_parts, &rest, arena);
    }
    for (uint32_t i = 0; i < ret_parts->count; i++)
        find_place(&ret_parts->parts[i], run->trace, arena);
    if (ret_parts->count > 1)
        qsort(ret_parts->parts, ret_parts->count, sizeof(*ret_parts->parts), compare_parts_of_run);
}

bool lull_part_is_kept(const struct lull_part *part, const struct lull_parts *parts)
{
    return part->ns >= parts->total_ns / 1000;
}

const char *lull_part_cause(const struct lull_part *part)
{
    if (part->activity == LULL_USEFUL)
        return "computation";
    return part->activity < LULL_ACTIVITIES ? lull_activity_name(part->activity) : "not recorded";
}

const char *lull_part_describe(const struct lull_part *part, struct lull_arena *arena)
{
    if (!*part->region)
        return part->activity == LULL_USEFUL ? "computation outside of regions"
                                             : lull_part_cause(part);
    if (part->activity == LULL_USEFUL)
        return lull_arena_printf(arena, "computation in %s", part->region);
    return *part->site ? lull_arena_printf(arena, "%s from %s", part->region, part->site)
                       : part->region;
}
