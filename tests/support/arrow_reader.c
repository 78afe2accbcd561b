#include "support/arrow_reader.h"

#include "support/folder.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== flatbuffers ============================================================================= */

/* A piece of the file: a flatbuffer, or the body of a message. */
struct piece {
    const unsigned char *bytes;
    size_t size;
};

/* A little-endian number of 1, 2, 4 or 8 bytes. */
static uint64_t number_at(struct piece piece, size_t at, unsigned bytes)
{
    fail_if(at > piece.size || bytes > piece.size - at, "a number at %zu of %zu bytes", at,
            piece.size);
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | piece.bytes[at + i];
    return value;
}

static int64_t signed_at(struct piece piece, size_t at, unsigned bytes)
{
    const uint64_t value = number_at(piece, at, bytes), sign = UINT64_C(1) << (bytes * 8 - 1);
    return (int64_t)(bytes < 8 && value & sign ? value - 2 * sign : value);
}

/* Where a reference points to. */
static size_t follow(struct piece piece, size_t at)
{
    return at + (size_t)number_at(piece, at, 4);
}

static size_t root_of(struct piece piece)
{
    return follow(piece, 0);
}

/* Where a table has its field; 0: it has the default. */
static size_t field_at(struct piece piece, size_t table, unsigned field)
{
    const size_t vtable = (size_t)((int64_t)table - signed_at(piece, table, 4));
    const size_t entry = 4 + 2 * (size_t)field;
    if (entry >= number_at(piece, vtable, 2))
        return 0;
    const size_t offset = (size_t)number_at(piece, vtable + entry, 2);
    return offset ? table + offset : 0;
}

static int64_t field_number(struct piece piece, size_t table, unsigned field, unsigned bytes)
{
    const size_t at = field_at(piece, table, field);
    return at ? signed_at(piece, at, bytes) : 0;
}

/* A table, vector or string that must be there. */
static size_t field_follow(struct piece piece, size_t table, unsigned field)
{
    const size_t at = field_at(piece, table, field);
    fail_if(!at, "field %u is missing", field);
    return follow(piece, at);
}

static struct arrow_text string_of(struct piece piece, size_t at)
{
    const size_t length = (size_t)number_at(piece, at, 4);
    fail_if(length >= piece.size - at - 4, "a string of %zu bytes", length);
    return (struct arrow_text){(const char *)piece.bytes + at + 4, length};
}

/* ==== schema ================================================================================== */

enum { SCHEMA = 1, DICTIONARY_BATCH, RECORD_BATCH }; /* MessageHeader */
enum { TYPE_INT = 2, TYPE_UTF8 = 5, TYPE_BOOL = 6 }; /* Type */
enum { FIELD_NAME, FIELD_NULLABLE, FIELD_TYPE_TYPE, FIELD_TYPE, FIELD_DICTIONARY, FIELD_CHILDREN };
enum { VERSION_5 = 4 };

static void read_int_type(struct piece piece, size_t type, struct arrow_column *column)
{
    column->bits = (unsigned)field_number(piece, type, 0, 4);
    column->is_signed = field_number(piece, type, 1, 1) != 0;
    fail_if(column->bits != 8 && column->bits != 16 && column->bits != 32 && column->bits != 64,
            "%s: %u bits", column->name, column->bits);
}

static void read_field(struct piece piece, size_t field, struct arrow_column *column)
{
    const struct arrow_text name = string_of(piece, field_follow(piece, field, FIELD_NAME));
    snprintf(column->name, sizeof column->name, "%.*s", (int)name.length, name.bytes);
    column->may_lack = field_number(piece, field, FIELD_NULLABLE, 1) != 0;
    const int64_t type = field_number(piece, field, FIELD_TYPE_TYPE, 1);
    const size_t dictionary = field_at(piece, field, FIELD_DICTIONARY);
    const size_t children = field_follow(piece, field, FIELD_CHILDREN);
    fail_if(number_at(piece, children, 4) != 0, "%s has children", column->name);
    switch (type) {
    case TYPE_INT:
        column->type = ARROW_INT;
        read_int_type(piece, field_follow(piece, field, FIELD_TYPE), column);
        break;
    case TYPE_BOOL:
        column->type = ARROW_BOOL;
        break;
    default:
        fail_if(type != TYPE_UTF8 || !dictionary, "%s: type %d", column->name, (int)type);
        column->type = ARROW_TEXT;
        column->dictionary = field_number(piece, follow(piece, dictionary), 0, 8);
        read_int_type(piece, field_follow(piece, follow(piece, dictionary), 1), column);
        fail_if(!column->is_signed, "%s: indices without sign", column->name);
    }
    fail_if(type != TYPE_UTF8 && dictionary, "%s: a dictionary of numbers", column->name);
}

static void read_schema(struct piece piece, size_t schema, struct arrow_table *table)
{
    fail_if(field_number(piece, schema, 0, 2) != 0, "not little-endian");
    const size_t fields = field_follow(piece, schema, 1);
    table->n_columns = (size_t)number_at(piece, fields, 4);
    table->columns = calloc(table->n_columns + 1, sizeof *table->columns);
    for (size_t i = 0; i < table->n_columns; i++)
        read_field(piece, follow(piece, fields + 4 + 4 * i), &table->columns[i]);
}

/* ==== messages ================================================================================ */

static struct piece part_of(const struct arrow_table *table, size_t at, size_t size)
{
    fail_if(at > table->size || size > table->size - at, "%zu bytes at %zu of %zu", size, at,
            table->size);
    return (struct piece){table->file + at, size};
}

/* A message that begins at `at`: its metadata, its header and its body. */
static struct piece message_at(const struct arrow_table *table, size_t at, int kind,
                               size_t *ret_header, struct piece *ret_body, size_t *ret_size)
{
    const struct piece head = part_of(table, at, 8);
    fail_if(at % 8 != 0, "a message at %zu", at);
    fail_if(number_at(head, 0, 4) != UINT32_MAX, "no message at %zu", at);
    const size_t length = (size_t)number_at(head, 4, 4);
    fail_if(length % 8 != 0, "metadata of %zu bytes", length);
    const struct piece metadata = part_of(table, at + 8, length);
    const size_t message = root_of(metadata);
    fail_if(field_number(metadata, message, 0, 2) != VERSION_5, "another version");
    fail_if(field_number(metadata, message, 1, 1) != kind, "another kind of message");
    const int64_t body = field_number(metadata, message, 3, 8);
    fail_if(body % 8 != 0, "a body of %d bytes", (int)body);
    *ret_header = field_follow(metadata, message, 2);
    *ret_body = part_of(table, at + 8 + length, (size_t)body);
    *ret_size = 8 + length;
    return metadata;
}

/* A batch: its nodes and buffers, of which the next is taken. */
struct batch {
    struct piece metadata, body;
    size_t nodes, buffers, n_nodes, n_buffers, next_node, next_buffer;
    size_t rows;
};

static struct batch begin_batch(struct piece metadata, size_t record, struct piece body)
{
    struct batch batch = {.metadata = metadata, .body = body};
    batch.rows = (size_t)field_number(metadata, record, 0, 8);
    batch.nodes = field_follow(metadata, record, 1);
    batch.buffers = field_follow(metadata, record, 2);
    batch.n_nodes = (size_t)number_at(metadata, batch.nodes, 4);
    batch.n_buffers = (size_t)number_at(metadata, batch.buffers, 4);
    fail_if(field_at(metadata, record, 3), "compressed");
    /* Vectors of structs of 8-byte numbers are aligned behind their length. */
    fail_if((batch.nodes + 4) % 8 || (batch.buffers + 4) % 8, "not aligned");
    return batch;
}

static size_t next_node(struct batch *batch)
{
    fail_if(batch->next_node >= batch->n_nodes, "a node too few");
    const size_t at = batch->nodes + 4 + 16 * batch->next_node++;
    fail_if(number_at(batch->metadata, at, 8) != batch->rows, "a node of another length");
    const size_t lacking = (size_t)number_at(batch->metadata, at + 8, 8);
    fail_if(lacking > batch->rows, "%zu of %zu rows without value", lacking, batch->rows);
    return lacking;
}

static struct piece next_buffer(struct batch *batch)
{
    fail_if(batch->next_buffer >= batch->n_buffers, "a buffer too few");
    const size_t at = batch->buffers + 4 + 16 * batch->next_buffer++;
    const size_t offset = (size_t)number_at(batch->metadata, at, 8);
    const size_t length = (size_t)number_at(batch->metadata, at + 8, 8);
    fail_if(offset % 8 != 0 || offset > batch->body.size || length > batch->body.size - offset,
            "a buffer of %zu bytes at %zu of %zu", length, offset, batch->body.size);
    return (struct piece){batch->body.bytes + offset, length};
}

static void end_batch(const struct batch *batch)
{
    fail_if(batch->next_node != batch->n_nodes, "a node too many");
    fail_if(batch->next_buffer != batch->n_buffers, "a buffer too many");
}

static bool bit_of(struct piece bits, size_t row)
{
    return number_at(bits, row / 8, 1) >> row % 8 & 1;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
    const struct arrow_text *x = a, *y = b;
    const size_t shorter = x->length < y->length ? x->length : y->length;
    const int order = memcmp(x->bytes, y->bytes, shorter);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Readers that make categories of a dictionary want each text once. */
static void check_different(const struct arrow_column *column)
{
    struct arrow_text *sorted = calloc(column->n_texts + 1, sizeof *sorted);
    if (column->n_texts > 0)
        memcpy(sorted, column->texts, column->n_texts * sizeof *sorted);
    qsort(sorted, column->n_texts, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < column->n_texts; i++)
        fail_if(compare_texts(&sorted[i - 1], &sorted[i]) == 0, "%s: '%.*s' twice", column->name,
                (int)sorted[i].length, sorted[i].bytes);
    free(sorted);
}

static bool is_utf8(struct arrow_text text)
{
    const unsigned char *byte = (const unsigned char *)text.bytes, *end = byte + text.length;
    while (byte < end) {
        const int more = *byte < 0x80   ? 0
                         : *byte < 0xc2 ? -1
                         : *byte < 0xe0 ? 1
                         : *byte < 0xf0 ? 2
                         : *byte < 0xf5 ? 3
                                        : -1;
        if (more < 0 || end - byte <= more)
            return false;
        for (int i = 1; i <= more; i++)
            if ((byte[i] & 0xc0) != 0x80)
                return false;
        byte += more + 1;
    }
    return true;
}

static void read_texts(struct batch *batch, struct arrow_column *column)
{
    fail_if(column->texts, "%s: two dictionaries", column->name);
    column->n_texts = batch->rows;
    column->texts = calloc(batch->rows + 1, sizeof *column->texts);
    fail_if(next_node(batch) != 0, "%s: a text is missing", column->name);
    next_buffer(batch);
    const struct piece offsets = next_buffer(batch), bytes = next_buffer(batch);
    for (size_t i = 0; i < batch->rows; i++) {
        const size_t from = (size_t)number_at(offsets, 4 * i, 4);
        const size_t to = (size_t)number_at(offsets, 4 * i + 4, 4);
        fail_if(from > to || to > bytes.size, "%s: text %zu", column->name, i);
        column->texts[i] = (struct arrow_text){(const char *)bytes.bytes + from, to - from};
        fail_if(!is_utf8(column->texts[i]), "%s: text %zu is no UTF-8", column->name, i);
    }
    check_different(column);
}

static size_t read_dictionary(struct arrow_table *table, size_t at, size_t *ret_body)
{
    size_t header, size;
    struct piece body;
    const struct piece metadata = message_at(table, at, DICTIONARY_BATCH, &header, &body, &size);
    const int64_t id = field_number(metadata, header, 0, 8);
    fail_if(field_number(metadata, header, 2, 1) != 0, "a part of a dictionary");
    struct arrow_column *column = NULL;
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].type == ARROW_TEXT && table->columns[i].dictionary == id)
            column = &table->columns[i];
    fail_if(!column, "a dictionary of no column");
    struct batch batch = begin_batch(metadata, field_follow(metadata, header, 1), body);
    read_texts(&batch, column);
    end_batch(&batch);
    *ret_body = body.size;
    return size;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void read_values(struct batch *batch, struct arrow_column *column, size_t first)
{
    size_t lacking = next_node(batch), found = 0;
    fail_if(lacking > 0 && !column->may_lack, "%s lacks values", column->name);
    const struct piece valid = next_buffer(batch), values = next_buffer(batch);
    for (size_t row = 0; row < batch->rows; row++) {
        const bool there = valid.size == 0 || bit_of(valid, row);
        found += !there;
        column->there[first + row] = there;
        int64_t value = 0;
        if (column->type == ARROW_BOOL)
            value = bit_of(values, row);
        else if (column->is_signed)
            value = signed_at(values, column->bits / 8 * row, column->bits / 8);
        else
            value = (int64_t)number_at(values, column->bits / 8 * row, column->bits / 8);
        column->values[first + row] = value;
        fail_if(there && column->type == ARROW_TEXT &&
                    (value < 0 || (size_t)value >= column->n_texts),
                "%s: text %d of %zu", column->name, (int)value, column->n_texts);
    }
    fail_if(found != lacking, "%s: %zu rows lack a value, %zu say so", column->name, found,
            lacking);
}

static size_t read_batch(struct arrow_table *table, size_t at, size_t *ret_body)
{
    size_t header, size;
    struct piece body;
    const struct piece metadata = message_at(table, at, RECORD_BATCH, &header, &body, &size);
    struct batch batch = begin_batch(metadata, header, body);
    const size_t rows = table->n_rows + batch.rows;
    for (size_t i = 0; i < table->n_columns; i++) {
        struct arrow_column *column = &table->columns[i];
        column->there = realloc(column->there, rows + 1);
        column->values = realloc(column->values, (rows + 1) * sizeof *column->values);
        read_values(&batch, column, table->n_rows);
    }
    end_batch(&batch);
    table->n_rows = rows;
    *ret_body = body.size;
    return size;
}

/* ==== file ==================================================================================== */

/* Reads the messages that a vector of the footer names, and checks what it says of them. Returns where the last one ends. */
static size_t read_blocks(struct arrow_table *table, struct piece footer, unsigned field,
                          size_t end,
                          size_t (*read)(struct arrow_table *table, size_t at, size_t *ret_body))
{
    const size_t blocks = field_follow(footer, root_of(footer), field);
    const size_t count = (size_t)number_at(footer, blocks, 4);
    for (size_t i = 0; i < count; i++) {
        const size_t block = blocks + 4 + 24 * i, at = (size_t)number_at(footer, block, 8);
        size_t body;
        fail_if(at != end, "a message at %zu, expected at %zu", at, end);
        const size_t size = read(table, at, &body);
        fail_if(number_at(footer, block + 8, 4) != size, "metadata of another length");
        fail_if(number_at(footer, block + 16, 8) != body, "a body of another length");
        end = at + size + body;
    }
    if (read == read_batch)
        table->n_batches = count;
    return end;
}

static struct piece footer_of(const struct arrow_table *table)
{
    const struct piece whole = part_of(table, 0, table->size);
    fail_if(table->size < 26 || memcmp(table->file, "ARROW1\0", 8) != 0 ||
                memcmp(table->file + table->size - 6, "ARROW1", 6) != 0,
            "no Arrow file");
    const size_t length = (size_t)number_at(whole, table->size - 10, 4);
    fail_if(length > table->size - 18, "a footer of %zu bytes", length);
    return part_of(table, table->size - 10 - length, length);
}

/* The schema stands at the begin, for those that read the file as a stream, and in the footer. */
static size_t check_first_schema(const struct arrow_table *table)
{
    struct arrow_table other = {.file = table->file, .size = table->size};
    size_t header, size;
    struct piece body;
    const struct piece metadata = message_at(table, 8, SCHEMA, &header, &body, &size);
    read_schema(metadata, header, &other);
    fail_if(body.size != 0 || other.n_columns != table->n_columns, "two schemas");
    for (size_t i = 0; i < other.n_columns; i++)
        fail_if(memcmp(&other.columns[i], &table->columns[i], sizeof *other.columns) != 0,
                "two schemas for column %zu", i);
    free(other.columns);
    return 8 + size;
}

struct arrow_table arrow_read(const char *path)
{
    struct arrow_table table = {0};
    table.file = folder_read(path, &table.size);
    const struct piece footer = footer_of(&table);
    const size_t root = root_of(footer);
    fail_if(field_number(footer, root, 0, 2) != VERSION_5, "another version");
    read_schema(footer, field_follow(footer, root, 1), &table);
    size_t end = check_first_schema(&table);
    end = read_blocks(&table, footer, 2, end, read_dictionary);
    for (size_t i = 0; i < table.n_columns; i++)
        fail_if(table.columns[i].type == ARROW_TEXT && !table.columns[i].texts,
                "%s has no dictionary", table.columns[i].name);
    end = read_blocks(&table, footer, 3, end, read_batch);
    const struct piece last = part_of(&table, end, 8);
    fail_if(number_at(last, 0, 8) != UINT32_MAX, "no end of messages");
    fail_if(footer.bytes != table.file + end + 8, "something between messages and footer");
    return table;
}

void arrow_free(struct arrow_table *table)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        free(table->columns[i].texts);
        free(table->columns[i].there);
        free(table->columns[i].values);
    }
    free(table->columns);
    free(table->file);
    *table = (struct arrow_table){0};
}

/* ==== cells =================================================================================== */

const struct arrow_column *arrow_column(const struct arrow_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    fail_msg("no column '%s'", name);
    return NULL;
}

bool arrow_lacks(const struct arrow_table *table, const char *column, size_t row)
{
    assert_in_range(row, 0, table->n_rows - 1);
    return !arrow_column(table, column)->there[row];
}

int64_t arrow_number(const struct arrow_table *table, const char *column, size_t row)
{
    fail_if(arrow_lacks(table, column, row), "%s: row %zu has no value", column, row);
    return arrow_column(table, column)->values[row];
}

bool arrow_says(const struct arrow_table *table, const char *column, size_t row, const char *text)
{
    if (!text || arrow_lacks(table, column, row))
        return !text && arrow_lacks(table, column, row);
    const struct arrow_column *of = arrow_column(table, column);
    assert_int_equal(of->type, ARROW_TEXT);
    const struct arrow_text *said = &of->texts[of->values[row]];
    return said->length == strlen(text) && memcmp(said->bytes, text, said->length) == 0;
}

struct arrow_text arrow_note(const struct arrow_table *table, const char *key)
{
    const struct piece footer = footer_of(table);
    const size_t schema = field_follow(footer, root_of(footer), 1);
    const size_t notes = field_follow(footer, schema, 2);
    for (size_t i = 0; i < number_at(footer, notes, 4); i++) {
        const size_t note = follow(footer, notes + 4 + 4 * i);
        const struct arrow_text said = string_of(footer, field_follow(footer, note, 0));
        if (said.length == strlen(key) && memcmp(said.bytes, key, said.length) == 0)
            return string_of(footer, field_follow(footer, note, 1));
    }
    fail_msg("no note '%s'", key);
    return (struct arrow_text){NULL, 0};
}
