/* Prices of findings, by replays. Internal to study. */
#ifndef LULL_STUDY_DIAGNOSIS_PRICES_H
#define LULL_STUDY_DIAGNOSIS_PRICES_H

#include "study/diagnosis/diagnosis.h"

/* Replays what the findings suppose, LULL_DIAGNOSIS_REPLAYS at most, and all of that together. A
 * fix that cannot be replayed says why in the gain. Runs with more steps than
 * LULL_REPLAY_CHECK_MOST (study/replay/measured.h) get no prices. Fails where the run cannot be
 * read. */
lull_status lull_diagnosis_price(const struct lull_run *run,
                                 const struct lull_diagnosis_options *options,
                                 struct lull_diagnosis *diagnosis, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
