/* SPDX-License-Identifier: BSD-3-Clause */
/* The document and the chart of `lull model program`. */
#ifndef LULL_VIEW_PROGRAM_DOCUMENT_H
#define LULL_VIEW_PROGRAM_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/model/program_study.h"

/* "lull-model-program/1": parameters, terms or sweep, where the limit changes, what matters most,
 * and, if the study has them, calibration and comparison with runs. */
struct lull_document *lull_program_document(const struct lull_program_study *study,
                                            const struct lull_notices *notices,
                                            struct lull_arena *arena);

enum lull_program_drawing {
    LULL_DRAW_USUAL, /* speedup where the sweep is over processes, else time */
    LULL_DRAW_TIME,
    LULL_DRAW_SPEEDUP,
    LULL_DRAW_EFFICIENCY,
    LULL_DRAW_TERMS /* time of each term of the variant that is best at the last point */
};

/* The chart of a sweep over one parameter that is a number; NULL for anything else. */
const struct lull_chart *lull_program_chart(const struct lull_program_study *study,
                                            enum lull_program_drawing drawing,
                                            struct lull_arena *arena);

#endif
