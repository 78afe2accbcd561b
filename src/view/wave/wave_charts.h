/* The charts of `lull wave`. */
#ifndef LULL_VIEW_WAVE_WAVE_CHARTS_H
#define LULL_VIEW_WAVE_WAVE_CHARTS_H

#include "report/chart.h"
#include "study/wave/wave_study.h"

/* Ranks over time around the waves: who waits, who is late, and the fitted fronts. As large for
 * 100,000 ranks as for a hundred. */
const struct lull_chart *lull_wave_chart(const struct lull_wave_scene *scene,
                                         struct lull_arena *arena);
/* How long ranks were idle over their distance from the delayed one, with the predicted decay. */
const struct lull_chart *lull_wave_amplitude_chart(const struct lull_wave_scene *scene,
                                                   const struct lull_wave_prediction *predicted,
                                                   struct lull_arena *arena);

#endif
