/* OpenMP constructs in several functions, for sites_omp.py: a line with "@ NAME xN CONSTRUCT" makes
 * N visits of CONSTRUCT in function NAME, which the run must show at that line; with "~CONSTRUCT"
 * anywhere in that function, because compilers choose the line of its begin differently. "gcc"
 * behind it: libomp does not tell it. No function ends in a call, which might become a jump. */
#include <omp.h>

#define NOINLINE __attribute__((noinline))
enum { THREADS = 3 };

static volatile int sink;
static int shared, named, locked;
static omp_lock_t lock;

NOINLINE static void first(void)
{
#pragma omp barrier /* @ first x6 barrier */
    sink = 1;
#pragma omp critical /* @ first x6 critical */
    shared++;
}

NOINLINE static void second(void)
{
    omp_lock_t own;
    omp_init_lock(&own);
#pragma omp barrier /* @ second x15 barrier */
    sink = 1;
#pragma omp critical /* @ second x15 critical */
    shared++;
#pragma omp critical(named) /* @ second x15 critical */
    named++;
    omp_set_lock(&lock); /* @ second x15 set lock */
    locked++;
    omp_unset_lock(&lock);    /* @ second x15 unset lock gcc */
    if (omp_test_lock(&own))  /* @ second x15 test lock */
        omp_unset_lock(&own); /* @ second x15 unset lock gcc */
    omp_destroy_lock(&own);
    sink = 2;
}

NOINLINE static void shares(void)
{
#pragma omp for schedule(dynamic) nowait /* @ shares x3 ~for */
    for (int i = 0; i < 5; i++)
        sink = i;
#pragma omp single nowait /* @ shares x3 ~single */
    sink = 1;
#pragma omp sections nowait /* @ shares x3 ~sections */
    {
        sink = 2;
    }
}

NOINLINE static void in_order(void)
{
#pragma omp for ordered schedule(dynamic) /* @ in_order x3 ~for */
    for (int i = 0; i < 7; i++) {
#pragma omp ordered /* @ in_order x7 ~ordered */
        sink = i;
    }
}

NOINLINE static void waits(void)
{
#pragma omp task
    sink = 1;
#pragma omp taskwait /* @ waits x3 taskwait */
    sink = 3;
#pragma omp taskwait /* @ waits x3 taskwait */
    sink = 3;
#pragma omp taskgroup
    {
#pragma omp task
        sink = 1;
    } /* @ waits x3 ~taskgroup */
    sink = 4;
}

int main(void)
{
    omp_set_dynamic(0);
    omp_init_lock(&lock);
#pragma omp parallel num_threads(THREADS)
    {
        for (int i = 0; i < 2; i++)
            first();
        for (int i = 0; i < 5; i++)
            second();
        shares();
        waits();
        in_order();
    }
    omp_destroy_lock(&lock);
    return shared != 7 * THREADS || named != 5 * THREADS || locked != 5 * THREADS;
}
