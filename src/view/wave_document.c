/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/wave_document.h"

#include "base/collective.h"
#include "view/document_parts.h"

#include <math.h>
#include <stdlib.h>

/* ==== one wave ================================================================================ */

/* One wave as a table and as JSON. */

/* A wave with all that is known of it. */
struct wave_shown {
    const struct lull_wave *wave; /* NULL: none was found */
    const struct lull_wave_prediction *predicted;
    const struct lull_wave *replayed; /* the same wave in the replay; NULL: none */
    double cost;                      /* ns; NAN: not known */
    /* The first wave of a repeated simulation has means over the runs here; NULL: the wave's own
     * numbers count. */
    const struct lull_wave_case *repeated;
};

/* What the keys `predicted` and `waves` hold. */
struct wave_json {
    const struct lull_wave_prediction *predicted; /* NULL: there is none */
    const struct wave_shown *shown;
    uint32_t count;
};

static const struct lull_wave_value no_value = {NAN, NAN, NAN};

/* ---- one wave as a table --------------------------------------------------------------------- */

enum column { PREDICTED, FOUND, LOW, HIGH, DIFFERENCE, REPLAYED };

struct sheet {
    struct lull_table *table;
    uint32_t parent;
    bool replayed;
};

/* A row of numbers. Text shows them with `digits` decimals, or as times if `time` is set. */
struct quantity {
    const char *id, *label, *unit;
    int digits;
    bool time;
};

static struct lull_cell cell_of_quantity(const struct quantity *quantity, double value)
{
    if (isnan(value))
        return (struct lull_cell){.kind = LULL_CELL_EMPTY};
    if (isinf(value))
        return lull_cell_text(value > 0 ? "unlimited" : "unknown");
    return quantity->time ? lull_cell_time((int64_t)llround(value))
                          : lull_cell_number(value, quantity->digits);
}

static void add_quantity_row(const struct sheet *sheet, const struct quantity *quantity,
                             double predicted, struct lull_wave_value found,
                             struct lull_wave_value replayed)
{
    if (isnan(predicted) && isnan(found.value))
        return;
    uint32_t row = lull_table_row(sheet->table, quantity->id, quantity->label, sheet->parent);
    if (quantity->unit)
        lull_table_row_unit(sheet->table, row, quantity->unit);
    lull_table_set(sheet->table, row, PREDICTED, cell_of_quantity(quantity, predicted));
    lull_table_set(sheet->table, row, FOUND, cell_of_quantity(quantity, found.value));
    lull_table_set(sheet->table, row, LOW, cell_of_quantity(quantity, found.low));
    lull_table_set(sheet->table, row, HIGH, cell_of_quantity(quantity, found.high));
    if (predicted != 0 && isfinite(predicted) && isfinite(found.value))
        lull_table_set(sheet->table, row, DIFFERENCE, lull_cell_share(found.value / predicted - 1));
    if (sheet->replayed)
        lull_table_set(sheet->table, row, REPLAYED, cell_of_quantity(quantity, replayed.value));
}

static void add_cell(const struct sheet *sheet, const char *id, const char *label,
                     struct lull_cell cell)
{
    uint32_t row = lull_table_row(sheet->table, id, label, sheet->parent);
    lull_table_set(sheet->table, row, FOUND, cell);
}

/* Tells why a front ended, and at which rank: "rank 31: boundary". */
static const char *wave_end_words(const struct lull_wave_front *front, struct lull_arena *arena)
{
    const char *why = lull_wave_end_text(front->end);
    if (front->end == LULL_WAVE_END_NONE)
        return why;
    if (front->end == LULL_WAVE_END_COLLECTIVE)
        why = lull_collective_name(front->operation);
    return front->distance ? lull_arena_printf(arena, "rank %u: %s", front->last_rank, why) : why;
}

static void add_direction(const struct sheet *sheet, const struct wave_shown *shown, bool up)
{
    static const struct quantity speeds[2][2] = {
        {{"down_ranks_per_iteration", "Speed down, ranks per iteration", NULL, 3, false},
         {"down_ranks_per_second", "Speed down, ranks per second", NULL, 1, false}},
        {{"up_ranks_per_iteration", "Speed up, ranks per iteration", NULL, 3, false},
         {"up_ranks_per_second", "Speed up, ranks per second", NULL, 1, false}}};
    const struct lull_wave_prediction *predicted = shown->predicted;
    const struct lull_wave_front *front = !shown->wave ? NULL
                                          : up         ? &shown->wave->up
                                                       : &shown->wave->down;
    const struct lull_wave_front *replayed = !shown->replayed ? NULL
                                             : up             ? &shown->replayed->up
                                                              : &shown->replayed->down;
    struct lull_wave_value found = front ? front->ranks_per_iteration : no_value;
    if (shown->repeated)
        found = up ? shown->repeated->up : shown->repeated->down;
    add_quantity_row(sheet, &speeds[up][0], up ? predicted->up.value : predicted->down.value, found,
                     replayed ? replayed->ranks_per_iteration : no_value);
    add_quantity_row(sheet, &speeds[up][1],
                     up ? predicted->up_per_second : predicted->down_per_second,
                     front ? front->ranks_per_second : no_value,
                     replayed ? replayed->ranks_per_second : no_value);
}

/* Adds what a wave is called by: where and when its delay was, and how many ranks it reached. */
static void add_origin(const struct sheet *sheet, const struct lull_wave *wave)
{
    add_cell(sheet, "origin_rank", "Delayed rank", lull_cell_number(wave->rank, 0));
    add_cell(sheet, "origin_iteration", "In iteration", lull_cell_number(wave->iteration, 0));
    if (wave->n_delayed > 1)
        add_cell(sheet, "origin_iterations", "Iterations", lull_cell_count(wave->n_delayed));
    add_cell(sheet, "origin_time", "At", lull_cell_time(wave->begin));
    if (wave->within_call)
        add_cell(sheet, "origin_where", "In", lull_cell_text("a call of MPI"));
    add_cell(sheet, "length", "By", lull_cell_time(wave->length));
    add_cell(sheet, "ranks_reached", "Ranks made idle", lull_cell_count(wave->n_ranks));
}

static double reached_distance(const struct lull_wave *wave)
{
    return (double)(wave->up.distance > wave->down.distance ? wave->up.distance
                                                            : wave->down.distance);
}

/* Whether a wave decayed until noise hid it; false: something else ended it before. */
static bool was_lost(const struct lull_wave *wave)
{
    return wave->up.end == LULL_WAVE_END_NOISE || wave->down.end == LULL_WAVE_END_NOISE;
}

/* Adds the table of a wave. `scene` heads the column of what was found: "Simulated". */
static void wave_table(struct lull_document *document, const struct wave_shown *shown,
                       uint32_t number, const char *scene, struct lull_arena *arena)
{
    static const struct quantity decay = {"decay", "Decay per rank", NULL, 0, true},
                                 survival = {"survival", "Ranks until it is gone", NULL, 1, false},
                                 hops = {"hops", "Speed in messages per iteration", NULL, 3, false},
                                 cost = {"cost", "Run is longer by", NULL, 0, true};
    const struct lull_wave *wave = shown->wave;
    struct sheet sheet = {.parent = LULL_NO_ROW, .replayed = shown->replayed};
    sheet.table = lull_document_table(
        document, lull_arena_printf(arena, "wave%u", number),
        wave ? lull_arena_printf(arena, "Wave %u", number) : "Prediction", LULL_BY_ROW);
    lull_table_corner(sheet.table, "Quantity");
    lull_table_column(sheet.table, "predicted", "Predicted");
    lull_table_column(sheet.table, "found", scene);
    lull_table_column(sheet.table, "low", "From");
    lull_table_column(sheet.table, "high", "To");
    lull_table_column(sheet.table, "difference", "Difference");
    if (sheet.replayed)
        lull_table_column(sheet.table, "replayed", "Replayed");
    if (wave)
        add_origin(&sheet, wave);
    add_direction(&sheet, shown, true);
    add_direction(&sheet, shown, false);
    add_quantity_row(&sheet, &hops, NAN, wave ? wave->hops_per_iteration : no_value,
                     shown->replayed ? shown->replayed->hops_per_iteration : no_value);
    struct lull_wave_value found = shown->repeated ? shown->repeated->decay
                                   : wave          ? wave->decay
                                                   : no_value;
    add_quantity_row(&sheet, &decay, shown->predicted->decay, found,
                     shown->replayed ? shown->replayed->decay : no_value);
    add_quantity_row(&sheet, &survival, shown->predicted->survival,
                     wave && was_lost(wave)
                         ? (struct lull_wave_value){reached_distance(wave), NAN, NAN}
                         : no_value,
                     no_value);
    if (wave) {
        add_cell(&sheet, "end_up", "End up", lull_cell_text(wave_end_words(&wave->up, arena)));
        add_cell(&sheet, "end_down", "End down",
                 lull_cell_text(wave_end_words(&wave->down, arena)));
        add_quantity_row(&sheet, &cost, NAN, (struct lull_wave_value){shown->cost, NAN, NAN},
                         no_value);
    }
}

/* ---- delays of two ranks ---------------------------------------------------------------------- */

/* Between two ranks a delay goes no further than to the other one: it has no speed and no decay, and
 * is a row of a list. */
enum { TRAVELS_LEAST = 3, MOST_DELAYS = 10 };

static int compare_lengths(const void *a, const void *b)
{
    const struct wave_shown *x = *(const struct wave_shown *const *)a,
                            *y = *(const struct wave_shown *const *)b;
    if (x->wave->length != y->wave->length)
        return x->wave->length > y->wave->length ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_delay(struct lull_table *table, const struct wave_shown *shown,
                      struct lull_arena *arena)
{
    const struct lull_wave *wave = shown->wave;
    const uint32_t row =
        lull_table_row(table, lull_arena_printf(arena, "%u/%d", wave->rank, wave->iteration),
                       lull_arena_printf(arena, "%u", wave->rank), LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_count((uint64_t)wave->iteration));
    lull_table_set(table, row, 1, lull_cell_time(wave->begin));
    lull_table_set(table, row, 2, lull_cell_time(wave->length));
    lull_table_set(table, row, 3,
                   lull_cell_text(wave->within_call ? "a call of MPI" : "its computation"));
    if (isfinite(shown->cost))
        lull_table_set(table, row, 4, lull_cell_time((int64_t)llround(shown->cost)));
}

/* Adds the longest delays as one table. */
static void delays_table(struct lull_document *document, const struct wave_shown *shown,
                         uint32_t count, struct lull_arena *arena)
{
    const struct wave_shown **sorted = lull_arena_zero(arena, count + (size_t)1, sizeof *sorted);
    struct lull_table *table = lull_document_table(
        document, "delays", "Delays for which the other rank waited, the longest first",
        LULL_BY_COLUMN);
    bool costs = false;
    for (uint32_t w = 0; w < count; w++) {
        sorted[w] = &shown[w];
        costs |= isfinite(shown[w].cost);
    }
    qsort(sorted, count, sizeof *sorted, compare_lengths);
    lull_table_corner(table, "Delayed rank");
    lull_table_column(table, "iteration", "in\niteration");
    lull_table_column(table, "time", "at");
    lull_table_column(table, "length", "by");
    lull_table_column(table, "where", "in");
    if (costs)
        lull_table_column(table, "cost", "run is\nlonger by");
    for (uint32_t w = 0; w < count && w < MOST_DELAYS; w++)
        add_delay(table, sorted[w], arena);
    lull_document_note(document, LULL_NOTE_INFO,
                       "A delay goes from one of two ranks to the other and no further: it has no "
                       "speed and no decay.");
    if (count > MOST_DELAYS)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%u more delays are shorter; JSON has all of them.",
                           count - MOST_DELAYS);
}

/* Adds what is known of all waves: a table each, or a list of delays. */
static void add_tables(struct lull_document *document, const struct wave_shown *shown,
                       uint32_t count, uint32_t n_ranks, const char *scene,
                       struct lull_arena *arena)
{
    if (n_ranks < TRAVELS_LEAST && count > 0) {
        delays_table(document, shown, count, arena);
        return;
    }
    for (uint32_t w = 0; w < count; w++)
        wave_table(document, &shown[w], w + 1, scene, arena);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_number(struct lull_json *json, const char *key, double value)
{
    lull_json_key(json, key);
    lull_json_number(json, value);
}

static void put_value(struct lull_json *json, const char *key, struct lull_wave_value value,
                      double unit)
{
    lull_json_key(json, key);
    if (isnan(value.value)) {
        lull_json_null(json);
        return;
    }
    lull_json_object_begin(json);
    put_number(json, "value", value.value * unit);
    put_number(json, "low", value.low * unit);
    put_number(json, "high", value.high * unit);
    lull_json_object_end(json);
}

static void write_predicted(struct lull_json *json, const void *data)
{
    const struct lull_wave_prediction *p = ((const struct wave_json *)data)->predicted;
    if (!p) {
        lull_json_null(json);
        return;
    }
    lull_json_object_begin(json);
    put_number(json, "rank", p->rank);
    put_number(json, "iteration", p->iteration);
    put_number(json, "length_s", p->length / 1e9);
    put_number(json, "kappa_up", p->kappa_up);
    put_number(json, "kappa_down", p->kappa_down);
    lull_json_key(json, "speed");
    lull_json_object_begin(json);
    put_value(json, "up_ranks_per_iteration", p->up, 1);
    put_value(json, "down_ranks_per_iteration", p->down, 1);
    put_number(json, "up_ranks_per_second", p->up_per_second);
    put_number(json, "down_ranks_per_second", p->down_per_second);
    put_number(json, "least_ranks_per_iteration", 1);
    put_number(json, "most_up_ranks_per_iteration", p->up_most);
    put_number(json, "most_down_ranks_per_iteration", p->down_most);
    lull_json_object_end(json);
    put_number(json, "decay", p->decay / 1e9);
    put_number(json, "survival", p->survival);
    lull_json_object_end(json);
}

static void write_front(struct lull_json *json, const char *key,
                        const struct lull_wave_front *front)
{
    lull_json_key(json, key);
    lull_json_object_begin(json);
    put_value(json, "ranks_per_iteration", front->ranks_per_iteration, 1);
    put_value(json, "ranks_per_second", front->ranks_per_second, 1);
    put_number(json, "ranks_reached", front->n_ranks);
    put_number(json, "distance", (double)front->distance);
    lull_json_object_end(json);
}

static void write_end(struct lull_json *json, const char *key, const struct lull_wave_front *front)
{
    lull_json_key(json, key);
    lull_json_object_begin(json);
    lull_json_key(json, "rank");
    if (front->distance)
        lull_json_uint(json, front->last_rank);
    else
        lull_json_null(json);
    lull_json_key(json, "iteration");
    if (front->distance)
        lull_json_int(json, front->last_iteration);
    else
        lull_json_null(json);
    lull_json_key(json, "why");
    lull_json_string(json, lull_wave_end_id(front->end));
    lull_json_key(json, "operation");
    lull_json_string(json, front->end == LULL_WAVE_END_COLLECTIVE
                               ? lull_collective_name(front->operation)
                               : NULL);
    lull_json_object_end(json);
}

static void write_wave(struct lull_json *json, const struct wave_shown *shown)
{
    const struct lull_wave *wave = shown->wave;
    lull_json_object_begin(json);
    lull_json_key(json, "origin");
    lull_json_object_begin(json);
    put_number(json, "rank", wave->rank);
    put_number(json, "iteration", wave->iteration);
    put_number(json, "time_s", (double)wave->begin / 1e9);
    lull_json_key(json, "where");
    lull_json_string(json, wave->within_call ? "call" : "computation");
    lull_json_object_end(json);
    put_number(json, "length_s", (double)wave->length / 1e9);
    put_number(json, "ranks_reached", wave->n_ranks);
    write_front(json, "up", &wave->up);
    write_front(json, "down", &wave->down);
    put_value(json, "messages_per_iteration", wave->hops_per_iteration, 1);
    put_value(json, "decay_s_per_rank", wave->decay, 1e-9);
    lull_json_key(json, "end");
    lull_json_object_begin(json);
    write_end(json, "up", &wave->up);
    write_end(json, "down", &wave->down);
    lull_json_object_end(json);
    put_number(json, "cost_s", shown->cost / 1e9);
    lull_json_object_end(json);
}

static void write_waves(struct lull_json *json, const void *data)
{
    const struct wave_json *content = data;
    lull_json_array_begin(json);
    for (uint32_t w = 0; w < content->count; w++)
        if (content->shown[w].wave)
            write_wave(json, &content->shown[w]);
    lull_json_array_end(json);
}

static void wave_attach(struct lull_document *document, const struct wave_json *content)
{
    lull_document_attach(document, "predicted", write_predicted, content);
    lull_document_attach(document, "waves", write_waves, content);
}

/* ==== charts ================================================================================== */

enum {
    MOST_POINTS = 400, /* points of a direction */
    MOST_SHOWN = 3     /* waves whose amplitude is drawn */
};

/* ---- ranks over time ------------------------------------------------------------------------- */

/* Turns the units of a raster into levels, and adds them to the chart. `any`: a cell has the
 * highest level as soon as any rank in it has something. */
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

/* Draws the front of a wave as a line, with the speed that was found. It begins where the delay
 * ends: then the delayed messages arrive, and the ranks go on. */
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

/* ---- amplitude over distance ----------------------------------------------------------------- */

/* Adds the mean amplitude over the distance, in MOST_POINTS bins of distance at most. */
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

/* ==== documents =============================================================================== */

static struct lull_cell number_or_empty(double value, int digits)
{
    return isfinite(value) ? lull_cell_number(value, digits)
                           : (struct lull_cell){.kind = LULL_CELL_EMPTY};
}

static struct lull_cell time_or_empty(double ns)
{
    return isfinite(ns) ? lull_cell_time((int64_t)llround(ns))
                        : (struct lull_cell){.kind = LULL_CELL_EMPTY};
}

/* Adds what was looked for, and what was not found. */
static void add_looked_for(struct lull_document *document, const struct lull_wave_scene *scene)
{
    const struct lull_waves *waves = &scene->waves;
    lull_document_fact(document, "iterations", "Iterations",
                       lull_cell_count(scene->field->n_iterations));
    lull_document_fact(document, "ranks", "Ranks", lull_cell_count(scene->field->n_ranks));
    lull_document_fact(document, "least_delay", "Delays from",
                       lull_cell_time(waves->outliers.usual.least_delay));
    lull_document_fact(document, "least_idle", "Idleness from",
                       lull_cell_time(waves->outliers.usual.least_idle));
    lull_document_fact(document, "waves_found", "Waves", lull_cell_count(waves->count));
    if (waves->delays_alone)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%u delays made nobody else idle: others waited no longer than usual.",
                           waves->delays_alone);
    if (waves->left_out)
        lull_document_note(document, LULL_NOTE_WARNING,
                           "%u more delays are shorter and were left out: overlapping waves cannot "
                           "be told apart.",
                           waves->left_out);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static void add_specs(struct lull_document *document, const struct lull_wave_inputs *inputs,
                      const struct lull_wave_case *result)
{
    static const struct {
        const char *id, *label;
    } names[LULL_SIMULATE_SPECS] = {{"pattern", "Pattern"},
                                    {"network", "Network"},
                                    {"noise", "Noise"},
                                    {"placement", "Placement"},
                                    {"memory", "Memory"}};
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++)
        if (result->texts[s])
            lull_document_fact(document, names[s].id, names[s].label,
                               lull_cell_text(result->texts[s]));
    lull_document_fact(document, "seed", "Seed", lull_cell_count(inputs->simulate.seed));
    if (inputs->repeat > 1)
        lull_document_fact(document, "repeat", "Simulated runs", lull_cell_count(inputs->repeat));
}

static void add_wave_noise(struct lull_document *document, const struct lull_wave_case *result)
{
    double decay = result->decay.value;
    lull_document_fact(document, "cycle_silent_s", "Iteration, no noise (T)",
                       lull_cell_time((int64_t)result->cycle_silent));
    if (!(result->noise_mean > 0))
        return;
    lull_document_fact(document, "cycle_s", "Iteration, noise (T_cyc)",
                       lull_cell_time((int64_t)result->cycle));
    lull_document_fact(document, "noise_mean_s", "Noise, mean (mu)",
                       time_or_empty(result->noise_mean));
    lull_document_fact(document, "noise_sd_s", "Noise, standard deviation",
                       time_or_empty(result->noise_sd));
    if (isnan(decay))
        return;
    lull_document_fact(document, "decay_by_mean", "Decay / mean",
                       number_or_empty(decay / result->noise_mean, 2));
    lull_document_fact(document, "decay_by_sd", "Decay / standard deviation",
                       number_or_empty(result->noise_sd > 0 ? decay / result->noise_sd : NAN, 2));
    lull_document_note(
        document, LULL_NOTE_INFO,
        "Noises of equal mean let a wave decay differently, by their shape; noises of equal "
        "standard deviation nearly alike (0.8 to 1.5 of it per rank). Compare noises by both.");
}

/* The mean waiting of a rank in an iteration of the last quarter of the run, in ns. Ranks that
 * share a memory are no longer in step once a wave has passed. */
static double waiting_at_the_end(const struct lull_wave_field *field)
{
    uint32_t first = field->n_iterations - (field->n_iterations + 3) / 4;
    double sum = 0;
    for (uint32_t r = 0; r < field->n_ranks; r++)
        for (uint32_t i = first; i < field->n_iterations; i++)
            sum += (double)field->rows[r].cells[i].wait;
    return sum / field->n_ranks / (field->n_iterations - first);
}

static void add_memory(struct lull_document *document, const struct lull_wave_case *result)
{
    lull_document_fact(document, "end_wait_s", "Waiting per iteration, at the end",
                       time_or_empty(waiting_at_the_end(result->scene.field)));
    lull_document_note(document, LULL_NOTE_INFO,
                       "Ranks that are idle leave their memory bandwidth to the others, which "
                       "catch up: waves decay without noise, and ranks go out of step behind them. "
                       "For this there is no rule that predicts it, only the simulation.");
}

static void add_collective(struct lull_document *document, const struct lull_wave_case *result)
{
    lull_document_fact(document, "delayed_share", "Other ranks delayed",
                       isnan(result->delayed) ? lull_cell_absent("no --delay")
                                              : lull_cell_share(result->delayed));
    if (!isnan(result->delayed_mean))
        lull_document_fact(document, "delayed_share_mean", "Mean over the delayed rank",
                           lull_cell_share(result->delayed_mean));
    lull_document_note(document, LULL_NOTE_INFO,
                       "Ranks exchange messages in the collective operation alone. It lets a wave "
                       "pass to as many of the other ranks as are delayed by one that is late; "
                       "where these are all, it ends every wave.");
}

static const char *scene_heading(const struct lull_wave_inputs *inputs, struct lull_arena *arena)
{
    return inputs->repeat > 1 ? lull_arena_printf(arena, "Simulated\n(%u runs)", inputs->repeat)
                              : "Simulated";
}

static bool is_first_delay(const struct lull_wave_inputs *inputs, const struct lull_wave *wave)
{
    const struct lull_delay *delay = inputs->simulate.delays;
    return inputs->simulate.n_delays && wave->rank == delay->rank &&
           (!delay->at_iteration || wave->iteration == delay->when);
}

static void add_waves(struct lull_document *document, const struct lull_wave_inputs *inputs,
                      const struct lull_wave_case *result, struct lull_arena *arena)
{
    const struct lull_waves *waves = &result->scene.waves;
    struct wave_shown *shown = lull_arena_zero(arena, waves->count + 1, sizeof *shown);
    struct wave_json *json = lull_arena_zero(arena, 1, sizeof *json);
    for (uint32_t w = 0; w < waves->count; w++) {
        bool first = is_first_delay(inputs, &waves->waves[w]);
        struct lull_wave_prediction *predicted = lull_arena_zero(arena, 1, sizeof *predicted);
        *predicted = result->predicted;
        predicted->length = (double)waves->waves[w].length;
        if (!isnan(predicted->survival))
            predicted->survival =
                predicted->decay > 0 ? predicted->length / predicted->decay : INFINITY;
        shown[w] = (struct wave_shown){.wave = &waves->waves[w],
                                       .predicted = predicted,
                                       .cost = waves->count == 1 ? result->cost : NAN,
                                       .repeated = first && inputs->repeat > 1 ? result : NULL};
    }
    add_tables(document, shown, waves->count, result->scene.field->n_ranks,
               scene_heading(inputs, arena), arena);
    if (waves->count == 0) {
        shown[0].predicted = &result->predicted;
        wave_table(document, &shown[0], 1, "Simulated", arena);
        lull_document_note(document, LULL_NOTE_INFO, "No wave was found.");
    }
    if (waves->count > 1 && isfinite(result->cost))
        lull_document_fact(document, "cost_s", "Run is longer by",
                           lull_cell_time((int64_t)result->cost));
    *json = (struct wave_json){&result->predicted, shown, waves->count};
    wave_attach(document, json);
}

struct lull_document *lull_wave_case_document(const struct lull_wave_inputs *inputs,
                                              const struct lull_wave_case *result,
                                              struct lull_arena *arena)
{
    struct lull_document *document =
        lull_document_create(arena, "lull-wave/1", "Idle waves in a simulated pattern");
    add_specs(document, inputs, result);
    if (result->collective_only) {
        add_collective(document, result);
        return document;
    }
    add_looked_for(document, &result->scene);
    add_wave_noise(document, result);
    if (result->texts[LULL_SIMULATE_MEMORY])
        add_memory(document, result);
    add_waves(document, inputs, result, arena);
    if (result->note)
        lull_document_note(document, LULL_NOTE_INFO, "%s.", result->note);
    return document;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

enum {
    KAPPA_UP,
    UP,
    UP_LOW,
    UP_HIGH,
    KAPPA_DOWN,
    DOWN,
    DOWN_LOW,
    DOWN_HIGH,
    DECAY_PREDICTED,
    DECAY,
    DECAY_LOW,
    DECAY_HIGH,
    BY_MEAN,
    BY_SD,
    RANKS,
    SHARE,
    COST,
    SWEEP_COLUMNS
};

static const struct {
    const char *id, *heading;
} sweep_columns[SWEEP_COLUMNS] = {
    [KAPPA_UP] = {"kappa_up", "Up,\npredicted"},
    [UP] = {"up", "simulated"},
    [UP_LOW] = {"up_low", "from"},
    [UP_HIGH] = {"up_high", "to"},
    [KAPPA_DOWN] = {"kappa_down", "Down,\npredicted"},
    [DOWN] = {"down", "simulated"},
    [DOWN_LOW] = {"down_low", "from"},
    [DOWN_HIGH] = {"down_high", "to"},
    [DECAY_PREDICTED] = {"decay_predicted", "Decay,\npredicted"},
    [DECAY] = {"decay", "simulated"},
    [DECAY_LOW] = {"decay_low", "from"},
    [DECAY_HIGH] = {"decay_high", "to"},
    [BY_MEAN] = {"decay_by_mean", "Decay /\nmean"},
    [BY_SD] = {"decay_by_sd", "Decay /\nstd. dev."},
    [RANKS] = {"ranks_reached", "Ranks\nidle"},
    [SHARE] = {"delayed_share", "Share\ndelayed"},
    [COST] = {"cost", "Cost"},
};

static void set_speed(struct lull_table *table, uint32_t row, uint32_t column, double kappa,
                      struct lull_wave_value value)
{
    lull_table_set(table, row, column, number_or_empty(kappa, 0));
    lull_table_set(table, row, column + 1, number_or_empty(value.value, 3));
    lull_table_set(table, row, column + 2, number_or_empty(value.low, 3));
    lull_table_set(table, row, column + 3, number_or_empty(value.high, 3));
}

static void set_case(struct lull_table *table, uint32_t row, uint32_t first,
                     const struct lull_wave_case *result)
{
    lull_table_set(table, row, first + COST, time_or_empty(result->cost));
    if (result->collective_only) {
        double share = isnan(result->delayed_mean) ? result->delayed : result->delayed_mean;
        if (!isnan(share))
            lull_table_set(table, row, first + SHARE, lull_cell_share(share));
        return;
    }
    const struct lull_wave_prediction *predicted = &result->predicted;
    set_speed(table, row, first + KAPPA_UP, predicted->kappa_up, result->up);
    set_speed(table, row, first + KAPPA_DOWN, predicted->kappa_down, result->down);
    lull_table_set(table, row, first + DECAY_PREDICTED, time_or_empty(predicted->decay));
    lull_table_set(table, row, first + DECAY, time_or_empty(result->decay.value));
    lull_table_set(table, row, first + DECAY_LOW, time_or_empty(result->decay.low));
    lull_table_set(table, row, first + DECAY_HIGH, time_or_empty(result->decay.high));
    if (result->noise_mean > 0)
        lull_table_set(table, row, first + BY_MEAN,
                       number_or_empty(result->decay.value / result->noise_mean, 2));
    if (result->noise_sd > 0)
        lull_table_set(table, row, first + BY_SD,
                       number_or_empty(result->decay.value / result->noise_sd, 2));
    lull_table_set(
        table, row, first + RANKS,
        lull_cell_count(result->scene.waves.count ? result->scene.waves.waves[0].n_ranks : 0));
}

struct lull_document *lull_wave_sweep_document(const struct lull_wave_inputs *inputs,
                                               const struct lull_wave_case *cases,
                                               struct lull_arena *arena)
{
    const struct lull_sweep *sweep = inputs->simulate.sweep;
    struct lull_document *document =
        lull_document_create(arena, "lull-wave/1", "Idle waves in simulated patterns");
    lull_document_fact(document, "seed", "Seed", lull_cell_count(inputs->simulate.seed));
    if (inputs->repeat > 1)
        lull_document_fact(document, "repeat", "Runs per point", lull_cell_count(inputs->repeat));
    struct lull_table *table = lull_document_table(
        document, "points", "Speed in ranks per iteration, decay in time per rank", LULL_BY_COLUMN);
    lull_table_corner(table, "Point");
    for (uint32_t a = 0; a < sweep->n_axes; a++)
        lull_table_column(table, sweep->axes[a].key, sweep->axes[a].key);
    for (uint32_t c = 0; c < SWEEP_COLUMNS; c++)
        lull_table_column(table, sweep_columns[c].id, sweep_columns[c].heading);
    for (uint64_t p = 0; p < sweep->n_points; p++) {
        const char *name = lull_arena_printf(arena, "%llu", (unsigned long long)p + 1);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        for (uint32_t a = 0; a < sweep->n_axes; a++)
            lull_table_set(table, row, a, lull_cell_text(lull_sweep_value(sweep, p, a)));
        set_case(table, row, sweep->n_axes, &cases[p]);
    }
    return document;
}

/* ---- recorded runs --------------------------------------------------------------------------- */

/* The wave of the replay that has the same delay; NULL: there is none. */
static const struct lull_wave *same_wave(const struct lull_waves *waves,
                                         const struct lull_wave *wanted)
{
    for (uint32_t w = 0; w < waves->count; w++)
        if (waves->waves[w].rank == wanted->rank && waves->waves[w].iteration == wanted->iteration)
            return &waves->waves[w];
    return NULL;
}

struct lull_document *lull_wave_run_document(const char *path, const struct lull_wave_run *run,
                                             const struct lull_notices *notices,
                                             struct lull_arena *arena)
{
    const struct lull_waves *waves = &run->measured.waves;
    struct lull_document *document =
        lull_document_create(arena, "lull-wave/1", "Idle waves in a recorded run");
    struct wave_shown *shown = lull_arena_zero(arena, waves->count + 1, sizeof *shown);
    struct wave_json *json = lull_arena_zero(arena, 1, sizeof *json);
    lull_document_fact(document, "run", "Run", lull_cell_text(path));
    add_looked_for(document, &run->measured);
    lull_document_fact(document, "cycle_s", "Iteration",
                       time_or_empty(waves->outliers.usual.cycle));
    lull_document_fact(document, "runtime_s", "Runtime", lull_cell_time(run->measured.runtime));
    if (run->replay_runtime)
        lull_document_fact(document, "replay_s", "Runtime of its replay",
                           lull_cell_time(run->replay_runtime));
    lull_document_fact(
        document, "protocol", "Messages",
        lull_cell_text(run->measured.graph->rendezvous ? "some by rendezvous" : "eager"));
    for (uint32_t w = 0; w < waves->count; w++) {
        shown[w] =
            (struct wave_shown){.wave = &waves->waves[w],
                                .predicted = &run->predicted[w],
                                .replayed = same_wave(&run->replayed.waves, &waves->waves[w]),
                                .cost = run->costs[w]};
    }
    add_tables(document, shown, waves->count, run->measured.field->n_ranks, "Measured", arena);
    if (waves->count == 0) {
        shown[0].predicted = &run->predicted[0];
        wave_table(document, &shown[0], 1, "Measured", arena);
        lull_document_note(document, LULL_NOTE_INFO, "No wave was found.");
    }
    *json = (struct wave_json){&run->predicted[0], shown, waves->count};
    wave_attach(document, json);
    lull_document_add_notices(document, notices);
    return document;
}
