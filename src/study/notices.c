/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/notices.h"

#include "base/text.h"
#include "trace/format.h"

#include <stdarg.h>
#include <stdio.h>

void lull_notices_add(struct lull_notices *notices, enum lull_notice_kind kind, const char *format,
                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    char *text = lull_arena_alloc(notices->arena, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    notices->items = lull_arena_grow(notices->arena, notices->items, &notices->capacity,
                                     notices->count + 1, sizeof *notices->items);
    notices->items[notices->count++] =
        (struct lull_notice){.kind = kind, .text = text, .sort = format};
}

void lull_notices_add_quirks(struct lull_notices *notices, const struct lull_trace *trace,
                             const char *path)
{
    struct lull_quirk *quirks;
    uint32_t count = lull_trace_quirks(trace, notices->arena, &quirks);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_quirk *quirk = &quirks[i];
        char times[32];
        lull_format_count(quirk->count, times, sizeof times);
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s: %s (%s %s%s%s)", path, quirk->kind,
                         times, quirk->count == 1 ? "time" : "times",
                         quirk->first[0] ? ", first at " : "", quirk->first);
        notices->items[notices->count - 1].sort = lull_arena_strdup(notices->arena, quirk->kind);
    }
}

const char *lull_notices_part(const struct lull_trace *trace, struct lull_arena *arena)
{
    const double begin = 1e-9 * (double)trace->events_begin, end = 1e-9 * (double)trace->events_end,
                 length = 1e-9 * (double)trace->duration;
    if (trace->events == LULL_EVENTS_LAST)
        return lull_arena_printf(arena, "begin at %.6g s of %.6g s, earlier ones were not kept",
                                 begin, length);
    if (trace->events_begin > 0)
        return lull_arena_printf(arena, "begin at %.6g s and end at %.6g s of %.6g s", begin, end,
                                 length);
    return lull_arena_printf(arena, "end at %.6g s of %.6g s", end, length);
}

void lull_notices_add_cut_copy(struct lull_notices *notices, const struct lull_trace *trace,
                               const char *path, const struct lull_format *format)
{
    if (trace->events == LULL_EVENTS_LAST)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s: its events %s; the copy holds these behind a pause and not the sums "
                         "of the whole run",
                         path, lull_notices_part(trace, notices->arena));
    else if (trace->events == LULL_EVENTS_FIRST && format != lull_format_find("tape"))
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s: its events %s; the copy holds these and not the sums of the whole "
                         "run, which a copy in the format 'tape' keeps",
                         path, lull_notices_part(trace, notices->arena));
}
