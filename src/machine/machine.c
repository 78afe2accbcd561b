/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine/machine.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/output_file.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== machine ================================================================================= */

#define MACHINE_FORMAT "lull-machine/1"

const char *lull_verdict_name(enum lull_verdict verdict)
{
    static const char *const names[] = {[LULL_VERDICT_QUIET] = "quiet",
                                        [LULL_VERDICT_NOISY] = "noisy",
                                        [LULL_VERDICT_NOT_CONVERGED] = "not converged",
                                        [LULL_VERDICT_BELOW_RESOLUTION] = "below resolution",
                                        [LULL_VERDICT_PUBLISHED] = "published"};
    return names[verdict];
}

struct lull_number lull_number_empty(void)
{
    return (struct lull_number){.value = NAN,
                                .low = NAN,
                                .high = NAN,
                                .in_cycles = NAN,
                                .in_cycles_low = NAN,
                                .in_cycles_high = NAN,
                                .with_write_allocate = NAN,
                                .mean = NAN};
}

struct lull_number lull_number_plain(double value, const char *unit, const char *statistic)
{
    struct lull_number number = lull_number_empty();
    number.value = value;
    number.unit = unit;
    number.statistic = statistic;
    return number;
}

bool lull_machine_has_isa(const struct lull_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->cpu.n_isa; i++)
        if (strcmp(machine->cpu.isa[i], name) == 0)
            return true;
    return false;
}

unsigned lull_machine_vector_bits(const struct lull_machine *machine)
{
    return lull_machine_has_isa(machine, "avx512f") ? 512
           : lull_machine_has_isa(machine, "avx")   ? 256
           : lull_machine_has_isa(machine, "sse2")  ? 128
                                                    : 0;
}

const char *lull_machine_label(const struct lull_machine *machine)
{
    return machine->name        ? machine->name
           : machine->host.name ? machine->host.name
                                : machine->cpu.model;
}

/* A machine has hundreds of numbers, and few are asked for, so a linear search is fast enough. */
const struct lull_number *lull_machine_find(const struct lull_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->numbers.count; i++)
        if (strcmp(machine->numbers.items[i].name, name) == 0)
            return &machine->numbers.items[i];
    return NULL;
}

void lull_machine_set(struct lull_machine *machine, struct lull_arena *arena,
                      const struct lull_number *number)
{
    struct lull_number_list *list = &machine->numbers;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, number->name) == 0) {
            list->items[i] = *number;
            return;
        }
    }
    list->items =
        lull_arena_grow(arena, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = *number;
}

const struct lull_number *lull_machine_find_threads(const struct lull_machine *machine,
                                                    const char *base, unsigned threads,
                                                    unsigned *ret_threads)
{
    const struct lull_number *best = NULL;
    unsigned best_threads = 0;
    size_t length = strlen(base);
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (strncmp(number->name, base, length) != 0 || number->name[length] != '.')
            continue;
        char *end;
        unsigned long count = strtoul(number->name + length + 1, &end, 10);
        if (*end || end == number->name + length + 1 || count > threads || count <= best_threads)
            continue;
        best = number;
        best_threads = (unsigned)count;
    }
    if (best && ret_threads)
        *ret_threads = best_threads;
    return best;
}

const struct lull_network_level *lull_machine_network(const struct lull_machine *machine,
                                                      const char *name)
{
    for (size_t i = 0; i < machine->n_network; i++)
        if (strcmp(machine->network[i].name, name) == 0)
            return &machine->network[i];
    return NULL;
}

const struct lull_series *lull_machine_series(const struct lull_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->n_series; i++)
        if (strcmp(machine->series[i].name, name) == 0)
            return &machine->series[i];
    return NULL;
}

const struct lull_machine_cache *lull_machine_cache(const struct lull_machine *machine,
                                                    unsigned level)
{
    for (size_t i = 0; i < machine->n_caches; i++)
        if (machine->caches[i].level == level)
            return &machine->caches[i];
    return NULL;
}

/* ==== schema ================================================================================== */

/* The shape of a machine file: tables of its fields, for both reading and writing. */

enum field_kind {
    LULL_FIELD_TEXT,    /* const char *; missing: NULL */
    LULL_FIELD_U32,     /* missing: 0 */
    LULL_FIELD_U64,     /* missing: 0 */
    LULL_FIELD_END,     /* uint64_t; missing: UINT64_MAX */
    LULL_FIELD_SOME,    /* uint64_t, and at `count` a bool that says whether it is there */
    LULL_FIELD_DOUBLE,  /* missing: NAN, or 0 where `zero` is set */
    LULL_FIELD_BOOL,    /* missing: false */
    LULL_FIELD_KNOWN,   /* enum lull_known as a boolean; missing: unknown */
    LULL_FIELD_VERDICT, /* by name */
    LULL_FIELD_OBJECT,  /* a struct of `shape`; missing: all its fields are */
    /* Arrays: a pointer, and at `count` a size_t. Missing: none. */
    LULL_FIELD_TEXTS,
    LULL_FIELD_U64S,
    LULL_FIELD_DOUBLES,
    LULL_FIELD_ITEMS,  /* structs of `shape` */
    LULL_FIELD_TUPLES, /* structs of `shape`, all doubles, each an array of them */
    LULL_FIELD_MAP     /* structs of a keyed `shape`, an object */
};

struct lull_shape;

struct lull_field {
    const char *key;
    enum field_kind kind;
    bool required;
    bool zero; /* missing doubles are 0 */
    size_t offset, count;
    const struct lull_shape *shape;
};

struct lull_shape {
    size_t size;
    bool on_a_line; /* written without line breaks */
    bool keyed;     /* the first field is a text that is not among the others: the key in a MAP */
    const struct lull_field *fields;
    size_t n_fields;
};

#define FIELD(type, kind, name)                                                      \
    {                                                                                \
#name, LULL_FIELD_##kind, false, false, offsetof(struct type, name), 0, NULL \
    }
#define REQUIRED(type, kind, name)                                                  \
    {                                                                               \
#name, LULL_FIELD_##kind, true, false, offsetof(struct type, name), 0, NULL \
    }
#define ZERO(type, kind, name)                                                      \
    {                                                                               \
#name, LULL_FIELD_##kind, false, true, offsetof(struct type, name), 0, NULL \
    }
#define OBJECT(type, name, needed, its_shape)                                    \
    {                                                                            \
#name, LULL_FIELD_OBJECT, needed, false, offsetof(struct type, name), 0, \
            &its_shape##_shape                                                   \
    }
#define ARRAY(type, kind, name, number, its_shape)                           \
    {                                                                        \
#name, LULL_FIELD_##kind, false, false, offsetof(struct type, name), \
            offsetof(struct type, number), its_shape                         \
    }
#define SHAPE(name, type, line)                                                      \
    static const struct lull_shape name##_shape = {sizeof(struct type), line, false, \
                                                   name##_fields,                    \
                                                   sizeof name##_fields / sizeof *name##_fields}

static const struct lull_field number_fields[] = {
    FIELD(lull_number, TEXT, name),
    REQUIRED(lull_number, DOUBLE, value),
    REQUIRED(lull_number, TEXT, unit),
    REQUIRED(lull_number, TEXT, statistic),
    FIELD(lull_number, DOUBLE, low),
    FIELD(lull_number, DOUBLE, high),
    ZERO(lull_number, DOUBLE, confidence),
    FIELD(lull_number, DOUBLE, in_cycles),
    FIELD(lull_number, DOUBLE, in_cycles_low),
    FIELD(lull_number, DOUBLE, in_cycles_high),
    FIELD(lull_number, U64, samples),
    FIELD(lull_number, U32, rounds),
    {"visits", LULL_FIELD_DOUBLES, false, false, offsetof(struct lull_number, visits),
     offsetof(struct lull_number, n_visits), NULL},
    REQUIRED(lull_number, VERDICT, verdict),
    FIELD(lull_number, DOUBLE, with_write_allocate),
    FIELD(lull_number, DOUBLE, mean),
    FIELD(lull_number, TEXT, note),
};

static const struct lull_shape number_shape = {sizeof(struct lull_number), true, true,
                                               number_fields,
                                               sizeof number_fields / sizeof *number_fields};

static const struct lull_field provenance_fields[] = {
    REQUIRED(lull_machine_provenance, TEXT, kind),
    FIELD(lull_machine_provenance, TEXT, source),
    FIELD(lull_machine_provenance, TEXT, date),
    FIELD(lull_machine_provenance, TEXT, lull),
    FIELD(lull_machine_provenance, TEXT, effort),
    FIELD(lull_machine_provenance, TEXT, kernel),
    FIELD(lull_machine_provenance, TEXT, compiler),
    FIELD(lull_machine_provenance, TEXT, flags),
    FIELD(lull_machine_provenance, TEXT, mpi),
    FIELD(lull_machine_provenance, TEXT, openmp),
    FIELD(lull_machine_provenance, TEXT, openmp_environment),
    FIELD(lull_machine_provenance, TEXT, governor),
    FIELD(lull_machine_provenance, TEXT, turbo),
    FIELD(lull_machine_provenance, TEXT, clock_source),
    FIELD(lull_machine_provenance, TEXT, pinning),
    FIELD(lull_machine_provenance, TEXT, pages),
    ARRAY(lull_machine_provenance, TEXTS, remarks, n_remarks, NULL),
};

SHAPE(provenance, lull_machine_provenance, false);

static const struct lull_field host_fields[] = {
    FIELD(lull_machine_host, TEXT, name),
    FIELD(lull_machine_host, TEXT, system),
    FIELD(lull_machine_host, TEXT, hypervisor),
};

SHAPE(host, lull_machine_host, false);

static const struct lull_field cpu_fields[] = {
    FIELD(lull_machine_cpu, TEXT, vendor),
    FIELD(lull_machine_cpu, TEXT, model),
    FIELD(lull_machine_cpu, TEXT, architecture),
    ARRAY(lull_machine_cpu, TEXTS, isa, n_isa, NULL),
    FIELD(lull_machine_cpu, U32, packages),
    FIELD(lull_machine_cpu, U32, numa_domains),
    FIELD(lull_machine_cpu, U32, cores),
    FIELD(lull_machine_cpu, U32, threads),
    FIELD(lull_machine_cpu, U32, threads_per_core),
    FIELD(lull_machine_cpu, U32, cores_per_numa_domain),
};

SHAPE(cpu, lull_machine_cpu, false);

static const struct lull_field cache_fields[] = {
    REQUIRED(lull_machine_cache, U32, level),     FIELD(lull_machine_cache, TEXT, kind),
    FIELD(lull_machine_cache, U64, bytes),        FIELD(lull_machine_cache, U32, ways),
    FIELD(lull_machine_cache, U32, line_bytes),   FIELD(lull_machine_cache, U32, instances),
    FIELD(lull_machine_cache, U32, shared_cores), FIELD(lull_machine_cache, KNOWN, inclusive),
    FIELD(lull_machine_cache, TEXT, source),
};

SHAPE(cache, lull_machine_cache, true);

static const struct lull_field numa_fields[] = {
    FIELD(lull_machine_numa, U32, os_index),
    FIELD(lull_machine_numa, U64, bytes),
    FIELD(lull_machine_numa, U32, cores),
};

SHAPE(numa, lull_machine_numa, true);

static const struct lull_field link_fields[] = {
    REQUIRED(lull_machine_link, TEXT, from),
    REQUIRED(lull_machine_link, TEXT, to),
    REQUIRED(lull_machine_link, DOUBLE, bytes_per_cycle),
    FIELD(lull_machine_link, BOOL, full_duplex),
};

SHAPE(link, lull_machine_link, true);

static const struct lull_field core_fields[] = {
    FIELD(lull_machine_core, TEXT, overlap),
    ARRAY(lull_machine_core, ITEMS, links, n_links, &link_shape),
    FIELD(lull_machine_core, TEXT, llvm_cpu),
    ARRAY(lull_machine_core, TEXTS, load_ports, n_load_ports, NULL),
};

SHAPE(core, lull_machine_core, false);

static const struct lull_field range_fields[] = {
    FIELD(lull_network_range, U64, from),
    FIELD(lull_network_range, END, to),
    FIELD(lull_network_range, TEXT, protocol),
    OBJECT(lull_network_range, latency, true, number),
    OBJECT(lull_network_range, bandwidth, true, number),
};

SHAPE(range, lull_network_range, false);

static const struct lull_field level_fields[] = {
    REQUIRED(lull_network_level, TEXT, name),
    FIELD(lull_network_level, TEXT, about),
    ARRAY(lull_network_level, ITEMS, ranges, n_ranges, &range_shape),
    {"eager_limit", LULL_FIELD_SOME, false, false, offsetof(struct lull_network_level, eager_limit),
     offsetof(struct lull_network_level, has_eager_limit), NULL},
    OBJECT(lull_network_level, latency, false, number),
    OBJECT(lull_network_level, overhead, false, number),
    OBJECT(lull_network_level, gap, false, number),
    OBJECT(lull_network_level, gap_per_byte, false, number),
};

SHAPE(level, lull_network_level, false);

static const struct lull_field detour_fields[] = {
    REQUIRED(lull_detour, DOUBLE, at),
    REQUIRED(lull_detour, DOUBLE, length),
};

SHAPE(detour, lull_detour, true);

static const struct lull_field noise_fields[] = {
    REQUIRED(lull_machine_noise, U32, core),
    REQUIRED(lull_machine_noise, DOUBLE, quantum),
    REQUIRED(lull_machine_noise, DOUBLE, duration),
    OBJECT(lull_machine_noise, share, false, number),
    OBJECT(lull_machine_noise, power, false, number),
    ARRAY(lull_machine_noise, TUPLES, detours, n_detours, &detour_shape),
    {"edges", LULL_FIELD_DOUBLES, false, false, offsetof(struct lull_machine_noise, edges),
     offsetof(struct lull_machine_noise, n_edges), NULL},
    ARRAY(lull_machine_noise, U64S, bins, n_bins, NULL),
};

SHAPE(noise, lull_machine_noise, false);

static const struct lull_field point_fields[] = {
    REQUIRED(lull_series_point, DOUBLE, x),
    REQUIRED(lull_series_point, DOUBLE, y),
    FIELD(lull_series_point, DOUBLE, low),
    FIELD(lull_series_point, DOUBLE, high),
};

SHAPE(point, lull_series_point, true);

static const struct lull_field series_fields[] = {
    REQUIRED(lull_series, TEXT, name),
    FIELD(lull_series, TEXT, title),
    FIELD(lull_series, TEXT, x_label),
    FIELD(lull_series, TEXT, x_unit),
    FIELD(lull_series, TEXT, y_label),
    FIELD(lull_series, TEXT, y_unit),
    ARRAY(lull_series, TUPLES, points, n_points, &point_shape),
};

SHAPE(series, lull_series, false);

static const struct lull_field machine_fields[] = {
    FIELD(lull_machine, TEXT, name),
    OBJECT(lull_machine, provenance, true, provenance),
    OBJECT(lull_machine, host, false, host),
    OBJECT(lull_machine, cpu, false, cpu),
    FIELD(lull_machine, U64, memory_bytes),
    ARRAY(lull_machine, ITEMS, caches, n_caches, &cache_shape),
    ARRAY(lull_machine, ITEMS, numa, n_numa, &numa_shape),
    OBJECT(lull_machine, core, false, core),
    {"numbers", LULL_FIELD_MAP, false, false, offsetof(struct lull_machine, numbers.items),
     offsetof(struct lull_machine, numbers.count), &number_shape},
    ARRAY(lull_machine, ITEMS, network, n_network, &level_shape),
    ARRAY(lull_machine, ITEMS, noise, n_noise, &noise_shape),
    ARRAY(lull_machine, ITEMS, series, n_series, &series_shape),
};

static const struct lull_shape machine_shape = {sizeof(struct lull_machine), false, false,
                                                machine_fields,
                                                sizeof machine_fields / sizeof *machine_fields};

/* The default of every field. */
static void shape_clear(const struct lull_shape *shape, void *item)
{
    memset(item, 0, shape->size);
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct lull_field *field = &shape->fields[i];
        void *place = (char *)item + field->offset;
        if (field->kind == LULL_FIELD_DOUBLE && !field->zero)
            *(double *)place = NAN;
        else if (field->kind == LULL_FIELD_END)
            *(uint64_t *)place = UINT64_MAX;
        else if (field->kind == LULL_FIELD_OBJECT)
            shape_clear(field->shape, place);
    }
}

struct lull_machine *lull_machine_create(struct lull_arena *arena)
{
    struct lull_machine *machine = lull_arena_zero(arena, 1, sizeof *machine);
    shape_clear(&machine_shape, machine);
    return machine;
}

/* ==== check =================================================================================== */

/* Whether the parts of a machine fit together. */

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

/* Whether the interval encloses the value, and the value is not negative. */
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

/* Writes "place: what is wrong" into `problem` where it returns false. */
static bool machine_is_sound(const struct lull_machine *machine, char *problem, size_t size)
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

/* ==== read ==================================================================================== */

/* Reading a machine file with jansson, by the tables above. A struct lull_json_step names what is
 * read now and is linked to the step around it; together they make the place in a message. */

struct reader {
    const char *path;
    struct lull_arena *arena;
    struct lull_error *err;
};

static lull_status refuse_field(const struct reader *reader, const struct lull_json_step *step,
                                const char *what)
{
    return lull_json_wrong(reader->err, reader->path, step, what);
}

static lull_status read_fields(const struct reader *reader, const struct lull_shape *shape,
                               json_t *object, const struct lull_json_step *step, void *item);

/* ---- single values --------------------------------------------------------------------------- */

static lull_status read_unsigned(const struct reader *reader, const json_t *value, uint64_t most,
                                 const struct lull_json_step *step, uint64_t *ret)
{
    if (!json_is_integer(value))
        return refuse_field(reader, step, "expected an integer");
    if (json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > most)
        return refuse_field(reader, step, "the number is out of range");
    *ret = (uint64_t)json_integer_value(value);
    return LULL_OK;
}

static lull_status read_double(const struct reader *reader, const json_t *value,
                               const struct lull_json_step *step, double *ret)
{
    if (!json_is_number(value))
        return refuse_field(reader, step, "expected a number");
    *ret = json_number_value(value);
    return LULL_OK;
}

static lull_status read_text(const struct reader *reader, const json_t *value,
                             const struct lull_json_step *step, const char **ret)
{
    if (!json_is_string(value))
        return refuse_field(reader, step, "expected a string");
    *ret = lull_arena_strdup(reader->arena, json_string_value(value));
    return LULL_OK;
}

static lull_status read_verdict(const struct reader *reader, const json_t *value,
                                const struct lull_json_step *step, enum lull_verdict *ret)
{
    const char *text = json_string_value(value);
    for (unsigned i = 0; text && i <= LULL_VERDICT_PUBLISHED; i++) {
        if (strcmp(text, lull_verdict_name((enum lull_verdict)i)) == 0) {
            *ret = (enum lull_verdict)i;
            return LULL_OK;
        }
    }
    return refuse_field(reader, step, "expected quiet, noisy, not converged or published");
}

static lull_status read_simple(const struct reader *reader, const struct lull_field *field,
                               const json_t *value, const struct lull_json_step *step, void *item)
{
    void *place = (char *)item + field->offset;
    uint64_t number = 0;
    lull_status status;
    switch (field->kind) {
    case LULL_FIELD_TEXT:
        return read_text(reader, value, step, place);
    case LULL_FIELD_DOUBLE:
        return read_double(reader, value, step, place);
    case LULL_FIELD_VERDICT:
        return read_verdict(reader, value, step, place);
    case LULL_FIELD_BOOL:
    case LULL_FIELD_KNOWN:
        if (!json_is_boolean(value))
            return refuse_field(reader, step, "expected true or false");
        if (field->kind == LULL_FIELD_BOOL)
            *(bool *)place = json_is_true(value);
        else
            *(enum lull_known *)place = json_is_true(value) ? LULL_YES : LULL_NO;
        return LULL_OK;
    case LULL_FIELD_U32:
        status = read_unsigned(reader, value, UINT32_MAX, step, &number);
        *(uint32_t *)place = (uint32_t)number;
        return status;
    default:
        status = read_unsigned(reader, value, UINT64_MAX, step, &number);
        *(uint64_t *)place = number;
        if (field->kind == LULL_FIELD_SOME)
            *(bool *)((char *)item + field->count) = true;
        return status;
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The length of an array in the file cannot ask for too much memory: the document is in memory
 * already, and an array of structs is at most a few times as large. */
static lull_status make_room(const struct reader *reader, size_t count, size_t size, void *item,
                             const struct lull_field *field, char **ret_items)
{
    char *items = lull_arena_try(reader->arena, count ? count : 1, size);
    if (!items)
        return lull_fail(reader->err, LULL_ERR_MEMORY, "%s: not enough memory", reader->path);
    memcpy((char *)item + field->offset, &items, sizeof items);
    *(size_t *)(void *)((char *)item + field->count) = count;
    *ret_items = items;
    return LULL_OK;
}

static lull_status read_tuple(const struct reader *reader, const struct lull_shape *shape,
                              const json_t *value, const struct lull_json_step *step, char *item)
{
    shape_clear(shape, item);
    size_t count = json_array_size(value); /* 0 for what is no array */
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct lull_json_step place = {step, NULL, i};
        const json_t *entry = json_array_get(value, i);
        if (!entry && shape->fields[i].required)
            return refuse_field(reader, step, "expected an array of numbers");
        if (!entry || (json_is_null(entry) && !shape->fields[i].required))
            continue;
        lull_status status =
            read_double(reader, entry, &place, (double *)(void *)(item + shape->fields[i].offset));
        if (status != LULL_OK)
            return status;
    }
    return count <= shape->n_fields ? LULL_OK : refuse_field(reader, step, "the array is too long");
}

static lull_status read_entry(const struct reader *reader, const struct lull_field *field,
                              json_t *value, const struct lull_json_step *step, char *items,
                              size_t i)
{
    switch (field->kind) {
    case LULL_FIELD_TEXTS:
        return read_text(reader, value, step, &((const char **)(void *)items)[i]);
    case LULL_FIELD_U64S:
        return read_unsigned(reader, value, UINT64_MAX, step, &((uint64_t *)(void *)items)[i]);
    case LULL_FIELD_DOUBLES:
        return read_double(reader, value, step, &((double *)(void *)items)[i]);
    case LULL_FIELD_TUPLES:
        return read_tuple(reader, field->shape, value, step, items + i * field->shape->size);
    default:
        return read_fields(reader, field->shape, value, step, items + i * field->shape->size);
    }
}

static lull_status read_array(const struct reader *reader, const struct lull_field *field,
                              json_t *value, const struct lull_json_step *step, void *item)
{
    if (!json_is_array(value))
        return refuse_field(reader, step, "expected an array");
    char *items;
    size_t count = json_array_size(value);
    lull_status status =
        make_room(reader, count, field->shape ? field->shape->size : 8, item, field, &items);
    for (size_t i = 0; status == LULL_OK && i < count; i++) {
        const struct lull_json_step place = {step, NULL, i};
        status = read_entry(reader, field, json_array_get(value, i), &place, items, i);
    }
    return status;
}

static lull_status read_map(const struct reader *reader, const struct lull_field *field,
                            json_t *value, const struct lull_json_step *step, void *item)
{
    if (!json_is_object(value))
        return refuse_field(reader, step, "expected an object");
    char *items;
    lull_status status =
        make_room(reader, json_object_size(value), field->shape->size, item, field, &items);
    const char *key;
    json_t *entry;
    json_object_foreach(value, key, entry)
    {
        const struct lull_json_step place = {step, key, 0};
        if (status == LULL_OK)
            status = read_fields(reader, field->shape, entry, &place, items);
        if (status != LULL_OK)
            break;
        *(const char **)(void *)items = lull_arena_strdup(reader->arena, key);
        items += field->shape->size;
    }
    return status;
}

/* ---- objects --------------------------------------------------------------------------------- */

static lull_status read_field(const struct reader *reader, const struct lull_field *field,
                              json_t *value, const struct lull_json_step *up, void *item)
{
    const struct lull_json_step step = {up, field->key, 0};
    switch (field->kind) {
    case LULL_FIELD_OBJECT:
        return read_fields(reader, field->shape, value, &step, (char *)item + field->offset);
    case LULL_FIELD_MAP:
        return read_map(reader, field, value, &step, item);
    case LULL_FIELD_TEXTS:
    case LULL_FIELD_U64S:
    case LULL_FIELD_DOUBLES:
    case LULL_FIELD_ITEMS:
    case LULL_FIELD_TUPLES:
        return read_array(reader, field, value, &step, item);
    default:
        return read_simple(reader, field, value, &step, item);
    }
}

/* Refuses unknown keys: a number with a misspelt key would otherwise be missing silently. */
static lull_status refuse_unknown(const struct reader *reader, const struct lull_shape *shape,
                                  json_t *object, const struct lull_json_step *up)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        size_t i = shape->keyed;
        while (i < shape->n_fields && strcmp(shape->fields[i].key, key) != 0)
            i++;
        const struct lull_json_step step = {up, key, 0};
        if (i == shape->n_fields && !(up == NULL && strcmp(key, "format") == 0))
            return refuse_field(reader, &step, "the key is not known");
    }
    return LULL_OK;
}

static lull_status read_fields(const struct reader *reader, const struct lull_shape *shape,
                               json_t *object, const struct lull_json_step *step, void *item)
{
    if (!json_is_object(object))
        return refuse_field(reader, step, "expected an object");
    shape_clear(shape, item);
    lull_status status = refuse_unknown(reader, shape, object, step);
    for (size_t i = shape->keyed; status == LULL_OK && i < shape->n_fields; i++) {
        json_t *value = json_object_get(object, shape->fields[i].key);
        if (value && !json_is_null(value)) {
            status = read_field(reader, &shape->fields[i], value, step, item);
        } else if (shape->fields[i].required) {
            const struct lull_json_step missing = {step, shape->fields[i].key, 0};
            status = refuse_field(reader, &missing, "is missing");
        }
    }
    return status;
}

static lull_status read_root(const struct reader *reader, json_t *root,
                             struct lull_machine *machine)
{
    static const struct lull_json_step format_step = {NULL, "format", 0};
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, MACHINE_FORMAT) != 0)
        return refuse_field(reader, json_is_object(root) ? &format_step : NULL,
                            format ? "is another version than " MACHINE_FORMAT
                                   : "is no machine file, expected \"format\": \"" MACHINE_FORMAT
                                     "\"");
    lull_status status = read_fields(reader, &machine_shape, root, NULL, machine);
    if (status != LULL_OK)
        return status;
    machine->numbers.capacity = machine->numbers.count;
    char problem[300];
    if (!machine_is_sound(machine, problem, sizeof problem))
        return lull_fail(reader->err, LULL_ERR_FORMAT, "%s: %s", reader->path, problem);
    return LULL_OK;
}

lull_status lull_machine_parse(const char *text, size_t size, const char *path,
                               struct lull_arena *arena, struct lull_machine **ret_machine,
                               struct lull_error *err)
{
    json_error_t problem;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d: %s", path, problem.line, problem.text);
    const struct reader reader = {path, arena, err};
    struct lull_machine *machine = lull_machine_create(arena);
    lull_status status = read_root(&reader, root, machine);
    if (status == LULL_OK)
        *ret_machine = machine;
    json_decref(root);
    return status;
}

lull_status lull_machine_read(const char *path, struct lull_arena *arena,
                              struct lull_machine **ret_machine, struct lull_error *err)
{
    struct lull_mapping mapping;
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    status = lull_machine_parse(mapping.data ? (const char *)mapping.data : "", mapping.size, path,
                                arena, ret_machine, err);
    lull_unmap(&mapping);
    return status;
}

/* ==== write =================================================================================== */

static void write_fields(struct lull_json *json, const struct lull_shape *shape, const void *item);

static size_t count_of(const struct lull_field *field, const void *item)
{
    return *(const size_t *)((const char *)item + field->count);
}

static bool is_missing(const struct lull_field *field, const void *item);

static bool is_all_missing(const struct lull_shape *shape, const void *item)
{
    for (size_t i = 0; i < shape->n_fields; i++)
        if (!is_missing(&shape->fields[i], item) &&
            shape->fields[i].kind != LULL_FIELD_VERDICT) /* a number without value has none */
            return false;
    return true;
}

static bool is_missing(const struct lull_field *field, const void *item)
{
    const void *place = (const char *)item + field->offset;
    switch (field->kind) {
    case LULL_FIELD_TEXT:
        return *(const char *const *)place == NULL;
    case LULL_FIELD_U32:
        return *(const uint32_t *)place == 0 && !field->required;
    case LULL_FIELD_U64:
        return *(const uint64_t *)place == 0;
    case LULL_FIELD_END:
        return *(const uint64_t *)place == UINT64_MAX;
    case LULL_FIELD_SOME:
        return !*(const bool *)((const char *)item + field->count);
    case LULL_FIELD_DOUBLE:
        return isnan(*(const double *)place) || (field->zero && *(const double *)place == 0);
    case LULL_FIELD_BOOL:
        return !*(const bool *)place;
    case LULL_FIELD_KNOWN:
        return *(const enum lull_known *)place == LULL_UNKNOWN;
    case LULL_FIELD_VERDICT:
        return false;
    case LULL_FIELD_OBJECT:
        return is_all_missing(field->shape, place);
    default:
        return count_of(field, item) == 0;
    }
}

static void write_tuple(struct lull_json *json, const struct lull_shape *shape, const void *item)
{
    size_t count = shape->n_fields;
    while (count > 0 && is_missing(&shape->fields[count - 1], item))
        count--;
    lull_json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        const void *place = (const char *)item + shape->fields[i].offset;
        lull_json_number(json, *(const double *)place);
    }
    lull_json_array_end(json);
}

static void write_object(struct lull_json *json, const struct lull_shape *shape, const void *item)
{
    bool compact = json->compact;
    lull_json_object_begin(json);
    json->compact = compact || shape->on_a_line;
    write_fields(json, shape, item);
    lull_json_object_end(json);
    json->compact = compact;
}

static void write_items(struct lull_json *json, const struct lull_field *field, const void *place,
                        size_t count)
{
    const char *items = *(const char *const *)place;
    for (size_t i = 0; i < count; i++) {
        const char *item = items + i * field->shape->size;
        bool compact = json->compact;
        if (field->kind == LULL_FIELD_TUPLES) {
            write_tuple(json, field->shape, item);
        } else if (field->kind == LULL_FIELD_MAP) {
            lull_json_key(json, *(const char *const *)(const void *)item);
            write_object(json, field->shape, item);
        } else {
            write_object(json, field->shape, item);
        }
        json->compact = compact;
    }
}

/* Writes an array; one of plain values stands on one line. */
static void write_array(struct lull_json *json, const struct lull_field *field, const void *item)
{
    const void *place = (const char *)item + field->offset;
    size_t count = count_of(field, item);
    bool compact = json->compact;
    if (field->kind == LULL_FIELD_MAP) {
        lull_json_object_begin(json);
        write_items(json, field, place, count);
        lull_json_object_end(json);
        return;
    }
    lull_json_array_begin(json);
    if (field->kind != LULL_FIELD_ITEMS)
        json->compact = true;
    if (field->shape)
        write_items(json, field, place, count);
    else
        for (size_t i = 0; i < count; i++) {
            if (field->kind == LULL_FIELD_TEXTS)
                lull_json_string(json, (*(const char **const *)place)[i]);
            else if (field->kind == LULL_FIELD_U64S)
                lull_json_uint(json, (*(const uint64_t *const *)place)[i]);
            else
                lull_json_number(json, (*(const double *const *)place)[i]);
        }
    lull_json_array_end(json);
    json->compact = compact;
}

static void write_value(struct lull_json *json, const struct lull_field *field, const void *item)
{
    const void *place = (const char *)item + field->offset;
    switch (field->kind) {
    case LULL_FIELD_TEXT:
        lull_json_string(json, *(const char *const *)place);
        return;
    case LULL_FIELD_U32:
        lull_json_uint(json, *(const uint32_t *)place);
        return;
    case LULL_FIELD_U64:
    case LULL_FIELD_END:
    case LULL_FIELD_SOME:
        lull_json_uint(json, *(const uint64_t *)place);
        return;
    case LULL_FIELD_DOUBLE:
        lull_json_number(json, *(const double *)place);
        return;
    case LULL_FIELD_BOOL:
        lull_json_bool(json, *(const bool *)place);
        return;
    case LULL_FIELD_KNOWN:
        lull_json_bool(json, *(const enum lull_known *)place == LULL_YES);
        return;
    case LULL_FIELD_VERDICT:
        lull_json_string(json, lull_verdict_name(*(const enum lull_verdict *)place));
        return;
    case LULL_FIELD_OBJECT:
        write_object(json, field->shape, place);
        return;
    default:
        write_array(json, field, item);
    }
}

static void write_fields(struct lull_json *json, const struct lull_shape *shape, const void *item)
{
    for (size_t i = shape->keyed; i < shape->n_fields; i++) {
        if (is_missing(&shape->fields[i], item))
            continue;
        lull_json_key(json, shape->fields[i].key);
        write_value(json, &shape->fields[i], item);
    }
}

void lull_machine_write(const struct lull_machine *machine, FILE *out)
{
    struct lull_json json;
    lull_json_begin(&json, out, false);
    lull_json_object_begin(&json);
    lull_json_key(&json, "format");
    lull_json_string(&json, MACHINE_FORMAT);
    write_fields(&json, &machine_shape, machine);
    lull_json_object_end(&json);
}

static void write_machine_content(const void *content, FILE *out)
{
    lull_machine_write(content, out);
}

lull_status lull_machine_save(const char *path, const struct lull_machine *machine,
                              struct lull_error *err)
{
    return lull_file_write(path, write_machine_content, machine, err);
}
