/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/formats.h"

#include "columns/columns.h"
#include "study/call_paths.h"

#include <string.h>

const struct lull_format *const lull_formats_of_steps[] = {
    &lull_format_arrow,
    &lull_format_folded,
    &lull_format_speedscope,
    NULL,
};

const struct lull_format *lull_written_format(const char *name)
{
    for (size_t i = 0; lull_formats_of_steps[i]; i++)
        if (strcmp(lull_formats_of_steps[i]->name, name) == 0)
            return lull_formats_of_steps[i];
    const struct lull_format *format = lull_format_find(name);
    return format && format->writer_open ? format : NULL;
}

const char *lull_written_formats(struct lull_arena *arena)
{
    const char *names = "";
    for (size_t i = 0; lull_formats[i]; i++)
        if (lull_formats[i]->writer_open)
            names = lull_arena_printf(arena, "%s%s, ", names, lull_formats[i]->name);
    for (size_t i = 0; lull_formats_of_steps[i]; i++)
        names = lull_arena_printf(arena, "%s%s%s", names, i ? ", " : "",
                                  lull_formats_of_steps[i]->name);
    return names;
}
