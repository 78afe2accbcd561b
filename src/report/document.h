/* A document: what a command has to say, before it is text, JSON or CSV.
 *
 * A document has a schema name with version, facts (key and value), notes, and tables. Tables have
 * columns, and rows that may form a tree. Ids are stable keys for programs; labels are for people.
 * Everything lives in the document's arena. Cells not set are empty. */
#ifndef LULL_REPORT_DOCUMENT_H
#define LULL_REPORT_DOCUMENT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum lull_cell_kind {
    LULL_CELL_EMPTY,
    LULL_CELL_TEXT,
    LULL_CELL_COUNT,      /* integer */
    LULL_CELL_NUMBER,     /* plain number with `digits` decimals */
    LULL_CELL_TIME,       /* ns, printed with a fitting unit; JSON and CSV hold seconds */
    LULL_CELL_EFFICIENCY, /* 1 is ideal; coloured by value; 2 decimals for people */
    LULL_CELL_ABSENT      /* text says why there is no value */
};

struct lull_cell {
    enum lull_cell_kind kind;
    int digits;
    double number;
    int64_t integer;
    const char *text;
};

enum lull_note_kind { LULL_NOTE_INFO, LULL_NOTE_WARNING, LULL_NOTE_LEGEND };

struct lull_document;
struct lull_table;

/* `schema` as "lull-metrics/1". The arena outlives the document. */
struct lull_document *lull_document_create(struct lull_arena *arena, const char *schema,
                                           const char *title);
void lull_document_fact(struct lull_document *document, const char *id, const char *label,
                        struct lull_cell value);
void lull_document_note(struct lull_document *document, enum lull_note_kind kind,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));

struct lull_table *lull_document_table(struct lull_document *document, const char *id,
                                       const char *title);
/* Heading of the row labels ("Metric"). */
void lull_table_corner(struct lull_table *table, const char *heading);
/* `heading` may hold several lines separated by '\n'. Returns the column's index. */
uint32_t lull_table_column(struct lull_table *table, const char *id, const char *heading);
/* `parent` is a row index or LULL_NO_ROW. Returns the row's index. */
#define LULL_NO_ROW UINT32_MAX
uint32_t lull_table_row(struct lull_table *table, const char *id, const char *label,
                        uint32_t parent);
void lull_table_set(struct lull_table *table, uint32_t row, uint32_t column, struct lull_cell cell);

struct lull_cell lull_cell_text(const char *text); /* the caller keeps the string alive */
struct lull_cell lull_cell_count(int64_t value);
struct lull_cell lull_cell_number(double value, int digits);
struct lull_cell lull_cell_time(int64_t ns);
struct lull_cell lull_cell_efficiency(double value);
struct lull_cell lull_cell_absent(const char *why);

struct lull_render_options {
    bool colour;    /* ANSI colours */
    bool unicode;   /* tree drawing characters */
    unsigned width; /* of the terminal, 0: no limit; wide tables are split into several */
    bool exact;     /* CSV and text with all digits */
};

struct lull_renderer {
    const char *name; /* "text", "json", "csv" */
    const char *summary;
    void (*render)(const struct lull_document *document, const struct lull_render_options *options,
                   FILE *out);
};

/* NULL at the end. */
extern const struct lull_renderer *const lull_renderers[];
const struct lull_renderer *lull_renderer_find(const char *name);

#endif
