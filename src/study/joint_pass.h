/* A joint pass: one reading of a run for all analyses that want to see its steps, which are the
 * breakdown, the runtime on an ideal network, and companions. And its division: how the members of
 * a team open the run together, and which processes each of them reads. */
#ifndef LULL_STUDY_JOINT_PASS_H
#define LULL_STUDY_JOINT_PASS_H

#include "activity/pass.h"
#include "metrics/breakdown.h"
#include "replay/ideal/ideal.h"
#include "team/division.h"
#include "trace/trace.h"

/* ==== the joint pass ========================================================================== */

enum { LULL_JOINT_PASS_MOST = 8 };

/* What is set up before a trace is read. */
struct lull_joint_pass {
    const struct lull_trace *trace;
    unsigned workers; /* of the pass */
    struct lull_pass_options pass;
    struct lull_ideal_options ideal;
    bool wants_ideal;
    bool is_first; /* this process is the first member of its team, or reads alone */
    struct lull_consumer consumers[LULL_JOINT_PASS_MOST];
    uint32_t n_consumers;
};

/* Another analysis that takes part. Its `join` adds consumers to the joint pass, and sets those
 * options of it that nobody else needs: marks, visits, the messages of the ideal runtime. */
struct lull_companion {
    lull_status (*join)(void *context, struct lull_joint_pass *joint, struct lull_error *err);
    void *context;
};

/* Reads a trace that has events, in one pass. `ideal` NULL: this caller does not want the ideal
 * runtime; a companion (NULL: none) may still want it. The pass presumes that only the masters of
 * processes communicate; where other threads do, too, a second pass follows for the ideal runtime.
 * Nothing is presumed where a companion wants the messages of the ideal runtime. The results live
 * in `arena`. *ret_ideal is NULL if it was not wanted; both results are NULL where another member
 * of the team has them (options->division). */
lull_status lull_joint_pass_run(const struct lull_trace *trace,
                                const struct lull_breakdown_options *options,
                                const struct lull_ideal_options *ideal,
                                const struct lull_companion *companion, struct lull_arena *arena,
                                struct lull_breakdown **ret_breakdown,
                                struct lull_ideal_result **ret_ideal, struct lull_error *err);

/* ==== a run that a team reads ================================================================= */

/* Opens a run on all members of a team (NULL: in this process alone). Fails on all where one of
 * them does not see the run or sees another one. */
lull_status lull_division_open(struct lull_team *team, const char *path,
                               struct lull_trace **ret_trace, struct lull_error *err);
/* Divides the processes of an application (LULL_NONE: of all) among the members of a team. Each
 * member gets neighbouring processes, and whole nodes where there are at least as many nodes as
 * members, so that members have about the same number of threads. Where the events of the run are
 * one sequence (trace/scan.h), the first member reads them and passes them on to all others, as
 * long as `arena` lives. *ret_division is NULL for a team of one. */
lull_status lull_division_of_run(struct lull_team *team, const struct lull_trace *trace,
                                 uint32_t application, struct lull_arena *arena,
                                 struct lull_division **ret_division, struct lull_error *err);
/* After the members have read a run: gives the quirks that they met to the first. Fails where no
 * member has read any location without damage. */
lull_status lull_division_gather_quirks(const struct lull_division *division,
                                        const struct lull_trace *trace, struct lull_error *err);

#endif
