/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing an archive: events go to one OTF2_EvtWriter per location as they come, definitions at
 * the end, when it is known what the events refer to. */

#include "base/hash.h"
#include "base/output_file.h"
#include "base/sorted.h"
#include "trace/format/otf2/otf2_archive.h"
#include "trace/stream_text.h"

#include <stdlib.h>
#include <string.h>

/* Ids in the archives that lull writes. Definitions of a kind are numbered from 0 without gaps, as
 * libotf2's tools expect. Processes, locations, regions, counters and markers have their indices as
 * ids. */
enum { OTF2_IO_HANDLE = 0, OTF2_STREAM_ATTRIBUTE = 0 };

/* Counters that were read together: a metric class. */
struct otf2_counter_set {
    uint32_t *counters;
    uint8_t count;
};

/* The state of writing one location. */
struct otf2_output_location {
    OTF2_EvtWriter *events; /* NULL before its first event */
    uint64_t n_events;
    uint64_t *totals; /* per counter; NULL before the first reading */
    uint32_t last_set;
    /* An Enter that is not written yet: what the call submits may belong to it. */
    bool enter_held;
    uint32_t enter_region;
    int64_t enter_time;
    bool call_open; /* a CALL has begun and not ended */
    uint32_t call_region;
    int64_t call_end;
};

struct otf2_output {
    const struct lull_trace *trace;
    struct lull_arena *arena;
    struct lull_output *files;
    OTF2_Archive *archive;
    struct otf2_output_location *locations;
    struct otf2_counter_set *sets;
    size_t sets_capacity;
    uint32_t n_sets;
    uint32_t first_set_class; /* metric class of set 0; that of states, if any, comes before it */
    /* Per communicator its id; the two groups of an inter-communicator share one. */
    uint32_t *comm_ids;
    bool *self_comms;    /* per communicator: every process has its own, as MPI_COMM_SELF */
    uint32_t world_comm; /* id of the communicator of all processes */
    /* The trace has no such communicator, and it is written if it is used. */
    bool own_world;
    bool world_used;
    uint32_t *windows; /* by id, in the order of first use: index or LULL_NONE */
    size_t windows_capacity;
    uint32_t n_windows;
    uint64_t io_operations;
    OTF2_AttributeList *attributes; /* empty between two records */
    bool submits;                   /* device parameters were written */
};

/* ---- where events go ------------------------------------------------------------------------- */

/* Where the events of a block go: to the file of their location. */
struct otf2_target {
    struct otf2_output *output;
    struct otf2_output_location *location;
    OTF2_EvtWriter *writer;
    uint32_t process;
};

struct otf2_address;
static struct otf2_address otf2_address(struct otf2_output *output, uint32_t comm, uint32_t self,
                                        int32_t process, uint32_t none_rank);

/* How OTF2 names a process: the id of a communicator, and a rank in it. A process that is not in
 * the communicator of its event is named by its rank in the world. */
struct otf2_address {
    OTF2_CommRef comm;
    uint32_t rank;
};

/* ==== addresses =============================================================================== */

/* Communicators have the ids that the archive gives them; processes are ranks in a communicator. */

/* The group in which ranks of an event are meant: between two groups it is the other one. */
static const struct lull_comm *addressed_group(const struct lull_trace *trace, uint32_t comm,
                                               uint32_t self)
{
    const struct lull_comm *group = &trace->comms[comm];
    if (group->remote == LULL_NONE || lull_comm_rank(group, self) == LULL_NONE)
        return group;
    return &trace->comms[group->remote];
}

static bool is_ascending(const struct lull_comm *comm)
{
    return comm->members && comm->size > 1 && comm->members[0] < comm->members[comm->size - 1];
}

/* The rank of a process in a communicator; LULL_NONE: it has none. Most communicators have their
 * members in ascending order, so bisection is tried first. */
static uint32_t rank_of(const struct lull_comm *comm, uint32_t process)
{
    if (is_ascending(comm)) {
        const size_t at =
            lull_sorted_first_u32(comm->members, comm->size, sizeof *comm->members, 0, process);
        if (at < comm->size && comm->members[at] == process)
            return (uint32_t)at;
    }
    return lull_comm_rank(comm, process);
}

static bool is_world(const struct lull_trace *trace, const struct lull_comm *comm)
{
    return comm->paradigm != LULL_PARADIGM_OPENMP && comm->remote == LULL_NONE && !comm->members &&
           comm->first == 0 && comm->size == trace->n_processes;
}

/* Gives every communicator its id. Two groups that are each other's remote are one
 * inter-communicator in OTF2. */
static void otf2_number_comms(struct otf2_output *output)
{
    const struct lull_trace *trace = output->trace;
    uint32_t count = 0;
    output->comm_ids = lull_arena_zero(output->arena, trace->n_comms, sizeof *output->comm_ids);
    output->self_comms = lull_arena_zero(output->arena, trace->n_comms, sizeof(bool));
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        uint32_t remote = trace->comms[c].remote;
        bool numbered = remote != LULL_NONE && remote < c && trace->comms[remote].remote == c;
        output->comm_ids[c] = numbered ? output->comm_ids[remote] : count++;
    }
    output->world_comm = count;
    output->own_world = true;
    for (uint32_t c = trace->n_comms; c-- > 0;)
        if (is_world(trace, &trace->comms[c])) {
            output->world_comm = output->comm_ids[c];
            output->own_world = false;
        }
}

static struct otf2_address otf2_address(struct otf2_output *output, uint32_t comm, uint32_t self,
                                        int32_t process, uint32_t none_rank)
{
    const struct lull_trace *trace = output->trace;
    bool known = comm < trace->n_comms && trace->comms[comm].paradigm != LULL_PARADIGM_OPENMP;
    if (known && process < 0)
        return (struct otf2_address){output->comm_ids[comm], none_rank};
    if (known) {
        const struct lull_comm *group = addressed_group(trace, comm, self);
        uint32_t rank = rank_of(group, (uint32_t)process);
        if (rank == LULL_NONE && group->size == 1 && (uint32_t)process == self) {
            output->self_comms[comm] = true; /* such as MPI_COMM_SELF */
            rank = 0;
        }
        if (rank != LULL_NONE)
            return (struct otf2_address){output->comm_ids[comm], rank};
    }
    output->world_used = true;
    return (struct otf2_address){output->world_comm, process < 0 ? none_rank : (uint32_t)process};
}

/* The root of a collective operation. Between two groups it is a rank of the other group, this
 * process (ROOT_SELF), or another process of its own group (ROOT_THIS_GROUP). */
static struct otf2_address otf2_root_address(struct otf2_output *output, uint32_t self,
                                             const struct lull_event *event)
{
    const struct lull_trace *trace = output->trace;
    int32_t root = event->collective.root;
    uint32_t none = OTF2_COLLECTIVE_ROOT_NONE;
    bool between = event->id < trace->n_comms && trace->comms[event->id].remote != LULL_NONE;
    if (between && root >= 0 && (uint32_t)root == self) {
        root = LULL_ANY;
        none = OTF2_COLLECTIVE_ROOT_SELF;
    } else if (between && root >= 0) {
        const struct lull_comm *remote = addressed_group(trace, event->id, self);
        if (rank_of(remote, (uint32_t)root) == LULL_NONE) {
            root = LULL_ANY;
            none = OTF2_COLLECTIVE_ROOT_THIS_GROUP;
        }
    }
    return otf2_address(output, event->id, self, root, none);
}

/* ==== definitions ============================================================================= */

/* Writes the definitions of an archive. The first call that fails is remembered in `code`, and the
 * calls after it do no harm. */

struct writer {
    struct otf2_output *output;
    const struct lull_trace *trace;
    OTF2_GlobalDefWriter *global;
    OTF2_ErrorCode code;
    uint32_t *node_ids;       /* by index; LULL_NONE: not written yet */
    struct lull_hash strings; /* those already written, with their ids */
};

static void check(struct writer *writer, OTF2_ErrorCode code)
{
    if (writer->code == OTF2_SUCCESS)
        writer->code = code;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The id of a string. The string is written when its id is first asked for. */
static OTF2_StringRef string_id(struct writer *writer, const char *text)
{
    bool is_new;
    uint64_t *known =
        lull_hash_add(&writer->strings, text, strlen(text), writer->strings.count, &is_new);
    if (!known) {
        check(writer, OTF2_ERROR_MEM_ALLOC_FAILED);
        return OTF2_UNDEFINED_STRING;
    }
    OTF2_StringRef id = (OTF2_StringRef)*known;
    if (is_new)
        check(writer, OTF2_GlobalDefWriter_WriteString(writer->global, id, text));
    return id;
}

static OTF2_StringRef optional_string(struct writer *writer, const char *text)
{
    return *text ? string_id(writer, text) : OTF2_UNDEFINED_STRING;
}

/* ---- machine and processes ------------------------------------------------------------------- */

static void write_clock(struct writer *writer)
{
    const struct lull_trace *trace = writer->trace;
    check(writer, OTF2_GlobalDefWriter_WriteClockProperties(
                      writer->global, 1000000000, 0, (uint64_t)trace->duration,
                      trace->start_realtime > 0 ? (uint64_t)trace->start_realtime
                                                : OTF2_UNDEFINED_TIMESTAMP));
}

static void write_node(struct writer *writer, uint32_t node, const char *name,
                       const char *class_name, uint32_t parent)
{
    OTF2_StringRef name_id = string_id(writer, name), class_id = string_id(writer, class_name);
    check(writer, OTF2_GlobalDefWriter_WriteSystemTreeNode(
                      writer->global, node, name_id, class_id,
                      parent == LULL_NONE ? OTF2_UNDEFINED_SYSTEM_TREE_NODE : parent));
}

/* Writes a node of the system tree with the nodes above it that are not written yet: in OTF2
 * parents come first, and ids go up. Returns how many nodes are written now. */
static uint32_t write_tree_to(struct writer *writer, uint32_t node, uint32_t n_written)
{
    const struct lull_trace *trace = writer->trace;
    enum { DEEPEST = 64 };
    uint32_t chain[DEEPEST], depth = 0;
    for (; node < trace->n_nodes && writer->node_ids[node] == LULL_NONE && depth < DEEPEST;
         node = trace->nodes[node].parent) {
        chain[depth++] = node;
        /* Marks it as visited, against circles. */
        writer->node_ids[node] = OTF2_UNDEFINED_SYSTEM_TREE_NODE - 1;
    }
    while (depth > 0) {
        uint32_t next = chain[--depth], parent = trace->nodes[next].parent;
        writer->node_ids[next] = n_written++;
        write_node(writer, writer->node_ids[next], trace->nodes[next].name,
                   trace->nodes[next].class_name,
                   parent < trace->n_nodes ? writer->node_ids[parent] : LULL_NONE);
    }
    return n_written;
}

/* Writes the system tree. Nodes that processes run on are said to share memory. */
static void write_system_tree(struct writer *writer)
{
    const struct lull_trace *trace = writer->trace;
    struct lull_arena *arena = writer->output->arena;
    if (trace->n_nodes == 0) {
        write_node(writer, 0, "machine", "machine", LULL_NONE);
        return;
    }
    writer->node_ids = lull_arena_alloc(arena, trace->n_nodes * sizeof *writer->node_ids);
    for (uint32_t n = 0; n < trace->n_nodes; n++)
        writer->node_ids[n] = LULL_NONE;
    for (uint32_t n = 0, written = 0; n < trace->n_nodes; n++)
        written = write_tree_to(writer, n, written);
    bool *home = lull_arena_zero(arena, trace->n_nodes, sizeof *home);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        uint32_t node = trace->processes[p].node;
        if (node >= trace->n_nodes || home[node])
            continue;
        home[node] = true;
        check(writer,
              OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(
                  writer->global, writer->node_ids[node], OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
}

static uint32_t node_of(const struct writer *writer, const struct lull_process *process)
{
    return process->node < writer->trace->n_nodes ? writer->node_ids[process->node] : 0;
}

static void write_process(struct writer *writer, uint32_t p)
{
    const struct lull_process *process = &writer->trace->processes[p];
    OTF2_StringRef name = string_id(writer, process->name);
    check(writer, OTF2_GlobalDefWriter_WriteLocationGroup(
                      writer->global, p, name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                      node_of(writer, process), OTF2_UNDEFINED_LOCATION_GROUP));
    if (process->application > 0) {
        OTF2_StringRef property = string_id(writer, LULL_OTF2_APPLICATION);
        check(writer, OTF2_GlobalDefWriter_WriteLocationGroupProperty(
                          writer->global, p, property, OTF2_TYPE_UINT32,
                          (OTF2_AttributeValue){.uint32 = process->application}));
    }
}

/* Writes what is known of a stream of a device. */
static void write_stream(struct writer *writer, uint32_t location)
{
    const char *text = lull_stream_print(writer->trace, location, writer->output->arena);
    const OTF2_StringRef name = string_id(writer, LULL_OTF2_STREAM);
    check(writer, OTF2_GlobalDefWriter_WriteLocationProperty(
                      writer->global, location, name, OTF2_TYPE_STRING,
                      (OTF2_AttributeValue){.stringRef = string_id(writer, text)}));
}

/* Writes the processes and their locations. The streams of a process form a location group of their
 * own, behind the groups of all processes. */
static void write_locations(struct writer *writer)
{
    const struct lull_trace *trace = writer->trace;
    uint32_t *device_groups =
        lull_arena_alloc(writer->output->arena, trace->n_processes * sizeof *device_groups);
    uint32_t n_groups = trace->n_processes;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        write_process(writer, p);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        if (process->n_threads == process->n_locations)
            continue;
        device_groups[p] = n_groups++;
        check(writer, OTF2_GlobalDefWriter_WriteLocationGroup(
                          writer->global, device_groups[p], string_id(writer, process->name),
                          OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, node_of(writer, process), p));
    }
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        bool device = location->kind == LULL_LOCATION_DEVICE;
        OTF2_StringRef name = string_id(writer, location->name);
        check(writer,
              OTF2_GlobalDefWriter_WriteLocation(
                  writer->global, l, name,
                  device ? OTF2_LOCATION_TYPE_ACCELERATOR_STREAM : OTF2_LOCATION_TYPE_CPU_THREAD,
                  writer->output->locations[l].n_events,
                  device ? device_groups[location->process] : location->process));
        if (location->stream)
            write_stream(writer, l);
    }
}

/* ---- regions --------------------------------------------------------------------------------- */

static void write_paradigms(struct writer *writer)
{
    static const struct {
        OTF2_Paradigm paradigm;
        OTF2_ParadigmClass class;
        const char *name;
    } known[] = {
        {OTF2_PARADIGM_MPI, OTF2_PARADIGM_CLASS_PROCESS, "MPI"},
        {OTF2_PARADIGM_OPENMP, OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN, "OpenMP"},
        {OTF2_PARADIGM_PTHREAD, OTF2_PARADIGM_CLASS_THREAD_CREATE_WAIT, "POSIX threads"},
        {OTF2_PARADIGM_CUDA, OTF2_PARADIGM_CLASS_ACCELERATOR, "accelerator"},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        OTF2_StringRef name = string_id(writer, known[k].name);
        check(writer, OTF2_GlobalDefWriter_WriteParadigm(writer->global, known[k].paradigm, name,
                                                         known[k].class));
    }
}

static void write_region_definition(struct writer *writer, uint32_t r)
{
    const struct lull_region *region = &writer->trace->regions[r];
    OTF2_StringRef name = string_id(writer, region->name);
    OTF2_StringRef file = optional_string(writer, region->file);
    OTF2_StringRef description = string_id(writer, lull_otf2_describe_region(region));
    OTF2_RegionRole role = region->paradigm == LULL_PARADIGM_IO ? OTF2_REGION_ROLE_FILE_IO
                                                                : lull_otf2_role_to(region->role);
    check(writer, OTF2_GlobalDefWriter_WriteRegion(writer->global, r, name, name, description, role,
                                                   lull_otf2_paradigm_to(region->paradigm),
                                                   OTF2_REGION_FLAG_NONE, file, region->line,
                                                   region->line));
}

/* ---- communicators --------------------------------------------------------------------------- */

/* The groups that are written: of all processes; of all locations, if there are thread teams; of a
 * process alone, if there are communicators like MPI_COMM_SELF; of the members of every
 * communicator; and of the world. */
struct groups {
    uint32_t self;
    uint32_t first_comm; /* the group of communicator 0 */
    uint64_t *members;   /* room for the largest group */
};

static void write_group(struct writer *writer, uint32_t id, OTF2_GroupType type,
                        OTF2_Paradigm paradigm, uint32_t count, const uint64_t *members)
{
    OTF2_StringRef name = string_id(writer, "");
    check(writer, OTF2_GlobalDefWriter_WriteGroup(writer->global, id, name, type, paradigm,
                                                  OTF2_GROUP_FLAG_NONE, count, members));
}

static void write_location_lists(struct writer *writer, struct groups *groups)
{
    const struct lull_trace *trace = writer->trace;
    uint32_t most = trace->n_locations;
    bool teams = false, selves = false;
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        selves |= writer->output->self_comms[c];
        most = trace->comms[c].size > most ? trace->comms[c].size : most;
        teams |= trace->comms[c].paradigm == LULL_PARADIGM_OPENMP;
    }
    groups->members = lull_arena_alloc(writer->output->arena, most * sizeof *groups->members);
    groups->self = teams ? 2 : 1;
    groups->first_comm = groups->self + selves;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        groups->members[p] = trace->processes[p].first_location;
    write_group(writer, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, trace->n_processes,
                groups->members);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        groups->members[l] = l;
    if (teams)
        write_group(writer, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP,
                    trace->n_locations, groups->members);
    if (selves)
        write_group(writer, groups->self, OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI, 0, NULL);
}

static void write_comm_group(struct writer *writer, const struct groups *groups, uint32_t c)
{
    const struct lull_comm *comm = &writer->trace->comms[c];
    for (uint32_t r = 0; r < comm->size; r++)
        groups->members[r] = lull_comm_member(comm, r);
    write_group(writer, groups->first_comm + c, OTF2_GROUP_TYPE_COMM_GROUP,
                comm->paradigm == LULL_PARADIGM_OPENMP ? OTF2_PARADIGM_OPENMP : OTF2_PARADIGM_MPI,
                comm->size, groups->members);
}

static void write_comm(struct writer *writer, const struct groups *groups, uint32_t c)
{
    const struct lull_trace *trace = writer->trace;
    const struct lull_comm *comm = &trace->comms[c];
    const uint32_t *ids = writer->output->comm_ids;
    OTF2_StringRef name = string_id(writer, comm->name);
    OTF2_CommRef parent = comm->parent < trace->n_comms && ids[comm->parent] < ids[c]
                              ? ids[comm->parent]
                              : OTF2_UNDEFINED_COMM;
    bool between = comm->remote != LULL_NONE && trace->comms[comm->remote].remote == c;
    if (!between)
        check(writer,
              OTF2_GlobalDefWriter_WriteComm(writer->global, ids[c], name, groups->first_comm + c,
                                             parent, OTF2_COMM_FLAG_NONE));
    else if (c < comm->remote)
        check(writer, OTF2_GlobalDefWriter_WriteInterComm(
                          writer->global, ids[c], name, groups->first_comm + c,
                          groups->first_comm + comm->remote, parent, OTF2_COMM_FLAG_NONE));
}

static void write_world(struct writer *writer, const struct groups *groups)
{
    const struct lull_trace *trace = writer->trace;
    uint32_t group = groups->first_comm + trace->n_comms;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        groups->members[p] = p;
    write_group(writer, group, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, trace->n_processes,
                groups->members);
    OTF2_StringRef name = string_id(writer, "all processes");
    check(writer, OTF2_GlobalDefWriter_WriteComm(writer->global, writer->output->world_comm, name,
                                                 group, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

static void write_comms(struct writer *writer)
{
    const struct lull_trace *trace = writer->trace;
    bool world =
        writer->output->own_world && (writer->output->world_used || writer->output->n_windows > 0);
    if (trace->n_comms == 0 && trace->n_processes == 1 && !world)
        return;
    struct groups groups;
    write_location_lists(writer, &groups);
    for (uint32_t c = 0; c < trace->n_comms; c++)
        write_comm_group(writer, &groups, c);
    for (uint32_t c = 0; c < trace->n_comms; c++)
        write_comm(writer, &groups, c);
    if (world)
        write_world(writer, &groups);
}

static void write_windows(struct writer *writer)
{
    OTF2_StringRef name = string_id(writer, "");
    for (uint32_t w = 0; w < writer->output->n_windows; w++)
        check(writer,
              OTF2_GlobalDefWriter_WriteRmaWin(writer->global, w, name, writer->output->world_comm,
                                               OTF2_RMA_WIN_FLAG_NONE));
}

/* ---- metrics, markers, files ----------------------------------------------------------------- */

static void write_counter(struct writer *writer, uint32_t c)
{
    const struct lull_counter *counter = &writer->trace->counters[c];
    OTF2_StringRef name = string_id(writer, counter->name);
    OTF2_StringRef unit = string_id(writer, counter->unit);
    OTF2_MetricType type =
        strncmp(counter->name, "PAPI_", 5) == 0 ? OTF2_METRIC_TYPE_PAPI : OTF2_METRIC_TYPE_OTHER;
    check(writer, OTF2_GlobalDefWriter_WriteMetricMember(
                      writer->global, c, name, name, type, OTF2_METRIC_ACCUMULATED_START,
                      OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, unit));
}

static void write_state_class(struct writer *writer)
{
    static const char *const names[] = {LULL_OTF2_STATE, LULL_OTF2_STATE_DURATION};
    static const char *const units[] = {"", "ns"};
    OTF2_MetricMemberRef members[2];
    for (uint32_t m = 0; m < 2; m++) {
        members[m] = writer->trace->n_counters + m;
        OTF2_StringRef name = string_id(writer, names[m]), unit = string_id(writer, units[m]);
        check(writer, OTF2_GlobalDefWriter_WriteMetricMember(
                          writer->global, members[m], name, name, OTF2_METRIC_TYPE_OTHER,
                          OTF2_METRIC_ABSOLUTE_NEXT, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, unit));
    }
    check(writer,
          OTF2_GlobalDefWriter_WriteMetricClass(writer->global, 0, 2, members,
                                                OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
}

static void write_metrics(struct writer *writer)
{
    for (uint32_t c = 0; c < writer->trace->n_counters; c++)
        write_counter(writer, c);
    if (writer->trace->has_states)
        write_state_class(writer);
    for (uint32_t s = 0; s < writer->output->n_sets; s++) {
        const struct otf2_counter_set *set = &writer->output->sets[s];
        check(writer, OTF2_GlobalDefWriter_WriteMetricClass(
                          writer->global, writer->output->first_set_class + s, set->count,
                          set->counters, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
    }
}

static void write_markers(struct writer *writer)
{
    for (uint32_t m = 0; m < writer->trace->n_markers; m++) {
        OTF2_StringRef name = string_id(writer, writer->trace->markers[m].name);
        check(writer, OTF2_GlobalDefWriter_WriteParameter(writer->global, m, name,
                                                          OTF2_PARAMETER_TYPE_UINT64));
    }
}

/* Device parameters have their ids behind those of markers. The attribute is Score-P's. */
static void write_device_parameters(struct writer *writer)
{
    if (!writer->output->submits)
        return;
    for (uint32_t p = 0; p < LULL_OTF2_DEVICE_PARAMETERS; p++) {
        const OTF2_StringRef name = string_id(writer, lull_otf2_device_parameter_names[p]);
        check(writer,
              OTF2_GlobalDefWriter_WriteParameter(writer->global, writer->trace->n_markers + p,
                                                  name, OTF2_PARAMETER_TYPE_UINT64));
    }
    const OTF2_StringRef name = string_id(writer, "CUDA_STREAM_REF"),
                         description = string_id(writer, "Referenced CUDA stream");
    check(writer, OTF2_GlobalDefWriter_WriteAttribute(writer->global, OTF2_STREAM_ATTRIBUTE, name,
                                                      description, OTF2_TYPE_LOCATION));
}

/* Writes one file with one handle, which all operations use: the trace does not say which files
 * were used. */
static void write_files(struct writer *writer)
{
    if (writer->output->io_operations == 0)
        return;
    OTF2_StringRef paradigm = string_id(writer, "POSIX I/O"), file = string_id(writer, "(files)");
    check(writer, OTF2_GlobalDefWriter_WriteIoParadigm(
                      writer->global, 0, paradigm, paradigm, OTF2_IO_PARADIGM_CLASS_SERIAL,
                      OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL));
    check(writer, OTF2_GlobalDefWriter_WriteIoRegularFile(writer->global, 0, file, 0));
    check(writer, OTF2_GlobalDefWriter_WriteIoHandle(writer->global, OTF2_IO_HANDLE, file, 0, 0,
                                                     OTF2_IO_HANDLE_FLAG_NONE, OTF2_UNDEFINED_COMM,
                                                     OTF2_UNDEFINED_IO_HANDLE));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void write_global(struct writer *writer)
{
    const struct lull_trace *trace = writer->trace;
    write_clock(writer);
    write_paradigms(writer);
    write_system_tree(writer);
    write_locations(writer);
    for (uint32_t r = 0; r < trace->n_regions; r++)
        write_region_definition(writer, r);
    write_comms(writer);
    write_windows(writer);
    write_metrics(writer);
    write_markers(writer);
    write_device_parameters(writer);
    write_files(writer);
}

/* Writes an empty file of definitions for each location, because readers of OTF2 expect it. lull's
 * events need no translation and no correction. */
static OTF2_ErrorCode write_local(struct otf2_output *output)
{
    OTF2_ErrorCode code = OTF2_Archive_OpenDefFiles(output->archive);
    for (uint32_t l = 0; code == OTF2_SUCCESS && l < output->trace->n_locations; l++) {
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(output->archive, l);
        code = local ? OTF2_Archive_CloseDefWriter(output->archive, local) : OTF2_ERROR_INVALID;
    }
    return code == OTF2_SUCCESS ? OTF2_Archive_CloseDefFiles(output->archive) : code;
}

/* Writes everything but the events, after all events. */
static OTF2_ErrorCode otf2_write_definitions(struct otf2_output *output)
{
    struct writer writer = {.output = output, .trace = output->trace};
    check(&writer, write_local(output));
    writer.global = OTF2_Archive_GetGlobalDefWriter(output->archive);
    if (!writer.global)
        return OTF2_ERROR_INVALID;
    write_global(&writer);
    lull_hash_free(&writer.strings);
    check(&writer, OTF2_Archive_CloseGlobalDefWriter(output->archive, writer.global));
    return writer.code;
}

/* ==== events ================================================================================== */

/* Writes the Enter that is held. `next` is the event behind it, or NULL. Where the call submits something to a stream, the
 * Enter says so in the way of Score-P. */
static OTF2_ErrorCode write_held_enter(struct otf2_target *target, const struct lull_event *next)
{
    struct otf2_output_location *location = target->location;
    OTF2_AttributeList *attributes = target->output->attributes;
    OTF2_ErrorCode code = OTF2_SUCCESS;
    if (!location->enter_held)
        return OTF2_SUCCESS;
    location->enter_held = false;
    if (next && next->kind == LULL_EVENT_SUBMIT && next->operation.location != LULL_NONE)
        code = OTF2_AttributeList_AddLocationRef(attributes, OTF2_STREAM_ATTRIBUTE,
                                                 next->operation.location);
    return code == OTF2_SUCCESS
               ? OTF2_EvtWriter_Enter(target->writer, attributes, (uint64_t)location->enter_time,
                                      location->enter_region)
               : code;
}

/* Leaves the CALL that is open. */
static OTF2_ErrorCode otf2_leave_call(struct otf2_target *target)
{
    const OTF2_ErrorCode code = write_held_enter(target, NULL);
    target->location->call_open = false;
    if (code != OTF2_SUCCESS)
        return code;
    return OTF2_EvtWriter_Leave(target->writer, NULL, (uint64_t)target->location->call_end,
                                target->location->call_region);
}

/* Whether an event at the very end of a call is still a part of it. */
static bool belongs_to_call(uint8_t kind)
{
    return (LULL_MASK_MESSAGES | LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |
            LULL_MASK(LULL_EVENT_COLLECTIVE_END) | LULL_MASK(LULL_EVENT_RMA) |
            LULL_MASK(LULL_EVENT_IO) | LULL_MASK_DEVICES) &
           LULL_MASK(kind);
}

static bool ends_call(const struct otf2_output_location *location, const struct lull_event *event)
{
    bool is_region = event->kind == LULL_EVENT_ENTER || event->kind == LULL_EVENT_LEAVE ||
                     event->kind == LULL_EVENT_CALL;
    return is_region || event->time > location->call_end ||
           (event->time == location->call_end && !belongs_to_call(event->kind));
}

static OTF2_ErrorCode write_region_record(struct otf2_target *target,
                                          const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time;
    if (event->kind == LULL_EVENT_LEAVE)
        return OTF2_EvtWriter_Leave(target->writer, NULL, time, event->id);
    if (event->kind == LULL_EVENT_CALL) {
        target->location->call_open = true;
        target->location->call_region = event->id;
        target->location->call_end = event->time + event->duration;
    }
    target->location->enter_held = true;
    target->location->enter_region = event->id;
    target->location->enter_time = event->time;
    return OTF2_SUCCESS;
}

/* The rank that stands for a peer that is no process: OpenMPI's number for it. */
static uint32_t rank_without_process(int32_t peer)
{
    return peer == LULL_PROC_NULL ? UINT32_MAX - 1 : UINT32_MAX;
}

static OTF2_ErrorCode write_message(struct otf2_target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, bytes = event->message.bytes;
    uint64_t request = event->message.request;
    uint32_t tag = (uint32_t)event->message.tag;
    struct otf2_address peer =
        otf2_address(target->output, event->id, target->process, event->message.peer,
                     rank_without_process(event->message.peer));
    bool blocking = request == LULL_NO_REQUEST;
    if (event->kind == LULL_EVENT_SEND && blocking)
        return OTF2_EvtWriter_MpiSend(target->writer, NULL, time, peer.rank, peer.comm, tag, bytes);
    if (event->kind == LULL_EVENT_SEND)
        return OTF2_EvtWriter_MpiIsend(target->writer, NULL, time, peer.rank, peer.comm, tag, bytes,
                                       request);
    if (blocking)
        return OTF2_EvtWriter_MpiRecv(target->writer, NULL, time, peer.rank, peer.comm, tag, bytes);
    return OTF2_EvtWriter_MpiIrecv(target->writer, NULL, time, peer.rank, peer.comm, tag, bytes,
                                   request);
}

static OTF2_ErrorCode write_request(struct otf2_target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, request = event->message.request;
    switch (event->kind) {
    case LULL_EVENT_SEND_DONE:
        return OTF2_EvtWriter_MpiIsendComplete(target->writer, NULL, time, request);
    case LULL_EVENT_RECV_POST:
        return OTF2_EvtWriter_MpiIrecvRequest(target->writer, NULL, time, request);
    case LULL_EVENT_REQUEST_TEST:
        return OTF2_EvtWriter_MpiRequestTest(target->writer, NULL, time, request);
    default:
        return OTF2_EvtWriter_MpiRequestCancelled(target->writer, NULL, time, request);
    }
}

static OTF2_ErrorCode write_collective(struct otf2_target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, request = event->collective.request;
    bool blocking = request == LULL_NO_REQUEST;
    if (event->kind == LULL_EVENT_COLLECTIVE_BEGIN)
        return blocking ? OTF2_EvtWriter_MpiCollectiveBegin(target->writer, NULL, time)
                        : OTF2_EvtWriter_NonBlockingCollectiveRequest(target->writer, NULL, time,
                                                                      request);
    struct otf2_address root = otf2_root_address(target->output, target->process, event);
    OTF2_CollectiveOp op = lull_otf2_collective_to(event->op);
    if (blocking)
        return OTF2_EvtWriter_MpiCollectiveEnd(target->writer, NULL, time, op, root.comm, root.rank,
                                               event->collective.sent, event->collective.received);
    return OTF2_EvtWriter_NonBlockingCollectiveComplete(target->writer, NULL, time, op, root.comm,
                                                        root.rank, event->collective.sent,
                                                        event->collective.received, request);
}

static uint32_t window_id(struct otf2_output *output, uint32_t window)
{
    enum { MOST_WINDOWS = 4096 }; /* further windows share the last id */
    for (uint32_t w = 0; w < output->n_windows; w++)
        if (output->windows[w] == window)
            return w;
    if (output->n_windows == MOST_WINDOWS)
        return MOST_WINDOWS - 1;
    output->windows = lull_arena_grow(output->arena, output->windows, &output->windows_capacity,
                                      (size_t)output->n_windows + 1, sizeof *output->windows);
    output->windows[output->n_windows] = window;
    return output->n_windows++;
}

/* Writes a one-sided transfer. All windows are written as windows of the world, so targets are
 * ranks of the world. */
static OTF2_ErrorCode write_rma(struct otf2_target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, bytes = event->transfer.bytes;
    uint32_t window = window_id(target->output, event->id);
    uint32_t remote = event->transfer.target < 0 ? rank_without_process(event->transfer.target)
                                                 : (uint32_t)event->transfer.target;
    switch (event->op) {
    case LULL_RMA_PUT:
        return OTF2_EvtWriter_RmaPut(target->writer, NULL, time, window, remote, bytes, 0);
    case LULL_RMA_GET:
        return OTF2_EvtWriter_RmaGet(target->writer, NULL, time, window, remote, bytes, 0);
    case LULL_RMA_ATOMIC:
        return OTF2_EvtWriter_RmaAtomic(target->writer, NULL, time, window, remote,
                                        OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, bytes, 0, 0);
    default:
        return OTF2_EvtWriter_RmaSync(target->writer, NULL, time, window, remote,
                                      OTF2_RMA_SYNC_TYPE_MEMORY);
    }
}

static OTF2_ErrorCode write_io(struct otf2_target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, bytes = event->transfer.bytes;
    uint64_t id = target->output->io_operations++;
    if (event->op == LULL_IO_OPEN)
        return OTF2_EvtWriter_IoCreateHandle(target->writer, NULL, time, OTF2_IO_HANDLE,
                                             OTF2_IO_ACCESS_MODE_READ_WRITE,
                                             OTF2_IO_CREATION_FLAG_NONE, OTF2_IO_STATUS_FLAG_NONE);
    if (event->op == LULL_IO_CLOSE)
        return OTF2_EvtWriter_IoDestroyHandle(target->writer, NULL, time, OTF2_IO_HANDLE);
    OTF2_IoOperationMode mode = event->op == LULL_IO_READ    ? OTF2_IO_OPERATION_MODE_READ
                                : event->op == LULL_IO_WRITE ? OTF2_IO_OPERATION_MODE_WRITE
                                                             : OTF2_IO_OPERATION_MODE_FLUSH;
    OTF2_ErrorCode code = OTF2_EvtWriter_IoOperationBegin(
        target->writer, NULL, time, OTF2_IO_HANDLE, mode, OTF2_IO_OPERATION_FLAG_NONE, bytes, id);
    if (code != OTF2_SUCCESS)
        return code;
    return OTF2_EvtWriter_IoOperationComplete(target->writer, NULL, time, OTF2_IO_HANDLE, bytes,
                                              id);
}

static OTF2_ErrorCode write_thread(struct otf2_target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, number = event->number;
    uint32_t high = (uint32_t)(number >> 32), low = (uint32_t)number;
    OTF2_EvtWriter *writer = target->writer;
    uint32_t team = event->id < target->output->trace->n_comms ? target->output->comm_ids[event->id]
                                                               : OTF2_UNDEFINED_COMM;
    switch (event->kind) {
    case LULL_EVENT_FORK:
        return OTF2_EvtWriter_ThreadFork(writer, NULL, time, OTF2_PARADIGM_OPENMP, low);
    case LULL_EVENT_JOIN:
        return OTF2_EvtWriter_ThreadJoin(writer, NULL, time, OTF2_PARADIGM_OPENMP);
    case LULL_EVENT_TEAM_BEGIN:
        return OTF2_EvtWriter_ThreadTeamBegin(writer, NULL, time, team);
    case LULL_EVENT_TEAM_END:
        return OTF2_EvtWriter_ThreadTeamEnd(writer, NULL, time, team);
    case LULL_EVENT_THREAD_BEGIN:
        return OTF2_EvtWriter_ThreadBegin(writer, NULL, time, OTF2_UNDEFINED_COMM, number);
    case LULL_EVENT_THREAD_END:
        return OTF2_EvtWriter_ThreadEnd(writer, NULL, time, OTF2_UNDEFINED_COMM, number);
    case LULL_EVENT_THREAD_CREATE:
        return OTF2_EvtWriter_ThreadCreate(writer, NULL, time, OTF2_UNDEFINED_COMM, number);
    case LULL_EVENT_THREAD_WAIT_END: /* OTF2 has no event for barriers */
        return event->op == LULL_THREAD_WAIT_JOIN
                   ? OTF2_EvtWriter_ThreadWait(writer, NULL, time, OTF2_UNDEFINED_COMM, number)
                   : OTF2_SUCCESS;
    case LULL_EVENT_TASK_CREATE:
        return OTF2_EvtWriter_ThreadTaskCreate(writer, NULL, time, OTF2_UNDEFINED_COMM, high, low);
    case LULL_EVENT_TASK_SWITCH:
        return OTF2_EvtWriter_ThreadTaskSwitch(writer, NULL, time, OTF2_UNDEFINED_COMM, high, low);
    case LULL_EVENT_TASK_COMPLETE:
        return OTF2_EvtWriter_ThreadTaskComplete(writer, NULL, time, OTF2_UNDEFINED_COMM, high,
                                                 low);
    case LULL_EVENT_LOCK_ACQUIRE: /* an id has 32 bits: an address is folded */
        return OTF2_EvtWriter_ThreadAcquireLock(writer, NULL, time, OTF2_PARADIGM_OPENMP,
                                                high ^ low, 0);
    default:
        return OTF2_EvtWriter_ThreadReleaseLock(writer, NULL, time, OTF2_PARADIGM_OPENMP,
                                                high ^ low, 0);
    }
}

/* ---- readings -------------------------------------------------------------------------------- */

enum { MOST_MEMBERS = 255 }; /* the most counters of a metric class */

static bool same_set(const struct otf2_counter_set *set,
                     const struct lull_counter_reading *readings, uint32_t count)
{
    if (set->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (set->counters[i] != readings[i].counter)
            return false;
    return true;
}

/* Finds the set of the counters in these readings, or adds it. A location mostly reads the same
 * counters as before, and a program has few sets. */
static uint32_t find_set(struct otf2_target *target, const struct lull_counter_reading *readings,
                         uint32_t count)
{
    struct otf2_output *output = target->output;
    uint32_t last = target->location->last_set;
    if (last < output->n_sets && same_set(&output->sets[last], readings, count))
        return last;
    for (uint32_t s = 0; s < output->n_sets; s++)
        if (same_set(&output->sets[s], readings, count))
            return s;
    output->sets = lull_arena_grow(output->arena, output->sets, &output->sets_capacity,
                                   (size_t)output->n_sets + 1, sizeof *output->sets);
    struct otf2_counter_set *set = &output->sets[output->n_sets];
    set->counters = lull_arena_alloc(output->arena, count * sizeof *set->counters);
    set->count = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++)
        set->counters[i] = readings[i].counter;
    return output->n_sets++;
}

/* Writes readings as totals since the beginning, which every OTF2 tool understands. */
static OTF2_ErrorCode write_readings(struct otf2_target *target, const struct lull_event *event)
{
    OTF2_Type types[MOST_MEMBERS];
    OTF2_MetricValue values[MOST_MEMBERS];
    struct otf2_output_location *location = target->location;
    if (!location->totals)
        location->totals = lull_arena_zero(target->output->arena, target->output->trace->n_counters,
                                           sizeof *location->totals);
    for (uint32_t first = 0; first < event->readings.count; first += MOST_MEMBERS) {
        const struct lull_counter_reading *readings = event->readings.values + first;
        uint32_t count = event->readings.count - first;
        if (count > MOST_MEMBERS)
            count = MOST_MEMBERS;
        for (uint32_t i = 0; i < count; i++) {
            types[i] = OTF2_TYPE_UINT64;
            values[i].unsigned_int = location->totals[readings[i].counter] += readings[i].value;
        }
        location->last_set = find_set(target, readings, count);
        OTF2_ErrorCode code = OTF2_EvtWriter_Metric(
            target->writer, NULL, (uint64_t)event->time,
            target->output->first_set_class + location->last_set, (uint8_t)count, types, values);
        if (code != OTF2_SUCCESS)
            return code;
    }
    return OTF2_SUCCESS;
}

static OTF2_ErrorCode write_state_record(struct otf2_target *target, const struct lull_event *event)
{
    const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
    const OTF2_MetricValue values[] = {{.unsigned_int = event->id},
                                       {.unsigned_int = (uint64_t)event->duration}};
    return OTF2_EvtWriter_Metric(target->writer, NULL, (uint64_t)event->time, 0, 2, types, values);
}

static OTF2_ErrorCode write_device_parameter(struct otf2_target *target,
                                             const struct lull_event *event, unsigned which,
                                             uint64_t value)
{
    return OTF2_EvtWriter_ParameterUnsignedInt(target->writer, NULL, (uint64_t)event->time,
                                               target->output->trace->n_markers + which, value);
}

/* Writes what threads submit to devices, and which operations these run: as parameters of the region that is open. */
static OTF2_ErrorCode write_submission(struct otf2_target *target, const struct lull_event *event)
{
    const bool runs = event->kind == LULL_EVENT_OPERATION;
    const bool depends = event->kind == LULL_EVENT_DEPEND;
    const struct {
        bool told;
        uint8_t which;
        uint64_t value;
    } parameters[] = {
        {event->operation.location != LULL_NONE, LULL_OTF2_LOCATION, event->operation.location},
        {runs && event->id != LULL_NONE, LULL_OTF2_REGION, event->id},
        {runs && event->operation.bytes > 0, LULL_OTF2_BYTES, event->operation.bytes},
        {depends && event->operation.other > 0, LULL_OTF2_OTHER, event->operation.other},
        {runs && event->operation.sequence != LULL_NO_SEQUENCE, LULL_OTF2_SEQUENCE,
         event->operation.sequence},
        {runs && event->operation.peer >= 0, LULL_OTF2_PEER, (uint64_t)event->operation.peer},
        {true,
         runs                               ? LULL_OTF2_RUN
         : depends                          ? LULL_OTF2_DEPEND
         : event->kind == LULL_EVENT_SUBMIT ? LULL_OTF2_SUBMIT
                                            : LULL_OTF2_WAIT,
         event->operation.number},
    };
    OTF2_ErrorCode code = OTF2_SUCCESS;
    target->output->submits = true;
    for (size_t p = 0; p < sizeof parameters / sizeof *parameters && code == OTF2_SUCCESS; p++)
        if (parameters[p].told)
            code = write_device_parameter(target, event, parameters[p].which, parameters[p].value);
    return code;
}

static OTF2_ErrorCode write_tracer(struct otf2_target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time;
    switch (event->kind) {
    case LULL_EVENT_FLUSH:
        return OTF2_EvtWriter_BufferFlush(target->writer, NULL, time,
                                          time + (uint64_t)event->duration);
    case LULL_EVENT_MEASURE_OFF:
        return OTF2_EvtWriter_MeasurementOnOff(target->writer, NULL, time, OTF2_MEASUREMENT_OFF);
    case LULL_EVENT_MEASURE_ON:
        return OTF2_EvtWriter_MeasurementOnOff(target->writer, NULL, time, OTF2_MEASUREMENT_ON);
    default:
        return OTF2_EvtWriter_ParameterUnsignedInt(target->writer, NULL, time, event->id,
                                                   event->number);
    }
}

/* ---- dispatch -------------------------------------------------------------------------------- */

typedef OTF2_ErrorCode write_function(struct otf2_target *target, const struct lull_event *event);

/* For events that OTF2 does not have. */
static OTF2_ErrorCode write_nothing(struct otf2_target *target, const struct lull_event *event)
{
    (void)target;
    (void)event;
    return OTF2_SUCCESS;
}

static write_function *const write_functions[LULL_EVENT_KINDS] = {
    [LULL_EVENT_ENTER] = write_region_record,
    [LULL_EVENT_LEAVE] = write_region_record,
    [LULL_EVENT_CALL] = write_region_record,
    [LULL_EVENT_STATE] = write_state_record,
    [LULL_EVENT_SEND] = write_message,
    [LULL_EVENT_SEND_DONE] = write_request,
    [LULL_EVENT_RECV_POST] = write_request,
    [LULL_EVENT_RECV] = write_message,
    [LULL_EVENT_REQUEST_TEST] = write_request,
    [LULL_EVENT_REQUEST_CANCELLED] = write_request,
    [LULL_EVENT_REQUEST_FREED] = write_nothing,
    [LULL_EVENT_COLLECTIVE_BEGIN] = write_collective,
    [LULL_EVENT_COLLECTIVE_END] = write_collective,
    [LULL_EVENT_RMA] = write_rma,
    [LULL_EVENT_IO] = write_io,
    [LULL_EVENT_FORK] = write_thread,
    [LULL_EVENT_JOIN] = write_thread,
    [LULL_EVENT_TEAM_BEGIN] = write_thread,
    [LULL_EVENT_TEAM_END] = write_thread,
    [LULL_EVENT_THREAD_BEGIN] = write_thread,
    [LULL_EVENT_THREAD_END] = write_thread,
    [LULL_EVENT_THREAD_CREATE] = write_thread,
    [LULL_EVENT_THREAD_WAIT_BEGIN] = write_nothing,
    [LULL_EVENT_THREAD_WAIT_END] = write_thread,
    [LULL_EVENT_TASK_CREATE] = write_thread,
    [LULL_EVENT_TASK_SWITCH] = write_thread,
    [LULL_EVENT_TASK_COMPLETE] = write_thread,
    [LULL_EVENT_LOCK_ACQUIRE] = write_thread,
    [LULL_EVENT_LOCK_RELEASE] = write_thread,
    [LULL_EVENT_COUNTERS] = write_readings,
    [LULL_EVENT_FLUSH] = write_tracer,
    [LULL_EVENT_MEASURE_OFF] = write_tracer,
    [LULL_EVENT_MEASURE_ON] = write_tracer,
    [LULL_EVENT_MARKER] = write_tracer,
    [LULL_EVENT_SAMPLE] = write_nothing,
    [LULL_EVENT_SUBMIT] = write_submission,
    [LULL_EVENT_DEPEND] = write_submission,
    [LULL_EVENT_DEVICE_WAIT] = write_submission,
    [LULL_EVENT_OPERATION] = write_submission,
};

static OTF2_ErrorCode write_event_record(struct otf2_target *target, const struct lull_event *event)
{
    if (target->location->call_open && ends_call(target->location, event)) {
        OTF2_ErrorCode code = otf2_leave_call(target);
        if (code != OTF2_SUCCESS)
            return code;
    }
    const OTF2_ErrorCode code = write_held_enter(target, event);
    return code == OTF2_SUCCESS ? write_functions[event->kind](target, event) : code;
}

static OTF2_ErrorCode otf2_write_events(struct otf2_target *target, const struct lull_block *block)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (uint32_t i = 0; code == OTF2_SUCCESS && i < block->count; i++)
        code = write_event_record(target, &block->events[i]);
    return code;
}

/* ==== writer ================================================================================== */

/* libotf2 holds up to one chunk per location, so chunks are small if there are more locations. */
enum { FEW_LOCATIONS = 256 };

static const uint64_t large_chunk = UINT64_C(1) << 20;

static lull_status fail_output(const struct otf2_output *output, OTF2_ErrorCode code,
                               struct lull_error *err)
{
    return lull_otf2_fail(err, code, "%s: cannot write the archive",
                          lull_output_path(output->files));
}

static OTF2_ErrorCode open_location(struct otf2_output *output, uint32_t location)
{
    if (!output->locations[location].events)
        output->locations[location].events = OTF2_Archive_GetEvtWriter(output->archive, location);
    return output->locations[location].events ? OTF2_SUCCESS : OTF2_ERROR_INVALID;
}

static lull_status write_archive_block(void *state, const struct lull_block *block,
                                       struct lull_error *err)
{
    struct otf2_output *output = state;
    lull_otf2_quiet();
    OTF2_ErrorCode code = open_location(output, block->location);
    struct otf2_target target = {.output = output,
                                 .location = &output->locations[block->location],
                                 .writer = output->locations[block->location].events,
                                 .process = output->trace->locations[block->location].process};
    if (code == OTF2_SUCCESS)
        code = otf2_write_events(&target, block);
    return code == OTF2_SUCCESS ? LULL_OK : fail_output(output, code, err);
}

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location,
                                   void *caller, bool final)
{
    (void)user;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

/* The size of a chunk of definitions. A record must fit into a chunk, and the record of a group is
 * as long as the run has processes. It is no larger than that needs, because readers clear a chunk
 * for every location. */
static uint64_t definition_chunk(const struct lull_trace *trace)
{
    enum { MEMBER = 10, OTHER_FIELDS = 4096 };
    uint64_t most = trace->n_locations;
    for (uint32_t c = 0; c < trace->n_comms; c++)
        most = trace->comms[c].size > most ? trace->comms[c].size : most;
    uint64_t size = OTF2_CHUNK_SIZE_MIN;
    while (size < OTF2_CHUNK_SIZE_MAX && size < OTHER_FIELDS + most * MEMBER)
        size *= 2;
    return size;
}

static OTF2_ErrorCode set_up(struct otf2_output *output)
{
    /* No callback after flushes: it would add BufferFlush records to the events. */
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    const struct lull_trace *trace = output->trace;
    uint64_t chunk = trace->n_locations <= FEW_LOCATIONS ? large_chunk : OTF2_CHUNK_SIZE_MIN;
    output->archive =
        OTF2_Archive_Open(lull_output_path(output->files), "traces", OTF2_FILEMODE_WRITE, chunk,
                          definition_chunk(trace), OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!output->archive)
        return OTF2_ERROR_INVALID;
    OTF2_ErrorCode code = OTF2_Archive_SetFlushCallbacks(output->archive, &flush, NULL);
    if (code == OTF2_SUCCESS)
        code = OTF2_Archive_SetSerialCollectiveCallbacks(output->archive);
    if (code == OTF2_SUCCESS)
        code = OTF2_Archive_SetCreator(output->archive, LULL_OTF2_CREATOR);
    if (code == OTF2_SUCCESS && *trace->producer)
        code = OTF2_Archive_SetProperty(output->archive, LULL_OTF2_PRODUCER, trace->producer, true);
    for (uint32_t s = 0; code == OTF2_SUCCESS && s < trace->n_states; s++) {
        char name[48], value[512];
        lull_otf2_state_property(name, sizeof name, s);
        lull_otf2_state_print(value, sizeof value, &trace->states[s]);
        code = OTF2_Archive_SetProperty(output->archive, name, value, true);
    }
    output->attributes = OTF2_AttributeList_New();
    if (!output->attributes)
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    return code == OTF2_SUCCESS ? OTF2_Archive_OpenEvtFiles(output->archive) : code;
}

/* Closes the files of all locations. Each location gets a file, even without events, so that a
 * missing one is known to be lost. */
static OTF2_ErrorCode finish_locations(struct otf2_output *output)
{
    for (uint32_t l = 0; l < output->trace->n_locations; l++) {
        struct otf2_output_location *location = &output->locations[l];
        OTF2_ErrorCode code = open_location(output, l);
        struct otf2_target target = {
            .output = output, .location = location, .writer = location->events};
        if (code == OTF2_SUCCESS)
            code = write_held_enter(&target, NULL);
        if (code == OTF2_SUCCESS && location->call_open)
            code = otf2_leave_call(&target);
        if (code == OTF2_SUCCESS)
            code = OTF2_EvtWriter_GetNumberOfEvents(location->events, &location->n_events);
        if (code == OTF2_SUCCESS)
            code = OTF2_Archive_CloseEvtWriter(output->archive, location->events);
        if (code != OTF2_SUCCESS)
            return code;
    }
    return OTF2_Archive_CloseEvtFiles(output->archive);
}

static OTF2_ErrorCode finish_archive(struct otf2_output *output)
{
    OTF2_ErrorCode code = finish_locations(output);
    if (code == OTF2_SUCCESS)
        code = otf2_write_definitions(output);
    if (code != OTF2_SUCCESS)
        return code;
    code = OTF2_Archive_Close(output->archive);
    output->archive = NULL;
    return code;
}

static void release_output(struct otf2_output *output)
{
    OTF2_Archive_Close(output->archive);
    OTF2_AttributeList_Delete(output->attributes);
    free(output->locations);
    lull_arena_destroy(output->arena);
    free(output);
}

static lull_status close_archive_writer(void *state, bool commit, struct lull_error *err)
{
    struct otf2_output *output = state;
    lull_status status = LULL_OK;
    lull_otf2_quiet();
    if (commit) {
        OTF2_ErrorCode code = finish_archive(output);
        if (code != OTF2_SUCCESS)
            status = fail_output(output, code, err);
    }
    struct lull_output *files = output->files;
    release_output(output);
    if (commit && status == LULL_OK)
        return lull_output_commit(files, err);
    lull_output_discard(files);
    return status;
}

lull_status lull_otf2_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err)
{
    struct lull_output *files;
    lull_status status = lull_output_begin(path, true, replace, &files, err);
    if (status != LULL_OK)
        return status;
    struct otf2_output *output = calloc(1, sizeof *output);
    struct otf2_output_location *locations = calloc(trace->n_locations, sizeof *output->locations);
    if (!output || !locations) {
        free(locations);
        free(output);
        lull_output_discard(files);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    output->trace = trace;
    output->arena = lull_arena_create(NULL);
    output->files = files;
    output->locations = locations;
    output->first_set_class = trace->has_states;
    otf2_number_comms(output);
    lull_otf2_quiet();
    OTF2_ErrorCode code = set_up(output);
    if (code != OTF2_SUCCESS) {
        status = fail_output(output, code, err);
        release_output(output);
        lull_output_discard(files);
        return status;
    }
    *ret_writer = (struct lull_writer){
        .state = output, .block = write_archive_block, .close = close_archive_writer};
    return LULL_OK;
}
