/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a study: a trace or a saved profile, and what was found in it. */
#ifndef LULL_STUDY_RUN_H
#define LULL_STUDY_RUN_H

#include "metrics/by_file.h"
#include "metrics/pop.h"
#include "study/joint_pass.h"
#include "team/division.h"
#include "wait/wait.h"

struct lull_critical_parts;

struct lull_run {
    const char *path;             /* as the user gave it */
    uint32_t order;               /* of the run among the operands */
    const char *name;             /* heads its column; different from those of other runs */
    struct lull_trace *trace;     /* NULL: a saved profile */
    struct lull_reading *reading; /* what was analysed, and by whom; NULL: a saved profile */
    bool main_part;               /* that is the part between MPI_Init and MPI_Finalize */
    int64_t life_ns;              /* how long its application lived, where the life of one of
                                           several applications was analysed; else 0 */
    struct lull_breakdown *breakdown;
    struct lull_ideal_result *ideal; /* NULL: it was not asked for */
    const struct lull_critical_parts
        *path_parts;                /* of the critical path in `ideal` (study/critical_path.h);
                                                 NULL: that was not asked for */
    struct lull_file_uses *files;   /* NULL: they were not asked for, or there are no events */
    struct lull_wait_result *waits; /* NULL: they were not asked for, or there are only sums */
    struct lull_pop_input *input;
    uint32_t processes, threads;       /* threads: all CPU threads */
    uint32_t min_threads, max_threads; /* of a process */
    struct lull_metric_value *values;  /* [lull_metric_count], once computed */
    struct lull_asked *asked;          /* [n_asked]: what its events were read for */
    uint32_t n_asked;
    struct lull_replay_base *replay_base; /* what its replays share (study/replay/replayed_run.h);
                                             NULL: it was not read */
};

/* The division of the team that has read the run, where others than its first member have processes;
 * else NULL. */
const struct lull_division *lull_run_division(const struct lull_run *run);

/* The state of an analysis that the options asked for. It lives until lull_runs_close. NULL: the run
 * has no events. */
void *lull_run_state(const struct lull_run *run, const struct lull_analysis *analysis);

/* The locations of threads other than masters that send, receive or take part in collective
 * operations, [n_locations] as a replay wants them; NULL: there are none. */
const bool *lull_run_callers(const struct lull_run *run, struct lull_arena *arena);

/* A short name for the head of a column: "runs/epoch_4proc.prv.gz" is epoch_4proc;
 * "scorep-8/traces.otf2" is scorep-8, because all archives of that tracer have the same file name.
 */
const char *lull_run_name(const char *path, struct lull_arena *arena);

/* "8 x 2": processes and threads of each; "8 x 1-4" where they differ. */
const char *lull_run_shape(const struct lull_run *run, struct lull_arena *arena);

#endif
