/* What examples/cg.c and examples/pcg.c share: the five-point Poisson problem on nx x ny points
 * with zeros around them, and vector kernels, each a parallel loop of its own. */
#ifndef POISSON_H
#define POISSON_H

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct problem {
    int nx, ny, iterations;
};

enum { LINE = 8 }; /* values in a cache line */

/* From a row to the next: nx values and at least one zero, which is the east of this row and the
 * west of the next one. */
static size_t width_of(const struct problem *problem)
{
    return ((size_t)problem->nx + LINE) / LINE * LINE;
}

/* Rows begin on cache lines: where vectors cross from one line to the next, an iteration takes 15
 * to 20 % longer. */
static size_t row_of(const struct problem *problem, int j)
{
    return LINE + (size_t)(j + 1) * width_of(problem);
}

/* ny rows with one of zeros on both sides, first touched by the thread that works on them, in huge
 * pages where the system has them: with small ones an iteration in memory takes up to a quarter
 * longer. */
static double *grid_of(const struct problem *problem, double value)
{
    size_t width = width_of(problem), count = LINE + (size_t)(problem->ny + 2) * width;
    size_t page = (size_t)2 << 20, bytes = (count * sizeof(double) + page - 1) / page * page;
    double *grid = aligned_alloc(page, bytes);
    if (!grid) {
        fputs("not enough memory for the grid\n", stderr);
        exit(1);
    }
    madvise(grid, bytes, MADV_HUGEPAGE);
#pragma omp parallel for schedule(static)
    for (int j = -1; j <= problem->ny; j++)
        for (size_t i = 0; i < width; i++)
            grid[row_of(problem, j) + i] =
                j < 0 || j == problem->ny || i >= (size_t)problem->nx ? 0 : value;
    grid[LINE - 1] = 0;
    return grid;
}

/* v = A p */
static void apply(const struct problem *problem, double *restrict v, const double *restrict p)
{
    size_t width = width_of(problem);
#pragma omp parallel for schedule(static)
    for (int j = 0; j < problem->ny; j++) {
        size_t row = row_of(problem, j);
        for (size_t i = row; i < row + (size_t)problem->nx; i++)
            v[i] = 4 * p[i] - (p[i - 1] + p[i + 1] + p[i - width] + p[i + width]);
    }
}

/* <a, b> */
static double dot(const struct problem *problem, const double *a, const double *b)
{
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int j = 0; j < problem->ny; j++) {
        size_t row = row_of(problem, j);
#pragma omp simd reduction(+ : sum)
        for (size_t i = row; i < row + (size_t)problem->nx; i++)
            sum += a[i] * b[i];
    }
    return sum;
}

/* a = a + factor b */
static void add(const struct problem *problem, double *restrict a, double factor,
                const double *restrict b)
{
#pragma omp parallel for schedule(static)
    for (int j = 0; j < problem->ny; j++) {
        size_t row = row_of(problem, j);
        for (size_t i = row; i < row + (size_t)problem->nx; i++)
            a[i] += factor * b[i];
    }
}

/* p = r + factor p */
static void update(const struct problem *problem, double *restrict p, double factor,
                   const double *restrict r)
{
#pragma omp parallel for schedule(static)
    for (int j = 0; j < problem->ny; j++) {
        size_t row = row_of(problem, j);
        for (size_t i = row; i < row + (size_t)problem->nx; i++)
            p[i] = r[i] + factor * p[i];
    }
}

static struct problem read_problem(int argc, char **argv)
{
    struct problem problem = {.nx = argc > 1 ? atoi(argv[1]) : 1000,
                              .ny = argc > 2 ? atoi(argv[2]) : 1000,
                              .iterations = argc > 3 ? atoi(argv[3]) : 50};
    if (problem.nx < 1 || problem.ny < 1 || problem.iterations < 1 || argc > 4) {
        fprintf(stderr, "usage: %s [NX [NY [ITERATIONS]]]\n", argv[0]);
        exit(2);
    }
    return problem;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of A x = b with b = 1: how much of it is left. Sorts the times. */
static void report(const char *name, const struct problem *problem, double *seconds,
                   const double *x, const double *b)
{
    double *rest = grid_of(problem, 0);
    apply(problem, rest, x);
    update(problem, rest, -1, b);
    double left = sqrt(dot(problem, rest, rest) / dot(problem, b, b));
    qsort(seconds, (size_t)problem->iterations, sizeof *seconds, compare_times);
    printf("%s: %d x %d points, %d threads, %d iterations, residual %.3e\n", name, problem->nx,
           problem->ny, omp_get_max_threads(), problem->iterations, left);
    printf("time of an iteration: median %.6f ms, shortest %.6f ms\n",
           1e3 * seconds[problem->iterations / 2], 1e3 * seconds[0]);
    free(rest);
}

#endif
