/* Matching workers' spans to the master's executions. */
#include "metrics/collector.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static void run_master(struct lull_executions *executions, int64_t begin, int64_t end,
                       uint32_t region, int64_t useful)
{
    const struct lull_span span = {
        begin, end, {[LULL_CAUSE_USEFUL] = useful, [LULL_CAUSE_SYNC] = end - begin - useful}};
    assert_int_equal(lull_executions_open(executions, &(struct lull_forked){begin, true}, NULL),
                     LULL_OK);
    lull_executions_close(executions, &span, region);
}

static void run_worker(struct lull_executions *executions, uint32_t thread, int64_t begin,
                       int64_t end, int64_t useful)
{
    const struct lull_span span = {
        begin, end, {[LULL_CAUSE_USEFUL] = useful, [LULL_CAUSE_SYNC] = end - begin - useful}};
    assert_int_equal(lull_executions_add(executions, thread, &span, NULL), LULL_OK);
}

static void pass(struct lull_executions *executions, uint32_t thread, int64_t until)
{
    assert_int_equal(lull_executions_pass(executions, thread, until, NULL), LULL_OK);
}

static struct lull_parallel_breakdown sum_of(const struct lull_executions *executions,
                                             uint32_t region)
{
    const struct lull_parallel_breakdown *sums;
    const uint32_t *regions;
    uint32_t n = lull_executions_result(executions, &sums, &regions);
    for (uint32_t i = 0; i < n; i++) {
        if (regions[i] == region)
            return sums[i];
    }
    fail_msg("there is no region %u", region);
    return (struct lull_parallel_breakdown){0};
}

/* A worker far behind or far ahead of the master makes no difference. */
static void test_order_of_reading(void **state)
{
    (void)state;
    for (int worker_first = 0; worker_first < 2; worker_first++) {
        struct lull_executions *executions = lull_executions_create(2);
        for (int part = 0; part < 2; part++) {
            if (part == worker_first) {
                for (int64_t i = 0; i < 100; i++)
                    run_master(executions, 20 * i, 20 * i + 10, (uint32_t)(i % 3), 4);
                pass(executions, 0, INT64_MAX);
            } else {
                for (int64_t i = 0; i < 100; i++)
                    run_worker(executions, 1, 20 * i, 20 * i + 10, i % 2 ? 2 : 6);
                pass(executions, 1, INT64_MAX);
            }
        }
        struct lull_parallel_breakdown sum = sum_of(executions, 0);
        assert_int_equal(sum.executions, 34);
        assert_int_equal(sum.duration_ns, 340);
        assert_int_equal(sum.useful_ns, 34 * 4 + 17 * 2 + 17 * 6);
        assert_int_equal(sum.max_useful_ns, 17 * 4 + 17 * 6);
        assert_int_equal(sum.sync_ns, 2 * 340 - sum.useful_ns);
        lull_executions_destroy(executions);
    }
}

/* The end of a worker's last barrier may come late: its time stays with its execution. */
static void test_late_end(void **state)
{
    (void)state;
    struct lull_executions *executions = lull_executions_create(2);
    run_master(executions, 0, 10, 7, 10);
    run_worker(executions, 1, 0, 30, 5);
    run_master(executions, 30, 40, 8, 10);
    run_worker(executions, 1, 30, 40, 9);
    pass(executions, 0, INT64_MAX);
    pass(executions, 1, INT64_MAX);
    assert_int_equal(sum_of(executions, 7).useful_ns, 15);
    assert_int_equal(sum_of(executions, 8).useful_ns, 19);
    lull_executions_destroy(executions);
}

/* A worker that does not leave between two executions is dealt out by overlap, nothing is lost. */
static void test_span_over_two(void **state)
{
    (void)state;
    struct lull_executions *executions = lull_executions_create(2);
    run_master(executions, 0, 10, 7, 10);
    run_master(executions, 20, 50, 8, 30);
    run_worker(executions, 1, 0, 50, 41);
    pass(executions, 0, INT64_MAX);
    pass(executions, 1, INT64_MAX);
    assert_int_equal(sum_of(executions, 7).useful_ns, 10 + 10);
    assert_int_equal(sum_of(executions, 8).useful_ns, 30 + 31);
    lull_executions_destroy(executions);
}

/* Spans outside every execution belong to none; executions without time do count. */
static void test_nothing_inside(void **state)
{
    (void)state;
    struct lull_executions *executions = lull_executions_create(3);
    run_worker(executions, 1, 3, 4, 1);
    assert_int_equal(lull_executions_open(executions, &(struct lull_forked){5, true}, NULL),
                     LULL_OK);
    lull_executions_close(executions, &(struct lull_span){.begin = 5, .end = 5}, 1);
    assert_int_equal(lull_executions_open(executions, &(struct lull_forked){6, false}, NULL),
                     LULL_OK);
    lull_executions_close(executions, &(struct lull_span){.begin = 6, .end = 9}, 2);
    for (uint32_t thread = 0; thread < 3; thread++)
        pass(executions, thread, INT64_MAX);
    const struct lull_parallel_breakdown *sums;
    const uint32_t *regions;
    assert_int_equal(lull_executions_result(executions, &sums, &regions), 1);
    assert_int_equal(regions[0], 1);
    assert_int_equal(sums[0].executions, 1);
    assert_int_equal(sums[0].useful_ns, 0);
    lull_executions_destroy(executions);
}

/* A master that stays in a region from block to block, and workers that hand over in pieces. */
static void test_open_over_blocks(void **state)
{
    (void)state;
    struct lull_executions *executions = lull_executions_create(2);
    assert_int_equal(lull_executions_open(executions, &(struct lull_forked){10, true}, NULL),
                     LULL_OK);
    pass(executions, 0, 15);
    run_worker(executions, 1, 10, 14, 3);
    pass(executions, 1, 14);
    pass(executions, 0, 25);
    run_worker(executions, 1, 14, 24, 4);
    pass(executions, 1, 24);
    lull_executions_close(executions, &(struct lull_span){10, 30, {[LULL_CAUSE_USEFUL] = 20}}, 7);
    run_master(executions, 40, 50, 8, 10);
    pass(executions, 0, INT64_MAX);
    run_worker(executions, 1, 24, 30, 5);
    run_worker(executions, 1, 40, 50, 6);
    pass(executions, 1, INT64_MAX);
    struct lull_parallel_breakdown sum = sum_of(executions, 7);
    assert_int_equal(sum.executions, 1);
    assert_int_equal(sum.duration_ns, 20);
    assert_int_equal(sum.useful_ns, 20 + 12);
    assert_int_equal(sum.max_useful_ns, 20);
    assert_int_equal(sum.sync_ns, 8);
    assert_int_equal(sum_of(executions, 8).useful_ns, 16);
    lull_executions_destroy(executions);
}

TEST_GROUP(test_executions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_reading), cmocka_unit_test(test_late_end),
        cmocka_unit_test(test_span_over_two),    cmocka_unit_test(test_nothing_inside),
        cmocka_unit_test(test_open_over_blocks),
    };
    return run_cases(tests, NULL, NULL);
}
