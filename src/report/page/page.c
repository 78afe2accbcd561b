/* SPDX-License-Identifier: BSD-3-Clause */
/* A document as one HTML page: what stands in it is read without script; the script adds the views
 * that are drawn, and makes tables sortable. Nothing is fetched: the policy in the head forbids it,
 * and names the one script and the styles by their digests. */
#include "report/asset.h"
#include "report/cell_text.h"
#include "report/display.h"
#include "report/markup.h"
#include "report/model.h"
#include "report/page/base64.h"
#include "report/page/page_data.h"
#include "report/pictures.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ==== links to the timeline ==================================================================== */

/* A link shows the time of its spot, and as much time again on both sides of it. */
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

/* Begins a link to a view of the timeline, as assets/fragment.js reads it. There a link leads back
 * (assets/links.js). False: the timeline is not drawn, and there is no link. */
static bool begin_link(FILE *out, const struct lull_document *document,
                       const struct lull_picture_spot *spot)
{
    const size_t number = drawn(document, spot->timeline);
    if (number == SIZE_MAX)
        return false;
    const struct lull_picture_timeline *timeline = document->timelines[spot->timeline];
    const int64_t longest = timeline->end - timeline->begin;
    int64_t from = 0, to = longest, at = longest / 2;
    if (spot->end > 0) {
        const int64_t margin = MARGINS * (spot->end - spot->begin);
        from = spot->begin - timeline->begin - margin;
        to = spot->end - timeline->begin + margin;
        at = spot->begin + (spot->end - spot->begin) / 2 - timeline->begin;
    }
    fprintf(out,
            "<a href=\"#view?runs=%zu&amp;from=%" PRId64 "&amp;to=%" PRId64
            "&amp;in=0&amp;row=%u&amp;at=%" PRId64 "\">",
            number, from > 0 ? from : 0, to < longest ? to : longest, spot->row, at > 0 ? at : 0);
    return true;
}

/* ==== findings ================================================================================ */

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
    const struct lull_picture_spot spot = {finding->timeline, finding->row, finding->begin,
                                           finding->end};
    struct lull_arena *arena = document->arena;
    fprintf(out, "<li id=\"finding-%u\" data-name=\"finding %u\"><p>", number + 1, number + 1);
    if (document->n_timelines > 1)
        put_name_between(out, arena, "<b>", finding->run, "</b>: ");
    lull_markup_text(out, finding->sentence);
    fputs(" ", out);
    if (begin_link(out, document, &spot))
        fprintf(out, "%s</a>",
                spot.end > 0 ? "Its longest instance on the timeline"
                             : "Its place on the timeline");
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

static void page_findings(FILE *out, const struct lull_document *document,
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

/* ==== stacks of activities ==================================================================== */

/* One bar per process, as far as they fit, shows what it spent its time on. */

/* What the rows of a timeline spent their time on; `number` is that of the timeline on the page.
 * Goes as deep into the rows as PAGE_STACKS bars allow, to processes. */
enum { PAGE_STACKS = 48 };

enum { BAR_WIDTH = 420, BAR_HEIGHT = 16 };

/* Lines across, along and both ways; what is useful is plain. The page's script draws the same. */
static const char *const hatchings[LULL_PAINTS] = {
    [LULL_PAINT_MESSAGES] = "M0 8L8 0",
    [LULL_PAINT_COLLECTIVE] = "M0 0L8 8",
    [LULL_PAINT_MPI] = "M4 0V8",
    [LULL_PAINT_SYNC] = "M0 0L8 8M0 8L8 0",
    [LULL_PAINT_SCHEDULE] = "M0 4H8",
    [LULL_PAINT_LOCK] = "M0 4H8M4 0V8",
    [LULL_PAINT_DEVICE] = "M2 2h1v1h-1zM6 6h1v1h-1z",
    [LULL_PAINT_IO] = "M0 2H8M0 6H8",
    [LULL_PAINT_TRACER] = "M2 0V8M6 0V8",
};

/* The hatchings of all kinds of activities, for page_stacks; once per page. */
static void page_hatchings(FILE *out)
{
    fputs("<svg class=\"hatchings\" aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>\n", out);
    for (unsigned i = 0; i < LULL_PAINTS; i++)
        if (hatchings[i])
            fprintf(out,
                    "<pattern id=\"hatch-%u\" width=\"8\" height=\"8\" "
                    "patternUnits=\"userSpaceOnUse\"><path class=\"hatch\" d=\"%s\"/></pattern>\n",
                    i, hatchings[i]);
    fputs("</defs></svg>\n", out);
}

/* What a row spent on each activity, in ns. */
static int64_t row_times(const struct lull_picture_timeline *timeline, uint32_t row,
                         int64_t times[LULL_PICTURE_ACTIVITIES])
{
    int64_t sum = 0;
    timeline->cells(timeline->data, row, 0, 0, 1, times);
    for (uint32_t i = 0; i < timeline->n_activities; i++)
        sum += times[i];
    return sum;
}

static void put_bar_part(FILE *out, unsigned paint, double begin, double width)
{
    fprintf(out, "<rect class=\"paint%u\" x=\"%.2f\" width=\"%.2f\" height=\"%d\"/>", paint, begin,
            width, BAR_HEIGHT);
    if (hatchings[paint])
        fprintf(out, "<rect fill=\"url(#hatch-%u)\" x=\"%.2f\" width=\"%.2f\" height=\"%d\"/>",
                paint, begin, width, BAR_HEIGHT);
}

static void put_stack(FILE *out, const struct lull_picture_timeline *timeline, uint32_t row,
                      struct lull_arena *arena)
{
    int64_t times[LULL_PICTURE_ACTIVITIES];
    int64_t sum = row_times(timeline, row, times);
    fputs("<tr><th scope=\"row\">", out);
    lull_html_name(out, arena, timeline->rows[row].name);
    fprintf(out,
            "</th><td><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" aria-hidden=\"true\">",
            BAR_WIDTH, BAR_HEIGHT, BAR_WIDTH, BAR_HEIGHT);
    double at = 0;
    for (uint32_t i = 0; i < timeline->n_activities && sum > 0; i++) {
        double width = BAR_WIDTH * ((double)times[i] / (double)sum);
        if (times[i] > 0)
            put_bar_part(out, timeline->activities[i].paint, at, width);
        at += width;
    }
    fputs("</svg></td>", out);
    for (uint32_t i = 0; i < timeline->n_activities; i++)
        fprintf(out, times[i] > 0 ? "<td>%.1f</td>" : "<td>%.0f</td>",
                times[i] > 0 ? 100 * ((double)times[i] / (double)sum) : 0);
    fputs("</tr>\n", out);
}

static unsigned depth_of_timeline_row(const struct lull_picture_timeline *timeline, uint32_t row)
{
    unsigned depth = 0;
    for (uint32_t up = timeline->rows[row].parent; up != LULL_PICTURE_NO_ROW;
         up = timeline->rows[up].parent)
        depth++;
    return depth;
}

/* Rows of that depth, and leaves above it. */
static bool is_in_generation(const struct lull_picture_timeline *timeline, uint32_t row,
                             unsigned generation)
{
    unsigned depth = depth_of_timeline_row(timeline, row);
    return depth == generation ||
           (depth < generation && timeline->rows[row].leaf != LULL_PICTURE_NO_ROW);
}

static uint32_t count_generation(const struct lull_picture_timeline *timeline, unsigned generation)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        count += is_in_generation(timeline, row, generation);
    return count;
}

static bool has_deeper(const struct lull_picture_timeline *timeline, unsigned generation)
{
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        if (depth_of_timeline_row(timeline, row) > generation)
            return true;
    return false;
}

/* Where threads begin. */
static unsigned generation_of_threads(const struct lull_picture_timeline *timeline)
{
    unsigned least = UINT_MAX;
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        if (strcmp(timeline->rows[row].kind, "thread") == 0 ||
            strcmp(timeline->rows[row].kind, "device") == 0) {
            unsigned depth = depth_of_timeline_row(timeline, row);
            least = depth < least ? depth : least;
        }
    return least;
}

/* As deep as the bars allow, to processes; to threads where there is one process. */
static unsigned find_generation(const struct lull_picture_timeline *timeline)
{
    unsigned generation = 0, threads = generation_of_threads(timeline);
    while (has_deeper(timeline, generation) &&
           count_generation(timeline, generation + 1) <= PAGE_STACKS &&
           (generation + 1 < threads || count_generation(timeline, generation) == 1))
        generation++;
    return generation;
}

static void put_stack_head(FILE *out, const struct lull_picture_timeline *timeline,
                           struct lull_arena *arena)
{
    fputs("<thead><tr><th scope=\"col\">Where</th><th scope=\"col\">Share of the time</th>", out);
    for (uint32_t i = 0; i < timeline->n_activities; i++) {
        unsigned paint = timeline->activities[i].paint;
        fprintf(out,
                "<th scope=\"col\"><svg class=\"key\" viewBox=\"0 0 16 16\" width=\"16\" "
                "height=\"16\" aria-hidden=\"true\"><rect class=\"paint%u\" width=\"16\" "
                "height=\"16\"/>",
                paint);
        if (hatchings[paint])
            fprintf(out, "<rect fill=\"url(#hatch-%u)\" width=\"16\" height=\"16\"/>", paint);
        fputs("</svg><br>", out);
        lull_html_name(out, arena, timeline->activities[i].label);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void page_stacks(FILE *out, const struct lull_picture_timeline *timeline, size_t number,
                        struct lull_arena *arena)
{
    const unsigned generation = find_generation(timeline);
    uint32_t shown = 0, count = count_generation(timeline, generation);
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
            "aria-labelledby=\"stacks-%zu\"><table class=\"plain stacks\">\n"
            "<caption id=\"stacks-%zu\">What the time was spent on, in %%: ",
            number, number);
    lull_html_name(out, arena, timeline->title);
    fputs("</caption>\n", out);
    put_stack_head(out, timeline, arena);
    for (uint32_t row = 0; row < timeline->n_rows && shown < PAGE_STACKS; row++) {
        if (!is_in_generation(timeline, row, generation))
            continue;
        put_stack(out, timeline, row, arena);
        shown++;
    }
    fputs("</tbody></table></div>\n", out);
    if (count > shown)
        fprintf(out, "<p>%" PRIu32 " more rows are in the timeline.</p>\n", count - shown);
}

/* ==== code ==================================================================================== */

/* Functions with a bar each: useful time, and time in calls from there. Below them the source of the
 * hottest ones, with a bar for each line. */
enum { CODE_BAR_WIDTH = 200, LINE_BAR_WIDTH = 120 };

static const struct code_paint {
    const char *label;
    unsigned paint;
    size_t offset; /* in struct lull_picture_code_time */
} code_paints[] = {
    {"useful", LULL_PAINT_USEFUL, offsetof(struct lull_picture_code_time, useful_ns)},
    {"in MPI", LULL_PAINT_MPI, offsetof(struct lull_picture_code_time, mpi_ns)},
    {"in OpenMP", LULL_PAINT_SYNC, offsetof(struct lull_picture_code_time, openmp_ns)},
    {"idle", LULL_PAINT_IDLE, offsetof(struct lull_picture_code_time, idle_ns)},
};

enum { CODE_PAINTS = sizeof code_paints / sizeof *code_paints };

static int64_t code_time(const struct lull_picture_code_time *time, unsigned paint)
{
    return *(const int64_t *)((const char *)time + code_paints[paint].offset);
}

static int64_t all_code_time(const struct lull_picture_code_time *time)
{
    return time->useful_ns + time->mpi_ns + time->openmp_ns + time->idle_ns;
}

/* Whether times of that kind are known. */
static bool has_code_paint(const struct lull_picture_code *code, unsigned paint)
{
    return code_paints[paint].paint == LULL_PAINT_USEFUL ||
           (code_paints[paint].paint == LULL_PAINT_IDLE ? code->has_idle : code->has_calls);
}

/* `whole` is the time of a bar of the whole width. */
static void put_code_bar(FILE *out, const struct lull_picture_code_time *time, int64_t whole,
                         unsigned width)
{
    double at = 0;
    fprintf(out, "<svg viewBox=\"0 0 %u %d\" width=\"%u\" height=\"%d\" aria-hidden=\"true\">",
            width, BAR_HEIGHT, width, BAR_HEIGHT);
    for (unsigned k = 0; k < CODE_PAINTS && whole > 0; k++) {
        const double part = width * ((double)code_time(time, k) / (double)whole);
        if (part > 0)
            put_bar_part(out, code_paints[k].paint, at, part);
        at += part;
    }
    fputs("</svg>", out);
}

static void put_code_key(FILE *out, const struct lull_picture_code *code)
{
    fputs("<ul class=\"legend\">", out);
    for (unsigned k = 0; k < CODE_PAINTS; k++) {
        if (!has_code_paint(code, k))
            continue;
        fputs("<li><svg class=\"key\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" "
              "aria-hidden=\"true\">",
              out);
        put_bar_part(out, code_paints[k].paint, 0, 16);
        fprintf(out, "</svg> %s</li>", code_paints[k].label);
    }
    fputs("</ul>\n", out);
}

/* `rank`: whose time it is; negative: of several. */
static void put_code_seconds(FILE *out, int64_t ns, int64_t rank)
{
    fprintf(out, ns > 0 ? "<td>%.3f" : "<td>%.0f", 1e-9 * (double)ns);
    if (rank >= 0)
        fprintf(out, " (rank %lld)", (long long)rank);
    fputs("</td>", out);
}

/* `run` is the number of the code among those of the document. */
static void put_code_functions(FILE *out, const struct lull_document *document, size_t run)
{
    const struct lull_picture_code *code = document->codes[run];
    struct lull_arena *arena = document->arena;
    int64_t most = 0;
    for (uint32_t i = 0; i < code->n_functions; i++) {
        const int64_t all = all_code_time(&code->functions[i].time);
        most = all > most ? all : most;
    }
    fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"plain stacks\"><thead><tr>"
          "<th scope=\"col\">Function</th><th scope=\"col\">Time</th>"
          "<th scope=\"col\">hottest at</th>",
          out);
    for (unsigned k = 0; k < CODE_PAINTS; k++)
        if (has_code_paint(code, k))
            fprintf(out, "<th scope=\"col\">%s, s</th>", code_paints[k].label);
    if (code->has_waits)
        fputs("<th scope=\"col\">waiting in calls, s</th>", out);
    fputs("<th scope=\"col\">share of useful time, %</th><th scope=\"col\">95 % from</th>"
          "<th scope=\"col\">to</th>",
          out);
    if (code->has_ranks)
        fputs("<th scope=\"col\">least of a rank, s</th><th scope=\"col\">median</th>"
              "<th scope=\"col\">most</th>",
              out);
    fputs("<th scope=\"col\" class=\"words\">hottest line</th></tr></thead>\n<tbody>\n", out);
    for (uint32_t i = 0; i < code->n_functions; i++) {
        const struct lull_picture_function *function = &code->functions[i];
        fprintf(out, "<tr id=\"code-%zu-%u\" data-name=\"", run + 1, i + 1);
        put_name_between(out, arena, "", function->name, "\">");
        put_name_between(out, arena, "<th scope=\"row\">", function->name, "</th><td>");
        put_code_bar(out, &function->time, most, CODE_BAR_WIDTH);
        fputs("</td><td>", out);
        if (function->most.end > 0) {
            const bool linked = begin_link(out, document, &function->most);
            fprintf(out, "%.3f s%s", 1e-9 * (double)function->most.begin, linked ? "</a>" : "");
        }
        fputs("</td>", out);
        for (unsigned k = 0; k < CODE_PAINTS; k++)
            if (has_code_paint(code, k))
                put_code_seconds(out, code_time(&function->time, k), -1);
        if (code->has_waits)
            put_code_seconds(out, function->time.waited_ns, -1);
        fprintf(out, "<td>%.1f</td><td>%.1f</td><td>%.1f</td>", 100 * function->share,
                100 * function->low, 100 * function->high);
        if (code->has_ranks) {
            put_code_seconds(out, function->time.min_ns, function->time.min_rank);
            put_code_seconds(out, function->time.median_ns, -1);
            put_code_seconds(out, function->time.max_ns, function->time.max_rank);
        }
        put_name_between(out, arena, "<td class=\"words\">", function->place, "</td></tr>\n");
    }
    fputs("</tbody></table></div>\n", out);
}

/* What a line spent, as for a function; nothing where it spent nothing, so that lines with time stand out. */
static void put_line_seconds(FILE *out, int64_t ns, int64_t rank)
{
    if (ns > 0)
        put_code_seconds(out, ns, rank);
    else
        fputs("<td></td>", out);
}

static void put_code_source(FILE *out, const struct lull_picture_code *code,
                            const struct lull_picture_function *function, bool open,
                            struct lull_arena *arena)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < function->n_lines; i++) {
        const int64_t all = all_code_time(&function->lines[i].time);
        most = all > most ? all : most;
    }
    put_name_between(out, arena, open ? "<details open><summary>" : "<details><summary>",
                     function->name, "");
    put_name_between(out, arena, " (", function->place, "");
    fprintf(out, "), %.1f %% of the useful time", 100 * function->share);
    if (function->time.mpi_ns + function->time.openmp_ns > 0)
        fprintf(out, ", %.3f s in calls",
                1e-9 * (double)(function->time.mpi_ns + function->time.openmp_ns));
    fputs("</summary>\n", out);
    put_name_between(out, arena, "<p class=\"absent\">", function->note, "</p>\n");
    fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"plain source\"><thead><tr>"
          "<th scope=\"col\">line</th><th scope=\"col\">time</th><th scope=\"col\">useful, %</th>",
          out);
    if (code->has_waits)
        fputs("<th scope=\"col\">waiting in calls, s</th>", out);
    if (code->has_ranks)
        fputs("<th scope=\"col\">median of a rank, s</th><th scope=\"col\">most</th>", out);
    fputs("<th scope=\"col\" class=\"words\">source</th></tr></thead>\n<tbody>\n", out);
    for (uint32_t i = 0; i < function->n_lines; i++) {
        const struct lull_picture_code_line *line = &function->lines[i];
        const bool gap = i > 0 && line->number > function->lines[i - 1].number + 1;
        fprintf(out, "<tr%s><th scope=\"row\">%u</th><td>", gap ? " class=\"rule\"" : "",
                line->number);
        put_code_bar(out, &line->time, most, LINE_BAR_WIDTH);
        fputs("</td>", out);
        if (line->time.useful_ns > 0)
            fprintf(out, "<td>%.1f</td>",
                    function->time.useful_ns > 0
                        ? 100 * ((double)line->time.useful_ns / (double)function->time.useful_ns)
                        : 0);
        else
            fputs("<td></td>", out);
        if (code->has_waits)
            put_line_seconds(out, line->time.waited_ns, -1);
        if (code->has_ranks) {
            put_line_seconds(out, line->time.median_ns, -1);
            put_line_seconds(out, line->time.max_ns, line->time.max_rank);
        }
        put_name_between(out, arena, "<td class=\"words\"><code>", line->text ? line->text : "",
                         "</code></td></tr>\n");
    }
    fputs("</tbody></table></div></details>\n", out);
}

enum { ICICLE_WIDTH = 1000, ICICLE_ROW = 18, ICICLE_LETTER = 7 /* width, about */ };

/* Functions hang below those that called them, as wide as their share of the useful time. */
static void put_icicle(FILE *out, const struct lull_picture_code *code, struct lull_arena *arena)
{
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < code->n_frames; i++)
        deepest = code->frames[i].depth > deepest ? code->frames[i].depth : deepest;
    const unsigned height = (deepest + 1) * ICICLE_ROW;
    fprintf(out,
            "<details><summary>Call paths: who called what</summary>\n<p>Below each function are "
            "those that it called, as far as stacks, recorded functions or inlining tell; the "
            "width is the share "
            "of the useful time.</p>\n<div class=\"scroll\" tabindex=\"0\"><svg class=\"icicle\" "
            "viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\" role=\"img\" aria-label=\"call "
            "paths\">\n",
            ICICLE_WIDTH, height, ICICLE_WIDTH, height);
    for (uint32_t i = 0; i < code->n_frames; i++) {
        const struct lull_picture_frame *frame = &code->frames[i];
        const double x = ICICLE_WIDTH * frame->begin, width = ICICLE_WIDTH * frame->share;
        const unsigned y = frame->depth * ICICLE_ROW, letters = (unsigned)(width / ICICLE_LETTER);
        put_name_between(out, arena, "<g><title>", frame->name, "");
        if (*frame->place)
            put_name_between(out, arena, " (", frame->place, ")");
        fprintf(out, ", %.1f %%</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>",
                100 * frame->share, x, y, width, ICICLE_ROW - 1);
        if (letters >= 4) {
            fprintf(out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 13);
            lull_html_name(out, arena, lull_display_shorten(arena, frame->name, letters, true));
            fputs("</text>", out);
        }
        fputs("</g>\n", out);
    }
    fputs("</svg></div></details>\n", out);
}

static void page_codes(FILE *out, const struct lull_document *document)
{
    if (document->n_codes == 0)
        return;
    fputs("<section id=\"code\" aria-labelledby=\"code-title\">\n<h2 id=\"code-title\">Code</h2>\n",
          out);
    for (size_t i = 0; i < document->n_codes; i++) {
        const struct lull_picture_code *code = document->codes[i];
        bool open = true; /* the first one */
        put_name_between(out, document->arena, "<h3>", code->title, "</h3>\n");
        put_name_between(out, document->arena, "<p>", code->about, "</p>\n");
        put_code_key(out, code);
        put_code_functions(out, document, i);
        for (uint32_t f = 0; f < code->n_functions; f++)
            if (code->functions[f].n_lines > 0) {
                put_code_source(out, code, &code->functions[f], open, document->arena);
                open = false;
            }
        if (code->n_frames > 0)
            put_icicle(out, code, document->arena);
    }
    fputs("</section>\n", out);
}

/* ==== tables ================================================================================== */

/* The table in a region that can be scrolled, and below it the reasons of values that are absent.
 * `id` is that of the element. Rows beyond PAGE_ROWS are counted and left out. */
enum { PAGE_ROWS = 1000 };

/* A tree of efficiencies: has rows below rows, and coloured cells. */
static bool page_is_tree(const struct lull_table *table)
{
    bool below = false, coloured = false;
    for (size_t row = 0; row < table->n_rows; row++) {
        below |= table->rows[row].parent != LULL_NO_ROW;
        for (size_t column = 0; column < table->rows[row].n_cells; column++)
            coloured |= table->rows[row].cells[column].kind == LULL_CELL_EFFICIENCY;
    }
    return below && coloured;
}

/* Each reason has one number per table. */
struct reasons {
    const char **list;
    size_t count, capacity;
};

static size_t number_of_reason(struct reasons *reasons, struct lull_arena *arena, const char *why)
{
    for (size_t i = 0; i < reasons->count; i++)
        if (strcmp(reasons->list[i], why) == 0)
            return i + 1;
    reasons->list = lull_arena_grow(arena, reasons->list, &reasons->capacity, reasons->count + 1,
                                    sizeof *reasons->list);
    reasons->list[reasons->count++] = why;
    return reasons->count;
}

/* Lines of a heading. */
static void put_html_heading(FILE *out, const struct lull_table *table, const char *heading)
{
    for (bool first = true; *heading; first = false) {
        size_t length = strcspn(heading, "\n");
        fputs(first ? "" : "<br>", out);
        lull_html_name(out, table->arena, lull_arena_strndup(table->arena, heading, length));
        heading += length + (heading[length] == '\n');
    }
}

static void put_table_head(FILE *out, const struct lull_table *table)
{
    fputs("<thead><tr><th scope=\"col\">", out);
    put_html_heading(out, table, *table->corner ? table->corner : "Name");
    fputs("</th>", out);
    for (size_t i = 0; i < table->n_columns; i++) {
        fputs("<th scope=\"col\">", out);
        put_html_heading(out, table, table->columns[i].heading);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n", out);
}

/* What a script sorts by. */
static void put_value(FILE *out, struct lull_cell cell)
{
    switch (cell.kind) {
    case LULL_CELL_COUNT:
    case LULL_CELL_BYTES:
        fprintf(out, " data-value=\"%" PRIu64 "\"", cell.count);
        break;
    case LULL_CELL_TIME:
        fprintf(out, " data-value=\"%" PRId64 "\"", cell.ns);
        break;
    case LULL_CELL_NUMBER:
    case LULL_CELL_QUANTITY:
    case LULL_CELL_SHARE:
    case LULL_CELL_EFFICIENCY:
        fprintf(out, " data-value=\"%.9g\"", cell.number);
        break;
    case LULL_CELL_EMPTY:
    case LULL_CELL_TEXT:
    case LULL_CELL_ABSENT:
        break;
    }
}

static void put_html_cell(FILE *out, const struct lull_table *table, struct lull_cell cell,
                          struct reasons *reasons, const struct lull_render_options *options,
                          const struct lull_time_unit *unit)
{
    static const char *const bands[LULL_BANDS] = {"good", "look", "poor"};
    if (cell.kind == LULL_CELL_EFFICIENCY)
        fprintf(out, "<td class=\"%s\"", bands[lull_efficiency_band(cell.number)]);
    else
        fputs(cell.kind == LULL_CELL_TEXT && table->axis == LULL_BY_COLUMN ? "<td class=\"words\""
                                                                           : "<td",
              out);
    put_value(out, cell);
    fputc('>', out);
    if (cell.kind == LULL_CELL_ABSENT)
        fprintf(out, "[%zu]", number_of_reason(reasons, table->arena, cell.text));
    else
        lull_html_name(out, table->arena, lull_cell_format(table->arena, cell, options, unit));
    fputs("</td>", out);
}

static unsigned depth_of_table_row(const struct lull_table *table, size_t row)
{
    unsigned depth = 0;
    for (size_t up = table->rows[row].parent; up != LULL_NO_ROW; up = table->rows[up].parent)
        depth++;
    return depth;
}

static void put_html_row(FILE *out, const struct lull_table *table, size_t number,
                         struct reasons *reasons, const struct lull_render_options *options,
                         const struct lull_time_unit *const *units)
{
    enum { MOST_DEPTH = 9 };
    const struct lull_row *row = &table->rows[number];
    unsigned depth = depth_of_table_row(table, number);
    fprintf(out, "<tr%s><th scope=\"row\" class=\"depth%u\">", row->rule ? " class=\"rule\"" : "",
            depth < MOST_DEPTH ? depth : MOST_DEPTH);
    lull_html_name(out, table->arena, row->label);
    if (*row->unit) {
        fputs(" (", out);
        lull_html_name(out, table->arena, row->unit);
        fputc(')', out);
    }
    if (*row->about) {
        fputs("<small>", out);
        lull_html_name(out, table->arena, row->about);
        fputs("</small>", out);
    }
    fputs("</th>", out);
    const struct lull_time_unit *of_row =
        table->axis == LULL_BY_ROW ? lull_table_time_unit(table, number, 0) : NULL;
    for (size_t column = 0; column < table->n_columns; column++)
        put_html_cell(out, table, lull_table_get(table, number, column), reasons, options,
                      of_row ? of_row : units[column]);
    fputs("</tr>\n", out);
}

static void put_rest(FILE *out, const struct lull_table *table, const struct reasons *reasons)
{
    if (table->n_rows > PAGE_ROWS)
        fprintf(out,
                "<p>%zu more rows are not on this page; <code>--format json</code> has all.</p>\n",
                table->n_rows - PAGE_ROWS);
    if (!reasons->count)
        return;
    fputs("<ul class=\"reasons\">\n", out);
    for (size_t i = 0; i < reasons->count; i++) {
        fprintf(out, "<li>[%zu] ", i + 1);
        lull_html_name(out, table->arena, reasons->list[i]);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void page_table(FILE *out, const struct lull_table *table, const char *id,
                       const struct lull_render_options *options)
{
    struct reasons reasons = {0};
    const struct lull_time_unit **units =
        lull_arena_zero(table->arena, table->n_columns + 1, sizeof *units);
    for (size_t column = 0; table->axis == LULL_BY_COLUMN && column < table->n_columns; column++)
        units[column] = lull_table_time_unit(table, 0, column);
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"%s-title\">",
            id);
    fprintf(out, "<table class=\"%s\">\n<caption id=\"%s-title\">",
            page_is_tree(table) ? "tree" : "plain", id);
    lull_html_name(out, table->arena, *table->title ? table->title : table->id);
    fputs("</caption>\n", out);
    put_table_head(out, table);
    fputs("<tbody>\n", out);
    for (size_t row = 0; row < table->n_rows && row < PAGE_ROWS; row++)
        put_html_row(out, table, row, &reasons, options, units);
    fputs("</tbody></table></div>\n", out);
    put_rest(out, table, &reasons);
}

/* ==== the page ================================================================================ */

struct page {
    const struct lull_document *document;
    const struct lull_render_options *options;
    FILE *out;
};

/* ---- head ------------------------------------------------------------------------------------ */

static void put_digest(const struct page *page, const struct lull_asset *asset)
{
    uint8_t bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++) {
        unsigned byte = 0;
        sscanf(asset->sha256 + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
    fprintf(page->out, "'sha256-%s'", lull_base64(page->document->arena, bytes, sizeof bytes));
}

static void put_style(FILE *out, const struct lull_asset *asset)
{
    fputs("<style>", out);
    fwrite(asset->text, 1, asset->size, out);
    fputs("</style>\n", out);
}

static void put_name(const struct page *page, const char *name)
{
    lull_html_name(page->out, page->document->arena, name);
}

/* Its own title, or the command that its schema is named after, and the runs that are drawn. */
static const char *title_of(const struct page *page)
{
    const struct lull_document *document = page->document;
    if (*document->title)
        return document->title;
    char *command =
        lull_arena_strndup(document->arena, document->schema, strcspn(document->schema, "/"));
    for (char *dash = strchr(command, '-'); dash; dash = strchr(dash, '-'))
        *dash = ' ';
    const char *title = command;
    for (size_t i = 0; i < document->n_timelines; i++)
        title = lull_arena_printf(document->arena, "%s%s%s", title, i ? ", " : ": ",
                                  document->timelines[i]->title);
    return title;
}

static void put_page_head(const struct page *page)
{
    FILE *out = page->out;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ",
          out);
    put_digest(page, &lull_asset_page_script);
    fputs("; style-src ", out);
    put_digest(page, &lull_asset_chart_style);
    fputc(' ', out);
    put_digest(page, &lull_asset_page_style);
    fputs("; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"generator\" content=\"lull " LULL_VERSION "\">\n<title>",
          out);
    put_name(page, title_of(page));
    fputs("</title>\n", out);
    put_style(out, &lull_asset_chart_style);
    put_style(out, &lull_asset_page_style);
    fputs("</head>\n", out);
}

/* ---- what stands in the page ----------------------------------------------------------------- */

static bool has_timeline(const struct lull_document *document)
{
    for (size_t i = 0; i < document->n_timelines; i++)
        if (!document->timelines[i]->absent)
            return true;
    return false;
}

/* Tables before the first tree say how far the numbers may be believed, those behind it are for
 * who wants to know more. Without a tree all are of the second kind. */
enum table_part { PART_TRUST, PART_TREES, PART_REST };

static enum table_part part_of(const struct lull_document *document, const struct lull_table *table)
{
    if (page_is_tree(table))
        return PART_TREES;
    const struct lull_table *other = table;
    while (other && !page_is_tree(other))
        other = other->next;
    bool before = other != NULL;
    for (other = document->tables; other != table; other = other->next)
        before &= !page_is_tree(other);
    return before ? PART_TRUST : PART_REST;
}

static bool has_part(const struct lull_document *document, enum table_part part)
{
    for (const struct lull_table *table = document->tables; table; table = table->next)
        if (part_of(document, table) == part)
            return true;
    return false;
}

static bool has_notes(const struct lull_document *document, enum lull_note_kind kind)
{
    for (size_t i = 0; i < document->n_notes; i++)
        if (document->notes[i].kind == kind)
            return true;
    return false;
}

static bool has_trust(const struct lull_document *document)
{
    return document->n_facts || has_notes(document, LULL_NOTE_WARNING) ||
           has_part(document, PART_TRUST);
}

static void put_page_notes(const struct page *page, enum lull_note_kind kind, const char *class)
{
    const struct lull_document *document = page->document;
    if (!has_notes(document, kind))
        return;
    fprintf(page->out, "<ul class=\"%s\">\n", class);
    for (size_t i = 0; i < document->n_notes; i++) {
        if (document->notes[i].kind != kind)
            continue;
        fputs("<li>", page->out);
        lull_markup_text(page->out, document->notes[i].text);
        fputs("</li>\n", page->out);
    }
    fputs("</ul>\n", page->out);
}

static void put_table_part(const struct page *page, enum table_part part)
{
    const struct lull_document *document = page->document;
    size_t number = 0;
    for (const struct lull_table *table = document->tables; table; table = table->next) {
        number++;
        if (part_of(document, table) != part)
            continue;
        char id[32];
        snprintf(id, sizeof id, "table-%zu", number);
        fprintf(page->out, "<div class=\"table\" id=\"%s\">\n", id);
        page_table(page->out, table, id, page->options);
        fputs("</div>\n", page->out);
    }
}

/* What the reader should know before believing any number. */
static void put_trust(const struct page *page)
{
    const struct lull_document *document = page->document;
    FILE *out = page->out;
    if (!has_trust(document))
        return;
    fputs("<section id=\"trust\" aria-labelledby=\"trust-title\">\n"
          "<h2 id=\"trust-title\">How far to trust these numbers</h2>\n",
          out);
    put_page_notes(page, LULL_NOTE_WARNING, "warnings");
    if (document->n_facts)
        fputs("<dl>\n", out);
    for (size_t i = 0; i < document->n_facts; i++) {
        fputs("<div><dt>", out);
        put_name(page, document->facts[i].label);
        fputs("</dt><dd>", out);
        put_name(page, lull_text_cell(document->arena, document->facts[i].value, page->options));
        fputs("</dd></div>\n", out);
    }
    if (document->n_facts)
        fputs("</dl>\n", out);
    put_table_part(page, PART_TRUST);
    fputs("</section>\n", out);
}

static void put_band_legend(FILE *out)
{
    static const char *const names[LULL_BANDS] = {"good", "look", "poor"};
    fputs("<p class=\"bands\">1.00 is ideal. ", out);
    for (unsigned i = 0; i < LULL_BANDS; i++)
        fprintf(out, "<span class=\"%s\">%s</span> ", names[i], lull_band_meanings[i]);
    fputs("</p>\n", out);
}

static bool has_charts(const struct lull_document *document, bool of_time)
{
    for (size_t i = 0; i < document->n_charts; i++)
        if (document->charts[i].of_time == of_time)
            return true;
    return false;
}

static void put_charts(const struct page *page, bool of_time)
{
    const struct lull_document *document = page->document;
    if (!has_charts(document, of_time))
        return;
    fputs("<div class=\"charts\">\n", page->out);
    for (size_t i = 0; i < document->n_charts; i++) {
        if (document->charts[i].of_time != of_time)
            continue;
        fputs("<figure>", page->out);
        lull_chart_write_inline(document->charts[i].chart, page->out);
        fputs("</figure>\n", page->out);
    }
    fputs("</div>\n", page->out);
}

static void put_overview(const struct page *page)
{
    const struct lull_document *document = page->document;
    FILE *out = page->out;
    fputs("<section id=\"overview\" aria-labelledby=\"overview-title\">\n"
          "<h2 id=\"overview-title\">Overview</h2>\n",
          out);
    put_page_notes(page, LULL_NOTE_INFO, "notes");
    if (has_part(document, PART_TREES)) {
        fputs("<div id=\"trees\">\n", out);
        put_table_part(page, PART_TREES);
        fputs("</div>\n", out);
        put_band_legend(out);
    }
    put_charts(page, false);
    for (size_t i = 0; i < document->n_timelines; i++)
        if (!document->timelines[i]->absent)
            page_stacks(out, document->timelines[i], i, document->arena);
    fputs("</section>\n", out);
}

/* Where the script puts its views. Without it one sentence says what is missing. */
static void put_mount(const struct page *page, const char *id, const char *title, const char *what)
{
    fprintf(page->out,
            "<section id=\"%s\" class=\"drawn\" aria-labelledby=\"%s-title\">\n"
            "<h2 id=\"%s-title\">%s</h2>\n"
            "<p class=\"waiting\">%s drawn by the script of this page, which this browser does not "
            "run. The overview and the tables are whole without it.</p>\n</section>\n",
            id, id, id, title, what);
}

/* Charts whose axis is that of the timeline. */
static void put_over_time(const struct page *page)
{
    if (!has_charts(page->document, true))
        return;
    fputs("<section id=\"over-time\" aria-labelledby=\"over-time-title\">\n"
          "<h2 id=\"over-time-title\">Over time</h2>\n",
          page->out);
    put_charts(page, true);
    fputs("</section>\n", page->out);
}

static void put_absences(const struct page *page)
{
    for (size_t i = 0; i < page->document->n_timelines; i++) {
        const struct lull_picture_timeline *timeline = page->document->timelines[i];
        if (!timeline->absent)
            continue;
        fputs("<p class=\"absent\">No timeline of ", page->out);
        put_name(page, timeline->title);
        fputs(": ", page->out);
        put_name(page, timeline->absent);
        fputs("</p>\n", page->out);
    }
    for (size_t i = 0; i < page->document->n_matrices; i++) {
        const struct lull_picture_matrix *matrix = page->document->matrices[i];
        if (!matrix->absent)
            continue;
        fputs("<p class=\"absent\">", page->out);
        put_name(page, matrix->title);
        fputs(": ", page->out);
        put_name(page, matrix->absent);
        fputs("</p>\n", page->out);
    }
}

static void put_navigation(const struct page *page)
{
    const struct lull_document *document = page->document;
    const struct {
        const char *id, *label;
        bool there;
    } places[] = {
        {"trust", "Trust", has_trust(document)},
        {"findings", "Findings", document->findings_none != NULL},
        {"overview", "Overview", true},
        {"code", "Code", document->n_codes > 0},
        {"timelines", "Timeline", has_timeline(document)},
        {"over-time", "Over time", has_charts(document, true)},
        {"matrices", "Matrices", document->n_matrices > 0},
        {"tables", "Tables", has_part(document, PART_REST)},
    };
    fputs("<nav aria-label=\"Parts of this page\"><ul>", page->out);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i].there)
            fprintf(page->out, "<li><a href=\"#%s\">%s</a></li>", places[i].id, places[i].label);
    fputs("</ul></nav>\n", page->out);
}

static void put_plain_page(const struct page *page)
{
    const struct lull_document *document = page->document;
    FILE *out = page->out;
    fputs("<body>\n<header>\n<h1>", out);
    put_name(page, title_of(page));
    fputs("</h1>\n", out);
    put_navigation(page);
    fputs("</header>\n<main>\n", out);
    page_hatchings(out);
    put_trust(page);
    page_findings(out, document, page->options);
    put_overview(page);
    page_codes(out, document);
    if (has_timeline(document))
        put_mount(page, "timelines", "Timeline", "The timeline is");
    put_over_time(page);
    if (document->n_matrices)
        put_mount(page, "matrices", "Matrices", "Matrices are");
    put_absences(page);
    if (has_part(document, PART_REST)) {
        fputs("<section id=\"tables\" aria-labelledby=\"tables-title\">\n"
              "<h2 id=\"tables-title\">Tables</h2>\n",
              out);
        put_table_part(page, PART_REST);
        fputs("</section>\n", out);
    }
    fputs("</main>\n<footer><p>Written by lull " LULL_VERSION ".</p></footer>\n", out);
}

/* ---- the renderer ---------------------------------------------------------------------------- */

/* All but the data and the script. */
static char *render_plain(const struct lull_document *document,
                          const struct lull_render_options *options, size_t *ret_size)
{
    char *text;
    FILE *out = open_memstream(&text, ret_size);
    if (!out)
        return NULL;
    const struct page page = {document, options, out};
    put_page_head(&page);
    put_plain_page(&page);
    bool whole = !ferror(out);
    whole &= fclose(out) == 0;
    if (whole)
        return text;
    free(text);
    return NULL;
}

static const char script_begin[] = "<script>", script_end[] = "</script>\n</body>\n</html>\n";

static uint64_t size_without_data(size_t plain)
{
    return plain + sizeof script_begin + lull_asset_page_script.size + sizeof script_end;
}

static lull_status check(const struct lull_document *document,
                         const struct lull_render_options *options, struct lull_error *err)
{
    size_t size = 0;
    char *text = render_plain(document, options, &size);
    free(text);
    uint64_t need = size_without_data(size) + lull_page_data_least(document);
    if (!options->most_bytes || need <= options->most_bytes)
        return LULL_OK;
    return lull_fail(err, LULL_ERR_RANGE,
                     "the page takes %" PRIu64 " bytes without any timeline, which is more "
                     "than the %" PRIu64 " allowed",
                     need, options->most_bytes);
}

static void render_page(const struct lull_document *document,
                        const struct lull_render_options *options, FILE *out)
{
    size_t size = 0;
    char *text = render_plain(document, options, &size);
    uint64_t taken = size_without_data(size), most = options->most_bytes;
    uint64_t room = most == 0 ? UINT64_MAX : taken < most ? most - taken : 0;
    if (text) {
        fwrite(text, 1, size, out);
    } else { /* no memory for its size */
        const struct page page = {document, options, out};
        put_page_head(&page);
        put_plain_page(&page);
    }
    free(text);
    lull_page_data_write(lull_page_data_pack(document, room), out);
    fputs(script_begin, out);
    fwrite(lull_asset_page_script.text, 1, lull_asset_page_script.size, out);
    fputs(script_end, out);
}

const struct lull_renderer lull_renderer_html = {
    .name = "html", .summary = "one page for a browser", .render = render_page, .check = check};
