/* MPI_Pcontrol: what happens in between is not there.
 *
 *= ranks 2
 *= * measure off x1
 *= * measure on x1
 *= * calls MPI_Barrier x7
 *= * barrier in 2 root -1 sent 0 received 0 x7
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    for (int i = 0; i < 11; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    for (int i = 0; i < 2; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
