/* Queries that find nothing: one record may stand for many of them, but each is counted.
 *
 *= ranks 2
 *= * calls MPI_Iprobe x1000
 *= * calls MPI_Test x500
 *= * calls MPI_Testany x500
 *= * calls MPI_Barrier x2
 *= * barrier in 2 root -1 sent 0 received 0 x2
 *= * calls MPI_Irecv x1
 *= * calls MPI_Send x1
 *= * calls MPI_Wait x1
 *= 0 sends 1 tag 1 bytes 4 in 2 x1
 *= 1 sends 0 tag 1 bytes 4 in 2 x1
 *= 0 receives 1 tag 1 bytes 4 in 2 x1
 *= 1 receives 0 tag 1 bytes 4 in 2 x1
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, flag, which, data = 0, sent = 1;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 1000; i++)
        MPI_Iprobe(1 - rank, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Irecv(&data, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 500; i++)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 500; i++)
        MPI_Testany(1, &request, &which, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody sends before all have asked */
    MPI_Send(&sent, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
