#include "report/render/text_findings.h"

#include "report/display.h"

#include <stdio.h>

enum { INDENT = 3 };

/* Further lines of it are indented. */
static void put_indented_line(FILE *out, const struct lull_document *document, unsigned indent,
                              const char *begin, const char *text, size_t width)
{
    const char *line = lull_arena_printf(document->arena, "%s%s", begin, text);
    fprintf(out, "%*s", (int)indent, "");
    lull_display_wrap(out, lull_display_clean(document->arena, line), width - INDENT, INDENT);
    fputc('\n', out);
}

static bool names_several_runs(const struct lull_document *document)
{
    return document->n_timelines > 1;
}

static void put_finding_text(FILE *out, const struct lull_document *document, uint32_t number,
                             size_t width)
{
    const struct lull_shown_finding *finding = &document->findings[number];
    struct lull_arena *arena = document->arena;
    const char *of =
        names_several_runs(document) ? lull_arena_printf(arena, "%s: ", finding->run) : "";
    put_indented_line(out, document, 0, lull_arena_printf(arena, "%u. %s", number + 1, of),
                      finding->sentence, width);
    if (finding->cause)
        put_indented_line(out, document, INDENT, "", finding->cause, width);
    put_indented_line(out, document, INDENT, "", lull_gain_text(&finding->gain, arena), width);
    if (finding->next)
        put_indented_line(out, document, INDENT, "Next: ", finding->next, width);
}

void lull_text_findings(FILE *out, const struct lull_document *document, size_t width)
{
    if (!document->findings_none)
        return;
    fputc('\n', out);
    if (document->n_findings == 0)
        put_indented_line(out, document, 0, "", document->findings_none, width);
    else
        fputs("Findings\n", out);
    uint32_t shown = document->n_findings;
    shown = shown > LULL_FINDINGS_IN_TEXT ? LULL_FINDINGS_IN_TEXT : shown;
    for (uint32_t i = 0; i < shown; i++)
        put_finding_text(out, document, i, width);
    if (document->findings_about)
        put_indented_line(out, document, 0, "", document->findings_about, width);
    if (shown < document->n_findings)
        fprintf(out, "%u more are in the page (-o report.html) and in JSON.\n",
                document->n_findings - shown);
}
