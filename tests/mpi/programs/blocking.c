/* Blocking point-to-point in every mode, wildcards, nobody as a partner.
 *
 *= ranks 2
 *= 0 calls MPI_Send x3
 *= 0 calls MPI_Ssend x1
 *= 0 calls MPI_Bsend x1
 *= 0 calls MPI_Rsend x1
 *= 0 calls MPI_Buffer_attach x1
 *= 0 calls MPI_Buffer_detach x1
 *= 0 calls MPI_Sendrecv x1
 *= 0 calls MPI_Sendrecv_replace x1
 *= 0 calls MPI_Recv x2
 *= 0 sends 1 tag 1 bytes 40 in 2 x1
 *= 0 sends 1 tag 2 bytes 80 in 2 x1
 *= 0 sends 1 tag 3 bytes 12 in 2 x1
 *= 0 sends 1 tag 4 bytes 4 in 2 x1
 *= 0 sends 1 tag 5 bytes 24 in 2 x1
 *= 0 sends 1 tag 6 bytes 16 in 2 x1
 *= 0 sends 1 tag 7 bytes 0 in 2 x1
 *= 0 sends -2 tag 9 bytes 8 in 2 x1
 *= 0 receives 1 tag 4 bytes 4 in 2 x1
 *= 0 receives 1 tag 5 bytes 20 in 2 x1
 *= 0 receives 1 tag 6 bytes 16 in 2 x1
 *= 0 receives -2 tag -1 bytes 0 in 2 x1
 *= 1 calls MPI_Send x1
 *= 1 calls MPI_Recv x4
 *= 1 calls MPI_Irecv x1
 *= 1 calls MPI_Wait x1
 *= 1 calls MPI_Sendrecv x1
 *= 1 calls MPI_Sendrecv_replace x1
 *= 1 sends 0 tag 4 bytes 4 in 2 x1
 *= 1 sends 0 tag 5 bytes 20 in 2 x1
 *= 1 sends 0 tag 6 bytes 16 in 2 x1
 *= 1 receives 0 tag 1 bytes 40 in 2 x1
 *= 1 receives 0 tag 2 bytes 80 in 2 x1
 *= 1 receives 0 tag 3 bytes 12 in 2 x1
 *= 1 receives 0 tag 4 bytes 4 in 2 x1
 *= 1 receives 0 tag 5 bytes 24 in 2 x1
 *= 1 receives 0 tag 6 bytes 16 in 2 x1
 *= 1 receives 0 tag 7 bytes 0 in 2 x1
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, data[100] = {0};
    char buffer[1000 + MPI_BSEND_OVERHEAD];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        void *detached;
        int size;
        MPI_Send(data, 10, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Ssend(data, 10, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Bsend(data, 12, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
        MPI_Buffer_detach(&detached, &size);
        MPI_Recv(data, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Rsend(data, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
        MPI_Sendrecv(data, 6, MPI_FLOAT, 1, 5, data + 50, 50, MPI_INT, 1, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv_replace(data, 2, MPI_LONG, 1, 6, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Send(data, 2, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD);
        MPI_Recv(data, 2, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Status status;
        MPI_Request ready;
        MPI_Recv(data, 100, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Recv(data, 10, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, 100, MPI_CHAR, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(data + 60, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &ready);
        MPI_Send(data, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
        MPI_Wait(&ready, MPI_STATUS_IGNORE);
        MPI_Sendrecv(data, 5, MPI_INT, 0, 5, data + 50, 6, MPI_FLOAT, 0, 5, MPI_COMM_WORLD,
                     &status);
        MPI_Sendrecv_replace(data, 2, MPI_LONG, 0, 6, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
