/* A document as one HTML page: what stands in it is read without script; the script adds the views
 * that are drawn, and makes tables sortable. Nothing is fetched: the policy in the head forbids it,
 * and names the one script and the styles by their digests. */
#include "report/asset.h"
#include "report/cell_text.h"
#include "report/markup.h"
#include "report/page/base64.h"
#include "report/page/html.h"
#include "report/page/page_data.h"
#include "report/page/page_findings.h"
#include "report/page/page_stacks.h"
#include "report/page/page_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct page {
    const struct lull_document *document;
    const struct lull_render_options *options;
    FILE *out;
};

/* ---- head ---------------------------------------------------------------------------------- */

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

/* ---- what stands in the page --------------------------------------------------------------- */

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
    if (lull_page_is_tree(table))
        return PART_TREES;
    const struct lull_table *other = table;
    while (other && !lull_page_is_tree(other))
        other = other->next;
    bool before = other != NULL;
    for (other = document->tables; other != table; other = other->next)
        before &= !lull_page_is_tree(other);
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
        lull_page_table(page->out, table, id, page->options);
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
    if (document->n_charts)
        fputs("<div class=\"charts\">\n", out);
    for (size_t i = 0; i < document->n_charts; i++) {
        fputs("<figure>", out);
        lull_chart_write_inline(document->charts[i].chart, out);
        fputs("</figure>\n", out);
    }
    if (document->n_charts)
        fputs("</div>\n", out);
    for (size_t i = 0; i < document->n_timelines; i++)
        if (!document->timelines[i]->absent)
            lull_page_stacks(out, document->timelines[i], i, document->arena);
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
        {"timelines", "Timeline", has_timeline(document)},
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
    lull_page_hatchings(out);
    put_trust(page);
    lull_page_findings(out, document, page->options);
    put_overview(page);
    if (has_timeline(document))
        put_mount(page, "timelines", "Timeline", "The timeline is");
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

/* ---- the renderer -------------------------------------------------------------------------- */

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
