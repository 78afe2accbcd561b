/* How a number of a run depends on its processes and the size of its problem: one coefficient and a
 * few exponents. */
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

/* What is tried, simplest first. */
struct lull_law_candidates {
    size_t n_factors;
    const double *exponents[LULL_LAW_FACTORS]; /* of each factor */
    size_t n_exponents[LULL_LAW_FACTORS];
};

/* The law whose relative errors at the points have the least squares; one that is less simple must
 * halve them. factors[i] are those of point i, above 0; y of 0 everywhere gives the coefficient 0,
 * and points with y = 0 are passed over otherwise. */
struct lull_derived_law lull_law_find(const double (*factors)[LULL_LAW_FACTORS], const double *y,
                                      size_t count, const struct lull_law_candidates *candidates);

double lull_law_at(const struct lull_derived_law *law, const double factors[LULL_LAW_FACTORS]);

/* seconds = own * size^own_exponent + divided * size^divided_exponent / processes */
struct lull_serial_law {
    double own, own_exponent, divided, divided_exponent;
    double residual; /* largest relative error at the points */
};

/* The law of this form whose relative errors have the least squares, with exponents of the size
 * from 0 to 3. False: fewer than three numbers of processes, or a part of the best one is not above
 * 0. */
bool lull_serial_law_find(const double *processes, const double *sizes, const double *y,
                          size_t count, struct lull_serial_law *ret_law);
double lull_serial_law_at(const struct lull_serial_law *law, double processes, double size);

#endif
