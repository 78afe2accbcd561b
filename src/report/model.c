/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model.h"

#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

/* ==== findings ================================================================================ */

void lull_document_findings(struct lull_document *document,
                            const struct lull_shown_finding *findings, uint32_t count,
                            const char *about, const char *none)
{
    document->findings = findings;
    document->n_findings = count;
    document->findings_about = about;
    document->findings_none = none;
}

const char *lull_gain_text(const struct lull_shown_gain *gain, struct lull_arena *arena)
{
    const char *fixed = gain->fixed ? gain->fixed : "Without it";
    char saved[32], low[32], high[32];
    if (gain->absent)
        return gain->absent;
    if (gain->too_small)
        return "Too small to tell: the replay saves less than its own error.";
    lull_format_time(gain->ns, saved, sizeof saved);
    lull_format_time(gain->low_ns, low, sizeof low);
    lull_format_time(gain->high_ns, high, sizeof high);
    if (strcmp(low, high) == 0)
        return lull_arena_printf(arena, "%s %.2fx as fast: %s less.", fixed, gain->factor, saved);
    return lull_arena_printf(arena, "%s %.2fx as fast: %s less (%s to %s).", fixed, gain->factor,
                             saved, low, high);
}

/* ==== the document ============================================================================ */

/* One more element at the end of an array in the arena. */
#define APPEND(arena, array, count, capacity)                                                 \
    ((array) = lull_arena_grow((arena), (array), &(capacity), (count) + 1, sizeof(*(array))), \
     &(array)[(count)++])

static struct lull_cell keep(struct lull_arena *arena, struct lull_cell cell)
{
    if (cell.kind == LULL_CELL_TEXT || cell.kind == LULL_CELL_ABSENT)
        cell.text = lull_arena_strdup(arena, cell.text);
    if (cell.kind == LULL_CELL_QUANTITY)
        cell.unit = lull_arena_strdup(arena, cell.unit);
    return cell;
}

struct lull_document *lull_document_create(struct lull_arena *arena, const char *schema,
                                           const char *title)
{
    struct lull_document *document = lull_arena_zero(arena, 1, sizeof(*document));
    document->arena = arena;
    document->schema = lull_arena_strdup(arena, schema);
    document->title = lull_arena_strdup(arena, title);
    document->tables_end = &document->tables;
    return document;
}

void lull_document_fact(struct lull_document *document, const char *id, const char *label,
                        struct lull_cell value)
{
    struct lull_fact *fact =
        APPEND(document->arena, document->facts, document->n_facts, document->facts_capacity);
    fact->id = lull_arena_strdup(document->arena, id);
    fact->label = lull_arena_strdup(document->arena, label);
    fact->value = keep(document->arena, value);
}

void lull_document_note(struct lull_document *document, enum lull_note_kind kind,
                        const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    assert(length >= 0);
    char *text = lull_arena_alloc(document->arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    struct lull_note *note =
        APPEND(document->arena, document->notes, document->n_notes, document->notes_capacity);
    *note = (struct lull_note){kind, text};
}

void lull_document_attach(struct lull_document *document, const char *key,
                          void (*write)(struct lull_json *json, const void *data), const void *data)
{
    struct lull_attachment *attachment =
        APPEND(document->arena, document->attachments, document->n_attachments,
               document->attachments_capacity);
    *attachment = (struct lull_attachment){lull_arena_strdup(document->arena, key), write, data};
}

static void append_chart(struct lull_document *document, const char *id,
                         const struct lull_chart *chart, bool of_time)
{
    struct lull_picture_chart *picture =
        APPEND(document->arena, document->charts, document->n_charts, document->charts_capacity);
    *picture = (struct lull_picture_chart){lull_arena_strdup(document->arena, id), chart, of_time};
}

void lull_document_chart(struct lull_document *document, const char *id,
                         const struct lull_chart *chart)
{
    append_chart(document, id, chart, false);
}

void lull_document_chart_of_time(struct lull_document *document, const char *id,
                                 const struct lull_chart *chart)
{
    append_chart(document, id, chart, true);
}

void lull_document_timeline(struct lull_document *document,
                            const struct lull_picture_timeline *timeline)
{
    *APPEND(document->arena, document->timelines, document->n_timelines,
            document->timelines_capacity) = timeline;
}

void lull_document_matrix(struct lull_document *document, const struct lull_picture_matrix *matrix)
{
    *APPEND(document->arena, document->matrices, document->n_matrices,
            document->matrices_capacity) = matrix;
}

void lull_document_code(struct lull_document *document, const struct lull_picture_code *code)
{
    *APPEND(document->arena, document->codes, document->n_codes, document->codes_capacity) = code;
}

struct lull_table *lull_document_table(struct lull_document *document, const char *id,
                                       const char *title, enum lull_table_axis axis)
{
    struct lull_table *table = lull_arena_zero(document->arena, 1, sizeof(*table));
    table->arena = document->arena;
    table->id = lull_arena_strdup(document->arena, id);
    table->title = lull_arena_strdup(document->arena, title);
    table->corner = "";
    table->axis = axis;
    table->detail = document->details;
    *document->tables_end = table;
    document->tables_end = &table->next;
    return table;
}

void lull_document_details(struct lull_document *document)
{
    document->details = true;
}

void lull_table_corner(struct lull_table *table, const char *heading)
{
    table->corner = lull_arena_strdup(table->arena, heading);
}

static bool column_id_taken(const struct lull_table *table, const char *id)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->columns[i].id, id) == 0)
            return true;
    return false;
}

uint32_t lull_table_column(struct lull_table *table, const char *id, const char *heading)
{
    const char *unique = lull_arena_strdup(table->arena, id);
    for (unsigned n = 2; column_id_taken(table, unique); n++)
        unique = lull_arena_printf(table->arena, "%s#%u", id, n);
    struct lull_column *column =
        APPEND(table->arena, table->columns, table->n_columns, table->columns_capacity);
    *column = (struct lull_column){unique, lull_arena_strdup(table->arena, heading)};
    return (uint32_t)(table->n_columns - 1);
}

uint32_t lull_table_row(struct lull_table *table, const char *id, const char *label,
                        uint32_t parent)
{
    assert(parent == LULL_NO_ROW || parent < table->n_rows);
    struct lull_row *row = APPEND(table->arena, table->rows, table->n_rows, table->rows_capacity);
    *row = (struct lull_row){.id = lull_arena_strdup(table->arena, id),
                             .label = lull_arena_strdup(table->arena, label),
                             .unit = "",
                             .about = "",
                             .parent = parent,
                             .rule = table->rule_pending};
    table->rule_pending = false;
    return (uint32_t)(table->n_rows - 1);
}

void lull_table_row_unit(struct lull_table *table, uint32_t row, const char *unit)
{
    assert(row < table->n_rows);
    table->rows[row].unit = lull_arena_strdup(table->arena, unit);
}

void lull_table_row_about(struct lull_table *table, uint32_t row, const char *about)
{
    assert(row < table->n_rows);
    table->rows[row].about = lull_arena_strdup(table->arena, about);
}

void lull_table_row_minor(struct lull_table *table, uint32_t row, const char *common)
{
    table->rows[row].minor = true;
    table->minor = lull_arena_strdup(table->arena, common);
}

void lull_table_names(struct lull_table *table)
{
    table->n_names = table->n_columns;
}

void lull_table_rule(struct lull_table *table)
{
    table->rule_pending = true;
}

void lull_table_set(struct lull_table *table, uint32_t row, uint32_t column, struct lull_cell cell)
{
    assert(row < table->n_rows && column < table->n_columns);
    struct lull_row *target = &table->rows[row];
    if (column >= target->n_cells) {
        size_t capacity = target->n_cells;
        target->cells = lull_arena_grow(table->arena, target->cells, &capacity, table->n_columns,
                                        sizeof(*target->cells));
        target->n_cells = capacity;
    }
    target->cells[column] = keep(table->arena, cell);
}

struct lull_cell lull_table_get(const struct lull_table *table, size_t row, size_t column)
{
    const struct lull_row *source = &table->rows[row];
    return column < source->n_cells ? source->cells[column] : (struct lull_cell){0};
}

struct lull_cell lull_cell_text(const char *text)
{
    return (struct lull_cell){.kind = LULL_CELL_TEXT, .text = text};
}

struct lull_cell lull_cell_count(uint64_t value)
{
    return (struct lull_cell){.kind = LULL_CELL_COUNT, .count = value};
}

struct lull_cell lull_cell_number(double value, int digits)
{
    return (struct lull_cell){.kind = LULL_CELL_NUMBER, .digits = digits, .number = value};
}

struct lull_cell lull_cell_quantity(double value, const char *unit)
{
    return (struct lull_cell){.kind = LULL_CELL_QUANTITY, .unit = unit, .number = value};
}

struct lull_cell lull_cell_time(int64_t ns)
{
    return (struct lull_cell){.kind = LULL_CELL_TIME, .ns = ns};
}

struct lull_cell lull_cell_bytes(uint64_t bytes)
{
    return (struct lull_cell){.kind = LULL_CELL_BYTES, .count = bytes};
}

struct lull_cell lull_cell_share(double value)
{
    return (struct lull_cell){.kind = LULL_CELL_SHARE, .number = value};
}

struct lull_cell lull_cell_efficiency(double value)
{
    return (struct lull_cell){.kind = LULL_CELL_EFFICIENCY, .number = value};
}

struct lull_cell lull_cell_absent(const char *why)
{
    return (struct lull_cell){.kind = LULL_CELL_ABSENT, .text = why};
}

const char *lull_cell_unit(struct lull_cell cell, const char *unit)
{
    static const char *const units[] = {
        [LULL_CELL_EMPTY] = "",  [LULL_CELL_TEXT] = "text",   [LULL_CELL_COUNT] = "count",
        [LULL_CELL_NUMBER] = "", [LULL_CELL_QUANTITY] = "",   [LULL_CELL_TIME] = "s",
        [LULL_CELL_BYTES] = "B", [LULL_CELL_SHARE] = "ratio", [LULL_CELL_EFFICIENCY] = "ratio",
        [LULL_CELL_ABSENT] = "",
    };
    if (cell.kind == LULL_CELL_QUANTITY)
        return cell.unit;
    return cell.kind == LULL_CELL_NUMBER ? unit : units[cell.kind];
}

const struct lull_renderer *const lull_renderers[] = {
    &lull_renderer_text, &lull_renderer_json, &lull_renderer_csv, &lull_renderer_html, NULL};

const struct lull_renderer *lull_renderer_find(const char *name)
{
    for (size_t i = 0; lull_renderers[i]; i++)
        if (strcmp(lull_renderers[i]->name, name) == 0)
            return lull_renderers[i];
    return NULL;
}
