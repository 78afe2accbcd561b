#include "view/history/check_text.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

bool lull_metric_is_time(const char *metric)
{
    return strcmp(metric, "runtime") == 0 || strcmp(metric, "core_time") == 0 ||
           strcmp(metric, "useful_time") == 0 || strncmp(metric, "region:", 7) == 0;
}

struct lull_cell lull_metric_cell(const char *metric, double value)
{
    if (!isfinite(value))
        return lull_cell_absent("none");
    return lull_metric_is_time(metric) ? lull_cell_quantity(value, "s")
                                       : lull_cell_number(value, 4);
}

const char *lull_metric_text(const char *metric, double value, struct lull_arena *arena)
{
    char text[32];
    if (!lull_metric_is_time(metric))
        return lull_arena_printf(arena, "%.4g", value);
    return lull_arena_strdup(arena,
                             lull_format_time((int64_t)llround(1e9 * value), text, sizeof text));
}

static const char *plural(uint32_t count, const char *noun, struct lull_arena *arena)
{
    return lull_arena_printf(arena, "%u %s%s", count, noun, count == 1 ? "" : "s");
}

/* "runtime is 1.26 s (median of 10 runs), the limit 1.05 s" and where that comes from. */
static const char *tell_values(const struct lull_gate_case *judged,
                               const struct lull_history *history, struct lull_arena *arena)
{
    const char *metric = judged->condition->metric;
    const char *text = lull_arena_printf(
        arena, "%s is %s (%s%s), the limit is %s", metric,
        lull_metric_text(metric, judged->value, arena), judged->runs > 1 ? "median of " : "",
        plural(judged->runs, "run", arena), lull_metric_text(metric, judged->limit, arena));
    if (!judged->baseline_runs)
        return text;
    char time[32];
    const char *since =
        judged->since
            ? lull_arena_printf(arena, " since the level changed at %s",
                                lull_history_time_text(history->entries[judged->since].time, time))
            : "";
    return lull_arena_printf(arena, "%s, the baseline %s (%s%s)", text,
                             lull_metric_text(metric, judged->baseline, arena),
                             plural(judged->baseline_runs, "run", arena), since);
}

const char *lull_check_open_sentence(const struct lull_gate_case *judged, struct lull_arena *arena)
{
    if (judged->why)
        return judged->why;
    if (judged->more == LULL_MORE_NEVER && judged->baseline_runs)
        return "more runs alone would not decide: a limit farther away, or a longer history, would";
    if (judged->more == LULL_MORE_NEVER)
        return "more runs would not decide: the runs lie on both sides of the limit";
    return lull_arena_printf(arena, "%s, if like these, would decide",
                             plural(judged->more, "more run", arena));
}

const char *lull_check_sentence(const struct lull_gate_case *judged,
                                const struct lull_history *history, struct lull_arena *arena)
{
    if (judged->why)
        return lull_arena_printf(arena, "%s: %s", judged->condition->metric, judged->why);
    const char *text = tell_values(judged, history, arena);
    if (judged->verdict == LULL_GATE_UNKNOWN)
        return lull_arena_printf(arena, "%s; %s", text, lull_check_open_sentence(judged, arena));
    return text;
}

const char *lull_check_move_sentence(const struct lull_move *move, struct lull_arena *arena)
{
    char before[32], after[32];
    lull_format_time(move->before_ns, before, sizeof before);
    lull_format_time(move->after_ns, after, sizeof after);
    const char *part = lull_part_describe(move->part, arena);
    if (move->before_ns <= 0)
        return lull_arena_printf(arena, "%s takes %s of all threads, before it took none", part,
                                 after);
    return lull_arena_printf(arena, "%s takes %s of all threads instead of %s (%+.1f %%)", part,
                             after, before,
                             100 * ((double)move->after_ns / (double)move->before_ns - 1));
}
