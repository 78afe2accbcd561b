/* What every test in C starts from: cmocka, groups of cases that share a program with others of their
 * room, and a count of what each case asserts.
 *
 * A file tests/unit/ROOM/test_NAME.c is one group. It ends with
 *
 *     TEST_GROUP(test_NAME)
 *     {
 *         const struct CMUnitTest tests[] = {cmocka_unit_test(test_one), cmocka_unit_test(test_two)};
 *         return run_cases(tests, NULL, NULL);
 *     }
 *
 * and is found by CMake, which links all groups of a folder into one program:
 * `unit.ROOM --only test_NAME` runs one group, `--only test_one` the cases of that name. A group
 * returns the number of cases that failed, or TEST_SKIPPED after a line "skipped: WHY". */
#ifndef LULL_TESTS_SUPPORT_TEST_H
#define LULL_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TEST_SKIPPED = 77 };

#define TEST_GROUP(name)         \
    int test_group_##name(void); \
    int test_group_##name(void)

/* Runs the cases that were asked for, in their order, between `set_up` and `tear_down` of the
 * group, which may be NULL. Returns how many failed. A case that returns without having asserted
 * anything fails. */
#define run_cases(tests, set_up, tear_down) \
    test_run_cases((tests), sizeof(tests) / sizeof((tests)[0]), (set_up), (tear_down))
int test_run_cases(const struct CMUnitTest *tests, size_t n, CMFixtureFunction set_up,
                   CMFixtureFunction tear_down);

/* The name of the group that runs. */
const char *test_group_running(void);

/* After so many seconds a process that a test has forked is thought to hang, and ended by alarm():
 * more than any of them needs on a machine that others keep busy. */
enum { TEST_HANG_SECONDS = 900 };

/* ---- assertions are counted ---------------------------------------------------------------------
 */

/* One more assertion of the case that runs, by any thread. */
void test_count_assertion(void);

/* Ends the case as failed, with a text as of printf, where `condition` holds. */
#define fail_if(condition, ...)    \
    do {                           \
        test_count_assertion();    \
        if (condition)             \
            fail_msg(__VA_ARGS__); \
    } while (0)

/* A random test reached the branch that it is about in only `reached` of its `inputs`: too few to
 * say anything. Prints both numbers, so that the log shows how much a pass is worth. */
#define assert_reached(what, reached, least, inputs) \
    test_assert_reached((what), (reached), (least), (inputs), __FILE__, __LINE__)
void test_assert_reached(const char *what, unsigned long reached, unsigned long least,
                         unsigned long inputs, const char *file, int line);

/* cmocka's own, which its macros end in. A function-like macro does not expand itself. */
#define _assert_true(...)          (test_count_assertion(), _assert_true(__VA_ARGS__))
#define _assert_int_equal(...)     (test_count_assertion(), _assert_int_equal(__VA_ARGS__))
#define _assert_int_not_equal(...) (test_count_assertion(), _assert_int_not_equal(__VA_ARGS__))
#define _assert_float_equal(...)   (test_count_assertion(), _assert_float_equal(__VA_ARGS__))
#define _assert_string_equal(...)  (test_count_assertion(), _assert_string_equal(__VA_ARGS__))
#define _assert_string_not_equal(...) \
    (test_count_assertion(), _assert_string_not_equal(__VA_ARGS__))
#define _assert_memory_equal(...) (test_count_assertion(), _assert_memory_equal(__VA_ARGS__))
#define _assert_memory_not_equal(...) \
    (test_count_assertion(), _assert_memory_not_equal(__VA_ARGS__))
#define _assert_in_range(...) (test_count_assertion(), _assert_in_range(__VA_ARGS__))

#endif
