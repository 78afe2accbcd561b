#include "view/wave/wave_tables.h"

#include "base/collective.h"

#include <math.h>

static const struct lull_wave_value no_value = {NAN, NAN, NAN};

/* ---- one wave as a table ----------------------------------------------------------------------
 */

enum column { PREDICTED, FOUND, LOW, HIGH, DIFFERENCE, REPLAYED };

struct sheet {
    struct lull_table *table;
    uint32_t parent;
    bool replayed;
};

/* What a row of numbers is: text shows them with `digits` decimals, or as times. */
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

const char *lull_wave_end_words(const struct lull_wave_front *front, struct lull_arena *arena)
{
    const char *why = lull_wave_end_text(front->end);
    if (front->end == LULL_WAVE_END_NONE)
        return why;
    if (front->end == LULL_WAVE_END_COLLECTIVE)
        why = lull_collective_name(front->operation);
    return front->distance ? lull_arena_printf(arena, "rank %u: %s", front->last_rank, why) : why;
}

static void add_direction(const struct sheet *sheet, const struct lull_wave_shown *shown, bool up)
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

/* What all that were found have in common with their delay. */
static void add_origin(const struct sheet *sheet, const struct lull_wave *wave)
{
    add_cell(sheet, "origin_rank", "Delayed rank", lull_cell_number(wave->rank, 0));
    add_cell(sheet, "origin_iteration", "In iteration", lull_cell_number(wave->iteration, 0));
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

/* Whether it decayed; else something else ended it before. */
static bool was_lost(const struct lull_wave *wave)
{
    return wave->up.end == LULL_WAVE_END_NOISE || wave->down.end == LULL_WAVE_END_NOISE;
}

void lull_wave_table(struct lull_document *document, const struct lull_wave_shown *shown,
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
        add_cell(&sheet, "end_up", "End up", lull_cell_text(lull_wave_end_words(&wave->up, arena)));
        add_cell(&sheet, "end_down", "End down",
                 lull_cell_text(lull_wave_end_words(&wave->down, arena)));
        add_quantity_row(&sheet, &cost, NAN, (struct lull_wave_value){shown->cost, NAN, NAN},
                         no_value);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

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
    const struct lull_wave_prediction *p = ((const struct lull_wave_json *)data)->predicted;
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

static void write_wave(struct lull_json *json, const struct lull_wave_shown *shown)
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
    const struct lull_wave_json *content = data;
    lull_json_array_begin(json);
    for (uint32_t w = 0; w < content->count; w++)
        if (content->shown[w].wave)
            write_wave(json, &content->shown[w]);
    lull_json_array_end(json);
}

void lull_wave_attach(struct lull_document *document, const struct lull_wave_json *content)
{
    lull_document_attach(document, "predicted", write_predicted, content);
    lull_document_attach(document, "waves", write_waves, content);
}
