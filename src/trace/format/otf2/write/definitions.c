/* The definitions of an archive that is written. The first call that fails is remembered in
 * output->code, and the rest of the calls do no harm. */
#include "trace/format/otf2/write/writer.h"

#include "base/hash.h"

#include <string.h>

struct writer {
    struct lull_otf2_output *output;
    const struct lull_trace *trace;
    OTF2_GlobalDefWriter *global;
    OTF2_ErrorCode code;
    uint32_t *node_ids;       /* per tree node */
    struct lull_hash strings; /* already written, with their ids */
};

static void check(struct writer *writer, OTF2_ErrorCode code)
{
    if (writer->code == OTF2_SUCCESS)
        writer->code = code;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The id of a string, written when it is needed first. */
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

/* Parents come first in OTF2, and ids go up: nodes are numbered as they are written. */
static uint32_t write_tree_to(struct writer *writer, uint32_t node, uint32_t n_written)
{
    const struct lull_trace *trace = writer->trace;
    enum { DEEPEST = 64 };
    uint32_t chain[DEEPEST], depth = 0;
    for (; node < trace->n_nodes && writer->node_ids[node] == LULL_NONE && depth < DEEPEST;
         node = trace->nodes[node].parent) {
        chain[depth++] = node;
        writer->node_ids[node] = OTF2_UNDEFINED_SYSTEM_TREE_NODE - 1; /* visited: no circles */
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

/* Nodes that processes run on share memory by definition. */
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

/* The streams of a process form a location group of their own, behind those of the processes. */
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

/* Groups: all processes, all locations if there are thread teams, a process alone if there are
 * such communicators, every communicator's members, and those of the world. */
struct groups {
    uint32_t self;
    uint32_t first_comm; /* group of communicator 0 */
    uint64_t *members;   /* room for the largest */
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
        const struct lull_otf2_counter_set *set = &writer->output->sets[s];
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

/* Which files were used is not known: all operations go through one handle on one file. */
static void write_files(struct writer *writer)
{
    if (writer->output->io_operations == 0)
        return;
    OTF2_StringRef paradigm = string_id(writer, "POSIX I/O"), file = string_id(writer, "(files)");
    check(writer, OTF2_GlobalDefWriter_WriteIoParadigm(
                      writer->global, 0, paradigm, paradigm, OTF2_IO_PARADIGM_CLASS_SERIAL,
                      OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL));
    check(writer, OTF2_GlobalDefWriter_WriteIoRegularFile(writer->global, 0, file, 0));
    check(writer, OTF2_GlobalDefWriter_WriteIoHandle(
                      writer->global, LULL_OTF2_IO_HANDLE, file, 0, 0, OTF2_IO_HANDLE_FLAG_NONE,
                      OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE));
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
    write_files(writer);
}

/* Our events need no translation and no correction; the files exist because libotf2's readers,
 * and those of others, expect them. */
static OTF2_ErrorCode write_local(struct lull_otf2_output *output)
{
    OTF2_ErrorCode code = OTF2_Archive_OpenDefFiles(output->archive);
    for (uint32_t l = 0; code == OTF2_SUCCESS && l < output->trace->n_locations; l++) {
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(output->archive, l);
        code = local ? OTF2_Archive_CloseDefWriter(output->archive, local) : OTF2_ERROR_INVALID;
    }
    return code == OTF2_SUCCESS ? OTF2_Archive_CloseDefFiles(output->archive) : code;
}

OTF2_ErrorCode lull_otf2_write_definitions(struct lull_otf2_output *output)
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
