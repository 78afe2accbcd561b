/* Drawing of random traces: definitions first, then one location after the other. */
#include "support/memory_trace.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_OPEN = 24, MOST_DEPTH = 10 };

struct request {
    uint64_t number;
    struct lull_event opened; /* SEND, RECV_POST or COLLECTIVE_BEGIN */
};

struct draw {
    struct lull_random *random;
    const struct memory_trace_options *options;
    struct lull_trace *trace;
    /* of the location being drawn */
    uint32_t location;
    bool device;
    int64_t now;
    uint32_t left; /* events still to draw */
    unsigned depth;
    struct request open[MOST_OPEN];
    uint32_t n_open;
    uint64_t next_request;
};

static uint64_t below(struct draw *draw, uint64_t bound)
{
    return lull_random_below(draw->random, bound);
}

static bool chance(struct draw *draw, unsigned percent)
{
    return below(draw, 100) < percent;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t paradigm, role;
} region_table[] = {
    {"main", LULL_PARADIGM_USER, LULL_ROLE_FUNCTION},
    {"compute", LULL_PARADIGM_COMPILER, LULL_ROLE_FUNCTION},
    {"solve<double, 3>(int, char const*)", LULL_PARADIGM_COMPILER, LULL_ROLE_FUNCTION},
    {"outer loop", LULL_PARADIGM_USER, LULL_ROLE_LOOP},
    {"MPI_Init", LULL_PARADIGM_MPI, LULL_ROLE_FUNCTION},
    {"MPI_Send", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Recv", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Isend", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Irecv", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Waitall", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Test", LULL_PARADIGM_MPI, LULL_ROLE_POINT2POINT},
    {"MPI_Comm_rank", LULL_PARADIGM_MPI, LULL_ROLE_FUNCTION},
    {"MPI_Barrier", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Bcast", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ONE2ALL},
    {"MPI_Reduce", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ONE},
    {"MPI_Allreduce", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Alltoallv", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Comm_split", LULL_PARADIGM_MPI, LULL_ROLE_COLL_OTHER},
    {"MPI_Put", LULL_PARADIGM_MPI, LULL_ROLE_RMA},
    {"MPI_File_write_all", LULL_PARADIGM_MPI, LULL_ROLE_FILE_IO},
    {"MPI_Ibarrier", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"MPI_Iallreduce", LULL_PARADIGM_MPI, LULL_ROLE_COLL_ALL2ALL},
    {"!$omp parallel @heat.c:10", LULL_PARADIGM_OPENMP, LULL_ROLE_PARALLEL},
    {"!$omp for @heat.c:12", LULL_PARADIGM_OPENMP, LULL_ROLE_LOOP},
    {"!$omp implicit barrier @heat.c:20", LULL_PARADIGM_OPENMP, LULL_ROLE_IMPLICIT_BARRIER},
    {"!$omp critical @heat.c:15", LULL_PARADIGM_OPENMP, LULL_ROLE_CRITICAL},
    {"!$omp taskwait @heat.c:33", LULL_PARADIGM_OPENMP, LULL_ROLE_TASK_WAIT},
    {"pthread_mutex_lock", LULL_PARADIGM_PTHREAD, LULL_ROLE_LOCK},
    {"write", LULL_PARADIGM_IO, LULL_ROLE_FILE_IO},
    {"TRACE BUFFER FLUSH", LULL_PARADIGM_MEASUREMENT, LULL_ROLE_ARTIFICIAL},
    {"axpy kernel", LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL},
    {"copy to device", LULL_PARADIGM_DEVICE, LULL_ROLE_DATA_TRANSFER},
};
enum { TABLED_REGIONS = sizeof region_table / sizeof *region_table };

static uint32_t region_named(const char *name)
{
    uint32_t r = 0;
    while (strcmp(region_table[r].name, name) != 0)
        r++;
    return r;
}

static void draw_regions(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    uint32_t more = (uint32_t)below(draw, 40);
    trace->n_regions = TABLED_REGIONS + more;
    trace->regions = lull_arena_zero(trace->arena, trace->n_regions, sizeof *trace->regions);
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        struct lull_region *region = &trace->regions[r];
        bool tabled = r < TABLED_REGIONS;
        const char *plain = lull_arena_printf(trace->arena, "function_%u", r);
        const char *odd = lull_arena_printf(trace->arena, "größe \"%u\", α", r);
        region->name =
            tabled ? region_table[r].name : (draw->options->without_extremes ? plain : odd);
        region->file = chance(draw, 50) ? "" : "src/heat.c";
        region->line = *region->file ? (uint32_t)below(draw, 5000) + 1 : 0;
        region->paradigm = tabled ? region_table[r].paradigm : LULL_PARADIGM_USER;
        region->role = tabled ? region_table[r].role : LULL_ROLE_FUNCTION;
        region->site = "";
        region->whole = LULL_NONE;
    }
}

static void draw_nodes(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    trace->n_nodes = 1 + (uint32_t)below(draw, 3);
    trace->nodes = lull_arena_zero(trace->arena, trace->n_nodes, sizeof *trace->nodes);
    for (uint32_t n = 0; n < trace->n_nodes; n++)
        trace->nodes[n] =
            (struct lull_node){.name = lull_arena_printf(trace->arena, n ? "n%u" : "cluster", n),
                               .class_name = n ? "node" : "machine",
                               .parent = n ? 0 : LULL_NONE};
}

static void draw_processes(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    const struct memory_trace_options *options = draw->options;
    enum { MOST_THREADS = 3, MOST_DEVICES = 2 };
    uint32_t per_application[3] = {1 + (uint32_t)below(draw, 5)};
    trace->n_processes = per_application[0];
    for (uint32_t a = 1; a < 3 && !options->without_applications && chance(draw, 40); a++)
        trace->n_processes += per_application[a] = 1 + (uint32_t)below(draw, 3);
    trace->processes = lull_arena_zero(trace->arena, trace->n_processes, sizeof *trace->processes);
    trace->locations =
        lull_arena_zero(trace->arena, (size_t)trace->n_processes * (MOST_THREADS + MOST_DEVICES),
                        sizeof *trace->locations);
    for (uint32_t p = 0, application = 0, rank = 0; p < trace->n_processes; p++, rank++) {
        if (rank == per_application[application]) {
            application++;
            rank = 0;
        }
        trace->processes[p] = (struct lull_process){
            .name = lull_arena_printf(trace->arena, "rank %u.%u", application, rank),
            .application = application,
            .rank = rank,
            .node = (uint32_t)below(draw, trace->n_nodes)};
        uint32_t threads = 1 + (uint32_t)below(draw, MOST_THREADS);
        uint32_t devices =
            options->without_devices || chance(draw, 70) ? 0 : (uint32_t)below(draw, MOST_DEVICES);
        for (uint32_t i = 0; i < threads + devices; i++)
            trace->locations[trace->n_locations++] = (struct lull_location){
                .name = lull_arena_printf(trace->arena,
                                          i < threads ? "thread %u.%u" : "stream %u.%u", p, i),
                .source_id = UINT64_C(0x100000000) * p + i,
                .process = p,
                .number = i < threads ? i : i - threads,
                .kind = i < threads ? LULL_LOCATION_THREAD : LULL_LOCATION_DEVICE};
    }
}

static struct lull_comm *new_comm(struct draw *draw, const char *name)
{
    struct lull_comm *comm = &draw->trace->comms[draw->trace->n_comms++];
    *comm = (struct lull_comm){
        .name = name, .parent = LULL_NONE, .remote = LULL_NONE, .paradigm = LULL_PARADIGM_MPI};
    return comm;
}

/* `size` different numbers below `bound`, in random order. */
static const uint32_t *draw_members(struct draw *draw, uint32_t bound, uint32_t size)
{
    uint32_t *all = lull_arena_zero(draw->trace->arena, bound, sizeof *all);
    for (uint32_t i = 0; i < bound; i++)
        all[i] = i;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t other = i + (uint32_t)below(draw, bound - i), value = all[i];
        all[i] = all[other];
        all[other] = value;
    }
    return all;
}

static void draw_intercomm(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    uint32_t half = trace->n_processes / 2, first = trace->n_comms;
    const uint32_t *all = draw_members(draw, trace->n_processes, trace->n_processes);
    struct lull_comm *left = new_comm(draw, "left"), *right = new_comm(draw, "right");
    left->size = half;
    left->members = all;
    right->size = trace->n_processes - half;
    right->members = all + half;
    left->remote = first + 1;
    right->remote = first;
}

static void draw_comms(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    const struct memory_trace_options *options = draw->options;
    trace->comms = lull_arena_zero(trace->arena, 8 + trace->n_processes, sizeof *trace->comms);
    struct lull_comm *world = new_comm(draw, "MPI_COMM_WORLD");
    world->size = trace->n_processes;
    struct lull_comm *part = new_comm(draw, "part");
    part->first = (uint32_t)below(draw, trace->n_processes);
    part->size = 1 + (uint32_t)below(draw, trace->n_processes - part->first);
    part->parent = 0;
    if (!options->without_listed) {
        struct lull_comm *listed = new_comm(draw, "shuffled");
        listed->size = 1 + (uint32_t)below(draw, trace->n_processes);
        listed->members = draw_members(draw, trace->n_processes, listed->size);
        listed->parent = 1;
    }
    if (!options->without_intercomms && trace->n_processes > 1)
        draw_intercomm(draw);
    if (!options->without_teams) {
        struct lull_comm *team = new_comm(draw, "OpenMP team");
        team->paradigm = LULL_PARADIGM_OPENMP;
        team->size = 1 + (uint32_t)below(draw, trace->n_locations);
        team->members = draw_members(draw, trace->n_locations, team->size);
    }
}

static void draw_small_definitions(struct draw *draw)
{
    struct lull_trace *trace = draw->trace;
    static const struct lull_state states[] = {{"Idle", 0, LULL_IDLE},
                                               {"Running", 1, LULL_USEFUL},
                                               {"Waiting a message", 3, LULL_MPI_P2P},
                                               {"Group communication", 13, LULL_MPI_COLLECTIVE}};
    static const struct lull_counter counters[] = {{"PAPI_TOT_INS", "", 42000050, 0},
                                                   {"PAPI_TOT_CYC", "cycles", 42000059, 0},
                                                   {"rapl energy", "nJ", 7, 0}};
    static const struct lull_file files[] = {{"/data/field.bin", LULL_FILE_REGULAR},
                                             {"stdout", LULL_FILE_PIPE},
                                             {"/dev/null", LULL_FILE_DEVICE}};
    static const struct lull_marker markers[] = {{"iteration", 9000001}, {"phase", 9000002}};
    bool with_states = !draw->options->without_states &&
                       !(draw->options->without & LULL_MASK(LULL_EVENT_STATE)) && chance(draw, 50);
    trace->has_states = with_states;
    trace->n_states = with_states ? sizeof states / sizeof *states : 0;
    trace->states = lull_arena_alloc(trace->arena, sizeof states);
    memcpy(trace->states, states, sizeof states);
    trace->n_counters = sizeof counters / sizeof *counters;
    trace->counters = lull_arena_alloc(trace->arena, sizeof counters);
    memcpy(trace->counters, counters, sizeof counters);
    trace->n_markers = sizeof markers / sizeof *markers;
    trace->markers = lull_arena_alloc(trace->arena, sizeof markers);
    memcpy(trace->markers, markers, sizeof markers);
    trace->n_files = sizeof files / sizeof *files;
    trace->files = lull_arena_alloc(trace->arena, sizeof files);
    memcpy(trace->files, files, sizeof files);
}

/* ---- events ---------------------------------------------------------------------------------- */

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

/* What a call does besides lasting: some events at its begin, some at its end. */
struct call {
    const char *name;
    struct lull_event begin[MOST_OPEN], end[MOST_OPEN];
    uint32_t n_begin, n_end;
};

/* As one CALL with its events behind, or entered and left with the events inside. */
static void emit_call(struct draw *draw, const struct call *call)
{
    uint32_t region = region_named(call->name);
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
    struct lull_reading readings[40] = {{0}};
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
    nested(draw, region_named("!$omp parallel @heat.c:10"));
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
    draw_regions(&draw);
    draw_nodes(&draw);
    draw_processes(&draw);
    draw_comms(&draw);
    draw_small_definitions(&draw);
    struct lull_error err;
    if (lull_trace_complete(trace, &err) != LULL_OK)
        abort();
    for (uint32_t l = 0; l < trace->n_locations; l++)
        draw_location(&draw, l);
    trace->duration += draw_length(&draw);
    for (uint32_t l = 0; trace->has_states && l < trace->n_locations; l++)
        draw_states(&draw, l);
    return trace;
}
