/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/fit/measurements.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct fit_lines {
    const char *rest, *end;
    size_t number; /* of the line last returned, from 1 */
    const char *path;
    struct lull_error *err;
    struct lull_arena *arena;
};

/* ==== the table =============================================================================== */

lull_status lull_fit_table_create(struct lull_arena *arena, const char *const *params,
                                  size_t n_params, struct lull_fit_table **ret_table,
                                  struct lull_error *err)
{
    if (n_params == 0 || n_params > LULL_FIT_PARAMETERS)
        return lull_fail(err, LULL_ERR_RANGE, "%zu parameters, expected 1 to %d", n_params,
                         LULL_FIT_PARAMETERS);
    struct lull_fit_table *table = lull_arena_zero(arena, 1, sizeof *table);
    table->arena = arena;
    table->n_params = n_params;
    for (size_t i = 0; i < n_params; i++)
        table->params[i] = lull_arena_strdup(arena, params[i]);
    *ret_table = table;
    return LULL_OK;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcasecmp(&text[length - wanted], end) == 0;
}

/* By the end of the name: throughput, speedup, rate and performance are rates; efficiency; bytes,
 * flop, flops, instructions, messages and visits are quantities; everything else is a time. */
static enum lull_fit_kind fit_kind_of(const char *metric)
{
    static const struct {
        const char *end;
        enum lull_fit_kind kind;
    } known[] = {{"throughput", LULL_FIT_RATE},
                 {"speedup", LULL_FIT_RATE},
                 {"rate", LULL_FIT_RATE},
                 {"performance", LULL_FIT_RATE},
                 {"efficiency", LULL_FIT_EFFICIENCY},
                 {"bytes", LULL_FIT_QUANTITY},
                 {"flops", LULL_FIT_QUANTITY},
                 {"flop", LULL_FIT_QUANTITY},
                 {"instructions", LULL_FIT_QUANTITY},
                 {"messages", LULL_FIT_QUANTITY},
                 {"visits", LULL_FIT_QUANTITY}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(metric, known[i].end))
            return known[i].kind;
    return LULL_FIT_TIME;
}

const char *lull_fit_kind_name(enum lull_fit_kind kind)
{
    static const char *const names[] = {"time", "throughput", "efficiency", "quantity"};
    return names[kind];
}

struct lull_fit_series *lull_fit_table_series(struct lull_fit_table *table, const char *region,
                                              const char *metric)
{
    /* Files keep to a series for many lines: the last one is the likeliest. */
    for (size_t i = table->n_series; i-- > 0;)
        if (strcmp(table->series[i].region, region) == 0 &&
            strcmp(table->series[i].metric, metric) == 0)
            return &table->series[i];
    table->series = lull_arena_grow(table->arena, table->series, &table->capacity,
                                    table->n_series + 1, sizeof *table->series);
    struct lull_fit_series *series = &table->series[table->n_series++];
    *series = (struct lull_fit_series){.region = lull_arena_strdup(table->arena, region),
                                       .metric = lull_arena_strdup(table->arena, metric),
                                       .unit = "",
                                       .kind = fit_kind_of(metric)};
    return series;
}

lull_status lull_fit_table_add(struct lull_fit_table *table, struct lull_fit_series *series,
                               const double *x, double y, struct lull_error *err)
{
    struct lull_fit_point point = {.y = y, .repetitions = 1};
    for (size_t i = 0; i < table->n_params; i++) {
        if (!(x[i] > 0) || !isfinite(x[i]))
            return lull_fail(err, LULL_ERR_RANGE, "%s is %g, expected a number above 0",
                             table->params[i], x[i]);
        point.x[i] = x[i];
    }
    if (!(y >= 0) || !isfinite(y))
        return lull_fail(err, LULL_ERR_RANGE, "%s is %g, expected a number of 0 or more",
                         *series->metric ? series->metric : "the value", y);
    series->points = lull_arena_grow(table->arena, series->points, &series->capacity,
                                     series->count + 1, sizeof *series->points);
    series->points[series->count++] = point;
    return LULL_OK;
}

const char *lull_fit_series_name(const struct lull_fit_series *series, struct lull_arena *arena)
{
    if (*series->region && *series->metric)
        return lull_arena_printf(arena, "%s of %s", series->metric, series->region);
    return *series->region ? series->region : *series->metric ? series->metric : "value";
}

static int compare_points(const void *left, const void *right)
{
    const struct lull_fit_point *a = left, *b = right;
    for (int i = 0; i < LULL_FIT_PARAMETERS; i++)
        if (a->x[i] != b->x[i])
            return a->x[i] < b->x[i] ? -1 : 1;
    return (a->y > b->y) - (a->y < b->y); /* so that a sum does not depend on the order of lines */
}

static void merge_repetitions(struct lull_fit_series *series)
{
    size_t kept = 0;
    if (series->count)
        qsort(series->points, series->count, sizeof *series->points, compare_points);
    for (size_t i = 0; i < series->count; i++) {
        struct lull_fit_point *last = kept ? &series->points[kept - 1] : NULL;
        if (last && memcmp(last->x, series->points[i].x, sizeof last->x) == 0) {
            last->repetitions++;
            last->y += (series->points[i].y - last->y) / last->repetitions;
        } else {
            series->points[kept++] = series->points[i];
        }
    }
    series->count = kept;
}

void lull_fit_table_finish(struct lull_fit_table *table)
{
    for (size_t i = 0; i < table->n_series; i++)
        merge_repetitions(&table->series[i]);
}

/* Cuts off the blanks around a name, which nobody would think of when asking for it. */
static char *trim(char *cell)
{
    while (isspace((unsigned char)*cell))
        cell++;
    size_t length = strlen(cell);
    while (length && isspace((unsigned char)cell[length - 1]))
        cell[--length] = '\0';
    return cell;
}

/* ==== Extra-P's text files ==================================================================== */

/* Extra-P's text files: PARAMETER, POINTS, REGION, METRIC and DATA, one DATA line per point. */

enum { MOST_TEXT_PARAMETERS = 16 };

struct extrap {
    struct fit_lines lines;
    const struct lull_fit_read_options *options;
    const char *names[MOST_TEXT_PARAMETERS]; /* of parameters */
    size_t n_names;
    size_t picked[LULL_FIT_PARAMETERS], n_picked;
    double *points; /* [point][name] */
    size_t n_values, values_capacity;
    const char *region, *metric;
    size_t next; /* point of the next DATA */
    struct lull_fit_table *table;
};

static bool recognise_extrap_text(const char *head, size_t size)
{
    static const char word[] = "PARAMETER";
    while (size > 0 && (isspace((unsigned char)*head) || *head == '#')) {
        const char *stop = *head == '#' ? memchr(head, '\n', size) : head;
        size_t length = stop ? (size_t)(stop - head) + 1 : size;
        head += length;
        size -= length;
    }
    return size >= sizeof word && memcmp(head, word, sizeof word - 1) == 0;
}

/* The next word of a line, cut out of it; NULL at its end. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    size_t length = strcspn(word, " \t");
    if (!length)
        return NULL;
    *rest = word + length;
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}

static char *fit_next_line(struct fit_lines *lines, bool comments);
static lull_status fit_wrong(const struct fit_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fit_number(const char *text, double *ret_value);
static const char *fit_excerpt(const char *text, struct lull_arena *arena);
static lull_status fit_pick(const struct fit_lines *lines,
                            const struct lull_fit_read_options *options, const char *const *names,
                            size_t n_names, size_t ret_picked[LULL_FIT_PARAMETERS],
                            size_t *ret_count);

static lull_status read_parameter_names(struct extrap *extrap, char *rest)
{
    if (extrap->n_values)
        return fit_wrong(&extrap->lines, "PARAMETER after POINTS");
    for (char *word; (word = next_word(&rest));) {
        if (extrap->n_names == MOST_TEXT_PARAMETERS)
            return fit_wrong(&extrap->lines, "more than %d parameters", MOST_TEXT_PARAMETERS);
        extrap->names[extrap->n_names++] = word;
    }
    return LULL_OK;
}

/* Numbers, whatever brackets are around them. */
static lull_status read_points(struct extrap *extrap, char *rest)
{
    if (!extrap->n_names)
        return fit_wrong(&extrap->lines, "POINTS before PARAMETER");
    if (extrap->region || extrap->next)
        return fit_wrong(&extrap->lines, "POINTS after measurements");
    for (char *c = rest; *c; c++)
        *c = *c == '(' || *c == ')' ? ' ' : *c;
    for (char *word; (word = next_word(&rest));) {
        double value;
        if (!fit_number(word, &value))
            return fit_wrong(&extrap->lines, "'%s', expected a coordinate",
                             fit_excerpt(word, extrap->lines.arena));
        extrap->points =
            lull_arena_grow(extrap->lines.arena, extrap->points, &extrap->values_capacity,
                            extrap->n_values + 1, sizeof *extrap->points);
        extrap->points[extrap->n_values++] = value;
    }
    if (extrap->n_values % extrap->n_names)
        return fit_wrong(&extrap->lines,
                         "%zu coordinates, expected a multiple of the %zu parameters",
                         extrap->n_values, extrap->n_names);
    return LULL_OK;
}

/* Before another region or metric: each point has had its DATA. */
static lull_status end_block(struct extrap *extrap)
{
    size_t count = extrap->n_names ? extrap->n_values / extrap->n_names : 0;
    if (extrap->next != 0 && extrap->next != count)
        return fit_wrong(&extrap->lines,
                         "%zu lines of DATA before it, expected %zu, one for each point",
                         extrap->next, count);
    extrap->next = 0;
    return LULL_OK;
}

static lull_status read_region(struct extrap *extrap, char *rest)
{
    extrap->region = trim(rest);
    return end_block(extrap);
}

static lull_status read_metric(struct extrap *extrap, char *rest)
{
    extrap->metric = trim(rest);
    return end_block(extrap);
}

static lull_status read_data(struct extrap *extrap, char *rest)
{
    struct fit_lines *lines = &extrap->lines;
    double x[LULL_FIT_PARAMETERS];
    struct lull_error why;
    if (!extrap->n_values)
        return fit_wrong(lines, "DATA before POINTS");
    if (extrap->next == extrap->n_values / extrap->n_names)
        return fit_wrong(lines, "more DATA than the %zu points", extrap->next);
    if (!extrap->table) {
        const char *params[LULL_FIT_PARAMETERS];
        lull_status status = fit_pick(lines, extrap->options, extrap->names, extrap->n_names,
                                      extrap->picked, &extrap->n_picked);
        for (size_t i = 0; status == LULL_OK && i < extrap->n_picked; i++)
            params[i] = extrap->names[extrap->picked[i]];
        if (status == LULL_OK)
            status = lull_fit_table_create(lines->arena, params, extrap->n_picked, &extrap->table,
                                           lines->err);
        if (status != LULL_OK)
            return status;
    }
    for (size_t i = 0; i < extrap->n_picked; i++)
        x[i] = extrap->points[extrap->next * extrap->n_names + extrap->picked[i]];
    extrap->next++;
    struct lull_fit_series *series = lull_fit_table_series(
        extrap->table, extrap->region ? extrap->region : "", extrap->metric ? extrap->metric : "");
    size_t count = 0;
    for (char *word; (word = next_word(&rest)); count++) {
        double value;
        if (!fit_number(word, &value))
            return fit_wrong(lines, "'%s', expected a number", fit_excerpt(word, lines->arena));
        if (lull_fit_table_add(extrap->table, series, x, value, &why) != LULL_OK)
            return fit_wrong(lines, "%s", why.text);
    }
    return count ? LULL_OK : fit_wrong(lines, "DATA without a number");
}

static lull_status read_extrap_text(const char *text, size_t size, const char *path,
                                    const struct lull_fit_read_options *options,
                                    struct lull_arena *arena, struct lull_fit_table **ret_table,
                                    struct lull_error *err)
{
    static const struct {
        const char *word;
        lull_status (*read)(struct extrap *extrap, char *rest);
    } sections[] = {{"PARAMETER", read_parameter_names},
                    {"POINTS", read_points},
                    {"REGION", read_region},
                    {"METRIC", read_metric},
                    {"DATA", read_data}};
    enum { SECTIONS = sizeof sections / sizeof *sections };
    struct extrap extrap = {
        .lines = {.rest = text, .end = text + size, .path = path, .err = err, .arena = arena},
        .options = options};
    lull_status status = LULL_OK;
    for (char *line; status == LULL_OK && (line = fit_next_line(&extrap.lines, true));) {
        char *word = next_word(&line);
        size_t s = 0;
        while (s < SECTIONS && strcmp(word, sections[s].word) != 0)
            s++;
        status = s < SECTIONS
                     ? sections[s].read(&extrap, line)
                     : fit_wrong(&extrap.lines,
                                 "'%s', expected PARAMETER, POINTS, REGION, METRIC or DATA",
                                 fit_excerpt(word, arena));
    }
    if (status == LULL_OK)
        status = end_block(&extrap);
    if (status == LULL_OK && !extrap.table)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: has no DATA", path);
    if (status == LULL_OK)
        *ret_table = extrap.table;
    return status;
}

static const struct lull_fit_format fit_extrap_text = {"Extra-P text", false, recognise_extrap_text,
                                                       read_extrap_text};

/* ==== Extra-P's JSON Lines ==================================================================== */

/* Extra-P's JSON Lines: {"params": {"p": 4}, "value": 1.5} with callpath and metric where there are
 * several; value may be an array of repetitions. */

enum { MOST_JSON_PARAMETERS = 16 };

struct measurements {
    struct fit_lines lines;
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
            return fit_wrong(&file->lines, "more than %d parameters", MOST_JSON_PARAMETERS);
        names[n++] = key;
    }
    file->n_names = n;
    lull_status status = fit_pick(&file->lines, file->options, names, n, picked, &n_picked);
    for (size_t i = 0; status == LULL_OK && i < n_picked; i++)
        wanted[i] = names[picked[i]];
    return status == LULL_OK ? lull_fit_table_create(file->lines.arena, wanted, n_picked,
                                                     &file->table, file->lines.err)
                             : status;
}

static lull_status read_point(struct measurements *file, json_t *params, double *ret_x)
{
    if (!json_is_object(params))
        return fit_wrong(&file->lines, "params is missing, or no object");
    lull_status status = file->table ? LULL_OK : name_parameters(file, params);
    if (status != LULL_OK)
        return status;
    if (json_object_size(params) != file->n_names)
        return fit_wrong(&file->lines, "%zu parameters, expected %zu as in the first line",
                         json_object_size(params), file->n_names);
    for (size_t i = 0; i < file->table->n_params; i++) {
        const json_t *value = json_object_get(params, file->table->params[i]);
        if (!json_is_number(value))
            return fit_wrong(&file->lines, "params: %s is missing, or no number",
                             file->table->params[i]);
        ret_x[i] = json_number_value(value);
    }
    return LULL_OK;
}

static lull_status read_text_field(const struct measurements *file, const json_t *object,
                                   const char *key, const char **ret_text)
{
    const json_t *value = json_object_get(object, key);
    const char *text = value ? json_string_value(value) : "";
    if (!text)
        return fit_wrong(&file->lines, "%s is no string", key);
    *ret_text = trim(lull_arena_strdup(file->lines.arena, text));
    return LULL_OK;
}

static lull_status add_value(struct measurements *file, struct lull_fit_series *series,
                             const double *x, const json_t *value)
{
    struct lull_error why;
    if (!json_is_number(value))
        return fit_wrong(&file->lines, "value is missing, or no number");
    if (lull_fit_table_add(file->table, series, x, json_number_value(value), &why) != LULL_OK)
        return fit_wrong(&file->lines, "%s", why.text);
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
        return fit_wrong(&file->lines, ", column %d: %s", why.column, why.text);
    lull_status status = json_is_object(object) ? read_object(file, object)
                                                : fit_wrong(&file->lines, "expected an object");
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
    for (char *line; status == LULL_OK && (line = fit_next_line(&file.lines, true));)
        status = read_line(&file, line);
    if (status == LULL_OK && !file.table)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: holds no measurements", path);
    if (status == LULL_OK)
        *ret_table = file.table;
    return status;
}

static const struct lull_fit_format fit_extrap_lines = {"Extra-P JSON Lines", false,
                                                        recognise_extrap_lines, read_extrap_lines};

static const struct lull_fit_format fit_csv, fit_extrap_text, fit_extrap_lines;

/* ==== reading a file ========================================================================== */

static const struct lull_fit_format *const formats[] = {&fit_extrap_lines, &fit_extrap_text,
                                                        &fit_csv};

const struct lull_fit_format *lull_fit_recognise_text(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' && !isspace((unsigned char)text[i]))
            return NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->recognise(text, size))
            return formats[i];
    return NULL;
}

const struct lull_fit_format *lull_fit_recognise(const char *path)
{
    char head[4096];
    size_t size;
    if (lull_is_directory(path) || lull_read_head(path, head, sizeof head, &size, NULL) != LULL_OK)
        return NULL;
    return lull_fit_recognise_text(head, size);
}

lull_status lull_fit_parse(const char *text, size_t size, const char *path,
                           const struct lull_fit_format *format,
                           const struct lull_fit_read_options *options, struct lull_arena *arena,
                           struct lull_fit_table **ret_table, struct lull_error *err)
{
    struct lull_fit_table *table;
    if (size && memchr(text, '\0', size))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: holds a zero byte, expected text", path);
    if (options->y && !format->has_columns)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: --y is '%s', expected region:NAME or metric:NAME of a file of %s",
                         path, options->y, format->name);
    lull_status status = format->read(text, size, path, options, arena, &table, err);
    if (status != LULL_OK)
        return status;
    if (table->n_series == 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: holds no measurements", path);
    lull_fit_table_finish(table);
    *ret_table = table;
    return LULL_OK;
}

lull_status lull_fit_read(const char *path, const struct lull_fit_format *format,
                          const struct lull_fit_read_options *options, struct lull_arena *arena,
                          struct lull_fit_table **ret_table, struct lull_error *err)
{
    struct lull_mapping mapping;
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    status = lull_fit_parse((const char *)mapping.data, mapping.size, path, format, options, arena,
                            ret_table, err);
    lull_unmap(&mapping);
    return status;
}

/* ---- what all readers need ------------------------------------------------------------------- */

/* The next line without its end, a copy in the arena; NULL at the end. With `comments` empty lines
 * and those that begin with # are passed over. */
static char *fit_next_line(struct fit_lines *lines, bool comments)
{
    while (lines->rest < lines->end) {
        size_t left = (size_t)(lines->end - lines->rest);
        const char *line = lines->rest, *stop = memchr(line, '\n', left);
        size_t length = stop ? (size_t)(stop - line) : left;
        lines->rest = stop ? stop + 1 : lines->end;
        lines->number++;
        if (length && line[length - 1] == '\r')
            length--;
        size_t blank = 0;
        while (blank < length && isspace((unsigned char)line[blank]))
            blank++;
        if (comments && (blank == length || line[blank] == '#'))
            continue;
        return lull_arena_strndup(lines->arena, line, length);
    }
    return NULL;
}

/* "PATH: line 4: ..." with LULL_ERR_FORMAT. */
static lull_status fit_wrong(const struct fit_lines *lines, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lull_fail(lines->err, LULL_ERR_FORMAT, "%s: line %zu%s%s", lines->path, lines->number,
                     strncmp(text, ", ", 2) == 0 ? "" : ": ", text);
}

/* The whole of the text is a number in C's decimal notation. */
static bool fit_number(const char *text, double *ret_value)
{
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false; /* no hexadecimal, no inf */
    *ret_value = strtod(text, &end);
    return *end == '\0' && end != text;
}

/* A text of a file for a message: cut where it is long. */
static const char *fit_excerpt(const char *text, struct lull_arena *arena)
{
    enum { MOST_EXCERPT = 40 };
    return strlen(text) <= MOST_EXCERPT ? text
                                        : lull_arena_printf(arena, "%.*s...", MOST_EXCERPT, text);
}

/* Which of the file's parameters are wanted, as indices in the order of the options (all: in the
 * order of the file). Fails, naming the file, for unknown ones. */
static lull_status fit_pick(const struct fit_lines *lines,
                            const struct lull_fit_read_options *options, const char *const *names,
                            size_t n_names, size_t ret_picked[LULL_FIT_PARAMETERS],
                            size_t *ret_count)
{
    size_t count = options->params ? options->n_params : n_names;
    if (count == 0 || count > LULL_FIT_PARAMETERS)
        return lull_fail(lines->err, LULL_ERR_RANGE,
                         "%s: %zu parameters, expected 1 to %d (--x names those wanted)",
                         lines->path, count, LULL_FIT_PARAMETERS);
    for (size_t i = 0; i < count; i++) {
        size_t n = options->params ? 0 : i;
        while (options->params && n < n_names && strcmp(names[n], options->params[i]) != 0)
            n++;
        if (n == n_names) {
            const char *known = n_names ? names[0] : "none";
            for (size_t k = 1; k < n_names; k++)
                known = lull_arena_printf(lines->arena, "%s, %s", known, names[k]);
            return lull_fail(lines->err, LULL_ERR_RANGE, "%s: has no '%s', expected one of: %s",
                             lines->path, options->params[i], known);
        }
        ret_picked[i] = n;
    }
    *ret_count = count;
    return LULL_OK;
}

/* ==== CSV ===================================================================================== */

/* CSV: a line of names, then a line of numbers for each measurement. Cells are separated by commas,
 * semicolons or tabs, whichever the first line has; columns called region and metric hold names. */

enum { MOST_COLUMNS = 256 };

struct csv {
    struct fit_lines lines;
    char separator;
    const char *names[MOST_COLUMNS];
    size_t n_columns;
    size_t x[LULL_FIT_PARAMETERS], n_params; /* columns */
    size_t y, region, metric;                /* columns; n_columns: there is none */
    struct lull_fit_table *table;
};

static char separator_of(const char *line, size_t length)
{
    static const char separators[] = {',', ';', '\t'};
    for (size_t i = 0; i < sizeof separators; i++)
        if (memchr(line, separators[i], length))
            return separators[i];
    return 0;
}

/* The first line that is no comment. "#Paraver" begins a trace. */
static bool recognise_csv(const char *head, size_t size)
{
    if (size >= 8 && memcmp(head, "#Paraver", 8) == 0)
        return false;
    while (size > 0) {
        const char *stop = memchr(head, '\n', size);
        size_t length = stop ? (size_t)(stop - head) : size;
        if (*head != '#' && length > 0 && *head != '\r')
            return *head != '{' && separator_of(head, length) != 0;
        head += length + (stop != NULL);
        size -= length + (stop != NULL);
    }
    return false;
}

/* Cuts the line into cells; a cell in quotes may hold separators, and quotes twice. Returns their
 * number, at most MOST_COLUMNS + 1. */
static size_t split(char *line, char separator, char **ret_cells)
{
    size_t count = 0;
    for (char *at = line; at && count <= MOST_COLUMNS;) {
        char *next = NULL;
        while (*at == ' ')
            at++;
        if (*at == '"') {
            char *to = ++at, *from = at;
            for (; *from && !(*from == '"' && from[1] != '"'); from++) {
                from += *from == '"';
                *to++ = *from;
            }
            next = strchr(from, separator);
            *to = '\0';
        } else {
            next = strchr(at, separator);
        }
        if (next)
            *next++ = '\0';
        ret_cells[count++] = trim(at);
        at = next;
    }
    return count;
}

static size_t find_column(const struct csv *csv, const char *name)
{
    size_t column = 0;
    while (column < csv->n_columns && strcmp(csv->names[column], name) != 0)
        column++;
    return column;
}

/* Which columns hold what: the last is y unless one is named; the rest are parameters. */
static lull_status assign_columns(struct csv *csv, const struct lull_fit_read_options *options)
{
    const char *rest[MOST_COLUMNS], *params[LULL_FIT_PARAMETERS];
    size_t columns[MOST_COLUMNS], n = 0, picked[LULL_FIT_PARAMETERS];
    csv->region = find_column(csv, "region");
    csv->metric = find_column(csv, "metric");
    csv->y = options->y ? find_column(csv, options->y) : csv->n_columns - 1;
    if (csv->y == csv->n_columns)
        return fit_wrong(&csv->lines, "has no column '%s'", options->y);
    for (size_t c = 0; c < csv->n_columns; c++)
        if (c != csv->y && c != csv->region && c != csv->metric) {
            rest[n] = csv->names[c];
            columns[n++] = c;
        }
    lull_status status = fit_pick(&csv->lines, options, rest, n, picked, &csv->n_params);
    for (size_t i = 0; status == LULL_OK && i < csv->n_params; i++) {
        csv->x[i] = columns[picked[i]];
        params[i] = csv->names[csv->x[i]];
    }
    return status == LULL_OK ? lull_fit_table_create(csv->lines.arena, params, csv->n_params,
                                                     &csv->table, csv->lines.err)
                             : status;
}

static lull_status read_csv_head(struct csv *csv, const struct lull_fit_read_options *options)
{
    char *cells[MOST_COLUMNS + 1], *line = fit_next_line(&csv->lines, true);
    if (!line)
        return lull_fail(csv->lines.err, LULL_ERR_FORMAT, "%s: is empty", csv->lines.path);
    csv->separator = separator_of(line, strlen(line));
    csv->n_columns = split(line, csv->separator, cells);
    if (csv->n_columns < 2 || csv->n_columns > MOST_COLUMNS)
        return fit_wrong(&csv->lines, "expected 2 to %d columns", MOST_COLUMNS);
    for (size_t c = 0; c < csv->n_columns; c++) {
        double number;
        if (fit_number(cells[c], &number) || !*cells[c])
            return fit_wrong(&csv->lines, ", column %zu: '%s', expected the name of the column",
                             c + 1, fit_excerpt(cells[c], csv->lines.arena));
        csv->names[c] = cells[c];
    }
    return assign_columns(csv, options);
}

static lull_status read_cell(const struct csv *csv, char *const *cells, size_t column,
                             double *ret_value)
{
    if (!fit_number(cells[column], ret_value))
        return fit_wrong(&csv->lines, ", column %zu (%s): '%s', expected a number", column + 1,
                         csv->names[column], fit_excerpt(cells[column], csv->lines.arena));
    return LULL_OK;
}

static lull_status read_row(struct csv *csv, char *line)
{
    char *cells[MOST_COLUMNS + 1];
    double x[LULL_FIT_PARAMETERS] = {0}, y = 0;
    struct lull_error why;
    size_t count = split(line, csv->separator, cells);
    if (count != csv->n_columns)
        return fit_wrong(&csv->lines, "%zu cell%s, expected %zu", count, count == 1 ? "" : "s",
                         csv->n_columns);
    lull_status status = read_cell(csv, cells, csv->y, &y);
    for (size_t i = 0; status == LULL_OK && i < csv->n_params; i++)
        status = read_cell(csv, cells, csv->x[i], &x[i]);
    if (status != LULL_OK)
        return status;
    struct lull_fit_series *series = lull_fit_table_series(
        csv->table, csv->region < csv->n_columns ? cells[csv->region] : "",
        csv->metric < csv->n_columns ? cells[csv->metric] : csv->names[csv->y]);
    if (lull_fit_table_add(csv->table, series, x, y, &why) == LULL_OK)
        return LULL_OK;
    size_t column = csv->y; /* or the parameter that is wrong */
    for (size_t i = 0; i < csv->n_params; i++)
        column = x[i] > 0 && x[i] < 1e308 ? column : csv->x[i];
    return fit_wrong(&csv->lines, ", column %zu: %s", column + 1, why.text);
}

static lull_status read_csv(const char *text, size_t size, const char *path,
                            const struct lull_fit_read_options *options, struct lull_arena *arena,
                            struct lull_fit_table **ret_table, struct lull_error *err)
{
    struct csv *csv = lull_arena_zero(arena, 1, sizeof *csv);
    csv->lines = (struct fit_lines){
        .rest = text, .end = text + size, .path = path, .err = err, .arena = arena};
    lull_status status = read_csv_head(csv, options);
    for (char *line; status == LULL_OK && (line = fit_next_line(&csv->lines, true));)
        status = read_row(csv, line);
    if (status == LULL_OK)
        *ret_table = csv->table;
    return status;
}

static const struct lull_fit_format fit_csv = {"CSV", true, recognise_csv, read_csv};
