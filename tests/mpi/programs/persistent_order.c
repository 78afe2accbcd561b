/* Persistent collectives are made in one order and may be started in any: each matches its own
 *kind.
 *
 *= replays
 *= * calls MPI_Allreduce_init x1
 *= * calls MPI_Bcast_init x1
 *= * calls MPI_Start x20
 *= * calls MPI_Waitall x10
 *= * calls MPI_Request_free x2
 *= * calls MPI_Barrier x1
 *= * barrier in 2 root -1 sent 0 received 0 x1
 *= * allreduce in 2 root -1 sent 8 received 8 x10
 *= 0 bcast in 2 root 1 sent 0 received 4096 x10
 *= 1 bcast in 2 root 1 sent 4096 received 0 x10
 */
#include <mpi.h>

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
    static int data[1024];
    double out = 1, in;
    int rank;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce_init(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[0]);
    MPI_Bcast_init(data, 1024, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 10; i++) {
        MPI_Start(&requests[rank]);
        MPI_Start(&requests[1 - rank]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
#else
    (void)argc;
    (void)argv;
    return 77;
#endif
}
