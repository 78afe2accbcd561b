/* Polynomials with integer coefficients in the symbols of a kernel: sizes (N) and loop variables (i).
 * Array extents, loop bounds and indices are such polynomials, so that layer conditions can be
 * written down with the sizes in them. Values: everything is copied, nothing is shared. */
#ifndef LULL_MODEL_KERNEL_POLY_H
#define LULL_MODEL_KERNEL_POLY_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LULL_POLY_SYMBOLS = 16, LULL_POLY_TERMS = 24 };

struct lull_poly_term {
    int64_t factor;                   /* not 0 */
    uint8_t power[LULL_POLY_SYMBOLS]; /* of each symbol */
};

struct lull_poly {
    size_t count; /* 0 terms: zero; higher powers first, each combination of powers once */
    struct lull_poly_term terms[LULL_POLY_TERMS];
};

struct lull_poly lull_poly_constant(int64_t value);
struct lull_poly lull_poly_symbol(size_t symbol);

/* The results are written only where they fit: false where terms, powers or factors are too many or
 * too large. */
bool lull_poly_add(const struct lull_poly *a, const struct lull_poly *b, int64_t factor_of_b,
                   struct lull_poly *ret_sum);
bool lull_poly_multiply(const struct lull_poly *a, const struct lull_poly *b,
                        struct lull_poly *ret_product);
/* False unless every factor is a multiple of `divisor`. */
bool lull_poly_divide(const struct lull_poly *a, int64_t divisor, struct lull_poly *ret_quotient);

bool lull_poly_equal(const struct lull_poly *a, const struct lull_poly *b);
/* Whether it has no symbols; ret_value may be NULL. */
bool lull_poly_is_constant(const struct lull_poly *a, int64_t *ret_value);
bool lull_poly_contains(const struct lull_poly *a, size_t symbol);

/* a = ret_factor * symbol + rest, with neither part containing the symbol; false where it is of a
 * higher degree in it. */
bool lull_poly_split(const struct lull_poly *a, size_t symbol, struct lull_poly *ret_factor,
                     struct lull_poly *ret_rest);

/* With the values of all symbols. In double, because sizes may be asked about that overflow. */
double lull_poly_value(const struct lull_poly *a, const double *values);

/* "N^2 + 2 N - 1", in the arena. */
const char *lull_poly_text(const struct lull_poly *a, const char *const *names,
                           struct lull_arena *arena);

#endif
