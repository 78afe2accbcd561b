/* hybrid master|inside: MPI and OpenMP together; MPI is called between the parallel regions, or by
 * every thread inside of them. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 2, ROUNDS = 20, MESSAGES = 5 };

static void exchange(int rank, int tag)
{
    int there = rank, here = -1, other = 1 - rank;
    MPI_Sendrecv(&there, 1, MPI_INT, other, tag, &here, 1, MPI_INT, other, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (here != other)
        MPI_Abort(MPI_COMM_WORLD, 9);
}

int main(int argc, char **argv)
{
    int provided, rank;
    const int inside = argc > 1 && strcmp(argv[1], "inside") == 0;
    MPI_Init_thread(&argc, &argv, inside ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (inside && provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 8);
    omp_set_num_threads(THREADS);
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        for (int i = 0; inside && i < MESSAGES; i++)
            exchange(rank, omp_get_thread_num());
        if (!inside)
            exchange(rank, 7);
    }
    MPI_Finalize();
    if (rank == 0) {
        printf("processes 2\nthreads %d\n", 2 * THREADS);
        printf("expect %d !$omp parallel\n", 2 * ROUNDS * THREADS);
        printf("expect %d !$omp implicit barrier\n", 2 * ROUNDS * THREADS);
        printf("expect %d MPI_Sendrecv\n", inside ? 2 * ROUNDS * THREADS * MESSAGES : 2 * ROUNDS);
        printf("expect 2 MPI_Init_thread\nexpect 2 MPI_Finalize\n");
    }
    return 0;
}
