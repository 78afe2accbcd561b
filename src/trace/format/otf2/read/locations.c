/* The system tree, processes and locations of an archive. */
#include "trace/format/otf2/read/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- system tree ----------------------------------------------------------------------------- */

void lull_otf2_build_nodes(struct lull_otf2_builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_trace *trace = builder->trace;
    trace->n_nodes = definitions->nodes.count;
    trace->nodes = lull_arena_zero(trace->arena, trace->n_nodes, sizeof *trace->nodes);
    lull_otf2_map_build(&builder->node_index, definitions->arena, definitions->nodes.items,
                        sizeof *definitions->nodes.items, NULL, definitions->nodes.count);
    for (uint32_t n = 0; n < trace->n_nodes; n++) {
        const struct lull_otf2_node *source = &definitions->nodes.items[n];
        trace->nodes[n] =
            (struct lull_node){.name = lull_otf2_keep_text(builder, source->name),
                               .class_name = lull_otf2_keep_text(builder, source->class_name),
                               .parent = lull_otf2_find(&builder->node_index, source->parent)};
    }
}

/* The machine a process runs on: the innermost tree node whose members share memory, else the one
 * it hangs on. */
static uint32_t home_node(const struct lull_otf2_builder *builder,
                          const struct lull_otf2_map *shared_memory, OTF2_SystemTreeNodeRef ref)
{
    uint32_t parent = lull_otf2_find(&builder->node_index, ref);
    uint32_t node = parent;
    for (uint32_t steps = 0; node != LULL_NONE && steps < builder->trace->n_nodes; steps++) {
        if (lull_otf2_find(shared_memory, builder->definitions->nodes.items[node].id) != LULL_NONE)
            return node;
        node = builder->trace->nodes[node].parent;
    }
    return parent;
}

/* ---- processes and locations ----------------------------------------------------------------- */

/* A location on its way into the trace, with what it is sorted by. */
struct draft {
    const struct lull_otf2_location *source;
    uint32_t owner; /* location group of the process, index in the definitions */
    uint32_t application;
    uint32_t rank; /* in the world, of the process; LULL_NONE if it is not in it */
    bool device;
    bool not_master; /* 0 for the location that stands for the process in the world */
};

static int compare_drafts(const void *left, const void *right)
{
    const struct draft *a = left, *b = right;
    int order = lull_otf2_compare(a->application, b->application);
    order = order ? order : lull_otf2_compare(a->rank, b->rank);
    order = order ? order : lull_otf2_compare(a->owner, b->owner);
    order = order ? order : lull_otf2_compare(a->device, b->device);
    order = order ? order : lull_otf2_compare(a->not_master, b->not_master);
    return order ? order : lull_otf2_compare(a->source->id, b->source->id);
}

/* The process that a group of device streams belongs to. Before OTF2 3.0 such a group was a
 * process itself or did not say. */
static uint32_t owner_of(const struct lull_otf2_builder *builder, uint32_t group)
{
    const struct lull_otf2_definitions *definitions = builder->definitions;
    const struct lull_otf2_location_group *groups = definitions->location_groups.items;
    for (int steps = 0; steps < 8 && groups[group].type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR;
         steps++) {
        uint32_t creator = lull_otf2_find(&builder->group_index, groups[group].creator);
        if (creator != LULL_NONE) {
            group = creator;
            continue;
        }
        lull_trace_add_quirk(builder->trace,
                             "a device does not say to which process it belongs; taken as the "
                             "first on its node",
                             "location group %" PRIu64, groups[group].id);
        for (uint32_t i = 0; i < definitions->location_groups.count; i++)
            if (groups[i].type == OTF2_LOCATION_GROUP_TYPE_PROCESS &&
                groups[i].node == groups[group].node)
                return i;
        return group;
    }
    return group;
}

static lull_status collect_drafts(struct lull_otf2_builder *builder, struct draft *drafts,
                                  uint32_t *ret_count, struct lull_error *err)
{
    const struct lull_otf2_definitions *definitions = builder->definitions;
    uint32_t count = 0;
    for (uint32_t l = 0; l < definitions->locations.count; l++) {
        const struct lull_otf2_location *source = &definitions->locations.items[l];
        if (source->type == OTF2_LOCATION_TYPE_METRIC) {
            lull_trace_add_quirk(builder->trace,
                                 "locations that hold nothing but metrics are left out",
                                 "location %" PRIu64, source->id);
            continue;
        }
        uint32_t group = lull_otf2_find(&builder->group_index, source->group);
        if (group == LULL_NONE)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: location %" PRIu64 " belongs to location group %u, which is not "
                             "defined",
                             builder->trace->path, source->id, source->group);
        drafts[count++] =
            (struct draft){.source = source,
                           .owner = owner_of(builder, group),
                           .device = source->type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM};
    }
    *ret_count = count;
    return LULL_OK;
}

/* A location defined twice would be read twice. */
static uint32_t drop_repeated(struct lull_otf2_builder *builder, struct draft *drafts,
                              uint32_t count)
{
    struct lull_arena *scratch = builder->definitions->arena;
    uint64_t *ids = lull_arena_alloc(scratch, count * sizeof *ids);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = drafts[i].source->id;
    struct lull_otf2_map first;
    if (lull_otf2_map_build(&first, scratch, ids, sizeof *ids, NULL, count) == 0)
        return count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (lull_otf2_find(&first, ids[i]) == i)
            drafts[kept++] = drafts[i];
        else
            lull_trace_add_quirk(builder->trace,
                                 "a location is defined more than once; the first definition "
                                 "counts",
                                 "location %" PRIu64, ids[i]);
    }
    return kept;
}

/* Rank and application of the processes, from their locations and properties. */
static void rank_drafts(struct lull_otf2_builder *builder, struct draft *drafts, uint32_t count)
{
    const struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_arena *scratch = definitions->arena;
    uint32_t n_groups = definitions->location_groups.count;
    uint32_t *ranks = lull_arena_alloc(scratch, n_groups * sizeof *ranks);
    uint32_t *applications = lull_arena_zero(scratch, n_groups, sizeof *applications);
    for (uint32_t g = 0; g < n_groups; g++)
        ranks[g] = LULL_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = lull_otf2_find(&builder->world_rank, drafts[i].source->id);
        drafts[i].not_master = rank == LULL_NONE;
        if (rank < ranks[drafts[i].owner])
            ranks[drafts[i].owner] = rank;
    }
    for (uint32_t i = 0; i < definitions->group_numbers.count; i++) {
        const struct lull_otf2_group_number *number = &definitions->group_numbers.items[i];
        uint32_t group = lull_otf2_find(&builder->group_index, number->id);
        if (group != LULL_NONE &&
            strcmp(lull_otf2_text(definitions, number->name), LULL_OTF2_APPLICATION) == 0)
            applications[group] = number->value;
    }
    for (uint32_t i = 0; i < count; i++) {
        drafts[i].rank = ranks[drafts[i].owner];
        drafts[i].application = applications[drafts[i].owner];
    }
}

static void add_process(struct lull_otf2_builder *builder, const struct draft *draft,
                        const struct lull_otf2_map *shared_memory)
{
    struct lull_trace *trace = builder->trace;
    const struct lull_otf2_location_group *group =
        &builder->definitions->location_groups.items[draft->owner];
    struct lull_process *process = &trace->processes[trace->n_processes];
    const struct lull_process *previous = trace->n_processes ? process - 1 : NULL;
    bool same_application = previous && previous->application == draft->application;
    *process = (struct lull_process){.name = lull_otf2_keep_text(builder, group->name),
                                     .application = draft->application,
                                     .rank = same_application ? previous->rank + 1 : 0,
                                     .node = home_node(builder, shared_memory, group->node)};
    trace->n_processes++;
}

static void add_drafted_locations(struct lull_otf2_builder *builder, const struct draft *drafts,
                                  uint32_t count)
{
    struct lull_trace *trace = builder->trace;
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_otf2_map shared_memory;
    lull_otf2_map_build(&shared_memory, definitions->arena, definitions->shared_memory.items,
                        sizeof *definitions->shared_memory.items, NULL,
                        definitions->shared_memory.count);
    trace->locations = lull_arena_zero(trace->arena, count, sizeof *trace->locations);
    trace->processes = lull_arena_zero(trace->arena, count, sizeof *trace->processes);
    uint32_t numbers[2] = {0, 0}; /* of threads, of streams */
    for (uint32_t i = 0; i < count; i++) {
        const struct draft *draft = &drafts[i];
        if (i == 0 || draft->owner != drafts[i - 1].owner) {
            add_process(builder, draft, &shared_memory);
            numbers[0] = numbers[1] = 0;
        }
        trace->locations[i] = (struct lull_location){
            .name = lull_otf2_keep_text(builder, draft->source->name),
            .source_id = draft->source->id,
            .process = trace->n_processes - 1,
            .number = numbers[draft->device]++,
            .kind = draft->device ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD};
    }
    trace->n_locations = count;
}

static void index_locations(struct lull_otf2_builder *builder)
{
    const struct lull_trace *trace = builder->trace;
    struct lull_arena *scratch = builder->definitions->arena;
    uint64_t *ids = lull_arena_alloc(scratch, trace->n_locations * sizeof *ids);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        ids[l] = trace->locations[l].source_id;
    lull_otf2_map_build(&builder->location_index, scratch, ids, sizeof *ids, NULL,
                        trace->n_locations);
}

lull_status lull_otf2_build_locations(struct lull_otf2_builder *builder, struct lull_error *err)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    lull_otf2_map_build(
        &builder->group_index, definitions->arena, definitions->location_groups.items,
        sizeof *definitions->location_groups.items, NULL, definitions->location_groups.count);
    const struct lull_otf2_group *world = lull_otf2_world_group(definitions);
    if (world)
        lull_otf2_map_build(&builder->world_rank, definitions->arena, world->members,
                            sizeof *world->members, NULL, world->n_members);
    uint32_t count = 0;
    struct draft *drafts =
        lull_arena_zero(definitions->arena, definitions->locations.count, sizeof *drafts);
    lull_status status = collect_drafts(builder, drafts, &count, err);
    if (status != LULL_OK)
        return status;
    if (count == 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: no location with events is defined",
                         builder->trace->path);
    count = drop_repeated(builder, drafts, count);
    rank_drafts(builder, drafts, count);
    qsort(drafts, count, sizeof *drafts, compare_drafts);
    add_drafted_locations(builder, drafts, count);
    index_locations(builder);
    return LULL_OK;
}
