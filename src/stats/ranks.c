#include "stats/ranks.h"

#include "stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pairs in which the value of `a` is the larger one, ties as halves. */
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
    double *rows = calloc((n_a + 1) * length, sizeof *rows); /* by n, for the m of the turn */
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

/* Those with u such pairs or fewer. Negative: no memory. */
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
    if (n_a > LULL_RANKS_EXACT || n_b > LULL_RANKS_EXACT) {
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
    double share = tied == 0 && n_a <= LULL_RANKS_EXACT && n_b <= LULL_RANKS_EXACT
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

void lull_holm(const double *probabilities, size_t count, double level, bool *ret_rejected)
{
    memset(ret_rejected, 0, count * sizeof *ret_rejected);
    struct ranked *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return; /* nothing is claimed */
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct ranked){probabilities[i], i};
    qsort(sorted, count, sizeof *sorted, by_probability);
    for (size_t i = 0; i < count && sorted[i].probability <= level / (double)(count - i); i++)
        ret_rejected[sorted[i].index] = true;
    free(sorted);
}
