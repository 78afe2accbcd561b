#include "model/solver/reuse.h"
#include "model/solver/solver.h"

#include <math.h>
#include <stdio.h>

/* s of one barrier and one parallel region on that many threads. */
struct sync {
    double barrier, region;
    bool known;
};

static double openmp_cost(const struct lull_machine *machine, const char *compiler,
                          const char *construct, unsigned cores)
{
    char base[64];
    snprintf(base, sizeof base, "openmp.%s.%s", compiler, construct);
    const struct lull_number *number = lull_machine_find_threads(machine, base, cores, NULL);
    return number ? number->value : NAN;
}

/* A barrier of one thread may cost a call of the system, so that it counts where it was measured.
 */
static struct sync sync_of(const struct lull_machine *machine,
                           const struct lull_solver_options *options, unsigned cores)
{
    if (cores > 1 && !isnan(options->barrier))
        return (struct sync){options->barrier, options->barrier, true};
    struct sync sync = {.barrier = openmp_cost(machine, options->compiler, "barrier", cores),
                        .region = openmp_cost(machine, options->compiler, "parallel", cores)};
    sync.known = isfinite(sync.barrier) && isfinite(sync.region);
    return sync.known ? sync : (struct sync){.known = cores == 1};
}

/* ---- caches of several cores ---------------------------------------------------------------- */

/* Cores fill one instance after the other. */
static struct lull_solver_cache cache_of(const struct lull_machine *machine, size_t level,
                                         unsigned cores)
{
    const struct lull_machine_cache *cache = lull_machine_cache(machine, (unsigned)level + 1);
    return (struct lull_solver_cache){cores, cache->shared_cores ? cache->shared_cores : 1,
                                      (double)cache->bytes};
}

struct lull_solver_kernel *lull_solver_on_cores(const struct lull_solver *solver,
                                                const struct lull_machine *machine, unsigned cores,
                                                struct lull_arena *arena)
{
    if (!solver->walks)
        return solver->kernels;
    struct lull_solver scaled = *solver;
    scaled.kernels = lull_arena_zero(arena, solver->n_kernels, sizeof *scaled.kernels);
    for (size_t i = 0; i < solver->n_kernels; i++)
        scaled.kernels[i] = solver->kernels[i];
    for (size_t level = 0; level < solver->kernels[0].n_lines; level++) {
        const struct lull_solver_cache cache = cache_of(machine, level, cores);
        lull_solver_reuse(&scaled, solver->walks, solver->sizes, level, &cache);
    }
    return scaled.kernels;
}

static lull_status predict_kernel(const struct lull_solver_kernel *kernel,
                                  const struct lull_machine *machine, struct lull_arena *arena,
                                  struct lull_ecm *ecm, struct lull_ecm_bandwidth *memory,
                                  struct lull_error *err)
{
    *ecm = (struct lull_ecm){.t_ol = kernel->t_ol, .t_nol = kernel->t_nol};
    lull_status status =
        lull_ecm_links(machine, kernel->lines, kernel->n_lines, arena, ecm, memory, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "kernel '%s'", kernel->name);
    return LULL_OK;
}

/* The nearest level each instance of which holds the parts of all arrays of its cores. */
static size_t level_holding_arrays(const struct lull_solver *solver,
                                   const struct lull_machine *machine, unsigned cores)
{
    size_t levels = solver->kernels[0].n_lines;
    for (size_t level = 0; solver->bytes > 0 && level < levels; level++) {
        const struct lull_solver_cache cache = cache_of(machine, level, cores);
        unsigned users = cores < cache.sharers ? cores : cache.sharers;
        if (solver->bytes * users <= cache.bytes * cores)
            return level;
    }
    return levels;
}

static void add_kernel_time(const struct lull_solver_prediction *prediction, size_t number,
                            const struct lull_ecm *ecm, const struct sync *sync,
                            struct lull_solver_scale *scale)
{
    const struct lull_solver_kernel *kernel = &prediction->solver->kernels[number];
    unsigned cores = scale->cores;
    double shared = scale->level == kernel->n_lines ? ecm->shared : 0;
    double alone = lull_ecm_time(ecm, scale->level);
    double units = kernel->count * kernel->points / LULL_SOLVER_POINTS_PER_LINE;
    double naive = lull_ecm_scale(alone, shared, cores);
    double latency = lull_ecm_scale_latency(alone, shared, cores);
    double steps = kernel->wavefronts > 0 ? kernel->wavefronts + cores - 1 : 0;
    double stretch = steps > 0 ? steps / kernel->wavefronts : 1;
    double waits = kernel->count *
                   ((kernel->barriers + steps) * sync->barrier + kernel->regions * sync->region);
    double rest = waits + kernel->count * kernel->seconds;
    scale->cycles += kernel->count * naive;
    scale->fill += naive * units / prediction->clock * (stretch - 1);
    scale->kernels[number] = naive * units / prediction->clock * stretch + rest;
    scale->seconds += scale->kernels[number];
    scale->latency += latency * units / prediction->clock * stretch + rest;
    scale->sync += waits;
}

static unsigned domain_cores(const struct lull_machine *machine)
{
    if (machine->cpu.cores_per_numa_domain)
        return machine->cpu.cores_per_numa_domain;
    return machine->cpu.cores ? machine->cpu.cores : 1;
}

/* Each kernel on one core; `limit` follows with the last of the cores. */
static lull_status predict_alone(const struct lull_machine *machine, struct lull_arena *arena,
                                 struct lull_solver_prediction *prediction, struct lull_error *err)
{
    const struct lull_solver *solver = prediction->solver;
    lull_status status = lull_ecm_clock(machine, &prediction->clock, err);
    for (size_t i = 0; status == LULL_OK && i < solver->n_kernels; i++) {
        struct lull_solver_kernel_time *time = &prediction->kernels[i];
        const struct lull_solver_kernel *kernel = &solver->kernels[i];
        status = predict_kernel(kernel, machine, arena, &time->ecm, &time->memory, err);
        if (status != LULL_OK)
            return status;
        time->cycles = lull_ecm_time(&time->ecm, kernel->n_lines);
        time->saturation = lull_ecm_saturation(time->cycles, time->ecm.shared);
        prediction->cycles += kernel->count * time->cycles;
    }
    return status;
}

static lull_status predict_cores(const struct lull_machine *machine,
                                 const struct lull_solver_options *options, unsigned cores,
                                 struct lull_arena *arena,
                                 struct lull_solver_prediction *prediction, struct lull_error *err)
{
    const struct lull_solver *solver = prediction->solver;
    const struct lull_solver_kernel *kernels = lull_solver_on_cores(solver, machine, cores, arena);
    struct lull_solver_scale *scale = &prediction->scales[cores - 1];
    const struct sync sync = sync_of(machine, options, cores);
    prediction->sync_known &= sync.known;
    scale->cores = cores;
    scale->level = level_holding_arrays(solver, machine, cores);
    scale->kernels = lull_arena_zero(arena, solver->n_kernels, sizeof *scale->kernels);
    for (size_t i = 0; i < solver->n_kernels; i++) {
        struct lull_ecm ecm;
        struct lull_ecm_bandwidth memory;
        lull_status status = predict_kernel(&kernels[i], machine, arena, &ecm, &memory, err);
        if (status != LULL_OK)
            return status;
        add_kernel_time(prediction, i, &ecm, &sync, scale);
        if (cores < prediction->n_scales)
            continue;
        prediction->kernels[i].limit =
            lull_ecm_scale(lull_ecm_time(&ecm, kernels[i].n_lines), ecm.shared, cores);
        prediction->limit += kernels[i].count * prediction->kernels[i].limit;
    }
    return LULL_OK;
}

lull_status lull_solver_predict(const struct lull_solver *solver,
                                const struct lull_machine *machine,
                                const struct lull_solver_options *options, struct lull_arena *arena,
                                struct lull_solver_prediction *ret_prediction,
                                struct lull_error *err)
{
    struct lull_solver_prediction prediction = {
        .solver = solver,
        .kernels = lull_arena_zero(arena, solver->n_kernels, sizeof *prediction.kernels),
        .n_scales = options->cores ? options->cores : domain_cores(machine),
        .sync_known = true};
    prediction.scales = lull_arena_zero(arena, prediction.n_scales, sizeof *prediction.scales);
    lull_status status = predict_alone(machine, arena, &prediction, err);
    for (unsigned n = 1; status == LULL_OK && n <= prediction.n_scales; n++)
        status = predict_cores(machine, options, n, arena, &prediction, err);
    if (status != LULL_OK)
        return status;
    for (size_t i = 0; i < solver->n_kernels; i++)
        prediction.kernels[i].seconds = prediction.scales[0].kernels[i];
    *ret_prediction = prediction;
    return LULL_OK;
}
