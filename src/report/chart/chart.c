/* Layout: title, legend in rows, a band for the labels of marks, the plot, tick labels, axis
 * labels. */
#include "report/chart.h"

#include "base/output_file.h"
#include "report/asset.h"
#include "report/chart/axis.h"
#include "report/markup.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    CHART_WIDTH = 720,
    PLOT_LEFT = 84,
    PLOT_RIGHT = 696,
    TITLE_Y = 26,
    LEGEND_Y = 50,
    LABEL_ROW = 18, /* of legend and mark labels */
    PLOT_HEIGHT = 320,
    CHARACTER = 7, /* width of one, at 12 px; generous, because fonts differ */
    MARK_ROWS = 3,
    COLOURS = 6
};

struct lull_chart *lull_chart_create(struct lull_arena *arena, const char *title)
{
    struct lull_chart *chart = lull_arena_zero(arena, 1, sizeof *chart);
    chart->arena = arena;
    chart->title = lull_arena_strdup(arena, title);
    chart->x.label = chart->y.label = chart->x.unit = chart->y.unit = "";
    chart->series_end = &chart->series;
    chart->marks_end = &chart->marks;
    return chart;
}

static void set_axis(struct lull_chart *chart, struct lull_axis *axis, const char *label,
                     const char *unit, enum lull_chart_scale scale)
{
    axis->label = lull_arena_strdup(chart->arena, label);
    axis->unit = lull_arena_strdup(chart->arena, unit);
    axis->scale = scale;
}

void lull_chart_x_axis(struct lull_chart *chart, const char *label, const char *unit,
                       enum lull_chart_scale scale)
{
    set_axis(chart, &chart->x, label, unit, scale);
}

void lull_chart_y_axis(struct lull_chart *chart, const char *label, const char *unit,
                       enum lull_chart_scale scale)
{
    set_axis(chart, &chart->y, label, unit, scale);
}

void lull_chart_series(struct lull_chart *chart, const char *label, enum lull_chart_style style,
                       const struct lull_chart_point *points, size_t count)
{
    struct lull_chart_layer *series = lull_arena_zero(chart->arena, 1, sizeof *series);
    series->label = lull_arena_strdup(chart->arena, label);
    series->style = style;
    series->points = lull_arena_alloc(chart->arena, (count ? count : 1) * sizeof *points);
    if (count)
        memcpy(series->points, points, count * sizeof *points);
    series->count = count;
    *chart->series_end = series;
    chart->series_end = &series->next;
}

void lull_chart_raster(struct lull_chart *chart, const char *label,
                       const struct lull_chart_raster *raster)
{
    const struct lull_chart_point corners[2] = {{raster->left, raster->bottom, NAN, NAN},
                                                {raster->right, raster->top, NAN, NAN}};
    struct lull_chart_layer **series = chart->series_end;
    lull_chart_series(chart, label, LULL_CHART_RASTER, corners, 2);
    (*series)->raster = *raster;
}

void lull_chart_mark(struct lull_chart *chart, double x, const char *label)
{
    struct lull_mark *mark = lull_arena_zero(chart->arena, 1, sizeof *mark);
    mark->x = x;
    mark->label = lull_arena_strdup(chart->arena, label);
    *chart->marks_end = mark;
    chart->marks_end = &mark->next;
}

/* ---- drawing --------------------------------------------------------------------------------- */

struct frame {
    const struct lull_chart *chart;
    FILE *out;
    double top, bottom;
};

static double x_of_value(const struct frame *frame, double value)
{
    return PLOT_LEFT + (PLOT_RIGHT - PLOT_LEFT) * lull_axis_share(&frame->chart->x, value);
}

static double y_of(const struct frame *frame, double value)
{
    double share = fmax(0, fmin(1, lull_axis_share(&frame->chart->y, value)));
    return frame->bottom - (frame->bottom - frame->top) * share;
}

/* `anchor` is "start", "middle" or "end". */
static void put_chart_label(FILE *out, double x, double y, const char *anchor, const char *style,
                            const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, style);
    lull_markup_text(out, text);
    fputs("</text>\n", out);
}

/* Labels of ticks end at TICK_LABELS; the label of the axis, turned, stands left of the widest. */
enum { TICK_LABELS = PLOT_LEFT - 8, AXIS_LABEL = 16 };

/* By how much the picture begins further left than at 0, so that they do not touch. */
static double overhang_of(const struct lull_chart *chart)
{
    double ticks[LULL_MOST_TICKS], widest = 0;
    size_t count = lull_axis_ticks(&chart->y, 8, ticks);
    for (size_t i = 0; i < count; i++)
        widest = fmax(widest,
                      CHARACTER * (double)strlen(lull_axis_tick_label(chart, &chart->y, ticks[i])));
    return fmax(0, AXIS_LABEL + CHARACTER + widest - TICK_LABELS);
}

/* Rules of style stand in a file for itself, or once for all charts of a page. */
static void draw_head(FILE *out, const struct lull_chart *chart, double height, bool styles)
{
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lull-chart\" role=\"img\" "
          "aria-label=\"",
          out);
    lull_markup_text(out, chart->title);
    double left = 0 - overhang_of(chart), width = CHART_WIDTH - left;
    fprintf(out,
            "\" viewBox=\"%.0f 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n",
            left, width, height, width, height);
    if (styles)
        fprintf(out, "<style>\n%s</style>\n", lull_asset_chart_style.text);
    fprintf(out, "<rect class=\"back\" x=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n", left, width,
            height);
}

static unsigned colour_of(unsigned number)
{
    return (number - 1) % COLOURS;
}

static void draw_marker(FILE *out, unsigned number, double x, double y)
{
    static const char *const shapes[] = {"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
                                         "M-3.2 -3.2h6.4v6.4h-6.4z", "M0 -4.2L4 3h-8z",
                                         "M0 -4.5L4.5 0L0 4.5L-4.5 0z"};
    fprintf(out, "<path class=\"s%u\" d=\"%s\" transform=\"translate(%.1f %.1f)\"/>\n",
            colour_of(number), shapes[(number - 1) % (sizeof shapes / sizeof *shapes)], x, y);
}

/* Curves and bands have the colour of the series before them, whose fit they are. */
static unsigned number_of(const struct lull_chart_layer *series, unsigned before)
{
    return before +
           (before == 0 || (series->style != LULL_CHART_CURVE && series->style != LULL_CHART_BAND));
}

static const char *class_of_area(enum lull_chart_style style)
{
    return style == LULL_CHART_BAND ? "band" : style == LULL_CHART_AREA ? "stack" : "bar";
}

/* In rows as wide as the plot; with `out` NULL nothing is drawn. Returns the number of rows. */
static unsigned draw_legend(FILE *out, const struct lull_chart *chart)
{
    double x = PLOT_LEFT;
    unsigned row = 0, number = 0, shown = 0; /* colours count from 1 */
    for (const struct lull_chart_layer *series = chart->series; series; series = series->next) {
        number = number_of(series, number);
        if (!*series->label)
            continue;
        double width = 34 + CHARACTER * (double)strlen(series->label) + 14;
        if (x > PLOT_LEFT && x + width > PLOT_RIGHT) {
            x = PLOT_LEFT;
            row++;
        }
        double y = LEGEND_Y + row * LABEL_ROW;
        shown++;
        if (out) {
            bool area = series->style >= LULL_CHART_BAND;
            if (area)
                fprintf(out,
                        "<rect class=\"%s s%u\" x=\"%.1f\" y=\"%.1f\" width=\"22\" "
                        "height=\"9\"/>\n",
                        class_of_area(series->style), colour_of(number), x, y - 9);
            else if (series->style != LULL_CHART_POINTS)
                fprintf(out, "<path class=\"s%u %s\" d=\"M%.1f %.1fh22\"/>\n", colour_of(number),
                        series->style == LULL_CHART_CURVE ? "curve" : "line", x, y - 4);
            if (series->style == LULL_CHART_LINE || series->style == LULL_CHART_POINTS)
                draw_marker(out, number, x + 11, y - 4);
            put_chart_label(out, x + 28, y, "start", "", series->label);
        }
        x += width;
    }
    return shown ? row + 1 : 0;
}

enum mark_part { MARK_NOTHING, MARK_LINE, MARK_LABEL };

/* Labels that would overlap go to the next of a few rows. Returns the rows used. */
static unsigned draw_marks(const struct frame *frame, enum mark_part part)
{
    double ends[MARK_ROWS] = {0};
    unsigned rows = 0;
    for (const struct lull_mark *mark = frame->chart->marks; mark; mark = mark->next) {
        if (!lull_axis_fits(&frame->chart->x, mark->x) ||
            lull_axis_share(&frame->chart->x, mark->x) < 0 ||
            lull_axis_share(&frame->chart->x, mark->x) > 1)
            continue;
        double x = x_of_value(frame, mark->x),
               half = CHARACTER * (double)strlen(mark->label) / 2 + 3;
        double middle = fmin(fmax(x, half), CHART_WIDTH - half);
        unsigned row = 0;
        while (row + 1 < MARK_ROWS && middle - half < ends[row])
            row++;
        ends[row] = middle + half;
        rows = row + 1 > rows ? row + 1 : rows;
        double y = frame->top - 7 - row * LABEL_ROW;
        if (part == MARK_LINE)
            fprintf(frame->out,
                    "<path class=\"mark\" stroke-dasharray=\"3 3\" d=\"M%.1f %.1fV%.1f\"/>\n", x,
                    y + 3, frame->bottom);
        if (part != MARK_LABEL)
            continue;
        fprintf(frame->out,
                "<rect class=\"back\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\"/>\n",
                middle - half, y - 12, 2 * half); /* lines of other marks end behind it */
        put_chart_label(frame->out, middle, y, "middle", "", mark->label);
    }
    return rows;
}

static void draw_axes(const struct frame *frame)
{
    const struct lull_chart *chart = frame->chart;
    FILE *out = frame->out;
    double ticks[LULL_MOST_TICKS];
    size_t count = lull_axis_ticks(&chart->y, 8, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = y_of(frame, ticks[i]);
        fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", PLOT_LEFT, y, PLOT_RIGHT);
        put_chart_label(out, TICK_LABELS, y + 4, "end", "",
                        lull_axis_tick_label(chart, &chart->y, ticks[i]));
    }
    count = lull_axis_ticks(&chart->x, 9, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = x_of_value(frame, ticks[i]);
        fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>\n", x, frame->bottom);
        put_chart_label(out, x, frame->bottom + 19, "middle", "",
                        lull_axis_tick_label(chart, &chart->x, ticks[i]));
    }
    fprintf(out, "<path class=\"axis\" fill=\"none\" d=\"M%d %.1fV%.1fH%d\"/>\n", PLOT_LEFT,
            frame->top, frame->bottom, PLOT_RIGHT);
    put_chart_label(out, (PLOT_LEFT + PLOT_RIGHT) / 2.0, frame->bottom + 42, "middle", "",
                    chart->x.label);
    double x = AXIS_LABEL - overhang_of(chart), y = (frame->top + frame->bottom) / 2;
    const char *turn =
        lull_arena_printf(chart->arena, " transform=\"rotate(-90 %.0f %.1f)\"", x, y);
    put_chart_label(out, x, y, "middle", turn, chart->y.label);
}

static void draw_bars(const struct frame *frame, const struct lull_chart_layer *series,
                      unsigned number)
{
    for (size_t i = 0; i < series->count; i++) {
        const struct lull_chart_point *point = &series->points[i];
        if (!lull_chart_shows(frame->chart, point))
            continue;
        double x = x_of_value(frame, point->x);
        double end =
            fmin(x_of_value(frame, lull_axis_bar_end(&frame->chart->x, series, i)), PLOT_RIGHT);
        double y = y_of(frame, point->y);
        fprintf(frame->out,
                "<rect class=\"bar s%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                colour_of(number), x, y, fmax(0.5, end - x - 0.5), frame->bottom - y);
    }
}

static void draw_spans(const struct frame *frame, const struct lull_chart_layer *series,
                       unsigned number)
{
    for (size_t i = 0; i < series->count; i++) {
        const struct lull_chart_point *point = &series->points[i];
        if (!lull_chart_shows(frame->chart, point) ||
            !lull_axis_fits(&frame->chart->y, point->low) ||
            !lull_axis_fits(&frame->chart->y, point->high))
            continue;
        fprintf(frame->out, "<path class=\"s%u span\" d=\"M%.1f %.1fV%.1f\"/>\n", colour_of(number),
                x_of_value(frame, point->x), y_of(frame, point->low), y_of(frame, point->high));
    }
}

static void draw_line(const struct frame *frame, const struct lull_chart_layer *series,
                      unsigned number)
{
    bool first = true;
    fprintf(frame->out, "<path class=\"s%u %s\" d=\"", colour_of(number),
            series->style == LULL_CHART_CURVE ? "curve" : "line");
    for (size_t i = 0; i < series->count; i++) {
        const struct lull_chart_point *point = &series->points[i];
        if (!lull_chart_shows(frame->chart, point)) {
            first = true;
            continue;
        }
        fprintf(frame->out, "%s%.1f %.1f", first ? "M" : "L", x_of_value(frame, point->x),
                y_of(frame, point->y));
        first = false;
    }
    fputs("\"/>\n", frame->out);
}

/* Along the upper edge and back along the lower one. */
static void draw_band(const struct frame *frame, const struct lull_chart_layer *series,
                      unsigned number)
{
    const char *step = "M";
    fprintf(frame->out, "<path class=\"s%u %s\" d=\"", colour_of(number),
            class_of_area(series->style));
    for (size_t k = 0; k < 2 * series->count; k++) {
        bool upper = k < series->count;
        const struct lull_chart_point *point =
            &series->points[upper ? k : 2 * series->count - 1 - k];
        if (!lull_chart_shows(frame->chart, point) ||
            !lull_axis_fits(&frame->chart->y, point->low) ||
            !lull_axis_fits(&frame->chart->y, point->high))
            continue;
        fprintf(frame->out, "%s%.1f %.1f", step, x_of_value(frame, point->x),
                y_of(frame, upper ? point->high : point->low));
        step = "L";
    }
    fputs("\"/>\n", frame->out);
}

static void draw_raster(const struct frame *frame, const struct lull_chart_layer *series,
                        unsigned number)
{
    const struct lull_chart_raster *raster = &series->raster;
    const double x[2] = {x_of_value(frame, raster->left), x_of_value(frame, raster->right)};
    const double y[2] = {y_of(frame, raster->bottom), y_of(frame, raster->top)};
    lull_chart_draw_raster(frame->out, raster, colour_of(number), x, y);
}

static void draw_series(const struct frame *frame, const struct lull_chart_layer *series,
                        unsigned number)
{
    if (series->style == LULL_CHART_RASTER) {
        draw_raster(frame, series, number);
        return;
    }
    if (series->style == LULL_CHART_BARS) {
        draw_bars(frame, series, number);
        return;
    }
    if (series->style == LULL_CHART_BAND || series->style == LULL_CHART_AREA) {
        draw_band(frame, series, number);
        return;
    }
    if (series->style != LULL_CHART_POINTS)
        draw_line(frame, series, number);
    if (series->style == LULL_CHART_CURVE)
        return;
    draw_spans(frame, series, number);
    for (size_t i = 0; i < series->count; i++)
        if (lull_chart_shows(frame->chart, &series->points[i]))
            draw_marker(frame->out, number, x_of_value(frame, series->points[i].x),
                        y_of(frame, series->points[i].y));
}

static bool has_points(const struct lull_chart *chart)
{
    for (const struct lull_chart_layer *series = chart->series; series; series = series->next)
        for (size_t i = 0; i < series->count; i++)
            if (lull_chart_shows(chart, &series->points[i]))
                return true;
    return false;
}

/* Long titles in smaller letters. */
static void draw_title(FILE *out, const struct lull_chart *chart)
{
    double length = (double)strlen(chart->title), size = 15;
    if (length * 0.62 * size > CHART_WIDTH - 24)
        size = fmax(8, (CHART_WIDTH - 24) / (0.62 * length));
    const char *style =
        lull_arena_printf(chart->arena, " font-size=\"%.1f\" font-weight=\"bold\"", size);
    put_chart_label(out, CHART_WIDTH / 2.0, TITLE_Y, "middle", style, chart->title);
}

static void draw_chart(const struct lull_chart *given, FILE *out, bool styles)
{
    struct lull_chart chart = *given; /* ranges are found in a copy */
    lull_chart_find_ranges(&chart);
    struct frame frame = {&chart, out, LEGEND_Y, LEGEND_Y + PLOT_HEIGHT};
    unsigned legend_rows = draw_legend(NULL, &chart), mark_rows = draw_marks(&frame, MARK_NOTHING);
    frame.top = LEGEND_Y - 8 + LABEL_ROW * legend_rows + LABEL_ROW * mark_rows;
    frame.bottom = frame.top + PLOT_HEIGHT;

    draw_head(out, &chart, frame.bottom + 56, styles);
    draw_title(out, &chart);
    draw_legend(out, &chart);
    draw_axes(&frame);
    draw_marks(&frame, MARK_LINE);
    draw_marks(&frame, MARK_LABEL);
    unsigned number = 0;
    for (const struct lull_chart_layer *series = chart.series; series; series = series->next) {
        number = number_of(series, number);
        draw_series(&frame, series, number);
    }
    if (!has_points(&chart))
        put_chart_label(out, (PLOT_LEFT + PLOT_RIGHT) / 2.0, (frame.top + frame.bottom) / 2,
                        "middle", "", "nothing to show");
    fputs("</svg>\n", out);
}

void lull_chart_write(const struct lull_chart *chart, FILE *out)
{
    draw_chart(chart, out, true);
}

static void write_content(const void *content, FILE *out)
{
    lull_chart_write(content, out);
}

lull_status lull_chart_save(const char *path, const struct lull_chart *chart,
                            struct lull_error *err)
{
    return lull_file_write(path, write_content, chart, err);
}

void lull_chart_write_inline(const struct lull_chart *chart, FILE *out)
{
    draw_chart(chart, out, false);
}
