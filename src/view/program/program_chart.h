/* The charts of `lull model program`. */
#ifndef LULL_VIEW_PROGRAM_PROGRAM_CHART_H
#define LULL_VIEW_PROGRAM_PROGRAM_CHART_H

#include "report/chart.h"
#include "study/model/program_study.h"

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
