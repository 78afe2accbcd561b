/* Loaded into likwid-bench (LD_PRELOAD) by bench_likwid: its loop and one of lull's take turns on
 * its thread, over the same arrays, so that pages, alignment, caches and the clock of the processor
 * are the same for both.
 *
 * likwid-bench calls what is defined here instead of the libraries' functions: it asks for its
 * arrays with posix_memalign, starts one thread, which encloses its loop in timer_start and
 * timer_stop and ends with pthread_exit; that end is the end of a turn. Before, it sleeps for a
 * second to calibrate its clock: both sides are timed with lull's.
 *
 * Prints "turns COUNT bytes WORKING-SET ours RATE LOW HIGH theirs RATE LOW HIGH": flops or explicit
 * bytes per second at the quantile of the turns' times that lull bench quotes, with its interval.
 */
#include "likwid.h"

#include "bench/memory/memory.h"
#include "bench/memory/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_TURNS = 6, MOST_TURNS = 2000 };
#define SECONDS     0.6
#define THEIR_FLOPS 30.0 /* of likwid-bench's peak loops, per element (likwid-bench -l NAME) */

struct side {
    double amount; /* of a turn: explicit bytes or flops */
    double seconds[MOST_TURNS];
};

static struct {
    const struct lull_bench_kernel *kernel;
    enum lull_simd simd;
    uint64_t bytes, repetitions;
    struct lull_stream_job *job; /* NULL for arithmetic */
    void *arrays[4];
    size_t n_arrays, n_given;
    struct side ours, theirs;
    void *(*their_turn)(void *);
    void *their_argument;
    double their_begin, their_end;
    jmp_buf end_of_turn;
} match;

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "bench_likwid: %s\n", why);
    _exit(EXIT_FAILURE);
}

/* ---- before the match ---------------------------------------------------------------------- */

static void prepare_stream(struct lull_bench *bench, uint64_t passes)
{
    match.job = lull_stream_job_create(bench, match.kernel, match.simd, 1, match.bytes);
    match.n_arrays = match.kernel->arrays;
    for (size_t i = 0; i < match.n_arrays; i++)
        match.arrays[i] = lull_stream_job_arrays(match.job, 0)[i];
    if (match.job->count * match.n_arrays * sizeof(double) != match.bytes)
        give_up("the working set is not one of whole steps");
    match.repetitions = passes * (match.job->count / match.job->chunk);
    match.ours.amount = lull_stream_job_bytes(match.job) * (double)match.repetitions;
    match.theirs.amount = match.ours.amount;
}

static void prepare_compute(struct lull_bench *bench, uint64_t passes)
{
    match.n_arrays = 1;
    match.arrays[0] = lull_bench_memory_region(bench->memory, 0);
    size_t element = match.kernel->single ? sizeof(float) : sizeof(double);
    match.theirs.amount = THEIR_FLOPS * (double)(passes * match.bytes / element);
    double each = match.kernel->operations[match.simd];
    match.repetitions = (uint64_t)(match.theirs.amount / each);
    match.ours.amount = each * (double)match.repetitions;
}

__attribute__((constructor)) static void prepare(void)
{
    char name[32], width[32];
    unsigned long long bytes, passes;
    const char *text = getenv(LULL_LIKWID_MATCH);
    unsetenv("LD_PRELOAD"); /* it starts a shell */
    if (!text || sscanf(text, "%31s %31s %llu %llu", name, width, &bytes, &passes) != 4 ||
        !lull_likwid_find(name, width, &match.kernel, &match.simd))
        give_up("expected KERNEL WIDTH BYTES PASSES in " LULL_LIKWID_MATCH);
    struct lull_error err;
    static struct lull_bench bench;
    bench.arena = lull_arena_create(NULL);
    match.bytes = bytes;
    /* Room for the distances between the arrays. */
    if (lull_bench_memory_open(1, bytes + (UINT64_C(1) << 20), bench.arena, &bench.memory, &err) !=
        LULL_OK)
        give_up(err.text);
    if (match.kernel->arrays)
        prepare_stream(&bench, passes);
    else
        prepare_compute(&bench, passes);
}

/* ---- the match ----------------------------------------------------------------------------- */

static double our_turn(void)
{
    double begin = lull_bench_now();
    if (match.job)
        lull_stream_job_run(match.job, 0, match.repetitions);
    else
        lull_keep(match.kernel->compute[match.simd](match.repetitions));
    return lull_bench_now() - begin;
}

static double their_turn(void)
{
    if (setjmp(match.end_of_turn) == 0)
        match.their_turn(match.their_argument);
    return match.their_end - match.their_begin;
}

static void print_side(const char *name, struct side *side, size_t count)
{
    struct lull_round round = lull_round_of_samples(side->seconds, count, LULL_BENCH_QUANTILE);
    printf(" %s %.6g %.6g %.6g", name, side->amount / round.value, side->amount / round.high,
           side->amount / round.low);
}

/* Each begins every other pair of turns. */
static _Noreturn void play(void)
{
    if (match.n_given != match.n_arrays)
        give_up("likwid-bench asked for other arrays than expected");
    their_turn(); /* pins the thread */
    double end = lull_bench_now() + SECONDS;
    size_t count = 0;
    for (; count < MOST_TURNS && (count < LEAST_TURNS || lull_bench_now() < end); count++) {
        if (count % 2)
            match.ours.seconds[count] = our_turn();
        match.theirs.seconds[count] = their_turn();
        if (count % 2 == 0)
            match.ours.seconds[count] = our_turn();
    }
    printf("\nturns %zu bytes %" PRIu64, count, match.bytes);
    print_side("ours", &match.ours, count);
    print_side("theirs", &match.theirs, count);
    printf("\n");
    fflush(stdout);
    _exit(EXIT_SUCCESS);
}

/* ---- what likwid-bench calls --------------------------------------------------------------- */

int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
    if (size * match.n_arrays == match.bytes && match.n_given < match.n_arrays) {
        *ret_memory = match.arrays[match.n_given++];
        return 0;
    }
    size = (size + alignment - 1) / alignment * alignment;
    *ret_memory = aligned_alloc(alignment, size);
    return *ret_memory ? 0 : ENOMEM;
}

/* The match needs no thread of its own: theirs pins the one that it runs on. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    (void)thread;
    (void)attributes;
    match.their_turn = start;
    match.their_argument = argument;
    play();
}

void pthread_exit(void *result)
{
    (void)result;
    longjmp(match.end_of_turn, 1);
}

void timer_start(void *time);
void timer_start(void *time)
{
    (void)time;
    match.their_begin = lull_bench_now();
}

void timer_stop(void *time);
void timer_stop(void *time)
{
    (void)time;
    match.their_end = lull_bench_now();
}

int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    (void)wanted;
    (void)rest;
    return 0;
}
