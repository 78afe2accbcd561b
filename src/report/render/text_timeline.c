/* A timeline in at most 20 lines of one row or several neighbouring ones. A character is a cell:
 * how much of it is useful, and what most of the rest is. Where a row differs from its peers and is
 * in a line with others, it gets one of its own below. */
#include "report/render/text_timeline.h"

#include "base/text.h"
#include "report/display.h"
#include "report/render/text_table.h"

#include <string.h>

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

/* ---- which rows ---------------------------------------------------------------------------- */

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

/* ---- one line ------------------------------------------------------------------------------ */

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

/* ---- around the lines ---------------------------------------------------------------------- */

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

void lull_text_timeline(FILE *out, struct lull_arena *arena,
                        const struct lull_picture_timeline *timeline,
                        const struct lull_render_options *options)
{
    struct drawing drawing = {.out = out,
                              .arena = arena,
                              .timeline = timeline,
                              .options = options,
                              .width = options->width ? options->width : USUAL_WIDTH};
    lull_text_title(
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
