/* From the rounds of a probe to a number and a verdict. */
#include "bench/benchmark.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

/* Beyond these shares the system is called noisy. */
#define NOISY_INTERRUPTED 0.05 /* blocks in which a thread lost its core */
#define NOISY_STEAL       0.01 /* time that went to other guests */
#define NOISY_SPREAD      0.10 /* median of the blocks above the quantile quoted */

struct disturbance {
    double interrupted, steal, spread;
    bool unpinned;
};

static struct disturbance sum_up(const struct lull_probe *probe, double *scratch)
{
    struct disturbance all = {0};
    uint64_t blocks = 0, interrupted = 0;
    size_t with_steal = 0;
    for (size_t i = 0; i < probe->n_rounds; i++) {
        const struct lull_round *round = &probe->rounds[i];
        blocks += round->blocks;
        interrupted += round->interrupted;
        all.unpinned |= round->unpinned;
        scratch[i] = round->value > 0 ? round->median / round->value - 1 : 0;
        if (isnan(round->steal))
            continue;
        all.steal += round->steal;
        with_steal++;
    }
    all.interrupted = blocks ? (double)interrupted / (double)blocks : 0;
    all.steal = with_steal ? all.steal / (double)with_steal : 0;
    lull_sort(scratch, probe->n_rounds);
    all.spread = lull_median(scratch, probe->n_rounds);
    return all;
}

static const char *join(struct lull_arena *arena, const char *text, const char *more)
{
    return text ? lull_arena_printf(arena, "%s; %s", text, more) : more;
}

static const char *describe(const struct lull_probe *probe, const struct disturbance *all,
                            struct lull_arena *arena)
{
    const char *text = probe->note;
    if (all->interrupted > NOISY_INTERRUPTED)
        text = join(arena, text,
                    lull_arena_printf(arena, "%.0f %% of the blocks were interrupted",
                                      100 * all->interrupted));
    if (all->steal > NOISY_STEAL)
        text = join(
            arena, text,
            lull_arena_printf(arena, "the hypervisor took %.0f %% of the time", 100 * all->steal));
    if (all->spread > NOISY_SPREAD)
        text = join(
            arena, text,
            lull_arena_printf(arena, "the median block takes %.0f %% longer", 100 * all->spread));
    if (all->unpinned)
        text = join(arena, text, "threads were not pinned");
    return text;
}

static void set_value(struct lull_number *number, const struct lull_probe *probe,
                      const struct lull_estimate *seconds)
{
    if (probe->amount > 0) {
        number->value = probe->amount / seconds->value;
        number->low = probe->amount / seconds->high;
        number->high = probe->amount / seconds->low;
    } else {
        double scale = probe->scale > 0 ? probe->scale : 1;
        number->value = scale * seconds->value;
        number->low = scale * seconds->low;
        number->high = scale * seconds->high;
    }
    if (probe->write_allocate > 0)
        number->with_write_allocate = number->value * probe->write_allocate;
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

    double *values = lull_arena_alloc(arena, 2 * probe->n_rounds * sizeof *values);
    for (size_t i = 0; i < probe->n_rounds; i++) {
        values[i] = probe->rounds[i].value;
        number.samples += probe->rounds[i].blocks;
    }
    lull_sort(values, probe->n_rounds);
    struct lull_estimate estimate =
        lull_quantile_estimate(values, probe->n_rounds, 0.5, LULL_BENCH_CONFIDENCE);
    struct disturbance all = sum_up(probe, values + probe->n_rounds);
    set_value(&number, probe, &estimate);
    number.rounds = (uint32_t)probe->n_rounds;
    number.confidence = estimate.bounded ? LULL_BENCH_CONFIDENCE : 0;
    number.note = describe(probe, &all, arena);
    bool noisy =
        all.interrupted > NOISY_INTERRUPTED || all.steal > NOISY_STEAL || all.spread > NOISY_SPREAD;
    if (estimate.bounded && number.high - number.low <= precision * number.value)
        number.verdict = noisy ? LULL_VERDICT_NOISY : LULL_VERDICT_QUIET;
    return number;
}
