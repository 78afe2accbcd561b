#include "model/kernel/poly.h"

#include <string.h>

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

/* Higher degrees first, then by the powers of the first symbols. */
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

/* Adds factor times the term, in its place. */
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
