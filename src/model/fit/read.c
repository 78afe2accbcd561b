#include "model/fit/read.h"

#include "base/file.h"
#include "model/fit/lines.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lull_fit_format *const formats[] = {&lull_fit_extrap_lines,
                                                        &lull_fit_extrap_text, &lull_fit_csv};

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

/* ---- lines ---------------------------------------------------------------------------------- */

char *lull_fit_next_line(struct lull_fit_lines *lines, bool comments)
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

lull_status lull_fit_wrong(const struct lull_fit_lines *lines, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lull_fail(lines->err, LULL_ERR_FORMAT, "%s: line %zu%s%s", lines->path, lines->number,
                     strncmp(text, ", ", 2) == 0 ? "" : ": ", text);
}

bool lull_fit_number(const char *text, double *ret_value)
{
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false; /* no hexadecimal, no inf */
    *ret_value = strtod(text, &end);
    return *end == '\0' && end != text;
}

const char *lull_fit_excerpt(const char *text, struct lull_arena *arena)
{
    enum { MOST_EXCERPT = 40 };
    return strlen(text) <= MOST_EXCERPT ? text
                                        : lull_arena_printf(arena, "%.*s...", MOST_EXCERPT, text);
}

lull_status lull_fit_pick(const struct lull_fit_lines *lines,
                          const struct lull_fit_read_options *options, const char *const *names,
                          size_t n_names, size_t ret_picked[LULL_FIT_PARAMETERS], size_t *ret_count)
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
