/* CSV: a line of names, then a line of numbers for each measurement. Cells are separated by commas,
 * semicolons or tabs, whichever the first line has; columns called region and metric hold names. */
#include "model/fit/lines.h"

#include <ctype.h>
#include <string.h>

enum { MOST_COLUMNS = 256 };

struct csv {
    struct lull_fit_lines lines;
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

static char *trim(char *cell)
{
    while (isspace((unsigned char)*cell))
        cell++;
    size_t length = strlen(cell);
    while (length && isspace((unsigned char)cell[length - 1]))
        cell[--length] = '\0';
    return cell;
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
        return lull_fit_wrong(&csv->lines, "has no column '%s'", options->y);
    for (size_t c = 0; c < csv->n_columns; c++)
        if (c != csv->y && c != csv->region && c != csv->metric) {
            rest[n] = csv->names[c];
            columns[n++] = c;
        }
    lull_status status = lull_fit_pick(&csv->lines, options, rest, n, picked, &csv->n_params);
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
    char *cells[MOST_COLUMNS + 1], *line = lull_fit_next_line(&csv->lines, true);
    if (!line)
        return lull_fail(csv->lines.err, LULL_ERR_FORMAT, "%s: is empty", csv->lines.path);
    csv->separator = separator_of(line, strlen(line));
    csv->n_columns = split(line, csv->separator, cells);
    if (csv->n_columns < 2 || csv->n_columns > MOST_COLUMNS)
        return lull_fit_wrong(&csv->lines, "expected 2 to %d columns", MOST_COLUMNS);
    for (size_t c = 0; c < csv->n_columns; c++) {
        double number;
        if (lull_fit_number(cells[c], &number) || !*cells[c])
            return lull_fit_wrong(&csv->lines,
                                  ", column %zu: '%s', expected the name of the column", c + 1,
                                  lull_fit_excerpt(cells[c], csv->lines.arena));
        csv->names[c] = cells[c];
    }
    return assign_columns(csv, options);
}

static lull_status read_cell(const struct csv *csv, char *const *cells, size_t column,
                             double *ret_value)
{
    if (!lull_fit_number(cells[column], ret_value))
        return lull_fit_wrong(&csv->lines, ", column %zu (%s): '%s', expected a number", column + 1,
                              csv->names[column],
                              lull_fit_excerpt(cells[column], csv->lines.arena));
    return LULL_OK;
}

static lull_status read_row(struct csv *csv, char *line)
{
    char *cells[MOST_COLUMNS + 1];
    double x[LULL_FIT_PARAMETERS] = {0}, y = 0;
    struct lull_error why;
    size_t count = split(line, csv->separator, cells);
    if (count != csv->n_columns)
        return lull_fit_wrong(&csv->lines, "%zu cell%s, expected %zu", count, count == 1 ? "" : "s",
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
    return lull_fit_wrong(&csv->lines, ", column %zu: %s", column + 1, why.text);
}

static lull_status read_csv(const char *text, size_t size, const char *path,
                            const struct lull_fit_read_options *options, struct lull_arena *arena,
                            struct lull_fit_table **ret_table, struct lull_error *err)
{
    struct csv *csv = lull_arena_zero(arena, 1, sizeof *csv);
    csv->lines = (struct lull_fit_lines){
        .rest = text, .end = text + size, .path = path, .err = err, .arena = arena};
    lull_status status = read_csv_head(csv, options);
    for (char *line; status == LULL_OK && (line = lull_fit_next_line(&csv->lines, true));)
        status = read_row(csv, line);
    if (status == LULL_OK)
        *ret_table = csv->table;
    return status;
}

const struct lull_fit_format lull_fit_csv = {"CSV", true, recognise_csv, read_csv};
