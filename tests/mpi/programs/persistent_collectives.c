/* Persistent collectives: an operation for each start.
 *
 *= ranks 2
 *= * calls MPI_Barrier_init x1
 *= * calls MPI_Bcast_init x1
 *= * calls MPI_Gather_init x1
 *= * calls MPI_Allreduce_init x1
 *= * calls MPI_Alltoallv_init x1
 *= * calls MPI_Reduce_scatter_block_init x1
 *= * calls MPI_Cart_create x1
 *= * calls MPI_Neighbor_alltoall_init x1
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
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define INIT(name) MPI_##name##_init
#include "persistent_collectives.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    run();
    MPI_Finalize();
    return 0;
}
#else
int main(void)
{
    return 77;
}
#endif
