#include "replay/what_if/treatments.h"

#include <string.h>

bool lull_region_is_named(const char *name, const struct lull_region *region)
{
    return strcmp(region->name, name) == 0 || (*region->site && strcmp(region->site, name) == 0);
}

static bool means_any(const char *name, const struct lull_region *region)
{
    return !name || lull_region_is_named(name, region);
}

/* Of a region; NULL: of what is in none that is named. */
static struct lull_treatment treatment_of(const struct lull_what_if_options *wanted,
                                          const struct lull_region *region, bool *ret_named)
{
    struct lull_treatment treatment = {.factor = 1};
    const char *name = wanted->balanced;
    *ret_named = false;
    for (uint32_t i = 0; region && i < wanted->n_regions; i++)
        if (lull_region_is_named(wanted->regions[i], region)) {
            treatment.factor = wanted->factors[i];
            *ret_named = true;
        }
    for (uint32_t i = 0; i < wanted->n_cuts; i++) {
        name = wanted->cuts[i].region;
        if (!name || (region && lull_region_is_named(name, region)))
            treatment.cuts |= UINT64_C(1) << i;
        *ret_named |= name && region && lull_region_is_named(name, region);
    }
    for (uint32_t i = 0; i < wanted->n_threads; i++) {
        name = wanted->threads[i].region;
        if (wanted->threads[i].change != LULL_THREADS_NO_SERIAL)
            continue;
        treatment.serial |= !name || (region && lull_region_is_named(name, region));
        *ret_named |= name && region && lull_region_is_named(name, region);
    }
    name = wanted->balanced;
    treatment.balanced = wanted->balance && (region ? means_any(name, region) : !name);
    *ret_named |= wanted->balance && name && region && lull_region_is_named(name, region);
    return treatment;
}

static bool is_same(const struct lull_treatment *a, const struct lull_treatment *b)
{
    return a->factor == b->factor && a->cuts == b->cuts && a->balanced == b->balanced &&
           a->serial == b->serial;
}

lull_status lull_treatments_find(const struct lull_trace *trace,
                                 const struct lull_what_if_options *wanted,
                                 struct lull_arena *arena, struct lull_treatments **ret_treatments,
                                 struct lull_error *err)
{
    const uint32_t most =
        sizeof((struct lull_treatments *)0)->treatments / sizeof(struct lull_treatment);
    struct lull_treatments *treatments = lull_arena_zero(arena, 1, sizeof *treatments);
    bool named;
    treatments->marks = lull_arena_try(arena, trace->n_regions + (size_t)1, 1);
    if (!treatments->marks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    treatments->treatments[treatments->count++] = treatment_of(wanted, NULL, &named);
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const struct lull_treatment treatment = treatment_of(wanted, &trace->regions[i], &named);
        uint32_t mark = 1;
        while (named && mark < treatments->count &&
               !is_same(&treatment, &treatments->treatments[mark]))
            mark++;
        if (!named)
            continue;
        if (mark == most)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: more than %u different things are supposed of regions",
                             trace->path, most - 1);
        treatments->marks[i] = (uint8_t)mark;
        treatments->treatments[mark] = treatment;
        treatments->count = mark == treatments->count ? mark + 1 : treatments->count;
    }
    *ret_treatments = treatments;
    return LULL_OK;
}
