#include "report/chart/axis.h"

#include "base/text.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

bool lull_axis_fits(const struct lull_axis *axis, double value)
{
    return isfinite(value) && (is_linear(axis) || value > 0);
}

bool lull_chart_shows(const struct lull_chart *chart, const struct lull_chart_point *point)
{
    return lull_axis_fits(&chart->x, point->x) && lull_axis_fits(&chart->y, point->y);
}

static void widen(struct lull_axis *axis, double value)
{
    if (!lull_axis_fits(axis, value))
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

double lull_axis_bar_end(const struct lull_axis *axis, const struct lull_chart_layer *series,
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

void lull_chart_find_ranges(struct lull_chart *chart)
{
    chart->x.low = chart->y.low = DBL_MAX;
    chart->x.high = chart->y.high = -DBL_MAX;
    for (const struct lull_chart_layer *series = chart->series; series; series = series->next)
        for (size_t i = 0; i < series->count; i++) {
            const struct lull_chart_point *point = &series->points[i];
            if (!lull_chart_shows(chart, point))
                continue;
            widen(&chart->x, point->x);
            widen(&chart->y, point->y);
            if (series->style != LULL_CHART_BARS) {
                widen(&chart->y, point->low);
                widen(&chart->y, point->high);
            } else {
                widen(&chart->x, lull_axis_bar_end(&chart->x, series, i));
            }
        }
    round_range(&chart->x, false);
    round_range(&chart->y, true);
}

double lull_axis_share(const struct lull_axis *axis, double value)
{
    if (is_linear(axis))
        return (value - axis->low) / (axis->high - axis->low);
    return log(value / axis->low) / log(axis->high / axis->low);
}

size_t lull_axis_ticks(const struct lull_axis *axis, size_t wanted, double *ticks)
{
    size_t count = 0;
    if (is_linear(axis)) {
        double step = linear_step(axis);
        for (double i = ceil(axis->low / step - 1e-9);
             i * step <= axis->high + 1e-9 * step && count < LULL_MOST_TICKS; i++)
            ticks[count++] = i * step + 0.0; /* no -0 */
        return count;
    }
    double base = axis->scale == LULL_CHART_SIZES ? 2 : 10;
    double first = ceil(log(axis->low) / log(base) - 1e-9);
    double last = floor(log(axis->high) / log(base) + 1e-9);
    double every = fmax(1, ceil((last - first + 1) / (double)wanted));
    for (double i = first; i <= last && count < LULL_MOST_TICKS; i += every)
        ticks[count++] = pow(base, i);
    return count;
}

const char *lull_axis_tick_label(const struct lull_chart *chart, const struct lull_axis *axis,
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
