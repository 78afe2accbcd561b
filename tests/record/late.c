/* A thread marks regions until everything that belongs to the program has ended: also when the
 * recorder has closed its files. Linked with late_library.c, whose end comes behind the recorder's,
 * and tells the thread without an order that a sanitizer could see. Prints what must be found. */
#include <lull/lull.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { MARKS = 10 };

extern int late_ending, late_marked; /* atomic */

static _Atomic int marked; /* in place of a barrier, which would be recorded */

static void mark(const char *name)
{
    for (int i = 0; i < MARKS; i++) {
        lull_begin(name);
        lull_end(name);
    }
}

static void *work(void *nothing)
{
    mark("early");
    marked = 1;
    while (!__atomic_load_n(&late_ending, __ATOMIC_RELAXED))
        sched_yield();
    mark("late");
    __atomic_store_n(&late_marked, 1, __ATOMIC_RELAXED);
    return nothing;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        return 2;
    pthread_detach(thread);
    while (!marked)
        sched_yield();
    lull_pause(); /* of which the thread takes no note: the end does so for it */
    lull_resume();
    printf("expect %d early\nexpect 0 late\nthreads 2\n", MARKS);
    return 0;
}
