/* One document through all renderers: text against what a person expects to see, JSON through
 * another reader (jansson), CSV field by field. */
#include "report/cell_text.h"
#include "report/display.h"
#include "report/document.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct lull_arena *arena;
static char *rendered;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    rendered = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    free(rendered);
    return 0;
}

static const char *render(const struct lull_document *document, const char *renderer,
                          struct lull_render_options options)
{
    size_t size;
    free(rendered);
    FILE *out = open_memstream(&rendered, &size);
    lull_renderer_find(renderer)->render(document, &options, out);
    fclose(out);
    return rendered;
}

/* A small table of efficiencies: two runs, a tree of three levels, two absent values. */
static struct lull_document *efficiencies(void)
{
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "pop", "Efficiencies", LULL_BY_ROW);
    lull_table_corner(table, "Metric");
    lull_table_column(table, "a", "a\n1 x 1");
    lull_table_column(table, "long_name", "long_name\n24 x 8");
    uint32_t global = lull_table_row(table, "global", "Global", LULL_NO_ROW);
    uint32_t parallel = lull_table_row(table, "parallel", "Parallel", global);
    uint32_t transfer = lull_table_row(table, "transfer", "Transfer", parallel);
    uint32_t scaling = lull_table_row(table, "scaling", "Scaling", global);
    lull_table_set(table, global, 0, lull_cell_efficiency(1));
    lull_table_set(table, global, 1, lull_cell_efficiency(0.5049));
    lull_table_set(table, parallel, 0, lull_cell_efficiency(0.7));
    lull_table_set(table, parallel, 1, lull_cell_efficiency(1.0 / 3));
    lull_table_set(table, transfer, 0, lull_cell_absent("needs a replay"));
    lull_table_set(table, transfer, 1, lull_cell_absent("needs a replay"));
    lull_table_set(table, scaling, 1, lull_cell_absent("no counters"));
    lull_table_rule(table);
    uint32_t runtime = lull_table_row(table, "runtime", "Runtime", LULL_NO_ROW);
    lull_table_set(table, runtime, 0, lull_cell_time(21898659140));
    lull_table_set(table, runtime, 1, lull_cell_time(512345678));
    uint32_t clock = lull_table_row(table, "frequency", "Frequency", LULL_NO_ROW);
    lull_table_row_unit(table, clock, "GHz");
    lull_table_set(table, clock, 0, lull_cell_number(2.069905, 2));
    return document;
}

static void text_aligns_columns_and_draws_the_tree(void **state)
{
    (void)state;
    assert_string_equal(render(efficiencies(), "text", (struct lull_render_options){0}),
                        "Efficiencies\n"
                        "Metric                  a  long_name\n"
                        "                    1 x 1     24 x 8\n"
                        "------------------------------------\n"
                        "Global               1.00       0.50\n"
                        "|- Parallel          0.70       0.33\n"
                        "|  `- Transfer        [1]        [1]\n"
                        "`- Scaling                       [2]\n"
                        "------------------------------------\n"
                        "Runtime          21.899 s    0.512 s\n"
                        "Frequency (GHz)      2.07\n"
                        "[1] needs a replay\n"
                        "[2] no counters\n");
}

static void text_uses_line_characters_where_the_terminal_has_them(void **state)
{
    (void)state;
    const char *text =
        render(efficiencies(), "text", (struct lull_render_options){.unicode = true});
    assert_non_null(strstr(text, "\n\u2502  \u2514\u2500 Transfer        [1]        [1]\n"));
    assert_non_null(strstr(text, "\n\u251c\u2500 Parallel          0.70       0.33\n"));
    assert_null(strstr(text, "|-"));
}

static void text_colours_by_value_and_explains_it(void **state)
{
    (void)state;
    const char *text = render(efficiencies(), "text", (struct lull_render_options){.colour = true});
    assert_non_null(strstr(text, "\033[32m1.00\033[0m"));
    assert_non_null(strstr(text, "\033[33m0.70\033[0m"));
    assert_non_null(strstr(text, "\033[1;31m0.33\033[0m"));
    assert_non_null(strstr(text, "Colours: "));
    text = render(efficiencies(), "text", (struct lull_render_options){0});
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "Colours: "));
}

static void text_splits_a_table_that_is_too_wide(void **state)
{
    (void)state;
    /* Labels are 15 wide, the columns 8 and 9 with 2 blanks in front: 36 in all. */
    const char *text = render(efficiencies(), "text", (struct lull_render_options){.width = 35});
    assert_non_null(strstr(text, "Global               1.00\n"));
    assert_non_null(strstr(text, "Global                0.50\n"));
    const char *first = strstr(text, "Metric");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "Metric"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 35);
    text = render(efficiencies(), "text", (struct lull_render_options){.width = 36});
    first = strstr(text, "Metric");
    assert_null(strstr(first + 1, "Metric"));
}

/* Rows are named by their label and the thread, which each part begins with. */
static void text_repeats_names_of_rows(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_corner(table, "Rank");
    lull_table_column(table, "thread", "thread");
    lull_table_names(table);
    lull_table_column(table, "waits", "waits");
    lull_table_column(table, "longest", "longest");
    for (uint64_t i = 0; i < 2; i++) {
        const uint32_t row = lull_table_row(table, i ? "0.1" : "0.0", "0", LULL_NO_ROW);
        for (uint32_t column = 0; column < 3; column++)
            lull_table_set(table, row, column, lull_cell_count(i + 10 * column));
    }
    assert_string_equal(render(document, "text", (struct lull_render_options){.width = 22}),
                        "Rank  thread  waits\n"
                        "-------------------\n"
                        "0          0     10\n"
                        "0          1     11\n"
                        "\n"
                        "Rank  thread  longest\n"
                        "---------------------\n"
                        "0          0       20\n"
                        "0          1       21\n");
}

static void text_uses_one_unit_of_time_per_column_of_things(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "name", "name");
    lull_table_column(table, "time", "time");
    lull_table_column(table, "share", "share");
    lull_table_column(table, "bytes", "bytes");
    for (int i = 0; i < 2; i++) {
        lull_table_row(table, i ? "b" : "a", i ? "b" : "a", LULL_NO_ROW);
        lull_table_set(table, (uint32_t)i, 0, lull_cell_text(i ? "x" : "longer"));
        lull_table_set(table, (uint32_t)i, 1, lull_cell_time(i ? 345678 : 1234567));
        lull_table_set(table, (uint32_t)i, 2, lull_cell_share(i ? 0.0125 : 1));
        lull_table_set(table, (uint32_t)i, 3, lull_cell_count(i ? 22180 : 7));
    }
    assert_string_equal(render(document, "text", (struct lull_render_options){0}),
                        "   name        time    share   bytes\n"
                        "------------------------------------\n"
                        "a  longer  1.235 ms  100.0 %       7\n"
                        "b  x       0.346 ms    1.2 %  22,180\n");
}

static void text_prints_names_from_files_harmlessly(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "c", "\033]0;owned\a");
    uint32_t row = lull_table_row(table, "r", "evil\033[2J\n", LULL_NO_ROW);
    lull_table_set(table, row, 0, lull_cell_text("\xff"));
    const char *text = render(document, "text", (struct lull_render_options){0});
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\a'));
    assert_non_null(strstr(text, "evil\\x1b[2J "));
}

/* The screen of whoever reads them belongs to nobody else: neither bytes below the blank nor those
 * of C1 (as U+009B, an escape sequence's begin on some terminals), in UTF-8 alone. */
static void check_harmless(const char *text)
{
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\a'));
    assert_null(strstr(text, "\xc2\x9b"));
    assert_null(strstr(text, "\u202e"));
    json_t *parsed = json_stringn(text, strlen(text)); /* NULL: no UTF-8 */
    assert_non_null(parsed);
    json_decref(parsed);
}

static void every_renderer_disarms_every_text(void **state)
{
    (void)state;
    static const char evil[] = "=\033]0;x\a\xff\xc2\x9b\u202ez";
    struct lull_document *document = lull_document_create(arena, "lull-test/1", evil);
    lull_document_fact(document, evil, evil, lull_cell_text(evil));
    lull_document_fact(document, "quantity", "quantity", lull_cell_quantity(1, evil));
    lull_document_note(document, LULL_NOTE_INFO, "%s", evil);
    struct lull_table *table = lull_document_table(document, evil, evil, LULL_BY_COLUMN);
    lull_table_column(table, evil, evil);
    lull_table_column(table, "b", "b");
    lull_table_row(table, evil, evil, LULL_NO_ROW);
    lull_table_set(table, 0, 0, lull_cell_text(evil));
    lull_table_set(table, 0, 1, lull_cell_absent(evil));
    check_harmless(render(document, "text", (struct lull_render_options){0}));
    check_harmless(render(document, "csv", (struct lull_render_options){0}));
    check_harmless(render(document, "json", (struct lull_render_options){0}));
}

/* What begins so is a formula to spreadsheets (OWASP, "CSV Injection"). */
static void csv_holds_no_formulas(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "c", "c");
    lull_table_row(table, "@id", "=HYPERLINK(\"x\",\"y\")", LULL_NO_ROW);
    lull_table_set(table, 0, 0, lull_cell_text("+1"));
    lull_table_row(table, "-", "a=b", LULL_NO_ROW);
    lull_table_set(table, 1, 0, lull_cell_number(-1, 0));
    assert_string_equal(render(document, "csv", (struct lull_render_options){0}),
                        "table,id,label,c\n"
                        "t,'@id,\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\",'+1\n"
                        "t,'-,a=b,-1\n");
}

static void text_wraps_notes_and_leaves_warnings_to_stderr(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "Title");
    lull_document_note(document, LULL_NOTE_INFO, "%s", "one two three four five six");
    lull_document_note(document, LULL_NOTE_WARNING, "beware of %d", 7);
    assert_string_equal(render(document, "text", (struct lull_render_options){.width = 13}),
                        "Title\n\none two three\n  four five\n  six\n");
}

static json_t *load(const struct lull_document *document)
{
    json_error_t error;
    json_t *root = json_loads(render(document, "json", (struct lull_render_options){0}), 0, &error);
    fail_if(!root, "line %d: %s", error.line, error.text);
    return root;
}

static const char *string_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void json_holds_every_digit_and_every_reason(void **state)
{
    (void)state;
    json_t *root = load(efficiencies());
    assert_string_equal(string_of(root, "schema"), "lull-test/1");
    assert_string_equal(string_of(root, "lull"), LULL_VERSION);
    json_t *table = json_object_get(json_object_get(root, "tables"), "pop");
    json_t *columns = json_object_get(table, "columns");
    assert_int_equal(json_array_size(columns), 2);
    assert_string_equal(string_of(json_array_get(columns, 1), "id"), "long_name");
    json_t *rows = json_object_get(table, "rows");
    assert_int_equal(json_array_size(rows), 6);
    json_t *parallel = json_array_get(rows, 1);
    assert_string_equal(string_of(parallel, "parent"), "global");
    assert_string_equal(string_of(parallel, "unit"), "ratio");
    assert_null(json_object_get(parallel, "absent"));
    json_t *values = json_object_get(parallel, "values");
    assert_true(json_real_value(json_array_get(values, 1)) == 1.0 / 3);
    json_t *scaling = json_array_get(rows, 3);
    values = json_object_get(scaling, "values");
    assert_true(json_is_null(json_array_get(values, 0)) && json_is_null(json_array_get(values, 1)));
    json_t *absent = json_object_get(scaling, "absent");
    assert_true(json_is_null(json_array_get(absent, 0)));
    assert_string_equal(json_string_value(json_array_get(absent, 1)), "no counters");
    json_t *runtime = json_array_get(rows, 4);
    assert_string_equal(string_of(runtime, "unit"), "s");
    assert_true(json_is_null(json_object_get(runtime, "parent")));
    assert_true(json_number_value(json_array_get(json_object_get(runtime, "values"), 0)) ==
                21.898659140);
    json_t *clock = json_array_get(rows, 5);
    assert_string_equal(string_of(clock, "unit"), "GHz");
    values = json_object_get(clock, "values");
    assert_int_equal(json_array_size(values), 2);
    assert_true(json_number_value(json_array_get(values, 0)) == 2.069905);
    assert_true(json_is_null(json_array_get(values, 1)));
    json_decref(root);
}

static void write_attachment(struct lull_json *json, const void *data)
{
    lull_json_string(json, data);
}

static void json_holds_facts_notes_and_attachments(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "A \"title\"");
    lull_document_fact(document, "big", "Big", lull_cell_count(UINT64_MAX));
    lull_document_fact(document, "exact", "Exact", lull_cell_count(UINT64_C(1) << 53));
    lull_document_fact(document, "start", "Start", lull_cell_absent("not recorded"));
    lull_document_note(document, LULL_NOTE_WARNING, "%d oddities", 3);
    lull_document_attach(document, "extra", write_attachment, "mine");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "run", "run");
    lull_table_column(table, "run", "run");
    json_t *root = load(document);
    json_t *facts = json_object_get(root, "facts");
    assert_string_equal(string_of(facts, "big"), "18446744073709551615");
    assert_true(json_integer_value(json_object_get(facts, "exact")) == INT64_C(9007199254740992));
    assert_true(json_is_null(json_object_get(facts, "start")));
    assert_string_equal(string_of(json_object_get(root, "facts_absent"), "start"), "not recorded");
    json_t *note = json_array_get(json_object_get(root, "notes"), 0);
    assert_string_equal(string_of(note, "kind"), "warning");
    assert_string_equal(string_of(note, "text"), "3 oddities");
    assert_string_equal(string_of(root, "extra"), "mine");
    json_t *columns =
        json_object_get(json_object_get(json_object_get(root, "tables"), "t"), "columns");
    assert_string_equal(string_of(json_array_get(columns, 1), "id"), "run#2");
    json_decref(root);
}

static void csv_is_one_rectangle_for_tables_with_the_same_columns(void **state)
{
    (void)state;
    struct lull_document *document = efficiencies();
    struct lull_table *more = lull_document_table(document, "raw", "", LULL_BY_ROW);
    lull_table_column(more, "a", "a");
    lull_table_column(more, "long_name", "long_name");
    uint32_t row = lull_table_row(more, "x", "a, \"b\"", LULL_NO_ROW);
    lull_table_set(more, row, 1, lull_cell_text("two\nlines"));
    assert_string_equal(render(document, "csv", (struct lull_render_options){0}),
                        "table,id,label,a,long_name\n"
                        "pop,global,Global,1,0.5049\n"
                        "pop,parallel,Parallel,0.7,0.3333333333333333\n"
                        "pop,transfer,Transfer,,\n"
                        "pop,scaling,Scaling,,\n"
                        "pop,runtime,Runtime,21.89865914,0.512345678\n"
                        "pop,frequency,Frequency,2.069905,\n"
                        "raw,x,\"a, \"\"b\"\"\",,two lines\n");
}

static void csv_sets_tables_with_other_columns_apart(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    lull_document_fact(document, "ranks", "Ranks", lull_cell_count(4));
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "n", "n");
    lull_table_row(table, "r", "r", LULL_NO_ROW);
    lull_table_set(table, 0, 0, lull_cell_bytes(1536));
    assert_string_equal(render(document, "csv", (struct lull_render_options){0}),
                        "table,id,label,value\nfacts,ranks,Ranks,4\n\n"
                        "table,id,label,n\nt,r,r,1536\n");
}

/* Names as C++ has them, a long reason, and columns of all sizes. */
static struct lull_document *wide_document(void)
{
    static const char name[] = "void solver::Multigrid<double, 3, Smoother<Jacobi> >::relax(Grid "
                               "const&, std::vector<double, std::allocator<double> >&, int)";
    struct lull_document *document = lull_document_create(arena, "lull-test/1", name);
    lull_document_fact(document, "run", "Run", lull_cell_text(name));
    lull_document_fact(document, "why", "Why", lull_cell_absent(name));
    lull_document_note(document, LULL_NOTE_INFO, "The region %s loses most.", name);
    struct lull_table *table = lull_document_table(document, "t", name, LULL_BY_COLUMN);
    lull_table_corner(table, name);
    lull_table_column(table, "site", "called from");
    lull_table_column(table, "long", name);
    lull_table_column(table, "time", "exclusive");
    uint32_t row = LULL_NO_ROW;
    for (int i = 0; i < 4; i++) {
        row = lull_table_row(table, "r", name, row);
        lull_table_set(table, row, 0, lull_cell_text(name));
        lull_table_set(table, row, 1, i ? lull_cell_text(name) : lull_cell_absent(name));
        lull_table_set(table, row, 2, lull_cell_time(INT64_C(1000000000) << i));
    }
    return document;
}

static void test_no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    for (unsigned width = 30; width <= 220; width++) {
        const struct lull_render_options options = {.width = width, .unicode = width & 1};
        const char *line = render(wide_document(), "text", options);
        for (; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n')) {
            char text[1024];
            snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
            fail_if(lull_display_width(text) > width, "width %u: '%s'", width, text);
        }
    }
}

/* A column of times that differ much: each has three digits at least. */
static void test_small_times_beside_large_ones(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "time", "time");
    static const int64_t times[] = {2176000000, 307000000, 1234567, 56789, 7, 0, -1234567};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        lull_table_set(table, lull_table_row(table, "r", "r", LULL_NO_ROW), 0,
                       lull_cell_time(times[i]));
    assert_string_equal(render(document, "text", (struct lull_render_options){0}),
                        "        time\n"
                        "------------\n"
                        "r    2.176 s\n"
                        "r    0.307 s\n"
                        "r   1.235 ms\n"
                        "r  56.789 us\n"
                        "r       7 ns\n"
                        "r    0.000 s\n"
                        "r  -1.235 ms\n");
}

/* All of 2.176 s, 1.235 ms and 30 us have two digits and more in ms, which 5 us have not. */
static void test_one_unit_where_all_are_readable(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "a", "a");
    lull_table_column(table, "b", "b");
    static const int64_t times[][2] = {
        {2176000000, 2176000000}, {1234567, 30000}, {0, 5000}, {-30000, -30000}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const uint32_t row = lull_table_row(table, "r", "r", LULL_NO_ROW);
        for (uint32_t column = 0; column < 2; column++)
            lull_table_set(table, row, column, lull_cell_time(times[i][column]));
    }
    assert_string_equal(render(document, "text", (struct lull_render_options){0}),
                        "             a           b\n"
                        "--------------------------\n"
                        "r  2176.000 ms     2.176 s\n"
                        "r     1.235 ms   30.000 us\n"
                        "r     0.000 ms    5.000 us\n"
                        "r    -0.030 ms  -30.000 us\n");
}

static void test_what_rounds_to_nothing_has_no_sign(void **state)
{
    (void)state;
    const struct lull_render_options options = {0};
    const struct {
        struct lull_cell cell;
        const char *text;
    } cases[] = {
        {lull_cell_share(-0.0004), "0.0 %"},   {lull_cell_share(-0.0006), "-0.1 %"},
        {lull_cell_share(-0.0), "0.0 %"},      {lull_cell_number(-0.4, 0), "0"},
        {lull_cell_number(-0.6, 0), "-1"},     {lull_cell_number(-0.0049, 2), "0.00"},
        {lull_cell_number(-10, 0), "-10"},     {lull_cell_efficiency(-0.004), "0.00"},
        {lull_cell_efficiency(-0.2), "-0.20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(lull_text_cell(arena, cases[i].cell, &options), cases[i].text);
}

/* Text has the rows that matter, and says how many others there are; programs get all. Where there is no terminal,
 * long names are shortened all the same. */
static void text_leaves_out_minor_rows(void **state)
{
    (void)state;
    struct lull_document *document = lull_document_create(arena, "lull-test/1", "");
    struct lull_table *table = lull_document_table(document, "t", "", LULL_BY_COLUMN);
    lull_table_column(table, "share", "share");
    static const char *const names[] = {"solve", "std::begin", "std::end", "write"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t row = lull_table_row(table, names[i], names[i], LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_share(i % 3 ? 0 : 0.5));
        if (i % 3)
            lull_table_row_minor(table, row, "below 0.1 %");
    }
    assert_string_equal(render(document, "text", (struct lull_render_options){0}),
                        "        share\n"
                        "-------------\n"
                        "solve  50.0 %\n"
                        "write  50.0 %\n"
                        "(2 more below 0.1 %, see --format csv or json)\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(
            strstr(render(document, "json", (struct lull_render_options){0}), names[i]));
        assert_non_null(strstr(render(document, "csv", (struct lull_render_options){0}), names[i]));
    }
    char name[300];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    lull_table_row(table, "long", name, LULL_NO_ROW);
    const char *text = render(document, "text", (struct lull_render_options){0});
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    assert_non_null(strstr(render(document, "csv", (struct lull_render_options){0}), name));
}

TEST_GROUP(test_renderers)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_line_is_wider_than_the_terminal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_times_beside_large_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_unit_where_all_are_readable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_rounds_to_nothing_has_no_sign, set_up, tear_down),
        TEST(text_aligns_columns_and_draws_the_tree),
        TEST(text_uses_line_characters_where_the_terminal_has_them),
        TEST(text_colours_by_value_and_explains_it),
        TEST(text_splits_a_table_that_is_too_wide),
        TEST(text_repeats_names_of_rows),
        TEST(text_uses_one_unit_of_time_per_column_of_things),
        TEST(text_leaves_out_minor_rows),
        TEST(text_prints_names_from_files_harmlessly),
        TEST(every_renderer_disarms_every_text),
        TEST(csv_holds_no_formulas),
        TEST(text_wraps_notes_and_leaves_warnings_to_stderr),
        TEST(json_holds_every_digit_and_every_reason),
        TEST(json_holds_facts_notes_and_attachments),
        TEST(csv_is_one_rectangle_for_tables_with_the_same_columns),
        TEST(csv_sets_tables_with_other_columns_apart),
    };
    return run_cases(tests, NULL, NULL);
}
