/* Values of options: what is taken, what is refused and how, and that what was not said stays. */
#include "base/text.h"
#include "support/test.h"

#include <stddef.h>

#include <string.h>

static const char *const colours[] = {"red", "green", "blue", NULL};

static void words_are_counted_from_1(void **state)
{
    (void)state;
    unsigned number = 9;
    assert_int_equal(lull_option_word("ink", NULL, colours, &number, NULL), LULL_OK);
    assert_int_equal(number, 0);
    assert_int_equal(lull_option_word("ink", "blue", colours, &number, NULL), LULL_OK);
    assert_int_equal(number, 3);
    struct lull_error err;
    assert_int_equal(lull_option_word("ink", "Blue", colours, &number, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "--ink is 'Blue', expected red, green or blue");
}

static void numbers_have_limits(void **state)
{
    (void)state;
    uint64_t whole = 7;
    double real = 7, part = 7;
    struct lull_error err;
    assert_int_equal(lull_option_number("n", NULL, 2, 4, &whole, &err), LULL_OK);
    assert_int_equal(whole, 7);
    static const char *const wrong[] = {"1", "5", "3.0", "-3", "", "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(lull_option_number("n", wrong[i], 2, 4, &whole, &err), LULL_ERR_RANGE);
        assert_non_null(strstr(err.text, ", expected 2 to 4"));
    }
    assert_int_equal(whole, 7);
    assert_int_equal(lull_option_number("n", "4", 2, 4, &whole, &err), LULL_OK);
    assert_int_equal(whole, 4);
    assert_int_equal(lull_option_real("x", "0.4", 0.5, &real, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "--x is '0.4', expected a number from 0.5 up");
    assert_int_equal(lull_option_real("x", "nan", 0.5, &real, &err), LULL_ERR_RANGE);
    assert_true(real == 7);
    assert_int_equal(lull_option_percent("p", "25", 1, 50, &part, &err), LULL_OK);
    assert_true(part == 0.25);
    assert_int_equal(lull_option_percent("p", "51", 1, 50, &part, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "--p is '51', expected 1 to 50 percent");
}

static void sizes_and_times_have_units(void **state)
{
    (void)state;
    uint64_t bytes = 7;
    int64_t ns = 7;
    struct lull_error err;
    assert_int_equal(lull_option_size("room", "2KiB", 1, "more", &bytes, &err), LULL_OK);
    assert_int_equal(bytes, 2048);
    assert_int_equal(lull_option_size("room", "0", 1, "a size above 0", &bytes, &err),
                     LULL_ERR_RANGE);
    assert_string_equal(err.text, "--room is '0', expected a size above 0");
    assert_int_equal(lull_option_size("room", "2 cups", 1, "more", &bytes, &err), LULL_ERR_RANGE);
    assert_int_equal(strncmp(err.text, "--room: ", 8), 0);
    assert_int_equal(bytes, 2048);
    assert_int_equal(lull_option_time("wait", "1.5us", 1, "more", &ns, &err), LULL_OK);
    assert_int_equal(ns, 1500);
    assert_int_equal(lull_option_time("wait", "-1us", 1, "a time above 0", &ns, &err),
                     LULL_ERR_RANGE);
    assert_string_equal(err.text, "--wait is '-1us', expected a time above 0");
    assert_int_equal(lull_option_time("wait", NULL, 1, "more", &ns, &err), LULL_OK);
    assert_int_equal(ns, 1500);
}

TEST_GROUP(test_option)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_counted_from_1),
        cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(sizes_and_times_have_units),
    };
    return run_cases(tests, NULL, NULL);
}
