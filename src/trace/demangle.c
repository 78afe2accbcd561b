/* Names of C++ and Fortran, in regions and in the places that they are called from. */
#include "binary/demangle.h"
#include "trace/trace.h"

#include <string.h>

/* "NAME (PLACE)" and what follows; names as linkers know them hold no blanks. */
static const char *demangle_first(struct lull_arena *arena, const char *text)
{
    size_t length = strcspn(text, " ");
    const char *name = lull_arena_strndup(arena, text, length);
    const char *plain = lull_demangle(arena, name);
    return plain == name ? text : lull_arena_printf(arena, "%s%s", plain, text + length);
}

/* "NAME (PLACE) < NAME (PLACE)", LULL_SITE_CALLER between them. */
static const char *demangle_site(struct lull_arena *arena, const char *site)
{
    const char *result = demangle_first(arena, site);
    for (const char *at = result; (at = strstr(at, LULL_SITE_CALLER)) != NULL;) {
        at += strlen(LULL_SITE_CALLER);
        const char *rest = demangle_first(arena, at);
        if (rest == at)
            continue;
        size_t front = (size_t)(at - result);
        result = lull_arena_printf(arena, "%.*s%s", (int)front, result, rest);
        at = result + front;
    }
    return result;
}

void lull_trace_demangle(struct lull_trace *trace)
{
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        struct lull_region *region = &trace->regions[r];
        region->name = lull_demangle(trace->arena, region->name);
        if (strstr(region->site, "_"))
            region->site = demangle_site(trace->arena, region->site);
    }
}

bool lull_trace_demangles_cpp(void)
{
    return lull_demangles_cpp();
}
