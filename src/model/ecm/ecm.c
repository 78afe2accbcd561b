#include "model/ecm/ecm.h"

#include <math.h>

double lull_ecm_time(const struct lull_ecm *ecm, size_t level)
{
    double sum = ecm->t_nol, longest = ecm->t_ol, streams = fmax(ecm->t_ol, ecm->t_nol), share = 0;
    for (size_t i = 0; i < level && i < ecm->n_links; i++) {
        if (ecm->links[i].overlaps)
            longest = fmax(longest, ecm->links[i].cycles);
        else
            sum += ecm->links[i].cycles;
        streams = fmax(streams, ecm->links[i].whole);
        share = ecm->links[i].cycles > 0 ? ecm->links[i].share : share;
    }
    double added = fmax(longest, sum);
    return added - share * fmax(0, added - streams);
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
