/* The levels of a metric over the runs of a series. */
#ifndef LULL_STUDY_HISTORY_LEVELS_H
#define LULL_STUDY_HISTORY_LEVELS_H

#include "study/history/history.h"

/* Runs between two changes. */
struct lull_history_level {
    uint32_t first, last; /* indices of entries that have the metric */
    uint32_t runs;
    double median;
};

/* Where a change is claimed although there is none: once in a hundred series. */
#define LULL_LEVEL_FALSE_ALARMS 0.01

/* In their order, in `arena`; returns their number, 0 where no run has the metric. */
uint32_t lull_history_levels(const struct lull_history *series, const char *metric,
                             struct lull_arena *arena, struct lull_history_level **ret_levels);

/* The values of a metric of the entries that have it, in their order, and which these are. */
uint32_t lull_history_values(const struct lull_history_entry *entries, uint32_t count,
                             const char *metric, struct lull_arena *arena, double **ret_values,
                             uint32_t **ret_indices);

/* Of values in any order; NAN of none. */
double lull_history_median(const double *values, uint32_t count, struct lull_arena *arena);

#endif
