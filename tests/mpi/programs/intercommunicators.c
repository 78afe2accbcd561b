/* Messages and collectives between two groups of different size: world ranks 0 | 1 2. What a
 * process gives to a collective goes to the other group, what it gets comes from there. The size
 * of the communicator is that of the own group.
 *
 *= ranks 3
 *= * calls MPI_Comm_split x1
 *= * calls MPI_Intercomm_create x1
 *= * calls MPI_Comm_dup x1
 *= * calls MPI_Comm_free x3
 *= * create in 3 root -1 sent 0 received 0 x1
 *= 0 create in 1 root -1 sent 0 received 0 x2
 *= 1 create in 2 root -1 sent 0 received 0 x2
 *= 2 create in 2 root -1 sent 0 received 0 x2
 *= 0 free in 1 root -1 sent 0 received 0 x3
 *= 1 free in 2 root -1 sent 0 received 0 x3
 *= 2 free in 2 root -1 sent 0 received 0 x3
 *= 0 calls MPI_Isend x1
 *= 0 calls MPI_Recv x2
 *= 0 calls MPI_Wait x1
 *= 0 sends 2 tag 1 bytes 4 in 1 x1
 *= 0 receives 1 tag 2 bytes 8 in 1 x1
 *= 0 receives 2 tag 2 bytes 12 in 1 x1
 *= 1 calls MPI_Send x1
 *= 1 sends 0 tag 2 bytes 8 in 2 x1
 *= 2 calls MPI_Send x1
 *= 2 calls MPI_Irecv x1
 *= 2 calls MPI_Wait x1
 *= 2 sends 0 tag 2 bytes 12 in 2 x1
 *= 2 receives 0 tag 1 bytes 4 in 2 x1
 *= * calls MPI_Barrier x2
 *= 0 barrier in 1 root -1 sent 0 received 0 x2
 *= 1 barrier in 2 root -1 sent 0 received 0 x2
 *= 2 barrier in 2 root -1 sent 0 received 0 x2
 *= * calls MPI_Bcast x2
 *= 0 bcast in 1 root -1 sent 40 received 0 x1
 *= 1 bcast in 2 root 0 sent 0 received 40 x1
 *= 2 bcast in 2 root 0 sent 0 received 40 x1
 *= 0 bcast in 1 root 2 sent 0 received 20 x1
 *= 1 bcast in 2 root -1 sent 0 received 0 x1
 *= 2 bcast in 2 root -1 sent 20 received 0 x1
 *= * calls MPI_Gather x1
 *= 0 gather in 1 root -1 sent 0 received 16 x1
 *= 1 gather in 2 root 0 sent 8 received 0 x1
 *= 2 gather in 2 root 0 sent 8 received 0 x1
 *= * calls MPI_Scatter x1
 *= 0 scatter in 1 root -1 sent 24 received 0 x1
 *= 1 scatter in 2 root 0 sent 0 received 12 x1
 *= 2 scatter in 2 root 0 sent 0 received 12 x1
 *= * calls MPI_Reduce x1
 *= 0 reduce in 1 root -1 sent 0 received 24 x1
 *= 1 reduce in 2 root 0 sent 24 received 0 x1
 *= 2 reduce in 2 root 0 sent 24 received 0 x1
 *= * calls MPI_Allgather x1
 *= 0 allgather in 1 root -1 sent 4 received 16 x1
 *= 1 allgather in 2 root -1 sent 8 received 4 x1
 *= 2 allgather in 2 root -1 sent 8 received 4 x1
 *= * calls MPI_Alltoall x1
 *= 0 alltoall in 1 root -1 sent 8 received 8 x1
 *= 1 alltoall in 2 root -1 sent 4 received 4 x1
 *= 2 alltoall in 2 root -1 sent 4 received 4 x1
 *= * calls MPI_Allreduce x1
 *= 0 allreduce in 1 root -1 sent 16 received 16 x1
 *= 1 allreduce in 2 root -1 sent 16 received 16 x1
 *= 2 allreduce in 2 root -1 sent 16 received 16 x1
 */
#include <mpi.h>

static int rank, in[100], out[100];

static void messages(MPI_Comm sides)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(out, 1, MPI_INT, 1, 1, sides, &request);
        for (int i = 0; i < 2; i++)
            MPI_Recv(in, 100, MPI_INT, MPI_ANY_SOURCE, 2, sides, MPI_STATUS_IGNORE);
    } else {
        if (rank == 2)
            MPI_Irecv(in, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, sides, &request);
        MPI_Send(out, 1 + rank, MPI_INT, 0, 2, sides);
    }
    if (rank != 1)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void collectives(MPI_Comm sides)
{
    int from_0 = rank == 0 ? MPI_ROOT : 0;
    MPI_Barrier(sides);
    MPI_Bcast(out, 10, MPI_INT, from_0, sides);
    MPI_Bcast(out, 5, MPI_INT, rank == 0 ? 1 : rank == 2 ? MPI_ROOT : MPI_PROC_NULL, sides);
    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, from_0, sides);
    MPI_Scatter(out, 3, MPI_INT, in, 3, MPI_INT, from_0, sides);
    MPI_Reduce(out, in, 3, MPI_DOUBLE, MPI_SUM, from_0, sides);
    /* one int from the side of rank 0, two from each of the other */
    if (rank == 0)
        MPI_Allgather(out, 1, MPI_INT, in, 2, MPI_INT, sides);
    else
        MPI_Allgather(out, 2, MPI_INT, in, 1, MPI_INT, sides);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, sides);
    MPI_Allreduce(out, in, 2, MPI_DOUBLE, MPI_SUM, sides);
}

int main(int argc, char **argv)
{
    MPI_Comm half, sides, copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 8, &sides);
    messages(sides);
    collectives(sides);
    MPI_Comm_dup(sides, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&sides);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
