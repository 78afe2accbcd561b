/* An error handler that leaves by an exception.
 *
 *= alone
 *= * calls MPI_Bcast x3
 *= * calls MPI_Barrier x12
 *= * barrier in 2 root -1 sent 0 received 0 x12
 */
#include <cstdio>
#include <mpi.h>

static void leave(MPI_Comm *, int *error, ...)
{
    throw *error;
}

int main(int argc, char **argv)
{
    int data = 0, caught = 0;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 3; i++) {
        try {
            MPI_Bcast(&data, 1, MPI_INT, 77, MPI_COMM_WORLD);
        } catch (int) {
            caught++;
        }
        for (int j = 0; j < 4; j++)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    std::printf("caught %d\n", caught);
    MPI_Finalize();
    return 0;
}
