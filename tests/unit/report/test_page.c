/* The page: names stay texts, what is too much is left out and told, and blocks hold what the
 * format says. */
#include "report/markup.h"
#include "report/page/base64.h"
#include "support/page_case.h"
#include "support/seed.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct page_run ring = {"ring", 2, 3, 2, 6, 1, 500000, true, true, "sweep"};

static char *render(const struct lull_document *document, uint64_t most, size_t *ret_size)
{
    char *text;
    FILE *out = open_memstream(&text, ret_size);
    lull_renderer_html.render(document, &(struct lull_render_options){.most_bytes = most}, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static size_t count(const char *text, const char *word)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        found++;
    return found;
}

static char *escaped(const char *text)
{
    char *result;
    size_t size;
    FILE *out = open_memstream(&result, &size);
    lull_markup_text(out, text);
    fclose(out);
    return result;
}

static void test_text(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a<b>&\"c", "a&lt;b&gt;&amp;&quot;c"},
        {"</script>", "&lt;/script&gt;"},
        {"\x01\x7f", "\\x01\\x7f"},
        {"\xff\xc0\x80", "\\xff\\xc0\\x80"},     /* no UTF-8 */
        {"x\xe2\x80\xaey", "x\\xe2\\x80\\xaey"}, /* U+202E turns the direction */
        {"\xef\xbf\xbf", "\\xef\\xbf\\xbf"},     /* U+FFFF, which HTML forbids */
        {"na\xc3\xafve \xe2\x82\xac", "na\xc3\xafve \xe2\x82\xac"},
        {"a\nb\tc", "a b c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = escaped(cases[i][0]);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

static void test_long_name(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 };
    struct lull_arena *arena = lull_arena_create(NULL);
    char *name = lull_arena_alloc(arena, LONG + 1);
    memset(name, 'a', LONG);
    memcpy(name, "begin", 5);
    memcpy(name + LONG - 3, "end", 4);
    const char *kept = lull_page_name(arena, name);
    assert_true(strncmp(kept, "begina", 6) == 0);
    assert_string_equal(kept + strlen(kept) - 4, "aend");
    assert_non_null(strstr(kept, "\u2026"));
    assert_int_equal(strlen(kept), LULL_PAGE_NAME - 1 + strlen("\u2026"));
    name[LULL_PAGE_NAME] = '\0';
    assert_string_equal(lull_page_name(arena, name), name);
    lull_arena_destroy(arena);
}

/* The vectors of RFC 4648, section 10. */
static void test_base64(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
    struct lull_arena *arena = lull_arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(lull_base64(arena, cases[i][0], strlen(cases[i][0])), cases[i][1]);
    lull_arena_destroy(arena);
}

/* With ranks whose names alone take more than what is left beside the overview. */
static void test_room_for_names(void **state)
{
    (void)state;
    static const struct page_run many = {"many", 8, 32, 4, 2, 1, 500000, true, true, "sweep"};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_document *document = page_case_document(arena, &many, 1);
    struct lull_error err;
    struct lull_render_options options = {0};
    size_t whole, size, sizes = 0, before = 0;
    const unsigned stride = 4 / lull_test_rounds(4);
    free(render(document, 0, &whole));
    for (options.most_bytes = 1000; options.most_bytes < whole;
         options.most_bytes += 4000 * stride) {
        if (lull_renderer_html.check(document, &options, &err) != LULL_OK)
            continue;
        free(render(document, options.most_bytes, &size));
        assert_true(size <= options.most_bytes);
        sizes += size != before;
        before = size;
    }
    assert_true(sizes > 5); /* as much as fits is there */
    lull_arena_destroy(arena);
}

/* No page is larger than allowed, more room holds no less, and what is missing is named. */
static void test_room(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_document *document = page_case_document(arena, &ring, 1);
    struct lull_error err;
    struct lull_render_options options = {.most_bytes = 20000};
    assert_int_equal(lull_renderer_html.check(document, &options, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "20000"));
    size_t whole, blocks = 0;
    char *text = render(document, 0, &whole);
    const size_t all = count(text, "application/x-lull");
    free(text);
    size_t plain = whole;
    options.most_bytes = whole;
    assert_int_equal(lull_renderer_html.check(document, &options, &err), LULL_OK);
    const unsigned stride = 8 / lull_test_rounds(8);
    while (lull_renderer_html.check(document, &options, &err) == LULL_OK)
        options.most_bytes = plain -= 200 * stride;
    assert_true(plain < whole - 4000);
    bool smaller = false;
    for (uint64_t most = plain + 4096; most < whole + 8192; most += 512 * stride) {
        size_t size;
        text = render(document, most, &size);
        assert_true(size <= most);
        size_t here = count(text, "application/x-lull");
        smaller |= here < all;
        assert_true(here >= 2); /* what there is of the timeline and the matrix */
        blocks = here;
        free(text);
    }
    assert_true(smaller);
    assert_int_equal(blocks, all);
    lull_arena_destroy(arena);
}

/* A page without a title of its own is called after its command. */
static void test_title(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    size_t size;
    char *text = render(lull_document_create(arena, "lull-model-kernel/1", ""), 0, &size);
    assert_non_null(strstr(text, "<title>lull model kernel</title>"));
    free(text);
    text = render(lull_document_create(arena, "lull-wave/1", "Idle waves"), 0, &size);
    assert_non_null(strstr(text, "<title>Idle waves</title>"));
    free(text);
    lull_arena_destroy(arena);
}

/* ---- what there may be too little of ------------------------------------------------------- */

static void test_little(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_document *document = lull_document_create(arena, "lull-report/1", "");
    size_t size;
    char *text = render(document, 0, &size);
    assert_non_null(strstr(text, "<title>lull report</title>"));
    assert_null(strstr(text, "id=\"timelines\""));
    assert_null(strstr(text, "href=\"#tables\""));
    assert_non_null(strstr(text, "</html>"));
    free(text);
    const struct lull_picture_timeline absent = {
        .id = "r", .title = "sums <only>", .absent = "Only sums were recorded."};
    lull_document_timeline(document, &absent);
    text = render(document, 0, &size);
    assert_non_null(strstr(text, "No timeline of sums &lt;only&gt;: Only sums were recorded.</p>"));
    assert_null(strstr(text, "id=\"timelines\""));
    free(text);
    lull_arena_destroy(arena);
}

static void test_zero_length(void **state)
{
    (void)state;
    static const struct page_run nothing = {"nothing", 1, 1, 1, 0, 9, 1000, true, true, "sweep"};
    struct lull_arena *arena = lull_arena_create(NULL);
    size_t size;
    char *text = render(page_case_document(arena, &nothing, 1), 0, &size);
    assert_null(strstr(text, "nan"));
    assert_non_null(strstr(text, "rank 0"));
    free(text);
    lull_arena_destroy(arena);
}

/* Rows beyond the limit are counted. */
static void test_many_rows(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_document *document = lull_document_create(arena, "lull-report/1", "");
    struct lull_table *table = lull_document_table(document, "regions", "Regions", LULL_BY_COLUMN);
    lull_table_column(table, "time", "time");
    for (unsigned i = 0; i < 1234; i++)
        lull_table_set(table, lull_table_row(table, "r", "r", LULL_NO_ROW), 0, lull_cell_time(i));
    size_t size;
    char *text = render(document, 0, &size);
    assert_int_equal(count(text, "<tr>"), 1001); /* with the heading */
    assert_non_null(strstr(text, "234 more rows"));
    free(text);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_page)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),      cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_base64),    cmocka_unit_test(test_room_for_names),
        cmocka_unit_test(test_title),     cmocka_unit_test(test_room),
        cmocka_unit_test(test_little),    cmocka_unit_test(test_zero_length),
        cmocka_unit_test(test_many_rows),
    };
    return run_cases(tests, NULL, NULL);
}
