/* cg: conjugate gradients for a Poisson problem, matrix-free, with OpenMP. data/solvers/cg.lua
 * describes it for `lull model solver`.
 *
 *     gcc -O3 -march=native -fopenmp cg.c -o cg -lm
 *     OMP_NUM_THREADS=2 OMP_PROC_BIND=close ./cg [NX [NY [ITERATIONS]]] */
#include "poisson.h"

int main(int argc, char **argv)
{
    struct problem problem = read_problem(argc, argv);
    double *b = grid_of(&problem, 1), *x = grid_of(&problem, 0), *r = grid_of(&problem, 1);
    double *p = grid_of(&problem, 1), *v = grid_of(&problem, 0);
    double *seconds = calloc((size_t)problem.iterations, sizeof *seconds);
    if (!seconds)
        return 1;
    double alpha = dot(&problem, r, r);
    for (int k = 0; k < problem.iterations; k++) {
        double began = omp_get_wtime();
        apply(&problem, v, p);
        double lambda = alpha / dot(&problem, v, p);
        add(&problem, x, lambda, p);
        add(&problem, r, -lambda, v);
        double next = dot(&problem, r, r);
        update(&problem, p, next / alpha, r);
        alpha = next;
        seconds[k] = omp_get_wtime() - began;
    }
    report("cg", &problem, seconds, x, b);
    free(b), free(x), free(r), free(p), free(v), free(seconds);
    return 0;
}
