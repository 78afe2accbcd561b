/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/history/gate.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "stats/hypothesis_test.h"
#include "stats/quantile.h"
#include "study/history/history.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ==== conditions ============================================================================== */

/* A copy without blanks at either end. */
static char *trim(const char *begin, const char *end, struct lull_arena *arena)
{
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    return lull_arena_strndup(arena, begin, (size_t)(end - begin));
}

/* Whether a metric exists: a quantity (lull_history_quantities), region:NAME, function:NAME, or the id of a metric
 * of the trees. LULL_ERR_RANGE names the nearest. */
static lull_status condition_metric(const char *metric, struct lull_arena *arena,
                                    struct lull_error *err)
{
    if ((strncmp(metric, "region:", 7) == 0 && metric[7]) ||
        (strncmp(metric, "function:", 9) == 0 && metric[9]))
        return LULL_OK;
    size_t quantities = 0, count;
    while (lull_history_quantities[quantities])
        quantities++;
    count = quantities + (size_t)lull_metric_count;
    const char **names = lull_arena_zero(arena, count, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        names[i] =
            i < quantities ? lull_history_quantities[i] : lull_metric_defs[i - quantities].id;
        if (strcmp(names[i], metric) == 0)
            return LULL_OK;
    }
    const char *meant = lull_suggest(metric, names, count);
    if (meant)
        return lull_fail(err, LULL_ERR_RANGE, "unknown metric '%s', did you mean '%s'?", metric,
                         meant);
    return lull_fail(err, LULL_ERR_RANGE,
                     "unknown metric '%s', expected runtime, core_time, useful_time, instructions, "
                     "cycles, region:NAME, function:NAME or one that "
                     "'lull metrics --format json' names",
                     metric);
}

static bool is_time(const char *metric)
{
    static const char *const times[] = {"runtime", "core_time", "useful_time"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(metric, times[i]) == 0)
            return true;
    return strncmp(metric, "region:", 7) == 0 || strncmp(metric, "function:", 9) == 0;
}

/* "1.05"; with `time` also "2s" and "250ms", in seconds. */
static bool read_number(const char *text, bool time, double *ret_value)
{
    double ns;
    if (lull_parse_real(text, ret_value) == LULL_OK)
        return true;
    if (!time || lull_parse_time_real(text, 1e9, &ns, NULL) != LULL_OK)
        return false;
    *ret_value = ns / 1e9;
    return true;
}

/* Reads "baseline", "1.05 * baseline" or "baseline * 1.05". */
static bool read_product(const char *text, struct lull_arena *arena, double *ret_factor)
{
    static const char word[] = "baseline";
    const char *star = strchr(text, '*');
    *ret_factor = 1;
    if (!star)
        return strcmp(text, word) == 0;
    const char *left = trim(text, star, arena);
    const char *right = trim(star + 1, text + strlen(text), arena);
    const char *number = strcmp(left, word) == 0 ? right : strcmp(right, word) == 0 ? left : NULL;
    return number && read_number(number, false, ret_factor) && *ret_factor > 0;
}

/* The sign between a product ("1.05 * baseline") and what is added to it; NULL: nothing is. The
 * sign of a number, at its begin or behind the e of its exponent, does not count. */
static const char *find_sign(const char *text)
{
    const char *word = strstr(text, "baseline");
    const char *star = strchr(text, '*');
    const char *from = star && star > word ? star + 1 : word;
    while (isspace((unsigned char)*from))
        from++;
    for (const char *at = from + 1; *at; at++)
        if ((*at == '+' || *at == '-') && at[-1] != 'e' && at[-1] != 'E')
            return at;
    return NULL;
}

static bool read_limit(const char *text, struct lull_arena *arena, struct lull_condition *condition)
{
    const bool time = is_time(condition->metric);
    condition->factor = condition->offset = 0;
    condition->relative = strstr(text, "baseline") != NULL;
    if (!condition->relative)
        return read_number(text, time, &condition->offset);
    const char *sign = find_sign(text), *end = text + strlen(text);
    if (sign) {
        if (!read_number(trim(sign + 1, end, arena), time, &condition->offset))
            return false;
        condition->offset *= *sign == '-' ? -1 : 1;
        end = sign;
    }
    return read_product(trim(text, end, arena), arena, &condition->factor);
}

/* The last < or > of a condition; NULL: there is none. Names of regions may hold others. */
static const char *find_comparison(const char *text)
{
    const char *found = NULL;
    for (const char *at = text; *at; at++)
        if (*at == '<' || *at == '>')
            found = at;
    return found;
}

lull_status lull_condition_read(const char *text, struct lull_arena *arena,
                                struct lull_condition *ret_condition, struct lull_error *err)
{
    const char *sign = find_comparison(text);
    if (!sign)
        return lull_fail(err, LULL_ERR_RANGE,
                         "'%s' compares nothing, expected one as 'runtime > 1.05 * baseline'",
                         text);
    struct lull_condition condition = {.text = lull_arena_strdup(arena, text),
                                       .metric = trim(text, sign, arena),
                                       .above = *sign == '>'};
    const char *rest = sign + 1 + (sign[1] == '=');
    const char *limit = trim(rest, rest + strlen(rest), arena);
    if (!read_limit(limit, arena, &condition))
        return lull_fail(err, LULL_ERR_RANGE,
                         "'%s' is no limit, expected a number%s, 'baseline' or '1.05 * baseline'",
                         limit, is_time(condition.metric) ? " of seconds or a time as '2s'" : "");
    lull_status status = condition_metric(condition.metric, arena, err);
    if (status == LULL_OK)
        *ret_condition = condition;
    return status;
}

lull_status lull_conditions_read(const char *const *texts, bool has_baseline,
                                 struct lull_arena *arena,
                                 const struct lull_condition **ret_conditions, uint32_t *ret_count,
                                 struct lull_error *err)
{
    uint32_t count = 0;
    while (texts && texts[count])
        count++;
    struct lull_condition *conditions = lull_arena_zero(arena, count + 1, sizeof *conditions);
    for (uint32_t i = 0; i < count; i++) {
        lull_status status = lull_condition_read(texts[i], arena, &conditions[i], err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "--fail-if");
        if (conditions[i].relative && !has_baseline)
            return lull_fail(err, LULL_ERR_RANGE,
                             "--fail-if: '%s' needs a baseline, which --against FILE tells",
                             texts[i]);
    }
    *ret_conditions = conditions;
    *ret_count = count;
    return count ? LULL_OK
                 : lull_fail(err, LULL_ERR_RANGE,
                             "expected at least one --fail-if, as 'runtime > 1.05 * baseline'");
}

lull_status lull_condition_metrics(const char *text, struct lull_arena *arena,
                                   const char ***ret_metrics, size_t *ret_count,
                                   struct lull_error *err)
{
    lull_status status = LULL_OK;
    *ret_metrics = lull_split(text, ",", arena, ret_count);
    for (size_t i = 0; status == LULL_OK && i < *ret_count; i++)
        status = condition_metric((*ret_metrics)[i], arena, err);
    return status;
}

/* ==== levels ================================================================================== */

/* The probability that a change of the level is claimed in a series that has none. */
#define LEVEL_FALSE_ALARMS 0.01

uint32_t lull_history_values(const struct lull_history_entry *entries, uint32_t count,
                             const char *metric, struct lull_arena *arena, double **ret_values,
                             uint32_t **ret_indices)
{
    uint32_t found = 0;
    *ret_values = lull_arena_zero(arena, count + 1, sizeof(**ret_values));
    *ret_indices = lull_arena_zero(arena, count + 1, sizeof(**ret_indices));
    for (uint32_t i = 0; i < count; i++) {
        const double value = lull_history_value_of(&entries[i], metric);
        if (!isfinite(value))
            continue;
        (*ret_values)[found] = value;
        (*ret_indices)[found++] = i;
    }
    return found;
}

double lull_history_median(const double *values, uint32_t count, struct lull_arena *arena)
{
    if (!count)
        return NAN;
    double *sorted = lull_arena_alloc(arena, count * sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    lull_sort(sorted, count);
    return lull_median(sorted, count);
}

uint32_t lull_history_levels(const struct lull_history *series, const char *metric,
                             struct lull_arena *arena, struct lull_history_level **ret_levels)
{
    double *values;
    uint32_t *indices;
    const uint32_t count =
        lull_history_values(series->entries, series->count, metric, arena, &values, &indices);
    size_t *places = lull_arena_zero(arena, count + 1, sizeof(*places));
    const size_t changes = lull_change_points(values, count, LEVEL_FALSE_ALARMS, places);
    struct lull_history_level *levels = lull_arena_zero(arena, changes + 1, sizeof(*levels));
    for (size_t i = 0; count && i <= changes; i++) {
        const uint32_t begin = i ? (uint32_t)places[i - 1] : 0;
        const uint32_t end = i < changes ? (uint32_t)places[i] : count;
        levels[i] = (struct lull_history_level){
            .first = indices[begin],
            .last = indices[end - 1],
            .runs = end - begin,
            .median = lull_history_median(values + begin, end - begin, arena),
        };
    }
    *ret_levels = levels;
    return count ? (uint32_t)changes + 1 : 0;
}

/* ==== parts that have changed ================================================================= */

/* The median of the time in a part over the runs. A run that lacks the part counts as 0, and so
 * does one in which the part is so short that the line of a history leaves it out. */
static int64_t median_time(const struct lull_history_entry *runs, uint32_t count,
                           const struct lull_part *like, double *scratch)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_part *part = lull_parts_find(&runs[i].parts, like);
        scratch[i] = part && lull_part_is_kept(part, &runs[i].parts) ? (double)part->ns : 0;
    }
    lull_sort(scratch, count);
    return (int64_t)llround(lull_median(scratch, count));
}

static double median_value(const struct lull_history_entry *runs, uint32_t count, const char *id,
                           double *scratch)
{
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = lull_history_value_of(&runs[i], id);
    lull_sort(scratch, count);
    return lull_median(scratch, count);
}

static int64_t growth(const struct lull_move *move)
{
    return move->after_ns - move->before_ns;
}

static int by_growth(const void *left, const void *right)
{
    const int64_t a = growth(left), b = growth(right);
    return a < b   ? 1
           : a > b ? -1
                   : lull_part_compare(((const struct lull_move *)left)->part,
                                       ((const struct lull_move *)right)->part);
}

static int by_loss(const void *left, const void *right)
{
    const int64_t a = growth(left), b = growth(right);
    return a < b   ? -1
           : a > b ? 1
                   : lull_part_compare(((const struct lull_move *)left)->part,
                                       ((const struct lull_move *)right)->part);
}

/* A thread that computes, or reads and writes files, waits for no other one. */
static bool is_own_time(const struct lull_part *part)
{
    return part->activity == LULL_USEFUL || part->activity == LULL_IO ||
           part->activity == LULL_MPI_IO;
}

/* Moves to the front the first part of a thread's own time that explains at least half of the
 * longer runtime. */
static void put_cause_first(struct lull_gate *gate, double longer_ns)
{
    static const double enough = 0.5;
    for (uint32_t i = 0; i < gate->n_moves; i++) {
        const struct lull_move cause = gate->moves[i];
        if (!is_own_time(cause.part) || (double)growth(&cause) < enough * longer_ns)
            continue;
        memmove(gate->moves + 1, gate->moves, i * sizeof(*gate->moves));
        gate->moves[0] = cause;
        return;
    }
}

/* Adds the parts of runs that `moves` does not have yet. New runs are gathered first: they know
 * file and line of a part, which those of a history do not. */
static uint32_t gather_moves(const struct lull_history_entry *runs, uint32_t count,
                             struct lull_move *moves, uint32_t n_moves)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = 0; p < runs[i].parts.count; p++) {
            const struct lull_part *part = &runs[i].parts.parts[p];
            uint32_t known = 0;
            while (known < n_moves && lull_part_compare(moves[known].part, part) != 0)
                known++;
            if (known == n_moves)
                moves[n_moves++] = (struct lull_move){.part = part};
        }
    return n_moves;
}

static uint32_t count_parts_at_most(const struct lull_history_entry *runs, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += runs[i].parts.count;
    return sum;
}

void lull_gate_moves(const struct lull_history_entry *before, uint32_t n_before,
                     const struct lull_history_entry *after, uint32_t n_after,
                     struct lull_arena *arena, struct lull_gate *gate)
{
    if (!n_before || !n_after)
        return;
    const uint32_t room =
        count_parts_at_most(before, n_before) + count_parts_at_most(after, n_after);
    double *scratch = lull_arena_zero(arena, n_before + n_after, sizeof(*scratch));
    gate->moves = lull_arena_zero(arena, room + 1, sizeof(*gate->moves));
    gate->n_moves = gather_moves(after, n_after, gate->moves, 0);
    gate->n_moves = gather_moves(before, n_before, gate->moves, gate->n_moves);
    for (uint32_t i = 0; i < gate->n_moves; i++) {
        struct lull_move *move = &gate->moves[i];
        move->before_ns = median_time(before, n_before, move->part, scratch);
        move->after_ns = median_time(after, n_after, move->part, scratch);
    }
    const double longer = median_value(after, n_after, "runtime", scratch) -
                          median_value(before, n_before, "runtime", scratch);
    if (gate->n_moves > 1)
        qsort(gate->moves, gate->n_moves, sizeof(*gate->moves), longer < 0 ? by_loss : by_growth);
    if (longer > 0)
        put_cause_first(gate, 1e9 * longer);
}

/* ==== the gate ================================================================================ */

const char *lull_gate_verdict_name(enum lull_gate_verdict verdict)
{
    static const char *const names[] = {"pass", "fail", "unknown"};
    return names[verdict];
}

/* The values since the level changed for the last time: values from before would set the program
 * against what it once was. */
static double *find_baseline(struct lull_gate_case *judged, const struct lull_history *history,
                             struct lull_arena *arena)
{
    const char *metric = judged->condition->metric;
    struct lull_history_level *levels;
    double *values;
    uint32_t *indices;
    const uint32_t n_levels = lull_history_levels(history, metric, arena, &levels);
    judged->since = n_levels ? levels[n_levels - 1].first : 0;
    judged->baseline = n_levels ? levels[n_levels - 1].median : NAN;
    judged->baseline_runs =
        lull_history_values(history->entries + judged->since, history->count - judged->since,
                            metric, arena, &values, &indices);
    return values;
}

/* The values of the baseline, moved or scaled so that their median is at the limit. */
static double *place_at_limit(const struct lull_gate_case *judged, const double *baseline,
                              struct lull_arena *arena)
{
    const struct lull_condition *condition = judged->condition;
    double *placed = lull_arena_zero(arena, judged->baseline_runs + 1, sizeof(*placed));
    for (uint32_t i = 0; i < judged->baseline_runs; i++)
        if (condition->relative)
            placed[i] = condition->factor * baseline[i] + condition->offset;
        else if (judged->baseline > 0)
            placed[i] = condition->offset * (baseline[i] / judged->baseline);
        else
            placed[i] = condition->offset + (baseline[i] - judged->baseline);
    return placed;
}

/* Takes the verdict from the probabilities; if there is none, finds how many more runs would bring
 * one. */
static void decide(struct lull_gate_case *judged, const struct lull_shift *shift, double alarm,
                   double missed)
{
    const bool above = judged->condition->above;
    const double fails = above ? shift->higher : shift->lower;
    const double passes = above ? shift->lower : shift->higher;
    judged->verdict = fails <= alarm     ? LULL_GATE_FAIL
                      : passes <= missed ? LULL_GATE_PASS
                                         : LULL_GATE_UNKNOWN;
    judged->probability = fmin(fails, passes);
    if (judged->verdict != LULL_GATE_UNKNOWN)
        return;
    const bool high = shift->effect > 0.5, failing = high == above;
    const double level = failing ? alarm : missed;
    const size_t more = judged->baseline_runs ? lull_shift_more(shift, judged->baseline_runs,
                                                                judged->runs, high, level)
                                              : lull_sign_more(shift, judged->runs, high, level);
    judged->more = more == LULL_SHIFT_NEVER ? LULL_MORE_NEVER : (uint32_t)more;
}

static void compare_medians(struct lull_gate_case *judged)
{
    const bool beyond =
        judged->condition->above ? judged->value > judged->limit : judged->value < judged->limit;
    judged->verdict = beyond ? LULL_GATE_FAIL : LULL_GATE_PASS;
    judged->probability = NAN;
}

static const char *find_missing(const struct lull_gate_case *judged,
                                const struct lull_history_entry *runs)
{
    if (!judged->runs)
        return lull_history_absent(&runs[0], judged->condition->metric);
    if (judged->condition->relative && !judged->baseline_runs)
        return "no run of the history has it";
    return NULL;
}

static struct lull_gate_case judge_condition(const struct lull_condition *condition,
                                             const struct lull_history_entry *runs, uint32_t n_runs,
                                             const struct lull_history *history,
                                             const struct lull_gate_options *options, double alarm,
                                             struct lull_arena *arena)
{
    struct lull_gate_case judged = {.condition = condition, .verdict = LULL_GATE_UNKNOWN};
    double *values;
    uint32_t *indices;
    judged.runs = lull_history_values(runs, n_runs, condition->metric, arena, &values, &indices);
    judged.value = lull_history_median(values, judged.runs, arena);
    const double *baseline = find_baseline(&judged, history, arena);
    judged.limit =
        condition->offset + (condition->relative ? condition->factor * judged.baseline : 0);
    judged.probability = NAN;
    judged.why = find_missing(&judged, runs);
    if (judged.why) {
        judged.more = LULL_MORE_NEVER;
        return judged;
    }
    if (options->as_measured) {
        compare_medians(&judged);
        return judged;
    }
    const struct lull_shift shift = judged.baseline_runs
                                        ? lull_shift_test(place_at_limit(&judged, baseline, arena),
                                                          judged.baseline_runs, values, judged.runs)
                                        : lull_sign_test(values, judged.runs, judged.limit);
    decide(&judged, &shift, alarm, options->missed);
    return judged;
}

static enum lull_gate_verdict conclude_verdict(const struct lull_gate *gate)
{
    enum lull_gate_verdict verdict = LULL_GATE_PASS;
    for (uint32_t i = 0; i < gate->n_cases; i++) {
        if (gate->cases[i].verdict == LULL_GATE_FAIL)
            return LULL_GATE_FAIL;
        if (gate->cases[i].verdict == LULL_GATE_UNKNOWN)
            verdict = LULL_GATE_UNKNOWN;
    }
    return verdict;
}

/* Where the latest of the levels begins that conditions were compared with. */
static uint32_t latest_baseline(const struct lull_gate *gate)
{
    uint32_t since = 0;
    for (uint32_t i = 0; i < gate->n_cases; i++)
        if (gate->cases[i].since > since)
            since = gate->cases[i].since;
    return since;
}

void lull_gate_judge(const struct lull_condition *conditions, uint32_t n_conditions,
                     const struct lull_history_entry *runs, uint32_t n_runs,
                     const struct lull_history *history, const struct lull_gate_options *options,
                     struct lull_arena *arena, struct lull_gate *ret_gate)
{
    const double alarm = options->false_alarms / (n_conditions ? n_conditions : 1);
    *ret_gate = (struct lull_gate){
        .cases = lull_arena_zero(arena, n_conditions + 1, sizeof(*ret_gate->cases)),
        .n_cases = n_conditions};
    for (uint32_t i = 0; i < n_conditions; i++)
        ret_gate->cases[i] =
            judge_condition(&conditions[i], runs, n_runs, history, options, alarm, arena);
    ret_gate->verdict = conclude_verdict(ret_gate);
    const uint32_t since = latest_baseline(ret_gate);
    lull_gate_moves(history->entries + since, history->count - since, runs, n_runs, arena,
                    ret_gate);
}
