#include "model/ecm/ecm.h"

#include <math.h>

static double longest_overlapping(const struct lull_ecm *ecm, size_t level)
{
    double longest = ecm->t_ol;
    for (size_t i = 0; i < level; i++)
        if (ecm->links[i].overlaps)
            longest = fmax(longest, ecm->links[i].cycles);
    return longest;
}

/* `sum` and the cycles of the links behind level `first`, up to `level`, but of those that overlap
 * wholly. */
static double add_links(const struct lull_ecm *ecm, double sum, size_t first, size_t level)
{
    for (size_t i = first; i < level; i++)
        sum += ecm->links[i].overlaps ? 0 : ecm->links[i].cycles;
    return sum;
}

/* Cycles for the lines that come from a level and no farther: what all that passes it takes from
 * there, less what the part of it would take there that comes from beyond. */
static double taken_from(const struct lull_ecm *ecm, size_t from, size_t level)
{
    double all = from ? ecm->links[from - 1].whole : ecm->t_nol;
    double beyond = from < level ? ecm->links[from].whole - ecm->links[from].cycles : 0;
    return fmax(0, all - beyond);
}

/* The share of what comes from beyond, each farther level as much as comes from it. */
static double share_of(const struct lull_ecm *ecm, size_t from, size_t level)
{
    double sum = 0, weights = 0;
    for (size_t far = from + 1; far <= level; far++) {
        double weight = taken_from(ecm, far, level);
        sum += weight * ecm->links[far - 1].shares[from];
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

double lull_ecm_time(const struct lull_ecm *ecm, size_t level)
{
    level = level < ecm->n_links ? level : ecm->n_links;
    double time = add_links(ecm, ecm->t_nol, 0, level), gained = 0;
    for (size_t from = 0; from < level; from++) {
        double shorter = fmin(taken_from(ecm, from, level), add_links(ecm, 0, from, level));
        gained += share_of(ecm, from, level) * shorter;
    }
    return fmax(longest_overlapping(ecm, level), time - gained);
}

double lull_ecm_transfer(double loads, double stores, double line_bytes, double bytes_per_cycle,
                         bool full_duplex)
{
    double lines = full_duplex ? fmax(loads, stores) : loads + stores;
    return lines * line_bytes / bytes_per_cycle;
}

double lull_ecm_scale(double t, double shared, unsigned cores)
{
    return fmax(t / cores, shared);
}

unsigned lull_ecm_saturation(double t, double shared)
{
    return shared > 0 ? (unsigned)ceil(t / shared) : 0;
}

double lull_ecm_scale_latency(double t, double shared, unsigned cores)
{
    if (!(shared > 0))
        return t / cores;
    double utilisation = shared / t;
    for (unsigned n = 2; n <= cores; n++)
        utilisation = fmin(1, n * shared / (t + (n - 1) * utilisation * shared / 2));
    return shared / fmin(1, utilisation);
}
