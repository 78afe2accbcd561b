#include "study/history/gate.h"

#include "stats/shift.h"
#include "study/history/levels.h"

#include <math.h>

const char *lull_gate_verdict_name(enum lull_gate_verdict verdict)
{
    static const char *const names[] = {"pass", "fail", "unknown"};
    return names[verdict];
}

/* The runs since the level changed for the last time: earlier ones would make a slower program
 * look as it was long ago. */
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

/* What would be measured if the truth were at the limit. */
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

/* Takes the verdict from the probabilities, and how many more runs would bring one. */
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

/* The latest level of those that conditions were compared with. */
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
