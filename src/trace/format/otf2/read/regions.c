/* The regions of an archive. */
#include "trace/format/otf2/read/build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Functions of a device's interface on the host, e.g. "cudaMemcpy", "cuLaunchKernel"; any other
 * function of such a paradigm is a kernel. */
static bool is_device_call(const char *name)
{
    static const char *const prefixes[] = {"cuda", "cu", "hip", "cl", "acc", "Kokkos", "omp"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) == 0 && !islower((unsigned char)name[length]))
            return true;
    }
    return false;
}

static void convert_region(const struct lull_otf2_builder *builder,
                           const struct lull_otf2_region *source, struct lull_region *region)
{
    const struct lull_otf2_definitions *definitions = builder->definitions;
    const char *name = lull_otf2_text(definitions, source->name);
    if (!*name)
        name = lull_otf2_text(definitions, source->canonical_name);
    *region = (struct lull_region){.name = name,
                                   .file = lull_otf2_text(definitions, source->file),
                                   .line = source->line,
                                   .paradigm = lull_otf2_paradigm_from(source->paradigm),
                                   .role = lull_otf2_role_from(source->role)};
    if (region->role == LULL_ROLE_FILE_IO && region->paradigm != LULL_PARADIGM_MPI)
        region->paradigm = LULL_PARADIGM_IO;
    if (region->paradigm == LULL_PARADIGM_DEVICE && source->role == OTF2_REGION_ROLE_FUNCTION &&
        !is_device_call(name))
        region->role = LULL_ROLE_KERNEL;
    lull_otf2_read_description(region, lull_otf2_text(definitions, source->description));
}

static int compare_regions(const void *left, const void *right)
{
    const struct lull_region *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->file, b->file);
    order = order ? order : lull_otf2_compare(a->line, b->line);
    order = order ? order : lull_otf2_compare(a->paradigm, b->paradigm);
    order = order ? order : lull_otf2_compare(a->role, b->role);
    return order ? order : lull_otf2_compare(a->parallel, b->parallel);
}

/* What the regions are sorted by: `region` first. */
struct numbered_region {
    struct lull_region region;
    uint32_t index;
};

static int compare_numbered(const void *left, const void *right)
{
    const struct numbered_region *a = left, *b = right;
    int order = compare_regions(&a->region, &b->region);
    return order ? order : lull_otf2_compare(a->index, b->index);
}

/* Tracers that do not unify ids define a function once per process: regions that agree in
 * everything become one. values[i]: index of definition i. */
static void merge_regions(struct lull_otf2_builder *builder, struct numbered_region *sorted,
                          uint32_t *values)
{
    struct lull_trace *trace = builder->trace;
    uint32_t count = builder->definitions->regions.count;
    uint32_t *representative =
        lull_arena_alloc(builder->definitions->arena, count * sizeof *representative);
    qsort(sorted, count, sizeof *sorted, compare_numbered);
    for (uint32_t i = 0, first = 0; i < count; i++) {
        if (compare_regions(&sorted[i].region, &sorted[first].region) != 0)
            first = i;
        representative[sorted[i].index] = sorted[first].index;
    }
    /* In the order of the file. */
    struct lull_region *unsorted =
        lull_arena_alloc(builder->definitions->arena, count * sizeof *unsorted);
    for (uint32_t i = 0; i < count; i++)
        unsorted[sorted[i].index] = sorted[i].region;
    trace->regions = lull_arena_alloc(trace->arena, count * sizeof *trace->regions);
    for (uint32_t i = 0; i < count; i++) {
        if (representative[i] != i) {
            values[i] = values[representative[i]];
            continue;
        }
        values[i] = trace->n_regions;
        struct lull_region *region = &trace->regions[trace->n_regions++];
        *region = unsorted[i];
        region->name = lull_arena_strdup(trace->arena, region->name);
        region->file = lull_arena_strdup(trace->arena, region->file);
    }
}

void lull_otf2_build_regions(struct lull_otf2_builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_otf2_archive *archive = builder->archive;
    struct lull_arena *arena = builder->trace->arena;
    uint32_t count = definitions->regions.count;
    struct numbered_region *sorted = lull_arena_zero(definitions->arena, count, sizeof *sorted);
    uint32_t *values = lull_arena_alloc(definitions->arena, count * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        convert_region(builder, &definitions->regions.items[i], &sorted[i].region);
        sorted[i].index = i;
    }
    merge_regions(builder, sorted, values);
    if (lull_otf2_map_build(&archive->regions, arena, definitions->regions.items,
                            sizeof *definitions->regions.items, values, count) > 0)
        lull_trace_add_quirk(builder->trace,
                             "the id of a region is defined more than once; the first definition "
                             "counts",
                             "global definitions");
    uint32_t n_contexts = definitions->contexts.count;
    archive->context_regions =
        lull_arena_alloc(arena, n_contexts * sizeof *archive->context_regions);
    for (uint32_t i = 0; i < n_contexts; i++)
        archive->context_regions[i] =
            lull_otf2_find(&archive->regions, definitions->contexts.items[i].region);
    lull_otf2_map_build(&archive->contexts, arena, definitions->contexts.items,
                        sizeof *definitions->contexts.items, NULL, n_contexts);
}
