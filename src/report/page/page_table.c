#include "report/page/page_table.h"

#include "report/cell_text.h"
#include "report/page/html.h"

#include <inttypes.h>
#include <string.h>

bool lull_page_is_tree(const struct lull_table *table)
{
    bool below = false, coloured = false;
    for (size_t row = 0; row < table->n_rows; row++) {
        below |= table->rows[row].parent != LULL_NO_ROW;
        for (size_t column = 0; column < table->rows[row].n_cells; column++)
            coloured |= table->rows[row].cells[column].kind == LULL_CELL_EFFICIENCY;
    }
    return below && coloured;
}

/* Each reason has one number per table. */
struct reasons {
    const char **list;
    size_t count, capacity;
};

static size_t number_of_reason(struct reasons *reasons, struct lull_arena *arena, const char *why)
{
    for (size_t i = 0; i < reasons->count; i++)
        if (strcmp(reasons->list[i], why) == 0)
            return i + 1;
    reasons->list = lull_arena_grow(arena, reasons->list, &reasons->capacity, reasons->count + 1,
                                    sizeof *reasons->list);
    reasons->list[reasons->count++] = why;
    return reasons->count;
}

/* Lines of a heading. */
static void put_html_heading(FILE *out, const struct lull_table *table, const char *heading)
{
    for (bool first = true; *heading; first = false) {
        size_t length = strcspn(heading, "\n");
        fputs(first ? "" : "<br>", out);
        lull_html_name(out, table->arena, lull_arena_strndup(table->arena, heading, length));
        heading += length + (heading[length] == '\n');
    }
}

static void put_table_head(FILE *out, const struct lull_table *table)
{
    fputs("<thead><tr><th scope=\"col\">", out);
    put_html_heading(out, table, *table->corner ? table->corner : "Name");
    fputs("</th>", out);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputs("<th scope=\"col\">", out);
        put_html_heading(out, table, table->columns[i].heading);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n", out);
}

/* What a script sorts by. */
static void put_value(FILE *out, struct lull_cell cell)
{
    switch (cell.kind) {
    case LULL_CELL_COUNT:
    case LULL_CELL_BYTES:
        fprintf(out, " data-value=\"%" PRIu64 "\"", cell.count);
        break;
    case LULL_CELL_TIME:
        fprintf(out, " data-value=\"%" PRId64 "\"", cell.ns);
        break;
    case LULL_CELL_NUMBER:
    case LULL_CELL_QUANTITY:
    case LULL_CELL_SHARE:
    case LULL_CELL_EFFICIENCY:
        fprintf(out, " data-value=\"%.9g\"", cell.number);
        break;
    case LULL_CELL_EMPTY:
    case LULL_CELL_TEXT:
    case LULL_CELL_ABSENT:
        break;
    }
}

static void put_html_cell(FILE *out, const struct lull_table *table, struct lull_cell cell,
                          struct reasons *reasons, const struct lull_render_options *options,
                          const struct lull_time_unit *unit)
{
    static const char *const bands[LULL_BANDS] = {"good", "look", "poor"};
    if (cell.kind == LULL_CELL_EFFICIENCY)
        fprintf(out, "<td class=\"%s\"", bands[lull_efficiency_band(cell.number)]);
    else
        fputs(cell.kind == LULL_CELL_TEXT && table->axis == LULL_BY_COLUMN ? "<td class=\"words\""
                                                                           : "<td",
              out);
    put_value(out, cell);
    fputc('>', out);
    if (cell.kind == LULL_CELL_ABSENT)
        fprintf(out, "[%zu]", number_of_reason(reasons, table->arena, cell.text));
    else
        lull_html_name(out, table->arena, lull_cell_format(table->arena, cell, options, unit));
    fputs("</td>", out);
}

static unsigned depth_of_table_row(const struct lull_table *table, size_t row)
{
    unsigned depth = 0;
    for (size_t up = table->rows[row].parent; up != LULL_NO_ROW; up = table->rows[up].parent)
        depth++;
    return depth;
}

static void put_html_row(FILE *out, const struct lull_table *table, size_t number,
                         struct reasons *reasons, const struct lull_render_options *options,
                         const struct lull_time_unit *const *units)
{
    enum { MOST_DEPTH = 9 };
    const struct lull_row *row = &table->rows[number];
    unsigned depth = depth_of_table_row(table, number);
    fprintf(out, "<tr%s><th scope=\"row\" class=\"depth%u\">", row->rule ? " class=\"rule\"" : "",
            depth < MOST_DEPTH ? depth : MOST_DEPTH);
    lull_html_name(out, table->arena, row->label);
    if (*row->unit) {
        fputs(" (", out);
        lull_html_name(out, table->arena, row->unit);
        fputc(')', out);
    }
    if (*row->about) {
        fputs("<small>", out);
        lull_html_name(out, table->arena, row->about);
        fputs("</small>", out);
    }
    fputs("</th>", out);
    const struct lull_time_unit *of_row =
        table->axis == LULL_BY_ROW ? lull_table_time_unit(table, number, 0) : NULL;
    for (size_t column = 0; column < table->n_columns; column++)
        put_html_cell(out, table, lull_table_get(table, number, column), reasons, options,
                      of_row ? of_row : units[column]);
    fputs("</tr>\n", out);
}

static void put_rest(FILE *out, const struct lull_table *table, const struct reasons *reasons)
{
    if (table->n_rows > LULL_PAGE_ROWS)
        fprintf(out,
                "<p>%zu more rows are not on this page; <code>--format json</code> has all.</p>\n",
                table->n_rows - LULL_PAGE_ROWS);
    if (!reasons->count)
        return;
    fputs("<ul class=\"reasons\">\n", out);
    for (size_t i = 0; i < reasons->count; i++) {
        fprintf(out, "<li>[%zu] ", i + 1);
        lull_html_name(out, table->arena, reasons->list[i]);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

void lull_page_table(FILE *out, const struct lull_table *table, const char *id,
                     const struct lull_render_options *options)
{
    struct reasons reasons = {0};
    const struct lull_time_unit **units =
        lull_arena_zero(table->arena, table->n_columns + 1, sizeof *units);
    for (size_t column = 0; table->axis == LULL_BY_COLUMN && column < table->n_columns; column++)
        units[column] = lull_table_time_unit(table, 0, column);
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"%s-title\">",
            id);
    fprintf(out, "<table class=\"%s\">\n<caption id=\"%s-title\">",
            lull_page_is_tree(table) ? "tree" : "plain", id);
    lull_html_name(out, table->arena, *table->title ? table->title : table->id);
    fputs("</caption>\n", out);
    put_table_head(out, table);
    fputs("<tbody>\n", out);
    for (size_t row = 0; row < table->n_rows && row < LULL_PAGE_ROWS; row++)
        put_html_row(out, table, row, &reasons, options, units);
    fputs("</tbody></table></div>\n", out);
    put_rest(out, table, &reasons);
}
