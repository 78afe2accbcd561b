#include "model/derive/deriving.h"

#include <math.h>

static const double powers_of_size[] = {1, 2, 3, 0, 0.5, 1.5};
/* Of times: divided, the same on all, on the edge or the surface of what is divided. */
static const double powers_of_times[] = {-1, 0, -0.5, -2.0 / 3};
static const double powers_of_numbers[] = {0, -1, 1, -0.5, -2.0 / 3};
/* Of the extent along a dimension and of the others: what is swapped is usually divided by these.
 */
static const double powers_of_own_extent[] = {0, -1}, powers_of_other_extents[] = {-1, 0};
static const double power_none[] = {0};

static void set_powers(const double *powers, size_t count, struct lull_law_candidates *candidates)
{
    candidates->exponents[candidates->n_factors] = powers;
    candidates->n_exponents[candidates->n_factors++] = count;
}

static void set_powers_of_size(const struct deriving *deriving,
                               struct lull_law_candidates *candidates)
{
    bool differ = false;
    for (size_t i = 1; i < deriving->runs->n_runs; i++)
        differ = differ || deriving->runs->size[i] != deriving->runs->size[0];
    if (differ)
        set_powers(powers_of_size, sizeof powers_of_size / sizeof *powers_of_size, candidates);
    else
        set_powers(power_none, 1, candidates);
}

static struct lull_derived_law law_of(const struct deriving *deriving, const double *powers,
                                      size_t n_powers, const double *y)
{
    struct lull_law_candidates candidates = {.n_factors = 0};
    set_powers(powers, n_powers, &candidates);
    set_powers_of_size(deriving, &candidates);
    return lull_law_find((const double(*)[LULL_LAW_FACTORS])deriving->by_processes, y,
                         deriving->runs->n_runs, &candidates);
}

struct lull_derived_law lull_derive_law_of_times(const struct deriving *deriving, const double *y)
{
    size_t n_runs = deriving->runs->n_runs;
    double *alone = lull_arena_zero(deriving->arena, n_runs, sizeof *alone);
    for (size_t i = 0; i < n_runs; i++)
        alone[i] = y[i] / lull_derive_crowding_at(deriving, i);
    return law_of(deriving, powers_of_times, sizeof powers_of_times / sizeof *powers_of_times,
                  alone);
}

struct lull_derived_law lull_derive_law_of_numbers(const struct deriving *deriving, const double *y)
{
    return law_of(deriving, powers_of_numbers, sizeof powers_of_numbers / sizeof *powers_of_numbers,
                  y);
}

/* Bytes along a dimension by the extents of the grid. */
struct lull_derived_law lull_derive_law_of_bytes(const struct deriving *deriving, int dimension,
                                                 const double *y)
{
    struct lull_law_candidates candidates = {.n_factors = 0};
    for (int d = 0; d < LULL_SHAPE_DIMENSIONS; d++)
        if (d >= (int)deriving->shape.dimensions)
            set_powers(power_none, 1, &candidates);
        else
            set_powers(d == dimension ? powers_of_own_extent : powers_of_other_extents, 2,
                       &candidates);
    set_powers_of_size(deriving, &candidates);
    return lull_law_find((const double(*)[LULL_LAW_FACTORS])deriving->by_extents, y,
                         deriving->runs->n_runs, &candidates);
}

static void write_power(const struct deriving *deriving, const char *factor, double exponent)
{
    if (exponent == -1)
        fprintf(deriving->out, " / %s", factor);
    else if (exponent == 1)
        fprintf(deriving->out, " * %s", factor);
    else if (exponent != 0)
        fprintf(deriving->out, " * %s^%.17g", factor, exponent);
}

static const char *size_text(const struct deriving *deriving)
{
    return deriving->runs->size_name
               ? lull_arena_printf(deriving->arena, "p.%s", deriving->runs->size_name)
               : "1";
}

void lull_derive_write_law(const struct deriving *deriving, const struct lull_derived_law *law)
{
    fprintf(deriving->out, "%.17g", law->coefficient);
    write_power(deriving, "p.P", law->exponents[0]);
    write_power(deriving, size_text(deriving), law->exponents[1]);
}

void lull_derive_write_law_of_bytes(const struct deriving *deriving,
                                    const struct lull_derived_law *law)
{
    static const char *const extents[] = {"g[1]", "g[2]", "g[3]"};
    fprintf(deriving->out, "%.17g", law->coefficient);
    for (int d = 0; d < LULL_SHAPE_DIMENSIONS; d++)
        write_power(deriving, extents[d], law->exponents[d]);
    write_power(deriving, size_text(deriving), law->exponents[LULL_SHAPE_DIMENSIONS]);
}

const char *lull_derive_exactness(double residual, struct lull_arena *arena)
{
    return residual < 1e-9 ? "exactly" : lull_arena_printf(arena, "within %.2g %%", 100 * residual);
}
