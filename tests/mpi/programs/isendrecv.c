/* Both halves of a non-blocking exchange.
 *
 *= ranks 2
 *= * calls MPI_Isendrecv x1
 *= * calls MPI_Isendrecv_replace x1
 *= * calls MPI_Waitall x1
 *= 0 sends 1 tag 1 bytes 24 in 2 x1
 *= 0 sends 1 tag 2 bytes 16 in 2 x1
 *= 0 receives 1 tag 1 bytes 20 in 2 x1
 *= 0 receives 1 tag 2 bytes 16 in 2 x1
 *= 1 sends 0 tag 1 bytes 20 in 2 x1
 *= 1 sends 0 tag 2 bytes 16 in 2 x1
 *= 1 receives 0 tag 1 bytes 24 in 2 x1
 *= 1 receives 0 tag 2 bytes 16 in 2 x1
 */
#include <mpi.h>

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
    int rank, in[50], out[50] = {0}, both[4] = {0};
    MPI_Request r[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Isendrecv(out, 6 - rank, MPI_INT, 1 - rank, 1, in, 5 + rank, MPI_INT, 1 - rank, 1,
                  MPI_COMM_WORLD, &r[0]);
    MPI_Isendrecv_replace(both, 2, MPI_LONG, 1 - rank, 2, 1 - rank, 2, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
#else
    (void)argc, (void)argv;
    return 77;
#endif
}
