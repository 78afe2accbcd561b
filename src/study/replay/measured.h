/* What a replay of a measured run has to know of it, found while the run is read, and how well the
 * network that its messages show explains its runtime. */
#ifndef LULL_STUDY_REPLAY_MEASURED_H
#define LULL_STUDY_REPLAY_MEASURED_H

#include "study/notices.h"
#include "study/replay/replayed.h"
#include "study/runs.h"

struct lull_measured {
    struct lull_survey *survey;
    struct lull_network_samples *samples;
    struct lull_eager_evidence *evidence;
    struct lull_collective_costs *collectives;
};

/* Takes part in a pass over a run, with its ideal runtime. Ends with lull_measured_release in
 * either case. */
lull_status lull_measured_join(struct lull_measured *measured, uint32_t application,
                               struct lull_joint_pass *joint, struct lull_error *err);
void lull_measured_release(struct lull_measured *measured);

/* Behind a pass that a team has shared, by all of its members: the first has all then. What is NULL
 * nobody has. */
lull_status lull_measured_gather(struct lull_measured *measured, struct lull_team *team,
                                 struct lull_error *err);

/* Behind the pass, once: the network that the messages of the run show, in `arena`. */
lull_status lull_measured_conclude(struct lull_measured *measured, uint32_t application,
                                   struct lull_arena *arena, struct lull_network *ret_network,
                                   struct lull_error *err);

/* All of that for a run that is open, by reading it once more: the part of it that was analysed, by
 * `division` together (NULL: by one), whose members all know then what is found. Of the options,
 * application and workers matter. *ret_callers: as lull_run_callers has them, in `arena`. Ends with
 * lull_measured_release in either case. */
lull_status lull_measured_read(const struct lull_run *run, const struct lull_runs_options *options,
                               const struct lull_division *division, struct lull_arena *arena,
                               struct lull_measured *ret_measured, struct lull_network *ret_network,
                               const bool **ret_callers, struct lull_error *err);

/* The replay of all on the measured network, as a wish. `callers`: as lull_run_callers has them. */
struct lull_replay_wish lull_measured_wish(const struct lull_measured *measured,
                                           const struct lull_run *run, uint32_t application,
                                           const struct lull_network *network, const bool *callers);

/* How much longer the replay takes than the run, as a share of the run; NaN: not known. */
double lull_replay_difference(const struct lull_breakdown *breakdown);

/* Up to which share of the runtime a replay may miss it without a word, and up to how many steps of
 * the ideal runtime a run is usually replayed to know that, which takes seconds. */
#define LULL_REPLAY_MISSES_MOST 0.05
#define LULL_REPLAY_CHECK_MOST  2000000

/* Replays a run that has an ideal runtime on the network that its messages show, and notes in its
 * breakdown how long it takes then, or why no replay can be had; both are told by notices, where
 * the replay misses the runtime by more than LULL_REPLAY_MISSES_MOST. Reads the run once more, but
 * not where the ideal network would save less than that share: a replay on a real one lies between
 * them. By all members of a team together, of which the first has the breakdown. Fails only where
 * the run cannot be read, or a member has gone. */
lull_status lull_measured_check(struct lull_run *run, const struct lull_runs_options *options,
                                struct lull_notices *notices, struct lull_arena *arena,
                                struct lull_error *err);

#endif
