/* SPDX-License-Identifier: BSD-3-Clause */
/* The performance model normal form (Calotoiu et al., "Using automated performance modeling to find
 * scalability bugs", SC13; several parameters: Calotoiu et al., CLUSTER 2016). Each hypothesis is
 * linear least squares on a constant and products of terms. The hypothesis that predicts points
 * left out best is taken; a further parameter or block is taken only if the gain is more than
 * chance explains. */
#include "model/fit/fit.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ==== fitting hypotheses ====================================================================== */

enum { FIT_GROWING = 42, FIT_TERMS = 63, FIT_KEPT = 64, FIT_KEPT_OF_MANY = 16 };

/* Which parameters are multiplied in each block: bit p for parameter p. */
struct fit_form {
    size_t n_blocks;
    unsigned masks[LULL_FIT_PARAMETERS];
    bool divided; /* the first block is 1/x of parameter 0 */
};

/* A form with a term for every parameter that is in it; `terms[block][parameter]`. */
struct fit_hypothesis {
    unsigned char terms[LULL_FIT_PARAMETERS][LULL_FIT_PARAMETERS];
    double gain; /* the share of the weighted squares around the mean that it explains */
};

/* The search for those hypotheses of a form that explain most, with points weighted by their
 * measurements: of one parameter it keeps all hypotheses, of several FIT_KEPT_OF_MANY. Every
 * hypothesis is looked at. Since columns are centred and of length 1, that takes a few
 * multiplications for each, and for products of three parameters a few per point. */
struct lull_fit_search;

/* The 42 published terms, and behind them those that fall. */
/* clang-format off */
static const struct lull_fit_term fit_terms[FIT_TERMS] = {
    {0, 1, ""}, {0, 2, ""},
    {1.0 / 4, 0, "1/4"}, {1.0 / 4, 1, "1/4"}, {1.0 / 4, 2, "1/4"},
    {1.0 / 3, 0, "1/3"}, {1.0 / 3, 1, "1/3"}, {1.0 / 3, 2, "1/3"},
    {1.0 / 2, 0, "1/2"}, {1.0 / 2, 1, "1/2"}, {1.0 / 2, 2, "1/2"},
    {2.0 / 3, 0, "2/3"}, {2.0 / 3, 1, "2/3"}, {2.0 / 3, 2, "2/3"},
    {3.0 / 4, 0, "3/4"}, {3.0 / 4, 1, "3/4"}, {3.0 / 4, 2, "3/4"},
    {4.0 / 5, 0, "4/5"},
    {1, 0, "1"}, {1, 1, "1"}, {1, 2, "1"},
    {5.0 / 4, 0, "5/4"}, {5.0 / 4, 1, "5/4"},
    {4.0 / 3, 0, "4/3"}, {4.0 / 3, 1, "4/3"},
    {3.0 / 2, 0, "3/2"}, {3.0 / 2, 1, "3/2"}, {3.0 / 2, 2, "3/2"},
    {5.0 / 3, 0, "5/3"}, {7.0 / 4, 0, "7/4"},
    {2, 0, "2"}, {2, 1, "2"}, {2, 2, "2"},
    {9.0 / 4, 0, "9/4"}, {7.0 / 3, 0, "7/3"},
    {5.0 / 2, 0, "5/2"}, {5.0 / 2, 1, "5/2"}, {5.0 / 2, 2, "5/2"},
    {8.0 / 3, 0, "8/3"}, {11.0 / 4, 0, "11/4"},
    {3, 0, "3"}, {3, 1, "3"},
    /* terms that fall */
    {-1.0 / 4, 0, "-1/4"}, {-1.0 / 4, 1, "-1/4"}, {-1.0 / 4, 2, "-1/4"},
    {-1.0 / 3, 0, "-1/3"}, {-1.0 / 3, 1, "-1/3"}, {-1.0 / 3, 2, "-1/3"},
    {-1.0 / 2, 0, "-1/2"}, {-1.0 / 2, 1, "-1/2"}, {-1.0 / 2, 2, "-1/2"},
    {-2.0 / 3, 0, "-2/3"}, {-2.0 / 3, 1, "-2/3"}, {-2.0 / 3, 2, "-2/3"},
    {-3.0 / 4, 0, "-3/4"}, {-3.0 / 4, 1, "-3/4"}, {-3.0 / 4, 2, "-3/4"},
    {-4.0 / 5, 0, "-4/5"}, {-4.0 / 5, 1, "-4/5"}, {-4.0 / 5, 2, "-4/5"},
    {-1, 0, "-1"}, {-1, 1, "-1"}, {-1, 2, "-1"},
};

/* Simple ones first: fewer parameters, then fewer coefficients. */
static const struct fit_form forms[] = {
    {1, {1}, false}, {1, {2}, false}, {1, {4}, false}, {2, {1, 1}, true},
    {1, {3}, false}, {1, {5}, false}, {1, {6}, false},
    {2, {1, 2}, false}, {2, {1, 4}, false}, {2, {2, 4}, false},
    {1, {7}, false}, {2, {1, 6}, false}, {2, {2, 5}, false}, {2, {4, 3}, false},
    {3, {1, 2, 4}, false},
};

/* clang-format on */

enum { REWEIGHTINGS = 50 };

static const double reweighting_end = 1e-12;

/* Below this share of the measurements a term is noise, whatever its cost. Source: as above. */
static const double least_contribution = 5e-4;

struct normal_form {
    const struct lull_fit_data *data;
    double *columns[LULL_FIT_COEFFICIENTS];
    double *y, *rest, *weights, *work; /* rest: measured less fitted */
    struct lull_linear_fit linear;     /* of the last hypothesis */
};

static unsigned mask_of(const struct fit_form *form)
{
    unsigned mask = 0;
    for (size_t b = 0; b < form->n_blocks; b++)
        mask |= form->masks[b];
    return mask;
}

static int parameters_of(const struct fit_form *form)
{
    return __builtin_popcount(mask_of(form));
}

/* What the last fit says of a point. */
static double value_at(const struct normal_form *form, size_t n, size_t point)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += form->linear.coefficients[j] * form->columns[j][point];
    return sum;
}

/* Fits the blocks that are set in the model; false: the points do not tell them apart. */
static bool fit_blocks(struct normal_form *form, struct lull_fit_model *model)
{
    const struct lull_fit_data *data = form->data;
    double gradient[LULL_FIT_COEFFICIENTS], before = INFINITY;
    for (size_t i = 0; i < data->count; i++) {
        lull_fit_evaluate(model, data->points[i].x, gradient);
        for (size_t j = 0; j < model->n_coefficients; j++)
            form->columns[j][i] = gradient[j];
        form->weights[i] = lull_fit_weight(data, &data->points[i], data->points[i].y);
    }
    for (int round = 0; round < REWEIGHTINGS; round++) {
        if (lull_fit_linear((const double *const *)form->columns, model->n_coefficients, form->y,
                            form->weights, data->count, form->work, &form->linear, NULL) != LULL_OK)
            return false;
        double change = fabs(form->linear.squares - before);
        before = form->linear.squares;
        for (size_t j = 0; j < model->n_coefficients; j++)
            model->coefficients[j].value = form->linear.coefficients[j];
        if (!data->relative || change <= reweighting_end * before)
            break;
        for (size_t i = 0; i < data->count; i++)
            form->weights[i] =
                lull_fit_weight(data, &data->points[i], value_at(form, model->n_coefficients, i));
    }
    return true;
}

static bool contributes(const struct normal_form *form, const struct lull_fit_model *model)
{
    for (size_t j = 1; j < model->n_coefficients; j++) {
        double most = 0;
        for (size_t i = 0; i < form->data->count; i++)
            most = fmax(most, fabs(model->coefficients[j].value * form->columns[j][i] /
                                   form->data->points[i].y));
        if (!(most >= least_contribution))
            return false;
    }
    return true;
}

static void set_blocks(struct lull_fit_model *model, const struct fit_form *form,
                       const struct fit_hypothesis *hypothesis)
{
    static const char *const names[LULL_FIT_COEFFICIENTS] = {"c0", "c1", "c2", "c3"};
    enum { DIVIDED = FIT_TERMS - 3 }; /* 1/x */
    model->n_coefficients = 1 + form->n_blocks;
    memset(model->blocks, 0, sizeof model->blocks);
    for (size_t b = 0; b < form->n_blocks; b++)
        for (size_t p = 0; p < model->n_params; p++)
            if (form->masks[b] & (1u << p))
                model->blocks[b].terms[p] =
                    &fit_terms[form->divided && b == 0 ? DIVIDED : hypothesis->terms[b][p]];
    for (size_t j = 0; j < model->n_coefficients; j++)
        model->coefficients[j] = (struct lull_fit_coefficient){.name = names[j]};
}

/* Fits what is set; false where that is no model. */
static bool fit_hypothesis(struct normal_form *form, struct lull_fit_model *model)
{
    if (form->data->count <= model->n_coefficients || !fit_blocks(form, model) ||
        !contributes(form, model))
        return false;
    for (size_t i = 0; i < form->data->count; i++)
        form->rest[i] = form->data->points[i].y - value_at(form, model->n_coefficients, i);
    model->cv_error = lull_fit_leave_out(form->data, form->rest, form->work, model->n_coefficients);
    lull_fit_conclude(form->data, &form->linear, model);
    return isfinite(model->cv_error);
}

struct lull_fit_search;
static size_t fit_search_form(struct lull_fit_search *search, const struct fit_form *form,
                              struct fit_hypothesis ret_kept[FIT_KEPT]);

/* The hypothesis of a form that predicts best. */
static bool best_of_form(struct normal_form *work, struct lull_fit_search *search,
                         const struct fit_form *form, const struct lull_fit_model *empty,
                         struct lull_fit_model *ret_best)
{
    struct fit_hypothesis kept[FIT_KEPT];
    size_t count = fit_search_form(search, form, kept);
    bool any = false;
    for (size_t h = 0; h < count; h++) {
        struct lull_fit_model model = *empty;
        set_blocks(&model, form, &kept[h]);
        if (fit_hypothesis(work, &model) && (!any || model.cv_error < ret_best->cv_error)) {
            *ret_best = model;
            any = true;
        }
    }
    return any;
}

static struct normal_form prepare_form(const struct lull_fit_data *data)
{
    struct normal_form form = {.data = data};
    size_t bytes = data->count * sizeof(double);
    for (size_t j = 0; j < LULL_FIT_COEFFICIENTS; j++)
        form.columns[j] = lull_arena_alloc(data->arena, bytes);
    form.y = lull_arena_alloc(data->arena, bytes);
    form.rest = lull_arena_alloc(data->arena, bytes);
    form.weights = lull_arena_alloc(data->arena, bytes);
    form.work = lull_arena_alloc(data->arena, bytes * (LULL_FIT_COEFFICIENTS + 1));
    for (size_t i = 0; i < data->count; i++)
        form.y[i] = data->points[i].y;
    return form;
}

struct lull_fit_search;
static struct lull_fit_search *fit_search_create(const struct lull_fit_data *data, size_t n_terms);

/* From the simplest form on, the best hypothesis of another replaces the model if it is better. */
static void search_forms(struct normal_form *work, const struct lull_fit_model *empty,
                         struct lull_fit_model *model)
{
    size_t n_terms = model->law->shrinking ? FIT_TERMS : FIT_GROWING;
    struct lull_fit_search *search = fit_search_create(work->data, n_terms);
    int parameters = 0; /* of the model so far */
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        struct lull_fit_model best;
        if (mask_of(&forms[f]) >> model->n_params ||
            (forms[f].divided && !(model->law->shrinking && model->n_params == 1)) ||
            !best_of_form(work, search, &forms[f], empty, &best))
            continue;
        int more = parameters_of(&forms[f]) - parameters;
        double tried = pow((double)n_terms, more > 1 ? more : 1);
        if (lull_fit_is_better(model, &best, LULL_FIT_CHANCE / tried)) {
            parameters = parameters_of(&forms[f]);
            best.tried = (unsigned)pow((double)n_terms, parameters);
            *model = best;
        }
    }
}

void lull_fit_normal_form(const struct lull_fit_data *data, struct lull_fit_model *model)
{
    struct normal_form work = prepare_form(data);
    const struct lull_fit_model empty = *model;
    set_blocks(model, &(struct fit_form){0}, NULL);
    model->tried = 1;
    if (!fit_hypothesis(&work, model))
        model->absent = LULL_FIT_NOT_APART;
    else if (model->law->searched)
        search_forms(&work, &empty, model);
}

/* ==== the search among hypotheses ============================================================= */

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
            column[i] = pow(x, fit_terms[t].exponent) * pow(log2(x), fit_terms[t].logs);
            most = fmax(most, fabs(column[i]));
        }
        for (size_t i = 0; i < data->count; i++)
            column[i] /= most;
    }
    return values;
}

static struct lull_fit_search *fit_search_create(const struct lull_fit_data *data, size_t n_terms)
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

static const struct block *block_of(struct lull_fit_search *search, const struct fit_form *form,
                                    size_t number)
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

/* ---- the hypotheses that explain most -------------------------------------------------------- */

struct best {
    const struct lull_fit_search *search;
    const struct fit_form *form;
    struct fit_hypothesis *kept; /* falling gain */
    size_t count, most;
};

/* `columns` says which column of each block. */
static void keep_hypothesis(struct best *best, double gain, const size_t *columns)
{
    if (!(gain > 0) || (best->count == best->most && gain <= best->kept[best->count - 1].gain))
        return;
    size_t n = best->search->n_terms;
    struct fit_hypothesis hypothesis = {.gain = gain};
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

static size_t fit_search_form(struct lull_fit_search *search, const struct fit_form *form,
                              struct fit_hypothesis ret_kept[FIT_KEPT])
{
    struct best best = {.search = search,
                        .form = form,
                        .kept = ret_kept,
                        .most = search->data->n_params > 1 ? FIT_KEPT_OF_MANY : FIT_KEPT};
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
