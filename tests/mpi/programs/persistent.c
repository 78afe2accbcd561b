/* Persistent requests, started alone and together, more than once.
 *
 *= ranks 2
 *= * calls MPI_Recv_init x2
 *= * calls MPI_Send_init x1
 *= * calls MPI_Ssend_init x1
 *= * calls MPI_Startall x10
 *= * calls MPI_Waitall x10
 *= * calls MPI_Start x4
 *= * calls MPI_Wait x4
 *= * calls MPI_Request_free x4
 *= 0 sends 1 tag 1 bytes 400 in 2 x12
 *= 0 sends 1 tag 2 bytes 80 in 2 synchronous x10
 *= 0 receives 1 tag 1 bytes 400 in 2 x12
 *= 0 receives 1 tag 2 bytes 80 in 2 x10
 *= 1 sends 0 tag 1 bytes 400 in 2 x12
 *= 1 sends 0 tag 2 bytes 80 in 2 synchronous x10
 *= 1 receives 0 tag 1 bytes 400 in 2 x12
 *= 1 receives 0 tag 2 bytes 80 in 2 x10
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    static int in[2][100], out[2][100];
    MPI_Request requests[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int other = 1 - rank;
    MPI_Recv_init(in[0], 100, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in[1], 100, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(out[0], 100, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Ssend_init(out[1], 20, MPI_INT, other, 2, MPI_COMM_WORLD, &requests[3]);
    for (int i = 0; i < 10; i++) {
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Start(&requests[0]);
        MPI_Start(&requests[2]);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
    MPI_Finalize();
    return 0;
}
