/* SPDX-License-Identifier: BSD-3-Clause */
/* What OpenMP constructs cost: a program for each compiler from this source, which needs nothing of
 * lull. usage: lull-bench-openmp-COMPILER [--seconds S] [--passes N] [--threads N,N,...]
 *
 * Every construct is timed in short blocks, by turns with blocks of its reference: the same work
 * without it. Writes lines of JSON as bench/helper_program.h reads them. The constructs are those
 * of Bull, "Measuring Synchronisation and Scheduling Overheads in OpenMP" (EWOMP 1999). */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { WORK = 40, ITERATIONS = 16, TRIES = 8, LEAST_BLOCKS = 5, MOST_BLOCKS = 400 };
#define BLOCK 50e-6 /* s */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Additions that wait for each other and that no compiler takes away. */
static inline void work(void)
{
    unsigned long x = 1;
    for (int i = 0; i < WORK; i++) {
        x += (unsigned long)i;
        __asm__ volatile("" : "+r"(x));
    }
}

static long counter;    /* what critical and atomic count, to be checked */
static bool miscounted; /* a construct did not do what it should */

/* ---- the constructs: `n` times each ---------------------------------------------------------- */

static void run_work(long n)
{
    for (long i = 0; i < n; i++)
        work();
}

/* What each thread does in a loop of ITERATIONS per thread. */
static void run_iterations(long n)
{
    run_work(n * ITERATIONS);
}

static void run_parallel(long n)
{
    for (long i = 0; i < n; i++) {
#pragma omp parallel
        work();
    }
}

static void run_static(long n)
{
#pragma omp parallel
    for (long i = 0; i < n; i++) {
        int all = ITERATIONS * omp_get_num_threads();
#pragma omp for schedule(static)
        for (int k = 0; k < all; k++)
            work();
    }
}

static void run_dynamic(long n)
{
#pragma omp parallel
    for (long i = 0; i < n; i++) {
        int all = ITERATIONS * omp_get_num_threads();
#pragma omp for schedule(dynamic)
        for (int k = 0; k < all; k++)
            work();
    }
}

static void run_guided(long n)
{
#pragma omp parallel
    for (long i = 0; i < n; i++) {
        int all = ITERATIONS * omp_get_num_threads();
#pragma omp for schedule(guided)
        for (int k = 0; k < all; k++)
            work();
    }
}

static void run_barrier(long n)
{
#pragma omp parallel
    for (long i = 0; i < n; i++) {
        work();
#pragma omp barrier
    }
}

static void run_single(long n)
{
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp single
        work();
    }
}

/* All threads together pass n times. */
static void run_critical(long n)
{
    long each = n / omp_get_max_threads() + 1, before = counter;
#pragma omp parallel
    for (long i = 0; i < each; i++) {
#pragma omp critical
        {
            work();
            counter++;
        }
    }
    miscounted |= counter != before + each * omp_get_max_threads();
}

static void run_atomic(long n)
{
    long each = n / omp_get_max_threads() + 1, before = counter;
#pragma omp parallel
    for (long i = 0; i < each; i++) {
#pragma omp atomic
        counter++;
    }
    miscounted |= counter != before + each * omp_get_max_threads();
}

static void run_additions(long n)
{
    for (long i = 0; i < n; i++) {
        counter++;
        __asm__ volatile("" : "+m"(counter));
    }
}

static void run_reduction(long n)
{
    for (long i = 0; i < n; i++) {
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            work();
            sum += 1;
        }
        miscounted |= sum != omp_get_max_threads();
    }
}

/* Every thread makes tasks, and runs what there is of them. */
static void run_task(long n)
{
#pragma omp parallel
    for (long i = 0; i < n; i++) {
#pragma omp task
        work();
    }
}

static const struct construct {
    const char *name;
    void (*test)(long n), (*reference)(long n);
} constructs[] = {
    {"parallel", run_parallel, run_work},         {"for-static", run_static, run_iterations},
    {"for-dynamic", run_dynamic, run_iterations}, {"for-guided", run_guided, run_iterations},
    {"barrier", run_barrier, run_work},           {"single", run_single, run_work},
    {"critical", run_critical, run_work},         {"atomic", run_atomic, run_additions},
    {"reduction", run_reduction, run_work},       {"task", run_task, run_work},
};
enum { CONSTRUCTS = sizeof constructs / sizeof *constructs };

/* ---- blocks ---------------------------------------------------------------------------------- */

struct samples {
    double values[MOST_BLOCKS]; /* s per repetition */
    long repetitions, interrupted;
    int count;
};

static double time_block(void (*run)(long), long repetitions)
{
    double begin = now();
    run(repetitions);
    return now() - begin;
}

/* Repetitions that take a block's time, found while threads and caches warm up. */
static long calibrate(void (*run)(long))
{
    long repetitions = 8;
    double best = 1e9; /* s per repetition */
    for (int i = 0; i < TRIES; i++) {
        double took = time_block(run, repetitions) / (double)repetitions;
        best = took < best ? took : best;
        double wanted = BLOCK / best;
        repetitions = wanted < 1                           ? 1
                      : wanted > 8.0 * (double)repetitions ? 8 * repetitions
                                                           : (long)wanted;
    }
    return repetitions;
}

static void take(struct samples *samples, void (*run)(long))
{
    long before = switches();
    samples->values[samples->count++] =
        time_block(run, samples->repetitions) / (double)samples->repetitions;
    samples->interrupted += switches() != before;
}

static void write_samples(FILE *out, const char *what, const char *detail,
                          const struct samples *samples)
{
    fprintf(out, "{\"what\":\"%s\",\"detail\":\"%s\",\"ranks\":%d,\"repetitions\":%ld,", what,
            detail, omp_get_max_threads(), samples->repetitions);
    fprintf(out, "\"interrupted\":%ld,\"samples\":[", samples->interrupted);
    for (int i = 0; i < samples->count; i++)
        fprintf(out, "%s%.6g", i ? "," : "", samples->values[i]);
    fprintf(out, "]}\n");
}

static void measure(FILE *out, const struct construct *construct, double seconds)
{
    static struct samples test, reference;
    double end = now() + seconds;
    test = (struct samples){.repetitions = calibrate(construct->test)};
    reference = (struct samples){.repetitions = calibrate(construct->reference)};
    while (test.count < MOST_BLOCKS && (test.count < LEAST_BLOCKS || now() < end)) {
        take(&test, construct->test);
        take(&reference, construct->reference);
    }
    write_samples(out, construct->name, "test", &test);
    write_samples(out, construct->name, "reference", &reference);
}

/* ---- the run --------------------------------------------------------------------------------- */

struct settings {
    double seconds;
    int passes, counts[64], n_counts;
};

static void read_counts(struct settings *settings, const char *list)
{
    settings->n_counts = 0;
    while (*list && settings->n_counts < 64) {
        char *rest;
        long count = strtol(list, &rest, 10);
        if (rest == list || count < 1 || count > 1 << 20)
            return;
        settings->counts[settings->n_counts++] = (int)count;
        list = *rest == ',' ? rest + 1 : rest;
    }
}

static struct settings read_settings(int argc, char **argv)
{
    struct settings settings = {2, 3, {omp_get_max_threads()}, 1};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            settings.seconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--passes") == 0)
            settings.passes = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--threads") == 0)
            read_counts(&settings, argv[i + 1]);
    }
    return settings;
}

static void write_header(FILE *out)
{
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    fprintf(out, "{\"lull_bench\":1,\"kind\":\"openmp\",\"ranks\":%d,\"library\":\"%s\"}\n",
            omp_get_max_threads(), compiler);
}

/* Whether so many threads can be had. */
static bool have(int threads)
{
    int got = 0;
#pragma omp parallel
    {
#pragma omp master
        got = omp_get_num_threads();
    }
    return got == threads;
}

int main(int argc, char **argv)
{
    struct settings settings = read_settings(argc, argv);
    FILE *out = fdopen(STDOUT_FILENO, "w");
    if (!out)
        return 1;
    omp_set_dynamic(0);
    write_header(out);
    double part = settings.seconds / settings.passes / settings.n_counts / CONSTRUCTS;
    double deadline = now() + settings.seconds;
    for (int pass = 0; pass < settings.passes; pass++) {
        for (int i = 0; i < settings.n_counts; i++) {
            omp_set_num_threads(settings.counts[i]);
            if (!have(settings.counts[i])) {
                fprintf(out, "{\"error\":\"%d threads cannot be had\"}\n", settings.counts[i]);
                return fclose(out) != 0;
            }
            for (int k = 0; k < CONSTRUCTS && (pass == 0 || now() < deadline); k++)
                measure(out, &constructs[k], part);
        }
    }
    fprintf(out, miscounted ? "{\"error\":\"a construct lost a count\"}\n" : "{\"end\":1}\n");
    return fclose(out) != 0;
}
