/* The formulas. Averages over processes are weighted by their threads, without exception. */
#include "metrics/pop/table.h"

#include <math.h>

/* Sums of an input that the formulas share; averages in seconds. */
struct sums {
    double runtime, ideal;
    double threads;
    double avg_useful, max_useful, sum_useful;
    double avg_parallel_useful;        /* OU */
    double avg_serial, avg_parallel;   /* SU, OMP */
    double avg_outside;                /* X */
    double avg_device;                 /* of X */
    double avg_runtimes, max_runtimes; /* O = SU + OMP */
    double max_with_device;            /* the largest O + device */
    double avg_not_mpi, max_not_mpi;   /* W = SU + OMP + X */
    const char *no_ideal;              /* why there is no T_id */
    bool mpi_only;
};

/* Inputs come from integers in ns or from printed tables: contradictions below this share of the
 * runtime are rounding. */
#define ROUNDING 1e-9

static lull_status check_process(const struct lull_pop_input *input, uint32_t index,
                                 struct lull_error *err)
{
    const struct lull_pop_process *p = &input->processes[index];
    const double times[] = {p->serial_useful, p->parallel,   p->other,          p->device,
                            p->useful,        p->max_useful, p->parallel_useful};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (!(times[i] >= 0.0) || isinf(times[i]))
            return lull_fail(err, LULL_ERR_RANGE, "process %u: a time of %g s makes no sense",
                             index, times[i]);
    }
    double most = input->runtime * (1.0 + ROUNDING);
    if (p->threads == 0)
        return lull_fail(err, LULL_ERR_RANGE, "process %u has no threads", index);
    if (p->serial_useful + p->parallel + p->other > most || p->max_useful > most)
        return lull_fail(err, LULL_ERR_RANGE, "process %u: its times exceed the runtime of %.9g s",
                         index, input->runtime);
    if (p->useful > p->threads * p->max_useful * (1.0 + ROUNDING))
        return lull_fail(err, LULL_ERR_RANGE,
                         "process %u: useful time of %.9g s on %u threads, although no thread "
                         "has more than %.9g s",
                         index, p->useful, p->threads, p->max_useful);
    return LULL_OK;
}

static void add_process_sums(const struct lull_pop_process *p, struct sums *sums)
{
    double t = p->threads;
    double not_mpi = p->serial_useful + p->parallel + p->other;
    sums->threads += t;
    sums->sum_useful += p->useful;
    sums->avg_parallel_useful += p->parallel_useful;
    sums->avg_serial += t * p->serial_useful;
    sums->avg_parallel += t * p->parallel;
    sums->avg_outside += t * p->other;
    sums->avg_device += t * p->device;
    sums->avg_not_mpi += t * not_mpi;
    sums->max_not_mpi = fmax(sums->max_not_mpi, not_mpi);
    sums->max_runtimes = fmax(sums->max_runtimes, p->serial_useful + p->parallel);
    sums->max_with_device = fmax(sums->max_with_device, p->serial_useful + p->parallel + p->device);
    sums->max_useful = fmax(sums->max_useful, p->max_useful);
}

static void finish_averages(struct sums *sums)
{
    double n = sums->threads;
    sums->avg_useful = sums->sum_useful / n;
    sums->avg_parallel_useful /= n;
    sums->avg_serial /= n;
    sums->avg_parallel /= n;
    sums->avg_outside /= n;
    sums->avg_device /= n;
    sums->avg_not_mpi /= n;
    sums->avg_runtimes = sums->avg_serial + sums->avg_parallel;
}

bool lull_pop_is_hybrid(const struct lull_pop_input *input)
{
    if (input->n_devices > 0)
        return true;
    for (uint32_t i = 0; i < input->n_processes; i++)
        if (input->processes[i].threads != 1 || input->processes[i].parallel != 0.0)
            return true;
    return false;
}

static lull_status add_up_processes(const struct lull_pop_input *input, struct sums *ret_sums,
                                    struct lull_error *err)
{
    struct sums sums = {.runtime = input->runtime,
                        .ideal = input->ideal_runtime,
                        .no_ideal = input->ideal_absent ? input->ideal_absent
                                                        : "needs a replay on an ideal network",
                        .mpi_only = !lull_pop_is_hybrid(input)};
    if (!(input->runtime > 0.0) || isinf(input->runtime))
        return lull_fail(err, LULL_ERR_RANGE, "the runtime is %g s, expected more than 0",
                         input->runtime);
    if (input->n_processes == 0)
        return lull_fail(err, LULL_ERR_RANGE, "the run has no process with a CPU thread");
    for (uint32_t i = 0; i < input->n_processes; i++) {
        lull_status status = check_process(input, i, err);
        if (status != LULL_OK)
            return status;
        add_process_sums(&input->processes[i], &sums);
    }
    finish_averages(&sums);
    double slack = ROUNDING * input->runtime;
    if (sums.ideal > input->runtime + slack)
        return lull_fail(err, LULL_ERR_RANGE,
                         "the runtime on an ideal network, %.9g s, is above the measured %.9g s",
                         sums.ideal, input->runtime);
    if (sums.ideal < sums.max_not_mpi - slack)
        return lull_fail(err, LULL_ERR_RANGE,
                         "the runtime on an ideal network, %.9g s, is below the %.9g s that a "
                         "process spends outside MPI",
                         sums.ideal, sums.max_not_mpi);
    *ret_sums = sums;
    return LULL_OK;
}

/* ---- values -------------------------------------------------------------------------------- */

struct target {
    struct lull_metric_value *values;
    const struct sums *sums;
};

static void set(struct target to, enum lull_metric metric, double value)
{
    to.values[metric] = (struct lull_metric_value){.value = value};
}

static void set_absent(struct target to, enum lull_metric metric, const char *why)
{
    to.values[metric] = (struct lull_metric_value){.absent = why};
}

static void set_ratio(struct target to, enum lull_metric metric, double top, double bottom,
                      const char *why_not)
{
    if (bottom > 0.0)
        set(to, metric, top / bottom);
    else
        set_absent(to, metric, why_not);
}

/* An efficiency from the time that is lost. */
static void set_loss(struct target to, enum lull_metric metric, double lost)
{
    set(to, metric, 1.0 - lost / to.sums->runtime);
}

static const char no_useful[] = "no useful time";
static const char needs_events[] = "needs events; there are sums only";

static void set_loss_if_known(struct target to, enum lull_metric metric, double lost)
{
    if (isnan(lost))
        set_absent(to, metric, needs_events);
    else
        set_loss(to, metric, lost);
}

static void additive(struct target to, const struct lull_pop_causes *causes)
{
    const struct sums *s = to.sums;
    double region = s->avg_parallel - s->avg_parallel_useful;
    double known = causes->imbalance + causes->schedule + causes->lock + causes->mpi;
    set(to, LULL_METRIC_PROCESS_EFFICIENCY, s->avg_not_mpi / s->runtime);
    set_loss(to, LULL_METRIC_PROCESS_LOAD_BALANCE, s->max_not_mpi - s->avg_not_mpi);
    set(to, LULL_METRIC_PROCESS_COMMUNICATION, s->max_not_mpi / s->runtime);
    set_loss(to, LULL_METRIC_THREAD_EFFICIENCY, s->avg_runtimes - s->avg_useful);
    set_loss(to, LULL_METRIC_OPENMP_REGION_EFFICIENCY, region);
    set_loss_if_known(to, LULL_METRIC_OPENMP_IMBALANCE, causes->imbalance);
    set_loss(to, LULL_METRIC_OPENMP_SCHEDULE, causes->schedule);
    set_loss(to, LULL_METRIC_OPENMP_LOCK, causes->lock);
    set_loss(to, LULL_METRIC_OPENMP_MPI, causes->mpi);
    set_loss_if_known(to, LULL_METRIC_OPENMP_REST, region - known);
    set_loss(to, LULL_METRIC_SERIAL_REGION_EFFICIENCY,
             s->avg_serial - (s->avg_useful - s->avg_parallel_useful));
    set_loss(to, LULL_METRIC_OUTSIDE_RUNTIMES, s->avg_outside);
    if (isnan(s->ideal)) {
        set_absent(to, LULL_METRIC_PROCESS_TRANSFER, s->no_ideal);
        set_absent(to, LULL_METRIC_PROCESS_SERIALISATION, s->no_ideal);
        return;
    }
    set(to, LULL_METRIC_PROCESS_TRANSFER, s->ideal / s->runtime);
    set_loss(to, LULL_METRIC_PROCESS_SERIALISATION, s->ideal - s->max_not_mpi);
}

/* The five rows of MPI, which follow each other in the table wherever they appear. */
static void mpi_rows(struct target to, enum lull_metric first)
{
    enum { PARALLEL, BALANCE, COMMUNICATION, TRANSFER, SERIALISATION };
    const struct sums *s = to.sums;
    set(to, first + PARALLEL, s->avg_not_mpi / s->runtime);
    set_ratio(to, first + BALANCE, s->avg_not_mpi, s->max_not_mpi, "no time outside MPI");
    set(to, first + COMMUNICATION, s->max_not_mpi / s->runtime);
    if (isnan(s->ideal)) {
        set_absent(to, first + TRANSFER, s->no_ideal);
        set_absent(to, first + SERIALISATION, s->no_ideal);
        return;
    }
    set(to, first + TRANSFER, s->ideal / s->runtime);
    set_ratio(to, first + SERIALISATION, s->max_not_mpi, s->ideal, "no time outside MPI");
}

/* Load balance and communication over `units` execution units. */
static void factors(struct target to, enum lull_metric balance, double avg, double max)
{
    set_ratio(to, balance, avg, max, no_useful);
    set(to, balance + 1, max / to.sums->runtime);
}

/* What MPI and the time outside the runtimes do not explain: three rows, the efficiency and its
 * load balance and communication, for one paradigm beside MPI. `avg` and `max` are useful times of
 * execution units, `avg_inside` and `max_inside` those of processes in user code and that
 * paradigm's runtime. */
static void rest_beside_mpi(struct target to, enum lull_metric first, double avg, double max,
                            double avg_inside, double max_inside)
{
    enum { PARALLEL, BALANCE, COMMUNICATION };
    set_ratio(to, first + PARALLEL, avg, avg_inside, no_useful);
    set_ratio(to, first + BALANCE, avg * max_inside, max * avg_inside, no_useful);
    set_ratio(to, first + COMMUNICATION, max, max_inside, no_useful);
}

static void multiplicative(struct target to)
{
    const struct sums *s = to.sums;
    factors(to, LULL_METRIC_LOAD_BALANCE, s->avg_useful, s->max_useful);
    mpi_rows(to, LULL_METRIC_MPI_PARALLEL_EFFICIENCY);
    set_ratio(to, LULL_METRIC_OUTSIDE_RUNTIMES_RATIO, s->avg_runtimes, s->avg_not_mpi,
              "no time outside MPI");
    rest_beside_mpi(to, LULL_METRIC_OPENMP_PARALLEL_EFFICIENCY, s->avg_useful, s->max_useful,
                    s->avg_runtimes, s->max_runtimes);
}

static void multiplicative_nag(struct target to)
{
    const struct sums *s = to.sums;
    double inside = s->avg_parallel_useful + s->avg_serial;
    mpi_rows(to, LULL_METRIC_NAG_MPI_PARALLEL_EFFICIENCY);
    set_ratio(to, LULL_METRIC_NAG_OUTSIDE_RUNTIMES, s->avg_runtimes, s->avg_not_mpi,
              "no time outside MPI");
    set_ratio(to, LULL_METRIC_NAG_THREAD_EFFICIENCY, s->avg_useful, s->avg_runtimes, no_useful);
    set_ratio(to, LULL_METRIC_NAG_REGION_EFFICIENCY, inside, s->avg_runtimes, no_useful);
    set_ratio(to, LULL_METRIC_NAG_SERIAL_EFFICIENCY, s->avg_useful, inside, no_useful);
}

static void mpi_only(struct target to)
{
    const struct sums *s = to.sums;
    for (int m = LULL_METRIC_MPI_ONLY_ADDITIVE_LOAD_BALANCE;
         m <= LULL_METRIC_MPI_ONLY_SERIALISATION; m++)
        set_absent(to, m, s->mpi_only ? s->no_ideal : "the run uses threads, OpenMP or devices");
    if (!s->mpi_only)
        return;
    set_loss(to, LULL_METRIC_MPI_ONLY_ADDITIVE_LOAD_BALANCE, s->max_useful - s->avg_useful);
    set(to, LULL_METRIC_MPI_ONLY_ADDITIVE_COMMUNICATION, s->max_useful / s->runtime);
    factors(to, LULL_METRIC_MPI_ONLY_LOAD_BALANCE, s->avg_useful, s->max_useful);
    if (isnan(s->ideal))
        return;
    set(to, LULL_METRIC_MPI_ONLY_ADDITIVE_TRANSFER, s->ideal / s->runtime);
    set_loss(to, LULL_METRIC_MPI_ONLY_ADDITIVE_SERIALISATION, s->ideal - s->max_useful);
    set(to, LULL_METRIC_MPI_ONLY_TRANSFER, s->ideal / s->runtime);
    set_ratio(to, LULL_METRIC_MPI_ONLY_SERIALISATION, s->max_useful, s->ideal, no_useful);
}

static lull_status check_devices(const struct lull_pop_input *input, struct lull_error *err)
{
    double most = input->runtime * (1.0 + ROUNDING);
    double mean = input->device_useful / input->n_devices;
    if (input->n_devices == 0 ||
        (mean >= 0.0 && mean <= input->device_max_useful * (1.0 + ROUNDING) &&
         input->device_max_useful <= input->device_max_busy && input->device_max_busy <= most))
        return LULL_OK;
    return lull_fail(err, LULL_ERR_RANGE,
                     "times of the devices contradict each other: mean %g s, largest %g s, "
                     "busy %g s, runtime %g s",
                     mean, input->device_max_useful, input->device_max_busy, input->runtime);
}

static void devices(struct target to, const struct lull_pop_input *input)
{
    const struct sums *s = to.sums;
    for (int m = LULL_METRIC_ALL_PARALLEL_EFFICIENCY; m <= LULL_METRIC_DEVICE_REMAINING_EFFICIENCY;
         m++)
        set_absent(to, m, "no devices");
    if (input->n_devices == 0)
        return;
    double n = input->n_devices;
    double avg = (s->sum_useful + input->device_useful) / (s->threads + n);
    double max = fmax(s->max_useful, input->device_max_useful);
    double alone = input->device_useful / n;
    double inside = s->avg_runtimes + s->avg_device;
    set(to, LULL_METRIC_ALL_PARALLEL_EFFICIENCY, avg / s->runtime);
    factors(to, LULL_METRIC_ALL_LOAD_BALANCE, avg, max);
    mpi_rows(to, LULL_METRIC_ALL_MPI_PARALLEL_EFFICIENCY);
    set_ratio(to, LULL_METRIC_ALL_OUTSIDE_RUNTIMES, inside, s->avg_not_mpi, "no time outside MPI");
    rest_beside_mpi(to, LULL_METRIC_ALL_DEVICE_EFFICIENCY, avg, max, inside, s->max_with_device);
    set(to, LULL_METRIC_DEVICE_PARALLEL_EFFICIENCY, alone / s->runtime);
    factors(to, LULL_METRIC_DEVICE_LOAD_BALANCE, alone, input->device_max_useful);
    set_ratio(to, LULL_METRIC_DEVICE_TRANSFER, input->device_max_useful, input->device_max_busy,
              no_useful);
    set(to, LULL_METRIC_DEVICE_ORCHESTRATION, input->device_max_busy / s->runtime);
    set(to, LULL_METRIC_DEVICE_MPI_PARALLEL_EFFICIENCY, s->avg_not_mpi / s->runtime);
    set_ratio(to, LULL_METRIC_DEVICE_OUTSIDE_RUNTIMES, inside, s->avg_not_mpi,
              "no time outside MPI");
    set_ratio(to, LULL_METRIC_DEVICE_REMAINING_EFFICIENCY, alone, inside, no_useful);
}

/* ---- scaling ------------------------------------------------------------------------------- */

static const char *counters_absent(const struct lull_pop_input *run,
                                   const struct lull_pop_input *reference, bool cycles)
{
    double here = cycles ? run->cycles : run->instructions;
    double there = cycles ? reference->cycles : reference->instructions;
    if (!(here > 0.0))
        return cycles ? "no cycle counter" : "no instruction counter";
    if (!(there > 0.0))
        return cycles ? "the reference has no cycle counter"
                      : "the reference has no instruction counter";
    return NULL;
}

static void set_unless(struct target to, enum lull_metric metric, const char *absent, double value)
{
    if (absent)
        set_absent(to, metric, absent);
    else
        set(to, metric, value);
}

static void scaling_rows(struct target to, const struct lull_pop_input *run,
                         const struct lull_pop_input *reference, const struct sums *ref,
                         enum lull_scaling scaling)
{
    const struct sums *s = to.sums;
    double growth = scaling == LULL_SCALING_WEAK ? s->threads / ref->threads : 1.0;
    const char *useful = s->sum_useful > 0.0 ? NULL : no_useful;
    if (!useful && !(ref->sum_useful > 0.0))
        useful = "the reference has no useful time";
    const char *instructions = counters_absent(run, reference, false);
    const char *cycles = counters_absent(run, reference, true);
    double computation = growth * ref->sum_useful / s->sum_useful;
    set(to, LULL_METRIC_SPEEDUP, growth * ref->runtime / s->runtime);
    set_unless(to, LULL_METRIC_COMPUTATION_SCALING, useful, computation);
    set_unless(to, LULL_METRIC_GLOBAL_EFFICIENCY, useful, s->avg_useful / s->runtime * computation);
    set_unless(to, LULL_METRIC_INSTRUCTION_SCALING, instructions,
               growth * reference->instructions / run->instructions);
    set_unless(to, LULL_METRIC_IPC_SCALING, instructions ? instructions : cycles,
               (run->instructions / run->cycles) / (reference->instructions / reference->cycles));
    set_unless(to, LULL_METRIC_FREQUENCY_SCALING, useful ? useful : cycles,
               (run->cycles / s->sum_useful) / (reference->cycles / ref->sum_useful));
}

static void no_scaling(struct target to)
{
    static const enum lull_metric rows[] = {
        LULL_METRIC_SPEEDUP,
        LULL_METRIC_GLOBAL_EFFICIENCY,
        LULL_METRIC_COMPUTATION_SCALING,
        LULL_METRIC_INSTRUCTION_SCALING,
        LULL_METRIC_IPC_SCALING,
        LULL_METRIC_FREQUENCY_SCALING,
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        set_absent(to, rows[i], "single run: nothing to compare with");
}

lull_status lull_pop_compute(const struct lull_pop_input *input,
                             const struct lull_pop_input *reference, enum lull_scaling scaling,
                             struct lull_metric_value *values, struct lull_error *err)
{
    struct sums sums, reference_sums;
    lull_status status = add_up_processes(input, &sums, err);
    if (status == LULL_OK)
        status = check_devices(input, err);
    if (status != LULL_OK)
        return status;
    if (reference) {
        status = add_up_processes(reference, &reference_sums, err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "reference");
    }
    struct target to = {values, &sums};
    set(to, LULL_METRIC_PARALLEL_EFFICIENCY, sums.avg_useful / sums.runtime);
    additive(to, &input->causes);
    multiplicative(to);
    multiplicative_nag(to);
    mpi_only(to);
    devices(to, input);
    if (reference)
        scaling_rows(to, input, reference, &reference_sums, scaling);
    else
        no_scaling(to);
    return LULL_OK;
}
