/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents as CSV (RFC 4180, but lines end with '\n'): a header line, then one line per row, that
 * begins with the ids of table and row and the label. Tables with the same columns follow each
 * other under one header; others are set apart by an empty line. Values have all digits; absent
 * ones are empty fields. Texts hold neither control characters nor formulas. */
#include "base/text.h"
#include "report/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* An apostrophe before what a spreadsheet would compute; no control characters. */
static void put_field(FILE *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"") != NULL;
    if (quoted)
        fputc('"', out);
    if (*text && strchr("=+-@", *text))
        fputc('\'', out);
    while (*text) {
        char piece[LULL_UTF8_PIECE];
        if (*text == '"')
            fputc('"', out);
        size_t length = lull_utf8_clean(&text, piece);
        fwrite(piece, 1, length, out);
    }
    if (quoted)
        fputc('"', out);
}

static void put_csv_number(FILE *out, double value)
{
    if (!isfinite(value))
        return;
    struct lull_json json; /* its numbers are what we want: short, and they read back the same */
    lull_json_begin(&json, out, true);
    lull_json_number(&json, value);
}

static void put_csv_cell(FILE *out, struct lull_cell cell)
{
    switch (cell.kind) {
    case LULL_CELL_TEXT:
        put_field(out, cell.text);
        return;
    case LULL_CELL_COUNT:
    case LULL_CELL_BYTES:
        fprintf(out, "%" PRIu64, cell.count);
        return;
    case LULL_CELL_TIME:
        put_csv_number(out, (double)cell.ns / 1e9);
        return;
    case LULL_CELL_NUMBER:
    case LULL_CELL_QUANTITY:
    case LULL_CELL_SHARE:
    case LULL_CELL_EFFICIENCY:
        put_csv_number(out, cell.number);
        return;
    case LULL_CELL_EMPTY:
    case LULL_CELL_ABSENT:
        return;
    }
}

static bool same_columns(const struct lull_table *a, const struct lull_table *b)
{
    if (!a || a->n_columns != b->n_columns)
        return false;
    for (size_t i = 0; i < a->n_columns; i++)
        if (strcmp(a->columns[i].id, b->columns[i].id) != 0)
            return false;
    return true;
}

static void put_csv_facts(FILE *out, const struct lull_document *document)
{
    fputs("table,id,label,value\n", out);
    for (size_t i = 0; i < document->n_facts; i++) {
        const struct lull_fact *fact = &document->facts[i];
        fputs("facts,", out);
        put_field(out, fact->id);
        fputc(',', out);
        put_field(out, fact->label);
        fputc(',', out);
        put_csv_cell(out, fact->value);
        fputc('\n', out);
    }
}

static void put_header(FILE *out, const struct lull_table *table)
{
    fputs("table,id,label", out);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputc(',', out);
        put_field(out, table->columns[i].id);
    }
    fputc('\n', out);
}

static void put_csv_rows(FILE *out, const struct lull_table *table)
{
    for (size_t row = 0; row < table->n_rows; row++) {
        put_field(out, table->id);
        fputc(',', out);
        put_field(out, table->rows[row].id);
        fputc(',', out);
        put_field(out, table->rows[row].label);
        for (size_t column = 0; column < table->n_columns; column++) {
            fputc(',', out);
            put_csv_cell(out, lull_table_get(table, row, column));
        }
        fputc('\n', out);
    }
}

static void render_csv(const struct lull_document *document,
                       const struct lull_render_options *options, FILE *out)
{
    (void)options;
    if (document->n_facts)
        put_csv_facts(out, document);
    const struct lull_table *before = NULL;
    for (const struct lull_table *table = document->tables; table; table = table->next) {
        if (!same_columns(before, table)) {
            if (before || document->n_facts)
                fputc('\n', out);
            put_header(out, table);
        }
        put_csv_rows(out, table);
        before = table;
    }
}

const struct lull_renderer lull_renderer_csv = {
    .name = "csv", .summary = "all digits, for spreadsheets", .render = render_csv};
