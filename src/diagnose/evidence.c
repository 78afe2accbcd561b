/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/evidence.h"

#include "base/sorted.h"
#include "stats/quantile.h"

#include <math.h>

int64_t lull_evidence_core_ns(const struct lull_evidence *evidence)
{
    const struct lull_breakdown *breakdown = evidence->breakdown;
    int64_t threads = 0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        threads += breakdown->processes[p].n_cpu_threads;
    return threads * breakdown->runtime_ns;
}

/* Processes of a trace are in the order of applications, then of ranks. */
uint32_t lull_evidence_process_of_rank(const struct lull_evidence *evidence, uint32_t rank)
{
    const struct lull_trace *trace = evidence->trace;
    const struct lull_process *all = trace ? trace->processes : NULL;
    const uint32_t n = trace ? trace->n_processes : 0,
                   application = lull_evidence_application(evidence);
    const uint32_t first = lull_sorted_first_u32(
        all, n, sizeof *all, offsetof(struct lull_process, application), application);
    const uint32_t end =
        first + lull_sorted_first_u32(all + first, n - first, sizeof *all,
                                      offsetof(struct lull_process, application), application + 1);
    const uint32_t at = first + lull_sorted_first_u32(all + first, end - first, sizeof *all,
                                                      offsetof(struct lull_process, rank), rank);
    return at < end && all[at].rank == rank ? at : LULL_NONE;
}

/* Processes of a breakdown are in the order of ranks. */
const struct lull_process_breakdown *lull_evidence_breakdown(const struct lull_evidence *evidence,
                                                             uint32_t process)
{
    const struct lull_breakdown *breakdown = evidence->breakdown;
    const uint32_t rank = evidence->trace->processes[process].rank;
    const struct lull_process_breakdown *all = breakdown->processes;
    const uint32_t at = lull_sorted_first_u32(all, breakdown->n_processes, sizeof *all,
                                              offsetof(struct lull_process_breakdown, rank), rank);
    return at < breakdown->n_processes && all[at].rank == rank ? &all[at] : NULL;
}

double lull_evidence_useful_ns(const struct lull_trace *trace,
                               const struct lull_breakdown *breakdown, uint32_t location)
{
    const struct lull_location *of = &trace->locations[location];
    const uint32_t rank = trace->processes[of->process].rank;
    const struct lull_process_breakdown *all = breakdown->processes;
    const uint32_t at =
        (uint32_t)lull_sorted_first_u32(all, breakdown->n_processes, sizeof *all,
                                        offsetof(struct lull_process_breakdown, rank), rank);
    if (at == breakdown->n_processes || all[at].rank != rank)
        return 0;
    for (uint32_t i = 0; i < all[at].n_cpu_threads; i++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[all[at].first_thread + i];
        if (thread->number == of->number)
            return (double)(thread->times.ns[LULL_USEFUL][0] + thread->times.ns[LULL_USEFUL][1]);
    }
    return 0;
}

double lull_evidence_core_part(const struct lull_trace *trace,
                               const struct lull_breakdown *breakdown,
                               const struct lull_sampled *sampled, uint32_t location)
{
    const struct lull_cores *cores = &trace->locations[location].cores;
    const double useful = lull_evidence_useful_ns(trace, breakdown, location);
    if (cores->on == 0 || cores->off == 0 || useful <= 0 || trace->duration <= 0)
        return 1;
    /* of the windows, if the run is not read as a whole */
    const double part = fmin(1, (double)breakdown->runtime_ns / (double)trace->duration);
    const double off = part * (double)cores->off, on = part * (double)cores->on;
    const double without = off * fmin(1, useful / (on + off));
    const double seen = sampled ? (double)sampled->threads[location].weight : 0;
    return 1 - fmin(without, fmax(0, useful - seen)) / useful;
}

int64_t lull_evidence_activity_ns(const struct lull_evidence *evidence, unsigned activity)
{
    const struct lull_breakdown *breakdown = evidence->breakdown;
    int64_t ns = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        if (breakdown->threads[t].kind == LULL_LOCATION_THREAD)
            ns += breakdown->threads[t].times.ns[activity][0] +
                  breakdown->threads[t].times.ns[activity][1];
    return ns;
}

const struct lull_region_breakdown *lull_evidence_region_of(const struct lull_evidence *evidence,
                                                            unsigned activity)
{
    const struct lull_breakdown *breakdown = evidence->breakdown;
    const struct lull_region_breakdown *most = NULL;
    for (uint32_t r = 0; r < breakdown->n_regions; r++)
        if (breakdown->regions[r].activity == activity &&
            breakdown->regions[r].exclusive_ns > (most ? most->exclusive_ns : 0))
            most = &breakdown->regions[r];
    return most;
}

double lull_evidence_value(const struct lull_evidence *evidence, const char *id)
{
    const int metric = lull_metric_find(id);
    const struct lull_metric_value *values = evidence->values;
    return metric >= 0 && values && !values[metric].absent ? values[metric].value : NAN;
}

/* ---- memory ---------------------------------------------------------------------------------- */

double lull_memory_of_core(const struct lull_memory_curve *curve, uint32_t cores)
{
    const uint32_t at = lull_sorted_first_u32(curve->points, curve->count, sizeof *curve->points,
                                              offsetof(struct lull_memory_point, cores), cores);
    if (cores == 0 || curve->count == 0 || (at == 0 && curve->points[0].cores != cores))
        return NAN;
    if (at == curve->count)
        return curve->points[at - 1].bandwidth / cores;
    const struct lull_memory_point *upper = &curve->points[at];
    if (upper->cores == cores)
        return upper->bandwidth / cores;
    const struct lull_memory_point *lower = upper - 1;
    const double part = (double)(cores - lower->cores) / (double)(upper->cores - lower->cores);
    return (lower->bandwidth + part * (upper->bandwidth - lower->bandwidth)) / cores;
}

/* ---- speed ----------------------------------------------------------------------------------- */

enum measure { USEFUL, INSTRUCTIONS, IPC, FREQUENCY, MEASURES };

static double counter_of(const struct lull_breakdown *breakdown,
                         const struct lull_thread_breakdown *thread, uint8_t role)
{
    for (uint32_t i = 0; i < breakdown->n_counters; i++)
        if (breakdown->counters[i].role == role && thread->counters)
            return (double)thread->counters[i * LULL_ACTIVITIES + LULL_USEFUL];
    return NAN;
}

/* The numbers of the first thread of a process. */
static void measure(const struct lull_breakdown *breakdown,
                    const struct lull_process_breakdown *process, double ret[MEASURES])
{
    const struct lull_thread_breakdown *thread = &breakdown->threads[process->first_thread];
    const double useful =
        (double)(thread->times.ns[LULL_USEFUL][0] + thread->times.ns[LULL_USEFUL][1]);
    const double instructions = counter_of(breakdown, thread, LULL_COUNTER_INSTRUCTIONS);
    const double cycles = counter_of(breakdown, thread, LULL_COUNTER_CYCLES);
    ret[USEFUL] = useful;
    ret[INSTRUCTIONS] = instructions;
    ret[IPC] = cycles > 0 ? instructions / cycles : NAN;
    ret[FREQUENCY] = useful > 0 ? cycles / useful : NAN;
}

static bool is_of_node_or_process(const struct lull_process_breakdown *process,
                                  const struct lull_process_breakdown *one, uint32_t node)
{
    return one ? process == one : process->node == node;
}

/* The mean of the values that are meant, divided by the median of the others. */
static double compare(const double *values, const bool *meant, uint32_t count, double *scratch)
{
    double sum = 0;
    uint32_t ours = 0, others = 0;
    for (uint32_t p = 0; p < count; p++) {
        if (meant[p]) {
            sum += values[p];
            ours++;
        } else {
            scratch[others++] = values[p];
        }
    }
    if (ours == 0 || others == 0)
        return NAN;
    for (uint32_t p = 0; p < others; p++)
        if (!isfinite(scratch[p]))
            return NAN;
    lull_sort(scratch, others);
    return sum / ours / lull_median(scratch, others);
}

struct lull_evidence_speed lull_evidence_speed(const struct lull_evidence *evidence,
                                               uint32_t process, uint32_t node)
{
    const struct lull_breakdown *breakdown = evidence->breakdown;
    const uint32_t n = breakdown->n_processes;
    const struct lull_process_breakdown *one =
        process == LULL_NONE ? NULL : lull_evidence_breakdown(evidence, process);
    struct lull_arena *scratch = lull_arena_create(NULL);
    double *values = lull_arena_zero(scratch, (size_t)MEASURES * n + 1, sizeof *values);
    double *sorted = lull_arena_zero(scratch, n + (size_t)1, sizeof *sorted);
    bool *meant = lull_arena_zero(scratch, n + (size_t)1, sizeof *meant);
    double ratios[MEASURES];
    for (uint32_t p = 0; p < n; p++) {
        double of[MEASURES];
        measure(breakdown, &breakdown->processes[p], of);
        meant[p] = is_of_node_or_process(&breakdown->processes[p], one, node);
        for (int m = 0; m < MEASURES; m++)
            values[(size_t)m * n + p] = of[m];
    }
    for (int m = 0; m < MEASURES; m++)
        ratios[m] = compare(&values[(size_t)m * n], meant, n, sorted);
    lull_arena_destroy(scratch);
    return (struct lull_evidence_speed){ratios[USEFUL], ratios[INSTRUCTIONS], ratios[IPC],
                                        ratios[FREQUENCY]};
}

/* Says what explains most of the difference in time, on a logarithmic scale, on which the factors
 * add up: time = instructions / IPC / frequency. */
const char *lull_evidence_cause(const struct lull_evidence_speed *speed, struct lull_arena *arena)
{
    const double more = log(speed->instructions), ipc = -log(speed->ipc),
                 frequency = -log(speed->frequency);
    if (!isfinite(speed->instructions))
        return "Why is not known: no instructions were counted.";
    if (!isfinite(speed->ipc) || !isfinite(speed->frequency))
        return lull_arena_printf(arena,
                                 "It executes %.2f x the instructions of its peers; cycles were "
                                 "not counted.",
                                 speed->instructions);
    const char *first = more >= ipc && more >= frequency ? "more work"
                        : ipc >= frequency               ? "slower execution"
                                                         : "a slower clock";
    return lull_arena_printf(arena,
                             "Mostly %s: %.2f x the instructions of its peers, %.2f x their "
                             "instructions per cycle, %.2f x their frequency.",
                             first, speed->instructions, speed->ipc, speed->frequency);
}
