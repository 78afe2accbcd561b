/* When the masters of a run came to marks of their own, and how long they had been outside of MPI
 * until then: what noise is found in, and what messages take. */
#ifndef LULL_STUDY_MODEL_MARKS_H
#define LULL_STUDY_MODEL_MARKS_H

#include "model/derive/disturbance.h"
#include "study/runs.h"

/* One pass over the run. A mark is a message to the process that the first one went to, or, where
 * nobody sends, the end of a call of the collective operation that the first rank calls most.
 * ret_marks[run->processes] live in `arena`. */
lull_status lull_marks_find(const struct lull_run *run, unsigned workers, struct lull_arena *arena,
                            struct lull_measured_marks **ret_marks, struct lull_error *err);

#endif
