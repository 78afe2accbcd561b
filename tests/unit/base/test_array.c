/* The growing array: what is in it survives, refusals change nothing, and growth is geometric. */
#include "base/array.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static void test_content_survives(void **state)
{
    (void)state;
    uint32_t *numbers = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        assert_true(lull_array_reserve(&numbers, &capacity, i + 1, sizeof *numbers));
        assert_true(capacity > i);
        numbers[i] = i * 7;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(numbers[i], i * 7);
    free(numbers);
}

/* Appending must not copy everything each time: at most 20 moves for 2^20 elements. */
static void test_grows_seldom(void **state)
{
    (void)state;
    char *text = NULL;
    size_t capacity = 0, changes = 0;
    for (size_t i = 0; i < (size_t)1 << 20; i++) {
        size_t before = capacity;
        assert_true(lull_array_reserve(&text, &capacity, i + 1, 1));
        changes += capacity != before;
    }
    assert_in_range(changes, 1, 20);
    free(text);
}

static void test_enough_is_left_alone(void **state)
{
    (void)state;
    struct {
        char bytes[48];
    } *items = NULL, *before;
    size_t capacity = 0;
    assert_true(lull_array_reserve(&items, &capacity, 0, sizeof *items));
    assert_null(items);
    assert_true(lull_array_reserve(&items, &capacity, 1000, sizeof *items));
    assert_in_range(capacity, 1000, 2000);
    before = items;
    size_t had = capacity;
    assert_true(lull_array_reserve(&items, &capacity, 1000, sizeof *items));
    assert_true(lull_array_reserve(&items, &capacity, 3, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, had);
    free(items);
}

/* Elements larger than what an array begins with. */
static void test_large_elements(void **state)
{
    (void)state;
    struct {
        char bytes[5000];
    } *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 10; i++) {
        assert_true(lull_array_reserve(&items, &capacity, i + 1, sizeof *items));
        assert_true(capacity > i);
        items[i].bytes[4999] = (char)i;
    }
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(items[i].bytes[4999], i);
    free(items);
}

/* Sizes that overflow or that no system has are refused, and the array stays usable. */
static void test_refusals(void **state)
{
    (void)state;
    uint64_t *numbers = NULL, *before;
    size_t capacity = 0;
    assert_true(lull_array_reserve(&numbers, &capacity, 5, sizeof *numbers));
    numbers[4] = 44;
    before = numbers;
    size_t had = capacity;
    const size_t too_many[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, SIZE_MAX / 8 + 1,
                               PTRDIFF_MAX / 8 + 1};
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        assert_false(lull_array_reserve(&numbers, &capacity, too_many[i], sizeof *numbers));
        assert_ptr_equal(numbers, before);
        assert_int_equal(capacity, had);
    }
    assert_int_equal(numbers[4], 44);
    assert_true(lull_array_reserve(&numbers, &capacity, had + 1, sizeof *numbers));
    assert_int_equal(numbers[4], 44);
    free(numbers);
}

/* A list of the three largest of what comes. */
static void test_insert(void **state)
{
    (void)state;
    static const int come[] = {5, 9, 1, 7, 2, 9, 8};
    static const int kept[][4] = {{5},       {9, 5},    {9, 5, 1}, {9, 7, 5},
                                  {9, 7, 5}, {9, 9, 7}, {9, 9, 8}};
    int list[4] = {0, 0, 0, -1};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof come / sizeof *come; i++) {
        uint32_t at = count;
        while (at > 0 && list[at - 1] < come[i])
            at--;
        lull_array_insert(list, &count, 3, at, &come[i], sizeof *list);
        assert_int_equal(count, i < 3 ? i + 1 : 3);
        assert_memory_equal(list, kept[i], count * sizeof *list);
        assert_int_equal(list[3], -1);
    }
}

TEST_GROUP(test_array)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content_survives),
        cmocka_unit_test(test_grows_seldom),
        cmocka_unit_test(test_enough_is_left_alone),
        cmocka_unit_test(test_large_elements),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_insert),
    };
    return run_cases(tests, NULL, NULL);
}
