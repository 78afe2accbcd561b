/* Prices of findings, by replays. Internal to study. */
#ifndef LULL_STUDY_DIAGNOSIS_PRICES_H
#define LULL_STUDY_DIAGNOSIS_PRICES_H

#include "study/diagnosis/diagnosis.h"

/* Replays what the findings suppose, LULL_DIAGNOSIS_REPLAYS at most, and all of that together. What
 * has no price then says why in its gain: a fix that cannot be replayed, a run without events or
 * with more steps than LULL_REPLAY_CHECK_MOST (study/replay/measured.h), a replay that failed. */
void lull_diagnosis_price(const struct lull_run *run, const struct lull_diagnosis_options *options,
                          struct lull_diagnosis *diagnosis, struct lull_arena *arena);

#endif
