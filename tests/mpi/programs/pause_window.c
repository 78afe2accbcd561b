/* A window that is made in a pause, over a communicator whose ranks run backwards: what is put into
 *it later goes to the right processes.
 *
 *= ranks 3
 *= * calls MPI_Comm_split x1
 *= * create in 3 root -1 sent 0 received 0 x1
 *= * measure off x1
 *= * measure on x1
 *= * calls MPI_Win_fence x2
 *= * calls MPI_Put x1
 *= 0 rma put to 1 bytes 8 x1
 *= 1 rma put to 0 bytes 8 x1
 *= 2 rma put to 2 bytes 8 x1
 *= * calls MPI_Win_free x1
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    static double value = 1, memory[8];
    MPI_Comm backwards;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    MPI_Pcontrol(0);
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, backwards, &window);
    MPI_Pcontrol(1);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % 3, 0, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
