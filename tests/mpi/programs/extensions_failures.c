/* Functions for programs that survive the loss of a rank, where none is lost; MPICH 4.0 has them,
 * and aborts in them.
 *
 *= ranks 2
 *= * calls MPIX_Comm_agree x1
 *= * calls MPIX_Comm_shrink x1
 *= * calls MPIX_Comm_revoke x1
 *= * calls MPI_Barrier x1
 *= * calls MPI_Comm_free x1
 *= * create in 2 root -1 sent 0 received 0 x1
 *= * barrier in 2 root -1 sent 0 received 0 x1
 *= * free in 2 root -1 sent 0 received 0 x1
 */
#include <mpi.h>
#if defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5
#include <mpi-ext.h>
#endif

int main(int argc, char **argv)
{
#if defined OMPI_HAVE_MPI_EXT_FTMPI || defined REPLACED
    int flag = 1;
    MPI_Comm rest;
    MPI_Init(&argc, &argv);
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &rest);
    MPI_Barrier(rest);
    MPIX_Comm_revoke(rest);
    MPI_Comm_free(&rest);
    MPI_Finalize();
    return 0;
#else
    (void)argc, (void)argv;
    return 77;
#endif
}
