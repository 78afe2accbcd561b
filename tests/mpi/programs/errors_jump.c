/* An error handler that leaves by longjmp: the call is over, and what follows is recorded, also
 *where it is called from deeper in the stack than the call that was left.
 *
 *= alone
 *= * calls MPI_Bcast x3
 *= * calls MPI_Barrier x12
 *= * barrier in 2 root -1 sent 0 received 0 x12
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static jmp_buf before;

static void leave(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(before, 1);
}

static __attribute__((noinline)) void synchronise(int depth)
{
    char filled[256];
    memset(filled, depth, sizeof filled);
    if (depth > 0 && filled[depth] == depth)
        synchronise(depth - 1);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    __asm__ volatile("" : : "r"(filled) : "memory");
}

int main(int argc, char **argv)
{
    int data = 0;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (volatile int i = 0; i < 3; i++) {
        if (setjmp(before) == 0) {
            MPI_Bcast(&data, 1, MPI_INT, 77, MPI_COMM_WORLD);
            printf("no jump\n");
        }
        for (int j = 0; j < 4; j++)
            synchronise(3 * i);
    }
    MPI_Finalize();
    return 0;
}
