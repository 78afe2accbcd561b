/* Messages that are probed in a pause and received behind it belong to their communicator, which has
 * two members of three.
 *
 *= ranks 3
 *= * calls MPI_Comm_split x1
 *= * create in 3 root -1 sent 0 received 0 x1
 *= * measure off x1
 *= * measure on x1
 *= 0 calls MPI_Send x3
 *= 0 sends 1 tag 1 bytes 4 in 2 x1
 *= 0 sends 1 tag 2 bytes 8 in 2 x1
 *= 0 sends 1 tag 3 bytes 12 in 2 x1
 *= 1 calls MPI_Mrecv x1
 *= 1 calls MPI_Imrecv x1
 *= 1 calls MPI_Wait x1
 *= 1 calls MPI_Recv x1
 *= 1 receives 0 tag 1 bytes 4 in 2 x1
 *= 1 receives 0 tag 2 bytes 8 in 2 x1
 *= 1 receives 0 tag 3 bytes 12 in 2 x1
 *= replays
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, in[8] = {0}, out[8] = {0}, found = 0;
    MPI_Comm pair;
    MPI_Message first, second;
    MPI_Status status;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &pair);
    if (rank == 0)
        for (int i = 1; i <= 3; i++)
            MPI_Send(out, i, MPI_INT, 1, i, pair);
    MPI_Pcontrol(0);
    if (rank == 1) {
        MPI_Mprobe(0, 1, pair, &first, &status);
        while (!found)
            MPI_Improbe(MPI_ANY_SOURCE, 2, pair, &found, &second, &status);
        MPI_Probe(0, 3, pair, &status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    if (rank == 1) {
        MPI_Mrecv(in, 1, MPI_INT, &first, &status);
        MPI_Imrecv(in, 2, MPI_INT, &second, &request);
        MPI_Wait(&request, &status);
        MPI_Recv(in, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, pair, &status);
    }
    MPI_Finalize();
    return 0;
}
