/* Linked with programs of tests, which share their cores with whatever else runs: how they wait for
 * messages. An MPI library asks for them again and again. MPICH gives its core to nobody meanwhile, so that
 * 2,000 barriers of three processes on one core take 25 s of it. Open MPI (mpi_yield_when_idle) gives it
 * away for as long as others like to have it: beside four programs that compute, each barrier takes as
 * long as four of the scheduler's turns. Who sleeps for a moment is the next one to have a core. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <sched.h>
#include <time.h>

#ifdef __cplusplus
#define OF_C extern "C"
#else
#define OF_C
#endif

enum { QUESTIONS = 8 }; /* that nobody has answered, before each sleep */

/* In the place of the C library's: Open MPI calls it. */
OF_C int sched_yield(void)
{
    static __thread unsigned calls;
    const struct timespec moment = {0, 1000};
    if (++calls % QUESTIONS == 0)
        nanosleep(&moment, NULL);
    return 0;
}

/* In the place of UCX's, below MPICH. */
OF_C unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    if (!next)
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    const unsigned done = next ? next(worker) : 0;
    if (done == 0)
        sched_yield();
    return done;
}
