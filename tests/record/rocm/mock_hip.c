/* libamdhip64.so.7 of the mock: see mock.h. A device works on each of its streams in order, and on all at once. What an
 * operation will take is drawn when it is submitted, so that nothing has to run. */
#include "mock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { GAP = 200, ERROR_INVALID = 1, MOST_NODES = 64, FILL_KERNEL = 1 };

struct stream {
    uint32_t id;
    int device;
    uint64_t free_at;  /* ns: when all that was submitted has ended */
    graph_t capturing; /* NULL: it does what it is told */
};
struct event {
    uint64_t at;
    long call; /* that has recorded it */
};
struct function {
    uint64_t id;
    char name[400];
};
struct graph {
    unsigned n;
    struct operation nodes[MOST_NODES];
};

EXPORT struct hooks mock_hooks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream default_streams[DEVICES];
static uint64_t busy_until[DEVICES];
static uint32_t next_stream = 1;
static uint64_t next_correlation = 1, next_kernel = FILL_KERNEL + 1;
static long n_calls, n_operations;
static unsigned n_threads;
static FILE *truth;
static const char *names[1 << 16]; /* of kernels */
static bool is_foreign, sets_inside;
static __thread unsigned self; /* number of the thread; 0: it has not called yet */
static __thread int current;
static __thread uint64_t random_state;
static __thread struct call {
    const char *name;
    const void *arguments;
    size_t bytes;
    bool has_stream;
    stream_t stream;
    uint64_t correlation;
    long number;
} * now_in;

EXPORT bool mock_is(const char *word)
{
    const char *all = getenv("MOCK");
    const size_t n = strlen(word);
    for (const char *at = all ? all : ""; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0' || at[n] == ':'))
            return true;
    return false;
}

/* splitmix64 */
EXPORT uint64_t mock_random(uint64_t below)
{
    const char *all = getenv("MOCK"), *found = all ? strstr(all, "seed:") : NULL;
    if (random_state == 0)
        random_state = (found ? strtoull(found + 5, NULL, 10) : 1) * 1000003 + self * 7919 + 1;
    uint64_t z = (random_state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % below;
}

EXPORT uint64_t mock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
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

EXPORT bool mock_attached(void)
{
    return mock_hooks.attached && mock_hooks.attached();
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

static void wait_until(uint64_t ns)
{
    while (mock_now() < ns) {
        const struct timespec turn = {.tv_nsec = 2000};
        nanosleep(&turn, NULL);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void tell_stream(const struct call *call, unsigned phase)
{
    if (mock_hooks.stream && call->has_stream)
        mock_hooks.stream(phase, call->stream ? call->stream->id : 0, call->stream);
}

static void tell_call(const struct call *call, unsigned phase, result value)
{
    if (mock_hooks.call)
        mock_hooks.call(call->name, phase, call->correlation, call->arguments, call->bytes, value);
}

static void enter(struct call *call)
{
    if (self == 0)
        self = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
    now_in = call;
    call->correlation = __atomic_fetch_add(&next_correlation, 1, __ATOMIC_RELAXED);
    call->number = __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
    mock_tell("call %u %ld %s\n", self, call->number, call->name);
    if (!sets_inside)
        tell_stream(call, ENTER);
    tell_call(call, ENTER, 0);
    if (sets_inside)
        tell_stream(call, ENTER);
}

static result leave(const struct call *call, result value)
{
    if (sets_inside)
        tell_stream(call, EXIT);
    tell_call(call, EXIT, value);
    if (!sets_inside)
        tell_stream(call, EXIT);
    now_in = NULL;
    return value;
}

#define BEGIN(called, has_stream_, stream_, ...)     \
    const struct {                                   \
        __VA_ARGS__                                  \
    } arguments = ARGUMENTS;                         \
    struct call call = {.name = #called,             \
                        .arguments = &arguments,     \
                        .bytes = sizeof arguments,   \
                        .has_stream = (has_stream_), \
                        .stream = (stream_)};        \
    enter(&call)
#define END(value) return leave(&call, (value))

/* ---- operations ------------------------------------------------------------------------------ */

static struct stream *stream_of(stream_t handle)
{
    return handle ? handle : &default_streams[current];
}

static const char *region_of(const struct operation *one)
{
    static __thread char name[400];
    if (one->kind == COPY)
        return one->direction == HTOD   ? "copy@to@device"
               : one->direction == DTOH ? "copy@from@device"
                                        : "copy@on@device";
    if (one->kernel == FILL_KERNEL)
        return "fill@memory@of@device";
    snprintf(name, sizeof name, "%s", names[one->kernel]);
    return name;
}

/* With the lock held. */
static void run(struct stream *stream, struct operation one)
{
    const uint64_t now = mock_now(), ready = stream->free_at + GAP;
    one.number = ++n_operations;
    one.device = (unsigned)stream->device;
    one.queue = stream->id % 4; /* HIP has few queues for many streams */
    one.thread = (uint64_t)syscall(SYS_gettid);
    one.correlation = now_in->correlation;
    if (mock_hooks.submission)
        mock_hooks.submission(ENTER, &one);
    if (is_foreign && mock_random(4) == 0) {
        one.correlation = 0;
        mock_tell("foreign %ld\n", one.number);
    }
    one.begin = (now > ready ? now : ready) + mock_random(2000);
    one.end = one.begin + mock_random(8000);
    stream->free_at = one.end;
    if (one.end > busy_until[stream->device])
        busy_until[stream->device] = one.end;
    mock_tell("op %ld %ld %u %u %u %s %llu %llu %llu\n", one.number, now_in->number, one.device,
              one.device, stream->id, region_of(&one), (unsigned long long)one.bytes,
              (unsigned long long)one.begin, (unsigned long long)one.end);
    if (mock_hooks.operation)
        mock_hooks.operation(&one);
    if (mock_hooks.submission)
        mock_hooks.submission(EXIT, &one);
}

static void tell_submission(const struct stream *stream)
{
    mock_tell("submit %u %ld %d %u\n", self, now_in->number, stream->device, stream->id);
}

static struct stream *submit(stream_t handle, struct operation one)
{
    struct stream *stream = stream_of(handle);
    pthread_mutex_lock(&lock);
    if (stream->capturing) {
        if (stream->capturing->n < MOST_NODES)
            stream->capturing->nodes[stream->capturing->n++] = one;
    } else {
        tell_submission(stream);
        run(stream, one);
    }
    pthread_mutex_unlock(&lock);
    return stream;
}

/* ---- HIP ------------------------------------------------------------------------------------- */

EXPORT result hipInit(unsigned flags)
{
    static bool begun;
    const char *path = getenv("MOCK_TRUTH");
    (void)flags;
    if (begun)
        return 0;
    begun = true;
    is_foreign = mock_is("foreign");
    sets_inside = mock_is("set-inside");
    pthread_atfork(write_truth, go_on, leave_truth);
    truth = path ? fopen(path, "w") : NULL;
    for (int i = 0; i < DEVICES; i++)
        default_streams[i].device = i;
    mock_register();
    names[FILL_KERNEL] = "__amd_rocclr_fillBufferAligned.kd";
    if (mock_hooks.symbol)
        mock_hooks.symbol(FILL_KERNEL, names[FILL_KERNEL]);
    return 0;
}

EXPORT result hipSetDevice(int device)
{
    current = device;
    return device < DEVICES ? 0 : ERROR_INVALID;
}

EXPORT result hipMalloc(void **memory, size_t bytes)
{
#define ARGUMENTS {memory, bytes}
    BEGIN(hipMalloc, false, NULL, void **memory; size_t bytes;);
#undef ARGUMENTS
    *memory = (void *)(0x700000000000 + mock_random(1 << 20) * 256);
    END(0);
}

EXPORT result hipFree(void *memory)
{
#define ARGUMENTS {memory}
    BEGIN(hipFree, false, NULL, void *memory;);
#undef ARGUMENTS
    END(0);
}

EXPORT result hipStreamCreate(stream_t *stream)
{
#define ARGUMENTS {stream}
    BEGIN(hipStreamCreate, false, NULL, stream_t * stream;);
#undef ARGUMENTS
    *stream = calloc(1, sizeof **stream);
    **stream = (struct stream){.id = __atomic_fetch_add(&next_stream, 1, __ATOMIC_RELAXED),
                               .device = current};
    END(0);
}

EXPORT result hipStreamDestroy(stream_t stream)
{
#define ARGUMENTS {stream}
    BEGIN(hipStreamDestroy, false, NULL, stream_t stream;);
#undef ARGUMENTS
    wait_until(stream->free_at);
    free(stream);
    END(0);
}

EXPORT result hipStreamSynchronize(stream_t stream)
{
#define ARGUMENTS {stream}
    BEGIN(hipStreamSynchronize, true, stream, stream_t stream;);
#undef ARGUMENTS
    const struct stream *own = stream_of(stream);
    wait_until(own->free_at);
    mock_tell("wait %u %ld stream %d %u\n", self, call.number, own->device, own->id);
    END(0);
}

EXPORT result hipDeviceSynchronize(void)
{
    struct call call = {.name = "hipDeviceSynchronize"};
    enter(&call);
    pthread_mutex_lock(&lock);
    const uint64_t until = busy_until[current];
    pthread_mutex_unlock(&lock);
    wait_until(until);
    mock_tell("wait %u %ld context %d\n", self, call.number, current);
    END(0);
}

EXPORT result hipStreamBeginCapture(stream_t stream, int mode)
{
#define ARGUMENTS {stream, mode}
    BEGIN(hipStreamBeginCapture, true, stream, stream_t stream; int mode;);
#undef ARGUMENTS
    stream->capturing = calloc(1, sizeof *stream->capturing);
    END(0);
}

EXPORT result hipStreamEndCapture(stream_t stream, graph_t *graph)
{
#define ARGUMENTS {stream, graph}
    BEGIN(hipStreamEndCapture, true, stream, stream_t stream; graph_t * graph;);
#undef ARGUMENTS
    *graph = stream->capturing;
    stream->capturing = NULL;
    END(0);
}

EXPORT result hipGraphInstantiate(graph_t *executable, graph_t graph, void *node, char *log,
                                  size_t size)
{
#define ARGUMENTS {executable, graph, node, log, size}
    BEGIN(hipGraphInstantiate, false, NULL, graph_t * executable; graph_t graph; void *node;
          char *log; size_t size;);
#undef ARGUMENTS
    *executable = graph;
    END(0);
}

EXPORT result hipGraphLaunch(graph_t executable, stream_t stream)
{
#define ARGUMENTS {executable, stream}
    BEGIN(hipGraphLaunch, true, stream, graph_t executable; stream_t stream;);
#undef ARGUMENTS
    struct stream *own = stream_of(stream);
    pthread_mutex_lock(&lock);
    if (executable->n > 0)
        tell_submission(own);
    for (unsigned i = 0; i < executable->n; i++)
        run(own, executable->nodes[i]);
    pthread_mutex_unlock(&lock);
    END(0);
}

EXPORT result hipEventCreate(event_t *event)
{
    *event = calloc(1, sizeof **event);
    return 0;
}

EXPORT result hipEventDestroy(event_t event)
{
#define ARGUMENTS \
    {             \
        event     \
    }
    const struct {
        event_t event;
    } arguments = ARGUMENTS;
#undef ARGUMENTS
    struct call call = {.name = "hipEventDestroy", .arguments = &arguments, .bytes = 8};
    call.correlation = __atomic_fetch_add(&next_correlation, 1, __ATOMIC_RELAXED);
    tell_call(&call, ENTER, 0);
    free(event); /* the memory is used again at once */
    tell_call(&call, EXIT, 0);
    return 0;
}

EXPORT result hipEventRecord(event_t event, stream_t stream)
{
#define ARGUMENTS {event, stream}
    BEGIN(hipEventRecord, true, stream, event_t event; stream_t stream;);
#undef ARGUMENTS
    const struct stream *own = stream_of(stream);
    if (!event)
        END(ERROR_INVALID);
    tell_submission(own);
    mock_tell("depend %ld 0\n", call.number);
    event->at = own->free_at;
    event->call = call.number;
    END(0);
}

EXPORT result hipEventSynchronize(event_t event)
{
#define ARGUMENTS {event}
    BEGIN(hipEventSynchronize, false, NULL, event_t event;);
#undef ARGUMENTS
    wait_until(event->at);
    if (event->call != 0)
        mock_tell("wait %u %ld call %ld\n", self, call.number, event->call);
    END(0);
}

EXPORT result hipStreamWaitEvent(stream_t stream, event_t event, unsigned flags)
{
#define ARGUMENTS {stream, event, flags}
    BEGIN(hipStreamWaitEvent, true, stream, stream_t stream; event_t event; unsigned flags;);
#undef ARGUMENTS
    struct stream *own = stream_of(stream);
    tell_submission(own);
    if (event->call != 0)
        mock_tell("depend %ld %ld\n", call.number, event->call);
    if (event->at > own->free_at)
        own->free_at = event->at;
    END(0);
}

EXPORT result hipModuleGetFunction(function_t *function, void *module, const char *name)
{
    (void)module;
    *function = calloc(1, sizeof **function);
    (*function)->id = __atomic_fetch_add(&next_kernel, 1, __ATOMIC_RELAXED);
    snprintf((*function)->name, sizeof(*function)->name, "%s.kd", name);
    names[(*function)->id] = name;
    if (mock_hooks.symbol)
        mock_hooks.symbol((*function)->id, (*function)->name);
    return 0;
}

static struct operation kernel(const struct function *function)
{
    return (struct operation){.kind = DISPATCH, .kernel = function->id};
}

EXPORT result hipLaunchKernel(const void *function, struct dim grid, struct dim block, void **list,
                              size_t shared, stream_t stream)
{
#define ARGUMENTS {function, grid, block, list, shared, stream}
    BEGIN(hipLaunchKernel, true, stream, const void *function; struct dim grid, block; void **list;
          size_t shared; stream_t stream;);
#undef ARGUMENTS
    submit(stream, kernel(function));
    END(0);
}

EXPORT result hipModuleLaunchKernel(function_t function, unsigned gx, unsigned gy, unsigned gz,
                                    unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                    stream_t stream, void **list, void **extra)
{
#define ARGUMENTS {function, gx, gy, gz, bx, by, bz, shared, stream, list, extra}
    BEGIN(hipModuleLaunchKernel, true, stream, function_t function; unsigned gx, gy, gz, bx, by, bz;
          unsigned shared; stream_t stream; void **list; void **extra;);
#undef ARGUMENTS
    if (!function)
        END(ERROR_INVALID);
    submit(stream, kernel(function));
    END(0);
}

static struct operation copy(int kind, size_t bytes)
{
    return (struct operation){.kind = COPY,
                              .direction = kind == HIP_HTOD   ? HTOD
                                           : kind == HIP_DTOH ? DTOH
                                                              : DTOD,
                              .bytes = bytes};
}

EXPORT result hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
#define ARGUMENTS {to, from, bytes, kind}
    BEGIN(hipMemcpy, false, NULL, void *to; const void *from; size_t bytes; int kind;);
#undef ARGUMENTS
    const struct stream *stream = submit(NULL, copy(kind, bytes));
    if (kind == HIP_DTOH) {
        wait_until(stream->free_at);
        mock_tell("wait %u %ld call %ld\n", self, call.number, call.number);
    }
    END(0);
}

EXPORT result hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream_t stream)
{
#define ARGUMENTS {to, from, bytes, kind, stream}
    BEGIN(hipMemcpyAsync, true, stream, void *to; const void *from; size_t bytes; int kind;
          stream_t stream;);
#undef ARGUMENTS
    submit(stream, copy(kind, bytes));
    END(0);
}

EXPORT result hipMemsetAsync(void *memory, int value, size_t bytes, stream_t stream)
{
#define ARGUMENTS {memory, value, bytes, stream}
    BEGIN(hipMemsetAsync, true, stream, void *memory; int value; size_t bytes; stream_t stream;);
#undef ARGUMENTS
    submit(stream, (struct operation){.kind = DISPATCH, .kernel = FILL_KERNEL});
    END(0);
}
