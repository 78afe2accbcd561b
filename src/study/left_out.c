#include "study/left_out.h"

static bool has_more(const struct lull_trace *trace, uint32_t most)
{
    return most > 0 && trace->n_locations > most;
}

bool lull_runs_leave_replay(const struct lull_runs_options *options, const struct lull_trace *trace)
{
    return !options->no_replay && has_more(trace, options->most_with_replay);
}

bool lull_runs_follow_waits(const struct lull_runs_options *options, const struct lull_trace *trace)
{
    return options->waits && trace->n_locations <= lull_scan_most_abreast(trace) &&
           !has_more(trace, options->most_with_waits);
}

struct lull_wait_result *lull_waits_left_out(const struct lull_runs_options *options,
                                             const struct lull_trace *trace,
                                             struct lull_arena *arena)
{
    struct lull_wait_result *result = lull_arena_zero(arena, 1, sizeof *result);
    const uint32_t most = lull_scan_most_abreast(trace);
    if (trace->n_locations > most)
        result->absent = lull_arena_printf(
            arena,
            "waits are followed in runs of its format of up to %u threads, and this one has %u",
            most, trace->n_locations);
    else
        result->absent = lull_arena_printf(
            arena, "beyond %u threads waits are followed with --waits only, and this run has %u",
            options->most_with_waits, trace->n_locations);
    return result;
}

void lull_tell_left_out(const struct lull_run *run, const struct lull_runs_options *options,
                        struct lull_notices *notices)
{
    static const struct {
        const char *what, *option;
    } parts[] = {
        {NULL, NULL},
        {"who made others wait is", "--waits"},
        {"the runtime on an ideal network is", "--replay"},
        {"who made others wait and the runtime on an ideal network are", "--waits --replay"}};
    const bool waits = run->waits && has_more(run->trace, options->most_with_waits) &&
                       run->trace->n_locations <= lull_scan_most_abreast(run->trace);
    const bool replay = !run->breakdown->from_sums && !options->region &&
                        lull_runs_leave_replay(options, run->trace);
    const unsigned part = (waits ? 1 : 0) + (replay ? 2 : 0);
    if (part == 0)
        return;
    lull_notices_add(notices, LULL_NOTICE_INFO,
                     "%s has %u threads: %s left out, because all threads would be followed at "
                     "the same time, which needs memory for each: %s asks for that.",
                     run->name, run->trace->n_locations, parts[part].what, parts[part].option);
}
