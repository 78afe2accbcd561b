/* How long threads had a core, of a run that was recorded with the counter processor-time: what a
 * computation takes by itself, however many others share its core. */
#ifndef LULL_STUDY_MODEL_PROCESSOR_TIME_H
#define LULL_STUDY_MODEL_PROCESSOR_TIME_H

#include "study/runs.h"

struct lull_processor_time {
    bool is_known;       /* else the run does not tell, and all is 0 */
    const double *waits; /* [n_regions of the trace] s of useful time directly inside in which
                            threads had no core, of all threads */
    const struct lull_trace *trace;
};

/* Of the whole run, what is between MPI_Init and MPI_Finalize, or the life of an application; not
 * known of another window.
 * Results live in `arena`. Fails as lull_trace_read_sums does. */
lull_status lull_processor_time_read(const struct lull_run *run, struct lull_arena *arena,
                                     struct lull_processor_time *ret_time, struct lull_error *err);

/* Seconds of the waits in regions of a name. */
double lull_processor_waits(const struct lull_processor_time *time, const char *region);

/* Useful seconds of a thread of the run's breakdown: with a core where that is known. */
double lull_useful_seconds(const struct lull_processor_time *time,
                           const struct lull_breakdown *breakdown, uint32_t thread);

#endif
