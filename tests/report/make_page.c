/* Writes a page for the tests in a browser, or the steps that the timelines of "two" are made of.
 * usage: make_page one|two|hostile|large OUT.html, or make_page steps OUT.json */
#include "support/page_case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct page_run before = {"before", 2, 4, 2, 12, 3, 2000000, true, true, "sweep"};
static const struct page_run after = {"after", 2, 4, 2, 12, 99, 2000000, true, true, "sweep"};
static const struct page_run hostile = {
    "</script><img src=x onerror=alert(1)>",           1, 4, 1, 5, 2, 1000000, true, true,
    "<img src=x onerror=alert(2)>\xe2\x80\xae\xff&\"'"};
static const struct page_run large = {"large", 64, 16, 4, 200, 17, 2000000, false, false, "sweep"};

/* Of the first run the place of a long wait, in the row of the rank that was late for it; of the
 * second, where there is one, the whole of it. */
static void add_findings(struct lull_document *document, struct lull_arena *arena)
{
    enum { RANK = 3, ROWS_OF_RANK = 3 }; /* the rank and its two threads, below the node */
    struct lull_shown_fact *facts = lull_arena_zero(arena, 1, sizeof *facts);
    facts[0] = (struct lull_shown_fact){"waits", "waits", lull_cell_count(11)};
    struct lull_shown_finding *findings = lull_arena_zero(arena, 2, sizeof *findings);
    const struct lull_picture_place *place = &document->timelines[0]->places[0];
    findings[0] = (struct lull_shown_finding){
        .run = document->timelines[0]->title,
        .rule = "late_sender",
        .sentence = "Rank 3 is late: others wait for its MPI_Send.",
        .cause = "Why is not known.",
        .next = "lull replay before --median rank=3",
        .lost_ns = place->end - place->begin,
        .gain = {.ns = 1000000, .low_ns = 900000, .high_ns = 1100000, .factor = 1.1},
        .rank = RANK,
        .begin = place->begin,
        .end = place->end,
        .facts = facts,
        .n_facts = 1,
        .row = 1 + RANK * ROWS_OF_RANK};
    findings[1] = (struct lull_shown_finding){.run = "after",
                                              .rule = "tracer",
                                              .sentence = "The tracer wrote.",
                                              .gain = {.absent = "No replay tells."},
                                              .rank = -1,
                                              .timeline = 1};
    lull_document_findings(document, findings, (uint32_t)document->n_timelines, NULL, "None.");
}

/* Names that mean harm, in every place that a document has for them. */
static void add_hostile(struct lull_document *document, struct lull_arena *arena)
{
    static const char name[] = "</table></script><img src=x onerror=alert(3)>\xe2\x80\xae\x01\xfe";
    enum { LONG = 1 << 20 };
    char *longest = lull_arena_zero(arena, LONG + 1, 1);
    for (size_t i = 0; i < LONG; i++)
        longest[i] = "<&\"'"[i % 4];
    lull_document_fact(document, name, name, lull_cell_text(name));
    lull_document_note(document, LULL_NOTE_INFO, "%s", name);
    struct lull_table *table = lull_document_table(document, name, name, LULL_BY_ROW);
    lull_table_corner(table, name);
    uint32_t column = lull_table_column(table, name, name);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t row = lull_table_row(table, name, i == 2 ? longest : name, LULL_NO_ROW);
        lull_table_row_unit(table, row, name);
        lull_table_row_about(table, row, name);
        lull_table_set(table, row, column,
                       i ? lull_cell_absent(name) : lull_cell_quantity(1, name));
    }
    lull_document_chart(document, name, lull_chart_create(arena, name));
}

static struct lull_document *make(const char *kind, struct lull_arena *arena)
{
    const struct page_run two[] = {before, after};
    struct page_run *runs = lull_arena_alloc(arena, sizeof two); /* timelines borrow them */
    memcpy(runs, two, sizeof two);
    if (strcmp(kind, "hostile") == 0)
        runs[0] = hostile;
    if (strcmp(kind, "large") == 0)
        runs[0] = large;
    struct lull_document *document =
        page_case_document(arena, runs, strcmp(kind, "two") == 0 ? 2 : 1);
    if (strcmp(kind, "hostile") == 0)
        add_hostile(document, arena);
    else
        add_findings(document, arena);
    return document;
}

/* Of each run: its length, and of each leaf [end, activity] of its steps. */
static void write_steps(FILE *out, struct lull_arena *arena)
{
    const struct lull_document *document = make("two", arena);
    fputs("[", out);
    for (size_t i = 0; i < document->n_timelines; i++) {
        const struct lull_picture_timeline *timeline = document->timelines[i];
        fprintf(out, "%s{\"length\": %" PRId64 ", \"leaves\": [", i ? ",\n" : "", timeline->end);
        for (uint32_t leaf = 0; leaf < timeline->n_leaves; leaf++) {
            struct lull_picture_piece piece = timeline->piece(timeline->data, leaf, 0);
            fputs(leaf ? ", [" : "[", out);
            for (size_t k = 0; k < piece.count; k++) {
                struct lull_picture_step step = timeline->step(timeline->data, &piece, k);
                fprintf(out, "%s[%" PRId64 ", %d]", k ? ", " : "", step.end, step.activity);
            }
            fputs("]", out);
        }
        fputs("]}", out);
    }
    fputs("]\n", out);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    struct lull_arena *arena = lull_arena_create(NULL);
    FILE *out = fopen(arguments[2], "w");
    if (!out)
        return 1;
    if (strcmp(arguments[1], "steps") == 0)
        write_steps(out, arena);
    else
        lull_renderer_html.render(make(arguments[1], arena),
                                  &(struct lull_render_options){.most_bytes = 16 << 20}, out);
    int status = ferror(out) || fclose(out) ? 1 : 0;
    lull_arena_destroy(arena);
    return status;
}
