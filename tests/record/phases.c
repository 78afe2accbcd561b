/* phases ROUNDS [kill]: every rank computes in a parallel region and exchanges, ROUNDS times; some
 * rounds are not to be measured. Prints what must be found. With `kill` the last rank dies of
 * SIGKILL when all have done that, before MPI_Finalize. */
#include <lull/lull.h>
#include <mpi.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, WORK = 2000, PAUSED = 50 };

static double work(int thread)
{
    double sum = 0;
    for (int i = 0; i < WORK * (1 + thread); i++)
        sum += 1.0 / (i + 1);
    return sum;
}

static double compute(void)
{
    double sum = 0;
    lull_begin("compute");
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    sum += work(omp_get_thread_num());
    lull_end("compute");
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size, provided, rounds = argc > 1 ? atoi(argv[1]) : 1000;
    double sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; round++) {
        if (round == rounds / 2)
            lull_pause();
        if (round == rounds / 2 + PAUSED)
            lull_resume();
        if (round % 10 == 0)
            sum += compute();
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        sum = sum > 1 ? 1 : sum;
    }
    if (rank == 0) {
        int seen = rounds - PAUSED, computed = rounds / 10 - PAUSED / 10;
        printf("expect %d MPI_Allreduce\nexpect %d MPI_Barrier\n", size * seen, size * seen);
        printf("expect %d compute\nexpect %d !$omp parallel\n", size * computed,
               size * computed * THREADS);
        printf("processes %d\nthreads %d\n", size, size * THREADS);
        fflush(stdout);
    }
    if (argc > 2) {
        int done = 1, all = 0;
        MPI_Reduce(&done, &all, 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
        if (rank == size - 1 && all == size)
            raise(SIGKILL);
    }
    MPI_Finalize();
    return 0;
}
