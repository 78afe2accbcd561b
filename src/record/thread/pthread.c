/* Threads that the program makes by itself become locations; those of runtimes either do when they
 * run the program's code (OpenMP) or are of no interest (progress threads of MPI). How the program
 * makes them and waits for them is recorded: pthreads, which C++'s threads call, and C's own. */
#include "record/caller.h"
#include "record/next.h"
#include "record/omp/team.h"
#include "record/thread/waits.h"

#include <stdlib.h>
#include <threads.h>
#include <time.h>

typedef void *start_function(void *);

/* clang-format off */
#define THREAD_FUNCTIONS(X)                                                                        \
    X(pthread_create) X(thrd_create) X(pthread_barrier_init) X(pthread_barrier_wait)        \
    X(pthread_join) X(pthread_tryjoin_np) X(pthread_timedjoin_np) X(pthread_clockjoin_np)   \
    X(thrd_join)
/* clang-format on */
enum { THREAD_FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
static rec_function next[N_NEXT];

/* ---- making -----------------------------------------------------------------------------------
 */

struct beginning {
    start_function *start;
    thrd_start_t start_c; /* in its place */
    void *argument;
    uint64_t number;
};

/* From when a thread is made until it begins. Not malloc's, as long as there are some: a thread
 * that frees gets a cache from malloc, which most do not need. */
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
        rec_thread_is(beginning.number, self->number);
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

/* NULL: the new thread is to begin as if there were no recorder. Who calls may be a sanitizer in
 * between. */
static struct beginning *make_beginning(struct beginning what, const void *caller)
{
    struct rec_thread *self = rec_process.on ? rec_current() : &rec_nobody;
    if (rec_is_inside(self) || rec_omp_is_forking(self) || rec_is_runtime(caller))
        return NULL;
    struct beginning *kept = take_beginning();
    if (!kept)
        return NULL;
    what.number = rec_process.on ? rec_thread_number() : 0;
    *kept = what;
    return kept;
}

REC_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              start_function *start, void *argument)
{
    static struct rec_wait_function function = {"pthread_create", LULL_TAPE_ROLE_THREAD_CREATE, 0,
                                                false};
    struct beginning *beginning = make_beginning(
        (struct beginning){.start = start, .argument = argument}, __builtin_return_address(0));
    struct rec_wait wait;
    if (!beginning)
        return REC_NEXT(pthread_create)(thread, attributes, start, argument);
    const uint64_t number = beginning->number;
    const bool follows = rec_wait_begin(&wait, &function);
    const int result = REC_NEXT(pthread_create)(thread, attributes, begin_pthread, beginning);
    if (result != 0)
        free_beginning(beginning);
    if (follows)
        rec_wait_end_made(&wait, result == 0 ? number : 0);
    return result;
}

REC_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    static struct rec_wait_function function = {"thrd_create", LULL_TAPE_ROLE_THREAD_CREATE, 0,
                                                false};
    struct beginning *beginning = make_beginning(
        (struct beginning){.start_c = start, .argument = argument}, __builtin_return_address(0));
    struct rec_wait wait;
    if (!beginning)
        return REC_NEXT(thrd_create)(thread, start, argument);
    const uint64_t number = beginning->number;
    const bool follows = rec_wait_begin(&wait, &function);
    const int result = REC_NEXT(thrd_create)(thread, begin_c, beginning);
    if (result != thrd_success)
        free_beginning(beginning);
    if (follows)
        rec_wait_end_made(&wait, result == thrd_success ? number : 0);
    return result;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

struct join_call {
    struct rec_wait wait;
    uint64_t newest;
};

static bool begin_join(struct join_call *join, struct rec_wait_function *function,
                       const void *caller)
{
    join->newest = rec_thread_newest();
    return rec_process.on && !rec_is_runtime(caller) && rec_wait_begin(&join->wait, function);
}

static void end_join(struct join_call *join, pthread_t thread, bool joined)
{
    struct rec_meeting meeting = {0};
    if (joined)
        meeting = rec_meeting_of(thread, join->newest);
    rec_wait_end(&join->wait, &meeting);
}

/* One for each function that may wait for the end of a thread; `call` is the real one's, which
 * succeeds with 0. */
#define JOIN(name, declared, call)                                                                \
    REC_EXPORT int name declared                                                                  \
    {                                                                                             \
        static struct rec_wait_function function = {#name, LULL_TAPE_ROLE_THREAD_WAIT, 0, false}; \
        struct join_call join_call;                                                               \
        const bool follows = begin_join(&join_call, &function, __builtin_return_address(0));      \
        const int result = REC_NEXT(name) call;                                                   \
        if (follows)                                                                              \
            end_join(&join_call, thread, result == 0);                                            \
        return result;                                                                            \
    }

JOIN(pthread_join, (pthread_t thread, void **result_of), (thread, result_of))
JOIN(pthread_tryjoin_np, (pthread_t thread, void **result_of), (thread, result_of))
JOIN(pthread_timedjoin_np, (pthread_t thread, void **result_of, const struct timespec *until),
     (thread, result_of, until))
JOIN(pthread_clockjoin_np,
     (pthread_t thread, void **result_of, clockid_t clock, const struct timespec *until),
     (thread, result_of, clock, until))
JOIN(thrd_join, (thrd_t thread, int *result_of), (thread, result_of))

/* ---- barriers ---------------------------------------------------------------------------------
 */

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
    rec_barrier_is(barrier, known ? count : 0);
    return result;
}

REC_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    static struct rec_wait_function function = {"pthread_barrier_wait", LULL_TAPE_ROLE_BARRIER, 0,
                                                false};
    const struct rec_meeting meeting = rec_barrier_come(barrier);
    struct rec_wait wait;
    const bool follows = meeting.number != 0 && rec_wait_begin(&wait, &function);
    const int result = REC_NEXT(pthread_barrier_wait)(barrier);
    if (follows)
        rec_wait_end(&wait, &meeting);
    return result;
}
