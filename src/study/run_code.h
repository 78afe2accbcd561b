/* SPDX-License-Identifier: BSD-3-Clause */
/* In which code of its program a run computed: the analysis of its samples, and tables of functions,
 * lines and loops. */
#ifndef LULL_STUDY_RUN_CODE_H
#define LULL_STUDY_RUN_CODE_H

#include "metrics/code_table.h"
#include "study/run.h"

/* The analysis of where in the code useful time was spent. Its options are lull_code_options. The result
 * lives in the arena of the pass; it is NULL on members of a team other than the first. */
extern const struct lull_analysis lull_code_analysis;
struct lull_code_options {
    bool loops;    /* find the loops of the places, too */
    uint32_t bins; /* of time, as for lull_code_create */
};
struct lull_code_state {
    const struct lull_code_options *options;
    struct lull_code_collector *collector;
    struct lull_code_times *code;
};

/* What the analysis has found of a run; NULL: nothing of useful time, and *ret_absent says why, and how
 * it would be known. The run has been asked for the analysis. */
const struct lull_code_times *lull_run_code(const struct lull_run *run, struct lull_arena *arena,
                                            const char **ret_absent);

/* The table of a run for which lull_run_code has something. Its calls have waits where these were asked
 * for. Fails with LULL_ERR_MEMORY. */
lull_status lull_run_code_table(const struct lull_run *run, enum lull_code_level level,
                                struct lull_arena *arena, struct lull_code_table *ret_table,
                                struct lull_error *err);

#endif
