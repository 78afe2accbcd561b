/* SPDX-License-Identifier: BSD-3-Clause */
/* A team of threads is started for every round: that costs some 50 us a thread, and leaves nothing
 * running between rounds that would disturb other benchmarks. */
#include "bench/timing.h"

#include "bench/kernel.h"
#include "stats/quantile.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    LEAST_BLOCKS = 50,     /* blocks in a round, if its time allows */
    MOST_BLOCKS = 1 << 17, /* blocks that are kept in a round */
    BARRIER_SPINS = 2000,  /* spins at a barrier before the core is given to others */
    CALIBRATIONS = 40,
    CLOCK_REPETITIONS = 512 /* of the kernel that measures the clock: some 10 us */
};
#define LEAST_CLOCKS 200 /* a block takes that many readings of the clock, or more */

double lull_bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How many seconds reading the clock takes. */
static double time_clock(void)
{
    double best = INFINITY;
    for (int i = 0; i < 20; i++) {
        double begin = lull_bench_now();
        for (int k = 0; k < 100; k++)
            lull_keep(lull_bench_now());
        best = fmin(best, (lull_bench_now() - begin) / 101);
    }
    return best;
}

extern const struct lull_bench_kernel lull_kernel_clock;

/* Seconds per cycle, now and on this core. */
static double time_cycle(double clock_cost)
{
    double begin = lull_bench_now();
    lull_keep(lull_kernel_clock.compute[LULL_SIMD_SCALAR](CLOCK_REPETITIONS));
    double seconds = lull_bench_now() - begin - clock_cost;
    return seconds / (CLOCK_REPETITIONS * lull_kernel_clock.operations[LULL_SIMD_SCALAR]);
}

double lull_bench_cycle(void)
{
    enum { TRIES = 5 };
    double cycles[TRIES], cost = time_clock();
    for (int i = 0; i < TRIES; i++)
        cycles[i] = time_cycle(cost);
    lull_sort(cycles, TRIES);
    return lull_median(cycles, TRIES);
}

bool lull_steal_read(struct lull_steal *ret_steal)
{
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return false;
    unsigned long long ticks[8];
    int got = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
                     &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
    fclose(file);
    if (got != 8)
        return false;
    *ret_steal = (struct lull_steal){.stolen = ticks[7]};
    for (int i = 0; i < 8; i++)
        ret_steal->total += ticks[i];
    return true;
}

double lull_steal_share(const struct lull_steal *before, const struct lull_steal *after)
{
    if (after->total <= before->total || after->stolen < before->stolen)
        return 0; /* less than a tick has passed */
    return (double)(after->stolen - before->stolen) / (double)(after->total - before->total);
}

/* ---- the team -------------------------------------------------------------------------------- */

struct member {
    struct team *team;
    unsigned number;
    pthread_t thread;
    double begin, end;  /* of the block */
    double cycle;       /* seconds, after it */
    long interruptions; /* so far */
    bool interrupted;   /* in the block */
    double wall, busy;  /* seconds of all blocks so far, and of these the seconds in which it had a
                           core */
    char padding[64];   /* members are written to by different threads */
};

struct team {
    const struct lull_topology *topology;
    const struct lull_timing *timing;
    struct member *members;
    atomic_uint arrived, generation, unpinned;
    atomic_int go;        /* 1: all threads are there; -1: a thread could not be had, and the others
                             go home */
    double clock_cost;    /* of reading the time, s */
    uint64_t repetitions; /* of the next block; 0: end */
};

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Spins, because waking a thread takes as long as a block; yields when others may need the core. */
static void meet(struct team *team)
{
    if (team->timing->threads == 1)
        return;
    unsigned generation = atomic_load_explicit(&team->generation, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 ==
        team->timing->threads) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&team->generation, 1, memory_order_acq_rel);
        return;
    }
    for (unsigned spins = 0;
         atomic_load_explicit(&team->generation, memory_order_acquire) == generation; spins++) {
        if (spins < BARRIER_SPINS)
            relax();
        else
            sched_yield();
    }
}

/* Times that this thread had to give its core away, so far. */
static long involuntary_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Seconds that this thread has run on a core. */
static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One thread's part of a block, between two meetings. */
static void run_block(struct member *member)
{
    struct team *team = member->team;
    const struct lull_timing *timing = team->timing;
    uint64_t repetitions = team->repetitions;
    double had = thread_seconds();
    member->begin = lull_bench_now();
    timing->body(timing->context, member->number, repetitions);
    member->end = lull_bench_now();
    member->cycle = timing->clock ? time_cycle(team->clock_cost) : NAN;
    long now = involuntary_switches();
    member->busy += thread_seconds() - had;
    member->wall += lull_bench_now() - member->begin;
    member->interrupted = now != member->interruptions;
    member->interruptions = now;
    meet(team);
}

static void enter_team(struct member *member)
{
    struct team *team = member->team;
    const struct lull_timing *timing = team->timing;
    size_t core = timing->cores ? timing->cores[member->number] : member->number;
    core %= team->topology->n_cores;
    if (lull_topology_pin(team->topology, core, NULL) != LULL_OK)
        atomic_fetch_add(&team->unpinned, 1);
    if (timing->prepare)
        timing->prepare(timing->context, member->number);
    member->interruptions = involuntary_switches();
    meet(team);
}

static void *follow(void *argument)
{
    struct member *member = argument;
    int go;
    while ((go = atomic_load_explicit(&member->team->go, memory_order_acquire)) == 0)
        sched_yield();
    if (go < 0)
        return NULL;
    enter_team(member);
    for (;;) {
        meet(member->team);
        if (member->team->repetitions == 0)
            return NULL;
        run_block(member);
    }
}

/* ---- the leader ------------------------------------------------------------------------------ */

struct block {
    double seconds;
    double cycle; /* mean of the threads */
    bool interrupted;
};

/* From the first start to the last end. */
static struct block lead_block(struct team *team, uint64_t repetitions)
{
    team->repetitions = repetitions;
    meet(team);
    run_block(&team->members[0]);
    double begin = INFINITY, end = 0;
    struct block block = {0};
    for (unsigned i = 0; i < team->timing->threads; i++) {
        begin = fmin(begin, team->members[i].begin);
        end = fmax(end, team->members[i].end);
        block.cycle += team->members[i].cycle / team->timing->threads;
        block.interrupted |= team->members[i].interrupted;
    }
    block.seconds = end - begin;
    return block;
}

/* As many repetitions as take a block's time, found while the caches and the clock warm up. */
static uint64_t calibrate_repetitions(struct team *team, double target)
{
    uint64_t repetitions = 1;
    double best = INFINITY; /* seconds per repetition */
    for (int i = 0; i < CALIBRATIONS; i++) {
        double seconds = lead_block(team, repetitions).seconds;
        best = fmin(best, seconds / (double)repetitions);
        double wanted = target / fmax(best, 1e-12);
        if (seconds > 0.8 * target && i >= 3)
            break;
        /* Not in one leap, because a short block says little of a long one. */
        wanted = fmin(wanted, 10.0 * (double)repetitions);
        repetitions = wanted < 1 ? 1 : (uint64_t)wanted;
    }
    return repetitions;
}

struct samples {
    double *values, *cycles, *sorted;
    size_t count, next_look;
    uint64_t interrupted;
    double kept; /* seconds per repetition of all blocks that were not interrupted */
};

/* Whether the interval of the quantile is narrow enough; looked at each time that the sample has
 * grown by half, because sorting takes time. */
static bool is_sample_sure(struct samples *samples, const struct lull_timing *timing)
{
    if (samples->count < samples->next_look || timing->precision <= 0)
        return false;
    samples->next_look = samples->count + samples->count / 2;
    memcpy(samples->sorted, samples->values, samples->count * sizeof *samples->values);
    lull_sort(samples->sorted, samples->count);
    struct lull_estimate estimate = lull_quantile_estimate(samples->sorted, samples->count,
                                                           timing->quantile, LULL_BENCH_CONFIDENCE);
    return estimate.bounded && estimate.high - estimate.low <= timing->precision * estimate.value;
}

static void take_samples(struct team *team, uint64_t repetitions, double deadline,
                         struct samples *samples)
{
    samples->next_look = LEAST_BLOCKS;
    do {
        struct block block = lead_block(team, repetitions);
        samples->cycles[samples->count] = block.cycle;
        samples->values[samples->count++] = block.seconds / (double)repetitions;
        samples->interrupted += block.interrupted;
        samples->kept += block.interrupted ? 0 : block.seconds / (double)repetitions;
    } while (samples->count < MOST_BLOCKS && lull_bench_now() < deadline &&
             !is_sample_sure(samples, team->timing));
}

static void lead(struct team *team, struct samples *samples, uint64_t *ret_repetitions)
{
    const struct lull_timing *timing = team->timing;
    double block = timing->block_seconds > 0 ? timing->block_seconds : LULL_BLOCK_SECONDS;
    enter_team(&team->members[0]);
    double begin = lull_bench_now(); /* touching memory does not count */
    team->clock_cost = time_clock();
    block = fmax(block, LEAST_CLOCKS * team->clock_cost);
    uint64_t repetitions =
        timing->repetitions ? timing->repetitions : calibrate_repetitions(team, block);
    if (timing->repetitions)
        lead_block(team, repetitions);
    take_samples(team, repetitions, begin + timing->seconds, samples);
    *ret_repetitions = repetitions;
    team->repetitions = 0;
    meet(team);
}

static void join_team(struct team *team, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        pthread_join(team->members[i].thread, NULL);
}

/* Starts the other threads; where one cannot be had, those that are there are sent home. */
static lull_status start(struct team *team, struct lull_error *err)
{
    for (unsigned i = 1; i < team->timing->threads; i++) {
        int problem = pthread_create(&team->members[i].thread, NULL, follow, &team->members[i]);
        if (problem == 0)
            continue;
        atomic_store_explicit(&team->go, -1, memory_order_release);
        join_team(team, i);
        return lull_fail(err, LULL_ERR_MEMORY, "cannot start thread %u of %u: %s", i + 1,
                         team->timing->threads, strerror(problem));
    }
    atomic_store_explicit(&team->go, 1, memory_order_release);
    return LULL_OK;
}

/* The share of time that was lost, by the thread that lost most. */
static double lost_by_others(const struct team *team)
{
    double most = 0;
    for (unsigned i = 0; i < team->timing->threads; i++) {
        const struct member *member = &team->members[i];
        if (member->wall > 0)
            most = fmax(most, 1 - member->busy / member->wall);
    }
    return most;
}

/* Times the blocks of a round; all threads are there, and the calling one may be pinned. */
static struct lull_round run_team(struct team *team, struct samples *samples)
{
    struct lull_steal before = {0}, after = {0};
    uint64_t repetitions = 1;
    bool knows = lull_steal_read(&before);
    lead(team, samples, &repetitions);
    join_team(team, team->timing->threads);
    struct lull_round round =
        lull_round_of_samples(samples->values, samples->count, team->timing->quantile);
    if (team->timing->clock) {
        lull_sort(samples->cycles, samples->count);
        round.cycle = lull_quantile(samples->cycles, samples->count, team->timing->quantile);
    }
    round.repetitions = repetitions;
    round.interrupted = samples->interrupted;
    round.mean = samples->kept / (double)(samples->count - samples->interrupted); /* 0 / 0: NAN */
    round.lost = lost_by_others(team);
    round.unpinned = atomic_load(&team->unpinned) > 0;
    knows = knows && lull_steal_read(&after);
    round.steal = knows ? lull_steal_share(&before, &after) : NAN;
    return round;
}

/* The calling thread takes part, and is bound as before when it returns. */
lull_status lull_time_blocks(const struct lull_topology *topology, const struct lull_timing *timing,
                             struct lull_round *ret_round, struct lull_error *err)
{
    struct team team = {.topology = topology, .timing = timing};
    struct samples samples = {.values = malloc(3 * MOST_BLOCKS * sizeof(double))};
    team.members = calloc(timing->threads, sizeof *team.members);
    lull_status status = LULL_OK;
    if (!team.members || !samples.values)
        status = lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    for (unsigned i = 0; status == LULL_OK && i < timing->threads; i++)
        team.members[i] = (struct member){.team = &team, .number = i};
    cpu_set_t bound;
    bool knows_bound = sched_getaffinity(0, sizeof bound, &bound) == 0;
    if (status == LULL_OK)
        status = start(&team, err);
    if (status == LULL_OK) {
        samples.sorted = samples.values + MOST_BLOCKS;
        samples.cycles = samples.sorted + MOST_BLOCKS;
        *ret_round = run_team(&team, &samples);
    }
    if (knows_bound)
        sched_setaffinity(0, sizeof bound, &bound);
    free(samples.values);
    free(team.members);
    return status;
}

struct lull_round lull_round_of_samples(double *samples, size_t count, double quantile)
{
    lull_sort(samples, count);
    struct lull_estimate estimate =
        lull_quantile_estimate(samples, count, quantile, LULL_BENCH_CONFIDENCE);
    return (struct lull_round){.value = estimate.value,
                               .low = estimate.low,
                               .high = estimate.high,
                               .median = lull_median(samples, count),
                               .mean = NAN,
                               .cycle = NAN,
                               .lost = NAN,
                               .blocks = count,
                               .repetitions = 1,
                               .steal = NAN};
}
