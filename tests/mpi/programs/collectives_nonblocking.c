/* Every non-blocking collective: the same bytes as of the blocking ones.
 *
 *= ranks 3
 *= * calls MPI_Waitall x1
 *= * calls MPI_Ibarrier x1
 *= * barrier in 3 root -1 sent 0 received 0 x1
 *= * calls MPI_Ibcast x1
 *= 0 bcast in 3 root 1 sent 0 received 40 x1
 *= 1 bcast in 3 root 1 sent 40 received 0 x1
 *= 2 bcast in 3 root 1 sent 0 received 40 x1
 *= * calls MPI_Igather x1
 *= 0 gather in 3 root 2 sent 8 received 0 x1
 *= 1 gather in 3 root 2 sent 8 received 0 x1
 *= 2 gather in 3 root 2 sent 8 received 24 x1
 *= * calls MPI_Igatherv x1
 *= 0 gatherv in 3 root 0 sent 4 received 24 x1
 *= 1 gatherv in 3 root 0 sent 8 received 0 x1
 *= 2 gatherv in 3 root 0 sent 12 received 0 x1
 *= * calls MPI_Iscatter x1
 *= 0 scatter in 3 root 0 sent 24 received 8 x1
 *= 1 scatter in 3 root 0 sent 0 received 8 x1
 *= 2 scatter in 3 root 0 sent 0 received 8 x1
 *= * calls MPI_Iscatterv x1
 *= 0 scatterv in 3 root 0 sent 24 received 4 x1
 *= 1 scatterv in 3 root 0 sent 0 received 8 x1
 *= 2 scatterv in 3 root 0 sent 0 received 12 x1
 *= * calls MPI_Iallgather x1
 *= * allgather in 3 root -1 sent 16 received 48 x1
 *= * calls MPI_Iallgatherv x1
 *= 0 allgatherv in 3 root -1 sent 4 received 24 x1
 *= 1 allgatherv in 3 root -1 sent 8 received 24 x1
 *= 2 allgatherv in 3 root -1 sent 12 received 24 x1
 *= * calls MPI_Ialltoall x1
 *= * alltoall in 3 root -1 sent 24 received 24 x1
 *= * calls MPI_Ialltoallv x1
 *= 0 alltoallv in 3 root -1 sent 24 received 12 x1
 *= 1 alltoallv in 3 root -1 sent 24 received 24 x1
 *= 2 alltoallv in 3 root -1 sent 24 received 36 x1
 *= * calls MPI_Ialltoallw x1
 *= * alltoallw in 3 root -1 sent 24 received 24 x1
 *= * calls MPI_Ireduce x1
 *= 0 reduce in 3 root 1 sent 32 received 0 x1
 *= 1 reduce in 3 root 1 sent 32 received 32 x1
 *= 2 reduce in 3 root 1 sent 32 received 0 x1
 *= * calls MPI_Iallreduce x1
 *= * allreduce in 3 root -1 sent 32 received 32 x1
 *= * calls MPI_Ireduce_scatter x1
 *= 0 reduce_scatter in 3 root -1 sent 24 received 4 x1
 *= 1 reduce_scatter in 3 root -1 sent 24 received 8 x1
 *= 2 reduce_scatter in 3 root -1 sent 24 received 12 x1
 *= * calls MPI_Ireduce_scatter_block x1
 *= * reduce_scatter_block in 3 root -1 sent 24 received 8 x1
 *= * calls MPI_Iscan x1
 *= * scan in 3 root -1 sent 4 received 4 x1
 *= * calls MPI_Iexscan x1
 *= * exscan in 3 root -1 sent 4 received 4 x1
 */
#include <mpi.h>

enum { RANKS = 3, OPERATIONS = 17 };

int main(int argc, char **argv)
{
    int rank, n = 0;
    static int in[OPERATIONS][100], out[OPERATIONS][100];
    const int counts[RANKS] = {1, 2, 3}, places[RANKS] = {0, 10, 20};
    const int ones[RANKS] = {1, 1, 1}, bytes[RANKS] = {0, 40, 80};
    const MPI_Datatype types[RANKS] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Request r[OPERATIONS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    const int mine[RANKS] = {rank + 1, rank + 1, rank + 1};
    /* a pair of buffers for each */
#define OUT out[n],
#define IN  in[n],
#define IT  &r[n]
    MPI_Ibarrier(all, IT), n++;
    MPI_Ibcast(OUT 10, MPI_INT, 1, all, IT), n++;
    MPI_Igather(OUT 2, MPI_INT, IN 1, MPI_DOUBLE, 2, all, IT), n++;
    MPI_Igatherv(OUT rank + 1, MPI_INT, IN counts, places, MPI_INT, 0, all, IT), n++;
    MPI_Iscatter(OUT 2, MPI_INT, IN 2, MPI_INT, 0, all, IT), n++;
    MPI_Iscatterv(OUT counts, places, MPI_INT, IN rank + 1, MPI_INT, 0, all, IT), n++;
    MPI_Iallgather(OUT 4, MPI_INT, IN 4, MPI_INT, all, IT), n++;
    MPI_Iallgatherv(OUT rank + 1, MPI_INT, IN counts, places, MPI_INT, all, IT), n++;
    MPI_Ialltoall(OUT 2, MPI_INT, IN 2, MPI_INT, all, IT), n++;
    MPI_Ialltoallv(OUT counts, places, MPI_INT, IN mine, places, MPI_INT, all, IT), n++;
    MPI_Ialltoallw(OUT ones, bytes, types, IN ones, bytes, types, all, IT), n++;
    MPI_Ireduce(OUT IN 4, MPI_DOUBLE, MPI_SUM, 1, all, IT), n++;
    MPI_Iallreduce(OUT IN 4, MPI_DOUBLE, MPI_SUM, all, IT), n++;
    MPI_Ireduce_scatter(OUT IN counts, MPI_INT, MPI_SUM, all, IT), n++;
    MPI_Ireduce_scatter_block(OUT IN 2, MPI_INT, MPI_SUM, all, IT), n++;
    MPI_Iscan(OUT IN 1, MPI_INT, MPI_SUM, all, IT), n++;
    MPI_Iexscan(OUT IN 1, MPI_INT, MPI_SUM, all, IT), n++;
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
