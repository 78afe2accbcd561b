#include "model/spmv/spmv.h"

#include <math.h>

enum { UNIT = 8 }; /* nonzeros */

struct lull_spmv_core lull_spmv_estimate_core(const struct lull_spmv_shape *shape)
{
    static const double loads_per_cycle = 2, adds_per_cycle = 2, add_cycles = 4, partial_sums = 4;
    double rows = UNIT * shape->rows / shape->nonzeros; /* per unit */
    double elements = UNIT * shape->stored / shape->nonzeros;
    double of_complex = shape->value_bytes / 8;
    return (struct lull_spmv_core){
        .t_nol = (elements * (1 + 2 * of_complex) + rows * (1 + of_complex)) / loads_per_cycle,
        .t_ol = elements * add_cycles / partial_sums * of_complex +
                rows * (partial_sums - 1) / adds_per_cycle * of_complex};
}

/* Lines per nonzero for making private results and adding them up, where they do not stay in the
 * last cache: clearing writes each of them once, the sum reads them and writes the result. */
static struct lull_ecm_lines update_lines(const struct lull_spmv_shape *shape,
                                          const struct lull_machine *machine, size_t levels,
                                          unsigned cores)
{
    const struct lull_machine_cache *last = lull_machine_cache(machine, (unsigned)levels);
    double bytes = shape->columns * shape->value_bytes;
    unsigned shared = last->shared_cores ? last->shared_cores : 1;
    double capacity = (double)last->bytes * ((cores + shared - 1) / shared);
    if (!shape->transposed || cores < 2 || bytes * cores <= capacity)
        return (struct lull_ecm_lines){0};
    double lines = bytes / 64 / shape->nonzeros;
    return (struct lull_ecm_lines){.loads = lines * (2 * cores + 1),
                                   .stores = lines * (cores + 1),
                                   .allocates = lines * (cores + 1)};
}

/* Of that many cores, or what saturates the memory where the machine file has no such number. */
static lull_status memory_of(const struct lull_machine *machine, const struct lull_ecm_lines *lines,
                             unsigned cores, struct lull_ecm_bandwidth *ret_memory,
                             struct lull_error *err)
{
    if (lull_ecm_memory_bandwidth(machine, lines, cores, ret_memory, NULL) == LULL_OK)
        return LULL_OK;
    return lull_ecm_memory_bandwidth(machine, lines, 0, ret_memory, err);
}

static void scale_lines(const struct lull_spmv_traffic *traffic, struct lull_ecm_lines update,
                        struct lull_ecm_lines *lines)
{
    for (size_t n = 0; n < traffic->n_levels; n++) {
        lines[n].loads = UNIT * (traffic->lines[n].loads + update.loads);
        lines[n].stores = UNIT * (traffic->lines[n].stores + update.stores);
        lines[n].allocates = UNIT * (traffic->lines[n].allocates + update.allocates);
    }
}

lull_status lull_spmv_predict(const struct lull_spmv_shape *shape,
                              const struct lull_spmv_traffic *traffic,
                              const struct lull_machine *machine, unsigned cores,
                              const struct lull_spmv_core *core, struct lull_arena *arena,
                              struct lull_spmv_prediction *ret_prediction, struct lull_error *err)
{
    struct lull_spmv_prediction prediction = {.cores = cores, .traffic = *traffic};
    struct lull_spmv_core estimate = lull_spmv_estimate_core(shape);
    struct lull_ecm_lines lines[LULL_CACHE_LEVELS];
    struct lull_ecm_bandwidth saturated;
    double clock;
    struct lull_ecm_lines update = update_lines(shape, machine, traffic->n_levels, cores);
    scale_lines(traffic, update, lines);
    const struct lull_ecm_lines *memory = &lines[traffic->n_levels - 1];
    lull_status status = memory_of(machine, memory, cores, &prediction.memory, err);
    if (status == LULL_OK)
        status = lull_ecm_clock(machine, &clock, err);
    prediction.ecm.t_ol = isnan(core->t_ol) ? estimate.t_ol : core->t_ol;
    prediction.ecm.t_nol = isnan(core->t_nol) ? estimate.t_nol : core->t_nol;
    if (status == LULL_OK)
        status = lull_ecm_links(machine, lines, traffic->n_levels, arena, &prediction.ecm,
                                &saturated, err);
    if (status != LULL_OK)
        return status;
    prediction.update_bytes = 64 * (update.loads + update.stores);
    double bytes = 64 * (memory->loads + memory->stores) / UNIT;
    prediction.in_cache = bytes < 0.01 * lull_spmv_bytes(shape, 0);
    prediction.roofline_once =
        shape->flops * prediction.memory.value /
        (lull_spmv_bytes(shape, lull_spmv_alpha_once(shape)) + prediction.update_bytes);
    prediction.roofline =
        prediction.in_cache ? NAN : shape->flops * prediction.memory.value / bytes;
    double alone = lull_ecm_time(&prediction.ecm, prediction.ecm.n_links);
    double naive = lull_ecm_scale(alone, prediction.ecm.shared, cores);
    double latency = lull_ecm_scale_latency(alone, prediction.ecm.shared, cores);
    prediction.ecm_naive = UNIT * shape->flops * clock / naive;
    prediction.ecm_latency = UNIT * shape->flops * clock / latency;
    prediction.seconds = shape->nonzeros * shape->flops / prediction.ecm_naive;
    *ret_prediction = prediction;
    return LULL_OK;
}
