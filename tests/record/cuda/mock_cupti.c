/* libcupti of the mock: see mock.h. MOCK_VERSION, 12 or 13, says whose layouts its records have; with MOCK_OLD it lacks
 * functions that later versions have. */
#include "mock.h"
#include "sizes.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define EXPORT           __attribute__((visibility("default")))
#define IS(flag)         __atomic_load_n(&(flag), __ATOMIC_RELAXED)
#define SET(flag, value) __atomic_store_n(&(flag), (value), __ATOMIC_RELAXED)

enum {
    OK = 0,
    INVALID_PARAMETER = 1,
    MAX_LIMIT = 12,
    NOT_SUPPORTED = 27,
    MULTIPLE_SUBSCRIBERS = 39,
    UNKNOWN = 999,
    FORCED = 1,
    MOST_IDS = 1024,
    MOST_RECORDS = 1 << 14
};
typedef void callback(void *user, unsigned domain, uint32_t id, const void *data);
typedef void request_function(uint8_t **buffer, size_t *size, size_t *most);
typedef void complete_function(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid);

/* CUpti_CallbackData */
struct callback_data {
    int site;
    const char *function;
    const void *arguments;
    void *value;
    const char *symbol;
    context_t context;
    uint32_t context_id;
    uint64_t *shared;
    uint32_t correlation;
};

/* CUpti_SubscriberParams */
struct subscription {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_size;
};

struct buffer {
    struct buffer *next;
    uint8_t *bytes;
    size_t size, used;
    uint64_t ends;    /* ns: when all of its operations have ended */
    const char *name; /* of its kernels, where they have one */
    unsigned n, most;
    struct noted {
        long number;
        size_t at;    /* of the record's start */
        uint64_t end; /* ns */
        bool lost;
    } records[MOST_RECORDS];
};

static struct hooks *hooks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t handing =
    PTHREAD_MUTEX_INITIALIZER; /* one buffer is handed over at a time, except on exit */
static callback *subscriber;
static void *user_data;
static bool enabled[4][MOST_IDS];
static bool kinds[64], migrations[16]; /* atomic */
static request_function *request;
static complete_function *complete;
static uint64_t (*own_clock)(void);
static struct buffer *filling, *waiting;
static size_t n_dropped;
static unsigned n_on_the_way; /* buffers that are being handed over */
static long n_ever;           /* atomic */
static bool (*is)(const char *word);
static uint64_t (*random_below)(uint64_t below);
static void (*tell)(const char *format, ...);
static void (*flush_truth)(void);
static void (*ids_of)(context_t, stream_t, bool, uint32_t *, uint32_t *, uint32_t *);
static bool worker_runs, kill_form, is_shuffle, is_small, is_worker, is_drops, is_odd_times,
    is_late, is_step, is_swap, is_eager, is_silent, is_starved, is_busy_end, is_reuse, is_overhead;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t now(void)
{
    struct timespec time;
    if (own_clock)
        return own_clock();
    clock_gettime(CLOCK_REALTIME, &time);
    const uint64_t ahead =
        is_step && __atomic_load_n(&n_ever, __ATOMIC_RELAXED) > 10 ? 3600000000000 : 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec + ahead;
}

/* ---- handing over ---------------------------------------------------------------------------- */

static char only_name[256];

/* Without the lock. */
static void hand_over(struct buffer *buffer, bool forced)
{
    const uint64_t then = now();
    for (unsigned i = 0; forced && i < buffer->n; i++)
        if (buffer->records[i].end > then && buffer->records[i].number > 0) {
            memset(buffer->bytes + buffer->records[i].at + 16, 0,
                   16); /* start and end of any kind */
            buffer->records[i].lost = true;
        }
    pthread_mutex_lock(&handing);
    if (kill_form)
        flush_truth();
    if (buffer->name)
        snprintf(only_name, sizeof only_name, "%s", buffer->name);
    complete(NULL, 0, buffer->bytes, buffer->size, buffer->used);
    for (unsigned i = 0; i < buffer->n; i++)
        if (buffer->records[i].number > 0)
            tell(buffer->records[i].lost ? "lost %ld\n" : "delivered %ld\n",
                 buffer->records[i].number);
    if (kill_form)
        flush_truth();
    pthread_mutex_unlock(&handing);
    free(buffer);
}

/* With the lock held: takes a buffer whose operations have ended out of those that wait; with `forced` any. */
static struct buffer *take(bool forced)
{
    const uint64_t then = now();
    unsigned ready = 0;
    for (struct buffer *one = waiting; one; one = one->next)
        ready += forced || one->ends <= then;
    if (ready == 0)
        return NULL;
    uint64_t which = is_shuffle ? random_below(ready) : 0;
    struct buffer **place = &waiting;
    for (;; place = &(*place)->next) {
        if (!forced && (*place)->ends > then)
            continue;
        if (which-- == 0)
            break;
    }
    struct buffer *taken = *place;
    *place = taken->next;
    n_on_the_way++;
    return taken;
}

/* With the lock held. */
static void end_filling(void)
{
    struct buffer **place = &waiting;
    if (!filling)
        return;
    while (*place)
        place = &(*place)->next;
    *place = filling;
    filling->next = NULL;
    filling = NULL;
}

static void hand_over_all(bool forced)
{
    struct buffer *taken;
    pthread_mutex_lock(&lock);
    while ((taken = take(forced))) {
        pthread_mutex_unlock(&lock);
        hand_over(taken, forced);
        pthread_mutex_lock(&lock);
        n_on_the_way--;
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "mock worker");
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 500000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_mutex_lock(&lock);
        pthread_cond_timedwait(&wake, &lock, &until);
        pthread_mutex_unlock(&lock);
        hand_over_all(false);
    }
    return NULL;
}

static void start_worker(void)
{
    pthread_t thread;
    if (!worker_runs && pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_detach(thread);
    worker_runs = true;
}

/* What CUPTI would hand over after all others have ended. */
__attribute__((destructor)) static void end(void)
{
    if (!is_late || !complete)
        return;
    pthread_mutex_lock(&lock);
    end_filling();
    pthread_mutex_unlock(&lock);
    struct buffer *taken;
    while ((taken = take(true)))
        complete(NULL, 0, taken->bytes, taken->size, taken->used);
}

/* ---- records --------------------------------------------------------------------------------- */

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Of what nobody said that it would be anything. */
static size_t put_record(uint8_t *at, const struct operation *one, bool timed, uint64_t shift)
{
    const size_t size = one->kind == KERNEL        ? KERNEL_SIZE
                        : one->kind == MEMCPY      ? MEMCPY_SIZE
                        : one->kind == MIGRATION   ? MIGRATION_SIZE
                        : one->kind == MEMCPY_PEER ? PEER_SIZE
                                                   : MEMSET_SIZE;
    const unsigned ids = one->kind == KERNEL ? 40 : 32; /* device, context, stream */
    memset(at, 0xa5, size);
    put32(at, one->kind);
    put64(at + 16, timed ? one->begin + shift : 0);
    put64(at + 24, timed ? one->end + shift : 0);
    if (one->kind == MIGRATION) {
        put32(at + 4, one->direction);
        put64(at + 8, one->bytes);
        put32(at + 40, one->direction == 2 ? one->device : UINT32_MAX);
        put32(at + 44, one->direction == 2 ? UINT32_MAX : one->device);
        return size;
    }
    put32(at + ids, one->device);
    put32(at + ids + 4, one->context);
    put32(at + ids + 8, one->stream);
    if (one->kind == KERNEL) {
        put32(at + 92, one->correlation);
        const char *name = is_reuse ? only_name : one->name;
        memcpy(at + 104, &name, sizeof name);
        return size;
    }
    put64(at + 8, one->bytes);
    if (one->kind != MEMSET)
        at[4] = (uint8_t)one->direction;
    put32(at + (one->kind == MEMCPY_PEER ? 60 : 44), one->correlation);
    if (one->kind == MEMCPY)
        put32(at + 48, one->runtime_correlation);
    return size;
}

/* Buffers that are asked for and not used, until nobody gives any more. */
enum { MOST_HOARDED = 300 };
static uint8_t *hoarded[MOST_HOARDED];
static unsigned n_hoarded;

/* With the lock held: once, when some operations have been told. */
static void hoard(void)
{
    static bool has_hoarded;
    uint8_t *bytes = NULL;
    size_t size, most;
    if (!is_starved || has_hoarded || __atomic_load_n(&n_ever, __ATOMIC_RELAXED) < 10)
        return;
    for (has_hoarded = true; n_hoarded < MOST_HOARDED; hoarded[n_hoarded++] = bytes) {
        request(&bytes, &size, &most);
        if (!bytes)
            return;
    }
}

/* Without the lock. */
static void give_hoarded_back(void)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        uint8_t *bytes = n_hoarded > 0 ? hoarded[--n_hoarded] : NULL;
        pthread_mutex_unlock(&lock);
        if (!bytes)
            return;
        complete(NULL, 0, bytes, 0, 0);
    }
}

/* With the lock held. */
static struct buffer *space(size_t size)
{
    if (filling && (filling->used + size > filling->size || filling->n == filling->most ||
                    filling->n == MOST_RECORDS))
        end_filling();
    if (filling)
        return filling;
    struct buffer *buffer = malloc(sizeof *buffer);
    size_t most = 0;
    *buffer = (struct buffer){.n = 0};
    hoard();
    request(&buffer->bytes, &buffer->size, &most);
    if (!buffer->bytes || buffer->size < size) {
        free(buffer);
        return NULL;
    }
    for (size_t i = 0; i < buffer->size && is_small; i++)
        assert(buffer->bytes[i] == 0); /* it was said to be */
    buffer->most = is_small ? 3 + (unsigned)random_below(30) : MOST_RECORDS;
    return filling = buffer;
}

static void add_overhead(struct buffer *buffer)
{
    uint8_t *at = buffer->bytes + buffer->used;
    memset(at, 0, OVERHEAD_SIZE);
    const uint32_t what = (uint32_t)(random_below(8) + 1);
    const uint64_t length = is_overhead ? 100000000000 : random_below(100);
    put32(at, OVERHEAD);
    put32(at + 4, what << 16);
    put64(at + 24, 1000);
    put64(at + 32, 1000 + length);
    tell("overhead %u %llu\n", what, (unsigned long long)length);
    buffer->records[buffer->n++] = (struct noted){.at = buffer->used};
    buffer->used += OVERHEAD_SIZE;
}

static void put_operation(const struct operation *one)
{
    const uint64_t odd = is_odd_times ? random_below(20) : 99;
    if (!IS(kinds[one->kind]) || !request ||
        (one->kind == MIGRATION && !IS(migrations[one->direction]))) {
        tell("untold %ld\n", one->number);
        return;
    }
    pthread_mutex_lock(&lock);
    __atomic_add_fetch(&n_ever, 1, __ATOMIC_RELAXED);
    const char *only = is_reuse && one->kind == KERNEL ? one->name : NULL;
    if (only && filling && filling->name && strcmp(filling->name, only) != 0)
        end_filling();
    struct buffer *buffer = is_drops && random_below(10) == 0 ? NULL : space(KERNEL_SIZE);
    if (!buffer) {
        n_dropped++;
        tell("dropped %ld\n", one->number);
        pthread_mutex_unlock(&lock);
        return;
    }
    buffer->name = only ? only : buffer->name;
    const uint64_t hour = 3600000000000;
    const uint64_t shift = odd == 1 ? hour : odd == 2 ? -hour : 0;
    buffer->records[buffer->n++] = (struct noted){one->number, buffer->used, one->end, odd <= 2};
    buffer->used += put_record(buffer->bytes + buffer->used, one, odd != 0, shift);
    buffer->ends = one->end > buffer->ends ? one->end : buffer->ends;
    if (IS(kinds[OVERHEAD]) && buffer->n + 1 < buffer->most &&
        buffer->used + OVERHEAD_SIZE < buffer->size && random_below(is_overhead ? 2 : 16) == 0)
        add_overhead(buffer);
    if (buffer->n >= buffer->most) {
        end_filling();
        pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&lock);
}

/* The record is handed over by the calling thread, within the call that has submitted the operation. */
static void hand_over_at_once(const struct operation *one)
{
    while (now() < one->end)
        ;
    pthread_mutex_lock(&lock);
    end_filling();
    pthread_mutex_unlock(&lock);
    hand_over_all(false);
}

/* With swapped records every second operation is told before the one before it. */
static void add_operation(const struct operation *one)
{
    static struct operation held;
    if (is_swap && held.number == 0) {
        held = *one;
        return;
    }
    put_operation(one);
    if (is_eager)
        hand_over_at_once(one);
    if (is_swap)
        put_operation(&held);
    held.number = 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void tell_call(unsigned domain, unsigned id, unsigned site, const char *function,
                      const void *arguments, int *value, context_t context, uint32_t context_id,
                      uint64_t *shared, uint32_t correlation)
{
    const struct callback_data data = {(int)site, function,   arguments, value,      NULL,
                                       context,   context_id, shared,    correlation};
    if (subscriber && id < MOST_IDS && enabled[domain][id])
        subscriber(user_data, domain, id, &data);
}

/* When a context has ended, what was not handed over is lost. */
static void tell_resource(unsigned id)
{
    enum { CONTEXT_ENDS = 2 };
    const void *nothing[3] = {NULL};
    if (subscriber && enabled[RESOURCE][id])
        subscriber(user_data, RESOURCE, id, nothing);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; id == CONTEXT_ENDS && filling && i < filling->n; i++)
        tell("dropped %ld\n", filling->records[i].number);
    if (id == CONTEXT_ENDS && filling)
        filling->n = 0, filling->used = 0;
    pthread_mutex_unlock(&lock);
}

static bool attached(void)
{
    return IS(kinds[KERNEL]) || IS(kinds[MIGRATION]);
}

/* ---- CUPTI's interface ----------------------------------------------------------------------- */

static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

static void *of_driver(const char *name)
{
    return dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), name);
}

static void connect(void)
{
    *(void **)&is = of_driver("mock_is");
    *(void **)&random_below = of_driver("mock_random");
    *(void **)&tell = of_driver("mock_tell");
    *(void **)&flush_truth = of_driver("mock_flush_truth");
    *(void **)&ids_of = of_driver("mock_ids");
    hooks = of_driver("mock_hooks");
    hooks->call = tell_call;
    hooks->operation = add_operation;
    hooks->resource = tell_resource;
    hooks->now = now;
    hooks->attached = attached;
    pthread_atfork(hold, release, release);
    kill_form = is("killed");
    is_shuffle = is("shuffle");
    is_small = is("small");
    is_worker = is("worker");
    is_drops = is("drops");
    is_odd_times = is("odd-times");
    is_late = is("late");
    is_silent = is("silent");
    is_step = is("step");
    is_swap = is("swap");
    is_eager = is("eager");
    is_starved = is("starved");
    is_busy_end = is("busy-end");
    is_reuse = is("reuse");
    is_overhead = is("overhead");
}

EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiGetVersion(uint32_t *version)
{
    bool (*says)(const char *word); /* nobody has subscribed yet */
    *(void **)&says = of_driver("mock_is");
    *version = MOCK_VERSION == 12 ? 24 : says("unknown") ? 140000 : 130001;
    return OK;
}

EXPORT int cuptiGetTimestamp(uint64_t *ns);
EXPORT int cuptiGetTimestamp(uint64_t *ns)
{
    *ns = now();
    return OK;
}

EXPORT int cuptiGetResultString(int value, const char **text);
EXPORT int cuptiGetResultString(int value, const char **text)
{
    *text = value == UNKNOWN ? "CUPTI_ERROR_UNKNOWN" : "another error";
    return OK;
}

EXPORT int cuptiSubscribe(void **handle, callback *function, void *user);
EXPORT int cuptiSubscribe(void **handle, callback *function, void *user)
{
    connect();
    if (is("taken") || is("taken-v1"))
        return MULTIPLE_SUBSCRIBERS;
    if (is("refuses"))
        return UNKNOWN;
    subscriber = function;
    user_data = user;
    *handle = &subscriber;
    return OK;
}

#if MOCK_VERSION > 12
EXPORT int cuptiSubscribe_v2(void **handle, callback *function, void *user,
                             struct subscription *about);
EXPORT int cuptiSubscribe_v2(void **handle, callback *function, void *user,
                             struct subscription *about)
{
    if (about && about->size != sizeof *about)
        return INVALID_PARAMETER;
    const int value = cuptiSubscribe(handle, function, user);
    if (value == MULTIPLE_SUBSCRIBERS && about && about->old_name && about->old_size >= 64)
        snprintf(about->old_name, about->old_size, "CUPTI for another profiler");
    return value;
}
#endif

EXPORT int cuptiUnsubscribe(void *handle);
EXPORT int cuptiUnsubscribe(void *handle)
{
    if (handle != &subscriber)
        return INVALID_PARAMETER;
    subscriber = NULL;
    return OK;
}

EXPORT int cuptiEnableCallback(uint32_t enable, void *handle, unsigned domain, uint32_t id);
EXPORT int cuptiEnableCallback(uint32_t enable, void *handle, unsigned domain, uint32_t id)
{
    if (handle != &subscriber || domain > RESOURCE || id >= MOST_IDS)
        return INVALID_PARAMETER;
    enabled[domain][id] = enable;
    return OK;
}

EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*function)(void));
EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*function)(void))
{
    for (unsigned i = 0; i < 64; i++)
        assert(!IS(kinds[i]));
    if (is("no-clock") || is_step)
        return NOT_SUPPORTED;
    own_clock = function;
    return OK;
}

EXPORT int cuptiActivityRegisterCallbacks(request_function *requested,
                                          complete_function *completed);
EXPORT int cuptiActivityRegisterCallbacks(request_function *requested, complete_function *completed)
{
    request = requested;
    complete = completed;
    return OK;
}

EXPORT int cuptiActivityEnable(unsigned kind);
EXPORT int cuptiActivityEnable(unsigned kind)
{
    if (kind >= 64)
        return INVALID_PARAMETER;
    SET(kinds[kind], true);
    start_worker();
    return OK;
}

EXPORT int cuptiActivityDisable(unsigned kind);
EXPORT int cuptiActivityDisable(unsigned kind)
{
    SET(kinds[kind % 64], false);
    return OK;
}

EXPORT int cuptiActivitySetAttribute(unsigned attribute, size_t *size, void *value);
EXPORT int cuptiActivitySetAttribute(unsigned attribute, size_t *size, void *value)
{
    return attribute == 5 && *size == 1 && *(uint8_t *)value == 1 ? OK : INVALID_PARAMETER;
}

EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t (*wishes)[4], uint32_t n);
EXPORT int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t (*wishes)[4], uint32_t n)
{
    if (is("no-managed"))
        return NOT_SUPPORTED;
    for (uint32_t i = 0; i < n; i++)
        if (wishes[i][0] != 2 || (wishes[i][1] == 8 && is("old-managed")))
            return INVALID_PARAMETER;
    for (uint32_t i = 0; i < n; i++)
        SET(migrations[wishes[i][1] % 16], wishes[i][3] != 0);
    SET(migrations[4], true); /* page faults, which nobody has asked for */
    return OK;
}

static int64_t own_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void compute(int64_t ns)
{
    const int64_t end = own_ns() + ns;
    while (own_ns() < end)
        continue;
}

EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
    const bool forced = (flag & FORCED) != 0;
    if (is_late && forced)
        return OK;
    while (is_silent && forced)
        pause();
    if (is_busy_end && forced)
        compute(4000000000);
    pthread_mutex_lock(&lock);
    end_filling();
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    give_hoarded_back();
    if (!is_worker)
        hand_over_all(forced);
    for (bool waits = true; waits;) { /* also for what another thread hands over */
        const struct timespec turn = {.tv_nsec = 100000};
        const uint64_t then = now();
        pthread_mutex_lock(&lock);
        waits = n_on_the_way > 0;
        for (const struct buffer *one = waiting; one && is_worker; one = one->next)
            waits = waits || forced || one->ends <= then;
        pthread_mutex_unlock(&lock);
        if (waits)
            nanosleep(&turn, NULL);
    }
    return OK;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *at = *record ? *record : buffer;
    uint32_t kind;
    if (*record) {
        memcpy(&kind, at, sizeof kind);
        at += kind == KERNEL        ? (size_t)KERNEL_SIZE
              : kind == MEMCPY      ? (size_t)MEMCPY_SIZE
              : kind == MEMCPY_PEER ? (size_t)PEER_SIZE
              : kind == MEMSET      ? (size_t)MEMSET_SIZE
              : kind == MIGRATION   ? (size_t)MIGRATION_SIZE
                                    : (size_t)OVERHEAD_SIZE;
    }
    if (at >= buffer + valid)
        return MAX_LIMIT;
    *record = at;
    return OK;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
    (void)context;
    (void)stream;
    pthread_mutex_lock(&lock); /* which is also held where a buffer is asked for */
    *n = n_dropped;
    n_dropped = 0;
    pthread_mutex_unlock(&lock);
    return OK;
}

EXPORT int cuptiGetContextId(context_t context, uint32_t *id);
EXPORT int cuptiGetContextId(context_t context, uint32_t *id)
{
    uint32_t device, stream;
    ids_of(context, NULL, false, &device, id, &stream);
    return OK;
}

EXPORT int cuptiGetDeviceId(context_t context, uint32_t *id);
EXPORT int cuptiGetDeviceId(context_t context, uint32_t *id)
{
    uint32_t context_id, stream;
    ids_of(context, NULL, false, id, &context_id, &stream);
    return OK;
}

#ifndef MOCK_OLD
EXPORT int cuptiGetStreamIdEx(context_t context, stream_t stream, uint8_t per_thread, uint32_t *id);
EXPORT int cuptiGetStreamIdEx(context_t context, stream_t stream, uint8_t per_thread, uint32_t *id)
{
    uint32_t device, context_id;
    ids_of(context, stream, per_thread, &device, &context_id, id);
    return OK;
}
#endif
