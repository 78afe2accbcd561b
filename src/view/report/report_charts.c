#include "metrics/pop.h"
#include "view/report/report_parts.h"

#include <math.h>

/* The runs along the x axis: all threads of each. */
static struct lull_chart *chart_of_runs(struct lull_arena *arena, const char *title,
                                        const char *what, const char *unit)
{
    struct lull_chart *chart = lull_chart_create(arena, title);
    lull_chart_x_axis(chart, "threads of all processes", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, what, unit, LULL_CHART_LINEAR);
    return chart;
}

static struct lull_chart_point *points_of_metric(const struct lull_runs *runs, int metric,
                                                 struct lull_arena *arena)
{
    struct lull_chart_point *points = lull_arena_zero(arena, runs->count, sizeof *points);
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_metric_value *value = &runs->runs[i].values[metric];
        points[i] = (struct lull_chart_point){runs->runs[i].threads,
                                              value->absent ? NAN : value->value, NAN, NAN};
    }
    return points;
}

static void add_speedup(struct lull_document *document, const struct lull_runs *runs,
                        struct lull_arena *arena)
{
    const int metric = lull_metric_find("speedup");
    const uint32_t least = runs->runs[runs->reference].threads;
    struct lull_chart *chart = chart_of_runs(arena, "Speedup", "speedup", "");
    struct lull_chart_point *ideal = lull_arena_zero(arena, runs->count, sizeof *ideal);
    lull_chart_series(chart, "measured", LULL_CHART_LINE, points_of_metric(runs, metric, arena),
                      runs->count);
    for (uint32_t i = 0; i < runs->count; i++)
        ideal[i] = (struct lull_chart_point){runs->runs[i].threads,
                                             (double)runs->runs[i].threads / least, NAN, NAN};
    lull_chart_series(chart, "ideal", LULL_CHART_CURVE, ideal, runs->count);
    lull_document_chart(document, "speedup", chart);
}

static void add_efficiencies(struct lull_document *document, const struct lull_runs *runs,
                             struct lull_arena *arena)
{
    static const char *const ids[] = {"global_efficiency", "parallel_efficiency",
                                      "computation_scaling"};
    struct lull_chart *chart = chart_of_runs(arena, "Efficiencies", "1 is ideal", "");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const int metric = lull_metric_find(ids[i]);
        if (metric >= 0)
            lull_chart_series(chart, lull_metric_defs[metric].label, LULL_CHART_LINE,
                              points_of_metric(runs, metric, arena), runs->count);
    }
    lull_document_chart(document, "efficiencies", chart);
}

/* ---- lost core time ------------------------------------------------------------------------ */

enum loss { LOSS_MESSAGES, LOSS_MPI, LOSS_OPENMP, LOSS_IDLE, LOSS_REST, LOSS_LONGER, LOSSES };

static const char *const loss_labels[LOSSES] = {
    [LOSS_MESSAGES] = "MPI messages",   [LOSS_MPI] = "other MPI",
    [LOSS_OPENMP] = "OpenMP",           [LOSS_IDLE] = "idle",
    [LOSS_REST] = "I/O, tracer, other", [LOSS_LONGER] = "longer computation",
};

static enum loss loss_of(unsigned activity)
{
    switch (activity) {
    case LULL_MPI_P2P:
        return LOSS_MESSAGES;
    case LULL_MPI_COLLECTIVE:
    case LULL_MPI_ONE_SIDED:
    case LULL_MPI_IO:
    case LULL_MPI_OTHER:
        return LOSS_MPI;
    case LULL_OMP_SYNC:
    case LULL_OMP_SCHEDULE:
    case LULL_OMP_LOCK:
        return LOSS_OPENMP;
    case LULL_IDLE:
        return LOSS_IDLE;
    default:
        return LOSS_REST;
    }
}

/* Seconds of all CPU threads that were not useful, by cause; returns the useful ones. */
static double find_losses(const struct lull_breakdown *breakdown, double losses[LOSSES])
{
    double useful = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        if (thread->kind == LULL_LOCATION_DEVICE)
            continue;
        for (unsigned activity = 0; activity < LULL_ACTIVITIES; activity++) {
            double s =
                1e-9 * (double)(thread->times.ns[activity][0] + thread->times.ns[activity][1]);
            if (activity == LULL_USEFUL)
                useful += s;
            else
                losses[loss_of(activity)] += s;
        }
    }
    return useful;
}

/* Stacked. Useful time beyond that of the reference is lost as well where the problem is the same.
 */
static void add_losses(struct lull_document *document, const struct lull_runs *runs,
                       struct lull_arena *arena)
{
    double(*losses)[LOSSES] = lull_arena_zero(arena, runs->count, sizeof *losses);
    double *bottom = lull_arena_zero(arena, runs->count, sizeof *bottom);
    double *useful = lull_arena_zero(arena, runs->count, sizeof *useful);
    for (uint32_t i = 0; i < runs->count; i++)
        useful[i] = find_losses(runs->runs[i].breakdown, losses[i]);
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->scaling == LULL_SCALING_STRONG)
            losses[i][LOSS_LONGER] = fmax(0, useful[i] - useful[runs->reference]);
    struct lull_chart *chart =
        chart_of_runs(arena, "Lost time of all threads, by cause", "core-seconds", "");
    for (unsigned loss = 0; loss < LOSSES; loss++) {
        struct lull_chart_point *points = lull_arena_zero(arena, runs->count, sizeof *points);
        double most = 0;
        for (uint32_t i = 0; i < runs->count; i++) {
            double top = bottom[i] + losses[i][loss];
            points[i] = (struct lull_chart_point){runs->runs[i].threads, top, bottom[i], top};
            bottom[i] = top;
            most = fmax(most, losses[i][loss]);
        }
        if (most > 0)
            lull_chart_series(chart, loss_labels[loss], LULL_CHART_AREA, points, runs->count);
    }
    lull_document_chart(document, "losses", chart);
}

void lull_report_add_charts(struct lull_document *document, const struct lull_runs *runs,
                            struct lull_arena *arena)
{
    bool differ = false;
    for (uint32_t i = 1; i < runs->count; i++)
        differ |= runs->runs[i].threads != runs->runs[0].threads;
    if (!differ)
        return;
    add_speedup(document, runs, arena);
    add_efficiencies(document, runs, arena);
    add_losses(document, runs, arena);
}
