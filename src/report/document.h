/* SPDX-License-Identifier: BSD-3-Clause */
/* A document: what a command has to say, before it is text, JSON or CSV.
 *
 * A document has a schema name with version, facts (key and value), notes, and tables. Tables have
 * columns, and rows that may form a tree. Ids are stable keys for programs; labels are for people.
 * Everything lives in the document's arena: texts are copied. Cells not set are empty. Charts,
 * timelines and matrices are in report/pictures.h. */
#ifndef LULL_REPORT_DOCUMENT_H
#define LULL_REPORT_DOCUMENT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ==== the document ============================================================================ */

/* The kinds of values. Comments show how the text renderer writes them for people. In JSON and CSV
 * times are in seconds, sizes in bytes, efficiencies and shares are fractions of 1, and all have
 * every digit. */
enum lull_cell_kind {
    LULL_CELL_EMPTY,
    LULL_CELL_TEXT,
    LULL_CELL_COUNT,      /* "22,180" */
    LULL_CELL_NUMBER,     /* any quantity; `digits` decimals for people */
    LULL_CELL_QUANTITY,   /* in an SI unit; "35.20 GB/s" */
    LULL_CELL_TIME,       /* ns; people see it in a unit that fits all values it is compared with,
                             or in one of its own where that would leave less than three digits */
    LULL_CELL_BYTES,      /* "12.3 MiB" */
    LULL_CELL_SHARE,      /* of a whole; "12.3 %" */
    LULL_CELL_EFFICIENCY, /* 1 is ideal; coloured by value */
    LULL_CELL_ABSENT      /* text says why there is no value */
};

struct lull_cell {
    enum lull_cell_kind kind;
    int digits;
    const char *unit; /* of a QUANTITY */
    union {
        double number;    /* NUMBER, QUANTITY, SHARE, EFFICIENCY */
        int64_t ns;       /* TIME */
        uint64_t count;   /* COUNT, BYTES */
        const char *text; /* TEXT, ABSENT */
    };
};

struct lull_cell lull_cell_text(const char *text);
struct lull_cell lull_cell_count(uint64_t value);
struct lull_cell lull_cell_number(double value, int digits);
struct lull_cell lull_cell_quantity(double value, const char *unit);
struct lull_cell lull_cell_time(int64_t ns);
struct lull_cell lull_cell_bytes(uint64_t bytes);
struct lull_cell lull_cell_share(double value);
struct lull_cell lull_cell_efficiency(double value);
struct lull_cell lull_cell_absent(const char *why);

/* Warnings are for documents that programs read: the text renderer leaves them out, because the
 * command tells them on stderr. Hints say how to go on from the text; the page leaves them out. */
enum lull_note_kind { LULL_NOTE_INFO, LULL_NOTE_WARNING, LULL_NOTE_HINT };

struct lull_document;
struct lull_table;

/* `schema` as "lull-metrics/1". The arena outlives the document. */
struct lull_document *lull_document_create(struct lull_arena *arena, const char *schema,
                                           const char *title);
void lull_document_fact(struct lull_document *document, const char *id, const char *label,
                        struct lull_cell value);
void lull_document_note(struct lull_document *document, enum lull_note_kind kind,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds a value that the caller writes itself, under `key` at the top of the JSON document; other
 * renderers pass over it. `write` writes exactly one value; `data` is borrowed. */
void lull_document_attach(struct lull_document *document, const char *key,
                          void (*write)(struct lull_json *json, const void *data),
                          const void *data);

/* Which values of a table are of the same sort and are compared with each other. */
enum lull_table_axis {
    LULL_BY_ROW,   /* the values of a row, as in a table with one column per run */
    LULL_BY_COLUMN /* the values of a column, as in a table with one row per thing */
};

struct lull_table *lull_document_table(struct lull_document *document, const char *id,
                                       const char *title, enum lull_table_axis axis);
/* Heading of the row labels ("Metric"). */
void lull_table_corner(struct lull_table *table, const char *heading);
/* `heading` may hold several lines separated by '\n'. An id that is taken gets "#2" and so on.
 * Returns the column's index. */
uint32_t lull_table_column(struct lull_table *table, const char *id, const char *heading);
/* `parent` is a row index or LULL_NO_ROW; children follow their parent. Returns the row's index. */
#define LULL_NO_ROW UINT32_MAX
uint32_t lull_table_row(struct lull_table *table, const char *id, const char *label,
                        uint32_t parent);
/* Unit of the numbers in a row ("GHz"). */
void lull_table_row_unit(struct lull_table *table, uint32_t row, const char *unit);
/* What a row means, as a formula; for JSON. */
void lull_table_row_about(struct lull_table *table, uint32_t row, const char *about);
/* The columns so far name the rows, with the labels: where a table is too wide for text, each of its
 * parts begins with them. */
void lull_table_names(struct lull_table *table);
/* Text leaves the row out, and says how many such rows there are and what they have in common ("below
 * 0.1 %", the same for all rows of a table). Minor rows have no children. */
void lull_table_row_minor(struct lull_table *table, uint32_t row, const char *common);
/* Sets the next row apart from those above it. */
void lull_table_rule(struct lull_table *table);
void lull_table_set(struct lull_table *table, uint32_t row, uint32_t column, struct lull_cell cell);
/* All tables that are added from here on are details, which the text renderer leaves out. */
void lull_document_details(struct lull_document *document);

struct lull_render_options {
    bool colour;         /* ANSI colours */
    bool unicode;        /* tree drawing characters */
    unsigned width;      /* of the terminal, 0: no limit; wide tables are split into several */
    int digits;          /* decimals of efficiencies for people; 0: the usual two */
    uint64_t most_bytes; /* the largest size of a page; 0: no limit */
};

struct lull_renderer {
    const char *name; /* "text", "json", "csv" */
    const char *summary;
    /* Errors of the stream stay in ferror(). */
    void (*render)(const struct lull_document *document, const struct lull_render_options *options,
                   FILE *out);
    /* Whether it can be rendered with these options. LULL_ERR_RANGE: not even what must be there
     * fits into most_bytes. NULL: always. */
    lull_status (*check)(const struct lull_document *document,
                         const struct lull_render_options *options, struct lull_error *err);
};

/* All renderers, NULL at the end. */
extern const struct lull_renderer *const lull_renderers[];
const struct lull_renderer *lull_renderer_find(const char *name); /* NULL if unknown */

/* ==== findings ================================================================================ */

/* Findings are sentences on what a run lost its time by. Text shows the first of them, the page all
 * with a link to the place, JSON all with every digit. They are borrowed, as pictures are; times
 * are ns from the begin of the run. */

enum { LULL_FINDINGS_IN_TEXT = 5 }; /* the most findings that text shows */

struct lull_shown_fact {
    const char *id, *label;
    struct lull_cell value;
};

/* What fixing a finding would save of the runtime. */
struct lull_shown_gain {
    const char *fixed;  /* how it is fixed, "Divided among its threads"; NULL: "Without it" */
    const char *absent; /* why the gain is not known; NULL: it is known */
    int64_t ns, low_ns, high_ns;
    double factor;  /* by which the run would be faster */
    bool too_small; /* it cannot be told from the error of the replay */
};

struct lull_shown_finding {
    const char *run;  /* its name */
    const char *rule; /* "late_sender" */
    const char *sentence;
    const char *cause, *next; /* NULL: none */
    int64_t lost_ns;          /* core time */
    struct lull_shown_gain gain;
    /* The place of the finding; negative or NULL: it is not at one rank, one node and so on. */
    int64_t rank, thread;
    const char *node, *region, *site;
    int64_t begin, end; /* end 0: no span of time */
    const struct lull_shown_fact *facts;
    uint32_t n_facts;
    /* Where the page shows it: a timeline of the document and a row of it. */
    size_t timeline; /* SIZE_MAX: nowhere */
    uint32_t row;
};

/* Findings of all runs, most important first. `about` is a sentence or two on what holds for all
 * of them, or NULL; `none`: what to say where there are none. */
void lull_document_findings(struct lull_document *document,
                            const struct lull_shown_finding *findings, uint32_t count,
                            const char *about, const char *none);

/* "1.22x faster (1.10x to 1.35x)", or why that is not known. In `arena`. */
const char *lull_gain_text(const struct lull_shown_gain *gain, struct lull_arena *arena);

#endif
