/* libcuda.so.1 of the mock: see mock.h. A device works on each of its streams in order, and on all streams at once. What an
 * operation will take is drawn when it is submitted, so that nothing has to run. */
#include "mock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { DEVICES = 2, ERROR_INVALID = 1, ERROR_NO_DEVICE = 100, FIRST_STREAM_ID = 7, GAP = 200 };

struct stream {
    uint32_t id;
    context_t context;
    int priority;
    uint64_t free_at;  /* ns: when all that was submitted has ended */
    graph_t capturing; /* NULL: it does what it is told */
    event_t pending;   /* happens when the next operation begins */
};

struct context {
    uint32_t id;
    int device;
    uint64_t busy_until; /* ns: when all that was submitted has ended */
    struct stream default_stream;
    struct stream *per_thread[64]; /* by thread */
};

struct event {
    uint64_t at;
    long call; /* that has recorded it */
};

struct function {
    const char *name;
};

struct graph {
    unsigned n;
    struct operation nodes[64];
};

EXPORT struct hooks mock_hooks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context contexts[DEVICES];
static uint32_t next_stream = FIRST_STREAM_ID + DEVICES, next_correlation = 1;
static long n_calls, n_operations;
static unsigned n_threads;
static FILE *truth;
static bool is_free, is_foreign, has_inner_ids, is_managed, is_long, is_sized; /* words of MOCK */
static __thread unsigned self; /* number of the thread; 0: it has not called yet */
static __thread struct call *innermost;
static __thread context_t current;
static __thread uint64_t random_state;

/* ---- words, random numbers, time, truth ------------------------------------------------------ */

EXPORT bool mock_is(const char *word)
{
    const char *all = getenv("MOCK");
    const size_t n = strlen(word);
    for (const char *at = all ? all : ""; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0' || at[n] == ':'))
            return true;
    return false;
}

static uint64_t seed(void)
{
    const char *all = getenv("MOCK"), *found = all ? strstr(all, "seed:") : NULL;
    return found ? strtoull(found + 5, NULL, 10) : 1;
}

/* splitmix64 */
EXPORT uint64_t mock_random(uint64_t below)
{
    if (random_state == 0)
        random_state = seed() * 1000003 + self * 7919 + 1;
    uint64_t z = (random_state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % below;
}

EXPORT uint64_t mock_now(void)
{
    struct timespec now;
    if (mock_hooks.now)
        return mock_hooks.now();
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

EXPORT void mock_tell(const char *format, ...)
{
    va_list arguments;
    if (!truth)
        return;
    /* A handler that leaves the process must not find the lock of the stream taken by its own thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    va_start(arguments, format);
    vfprintf(truth, format, arguments);
    va_end(arguments);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

EXPORT void mock_flush_truth(void)
{
    if (truth)
        fflush(truth);
}

EXPORT void mock_renew(event_t event)
{
    *event = (struct event){0};
}

EXPORT int mock_descriptor(void)
{
    return truth ? fileno(truth) : -1;
}

EXPORT bool mock_attached(void)
{
    return mock_hooks.attached && mock_hooks.attached();
}

static void wait_until(uint64_t ns)
{
    while (mock_now() < ns) {
        const struct timespec turn = {.tv_nsec = 2000};
        nanosleep(&turn, NULL);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void tell_hook(struct call *call, unsigned site, int *value)
{
    if (mock_hooks.call)
        mock_hooks.call(call->domain, call->id, site, call->name, call->arguments, value, current,
                        current ? current->id : 0, &call->shared, call->correlation);
}

EXPORT void mock_enter(struct call *call)
{
    if (self == 0)
        self = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
    call->outer = innermost;
    innermost = call;
    const bool own_id = !call->outer || has_inner_ids;
    call->correlation = own_id ? __atomic_fetch_add(&next_correlation, 1, __ATOMIC_RELAXED)
                               : call->outer->correlation;
    call->number =
        call->outer ? call->outer->number : __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
    if (!call->outer)
        mock_tell("call %u %ld %s\n", self, call->number, call->name);
    tell_hook(call, ENTER, NULL);
}

EXPORT result mock_leave(struct call *call, result value)
{
    tell_hook(call, EXIT, &value);
    innermost = call->outer;
    return value;
}

#define BEGIN(function, number, ...)                                                   \
    const struct {                                                                     \
        __VA_ARGS__                                                                    \
    } arguments = ARGUMENTS;                                                           \
    struct call call = {                                                               \
        .domain = DRIVER, .id = (number), .name = #function, .arguments = &arguments}; \
    mock_enter(&call)
#define END(value) return mock_leave(&call, (value))
#define PLAIN(function, number)                                               \
    struct call call = {.domain = DRIVER, .id = (number), .name = #function}; \
    mock_enter(&call)

/* ---- streams and operations ------------------------------------------------------------------ */

static struct stream *stream_of(context_t context, stream_t handle, bool per_thread)
{
    if (handle && (uintptr_t)handle > 2)
        return handle;
    if (!per_thread && (uintptr_t)handle != 2)
        return &context->default_stream;
    struct stream **own = &context->per_thread[self % 64];
    if (!*own) {
        *own = calloc(1, sizeof **own);
        (*own)->context = context;
        (*own)->id = __atomic_fetch_add(&next_stream, 1, __ATOMIC_RELAXED);
    }
    return *own;
}

EXPORT void mock_ids(context_t context, stream_t handle, bool per_thread, uint32_t *device,
                     uint32_t *context_id, uint32_t *stream_id)
{
    const struct stream *stream = stream_of(context, handle, per_thread);
    *device = (uint32_t)context->device;
    *context_id = context->id;
    *stream_id = stream->id;
}

static uint32_t innermost_correlation(void)
{
    return innermost->correlation;
}

static uint32_t runtime_correlation(void)
{
    for (const struct call *call = innermost; call; call = call->outer)
        if (call->domain == RUNTIME)
            return call->correlation;
    return 0;
}

static const char *region_of(const struct operation *one)
{
    return one->kind == KERNEL        ? one->name
           : one->kind == MEMSET      ? "fill@memory@of@device"
           : one->kind == MEMCPY_PEER ? "copy@on@device"
           : one->direction == HTOD   ? "copy@to@device"
           : one->direction == DTOH   ? "copy@from@device"
                                      : "copy@on@device";
}

/* With the lock held: memory that a kernel on a device needs is moved, or what else happens to it. */
static uint64_t migrate(uint32_t device, uint64_t begin)
{
    enum { PAGE_FAULT = 4 };
    static const unsigned directions[] = {HTOD, DTOH, 8, PAGE_FAULT};
    static uint64_t free_at[DEVICES];
    struct operation one = {
        .kind = MIGRATION, .direction = directions[mock_random(4)], .device = device};
    one.begin = begin > free_at[device] ? begin : free_at[device];
    one.end = free_at[device] = one.begin + 1 + mock_random(3000);
    one.bytes = 4096 * (1 + mock_random(16));
    if (one.direction != PAGE_FAULT) {
        one.number = ++n_operations;
        mock_tell("op %ld 0 %u %u -200 %s %llu %llu %llu\nforeign %ld\n", one.number, device,
                  UINT32_MAX, region_of(&one), (unsigned long long)one.bytes,
                  (unsigned long long)one.begin, (unsigned long long)one.end, one.number);
    }
    if (mock_hooks.operation)
        mock_hooks.operation(&one);
    return one.end;
}

/* With the lock held. */
static void run(struct stream *stream, struct operation one)
{
    const uint64_t ready = stream->free_at + (is_free ? 0 : GAP);
    const uint64_t sized = is_sized ? one.end : 0; /* how long the caller wants it to run */
    uint64_t now = mock_now();
    if (is_managed && one.kind == KERNEL && mock_random(2) == 0)
        now = migrate((uint32_t)stream->context->device, now);
    one.number = ++n_operations;
    one.device = (uint32_t)stream->context->device;
    one.context = stream->context->id;
    one.stream = stream->id;
    one.correlation = innermost_correlation();
    one.runtime_correlation = runtime_correlation();
    if (is_foreign && mock_random(4) == 0) {
        one.correlation = 0xf0000000 + (uint32_t)one.number;
        one.runtime_correlation = 0;
        mock_tell("foreign %ld\n", one.number);
    }
    one.begin = (now > ready ? now : ready) + (is_free ? 0 : mock_random(2000));
    one.end = one.begin + (is_free ? 0 : mock_random(8000)) + (is_long ? 1000000 : 0);
    if (sized > 0)
        one.end = one.begin + sized;
    if (stream->pending)
        stream->pending->at = one.begin;
    stream->pending = NULL;
    stream->free_at = one.end;
    if (one.end > stream->context->busy_until)
        stream->context->busy_until = one.end;
    mock_tell("op %ld %ld %u %u %u %s %llu %llu %llu\n", one.number, innermost->number, one.device,
              one.context, one.stream, region_of(&one), (unsigned long long)one.bytes,
              (unsigned long long)one.begin, (unsigned long long)one.end);
    if (mock_hooks.operation)
        mock_hooks.operation(&one);
}

static void tell_submission(struct stream *stream)
{
    mock_tell("submit %u %ld %u %u\n", self, innermost->number, stream->context->id, stream->id);
}

static struct stream *submit(stream_t handle, bool per_thread, struct operation one)
{
    struct stream *stream = stream_of(current, handle, per_thread);
    pthread_mutex_lock(&lock);
    if (stream->capturing) {
        if (stream->capturing->n < 64)
            stream->capturing->nodes[stream->capturing->n++] = one;
    } else {
        tell_submission(stream);
        run(stream, one);
    }
    pthread_mutex_unlock(&lock);
    return stream;
}

static void tell_wait(const struct stream *stream)
{
    mock_tell("wait %u %ld stream %u %u\n", self, innermost->number, stream->context->id,
              stream->id);
}

/* A child has the parent's lines in its buffer, and no other thread that would free the lock. */
static void write_truth(void)
{
    pthread_mutex_lock(&lock);
    mock_flush_truth();
}

static void go_on(void)
{
    pthread_mutex_unlock(&lock);
}

static void leave_truth(void)
{
    truth = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- devices and contexts -------------------------------------------------------------------- */

EXPORT result cuInit(unsigned flags)
{
    static bool begun;
    (void)flags;
    if (begun)
        return mock_is("no-device") ? ERROR_NO_DEVICE : 0;
    begun = true;
    is_free = mock_is("free");
    is_foreign = mock_is("foreign");
    has_inner_ids = mock_is("inner-ids");
    is_managed = mock_is("managed");
    is_long = mock_is("long");
    is_sized = mock_is("sized");
    pthread_atfork(write_truth, go_on, leave_truth);
    const char *path = getenv("MOCK_TRUTH"), *injected = getenv("CUDA_INJECTION64_PATH");
    char own[4096];
    const char *open_mpi = getenv("OMPI_COMM_WORLD_RANK"),
               *rank = open_mpi ? open_mpi : getenv("PMI_RANK");
    snprintf(own, sizeof own, "%s%s%s", path ? path : "", rank ? "." : "", rank ? rank : "");
    truth = path ? fopen(own, "w") : NULL;
    if (mock_is("wrap"))
        next_correlation = UINT32_MAX - 40;
    for (int i = 0; i < DEVICES; i++)
        contexts[i] = (struct context){
            .id = (uint32_t)i + 1,
            .device = i,
            .default_stream = {.id = FIRST_STREAM_ID + (uint32_t)i, .context = &contexts[i]}};
    if (mock_is("two-copies")) {
        dlopen("libcupti.so.12", RTLD_LAZY);
        dlopen("libcupti.so.13", RTLD_LAZY);
    }
    void *library = injected && *injected ? dlopen(injected, RTLD_LAZY) : NULL, *symbol;
    int (*start)(void) = NULL;
    if (library && (symbol = dlsym(library, "InitializeInjection"))) {
        memcpy(&start, &symbol, sizeof start);
        start();
    }
    return mock_is("no-device") ? ERROR_NO_DEVICE : 0;
}

EXPORT result cuDriverGetVersion(int *version);
EXPORT result cuDriverGetVersion(int *version)
{
    *version = mock_is("driver-11")   ? 11080
               : mock_is("driver-12") ? 12040
               : mock_is("driver-14") ? 14000
                                      : 13000;
    return 0;
}

EXPORT result cuDeviceGetCount(int *count)
{
    *count = DEVICES;
    return 0;
}

EXPORT result cuDeviceGet(int *device, int ordinal);
EXPORT result cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < DEVICES ? 0 : ERROR_INVALID;
}

EXPORT result cuDeviceGetName(char *name, int size, int device);
EXPORT result cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Mock GPU %d", device);
    return 0;
}

EXPORT result cuDeviceGetPCIBusId(char *id, int size, int device);
EXPORT result cuDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "0000:%02X:00.0", 0xC1 + device);
    return 0;
}

EXPORT result cuDeviceGetUuid(unsigned char *uuid, int device);
EXPORT result cuDeviceGetUuid(unsigned char *uuid, int device)
{
    memset(uuid, device + 1, 16);
    return 0;
}

EXPORT result cuDeviceGetUuid_v2(unsigned char *uuid, int device);
EXPORT result cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    memset(uuid, mock_is("mig") ? 0xa0 + device : device + 1, 16);
    return 0;
}

EXPORT result cuDevicePrimaryCtxRetain(context_t *context, int device)
{
#define ARGUMENTS {context, device}
    BEGIN(cuDevicePrimaryCtxRetain, 386, context_t * context; int device;);
#undef ARGUMENTS
    *context = &contexts[device];
    END(0);
}

/* What is not handed over yet is gone. The next context of the device is another one. */
EXPORT result cuDevicePrimaryCtxReset_v2(int device)
{
#define ARGUMENTS {device}
    BEGIN(cuDevicePrimaryCtxReset, 545, int device;);
#undef ARGUMENTS
    enum { CONTEXT_ENDS = 2 };
    struct context *context = &contexts[device];
    wait_until(context->busy_until);
    if (mock_hooks.resource)
        mock_hooks.resource(CONTEXT_ENDS);
    pthread_mutex_lock(&lock);
    const uint32_t id = context->id + DEVICES;
    *context = (struct context){.id = id, .device = device};
    context->default_stream = (struct stream){
        .id = __atomic_fetch_add(&next_stream, 1, __ATOMIC_RELAXED), .context = context};
    pthread_mutex_unlock(&lock);
    END(0);
}

EXPORT result cuCtxSetCurrent(context_t context)
{
    current = context;
    return 0;
}

EXPORT result cuCtxSynchronize(void)
{
    PLAIN(cuCtxSynchronize, 17);
    pthread_mutex_lock(&lock);
    const uint64_t until = current->busy_until;
    pthread_mutex_unlock(&lock);
    wait_until(until);
    mock_tell("wait %u %ld context %u\n", self, call.number, current->id);
    END(0);
}

EXPORT result cuModuleGetFunction(function_t *function, void *module, const char *name)
{
    (void)module;
    *function = calloc(1, sizeof **function);
    (*function)->name = strdup(name);
    return 0;
}

EXPORT result cuMemAlloc_v2(device_memory *memory, size_t bytes)
{
#define ARGUMENTS {memory, bytes}
    BEGIN(cuMemAlloc, 243, device_memory * memory; size_t bytes;);
#undef ARGUMENTS
    *memory = 0x700000000000 + mock_random(1 << 20) * 256;
    END(0);
}

EXPORT result cuMemFree_v2(device_memory memory)
{
#define ARGUMENTS {memory}
    BEGIN(cuMemFree, 245, device_memory memory;);
#undef ARGUMENTS
    END(0);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void make_stream(stream_t *stream, int priority)
{
    enum { GREATEST = -5, LEAST = 0 };
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = current;
    (*stream)->id = __atomic_fetch_add(&next_stream, 1, __ATOMIC_RELAXED);
    (*stream)->priority = priority < GREATEST ? GREATEST : priority > LEAST ? LEAST : priority;
    mock_tell("stream %u %d\n", (*stream)->id, (*stream)->priority);
}

EXPORT result cuStreamCreate(stream_t *stream, unsigned flags)
{
#define ARGUMENTS {stream, flags}
    BEGIN(cuStreamCreate, 124, stream_t * stream; unsigned flags;);
#undef ARGUMENTS
    make_stream(stream, 0);
    END(0);
}

EXPORT result cuStreamCreateWithPriority(stream_t *stream, unsigned flags, int priority)
{
#define ARGUMENTS {stream, flags, priority}
    BEGIN(cuStreamCreateWithPriority, 367, stream_t * stream; unsigned flags; int priority;);
#undef ARGUMENTS
    make_stream(stream, priority);
    END(0);
}

/* Default streams have priority 0. */
EXPORT result cuStreamGetPriority(stream_t stream, int *priority);
EXPORT result cuStreamGetPriority(stream_t stream, int *priority)
{
    if (mock_is("no-priority"))
        return ERROR_INVALID;
    *priority = (uintptr_t)stream > 2 ? stream->priority : 0;
    return 0;
}

/* The memory is used again at once, as a driver may do. */
EXPORT result cuStreamDestroy_v2(stream_t stream)
{
#define ARGUMENTS {stream}
    BEGIN(cuStreamDestroy, 326, stream_t stream;);
#undef ARGUMENTS
    enum { STREAM_ENDS = 4 };
    wait_until(stream->free_at);
    if (mock_hooks.resource)
        mock_hooks.resource(STREAM_ENDS);
    free(stream);
    END(0);
}

EXPORT result cuStreamGetCtx(stream_t stream, context_t *context);
EXPORT result cuStreamGetCtx(stream_t stream, context_t *context)
{
    *context = stream->context;
    return 0;
}

EXPORT result cuStreamIsCapturing(stream_t stream, int *status);
EXPORT result cuStreamIsCapturing(stream_t stream, int *status)
{
    *status = stream_of(current, stream, false)->capturing != NULL;
    return 0;
}

EXPORT result cuStreamIsCapturing_ptsz(stream_t stream, int *status);
EXPORT result cuStreamIsCapturing_ptsz(stream_t stream, int *status)
{
    *status = stream_of(current, stream, true)->capturing != NULL;
    return 0;
}

EXPORT result cuStreamSynchronize(stream_t stream)
{
#define ARGUMENTS {stream}
    BEGIN(cuStreamSynchronize, 126, stream_t stream;);
#undef ARGUMENTS
    struct stream *own = stream_of(current, stream, false);
    wait_until(own->free_at);
    tell_wait(own);
    END(0);
}

EXPORT result cuStreamWaitEvent(stream_t stream, event_t event, unsigned flags)
{
#define ARGUMENTS {stream, event, flags}
    BEGIN(cuStreamWaitEvent, 295, stream_t stream; event_t event; unsigned flags;);
#undef ARGUMENTS
    struct stream *own = stream_of(current, stream, false);
    pthread_mutex_lock(&lock);
    if (!own->capturing) {
        tell_submission(own);
        if (event->at > own->free_at)
            own->free_at = event->at;
        if (event->call > 0)
            mock_tell("depend %ld %ld\n", call.number, event->call);
    }
    pthread_mutex_unlock(&lock);
    END(0);
}

EXPORT result cuStreamBeginCapture_v2(stream_t stream, int mode)
{
#define ARGUMENTS {stream, mode}
    BEGIN(cuStreamBeginCapture, 539, stream_t stream; int mode;);
#undef ARGUMENTS
    stream->capturing = calloc(1, sizeof *stream->capturing);
    END(0);
}

EXPORT result cuStreamEndCapture(stream_t stream, graph_t *graph)
{
#define ARGUMENTS {stream, graph}
    BEGIN(cuStreamEndCapture, 497, stream_t stream; graph_t * graph;);
#undef ARGUMENTS
    *graph = stream->capturing;
    stream->capturing = NULL;
    END(0);
}

/* ---- events ---------------------------------------------------------------------------------- */

EXPORT result cuEventCreate(event_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return 0;
}

EXPORT result cuEventDestroy_v2(event_t event)
{
    const struct {
        event_t event;
    } arguments = {event};
    struct call call = {.domain = DRIVER, .id = 325, .name = "", .arguments = &arguments};
    if (mock_hooks.call)
        tell_hook(&call, ENTER, NULL);
    free(event);
    return 0;
}

EXPORT result cuEventRecord(event_t event, stream_t stream)
{
#define ARGUMENTS {event, stream}
    BEGIN(cuEventRecord, 119, event_t event; stream_t stream;);
#undef ARGUMENTS
    struct stream *own = stream_of(current, stream, false);
    pthread_mutex_lock(&lock);
    if (!own->capturing) {
        tell_submission(own);
        event->at = own->free_at;
        event->call = call.number;
        own->pending = is_long ? event : NULL;
        mock_tell("depend %ld 0\n", call.number);
    }
    pthread_mutex_unlock(&lock);
    END(0);
}

EXPORT result cuEventElapsedTime(float *ms, event_t begin, event_t end)
{
    *ms = (float)((double)(end->at - begin->at) / 1e6);
    return 0;
}

EXPORT result cuEventSynchronize(event_t event)
{
#define ARGUMENTS {event}
    BEGIN(cuEventSynchronize, 121, event_t event;);
#undef ARGUMENTS
    wait_until(event->at);
    if (event->call > 0)
        mock_tell("wait %u %ld call %ld\n", self, call.number, event->call);
    END(0);
}

/* ---- kernels, copies, graphs ----------------------------------------------------------------- */

#define LAUNCH_FIELDS                        \
    function_t function;                     \
    unsigned gx, gy, gz, bx, by, bz, shared; \
    stream_t stream;                         \
    void **list;                             \
    void **extra;

EXPORT result cuLaunchKernel(function_t function, unsigned gx, unsigned gy, unsigned gz,
                             unsigned bx, unsigned by, unsigned bz, unsigned shared,
                             stream_t stream, void **list, void **extra)
{
#define ARGUMENTS {function, gx, gy, gz, bx, by, bz, shared, stream, list, extra}
    BEGIN(cuLaunchKernel, 307, LAUNCH_FIELDS);
    if (!function || gx == 0)
        END(ERROR_INVALID);
    submit(stream, false,
           (struct operation){.kind = KERNEL, .name = function->name, .end = 1000 * (uint64_t)gx});
    END(0);
}

EXPORT result cuLaunchKernel_ptsz(function_t function, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  stream_t stream, void **list, void **extra)
{
    BEGIN(cuLaunchKernel, 442, LAUNCH_FIELDS);
#undef ARGUMENTS
    submit(stream, true, (struct operation){.kind = KERNEL, .name = function->name});
    END(0);
}

EXPORT result cuLaunchKernelEx(const struct launch_config *config, function_t function, void **list,
                               void **extra)
{
#define ARGUMENTS {config, function, list, extra}
    BEGIN(cuLaunchKernelEx, 652, const struct launch_config *config; function_t function;
          void **list; void **extra;);
#undef ARGUMENTS
    submit(config->stream, false, (struct operation){.kind = KERNEL, .name = function->name});
    END(0);
}

static struct operation copy(unsigned direction, size_t bytes)
{
    return (struct operation){.kind = MEMCPY, .direction = direction, .bytes = bytes};
}

EXPORT result cuMemcpyHtoD_v2(device_memory to, const void *from, size_t bytes)
{
#define ARGUMENTS {to, from, bytes}
    BEGIN(cuMemcpyHtoD, 276, device_memory to; const void *from; size_t bytes;);
    submit(NULL, false, copy(HTOD, bytes));
    END(0);
}

EXPORT result cuMemcpyDtoH_v2(void *to, device_memory from, size_t bytes)
{
    BEGIN(cuMemcpyDtoH, 278, void *to; device_memory from; size_t bytes;);
#undef ARGUMENTS
    struct stream *stream = submit(NULL, false, copy(DTOH, bytes));
    wait_until(stream->free_at);
    mock_tell("wait %u %ld call %ld\n", self, call.number, call.number);
    END(0);
}

EXPORT result cuMemcpyHtoDAsync_v2(device_memory to, const void *from, size_t bytes,
                                   stream_t stream)
{
#define ARGUMENTS {to, from, bytes, stream}
    BEGIN(cuMemcpyHtoDAsync, 277, device_memory to; const void *from; size_t bytes;
          stream_t stream;);
    submit(stream, false, copy(HTOD, bytes));
    END(0);
}

EXPORT result cuMemcpyDtoHAsync_v2(void *to, device_memory from, size_t bytes, stream_t stream)
{
    BEGIN(cuMemcpyDtoHAsync, 279, void *to; device_memory from; size_t bytes; stream_t stream;);
    submit(stream, false, copy(DTOH, bytes));
    END(0);
}

EXPORT result cuMemcpyDtoDAsync_v2(device_memory to, device_memory from, size_t bytes,
                                   stream_t stream)
{
    BEGIN(cuMemcpyDtoDAsync, 281, device_memory to; device_memory from; size_t bytes;
          stream_t stream;);
#undef ARGUMENTS
    submit(stream, false, copy(DTOD, bytes));
    END(0);
}

EXPORT result cuMemcpyPeerAsync(device_memory to, context_t to_context, device_memory from,
                                context_t from_context, size_t bytes, stream_t stream)
{
#define ARGUMENTS {to, to_context, from, from_context, bytes, stream}
    BEGIN(cuMemcpyPeerAsync, 319, device_memory to; context_t to_context; device_memory from;
          context_t from_context; size_t bytes; stream_t stream;);
#undef ARGUMENTS
    submit(stream, false,
           (struct operation){.kind = MEMCPY_PEER, .direction = PTOP, .bytes = bytes});
    END(0);
}

EXPORT result cuMemsetD8Async(device_memory memory, unsigned char value, size_t bytes,
                              stream_t stream)
{
#define ARGUMENTS {memory, value, bytes, stream}
    BEGIN(cuMemsetD8Async, 216, device_memory memory; unsigned char value; size_t bytes;
          stream_t stream;);
#undef ARGUMENTS
    submit(stream, false, (struct operation){.kind = MEMSET, .bytes = bytes});
    END(0);
}

EXPORT result cuGraphInstantiateWithFlags(graph_t *executable, graph_t graph,
                                          unsigned long long flags)
{
#define ARGUMENTS {executable, graph, flags}
    BEGIN(cuGraphInstantiateWithFlags, 643, graph_t * executable; graph_t graph;
          unsigned long long flags;);
#undef ARGUMENTS
    *executable = graph;
    END(0);
}

EXPORT result cuGraphLaunch(graph_t executable, stream_t stream)
{
#define ARGUMENTS {executable, stream}
    BEGIN(cuGraphLaunch, 514, graph_t executable; stream_t stream;);
#undef ARGUMENTS
    struct stream *own = stream_of(current, stream, false);
    pthread_mutex_lock(&lock);
    tell_submission(own);
    for (unsigned i = 0; i < executable->n; i++)
        run(own, executable->nodes[i]);
    pthread_mutex_unlock(&lock);
    END(0);
}

struct host_call {
    void (*function)(void *data);
    void *data;
};

static void *call_host(void *made)
{
    const struct host_call call = *(struct host_call *)made;
    free(made);
    call.function(call.data);
    return NULL;
}

/* Called on a thread of the driver. */
EXPORT result cuLaunchHostFunc(stream_t stream, void (*function)(void *data), void *data)
{
#define ARGUMENTS {stream, function, data}
    BEGIN(cuLaunchHostFunc, 527, stream_t stream; void (*function)(void *data); void *data;);
#undef ARGUMENTS
    pthread_t thread;
    struct host_call *made = malloc(sizeof *made);
    *made = (struct host_call){function, data};
    wait_until(stream_of(current, stream, false)->free_at);
    if (pthread_create(&thread, NULL, call_host, made) == 0)
        pthread_detach(thread);
    END(0);
}

/* ---- a recorder of another build ------------------------------------------------------------- */

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("the other recorder: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* What lull's back-end finds where lull's recorder does not come before this library: see src/record/device/device.h. */
EXPORT const void *lull_record_device(void);
EXPORT const void *lull_record_device(void)
{
    static const struct {
        uint32_t version;
        void (*say)(const char *format, ...);
    } other = {UINT32_MAX, say};
    return &other;
}
