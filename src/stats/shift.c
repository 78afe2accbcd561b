#include "stats/shift.h"

#include "stats/quantile.h"
#include "stats/ranks.h"
#include "stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MORE = 1000 };
static const double most_correlation = 0.95; /* above, a series says nothing */

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

/* The upper limit of a correlation of neighbours of which `seen` was seen in `all` values. */
static double limit_correlation(double seen, double all)
{
    static const double one_sided_95 = 1.6448536269514722;
    if (all <= 4)
        return most_correlation;
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

/* Student's test of a difference of means, given in standard deviations of a value, one-sided: as
 * many degrees of freedom as so many correlated values are worth. */
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
 * their own mean than to that of the distribution, for which their squares are divided by less. */
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

/* Exact for independent values, one-sided: half of the two-sided probability on the side where the
 * difference is. Sorts both. */
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

/* The probability of ranks with this effect: by the normal approximation, but no less than that of
 * one order of all C(n + m, m). */
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
        for (size_t i = least; i < found; i++)
            ret_places[i] = ret_places[i + 1];
    }
    return found;
}
