/* Persistent collectives of Open MPI 4, before they were in the standard: an operation for each
 *start.
 *
 *= ranks 2
 *= * calls MPIX_Barrier_init x1
 *= * calls MPIX_Bcast_init x1
 *= * calls MPIX_Gather_init x1
 *= * calls MPIX_Allreduce_init x1
 *= * calls MPIX_Alltoallv_init x1
 *= * calls MPIX_Reduce_scatter_block_init x1
 *= * calls MPI_Cart_create x1
 *= * calls MPIX_Neighbor_alltoall_init x1
 *= * calls MPI_Comm_free x1
 *= * calls MPI_Startall x3
 *= * calls MPI_Waitall x3
 *= * calls MPI_Start x1
 *= * calls MPI_Test any
 *= * calls MPI_Request_free x7
 *= * barrier in 2 root -1 sent 0 received 0 x4
 *= 0 bcast in 2 root 1 sent 0 received 40 x3
 *= 1 bcast in 2 root 1 sent 40 received 0 x3
 *= 0 gather in 2 root 0 sent 4 received 8 x3
 *= 1 gather in 2 root 0 sent 4 received 0 x3
 *= * allreduce in 2 root -1 sent 16 received 16 x3
 *= 0 alltoallv in 2 root -1 sent 12 received 8 x3
 *= 1 alltoallv in 2 root -1 sent 12 received 16 x3
 *= * reduce_scatter_block in 2 root -1 sent 16 received 8 x3
 *= * create in 2 root -1 sent 0 received 0 x1
 *= * neighbourhood in 2 root -1 sent 8 received 8 x3
 *= * free in 2 root -1 sent 0 received 0 x1
 */
#include <mpi.h>
#if defined OPEN_MPI && OMPI_MAJOR_VERSION == 4
#include <mpi-ext.h>
#endif

int main(int argc, char **argv)
{
#if defined OMPI_HAVE_MPI_EXT_PCOLLREQ && OMPI_MAJOR_VERSION == 4
    int rank, ranks = 2, round = 1, flag = 0;
    static int in[7][20], out[7][20];
    const int counts[2] = {1, 2}, places[2] = {0, 10};
    MPI_Comm all = MPI_COMM_WORLD, ring;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Request r[7];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    const int mine[2] = {rank + 1, rank + 1};
    MPI_Cart_create(all, 1, &ranks, &round, 0, &ring);
    MPIX_Barrier_init(all, none, &r[0]);
    MPIX_Bcast_init(out[1], 10, MPI_INT, 1, all, none, &r[1]);
    MPIX_Gather_init(out[2], 1, MPI_INT, in[2], 1, MPI_INT, 0, all, none, &r[2]);
    MPIX_Allreduce_init(out[3], in[3], 2, MPI_DOUBLE, MPI_SUM, all, none, &r[3]);
    MPIX_Alltoallv_init(out[4], counts, places, MPI_INT, in[4], mine, places, MPI_INT, all, none,
                        &r[4]);
    MPIX_Reduce_scatter_block_init(out[5], in[5], 2, MPI_INT, MPI_SUM, all, none, &r[5]);
    MPIX_Neighbor_alltoall_init(out[6], 1, MPI_INT, in[6], 1, MPI_INT, ring, none, &r[6]);
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
    MPI_Finalize();
    return 0;
#else
    (void)argc, (void)argv;
    return 77;
#endif
}
