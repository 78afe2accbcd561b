/* SPDX-License-Identifier: BSD-3-Clause */
/* Raster: a picture of waves. Columns are spans of time, rows are one rank or several; each point
 * says which part of this time its ranks waited, and were late. */
#ifndef LULL_WAVE_RASTER_H
#define LULL_WAVE_RASTER_H

#include "wave/wave.h"

/* The number of columns, and of rows at most. */
enum { LULL_WAVE_RASTER_COLUMNS = 306, LULL_WAVE_RASTER_ROWS = 160 };
#define LULL_WAVE_RASTER_UNIT ((int64_t)1 << 32) /* the time of one rank in a column */

struct lull_wave_raster {
    int64_t from, to;                   /* ns that are shown; nothing if from is not below to */
    uint32_t first_rank, n_ranks, rows; /* the ranks that are shown, each in one row */
    /* [rows][LULL_WAVE_RASTER_COLUMNS]: time in LULL_WAVE_RASTER_UNITs, added over the ranks of the
     * row */
    int64_t *waits, *late;
};

/* The lowest rank of a row, counted from the first that is shown. */
uint32_t lull_wave_raster_first_of(const struct lull_wave_raster *raster, uint32_t row);

/* Makes a raster of the ranks that waves reached, from before the first wave to behind the last
 * one; of all ranks and all the time if there are no waves. It lives in `arena`. Where the field is
 * shared, all members call this together: others than the first give NULL as `waves`, and get no
 * raster. If the first gives NULL, because it has failed before, nobody gets a raster. */
lull_status lull_wave_raster_make(const struct lull_wave_field *field,
                                  const struct lull_waves *waves, int64_t runtime,
                                  struct lull_arena *arena,
                                  const struct lull_wave_raster **ret_raster,
                                  struct lull_error *err);

#endif
