/* Reading the values of a spec. */
#include "base/text.h"
#include "base/text/suggest.h"
#include "sim/spec_entry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    const struct lull_spec_entry *entry = lull_spec_find(spec, key);
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
