/* Operations of a series are opened and closed in the order of their numbers, also where these wrap around. */
#include "match/circle.h"
#include "support/test.h"

struct kept {
    int64_t latest, arrived;
};

static const struct kept fresh = {.latest = -1};

static struct kept *open_operation(struct lull_match_series *series, uint32_t number)
{
    return lull_match_open(series, sizeof(struct kept), number, &fresh);
}

/* An operation that is opened first opens those before it, and each keeps what was put into it. */
static void test_opened(void **state)
{
    (void)state;
    struct lull_match_series series = {0};
    struct kept *third = open_operation(&series, 2);
    assert_int_equal(third->latest, -1);
    assert_int_equal(series.operations.count, 3);
    third->latest = 7;
    open_operation(&series, 0)->arrived = 1;
    assert_int_equal(open_operation(&series, 2)->latest, 7);
    assert_int_equal(open_operation(&series, 1)->latest, -1);
    assert_int_equal(series.operations.count, 3);
    lull_match_close(&series);
    assert_true(lull_match_is_closed(&series, 0));
    assert_false(lull_match_is_closed(&series, 1));
    const struct kept *second = lull_match_open_at(&series, sizeof(struct kept), 1);
    assert_int_equal(second->latest, 7);
    lull_ring_free(&series.operations);
}

/* Twenty operations over the end of the numbers, of which three are open at a time. */
static void test_numbers_wrap_around(void **state)
{
    (void)state;
    struct lull_match_series series = {.first = UINT32_MAX - 9};
    for (uint32_t i = 0; i < 20; i++) {
        const uint32_t number = UINT32_MAX - 9 + i;
        open_operation(&series, number)->arrived = i;
        if (i < 2)
            continue;
        const struct kept *oldest = lull_match_open_at(&series, sizeof(struct kept), 0);
        assert_int_equal(oldest->arrived, i - 2);
        assert_false(lull_match_is_closed(&series, number - 2));
        lull_match_close(&series);
        assert_true(lull_match_is_closed(&series, number - 2));
        assert_false(lull_match_is_closed(&series, number - 1));
    }
    assert_int_equal(series.first, 8);
    lull_ring_free(&series.operations);
}

TEST_GROUP(test_series)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opened),
        cmocka_unit_test(test_numbers_wrap_around),
    };
    return run_cases(tests, NULL, NULL);
}
