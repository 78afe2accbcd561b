#include "bench/overhead.h"

#include "base/text.h"

#include "stats/quantile.h"

#include <math.h>

#define NOISY_INTERRUPTED 0.05 /* as for other numbers, bench/number.c */
#define NOISY_STEAL       0.01

static double resolution_of(const struct lull_round *test, const struct lull_round *reference,
                            size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fmax(test[i].high - test[i].low, reference[i].high - reference[i].low);
    lull_sort(scratch, count);
    return lull_median(scratch, count);
}

static bool is_noisy(const struct lull_round *test, const struct lull_round *reference,
                     size_t count)
{
    double interrupted = 0, blocks = 0, steal = 0;
    for (size_t i = 0; i < count; i++) {
        interrupted += (double)(test[i].interrupted + reference[i].interrupted);
        blocks += (double)(test[i].blocks + reference[i].blocks);
        steal += isnan(test[i].steal) ? 0 : test[i].steal / (double)count;
    }
    return interrupted > NOISY_INTERRUPTED * blocks || steal > NOISY_STEAL;
}

/* From the differences, which are sorted. */
static struct lull_number number_of(double *values, size_t count, double resolution,
                                    const char *statistic, struct lull_arena *arena)
{
    char text[32];
    lull_sort(values, count);
    struct lull_estimate estimate =
        lull_quantile_estimate(values, count, 0.5, LULL_BENCH_CONFIDENCE);
    struct lull_number number = lull_number_plain(fmax(0, estimate.value), "s", statistic);
    number.low = fmax(0, estimate.low);
    number.high = fmax(0, estimate.high);
    number.confidence = estimate.bounded ? LULL_BENCH_CONFIDENCE : 0;
    number.rounds = (uint32_t)count;
    if (estimate.value <= resolution)
        number.note = lull_arena_printf(arena, "below resolution, %s",
                                        lull_format_quantity(resolution, "s", text, sizeof text));
    return number;
}

void lull_overhead_of(const struct lull_round *test, const struct lull_round *reference,
                      size_t count, double precision, struct lull_arena *arena,
                      struct lull_number *ret_low, struct lull_number *ret_median)
{
    double *values = lull_arena_alloc(arena, 3 * count * sizeof *values);
    double *low = values, *median = values + count;
    double resolution = resolution_of(test, reference, count, values + 2 * count);
    uint64_t samples = 0;
    for (size_t i = 0; i < count; i++) {
        low[i] = test[i].value - reference[i].value;
        median[i] = test[i].median - reference[i].median;
        samples += test[i].blocks;
    }
    bool noisy = is_noisy(test, reference, count);
    *ret_low = number_of(low, count, resolution, "p10", arena);
    *ret_median = number_of(median, count, resolution, "median", arena);
    struct lull_number *both[] = {ret_low, ret_median};
    for (int i = 0; i < 2; i++) {
        both[i]->samples = samples;
        bool sure = both[i]->confidence > 0 &&
                    both[i]->high - both[i]->low <= fmax(precision * both[i]->value, resolution);
        both[i]->verdict = !sure   ? LULL_VERDICT_NOT_CONVERGED
                           : noisy ? LULL_VERDICT_NOISY
                                   : LULL_VERDICT_QUIET;
    }
}
