/* Non-blocking collectives, completed in one wait, and neighbours in a ring.
 *
 *= ranks 2
 *= * calls MPI_Ibarrier x1
 *= * calls MPI_Ibcast x1
 *= * calls MPI_Iallreduce x1
 *= * calls MPI_Ialltoall x1
 *= * calls MPI_Waitall x1
 *= * calls MPI_Wait x1
 *= * calls MPI_Cart_create x1
 *= * calls MPI_Neighbor_allgather x1
 *= * calls MPI_Ineighbor_alltoall x1
 *= * calls MPI_Comm_free x1
 *= * barrier in 2 root -1 sent 0 received 0 x1
 *= 0 bcast in 2 root 0 sent 40 received 0 x1
 *= 1 bcast in 2 root 0 sent 0 received 40 x1
 *= * allreduce in 2 root -1 sent 8 received 8 x1
 *= * alltoall in 2 root -1 sent 24 received 24 x1
 *= * create in 2 root -1 sent 0 received 0 x1
 *= * neighbourhood in 2 root -1 sent 12 received 24 x1
 *= * neighbourhood in 2 root -1 sent 8 received 8 x1
 *= * free in 2 root -1 sent 0 received 0 x1
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int in[4][20], out[4][20] = {{0}}, ranks = 2, round = 1;
    MPI_Request requests[4];
    MPI_Comm all = MPI_COMM_WORLD, ring;
    MPI_Init(&argc, &argv);
    MPI_Ibarrier(all, &requests[0]);
    MPI_Ibcast(out[0], 10, MPI_INT, 0, all, &requests[1]);
    MPI_Iallreduce(out[1], in[1], 1, MPI_DOUBLE, MPI_MAX, all, &requests[2]);
    MPI_Ialltoall(out[2], 3, MPI_INT, in[2], 3, MPI_INT, all, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Cart_create(all, 1, &ranks, &round, 0, &ring);
    MPI_Neighbor_allgather(out[0], 3, MPI_INT, in[0], 3, MPI_INT, ring);
    MPI_Ineighbor_alltoall(out[1], 1, MPI_INT, in[1], 1, MPI_INT, ring, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
