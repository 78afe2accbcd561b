/* Partitioned messages: one message for each start, however many parts it was made ready in.
 *
 *= ranks 2
 *= 0 calls MPI_Psend_init x1
 *= 0 calls MPI_Pready x6
 *= 0 calls MPI_Pready_range x3
 *= 0 calls MPI_Pready_list x3
 *= 1 calls MPI_Precv_init x1
 *= 1 calls MPI_Parrived any
 *= * calls MPI_Start x3
 *= * calls MPI_Wait x3
 *= * calls MPI_Request_free x1
 *= 0 sends 1 tag 4 bytes 240 in 2 x3
 *= 1 receives 0 tag 4 bytes 240 in 2 x3
 */
#include <mpi.h>

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
    enum { PARTS = 6, ROUNDS = 3 };
    int rank, data[PARTS * 10] = {0}, last[2] = {4, 5};
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Psend_init(data, PARTS, 10, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(data, PARTS, 10, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < ROUNDS; round++) {
        int there = 0;
        MPI_Start(&request);
        if (rank == 0) {
            MPI_Pready(0, request);
            MPI_Pready(1, request);
            MPI_Pready_range(2, 3, request);
            MPI_Pready_list(2, last, request);
        } else {
            while (!there)
                MPI_Parrived(request, 2, &there);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
#else
    (void)argc, (void)argv;
    return 77;
#endif
}
