/* Cells. A leaf gathers the sums of the fine bin that it is in, and adds them to the row with fine
 * cells above it, and to its own coarse cells, when it leaves the bin. */
#include "timeline/builder.h"

#include <stdlib.h>
#include <string.h>

enum { COARSE_BINS = 1 << LULL_TIMELINE_COARSE };

int64_t lull_timeline_edge(const struct lull_timeline *timeline, unsigned level, uint32_t bin)
{
    const int64_t length = timeline->end - timeline->begin;
    const int64_t bins = INT64_C(1) << level;
    const int64_t whole = length / bins, rest = length % bins;
    return timeline->begin + whole * bin + rest * bin / bins;
}

static uint32_t fine_bins(const struct lull_timeline_grid *grid)
{
    return UINT32_C(1) << grid->timeline->fine;
}

bool lull_timeline_grid_create(struct lull_timeline *timeline,
                               const struct lull_timeline_layout *layout)
{
    struct lull_timeline_grid *grid = calloc(1, sizeof *grid);
    if (!grid)
        return false;
    timeline->grid = grid;
    grid->timeline = timeline;
    grid->layout = *layout;
    grid->fine = calloc(layout->n_fine_rows + (size_t)1, sizeof *grid->fine);
    grid->pens = calloc(timeline->n_leaves + (size_t)1, sizeof *grid->pens);
    if (layout->n_fine_rows < timeline->n_leaves)
        grid->coarse = calloc(timeline->n_leaves, sizeof *grid->coarse);
    if (!grid->fine || !grid->pens || (!grid->coarse && layout->n_fine_rows < timeline->n_leaves))
        return false;
    for (uint32_t f = 0; f < layout->n_fine_rows; f++)
        grid->fine[f].shared = timeline->rows[layout->fine_rows[f]].n_leaves > 1;
    for (uint32_t l = 0; l < timeline->n_leaves; l++)
        grid->pens[l].bin_end = lull_timeline_edge(timeline, timeline->fine, 1);
    return true;
}

void lull_timeline_grid_destroy(struct lull_timeline_grid *grid)
{
    if (!grid)
        return;
    for (uint32_t f = 0; grid->fine && f < grid->layout.n_fine_rows; f++)
        for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
            free(atomic_load(&grid->fine[f].planes[a]));
    for (uint32_t l = 0; grid->coarse && l < grid->timeline->n_leaves; l++)
        for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
            free(grid->coarse[l][a]);
    free(grid->fine);
    free(grid->coarse);
    free(grid->pens);
    free(grid);
}

/* ---- adding -------------------------------------------------------------------------------- */

/* The plane of a fine row, made at its first time. NULL: no memory. */
static _Atomic int64_t *fine_plane(struct lull_timeline_grid *grid,
                                   struct lull_timeline_fine_row *row, unsigned activity)
{
    _Atomic int64_t *plane = atomic_load_explicit(&row->planes[activity], memory_order_acquire);
    if (plane)
        return plane;
    _Atomic int64_t *fresh = calloc(fine_bins(grid), sizeof *fresh);
    if (fresh && !atomic_compare_exchange_strong(&row->planes[activity], &plane, fresh)) {
        free(fresh);
        return plane; /* another worker was faster */
    }
    return fresh;
}

/* Integers in any order make the same sum. */
static bool add_fine(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                     uint32_t bin, int64_t ns)
{
    struct lull_timeline_fine_row *row = &grid->fine[grid->layout.fine_of_leaf[leaf]];
    _Atomic int64_t *plane = fine_plane(grid, row, activity);
    if (!plane)
        return false;
    if (row->shared)
        atomic_fetch_add_explicit(&plane[bin], ns, memory_order_relaxed);
    else
        atomic_store_explicit(&plane[bin],
                              atomic_load_explicit(&plane[bin], memory_order_relaxed) + ns,
                              memory_order_relaxed);
    return true;
}

static bool add_coarse(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                       uint32_t bin, int64_t ns)
{
    int64_t **plane = &grid->coarse[leaf][activity];
    if (!*plane)
        *plane = calloc(COARSE_BINS, sizeof **plane);
    if (!*plane)
        return false;
    (*plane)[bin >> (grid->timeline->fine - LULL_TIMELINE_COARSE)] += ns;
    return true;
}

static bool empty_pen(struct lull_timeline_grid *grid, uint32_t leaf)
{
    struct lull_timeline_pen *pen = &grid->pens[leaf];
    bool good = true;
    for (; pen->used; pen->used &= pen->used - 1) {
        const unsigned activity = (unsigned)__builtin_ctz(pen->used);
        const int64_t ns = pen->sums[activity];
        pen->sums[activity] = 0;
        good = good && add_fine(grid, leaf, activity, pen->bin, ns) &&
               (!grid->coarse || add_coarse(grid, leaf, activity, pen->bin, ns));
    }
    return good;
}

bool lull_timeline_grid_add(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                            int64_t begin, int64_t end)
{
    struct lull_timeline_pen *pen = &grid->pens[leaf];
    while (end > pen->bin_end) {
        if (begin < pen->bin_end) {
            pen->sums[activity] += pen->bin_end - begin;
            pen->used |= UINT32_C(1) << activity;
            begin = pen->bin_end;
        }
        if (!empty_pen(grid, leaf))
            return false;
        pen->bin++;
        pen->bin_end = lull_timeline_edge(grid->timeline, grid->timeline->fine, pen->bin + 1);
    }
    if (begin < end) {
        pen->sums[activity] += end - begin;
        pen->used |= UINT32_C(1) << activity;
    }
    return true;
}

bool lull_timeline_grid_end(struct lull_timeline_grid *grid, uint32_t leaf)
{
    return empty_pen(grid, leaf);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Adds bins of a plane with cells of level `deep` to cells of a lower one. */
static void sum_fine(const _Atomic int64_t *plane, unsigned shift, unsigned activity,
                     uint32_t first, uint32_t count, int64_t *ns)
{
    const _Atomic int64_t *bin = plane + ((size_t)first << shift);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t part = 0; part < UINT32_C(1) << shift; part++)
            ns[(size_t)i * LULL_STEP_ACTIVITIES + activity] +=
                atomic_load_explicit(bin++, memory_order_relaxed);
}

static void sum_coarse(const int64_t *plane, unsigned shift, unsigned activity, uint32_t first,
                       uint32_t count, int64_t *ns)
{
    const int64_t *bin = plane + ((size_t)first << shift);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t part = 0; part < UINT32_C(1) << shift; part++)
            ns[(size_t)i * LULL_STEP_ACTIVITIES + activity] += *bin++;
}

void lull_timeline_cells(const struct lull_timeline *timeline, uint32_t row, unsigned level,
                         uint32_t first, uint32_t count, int64_t *ret_ns)
{
    const struct lull_timeline_grid *grid = timeline->grid;
    const struct lull_timeline_row *at = &timeline->rows[row];
    memset(ret_ns, 0, (size_t)count * LULL_STEP_ACTIVITIES * sizeof *ret_ns);
    if (at->n_leaves == 0)
        return;
    const uint32_t *fine_of_leaf = grid->layout.fine_of_leaf;
    const uint32_t begin = fine_of_leaf[at->first_leaf];
    const uint32_t end = fine_of_leaf[at->first_leaf + at->n_leaves - 1];
    const bool fine =
        !grid->coarse || at->n_leaves >= timeline->rows[grid->layout.fine_rows[begin]].n_leaves;
    for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++) {
        for (uint32_t f = begin; fine && f <= end; f++) {
            const _Atomic int64_t *plane = atomic_load(&grid->fine[f].planes[a]);
            if (plane)
                sum_fine(plane, timeline->fine - level, a, first, count, ret_ns);
        }
        for (uint32_t l = at->first_leaf; !fine && l < at->first_leaf + at->n_leaves; l++)
            if (grid->coarse[l][a])
                sum_coarse(grid->coarse[l][a], LULL_TIMELINE_COARSE - level, a, first, count,
                           ret_ns);
    }
}
