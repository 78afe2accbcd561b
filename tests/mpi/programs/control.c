/* Levels of MPI_Pcontrol that mean something to another tool, with arguments behind them.
 *
 *= * calls MPI_Barrier x3
 *= * barrier in 2 root -1 sent 0 received 0 x3
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(7, "phase", 1.5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
