/* Internal to the wave room: fronts of waves that are traced. */
#ifndef LULL_WAVE_DETECT_H
#define LULL_WAVE_DETECT_H

#include "wave/wave.h"

/* What describing one wave may look at. */
struct lull_wave_view {
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph;
    const struct lull_waves *waves; /* all of them */
    double confidence;
};

/* Sets fronts, hops and decay of a wave whose arrivals are known. */
lull_status lull_wave_describe(const struct lull_wave_view *view, struct lull_wave *wave,
                               struct lull_arena *arena, struct lull_error *err);
/* Why it ended; all waves are described by then. */
void lull_wave_find_end(const struct lull_wave_view *view, struct lull_wave *wave, bool up);

#endif
