/* Rank 0 works twice as long as rank 1, which waits for it: load balance 3/4, and a little more
 * where others keep the ranks from waking up in time. So they say by their own clocks what it is.
 *
 *= ranks 2
 *= prints metric
 *= * calls MPI_Reduce x2
 *= 0 reduce in 2 root 0 sent 8 received 8 x2
 *= 1 reduce in 2 root 0 sent 8 received 0 x2
 *= * calls MPI_Barrier x11
 *= * barrier in 2 root -1 sent 0 received 0 x11
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank;
    double worked = 0, all, most;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const struct timespec work = {0, rank == 0 ? 60000000 : 30000000};
    for (int i = 0; i < 10; i++) {
        double begin = MPI_Wtime();
        nanosleep(&work, NULL);
        worked += MPI_Wtime() - begin;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(&worked, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&worked, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("metric mpi_only_load_balance %g 0.02\n", all / 2 / most);
    MPI_Finalize();
    return 0;
}
