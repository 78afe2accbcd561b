/* Loaded by sites.c while it runs. */
#include <mpi.h>

void library_call(void);

static volatile int sink;

void library_call(void)
{
    for (int i = 0; i < 4; i++)
        MPI_Barrier(MPI_COMM_SELF); /* @ library_call x4 */
    sink++;                         /* the last call is none that only jumps */
}
