/* Waiting until a moment: asleep for as long as a sleep is sure to end in time, then awake. */
#include "record/inject/inject.h"

#include "record/core.h"

#include <sys/prctl.h>
#include <time.h>

/* A thread that sleeps gets its core back some 10 us late where it is free, once the slack of its
 * timers (50 us by default) is taken away. Programs whose calls wait count on being woken by
 * messages, so that a long wait is cut for the sake of MPI's progress. */
enum { AWAKE_NS = 60000, LONGEST_SLEEP_NS = 200000 };

int64_t rec_inject_now(void)
{
    return lull_clock_read(CLOCK_MONOTONIC);
}

static void sleep_until(int64_t until)
{
    const struct timespec moment = {until / 1000000000, until % 1000000000};
    const int slack = prctl(PR_GET_TIMERSLACK);
    if (slack > 1)
        prctl(PR_SET_TIMERSLACK, 1UL);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL);
    if (slack > 1)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

void rec_inject_hold(int64_t until, void (*progress)(void))
{
    for (int64_t now; (now = rec_inject_now()) < until;) {
        if (until - now <= AWAKE_NS) {
            relax();
            continue;
        }
        int64_t end = until - AWAKE_NS;
        if (progress) {
            progress();
            if (end > now + LONGEST_SLEEP_NS)
                end = now + LONGEST_SLEEP_NS;
        }
        sleep_until(end);
    }
}
