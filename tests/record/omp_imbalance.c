/* One thread has twice the work of the other: load balance 0.75. The work is sleep: it takes the
 * same time however busy the machine is with other things. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

static void work(long ms)
{
    const struct timespec time = {.tv_nsec = ms * 1000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

int main(void)
{
    omp_set_num_threads(2);
    for (int i = 0; i < 10; i++) {
#pragma omp parallel
        work(30 * (1 + omp_get_thread_num()));
    }
    puts("threads 2\nexpect 20 !$omp parallel\nbalance 0.75 0.02");
    /* a fourth of all threads' time is spent in the barrier */
    puts("above 0.2 !$omp implicit barrier");
    return 0;
}
