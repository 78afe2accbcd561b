/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/device/device.h"

#include "base/fnv.h"
#include "record/keep.h"
#include "record/patience.h"
#include "record/report.h"
#include "record/site/map.h"
#include "record/store/definitions.h"
#include "record/store/sums.h"
#include "record/thread/pause.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_DEVICE_BACKENDS = 8,
    MOST_NAMED_REGIONS = 1 << 16,
    MOST_FINISHED = 1 << 14,
    DRAIN_NS = 100000000
};

/* One for each of the locations of a stream; the first is made with the stream. */
struct rec_stream {
    struct lull_tape_stream what; /* with nothing lost */
    char name[32];
    struct rec_thread *lanes[REC_MOST_LANES];
    unsigned n_lanes;
    uint64_t untold; /* atomic; operations for which there was no room, not yet counted as lost */
    struct rec_stream *next;
};
static struct rec_stream *all_streams; /* atomic */

static enum { DEVICES_FULL, DEVICES_SUMMARY, DEVICES_OFF } devices_kept;
static uint64_t given_numbers; /* atomic: numbers of operations that threads have, used or not */
static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;
static bool drain_over;    /* atomic: nothing is drained any more; changed with the lock held */
static bool drain_still;   /* atomic: drain_over was set with the lock held */
static bool drain_last;    /* atomic: the drainer shall drain for the last time */
static uint64_t delivered; /* atomic: grows while operations are delivered */

/* ==== streams ================================================================================= */

/* With n > 0: the location for operations that overlap those of the locations before. */
static bool begin_lane(struct rec_stream *stream, unsigned n)
{
    struct rec_stream_about *about = rec_keep(sizeof *about);
    char number[16] = "";
    if (!about)
        return false;
    if (n > 0)
        snprintf(number, sizeof number, " (%u)", n + 1);
    about->what = stream->what;
    snprintf(about->name, sizeof about->name, "%.16s%s on %.50s", stream->name, number,
             *stream->what.device ? stream->what.device : stream->what.runtime);
    stream->lanes[n] = rec_stream_begin(about);
    stream->n_lanes += stream->lanes[n] != NULL;
    return stream->lanes[n] != NULL;
}

static struct rec_stream *make_stream(const struct lull_tape_stream *what, const char *name)
{
    const struct rec_aside aside = rec_step_aside();
    struct rec_stream *stream = rec_process.on ? rec_keep(sizeof *stream) : NULL;
    if (stream) {
        stream->what = *what;
        stream->what.summary = devices_kept == DEVICES_SUMMARY;
        snprintf(stream->name, sizeof stream->name, "%s", name);
        if (!begin_lane(stream, 0))
            stream = NULL;
    }
    if (stream) {
        stream->next = __atomic_load_n(&all_streams, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&all_streams, &stream->next, stream, true,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
    }
    rec_step_back(&aside);
    return stream;
}

/* The location on which an operation that begins then can be put: one whose last operation had
 * ended. NULL: there is none, and no more can be had. */
static struct rec_thread *lane_at(struct rec_stream *stream, uint64_t begin)
{
    for (unsigned i = 0; i < stream->n_lanes; i++)
        if (rec_last_time(stream->lanes[i]) <= begin)
            return stream->lanes[i];
    if (stream->n_lanes == REC_MOST_LANES || !begin_lane(stream, stream->n_lanes))
        return NULL;
    return stream->lanes[stream->n_lanes - 1];
}

/* A back-end's own thread and the drainer may both tell of lost operations. */
static void lose_operations(struct rec_stream *stream, uint64_t operations)
{
    __atomic_add_fetch(&stream->lanes[0]->header->stream.lost, operations, __ATOMIC_RELAXED);
}

/* Operations that run one after the other may seem to overlap, by as much as the times of both
 * may be wrong. Then the later one begins when the earlier one ends. */
static void put_in_order(const struct rec_stream *stream, uint64_t *begin, uint64_t *end)
{
    const uint64_t last = rec_last_time(stream->lanes[0]);
    if (!stream->what.in_order || *begin >= last ||
        (double)(last - *begin) > 2 * stream->what.clock_error / rec_process.ns_per_tick)
        return;
    *begin = last;
    *end = *end > last ? *end : last;
}

static void move_bytes(struct rec_thread *lane, const struct rec_operation *operation)
{
    if (operation->bytes > 0)
        rec_sums_move(lane, operation->region, operation->bytes);
}

/* Most operations are one record with their call. */
static bool is_short(const struct rec_operation *operation, uint64_t duration)
{
    return !operation->is_exchange && duration < LULL_TAPE_OPEN &&
           operation->number <= UINT32_MAX && operation->bytes <= UINT32_MAX;
}

static void put_short_operation(struct rec_thread *lane, const struct rec_operation *operation,
                                uint64_t begin, uint64_t duration)
{
    rec_reserve_behind(lane, 2);
    lane->at[0].record.time = begin;
    lane->at[0].record.head = lull_tape_head(LULL_TAPE_CALL_OPERATION, 1, operation->region);
    lane->at[0].record.value = (uint32_t)duration;
    lane->at[1].u32[0] = (uint32_t)operation->number;
    lane->at[1].u32[1] = (uint32_t)operation->bytes;
    lane->at[1].u32[2] = operation->call != 0 ? operation->call : LULL_TAPE_NO_ID;
    lane->at[1].u32[3] = operation->thread;
    rec_commit(lane, 2);
    rec_add_sum(lane, operation->region, 1, duration, begin + duration);
}

static void deliver_operation(struct rec_stream *stream, const struct rec_operation *operation)
{
    const unsigned slots = operation->is_exchange ? 3 : 2;
    uint64_t begin = operation->begin, end = operation->end;
    if (!rec_process.on)
        return;
    __atomic_store_n(&delivered, __atomic_load_n(&delivered, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
    put_in_order(stream, &begin, &end);
    struct rec_thread *lane = operation->region != 0 ? lane_at(stream, begin) : NULL;
    if (!lane) {
        lose_operations(stream, 1);
        return;
    }
    struct lull_tape_sums_header *sums = lane->sums_file.header;
    if (sums->begin == 0)
        sums->begin = begin;
    rec_pause_note_before(lane, begin);
    if (rec_last_time(lane) > begin) { /* it began in a pause */
        lose_operations(stream, 1);
        return;
    }
    if (devices_kept == DEVICES_SUMMARY) {
        rec_add_sum(lane, operation->region, 1, end - begin, end);
        move_bytes(lane, operation);
        return;
    }
    if (is_short(operation, end - begin)) {
        put_short_operation(lane, operation, begin, end - begin);
        move_bytes(lane, operation);
        return;
    }
    rec_reserve_behind(lane, 5); /* both records stand in one chunk */
    rec_put_call(lane, operation->region, begin, end - begin);
    lane->at[0].record.time = begin;
    lane->at[0].record.head = lull_tape_head(
        LULL_TAPE_OPERATION, slots - 1, operation->call != 0 ? operation->call : LULL_TAPE_NO_ID);
    lane->at[0].record.value = operation->thread;
    lane->at[1].u64[0] = operation->number;
    lane->at[1].u64[1] = operation->bytes;
    if (operation->is_exchange) {
        lane->at[2].u64[0] = operation->sequence;
        lane->at[2].i32[2] = operation->peer;
        lane->at[2].i32[3] = 0;
    }
    rec_commit(lane, slots);
    move_bytes(lane, operation);
}

static void doubt_times(struct rec_stream *stream, double ns)
{
    if (ns <= stream->what.clock_error)
        return;
    stream->what.clock_error = ns;
    for (unsigned i = 0; i < stream->n_lanes; i++)
        stream->lanes[i]->header->stream.clock_error = ns;
}

/* ==== regions ================================================================================= */

static pthread_mutex_t device_regions_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map named_regions; /* hash of a role and a name -> region */
static uint32_t n_named_regions;
static uint32_t move_regions[REC_DEVICE_KINDS]; /* atomic: regions */

static uint32_t region_by_name(uint32_t role, const char *name)
{
    const struct rec_region region = {
        .paradigm = LULL_TAPE_PARADIGM_DEVICE, .role = role, .name = name};
    const uintptr_t hash =
        (uintptr_t)lull_fnv(lull_fnv(LULL_FNV_BEGIN, &role, sizeof role), name, strlen(name)) | 1;
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&device_regions_lock);
    uint32_t id = (uint32_t)rec_map_get(&named_regions, hash);
    if (id == 0 && n_named_regions < MOST_NAMED_REGIONS && (id = rec_define_region(&region)) != 0) {
        rec_map_put(&named_regions, hash, id);
        n_named_regions++;
    }
    pthread_mutex_unlock(&device_regions_lock);
    rec_step_back(&aside);
    return id;
}

static uint32_t region_of_operation(enum rec_device_kind kind, const char *name)
{
    static const char *const names[REC_DEVICE_KINDS] = {
        [REC_DEVICE_COPY_TO] = "copy to device",       [REC_DEVICE_COPY_FROM] = "copy from device",
        [REC_DEVICE_COPY_WITHIN] = "copy on device",   [REC_DEVICE_COPY] = "copy",
        [REC_DEVICE_FILL] = "fill memory of device",   [REC_DEVICE_MAP] = "map memory of device",
        [REC_DEVICE_UNMAP] = "unmap memory of device", [REC_DEVICE_MIGRATE] = "migrate memory"};
    if (kind == REC_DEVICE_KERNEL)
        return region_by_name(LULL_TAPE_ROLE_KERNEL, name);
    if (kind == REC_DEVICE_EXCHANGE)
        return region_by_name(LULL_TAPE_ROLE_DATA_TRANSFER, name);
    const struct rec_region region = {.paradigm = LULL_TAPE_PARADIGM_DEVICE,
                                      .role = LULL_TAPE_ROLE_DATA_TRANSFER,
                                      .name = names[kind]};
    return rec_define_region_once(&move_regions[kind], &region);
}

/* ==== calls of the host ======================================================================= */

static bool begin_device_call(struct rec_wait *call, struct rec_wait_function *function,
                              const struct rec_wait_place *place)
{
    rec_current(); /* the thread's first act may be this call */
    return rec_wait_begin_at(call, function, place);
}

/* From here on `begin` is the time that further records of the call must have. */
static void end_device_call(struct rec_wait *call)
{
    call->begin = rec_wait_end_at(call, rec_now());
}

/* A record behind that of the call, where single operations are kept. */
static void put_behind_call(struct rec_wait *call, unsigned what, uint64_t number, uint64_t second)
{
    struct rec_thread *self = call->self;
    if (devices_kept == DEVICES_SUMMARY)
        return;
    rec_reserve_behind(self, 2);
    self->at[0].record.time = call->begin;
    self->at[0].record.head = lull_tape_head(LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID);
    self->at[0].record.value = what;
    self->at[1].u64[0] = number;
    self->at[1].u64[1] = second;
    rec_commit(self, 2);
}

static uint64_t number_of_stream(const struct rec_stream *stream)
{
    return stream ? stream->lanes[0]->number - LULL_TAPE_FIRST_STREAM : LULL_TAPE_NO_LOCATION;
}

/* A thread takes several numbers at once, so that threads do not take a line of the cache from each other with
 * each operation. */
static uint64_t next_number(struct rec_thread *self)
{
    enum { AT_ONCE = 256 };
    if (REC_UNLIKELY(self->last_operation == self->operations_end)) {
        self->last_operation = __atomic_fetch_add(&given_numbers, AT_ONCE, __ATOMIC_RELAXED);
        self->operations_end = self->last_operation + AT_ONCE;
    }
    return ++self->last_operation;
}

static void announce_operation(struct rec_wait *call, struct rec_operation *operation)
{
    operation->number = next_number(call->self);
    operation->call = call->region;
    operation->thread = call->self->number;
}

static void submit_operation(struct rec_wait *call, const struct rec_stream *stream,
                             struct rec_operation *operation)
{
    if (operation->number == 0)
        announce_operation(call, operation);
    put_behind_call(call, LULL_TAPE_NUMBER_SUBMIT, operation->number, number_of_stream(stream));
}

static void depend_on(struct rec_wait *call, uint64_t number, uint64_t other)
{
    put_behind_call(call, LULL_TAPE_NUMBER_DEPEND, number, other);
}

static void wait_for_operation(struct rec_wait *call, const struct rec_stream *stream,
                               uint64_t number)
{
    put_behind_call(call, LULL_TAPE_NUMBER_DEVICE_WAIT, number, number_of_stream(stream));
}

static void do_aside(void (*work)(void *context), void *context)
{
    const struct rec_aside aside = rec_step_aside();
    work(context);
    rec_step_back(&aside);
}

/* ==== draining ================================================================================ */

static const struct rec_device_backend *device_backends[MOST_DEVICE_BACKENDS];
static unsigned n_device_backends; /* atomic */
static sem_t drain_wake;
static pid_t drainer; /* atomic; its number in the system; 0: it has not begun */
static bool has_drainer;

/* ---- operations of which a back-end was told that they have ended ---------------------------- */

static pthread_mutex_t finished_lock = PTHREAD_MUTEX_INITIALIZER;
struct finished {
    struct rec_stream *stream;
    struct rec_operation operation;
};
/* [MOST_FINISHED] each; NULL: there was none yet. With the lock held; `taken` is of who drains. */
static struct finished *finished, *taken;
static unsigned n_finished;

static bool keep_finished(struct rec_stream *stream, const struct rec_operation *operation,
                          bool *ret_many)
{
    pthread_mutex_lock(&finished_lock);
    if (!finished && (taken = rec_keep(MOST_FINISHED * sizeof *taken)))
        finished = rec_keep(MOST_FINISHED * sizeof *finished);
    const bool good = finished && n_finished < MOST_FINISHED;
    if (good)
        finished[n_finished++] = (struct finished){stream, *operation};
    *ret_many = n_finished > MOST_FINISHED / 2;
    pthread_mutex_unlock(&finished_lock);
    return good;
}

static unsigned take_finished(bool last)
{
    if (last ? !rec_patience_lock(&finished_lock) : pthread_mutex_lock(&finished_lock) != 0)
        return 0;
    const unsigned n = n_finished;
    if (n > 0)
        memcpy(taken, finished, n * sizeof *taken);
    n_finished = 0;
    pthread_mutex_unlock(&finished_lock);
    return n;
}

static void deliver_finished(bool last)
{
    const unsigned n = take_finished(last);
    for (unsigned i = 0; i < n; i++)
        deliver_operation(taken[i].stream, &taken[i].operation);
    struct rec_stream *stream = __atomic_load_n(&all_streams, __ATOMIC_ACQUIRE);
    for (; stream; stream = stream->next)
        lose_operations(stream, __atomic_exchange_n(&stream->untold, 0, __ATOMIC_RELAXED));
}

/* With the lock of draining held. */
static void drain_backends(bool last)
{
    if (drain_over || !rec_process.on)
        return;
    const unsigned n = __atomic_load_n(&n_device_backends, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (device_backends[i]->drain)
            device_backends[i]->drain(last);
    deliver_finished(last);
}

/* With the lock of draining held. */
static void drain_for_the_last_time(void)
{
    drain_backends(true);
    __atomic_store_n(&drain_over, true, __ATOMIC_RELAXED);
    __atomic_store_n(&drain_still, true, __ATOMIC_RELEASE);
}

static void drain_if_free(void)
{
    const struct rec_aside aside = rec_step_aside();
    if (pthread_mutex_trylock(&drain_lock) == 0) {
        drain_backends(false);
        pthread_mutex_unlock(&drain_lock);
    }
    rec_step_back(&aside);
}

static void finish_operation(struct rec_stream *stream, const struct rec_operation *operation)
{
    bool many;
    const struct rec_aside aside = rec_step_aside();
    if (!keep_finished(stream, operation, &many))
        __atomic_add_fetch(&stream->untold, 1, __ATOMIC_RELAXED);
    if (many)
        drain_if_free();
    rec_step_back(&aside);
}

static struct timespec next_drain(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += DRAIN_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

/* Back-ends are detached in a pause, by the recorder's thread, and not by the one that begins it: what was
 * submitted before has still to be told of. */
static pthread_mutex_t detach_lock = PTHREAD_MUTEX_INITIALIZER;
static bool are_detached; /* atomic; changed with the lock held */

static void detach_backends(bool detached)
{
    const unsigned n = __atomic_load_n(&n_device_backends, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < n; i++)
        if (device_backends[i]->detach)
            device_backends[i]->detach(detached);
    __atomic_store_n(&are_detached, detached, __ATOMIC_RELAXED);
}

static void detach_in_pause(void)
{
    pthread_mutex_lock(&detach_lock);
    if (!are_detached && rec_is_pause())
        detach_backends(true);
    pthread_mutex_unlock(&detach_lock);
}

static void attach_after_pause(void)
{
    if (!__atomic_load_n(&are_detached, __ATOMIC_RELAXED))
        return;
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&detach_lock);
    if (are_detached)
        detach_backends(false);
    pthread_mutex_unlock(&detach_lock);
    rec_step_back(&aside);
}

static void *drain_by_turns(void *unused)
{
    (void)unused;
    rec_self_or_null = &rec_nobody;
    __atomic_store_n(&drainer, gettid(), __ATOMIC_RELEASE);
    for (bool over = false; !over;) {
        const struct timespec until = next_drain();
        sem_clockwait(&drain_wake, CLOCK_MONOTONIC, &until);
        pthread_mutex_lock(&drain_lock);
        if (__atomic_load_n(&drain_last, __ATOMIC_ACQUIRE))
            drain_for_the_last_time();
        else
            drain_backends(false);
        over = drain_over;
        pthread_mutex_unlock(&drain_lock);
        if (!over)
            detach_in_pause();
    }
    return NULL;
}

/* The thread blocks all signals, so that none of the program's comes to it. Its stack has room for
 * what a runtime does when it is asked. */
static bool start_drainer(void)
{
    enum { STACK = 512 << 10 };
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (sem_init(&drain_wake, 0, 0) != 0 || pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made = pthread_create(&thread, &attributes, drain_by_turns, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

/* Registered when a runtime has been set up, so that the runtime is still there when this is
 * called. */
static void drain_at_exit(void)
{
    if (rec_process.on)
        rec_device_stop();
}

static void attach_backend(const struct rec_device_backend *backend)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct rec_aside aside = rec_step_aside();
    pthread_mutex_lock(&lock);
    if (n_device_backends < MOST_DEVICE_BACKENDS && rec_process.on) {
        if (n_device_backends == 0 && !(has_drainer = start_drainer()))
            rec_report_say(
                "cannot make a thread: what devices do is recorded when the program ends");
        rec_pause_watch(attach_after_pause);
        device_backends[n_device_backends] = backend;
        __atomic_store_n(&n_device_backends, n_device_backends + 1, __ATOMIC_RELEASE);
        atexit(drain_at_exit);
    }
    pthread_mutex_unlock(&lock);
    rec_step_back(&aside);
}

static bool drainer_runs(void)
{
    const pid_t thread = __atomic_load_n(&drainer, __ATOMIC_ACQUIRE);
    return thread == 0 || syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

bool rec_device_is_still(void)
{
    return __atomic_load_n(&drain_still, __ATOMIC_ACQUIRE);
}

/* Waits for some REC_PATIENCE_NS, while the drainer runs and is not still. */
static void wait_for_drainer(bool still)
{
    static const struct timespec turn = {.tv_nsec = 100000};
    for (unsigned i = 0;
         i < REC_PATIENCE_NS / turn.tv_nsec && drainer_runs() && rec_device_is_still() == still;
         i++)
        nanosleep(&turn, NULL);
}

/* The runtime may never answer: the program may call exit() in a signal handler, while its thread has a lock of the
 * runtime. So the drainer asks, and is waited for until it has delivered nothing for two seconds; or more than
 * runtimes have buffers for: then other threads of the program go on submitting. False: they do. */
static bool let_drainer_end(void)
{
    enum { MOST_AT_THE_END = 1 << 22 };
    struct rec_patience patience = rec_patience_of(2);
    const uint64_t first = __atomic_load_n(&delivered, __ATOMIC_RELAXED);
    uint64_t before = first;
    __atomic_store_n(&drain_last, true, __ATOMIC_RELEASE);
    sem_post(&drain_wake);
    do {
        const uint64_t now = __atomic_load_n(&delivered, __ATOMIC_RELAXED);
        if (now - first > MOST_AT_THE_END)
            return false;
        if (now != before)
            patience = rec_patience_of(2);
        before = now;
        wait_for_drainer(false);
    } while (drainer_runs() && !rec_device_is_still() && rec_patience_lasts(&patience));
    patience = rec_patience_of(1);
    while (drainer_runs() && rec_device_is_still() && rec_patience_lasts(&patience))
        wait_for_drainer(true);
    return true;
}

void rec_device_stop(void)
{
    static bool tried;
    if (__atomic_load_n(&n_device_backends, __ATOMIC_ACQUIRE) == 0) {
        __atomic_store_n(&drain_still, true, __ATOMIC_RELEASE);
        return;
    }
    if (rec_device_is_still() || __atomic_exchange_n(&tried, true, __ATOMIC_RELAXED))
        return;
    const struct rec_aside aside = rec_step_aside();
    const bool submitting = has_drainer && !let_drainer_end();
    if (!rec_device_is_still() && !(has_drainer && drainer_runs()) &&
        rec_patience_lock(&drain_lock)) {
        drain_for_the_last_time();
        pthread_mutex_unlock(&drain_lock);
    }
    if (!rec_device_is_still())
        rec_report_say("devices: %s: what they did last is not in the run",
                       submitting ? "threads go on submitting while the program ends"
                                  : "their runtime does not answer at the end");
    rec_step_back(&aside);
}

/* ==== the interface =========================================================================== */

static bool devices_on(void)
{
    return rec_process.on && !__atomic_load_n(&drain_over, __ATOMIC_RELAXED);
}

static uint64_t device_now(void)
{
    return rec_now();
}

static double device_ns_per_tick(void)
{
    return rec_process.ns_per_tick;
}

const struct rec_device_interface *lull_record_device(void)
{
    static const struct rec_device_interface interface = {.version = REC_DEVICE_VERSION,
                                                          .is_on = devices_on,
                                                          .now = device_now,
                                                          .ns_per_tick = device_ns_per_tick,
                                                          .attach = attach_backend,
                                                          .region = region_of_operation,
                                                          .stream = make_stream,
                                                          .begin = begin_device_call,
                                                          .announce = announce_operation,
                                                          .end = end_device_call,
                                                          .submit = submit_operation,
                                                          .depend = depend_on,
                                                          .wait = wait_for_operation,
                                                          .leave = rec_wait_leave,
                                                          .finish = finish_operation,
                                                          .deliver = deliver_operation,
                                                          .lose = lose_operations,
                                                          .doubt = doubt_times,
                                                          .aside = do_aside,
                                                          .charge = rec_report_charge,
                                                          .lock_at_end = rec_patience_lock,
                                                          .drain = drain_if_free,
                                                          .say = rec_report_say};
    return rec_device_is_wanted() ? &interface : NULL;
}

/* ==== start =================================================================================== */

void rec_device_prepare(void)
{
    const char *wanted = getenv("LULL_RECORD_DEVICE");
    devices_kept = wanted && strcmp(wanted, "off") == 0       ? DEVICES_OFF
                   : wanted && strcmp(wanted, "summary") == 0 ? DEVICES_SUMMARY
                                                              : DEVICES_FULL;
}

bool rec_device_is_wanted(void)
{
    return rec_process.on && devices_kept != DEVICES_OFF;
}
