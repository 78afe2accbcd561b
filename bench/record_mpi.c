/* What one MPI call takes: short blocks of calls on one rank (messages to itself, collectives on
 * MPI_COMM_SELF) or of barriers on all ranks.
 *
 *     record_mpi [BLOCKS [CALLS [THREADS]]]
 *
 * Prints one line per pattern: its name, the calls per iteration, and the median and the smallest
 * ns per iteration over the blocks; "clock" is two readings of it. With THREADS (1 or 2) one rank
 * asks for MPI_THREAD_MULTIPLE, and so many threads send messages to themselves at the same time,
 * each in a communicator of its own. bench/run.py runs it alone and under recorders. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { MOST_BLOCKS = 10000, MOST_THREADS = 2 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void barrier_self(void)
{
    MPI_Barrier(MPI_COMM_SELF);
}

static void message_in(MPI_Comm comm)
{
    int out = 1, in = 0;
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, comm, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, 0, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void message_to_itself(void)
{
    message_in(MPI_COMM_SELF);
}

static void sendrecv_self(void)
{
    static int out, in;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void barrier_world(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What a recorder that knows when a call begins and ends cannot save. */
static void clock_twice(void)
{
    static volatile unsigned long long now;
    for (int i = 0; i < 2; i++) {
#if defined(__x86_64__)
        now = __rdtsc();
#else
        now = (unsigned long long)now_ns();
#endif
    }
    (void)now;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, int calls, void (*pattern)(void), int blocks, int iterations)
{
    static double taken[MOST_BLOCKS];
    for (int i = 0; i < iterations; i++)
        pattern();
    for (int b = 0; b < blocks; b++) {
        double begin = now_ns();
        for (int i = 0; i < iterations; i++)
            pattern();
        taken[b] = (now_ns() - begin) / iterations;
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    qsort(taken, (size_t)blocks, sizeof *taken, compare);
    if (rank == 0)
        printf("%s %d %.2f %.2f\n", name, calls, taken[blocks / 2], taken[0]);
}

/* ---- several threads --------------------------------------------------------------------------
 */

struct messenger {
    _Alignas(64) pthread_t thread;
    MPI_Comm comm;
    int blocks, iterations;
    double *taken; /* per block */
};

/* How many threads have not begun to measure, and not ended: who is through before others goes on
 * sending, so that nobody measures alone. Atomic. */
static int at_start, at_end;

static void *send_messages(void *argument)
{
    const struct messenger *own = argument;
    for (int i = 0; i < own->iterations; i++)
        message_in(own->comm);
    __atomic_sub_fetch(&at_start, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&at_start, __ATOMIC_ACQUIRE) > 0)
        sched_yield();
    for (int b = 0; b < own->blocks; b++) {
        double begin = now_ns();
        for (int i = 0; i < own->iterations; i++)
            message_in(own->comm);
        own->taken[b] = (now_ns() - begin) / own->iterations;
    }
    __atomic_sub_fetch(&at_end, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&at_end, __ATOMIC_ACQUIRE) > 0)
        message_in(own->comm);
    return NULL;
}

static void measure_threads(int n, int blocks, int iterations)
{
    static double taken[MOST_THREADS * MOST_BLOCKS];
    struct messenger messengers[MOST_THREADS] = {{.blocks = 0}};
    at_start = at_end = n;
    for (int t = 0; t < n; t++) {
        messengers[t] = (struct messenger){
            .blocks = blocks, .iterations = iterations, .taken = taken + t * blocks};
        MPI_Comm_dup(MPI_COMM_SELF, &messengers[t].comm);
    }
    for (int t = 1; t < n; t++)
        pthread_create(&messengers[t].thread, NULL, send_messages, &messengers[t]);
    send_messages(&messengers[0]);
    for (int t = 1; t < n; t++)
        pthread_join(messengers[t].thread, NULL);
    qsort(taken, (size_t)n * (size_t)blocks, sizeof *taken, compare);
    printf("message-to-itself 3 %.2f %.2f\n", taken[n * blocks / 2], taken[0]);
}

static int run_threads(int *argc, char ***argv, int threads, int blocks, int calls)
{
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided == MPI_THREAD_MULTIPLE) {
        measure("clock", 1, clock_twice, blocks, calls);
        measure_threads(threads, blocks, calls);
    }
    MPI_Finalize();
    return provided != MPI_THREAD_MULTIPLE;
}

int main(int argc, char **argv)
{
    int ranks, blocks = argc > 1 ? atoi(argv[1]) : 500, calls = argc > 2 ? atoi(argv[2]) : 500;
    int threads = argc > 3 ? atoi(argv[3]) : 0;
    if (blocks < 1 || blocks > MOST_BLOCKS || calls < 1 || threads < 0 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: record_mpi [BLOCKS (1 to %d) [CALLS [THREADS (1 to %d)]]]\n",
                MOST_BLOCKS, MOST_THREADS);
        return 2;
    }
    if (threads > 0)
        return run_threads(&argc, &argv, threads, blocks, calls);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks == 1) {
        measure("clock", 1, clock_twice, blocks, calls);
        measure("barrier-self", 1, barrier_self, blocks, calls);
        measure("message-to-itself", 3, message_to_itself, blocks, calls);
        measure("sendrecv-self", 1, sendrecv_self, blocks, calls);
    } else {
        measure("barrier", 1, barrier_world, blocks, calls);
    }
    MPI_Finalize();
    return 0;
}
