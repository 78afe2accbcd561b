/* How much longer and shorter the computation of an iteration is than usual: noise, from a run. */
#ifndef LULL_MODEL_DERIVE_DISTURBANCE_H
#define LULL_MODEL_DERIVE_DISTURBANCE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Of one rank: how long it had been outside of MPI when it came to each of its marks, the messages
 * to its first neighbour or the calls of a collective operation. */
struct lull_measured_marks {
    const double *useful; /* [kept] seconds, ascending: of the first marks */
    size_t kept, count;   /* count: of all */
    const double *at;     /* [kept] when it came to them, seconds; NULL: not known */
};

enum { LULL_DISTURBANCE_MOST = 64 };

/* Quantiles about a mean of 0, those at both ends close together, as maxima need them. */
struct lull_derived_disturbance {
    double probabilities[LULL_DISTURBANCE_MOST], quantiles[LULL_DISTURBANCE_MOST]; /* seconds */
    size_t count;
    double sd;        /* of a computation */
    size_t n_samples; /* computations of all ranks */
};

/* What is left of the computation of a rank in an iteration without the mean of the rank and that
 * of the iteration, so that neither unequal work nor work that some iterations do counts; for the
 * degrees of freedom that these means take the rest is widened (analysis of variance with two
 * factors). Looks at the iterations whose marks all ranks have kept. Ranks have the same whole
 * number of marks in an iteration. Returns false, and there is nothing, for fewer than two ranks
 * with marks or eight such iterations, or marks that do not fit. */
bool lull_disturbance_find(const struct lull_measured_marks *ranks, size_t n_ranks,
                           double iterations, struct lull_derived_disturbance *ret_disturbance);

/* Seconds in MPI in an iteration of the rank that is there for the shortest time, which waits for
 * nobody if the others came before it: what its messages take. Median over the iterations. NAN:
 * not known, or as above. */
double lull_time_in_mpi_least(const struct lull_measured_marks *ranks, size_t n_ranks,
                              double iterations, struct lull_arena *arena);

#endif
