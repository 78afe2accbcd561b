/* Runs compared: do they belong together, which is the reference, how does the problem grow. */
#include "study/compare.h"
#include "support/golden_data.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_notices notices;
static struct lull_runs runs;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    notices = (struct lull_notices){.arena = arena};
    runs = (struct lull_runs){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_runs_close(&runs);
    lull_arena_destroy(arena);
    return 0;
}

/* Loads without notices of the loading. */
static void load(const char *first, const char *second)
{
    const char *const paths[] = {golden_data(first, arena),
                                 second ? golden_data(second, arena) : NULL};
    const struct lull_runs_options options = {.no_replay = true};
    fail_if(lull_runs_load(paths, second ? 2 : 1, &options, &notices, arena, &runs, &err) !=
                LULL_OK,
            "%s", err.text);
    notices.count = 0;
}

static bool told(enum lull_notice_kind kind, const char *part)
{
    for (size_t i = 0; i < notices.count; i++)
        if (notices.items[i].kind == kind && strstr(notices.items[i].text, part))
            return true;
    return false;
}

static void test_reference(void **state)
{
    (void)state;
    load("mpi2.prv", "mpi1.prv");
    assert_int_equal(lull_study_reference(&runs, NULL, arena, &err), LULL_OK);
    assert_int_equal(runs.reference, 0);
    assert_int_equal(lull_study_reference(&runs, "mpi2", arena, &err), LULL_OK);
    assert_int_equal(runs.reference, 1);
    assert_int_equal(lull_study_reference(&runs, runs.runs[0].path, arena, &err), LULL_OK);
    assert_int_equal(runs.reference, 0);
    assert_int_equal(lull_study_reference(&runs, "mpi3", arena, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "expected one of mpi1, mpi2"));
}

static void test_strangers(void **state)
{
    (void)state;
    load("functions-a.prv", "functions-b.prv");
    assert_int_equal(lull_study_check(&runs, false, &notices, arena, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "has no function in common with"));
    assert_int_equal(lull_study_check(&runs, true, &notices, arena, &err), LULL_OK);
}

static void test_same_run_twice(void **state)
{
    (void)state;
    load("functions-a.prv", "functions-a.prv");
    assert_int_equal(lull_study_check(&runs, false, &notices, arena, &err), LULL_OK);
    assert_int_equal(notices.count, 1);
    assert_true(told(LULL_NOTICE_INFO, "is given twice"));
}

static void test_counters(void **state)
{
    (void)state;
    load("mpi1.prv", "functions-a.prv"); /* only the first has counters */
    assert_int_equal(lull_study_check(&runs, true, &notices, arena, &err), LULL_OK);
    assert_true(told(LULL_NOTICE_INFO, "do not have the same counters: only mpi1 has"));
}

/* mpi2 executes as many instructions as mpi1 on twice the threads: strong. */
static void test_scaling(void **state)
{
    (void)state;
    static const struct {
        enum lull_scaling_wish wish;
        enum lull_scaling scaling;
        const char *told;
    } cases[] = {
        {LULL_SCALING_NOT_SAID, LULL_SCALING_STRONG, "is assumed"},
        {LULL_SCALING_AS_STRONG, LULL_SCALING_STRONG, "stays the same), as asked for"},
        {LULL_SCALING_AS_WEAK, LULL_SCALING_WEAK, "grows with the threads), as asked for"},
        {LULL_SCALING_BY_EVIDENCE, LULL_SCALING_STRONG,
         "mpi2, compared with mpi1, has 2 times the threads, 1.00 times the instructions, 0.47 "
         "times the mean useful time per thread and 0.60 times the runtime"},
    };
    load("mpi1.prv", "mpi2.prv");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        notices.count = 0;
        lull_study_scaling(&runs, cases[i].wish, &notices);
        assert_int_equal(runs.scaling, cases[i].scaling);
        assert_int_equal(notices.count, 1);
        assert_true(told(LULL_NOTICE_INFO, cases[i].told));
    }
}

static void test_nothing_to_say_of_one_run(void **state)
{
    (void)state;
    load("mpi1.prv", NULL);
    assert_int_equal(lull_study_check(&runs, false, &notices, arena, &err), LULL_OK);
    lull_study_scaling(&runs, LULL_SCALING_BY_EVIDENCE, &notices);
    assert_int_equal(notices.count, 0);
    assert_int_equal(lull_study_compute(&runs, arena, &err), LULL_OK);
    assert_non_null(runs.runs[0].values[lull_metric_find("speedup")].absent);
}

/* Worked out in tests/golden/README.md: 1000 us against 600 us, 950 us useful against 900 us. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *metric;
        double value;
    } expected[] = {{"speedup", 1000.0 / 600},
                    {"parallel_efficiency", 450.0 / 600},
                    {"computation_scaling", 950.0 / 900}};
    load("mpi2.prv", "mpi1.prv");
    assert_int_equal(lull_study_reference(&runs, NULL, arena, &err), LULL_OK);
    lull_study_scaling(&runs, LULL_SCALING_NOT_SAID, &notices);
    assert_int_equal(lull_study_compute(&runs, arena, &err), LULL_OK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct lull_metric_value *value =
            &runs.runs[1].values[lull_metric_find(expected[i].metric)];
        assert_null(value->absent);
        assert_float_equal(value->value, expected[i].value, 1e-9);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_compare)
{
    const struct CMUnitTest tests[] = {
        TEST(test_reference), TEST(test_strangers), TEST(test_same_run_twice),
        TEST(test_counters),  TEST(test_scaling),   TEST(test_nothing_to_say_of_one_run),
        TEST(test_values),
    };
    return run_cases(tests, NULL, NULL);
}
