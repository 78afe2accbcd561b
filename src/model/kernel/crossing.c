#include "model/kernel/crossing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LANES = 64, MOST_ROUNDS = 16 };

/* ---- where vectors begin --------------------------------------------------------------------- */

/* The first element that an access touches in the body, with outer loops where `values` has them.
 */
static double first_element(const struct lull_kernel *kernel,
                            const struct lull_kernel_access *access, double *values)
{
    const struct lull_kernel_loop *body = &kernel->loops[kernel->body];
    values[body->symbol] = lull_poly_value(&body->first, values);
    return lull_poly_value(&access->offset, values);
}

static unsigned place_in_vector(double element, unsigned lanes)
{
    double rest = fmod(element, lanes);
    return (unsigned)(rest < 0 ? rest + lanes : rest);
}

/* How often the first vector of the body begins at each place within a vector: shares[lanes], of
 * sum
 * 1. Counting down, it ends with the first element. */
static void find_places(const struct lull_kernel *kernel, const struct lull_kernel_access *access,
                        unsigned lanes, double *shares)
{
    double values[LULL_POLY_SYMBOLS];
    lull_kernel_values(kernel, values);
    const double first = first_element(kernel, access, values);
    const bool down = lull_kernel_stride(kernel, access, (size_t)kernel->body) < 0;
    memset(shares, 0, lanes * sizeof *shares);
    shares[place_in_vector(down ? first - (lanes - 1) : first, lanes)] = 1;
    for (int l = kernel->loops[kernel->body].parent; l != LULL_KERNEL_NONE;
         l = kernel->loops[l].parent) {
        double before[MOST_LANES], next[LULL_POLY_SYMBOLS];
        memcpy(before, shares, lanes * sizeof *shares);
        memcpy(next, values, sizeof next);
        next[kernel->loops[l].symbol] += (double)kernel->loops[l].step;
        unsigned step = place_in_vector(first_element(kernel, access, next) - first, lanes);
        /* After `lanes` iterations of the outer loop the places repeat. */
        double trips = fmax(1, lull_kernel_trips(kernel, (size_t)l));
        unsigned count = trips < MOST_ROUNDS * lanes ? (unsigned)trips : lanes;
        memset(shares, 0, lanes * sizeof *shares);
        for (unsigned t = 0; t < count; t++)
            for (unsigned place = 0; place < lanes; place++)
                shares[(place + t * step) % lanes] += before[place] / count;
    }
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Walks from element to element, and no access before does the same. */
static bool makes_vectors(const struct lull_kernel *kernel, size_t number)
{
    const struct lull_kernel_access *access = &kernel->accesses[number];
    if (access->loop != kernel->body || access->index_access != LULL_KERNEL_NONE ||
        fabs(lull_kernel_stride(kernel, access, (size_t)kernel->body)) != 1)
        return false;
    for (size_t k = 0; k < number; k++)
        if (kernel->accesses[k].loop == access->loop &&
            kernel->accesses[k].array == access->array &&
            kernel->accesses[k].write == access->write &&
            kernel->accesses[k].index_access == LULL_KERNEL_NONE &&
            lull_poly_equal(&kernel->accesses[k].offset, &access->offset))
            return false;
    return true;
}

static double cycles_of(const struct lull_machine *machine, const char *base, unsigned vector_bytes)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s.1", base,
             vector_bytes == 64   ? "avx512"
             : vector_bytes == 32 ? "avx2"
                                  : "sse");
    const struct lull_number *number = lull_machine_find(machine, name);
    return number && number->in_cycles > 0 ? vector_bytes / number->in_cycles : NAN;
}

static void add_cycles(const struct lull_machine *machine, unsigned vector_bytes, double vectors,
                       struct lull_crossing *crossing)
{
    double load = cycles_of(machine, "crossing.load", vector_bytes) -
                  cycles_of(machine, "within.load", vector_bytes);
    double store = cycles_of(machine, "within.store", vector_bytes);
    double longer = cycles_of(machine, "crossing.store", vector_bytes) - store;
    crossing->known = isfinite(load) && isfinite(longer);
    if (!crossing->known)
        return;
    crossing->load_cycles = crossing->loads * fmax(0, load);
    crossing->store_cycles = vectors * store + crossing->stores * fmax(0, longer);
}

struct lull_crossing lull_crossing_find(const struct lull_kernel *kernel,
                                        const struct lull_machine *machine, unsigned vector_bits,
                                        double line_bytes)
{
    struct lull_crossing crossing = {0};
    unsigned vector_bytes = vector_bits / 8;
    double unit = lull_kernel_unit(kernel, line_bytes), stored = 0;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        unsigned bytes = kernel->arrays[access->array].bytes;
        unsigned lanes = bytes ? vector_bytes / bytes : 0;
        double shares[MOST_LANES], lines = unit * bytes / line_bytes;
        if (lanes < 2 || lanes > MOST_LANES || !makes_vectors(kernel, i))
            continue;
        find_places(kernel, access, lanes, shares);
        *(access->write ? &crossing.stores : &crossing.loads) += lines * (1 - shares[0]);
        *(access->write ? &crossing.lines_stored : &crossing.lines_loaded) += lines;
        stored += access->write ? unit / lanes : 0;
    }
    add_cycles(machine, vector_bytes, stored, &crossing);
    return crossing;
}
