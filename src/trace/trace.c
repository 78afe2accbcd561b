/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of what a trace defines, and what follows from its definitions alone. */
#include "trace/trace.h"

#include "binary/demangle.h"

#include <string.h>

/* ==== names =================================================================================== */

/* Names of the enumerations of the trace room. */

#define NAME_OF(table, index) \
    ((index) < sizeof(table) / sizeof *(table) && (table)[index] ? (table)[index] : "unknown")

static const char *const event_kinds[LULL_EVENT_KINDS] = {
    [LULL_EVENT_ENTER] = "enter",
    [LULL_EVENT_LEAVE] = "leave",
    [LULL_EVENT_CALL] = "call",
    [LULL_EVENT_STATE] = "state",
    [LULL_EVENT_SEND] = "send",
    [LULL_EVENT_SEND_DONE] = "send done",
    [LULL_EVENT_RECV_POST] = "receive posted",
    [LULL_EVENT_RECV] = "receive",
    [LULL_EVENT_REQUEST_TEST] = "request test",
    [LULL_EVENT_REQUEST_CANCELLED] = "request cancelled",
    [LULL_EVENT_REQUEST_FREED] = "request freed",
    [LULL_EVENT_COLLECTIVE_BEGIN] = "collective begin",
    [LULL_EVENT_COLLECTIVE_END] = "collective end",
    [LULL_EVENT_RMA] = "one-sided",
    [LULL_EVENT_IO] = "input/output",
    [LULL_EVENT_FORK] = "fork",
    [LULL_EVENT_JOIN] = "join",
    [LULL_EVENT_TEAM_BEGIN] = "team begin",
    [LULL_EVENT_TEAM_END] = "team end",
    [LULL_EVENT_THREAD_BEGIN] = "thread begin",
    [LULL_EVENT_THREAD_END] = "thread end",
    [LULL_EVENT_THREAD_CREATE] = "thread create",
    [LULL_EVENT_THREAD_WAIT_BEGIN] = "thread wait begin",
    [LULL_EVENT_THREAD_WAIT_END] = "thread wait end",
    [LULL_EVENT_TASK_CREATE] = "task create",
    [LULL_EVENT_TASK_SWITCH] = "task switch",
    [LULL_EVENT_TASK_COMPLETE] = "task complete",
    [LULL_EVENT_LOCK_ACQUIRE] = "lock acquire",
    [LULL_EVENT_LOCK_RELEASE] = "lock release",
    [LULL_EVENT_COUNTERS] = "counters",
    [LULL_EVENT_FLUSH] = "buffer flush",
    [LULL_EVENT_MEASURE_OFF] = "measurement off",
    [LULL_EVENT_MEASURE_ON] = "measurement on",
    [LULL_EVENT_MARKER] = "marker",
    [LULL_EVENT_SAMPLE] = "sample",
    [LULL_EVENT_SUBMIT] = "submit",
    [LULL_EVENT_DEPEND] = "depend",
    [LULL_EVENT_DEVICE_WAIT] = "device wait",
    [LULL_EVENT_OPERATION] = "operation",
};

const char *lull_event_kind_name(unsigned kind)
{
    return NAME_OF(event_kinds, kind);
}

static const struct {
    const char *id, *name;
} activities[LULL_ACTIVITIES] = {
    [LULL_USEFUL] = {"useful", "useful"},
    [LULL_MPI_P2P] = {"mpi_p2p", "MPI point-to-point"},
    [LULL_MPI_COLLECTIVE] = {"mpi_collective", "MPI collective"},
    [LULL_MPI_ONE_SIDED] = {"mpi_one_sided", "MPI one-sided"},
    [LULL_MPI_IO] = {"mpi_io", "MPI I/O"},
    [LULL_MPI_OTHER] = {"mpi_other", "MPI other"},
    [LULL_OMP_SYNC] = {"omp_sync", "OpenMP synchronisation"},
    [LULL_OMP_SCHEDULE] = {"omp_schedule", "OpenMP scheduling, fork and join"},
    [LULL_OMP_LOCK] = {"omp_lock", "lock wait"},
    [LULL_IDLE] = {"idle", "idle outside parallel regions"},
    [LULL_DEVICE] = {"device", "device runtime"},
    [LULL_IO] = {"io", "I/O"},
    [LULL_FLUSH] = {"flush", "tracer's buffer flush"},
    [LULL_OTHER] = {"other", "other"},
};

const char *lull_samples_way_name(unsigned way)
{
    static const char *const ways[LULL_SAMPLES_WAYS] = {[LULL_SAMPLES_NONE] = "",
                                                        [LULL_SAMPLES_REFUSED] = "",
                                                        [LULL_SAMPLES_PERF] = "perf_event",
                                                        [LULL_SAMPLES_FAKE] = "made up",
                                                        [LULL_SAMPLES_TIMER] = "timer"};
    return NAME_OF(ways, way);
}

const char *lull_activity_id(unsigned activity)
{
    return activity < LULL_ACTIVITIES ? activities[activity].id : "unknown";
}

const char *lull_activity_name(unsigned activity)
{
    return activity < LULL_ACTIVITIES ? activities[activity].name : "unknown";
}

static const char *const paradigms[LULL_PARADIGMS] = {
    [LULL_PARADIGM_USER] = "user",       [LULL_PARADIGM_COMPILER] = "compiler",
    [LULL_PARADIGM_MPI] = "MPI",         [LULL_PARADIGM_OPENMP] = "OpenMP",
    [LULL_PARADIGM_PTHREAD] = "pthread", [LULL_PARADIGM_DEVICE] = "device",
    [LULL_PARADIGM_IO] = "I/O",          [LULL_PARADIGM_MEASUREMENT] = "measurement",
    [LULL_PARADIGM_OTHER] = "other",
};

const char *lull_paradigm_name(unsigned paradigm)
{
    return NAME_OF(paradigms, paradigm);
}

static const char *const counter_roles[LULL_COUNTER_ROLES] = {
    [LULL_COUNTER_OTHER] = "other",
    [LULL_COUNTER_INSTRUCTIONS] = "instructions",
    [LULL_COUNTER_CYCLES] = "cycles",
    [LULL_COUNTER_PROCESSOR_TIME] = "processor-time",
};

const char *lull_counter_role_name(unsigned role)
{
    return NAME_OF(counter_roles, role);
}

static const char *const roles[LULL_ROLES] = {
    [LULL_ROLE_FUNCTION] = "function",
    [LULL_ROLE_WRAPPER] = "wrapper",
    [LULL_ROLE_LOOP] = "loop",
    [LULL_ROLE_CODE] = "code",
    [LULL_ROLE_PARALLEL] = "parallel",
    [LULL_ROLE_SECTIONS] = "sections",
    [LULL_ROLE_SECTION] = "section",
    [LULL_ROLE_WORKSHARE] = "workshare",
    [LULL_ROLE_SINGLE] = "single",
    [LULL_ROLE_SINGLE_BODY] = "single body",
    [LULL_ROLE_MASTER] = "master",
    [LULL_ROLE_CRITICAL] = "critical",
    [LULL_ROLE_CRITICAL_BODY] = "critical body",
    [LULL_ROLE_ATOMIC] = "atomic",
    [LULL_ROLE_BARRIER] = "barrier",
    [LULL_ROLE_IMPLICIT_BARRIER] = "implicit barrier",
    [LULL_ROLE_FLUSH] = "flush",
    [LULL_ROLE_ORDERED] = "ordered",
    [LULL_ROLE_ORDERED_BODY] = "ordered body",
    [LULL_ROLE_TASK] = "task",
    [LULL_ROLE_TASK_CREATE] = "task create",
    [LULL_ROLE_TASK_WAIT] = "task wait",
    [LULL_ROLE_COLL_ONE2ALL] = "collective one to all",
    [LULL_ROLE_COLL_ALL2ONE] = "collective all to one",
    [LULL_ROLE_COLL_ALL2ALL] = "collective all to all",
    [LULL_ROLE_COLL_OTHER] = "collective",
    [LULL_ROLE_FILE_IO] = "file I/O",
    [LULL_ROLE_POINT2POINT] = "point-to-point",
    [LULL_ROLE_RMA] = "one-sided",
    [LULL_ROLE_DATA_TRANSFER] = "data transfer",
    [LULL_ROLE_ARTIFICIAL] = "artificial",
    [LULL_ROLE_THREAD_CREATE] = "thread create",
    [LULL_ROLE_THREAD_WAIT] = "thread wait",
    [LULL_ROLE_ALLOCATE] = "allocate",
    [LULL_ROLE_LOCK] = "lock",
    [LULL_ROLE_SCHEDULE] = "schedule",
    [LULL_ROLE_KERNEL] = "kernel",
};

static const char *const file_kinds[LULL_FILE_KINDS] = {
    [LULL_FILE_REGULAR] = "file",      [LULL_FILE_PIPE] = "pipe",     [LULL_FILE_SOCKET] = "socket",
    [LULL_FILE_TERMINAL] = "terminal", [LULL_FILE_DEVICE] = "device", [LULL_FILE_OTHER] = "other",
};

const char *lull_file_kind_name(unsigned kind)
{
    return NAME_OF(file_kinds, kind);
}

const char *lull_role_name(unsigned role)
{
    return NAME_OF(roles, role);
}

/* ==== demangle ================================================================================ */

/* Names of C++ and Fortran, in regions and in the places that they are called from. */

/* "NAME (PLACE)" and what follows; names as linkers know them hold no blanks. */
static const char *demangle_first(struct lull_arena *arena, const char *text)
{
    size_t length = strcspn(text, " ");
    const char *name = lull_arena_strndup(arena, text, length);
    const char *plain = lull_demangle(arena, name);
    return plain == name ? text : lull_arena_printf(arena, "%s%s", plain, text + length);
}

/* "NAME (PLACE) < NAME (PLACE)", LULL_SITE_CALLER between them. */
static const char *demangle_site(struct lull_arena *arena, const char *site)
{
    const char *result = demangle_first(arena, site);
    for (const char *at = result; (at = strstr(at, LULL_SITE_CALLER)) != NULL;) {
        at += strlen(LULL_SITE_CALLER);
        const char *rest = demangle_first(arena, at);
        if (rest == at)
            continue;
        size_t front = (size_t)(at - result);
        result = lull_arena_printf(arena, "%.*s%s", (int)front, result, rest);
        at = result + front;
    }
    return result;
}

void lull_trace_demangle(struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        struct lull_region *region = &trace->regions[r];
        region->name = lull_demangle(trace->arena, region->name);
        if (strstr(region->site, "_"))
            region->site = demangle_site(trace->arena, region->site);
    }
}

bool lull_trace_demangles_cpp(void)
{
    return lull_demangles_cpp();
}

/* ==== trace ================================================================================== */

bool lull_trace_main_part(const struct lull_trace *trace, uint32_t application, int64_t *ret_begin,
                          int64_t *ret_end)
{
    int64_t begin = INT64_MAX, end = 0;
    for (uint32_t p = 0; trace->has_main && p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        if (process->application != application)
            continue;
        begin = process->main_begin < begin ? process->main_begin : begin;
        end = process->main_end > end ? process->main_end : end;
    }
    if (begin >= end || (begin == 0 && end == trace->duration))
        return false;
    *ret_begin = begin;
    *ret_end = end;
    return true;
}

bool lull_trace_is_simulated(const struct lull_trace *trace)
{
    return strcmp(trace->producer, LULL_SIMULATOR) == 0;
}

const char *lull_trace_property(const struct lull_trace *trace, const char *key)
{
    const char *value = NULL;
    for (uint32_t i = 0; i < trace->n_properties; i++) {
        const struct lull_property *property = &trace->properties[i];
        if (strcmp(property->key, key) == 0 && (!value || property->processes == 0))
            value = property->value;
    }
    return value;
}

uint32_t lull_comm_member(const struct lull_comm *comm, uint32_t rank)
{
    if (rank >= comm->size)
        return LULL_NONE;
    return comm->members ? comm->members[rank] : comm->first + rank;
}

uint32_t lull_comm_rank(const struct lull_comm *comm, uint32_t process)
{
    if (!comm->members)
        return process >= comm->first && process - comm->first < comm->size ? process - comm->first
                                                                            : LULL_NONE;
    for (uint32_t rank = 0; rank < comm->size; rank++)
        if (comm->members[rank] == process)
            return rank;
    return LULL_NONE;
}

/* ---- messages -------------------------------------------------------------------------------- */

uint64_t lull_received_bytes(const struct lull_trace *trace, const struct lull_message_sums *sent,
                             const struct lull_message_sums *received)
{
    if (received->largest <= sent->largest || received->count > sent->count)
        return received->bytes;
    lull_trace_add_quirk(trace,
                         "receives tell of larger messages than any that was sent; what was sent "
                         "counts",
                         "a receive of %llu bytes, the largest send has %llu",
                         (unsigned long long)received->largest, (unsigned long long)sent->largest);
    return received->count == sent->count ? sent->bytes : LULL_UNKNOWN_BYTES;
}
