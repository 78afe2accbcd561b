/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/program/sweep.h"

#include "model/program/program_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_MOST_POINTS = 1000000 };

/* ==== axis ==================================================================================== */

/* What the user writes for an axis. */

struct list {
    struct lull_arena *arena;
    double *values;
    size_t count, capacity;
};

static void add_axis_value(struct list *list, double value)
{
    list->values = lull_arena_grow(list->arena, list->values, &list->capacity, list->count + 1,
                                   sizeof *list->values);
    list->values[list->count++] = value;
}

/* Reads FROM:TO:xRATIO or FROM:TO:+STEP. Both ends are values, the last one if it is met to
 * rounding. */
static bool read_range(const char *text, struct list *list)
{
    char *end;
    double from = strtod(text, &end), to, by;
    if (end == text || *end != ':')
        return false;
    const char *rest = end + 1;
    to = strtod(rest, &end);
    if (end == rest || *end != ':' || (end[1] != 'x' && end[1] != '+'))
        return false;
    bool is_ratio = end[1] == 'x';
    rest = end + 2;
    by = strtod(rest, &end);
    if (end == rest || *end || !isfinite(from) || !isfinite(to) || to < from ||
        !(is_ratio ? by > 1 && from > 0 : by > 0))
        return false;
    double most = to + 1e-9 * fabs(to), value = from;
    for (size_t i = 0; value <= most && i <= SWEEP_MOST_POINTS; i++) {
        add_axis_value(list, value);
        value = is_ratio ? from * pow(by, (double)i + 1) : from + ((double)i + 1) * by;
    }
    return true;
}

/* Reads numbers or words with commas between them. */
static lull_status read_values(struct lull_program_model *model, uint32_t parameter,
                               const char *text, struct list *list, struct lull_error *err)
{
    struct lull_model_parameter *changed = &model->parameters[parameter], before = *changed;
    lull_status status = LULL_OK;
    while (status == LULL_OK && text) {
        size_t length = strcspn(text, ",");
        const char *pair =
            lull_arena_printf(list->arena, "%s=%.*s", before.name, (int)length, text);
        status = lull_model_set(model, pair, before.source, err);
        add_axis_value(list, changed->value);
        text = text[length] ? text + length + 1 : NULL;
    }
    *changed = before;
    return status;
}

lull_status lull_model_axis_read(struct lull_program_model *model, const char *text,
                                 struct lull_arena *arena, struct lull_model_axis *ret_axis,
                                 struct lull_error *err)
{
    struct list list = {.arena = arena};
    const char *equals = strchr(text, '=');
    const char *name = lull_arena_strndup(arena, text, equals ? (size_t)(equals - text) : 0);
    uint32_t parameter = lull_model_parameter_find(model, name);
    if (parameter == LULL_MODEL_NONE) /* lull_model_set tells what is wrong */
        return lull_model_set(model, equals ? text : lull_arena_printf(arena, "%s=", text),
                              LULL_PARAMETER_SET, err);
    const char *values = equals + 1;
    bool is_range = !model->parameters[parameter].choices && strchr(values, ':');
    if (is_range && !read_range(values, &list))
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s is '%s', expected FROM:TO:xRATIO, FROM:TO:+STEP or A,B,C", name,
                         values);
    lull_status status = is_range ? LULL_OK : read_values(model, parameter, values, &list, err);
    *ret_axis = (struct lull_model_axis){parameter, list.values, list.count};
    return status;
}

/* ==== sweep =================================================================================== */

struct sweeping {
    struct lull_program_model *model;
    struct lull_arena *arena;
    struct lull_model_sweep *sweep;
    struct lull_term_cost *costs; /* [n_terms] */
    /* [n_parameters]: of a point, and of the same point with one process. */
    double *values, *base;
    double base_rate; /* work per second at the base; 0: not known yet */
};

/* ---- variants ------------------------------------------------------------------------------- */

/* Whether a parameter has words of which neither the user nor an axis has chosen one. */
static bool is_open(const struct lull_program_model *model, const struct lull_model_sweep *sweep,
                    uint32_t parameter)
{
    for (size_t a = 0; a < sweep->n_axes; a++)
        if (sweep->axes[a].parameter == parameter)
            return false;
    return model->parameters[parameter].choices &&
           model->parameters[parameter].source == LULL_PARAMETER_DEFAULT;
}

static void make_variants(struct sweeping *sweeping)
{
    enum { MOST_VARIANTS = 64 };
    const struct lull_program_model *model = sweeping->model;
    struct lull_model_sweep *sweep = sweeping->sweep;
    sweep->n_variants = 1;
    for (uint32_t p = 0; p < model->n_parameters; p++)
        if (is_open(model, sweep, p) &&
            sweep->n_variants * model->parameters[p].n_choices <= MOST_VARIANTS)
            sweep->n_variants *= model->parameters[p].n_choices;
    sweep->variants = lull_arena_zero(sweeping->arena, sweep->n_variants, sizeof *sweep->variants);
    for (uint32_t v = 0; v < sweep->n_variants; v++) {
        struct lull_model_variant *variant = &sweep->variants[v];
        uint32_t rest = v;
        variant->name = "";
        variant->values =
            lull_arena_zero(sweeping->arena, model->n_parameters, sizeof *variant->values);
        lull_model_values(model, variant->values);
        for (uint32_t p = 0; p < model->n_parameters && sweep->n_variants > 1; p++) {
            const struct lull_model_parameter *parameter = &model->parameters[p];
            if (!is_open(model, sweep, p))
                continue;
            uint32_t choice = rest % parameter->n_choices;
            rest /= parameter->n_choices;
            variant->values[p] = choice;
            variant->name =
                lull_arena_printf(sweeping->arena, "%s%s%s", variant->name,
                                  *variant->name ? ", " : "", parameter->choices[choice]);
        }
    }
}

/* ---- points --------------------------------------------------------------------------------- */

double lull_model_sweep_value(const struct lull_model_sweep *sweep, size_t axis, size_t point)
{
    for (size_t a = sweep->n_axes; a-- > axis + 1;)
        point /= sweep->axes[a].n_values;
    return sweep->axes[axis].values[point % sweep->axes[axis].n_values];
}

void lull_model_sweep_values(const struct lull_program_model *model,
                             const struct lull_model_sweep *sweep, uint32_t variant, size_t point,
                             double *ret_values)
{
    memcpy(ret_values, sweep->variants[variant].values, model->n_parameters * sizeof *ret_values);
    for (size_t a = 0; a < sweep->n_axes; a++)
        ret_values[sweep->axes[a].parameter] = lull_model_sweep_value(sweep, a, point);
}

/* Whether two points have the same base, which depends neither on processes nor on words. */
static bool has_same_base(const struct lull_program_model *model, const double *a, const double *b)
{
    for (uint32_t p = 0; p < model->n_parameters; p++)
        if (p != model->processes && !model->parameters[p].choices && a[p] != b[p])
            return false;
    return true;
}

/* Finds the work per second of one process, with all else alike, by the best variant. It is found
 * anew only if anything else has changed. */
static lull_status find_base(struct sweeping *sweeping, const double *values,
                             struct lull_error *err)
{
    struct lull_program_model *model = sweeping->model;
    const struct lull_model_sweep *sweep = sweeping->sweep;
    if (sweeping->base_rate > 0 && has_same_base(model, sweeping->base, values))
        return LULL_OK;
    memcpy(sweeping->base, values, model->n_parameters * sizeof *values);
    sweeping->base[model->processes] = 1;
    sweeping->base_rate = 0;
    for (uint32_t v = 0; v < sweep->n_variants; v++) {
        double work = 1;
        for (uint32_t p = 0; p < model->n_parameters; p++)
            if (is_open(model, sweep, p))
                sweeping->base[p] = sweep->variants[v].values[p];
        lull_status status = lull_model_evaluate(model, sweeping->base, sweeping->costs, err);
        if (status == LULL_OK && model->has_work)
            status = lull_model_work(model, sweeping->base, &work, err);
        if (status != LULL_OK)
            return status;
        double rate = work / lull_model_total(model, sweeping->costs).seconds;
        sweeping->base_rate = fmax(sweeping->base_rate, rate);
    }
    return LULL_OK;
}

static lull_status evaluate_point(struct sweeping *sweeping, const double *values,
                                  struct lull_model_point *point, struct lull_error *err)
{
    struct lull_program_model *model = sweeping->model;
    double work = 1;
    lull_status status = find_base(sweeping, values, err);
    if (status == LULL_OK)
        status = lull_model_evaluate(model, values, sweeping->costs, err);
    if (status == LULL_OK && model->has_work)
        status = lull_model_work(model, values, &work, err);
    if (status == LULL_OK && model->has_uncertainty)
        status = lull_model_uncertainty(model, values, &point->uncertainty, err);
    if (status != LULL_OK)
        return status;
    point->total = lull_model_total(model, sweeping->costs);
    point->limit = lull_model_limit(&point->total);
    point->speedup = work / point->total.seconds / sweeping->base_rate;
    point->efficiency = point->speedup / values[model->processes];
    for (uint32_t t = 0; t < model->n_terms; t++) {
        if (sweeping->costs[t].seconds > sweeping->costs[point->term].seconds)
            point->term = t;
        if (point->terms)
            point->terms[t] = sweeping->costs[t];
    }
    return LULL_OK;
}

static lull_status evaluate_points(struct sweeping *sweeping, uint32_t variant,
                                   struct lull_error *err)
{
    enum { MOST_DETAILS = 4096 };
    struct lull_model_sweep *sweep = sweeping->sweep;
    const struct lull_program_model *model = sweeping->model;
    struct lull_model_point *points =
        lull_arena_zero(sweeping->arena, sweep->n_points, sizeof *points);
    sweep->points[variant] = points;
    for (size_t i = 0; i < sweep->n_points; i++) {
        if (sweep->n_points <= MOST_DETAILS)
            points[i].terms =
                lull_arena_zero(sweeping->arena, model->n_terms, sizeof *points[i].terms);
        lull_model_sweep_values(model, sweep, variant, i, sweeping->values);
        lull_status status = evaluate_point(sweeping, sweeping->values, &points[i], err);
        if (status != LULL_OK)
            return status;
        if (points[i].total.seconds < sweep->points[sweep->best[i]][i].total.seconds)
            sweep->best[i] = variant;
    }
    return LULL_OK;
}

/* ---- changes -------------------------------------------------------------------------------- */

/* What is looked at along the axis: where a variant's limit changes, or which variant is best. */
struct watch {
    bool is_best;
    uint32_t variant;
};

static lull_status state_at(struct sweeping *sweeping, const struct watch *watch, double place,
                            unsigned *ret_state, struct lull_error *err)
{
    struct lull_model_sweep *sweep = sweeping->sweep;
    double least = INFINITY;
    for (uint32_t v = 0; v < sweep->n_variants; v++) {
        struct lull_model_point point = {.terms = NULL};
        if (!watch->is_best && v != watch->variant)
            continue;
        memcpy(sweeping->values, sweep->variants[v].values,
               sweeping->model->n_parameters * sizeof *sweeping->values);
        sweeping->values[sweep->axes[0].parameter] = place;
        lull_status status = evaluate_point(sweeping, sweeping->values, &point, err);
        if (status != LULL_OK)
            return status;
        if (point.total.seconds < least) {
            least = point.total.seconds;
            *ret_state = watch->is_best ? v : point.limit;
        }
    }
    return LULL_OK;
}

/* Finds where the state changes between `low`, where it is `from`, and `high`. Bisects until the
 * distance is 1, for whole numbers, or 1e-3 of the value. */
static lull_status find_change(struct sweeping *sweeping, const struct watch *watch, double low,
                               double high, unsigned from, unsigned to, struct lull_error *err)
{
    struct lull_model_sweep *sweep = sweeping->sweep;
    bool is_whole = low == floor(low) && high == floor(high);
    while (is_whole ? high - low > 1 : high - low > 1e-3 * fabs(high)) {
        double middle = is_whole ? floor((low + high) / 2) : (low + high) / 2;
        unsigned state;
        lull_status status = state_at(sweeping, watch, middle, &state, err);
        if (status != LULL_OK)
            return status;
        if (state == from)
            low = middle;
        else
            high = middle;
    }
    sweep->changes[sweep->n_changes++] =
        (struct lull_model_change){watch->variant, watch->is_best, from, to, high};
    return LULL_OK;
}

static lull_status watch_axis(struct sweeping *sweeping, const struct watch *watch,
                              struct lull_error *err)
{
    struct lull_model_sweep *sweep = sweeping->sweep;
    const struct lull_model_point *points = sweep->points[watch->variant];
    for (size_t i = 1; i < sweep->n_points; i++) {
        unsigned from = watch->is_best ? sweep->best[i - 1] : points[i - 1].limit;
        unsigned to = watch->is_best ? sweep->best[i] : points[i].limit;
        lull_status status = LULL_OK;
        if (from != to)
            status = find_change(sweeping, watch, sweep->axes[0].values[i - 1],
                                 sweep->axes[0].values[i], from, to, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status find_changes(struct sweeping *sweeping, struct lull_error *err)
{
    struct lull_model_sweep *sweep = sweeping->sweep;
    lull_status status = LULL_OK;
    if (sweep->n_axes != 1 || sweeping->model->parameters[sweep->axes[0].parameter].choices)
        return LULL_OK;
    sweep->changes = lull_arena_zero(
        sweeping->arena, (sweep->n_variants + (size_t)1) * sweep->n_points, sizeof *sweep->changes);
    for (uint32_t v = 0; status == LULL_OK && v < sweep->n_variants; v++)
        status = watch_axis(sweeping, &(struct watch){.variant = v}, err);
    if (status == LULL_OK && sweep->n_variants > 1)
        status = watch_axis(sweeping, &(struct watch){.is_best = true}, err);
    return status;
}

/* ---- the sweep ------------------------------------------------------------------------------ */

lull_status lull_model_sweep_run(struct lull_program_model *model,
                                 const struct lull_model_axis *axes, size_t n_axes,
                                 struct lull_arena *arena, struct lull_model_sweep *ret_sweep,
                                 struct lull_error *err)
{
    struct sweeping sweeping = {.model = model, .arena = arena, .sweep = ret_sweep};
    *ret_sweep = (struct lull_model_sweep){.axes = axes, .n_axes = n_axes, .n_points = 1};
    for (size_t a = 0; a < n_axes; a++) {
        for (size_t b = 0; b < a; b++)
            if (axes[a].parameter == axes[b].parameter)
                return lull_fail(err, LULL_ERR_RANGE, "%s is swept twice",
                                 model->parameters[axes[a].parameter].name);
        if (axes[a].n_values > SWEEP_MOST_POINTS / ret_sweep->n_points)
            return lull_fail(err, LULL_ERR_RANGE, "more than %d points", SWEEP_MOST_POINTS);
        ret_sweep->n_points *= axes[a].n_values;
    }
    sweeping.costs = lull_arena_zero(arena, model->n_terms, sizeof *sweeping.costs);
    sweeping.values = lull_arena_zero(arena, model->n_parameters, sizeof *sweeping.values);
    sweeping.base = lull_arena_zero(arena, model->n_parameters, sizeof *sweeping.base);
    make_variants(&sweeping);
    ret_sweep->points = lull_arena_zero(arena, ret_sweep->n_variants, sizeof *ret_sweep->points);
    ret_sweep->best = lull_arena_zero(arena, ret_sweep->n_points, sizeof *ret_sweep->best);
    for (uint32_t v = 0; v < ret_sweep->n_variants; v++) {
        lull_status status = evaluate_points(&sweeping, v, err);
        if (status != LULL_OK)
            return status;
    }
    return find_changes(&sweeping, err);
}

/* ---- sensitivity ---------------------------------------------------------------------------- */

static double weight(const struct lull_model_sensitivity *sensitivity)
{
    double doubled = isnan(sensitivity->doubled) ? 0 : fabs(log(sensitivity->doubled));
    double halved = isnan(sensitivity->halved) ? 0 : fabs(log(sensitivity->halved));
    return fmax(doubled, halved);
}

/* Orders by weight; equal ones stay in the order of the model. */
static int compare_weights(const void *a, const void *b)
{
    const struct lull_model_sensitivity *x = a, *y = b;
    double difference = weight(y) - weight(x);
    if (fabs(difference) > 1e-12)
        return difference > 0 ? 1 : -1;
    return (x->parameter > y->parameter) - (x->parameter < y->parameter);
}

static double seconds_with(struct lull_program_model *model, double *values, uint32_t parameter,
                           double factor, struct lull_term_cost *costs)
{
    double before = values[parameter];
    values[parameter] = before * factor;
    lull_status status = lull_model_evaluate(model, values, costs, NULL);
    values[parameter] = before;
    return status == LULL_OK ? lull_model_total(model, costs).seconds : NAN;
}

lull_status lull_model_sensitivities(struct lull_program_model *model, const double *values,
                                     struct lull_arena *arena,
                                     struct lull_model_sensitivity **ret_list, size_t *ret_count,
                                     struct lull_error *err)
{
    struct lull_term_cost *costs = lull_arena_zero(arena, model->n_terms, sizeof *costs);
    double *changed = lull_arena_zero(arena, model->n_parameters, sizeof *changed);
    struct lull_model_sensitivity *list = lull_arena_zero(arena, model->n_parameters, sizeof *list);
    size_t count = 0;
    lull_status status = lull_model_evaluate(model, values, costs, err);
    if (status != LULL_OK)
        return status;
    double seconds = lull_model_total(model, costs).seconds;
    memcpy(changed, values, model->n_parameters * sizeof *changed);
    for (uint32_t p = 0; p < model->n_parameters; p++) {
        if (model->parameters[p].choices || !(values[p] > 0))
            continue;
        list[count++] =
            (struct lull_model_sensitivity){p, seconds_with(model, changed, p, 2, costs) / seconds,
                                            seconds_with(model, changed, p, 0.5, costs) / seconds};
    }
    qsort(list, count, sizeof *list, compare_weights);
    *ret_list = list;
    *ret_count = count;
    return LULL_OK;
}
