/* Bisection: the first item with a number at or above another one, and the first for which a condition does not hold. */
#include "base/sorted.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>

struct small {
    char before;
    uint32_t number;
};

static void test_between_and_equal(void **state)
{
    (void)state;
    const struct small items[] = {{'a', 3}, {'b', 5}, {'c', 5}, {'d', UINT32_MAX}};
    const struct {
        uint32_t least;
        size_t first;
    } cases[] = {{0, 0}, {3, 0}, {4, 1}, {5, 1}, {6, 3}, {UINT32_MAX, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(lull_sorted_first_u32(items, 4, sizeof *items,
                                               offsetof(struct small, number), cases[i].least),
                         cases[i].first);
    assert_int_equal(
        lull_sorted_first_u32(items, 3, sizeof *items, offsetof(struct small, number), 6), 3);
    assert_int_equal(lull_sorted_first_u32(NULL, 0, sizeof *items, 0, 1), 0);
}

/* The highest bit is a sign, or is not. */
static void test_signs(void **state)
{
    (void)state;
    const int64_t times[] = {INT64_MIN, -7, 0, 7};
    assert_int_equal(lull_sorted_first_i64(times, 4, sizeof *times, 0, -7), 1);
    assert_int_equal(lull_sorted_first_i64(times, 4, sizeof *times, 0, -6), 2);
    assert_int_equal(lull_sorted_first_i64(times, 4, sizeof *times, 0, 8), 4);
    const uint64_t numbers[] = {1, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    assert_int_equal(lull_sorted_first_u64(numbers, 3, sizeof *numbers, 0, 2), 1);
    assert_int_equal(lull_sorted_first_u64(numbers, 3, sizeof *numbers, 0, UINT64_MAX), 2);
}

/* Every number of items, and every number between them, against a walk from the first on. */
static void test_all_places(void **state)
{
    (void)state;
    uint32_t odd[64];
    for (uint32_t i = 0; i < 64; i++)
        odd[i] = 2 * i + 1;
    for (uint32_t n = 0; n <= 64; n++)
        for (uint32_t least = 0; least <= 2 * n + 1; least++) {
            size_t first = 0;
            while (first < n && odd[first] < least)
                first++;
            assert_int_equal(lull_sorted_first_u32(odd, n, sizeof *odd, 0, least), first);
        }
}

/* The caller is asked about items from `begin` to `end` only, and of 64 about no more than 7. */
static void test_condition(void **state)
{
    (void)state;
    for (size_t begin = 0; begin <= 64; begin++)
        for (size_t end = begin; end <= 64; end++)
            for (size_t place = begin; place <= end; place++) {
                struct lull_bisection at = {.begin = begin, .end = end};
                unsigned asked = 0;
                for (; lull_bisect(&at); asked++) {
                    assert_true(at.middle >= begin && at.middle < end);
                    at.in_front = at.middle < place;
                }
                assert_int_equal(at.begin, place);
                assert_true(asked <= 7);
            }
}

TEST_GROUP(test_sorted)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_and_equal),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_all_places),
        cmocka_unit_test(test_condition),
    };
    return run_cases(tests, NULL, NULL);
}
