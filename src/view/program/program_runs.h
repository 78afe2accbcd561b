/* Internal to view: predictions beside what was measured. */
#ifndef LULL_VIEW_PROGRAM_PROGRAM_RUNS_H
#define LULL_VIEW_PROGRAM_PROGRAM_RUNS_H

#include "report/document.h"
#include "study/model/program_study.h"

/* The table "against": runs and their terms. */
void lull_program_add_runs(struct lull_document *document, const struct lull_program_study *study,
                           struct lull_arena *arena);

/* The columns "low" and "high"; what they say of a prediction, in `column` and the next one. */
void lull_program_add_interval(struct lull_table *table);
void lull_program_set_interval(struct lull_table *table, uint32_t row, uint32_t column,
                               double seconds, double uncertainty);

/* A value of a parameter; a number of messages. */
struct lull_cell lull_parameter_cell(const struct lull_model_parameter *parameter, double value);
struct lull_cell lull_times_cell(double number);

#endif
