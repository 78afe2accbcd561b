/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/derive/disturbance.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { FEWEST_ITERATIONS = 8 };

/* The computations between marks: cells[n_ranks][n], of all ranks. */
struct table {
    double *cells;
    size_t n_ranks, n;
};

/* How many marks each rank has in an iteration; 0: that is no whole number, or not the same on all
 * ranks. */
static size_t marks_of_iteration(const struct lull_measured_marks *ranks, size_t n_ranks,
                                 double iterations, size_t *ret_ranks, size_t *ret_kept)
{
    double each = 0;
    *ret_kept = SIZE_MAX;
    *ret_ranks = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        if (ranks[r].count == 0)
            continue;
        double here = (double)ranks[r].count / iterations;
        if (here < 1 || here != floor(here) || (each > 0 && here != each))
            return 0;
        each = here;
        if (ranks[r].kept < *ret_kept)
            *ret_kept = ranks[r].kept;
        ++*ret_ranks;
    }
    return (size_t)each;
}

static void fill(struct table *table, const struct lull_measured_marks *ranks, size_t n_ranks,
                 size_t each)
{
    double *cell = table->cells;
    for (size_t r = 0; r < n_ranks; r++)
        for (size_t i = 0; i < table->n && ranks[r].count > 0; i++)
            *cell++ = ranks[r].useful[(i + 1) * each] - ranks[r].useful[i * each];
}

static void take_means(struct table *table, double *of_ranks, double *of_iterations)
{
    double all = 0, cells = (double)table->n_ranks * (double)table->n;
    for (size_t r = 0; r < table->n_ranks; r++)
        for (size_t i = 0; i < table->n; i++) {
            double value = table->cells[r * table->n + i];
            of_ranks[r] += value / (double)table->n;
            of_iterations[i] += value / (double)table->n_ranks;
            all += value / cells;
        }
    double widened = sqrt((double)table->n_ranks / ((double)table->n_ranks - 1) * (double)table->n /
                          ((double)table->n - 1));
    for (size_t r = 0; r < table->n_ranks; r++)
        for (size_t i = 0; i < table->n; i++) {
            double *cell = &table->cells[r * table->n + i];
            *cell = widened * (*cell - of_ranks[r] - of_iterations[i] + all);
        }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Chooses the probabilities of the quantiles: 0, the powers of 1/2 as far as there are samples for
 * them, 1/2, the same distances from 1, and 1. Returns how many there are. */
static size_t choose_probabilities(size_t n_samples, double *probabilities)
{
    size_t tail = 0, count = 0;
    while (tail < LULL_DISTURBANCE_MOST / 2 - 2 && ldexp((double)n_samples, -(int)tail - 2) >= 1)
        tail++;
    probabilities[count++] = 0;
    for (size_t i = tail; i > 0; i--)
        probabilities[count++] = ldexp(1, -(int)i - 1);
    probabilities[count++] = 0.5;
    for (size_t i = 1; i <= tail; i++)
        probabilities[count++] = 1 - ldexp(1, -(int)i - 1);
    probabilities[count++] = 1;
    return count;
}

static void summarise(struct table *table, struct lull_derived_disturbance *disturbance)
{
    size_t n_samples = table->n_ranks * table->n;
    double squares = 0, mean = 0;
    for (size_t i = 0; i < n_samples; i++)
        squares += table->cells[i] * table->cells[i];
    qsort(table->cells, n_samples, sizeof *table->cells, compare);
    disturbance->n_samples = n_samples;
    disturbance->sd = sqrt(squares / (double)n_samples);
    disturbance->count = choose_probabilities(n_samples, disturbance->probabilities);
    for (size_t q = 0; q < disturbance->count; q++)
        disturbance->quantiles[q] =
            lull_quantile(table->cells, n_samples, disturbance->probabilities[q]);
    for (size_t q = 0; q + 1 < disturbance->count; q++)
        mean += (disturbance->probabilities[q + 1] - disturbance->probabilities[q]) *
                (disturbance->quantiles[q] + disturbance->quantiles[q + 1]) / 2;
    for (size_t q = 0; q < disturbance->count; q++)
        disturbance->quantiles[q] -= mean;
}

bool lull_disturbance_find(const struct lull_measured_marks *ranks, size_t n_ranks,
                           double iterations, struct lull_derived_disturbance *ret_disturbance)
{
    struct table table = {.n_ranks = 0};
    size_t kept, each = marks_of_iteration(ranks, n_ranks, iterations, &table.n_ranks, &kept);
    if (each == 0 || table.n_ranks < 2 || kept / each < FEWEST_ITERATIONS)
        return false;
    table.n = kept / each - 1;
    table.cells = malloc(table.n_ranks * table.n * sizeof *table.cells);
    double *means = calloc(table.n_ranks + table.n, sizeof *means);
    bool found = table.cells && means;
    if (found) {
        fill(&table, ranks, n_ranks, each);
        take_means(&table, means, means + table.n_ranks);
        summarise(&table, ret_disturbance);
    }
    free(table.cells);
    free(means);
    return found;
}

double lull_time_in_mpi_least(const struct lull_measured_marks *ranks, size_t n_ranks,
                              double iterations, struct lull_arena *arena)
{
    size_t n_marked, kept, each = marks_of_iteration(ranks, n_ranks, iterations, &n_marked, &kept);
    if (each == 0 || n_marked < 2 || kept / each < FEWEST_ITERATIONS)
        return NAN;
    size_t n = kept / each - 1;
    double *least = lull_arena_zero(arena, n, sizeof *least);
    for (size_t i = 0; i < n; i++)
        least[i] = INFINITY;
    for (size_t r = 0; r < n_ranks; r++)
        for (size_t i = 0; i < n && ranks[r].count > 0; i++) {
            size_t begin = i * each, end = begin + each;
            if (!ranks[r].at)
                return NAN;
            least[i] = fmin(least[i], ranks[r].at[end] - ranks[r].at[begin] -
                                          (ranks[r].useful[end] - ranks[r].useful[begin]));
        }
    qsort(least, n, sizeof *least, compare);
    return lull_quantile(least, n, 0.5);
}
