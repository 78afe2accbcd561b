/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts: what a process computes in an epoch takes no longer than the median of its peers. A stream
 * is compared with the streams of the same thread of other processes. */
#include "replay/what_if/cuts.h"

#include "base/array.h"
#include "base/error.h"
#include "replay/what_if/what_if.h"
#include "stats/quantile.h"
#include "team/team.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ==== units =================================================================================== */

/* How many units so many bursts of an epoch make; the last unit may have fewer than 2^shift. */
static size_t units_of(uint32_t bursts, unsigned shift)
{
    return (size_t)(((uint64_t)bursts + (UINT64_C(1) << shift) - 1) >> shift);
}

size_t lull_units_in(const struct lull_units *units, size_t epoch)
{
    return epoch < units->n_epochs ? units_of(units->epochs[epoch].bursts, units->shift) : 0;
}

void lull_units_merge(struct lull_units *units, unsigned shift)
{
    const unsigned more = shift - units->shift;
    size_t count = 0;
    if (shift <= units->shift)
        return;
    for (size_t e = 0; e < units->n_epochs; e++) {
        const size_t n = lull_units_in(units, e), from = units->epochs[e].first, to = count;
        for (size_t i = 0; i < n; i++) {
            const size_t unit = to + (i >> more);
            const double value = units->values[from + i];
            units->values[unit] = unit < count ? units->values[unit] + value : value;
            count = unit + 1;
        }
        units->epochs[e].first = to;
    }
    units->count = count;
    units->shift = shift;
}

/* Adds a burst to the last epoch; false: no memory. */
static bool append(struct lull_units *units, int64_t ns)
{
    struct lull_units_epoch *epoch = &units->epochs[units->n_epochs - 1];
    if (!lull_array_reserve(&units->values, &units->capacity, units->count + 1,
                            sizeof *units->values))
        return false;
    if ((epoch->bursts++ & ((UINT32_C(1) << units->shift) - 1)) == 0)
        units->values[units->count++] = 0;
    units->values[units->count - 1] += (double)ns;
    if (units->count > LULL_UNITS_MOST && units->count > 2 * units->n_epochs && units->shift < 31)
        lull_units_merge(units, units->shift + 1);
    return true;
}

bool lull_units_add(struct lull_units *units, uint32_t epoch, int64_t ns)
{
    if (!lull_array_reserve(&units->epochs, &units->epochs_capacity, epoch + (size_t)1,
                            sizeof *units->epochs))
        return false;
    if (units->n_epochs <= epoch)
        units->idle = 0;
    while (units->n_epochs <= epoch)
        units->epochs[units->n_epochs++] = (struct lull_units_epoch){.first = units->count};
    if (ns <= 0) {
        units->idle++;
        return true;
    }
    for (; units->idle > 0; units->idle--)
        if (!append(units, 0))
            return false;
    return append(units, ns);
}

void lull_units_free(struct lull_units *units)
{
    free(units->values);
    free(units->epochs);
    *units = (struct lull_units){0};
}

/* ==== medians ================================================================================= */

/* Medians: how much of their time streams keep if no epoch of theirs may take longer than the
 * median of their peers.
 *
 * By how much a stream is shortened in an epoch follows from the sums of all peers in this epoch.
 * How this loss is shared among the units of the stream follows from those peers that have as many
 * bursts in the epoch. */

/* What one stream computed in a range of epochs. Behind its last epoch it computed nothing. */
struct slice {
    struct lull_units_epoch *epochs; /* [n_epochs] */
    double *values;                  /* ns of units; those of an epoch begin at its `first` */
    uint32_t n_epochs;
    bool meant; /* to be cut */
};

/* A slice in one epoch. */
struct row {
    double *values; /* ns of its units in this epoch */
    uint32_t bursts;
    bool meant;
    double sum; /* ns: of all its units */
    /* What the sum would be if no unit were longer than the median of the same unit of the peers
     * that have as many bursts, in ns; 0: no peer has. */
    double least;
    double level; /* ns: where `least` is 0, no unit of a row that is cut stays longer than this */
};

struct median_comparison {
    struct row *rows; /* [count] */
    uint32_t count;
    unsigned shift;
    bool all_meant;
    double share;    /* of what a row has more than the median, which it loses */
    double *scratch; /* [count] */
};

static bool is_peer(const struct median_comparison *c, uint32_t i)
{
    return c->rows[i].sum > 0 && (c->all_meant || !c->rows[i].meant);
}

/* The median of the sums of peers, in ns; 0: there are no peers. */
static double median_sum(const struct median_comparison *c)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (is_peer(c, i))
            c->scratch[n++] = c->rows[i].sum;
    lull_sort(c->scratch, n);
    return n > 0 ? lull_median(c->scratch, n) : 0;
}

/* Puts the values of one unit of the peers among the rows [from, to) into scratch, sorted. Returns
 * how many there are. */
static size_t sort_unit(const struct median_comparison *c, uint32_t from, uint32_t to, size_t unit)
{
    size_t n = 0;
    for (uint32_t i = from; i < to; i++)
        if (is_peer(c, i))
            c->scratch[n++] = c->rows[i].values[unit];
    lull_sort(c->scratch, n);
    return n;
}

/* The median of the n sorted values in scratch. Where all streams are meant, `value` is one of
 * these values and is left out, so that a stream is compared with the others only. */
static double median_of_peers(const struct median_comparison *c, size_t n, double value)
{
    size_t own = 0;
    if (!c->all_meant)
        return lull_median(c->scratch, n);
    while (own + 1 < n && c->scratch[own] < value)
        own++;
    const size_t middle = (n - 1) / 2, before = n % 2 == 1 && middle > 0 ? middle - 1 : middle;
    return (c->scratch[before + (before >= own)] + c->scratch[middle + (middle >= own)]) / 2;
}

/* What is left of a unit, in ns, where its row is to take `sum` in all: each unit loses the same
 * share of what it has more than the median of its peers. If even `least` is more than `sum`, units
 * lose all of that, and then all the same share of the rest. */
static double left_of(const struct row *row, double value, double median, double sum)
{
    const double more = row->sum - row->least;
    const double lost = more > 0 ? (row->sum - sum) / more : 2; /* as a share of `more` */
    if (lost <= 1)
        return value - (value - fmin(value, median)) * lost;
    return fmin(value, median) * (sum / row->least);
}

/* The length to which the longest units of a row must be cut so that all together take `sum`. Found
 * by halving an interval until its bounds are neighbouring numbers. */
static double find_level(const double *values, size_t units, double sum)
{
    double low = 0, high = 0;
    for (size_t u = 0; u < units; u++)
        high = fmax(high, values[u]);
    for (double level = high / 2; level > low && level < high; level = low + (high - low) / 2) {
        double capped = 0;
        for (size_t u = 0; u < units; u++)
            capped += fmin(values[u], level);
        *(capped < sum ? &low : &high) = level;
    }
    return high;
}

static bool is_cut(const struct row *row, double sum)
{
    return row->meant && sum > 0 && row->sum > sum;
}

/* What a row that is cut is to take, where the median is `sum`, in ns. */
static double target_of(const struct median_comparison *c, const struct row *row, double sum)
{
    return c->share < 1 ? row->sum - c->share * (row->sum - sum) : sum;
}

/* Cuts the rows [from, to), which have equally many bursts. The value of each unit of the rows that
 * are meant becomes the share of the unit that is left. */
static void cut_alike(struct median_comparison *c, uint32_t from, uint32_t to, double sum)
{
    const size_t units = units_of(c->rows[from].bursts, c->shift);
    size_t n = 0;
    for (size_t u = 0; u < units; u++) {
        n = sort_unit(c, from, to, u);
        for (uint32_t i = from; i < to && n > c->all_meant; i++)
            c->rows[i].least +=
                fmin(c->rows[i].values[u], median_of_peers(c, n, c->rows[i].values[u]));
    }
    for (uint32_t i = from; i < to; i++)
        if (is_cut(&c->rows[i], sum) && c->rows[i].least <= 0)
            c->rows[i].level = find_level(c->rows[i].values, units, target_of(c, &c->rows[i], sum));
    for (size_t u = 0; u < units; u++) {
        n = sort_unit(c, from, to, u);
        for (uint32_t i = from; i < to; i++) {
            const struct row *row = &c->rows[i];
            double *value = &c->rows[i].values[u];
            double left = *value;
            if (is_cut(row, sum) && row->least > 0)
                left = left_of(row, *value, median_of_peers(c, n, *value), target_of(c, row, sum));
            else if (is_cut(row, sum))
                left = fmin(*value, row->level);
            if (row->meant)
                *value = *value > 0 ? left / *value : 1;
        }
    }
}

static int compare_bursts(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->bursts > y->bursts) - (x->bursts < y->bursts);
}

static double add_up(const double *values, size_t units)
{
    double sum = 0;
    for (size_t u = 0; u < units; u++)
        sum += values[u];
    return sum;
}

static void take_slice(const struct slice *slice, uint32_t epoch, unsigned shift,
                       struct row *ret_row)
{
    *ret_row = (struct row){.values = slice->values, .meant = slice->meant};
    if (epoch >= slice->n_epochs)
        return;
    ret_row->values = &slice->values[slice->epochs[epoch].first];
    ret_row->bursts = slice->epochs[epoch].bursts;
    ret_row->sum = add_up(ret_row->values, units_of(ret_row->bursts, shift));
}

static void cut_epoch(struct median_comparison *c)
{
    qsort(c->rows, c->count, sizeof *c->rows, compare_bursts);
    const double sum = median_sum(c);
    for (uint32_t from = 0, to; from < c->count; from = to) {
        for (to = from; to < c->count && c->rows[to].bursts == c->rows[from].bursts;)
            to++;
        cut_alike(c, from, to, sum);
    }
}

/* Cuts slices that begin with the same epoch and whose units have equally many bursts. The value of
 * each unit of the slices that are meant becomes the share of the unit that is left. `all_meant`:
 * all slices are meant, so that they are peers of each other. `share`: of what a slice takes longer
 * than the median, which it loses. The order of slices does not matter.
 * False: no memory. */
static bool slices_cut(struct slice *slices, uint32_t count, unsigned shift, bool all_meant,
                       double share)
{
    struct median_comparison c = {.rows = calloc(count + (size_t)1, sizeof *c.rows),
                                  .count = count,
                                  .shift = shift,
                                  .all_meant = all_meant,
                                  .share = share,
                                  .scratch = calloc(count + (size_t)1, sizeof *c.scratch)};
    const bool fits = c.rows && c.scratch;
    uint32_t n_epochs = 0;
    for (uint32_t i = 0; i < count; i++)
        n_epochs = slices[i].n_epochs > n_epochs ? slices[i].n_epochs : n_epochs;
    for (uint32_t epoch = 0; fits && epoch < n_epochs; epoch++) {
        for (uint32_t i = 0; i < count; i++)
            take_slice(&slices[i], epoch, shift, &c.rows[i]);
        cut_epoch(&c);
    }
    free(c.rows);
    free(c.scratch);
    return fits;
}

/* ==== peers =================================================================================== */

/* Peers: streams that are compared, whichever members of the team have them. The first member
 * compares them, a block of epochs at a time, so that what it holds of the others is some ten MiB
 * (UNITS_OF_A_BLOCK), however long the run is. */

struct peer {
    struct lull_units *units;
    bool meant; /* to be cut */
};

struct peers {
    struct lull_team *team; /* NULL: alone */
    struct peer *own;       /* [count] */
    uint32_t count;
    /* The same on all members: how many epochs the longest peer has, the shift that all units are
     * to have, and whether all peers are meant, so that they are compared with each other. */
    size_t n_epochs;
    unsigned shift;
    bool all_meant;
    double share; /* of what they take longer than the median, which they lose */
};

enum { UNITS_OF_A_BLOCK = 1 << 22 }; /* 32 MiB; an epoch that has more is a block by itself */

/* Epochs [from, to) of all peers. */
struct block {
    const struct peers *peers;
    size_t from, to;
    struct slice *slices; /* [count]: those of this member; on the first member those of the others
                             follow, member by member */
    uint32_t *members;    /* [count]: the member that has the slice */
    size_t count, capacity, members_capacity;
};

static lull_status no_memory_for_peers(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to compare computations");
}

/* ---- slices -------------------------------------------------------------------------------- */

static bool add_slice(struct block *block, uint32_t member, const struct slice *slice)
{
    if (!lull_array_reserve(&block->slices, &block->capacity, block->count + 1,
                            sizeof *block->slices) ||
        !lull_array_reserve(&block->members, &block->members_capacity, block->count + 1,
                            sizeof *block->members))
        return false;
    block->members[block->count] = member;
    block->slices[block->count++] = *slice;
    return true;
}

/* The epochs [from, to) of a peer. The slice points to the epochs and values of the peer. */
static struct slice slice_of(const struct peer *peer, size_t from, size_t to)
{
    const struct lull_units *units = peer->units;
    const size_t end = to < units->n_epochs ? to : units->n_epochs;
    struct slice slice = {.meant = peer->meant};
    if (end <= from)
        return slice;
    slice.epochs = &units->epochs[from];
    slice.values = units->values;
    slice.n_epochs = (uint32_t)(end - from);
    return slice;
}

static bool open_block(struct block *block)
{
    const struct peers *peers = block->peers;
    bool fits = true;
    for (uint32_t i = 0; i < peers->count && fits; i++) {
        const struct slice slice = slice_of(&peers->own[i], block->from, block->to);
        fits = add_slice(block, lull_team_index(peers->team), &slice);
    }
    return fits;
}

static void close_block(struct block *block)
{
    for (size_t i = block->peers->count; i < block->count; i++) {
        free(block->slices[i].epochs);
        free(block->slices[i].values);
    }
    free(block->slices);
    free(block->members);
}

/* The units of a slice, which lie one behind the other. */
static double *values_of(const struct slice *slice, unsigned shift, size_t *ret_count)
{
    size_t n = 0;
    for (uint32_t e = 0; e < slice->n_epochs; e++)
        n += units_of(slice->epochs[e].bursts, shift);
    *ret_count = n;
    return n > 0 ? &slice->values[slice->epochs[0].first] : NULL;
}

/* ---- to the first and back ----------------------------------------------------------------- */

/* The receiver finds where the units of each epoch begin: their number follows from the bursts. */
static bool put_slice(const struct slice *slice, unsigned shift, struct lull_flow *flow)
{
    size_t n;
    const double *values = values_of(slice, shift, &n);
    return lull_flow_put(flow, &slice->meant, sizeof slice->meant) &&
           lull_flow_put_items(flow, slice->epochs, slice->n_epochs, sizeof *slice->epochs) &&
           lull_flow_put_items(flow, values, n, sizeof *values);
}

static bool get_slice(struct block *block, uint32_t member, struct lull_flow *flow)
{
    struct slice slice = {0};
    size_t n_epochs = 0, n = 0, first = 0;
    struct lull_units_epoch *epochs = NULL;
    if (lull_flow_get(flow, &slice.meant, sizeof slice.meant) &&
        (epochs = lull_flow_get_items(flow, sizeof *epochs, &n_epochs)) != NULL)
        slice.values = lull_flow_get_items(flow, sizeof *slice.values, &n);
    for (size_t e = 0; e < n_epochs; e++) {
        epochs[e].first = first;
        first += units_of(epochs[e].bursts, block->peers->shift);
    }
    slice.epochs = epochs;
    slice.n_epochs = (uint32_t)n_epochs;
    if (slice.values && n == first && add_slice(block, member, &slice))
        return true;
    free(epochs);
    free(slice.values);
    return false;
}

static bool put_own(void *context, struct lull_flow *flow)
{
    const struct block *block = context;
    const uint32_t count = block->peers->count;
    bool good = lull_flow_put(flow, &count, sizeof count);
    for (uint32_t i = 0; i < count && good; i++)
        good = put_slice(&block->slices[i], block->peers->shift, flow);
    return good;
}

static bool get_others(void *context, uint32_t member, struct lull_flow *flow)
{
    struct block *block = context;
    uint32_t count;
    bool good = lull_flow_get(flow, &count, sizeof count);
    for (uint32_t i = 0; i < count && good; i++)
        good = get_slice(block, member, flow);
    return good;
}

/* The shares that are left of the units of the other members' slices that are meant, each slice
 * with the member that has it; UINT32_MAX at the end. */
static bool put_left(void *context, struct lull_flow *flow)
{
    const struct block *block = context;
    const uint32_t end = UINT32_MAX;
    bool good = true;
    for (size_t i = block->peers->count; i < block->count && good; i++) {
        size_t n;
        const double *values = values_of(&block->slices[i], block->peers->shift, &n);
        if (block->slices[i].meant)
            good = lull_flow_put(flow, &block->members[i], sizeof *block->members) &&
                   lull_flow_put_items(flow, values, n, sizeof *values);
    }
    return good && lull_flow_put(flow, &end, sizeof end);
}

/* Takes the shares of this member's slices, which come in the order of the slices; those of other
 * members are skipped. */
static bool get_left(void *context, uint32_t from, struct lull_flow *flow)
{
    const struct block *block = context;
    const uint32_t own = lull_team_index(block->peers->team);
    uint32_t next = 0, member;
    bool good;
    (void)from;
    while ((good = lull_flow_get(flow, &member, sizeof member)) && member != UINT32_MAX) {
        size_t n;
        double *left = lull_flow_get_items(flow, sizeof *left, &n);
        if (!left)
            return false;
        while (member == own && !block->slices[next].meant)
            next++;
        if (member == own) {
            size_t expected;
            double *values = values_of(&block->slices[next], block->peers->shift, &expected);
            if (n != expected) {
                free(left);
                return false;
            }
            if (n > 0)
                memcpy(values, left, n * sizeof *left);
        }
        next += member == own;
        free(left);
    }
    return good;
}

static lull_status cut_block(struct block *block, struct lull_error *err)
{
    static const char what[] = "computations to compare";
    const struct peers *peers = block->peers;
    const struct lull_freight there = {put_own, get_others, block, what};
    const struct lull_freight back = {put_left, get_left, block, what};
    if (!open_block(block))
        return no_memory_for_peers(err);
    lull_status status = lull_team_bring(peers->team, &there, err);
    if (status == LULL_OK && lull_team_is_first(peers->team) &&
        !slices_cut(block->slices, (uint32_t)block->count, peers->shift, peers->all_meant,
                    peers->share))
        return no_memory_for_peers(err);
    return status == LULL_OK ? lull_team_spread(peers->team, &back, err) : status;
}

/* ---- block by block ------------------------------------------------------------------------ */

/* How many units the peers of all members have in each epoch, together. */
static lull_status count_units(const struct peers *peers, int64_t *counts, struct lull_error *err)
{
    for (uint32_t i = 0; i < peers->count; i++)
        for (size_t e = 0; e < peers->own[i].units->n_epochs; e++)
            counts[e] += (int64_t)lull_units_in(peers->own[i].units, e);
    return lull_team_sum_to_all(peers->team, counts, peers->n_epochs, err);
}

static size_t end_of_block(const struct peers *peers, const int64_t *counts, size_t from)
{
    size_t to = from + 1;
    int64_t units = counts[from];
    while (to < peers->n_epochs && units + counts[to] <= UNITS_OF_A_BLOCK)
        units += counts[to++];
    return to;
}

/* Called by all members together; a member that fails may go on to lull_team_agree at once. The
 * value of each unit of the peers that are meant becomes the share of the unit that is left. Units
 * of the other peers are only merged to the common shift. */
static lull_status peers_cut(const struct peers *peers, struct lull_error *err)
{
    for (uint32_t i = 0; i < peers->count; i++)
        lull_units_merge(peers->own[i].units, peers->shift);
    int64_t *counts = calloc(peers->n_epochs + 1, sizeof *counts);
    lull_status status = counts ? count_units(peers, counts, err) : no_memory_for_peers(err);
    for (size_t from = 0, to; from < peers->n_epochs && status == LULL_OK; from = to) {
        struct block block = {.peers = peers, .from = from};
        block.to = to = end_of_block(peers, counts, from);
        status = cut_block(&block, err);
        close_block(&block);
    }
    free(counts);
    return status;
}

/* ==== cuts ==================================================================================== */

/* One stream in one cut. Once the cut is concluded, the value of each unit is the share of the unit
 * that is left. */
struct cut_member {
    struct lull_units units;
    uint32_t location; /* LULL_NONE: it has no bursts */
    bool meant;
    uint32_t epoch, bursts;      /* where apply is: its epoch, and how many bursts of it are over */
    struct lull_stretched burst; /* the bursts so far of the unit where apply is */
};

struct cuts {
    const struct lull_trace *trace;
    const struct lull_what_if_options *wanted;
    const struct lull_treatments *treatments;
    struct lull_team *team;
    uint32_t n_streams, n;
    struct cut_member members[]; /* [n][n_streams] */
};

/* ---- a state ------------------------------------------------------------------------------- */

static bool are_cuts_wanted(const struct lull_what_if_options *wanted)
{
    return wanted->n_cuts > 0;
}

static void *create_cuts(const struct lull_what_if_scene *scene)
{
    const size_t n = (size_t)scene->wanted->n_cuts * scene->n_streams;
    struct cuts *cuts = calloc(1, sizeof *cuts + n * sizeof *cuts->members);
    if (!cuts)
        return NULL;
    cuts->trace = scene->trace;
    cuts->wanted = scene->wanted;
    cuts->treatments = scene->treatments;
    cuts->team = scene->part.team;
    cuts->n_streams = scene->n_streams;
    cuts->n = scene->wanted->n_cuts;
    for (size_t i = 0; i < n; i++)
        cuts->members[i].location = LULL_NONE;
    return cuts;
}

static void forget_cuts(void *state)
{
    struct cuts *cuts = state;
    for (size_t i = 0; i < (size_t)cuts->n * cuts->n_streams; i++) {
        lull_units_free(&cuts->members[i].units);
        cuts->members[i].location = LULL_NONE;
    }
}

static void destroy_cuts(void *state)
{
    forget_cuts(state);
    free(state);
}

static void rewind_members(void *state)
{
    struct cuts *cuts = state;
    for (size_t i = 0; i < (size_t)cuts->n * cuts->n_streams; i++) {
        cuts->members[i].epoch = cuts->members[i].bursts = 0;
        cuts->members[i].burst = (struct lull_stretched){0};
    }
}

static bool learn_cuts(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct cuts *cuts = state;
    const uint64_t which = cuts->treatments->treatments[burst->mark].cuts;
    for (uint32_t i = 0; i < cuts->n; i++) {
        struct cut_member *member = &cuts->members[(size_t)i * cuts->n_streams + burst->stream];
        member->location = burst->location;
        if (which >> i & 1 && !lull_units_add(&member->units, burst->phase, ns))
            return false;
    }
    return true;
}

/* ---- who is compared ----------------------------------------------------------------------- */

static bool is_meant(const struct lull_trace *trace, const struct lull_what_if_cut *cut,
                     uint32_t location)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (cut->node)
        return process->node < trace->n_nodes &&
               strcmp(trace->nodes[process->node].name, cut->node) == 0;
    return cut->rank == LULL_NONE || cut->rank == process->rank;
}

/* The number of the stream's thread in its process; peers have the same number. */
static uint32_t number_of(const struct cuts *cuts, const struct cut_member *member)
{
    const struct lull_location *location = &cuts->trace->locations[member->location];
    return member->location - cuts->trace->processes[location->process].first_location;
}

/* What all members of a team know of the streams with one thread number. */
struct cut_comparison {
    int64_t units;  /* 1 + the largest shift; 0: no member has such a stream */
    int64_t epochs; /* of the stream that has the most */
};

static_assert(sizeof(struct cut_comparison) == 2 * sizeof(int64_t),
              "largest values are taken of both");

/* Streams of this member with one thread number. */
static uint32_t find_peers(const struct cuts *cuts, struct cut_member *members, uint32_t number,
                           struct peer *peers)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < cuts->n_streams; s++)
        if (members[s].location != LULL_NONE && number_of(cuts, &members[s]) == number)
            peers[n++] = (struct peer){&members[s].units, members[s].meant};
    return n;
}

/* Compares the streams of each thread number with each other. */
static lull_status compare_thread_numbers(const struct cuts *cuts, struct cut_member *members,
                                          bool all_meant, double share,
                                          struct cut_comparison *comparisons, uint32_t count,
                                          struct lull_error *err)
{
    struct peer *own = calloc(cuts->n_streams + (size_t)1, sizeof *own);
    lull_status status = own ? LULL_OK : lull_what_if_no_memory(cuts->trace, err);
    for (uint32_t s = 0; s < cuts->n_streams; s++) {
        if (members[s].location == LULL_NONE)
            continue;
        struct cut_comparison *of = &comparisons[number_of(cuts, &members[s])];
        const struct lull_units *units = &members[s].units;
        of->units = units->shift + 1 > of->units ? units->shift + 1 : of->units;
        of->epochs = (int64_t)units->n_epochs > of->epochs ? (int64_t)units->n_epochs : of->epochs;
    }
    if (status == LULL_OK)
        status = lull_team_max_to_all(cuts->team, (int64_t *)comparisons, 2 * (size_t)count, err);
    for (uint32_t number = 0; number < count && status == LULL_OK; number++) {
        const struct cut_comparison *of = &comparisons[number];
        struct peers peers = {.team = cuts->team,
                              .own = own,
                              .n_epochs = (size_t)of->epochs,
                              .shift = (unsigned)(of->units - 1),
                              .all_meant = all_meant,
                              .share = share};
        if (of->units == 0)
            continue;
        peers.count = find_peers(cuts, members, number, own);
        status = peers_cut(&peers, err);
    }
    free(own);
    return status;
}

static lull_status conclude_cut(struct cuts *cuts, uint32_t index, struct lull_error *err)
{
    const struct lull_what_if_cut *cut = &cuts->wanted->cuts[index];
    struct cut_member *members = &cuts->members[(size_t)index * cuts->n_streams];
    int64_t count = 0; /* of thread numbers */
    for (uint32_t s = 0; s < cuts->n_streams; s++) {
        if (members[s].location == LULL_NONE)
            continue;
        members[s].meant = is_meant(cuts->trace, cut, members[s].location);
        const int64_t number = number_of(cuts, &members[s]);
        count = number + 1 > count ? number + 1 : count;
    }
    lull_status status = lull_team_max_to_all(cuts->team, &count, 1, err);
    if (status != LULL_OK)
        return status;
    struct cut_comparison *comparisons = calloc((size_t)count + 1, sizeof *comparisons);
    status = comparisons
                 ? compare_thread_numbers(cuts, members, !cut->node && cut->rank == LULL_NONE,
                                          cut->share > 0 ? cut->share : 1, comparisons,
                                          (uint32_t)count, err)
                 : lull_what_if_no_memory(cuts->trace, err);
    free(comparisons);
    for (uint32_t s = 0; s < cuts->n_streams; s++)
        if (!members[s].meant)
            lull_units_free(&members[s].units);
    return status;
}

static lull_status conclude_cuts(void *state, struct lull_error *err)
{
    struct cuts *cuts = state;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < cuts->n && status == LULL_OK; i++)
        status = conclude_cut(cuts, i, err);
    return status;
}

/* ---- a burst ------------------------------------------------------------------------------- */

static int64_t cut_burst(struct cut_member *member, uint32_t epoch, int64_t ns)
{
    const struct lull_units *units = &member->units;
    if (member->epoch != epoch) {
        member->epoch = epoch;
        member->bursts = 0;
    }
    const uint32_t burst = member->bursts++;
    if (!member->meant || epoch >= units->n_epochs || burst >= units->epochs[epoch].bursts)
        return ns;
    if ((burst & ((UINT32_C(1) << units->shift) - 1)) == 0)
        member->burst = (struct lull_stretched){0};
    const double left = units->values[units->epochs[epoch].first + (burst >> units->shift)];
    return left < 1 ? lull_stretch_on(&member->burst, ns, left, 1) : ns;
}

static int64_t apply_cuts(void *state, const struct lull_replay_burst *burst, int64_t ns)
{
    struct cuts *cuts = state;
    const uint64_t which = cuts->treatments->treatments[burst->mark].cuts;
    int64_t shortest = ns;
    for (uint32_t i = 0; i < cuts->n; i++) {
        if (!(which >> i & 1))
            continue;
        struct cut_member *member = &cuts->members[(size_t)i * cuts->n_streams + burst->stream];
        const int64_t length = cut_burst(member, burst->phase, ns);
        shortest = length < shortest ? length : shortest;
    }
    return shortest;
}

const struct lull_what_if_kind lull_kind_cuts = {.is_wanted = are_cuts_wanted,
                                                 .create = create_cuts,
                                                 .destroy = destroy_cuts,
                                                 .learn = learn_cuts,
                                                 .conclude = conclude_cuts,
                                                 .forget = forget_cuts,
                                                 .apply = apply_cuts,
                                                 .rewind = rewind_members};
