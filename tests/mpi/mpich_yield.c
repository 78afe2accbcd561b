/* Linked with programs of tests under MPICH, which asks for messages again and again and never gives its
 * core to others: where there are more processes than cores, a barrier of three takes 10 ms of a core, and
 * 0.2 ms with this. Between two questions that nobody has answered, another process may go on. Open MPI
 * does that itself (mpi_yield_when_idle). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <sched.h>

#ifdef __cplusplus
#define OF_C extern "C"
#else
#define OF_C
#endif

/* In the place of UCX's, below MPICH. */
OF_C unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    if (!next)
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    const unsigned done = next(worker);
    if (done == 0)
        sched_yield();
    return done;
}
