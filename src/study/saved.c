#include "study/saved.h"

#include "base/file.h"
#include "metrics/profile/profile.h"
#include "study/run_name.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

bool lull_saved_recognise(const char *path)
{
    char head[256];
    size_t got;
    if (lull_read_head(path, head, sizeof head, &got, NULL) != LULL_OK)
        return false;
    size_t i = 0;
    while (i < got && strchr(" \t\r\n", head[i]))
        i++;
    return i < got && head[i] == '{';
}

/* The profile reader takes text, so that it is the only place that knows the form. */
static lull_status parse_profile(json_t *profile, const char *path, struct lull_arena *arena,
                                 struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    char *text = json_dumps(profile, JSON_COMPACT);
    if (!text)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    lull_status status = lull_profile_parse(text, strlen(text), path, arena, ret_breakdown, err);
    free(text);
    return status;
}

static lull_status load_study(json_t *root, const char *path, struct lull_arena *arena,
                              struct lull_saved **ret_saved, uint32_t *ret_count,
                              struct lull_error *err)
{
    json_t *runs = json_object_get(root, "runs");
    size_t count = json_array_size(runs);
    if (!count)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: /runs: expected a list of runs", path);
    struct lull_saved *saved = lull_arena_zero(arena, count, sizeof(*saved));
    for (size_t i = 0; i < count; i++) {
        json_t *run = json_array_get(runs, i);
        json_t *profile = json_object_get(run, "profile");
        const char *name = json_string_value(json_object_get(run, "name"));
        if (!name || !json_is_object(profile))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: /runs/%zu: expected a name and a profile",
                             path, i);
        saved[i].name = lull_arena_strdup(arena, name);
        lull_status status = parse_profile(profile, path, arena, &saved[i].breakdown, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_saved = saved;
    *ret_count = (uint32_t)count;
    return LULL_OK;
}

static lull_status load_profile(json_t *root, const char *path, struct lull_arena *arena,
                                struct lull_saved **ret_saved, uint32_t *ret_count,
                                struct lull_error *err)
{
    struct lull_saved *saved = lull_arena_zero(arena, 1, sizeof(*saved));
    saved->name = lull_run_name(path, arena);
    lull_status status = parse_profile(root, path, arena, &saved->breakdown, err);
    if (status != LULL_OK)
        return status;
    *ret_saved = saved;
    *ret_count = 1;
    return LULL_OK;
}

lull_status lull_saved_load(const char *path, struct lull_arena *arena,
                            struct lull_saved **ret_saved, uint32_t *ret_count,
                            struct lull_error *err)
{
    struct lull_mapping mapping;
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    json_error_t error;
    json_t *root = json_loadb((const char *)mapping.data, mapping.size, 0, &error);
    lull_unmap(&mapping);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d: %s", path, error.line, error.text);
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema && strcmp(schema, "lull-metrics/1") == 0)
        status = load_study(root, path, arena, ret_saved, ret_count, err);
    else if (schema && strcmp(schema, LULL_PROFILE_SCHEMA) == 0)
        status = load_profile(root, path, arena, ret_saved, ret_count, err);
    else
        status = lull_fail(err, LULL_ERR_FORMAT,
                           "%s: is JSON with schema '%s', expected what 'lull metrics --format "
                           "json' writes ('lull-metrics/1')",
                           path, schema ? schema : "");
    json_decref(root);
    return status;
}
