/* Internal to view: predictions beside what was measured. */
#ifndef LULL_VIEW_PROGRAM_PROGRAM_RUNS_H
#define LULL_VIEW_PROGRAM_PROGRAM_RUNS_H

#include "report/document.h"
#include "study/model/program_study.h"

/* The table "against": runs and their terms. */
void lull_program_add_runs(struct lull_document *document, const struct lull_program_study *study,
                           struct lull_arena *arena);

/* A value of a parameter; a number of messages. */
struct lull_cell lull_parameter_cell(const struct lull_model_parameter *parameter, double value);
struct lull_cell lull_times_cell(double number);

#endif
