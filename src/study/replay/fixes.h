/* Fixes: how long a run would take if single things were different, by replays that run side by
 * side, of a team some on each member.
 *
 * What the what-ifs have to learn of the run first is learned once for all that ask for the same
 * regions: one pass over the run for them together. Memory: that of as many replays as there are
 * workers, and what each what-if keeps (replay/what_if/what_if.h). */
#ifndef LULL_STUDY_REPLAY_FIXES_H
#define LULL_STUDY_REPLAY_FIXES_H

#include "study/replay/replayed_run.h"

/* What is supposed to be different in one replay. */
struct lull_fix {
    const struct lull_what_if_options *what_if; /* NULL: computations stay as they are */
    const struct lull_network *network; /* with the placement of the run; NULL: the measured one */
};

struct lull_fixes_options {
    uint32_t application;
    unsigned workers;                     /* threads; 0: as many as there are processors */
    const struct lull_measured *measured; /* of a pass over this run, concluded ... */
    const struct lull_network *network;   /* ... with this result; both NULL: another pass makes
                                             them */
    /* Whose members all call it together, with the same fixes: the first has the result. NULL: this
     * process replays alone. Not with `measured`. */
    const struct lull_division *division;
};

/* Why no replay of the run can be made, to go behind "cannot be replayed: "; NULL: it can. */
const char *lull_fixes_absent(const struct lull_run *run);

/* ret_runtimes[n]: ns of each fix, in their order, the same for any number of workers and members.
 * *ret_replayed: ns of the replay in which nothing is different; how much that differs from the
 * measured runtime is the error of the others. Nothing is written on failure: with the status of
 * the first fix that fails, which is that of lull_what_if_create or of a replay; of a team it fails
 * on all members then. */
lull_status lull_fixes_replay(const struct lull_run *run, const struct lull_fixes_options *options,
                              const struct lull_fix *fixes, uint32_t n, int64_t *ret_runtimes,
                              int64_t *ret_replayed, struct lull_error *err);

#endif
