/* Rank 0 works twice as long as rank 1, which waits for it: load balance 3/4.
 *
 * Work is a sleep: it lasts as long on a busy machine as on an idle one.
 *
 *= ranks 2
 *= metric mpi_only_load_balance 0.75 0.02
 *= * calls MPI_Barrier x11
 *= * barrier in 2 root -1 sent 0 received 0 x11
 */
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const struct timespec work = {0, rank == 0 ? 60000000 : 30000000};
    for (int i = 0; i < 10; i++) {
        nanosleep(&work, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
