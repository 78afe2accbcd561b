#include "study/model/program_wish.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

lull_status lull_model_runs_read(const char *const *texts, struct lull_arena *arena,
                                 const struct lull_model_run_wish **ret_wishes, uint32_t *ret_count,
                                 struct lull_error *err)
{
    struct lull_model_run_wish *wishes = NULL;
    const char **pairs = NULL;
    size_t capacity = 0, count = 0, n_pairs = 0, pairs_capacity = 0;
    for (; texts && *texts; texts++)
        for (const char *text = *texts; text;) {
            size_t length = strcspn(text, ",");
            bool is_whole = access(text, F_OK) == 0; /* a name with a comma */
            const char *piece = is_whole ? text : lull_arena_strndup(arena, text, length);
            text = !is_whole && text[length] ? text + length + 1 : NULL;
            if (!strchr(piece, '=') || access(piece, F_OK) == 0) {
                wishes = lull_arena_grow(arena, wishes, &capacity, count + 1, sizeof *wishes);
                wishes[count++] = (struct lull_model_run_wish){piece, NULL};
                pairs = NULL;
                n_pairs = pairs_capacity = 0;
                continue;
            }
            if (count == 0)
                return lull_fail(err, LULL_ERR_RANGE, "'%s', expected a RUN before it", piece);
            pairs = lull_arena_grow(arena, pairs, &pairs_capacity, n_pairs + 2, sizeof *pairs);
            pairs[n_pairs++] = piece;
            pairs[n_pairs] = NULL;
            wishes[count - 1].settings = pairs;
        }
    *ret_wishes = wishes;
    *ret_count = (uint32_t)count;
    return LULL_OK;
}

/* A name of Lua that no other parameter of a derived model has. */
static bool is_size_name(const char *name)
{
    static const char *const taken[] = {"P", "T", "T_core", "T_turn", "B", "iterations", "cores"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return false;
    for (const char *c = name; *c; c++)
        if (!isalpha((unsigned char)*c) && *c != '_' && (c == name || !isdigit((unsigned char)*c)))
            return false;
    return *name != '\0';
}

lull_status lull_model_sizes_read(const struct lull_model_run_wish *wishes, uint32_t count,
                                  struct lull_arena *arena, const char **ret_name,
                                  const double **ret_sizes, struct lull_error *err)
{
    double *sizes = lull_arena_zero(arena, count, sizeof *sizes);
    const char *size_name = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *const *texts = wishes[i].settings;
        if (!texts && !size_name)
            continue;
        if (!texts || texts[1])
            return lull_fail(err, LULL_ERR_RANGE, "%s: expected one size, as behind the other runs",
                             wishes[i].path);
        const char *equals = strchr(texts[0], '=');
        const char *name = lull_arena_strndup(arena, texts[0], (size_t)(equals - texts[0]));
        bool is_number = lull_parse_real(equals + 1, &sizes[i]) == LULL_OK;
        if (!is_size_name(name) || (size_name ? strcmp(name, size_name) != 0 : i > 0))
            return lull_fail(err, LULL_ERR_RANGE,
                             "'%s': expected one name of a size behind every run, and not P, T, "
                             "T_core, T_turn, B, "
                             "iterations, cores",
                             texts[0]);
        if (!is_number || sizes[i] <= 0)
            return lull_fail(err, LULL_ERR_RANGE, "'%s', expected a number above 0", texts[0]);
        size_name = name;
    }
    *ret_name = size_name;
    *ret_sizes = size_name ? sizes : NULL;
    return LULL_OK;
}

lull_status lull_model_free_read(const struct lull_program_model *model, const char *text,
                                 struct lull_arena *arena, const uint32_t **ret_free,
                                 size_t *ret_count, struct lull_error *err)
{
    uint32_t *free = lull_arena_zero(arena, model->n_parameters, sizeof *free);
    size_t count = 0, n_names;
    const char **names = lull_split(text, ",", arena, &n_names);
    for (uint32_t p = 0; p < model->n_parameters && !text; p++)
        if (model->parameters[p].is_free && model->parameters[p].source != LULL_PARAMETER_SET)
            free[count++] = p;
    for (size_t n = 0; n < n_names; n++) {
        uint32_t parameter = lull_model_parameter_find(model, names[n]);
        if (parameter == LULL_MODEL_NONE || model->parameters[parameter].choices)
            return lull_fail(err, LULL_ERR_RANGE, "%s has no number '%s'", model->path, names[n]);
        for (size_t i = 0; i < count; i++)
            if (free[i] == parameter)
                return lull_fail(err, LULL_ERR_RANGE, "'%s' is there twice", names[n]);
        free[count++] = parameter;
    }
    *ret_free = free;
    *ret_count = count;
    return LULL_OK;
}

lull_status lull_model_axes_read(struct lull_program_model *model, const char *const *texts,
                                 struct lull_arena *arena, const struct lull_model_axis **ret_axes,
                                 size_t *ret_count, struct lull_error *err)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    struct lull_model_axis *axes = lull_arena_zero(arena, count + 1, sizeof *axes);
    for (size_t a = 0; a < count; a++) {
        lull_status status = lull_model_axis_read(model, texts[a], arena, &axes[a], err);
        if (status != LULL_OK)
            return status;
        struct lull_model_parameter *parameter = &model->parameters[axes[a].parameter];
        if (parameter->source == LULL_PARAMETER_ABSENT) { /* it has values */
            parameter->value = axes[a].values[0];
            parameter->source = LULL_PARAMETER_SET;
        }
    }
    *ret_axes = axes;
    *ret_count = count;
    return LULL_OK;
}
