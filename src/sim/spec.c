/* Specs from text and from JSON files. */
#include "sim/spec.h"

#include "base/file.h"
#include "sim/spec_entry.h"

#include <jansson.h>
#include <string.h>

struct lull_spec_entry *lull_spec_find(const struct lull_spec *spec, const char *key)
{
    for (uint32_t i = 0; i < spec->n_entries; i++)
        if (strcmp(spec->entries[i].key, key) == 0)
            return &spec->entries[i];
    return NULL;
}

void lull_spec_put(struct lull_spec *spec, const char *key, const char *value)
{
    struct lull_spec_entry *entry = lull_spec_find(spec, key);
    if (!entry) {
        spec->entries = lull_arena_grow(spec->arena, spec->entries, &spec->capacity,
                                        spec->n_entries + 1, sizeof *spec->entries);
        entry = &spec->entries[spec->n_entries++];
        entry->key = key;
    }
    entry->value = value;
}

const char *lull_spec_name(const struct lull_spec *spec)
{
    return spec->name;
}

const char *lull_spec_text(const struct lull_spec *spec)
{
    return spec->text;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool is_word(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.";
    return *text && strchr(letters, *text) && text[strspn(text, more)] == '\0';
}

static lull_status too_many(const struct lull_spec *spec, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_RANGE, "%s: more than %d keys", spec->name,
                     LULL_SPEC_MOST_ENTRIES);
}

/* "KEY=VALUE,KEY=VALUE"; replaces what is there, but no key stands twice in the text itself. */
static lull_status add_text(struct lull_spec *spec, const char *text, struct lull_error *err)
{
    struct lull_spec said = {.arena = spec->arena, .name = spec->name};
    for (const char *item = text;; item++) {
        const char *end = item + strcspn(item, ",");
        const char *equals = memchr(item, '=', (size_t)(end - item));
        if (!equals || equals == item || equals + 1 == end)
            return lull_fail(err, LULL_ERR_RANGE, "%s: '%.*s' is not KEY=VALUE", spec->name,
                             (int)(end - item), item);
        const char *key = lull_arena_strndup(spec->arena, item, (size_t)(equals - item));
        if (!is_word(key))
            return lull_fail(err, LULL_ERR_RANGE, "%s: '%s' is no key", spec->name, key);
        if (lull_spec_find(&said, key))
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s is given twice", spec->name, key);
        const char *value = lull_arena_strndup(spec->arena, equals + 1, (size_t)(end - equals - 1));
        lull_spec_put(&said, key, value);
        lull_spec_put(spec, key, value);
        if (spec->n_entries > LULL_SPEC_MOST_ENTRIES)
            return too_many(spec, err);
        if (!*end)
            return LULL_OK;
        item = end;
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static lull_status add_object(struct lull_spec *spec, json_t *object, const char *prefix,
                              const char *path, struct lull_error *err);

/* The text of a number, word or truth value; NULL for anything else. */
static const char *scalar_text(struct lull_arena *arena, json_t *value)
{
    if (json_is_string(value))
        return lull_arena_strdup(arena, json_string_value(value));
    if (json_is_integer(value))
        return lull_arena_printf(arena, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return lull_arena_printf(arena, "%.17g", json_real_value(value));
    if (json_is_boolean(value))
        return json_is_true(value) ? "yes" : "no";
    return NULL;
}

/* Lists are short for people and long for machines: linear in its length. */
static const char *list_text(struct lull_arena *arena, json_t *array)
{
    size_t count = json_array_size(array), length = 0;
    const char **texts = lull_arena_zero(arena, count + 1, sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        texts[i] = scalar_text(arena, json_array_get(array, i));
        if (!texts[i])
            return NULL;
        length += strlen(texts[i]) + 1;
    }
    char *joined = lull_arena_alloc(arena, length + 1), *at = joined;
    *at = '\0';
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            *at++ = '+';
        at = stpcpy(at, texts[i]);
    }
    return joined;
}

static lull_status add_member(struct lull_spec *spec, const char *key, json_t *value,
                              const char *path, struct lull_error *err)
{
    if (!is_word(key))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: '%s' is no key", path, key);
    if (json_is_object(value))
        return add_object(spec, value, key, path, err);
    const char *text =
        json_is_array(value) ? list_text(spec->arena, value) : scalar_text(spec->arena, value);
    if (!text || !*text)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: %s: expected a number, a text or a list of these", path, key);
    lull_spec_put(spec, key, text);
    return spec->n_entries > LULL_SPEC_MOST_ENTRIES ? too_many(spec, err) : LULL_OK;
}

static lull_status add_object(struct lull_spec *spec, json_t *object, const char *prefix,
                              const char *path, struct lull_error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        if (!*prefix && strcmp(name, "name") == 0)
            continue;
        if (*prefix && json_is_object(value))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: %s.%s: an object too deep", path, prefix,
                             name);
        const char *key =
            lull_arena_printf(spec->arena, "%s%s%s", prefix, *prefix ? "." : "", name);
        lull_status status = add_member(spec, key, value, path, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status add_file(struct lull_spec *spec, const char *path, struct lull_error *err)
{
    struct lull_mapping file;
    lull_status status = lull_map_file(path, &file, err);
    if (status != LULL_OK)
        return status;
    json_error_t where;
    json_t *root = json_loadb((const char *)file.data, file.size, JSON_REJECT_DUPLICATES, &where);
    lull_unmap(&file);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d: %s", path, where.line, where.text);
    const char *name = json_string_value(json_object_get(root, "name"));
    if (!name || !is_word(name))
        status = lull_fail(err, LULL_ERR_FORMAT,
                           "%s: expected a JSON object with \"name\" and the keys of a spec", path);
    if (status == LULL_OK) {
        spec->name = lull_arena_strdup(spec->arena, name);
        status = add_object(spec, root, "", path, err);
    }
    json_decref(root);
    return status;
}

/* Where the path of a file ends, or NULL if the text is no path. What stands behind NAME:KEY= is a
 * value, also if it is a path. */
static const char *end_of_path(const char *text)
{
    static const char suffix[] = ".json";
    const char *equals = strchr(text, '='), *colon = strchr(text, ':');
    const char *values = equals && colon && colon < equals ? equals : NULL;
    for (const char *at = text; (at = strstr(at, suffix)) && (!values || at < values); at++) {
        const char *end = at + sizeof suffix - 1;
        if (*end == '\0' || *end == ':')
            return end;
    }
    const char *end = text + strcspn(text, ":=");
    return memchr(text, '/', (size_t)(end - text)) ? text + strcspn(text, ":") : NULL;
}

lull_status lull_spec_parse(const char *text, struct lull_arena *arena, struct lull_spec **ret_spec,
                            struct lull_error *err)
{
    struct lull_spec *spec = lull_arena_zero(arena, 1, sizeof *spec);
    spec->arena = arena;
    spec->text = lull_arena_strdup(arena, text);
    const char *path_end = end_of_path(spec->text);
    const char *end = path_end ? path_end : spec->text + strcspn(spec->text, ":");
    spec->name = lull_arena_strndup(arena, spec->text, (size_t)(end - spec->text));
    lull_status status = LULL_OK;
    if (path_end)
        status = add_file(spec, spec->name, err);
    else if (!is_word(spec->name))
        status = lull_fail(err, LULL_ERR_RANGE,
                           "'%s' is no spec, expected NAME:KEY=VALUE,... or FILE.json", text);
    if (status == LULL_OK && *end)
        status = add_text(spec, end + 1, err);
    if (status == LULL_OK)
        *ret_spec = spec;
    return status;
}
