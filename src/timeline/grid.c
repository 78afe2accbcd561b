/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells. A leaf gathers the sums of the fine bin that it is in, and adds them to the row with fine
 * cells above it when it leaves the bin; its own coarse cells it adds to at once. Bins that a step
 * fills are counted where they begin and end. */
#include "base/array.h"
#include "base/sorted.h"
#include "timeline/builder.h"

#include <stdlib.h>
#include <string.h>

/* ==== grid ==================================================================================== */

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

/* Returns the length of the longest one. */
static int64_t measure_bins(struct lull_timeline_grid *grid)
{
    int64_t longest = 0, begin = grid->timeline->begin;
    for (uint32_t bin = 0; bin < fine_bins(grid); bin++) {
        const int64_t end = lull_timeline_edge(grid->timeline, grid->timeline->fine, bin + 1);
        grid->lengths[bin] = end - begin;
        longest = end - begin > longest ? end - begin : longest;
        begin = end;
    }
    return longest;
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
    grid->lengths = malloc(fine_bins(grid) * sizeof *grid->lengths);
    if (layout->n_fine_rows < timeline->n_leaves)
        grid->coarse = calloc(timeline->n_leaves, sizeof *grid->coarse);
    if (!grid->fine || !grid->pens || !grid->lengths ||
        (!grid->coarse && layout->n_fine_rows < timeline->n_leaves))
        return false;
    const int64_t longest = measure_bins(grid);
    for (uint32_t f = 0; f < layout->n_fine_rows; f++) {
        grid->fine[f].shared = timeline->rows[layout->fine_rows[f]].n_leaves > 1;
        grid->fine[f].narrow = !grid->fine[f].shared && longest <= UINT32_MAX;
    }
    for (uint32_t l = 0; l < timeline->n_leaves; l++) {
        grid->pens[l].bin_end = lull_timeline_edge(timeline, timeline->fine, 1);
        grid->pens[l].coarse_end = lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, 1);
    }
    return true;
}

static void free_plane(struct lull_timeline_plane *plane)
{
    if (!plane)
        return;
    free(plane->narrow);
    free(plane->parts);
    free(plane->wholes);
    free(plane);
}

void lull_timeline_grid_destroy(struct lull_timeline_grid *grid)
{
    if (!grid)
        return;
    for (uint32_t f = 0; grid->fine && f < grid->layout.n_fine_rows; f++)
        for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
            free_plane(atomic_load(&grid->fine[f].planes[a]));
    for (uint32_t l = 0; grid->coarse && l < grid->timeline->n_leaves; l++)
        for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
            free(grid->coarse[l][a]);
    free(grid->fine);
    free(grid->coarse);
    free(grid->pens);
    free(grid->lengths);
    free(grid);
}

/* ---- adding -------------------------------------------------------------------------------- */

static struct lull_timeline_plane *create_plane(const struct lull_timeline_grid *grid, bool narrow)
{
    struct lull_timeline_plane *plane = calloc(1, sizeof *plane);
    if (!plane)
        return NULL;
    if (narrow) {
        plane->narrow = calloc(fine_bins(grid), sizeof *plane->narrow);
    } else {
        plane->parts = calloc(fine_bins(grid), sizeof *plane->parts);
        plane->wholes = calloc(fine_bins(grid) + (size_t)1, sizeof *plane->wholes);
    }
    if (plane->narrow || (plane->parts && plane->wholes))
        return plane;
    free_plane(plane);
    return NULL;
}

/* The plane of a row, made at its first time. NULL: no memory. */
static struct lull_timeline_plane *plane_of_row(const struct lull_timeline_grid *grid,
                                                struct lull_timeline_fine_row *row,
                                                unsigned activity)
{
    struct lull_timeline_plane *plane =
        atomic_load_explicit(&row->planes[activity], memory_order_acquire);
    if (plane)
        return plane;
    struct lull_timeline_plane *fresh = create_plane(grid, row->narrow);
    if (fresh && !atomic_compare_exchange_strong(&row->planes[activity], &plane, fresh)) {
        free_plane(fresh);
        return plane; /* another worker was faster */
    }
    return fresh;
}

static struct lull_timeline_plane *plane_of(const struct lull_timeline_grid *grid, uint32_t leaf,
                                            unsigned activity)
{
    return plane_of_row(grid, &grid->fine[grid->layout.fine_of_leaf[leaf]], activity);
}

static bool is_shared(const struct lull_timeline_grid *grid, uint32_t leaf)
{
    return grid->fine[grid->layout.fine_of_leaf[leaf]].shared;
}

/* Integers in any order make the same sum. */
static void add_part(_Atomic int64_t *part, int64_t ns, bool shared)
{
    if (shared)
        atomic_fetch_add_explicit(part, ns, memory_order_relaxed);
    else
        atomic_store_explicit(part, atomic_load_explicit(part, memory_order_relaxed) + ns,
                              memory_order_relaxed);
}

/* The bins from `first` to before `end`. */
static bool add_wholes(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                       uint32_t first, uint32_t end)
{
    struct lull_timeline_plane *plane = plane_of(grid, leaf, activity);
    if (!plane)
        return false;
    for (uint32_t bin = first; plane->narrow && bin < end; bin++)
        plane->narrow[bin] += (uint32_t)grid->lengths[bin];
    if (plane->narrow)
        return true;
    atomic_fetch_add_explicit(&plane->wholes[first], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&plane->wholes[end], 1, memory_order_relaxed);
    return true;
}

static bool empty_pen(struct lull_timeline_grid *grid, uint32_t leaf)
{
    struct lull_timeline_pen *pen = &grid->pens[leaf];
    const bool shared = is_shared(grid, leaf);
    for (; pen->used; pen->used &= pen->used - 1) {
        const unsigned activity = (unsigned)__builtin_ctz(pen->used);
        struct lull_timeline_plane *plane = plane_of(grid, leaf, activity);
        if (!plane)
            return false;
        if (plane->narrow)
            plane->narrow[pen->bin] += (uint32_t)pen->sums[activity];
        else
            add_part(&plane->parts[pen->bin], pen->sums[activity], shared);
        pen->sums[activity] = 0;
    }
    return true;
}

static void add_to_pen(struct lull_timeline_pen *pen, unsigned activity, int64_t ns)
{
    pen->sums[activity] += ns;
    pen->used |= UINT32_C(1) << activity;
}

/* The bin that ends at a time or has it inside, but not at its begin; `time` lies behind the begin
 * of the axis. */
static uint32_t bin_up_to(const struct lull_timeline *timeline, int64_t time)
{
    const unsigned level = timeline->fine;
    const double share =
        (double)(time - timeline->begin) / (double)(timeline->end - timeline->begin);
    uint32_t bin = (uint32_t)(share * (double)(UINT32_C(1) << level));
    while (bin > 0 && lull_timeline_edge(timeline, level, bin) >= time)
        bin--;
    while (lull_timeline_edge(timeline, level, bin + 1) < time)
        bin++;
    return bin;
}

/* A step that goes on behind the bin of the pen: the rest of that bin, whole bins, a part of the
 * last one. */
static bool leave_bin(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                      int64_t begin, int64_t end)
{
    const struct lull_timeline *timeline = grid->timeline;
    struct lull_timeline_pen *pen = &grid->pens[leaf];
    if (begin < pen->bin_end)
        add_to_pen(pen, activity, pen->bin_end - begin);
    if (!empty_pen(grid, leaf))
        return false;
    const uint32_t first = pen->bin + 1;
    pen->bin = first;
    pen->bin_end = lull_timeline_edge(timeline, timeline->fine, first + 1);
    if (end > pen->bin_end) {
        pen->bin = bin_up_to(timeline, end);
        pen->bin_end = lull_timeline_edge(timeline, timeline->fine, pen->bin + 1);
        if (!add_wholes(grid, leaf, activity, first, pen->bin))
            return false;
    }
    add_to_pen(pen, activity, end - lull_timeline_edge(timeline, timeline->fine, pen->bin));
    return true;
}

static bool add_coarse(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                       int64_t begin, int64_t end)
{
    struct lull_timeline_pen *pen = &grid->pens[leaf];
    int64_t **plane = &grid->coarse[leaf][activity];
    if (!*plane)
        *plane = calloc(COARSE_BINS, sizeof **plane);
    if (!*plane)
        return false;
    while (end > pen->coarse_end) {
        if (begin < pen->coarse_end) {
            (*plane)[pen->coarse_bin] += pen->coarse_end - begin;
            begin = pen->coarse_end;
        }
        pen->coarse_bin++;
        pen->coarse_end =
            lull_timeline_edge(grid->timeline, LULL_TIMELINE_COARSE, pen->coarse_bin + 1);
    }
    (*plane)[pen->coarse_bin] += end - begin;
    return true;
}

bool lull_timeline_grid_add(struct lull_timeline_grid *grid, uint32_t leaf, unsigned activity,
                            int64_t begin, int64_t end)
{
    struct lull_timeline_pen *pen = &grid->pens[leaf];
    if (grid->coarse && !add_coarse(grid, leaf, activity, begin, end))
        return false;
    if (end > pen->bin_end)
        return leave_bin(grid, leaf, activity, begin, end);
    add_to_pen(pen, activity, end - begin);
    return true;
}

bool lull_timeline_grid_end(struct lull_timeline_grid *grid, uint32_t leaf)
{
    return empty_pen(grid, leaf);
}

/* ---- from member to member ----------------------------------------------------------------- */

bool lull_timeline_grid_put_leaf(const struct lull_timeline_grid *grid, uint32_t leaf,
                                 struct lull_flow *flow)
{
    bool good = true;
    for (unsigned a = 0; good && grid->coarse && a < LULL_STEP_ACTIVITIES; a++) {
        const int64_t *plane = grid->coarse[leaf][a];
        good = lull_flow_put_items(flow, plane, plane ? COARSE_BINS : 0, sizeof *plane);
    }
    return good;
}

bool lull_timeline_grid_get_leaf(struct lull_timeline_grid *grid, uint32_t leaf,
                                 struct lull_flow *flow)
{
    bool good = true;
    for (unsigned a = 0; good && grid->coarse && a < LULL_STEP_ACTIVITIES; a++) {
        size_t n;
        int64_t *plane = lull_flow_get_items(flow, sizeof *plane, &n);
        good = plane && (n == 0 || n == COARSE_BINS);
        if (good && n > 0)
            grid->coarse[leaf][a] = plane;
        else
            free(plane);
    }
    return good;
}

/* Where a plane of fine cells belongs. */
struct plane_place {
    uint32_t row, activity; /* row: LULL_NONE behind the last one */
};

/* The numbers of a plane, as they travel: of narrow ones the cells, of others parts, then wholes.
 */
static void write_plane(const struct lull_timeline_plane *plane, uint32_t bins, int64_t *numbers)
{
    for (uint32_t bin = 0; bin < bins; bin++)
        numbers[bin] = plane->narrow
                           ? plane->narrow[bin]
                           : atomic_load_explicit(&plane->parts[bin], memory_order_relaxed);
    for (uint32_t bin = 0; !plane->narrow && bin <= bins; bin++)
        numbers[bins + bin] = atomic_load_explicit(&plane->wholes[bin], memory_order_relaxed);
}

static void add_plane(struct lull_timeline_plane *plane, uint32_t bins, const int64_t *numbers)
{
    for (uint32_t bin = 0; bin < bins; bin++)
        if (plane->narrow)
            plane->narrow[bin] += (uint32_t)numbers[bin];
        else
            add_part(&plane->parts[bin], numbers[bin], false);
    for (uint32_t bin = 0; !plane->narrow && bin <= bins; bin++)
        atomic_fetch_add_explicit(&plane->wholes[bin], (int32_t)numbers[bins + bin],
                                  memory_order_relaxed);
}

static size_t numbers_of(const struct lull_timeline_grid *grid, uint32_t row)
{
    return grid->fine[row].narrow ? fine_bins(grid) : 2 * (size_t)fine_bins(grid) + 1;
}

bool lull_timeline_grid_put(const struct lull_timeline_grid *grid, struct lull_flow *flow)
{
    const struct plane_place last = {LULL_NONE, 0};
    int64_t *numbers = malloc((2 * (size_t)fine_bins(grid) + 1) * sizeof *numbers);
    bool good = numbers != NULL;
    for (uint32_t row = 0; row < grid->layout.n_fine_rows; row++)
        for (uint32_t a = 0; good && a < LULL_STEP_ACTIVITIES; a++) {
            const struct lull_timeline_plane *plane = atomic_load(&grid->fine[row].planes[a]);
            const struct plane_place place = {row, a};
            if (!plane)
                continue;
            write_plane(plane, fine_bins(grid), numbers);
            good = lull_flow_put(flow, &place, sizeof place) &&
                   lull_flow_put(flow, numbers, numbers_of(grid, row) * sizeof *numbers);
        }
    free(numbers);
    return good && lull_flow_put(flow, &last, sizeof last);
}

bool lull_timeline_grid_get(struct lull_timeline_grid *grid, struct lull_flow *flow)
{
    struct plane_place place = {0, 0};
    int64_t *numbers = malloc((2 * (size_t)fine_bins(grid) + 1) * sizeof *numbers);
    bool good = numbers != NULL;
    while (good && (good = lull_flow_get(flow, &place, sizeof place)) &&
           place.row < grid->layout.n_fine_rows && place.activity < LULL_STEP_ACTIVITIES) {
        struct lull_timeline_plane *plane =
            plane_of_row(grid, &grid->fine[place.row], place.activity);
        good = plane && lull_flow_get(flow, numbers, numbers_of(grid, place.row) * sizeof *numbers);
        if (good)
            add_plane(plane, fine_bins(grid), numbers);
    }
    free(numbers);
    return good && place.row == LULL_NONE;
}

void lull_timeline_grid_conclude(struct lull_timeline_grid *grid)
{
    for (uint32_t f = 0; f < grid->layout.n_fine_rows; f++)
        for (unsigned a = 0; a < LULL_STEP_ACTIVITIES && !grid->fine[f].narrow; a++) {
            struct lull_timeline_plane *plane = atomic_load(&grid->fine[f].planes[a]);
            int64_t leaves = 0;
            for (uint32_t bin = 0; plane && bin < fine_bins(grid); bin++) {
                leaves += atomic_load_explicit(&plane->wholes[bin], memory_order_relaxed);
                if (leaves > 0)
                    add_part(&plane->parts[bin], leaves * grid->lengths[bin], false);
            }
        }
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Cells that are asked for: of some bins the time of some activities. */
struct query {
    uint32_t first, count; /* bins */
    uint32_t n;            /* activities */
    int64_t *ns;           /* [count][n] */
};

/* Adds bins of a plane whose cells are `shift` levels deeper than those that are asked for. */
static void sum_fine(const struct query *query, uint32_t column, const _Atomic int64_t *plane,
                     unsigned shift)
{
    const _Atomic int64_t *bin = plane + ((size_t)query->first << shift);
    int64_t *to = query->ns + column;
    for (uint32_t i = 0; i < query->count; i++, to += query->n)
        for (uint32_t part = 0; part < UINT32_C(1) << shift; part++)
            *to += atomic_load_explicit(bin++, memory_order_relaxed);
}

static void sum_narrow(const struct query *query, uint32_t column, const uint32_t *plane,
                       unsigned shift)
{
    const uint32_t *bin = plane + ((size_t)query->first << shift);
    int64_t *to = query->ns + column;
    for (uint32_t i = 0; i < query->count; i++, to += query->n)
        for (uint32_t part = 0; part < UINT32_C(1) << shift; part++)
            *to += *bin++;
}

static void sum_coarse(const struct query *query, uint32_t column, const int64_t *plane,
                       unsigned shift)
{
    const int64_t *bin = plane + ((size_t)query->first << shift);
    int64_t *to = query->ns + column;
    for (uint32_t i = 0; i < query->count; i++, to += query->n)
        for (uint32_t part = 0; part < UINT32_C(1) << shift; part++)
            *to += *bin++;
}

void lull_timeline_cells_of(const struct lull_timeline *timeline, uint32_t row, unsigned level,
                            uint32_t first, uint32_t count, const uint32_t *activities, uint32_t n,
                            int64_t *ret_ns)
{
    const struct lull_timeline_grid *grid = timeline->grid;
    const struct lull_timeline_row *at = &timeline->rows[row];
    const struct query query = {first, count, n, ret_ns};
    memset(ret_ns, 0, (size_t)count * n * sizeof *ret_ns);
    if (at->n_leaves == 0)
        return;
    const uint32_t *fine_of_leaf = grid->layout.fine_of_leaf;
    const uint32_t begin = fine_of_leaf[at->first_leaf];
    const uint32_t end = fine_of_leaf[at->first_leaf + at->n_leaves - 1];
    const bool fine =
        !grid->coarse || at->n_leaves >= timeline->rows[grid->layout.fine_rows[begin]].n_leaves;
    for (uint32_t i = 0; i < n; i++) {
        const unsigned a = activities[i];
        for (uint32_t f = begin; fine && f <= end; f++) {
            const struct lull_timeline_plane *plane = atomic_load(&grid->fine[f].planes[a]);
            if (plane && plane->narrow)
                sum_narrow(&query, i, plane->narrow, timeline->fine - level);
            else if (plane)
                sum_fine(&query, i, plane->parts, timeline->fine - level);
        }
        for (uint32_t l = at->first_leaf; !fine && l < at->first_leaf + at->n_leaves; l++)
            if (grid->coarse[l][a])
                sum_coarse(&query, i, grid->coarse[l][a], LULL_TIMELINE_COARSE - level);
    }
}

void lull_timeline_cells(const struct lull_timeline *timeline, uint32_t row, unsigned level,
                         uint32_t first, uint32_t count, int64_t *ret_ns)
{
    uint32_t all[LULL_STEP_ACTIVITIES];
    for (uint32_t a = 0; a < LULL_STEP_ACTIVITIES; a++)
        all[a] = a;
    lull_timeline_cells_of(timeline, row, level, first, count, all, LULL_STEP_ACTIVITIES, ret_ns);
}

/* ==== curve =================================================================================== */

/* What was counted between any two moments: the readings of a leaf and its useful time, in pieces
 * over each of which the amount is spread evenly. Where there are too many, neighbours are joined.
 */

/* Pieces of a curve, of all leaves and of one: 3 curves of these take some 75 MB. */
enum { ALL_PIECES = 1 << 20, LEAST_PIECES = 128, MOST_PIECES = 1 << 16 };

uint32_t lull_timeline_curve_room(uint32_t n_leaves)
{
    const uint32_t room = ALL_PIECES / (n_leaves ? n_leaves : 1);
    if (room < LEAST_PIECES)
        return 0;
    return room < MOST_PIECES ? room & ~1u : MOST_PIECES;
}

static void join_neighbours(struct lull_timeline_curve *curve)
{
    for (uint32_t i = 0; i + 1 < curve->count; i += 2) {
        const struct lull_timeline_amount *one = &curve->pieces[i], *next = one + 1;
        curve->pieces[i / 2] =
            (struct lull_timeline_amount){one->begin, next->end, one->value + next->value};
    }
    curve->count /= 2;
    curve->per_piece *= 2;
}

bool lull_timeline_curve_add(struct lull_timeline_curve *curve, uint32_t room,
                             const struct lull_timeline_amount *amount)
{
    if (room == 0)
        return true;
    if (curve->in_last > 0 && curve->in_last < curve->per_piece) {
        struct lull_timeline_amount *last = &curve->pieces[curve->count - 1];
        last->end = amount->end;
        last->value += amount->value;
        curve->in_last++;
        return true;
    }
    curve->per_piece = curve->per_piece ? curve->per_piece : 1;
    if (curve->count == room)
        join_neighbours(curve);
    if (!lull_array_reserve(&curve->pieces, &curve->capacity, curve->count + (size_t)1,
                            sizeof *curve->pieces))
        return false;
    curve->pieces[curve->count++] = *amount;
    curve->in_last = 1;
    return true;
}

static double part_of(const struct lull_timeline_amount *amount, int64_t from, int64_t to)
{
    const int64_t begin = amount->begin > from ? amount->begin : from;
    const int64_t end = amount->end < to ? amount->end : to;
    return begin < end ? (double)amount->value *
                             ((double)(end - begin) / (double)(amount->end - amount->begin))
                       : 0;
}

double lull_timeline_curve_between(const struct lull_timeline_curve *curve, int64_t from,
                                   int64_t to)
{
    double sum = 0;
    for (size_t i = lull_sorted_first_i64(curve->pieces, curve->count, sizeof *curve->pieces,
                                          offsetof(struct lull_timeline_amount, end), from + 1);
         i < curve->count && curve->pieces[i].begin < to; i++)
        sum += part_of(&curve->pieces[i], from, to);
    return sum;
}

/* ==== counts ================================================================================== */

/* What was counted in useful time, by leaf and bin. */

enum { BINS = 1 << LULL_TIMELINE_COARSE };

static const uint8_t roles[LULL_TIMELINE_COUNTS] = {
    [LULL_TIMELINE_INSTRUCTIONS] = LULL_COUNTER_INSTRUCTIONS,
    [LULL_TIMELINE_CYCLES] = LULL_COUNTER_CYCLES,
};

/* The first by name, as in all efficiencies: a second one of the same role measures the same. */
static uint32_t find_counter(const struct lull_trace *trace, uint8_t role)
{
    uint32_t found = LULL_NONE;
    for (uint32_t c = 0; c < trace->n_counters; c++)
        if (trace->counters[c].role == role &&
            (found == LULL_NONE ||
             strcmp(trace->counters[c].name, trace->counters[found].name) < 0))
            found = c;
    return found;
}

bool lull_timeline_tally_create(struct lull_timeline_tally *tally, struct lull_timeline *timeline)
{
    bool any = false;
    for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
        tally->counters[which] = find_counter(timeline->trace, roles[which]);
        timeline->has_counts[which] = tally->counters[which] != LULL_NONE;
        any |= timeline->has_counts[which];
    }
    tally->n_leaves = timeline->n_leaves;
    timeline->tally = tally;
    tally->room = any ? lull_timeline_curve_room(timeline->n_leaves) : 0;
    if (any)
        tally->bins = calloc(timeline->n_leaves, sizeof *tally->bins);
    if (tally->room > 0)
        tally->curves = calloc(timeline->n_leaves, sizeof *tally->curves);
    return (tally->bins || !any) && (tally->curves || tally->room == 0);
}

void lull_timeline_tally_release(struct lull_timeline_tally *tally)
{
    for (uint32_t l = 0; tally->bins && l < tally->n_leaves; l++)
        for (int which = 0; which < LULL_TIMELINE_COUNTS; which++)
            free(tally->bins[l][which]);
    for (uint32_t l = 0; tally->curves && l < tally->n_leaves; l++)
        for (int curve = 0; curve < LULL_TIMELINE_CURVES; curve++)
            free(tally->curves[l][curve].pieces);
    free(tally->bins);
    free(tally->curves);
}

/* That of a time which is analysed, or, where an edge was cut down to that time, the one in front.
 */
static uint32_t bin_of(const struct lull_timeline *timeline, int64_t time)
{
    return (uint32_t)((__int128)(time - timeline->begin) * BINS /
                      (timeline->end - timeline->begin));
}

/* Evenly over the time since the reading before, as far as it is analysed: the value is that of the
 * windows. Cut down at each edge, so that the parts add up. */
static void spread(uint64_t *bins, const struct lull_timeline *timeline, int64_t value,
                   int64_t from, int64_t to)
{
    from = from > timeline->begin ? from : timeline->begin;
    to = to < timeline->end ? to : timeline->end;
    if (from >= to) {
        bins[to <= timeline->begin ? 0 : BINS - 1] += (uint64_t)value;
        return;
    }
    int64_t before = 0;
    for (uint32_t bin = bin_of(timeline, from); bin < BINS; bin++) {
        const int64_t end = lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, bin + 1);
        if (end <= from && bin + 1 < BINS)
            continue;
        const bool last = end >= to || bin + 1 == BINS;
        const int64_t up_to =
            last ? value : (int64_t)((__int128)value * (end - from) / (to - from));
        bins[bin] += (uint64_t)(up_to - before);
        before = up_to;
        if (last)
            return;
    }
}

/* As far as it is analysed, like its bins. */
static bool add_to_curve(struct lull_timeline_tally *tally, const struct lull_timeline *timeline,
                         uint32_t leaf, int which, struct lull_timeline_amount amount)
{
    amount.begin = amount.begin > timeline->begin ? amount.begin : timeline->begin;
    amount.end = amount.end < timeline->end ? amount.end : timeline->end;
    if (amount.begin >= amount.end) {
        amount.end = amount.end > timeline->begin ? timeline->end : timeline->begin + 1;
        amount.begin = amount.end - 1;
    }
    return !tally->curves ||
           lull_timeline_curve_add(&tally->curves[leaf][which], tally->room, &amount);
}

bool lull_timeline_tally_add(struct lull_timeline_tally *tally,
                             const struct lull_timeline *timeline, uint32_t leaf,
                             const struct lull_step *reading)
{
    if (reading->activity != LULL_USEFUL || !tally->bins)
        return true;
    for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
        if (reading->counter != tally->counters[which])
            continue;
        uint64_t **bins = &tally->bins[leaf][which];
        if (!*bins && !(*bins = calloc(BINS, sizeof **bins)))
            return false;
        const int64_t from =
            reading->reading.since < reading->time ? reading->reading.since : reading->time - 1;
        const int64_t value = (int64_t)reading->reading.value;
        spread(*bins, timeline, value, from, reading->time);
        if (!add_to_curve(tally, timeline, leaf, which,
                          (struct lull_timeline_amount){from, reading->time, value}))
            return false;
    }
    return true;
}

bool lull_timeline_tally_useful(struct lull_timeline_tally *tally, uint32_t leaf, int64_t begin,
                                int64_t end)
{
    const struct lull_timeline_amount amount = {begin, end, end - begin};
    return !tally->curves || lull_timeline_curve_add(&tally->curves[leaf][LULL_TIMELINE_COUNTS],
                                                     tally->room, &amount);
}

bool lull_timeline_tally_put(const struct lull_timeline_tally *tally, uint32_t leaf,
                             struct lull_flow *flow)
{
    bool good = true;
    for (int which = 0; good && tally->bins && which < LULL_TIMELINE_COUNTS; which++) {
        const uint64_t *bins = tally->bins[leaf][which];
        good = lull_flow_put_items(flow, bins, bins ? BINS : 0, sizeof *bins);
    }
    for (int i = 0; good && tally->curves && i < LULL_TIMELINE_CURVES; i++) {
        const struct lull_timeline_curve *curve = &tally->curves[leaf][i];
        good = lull_flow_put_items(flow, curve->pieces, curve->count, sizeof *curve->pieces);
    }
    return good;
}

bool lull_timeline_tally_get(struct lull_timeline_tally *tally, uint32_t leaf,
                             struct lull_flow *flow)
{
    bool good = true;
    size_t n;
    for (int which = 0; good && tally->bins && which < LULL_TIMELINE_COUNTS; which++) {
        uint64_t *bins = lull_flow_get_items(flow, sizeof *bins, &n);
        good = bins && (n == 0 || n == BINS);
        if (good && n == BINS)
            tally->bins[leaf][which] = bins;
        else
            free(bins);
    }
    for (int i = 0; good && tally->curves && i < LULL_TIMELINE_CURVES; i++) {
        struct lull_timeline_curve *curve = &tally->curves[leaf][i];
        curve->pieces = lull_flow_get_items(flow, sizeof *curve->pieces, &n);
        curve->count = (uint32_t)n;
        good = curve->pieces != NULL;
    }
    return good;
}

bool lull_timeline_counted_between(const struct lull_timeline *timeline, uint32_t leaf,
                                   int64_t from, int64_t to, struct lull_timeline_counted *counted)
{
    if (!timeline->tally->curves)
        return false;
    const struct lull_timeline_curve *curves = timeline->tally->curves[leaf];
    for (int which = 0; which < LULL_TIMELINE_COUNTS; which++)
        counted->counts[which] += lull_timeline_curve_between(&curves[which], from, to);
    counted->useful_ns += lull_timeline_curve_between(&curves[LULL_TIMELINE_COUNTS], from, to);
    return true;
}

void lull_timeline_counts(const struct lull_timeline *timeline, uint32_t row,
                          enum lull_timeline_count which, uint64_t *counts)
{
    const struct lull_timeline_row *at = &timeline->rows[row];
    for (uint32_t l = at->first_leaf; timeline->tally->bins && l < at->first_leaf + at->n_leaves;
         l++)
        for (uint32_t bin = 0; timeline->tally->bins[l][which] && bin < BINS; bin++)
            counts[bin] += timeline->tally->bins[l][which][bin];
}
