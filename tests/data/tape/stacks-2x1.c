/* Two ranks with other call graphs: rank 0 is in main -> solve -> relax -> leaf, rank 1 in main -> solve -> leaf, and
 * last in main -> finish -> leaf. Each path computes for MS ms of processor time. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))
/* What follows a call keeps the compiler from making a jump of it. */
#define STAY __asm__ volatile("" ::: "memory")

static volatile double sink;

static double spent(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

APART static void leaf(int n)
{
    double sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += 1.0 / (i + n + 1);
    sink = sum;
}

APART static void relax(int n)
{
    leaf(n);
    STAY;
}

APART static void solve(int rank)
{
    if (rank == 0)
        relax(rank);
    else
        leaf(rank);
    STAY;
}

APART static void finish(int n)
{
    leaf(n + 2);
    STAY;
}

int main(int argc, char **argv)
{
    const double ms = argc > 1 ? atof(argv[1]) : 100;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (double end = spent() + ms; spent() < end;)
        solve(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (double end = spent() + ms; rank == 1 && spent() < end;)
        finish(rank);
    MPI_Finalize();
    return 0;
}
