/* Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
 * MPICH" (2005), for messages of latency + bytes / bandwidth; the cost of arithmetic is left out.
 * Trees and doubling take a step more on numbers that are no power of two, as written there. */
#include "model/program/collective_form.h"

#include "base/collective.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Depth of a tree, rounds of a dissemination. */
static double levels(double processes)
{
    return ceil(log2(processes));
}

static double twice_levels(double processes)
{
    return 2 * levels(processes);
}

/* Where P is no power of two, some ranks first give their part to others and last get the result.
 */
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

const struct lull_collective_form lull_collective_forms[] = {
    {"barrier", "dissemination", LULL_COLLECTIVE_BARRIER, levels, nothing},
    {"barrier", "binomial", LULL_COLLECTIVE_BARRIER, twice_levels, nothing},
    {"broadcast", "binomial", LULL_COLLECTIVE_BCAST, levels, tree_volume},
    {"reduce", "binomial", LULL_COLLECTIVE_REDUCE, levels, tree_volume},
    {"allreduce", "binomial", LULL_COLLECTIVE_ALLREDUCE, twice_levels, two_trees_volume},
    {"allreduce", "recursive-doubling", LULL_COLLECTIVE_ALLREDUCE, folded_levels, doubling_volume},
    {"allreduce", "rabenseifner", LULL_COLLECTIVE_ALLREDUCE, twice_folded, halving_volume},
    {"allreduce", "ring", LULL_COLLECTIVE_ALLREDUCE, twice_others, ring_volume},
    {"allgather", "ring", LULL_COLLECTIVE_ALLGATHER, others, blocks_volume},
    {"alltoall", "pairwise", LULL_COLLECTIVE_ALLTOALL, others, blocks_volume},
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
