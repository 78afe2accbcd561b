#include "machine/schema.h"

#include <math.h>
#include <string.h>

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
const struct lull_shape lull_machine_shape = {sizeof(struct lull_machine), false, false,
                                              machine_fields,
                                              sizeof machine_fields / sizeof *machine_fields};

void lull_shape_clear(const struct lull_shape *shape, void *item)
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
            lull_shape_clear(field->shape, place);
    }
}
