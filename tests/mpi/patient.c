/* Linked with programs of tests, which share their cores with whatever else runs: how they wait for
 * messages, and for each other when MPI ends. An MPI library asks for them again and again. MPICH gives its core to nobody meanwhile, so that
 * 2,000 barriers of three processes on one core take 25 s of it. Open MPI (mpi_yield_when_idle) gives it
 * away for as long as others like to have it: beside four programs that compute, each barrier takes as
 * long as four of the scheduler's turns. Who sleeps for a moment is the next one to have a core. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#ifdef __cplusplus
#define OF_C extern "C"
#else
#define OF_C
#endif

enum { QUESTIONS = 8 }; /* that nobody has answered, before each sleep */

/* A program whose questions are not to take time has a variable of its own in the place of this one. */
__attribute__((weak)) int is_impatient = 0;

/* In the place of the C library's: Open MPI calls it. */
OF_C int sched_yield(void)
{
    static __thread unsigned calls;
    const struct timespec moment = {0, 1000};
    if (!is_impatient && ++calls % QUESTIONS == 0)
        nanosleep(&moment, NULL);
    return 0;
}

/* In the place of the C library's: Open MPI 4.1 closes its component for PMIx at the end of MPI_Finalize, while
 * the thread of PMIx may still call a handler of that component, and ends by SIGSEGV then (6 of 750 runs without a
 * recorder). The component stays (0 of 500). */
OF_C int dlclose(void *library)
{
    static int (*next)(void *);
    if (!next)
        next = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    const struct link_map *loaded = (const struct link_map *)library;
    return loaded && loaded->l_name && strstr(loaded->l_name, "/mca_pmix_") ? 0 : next(library);
}

/* ---- in the place of UCX's, below MPICH ----------------------------------------------------------
 *
 * The MPI_Finalize of MPICH 4.0 hangs now and then, with a recorder and without: each process waits until
 * the other has taken what it sent, and then for the other in a read(), in which it takes nothing any more.
 * Of 40 runs of requests.c with an address sanitizer, two processes that sleep as above and six others that
 * compute, 7 hung. So from the beginning of the end on a timer takes what has come, twenty
 * times a second: long after a process that does not hang has ended. */

static void *the_worker;           /* that is to be asked; NULL: none */
static volatile sig_atomic_t asks; /* somebody asks it just now */

static unsigned ask(void *worker)
{
    static unsigned (*next)(void *);
    if (!next)
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    asks = 1;
    const unsigned done = next ? next(worker) : 0;
    asks = 0;
    return done;
}

OF_C unsigned ucp_worker_progress(void *worker)
{
    const unsigned done = ask(worker);
    if (done == 0)
        sched_yield();
    the_worker = worker;
    return done;
}

static void ring(int signal)
{
    (void)signal;
    if (the_worker && !asks)
        ask(the_worker);
}

/* MPI_Finalize calls this for each process that it has talked to. */
OF_C void *ucp_disconnect_nb(void *endpoint)
{
    static void *(*next)(void *);
    struct sigaction action;
    const struct itimerval often = {{0, 50000}, {0, 50000}};
    if (!next) {
        next = (void *(*)(void *))dlsym(RTLD_NEXT, "ucp_disconnect_nb");
        memset(&action, 0, sizeof action);
        action.sa_handler = ring;
        action.sa_flags = SA_RESTART;
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    return next ? next(endpoint) : NULL;
}

OF_C void ucp_worker_destroy(void *worker)
{
    const struct itimerval never = {{0, 0}, {0, 0}};
    void (*next)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_destroy");
    the_worker = NULL;
    setitimer(ITIMER_REAL, &never, NULL);
    if (next)
        next(worker);
}
