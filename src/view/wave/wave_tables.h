/* One wave as a table and as JSON. Internal to the view room. */
#ifndef LULL_VIEW_WAVE_WAVE_TABLES_H
#define LULL_VIEW_WAVE_WAVE_TABLES_H

#include "view/wave/wave_document.h"

/* A wave with all that is known of it. */
struct lull_wave_shown {
    const struct lull_wave *wave; /* NULL: none was found */
    const struct lull_wave_prediction *predicted;
    const struct lull_wave *replayed; /* the same wave in the replay; NULL: none */
    double cost;                      /* ns; NAN: not known */
    /* Of the first wave of a repeated simulation: means over the runs; NULL: the wave's own. */
    const struct lull_wave_case *repeated;
};

/* `scene` heads the column of what was found: "Simulated". */
void lull_wave_table(struct lull_document *document, const struct lull_wave_shown *shown,
                     uint32_t number, const char *scene, struct lull_arena *arena);

/* What the keys `predicted` and `waves` hold. */
struct lull_wave_json {
    const struct lull_wave_prediction *predicted; /* NULL: nothing */
    const struct lull_wave_shown *shown;
    uint32_t count;
};
void lull_wave_attach(struct lull_document *document, const struct lull_wave_json *content);

/* "boundary, rank 31" */
const char *lull_wave_end_words(const struct lull_wave_front *front, struct lull_arena *arena);

#endif
