/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/kernel.h"

#include "base/error.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ==== polynomials ============================================================================= */

enum { MOST_POWER = 8 };

struct lull_poly lull_poly_constant(int64_t value)
{
    struct lull_poly poly = {.count = value != 0};
    poly.terms[0].factor = value;
    return poly;
}

struct lull_poly lull_poly_symbol(size_t symbol)
{
    struct lull_poly poly = {.count = 1, .terms = {{.factor = 1}}};
    poly.terms[0].power[symbol] = 1;
    return poly;
}

static unsigned degree_of_term(const struct lull_poly_term *term)
{
    unsigned sum = 0;
    for (size_t i = 0; i < LULL_POLY_SYMBOLS; i++)
        sum += term->power[i];
    return sum;
}

/* Orders terms: higher degrees first, then by the powers of the first symbols. */
static int order(const struct lull_poly_term *a, const struct lull_poly_term *b)
{
    unsigned degree_a = degree_of_term(a), degree_b = degree_of_term(b);
    if (degree_a != degree_b)
        return degree_a > degree_b ? -1 : 1;
    return -memcmp(a->power, b->power, sizeof a->power);
}

static void remove_term(struct lull_poly *poly, size_t at)
{
    poly->count--;
    memmove(&poly->terms[at], &poly->terms[at + 1], (poly->count - at) * sizeof *poly->terms);
}

/* Adds a term times a factor, at its place in the order. False: a number or the terms overflow. */
static bool add_term(struct lull_poly *poly, const struct lull_poly_term *term, int64_t factor)
{
    int64_t product;
    size_t at = 0;
    if (__builtin_mul_overflow(term->factor, factor, &product))
        return false;
    if (product == 0)
        return true;
    while (at < poly->count && order(&poly->terms[at], term) < 0)
        at++;
    if (at < poly->count && order(&poly->terms[at], term) == 0) {
        if (__builtin_add_overflow(poly->terms[at].factor, product, &poly->terms[at].factor))
            return false;
        if (poly->terms[at].factor == 0)
            remove_term(poly, at);
        return true;
    }
    if (poly->count == LULL_POLY_TERMS)
        return false;
    memmove(&poly->terms[at + 1], &poly->terms[at], (poly->count - at) * sizeof *poly->terms);
    poly->terms[at] = *term;
    poly->terms[at].factor = product;
    poly->count++;
    return true;
}

bool lull_poly_add(const struct lull_poly *a, const struct lull_poly *b, int64_t factor_of_b,
                   struct lull_poly *ret_sum)
{
    struct lull_poly sum = *a;
    for (size_t i = 0; i < b->count; i++)
        if (!add_term(&sum, &b->terms[i], factor_of_b))
            return false;
    *ret_sum = sum;
    return true;
}

bool lull_poly_multiply(const struct lull_poly *a, const struct lull_poly *b,
                        struct lull_poly *ret_product)
{
    struct lull_poly product = {0};
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++) {
            struct lull_poly_term term = b->terms[k];
            for (size_t s = 0; s < LULL_POLY_SYMBOLS; s++) {
                if (term.power[s] + a->terms[i].power[s] > MOST_POWER)
                    return false;
                term.power[s] = (uint8_t)(term.power[s] + a->terms[i].power[s]);
            }
            if (!add_term(&product, &term, a->terms[i].factor))
                return false;
        }
    *ret_product = product;
    return true;
}

bool lull_poly_divide(const struct lull_poly *a, int64_t divisor, struct lull_poly *ret_quotient)
{
    struct lull_poly quotient = *a;
    if (divisor == 0 || divisor == -1)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (a->terms[i].factor % divisor != 0)
            return false;
        quotient.terms[i].factor /= divisor;
    }
    *ret_quotient = quotient;
    return true;
}

bool lull_poly_equal(const struct lull_poly *a, const struct lull_poly *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->terms[i].factor != b->terms[i].factor || order(&a->terms[i], &b->terms[i]) != 0)
            return false;
    return true;
}

bool lull_poly_is_constant(const struct lull_poly *a, int64_t *ret_value)
{
    if (a->count > 1 || (a->count == 1 && degree_of_term(&a->terms[0]) > 0))
        return false;
    if (ret_value)
        *ret_value = a->count ? a->terms[0].factor : 0;
    return true;
}

bool lull_poly_contains(const struct lull_poly *a, size_t symbol)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->terms[i].power[symbol])
            return true;
    return false;
}

bool lull_poly_split(const struct lull_poly *a, size_t symbol, struct lull_poly *ret_factor,
                     struct lull_poly *ret_rest)
{
    struct lull_poly factor = {0}, rest = {0};
    for (size_t i = 0; i < a->count; i++) {
        struct lull_poly_term term = a->terms[i];
        if (term.power[symbol] > 1)
            return false;
        struct lull_poly *part = term.power[symbol] ? &factor : &rest;
        term.power[symbol] = 0;
        if (!add_term(part, &term, 1))
            return false;
    }
    *ret_factor = factor;
    *ret_rest = rest;
    return true;
}

double lull_poly_value(const struct lull_poly *a, const double *values)
{
    double sum = 0;
    for (size_t i = 0; i < a->count; i++) {
        double product = (double)a->terms[i].factor;
        for (size_t s = 0; s < LULL_POLY_SYMBOLS; s++)
            for (unsigned p = 0; p < a->terms[i].power[s]; p++)
                product *= values[s];
        sum += product;
    }
    return sum;
}

static const char *poly_term_text(const struct lull_poly_term *term, const char *const *names,
                                  struct lull_arena *arena)
{
    int64_t size = term->factor < 0 ? -term->factor : term->factor;
    const char *text = size != 1 || degree_of_term(term) == 0
                           ? lull_arena_printf(arena, "%lld", (long long)size)
                           : "";
    for (size_t s = 0; s < LULL_POLY_SYMBOLS; s++) {
        if (!term->power[s])
            continue;
        text = lull_arena_printf(arena, "%s%s%s", text, *text ? " " : "", names[s]);
        if (term->power[s] > 1)
            text = lull_arena_printf(arena, "%s^%u", text, term->power[s]);
    }
    return text;
}

const char *lull_poly_text(const struct lull_poly *a, const char *const *names,
                           struct lull_arena *arena)
{
    const char *text = a->count ? "" : "0";
    for (size_t i = 0; i < a->count; i++) {
        bool minus = a->terms[i].factor < 0;
        const char *sign = i ? (minus ? " - " : " + ") : minus ? "-" : "";
        text = lull_arena_printf(arena, "%s%s%s", text, sign,
                                 poly_term_text(&a->terms[i], names, arena));
    }
    return text;
}

/* ==== the kernel ============================================================================== */

bool lull_kernel_resize(struct lull_kernel *kernel, const char *name, double value)
{
    for (size_t s = 0; s < kernel->n_symbols; s++)
        if (kernel->symbols[s].is_size &&
            (kernel->is_fortran ? strcasecmp : strcmp)(kernel->symbols[s].name, name) == 0) {
            kernel->symbols[s].value = value;
            lull_kernel_divide(kernel);
            return true;
        }
    return false;
}

void lull_kernel_divide(struct lull_kernel *kernel)
{
    double values[LULL_POLY_SYMBOLS];
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        struct lull_kernel_symbol *symbol = &kernel->symbols[s];
        if (symbol->divisor) /* made of symbols before it */
            symbol->value =
                trunc(lull_poly_value(&symbol->dividend, values) / (double)symbol->divisor);
        values[s] = symbol->value;
        for (size_t rest = s + 1; rest < LULL_POLY_SYMBOLS; rest++)
            values[rest] = 0;
    }
}

const char *const *lull_kernel_names(const struct lull_kernel *kernel, struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, LULL_POLY_SYMBOLS, sizeof *names);
    for (size_t s = 0; s < kernel->n_symbols; s++)
        names[s] = kernel->symbols[s].name;
    return names;
}

static double trips_at(const struct lull_kernel_loop *loop, const double *values)
{
    double first = lull_poly_value(&loop->first, values), end = lull_poly_value(&loop->end, values);
    return fmax(0, ceil((end - first) / (double)loop->step));
}

/* Sets the loop variables to their first values, or to those in the middle of the loops; outer
 * loops come first, because bounds of inner ones may depend on them. */
static void fill_values(const struct lull_kernel *kernel, double values[LULL_POLY_SYMBOLS],
                        bool middle)
{
    for (size_t s = 0; s < LULL_POLY_SYMBOLS; s++)
        values[s] =
            s < kernel->n_symbols && kernel->symbols[s].is_size ? kernel->symbols[s].value : 0;
    for (size_t l = 0; l < kernel->n_loops; l++) {
        const struct lull_kernel_loop *loop = &kernel->loops[l];
        double trips = trips_at(loop, values);
        values[loop->symbol] = lull_poly_value(&loop->first, values) +
                               (middle ? (double)loop->step * fmax(0, trips - 1) / 2 : 0);
    }
}

void lull_kernel_values(const struct lull_kernel *kernel, double values[LULL_POLY_SYMBOLS])
{
    fill_values(kernel, values, false);
}

double lull_kernel_trips(const struct lull_kernel *kernel, size_t loop)
{
    double values[LULL_POLY_SYMBOLS];
    fill_values(kernel, values, true);
    return trips_at(&kernel->loops[loop], values);
}

double lull_kernel_iterations(const struct lull_kernel *kernel, int loop)
{
    double product = 1;
    for (; loop != LULL_KERNEL_NONE; loop = kernel->loops[loop].parent)
        product *= lull_kernel_trips(kernel, (size_t)loop);
    return product;
}

bool lull_kernel_knows_iterations(const struct lull_kernel *kernel, int loop)
{
    for (; loop != LULL_KERNEL_NONE; loop = kernel->loops[loop].parent)
        for (size_t s = 0; s < kernel->n_symbols; s++)
            if (kernel->symbols[s].supposed && (lull_poly_contains(&kernel->loops[loop].first, s) ||
                                                lull_poly_contains(&kernel->loops[loop].end, s)))
                return false;
    return true;
}

double lull_kernel_stride(const struct lull_kernel *kernel, const struct lull_kernel_access *access,
                          size_t loop)
{
    double values[LULL_POLY_SYMBOLS];
    struct lull_poly factor, rest;
    lull_kernel_values(kernel, values);
    if (!lull_poly_split(&access->offset, kernel->loops[loop].symbol, &factor, &rest))
        return 0;
    return lull_poly_value(&factor, values) * (double)kernel->loops[loop].step;
}

double lull_kernel_unit(const struct lull_kernel *kernel, double line_bytes)
{
    const struct lull_kernel_access *found = NULL;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        if (access->loop == kernel->body && (!found || (access->write && !found->write)))
            found = access;
    }
    return line_bytes / (found ? kernel->arrays[found->array].bytes : sizeof(double));
}

int lull_kernel_busiest(const struct lull_kernel *kernel)
{
    double most = 0;
    int busiest = LULL_KERNEL_NONE;
    for (int l = 0; l < (int)kernel->n_loops; l++) {
        double iterations = lull_kernel_iterations(kernel, l);
        if (lull_kernel_is_innermost(kernel, l) && iterations > most) {
            most = iterations;
            busiest = l;
        }
    }
    return busiest;
}

bool lull_kernel_is_innermost(const struct lull_kernel *kernel, int loop)
{
    for (size_t l = 0; l < kernel->n_loops; l++)
        if (kernel->loops[l].parent == loop)
            return false;
    return loop != LULL_KERNEL_NONE;
}

size_t lull_kernel_count_innermost(const struct lull_kernel *kernel)
{
    size_t count = 0;
    for (int l = 0; l < (int)kernel->n_loops; l++)
        count += lull_kernel_is_innermost(kernel, l);
    return count;
}

size_t lull_kernel_number(const struct lull_kernel *kernel)
{
    size_t number = 0;
    for (int l = 0; l <= kernel->body; l++)
        number += lull_kernel_is_innermost(kernel, l);
    return number;
}

struct lull_kernel lull_kernel_look_at(const struct lull_kernel *kernel, int loop)
{
    struct lull_kernel other = *kernel;
    other.body = loop;
    return other;
}

double lull_kernel_per_iteration(const struct lull_kernel *kernel, int loop)
{
    if (loop == LULL_KERNEL_NONE ||
        (loop != kernel->body &&
         (lull_kernel_is_innermost(kernel, loop) || kernel->body != lull_kernel_busiest(kernel))))
        return 0;
    return lull_kernel_iterations(kernel, loop) / lull_kernel_iterations(kernel, kernel->body);
}

double lull_kernel_flops_per_iteration(const struct lull_kernel *kernel)
{
    double sum = 0;
    for (size_t l = 0; l < kernel->n_loops; l++) {
        const struct lull_kernel_flops *flops = &kernel->flops[l];
        sum += (flops->add + flops->multiply + flops->divide) *
               lull_kernel_per_iteration(kernel, (int)l);
    }
    return sum;
}

/* Finds the lowest and the highest place that an access reaches at the ends of all loops around
 * it. */
static void access_range(const struct lull_kernel *kernel, const struct lull_kernel_access *access,
                         double *ret_low, double *ret_high)
{
    double values[LULL_POLY_SYMBOLS];
    lull_kernel_values(kernel, values);
    double low = lull_poly_value(&access->offset, values), high = low;
    for (int loop = access->loop; loop != LULL_KERNEL_NONE; loop = kernel->loops[loop].parent) {
        double reach = lull_kernel_stride(kernel, access, (size_t)loop) *
                       fmax(0, lull_kernel_trips(kernel, (size_t)loop) - 1);
        low += fmin(0, reach);
        high += fmax(0, reach);
    }
    *ret_low = low;
    *ret_high = high;
}

static double elements(const struct lull_kernel_array *array, const double *values)
{
    double product = 1;
    for (size_t d = 0; d < array->n_dimensions; d++)
        product *= lull_poly_value(&array->extent[d], values);
    return product;
}

double lull_kernel_array_bytes(const struct lull_kernel *kernel, size_t array)
{
    const struct lull_kernel_array *of = &kernel->arrays[array];
    double values[LULL_POLY_SYMBOLS], low = INFINITY, high = -INFINITY;
    lull_kernel_values(kernel, values);
    if (!of->is_pointer)
        return elements(of, values) * of->bytes;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        double from, to;
        if (kernel->accesses[i].array != array)
            continue;
        access_range(kernel, &kernel->accesses[i], &from, &to);
        low = fmin(low, from);
        high = fmax(high, to);
    }
    return (high - low + 1) * of->bytes;
}

double lull_kernel_footprint(const struct lull_kernel *kernel)
{
    double sum = 0;
    for (size_t a = 0; a < kernel->n_arrays; a++)
        sum += lull_kernel_array_bytes(kernel, a);
    return sum;
}

static lull_status check_size_values(const struct lull_kernel *kernel, struct lull_error *err)
{
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        const struct lull_kernel_symbol *symbol = &kernel->symbols[s];
        if (symbol->is_size && !(fabs(symbol->value) < 1e15))
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s=%.6g is too large", kernel->path,
                             symbol->name, symbol->value);
    }
    return LULL_OK;
}

static lull_status check_arrays(const struct lull_kernel *kernel, struct lull_error *err)
{
    double values[LULL_POLY_SYMBOLS];
    lull_kernel_values(kernel, values);
    for (size_t a = 0; a < kernel->n_arrays; a++) {
        const struct lull_kernel_array *array = &kernel->arrays[a];
        for (size_t d = array->is_pointer; d < array->n_dimensions; d++)
            if (lull_poly_value(&array->extent[d], values) < 1)
                return lull_fail(err, LULL_ERR_RANGE, "%s: line %u: '%s' has no elements",
                                 kernel->path, array->line, array->name);
        if (lull_kernel_array_bytes(kernel, a) > 1e18)
            return lull_fail(err, LULL_ERR_RANGE, "%s: line %u: '%s' is too large", kernel->path,
                             array->line, array->name);
    }
    return LULL_OK;
}

/* Whether no bound of a loop depends on another loop: then the range of an access is exact. */
static bool is_rectangular(const struct lull_kernel *kernel)
{
    for (size_t l = 0; l < kernel->n_loops; l++)
        for (size_t s = 0; s < kernel->n_symbols; s++)
            if (!kernel->symbols[s].is_size && (lull_poly_contains(&kernel->loops[l].first, s) ||
                                                lull_poly_contains(&kernel->loops[l].end, s)))
                return false;
    return true;
}

static lull_status check_access(const struct lull_kernel *kernel,
                                const struct lull_kernel_access *access, struct lull_error *err)
{
    const struct lull_kernel_array *array = &kernel->arrays[access->array];
    double values[LULL_POLY_SYMBOLS], low, high;
    lull_kernel_values(kernel, values);
    access_range(kernel, access, &low, &high);
    if (array->is_pointer && access->index_access != LULL_KERNEL_NONE && !kernel->function)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: line %u: how many elements '%s' has, which is accessed through "
                         "indices, is not known: declare it as %s[SIZE]",
                         kernel->path, access->line, array->name, array->name);
    if (array->is_pointer || access->index_access != LULL_KERNEL_NONE || !is_rectangular(kernel))
        return LULL_OK;
    if (low < 0 || high > elements(array, values) - 1)
        return lull_fail(
            err, LULL_ERR_RANGE,
            "%s: line %u: '%s' is accessed outside of its extents: element %.0f of %.0f",
            kernel->path, access->line, array->name, low < 0 ? low : high, elements(array, values));
    return LULL_OK;
}

/* Checks that every innermost loop touches an array, because each is predicted. */
static lull_status check_innermost(const struct lull_kernel *kernel, struct lull_error *err)
{
    for (int l = 0; l < (int)kernel->n_loops; l++) {
        bool touches = !lull_kernel_is_innermost(kernel, l);
        for (size_t i = 0; i < kernel->n_accesses && !touches; i++)
            touches = kernel->accesses[i].loop == l;
        if (!touches)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: line %u: the innermost loop touches no array", kernel->path,
                             kernel->loops[l].line);
    }
    return LULL_OK;
}

lull_status lull_kernel_check(struct lull_kernel *kernel, struct lull_error *err)
{
    lull_status status = check_size_values(kernel, err);
    if (status != LULL_OK)
        return status;
    kernel->body = lull_kernel_busiest(kernel);
    if (kernel->body == LULL_KERNEL_NONE)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: line %u: the loops have no iterations with these sizes", kernel->path,
                         kernel->loops[0].line);
    status = check_arrays(kernel, err);
    kernel->precision = 0;
    for (size_t i = 0; status == LULL_OK && i < kernel->n_accesses; i++) {
        const struct lull_kernel_array *array = &kernel->arrays[kernel->accesses[i].array];
        status = check_access(kernel, &kernel->accesses[i], err);
        if (array->floating && array->bytes > kernel->precision)
            kernel->precision = array->bytes;
    }
    kernel->precision = kernel->precision ? kernel->precision : sizeof(double);
    return status == LULL_OK ? check_innermost(kernel, err) : status;
}

/* ---- sizes that nobody has said -------------------------------------------------------------- */

/* Whether the length of a loop, or the distance between two elements, depends on a size. */
static bool decides(const struct lull_kernel *kernel, size_t size)
{
    for (size_t l = 0; l < kernel->n_loops; l++) {
        const struct lull_kernel_loop *loop = &kernel->loops[l];
        if (lull_poly_contains(&loop->first, size) || lull_poly_contains(&loop->end, size))
            return true;
        for (size_t i = 0; i < kernel->n_accesses; i++) {
            struct lull_poly factor, rest;
            if (lull_poly_split(&kernel->accesses[i].offset, loop->symbol, &factor, &rest) &&
                lull_poly_contains(&factor, size))
                return true;
        }
    }
    for (size_t a = 0; a < kernel->n_arrays; a++)
        for (size_t d = kernel->arrays[a].is_pointer; d < kernel->arrays[a].n_dimensions; d++)
            if (lull_poly_contains(&kernel->arrays[a].extent[d], size))
                return true;
    /* Of a[row * n + i] and a[(row + 1) * n + i] the distance is n. */
    for (size_t i = 0; i < kernel->n_accesses; i++)
        for (size_t k = 0; k < i; k++) {
            struct lull_poly between;
            if (kernel->accesses[i].array == kernel->accesses[k].array &&
                lull_poly_add(&kernel->accesses[i].offset, &kernel->accesses[k].offset, -1,
                              &between) &&
                lull_poly_contains(&between, size))
                return true;
        }
    return false;
}

static void suppose_value(struct lull_kernel *kernel, double value)
{
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        struct lull_kernel_symbol *symbol = &kernel->symbols[s];
        if (symbol->supposed)
            symbol->value = !symbol->varies && decides(kernel, s) ? value : 1;
    }
    lull_kernel_divide(kernel);
}

void lull_kernel_suppose(struct lull_kernel *kernel, double bytes)
{
    static const double first = 64, most = 1099511627776.0;
    bool any = false;
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        struct lull_kernel_symbol *symbol = &kernel->symbols[s];
        symbol->supposed = symbol->is_size && !symbol->has_value && !symbol->divisor;
        any |= symbol->supposed;
    }
    if (!any)
        return;
    suppose_value(kernel, first);
    for (double value = 2 * first; value <= most && lull_kernel_footprint(kernel) < bytes;
         value *= 2) {
        suppose_value(kernel, value);
        if (lull_kernel_check(kernel, NULL) != LULL_OK) {
            suppose_value(kernel, value / 2);
            break;
        }
    }
}
