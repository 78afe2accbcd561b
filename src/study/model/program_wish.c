#include "study/model/program_wish.h"

#include "base/text.h"
#include "base/text/option.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

static lull_status read_run_wishes(const char *option, const char *const *texts,
                                   struct lull_arena *arena,
                                   const struct lull_model_run_wish **ret_wishes,
                                   uint32_t *ret_count, struct lull_error *err)
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
                return lull_fail(err, LULL_ERR_RANGE, "%s: '%s', expected a RUN before it", option,
                                 piece);
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

static lull_status read_sizes_of_runs(const struct lull_model_run_wish *wishes, uint32_t count,
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

static lull_status read_free(const struct lull_program_model *model, const char *text,
                             struct lull_arena *arena, const uint32_t **ret_free, size_t *ret_count,
                             struct lull_error *err)
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

static lull_status read_axes(struct lull_program_model *model, const char *const *texts,
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

/* ---- a model --------------------------------------------------------------------------------- */

lull_status lull_program_wish_read(const struct lull_program_texts *texts, struct lull_arena *arena,
                                   struct lull_program_wish *wish, struct lull_error *err)
{
    struct lull_model_engine *engine = lull_arena_zero(arena, 1, sizeof *engine);
    *engine = (struct lull_model_engine){.network = texts->network, .seed = 1};
    wish->engine = texts->simulate ? engine : NULL;
    wish->confidence = 0.95;
    lull_status status =
        lull_option_percent("confidence", texts->confidence, 50, 99.99, &wish->confidence, err);
    if (status == LULL_OK)
        status = lull_option_number("seed", texts->seed, 0, UINT64_MAX, &engine->seed, err);
    if (status == LULL_OK && !texts->simulate && (texts->network || texts->seed))
        return lull_fail(err, LULL_ERR_RANGE, "--%s is for --simulate",
                         texts->network ? "network" : "seed");
    if (status == LULL_OK && texts->free && !texts->calibrate)
        return lull_fail(err, LULL_ERR_RANGE, "--free is for --calibrate");
    if (status == LULL_OK)
        status = read_run_wishes("--calibrate", texts->calibrate, arena, &wish->calibrate,
                                 &wish->n_calibrate, err);
    return status == LULL_OK ? read_run_wishes("--against", texts->against, arena, &wish->against,
                                               &wish->n_against, err)
                             : status;
}

static lull_status take_model_machine(const char *path, struct lull_program_model *model,
                                      struct lull_notices *notices, struct lull_arena *arena,
                                      struct lull_program_wish *wish, struct lull_error *err)
{
    struct lull_machine *machine;
    const char *const *missing;
    lull_status status = lull_machine_read(path, arena, &machine, err);
    if (status != LULL_OK)
        return status;
    if (lull_model_take_machine(model, machine, path, &missing, err) != LULL_OK)
        return LULL_ERR_FORMAT; /* the file says it in another unit */
    for (; *missing; missing++)
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s", *missing);
    if (wish->engine)
        wish->engine->machine = machine->n_network > 0 ? machine : NULL;
    return LULL_OK;
}

lull_status lull_program_wish_apply(const struct lull_program_texts *texts,
                                    struct lull_program_model *model, struct lull_notices *notices,
                                    struct lull_arena *arena, struct lull_program_wish *wish,
                                    struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (const char *const *text = texts->set; text && *text; text++)
        if (lull_model_set(model, *text, LULL_PARAMETER_SET, err) != LULL_OK)
            return lull_fail_prefix(err, LULL_ERR_RANGE, "--set");
    if (texts->machine)
        status = take_model_machine(texts->machine, model, notices, arena, wish, err);
    if (status != LULL_OK)
        return status;
    if (read_free(model, texts->free, arena, &wish->free, &wish->n_free, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--free");
    return read_axes(model, texts->sweep, arena, &wish->axes, &wish->n_axes, err) == LULL_OK
               ? LULL_OK
               : lull_fail_prefix(err, LULL_ERR_RANGE, "--sweep");
}

/* ---- a derived model ------------------------------------------------------------------------- */

lull_status lull_derive_wish_read(const char *const *texts, struct lull_arena *arena,
                                  struct lull_derive_wish *ret_wish, struct lull_error *err)
{
    const struct lull_model_run_wish *runs;
    uint32_t count;
    lull_status status = read_run_wishes("--derive", texts, arena, &runs, &count, err);
    if (status != LULL_OK)
        return status;
    *ret_wish = (struct lull_derive_wish){
        .paths = lull_arena_zero(arena, count, sizeof(*ret_wish->paths)), .count = count};
    for (uint32_t i = 0; i < count; i++)
        ret_wish->paths[i] = runs[i].path;
    status = read_sizes_of_runs(runs, count, arena, &ret_wish->size_name, &ret_wish->sizes, err);
    return status == LULL_OK ? LULL_OK : lull_fail_prefix(err, status, "--derive");
}
