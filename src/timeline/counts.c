/* What was counted in useful time, by leaf and bin. */
#include "timeline/builder.h"

#include <stdlib.h>
#include <string.h>

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
