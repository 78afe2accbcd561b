/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents for people: facts, tables with aligned columns, findings, timelines, notes. */
#include "base/text.h"
#include "report/cell_text.h"
#include "report/display.h"
#include "report/model.h"

#include <stdio.h>
#include <string.h>

/* ==== tables ================================================================================== */

#define GAP            2  /* between columns */
#define MIN_LABEL      16 /* labels are not shortened below this */
#define ORDINARY_LABEL 40
#define MIN_COLUMN     8  /* nor columns below this */
#define MAX_HEADING    32 /* headings are shortened to this */
#define MAX_LABEL      80 /* labels, and texts of tables with many columns, where there is no terminal */
#define FEW_COLUMNS    2

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
    const size_t most = layout->table->n_columns > FEW_COLUMNS ? MAX_LABEL : SIZE_MAX;
    const size_t room = !width ? most : width > taken + MIN_COLUMN ? width - taken : MIN_COLUMN;
    for (size_t column = 0; column < layout->table->n_columns; column++) {
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
    size_t limit = layout->options->width ? label_limit(layout->options->width) : MAX_LABEL;
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
        label = lull_display_shorten(layout->arena, label, limit > taken + 4 ? limit - taken : 4,
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

/* A part of a table: columns that fit beside the labels. */
struct part {
    size_t *columns; /* [n]: their indices */
    size_t n, width;
};

/* The cells of a line that are in a part; those at the end that are empty are left out. */
static void put_cell_line(const struct layout *layout, FILE *out, const struct piece *label,
                          const struct piece *pieces, const struct part *part)
{
    size_t n = part->n;
    while (n > 0 && pieces[part->columns[n - 1]].width == 0)
        n--;
    put_padded_piece(out, label, layout->label_width, true, n == 0);
    for (size_t i = 0; i < n; i++) {
        const size_t column = part->columns[i];
        put_padding(out, GAP);
        put_padded_piece(out, &pieces[column], layout->widths[column], layout->left[column],
                         i + 1 == n);
    }
    fputc('\n', out);
}

static void put_heading_lines(const struct layout *layout, FILE *out, const struct part *part)
{
    const struct lull_table *table = layout->table;
    struct piece *pieces = lull_arena_zero(layout->arena, table->n_columns + 1, sizeof(*pieces));
    for (size_t i = 0; i < layout->heading_lines; i++) {
        const char *corner = heading_line(layout, table->corner, i, layout->label_width);
        struct piece label = {corner, lull_display_width(corner), ""};
        for (size_t j = 0; j < part->n; j++) {
            const size_t column = part->columns[j];
            const char *text =
                heading_line(layout, table->columns[column].heading, i, layout->widths[column]);
            pieces[column] = (struct piece){text, lull_display_width(text), ""};
        }
        put_cell_line(layout, out, &label, pieces, part);
    }
}

static void add_to_part(const struct layout *layout, struct part *part, size_t column)
{
    part->columns[part->n++] = column;
    part->width += GAP + layout->widths[column];
}

/* Takes the columns [begin, result), as many as fit beside what names the rows, at least one. */
static size_t fill_part(const struct layout *layout, size_t begin, struct part *part)
{
    const struct lull_table *table = layout->table;
    part->n = 0;
    part->width = layout->label_width;
    for (size_t column = 0; column < table->n_names && column < begin; column++)
        add_to_part(layout, part, column);
    size_t end = begin;
    while (end < table->n_columns) {
        const size_t width = part->width + GAP + layout->widths[end];
        if (layout->options->width && end > begin && width > layout->options->width)
            break;
        add_to_part(layout, part, end++);
    }
    return end;
}

static void put_part(const struct layout *layout, FILE *out, const struct part *part)
{
    const struct lull_table *table = layout->table;
    put_heading_lines(layout, out, part);
    if (layout->heading_lines)
        put_rule(layout, out, part->width);
    for (size_t row = 0; row < table->n_rows; row++) {
        if (table->rows[row].rule)
            put_rule(layout, out, part->width);
        put_cell_line(layout, out, &layout->labels[row], &layout->pieces[row * table->n_columns],
                      part);
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

/* A line in bold letters, or several. */
static void text_title(FILE *out, const char *title, const struct lull_render_options *options)
{
    fputs(options->colour ? "\033[1m" : "", out);
    lull_display_wrap(out, title, options->width ? options->width : SIZE_MAX, 2);
    fputs(options->colour ? ESCAPE_END "\n" : "\n", out);
}

/* A table without its minor rows, if it has any. */
static struct lull_table without_minor_rows(const struct lull_table *table)
{
    struct lull_table rest = *table;
    if (!table->minor)
        return rest;
    rest.rows = lull_arena_zero(table->arena, table->n_rows + 1, sizeof *rest.rows);
    rest.n_rows = 0;
    size_t *moved = lull_arena_zero(table->arena, table->n_rows + 1, sizeof *moved);
    for (size_t i = 0; i < table->n_rows; i++) {
        if (table->rows[i].minor)
            continue;
        struct lull_row *row = &rest.rows[rest.n_rows];
        moved[i] = rest.n_rows++;
        *row = table->rows[i];
        if (row->parent != LULL_NO_ROW)
            row->parent = (uint32_t)moved[row->parent];
    }
    return rest;
}

/* The table, in several parts where it is wider than options->width, and below it the reasons of
 * values that are absent. */
static void text_table(FILE *out, const struct lull_table *whole,
                       const struct lull_render_options *options)
{
    struct lull_arena *arena = whole->arena;
    const struct lull_table rest = without_minor_rows(whole), *table = &rest;
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
        text_title(out, lull_display_clean(arena, table->title), options);
    struct part part = {.columns =
                            lull_arena_zero(arena, table->n_columns + 1, sizeof(*part.columns))};
    size_t begin = 0;
    do {
        if (begin > 0)
            fputc('\n', out);
        begin = fill_part(&layout, begin, &part);
        put_part(&layout, out, &part);
    } while (begin < table->n_columns);
    if (table->n_rows < whole->n_rows)
        fprintf(out, "(%zu more %s, see --format csv or json)\n", whole->n_rows - table->n_rows,
                whole->minor);
    put_reasons(&layout, out);
}

/* What the colours of efficiencies mean. */
static void text_legend(FILE *out)
{
    fputs("Colours: ", out);
    for (size_t i = 0; i < LULL_BANDS; i++)
        fprintf(out, "%s%s%s%s", band_escapes[i], lull_band_meanings[i], ESCAPE_END,
                i + 1 < LULL_BANDS ? ", " : "\n");
}

/* ==== findings ================================================================================ */

enum { INDENT = 3 };

/* Further lines of it are indented. */
static void put_indented_line(FILE *out, const struct lull_document *document, unsigned indent,
                              const char *begin, const char *text, size_t width)
{
    const char *line = lull_arena_printf(document->arena, "%s%s", begin, text);
    fprintf(out, "%*s", (int)indent, "");
    lull_display_wrap(out, lull_display_clean(document->arena, line), width - INDENT, INDENT);
    fputc('\n', out);
}

static bool names_several_runs(const struct lull_document *document)
{
    return document->n_timelines > 1;
}

static void put_finding_text(FILE *out, const struct lull_document *document, uint32_t number,
                             size_t width)
{
    const struct lull_shown_finding *finding = &document->findings[number];
    struct lull_arena *arena = document->arena;
    const char *of =
        names_several_runs(document) ? lull_arena_printf(arena, "%s: ", finding->run) : "";
    put_indented_line(out, document, 0, lull_arena_printf(arena, "%u. %s", number + 1, of),
                      finding->sentence, width);
    if (finding->cause)
        put_indented_line(out, document, INDENT, "", finding->cause, width);
    put_indented_line(out, document, INDENT, "", lull_gain_text(&finding->gain, arena), width);
    if (finding->next)
        put_indented_line(out, document, INDENT, "Next: ", finding->next, width);
}

static void text_findings(FILE *out, const struct lull_document *document, size_t width)
{
    if (!document->findings_none)
        return;
    fputc('\n', out);
    if (document->n_findings == 0)
        put_indented_line(out, document, 0, "", document->findings_none, width);
    else
        fputs("Findings\n", out);
    uint32_t shown = document->n_findings;
    shown = shown > LULL_FINDINGS_IN_TEXT ? LULL_FINDINGS_IN_TEXT : shown;
    for (uint32_t i = 0; i < shown; i++)
        put_finding_text(out, document, i, width);
    if (document->findings_about)
        put_indented_line(out, document, 0, "", document->findings_about, width);
    if (shown < document->n_findings)
        fprintf(out, "%u more %s in the page (-o report.html) and in JSON.\n",
                document->n_findings - shown, document->n_findings - shown == 1 ? "is" : "are");
}

/* ==== timelines =============================================================================== */

/* A timeline in at most 20 lines of one row or several neighbouring ones. A character is a cell:
 * how much of it is useful, and what most of the rest is. Where a row differs from its peers and is
 * in a line with others, it gets one of its own below. */

enum {
    MOST_LINES = 20,
    LEAST_LABEL = 9,
    MOST_LABEL = 24,
    CELL_MARGIN = 7, /* a blank before the cells, the percentage behind them */
    USUAL_WIDTH = 100,
    MOST_LEVEL = 7
};

static const struct paint {
    char letter;          /* without colours */
    unsigned char colour; /* of 256 */
} paints[LULL_PAINTS] = {
    [LULL_PAINT_USEFUL] = {'#', 71},      [LULL_PAINT_MESSAGES] = {'p', 167},
    [LULL_PAINT_COLLECTIVE] = {'c', 173}, [LULL_PAINT_MPI] = {'m', 131},
    [LULL_PAINT_SYNC] = {'b', 68},        [LULL_PAINT_SCHEDULE] = {'s', 74},
    [LULL_PAINT_LOCK] = {'l', 97},        [LULL_PAINT_IDLE] = {'.', 250},
    [LULL_PAINT_DEVICE] = {'d', 36},      [LULL_PAINT_IO] = {'i', 137},
    [LULL_PAINT_TRACER] = {'t', 90},      [LULL_PAINT_NOTHING] = {' ', 236},
};

struct drawing {
    FILE *out;
    struct lull_arena *arena;
    const struct lull_picture_timeline *timeline;
    const struct lull_render_options *options;
    unsigned level;
    size_t width, label; /* columns */
    uint32_t *picked;    /* rows, none below another one */
    uint32_t n_picked, per_line;
    int64_t *ns, *sum;         /* [bins][n_activities]: of a row, of a line */
    bool painted[LULL_PAINTS]; /* what was drawn */
    unsigned colour;           /* behind the last cell; 0: none yet */
};

static uint32_t bins_of(const struct drawing *drawing)
{
    return UINT32_C(1) << drawing->level;
}

/* ---- which rows ------------------------------------------------------------------------------ */

static uint32_t count_children(const struct lull_picture_timeline *timeline, uint32_t row)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < timeline->n_rows; r++)
        count += timeline->rows[r].parent == row;
    return count;
}

/* Rows without a parent; then all of those are unfolded that have children, as long as there is
 * room for all. */
static void pick_rows(struct drawing *drawing)
{
    const struct lull_picture_timeline *timeline = drawing->timeline;
    drawing->picked =
        lull_arena_zero(drawing->arena, timeline->n_rows + (size_t)1, sizeof *drawing->picked);
    for (uint32_t r = 0; r < timeline->n_rows; r++)
        if (timeline->rows[r].parent == LULL_PICTURE_NO_ROW)
            drawing->picked[drawing->n_picked++] = r;
    while (drawing->n_picked <= MOST_LINES) {
        uint32_t n = 0, *next = lull_arena_zero(drawing->arena, timeline->n_rows + (size_t)1,
                                                sizeof *next);
        for (uint32_t i = 0; i < drawing->n_picked && n <= MOST_LINES; i++) {
            uint32_t row = drawing->picked[i], children = count_children(timeline, row);
            if (children == 0)
                next[n++] = row;
            for (uint32_t r = row + 1; children > 0; r++)
                if (timeline->rows[r].parent == row) {
                    next[n++] = r;
                    children--;
                }
        }
        if (n > MOST_LINES || n == drawing->n_picked)
            break;
        drawing->picked = next;
        drawing->n_picked = n;
    }
    drawing->per_line = (drawing->n_picked + MOST_LINES - 1) / MOST_LINES;
}

/* ---- one line -------------------------------------------------------------------------------- */

/* Which activity of a kind other than useful has most of a cell; n_activities: none. */
static uint32_t most_of_rest(const struct drawing *drawing, const int64_t *cell)
{
    const struct lull_picture_timeline *timeline = drawing->timeline;
    uint32_t most = timeline->n_activities;
    for (uint32_t a = 0; a < timeline->n_activities; a++)
        if (timeline->activities[a].paint != LULL_PAINT_USEFUL && cell[a] > 0 &&
            (most == timeline->n_activities || cell[a] > cell[most]))
            most = a;
    return most;
}

static int64_t useful_of(const struct drawing *drawing, const int64_t *cell, int64_t *all)
{
    int64_t useful = 0;
    *all = 0;
    for (uint32_t a = 0; a < drawing->timeline->n_activities; a++) {
        *all += cell[a];
        if (drawing->timeline->activities[a].paint == LULL_PAINT_USEFUL)
            useful += cell[a];
    }
    return useful;
}

/* In colours: as high as the useful share, over the colour of most of the rest. */
static void put_coloured(struct drawing *drawing, unsigned eighths, enum lull_picture_paint rest)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    if (drawing->colour != paints[rest].colour)
        fprintf(drawing->out, "\033[38;5;%u;48;5;%um", paints[LULL_PAINT_USEFUL].colour,
                paints[rest].colour);
    drawing->colour = paints[rest].colour;
    fputs(blocks[eighths], drawing->out);
}

/* Without: a shade where most is useful, else the letter of most of the rest. */
static void put_plain_cell(struct drawing *drawing, double share, enum lull_picture_paint rest)
{
    static const char *const shades[2][3] = {{"+", "*", "#"}, {"\u2592", "\u2593", "\u2588"}};
    const unsigned shade = share >= 0.9 ? 2 : share >= 0.7 ? 1 : 0;
    if (share >= 0.5)
        fputs(shades[drawing->options->unicode][shade], drawing->out);
    else
        fputc(paints[rest].letter, drawing->out);
}

static void put_time_cell(struct drawing *drawing, const int64_t *cell)
{
    int64_t all;
    const int64_t useful = useful_of(drawing, cell, &all);
    const uint32_t most = most_of_rest(drawing, cell);
    enum lull_picture_paint rest = most < drawing->timeline->n_activities
                                       ? drawing->timeline->activities[most].paint
                                       : LULL_PAINT_NOTHING;
    const double share = all > 0 ? (double)useful / (double)all : 0;
    unsigned eighths = (unsigned)(8 * share + 0.5);
    if (useful > 0 && eighths == 0)
        eighths = 1; /* nothing that is there is left out */
    if (useful < all && eighths == 8)
        eighths = 7;
    drawing->painted[rest] |= useful < all;
    drawing->painted[LULL_PAINT_USEFUL] |= useful > 0;
    if (drawing->options->colour && drawing->options->unicode)
        put_coloured(drawing, eighths, rest);
    else
        put_plain_cell(drawing, share, rest);
}

static void put_row_label(struct drawing *drawing, const char *label)
{
    label = lull_display_shorten(drawing->arena, lull_display_clean(drawing->arena, label),
                                 drawing->label, drawing->options->unicode);
    fputs(label, drawing->out);
    for (size_t width = lull_display_width(label); width < drawing->label + 1; width++)
        fputc(' ', drawing->out);
}

static void put_timeline_line(struct drawing *drawing, const char *label, const uint32_t *rows,
                              uint32_t n_rows)
{
    const struct lull_picture_timeline *timeline = drawing->timeline;
    const size_t n = timeline->n_activities, width = n * bins_of(drawing);
    memset(drawing->sum, 0, width * sizeof *drawing->sum);
    for (uint32_t r = 0; r < n_rows; r++) {
        timeline->cells(timeline->data, rows[r], drawing->level, 0, bins_of(drawing), drawing->ns);
        for (size_t i = 0; i < width; i++)
            drawing->sum[i] += drawing->ns[i];
    }
    put_row_label(drawing, label);
    drawing->colour = 0;
    int64_t useful = 0, all = 0, of_cell;
    for (uint32_t bin = 0; bin < bins_of(drawing); bin++) {
        put_time_cell(drawing, drawing->sum + n * bin);
        useful += useful_of(drawing, drawing->sum + n * bin, &of_cell);
        all += of_cell;
    }
    if (drawing->options->colour && drawing->options->unicode)
        fputs("\033[0m", drawing->out);
    fprintf(drawing->out, " %3.0f %%\n", all > 0 ? 100 * (double)useful / (double)all : 0.0);
}

/* "rank 0", "rank 4-7"; of bands "ranks 0-97" and "ranks 98-195": "ranks 0-195". */
static const char *label_of(struct drawing *drawing, uint32_t first, uint32_t count)
{
    const struct lull_picture_row *from = &drawing->timeline->rows[drawing->picked[first]];
    const struct lull_picture_row *to =
        &drawing->timeline->rows[drawing->picked[first + count - 1]];
    if (count == 1)
        return from->name;
    size_t same = 0;
    for (size_t i = 0; from->name[i] && from->name[i] == to->name[i]; i++)
        same = from->name[i] == ' ' ? i + 1 : same;
    const bool bands = strcmp(from->kind, "band") == 0;
    const char *dash = bands ? strchr(from->name + same, '-') : NULL;
    const char *last = bands ? strchr(to->name + same, '-') : NULL;
    return lull_arena_printf(drawing->arena, "%.*s-%s",
                             (int)(dash ? (size_t)(dash - from->name) : strlen(from->name)),
                             from->name, last ? last + 1 : to->name + same);
}

static void put_lines(struct drawing *drawing)
{
    for (uint32_t i = 0; i < drawing->n_picked; i += drawing->per_line) {
        uint32_t n = drawing->n_picked - i;
        n = n < drawing->per_line ? n : drawing->per_line;
        put_timeline_line(drawing, label_of(drawing, i, n), drawing->picked + i, n);
    }
    const struct lull_picture_timeline *timeline = drawing->timeline;
    bool first = true;
    for (uint32_t d = 0; d < timeline->n_differing; d++) {
        const uint32_t row = timeline->differing[d];
        bool shown = false;
        for (uint32_t i = 0; i < drawing->n_picked && drawing->per_line == 1; i++)
            shown |= drawing->picked[i] == row;
        if (shown || timeline->rows[row].level < drawing->level)
            continue;
        if (first)
            fputs("those that differ most:\n", drawing->out);
        first = false;
        put_timeline_line(drawing, timeline->rows[row].name, &row, 1);
    }
}

/* ---- around the lines ------------------------------------------------------------------------ */

static void put_axis(struct drawing *drawing)
{
    char from[32], to[32];
    const size_t bins = bins_of(drawing);
    lull_format_time(drawing->timeline->begin, from, sizeof from);
    lull_format_time(drawing->timeline->end, to, sizeof to);
    fprintf(drawing->out, "%*s%s", (int)drawing->label + 1, "", from);
    size_t used = strlen(from) + strlen(to);
    fprintf(drawing->out, "%*s%s useful\n", used < bins ? (int)(bins - used) : 1, "", to);
}

static const char *const meanings[LULL_PAINTS] = {
    [LULL_PAINT_USEFUL] = "useful",
    [LULL_PAINT_MESSAGES] = "messages",
    [LULL_PAINT_COLLECTIVE] = "collective",
    [LULL_PAINT_MPI] = "other MPI",
    [LULL_PAINT_SYNC] = "OpenMP barrier",
    [LULL_PAINT_SCHEDULE] = "OpenMP scheduling",
    [LULL_PAINT_LOCK] = "lock",
    [LULL_PAINT_IDLE] = "idle",
    [LULL_PAINT_DEVICE] = "device",
    [LULL_PAINT_IO] = "I/O",
    [LULL_PAINT_TRACER] = "tracer",
    [LULL_PAINT_NOTHING] = "nothing recorded",
};

/* One entry of the legend, on a line of its own where it would not fit on this one. */
static void put_entry(struct drawing *drawing, const char *sample, const char *text, size_t *at)
{
    const size_t columns = (*sample ? 1 : 0) + 3 + strlen(text);
    if (*at + columns > drawing->width) {
        fputs("\n ", drawing->out);
        *at = 1;
    }
    fprintf(drawing->out, "  %s%s%s", sample, *sample ? " " : "", text);
    *at += columns;
}

static void put_legend(struct drawing *drawing)
{
    const bool coloured = drawing->options->colour && drawing->options->unicode;
    const char *begin = coloured ? "height: useful share; colour behind it: most of the rest:"
                                 : "mostly useful (90, 70, 50 %); else most of the rest:";
    fputs(coloured ? "" : drawing->options->unicode ? "\u2588\u2593\u2592 " : "#*+ ", drawing->out);
    fputs(begin, drawing->out);
    size_t at = strlen(begin) + (coloured ? 0 : 4);
    for (int paint = 0; paint < LULL_PAINTS; paint++) {
        const char letter[] = {paints[paint].letter, '\0'};
        if (!drawing->painted[paint] || (paint == LULL_PAINT_USEFUL && !coloured))
            continue;
        const char *sample = coloured ? lull_arena_printf(drawing->arena, "\033[48;5;%um \033[0m",
                                                          paints[paint].colour)
                                      : (paint == LULL_PAINT_NOTHING ? "" : letter);
        const bool blank = !coloured && paint == LULL_PAINT_NOTHING;
        put_entry(drawing, sample, blank ? "blank: nothing recorded" : meanings[paint], &at);
    }
    fputc('\n', drawing->out);
}

/* As many cells as fit, a power of 2, and of what is left the labels take what they need. */
static void lay_out(struct drawing *drawing)
{
    const size_t width = drawing->width;
    drawing->level = MOST_LEVEL;
    for (uint32_t i = 0; i < drawing->n_picked; i++)
        if (drawing->timeline->rows[drawing->picked[i]].level < drawing->level)
            drawing->level = drawing->timeline->rows[drawing->picked[i]].level;
    while (drawing->level > 3 && bins_of(drawing) + LEAST_LABEL + CELL_MARGIN > width)
        drawing->level--;
    for (uint32_t i = 0; i < drawing->n_picked; i += drawing->per_line) {
        uint32_t n = drawing->n_picked - i;
        const char *label = label_of(drawing, i, n < drawing->per_line ? n : drawing->per_line);
        size_t columns = lull_display_width(lull_display_clean(drawing->arena, label));
        drawing->label = columns > drawing->label ? columns : drawing->label;
    }
    const size_t taken = bins_of(drawing) + CELL_MARGIN;
    const size_t room = taken + LEAST_LABEL < width ? width - taken : LEAST_LABEL;
    const size_t most = room < MOST_LABEL ? room : MOST_LABEL;
    drawing->label = drawing->label < LEAST_LABEL ? LEAST_LABEL : drawing->label;
    drawing->label = drawing->label < most ? drawing->label : most;
}

static void text_timeline(FILE *out, struct lull_arena *arena,
                          const struct lull_picture_timeline *timeline,
                          const struct lull_render_options *options)
{
    struct drawing drawing = {.out = out,
                              .arena = arena,
                              .timeline = timeline,
                              .options = options,
                              .width = options->width ? options->width : USUAL_WIDTH};
    text_title(
        out, lull_display_clean(arena, lull_arena_printf(arena, "Timeline of %s", timeline->title)),
        options);
    if (timeline->absent) {
        lull_display_wrap(out, lull_display_clean(arena, timeline->absent), drawing.width, 0);
        fputc('\n', out);
        return;
    }
    pick_rows(&drawing);
    lay_out(&drawing);
    const size_t width = (size_t)bins_of(&drawing) * timeline->n_activities;
    drawing.ns = lull_arena_zero(arena, width + 1, sizeof *drawing.ns);
    drawing.sum = lull_arena_zero(arena, width + 1, sizeof *drawing.sum);
    put_axis(&drawing);
    put_lines(&drawing);
    put_legend(&drawing);
}

/* ==== the document ============================================================================ */

#define PLAIN_WIDTH 100 /* of running text where no terminal sets a limit */

static void put_fact_lines(FILE *out, const struct lull_document *document,
                           const struct lull_render_options *options)
{
    size_t widest = 0;
    for (size_t i = 0; i < document->n_facts; i++) {
        size_t width =
            lull_display_width(lull_display_clean(document->arena, document->facts[i].label));
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < document->n_facts; i++) {
        const struct lull_fact *fact = &document->facts[i];
        const char *label = lull_display_clean(document->arena, fact->label);
        const char *value = lull_text_cell(document->arena, fact->value, options);
        size_t room = options->width > widest + 2 ? options->width - widest - 2 : SIZE_MAX;
        fputs(label, out);
        put_padding(out, widest + 2 - lull_display_width(label));
        lull_display_wrap(out, value, room, 0);
        fputc('\n', out);
    }
}

static void put_note_paragraphs(FILE *out, const struct lull_document *document, size_t width)
{
    bool first = true;
    for (size_t i = 0; i < document->n_notes; i++) {
        if (document->notes[i].kind == LULL_NOTE_WARNING)
            continue;
        if (first)
            fputc('\n', out);
        first = false;
        lull_display_wrap(out, lull_display_clean(document->arena, document->notes[i].text), width,
                          2);
        fputc('\n', out);
    }
}

static bool has_efficiencies(const struct lull_document *document)
{
    for (const struct lull_table *table = document->tables; table; table = table->next)
        for (size_t row = 0; row < table->n_rows; row++)
            for (size_t column = 0; column < table->n_columns; column++)
                if (lull_table_get(table, row, column).kind == LULL_CELL_EFFICIENCY)
                    return true;
    return false;
}

static void render_text(const struct lull_document *document,
                        const struct lull_render_options *options, FILE *out)
{
    if (*document->title)
        text_title(out, lull_display_clean(document->arena, document->title), options);
    if (document->n_facts) {
        if (*document->title)
            fputc('\n', out);
        put_fact_lines(out, document, options);
    }
    bool first = !document->n_facts && !*document->title;
    for (const struct lull_table *table = document->tables; table; table = table->next) {
        if (table->detail)
            continue;
        if (!first)
            fputc('\n', out);
        first = false;
        text_table(out, table, options);
    }
    if (options->colour && has_efficiencies(document)) {
        fputc('\n', out);
        text_legend(out);
    }
    text_findings(out, document, options->width ? options->width : PLAIN_WIDTH);
    for (size_t i = 0; i < document->n_timelines; i++) {
        fputc('\n', out);
        text_timeline(out, document->arena, document->timelines[i], options);
    }
    put_note_paragraphs(out, document, options->width ? options->width : PLAIN_WIDTH);
}

const struct lull_renderer lull_renderer_text = {
    .name = "text", .summary = "tables for people", .render = render_text};
