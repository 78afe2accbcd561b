#include "stats/shift.h"

#include "stats/quantile.h"
#include "stats/ranks.h"
#include "stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MORE = 1000 };
static const double most_correlation = 0.95; /* above, a series says nothing */

/* ---- ranks --------------------------------------------------------------------------------- */

struct placed {
    double value;
    size_t index;
};

static int by_value(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* Ranks from 1, the mean of them for equal values. Returns the variance of one rank. */
static double find_ranks(struct placed *placed, size_t count, double *ranks)
{
    const double all = (double)count;
    double ties = 0;
    qsort(placed, count, sizeof *placed, by_value);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && placed[end].value == placed[i].value; end++)
            ;
        for (size_t k = i; k < end; k++)
            ranks[placed[k].index] = 0.5 * (double)(i + end + 1);
        const double tied = (double)(end - i);
        ties += tied * tied * tied - tied;
    }
    return all < 2 ? 0 : all * (all + 1) / 12 - ties / (12 * (all - 1));
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* Adds the products of neighbours and the squares of the distances from the mean. */
static void add_products(const double *values, size_t count, double *products, double *squares)
{
    const double mean = mean_of(values, count);
    for (size_t i = 0; i < count; i++) {
        const double distance = values[i] - mean;
        *squares += distance * distance;
        if (i > 0)
            *products += distance * (values[i - 1] - mean);
    }
}

/* The upper limit of the correlation of neighbours inside of both parts. */
static double limit_correlation(const double *ranks, size_t n_before, size_t n_after)
{
    static const double one_sided_95 = 1.6448536269514722;
    const double all = (double)(n_before + n_after);
    double products = 0, squares = 0;
    add_products(ranks, n_before, &products, &squares);
    add_products(ranks + n_before, n_after, &products, &squares);
    if (all <= 4)
        return most_correlation;
    const double seen = squares > 0 ? products / squares : 0;
    const double unbiased = fmin((all * seen + 1) / (all - 3), most_correlation);
    const double error = sqrt((1 - unbiased * unbiased) / all);
    return fmax(0, fmin(unbiased + one_sided_95 * error, most_correlation));
}

/* How much larger the variance of a mean of `count` values is for their correlation:
 * 1 + 2 sum over k of (1 - k / count) correlation^k. */
static double inflate(size_t count, double correlation)
{
    const double n = (double)count, r = correlation;
    if (r <= 0)
        return 1;
    return 1 + 2 * r / (1 - r) * (1 - (1 - pow(r, n)) / (n * (1 - r)));
}

/* Of the difference of the mean ranks, in its standard deviations. */
static double standardise(double effect, double variance, double correlation, size_t n_before,
                          size_t n_after)
{
    const double n = (double)n_before, m = (double)n_after;
    const double difference = (n + m) * (effect - 0.5);
    const double spread =
        variance * (inflate(n_before, correlation) / n + inflate(n_after, correlation) / m);
    return spread > 0 ? difference / sqrt(spread) : 0;
}

static double upper_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2));
}

/* ---- two parts ----------------------------------------------------------------------------- */

/* Exact for independent values, one-sided: half of the two-sided probability on the side where the
 * difference is. */
static double independent(double *before, size_t n_before, double *after, size_t n_after)
{
    lull_sort(before, n_before);
    lull_sort(after, n_after);
    return 0.5 * lull_rank_test(before, n_before, after, n_after);
}

/* `scratch` has room for the values of both parts, their ranks and their order. */
static struct lull_shift compare_parts(const double *before, size_t n_before, const double *after,
                                       size_t n_after, double *scratch, struct placed *placed)
{
    const size_t all = n_before + n_after;
    double *ranks = scratch + all;
    memcpy(scratch, before, n_before * sizeof *scratch);
    memcpy(scratch + n_before, after, n_after * sizeof *scratch);
    for (size_t i = 0; i < all; i++)
        placed[i] = (struct placed){scratch[i], i};
    const double variance = find_ranks(placed, all, ranks);
    struct lull_shift shift = {.correlation = limit_correlation(ranks, n_before, n_after)};
    shift.effect =
        0.5 + (mean_of(ranks + n_before, n_after) - mean_of(ranks, n_before)) / (double)all;
    const double z = standardise(shift.effect, variance, shift.correlation, n_before, n_after);
    const double exact = independent(scratch, n_before, scratch + n_before, n_after);
    shift.independent = exact;
    shift.higher = shift.effect > 0.5 ? fmax(exact, upper_tail(z)) : 1;
    shift.lower = shift.effect < 0.5 ? fmax(exact, upper_tail(-z)) : 1;
    return shift;
}

struct lull_shift lull_shift_test(const double *before, size_t n_before, const double *after,
                                  size_t n_after)
{
    struct lull_shift shift = {0.5, most_correlation, 1, 1, 1};
    const size_t all = n_before + n_after;
    double *scratch = calloc(2 * all + 1, sizeof *scratch);
    struct placed *placed = calloc(all + 1, sizeof *placed);
    if (scratch && placed && n_before && n_after)
        shift = compare_parts(before, n_before, after, n_after, scratch, placed);
    free(scratch);
    free(placed);
    return shift;
}

/* All of the later values beyond all from before: one of C(n + m, m) orders. */
static double least_probability(size_t n_before, size_t n_after)
{
    const double n = (double)n_before, m = (double)n_after;
    return exp(lull_log_gamma(n + 1) + lull_log_gamma(m + 1) - lull_log_gamma(n + m + 1));
}

size_t lull_shift_more(const struct lull_shift *shift, size_t n_before, size_t n_after, bool higher,
                       double level)
{
    const double effect = higher ? shift->effect : 1 - shift->effect;
    if ((higher ? shift->higher : shift->lower) <= level)
        return 0;
    for (size_t more = 1; effect > 0.5 && n_before && more <= MOST_MORE; more++) {
        const double all = (double)(n_before + n_after + more);
        const double z =
            standardise(effect, all * (all + 1) / 12, shift->correlation, n_before, n_after + more);
        if (upper_tail(z) <= level && least_probability(n_before, n_after + more) <= level)
            return more;
    }
    return LULL_SHIFT_NEVER;
}

/* ---- a number ------------------------------------------------------------------------------- */

/* P(B >= k) for B binomial with n trials of 1/2, which is P(B <= n - k). */
static double at_least(size_t k, size_t n)
{
    return lull_binomial_cdf((int64_t)n - (int64_t)k, n, 0.5);
}

struct lull_shift lull_sign_test(const double *values, size_t count, double limit)
{
    size_t above = 0, below = 0;
    for (size_t i = 0; i < count; i++) {
        above += values[i] > limit;
        below += values[i] < limit;
    }
    const size_t all = above + below;
    return (struct lull_shift){
        .effect = all ? (double)above / (double)all : 0.5,
        .higher = at_least(above, all),
        .lower = at_least(below, all),
    };
}

size_t lull_sign_more(const struct lull_shift *shift, size_t count, bool higher, double level)
{
    const double share = higher ? shift->effect : 1 - shift->effect;
    if ((higher ? shift->higher : shift->lower) <= level)
        return 0;
    for (size_t more = 1; share > 0.5 && more <= MOST_MORE; more++) {
        const size_t all = count + more;
        if (at_least((size_t)lround(share * (double)all), all) <= level)
            return more;
    }
    return LULL_SHIFT_NEVER;
}

/* ---- a series ------------------------------------------------------------------------------- */

/* Sums of distances: of the pairs inside of the first k values, of the pairs across, and of the
 * pairs among the others, move by one value from place to place. */
size_t lull_divide(const double *values, size_t count, double *ret_statistic)
{
    double all = 0, first = 0, last;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            all += fabs(values[i] - values[k]);
    last = all;
    size_t best = 1;
    double most = -INFINITY;
    for (size_t place = 1; place < count; place++) {
        const double moved = values[place - 1], n = (double)place, m = (double)(count - place);
        for (size_t i = 0; i < place - 1; i++)
            first += fabs(values[i] - moved);
        for (size_t i = place; i < count; i++)
            last -= fabs(values[i] - moved);
        const double across = all - first - last;
        const double inside =
            (n > 1 ? first / (n * (n - 1) / 2) : 0) + (m > 1 ? last / (m * (m - 1) / 2) : 0);
        const double statistic = n * m / (n + m) * (2 * across / (n * m) - inside);
        if (statistic > most) {
            most = statistic;
            best = place;
        }
    }
    *ret_statistic = most;
    return best;
}

/* Whether two neighbouring parts differ, for the best of all places at which they might have been
 * divided: independent values are presumed while parts are divided, because the level of a part
 * that holds another change moves, which looks like correlation. */
static double difference(const double *values, size_t begin, size_t place, size_t end,
                         bool independent_values)
{
    const double *after = values + place;
    const size_t n = place - begin, m = end - place;
    const struct lull_shift shift = lull_shift_test(values + begin, n, after, m);
    const double one_sided =
        independent_values ? shift.independent : fmin(shift.higher, shift.lower);
    return 2 * one_sided * (double)(n + m - 1);
}

/* The place that divides a part into two that seem to differ. */
static bool divide_part(const double *values, size_t begin, size_t end, double level,
                        size_t *ret_place)
{
    if (end - begin < 2)
        return false;
    double statistic;
    *ret_place = begin + lull_divide(values + begin, end - begin, &statistic);
    return difference(values, begin, *ret_place, end, true) <= level;
}

static size_t divide_all(const double *values, size_t count, double level, size_t *ret_places)
{
    size_t found = 0, at = 0, begin = 0, place; /* the parts before `begin` are done */
    for (;;) {
        const size_t end = at < found ? ret_places[at] : count;
        if (divide_part(values, begin, end, level, &place)) {
            memmove(ret_places + at + 1, ret_places + at, (found - at) * sizeof *ret_places);
            ret_places[at] = place;
            found++;
            continue;
        }
        if (at == found)
            return found;
        begin = ret_places[at++];
    }
}

/* The place whose parts differ least, and its probability. */
static size_t least_place(const double *values, size_t count, const size_t *places, size_t found,
                          double *ret_probability)
{
    size_t least = 0;
    *ret_probability = -1;
    for (size_t i = 0; i < found; i++) {
        const size_t begin = i ? places[i - 1] : 0, end = i + 1 < found ? places[i + 1] : count;
        const double probability = difference(values, begin, places[i], end, false);
        if (probability > *ret_probability) {
            *ret_probability = probability;
            least = i;
        }
    }
    return least;
}

size_t lull_change_points(const double *values, size_t count, double level, size_t *ret_places)
{
    size_t found = divide_all(values, count, level, ret_places);
    while (found) {
        double probability;
        const size_t least = least_place(values, count, ret_places, found, &probability);
        if (probability <= level)
            break;
        found--;
        memmove(ret_places + least, ret_places + least + 1, (found - least) * sizeof *ret_places);
    }
    return found;
}
