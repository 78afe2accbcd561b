/* The constructs of OpenMP 5 that omp_constructs.c leaves out: teams on the host, tasks that
 * detach, wait for each other or are not tied to a thread, loops with dependences and large
 * counters, masked, scope. Prints the number of times that each must be seen. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3 };

#if defined(__clang__)
#define LLVM 1
#else
#define LLVM 0
#endif

static volatile double sink;

static void demand(int good, int status)
{
    if (!good)
        exit(status);
}

/* Two teams, one after the other or at once, with a region each; of how many threads is the
 * runtime's choice. */
static int threads;

static void teams(void)
{
#pragma omp teams num_teams(2)
    {
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            threads++;
        }
    }
    demand(threads >= 2, 3);
}

/* The task ends when its event is fulfilled, by another task. */
static void detached(void)
{
    int done = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int i = 0; i < 5; i++) {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : done)
        sink = i;
#pragma omp task firstprivate(event)
        omp_fulfill_event(event);
#pragma omp task depend(inout : done)
        done++;
#pragma omp taskwait
    }
    demand(done == 5, 4);
}

static void untied(void)
{
    int done = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task untied priority(3) mergeable shared(done)
        {
#pragma omp taskyield
#pragma omp atomic
            done++;
        }
    }
    demand(done == 20, 5);
}

static void dependent_loop(void)
{
    unsigned long long grid[8][8] = {{1}};
#pragma omp parallel for ordered(2) num_threads(THREADS) schedule(dynamic)
    for (unsigned long long i = 1; i < 8; i++)
        for (unsigned long long j = 1; j < 8; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = grid[i - 1][j] + grid[i][j - 1] + 1;
#pragma omp ordered depend(source)
        }
    for (int i = 1; i < 8; i++)
        for (int j = 1; j < 8; j++)
            demand(grid[i][j] == grid[i - 1][j] + grid[i][j - 1] + 1, 6);
}

static void masked_and_scope(void)
{
    int masters = 0;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp master
        masters++;
#if !LLVM
#pragma omp scope nowait
        sink = 1;
#endif
#pragma omp flush
    }
    demand(masters == 1, 7);
}

static void simd_and_sum(void)
{
    double sum = 0;
#pragma omp parallel for simd reduction(+ : sum) num_threads(THREADS)
    for (int i = 0; i < 1000; i++)
        sum += i;
    demand(sum == 499500, 8);
}

int main(void)
{
    omp_set_dynamic(0);
    teams();
    detached();
    untied();
    dependent_loop();
    masked_and_scope();
    simd_and_sum();
    const int regions = 5 * THREADS;
    printf("processes 1\nexpect %d !$omp teams\n", LLVM ? 2 : 1); /* libgomp's are one thread's */
    printf("expect %d !$omp parallel\n", regions + threads);
    printf("expect 35 !$omp create task\nexpect 5 !$omp taskwait\n");
    printf("%s 35 !$omp task\n", LLVM ? "atleast" : "expect"); /* untied ones in parts */
    /* gcc keeps loops with a static schedule to itself */
    printf("expect %d !$omp single\nexpect %d !$omp for\n", 2 * THREADS, (LLVM ? 2 : 1) * THREADS);
    return 0;
}
