#include "model/fit/normal_form.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* All combinations of terms of one block: a column each. */
struct block {
    size_t count;    /* columns */
    double *columns; /* [count][points], centred, of length 1; zeros where there is nothing */
    double *along;   /* [count] the part of the measurements along each */
};

struct lull_fit_search {
    const struct lull_fit_data *data;
    size_t n_terms, points;
    double *root;                        /* square roots of the weights, of length 1 */
    double *y;                           /* measurements times those, centred, of length 1 */
    double *values[LULL_FIT_PARAMETERS]; /* [term][point], the largest 1 */
    struct block blocks[1 << LULL_FIT_PARAMETERS]; /* by mask; made when wanted */
    struct block divided;
};

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Takes out the constant and makes the length 1; where the constant was all, zeros. */
static void centre(const struct lull_fit_search *search, double *column)
{
    double before = dot(column, column, search->points);
    double part = dot(column, search->root, search->points);
    for (size_t i = 0; i < search->points; i++)
        column[i] -= part * search->root[i];
    double length = dot(column, column, search->points);
    double scale = length > 1e-20 * before && isfinite(before) ? 1 / sqrt(length) : 0;
    for (size_t i = 0; i < search->points; i++)
        column[i] = scale > 0 ? column[i] * scale : 0;
}

static double *term_values(const struct lull_fit_data *data, size_t parameter, size_t n_terms)
{
    double *values = lull_arena_alloc(data->arena, n_terms * data->count * sizeof *values);
    for (size_t t = 0; t < n_terms; t++) {
        double *column = &values[t * data->count], most = DBL_MIN;
        for (size_t i = 0; i < data->count; i++) {
            double x = data->points[i].x[parameter];
            column[i] = pow(x, lull_fit_terms[t].exponent) * pow(log2(x), lull_fit_terms[t].logs);
            most = fmax(most, fabs(column[i]));
        }
        for (size_t i = 0; i < data->count; i++)
            column[i] /= most;
    }
    return values;
}

struct lull_fit_search *lull_fit_search_create(const struct lull_fit_data *data, size_t n_terms)
{
    struct lull_fit_search *search = lull_arena_zero(data->arena, 1, sizeof *search);
    double total = 0;
    *search = (struct lull_fit_search){.data = data, .n_terms = n_terms, .points = data->count};
    search->root = lull_arena_alloc(data->arena, data->count * sizeof *search->root);
    search->y = lull_arena_alloc(data->arena, data->count * sizeof *search->y);
    for (size_t i = 0; i < data->count; i++) {
        const struct lull_fit_point *point = &data->points[i];
        search->root[i] = sqrt(lull_fit_weight(data, point, point->y));
        search->y[i] = search->root[i] * point->y;
        total += search->root[i] * search->root[i];
    }
    for (size_t i = 0; i < data->count; i++)
        search->root[i] /= sqrt(total);
    centre(search, search->y);
    for (size_t p = 0; p < data->n_params; p++)
        search->values[p] = term_values(data, p, n_terms);
    return search;
}

/* The columns of a block of at most two parameters. */
static void fill_block(struct lull_fit_search *search, unsigned mask, struct block *block)
{
    size_t first = mask & 1 ? 0 : mask & 2 ? 1 : 2, n = search->n_terms, points = search->points;
    bool pair = (mask & (mask - 1)) != 0;
    size_t second = mask & 4 ? 2 : 1;
    block->count = pair ? n * n : n;
    block->columns =
        lull_arena_alloc(search->data->arena, block->count * points * sizeof *block->columns);
    block->along = lull_arena_alloc(search->data->arena, block->count * sizeof *block->along);
    for (size_t c = 0; c < block->count; c++) {
        const double *a = &search->values[first][(pair ? c / n : c) * points];
        const double *b = pair ? &search->values[second][(c % n) * points] : NULL;
        double *column = &block->columns[c * points];
        for (size_t i = 0; i < points; i++)
            column[i] = search->root[i] * a[i] * (b ? b[i] : 1);
        centre(search, column);
        block->along[c] = dot(column, search->y, points);
    }
}

static void fill_divided(struct lull_fit_search *search, struct block *block)
{
    block->count = 1;
    block->columns = lull_arena_alloc(search->data->arena, search->points * sizeof(double));
    block->along = lull_arena_alloc(search->data->arena, sizeof(double));
    for (size_t i = 0; i < search->points; i++)
        block->columns[i] = search->root[i] / search->data->points[i].x[0];
    centre(search, block->columns);
    block->along[0] = dot(block->columns, search->y, search->points);
}

static const struct block *block_of(struct lull_fit_search *search,
                                    const struct lull_fit_form *form, size_t number)
{
    bool divided = form->divided && number == 0;
    struct block *block = divided ? &search->divided : &search->blocks[form->masks[number]];
    if (!block->columns) {
        if (divided)
            fill_divided(search, block);
        else
            fill_block(search, form->masks[number], block);
    }
    return block;
}

/* ---- the best ------------------------------------------------------------------------------- */

struct best {
    const struct lull_fit_search *search;
    const struct lull_fit_form *form;
    struct lull_fit_hypothesis *kept; /* falling gain */
    size_t count, most;
};

/* `columns` says which column of each block. */
static void keep_hypothesis(struct best *best, double gain, const size_t *columns)
{
    if (!(gain > 0) || (best->count == best->most && gain <= best->kept[best->count - 1].gain))
        return;
    size_t n = best->search->n_terms;
    struct lull_fit_hypothesis hypothesis = {.gain = gain};
    for (size_t b = 0; b < best->form->n_blocks; b++) {
        size_t rest = columns[b];
        for (size_t p = LULL_FIT_PARAMETERS; p-- > 0;)
            if (best->form->masks[b] & (1u << p)) {
                hypothesis.terms[b][p] = (unsigned char)(rest % n);
                rest /= n;
            }
    }
    size_t at = best->count < best->most ? best->count++ : best->most - 1;
    for (; at > 0 && best->kept[at - 1].gain < gain; at--)
        best->kept[at] = best->kept[at - 1];
    best->kept[at] = hypothesis;
}

/* What two columns of length 1 explain together; r is their product. */
static double gain_of_two(double a, double b, double r)
{
    double apart = 1 - r * r;
    return apart > 1e-12 ? (a * a + b * b - 2 * r * a * b) / apart : 0;
}

/* The same of three. */
static double gain_of_three(const double *along, double ab, double ac, double bc)
{
    double determinant = 1 + 2 * ab * ac * bc - ab * ab - ac * ac - bc * bc;
    if (determinant <= 1e-12)
        return 0;
    double a = along[0], b = along[1], c = along[2];
    return (a * a * (1 - bc * bc) + b * b * (1 - ac * ac) + c * c * (1 - ab * ab) +
            2 * a * b * (ac * bc - ab) + 2 * a * c * (ab * bc - ac) + 2 * b * c * (ab * ac - bc)) /
           determinant;
}

static void search_one(struct best *best, const struct block *a)
{
    for (size_t i = 0; i < a->count; i++)
        keep_hypothesis(best, a->along[i] * a->along[i], &i);
}

static double *products(const struct lull_fit_search *search, const struct block *a,
                        const struct block *b)
{
    double *r = lull_arena_alloc(search->data->arena, a->count * b->count * sizeof *r);
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            r[i * b->count + j] = dot(&a->columns[i * search->points],
                                      &b->columns[j * search->points], search->points);
    return r;
}

static void search_two(struct best *best, const struct block *a, const struct block *b)
{
    const double *r = products(best->search, a, b);
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            const size_t columns[] = {i, j};
            keep_hypothesis(best, gain_of_two(a->along[i], b->along[j], r[i * b->count + j]),
                            columns);
        }
}

static void search_three(struct best *best, const struct block *a, const struct block *b,
                         const struct block *c)
{
    const double *ab = products(best->search, a, b), *ac = products(best->search, a, c),
                 *bc = products(best->search, b, c);
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            for (size_t k = 0; k < c->count; k++) {
                const size_t columns[] = {i, j, k};
                const double along[] = {a->along[i], b->along[j], c->along[k]};
                keep_hypothesis(best,
                                gain_of_three(along, ab[i * b->count + j], ac[i * c->count + k],
                                              bc[j * c->count + k]),
                                columns);
            }
}

/* Products of three parameters: too many columns to keep. */
static void search_product(struct best *best)
{
    const struct lull_fit_search *search = best->search;
    size_t n = search->n_terms, points = search->points;
    double *pair = lull_arena_alloc(search->data->arena, points * sizeof *pair);
    for (size_t ab = 0; ab < n * n; ab++) {
        const double *a = &search->values[0][ab / n * points];
        const double *b = &search->values[1][ab % n * points];
        for (size_t i = 0; i < points; i++)
            pair[i] = search->root[i] * a[i] * b[i];
        for (size_t k = 0; k < n; k++) {
            const double *c = &search->values[2][k * points];
            double square = 0, constant = 0, along = 0;
            for (size_t i = 0; i < points; i++) {
                double value = pair[i] * c[i];
                square += value * value;
                constant += value * search->root[i];
                along += value * search->y[i];
            }
            double length = square - constant * constant;
            size_t column = ab * n + k;
            if (length > 1e-12 * square)
                keep_hypothesis(best, along * along / length, &column);
        }
    }
}

size_t lull_fit_search_form(struct lull_fit_search *search, const struct lull_fit_form *form,
                            struct lull_fit_hypothesis ret_kept[LULL_FIT_KEPT])
{
    struct best best = {.search = search,
                        .form = form,
                        .kept = ret_kept,
                        .most = search->data->n_params > 1 ? LULL_FIT_KEPT_OF_MANY : LULL_FIT_KEPT};
    const struct block *blocks[LULL_FIT_PARAMETERS] = {NULL};
    if (form->n_blocks == 1 && form->masks[0] == 7) {
        search_product(&best);
        return best.count;
    }
    for (size_t b = 0; b < form->n_blocks; b++)
        blocks[b] = block_of(search, form, b);
    if (form->n_blocks == 1)
        search_one(&best, blocks[0]);
    else if (form->n_blocks == 2)
        search_two(&best, blocks[0], blocks[1]);
    else
        search_three(&best, blocks[0], blocks[1], blocks[2]);
    return best.count;
}
