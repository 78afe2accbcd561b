/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/thread/waits.h"

#include "record/function.h"
#include "record/keep.h"
#include "record/libraries.h"
#include "record/next.h"
#include "record/omp/team.h"
#include "record/site/site.h"
#include "record/store/definitions.h"
#include "record/thread/pause.h"

#include <pthread.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

/* ==== waits and their records ================================================================= */

/* Which thread or barrier a call waits for (see LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN); number 0: that
 * is not known. */
struct meeting {
    uint64_t number;
    uint32_t location, threads;
};

/* ---- records --------------------------------------------------------------------------------- */

static const struct meeting no_meeting;

static uint32_t region_of_wait(struct rec_wait_function *function)
{
    uint32_t known = __atomic_load_n(&function->region, __ATOMIC_ACQUIRE);
    if (REC_LIKELY(known != 0))
        return known;
    const struct rec_region region = {
        .paradigm = function->paradigm, .role = function->role, .name = function->name};
    return rec_define_region_once(&function->region, &region);
}

/* False: the call goes on as if there were no recorder. */
static bool wait_begin(struct rec_wait *wait, struct rec_wait_function *function)
{
    struct rec_thread *self = rec_process.on ? rec_current() : &rec_nobody;
    wait->self = self;
    wait->recorded = rec_admits(self);
    if (!wait->recorded && (!self->paused || rec_is_inside(self)))
        return false;
    if (!wait->recorded) {
        wait->begin = rec_now();
        return true;
    }
    wait->region = region_of_wait(function);
    if (self->omp) /* this call may be inside of a construct that is open */
        rec_omp_unfold(self);
    rec_gate_shut(self); /* what a signal handler does meanwhile would come before the record */
    wait->begin = rec_open_call(self, wait->region);
    return true;
}

/* Writes a record of a meeting. The record of the call is on the tape already, and the sums reach
 * to the call's end. */
static void put_meeting(struct rec_thread *self, unsigned what, uint64_t time,
                        const struct meeting *meeting)
{
    rec_reserve_behind(self, 2);
    self->at[0].record.time = time;
    self->at[0].record.head = lull_tape_head(LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID);
    self->at[0].record.value = what;
    self->at[1].u64[0] = meeting->number;
    self->at[1].u32[2] = meeting->location;
    self->at[1].u32[3] = meeting->threads;
    rec_commit(self, 2);
}

/* The same for a call that began in a pause and has no record: the thread's life is moved to
 * `time`, because no later record may have an earlier time. */
static void put_alone(struct rec_thread *self, unsigned what, uint64_t time,
                      const struct meeting *meeting)
{
    if (self->paused)
        rec_sums_pause(self, time);
    else
        *self->until = time;
    put_meeting(self, what, time, meeting);
}

/* Ends a call during which the program has paused or resumed: it becomes a region in which a pause
 * may lie. */
static void end_over_pause(struct rec_wait *wait, const struct meeting *meeting)
{
    struct rec_thread *self = wait->self;
    const bool met = meeting->number != 0;
    rec_put_enter(self, wait->region, wait->begin);
    if (met)
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, wait->begin, meeting);
    rec_pause_note(self);
    const uint64_t end = rec_now();
    rec_leave(self, wait->region, end);
    if (met)
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_END, end, meeting);
}

static void end_at_once(struct rec_wait *wait, const struct meeting *meeting)
{
    struct rec_thread *self = wait->self;
    const uint64_t end = rec_now();
    rec_put_call(self, wait->region, wait->begin, end - wait->begin);
    if (meeting->number != 0) {
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, wait->begin, meeting);
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_WAIT_END, end, meeting);
    }
    rec_count_call(self, wait->region, end);
}

/* The call is over, and the meeting has taken place, if it has a number. */
static void wait_end(struct rec_wait *wait, const struct meeting *meeting)
{
    struct rec_thread *self = wait->self;
    const bool met = meeting->number != 0;
    if (!wait->recorded) {
        const bool goes_on = rec_admits(self) || self->paused;
        const uint64_t end = rec_now();
        if (met && goes_on && rec_process.on) {
            put_alone(self, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, end, meeting);
            put_alone(self, LULL_TAPE_NUMBER_THREAD_WAIT_END, end, meeting);
        }
        return;
    }
    const uint64_t gate = __atomic_load_n(&rec_process.gate, __ATOMIC_RELAXED);
    if (rec_gate_of(self) != gate + REC_GATE_CALL && rec_process.on)
        end_over_pause(wait, meeting);
    else
        end_at_once(wait, meeting);
    rec_gate_open(self);
}

/* The call is over, and has made the thread with that number, unless the number is 0. The making
 * has the time at which the call began: the new thread may have begun before the call was over, and
 * must not seem to live before it was made. */
static void wait_end_made(struct rec_wait *wait, uint64_t number)
{
    struct rec_thread *self = wait->self;
    const struct meeting made = {.number = number};
    if (!wait->recorded) {
        if (number != 0 && rec_process.on)
            put_alone(self, LULL_TAPE_NUMBER_THREAD_CREATE, wait->begin, &made);
        return;
    }
    const uint64_t end = rec_now();
    rec_put_call(self, wait->region, wait->begin, end - wait->begin);
    if (number != 0)
        put_meeting(self, LULL_TAPE_NUMBER_THREAD_CREATE, wait->begin, &made);
    rec_count_call(self, wait->region, end);
    rec_gate_open(self);
}

/* ---- calls from places ----------------------------------------------------------------------- */

/* The region of a place that is not in the table yet. What is called on the way is not recorded. */
static REC_COLD uint32_t new_place(struct rec_thread *self, struct rec_wait_function *function,
                                   const struct rec_wait_place *place)
{
    rec_gate_shut(self);
    const uint32_t region =
        rec_site_region(self, region_of_wait(function), place->site, place->from, place->frame);
    rec_gate_open(self);
    return region;
}

/* 0: the place is not in the table. Calls of a device's runtime mostly have the same place, in the
 * runtime, and are told apart by where the program has called that. */
static inline uint32_t known_region(const struct rec_thread *self,
                                    const struct rec_wait_place *place)
{
    uint32_t region = 0;
    if (place->site >= REC_DEVICE_SITES)
        region = rec_site_known(self, place->site, place->from, place->frame);
    return region != 0 ? region
                       : (uint32_t)rec_map_get(&rec_sites, rec_site_key(place->from, place->site));
}

bool rec_wait_begin_at(struct rec_wait *wait, struct rec_wait_function *function,
                       const struct rec_wait_place *place)
{
    struct rec_thread *self = rec_self_or_null;
    if (!self || (place->site < REC_DEVICE_SITES && rec_is_runtime(place->from)))
        return false;
    if (REC_UNLIKELY(!rec_admits(self)) &&
        !(rec_forget_left(self, (uintptr_t)place->frame) && rec_admits(self)))
        return false;
    if (REC_UNLIKELY(rec_functions_are_busy(self, (uintptr_t)place->frame)))
        return false;
    wait->self = self;
    wait->recorded = true;
    wait->region = known_region(self, place);
    if (REC_UNLIKELY(wait->region == 0))
        wait->region = new_place(self, function, place);
    rec_gate_shut(self);
    if (self->omp)
        rec_omp_unfold(self);
    self->frame = (uintptr_t)place->frame;
    self->from = (uintptr_t)place->from;
    wait->begin = rec_open_call(self, wait->region);
    return true;
}

uint64_t rec_wait_end_at(struct rec_wait *wait, uint64_t end)
{
    struct rec_thread *self = wait->self;
    const uint64_t gate = __atomic_load_n(&rec_process.gate, __ATOMIC_RELAXED);
    if (REC_UNLIKELY(rec_gate_of(self) != gate + REC_GATE_CALL) && rec_process.on) {
        end_over_pause(wait, &no_meeting);
        return rec_last_time(self);
    }
    rec_put_call(self, wait->region, wait->begin, end - wait->begin);
    rec_count_call(self, wait->region, end);
    return wait->begin;
}

void rec_wait_drop(struct rec_wait *wait)
{
    wait->self->at->record.head = 0;
}

void rec_wait_leave(struct rec_wait *wait)
{
    wait->self->frame = 0;
    rec_gate_open(wait->self);
}

/* ---- threads --------------------------------------------------------------------------------- */

static pthread_mutex_t waits_lock = PTHREAD_MUTEX_INITIALIZER;

/* pthread_t of a thread -> the number of the newest thread with this pthread_t, and in the lower
 * half its location. */
static struct rec_map thread_numbers;

static uint32_t newest_number; /* atomic */

/* The number of the next thread that the program makes. */
static uint64_t number_of_thread(void)
{
    return __atomic_add_fetch(&newest_number, 1, __ATOMIC_RELAXED);
}

/* The number of the newest of all threads so far, asked before a wait for one of them. */
static uint64_t thread_newest(void)
{
    return __atomic_load_n(&newest_number, __ATOMIC_RELAXED);
}

/* The calling thread has that number and location. */
static void thread_is(uint64_t number, uint32_t location)
{
    pthread_mutex_lock(&waits_lock);
    rec_map_put(&thread_numbers, (uintptr_t)pthread_self(), number << 32 | location);
    pthread_mutex_unlock(&waits_lock);
}

/* The meeting of a wait for the end of a thread, once the wait is over. By then the library may
 * have given the pthread_t to another thread: one newer than `newest_before`, which was the newest
 * before the wait. */
static struct meeting meeting_of(pthread_t thread, uint64_t newest_before)
{
    const uint64_t known = rec_map_get(&thread_numbers, (uintptr_t)thread);
    struct meeting meeting = {.number = known >> 32, .location = (uint32_t)known};
    if (meeting.number > newest_before)
        meeting.number = 0;
    return meeting;
}

/* ---- barriers -------------------------------------------------------------------------------- */

struct barrier {
    uint32_t threads; /* 0: it is no barrier any more */
    uint32_t number;  /* number of the barrier among those made in this process */
    uint64_t come;    /* atomic: how many have come so far */
};

static struct rec_map barriers; /* address -> struct barrier, which stays */

/* From now on there is a barrier for `count` threads of this process at the address; 0: there is
 * none. */
static void barrier_is(const void *address, uint32_t count)
{
    static uint32_t numbers;
    pthread_mutex_lock(&waits_lock);
    struct barrier *barrier = (struct barrier *)rec_map_get(&barriers, (uintptr_t)address);
    if (!barrier && count > 0) {
        barrier = rec_keep(sizeof *barrier);
        if (barrier)
            rec_map_put(&barriers, (uintptr_t)address, (uintptr_t)barrier);
    }
    if (barrier)
        *barrier = (struct barrier){.threads = count, .number = count > 0 ? ++numbers : 0};
    pthread_mutex_unlock(&waits_lock);
}

/* A thread comes to a barrier. All threads of a meeting come before one of them leaves, so that the
 * number of those who have come tells which meeting it is. */
static struct meeting barrier_come(const void *address)
{
    struct barrier *barrier = (struct barrier *)rec_map_get(&barriers, (uintptr_t)address);
    struct meeting meeting = {.location = LULL_TAPE_NO_LOCATION};
    if (!barrier || barrier->threads == 0 || !rec_process.on)
        return meeting;
    const uint64_t before = __atomic_fetch_add(&barrier->come, 1, __ATOMIC_RELAXED);
    meeting.number = (uint64_t)barrier->number << 32 | (uint32_t)(before / barrier->threads);
    meeting.threads = barrier->threads;
    return meeting;
}

/* ==== threads that the program makes ========================================================== */

/* Threads that the program makes by itself become locations; those of runtimes either do when they
 * run the program's code (OpenMP) or are of no interest (progress threads of MPI). How the program
 * makes them and waits for them is recorded: pthreads, which C++'s threads call, and C's own. */

typedef void *start_function(void *);

/* clang-format off */
#define THREAD_FUNCTIONS(X)                                                                        \
    X(pthread_create) X(thrd_create) X(pthread_barrier_init) X(pthread_barrier_wait)        \
    X(pthread_join) X(pthread_tryjoin_np) X(pthread_timedjoin_np) X(pthread_clockjoin_np)   \
    X(thrd_join)

/* clang-format on */
enum { THREAD_FUNCTIONS(REC_NEXT_INDEX) N_NEXT };

static rec_function next[N_NEXT];

/* ---- making ---------------------------------------------------------------------------------- */

struct beginning {
    start_function *start;
    thrd_start_t start_c; /* in its place */
    void *argument;
    uint64_t number;
};

/* A `struct beginning` is kept from the making of a thread until it begins. The first BEGINNINGS at
 * a time are not malloc's: a thread that frees memory gets a cache from malloc, which most threads
 * do not need otherwise. */
enum { BEGINNINGS = 32 };

static struct beginning beginnings[BEGINNINGS];
static bool taken[BEGINNINGS]; /* atomic */

static struct beginning *take_beginning(void)
{
    for (unsigned i = 0; i < BEGINNINGS; i++)
        if (!__atomic_load_n(&taken[i], __ATOMIC_RELAXED) &&
            !__atomic_exchange_n(&taken[i], true, __ATOMIC_ACQUIRE))
            return &beginnings[i];
    return malloc(sizeof(struct beginning));
}

static void free_beginning(struct beginning *beginning)
{
    if (beginning >= beginnings && beginning < beginnings + BEGINNINGS)
        __atomic_store_n(&taken[beginning - beginnings], false, __ATOMIC_RELEASE);
    else
        free(beginning);
}

static struct beginning begin_made_thread(void *argument)
{
    struct beginning beginning = *(struct beginning *)argument;
    free_beginning(argument);
    const struct rec_thread *self = rec_thread_begin_made(beginning.number);
    if (self != &rec_nobody)
        thread_is(beginning.number, self->number);
    return beginning;
}

static void *begin_pthread(void *argument)
{
    struct beginning beginning = begin_made_thread(argument);
    return beginning.start(beginning.argument);
}

static int begin_c(void *argument)
{
    struct beginning beginning = begin_made_thread(argument);
    return beginning.start_c(beginning.argument);
}

/* Keeps what the new thread needs at its begin. NULL: it begins as if there were no recorder. The
 * caller may be a sanitizer that stands between the program and the recorder. */
static struct beginning *make_beginning(struct beginning what, const void *caller)
{
    struct rec_thread *self = rec_process.on ? rec_current() : &rec_nobody;
    if (rec_is_inside(self) || rec_omp_is_forking(self) || rec_is_runtime(caller))
        return NULL;
    struct beginning *kept = take_beginning();
    if (!kept)
        return NULL;
    what.number = rec_process.on ? number_of_thread() : 0;
    *kept = what;
    return kept;
}

REC_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              start_function *start, void *argument)
{
    static struct rec_wait_function function = {"pthread_create", LULL_TAPE_ROLE_THREAD_CREATE, 0,
                                                LULL_TAPE_PARADIGM_PTHREAD};
    struct beginning *beginning = make_beginning(
        (struct beginning){.start = start, .argument = argument}, __builtin_return_address(0));
    struct rec_wait wait;
    if (!beginning)
        return REC_NEXT(pthread_create)(thread, attributes, start, argument);
    const uint64_t number = beginning->number;
    const bool follows = wait_begin(&wait, &function);
    const int result = REC_NEXT(pthread_create)(thread, attributes, begin_pthread, beginning);
    if (result != 0)
        free_beginning(beginning);
    if (follows)
        wait_end_made(&wait, result == 0 ? number : 0);
    return result;
}

REC_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    static struct rec_wait_function function = {"thrd_create", LULL_TAPE_ROLE_THREAD_CREATE, 0,
                                                LULL_TAPE_PARADIGM_PTHREAD};
    struct beginning *beginning = make_beginning(
        (struct beginning){.start_c = start, .argument = argument}, __builtin_return_address(0));
    struct rec_wait wait;
    if (!beginning)
        return REC_NEXT(thrd_create)(thread, start, argument);
    const uint64_t number = beginning->number;
    const bool follows = wait_begin(&wait, &function);
    const int result = REC_NEXT(thrd_create)(thread, begin_c, beginning);
    if (result != thrd_success)
        free_beginning(beginning);
    if (follows)
        wait_end_made(&wait, result == thrd_success ? number : 0);
    return result;
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct join_call {
    struct rec_wait wait;
    uint64_t newest;
};

static bool begin_join(struct join_call *join, struct rec_wait_function *function,
                       const void *caller)
{
    join->newest = thread_newest();
    return rec_process.on && !rec_is_runtime(caller) && wait_begin(&join->wait, function);
}

static void end_join(struct join_call *join, pthread_t thread, bool joined)
{
    struct meeting meeting = {0};
    if (joined)
        meeting = meeting_of(thread, join->newest);
    wait_end(&join->wait, &meeting);
}

/* Defines a wrapper for a function that may wait for the end of a thread and succeeds with 0;
 * `call` has the arguments that are passed on. */
#define JOIN(name, declared, call)                                                           \
    REC_EXPORT int name declared                                                             \
    {                                                                                        \
        static struct rec_wait_function function = {#name, LULL_TAPE_ROLE_THREAD_WAIT, 0,    \
                                                    LULL_TAPE_PARADIGM_PTHREAD};             \
        struct join_call join_call;                                                          \
        const bool follows = begin_join(&join_call, &function, __builtin_return_address(0)); \
        const int result = REC_NEXT(name) call;                                              \
        if (follows)                                                                         \
            end_join(&join_call, thread, result == 0);                                       \
        return result;                                                                       \
    }

JOIN(pthread_join, (pthread_t thread, void **result_of), (thread, result_of))
JOIN(pthread_tryjoin_np, (pthread_t thread, void **result_of), (thread, result_of))
JOIN(pthread_timedjoin_np, (pthread_t thread, void **result_of, const struct timespec *until),
     (thread, result_of, until))
JOIN(pthread_clockjoin_np,
     (pthread_t thread, void **result_of, clockid_t clock, const struct timespec *until),
     (thread, result_of, clock, until))
JOIN(thrd_join, (thrd_t thread, int *result_of), (thread, result_of))

/* ---- barriers -------------------------------------------------------------------------------- */

REC_EXPORT int pthread_barrier_init(pthread_barrier_t *barrier,
                                    const pthread_barrierattr_t *attributes, unsigned count)
{
    const int result = REC_NEXT(pthread_barrier_init)(barrier, attributes, count);
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (result != 0 || !rec_process.on)
        return result;
    if (attributes)
        pthread_barrierattr_getpshared(attributes, &shared);
    const bool known =
        shared == PTHREAD_PROCESS_PRIVATE && !rec_is_runtime(__builtin_return_address(0));
    barrier_is(barrier, known ? count : 0);
    return result;
}

REC_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    static struct rec_wait_function function = {"pthread_barrier_wait", LULL_TAPE_ROLE_BARRIER, 0,
                                                LULL_TAPE_PARADIGM_PTHREAD};
    const struct meeting meeting = barrier_come(barrier);
    struct rec_wait wait;
    const bool follows = meeting.number != 0 && wait_begin(&wait, &function);
    const int result = REC_NEXT(pthread_barrier_wait)(barrier);
    if (follows)
        wait_end(&wait, &meeting);
    return result;
}
