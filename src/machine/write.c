/* Writing a machine file: the table in schema.c says what there is. */
#include "machine/schema.h"

#include "base/json/json.h"
#include "base/output_file.h"

#include <math.h>

static void write_fields(struct lull_json *json, const struct lull_shape *shape, const void *item);

static size_t count_of(const struct lull_field *field, const void *item)
{
    return *(const size_t *)((const char *)item + field->count);
}

static bool is_missing(const struct lull_field *field, const void *item);

static bool is_all_missing(const struct lull_shape *shape, const void *item)
{
    for (size_t i = 0; i < shape->n_fields; i++)
        if (!is_missing(&shape->fields[i], item) &&
            shape->fields[i].kind != LULL_FIELD_VERDICT) /* a number without value has none */
            return false;
    return true;
}

static bool is_missing(const struct lull_field *field, const void *item)
{
    const void *place = (const char *)item + field->offset;
    switch (field->kind) {
    case LULL_FIELD_TEXT:
        return *(const char *const *)place == NULL;
    case LULL_FIELD_U32:
        return *(const uint32_t *)place == 0 && !field->required;
    case LULL_FIELD_U64:
        return *(const uint64_t *)place == 0;
    case LULL_FIELD_END:
        return *(const uint64_t *)place == UINT64_MAX;
    case LULL_FIELD_SOME:
        return !*(const bool *)((const char *)item + field->count);
    case LULL_FIELD_DOUBLE:
        return isnan(*(const double *)place) || (field->zero && *(const double *)place == 0);
    case LULL_FIELD_BOOL:
        return !*(const bool *)place;
    case LULL_FIELD_KNOWN:
        return *(const enum lull_known *)place == LULL_UNKNOWN;
    case LULL_FIELD_VERDICT:
        return false;
    case LULL_FIELD_OBJECT:
        return is_all_missing(field->shape, place);
    default:
        return count_of(field, item) == 0;
    }
}

static void write_tuple(struct lull_json *json, const struct lull_shape *shape, const void *item)
{
    size_t count = shape->n_fields;
    while (count > 0 && is_missing(&shape->fields[count - 1], item))
        count--;
    lull_json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        const void *place = (const char *)item + shape->fields[i].offset;
        lull_json_number(json, *(const double *)place);
    }
    lull_json_array_end(json);
}

static void write_object(struct lull_json *json, const struct lull_shape *shape, const void *item)
{
    bool compact = json->compact;
    lull_json_object_begin(json);
    json->compact = compact || shape->on_a_line;
    write_fields(json, shape, item);
    lull_json_object_end(json);
    json->compact = compact;
}

static void write_items(struct lull_json *json, const struct lull_field *field, const void *place,
                        size_t count)
{
    const char *items = *(const char *const *)place;
    for (size_t i = 0; i < count; i++) {
        const char *item = items + i * field->shape->size;
        bool compact = json->compact;
        if (field->kind == LULL_FIELD_TUPLES) {
            write_tuple(json, field->shape, item);
        } else if (field->kind == LULL_FIELD_MAP) {
            lull_json_key(json, *(const char *const *)(const void *)item);
            write_object(json, field->shape, item);
        } else {
            write_object(json, field->shape, item);
        }
        json->compact = compact;
    }
}

/* Arrays of plain values stand on one line. */
static void write_array(struct lull_json *json, const struct lull_field *field, const void *item)
{
    const void *place = (const char *)item + field->offset;
    size_t count = count_of(field, item);
    bool compact = json->compact;
    if (field->kind == LULL_FIELD_MAP) {
        lull_json_object_begin(json);
        write_items(json, field, place, count);
        lull_json_object_end(json);
        return;
    }
    lull_json_array_begin(json);
    if (field->kind != LULL_FIELD_ITEMS)
        json->compact = true;
    if (field->shape)
        write_items(json, field, place, count);
    else
        for (size_t i = 0; i < count; i++) {
            if (field->kind == LULL_FIELD_TEXTS)
                lull_json_string(json, (*(const char **const *)place)[i]);
            else if (field->kind == LULL_FIELD_U64S)
                lull_json_uint(json, (*(const uint64_t *const *)place)[i]);
            else
                lull_json_number(json, (*(const double *const *)place)[i]);
        }
    lull_json_array_end(json);
    json->compact = compact;
}

static void write_value(struct lull_json *json, const struct lull_field *field, const void *item)
{
    const void *place = (const char *)item + field->offset;
    switch (field->kind) {
    case LULL_FIELD_TEXT:
        lull_json_string(json, *(const char *const *)place);
        return;
    case LULL_FIELD_U32:
        lull_json_uint(json, *(const uint32_t *)place);
        return;
    case LULL_FIELD_U64:
    case LULL_FIELD_END:
    case LULL_FIELD_SOME:
        lull_json_uint(json, *(const uint64_t *)place);
        return;
    case LULL_FIELD_DOUBLE:
        lull_json_number(json, *(const double *)place);
        return;
    case LULL_FIELD_BOOL:
        lull_json_bool(json, *(const bool *)place);
        return;
    case LULL_FIELD_KNOWN:
        lull_json_bool(json, *(const enum lull_known *)place == LULL_YES);
        return;
    case LULL_FIELD_VERDICT:
        lull_json_string(json, lull_verdict_name(*(const enum lull_verdict *)place));
        return;
    case LULL_FIELD_OBJECT:
        write_object(json, field->shape, place);
        return;
    default:
        write_array(json, field, item);
    }
}

static void write_fields(struct lull_json *json, const struct lull_shape *shape, const void *item)
{
    for (size_t i = shape->keyed; i < shape->n_fields; i++) {
        if (is_missing(&shape->fields[i], item))
            continue;
        lull_json_key(json, shape->fields[i].key);
        write_value(json, &shape->fields[i], item);
    }
}

void lull_machine_write(const struct lull_machine *machine, FILE *out)
{
    struct lull_json json;
    lull_json_begin(&json, out, false);
    lull_json_object_begin(&json);
    lull_json_key(&json, "format");
    lull_json_string(&json, LULL_MACHINE_FORMAT);
    write_fields(&json, &lull_machine_shape, machine);
    lull_json_object_end(&json);
}

static void write_machine_content(const void *content, FILE *out)
{
    lull_machine_write(content, out);
}

lull_status lull_machine_save(const char *path, const struct lull_machine *machine,
                              struct lull_error *err)
{
    return lull_file_write(path, write_machine_content, machine, err);
}
