/* SPDX-License-Identifier: BSD-3-Clause */
/* Charts as SVG: lines, points with intervals, bars, marked places on the x axis.
 *
 * A chart is one file without scripts and foreign fonts. Its colours follow the viewer's light or
 * dark mode where there is one. Everything lives in the arena: texts and points are copied. Points
 * that an axis cannot show (not positive on a logarithmic one, not finite) are left out. */
#ifndef LULL_REPORT_CHART_H
#define LULL_REPORT_CHART_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ==== the chart =============================================================================== */

enum lull_chart_scale {
    LULL_CHART_LINEAR,  /* from 0 where all values are positive */
    LULL_CHART_WHOLE,   /* as LINEAR, with ticks at whole numbers: counts */
    LULL_CHART_NUMBERS, /* numbers of things, as of ranks: whole, from the lowest that is shown */
    LULL_CHART_LOG,     /* decades */
    LULL_CHART_SIZES    /* logarithmic, in powers of 2, labels as "32 KiB" */
};

enum lull_chart_style {
    LULL_CHART_LINE,   /* points joined by a line, with markers */
    LULL_CHART_POINTS, /* markers alone */
    LULL_CHART_CURVE,  /* a line without markers, dashed, in the colour of the series before:
                          a fit */
    LULL_CHART_BAND,   /* the area between low and high, in the colour of the series before */
    LULL_CHART_BARS,   /* from the bottom up; a bar reaches from its point's x to the next one's */
    LULL_CHART_AREA,   /* the area between low and high, in a colour of its own: what is stacked
                          stands on the one before; y is the higher edge */
    LULL_CHART_RASTER  /* see lull_chart_raster */
};

struct lull_chart_point {
    double x, y, low, high; /* low and high: an interval of y; NAN: none */
};

struct lull_chart;

struct lull_chart *lull_chart_create(struct lull_arena *arena, const char *title);
/* `unit` is an SI unit without prefix ("B/s"), to which labels add one; "" for plain numbers. */
void lull_chart_x_axis(struct lull_chart *chart, const char *label, const char *unit,
                       enum lull_chart_scale scale);
void lull_chart_y_axis(struct lull_chart *chart, const char *label, const char *unit,
                       enum lull_chart_scale scale);
void lull_chart_series(struct lull_chart *chart, const char *label, enum lull_chart_style style,
                       const struct lull_chart_point *points, size_t count);
/* How much of something there is, in rectangles of the same size that cover a part of the plot.
 * Only for linear axes. Neighbours of the same level in a row are drawn as one, so that the size of
 * the drawing does not depend on what it stands for. */
enum { LULL_RASTER_LEVELS = 5 }; /* 0: nothing, drawn as the background */
struct lull_chart_raster {
    double left, right, bottom, top; /* edges, in values of the axes */
    uint32_t columns, rows;
    const uint8_t *levels; /* [rows][columns], the lowest row first; borrowed */
};
void lull_chart_raster(struct lull_chart *chart, const char *label,
                       const struct lull_chart_raster *raster);
/* A vertical line over the whole height with a text at its top: the size of a cache. Marks outside
 * of the x axis are not shown. */
void lull_chart_mark(struct lull_chart *chart, double x, const char *label);

/* Errors of the stream stay in ferror(). A chart without a point that can be shown says so. */
void lull_chart_write(const struct lull_chart *chart, FILE *out);
/* As a file, as lull_file_write does (base/output_file.h). */
lull_status lull_chart_save(const char *path, const struct lull_chart *chart,
                            struct lull_error *err);

/* The same to stand inside of a page that has lull_asset_chart_style (report/asset.h) once for all
 * of its charts: without rules and attributes of style. */
void lull_chart_write_inline(const struct lull_chart *chart, FILE *out);

/* ==== the inside of a chart =================================================================== */

/* Internal to the report room. */

struct lull_axis {
    const char *label, *unit;
    enum lull_chart_scale scale;
    double low, high; /* ends of the range, found from the points */
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

/* ==== waterfalls ============================================================================== */

/* A waterfall as SVG: how one amount becomes another in steps. Each step is a bar, which begins
 * where the one before ended; the first and the last bar are the whole amounts and begin at 0. */

struct lull_waterfall_step {
    const char *label;
    double from, to;  /* amounts; of a whole amount `from` is 0 */
    const char *text; /* stands beside the bar */
};

struct lull_waterfall {
    const char *title;
    const struct lull_waterfall_step *steps;
    size_t count;
};

/* Writes the waterfall into a file, as lull_file_write does (base/output_file.h). Where steps would
 * be too short to see, the axis does not begin at 0 but just below the lowest step; then the bars
 * of the whole amounts are drawn broken. */
lull_status lull_waterfall_save(const char *path, const struct lull_waterfall *waterfall,
                                struct lull_error *err);

#endif
