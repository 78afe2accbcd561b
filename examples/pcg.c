/* pcg: conjugate gradients as in cg.c, with a symmetric Gauss-Seidel preconditioner.
 * data/solvers/pcg.lua describes it for `lull model solver`.
 *
 *     gcc -O3 -march=native -fopenmp pcg.c -o pcg -lm
 *     OMP_NUM_THREADS=2 OMP_PROC_BIND=close ./pcg [NX [NY [ITERATIONS]]]
 *
 * A sweep needs its neighbours in the west and the south: threads split the rows between them and
 * work as a pipeline, thread t one row behind thread t - 1, with a barrier after every row. */
#include "poisson.h"

struct slice {
    int first, last; /* points of a row */
};

static struct slice slice_of(const struct problem *problem, int thread, int threads)
{
    return (struct slice){(int)((long)problem->nx * thread / threads),
                          (int)((long)problem->nx * (thread + 1) / threads)};
}

static void sweep_row_forward(double *w, const double *r, size_t width, size_t first, size_t last)
{
    double west = w[first - 1];
    for (size_t i = first; i < last; i++) {
        west = r[i] + 0.25 * w[i - width] + 0.25 * west;
        w[i] = west;
    }
}

static void sweep_row_backward(double *z, const double *w, size_t width, size_t first, size_t last)
{
    double east = z[last];
    for (size_t i = last; i-- > first;) {
        east = w[i] + 0.25 * z[i + width] + 0.25 * east;
        z[i] = east;
    }
}

/* (D + L) w = D r, then (D + U) z = D w: four times what Gauss-Seidel gives, which makes no
 * difference to the iteration, and each point waits for one multiply-add alone. */
static void precondition(const struct problem *problem, double *z, double *w, const double *r)
{
    size_t width = width_of(problem);
#pragma omp parallel
    {
        int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        struct slice slice = slice_of(problem, thread, threads);
        for (int step = 0; step < problem->ny + threads - 1; step++) {
            int j = step - thread;
            if (j >= 0 && j < problem->ny) {
                size_t row = row_of(problem, j);
                sweep_row_forward(w, r, width, row + (size_t)slice.first, row + (size_t)slice.last);
            }
#pragma omp barrier
        }
        for (int step = 0; step < problem->ny + threads - 1; step++) {
            int j = problem->ny - 1 - (step - (threads - 1 - thread));
            if (j >= 0 && j < problem->ny) {
                size_t row = row_of(problem, j);
                sweep_row_backward(z, w, width, row + (size_t)slice.first,
                                   row + (size_t)slice.last);
            }
#pragma omp barrier
        }
    }
}

int main(int argc, char **argv)
{
    struct problem problem = read_problem(argc, argv);
    double *b = grid_of(&problem, 1), *x = grid_of(&problem, 0), *r = grid_of(&problem, 1);
    double *p = grid_of(&problem, 0), *v = grid_of(&problem, 0);
    double *w = grid_of(&problem, 0), *z = grid_of(&problem, 0);
    double *seconds = calloc((size_t)problem.iterations, sizeof *seconds);
    if (!seconds)
        return 1;
    precondition(&problem, z, w, r);
    double alpha = dot(&problem, r, z);
    update(&problem, p, 0, z);
    for (int k = 0; k < problem.iterations; k++) {
        double began = omp_get_wtime();
        apply(&problem, v, p);
        double lambda = alpha / dot(&problem, v, p);
        add(&problem, x, lambda, p);
        add(&problem, r, -lambda, v);
        precondition(&problem, z, w, r);
        double next = dot(&problem, r, z);
        update(&problem, p, next / alpha, z);
        alpha = next;
        seconds[k] = omp_get_wtime() - began;
    }
    report("pcg", &problem, seconds, x, b);
    free(b), free(x), free(r), free(p), free(v), free(w), free(z), free(seconds);
    return 0;
}
