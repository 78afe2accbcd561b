/* A joint pass: one reading of a run for all that want to see its steps: the breakdown, the runtime
 * on an ideal network, and companions. */
#ifndef LULL_STUDY_JOINT_PASS_H
#define LULL_STUDY_JOINT_PASS_H

#include "activity/pass.h"
#include "metrics/breakdown.h"
#include "replay/ideal/ideal.h"
#include "team/division.h"
#include "trace/trace.h"

/* ==== joint pass ============================================================================== */

enum { LULL_JOINT_PASS_MOST = 8 };

/* What is set up before a trace is read. */
struct lull_joint_pass {
    const struct lull_trace *trace;
    unsigned workers; /* of the pass */
    struct lull_pass_options pass;
    struct lull_ideal_options ideal;
    bool wants_ideal;
    bool is_first; /* of a team, or alone */
    struct lull_consumer consumers[LULL_JOINT_PASS_MOST];
    uint32_t n_consumers;
};

/* Another analysis that takes part: it adds consumers, and sets of the options what nobody else
 * needs (marks, visits, the messages of the ideal runtime). */
struct lull_companion {
    lull_status (*join)(void *context, struct lull_joint_pass *joint, struct lull_error *err);
    void *context;
};

/* Reads a trace of which there are events, in one pass. `ideal` is NULL, or its application, span
 * and whether it is wanted at all; a companion (NULL: none) may want it, too. Unless a companion
 * wants its messages, a second pass follows for the ideal runtime where threads beside the masters
 * communicate. The results live in `arena`; *ret_ideal is NULL if it was not wanted, and both where
 * another member of a team has them (options->division). */
lull_status lull_joint_pass_run(const struct lull_trace *trace,
                                const struct lull_breakdown_options *options,
                                const struct lull_ideal_options *ideal,
                                const struct lull_companion *companion, struct lull_arena *arena,
                                struct lull_breakdown **ret_breakdown,
                                struct lull_ideal_result **ret_ideal, struct lull_error *err);

/* ==== division ================================================================================ */

/* A run that a team reads, each member its processes. */

/* Opens a run, on all members: fails, too, where one of them does not see it, or sees another.
 * NULL: alone. */
lull_status lull_division_open(struct lull_team *team, const char *path,
                               struct lull_trace **ret_trace, struct lull_error *err);
/* Neighbouring processes of an application (LULL_NONE: of all), whole nodes where there are as many
 * as members, by threads. Where the events are one sequence, the first reads them for all
 * (relay.h), as long as `arena` lives. NULL for a team of one. */
lull_status lull_division_of_run(struct lull_team *team, const struct lull_trace *trace,
                                 uint32_t application, struct lull_arena *arena,
                                 struct lull_division **ret_division, struct lull_error *err);
/* Once the members have read a run: the quirks of all come to the first. Fails where nobody has
 * read a location without damage. */
lull_status lull_division_gather_quirks(const struct lull_division *division,
                                        const struct lull_trace *trace, struct lull_error *err);

#endif
