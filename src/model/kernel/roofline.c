#include "model/kernel/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROOF_NAME_BYTES = 64 };

/* The widest arithmetic that the machine file has measured, with one thread. */
static double find_peak(const struct lull_machine *machine, unsigned precision,
                        const char **ret_source)
{
    static const char *const widths[] = {"avx512", "avx2", "sse", "scalar"};
    double best = NAN;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (unsigned fma = 0; fma < 2; fma++) {
            char name[ROOF_NAME_BYTES];
            snprintf(name, sizeof name, "peak.%s.%s%s.1", precision == 4 ? "sp" : "dp",
                     fma ? "fma." : "", widths[i]);
            const struct lull_number *number = lull_machine_find(machine, name);
            if (number && !(number->value <= best)) {
                best = number->value;
                *ret_source = number->name;
            }
        }
    return best;
}

/* A cache's bandwidth: its link where the machine file has one, else measured with the nearest mix
 * on one core. */
static lull_status cache_bandwidth(const struct lull_machine *machine, size_t level,
                                   const struct lull_ecm_lines *lines, double clock, unsigned cores,
                                   struct lull_arena *arena, struct lull_roof *roof,
                                   struct lull_error *err)
{
    struct lull_ecm ecm = {0};
    struct lull_ecm_bandwidth memory;
    struct lull_ecm_lines some[LULL_ECM_LINKS];
    double moved = (lines[level].loads + lines[level].stores) * 64;
    const struct lull_machine_core *core = &machine->core;
    for (size_t i = 0; i <= level + 1; i++)
        some[i] = moved > 0 ? lines[level] : (struct lull_ecm_lines){.loads = 1};
    lull_status status = lull_ecm_links(machine, some, level + 2, arena, &ecm, &memory, err);
    if (status != LULL_OK)
        return status;
    double cycles = ecm.links[level].cycles;
    moved = (some[level].loads + some[level].stores) * 64;
    roof->bandwidth = cores * moved / cycles * clock;
    roof->source = "measured at both ends";
    if (core->n_links)
        roof->source = lull_arena_printf(arena, "link of %.3g B/cy", moved / cycles);
    return LULL_OK;
}

static lull_status memory_bandwidth(const struct lull_machine *machine,
                                    const struct lull_ecm_lines *lines, unsigned cores,
                                    struct lull_arena *arena, struct lull_roof *roof,
                                    struct lull_error *err)
{
    struct lull_ecm_bandwidth memory;
    lull_status status = lull_ecm_memory_bandwidth(machine, lines, cores, &memory, NULL);
    if (status != LULL_OK) /* published files often have the saturated one alone */
        status = lull_ecm_memory_bandwidth(machine, lines, 0, &memory, err);
    if (status != LULL_OK)
        return status;
    roof->bandwidth = memory.value;
    roof->source = lull_arena_printf(arena, "%s, %u thread%s%s", memory.kernel, memory.threads,
                                     memory.threads == 1 ? "" : "s", memory.mean ? ", mean" : "");
    return LULL_OK;
}

lull_status lull_roofline_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                               const struct lull_ecm_lines *lines, size_t n_lines,
                               double in_core_cycles, unsigned cores, struct lull_arena *arena,
                               struct lull_roofline *ret_roofline, struct lull_error *err)
{
    struct lull_roofline roofline = {.cores = cores, .n_roofs = n_lines, .limit = LULL_KERNEL_NONE};
    double clock, flops = lull_kernel_flops_per_iteration(kernel);
    double unit = lull_kernel_unit(kernel, 64);
    lull_status status = lull_ecm_clock(machine, &clock, err);
    if (status != LULL_OK)
        return status;
    roofline.counts_flops = flops > 0;
    roofline.work = flops > 0 ? flops : 1;
    roofline.peak =
        flops > 0 ? cores * find_peak(machine, kernel->precision, &roofline.peak_source) : NAN;
    roofline.in_core = cores * roofline.work * unit * clock / in_core_cycles;
    roofline.performance = fmin(roofline.peak, roofline.in_core); /* NAN does not count */
    for (size_t i = 0; i < n_lines; i++) {
        struct lull_roof *roof = &roofline.roofs[i];
        double bytes = (lines[i].loads + lines[i].stores) * 64;
        bool is_memory = i + 1 == n_lines;
        roof->level = is_memory ? "memory" : lull_arena_printf(arena, "L%zu", i + 2);
        status = is_memory ? memory_bandwidth(machine, &lines[i], cores, arena, roof, err)
                           : cache_bandwidth(machine, i, lines, clock, cores, arena, roof, err);
        if (status != LULL_OK)
            return status;
        roof->intensity = bytes > 0 ? roofline.work * unit / bytes : INFINITY;
        roof->limit = bytes > 0 ? roof->intensity * roof->bandwidth : INFINITY;
        if (roof->limit < roofline.performance) {
            roofline.performance = roof->limit;
            roofline.limit = (int)i;
        }
    }
    *ret_roofline = roofline;
    return LULL_OK;
}
