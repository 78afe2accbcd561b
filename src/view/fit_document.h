/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents and the chart of `lull fit`. */
#ifndef LULL_VIEW_FIT_DOCUMENT_H
#define LULL_VIEW_FIT_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/model/fit_study.h"
#include "study/notices.h"

struct lull_fit_show {
    const double (*at)[LULL_FIT_PARAMETERS]; /* [n_at]: where predictions are wanted */
    size_t n_at;      /* 0: a fit of one parameter is predicted at doublings of the largest measured
                         value, as far as the data bear it */
    bool extrapolate; /* predict also what the data do not bear */
};

/* "lull-fit/1". Predictions that the data do not bear are absent, with the reason; notices tell it,
 * too. */
struct lull_document *lull_fit_document(const struct lull_fit_study *study,
                                        const struct lull_fit_show *show,
                                        struct lull_notices *notices, struct lull_arena *arena);

/* "lull-fit-list/1": the laws. */
struct lull_document *lull_fit_list(struct lull_arena *arena);

/* Measurements, the chosen law, and the interval of a further measurement, from the smallest x to
 * the last prediction. NULL where there are several parameters. */
const struct lull_chart *lull_fit_chart(const struct lull_fit_study *study,
                                        const struct lull_fit_show *show, struct lull_arena *arena);

#endif
