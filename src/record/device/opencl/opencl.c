/* SPDX-License-Identifier: BSD-3-Clause */
/* The back-end for OpenCL: a layer, which the loader of OpenCL's drivers (libOpenCL) puts between the
 * program and the driver where OPENCL_LAYERS names it. Also programs that load libOpenCL late come
 * through here.
 *
 * Drivers tell the times of an operation by the event that belongs to it, if its queue was made with
 * profiling. So queues are made with it, and what the program could see of that is hidden. The event
 * of an operation is kept until the operation has ended; where the program wants none, the layer asks
 * for one. Nobody is called back by the driver: the recorder's thread asks for the status of what is
 * kept, ten times a second.
 *
 * A driver's times are those of a clock of the device. Points at which that clock and the recorder's
 * were read together turn them into the recorder's times: by clGetDeviceAndHostTimer between two
 * readings of the recorder's clock, before the first operation and whenever operations are looked at.
 * Where the driver has no such function, or it tells of another clock, the time at which the driver
 * says that an operation was enqueued stands for it, which lies within the call that did so. Half of
 * the interval is the error of a point. Between points time is a straight line. */
#include "record/device/opencl/cl.h"

#include "record/device/device.h"
#include "record/device/points.h"
#include "record/site/map.h"
#include "record/site/site.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*any_function)(void);

enum { MOST_ENTRIES = 1024 };
static const struct rec_device_interface *recorder;
static const any_function *target;          /* the table of the next layer, or of the driver */
static any_function in_front[MOST_ENTRIES]; /* that table, with the functions of this file */

#define PLACE(name, place) PLACE_##name = (place),
enum { OCL_FUNCTIONS(PLACE) };
#define CALL(name, place) CALL_##name,
enum { OCL_FUNCTIONS(CALL) N_CALLS };
#define FUNCTION(which, place) \
    [CALL_##which] = {         \
        .name = #which, .role = LULL_TAPE_ROLE_FUNCTION, .paradigm = LULL_TAPE_PARADIGM_DEVICE},
static struct rec_wait_function functions[N_CALLS] = {OCL_FUNCTIONS(FUNCTION)};

/* The driver's function; `declared` are its parameters. */
#define NEXT(type, name, declared) ((type(*) declared)target[PLACE_##name])

/* ==== devices and their clocks ================================================================ */

enum { MOST_DEVICES = 64 };

struct device {
    ocl_device handle;
    bool has_timer;
    char name[64], key[64];
    struct rec_points points;
};

static struct device devices[MOST_DEVICES];
static unsigned n_devices; /* atomic; changed with maps_lock */

static bool ask_device(ocl_device device, ocl_uint what, size_t size, void *value)
{
    return NEXT(ocl_int, clGetDeviceInfo, (ocl_device, ocl_uint, size_t, void *, size_t *))(
               device, what, size, value, NULL) == OCL_SUCCESS;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Reads both clocks; of several readings the closest counts. */
static void read_both(struct device *device)
{
    enum { READINGS = 5 };
    struct rec_point best = {.error = UINT64_MAX};
    for (unsigned i = 0; i < READINGS && device->has_timer; i++) {
        ocl_ulong now, host;
        const uint64_t before = recorder->now();
        device->has_timer =
            NEXT(ocl_int, clGetDeviceAndHostTimer, (ocl_device, ocl_ulong *, ocl_ulong *))(
                device->handle, &now, &host) == OCL_SUCCESS;
        const uint64_t half = (recorder->now() - before + 1) / 2;
        if (device->has_timer && half < best.error)
            best = (struct rec_point){now, before + half, half};
    }
    if (device->has_timer)
        rec_points_append(&device->points, &best);
}

/* As rec_points_ticks. */
static uint64_t ticks_of(const struct device *device, uint64_t time, uint64_t *error)
{
    return rec_points_ticks(&device->points, recorder->ns_per_tick(), time, error);
}

/* ---- which device ---------------------------------------------------------------------------- */

/* A part of a device belongs to the device. */
static ocl_device whole_of(ocl_device device)
{
    enum { MOST_LEVELS = 8 };
    for (unsigned i = 0; i < MOST_LEVELS; i++) {
        ocl_device parent = NULL;
        if (!ask_device(device, OCL_DEVICE_PARENT, sizeof parent, &parent) || !parent)
            break;
        device = parent;
    }
    return device;
}

/* "0.1": platform and device as clGetPlatformIDs and clGetDeviceIDs list them. */
static void key_by_order(ocl_device device, char *key, size_t size)
{
    enum { MOST_LISTED = 64 };
    ocl_platform platforms[MOST_LISTED], own = NULL;
    ocl_device listed[MOST_LISTED];
    ocl_uint n_platforms = 0, n_listed = 0, p = 0, d = 0;
    ask_device(device, OCL_DEVICE_PLATFORM, sizeof own, &own);
    NEXT(ocl_int, clGetPlatformIDs, (ocl_uint, ocl_platform *, ocl_uint *))
    (MOST_LISTED, platforms, &n_platforms);
    NEXT(ocl_int, clGetDeviceIDs, (ocl_platform, ocl_ulong, ocl_uint, ocl_device *, ocl_uint *))
    (own, OCL_DEVICE_TYPE_ALL, MOST_LISTED, listed, &n_listed);
    while (p < n_platforms && p < MOST_LISTED && platforms[p] != own)
        p++;
    while (d < n_listed && d < MOST_LISTED && listed[d] != device)
        d++;
    snprintf(key, size, "opencl:%u.%u", p, d);
}

static void find_key(ocl_device device, char *key, size_t size)
{
    ocl_uint pci[4];
    unsigned char uuid[16];
    if (ask_device(device, OCL_DEVICE_PCI, sizeof pci, pci)) {
        snprintf(key, size, "pci:%04x:%02x:%02x.%x", pci[0], pci[1], pci[2], pci[3]);
    } else if (ask_device(device, OCL_DEVICE_UUID, sizeof uuid, uuid)) {
        size_t at = (size_t)snprintf(key, size, "uuid:");
        for (unsigned i = 0; i < sizeof uuid; i++)
            at += (size_t)snprintf(key + at, size - at, "%02x", uuid[i]);
    } else {
        key_by_order(device, key, size);
    }
}

/* With maps_lock held. NULL: there are too many. */
static struct device *find_device(ocl_device handle)
{
    handle = whole_of(handle);
    for (unsigned i = 0; i < n_devices; i++)
        if (devices[i].handle == handle)
            return &devices[i];
    if (n_devices == MOST_DEVICES)
        return NULL;
    struct device *device = &devices[n_devices];
    char name[256] = "";
    device->handle = handle;
    device->has_timer = in_front[PLACE_clGetDeviceAndHostTimer] != NULL;
    ask_device(handle, OCL_DEVICE_NAME, sizeof name - 1, name);
    snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1, name);
    find_key(handle, device->key, sizeof device->key);
    read_both(device);
    __atomic_store_n(&n_devices, n_devices + 1, __ATOMIC_RELEASE);
    return device;
}

/* ==== queues, kernels, events ================================================================= */

/* Handles are used again by the driver. So what is known of one is dropped where the handle comes back
 * from a function that makes such an object. Maps are read without, and changed with maps_lock. */

enum { MOST_QUEUES = 4096, MOST_PROPERTIES = 16 };

struct queue {
    struct device *device;
    ocl_context context;
    struct rec_stream
        *stream;      /* atomic; NULL: nothing was submitted yet, or it cannot be recorded */
    uint64_t barrier; /* atomic; number of the last barrier of a queue without an order */
    uint64_t
        untimed; /* atomic; operations of which the driver will tell no times, and that are not yet
                         counted as lost */
    uint32_t number, context_number;
    bool in_order, has_times;
    bool forced;           /* the program did not want profiling */
    unsigned n_properties; /* words of the list of properties that the program gave; 0: none */
    ocl_ulong properties[MOST_PROPERTIES];
};

static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue queues[MOST_QUEUES];
static unsigned n_queues;          /* atomic */
static struct rec_map queue_map;   /* handle of a queue -> struct queue */
static struct rec_map kernel_map;  /* handle of a kernel -> region; 0: it has to be asked for */
static struct rec_map number_map;  /* handle of an event -> number of its operation; 0: not known */
static struct rec_map context_map; /* handle of a context -> its number */
static uint32_t n_contexts;
static bool any_forced, any_untimed; /* atomic */

static void put_in_map(struct rec_map *map, const void *handle, uintptr_t value)
{
    pthread_mutex_lock(&maps_lock);
    rec_map_put(map, (uintptr_t)handle, value);
    pthread_mutex_unlock(&maps_lock);
}

/* Something new has this handle. */
static void forget(struct rec_map *map, const void *handle)
{
    if (handle && rec_map_get(map, (uintptr_t)handle) != 0)
        put_in_map(map, handle, 0);
}

static struct queue *find_queue(ocl_queue handle)
{
    return (struct queue *)rec_map_get(&queue_map, (uintptr_t)handle);
}

/* With maps_lock held. */
static uint32_t number_of_context(ocl_context context)
{
    uintptr_t number = rec_map_get(&context_map, (uintptr_t)context);
    if (number == 0) {
        number = ++n_contexts;
        rec_map_put(&context_map, (uintptr_t)context, number);
    }
    return (uint32_t)number;
}

static void drain_opencl(bool last);
static const struct rec_device_backend backend = {.name = "OpenCL", .drain = drain_opencl};

/* What the user is told, once: by the recorder's thread, because nothing is printed in a call of the
 * program. */
enum oddity { MANY_QUEUES, NO_PROFILING, OTHER_CLOCK, CONTRADICTS, TOO_MANY, ODDITIES };
enum { NOT_SEEN, SEEN, TOLD };
static uint8_t oddities[ODDITIES]; /* atomic */

static void see(enum oddity oddity)
{
    uint8_t before = NOT_SEEN;
    __atomic_compare_exchange_n(&oddities[oddity], &before, SEEN, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

static void tell_oddities(void)
{
    static const char *const texts[ODDITIES] = {
        [MANY_QUEUES] = "too many queues: what is submitted to further ones is not recorded",
        [NO_PROFILING] =
            "a queue with profiling is refused: when its operations ran is not recorded",
        [OTHER_CLOCK] = "clGetDeviceAndHostTimer tells of another clock than events do: times are "
                        "taken from when operations were enqueued",
        [CONTRADICTS] = "the driver tells times that contradict the host's or each other: such "
                        "operations are not recorded",
        [TOO_MANY] = "more than 65,536 operations had not ended: some are not recorded"};
    for (unsigned i = 0; i < ODDITIES; i++) {
        if (__atomic_load_n(&oddities[i], __ATOMIC_RELAXED) != SEEN)
            continue;
        recorder->say("OpenCL: %s", texts[i]);
        __atomic_store_n(&oddities[i], TOLD, __ATOMIC_RELAXED);
    }
}

/* A queue is there. One with the handle of an earlier one, of which it differs in nothing, goes on with
 * its stream: a program may make a queue for each step of its work. `wanted`: properties that the
 * program asked for. */
static void note_queue(ocl_queue handle, ocl_context context, ocl_device device, ocl_ulong wanted,
                       bool has_times, const ocl_ulong *properties, unsigned n_properties)
{
    static bool attached;
    pthread_mutex_lock(&maps_lock);
    struct device *known = find_device(device);
    struct queue *queue = find_queue(handle);
    const bool in_order = (wanted & OCL_OUT_OF_ORDER) == 0;
    if (!queue || queue->device != known || queue->context != context ||
        queue->in_order != in_order)
        queue = known && n_queues < MOST_QUEUES ? &queues[n_queues] : NULL;
    if (queue) {
        queue->device = known;
        queue->context = context;
        queue->context_number = number_of_context(context);
        queue->number = (uint32_t)(queue - queues) + 1;
        queue->in_order = in_order;
        queue->has_times = has_times;
        queue->forced = has_times && (wanted & OCL_PROFILING) == 0;
        queue->n_properties = n_properties;
        if (n_properties > 0)
            memcpy(queue->properties, properties, n_properties * sizeof *properties);
        if (queue->forced)
            __atomic_store_n(&any_forced, true, __ATOMIC_RELAXED);
        if (queue == &queues[n_queues])
            __atomic_store_n(&n_queues, n_queues + 1, __ATOMIC_RELEASE);
    }
    rec_map_put(&queue_map, (uintptr_t)handle, (uintptr_t)queue);
    const bool first = !attached;
    attached = true;
    pthread_mutex_unlock(&maps_lock);
    if (first)
        recorder->attach(&backend);
    if (!queue || !has_times)
        see(queue ? NO_PROFILING : MANY_QUEUES);
}

/* The stream of a queue to which something is submitted. */
static struct rec_stream *stream_of(struct queue *queue)
{
    struct rec_stream *stream = __atomic_load_n(&queue->stream, __ATOMIC_ACQUIRE);
    char name[32];
    if (stream)
        return stream;
    struct lull_tape_stream what = {
        .runtime = "OpenCL", .context = queue->context_number, .in_order = queue->in_order};
    memcpy(what.device, queue->device->name, sizeof what.device);
    memcpy(what.key, queue->device->key, sizeof what.key);
    snprintf(name, sizeof name, "queue %u", queue->number);
    pthread_mutex_lock(&maps_lock);
    if (!queue->stream)
        __atomic_store_n(&queue->stream, recorder->stream(&what, name), __ATOMIC_RELEASE);
    stream = queue->stream;
    pthread_mutex_unlock(&maps_lock);
    return stream;
}

static uint32_t region_of_kernel(ocl_kernel kernel)
{
    char name[512] = "";
    uint32_t region = (uint32_t)rec_map_get(&kernel_map, (uintptr_t)kernel);
    if (region != 0)
        return region;
    if (NEXT(ocl_int, clGetKernelInfo, (ocl_kernel, ocl_uint, size_t, void *, size_t *))(
            kernel, OCL_KERNEL_NAME, sizeof name - 1, name, NULL) != OCL_SUCCESS)
        snprintf(name, sizeof name, "(kernel without a name)");
    region = recorder->region(REC_DEVICE_KERNEL, name);
    put_in_map(&kernel_map, kernel, region);
    return region;
}

/* ==== operations that have not ended ========================================================== */

enum { MOST_KEPT = 1 << 16 };

struct kept {
    struct queue *queue;
    struct rec_stream *stream;
    ocl_event event;
    struct rec_operation
        operation;          /* begin and end are the device's times until they are turned into
                                       ticks */
    uint64_t before, after; /* ticks: the call that submitted it */
    uint64_t queued;        /* the device's time */
};

static pthread_mutex_t incoming_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept incoming[MOST_KEPT], waiting[MOST_KEPT];
static unsigned n_incoming; /* with incoming_lock held */
static unsigned n_waiting;  /* drain alone */

static void release(ocl_event event)
{
    NEXT(ocl_int, clReleaseEvent, (ocl_event))(event);
}

/* Nothing will be known of an operation of the queue. */
static void count_untimed(struct queue *queue)
{
    __atomic_add_fetch(&queue->untimed, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&any_untimed, true, __ATOMIC_RELEASE);
}

/* Keeps an operation until it has ended, if there is room. Returns whether the recorder should look
 * soon. */
static bool keep(const struct kept *kept)
{
    pthread_mutex_lock(&incoming_lock);
    const bool good = n_incoming < MOST_KEPT;
    if (good)
        incoming[n_incoming++] = *kept;
    const bool many = n_incoming > MOST_KEPT / 2;
    pthread_mutex_unlock(&incoming_lock);
    if (!good) {
        release(kept->event);
        count_untimed(kept->queue);
        see(TOO_MANY);
    }
    return many;
}

/* Moves what has come to the operations that are waited for, as far as there is room. */
static void take_incoming(bool last)
{
    if (last ? !recorder->lock_at_end(&incoming_lock) : pthread_mutex_lock(&incoming_lock) != 0)
        return;
    const unsigned room = MOST_KEPT - n_waiting, n = n_incoming < room ? n_incoming : room;
    memcpy(waiting + n_waiting, incoming, n * sizeof *incoming);
    memmove(incoming, incoming + n, (n_incoming - n) * sizeof *incoming);
    n_waiting += n;
    n_incoming -= n;
    pthread_mutex_unlock(&incoming_lock);
}

static bool ask_time(ocl_event event, ocl_uint what, uint64_t *ret_time)
{
    return NEXT(ocl_int, clGetEventProfilingInfo, (ocl_event, ocl_uint, size_t, void *, size_t *))(
               event, what, sizeof *ret_time, ret_time, NULL) == OCL_SUCCESS;
}

enum fate { RUNS, ENDED, UNKNOWN };

/* Asks whether an operation has ended, and for its times. UNKNOWN: it has failed, or nothing is said. */
static enum fate look_at(struct kept *kept)
{
    ocl_int status = -1;
    if (NEXT(ocl_int, clGetEventInfo, (ocl_event, ocl_uint, size_t, void *, size_t *))(
            kept->event, OCL_EVENT_STATUS, sizeof status, &status, NULL) != OCL_SUCCESS)
        return UNKNOWN;
    if (status > OCL_COMPLETE)
        return RUNS;
    struct rec_operation *operation = &kept->operation;
    if (status < 0 || !ask_time(kept->event, OCL_QUEUED, &kept->queued) ||
        !ask_time(kept->event, OCL_START, &operation->begin) ||
        !ask_time(kept->event, OCL_END, &operation->end))
        return UNKNOWN;
    if (operation->begin > operation->end)
        see(CONTRADICTS);
    return operation->begin > 0 && operation->begin <= operation->end ? ENDED : UNKNOWN;
}

/* Without a timer of the device: of the operations that have ended, the one whose call was the
 * shortest tells when the device's clock said what. */
static void find_points(struct kept *ended, unsigned n)
{
    const unsigned devices_now = __atomic_load_n(&n_devices, __ATOMIC_ACQUIRE);
    for (unsigned d = 0; d < devices_now; d++) {
        const struct kept *best = NULL;
        for (unsigned i = 0; i < n && !devices[d].has_timer; i++)
            if (ended[i].queue->device == &devices[d] && ended[i].queued > 0 &&
                (!best || ended[i].after - ended[i].before < best->after - best->before))
                best = &ended[i];
        if (!best)
            continue;
        const uint64_t half = (best->after - best->before + 1) / 2;
        rec_points_append(&devices[d].points,
                          &(struct rec_point){best->queued, best->before + half, half});
    }
}

/* Drivers round times, and read clocks some time before or after what they tell of. */
enum { SLACK_NS = 100000 };

/* Whether the timer of the device tells of the clock by which operations are timed: then an operation
 * was enqueued within the call that did so. */
static bool agrees(const struct kept *kept)
{
    uint64_t error = 0;
    const uint64_t queued = ticks_of(kept->queue->device, kept->queued, &error),
                   slack = error + (uint64_t)(SLACK_NS / recorder->ns_per_tick());
    return queued + slack >= kept->before && queued <= kept->after + slack;
}

static void check_timers(const struct kept *ended, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct device *device = ended[i].queue->device;
        if (!device->has_timer || device->points.n == 0 || agrees(&ended[i]))
            continue;
        device->has_timer = false;
        device->points.n = 0;
        see(OTHER_CLOCK);
    }
}

/* Turns times of the device into ticks. False: they contradict those of the host. An operation that
 * seems to have begun before it was submitted tells how wrong times are at least. */
static bool turn_times(struct kept *kept, uint64_t now)
{
    struct rec_operation *operation = &kept->operation;
    const uint64_t slack = (uint64_t)(SLACK_NS / recorder->ns_per_tick());
    uint64_t error = 0;
    if (kept->queue->device->points.n == 0)
        return false;
    operation->begin = ticks_of(kept->queue->device, operation->begin, &error);
    operation->end = ticks_of(kept->queue->device, operation->end, &error);
    if (operation->end < operation->begin)
        operation->end = operation->begin;
    if (operation->begin + error + slack < kept->before || operation->end > now + error + slack)
        return false;
    if (operation->begin + error < kept->before)
        error = kept->before - operation->begin;
    recorder->doubt(kept->stream, (double)error * recorder->ns_per_tick());
    return true;
}

/* By their begins, in place: the C library's qsort takes memory of the program's heap. Nearly all are
 * in order already. */
static void sort_by_begin(struct kept *ended, unsigned n)
{
    static const unsigned gaps[] = {23601, 8929, 3905, 1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (unsigned i = gaps[g]; i < n; i++) {
            const struct kept one = ended[i];
            unsigned at = i;
            for (; at >= gaps[g] && ended[at - gaps[g]].operation.begin > one.operation.begin;
                 at -= gaps[g])
                ended[at] = ended[at - gaps[g]];
            ended[at] = one;
        }
}

/* Delivers operations that have ended in the order in which they began, so that few of a stream need
 * more than one location. */
static void deliver_all(struct kept *ended, unsigned n)
{
    const unsigned devices_now = __atomic_load_n(&n_devices, __ATOMIC_ACQUIRE);
    for (unsigned d = 0; d < devices_now && n > 0; d++)
        read_both(&devices[d]);
    const uint64_t now = recorder->now();
    check_timers(ended, n);
    find_points(ended, n);
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        release(ended[i].event);
        if (turn_times(&ended[i], now)) {
            ended[kept++] = ended[i];
        } else {
            recorder->lose(ended[i].stream, 1);
            see(CONTRADICTS);
        }
    }
    sort_by_begin(ended, kept);
    for (unsigned i = 0; i < kept; i++)
        recorder->deliver(ended[i].stream, &ended[i].operation);
}

static void lose_untimed(void)
{
    const unsigned n = __atomic_load_n(&n_queues, __ATOMIC_ACQUIRE);
    if (!__atomic_exchange_n(&any_untimed, false, __ATOMIC_ACQ_REL))
        return;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t untimed = __atomic_exchange_n(&queues[i].untimed, 0, __ATOMIC_RELAXED);
        if (untimed > 0)
            recorder->lose(__atomic_load_n(&queues[i].stream, __ATOMIC_ACQUIRE), untimed);
    }
}

/* Divides what is waited for into what still runs, which comes first, and what has ended. */
static void look_at_all(bool last)
{
    unsigned first = n_waiting; /* of those that have ended */
    for (unsigned i = 0; i < first;) {
        struct kept one = waiting[i];
        const enum fate fate = look_at(&one);
        if (fate == RUNS && !last) {
            i++;
            continue;
        }
        waiting[i] = waiting[--first];
        waiting[first] = one;
        if (fate == ENDED)
            continue;
        recorder->lose(one.stream, 1);
        if (fate == UNKNOWN)
            release(one.event);
        waiting[first] = waiting[--n_waiting];
    }
    deliver_all(waiting + first, n_waiting - first);
    n_waiting = first;
}

static void drain_opencl(bool last)
{
    lose_untimed();
    take_incoming(last);
    if (n_waiting > 0)
        look_at_all(last);
    tell_oddities();
}

/* ==== calls =================================================================================== */

/* The type of a function and its parameters are those of OpenCL. */

static bool begin(struct rec_wait *call, unsigned which, const void *from, const void *frame)
{
    const struct rec_wait_place place = {REC_DEVICE_SITES + which, from, frame};
    return recorder->is_on() && recorder->begin(call, &functions[which], &place);
}

#define BEGIN(call, name) begin(call, CALL_##name, REC_CALLER, REC_FRAME)

static void end(struct rec_wait *call)
{
    recorder->end(call);
    recorder->leave(call);
}

/* A call that submits nothing; `after` is done with `result`, whether the call is recorded or not. */
#define HOST(type, name, declared, passed, after)        \
    static type front_##name declared                    \
    {                                                    \
        struct rec_wait call;                            \
        const bool recorded = BEGIN(&call, name);        \
        type result = NEXT(type, name, declared) passed; \
        if (recorded)                                    \
            end(&call);                                  \
        after;                                           \
        return result;                                   \
    }
#define NOTHING (void)result

HOST(ocl_int, clGetPlatformIDs, (ocl_uint n, ocl_platform *list, ocl_uint *ret_n), (n, list, ret_n),
     NOTHING)
HOST(ocl_int, clGetDeviceIDs,
     (ocl_platform platform, ocl_ulong type, ocl_uint n, ocl_device *list, ocl_uint *ret_n),
     (platform, type, n, list, ret_n), NOTHING)
HOST(ocl_context, clCreateContext,
     (const intptr_t *properties, ocl_uint n, const ocl_device *list, any_function notify,
      void *user, ocl_int *error),
     (properties, n, list, notify, user, error), NOTHING)
HOST(ocl_context, clCreateContextFromType,
     (const intptr_t *properties, ocl_ulong type, any_function notify, void *user, ocl_int *error),
     (properties, type, notify, user, error), NOTHING)
HOST(ocl_int, clReleaseContext, (ocl_context context), (context), NOTHING)
HOST(ocl_int, clReleaseCommandQueue, (ocl_queue queue), (queue), NOTHING)
HOST(ocl_mem, clCreateBuffer,
     (ocl_context context, ocl_ulong flags, size_t size, void *memory, ocl_int *error),
     (context, flags, size, memory, error), NOTHING)
HOST(ocl_int, clReleaseMemObject, (ocl_mem memory), (memory), NOTHING)
HOST(ocl_program, clCreateProgramWithSource,
     (ocl_context context, ocl_uint n, const char **texts, const size_t *sizes, ocl_int *error),
     (context, n, texts, sizes, error), NOTHING)
HOST(ocl_program, clCreateProgramWithBinary,
     (ocl_context context, ocl_uint n, const ocl_device *list, const size_t *sizes,
      const unsigned char **binaries, ocl_int *statuses, ocl_int *error),
     (context, n, list, sizes, binaries, statuses, error), NOTHING)
HOST(ocl_int, clBuildProgram,
     (ocl_program program, ocl_uint n, const ocl_device *list, const char *options,
      any_function notify, void *user),
     (program, n, list, options, notify, user), NOTHING)
HOST(ocl_int, clCompileProgram,
     (ocl_program program, ocl_uint n, const ocl_device *list, const char *options,
      ocl_uint n_headers, const ocl_program *headers, const char **names, any_function notify,
      void *user),
     (program, n, list, options, n_headers, headers, names, notify, user), NOTHING)
HOST(ocl_program, clLinkProgram,
     (ocl_context context, ocl_uint n, const ocl_device *list, const char *options,
      ocl_uint n_programs, const ocl_program *programs, any_function notify, void *user,
      ocl_int *error),
     (context, n, list, options, n_programs, programs, notify, user, error), NOTHING)
HOST(ocl_kernel, clCreateKernel, (ocl_program program, const char *name, ocl_int *error),
     (program, name, error), forget(&kernel_map, result))
HOST(ocl_kernel, clCloneKernel, (ocl_kernel kernel, ocl_int *error), (kernel, error),
     forget(&kernel_map, result))
HOST(ocl_int, clFlush, (ocl_queue queue), (queue), NOTHING)
HOST(void *, clSVMAlloc, (ocl_context context, ocl_ulong flags, size_t size, ocl_uint alignment),
     (context, flags, size, alignment), NOTHING)

static void front_clSVMFree(ocl_context context, void *memory)
{
    struct rec_wait call;
    const bool recorded = BEGIN(&call, clSVMFree);
    NEXT(void, clSVMFree, (ocl_context, void *))(context, memory);
    if (recorded)
        end(&call);
}

static ocl_int front_clCreateKernelsInProgram(ocl_program program, ocl_uint n, ocl_kernel *kernels,
                                              ocl_uint *ret_n)
{
    const ocl_int result =
        NEXT(ocl_int, clCreateKernelsInProgram,
             (ocl_program, ocl_uint, ocl_kernel *, ocl_uint *))(program, n, kernels, ret_n);
    for (ocl_uint i = 0; result == OCL_SUCCESS && kernels && i < n && (!ret_n || i < *ret_n); i++)
        forget(&kernel_map, kernels[i]);
    return result;
}

static ocl_event front_clCreateUserEvent(ocl_context context, ocl_int *error)
{
    ocl_event result = NEXT(ocl_event, clCreateUserEvent, (ocl_context, ocl_int *))(context, error);
    forget(&number_map, result);
    return result;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static ocl_queue front_clCreateCommandQueue(ocl_context context, ocl_device device,
                                            ocl_ulong properties, ocl_int *error)
{
    struct rec_wait call;
    const bool on = recorder->is_on(), recorded = BEGIN(&call, clCreateCommandQueue);
#define CREATE \
    NEXT(ocl_queue, clCreateCommandQueue, (ocl_context, ocl_device, ocl_ulong, ocl_int *))
    ocl_queue result = on ? CREATE(context, device, properties | OCL_PROFILING, error) : NULL;
    const bool has_times = result != NULL;
    if (!result)
        result = CREATE(context, device, properties, error);
#undef CREATE
    if (recorded)
        end(&call);
    if (on && result)
        note_queue(result, context, device, properties, has_times, NULL, 0);
    return result;
}

/* Copies a list of properties, ended by 0, with profiling added, and counts its words. False: it is
 * too long. *ret_wanted: what the program wants. */
static bool add_profiling(const ocl_ulong *list, ocl_ulong *copy, unsigned *ret_n,
                          ocl_ulong *ret_wanted)
{
    bool there = false;
    unsigned n = 0;
    *ret_wanted = 0;
    for (; list && list[n] != 0; n += 2) {
        if (n + 5 > MOST_PROPERTIES)
            return false;
        copy[n] = list[n];
        copy[n + 1] = list[n + 1];
        if (list[n] != OCL_QUEUE_PROPERTIES)
            continue;
        *ret_wanted = list[n + 1];
        copy[n + 1] |= OCL_PROFILING;
        there = true;
    }
    *ret_n = list ? n + 1 : 0;
    if (!there) {
        copy[n++] = OCL_QUEUE_PROPERTIES;
        copy[n++] = OCL_PROFILING;
    }
    copy[n] = 0;
    return true;
}

static ocl_queue front_clCreateCommandQueueWithProperties(ocl_context context, ocl_device device,
                                                          const ocl_ulong *properties,
                                                          ocl_int *error)
{
    struct rec_wait call;
    ocl_ulong changed[MOST_PROPERTIES], wanted = 0;
    unsigned n = 0;
    const bool on = recorder->is_on() && add_profiling(properties, changed, &n, &wanted);
    const bool recorded = BEGIN(&call, clCreateCommandQueueWithProperties);
#define CREATE                                          \
    NEXT(ocl_queue, clCreateCommandQueueWithProperties, \
         (ocl_context, ocl_device, const ocl_ulong *, ocl_int *))
    ocl_queue result = on ? CREATE(context, device, changed, error) : NULL;
    const bool has_times = result != NULL;
    if (!result)
        result = CREATE(context, device, properties, error);
#undef CREATE
    if (recorded)
        end(&call);
    if (on && result)
        note_queue(result, context, device, wanted, has_times, properties, n);
    return result;
}

/* What the program is told of a queue is what it asked for. */
static ocl_int front_clGetCommandQueueInfo(ocl_queue handle, ocl_uint what, size_t size,
                                           void *value, size_t *ret_size)
{
    const struct queue *queue = find_queue(handle);
    const size_t list = queue ? queue->n_properties * sizeof *queue->properties : 0;
    if (queue && queue->forced && what == OCL_QUEUE_PROPERTIES_ARRAY) {
        if (value && size < list)
            return OCL_INVALID_VALUE;
        if (value && list > 0)
            memcpy(value, queue->properties, list);
        if (ret_size)
            *ret_size = list;
        return OCL_SUCCESS;
    }
    const ocl_int result =
        NEXT(ocl_int, clGetCommandQueueInfo,
             (ocl_queue, ocl_uint, size_t, void *, size_t *))(handle, what, size, value, ret_size);
    if (queue && queue->forced && what == OCL_QUEUE_PROPERTIES && result == OCL_SUCCESS && value)
        *(ocl_ulong *)value &= ~(ocl_ulong)OCL_PROFILING;
    return result;
}

static ocl_int front_clGetEventProfilingInfo(ocl_event event, ocl_uint what, size_t size,
                                             void *value, size_t *ret_size)
{
    ocl_queue handle = NULL;
    if (__atomic_load_n(&any_forced, __ATOMIC_RELAXED) &&
        NEXT(ocl_int, clGetEventInfo, (ocl_event, ocl_uint, size_t, void *, size_t *))(
            event, OCL_EVENT_QUEUE, sizeof handle, &handle, NULL) == OCL_SUCCESS) {
        const struct queue *queue = handle ? find_queue(handle) : NULL;
        if (queue && queue->forced)
            return OCL_PROFILING_INFO_NOT_AVAILABLE;
    }
    return NEXT(ocl_int, clGetEventProfilingInfo, (ocl_event, ocl_uint, size_t, void *, size_t *))(
        event, what, size, value, ret_size);
}

/* ---- submissions ----------------------------------------------------------------------------- */

/* Kinds of submissions beside those of operations. A marker ends when all before it has ended; a
 * barrier also holds up what comes behind. */
enum { MARKER = REC_DEVICE_KINDS, BARRIER };

struct submission {
    struct rec_wait call;
    struct queue *queue;
    unsigned kind;
    bool recorded;
    bool times;      /* the driver is to tell when the operation ran */
    uint64_t before; /* ticks */
    ocl_event own;   /* an event for which the program has not asked */
    uint64_t bytes;
    ocl_kernel kernel; /* of a kernel; NULL: a function of the host */
    bool blocks;       /* the call waits for the end of the operation */
};

static struct submission begin_submission(unsigned which, unsigned kind, ocl_queue handle,
                                          const void *from, const void *frame)
{
    struct submission submission = {.kind = kind};
    submission.recorded = begin(&submission.call, which, from, frame);
    if (!submission.recorded)
        return submission;
    submission.before = submission.call.begin;
    submission.queue = find_queue(handle);
    submission.times = submission.queue && submission.queue->has_times && kind < REC_DEVICE_KINDS;
    return submission;
}

#define SUBMIT(name, kind, queue) begin_submission(CALL_##name, kind, queue, REC_CALLER, REC_FRAME)

/* Where the driver is to put the event. */
static ocl_event *event_of(struct submission *submission, ocl_event *event)
{
    return submission->times && !event ? &submission->own : event;
}

static void put_dependences(struct submission *submission, uint64_t number, ocl_uint n,
                            const ocl_event *waits)
{
    struct queue *queue = submission->queue;
    struct rec_wait *call = &submission->call;
    for (ocl_uint i = 0; waits && i < n; i++) {
        const uint64_t other = rec_map_get(&number_map, (uintptr_t)waits[i]);
        if (other != 0)
            recorder->depend(call, number, other);
    }
    if (n == 0 && submission->kind >= MARKER)
        recorder->depend(call, number, 0);
    const uint64_t barrier = __atomic_load_n(&queue->barrier, __ATOMIC_ACQUIRE);
    if (barrier != 0)
        recorder->depend(call, number, barrier);
    if (submission->kind == BARRIER && !queue->in_order)
        __atomic_store_n(&queue->barrier, number, __ATOMIC_RELEASE);
}

static uint32_t region_of(const struct submission *submission)
{
    if (submission->kind != REC_DEVICE_KERNEL)
        return recorder->region((enum rec_device_kind)submission->kind, NULL);
    return submission->kernel ? region_of_kernel(submission->kernel)
                              : recorder->region(REC_DEVICE_KERNEL, "native kernel");
}

/* Keeps the event of an operation of which the driver will tell the times. */
static bool keep_operation(struct submission *submission, struct rec_stream *stream,
                           const struct rec_operation *operation, ocl_event event, uint64_t after)
{
    if (!submission->own && NEXT(ocl_int, clRetainEvent, (ocl_event))(event) != OCL_SUCCESS)
        return false;
    return keep(&(struct kept){.queue = submission->queue,
                               .stream = stream,
                               .event = event,
                               .operation = *operation,
                               .before = submission->before,
                               .after = after});
}

/* The driver's function has returned; `event` is what event_of has returned. */
static void end_submission(struct submission *submission, bool good, ocl_uint n,
                           const ocl_event *waits, const ocl_event *event)
{
    if (!submission->recorded) {
        if (good && event)
            forget(&number_map, *event);
        return;
    }
    struct rec_wait *call = &submission->call;
    struct rec_operation operation = {.bytes = submission->bytes};
    bool many = false;
    const uint64_t after = recorder->now();
    recorder->end(call);
    struct rec_stream *stream = good && submission->queue ? stream_of(submission->queue) : NULL;
    if (stream) {
        recorder->submit(call, stream, &operation);
        put_dependences(submission, operation.number, n, waits);
        if (submission->blocks)
            recorder->wait(call, stream, operation.number);
        if (event && !submission->own)
            put_in_map(&number_map, *event, operation.number);
        operation.region = submission->times ? region_of(submission) : 0;
        if (submission->times && *event)
            many = keep_operation(submission, stream, &operation, *event, after);
        else if (submission->kind < REC_DEVICE_KINDS)
            count_untimed(submission->queue);
    } else if (submission->own) {
        release(submission->own);
    }
    recorder->leave(call);
    if (many)
        recorder->drain();
}

/* A function that submits an operation of `of_kind` to `queue`. `settings` sets members of the
 * submission; parameters are called as here. */
#define ENQUEUE(name, of_kind, declared, passed, settings)                   \
    static ocl_int front_##name declared                                     \
    {                                                                        \
        struct submission submission = SUBMIT(name, of_kind, queue);         \
        ocl_event *where = event_of(&submission, event);                     \
        const ocl_int result = NEXT(ocl_int, name, declared) passed;         \
        if (submission.recorded) {                                           \
            settings;                                                        \
        }                                                                    \
        end_submission(&submission, result == OCL_SUCCESS, n, waits, where); \
        return result;                                                       \
    }
#define EVENTS          ocl_uint n, const ocl_event *waits, ocl_event *event
#define BYTES(size)     submission.bytes = (size)
#define BLOCKS          submission.blocks = blocking == OCL_TRUE
#define KERNEL(kernel_) submission.kernel = (kernel_)

static uint64_t volume(const size_t *region)
{
    return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t image_bytes(ocl_mem image, const size_t *region)
{
    size_t element = 0;
    NEXT(ocl_int, clGetImageInfo, (ocl_mem, ocl_uint, size_t, void *, size_t *))
    (image, OCL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    return element * volume(region);
}

ENQUEUE(clEnqueueReadBuffer, REC_DEVICE_COPY_FROM,
        (ocl_queue queue, ocl_mem buffer, ocl_uint blocking, size_t offset, size_t size, void *to,
         EVENTS),
        (queue, buffer, blocking, offset, size, to, n, waits, where), BYTES(size);
        BLOCKS)
ENQUEUE(clEnqueueWriteBuffer, REC_DEVICE_COPY_TO,
        (ocl_queue queue, ocl_mem buffer, ocl_uint blocking, size_t offset, size_t size,
         const void *from, EVENTS),
        (queue, buffer, blocking, offset, size, from, n, waits, where), BYTES(size);
        BLOCKS)
ENQUEUE(clEnqueueCopyBuffer, REC_DEVICE_COPY_WITHIN,
        (ocl_queue queue, ocl_mem from, ocl_mem to, size_t at, size_t at_to, size_t size, EVENTS),
        (queue, from, to, at, at_to, size, n, waits, where), BYTES(size))
ENQUEUE(clEnqueueReadBufferRect, REC_DEVICE_COPY_FROM,
        (ocl_queue queue, ocl_mem buffer, ocl_uint blocking, const size_t *at,
         const size_t *at_host, const size_t *region, size_t row, size_t slice, size_t host_row,
         size_t host_slice, void *to, EVENTS),
        (queue, buffer, blocking, at, at_host, region, row, slice, host_row, host_slice, to, n,
         waits, where),
        BYTES(volume(region));
        BLOCKS)
ENQUEUE(clEnqueueWriteBufferRect, REC_DEVICE_COPY_TO,
        (ocl_queue queue, ocl_mem buffer, ocl_uint blocking, const size_t *at,
         const size_t *at_host, const size_t *region, size_t row, size_t slice, size_t host_row,
         size_t host_slice, const void *from, EVENTS),
        (queue, buffer, blocking, at, at_host, region, row, slice, host_row, host_slice, from, n,
         waits, where),
        BYTES(volume(region));
        BLOCKS)
ENQUEUE(clEnqueueCopyBufferRect, REC_DEVICE_COPY_WITHIN,
        (ocl_queue queue, ocl_mem from, ocl_mem to, const size_t *at, const size_t *at_to,
         const size_t *region, size_t row, size_t slice, size_t row_to, size_t slice_to, EVENTS),
        (queue, from, to, at, at_to, region, row, slice, row_to, slice_to, n, waits, where),
        BYTES(volume(region)))
ENQUEUE(clEnqueueFillBuffer, REC_DEVICE_FILL,
        (ocl_queue queue, ocl_mem buffer, const void *pattern, size_t pattern_size, size_t offset,
         size_t size, EVENTS),
        (queue, buffer, pattern, pattern_size, offset, size, n, waits, where), BYTES(size))
ENQUEUE(clEnqueueReadImage, REC_DEVICE_COPY_FROM,
        (ocl_queue queue, ocl_mem image, ocl_uint blocking, const size_t *at, const size_t *region,
         size_t row, size_t slice, void *to, EVENTS),
        (queue, image, blocking, at, region, row, slice, to, n, waits, where),
        BYTES(image_bytes(image, region));
        BLOCKS)
ENQUEUE(clEnqueueWriteImage, REC_DEVICE_COPY_TO,
        (ocl_queue queue, ocl_mem image, ocl_uint blocking, const size_t *at, const size_t *region,
         size_t row, size_t slice, const void *from, EVENTS),
        (queue, image, blocking, at, region, row, slice, from, n, waits, where),
        BYTES(image_bytes(image, region));
        BLOCKS)
ENQUEUE(clEnqueueCopyImage, REC_DEVICE_COPY_WITHIN,
        (ocl_queue queue, ocl_mem from, ocl_mem to, const size_t *at, const size_t *at_to,
         const size_t *region, EVENTS),
        (queue, from, to, at, at_to, region, n, waits, where), BYTES(image_bytes(from, region)))
ENQUEUE(clEnqueueCopyImageToBuffer, REC_DEVICE_COPY_WITHIN,
        (ocl_queue queue, ocl_mem from, ocl_mem to, const size_t *at, const size_t *region,
         size_t at_to, EVENTS),
        (queue, from, to, at, region, at_to, n, waits, where), BYTES(image_bytes(from, region)))
ENQUEUE(clEnqueueCopyBufferToImage, REC_DEVICE_COPY_WITHIN,
        (ocl_queue queue, ocl_mem from, ocl_mem to, size_t at, const size_t *at_to,
         const size_t *region, EVENTS),
        (queue, from, to, at, at_to, region, n, waits, where), BYTES(image_bytes(to, region)))
ENQUEUE(clEnqueueFillImage, REC_DEVICE_FILL,
        (ocl_queue queue, ocl_mem image, const void *color, const size_t *at, const size_t *region,
         EVENTS),
        (queue, image, color, at, region, n, waits, where), BYTES(image_bytes(image, region)))
ENQUEUE(clEnqueueUnmapMemObject, REC_DEVICE_UNMAP,
        (ocl_queue queue, ocl_mem memory, void *mapped, EVENTS),
        (queue, memory, mapped, n, waits, where), )
ENQUEUE(clEnqueueMigrateMemObjects, REC_DEVICE_MIGRATE,
        (ocl_queue queue, ocl_uint count, const ocl_mem *memories, ocl_ulong flags, EVENTS),
        (queue, count, memories, flags, n, waits, where), )
ENQUEUE(clEnqueueNDRangeKernel, REC_DEVICE_KERNEL,
        (ocl_queue queue, ocl_kernel kernel, ocl_uint dimensions, const size_t *offsets,
         const size_t *sizes, const size_t *local, EVENTS),
        (queue, kernel, dimensions, offsets, sizes, local, n, waits, where), KERNEL(kernel))
ENQUEUE(clEnqueueTask, REC_DEVICE_KERNEL, (ocl_queue queue, ocl_kernel kernel, EVENTS),
        (queue, kernel, n, waits, where), KERNEL(kernel))
ENQUEUE(clEnqueueNativeKernel, REC_DEVICE_KERNEL,
        (ocl_queue queue, any_function function, void *arguments, size_t size, ocl_uint count,
         const ocl_mem *memories, const void **places, EVENTS),
        (queue, function, arguments, size, count, memories, places, n, waits, where), )
ENQUEUE(clEnqueueSVMMemcpy, REC_DEVICE_COPY,
        (ocl_queue queue, ocl_uint blocking, void *to, const void *from, size_t size, EVENTS),
        (queue, blocking, to, from, size, n, waits, where), BYTES(size);
        BLOCKS)
ENQUEUE(clEnqueueSVMMemFill, REC_DEVICE_FILL,
        (ocl_queue queue, void *memory, const void *pattern, size_t pattern_size, size_t size,
         EVENTS),
        (queue, memory, pattern, pattern_size, size, n, waits, where), BYTES(size))
ENQUEUE(clEnqueueSVMMap, REC_DEVICE_MAP,
        (ocl_queue queue, ocl_uint blocking, ocl_ulong flags, void *memory, size_t size, EVENTS),
        (queue, blocking, flags, memory, size, n, waits, where), BYTES(size);
        BLOCKS)
ENQUEUE(clEnqueueSVMUnmap, REC_DEVICE_UNMAP, (ocl_queue queue, void *memory, EVENTS),
        (queue, memory, n, waits, where), )
ENQUEUE(clEnqueueMarkerWithWaitList, MARKER, (ocl_queue queue, EVENTS), (queue, n, waits, where), )
ENQUEUE(clEnqueueBarrierWithWaitList, BARRIER, (ocl_queue queue, EVENTS),
        (queue, n, waits, where), )

static void *front_clEnqueueMapBuffer(ocl_queue queue, ocl_mem buffer, ocl_uint blocking,
                                      ocl_ulong flags, size_t offset, size_t size, EVENTS,
                                      ocl_int *error)
{
    struct submission submission = SUBMIT(clEnqueueMapBuffer, REC_DEVICE_MAP, queue);
    ocl_event *where = event_of(&submission, event);
    void *result = NEXT(void *, clEnqueueMapBuffer,
                        (ocl_queue, ocl_mem, ocl_uint, ocl_ulong, size_t, size_t, ocl_uint,
                         const ocl_event *, ocl_event *, ocl_int *))(
        queue, buffer, blocking, flags, offset, size, n, waits, where, error);
    BYTES(size);
    BLOCKS;
    end_submission(&submission, result != NULL, n, waits, where);
    return result;
}

static void *front_clEnqueueMapImage(ocl_queue queue, ocl_mem image, ocl_uint blocking,
                                     ocl_ulong flags, const size_t *at, const size_t *region,
                                     size_t *row, size_t *slice, EVENTS, ocl_int *error)
{
    struct submission submission = SUBMIT(clEnqueueMapImage, REC_DEVICE_MAP, queue);
    ocl_event *where = event_of(&submission, event);
    void *result = NEXT(void *, clEnqueueMapImage,
                        (ocl_queue, ocl_mem, ocl_uint, ocl_ulong, const size_t *, const size_t *,
                         size_t *, size_t *, ocl_uint, const ocl_event *, ocl_event *, ocl_int *))(
        queue, image, blocking, flags, at, region, row, slice, n, waits, where, error);
    if (submission.recorded) {
        BYTES(image_bytes(image, region));
        BLOCKS;
    }
    end_submission(&submission, result != NULL, n, waits, where);
    return result;
}

/* Functions of OpenCL 1.0, without events. */
static ocl_int front_clEnqueueMarker(ocl_queue queue, ocl_event *event)
{
    struct submission submission = SUBMIT(clEnqueueMarker, MARKER, queue);
    const ocl_int result = NEXT(ocl_int, clEnqueueMarker, (ocl_queue, ocl_event *))(queue, event);
    end_submission(&submission, result == OCL_SUCCESS, 0, NULL, event);
    return result;
}

static ocl_int front_clEnqueueBarrier(ocl_queue queue)
{
    struct submission submission = SUBMIT(clEnqueueBarrier, BARRIER, queue);
    const ocl_int result = NEXT(ocl_int, clEnqueueBarrier, (ocl_queue))(queue);
    end_submission(&submission, result == OCL_SUCCESS, 0, NULL, NULL);
    return result;
}

static ocl_int front_clEnqueueWaitForEvents(ocl_queue queue, ocl_uint n, const ocl_event *waits)
{
    struct submission submission = SUBMIT(clEnqueueWaitForEvents, BARRIER, queue);
    const ocl_int result = NEXT(ocl_int, clEnqueueWaitForEvents,
                                (ocl_queue, ocl_uint, const ocl_event *))(queue, n, waits);
    end_submission(&submission, result == OCL_SUCCESS, n, waits, NULL);
    return result;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static ocl_int front_clFinish(ocl_queue queue)
{
    struct rec_wait call;
    const bool recorded = BEGIN(&call, clFinish);
    const ocl_int result = NEXT(ocl_int, clFinish, (ocl_queue))(queue);
    if (!recorded)
        return result;
    const struct queue *known = find_queue(queue);
    const struct rec_stream *stream =
        known ? __atomic_load_n(&known->stream, __ATOMIC_ACQUIRE) : NULL;
    recorder->end(&call);
    if (stream && result == OCL_SUCCESS)
        recorder->wait(&call, stream, 0);
    recorder->leave(&call);
    return result;
}

static ocl_int front_clWaitForEvents(ocl_uint n, const ocl_event *waits)
{
    struct rec_wait call;
    const bool recorded = BEGIN(&call, clWaitForEvents);
    const ocl_int result = NEXT(ocl_int, clWaitForEvents, (ocl_uint, const ocl_event *))(n, waits);
    if (!recorded)
        return result;
    recorder->end(&call);
    for (ocl_uint i = 0; waits && result == OCL_SUCCESS && i < n; i++) {
        const uint64_t number = rec_map_get(&number_map, (uintptr_t)waits[i]);
        if (number != 0)
            recorder->wait(&call, NULL, number);
    }
    recorder->leave(&call);
    return result;
}

/* ==== layer =================================================================================== */

/* Functions with something in front. */
/* clang-format off */
#define FRONTS(X)                                                                                 \
    X(clGetPlatformIDs) X(clGetDeviceIDs) X(clCreateContext) X(clCreateContextFromType)           \
    X(clReleaseContext) X(clCreateCommandQueue) X(clReleaseCommandQueue) X(clGetCommandQueueInfo) \
    X(clCreateBuffer) X(clReleaseMemObject) X(clCreateProgramWithSource)                          \
    X(clCreateProgramWithBinary) X(clBuildProgram) X(clCompileProgram) X(clLinkProgram)           \
    X(clCreateKernel) X(clCreateKernelsInProgram) X(clCloneKernel) X(clWaitForEvents)             \
    X(clGetEventProfilingInfo) X(clFlush) X(clFinish) X(clEnqueueReadBuffer)                      \
    X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueReadImage) X(clEnqueueWriteImage)   \
    X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) X(clEnqueueCopyBufferToImage)             \
    X(clEnqueueMapBuffer) X(clEnqueueMapImage) X(clEnqueueUnmapMemObject)                         \
    X(clEnqueueNDRangeKernel) X(clEnqueueTask) X(clEnqueueNativeKernel) X(clEnqueueMarker)        \
    X(clEnqueueWaitForEvents) X(clEnqueueBarrier) X(clCreateUserEvent)                            \
    X(clEnqueueReadBufferRect) X(clEnqueueWriteBufferRect) X(clEnqueueCopyBufferRect)             \
    X(clEnqueueFillBuffer) X(clEnqueueFillImage) X(clEnqueueMigrateMemObjects)                    \
    X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList)                                \
    X(clCreateCommandQueueWithProperties) X(clSVMAlloc) X(clSVMFree) X(clEnqueueSVMMemcpy)        \
    X(clEnqueueSVMMemFill) X(clEnqueueSVMMap) X(clEnqueueSVMUnmap)
/* clang-format on */

static const struct front {
    unsigned place;
    any_function function;
} fronts[] = {
#define FRONT(name) {PLACE_##name, (any_function)front_##name},
    FRONTS(FRONT)};

REC_EXPORT ocl_int clGetLayerInfo(ocl_uint what, size_t size, void *value, size_t *ret_size);
REC_EXPORT ocl_int clInitLayer(ocl_uint n, const any_function *next, ocl_uint *ret_n,
                               const any_function **ret_table);

ocl_int clGetLayerInfo(ocl_uint what, size_t size, void *value, size_t *ret_size)
{
    static const char name[] = "lull";
    static const ocl_uint version = OCL_LAYER_API_VERSION_100;
    const void *answer = what == OCL_LAYER_NAME ? (const void *)name : &version;
    const size_t bytes = what == OCL_LAYER_NAME ? sizeof name : sizeof version;
    if ((what != OCL_LAYER_NAME && what != OCL_LAYER_API_VERSION) || (value && size < bytes))
        return OCL_INVALID_VALUE;
    if (value)
        memcpy(value, answer, bytes);
    if (ret_size)
        *ret_size = bytes;
    return OCL_SUCCESS;
}

/* Where nothing is recorded, as in a program that a recorded one has started, the layer changes
 * nothing. */
ocl_int clInitLayer(ocl_uint n, const any_function *next, ocl_uint *ret_n,
                    const any_function **ret_table)
{
    if (!next || !ret_n || !ret_table)
        return OCL_INVALID_VALUE;
    n = n < MOST_ENTRIES ? n : MOST_ENTRIES;
    recorder = rec_device_find("OpenCL");
    target = next;
    memcpy(in_front, next, n * sizeof *next);
    for (size_t i = 0; recorder && i < sizeof fronts / sizeof *fronts; i++)
        if (fronts[i].place < n)
            in_front[fronts[i].place] = fronts[i].function;
    *ret_n = n;
    *ret_table = in_front;
    return OCL_SUCCESS;
}

/* ==== against OpenCL's headers, where they are ================================================ */

#if __has_include(<CL/cl_icd.h>)
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#define SAME_PLACE(name, place)                                                        \
    static_assert(offsetof(struct _cl_icd_dispatch, name) == (place) * sizeof(void *), \
                  "the place of " #name);
OCL_FUNCTIONS(SAME_PLACE)
#define SAME(own, theirs) \
    static_assert((long long)(own) == (long long)(theirs), "the value of " #theirs)
SAME(OCL_PROFILING_INFO_NOT_AVAILABLE, CL_PROFILING_INFO_NOT_AVAILABLE);
SAME(OCL_INVALID_VALUE, CL_INVALID_VALUE);
SAME(OCL_COMPLETE, CL_COMPLETE);
SAME(OCL_OUT_OF_ORDER, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
SAME(OCL_PROFILING, CL_QUEUE_PROFILING_ENABLE);
SAME(OCL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_ALL);
SAME(OCL_DEVICE_NAME, CL_DEVICE_NAME);
SAME(OCL_DEVICE_PLATFORM, CL_DEVICE_PLATFORM);
SAME(OCL_DEVICE_PARENT, CL_DEVICE_PARENT_DEVICE);
SAME(OCL_DEVICE_UUID, CL_DEVICE_UUID_KHR);
SAME(OCL_DEVICE_PCI, CL_DEVICE_PCI_BUS_INFO_KHR);
SAME(OCL_QUEUE_PROPERTIES, CL_QUEUE_PROPERTIES);
SAME(OCL_QUEUE_PROPERTIES_ARRAY, CL_QUEUE_PROPERTIES_ARRAY);
SAME(OCL_IMAGE_ELEMENT_SIZE, CL_IMAGE_ELEMENT_SIZE);
SAME(OCL_KERNEL_NAME, CL_KERNEL_FUNCTION_NAME);
SAME(OCL_EVENT_QUEUE, CL_EVENT_COMMAND_QUEUE);
SAME(OCL_EVENT_STATUS, CL_EVENT_COMMAND_EXECUTION_STATUS);
SAME(OCL_QUEUED, CL_PROFILING_COMMAND_QUEUED);
SAME(OCL_START, CL_PROFILING_COMMAND_START);
SAME(OCL_END, CL_PROFILING_COMMAND_END);
#endif
