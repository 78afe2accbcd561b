/* Computes in functions, lines and loops, some of it inlined, some in parallel regions, with calls of MPI from
 * several places: the program of the kept run code-2x2. Rank 1 smooths twice as often as rank 0. */
#include <mpi.h>
#include <stdio.h>

enum { STEPS = 20, CELLS = 40000 };

static double plate[2][CELLS];

static inline double weigh(double left, double right)
{
    double sum = left;
    for (int i = 0; i < 8; i++)
        sum = 0.5 * (sum + right);
    return sum;
}

__attribute__((noinline)) static void smooth(int from, int times)
{
#pragma omp parallel for schedule(static)
    for (int c = 1; c < CELLS - 1; c++)
        for (int t = 0; t < times; t++)
            plate[1 - from][c] = weigh(plate[from][c - 1], plate[from][c + 1]);
}

__attribute__((noinline)) static double measure(int from)
{
    double sum = 0;
    for (int c = 0; c < CELLS; c++)
        sum += plate[from][c] / (1 + c);
    return sum;
}

__attribute__((noinline)) static void exchange(int rank, int from)
{
    double *own = &plate[from][rank ? 1 : CELLS - 2], *other = &plate[from][rank ? 0 : CELLS - 1];
    MPI_Sendrecv(own, 1, MPI_DOUBLE, 1 - rank, 0, other, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    double sum = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < STEPS; step++) {
        plate[step % 2][0] = step;
        exchange(rank, step % 2);
        smooth(step % 2, rank ? 60 : 30);
        for (int i = 0; i < 20; i++)
            sum += measure(1 - step % 2);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%g\n", all);
    MPI_Finalize();
    return 0;
}
