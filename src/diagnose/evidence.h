/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence: what is known of a run when the rules are asked. Rules read nothing else. Members that
 * are NULL are not known, for example where the run has sums only, no messages, or no run to
 * compare with. */
#ifndef LULL_DIAGNOSE_EVIDENCE_H
#define LULL_DIAGNOSE_EVIDENCE_H

#include "activity/reading.h"
#include "diagnose/messages.h"
#include "diagnose/work.h"
#include "metrics/pop.h"
#include "wait/wait.h"
#include "wave/wave.h"

/* A finding below this share of the run's core time (runtime x CPU threads) is not told, because
 * any run loses as much. */
#define LULL_FINDING_LEAST 0.01

/* The memory bandwidth of a node by the number of cores that use it at the same time: more cores
 * first get more together, until the memory is saturated. */
struct lull_memory_point {
    uint32_t cores;
    double bandwidth; /* B/s of all of them */
};
struct lull_memory_curve {
    const struct lull_memory_point *points; /* ascending in cores, each once */
    uint32_t count;
};

/* B/s that each of so many cores gets: between points by a straight line, beyond the last as much
 * as there; NAN below the first. */
double lull_memory_of_core(const struct lull_memory_curve *curve, uint32_t cores);

/* A loop of which a model says how long an iteration takes on a machine. */
struct lull_evidence_loop {
    const char *name;     /* "heat.c:155-162" */
    const char *function; /* "step" */
    const char *file;
    uint32_t line;
    int64_t useful_ns;        /* of all threads */
    double of_useful;         /* the share of it in the useful time of all threads */
    double measured, allowed; /* s: an iteration, and the same by the model */
    double of_limit;          /* allowed / measured */
    double
        of_limit_most; /* the same by the lower end of the interval that samples give for the time */
    const char *limit;       /* "memory", "port HWPort0" */
    const char *compilation; /* a sentence: how it was compiled is in the way; NULL: it is not */
    bool other_machine;      /* the model is of another machine than the run */
};

struct lull_evidence {
    const char *path; /* of the run, ready for a shell */
    const struct lull_trace *trace;
    const struct lull_reading
        *reading; /* of which all below is; NULL: all of the first application */
    const struct lull_breakdown *breakdown; /* always there */
    const struct lull_pop_input *input;
    const struct lull_wait_result *waits;
    const struct lull_work *work;
    const struct lull_messages *messages;
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph; /* of the field, with `waves` */
    const struct lull_waves *waves;
    const struct lull_metric_value *values; /* [lull_metric_count] */
    /* Another run with which this one is compared. */
    const struct lull_breakdown *reference;
    const struct lull_work *reference_work; /* NULL: only sums are known of it */
    const char *reference_name;
    enum lull_scaling scaling;
    const struct lull_memory_curve *memory; /* of a machine file */
    const struct lull_evidence_loop *loops; /* [n_loops], the most useful time first */
    uint32_t n_loops;
};

/* The application that is diagnosed. */
static inline uint32_t lull_evidence_application(const struct lull_evidence *evidence)
{
    return lull_reading_of(evidence->reading)->application;
}

/* Whether a process, an index in the trace, belongs to that application. */
static inline bool lull_evidence_has(const struct lull_evidence *evidence, uint32_t process)
{
    return evidence->trace->processes[process].application == lull_evidence_application(evidence);
}

/* The core time of the run: runtime x CPU threads, ns. */
int64_t lull_evidence_core_ns(const struct lull_evidence *evidence);

/* The index in the trace of the process with that rank, or LULL_NONE; and the process of that index
 * in the breakdown, or NULL. */
uint32_t lull_evidence_process_of_rank(const struct lull_evidence *evidence, uint32_t rank);
const struct lull_process_breakdown *lull_evidence_breakdown(const struct lull_evidence *evidence,
                                                             uint32_t process);

/* The useful time of a location of `trace`, of which `breakdown` is, ns; 0: it has none. */
double lull_evidence_useful_ns(const struct lull_trace *trace,
                               const struct lull_breakdown *breakdown, uint32_t location);
/* The part of its useful time in which a location had a core, 0 .. 1; 1: it always had one, or the
 * scheduler did not tell. What a thread was ready to run and had no core for (struct lull_cores) falls
 * on useful time as on all of the time that it ran or was ready to: a thread that waits in MPI without
 * a core does that in MPI, one that sleeps needs none. Useful time that samples have seen with a core
 * is not part of it (`sampled` may be NULL). */
double lull_evidence_core_part(const struct lull_trace *trace,
                               const struct lull_breakdown *breakdown,
                               const struct lull_sampled *sampled, uint32_t location);

/* Time of all CPU threads in an activity, ns. */
int64_t lull_evidence_activity_ns(const struct lull_evidence *evidence, unsigned activity);
/* The region with most time in that activity; NULL: no region has any. */
const struct lull_region_breakdown *lull_evidence_region_of(const struct lull_evidence *evidence,
                                                            unsigned activity);

/* A metric by its id, "ipc_scaling"; NAN: it is not known. */
double lull_evidence_value(const struct lull_evidence *evidence, const char *id);

/* How a process computes beside the median of others, as ratios: 1 is the same; NAN: no
 * counters. */
struct lull_evidence_speed {
    double useful; /* time */
    double instructions, ipc, frequency;
};
/* The ratios for the first thread of `process`, or for the mean of all processes on `node` where
 * `process` is LULL_NONE, beside the median of the processes elsewhere. */
struct lull_evidence_speed lull_evidence_speed(const struct lull_evidence *evidence,
                                               uint32_t process, uint32_t node);
/* What the ratios say, as a sentence in `arena`: "It executes 1.35 x the instructions: more
 * work." */
const char *lull_evidence_cause(const struct lull_evidence_speed *speed, struct lull_arena *arena);

#endif
