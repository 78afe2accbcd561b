/* SPDX-License-Identifier: BSD-3-Clause */
/* Values for people. */
#include "report/cell_text.h"

#include "base/text.h"
#include "report/display.h"

#include <math.h>
#include <string.h>

struct lull_time_unit {
    const char *name;
    int64_t ns;
    int decimals;
};
static const struct lull_time_unit time_units[] = {
    {"s", 1000000000, 3}, {"ms", 1000000, 3}, {"us", 1000, 3}, {"ns", 1, 0}};
#define TIME_UNITS (sizeof(time_units) / sizeof(*time_units))

static uint64_t magnitude(int64_t ns)
{
    return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

static const struct lull_time_unit *unit_for(uint64_t largest_ns)
{
    for (size_t i = 0; i < TIME_UNITS; i++)
        if (largest_ns >= (uint64_t)time_units[i].ns)
            return &time_units[i];
    return &time_units[0]; /* all are zero */
}

/* Whether a time has two significant digits or more in a unit. */
static bool is_readable_in(uint64_t ns, const struct lull_time_unit *unit)
{
    return unit->decimals == 0 || ns >= (uint64_t)unit->ns / 100;
}

/* The unit of times that are compared: one in which all are readable, and the largest has four
 * digits before the point at most; else that of the largest. */
static const struct lull_time_unit *unit_for_all(uint64_t smallest_ns, uint64_t largest_ns)
{
    enum { MOST_UNITS = 10000 };
    const struct lull_time_unit *own = unit_for(largest_ns);
    for (const struct lull_time_unit *unit = own; unit < time_units + TIME_UNITS; unit++) {
        if (largest_ns / (uint64_t)unit->ns >= MOST_UNITS)
            break;
        if (is_readable_in(smallest_ns, unit))
            return unit;
    }
    return own;
}

/* In the unit of those that it is compared with, unless it is not readable there. */
static const char *format_time(struct lull_arena *arena, int64_t ns,
                               const struct lull_time_unit *unit)
{
    if (ns != 0 && !is_readable_in(magnitude(ns), unit))
        unit = unit_for(magnitude(ns));
    return lull_arena_printf(arena, "%.*f %s", unit->decimals, (double)ns / (double)unit->ns,
                             unit->name);
}

/* What rounds to nothing has no sign. */
static const char *format_decimal(struct lull_arena *arena, double value, int digits,
                                  const char *unit)
{
    const char *text = lull_arena_printf(arena, "%.*f%s", digits, value, unit);
    bool is_nothing = text[0] == '-' && text[strspn(text, "-0.")] == unit[0];
    return is_nothing ? text + 1 : text;
}

const char *lull_cell_format(struct lull_arena *arena, struct lull_cell cell,
                             const struct lull_render_options *options,
                             const struct lull_time_unit *unit)
{
    char buffer[64];
    switch (cell.kind) {
    case LULL_CELL_TEXT:
    case LULL_CELL_ABSENT:
        return lull_display_clean(arena, cell.text);
    case LULL_CELL_COUNT:
        return lull_arena_strdup(arena, lull_format_count(cell.count, buffer, sizeof(buffer)));
    case LULL_CELL_BYTES:
        return lull_arena_strdup(arena, lull_format_size(cell.count, buffer, sizeof(buffer)));
    case LULL_CELL_TIME:
        return format_time(arena, cell.ns, unit);
    case LULL_CELL_NUMBER:
        return format_decimal(arena, cell.number, cell.digits, "");
    case LULL_CELL_QUANTITY:
        return lull_display_clean(
            arena, lull_format_quantity(cell.number, cell.unit, buffer, sizeof(buffer)));
    case LULL_CELL_SHARE:
        return format_decimal(arena, 100 * cell.number, 1, " %");
    case LULL_CELL_EFFICIENCY:
        return format_decimal(arena, cell.number, options->digits ? options->digits : 2, "");
    case LULL_CELL_EMPTY:
        break;
    }
    return "";
}

const char *lull_text_cell(struct lull_arena *arena, struct lull_cell cell,
                           const struct lull_render_options *options)
{
    if (cell.kind == LULL_CELL_ABSENT)
        return lull_arena_printf(arena, "(%s)", lull_display_clean(arena, cell.text));
    const struct lull_time_unit *unit =
        unit_for(cell.kind == LULL_CELL_TIME ? magnitude(cell.ns) : 0);
    return lull_cell_format(arena, cell, options, unit);
}

const struct lull_time_unit *lull_table_time_unit(const struct lull_table *table, size_t row,
                                                  size_t column)
{
    uint64_t largest = 0, smallest = UINT64_MAX;
    bool by_row = table->axis == LULL_BY_ROW;
    size_t count = by_row ? table->n_columns : table->n_rows;
    for (size_t i = 0; i < count; i++) {
        struct lull_cell cell =
            by_row ? lull_table_get(table, row, i) : lull_table_get(table, i, column);
        if (cell.kind != LULL_CELL_TIME || cell.ns == 0)
            continue;
        const uint64_t ns = magnitude(cell.ns);
        largest = ns > largest ? ns : largest;
        smallest = ns < smallest ? ns : smallest;
    }
    return unit_for_all(smallest, largest);
}

/* Bounds as the POP assessments use them: from 0.8 on an efficiency is taken as acceptable. */
static const double least[LULL_BANDS] = {0.8, 0.6, -INFINITY};
const char *const lull_band_meanings[LULL_BANDS] = {
    "0.80 and more: good", "0.60 to 0.80: worth a look", "below 0.60: poor"};

enum lull_efficiency_band lull_efficiency_band(double value)
{
    unsigned band = 0;
    while (band < LULL_BANDS - 1 && !(value >= least[band]))
        band++;
    return (enum lull_efficiency_band)band;
}
