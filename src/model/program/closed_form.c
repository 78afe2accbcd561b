/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed forms of what collective operations and noise cost. Source of the operations: Thakur,
 * Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH" (2005), for
 * messages that take latency + bytes / bandwidth; the cost of arithmetic is left out. As written
 * there, trees and doubling take a step more if the number of processes is no power of two. */
#include "model/program/closed_form.h"

#include "base/collective.h"
#include "sim/collective/collective.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ==== the expected maximum ==================================================================== */

/* The sum of 1/k up to n, by its asymptotic series from 16 on (DLMF 5.11.2); for smaller n by steps
 * down from 16. */
static double harmonic(double n)
{
    double above = 0;
    while (n < 16) { /* H(n) = H(n + 1) - 1 / (n + 1) */
        n += 1;
        above += 1 / n;
    }
    double square = 1 / (n * n);
    const double euler = 0.57721566490153286;
    return log(n) + euler + 0.5 / n - square / 12 + square * square / 120 -
           square * square * square / 252 + square * square * square * square / 240 - above;
}

/* 1 - F(x)^draws, without loss of digits where F is near 1. */
static double exceeds(const struct lull_distribution *distribution, double draws, double x)
{
    double cdf = lull_distribution_cdf(distribution, x);
    return cdf <= 0 ? 1 : -expm1(draws * log(cdf));
}

/* Integrates `exceeds` by Simpson's rule in t, with x = low + (high - low) t^4: so points are dense
 * near `low`, where gamma distributions are steep. */
static double integrate(const struct lull_distribution *distribution, double draws, double low,
                        double high)
{
    enum { SIMPSON_STEPS = 4000 };
    double sum = 0;
    for (int i = 0; i <= SIMPSON_STEPS; i++) {
        double t = (double)i / SIMPSON_STEPS, weight = i == 0 || i == SIMPSON_STEPS ? 1
                                                       : i % 2                      ? 4
                                                                                    : 2;
        double x = low + (high - low) * t * t * t * t;
        sum += weight * exceeds(distribution, draws, x) * 4 * t * t * t;
    }
    return sum * (high - low) / (3 * SIMPSON_STEPS);
}

static double by_integration(const struct lull_distribution *distribution, double draws)
{
    double sd = sqrt(lull_distribution_variance(distribution));
    double low = distribution->kind == LULL_DISTRIBUTION_NORMAL
                     ? fmax(distribution->least, distribution->a - 40 * distribution->b)
                     : 0;
    double high = lull_distribution_mean(distribution) + sd;
    if (sd == 0)
        return high;
    while (exceeds(distribution, draws, high) > 1e-9 && high + sd > high)
        high += sd;
    return low + integrate(distribution, draws, low, high);
}

double lull_expected_maximum(const struct lull_distribution *distribution, double draws)
{
    double a = distribution->a, b = distribution->b;
    switch (distribution->kind) {
    case LULL_DISTRIBUTION_CONSTANT:
        return a;
    case LULL_DISTRIBUTION_EXPONENTIAL:
        return a * harmonic(draws);
    case LULL_DISTRIBUTION_UNIFORM:
        return a + (b - a) * draws / (draws + 1);
    case LULL_DISTRIBUTION_BERNOULLI:
        return b >= 1 ? a : -a * expm1(draws * log1p(-b));
    default:
        return by_integration(distribution, draws);
    }
}

static double probability_of(const struct lull_quantiles *quantiles, size_t i)
{
    return quantiles->probabilities ? quantiles->probabilities[i]
                                    : (double)i / ((double)quantiles->count - 1);
}

/* E = Q(1) - integral of Q'(u) u^draws, with Q' constant between two quantiles. */
double lull_expected_maximum_of_quantiles(const struct lull_quantiles *quantiles, double draws)
{
    const double *values = quantiles->values;
    double expected = values[quantiles->count - 1];
    for (size_t i = 0; i + 1 < quantiles->count; i++) {
        double from = probability_of(quantiles, i), to = probability_of(quantiles, i + 1);
        double slope = (values[i + 1] - values[i]) / (to - from);
        expected -= slope * (pow(to, draws + 1) - pow(from, draws + 1)) / (draws + 1);
    }
    return expected;
}

double lull_quantiles_sample(const struct lull_quantiles *quantiles, double probability)
{
    size_t i = 0;
    while (i + 2 < quantiles->count && probability_of(quantiles, i + 1) <= probability)
        i++;
    double from = probability_of(quantiles, i), to = probability_of(quantiles, i + 1);
    return quantiles->values[i] +
           (probability - from) / (to - from) * (quantiles->values[i + 1] - quantiles->values[i]);
}

/* ==== trees of ranks ========================================================================== */

const char *const lull_tree_names[LULL_TREES + 1] = {"star", "binary", "binomial", "chain", NULL};
const char *const lull_tree_parents[LULL_TREES] = {"0", "(r - 1) // 2", "r & (r - 1)", "r - 1"};

uint32_t lull_tree_parent(enum lull_tree tree, uint32_t rank)
{
    switch (tree) {
    case LULL_TREE_BINARY:
        return (rank - 1) / 2;
    case LULL_TREE_BINOMIAL:
        return rank & (rank - 1);
    case LULL_TREE_CHAIN:
        return rank - 1;
    default:
        return 0;
    }
}

uint32_t lull_tree_children(enum lull_tree tree, uint32_t size, uint32_t rank)
{
    uint32_t above = size - 1 - rank, count = 0; /* ranks that come after this one */
    switch (tree) {
    case LULL_TREE_BINARY:
        return rank >= above ? 0 : above - rank == 1 ? 1 : 2;
    case LULL_TREE_BINOMIAL:
        while (count < 31 && (UINT32_C(1) << count) <= above &&
               (rank == 0 || (rank & ((UINT32_C(2) << count) - 1)) == 0))
            count++;
        return count;
    case LULL_TREE_CHAIN:
        return above > 0;
    default:
        return rank == 0 ? above : 0;
    }
}

uint32_t lull_tree_child(enum lull_tree tree, uint32_t rank, uint32_t number)
{
    switch (tree) {
    case LULL_TREE_BINARY:
        return 2 * rank + 1 + number;
    case LULL_TREE_BINOMIAL:
        return rank + (UINT32_C(1) << number);
    default:
        return rank + 1 + number;
    }
}

double lull_tree_depth(enum lull_tree tree, double processes)
{
    if (processes <= 1)
        return 0;
    if (tree == LULL_TREE_STAR)
        return 1;
    return tree == LULL_TREE_CHAIN ? processes - 1 : floor(log2(processes));
}

/* ==== collective operations =================================================================== */

/* The depth of a tree, or the rounds of a dissemination. */
static double levels(double processes)
{
    return ceil(log2(processes));
}

static double twice_levels(double processes)
{
    return 2 * levels(processes);
}

/* The steps of doubling. If the number of processes is no power of two, some ranks give their part
 * to others before, and get the result afterwards: two steps more. */
static double folded_levels(double processes)
{
    double whole = floor(log2(processes));
    return exp2(whole) == processes ? whole : whole + 2;
}

static double twice_folded(double processes)
{
    double whole = floor(log2(processes));
    return exp2(whole) == processes ? 2 * whole : 2 * whole + 2;
}

static double others(double processes)
{
    return processes - 1;
}

static double twice_others(double processes)
{
    return 2 * (processes - 1);
}

static double nothing(double processes, double bytes)
{
    (void)processes;
    (void)bytes;
    return 0;
}

static double tree_volume(double processes, double bytes)
{
    return levels(processes) * bytes;
}

static double two_trees_volume(double processes, double bytes)
{
    return twice_levels(processes) * bytes;
}

static double doubling_volume(double processes, double bytes)
{
    return folded_levels(processes) * bytes;
}

static double halving_volume(double processes, double bytes)
{
    double power = exp2(floor(log2(processes))), folds = power == processes ? 0 : 2;
    return 2 * (power - 1) / power * bytes + folds * bytes;
}

static double ring_volume(double processes, double bytes)
{
    return 2 * (processes - 1) / processes * bytes;
}

static double blocks_volume(double processes, double bytes)
{
    return (processes - 1) * bytes;
}

static double one(double processes)
{
    (void)processes;
    return 1;
}

static double levels_and_others(double processes)
{
    return levels(processes) + processes - 1;
}

static double whole_volume(double processes, double bytes)
{
    (void)processes;
    return bytes;
}

/* Bytes of a vector that one process gives out in parts, or collects. */
static double parts_volume(double processes, double bytes)
{
    return (processes - 1) / processes * bytes;
}

static double folded_parts_volume(double processes, double bytes)
{
    double power = exp2(floor(log2(processes)));
    return (power - 1) / power * bytes + (power == processes ? 0 : bytes + bytes / processes);
}

/* The steps of prefix sums. Low ranks have fewer to wait for, and are ahead of the others. */
static double whole_levels(double processes)
{
    return floor(log2(processes));
}

static double prefix_volume(double processes, double bytes)
{
    return whole_levels(processes) * bytes;
}

/* The steps of Rabenseifner's reduce. If the number of processes is no power of two, there is one
 * step before; what the root gave away in it comes back with the first part that it collects. */
static double twice_levels_and_fold(double processes)
{
    double whole = floor(log2(processes));
    return 2 * whole + (exp2(whole) == processes ? 0 : 1);
}

static double halving_to_root_volume(double processes, double bytes)
{
    double power = exp2(floor(log2(processes)));
    return 2 * (power - 1) / power * bytes + (power == processes ? 0 : bytes);
}

/* The bytes of all steps of Bruck's algorithm. A step sends the parts whose distance has the step's
 * bit. */
static double bruck_volume(double processes, double bytes)
{
    double parts = 0;
    for (double bit = 1; bit < processes; bit *= 2) {
        double rest = fmod(processes, 2 * bit);
        parts += floor(processes / (2 * bit)) * bit + fmax(0, rest - bit);
    }
    return parts * bytes;
}

/* The first form of a primitive is taken if the user names no algorithm. */
const struct lull_collective_form lull_collective_forms[] = {
    {"barrier", "dissemination", LULL_COLLECTIVE_BARRIER, levels, nothing},
    {"barrier", "binomial", LULL_COLLECTIVE_BARRIER, twice_levels, nothing},
    {"broadcast", "binomial", LULL_COLLECTIVE_BCAST, levels, tree_volume},
    {"broadcast", "scatter-doubling", LULL_COLLECTIVE_BCAST, twice_levels, ring_volume},
    {"broadcast", "scatter-allgather", LULL_COLLECTIVE_BCAST, levels_and_others, ring_volume},
    {"reduce", "binomial", LULL_COLLECTIVE_REDUCE, levels, tree_volume},
    {"reduce", "rabenseifner", LULL_COLLECTIVE_REDUCE, twice_levels_and_fold,
     halving_to_root_volume},
    {"allreduce", "binomial", LULL_COLLECTIVE_ALLREDUCE, twice_levels, two_trees_volume},
    {"allreduce", "recursive-doubling", LULL_COLLECTIVE_ALLREDUCE, folded_levels, doubling_volume},
    {"allreduce", "rabenseifner", LULL_COLLECTIVE_ALLREDUCE, twice_folded, halving_volume},
    {"allreduce", "ring", LULL_COLLECTIVE_ALLREDUCE, twice_others, ring_volume},
    {"gather", "binomial", LULL_COLLECTIVE_GATHER, levels, blocks_volume},
    {"gather", "linear", LULL_COLLECTIVE_GATHER, one, whole_volume},
    {"scatter", "binomial", LULL_COLLECTIVE_SCATTER, levels, blocks_volume},
    {"scatter", "linear", LULL_COLLECTIVE_SCATTER, one, whole_volume},
    {"allgather", "ring", LULL_COLLECTIVE_ALLGATHER, others, blocks_volume},
    {"allgather", "recursive-doubling", LULL_COLLECTIVE_ALLGATHER, levels, blocks_volume},
    {"allgather", "bruck", LULL_COLLECTIVE_ALLGATHER, levels, blocks_volume},
    {"alltoall", "pairwise", LULL_COLLECTIVE_ALLTOALL, others, blocks_volume},
    {"alltoall", "linear", LULL_COLLECTIVE_ALLTOALL, one, whole_volume},
    {"alltoall", "bruck", LULL_COLLECTIVE_ALLTOALL, levels, bruck_volume},
    {"reduce_scatter", "recursive-halving", LULL_COLLECTIVE_REDUCE_SCATTER, folded_levels,
     folded_parts_volume},
    {"reduce_scatter", "pairwise", LULL_COLLECTIVE_REDUCE_SCATTER, others, parts_volume},
    {"scan", "recursive-doubling", LULL_COLLECTIVE_SCAN, whole_levels, prefix_volume},
    {NULL, NULL, 0, NULL, NULL},
};

const struct lull_collective_form *lull_collective_form_find(const char *primitive,
                                                             const char *algorithm)
{
    const struct lull_collective_form *form = lull_collective_forms;
    while (form->primitive && (strcmp(form->primitive, primitive) != 0 ||
                               (algorithm && strcmp(form->algorithm, algorithm) != 0)))
        form++;
    return form->primitive ? form : NULL;
}

const struct lull_collective_form *lull_collective_form_presume(const char *primitive,
                                                                double processes, double bytes)
{
    const struct lull_collective_form *first = lull_collective_form_find(primitive, NULL);
    const struct lull_network anything = {.algorithms = NULL};
    if (!first || !(processes >= 2))
        return first;
    bool has_blocks = first->operation == LULL_COLLECTIVE_GATHER ||
                      first->operation == LULL_COLLECTIVE_SCATTER ||
                      first->operation == LULL_COLLECTIVE_ALLGATHER ||
                      first->operation == LULL_COLLECTIVE_ALLTOALL;
    uint32_t size = (uint32_t)fmin(processes, UINT32_MAX);
    double all = fmin(floor(bytes) * (has_blocks ? size : 1), 0x1p63);
    uint8_t chosen = lull_collective_choose(&anything, first->operation, size, (uint64_t)all);
    return lull_collective_form_find(primitive, lull_collective_algorithm_name(chosen));
}
