/* Evidence: what is known of a run when its rules are asked. Rules read nothing else, and nothing
 * twice. What is NULL is not known: sums only, no messages, a single run. */
#ifndef LULL_DIAGNOSE_EVIDENCE_H
#define LULL_DIAGNOSE_EVIDENCE_H

#include "diagnose/messages.h"
#include "diagnose/work.h"
#include "metrics/pop.h"
#include "wait/wait.h"
#include "wave/wave.h"

/* A finding below this share of the run's core time (runtime x CPU threads) is not told: that much
 * is in any run. */
#define LULL_FINDING_LEAST 0.01

/* How fast the memory of a node is, by the cores that use it at the same time: more of them first
 * get more together, until it is saturated. */
struct lull_memory_point {
    uint32_t cores;
    double bandwidth; /* B/s of all of them */
};
struct lull_memory_curve {
    const struct lull_memory_point *points; /* by cores, each once */
    uint32_t count;
};

/* B/s that each of so many cores gets; between points on a straight line, beyond the last as much
 * as there; NAN below the first. */
double lull_memory_of_core(const struct lull_memory_curve *curve, uint32_t cores);

struct lull_evidence {
    const char *path; /* of the run, ready for a shell */
    const struct lull_trace *trace;
    uint32_t application;
    const struct lull_breakdown *breakdown; /* always there */
    const struct lull_pop_input *input;
    const struct lull_wait_result *waits;
    const struct lull_work *work;
    const struct lull_messages *messages;
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph; /* of the field, with `waves` */
    const struct lull_waves *waves;
    const struct lull_metric_value *values; /* [lull_metric_count] */
    /* Of several runs: the one that this is compared with, which is another one. */
    const struct lull_breakdown *reference;
    const char *reference_name;
    enum lull_scaling scaling;
    const struct lull_memory_curve *memory; /* of a machine file */
};

/* Runtime x CPU threads, ns. */
int64_t lull_evidence_core_ns(const struct lull_evidence *evidence);

/* The process in the trace of a rank, or LULL_NONE; its place in the breakdown likewise. */
uint32_t lull_evidence_process_of_rank(const struct lull_evidence *evidence, uint32_t rank);
const struct lull_process_breakdown *lull_evidence_breakdown(const struct lull_evidence *evidence,
                                                             uint32_t process);

/* Time of all CPU threads in an activity, ns. */
int64_t lull_evidence_activity_ns(const struct lull_evidence *evidence, unsigned activity);
/* The region with most of it; NULL: no region has any. */
const struct lull_region_breakdown *lull_evidence_region_of(const struct lull_evidence *evidence,
                                                            unsigned activity);

/* A metric by its id, "ipc_scaling"; NAN: it is not known. */
double lull_evidence_value(const struct lull_evidence *evidence, const char *id);

/* Computation of one process beside the median of others: 1 is the same; NAN: no counters. */
struct lull_evidence_speed {
    double useful; /* time */
    double instructions, ipc, frequency;
};
/* Of the first thread of `process`, or of the mean of all on `node` where process is LULL_NONE,
 * beside the median of the processes elsewhere. */
struct lull_evidence_speed lull_evidence_speed(const struct lull_evidence *evidence,
                                               uint32_t process, uint32_t node);
/* What that says, a sentence in `arena`: "It executes 1.35 x the instructions: more work." */
const char *lull_evidence_cause(const struct lull_evidence_speed *speed, struct lull_arena *arena);

#endif
