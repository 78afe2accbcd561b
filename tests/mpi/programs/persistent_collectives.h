/* Seven persistent collectives on two ranks, each started four or three times. INIT(Barrier) and
 * its like are the functions that make them. */
#include <mpi.h>

static void run(void)
{
    int rank, ranks = 2, round = 1, flag = 0;
    static int in[7][20], out[7][20];
    const int counts[2] = {1, 2}, places[2] = {0, 10};
    MPI_Comm all = MPI_COMM_WORLD, ring;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request r[7];
    MPI_Comm_rank(all, &rank);
    const int mine[2] = {rank + 1, rank + 1};
    MPI_Cart_create(all, 1, &ranks, &round, 0, &ring);
    INIT(Barrier)(all, none, &r[0]);
    INIT(Bcast)(out[1], 10, MPI_INT, 1, all, none, &r[1]);
    INIT(Gather)(out[2], 1, MPI_INT, in[2], 1, MPI_INT, 0, all, none, &r[2]);
    INIT(Allreduce)(out[3], in[3], 2, MPI_DOUBLE, MPI_SUM, all, none, &r[3]);
    INIT(Alltoallv)
    (out[4], counts, places, MPI_INT, in[4], mine, places, MPI_INT, all, none, &r[4]);
    INIT(Reduce_scatter_block)(out[5], in[5], 2, MPI_INT, MPI_SUM, all, none, &r[5]);
    INIT(Neighbor_alltoall)(out[6], 1, MPI_INT, in[6], 1, MPI_INT, ring, none, &r[6]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(7, r);
        MPI_Waitall(7, r, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&r[0]);
    while (!flag)
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 7; i++)
        MPI_Request_free(&r[i]);
    MPI_Comm_free(&ring);
}
