/* threads CALLS: functions inside of parallel regions and tasks of OpenMP. */
#include <omp.h>
#include <stdio.h>

#define APART __attribute__((noinline))
enum { THREADS = 2, ROUNDS = 5 };
static volatile long sums[64];

APART static void cell(void)
{
    sums[omp_get_thread_num()]++;
}

APART static void row(void)
{
    for (int i = 0; i < 3; i++)
        cell();
}

APART static void job(void)
{
    cell();
}

APART static void round_of(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        row();
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 4; i++) {
#pragma omp task
            job();
        }
#pragma omp critical
        cell();
    }
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++)
        round_of();
    return 0;
}
