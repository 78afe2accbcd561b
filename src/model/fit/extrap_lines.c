/* Extra-P's JSON Lines: {"params": {"p": 4}, "value": 1.5} with callpath and metric where there are
 * several; value may be an array of repetitions. */
#include "model/fit/lines.h"

#include <jansson.h>
#include <string.h>

enum { MOST_JSON_PARAMETERS = 16 };

struct measurements {
    struct lull_fit_lines lines;
    const struct lull_fit_read_options *options;
    size_t n_names; /* parameters in each line */
    struct lull_fit_table *table;
};

/* A saved profile is JSON, too: the first line of this has params. */
static bool recognise_extrap_lines(const char *head, size_t size)
{
    const char *stop = memchr(head, '\n', size);
    size_t length = stop ? (size_t)(stop - head) : size;
    return length > 0 && *head == '{' && memmem(head, length, "\"params\"", 8) != NULL;
}

/* The first line names the parameters of all. */
static lull_status name_parameters(struct measurements *file, json_t *params)
{
    const char *names[MOST_JSON_PARAMETERS], *wanted[LULL_FIT_PARAMETERS], *key;
    size_t picked[LULL_FIT_PARAMETERS], n_picked, n = 0;
    json_t *value;
    json_object_foreach(params, key, value)
    {
        if (n == MOST_JSON_PARAMETERS)
            return lull_fit_wrong(&file->lines, "more than %d parameters", MOST_JSON_PARAMETERS);
        names[n++] = key;
    }
    file->n_names = n;
    lull_status status = lull_fit_pick(&file->lines, file->options, names, n, picked, &n_picked);
    for (size_t i = 0; status == LULL_OK && i < n_picked; i++)
        wanted[i] = names[picked[i]];
    return status == LULL_OK ? lull_fit_table_create(file->lines.arena, wanted, n_picked,
                                                     &file->table, file->lines.err)
                             : status;
}

static lull_status read_point(struct measurements *file, json_t *params, double *ret_x)
{
    if (!json_is_object(params))
        return lull_fit_wrong(&file->lines, "params is missing, or no object");
    lull_status status = file->table ? LULL_OK : name_parameters(file, params);
    if (status != LULL_OK)
        return status;
    if (json_object_size(params) != file->n_names)
        return lull_fit_wrong(&file->lines, "%zu parameters, expected %zu as in the first line",
                              json_object_size(params), file->n_names);
    for (size_t i = 0; i < file->table->n_params; i++) {
        const json_t *value = json_object_get(params, file->table->params[i]);
        if (!json_is_number(value))
            return lull_fit_wrong(&file->lines, "params: %s is missing, or no number",
                                  file->table->params[i]);
        ret_x[i] = json_number_value(value);
    }
    return LULL_OK;
}

static lull_status read_text_field(const struct measurements *file, const json_t *object,
                                   const char *key, const char **ret_text)
{
    const json_t *value = json_object_get(object, key);
    *ret_text = value ? json_string_value(value) : "";
    return *ret_text ? LULL_OK : lull_fit_wrong(&file->lines, "%s is no string", key);
}

static lull_status add_value(struct measurements *file, struct lull_fit_series *series,
                             const double *x, const json_t *value)
{
    struct lull_error why;
    if (!json_is_number(value))
        return lull_fit_wrong(&file->lines, "value is missing, or no number");
    if (lull_fit_table_add(file->table, series, x, json_number_value(value), &why) != LULL_OK)
        return lull_fit_wrong(&file->lines, "%s", why.text);
    return LULL_OK;
}

static lull_status read_object(struct measurements *file, json_t *object)
{
    double x[LULL_FIT_PARAMETERS];
    const char *callpath, *metric;
    lull_status status = read_point(file, json_object_get(object, "params"), x);
    if (status == LULL_OK)
        status = read_text_field(file, object, "callpath", &callpath);
    if (status == LULL_OK)
        status = read_text_field(file, object, "metric", &metric);
    if (status != LULL_OK)
        return status;
    struct lull_fit_series *series = lull_fit_table_series(file->table, callpath, metric);
    const json_t *value = json_object_get(object, "value");
    if (!json_is_array(value))
        return add_value(file, series, x, value);
    for (size_t i = 0; status == LULL_OK && i < json_array_size(value); i++)
        status = add_value(file, series, x, json_array_get(value, i));
    return status;
}

static lull_status read_line(struct measurements *file, const char *line)
{
    json_error_t why;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        return lull_fit_wrong(&file->lines, ", column %d: %s", why.column, why.text);
    lull_status status = json_is_object(object)
                             ? read_object(file, object)
                             : lull_fit_wrong(&file->lines, "expected an object");
    json_decref(object);
    return status;
}

static lull_status read_extrap_lines(const char *text, size_t size, const char *path,
                                     const struct lull_fit_read_options *options,
                                     struct lull_arena *arena, struct lull_fit_table **ret_table,
                                     struct lull_error *err)
{
    struct measurements file = {
        .lines = {.rest = text, .end = text + size, .path = path, .err = err, .arena = arena},
        .options = options};
    lull_status status = LULL_OK;
    for (char *line; status == LULL_OK && (line = lull_fit_next_line(&file.lines, true));)
        status = read_line(&file, line);
    if (status == LULL_OK && !file.table)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: holds no measurements", path);
    if (status == LULL_OK)
        *ret_table = file.table;
    return status;
}

const struct lull_fit_format lull_fit_extrap_lines = {"Extra-P JSON Lines", false,
                                                      recognise_extrap_lines, read_extrap_lines};
