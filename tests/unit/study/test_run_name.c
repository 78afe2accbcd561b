/* What runs are called: short, and different from each other. */
#include "study/runs.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static void test_short_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"runs/epoch_4proc.prv.gz", "epoch_4proc"},
        {"epoch_4proc.prv", "epoch_4proc"},
        {"scorep-8/traces.otf2", "scorep-8"},
        {"/a/b/eztrace_log.otf2", "b"},
        {"traces.otf2", "traces"},   /* no folder that could tell */
        {"./traces.otf2", "traces"}, /* neither does this one */
        {"/traces.otf2", "traces"},
        {"heat.4x2.lull", "heat.4x2"},
        {"heat.4x2.lull/", "heat.4x2"},
        {"runs/heat.tape///", "heat"},
        {"study.json", "study"},
        {".prv", ".prv"}, /* nothing would be left */
        {"a.lull.gz.prv", "a"},
        {"/", "/"},
        {"", ""},
    };
    struct lull_arena *arena = lull_arena_create(NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(lull_run_name(names[i][0], arena), names[i][1]);
    lull_arena_destroy(arena);
}

/* Names before and after. A run with a trace has something that is not NULL there. */
static void test_equal_names(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *some = lull_arena_zero(arena, 1, sizeof *some);
    struct lull_run list[] = {
        {.path = "a/run.prv", .name = "run", .trace = some},
        {.path = "b/run.prv", .name = "run", .trace = some},
        {.path = "b/run.prv", .name = "run", .trace = some}, /* the same once more */
        {.path = "other.prv", .name = "other", .trace = some},
        {.path = "study.json", .name = "x"}, /* two runs of one file of profiles */
        {.path = "more.json", .name = "x"},
    };
    static const char *const expected[] = {"a/run.prv", "b/run.prv",    "b/run.prv#2",
                                           "other",     "study.json:x", "more.json:x"};
    struct lull_runs runs = {.runs = list, .count = sizeof list / sizeof *list};
    lull_run_make_names_differ(&runs, arena);
    for (uint32_t i = 0; i < runs.count; i++)
        assert_string_equal(list[i].name, expected[i]);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_run_name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_names),
        cmocka_unit_test(test_equal_names),
    };
    return run_cases(tests, NULL, NULL);
}
