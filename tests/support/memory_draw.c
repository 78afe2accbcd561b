/* Drawing of random traces: definitions first, then one location after the other. */
#include "support/memory_draw.h"

#include <stdlib.h>
#include <string.h>

static int64_t draw_length(struct draw *draw)
{
    unsigned form = (unsigned)below(draw, 100);
    if (form < 15)
        return 0;
    if (form < 98 || draw->options->without_extremes)
        return (int64_t)below(draw, 100000);
    return INT64_C(4294967290) + (int64_t)below(draw, 10); /* about what fits into 32 bits */
}

static uint64_t draw_bytes(struct draw *draw)
{
    if (draw->options->without_extremes || chance(draw, 95))
        return below(draw, 1 << 20);
    return (UINT64_C(1) << 40) - 2 + below(draw, 4); /* about what fits into 40 bits */
}

static void emit(struct draw *draw, struct lull_event event)
{
    draw->left -= draw->left > 0;
    if (!(draw->options->without >> event.kind & 1))
        memory_trace_add(draw->trace, draw->location, &event);
}

static void emit_at(struct draw *draw, unsigned kind, uint32_t id)
{
    emit(draw, memory_event(draw->now, kind, id));
}

static void emit_number(struct draw *draw, unsigned kind, uint32_t id, uint64_t number)
{
    struct lull_event event = memory_event(draw->now, kind, id);
    event.number = number;
    emit(draw, event);
}

static void maybe_sample(struct draw *draw, int64_t time)
{
    if (!draw->options->samples || !chance(draw, 40))
        return;
    struct lull_event event =
        memory_event(time, LULL_EVENT_SAMPLE,
                     chance(draw, 20) ? LULL_NONE : (uint32_t)below(draw, draw->trace->n_objects));
    event.sample.offset = lull_random_u64(draw->random) & ((UINT64_C(1) << 40) - 1);
    event.sample.weight = 1 + below(draw, 1000000);
    emit(draw, event);
}

/* The number of one operation, and the number of another, a number of bytes, or another location. */
static void maybe_operation(struct draw *draw)
{
    static const uint8_t of_host[] = {LULL_EVENT_SUBMIT, LULL_EVENT_DEPEND, LULL_EVENT_DEVICE_WAIT};
    if (!draw->options->operations || !chance(draw, 30))
        return;
    const unsigned kind = draw->device ? LULL_EVENT_OPERATION : of_host[below(draw, 3)];
    struct lull_event event = memory_event(draw->now, kind, LULL_NONE);
    event.operation.number = 1 + below(draw, 1000);
    event.operation.bytes = 0;
    event.operation.location = LULL_NONE;
    if (kind == LULL_EVENT_DEPEND || kind == LULL_EVENT_OPERATION)
        event.operation.bytes = draw_bytes(draw);
    event.operation.sequence = LULL_NO_SEQUENCE;
    event.operation.peer = LULL_ANY;
    if (kind == LULL_EVENT_OPERATION && chance(draw, 20)) {
        event.operation.sequence = below(draw, 1000);
        event.operation.peer = chance(draw, 50) ? LULL_ANY : (int32_t)below(draw, 1000);
    }
    if (kind == LULL_EVENT_OPERATION && chance(draw, 90))
        event.id = (uint32_t)below(draw, draw->trace->n_regions);
    const struct lull_process *process =
        &draw->trace->processes[draw->trace->locations[draw->location].process];
    const uint32_t other = process->first_location + (uint32_t)below(draw, process->n_locations);
    const bool is_device = draw->trace->locations[other].kind == LULL_LOCATION_DEVICE;
    if (kind != LULL_EVENT_DEPEND && is_device != draw->device)
        event.operation.location = other;
    emit(draw, event);
}

/* What a call does besides lasting: some events at its begin, some at its end. */
struct call {
    const char *name;
    struct lull_event begin[MOST_OPEN], end[MOST_OPEN];
    uint32_t n_begin, n_end;
};

/* As one CALL with its events behind, or entered and left with the events inside. */
static void emit_call(struct draw *draw, const struct call *call)
{
    uint32_t region = draw_region_named(call->name);
    int64_t length = draw_length(draw), begin = draw->now;
    bool as_call = chance(draw, 60) && !(draw->options->without & LULL_MASK(LULL_EVENT_CALL));
    if (as_call)
        emit(draw, memory_span(begin, LULL_EVENT_CALL, region, length));
    else
        emit_at(draw, LULL_EVENT_ENTER, region);
    for (uint32_t i = 0; i < call->n_begin; i++) {
        struct lull_event event = call->begin[i];
        event.time = begin;
        emit(draw, event);
    }
    if (draw->options->samples)
        maybe_sample(draw, begin + (int64_t)below(draw, (uint64_t)length + 1));
    draw->now += length;
    for (uint32_t i = 0; i < call->n_end; i++) {
        struct lull_event event = call->end[i];
        event.time = draw->now;
        emit(draw, event);
    }
    if (!as_call)
        emit_at(draw, LULL_EVENT_LEAVE, region);
}

static uint32_t draw_comm(struct draw *draw)
{
    for (;;) {
        uint32_t comm = (uint32_t)below(draw, draw->trace->n_comms);
        if (draw->trace->comms[comm].paradigm == LULL_PARADIGM_MPI)
            return comm;
    }
}

static int32_t draw_peer(struct draw *draw, uint32_t comm)
{
    const struct lull_comm *group = &draw->trace->comms[comm];
    if (!draw->options->without_wildcards && chance(draw, 3))
        return LULL_PROC_NULL;
    if (group->remote != LULL_NONE)
        group = &draw->trace->comms[group->remote];
    return (int32_t)lull_comm_member(group, (uint32_t)below(draw, group->size));
}

static struct lull_event draw_message(struct draw *draw, unsigned kind, uint64_t request)
{
    uint32_t comm = draw_comm(draw);
    struct lull_event event = memory_event(0, kind, comm);
    event.message.peer = draw_peer(draw, comm);
    event.message.tag = (int32_t)below(draw, chance(draw, 90) ? 100 : INT32_MAX);
    event.message.bytes = draw_bytes(draw);
    event.message.request = request;
    return event;
}

static void blocking_message(struct draw *draw)
{
    struct call call = {.name = "MPI_Send"};
    if (chance(draw, 50)) {
        call.begin[call.n_begin++] = draw_message(draw, LULL_EVENT_SEND, LULL_NO_REQUEST);
    } else {
        call.name = "MPI_Recv";
        call.end[call.n_end++] = draw_message(draw, LULL_EVENT_RECV, LULL_NO_REQUEST);
    }
    emit_call(draw, &call);
}

static struct lull_event draw_collective(struct draw *draw, unsigned op, uint64_t request)
{
    uint32_t comm = draw_comm(draw);
    struct lull_event event = memory_event(0, LULL_EVENT_COLLECTIVE_BEGIN, comm);
    bool rooted = op == LULL_COLLECTIVE_BCAST || op == LULL_COLLECTIVE_REDUCE;
    event.op = (uint8_t)op;
    event.collective.sent = op == LULL_COLLECTIVE_BARRIER ? 0 : draw_bytes(draw);
    event.collective.received = op == LULL_COLLECTIVE_BARRIER ? 0 : draw_bytes(draw);
    event.collective.root = LULL_ANY;
    while (rooted && event.collective.root < 0)
        event.collective.root = draw_peer(draw, comm);
    event.collective.request = request;
    return event;
}

static struct lull_event draw_post(struct draw *draw, uint64_t request, const char **ret_name)
{
    switch (below(draw, 3)) {
    case 0:
        *ret_name = "MPI_Isend";
        return draw_message(draw, LULL_EVENT_SEND, request);
    case 1: {
        *ret_name = "MPI_Irecv";
        struct lull_event event = draw_message(draw, LULL_EVENT_RECV_POST, request);
        if (!draw->options->without_wildcards && chance(draw, 20))
            event.message.peer = LULL_ANY;
        if (!draw->options->without_wildcards && chance(draw, 20))
            event.message.tag = LULL_ANY;
        return event;
    }
    default:
        *ret_name = chance(draw, 50) ? "MPI_Ibarrier" : "MPI_Iallreduce";
        return draw_collective(
            draw, (*ret_name)[5] == 'b' ? LULL_COLLECTIVE_BARRIER : LULL_COLLECTIVE_ALLREDUCE,
            request);
    }
}

static void post(struct draw *draw)
{
    if (draw->n_open == MOST_OPEN)
        return;
    struct request request = {.number = draw->next_request++};
    struct call call = {.n_begin = 1};
    call.begin[0] = request.opened = draw_post(draw, request.number, &call.name);
    draw->open[draw->n_open++] = request;
    emit_call(draw, &call);
}

static struct lull_event completion(struct draw *draw, const struct request *request)
{
    struct lull_event done = request->opened;
    switch (done.kind) {
    case LULL_EVENT_SEND:
        done = memory_event(0, LULL_EVENT_SEND_DONE, 0);
        done.message.request = request->number;
        break;
    case LULL_EVENT_RECV_POST:
        done.kind = LULL_EVENT_RECV;
        if (done.message.peer == LULL_ANY)
            done.message.peer = draw_peer(draw, done.id);
        if (done.message.tag == LULL_ANY)
            done.message.tag = 5;
        break;
    default:
        done.kind = LULL_EVENT_COLLECTIVE_END;
        break;
    }
    return done;
}

static struct request take_request(struct draw *draw)
{
    uint32_t at = (uint32_t)below(draw, draw->n_open);
    struct request request = draw->open[at];
    draw->open[at] = draw->open[--draw->n_open];
    return request;
}

static void wait_some(struct draw *draw)
{
    struct call call = {.name = "MPI_Waitall"};
    for (uint64_t n = below(draw, draw->n_open + 1); n > 0; n--) {
        struct request request = take_request(draw);
        call.end[call.n_end++] = completion(draw, &request);
    }
    emit_call(draw, &call);
}

static void test_one(struct draw *draw)
{
    struct call call = {.name = "MPI_Test"};
    if (draw->n_open > 0) {
        bool cancelled = chance(draw, 10);
        struct request request = cancelled ? take_request(draw) : draw->open[0];
        call.end[0] =
            memory_event(0, cancelled ? LULL_EVENT_REQUEST_CANCELLED : LULL_EVENT_REQUEST_TEST, 0);
        call.end[call.n_end++].message.request = request.number;
    }
    emit_call(draw, &call);
}

static void collective(struct draw *draw)
{
    static const struct {
        const char *name;
        uint8_t op;
    } forms[] = {
        {"MPI_Barrier", LULL_COLLECTIVE_BARRIER},     {"MPI_Bcast", LULL_COLLECTIVE_BCAST},
        {"MPI_Reduce", LULL_COLLECTIVE_REDUCE},       {"MPI_Allreduce", LULL_COLLECTIVE_ALLREDUCE},
        {"MPI_Alltoallv", LULL_COLLECTIVE_ALLTOALLV}, {"MPI_Comm_split", LULL_COLLECTIVE_CREATE}};
    unsigned form = (unsigned)below(draw, sizeof forms / sizeof *forms);
    struct call call = {.name = forms[form].name, .n_begin = 1, .n_end = 1};
    call.begin[0] = call.end[0] = draw_collective(draw, forms[form].op, LULL_NO_REQUEST);
    call.end[0].kind = LULL_EVENT_COLLECTIVE_END;
    if (chance(draw, 30)) { /* a tracer that knows it only at the end */
        call.begin[0] = memory_event(0, LULL_EVENT_COLLECTIVE_BEGIN, LULL_NONE);
        call.begin[0].op = LULL_COLLECTIVE_UNKNOWN;
        call.begin[0].collective.root = LULL_ANY;
        call.begin[0].collective.request = LULL_NO_REQUEST;
    }
    emit_call(draw, &call);
}

static void transfer(struct draw *draw)
{
    struct call call = {.n_begin = 1};
    bool rma = chance(draw, 50);
    call.name = rma ? "MPI_Put" : "MPI_File_write_all";
    struct lull_event *event = &call.begin[0];
    *event = memory_event(
        0, rma ? LULL_EVENT_RMA : LULL_EVENT_IO,
        chance(draw, 50) ? LULL_NONE : (uint32_t)below(draw, rma ? 10 : draw->trace->n_files));
    event->op = (uint8_t)below(draw, rma ? (unsigned)LULL_RMA_OPS : (unsigned)LULL_IO_OPS);
    event->transfer.bytes = draw_bytes(draw);
    event->transfer.target = rma ? (int32_t)below(draw, draw->trace->n_processes) : LULL_ANY;
    emit_call(draw, &call);
}

static void counters(struct draw *draw)
{
    struct lull_counter_reading readings[40] = {{0}};
    uint32_t count = 1 + (uint32_t)below(draw, draw->options->without_extremes ? 3 : 40);
    for (uint32_t i = 0; i < count; i++) {
        readings[i].counter = i % draw->trace->n_counters;
        readings[i].value = below(draw, 1000000);
        if (!draw->options->without_extremes && chance(draw, 5))
            readings[i].value = lull_random_u64(draw->random);
    }
    struct lull_event event = memory_event(draw->now, LULL_EVENT_COUNTERS, 0);
    event.readings.values = readings;
    event.readings.count = count;
    emit(draw, event);
}

static void small_event(struct draw *draw)
{
    switch (below(draw, 6)) {
    case 0:
        emit_number(draw, LULL_EVENT_TASK_CREATE, LULL_NONE, draw->left);
        emit_number(draw, LULL_EVENT_TASK_SWITCH, LULL_NONE, draw->left);
        emit_number(draw, LULL_EVENT_TASK_COMPLETE, LULL_NONE, draw->left);
        break;
    case 1:
        emit_number(draw, LULL_EVENT_LOCK_ACQUIRE, LULL_NONE, below(draw, 5));
        draw->now += draw_length(draw);
        emit_number(draw, LULL_EVENT_LOCK_RELEASE, LULL_NONE, below(draw, 5));
        break;
    case 2:
        emit_number(draw, LULL_EVENT_MARKER, (uint32_t)below(draw, draw->trace->n_markers),
                    lull_random_u64(draw->random));
        break;
    case 3: {
        int64_t length = draw_length(draw);
        emit(draw, memory_span(draw->now, LULL_EVENT_FLUSH, LULL_NONE, length));
        draw->now += length;
        break;
    }
    case 4:
        emit_at(draw, LULL_EVENT_MEASURE_OFF, LULL_NONE);
        draw->now += draw_length(draw);
        emit_at(draw, LULL_EVENT_MEASURE_ON, LULL_NONE);
        break;
    default:
        counters(draw);
        break;
    }
}

static void body(struct draw *draw);

static void nested(struct draw *draw, uint32_t region)
{
    emit_at(draw, LULL_EVENT_ENTER, region);
    if (chance(draw, 20))
        counters(draw);
    draw->now += draw_length(draw);
    if (draw->depth < MOST_DEPTH) {
        draw->depth++;
        body(draw);
        draw->depth--;
    }
    emit_at(draw, LULL_EVENT_LEAVE, region);
}

static uint32_t team_comm(const struct draw *draw)
{
    for (uint32_t c = 0; c < draw->trace->n_comms; c++)
        if (draw->trace->comms[c].paradigm == LULL_PARADIGM_OPENMP)
            return c;
    return LULL_NONE;
}

static void parallel(struct draw *draw)
{
    uint32_t team = chance(draw, 70) ? team_comm(draw) : LULL_NONE;
    emit_number(draw, LULL_EVENT_FORK, LULL_NONE, 1 + below(draw, 8));
    emit_at(draw, LULL_EVENT_TEAM_BEGIN, team);
    nested(draw, draw_region_named("!$omp parallel @heat.c:10"));
    emit_at(draw, LULL_EVENT_TEAM_END, team);
    emit_at(draw, LULL_EVENT_JOIN, LULL_NONE);
}

static void host_step(struct draw *draw)
{
    static const char *const plain[] = {"MPI_Init", "MPI_Comm_rank", "pthread_mutex_lock", "write",
                                        "!$omp implicit barrier @heat.c:20"};
    unsigned form = (unsigned)below(draw, 100);
    if (form < 20)
        nested(draw, (uint32_t)below(draw, draw->trace->n_regions));
    else if (form < 30)
        emit_call(draw, &(struct call){.name = plain[below(draw, sizeof plain / sizeof *plain)]});
    else if (form < 40)
        blocking_message(draw);
    else if (form < 60)
        post(draw);
    else if (form < 68)
        wait_some(draw);
    else if (form < 72)
        test_one(draw);
    else if (form < 80)
        collective(draw);
    else if (form < 83)
        transfer(draw);
    else if (form < 87)
        parallel(draw);
    else
        small_event(draw);
}

static void device_step(struct draw *draw)
{
    if (chance(draw, 10))
        counters(draw);
    else
        emit_call(draw,
                  &(struct call){.name = chance(draw, 70) ? "axpy kernel" : "copy to device"});
}

/* What happens inside a region, or on the lowest level of a location. */
static void body(struct draw *draw)
{
    for (uint64_t steps = below(draw, draw->depth ? 12 : UINT32_MAX); steps > 0 && draw->left > 0;
         steps--) {
        draw->now += draw_length(draw);
        maybe_sample(draw, draw->now);
        draw->now += draw->options->samples ? draw_length(draw) : 0;
        maybe_operation(draw);
        if (draw->device)
            device_step(draw);
        else
            host_step(draw);
    }
}

/* States partition the time of a thread; they are drawn apart and merged in. */
static void draw_states(struct draw *draw, uint32_t location)
{
    struct lull_trace *trace = draw->trace;
    uint32_t count;
    const struct lull_event *events = memory_trace_events(trace, location, &count);
    struct lull_event *copy = malloc((count + !count) * sizeof *copy);
    if (!copy)
        abort();
    for (uint32_t i = 0; i < count; i++)
        copy[i] = events[i];
    memory_trace_clear(trace, location);
    int64_t begin = 0;
    for (uint32_t i = 0; i < count || begin < trace->duration;) {
        if (begin < trace->duration && (i == count || copy[i].time >= begin)) {
            int64_t length = 1 + (int64_t)below(draw, 1 + (uint64_t)trace->duration / 20);
            if (length > trace->duration - begin)
                length = trace->duration - begin;
            struct lull_event state = memory_span(begin, LULL_EVENT_STATE,
                                                  (uint32_t)below(draw, trace->n_states), length);
            memory_trace_add(trace, location, &state);
            begin += length;
        } else {
            memory_trace_add(trace, location, &copy[i++]);
        }
    }
    free(copy);
}

static void draw_location(struct draw *draw, uint32_t location)
{
    draw->location = location;
    draw->device = draw->trace->locations[location].kind == LULL_LOCATION_DEVICE;
    draw->now = draw_length(draw);
    draw->left = draw->options->events ? draw->options->events : 300;
    draw->left = (uint32_t)below(draw, 2 * (uint64_t)draw->left);
    draw->n_open = 0;
    draw->next_request = below(draw, 1000);
    if (chance(draw, 30))
        emit_at(draw, LULL_EVENT_THREAD_BEGIN, LULL_NONE);
    while (draw->left > 0)
        body(draw);
    if (chance(draw, 30))
        emit_at(draw, LULL_EVENT_THREAD_END, LULL_NONE);
    if (draw->now > draw->trace->duration)
        draw->trace->duration = draw->now;
}

struct lull_trace *memory_trace_draw(struct lull_random *random,
                                     const struct memory_trace_options *options)
{
    static const struct memory_trace_options everything = {0};
    struct lull_trace *trace = memory_trace_create();
    struct draw draw = {
        .random = random, .options = options ? options : &everything, .trace = trace};
    trace->producer = "memory";
    trace->start_realtime = INT64_C(1700000000000000000);
    draw_definitions(&draw);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        draw_location(&draw, l);
    trace->duration += draw_length(&draw);
    for (uint32_t l = 0; trace->has_states && l < trace->n_locations; l++)
        draw_states(&draw, l);
    return trace;
}
