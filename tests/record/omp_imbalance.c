/* One thread has twice the work of the other: load balance 0.75, and less where other programs keep
 * a thread from its core. So each thread says by its own clock how long its work took. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

/* How long it took, and in *ret_end when it had ended. */
static double work(long ms, double *ret_end)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};
    double begin = omp_get_wtime();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    *ret_end = omp_get_wtime();
    return *ret_end - begin;
}

int main(void)
{
    double took[2] = {0}, waited = 0;
    omp_set_num_threads(2);
    for (int i = 0; i < 10; i++) {
        double ends[2] = {0};
#pragma omp parallel
        {
            int thread = omp_get_thread_num();
            took[thread] += work(30 * (1 + thread), &ends[thread]);
        }
        waited += fabs(ends[1] - ends[0]);
    }
    printf("threads 2\nexpect 20 !$omp parallel\nbalance %g 0.02\n",
           (took[0] + took[1]) / 2 / (took[0] > took[1] ? took[0] : took[1]));
    /* about a fourth of all threads' time is spent in the barrier */
    printf("waited %.0f !$omp implicit barrier\n", 0.8 * waited * 1e9);
    return 0;
}
