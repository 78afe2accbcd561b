/* Sweeps: values that stand for several. */
#include "base/text.h"
#include "sim/spec_entry.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        lull_spec_put(spec, from->entries[e].key, from->entries[e].value);
    bool swept = false;
    for (uint32_t a = 0; a < sweep->n_axes; a++)
        if (sweep->axes[a].spec == index) {
            lull_spec_put(spec, sweep->axes[a].key, lull_sweep_value(sweep, point, a));
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
