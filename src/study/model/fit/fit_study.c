#include "study/model/fit/fit_study.h"

#include "study/model/fit/fit_measured.h"

#include <math.h>
#include <string.h>

/* ---- the fits ------------------------------------------------------------------------------- */

static double last_measured(const struct lull_fit_part *part)
{
    return part->series->points[part->series->count - 1].y;
}

/* Of parts that stop at the same place the one that takes longest. */
static void find_first_stop(struct lull_fit_study *study, struct lull_arena *arena)
{
    double first = INFINITY;
    study->stops_first = study->n_parts;
    if (study->table->n_params > 1 || strcmp(study->table->params[0], LULL_FIT_SIZE) == 0)
        return;
    for (size_t i = 0; i < study->n_parts; i++) {
        const struct lull_fit_part *part = &study->parts[i];
        if (!part->fit || !*part->series->region || part->series->kind == LULL_FIT_QUANTITY)
            continue;
        double half = lull_fit_turning(part->fit, lull_fit_reach(part->fit, arena)).half;
        bool same = isfinite(first) && fabs(half - first) <= 1e-9 * first;
        if ((same && last_measured(part) > last_measured(&study->parts[study->stops_first])) ||
            (!same && half < first)) {
            first = half;
            study->stops_first = i;
        }
    }
}

lull_status lull_fit_study_make(const struct lull_fit_table *table, size_t front,
                                const struct lull_fit_options *options, struct lull_arena *arena,
                                struct lull_fit_study *ret_study, struct lull_error *err)
{
    const struct lull_fit_series *first = &table->series[front];
    struct lull_fit *fit;
    struct lull_fit_study study = {.table = table};
    lull_status status =
        lull_fit_series_fit(first, table->params, table->n_params, options, arena, &fit, err);
    if (status != LULL_OK)
        return status;
    study.fit = fit;
    study.parts = lull_arena_zero(arena, table->n_series, sizeof *study.parts);
    for (size_t i = 0; i < table->n_series; i++) {
        const struct lull_fit_series *series = &table->series[i];
        struct lull_error why;
        struct lull_fit_part part = {.series = series, .fit = series == first ? fit : NULL};
        if (series != first && strcmp(series->metric, first->metric) != 0 &&
            strcmp(series->metric, "exclusive time") != 0)
            continue;
        if (!part.fit && lull_fit_series_fit(series, table->params, table->n_params, options, arena,
                                             &part.fit, &why) != LULL_OK)
            part.why_not = lull_arena_strdup(arena, why.text);
        study.parts[study.n_parts++] = part;
    }
    find_first_stop(&study, arena);
    *ret_study = study;
    return LULL_OK;
}
