/* A program that does nothing, and by a compiler of MPI nothing in MPI. */
#if __has_include(<mpi.h>)
#include <mpi.h>
#else
#define MPI_Init(count, words)
#define MPI_Finalize()
#endif

int main(void)
{
    MPI_Init(0, 0);
    MPI_Finalize();
    return 0;
}
