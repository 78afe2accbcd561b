#include "study/history/line.h"

#include "base/json/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing -------------------------------------------------------------------------------- */

static void write_member(struct lull_json *json, const char *key, const char *value)
{
    lull_json_key(json, key);
    lull_json_string(json, value);
}

static void write_values(struct lull_json *json, const struct lull_history_entry *entry)
{
    lull_json_key(json, "metrics");
    lull_json_object_begin(json);
    for (uint32_t i = 0; i < entry->n_values; i++) {
        if (!isfinite(entry->values[i].value))
            continue;
        lull_json_key(json, entry->values[i].id);
        lull_json_number(json, entry->values[i].value);
    }
    lull_json_object_end(json);
}

static const char *cause_id(unsigned activity)
{
    return activity < LULL_ACTIVITIES ? lull_activity_id(activity) : "not_recorded";
}

/* [region, site, cause, ns] */
static void write_parts(struct lull_json *json, const struct lull_parts *parts)
{
    lull_json_key(json, "parts");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct lull_part *part = &parts->parts[i];
        if (!lull_part_is_kept(part, parts))
            continue;
        lull_json_array_begin(json);
        lull_json_string(json, part->region);
        lull_json_string(json, part->site);
        lull_json_string(json, cause_id(part->activity));
        lull_json_int(json, part->ns);
        lull_json_array_end(json);
    }
    lull_json_array_end(json);
}

char *lull_history_line_write(const struct lull_history_entry *entry)
{
    char *line = NULL, time[32];
    size_t size;
    struct lull_json json;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    lull_json_begin(&json, out, true);
    lull_json_object_begin(&json);
    write_member(&json, "schema", LULL_HISTORY_SCHEMA);
    write_member(&json, "time", lull_history_time_text(entry->time, time));
    write_member(&json, "program", entry->key.program);
    write_member(&json, "input", entry->key.input);
    write_member(&json, "machine", entry->key.machine);
    write_member(&json, "layout", entry->key.layout);
    write_member(&json, "commit", entry->commit);
    write_member(&json, "run", entry->run);
    write_values(&json, entry);
    lull_json_key(&json, "core_ns");
    lull_json_int(&json, entry->parts.total_ns);
    write_parts(&json, &entry->parts);
    lull_json_object_end(&json);
    fputc('\n', out);
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return line;
    free(line);
    return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static lull_status wrong(struct lull_error *err, const char *what)
{
    return lull_fail(err, LULL_ERR_FORMAT, "%s", what);
}

static lull_status read_texts(const json_t *root, struct lull_arena *arena,
                              struct lull_history_entry *entry, struct lull_error *err)
{
    const struct {
        const char *key, **to;
    } fields[] = {{"program", &entry->key.program}, {"input", &entry->key.input},
                  {"machine", &entry->key.machine}, {"layout", &entry->key.layout},
                  {"commit", &entry->commit},       {"run", &entry->run}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *text = json_string_value(json_object_get(root, fields[i].key));
        if (!text)
            return lull_fail(err, LULL_ERR_FORMAT, "/%s: expected a text", fields[i].key);
        *fields[i].to = lull_arena_strdup(arena, text);
    }
    const char *time = json_string_value(json_object_get(root, "time"));
    if (!time || lull_history_time_read(time, &entry->time, NULL) != LULL_OK)
        return wrong(err, "/time: expected a time as 2026-11-23T02:51:09Z");
    return LULL_OK;
}

static lull_status read_metric_values(json_t *metrics, struct lull_arena *arena,
                                      struct lull_history_entry *entry, struct lull_error *err)
{
    const char *id;
    json_t *value;
    if (!json_is_object(metrics))
        return wrong(err, "/metrics: expected an object");
    if (!json_is_number(json_object_get(metrics, "runtime")))
        return wrong(err, "/metrics/runtime: expected a number");
    entry->values = lull_arena_zero(arena, json_object_size(metrics) + 1, sizeof(*entry->values));
    json_object_foreach(metrics, id, value)
    {
        if (!json_is_number(value))
            return lull_fail(err, LULL_ERR_FORMAT, "/metrics/%s: expected a number", id);
        entry->values[entry->n_values++] = (struct lull_history_value){
            lull_arena_strdup(arena, id), json_number_value(value), NULL};
    }
    return LULL_OK;
}

static lull_status read_cause(const char *id, uint8_t *ret_activity)
{
    for (unsigned activity = 0; id && activity <= LULL_ACTIVITIES; activity++)
        if (strcmp(cause_id(activity), id) == 0) {
            *ret_activity = (uint8_t)activity;
            return LULL_OK;
        }
    return LULL_ERR_FORMAT;
}

/* The parts of a run make no more than that. */
#define MOST_NS (INT64_C(1) << 62)

static lull_status read_part(const json_t *item, struct lull_arena *arena, struct lull_part *part)
{
    const char *region = json_string_value(json_array_get(item, 0));
    const char *site = json_string_value(json_array_get(item, 1));
    const json_t *ns = json_array_get(item, 3);
    if (!region || !site || !json_is_integer(ns) || json_array_size(item) != 4)
        return LULL_ERR_FORMAT;
    if (json_integer_value(ns) < 0)
        return LULL_ERR_FORMAT;
    *part = (struct lull_part){.region = lull_arena_strdup(arena, region),
                               .site = lull_arena_strdup(arena, site),
                               .ns = json_integer_value(ns),
                               .file = ""};
    return read_cause(json_string_value(json_array_get(item, 2)), &part->activity);
}

static int compare_parts_of_entry(const void *left, const void *right)
{
    return lull_part_compare(left, right);
}

static lull_status read_parts(const json_t *root, struct lull_arena *arena,
                              struct lull_parts *parts, struct lull_error *err)
{
    const json_t *items = json_object_get(root, "parts"), *total = json_object_get(root, "core_ns");
    if (!json_is_integer(total) || json_integer_value(total) < 0 ||
        json_integer_value(total) > MOST_NS)
        return wrong(err, "/core_ns: expected a whole number");
    if (!json_is_array(items))
        return wrong(err, "/parts: expected a list");
    parts->total_ns = json_integer_value(total);
    parts->parts = lull_arena_zero(arena, json_array_size(items) + 1, sizeof(*parts->parts));
    int64_t left = MOST_NS;
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct lull_part *part = &parts->parts[parts->count++];
        if (read_part(json_array_get(items, i), arena, part) != LULL_OK || part->ns > left)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "/parts/%zu: expected region, site, activity and nanoseconds", i);
        left -= part->ns;
    }
    if (parts->count > 1)
        qsort(parts->parts, parts->count, sizeof(*parts->parts), compare_parts_of_entry);
    return LULL_OK;
}

static lull_status read_entry(json_t *root, struct lull_arena *arena,
                              struct lull_history_entry *entry, struct lull_error *err)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (!schema || strcmp(schema, LULL_HISTORY_SCHEMA) != 0)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "has schema '%s', expected what 'lull history add' writes "
                         "('" LULL_HISTORY_SCHEMA "')",
                         schema ? schema : "");
    lull_status status = read_texts(root, arena, entry, err);
    if (status == LULL_OK)
        status = read_metric_values(json_object_get(root, "metrics"), arena, entry, err);
    return status == LULL_OK ? read_parts(root, arena, &entry->parts, err) : status;
}

lull_status lull_history_line_read(const char *text, size_t size, struct lull_arena *arena,
                                   struct lull_history_entry *ret_entry, struct lull_error *err)
{
    struct lull_history_entry entry = {0};
    json_error_t error;
    json_t *root = json_loadb(text, size, 0, &error);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "is no run of a history: %s", error.text);
    lull_status status = read_entry(root, arena, &entry, err);
    json_decref(root);
    if (status == LULL_OK)
        *ret_entry = entry;
    return status;
}
