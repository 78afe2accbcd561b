/* Extra-P's text files: PARAMETER, POINTS, REGION, METRIC and DATA, one DATA line per point. */
#include "model/fit/lines.h"

#include <ctype.h>
#include <string.h>

enum { MOST_TEXT_PARAMETERS = 16 };

struct extrap {
    struct lull_fit_lines lines;
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

static lull_status read_parameter_names(struct extrap *extrap, char *rest)
{
    if (extrap->n_values)
        return lull_fit_wrong(&extrap->lines, "PARAMETER after POINTS");
    for (char *word; (word = next_word(&rest));) {
        if (extrap->n_names == MOST_TEXT_PARAMETERS)
            return lull_fit_wrong(&extrap->lines, "more than %d parameters", MOST_TEXT_PARAMETERS);
        extrap->names[extrap->n_names++] = word;
    }
    return LULL_OK;
}

/* Numbers, whatever brackets are around them. */
static lull_status read_points(struct extrap *extrap, char *rest)
{
    if (!extrap->n_names)
        return lull_fit_wrong(&extrap->lines, "POINTS before PARAMETER");
    if (extrap->region || extrap->next)
        return lull_fit_wrong(&extrap->lines, "POINTS after measurements");
    for (char *c = rest; *c; c++)
        *c = *c == '(' || *c == ')' ? ' ' : *c;
    for (char *word; (word = next_word(&rest));) {
        double value;
        if (!lull_fit_number(word, &value))
            return lull_fit_wrong(&extrap->lines, "'%s', expected a coordinate",
                                  lull_fit_excerpt(word, extrap->lines.arena));
        extrap->points =
            lull_arena_grow(extrap->lines.arena, extrap->points, &extrap->values_capacity,
                            extrap->n_values + 1, sizeof *extrap->points);
        extrap->points[extrap->n_values++] = value;
    }
    if (extrap->n_values % extrap->n_names)
        return lull_fit_wrong(&extrap->lines,
                              "%zu coordinates, expected a multiple of the %zu parameters",
                              extrap->n_values, extrap->n_names);
    return LULL_OK;
}

/* Before another region or metric: each point has had its DATA. */
static lull_status end_block(struct extrap *extrap)
{
    size_t count = extrap->n_names ? extrap->n_values / extrap->n_names : 0;
    if (extrap->next != 0 && extrap->next != count)
        return lull_fit_wrong(&extrap->lines,
                              "%zu lines of DATA before it, expected %zu, one for each point",
                              extrap->next, count);
    extrap->next = 0;
    return LULL_OK;
}

static lull_status read_region(struct extrap *extrap, char *rest)
{
    extrap->region = rest + strspn(rest, " \t");
    return end_block(extrap);
}

static lull_status read_metric(struct extrap *extrap, char *rest)
{
    extrap->metric = rest + strspn(rest, " \t");
    return end_block(extrap);
}

static lull_status read_data(struct extrap *extrap, char *rest)
{
    struct lull_fit_lines *lines = &extrap->lines;
    double x[LULL_FIT_PARAMETERS];
    struct lull_error why;
    if (!extrap->n_values)
        return lull_fit_wrong(lines, "DATA before POINTS");
    if (extrap->next == extrap->n_values / extrap->n_names)
        return lull_fit_wrong(lines, "more DATA than the %zu points", extrap->next);
    if (!extrap->table) {
        const char *params[LULL_FIT_PARAMETERS];
        lull_status status = lull_fit_pick(lines, extrap->options, extrap->names, extrap->n_names,
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
        if (!lull_fit_number(word, &value))
            return lull_fit_wrong(lines, "'%s', expected a number",
                                  lull_fit_excerpt(word, lines->arena));
        if (lull_fit_table_add(extrap->table, series, x, value, &why) != LULL_OK)
            return lull_fit_wrong(lines, "%s", why.text);
    }
    return count ? LULL_OK : lull_fit_wrong(lines, "DATA without a number");
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
    for (char *line; status == LULL_OK && (line = lull_fit_next_line(&extrap.lines, true));) {
        char *word = next_word(&line);
        size_t s = 0;
        while (s < SECTIONS && strcmp(word, sections[s].word) != 0)
            s++;
        status = s < SECTIONS
                     ? sections[s].read(&extrap, line)
                     : lull_fit_wrong(&extrap.lines,
                                      "'%s', expected PARAMETER, POINTS, REGION, METRIC or DATA",
                                      lull_fit_excerpt(word, arena));
    }
    if (status == LULL_OK)
        status = end_block(&extrap);
    if (status == LULL_OK && !extrap.table)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: has no DATA", path);
    if (status == LULL_OK)
        *ret_table = extrap.table;
    return status;
}

const struct lull_fit_format lull_fit_extrap_text = {"Extra-P text", false, recognise_extrap_text,
                                                     read_extrap_text};
