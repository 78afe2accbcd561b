/* Writing an archive: events go to one OTF2_EvtWriter per location as they come, definitions at
 * the end, when it is known what the events refer to. */
#include "trace/format/otf2/write/writer.h"

#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libotf2 holds up to one chunk per location: less where there are many. */
enum { FEW_LOCATIONS = 256 };
static const uint64_t large_chunk = UINT64_C(1) << 20;

/* ---- states in properties -------------------------------------------------------------------- */

void lull_otf2_state_property(char *buffer, size_t size, uint32_t index)
{
    snprintf(buffer, size, "LULL::STATE_%" PRIu32, index);
}

void lull_otf2_state_print(char *buffer, size_t size, const struct lull_state *state)
{
    snprintf(buffer, size, "%" PRIu32 " %s %s", state->number, lull_activity_id(state->activity),
             state->name);
}

bool lull_otf2_state_parse(struct lull_state *ret_state, const char *text, struct lull_arena *arena)
{
    uint32_t number;
    char activity[32];
    int used = 0;
    if (sscanf(text, "%" SCNu32 " %31s%n", &number, activity, &used) != 2)
        return false;
    for (unsigned a = 0; a < LULL_ACTIVITIES; a++) {
        if (strcmp(activity, lull_activity_id(a)) != 0)
            continue;
        const char *name = text + used;
        name += *name == ' ';
        *ret_state = (struct lull_state){lull_arena_strdup(arena, name), number, (uint8_t)a};
        return true;
    }
    return false;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Between groups ranks are those of the other group. */
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

/* Most communicators list their members in ascending order: tried first, by bisection. */
static uint32_t rank_of(const struct lull_comm *comm, uint32_t process)
{
    if (is_ascending(comm)) {
        uint32_t low = 0, high = comm->size;
        while (low + 1 < high) {
            uint32_t middle = low + (high - low) / 2;
            if (comm->members[middle] <= process)
                low = middle;
            else
                high = middle;
        }
        if (comm->members[low] == process)
            return low;
    }
    return lull_comm_rank(comm, process);
}

static bool is_world(const struct lull_trace *trace, const struct lull_comm *comm)
{
    return comm->paradigm != LULL_PARADIGM_OPENMP && comm->remote == LULL_NONE && !comm->members &&
           comm->first == 0 && comm->size == trace->n_processes;
}

/* Two groups that are each other's remote are one inter-communicator in OTF2. */
static void number_comms(struct lull_otf2_output *output)
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

struct lull_otf2_address lull_otf2_address(struct lull_otf2_output *output, uint32_t comm,
                                           uint32_t self, int32_t process, uint32_t none_rank)
{
    const struct lull_trace *trace = output->trace;
    bool known = comm < trace->n_comms && trace->comms[comm].paradigm != LULL_PARADIGM_OPENMP;
    if (known && process < 0)
        return (struct lull_otf2_address){output->comm_ids[comm], none_rank};
    if (known) {
        const struct lull_comm *group = addressed_group(trace, comm, self);
        uint32_t rank = rank_of(group, (uint32_t)process);
        if (rank == LULL_NONE && group->size == 1 && (uint32_t)process == self) {
            output->self_comms[comm] = true; /* such as MPI_COMM_SELF */
            rank = 0;
        }
        if (rank != LULL_NONE)
            return (struct lull_otf2_address){output->comm_ids[comm], rank};
    }
    output->world_used = true;
    return (struct lull_otf2_address){output->world_comm,
                                      process < 0 ? none_rank : (uint32_t)process};
}

/* ---- events ---------------------------------------------------------------------------------- */

/* One event on its way into the file of its location. */
struct target {
    struct lull_otf2_output *output;
    struct lull_otf2_output_location *location;
    OTF2_EvtWriter *writer;
    uint32_t process;
};

static OTF2_ErrorCode leave_call(struct target *target)
{
    target->location->call_open = false;
    return OTF2_EvtWriter_Leave(target->writer, NULL, (uint64_t)target->location->call_end,
                                target->location->call_region);
}

/* Whether an event at the very end of a call is still a part of it. */
static bool belongs_to_call(uint8_t kind)
{
    return (LULL_MASK_MESSAGES | LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |
            LULL_MASK(LULL_EVENT_COLLECTIVE_END) | LULL_MASK(LULL_EVENT_RMA) |
            LULL_MASK(LULL_EVENT_IO)) &
           LULL_MASK(kind);
}

static bool ends_call(const struct lull_otf2_output_location *location,
                      const struct lull_event *event)
{
    bool is_region = event->kind == LULL_EVENT_ENTER || event->kind == LULL_EVENT_LEAVE ||
                     event->kind == LULL_EVENT_CALL;
    return is_region || event->time > location->call_end ||
           (event->time == location->call_end && !belongs_to_call(event->kind));
}

static OTF2_ErrorCode write_region(struct target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time;
    if (event->kind == LULL_EVENT_LEAVE)
        return OTF2_EvtWriter_Leave(target->writer, NULL, time, event->id);
    if (event->kind == LULL_EVENT_CALL) {
        target->location->call_open = true;
        target->location->call_region = event->id;
        target->location->call_end = event->time + event->duration;
    }
    return OTF2_EvtWriter_Enter(target->writer, NULL, time, event->id);
}

/* How a peer without a process is written: as OpenMPI numbers them. */
static uint32_t rank_without_process(int32_t peer)
{
    return peer == LULL_PROC_NULL ? UINT32_MAX - 1 : UINT32_MAX;
}

static OTF2_ErrorCode write_message(struct target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, bytes = event->message.bytes;
    uint64_t request = event->message.request;
    uint32_t tag = (uint32_t)event->message.tag;
    struct lull_otf2_address peer =
        lull_otf2_address(target->output, event->id, target->process, event->message.peer,
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

static OTF2_ErrorCode write_request(struct target *target, const struct lull_event *event)
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

/* Between groups a root is this process, or somebody in its own group, or a rank of the other. */
static struct lull_otf2_address root_address(struct target *target, const struct lull_event *event)
{
    const struct lull_trace *trace = target->output->trace;
    int32_t root = event->collective.root;
    uint32_t none = OTF2_COLLECTIVE_ROOT_NONE;
    bool between = event->id < trace->n_comms && trace->comms[event->id].remote != LULL_NONE;
    if (between && root >= 0 && (uint32_t)root == target->process) {
        root = LULL_ANY;
        none = OTF2_COLLECTIVE_ROOT_SELF;
    } else if (between && root >= 0) {
        const struct lull_comm *remote = addressed_group(trace, event->id, target->process);
        if (rank_of(remote, (uint32_t)root) == LULL_NONE) {
            root = LULL_ANY;
            none = OTF2_COLLECTIVE_ROOT_THIS_GROUP;
        }
    }
    return lull_otf2_address(target->output, event->id, target->process, root, none);
}

static OTF2_ErrorCode write_collective(struct target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, request = event->collective.request;
    bool blocking = request == LULL_NO_REQUEST;
    if (event->kind == LULL_EVENT_COLLECTIVE_BEGIN)
        return blocking ? OTF2_EvtWriter_MpiCollectiveBegin(target->writer, NULL, time)
                        : OTF2_EvtWriter_NonBlockingCollectiveRequest(target->writer, NULL, time,
                                                                      request);
    struct lull_otf2_address root = root_address(target, event);
    OTF2_CollectiveOp op = lull_otf2_collective_to(event->op);
    if (blocking)
        return OTF2_EvtWriter_MpiCollectiveEnd(target->writer, NULL, time, op, root.comm, root.rank,
                                               event->collective.sent, event->collective.received);
    return OTF2_EvtWriter_NonBlockingCollectiveComplete(target->writer, NULL, time, op, root.comm,
                                                        root.rank, event->collective.sent,
                                                        event->collective.received, request);
}

static uint32_t window_id(struct lull_otf2_output *output, uint32_t window)
{
    enum { MOST_WINDOWS = 4096 }; /* those beyond share the last id */
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

/* All windows are written as windows of the world, so targets are ranks of the world. */
static OTF2_ErrorCode write_rma(struct target *target, const struct lull_event *event)
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

static OTF2_ErrorCode write_io(struct target *target, const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, bytes = event->transfer.bytes;
    uint64_t id = target->output->io_operations++;
    if (event->op == LULL_IO_OPEN)
        return OTF2_EvtWriter_IoCreateHandle(target->writer, NULL, time, LULL_OTF2_IO_HANDLE,
                                             OTF2_IO_ACCESS_MODE_READ_WRITE,
                                             OTF2_IO_CREATION_FLAG_NONE, OTF2_IO_STATUS_FLAG_NONE);
    if (event->op == LULL_IO_CLOSE)
        return OTF2_EvtWriter_IoDestroyHandle(target->writer, NULL, time, LULL_OTF2_IO_HANDLE);
    OTF2_IoOperationMode mode = event->op == LULL_IO_READ    ? OTF2_IO_OPERATION_MODE_READ
                                : event->op == LULL_IO_WRITE ? OTF2_IO_OPERATION_MODE_WRITE
                                                             : OTF2_IO_OPERATION_MODE_FLUSH;
    OTF2_ErrorCode code =
        OTF2_EvtWriter_IoOperationBegin(target->writer, NULL, time, LULL_OTF2_IO_HANDLE, mode,
                                        OTF2_IO_OPERATION_FLAG_NONE, bytes, id);
    if (code != OTF2_SUCCESS)
        return code;
    return OTF2_EvtWriter_IoOperationComplete(target->writer, NULL, time, LULL_OTF2_IO_HANDLE,
                                              bytes, id);
}

static OTF2_ErrorCode write_thread(struct target *target, const struct lull_event *event)
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
        return OTF2_EvtWriter_ThreadBegin(writer, NULL, time, OTF2_UNDEFINED_COMM, 0);
    case LULL_EVENT_THREAD_END:
        return OTF2_EvtWriter_ThreadEnd(writer, NULL, time, OTF2_UNDEFINED_COMM, 0);
    case LULL_EVENT_TASK_CREATE:
        return OTF2_EvtWriter_ThreadTaskCreate(writer, NULL, time, OTF2_UNDEFINED_COMM, high, low);
    case LULL_EVENT_TASK_SWITCH:
        return OTF2_EvtWriter_ThreadTaskSwitch(writer, NULL, time, OTF2_UNDEFINED_COMM, high, low);
    case LULL_EVENT_TASK_COMPLETE:
        return OTF2_EvtWriter_ThreadTaskComplete(writer, NULL, time, OTF2_UNDEFINED_COMM, high,
                                                 low);
    case LULL_EVENT_LOCK_ACQUIRE: /* ids of locks have 32 bits: addresses are folded */
        return OTF2_EvtWriter_ThreadAcquireLock(writer, NULL, time, OTF2_PARADIGM_OPENMP,
                                                high ^ low, 0);
    default:
        return OTF2_EvtWriter_ThreadReleaseLock(writer, NULL, time, OTF2_PARADIGM_OPENMP,
                                                high ^ low, 0);
    }
}

/* ---- readings -------------------------------------------------------------------------------- */

enum { MOST_MEMBERS = 255 }; /* of a metric class */

static bool same_set(const struct lull_otf2_counter_set *set, const struct lull_reading *readings,
                     uint32_t count)
{
    if (set->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (set->counters[i] != readings[i].counter)
            return false;
    return true;
}

/* Programs have few different sets of counters, and a location mostly reads the same as before. */
static uint32_t find_set(struct target *target, const struct lull_reading *readings, uint32_t count)
{
    struct lull_otf2_output *output = target->output;
    uint32_t last = target->location->last_set;
    if (last < output->n_sets && same_set(&output->sets[last], readings, count))
        return last;
    for (uint32_t s = 0; s < output->n_sets; s++)
        if (same_set(&output->sets[s], readings, count))
            return s;
    output->sets = lull_arena_grow(output->arena, output->sets, &output->sets_capacity,
                                   (size_t)output->n_sets + 1, sizeof *output->sets);
    struct lull_otf2_counter_set *set = &output->sets[output->n_sets];
    set->counters = lull_arena_alloc(output->arena, count * sizeof *set->counters);
    set->count = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++)
        set->counters[i] = readings[i].counter;
    return output->n_sets++;
}

/* Counters are written as totals since the beginning, which every OTF2 tool understands. */
static OTF2_ErrorCode write_readings(struct target *target, const struct lull_event *event)
{
    OTF2_Type types[MOST_MEMBERS];
    OTF2_MetricValue values[MOST_MEMBERS];
    struct lull_otf2_output_location *location = target->location;
    if (!location->totals)
        location->totals = lull_arena_zero(target->output->arena, target->output->trace->n_counters,
                                           sizeof *location->totals);
    for (uint32_t first = 0; first < event->readings.count; first += MOST_MEMBERS) {
        const struct lull_reading *readings = event->readings.values + first;
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

static OTF2_ErrorCode write_state(struct target *target, const struct lull_event *event)
{
    const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
    const OTF2_MetricValue values[] = {{.unsigned_int = event->id},
                                       {.unsigned_int = (uint64_t)event->duration}};
    return OTF2_EvtWriter_Metric(target->writer, NULL, (uint64_t)event->time, 0, 2, types, values);
}

static OTF2_ErrorCode write_tracer(struct target *target, const struct lull_event *event)
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

typedef OTF2_ErrorCode write_function(struct target *target, const struct lull_event *event);

static write_function *const write_functions[LULL_EVENT_KINDS] = {
    [LULL_EVENT_ENTER] = write_region,
    [LULL_EVENT_LEAVE] = write_region,
    [LULL_EVENT_CALL] = write_region,
    [LULL_EVENT_STATE] = write_state,
    [LULL_EVENT_SEND] = write_message,
    [LULL_EVENT_SEND_DONE] = write_request,
    [LULL_EVENT_RECV_POST] = write_request,
    [LULL_EVENT_RECV] = write_message,
    [LULL_EVENT_REQUEST_TEST] = write_request,
    [LULL_EVENT_REQUEST_CANCELLED] = write_request,
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
};

static OTF2_ErrorCode write_event(struct target *target, const struct lull_event *event)
{
    if (target->location->call_open && ends_call(target->location, event)) {
        OTF2_ErrorCode code = leave_call(target);
        if (code != OTF2_SUCCESS)
            return code;
    }
    return write_functions[event->kind](target, event);
}

static lull_status fail(const struct lull_otf2_output *output, OTF2_ErrorCode code,
                        struct lull_error *err)
{
    return lull_otf2_fail(err, code, "%s: cannot write the archive",
                          lull_output_path(output->files));
}

static OTF2_ErrorCode open_location(struct lull_otf2_output *output, uint32_t location)
{
    if (!output->locations[location].events)
        output->locations[location].events = OTF2_Archive_GetEvtWriter(output->archive, location);
    return output->locations[location].events ? OTF2_SUCCESS : OTF2_ERROR_INVALID;
}

static lull_status write_block(void *state, const struct lull_block *block, struct lull_error *err)
{
    struct lull_otf2_output *output = state;
    lull_otf2_quiet();
    OTF2_ErrorCode code = open_location(output, block->location);
    struct target target = {.output = output,
                            .location = &output->locations[block->location],
                            .writer = output->locations[block->location].events,
                            .process = output->trace->locations[block->location].process};
    for (uint32_t i = 0; code == OTF2_SUCCESS && i < block->count; i++)
        code = write_event(&target, &block->events[i]);
    return code == OTF2_SUCCESS ? LULL_OK : fail(output, code, err);
}

/* ---- opening and closing --------------------------------------------------------------------- */

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

/* A record must fit into a chunk, and groups have records as long as the run has processes; readers
 * clear a chunk for every location, so it should not be larger than needed. */
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

static OTF2_ErrorCode set_up(struct lull_otf2_output *output)
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
    return code == OTF2_SUCCESS ? OTF2_Archive_OpenEvtFiles(output->archive) : code;
}

/* Every location gets its file, so that a missing one is known to be lost. */
static OTF2_ErrorCode finish_locations(struct lull_otf2_output *output)
{
    for (uint32_t l = 0; l < output->trace->n_locations; l++) {
        struct lull_otf2_output_location *location = &output->locations[l];
        OTF2_ErrorCode code = open_location(output, l);
        struct target target = {.output = output, .location = location, .writer = location->events};
        if (code == OTF2_SUCCESS && location->call_open)
            code = leave_call(&target);
        if (code == OTF2_SUCCESS)
            code = OTF2_EvtWriter_GetNumberOfEvents(location->events, &location->n_events);
        if (code == OTF2_SUCCESS)
            code = OTF2_Archive_CloseEvtWriter(output->archive, location->events);
        if (code != OTF2_SUCCESS)
            return code;
    }
    return OTF2_Archive_CloseEvtFiles(output->archive);
}

static OTF2_ErrorCode finish(struct lull_otf2_output *output)
{
    OTF2_ErrorCode code = finish_locations(output);
    if (code == OTF2_SUCCESS)
        code = lull_otf2_write_definitions(output);
    if (code != OTF2_SUCCESS)
        return code;
    code = OTF2_Archive_Close(output->archive);
    output->archive = NULL;
    return code;
}

static void release(struct lull_otf2_output *output)
{
    OTF2_Archive_Close(output->archive);
    free(output->locations);
    lull_arena_destroy(output->arena);
    free(output);
}

static lull_status close_writer(void *state, bool commit, struct lull_error *err)
{
    struct lull_otf2_output *output = state;
    lull_status status = LULL_OK;
    lull_otf2_quiet();
    if (commit) {
        OTF2_ErrorCode code = finish(output);
        if (code != OTF2_SUCCESS)
            status = fail(output, code, err);
    }
    struct lull_output *files = output->files;
    release(output);
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
    struct lull_otf2_output *output = calloc(1, sizeof *output);
    struct lull_otf2_output_location *locations =
        calloc(trace->n_locations, sizeof *output->locations);
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
    number_comms(output);
    lull_otf2_quiet();
    OTF2_ErrorCode code = set_up(output);
    if (code != OTF2_SUCCESS) {
        status = fail(output, code, err);
        release(output);
        lull_output_discard(files);
        return status;
    }
    *ret_writer =
        (struct lull_writer){.state = output, .block = write_block, .close = close_writer};
    return LULL_OK;
}
