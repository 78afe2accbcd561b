/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads from recorded runs what a derived model (model/derive/derived.h) is made of. */
#ifndef LULL_STUDY_MODEL_DERIVE_STUDY_H
#define LULL_STUDY_MODEL_DERIVE_STUDY_H

#include "model/derive/derived.h"
#include "study/model/program_study.h"

/* Reads two or more runs with different numbers of processes or sizes of the problem. Regions that
 * take 1 % or more of the time of some run are kept. Results live in `arena`. Fails with
 * LULL_ERR_RANGE for fewer than two different runs and for runs without events. */
lull_status lull_derive_read(const struct lull_derive_wish *wish,
                             const struct lull_runs_options *options, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_measured_runs *ret_measured,
                             struct lull_error *err);

#endif
