/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/diff_study.h"

#include "base/sorted.h"
#include "stats/hypothesis_test.h"
#include "stats/quantile.h"
#include "stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double confidence = 0.95;

/* ---- regions --------------------------------------------------------------------------------- */

static bool lacks_regions(const struct lull_history_entry *runs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool any = false;
        for (uint32_t p = 0; p < runs[i].parts.count; p++)
            any |= *runs[i].parts.parts[p].region != '\0';
        if (!any)
            return true;
    }
    return false;
}

/* Copies of entries in which the parts of one activity are one part, without a region. */
static struct lull_history_entry *without_regions(const struct lull_history_entry *runs,
                                                  uint32_t count, struct lull_arena *arena)
{
    struct lull_history_entry *copies = lull_arena_zero(arena, count + 1, sizeof(*copies));
    for (uint32_t i = 0; i < count; i++) {
        int64_t ns[LULL_ACTIVITIES + 1] = {0};
        copies[i] = runs[i];
        for (uint32_t p = 0; p < runs[i].parts.count; p++)
            ns[runs[i].parts.parts[p].activity] += runs[i].parts.parts[p].ns;
        copies[i].parts.count = 0;
        copies[i].parts.parts =
            lull_arena_zero(arena, LULL_ACTIVITIES + 1, sizeof(*copies[i].parts.parts));
        for (int activity = 0; activity <= LULL_ACTIVITIES; activity++)
            if (ns[activity])
                copies[i].parts.parts[copies[i].parts.count++] =
                    (struct lull_part){.region = "",
                                       .site = "",
                                       .activity = (uint8_t)activity,
                                       .ns = ns[activity],
                                       .file = ""};
    }
    return copies;
}

/* If some run has no regions, compares by activity alone: its time would otherwise be set against
 * the time outside of regions of the other runs. */
static void unify_regions(struct lull_diff *diff, struct lull_arena *arena)
{
    struct lull_history *history = lull_arena_zero(arena, 1, sizeof(*history));
    diff->by_activity = lacks_regions(diff->before, diff->n_before) ||
                        lacks_regions(diff->after, diff->n_after) ||
                        lacks_regions(diff->history->entries, diff->history->count);
    if (!diff->by_activity)
        return;
    *history = *diff->history;
    history->entries = without_regions(history->entries, history->count, arena);
    diff->before = without_regions(diff->before, diff->n_before, arena);
    diff->after = without_regions(diff->after, diff->n_after, arena);
    diff->history = history;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int compare_rows(const void *left, const void *right)
{
    const struct lull_diff_row *a = left, *b = right;
    return lull_part_compare(a->part, b->part);
}

static int64_t change_of(const struct lull_diff_row *row)
{
    return row->after_ns - row->before_ns;
}

/* Rows whose time has changed most, up or down, come first. */
static int by_change(const void *left, const void *right)
{
    const struct lull_diff_row *a = left, *b = right;
    const int64_t of_a = llabs(change_of(a)), of_b = llabs(change_of(b));
    return of_a != of_b ? (of_a < of_b ? 1 : -1) : lull_part_compare(a->part, b->part);
}

static uint32_t count_parts_of_runs(const struct lull_history_entry *runs, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += runs[i].parts.count;
    return sum;
}

static void gather_parts(const struct lull_history_entry *runs, uint32_t count,
                         struct lull_diff *diff)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = 0; p < runs[i].parts.count; p++)
            diff->rows[diff->n_rows++].part = &runs[i].parts.parts[p];
}

/* Makes one row for each part that any run has. */
static void make_rows(struct lull_diff *diff, struct lull_arena *arena)
{
    const uint32_t room = count_parts_of_runs(diff->before, diff->n_before) +
                          count_parts_of_runs(diff->after, diff->n_after);
    uint32_t kept = 0;
    diff->rows = lull_arena_zero(arena, room + 2, sizeof(*diff->rows));
    gather_parts(diff->before, diff->n_before, diff);
    gather_parts(diff->after, diff->n_after, diff);
    if (diff->n_rows > 1)
        qsort(diff->rows, diff->n_rows, sizeof(*diff->rows), compare_rows);
    for (uint32_t i = 0; i < diff->n_rows; i++)
        if (!kept || lull_part_compare(diff->rows[kept - 1].part, diff->rows[i].part) != 0)
            diff->rows[kept++] = diff->rows[i];
    diff->n_rows = kept;
}

static int64_t time_of_part(const struct lull_history_entry *run, const struct lull_part *like)
{
    const struct lull_part *part = lull_parts_find(&run->parts, like);
    return part ? part->ns : 0;
}

/* Sets the mean of each row over the runs. Means are rounded so that they add up: the mean of a row
 * is (the sum of all rows up to it) / count, minus the same up to the row before it. Returns the
 * mean of the whole. */
static int64_t fill_means(struct lull_diff *diff, const struct lull_history_entry *runs,
                          uint32_t count, bool after)
{
    int64_t sum = 0, mean = 0;
    for (uint32_t r = 0; r < diff->n_rows; r++) {
        for (uint32_t i = 0; i < count; i++)
            sum += time_of_part(&runs[i], diff->rows[r].part);
        const int64_t next = sum / (int64_t)count;
        *(after ? &diff->rows[r].after_ns : &diff->rows[r].before_ns) = next - mean;
        mean = next;
    }
    return mean;
}

/* Joins into one row, at the end, the rows that on both sides are below a thousandth of the longer
 * side's total time. */
static void join_small(struct lull_diff *diff)
{
    const int64_t all = diff->before_ns > diff->after_ns ? diff->before_ns : diff->after_ns;
    struct lull_diff_row small = {.part = NULL};
    uint32_t kept = 0, joined = 0;
    for (uint32_t r = 0; r < diff->n_rows; r++) {
        const struct lull_diff_row *row = &diff->rows[r];
        if (row->before_ns >= all / 1000 || row->after_ns >= all / 1000) {
            diff->rows[kept++] = *row;
            continue;
        }
        small.before_ns += row->before_ns;
        small.after_ns += row->after_ns;
        joined++;
    }
    if (kept > 1)
        qsort(diff->rows, kept, sizeof(*diff->rows), by_change);
    if (joined)
        diff->rows[kept++] = small;
    diff->n_rows = kept;
}

/* ---- what is certain ------------------------------------------------------------------------- */

struct samples {
    double *before, *after, *differences; /* in s */
    uint32_t n_before, n_after;
    size_t margin; /* sorted differences at each end that lie outside of the interval */
    bool has_margin;
};

static struct samples make_samples(const struct lull_diff *diff, struct lull_arena *arena)
{
    struct samples samples = {.n_before = diff->n_before + diff->history->count,
                              .n_after = diff->n_after};
    samples.before = lull_arena_zero(arena, samples.n_before, sizeof(double));
    samples.after = lull_arena_zero(arena, samples.n_after, sizeof(double));
    samples.differences =
        lull_arena_zero(arena, (size_t)samples.n_before * samples.n_after, sizeof(double));
    samples.has_margin =
        lull_rank_margin(samples.n_before, samples.n_after, confidence, &samples.margin);
    return samples;
}

/* Estimates the difference: the median of all differences of an `after` and a `before` value, its
 * interval, and the probability of a rank test. */
static struct lull_difference find_difference(struct samples *samples)
{
    struct lull_difference found = {.has_interval = samples->has_margin, .asked = NAN};
    size_t count = 0;
    for (uint32_t a = 0; a < samples->n_after; a++)
        for (uint32_t b = 0; b < samples->n_before; b++)
            samples->differences[count++] = samples->after[a] - samples->before[b];
    lull_sort(samples->differences, count);
    lull_sort(samples->before, samples->n_before);
    lull_sort(samples->after, samples->n_after);
    found.shift = lull_median(samples->differences, count);
    found.low = samples->differences[samples->has_margin ? samples->margin : 0];
    found.high = samples->differences[count - 1 - (samples->has_margin ? samples->margin : 0)];
    found.probability =
        lull_rank_test(samples->before, samples->n_before, samples->after, samples->n_after);
    return found;
}

static const struct lull_history_entry *run_before(const struct lull_diff *diff, uint32_t i)
{
    return i < diff->n_before ? &diff->before[i] : &diff->history->entries[i - diff->n_before];
}

/* Compares the times of one part; `part` NULL: the runtimes. */
static struct lull_difference compare_samples(const struct lull_diff *diff,
                                              const struct lull_part *part, struct samples *samples)
{
    for (uint32_t i = 0; i < samples->n_before; i++) {
        const struct lull_history_entry *run = run_before(diff, i);
        samples->before[i] =
            part ? 1e-9 * (double)time_of_part(run, part) : lull_history_value_of(run, "runtime");
    }
    for (uint32_t i = 0; i < samples->n_after; i++) {
        const struct lull_history_entry *run = &diff->after[i];
        samples->after[i] =
            part ? 1e-9 * (double)time_of_part(run, part) : lull_history_value_of(run, "runtime");
    }
    return find_difference(samples);
}

/* The fewest runs on either side with which the first row that is kept apart by the number of rows alone could be
 * certain: its interval does not contain 0. */
static uint32_t find_more_runs(const struct lull_diff *diff, const struct samples *samples)
{
    enum { MOST_RUNS = 50 };
    double asked = 0;
    for (uint32_t r = 0; r < diff->n_rows && diff->rows[r].part && asked == 0; r++) {
        const struct lull_difference *row = &diff->rows[r].difference;
        if (!row->certain && row->has_interval && (row->low > 0 || row->high < 0))
            asked = row->asked;
    }
    const uint32_t runs =
        samples->n_before > samples->n_after ? samples->n_before : samples->n_after;
    for (uint32_t n = runs; asked > 0 && n <= MOST_RUNS; n++)
        if (lull_rank_least(n, n) <= asked)
            return n;
    return 0;
}

static void compare_all(struct lull_diff *diff, struct lull_arena *arena)
{
    struct samples samples = make_samples(diff, arena);
    const uint32_t count = diff->n_rows;
    double *probabilities = lull_arena_zero(arena, count + 1, sizeof(*probabilities));
    double *asked = lull_arena_zero(arena, count + 1, sizeof(*asked));
    bool *rejected = lull_arena_zero(arena, count + 1, sizeof(*rejected));
    uint32_t tested = 0;
    diff->runtime = compare_samples(diff, NULL, &samples);
    diff->runtime.certain = diff->runtime.probability <= 1 - confidence;
    for (; tested < count && diff->rows[tested].part; tested++) {
        diff->rows[tested].difference = compare_samples(diff, diff->rows[tested].part, &samples);
        probabilities[tested] = diff->rows[tested].difference.probability;
    }
    lull_holm(probabilities, tested, 1 - confidence, rejected, asked);
    for (uint32_t r = 0; r < tested; r++) {
        diff->rows[r].difference.certain = rejected[r];
        diff->rows[r].difference.asked = asked[r];
    }
    diff->more_runs = find_more_runs(diff, &samples);
}

/* ---- computation ----------------------------------------------------------------------------- */

static double mean_value(const struct lull_history_entry *runs, uint32_t count, const char *id)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += lull_history_value_of(&runs[i], id);
    return sum / count;
}

/* Useful time is instructions x cycles per instruction x time per cycle. The change of this product
 * is shared among its factors in proportion to the logarithms of their growth, with the logarithmic
 * mean of the product as the unit (Ang, Energy Policy 32 (2004), 1131): the shares add up to the
 * whole change. */
static void split_computation(struct lull_diff *diff)
{
    static const char *const ids[] = {"useful_time", "instructions", "cycles"};
    double before[3], after[3], growth[3];
    for (int i = 0; i < 3; i++) {
        before[i] = mean_value(diff->before, diff->n_before, ids[i]);
        after[i] = mean_value(diff->after, diff->n_after, ids[i]);
        growth[i] = log(after[i] / before[i]);
        if (isfinite(growth[i]))
            continue;
        diff->computation.absent = i == 0   ? "nothing was computed"
                                   : i == 1 ? "no instruction counter in all runs"
                                            : "no cycle counter in all runs";
        return;
    }
    const double change = 1e9 * (after[0] - before[0]);
    const double unit = growth[0] != 0 ? change / growth[0] : 1e9 * before[0];
    diff->computation.instructions_ns = llround(unit * growth[1]);
    diff->computation.ipc_ns = llround(unit * (growth[2] - growth[1]));
    diff->computation.frequency_ns =
        llround(change) - diff->computation.instructions_ns - diff->computation.ipc_ns;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Useful time of a function in the runs of a group: mean, and the variance of the mean, which comes from
 * how the runs differ or, of one run, from the number of its samples. */
struct function_time {
    double mean, variance;
};

static const struct lull_history_function *function_of(const struct lull_history_entry *run,
                                                       const char *id)
{
    struct lull_bisection at = {.end = run->n_functions};
    while (lull_bisect(&at))
        at.in_front = strcmp(run->functions[at.middle].id, id) < 0;
    return at.begin < run->n_functions && strcmp(run->functions[at.begin].id, id) == 0
               ? &run->functions[at.begin]
               : NULL;
}

static struct function_time time_of_function(const struct lull_history_entry *runs, uint32_t count,
                                             const char *id, bool of_runs)
{
    struct function_time time = {0, 0};
    double sampled = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_history_function *function = function_of(&runs[i], id);
        time.mean += function ? (double)function->ns / count : 0;
        sampled += function ? function->error_ns * function->error_ns : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_history_function *function = function_of(&runs[i], id);
        const double off = (function ? (double)function->ns : 0) - time.mean;
        squares += off * off;
    }
    time.variance = of_runs ? squares / (count - 1) / count : sampled / count / count;
    return time;
}

/* Welch's interval: B. L. Welch, Biometrika 34 (1947) 28; of single runs the normal distribution's. */
static void compare_function(const struct lull_diff *diff, struct lull_diff_function *function)
{
    const bool of_runs = diff->functions_of_runs;
    const struct function_time before =
        time_of_function(diff->before, diff->n_before, function->id, of_runs);
    const struct function_time after =
        time_of_function(diff->after, diff->n_after, function->id, of_runs);
    const double variance = before.variance + after.variance, change = after.mean - before.mean;
    double times = LULL_NORMAL_975;
    if (of_runs && variance > 0) {
        const double freedom = variance * variance /
                               (before.variance * before.variance / (diff->n_before - 1) +
                                after.variance * after.variance / (diff->n_after - 1));
        times = lull_student_quantile(1 - (1 - confidence) / 2, fmax(freedom, 1));
    }
    function->before_ns = llround(before.mean);
    function->after_ns = llround(after.mean);
    function->low_ns = change - times * sqrt(variance);
    function->high_ns = change + times * sqrt(variance);
}

static bool all_have_functions(const struct lull_history_entry *runs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!runs[i].functions)
            return false;
    return true;
}

static int by_id_of_function(const void *left, const void *right)
{
    const struct lull_diff_function *a = left, *b = right;
    return strcmp(a->id, b->id);
}

static int by_change_of_function(const void *left, const void *right)
{
    const struct lull_diff_function *a = left, *b = right;
    const int64_t of_a = llabs(a->after_ns - a->before_ns);
    const int64_t of_b = llabs(b->after_ns - b->before_ns);
    return of_a != of_b ? (of_a < of_b ? 1 : -1) : strcmp(a->id, b->id);
}

static uint32_t list_ids(const struct lull_history_entry *runs, uint32_t count,
                         struct lull_diff_function *functions)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t f = 0; f < runs[i].n_functions; f++, n++)
            if (functions)
                functions[n].id = runs[i].functions[f].id;
    return n;
}

/* Those that have less than a thousandth of the useful time on both sides become one. */
static void compare_functions(struct lull_diff *diff, struct lull_arena *arena)
{
    struct lull_diff_function small = {.id = NULL};
    int64_t before = 0, after = 0;
    uint32_t n = 0, kept = 0;
    if (!all_have_functions(diff->before, diff->n_before) ||
        !all_have_functions(diff->after, diff->n_after))
        return;
    diff->functions_of_runs = diff->n_before > 1 && diff->n_after > 1;
    const uint32_t room =
        list_ids(diff->before, diff->n_before, NULL) + list_ids(diff->after, diff->n_after, NULL);
    struct lull_diff_function *all = lull_arena_zero(arena, room + (size_t)2, sizeof *all);
    uint32_t count = list_ids(diff->before, diff->n_before, all);
    count += list_ids(diff->after, diff->n_after, all + count);
    qsort(all, count, sizeof *all, by_id_of_function);
    for (uint32_t i = 0; i < count; i++)
        if (n == 0 || strcmp(all[n - 1].id, all[i].id) != 0)
            all[n++] = all[i];
    for (uint32_t i = 0; i < n; i++) {
        compare_function(diff, &all[i]);
        before += all[i].before_ns;
        after += all[i].after_ns;
    }
    const int64_t least = (before > after ? before : after) / 1000;
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].before_ns >= least || all[i].after_ns >= least) {
            all[kept++] = all[i];
            continue;
        }
        small.before_ns += all[i].before_ns;
        small.after_ns += all[i].after_ns;
    }
    qsort(all, kept, sizeof *all, by_change_of_function);
    if (kept < n)
        all[kept++] = small;
    diff->functions = all;
    diff->n_functions = kept;
}

void lull_diff_make(const struct lull_history_entry *before, uint32_t n_before,
                    const struct lull_history_entry *after, uint32_t n_after,
                    const struct lull_history *history, struct lull_arena *arena,
                    struct lull_diff *ret_diff)
{
    *ret_diff = (struct lull_diff){.before = before,
                                   .after = after,
                                   .n_before = n_before,
                                   .n_after = n_after,
                                   .history = history};
    unify_regions(ret_diff, arena);
    make_rows(ret_diff, arena);
    ret_diff->before_ns = fill_means(ret_diff, ret_diff->before, n_before, false);
    ret_diff->after_ns = fill_means(ret_diff, ret_diff->after, n_after, true);
    ret_diff->before_s = mean_value(before, n_before, "runtime");
    ret_diff->after_s = mean_value(after, n_after, "runtime");
    join_small(ret_diff);
    compare_all(ret_diff, arena);
    split_computation(ret_diff);
    compare_functions(ret_diff, arena);
}

lull_status lull_diff_read(const struct lull_diff_group groups[2], const char *against,
                           const struct lull_runs_options *runs,
                           const struct lull_history_about *about, struct lull_notices *notices,
                           struct lull_arena *arena, struct lull_diff *ret_diff,
                           struct lull_error *err)
{
    struct lull_history_entry *entries[2];
    uint32_t count[2];
    struct lull_history *series = lull_arena_zero(arena, 1, sizeof *series);
    lull_status status = LULL_OK;
    for (int i = 0; status == LULL_OK && i < 2; i++)
        status = lull_history_measure(groups[i].paths, groups[i].count, runs, about, notices, arena,
                                      &entries[i], &count[i], err);
    if (status == LULL_OK)
        status = lull_history_read_series(against, &entries[0]->key, NULL, arena, series, err);
    if (status == LULL_OK) {
        lull_history_follow_edit(entries[0], count[0], &entries[1][0], notices);
        lull_history_follow_edit(series->entries, series->count, &entries[1][0], notices);
    }
    for (int i = 0; status == LULL_OK && i < 2; i++) {
        const struct lull_history before = {
            .path = groups[0].paths[0], .entries = entries[0], .count = count[0]};
        status = lull_history_check(&before, entries[i], count[i], runs->force, notices, err);
    }
    if (status == LULL_OK)
        lull_diff_make(entries[0], count[0], entries[1], count[1], series, arena, ret_diff);
    return status;
}
