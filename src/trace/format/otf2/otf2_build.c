/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the definitions of a trace from those of an archive. */
#include "trace/format/otf2/otf2_definitions.h"

#include "trace/stream_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct otf2_builder {
    struct lull_trace *trace;
    struct lull_otf2_archive *archive;
    struct lull_otf2_definitions *definitions;
    struct lull_otf2_map node_index;  /* -> trace->nodes */
    struct lull_otf2_map group_index; /* -> definitions->location_groups */
    struct lull_otf2_map world_rank;  /* location id -> rank */
    size_t devices_capacity;
};

/* Copies a string of the archive into the arena of the trace. */
static inline const char *otf2_keep_text(const struct otf2_builder *builder, OTF2_StringRef string)
{
    return lull_arena_strdup(builder->trace->arena, lull_otf2_text(builder->definitions, string));
}

static inline int otf2_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* ==== comms =================================================================================== */

/* Communicators. An archive tells their members in steps: a communicator has a group, the group has
 * ranks in the list of all communicating locations, and a location belongs to a process. */

struct comm_builder {
    struct lull_trace *trace;
    struct lull_otf2_archive *archive;
    struct lull_otf2_definitions *definitions;
    const struct lull_otf2_map *location_index;
    struct lull_otf2_map groups;
};

/* Whether the ranks of a paradigm are threads of a process. */
static bool is_threading(OTF2_Paradigm paradigm)
{
    switch (paradigm) {
    case OTF2_PARADIGM_OPENMP:
    case OTF2_PARADIGM_OMPSS:
    case OTF2_PARADIGM_PTHREAD:
    case OTF2_PARADIGM_WINTHREAD:
    case OTF2_PARADIGM_QTTHREAD:
    case OTF2_PARADIGM_ACETHREAD:
    case OTF2_PARADIGM_TBBTHREAD:
    case OTF2_PARADIGM_MTAPI:
        return true;
    default:
        return false;
    }
}

static bool is_message_passing(OTF2_Paradigm paradigm)
{
    switch (paradigm) {
    case OTF2_PARADIGM_MPI:
    case OTF2_PARADIGM_GASPI:
    case OTF2_PARADIGM_SHMEM:
    case OTF2_PARADIGM_UPC:
        return true;
    default:
        return false;
    }
}

static const struct lull_otf2_group *comm_locations(const struct lull_otf2_definitions *definitions,
                                                    OTF2_Paradigm paradigm)
{
    for (uint32_t i = 0; i < definitions->groups.count; i++) {
        const struct lull_otf2_group *group = &definitions->groups.items[i];
        if (group->type == OTF2_GROUP_TYPE_COMM_LOCATIONS && group->paradigm == paradigm)
            return group;
    }
    return NULL;
}

const struct lull_otf2_group *lull_otf2_world_group(const struct lull_otf2_definitions *definitions)
{
    static const OTF2_Paradigm order[] = {OTF2_PARADIGM_MPI, OTF2_PARADIGM_SHMEM,
                                          OTF2_PARADIGM_GASPI, OTF2_PARADIGM_UPC};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct lull_otf2_group *group = comm_locations(definitions, order[i]);
        if (group)
            return group;
    }
    return NULL;
}

/* Which of two groups with one id counts: the one with the lower number, a group of ranks that pass
 * messages. EZTrace uses the ids of communicators again for the list of their locations and for
 * thread teams. */
static unsigned group_preference(const struct lull_otf2_group *group)
{
    if (!is_message_passing(group->paradigm))
        return 2;
    return group->type == OTF2_GROUP_TYPE_COMM_LOCATIONS;
}

static void index_groups(struct comm_builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_arena *scratch = definitions->arena;
    uint32_t count = definitions->groups.count, kept = 0;
    uint64_t *ids = lull_arena_alloc(scratch, count * sizeof *ids);
    uint32_t *values = lull_arena_alloc(scratch, count * sizeof *values);
    for (unsigned preference = 0; preference <= 2; preference++) {
        for (uint32_t i = 0; i < count; i++) {
            if (group_preference(&definitions->groups.items[i]) != preference)
                continue;
            ids[kept] = definitions->groups.items[i].id;
            values[kept++] = i;
        }
    }
    if (lull_otf2_map_build(&builder->groups, scratch, ids, sizeof *ids, values, kept) > 0)
        lull_trace_add_quirk(builder->trace,
                             "the id of a group is defined more than once; the group of ranks "
                             "counts",
                             "global definitions");
}

static const struct lull_otf2_group *find_group(const struct comm_builder *builder,
                                                OTF2_GroupRef ref)
{
    uint32_t index = lull_otf2_find(&builder->groups, ref);
    return index == LULL_NONE ? NULL : &builder->definitions->groups.items[index];
}

/* A member of a communicator: a process, or a location if the communicator is a thread team.
 * LULL_NONE: the member is not defined. */
static uint32_t resolve_location(const struct comm_builder *builder, uint64_t location_id,
                                 bool team)
{
    uint32_t location = lull_otf2_find(builder->location_index, location_id);
    if (location == LULL_NONE || team)
        return location;
    return builder->trace->locations[location].process;
}

static uint32_t resolve_member(const struct comm_builder *builder,
                               const struct lull_otf2_group *group,
                               const struct lull_otf2_group *all, uint32_t rank, bool team)
{
    uint64_t member = group->members[rank];
    if (group->type != OTF2_GROUP_TYPE_COMM_GROUP)
        return resolve_location(builder, member, team);
    if (all)
        return member < all->n_members ? resolve_location(builder, all->members[member], team)
                                       : LULL_NONE;
    return !team && member < builder->trace->n_processes ? (uint32_t)member : LULL_NONE;
}

/* Sets the members of a communicator; those with contiguous numbers need no list. */
static void set_members(struct comm_builder *builder, struct lull_comm *comm, uint32_t *members,
                        uint32_t count)
{
    bool contiguous = true;
    for (uint32_t r = 1; r < count; r++)
        contiguous &= members[r] == members[0] + r;
    comm->size = count;
    comm->first = count > 0 ? members[0] : 0;
    if (contiguous)
        return;
    uint32_t *copy = lull_arena_alloc(builder->trace->arena, count * sizeof *copy);
    for (uint32_t r = 0; r < count; r++)
        copy[r] = members[r];
    comm->members = copy;
}

static void resolve_group(struct comm_builder *builder, struct lull_comm *comm,
                          const struct lull_otf2_group *group)
{
    comm->paradigm = is_threading(group->paradigm) ? LULL_PARADIGM_OPENMP : LULL_PARADIGM_MPI;
    if (group->type == OTF2_GROUP_TYPE_COMM_SELF) {
        builder->archive->self_comms[comm - builder->trace->comms] = true;
        comm->size = 1;
        return;
    }
    const struct lull_otf2_group *all = comm_locations(builder->definitions, group->paradigm);
    if (group->flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS && all)
        group = all; /* the ranks in events are indices of the list of all */
    bool team = comm->paradigm == LULL_PARADIGM_OPENMP;
    uint32_t *members =
        lull_arena_alloc(builder->definitions->arena, (size_t)group->n_members * sizeof *members);
    for (uint32_t r = 0; r < group->n_members; r++) {
        members[r] = resolve_member(builder, group, all, r, team);
        if (members[r] != LULL_NONE)
            continue;
        members[r] = 0;
        lull_trace_add_quirk(builder->trace,
                             "a member of a communicator is not defined; the first process is "
                             "taken",
                             "'%s', rank %u", comm->name, r);
    }
    set_members(builder, comm, members, group->n_members);
}

/* Takes a communicator without its group as that of all processes. */
static void resolve_missing_group(struct comm_builder *builder, struct lull_comm *comm)
{
    comm->paradigm = LULL_PARADIGM_MPI;
    comm->size = builder->trace->n_processes;
    lull_trace_add_quirk(builder->trace,
                         "the group of a communicator is not defined; taken as all processes",
                         "'%s'", comm->name);
}

static void add_archive_comm(struct comm_builder *builder, const struct lull_otf2_comm *source,
                             OTF2_GroupRef group_ref, uint32_t remote)
{
    struct lull_comm *comm = &builder->trace->comms[builder->trace->n_comms++];
    *comm = (struct lull_comm){.parent = LULL_NONE, .remote = remote};
    comm->name = lull_arena_strdup(builder->trace->arena,
                                   lull_otf2_text(builder->definitions, source->name));
    const struct lull_otf2_group *group = find_group(builder, group_ref);
    if (group)
        resolve_group(builder, comm, group);
    else
        resolve_missing_group(builder, comm);
}

/* Whether a communicator is the program's own, and not one that the tracer made for itself (its
 * grid of processes x threads). */
static bool is_programs_own(const struct comm_builder *builder, const struct lull_otf2_comm *comm)
{
    const struct lull_otf2_group *group = find_group(builder, comm->group);
    return !group || is_threading(group->paradigm) || is_message_passing(group->paradigm);
}

static void find_parents(struct comm_builder *builder, const uint32_t *values)
{
    for (uint32_t i = 0; i < builder->definitions->comms.count; i++) {
        if (values[i] == LULL_NONE)
            continue;
        uint32_t parent =
            lull_otf2_find(&builder->archive->comms, builder->definitions->comms.items[i].parent);
        builder->trace->comms[values[i]].parent = parent;
    }
}

/* Finds the communicator of all processes in the order of their ranks. It says what a rank means
 * that its own communicator does not have. */
static uint32_t find_world(const struct lull_trace *trace)
{
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        const struct lull_comm *comm = &trace->comms[c];
        if (comm->paradigm == LULL_PARADIGM_MPI && comm->remote == LULL_NONE && !comm->members &&
            comm->first == 0 && comm->size == trace->n_processes)
            return c;
    }
    return LULL_NONE;
}

static void build_windows(struct comm_builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_otf2_archive *archive = builder->archive;
    struct lull_arena *arena = builder->trace->arena;
    uint32_t count = definitions->windows.count;
    archive->window_comms = lull_arena_alloc(arena, count * sizeof *archive->window_comms);
    for (uint32_t i = 0; i < count; i++)
        archive->window_comms[i] =
            lull_otf2_find(&archive->comms, definitions->windows.items[i].comm);
    lull_otf2_map_build(&archive->windows, arena, definitions->windows.items,
                        sizeof *definitions->windows.items, NULL, count);
}

void lull_otf2_build_comms(struct lull_trace *trace, struct lull_otf2_archive *archive,
                           struct lull_otf2_definitions *definitions,
                           const struct lull_otf2_map *location_index)
{
    struct comm_builder builder = {.trace = trace,
                                   .archive = archive,
                                   .definitions = definitions,
                                   .location_index = location_index};
    uint32_t count = definitions->comms.count;
    uint32_t *values = lull_arena_alloc(definitions->arena, count * sizeof *values);
    trace->comms = lull_arena_zero(trace->arena, (size_t)count * 2, sizeof *trace->comms);
    archive->self_comms = lull_arena_zero(trace->arena, (size_t)count * 2, sizeof(bool));
    index_groups(&builder);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_otf2_comm *comm = &definitions->comms.items[i];
        values[i] = LULL_NONE;
        if (!is_programs_own(&builder, comm))
            continue;
        values[i] = trace->n_comms;
        if (comm->remote_group == OTF2_UNDEFINED_GROUP) {
            add_archive_comm(&builder, comm, comm->group, LULL_NONE);
        } else { /* one for each of the two groups; events name the first */
            add_archive_comm(&builder, comm, comm->group, values[i] + 1);
            add_archive_comm(&builder, comm, comm->remote_group, values[i]);
        }
    }
    if (lull_otf2_map_build(&archive->comms, trace->arena, definitions->comms.items,
                            sizeof *definitions->comms.items, values, count) > 0)
        lull_trace_add_quirk(trace,
                             "the id of a communicator is defined more than once; the first "
                             "definition counts",
                             "global definitions");
    find_parents(&builder, values);
    archive->world = find_world(trace);
    build_windows(&builder);
}

/* ==== locations =============================================================================== */

/* ---- system tree ----------------------------------------------------------------------------- */

/* Makes the nodes of the system tree. */
static void otf2_build_nodes(struct otf2_builder *builder)
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
            (struct lull_node){.name = otf2_keep_text(builder, source->name),
                               .class_name = otf2_keep_text(builder, source->class_name),
                               .parent = lull_otf2_find(&builder->node_index, source->parent)};
    }
}

/* The node that a process runs on: the innermost node of the tree whose members share memory, or
 * else the node that the process is attached to. */
static uint32_t home_node(const struct otf2_builder *builder,
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
    uint32_t owner; /* index, in the definitions, of the location group that is its process */
    uint32_t application;
    uint32_t rank; /* of its process in the world; LULL_NONE: it is not in it */
    bool device;
    bool not_master; /* false: this location stands for the process in the world */
};

static int compare_drafts(const void *left, const void *right)
{
    const struct draft *a = left, *b = right;
    int order = otf2_compare(a->application, b->application);
    order = order ? order : otf2_compare(a->rank, b->rank);
    order = order ? order : otf2_compare(a->owner, b->owner);
    order = order ? order : otf2_compare(a->device, b->device);
    order = order ? order : otf2_compare(a->not_master, b->not_master);
    return order ? order : otf2_compare(a->source->id, b->source->id);
}

/* The process to which a group of device streams belongs. Before OTF2 3.0 such a group was a
 * process itself, or did not say to which one it belongs. */
static uint32_t owner_of(const struct otf2_builder *builder, uint32_t group)
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

static lull_status collect_drafts(struct otf2_builder *builder, struct draft *drafts,
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

/* Drops locations that are defined again: they would be read twice. */
static uint32_t drop_repeated(struct otf2_builder *builder, struct draft *drafts, uint32_t count)
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

/* Finds rank and application of the processes, from their locations and properties. */
static void rank_drafts(struct otf2_builder *builder, struct draft *drafts, uint32_t count)
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

static void add_process(struct otf2_builder *builder, const struct draft *draft,
                        const struct lull_otf2_map *shared_memory)
{
    struct lull_trace *trace = builder->trace;
    const struct lull_otf2_location_group *group =
        &builder->definitions->location_groups.items[draft->owner];
    struct lull_process *process = &trace->processes[trace->n_processes];
    const struct lull_process *previous = trace->n_processes ? process - 1 : NULL;
    bool same_application = previous && previous->application == draft->application;
    *process = (struct lull_process){.name = otf2_keep_text(builder, group->name),
                                     .application = draft->application,
                                     .rank = same_application ? previous->rank + 1 : 0,
                                     .node = home_node(builder, shared_memory, group->node)};
    trace->n_processes++;
}

static void add_drafted_locations(struct otf2_builder *builder, const struct draft *drafts,
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
    uint32_t numbers[2] = {0, 0}; /* of threads, and of streams */
    for (uint32_t i = 0; i < count; i++) {
        const struct draft *draft = &drafts[i];
        if (i == 0 || draft->owner != drafts[i - 1].owner) {
            add_process(builder, draft, &shared_memory);
            numbers[0] = numbers[1] = 0;
        }
        trace->locations[i] = (struct lull_location){
            .name = otf2_keep_text(builder, draft->source->name),
            .source_id = draft->source->id,
            .process = trace->n_processes - 1,
            .number = numbers[draft->device]++,
            .kind = draft->device ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD};
    }
    trace->n_locations = count;
}

static void index_locations(struct otf2_builder *builder)
{
    const struct lull_trace *trace = builder->trace;
    struct lull_arena *scratch = builder->definitions->arena;
    uint64_t *ids = lull_arena_alloc(scratch, trace->n_locations * sizeof *ids);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        ids[l] = trace->locations[l].source_id;
    lull_otf2_map_build(&builder->archive->locations, trace->arena, ids, sizeof *ids, NULL,
                        trace->n_locations);
}

/* What the archive says of streams, if lull wrote it. */
static void otf2_describe_streams(struct otf2_builder *builder)
{
    const struct lull_otf2_definitions *definitions = builder->definitions;
    for (uint32_t i = 0; builder->archive->own && i < definitions->location_texts.count; i++) {
        const struct lull_otf2_location_text *told = &definitions->location_texts.items[i];
        const uint32_t l = lull_otf2_find(&builder->archive->locations, told->id);
        if (l != LULL_NONE &&
            strcmp(lull_otf2_text(definitions, told->name), LULL_OTF2_STREAM) == 0)
            lull_stream_parse(builder->trace, l, lull_otf2_text(definitions, told->value),
                              &builder->devices_capacity);
    }
    lull_join_devices(builder->trace);
}

static lull_status otf2_build_locations(struct otf2_builder *builder, struct lull_error *err)
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
    otf2_describe_streams(builder);
    return LULL_OK;
}

/* ==== metrics ================================================================================= */

/* Counters, and the classes of metrics that are made of them. */

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

/* The unit of a metric. 10^-3 s is written as that: "ms" would need a table of prefixes. */
static const char *metric_unit(const struct otf2_builder *builder,
                               const struct lull_otf2_member *member)
{
    const char *unit = lull_otf2_text(builder->definitions, member->unit);
    struct lull_arena *arena = builder->trace->arena;
    if (member->exponent == 0)
        return lull_arena_strdup(arena, unit);
    return lull_arena_printf(arena, "%d^%" PRIi64 "%s%s", member->base == OTF2_BASE_BINARY ? 2 : 10,
                             member->exponent, *unit ? " " : "", unit);
}

/* The counter of a metric. Metrics of one name are one counter: tracers that do not unify ids
 * define a metric once per process. */
static uint32_t counter_of(const struct otf2_builder *builder,
                           const struct lull_otf2_member *member)
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

static bool is_state_class(const struct otf2_builder *builder, const struct lull_otf2_map *members,
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

static lull_status build_class(struct otf2_builder *builder, const struct lull_otf2_map *members,
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

/* Indexes the classes, and the instances of classes under their own ids: events may name either. */
static void index_classes(struct otf2_builder *builder)
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

static lull_status otf2_build_metrics(struct otf2_builder *builder, struct lull_error *err)
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

/* ==== regions ================================================================================= */

/* Whether a function belongs to a device's interface on the host, e.g. "cudaMemcpy" or
 * "cuLaunchKernel". Any other function of such a paradigm is a kernel. */
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

static void convert_region(const struct otf2_builder *builder,
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
    order = order ? order : otf2_compare(a->line, b->line);
    order = order ? order : otf2_compare(a->paradigm, b->paradigm);
    order = order ? order : otf2_compare(a->role, b->role);
    return order ? order : otf2_compare(a->parallel, b->parallel);
}

/* A region and its index; regions are sorted by `region`, which comes first. */
struct numbered_region {
    struct lull_region region;
    uint32_t index;
};

static int compare_numbered(const void *left, const void *right)
{
    const struct numbered_region *a = left, *b = right;
    int order = compare_regions(&a->region, &b->region);
    return order ? order : otf2_compare(a->index, b->index);
}

/* Regions that no definition makes: see add_copy_region. */
enum { COPY_REGIONS = 2 };

/* Makes one region of those that agree in everything: tracers that do not unify ids define a
 * function once per process. values[i] is the region of definition i. */
static void merge_regions(struct otf2_builder *builder, struct numbered_region *sorted,
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
    /* The regions are numbered in the order of the file. */
    struct lull_region *unsorted =
        lull_arena_alloc(builder->definitions->arena, count * sizeof *unsorted);
    for (uint32_t i = 0; i < count; i++)
        unsorted[sorted[i].index] = sorted[i].region;
    trace->regions =
        lull_arena_alloc(trace->arena, (count + COPY_REGIONS) * sizeof *trace->regions);
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

static uint32_t add_copy_region(struct lull_trace *trace, const char *name)
{
    trace->regions[trace->n_regions] =
        (struct lull_region){.name = lull_arena_strdup(trace->arena, name),
                             .file = lull_arena_strdup(trace->arena, ""),
                             .paradigm = LULL_PARADIGM_DEVICE,
                             .role = LULL_ROLE_DATA_TRANSFER};
    return trace->n_regions++;
}

/* Regions for copies on device streams. In archives that lull wrote, these are defined already. */
static void add_copy_regions(struct otf2_builder *builder)
{
    struct lull_trace *trace = builder->trace;
    struct lull_otf2_archive *archive = builder->archive;
    bool has_devices = false;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        has_devices |= trace->locations[l].kind == LULL_LOCATION_DEVICE;
    archive->copy_to_device = archive->copy_from_device = LULL_NONE;
    if (!has_devices || archive->own || builder->definitions->windows.count == 0)
        return;
    archive->copy_to_device = add_copy_region(trace, "copy to device");
    archive->copy_from_device = add_copy_region(trace, "copy from device");
}

static void otf2_build_regions(struct otf2_builder *builder)
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
    add_copy_regions(builder);
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

/* ==== build =================================================================================== */

/* Which parameter of lull's own a name is; LULL_OTF2_DEVICE_PARAMETERS: none. */
static uint32_t find_device_parameter(const char *name)
{
    uint32_t which = 0;
    while (which < LULL_OTF2_DEVICE_PARAMETERS &&
           strcmp(name, lull_otf2_device_parameter_names[which]) != 0)
        which++;
    return which;
}

static void build_markers(struct otf2_builder *builder)
{
    struct lull_otf2_definitions *definitions = builder->definitions;
    struct lull_trace *trace = builder->trace;
    const uint32_t count = definitions->parameters.count;
    uint32_t *values = lull_arena_alloc(definitions->arena, count * sizeof *values);
    trace->markers = lull_arena_zero(trace->arena, count, sizeof *trace->markers);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_otf2_parameter *source = &definitions->parameters.items[i];
        const char *name = lull_otf2_text(definitions, source->name);
        const uint32_t own =
            builder->archive->own ? find_device_parameter(name) : LULL_OTF2_DEVICE_PARAMETERS;
        values[i] = own;
        if (own < LULL_OTF2_DEVICE_PARAMETERS)
            continue;
        values[i] += trace->n_markers;
        trace->markers[trace->n_markers++] = (struct lull_marker){
            .name = otf2_keep_text(builder, source->name), .source_id = source->id};
    }
    lull_otf2_map_build(&builder->archive->parameters, trace->arena, definitions->parameters.items,
                        sizeof *definitions->parameters.items, values, count);
}

lull_status lull_otf2_build(struct lull_trace *trace, struct lull_otf2_archive *archive,
                            OTF2_Reader *reader, struct lull_otf2_clock_properties *ret_clock,
                            struct lull_error *err)
{
    struct lull_otf2_definitions definitions = {.arena = lull_arena_create(NULL)};
    struct otf2_builder builder = {.trace = trace, .archive = archive, .definitions = &definitions};
    lull_status status = lull_otf2_share_definitions(trace, &definitions, reader, err);
    if (status == LULL_OK) {
        otf2_build_nodes(&builder);
        status = otf2_build_locations(&builder, err);
    }
    if (status == LULL_OK) {
        otf2_build_regions(&builder);
        lull_otf2_build_comms(trace, archive, &definitions, &archive->locations);
        build_markers(&builder);
        status = otf2_build_metrics(&builder, err);
    }
    *ret_clock = definitions.clock;
    lull_arena_destroy(definitions.arena);
    return status;
}
