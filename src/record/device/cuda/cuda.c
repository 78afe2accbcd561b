/* SPDX-License-Identifier: BSD-3-Clause */
/* The back-end for CUDA. The driver loads it in cuInit, where it is told (device/variables.c) that
 * CUDA_INJECTION64_PATH names it, and calls InitializeInjection: also for programs that are linked with a static runtime, which
 * no preloaded library sees. All is learned from CUPTI, which is opened here, and which nothing
 * of the recorder is linked with.
 *
 * The host: CUPTI calls `on_callback` at the begin and the end of each call of a function of
 * calls.h. A function of the runtime calls functions of the driver, which call back as well:
 * what the outermost call does is recorded, once. Waits, events and dependences follow from the
 * arguments of calls; CUPTI's records of them would tell the same later.
 *
 * The device: CUPTI writes a record of each kernel and copy that has ended into buffers, which
 * it asks for (`give_buffer`) and hands over when they are full or when it is told to flush
 * (`take_buffer`), mostly on a thread of its own. From there the records go onto the tape at
 * once. The recorder's thread tells it to flush ten times a second.
 *
 * A record names the call that submitted it by the call's correlation id, a number of 32 bits
 * that CUPTI counts up and that wraps (device/told.h has the calls by that id). All operations of a graph have the id of its launch, and the
 * number of this one submission.
 *
 * Times: CUPTI takes the host's time from `own_timestamp`, and turns the device's times into
 * that. Where it refuses, its clock is read between two readings of the recorder's. */
#include "record/device/cuda/cupti.h"

#include "record/device/cuda/calls.h"
#include "record/device/told.h"
#include "record/site/site.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTER(name, declared) int(*name) declared;
static struct {
    CUPTI_NEEDED(POINTER) CUPTI_OPTIONAL(POINTER)
} cupti;
static struct {
    CUDA_ASKED(POINTER)
} cuda;
static uint32_t cupti_version;

/* ==== clock =================================================================================== */

/* CUPTI's times are ns since the recorder's clock said `first_ticks`, and FIRST_NS more, so that
 * no time of a device is below 0; or, where CUPTI keeps its own clock, `points` tells the one by
 * the other. */
enum { TIMER_NS = 32 /* what the timers of NVIDIA's devices resolve */ };
#define FIRST_NS UINT64_C(1000000000000000000)
static uint64_t first_ticks;
static bool own_clock;
static struct rec_points points; /* with rec_told_lock held */

static uint64_t own_timestamp(void)
{
    return FIRST_NS + (uint64_t)((double)(recorder->now() - first_ticks) * ns_per_tick);
}

static uint64_t ticks_of(uint64_t ns, uint64_t *error)
{
    if (!own_clock)
        return rec_points_ticks(&points, ns_per_tick, ns, error);
    const double ticks = (double)(int64_t)(ns - FIRST_NS) * ticks_per_ns;
    return first_ticks + (uint64_t)(int64_t)(ticks < 0 ? ticks - 0.5 : ticks + 0.5);
}

static bool read_cupti_clock(uint64_t *ret_ns)
{
    return cupti.cuptiGetTimestamp(ret_ns) == CUPTI_OK;
}

/* ==== devices and streams ===================================================================== */

enum { MOST_DEVICES = 64 };

struct device {
    char name[64], key[64];
};
/* By their number in the process; with rec_streams_lock held. */
static struct device devices[MOST_DEVICES];

/* The card by its place, as other runtimes name it, too. A part of a card (MIG) has another UUID
 * than the card. */
static void find_key(int device, char *key, size_t size)
{
    unsigned char card[16] = {0}, part[16] = {0};
    char place[32] = "";
    const bool has_card = cuda.cuDeviceGetUuid && cuda.cuDeviceGetUuid(card, device) == 0;
    const bool has_part = cuda.cuDeviceGetUuid_v2 && cuda.cuDeviceGetUuid_v2(part, device) == 0;
    const bool whole = !has_card || !has_part || memcmp(card, part, sizeof card) == 0;
    if (whole && cuda.cuDeviceGetPCIBusId &&
        cuda.cuDeviceGetPCIBusId(place, (int)sizeof place, device) == 0 && *place) {
        for (char *letter = place; *letter; letter++)
            *letter = (char)tolower((unsigned char)*letter);
        snprintf(key, size, "pci:%s", place);
    } else if (has_card || has_part) {
        const unsigned char *uuid = has_part ? part : card;
        size_t at = (size_t)snprintf(key, size, "uuid:");
        for (unsigned i = 0; i < sizeof part; i++)
            at += (size_t)snprintf(key + at, size - at, "%02x", uuid[i]);
    }
}

/* Asks the driver for a device, by the thread of the host that uses it first. No lock is held:
 * the driver has its own. */
static void describe_device(uint32_t ordinal)
{
    struct device found = {.name = ""};
    int device = 0;
    if (ordinal >= MOST_DEVICES || !cuda.cuDeviceGet ||
        cuda.cuDeviceGet(&device, (int)ordinal) != 0)
        return;
    if (cuda.cuDeviceGetName)
        cuda.cuDeviceGetName(found.name, (int)sizeof found.name - 1, device);
    find_key(device, found.key, sizeof found.key);
    pthread_mutex_lock(&rec_streams_lock);
    if (!*devices[ordinal].key)
        devices[ordinal] = found;
    pthread_mutex_unlock(&rec_streams_lock);
}

static bool is_described(uint32_t ordinal)
{
    pthread_mutex_lock(&rec_streams_lock);
    const bool described = ordinal < MOST_DEVICES && *devices[ordinal].key;
    pthread_mutex_unlock(&rec_streams_lock);
    return described;
}

/* In the place of a context: the stream is that of a device's managed memory, which the system moves. */
#define OF_MANAGED UINT32_MAX

/* With the lock held. `about` is the stream's priority, or NULL. */
static void make_cuda_stream(uint32_t ordinal, uint32_t context, uint32_t id, const void *about,
                             struct rec_stream **ret_stream)
{
    const bool is_managed = context == OF_MANAGED;
    const int *priority = about;
    struct lull_tape_stream what = {.runtime = "CUDA",
                                    .context = is_managed ? 0 : context,
                                    .in_order = !is_managed,
                                    .clock_error = TIMER_NS};
    char name[32];
    if (ordinal < MOST_DEVICES) {
        memcpy(what.device, devices[ordinal].name, sizeof what.device);
        memcpy(what.key, devices[ordinal].key, sizeof what.key);
    }
    if (!*what.key)
        snprintf(what.key, sizeof what.key, "cuda:%u", ordinal);
    what.has_priority = priority && *priority >= INT16_MIN && *priority <= INT16_MAX;
    what.priority = what.has_priority ? (int16_t)*priority : 0;
    snprintf(name, sizeof name, is_managed ? "managed memory" : "stream %u", id);
    *ret_stream = recorder->stream(&what, name);
}

/* The stream with that id in a context, which is made where it is not known yet: with that priority; NULL: it is not
 * known. NULL: the stream cannot be recorded. */
static struct rec_told_stream *find_stream(uint32_t ordinal, uint32_t context, uint32_t id,
                                           const int *priority)
{
    return rec_told_stream_find(ordinal, context, id, make_cuda_stream, priority);
}

/* ==== buffers ================================================================================= */

/* CUPTI is never told that there is no buffer, as long as there is memory: before CUDA 12.9 it
 * does not bear it. Buffers that come back are kept. What was written to is zeroed here, and not
 * by CUPTI in a call of the program. */
enum { BUFFER_BYTES = 1 << 20, KEPT_BUFFERS = 32, MOST_BUFFERS = 256, SPARE_BYTES = 1 << 14 };

static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *kept_buffers[KEPT_BUFFERS];
static unsigned n_kept, n_out; /* out: that CUPTI has */
static _Alignas(8) uint8_t spare_buffer[SPARE_BYTES];
static bool spare_is_out;

static uint8_t *map_buffer(void)
{
    void *pages =
        mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void give_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most)
{
    pthread_mutex_lock(&buffers_lock);
    const bool many = n_out >= MOST_BUFFERS && cupti_version >= CUPTI_VERSION_OF_NULL;
    uint8_t *buffer = n_kept > 0 ? kept_buffers[--n_kept] : many ? NULL : map_buffer();
    *ret_size = BUFFER_BYTES;
    if (!buffer && !many && !spare_is_out) {
        spare_is_out = true;
        buffer = spare_buffer;
        *ret_size = SPARE_BYTES;
    }
    n_out += buffer != NULL;
    pthread_mutex_unlock(&buffers_lock);
    *ret_buffer = buffer;
    *ret_most = 0;
    if (!buffer) {
        *ret_size = 0;
        rec_see(REC_STARVED);
    }
}

static void keep_buffer(uint8_t *buffer, size_t used)
{
    memset(buffer, 0, used);
    pthread_mutex_lock(&buffers_lock);
    n_out--;
    const bool kept = buffer != spare_buffer && n_kept < KEPT_BUFFERS;
    if (kept)
        kept_buffers[n_kept++] = buffer;
    if (buffer == spare_buffer)
        spare_is_out = false;
    pthread_mutex_unlock(&buffers_lock);
    if (!kept && buffer != spare_buffer)
        munmap(buffer, BUFFER_BYTES);
}

/* ==== records ================================================================================= */

/* Regions of kernels by the addresses of their names, which CUPTI keeps. As it may free one when
 * code is unloaded, and put another one there, the name is compared with a copy, once in each buffer. To
 * compare it for each record would find no more: a record has no name of its own, and all records of a buffer
 * are read when CUPTI hands it over, when one name stands there. */
enum { MOST_NAMES = 1 << 12 };
static struct kernel_name {
    const char *name;
    char *copy;
    uint32_t region;
    uint64_t seen; /* n_delivered when the two were compared */
} names[MOST_NAMES];
static uint64_t n_delivered; /* buffers so far */

static uint32_t region_of_kernel(const char *name)
{
    name = name ? name : "(kernel without a name)";
    struct kernel_name *known = &names[rec_map_hash((uintptr_t)name) % MOST_NAMES];
    if (known->name == name && known->seen == n_delivered)
        return known->region;
    known->seen = n_delivered;
    if (known->name == name && known->copy && strcmp(known->copy, name) == 0)
        return known->region;
    known->region = recorder->region(REC_DEVICE_KERNEL, name);
    known->name = name;
    if (!known->copy || strcmp(known->copy, name) != 0) {
        const size_t size = strlen(name) + 1;
        known->copy = rec_told_keep(size);
        if (known->copy)
            memcpy(known->copy, name, size);
    }
    return known->region;
}

static enum rec_device_kind kind_of_copy(unsigned direction)
{
    switch (direction) {
    case CUPTI_HTOD:
    case CUPTI_HTOA:
        return REC_DEVICE_COPY_TO;
    case CUPTI_DTOH:
    case CUPTI_ATOH:
        return REC_DEVICE_COPY_FROM;
    case CUPTI_ATOA:
    case CUPTI_ATOD:
    case CUPTI_DTOA:
    case CUPTI_DTOD:
    case CUPTI_PTOP:
        return REC_DEVICE_COPY_WITHIN;
    default:
        return REC_DEVICE_COPY;
    }
}

/* Nobody has submitted it. Records of managed memory tell of other things, too. */
static void add_migration(const struct cupti_migration *migration, uint64_t now)
{
    enum rec_device_kind kind;
    if (migration->what == CUPTI_MIGRATED_TO)
        kind = REC_DEVICE_COPY_TO;
    else if (migration->what == CUPTI_MIGRATED_FROM)
        kind = REC_DEVICE_COPY_FROM;
    else if (migration->what == CUPTI_MIGRATED_WITHIN)
        kind = REC_DEVICE_COPY_WITHIN;
    else
        return;
    const uint32_t device = kind == REC_DEVICE_COPY_FROM ? migration->from : migration->to;
    struct rec_told_stream *stream = find_stream(device, OF_MANAGED, device, NULL);
    if (!stream)
        return;
    rec_told_add(&(const struct rec_told){.stream = stream,
                                          .has_no_launch = true,
                                          .start = migration->start,
                                          .end = migration->end,
                                          .bytes = migration->bytes,
                                          .region = recorder->region(kind, NULL),
                                          .resolution = TIMER_NS},
                 ticks_of, now);
}

/* Time that the program has lost to CUPTI is the recorder's. */
static void charge_overhead(const struct cupti_overhead *overhead)
{
    switch (overhead->what) {
    case CUPTI_BUFFER_FLUSH:
    case CUPTI_INSTRUMENTATION:
    case CUPTI_OWN_RESOURCE:
    case CUPTI_BUFFER_REQUEST:
    case CUPTI_UNIFIED_MEMORY:
        if (overhead->start > 0 && overhead->start <= overhead->end)
            recorder->charge((double)(overhead->end - overhead->start));
        break;
    case CUPTI_COMMAND_BUFFER_FULL:
        if (cupti_version >= CUPTI_VERSION_OF_OVERHEAD_DATA)
            free(overhead->data);
        break;
    default:
        break;
    }
}

/* What a record of any kind says. */
struct told {
    uint32_t device, context, stream, correlation, other; /* other: 0, or a second correlation id */
    uint64_t start, end, bytes;
    uint32_t region;
};

/* False: the record is not that of an operation that a call has submitted. `now`, in ticks, is not before
 * the record was handed over. */
static bool read_record(const void *record, uint64_t now, struct told *told)
{
    const union {
        const void *any;
        const uint32_t *kind;
        const struct cupti_kernel *kernel;
        const struct cupti_memcpy *copy;
        const struct cupti_memcpy_peer *peer;
        const struct cupti_memset *set;
        const struct cupti_migration *migration;
        const struct cupti_overhead *overhead;
    } is = {record};
#define TELL(it, id, second, size, where)                                                          \
    *told = (struct told)                                                                          \
    {                                                                                              \
        (it)->device, (it)->context, (it)->stream, (id), (second), (it)->start, (it)->end, (size), \
            (where)                                                                                \
    }
    switch (*is.kind) {
    case CUPTI_KERNEL:
    case CUPTI_CONCURRENT_KERNEL:
        TELL(is.kernel, is.kernel->correlation, 0, 0, region_of_kernel(is.kernel->name));
        return true;
    case CUPTI_MEMCPY:
        TELL(is.copy, is.copy->correlation, is.copy->runtime_correlation, is.copy->bytes,
             recorder->region(kind_of_copy(is.copy->direction), NULL));
        return true;
    case CUPTI_MEMCPY_PEER:
        TELL(is.peer, is.peer->correlation, 0, is.peer->bytes,
             recorder->region(REC_DEVICE_COPY_WITHIN, NULL));
        return true;
    case CUPTI_MEMSET:
        TELL(is.set, is.set->correlation, 0, is.set->bytes,
             recorder->region(REC_DEVICE_FILL, NULL));
        return true;
    case CUPTI_MIGRATION:
        add_migration(is.migration, now);
        return false;
    case CUPTI_OVERHEAD:
        charge_overhead(is.overhead);
        return false;
    default:
        return false;
    }
#undef TELL
}

static void add_operation(const struct told *told, uint64_t now)
{
    struct rec_launch_found launch;
    const bool known = rec_launch_find(told->correlation, &launch) ||
                       (told->other != 0 && rec_launch_find(told->other, &launch));
    if (known && launch.number == REC_NO_NUMBER)
        return;
    static struct rec_told_stream *stream; /* that of the record before: often it is the same */
    if (!stream || stream->group != told->context || stream->id != told->stream)
        stream = find_stream(told->device, told->context, told->stream, NULL);
    if (!stream)
        return;
    rec_told_add(&(const struct rec_told){.stream = stream,
                                          .launch = known ? &launch : NULL,
                                          .start = told->start,
                                          .end = told->end,
                                          .bytes = told->bytes,
                                          .region = told->region,
                                          .resolution = TIMER_NS},
                 ticks_of, now);
}

struct full_buffer {
    uint8_t *buffer;
    size_t used;
};

/* CUPTI has written the records on another core: each record asks for those that come some time behind it. */
static bool has_next_record(const struct full_buffer *full, void **record)
{
    enum { AHEAD = 2048, LINE = 64, LINES = 4 };
    if (cupti.cuptiActivityGetNextRecord(full->buffer, full->used, record) != CUPTI_OK || !*record)
        return false;
    for (unsigned i = 0; i < LINES; i++)
        __builtin_prefetch((const char *)*record + AHEAD + (size_t)i * LINE);
    return true;
}

/* Several records are read before the first of them is added, so that what is known of their calls has come
 * from memory by then. All that is called on the way is the recorder's affair. */
static void deliver_buffer(void *context)
{
    enum { AT_A_TIME = 16 };
    const struct full_buffer *full = context;
    struct told told[AT_A_TIME];
    void *record = NULL;
    if (!rec_told_begin())
        return;
    const uint64_t now = recorder->now();
    n_delivered++;
    for (bool more = true; more;) {
        unsigned n = 0;
        while (n < AT_A_TIME && (more = has_next_record(full, &record)))
            if (read_record(record, now, &told[n]))
                rec_launch_prefetch(told[n++].correlation);
        for (unsigned i = 0; i < n; i++)
            add_operation(&told[i], now);
    }
    rec_told_deliver();
    pthread_mutex_unlock(&rec_told_lock);
}

/* No lock is held: CUPTI may hold its own, and hand over a buffer. */
static void ask_for_dropped(void)
{
    size_t dropped = 0;
    if (cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_OK)
        __atomic_add_fetch(&rec_dropped, dropped, __ATOMIC_RELAXED);
}

static void take_buffer(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    struct full_buffer full = {buffer, valid};
    (void)context;
    (void)stream;
    (void)size;
    if (!buffer)
        return;
    if (valid > 0 && recorder->is_on())
        recorder->aside(deliver_buffer, &full);
    ask_for_dropped();
    keep_buffer(buffer, valid);
}

/* ==== calls of the host ======================================================================= */

/* What a function does, as far as it matters to a device. Those from KERNEL on submit something. */
enum what {
    HOST,
    FORGET,
    CAPTURE,
    CAPTURED,
    SYNC_STREAM,
    SYNC_EVENT,
    SYNC_CONTEXT,
    KERNEL,
    GRAPH,
    COPY,
    COPY_HOST,
    COPY_KIND,
    FILL,
    RECORD,
    AWAIT
};
enum {
    D = CUPTI_DRIVER,
    R = CUPTI_RUNTIME,
    MOST_IDS = 1024,
    CUDA_SITES = REC_DEVICE_SITES + 0x200
};

struct row {
    uint8_t what, domain, stream, other;
    uint16_t id;
    bool per_thread; /* the default stream is one for each thread */
};
#define ROW(what_, domain_, called, suffix, id_, stream_, other_) \
    {what_, domain_, stream_, other_, id_, false},
#define NAME(what_, domain_, called, suffix, id_, stream_, other_) \
    {.name = #called, .role = LULL_TAPE_ROLE_FUNCTION, .paradigm = LULL_TAPE_PARADIGM_DEVICE},
#define SUFFIX(what_, domain_, called, suffix, id_, stream_, other_) #suffix,
static struct row rows[] = {CUDA_CALLS(ROW)};
static struct rec_wait_function functions[] = {CUDA_CALLS(NAME)};
enum { N_ROWS = sizeof rows / sizeof *rows };
static const char *const suffixes[] = {CUDA_CALLS(SUFFIX)};
static const struct row *row_of[CUPTI_RUNTIME + 1][MOST_IDS];

/* What the thread does in a call. */
static __thread struct {
    const struct row *row; /* NULL: it is in none */
    uint32_t correlation;
    bool recorded;
    struct rec_wait wait;
    struct rec_operation operation; /* that it may submit */
    struct rec_launch *launch;
    cuda_stream stream; /* to which the call refers */
    bool stream_known, per_thread;
    struct rec_told_stream *target; /* what meet_stream has found; NULL: nothing */
} in __attribute__((tls_model("initial-exec")));

/* The streams that the thread has used last, by their handles. They hold until a stream or a
 * context ends. */
enum { MOST_HANDLES = 8 };
static __thread struct handle {
    cuda_context context;
    cuda_stream stream;
    uint64_t age;
    struct rec_told_stream *known;
} handles[MOST_HANDLES] __attribute__((tls_model("initial-exec")));
static uint64_t age = 1;     /* atomic */
static uint32_t n_capturing; /* atomic: streams whose work becomes a graph */

/* Handles of events are used again. A recorded event is an operation, a marker. */
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map event_map; /* handle -> number; 0: nothing is known */

static void put_event(const void *event, uint64_t number)
{
    pthread_mutex_lock(&events_lock);
    rec_map_put(&event_map, (uintptr_t)event, number);
    pthread_mutex_unlock(&events_lock);
}

static uint64_t number_of_event(const void *event)
{
    return rec_map_get(&event_map, (uintptr_t)event);
}

/* A context ends, and takes its events with it. Which these are is not known: all are forgotten. */
static void forget_events(void)
{
    pthread_mutex_lock(&events_lock);
    rec_map_clear(&event_map);
    pthread_mutex_unlock(&events_lock);
}

static const void *pointer_at(const void *arguments, unsigned at)
{
    const void *pointer;
    memcpy(&pointer, (const char *)arguments + at, sizeof pointer);
    return pointer;
}

/* Notes the stream that a call's arguments name. */
static void see_stream(const struct row *row, const struct cupti_call *call)
{
    enum { LEGACY = 1, OF_THREAD = 2 }; /* handles of the two default streams */
    const void *handle = NULL;
    if (row->stream == NOT_KNOWN || !call->arguments)
        return;
    if (row->stream == IN_CONFIG) {
        const void *config = pointer_at(call->arguments, 0);
        handle = config ? pointer_at(config, IN_CONFIG_AT) : NULL;
    } else if (row->stream != NONE) {
        handle = pointer_at(call->arguments, row->stream);
    }
    in.per_thread = (uintptr_t)handle == OF_THREAD || (!handle && row->per_thread);
    in.stream = (uintptr_t)handle <= OF_THREAD ? NULL : (cuda_stream)(uintptr_t)handle;
    in.stream_known = true;
}

static bool has_migrations; /* atomic: CUPTI tells of them */

/* The driver has to be set up for that, which it is not while it loads this library. Where CUPTI refuses,
 * as on systems that do not tell, nothing is known of managed memory. */
static void ask_for_migrations(void)
{
    static const uint32_t events[] = {CUPTI_MIGRATED_TO, CUPTI_MIGRATED_FROM,
                                      CUPTI_MIGRATED_WITHIN};
    static bool asked;
    struct cupti_migration_wish wishes[sizeof events / sizeof *events];
    if (!cupti.cuptiActivityConfigureUnifiedMemoryCounter ||
        __atomic_exchange_n(&asked, true, __ATOMIC_RELAXED))
        return;
    for (unsigned i = 0; i < sizeof events / sizeof *events; i++)
        wishes[i] = (struct cupti_migration_wish){CUPTI_ALL_DEVICES, events[i], 0, 1};
    /* An old version does not know the last one. */
    for (uint32_t n = sizeof events / sizeof *events; n > 1 && !GET(has_migrations); n--)
        SET(has_migrations,
            cupti.cuptiActivityConfigureUnifiedMemoryCounter(wishes, n) == CUPTI_OK &&
                cupti.cuptiActivityEnable(CUPTI_MIGRATION) == CUPTI_OK);
}

/* The handle of the stream to which the call refers; those of default streams are 1 and 2. */
static cuda_stream handle_of_call(void)
{
    return in.stream ? in.stream : (cuda_stream)(uintptr_t)(1 + in.per_thread);
}

/* Asks CUPTI for the stream, which may be one of another context than the thread's, and the driver for its priority. */
static struct rec_told_stream *ask_for_stream(const struct cupti_call *call)
{
    cuda_context context = call->context;
    uint32_t context_id = call->context_id, id = 0, device = 0;
    int priority = 0;
    if (in.stream && cuda.cuStreamGetCtx)
        cuda.cuStreamGetCtx(in.stream, &context);
    if (cupti.cuptiGetStreamIdEx(context, in.stream, in.per_thread, &id) != CUPTI_OK ||
        cupti.cuptiGetDeviceId(context, &device) != CUPTI_OK ||
        (context != call->context && cupti.cuptiGetContextId(context, &context_id) != CUPTI_OK))
        return NULL;
    if (!is_described(device)) {
        describe_device(device);
        ask_for_migrations();
    }
    const bool has_priority =
        cuda.cuStreamGetPriority && cuda.cuStreamGetPriority(handle_of_call(), &priority) == 0;
    return find_stream(device, context_id, id, has_priority ? &priority : NULL);
}

/* The stream to which the call refers. NULL: it is not known. */
static struct rec_told_stream *stream_of_call(const struct cupti_call *call)
{
    if (!in.stream_known)
        return NULL;
    const cuda_stream stream = handle_of_call();
    const uint64_t now = __atomic_load_n(&age, __ATOMIC_ACQUIRE);
    struct handle *handle = &handles[rec_map_hash((uintptr_t)stream) % MOST_HANDLES];
    if (handle->stream != stream || handle->context != call->context || handle->age != now)
        *handle = (struct handle){call->context, stream, now, ask_for_stream(call)};
    return handle->known;
}

static bool is_captured(void)
{
    int status = 0;
    if (__atomic_load_n(&n_capturing, __ATOMIC_RELAXED) == 0)
        return false;
    const __typeof__(cuda.cuStreamIsCapturing) ask =
        in.per_thread ? cuda.cuStreamIsCapturing_ptsz : cuda.cuStreamIsCapturing;
    return ask && ask(in.stream, &status) == 0 && status == CUDA_CAPTURES;
}

/* Before something is submitted to a stream, the stream and its device become known: the operation's
 * record may come before the call ends, on a thread that may not ask the driver. */
static void meet_stream(const struct cupti_call *call)
{
    if (in.stream_known && (call->context || in.stream) && !is_captured())
        in.target = stream_of_call(call);
}

static void end_submission(const struct row *row, const struct cupti_call *call)
{
    if (is_captured())
        return;
    struct rec_told_stream *stream = in.target ? in.target : stream_of_call(call);
    const struct rec_stream *recorded = stream ? stream->recorded : NULL;
    const uint64_t number = in.operation.number;
    int direction = 0;
    recorder->submit(&in.wait, recorded, &in.operation);
    if (row->what == KERNEL) {
        rec_launch_goes_to(in.launch, stream);
        rec_launch_expect(in.launch);
    } else if (row->what == RECORD) {
        recorder->depend(&in.wait, number, 0);
        put_event(pointer_at(call->arguments, row->other), number);
    } else if (row->what == AWAIT) {
        const uint64_t other = number_of_event(pointer_at(call->arguments, row->other));
        if (other != 0)
            recorder->depend(&in.wait, number, other);
    } else if (row->what == COPY_KIND) {
        memcpy(&direction, (const char *)call->arguments + row->other, sizeof direction);
    }
    if (row->what == COPY_HOST || direction == CUDA_DEVICE_TO_HOST)
        recorder->wait(&in.wait, recorded, number);
}

static void end_wait(const struct row *row, const struct cupti_call *call)
{
    if (row->what == SYNC_STREAM) {
        const struct rec_told_stream *stream = stream_of_call(call);
        if (stream)
            recorder->wait(&in.wait, stream->recorded, 0);
    } else if (row->what == SYNC_EVENT) {
        const uint64_t number = number_of_event(pointer_at(call->arguments, row->other));
        if (number != 0)
            recorder->wait(&in.wait, NULL, number);
    }
    if (row->what == SYNC_CONTEXT)
        rec_told_wait_for_group(&in.wait, call->context_id);
}

static void note_capture(const struct row *row)
{
    if (row->what == CAPTURE) {
        __atomic_add_fetch(&n_capturing, 1, __ATOMIC_RELAXED);
        return;
    }
    uint32_t n = __atomic_load_n(&n_capturing, __ATOMIC_RELAXED);
    while (n > 0 && !__atomic_compare_exchange_n(&n_capturing, &n, n - 1, false, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED))
        continue;
}

static void begin_call(const struct row *row, const struct cupti_call *call, const void *from,
                       const void *frame)
{
    const unsigned n = (unsigned)(row - rows);
    const struct rec_wait_place place = {CUDA_SITES + n, from, frame};
    if (row->what == FORGET && call->arguments) {
        put_event(pointer_at(call->arguments, row->other), 0);
        return;
    }
    in.stream_known = false;
    in.target = NULL;
    if (row->what >= SYNC_STREAM)
        see_stream(row, call);
    if (row->what >= KERNEL)
        meet_stream(call);
    in.recorded = recorder->begin(&in.wait, &functions[n], &place);
    in.row = row;
    in.correlation = call->correlation;
    in.operation = (struct rec_operation){.number = 0};
    if (row->what < KERNEL)
        return;
    if (in.recorded)
        recorder->announce(&in.wait, &in.operation);
    in.launch = rec_launch_note(call->correlation, &in.operation, in.wait.begin, NULL);
}

/* The call is made inside of one that is recorded, by the runtime: its operation may have this
 * call's id, and where the outer call does not tell the stream, this one does. */
static void see_inner_call(const struct row *row, const struct cupti_call *call)
{
    if (in.row->what < KERNEL || row->what < KERNEL)
        return;
    if (call->correlation != in.correlation)
        rec_launch_note(call->correlation, &in.operation, in.wait.begin, in.launch);
    if (in.target || !recorder->is_on())
        return;
    if (!in.stream_known)
        see_stream(row, call);
    meet_stream(call);
}

static void end_call(const struct row *row, const struct cupti_call *call)
{
    const bool good = call->result && *(const int *)call->result == 0;
    in.row = NULL;
    if (good && (row->what == CAPTURE || row->what == CAPTURED))
        note_capture(row);
    if (!in.recorded)
        return;
    recorder->end(&in.wait);
    if (good && row->what >= KERNEL)
        end_submission(row, call);
    else if (good && row->what >= SYNC_STREAM)
        end_wait(row, call);
    recorder->leave(&in.wait);
}

/* A context is about to be destroyed, as when its device is reset: what it has records of is handed over
 * before these are gone. */
static void end_context(void)
{
    forget_events();
    cupti.cuptiActivityFlushAll(0);
}

static void on_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    if (domain == CUPTI_RESOURCE) {
        __atomic_add_fetch(&age, 1, __ATOMIC_RELEASE);
        if (id == CUPTI_CONTEXT_ENDS && recorder->is_on())
            end_context();
        return;
    }
    const struct row *row = domain <= CUPTI_RUNTIME && id < MOST_IDS ? row_of[domain][id] : NULL;
    const struct cupti_call *call = data;
    if (!row)
        return;
    if (in.row) {
        if (call->site == CUPTI_ENTER)
            see_inner_call(row, call);
        else if (in.row == row && in.correlation == call->correlation && recorder->is_on())
            end_call(row, call);
    } else if (call->site == CUPTI_ENTER && recorder->is_on()) {
        begin_call(row, call, REC_CALLER, REC_FRAME);
    }
}

/* ==== draining ================================================================================ */

/* Kinds of records that are asked for: those of kernels first, without which there is nothing. */
static const uint32_t record_kinds[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMCPY_PEER,
                                        CUPTI_MEMSET, CUPTI_OVERHEAD};
enum { RECORD_KINDS = sizeof record_kinds / sizeof *record_kinds };

/* Atomic: a signal handler has ended a pause within a call of CUDA, where CUPTI may hold a lock: the
 * recorder's thread asks for records then. */
static bool has_to_ask;

/* In a pause no records are made. Callbacks stay: a call that began before the pause has to end. */
static void detach_cuda(bool detached)
{
    SET(has_to_ask, !detached && in.row);
    if (!cupti.cuptiActivityDisable || in.row)
        return;
    int (*const change)(uint32_t) =
        detached ? cupti.cuptiActivityDisable : cupti.cuptiActivityEnable;
    for (unsigned i = 0; i < RECORD_KINDS; i++)
        change(record_kinds[i]);
    if (GET(has_migrations))
        change(CUPTI_MIGRATION);
}

/* Where the program ends within a call of CUDA, in a signal handler, CUPTI may hold a lock: it
 * is not asked any more. */
static void drain_cuda(bool last)
{
    struct rec_point point;
    const bool read = !own_clock && !in.row && rec_told_read(read_cupti_clock, &point);
    if (read && rec_told_begin()) {
        rec_points_add(&points, ns_per_tick, &point);
        pthread_mutex_unlock(&rec_told_lock);
    }
    SET(rec_told_is_last, last);
    if (!in.row) {
        if (GET(has_to_ask))
            detach_cuda(false);
        cupti.cuptiActivityFlushAll(last ? CUPTI_FLUSH_FORCED : 0);
        ask_for_dropped();
    }
    if (last)
        rec_told_end();
    rec_tell_oddities("CUDA", "CUPTI", last);
}

static const struct rec_device_backend backend = {
    .name = "CUDA", .drain = drain_cuda, .detach = detach_cuda};

/* ==== CUPTI =================================================================================== */

static const char *result_text(int result)
{
    const char *text = NULL;
    if (cupti.cuptiGetResultString)
        cupti.cuptiGetResultString(result, &text);
    return text ? text : "it does not say why";
}

#define LOOK_UP(where, library, name)                        \
    do {                                                     \
        void *symbol_ = dlsym(library, #name);               \
        memcpy(&(where).name, &symbol_, sizeof(where).name); \
    } while (0);
#define LOOK_UP_CUPTI(name, declared) LOOK_UP(cupti, library, name)
#define LOOK_UP_CUDA(name, declared)  LOOK_UP(cuda, library, name)
#define IS_MISSING(name, declared) \
    if (!cupti.name)               \
        missing = #name;

/* False: it is too old; that has been said. */
static bool look_up(void *library)
{
    const char *missing = NULL;
    CUPTI_NEEDED(LOOK_UP_CUPTI)
    CUPTI_OPTIONAL(LOOK_UP_CUPTI)
    CUPTI_NEEDED(IS_MISSING)
    if (missing)
        recorder->say("CUDA: libcupti lacks %s: what is done with CUDA is not recorded", missing);
    return !missing;
}

static void look_up_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    library = library ? library : RTLD_DEFAULT;
    CUDA_ASKED(LOOK_UP_CUDA)
}

enum { OLDEST = 12, NEWEST = 13 };

/* Newest versions first, but none that is newer than the driver, or than what is known here. `mode` is that of dlopen;
 * `folder` ends with a slash, or is empty. */
static void *open_version(const char *folder, int newest, int mode)
{
    char path[PATH_MAX];
    for (int version = newest; version >= OLDEST; version--) {
        const int length = snprintf(path, sizeof path, "%slibcupti.so.%d", folder, version);
        void *library = length > 0 && (size_t)length < sizeof path ? dlopen(path, mode) : NULL;
        if (library)
            return library;
    }
    return NULL;
}

static void *open_below(const char *home, int newest)
{
    static const char *const folders[] = {"/extras/CUPTI/lib64/", "/lib64/"};
    char folder[PATH_MAX];
    for (unsigned i = 0; home && *home && i < sizeof folders / sizeof *folders; i++) {
        const int length = snprintf(folder, sizeof folder, "%s%s", home, folders[i]);
        void *library = length > 0 && (size_t)length < sizeof folder
                            ? open_version(folder, newest, RTLD_LAZY | RTLD_LOCAL)
                            : NULL;
        if (library)
            return library;
    }
    return NULL;
}

/* A copy that is there already comes first: two of them collide. `major` is the driver's
 * version; 0: not known. */
static void *open_cupti(int major)
{
    const int newest = major > 0 && major < NEWEST ? major : NEWEST;
    void *found = open_version("", NEWEST, RTLD_LAZY | RTLD_NOLOAD);
    found = found ? found : open_below(getenv("CUDA_HOME"), newest);
    found = found ? found : open_version("", newest, RTLD_LAZY | RTLD_LOCAL);
    return found ? found : open_below("/usr/local/cuda", newest);
}

static void tell_two_copies(void)
{
    void *newer = dlopen("libcupti.so.13", RTLD_LAZY | RTLD_NOLOAD);
    if (newer && dlopen("libcupti.so.12", RTLD_LAZY | RTLD_NOLOAD))
        recorder->say("CUDA: two versions of libcupti are loaded, of which one alone can work: "
                      "what is done with CUDA "
                      "may not be recorded");
}

static int subscribe(cupti_subscriber *ret_subscriber, char *holder)
{
    struct cupti_subscription about = {
        .size = sizeof about, .name = "lull", .old_name = holder, .old_size = CUPTI_OLD_NAME};
    return cupti.cuptiSubscribe_v2
               ? cupti.cuptiSubscribe_v2(ret_subscriber, on_callback, NULL, &about)
               : cupti.cuptiSubscribe(ret_subscriber, on_callback, NULL);
}

/* The clock has to be set before any kind of record is asked for. */
static bool start_clock(void)
{
    struct rec_point point;
    ns_per_tick = recorder->ns_per_tick();
    ticks_per_ns = 1 / ns_per_tick;
    first_ticks = recorder->now();
    own_clock = cupti.cuptiActivityRegisterTimestampCallback &&
                cupti.cuptiActivityRegisterTimestampCallback(own_timestamp) == CUPTI_OK;
    if (own_clock)
        return true;
    if (!rec_told_read(read_cupti_clock, &point))
        return false;
    rec_points_add(&points, ns_per_tick, &point);
    return true;
}

static int start_records(void)
{
    uint8_t yes = 1;
    size_t size = sizeof yes;
    int result = cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (cupti.cuptiActivitySetAttribute)
        cupti.cuptiActivitySetAttribute(CUPTI_ZEROED_BUFFERS, &size, &yes);
    for (unsigned i = 0; result == CUPTI_OK && i < RECORD_KINDS; i++)
        if ((result = cupti.cuptiActivityEnable(record_kinds[i])) != CUPTI_OK &&
            record_kinds[i] != CUPTI_CONCURRENT_KERNEL)
            result = CUPTI_OK; /* of other kinds an old version may know less */
    return result;
}

static void start_callbacks(cupti_subscriber subscriber)
{
    for (unsigned i = 0; i < N_ROWS; i++) {
        rows[i].per_thread = strstr(suffixes[i], "_pts") || strstr(suffixes[i], "_ptd");
        row_of[rows[i].domain][rows[i].id] = &rows[i];
        cupti.cuptiEnableCallback(1, subscriber, rows[i].domain, rows[i].id);
    }
    cupti.cuptiEnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_STREAM_ENDS);
    cupti.cuptiEnableCallback(1, subscriber, CUPTI_RESOURCE, CUPTI_CONTEXT_ENDS);
}

static void start_cupti(void)
{
    cupti_subscriber subscriber = NULL;
    char holder[CUPTI_OLD_NAME + 1] = "";
    int driver = 0;
    look_up_driver();
    if (cuda.cuDriverGetVersion)
        cuda.cuDriverGetVersion(&driver);
    void *library = open_cupti(driver / 1000);
    if (!library) {
        recorder->say("CUDA: %s: what is done with CUDA is not recorded",
                      driver > 0 && driver / 1000 < OLDEST
                          ? "the driver is older than CUDA 12"
                          : "there is no libcupti of CUDA 13 or 12 that can be loaded");
        return;
    }
    if (!look_up(library))
        return;
    tell_two_copies();
    cupti.cuptiGetVersion(&cupti_version);
    if (cupti_version >= CUPTI_VERSION_NOT_KNOWN) {
        recorder->say("CUDA: libcupti is of version %u, which is newer than those that lull knows: "
                      "what is done with CUDA is not recorded",
                      cupti_version);
        return;
    }
    int result = subscribe(&subscriber, holder);
    if (result == CUPTI_TAKEN) {
        recorder->say("CUDA: %s has CUPTI, which one tool alone can have: what is done with CUDA "
                      "is not recorded",
                      *holder ? holder : "another tool");
        return;
    }
    const bool has_clock = result == CUPTI_OK && start_clock();
    if (has_clock)
        result = start_records();
    if (result == CUPTI_OK && has_clock) {
        recorder->attach(&backend);
        start_callbacks(subscriber);
        return;
    }
    if (subscriber)
        cupti.cuptiUnsubscribe(subscriber);
    recorder->say("CUDA: CUPTI cannot be used (%s): what is done with CUDA is not recorded",
                  result == CUPTI_OK ? "its clock cannot be read" : result_text(result));
}

/* The library that the user has named comes first. The driver alone is told of another one. */
static void start_next(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*start)(void) = NULL;
    if (path && strstr(path, "liblull-record-cuda"))
        return;
    void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&start, &symbol, sizeof start);
    if (start)
        start();
    if (recorder && path && *path)
        recorder->say(start ? "CUDA: %s, which CUDA_INJECTION64_PATH names, is loaded first"
                            : "CUDA: %s, which CUDA_INJECTION64_PATH names, cannot be loaded",
                      path);
}

REC_EXPORT int InitializeInjection(void);

/* Called by the driver, once. */
int InitializeInjection(void)
{
    static bool begun;
    if (__atomic_test_and_set(&begun, __ATOMIC_RELAXED))
        return 1;
    recorder = rec_device_find("CUDA");
    start_next();
    if (recorder)
        start_cupti();
    return 1;
}
