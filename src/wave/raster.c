/* SPDX-License-Identifier: BSD-3-Clause */
#include "wave/raster.h"

#include <math.h>

/* ---- what is shown -------------------------------------------------------------------------- */

/* Shows all ranks or, if waves reached less than half of them, those between the lowest and the
 * highest that they reached, and some more on both sides. */
static void find_ranks(uint32_t n, const struct lull_waves *waves, struct lull_wave_raster *raster)
{
    uint32_t low = n, high = 0;
    for (uint32_t w = 0; w < waves->count; w++) {
        const struct lull_wave *wave = &waves->waves[w];
        for (uint32_t r = 0; r < n; r++)
            if (r == wave->rank || wave->path.arrivals[r] >= 0) {
                low = r < low ? r : low;
                high = r > high ? r : high;
            }
    }
    raster->n_ranks = n;
    if (low <= high && high - low < n / 2) {
        const uint32_t margin = (high - low) / 4 + 2;
        low = low > margin ? low - margin : 0;
        high = n - 1 - high > margin ? high + margin : n - 1;
        raster->first_rank = low;
        raster->n_ranks = high - low + 1;
    }
    raster->rows =
        raster->n_ranks < LULL_WAVE_RASTER_ROWS ? raster->n_ranks : LULL_WAVE_RASTER_ROWS;
}

/* When the last rank of a front was idle no longer, in ns. */
static int64_t end_of(const struct lull_waves *waves, const struct lull_wave *wave,
                      const struct lull_wave_front *front)
{
    const struct lull_wave_outlier *at =
        front->distance > 0 ? lull_wave_outlier_of(&waves->outliers, front->last_rank,
                                                   (uint32_t)front->last_iteration)
                            : NULL;
    return at ? at->end : wave->begin + wave->length;
}

static void find_times(const struct lull_waves *waves, int64_t runtime,
                       struct lull_wave_raster *raster)
{
    int64_t first = INT64_MAX, last = 0;
    raster->to = runtime;
    for (uint32_t w = 0; w < waves->count; w++) {
        const struct lull_wave *wave = &waves->waves[w];
        const int64_t ends[2] = {end_of(waves, wave, &wave->up), end_of(waves, wave, &wave->down)};
        first = wave->begin < first ? wave->begin : first;
        for (unsigned e = 0; e < 2; e++)
            last = ends[e] > last ? ends[e] : last;
    }
    if (waves->count == 0)
        return;
    const int64_t margin = (last - first) / 10 + (int64_t)waves->outliers.usual.cycle;
    raster->from = first > margin ? first - margin : 0;
    raster->to = last + margin < runtime ? last + margin : runtime;
}

/* ---- what is in it -------------------------------------------------------------------------- */

static uint32_t row_of(const struct lull_wave_raster *raster, uint32_t rank)
{
    return (uint32_t)((uint64_t)(rank - raster->first_rank) * raster->rows / raster->n_ranks);
}

uint32_t lull_wave_raster_first_of(const struct lull_wave_raster *raster, uint32_t row)
{
    return (uint32_t)(((uint64_t)row * raster->n_ranks + raster->rows - 1) / raster->rows);
}

/* Adds a span of a rank to the columns that it covers, in whole units, so that the result does not
 * depend on how members of a team share the ranks. */
static void add_span(const struct lull_wave_raster *raster, int64_t *units, uint32_t rank,
                     int64_t begin, int64_t end)
{
    const double scale = LULL_WAVE_RASTER_COLUMNS / (double)(raster->to - raster->from);
    const double low = fmax(0, (double)(begin - raster->from) * scale);
    const double high = fmin(LULL_WAVE_RASTER_COLUMNS, (double)(end - raster->from) * scale);
    int64_t *row = &units[(size_t)row_of(raster, rank) * LULL_WAVE_RASTER_COLUMNS];
    for (uint32_t c = (uint32_t)low; (double)c < high; c++)
        row[c] += (int64_t)((fmin(high, c + 1.0) - fmax(low, c)) * (double)LULL_WAVE_RASTER_UNIT);
}

static void add_waits(const struct lull_wave_raster *raster, const struct lull_wave_field *field)
{
    const uint32_t end = raster->first_rank + raster->n_ranks;
    uint32_t r = raster->first_rank > field->own ? raster->first_rank : field->own;
    for (; r < end && r < field->own_end; r++)
        for (uint32_t i = 0; i < field->n_iterations; i++) {
            const struct lull_wave_cell *cell = &field->rows[r].cells[i];
            if (cell->end <= raster->from)
                continue;
            if (cell->end - cell->wait >= raster->to)
                break;
            add_span(raster, raster->waits, r, cell->end - cell->wait, cell->end);
        }
}

/* ---- all ------------------------------------------------------------------------------------ */

lull_status lull_wave_raster_make(const struct lull_wave_field *field,
                                  const struct lull_waves *waves, int64_t runtime,
                                  struct lull_arena *arena,
                                  const struct lull_wave_raster **ret_raster,
                                  struct lull_error *err)
{
    struct lull_wave_raster *raster = lull_arena_zero(arena, 1, sizeof *raster);
    *ret_raster = NULL;
    if (lull_team_is_first(field->team) && waves) {
        find_ranks(field->n_ranks, waves, raster);
        find_times(waves, runtime, raster);
    }
    lull_status status = lull_team_broadcast(field->team, raster, sizeof *raster, err);
    const size_t count = (size_t)raster->rows * LULL_WAVE_RASTER_COLUMNS;
    if (status != LULL_OK || raster->rows == 0)
        return status;
    raster->waits = lull_arena_zero(arena, count, sizeof *raster->waits);
    raster->late = lull_arena_zero(arena, count, sizeof *raster->late);
    if (raster->from < raster->to)
        add_waits(raster, field);
    status = lull_team_sum(field->team, raster->waits, count, err);
    if (status != LULL_OK || !lull_team_is_first(field->team))
        return status;
    for (uint32_t w = 0; w < waves->count && raster->from < raster->to; w++) {
        const struct lull_wave *wave = &waves->waves[w];
        add_span(raster, raster->late, wave->rank, wave->begin, wave->begin + wave->length);
    }
    *ret_raster = raster;
    return LULL_OK;
}
