/* The performance model normal form (Calotoiu et al., "Using automated performance modeling to find
 * scalability bugs", SC13; several parameters: Calotoiu et al., CLUSTER 2016): each hypothesis is
 * linear least squares on a constant and products of terms; the one that predicts points left out
 * best is taken, and a further parameter or block only if it pays. */
#include "model/fit/normal_form.h"

#include <math.h>
#include <string.h>

/* clang-format off */
const struct lull_fit_term lull_fit_terms[LULL_FIT_TERMS] = {
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
static const struct lull_fit_form forms[] = {
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

static unsigned mask_of(const struct lull_fit_form *form)
{
    unsigned mask = 0;
    for (size_t b = 0; b < form->n_blocks; b++)
        mask |= form->masks[b];
    return mask;
}

static int parameters_of(const struct lull_fit_form *form)
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

static void set_blocks(struct lull_fit_model *model, const struct lull_fit_form *form,
                       const struct lull_fit_hypothesis *hypothesis)
{
    static const char *const names[LULL_FIT_COEFFICIENTS] = {"c0", "c1", "c2", "c3"};
    enum { DIVIDED = LULL_FIT_TERMS - 3 }; /* 1/x */
    model->n_coefficients = 1 + form->n_blocks;
    memset(model->blocks, 0, sizeof model->blocks);
    for (size_t b = 0; b < form->n_blocks; b++)
        for (size_t p = 0; p < model->n_params; p++)
            if (form->masks[b] & (1u << p))
                model->blocks[b].terms[p] =
                    &lull_fit_terms[form->divided && b == 0 ? DIVIDED : hypothesis->terms[b][p]];
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

/* The hypothesis of a form that predicts best. */
static bool best_of_form(struct normal_form *work, struct lull_fit_search *search,
                         const struct lull_fit_form *form, const struct lull_fit_model *empty,
                         struct lull_fit_model *ret_best)
{
    struct lull_fit_hypothesis kept[LULL_FIT_KEPT];
    size_t count = lull_fit_search_form(search, form, kept);
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

/* From the simplest form on, the best hypothesis of another replaces the model if it is better. */
static void search_forms(struct normal_form *work, const struct lull_fit_model *empty,
                         struct lull_fit_model *model)
{
    size_t n_terms = model->law->shrinking ? LULL_FIT_TERMS : LULL_FIT_GROWING;
    struct lull_fit_search *search = lull_fit_search_create(work->data, n_terms);
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
    set_blocks(model, &(struct lull_fit_form){0}, NULL);
    model->tried = 1;
    if (!fit_hypothesis(&work, model))
        model->absent = LULL_FIT_NOT_APART;
    else if (model->law->searched)
        search_forms(&work, &empty, model);
}
