/* The document of `lull model program`. */
#ifndef LULL_VIEW_PROGRAM_DOCUMENT_H
#define LULL_VIEW_PROGRAM_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/model/program_study.h"

/* ==== program document ======================================================================== */

/* "lull-model-program/1": parameters, terms or sweep, where the limit changes, what matters most,
 * and where asked for calibration and comparison with runs. */
struct lull_document *lull_program_document(const struct lull_program_study *study,
                                            const struct lull_notices *notices,
                                            struct lull_arena *arena);

/* ==== program chart =========================================================================== */

/* The charts of `lull model program`. */

enum lull_program_drawing {
    LULL_DRAW_USUAL, /* speedup over processes, else time */
    LULL_DRAW_TIME,
    LULL_DRAW_SPEEDUP,
    LULL_DRAW_EFFICIENCY,
    LULL_DRAW_TERMS /* time of each term of the variant that is best at the last point */
};

/* Of a sweep of one number; NULL of anything else. */
const struct lull_chart *lull_program_chart(const struct lull_program_study *study,
                                            enum lull_program_drawing drawing,
                                            struct lull_arena *arena);

#endif
