/* Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
 * MPICH" (2005), for messages of latency + bytes / bandwidth; the cost of arithmetic is left out.
 * Trees and doubling take a step more on numbers that are no power of two, as written there. */
#include "model/program/primitive/collective_form.h"

#include "base/collective.h"
#include "sim/collective/collective.h"

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

/* Of a vector that goes out in parts, or comes in. */
static double parts_volume(double processes, double bytes)
{
    return (processes - 1) / processes * bytes;
}

static double folded_parts_volume(double processes, double bytes)
{
    double power = exp2(floor(log2(processes)));
    return (power - 1) / power * bytes + (power == processes ? 0 : bytes + bytes / processes);
}

/* Of prefix sums: low ranks have less to wait for, and are ahead of the others. */
static double whole_levels(double processes)
{
    return floor(log2(processes));
}

static double prefix_volume(double processes, double bytes)
{
    return whole_levels(processes) * bytes;
}

/* Of Rabenseifner's reduce: the folding goes before; the root's own part, which it gave away there,
 * comes back beside the first that it collects. */
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

/* The parts that a step of Bruck's algorithm sends: those whose way has its bit. */
static double bruck_volume(double processes, double bytes)
{
    double parts = 0;
    for (double bit = 1; bit < processes; bit *= 2) {
        double rest = fmod(processes, 2 * bit);
        parts += floor(processes / (2 * bit)) * bit + fmax(0, rest - bit);
    }
    return parts * bytes;
}

/* Of one primitive the first is taken when nothing is said. */
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
