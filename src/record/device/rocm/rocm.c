/* SPDX-License-Identifier: BSD-3-Clause */
/* The back-end for ROCm. Each of its runtimes asks librocprofiler-register whether there is a tool, where
 * that is told (device/variables.c) that ROCP_TOOL_LIBRARIES names this library. It loads rocprofiler-sdk,
 * which calls `rocprofiler_configure` here, before HIP or HSA have been set up: neither may be called.
 *
 * The host: rocprofiler-sdk calls `on_call` at the begin and the end of each call of a function of calls.h,
 * `on_stream` when the thread's next work is for a stream, and `on_submission` where something is submitted
 * to a device: so it is known without asking whether a call has submitted anything, a captured one, say, has
 * not. A call that submits several things, as that of a graph, has one number for all of them.
 *
 * The device: records of kernels and copies that have ended stand in a buffer, which is handed over
 * (`take_records`) when it is half full or flushed, on a thread of rocprofiler-sdk. A record has the
 * correlation id of the call of HIP, a number of 64 bits; the stream is that of the call, since a record does
 * not tell it. Work of which no call of HIP is known stands on a stream for its queue, copies on one for all
 * of a device.
 *
 * Times are those of rocprofiler-sdk's clock, which is read between two readings of the recorder's. */
#include "record/device/rocm/rocprofiler.h"

#include "record/device/rocm/calls.h"
#include "record/device/told.h"
#include "record/site/site.h"

#include <stdio.h>

#define POINTER(name, declared) int(*name) declared;
static struct {
    ROCPROFILER_NEEDED(POINTER)
} rocprofiler;

/* ==== clock =================================================================================== */

enum { TIMER_NS = 10 /* what the timers of AMD's devices resolve */ };
static struct rec_points rocm_points; /* with rec_told_lock held */

static uint64_t ticks_of_rocm(uint64_t ns, uint64_t *error)
{
    return rec_points_ticks(&rocm_points, ns_per_tick, ns, error);
}

static bool read_rocm_clock(uint64_t *ret_ns)
{
    return rocprofiler.rocprofiler_get_timestamp(ret_ns) == ROCPROFILER_OK;
}

/* ==== devices and streams ===================================================================== */

enum { MOST_AGENTS = 64 };

/* GPUs; from the start on they do not change. */
static struct agent {
    uint64_t id;
    char name[64], key[64];
} agents[MOST_AGENTS];
static unsigned n_agents;

/* A device by its place, as other runtimes name it, too; parts of a card at one place by their numbers. */
static void name_agent(const struct rocprofiler_agent *told)
{
    struct agent *agent = &agents[n_agents];
    const char *name = told->product_name && *told->product_name ? told->product_name : told->name;
    *agent = (struct agent){.id = told->id};
    snprintf(agent->name, sizeof agent->name, "%s", name ? name : "");
    snprintf(agent->key, sizeof agent->key, "pci:%04x:%02x:%02x.%x", told->domain,
             told->place >> 8 & 0xff, told->place >> 3 & 0x1f, told->place & 7);
    for (unsigned i = 0; i < n_agents; i++)
        if (strcmp(agents[i].key, agent->key) == 0) {
            snprintf(agent->key, sizeof agent->key, "rocm:%u", told->node);
            break;
        }
    n_agents++;
}

static int see_agents(uint32_t version, const void **all, size_t n, void *data)
{
    (void)version;
    (void)data;
    for (size_t i = 0; i < n && n_agents < MOST_AGENTS; i++) {
        const struct rocprofiler_agent *agent = all[i];
        if (agent->type == ROCPROFILER_GPU)
            name_agent(agent);
    }
    return ROCPROFILER_OK;
}

/* MOST_AGENTS: it is none that can be recorded. */
static uint32_t agent_of(uint64_t id)
{
    for (uint32_t i = 0; i < n_agents; i++)
        if (agents[i].id == id)
            return i;
    return MOST_AGENTS;
}

/* Ids of streams that are not HIP's. */
#define OF_QUEUE  UINT32_C(0x80000000)
#define OF_COPIES UINT32_MAX

/* With the lock of streams held. */
static void make_rocm_stream(uint32_t device, uint32_t group, uint32_t id, const void *about,
                             struct rec_stream **ret_stream)
{
    struct lull_tape_stream what = {
        .runtime = "ROCm", .in_order = id < OF_QUEUE, .clock_error = TIMER_NS};
    char name[32];
    (void)group;
    (void)about;
    memcpy(what.device, agents[device].name, sizeof what.device);
    memcpy(what.key, agents[device].key, sizeof what.key);
    if (id == OF_COPIES)
        snprintf(name, sizeof name, "copies");
    else
        snprintf(name, sizeof name, id < OF_QUEUE ? "stream %u" : "queue %u", id & ~OF_QUEUE);
    *ret_stream = recorder->stream(&what, name);
}

/* Streams of HIP are a group by their device; the others one apart, for which no call of HIP waits. */
static struct rec_told_stream *find_rocm_stream(uint32_t device, uint32_t id)
{
    const uint32_t group = id < OF_QUEUE ? device : OF_QUEUE | device;
    return device < MOST_AGENTS ? rec_told_stream_find(device, group, id, make_rocm_stream, NULL)
                                : NULL;
}

/* The stream with an id of HIP's, where only one device has a stream of that id. */
static struct rec_told_stream *only_stream(uint32_t id)
{
    struct rec_told_stream *found = NULL;
    const unsigned n = __atomic_load_n(&rec_n_told_streams, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++) {
        if (rec_told_streams[i].id == id && found)
            return NULL;
        if (rec_told_streams[i].id == id)
            found = &rec_told_streams[i];
    }
    return found;
}

/* Which device a call waits for that names none. False: none is used, or several are, of which one is the
 * thread's. */
static bool only_device(uint32_t *ret_device)
{
    uint32_t found = MOST_AGENTS;
    const unsigned n = __atomic_load_n(&rec_n_told_streams, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++) {
        const uint32_t device = rec_told_streams[i].group;
        if (device >= OF_QUEUE)
            continue;
        if (found != MOST_AGENTS && found != device)
            return false;
        found = device;
    }
    *ret_device = found;
    return found != MOST_AGENTS;
}

/* ==== kernels ================================================================================= */

/* Kernels of loaded code by their ids. The region is defined when one has run: libraries load thousands of
 * which most never do. */
struct kernel {
    uint32_t region; /* with rec_told_lock held; 0: not yet */
    char name[];
};
static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map kernel_map; /* id, and 1 -> struct kernel */

/* The linker's name of a kernel's descriptor ends in ".kd". */
static void note_kernel(const struct rocprofiler_symbol *symbol)
{
    const char *name = symbol->name ? symbol->name : "";
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".kd") == 0)
        length -= 3;
    pthread_mutex_lock(&kernels_lock);
    struct kernel *kernel = rec_told_keep(sizeof *kernel + length + 1);
    if (kernel) {
        kernel->region = 0;
        memcpy(kernel->name, name, length);
        kernel->name[length] = '\0';
        rec_map_put(&kernel_map, symbol->kernel + 1, (uintptr_t)kernel);
    }
    pthread_mutex_unlock(&kernels_lock);
}

/* HIP fills memory, and copies some, by kernels of its own. */
static uint32_t region_by_kernel_name(const char *name)
{
    static const struct {
        const char *beginning;
        enum rec_device_kind kind;
    } moves[] = {{"__amd_rocclr_copy", REC_DEVICE_COPY_WITHIN},
                 {"__amd_rocclr_fill", REC_DEVICE_FILL}};
    for (unsigned i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strncmp(name, moves[i].beginning, strlen(moves[i].beginning)) == 0)
            return recorder->region(moves[i].kind, NULL);
    return recorder->region(REC_DEVICE_KERNEL, *name ? name : "(kernel without a name)");
}

static uint32_t region_of_rocm_kernel(uint64_t id)
{
    struct kernel *kernel = (struct kernel *)rec_map_get(&kernel_map, id + 1);
    if (!kernel)
        return region_by_kernel_name("");
    if (kernel->region == 0)
        kernel->region = region_by_kernel_name(kernel->name);
    return kernel->region;
}

static void on_code(struct rocprofiler_callback_record record, uint64_t *user, void *data)
{
    (void)user;
    (void)data;
    if (record.operation == ROCPROFILER_KERNEL_SYMBOL && record.phase == ROCPROFILER_ENTER &&
        recorder->is_on())
        note_kernel(record.payload);
}

/* ==== calls of the host ======================================================================= */

/* What a function does, as far as it matters to a device. Those from SUBMIT on submit something. */
enum what {
    HOST,
    FORGET,
    CAPTURE,
    CAPTURED,
    SYNC_STREAM,
    SYNC_EVENT,
    SYNC_DEVICE,
    SUBMIT,
    COPY_HOST,
    COPY_KIND,
    RECORD,
    AWAIT
};
enum { MOST_OPERATIONS = 2048, ROCM_SITES = REC_DEVICE_SITES + 0x500, HIP_DEVICE_TO_HOST = 2 };

struct row {
    uint8_t what, other;
};
#define ROW(what_, called, other_) {what_, other_},
#define NAME(what_, called, other_) \
    {.name = #called, .role = LULL_TAPE_ROLE_FUNCTION, .paradigm = LULL_TAPE_PARADIGM_DEVICE},
static const struct row rows[] = {HIP_CALLS(ROW)};
static struct rec_wait_function functions[] = {HIP_CALLS(NAME)};
enum { N_ROWS = sizeof rows / sizeof *rows };
static const struct row *row_of[MOST_OPERATIONS];

/* What the thread does. `stream` is the one for which its next work is, `sets` how many calls have said so
 * that have not ended. Calls that name none are for the default stream, which is number 0. */
static __thread struct {
    const struct row *row; /* of the call that it is in; NULL: none */
    uint64_t correlation;
    bool recorded;
    struct rec_wait wait;
    struct rec_operation operation; /* that it may submit */
    struct rec_launch *launch;
    struct rec_told_stream *target; /* to which the call has submitted; NULL: nothing */
    bool submitted;
    uint32_t stream, sets;
} in __attribute__((tls_model("initial-exec")));

static pthread_mutex_t rocm_maps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map rocm_events;   /* handle -> number of what is recorded; 0: nothing is known */
static struct rec_map rocm_captures; /* id of a stream, and 1 -> whether its work becomes a graph */

static void put_locked(struct rec_map *map, uintptr_t key, uintptr_t value)
{
    pthread_mutex_lock(&rocm_maps_lock);
    rec_map_put(map, key, value);
    pthread_mutex_unlock(&rocm_maps_lock);
}

static uintptr_t event_at(const struct row *row, const struct rocprofiler_hip_call *call)
{
    uintptr_t event;
    memcpy(&event, call->arguments + row->other, sizeof event);
    return event;
}

static void on_stream(struct rocprofiler_callback_record record, uint64_t *user, void *data)
{
    const struct rocprofiler_stream *stream = record.payload;
    (void)user;
    (void)data;
    if (record.operation != ROCPROFILER_STREAM_SET)
        return;
    if (record.phase == ROCPROFILER_ENTER) {
        in.stream = (uint32_t)stream->id;
        in.sets++;
    } else if (record.phase == ROCPROFILER_EXIT && in.sets > 0 && --in.sets == 0 && !in.row) {
        in.stream = 0;
    }
}

static void note_target(uint32_t device)
{
    struct rec_told_stream *stream = find_rocm_stream(device, in.stream);
    in.submitted = true;
    in.target = in.target ? in.target : stream;
    if (in.launch && in.target)
        rec_launch_goes_to(in.launch, in.target);
}

/* A kernel or a copy is about to be submitted. */
static void on_submission(struct rocprofiler_callback_record record, uint64_t *user, void *is_copy)
{
    (void)user;
    if (!in.row || !in.launch || record.phase != ROCPROFILER_ENTER || !recorder->is_on())
        return;
    if (is_copy) {
        const struct rocprofiler_copy_call *copy = record.payload;
        const uint32_t to = agent_of(copy->to);
        note_target(to < MOST_AGENTS ? to : agent_of(copy->from));
    } else if (record.operation == ROCPROFILER_ENQUEUE) {
        const struct rocprofiler_dispatch_call *call = record.payload;
        note_target(agent_of(call->dispatch.agent));
        if (in.recorded)
            rec_launch_expect(in.launch);
    }
}

static void begin_hip_call(const struct row *row, const struct rocprofiler_callback_record *record,
                           const struct rec_wait_place *place)
{
    const struct rocprofiler_hip_call *call = record->payload;
    if (row->what == FORGET) {
        put_locked(&rocm_events, event_at(row, call), 0);
        return;
    }
    in.recorded = recorder->begin(&in.wait, &functions[row - rows], place);
    in.row = row;
    in.correlation = record->correlation;
    in.operation = (struct rec_operation){.number = 0};
    in.launch = NULL;
    in.target = NULL;
    in.submitted = false;
    if (row->what < SUBMIT)
        return;
    if (in.recorded)
        recorder->announce(&in.wait, &in.operation);
    in.launch = rec_launch_note(record->correlation, &in.operation, in.wait.begin, NULL);
}

/* A marker in a stream, for an event. */
static void end_marker(const struct row *row, const struct rocprofiler_hip_call *call)
{
    const struct rec_told_stream *stream = only_stream(in.stream);
    const uintptr_t event = event_at(row, call);
    if (rec_map_get(&rocm_captures, (uintptr_t)in.stream + 1) != 0)
        return;
    recorder->submit(&in.wait, stream ? stream->recorded : NULL, &in.operation);
    if (row->what == RECORD) {
        recorder->depend(&in.wait, in.operation.number, 0);
        put_locked(&rocm_events, event, in.operation.number);
    } else if (rec_map_get(&rocm_events, event) != 0) {
        recorder->depend(&in.wait, in.operation.number, rec_map_get(&rocm_events, event));
    }
}

static void end_hip_submission(const struct row *row, const struct rocprofiler_hip_call *call)
{
    const struct rec_stream *recorded = in.target ? in.target->recorded : NULL;
    int direction = row->what == COPY_HOST ? HIP_DEVICE_TO_HOST : 0;
    if (!in.submitted)
        return;
    recorder->submit(&in.wait, recorded, &in.operation);
    if (row->what == COPY_KIND)
        memcpy(&direction, call->arguments + row->other, sizeof direction);
    if (direction == HIP_DEVICE_TO_HOST)
        recorder->wait(&in.wait, recorded, in.operation.number);
}

static void end_hip_wait(const struct row *row, const struct rocprofiler_hip_call *call)
{
    uint32_t device;
    if (row->what == SYNC_STREAM) {
        const struct rec_told_stream *stream = only_stream(in.stream);
        if (stream && stream->recorded)
            recorder->wait(&in.wait, stream->recorded, 0);
    } else if (row->what == SYNC_EVENT) {
        const uint64_t number = rec_map_get(&rocm_events, event_at(row, call));
        if (number != 0)
            recorder->wait(&in.wait, NULL, number);
    } else if (row->what == SYNC_DEVICE && only_device(&device)) {
        rec_told_wait_for_group(&in.wait, device);
    }
}

static bool has_succeeded(const struct rocprofiler_hip_call *call)
{
    int32_t result;
    memcpy(&result, (const char *)call + call->size - ROCPROFILER_RESULT, sizeof result);
    return result == 0;
}

static void end_hip_call(const struct row *row, const struct rocprofiler_hip_call *call)
{
    const bool good = has_succeeded(call);
    in.row = NULL;
    if (good && (row->what == CAPTURE || row->what == CAPTURED))
        put_locked(&rocm_captures, (uintptr_t)in.stream + 1, row->what == CAPTURE);
    if (in.recorded) {
        recorder->end(&in.wait);
        if (row->what >= RECORD && good)
            end_marker(row, call);
        else if (row->what >= SUBMIT && row->what < RECORD)
            end_hip_submission(row, call);
        else if (good)
            end_hip_wait(row, call);
        recorder->leave(&in.wait);
    }
    if (in.sets == 0)
        in.stream = 0;
}

static void on_call(struct rocprofiler_callback_record record, uint64_t *user, void *data)
{
    const struct row *row = record.operation >= 0 && record.operation < MOST_OPERATIONS
                                ? row_of[record.operation]
                                : NULL;
    (void)user;
    (void)data;
    if (!row || !recorder->is_on())
        return;
    if (record.phase == ROCPROFILER_ENTER && !in.row) {
        const struct rec_wait_place place = {ROCM_SITES + (unsigned)(row - rows), REC_CALLER,
                                             REC_FRAME};
        begin_hip_call(row, &record, &place);
    } else if (record.phase == ROCPROFILER_EXIT && in.row == row &&
               in.correlation == record.correlation) {
        end_hip_call(row, record.payload);
    }
}

/* ==== records ================================================================================= */

static uint32_t dispatch_kind, copy_kind; /* numbers of kinds of records */

/* False: the record is not that of an operation that can be recorded. */
static bool read_rocm_record(const struct rocprofiler_header *header, struct rec_told *told)
{
    const union {
        const struct rocprofiler_record *any;
        const struct rocprofiler_dispatch_record *kernel;
        const struct rocprofiler_copy_record *copy;
    } is = {header->record};
    const bool is_copy = header->kind == copy_kind;
    if (header->category != ROCPROFILER_RECORDS || (header->kind != dispatch_kind && !is_copy))
        return false;
    uint32_t device = agent_of(is_copy ? is.copy->to : is.kernel->dispatch.agent);
    device = is_copy && device == MOST_AGENTS ? agent_of(is.copy->from) : device;
    struct rec_told_stream *known = told->launch ? told->launch->stream : NULL;
    const uint32_t other =
        is_copy ? OF_COPIES : OF_QUEUE | ((uint32_t)is.kernel->dispatch.queue & ~OF_QUEUE);
    told->stream = known && known->group == device ? known : find_rocm_stream(device, other);
    told->start = is.any->start;
    told->end = is.any->end;
    told->bytes = is_copy ? is.copy->bytes : 0;
    told->resolution = TIMER_NS;
    if (!told->stream || !told->stream->recorded)
        return false;
    if (!is_copy)
        told->region = region_of_rocm_kernel(is.kernel->dispatch.kernel);
    else
        told->region = recorder->region(
            is.any->operation == ROCPROFILER_HOST_TO_DEVICE     ? REC_DEVICE_COPY_TO
            : is.any->operation == ROCPROFILER_DEVICE_TO_HOST   ? REC_DEVICE_COPY_FROM
            : is.any->operation == ROCPROFILER_DEVICE_TO_DEVICE ? REC_DEVICE_COPY_WITHIN
                                                                : REC_DEVICE_COPY,
            NULL);
    return true;
}

struct headers {
    struct rocprofiler_header **all;
    size_t n;
};

/* All that is called on the way is the recorder's affair. */
static void deliver_headers(void *context)
{
    const struct headers *headers = context;
    if (!rec_told_begin())
        return;
    struct rec_point point;
    if (rec_told_read(read_rocm_clock, &point))
        rec_points_append(&rocm_points, &point);
    const uint64_t now = recorder->now();
    for (size_t i = 0; i < headers->n; i++) {
        const struct rocprofiler_record *record = headers->all[i]->record;
        struct rec_launch_found launch;
        struct rec_told told = {.launch = NULL};
        if (rec_launch_find(record->correlation, &launch)) {
            if (launch.number == REC_NO_NUMBER)
                continue;
            told.launch = &launch;
        }
        if (read_rocm_record(headers->all[i], &told))
            rec_told_add(&told, ticks_of_rocm, now);
    }
    rec_told_deliver();
    pthread_mutex_unlock(&rec_told_lock);
}

static void take_records(uint64_t context, uint64_t buffer, struct rocprofiler_header **all,
                         size_t n, void *data, uint64_t dropped)
{
    struct headers headers = {all, n};
    (void)context;
    (void)buffer;
    (void)data;
    SET(rec_dropped, dropped); /* of the buffer, since its begin */
    if (n > 0 && recorder->is_on())
        recorder->aside(deliver_headers, &headers);
}

/* ==== draining ================================================================================ */

enum { OF_CALLS, OF_RECORDS, CONTEXTS };
static uint64_t contexts[CONTEXTS], buffer_id;
static bool is_finalized; /* atomic: rocprofiler-sdk may not be called any more */

/* Where the program ends within a call of HIP, in a signal handler, the runtime may hold a lock: it is not
 * asked any more. */
static void drain_rocm(bool last)
{
    SET(rec_told_is_last, last);
    if (!in.row && !GET(is_finalized))
        rocprofiler.rocprofiler_flush_buffer(buffer_id);
    if (last)
        rec_told_end();
    rec_tell_oddities("ROCm", "rocprofiler-sdk", last);
}

/* In a pause no records are made. Callbacks stay: a call that began before the pause has to end. */
static void detach_rocm(bool detached)
{
    if (GET(is_finalized))
        return;
    if (detached)
        rocprofiler.rocprofiler_stop_context(contexts[OF_RECORDS]);
    else
        rocprofiler.rocprofiler_start_context(contexts[OF_RECORDS]);
}

static const struct rec_device_backend rocm_backend = {
    .name = "ROCm", .drain = drain_rocm, .detach = detach_rocm};

/* ==== start =================================================================================== */

static struct kind {
    const char *name;
    uint32_t number; /* 0: this version has none of that name */
} call_kinds[] = {{"HIP_RUNTIME_API", 0},
                  {"HIP_STREAM", 0},
                  {"KERNEL_DISPATCH", 0},
                  {"MEMORY_COPY", 0},
                  {"CODE_OBJECT", 0}},
  record_kinds[] = {{"KERNEL_DISPATCH", 0}, {"MEMORY_COPY", 0}};
enum { CALLS, STREAMS, DISPATCHES, COPIES, CODE, CALL_KINDS, RECORD_KINDS = 2 };

static void note_kind(struct kind *kinds, unsigned n, const char *name, uint32_t number)
{
    for (unsigned i = 0; name && i < n; i++)
        if (strcmp(kinds[i].name, name) == 0)
            kinds[i].number = number;
}

static int see_call_kind(uint32_t number, void *data)
{
    const char *name = NULL;
    (void)data;
    rocprofiler.rocprofiler_query_callback_tracing_kind_name(number, &name, NULL);
    note_kind(call_kinds, CALL_KINDS, name, number);
    return 0;
}

static int see_record_kind(uint32_t number, void *data)
{
    const char *name = NULL;
    (void)data;
    rocprofiler.rocprofiler_query_buffer_tracing_kind_name(number, &name, NULL);
    note_kind(record_kinds, RECORD_KINDS, name, number);
    return 0;
}

struct wanted {
    int32_t operations[N_ROWS];
    size_t n;
};

static int see_function(uint32_t kind, int32_t operation, void *data)
{
    struct wanted *wanted = data;
    const char *name = NULL;
    rocprofiler.rocprofiler_query_callback_tracing_kind_operation_name(kind, operation, &name,
                                                                       NULL);
    for (unsigned i = 0; name && i < N_ROWS && operation >= 0 && operation < MOST_OPERATIONS; i++)
        if (strcmp(functions[i].name, name) == 0 && wanted->n < N_ROWS) {
            row_of[operation] = &rows[i];
            wanted->operations[wanted->n++] = operation;
        }
    return 0;
}

/* What has failed; NULL: nothing. */
static const char *configure(void)
{
    enum { BUFFER_BYTES = 4 << 20 };
    static struct wanted wanted;
    static rocprofiler_callback *const callbacks[CALL_KINDS] = {[CALLS] = on_call,
                                                                [STREAMS] = on_stream,
                                                                [DISPATCHES] = on_submission,
                                                                [COPIES] = on_submission,
                                                                [CODE] = on_code};
    static const int32_t enqueue = ROCPROFILER_ENQUEUE;
    rocprofiler.rocprofiler_iterate_callback_tracing_kinds(see_call_kind, NULL);
    rocprofiler.rocprofiler_iterate_buffer_tracing_kinds(see_record_kind, NULL);
    if (call_kinds[CALLS].number != 0)
        rocprofiler.rocprofiler_iterate_callback_tracing_kind_operations(call_kinds[CALLS].number,
                                                                         see_function, &wanted);
    dispatch_kind = record_kinds[0].number;
    copy_kind = record_kinds[1].number;
    if (rocprofiler.rocprofiler_create_buffer(contexts[OF_RECORDS], BUFFER_BYTES, BUFFER_BYTES / 2,
                                              ROCPROFILER_LOSSLESS, take_records, NULL,
                                              &buffer_id) != ROCPROFILER_OK)
        return "a buffer is refused";
    for (unsigned i = 0; i < CALL_KINDS; i++) {
        const int32_t *operations = i == CALLS        ? wanted.operations
                                    : i == DISPATCHES ? &enqueue
                                                      : NULL;
        if (call_kinds[i].number == 0 ||
            rocprofiler.rocprofiler_configure_callback_tracing_service(
                contexts[OF_CALLS], call_kinds[i].number, operations,
                i == CALLS        ? wanted.n
                : i == DISPATCHES ? 1
                                  : 0,
                callbacks[i], i == COPIES ? &buffer_id : NULL) != ROCPROFILER_OK)
            return call_kinds[i].name;
    }
    for (unsigned i = 0; i < RECORD_KINDS; i++)
        if (record_kinds[i].number == 0 ||
            rocprofiler.rocprofiler_configure_buffer_tracing_service(
                contexts[OF_RECORDS], record_kinds[i].number, NULL, 0, buffer_id) != ROCPROFILER_OK)
            return record_kinds[i].name;
    return NULL;
}

/* Called by rocprofiler-sdk, once. Below 0: it forgets this library. */
static int initialize(void (*finish)(struct rocprofiler_client client), void *data)
{
    struct rec_point point;
    (void)finish;
    (void)data;
    ns_per_tick = recorder->ns_per_tick();
    ticks_per_ns = 1 / ns_per_tick;
    rocprofiler.rocprofiler_query_available_agents(ROCPROFILER_AGENTS, see_agents,
                                                   sizeof(struct rocprofiler_agent), NULL);
    const char *failed = NULL;
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (rocprofiler.rocprofiler_create_context(&contexts[i]) != ROCPROFILER_OK)
            failed = "a context is refused";
    if (!failed)
        failed = rec_told_read(read_rocm_clock, &point) ? configure() : "it has no clock";
    if (!failed)
        rec_points_append(&rocm_points, &point);
    for (unsigned i = 0; i < CONTEXTS && !failed; i++)
        if (rocprofiler.rocprofiler_start_context(contexts[i]) != ROCPROFILER_OK)
            failed = "the context cannot be started, as where another tool has it";
    if (failed) {
        recorder->say("ROCm: rocprofiler-sdk cannot be used (%s): what is done with ROCm is not "
                      "recorded",
                      failed);
        return -1;
    }
    recorder->attach(&rocm_backend);
    return 0;
}

/* The recorder has drained before, if the program ends in the usual way. */
static void finalize(void *data)
{
    (void)data;
    if (recorder->is_on())
        recorder->drain();
    SET(is_finalized, true);
}

#define LOOK_UP(name, declared)                                        \
    do {                                                               \
        void *symbol_ = dlsym(library, #name);                         \
        memcpy(&rocprofiler.name, &symbol_, sizeof(rocprofiler.name)); \
        missing = !missing && !symbol_ ? #name : missing;              \
    } while (0);

/* False: it is too old; that has been said. */
static bool look_up_rocprofiler(void)
{
    const char *missing = NULL;
    void *library = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_NOLOAD);
    library = library ? library : RTLD_DEFAULT;
    ROCPROFILER_NEEDED(LOOK_UP)
    if (missing)
        recorder->say("ROCm: rocprofiler-sdk lacks %s: what is done with ROCm is not recorded",
                      missing);
    return !missing;
}

REC_EXPORT const struct rocprofiler_tool *rocprofiler_configure(uint32_t version, const char *text,
                                                                uint32_t priority,
                                                                struct rocprofiler_client *client);

/* What rocprofiler-sdk looks for in a tool's library. NULL: nothing is wanted of it. */
const struct rocprofiler_tool *rocprofiler_configure(uint32_t version, const char *text,
                                                     uint32_t priority,
                                                     struct rocprofiler_client *client)
{
    static const struct rocprofiler_tool tool = {sizeof tool, initialize, finalize, NULL};
    (void)text;
    (void)priority; /* how many tools came before: each has a context of its own */
    recorder = rec_device_find("ROCm");
    if (!recorder)
        return NULL;
    if (version / 10000 != ROCPROFILER_VERSION) {
        recorder->say("ROCm: rocprofiler-sdk has version %u.%u, and only %d is known: what is done "
                      "with ROCm is not recorded",
                      version / 10000, version / 100 % 100, ROCPROFILER_VERSION);
        return NULL;
    }
    if (!look_up_rocprofiler())
        return NULL;
    client->name = "lull";
    return &tool;
}
