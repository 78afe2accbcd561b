/* A receive of which the program never asks whether it is complete takes its message all the same:
 * so it is where a wait fails (MPICH says of the receives beside a truncated one that they are
 * pending) and the program goes on.
 *
 *= ranks 2
 *= replays
 *= * calls MPI_Barrier x3
 *= * barrier in 2 root -1 sent 0 received 0 x3
 *= 0 calls MPI_Send x9
 *= 0 sends 1 tag 1 bytes 4 in 2 x6
 *= 0 sends 1 tag 2 bytes 4 in 2 x3
 *= 1 calls MPI_Irecv x6
 *= 1 calls MPI_Wait x3
 *= 1 calls MPI_Recv x3
 *= 1 receives 0 tag 1 bytes 4 in 2 x3
 *= 1 receives 0 tag 2 bytes 4 in 2 x3
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    static int data[3][2];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        MPI_Request requests[2];
        if (rank == 0) {
            MPI_Send(data[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Send(data[i], 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            MPI_Send(data[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&data[i][0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&data[i][1], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Recv(&data[i][1], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
