/* The recordings of a machine as one. */
#include "machine/noise_trace.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

static void test_join(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_detour first[] = {{0, 1e-6}, {1e-6, 2.4e-9}, {5e-6, 0.2e-9}};
    struct lull_detour second[] = {{1.5e-6, 0.5e-6}};
    struct lull_machine_noise noise[] = {
        {.core = 0, .quantum = 1e-6, .duration = 10e-6, .detours = first, .n_detours = 3},
        {.core = 1, .quantum = 1e-6, .duration = 2e-6, .detours = second, .n_detours = 1}};
    struct lull_machine *machine = lull_machine_create(arena);
    machine->noise = noise;
    machine->n_noise = 2;
    struct lull_noise_trace trace;
    assert_int_equal(lull_noise_trace_of(machine, arena, &trace, NULL), LULL_OK);
    /* The third is shorter than a nanosecond. */
    static const int64_t expected[][2] = {{0, 1000}, {1000, 2}, {11500, 500}};
    assert_int_equal(trace.duration, 12000);
    assert_int_equal(trace.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(trace.detours[i].begin, expected[i][0]);
        assert_int_equal(trace.detours[i].length, expected[i][1]);
    }
    lull_arena_destroy(arena);
}

static void test_no_noise(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = lull_machine_create(arena);
    struct lull_noise_trace trace;
    struct lull_error err;
    assert_int_equal(lull_noise_trace_of(machine, arena, &trace, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "the machine file has no noise");
    struct lull_detour all = {0, 1e-3};
    struct lull_machine_noise noise = {.duration = 1e-3, .detours = &all, .n_detours = 1};
    machine->noise = &noise;
    machine->n_noise = 1;
    assert_int_equal(lull_noise_trace_of(machine, arena, &trace, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "the recorded noise leaves no time to the program");
    lull_arena_destroy(arena);
}

TEST_GROUP(test_noise_trace)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_join),
                                       cmocka_unit_test(test_no_noise)};
    return run_cases(tests, NULL, NULL);
}
