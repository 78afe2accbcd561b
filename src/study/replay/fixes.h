/* SPDX-License-Identifier: BSD-3-Clause */
/* Fixes: how long a run would take if single things were different, found by replays that run side
 * by side; each member of a team makes some of them.
 *
 * A what-if may have to learn something of the run first. What-ifs that ask for the same regions
 * learn it together, in one pass over the run. Memory: that of as many replays as there are
 * workers, and what each what-if keeps (replay/what_if/what_if.h). */
#ifndef LULL_STUDY_REPLAY_FIXES_H
#define LULL_STUDY_REPLAY_FIXES_H

#include "study/replay/replayed_run.h"

/* What is supposed to be different in one replay. */
struct lull_fix {
    const struct lull_what_if_options *what_if; /* NULL: computations stay as they are */
    const struct lull_network *network; /* with the placement of the run; NULL: the measured one */
};

/* Why no replay of the run can be made, as the end of a sentence that begins "cannot be replayed:
 * "; NULL: one can be made. */
const char *lull_fixes_absent(const struct lull_run *run);

/* Replays the run with each fix. The members of a team that has read the run (lull_run_division) call
 * this together, with the same fixes, and the first has the result. ret_runtimes[n] gets the runtimes in ns, in the order of the
 * fixes, the same for any number of workers and members. *ret_replayed gets the runtime in ns of a
 * replay in which nothing is different; by how much it differs from the measured runtime is the
 * error of the others. On failure nothing is written, and the status is that of the first fix that
 * fails, in lull_what_if_create or in its replay; all members of a team fail then. */
lull_status lull_fixes_replay(const struct lull_run *run, const struct lull_fix *fixes, uint32_t n,
                              int64_t *ret_runtimes, int64_t *ret_replayed, struct lull_error *err);

#endif
