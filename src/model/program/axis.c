/* What the user writes of an axis. */
#include "model/program/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* FROM:TO:xRATIO or FROM:TO:+STEP; both ends count, the last to rounding. */
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
    for (size_t i = 0; value <= most && i <= LULL_SWEEP_MOST_POINTS; i++) {
        add_axis_value(list, value);
        value = is_ratio ? from * pow(by, (double)i + 1) : from + ((double)i + 1) * by;
    }
    return true;
}

/* One number or word after the other, with commas. */
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
    if (parameter == LULL_MODEL_NONE) /* says what is wrong */
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
