/* What one MPI call takes: short blocks of calls on one rank (messages to itself, collectives on
 * MPI_COMM_SELF) or of barriers on all ranks.
 *
 *     record_mpi [BLOCKS [CALLS]]
 *
 * Prints one line per pattern: its name, the calls per iteration, and the median and the smallest
 * ns per iteration over the blocks; "clock" is two readings of it. bench/run.py runs it alone and
 * under recorders. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { MOST_BLOCKS = 10000 };

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

static void message_to_itself(void)
{
    static int out, in;
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
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

int main(int argc, char **argv)
{
    int ranks, blocks = argc > 1 ? atoi(argv[1]) : 500, calls = argc > 2 ? atoi(argv[2]) : 500;
    if (blocks < 1 || blocks > MOST_BLOCKS || calls < 1) {
        fprintf(stderr, "usage: record_mpi [BLOCKS (1 to %d) [CALLS]]\n", MOST_BLOCKS);
        return 2;
    }
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
