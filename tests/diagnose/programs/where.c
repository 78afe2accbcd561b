/* Ranks compute in functions, and meet in an allreduce; nothing is instrumented. How long each function
 * computes, the thread's own processor clock decides, so that it does not matter when it has a core.
 *
 * usage: where even|late|grown FILE
 *   even   all ranks fill for 4 ms and smooth for 6 ms in each iteration
 *   late   rank 1 smooths for 4.8 ms longer and fills for 1.2 ms longer: 60 % longer, four fifths in smooth
 *   grown  as even, and all ranks smooth for 6 ms longer
 *
 * FILE.RANK gets a line for each function: its name, and the seconds of processor time spent there; and
 * one for both, with the seconds that passed meanwhile. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* SWEEPS: so many between two looks at the clock, which is a call of the system. */
enum { CELLS = 4096, SWEEPS = 32, ITERATIONS = 50 };

static double grid[CELLS], next[CELLS];

static double clock_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double processor_now(void)
{
    return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

__attribute__((noinline)) static void smooth(double until)
{
    do
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            for (int i = 1; i < CELLS - 1; i++)                          /* smooth: first line */
                next[i] = (grid[i - 1] + 2 * grid[i] + grid[i + 1]) / 4; /* smooth: last line */
            grid[sweep] = next[sweep];
        }
    while (processor_now() < until);
}

__attribute__((noinline)) static void fill(double until)
{
    do
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (int i = 0; i < CELLS; i++)
                grid[i] += 1e-3 * next[i];
    while (processor_now() < until);
}

int main(int argc, char **argv)
{
    int rank;
    double spent[3] = {0, 0, 0};
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) {
        fprintf(stderr, "usage: where even|late|grown FILE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int late = strcmp(argv[1], "late") == 0 && rank == 1, grown = !strcmp(argv[1], "grown");
    for (int i = 0; i < ITERATIONS; i++) {
        double sum = grid[i], all;
        const double began = clock_now(CLOCK_MONOTONIC), begin = processor_now();
        fill(begin + 4e-3 + late * 1.2e-3);
        const double middle = processor_now();
        smooth(middle + 6e-3 + late * 4.8e-3 + grown * 6e-3);
        const double end = processor_now();
        spent[0] += middle - begin;
        spent[1] += end - middle;
        spent[2] += clock_now(CLOCK_MONOTONIC) - began;
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    snprintf(name, sizeof name, "%s.%d", argv[2], rank);
    FILE *file = fopen(name, "w");
    if (file) {
        fprintf(file, "fill %.9f\nsmooth %.9f\nboth %.9f\n", spent[0], spent[1], spent[2]);
        fclose(file);
    }
    MPI_Finalize();
    return 0;
}
