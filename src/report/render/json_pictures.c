#include "report/render/json_pictures.h"

#include <math.h>
#include <stdlib.h>

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

/* ---- what a timeline is about -------------------------------------------------------------- */

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

/* ---- cells --------------------------------------------------------------------------------- */

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

/* ---- matrices ------------------------------------------------------------------------------ */

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

void lull_json_pictures(struct lull_json *json, const struct lull_document *document)
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
