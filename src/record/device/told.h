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
    /* With rec_told_lock held: the latest begin of its operations so far, and by how many ns its times
     * may be wrong, as the recorder was told. */
    uint64_t newest;
    double doubt;
};

static pthread_mutex_t rec_streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_told_stream rec_told_streams[REC_MOST_TOLD_STREAMS];
static unsigned rec_n_told_streams;   /* atomic; changed with the lock held */
static struct rec_map rec_stream_map; /* group and id -> struct rec_told_stream */

/* Makes the stream of that id, on device number `device`; NULL: it cannot be had. `about` is what the caller of
 * rec_told_stream_find knows of it beside that. */
typedef void rec_told_make_stream(uint32_t device, uint32_t group, uint32_t id, const void *about,
                                  struct rec_stream **ret_stream);

/* NULL: the stream cannot be recorded. `make` is called with rec_streams_lock held, for a stream that is
 * not known yet. */
static inline struct rec_told_stream *rec_told_stream_find(uint32_t device, uint32_t group,
                                                           uint32_t id, rec_told_make_stream *make,
                                                           const void *about)
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
        make(device, group, id, about, &stream->recorded);
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

/* All members are atomic; two launches fill a line of the cache. `number` is that of the operation, or
 * REC_NO_NUMBER where the call was left out; it is stored last, and 0 while the others change. `begin`
 * is when the call began, in ticks; `outer`, of a call inside of a recorded one, 1 + the place of that
 * one, else 0; `stream` 1 + the place of the stream that the call has submitted to, 0 where that is not
 * known. `turn` tells ids with the same low bits apart. */
struct rec_launch {
    uint64_t number, begin;
    uint32_t call, thread, outer;
    uint16_t turn, stream;
};
_Static_assert(sizeof(struct rec_launch) == 32, "two launches fill a line");
#define REC_NO_NUMBER UINT64_MAX
static _Alignas(64) struct rec_launch rec_launches[REC_MOST_LAUNCHES]; /* by the low bits of ids */

/* By the same places, atomic: the turn of a launch of which there will be a record, and of one of which
 * there was a record. The host writes the former and who delivers the latter, so that neither takes
 * lines of the cache from the other. */
enum { REC_TURNS_AT_ONCE = 4 };
static union {
    uint16_t turns[REC_MOST_LAUNCHES];
    uint64_t several[REC_MOST_LAUNCHES / REC_TURNS_AT_ONCE];
} rec_expected, rec_delivered;

/* In which parts of rec_launches there are any; atomic. */
enum { REC_LAUNCH_BLOCK = 1 << 12 };
static bool rec_used_blocks[REC_MOST_LAUNCHES / REC_LAUNCH_BLOCK];

/* What a launch is to who delivers. `call` and `thread` do not lie beside each other: else compilers
 * copy both at once, for which the processor waits until it has stored either. */
struct rec_launch_found {
    uint64_t number, begin;
    uint32_t call;
    struct rec_told_stream *stream; /* NULL: not known */
    uint32_t thread;
};

/* Above 0. The same turn comes again after 2^34 ids. */
static inline uint16_t rec_launch_turn(uint64_t id)
{
    return (uint16_t)(id / REC_MOST_LAUNCHES | UINT64_C(1) << 15);
}

static inline struct rec_told_stream *rec_launch_stream(const struct rec_launch *launch)
{
    const unsigned stream = GET(launch->stream);
    return stream > 0 ? &rec_told_streams[stream - 1] : NULL;
}

/* The launch is looked for soon. */
static inline void rec_launch_prefetch(uint64_t id)
{
    __builtin_prefetch(&rec_launches[id % REC_MOST_LAUNCHES]);
}

static inline void rec_launch_count_unseen(size_t at)
{
    const uint16_t expected = GET(rec_expected.turns[at]);
    if (expected == 0 || expected == GET(rec_delivered.turns[at]))
        return;
    struct rec_told_stream *stream = rec_launch_stream(&rec_launches[at]);
    if (stream)
        __atomic_add_fetch(&stream->unseen, 1, __ATOMIC_RELAXED);
}

static inline struct rec_launch *rec_launch_note(uint64_t id, const struct rec_operation *operation,
                                                 uint64_t begin, const struct rec_launch *outer)
{
    enum { AHEAD = 16 }; /* the next ids are those of the next calls */
    const size_t at = id % REC_MOST_LAUNCHES;
    struct rec_launch *launch = &rec_launches[at];
    rec_launch_prefetch(id + AHEAD);
    rec_launch_count_unseen(at);
    SET(rec_used_blocks[at / REC_LAUNCH_BLOCK], true);
    SET(rec_expected.turns[at], 0);
    __atomic_store_n(&launch->number, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    SET(launch->begin, begin);
    SET(launch->call, operation->call);
    SET(launch->thread, operation->thread);
    SET(launch->outer, outer ? (uint32_t)(outer - rec_launches) + 1 : 0);
    SET(launch->turn, rec_launch_turn(id));
    SET(launch->stream, 0);
    __atomic_store_n(&launch->number, operation->number == 0 ? REC_NO_NUMBER : operation->number,
                     __ATOMIC_RELEASE);
    return launch;
}

static inline void rec_launch_goes_to(struct rec_launch *launch,
                                      const struct rec_told_stream *stream)
{
    SET(launch->stream, stream ? (uint16_t)(stream - rec_told_streams + 1) : 0);
}

/* There will be a record. */
static inline void rec_launch_expect(const struct rec_launch *launch)
{
    SET(rec_expected.turns[launch - rec_launches], GET(launch->turn));
}

/* The call had that id; false: it is not known. */
static inline bool rec_launch_find(uint64_t id, struct rec_launch_found *ret_launch)
{
    const size_t at = id % REC_MOST_LAUNCHES;
    const struct rec_launch *launch = &rec_launches[at];
    const uint64_t number = __atomic_load_n(&launch->number, __ATOMIC_ACQUIRE);
    const uint32_t outer = GET(launch->outer);
    const uint16_t turn = GET(launch->turn);
    *ret_launch = (struct rec_launch_found){.number = number,
                                            .begin = GET(launch->begin),
                                            .stream = rec_launch_stream(launch),
                                            .call = GET(launch->call),
                                            .thread = GET(launch->thread)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (number == 0 || GET(launch->number) != number || turn != rec_launch_turn(id))
        return false;
    SET(rec_delivered.turns[at], turn);
    if (outer > 0)
        SET(rec_delivered.turns[outer - 1], GET(rec_launches[outer - 1].turn));
    return true;
}

static inline void rec_launch_count_unseen_block(size_t block)
{
    enum { IN_BLOCK = REC_LAUNCH_BLOCK / REC_TURNS_AT_ONCE };
    for (size_t i = block * IN_BLOCK; i < (block + 1) * IN_BLOCK; i++)
        if (GET(rec_expected.several[i]) != GET(rec_delivered.several[i]))
            for (size_t k = 0; k < REC_TURNS_AT_ONCE; k++)
                rec_launch_count_unseen(i * REC_TURNS_AT_ONCE + k);
}

/* What has no record by now will have none. */
static inline void rec_launch_lose_unseen(void)
{
    for (size_t i = 0; i < REC_MOST_LAUNCHES / REC_LAUNCH_BLOCK; i++)
        if (GET(rec_used_blocks[i]))
            rec_launch_count_unseen_block(i);
    const unsigned n = __atomic_load_n(&rec_n_told_streams, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (rec_told_streams[i].recorded && rec_told_streams[i].unseen > 0)
            recorder->lose(rec_told_streams[i].recorded, rec_told_streams[i].unseen);
}

/* ==== records ================================================================================= */

/* One thread at a time delivers. */
static pthread_mutex_t rec_told_lock = PTHREAD_MUTEX_INITIALIZER;
static bool rec_told_over;    /* atomic: nothing is delivered any more */
static bool rec_told_is_last; /* atomic: the runtime hands over all that it has, ended or not */

/* Takes the lock; false: nothing is delivered any more, which a thread learns within a second. */
static inline bool rec_told_begin(void)
{
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        const bool locked = pthread_mutex_timedlock(&rec_told_lock, &until) == 0;
        const bool over = GET(rec_told_over);
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
    const bool locked = recorder->lock_at_end(&rec_told_lock);
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
    const struct rec_launch_found *launch; /* NULL: not known, or there is none */
    bool has_no_launch;                    /* no call has submitted it */
    uint64_t start, end, bytes;            /* ns of the runtime's clock */
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
    const double doubt = told->resolution + (double)error * ns_per_tick;
    if (doubt > told->stream->doubt) {
        recorder->doubt(told->stream->recorded, doubt);
        told->stream->doubt = doubt;
    }
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

/* ==== names =================================================================================== */

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
