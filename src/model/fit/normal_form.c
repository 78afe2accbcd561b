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
    double *weights, *work;
    struct lull_linear_fit linear; /* of the last hypothesis */
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
    double *y = &form->work[(LULL_FIT_COEFFICIENTS + 1) * data->count];
    for (size_t i = 0; i < data->count; i++)
        y[i] = data->points[i].y;
    for (int round = 0; round < REWEIGHTINGS; round++) {
        if (lull_fit_linear((const double *const *)form->columns, model->n_coefficients, y,
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

/* Leave-one-out, from the residuals and leverages of the last fit. */
static double leave_out(const struct normal_form *form, const struct lull_fit_model *model)
{
    const struct lull_fit_data *data = form->data;
    double sum = 0, total = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct lull_fit_point *point = &data->points[i];
        double leverage = 0, rest = point->y - value_at(form, model->n_coefficients, i);
        for (size_t j = 0; j < model->n_coefficients; j++)
            leverage += form->work[j * data->count + i] * form->work[j * data->count + i];
        rest /= fmax(1 - leverage, 1e-12);
        double off = lull_fit_deviation(data, point->y, point->y - rest);
        sum += point->repetitions * off * off;
        total += point->repetitions;
    }
    return sqrt(sum / total);
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
    static const char *const names[LULL_FIT_COEFFICIENTS] = {"c0", "c1", "c2", "c3", "c4"};
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
    model->cv_error = leave_out(form, model);
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

static double squares_of(const struct lull_fit_data *data, const struct lull_fit_model *model)
{
    double total = 0;
    for (size_t i = 0; i < data->count; i++)
        total += data->points[i].repetitions;
    return model->deviation * model->deviation * total;
}

void lull_fit_normal_form(const struct lull_fit_data *data, struct lull_fit_model *model)
{
    struct normal_form work = {.data = data};
    for (size_t j = 0; j < LULL_FIT_COEFFICIENTS; j++)
        work.columns[j] = lull_arena_alloc(data->arena, data->count * sizeof(double));
    work.weights = lull_arena_alloc(data->arena, data->count * sizeof(double));
    work.work =
        lull_arena_alloc(data->arena, data->count * (LULL_FIT_COEFFICIENTS + 2) * sizeof(double));
    const struct lull_fit_model empty = *model;
    set_blocks(model, &(struct lull_fit_form){0}, NULL);
    model->tried = 1;
    if (!fit_hypothesis(&work, model)) {
        model->absent = "has coefficients that the points do not tell apart";
        return;
    }
    if (!model->law->searched)
        return;
    size_t n_terms = model->law->shrinking ? LULL_FIT_TERMS : LULL_FIT_GROWING;
    struct lull_fit_search *search = lull_fit_search_create(data, n_terms);
    int parameters = 0;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        struct lull_fit_model best;
        if (mask_of(&forms[f]) >> data->n_params ||
            (forms[f].divided && !(model->law->shrinking && data->n_params == 1)) ||
            !best_of_form(&work, search, &forms[f], &empty, &best))
            continue;
        int more = parameters_of(&forms[f]) - parameters;
        size_t coefficients = best.n_coefficients > model->n_coefficients
                                  ? best.n_coefficients - model->n_coefficients
                                  : 1;
        if (best.cv_error < model->cv_error &&
            lull_fit_pays(squares_of(data, model), squares_of(data, &best), coefficients,
                          best.freedom, 0.05 / pow((double)n_terms, more > 1 ? more : 1))) {
            best.tried = (unsigned)pow((double)n_terms, parameters_of(&forms[f]));
            *model = best;
            parameters = parameters_of(&forms[f]);
        }
    }
}
