/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at a run while it is recorded: its metrics so far and since an earlier look, and in which
 * calls its threads are. The metrics are those that the run would have if its program died at this
 * moment: the run is opened and read from its begin for each look. */
#ifndef LULL_STUDY_LOOK_H
#define LULL_STUDY_LOOK_H

#include "study/runs.h"

/* A thread that is in a call, since some time in ns of the run. */
struct lull_looked_call {
    uint32_t location, region;
    int64_t since;
};

struct lull_look {
    /* One run each, with its values; `lately` has none before a second look, or where nothing was
     * recorded since the first. Both have the same trace. */
    struct lull_runs all, lately;
    int64_t until; /* ns: the last that was recorded */
    bool has_now;
    int64_t now;           /* with it: the present, ns of the run */
    bool is_over;          /* all threads have ended, or their processes are gone */
    const uint8_t *living; /* [n_processes], enum lull_living; of those that have ended in an
                                 orderly way LULL_LIVING_OVER */
    uint32_t n_processes[LULL_LIVING_OVER + 1]; /* how many of each */
    /* Threads of processes that are not over, those that have been in their call longest first. */
    const struct lull_looked_call *calls;
    uint32_t n_calls;
    double seconds; /* that the look took */
};

/* `since`: the `until` of an earlier look; negative: there was none. The look lives in `arena` and
 * ends with lull_look_close, whether this fails or not. */
lull_status lull_look_take(const char *path, const struct lull_runs_options *options, int64_t since,
                           struct lull_notices *notices, struct lull_arena *arena,
                           struct lull_look *ret_look, struct lull_error *err);
void lull_look_close(struct lull_look *look);

#endif
