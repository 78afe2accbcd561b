#include "report/render/text_table.h"

#include "report/cell_text.h"
#include "report/display.h"

#include <string.h>

#define GAP            2  /* between columns */
#define MIN_LABEL      16 /* labels are not shortened below this */
#define ORDINARY_LABEL 40
#define MIN_COLUMN     8  /* nor columns below this */
#define MAX_HEADING    32 /* headings are shortened to this */

static const char *const band_escapes[LULL_BANDS] = {"\033[32m", "\033[33m", "\033[1;31m"};
#define ESCAPE_END "\033[0m"

/* A cell, ready to print. */
struct piece {
    const char *text;
    size_t width;
    const char *escape; /* "" for none */
};

struct layout {
    struct lull_arena *arena;
    const struct lull_table *table;
    const struct lull_render_options *options;
    struct piece *labels; /* [n_rows] */
    struct piece *pieces; /* [n_rows * n_columns] */
    size_t *widths;       /* [n_columns] */
    bool *left;           /* [n_columns]: texts, aligned to the left */
    size_t heading_lines, label_width;
    const char **reasons;
    size_t n_reasons, reasons_capacity;
};

/* Each reason gets one number per table. */
static const char *reason_marker(struct layout *layout, const char *why)
{
    size_t i = 0;
    while (i < layout->n_reasons && strcmp(layout->reasons[i], why) != 0)
        i++;
    if (i == layout->n_reasons) {
        layout->reasons = lull_arena_grow(layout->arena, layout->reasons, &layout->reasons_capacity,
                                          layout->n_reasons + 1, sizeof(*layout->reasons));
        layout->reasons[layout->n_reasons++] = why;
    }
    return lull_arena_printf(layout->arena, "[%zu]", i + 1);
}

static void lay_cell(struct layout *layout, size_t row, size_t column,
                     const struct lull_time_unit *unit)
{
    struct lull_cell cell = lull_table_get(layout->table, row, column);
    struct piece *piece = &layout->pieces[row * layout->table->n_columns + column];
    piece->text = cell.kind == LULL_CELL_ABSENT
                      ? reason_marker(layout, cell.text)
                      : lull_cell_format(layout->arena, cell, layout->options, unit);
    piece->width = lull_display_width(piece->text);
    piece->escape = layout->options->colour && cell.kind == LULL_CELL_EFFICIENCY
                        ? band_escapes[lull_efficiency_band(cell.number)]
                        : "";
    if (piece->width > layout->widths[column])
        layout->widths[column] = piece->width;
    if (cell.kind != LULL_CELL_TEXT && cell.kind != LULL_CELL_EMPTY)
        layout->left[column] = false;
}

static void lay_cells(struct layout *layout)
{
    const struct lull_table *table = layout->table;
    const struct lull_time_unit **units =
        lull_arena_zero(layout->arena, table->n_columns + 1, sizeof(*units));
    for (size_t column = 0; column < table->n_columns; column++)
        if (table->axis == LULL_BY_COLUMN)
            units[column] = lull_table_time_unit(table, 0, column);
    for (size_t row = 0; row < table->n_rows; row++) {
        const struct lull_time_unit *row_unit =
            table->axis == LULL_BY_ROW ? lull_table_time_unit(table, row, 0) : NULL;
        for (size_t column = 0; column < table->n_columns; column++)
            lay_cell(layout, row, column, row_unit ? row_unit : units[column]);
    }
}

/* Line `index` of a heading, in at most `width` columns; "" beyond its end. The text lives in the
 * arena. */
static const char *heading_line(const struct layout *layout, const char *heading, size_t index,
                                size_t width)
{
    for (; index > 0 && *heading; index--) {
        heading += strcspn(heading, "\n");
        heading += *heading == '\n';
    }
    const char *line = lull_arena_strndup(layout->arena, heading, strcspn(heading, "\n"));
    return lull_display_shorten(layout->arena, lull_display_clean(layout->arena, line), width,
                                layout->options->unicode);
}

static size_t count_lines(const char *heading)
{
    size_t lines = *heading != '\0';
    for (const char *c = heading; *c; c++)
        lines += *c == '\n';
    return lines;
}

static void lay_headings(struct layout *layout)
{
    const struct lull_table *table = layout->table;
    layout->heading_lines = count_lines(table->corner);
    for (size_t column = 0; column < table->n_columns; column++) {
        size_t lines = count_lines(table->columns[column].heading);
        layout->heading_lines = lines > layout->heading_lines ? lines : layout->heading_lines;
        for (size_t i = 0; i < lines; i++) {
            size_t width = lull_display_width(
                heading_line(layout, table->columns[column].heading, i, MAX_HEADING));
            if (width > layout->widths[column])
                layout->widths[column] = width;
        }
    }
}

/* No column is wider than what the terminal leaves beside the labels. */
static void fit_cells(struct layout *layout)
{
    const size_t width = layout->options->width, taken = layout->label_width + GAP;
    const size_t room = width > taken + MIN_COLUMN ? width - taken : MIN_COLUMN;
    for (size_t column = 0; width && column < layout->table->n_columns; column++) {
        if (layout->widths[column] <= room)
            continue;
        layout->widths[column] = room;
        for (size_t row = 0; row < layout->table->n_rows; row++) {
            struct piece *piece = &layout->pieces[row * layout->table->n_columns + column];
            piece->text =
                lull_display_shorten(layout->arena, piece->text, room, layout->options->unicode);
            piece->width = lull_display_width(piece->text);
        }
    }
}

/* Whether a later row has the same parent as `row`. */
static bool has_later_sibling(const struct lull_table *table, size_t row)
{
    for (size_t i = row + 1; i < table->n_rows; i++)
        if (table->rows[i].parent == table->rows[row].parent)
            return true;
    return false;
}

/* Tree lines in front of a row's label. Roots have none. */
static const char *tree_lines(struct layout *layout, size_t row)
{
    static const char *const lines[2][4] = {
        {"|- ", "`- ", "|  ", "   "},
        {"\u251c\u2500 ", "\u2514\u2500 ", "\u2502  ", "   "},
    };
    const char *const *set = lines[layout->options->unicode];
    const struct lull_table *table = layout->table;
    if (table->rows[row].parent == LULL_NO_ROW)
        return "";
    const char *prefix = set[has_later_sibling(table, row) ? 0 : 1];
    for (size_t up = table->rows[row].parent; table->rows[up].parent != LULL_NO_ROW;
         up = table->rows[up].parent)
        prefix = lull_arena_printf(layout->arena, "%s%s", set[has_later_sibling(table, up) ? 2 : 3],
                                   prefix);
    return prefix;
}

/* The columns that labels may take: what an ordinary tree needs, or half of a wide terminal. */
static size_t label_limit(size_t width)
{
    size_t ordinary = width * 2 / 3 < ORDINARY_LABEL ? width * 2 / 3 : ORDINARY_LABEL;
    size_t limit = width / 2 > ordinary ? width / 2 : ordinary;
    return limit > MIN_LABEL ? limit : MIN_LABEL;
}

static void lay_labels(struct layout *layout)
{
    const struct lull_table *table = layout->table;
    size_t limit = label_limit(layout->options->width);
    size_t corner = layout->options->width && limit < MAX_HEADING ? limit : MAX_HEADING;
    layout->label_width = 0;
    for (size_t i = 0; i < layout->heading_lines; i++) {
        size_t width = lull_display_width(heading_line(layout, table->corner, i, corner));
        layout->label_width = width > layout->label_width ? width : layout->label_width;
    }
    for (size_t row = 0; row < table->n_rows; row++) {
        const char *lines = tree_lines(layout, row);
        const char *label = lull_display_clean(layout->arena, table->rows[row].label);
        if (*table->rows[row].unit)
            label = lull_arena_printf(layout->arena, "%s (%s)", label,
                                      lull_display_clean(layout->arena, table->rows[row].unit));
        size_t taken = lull_display_width(lines);
        if (layout->options->width)
            label =
                lull_display_shorten(layout->arena, label, limit > taken + 4 ? limit - taken : 4,
                                     layout->options->unicode);
        struct piece *piece = &layout->labels[row];
        piece->text = lull_arena_printf(layout->arena, "%s%s", lines, label);
        piece->width = lull_display_width(piece->text);
        if (piece->width > layout->label_width)
            layout->label_width = piece->width;
    }
}

static void put_padding(FILE *out, size_t columns)
{
    for (; columns > 0; columns--)
        fputc(' ', out);
}

/* Pads on the right only where something follows, so that lines have no trailing blanks. */
static void put_padded_piece(FILE *out, const struct piece *piece, size_t width, bool left,
                             bool last)
{
    size_t padding = width - piece->width;
    if (!left)
        put_padding(out, padding);
    fputs(piece->escape, out);
    fputs(piece->text, out);
    if (*piece->escape)
        fputs(ESCAPE_END, out);
    if (left && !last)
        put_padding(out, padding);
}

static void put_rule(const struct layout *layout, FILE *out, size_t width)
{
    for (size_t i = 0; i < width; i++)
        fputs(layout->options->unicode ? "\u2500" : "-", out);
    fputc('\n', out);
}

/* Cells [begin, end) of a line; those at the end that are empty are left out. */
static void put_cell_line(const struct layout *layout, FILE *out, const struct piece *label,
                          const struct piece *pieces, size_t begin, size_t end)
{
    while (end > begin && pieces[end - 1].width == 0)
        end--;
    put_padded_piece(out, label, layout->label_width, true, begin == end);
    for (size_t column = begin; column < end; column++) {
        put_padding(out, GAP);
        put_padded_piece(out, &pieces[column], layout->widths[column], layout->left[column],
                         column + 1 == end);
    }
    fputc('\n', out);
}

static void put_heading_lines(const struct layout *layout, FILE *out, size_t begin, size_t end)
{
    const struct lull_table *table = layout->table;
    struct piece *pieces = lull_arena_zero(layout->arena, table->n_columns + 1, sizeof(*pieces));
    for (size_t i = 0; i < layout->heading_lines; i++) {
        const char *corner = heading_line(layout, table->corner, i, layout->label_width);
        struct piece label = {corner, lull_display_width(corner), ""};
        for (size_t column = begin; column < end; column++) {
            const char *text =
                heading_line(layout, table->columns[column].heading, i, layout->widths[column]);
            pieces[column] = (struct piece){text, lull_display_width(text), ""};
        }
        put_cell_line(layout, out, &label, pieces, begin, end);
    }
}

/* The columns [begin, result) fit beside the labels, at least one. */
static size_t part_end(const struct layout *layout, size_t begin, size_t *ret_width)
{
    size_t width = layout->label_width;
    size_t end = begin;
    while (end < layout->table->n_columns) {
        size_t more = GAP + layout->widths[end];
        if (layout->options->width && end > begin && width + more > layout->options->width)
            break;
        width += more;
        end++;
    }
    *ret_width = width;
    return end;
}

static void put_column_range(const struct layout *layout, FILE *out, size_t begin, size_t end,
                             size_t width)
{
    const struct lull_table *table = layout->table;
    put_heading_lines(layout, out, begin, end);
    if (layout->heading_lines)
        put_rule(layout, out, width);
    for (size_t row = 0; row < table->n_rows; row++) {
        if (table->rows[row].rule)
            put_rule(layout, out, width);
        put_cell_line(layout, out, &layout->labels[row], &layout->pieces[row * table->n_columns],
                      begin, end);
    }
}

static void put_reasons(const struct layout *layout, FILE *out)
{
    for (size_t i = 0; i < layout->n_reasons; i++) {
        lull_display_wrap(out,
                          lull_arena_printf(layout->arena, "[%zu] %s", i + 1,
                                            lull_display_clean(layout->arena, layout->reasons[i])),
                          layout->options->width ? layout->options->width : SIZE_MAX, 4);
        fputc('\n', out);
    }
}

void lull_text_title(FILE *out, const char *title, const struct lull_render_options *options)
{
    fputs(options->colour ? "\033[1m" : "", out);
    lull_display_wrap(out, title, options->width ? options->width : SIZE_MAX, 2);
    fputs(options->colour ? ESCAPE_END "\n" : "\n", out);
}

void lull_text_table(FILE *out, const struct lull_table *table,
                     const struct lull_render_options *options)
{
    struct lull_arena *arena = table->arena;
    struct layout layout = {
        .arena = arena,
        .table = table,
        .options = options,
        .labels = lull_arena_zero(arena, table->n_rows + 1, sizeof(*layout.labels)),
        .pieces =
            lull_arena_zero(arena, table->n_rows * table->n_columns + 1, sizeof(*layout.pieces)),
        .widths = lull_arena_zero(arena, table->n_columns + 1, sizeof(*layout.widths)),
        .left = lull_arena_zero(arena, table->n_columns + 1, sizeof(*layout.left)),
    };
    for (size_t i = 0; i < table->n_columns; i++)
        layout.left[i] = true;
    for (size_t i = 0; i < table->n_rows; i++)
        layout.labels[i].escape = "";
    lay_headings(&layout);
    lay_labels(&layout);
    lay_cells(&layout);
    fit_cells(&layout);
    if (*table->title)
        lull_text_title(out, lull_display_clean(arena, table->title), options);
    size_t begin = 0;
    do {
        if (begin > 0)
            fputc('\n', out);
        size_t width;
        size_t end = part_end(&layout, begin, &width);
        put_column_range(&layout, out, begin, end, width);
        begin = end;
    } while (begin < table->n_columns);
    put_reasons(&layout, out);
}

void lull_text_legend(FILE *out)
{
    fputs("Colours: ", out);
    for (size_t i = 0; i < LULL_BANDS; i++)
        fprintf(out, "%s%s%s%s", band_escapes[i], lull_band_meanings[i], ESCAPE_END,
                i + 1 < LULL_BANDS ? ", " : "\n");
}
