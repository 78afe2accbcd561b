/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents as JSON; docs/formats/json.md describes the result, docs/formats/report.md that of
 * timelines and matrices. */
#include "report/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ==== findings ================================================================================ */

static void put_finding_string(struct lull_json *json, const char *key, const char *text)
{
    lull_json_key(json, key);
    lull_json_string(json, text);
}

static void put_fact_number(struct lull_json *json, const char *key, double number)
{
    lull_json_key(json, key);
    lull_json_number(json, number);
}

/* Negative: not one. */
static void put_place_index(struct lull_json *json, const char *key, int64_t index)
{
    lull_json_key(json, key);
    if (index < 0)
        lull_json_null(json);
    else
        lull_json_int(json, index);
}

static void put_seconds(struct lull_json *json, const char *key, bool there, int64_t ns)
{
    lull_json_key(json, key);
    if (there)
        lull_json_number(json, (double)ns / 1e9);
    else
        lull_json_null(json);
}

static void put_gain(struct lull_json *json, const struct lull_shown_gain *gain)
{
    lull_json_key(json, "gain");
    lull_json_object_begin(json);
    if (gain->absent) {
        put_finding_string(json, "absent", gain->absent);
    } else {
        put_fact_number(json, "seconds", (double)gain->ns / 1e9);
        put_fact_number(json, "factor", gain->factor);
        put_fact_number(json, "low", (double)gain->low_ns / 1e9);
        put_fact_number(json, "high", (double)gain->high_ns / 1e9);
        lull_json_key(json, "too_small");
        lull_json_bool(json, gain->too_small);
    }
    lull_json_object_end(json);
}

static void put_place(struct lull_json *json, const struct lull_shown_finding *finding)
{
    lull_json_key(json, "place");
    lull_json_object_begin(json);
    put_place_index(json, "process", finding->rank);
    put_finding_string(json, "node", finding->node);
    put_place_index(json, "thread", finding->thread);
    put_finding_string(json, "region", finding->region);
    put_finding_string(json, "site", finding->site);
    put_seconds(json, "begin", finding->end > 0, finding->begin);
    put_seconds(json, "end", finding->end > 0, finding->end);
    lull_json_object_end(json);
}

static void json_cell(struct lull_json *json, struct lull_cell cell);

static void put_evidence(struct lull_json *json, const struct lull_shown_finding *finding)
{
    lull_json_key(json, "evidence");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < finding->n_facts; i++) {
        const struct lull_shown_fact *fact = &finding->facts[i];
        lull_json_object_begin(json);
        put_finding_string(json, "id", fact->id);
        put_finding_string(json, "label", fact->label);
        put_finding_string(json, "unit", lull_cell_unit(fact->value, "ratio"));
        lull_json_key(json, "value");
        json_cell(json, fact->value);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

/* "findings": [...]; nothing where the document says nothing of findings. */
static void json_findings(struct lull_json *json, const struct lull_document *document)
{
    if (!document->findings_none)
        return;
    lull_json_key(json, "findings");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < document->n_findings; i++) {
        const struct lull_shown_finding *finding = &document->findings[i];
        lull_json_object_begin(json);
        put_finding_string(json, "run", finding->run);
        put_finding_string(json, "rule", finding->rule);
        put_finding_string(json, "sentence", finding->sentence);
        put_fact_number(json, "seconds", (double)finding->lost_ns / 1e9);
        put_gain(json, &finding->gain);
        put_place(json, finding);
        put_finding_string(json, "cause", finding->cause);
        put_evidence(json, finding);
        put_finding_string(json, "next", finding->next);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

/* ==== timelines and matrices ================================================================== */

/* Cells of all rows where there are no more; else of those that have fine cells. */
enum { MOST_ROWS_WITH_CELLS = 4096 };

static void write_text(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_ns(struct lull_json *json, const char *key, int64_t ns)
{
    lull_json_key(json, key);
    lull_json_number(json, (double)ns / 1e9);
}

static void write_index(struct lull_json *json, const char *key, uint32_t index)
{
    lull_json_key(json, key);
    if (index == LULL_PICTURE_NO_ROW)
        lull_json_null(json);
    else
        lull_json_uint(json, index);
}

/* ---- what a timeline is about ---------------------------------------------------------------- */

static void write_activities(struct lull_json *json, const struct lull_picture_timeline *timeline)
{
    static const char *const paints[LULL_PAINTS] = {"useful", "messages", "collective", "mpi",
                                                    "sync",   "schedule", "lock",       "idle",
                                                    "device", "io",       "tracer",     "nothing"};
    lull_json_key(json, "activities");
    lull_json_array_begin(json);
    for (uint32_t a = 0; a < timeline->n_activities; a++) {
        lull_json_object_begin(json);
        write_text(json, "id", timeline->activities[a].id);
        write_text(json, "label", timeline->activities[a].label);
        write_text(json, "paint", paints[timeline->activities[a].paint]);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_rows(struct lull_json *json, const struct lull_picture_timeline *timeline)
{
    lull_json_key(json, "rows");
    lull_json_array_begin(json);
    for (uint32_t r = 0; r < timeline->n_rows; r++) {
        const struct lull_picture_row *row = &timeline->rows[r];
        lull_json_object_begin(json);
        write_text(json, "name", row->name);
        write_text(json, "kind", row->kind);
        write_index(json, "parent", row->parent);
        write_index(json, "leaf", row->leaf);
        write_index(json, "leaves", row->n_leaves);
        write_index(json, "level", row->level);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
    lull_json_key(json, "differing");
    lull_json_array_begin(json);
    for (uint32_t d = 0; d < timeline->n_differing; d++)
        lull_json_uint(json, timeline->differing[d]);
    lull_json_array_end(json);
}

static void write_places(struct lull_json *json, const struct lull_picture_timeline *timeline)
{
    lull_json_key(json, "waits");
    lull_json_array_begin(json);
    for (uint32_t p = 0; p < timeline->n_places; p++) {
        const struct lull_picture_place *place = &timeline->places[p];
        lull_json_object_begin(json);
        write_ns(json, "begin", place->begin);
        write_ns(json, "end", place->end);
        write_index(json, "leaf", place->leaf);
        write_index(json, "activity", place->activity);
        write_index(json, "region", place->region);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_regions(struct lull_json *json, const struct lull_picture_timeline *timeline)
{
    lull_json_key(json, "regions");
    lull_json_array_begin(json);
    for (uint32_t r = 0; r < timeline->n_regions; r++) {
        lull_json_object_begin(json);
        write_text(json, "name", timeline->regions[r].name);
        write_text(json, "site", timeline->regions[r].site);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_head(struct lull_json *json, const struct lull_picture_timeline *timeline)
{
    write_text(json, "run", timeline->title);
    write_text(json, "absent", timeline->absent);
    if (timeline->absent)
        return;
    write_text(json, "command", timeline->command);
    write_ns(json, "begin", timeline->begin);
    write_ns(json, "end", timeline->end);
    write_index(json, "level", timeline->level);
    lull_json_key(json, "steps");
    lull_json_uint(json, timeline->n_steps);
    lull_json_key(json, "all_steps_kept");
    lull_json_bool(json, timeline->all_steps);
    lull_json_key(json, "messages");
    lull_json_uint(json, timeline->n_messages);
    lull_json_key(json, "all_messages_kept");
    lull_json_bool(json, timeline->all_messages);
    const bool compact = json->compact;
    write_activities(json, timeline);
    json->compact = true;
    write_rows(json, timeline);
    write_regions(json, timeline);
    write_places(json, timeline);
    json->compact = compact;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* The cells of a row by activity; activities without time are left out. */
static void write_row_cells(struct lull_json *json, const struct lull_picture_timeline *timeline,
                            uint32_t row, int64_t *ns)
{
    enum { BINS = 1 << LULL_PICTURE_COARSE };
    timeline->cells(timeline->data, row, LULL_PICTURE_COARSE, 0, BINS, ns);
    lull_json_object_begin(json);
    write_index(json, "row", row);
    for (uint32_t a = 0; a < timeline->n_activities; a++) {
        bool any = false;
        for (uint32_t bin = 0; bin < BINS; bin++)
            any |= ns[bin * timeline->n_activities + a] != 0;
        if (!any)
            continue;
        lull_json_key(json, timeline->activities[a].id);
        lull_json_array_begin(json);
        for (uint32_t bin = 0; bin < BINS; bin++)
            lull_json_number(json, (double)ns[bin * timeline->n_activities + a] / 1e9);
        lull_json_array_end(json);
    }
    lull_json_object_end(json);
}

static void write_timeline_cells(struct lull_json *json,
                                 const struct lull_picture_timeline *timeline)
{
    int64_t *ns = malloc(((size_t)timeline->n_activities << LULL_PICTURE_COARSE) * sizeof *ns + 1);
    const bool all = timeline->n_rows <= MOST_ROWS_WITH_CELLS;
    lull_json_key(json, "cells");
    lull_json_array_begin(json);
    for (uint32_t row = 0; ns && row < timeline->n_rows; row++) {
        json->compact = true;
        if (all || timeline->rows[row].level > LULL_PICTURE_COARSE)
            write_row_cells(json, timeline, row, ns);
        json->compact = false;
    }
    lull_json_array_end(json);
    free(ns);
}

/* ---- matrices -------------------------------------------------------------------------------- */

static void write_names(struct lull_json *json, const char *key, const char *const *names,
                        uint32_t count)
{
    lull_json_key(json, key);
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < count; i++)
        lull_json_string(json, names[i]);
    lull_json_array_end(json);
}

/* Row, column, and a value of each layer, where there is one. */
static void write_entries(struct lull_json *json, const struct lull_picture_matrix *matrix)
{
    lull_json_key(json, "entries");
    lull_json_array_begin(json);
    for (size_t i = 0; i < (size_t)matrix->n_rows * matrix->n_columns; i++) {
        bool any = false;
        for (uint32_t l = 0; l < matrix->n_layers; l++)
            any |= isfinite(matrix->layers[l].values[i]);
        if (!any)
            continue;
        lull_json_array_begin(json);
        lull_json_uint(json, i / matrix->n_columns);
        lull_json_uint(json, i % matrix->n_columns);
        for (uint32_t l = 0; l < matrix->n_layers; l++)
            lull_json_number(json, matrix->layers[l].values[i]);
        lull_json_array_end(json);
    }
    lull_json_array_end(json);
}

static void write_matrix(struct lull_json *json, const struct lull_picture_matrix *matrix)
{
    lull_json_object_begin(json);
    write_text(json, "id", matrix->id);
    write_text(json, "title", matrix->title);
    write_text(json, "absent", matrix->absent);
    if (!matrix->absent) {
        write_text(json, "about", matrix->about);
        write_text(json, "row_axis", matrix->row_axis);
        write_text(json, "column_axis", matrix->column_axis);
        lull_json_key(json, "layers");
        lull_json_array_begin(json);
        for (uint32_t l = 0; l < matrix->n_layers; l++) {
            lull_json_object_begin(json);
            write_text(json, "id", matrix->layers[l].id);
            write_text(json, "label", matrix->layers[l].label);
            write_text(json, "unit", matrix->layers[l].unit);
            lull_json_object_end(json);
        }
        lull_json_array_end(json);
        json->compact = true;
        write_names(json, "rows", matrix->row_names, matrix->n_rows);
        write_names(json, "columns", matrix->column_names, matrix->n_columns);
        write_entries(json, matrix);
        json->compact = false;
    }
    lull_json_object_end(json);
}

/* The keys "timelines" and "matrices", where the document has any, in an object that is open. */
static void json_pictures(struct lull_json *json, const struct lull_document *document)
{
    if (document->n_timelines > 0) {
        lull_json_key(json, "timelines");
        lull_json_array_begin(json);
        for (size_t i = 0; i < document->n_timelines; i++) {
            lull_json_object_begin(json);
            write_head(json, document->timelines[i]);
            if (!document->timelines[i]->absent)
                write_timeline_cells(json, document->timelines[i]);
            lull_json_object_end(json);
        }
        lull_json_array_end(json);
    }
    if (document->n_matrices == 0)
        return;
    lull_json_key(json, "matrices");
    lull_json_array_begin(json);
    for (size_t i = 0; i < document->n_matrices; i++)
        write_matrix(json, document->matrices[i]);
    lull_json_array_end(json);
}

/* ==== the document ============================================================================ */

/* Other programs read JSON numbers as doubles: above 2^53 a string keeps all digits. */
static void write_count(struct lull_json *json, uint64_t value)
{
    char text[24];
    if (value <= UINT64_C(1) << 53) {
        lull_json_uint(json, value);
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64, value);
    lull_json_string(json, text);
}

/* Writes the value of a cell. */
static void json_cell(struct lull_json *json, struct lull_cell cell)
{
    switch (cell.kind) {
    case LULL_CELL_TEXT:
        lull_json_string(json, cell.text);
        return;
    case LULL_CELL_COUNT:
    case LULL_CELL_BYTES:
        write_count(json, cell.count);
        return;
    case LULL_CELL_TIME:
        lull_json_number(json, (double)cell.ns / 1e9);
        return;
    case LULL_CELL_NUMBER:
    case LULL_CELL_QUANTITY:
    case LULL_CELL_SHARE:
    case LULL_CELL_EFFICIENCY:
        lull_json_number(json, cell.number);
        return;
    case LULL_CELL_EMPTY:
    case LULL_CELL_ABSENT:
        break;
    }
    lull_json_null(json);
}

static void write_facts(struct lull_json *json, const struct lull_document *document)
{
    bool absent = false;
    lull_json_key(json, "facts");
    lull_json_object_begin(json);
    for (size_t i = 0; i < document->n_facts; i++) {
        lull_json_key(json, document->facts[i].id);
        json_cell(json, document->facts[i].value);
        absent |= document->facts[i].value.kind == LULL_CELL_ABSENT;
    }
    lull_json_object_end(json);
    if (!absent)
        return;
    lull_json_key(json, "facts_absent");
    lull_json_object_begin(json);
    for (size_t i = 0; i < document->n_facts; i++)
        if (document->facts[i].value.kind == LULL_CELL_ABSENT)
            write_text(json, document->facts[i].id, document->facts[i].value.text);
    lull_json_object_end(json);
}

static void write_notes(struct lull_json *json, const struct lull_document *document)
{
    lull_json_key(json, "notes");
    lull_json_array_begin(json);
    for (size_t i = 0; i < document->n_notes; i++) {
        lull_json_object_begin(json);
        write_text(json, "kind", document->notes[i].kind == LULL_NOTE_WARNING ? "warning" : "info");
        write_text(json, "text", document->notes[i].text);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

/* The unit of a row or a column: that of its first cell with a value. */
static const char *row_unit(const struct lull_table *table, size_t row)
{
    for (size_t column = 0; column < table->n_columns; column++) {
        const char *unit =
            lull_cell_unit(lull_table_get(table, row, column), table->rows[row].unit);
        if (*unit)
            return unit;
    }
    return table->rows[row].unit;
}

static const char *column_unit(const struct lull_table *table, size_t column)
{
    for (size_t row = 0; row < table->n_rows; row++) {
        const char *unit =
            lull_cell_unit(lull_table_get(table, row, column), table->rows[row].unit);
        if (*unit)
            return unit;
    }
    return "";
}

static void write_columns(struct lull_json *json, const struct lull_table *table)
{
    lull_json_key(json, "columns");
    lull_json_array_begin(json);
    for (size_t i = 0; i < table->n_columns; i++) {
        lull_json_object_begin(json);
        write_text(json, "id", table->columns[i].id);
        write_text(json, "heading", table->columns[i].heading);
        if (table->axis == LULL_BY_COLUMN)
            write_text(json, "unit", column_unit(table, i));
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
}

static void write_table_cells(struct lull_json *json, const struct lull_table *table, size_t row)
{
    bool absent = false;
    bool compact = json->compact;
    lull_json_key(json, "values");
    json->compact = true; /* a row of a table on one line */
    lull_json_array_begin(json);
    for (size_t column = 0; column < table->n_columns; column++) {
        struct lull_cell cell = lull_table_get(table, row, column);
        json_cell(json, cell);
        absent |= cell.kind == LULL_CELL_ABSENT;
    }
    lull_json_array_end(json);
    json->compact = compact;
    if (!absent)
        return;
    lull_json_key(json, "absent");
    json->compact = true;
    lull_json_array_begin(json);
    for (size_t column = 0; column < table->n_columns; column++) {
        struct lull_cell cell = lull_table_get(table, row, column);
        lull_json_string(json, cell.kind == LULL_CELL_ABSENT ? cell.text : NULL);
    }
    lull_json_array_end(json);
    json->compact = compact;
}

static void write_table(struct lull_json *json, const struct lull_table *table)
{
    lull_json_key(json, table->id);
    lull_json_object_begin(json);
    write_text(json, "title", table->title);
    write_columns(json, table);
    lull_json_key(json, "rows");
    lull_json_array_begin(json);
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct lull_row *row = &table->rows[i];
        lull_json_object_begin(json);
        write_text(json, "id", row->id);
        write_text(json, "label", row->label);
        write_text(json, "parent", row->parent == LULL_NO_ROW ? NULL : table->rows[row->parent].id);
        if (table->axis == LULL_BY_ROW)
            write_text(json, "unit", row_unit(table, i));
        if (*row->about)
            write_text(json, "about", row->about);
        write_table_cells(json, table, i);
        lull_json_object_end(json);
    }
    lull_json_array_end(json);
    lull_json_object_end(json);
}

static void render_json(const struct lull_document *document,
                        const struct lull_render_options *options, FILE *out)
{
    (void)options;
    struct lull_json json;
    lull_json_begin(&json, out, false);
    lull_json_object_begin(&json);
    write_text(&json, "schema", document->schema);
    write_text(&json, "lull", LULL_VERSION);
    write_text(&json, "title", document->title);
    write_facts(&json, document);
    write_notes(&json, document);
    lull_json_key(&json, "tables");
    lull_json_object_begin(&json);
    for (const struct lull_table *table = document->tables; table; table = table->next)
        write_table(&json, table);
    lull_json_object_end(&json);
    json_findings(&json, document);
    json_pictures(&json, document);
    for (size_t i = 0; i < document->n_attachments; i++) {
        lull_json_key(&json, document->attachments[i].key);
        document->attachments[i].write(&json, document->attachments[i].data);
    }
    lull_json_object_end(&json);
}

const struct lull_renderer lull_renderer_json = {
    .name = "json", .summary = "all digits, for programs", .render = render_json};
