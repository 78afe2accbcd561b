/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/noise.h"

#include "base/arena.h"
#include "bench/benchmark.h"
#include "machine/machine.h"
#include "stats/noise.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define NOISE_QUANTUM 5e-6 /* s */

enum { MOST_SAMPLES = 1 << 19 }; /* samples of a core in one segment: about 2.6 s */

#define CALIBRATION_SECONDS 0.01

struct worker {
    double *samples;
    size_t count;
    bool warm;
    char padding[64]; /* workers are written to by different threads */
};

struct noise_job {
    size_t n_cores;
    struct lull_noise_core *cores;
    struct worker *workers;
    uint64_t steps; /* of a quantum */
    double seconds; /* of a segment */
    double steal;   /* sum over the segments of which it is known */
    unsigned with_steal;
};

/* Multiplications and additions that wait for each other: registers alone, so that neighbours can
 * disturb only by taking the core away. */
static uint64_t work(uint64_t state, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state;
}

/* Steps that take a quantum, by the fastest of many tries. */
static uint64_t calibrate_quantum(void)
{
    enum { STEPS = 1000 };
    double best = INFINITY, begin = lull_bench_now();
    for (double last = begin, now; last - begin < CALIBRATION_SECONDS; last = now) {
        lull_keep((double)work(1, STEPS));
        now = lull_bench_now();
        best = fmin(best, now - last);
    }
    return (uint64_t)fmax(1, STEPS * NOISE_QUANTUM / best);
}

/* Called once to warm up, and then for the segment: each sample ends where the next one begins. */
static void repeat_quantum(void *context, unsigned thread, uint64_t repetitions)
{
    struct noise_job *job = context;
    struct worker *worker = &job->workers[thread];
    uint64_t state = repetitions;
    double begin = lull_bench_now(), last = begin;
    double seconds = worker->warm ? job->seconds : CALIBRATION_SECONDS;
    worker->warm = true;
    worker->count = 0;
    while (last - begin < seconds && worker->count < MOST_SAMPLES) {
        state = work(state, job->steps);
        double now = lull_bench_now();
        worker->samples[worker->count++] = now - last;
        last = now;
    }
    lull_keep((double)state);
}

/* Touches memory before the recording. */
static void prepare_worker(void *context, unsigned thread)
{
    struct worker *worker = &((struct noise_job *)context)->workers[thread];
    for (size_t i = 0; i < MOST_SAMPLES; i += 256)
        worker->samples[i] = 0;
}

static void keep_segment(struct noise_job *job, double *scratch, struct lull_arena *arena)
{
    for (size_t i = 0; i < job->n_cores; i++) {
        struct worker *worker = &job->workers[i];
        if (worker->count)
            lull_noise_core_add(&job->cores[i], worker->samples, worker->count, scratch, arena);
    }
}

static lull_status record(struct lull_bench *bench, struct noise_job *job, double *scratch,
                          struct lull_error *err)
{
    const struct lull_timing timing = {.body = repeat_quantum,
                                       .prepare = prepare_worker,
                                       .context = job,
                                       .threads = (unsigned)job->n_cores,
                                       .repetitions = 1,
                                       .quantile = LULL_BENCH_QUANTILE};
    struct lull_round round;
    lull_status status = lull_time_blocks(bench->topology, &timing, &round, err);
    if (status != LULL_OK)
        return status;
    if (!isnan(round.steal)) {
        job->steal += round.steal;
        job->with_steal++;
    }
    keep_segment(job, scratch, bench->arena);
    return LULL_OK;
}

static lull_status visit_noise(struct lull_bench *bench, const struct lull_task *task,
                               double seconds, struct lull_error *err)
{
    struct noise_job *job = task->data;
    job->seconds = seconds;
    if (job->steps == 0)
        job->steps = calibrate_quantum();
    double *memory = malloc((job->n_cores + 1) * MOST_SAMPLES * sizeof *memory);
    if (!memory)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory");
    for (size_t i = 0; i < job->n_cores; i++)
        job->workers[i] = (struct worker){.samples = memory + i * MOST_SAMPLES};
    lull_status status = record(bench, job, memory + job->n_cores * MOST_SAMPLES, err);
    free(memory);
    return status;
}

static lull_status plan_noise(const struct lull_benchmark *self, struct lull_bench *bench,
                              struct lull_error *err)
{
    (void)err;
    struct noise_job *job = lull_arena_zero(bench->arena, 1, sizeof *job);
    job->n_cores = bench->topology->n_cores;
    job->cores = lull_arena_zero(bench->arena, job->n_cores, sizeof *job->cores);
    job->workers = lull_arena_zero(bench->arena, job->n_cores, sizeof *job->workers);
    const struct lull_task task = {.name = self->name, .visit = visit_noise, .data = job};
    lull_bench_task(bench, &task);
    return LULL_OK;
}

/* The mean over the cores. All have the same rounds, so the interval is the mean of the
 * intervals. */
static void set_mean(struct lull_bench *bench, const struct lull_machine_noise *noise, size_t count)
{
    struct lull_number mean = noise[0].share;
    mean.name = lull_bench_text(bench, "noise.share.%zu", count);
    mean.value = mean.low = mean.high = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lull_number *share = &noise[i].share;
        mean.value += share->value / (double)count;
        mean.low += share->low / (double)count;
        mean.high += share->high / (double)count;
        mean.samples += share->samples;
        if (share->verdict > mean.verdict)
            mean.verdict = share->verdict;
    }
    lull_machine_set(bench->machine, bench->arena, &mean);
}

static lull_status finish_noise(const struct lull_benchmark *self, struct lull_bench *bench,
                                struct lull_error *err)
{
    (void)err;
    const struct noise_job *job = NULL;
    for (size_t i = 0; i < bench->n_tasks; i++)
        if (bench->tasks[i].of == self)
            job = bench->tasks[i].data;
    if (!job || job->cores[0].n_segments == 0)
        return LULL_OK;
    double steal = job->with_steal ? job->steal / job->with_steal : NAN;
    struct lull_machine *machine = bench->machine;
    machine->noise = lull_arena_zero(bench->arena, job->n_cores, sizeof *machine->noise);
    for (size_t i = 0; i < job->n_cores; i++)
        if (job->cores[i].n_segments)
            machine->noise[machine->n_noise++] = lull_noise_core_sum_up(
                &job->cores[i], bench->topology->cores[i].cpu, steal, bench->arena);
    set_mean(bench, machine->noise, machine->n_noise);
    return LULL_OK;
}

const struct lull_benchmark lull_bench_noise = {
    .name = "noise",
    .group = "noise",
    .summary = "what interrupts the cores, all of them at work at the same time",
    .plan = plan_noise,
    .finish = finish_noise,
};
