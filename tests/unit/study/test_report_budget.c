/* How many steps and messages a page of a size may have. */
#include "study/report_study.h"
#include "support/test.h"

/* Simulated steps, which repeat each other least, take 4.7 bytes of a page: 640,000 of them, with what
 * else is on it, took 3,031,055. So a page of 16 MB has room for 1.22 million of a run, and a larger
 * one for more. */
static void test_steps_that_fit(void **state)
{
    static const uint64_t sizes[] = {100000, 1000000, 8000000, 16000000, 160000000};
    struct lull_report_options options = {0};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lull_report_budget(sizes[i], &options);
        assert_in_range(options.most_steps, sizes[i] / 10, sizes[i] * 10 / 47);
        assert_int_equal(options.most_messages, sizes[i] / 80);
    }
    lull_report_budget(16000000, &options);
    assert_true(options.most_steps >= 1220000);
    lull_report_budget(UINT64_MAX, &options); /* memory is bounded */
    assert_true(options.most_steps <= 25000000);
}

TEST_GROUP(test_report_budget)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps_that_fit)};
    return run_cases(tests, NULL, NULL);
}
