#include "cli/warnings.h"

#include "base/text.h"
#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>

void lull_warn_both(struct lull_document *document, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lull_cli_warn("%s", text);
    if (document)
        lull_document_note(document, LULL_NOTE_WARNING, "%s", text);
}

void lull_warn_quirks(const struct lull_trace *trace, const char *path,
                      struct lull_document *document, struct lull_arena *arena)
{
    struct lull_quirk *quirks;
    uint32_t count = lull_trace_quirks(trace, arena, &quirks);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_quirk *quirk = &quirks[i];
        char times[32];
        lull_format_count(quirk->count, times, sizeof times);
        lull_warn_both(document, "%s: %s (%s %s%s%s)", path, quirk->kind, times,
                       quirk->count == 1 ? "time" : "times", quirk->first[0] ? ", first at " : "",
                       quirk->first);
    }
}
