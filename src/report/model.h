/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a document (report/document.h, report/pictures.h), for the renderers of this
 * room. */
#ifndef LULL_REPORT_MODEL_H
#define LULL_REPORT_MODEL_H

#include "report/document.h"
#include "report/pictures.h"

struct lull_fact {
    const char *id, *label;
    struct lull_cell value;
};

struct lull_note {
    enum lull_note_kind kind;
    const char *text;
};

struct lull_attachment {
    const char *key;
    void (*write)(struct lull_json *json, const void *data);
    const void *data;
};

struct lull_column {
    const char *id, *heading;
};

struct lull_row {
    const char *id, *label, *unit, *about; /* unit and about: "" if there is none */
    uint32_t parent;                       /* row index or LULL_NO_ROW */
    bool rule;                             /* the row is set apart from the row above */
    bool minor;                            /* left out of text */
    struct lull_cell *cells;               /* those from n_cells on are empty */
    size_t n_cells;
};

struct lull_table {
    struct lull_arena *arena;
    struct lull_table *next;
    const char *id, *title, *corner;
    enum lull_table_axis axis;
    struct lull_column *columns;
    size_t n_columns, columns_capacity;
    struct lull_row *rows;
    size_t n_rows, rows_capacity;
    size_t n_names; /* the first so many columns name rows, with the labels */
    bool rule_pending;
    const char *minor; /* what the rows have in common that text leaves out */
    bool detail;       /* left out of text */
};

struct lull_picture_chart {
    const char *id;
    const struct lull_chart *chart;
    bool of_time; /* stands below the timelines */
};

struct lull_document {
    struct lull_arena *arena;
    const char *schema, *title;
    struct lull_fact *facts;
    size_t n_facts, facts_capacity;
    struct lull_note *notes;
    size_t n_notes, notes_capacity;
    struct lull_attachment *attachments;
    size_t n_attachments, attachments_capacity;
    struct lull_table *tables, **tables_end;
    bool details; /* tables that are added from now on are details */
    struct lull_picture_chart *charts;
    size_t n_charts, charts_capacity;
    const struct lull_picture_timeline **timelines;
    size_t n_timelines, timelines_capacity;
    const struct lull_picture_matrix **matrices;
    size_t n_matrices, matrices_capacity;
    const struct lull_picture_code **codes;
    size_t n_codes, codes_capacity;
    const struct lull_shown_finding *findings;
    uint32_t n_findings;
    const char *findings_about, *findings_none; /* NULL: nothing is said of findings */
};

/* The cell, empty where none was set. */
struct lull_cell lull_table_get(const struct lull_table *table, size_t row, size_t column);

/* The unit of a value for programs: "s", "B", "count", "ratio", "text"; for plain numbers `unit`;
 * "" for a cell without value. */
const char *lull_cell_unit(struct lull_cell cell, const char *unit);

extern const struct lull_renderer lull_renderer_text, lull_renderer_json, lull_renderer_csv,
    lull_renderer_html;

#endif
