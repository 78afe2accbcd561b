/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for mutexes, conditions, semaphores and read-write locks: of pthreads, which C++ calls,
 * and of C itself. A thread that finds a lock free pays only for one more call. Where a thread has
 * to wait, the wait is recorded if it is long enough.
 *
 * Whether a lock is free is found by trying it. Functions with a time limit check their arguments
 * first, which a try would not do; so these are called at once, and only how long they take is
 * measured. */
#include "record/thread/locks.h"

#include "record/next.h"
#include "record/site/site.h"
#include "record/thread/waits.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

/* clang-format off */
#define LOCKS(X)                                                                               \
    X(pthread_mutex_lock) X(pthread_rwlock_rdlock) X(pthread_rwlock_wrlock) X(mtx_lock)        \
    X(sem_wait) X(sem_timedwait) X(sem_clockwait)                                              \
    X(pthread_mutex_timedlock) X(pthread_mutex_clocklock) X(mtx_timedlock)                     \
    X(pthread_rwlock_timedrdlock) X(pthread_rwlock_clockrdlock)                                \
    X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockwrlock)                                \
    X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait)                   \
    X(cnd_wait) X(cnd_timedwait)
#define LOCK_FUNCTIONS(X)                                                                           \
    LOCKS(X) X(pthread_mutex_trylock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_trywrlock)  \
    X(mtx_trylock) X(sem_trywait)
/* clang-format on */
enum { LOCK_FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
static const char *const lock_names[N_NEXT] = {LOCK_FUNCTIONS(REC_NEXT_NAME)};
static rec_function next[N_NEXT];

#define FUNCTION(which) \
    [NEXT_##which] = {  \
        .name = #which, .role = LULL_TAPE_ROLE_LOCK, .paradigm = LULL_TAPE_PARADIGM_PTHREAD},
static struct rec_wait_function lock_functions[] = {LOCKS(FUNCTION)};

static int64_t least_ns = 1000; /* of a wait that is recorded; less than 0: none is */
static uint64_t least;          /* the same in ticks */
static bool on;                 /* atomic */

void rec_locks_prepare(void)
{
    const char *text = getenv("LULL_RECORD_WAITS");
    if (text)
        least_ns = *text == 'n' ? -1 : strtoll(text, NULL, 10);
}

void rec_locks_start(void)
{
    least = (uint64_t)((double)least_ns / rec_process.ns_per_tick);
    __atomic_store_n(&on, least_ns >= 0, __ATOMIC_RELAXED);
}

/* Looks the functions up also where nothing is recorded: the program's calls come here then,
 * too. */
__attribute__((constructor)) static void find_lock_functions(void)
{
    rec_next_find(next, lock_names, N_NEXT);
}

/* ---- a wait ---------------------------------------------------------------------------------- */

struct blocked {
    struct rec_wait wait;
    bool follows;
};

static void begin_blocked(struct blocked *blocked, unsigned which, const void *from,
                          const void *frame)
{
    const struct rec_wait_place place = {REC_LOCK_SITES + which, from, frame};
    blocked->follows = __atomic_load_n(&on, __ATOMIC_RELAXED) &&
                       rec_wait_begin_at(&blocked->wait, &lock_functions[which], &place);
}

static void end_blocked(void *context)
{
    struct blocked *blocked = context;
    if (!blocked->follows)
        return;
    const uint64_t now = rec_now();
    if (now - blocked->wait.begin < least)
        rec_wait_drop(&blocked->wait);
    else
        rec_wait_end_at(&blocked->wait, now);
    rec_wait_leave(&blocked->wait);
}

/* ---- locks ----------------------------------------------------------------------------------- */

#define WAITS(name, type)                                                             \
    static REC_COLD int name##_waits(type *lock, const void *from, const void *frame) \
    {                                                                                 \
        struct blocked blocked;                                                       \
        begin_blocked(&blocked, NEXT_##name, from, frame);                            \
        const int result = REC_NEXT(name)(lock);                                      \
        end_blocked(&blocked);                                                        \
        return result;                                                                \
    }
#define LOCK_CALL(name, attempt, type, busy)                                                    \
    WAITS(name, type)                                                                           \
    REC_EXPORT int name(type *lock)                                                             \
    {                                                                                           \
        const int tried = REC_NEXT(attempt)(lock);                                              \
        return REC_LIKELY(tried != (busy)) ? tried : name##_waits(lock, REC_CALLER, REC_FRAME); \
    }

LOCK_CALL(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_t, EBUSY)
LOCK_CALL(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_t, EBUSY)
LOCK_CALL(mtx_lock, mtx_trylock, mtx_t, thrd_busy)

/* Whether a try does to the mutex what pthread_mutex_lock would do. Of a robust mutex that cannot
 * be recovered any more glibc 2.36 leaves the lock taken after a try, so that the next thread waits
 * for ever. Mutexes that change priorities are not tried, either. */
static bool is_plain(const pthread_mutex_t *lock)
{
    enum { ROBUST = 16, INHERIT = 32, PROTECT = 64 }; /* bits that the C library never changes */
    return !(lock->__data.__kind & (ROBUST | INHERIT | PROTECT));
}

WAITS(pthread_mutex_lock, pthread_mutex_t)
REC_EXPORT int pthread_mutex_lock(pthread_mutex_t *lock)
{
    const int tried = is_plain(lock) ? REC_NEXT(pthread_mutex_trylock)(lock) : EBUSY;
    return REC_LIKELY(tried != EBUSY) ? tried
                                      : pthread_mutex_lock_waits(lock, REC_CALLER, REC_FRAME);
}

#define TIMED(name, declared, call)                                  \
    REC_EXPORT int name declared                                     \
    {                                                                \
        struct blocked blocked;                                      \
        begin_blocked(&blocked, NEXT_##name, REC_CALLER, REC_FRAME); \
        const int result = REC_NEXT(name) call;                      \
        end_blocked(&blocked);                                       \
        return result;                                               \
    }

#define UNTIL       const struct timespec *until
#define CLOCK_UNTIL clockid_t clock, const struct timespec *until
TIMED(pthread_mutex_timedlock, (pthread_mutex_t * lock, UNTIL), (lock, until))
TIMED(pthread_mutex_clocklock, (pthread_mutex_t * lock, CLOCK_UNTIL), (lock, clock, until))
TIMED(mtx_timedlock, (mtx_t * lock, UNTIL), (lock, until))
TIMED(pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, UNTIL), (lock, until))
TIMED(pthread_rwlock_clockrdlock, (pthread_rwlock_t * lock, CLOCK_UNTIL), (lock, clock, until))
TIMED(pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, UNTIL), (lock, until))
TIMED(pthread_rwlock_clockwrlock, (pthread_rwlock_t * lock, CLOCK_UNTIL), (lock, clock, until))

/* ---- what may be cancelled ------------------------------------------------------------------- */

/* A thread that is cancelled in a wait goes on with its clean-up functions, which are recorded: so
 * the cancellation first ends the wait. */
#define CANCELLED(name, declared, call)                              \
    REC_EXPORT int name declared                                     \
    {                                                                \
        struct blocked blocked;                                      \
        int result;                                                  \
        begin_blocked(&blocked, NEXT_##name, REC_CALLER, REC_FRAME); \
        pthread_cleanup_push(end_blocked, &blocked);                 \
        result = REC_NEXT(name) call;                                \
        pthread_cleanup_pop(1);                                      \
        return result;                                               \
    }

CANCELLED(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *lock), (condition, lock))
CANCELLED(pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *lock, UNTIL),
          (condition, lock, until))
CANCELLED(pthread_cond_clockwait, (pthread_cond_t * condition, pthread_mutex_t *lock, CLOCK_UNTIL),
          (condition, lock, clock, until))
CANCELLED(cnd_wait, (cnd_t * condition, mtx_t *lock), (condition, lock))
CANCELLED(cnd_timedwait, (cnd_t * condition, mtx_t *lock, UNTIL), (condition, lock, until))
CANCELLED(sem_timedwait, (sem_t * semaphore, UNTIL), (semaphore, until))
CANCELLED(sem_clockwait, (sem_t * semaphore, CLOCK_UNTIL), (semaphore, clock, until))

static REC_COLD int sem_wait_waits(sem_t *semaphore, const void *from, const void *frame)
{
    struct blocked blocked;
    int result;
    begin_blocked(&blocked, NEXT_sem_wait, from, frame);
    pthread_cleanup_push(end_blocked, &blocked);
    result = REC_NEXT(sem_wait)(semaphore);
    pthread_cleanup_pop(1);
    return result;
}

/* sem_wait cancels a thread with a pending cancellation even if the thread need not wait. */
REC_EXPORT int sem_wait(sem_t *semaphore)
{
    const int reason = errno;
    pthread_testcancel();
    if (REC_LIKELY(REC_NEXT(sem_trywait)(semaphore) == 0))
        return 0;
    errno = reason;
    return sem_wait_waits(semaphore, REC_CALLER, REC_FRAME);
}
