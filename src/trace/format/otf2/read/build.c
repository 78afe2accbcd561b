/* From the definitions of an archive to those of a trace. */
#include "trace/format/otf2/read/definitions.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct builder {
    struct lull_trace *trace;
    struct lull_otf2_archive *archive;
    struct lull_otf2_definitions *definitions;
    struct lull_otf2_map node_index;     /* -> trace->nodes */
    struct lull_otf2_map group_index;    /* -> definitions->location_groups */
    struct lull_otf2_map location_index; /* -> trace->locations */
    struct lull_otf2_map world_rank;     /* location id -> rank */
};

static const char *keep_text(const struct builder *builder, OTF2_StringRef string)
{
    return lull_arena_strdup(builder->trace->arena, lull_otf2_text(builder->definitions, string));
}

/* ---- system tree ----------------------------------------------------------------------------- */

static void build_nodes(struct builder *builder)
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
            (struct lull_node){.name = keep_text(builder, source->name),
                               .class_name = keep_text(builder, source->class_name),
                               .parent = lull_otf2_find(&builder->node_index, source->parent)};
    }
}

/* The machine a process runs on: the innermost tree node whose members share memory, else the one
 * it hangs on. */
static uint32_t home_node(const struct builder *builder, const struct lull_otf2_map *shared_memory,
                          OTF2_SystemTreeNodeRef ref)
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
struct place {
    const struct lull_otf2_location *source;
    uint32_t owner; /* location group of the process, index in the definitions */
    uint32_t application;
    uint32_t rank; /* in the world, of the process; LULL_NONE if it is not in it */
    bool device;
    bool not_master; /* 0 for the location that stands for the process in the world */
};

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = compare_u64(a->application, b->application);
    order = order ? order : compare_u64(a->rank, b->rank);
    order = order ? order : compare_u64(a->owner, b->owner);
    order = order ? order : compare_u64(a->device, b->device);
    order = order ? order : compare_u64(a->not_master, b->not_master);
    return order ? order : compare_u64(a->source->id, b->source->id);
}

/* The process that a group of device streams belongs to. Before OTF2 3.0 such a group was a
 * process itself or did not say. */
static uint32_t owner_of(const struct builder *builder, uint32_t group)
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

static lull_status collect_places(struct builder *builder, struct place *places,
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
        places[count++] =
            (struct place){.source = source,
                           .owner = owner_of(builder, group),
                           .device = source->type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM};
    }
    *ret_count = count;
    return LULL_OK;
}

/* A location defined twice would be read twice. */
static uint32_t drop_repeated(struct builder *builder, struct place *places, uint32_t count)
{
    struct lull_arena *scratch = builder->definitions->arena;
    uint64_t *ids = lull_arena_alloc(scratch, count * sizeof *ids);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = places[i].source->id;
    struct lull_otf2_map first;
    if (lull_otf2_map_build(&first, scratch, ids, sizeof *ids, NULL, count) == 0)
        return count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (lull_otf2_find(&first, ids[i]) == i)
            places[kept++] = places[i];
        else
            lull_trace_add_quirk(builder->trace,
                                 "a location is defined more than once; the first definition "
                                 "counts",
                                 "location %" PRIu64, ids[i]);
    }
    return kept;
}

/* Rank and application of the processes, from their locations and properties. */
static void rank_places(struct builder *builder, struct place *places, uint32_t count)
{
    const struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_arena *scratch = definitions->arena;
    uint32_t n_groups = definitions->location_groups.count;
    uint32_t *ranks = lull_arena_alloc(scratch, n_groups * sizeof *ranks);
    uint32_t *applications = lull_arena_zero(scratch, n_groups, sizeof *applications);
    for (uint32_t g = 0; g < n_groups; g++)
        ranks[g] = LULL_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = lull_otf2_find(&builder->world_rank, places[i].source->id);
        places[i].not_master = rank == LULL_NONE;
        if (rank < ranks[places[i].owner])
            ranks[places[i].owner] = rank;
    }
    for (uint32_t i = 0; i < definitions->group_numbers.count; i++) {
        const struct lull_otf2_group_number *number = &definitions->group_numbers.items[i];
        uint32_t group = lull_otf2_find(&builder->group_index, number->id);
        if (group != LULL_NONE &&
            strcmp(lull_otf2_text(definitions, number->name), LULL_OTF2_APPLICATION) == 0)
            applications[group] = number->value;
    }
    for (uint32_t i = 0; i < count; i++) {
        places[i].rank = ranks[places[i].owner];
        places[i].application = applications[places[i].owner];
    }
}

static void add_process(struct builder *builder, const struct place *place,
                        const struct lull_otf2_map *shared_memory)
{
    struct lull_trace *trace = builder->trace;
    const struct lull_otf2_location_group *group =
        &builder->definitions->location_groups.items[place->owner];
    struct lull_process *process = &trace->processes[trace->n_processes];
    const struct lull_process *previous = trace->n_processes ? process - 1 : NULL;
    bool same_application = previous && previous->application == place->application;
    *process = (struct lull_process){.name = keep_text(builder, group->name),
                                     .application = place->application,
                                     .rank = same_application ? previous->rank + 1 : 0,
                                     .node = home_node(builder, shared_memory, group->node)};
    trace->n_processes++;
}

static void add_locations(struct builder *builder, const struct place *places, uint32_t count)
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
        const struct place *place = &places[i];
        if (i == 0 || place->owner != places[i - 1].owner) {
            add_process(builder, place, &shared_memory);
            numbers[0] = numbers[1] = 0;
        }
        trace->locations[i] = (struct lull_location){
            .name = keep_text(builder, place->source->name),
            .source_id = place->source->id,
            .process = trace->n_processes - 1,
            .number = numbers[place->device]++,
            .kind = place->device ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD};
    }
    trace->n_locations = count;
}

static void index_locations(struct builder *builder)
{
    const struct lull_trace *trace = builder->trace;
    struct lull_arena *scratch = builder->definitions->arena;
    uint64_t *ids = lull_arena_alloc(scratch, trace->n_locations * sizeof *ids);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        ids[l] = trace->locations[l].source_id;
    lull_otf2_map_build(&builder->location_index, scratch, ids, sizeof *ids, NULL,
                        trace->n_locations);
}

static lull_status build_locations(struct builder *builder, struct lull_error *err)
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
    struct place *places =
        lull_arena_zero(definitions->arena, definitions->locations.count, sizeof *places);
    lull_status status = collect_places(builder, places, &count, err);
    if (status != LULL_OK)
        return status;
    if (count == 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: no location with events is defined",
                         builder->trace->path);
    count = drop_repeated(builder, places, count);
    rank_places(builder, places, count);
    qsort(places, count, sizeof *places, compare_places);
    add_locations(builder, places, count);
    index_locations(builder);
    return LULL_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

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

static void convert_region(const struct builder *builder, const struct lull_otf2_region *source,
                           struct lull_region *region)
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
    order = order ? order : compare_u64(a->line, b->line);
    order = order ? order : compare_u64(a->paradigm, b->paradigm);
    order = order ? order : compare_u64(a->role, b->role);
    return order ? order : compare_u64(a->parallel, b->parallel);
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
    return order ? order : compare_u64(a->index, b->index);
}

/* Tracers that do not unify ids define a function once per process: regions that agree in
 * everything become one. values[i]: index of definition i. */
static void merge_regions(struct builder *builder, struct numbered_region *sorted, uint32_t *values)
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

static void build_regions(struct builder *builder)
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

/* ---- metrics --------------------------------------------------------------------------------- */

static uint8_t metric_mode(OTF2_MetricMode mode)
{
    OTF2_MetricMode value = mode & OTF2_METRIC_VALUE_MASK;
    OTF2_MetricMode timing = mode & OTF2_METRIC_TIMING_MASK;
    if (value == OTF2_METRIC_VALUE_ABSOLUTE)
        return LULL_OTF2_DIFFERENCE;
    if (timing == OTF2_METRIC_TIMING_NEXT)
        return LULL_OTF2_DELAYED;
    if (value == OTF2_METRIC_VALUE_RELATIVE || timing == OTF2_METRIC_TIMING_LAST)
        return LULL_OTF2_AS_IS;
    return LULL_OTF2_DIFFERENCE;
}

/* "ms" for unit "s" and 10^-3 would need a table of prefixes: "10^-3 s" says the same. */
static const char *metric_unit(const struct builder *builder, const struct lull_otf2_member *member)
{
    const char *unit = lull_otf2_text(builder->definitions, member->unit);
    struct lull_arena *arena = builder->trace->arena;
    if (member->exponent == 0)
        return lull_arena_strdup(arena, unit);
    return lull_arena_printf(arena, "%d^%" PRIi64 "%s%s", member->base == OTF2_BASE_BINARY ? 2 : 10,
                             member->exponent, *unit ? " " : "", unit);
}

/* Counters are told apart by name: tracers that do not unify ids define one per process. */
static uint32_t counter_of(const struct builder *builder, const struct lull_otf2_member *member)
{
    struct lull_trace *trace = builder->trace;
    const char *name = lull_otf2_text(builder->definitions, member->name);
    for (uint32_t c = 0; c < trace->n_counters; c++)
        if (strcmp(trace->counters[c].name, name) == 0)
            return c;
    trace->counters[trace->n_counters] =
        (struct lull_counter){.name = lull_arena_strdup(trace->arena, name),
                              .unit = metric_unit(builder, member),
                              .source_id = member->id};
    return trace->n_counters++;
}

static bool is_state_class(const struct builder *builder, const struct lull_otf2_map *members,
                           const struct lull_otf2_metric_class *source)
{
    static const char *const names[] = {LULL_OTF2_STATE, LULL_OTF2_STATE_DURATION};
    for (uint32_t m = 0; m < 2; m++) {
        uint32_t index =
            source->n_members == 2 ? lull_otf2_find(members, source->members[m]) : LULL_NONE;
        if (index == LULL_NONE ||
            strcmp(lull_otf2_text(builder->definitions,
                                  builder->definitions->members.items[index].name),
                   names[m]) != 0)
            return false;
    }
    return true;
}

static lull_status build_class(struct builder *builder, const struct lull_otf2_map *members,
                               const struct lull_otf2_metric_class *source,
                               struct lull_otf2_class *class, struct lull_error *err)
{
    struct lull_arena *arena = builder->trace->arena;
    class->state = is_state_class(builder, members, source);
    class->n_members = source->n_members;
    if (class->state)
        return LULL_OK;
    class->counters = lull_arena_alloc(arena, source->n_members * sizeof *class->counters);
    class->modes = lull_arena_alloc(arena, source->n_members);
    for (uint32_t m = 0; m < source->n_members; m++) {
        uint32_t index = lull_otf2_find(members, source->members[m]);
        if (index == LULL_NONE)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: metric class %" PRIu64 " has member %u, which is not defined",
                             builder->trace->path, source->id, source->members[m]);
        const struct lull_otf2_member *member = &builder->definitions->members.items[index];
        class->counters[m] = counter_of(builder, member);
        class->modes[m] = metric_mode(member->mode);
    }
    if (class->n_members > builder->archive->most_members)
        builder->archive->most_members = class->n_members;
    return LULL_OK;
}

/* Classes, and instances under their own ids: events may name either. */
static void index_classes(struct builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_otf2_map classes;
    uint32_t n_classes = definitions->classes.count;
    uint32_t count = n_classes + definitions->instances.count;
    uint64_t *ids = lull_arena_alloc(definitions->arena, count * sizeof *ids);
    uint32_t *values = lull_arena_alloc(definitions->arena, count * sizeof *values);
    lull_otf2_map_build(&classes, definitions->arena, definitions->classes.items,
                        sizeof *definitions->classes.items, NULL, n_classes);
    for (uint32_t i = 0; i < n_classes; i++) {
        ids[i] = definitions->classes.items[i].id;
        values[i] = i;
    }
    for (uint32_t i = n_classes; i < count; i++) {
        const struct lull_otf2_metric_instance *instance =
            &definitions->instances.items[i - n_classes];
        ids[i] = instance->id;
        values[i] = lull_otf2_find(&classes, instance->class_id);
    }
    lull_otf2_map_build(&builder->archive->classes, builder->trace->arena, ids, sizeof *ids, values,
                        count);
}

static lull_status build_metrics(struct builder *builder, struct lull_error *err)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_trace *trace = builder->trace;
    struct lull_otf2_map members;
    lull_otf2_map_build(&members, definitions->arena, definitions->members.items,
                        sizeof *definitions->members.items, NULL, definitions->members.count);
    trace->counters =
        lull_arena_zero(trace->arena, definitions->members.count, sizeof *trace->counters);
    builder->archive->class_list = lull_arena_zero(trace->arena, definitions->classes.count,
                                                   sizeof *builder->archive->class_list);
    for (uint32_t i = 0; i < definitions->classes.count; i++) {
        struct lull_otf2_class *class = &builder->archive->class_list[i];
        lull_status status =
            build_class(builder, &members, &definitions->classes.items[i], class, err);
        if (status != LULL_OK)
            return status;
        trace->has_states |= class->state;
    }
    index_classes(builder);
    return LULL_OK;
}

static void build_markers(struct builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_trace *trace = builder->trace;
    trace->n_markers = definitions->parameters.count;
    trace->markers = lull_arena_zero(trace->arena, trace->n_markers, sizeof *trace->markers);
    for (uint32_t i = 0; i < trace->n_markers; i++) {
        const struct lull_otf2_parameter *source = &definitions->parameters.items[i];
        trace->markers[i] =
            (struct lull_marker){.name = keep_text(builder, source->name), .source_id = source->id};
    }
    lull_otf2_map_build(&builder->archive->parameters, trace->arena, definitions->parameters.items,
                        sizeof *definitions->parameters.items, NULL, trace->n_markers);
}

lull_status lull_otf2_build(struct lull_trace *trace, struct lull_otf2_archive *archive,
                            OTF2_Reader *reader, struct lull_otf2_clock_properties *ret_clock,
                            struct lull_error *err)
{
    struct lull_otf2_definitions definitions = {.arena = lull_arena_create(NULL)};
    struct builder builder = {.trace = trace, .archive = archive, .definitions = &definitions};
    lull_status status = lull_otf2_collect(&definitions, reader, trace->path, err);
    if (status == LULL_OK) {
        build_nodes(&builder);
        status = build_locations(&builder, err);
    }
    if (status == LULL_OK) {
        build_regions(&builder);
        lull_otf2_build_comms(trace, archive, &definitions, &builder.location_index);
        build_markers(&builder);
        status = build_metrics(&builder, err);
    }
    *ret_clock = definitions.clock;
    lull_arena_destroy(definitions.arena);
    return status;
}
