/* The inside of a chart, and its axes: ranges, ticks and labels. Internal to the report room. */
#ifndef LULL_REPORT_CHART_AXIS_H
#define LULL_REPORT_CHART_AXIS_H

#include "report/chart.h"

#include <stdbool.h>

struct lull_axis {
    const char *label, *unit;
    enum lull_chart_scale scale;
    double low, high; /* found from the points */
};

/* One series of a chart, or one raster. */
struct lull_chart_layer {
    struct lull_chart_layer *next;
    const char *label;
    enum lull_chart_style style;
    struct lull_chart_point *points; /* of a raster: two of its corners */
    size_t count;
    struct lull_chart_raster raster;
};

struct lull_mark {
    struct lull_mark *next;
    double x;
    const char *label;
};

struct lull_chart {
    struct lull_arena *arena;
    const char *title;
    struct lull_axis x, y;
    struct lull_chart_layer *series, **series_end;
    struct lull_mark *marks, **marks_end;
};

enum { LULL_MOST_TICKS = 64 };

/* Whether an axis can show a value at all, a chart a point. */
bool lull_axis_fits(const struct lull_axis *axis, double value);
bool lull_chart_shows(const struct lull_chart *chart, const struct lull_chart_point *point);

/* Low and high of both axes from the points. */
void lull_chart_find_ranges(struct lull_chart *chart);

/* Draws a raster in the colour number `colour`; edges in pixels. */
void lull_chart_draw_raster(FILE *out, const struct lull_chart_raster *raster, unsigned colour,
                            const double x[2], const double y[2]);

/* Where bar i ends: at the next point, the last one as wide as the one before it. */
double lull_axis_bar_end(const struct lull_axis *axis, const struct lull_chart_layer *series,
                         size_t i);

/* Where a value is: 0 at the low end, 1 at the high end. */
double lull_axis_share(const struct lull_axis *axis, double value);

/* Values to be labelled, at most LULL_MOST_TICKS; on a logarithmic axis about `wanted`. */
size_t lull_axis_ticks(const struct lull_axis *axis, size_t wanted, double *ticks);
const char *lull_axis_tick_label(const struct lull_chart *chart, const struct lull_axis *axis,
                                 double value);

#endif
