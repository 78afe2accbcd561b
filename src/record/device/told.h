/* SPDX-License-Identifier: BSD-3-Clause */
/* What back-ends share whose runtime tells of operations some time after these have ended, in records
 * that name the call that has submitted them by an id of that call. Included by one file of a
 * back-end's library, whose state this is.
 *
 * A call is noted by rec_launch_note before the runtime's function does its work, because its operation
 * may have ended, and its record may be handed over, before that returns. Who is handed a buffer of
 * records does
 *
 *     if (!rec_told_begin())
 *         return;
 *     for each record: rec_launch_find the call, and rec_told_add the operation
 *     rec_told_deliver();
 *     pthread_mutex_unlock(&rec_told_lock);
 *
 * which hands the operations to the recorder by their begins. */
#ifndef LULL_RECORD_DEVICE_TOLD_H
#define LULL_RECORD_DEVICE_TOLD_H

#include "record/device/device.h"
#include "record/device/points.h"
#include "record/site/map.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const struct rec_device_interface *recorder; /* NULL: nothing is recorded */
static double ns_per_tick, ticks_per_ns;

#define GET(member)        __atomic_load_n(&(member), __ATOMIC_RELAXED)
#define SET(member, value) __atomic_store_n(&(member), (value), __ATOMIC_RELAXED)

/* ==== what the user is told =================================================================== */

/* Once each, by the recorder's thread, because nothing is printed in a call of the program. */
enum rec_oddity {
    REC_MANY_STREAMS,
    REC_NO_LAUNCH,
    REC_NO_TIMES,
    REC_CONTRADICTS,
    REC_STARVED,
    REC_ODDITIES
};
enum { REC_NOT_SEEN, REC_SEEN, REC_TOLD };
static uint8_t rec_oddities[REC_ODDITIES]; /* atomic */
static uint64_t rec_dropped;               /* atomic; records for which there was no room */

static inline void rec_see(enum rec_oddity oddity)
{
    uint8_t before = REC_NOT_SEEN;
    __atomic_compare_exchange_n(&rec_oddities[oddity], &before, REC_SEEN, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

/* `source` tells the records of `runtime`. */
static inline void rec_tell_oddities(const char *runtime, const char *source, bool last)
{
    static const struct {
        bool names_source;
        const char *text;
    } texts[REC_ODDITIES] = {
        [REC_MANY_STREAMS] = {false, "too many streams: what runs on further ones is not recorded"},
        [REC_NO_LAUNCH] = {false,
                           "the calls of some operations were not seen: these stand without them"},
        [REC_NO_TIMES] = {true, "does not know when some operations ran: they are not recorded"},
        [REC_CONTRADICTS] = {true, "tells times that contradict the host's: such operations are "
                                   "not recorded"},
        [REC_STARVED] = {true, "has no memory for its records: some operations are not recorded"}};
    for (unsigned i = 0; i < REC_ODDITIES; i++) {
        if (GET(rec_oddities[i]) != REC_SEEN)
            continue;
        recorder->say("%s: %s%s%s", runtime, texts[i].names_source ? source : "",
                      texts[i].names_source ? " " : "", texts[i].text);
        SET(rec_oddities[i], REC_TOLD);
    }
    const uint64_t dropped = GET(rec_dropped);
    if (last && dropped > 0)
        recorder->say("%s: %s has dropped %llu records: what ran is not known completely", runtime,
                      source, (unsigned long long)dropped);
}

/* ==== clock =================================================================================== */

/* Reads the recorder's clock and the runtime's, in ns; of several readings the closest counts. False:
 * the runtime's cannot be read. */
static inline bool rec_told_read(bool (*clock)(uint64_t *ret_ns), struct rec_point *ret_point)
{
    enum { READINGS = 5 };
    struct rec_point best = {.error = UINT64_MAX};
    for (unsigned i = 0; i < READINGS; i++) {
        uint64_t ns = 0;
        const uint64_t before = recorder->now();
        if (!clock(&ns))
            return false;
        const uint64_t half = (recorder->now() - before + 1) / 2;
        if (half < best.error)
            best = (struct rec_point){ns, before + half, half};
    }
    *ret_point = best;
    return true;
}

/* ==== streams ================================================================================= */

enum { REC_MOST_TOLD_STREAMS = 4096 };

/* A stream has an id within a group of streams, for all of which a call may wait: a context (CUDA) or a
 * device (ROCm). */
struct rec_told_stream {
    struct rec_stream *recorded; /* NULL: it cannot be recorded */
    uint32_t group, id;
    uint64_t unseen; /* atomic: kernels submitted to it whose records will not come */
    uint64_t newest; /* with rec_told_lock held: the latest begin of its operations so far */
};

static pthread_mutex_t rec_streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_told_stream rec_told_streams[REC_MOST_TOLD_STREAMS];
static unsigned rec_n_told_streams;   /* atomic; changed with the lock held */
static struct rec_map rec_stream_map; /* group and id -> struct rec_told_stream */

/* Makes the stream of that id, on device number `device`; NULL: it cannot be had. */
typedef void rec_told_make_stream(uint32_t device, uint32_t group, uint32_t id,
                                  struct rec_stream **ret_stream);

/* NULL: the stream cannot be recorded. `make` is called with rec_streams_lock held, for a stream that is
 * not known yet. */
static inline struct rec_told_stream *rec_told_stream_find(uint32_t device, uint32_t group,
                                                           uint32_t id, rec_told_make_stream *make)
{
    const uintptr_t key = ((uintptr_t)group << 32 | id) + 1;
    struct rec_told_stream *stream = (struct rec_told_stream *)rec_map_get(&rec_stream_map, key);
    if (stream)
        return stream->recorded ? stream : NULL;
    pthread_mutex_lock(&rec_streams_lock);
    stream = (struct rec_told_stream *)rec_map_get(&rec_stream_map, key);
    if (!stream && rec_n_told_streams < REC_MOST_TOLD_STREAMS) {
        stream = &rec_told_streams[rec_n_told_streams];
        *stream = (struct rec_told_stream){.group = group, .id = id};
        make(device, group, id, &stream->recorded);
        rec_map_put(&rec_stream_map, key, (uintptr_t)stream);
        __atomic_store_n(&rec_n_told_streams, rec_n_told_streams + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&rec_streams_lock);
    if (!stream || !stream->recorded)
        rec_see(REC_MANY_STREAMS);
    return stream && stream->recorded ? stream : NULL;
}

/* The call waits for all streams of a group. */
static inline void rec_told_wait_for_group(struct rec_wait *call, uint32_t group)
{
    const unsigned n = __atomic_load_n(&rec_n_told_streams, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (rec_told_streams[i].group == group && rec_told_streams[i].recorded)
            recorder->wait(call, rec_told_streams[i].recorded, 0);
}

/* ==== calls that have submitted something ===================================================== */

/* Enough for all ids that are counted up while one operation waits, runs, and is handed over. */
enum { REC_MOST_LAUNCHES = 1 << 19 };

/* All members are atomic. `number` is that of the operation, or REC_NO_NUMBER where the call was left
 * out; it is stored last, and 0 while the others change. `begin` is when the call began, in ticks;
 * `outer`, of a call inside of a recorded one, that one; `stream` the one that the call has submitted
 * to, where that is known. `expected`: there will be a record; `delivered`: there was. */
struct rec_launch {
    uint64_t number, begin, id;
    struct rec_told_stream *stream;
    struct rec_launch *outer;
    uint32_t call, thread;
    uint8_t expected, delivered; /* the one is set by the host, the other by who delivers */
};
#define REC_NO_NUMBER UINT64_MAX
static struct rec_launch rec_launches[REC_MOST_LAUNCHES]; /* by the low bits of their ids */

/* In which parts of rec_launches there are any; atomic. */
enum { REC_LAUNCH_BLOCK = 1 << 12 };
static bool rec_used_blocks[REC_MOST_LAUNCHES / REC_LAUNCH_BLOCK];

static inline void rec_launch_count_unseen(struct rec_launch *launch)
{
    struct rec_told_stream *stream = GET(launch->stream);
    if (stream && GET(launch->expected) && !GET(launch->delivered))
        __atomic_add_fetch(&stream->unseen, 1, __ATOMIC_RELAXED);
}

static inline struct rec_launch *rec_launch_note(uint64_t id, const struct rec_operation *operation,
                                                 uint64_t begin, struct rec_launch *outer)
{
    const size_t at = id % REC_MOST_LAUNCHES;
    struct rec_launch *launch = &rec_launches[at];
    rec_launch_count_unseen(launch);
    SET(rec_used_blocks[at / REC_LAUNCH_BLOCK], true);
    __atomic_store_n(&launch->number, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    SET(launch->begin, begin);
    SET(launch->stream, NULL);
    SET(launch->outer, outer);
    SET(launch->id, id);
    SET(launch->call, operation->call);
    SET(launch->thread, operation->thread);
    SET(launch->expected, false);
    SET(launch->delivered, false);
    __atomic_store_n(&launch->number, operation->number == 0 ? REC_NO_NUMBER : operation->number,
                     __ATOMIC_RELEASE);
    return launch;
}

/* The call had that id; false: it is not known. */
static inline bool rec_launch_find(uint64_t id, struct rec_launch *ret_launch)
{
    struct rec_launch *launch = &rec_launches[id % REC_MOST_LAUNCHES];
    const uint64_t number = __atomic_load_n(&launch->number, __ATOMIC_ACQUIRE);
    *ret_launch = (struct rec_launch){.number = number,
                                      .begin = GET(launch->begin),
                                      .stream = GET(launch->stream),
                                      .outer = GET(launch->outer),
                                      .id = GET(launch->id),
                                      .call = GET(launch->call),
                                      .thread = GET(launch->thread)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (number == 0 || GET(launch->number) != number || ret_launch->id != id)
        return false;
    SET(launch->delivered, true);
    if (ret_launch->outer)
        SET(ret_launch->outer->delivered, true);
    return true;
}

/* What has no record by now will have none. */
static inline void rec_launch_lose_unseen(void)
{
    for (size_t i = 0; i < REC_MOST_LAUNCHES; i++)
        if (GET(rec_used_blocks[i / REC_LAUNCH_BLOCK]))
            rec_launch_count_unseen(&rec_launches[i]);
    const unsigned n = __atomic_load_n(&rec_n_told_streams, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (rec_told_streams[i].recorded && rec_told_streams[i].unseen > 0)
            recorder->lose(rec_told_streams[i].recorded, rec_told_streams[i].unseen);
}

/* ==== records ================================================================================= */

/* One thread at a time delivers. At the end the lock is waited for a second at most: the program
 * may call exit() in a signal handler, while its thread has the lock. */
static pthread_mutex_t rec_told_lock = PTHREAD_MUTEX_INITIALIZER;
static bool rec_told_over;    /* atomic: nothing is delivered any more */
static bool rec_told_is_last; /* atomic: the runtime hands over all that it has, ended or not */

static inline bool rec_told_try_lock(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    return pthread_mutex_timedlock(&rec_told_lock, &until) == 0;
}

/* Takes the lock; false: nothing is delivered any more. */
static inline bool rec_told_begin(void)
{
    for (;;) {
        const bool locked = rec_told_try_lock(), over = GET(rec_told_over);
        if (locked && !over)
            return true;
        if (locked)
            pthread_mutex_unlock(&rec_told_lock);
        if (over)
            return false;
    }
}

/* The last operations have been delivered; what has no record by now counts as lost. */
static inline void rec_told_end(void)
{
    const bool locked = rec_told_try_lock();
    SET(rec_told_over, true);
    if (!locked)
        return;
    rec_launch_lose_unseen();
    pthread_mutex_unlock(&rec_told_lock);
}

/* Operations until they are sorted. */
enum { REC_MOST_IN_BATCH = 1 << 14 };
static struct rec_told_operation {
    struct rec_told_stream *stream;
    struct rec_operation operation;
} rec_batch[REC_MOST_IN_BATCH];
static unsigned rec_n_in_batch;
static bool rec_batch_is_unsorted; /* operations of a stream are not in the order of their begins */

/* By their begins, in place: the C library's qsort takes memory of the program's heap. Nearly
 * all are in order already. */
static inline void rec_batch_sort(void)
{
    static const unsigned gaps[] = {8929, 3905, 1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (unsigned i = gaps[g]; i < rec_n_in_batch; i++) {
            const struct rec_told_operation one = rec_batch[i];
            unsigned at = i;
            for (; at >= gaps[g] && rec_batch[at - gaps[g]].operation.begin > one.operation.begin;
                 at -= gaps[g])
                rec_batch[at] = rec_batch[at - gaps[g]];
            rec_batch[at] = one;
        }
}

/* With the lock held. */
static inline void rec_told_deliver(void)
{
    if (rec_batch_is_unsorted)
        rec_batch_sort();
    rec_batch_is_unsorted = false;
    for (unsigned i = 0; i < rec_n_in_batch; i++)
        recorder->deliver(rec_batch[i].stream->recorded, &rec_batch[i].operation);
    rec_n_in_batch = 0;
}

/* What a record says. */
struct rec_told {
    struct rec_told_stream *stream;
    const struct rec_launch *launch; /* NULL: not known, or there is none */
    bool has_no_launch;              /* no call has submitted it */
    uint64_t start, end, bytes;      /* ns of the runtime's clock */
    uint32_t region;
    double resolution; /* ns: of the device's clock */
};

/* The recorder's time of one of the runtime's; *error, in ticks, is made larger, if need be. */
typedef uint64_t rec_told_ticks(uint64_t ns, uint64_t *error);

enum { REC_TOLD_SLACK_NS = 100000 };

/* Turns times into ticks. False: they contradict those of the host. An operation that seems to
 * have begun before it was submitted tells how wrong times are at least. */
static inline bool rec_told_turn(const struct rec_told *told, rec_told_ticks *ticks_of,
                                 uint64_t now, struct rec_operation *operation)
{
    const uint64_t slack = (uint64_t)(REC_TOLD_SLACK_NS * ticks_per_ns);
    uint64_t error = 0;
    operation->begin = ticks_of(told->start, &error);
    operation->end = ticks_of(told->end, &error);
    if (operation->end < operation->begin)
        operation->end = operation->begin;
    if ((told->launch && operation->begin + error + slack < told->launch->begin) ||
        operation->end > now + error + slack)
        return false;
    if (told->launch && operation->begin + error < told->launch->begin)
        error = told->launch->begin - operation->begin;
    recorder->doubt(told->stream->recorded, told->resolution + (double)error * ns_per_tick);
    return true;
}

/* With the lock held. `now`, in ticks, is not before the record was handed over. */
static inline void rec_told_add(const struct rec_told *told, rec_told_ticks *ticks_of, uint64_t now)
{
    struct rec_told_stream *stream = told->stream;
    struct rec_operation operation = {
        .thread = LULL_TAPE_NO_LOCATION, .region = told->region, .bytes = told->bytes};
    if (told->launch) {
        operation.number = told->launch->number;
        operation.call = told->launch->call;
        operation.thread = told->launch->thread;
    } else if (!told->has_no_launch) {
        rec_see(REC_NO_LAUNCH);
    }
    const bool timed = told->start > 0 && told->start <= told->end;
    if (!timed || !rec_told_turn(told, ticks_of, now, &operation)) {
        if (timed || !GET(rec_told_is_last)) /* what has not ended at the end has no time */
            rec_see(timed ? REC_CONTRADICTS : REC_NO_TIMES);
        recorder->lose(stream->recorded, 1);
        return;
    }
    rec_batch_is_unsorted = rec_batch_is_unsorted || operation.begin < stream->newest;
    stream->newest = operation.begin > stream->newest ? operation.begin : stream->newest;
    rec_batch[rec_n_in_batch++] = (struct rec_told_operation){stream, operation};
    if (rec_n_in_batch == REC_MOST_IN_BATCH)
        rec_told_deliver();
}

/* ==== names ============================================================================ */

/* Memory of `size` bytes that stays; NULL: there is none, or none so large. One thread at a time. */
static inline void *rec_told_keep(size_t size)
{
    enum { BLOCK = 1 << 16, ALIGNMENT = 8 };
    static char *at;
    static size_t left;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > BLOCK)
        return NULL;
    if (size > left) {
        void *pages = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            return NULL;
        at = pages;
        left = BLOCK;
    }
    void *kept = at;
    at += size;
    left -= size;
    return kept;
}

#endif
