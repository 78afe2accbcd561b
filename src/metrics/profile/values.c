#include "metrics/profile/values.h"

#include "base/text.h"

#include <string.h>

lull_status lull_profile_wrong(const struct lull_profile_reader *reader,
                               const struct lull_json_step *step, const char *what)
{
    return lull_json_wrong(reader->err, reader->path, step, what);
}

/* ---- values -------------------------------------------------------------------------------- */

lull_status lull_profile_int(const struct lull_profile_reader *reader, const json_t *object,
                             const struct lull_json_step *up, const char *key, int64_t most,
                             int64_t *ret)
{
    const struct lull_json_step step = {up, key, 0};
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return lull_profile_wrong(reader, &step, "expected an integer");
    int64_t number = json_integer_value(value);
    if (number < 0 || number > most)
        return lull_profile_wrong(reader, &step, "the number is out of range");
    *ret = number;
    return LULL_OK;
}

lull_status lull_profile_u32(const struct lull_profile_reader *reader, const json_t *object,
                             const struct lull_json_step *up, const char *key, uint32_t *ret)
{
    int64_t number;
    lull_status status = lull_profile_int(reader, object, up, key, LULL_NONE - INT64_C(1), &number);
    if (status == LULL_OK)
        *ret = (uint32_t)number;
    return status;
}

lull_status lull_profile_count_of(const struct lull_profile_reader *reader, const json_t *value,
                                  const struct lull_json_step *step, uint64_t *ret)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *ret = (uint64_t)json_integer_value(value);
        return LULL_OK;
    }
    if (json_is_string(value) &&
        lull_parse_u64(json_string_value(value), json_string_length(value), ret) == LULL_OK)
        return LULL_OK;
    return lull_profile_wrong(reader, step, "expected a count: an integer, or a string of digits");
}

lull_status lull_profile_count(const struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *up, const char *key, uint64_t *ret)
{
    const struct lull_json_step step = {up, key, 0};
    return lull_profile_count_of(reader, json_object_get(object, key), &step, ret);
}

lull_status lull_profile_text(const struct lull_profile_reader *reader, const json_t *object,
                              const struct lull_json_step *up, const char *key, const char **ret)
{
    const struct lull_json_step step = {up, key, 0};
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return lull_profile_wrong(reader, &step, "expected a string");
    *ret = lull_arena_strdup(reader->arena, json_string_value(value));
    return LULL_OK;
}

lull_status lull_profile_name(const struct lull_profile_reader *reader, const json_t *object,
                              const struct lull_json_step *up, const char *key,
                              const char *(*name_of)(unsigned), unsigned count, uint8_t *ret)
{
    const struct lull_json_step step = {up, key, 0};
    const char *text = json_string_value(json_object_get(object, key));
    for (unsigned i = 0; text && i < count; i++) {
        if (strcmp(text, name_of(i)) == 0) {
            *ret = (uint8_t)i;
            return LULL_OK;
        }
    }
    return lull_profile_wrong(reader, &step, text ? "the name is not known" : "expected a string");
}

lull_status lull_profile_times(const struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *up,
                               const struct lull_profile_time *fields, size_t count, void *to)
{
    for (size_t i = 0; i < count; i++) {
        int64_t *field = (int64_t *)((char *)to + fields[i].offset);
        lull_status status =
            lull_profile_int(reader, object, up, fields[i].key, LULL_PROFILE_MOST_NS, field);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* ---- arrays -------------------------------------------------------------------------------- */

lull_status lull_profile_array(struct lull_profile_reader *reader, const json_t *root,
                               const char *key, bool required, size_t item_size, void **ret_items,
                               uint32_t *ret_count, lull_profile_item *read)
{
    const struct lull_json_step step = {NULL, key, 0};
    const json_t *array = json_object_get(root, key);
    if (!array && !required)
        return LULL_OK;
    if (!json_is_array(array))
        return lull_profile_wrong(reader, &step, "expected an array");
    size_t count = json_array_size(array);
    *ret_items = lull_arena_try(reader->arena, count + 1, item_size);
    if (!*ret_items || count >= LULL_NONE)
        return lull_fail(reader->err, LULL_ERR_MEMORY, "%s: not enough memory", reader->path);
    for (size_t i = 0; i < count; i++) {
        const struct lull_json_step item = {&step, NULL, i};
        const json_t *object = json_array_get(array, i);
        if (!json_is_object(object))
            return lull_profile_wrong(reader, &item, "expected an object");
        lull_status status = read(reader, object, &item, i);
        if (status != LULL_OK)
            return status;
        *ret_count = (uint32_t)(i + 1);
    }
    return LULL_OK;
}
