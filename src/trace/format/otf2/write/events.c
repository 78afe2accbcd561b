/* Events of a trace as records of an archive. */
#include "trace/format/otf2/write/writer.h"

OTF2_ErrorCode lull_otf2_leave_call(struct lull_otf2_target *target)
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

static OTF2_ErrorCode write_region_record(struct lull_otf2_target *target,
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
    return OTF2_EvtWriter_Enter(target->writer, NULL, time, event->id);
}

/* How a peer without a process is written: as OpenMPI numbers them. */
static uint32_t rank_without_process(int32_t peer)
{
    return peer == LULL_PROC_NULL ? UINT32_MAX - 1 : UINT32_MAX;
}

static OTF2_ErrorCode write_message(struct lull_otf2_target *target, const struct lull_event *event)
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

static OTF2_ErrorCode write_request(struct lull_otf2_target *target, const struct lull_event *event)
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

static OTF2_ErrorCode write_collective(struct lull_otf2_target *target,
                                       const struct lull_event *event)
{
    uint64_t time = (uint64_t)event->time, request = event->collective.request;
    bool blocking = request == LULL_NO_REQUEST;
    if (event->kind == LULL_EVENT_COLLECTIVE_BEGIN)
        return blocking ? OTF2_EvtWriter_MpiCollectiveBegin(target->writer, NULL, time)
                        : OTF2_EvtWriter_NonBlockingCollectiveRequest(target->writer, NULL, time,
                                                                      request);
    struct lull_otf2_address root = lull_otf2_root_address(target->output, target->process, event);
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
static OTF2_ErrorCode write_rma(struct lull_otf2_target *target, const struct lull_event *event)
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

static OTF2_ErrorCode write_io(struct lull_otf2_target *target, const struct lull_event *event)
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

static OTF2_ErrorCode write_thread(struct lull_otf2_target *target, const struct lull_event *event)
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
    case LULL_EVENT_THREAD_WAIT_END: /* of barriers there is no event */
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
static uint32_t find_set(struct lull_otf2_target *target, const struct lull_reading *readings,
                         uint32_t count)
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
static OTF2_ErrorCode write_readings(struct lull_otf2_target *target,
                                     const struct lull_event *event)
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

static OTF2_ErrorCode write_state_record(struct lull_otf2_target *target,
                                         const struct lull_event *event)
{
    const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
    const OTF2_MetricValue values[] = {{.unsigned_int = event->id},
                                       {.unsigned_int = (uint64_t)event->duration}};
    return OTF2_EvtWriter_Metric(target->writer, NULL, (uint64_t)event->time, 0, 2, types, values);
}

static OTF2_ErrorCode write_tracer(struct lull_otf2_target *target, const struct lull_event *event)
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

typedef OTF2_ErrorCode write_function(struct lull_otf2_target *target,
                                      const struct lull_event *event);

/* OTF2 has no event for it. */
static OTF2_ErrorCode write_nothing(struct lull_otf2_target *target, const struct lull_event *event)
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
};

static OTF2_ErrorCode write_event_record(struct lull_otf2_target *target,
                                         const struct lull_event *event)
{
    if (target->location->call_open && ends_call(target->location, event)) {
        OTF2_ErrorCode code = lull_otf2_leave_call(target);
        if (code != OTF2_SUCCESS)
            return code;
    }
    return write_functions[event->kind](target, event);
}

OTF2_ErrorCode lull_otf2_write_events(struct lull_otf2_target *target,
                                      const struct lull_block *block)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (uint32_t i = 0; code == OTF2_SUCCESS && i < block->count; i++)
        code = write_event_record(target, &block->events[i]);
    return code;
}
