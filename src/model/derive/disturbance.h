/* SPDX-License-Identifier: BSD-3-Clause */
/* The noise of a recorded run: by how much the computation of an iteration is longer or shorter
 * than usual, and what is left of an iteration for its messages. */
#ifndef LULL_MODEL_DERIVE_DISTURBANCE_H
#define LULL_MODEL_DERIVE_DISTURBANCE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* The marks of one rank: the moments at which it sends to its first neighbour, or calls a
 * collective operation. A rank has the same number of marks in every iteration. */
struct lull_measured_marks {
    const double *useful; /* [kept] seconds that the rank had spent outside of MPI when it came to
                             each of the first marks, ascending */
    size_t kept, count;   /* the marks that are here, and all that the rank had */
    const double *at;     /* [kept] when the rank came to them, seconds; NULL: not known */
};

enum { LULL_DISTURBANCE_MOST = 64 }; /* the most quantiles */

/* How computations differ from what is usual, as quantiles about a mean of 0. They lie closer
 * together at both ends, because the expected maximum of many ranks depends on these. */
struct lull_derived_disturbance {
    double probabilities[LULL_DISTURBANCE_MOST], quantiles[LULL_DISTURBANCE_MOST]; /* seconds */
    size_t count;
    double sd;        /* standard deviation of one rank's computation in one iteration, seconds */
    size_t n_samples; /* computations of all ranks that were looked at */
};

/* Finds the noise of computations. From what a rank computed in an iteration, the mean of the rank
 * and the mean of the iteration are subtracted, so that neither unequal work nor work that only
 * some iterations have counts as noise. What is left is widened for the degrees of freedom that
 * these means take (analysis of variance with two factors). Only iterations whose marks all ranks
 * have kept are looked at. Returns false, without a result, for fewer than two ranks with marks,
 * for fewer than eight such iterations, and where the numbers of marks do not fit the iterations.
 */
bool lull_disturbance_find(const struct lull_measured_marks *ranks, size_t n_ranks,
                           double iterations, struct lull_derived_disturbance *ret_disturbance);

/* What the messages of an iteration take, in seconds: the time in MPI of the rank that is there for
 * the shortest time, since that rank waits for nobody if all others came before it. It is the
 * median over the iterations. NAN where the times of marks are not known, or where
 * lull_disturbance_find would return false. */
double lull_time_in_mpi_least(const struct lull_measured_marks *ranks, size_t n_ranks,
                              double iterations, struct lull_arena *arena);

#endif
