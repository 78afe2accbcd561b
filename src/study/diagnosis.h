/* The diagnosis of a run (diagnose/diagnose.h), with evidence from the one reading of it, and the
 * prices of its findings from replays. */
#ifndef LULL_STUDY_DIAGNOSIS_H
#define LULL_STUDY_DIAGNOSIS_H

#include "diagnose/diagnose.h"
#include "machine/machine.h"
#include "study/notices.h"
#include "study/runs.h"

/* What is collected of one run while it is read. */
struct lull_diagnosis_evidence {
    struct lull_work_collector *work;
    struct lull_messages_collector *messages;
};

/* Takes part in a pass. Ends with lull_diagnosis_release in either case. */
lull_status lull_diagnosis_join(struct lull_diagnosis_evidence *evidence,
                                struct lull_joint_pass *joint, struct lull_error *err);
/* Behind a pass that a team has shared, by all of its members: the first has all then. */
lull_status lull_diagnosis_gather(struct lull_diagnosis_evidence *evidence, struct lull_team *team,
                                  struct lull_error *err);
void lull_diagnosis_release(struct lull_diagnosis_evidence *evidence);

struct lull_diagnosis {
    struct lull_finding *findings; /* what may be worth most comes first */
    uint32_t count;
    uint32_t cores;     /* CPU threads of the run */
    const char *priced; /* why there are no prices, a sentence; NULL: there are */
    /* If all that have a price were fixed at once: gains do not add. Absent with fewer than two. */
    struct lull_finding_gain together;
};

struct lull_diagnosis_options {
    uint32_t application;
    bool no_prices;                     /* no replays */
    unsigned workers;                   /* 0: all */
    const struct lull_machine *machine; /* that it ran on; NULL: not known */
};

/* `evidence` may be empty, where there were no events; `field` and `reference` may be NULL. The
 * runs have their values. The result lives in `arena`, and has no prices yet. */
void lull_diagnosis_make(const struct lull_run *run, const struct lull_run *reference,
                         enum lull_scaling scaling, const struct lull_diagnosis_evidence *collected,
                         const struct lull_wave_field *field,
                         const struct lull_diagnosis_options *options, struct lull_arena *arena,
                         struct lull_diagnosis *ret_diagnosis);

/* Replays what the findings suppose, LULL_DIAGNOSIS_REPLAYS at most, and all of that together, and
 * sorts the findings by what they are worth. What has no price then says why in its gain: a fix
 * that cannot be replayed, a run without events or with more steps than LULL_REPLAY_CHECK_MOST
 * (study/replay/replayed_run.h), a replay that failed. Where a team has read the run, all members call
 * it together and each replays some; others than the first have no diagnosis (NULL). Fails only
 * where a member has gone. */
lull_status lull_diagnosis_price(const struct lull_run *run,
                                 const struct lull_diagnosis_options *options,
                                 struct lull_diagnosis *diagnosis, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
