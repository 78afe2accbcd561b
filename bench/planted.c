/* planted FAULT yes|no: a program with a fault, or without it. What it computes is sleep, so that
 * other programs on the machine do little to it; but to get small chunks takes a core.
 *
 *   slow-rank   rank 1 takes 60 % longer in each iteration
 *   late-rank   rank 1 is late once, by 80 ms
 *   imbalance   one thread has four times the work of the others; without the fault, as much as
 * they lock        a third of the threads' work is in a critical section chunk       a loop is
 * dealt out iteration by iteration serial      half of the work is done by the master alone */
#include <mpi.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ITERATIONS = 20, CHUNKS = 20000 };

static bool faulty;
static int rank, ranks;

static void work(long us)
{
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* With the neighbours in a ring, and now and then with all. */
static void exchange(int iteration)
{
    double mine = iteration, theirs[2], sum;
    MPI_Request requests[4];
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    MPI_Irecv(&theirs[0], 1, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&theirs[1], 1, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&mine, 1, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&mine, 1, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (iteration % 5 == 4)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void slow_rank(void)
{
    for (int i = 0; i < ITERATIONS; i++) {
        work(faulty && rank == 1 ? 16000 : 10000);
        exchange(i);
    }
}

static void late_rank(void)
{
    for (int i = 0; i < ITERATIONS; i++) {
        work(faulty && rank == 1 && i == 7 ? 90000 : 10000);
        exchange(i);
    }
}

static void imbalance(void)
{
    const int threads = omp_get_max_threads();
    for (int i = 0; i < ITERATIONS; i++) {
#pragma omp parallel
        {
            const long mean = 5000L * (threads + 3) / threads;
            work(!faulty ? mean : omp_get_thread_num() == 0 ? 20000 : 5000);
        }
    }
}

static void lock(void)
{
    for (int i = 0; i < ITERATIONS; i++) {
#pragma omp parallel
        {
            work(6000);
            if (faulty) {
#pragma omp critical
                work(3000);
            } else {
                work(3000);
            }
        }
    }
}

static void chunk(void)
{
    static double values[CHUNKS];
    for (int i = 0; i < ITERATIONS; i++) {
        omp_set_schedule(faulty ? omp_sched_dynamic : omp_sched_static, faulty ? 1 : 0);
#pragma omp parallel for schedule(runtime)
        for (int k = 0; k < CHUNKS; k++)
            for (int j = 1; j < 400; j++)
                values[k] += 1.0 / (k + j);
    }
}

static void serial(void)
{
    const int threads = omp_get_max_threads();
    for (int i = 0; i < ITERATIONS; i++) {
        if (faulty)
            work(10000);
#pragma omp parallel
        work(10000 + (faulty ? 0 : 10000 / threads));
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} faults[] = {{"slow-rank", slow_rank}, {"late-rank", late_rank}, {"imbalance", imbalance},
              {"lock", lock},           {"chunk", chunk},         {"serial", serial}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    faulty = argc == 3 && strcmp(argv[2], "yes") == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; argc == 3 && i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, argv[1]) == 0)
            faults[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return argc == 3 ? 0 : 2;
}
