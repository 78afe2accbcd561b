/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/chart.h"

#include "base/output_file.h"
#include "base/text.h"
#include "report/asset.h"
#include "report/markup.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ==== axes ==================================================================================== */

enum { MOST_TICKS = 64 };

static bool is_linear(const struct lull_axis *axis)
{
    return axis->scale == LULL_CHART_LINEAR || axis->scale == LULL_CHART_WHOLE ||
           axis->scale == LULL_CHART_NUMBERS;
}

/* Whether the axis shows 0 where all values are positive. */
static bool begins_at_zero(const struct lull_axis *axis, bool is_y)
{
    if (axis->scale == LULL_CHART_NUMBERS)
        return false;
    return is_y || axis->scale == LULL_CHART_WHOLE || axis->low < axis->high / 4;
}

/* Whether an axis can show a value at all, a chart a point. */
static bool axis_fits(const struct lull_axis *axis, double value)
{
    return isfinite(value) && (is_linear(axis) || value > 0);
}

static bool chart_shows(const struct lull_chart *chart, const struct lull_chart_point *point)
{
    return axis_fits(&chart->x, point->x) && axis_fits(&chart->y, point->y);
}

static void widen(struct lull_axis *axis, double value)
{
    if (!axis_fits(axis, value))
        return;
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

/* 1, 2 or 5 times a power of ten, about a fifth of the range. */
static double linear_step(const struct lull_axis *axis)
{
    double range = axis->high - axis->low;
    if (axis->scale != LULL_CHART_LINEAR && range < 5)
        return 1;
    double raw = range / 5, power = pow(10, floor(log10(raw)));
    double lead = raw / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

/* Outwards to whole ticks, in y also to whole steps of a linear axis. */
static void round_range(struct lull_axis *axis, bool is_y)
{
    if (axis->low > axis->high) { /* no points */
        axis->low = is_linear(axis) ? 0 : 1;
        axis->high = is_linear(axis) ? 1 : 10;
    }
    if (is_linear(axis)) {
        if (axis->low > 0 && begins_at_zero(axis, is_y))
            axis->low = 0;
        if (axis->high - axis->low <= fabs(axis->high) * 1e-12)
            axis->high = axis->low + (axis->low != 0 ? fabs(axis->low) : 1);
        double step = linear_step(axis);
        if (is_y) {
            axis->low = floor(axis->low / step + 1e-9) * step;
            axis->high = ceil(axis->high / step - 1e-9) * step;
        }
        return;
    }
    double base = axis->scale == LULL_CHART_SIZES ? 2 : 10;
    if (is_y || axis->high / axis->low < 2 * base) {
        axis->low = pow(base, floor(log(axis->low) / log(base) + 1e-9));
        axis->high = pow(base, ceil(log(axis->high) / log(base) - 1e-9));
    }
    if (axis->high <= axis->low)
        axis->high = axis->low * base;
}

/* Where bar i ends: at the next point, the last one as wide as the one before it. */
static double axis_bar_end(const struct lull_axis *axis, const struct lull_chart_layer *series,
                           size_t i)
{
    const struct lull_chart_point *points = series->points;
    if (i + 1 < series->count)
        return points[i + 1].x;
    if (i == 0)
        return points[i].x;
    return is_linear(axis) ? 2 * points[i].x - points[i - 1].x
                           : points[i].x * points[i].x / points[i - 1].x;
}

/* Low and high of both axes from the points. */
static void chart_find_ranges(struct lull_chart *chart)
{
    chart->x.low = chart->y.low = DBL_MAX;
    chart->x.high = chart->y.high = -DBL_MAX;
    for (const struct lull_chart_layer *series = chart->series; series; series = series->next)
        for (size_t i = 0; i < series->count; i++) {
            const struct lull_chart_point *point = &series->points[i];
            if (!chart_shows(chart, point))
                continue;
            widen(&chart->x, point->x);
            widen(&chart->y, point->y);
            if (series->style != LULL_CHART_BARS) {
                widen(&chart->y, point->low);
                widen(&chart->y, point->high);
            } else {
                widen(&chart->x, axis_bar_end(&chart->x, series, i));
            }
        }
    round_range(&chart->x, false);
    round_range(&chart->y, true);
}

/* Where a value is: 0 at the low end, 1 at the high end. */
static double axis_share(const struct lull_axis *axis, double value)
{
    if (is_linear(axis))
        return (value - axis->low) / (axis->high - axis->low);
    return log(value / axis->low) / log(axis->high / axis->low);
}

/* Values to be labelled, at most MOST_TICKS; on a logarithmic axis about `wanted`. */
static size_t axis_ticks(const struct lull_axis *axis, size_t wanted, double *ticks)
{
    size_t count = 0;
    if (is_linear(axis)) {
        double step = linear_step(axis);
        for (double i = ceil(axis->low / step - 1e-9);
             i * step <= axis->high + 1e-9 * step && count < MOST_TICKS; i++)
            ticks[count++] = i * step + 0.0; /* no -0 */
        return count;
    }
    double base = axis->scale == LULL_CHART_SIZES ? 2 : 10;
    double first = ceil(log(axis->low) / log(base) - 1e-9);
    double last = floor(log(axis->high) / log(base) + 1e-9);
    double every = fmax(1, ceil((last - first + 1) / (double)wanted));
    for (double i = first; i <= last && count < MOST_TICKS; i += every)
        ticks[count++] = pow(base, i);
    return count;
}

static const char *axis_tick_label(const struct lull_chart *chart, const struct lull_axis *axis,
                                   double value)
{
    char buffer[64];
    if (axis->scale == LULL_CHART_SIZES) {
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        size_t unit = 0;
        while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
            value /= 1024;
            unit++;
        }
        return lull_arena_printf(chart->arena, "%g %s", value, units[unit]);
    }
    if (!*axis->unit)
        return lull_arena_printf(chart->arena, "%g", value);
    lull_format_quantity(value, axis->unit, buffer, sizeof buffer);
    /* "20.00 GB/s" as "20 GB/s". */
    char *space = strchr(buffer, ' ');
    double number = 0;
    if (sscanf(buffer, "%lf", &number) != 1 || !space)
        return lull_arena_strdup(chart->arena, buffer);
    return lull_arena_printf(chart->arena, "%g%s", number,
                             value == 0 ? lull_arena_printf(chart->arena, " %s", axis->unit)
                                        : space);
}

/* ==== rasters ================================================================================= */

/* Rasters as paths: one per level, with a stroke as wide as a row for each run of that level. */

static void draw_level(FILE *out, const struct lull_chart_raster *raster, unsigned level,
                       const double x[2], const double y[2])
{
    double width = (x[1] - x[0]) / raster->columns, height = (y[0] - y[1]) / raster->rows;
    for (uint32_t row = 0; row < raster->rows; row++) {
        const uint8_t *levels = &raster->levels[(size_t)row * raster->columns];
        for (uint32_t c = 0, next; c < raster->columns; c = next) {
            next = c + 1;
            if (levels[c] != level)
                continue;
            while (next < raster->columns && levels[next] == level)
                next++;
            fprintf(out, "M%.1f %.1fh%.1f", x[0] + c * width, y[0] - (row + 0.5) * height,
                    (next - c) * width);
        }
    }
}

/* Draws a raster in the colour number `colour`; edges in pixels. */
static void chart_draw_raster(FILE *out, const struct lull_chart_raster *raster, unsigned colour,
                              const double x[2], const double y[2])
{
    for (unsigned level = 1; level < LULL_RASTER_LEVELS; level++) {
        fprintf(out,
                "<path class=\"s%u raster\" stroke-width=\"%.2f\" "
                "stroke-opacity=\"%.2f\" d=\"",
                colour, (y[0] - y[1]) / raster->rows + 0.2,
                0.85 * level / (LULL_RASTER_LEVELS - 1));
        draw_level(out, raster, level, x, y);
        fputs("\"/>\n", out);
    }
}

/* ==== the chart =============================================================================== */

/* Layout: title, legend in rows, a band for the labels of marks, the plot, tick labels, axis
 * labels. */

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
    return PLOT_LEFT + (PLOT_RIGHT - PLOT_LEFT) * axis_share(&frame->chart->x, value);
}

static double y_of(const struct frame *frame, double value)
{
    double share = fmax(0, fmin(1, axis_share(&frame->chart->y, value)));
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
    double ticks[MOST_TICKS], widest = 0;
    size_t count = axis_ticks(&chart->y, 8, ticks);
    for (size_t i = 0; i < count; i++)
        widest =
            fmax(widest, CHARACTER * (double)strlen(axis_tick_label(chart, &chart->y, ticks[i])));
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
        if (!axis_fits(&frame->chart->x, mark->x) || axis_share(&frame->chart->x, mark->x) < 0 ||
            axis_share(&frame->chart->x, mark->x) > 1)
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
    double ticks[MOST_TICKS];
    size_t count = axis_ticks(&chart->y, 8, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = y_of(frame, ticks[i]);
        fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", PLOT_LEFT, y, PLOT_RIGHT);
        put_chart_label(out, TICK_LABELS, y + 4, "end", "",
                        axis_tick_label(chart, &chart->y, ticks[i]));
    }
    count = axis_ticks(&chart->x, 9, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = x_of_value(frame, ticks[i]);
        fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>\n", x, frame->bottom);
        put_chart_label(out, x, frame->bottom + 19, "middle", "",
                        axis_tick_label(chart, &chart->x, ticks[i]));
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
        if (!chart_shows(frame->chart, point))
            continue;
        double x = x_of_value(frame, point->x);
        double end = fmin(x_of_value(frame, axis_bar_end(&frame->chart->x, series, i)), PLOT_RIGHT);
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
        if (!chart_shows(frame->chart, point) || !axis_fits(&frame->chart->y, point->low) ||
            !axis_fits(&frame->chart->y, point->high))
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
        if (!chart_shows(frame->chart, point)) {
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
        if (!chart_shows(frame->chart, point) || !axis_fits(&frame->chart->y, point->low) ||
            !axis_fits(&frame->chart->y, point->high))
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
    chart_draw_raster(frame->out, raster, colour_of(number), x, y);
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
        if (chart_shows(frame->chart, &series->points[i]))
            draw_marker(frame->out, number, x_of_value(frame, series->points[i].x),
                        y_of(frame, series->points[i].y));
}

static bool has_points(const struct lull_chart *chart)
{
    for (const struct lull_chart_layer *series = chart->series; series; series = series->next)
        for (size_t i = 0; i < series->count; i++)
            if (chart_shows(chart, &series->points[i]))
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
    chart_find_ranges(&chart);
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

/* ==== waterfalls ============================================================================== */

enum {
    WATERFALL_WIDTH = 900,
    BARS_LEFT = 400,
    BARS_RIGHT = 760,
    TOP = 48,
    STEP_ROW = 26,
    BAR = 16
};

struct scale {
    double low, high;
};

static bool is_whole(const struct lull_waterfall_step *step)
{
    return step->from == 0;
}

/* The range of the axis: from a quarter of the steps' extent below the lowest amount to the
 * highest; from 0 where its begin would be below 0.3 of the highest amount. */
static struct scale find_scale(const struct lull_waterfall *waterfall)
{
    struct scale scale = {INFINITY, -INFINITY};
    for (size_t i = 0; i < waterfall->count; i++) {
        const struct lull_waterfall_step *step = &waterfall->steps[i];
        const double from = is_whole(step) ? step->to : step->from;
        scale.low = fmin(scale.low, fmin(from, step->to));
        scale.high = fmax(scale.high, fmax(from, step->to));
    }
    const double extent = scale.high - scale.low;
    scale.low -= extent > 0 ? 0.25 * extent : scale.high;
    scale.low = scale.low < 0.3 * scale.high ? 0 : scale.low;
    return scale;
}

static double x_of_amount(const struct scale *scale, double value)
{
    const double share = (value - scale->low) / (scale->high - scale->low);
    return BARS_LEFT + (BARS_RIGHT - BARS_LEFT) * fmax(0, fmin(1, share));
}

static void put_step_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    lull_markup_text(out, text);
    fputs("</text>\n", out);
}

/* Growth, decrease and wholes have a colour each. */
static void put_step(FILE *out, const struct scale *scale, const struct lull_waterfall_step *step,
                     double y)
{
    const double from = x_of_amount(scale, step->from), to = x_of_amount(scale, step->to);
    const double left = fmin(from, to), width = fmax(1, fabs(to - from));
    const char *colour = is_whole(step) ? "s0" : step->to > step->from ? "s1" : "s2";
    put_step_text(out, BARS_LEFT - 12, y + 12, "end", step->label);
    fprintf(out, "<rect class=\"%s bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
            colour, left, y, width, BAR);
    if (is_whole(step) && scale->low > 0)
        fprintf(out, "<path class=\"back\" d=\"M%d %.1fl5 -10h5l-5 10l5 10h-5z\"/>\n",
                BARS_LEFT + 8, y + BAR / 2.0);
    put_step_text(out, left + width + 8, y + 12, "start", step->text);
}

static void write_waterfall(const void *content, FILE *out)
{
    const struct lull_waterfall *waterfall = content;
    const struct scale scale = find_scale(waterfall);
    const int height = TOP + STEP_ROW * (int)waterfall->count + 12;
    fprintf(out,
            "<svg class=\"lull-chart\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
            "role=\"img\">\n<title>",
            WATERFALL_WIDTH, height, WATERFALL_WIDTH, height);
    lull_markup_text(out, waterfall->title);
    fprintf(out, "</title>\n<style>\n%s</style>\n", lull_asset_chart_style.text);
    fprintf(out, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n", WATERFALL_WIDTH, height);
    put_step_text(out, WATERFALL_WIDTH / 2.0, 26, "middle", waterfall->title);
    for (size_t i = 0; i < waterfall->count; i++) {
        const double y = TOP + STEP_ROW * (double)i;
        put_step(out, &scale, &waterfall->steps[i], y);
        if (i + 1 == waterfall->count)
            break;
        const double x = x_of_amount(&scale, waterfall->steps[i].to);
        fprintf(out, "<line class=\"mark\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x,
                y + BAR, x, y + STEP_ROW);
    }
    fputs("</svg>\n", out);
}

lull_status lull_waterfall_save(const char *path, const struct lull_waterfall *waterfall,
                                struct lull_error *err)
{
    return lull_file_write(path, write_waterfall, waterfall, err);
}
