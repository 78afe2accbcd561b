/* SPDX-License-Identifier: BSD-3-Clause */
/* The formulas. Averages over processes are weighted by their threads, without exception. */
#include "metrics/pop.h"

#include "metrics/breakdown.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_REFUSED 0.15

/* ==== the table of metrics ==================================================================== */

/* docs/metrics.md tells what each row means and what to do when it is low; the section "the
 * formulas" computes the values. */

/* The indices of lull_metric_defs, in its order. */
enum metric {
    LULL_METRIC_SPEEDUP,
    LULL_METRIC_GLOBAL_EFFICIENCY,
    LULL_METRIC_PARALLEL_EFFICIENCY,
    LULL_METRIC_PROCESS_EFFICIENCY,
    LULL_METRIC_PROCESS_LOAD_BALANCE,
    LULL_METRIC_PROCESS_COMMUNICATION,
    LULL_METRIC_PROCESS_TRANSFER,
    LULL_METRIC_PROCESS_SERIALISATION,
    LULL_METRIC_THREAD_EFFICIENCY,
    LULL_METRIC_OPENMP_REGION_EFFICIENCY,
    LULL_METRIC_OPENMP_IMBALANCE,
    LULL_METRIC_OPENMP_SCHEDULE,
    LULL_METRIC_OPENMP_LOCK,
    LULL_METRIC_OPENMP_MPI,
    LULL_METRIC_OPENMP_REST,
    LULL_METRIC_SERIAL_REGION_EFFICIENCY,
    LULL_METRIC_OUTSIDE_RUNTIMES,
    LULL_METRIC_LOAD_BALANCE,
    LULL_METRIC_COMMUNICATION_EFFICIENCY,
    LULL_METRIC_MPI_PARALLEL_EFFICIENCY,
    LULL_METRIC_MPI_LOAD_BALANCE,
    LULL_METRIC_MPI_COMMUNICATION,
    LULL_METRIC_MPI_TRANSFER,
    LULL_METRIC_MPI_SERIALISATION,
    LULL_METRIC_OUTSIDE_RUNTIMES_RATIO,
    LULL_METRIC_OPENMP_PARALLEL_EFFICIENCY,
    LULL_METRIC_OPENMP_LOAD_BALANCE,
    LULL_METRIC_OPENMP_COMMUNICATION,
    LULL_METRIC_NAG_MPI_PARALLEL_EFFICIENCY,
    LULL_METRIC_NAG_MPI_LOAD_BALANCE,
    LULL_METRIC_NAG_MPI_COMMUNICATION,
    LULL_METRIC_NAG_MPI_TRANSFER,
    LULL_METRIC_NAG_MPI_SERIALISATION,
    LULL_METRIC_NAG_OUTSIDE_RUNTIMES,
    LULL_METRIC_NAG_THREAD_EFFICIENCY,
    LULL_METRIC_NAG_REGION_EFFICIENCY,
    LULL_METRIC_NAG_SERIAL_EFFICIENCY,
    LULL_METRIC_MPI_ONLY_ADDITIVE_LOAD_BALANCE,
    LULL_METRIC_MPI_ONLY_ADDITIVE_COMMUNICATION,
    LULL_METRIC_MPI_ONLY_ADDITIVE_TRANSFER,
    LULL_METRIC_MPI_ONLY_ADDITIVE_SERIALISATION,
    LULL_METRIC_MPI_ONLY_LOAD_BALANCE,
    LULL_METRIC_MPI_ONLY_COMMUNICATION,
    LULL_METRIC_MPI_ONLY_TRANSFER,
    LULL_METRIC_MPI_ONLY_SERIALISATION,
    LULL_METRIC_ALL_PARALLEL_EFFICIENCY,
    LULL_METRIC_ALL_LOAD_BALANCE,
    LULL_METRIC_ALL_COMMUNICATION,
    LULL_METRIC_ALL_MPI_PARALLEL_EFFICIENCY,
    LULL_METRIC_ALL_MPI_LOAD_BALANCE,
    LULL_METRIC_ALL_MPI_COMMUNICATION,
    LULL_METRIC_ALL_MPI_TRANSFER,
    LULL_METRIC_ALL_MPI_SERIALISATION,
    LULL_METRIC_ALL_OUTSIDE_RUNTIMES,
    LULL_METRIC_ALL_DEVICE_EFFICIENCY,
    LULL_METRIC_ALL_DEVICE_LOAD_BALANCE,
    LULL_METRIC_ALL_DEVICE_COMMUNICATION,
    LULL_METRIC_DEVICE_PARALLEL_EFFICIENCY,
    LULL_METRIC_DEVICE_LOAD_BALANCE,
    LULL_METRIC_DEVICE_COMMUNICATION,
    LULL_METRIC_DEVICE_TRANSFER,
    LULL_METRIC_DEVICE_ORCHESTRATION,
    LULL_METRIC_DEVICE_MPI_PARALLEL_EFFICIENCY,
    LULL_METRIC_DEVICE_OUTSIDE_RUNTIMES,
    LULL_METRIC_DEVICE_REMAINING_EFFICIENCY,
    LULL_METRIC_DEVICE_COPYING, /* these are in the order of enum lull_device_loss */
    LULL_METRIC_DEVICE_EXCHANGING,
    LULL_METRIC_DEVICE_HOST,
    LULL_METRIC_DEVICE_MPI,
    LULL_METRIC_DEVICE_RUNTIME,
    LULL_METRIC_DEVICE_LAUNCH,
    LULL_METRIC_DEVICE_OTHER_DEVICE,
    LULL_METRIC_DEVICE_NO_WORK,
    LULL_METRIC_DEVICE_UNKNOWN,
    LULL_METRIC_DEVICE_COPY_OVERLAP,
    LULL_METRIC_DEVICE_EXCHANGE_OVERLAP,
    LULL_METRIC_HOST_OFFLOAD,
    LULL_METRIC_COMPUTATION_SCALING,
    LULL_METRIC_INSTRUCTION_SCALING,
    LULL_METRIC_IPC_SCALING,
    LULL_METRIC_FREQUENCY_SCALING,
    METRICS
};

/* clang-format off */
#define ROOT (-1)
#define BELOW(parent) LULL_METRIC_##parent
#define ROW(name, id_, label_, formula_, parent_, scheme_, split_, combine_, above_) \
    [LULL_METRIC_##name] = {.id = id_, .label = label_, .formula = formula_, .parent = parent_, \
                            .scheme = LULL_SCHEME_##scheme_, .split = split_, \
                            .combine = LULL_COMBINE_##combine_, .above_one = above_}

/* Why some rows may exceed 1. */
#define AGAINST_REFERENCE ""
#define CAUSES_OVERLAP "threads lose the same time by several of the causes above it"
#define EVENED_OUT "the units of the processes with much work are no busier than those of others, so " \
                   "that it takes back what stands as imbalance of processes"
#define BUSY_MEANWHILE "devices compute while their processes wait or communicate"

const struct lull_metric_def lull_metric_defs[] = {
    ROW(SPEEDUP, "speedup", "Speedup",
        "T_ref / T; weak scaling: x N / N_ref",
        ROOT, COMMON, 0, NONE, AGAINST_REFERENCE),
    ROW(GLOBAL_EFFICIENCY, "global_efficiency", "Global efficiency",
        "parallel efficiency x computation scaling",
        ROOT, COMMON, 0, NONE, AGAINST_REFERENCE),
    ROW(PARALLEL_EFFICIENCY, "parallel_efficiency", "Parallel efficiency",
        "avg U / T",
        BELOW(GLOBAL_EFFICIENCY), COMMON, 0, PRODUCT, NULL),
    ROW(PROCESS_EFFICIENCY, "process_efficiency", "Process efficiency",
        "avg_w W / T",
        BELOW(PARALLEL_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(PROCESS_LOAD_BALANCE, "process_load_balance", "Process load balance",
        "1 - (max W - avg_w W) / T",
        BELOW(PROCESS_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(PROCESS_COMMUNICATION, "process_communication", "Process communication",
        "max W / T",
        BELOW(PROCESS_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(PROCESS_TRANSFER, "process_transfer", "Process transfer",
        "T_id / T",
        BELOW(PROCESS_COMMUNICATION), ADDITIVE, 0, SUM, NULL),
    ROW(PROCESS_SERIALISATION, "process_serialisation", "Process serialisation",
        "1 - (T_id - max W) / T",
        BELOW(PROCESS_COMMUNICATION), ADDITIVE, 0, SUM, NULL),
    ROW(THREAD_EFFICIENCY, "thread_efficiency", "Thread efficiency",
        "1 - (avg_w O - avg U) / T",
        BELOW(PARALLEL_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(OPENMP_REGION_EFFICIENCY, "openmp_region_efficiency", "OpenMP region efficiency",
        "1 - avg_w(OMP - mean OU) / T",
        BELOW(THREAD_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(OPENMP_IMBALANCE, "openmp_imbalance", "Load imbalance",
        "1 - avg_w(sum over executions of max OU - mean OU) / T",
        BELOW(OPENMP_REGION_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(OPENMP_SCHEDULE, "openmp_schedule", "Scheduling, fork and join",
        "1 - (mean time inside regions) / T",
        BELOW(OPENMP_REGION_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(OPENMP_LOCK, "openmp_lock", "Critical, lock, ordered",
        "1 - (mean time inside regions) / T",
        BELOW(OPENMP_REGION_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(OPENMP_MPI, "openmp_mpi", "MPI inside regions",
        "1 - (mean time inside regions) / T",
        BELOW(OPENMP_REGION_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(OPENMP_REST, "openmp_rest", "Other loss inside regions",
        "1 - (region loss - the four above) / T",
        BELOW(OPENMP_REGION_EFFICIENCY), ADDITIVE, 0, SUM, CAUSES_OVERLAP),
    ROW(SERIAL_REGION_EFFICIENCY, "serial_region_efficiency", "Serial region efficiency",
        "1 - avg_w(SU - mean(U - OU)) / T; = 1 - avg_w(SU (1 - 1/t)) / T",
        BELOW(THREAD_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(OUTSIDE_RUNTIMES, "outside_runtimes", "Outside the runtimes",
        "1 - avg_w X / T",
        BELOW(PARALLEL_EFFICIENCY), ADDITIVE, 0, SUM, NULL),
    ROW(LOAD_BALANCE, "load_balance", "Load balance",
        "avg U / max U",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(COMMUNICATION_EFFICIENCY, "communication_efficiency", "Communication efficiency",
        "max U / T",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(MPI_PARALLEL_EFFICIENCY, "mpi_parallel_efficiency", "MPI parallel efficiency",
        "avg_w W / T",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE, 1, PRODUCT, NULL),
    ROW(MPI_LOAD_BALANCE, "mpi_load_balance", "MPI load balance",
        "avg_w W / max W",
        BELOW(MPI_PARALLEL_EFFICIENCY), MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(MPI_COMMUNICATION, "mpi_communication", "MPI communication efficiency",
        "max W / T",
        BELOW(MPI_PARALLEL_EFFICIENCY), MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(MPI_TRANSFER, "mpi_transfer", "MPI transfer",
        "T_id / T",
        BELOW(MPI_COMMUNICATION), MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(MPI_SERIALISATION, "mpi_serialisation", "MPI serialisation",
        "max W / T_id",
        BELOW(MPI_COMMUNICATION), MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(OUTSIDE_RUNTIMES_RATIO, "outside_runtimes_ratio", "Outside the runtimes",
        "avg_w O / avg_w W",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE, 1, PRODUCT, NULL),
    ROW(OPENMP_PARALLEL_EFFICIENCY, "openmp_parallel_efficiency", "OpenMP parallel efficiency",
        "parallel efficiency / (MPI parallel efficiency x outside) = avg U / avg_w O",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE, 1, PRODUCT, NULL),
    ROW(OPENMP_LOAD_BALANCE, "openmp_load_balance", "OpenMP load balance",
        "load balance / (avg_w O / max O)",
        BELOW(OPENMP_PARALLEL_EFFICIENCY), MULTIPLICATIVE, 0, PRODUCT, EVENED_OUT),
    ROW(OPENMP_COMMUNICATION, "openmp_communication", "OpenMP communication efficiency",
        "max U / max O",
        BELOW(OPENMP_PARALLEL_EFFICIENCY), MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(NAG_MPI_PARALLEL_EFFICIENCY, "nag_mpi_parallel_efficiency", "MPI parallel efficiency",
        "avg_w W / T",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_MPI_LOAD_BALANCE, "nag_mpi_load_balance", "MPI load balance",
        "avg_w W / max W",
        BELOW(NAG_MPI_PARALLEL_EFFICIENCY), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_MPI_COMMUNICATION, "nag_mpi_communication", "MPI communication efficiency",
        "max W / T",
        BELOW(NAG_MPI_PARALLEL_EFFICIENCY), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_MPI_TRANSFER, "nag_mpi_transfer", "MPI transfer",
        "T_id / T",
        BELOW(NAG_MPI_COMMUNICATION), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_MPI_SERIALISATION, "nag_mpi_serialisation", "MPI serialisation",
        "max W / T_id",
        BELOW(NAG_MPI_COMMUNICATION), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_OUTSIDE_RUNTIMES, "nag_outside_runtimes", "Outside the runtimes",
        "avg_w O / avg_w W",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_THREAD_EFFICIENCY, "nag_thread_efficiency", "Thread efficiency",
        "avg U / avg_w O",
        BELOW(PARALLEL_EFFICIENCY), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_REGION_EFFICIENCY, "nag_region_efficiency", "OpenMP region efficiency",
        "(avg OU + avg_w SU) / avg_w O",
        BELOW(NAG_THREAD_EFFICIENCY), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(NAG_SERIAL_EFFICIENCY, "nag_serial_efficiency", "Serial region efficiency",
        "avg U / (avg OU + avg_w SU)",
        BELOW(NAG_THREAD_EFFICIENCY), MULTIPLICATIVE_NAG, 0, PRODUCT, NULL),
    ROW(MPI_ONLY_ADDITIVE_LOAD_BALANCE, "mpi_only_additive_load_balance", "Load balance",
        "1 - (max U - avg U) / T",
        BELOW(PARALLEL_EFFICIENCY), MPI_ADDITIVE, 0, SUM, NULL),
    ROW(MPI_ONLY_ADDITIVE_COMMUNICATION, "mpi_only_additive_communication", "Communication efficiency",
        "max U / T",
        BELOW(PARALLEL_EFFICIENCY), MPI_ADDITIVE, 0, SUM, NULL),
    ROW(MPI_ONLY_ADDITIVE_TRANSFER, "mpi_only_additive_transfer", "Transfer",
        "T_id / T",
        BELOW(MPI_ONLY_ADDITIVE_COMMUNICATION), MPI_ADDITIVE, 0, SUM, NULL),
    ROW(MPI_ONLY_ADDITIVE_SERIALISATION, "mpi_only_additive_serialisation", "Serialisation",
        "1 - (T_id - max U) / T",
        BELOW(MPI_ONLY_ADDITIVE_COMMUNICATION), MPI_ADDITIVE, 0, SUM, NULL),
    ROW(MPI_ONLY_LOAD_BALANCE, "mpi_only_load_balance", "Load balance",
        "avg U / max U",
        BELOW(PARALLEL_EFFICIENCY), MPI_MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(MPI_ONLY_COMMUNICATION, "mpi_only_communication", "Communication efficiency",
        "max U / T",
        BELOW(PARALLEL_EFFICIENCY), MPI_MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(MPI_ONLY_TRANSFER, "mpi_only_transfer", "Transfer",
        "T_id / T",
        BELOW(MPI_ONLY_COMMUNICATION), MPI_MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(MPI_ONLY_SERIALISATION, "mpi_only_serialisation", "Serialisation",
        "max U / T_id",
        BELOW(MPI_ONLY_COMMUNICATION), MPI_MULTIPLICATIVE, 0, PRODUCT, NULL),
    ROW(ALL_PARALLEL_EFFICIENCY, "all_parallel_efficiency", "Parallel efficiency, cores and devices",
        "avg over threads and devices of U / T",
        ROOT, DEVICE, 0, NONE, NULL),
    ROW(ALL_LOAD_BALANCE, "all_load_balance", "Load balance",
        "avg U / max U",
        BELOW(ALL_PARALLEL_EFFICIENCY), DEVICE, 0, PRODUCT, NULL),
    ROW(ALL_COMMUNICATION, "all_communication", "Communication efficiency",
        "max U / T",
        BELOW(ALL_PARALLEL_EFFICIENCY), DEVICE, 0, PRODUCT, NULL),
    ROW(ALL_MPI_PARALLEL_EFFICIENCY, "all_mpi_parallel_efficiency", "MPI parallel efficiency",
        "avg_w W / T",
        BELOW(ALL_PARALLEL_EFFICIENCY), DEVICE, 1, PRODUCT, NULL),
    ROW(ALL_MPI_LOAD_BALANCE, "all_mpi_load_balance", "MPI load balance",
        "avg_w W / max W",
        BELOW(ALL_MPI_PARALLEL_EFFICIENCY), DEVICE, 0, PRODUCT, NULL),
    ROW(ALL_MPI_COMMUNICATION, "all_mpi_communication", "MPI communication efficiency",
        "max W / T",
        BELOW(ALL_MPI_PARALLEL_EFFICIENCY), DEVICE, 0, PRODUCT, NULL),
    ROW(ALL_MPI_TRANSFER, "all_mpi_transfer", "MPI transfer",
        "T_id / T",
        BELOW(ALL_MPI_COMMUNICATION), DEVICE, 0, PRODUCT, NULL),
    ROW(ALL_MPI_SERIALISATION, "all_mpi_serialisation", "MPI serialisation",
        "max W / T_id",
        BELOW(ALL_MPI_COMMUNICATION), DEVICE, 0, PRODUCT, NULL),
    ROW(ALL_OUTSIDE_RUNTIMES, "all_outside_runtimes", "Outside the runtimes",
        "avg_w(W - X + device runtime) / avg_w W",
        BELOW(ALL_PARALLEL_EFFICIENCY), DEVICE, 1, PRODUCT, NULL),
    ROW(ALL_DEVICE_EFFICIENCY, "all_device_efficiency", "Device parallel efficiency",
        "parallel efficiency / (MPI parallel efficiency x outside)",
        BELOW(ALL_PARALLEL_EFFICIENCY), DEVICE, 1, PRODUCT, BUSY_MEANWHILE),
    ROW(ALL_DEVICE_LOAD_BALANCE, "all_device_load_balance", "Device load balance",
        "load balance / (the same of O + device runtime)",
        BELOW(ALL_DEVICE_EFFICIENCY), DEVICE, 0, PRODUCT, EVENED_OUT),
    ROW(ALL_DEVICE_COMMUNICATION, "all_device_communication", "Device communication efficiency",
        "max U / max (O + device runtime)",
        BELOW(ALL_DEVICE_EFFICIENCY), DEVICE, 0, PRODUCT, BUSY_MEANWHILE),
    ROW(DEVICE_PARALLEL_EFFICIENCY, "device_parallel_efficiency", "Parallel efficiency, devices alone",
        "avg over devices of U / T",
        ROOT, DEVICE, 0, NONE, NULL),
    ROW(DEVICE_LOAD_BALANCE, "device_load_balance", "Load balance",
        "avg U / max U",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 0, PRODUCT, NULL),
    ROW(DEVICE_COMMUNICATION, "device_communication", "Communication efficiency",
        "max U / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 0, PRODUCT, NULL),
    ROW(DEVICE_TRANSFER, "device_transfer", "Data transfer",
        "max U / max busy",
        BELOW(DEVICE_COMMUNICATION), DEVICE, 0, PRODUCT, NULL),
    ROW(DEVICE_ORCHESTRATION, "device_orchestration", "Orchestration",
        "max busy / T",
        BELOW(DEVICE_COMMUNICATION), DEVICE, 0, PRODUCT, NULL),
    ROW(DEVICE_MPI_PARALLEL_EFFICIENCY, "device_mpi_parallel_efficiency", "MPI parallel efficiency",
        "avg_w W / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 1, PRODUCT, NULL),
    ROW(DEVICE_OUTSIDE_RUNTIMES, "device_outside_runtimes", "Outside the runtimes",
        "avg_w(W - X + device runtime) / avg_w W",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 1, PRODUCT, NULL),
    ROW(DEVICE_REMAINING_EFFICIENCY, "device_remaining_efficiency", "Device parallel efficiency",
        "parallel efficiency / (MPI parallel efficiency x outside)",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 1, PRODUCT, BUSY_MEANWHILE),
    ROW(DEVICE_COPYING, "device_copying", "Copies",
        "1 - avg over devices of copies alone / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_EXCHANGING, "device_exchanging", "Exchanges of NCCL",
        "1 - avg over devices of exchanges alone / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_HOST, "device_host", "Host",
        "1 - avg over devices of host / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_MPI, "device_mpi", "MPI",
        "1 - avg over devices of MPI / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_RUNTIME, "device_runtime", "Runtime",
        "1 - avg over devices of runtime / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_LAUNCH, "device_launch", "Launches",
        "1 - avg over devices of launch / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_OTHER_DEVICE, "device_other_device", "Other devices",
        "1 - avg over devices of other device / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_NO_WORK, "device_no_work", "End of the work",
        "1 - avg over devices of no work / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_UNKNOWN, "device_unknown", "Not known",
        "1 - avg over devices of not known / T",
        BELOW(DEVICE_PARALLEL_EFFICIENCY), DEVICE, 2, SUM, NULL),
    ROW(DEVICE_COPY_OVERLAP, "device_copy_overlap", "Copies beside kernels",
        "copies while a kernel runs / copies",
        ROOT, DEVICE, 0, NONE, NULL),
    ROW(DEVICE_EXCHANGE_OVERLAP, "device_exchange_overlap", "Exchanges of NCCL beside kernels",
        "exchanges while a kernel runs / exchanges",
        ROOT, DEVICE, 0, NONE, NULL),
    ROW(HOST_OFFLOAD, "host_offload_efficiency", "Host offload efficiency",
        "1 - time of CPU threads in the runtime of devices / in which they are not idle",
        ROOT, DEVICE, 0, NONE, NULL),
    ROW(COMPUTATION_SCALING, "computation_scaling", "Computation scaling",
        "sum U_ref / sum U; weak scaling: avg U_ref / avg U",
        BELOW(GLOBAL_EFFICIENCY), COMMON, 0, PRODUCT, AGAINST_REFERENCE),
    ROW(INSTRUCTION_SCALING, "instruction_scaling", "Instruction scaling",
        "I_ref / I; weak scaling: x N / N_ref",
        BELOW(COMPUTATION_SCALING), COMMON, 0, PRODUCT, AGAINST_REFERENCE),
    ROW(IPC_SCALING, "ipc_scaling", "IPC scaling",
        "(I / C) / (I_ref / C_ref)",
        BELOW(COMPUTATION_SCALING), COMMON, 0, PRODUCT, AGAINST_REFERENCE),
    ROW(FREQUENCY_SCALING, "frequency_scaling", "Frequency scaling",
        "(C / sum U) / (C_ref / sum U_ref)",
        BELOW(COMPUTATION_SCALING), COMMON, 0, PRODUCT, AGAINST_REFERENCE),
};

/* clang-format on */

static_assert(sizeof lull_metric_defs / sizeof lull_metric_defs[0] == METRICS,
              "one row per metric");

const int lull_metric_count = METRICS;

int lull_metric_find(const char *id)
{
    for (int i = 0; i < METRICS; i++) {
        if (strcmp(lull_metric_defs[i].id, id) == 0)
            return i;
    }
    return -1;
}

/* ==== numbers from a breakdown ================================================================ */

/* Takes from a breakdown the numbers that the formulas want, and what else is read off them. */

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

static void add_device(const struct lull_device_breakdown *device, struct lull_pop_input *input)
{
    if (device->absent) {
        input->no_devices = device->absent;
        return;
    }
    input->n_devices++;
    input->device_useful += seconds(device->kernel_ns);
    input->device_max_useful = fmax(input->device_max_useful, seconds(device->kernel_ns));
    input->device_max_busy = fmax(input->device_max_busy, seconds(device->busy_ns));
    input->device_copies += seconds(device->copy_ns);
    input->device_copies_beside += seconds(device->copy_beside_ns);
    input->device_exchanges += seconds(device->exchange_ns);
    input->device_exchanges_beside += seconds(device->exchange_beside_ns);
    for (int loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        input->device_lost[loss] += seconds(device->lost_ns[loss]);
}

/* A thread may compute for longer than its master is in user code and OpenMP, because the master
 * waits, communicates, or opens no region itself. Then that thread takes the master's place: first
 * in what the master spends outside the runtimes, then in MPI. `busiest` is its useful time inside
 * parallel regions. Neither part gets below what the threads computed in it on average. */
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

static void add_host(const struct lull_thread_breakdown *thread, struct lull_pop_input *input)
{
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        const double time =
            seconds(thread->times.ns[activity][0]) + seconds(thread->times.ns[activity][1]);
        input->host_busy += activity == LULL_IDLE ? 0 : time;
        input->host_runtime += activity == LULL_DEVICE ? time : 0;
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
        if (thread->kind == LULL_LOCATION_DEVICE)
            continue;
        if (thread->master)
            add_master(thread, &process);
        add_host(thread, input);
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

bool lull_pop_has_mpi(const struct lull_breakdown *breakdown)
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

/* Adds the losses of one parallel region, in seconds summed over the threads of its process. */
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

/* The same where there are no executions: sums over all of them, of which only the imbalance is not
 * known. */
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
    /* Without any MPI an ideal network changes nothing. */
    input->ideal_runtime = !lull_pop_has_mpi(breakdown)      ? input->runtime
                           : breakdown->ideal_runtime_ns > 0 ? seconds(breakdown->ideal_runtime_ns)
                                                             : NAN;
    input->ideal_absent = breakdown->ideal_absent;
    input->processes = processes;
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        add_process_input(breakdown, &breakdown->processes[p], input, processes);
    if (input->n_processes == 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: has no process with a CPU thread, expected one; lull info tells what "
                         "device streams ran",
                         breakdown->run);
    for (uint32_t i = 0; i < breakdown->n_devices; i++)
        add_device(&breakdown->devices[i], input);
    for (uint32_t i = 0; i < breakdown->n_parallels; i++)
        add_causes(breakdown, &breakdown->parallels[i], &input->causes);
    if (breakdown->from_sums)
        add_causes_of_threads(breakdown, &input->causes);
    divide_causes(&input->causes, count_threads(breakdown));
    input->instructions = sum_counter(breakdown, LULL_COUNTER_INSTRUCTIONS);
    input->cycles = sum_counter(breakdown, LULL_COUNTER_CYCLES);
    if (input->flush_share > FLUSH_REFUSED && input->flush > LULL_FLUSH_SHORT && !force)
        return lull_fail(
            err, LULL_ERR_RANGE,
            "%s: a thread lost %.1f %% of the time to the tracer writing its buffer; metrics "
            "of such a run mislead (the limit is %.0f %%)",
            breakdown->run, 100.0 * input->flush_share, 100.0 * FLUSH_REFUSED);
    *ret_input = input;
    return LULL_OK;
}

/* ---- parallel regions ------------------------------------------------------------------------ */

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

/* Adds sums over threads in seconds; they are divided by the time of all threads later. */
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

/* ---- weak or strong -------------------------------------------------------------------------- */

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

/* Strong scaling: the work stays, so that the instructions (without counters: the useful time)
 * stay, and each unit has 1/units of them. Weak scaling: the work grows with the units. The work is
 * taken to grow as units^x; x >= 1/2 is nearer to weak. */
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

/* ==== the formulas ============================================================================ */

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
    if (input->n_devices > 0 || input->no_devices)
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

/* ---- values ---------------------------------------------------------------------------------- */

struct target {
    struct lull_metric_value *values;
    const struct sums *sums;
};

static void set(struct target to, enum metric metric, double value)
{
    to.values[metric] = (struct lull_metric_value){.value = value};
}

static void set_absent(struct target to, enum metric metric, const char *why)
{
    to.values[metric] = (struct lull_metric_value){.absent = why};
}

static void set_ratio(struct target to, enum metric metric, double top, double bottom,
                      const char *why_not)
{
    if (bottom > 0.0)
        set(to, metric, top / bottom);
    else
        set_absent(to, metric, why_not);
}

/* An efficiency from the time that is lost. */
static void set_loss(struct target to, enum metric metric, double lost)
{
    set(to, metric, 1.0 - lost / to.sums->runtime);
}

static const char no_useful[] = "no useful time";
static const char needs_events[] = "needs events; there are sums only";

static void set_loss_if_known(struct target to, enum metric metric, double lost)
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
static void mpi_rows(struct target to, enum metric first)
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
static void factors(struct target to, enum metric balance, double avg, double max)
{
    set_ratio(to, balance, avg, max, no_useful);
    set(to, balance + 1, max / to.sums->runtime);
}

/* What MPI and the time outside the runtimes do not explain, as three rows for one paradigm beside
 * MPI: the efficiency, its load balance and its communication. `avg` and `max` are useful times of
 * execution units; `avg_inside` and `max_inside` are times of processes in user code and that
 * paradigm's runtime. */
static void rest_beside_mpi(struct target to, enum metric first, double avg, double max,
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

/* What devices lose, if that and their kernels make up T for each of them: not where processes were paused, or where
 * the windows of processes differ. */
static void device_losses(struct target to, const struct lull_pop_input *input)
{
    const double whole = to.sums->runtime * input->n_devices;
    double all = input->device_useful;
    for (int loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        all += input->device_lost[loss];
    for (int loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
        if (fabs(all - whole) <= ROUNDING * whole)
            set_loss(to, LULL_METRIC_DEVICE_COPYING + loss,
                     input->device_lost[loss] / input->n_devices);
        else
            set_absent(to, LULL_METRIC_DEVICE_COPYING + loss,
                       "devices were not all measured for the whole runtime");
}

static void devices(struct target to, const struct lull_pop_input *input)
{
    const struct sums *s = to.sums;
    for (int m = LULL_METRIC_ALL_PARALLEL_EFFICIENCY; m <= LULL_METRIC_HOST_OFFLOAD; m++)
        set_absent(to, m, input->no_devices ? input->no_devices : "no devices");
    if (input->n_devices == 0 || input->no_devices)
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
    device_losses(to, input);
    set_ratio(to, LULL_METRIC_DEVICE_COPY_OVERLAP, input->device_copies_beside,
              input->device_copies, "no copies");
    set_ratio(to, LULL_METRIC_DEVICE_EXCHANGE_OVERLAP, input->device_exchanges_beside,
              input->device_exchanges, "no exchanges of NCCL");
    set_ratio(to, LULL_METRIC_HOST_OFFLOAD, input->host_busy - input->host_runtime,
              input->host_busy, "the host is never busy");
}

/* ---- scaling --------------------------------------------------------------------------------- */

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

static void set_unless(struct target to, enum metric metric, const char *absent, double value)
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
    static const enum metric rows[] = {
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
