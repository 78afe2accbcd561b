/* SPDX-License-Identifier: BSD-3-Clause */
/* The back-end for NCCL: a profiler plug-in, which NCCL loads where NCCL_PROFILER_PLUGIN names it, and of
 * which it takes the newest version of the interface that both know.
 *
 * A communicator is a device, and each of its ranks has a stream there: so what belongs together on all
 * ranks is in all processes on the device of the same key, the communicator's id, and has the same region
 * and sequence number. NCCL counts sequence numbers for each communicator and function.
 *
 * NCCL tells that an operation was submitted, and then, by its own thread, when the device began and ended
 * its part of each channel; where the interface tells these times by the device's clock (from version 4 on),
 * the length of an operation is that between the first begin and the last end, and its end is when NCCL's
 * thread saw the last one. How late that is, nobody tells: the error of the clock is not known. */
#include "record/device/nccl/plugin.h"

#include "record/device/device.h"
#include "record/site/site.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COMMUNICATORS = 1024, MOST_EXCHANGES = 8192, MOST_CHANNELS = 65536, NOT_KNOWN = 0 };

static const struct rec_device_interface *recorder;
static pthread_mutex_t nccl_lock = PTHREAD_MUTEX_INITIALIZER;

/* ==== functions =============================================================================== */

#define FUNCTION(which)                                                                       \
    {                                                                                         \
        .name = which, .role = LULL_TAPE_ROLE_FUNCTION, .paradigm = LULL_TAPE_PARADIGM_DEVICE \
    }
static struct rec_wait_function functions[] = {
    FUNCTION("ncclAllReduce"), FUNCTION("ncclBroadcast"),     FUNCTION("ncclReduce"),
    FUNCTION("ncclAllGather"), FUNCTION("ncclReduceScatter"), FUNCTION("ncclAlltoAll"),
    FUNCTION("ncclGather"),    FUNCTION("ncclScatter"),       FUNCTION("ncclSend"),
    FUNCTION("ncclRecv"),      FUNCTION("ncclSendRecv"),      FUNCTION("another function of NCCL")};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static unsigned function_of(const char *name)
{
    unsigned f = 0;
    while (f < FUNCTIONS - 1 && (!name || strcmp(functions[f].name + strlen("nccl"), name) != 0))
        f++;
    return f;
}

/* NCCL calls ncclUint8 "Unknown". */
static uint64_t bytes_of(const char *type)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"ncclInt8", 1},       {"ncclInt32", 4},     {"ncclUint32", 4},
                 {"ncclInt64", 8},      {"ncclUint64", 8},    {"ncclFloat16", 2},
                 {"ncclFloat32", 4},    {"ncclFloat64", 8},   {"ncclBfloat16", 2},
                 {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            return types[i].bytes;
    return NOT_KNOWN;
}

/* ==== communicators =========================================================================== */

static struct communicator {
    uint64_t id;
    int ranks, rank; /* ranks 0: version 3 does not tell */
    bool taken;
    struct rec_stream *stream;       /* NULL: it cannot be recorded, or nothing was submitted yet */
} communicators[MOST_COMMUNICATORS]; /* with the lock held */

static void drain_nccl(bool last);
static const struct rec_device_backend backend = {.name = "NCCL", .drain = drain_nccl};

/* NULL: there are too many. */
static struct communicator *take_communicator(uint64_t id, int ranks, int rank)
{
    struct communicator *found = NULL;
    pthread_mutex_lock(&nccl_lock);
    for (unsigned i = 0; i < MOST_COMMUNICATORS && !found; i++)
        if (!communicators[i].taken)
            found = &communicators[i];
    if (found)
        *found = (struct communicator){.id = id, .ranks = ranks, .rank = rank, .taken = true};
    pthread_mutex_unlock(&nccl_lock);
    return found;
}

/* With the lock held. A communicator of version 3 is known with its first operation. */
static struct rec_stream *stream_of(struct communicator *communicator, uint64_t id, int rank)
{
    static bool attached;
    struct lull_tape_stream what = {.runtime = "NCCL"};
    char name[32];
    if (communicator->stream)
        return communicator->stream;
    communicator->id = communicator->id ? communicator->id : id;
    communicator->rank = communicator->ranks ? communicator->rank : rank;
    snprintf(what.key, sizeof what.key, "nccl:%016llx", (unsigned long long)communicator->id);
    if (communicator->ranks)
        snprintf(what.device, sizeof what.device, "communicator %llx of %d ranks",
                 (unsigned long long)communicator->id, communicator->ranks);
    else
        snprintf(what.device, sizeof what.device, "communicator %llx",
                 (unsigned long long)communicator->id);
    what.clock_error = -1;
    snprintf(name, sizeof name, "rank %d", communicator->rank);
    if (!attached)
        recorder->attach(&backend);
    attached = true;
    return communicator->stream = recorder->stream(&what, name);
}

/* ==== operations that have not ended ========================================================== */

/* What NCCL gets for an event stands for its place in one of two tables and for how often that place has
 * been used: a number that NCCL brings back too late finds nothing. */

struct place {
    uint32_t uses;
    bool taken;
};

static struct exchange {
    struct place place;
    struct rec_stream *stream;
    struct rec_operation operation;
    uint64_t submitted;                 /* ticks */
    uint64_t first, last;               /* ticks: NCCL's thread saw the first begin, the last end */
    uint64_t device_first, device_last; /* ns of the device's clock; 0: not told */
    unsigned channels;                  /* that it has; 0: not told */
    unsigned begun, ended;              /* channels */
    bool enqueued;
} exchanges[MOST_EXCHANGES]; /* with the lock held */

static struct channel {
    struct place place;
    void *exchange;
    bool has_end;
    uint64_t begin, end;   /* ns of the device's clock; 0: not told */
} channels[MOST_CHANNELS]; /* with the lock held */

enum { IS_CHANNEL = 1, PLACE_BITS = 17 };

static void *handle_of(const struct place *place, size_t index, unsigned table)
{
    return (void *)(((uintptr_t)place->uses << PLACE_BITS | index) << 1 | table);
}

static size_t index_of(const void *handle)
{
    return (uintptr_t)handle >> 1 & ((1U << PLACE_BITS) - 1);
}

static bool is_of(const struct place *place, const void *handle)
{
    return place->taken && place->uses == (uint32_t)((uintptr_t)handle >> (PLACE_BITS + 1));
}

static struct exchange *find_exchange(const void *handle)
{
    const size_t index = index_of(handle);
    if (!handle || ((uintptr_t)handle & IS_CHANNEL) || index >= MOST_EXCHANGES ||
        !is_of(&exchanges[index].place, handle))
        return NULL;
    return &exchanges[index];
}

static struct channel *find_channel(const void *handle)
{
    const size_t index = index_of(handle);
    if (!((uintptr_t)handle & IS_CHANNEL) || index >= MOST_CHANNELS ||
        !is_of(&channels[index].place, handle))
        return NULL;
    return &channels[index];
}

/* The next free place behind the one that was taken last. */
static size_t take_place(struct place *(*at)(size_t), size_t count, size_t *last)
{
    for (size_t i = 0; i < count; i++) {
        *last = (*last + 1) % count;
        struct place *place = at(*last);
        if (place->taken)
            continue;
        place->taken = true;
        place->uses = (place->uses + 1) & 0x7fffffff;
        place->uses += place->uses == 0;
        return *last;
    }
    return SIZE_MAX;
}

static struct place *exchange_place(size_t index)
{
    return &exchanges[index].place;
}

static struct place *channel_place(size_t index)
{
    return &channels[index].place;
}

/* With the lock held: the operation is over, or nothing more will be known of it. */
static void finish(struct exchange *exchange, bool known)
{
    struct rec_operation *operation = &exchange->operation;
    operation->begin = exchange->first;
    operation->end = exchange->last;
    if (exchange->device_first > 0 && exchange->device_last >= exchange->device_first) {
        const double ns = (double)(exchange->device_last - exchange->device_first);
        const uint64_t length = (uint64_t)(ns / recorder->ns_per_tick());
        operation->begin = operation->end > length ? operation->end - length : 0;
    }
    if (operation->begin < exchange->submitted)
        operation->begin = exchange->submitted;
    if (operation->end < operation->begin)
        operation->end = operation->begin;
    if (!known)
        operation->region = 0;
    recorder->finish(exchange->stream, operation);
    exchange->place.taken = false;
}

/* With the lock held. Where it is not told how many channels there are, all that have begun must have
 * ended. */
static void finish_if_over(struct exchange *exchange)
{
    if (exchange->enqueued && exchange->ended > 0 && exchange->ended == exchange->begun &&
        exchange->ended >= exchange->channels)
        finish(exchange, true);
}

static void drain_nccl(bool last)
{
    if (!last || !recorder->lock_at_end(&nccl_lock))
        return;
    for (size_t i = 0; i < MOST_EXCHANGES; i++)
        if (exchanges[i].place.taken)
            finish(&exchanges[i], false);
    pthread_mutex_unlock(&nccl_lock);
}

/* ==== what NCCL tells ========================================================================= */

/* An operation, whatever the version of the interface. */
struct told {
    uint64_t communicator, sequence;
    const char *function, *algorithm, *protocol; /* the last two NULL: point to point */
    uint64_t bytes;
    int rank, peer;
    unsigned channels;
};

static uint32_t region_of(unsigned function, const struct told *told)
{
    char name[128];
    if (!told->algorithm || !told->protocol)
        return recorder->region(REC_DEVICE_EXCHANGE, functions[function].name);
    snprintf(name, sizeof name, "%s %s %s", functions[function].name, told->algorithm,
             told->protocol);
    return recorder->region(REC_DEVICE_EXCHANGE, name);
}

/* With the lock held. NULL: it cannot be recorded, or there are too many that have not ended. */
static void *keep_exchange(struct communicator *communicator, const struct told *told,
                           struct rec_wait *call, unsigned function)
{
    static size_t last;
    struct rec_stream *stream = stream_of(communicator, told->communicator, told->rank);
    struct rec_operation operation = {.bytes = told->bytes,
                                      .region = region_of(function, told),
                                      .is_exchange = true,
                                      .sequence = told->sequence,
                                      .peer = told->peer};
    if (!stream)
        return NULL;
    recorder->submit(call, stream, &operation);
    const size_t index = take_place(exchange_place, MOST_EXCHANGES, &last);
    if (index == SIZE_MAX) {
        operation.region = 0;
        recorder->finish(stream, &operation);
        return NULL;
    }
    struct exchange *exchange = &exchanges[index];
    *exchange = (struct exchange){.place = exchange->place,
                                  .stream = stream,
                                  .operation = operation,
                                  .submitted = recorder->now(),
                                  .channels = told->channels};
    return handle_of(&exchange->place, index, 0);
}

/* The program's call has got as far as this: how long it takes is not told, and it is recorded as a moment. */
static void *start_exchange(struct communicator *communicator, const struct told *told,
                            const void *from, const void *frame)
{
    struct rec_wait call;
    const unsigned function = function_of(told->function);
    const struct rec_wait_place place = {REC_DEVICE_SITES + 0x400 + function, from, frame};
    if (!communicator || !recorder->is_on() ||
        !recorder->begin(&call, &functions[function], &place))
        return NULL;
    recorder->end(&call);
    pthread_mutex_lock(&nccl_lock);
    void *handle = keep_exchange(communicator, told, &call, function);
    pthread_mutex_unlock(&nccl_lock);
    recorder->leave(&call);
    return handle;
}

static void *start_channel(void *parent, uint64_t time)
{
    static size_t last;
    void *handle = NULL;
    const uint64_t now = recorder->now();
    pthread_mutex_lock(&nccl_lock);
    struct exchange *exchange = find_exchange(parent);
    const size_t index = exchange ? take_place(channel_place, MOST_CHANNELS, &last) : SIZE_MAX;
    if (index != SIZE_MAX) {
        struct channel *channel = &channels[index];
        *channel = (struct channel){.place = channel->place, .exchange = parent, .begin = time};
        handle = handle_of(&channel->place, index, IS_CHANNEL);
        if (exchange->begun++ == 0)
            exchange->first = now;
    }
    pthread_mutex_unlock(&nccl_lock);
    return handle;
}

/* With the lock held. */
static void stop_channel(struct channel *channel, uint64_t now)
{
    struct exchange *exchange = find_exchange(channel->exchange);
    channel->place.taken = false;
    if (!exchange)
        return;
    exchange->last = now;
    exchange->ended++;
    if (channel->begin > 0 && channel->end >= channel->begin) {
        if (exchange->device_first == 0 || channel->begin < exchange->device_first)
            exchange->device_first = channel->begin;
        if (channel->end > exchange->device_last)
            exchange->device_last = channel->end;
    }
    finish_if_over(exchange);
}

static int stop_event(void *event)
{
    if (!event || !recorder)
        return NCCL_SUCCESS;
    const uint64_t now = recorder->now();
    pthread_mutex_lock(&nccl_lock);
    struct channel *channel = find_channel(event);
    struct exchange *exchange = find_exchange(event);
    if (channel)
        stop_channel(channel, now);
    if (exchange) {
        exchange->enqueued = true;
        finish_if_over(exchange);
    }
    pthread_mutex_unlock(&nccl_lock);
    return NCCL_SUCCESS;
}

/* From version 4 on. */
static int change_state(void *event, int state, union nccl_state *what)
{
    if (!event || !recorder || state != NCCL_KERNEL_CHANNEL_STOP || !what)
        return NCCL_SUCCESS;
    pthread_mutex_lock(&nccl_lock);
    struct channel *channel = find_channel(event);
    if (channel)
        channel->end = what->kernel_channel.time;
    pthread_mutex_unlock(&nccl_lock);
    return NCCL_SUCCESS;
}

static int ignore_state(void *event, int state, union nccl_state *what)
{
    (void)event, (void)state, (void)what;
    return NCCL_SUCCESS;
}

static int finalize(void *context)
{
    struct communicator *communicator = context;
    if (!communicator)
        return NCCL_SUCCESS;
    pthread_mutex_lock(&nccl_lock);
    communicator->taken = false; /* its stream stays */
    pthread_mutex_unlock(&nccl_lock);
    return NCCL_SUCCESS;
}

/* ==== versions ================================================================================ */

/* Where nothing is recorded NCCL is asked for no events. */
static int begin_communicator(void **context, int *kinds, uint64_t id, int ranks, int rank)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!recorder)
        recorder = rec_device_find("NCCL");
    pthread_mutex_unlock(&lock);
    *context = recorder ? take_communicator(id, ranks, rank) : NULL;
    *kinds = *context ? NCCL_COLLECTIVE | NCCL_POINT_TO_POINT | NCCL_KERNEL_CHANNEL : 0;
    return NCCL_SUCCESS;
}

static int init_3(void **context, int *kinds)
{
    return begin_communicator(context, kinds, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN);
}

static int init_4(void **context, int *kinds, const char *name, uint64_t communicator, int nodes,
                  int ranks, int rank, void (*log)(void))
{
    (void)name, (void)nodes, (void)log;
    return begin_communicator(context, kinds, communicator, ranks, rank);
}

static int init_5(void **context, uint64_t communicator, int *kinds, const char *name, int nodes,
                  int ranks, int rank, void (*log)(void))
{
    (void)name, (void)nodes, (void)log;
    return begin_communicator(context, kinds, communicator, ranks, rank);
}

static int start_3(void *context, void **event, struct nccl_event_3 *what)
{
    *event = NULL;
    if (!context || !recorder)
        return NCCL_SUCCESS;
    const struct nccl_collective_3 *c = &what->collective;
    const struct nccl_point_to_point_3 *p = &what->point_to_point;
    struct told told = {.rank = what->rank, .sequence = REC_NO_SEQUENCE};
    switch (what->kind) {
    case NCCL_COLLECTIVE: /* `most_channels` is no more than a bound */
        told = (struct told){.communicator = c->communicator,
                             .sequence = c->sequence,
                             .function = c->function,
                             .algorithm = c->algorithm,
                             .protocol = c->protocol,
                             .bytes = c->count * bytes_of(c->type),
                             .rank = what->rank,
                             .peer = c->root};
        break;
    case NCCL_POINT_TO_POINT:
        told.communicator = p->communicator;
        told.function = p->function;
        told.bytes = p->count * bytes_of(p->type);
        told.peer = p->peer;
        break;
    case NCCL_KERNEL_CHANNEL:
        *event = start_channel(what->parent, NOT_KNOWN);
        return NCCL_SUCCESS;
    default:
        return NCCL_SUCCESS;
    }
    *event = start_exchange(context, &told, REC_CALLER, REC_FRAME);
    return NCCL_SUCCESS;
}

static int start_later(void *context, void **event, const struct nccl_event_4 *what, uint64_t kind,
                       const void *from, const void *frame)
{
    *event = NULL;
    if (!context || !recorder)
        return NCCL_SUCCESS;
    const struct nccl_collective_4 *c = &what->collective;
    const struct nccl_point_to_point_4 *p = &what->point_to_point;
    struct told told = {.rank = what->rank, .sequence = REC_NO_SEQUENCE};
    switch (kind) {
    case NCCL_COLLECTIVE:
        told = (struct told){.sequence = c->sequence,
                             .function = c->function,
                             .algorithm = c->algorithm,
                             .protocol = c->protocol,
                             .bytes = c->count * bytes_of(c->type),
                             .rank = what->rank,
                             .peer = c->root,
                             .channels = c->channels};
        break;
    case NCCL_POINT_TO_POINT:
        told.function = p->function;
        told.bytes = p->count * bytes_of(p->type);
        told.peer = p->peer;
        told.channels = p->channels;
        break;
    case NCCL_KERNEL_CHANNEL:
        *event = start_channel(what->parent, what->kernel_channel.time);
        return NCCL_SUCCESS;
    default:
        return NCCL_SUCCESS;
    }
    *event = start_exchange(context, &told, from, frame);
    return NCCL_SUCCESS;
}

static int start_4(void *context, void **event, struct nccl_event_4 *what)
{
    return start_later(context, event, what, what->kind_8, REC_CALLER, REC_FRAME);
}

static int start_5(void *context, void **event, struct nccl_event_4 *what)
{
    return start_later(context, event, what, what->kind_64, REC_CALLER, REC_FRAME);
}

#define PROFILER(version, later, starts, states)                                  \
    REC_EXPORT extern const struct nccl_profiler_##later ncclProfiler_v##version; \
    const struct nccl_profiler_##later ncclProfiler_v##version = {                \
        "lull", init_##later, start_##starts, stop_event, states, finalize}
PROFILER(3, 3, 3, ignore_state);
PROFILER(4, 4, 4, change_state);
PROFILER(5, 5, 5, change_state);
PROFILER(6, 5, 5, change_state);
