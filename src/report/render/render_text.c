/* Documents for people: facts, tables with aligned columns, notes. */
#include "report/cell_text.h"
#include "report/display.h"
#include "report/model.h"
#include "report/render/text_findings.h"
#include "report/render/text_table.h"
#include "report/render/text_timeline.h"

#include <string.h>

#define PLAIN_WIDTH 100 /* of running text where no terminal sets a limit */

static void put_padding(FILE *out, size_t columns)
{
    for (; columns > 0; columns--)
        fputc(' ', out);
}

static void put_fact_lines(FILE *out, const struct lull_document *document,
                           const struct lull_render_options *options)
{
    size_t widest = 0;
    for (size_t i = 0; i < document->n_facts; i++) {
        size_t width =
            lull_display_width(lull_display_clean(document->arena, document->facts[i].label));
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < document->n_facts; i++) {
        const struct lull_fact *fact = &document->facts[i];
        const char *label = lull_display_clean(document->arena, fact->label);
        const char *value = lull_text_cell(document->arena, fact->value, options);
        size_t room = options->width > widest + 2 ? options->width - widest - 2 : SIZE_MAX;
        fputs(label, out);
        put_padding(out, widest + 2 - lull_display_width(label));
        lull_display_wrap(out, value, room, 0);
        fputc('\n', out);
    }
}

static void put_note_paragraphs(FILE *out, const struct lull_document *document, size_t width)
{
    bool first = true;
    for (size_t i = 0; i < document->n_notes; i++) {
        if (document->notes[i].kind == LULL_NOTE_WARNING)
            continue;
        if (first)
            fputc('\n', out);
        first = false;
        lull_display_wrap(out, lull_display_clean(document->arena, document->notes[i].text), width,
                          2);
        fputc('\n', out);
    }
}

static bool has_efficiencies(const struct lull_document *document)
{
    for (const struct lull_table *table = document->tables; table; table = table->next)
        for (size_t row = 0; row < table->n_rows; row++)
            for (size_t column = 0; column < table->n_columns; column++)
                if (lull_table_get(table, row, column).kind == LULL_CELL_EFFICIENCY)
                    return true;
    return false;
}

static void render_text(const struct lull_document *document,
                        const struct lull_render_options *options, FILE *out)
{
    if (*document->title)
        lull_text_title(out, lull_display_clean(document->arena, document->title), options);
    if (document->n_facts) {
        if (*document->title)
            fputc('\n', out);
        put_fact_lines(out, document, options);
    }
    bool first = !document->n_facts && !*document->title;
    for (const struct lull_table *table = document->tables; table; table = table->next) {
        if (table->detail)
            continue;
        if (!first)
            fputc('\n', out);
        first = false;
        lull_text_table(out, table, options);
    }
    if (options->colour && has_efficiencies(document)) {
        fputc('\n', out);
        lull_text_legend(out);
    }
    lull_text_findings(out, document, options->width ? options->width : PLAIN_WIDTH);
    for (size_t i = 0; i < document->n_timelines; i++) {
        fputc('\n', out);
        lull_text_timeline(out, document->arena, document->timelines[i], options);
    }
    put_note_paragraphs(out, document, options->width ? options->width : PLAIN_WIDTH);
}

const struct lull_renderer lull_renderer_text = {
    .name = "text", .summary = "tables for people", .render = render_text};
