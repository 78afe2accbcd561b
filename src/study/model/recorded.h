/* What recorded runs say about regions that a program model names. */
#ifndef LULL_STUDY_MODEL_RECORDED_H
#define LULL_STUDY_MODEL_RECORDED_H

#include "model/program/program_model.h"
#include "study/runs.h"

struct lull_recorded_reader {
    const struct lull_runs_options *options; /* of all runs */
    struct lull_notices *notices;
};

/* For lull_model_set_reader; `context` is a struct lull_recorded_reader. Reads the run from begin
 * to end, and the time of each process's master inside of the region. */
lull_status lull_recorded_region(void *context, const char *run, const char *region,
                                 struct lull_region_time *ret_time, struct lull_error *err);

#endif
