/* late_omp barrier|critical|region: the program ends inside of a parallel region, while its other
 * thread waits in a call of the runtime, or computes. Prints what must be found. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic int begun;

static void compute(void)
{
    static volatile double x;
    for (;;)
        x = x * 0.5 + 1;
}

static void end_program(const char *expected)
{
    printf("threads 2\nopen 1\nexpect 2 !$omp parallel\n%s\n", expected);
    exit(0);
}

static void wait_at_barrier(void)
{
    if (omp_get_thread_num() == 0) {
        while (!begun)
            continue;
        usleep(
            20000); /* with which the other one is there, unless it has no core: the run is the same */
        end_program("");
    }
    begun = 1;
#pragma omp barrier
}

static void wait_for_critical(void)
{
    static _Atomic int taken;
    while (omp_get_thread_num() == 1 && !taken)
        continue;
    begun = omp_get_thread_num();
#pragma omp critical
    {
        taken = 1;
        while (!begun)
            continue;
        usleep(20000);
        end_program("atleast 1 !$omp critical");
    }
}

static void be_in_region(void)
{
    if (omp_get_thread_num() == 0) {
        while (!begun)
            continue;
        end_program("");
    }
    begun = 1;
    compute();
}

int main(int argc, char **argv)
{
    const char *form = argc == 2 ? argv[1] : "";
    omp_set_num_threads(2);
#pragma omp parallel
    {
        if (strcmp(form, "barrier") == 0)
            wait_at_barrier();
        else if (strcmp(form, "critical") == 0)
            wait_for_critical();
        else
            be_in_region();
    }
    return 2;
}
