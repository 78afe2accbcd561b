/* Groups of runs compared: rows that add up, verdicts, and what the computation owes to counters.
 */
#include "stats/random.h"
#include "study/diff_study.h"
#include "support/arena_case.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const struct lull_history no_history;
static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
enum { PARTS = 8 };

static struct lull_history_entry make_run(const int64_t *ns, double runtime, double instructions,
                                          double cycles)
{
    struct lull_part *parts = lull_arena_zero(arena, PARTS, sizeof *parts);
    struct lull_history_value *values = lull_arena_zero(arena, 4, sizeof *values);
    struct lull_history_entry run = {
        .run = "run", .values = values, .n_values = 4, .parts = {.parts = parts}};
    for (int i = 0; i < PARTS; i++) {
        if (ns[i] == 0)
            continue;
        const uint8_t activity = i < 3 ? LULL_USEFUL : LULL_MPI_P2P;
        parts[run.parts.count++] =
            (struct lull_part){.region = names[i], .site = "", .activity = activity, .ns = ns[i]};
        run.parts.total_ns += ns[i];
    }
    values[0] = (struct lull_history_value){"runtime", runtime, NULL};
    values[1] = (struct lull_history_value){"useful_time",
                                            1e-9 * (double)lull_parts_useful(&run.parts), NULL};
    values[2] = (struct lull_history_value){"instructions", instructions, NULL};
    values[3] = (struct lull_history_value){"cycles", cycles, NULL};
    return run;
}

static int64_t mean_total(const struct lull_history_entry *runs, uint32_t count)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += runs[i].parts.total_ns;
    return sum / count;
}

/* Whatever the runs: the rows make up both sides and so the difference, in integers. */
static void test_rows_add_up(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int round = 0; round < 300; round++) {
        struct lull_history_entry runs[14];
        const uint32_t n = 1 + (uint32_t)lull_random_below(&random, 7);
        const uint32_t m = 1 + (uint32_t)lull_random_below(&random, 7);
        for (uint32_t i = 0; i < n + m; i++) {
            int64_t ns[PARTS];
            for (int k = 0; k < PARTS; k++)
                ns[k] = (int64_t)lull_random_below(&random, 2) *
                        (int64_t)lull_random_below(&random, UINT64_C(1) << (10 + 5 * k));
            runs[i] = make_run(ns, 1, NAN, NAN);
        }
        struct lull_diff diff;
        int64_t before = 0, after = 0;
        lull_diff_make(runs, n, runs + n, m, &no_history, arena, &diff);
        for (uint32_t r = 0; r < diff.n_rows; r++) {
            before += diff.rows[r].before_ns;
            after += diff.rows[r].after_ns;
        }
        assert_int_equal(before, mean_total(runs, n));
        assert_int_equal(after, mean_total(runs + n, m));
        assert_int_equal(diff.before_ns, before);
        assert_int_equal(diff.after_ns, after);
    }
}

/* Twice the instructions at the same speed; twice the cycles for them; half the frequency: each
 * alone is the whole of the difference. */
static void test_computation(void **state)
{
    (void)state;
    const int64_t once[PARTS] = {1000000}, twice[PARTS] = {2000000};
    const struct lull_history_entry before = make_run(once, 1, 8e6, 4e6);
    const struct {
        double instructions, cycles;
        int64_t wanted[3];
    } table[] = {{16e6, 8e6, {1000000, 0, 0}},
                 {8e6, 8e6, {0, 1000000, 0}},
                 {8e6, 4e6, {0, 0, 1000000}},
                 {16e6, 4e6, {1000000, -1000000, 1000000}}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct lull_history_entry after =
            make_run(twice, 2, table[i].instructions, table[i].cycles);
        struct lull_diff diff;
        lull_diff_make(&before, 1, &after, 1, &no_history, arena, &diff);
        assert_null(diff.computation.absent);
        assert_int_equal(diff.computation.instructions_ns, table[i].wanted[0]);
        assert_int_equal(diff.computation.ipc_ns, table[i].wanted[1]);
        assert_int_equal(diff.computation.frequency_ns, table[i].wanted[2]);
    }
    const struct lull_history_entry blind = make_run(twice, 2, NAN, NAN);
    struct lull_diff diff;
    lull_diff_make(&before, 1, &blind, 1, &no_history, arena, &diff);
    assert_string_equal(diff.computation.absent, "no instruction counter in all runs");
}

/* Of eight runs a side the only part that moved is certain, and its interval holds what it moved
 * by. One run on each side is never certain. */
static void test_verdicts(void **state)
{
    (void)state;
    struct lull_history_entry runs[16];
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int i = 0; i < 16; i++) {
        int64_t ns[PARTS];
        for (int k = 0; k < PARTS; k++)
            ns[k] = 1000000000 + (int64_t)lull_random_below(&random, 20000000);
        ns[2] += i < 8 ? 0 : 500000000;
        runs[i] = make_run(ns, i < 8 ? 1 : 1.1, NAN, NAN);
    }
    struct lull_diff diff;
    lull_diff_make(runs, 8, runs + 8, 8, &no_history, arena, &diff);
    assert_int_equal(diff.n_rows, PARTS);
    assert_string_equal(diff.rows[0].part->region, "c");
    assert_true(diff.rows[0].difference.certain && diff.rows[0].difference.has_interval);
    assert_true(diff.rows[0].difference.low <= 0.52 && diff.rows[0].difference.high >= 0.48);
    for (uint32_t r = 1; r < diff.n_rows; r++)
        assert_false(diff.rows[r].difference.certain);
    assert_int_equal(diff.more_runs, 0);
    /* 5 and 5 runs give 2 / 252 at best, and the first of 8 rows is asked for 0.05 / 8. 6 and 6 give 2 / 924. */
    lull_diff_make(runs, 5, runs + 8, 5, &no_history, arena, &diff);
    assert_false(diff.rows[0].difference.certain);
    assert_true(diff.rows[0].difference.has_interval && diff.rows[0].difference.low > 0);
    assert_true(fabs(diff.rows[0].difference.asked - 0.05 / 8) < 1e-12);
    assert_int_equal(diff.more_runs, 6);
    lull_diff_make(runs, 1, runs + 8, 1, &no_history, arena, &diff);
    for (uint32_t r = 0; r < diff.n_rows; r++)
        assert_false(diff.rows[r].difference.certain || diff.rows[r].difference.has_interval);
    assert_false(diff.runtime.certain);
}

/* One run on either side, and forty of a history like that before: its noise decides. */
static void test_history(void **state)
{
    (void)state;
    static struct lull_history_entry runs[41];
    for (int i = 0; i < 41; i++) {
        const int64_t ns[PARTS] = {1000000000 + 1000000 * i};
        runs[i] = make_run(ns, 1 + 0.001 * i, NAN, NAN);
    }
    const struct lull_history history = {.entries = runs, .count = 40};
    const int64_t slow[PARTS] = {1300000000};
    const struct lull_history_entry after = make_run(slow, 1.3, NAN, NAN);
    struct lull_diff diff;
    lull_diff_make(&runs[40], 1, &after, 1, &history, arena, &diff);
    assert_true(fabs(diff.runtime.probability - 2.0 / 42) < 1e-12);
    assert_true(diff.runtime.certain);
    lull_diff_make(&runs[40], 1, &runs[20], 1, &history, arena, &diff);
    assert_false(diff.runtime.certain);
}

/* Of several runs Welch's interval: the data of "Student" (The probable error of a mean, Biometrika 6 (1908) 1),
 * for which R's t.test(extra ~ group, data = sleep) prints -3.3654832 to 0.2054832. A constant is added to
 * all, and a function that only one side has. Of single runs the number of samples decides. */
static void test_functions(void **state)
{
    static const double sleep[2][10] = {{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
                                        {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}};
    static struct lull_history_function functions[2][10][2];
    struct lull_history_entry runs[2][10];
    const int64_t ns[PARTS] = {1000000};
    struct lull_diff diff;
    (void)state;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 10; i++) {
            functions[side][i][0] = (struct lull_history_function){
                "solve (a.c)", llround(1e9 * (sleep[side][i] + 10)), 3e8};
            functions[side][i][1] = (struct lull_history_function){"tiny (b.c)", 1000, 10};
            runs[side][i] = make_run(ns, 1, NAN, NAN);
            runs[side][i].functions = functions[side][i];
            runs[side][i].n_functions = side == 0 ? 2 : 1;
        }
    lull_diff_make(runs[0], 10, runs[1], 10, &no_history, arena, &diff);
    assert_true(diff.functions_of_runs);
    assert_int_equal(diff.n_functions, 2);
    assert_string_equal(diff.functions[0].id, "solve (a.c)");
    assert_int_equal(diff.functions[0].after_ns - diff.functions[0].before_ns, 1580000000);
    assert_true(fabs(diff.functions[0].low_ns + 0.2054832e9) < 1e3);
    assert_true(fabs(diff.functions[0].high_ns - 3.3654832e9) < 1e3);
    assert_null(diff.functions[1].id); /* all that are small */
    assert_int_equal(diff.functions[1].before_ns, 1000);
    assert_int_equal(diff.functions[1].after_ns, 0);
    lull_diff_make(runs[0], 1, runs[1], 1, &no_history, arena, &diff);
    assert_false(diff.functions_of_runs);
    assert_int_equal(diff.functions[0].after_ns - diff.functions[0].before_ns, 1200000000);
    assert_true(fabs(diff.functions[0].high_ns - 1.2e9 - 1.959964 * sqrt(2) * 3e8) < 1e4);
    assert_true(fabs(diff.functions[0].low_ns - 1.2e9 + 1.959964 * sqrt(2) * 3e8) < 1e4);
    runs[1][0].functions = NULL; /* a run without samples */
    lull_diff_make(runs[0], 1, runs[1], 1, &no_history, arena, &diff);
    assert_null(diff.functions);
}

TEST_GROUP(test_diff)
{
    const struct CMUnitTest tests[] = {ARENA_TEST(test_rows_add_up), ARENA_TEST(test_computation),
                                       ARENA_TEST(test_verdicts), ARENA_TEST(test_history),
                                       ARENA_TEST(test_functions)};
    return run_cases(tests, NULL, NULL);
}
