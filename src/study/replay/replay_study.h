/* A measured run, its replay on the network that its messages show, and what it would have been if
 * something were different. */
#ifndef LULL_STUDY_REPLAY_REPLAY_STUDY_H
#define LULL_STUDY_REPLAY_REPLAY_STUDY_H

#include "study/replay/against.h"
#include "study/replay/replayed.h"
#include "study/replay/supposition.h"
#include "study/runs.h"

/* The run at one point of a sweep of networks. */
struct lull_supposed_point {
    const char *network; /* name of its class */
    int64_t runtime;     /* ns */
};

struct lull_replay_study {
    struct lull_runs runs; /* "measured", "replayed" and, unless swept or nothing was supposed,
                              "what if"; with their values */
    struct lull_network measured;   /* the network, as the messages of the trace show it */
    const struct lull_sweep *sweep; /* of several points; NULL: none */
    const struct lull_supposed_point *points; /* [sweep->n_points] */
    struct lull_replayed replayed, supposed;  /* what the runs stand on */
    bool unshared;                            /* a replay that the first of a team made alone */
    struct lull_against *against;             /* NULL: nothing to compare with */
    const char *const *words;                 /* of the supposition */
};

/* Reads, replays and computes everything; results live in `arena`. Errors name the file. Ends with
 * lull_replay_study_close in either case. */
lull_status lull_replay_study_make(const char *path, const struct lull_supposition *supposition,
                                   const struct lull_study_progress *progress,
                                   struct lull_notices *notices, struct lull_arena *arena,
                                   struct lull_replay_study *ret_study, struct lull_error *err);
void lull_replay_study_close(struct lull_replay_study *study);

#endif
