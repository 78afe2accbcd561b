/* Functions around calls of MPI, and one that MPI calls. */
#include <mpi.h>

#define APART __attribute__((noinline))

static void add(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((long *)out)[i] += ((long *)in)[i];
}

APART static void sum_up(MPI_Op op)
{
    long one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_LONG, op, MPI_COMM_WORLD);
}

APART static void exchange(MPI_Op op)
{
    for (int i = 0; i < 3; i++)
        sum_up(op);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < 5; i++)
        exchange(op);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
