/* SPDX-License-Identifier: BSD-3-Clause */
/* An Arrow file: the magic word, the schema, a message for each dictionary and each batch, an end
 * of messages, and a footer with the schema and the places of the messages.
 *
 * A message is a length, metadata (flatbuffers), and a body. The body of a batch is for each column
 * the bits that say which rows have a value, unless all have, and then the values. The metadata are
 * built by flatcc from Arrow's own schema (third_party/nanoarrow); bodies are written as they lie
 * in memory. */
#include "columns/arrow_file.h"

#include "base/array.h"
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <nanoarrow/ipc/flatcc_generated.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Arrow's name for a thing of its schema. */
#define ARROW(name) FLATBUFFERS_WRAP_NAMESPACE(org_apache_arrow_flatbuf, name)

static const char magic[8] = "ARROW1"; /* padded; at the end of a file without padding */
enum { MAGIC_LENGTH = 6, ALIGNMENT = 8 };

/* Where a message is in the file, as the footer says it. */
struct place {
    int64_t offset, body;
    int32_t metadata;
};

struct places {
    struct place *all;
    size_t count, capacity;
};

struct lull_arrow_out {
    FILE *stream;
    int failure; /* errno of a write that failed */
    char *shown;
    flatcc_builder_t builder;
    bool built; /* there is a builder to be cleared */
    int64_t offset;
    uint32_t n_columns;
    struct lull_arrow_column *columns;
    uint32_t n_notes;
    struct lull_arrow_note *notes;
    struct places dictionaries, batches;
    unsigned char *metadata; /* a copy of those of a message */
    size_t metadata_capacity;
    ARROW(FieldNode_t) * nodes; /* [n_columns] */
    ARROW(Buffer_t) * buffers;  /* [2 * n_columns] */
};

static lull_status no_memory(const struct lull_arrow_out *out, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", out->shown);
}

/* ==== bytes =================================================================================== */

static size_t padded(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Failures stay in the stream. */
static void put_bytes(struct lull_arrow_out *out, const void *bytes, size_t size)
{
    if (size > 0)
        fwrite(bytes, 1, size, out->stream);
    out->offset += (int64_t)size;
}

static void put_padding(struct lull_arrow_out *out)
{
    static const char zeros[ALIGNMENT];
    const size_t at = (size_t)out->offset;
    put_bytes(out, zeros, padded(at) - at);
}

static lull_status check_written(const struct lull_arrow_out *out, struct lull_error *err)
{
    if (!ferror(out->stream))
        return LULL_OK;
    errno = out->failure ? out->failure : ENOMEM; /* stdio itself fails for want of memory alone */
    return lull_fail_errno(err, "%s: cannot write", out->shown);
}

/* Takes the flatbuffer that has been built. False: no memory. */
static bool take_metadata(struct lull_arrow_out *out, size_t *ret_size)
{
    const size_t size = flatcc_builder_get_buffer_size(&out->builder);
    if (!lull_array_reserve(&out->metadata, &out->metadata_capacity, padded(size), 1) ||
        !flatcc_builder_copy_buffer(&out->builder, out->metadata, size))
        return false;
    memset(out->metadata + size, 0, padded(size) - size);
    *ret_size = size;
    return flatcc_builder_reset(&out->builder) == 0;
}

/* Writes the head of a message whose metadata have been built. */
static lull_status put_head(struct lull_arrow_out *out, int64_t body, struct places *places,
                            struct lull_error *err)
{
    size_t size;
    if (!take_metadata(out, &size))
        return no_memory(out, err);
    const uint32_t head[2] = {UINT32_MAX, (uint32_t)padded(size)};
    const int64_t offset = out->offset;
    put_bytes(out, head, sizeof head);
    put_bytes(out, out->metadata, padded(size));
    if (!places)
        return LULL_OK;
    if (!lull_array_reserve(&places->all, &places->capacity, places->count + 1,
                            sizeof *places->all))
        return no_memory(out, err);
    places->all[places->count++] =
        (struct place){.offset = offset, .body = body, .metadata = (int32_t)(out->offset - offset)};
    return LULL_OK;
}

/* ==== schema ================================================================================== */

/* The functions that build metadata return false where flatcc has no memory. */

static const struct {
    uint8_t bytes; /* 0: a bit; of NAME it depends on how many names there are */
    bool is_signed;
} types[LULL_ARROW_TYPES] = {
    [LULL_ARROW_INT64] = {8, true}, [LULL_ARROW_UINT64] = {8, false},
    [LULL_ARROW_INT32] = {4, true}, [LULL_ARROW_BOOL] = {0, false},
    [LULL_ARROW_NAME] = {0, true},
};

/* Indices of names are as narrow as may be. */
static uint32_t width_of(const struct lull_arrow_column *column)
{
    if (column->type != LULL_ARROW_NAME)
        return types[column->type].bytes;
    if (column->names->count <= INT8_MAX)
        return 1;
    return column->names->count <= INT16_MAX ? 2 : 4;
}

static bool build_type(flatcc_builder_t *builder, const struct lull_arrow_column *column,
                       uint32_t number)
{
    if (column->type == LULL_ARROW_BOOL)
        return ARROW(Field_type_Bool_create)(builder) == 0;
    const int32_t bits = (int32_t)width_of(column) * 8;
    if (column->type != LULL_ARROW_NAME)
        return ARROW(Field_type_Int_create)(builder, bits, types[column->type].is_signed) == 0;
    const ARROW(Int_ref_t) index = ARROW(Int_create)(builder, bits, true);
    const ARROW(DictionaryEncoding_ref_t) dictionary = ARROW(DictionaryEncoding_create)(
        builder, number, index, false, ARROW(DictionaryKind_DenseArray));
    return index && dictionary && ARROW(Field_dictionary_add)(builder, dictionary) == 0 &&
           ARROW(Field_type_Utf8_create)(builder) == 0;
}

static bool build_field(flatcc_builder_t *builder, const struct lull_arrow_column *column,
                        uint32_t number)
{
    return ARROW(Schema_fields_push_start)(builder) == 0 &&
           ARROW(Field_name_create_str)(builder, column->name) == 0 &&
           ARROW(Field_nullable_add)(builder, column->may_lack) == 0 &&
           build_type(builder, column, number) && ARROW(Field_children_start)(builder) == 0 &&
           ARROW(Field_children_end)(builder) == 0 && ARROW(Schema_fields_push_end)(builder);
}

static bool build_note(flatcc_builder_t *builder, const struct lull_arrow_note *note)
{
    return ARROW(Schema_custom_metadata_push_start)(builder) == 0 &&
           ARROW(KeyValue_key_create_str)(builder, note->key) == 0 &&
           ARROW(KeyValue_value_create_str)(builder, note->value) == 0 &&
           ARROW(Schema_custom_metadata_push_end)(builder);
}

/* The members of a schema that has been begun. A column's number is that of its dictionary. */
static bool build_schema(struct lull_arrow_out *out)
{
    flatcc_builder_t *builder = &out->builder;
    const uint16_t one = 1;
    const bool little = *(const unsigned char *)&one == 1; /* bodies are written as they lie */
    bool built = ARROW(Schema_endianness_add)(builder, little ? ARROW(Endianness_Little)
                                                              : ARROW(Endianness_Big)) == 0 &&
                 ARROW(Schema_fields_start)(builder) == 0;
    for (uint32_t i = 0; built && i < out->n_columns; i++)
        built = build_field(builder, &out->columns[i], i);
    built = built && ARROW(Schema_fields_end)(builder) == 0 &&
            ARROW(Schema_custom_metadata_start)(builder) == 0;
    for (uint32_t i = 0; built && i < out->n_notes; i++)
        built = build_note(builder, &out->notes[i]);
    return built && ARROW(Schema_custom_metadata_end)(builder) == 0;
}

static bool begin_message(flatcc_builder_t *builder)
{
    return ARROW(Message_start_as_root)(builder) == 0 &&
           ARROW(Message_version_add)(builder, ARROW(MetadataVersion_V5)) == 0;
}

static bool end_message(flatcc_builder_t *builder, int64_t body)
{
    return ARROW(Message_bodyLength_add)(builder, body) == 0 && ARROW(Message_end_as_root)(builder);
}

static lull_status put_schema(struct lull_arrow_out *out, struct lull_error *err)
{
    flatcc_builder_t *builder = &out->builder;
    const bool built = begin_message(builder) && ARROW(Message_header_Schema_start)(builder) == 0 &&
                       build_schema(out) && ARROW(Message_header_Schema_end)(builder) == 0 &&
                       end_message(builder, 0);
    return built ? put_head(out, 0, NULL, err) : no_memory(out, err);
}

/* ==== dictionaries ============================================================================ */

/* The members of a batch of one column of text, whose record has been begun. */
static bool build_texts(flatcc_builder_t *builder, int64_t count, size_t text_size)
{
    const size_t offsets = ((size_t)count + 1) * sizeof(int32_t);
    const ARROW(FieldNode_t) node = {count, 0};
    const ARROW(Buffer_t) buffers[3] = {
        {0, 0}, {0, (int64_t)offsets}, {(int64_t)padded(offsets), (int64_t)text_size}};
    return ARROW(RecordBatch_length_add)(builder, count) == 0 &&
           ARROW(RecordBatch_nodes_create)(builder, &node, 1) == 0 &&
           ARROW(RecordBatch_buffers_create)(builder, buffers, 3) == 0;
}

/* `offsets` has a place for each name and one more. */
static lull_status put_texts(struct lull_arrow_out *out, const struct lull_hash *names,
                             uint32_t number, int32_t *offsets, struct lull_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < names->count; i++) {
        offsets[i] = (int32_t)size;
        size += names->entries[i].size;
        if (size > INT32_MAX)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: the names of column '%s' have more than 2 GiB", out->shown,
                             out->columns[number].name);
    }
    offsets[names->count] = (int32_t)size;
    flatcc_builder_t *builder = &out->builder;
    const size_t offsets_size = (names->count + 1) * sizeof *offsets;
    const int64_t body = (int64_t)(padded(offsets_size) + padded(size));
    if (!begin_message(builder) || ARROW(Message_header_DictionaryBatch_start)(builder) != 0 ||
        ARROW(DictionaryBatch_id_add)(builder, number) != 0 ||
        ARROW(DictionaryBatch_data_start)(builder) != 0 ||
        !build_texts(builder, (int64_t)names->count, size) ||
        ARROW(DictionaryBatch_data_end)(builder) != 0 ||
        ARROW(Message_header_DictionaryBatch_end)(builder) != 0 || !end_message(builder, body))
        return no_memory(out, err);
    const lull_status status = put_head(out, body, &out->dictionaries, err);
    if (status != LULL_OK)
        return status;
    put_bytes(out, offsets, offsets_size);
    put_padding(out);
    for (size_t i = 0; i < names->count; i++)
        put_bytes(out, lull_hash_key(names, i), names->entries[i].size);
    put_padding(out);
    return check_written(out, err);
}

static lull_status put_dictionaries(struct lull_arrow_out *out, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < out->n_columns && status == LULL_OK; i++) {
        if (out->columns[i].type != LULL_ARROW_NAME)
            continue;
        const struct lull_hash *names = out->columns[i].names;
        int32_t *offsets = malloc((names->count + 1) * sizeof *offsets);
        status = offsets ? put_texts(out, names, i, offsets, err) : no_memory(out, err);
        free(offsets);
    }
    return status;
}

/* ==== batches ================================================================================= */

static size_t bytes_of_bits(uint32_t bits)
{
    return (bits + 7) / 8;
}

static size_t bytes_of_rows(const struct lull_arrow_values *values, uint32_t rows)
{
    return values->width ? (size_t)values->width * rows : bytes_of_bits(rows);
}

/* Before the first row of a batch. */
static void begin_batch(struct lull_arrow_file *file)
{
    file->rows = 0;
    for (uint32_t i = 0; i < file->out->n_columns; i++) {
        struct lull_arrow_values *values = &file->values[i];
        if (values->lacking > 0)
            memset(values->there, 0xff, LULL_ARROW_ROWS / 8);
        values->lacking = 0;
    }
}

/* Places the buffers of a batch in its body, and returns the length of that. */
static int64_t place_buffers(const struct lull_arrow_file *file)
{
    struct lull_arrow_out *out = file->out;
    int64_t at = 0;
    for (uint32_t i = 0; i < out->n_columns; i++) {
        const struct lull_arrow_values *values = &file->values[i];
        const size_t bits = values->lacking ? bytes_of_bits(file->rows) : 0;
        const size_t size = bytes_of_rows(values, file->rows);
        out->nodes[i] = (ARROW(FieldNode_t)){file->rows, values->lacking};
        out->buffers[2 * i] = (ARROW(Buffer_t)){at, (int64_t)bits};
        at += (int64_t)padded(bits);
        out->buffers[2 * i + 1] = (ARROW(Buffer_t)){at, (int64_t)size};
        at += (int64_t)padded(size);
    }
    return at;
}

lull_status lull_arrow_write_batch(struct lull_arrow_file *file, struct lull_error *err)
{
    struct lull_arrow_out *out = file->out;
    flatcc_builder_t *builder = &out->builder;
    const int64_t body = place_buffers(file);
    if (!begin_message(builder) || ARROW(Message_header_RecordBatch_start)(builder) != 0 ||
        ARROW(RecordBatch_length_add)(builder, file->rows) != 0 ||
        ARROW(RecordBatch_nodes_create)(builder, out->nodes, out->n_columns) != 0 ||
        ARROW(RecordBatch_buffers_create)(builder, out->buffers, (size_t)2 * out->n_columns) != 0 ||
        ARROW(Message_header_RecordBatch_end)(builder) != 0 || !end_message(builder, body))
        return no_memory(out, err);
    const lull_status status = put_head(out, body, &out->batches, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t i = 0; i < out->n_columns; i++) {
        const struct lull_arrow_values *values = &file->values[i];
        if (values->lacking)
            put_bytes(out, values->there, bytes_of_bits(file->rows));
        put_padding(out);
        put_bytes(out, values->bytes, bytes_of_rows(values, file->rows));
        put_padding(out);
    }
    begin_batch(file);
    return check_written(out, err);
}

/* ==== footer ================================================================================== */

static void copy_places(ARROW(Block_t) * blocks, const struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        blocks[i] = (ARROW(Block_t)){.offset = places->all[i].offset,
                                     .metaDataLength = places->all[i].metadata,
                                     .bodyLength = places->all[i].body};
}

static bool build_footer(struct lull_arrow_out *out)
{
    flatcc_builder_t *builder = &out->builder;
    if (ARROW(Footer_start_as_root)(builder) != 0 ||
        ARROW(Footer_version_add)(builder, ARROW(MetadataVersion_V5)) != 0 ||
        ARROW(Footer_schema_start)(builder) != 0 || !build_schema(out) ||
        ARROW(Footer_schema_end)(builder) != 0)
        return false;
    ARROW(Block_t) * blocks;
    if (ARROW(Footer_dictionaries_start)(builder) != 0)
        return false;
    if (out->dictionaries.count > 0) {
        blocks = ARROW(Footer_dictionaries_extend)(builder, out->dictionaries.count);
        if (!blocks)
            return false;
        copy_places(blocks, &out->dictionaries);
    }
    if (ARROW(Footer_dictionaries_end)(builder) != 0 ||
        ARROW(Footer_recordBatches_start)(builder) != 0)
        return false;
    if (out->batches.count > 0) {
        blocks = ARROW(Footer_recordBatches_extend)(builder, out->batches.count);
        if (!blocks)
            return false;
        copy_places(blocks, &out->batches);
    }
    return ARROW(Footer_recordBatches_end)(builder) == 0 && ARROW(Footer_end_as_root)(builder);
}

static lull_status put_footer(struct lull_arrow_out *out, struct lull_error *err)
{
    static const uint32_t end_of_messages[2] = {UINT32_MAX, 0};
    size_t size;
    put_bytes(out, end_of_messages, sizeof end_of_messages);
    if (!build_footer(out) || !take_metadata(out, &size))
        return no_memory(out, err);
    const int32_t length = (int32_t)size;
    put_bytes(out, out->metadata, size);
    put_bytes(out, &length, sizeof length);
    put_bytes(out, magic, MAGIC_LENGTH);
    return LULL_OK;
}

/* ==== file ==================================================================================== */

static void release_arrow(struct lull_arrow_file *file)
{
    struct lull_arrow_out *out = file->out;
    for (uint32_t i = 0; file->values && i < out->n_columns; i++) {
        free(file->values[i].bytes);
        free(file->values[i].there);
    }
    free(file->values);
    if (out->built)
        flatcc_builder_clear(&out->builder);
    free(out->shown);
    free(out->columns);
    free(out->notes);
    free(out->dictionaries.all);
    free(out->batches.all);
    free(out->metadata);
    free(out->nodes);
    free(out->buffers);
    free(out);
    *file = (struct lull_arrow_file){0};
}

static void *copy_array(const void *items, size_t count, size_t size)
{
    void *copy = malloc(count * size + 1);
    if (copy && count > 0)
        memcpy(copy, items, count * size);
    return copy;
}

static bool make_values(const struct lull_arrow_column *column, struct lull_arrow_values *values)
{
    values->width = width_of(column);
    values->bytes = calloc(bytes_of_rows(values, LULL_ARROW_ROWS), 1);
    if (column->may_lack)
        values->there = malloc(LULL_ARROW_ROWS / 8);
    if (values->there)
        memset(values->there, 0xff, LULL_ARROW_ROWS / 8);
    return values->bytes && (values->there || !column->may_lack);
}

static bool make_arrow(struct lull_arrow_file *file, const struct lull_arrow_column *columns,
                       uint32_t n_columns, const struct lull_arrow_note *notes, uint32_t n_notes)
{
    struct lull_arrow_out *out = file->out;
    out->columns = copy_array(columns, n_columns, sizeof *columns);
    out->notes = copy_array(notes, n_notes, sizeof *notes);
    out->nodes = malloc(n_columns * sizeof *out->nodes);
    out->buffers = malloc(2 * (size_t)n_columns * sizeof *out->buffers);
    file->values = calloc(n_columns, sizeof *file->values);
    if (!out->columns || !out->notes || !out->nodes || !out->buffers || !file->values)
        return false;
    out->n_columns = n_columns;
    out->n_notes = n_notes;
    for (uint32_t i = 0; i < n_columns; i++)
        if (!make_values(&columns[i], &file->values[i]))
            return false;
    out->built = flatcc_builder_init(&out->builder) == 0;
    return out->built;
}

static lull_status create_stream(struct lull_arrow_out *out, const char *path,
                                 struct lull_error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        close(fd);
        out->stream = lull_output_stream_open(path, &out->failure);
    }
    return out->stream ? LULL_OK : lull_fail_errno(err, "%s: cannot write", out->shown);
}

lull_status lull_arrow_open(const char *path, const char *shown,
                            const struct lull_arrow_column *columns, uint32_t n_columns,
                            const struct lull_arrow_note *notes, uint32_t n_notes,
                            struct lull_arrow_file *ret_file, struct lull_error *err)
{
    struct lull_arrow_file file = {.out = calloc(1, sizeof *file.out)};
    if (!file.out || !(file.out->shown = strdup(shown))) {
        free(file.out);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", shown);
    }
    struct lull_arrow_out *out = file.out;
    lull_status status = make_arrow(&file, columns, n_columns, notes, n_notes)
                             ? create_stream(out, path, err)
                             : no_memory(out, err);
    if (status != LULL_OK) {
        release_arrow(&file);
        return status;
    }
    put_bytes(out, magic, sizeof magic);
    status = put_schema(out, err);
    if (status == LULL_OK)
        status = put_dictionaries(out, err);
    if (status != LULL_OK) {
        lull_arrow_close(&file, false, NULL);
        return status;
    }
    *ret_file = file;
    return LULL_OK;
}

lull_status lull_arrow_close(struct lull_arrow_file *file, bool complete, struct lull_error *err)
{
    struct lull_arrow_out *out = file->out;
    if (!out)
        return LULL_OK;
    lull_status status = LULL_OK;
    if (complete && file->rows > 0)
        status = lull_arrow_write_batch(file, err);
    if (complete && status == LULL_OK)
        status = put_footer(out, err);
    const lull_status closed = lull_output_stream_close(out->stream, &out->failure, out->shown,
                                                        status == LULL_OK ? err : NULL);
    release_arrow(file);
    return status != LULL_OK ? status : closed;
}
