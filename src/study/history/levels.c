#include "study/history/levels.h"

#include "stats/quantile.h"
#include "stats/shift.h"

#include <math.h>
#include <string.h>

uint32_t lull_history_values(const struct lull_history_entry *entries, uint32_t count,
                             const char *metric, struct lull_arena *arena, double **ret_values,
                             uint32_t **ret_indices)
{
    uint32_t found = 0;
    *ret_values = lull_arena_zero(arena, count + 1, sizeof(**ret_values));
    *ret_indices = lull_arena_zero(arena, count + 1, sizeof(**ret_indices));
    for (uint32_t i = 0; i < count; i++) {
        const double value = lull_history_value_of(&entries[i], metric);
        if (!isfinite(value))
            continue;
        (*ret_values)[found] = value;
        (*ret_indices)[found++] = i;
    }
    return found;
}

double lull_history_median(const double *values, uint32_t count, struct lull_arena *arena)
{
    if (!count)
        return NAN;
    double *sorted = lull_arena_alloc(arena, count * sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    lull_sort(sorted, count);
    return lull_median(sorted, count);
}

uint32_t lull_history_levels(const struct lull_history *series, const char *metric,
                             struct lull_arena *arena, struct lull_history_level **ret_levels)
{
    double *values;
    uint32_t *indices;
    const uint32_t count =
        lull_history_values(series->entries, series->count, metric, arena, &values, &indices);
    size_t *places = lull_arena_zero(arena, count + 1, sizeof(*places));
    const size_t changes = lull_change_points(values, count, LULL_LEVEL_FALSE_ALARMS, places);
    struct lull_history_level *levels = lull_arena_zero(arena, changes + 1, sizeof(*levels));
    for (size_t i = 0; count && i <= changes; i++) {
        const uint32_t begin = i ? (uint32_t)places[i - 1] : 0;
        const uint32_t end = i < changes ? (uint32_t)places[i] : count;
        levels[i] = (struct lull_history_level){
            .first = indices[begin],
            .last = indices[end - 1],
            .runs = end - begin,
            .median = lull_history_median(values + begin, end - begin, arena),
        };
    }
    *ret_levels = levels;
    return count ? (uint32_t)changes + 1 : 0;
}
