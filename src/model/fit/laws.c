/* The laws, and what they say at a point. */
#include "model/fit/law.h"

#include <math.h>
#include <string.h>

/* ---- laws of speedup ------------------------------------------------------------------------ */

static double amdahl(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[0] = 1 - 1 / p;
    return shape[0] + (1 - shape[0]) / p;
}

static double amdahl_log(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[1] = log2(p);
    return amdahl(p, shape, ret_gradient) + shape[1] * ret_gradient[1];
}

static double amdahl_linear(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[1] = p - 1;
    return amdahl(p, shape, ret_gradient) + shape[1] * ret_gradient[1];
}

static double gustafson(double p, const double *shape, double *ret_gradient)
{
    double inverse = 1 / (shape[0] + (1 - shape[0]) * p);
    ret_gradient[0] = (p - 1) * inverse * inverse;
    return inverse;
}

/* Gunther's universal scalability law: contention alpha, coherence beta. */
static double usl(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[0] = (p - 1) / p;
    ret_gradient[1] = p - 1;
    return (1 + shape[0] * (p - 1) + shape[1] * p * (p - 1)) / p;
}

static const struct lull_fit_law law_constant = {
    .name = "constant", .summary = "nothing changes", .n_coefficients = 1, .least_values = 3};
static const struct lull_fit_law law_amdahl = {
    .name = "amdahl",
    .summary = "a serial fraction s; the rest is divided among the processes",
    .formula = "s + (1 - s)/P",
    .n_coefficients = 2,
    .least_values = 3,
    .one_parameter = true,
    .inverse_speedup = amdahl,
    .shapes = {{"s", 1}}};
static const struct lull_fit_law law_gustafson = {
    .name = "gustafson",
    .summary = "the work grows with the processes, but for a serial fraction s",
    .formula = "s + (1 - s) P",
    .n_coefficients = 2,
    .least_values = 3,
    .one_parameter = true,
    .weak = true,
    .inverse_speedup = gustafson,
    .shapes = {{"s", 1}}};
static const struct lull_fit_law law_amdahl_log = {
    .name = "amdahl-log",
    .summary = "Amdahl, and communication that grows with the logarithm of the processes",
    .formula = "s + (1 - s)/P + c log2(P)",
    .n_coefficients = 3,
    .least_values = 4,
    .one_parameter = true,
    .inverse_speedup = amdahl_log,
    .shapes = {{"s", 1}, {"c", INFINITY}}};
static const struct lull_fit_law law_amdahl_linear = {
    .name = "amdahl-linear",
    .summary = "Amdahl, and communication that grows with the processes",
    .formula = "s + (1 - s)/P + c (P - 1)",
    .n_coefficients = 3,
    .least_values = 4,
    .one_parameter = true,
    .inverse_speedup = amdahl_linear,
    .shapes = {{"s", 1}, {"c", INFINITY}}};
static const struct lull_fit_law law_usl = {
    .name = "usl",
    .summary = "universal scalability law: contention alpha, coherence beta",
    .formula = "(1 + alpha (P - 1) + beta P (P - 1))/P",
    .n_coefficients = 3,
    .least_values = 4,
    .one_parameter = true,
    .inverse_speedup = usl,
    .shapes = {{"alpha", 1}, {"beta", INFINITY}}};
static const struct lull_fit_law law_pmnf = {
    .name = "pmnf",
    .summary = "performance model normal form: sums and products of x^i log2(x)^j",
    .n_coefficients = LULL_FIT_PARAMETERS + 1,
    .least_values = 5,
    .searched = true};
static const struct lull_fit_law law_pmnf_strong = {
    .name = "pmnf-strong",
    .summary = "normal form of strong scaling: also terms that fall, and work divided by x",
    .n_coefficients = LULL_FIT_PARAMETERS + 1,
    .least_values = 5,
    .searched = true,
    .shrinking = true};

const struct lull_fit_law *const lull_fit_laws[] = {
    &law_constant,   &law_amdahl,        &law_gustafson,
    &law_amdahl_log, &law_amdahl_linear, &law_usl,
    &law_pmnf,       &law_pmnf_strong,   NULL};

const struct lull_fit_law *lull_fit_law_find(const char *name)
{
    for (size_t i = 0; lull_fit_laws[i]; i++)
        if (strcmp(lull_fit_laws[i]->name, name) == 0)
            return lull_fit_laws[i];
    return NULL;
}

/* ---- values --------------------------------------------------------------------------------- */

/* scale times the inverse speedup u (time), times P u (time of work that grows), over u (rate),
 * over P u (efficiency). */
static double evaluate_speedup(const struct lull_fit_model *model, double p, double *ret_gradient)
{
    double shape[LULL_FIT_COEFFICIENTS], slope[LULL_FIT_COEFFICIENTS] = {0};
    for (size_t i = 1; i < model->n_coefficients; i++)
        shape[i - 1] = model->coefficients[i].value;
    double u = model->law->inverse_speedup(p, shape, slope);
    double scale = model->coefficients[0].value, value, by_u;
    if (model->kind == LULL_FIT_TIME) {
        by_u = model->law->weak ? p : 1;
        value = by_u * u;
    } else {
        value = 1 / (model->kind == LULL_FIT_RATE ? u : p * u);
        by_u = -value / u;
    }
    if (ret_gradient) {
        ret_gradient[0] = value;
        for (size_t i = 1; i < model->n_coefficients; i++)
            ret_gradient[i] = scale * by_u * slope[i - 1];
    }
    return scale * value;
}

double lull_fit_evaluate(const struct lull_fit_model *model, const double *x, double *ret_gradient)
{
    if (model->law->inverse_speedup)
        return evaluate_speedup(model, x[0], ret_gradient);
    double sum = 0;
    for (size_t i = 0; i < model->n_coefficients; i++) {
        double column = 1;
        for (size_t p = 0; i > 0 && p < model->n_params; p++) {
            const struct lull_fit_term *term = model->blocks[i - 1].terms[p];
            if (term)
                column *= pow(x[p], term->exponent) * pow(log2(x[p]), term->logs);
        }
        if (ret_gradient)
            ret_gradient[i] = column;
        sum += model->coefficients[i].value * column;
    }
    return sum;
}

double lull_fit_value(const struct lull_fit_model *model, const double *x)
{
    return lull_fit_evaluate(model, x, NULL);
}

/* ---- for people ----------------------------------------------------------------------------- */

static const char *fit_term_text(const struct lull_fit_term *term, const char *name,
                                 struct lull_arena *arena)
{
    const char *power = "", *logs = "";
    if (term->exponent == 1)
        power = lull_arena_printf(arena, " %s", name);
    else if (term->exponent != 0)
        power = lull_arena_printf(arena, strpbrk(term->text, "/-") ? " %s^(%s)" : " %s^%s", name,
                                  term->text);
    if (term->logs)
        logs = lull_arena_printf(arena, term->logs == 1 ? " log2(%s)" : " log2(%s)^2", name);
    return lull_arena_printf(arena, "%s%s", power, logs);
}

/* The law's part in what it says of a time, a throughput and so on, with the parameter's name. */
static const char *speedup_formula(const struct lull_fit_model *model, const char *name,
                                   struct lull_arena *arena)
{
    static const char *const frames[2][3][2] = {
        {{"t1 (", ")"}, {"x1/(", ")"}, {"e1/(P (", "))"}}, /* around 1 / speedup */
        {{"t1 P/(", ")"}, {"x1 (", ")"}, {"e1 (", ")/P"}}, /* weak: around the speedup */
    };
    const char *const *frame = frames[model->law->weak][model->kind];
    const char *pattern =
        lull_arena_printf(arena, "%s%s%s", frame[0], model->law->formula, frame[1]);
    const char *text = "";
    for (; *pattern; pattern++)
        text = *pattern == 'P' ? lull_arena_printf(arena, "%s%s", text, name)
                               : lull_arena_printf(arena, "%s%c", text, *pattern);
    return text;
}

const char *lull_fit_formula(const struct lull_fit_model *model, const char *const *params,
                             struct lull_arena *arena)
{
    if (model->law->formula)
        return speedup_formula(model, params[0], arena);
    const char *text = "c0";
    for (size_t i = 1; i < model->n_coefficients; i++) {
        text = lull_arena_printf(arena, "%s + %s", text, model->coefficients[i].name);
        for (size_t p = 0; p < model->n_params; p++)
            if (model->blocks[i - 1].terms[p])
                text = lull_arena_printf(
                    arena, "%s%s", text,
                    fit_term_text(model->blocks[i - 1].terms[p], params[p], arena));
    }
    return text;
}
