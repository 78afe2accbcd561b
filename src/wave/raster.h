/* A raster: how much of the time ranks waited, and were late, for a picture of waves. */
#ifndef LULL_WAVE_RASTER_H
#define LULL_WAVE_RASTER_H

#include "wave/wave.h"

enum { LULL_WAVE_RASTER_COLUMNS = 306, LULL_WAVE_RASTER_ROWS = 160 /* at most */ };
#define LULL_WAVE_RASTER_UNIT ((int64_t)1 << 32) /* the time of one rank in a column */

struct lull_wave_raster {
    int64_t from, to;                   /* ns; not less: nothing is shown */
    uint32_t first_rank, n_ranks, rows; /* the ranks, each of which is in one row */
    int64_t *waits, *late; /* [rows][LULL_WAVE_RASTER_COLUMNS]: units, of the ranks of the row */
};

/* The lowest rank of a row, counted from the first that is shown. */
uint32_t lull_wave_raster_first_of(const struct lull_wave_raster *raster, uint32_t row);

/* Of the ranks that waves reached, from before the first wave to behind the last one; without waves
 * of all. In `arena`. Together where the field is shared; others than the first give no waves, and
 * have nothing then. `waves` is NULL where the first has not come to any: there is none then. */
lull_status lull_wave_raster_make(const struct lull_wave_field *field,
                                  const struct lull_waves *waves, int64_t runtime,
                                  struct lull_arena *arena,
                                  const struct lull_wave_raster **ret_raster,
                                  struct lull_error *err);

#endif
