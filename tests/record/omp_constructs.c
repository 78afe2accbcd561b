/* Every OpenMP construct, with the number of times that it must be seen: lines "expect REGION
 * VISITS". Where chunks go to whichever thread is first, the number that is printed counts what
 * happened. Built by gcc and by clang; the runtimes name and see some constructs differently. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

#if defined(__clang__)
#define LLVM 1
#else
#define LLVM 0
#endif

static long counts[32];
static const char *names[32];
static int n_counts;

static void expect(const char *name, long visits)
{
    for (int i = 0; i < n_counts; i++)
        if (names[i] == name) {
            counts[i] += visits;
            return;
        }
    names[n_counts] = name;
    counts[n_counts++] = visits;
}

/* Names by pointer: one constant each. */
static const char parallel[] = "!$omp parallel", implicit_barrier[] = "!$omp implicit barrier",
                  barrier[] = "!$omp barrier", loop[] = "!$omp for", critical[] = "!$omp critical",
                  critical_body[] = "!$omp critical sblock", ordered[] = "!$omp ordered",
                  ordered_body[] = "!$omp ordered sblock", single[] = "!$omp single",
                  sections[] = "!$omp sections", create[] = "!$omp create task",
                  task[] = "!$omp task", taskwait[] = "!$omp taskwait",
                  taskgroup[] = "!$omp taskgroup", taskloop[] = "!$omp taskloop",
                  set_lock[] = "!$omp set lock", unset_lock[] = "!$omp unset lock",
                  test_lock[] = "!$omp test lock", set_nest_lock[] = "!$omp set nest lock",
                  unset_nest_lock[] = "!$omp unset nest lock";

static volatile double sink;

static void work(int n)
{
    for (int i = 0; i < n * 100; i++)
        sink = sink + i;
}

static void regions_and_barriers(void)
{
    for (int i = 0; i < 10; i++) {
#pragma omp parallel
        work(1);
    }
    expect(parallel, 10 * THREADS);
    expect(implicit_barrier, 10 * THREADS);
#pragma omp parallel
    {
#pragma omp barrier
        work(1);
#pragma omp barrier
    }
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    expect(barrier, 2 * THREADS);
#pragma omp parallel num_threads(1)
    work(1);
    expect(parallel, 1);
    expect(implicit_barrier, 1);
}

static void loops(void)
{
    long sum = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < 100; i++)
            work(1);
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 100; i++)
            work(1);
#pragma omp for schedule(guided) nowait
        for (int i = 0; i < 100; i++)
            work(1);
#pragma omp for schedule(runtime) reduction(+ : sum)
        for (long i = 0; i < 100; i++)
            sum += i;
#pragma omp for schedule(dynamic)
        for (unsigned long long i = 0; i < 50; i++)
            work(1);
    }
    if (sum != 4950)
        exit(3);
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    /* gcc keeps loops with a static schedule to itself, and ends them with a barrier */
    expect(loop, (LLVM ? 5 : 4) * THREADS);
    expect(barrier, LLVM ? 0 : THREADS);
    expect(implicit_barrier, (LLVM ? 5 : 3) * THREADS); /* one in libomp's reduction */
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < 20; i++)
        work(1);
#pragma omp parallel for schedule(guided, 2)
    for (int i = 0; i < 20; i++)
        work(1);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 20; i++)
        work(1);
    expect(parallel, 3 * THREADS);
    expect(implicit_barrier, 3 * THREADS);
    expect(loop, 3 * THREADS);
}

static void ordered_loops(void)
{
    int next = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 30; i++) {
#pragma omp ordered
        if (next++ != i)
            exit(4);
    }
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    expect(loop, THREADS);
    expect(ordered, 30);
    expect(ordered_body, 30);

    int grid[12][12] = {{1}};
#pragma omp parallel
#pragma omp for ordered(2)
    for (int i = 1; i < 12; i++)
        for (int j = 1; j < 12; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = grid[i - 1][j] + grid[i][j - 1] + 1;
#pragma omp ordered depend(source)
        }
    /* the same without threads */
    int same[12][12] = {{1}};
    for (int i = 1; i < 12; i++)
        for (int j = 1; j < 12; j++)
            same[i][j] = same[i - 1][j] + same[i][j - 1] + 1;
    if (grid[11][11] != same[11][11])
        exit(5);
    expect(parallel, THREADS);
    expect(implicit_barrier, 2 * THREADS);
    expect(loop, THREADS);
    expect(ordered, LLVM ? 0 : 11 * 10 + 10 * 11);
}

static void workshares(void)
{
    int copied = 0, seen[THREADS] = {0};
#pragma omp parallel private(copied)
    {
#pragma omp single
        work(1);
#pragma omp single copyprivate(copied)
        copied = 7;
        seen[omp_get_thread_num()] = copied;
#pragma omp sections
        {
#pragma omp section
            work(1);
#pragma omp section
            work(1);
#pragma omp section
            work(1);
        }
#pragma omp master
        work(1);
    }
    for (int i = 0; i < THREADS; i++)
        if (seen[i] != 7)
            exit(6);
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    expect(single, (LLVM ? 2 : 1) * THREADS);
    expect(barrier, LLVM ? 0 : 2 * THREADS); /* at the ends of both singles */
    expect(implicit_barrier, (LLVM ? 4 : 1) * THREADS);
    expect(sections, THREADS);
#pragma omp parallel sections
    {
#pragma omp section
        work(1);
#pragma omp section
        work(1);
    }
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    expect(sections, THREADS);
}

static void locks(void)
{
    int shared = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest_lock;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
#pragma omp parallel
    for (int i = 0; i < 5; i++) {
#pragma omp critical
        shared++;
#pragma omp critical(named)
        shared++;
        omp_set_lock(&lock);
        shared++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest_lock);
        omp_set_nest_lock(&nest_lock);
        shared++;
        omp_unset_nest_lock(&nest_lock);
        omp_unset_nest_lock(&nest_lock);
    }
    if (!omp_test_lock(&lock))
        exit(7);
    omp_unset_lock(&lock);
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    expect(critical, 10 * THREADS);
    expect(critical_body, 10 * THREADS);
    expect(set_lock, 5 * THREADS);
    expect(test_lock, 1);
    expect(set_nest_lock, 10 * THREADS);
    if (!LLVM) {
        expect(unset_lock, 5 * THREADS + 1);
        expect(unset_nest_lock, 10 * THREADS);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest_lock);
}

static long fibonacci(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

struct large {
    char bytes[300];
    long double aligned;
};

static void tasks(void)
{
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fibonacci(8);
    if (result != 21)
        exit(8);
    /* calls with n >= 2 among those of fibonacci(8): 33 */
    expect(parallel, THREADS);
    expect(single, THREADS);
    expect(implicit_barrier, (LLVM ? 2 : 1) * THREADS);
    expect(barrier, LLVM ? 0 : THREADS);
    expect(create, 66);
    expect(task, 66);
    expect(taskwait, 33);

    struct large block = {.bytes = "firstprivate", .aligned = 2.5L};
    int good = 0, order[3] = {0}, step = 0;
#pragma omp parallel
#pragma omp master
    {
#pragma omp taskgroup
        for (int i = 0; i < 7; i++) {
#pragma omp task firstprivate(block)
            if (block.bytes[0] == 'f' && block.aligned == 2.5L) {
#pragma omp atomic
                good++;
            }
        }
#pragma omp task depend(out : order[0])
        order[0] = ++step;
#pragma omp task depend(in : order[0]) depend(out : order[1])
        order[1] = ++step;
#pragma omp task depend(in : order[1]) if (0)
        order[2] = ++step;
#pragma omp task final(1)
        work(1);
    }
    if (good != 7 || order[0] != 1 || order[1] != 2 || order[2] != 3)
        exit(9);
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    expect(taskgroup, 1);
    expect(create, 11);
    expect(task, 11);
}

static void taskloops(void)
{
    long sum = 0;
    int hits[64] = {0};
#pragma omp parallel
#pragma omp single nowait
    {
#pragma omp taskloop num_tasks(8)
        for (int i = 0; i < 64; i++)
            hits[i]++;
#pragma omp taskloop grainsize(16) reduction(+ : sum)
        for (long i = 0; i < 64; i++)
            sum += i;
    }
    for (int i = 0; i < 64; i++)
        if (hits[i] != 1)
            exit(10);
    if (sum != 2016)
        exit(11);
    expect(parallel, THREADS);
    expect(implicit_barrier, THREADS);
    expect(single, THREADS);
    expect(task, 12);
    if (!LLVM)
        expect(taskloop, 2);
    expect(create, LLVM ? 12 : 0);
    expect(taskgroup, LLVM ? 2 : 0); /* libgomp's own */
}

static void reductions(void)
{
    long sum = 0;
#pragma omp parallel reduction(task, + : sum)
    {
#pragma omp single
        for (int i = 1; i <= 10; i++) {
#pragma omp task in_reduction(+ : sum)
            sum += i;
        }
    }
    if (sum != 55)
        exit(12);
    expect(parallel, THREADS);
    expect(single, THREADS);
    expect(create, 10);
    expect(task, 10);
    expect(taskgroup, LLVM ? THREADS : 0); /* around the whole region */
}

static void nested(void)
{
    int inner = 0;
    omp_set_max_active_levels(2);
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            inner++;
        }
    }
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        inner++;
    }
    if (inner != 14)
        exit(13);
    expect(parallel, 3 * (2 + 4) + 2 + 2);
    expect(implicit_barrier, 3 * (2 + 4) + 2 + 2);
}

static void cancellation(void)
{
    int found = 0;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
            if (i == 10) {
#pragma omp atomic write
                found = 1;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
    }
    if (!found)
        exit(14);
    expect(parallel, THREADS);
    expect(loop, THREADS);
}

int main(int argc, char **argv)
{
    bool only_names = argc > 1 && argv[1][0] == 'b'; /* "basic": what both runtimes see alike */
    omp_set_num_threads(THREADS);
    omp_set_dynamic(0);
    regions_and_barriers();
    loops();
    workshares();
    locks();
    tasks();
    taskloops();
    nested();
    if (!only_names) {
        ordered_loops();
    } else {
        reductions();
        cancellation();
    }
    for (int i = 0; i < n_counts; i++) {
        bool inexact = only_names && (names[i] == barrier || names[i] == implicit_barrier);
        if (counts[i] > 0 && !inexact)
            printf("expect %ld %s\n", counts[i], names[i]);
    }
    return 0;
}
