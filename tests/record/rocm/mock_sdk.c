/* librocprofiler-sdk.so.1 of the mock: see mock.h. Structures are those of rocprofiler-sdk 1.0's headers, as far as a tool
 * reads them, with their true offsets. */
#include "mock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, ERROR = 1, CONFLICT = 12, LOCKED = 16, INVALID = 19 };
enum {
    HIP_RUNTIME_API = 5, /* kinds of callbacks */
    CODE_OBJECT = 10,
    KERNEL_DISPATCH = 12,
    MEMORY_COPY = 13,
    HIP_STREAM = 20,
    COPY_RECORD = 10, /* kinds of records */
    DISPATCH_RECORD = 11,
    KINDS = 22,
    FUNCTIONS = 32,
    RESULT_BYTES = 24,
    MOST_ARGUMENTS = 640
};
static const char *const kind_names[KINDS] = {"NONE",
                                              "HSA_CORE_API",
                                              "HSA_AMD_EXT_API",
                                              "HSA_IMAGE_EXT_API",
                                              "HSA_FINALIZE_EXT_API",
                                              "HIP_RUNTIME_API",
                                              "HIP_COMPILER_API",
                                              "MARKER_CORE_API",
                                              "MARKER_CONTROL_API",
                                              "MARKER_NAME_API",
                                              "CODE_OBJECT",
                                              "SCRATCH_MEMORY",
                                              "KERNEL_DISPATCH",
                                              "MEMORY_COPY",
                                              "RCCL_API",
                                              "OMPT",
                                              "MEMORY_ALLOCATION",
                                              "RUNTIME_INITIALIZATION",
                                              "ROCDECODE_API",
                                              "ROCJPEG_API",
                                              "HIP_STREAM",
                                              "MARKER_CORE_RANGE_API"};
static const char *const record_names[] = {"NONE",
                                           "HSA_CORE_API",
                                           "HSA_AMD_EXT_API",
                                           "HSA_IMAGE_EXT_API",
                                           "HSA_FINALIZE_EXT_API",
                                           "HIP_RUNTIME_API",
                                           "HIP_COMPILER_API",
                                           "MARKER_CORE_API",
                                           "MARKER_CONTROL_API",
                                           "MARKER_NAME_API",
                                           "MEMORY_COPY",
                                           "KERNEL_DISPATCH",
                                           "SCRATCH_MEMORY"};
enum { RECORD_KINDS = sizeof record_names / sizeof *record_names };
static const char *const functions[] = {"hipApiName",
                                        "hipInit",
                                        "hipMalloc",
                                        "hipFree",
                                        "hipStreamCreate",
                                        "hipStreamDestroy",
                                        "hipStreamSynchronize",
                                        "hipDeviceSynchronize",
                                        "hipStreamBeginCapture",
                                        "hipStreamEndCapture",
                                        "hipGraphInstantiate",
                                        "hipGraphLaunch",
                                        "hipEventDestroy",
                                        "hipEventRecord",
                                        "hipEventSynchronize",
                                        "hipStreamWaitEvent",
                                        "hipLaunchKernel",
                                        "hipModuleLaunchKernel",
                                        "hipMemcpy",
                                        "hipMemcpyAsync",
                                        "hipMemsetAsync"};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* rocprofiler_callback_tracing_record_t */
struct callback_record {
    uint64_t context, thread;
    struct {
        uint64_t internal, external, ancestor;
    } correlation;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
};
typedef void callback(struct callback_record record, uint64_t *user, void *data);
struct header {
    uint32_t category, kind;
    void *payload;
};
typedef void deliver_function(uint64_t context, uint64_t buffer, struct header **headers, size_t n,
                              void *data, uint64_t dropped);
struct client {
    const char *name;
    uint32_t handle;
};
struct tool {
    size_t size;
    int (*initialize)(void (*finish)(struct client client), void *data);
    void (*finalize)(void *data);
    void *data;
};

struct ended {
    struct ended *next;
    uint64_t ready; /* ns: when it has ended */
    long number;
    bool lost;
    struct header header;
    unsigned char bytes[256];
};

static struct {
    callback *call;
    void *data;
    uint64_t context;
    bool wanted[N_FUNCTIONS];
    bool all;
} services[KINDS];
static uint64_t records_wanted[RECORD_KINDS]; /* the context; 0: nobody has asked */
static deliver_function *deliver;
static void *deliver_data;
static const struct tool *tool;
static bool configuring;
enum { MOST_CONTEXTS = 4 };
static bool running[MOST_CONTEXTS]; /* atomic */
static uint64_t n_contexts;
static uint64_t n_dropped; /* atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER,
                       handing = PTHREAD_MUTEX_INITIALIZER; /* one callback of a buffer at a time */
static struct ended *pending, **last_pending = &pending;
static unsigned n_pending, n_on_the_way;
static bool (*is)(const char *word);
static uint64_t (*random_below)(uint64_t below);
static uint64_t (*now)(void);
static void (*tell)(const char *format, ...);
static void (*flush_truth)(void);
static bool is_small, is_shuffle, is_eager, is_worker, is_drops, is_odd_times, is_late, is_killed;
static int first_id;
static size_t argument_bytes = 512;

/* ---- handing over ---------------------------------------------------------------------------- */

/* With the lock held: up to `most` that have ended, out of all. */
static unsigned take(struct ended **taken, unsigned most, bool all)
{
    const uint64_t then = now();
    unsigned n = 0;
    for (struct ended **place = &pending; *place && n < most;) {
        struct ended *one = *place;
        if (!all && (one->ready > then || (is_shuffle && random_below(3) == 0))) {
            place = &one->next;
            continue;
        }
        *place = one->next;
        taken[n++] = one;
    }
    last_pending = &pending;
    while (*last_pending)
        last_pending = &(*last_pending)->next;
    n_pending -= n;
    return n;
}

static void hand_over(struct ended **taken, unsigned n)
{
    struct header *headers[256];
    pthread_mutex_lock(&handing);
    for (unsigned i = 0; i < n; i++)
        headers[i] = &taken[i]->header;
    for (unsigned i = 0; is_shuffle && i < n; i++) {
        const unsigned other = (unsigned)random_below(n);
        struct header *one = headers[i];
        headers[i] = headers[other];
        headers[other] = one;
    }
    if (is_killed)
        flush_truth();
    const uint64_t dropped = __atomic_load_n(&n_dropped, __ATOMIC_RELAXED);
    deliver(1, 7, headers, n, deliver_data, dropped);
    tell("drops %lu\n", (unsigned long)dropped); /* of a buffer that stays empty none are told */
    for (unsigned i = 0; i < n; i++) {
        tell(taken[i]->lost ? "lost %ld\n" : "delivered %ld\n", taken[i]->number);
        free(taken[i]);
    }
    if (is_killed)
        flush_truth();
    pthread_mutex_unlock(&handing);
}

static bool hand_over_some(bool all)
{
    struct ended *taken[256];
    pthread_mutex_lock(&lock);
    const unsigned n = take(taken, is_small ? 1 + (unsigned)random_below(20) : 256, all);
    n_on_the_way += n > 0;
    pthread_mutex_unlock(&lock);
    if (n == 0)
        return false;
    hand_over(taken, n);
    pthread_mutex_lock(&lock);
    n_on_the_way--;
    pthread_mutex_unlock(&lock);
    return true;
}

static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        const struct timespec turn = {.tv_nsec = 500000};
        nanosleep(&turn, NULL);
        pthread_mutex_lock(&lock);
        const bool many = n_pending > 1000;
        pthread_mutex_unlock(&lock);
        if (is_worker || is_small || many)
            while (hand_over_some(false))
                ;
    }
    return NULL;
}

/* What would be handed over after all others have ended. */
__attribute__((destructor)) static void end(void)
{
    if (is_late && deliver)
        hand_over_some(true);
}

static bool is_running(uint64_t context)
{
    return context < MOST_CONTEXTS && __atomic_load_n(&running[context], __ATOMIC_ACQUIRE);
}

static bool attached(void)
{
    return is_running(records_wanted[DISPATCH_RECORD]);
}

/* ---- what libamdhip64 tells ------------------------------------------------------------------ */

static void tell_callback(unsigned kind, int operation, unsigned phase, uint64_t correlation,
                          void *payload)
{
    uint64_t user = 0;
    const struct callback_record record = {.context = 1,
                                           .thread = 1,
                                           .correlation = {correlation, 0, 0},
                                           .kind = kind,
                                           .operation = operation,
                                           .phase = phase,
                                           .payload = payload};
    if (services[kind].call && is_running(services[kind].context))
        services[kind].call(record, &user, services[kind].data);
}

static void tell_call(const char *name, unsigned phase, uint64_t correlation, const void *arguments,
                      size_t bytes, result value)
{
    union {
        uint64_t size;
        unsigned char bytes[8 + MOST_ARGUMENTS + RESULT_BYTES];
    } payload;
    int f = 0;
    while (f < N_FUNCTIONS && strcmp(functions[f], name) != 0)
        f++;
    if (f == N_FUNCTIONS || !services[HIP_RUNTIME_API].wanted[f])
        return;
    memset(&payload, 0xa5, sizeof payload);
    payload.size = 8 + argument_bytes + RESULT_BYTES;
    if (bytes > 0)
        memcpy(payload.bytes + 8, arguments, bytes);
    memcpy(payload.bytes + 8 + argument_bytes, &value, sizeof value);
    tell_callback(HIP_RUNTIME_API, first_id + f, phase, correlation, &payload);
}

static void tell_stream(unsigned phase, uint64_t id, const void *handle)
{
    struct {
        uint64_t size, id;
        const void *handle;
    } payload = {sizeof payload, id, handle};
    tell_callback(HIP_STREAM, 3, phase, 0, &payload);
}

static void tell_symbol(uint64_t kernel, const char *name)
{
    struct {
        uint64_t size, kernel, code;
        const char *name;
        uint64_t more[6];
    } payload = {sizeof payload, kernel, 1, name, {0}};
    tell_callback(CODE_OBJECT, 2, ENTER, 0, &payload);
}

static uint64_t agent(unsigned device)
{
    return FIRST_AGENT + device;
}

static void tell_submission(unsigned phase, const struct operation *one)
{
    uint64_t payload[20] = {sizeof payload};
    if (one->kind == DISPATCH) {
        const uint64_t info[] = {72, agent(one->device), one->queue, one->kernel,
                                 (uint64_t)one->number};
        memcpy(payload + 3, info, sizeof info);
        tell_callback(KERNEL_DISPATCH, 1, phase, one->correlation, payload);
    } else if (phase == ENTER) { /* the end is told when the copy has ended */
        payload[3] = one->direction == DTOH ? CPU_AGENT : agent(one->device);
        payload[4] = one->direction == HTOD ? CPU_AGENT : agent(one->device);
        payload[5] = one->bytes;
        tell_callback(MEMORY_COPY, (int)one->direction, phase, one->correlation, payload);
    }
}

/* Both kinds of records have the correlation id at 16, the thread at 32, times at 40 and 48; then, from 56 on, that of a dispatch
 * what was dispatched, and that of a copy both agents and the bytes. */
static void put_record(struct ended *ended, const struct operation *one, uint64_t begin,
                       uint64_t end)
{
    uint64_t words[24] = {0};
    const uint32_t kind = one->kind == DISPATCH ? DISPATCH_RECORD : COPY_RECORD;
    const int32_t operation = one->kind == DISPATCH ? 2 : (int32_t)one->direction;
    words[0] = one->kind == DISPATCH ? 192 : 104;
    words[1] = kind | (uint64_t)(uint32_t)operation << 32;
    words[2] = one->correlation;
    words[4] = one->thread;
    words[5] = begin;
    words[6] = end;
    if (one->kind == DISPATCH) {
        words[7] = 72;
        words[8] = agent(one->device);
        words[9] = one->queue;
        words[10] = one->kernel;
        words[11] = (uint64_t)one->number;
    } else {
        words[7] = one->direction == DTOH ? CPU_AGENT : agent(one->device);
        words[8] = one->direction == HTOD ? CPU_AGENT : agent(one->device);
        words[9] = one->bytes;
    }
    memcpy(ended->bytes, words, sizeof words);
    ended->header = (struct header){1, kind, ended->bytes};
}

static void add_operation(const struct operation *one)
{
    const uint64_t odd = is_odd_times ? random_below(20) : 99, hour = 3600000000000;
    const uint64_t shift = odd == 1 ? hour : odd == 2 ? -hour : 0;
    if (!is_running(records_wanted[one->kind == DISPATCH ? DISPATCH_RECORD : COPY_RECORD])) {
        tell("untold %ld\n", one->number);
        return;
    }
    if (is_drops && random_below(10) == 0) {
        pthread_mutex_lock(&lock);
        __atomic_add_fetch(&n_dropped, 1, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        tell("dropped %ld\n", one->number);
        return;
    }
    struct ended *ended = calloc(1, sizeof *ended);
    put_record(ended, one, odd == 0 ? 0 : one->begin + shift, odd == 0 ? 0 : one->end + shift);
    ended->ready = one->end;
    ended->number = one->number;
    ended->lost = odd <= 2;
    pthread_mutex_lock(&lock);
    *last_pending = ended;
    last_pending = &ended->next;
    n_pending++;
    pthread_mutex_unlock(&lock);
    if (!is_eager)
        return;
    while (now() < one->end)
        ;
    hand_over_some(false);
}

/* ---- rocprofiler-sdk's interface ------------------------------------------------------------- */

#define API(name, arguments)   \
    EXPORT int name arguments; \
    EXPORT int name arguments

API(rocprofiler_create_context, (uint64_t * context))
{
    if (n_contexts + 1 == MOST_CONTEXTS)
        return ERROR;
    *context = ++n_contexts;
    return configuring ? OK : LOCKED;
}

API(rocprofiler_start_context, (uint64_t context))
{
    if (is("conflict"))
        return CONFLICT;
    if (context == 0 || context > n_contexts)
        return ERROR;
    __atomic_store_n(&running[context], true, __ATOMIC_RELEASE);
    return OK;
}

API(rocprofiler_stop_context, (uint64_t context))
{
    if (context == 0 || context > n_contexts)
        return ERROR;
    __atomic_store_n(&running[context], false, __ATOMIC_RELEASE);
    return OK;
}

API(rocprofiler_create_buffer, (uint64_t context, size_t size, size_t watermark, int policy,
                                deliver_function *function, void *data, uint64_t *buffer))
{
    if (!configuring || context == 0 || context > n_contexts || watermark > size || policy < 1 ||
        policy > 2)
        return INVALID;
    deliver = function;
    deliver_data = data;
    *buffer = 7;
    return OK;
}

/* Returns when all that has ended before was handed over. */
API(rocprofiler_flush_buffer, (uint64_t buffer))
{
    if (buffer != 7)
        return ERROR;
    const uint64_t then = now();
    for (bool waits = !is_late; waits;) {
        const struct timespec turn = {.tv_nsec = 100000};
        if (!is_worker)
            while (hand_over_some(false))
                ;
        pthread_mutex_lock(&lock);
        waits = n_on_the_way > 0;
        for (const struct ended *one = pending; one; one = one->next)
            waits = waits || one->ready <= then;
        pthread_mutex_unlock(&lock);
        if (waits)
            nanosleep(&turn, NULL);
    }
    return OK;
}

API(rocprofiler_configure_callback_tracing_service,
    (uint64_t context, uint32_t kind, const int32_t *operations, size_t n, callback *function,
     void *data))
{
    if (!configuring || context == 0 || context > n_contexts || kind >= KINDS ||
        services[kind].call)
        return INVALID;
    services[kind].context = context;
    services[kind].call = function;
    services[kind].data = data;
    for (size_t i = 0; i < n && kind == HIP_RUNTIME_API; i++) {
        if (operations[i] < first_id || operations[i] >= first_id + N_FUNCTIONS)
            return INVALID;
        services[kind].wanted[operations[i] - first_id] = true;
    }
    return OK;
}

API(rocprofiler_configure_buffer_tracing_service,
    (uint64_t context, uint32_t kind, const int32_t *operations, size_t n, uint64_t buffer))
{
    if (!configuring || context == 0 || context > n_contexts || kind >= RECORD_KINDS ||
        operations || n > 0 || buffer != 7)
        return INVALID;
    records_wanted[kind] = context;
    return OK;
}

API(rocprofiler_iterate_callback_tracing_kinds, (int (*see)(uint32_t, void *), void *data))
{
    for (uint32_t kind = 1; kind < KINDS; kind++)
        see(kind, data);
    return OK;
}

API(rocprofiler_query_callback_tracing_kind_name, (uint32_t kind, const char **name, uint64_t *n))
{
    if (kind >= KINDS)
        return ERROR;
    *name = kind_names[kind];
    if (n)
        *n = strlen(*name);
    return OK;
}

API(rocprofiler_iterate_callback_tracing_kind_operations,
    (uint32_t kind, int (*see)(uint32_t, int32_t, void *), void *data))
{
    for (int f = 0; f < N_FUNCTIONS && kind == HIP_RUNTIME_API; f++)
        see(kind, first_id + f, data);
    return OK;
}

API(rocprofiler_query_callback_tracing_kind_operation_name,
    (uint32_t kind, int32_t operation, const char **name, uint64_t *n))
{
    if (kind != HIP_RUNTIME_API || operation < first_id || operation >= first_id + N_FUNCTIONS)
        return ERROR;
    *name = functions[operation - first_id];
    if (n)
        *n = strlen(*name);
    return OK;
}

API(rocprofiler_iterate_buffer_tracing_kinds, (int (*see)(uint32_t, void *), void *data))
{
    for (uint32_t kind = 1; kind < RECORD_KINDS; kind++)
        see(kind, data);
    return OK;
}

API(rocprofiler_query_buffer_tracing_kind_name, (uint32_t kind, const char **name, uint64_t *n))
{
    if (kind >= RECORD_KINDS)
        return ERROR;
    *name = record_names[kind];
    if (n)
        *n = strlen(*name);
    return OK;
}

/* rocprofiler_agent_v0_t: type at 16, place at 108, domain at 112, names at 248, 264. */
API(rocprofiler_query_available_agents,
    (uint32_t version, int (*see)(uint32_t, const void **, size_t, void *), size_t size,
     void *data))
{
    static unsigned char agents[DEVICES + 1][320];
    static const char *const product_names[DEVICES + 1] = {"Mock CPU", "Mock GPU 0", "Mock GPU 1"};
    const void *all[DEVICES + 1];
    if (version != 1 || size > sizeof *agents)
        return INVALID;
    for (unsigned i = 0; i <= DEVICES; i++) {
        const uint64_t id = i == 0 ? CPU_AGENT : agent(i - 1);
        const uint32_t type = i == 0 ? 1 : 2, node = i,
                       place = is("partition") ? 0xc100 : (0xc0 + i) << 8 | 1 << 3;
        memcpy(agents[i] + 8, &id, sizeof id);
        memcpy(agents[i] + 16, &type, sizeof type);
        memcpy(agents[i] + 108, &place, sizeof place);
        memcpy(agents[i] + 264, &product_names[i], sizeof *product_names);
        memcpy(agents[i] + 280, &node, sizeof node);
        all[i] = agents[i];
    }
    return see(version, all, DEVICES + 1, data);
}

#ifndef MOCK_LACKS
API(rocprofiler_get_timestamp, (uint64_t * ns))
{
    *ns = now();
    return OK;
}
#endif

/* ---- start ----------------------------------------------------------------------------------- */

static void *of_hip(const char *name)
{
    return dlsym(dlopen("libamdhip64.so.7", RTLD_LAZY | RTLD_NOLOAD), name);
}

static void connect_hip(void)
{
    struct hooks *hooks = of_hip("mock_hooks");
    *(void **)&is = of_hip("mock_is");
    *(void **)&random_below = of_hip("mock_random");
    *(void **)&now = of_hip("mock_now");
    *(void **)&tell = of_hip("mock_tell");
    *(void **)&flush_truth = of_hip("mock_flush_truth");
    *hooks = (struct hooks){tell_call,     tell_stream, tell_submission,
                            add_operation, tell_symbol, attached};
    is_small = is("small");
    is_shuffle = is("shuffle");
    is_eager = is("eager");
    is_worker = is("worker");
    is_drops = is("drops");
    is_odd_times = is("odd-times");
    is_late = is("late");
    is_killed = is("killed");
    first_id = is("other-ids") ? 300 : 0;
    argument_bytes = is("other-ids") ? MOST_ARGUMENTS : 512;
}

static void finish(struct client client)
{
    (void)client;
}

static void finalize(void)
{
    if (tool && tool->finalize)
        tool->finalize(tool->data);
}

static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

EXPORT void mock_start(void)
{
    const char *libraries = getenv("ROCP_TOOL_LIBRARIES");
    const struct tool *(*configure)(uint32_t, const char *, uint32_t, struct client *) = NULL;
    char path[4096] = "";
    struct client client = {NULL, 0};
    pthread_t thread;
    connect_hip();
    if (libraries) /* the last of the list: the others are a user's */
        strncpy(path, strrchr(libraries, ':') ? strrchr(libraries, ':') + 1 : libraries,
                sizeof path - 1);
    void *library = *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    *(void **)&configure = library ? dlsym(library, "rocprofiler_configure") : NULL;
    if (!configure)
        return;
    pthread_atfork(hold, release, release);
    tool = configure(is("version-0") ? 500 : is("version-2") ? 20001 : 10100, "mock", 0, &client);
    configuring = true;
    atexit(finalize);
    if (tool && tool->initialize(finish, tool->data) != 0)
        tool = NULL;
    configuring = false;
    if (tool && pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_detach(thread);
}
