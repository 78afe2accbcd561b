/* The program ends on one thread while another one is in the midst of asking for a pause: nothing
 * may be recorded from then on, because the tapes are closed. */
#include "record/core.h"
#include "record/life_cycle.h"
#include "record/thread/pause.h"

#include "support/record/recorded.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum { BEFORE, ASKED, STOPPED } stage; /* atomic */
static __thread bool asks;

static void wait_until(int wanted)
{
    while (__atomic_load_n((int *)&stage, __ATOMIC_ACQUIRE) < wanted)
        sched_yield();
}

/* The recorder takes the time of a pause after it has seen that the program goes on. That is when
 * the other thread ends it, which begins with closing the gate. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (asks) {
        asks = false;
        __atomic_store_n((int *)&stage, ASKED, __ATOMIC_RELEASE);
        while (__atomic_load_n(&rec_process.gate, __ATOMIC_ACQUIRE) != 0)
            sched_yield();
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static bool admitted;

static void *ask(void *unused)
{
    (void)unused;
    struct rec_thread *self = rec_current();
    assert_true(rec_admits(self));
    asks = true;
    rec_pause();
    wait_until(STOPPED);
    admitted = rec_admits(rec_current());
    return NULL;
}

static void test_end(void **state)
{
    (void)state;
    pthread_t asking;
    rec_process.tsc = false; /* the time comes from the function above */
    assert_int_equal(pthread_create(&asking, NULL, ask, NULL), 0);
    wait_until(ASKED);
    rec_stop();
    __atomic_store_n((int *)&stage, STOPPED, __ATOMIC_RELEASE);
    pthread_join(asking, NULL);
    assert_false(admitted);
    assert_int_equal(rec_process.gate, 0);
}

static int tests(void)
{
    const struct CMUnitTest only[] = {cmocka_unit_test(test_end)};
    return run_cases(only, NULL, NULL);
}

TEST_GROUP(test_pause_at_end)
{
    return recorded_main(tests);
}
