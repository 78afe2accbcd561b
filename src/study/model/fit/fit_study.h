/* Laws of scaling over a table of measurements, or over runs: every series fitted, one of them in
 * front. */
#ifndef LULL_STUDY_MODEL_FIT_STUDY_H
#define LULL_STUDY_MODEL_FIT_STUDY_H

#include "model/fit/fit.h"

struct lull_fit_part {
    const struct lull_fit_series *series;
    struct lull_fit *fit; /* NULL: could not be fitted */
    const char *why_not;
};

struct lull_fit_study {
    const struct lull_fit_table *table;
    const struct lull_fit *fit; /* of the series in front */
    struct lull_fit_part
        *parts; /* all series of its metric, and for runs all; one: none beside it */
    size_t n_parts;
    size_t stops_first; /* the part whose efficiency falls below one half first; n_parts: none does
                           where the data bear it */
};

/* Fits the series `front` and those beside it that are about the same. */
lull_status lull_fit_study_make(const struct lull_fit_table *table, size_t front,
                                const struct lull_fit_options *options, struct lull_arena *arena,
                                struct lull_fit_study *ret_study, struct lull_error *err);

#endif
