/* Blocking collectives on three ranks, with MPI_IN_PLACE where it may be.
 *
 *= ranks 3
 *= * calls MPI_Barrier x1
 *= * barrier in 3 root -1 sent 0 received 0 x1
 *= * calls MPI_Bcast x1
 *= 0 bcast in 3 root 1 sent 0 received 40 x1
 *= 1 bcast in 3 root 1 sent 40 received 0 x1
 *= 2 bcast in 3 root 1 sent 0 received 40 x1
 *= * calls MPI_Gather x1
 *= 0 gather in 3 root 2 sent 8 received 0 x1
 *= 1 gather in 3 root 2 sent 8 received 0 x1
 *= 2 gather in 3 root 2 sent 8 received 24 x1
 *= * calls MPI_Gatherv x1
 *= 0 gatherv in 3 root 0 sent 0 received 24 x1
 *= 1 gatherv in 3 root 0 sent 8 received 0 x1
 *= 2 gatherv in 3 root 0 sent 12 received 0 x1
 *= * calls MPI_Scatter x1
 *= 0 scatter in 3 root 0 sent 24 received 8 x1
 *= 1 scatter in 3 root 0 sent 0 received 8 x1
 *= 2 scatter in 3 root 0 sent 0 received 8 x1
 *= * calls MPI_Scatterv x1
 *= 0 scatterv in 3 root 0 sent 24 received 4 x1
 *= 1 scatterv in 3 root 0 sent 0 received 8 x1
 *= 2 scatterv in 3 root 0 sent 0 received 12 x1
 *= * calls MPI_Allgather x2
 *= * allgather in 3 root -1 sent 16 received 48 x2
 *= * calls MPI_Allgatherv x1
 *= 0 allgatherv in 3 root -1 sent 4 received 24 x1
 *= 1 allgatherv in 3 root -1 sent 8 received 24 x1
 *= 2 allgatherv in 3 root -1 sent 12 received 24 x1
 *= * calls MPI_Alltoall x1
 *= * alltoall in 3 root -1 sent 24 received 24 x1
 *= * calls MPI_Alltoallv x1
 *= 0 alltoallv in 3 root -1 sent 24 received 12 x1
 *= 1 alltoallv in 3 root -1 sent 24 received 24 x1
 *= 2 alltoallv in 3 root -1 sent 24 received 36 x1
 *= * calls MPI_Alltoallw x1
 *= * alltoallw in 3 root -1 sent 20 received 20 x1
 *= * calls MPI_Reduce x1
 *= 0 reduce in 3 root 1 sent 32 received 0 x1
 *= 1 reduce in 3 root 1 sent 32 received 32 x1
 *= 2 reduce in 3 root 1 sent 32 received 0 x1
 *= * calls MPI_Allreduce x2
 *= * allreduce in 3 root -1 sent 32 received 32 x2
 *= * calls MPI_Reduce_scatter x1
 *= 0 reduce_scatter in 3 root -1 sent 24 received 4 x1
 *= 1 reduce_scatter in 3 root -1 sent 24 received 8 x1
 *= 2 reduce_scatter in 3 root -1 sent 24 received 12 x1
 *= * calls MPI_Reduce_scatter_block x1
 *= * reduce_scatter_block in 3 root -1 sent 24 received 8 x1
 *= * calls MPI_Scan x1
 *= * scan in 3 root -1 sent 4 received 4 x1
 *= * calls MPI_Exscan x1
 *= * exscan in 3 root -1 sent 4 received 4 x1
 */
#include <mpi.h>
#include <stddef.h>

enum { RANKS = 3 };

int main(int argc, char **argv)
{
    int rank, in[100] = {0}, out[100] = {0};
    const int counts[RANKS] = {1, 2, 3}, places[RANKS] = {0, 1, 3};
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    MPI_Barrier(all);
    MPI_Bcast(in, 10, MPI_INT, 1, all);
    MPI_Gather(out, 2, MPI_INT, in, 1, MPI_DOUBLE, 2, all);
    if (rank == 0)
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, in, counts, places, MPI_INT, 0, all);
    else
        MPI_Gatherv(out, counts[rank], MPI_INT, NULL, NULL, NULL, MPI_INT, 0, all);
    MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, 0, all);
    MPI_Scatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, 0, all);
    MPI_Allgather(out, 4, MPI_INT, in, 4, MPI_INT, all);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in, 4, MPI_INT, all);
    MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, all);
    MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, all);
    int mine[RANKS] = {counts[rank], counts[rank], counts[rank]}, apart[RANKS] = {0, 10, 20};
    MPI_Alltoallv(out, counts, apart, MPI_INT, in, mine, apart, MPI_INT, all);
    MPI_Datatype types[RANKS] = {MPI_INT, MPI_INT, MPI_INT};
    int ones[RANKS] = {1, 1, 1}, bytes[RANKS] = {0, 40, 80};
    /* rank r and s exchange ints, or doubles if both are above 0 */
    for (int r = 1; rank > 0 && r < RANKS; r++)
        types[r] = MPI_DOUBLE;
    if (rank == 0) /* 4 x 5 bytes like the others */
        ones[0] = 3;
    MPI_Alltoallw(out, ones, bytes, types, in, ones, bytes, types, all);
    MPI_Reduce(out, in, 4, MPI_DOUBLE, MPI_SUM, 1, all);
    MPI_Allreduce(out, in, 4, MPI_DOUBLE, MPI_SUM, all);
    MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_DOUBLE, MPI_SUM, all);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, all);
    MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, all);
    MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, all);
    MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, all);
    MPI_Finalize();
    return 0;
}
