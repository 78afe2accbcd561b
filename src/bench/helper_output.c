#include "bench/helper_output.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

struct reader {
    const char *kind;
    struct lull_arena *arena;
    struct lull_helper_output output;
    size_t capacity;
    bool begun, ended;
};

static const char *text_of(const struct reader *reader, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    size_t length = text ? strlen(text) : 0;
    while (length && text[length - 1] == ' ') /* versions of clang have one */
        length--;
    return text ? lull_arena_strndup(reader->arena, text, length) : NULL;
}

/* 0 to `most`; missing: 0. */
static bool whole(const json_t *object, const char *key, uint64_t most, uint64_t *ret_value)
{
    const json_t *value = json_object_get(object, key);
    *ret_value = 0;
    if (!value)
        return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return false;
    *ret_value = (uint64_t)json_integer_value(value);
    return true;
}

static lull_status read_header(struct reader *reader, const json_t *line, struct lull_error *err)
{
    const char *kind = json_string_value(json_object_get(line, "kind"));
    uint64_t ranks, nodes;
    if (json_integer_value(json_object_get(line, "lull_bench")) != 1 || !kind ||
        strcmp(kind, reader->kind) != 0)
        return lull_fail(err, LULL_ERR_FORMAT, "expected \"lull_bench\":1,\"kind\":\"%s\"",
                         reader->kind);
    if (!whole(line, "ranks", UINT32_MAX, &ranks) || !whole(line, "nodes", UINT32_MAX, &nodes))
        return lull_fail(err, LULL_ERR_FORMAT, "expected numbers of ranks and nodes");
    reader->output.ranks = (uint32_t)ranks;
    reader->output.nodes = (uint32_t)nodes;
    reader->output.library = text_of(reader, line, "library");
    json_t *levels = json_object_get(line, "levels");
    reader->output.levels =
        lull_arena_zero(reader->arena, json_object_size(levels) + 1, sizeof *reader->output.levels);
    const char *name;
    json_t *about;
    json_object_foreach(levels, name, about)
    {
        const char *text = json_string_value(about);
        reader->output.levels[reader->output.n_levels++] =
            (struct lull_helper_level){lull_arena_strdup(reader->arena, name),
                                       lull_arena_strdup(reader->arena, text ? text : "")};
    }
    reader->begun = true;
    return LULL_OK;
}

static lull_status read_samples(const struct reader *reader, const json_t *array,
                                struct lull_helper_record *record, struct lull_error *err)
{
    if (!json_is_array(array))
        return lull_fail(err, LULL_ERR_FORMAT, "expected \"samples\", an array");
    record->n_samples = json_array_size(array);
    record->samples =
        lull_arena_alloc(reader->arena, (record->n_samples + 1) * sizeof *record->samples);
    for (size_t i = 0; i < record->n_samples; i++) {
        const json_t *value = json_array_get(array, i);
        record->samples[i] = json_number_value(value);
        if (!json_is_number(value) || !(record->samples[i] >= 0 && record->samples[i] < 1e6))
            return lull_fail(err, LULL_ERR_FORMAT, "sample %zu: expected seconds from 0", i);
    }
    return LULL_OK;
}

static lull_status read_record(struct reader *reader, const json_t *line, struct lull_error *err)
{
    struct lull_helper_record record = {.what = text_of(reader, line, "what"),
                                        .level = text_of(reader, line, "level"),
                                        .detail = text_of(reader, line, "detail"),
                                        .value = NAN};
    uint64_t ranks;
    const json_t *value = json_object_get(line, "value");
    if (!record.what)
        return lull_fail(err, LULL_ERR_FORMAT, "expected \"what\"");
    if (!whole(line, "bytes", UINT64_C(1) << 40, &record.bytes) ||
        !whole(line, "ranks", UINT32_MAX, &ranks) ||
        !whole(line, "repetitions", INT64_MAX, &record.repetitions) ||
        !whole(line, "interrupted", INT64_MAX, &record.interrupted))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "bytes, ranks, repetitions, interrupted: expected whole numbers");
    record.ranks = (uint32_t)ranks;
    if (value)
        record.value = json_number_value(value);
    if (value && (!json_is_number(value) || !(record.value > 0)))
        return lull_fail(err, LULL_ERR_FORMAT, "value: expected more than 0");
    lull_status status = read_samples(reader, json_object_get(line, "samples"), &record, err);
    if (status != LULL_OK)
        return status;
    struct lull_helper_output *output = &reader->output;
    output->records = lull_arena_grow(reader->arena, output->records, &reader->capacity,
                                      output->n_records + 1, sizeof *output->records);
    output->records[output->n_records++] = record;
    return LULL_OK;
}

static lull_status read_line(struct reader *reader, const char *text, size_t length,
                             struct lull_error *err)
{
    json_error_t cause;
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &cause);
    lull_status status = LULL_OK;
    const char *complaint = json_string_value(json_object_get(line, "error"));
    if (!line)
        return lull_fail(err, LULL_ERR_FORMAT, "%s", cause.text);
    if (complaint)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s", complaint);
    else if (json_object_get(line, "end"))
        reader->ended = true;
    else
        status = reader->begun ? read_record(reader, line, err) : read_header(reader, line, err);
    json_decref(line);
    return status;
}

lull_status lull_helper_read(const char *text, const char *kind, struct lull_arena *arena,
                             struct lull_helper_output *ret_output, struct lull_error *err)
{
    struct reader reader = {.kind = kind, .arena = arena};
    for (size_t number = 1; *text && !reader.ended; number++) {
        size_t length = strcspn(text, "\n");
        if (*text == '{') {
            lull_status status = read_line(&reader, text, length, err);
            if (status != LULL_OK)
                return lull_fail_prefix(err, status, "output line %zu", number);
        }
        text += length + (text[length] == '\n');
    }
    if (!reader.begun)
        return lull_fail(err, LULL_ERR_FORMAT, "the helper said nothing");
    if (!reader.ended)
        return lull_fail(err, LULL_ERR_FORMAT, "the output ends before its end");
    *ret_output = reader.output;
    return LULL_OK;
}
