#include "machine/check.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

struct report {
    char *text;
    size_t size;
};

static bool __attribute__((format(printf, 2, 3)))
report_unsound(const struct report *report, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->text, report->size, format, arguments);
    va_end(arguments);
    return false;
}

/* An interval encloses its value, and what is measured is not negative. */
static bool number_is_sound(const struct lull_number *number, const char *place, const char *name,
                            const struct report *report)
{
    if (isnan(number->value))
        return true;
    if (!(number->value >= 0) || isinf(number->value))
        return report_unsound(report, "%s%s/value: expected a number from 0", place, name);
    if (isnan(number->low) != isnan(number->high))
        return report_unsound(report, "%s%s: low and high go together", place, name);
    if (!isnan(number->low) && !(number->low <= number->value && number->value <= number->high))
        return report_unsound(report, "%s%s: the value is not between low and high", place, name);
    if (number->confidence < 0 || number->confidence >= 1)
        return report_unsound(report, "%s%s/confidence: expected 0 to 1", place, name);
    return true;
}

static bool ranges_are_sound(const struct lull_network_level *level, size_t index,
                             const struct report *report)
{
    char place[64];
    uint64_t next = level->n_ranges ? level->ranges[0].from : 0;
    for (size_t i = 0; i < level->n_ranges; i++) {
        const struct lull_network_range *range = &level->ranges[i];
        snprintf(place, sizeof place, "/network/%zu/ranges/%zu", index, i);
        if (range->from != next || range->to < range->from)
            return report_unsound(report, "%s: ranges ascend without gaps", place);
        if ((range->to == UINT64_MAX) != (i + 1 == level->n_ranges))
            return report_unsound(report, "%s: only the last range has no end", place);
        next = range->to + 1;
        if (!number_is_sound(&range->latency, place, "/latency", report) ||
            !number_is_sound(&range->bandwidth, place, "/bandwidth", report))
            return false;
        if (!(range->bandwidth.value > 0))
            return report_unsound(report, "%s/bandwidth: expected more than 0", place);
    }
    return true;
}

static bool network_is_sound(const struct lull_machine *machine, const struct report *report)
{
    for (size_t i = 0; i < machine->n_network; i++) {
        const struct lull_network_level *level = &machine->network[i];
        char place[64];
        snprintf(place, sizeof place, "/network/%zu", i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(machine->network[k].name, level->name) == 0)
                return report_unsound(report, "%s/name: '%s' is there twice", place, level->name);
        if (!ranges_are_sound(level, i, report) ||
            !number_is_sound(&level->latency, place, "/latency", report) ||
            !number_is_sound(&level->overhead, place, "/overhead", report) ||
            !number_is_sound(&level->gap, place, "/gap", report) ||
            !number_is_sound(&level->gap_per_byte, place, "/gap_per_byte", report))
            return false;
    }
    return true;
}

static bool noise_is_sound(const struct lull_machine *machine, const struct report *report)
{
    for (size_t i = 0; i < machine->n_noise; i++) {
        const struct lull_machine_noise *noise = &machine->noise[i];
        double end = 0;
        if (!(noise->quantum > 0) || !(noise->duration > 0))
            return report_unsound(report, "/noise/%zu: quantum and duration are more than 0", i);
        for (size_t k = 0; k < noise->n_detours; k++) {
            const struct lull_detour *detour = &noise->detours[k];
            if (!(detour->at >= end) || !(detour->length > 0) ||
                !(detour->at + detour->length <= noise->duration * (1 + 1e-9)))
                return report_unsound(
                    report,
                    "/noise/%zu/detours/%zu: detours ascend, do not overlap, and end "
                    "within the duration",
                    i, k);
            end = detour->at + detour->length * (1 - 1e-9);
        }
        if (noise->n_edges != (noise->n_bins ? noise->n_bins + 1 : 0))
            return report_unsound(report, "/noise/%zu/edges: expected one more than bins", i);
        for (size_t k = 1; k < noise->n_edges; k++)
            if (!(noise->edges[k] > noise->edges[k - 1]))
                return report_unsound(report, "/noise/%zu/edges/%zu: edges ascend", i, k);
    }
    return true;
}

static bool series_are_sound(const struct lull_machine *machine, const struct report *report)
{
    for (size_t i = 0; i < machine->n_series; i++) {
        const struct lull_series *series = &machine->series[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(machine->series[k].name, series->name) == 0)
                return report_unsound(report, "/series/%zu/name: '%s' is there twice", i,
                                      series->name);
        for (size_t k = 1; k < series->n_points; k++)
            if (!(series->points[k].x > series->points[k - 1].x))
                return report_unsound(report, "/series/%zu/points/%zu: points ascend in x", i, k);
    }
    return true;
}

static bool core_is_sound(const struct lull_machine *machine, const struct report *report)
{
    const char *overlap = machine->core.overlap;
    if (overlap && strcmp(overlap, "none") != 0 && strcmp(overlap, "caches") != 0)
        return report_unsound(report, "/core/overlap: expected none or caches");
    for (size_t i = 0; i < machine->core.n_links; i++)
        if (!(machine->core.links[i].bytes_per_cycle > 0))
            return report_unsound(report, "/core/links/%zu/bytes_per_cycle: expected more than 0",
                                  i);
    for (size_t i = 1; i < machine->n_caches; i++)
        if (machine->caches[i].level <= machine->caches[i - 1].level)
            return report_unsound(report, "/caches/%zu/level: levels ascend", i);
    return true;
}

bool lull_machine_is_sound(const struct lull_machine *machine, char *problem, size_t size)
{
    const struct report report = {problem, size};
    const char *kind = machine->provenance.kind;
    if (strcmp(kind, "measured") != 0 && strcmp(kind, "published") != 0)
        return report_unsound(&report, "/provenance/kind: expected measured or published");
    for (size_t i = 0; i < machine->numbers.count; i++)
        if (!number_is_sound(&machine->numbers.items[i], "/numbers/",
                             machine->numbers.items[i].name, &report))
            return false;
    return core_is_sound(machine, &report) && network_is_sound(machine, &report) &&
           noise_is_sound(machine, &report) && series_are_sound(machine, &report);
}
