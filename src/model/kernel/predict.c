#include "model/kernel/predict.h"

#include <math.h>
#include <string.h>

double lull_prediction_rate(const struct lull_kernel_prediction *prediction, double cycles)
{
    double work = prediction->flops > 0 ? prediction->flops : prediction->unit;
    return work * prediction->clock / cycles;
}

double lull_prediction_cycles(const struct lull_kernel_prediction *prediction, size_t level)
{
    return fmax(lull_ecm_time(&prediction->ecm, level), prediction->incore.chain); /* NAN: none */
}

/* Transfers between the caches of AMD's cores overlap; where the file does not say, the vendor
 * does.
 */
static const struct lull_machine *with_overlap(const struct lull_machine *machine,
                                               struct lull_kernel_prediction *prediction,
                                               struct lull_arena *arena)
{
    struct lull_machine *copy = lull_arena_alloc(arena, sizeof *copy);
    *copy = *machine;
    if (!copy->core.overlap) {
        bool amd = copy->cpu.vendor && strcmp(copy->cpu.vendor, "AuthenticAMD") == 0;
        copy->core.overlap = amd ? "caches" : "none";
        prediction->overlap_assumed = true;
    }
    prediction->overlap = copy->core.overlap;
    return copy;
}

/* ---- traffic ------------------------------------------------------------------------------- */

static lull_status simulate(const struct lull_kernel_source *source,
                            const struct lull_kernel_options *options, struct lull_arena *arena,
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

static lull_status find_traffic(const struct lull_kernel_source *source,
                                const struct lull_kernel_options *options, struct lull_arena *arena,
                                struct lull_kernel_prediction *prediction, struct lull_error *err)
{
    lull_status status = lull_layers_find(prediction->kernel, prediction->machine, options->cores,
                                          arena, &prediction->layers, err);
    bool simulated = options->traffic == LULL_TRAFFIC_SIMULATION;
    if (status == LULL_OK && (simulated || options->simulate))
        status = simulate(source, options, arena, prediction, err);
    for (size_t i = 0; status == LULL_OK && i < prediction->layers.n_levels; i++)
        prediction->lines[i] =
            simulated ? prediction->simulated.lines[i] : prediction->layers.lines[i];
    return status;
}

/* ---- cores --------------------------------------------------------------------------------- */

static unsigned cores_of_domain(const struct lull_machine *machine)
{
    unsigned cores = machine->cpu.cores_per_numa_domain;
    if (!cores)
        cores = machine->cpu.cores / (machine->cpu.numa_domains ? machine->cpu.numa_domains : 1);
    return cores ? cores : 1;
}

/* With so many cores: of shared caches each has less, and of memory all have the same. Simulated
 * traffic is taken as it is with the cores that were asked for. */
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

/* How much of the nest's innermost iterations the body is. */
static double share_of_body(const struct lull_kernel *kernel)
{
    double all = 0, body = lull_kernel_iterations(kernel, kernel->body);
    for (size_t l = 0; l < kernel->n_loops; l++) {
        bool innermost = true;
        for (size_t k = 0; k < kernel->n_loops; k++)
            innermost &= kernel->loops[k].parent != (int)l;
        all += innermost ? lull_kernel_iterations(kernel, (int)l) : 0;
    }
    return body / all;
}

lull_status lull_kernel_predict(const struct lull_kernel *kernel,
                                const struct lull_machine *machine,
                                const struct lull_kernel_source *source,
                                const struct lull_kernel_options *options,
                                const struct lull_incore *incore, struct lull_arena *arena,
                                struct lull_kernel_prediction *ret_prediction,
                                struct lull_error *err)
{
    struct lull_kernel_prediction prediction = {.kernel = kernel, .line_bytes = 64};
    prediction.machine = with_overlap(machine, &prediction, arena);
    if (machine->n_caches && machine->caches[0].line_bytes)
        prediction.line_bytes = machine->caches[0].line_bytes;
    prediction.unit = lull_kernel_unit(kernel, prediction.line_bytes);
    prediction.flops = lull_kernel_flops_per_iteration(kernel) * prediction.unit;
    prediction.share = share_of_body(kernel);
    lull_status status = lull_ecm_clock(machine, &prediction.clock, err);
    if (status == LULL_OK)
        status = find_traffic(source, options, arena, &prediction, err);
    if (status == LULL_OK && incore)
        prediction.incore = *incore;
    else if (status == LULL_OK)
        status = lull_incore_find(kernel, machine, &options->incore, prediction.line_bytes, arena,
                                  &prediction.incore, err);
    if (status != LULL_OK)
        return status;
    prediction.ecm.t_ol = prediction.incore.t_ol;
    prediction.ecm.t_nol = prediction.incore.t_nol;
    size_t n_lines = prediction.layers.n_levels;
    status = lull_ecm_links(prediction.machine, prediction.lines, n_lines, arena, &prediction.ecm,
                            &prediction.memory, err);
    if (status == LULL_OK)
        status = lull_roofline_find(kernel, prediction.machine, prediction.lines, n_lines,
                                    &prediction.incore, options->cores, arena, &prediction.roofline,
                                    err);
    if (status != LULL_OK)
        return status;
    prediction.cycles = lull_prediction_cycles(&prediction, n_lines);
    status = find_points(options, arena, &prediction, err);
    if (status == LULL_OK)
        *ret_prediction = prediction;
    return status;
}
