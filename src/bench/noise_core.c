/* SPDX-License-Identifier: BSD-3-Clause */
/* The noise of one core: its recording as it grows, and what the machine file holds of it
 * (bench/noise.h). */
#include "bench/noise.h"
#include "bench/number.h"
#include "bench/timing.h"
#include "stats/histogram.h"
#include "stats/quantile.h"

#include <math.h>
#include <string.h>

enum { BINS_PER_DECADE = 5, DECADES = 7 }; /* from the threshold to 5 s */

static void push(double **values, size_t count, size_t *capacity, double value,
                 struct lull_arena *arena)
{
    *values = lull_arena_grow(arena, *values, capacity, count + 1, sizeof **values);
    (*values)[count] = value;
}

/* Adds the detours of a segment. A detour has the length by which its quantum took too long, and
 * begins where that quantum does: where in the quantum it really was is not known. */
static void add_detours(struct lull_noise_core *core, const double *samples, size_t count,
                        double quantum, struct lull_arena *arena)
{
    for (size_t i = 0; i < count && core->n_detours < LULL_NOISE_MOST_DETOURS; i++) {
        double length = samples[i] - quantum;
        if (length > LULL_NOISE_THRESHOLD) {
            core->detours = lull_arena_grow(arena, core->detours, &core->capacity,
                                            core->n_detours + 1, sizeof *core->detours);
            core->detours[core->n_detours++] = (struct lull_detour){core->duration, length};
        }
        core->duration += samples[i];
    }
}

void lull_noise_level(double *samples, size_t count, double *scratch)
{
    memcpy(scratch, samples, count * sizeof *scratch);
    lull_sort(scratch, count);
    double quantum = lull_quantile(scratch, count, LULL_BENCH_QUANTILE);
    for (size_t first = 0; first < count; first += LULL_NOISE_NEIGHBOURS) {
        size_t n = count - first < LULL_NOISE_NEIGHBOURS ? count - first : LULL_NOISE_NEIGHBOURS;
        memcpy(scratch, samples + first, n * sizeof *scratch);
        lull_sort(scratch, n);
        double slower = fmin(lull_median(scratch, n) - quantum, quantum / 2);
        for (size_t i = first; slower > 0 && i < first + n; i++)
            samples[i] -= fmin(slower, samples[i] / 2);
    }
}

void lull_noise_core_add(struct lull_noise_core *core, double *samples, size_t count,
                         double *scratch, struct lull_arena *arena)
{
    lull_noise_level(samples, count, scratch);
    struct lull_noise_figures noise =
        lull_noise_measure(samples, count, LULL_NOISE_THRESHOLD, scratch);
    size_t n = core->n_segments++;
    core->samples += count;
    push(&core->quanta, n, &core->quantum_capacity, noise.quantum, arena);
    push(&core->shares, n, &core->share_capacity, noise.share, arena);
    push(&core->powers, n, &core->power_capacity, noise.power, arena);
    add_detours(core, samples, count, noise.quantum, arena);
}

/* The median over the segments; the number is quiet where they are enough for an interval. */
static struct lull_number number_of(const double *values, size_t count, const char *unit,
                                    struct lull_arena *arena)
{
    double *copy = lull_arena_alloc(arena, count * sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    struct lull_number number = lull_number_plain(NAN, unit, "median");
    bool sure = lull_number_of_visits(&number, copy, count, INFINITY, INFINITY);
    number.verdict = sure ? LULL_VERDICT_QUIET : LULL_VERDICT_NOT_CONVERGED;
    return number;
}

/* Fills the bins from the first to the last that hold anything. */
static void fill_histogram(struct lull_machine_noise *noise, struct lull_arena *arena)
{
    struct lull_histogram all =
        lull_histogram_create(arena, LULL_NOISE_THRESHOLD, LULL_NOISE_THRESHOLD * pow(10, DECADES),
                              true, (size_t)BINS_PER_DECADE * DECADES);
    for (size_t i = 0; i < noise->n_detours; i++)
        lull_histogram_add(&all, noise->detours[i].length);
    all.bins[0] += all.below; /* none, but for rounding */
    all.bins[all.count - 1] += all.above;
    size_t first = 0, end = all.count;
    while (first < end && all.bins[first] == 0)
        first++;
    while (end > first && all.bins[end - 1] == 0)
        end--;
    if (first == end)
        return;
    noise->bins = all.bins + first;
    noise->n_bins = end - first;
    noise->n_edges = noise->n_bins + 1;
    noise->edges = lull_arena_alloc(arena, noise->n_edges * sizeof *noise->edges);
    for (size_t i = 0; i < noise->n_edges; i++)
        noise->edges[i] = lull_histogram_edge(&all, first + i);
}

struct lull_machine_noise lull_noise_core_sum_up(const struct lull_noise_core *core, uint32_t cpu,
                                                 double steal, struct lull_arena *arena)
{
    struct lull_number quantum = number_of(core->quanta, core->n_segments, "s", arena);
    struct lull_machine_noise noise = {
        .core = cpu,
        .quantum = quantum.value,
        .duration = core->duration,
        .share = number_of(core->shares, core->n_segments, "1", arena),
        .power = number_of(core->powers, core->n_segments, "s", arena),
        .detours = core->detours,
        .n_detours = core->n_detours};
    noise.share.samples = noise.power.samples = core->samples;
    bool noisy = noise.share.value > LULL_NOISE_SHARE || steal > LULL_NOISE_SHARE;
    if (noisy && noise.share.verdict == LULL_VERDICT_QUIET)
        noise.share.verdict = noise.power.verdict = LULL_VERDICT_NOISY;
    if (steal > LULL_NOISE_SHARE)
        noise.share.note =
            lull_arena_printf(arena, "the hypervisor took %.0f %% of the time", 100 * steal);
    fill_histogram(&noise, arena);
    return noise;
}
