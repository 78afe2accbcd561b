/* Widths of texts and what reaches a terminal. */
#include "report/display.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>

#include <string.h>

static struct lull_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    return 0;
}

static void width_counts_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"\u00e9", 1},  /* e with acute accent, one character */
        {"e\u0301", 1}, /* the same with a combining accent */
        {"\u4e2d", 2},  /* a Chinese character */
        {"\u251c\u2500", 2},
        {"\U0001f600", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(lull_display_width(cases[i].text), cases[i].width);
}

static void clean_disarms_control_characters(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain text", "plain text"},
        {"\033[2J", "\\x1b[2J"}, /* would clear the screen */
        {"a\nb\tc", "a b c"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "1m",
         "\\xc2\\x9b1m"},                    /* an 8-bit escape sequence */
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* right-to-left override */
        {"\xff\xfe", "\\xff\\xfe"},          /* not UTF-8 */
        {"\xc0\xaf", "\\xc0\\xaf"},          /* overlong slash */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
        {"\xe4\xb8", "\\xe4\\xb8"},          /* cut off */
        {"\xe4\xb8\xad", "\xe4\xb8\xad"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(lull_display_clean(arena, cases[i][0]), cases[i][1]);
}

static void shortened_text_keeps_begin_and_end(void **state)
{
    (void)state;
    assert_string_equal(lull_display_shorten(arena, "abcdefghij", 10, false), "abcdefghij");
    assert_string_equal(lull_display_shorten(arena, "abcdefghij", 8, false), "abc..hij");
    assert_string_equal(lull_display_shorten(arena, "abcdefghij", 8, true), "abcd\u2026hij");
}

static void shortened_text_fits(void **state)
{
    (void)state;
    const char *text = "ab\u4e2d\u4e2dcd\u00e9\u00e9ef\u4e2dgh\u4e2d";
    for (size_t width = 4; width < 24; width++)
        for (int unicode = 0; unicode < 2; unicode++) {
            const char *result = lull_display_shorten(arena, text, width, unicode);
            assert_true(lull_display_width(result) <= width);
            assert_string_equal(lull_display_clean(arena, result), result);
        }
}

static void fit_never_splits_a_character(void **state)
{
    (void)state;
    const char *text = "a\u4e2db";
    static const size_t bytes[] = {0, 1, 1, 4, 5, 5};
    for (size_t width = 0; width < sizeof bytes / sizeof *bytes; width++)
        assert_int_equal(lull_display_fit(text, width), bytes[width]);
}

TEST_GROUP(test_display)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(width_counts_columns),
        cmocka_unit_test(clean_disarms_control_characters),
        cmocka_unit_test(shortened_text_keeps_begin_and_end),
        cmocka_unit_test(shortened_text_fits),
        cmocka_unit_test(fit_never_splits_a_character),
    };
    return run_cases(tests, set_up, tear_down);
}
