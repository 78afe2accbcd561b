/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/interference.h"

#include "sim/disturbance.h"
#include "trace/cores.h"

#include <string.h>

/* ==== disturbed on purpose ==================================================================== */

/* Whether delays were asked for and none came: the recorder defines their region with the first. */
static bool has_missed_delays(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct lull_disturbance asked = lull_disturbance_none(arena, trace->disturbed_seed);
    if (lull_disturbance_add_lines(&asked, trace->disturbed, NULL) != LULL_OK ||
        asked.n_delays == 0)
        return false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (strcmp(trace->regions[r].name, "delay") == 0)
            return false;
    return true;
}

const char *lull_disturbed_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    if (!trace->disturbed)
        return NULL;
    char *specs = lull_arena_strdup(arena, trace->disturbed);
    for (char *end; (end = strchr(specs, '\n'));)
        *end = ' ';
    const char *text = lull_arena_printf(arena, "disturbed on purpose: %s (seed %llu)", specs,
                                         (unsigned long long)trace->disturbed_seed);
    if (has_missed_delays(trace, arena))
        text = lull_arena_printf(
            arena, "%s; no delay came, because no such moment or iteration did", text);
    if (trace->not_held > 0)
        text = lull_arena_printf(
            arena,
            "%s; %llu of %llu messages could not be held back, because it is not known when "
            "they were sent",
            text, (unsigned long long)trace->not_held,
            (unsigned long long)(trace->held + trace->not_held));
    return text;
}

/* ==== cores ================================================================================= */

const char *lull_cores_excuse(const struct lull_trace *trace, bool shorter,
                              struct lull_arena *arena)
{
    if (!shorter)
        return "";
    const struct lull_core_shortage shortage = lull_core_shortage_of(trace, LULL_NONE, arena);
    return shortage.threads > 0
               ? lull_arena_printf(arena,
                                   " Threads had no core for up to %.0f %% of the time: who waited "
                                   "for them waited for that, and no network explains it.",
                                   100 * shortage.worst_share)
               : "";
}

const char *lull_cores_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_core_shortage shortage = lull_core_shortage_of(trace, LULL_NONE, arena);
    const struct lull_location *worst = shortage.worst;
    uint32_t n_threads = 0;
    if (!worst)
        return NULL;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        n_threads += trace->processes[p].n_threads;
    const char *why =
        shortage.own > 0.5
            ? "the run has more threads than cores: waiting is not the program's alone"
        : shortage.others > 0.5
            ? "other programs had the cores: times tell of the machine rather than of the program"
            : "other programs had the cores, or the run has more threads than cores at times: "
              "times "
              "tell of the machine, too";
    return lull_arena_printf(
        arena,
        "%u of %u threads had no core for more than 5 %% of the time although they could have run,"
        " '%s' for %.0f %% (preempted %llu times, moved to another core %llu times), because %s",
        shortage.threads, n_threads, worst->name, 100 * shortage.worst_share,
        (unsigned long long)worst->cores.preempted, (unsigned long long)worst->cores.migrated, why);
}
