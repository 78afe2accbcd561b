/* One thread has twice the work of the other: load balance 0.75, and less where other programs keep
 * a thread from its core. So each thread says by its own clock how long its work took. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

static double work(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};
    double begin = omp_get_wtime();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    return omp_get_wtime() - begin;
}

int main(void)
{
    double took[2] = {0}, waited = 0, all = 0;
    omp_set_num_threads(2);
    for (int i = 0; i < 10; i++) {
        double now[2] = {0};
#pragma omp parallel
        now[omp_get_thread_num()] = work(30 * (1 + omp_get_thread_num()));
        double longest = now[0] > now[1] ? now[0] : now[1];
        took[0] += now[0];
        took[1] += now[1];
        waited += 2 * longest - now[0] - now[1];
        all += 2 * longest;
    }
    printf("threads 2\nexpect 20 !$omp parallel\nbalance %g 0.02\n",
           (took[0] + took[1]) / 2 / (took[0] > took[1] ? took[0] : took[1]));
    /* about a fourth of all threads' time is spent in the barrier */
    printf("above %g !$omp implicit barrier\n", 0.8 * waited / all);
    return 0;
}
