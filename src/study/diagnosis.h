/* SPDX-License-Identifier: BSD-3-Clause */
/* The diagnosis of a run (diagnose/diagnose.h): collects evidence in the one reading of the run,
 * makes findings of it, and prices these by replays. */
#ifndef LULL_STUDY_DIAGNOSIS_H
#define LULL_STUDY_DIAGNOSIS_H

#include "diagnose/diagnose.h"
#include "machine/machine.h"
#include "study/notices.h"
#include "study/runs.h"

/* What a diagnosis needs of a run's events. It has no options, and its state is for
 * lull_diagnosis_make. */
extern const struct lull_analysis lull_evidence_analysis;

struct lull_hot_loops; /* study/model/hot_loops.h */

struct lull_diagnosis {
    struct lull_finding *findings; /* [count]; what may be worth most comes first */
    uint32_t count;
    uint32_t cores;     /* CPU threads of the run */
    const char *priced; /* why there are no prices, a sentence; NULL: there are prices */
    /* The gain if all findings that have a price were fixed at once, since single gains do not add
     * up. It is absent with fewer than two such findings. */
    struct lull_finding_gain together;
};

struct lull_diagnosis_options {
    bool no_prices;                     /* no replays */
    const struct lull_machine *machine; /* that it ran on; NULL: not known */
    const struct lull_hot_loops *hot;   /* its hot loops; NULL: not known */
};

/* Makes the findings, where the run has events with what the evidence analysis has found. `field`
 * and `reference` may be NULL. The runs have their values. The result lives in `arena`, and has no
 * prices yet. */
void lull_diagnosis_make(const struct lull_run *run, const struct lull_run *reference,
                         enum lull_scaling scaling, const struct lull_wave_field *field,
                         const struct lull_diagnosis_options *options, struct lull_arena *arena,
                         struct lull_diagnosis *ret_diagnosis);

/* Prices the findings: replays the run with the fix of each of the first 12 that have one, and with
 * all these fixes together, and sorts the findings by what they are worth. A finding that has no
 * price then says why in its gain: its fix cannot be replayed, the run has no events or more operations
 * than LULL_REPLAY_CHECK_MOST (study/replay/replayed_run.h), or a replay failed. Where a team has
 * read the run, all members call it together and each makes some of the replays; members other than
 * the first pass NULL as `diagnosis`. Fails only where a member has gone. */
lull_status lull_diagnosis_price(const struct lull_run *run,
                                 const struct lull_diagnosis_options *options,
                                 struct lull_diagnosis *diagnosis, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
