/* The chart of `lull fit`. */
#ifndef LULL_VIEW_FIT_FIT_CHART_H
#define LULL_VIEW_FIT_FIT_CHART_H

#include "report/chart.h"
#include "view/fit/fit_document.h"

/* Measurements, the chosen law, and the interval of a further measurement, from the smallest x to
 * the last prediction. NULL where there are several parameters. */
const struct lull_chart *lull_fit_chart(const struct lull_fit_study *study,
                                        const struct lull_fit_show *show, struct lull_arena *arena);

#endif
