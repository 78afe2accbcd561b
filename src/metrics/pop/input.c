/* From a breakdown to the numbers that the formulas want, and what else is read off them. */
#include "metrics/pop/pop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double seconds(int64_t ns)
{
    return 1e-9 * (double)ns;
}

static bool is_mpi(int activity)
{
    return activity >= LULL_MPI_P2P && activity <= LULL_MPI_OTHER;
}

static int64_t useful_of(const struct lull_thread_breakdown *thread)
{
    return thread->times.ns[LULL_USEFUL][0] + thread->times.ns[LULL_USEFUL][1];
}

static void add_master(const struct lull_thread_breakdown *master, struct lull_pop_process *process)
{
    int64_t parallel = 0, other = 0;
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        parallel += master->times.ns[activity][1];
        if (activity != LULL_USEFUL && !is_mpi(activity))
            other += master->times.ns[activity][0];
    }
    process->serial_useful = seconds(master->times.ns[LULL_USEFUL][0]);
    process->parallel = seconds(parallel);
    process->other = seconds(other);
    process->device = seconds(master->times.ns[LULL_DEVICE][0]);
}

static void add_device(const struct lull_thread_breakdown *stream, struct lull_pop_input *input)
{
    int64_t useful = useful_of(stream);
    int64_t moving = stream->times.ns[LULL_DEVICE][0] + stream->times.ns[LULL_DEVICE][1];
    input->n_devices++;
    input->device_useful += seconds(useful);
    input->device_max_useful = fmax(input->device_max_useful, seconds(useful));
    input->device_max_busy = fmax(input->device_max_busy, seconds(useful + moving));
}

/* Where a thread computes for longer than its master is in user code and OpenMP (the master waits,
 * communicates, or opens no region itself), that thread takes the master's place: first in what the
 * master spends outside the runtimes, then in MPI. `busiest` is its useful time inside parallel
 * regions. Neither part is below what the threads computed in it on average. */
static void let_busiest_lead(struct lull_pop_process *process, double busiest)
{
    double more = process->max_useful - (process->serial_useful + process->parallel);
    if (more > 0.0) {
        process->parallel = busiest;
        process->serial_useful = process->max_useful - busiest;
        process->other = fmax(0.0, process->other - more);
        process->device = fmin(process->device, process->other);
    }
    double parallel = process->parallel_useful / process->threads;
    double serial = process->useful / process->threads - parallel;
    double outside = process->serial_useful + process->parallel;
    if (process->parallel < parallel) {
        process->parallel = parallel;
        process->serial_useful = outside - parallel;
    } else if (process->serial_useful < serial) {
        process->serial_useful = serial;
        process->parallel = outside - serial;
    }
}

static void add_process_input(const struct lull_breakdown *breakdown,
                              const struct lull_process_breakdown *from,
                              struct lull_pop_input *input, struct lull_pop_process *processes)
{
    struct lull_pop_process process = {.threads = from->n_cpu_threads};
    int64_t useful = 0, parallel_useful = 0, max_useful = 0, flush = 0, busiest = 0;
    for (uint32_t i = 0; i < from->n_threads; i++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[from->first_thread + i];
        if (thread->kind == LULL_LOCATION_DEVICE) {
            add_device(thread, input);
            continue;
        }
        if (thread->master)
            add_master(thread, &process);
        useful += useful_of(thread);
        parallel_useful += thread->times.ns[LULL_USEFUL][1];
        if (useful_of(thread) > max_useful) {
            max_useful = useful_of(thread);
            busiest = thread->times.ns[LULL_USEFUL][1];
        }
        int64_t flushing = thread->times.ns[LULL_FLUSH][0] + thread->times.ns[LULL_FLUSH][1];
        flush = flushing > flush ? flushing : flush;
    }
    input->flush = fmax(input->flush, seconds(flush));
    input->flush_share = input->flush / input->runtime;
    if (process.threads == 0)
        return;
    process.useful = seconds(useful);
    process.parallel_useful = seconds(parallel_useful);
    process.max_useful = seconds(max_useful);
    let_busiest_lead(&process, seconds(busiest));
    processes[input->n_processes++] = process;
}

/* The sum of a counter over the useful time of all CPU threads; NaN where there is none. */
static double sum_counter(const struct lull_breakdown *breakdown, uint8_t role)
{
    double sum = 0.0;
    for (uint32_t c = 0; c < breakdown->n_counters; c++) {
        if (breakdown->counters[c].role != role)
            continue;
        for (uint32_t t = 0; t < breakdown->n_threads; t++) {
            const struct lull_thread_breakdown *thread = &breakdown->threads[t];
            if (thread->kind == LULL_LOCATION_THREAD)
                sum += (double)thread->counters[(size_t)c * LULL_ACTIVITIES + LULL_USEFUL];
        }
        break; /* a second counter of the same role measures the same */
    }
    return sum > 0.0 ? sum : NAN;
}

/* Without any MPI an ideal network changes nothing. */
static bool has_mpi(const struct lull_breakdown *breakdown)
{
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_times *times = &breakdown->threads[t].times;
        for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
            if (is_mpi(activity) && (times->ns[activity][0] || times->ns[activity][1]))
                return true;
        }
    }
    return false;
}

static double count_threads(const struct lull_breakdown *breakdown)
{
    double threads = 0.0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        threads += breakdown->processes[p].n_cpu_threads;
    return threads;
}

/* Losses of one execution sum, as seconds summed over the threads of its process. */
static void add_causes(const struct lull_breakdown *breakdown,
                       const struct lull_parallel_breakdown *parallel,
                       struct lull_pop_causes *causes)
{
    double threads = breakdown->processes[parallel->process].n_cpu_threads;
    causes->imbalance += threads * seconds(parallel->max_useful_ns) - seconds(parallel->useful_ns);
    causes->schedule += seconds(parallel->schedule_ns);
    causes->lock += seconds(parallel->lock_ns);
    causes->mpi += seconds(parallel->mpi_ns);
}

/* Without executions: the same sums over all of them; only their imbalance is not known. */
static void add_causes_of_threads(const struct lull_breakdown *breakdown,
                                  struct lull_pop_causes *causes)
{
    int64_t schedule = 0, lock = 0, mpi = 0, all = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        if (thread->kind != LULL_LOCATION_THREAD)
            continue;
        schedule += thread->times.ns[LULL_OMP_SCHEDULE][1];
        lock += thread->times.ns[LULL_OMP_LOCK][1];
        for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
            mpi += is_mpi(activity) ? thread->times.ns[activity][1] : 0;
            all += thread->times.ns[activity][1];
        }
    }
    *causes = (struct lull_pop_causes){all > 0 ? NAN : 0.0, seconds(schedule), seconds(lock),
                                       seconds(mpi)};
}

static void divide_causes(struct lull_pop_causes *causes, double threads)
{
    causes->imbalance /= threads;
    causes->schedule /= threads;
    causes->lock /= threads;
    causes->mpi /= threads;
}

lull_status lull_pop_from_breakdown(const struct lull_breakdown *breakdown, bool force,
                                    struct lull_arena *arena, struct lull_pop_input **ret_input,
                                    struct lull_error *err)
{
    if (breakdown->runtime_ns <= 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: no time was recorded", breakdown->run);
    struct lull_pop_input *input = lull_arena_zero(arena, 1, sizeof *input);
    struct lull_pop_process *processes =
        lull_arena_zero(arena, breakdown->n_processes, sizeof *processes);
    input->runtime = seconds(breakdown->runtime_ns);
    input->ideal_runtime = !has_mpi(breakdown)               ? input->runtime
                           : breakdown->ideal_runtime_ns > 0 ? seconds(breakdown->ideal_runtime_ns)
                                                             : NAN;
    input->ideal_absent = breakdown->ideal_absent;
    input->processes = processes;
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        add_process_input(breakdown, &breakdown->processes[p], input, processes);
    if (input->n_processes == 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: there is no process with a CPU thread",
                         breakdown->run);
    for (uint32_t i = 0; i < breakdown->n_parallels; i++)
        add_causes(breakdown, &breakdown->parallels[i], &input->causes);
    if (breakdown->from_sums)
        add_causes_of_threads(breakdown, &input->causes);
    divide_causes(&input->causes, count_threads(breakdown));
    input->instructions = sum_counter(breakdown, LULL_COUNTER_INSTRUCTIONS);
    input->cycles = sum_counter(breakdown, LULL_COUNTER_CYCLES);
    if (input->flush_share > LULL_FLUSH_REFUSED && input->flush > LULL_FLUSH_SHORT && !force)
        return lull_fail(
            err, LULL_ERR_RANGE,
            "%s: a thread lost %.1f %% of the time to the tracer writing its buffer; metrics "
            "of such a run mislead (the limit is %.0f %%)",
            breakdown->run, 100.0 * input->flush_share, 100.0 * LULL_FLUSH_REFUSED);
    *ret_input = input;
    return LULL_OK;
}

/* ---- parallel regions ---------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct lull_parallel_breakdown *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int by_loss(const void *a, const void *b)
{
    const struct lull_pop_parallel *x = a, *y = b;
    if (x->loss != y->loss)
        return x->loss < y->loss ? 1 : -1;
    return strcmp(x->name, y->name);
}

static const struct lull_parallel_breakdown **sort_by_name(const struct lull_breakdown *breakdown,
                                                           struct lull_arena *arena)
{
    const struct lull_parallel_breakdown **sorted =
        lull_arena_zero(arena, breakdown->n_parallels, sizeof *sorted);
    for (uint32_t i = 0; i < breakdown->n_parallels; i++)
        sorted[i] = &breakdown->parallels[i];
    if (breakdown->n_parallels)
        qsort(sorted, breakdown->n_parallels, sizeof *sorted, by_name);
    return sorted;
}

/* Sums over threads in seconds, still to be divided by the time of all threads. */
static void add_parallel(const struct lull_breakdown *breakdown,
                         const struct lull_parallel_breakdown *from, struct lull_pop_parallel *to)
{
    double threads = breakdown->processes[from->process].n_cpu_threads;
    struct lull_pop_causes causes = {0};
    add_causes(breakdown, from, &causes);
    to->name = from->name;
    to->executions += from->executions;
    to->duration += threads * seconds(from->duration_ns);
    to->loss += threads * seconds(from->duration_ns) - seconds(from->useful_ns);
    to->imbalance += causes.imbalance;
    to->schedule += causes.schedule;
    to->lock += causes.lock;
    to->mpi += causes.mpi;
}

static void divide_parallel(struct lull_pop_parallel *parallel, double all)
{
    parallel->duration /= all;
    parallel->loss /= all;
    parallel->imbalance /= all;
    parallel->schedule /= all;
    parallel->lock /= all;
    parallel->mpi /= all;
    parallel->rest =
        parallel->loss - parallel->imbalance - parallel->schedule - parallel->lock - parallel->mpi;
}

uint32_t lull_pop_parallels(const struct lull_breakdown *breakdown, struct lull_arena *arena,
                            struct lull_pop_parallel **ret_parallels)
{
    const struct lull_parallel_breakdown **sorted = sort_by_name(breakdown, arena);
    struct lull_pop_parallel *parallels =
        lull_arena_zero(arena, breakdown->n_parallels, sizeof *parallels);
    double all = count_threads(breakdown) * seconds(breakdown->runtime_ns);
    uint32_t n = 0;
    for (uint32_t i = 0; i < breakdown->n_parallels; i++) {
        if (i == 0 || by_name(&sorted[i - 1], &sorted[i]) != 0)
            n++;
        add_parallel(breakdown, sorted[i], &parallels[n - 1]);
    }
    for (uint32_t i = 0; i < n; i++)
        divide_parallel(&parallels[i], all);
    if (n)
        qsort(parallels, n, sizeof *parallels, by_loss);
    *ret_parallels = parallels;
    return n;
}

/* ---- weak or strong ------------------------------------------------------------------------ */

static double growth(double run, double reference)
{
    return reference > 0.0 ? run / reference : NAN;
}

static void sum_useful(const struct lull_pop_input *input, double *ret_threads, double *ret_useful)
{
    *ret_threads = *ret_useful = 0.0;
    for (uint32_t i = 0; i < input->n_processes; i++) {
        *ret_threads += input->processes[i].threads;
        *ret_useful += input->processes[i].useful;
    }
}

/* Strong: the work stays, so that instructions (without counters: useful time) stay and each unit
 * has 1/units of it. Weak: the work grows with the units. Work grows as units^x; x >= 1/2 is
 * nearer to weak. */
void lull_scaling_guess(const struct lull_pop_input *run, const struct lull_pop_input *reference,
                        struct lull_scaling_evidence *ret_evidence)
{
    double threads, useful, reference_threads, reference_useful;
    sum_useful(run, &threads, &useful);
    sum_useful(reference, &reference_threads, &reference_useful);
    struct lull_scaling_evidence evidence = {
        .units = growth(threads, reference_threads),
        .instructions = growth(run->instructions, reference->instructions),
        .runtime = growth(run->runtime, reference->runtime),
        .guess = LULL_SCALING_STRONG,
    };
    evidence.mean_useful = growth(useful / threads, reference_useful / reference_threads);
    double work = isnan(evidence.instructions) ? evidence.mean_useful * evidence.units
                                               : evidence.instructions;
    if (evidence.units != 1.0 && work > 0.0 && log(work) / log(evidence.units) >= 0.5)
        evidence.guess = LULL_SCALING_WEAK;
    *ret_evidence = evidence;
}
