/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/hypothesis_test.h"

#include "stats/quantile.h"
#include "stats/special.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ==== ranks =================================================================================== */

/* Up to so many values in each sample the rank test is exact: it takes time in proportion to the
 * product of both sizes, squared. */
#define RANKS_EXACT 64

/* Counts the pairs in which the value of `a` is the larger one, ties as halves. */
static double count_pairs(const double *a, size_t n_a, const double *b, size_t n_b,
                          double *ret_tied)
{
    double pairs = 0;
    size_t below = 0, upto = 0;
    *ret_tied = 0;
    for (size_t i = 0; i < n_a; i++) {
        while (below < n_b && b[below] < a[i])
            below++;
        while (upto < n_b && b[upto] <= a[i])
            upto++;
        pairs += (double)below + 0.5 * (double)(upto - below);
        *ret_tied += (double)(upto - below);
    }
    return pairs;
}

/* Which share of the C(n_a + n_b, n_a) orders has u such pairs, for u = 0 .. n_a n_b:
 * f(n, m, u) = f(n - 1, m, u - m) + f(n, m - 1, u), each divided by its number of orders. To be
 * freed; NULL: no memory. */
static double *shares_of_orders(size_t n_a, size_t n_b)
{
    const size_t length = n_a * n_b + 1;
    double *rows = calloc((n_a + 1) * length, sizeof *rows); /* row n, for the present m */
    if (!rows)
        return NULL;
    for (size_t n = 0; n <= n_a; n++)
        rows[n * length] = 1; /* with m = 0 */
    for (size_t m = 1; m <= n_b; m++)
        for (size_t n = 1; n <= n_a; n++) {
            const double of_a = (double)n / (double)(n + m);
            double *row = rows + n * length;
            for (size_t k = n * m + 1; k-- > 0;)
                row[k] = (k >= m ? of_a * (row - length)[k - m] : 0) + (1 - of_a) * row[k];
        }
    memmove(rows, rows + n_a * length, length * sizeof *rows);
    return rows;
}

/* The share of the orders with u such pairs or fewer. Negative: no memory. */
static double share_of_orders(size_t n_a, size_t n_b, size_t u)
{
    double *shares = shares_of_orders(n_a, n_b), share = 0;
    if (!shares)
        return -1;
    for (size_t k = 0; k <= u; k++)
        share += shares[k];
    free(shares);
    return share;
}

bool lull_rank_margin(size_t n_a, size_t n_b, double confidence, size_t *ret_margin)
{
    const double tail = (1 - confidence) / 2, n = (double)n_a, m = (double)n_b;
    size_t margin = 0; /* the largest u with P(U < u) <= tail */
    if (n_a > RANKS_EXACT || n_b > RANKS_EXACT) {
        const double z = lull_student_quantile(1 - tail, 1e9);
        *ret_margin = (size_t)fmax(0, n * m / 2 - z * sqrt(n * m * (n + m + 1) / 12) - 1);
        return true;
    }
    double *shares = n_a && n_b ? shares_of_orders(n_a, n_b) : NULL, below = 0;
    while (shares && margin < n_a * n_b / 2 && below + shares[margin] <= tail)
        below += shares[margin++];
    free(shares);
    if (margin == 0)
        return false;
    *ret_margin = margin - 1;
    return true;
}

/* Sum of t^3 - t over groups of t equal values in both samples. */
static double tie_term(const double *a, size_t n_a, const double *b, size_t n_b)
{
    double sum = 0;
    for (size_t i = 0, k = 0; i < n_a || k < n_b;) {
        double value = k == n_b || (i < n_a && a[i] < b[k]) ? a[i] : b[k], t = 0;
        for (; i < n_a && a[i] == value; i++)
            t++;
        for (; k < n_b && b[k] == value; k++)
            t++;
        sum += t * t * t - t;
    }
    return sum;
}

double lull_rank_test(const double *a, size_t n_a, const double *b, size_t n_b)
{
    double tied, n = (double)n_a, m = (double)n_b;
    if (n_a == 0 || n_b == 0)
        return 1;
    double u = count_pairs(a, n_a, b, n_b, &tied), least = fmin(u, n * m - u);
    double ties = tie_term(a, n_a, b, n_b);
    double share = tied == 0 && n_a <= RANKS_EXACT && n_b <= RANKS_EXACT
                       ? share_of_orders(n_a, n_b, (size_t)least)
                       : -1;
    if (share >= 0)
        return fmin(1, 2 * share);
    double all = n + m, variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (variance <= 0)
        return 1;
    double z = fmax(0, n * m / 2 - least - 0.5) / sqrt(variance);
    return erfc(z / sqrt(2));
}

struct ranked {
    double probability;
    size_t index;
};

static int by_probability(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->probability > b->probability) - (a->probability < b->probability);
}

double lull_rank_least(size_t n_a, size_t n_b)
{
    double orders = 1; /* ways in which the samples can lie among each other */
    for (size_t i = 1; i <= n_a; i++)
        orders *= (double)(n_b + i) / (double)i;
    return n_a > 0 && n_b > 0 ? fmin(1, 2 / orders) : 1;
}

void lull_holm(const double *probabilities, size_t count, double level, bool *ret_rejected,
               double *ret_asked)
{
    memset(ret_rejected, 0, count * sizeof *ret_rejected);
    for (size_t i = 0; ret_asked && i < count; i++)
        ret_asked[i] = 0;
    struct ranked *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return; /* without memory none is rejected */
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct ranked){probabilities[i], i};
    qsort(sorted, count, sizeof *sorted, by_probability);
    bool rejects = true;
    for (size_t i = 0; i < count; i++) {
        const double asked = level / (double)(count - i);
        rejects = rejects && sorted[i].probability <= asked;
        ret_rejected[sorted[i].index] = rejects;
        if (ret_asked)
            ret_asked[sorted[i].index] = asked;
    }
    free(sorted);
}

/* ==== shift =================================================================================== */

enum { MOST_MORE = 1000 };

static const double most_correlation = 0.95; /* with more, a series says nothing */

/* ---- correlation ---------------------------------------------------------------------------- */

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

/* The upper limit, at 95 %, of the correlation of neighbours, where `seen` was estimated from `all`
 * values. */
static double limit_correlation(double seen, double all)
{
    static const double one_sided_95 = 1.6448536269514722;
    if (all <= 4)
        return most_correlation;
    const double unbiased = fmin((all * seen + 1) / (all - 3), most_correlation);
    const double error = sqrt((1 - unbiased * unbiased) / all);
    return fmax(0, fmin(unbiased + one_sided_95 * error, most_correlation));
}

/* The factor by which correlation increases the variance of a mean of `count` values:
 * 1 + 2 sum over k of (1 - k / count) correlation^k. */
static double inflate(size_t count, double correlation)
{
    const double n = (double)count, r = correlation;
    if (r <= 0)
        return 1;
    return 1 + 2 * r / (1 - r) * (1 - (1 - pow(r, n)) / (n * (1 - r)));
}

/* Student's test of a difference of means, one-sided; `distance` is in standard deviations of a
 * value. The degrees of freedom are those of the number of independent values that the correlated
 * ones are worth. */
static double student(double distance, double correlation, size_t n_before, size_t n_after)
{
    const double n = (double)n_before, m = (double)n_after;
    const double of_before = inflate(n_before, correlation),
                 of_after = inflate(n_after, correlation);
    const double worth = n / of_before + m / of_after;
    const double t = distance / sqrt(of_before / n + of_after / m);
    return t > 0 ? lull_student_tail(t, fmax(1, worth - 2)) : 1;
}

/* ---- two parts ------------------------------------------------------------------------------- */

/* The difference of the means in standard deviations of a value. Correlated values lie nearer to
 * their own mean than to that of the distribution, so the sum of their squares is divided by a
 * smaller number than that of the values. */
static double measure_distance(const double *before, size_t n_before, const double *after,
                               size_t n_after, double *ret_correlation)
{
    const double all = (double)(n_before + n_after);
    const double difference = mean_of(after, n_after) - mean_of(before, n_before);
    double products = 0, squares = 0;
    add_products(before, n_before, &products, &squares);
    add_products(after, n_after, &products, &squares);
    *ret_correlation = limit_correlation(squares > 0 ? products / squares : 0, all);
    const double left =
        all - inflate(n_before, *ret_correlation) - inflate(n_after, *ret_correlation);
    if (squares > 0)
        return left < 1 ? 0 : difference / sqrt(squares / left);
    return difference > 0 ? INFINITY : difference < 0 ? -INFINITY : 0;
}

/* The one-sided probability of the ranks, for independent values: half of the two-sided one, for
 * the side on which the later values lie. Sorts both arrays. */
static double compare_ranks(double *before, size_t n_before, double *after, size_t n_after,
                            double *ret_effect)
{
    double pairs = 0;
    lull_sort(before, n_before);
    lull_sort(after, n_after);
    for (size_t i = 0, below = 0, upto = 0; i < n_after; i++) {
        while (below < n_before && before[below] < after[i])
            below++;
        while (upto < n_before && before[upto] <= after[i])
            upto++;
        pairs += 0.5 * (double)(below + upto);
    }
    *ret_effect = pairs / ((double)n_before * (double)n_after);
    return 0.5 * lull_rank_test(before, n_before, after, n_after);
}

struct lull_shift lull_shift_test(const double *before, size_t n_before, const double *after,
                                  size_t n_after)
{
    struct lull_shift shift = {0.5, 0, most_correlation, 1, 1, 1};
    double *scratch = n_before && n_after ? calloc(n_before + n_after, sizeof *scratch) : NULL;
    if (!scratch)
        return shift;
    memcpy(scratch, before, n_before * sizeof *scratch);
    memcpy(scratch + n_before, after, n_after * sizeof *scratch);
    shift.distance = measure_distance(before, n_before, after, n_after, &shift.correlation);
    shift.independent =
        compare_ranks(scratch, n_before, scratch + n_before, n_after, &shift.effect);
    if (shift.effect > 0.5)
        shift.higher =
            fmax(shift.independent, student(shift.distance, shift.correlation, n_before, n_after));
    if (shift.effect < 0.5)
        shift.lower =
            fmax(shift.independent, student(-shift.distance, shift.correlation, n_before, n_after));
    free(scratch);
    return shift;
}

/* The probability of ranks with this effect: by the normal approximation, but not below that of a
 * single one of the C(n + m, m) orders. */
static double expect_ranks(double effect, size_t n_before, size_t n_after)
{
    const double n = (double)n_before, m = (double)n_after;
    const double z = (effect - 0.5) * sqrt(12 * n * m / (n + m + 1));
    const double least =
        exp(lull_log_gamma(n + 1) + lull_log_gamma(m + 1) - lull_log_gamma(n + m + 1));
    return fmax(least, effect < 1 ? 0.5 * erfc(z / sqrt(2)) : 0);
}

size_t lull_shift_more(const struct lull_shift *shift, size_t n_before, size_t n_after, bool higher,
                       double level)
{
    const double effect = higher ? shift->effect : 1 - shift->effect;
    const double distance = higher ? shift->distance : -shift->distance;
    if ((higher ? shift->higher : shift->lower) <= level)
        return 0;
    for (size_t more = 1; effect > 0.5 && n_before && more <= MOST_MORE; more++) {
        const size_t after = n_after + more;
        if (student(distance, shift->correlation, n_before, after) <= level &&
            expect_ranks(effect, n_before, after) <= level)
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

/* Three sums of distances are kept: over the pairs within the first k values, over the pairs across
 * the place, and over the pairs among the other values. From place to place one value moves. */
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

/* The probability that two neighbouring parts that are equal differ so much at the best of all
 * places at which they might have been divided. Values are presumed to be independent while parts
 * are divided, because a part that holds another change has a moving level, which looks like
 * correlation. */
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

/* Finds the place that divides a part best; false where its sides do not seem to differ. */
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
        for (size_t i = least; i < found; i++)
            ret_places[i] = ret_places[i + 1];
    }
    return found;
}
