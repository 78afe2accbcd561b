/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/predict.h"

#include "model/kernel/incore.h"
#include "model/kernel/layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== Roofline ================================================================================ */

enum { ROOF_NAME_BYTES = 64 };

/* The fastest arithmetic that the machine file has measured with one thread; NAN: it has none. */
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

/* Finds the bandwidth of a cache: of its link, if the machine file has one, or else as it was
 * measured on one core with the nearest mix of loads and stores. */
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
    if (status != LULL_OK) /* published machine files often have only the saturated one */
        status = lull_ecm_memory_bandwidth(machine, lines, 0, &memory, err);
    if (status != LULL_OK)
        return status;
    roof->bandwidth = memory.value;
    roof->source = lull_arena_printf(arena, "%s, %u thread%s%s", memory.kernel, memory.threads,
                                     memory.threads == 1 ? "" : "s", memory.mean ? ", mean" : "");
    return LULL_OK;
}

/* Finds the Roofline model. `in_core_cycles` is per unit of work, with the data in the first cache.
 * Fails with LULL_ERR_RANGE if the machine file lacks a clock or a bandwidth. */
static lull_status roofline_find(const struct lull_kernel *kernel,
                                 const struct lull_machine *machine,
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
    roofline.performance = fmin(roofline.peak, roofline.in_core); /* fmin ignores NAN */
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

/* ==== vectors that cross lines ================================================================ */

enum { MOST_LANES = 64, MOST_ROUNDS = 16 };

/* ---- where vectors begin --------------------------------------------------------------------- */

/* The first element that an access touches in the body, when outer loops are where `values`
 * says. */
static double first_element(const struct lull_kernel *kernel,
                            const struct lull_kernel_access *access, double *values)
{
    const struct lull_kernel_loop *body = &kernel->loops[kernel->body];
    values[body->symbol] = lull_poly_value(&body->first, values);
    return lull_poly_value(&access->offset, values);
}

static unsigned place_in_vector(double element, unsigned lanes)
{
    double rest = fmod(element, lanes);
    return (unsigned)(rest < 0 ? rest + lanes : rest);
}

/* Finds how often the first vector of the body begins at each place within a vector: shares[lanes],
 * whose sum is 1. In a loop that counts down, the first vector ends with the first element. */
static void find_places(const struct lull_kernel *kernel, const struct lull_kernel_access *access,
                        unsigned lanes, double *shares)
{
    double values[LULL_POLY_SYMBOLS];
    lull_kernel_values(kernel, values);
    const double first = first_element(kernel, access, values);
    const bool down = lull_kernel_stride(kernel, access, (size_t)kernel->body) < 0;
    memset(shares, 0, lanes * sizeof *shares);
    shares[place_in_vector(down ? first - (lanes - 1) : first, lanes)] = 1;
    for (int l = kernel->loops[kernel->body].parent; l != LULL_KERNEL_NONE;
         l = kernel->loops[l].parent) {
        double before[MOST_LANES], next[LULL_POLY_SYMBOLS];
        memcpy(before, shares, lanes * sizeof *shares);
        memcpy(next, values, sizeof next);
        next[kernel->loops[l].symbol] += (double)kernel->loops[l].step;
        unsigned step = place_in_vector(first_element(kernel, access, next) - first, lanes);
        /* The places repeat after `lanes` iterations of the outer loop. */
        double trips = fmax(1, lull_kernel_trips(kernel, (size_t)l));
        unsigned count = trips < MOST_ROUNDS * lanes ? (unsigned)trips : lanes;
        memset(shares, 0, lanes * sizeof *shares);
        for (unsigned t = 0; t < count; t++)
            for (unsigned place = 0; place < lanes; place++)
                shares[(place + t * step) % lanes] += before[place] / count;
    }
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Whether an access walks from element to element, and no access before does the same. */
static bool makes_vectors(const struct lull_kernel *kernel, size_t number)
{
    const struct lull_kernel_access *access = &kernel->accesses[number];
    if (access->loop != kernel->body || access->index_access != LULL_KERNEL_NONE ||
        fabs(lull_kernel_stride(kernel, access, (size_t)kernel->body)) != 1)
        return false;
    for (size_t k = 0; k < number; k++)
        if (kernel->accesses[k].loop == access->loop &&
            kernel->accesses[k].array == access->array &&
            kernel->accesses[k].write == access->write &&
            kernel->accesses[k].index_access == LULL_KERNEL_NONE &&
            lull_poly_equal(&kernel->accesses[k].offset, &access->offset))
            return false;
    return true;
}

static double cycles_of(const struct lull_machine *machine, const char *base, unsigned vector_bytes)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s.1", base,
             vector_bytes == 64   ? "avx512"
             : vector_bytes == 32 ? "avx2"
                                  : "sse");
    const struct lull_number *number = lull_machine_find(machine, name);
    return number && number->in_cycles > 0 ? vector_bytes / number->in_cycles : NAN;
}

static void add_cycles(const struct lull_machine *machine, unsigned vector_bytes, double vectors,
                       struct lull_crossing *crossing)
{
    double load = cycles_of(machine, "crossing.load", vector_bytes) -
                  cycles_of(machine, "within.load", vector_bytes);
    double store = cycles_of(machine, "within.store", vector_bytes);
    double longer = cycles_of(machine, "crossing.store", vector_bytes) - store;
    crossing->known = isfinite(load) && isfinite(longer);
    if (!crossing->known)
        return;
    crossing->load_cycles = crossing->loads * fmax(0, load);
    crossing->store_cycles = vectors * store + crossing->stores * fmax(0, longer);
}

struct lull_crossing lull_crossing_find(const struct lull_kernel *kernel,
                                        const struct lull_machine *machine, unsigned vector_bits,
                                        double line_bytes)
{
    struct lull_crossing crossing = {0};
    unsigned vector_bytes = vector_bits / 8;
    double unit = lull_kernel_unit(kernel, line_bytes), stored = 0;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        unsigned bytes = kernel->arrays[access->array].bytes;
        unsigned lanes = bytes ? vector_bytes / bytes : 0;
        double shares[MOST_LANES], lines = unit * bytes / line_bytes;
        if (lanes < 2 || lanes > MOST_LANES || !makes_vectors(kernel, i))
            continue;
        find_places(kernel, access, lanes, shares);
        *(access->write ? &crossing.stores : &crossing.loads) += lines * (1 - shares[0]);
        *(access->write ? &crossing.lines_stored : &crossing.lines_loaded) += lines;
        stored += access->write ? unit / lanes : 0;
    }
    add_cycles(machine, vector_bytes, stored, &crossing);
    return crossing;
}

/* ==== the prediction ========================================================================== */

double lull_prediction_rate(const struct lull_kernel_prediction *prediction, double cycles)
{
    return prediction->work * prediction->clock / cycles;
}

double lull_prediction_cycles(const struct lull_kernel_prediction *prediction, size_t level)
{
    double sum = 0;
    for (size_t l = 0; l < prediction->n_loops; l++)
        sum += prediction->loops[l].weight * lull_prediction_cycles(&prediction->loops[l], level);
    if (prediction->n_loops > 0)
        return sum;
    /* Without a chain `chain` is NAN, which fmax ignores. */
    return fmax(lull_ecm_time(&prediction->ecm, level), prediction->incore.chain);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static lull_status simulate_nest(const struct lull_kernel_source *source,
                                 const struct lull_kernel_options *options,
                                 struct lull_arena *arena,
                                 struct lull_kernel_prediction *prediction, struct lull_error *err)
{
    struct lull_cache_spec spec, wide;
    struct lull_simulated spread;
    bool has_spread = false;
    lull_status status = lull_cache_of_machine(prediction->machine, options->cores, false,
                                               options->policy, &spec, err);
    if (status == LULL_OK)
        status = lull_kernel_simulate(prediction->kernel, &spec, source->indices, source->n_indices,
                                      options->seed, &prediction->simulated, err);
    for (size_t i = 0; status == LULL_OK && i < spec.n_levels; i++) {
        if (!has_spread && lull_disagreement(&prediction->layers, &prediction->simulated,
                                             &prediction->simulated, i, arena)) {
            has_spread = true;
            wide = lull_cache_spread(&spec);
            status = lull_kernel_simulate(prediction->kernel, &wide, source->indices,
                                          source->n_indices, options->seed, &spread, err);
        }
        if (status == LULL_OK && has_spread)
            prediction->disagreements[i] =
                lull_disagreement(&prediction->layers, &prediction->simulated, &spread, i, arena);
    }
    prediction->has_simulation = status == LULL_OK;
    return status;
}

/* The simulated lines of a level. The simulation does not know why a line is read, so the layer
 * conditions tell which share of the lines written is read only because it is written. */
static struct lull_ecm_lines simulated_lines(const struct lull_kernel_prediction *prediction,
                                             size_t level)
{
    const struct lull_ecm_lines *conditions = &prediction->layers.lines[level];
    struct lull_ecm_lines lines = prediction->simulated.lines[level];
    if (conditions->stores > 0)
        lines.allocates =
            fmin(lines.loads, lines.stores * conditions->allocates / conditions->stores);
    return lines;
}

static lull_status find_traffic(const struct lull_kernel_source *source,
                                const struct lull_kernel_options *options, struct lull_arena *arena,
                                struct lull_kernel_prediction *prediction, struct lull_error *err)
{
    lull_status status =
        lull_kernel_check_indices(prediction->kernel, source->indices, source->n_indices, err);
    if (status == LULL_OK)
        status = lull_layers_find(prediction->kernel, prediction->machine, options->cores, arena,
                                  &prediction->layers, err);
    bool simulated = options->traffic == LULL_TRAFFIC_SIMULATION;
    if (status == LULL_OK && (simulated || options->simulate))
        status = simulate_nest(source, options, arena, prediction, err);
    for (size_t i = 0; status == LULL_OK && i < prediction->layers.n_levels; i++)
        prediction->lines[i] =
            simulated ? simulated_lines(prediction, i) : prediction->layers.lines[i];
    return status;
}

/* ---- cores ----------------------------------------------------------------------------------- */

static unsigned cores_of_domain(const struct lull_machine *machine)
{
    unsigned cores = machine->cpu.cores_per_numa_domain;
    if (!cores)
        cores = machine->cpu.cores / (machine->cpu.numa_domains ? machine->cpu.numa_domains : 1);
    return cores ? cores : 1;
}

/* Predicts for a number of cores. By the layer conditions, a core has a smaller part of shared
 * caches the more cores there are. Simulated traffic is taken as it is with the number of cores
 * that the options name. */
static lull_status find_point(const struct lull_kernel_options *options, unsigned cores,
                              struct lull_arena *arena,
                              const struct lull_kernel_prediction *prediction,
                              struct lull_core_point *ret_point, struct lull_error *err)
{
    struct lull_ecm ecm = prediction->ecm;
    struct lull_ecm_bandwidth memory;
    struct lull_layers layers;
    lull_status status = LULL_OK;
    if (options->traffic == LULL_TRAFFIC_CONDITIONS) {
        status =
            lull_layers_find(prediction->kernel, prediction->machine, cores, arena, &layers, err);
        if (status == LULL_OK)
            status = lull_ecm_links(prediction->machine, layers.lines, layers.n_levels, arena, &ecm,
                                    &memory, err);
    }
    double cycles = fmax(lull_ecm_time(&ecm, ecm.n_links), prediction->incore.chain);
    if (status == LULL_OK)
        *ret_point = (struct lull_core_point){
            cores, lull_prediction_rate(prediction, lull_ecm_scale(cycles, ecm.shared, cores)),
            lull_prediction_rate(prediction, lull_ecm_scale_latency(cycles, ecm.shared, cores))};
    return status;
}

static lull_status find_points(const struct lull_kernel_options *options, struct lull_arena *arena,
                               struct lull_kernel_prediction *prediction, struct lull_error *err)
{
    lull_status status = LULL_OK;
    prediction->saturation = lull_ecm_saturation(prediction->cycles, prediction->ecm.shared);
    prediction->n_points = cores_of_domain(prediction->machine);
    prediction->points = lull_arena_zero(arena, prediction->n_points, sizeof *prediction->points);
    for (unsigned n = 1; status == LULL_OK && n <= prediction->n_points; n++)
        status = find_point(options, n, arena, prediction, &prediction->points[n - 1], err);
    return status;
}

/* ---- one loop -------------------------------------------------------------------------------- */

struct lull_kernel_incores lull_kernel_no_incores(const struct lull_kernel *kernel,
                                                  struct lull_arena *arena)
{
    return (struct lull_kernel_incores){
        .arena = arena,
        .loops = lull_arena_zero(arena, kernel->n_loops, sizeof(const struct lull_incore *)),
        .code = {.arena = arena}};
}

static lull_status find_in_core(const struct lull_kernel_options *options,
                                struct lull_kernel_incores *incores,
                                struct lull_kernel_prediction *prediction, struct lull_error *err)
{
    const struct lull_kernel *kernel = prediction->kernel;
    const struct lull_incore **known = &incores->loops[kernel->body];
    if (!*known) {
        struct lull_incore *found = lull_arena_alloc(incores->arena, sizeof *found);
        lull_status status =
            lull_incore_find(kernel, prediction->machine, &options->incore, prediction->line_bytes,
                             &incores->code, incores->arena, found, err);
        if (status != LULL_OK)
            return status;
        *known = found;
    }
    prediction->incore = **known;
    prediction->crossing = lull_crossing_find(
        kernel, prediction->machine, prediction->incore.vector_bits, prediction->line_bytes);
    prediction->ecm.t_ol = fmax(prediction->incore.t_ol, prediction->crossing.store_cycles);
    /* Links take what a stream took longer than in the first cache. So that the times add up to
     * that of the stream, the core takes no less than was measured in the first cache. */
    double first = lull_ecm_first_cache(prediction->machine, prediction->crossing.lines_loaded,
                                        prediction->crossing.lines_stored);
    prediction->ecm.t_nol = /* fmax ignores NAN: `first` is not known */
        fmax(prediction->incore.t_nol, first) + prediction->crossing.load_cycles;
    return LULL_OK;
}

/* The cycles of the core alone, with its data in the first cache. */
static double in_core_cycles(const struct lull_kernel_prediction *prediction)
{
    return fmax(lull_ecm_time(&prediction->ecm, 0), prediction->incore.chain);
}

static lull_status
predict_body(const struct lull_kernel *kernel, const struct lull_machine *machine,
             const struct lull_kernel_source *source, const struct lull_kernel_options *options,
             struct lull_kernel_incores *incores, struct lull_arena *arena,
             struct lull_kernel_prediction *ret_prediction, struct lull_error *err)
{
    struct lull_kernel_prediction prediction = {
        .kernel = kernel, .machine = machine, .line_bytes = 64, .weight = 1};
    prediction.overlap = lull_ecm_overlap(machine);
    if (machine->n_caches && machine->caches[0].line_bytes)
        prediction.line_bytes = machine->caches[0].line_bytes;
    prediction.unit = lull_kernel_unit(kernel, prediction.line_bytes);
    prediction.flops = lull_kernel_flops_per_iteration(kernel) * prediction.unit;
    prediction.work = prediction.flops > 0 ? prediction.flops : prediction.unit;
    lull_status status = lull_ecm_clock(machine, &prediction.clock, err);
    if (status == LULL_OK)
        status = find_traffic(source, options, arena, &prediction, err);
    if (status == LULL_OK)
        status = find_in_core(options, incores, &prediction, err);
    if (status != LULL_OK)
        return status;
    size_t n_lines = prediction.layers.n_levels;
    status = lull_ecm_links(prediction.machine, prediction.lines, n_lines, arena, &prediction.ecm,
                            &prediction.memory, err);
    if (status == LULL_OK)
        status = roofline_find(kernel, prediction.machine, prediction.lines, n_lines,
                               in_core_cycles(&prediction), options->cores, arena,
                               &prediction.roofline, err);
    if (status != LULL_OK)
        return status;
    prediction.cycles = lull_prediction_cycles(&prediction, n_lines);
    status = find_points(options, arena, &prediction, err);
    if (status == LULL_OK)
        *ret_prediction = prediction;
    return status;
}

/* ---- several loops --------------------------------------------------------------------------- */

static double units_of(const struct lull_kernel_prediction *loop)
{
    return lull_kernel_iterations(loop->kernel, loop->kernel->body) / loop->unit;
}

static void add_to_ecm(const struct lull_kernel_prediction *loop, struct lull_ecm *sum)
{
    sum->t_ol += loop->weight * loop->ecm.t_ol;
    sum->t_nol += loop->weight * loop->ecm.t_nol;
    sum->shared += loop->weight * loop->ecm.shared;
    for (size_t i = 0; i < sum->n_links; i++)
        sum->links[i].cycles += loop->weight * loop->ecm.links[i].cycles;
}

/* Adds up the times of the loops for each number of cores, because loops run one after the
 * other. */
static void add_core_points(const struct lull_kernel_prediction *loops, size_t n_loops,
                            struct lull_arena *arena, struct lull_kernel_prediction *nest)
{
    nest->points = lull_arena_zero(arena, nest->n_points, sizeof *nest->points);
    for (size_t p = 0; p < nest->n_points; p++) {
        double naive = 0, latency = 0;
        for (size_t l = 0; l < n_loops; l++) {
            double work = loops[l].weight * loops[l].work;
            naive += work / loops[l].points[p].naive;
            latency += work / loops[l].points[p].latency;
        }
        nest->points[p] = (struct lull_core_point){loops[0].points[p].cores, nest->work / naive,
                                                   nest->work / latency};
    }
}

/* Adds up all loops in `nest`, which begins as the prediction of the busiest loop. */
static void add_up_loops(struct lull_kernel_prediction *loops, size_t n_loops,
                         struct lull_arena *arena, struct lull_kernel_prediction *nest)
{
    double units = units_of(nest), iterations = 0;
    nest->ecm.t_ol = nest->ecm.t_nol = nest->ecm.shared = 0;
    for (size_t i = 0; i < nest->ecm.n_links; i++) {
        nest->ecm.links[i].cycles = nest->ecm.links[i].whole = 0;
        memset(nest->ecm.links[i].shares, 0, sizeof nest->ecm.links[i].shares);
    }
    nest->flops = nest->cycles = 0;
    nest->saturation = 0;
    bool saturates = true;
    for (size_t l = 0; l < n_loops; l++) {
        struct lull_kernel_prediction *loop = &loops[l];
        loop->weight = units_of(loop) / units;
        add_to_ecm(loop, &nest->ecm);
        nest->flops += loop->weight * loop->flops;
        nest->cycles += loop->weight * loop->cycles;
        iterations += loop->weight * loop->unit;
        saturates &= loop->saturation > 0;
        if (loop->saturation > nest->saturation)
            nest->saturation = loop->saturation;
    }
    nest->saturation = saturates ? nest->saturation : 0;
    nest->work = nest->flops > 0 ? nest->flops : iterations;
    add_core_points(loops, n_loops, arena, nest);
    nest->loops = loops;
    nest->n_loops = n_loops;
}

lull_status lull_kernel_predict(const struct lull_kernel *kernel,
                                const struct lull_machine *machine,
                                const struct lull_kernel_source *source,
                                const struct lull_kernel_options *options,
                                struct lull_kernel_incores *incores, struct lull_arena *arena,
                                struct lull_kernel_prediction *ret_prediction,
                                struct lull_error *err)
{
    struct lull_kernel_incores found = lull_kernel_no_incores(kernel, arena);
    struct lull_kernel_prediction *loops = lull_arena_zero(arena, kernel->n_loops, sizeof *loops);
    size_t count = 0, busiest = 0;
    for (int l = 0; l < (int)kernel->n_loops; l++) {
        if (!lull_kernel_is_innermost(kernel, l) || !(lull_kernel_iterations(kernel, l) > 0))
            continue;
        struct lull_kernel *body = lull_arena_alloc(arena, sizeof *body);
        *body = lull_kernel_look_at(kernel, l);
        lull_status status = predict_body(body, machine, source, options,
                                          incores ? incores : &found, arena, &loops[count], err);
        if (status != LULL_OK)
            return status;
        if (l == lull_kernel_busiest(kernel))
            busiest = count;
        count++;
    }
    *ret_prediction = loops[busiest];
    if (count > 1)
        add_up_loops(loops, count, arena, ret_prediction);
    return LULL_OK;
}
