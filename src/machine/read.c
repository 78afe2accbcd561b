/* Reading a machine file with jansson: the table in schema.c says what is expected. A step (what is
 * read now, linked to what surrounds it) becomes the place in the message. */
#include "machine/schema.h"

#include "base/file.h"
#include "base/json/json_step.h"
#include "machine/check.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

struct reader {
    const char *path;
    struct lull_arena *arena;
    struct lull_error *err;
};

static lull_status refuse_field(const struct reader *reader, const struct lull_json_step *step,
                                const char *what)
{
    return lull_json_wrong(reader->err, reader->path, step, what);
}

static lull_status read_fields(const struct reader *reader, const struct lull_shape *shape,
                               json_t *object, const struct lull_json_step *step, void *item);

/* ---- single values --------------------------------------------------------------------------- */

static lull_status read_unsigned(const struct reader *reader, const json_t *value, uint64_t most,
                                 const struct lull_json_step *step, uint64_t *ret)
{
    if (!json_is_integer(value))
        return refuse_field(reader, step, "expected an integer");
    if (json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > most)
        return refuse_field(reader, step, "the number is out of range");
    *ret = (uint64_t)json_integer_value(value);
    return LULL_OK;
}

static lull_status read_double(const struct reader *reader, const json_t *value,
                               const struct lull_json_step *step, double *ret)
{
    if (!json_is_number(value))
        return refuse_field(reader, step, "expected a number");
    *ret = json_number_value(value);
    return LULL_OK;
}

static lull_status read_text(const struct reader *reader, const json_t *value,
                             const struct lull_json_step *step, const char **ret)
{
    if (!json_is_string(value))
        return refuse_field(reader, step, "expected a string");
    *ret = lull_arena_strdup(reader->arena, json_string_value(value));
    return LULL_OK;
}

static lull_status read_verdict(const struct reader *reader, const json_t *value,
                                const struct lull_json_step *step, enum lull_verdict *ret)
{
    const char *text = json_string_value(value);
    for (unsigned i = 0; text && i <= LULL_VERDICT_PUBLISHED; i++) {
        if (strcmp(text, lull_verdict_name((enum lull_verdict)i)) == 0) {
            *ret = (enum lull_verdict)i;
            return LULL_OK;
        }
    }
    return refuse_field(reader, step, "expected quiet, noisy, not converged or published");
}

static lull_status read_simple(const struct reader *reader, const struct lull_field *field,
                               const json_t *value, const struct lull_json_step *step, void *item)
{
    void *place = (char *)item + field->offset;
    uint64_t number = 0;
    lull_status status;
    switch (field->kind) {
    case LULL_FIELD_TEXT:
        return read_text(reader, value, step, place);
    case LULL_FIELD_DOUBLE:
        return read_double(reader, value, step, place);
    case LULL_FIELD_VERDICT:
        return read_verdict(reader, value, step, place);
    case LULL_FIELD_BOOL:
    case LULL_FIELD_KNOWN:
        if (!json_is_boolean(value))
            return refuse_field(reader, step, "expected true or false");
        if (field->kind == LULL_FIELD_BOOL)
            *(bool *)place = json_is_true(value);
        else
            *(enum lull_known *)place = json_is_true(value) ? LULL_YES : LULL_NO;
        return LULL_OK;
    case LULL_FIELD_U32:
        status = read_unsigned(reader, value, UINT32_MAX, step, &number);
        *(uint32_t *)place = (uint32_t)number;
        return status;
    default:
        status = read_unsigned(reader, value, UINT64_MAX, step, &number);
        *(uint64_t *)place = number;
        if (field->kind == LULL_FIELD_SOME)
            *(bool *)((char *)item + field->count) = true;
        return status;
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The document is in memory already, so an array of its length is no more than a few times that. */
static lull_status make_room(const struct reader *reader, size_t count, size_t size, void *item,
                             const struct lull_field *field, char **ret_items)
{
    char *items = lull_arena_try(reader->arena, count ? count : 1, size);
    if (!items)
        return lull_fail(reader->err, LULL_ERR_MEMORY, "%s: not enough memory", reader->path);
    memcpy((char *)item + field->offset, &items, sizeof items);
    *(size_t *)(void *)((char *)item + field->count) = count;
    *ret_items = items;
    return LULL_OK;
}

static lull_status read_tuple(const struct reader *reader, const struct lull_shape *shape,
                              const json_t *value, const struct lull_json_step *step, char *item)
{
    lull_shape_clear(shape, item);
    size_t count = json_array_size(value); /* 0 for what is no array */
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct lull_json_step place = {step, NULL, i};
        const json_t *entry = json_array_get(value, i);
        if (!entry && shape->fields[i].required)
            return refuse_field(reader, step, "expected an array of numbers");
        if (!entry || (json_is_null(entry) && !shape->fields[i].required))
            continue;
        lull_status status =
            read_double(reader, entry, &place, (double *)(void *)(item + shape->fields[i].offset));
        if (status != LULL_OK)
            return status;
    }
    return count <= shape->n_fields ? LULL_OK : refuse_field(reader, step, "the array is too long");
}

static lull_status read_entry(const struct reader *reader, const struct lull_field *field,
                              json_t *value, const struct lull_json_step *step, char *items,
                              size_t i)
{
    switch (field->kind) {
    case LULL_FIELD_TEXTS:
        return read_text(reader, value, step, &((const char **)(void *)items)[i]);
    case LULL_FIELD_U64S:
        return read_unsigned(reader, value, UINT64_MAX, step, &((uint64_t *)(void *)items)[i]);
    case LULL_FIELD_DOUBLES:
        return read_double(reader, value, step, &((double *)(void *)items)[i]);
    case LULL_FIELD_TUPLES:
        return read_tuple(reader, field->shape, value, step, items + i * field->shape->size);
    default:
        return read_fields(reader, field->shape, value, step, items + i * field->shape->size);
    }
}

static lull_status read_array(const struct reader *reader, const struct lull_field *field,
                              json_t *value, const struct lull_json_step *step, void *item)
{
    if (!json_is_array(value))
        return refuse_field(reader, step, "expected an array");
    char *items;
    size_t count = json_array_size(value);
    lull_status status =
        make_room(reader, count, field->shape ? field->shape->size : 8, item, field, &items);
    for (size_t i = 0; status == LULL_OK && i < count; i++) {
        const struct lull_json_step place = {step, NULL, i};
        status = read_entry(reader, field, json_array_get(value, i), &place, items, i);
    }
    return status;
}

static lull_status read_map(const struct reader *reader, const struct lull_field *field,
                            json_t *value, const struct lull_json_step *step, void *item)
{
    if (!json_is_object(value))
        return refuse_field(reader, step, "expected an object");
    char *items;
    lull_status status =
        make_room(reader, json_object_size(value), field->shape->size, item, field, &items);
    const char *key;
    json_t *entry;
    json_object_foreach(value, key, entry)
    {
        const struct lull_json_step place = {step, key, 0};
        if (status == LULL_OK)
            status = read_fields(reader, field->shape, entry, &place, items);
        if (status != LULL_OK)
            break;
        *(const char **)(void *)items = lull_arena_strdup(reader->arena, key);
        items += field->shape->size;
    }
    return status;
}

/* ---- objects --------------------------------------------------------------------------------- */

static lull_status read_field(const struct reader *reader, const struct lull_field *field,
                              json_t *value, const struct lull_json_step *up, void *item)
{
    const struct lull_json_step step = {up, field->key, 0};
    switch (field->kind) {
    case LULL_FIELD_OBJECT:
        return read_fields(reader, field->shape, value, &step, (char *)item + field->offset);
    case LULL_FIELD_MAP:
        return read_map(reader, field, value, &step, item);
    case LULL_FIELD_TEXTS:
    case LULL_FIELD_U64S:
    case LULL_FIELD_DOUBLES:
    case LULL_FIELD_ITEMS:
    case LULL_FIELD_TUPLES:
        return read_array(reader, field, value, &step, item);
    default:
        return read_simple(reader, field, value, &step, item);
    }
}

/* Misspelt keys would otherwise be numbers that silently are not there. */
static lull_status refuse_unknown(const struct reader *reader, const struct lull_shape *shape,
                                  json_t *object, const struct lull_json_step *up)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = shape->keyed;
        while (i < shape->n_fields && strcmp(shape->fields[i].key, key) != 0)
            i++;
        const struct lull_json_step step = {up, key, 0};
        if (i == shape->n_fields && !(up == NULL && strcmp(key, "format") == 0))
            return refuse_field(reader, &step, "the key is not known");
    }
    return LULL_OK;
}

static lull_status read_fields(const struct reader *reader, const struct lull_shape *shape,
                               json_t *object, const struct lull_json_step *step, void *item)
{
    if (!json_is_object(object))
        return refuse_field(reader, step, "expected an object");
    lull_shape_clear(shape, item);
    lull_status status = refuse_unknown(reader, shape, object, step);
    for (size_t i = shape->keyed; status == LULL_OK && i < shape->n_fields; i++) {
        json_t *value = json_object_get(object, shape->fields[i].key);
        if (value && !json_is_null(value)) {
            status = read_field(reader, &shape->fields[i], value, step, item);
        } else if (shape->fields[i].required) {
            const struct lull_json_step missing = {step, shape->fields[i].key, 0};
            status = refuse_field(reader, &missing, "is missing");
        }
    }
    return status;
}

static lull_status read_root(const struct reader *reader, json_t *root,
                             struct lull_machine *machine)
{
    static const struct lull_json_step format_step = {NULL, "format", 0};
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, LULL_MACHINE_FORMAT) != 0)
        return refuse_field(
            reader, json_is_object(root) ? &format_step : NULL,
            format ? "is another version than " LULL_MACHINE_FORMAT
                   : "is no machine file, expected \"format\": \"" LULL_MACHINE_FORMAT "\"");
    lull_status status = read_fields(reader, &lull_machine_shape, root, NULL, machine);
    if (status != LULL_OK)
        return status;
    machine->numbers.capacity = machine->numbers.count;
    char problem[300];
    if (!lull_machine_is_sound(machine, problem, sizeof problem))
        return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: %s", reader->path, problem);
    return LULL_OK;
}

lull_status lull_machine_parse(const char *text, size_t size, const char *path,
                               struct lull_arena *arena, struct lull_machine **ret_machine,
                               struct lull_error *err)
{
    json_error_t problem;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d: %s", path, problem.line, problem.text);
    const struct reader reader = {path, arena, err};
    struct lull_machine *machine = lull_machine_create(arena);
    lull_status status = read_root(&reader, root, machine);
    if (status == LULL_OK)
        *ret_machine = machine;
    json_decref(root);
    return status;
}

lull_status lull_machine_read(const char *path, struct lull_arena *arena,
                              struct lull_machine **ret_machine, struct lull_error *err)
{
    struct lull_mapping mapping;
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    status = lull_machine_parse(mapping.data ? (const char *)mapping.data : "", mapping.size, path,
                                arena, ret_machine, err);
    lull_unmap(&mapping);
    return status;
}
