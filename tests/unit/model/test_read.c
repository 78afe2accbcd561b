/* Tables from CSV and Extra-P's files: what is read, and how mistakes are told. */
#include "model/fit/measurements.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static int set_up(void **state)
{
    *state = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    lull_arena_destroy(*state);
    return 0;
}

static lull_status parse(const char *text, const struct lull_fit_read_options *options,
                         struct lull_arena *arena, struct lull_fit_table **ret_table,
                         struct lull_error *err)
{
    static const struct lull_fit_read_options none = {0};
    const struct lull_fit_format *format = lull_fit_recognise_text(text, strlen(text));
    assert_non_null(format);
    return lull_fit_parse(text, strlen(text), "t", format, options ? options : &none, arena,
                          ret_table, err);
}

static const struct lull_fit_table *
read(const char *text, const struct lull_fit_read_options *options, struct lull_arena *arena)
{
    struct lull_fit_table *table = NULL;
    struct lull_error err = {""};
    fail_if(parse(text, options, arena, &table, &err) != LULL_OK, "%s", err.text);
    return table;
}

static void check_point(const struct lull_fit_series *series, size_t number, double x, double y,
                        double repetitions)
{
    assert_true(number < series->count);
    assert_true(series->points[number].x[0] == x);
    assert_true(series->points[number].y == y);
    assert_true(series->points[number].repetitions == repetitions);
}

static void test_csv(void **state)
{
    const struct lull_fit_table *table = read("# a comment\r\n p , \"the time, in s\" \r\n"
                                              "4, 2.5\r\n\r\n1,1e1\n",
                                              NULL, *state);
    assert_int_equal(table->n_series, 1);
    assert_string_equal(table->params[0], "p");
    assert_string_equal(table->series[0].metric, "the time, in s");
    check_point(&table->series[0], 0, 1, 10, 1);
    check_point(&table->series[0], 1, 4, 2.5, 1);
}

static void test_csv_columns(void **state)
{
    static const char text[] = "n;region;time;p;speedup\n10;a;3;1;1\n20;b;2;2;1.5\n10;a;2;2;1.5\n";
    static const char *const p[] = {"p"};
    const struct lull_fit_table *table = read(
        text, &(struct lull_fit_read_options){.params = p, .n_params = 1, .y = "time"}, *state);
    assert_int_equal(table->n_params, 1);
    assert_int_equal(table->n_series, 2);
    assert_string_equal(table->series[0].region, "a");
    check_point(&table->series[0], 1, 2, 2, 1);
    static const char *const both[] = {"p", "n"};
    table = read(text, &(struct lull_fit_read_options){.params = both, .n_params = 2}, *state);
    assert_string_equal(table->params[1], "n");
    assert_true(table->series[0].points[0].x[1] == 10);
    assert_string_equal(table->series[0].metric, "speedup");
    assert_int_equal(table->series[0].kind, LULL_FIT_RATE);
}

static void test_extrap_text(void **state)
{
    const struct lull_fit_table *table =
        read("# experiment\nPARAMETER x y\nPOINTS ((2) (1)) (4 1)\nPOINTS (2 2)\n"
             "REGION main->a b\nMETRIC time\nDATA 1 3\nDATA 2\nDATA 7\n"
             "METRIC bytes\t \nDATA 8\nDATA 16\nDATA 32\nREGION   c \nDATA 1\nDATA 2\nDATA 3\n",
             NULL, *state);
    assert_int_equal(table->n_params, 2);
    assert_int_equal(table->n_series, 3);
    assert_string_equal(table->series[0].region, "main->a b");
    check_point(&table->series[0], 0, 2, 2, 2);
    assert_true(table->series[0].points[1].x[1] == 2 && table->series[0].points[1].y == 7);
    assert_int_equal(table->series[1].kind, LULL_FIT_QUANTITY);
    assert_string_equal(table->series[2].region, "c");
    assert_string_equal(table->series[2].metric, "bytes");
}

static void test_extrap_lines(void **state)
{
    const struct lull_fit_table *table = read(
        "{\"params\":{\"p\":2,\"n\":3},\"value\":[1,2,6]}\n"
        "{\"params\":{\"n\":3,\"p\":1},\"value\":4,\"callpath\":\" a->b \",\"metric\":\"m \"}\n",
        NULL, *state);
    assert_string_equal(table->params[0], "p");
    assert_int_equal(table->n_series, 2);
    check_point(&table->series[0], 0, 2, 3, 3);
    assert_string_equal(table->series[1].region, "a->b");
    assert_string_equal(table->series[1].metric, "m");
    check_point(&table->series[1], 0, 1, 4, 1);
}

static void test_recognition(void **state)
{
    (void)state;
    static const char *const others[] = {"#Paraver (01/01/2020 at 00:00):1_ns:1(1):1:1(1:1)\n1,2\n",
                                         "{\"schema\": \"lull-metrics/1\",\n \"params\": 1}\n",
                                         "\x1f\x8b,\n",
                                         "one word\n",
                                         "",
                                         "# only a comment\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(lull_fit_recognise_text(others[i], strlen(others[i])));
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"p,t\n1,2\n3,x\n", "t: line 3, column 2 (t): 'x', expected a number"},
        {"p,t\n1,0x10\n", "t: line 2, column 2 (t): '0x10', expected a number"},
        {"p,t\n1,\n", "t: line 2, column 2 (t): '', expected a number"},
        {"p,t\n1,nan\n", "t: line 2, column 2 (t): 'nan', expected a number"},
        {"p,t\n1,1e999\n", "t: line 2, column 2: t is inf, expected a number of 0 or more"},
        {"p,t\n1,2,3\n", "t: line 2: 3 cells, expected 2"},
        {"p,t\n1,-2\n", "t: line 2, column 2: t is -2, expected a number of 0 or more"},
        {"p,t\n-1,2\n", "t: line 2, column 1: p is -1, expected a number above 0"},
        {"p,,t\n1,2,3\n", "t: line 1, column 2: '', expected the name of the column"},
        {"a,b,c,d,t\n1,2,3,4,5\n", "t: 4 parameters, expected 1 to 3 (--x names those wanted)"},
        {"PARAMETER p\nPOINTS 1 2\nDATA 1\nDATA 2\nDATA 3\n",
         "t: line 5: more DATA than the 2 points"},
        {"PARAMETER p\nPOINTS 1 2\nDATA 1\n",
         "t: line 3: 1 lines of DATA before it, expected 2, one for each point"},
        {"PARAMETER p\nDATA 1\n", "t: line 2: DATA before POINTS"},
        {"PARAMETER p\nPOINTS 1 2\nDATA\n", "t: line 3: DATA without a number"},
        {"PARAMETER p\nPOINTS 0 2\nDATA 3\nDATA 4\n",
         "t: line 3: p is 0, expected a number above 0"},
        {"PARAMETER p\nPOINTS 1 2\n", "t: has no DATA"},
        {"{\"params\": {\"p\": 1}, \"value\": \"x\"}\n",
         "t: line 1: value is missing, or no number"},
        {"{\"params\": 3, \"value\": 1}\n", "t: line 1: params is missing, or no object"},
        {"{\"params\": {\"p\": 1}, \"value\": -1}\n",
         "t: line 1: the value is -1, expected a number of 0 or more"},
        {"{\"params\": {\"p\": 1}, \"metric\": 4, \"value\": 1}\n",
         "t: line 1: metric is no string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_fit_table *table = NULL;
        struct lull_error err = {""};
        assert_int_not_equal(parse(cases[i].text, NULL, *state, &table, &err), LULL_OK);
        assert_string_equal(err.text, cases[i].message);
        assert_null(table);
    }
}

TEST_GROUP(test_read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_csv, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_csv_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_extrap_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_extrap_lines, set_up, tear_down),
        cmocka_unit_test(test_recognition),
        cmocka_unit_test_setup_teardown(test_mistakes, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
