/* Cost of OpenMP constructs: ns per visit and thread, the median of short blocks and its quartiles.
 * Run alone and recorded, the difference is what recording adds:
 *
 *     bench_record_omp [THREADS] */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 301, VISITS = 200 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void parallels(void)
{
    for (int i = 0; i < VISITS; i++) {
#pragma omp parallel
        __asm__ volatile("" ::: "memory");
    }
}

static void barriers(void)
{
#pragma omp parallel
    for (int i = 0; i < VISITS; i++) {
#pragma omp barrier
    }
}

static void criticals(void)
{
#pragma omp parallel num_threads(1)
    for (int i = 0; i < VISITS; i++) {
#pragma omp critical
        __asm__ volatile("" ::: "memory");
    }
}

static void chunks(void)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(1)
    for (int i = 0; i < VISITS; i++)
        __asm__ volatile("" ::: "memory");
}

static void tasks(void)
{
#pragma omp parallel num_threads(1)
    for (int i = 0; i < VISITS; i++) {
#pragma omp task
        __asm__ volatile("" ::: "memory");
    }
}

/* What a recorder that knows when a call begins and ends cannot save. */
static void clock_twice(void)
{
    static volatile unsigned long long now;
    for (int i = 0; i < 2 * VISITS; i++) {
#if defined(__x86_64__)
        now = __builtin_ia32_rdtsc();
#else
        now = (unsigned long long)now_ns();
#endif
    }
    (void)now;
}

/* Which data of the runtime share a cache line, and which of its lines lie side by side, changes
 * the time of a region on several threads by a tenth or more, and depends on what was allocated
 * before, also by a recorder. Each run gets another layout, so that the median does not hang on
 * one. */
static void *shift_heap(void)
{
    return malloc(16 + (size_t)getpid() * 8 % 4096);
}

int main(int argc, char **argv)
{
    void *before = shift_heap();
    static const struct {
        const char *name;
        void (*run)(void);
    } constructs[] = {{"parallel", parallels},           {"barrier", barriers},
                      {"critical, 1 thread", criticals}, {"chunk, 1 thread", chunks},
                      {"task, 1 thread", tasks},         {"clock, 1 thread", clock_twice}};
    static double times[BLOCKS];
    omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 2);
    for (size_t c = 0; c < sizeof constructs / sizeof *constructs; c++) {
        for (int block = -10; block < BLOCKS; block++) {
            double begin = now_ns();
            constructs[c].run();
            if (block >= 0)
                times[block] = (now_ns() - begin) / VISITS;
        }
        qsort(times, BLOCKS, sizeof *times, compare);
        printf("%-20s min %8.1f  median %8.1f  quartiles %8.1f %8.1f ns\n", constructs[c].name,
               times[0], times[BLOCKS / 2], times[BLOCKS / 4], times[3 * BLOCKS / 4]);
    }
    free(before);
    return 0;
}
