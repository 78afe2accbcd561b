#include "view/wave/wave_charts.h"

#include <math.h>

enum {
    COLUMNS = 306, /* two pixels each */
    ROWS = 160,
    MOST_POINTS = 400, /* of a direction */
    MOST_SHOWN = 3     /* waves whose amplitude is drawn */
};

/* ---- ranks over time --------------------------------------------------------------------------
 */

struct window {
    int64_t from, to; /* ns */
    uint32_t first_rank, n_ranks, rows;
    double *shares; /* [rows][COLUMNS]: of the time of the row's ranks */
};

static int64_t end_of(const struct lull_wave_field *field, uint32_t rank, int32_t iteration)
{
    int32_t last = (int32_t)field->n_iterations - 1;
    return field->rows[rank].cells[iteration < last ? iteration : last].end;
}

/* All ranks, or where waves reached less than half of them, those and some around them. */
static struct window find_ranks(const struct lull_wave_scene *scene)
{
    uint32_t n = scene->field->n_ranks, low = n, high = 0;
    for (uint32_t w = 0; w < scene->waves.count; w++) {
        const struct lull_wave *wave = &scene->waves.waves[w];
        for (uint32_t r = 0; r < n; r++)
            if (r == wave->rank || wave->path.arrivals[r] >= 0) {
                low = r < low ? r : low;
                high = r > high ? r : high;
            }
    }
    struct window window = {0, scene->runtime, 0, n, n < ROWS ? n : ROWS, NULL};
    if (low > high || high - low >= n / 2)
        return window;
    uint32_t margin = (high - low) / 4 + 2;
    low = low > margin ? low - margin : 0;
    high = n - 1 - high > margin ? high + margin : n - 1;
    window.first_rank = low;
    window.n_ranks = high - low + 1;
    window.rows = window.n_ranks < ROWS ? window.n_ranks : ROWS;
    return window;
}

/* From before the first wave to behind the last one; of a run without waves all. */
static struct window find_window(const struct lull_wave_scene *scene)
{
    const struct lull_wave_field *field = scene->field;
    struct window window = find_ranks(scene);
    int64_t first = INT64_MAX, last = 0;
    for (uint32_t w = 0; w < scene->waves.count; w++) {
        const struct lull_wave *wave = &scene->waves.waves[w];
        const struct lull_wave_front *fronts[2] = {&wave->up, &wave->down};
        first = wave->begin < first ? wave->begin : first;
        for (unsigned f = 0; f < 2; f++) {
            int64_t end = fronts[f]->n_ranks
                              ? end_of(field, fronts[f]->last_rank, fronts[f]->last_iteration)
                              : wave->begin + wave->length;
            last = end > last ? end : last;
        }
    }
    if (scene->waves.count == 0)
        return window;
    int64_t margin = (last - first) / 10 + (int64_t)scene->waves.usual.cycle;
    window.from = first > margin ? first - margin : 0;
    window.to = last + margin < window.to ? last + margin : window.to;
    return window;
}

static uint32_t row_of(const struct window *window, uint32_t rank)
{
    return (uint32_t)((uint64_t)(rank - window->first_rank) * window->rows / window->n_ranks);
}

/* The lowest rank of a row, counted from the first that is shown. */
static uint32_t first_of(const struct window *window, uint32_t row)
{
    return (uint32_t)(((uint64_t)row * window->n_ranks + window->rows - 1) / window->rows);
}

/* Adds a span of a rank to the columns that it covers. */
static void add_span(struct window *window, uint32_t rank, int64_t begin, int64_t end)
{
    double scale = (double)COLUMNS / (double)(window->to - window->from);
    double low = fmax(0, (double)(begin - window->from) * scale);
    double high = fmin(COLUMNS, (double)(end - window->from) * scale);
    double *shares = &window->shares[(size_t)row_of(window, rank) * COLUMNS];
    for (uint32_t c = (uint32_t)low; (double)c < high; c++)
        shares[c] += fmin(high, c + 1.0) - fmax(low, c);
}

static void add_waits(struct window *window, const struct lull_wave_field *field)
{
    for (uint32_t r = window->first_rank; r < window->first_rank + window->n_ranks; r++)
        for (uint32_t i = 0; i < field->n_iterations; i++) {
            const struct lull_wave_cell *cell = &field->rows[r].cells[i];
            if (cell->end <= window->from)
                continue;
            if (cell->end - cell->wait >= window->to)
                break;
            add_span(window, r, cell->end - cell->wait, cell->end);
        }
}

/* Levels from shares. `any`: something in a row is shown at once. */
static void add_layer(struct lull_chart *chart, const char *label, const struct window *window,
                      bool any, struct lull_arena *arena)
{
    size_t count = (size_t)window->rows * COLUMNS;
    uint8_t *levels = lull_arena_zero(arena, count, 1);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = (uint32_t)(i / COLUMNS);
        double share = window->shares[i] / (first_of(window, row + 1) - first_of(window, row));
        levels[i] = any ? (window->shares[i] > 0 ? LULL_RASTER_LEVELS - 1 : 0)
                        : (uint8_t)(share * (LULL_RASTER_LEVELS - 1) + 0.5);
        window->shares[i] = 0;
    }
    const struct lull_chart_raster raster = {(double)window->from / 1e9,
                                             (double)window->to / 1e9,
                                             window->first_rank,
                                             (double)window->first_rank + window->n_ranks,
                                             COLUMNS,
                                             window->rows,
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
    struct window window = find_window(scene);
    window.shares = lull_arena_zero(arena, (size_t)window.rows * COLUMNS, sizeof(double));
    lull_chart_x_axis(chart, "time", "s", LULL_CHART_LINEAR);
    lull_chart_y_axis(chart, "rank", "", LULL_CHART_NUMBERS);
    if (window.to <= window.from)
        return chart;
    add_waits(&window, scene->field);
    add_layer(chart, "waiting in MPI", &window, false, arena);
    for (uint32_t w = 0; w < scene->waves.count; w++) {
        const struct lull_wave *wave = &scene->waves.waves[w];
        add_span(&window, wave->rank, wave->begin, wave->begin + wave->length);
    }
    add_layer(chart, "late", &window, true, arena);
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
        sums[bin] +=
            (double)lull_wave_idle(scene->field, r, (uint32_t)wave->path.arrivals[r]) / 1e9;
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
