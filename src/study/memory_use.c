/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/memory_use.h"

#include "base/text.h"
#include "trace/memory.h"

static const char *size_text(uint64_t bytes, struct lull_arena *arena)
{
    char text[32];
    return lull_arena_strdup(arena, lull_format_size(bytes, text, sizeof text));
}

/* "4.40 GiB of 24.00 GiB on node n1 (18 %)". */
static const char *together_text(const struct lull_memory_sum *sum, const struct lull_trace *trace,
                                 struct lull_arena *arena)
{
    const double share = (double)sum->together / (double)sum->capacity;
    return lull_arena_printf(arena, "%s of %s %s%s (%.0f %%)", size_text(sum->together, arena),
                             size_text(sum->capacity, arena),
                             sum->is_limit ? "that their control group may have on " : "on ",
                             sum->node < trace->n_nodes ? trace->nodes[sum->node].name : "a node",
                             100 * share);
}

const char *lull_memory_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_memory_sum sum = lull_memory_sum_of(trace);
    if (sum.known == 0)
        return NULL;
    const char *text =
        lull_arena_printf(arena, "up to %s in a process", size_text(sum.largest, arena));
    if (trace->n_processes > 1)
        text = lull_arena_printf(arena, "%s (%s)", text, trace->processes[sum.of].name);
    if (sum.capacity > 0)
        text = lull_arena_printf(arena, "%s, %s%s", text,
                                 trace->n_processes > 1 ? "all together " : "",
                                 together_text(&sum, trace, arena));
    return sum.swapped > 0 ? lull_arena_printf(arena, "%s; %s were swapped out", text,
                                               size_text(sum.swapped, arena))
                           : text;
}

const char *lull_memory_warning(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_memory_sum sum = lull_memory_sum_of(trace);
    const bool is_full = lull_memory_is_full(&sum);
    if (sum.known == 0 || (!is_full && sum.swapped == 0))
        return NULL;
    const char *text = sum.swapped > 0
                           ? lull_arena_printf(arena, "%s of its memory were swapped out",
                                               size_text(sum.swapped, arena))
                           : "";
    return is_full ? lull_arena_printf(arena, "%s%sthe peaks of its processes add up to %s", text,
                                       *text ? "; " : "", together_text(&sum, trace, arena))
                   : text;
}
