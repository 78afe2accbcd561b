#include "replay/what_if/medians.h"

#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>

/* A slice in an epoch. */
struct row {
    double *values; /* of its units */
    uint32_t bursts;
    bool meant;
    double sum;   /* ns */
    double least; /* without what its units have more than the medians of their peers, which have as
                     many bursts; 0: there are none ... */
    double level; /* ... and its longest units become as long as that */
};

struct median_comparison {
    struct row *rows; /* [count] */
    uint32_t count;
    unsigned shift;
    bool all_meant;
    double *scratch; /* [count] */
};

static bool is_peer(const struct median_comparison *c, uint32_t i)
{
    return c->rows[i].sum > 0 && (c->all_meant || !c->rows[i].meant);
}

/* Of the sums of peers; 0: there are none. */
static double median_sum(const struct median_comparison *c)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (is_peer(c, i))
            c->scratch[n++] = c->rows[i].sum;
    lull_sort(c->scratch, n);
    return n > 0 ? lull_median(c->scratch, n) : 0;
}

/* The values of a unit of the peers among [from, to), sorted; how many. */
static size_t sort_unit(const struct median_comparison *c, uint32_t from, uint32_t to, size_t unit)
{
    size_t n = 0;
    for (uint32_t i = from; i < to; i++)
        if (is_peer(c, i))
            c->scratch[n++] = c->rows[i].values[unit];
    lull_sort(c->scratch, n);
    return n;
}

/* The median of what is sorted; of the others, where the value itself is one of them. */
static double median_of_peers(const struct median_comparison *c, size_t n, double value)
{
    size_t own = 0;
    if (!c->all_meant)
        return lull_median(c->scratch, n);
    while (own + 1 < n && c->scratch[own] < value)
        own++;
    const size_t middle = (n - 1) / 2, before = n % 2 == 1 && middle > 0 ? middle - 1 : middle;
    return (c->scratch[before + (before >= own)] + c->scratch[middle + (middle >= own)]) / 2;
}

/* What is left of a unit, in ns, where a row is to take `sum` in all. With `least`, what it would
 * take without all that its units have more than the medians of their peers, units lose that. */
static double left_of(const struct row *row, double value, double median, double sum)
{
    const double more = row->sum - row->least;
    const double lost = more > 0 ? (row->sum - sum) / more : 2; /* as a share of that */
    if (lost <= 1)
        return value - (value - fmin(value, median)) * lost;
    return fmin(value, median) * (sum / row->least);
}

/* The length that no unit of a row exceeds where all together take `sum`: found between bounds that
 * are halved until they are neighbours. */
static double find_level(const double *values, size_t units, double sum)
{
    double low = 0, high = 0;
    for (size_t u = 0; u < units; u++)
        high = fmax(high, values[u]);
    for (double level = high / 2; level > low && level < high; level = low + (high - low) / 2) {
        double capped = 0;
        for (size_t u = 0; u < units; u++)
            capped += fmin(values[u], level);
        *(capped < sum ? &low : &high) = level;
    }
    return high;
}

static bool is_cut(const struct row *row, double sum)
{
    return row->meant && sum > 0 && row->sum > sum;
}

/* Rows [from, to) have as many bursts. What is left of their units replaces them, as a share. */
static void cut_alike(struct median_comparison *c, uint32_t from, uint32_t to, double sum)
{
    const size_t units = lull_units_of(c->rows[from].bursts, c->shift);
    size_t n = 0;
    for (size_t u = 0; u < units; u++) {
        n = sort_unit(c, from, to, u);
        for (uint32_t i = from; i < to && n > c->all_meant; i++)
            c->rows[i].least +=
                fmin(c->rows[i].values[u], median_of_peers(c, n, c->rows[i].values[u]));
    }
    for (uint32_t i = from; i < to; i++)
        if (is_cut(&c->rows[i], sum) && c->rows[i].least <= 0)
            c->rows[i].level = find_level(c->rows[i].values, units, sum);
    for (size_t u = 0; u < units; u++) {
        n = sort_unit(c, from, to, u);
        for (uint32_t i = from; i < to; i++) {
            const struct row *row = &c->rows[i];
            double *value = &c->rows[i].values[u];
            double left = *value;
            if (is_cut(row, sum) && row->least > 0)
                left = left_of(row, *value, median_of_peers(c, n, *value), sum);
            else if (is_cut(row, sum))
                left = fmin(*value, row->level);
            if (row->meant)
                *value = *value > 0 ? left / *value : 1;
        }
    }
}

static int compare_bursts(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->bursts > y->bursts) - (x->bursts < y->bursts);
}

static double add_up(const double *values, size_t units)
{
    double sum = 0;
    for (size_t u = 0; u < units; u++)
        sum += values[u];
    return sum;
}

static void take_slice(const struct lull_slice *slice, uint32_t epoch, unsigned shift,
                       struct row *ret_row)
{
    *ret_row = (struct row){.values = slice->values, .meant = slice->meant};
    if (epoch >= slice->n_epochs)
        return;
    ret_row->values = &slice->values[slice->epochs[epoch].first];
    ret_row->bursts = slice->epochs[epoch].bursts;
    ret_row->sum = add_up(ret_row->values, lull_units_of(ret_row->bursts, shift));
}

static void cut_epoch(struct median_comparison *c)
{
    qsort(c->rows, c->count, sizeof *c->rows, compare_bursts);
    const double sum = median_sum(c);
    for (uint32_t from = 0, to; from < c->count; from = to) {
        for (to = from; to < c->count && c->rows[to].bursts == c->rows[from].bursts;)
            to++;
        cut_alike(c, from, to, sum);
    }
}

bool lull_slices_cut(struct lull_slice *slices, uint32_t count, unsigned shift, bool all_meant)
{
    struct median_comparison c = {.rows = calloc(count + (size_t)1, sizeof *c.rows),
                                  .count = count,
                                  .shift = shift,
                                  .all_meant = all_meant,
                                  .scratch = calloc(count + (size_t)1, sizeof *c.scratch)};
    const bool fits = c.rows && c.scratch;
    uint32_t n_epochs = 0;
    for (uint32_t i = 0; i < count; i++)
        n_epochs = slices[i].n_epochs > n_epochs ? slices[i].n_epochs : n_epochs;
    for (uint32_t epoch = 0; fits && epoch < n_epochs; epoch++) {
        for (uint32_t i = 0; i < count; i++)
            take_slice(&slices[i], epoch, shift, &c.rows[i]);
        cut_epoch(&c);
    }
    free(c.rows);
    free(c.scratch);
    return fits;
}
