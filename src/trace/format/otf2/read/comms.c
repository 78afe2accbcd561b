/* Communicators: comm -> group -> list of all communicating locations -> location -> process. */
#include "trace/format/otf2/read/definitions.h"

struct comm_builder {
    struct lull_trace *trace;
    struct lull_otf2_archive *archive;
    struct lull_otf2_definitions *definitions;
    const struct lull_otf2_map *location_index;
    struct lull_otf2_map groups;
};

/* Paradigms whose ranks are threads of a process. */
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

/* Where an id is defined twice, the group of ranks of a message passing paradigm counts: EZTrace
 * uses the ids of communicators again for the list of their locations and for thread teams. */
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

/* What a communicator consists of: processes, or locations in the case of a thread team.
 * LULL_NONE for a member that is not defined. */
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

/* Contiguous members need no list. */
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
        group = all; /* events give ranks in the list of all */
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

/* Without its group a communicator is taken as that of all processes. */
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

/* Communicators of the tracer itself (its processes x threads grid) are none of the program's. */
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

/* The communicator of all processes in the order of their ranks: what a rank means when its own
 * communicator does not know it. */
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
