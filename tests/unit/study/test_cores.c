/* Who had the cores, of planted numbers that are worked out by hand: a run of 100 ns. */
#include "study/circumstances.h"
#include "support/memory_trace.h"
#include "support/test.h"
#include "trace/resources.h"

#include <stddef.h>
#include <string.h>

static const char *const regions[] = {"main", NULL};
#define OTHERS "other programs had the cores"
#define OWN    "the run has more threads than cores"

/* Threads of two processes with so many ns with a core and without. */
static struct lull_trace *trace_of(const struct lull_cores *cores)
{
    struct lull_trace *trace = memory_trace_simple(2, 2, 100, regions);
    for (uint32_t l = 0; l < 4; l++)
        trace->locations[l].cores = cores[l];
    return trace;
}

static void expect(const struct lull_cores *cores, const char *first, const char *second)
{
    struct lull_trace *trace = trace_of(cores);
    const char *text = lull_cores_describe(trace, trace->arena);
    if (!first) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_memory_equal(text, first, strlen(first));
        assert_non_null(strstr(text, second));
    }
    lull_trace_close(trace);
}

static void test_alone(void **state)
{
    (void)state;
    const struct lull_cores unknown[4] = {{.on = 0, .off = 50}};
    expect(unknown, NULL, NULL);
    const struct lull_cores little[4] = {{.on = 95, .off = 5, .allowed = 1},
                                         {.on = 10, .off = 5, .allowed = 1}};
    expect(little, NULL, NULL);
}

/* Four threads on four cores want 100 ns each: all that they lack went to others. */
static void test_others(void **state)
{
    (void)state;
    const struct lull_cores cores[4] = {{.on = 90, .off = 10, .allowed = 4},
                                        {.on = 94, .off = 6, .allowed = 4},
                                        {.on = 95, .off = 5, .allowed = 4},
                                        {.on = 100, .off = 0, .allowed = 4}};
    expect(cores, "2 of 4 threads", OTHERS);
}

/* The same on two cores, of which they want four: they have 200 ns of 400, and lack the rest. */
static void test_own(void **state)
{
    (void)state;
    const struct lull_cores cores[4] = {{.on = 50, .off = 50, .allowed = 2},
                                        {.on = 50, .off = 50, .allowed = 2},
                                        {.on = 50, .off = 50, .allowed = 2},
                                        {.on = 50, .off = 50, .allowed = 2}};
    expect(cores, "4 of 4 threads", OWN);
}

/* Four threads on two cores want 30 ns each, 120 of 200 in all: at the same time, or not. */
static void test_at_times(void **state)
{
    (void)state;
    const struct lull_cores cores[4] = {{.on = 20, .off = 10, .allowed = 2},
                                        {.on = 20, .off = 10, .allowed = 2},
                                        {.on = 20, .off = 10, .allowed = 2},
                                        {.on = 20, .off = 10, .allowed = 2}};
    expect(cores, "4 of 4 threads", OTHERS ", or " OWN " at times");
}

/* Each two are bound to a core of their own: one pair shares it, and that is the run's own doing.
 */
static void test_bound(void **state)
{
    (void)state;
    const struct lull_cores cores[4] = {{.on = 50, .off = 50, .allowed = 1, .which = 7},
                                        {.on = 50, .off = 50, .allowed = 1, .which = 7},
                                        {.on = 40, .off = 0, .allowed = 1, .which = 8},
                                        {.on = 40, .off = 0, .allowed = 1, .which = 8}};
    expect(cores, "2 of 4 threads", OWN);
}

static void expect_number(const struct lull_cores *cores, uint32_t number)
{
    struct lull_trace *trace = trace_of(cores);
    assert_int_equal(lull_cores_of(trace, trace->arena), number);
    lull_trace_close(trace);
}

/* All may use the same two; two pairs are bound to one each; two pairs may use three of four each.
 */
static void test_number(void **state)
{
    (void)state;
    const struct lull_cores unknown[4] = {{.on = 10}};
    expect_number(unknown, 0);
    const struct lull_cores same[4] = {{.allowed = 2, .there = 4},
                                       {.allowed = 2, .there = 4},
                                       {.allowed = 2, .there = 4},
                                       {.allowed = 2, .there = 4}};
    expect_number(same, 2);
    const struct lull_cores bound[4] = {{.allowed = 1, .there = 4, .which = 7},
                                        {.allowed = 1, .there = 4, .which = 7},
                                        {.allowed = 1, .there = 4, .which = 8},
                                        {.allowed = 1, .there = 4, .which = 8}};
    expect_number(bound, 2);
    const struct lull_cores overlapping[4] = {{.allowed = 3, .there = 4, .which = 7},
                                              {.allowed = 3, .there = 4, .which = 7},
                                              {.allowed = 3, .there = 4, .which = 8},
                                              {.allowed = 3, .there = 4, .which = 8}};
    expect_number(overlapping, 4);
}

/* Two processes may use cores 0 and 1, and 1 and 2; with a third one, cores 1, 64 and 65, too. */
static void test_number_of_overlapping_sets(void **state)
{
    (void)state;
    const uint64_t low[LULL_CORE_WORDS] = {3}, middle[LULL_CORE_WORDS] = {6},
                   high[LULL_CORE_WORDS] = {2, 3};
    const struct lull_cores two[4] = {{.allowed = 2, .there = 128, .which = 7, .set = low},
                                      {.allowed = 2, .there = 128, .which = 7, .set = low},
                                      {.allowed = 2, .there = 128, .which = 8, .set = middle},
                                      {.allowed = 2, .there = 128, .which = 8, .set = middle}};
    expect_number(two, 3);
    const struct lull_cores three[4] = {
        two[0], two[2], two[3], {.allowed = 3, .there = 128, .which = 9, .set = high}};
    expect_number(three, 5);
}

/* Said of a replay that is shorter than a run whose threads had no core, and of no other. */
static void test_excuse(void **state)
{
    (void)state;
    const struct lull_cores cores[4] = {{.on = 60, .off = 40}, {.on = 30, .off = 70}};
    const struct lull_cores alone[4] = {{.on = 95, .off = 5}, {.on = 0, .off = 50}};
    struct lull_trace *trace = trace_of(cores);
    assert_non_null(
        strstr(lull_cores_excuse(trace, true, trace->arena), " up to 70 % of the time"));
    assert_string_equal(lull_cores_excuse(trace, false, trace->arena), "");
    lull_trace_close(trace);
    trace = trace_of(alone);
    assert_string_equal(lull_cores_excuse(trace, true, trace->arena), "");
    lull_trace_close(trace);
}

TEST_GROUP(test_cores)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),  cmocka_unit_test(test_others),
        cmocka_unit_test(test_own),    cmocka_unit_test(test_at_times),
        cmocka_unit_test(test_bound),  cmocka_unit_test(test_excuse),
        cmocka_unit_test(test_number), cmocka_unit_test(test_number_of_overlapping_sets)};
    return run_cases(tests, NULL, NULL);
}
