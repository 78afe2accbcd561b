/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/number.h"

#include "bench/benchmark.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct disturbance {
    double interrupted, lost, steal, spread;
    bool unpinned;
};

/* A mean of the values that are known. */
struct mean {
    double sum;
    size_t count;
};

static void add_to_mean(struct mean *mean, double value)
{
    if (isnan(value))
        return;
    mean->sum += value;
    mean->count++;
}

static double mean_of(const struct mean *mean)
{
    return mean->count ? mean->sum / (double)mean->count : 0;
}

static struct disturbance sum_up(const struct lull_probe *probe, double *scratch)
{
    struct disturbance all = {0};
    struct mean lost = {0}, steal = {0};
    uint64_t blocks = 0, interrupted = 0;
    for (size_t i = 0; i < probe->n_rounds; i++) {
        const struct lull_round *round = &probe->rounds[i];
        blocks += round->blocks;
        interrupted += round->interrupted;
        add_to_mean(&lost, round->lost);
        add_to_mean(&steal, round->steal);
        all.unpinned |= round->unpinned;
        scratch[i] = round->value > 0 ? round->median / round->value - 1 : 0;
    }
    all.interrupted = blocks ? (double)interrupted / (double)blocks : 0;
    all.lost = mean_of(&lost);
    all.steal = mean_of(&steal);
    lull_sort(scratch, probe->n_rounds);
    all.spread = lull_median(scratch, probe->n_rounds);
    return all;
}

static bool is_disturbed(const struct disturbance *all)
{
    return all->interrupted > LULL_NOISY_INTERRUPTED || all->lost > LULL_NOISY_LOST ||
           all->steal > LULL_NOISY_STEAL || all->spread > LULL_NOISY_SPREAD;
}

/* Whether the quantile of a visit is the time of a block that was not interrupted. Interrupted
 * blocks are the slowest, and the quantile lies between two blocks; a value among the interrupted
 * ones tells of a time slice that a thread lost, and not of a rate. */
static bool is_undisturbed(const struct lull_round *round, double quantile)
{
    double needed = ceil(((double)round->blocks - 1) * quantile) + 1;
    return (double)(round->blocks - round->interrupted) >= needed;
}

/* Chooses the visits that count: the undisturbed ones, or all where none is. */
static size_t choose_rounds(const struct lull_probe *probe, struct lull_round *ret_rounds)
{
    const double quantile = probe->quantile > 0 ? probe->quantile : LULL_BENCH_QUANTILE;
    size_t count = 0;
    for (size_t i = 0; i < probe->n_rounds; i++)
        if (is_undisturbed(&probe->rounds[i], quantile))
            ret_rounds[count++] = probe->rounds[i];
    if (count > 0)
        return count;
    memcpy(ret_rounds, probe->rounds, probe->n_rounds * sizeof *ret_rounds);
    return probe->n_rounds;
}

static const char *join_notes(struct lull_arena *arena, const char *text, const char *more)
{
    return text ? lull_arena_printf(arena, "%s; %s", text, more) : more;
}

static const char *describe(const struct lull_probe *probe, const struct disturbance *all,
                            struct lull_arena *arena)
{
    const char *text = probe->note;
    if (all->interrupted > LULL_NOISY_INTERRUPTED)
        text = join_notes(arena, text,
                          lull_arena_printf(arena, "%.0f %% of the blocks were interrupted",
                                            100 * all->interrupted));
    if (all->lost > LULL_NOISY_LOST)
        text = join_notes(
            arena, text,
            lull_arena_printf(arena, "others had the cores %.0f %% of the time", 100 * all->lost));
    if (all->steal > LULL_NOISY_STEAL)
        text = join_notes(
            arena, text,
            lull_arena_printf(arena, "the hypervisor took %.0f %% of the time", 100 * all->steal));
    if (all->spread > LULL_NOISY_SPREAD)
        text = join_notes(
            arena, text,
            lull_arena_printf(arena, "the median block takes %.0f %% longer", 100 * all->spread));
    if (all->unpinned)
        text = join_notes(arena, text, "threads were not pinned");
    return text;
}

bool lull_number_of_visits(struct lull_number *number, double *values, size_t count,
                           double precision, double resolution)
{
    lull_sort(values, count);
    struct lull_estimate median = lull_quantile_estimate(values, count, 0.5, LULL_BENCH_CONFIDENCE);
    struct lull_prediction later = lull_predict(values, count, LULL_BENCH_CONFIDENCE);
    number->value = median.value;
    number->low = later.low;
    number->high = later.high;
    number->confidence = later.attained;
    number->rounds = (uint32_t)count;
    return median.bounded && median.high - median.low <= fmax(precision * median.value, resolution);
}

struct lull_clock_range lull_clock_range_of(double *cycles, size_t count)
{
    struct lull_clock_range range = {1, 1};
    if (count == 0)
        return range;
    lull_sort(cycles, count);
    double median = lull_median(cycles, count);
    struct lull_prediction later = lull_predict(cycles, count, LULL_BENCH_CONFIDENCE);
    range.low = later.low / median;
    range.high = later.high / median;
    return range;
}

void lull_number_widen(struct lull_number *number, const struct lull_clock_range *clock)
{
    bool is_rate = strstr(number->unit, "/s") || strcmp(number->unit, "Hz") == 0;
    if (isnan(number->low) || (!is_rate && strcmp(number->unit, "s") != 0))
        return;
    double low = is_rate ? 1 / clock->high : clock->low;
    double high = is_rate ? 1 / clock->low : clock->high;
    number->low = fmin(number->low, number->value * low);
    number->high = fmax(number->high, number->value * high);
}

static double scale_of(const struct lull_probe *probe, double seconds)
{
    if (probe->amount > 0)
        return probe->amount / seconds;
    return (probe->scale > 0 ? probe->scale : 1) * seconds;
}

/* Whether the cores' clock was measured in every visit. */
static bool has_cycles(const struct lull_probe *probe)
{
    for (size_t i = 0; i < probe->n_rounds; i++)
        if (!(probe->rounds[i].cycle > 0))
            return false;
    return true;
}

/* Sets the number in cycles, which do not depend on how fast the clock was meanwhile; returns as
 * lull_number_of_visits. */
static bool set_cycles(struct lull_number *number, const struct lull_probe *probe, double precision,
                       double *values)
{
    for (size_t i = 0; i < probe->n_rounds; i++)
        values[i] = scale_of(probe, probe->rounds[i].value / probe->rounds[i].cycle);
    struct lull_number cycles = lull_number_empty();
    bool sure = lull_number_of_visits(&cycles, values, probe->n_rounds, precision, 0);
    number->in_cycles = cycles.value;
    number->in_cycles_low = cycles.low;
    number->in_cycles_high = cycles.high;
    return sure;
}

/* The number from the mean of the blocks of each visit, the median of the visits. */
static double mean_number(const struct lull_probe *probe, struct lull_arena *arena)
{
    double *means = lull_arena_alloc(arena, probe->n_rounds * sizeof *means);
    size_t count = 0;
    for (size_t i = 0; i < probe->n_rounds; i++)
        if (probe->rounds[i].mean > 0)
            means[count++] = scale_of(probe, probe->rounds[i].mean);
    lull_sort(means, count);
    return count > 0 ? lull_median(means, count) : NAN;
}

struct lull_number lull_probe_number(const struct lull_probe *probe, double precision,
                                     struct lull_arena *arena)
{
    struct lull_number number = lull_number_empty();
    number.name = probe->name;
    number.unit = probe->unit;
    number.statistic = lull_arena_printf(
        arena, "p%.0f", 100 * (probe->quantile > 0 ? probe->quantile : LULL_BENCH_QUANTILE));
    number.verdict = LULL_VERDICT_NOT_CONVERGED;
    number.note = probe->note;
    if (probe->n_rounds == 0)
        return number;

    double *values = lull_arena_alloc(arena, probe->n_rounds * sizeof *values);
    struct disturbance all = sum_up(probe, values);
    struct lull_probe good = *probe;
    good.rounds = lull_arena_alloc(arena, probe->n_rounds * sizeof *good.rounds);
    good.n_rounds = choose_rounds(probe, good.rounds);
    if (good.n_rounds < probe->n_rounds)
        good.note = join_notes(arena, probe->note,
                               lull_arena_printf(arena,
                                                 "%zu of %zu visits were interrupted throughout "
                                                 "and are left out",
                                                 probe->n_rounds - good.n_rounds, probe->n_rounds));
    probe = &good;
    for (size_t i = 0; i < probe->n_rounds; i++) {
        values[i] = scale_of(probe, probe->rounds[i].value);
        number.samples += probe->rounds[i].blocks;
    }
    bool sure = lull_number_of_visits(&number, values, probe->n_rounds, precision, 0);
    if (has_cycles(probe))
        sure = set_cycles(&number, probe, precision, values);
    number.visits = values; /* sorted, and per cycle where that is known */
    number.n_visits = probe->n_rounds;
    if (probe->write_allocate > 0)
        number.with_write_allocate = number.value * probe->write_allocate;
    if (probe->amount > 0 && !has_cycles(probe))
        number.mean = mean_number(probe, arena);
    number.note = describe(probe, &all, arena);
    if (sure)
        number.verdict = is_disturbed(&all) ? LULL_VERDICT_NOISY : LULL_VERDICT_QUIET;
    return number;
}
