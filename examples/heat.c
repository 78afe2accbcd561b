/* heat: a plate that is heated at one edge, a hybrid MPI + OpenMP program to try lull on.
 *
 *     mpicc -O2 -g -fopenmp heat.c -o heat -lm
 *     OMP_NUM_THREADS=2 mpiexec -n 2 ./heat [ITERATIONS [SIZE [FAULT...]]]
 *
 * Jacobi iterations on a square grid, split by rows. It wastes time on purpose, so that there is
 * something to find:
 *   - the last rank owns more rows than the others         -> process load balance
 *   - the edge temperature is computed by one thread       -> serial region efficiency
 *   - cells get dearer from the first row to the last one  -> imbalance inside OpenMP regions
 *   - halos and a residual are exchanged                   -> process communication
 *
 * How much of each, depends on the machine. A FAULT costs the same everywhere, because a function of
 * its own computes for so much processor time, once an iteration:
 *   - slow    the threads of the last rank refine the step for 24 ms, those of the others do not
 *   - serial  one thread of each rank prepares the step for 28 ms, while the others wait
 *   - uneven  the last thread of each rank checks the step for 20 ms, while the others wait
 * On two ranks with two threads each no more than two of the four compute at the same time. */
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void)
{
    return 0;
}
static int omp_get_num_threads(void)
{
    return 1;
}
#endif

enum { CHECK_EVERY = 10, EDGE_TERMS = 50 };
enum { SLOW_MS = 24, SERIAL_MS = 28, UNEVEN_MS = 20 };
enum { LOOK_EVERY = 10000 }; /* cells between two looks at the clock: these are system calls */

struct faults {
    bool slow, serial, uneven;
};

struct plate {
    int rank, ranks;
    int size;     /* columns, halo excluded */
    int rows;     /* own rows, halo excluded */
    double *now;  /* (rows + 2) x (size + 2) */
    double *next; /* the same */
};

static double *cell(const struct plate *plate, double *grid, int row, int column)
{
    return grid + (size_t)row * (size_t)(plate->size + 2) + column;
}

/* The last rank gets half as many rows again as each of the others. */
static int rows_of(int rank, int ranks, int size)
{
    int others = ranks > 1 ? (int)(size / (ranks + 0.5)) : 0;
    return rank < ranks - 1 ? others : size - others * (ranks - 1);
}

/* What the calling thread has computed so far, in ms. */
static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Faults: the results are thrown away, which compilers must not know. */

static void prepare(const struct plate *plate)
{
    volatile double sum = 0;
    for (const double begin = processor_time(); processor_time() < begin + SERIAL_MS;)
        for (int i = 0; i < LOOK_EVERY; i++)
            sum += *cell(plate, plate->now, 1, 1 + i % plate->size);
}

static void refine(const struct plate *plate)
{
    volatile double sum = 0;
    for (const double begin = processor_time(); processor_time() < begin + SLOW_MS;)
        for (int i = 0; i < LOOK_EVERY; i++)
            sum += *cell(plate, plate->next, 1, 1 + i % plate->size);
}

static void check(const struct plate *plate)
{
    volatile double most = 0;
    for (const double begin = processor_time(); processor_time() < begin + UNEVEN_MS;)
        for (int i = 0; i < LOOK_EVERY; i++) {
            const double value = *cell(plate, plate->next, plate->rows, 1 + i % plate->size);
            most = value > most ? value : most;
        }
}

static void check_by_one_thread(const struct plate *plate)
{
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1)
        check(plate);
}

static void refine_on_last_rank(const struct plate *plate)
{
    if (plate->rank < plate->ranks - 1)
        return;
#pragma omp parallel
    refine(plate);
}

/* Serial: the temperature along the hot edge changes from iteration to iteration. */
static void heat_edge(struct plate *plate, int iteration)
{
    if (plate->rank != 0)
        return;
    for (int column = 1; column <= plate->size; column++) {
        double sum = 0;
        for (int k = 1; k <= EDGE_TERMS; k++)
            sum += sin(k * (column + iteration) * 0.01) / k;
        *cell(plate, plate->now, 0, column) = 100 + sum;
    }
}

static void exchange_halos(struct plate *plate)
{
    int up = plate->rank > 0 ? plate->rank - 1 : MPI_PROC_NULL;
    int down = plate->rank < plate->ranks - 1 ? plate->rank + 1 : MPI_PROC_NULL;
    int size = plate->size, rows = plate->rows;
    double *now = plate->now;
    MPI_Request requests[4];
    MPI_Irecv(cell(plate, now, 0, 1), size, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(cell(plate, now, rows + 1, 1), size, MPI_DOUBLE, down, 1, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(cell(plate, now, 1, 1), size, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(cell(plate, now, rows, 1), size, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* Parallel: one Jacobi step; returns the sum of squared changes. */
static double step(struct plate *plate)
{
    double change = 0;
#pragma omp parallel for reduction(+ : change) schedule(static)
    for (int row = 1; row <= plate->rows; row++) {
        int sweeps = 1 + 3 * row / (plate->rows + 1);
        for (int sweep = 0; sweep < sweeps; sweep++)
            for (int column = 1; column <= plate->size; column++) {
                double old = *cell(plate, plate->now, row, column);
                double new = 0.25 * (*cell(plate, plate->now, row - 1, column) +
                                     *cell(plate, plate->now, row + 1, column) +
                                     *cell(plate, plate->now, row, column - 1) +
                                     *cell(plate, plate->now, row, column + 1));
                *cell(plate, plate->next, row, column) = new;
                change += (new - old) * (new - old) / sweeps;
            }
    }
    double *swap = plate->now;
    plate->now = plate->next;
    plate->next = swap;
    return change;
}

/* Sets those that are named. False if there is a word that is no fault. */
static bool read_faults(char **words, struct faults *faults)
{
    for (; *words; words++) {
        if (strcmp(*words, "slow") == 0)
            faults->slow = true;
        else if (strcmp(*words, "serial") == 0)
            faults->serial = true;
        else if (strcmp(*words, "uneven") == 0)
            faults->uneven = true;
        else
            return false;
    }
    return true;
}

/* EZTrace 2.0, which may record this program for comparison, registers a construct when it is first
 * used, and aborts when two threads do that at the same time: so one thread goes first. */
static void use_constructs_once(void)
{
#pragma omp parallel for num_threads(1)
    for (int i = 0; i < 1; i++)
        ;
}

int main(int argc, char **argv)
{
    int provided;
    struct plate plate;
    struct faults faults = {false, false, false};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &plate.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &plate.ranks);
    int iterations = argc > 1 ? atoi(argv[1]) : 400;
    plate.size = argc > 2 ? atoi(argv[2]) : 1000;
    plate.rows = rows_of(plate.rank, plate.ranks, plate.size);
    size_t cells = (size_t)(plate.rows + 2) * (size_t)(plate.size + 2);
    plate.now = calloc(cells, sizeof *plate.now);
    plate.next = calloc(cells, sizeof *plate.next);
    if (iterations < 1 || plate.rows < 1 || !plate.now || !plate.next ||
        !read_faults(argv + (argc > 3 ? 3 : argc), &faults)) {
        fprintf(stderr,
                "heat: need a positive number of iterations, a row per rank, memory, and as "
                "faults slow, serial or uneven\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    use_constructs_once();
    double change = 0;
    for (int iteration = 0; iteration < iterations; iteration++) {
        heat_edge(&plate, iteration);
        exchange_halos(&plate);
        if (faults.serial)
            prepare(&plate);
        double mine = step(&plate);
        if (faults.uneven)
            check_by_one_thread(&plate);
        if (faults.slow)
            refine_on_last_rank(&plate);
        if (iteration % CHECK_EVERY == 0)
            MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (plate.rank == 0)
        printf("%d iterations on %d x %d cells, last change %.3e\n", iterations, plate.size,
               plate.size, sqrt(change));
    free(plate.now);
    free(plate.next);
    MPI_Finalize();
    return 0;
}
