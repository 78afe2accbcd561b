/* Pauses and constructs of OpenMP: whole regions in a pause, a pause that begins or ends inside of
 * a region, of a loop, or of a task, and regions in it that share work. What begins in a pause does
 * not count; what begins before it does. Prints what must be found. */
#include <lull/lull.h>
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 20 };

static double sum;

static void mark(const char *name)
{
    lull_begin(name);
    lull_end(name);
}

/* Every construct that a thread enters by one call of the runtime and leaves by another. */
static void share_work(const char *name)
{
#pragma omp parallel num_threads(THREADS)
    {
        mark(name);
#pragma omp for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 16; i++)
            sum += i;
#pragma omp critical
        mark(name);
#pragma omp single
        {
            mark(name);
            for (int i = 0; i < 4; i++)
#pragma omp task
                mark(name);
#pragma omp taskwait
        }
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 8; i++)
#pragma omp ordered
            sum += i;
#pragma omp barrier
        mark(name);
    }
#pragma omp parallel for schedule(guided) num_threads(THREADS) reduction(+ : sum)
    for (int i = 0; i < 16; i++)
        sum += i;
}
enum { MARKS = 3 * THREADS + 1 + 4 };

/* The pause begins or ends on one thread, in the middle; no thread is in a call of the runtime
 * then but for the barriers, which is part of what is tested. */
static void change_inside(const char *before, const char *behind, void (*change)(void), int who)
{
#pragma omp parallel num_threads(THREADS)
    {
        mark(before);
#pragma omp barrier
        if (omp_get_thread_num() == who)
            change();
#pragma omp barrier
        mark(behind);
#pragma omp for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 16; i++)
            sum += i;
        mark(behind);
    }
}

static void pause_it(void)
{
    lull_pause();
}

static void resume_it(void)
{
    lull_resume();
}

/* A pause while this thread is in a loop of another region, and regions with loops in the pause. */
static void change_around_nested(void)
{
#pragma omp parallel num_threads(1)
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 4; i++) {
        lull_pause();
        share_work("hidden");
        lull_resume();
        mark("shown");
    }
}

static void change_in_task(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single nowait
    {
#pragma omp task
        {
            mark("shown");
            lull_pause();
            mark("hidden");
        }
#pragma omp taskwait
        mark("hidden");
    }
    mark("hidden");
    lull_resume();
    mark("shown");
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        share_work("shown");
        lull_pause();
        share_work("hidden");
        usleep(100);
        lull_resume();
        share_work("shown");
        change_inside("shown", "hidden", pause_it, round % THREADS);
        share_work("hidden");
        change_inside("hidden", "shown", resume_it, round % THREADS);
        share_work("shown");
        change_around_nested();
        change_in_task();
    }
    int shown = 3 * MARKS + THREADS + 2 * THREADS + 4 + 2;
    printf("expect %d shown\nexpect 0 hidden\n", ROUNDS * shown);
    return sum < 0;
}
