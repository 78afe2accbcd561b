#include "view/kernel/kernel_document.h"

#include <math.h>

static struct lull_chart_point point(double x, double y)
{
    return (struct lull_chart_point){x, y, NAN, NAN};
}

static const char *work_unit(const struct lull_roofline *roofline)
{
    return roofline->counts_flops ? "flop" : "it";
}

/* ---- roofline ------------------------------------------------------------------------------- */

static double ceiling(const struct lull_roofline *roofline)
{
    return isfinite(roofline->peak) ? roofline->peak : roofline->in_core;
}

/* Up the slope of the bandwidth, then along the ceiling. */
static void add_roof(struct lull_chart *chart, const struct lull_roofline *roofline, size_t number,
                     double left, double right, enum lull_chart_style style,
                     struct lull_arena *arena)
{
    double top = ceiling(roofline), bandwidth = roofline->roofs[number].bandwidth;
    struct lull_chart_point points[] = {point(left, fmin(top, left * bandwidth)),
                                        point(top / bandwidth, top), point(right, top)};
    lull_chart_series(chart,
                      lull_arena_printf(arena, "%s, %u core%s", roofline->roofs[number].level,
                                        roofline->cores, roofline->cores == 1 ? "" : "s"),
                      style, points, 3);
}

static void widen(const struct lull_roofline *roofline, double *left, double *right)
{
    for (size_t i = 0; i < roofline->n_roofs; i++) {
        double knee = ceiling(roofline) / roofline->roofs[i].bandwidth;
        *right = fmax(*right, 2 * knee);
        *left = fmin(*left, knee / 10);
        if (isfinite(roofline->roofs[i].intensity)) {
            *left = fmin(*left, roofline->roofs[i].intensity / 2);
            *right = fmax(*right, roofline->roofs[i].intensity * 2);
        }
    }
}

/* The farthest level that data travel from; NULL: none do. */
static const struct lull_roof *farthest(const struct lull_roofline *roofline)
{
    for (size_t i = roofline->n_roofs; i-- > 0;)
        if (isfinite(roofline->roofs[i].intensity))
            return &roofline->roofs[i];
    return NULL;
}

static unsigned line_of(const struct lull_kernel_prediction *prediction)
{
    return prediction->kernel->loops[prediction->kernel->body].line;
}

struct lull_chart *lull_kernel_roofline_chart(const struct lull_kernel_prediction *prediction,
                                              const struct lull_roofline *all,
                                              const struct lull_kernel_measured *measured,
                                              struct lull_arena *arena)
{
    const struct lull_roofline *roofline = &prediction->roofline;
    /* Of several loops each has its own roofs. */
    bool several = prediction->n_loops > 0;
    struct lull_chart *chart = lull_chart_create(
        arena, several ? lull_arena_printf(arena, "Roofline of %s, busiest loop: line %u",
                                           prediction->kernel->name, line_of(prediction))
                       : lull_arena_printf(arena, "Roofline of %s", prediction->kernel->name));
    double left = INFINITY, right = 0;
    const char *unit = work_unit(roofline);
    widen(roofline, &left, &right);
    if (all)
        widen(all, &left, &right);
    lull_chart_x_axis(chart, lull_arena_printf(arena, "Intensity (%s/B)", unit), "",
                      LULL_CHART_LOG);
    lull_chart_y_axis(chart, "Performance", lull_arena_printf(arena, "%s/s", unit), LULL_CHART_LOG);
    for (size_t i = 0; i < roofline->n_roofs; i++) {
        add_roof(chart, roofline, i, left, right, LULL_CHART_LINE, arena);
        if (all)
            add_roof(chart, all, i, left, right, LULL_CHART_CURVE, arena);
    }
    for (size_t i = 0; i < roofline->n_roofs; i++) {
        const struct lull_roof *roof = &roofline->roofs[i];
        struct lull_chart_point at =
            point(roof->intensity, fmin(roof->limit, fmin(roofline->peak, roofline->in_core)));
        if (isfinite(roof->intensity))
            lull_chart_series(
                chart, lull_arena_printf(arena, "%s at %s", prediction->kernel->name, roof->level),
                LULL_CHART_POINTS, &at, 1);
    }
    const struct lull_roof *last = farthest(roofline);
    if (measured && last && !several) {
        double rate = lull_prediction_rate(prediction, prediction->cycles) *
                      (1 + lull_kernel_error(prediction, measured)) * measured->cores;
        struct lull_chart_point at = point(last->intensity, rate);
        lull_chart_series(chart, "measured", LULL_CHART_POINTS, &at, 1);
    }
    return chart;
}

/* ---- cores ---------------------------------------------------------------------------------- */

struct lull_chart *lull_kernel_cores_chart(const struct lull_kernel_prediction *prediction,
                                           struct lull_arena *arena)
{
    size_t count = prediction->n_points;
    struct lull_chart_point *naive = lull_arena_zero(arena, count + 1, sizeof *naive);
    struct lull_chart_point *latency = lull_arena_zero(arena, count + 1, sizeof *latency);
    struct lull_chart_point roof[2];
    struct lull_chart *chart = lull_chart_create(
        arena, lull_arena_printf(arena, "ECM: %s over cores", prediction->kernel->name));
    const char *unit = work_unit(&prediction->roofline);
    lull_chart_x_axis(chart, "Cores", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "Performance", lull_arena_printf(arena, "%s/s", unit),
                      LULL_CHART_LINEAR);
    for (size_t i = 0; i < count; i++) {
        naive[i] = point(prediction->points[i].cores, prediction->points[i].naive);
        latency[i] = point(prediction->points[i].cores, prediction->points[i].latency);
    }
    lull_chart_series(chart, "naive saturation", LULL_CHART_LINE, naive, count);
    lull_chart_series(chart, "with latency penalty", LULL_CHART_LINE, latency, count);
    if (prediction->ecm.shared > 0) {
        double limit = lull_prediction_rate(prediction, prediction->ecm.shared);
        roof[0] = point(1, limit);
        roof[1] = point((double)count, limit);
        lull_chart_series(chart, "bandwidth of memory", LULL_CHART_CURVE, roof, 2);
    }
    return chart;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* Without the chain; of a nest the sum of its loops. */
static double in_core(const struct lull_kernel_prediction *prediction)
{
    double sum = 0;
    for (size_t l = 0; l < prediction->n_loops; l++)
        sum += prediction->loops[l].weight * in_core(&prediction->loops[l]);
    return prediction->n_loops > 0 ? sum : lull_ecm_time(&prediction->ecm, 0);
}

struct lull_chart *lull_kernel_sweep_chart(const struct lull_kernel_prediction *predictions,
                                           const double *values, size_t count, const char *size,
                                           const struct lull_kernel_measured *measured,
                                           struct lull_arena *arena)
{
    struct lull_chart_point *points = lull_arena_zero(arena, count + 1, sizeof *points);
    struct lull_chart *chart = lull_chart_create(
        arena, lull_arena_printf(arena, "ECM: %s over %s", predictions[0].kernel->name, size));
    lull_chart_x_axis(chart, size, "", LULL_CHART_LOG);
    lull_chart_y_axis(chart, "Cycles per unit of work", "", LULL_CHART_LINEAR);
    for (size_t i = 0; i < count; i++)
        points[i] = point(values[i], predictions[i].cycles);
    lull_chart_series(chart, "ECM", LULL_CHART_LINE, points, count);
    for (size_t i = 0; i < count; i++)
        points[i] = point(values[i], in_core(&predictions[i]));
    lull_chart_series(chart, "in core", LULL_CHART_LINE, points, count);
    for (size_t l = 0; l < predictions[0].ecm.n_links; l++) {
        for (size_t i = 0; i < count; i++)
            points[i] = point(values[i], predictions[i].ecm.links[l].cycles);
        lull_chart_series(chart, predictions[0].ecm.links[l].name, LULL_CHART_LINE, points, count);
    }
    for (size_t i = 0; measured && i < count; i++)
        points[i] = point(values[i], predictions[i].cycles /
                                         (1 + lull_kernel_error(&predictions[i], &measured[i])));
    if (measured)
        lull_chart_series(chart, "measured", LULL_CHART_POINTS, points, count);
    return chart;
}
