/* SPDX-License-Identifier: BSD-3-Clause */
/* Laws of derived models: how a number of a run depends on its number of processes and the size of
 * its problem, with one coefficient and a few exponents. */
#ifndef LULL_MODEL_DERIVE_LAW_H
#define LULL_MODEL_DERIVE_LAW_H

#include <stdbool.h>
#include <stddef.h>

enum { LULL_LAW_FACTORS = 4 };

/* y = coefficient * product of factor^exponent */
struct lull_derived_law {
    double coefficient, low, high; /* Student's interval of 95 %; NAN: only one point */
    double exponents[LULL_LAW_FACTORS];
    double residual; /* largest relative error at the points */
};

/* The exponents that are tried for each factor, simplest first. */
struct lull_law_candidates {
    size_t n_factors;
    const double *exponents[LULL_LAW_FACTORS]; /* [n_exponents of the factor] */
    size_t n_exponents[LULL_LAW_FACTORS];
};

/* The law whose relative errors at the points have the least sum of squares. A law that is less
 * simple than another has to halve that sum. factors[i] are the factors of point i, above 0. Where
 * y is 0 at all points the coefficient is 0; else points with y = 0 are passed over. */
struct lull_derived_law lull_law_find(const double (*factors)[LULL_LAW_FACTORS], const double *y,
                                      size_t count, const struct lull_law_candidates *candidates);

double lull_law_at(const struct lull_derived_law *law, const double factors[LULL_LAW_FACTORS]);

/* seconds = own * size^own_exponent + divided * size^divided_exponent / processes */
struct lull_serial_law {
    double own, own_exponent, divided, divided_exponent;
    double residual; /* largest relative error at the points */
};

/* The serial law whose relative errors at the points have the least sum of squares; exponents of
 * the size are from 0 to 3. Returns false for fewer than three numbers of processes, and where
 * `own` or `divided` of the best law is not above 0. */
bool lull_serial_law_find(const double *processes, const double *sizes, const double *y,
                          size_t count, struct lull_serial_law *ret_law);
double lull_serial_law_at(const struct lull_serial_law *law, double processes, double size);

#endif
