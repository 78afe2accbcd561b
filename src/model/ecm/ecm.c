#include "model/ecm/ecm.h"

#include <math.h>

/* The first rule: a link overlaps with everything or with nothing. */
static double time_added(const struct lull_ecm *ecm, size_t level)
{
    double sum = ecm->t_nol, longest = ecm->t_ol;
    for (size_t i = 0; i < level; i++)
        if (ecm->links[i].overlaps)
            longest = fmax(longest, ecm->links[i].cycles);
        else
            sum += ecm->links[i].cycles;
    return fmax(longest, sum);
}

/* What would remain if all parts of which a share overlaps did so wholly. */
static double longest_part(const struct lull_ecm *ecm, size_t level)
{
    double longest = fmax(ecm->t_ol, ecm->t_nol);
    for (size_t i = 0; i < level; i++)
        longest = fmax(longest, ecm->links[i].whole);
    return longest;
}

/* That of the farthest link that is used. */
static double overlapping_share(const struct lull_ecm *ecm, size_t level)
{
    while (level > 0 && !(ecm->links[level - 1].cycles > 0))
        level--;
    return level > 0 ? ecm->links[level - 1].share : 0;
}

double lull_ecm_time(const struct lull_ecm *ecm, size_t level)
{
    level = level < ecm->n_links ? level : ecm->n_links;
    double added = time_added(ecm, level);
    double gained = fmax(0, added - longest_part(ecm, level));
    return added - overlapping_share(ecm, level) * gained;
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
