#include "report/findings.h"

#include "base/text.h"
#include "report/model.h"

#include <string.h>

void lull_document_findings(struct lull_document *document,
                            const struct lull_shown_finding *findings, uint32_t count,
                            const char *about, const char *none)
{
    document->findings = findings;
    document->n_findings = count;
    document->findings_about = about;
    document->findings_none = none;
}

const char *lull_gain_text(const struct lull_shown_gain *gain, struct lull_arena *arena)
{
    const char *fixed = gain->fixed ? gain->fixed : "Without it";
    char saved[32], low[32], high[32];
    if (gain->absent)
        return gain->absent;
    if (gain->too_small)
        return "Too small to tell: the replay saves less than its own error.";
    lull_format_time(gain->ns, saved, sizeof saved);
    lull_format_time(gain->low_ns, low, sizeof low);
    lull_format_time(gain->high_ns, high, sizeof high);
    if (strcmp(low, high) == 0)
        return lull_arena_printf(arena, "%s %.2fx as fast: %s less.", fixed, gain->factor, saved);
    return lull_arena_printf(arena, "%s %.2fx as fast: %s less (%s to %s).", fixed, gain->factor,
                             saved, low, high);
}
