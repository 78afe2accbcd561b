/* SPDX-License-Identifier: BSD-3-Clause */
/* Specs from text and from JSON files. */
#include "sim/spec.h"

#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPEC_MOST_ENTRIES = 256 };

/* ==== spec ==================================================================================== */

static struct lull_spec_entry *spec_find(const struct lull_spec *spec, const char *key)
{
    for (uint32_t i = 0; i < spec->n_entries; i++)
        if (strcmp(spec->entries[i].key, key) == 0)
            return &spec->entries[i];
    return NULL;
}

/* Replaces the value of a key, or adds it; both texts are borrowed. */
static void spec_put(struct lull_spec *spec, const char *key, const char *value)
{
    struct lull_spec_entry *entry = spec_find(spec, key);
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
    return lull_fail(err, LULL_ERR_RANGE, "%s: more than %d keys", spec->name, SPEC_MOST_ENTRIES);
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
        if (spec_find(&said, key))
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s is given twice", spec->name, key);
        const char *value = lull_arena_strndup(spec->arena, equals + 1, (size_t)(end - equals - 1));
        spec_put(&said, key, value);
        spec_put(spec, key, value);
        if (spec->n_entries > SPEC_MOST_ENTRIES)
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
    spec_put(spec, key, text);
    return spec->n_entries > SPEC_MOST_ENTRIES ? too_many(spec, err) : LULL_OK;
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

/* ==== spec value ============================================================================== */

/* Reading the values of a spec. */

enum { MOST_LISTED = 1 << 24 };

/* Remembers that the key is known; its value, or NULL. */
static const char *ask(struct lull_spec *spec, const char *key)
{
    bool known = false;
    for (uint32_t i = 0; i < spec->n_asked && !known; i++)
        known = strcmp(spec->asked[i], key) == 0;
    if (!known) {
        spec->asked = lull_arena_grow(spec->arena, spec->asked, &spec->asked_capacity,
                                      spec->n_asked + 1, sizeof *spec->asked);
        spec->asked[spec->n_asked++] = key;
    }
    const struct lull_spec_entry *entry = spec_find(spec, key);
    return entry ? entry->value : NULL;
}

const char *lull_spec_string(struct lull_spec *spec, const char *key, const char *fallback)
{
    const char *value = ask(spec, key);
    return value ? value : fallback;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const char *const expected[] = {
    [LULL_TIME_NS] = "a time as in 1.5us",
    [LULL_BYTES] = "a size as in 4KiB",
    [LULL_BANDWIDTH] = "a bandwidth as in 10GB/s",
    [LULL_TIME_PER_BYTE] = "a time per byte as in 0.1ns/B",
    [LULL_FACTOR] = "a factor as in 1.5 or 150%",
    [LULL_COUNT] = "a whole number",
};

/* The text without `unit` at its end, in `buffer`. */
static const char *without(const char *unit, const char *text, char *buffer, size_t size)
{
    size_t length = strlen(text), suffix = strlen(unit);
    if (length >= suffix && strcmp(text + length - suffix, unit) == 0)
        length -= suffix;
    if (length >= size)
        return "";
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return buffer;
}

static bool parse_size(const char *text, double *ret_value)
{
    uint64_t bytes;
    if (lull_parse_size(text, &bytes, NULL) != LULL_OK)
        return false;
    *ret_value = (double)bytes;
    return true;
}

/* A bare number is a time without units: the same care with "nan" and "0x". */
static bool parse_plain(const char *text, double *ret_value)
{
    return text[strspn(text, "+-.0123456789eE")] == '\0' &&
           lull_parse_time_real(text, 1, ret_value, NULL) == LULL_OK;
}

static bool parse_quantity(const char *text, enum lull_quantity quantity, double *ret_value)
{
    char bare[64];
    uint64_t count;
    switch (quantity) {
    case LULL_TIME_NS:
        return lull_parse_time_real(text, 1, ret_value, NULL) == LULL_OK;
    case LULL_BYTES:
        return parse_size(text, ret_value);
    case LULL_BANDWIDTH:
        return parse_size(without("/s", text, bare, sizeof bare), ret_value);
    case LULL_TIME_PER_BYTE:
        return lull_parse_time_real(without("/B", text, bare, sizeof bare), 1, ret_value, NULL) ==
               LULL_OK;
    case LULL_FACTOR:
        if (!parse_plain(without("%", text, bare, sizeof bare), ret_value))
            return false;
        if (strlen(bare) < strlen(text))
            *ret_value /= 100;
        return true;
    case LULL_COUNT:
        if (lull_parse_u64(text, strlen(text), &count) != LULL_OK)
            return false;
        *ret_value = (double)count;
        return true;
    }
    return false;
}

/* One limit in words of its quantity. */
static const char *limit_text(double value, enum lull_quantity quantity, char *buffer, size_t size)
{
    char number[48];
    if (quantity == LULL_TIME_NS && fabs(value) < 9e18)
        return lull_format_time((int64_t)value, buffer, size);
    bool bytes = (quantity == LULL_BYTES || quantity == LULL_BANDWIDTH) && value < 1.8e19;
    const char *text = bytes ? lull_format_size((uint64_t)value, number, sizeof number) : NULL;
    if (text)
        snprintf(buffer, size, "%s%s", text, quantity == LULL_BANDWIDTH ? "/s" : "");
    else
        snprintf(buffer, size, "%g%s", value, quantity == LULL_TIME_PER_BYTE ? " ns/B" : "");
    return buffer;
}

static lull_status check_range(const struct lull_spec *spec, const char *key, const char *text,
                               double value, const struct lull_parameter *parameter,
                               struct lull_error *err)
{
    if (value >= parameter->least && value <= parameter->most)
        return LULL_OK;
    char least[64], most[64];
    limit_text(parameter->least, parameter->quantity, least, sizeof least);
    limit_text(parameter->most, parameter->quantity, most, sizeof most);
    if (isinf(parameter->most))
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s is %s, expected at least %s", spec->name, key,
                         text, least);
    return lull_fail(err, LULL_ERR_RANGE, "%s: %s is %s, expected %s to %s", spec->name, key, text,
                     least, most);
}

static lull_status read_parameter_value(struct lull_spec *spec, const char *key,
                                        const struct lull_parameter *parameter, double *ret_value,
                                        struct lull_error *err)
{
    const char *text = ask(spec, key);
    if (!text)
        return LULL_OK;
    double value;
    if (strcmp(text, "inf") == 0 && isinf(parameter->most))
        value = INFINITY;
    else if (!parse_quantity(text, parameter->quantity, &value))
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s is '%s', expected %s", spec->name, key, text,
                         expected[parameter->quantity]);
    lull_status status = check_range(spec, key, text, value, parameter, err);
    if (status == LULL_OK)
        *ret_value = value;
    return status;
}

lull_status lull_spec_number(struct lull_spec *spec, const struct lull_parameter *parameter,
                             double *ret_value, struct lull_error *err)
{
    double value = parameter->value;
    lull_status status = read_parameter_value(spec, parameter->name, parameter, &value, err);
    if (status == LULL_OK)
        *ret_value = value;
    return status;
}

lull_status lull_spec_level_number(struct lull_spec *spec, const char *level,
                                   const struct lull_parameter *parameter, double *ret_value,
                                   struct lull_error *err)
{
    const char *key = lull_arena_printf(spec->arena, "%s.%s", level, parameter->name);
    return read_parameter_value(spec, key, parameter, ret_value, err);
}

lull_status lull_spec_count(struct lull_spec *spec, const char *key, uint64_t fallback,
                            uint64_t least, uint64_t most, uint64_t *ret_value,
                            struct lull_error *err)
{
    const char *text = ask(spec, key);
    uint64_t value = fallback;
    if (text && lull_parse_u64(text, strlen(text), &value) != LULL_OK)
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s is '%s', expected a whole number", spec->name,
                         key, text);
    if (text && (value < least || value > most))
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s is %s, expected %llu to %llu", spec->name,
                         key, text, (unsigned long long)least, (unsigned long long)most);
    *ret_value = value;
    return LULL_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* "a, b, c", or with the last joined by "or". */
static const char *join_words(struct lull_arena *arena, const char *const *words, size_t count,
                              const char *last)
{
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = lull_arena_printf(arena, "%s%s%s", text,
                                 i == 0           ? ""
                                 : i + 1 == count ? last
                                                  : ", ",
                                 words[i]);
    return text;
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

lull_status lull_spec_choice(struct lull_spec *spec, const char *key, const char *const *words,
                             unsigned fallback, unsigned *ret_choice, struct lull_error *err)
{
    const char *text = ask(spec, key);
    unsigned choice = fallback;
    if (text) {
        for (choice = 0; words[choice] && strcmp(words[choice], text) != 0; choice++)
            ;
        if (!words[choice])
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s is '%s', expected %s", spec->name, key,
                             text, join_words(spec->arena, words, count_words(words), " or "));
    }
    *ret_choice = choice;
    return LULL_OK;
}

static lull_status unknown(const char *what, const char *word, const char *const *words,
                           size_t count, const char *list, struct lull_error *err)
{
    const char *meant = lull_suggest(word, words, count);
    if (meant)
        return lull_fail(err, LULL_ERR_RANGE, "unknown %s '%s', did you mean '%s'? known: %s", what,
                         word, meant, list);
    return lull_fail(err, LULL_ERR_RANGE, "unknown %s '%s', known: %s", what, word, list);
}

lull_status lull_spec_finish(const struct lull_spec *spec, struct lull_error *err)
{
    for (uint32_t i = 0; i < spec->n_entries; i++) {
        uint32_t a = 0;
        while (a < spec->n_asked && strcmp(spec->asked[a], spec->entries[i].key) != 0)
            a++;
        if (a < spec->n_asked)
            continue;
        const char **plain = lull_arena_zero(spec->arena, spec->n_asked + 1, sizeof *plain);
        size_t n_plain = 0;
        for (a = 0; a < spec->n_asked; a++) /* keys of levels would be too many to print */
            if (!strchr(spec->asked[a], '.'))
                plain[n_plain++] = spec->asked[a];
        const char *list = n_plain > 0 ? join_words(spec->arena, plain, n_plain, ", ") : "none";
        lull_status status =
            unknown("key", spec->entries[i].key, spec->asked, spec->n_asked, list, err);
        return lull_fail_prefix(err, status, "%s", spec->name);
    }
    return LULL_OK;
}

lull_status lull_spec_unknown_name(const struct lull_spec *spec, const char *what,
                                   const char *const *names, struct lull_error *err)
{
    size_t count = count_words(names);
    return unknown(what, spec->name, names, count, join_words(spec->arena, names, count, ", "),
                   err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The next piece of a list joined by `separator`, in `buffer`; false at the end. An empty or
 * over-long piece comes as "". */
static bool next_piece(const char **at, char separator, char *buffer, size_t size)
{
    if (!*at)
        return false;
    const char *end = strchr(*at, separator);
    size_t length = end ? (size_t)(end - *at) : strlen(*at);
    if (length >= size)
        length = 0;
    memcpy(buffer, *at, length);
    buffer[length] = '\0';
    *at = end ? end + 1 : NULL;
    return true;
}

/* "7" or "0-7". */
static bool parse_span(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    const char *dash = strchr(text, '-');
    size_t length = dash ? (size_t)(dash - text) : strlen(text);
    if (lull_parse_u64(text, length, ret_first) != LULL_OK)
        return false;
    *ret_last = *ret_first;
    return !dash || (lull_parse_u64(dash + 1, strlen(dash + 1), ret_last) == LULL_OK &&
                     *ret_last >= *ret_first);
}

lull_status lull_spec_list(struct lull_spec *spec, const char *key, uint32_t least, uint32_t most,
                           const uint32_t **ret_list, uint32_t *ret_count, struct lull_error *err)
{
    const char *text = ask(spec, key), *at = text;
    uint32_t *list = NULL;
    size_t capacity = 0, count = 0;
    char piece[64];
    uint64_t first, last;
    while (next_piece(&at, '+', piece, sizeof piece)) {
        if (!parse_span(piece, &first, &last))
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: %s is '%s', expected whole numbers as in 1+2+3 or 0-7+16",
                             spec->name, key, text);
        if (first < least || last > most)
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s holds %s, expected %u to %u", spec->name,
                             key, piece, least, most);
        if (last - first >= MOST_LISTED - count)
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s lists more than %d numbers", spec->name,
                             key, MOST_LISTED);
        list =
            lull_arena_grow(spec->arena, list, &capacity, count + (last - first) + 1, sizeof *list);
        for (uint64_t value = first; value <= last; value++)
            list[count++] = (uint32_t)value;
    }
    *ret_list = list;
    *ret_count = (uint32_t)count;
    return LULL_OK;
}

lull_status lull_spec_times(struct lull_spec *spec, const char *key, const int64_t **ret_list,
                            uint32_t *ret_count, struct lull_error *err)
{
    const char *text = ask(spec, key), *at = text;
    int64_t *list = NULL;
    size_t capacity = 0, count = 0;
    char piece[64];
    while (next_piece(&at, '+', piece, sizeof piece)) {
        list = lull_arena_grow(spec->arena, list, &capacity, count + 1, sizeof *list);
        if (lull_parse_time(piece, 1, &list[count], NULL) != LULL_OK || list[count] < 0)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: %s is '%s', expected times as in 1ms or 1ms+2ms", spec->name, key,
                             text);
        if (++count > MOST_LISTED)
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s lists more than %d times", spec->name,
                             key, MOST_LISTED);
    }
    *ret_list = list;
    *ret_count = (uint32_t)count;
    return LULL_OK;
}

lull_status lull_spec_extents(struct lull_spec *spec, const char *key, uint32_t most,
                              uint32_t ret_extents[3], uint32_t *ret_count, struct lull_error *err)
{
    const char *text = ask(spec, key), *at = text;
    uint32_t extents[3] = {1, 1, 1}, count = 0;
    uint64_t product = 1, extent;
    char piece[64];
    while (next_piece(&at, 'x', piece, sizeof piece)) {
        if (count == 3 || lull_parse_u64(piece, strlen(piece), &extent) != LULL_OK || extent == 0)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: %s is '%s', expected one to three extents as in 8x8", spec->name,
                             key, text);
        if (extent > most || (product *= extent) > most)
            return lull_fail(err, LULL_ERR_RANGE, "%s: %s is %s, expected at most %u in all",
                             spec->name, key, text, most);
        extents[count++] = (uint32_t)extent;
    }
    memcpy(ret_extents, extents, sizeof extents);
    *ret_count = count;
    return LULL_OK;
}

/* ==== sweep =================================================================================== */

/* Sweeps: values that stand for several. */

enum { MOST_POINTS = 100000 };

/* ---- values ---------------------------------------------------------------------------------- */

/* A number and its unit; extents ("8x8") are numbers here. */
static bool split_number(const char *text, double *ret_value, const char **ret_unit)
{
    if (!isdigit((unsigned char)*text) && !strchr("+-.", *text))
        return false;
    char *unit;
    *ret_value = strtod(text, &unit);
    if (unit == text || !isfinite(*ret_value))
        return false;
    *ret_unit = unit;
    return unit[strspn(unit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/%0123456789")] ==
           '\0';
}

struct values {
    struct lull_arena *arena;
    const char **texts; /* NULL: no sweep */
    uint32_t count;
    size_t capacity;
};

static void add_value(struct values *values, const char *text)
{
    values->texts = lull_arena_grow(values->arena, values->texts, &values->capacity,
                                    values->count + 1, sizeof *values->texts);
    values->texts[values->count++] = text;
}

/* A/B/C where all are numbers; a path such as runs/1/noise.txt is none. */
static bool parse_slashes(const char *text, struct values *values)
{
    const char *begin = text, *unit;
    double value;
    for (const char *at = text;; at++) {
        bool cut = *at == '/' && (isdigit((unsigned char)at[1]) || (at[1] && strchr("+-.", at[1])));
        if (*at && !cut)
            continue;
        const char *piece = lull_arena_strndup(values->arena, begin, (size_t)(at - begin));
        if (!split_number(piece, &value, &unit) || values->count == MOST_POINTS)
            return false;
        add_value(values, piece);
        if (!*at)
            return values->count > 1;
        begin = at + 1;
    }
}

/* A/B/C where all are words, or all are lists of numbers or extents; files are none. */
static bool parse_words(const struct lull_spec_entry *entry, struct values *values)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz", digits[] = "0123456789+x";
    bool word = strchr(letters, entry->value[0]) != NULL;
    if (strcmp(entry->key, "file") == 0)
        return false;
    for (const char *begin = entry->value;;) {
        size_t length = strcspn(begin, "/");
        if (length == 0 || values->count == MOST_POINTS ||
            (word ? strspn(begin, letters) : strspn(begin, digits)) < length)
            return false;
        add_value(values, lull_arena_strndup(values->arena, begin, length));
        if (!begin[length])
            return true;
        begin += length + 1;
    }
}

struct range {
    double from, to;
    const char *from_unit, *to_unit;
    uint64_t steps;
    bool ratios;
};

/* Cuts the text at its colons; returns how many pieces there are, at most `room` + 1. */
static size_t cut(char *text, char **pieces, size_t room)
{
    size_t count = 0;
    for (char *at = text; at && count <= room; count++) {
        if (count < room)
            pieces[count] = at;
        at = strchr(at, ':');
        if (at)
            *at++ = '\0';
    }
    return count;
}

static bool parse_range(const char *text, struct lull_arena *arena, struct range *range)
{
    char *pieces[4];
    size_t count = cut(lull_arena_strdup(arena, text), pieces, 4);
    *range = (struct range){.ratios = count == 4};
    return (count == 3 || (count == 4 && strcmp(pieces[3], "log") == 0)) &&
           split_number(pieces[0], &range->from, &range->from_unit) &&
           split_number(pieces[1], &range->to, &range->to_unit) &&
           lull_parse_u64(pieces[2], strlen(pieces[2]), &range->steps) == LULL_OK;
}

/* How many of unit `b` make one of `a`; 0 if they are not of one kind. */
static double ratio_of_units(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return 1;
    char texts[2][64];
    double times[2];
    uint64_t sizes[2];
    bool time = true, size = true;
    const char *units[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        size_t length = strcspn(units[i], "/");
        if (length > 8)
            return 0;
        snprintf(texts[i], sizeof texts[i], "1%.*s", (int)length, units[i]);
        time = time && lull_parse_time_real(texts[i], 1, &times[i], NULL) == LULL_OK;
        size = size && lull_parse_size(texts[i], &sizes[i], NULL) == LULL_OK;
    }
    if (time)
        return times[0] / times[1];
    return size ? (double)sizes[0] / (double)sizes[1] : 0;
}

/* Shortest text that reads back as the value: 0.1 and not 0.10000000000000001. */
static const char *number_text(struct lull_arena *arena, double value, const char *unit)
{
    char text[64];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return lull_arena_printf(arena, "%s%s", text, unit);
}

/* Counts have no unit and no fraction: steps between whole numbers are rounded. */
static lull_status spell_range(const struct lull_spec *spec, const struct lull_spec_entry *entry,
                               struct range *range, struct values *values, struct lull_error *err)
{
    double unit = ratio_of_units(range->from_unit, range->to_unit);
    if (unit <= 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s is %s, whose ends are of different kinds",
                         spec->name, entry->key, entry->value);
    if (range->steps < 2 || range->steps > MOST_POINTS)
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s is %s, expected 2 to %d steps", spec->name,
                         entry->key, entry->value, MOST_POINTS);
    double from = range->from * unit, to = range->to;
    if (range->ratios && !(from > 0 && to > 0))
        return lull_fail(err, LULL_ERR_RANGE, "%s: %s is %s, but equal ratios need ends above 0",
                         spec->name, entry->key, entry->value);
    bool whole = !*range->to_unit && from == round(from) && to == round(to);
    for (uint64_t i = 0; i < range->steps; i++) {
        double share = (double)i / (double)(range->steps - 1);
        double value = i == 0                  ? from
                       : i + 1 == range->steps ? to
                       : range->ratios         ? from * pow(to / from, share)
                                               : from + share * (to - from);
        add_value(values, number_text(values->arena, whole ? round(value) : value, range->to_unit));
    }
    return LULL_OK;
}

static lull_status spell(const struct lull_spec *spec, const struct lull_spec_entry *entry,
                         struct values *values, struct lull_error *err)
{
    struct range range;
    if (strchr(entry->value, ':') && parse_range(entry->value, values->arena, &range))
        return spell_range(spec, entry, &range, values, err);
    if (!strchr(entry->value, '/'))
        return LULL_OK;
    if (!parse_slashes(entry->value, values)) {
        values->count = 0;
        if (!parse_words(entry, values))
            values->count = 0;
    }
    return LULL_OK;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

lull_status lull_sweep_make(const struct lull_spec *const *specs, uint32_t n_specs,
                            struct lull_arena *arena, const struct lull_sweep **ret_sweep,
                            struct lull_error *err)
{
    struct lull_sweep *sweep = lull_arena_zero(arena, 1, sizeof *sweep);
    struct lull_sweep_axis *axes = NULL;
    size_t capacity = 0;
    *sweep = (struct lull_sweep){.specs = specs, .n_specs = n_specs, .n_points = 1};
    for (uint32_t s = 0; s < n_specs; s++)
        for (uint32_t e = 0; specs[s] && e < specs[s]->n_entries; e++) {
            const struct lull_spec_entry *entry = &specs[s]->entries[e];
            struct values values = {.arena = arena};
            lull_status status = spell(specs[s], entry, &values, err);
            if (status != LULL_OK)
                return status;
            if (values.count == 0)
                continue;
            if (sweep->n_points * values.count > MOST_POINTS)
                return lull_fail(err, LULL_ERR_RANGE, "a sweep over more than %d points",
                                 MOST_POINTS);
            sweep->n_points *= values.count;
            axes = lull_arena_grow(arena, axes, &capacity, sweep->n_axes + 1, sizeof *axes);
            axes[sweep->n_axes++] =
                (struct lull_sweep_axis){s, entry->key, values.count, values.texts};
        }
    sweep->axes = axes;
    *ret_sweep = sweep;
    return LULL_OK;
}

const char *lull_sweep_value(const struct lull_sweep *sweep, uint64_t point, uint32_t axis)
{
    for (uint32_t a = sweep->n_axes; a-- > axis + 1;)
        point /= sweep->axes[a].n_values;
    return sweep->axes[axis].values[point % sweep->axes[axis].n_values];
}

struct lull_spec *lull_sweep_spec(const struct lull_sweep *sweep, uint64_t point, uint32_t index,
                                  struct lull_arena *arena)
{
    const struct lull_spec *from = sweep->specs[index];
    if (!from)
        return NULL;
    struct lull_spec *spec = lull_arena_zero(arena, 1, sizeof *spec);
    spec->arena = arena;
    spec->name = from->name;
    for (uint32_t e = 0; e < from->n_entries; e++)
        spec_put(spec, from->entries[e].key, from->entries[e].value);
    bool swept = false;
    for (uint32_t a = 0; a < sweep->n_axes; a++)
        if (sweep->axes[a].spec == index) {
            spec_put(spec, sweep->axes[a].key, lull_sweep_value(sweep, point, a));
            swept = true;
        }
    spec->text = from->text;
    if (swept) {
        spec->text = from->name;
        for (uint32_t e = 0; e < spec->n_entries; e++)
            spec->text = lull_arena_printf(arena, "%s%c%s=%s", spec->text, e ? ',' : ':',
                                           spec->entries[e].key, spec->entries[e].value);
    }
    return spec;
}
