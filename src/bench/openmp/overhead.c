#include "bench/openmp/overhead.h"

#include "base/text.h"
#include "bench/number.h"

#include "stats/quantile.h"

#include <math.h>

static double resolution_of(const struct lull_round *test, const struct lull_round *reference,
                            size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fmax(test[i].high - test[i].low, reference[i].high - reference[i].low);
    lull_sort(scratch, count);
    return lull_median(scratch, count);
}

static bool are_rounds_noisy(const struct lull_round *test, const struct lull_round *reference,
                             size_t count)
{
    double interrupted = 0, blocks = 0, steal = 0;
    for (size_t i = 0; i < count; i++) {
        interrupted += (double)(test[i].interrupted + reference[i].interrupted);
        blocks += (double)(test[i].blocks + reference[i].blocks);
        steal += isnan(test[i].steal) ? 0 : test[i].steal / (double)count;
    }
    return interrupted > LULL_NOISY_INTERRUPTED * blocks || steal > LULL_NOISY_STEAL;
}

/* From the differences; returns whether it is sure. */
static bool set_overhead(struct lull_number *number, double *values, size_t count, double precision,
                         double resolution, const char *statistic, struct lull_arena *arena)
{
    char text[32];
    *number = lull_number_plain(NAN, "s", statistic);
    bool sure = lull_number_of_visits(number, values, count, precision, resolution);
    if (number->value <= resolution)
        number->note = lull_arena_printf(arena, "below resolution, %s",
                                         lull_format_quantity(resolution, "s", text, sizeof text));
    number->value = fmax(0, number->value);
    number->low = fmax(0, number->low);
    number->high = fmax(0, number->high);
    return sure;
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
    bool noisy = are_rounds_noisy(test, reference, count);
    struct lull_number *both[] = {ret_low, ret_median};
    double *values_of[] = {low, median};
    static const char *const statistics[] = {"p10", "median"};
    for (int i = 0; i < 2; i++) {
        bool sure =
            set_overhead(both[i], values_of[i], count, precision, resolution, statistics[i], arena);
        both[i]->samples = samples;
        both[i]->verdict = !sure   ? LULL_VERDICT_NOT_CONVERGED
                           : noisy ? LULL_VERDICT_NOISY
                                   : LULL_VERDICT_QUIET;
    }
}
