/* Duplicates of communicators that are complete later: the call does not wait for the others.
 *
 *= replays
 *= * calls MPI_Comm_idup x2
 *= * posts create in 2 x2
 *= * create in 2 root -1 sent 0 received 0 x2
 *= * calls MPI_Wait x2
 *= * calls MPI_Sendrecv x2
 *= 0 sends 1 tag 3 bytes 4 in 2 x2
 *= 0 receives 1 tag 3 bytes 4 in 2 x2
 *= 1 sends 0 tag 3 bytes 4 in 2 x2
 *= 1 receives 0 tag 3 bytes 4 in 2 x2
 *= * calls MPI_Comm_free x2
 *= * free in 2 root -1 sent 0 received 0 x2
 */
#include <mpi.h>

static void exchange(int rank, MPI_Comm comm)
{
    int out = rank, in;
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 3, &in, 1, MPI_INT, 1 - rank, 3, comm,
                 MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Request request;
    MPI_Comm first, second;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_idup(MPI_COMM_WORLD, &first, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    exchange(rank, first);
    MPI_Comm_idup(first, &second, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    exchange(rank, second);
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    MPI_Finalize();
    return 0;
}
