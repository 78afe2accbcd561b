#include "study/disturbed.h"

#include <string.h>

const char *lull_disturbed_describe(const struct lull_trace *trace, struct lull_arena *arena)
{
    if (!trace->disturbed)
        return NULL;
    char *specs = lull_arena_strdup(arena, trace->disturbed);
    for (char *end; (end = strchr(specs, '\n'));)
        *end = ' ';
    const char *text = lull_arena_printf(arena, "disturbed on purpose: %s (seed %llu)", specs,
                                         (unsigned long long)trace->disturbed_seed);
    if (trace->not_held > 0)
        text = lull_arena_printf(
            arena,
            "%s; %llu of %llu messages could not be held back, because it is not known when "
            "they were sent",
            text, (unsigned long long)trace->not_held,
            (unsigned long long)(trace->held + trace->not_held));
    return text;
}
