/* OpenMP constructs in several functions, for sites_omp.py: a line with "@ NAME xN CONSTRUCT" makes
 * N visits of CONSTRUCT in function NAME, which the run must show at that line; with "~CONSTRUCT"
 * anywhere in that function, because compilers choose the line of its begin differently; with
 * "+CONSTRUCT" at that line or the next one, where the code of a block begins. "gcc" or "clang"
 * behind it: the other one's runtime does not tell it so. A thread asks for chunks until there are
 * none left: there are as many requests as chunks and threads. No function ends in a call, which
 * might become a jump. */
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
    /* @ shares x3 ~for @ shares x8 ~next chunk */
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 5; i++)
        sink = i;
#pragma omp single nowait /* @ shares x3 ~single */
    sink = 1;
    /* @ shares x3 ~sections @ shares x4 ~next section gcc */
#pragma omp sections nowait
    {
        sink = 2;
    }
}

NOINLINE static void in_order(void)
{
    /* @ in_order x3 ~for @ in_order x10 ~next chunk @ in_order x3 ~implicit barrier */
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < 7; i++) {
#pragma omp ordered /* @ in_order x7 ~ordered */
        sink = i;
    }
}

NOINLINE static void waits(void)
{
#pragma omp task /* @ waits x3 +create task */
    sink = 1;
#pragma omp taskwait /* @ waits x3 taskwait */
    sink = 3;
#pragma omp taskwait /* @ waits x3 taskwait */
    sink = 3;
#pragma omp taskgroup
    {
#pragma omp task /* @ waits x3 +create task */
        sink = 1;
    } /* @ waits x3 ~taskgroup */
    sink = 4;
}

/* 34 chunks. */
NOINLINE static void in_threes(void)
{
    /* @ in_threes x3 ~for @ in_threes x37 ~next chunk @ in_threes x3 ~implicit barrier */
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 100; i++)
        sink = i;
    sink = 5;
}

/* 8 chunks: see main. */
NOINLINE static void as_told(void)
{
    /* @ as_told x3 ~for @ as_told x11 ~next chunk @ as_told x3 ~implicit barrier */
#pragma omp for schedule(runtime)
    for (unsigned i = 0; i < 50; i++)
        sink = (int)i;
    sink = 6;
}

/* 6 chunks and 5. */
NOINLINE static void long_counters(void)
{
    /* @ long_counters x3 ~for @ long_counters x9 ~next chunk */
#pragma omp for schedule(dynamic, 5) nowait
    for (unsigned long long i = 0; i < 30; i++)
        sink = (int)i;
        /* @ long_counters x3 ~for @ long_counters x8 ~next chunk */
#pragma omp for schedule(nonmonotonic : dynamic, 4)
    for (long i = 20; i > 0; i--)
        sink = (int)i; /* @ long_counters x3 ~implicit barrier */
    sink = 7;
}

NOINLINE static void worksharing(void)
{
    /* @ worksharing x3 ~sections @ worksharing x5 ~next section gcc */
#pragma omp sections
    {
        sink = 1;
#pragma omp section
        sink = 2;
    } /* @ worksharing x3 ~implicit barrier */
    sink = 8;
    /* @ worksharing x3 ~for clang @ worksharing x3 ~implicit barrier clang */
#pragma omp for schedule(static)
    for (int i = 0; i < 10; i++)
        sink = i; /* @ worksharing x3 ~barrier gcc */
    sink = 9;
}

NOINLINE static void regions(void)
{
    for (int i = 0; i < 4; i++) {
#pragma omp parallel num_threads(THREADS) /* @ regions x12 +implicit barrier */
        sink = i;
    }
#pragma omp parallel num_threads(2) /* @ regions x2 +implicit barrier */
    sink = 1;
#pragma omp parallel num_threads(1) /* @ regions x1 +implicit barrier */
    sink = 2;
    sink = 10;
}

/* 11 chunks. */
NOINLINE static void combined(void)
{
#define IN_FOURS parallel for schedule(dynamic, 4) num_threads(THREADS)
#pragma omp IN_FOURS /* @ combined x3 +for @ combined x14 +next chunk */
    for (int i = 0; i < 41; i++)
        sink = i; /* @ combined x3 ~implicit barrier */
    sink = 11;
}

int main(void)
{
    omp_set_dynamic(0);
    omp_set_schedule(omp_sched_dynamic, 7);
    omp_init_lock(&lock);
#pragma omp parallel num_threads(THREADS) /* @ main x3 +implicit barrier */
    {
        for (int i = 0; i < 2; i++)
            first();
        for (int i = 0; i < 5; i++)
            second();
        shares();
        waits();
        in_order();
        in_threes();
        as_told();
        long_counters();
        worksharing();
    }
    regions();
    combined();
    omp_destroy_lock(&lock);
    return shared != 7 * THREADS || named != 5 * THREADS || locked != 5 * THREADS;
}
