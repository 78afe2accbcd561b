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
    if (any)
        tally->bins = calloc(timeline->n_leaves, sizeof *tally->bins);
    timeline->tally = tally;
    return tally->bins || !any;
}

void lull_timeline_tally_release(struct lull_timeline_tally *tally)
{
    for (uint32_t l = 0; tally->bins && l < tally->n_leaves; l++)
        for (int which = 0; which < LULL_TIMELINE_COUNTS; which++)
            free(tally->bins[l][which]);
    free(tally->bins);
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
    for (uint32_t bin = 0; bin < BINS; bin++) {
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
        spread(*bins, timeline, (int64_t)reading->reading.value, from, reading->time);
    }
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
