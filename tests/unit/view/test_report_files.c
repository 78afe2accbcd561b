/* The files of a report: those with most time, and all others as one, so that sums stay. */
#include "report/model.h"
#include "study/compare.h"
#include "support/golden_data.h"
#include "support/test.h"
#include "view/report/report_document.h"

#include <stddef.h>
#include <string.h>

static const struct lull_table *files_of(const struct lull_document *document)
{
    const struct lull_table *table = document->tables;
    while (table && strcmp(table->id, "files:mpi1") != 0)
        table = table->next;
    return table;
}

static bool has_note(const struct lull_document *document, const char *part)
{
    for (size_t i = 0; i < document->n_notes; i++)
        if (strstr(document->notes[i].text, part))
            return true;
    return false;
}

/* File i was opened once, read i times, 10 i bytes, and took 1000 - i ns. */
static struct lull_document *document_with(struct lull_report *report, uint32_t n_files,
                                           struct lull_arena *arena)
{
    struct lull_file_use *uses = lull_arena_zero(arena, n_files + (size_t)1, sizeof *uses);
    struct lull_file_uses *files = lull_arena_zero(arena, 1, sizeof *files);
    const struct lull_notices notices = {.arena = arena};
    const struct lull_report_wish wish = {.options = ""};
    for (uint32_t i = 0; i < n_files; i++)
        uses[i] = (struct lull_file_use){.name = lull_arena_printf(arena, "file%u", i),
                                         .opens = 1,
                                         .reads = i,
                                         .bytes_read = 10 * i,
                                         .ns = 1000 - (int64_t)i};
    *files = (struct lull_file_uses){uses, n_files};
    report->runs.runs[0].files = files;
    return lull_report_document(report, &wish, &notices, arena);
}

static void test_most_time_and_the_rest(void **state)
{
    (void)state;
    enum { OPENS = 1, READS, BYTES, TIME = 7 }; /* columns */
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_notices notices = {.arena = arena};
    struct lull_report report;
    struct lull_error err;
    const char *path = golden_data("mpi1.prv", arena);
    const struct lull_report_options options = {.runs = {.regions = true, .no_replay = true}};
    fail_if(lull_report_load(&path, 1, &options, &notices, arena, &report, &err) != LULL_OK ||
                lull_study_compute(&report.runs, arena, &err) != LULL_OK,
            "%s", err.text);

    assert_null(files_of(document_with(&report, 0, arena)));
    const struct lull_document *few = document_with(&report, 20, arena);
    assert_int_equal(files_of(few)->n_rows, 20);
    assert_false(has_note(few, "--by file"));

    const struct lull_document *many = document_with(&report, 25, arena);
    const struct lull_table *table = files_of(many);
    assert_int_equal(table->n_rows, 21);
    assert_string_equal(table->rows[19].label, "file19");
    assert_string_equal(table->rows[20].label, "(5 others)");
    assert_false(table->detail); /* text has them, too */
    assert_true(has_note(many, "lull metrics --by file has all of them"));
    /* 20 to 24: five times opened, 110 times read, 1100 bytes, 4890 ns */
    assert_int_equal(lull_table_get(table, 20, OPENS).count, 5);
    assert_int_equal(lull_table_get(table, 20, READS).count, 110);
    assert_int_equal(lull_table_get(table, 20, BYTES).count, 1100);
    assert_int_equal(lull_table_get(table, 20, TIME).ns, 4890);
    lull_report_close(&report);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_report_files)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_most_time_and_the_rest)};
    return run_cases(tests, NULL, NULL);
}
