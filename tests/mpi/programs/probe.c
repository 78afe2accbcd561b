/* Probes, matched and not.
 *
 *= ranks 2
 *= 0 calls MPI_Send x4
 *= 0 sends 1 tag 1 bytes 4 in 2 x1
 *= 0 sends 1 tag 2 bytes 8 in 2 x1
 *= 0 sends 1 tag 3 bytes 12 in 2 x1
 *= 0 sends 1 tag 4 bytes 16 in 2 x1
 *= 1 calls MPI_Probe x1
 *= 1 calls MPI_Iprobe any
 *= 1 calls MPI_Recv x2
 *= 1 calls MPI_Mprobe x1
 *= 1 calls MPI_Mrecv x1
 *= 1 calls MPI_Improbe any
 *= 1 calls MPI_Imrecv x1
 *= 1 calls MPI_Wait x1
 *= 1 receives 0 tag 1 bytes 4 in 2 x1
 *= 1 receives 0 tag 2 bytes 8 in 2 x1
 *= 1 receives 0 tag 3 bytes 12 in 2 x1
 *= 1 receives 0 tag 4 bytes 16 in 2 x1
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data[10] = {0}, flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 1; i <= 4; i++)
            MPI_Send(data, i, MPI_INT, 1, i, MPI_COMM_WORLD);
    } else {
        MPI_Message message;
        MPI_Request request;
        MPI_Status status;
        MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
        MPI_Recv(data, 10, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(data, 10, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(data, 10, MPI_INT, &message, MPI_STATUS_IGNORE);
        for (flag = 0; !flag;)
            MPI_Improbe(0, 4, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(data, 10, MPI_INT, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
