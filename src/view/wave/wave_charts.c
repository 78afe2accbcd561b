#include "view/wave/wave_charts.h"

#include <math.h>

enum {
    MOST_POINTS = 400, /* of a direction */
    MOST_SHOWN = 3     /* waves whose amplitude is drawn */
};

/* ---- ranks over time --------------------------------------------------------------------------
 */

/* Levels from units. `any`: something in a row is shown at once. */
static void add_layer(struct lull_chart *chart, const char *label,
                      const struct lull_wave_raster *shown, const int64_t *units, bool any,
                      struct lull_arena *arena)
{
    size_t count = (size_t)shown->rows * LULL_WAVE_RASTER_COLUMNS;
    uint8_t *levels = lull_arena_zero(arena, count, 1);
    for (size_t i = 0; i < count; i++) {
        const uint32_t row = (uint32_t)(i / LULL_WAVE_RASTER_COLUMNS);
        const uint32_t ranks =
            lull_wave_raster_first_of(shown, row + 1) - lull_wave_raster_first_of(shown, row);
        const double share = (double)units[i] / (double)LULL_WAVE_RASTER_UNIT / ranks;
        levels[i] = any ? (units[i] > 0 ? LULL_RASTER_LEVELS - 1 : 0)
                        : (uint8_t)(share * (LULL_RASTER_LEVELS - 1) + 0.5);
    }
    const struct lull_chart_raster raster = {(double)shown->from / 1e9,
                                             (double)shown->to / 1e9,
                                             shown->first_rank,
                                             (double)shown->first_rank + shown->n_ranks,
                                             LULL_WAVE_RASTER_COLUMNS,
                                             shown->rows,
                                             levels};
    lull_chart_raster(chart, label, &raster);
}

/* From the end of the delay on, with the speed that was found: the front is where what was delayed
 * arrives and ranks go on. */
static void add_front(struct lull_chart *chart, const struct lull_wave *wave,
                      const struct lull_wave_front *front, bool up)
{
    double speed = front->ranks_per_second.value;
    if (front->n_ranks == 0 || !isfinite(speed) || speed <= 0)
        return;
    double begin = (double)(wave->begin + wave->length) / 1e9, sign = up ? 1 : -1;
    const struct lull_chart_point line[2] = {{begin, wave->rank + 0.5, NAN, NAN},
                                             {begin + (double)front->distance / speed,
                                              wave->rank + 0.5 + sign * (double)front->distance,
                                              NAN, NAN}};
    lull_chart_series(chart, "", LULL_CHART_CURVE, line, 2);
}

const struct lull_chart *lull_wave_chart(const struct lull_wave_scene *scene,
                                         struct lull_arena *arena)
{
    struct lull_chart *chart = lull_chart_create(
        arena, lull_arena_printf(arena, "Idle waves, %s: %u", scene->name, scene->waves.count));
    const struct lull_wave_raster *raster = scene->raster;
    lull_chart_x_axis(chart, "time", "s", LULL_CHART_LINEAR);
    lull_chart_y_axis(chart, "rank", "", LULL_CHART_NUMBERS);
    if (!raster || raster->to <= raster->from)
        return chart;
    add_layer(chart, "waiting in MPI", raster, raster->waits, false, arena);
    add_layer(chart, "late", raster, raster->late, true, arena);
    lull_chart_series(chart, "fitted front", LULL_CHART_LINE, NULL, 0);
    for (uint32_t w = 0; w < scene->waves.count; w++) {
        const struct lull_wave *wave = &scene->waves.waves[w];
        add_front(chart, wave, &wave->up, true);
        add_front(chart, wave, &wave->down, false);
    }
    return chart;
}

/* ---- amplitude over distance ------------------------------------------------------------------
 */

/* Means over as many bins of distance as there are points at most. */
static void add_amplitudes(struct lull_chart *chart, const struct lull_wave_scene *scene,
                           uint32_t number, bool up, struct lull_arena *arena)
{
    const struct lull_wave *wave = &scene->waves.waves[number];
    const struct lull_wave_front *front = up ? &wave->up : &wave->down;
    if (front->distance == 0)
        return;
    int64_t bins = front->distance < MOST_POINTS ? front->distance : MOST_POINTS;
    double *sums = lull_arena_zero(arena, (size_t)bins, sizeof *sums);
    double *distances = lull_arena_zero(arena, (size_t)bins, sizeof *distances);
    uint32_t *counts = lull_arena_zero(arena, (size_t)bins, sizeof *counts);
    for (uint32_t r = 0; r < scene->field->n_ranks; r++) {
        int64_t distance = up ? wave->path.offsets[r] : -(int64_t)wave->path.offsets[r];
        if (wave->path.arrivals[r] < 0 || wave->path.carriers[r] || distance <= 0 ||
            distance > front->distance)
            continue;
        int64_t bin = (distance - 1) * bins / front->distance;
        sums[bin] += (double)lull_wave_idle_at_arrival(&scene->waves, wave, r) / 1e9;
        distances[bin] += (double)distance;
        counts[bin]++;
    }
    struct lull_chart_point *points = lull_arena_zero(arena, (size_t)bins, sizeof *points);
    size_t count = 0;
    for (int64_t b = 0; b < bins; b++)
        if (counts[b])
            points[count++] =
                (struct lull_chart_point){distances[b] / counts[b], sums[b] / counts[b], NAN, NAN};
    const char *direction = up ? "up" : "down";
    lull_chart_series(chart,
                      scene->waves.count > 1
                          ? lull_arena_printf(arena, "wave %u, %s", number + 1, direction)
                          : direction,
                      LULL_CHART_POINTS, points, count);
}

const struct lull_chart *lull_wave_amplitude_chart(const struct lull_wave_scene *scene,
                                                   const struct lull_wave_prediction *predicted,
                                                   struct lull_arena *arena)
{
    struct lull_chart *chart =
        lull_chart_create(arena, "How long ranks were idle, over their distance from the late one");
    lull_chart_x_axis(chart, "distance in ranks", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "idle", "s", LULL_CHART_LINEAR);
    for (uint32_t w = 0; w < scene->waves.count && w < MOST_SHOWN; w++) {
        add_amplitudes(chart, scene, w, true, arena);
        add_amplitudes(chart, scene, w, false, arena);
    }
    if (scene->waves.count && isfinite(predicted->decay)) {
        const struct lull_wave *wave = &scene->waves.waves[0];
        double far = (double)(wave->up.distance > wave->down.distance ? wave->up.distance
                                                                      : wave->down.distance);
        double length = (double)wave->length, left = length - predicted->decay * far;
        if (left < 0) {
            far = length / predicted->decay;
            left = 0;
        }
        const struct lull_chart_point line[2] = {{0, length / 1e9, NAN, NAN},
                                                 {far, left / 1e9, NAN, NAN}};
        lull_chart_series(chart, "predicted decay", LULL_CHART_CURVE, line, 2);
    }
    return chart;
}
