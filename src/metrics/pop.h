/* SPDX-License-Identifier: BSD-3-Clause */
/* The POP efficiency metrics: numbers in, numbers out.
 *
 * Sources: "Hybrid metrics" of the POP centre of excellence (additive and multiplicative scheme)
 * and the POP co-design glossary. Notation (times in seconds):
 *
 *     T     runtime
 *     T_id  runtime on an ideal network
 *     U     useful time of a thread
 *     SU    useful time of a master outside OpenMP
 *     OMP   time of a master inside parallel regions
 *     O     SU + OMP
 *     X     time of a master outside MPI and OpenMP that is not useful (I/O, flush, tracer,
 *           unaccounted)
 *     OU    useful time of a thread inside parallel regions
 *     t, N  threads of a process, threads in all
 *
 * X has a line of its own ("Outside the runtimes"), so that I/O and tracer time is blamed neither
 * on MPI nor on OpenMP; where X = 0 every formula is the published one. */
#ifndef LULL_METRICS_POP_H
#define LULL_METRICS_POP_H

#include "metrics/breakdown.h"

#include <stdbool.h>
#include <stdint.h>

/* One process; times in seconds. */
struct lull_pop_process {
    uint32_t threads;
    double serial_useful;   /* SU */
    double parallel;        /* OMP */
    double other;           /* X, with `device` */
    double device;          /* part of X: the master in an accelerator's runtime */
    double useful;          /* sum over threads of U */
    double max_useful;      /* largest U of a thread */
    double parallel_useful; /* sum over threads of OU */
};

/* Where the OpenMP region inefficiency comes from: means over processes, weighted by their threads,
 * in s. */
struct lull_pop_causes {
    double imbalance; /* sum over executions of (max_t OU - avg_t OU); NaN: not known */
    double schedule, lock, mpi;
};

#define LULL_FLUSH_WARNING 0.10
/* Flushing of a thread that took no more than so many s is only warned of: a run of which that is a
 * large share is so short that being preempted once, for a few ms, disturbs it as much. */
#define LULL_FLUSH_SHORT 0.010

struct lull_pop_input {
    double runtime;           /* T > 0 */
    double ideal_runtime;     /* T_id; NaN: not known */
    const char *ideal_absent; /* why not; NULL: there was no replay */
    uint32_t n_processes;
    const struct lull_pop_process *processes;
    struct lull_pop_causes causes;
    /* sums over useful time of all threads; NaN where there is no such counter */
    double instructions, cycles;
    /* The largest share of the runtime that a CPU thread spent while the tracer wrote its buffer;
     * above LULL_FLUSH_WARNING the user should be told. */
    double flush_share, flush; /* and that time of the thread, s */
    /* Devices, 0: there are none. How long at least one kernel ran on a device: summed over devices, and the largest;
     * and the largest time in which at least one kernel or copy ran on one. */
    uint32_t n_devices;
    const char *no_devices; /* why nothing is known of some of them; NULL: all are known */
    double device_useful, device_max_useful, device_max_busy;
    /* Sums over devices: copies and exchanges, and of them those beside a kernel. */
    double device_copies, device_copies_beside, device_exchanges, device_exchanges_beside;
    /* Sums over CPU threads: in which they were not idle, and of it in the runtime of devices. */
    double host_busy, host_runtime;
    double device_lost[LULL_DEVICE_LOSSES]; /* sums over devices */
};

/* Whether the schemes for MPI alone do not apply: a process has several threads, or one thread and
 * time inside OpenMP parallel regions, or there are devices. */
bool lull_pop_is_hybrid(const struct lull_pop_input *input);

enum lull_scheme {
    LULL_SCHEME_COMMON,         /* global and parallel efficiency, computation scaling */
    LULL_SCHEME_ADDITIVE,       /* NAG: inefficiencies of children add up to the parent's */
    LULL_SCHEME_MULTIPLICATIVE, /* BSC: efficiencies of children multiply to the parent's */
    LULL_SCHEME_MULTIPLICATIVE_NAG,
    LULL_SCHEME_MPI_ADDITIVE, /* the two original schemes, for runs without OpenMP */
    LULL_SCHEME_MPI_MULTIPLICATIVE,
    LULL_SCHEME_DEVICE,
    LULL_SCHEMES
};

enum lull_combine {
    LULL_COMBINE_NONE,    /* a root, or for information only */
    LULL_COMBINE_PRODUCT, /* parent = product of the group */
    LULL_COMBINE_SUM      /* 1 - parent = sum over the group of (1 - child) */
};

/* The trees of metrics as data: the tables print them and the property tests check them. Parents
 * come before their children; the order is that of printing. The trees of the schemes hang below
 * "parallel_efficiency" of the common part. A group is the children of one parent with the same
 * scheme and split, and makes up its parent completely. The multiplicative tree, for example,
 * splits the parallel efficiency once by factor (load balance, communication: the original POP
 * model over all cores) and once by programming model. */
struct lull_metric_def {
    const char *id;        /* "parallel_efficiency": key in documents, stable */
    const char *label;     /* "Parallel efficiency" */
    const char *formula;   /* for documentation and JSON */
    int parent;            /* index or -1 */
    uint8_t scheme;        /* enum lull_scheme */
    uint8_t split;         /* number of its group among its parent's */
    uint8_t combine;       /* enum lull_combine: how its group makes the parent */
    const char *above_one; /* why it may exceed 1; "": because it compares with another run; NULL:
                              it cannot */
};

extern const struct lull_metric_def lull_metric_defs[];
extern const int lull_metric_count;
int lull_metric_find(const char *id); /* -1 if unknown */

struct lull_metric_value {
    double value;
    const char *absent; /* why there is no value ("no cycle counter"); NULL: value is good */
};

enum lull_scaling { LULL_SCALING_STRONG, LULL_SCALING_WEAK };

/* Fills values[lull_metric_count]. `reference` may be `input` itself; NULL: a single run (scaling
 * metrics are absent). LULL_ERR_RANGE names the fault when the input contradicts itself:
 * T_id below the longest time of a master outside MPI, T_id > T (both by more than rounding), times
 * that are negative or exceed the runtime, no process. */
lull_status lull_pop_compute(const struct lull_pop_input *input,
                             const struct lull_pop_input *reference, enum lull_scaling scaling,
                             struct lull_metric_value *values, struct lull_error *err);

/* Whether any thread has time in MPI. */
bool lull_pop_has_mpi(const struct lull_breakdown *breakdown);

/* Makes the input from a breakdown; the arrays live in `arena`. T_id is T for a run without any
 * MPI. For others it is what the breakdown has. LULL_ERR_RANGE when nothing was recorded (runtime
 * 0), and, unless `force`, when flushing took more than FLUSH_REFUSED (pop.c) of the time of a
 * thread and more than LULL_FLUSH_SHORT. */
lull_status lull_pop_from_breakdown(const struct lull_breakdown *breakdown, bool force,
                                    struct lull_arena *arena, struct lull_pop_input **ret_input,
                                    struct lull_error *err);

/* One parallel region over all processes: what it costs and why. All are shares of the runtime of
 * all threads; `loss` over all regions adds up to 1 - "openmp_region_efficiency". */
struct lull_pop_parallel {
    const char *name;
    uint64_t executions;
    double duration; /* time of the masters inside, thread-weighted */
    double loss, imbalance, schedule, lock, mpi, rest;
};
/* Largest loss first; in `arena`. Returns their number. */
uint32_t lull_pop_parallels(const struct lull_breakdown *breakdown, struct lull_arena *arena,
                            struct lull_pop_parallel **ret_parallels);

/* The evidence for weak or strong scaling between two runs: growth of each number, run / reference.
 * `units` is the growth of the number of threads. */
struct lull_scaling_evidence {
    double units, instructions, runtime, mean_useful; /* instructions NaN without counters */
    enum lull_scaling guess;
};
void lull_scaling_guess(const struct lull_pop_input *run, const struct lull_pop_input *reference,
                        struct lull_scaling_evidence *ret_evidence);

#endif
