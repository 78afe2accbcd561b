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

static lull_status predict_kernel(const struct lull_solver_kernel *kernel,
                                  const struct lull_machine *machine, unsigned cores,
                                  struct lull_arena *arena, struct lull_solver_kernel_time *time,
                                  struct lull_error *err)
{
    time->ecm = (struct lull_ecm){.t_ol = kernel->t_ol, .t_nol = kernel->t_nol};
    lull_status status = lull_ecm_links(machine, kernel->lines, kernel->n_lines, arena, &time->ecm,
                                        &time->memory, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "kernel '%s'", kernel->name);
    time->cycles = lull_ecm_time(&time->ecm, kernel->n_lines);
    time->saturation = lull_ecm_saturation(time->cycles, time->ecm.shared);
    time->limit = lull_ecm_scale(time->cycles, time->ecm.shared, cores);
    return LULL_OK;
}

/* The nearest level whose instances, as many as that many cores use, hold all arrays. */
static size_t level_of(const struct lull_solver *solver, const struct lull_machine *machine,
                       unsigned cores)
{
    size_t levels = solver->kernels[0].n_lines;
    for (size_t level = 0; solver->bytes > 0 && level < levels; level++) {
        const struct lull_machine_cache *cache = lull_machine_cache(machine, (unsigned)level + 1);
        unsigned shared = cache->shared_cores ? cache->shared_cores : 1;
        if (solver->bytes <= (double)cache->bytes * ((cores + shared - 1) / shared))
            return level;
    }
    return levels;
}

static void add_kernel(const struct lull_solver_prediction *prediction, size_t number,
                       const struct sync *sync, struct lull_solver_scale *scale)
{
    const struct lull_solver_kernel *kernel = &prediction->solver->kernels[number];
    const struct lull_ecm *ecm = &prediction->kernels[number].ecm;
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
    lull_status status = lull_ecm_clock(machine, &prediction.clock, err);
    for (size_t i = 0; status == LULL_OK && i < solver->n_kernels; i++) {
        struct lull_solver_kernel_time *time = &prediction.kernels[i];
        const struct lull_solver_kernel *kernel = &solver->kernels[i];
        status = predict_kernel(kernel, machine, (unsigned)prediction.n_scales, arena, time, err);
        prediction.cycles += kernel->count * time->cycles;
        prediction.limit += kernel->count * time->limit;
    }
    if (status != LULL_OK)
        return status;
    prediction.scales = lull_arena_zero(arena, prediction.n_scales, sizeof *prediction.scales);
    for (unsigned n = 1; n <= prediction.n_scales; n++) {
        struct lull_solver_scale *scale = &prediction.scales[n - 1];
        const struct sync sync = sync_of(machine, options, n);
        prediction.sync_known &= sync.known;
        scale->cores = n;
        scale->level = level_of(solver, machine, n);
        scale->kernels = lull_arena_zero(arena, solver->n_kernels, sizeof *scale->kernels);
        for (size_t i = 0; i < solver->n_kernels; i++)
            add_kernel(&prediction, i, &sync, scale);
    }
    for (size_t i = 0; i < solver->n_kernels; i++)
        prediction.kernels[i].seconds = prediction.scales[0].kernels[i];
    *ret_prediction = prediction;
    return LULL_OK;
}
