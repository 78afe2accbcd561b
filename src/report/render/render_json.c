/* Documents as JSON; docs/formats/json.md describes the result. */
#include "report/model.h"
#include "report/render/json_findings.h"
#include "report/render/json_pictures.h"

#include <inttypes.h>

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

void lull_json_cell(struct lull_json *json, struct lull_cell cell)
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

static void write_text(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_facts(struct lull_json *json, const struct lull_document *document)
{
    bool absent = false;
    lull_json_key(json, "facts");
    lull_json_object_begin(json);
    for (size_t i = 0; i < document->n_facts; i++) {
        lull_json_key(json, document->facts[i].id);
        lull_json_cell(json, document->facts[i].value);
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
        lull_json_cell(json, cell);
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
    lull_json_findings(&json, document);
    lull_json_pictures(&json, document);
    for (size_t i = 0; i < document->n_attachments; i++) {
        lull_json_key(&json, document->attachments[i].key);
        document->attachments[i].write(&json, document->attachments[i].data);
    }
    lull_json_object_end(&json);
}

const struct lull_renderer lull_renderer_json = {
    .name = "json", .summary = "all digits, for programs", .render = render_json};
