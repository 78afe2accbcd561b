#include "report/page/page_findings.h"

#include "report/cell_text.h"
#include "report/markup.h"
#include "report/page/html.h"

#include <inttypes.h>

/* As much time again on both sides of what is shown. */
enum { MARGINS = 1 };

/* The number of a timeline among those that are drawn; SIZE_MAX: it is not. */
static size_t drawn(const struct lull_document *document, size_t timeline)
{
    size_t number = 0;
    if (timeline >= document->n_timelines || document->timelines[timeline]->absent)
        return SIZE_MAX;
    for (size_t i = 0; i < timeline; i++)
        number += !document->timelines[i]->absent;
    return number;
}

/* A view of the timeline, as assets/fragment.js reads it. */
static void put_link(FILE *out, const struct lull_document *document,
                     const struct lull_shown_finding *finding)
{
    const size_t number = drawn(document, finding->timeline);
    if (number == SIZE_MAX)
        return;
    const struct lull_picture_timeline *timeline = document->timelines[finding->timeline];
    const int64_t longest = timeline->end - timeline->begin;
    int64_t from = 0, to = longest, at = longest / 2;
    if (finding->end > 0) {
        const int64_t margin = MARGINS * (finding->end - finding->begin);
        from = finding->begin - timeline->begin - margin;
        to = finding->end - timeline->begin + margin;
        at = finding->begin + (finding->end - finding->begin) / 2 - timeline->begin;
    }
    fprintf(out,
            " <a href=\"#view?runs=%zu&amp;from=%" PRId64 "&amp;to=%" PRId64
            "&amp;in=0&amp;row=%u&amp;at=%" PRId64 "\">%s</a>",
            number, from > 0 ? from : 0, to < longest ? to : longest, finding->row, at > 0 ? at : 0,
            finding->end > 0 ? "Its longest instance on the timeline"
                             : "Its place on the timeline");
}

static void put_name_between(FILE *out, struct lull_arena *arena, const char *before,
                             const char *text, const char *after)
{
    if (!text)
        return;
    fputs(before, out);
    lull_html_name(out, arena, text);
    fputs(after, out);
}

static void put_evidence_list(FILE *out, const struct lull_document *document,
                              const struct lull_shown_finding *finding,
                              const struct lull_render_options *options)
{
    if (finding->n_facts == 0)
        return;
    fputs("<details><summary>Evidence</summary><dl>", out);
    for (uint32_t i = 0; i < finding->n_facts; i++) {
        const struct lull_shown_fact *fact = &finding->facts[i];
        put_name_between(out, document->arena, "<div><dt>", fact->label, "</dt>");
        put_name_between(out, document->arena, "<dd>",
                         lull_text_cell(document->arena, fact->value, options), "</dd></div>");
    }
    fputs("</dl></details>", out);
}

static void put_page_finding(FILE *out, const struct lull_document *document, uint32_t number,
                             const struct lull_render_options *options)
{
    const struct lull_shown_finding *finding = &document->findings[number];
    struct lull_arena *arena = document->arena;
    fprintf(out, "<li id=\"finding-%u\"><p>", number + 1);
    if (document->n_timelines > 1)
        put_name_between(out, arena, "<b>", finding->run, "</b>: ");
    lull_markup_text(out, finding->sentence);
    put_link(out, document, finding);
    fputs("</p>", out);
    if (finding->cause) {
        fputs("<p>", out);
        lull_markup_text(out, finding->cause);
        fputs("</p>", out);
    }
    fputs("<p>", out);
    lull_markup_text(out, lull_gain_text(&finding->gain, arena));
    fputs("</p>", out);
    if (finding->next) {
        fputs("<p>Next: <code>", out);
        lull_markup_text(out, finding->next);
        fputs("</code></p>", out);
    }
    put_evidence_list(out, document, finding, options);
    fputs("</li>\n", out);
}

void lull_page_findings(FILE *out, const struct lull_document *document,
                        const struct lull_render_options *options)
{
    if (!document->findings_none)
        return;
    fputs("<section id=\"findings\" aria-labelledby=\"findings-title\">\n"
          "<h2 id=\"findings-title\">Findings</h2>\n",
          out);
    if (document->n_findings == 0)
        put_name_between(out, document->arena, "<p>", document->findings_none, "</p>\n");
    else
        fputs("<ol>\n", out);
    for (uint32_t i = 0; i < document->n_findings; i++)
        put_page_finding(out, document, i, options);
    if (document->n_findings > 0)
        fputs("</ol>\n", out);
    put_name_between(out, document->arena, "<p>", document->findings_about, "</p>\n");
    fputs("</section>\n", out);
}
