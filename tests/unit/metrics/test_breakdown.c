/* Breakdowns of small traces, worked out by hand. */
#include "metrics/breakdown.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static void add_call(struct lull_trace *trace, uint32_t location, int64_t time, uint32_t region,
                     int64_t length)
{
    const struct lull_event event = memory_span(time, LULL_EVENT_CALL, region, length);
    memory_trace_add(trace, location, &event);
}

static const struct lull_region_breakdown *find_region(const struct lull_breakdown *breakdown,
                                                       const char *name)
{
    for (uint32_t i = 0; i < breakdown->n_regions; i++)
        if (strcmp(breakdown->regions[i].name, name) == 0)
            return &breakdown->regions[i];
    fail_msg("there is no region %s", name);
    return NULL;
}

/* A host thread that launches and waits, and a stream with a kernel and a copy: functions of CUDA
 * all of them, of which the kernel alone computes. */
static void test_kernels_are_useful(void **state)
{
    (void)state;
    enum { LAUNCH, KERNEL, COPY };
    struct lull_trace *trace = memory_trace_create();
    struct lull_arena *arena = trace->arena;
    trace->duration = 100;
    trace->n_applications = 1;
    trace->n_processes = 1;
    trace->processes = lull_arena_zero(arena, 1, sizeof *trace->processes);
    trace->processes[0] = (struct lull_process){.name = "0", .node = LULL_NONE};
    trace->n_locations = 2;
    trace->locations = lull_arena_zero(arena, 2, sizeof *trace->locations);
    trace->locations[0].name = "thread";
    trace->locations[1].name = "stream";
    trace->locations[1].kind = LULL_LOCATION_DEVICE;
    static const char *const names[] = {"cudaLaunchKernel", "stencil(double*)", "memcpy"};
    static const uint8_t roles[] = {LULL_ROLE_FUNCTION, LULL_ROLE_FUNCTION,
                                    LULL_ROLE_DATA_TRANSFER};
    trace->n_regions = 3;
    trace->regions = lull_arena_zero(arena, 3, sizeof *trace->regions);
    for (uint32_t r = 0; r < 3; r++)
        trace->regions[r] = (struct lull_region){.name = names[r],
                                                 .file = "",
                                                 .site = "",
                                                 .whole = LULL_NONE,
                                                 .paradigm = LULL_PARADIGM_DEVICE,
                                                 .role = roles[r]};
    struct lull_error err = {""};
    assert_int_equal(lull_trace_complete(trace, &err), LULL_OK);
    add_call(trace, 0, 10, LAUNCH, 5);
    add_call(trace, 1, 20, KERNEL, 50);
    add_call(trace, 1, 75, COPY, 10);
    const struct lull_breakdown_options options = {.regions = true};
    struct lull_breakdown *breakdown;
    assert_int_equal(lull_breakdown_compute(trace, &options, arena, &breakdown, &err), LULL_OK);
    assert_int_equal(find_region(breakdown, names[LAUNCH])->activity, LULL_DEVICE);
    assert_int_equal(find_region(breakdown, names[KERNEL])->activity, LULL_USEFUL);
    assert_int_equal(find_region(breakdown, names[COPY])->activity, LULL_DEVICE);
    assert_int_equal(breakdown->threads[1].times.ns[LULL_USEFUL][0], 50);
    lull_trace_close(trace);
}

/* The run ends with its last call, which has taken no time: of three visits, all count. */
static void test_call_at_the_end(void **state)
{
    (void)state;
    static const char *const names[] = {"MPI_Barrier", NULL};
    struct lull_trace *trace = memory_trace_simple(1, 1, 50, names);
    add_call(trace, 0, 10, 0, 5);
    add_call(trace, 0, 20, 0, 30);
    add_call(trace, 0, 50, 0, 0);
    struct lull_interval intervals[] = {{0, 15}, {18, 50}}, *whole = intervals;
    uint32_t count = 2;
    const struct lull_windows windows = {1, &whole, &count};
    struct lull_reading reading = {0};
    const struct lull_breakdown_options options = {.reading = &reading, .regions = true};
    struct lull_breakdown *breakdown;
    struct lull_error err;
    for (int turn = 0; turn < 2; turn++) {
        reading.windows = turn == 0 ? NULL : &windows;
        assert_int_equal(lull_breakdown_compute(trace, &options, trace->arena, &breakdown, &err),
                         LULL_OK);
        assert_int_equal(find_region(breakdown, "MPI_Barrier")->visits, 3);
    }
    lull_trace_close(trace);
}

/* A record that stands for five queries counts as five, wherever it lies: first in the run, in a
 * region, behind another call, and last in the run, where nothing comes behind it. */
static void test_calls_in_one_record(void **state)
{
    (void)state;
    enum { TEST, BARRIER, STEP };
    static const char *const names[] = {"MPI_Test", "MPI_Barrier", "step", NULL};
    static const int64_t times[] = {0, 11, 21, 45};
    struct lull_trace *trace = memory_trace_simple(1, 1, 50, names);
    for (int i = 0; i < 4; i++) {
        struct lull_event polls = memory_span(times[i], LULL_EVENT_CALL, TEST, 5);
        const struct lull_event enter = memory_event(10, LULL_EVENT_ENTER, STEP),
                                leave = memory_event(30, LULL_EVENT_LEAVE, STEP);
        polls.op = LULL_SEVERAL;
        polls.calls = 5;
        if (times[i] == 11)
            memory_trace_add(trace, 0, &enter);
        if (times[i] == 21)
            add_call(trace, 0, 17, BARRIER, 2);
        if (times[i] == 45)
            memory_trace_add(trace, 0, &leave);
        memory_trace_add(trace, 0, &polls);
    }
    const struct lull_breakdown_options options = {.regions = true};
    struct lull_breakdown *breakdown;
    struct lull_error err;
    assert_int_equal(lull_breakdown_compute(trace, &options, trace->arena, &breakdown, &err),
                     LULL_OK);
    assert_int_equal(find_region(breakdown, "MPI_Test")->visits, 4 * 5);
    assert_int_equal(find_region(breakdown, "MPI_Barrier")->visits, 1);
    lull_trace_close(trace);
}

TEST_GROUP(test_breakdown)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_are_useful),
        cmocka_unit_test(test_call_at_the_end),
        cmocka_unit_test(test_calls_in_one_record),
    };
    return run_cases(tests, NULL, NULL);
}
