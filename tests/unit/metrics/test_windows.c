/* Windows, on a small tape: of a time, of a region, and what both have in common; and the
 * breakdown of a trace that is read from a file by several workers. */
#include "base/file.h"
#include "metrics/breakdown.h"
#include "support/test.h"
#include "trace/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP, SEND, OTHER_STEP, NEVER_ENTERED, REGIONS };

static char tape[64];

static void must(lull_status status, const struct lull_error *err)
{
    fail_if(status != LULL_OK, "%s", err->text);
}

static struct lull_trace *define(void)
{
    static const char *const names[REGIONS] = {"step", "MPI_Send", "step", "Time_Steps"};
    struct lull_trace *trace = lull_trace_create();
    trace->path = "made";
    trace->producer = "";
    trace->duration = 1000;
    trace->clock_resolution = 1;
    trace->n_applications = 1;
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(trace->arena, REGIONS, sizeof *trace->regions);
    for (int i = 0; i < REGIONS; i++) {
        trace->regions[i].name = names[i];
        trace->regions[i].file = trace->regions[i].site = "";
        trace->regions[i].whole = LULL_NONE;
    }
    trace->n_processes = trace->n_locations = 2;
    trace->processes = lull_arena_zero(trace->arena, 2, sizeof *trace->processes);
    trace->locations = lull_arena_zero(trace->arena, 2, sizeof *trace->locations);
    for (uint32_t i = 0; i < 2; i++) {
        trace->processes[i] = (struct lull_process){.name = "",
                                                    .rank = i,
                                                    .node = LULL_NONE,
                                                    .first_location = i,
                                                    .n_locations = 1,
                                                    .n_threads = 1};
        trace->locations[i] = (struct lull_location){.name = "", .process = i, .source_id = i};
    }
    struct lull_error err = {""};
    must(lull_trace_complete(trace, &err), &err);
    return trace;
}

#define ENTER(at, region)                                  \
    {                                                      \
        .time = at, .kind = LULL_EVENT_ENTER, .id = region \
    }
#define LEAVE(at, region)                                  \
    {                                                      \
        .time = at, .kind = LULL_EVENT_LEAVE, .id = region \
    }
#define CALL(at, region, length)                                              \
    {                                                                         \
        .time = at, .kind = LULL_EVENT_CALL, .id = region, .duration = length \
    }

static int set_up(void **state)
{
    (void)state;
    /* Rank 0: steps at [100, 300), recursive, and [300, 400), [600, 700); rank 1: a call. */
    static const struct lull_event first[] = {
        ENTER(100, STEP),       ENTER(150, OTHER_STEP), CALL(160, SEND, 20), LEAVE(200, OTHER_STEP),
        LEAVE(300, STEP),       ENTER(300, STEP),       LEAVE(400, STEP),    CALL(450, SEND, 50),
        ENTER(600, OTHER_STEP), LEAVE(700, OTHER_STEP), CALL(900, SEND, 50),
    };
    static const struct lull_event second[] = {CALL(50, STEP, 25), CALL(80, SEND, 900)};
    const struct lull_block blocks[] = {{0, sizeof first / sizeof *first, first},
                                        {1, sizeof second / sizeof *second, second}};
    struct lull_error err = {""};
    struct lull_writer writer;
    struct lull_trace *trace = define();
    strcpy(tape, "/tmp/lull-windows-XXXXXX");
    assert_non_null(mkdtemp(tape));
    must(lull_format_find("tape")->writer_open(trace, tape, true, &writer, &err), &err);
    for (int i = 0; i < 2; i++)
        must(writer.block(writer.state, &blocks[i], &err), &err);
    must(writer.close(writer.state, true, &err), &err);
    lull_trace_close(trace);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_remove_tree(tape, NULL);
    return 0;
}

static struct lull_trace *open_tape(void)
{
    struct lull_trace *trace = NULL;
    struct lull_error err = {""};
    must(lull_trace_open(tape, &trace, &err), &err);
    return trace;
}

static void check_interval(const struct lull_windows *windows, uint32_t process, uint32_t index,
                           int64_t begin, int64_t end)
{
    assert_true(index < windows->counts[process]);
    assert_int_equal(windows->intervals[process][index].begin, begin);
    assert_int_equal(windows->intervals[process][index].end, end);
}

static void test_of_time(void **state)
{
    (void)state;
    struct lull_trace *trace = open_tape();
    struct lull_windows *windows = NULL;
    struct lull_error err = {""};
    must(lull_windows_of_time(trace, -5, 123, trace->arena, &windows, &err), &err);
    for (uint32_t p = 0; p < 2; p++) {
        assert_int_equal(windows->counts[p], 1);
        check_interval(windows, p, 0, 0, 123);
    }
    assert_int_equal(lull_windows_of_time(trace, trace->duration, trace->duration + 9, trace->arena,
                                          &windows, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "holds nothing of the run"));
    assert_int_equal(lull_windows_of_time(trace, 9, 9, trace->arena, &windows, &err),
                     LULL_ERR_RANGE);
    lull_trace_close(trace);
}

static void test_of_region(void **state)
{
    (void)state;
    struct lull_trace *trace = open_tape();
    struct lull_windows *windows = NULL, *cut = NULL;
    struct lull_error err = {""};
    must(lull_windows_of_region(trace, "step", NULL, trace->arena, &windows, &err), &err);
    assert_int_equal(windows->counts[0], 2);
    check_interval(windows, 0, 0, 100, 400); /* two visits without a gap */
    check_interval(windows, 0, 1, 600, 700);
    assert_int_equal(windows->counts[1], 1);
    check_interval(windows, 1, 0, 50, 75);

    must(lull_windows_of_time(trace, 350, 650, trace->arena, &cut, &err), &err);
    cut = lull_windows_intersect(windows, cut, trace->arena);
    assert_int_equal(cut->counts[0], 2);
    check_interval(cut, 0, 0, 350, 400);
    check_interval(cut, 0, 1, 600, 650);
    assert_int_equal(cut->counts[1], 0);
    lull_trace_close(trace);
}

static void test_unknown_region(void **state)
{
    (void)state;
    struct lull_trace *trace = open_tape();
    struct lull_windows *windows = NULL;
    struct lull_error err = {""};
    assert_int_equal(lull_windows_of_region(trace, "stp", NULL, trace->arena, &windows, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "ever enters a region 'stp'; similar names: 'step'"));
    assert_int_equal(lull_windows_of_region(trace, "mpi_send", NULL, trace->arena, &windows, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "'MPI_Send'"));
    assert_int_equal(
        lull_windows_of_region(trace, "Time_Steps", NULL, trace->arena, &windows, &err),
        LULL_ERR_RANGE); /* defined, but never entered */
    assert_int_equal(lull_windows_of_region(trace, "zzzzzzzz", NULL, trace->arena, &windows, &err),
                     LULL_ERR_RANGE);
    assert_null(strstr(err.text, "similar"));
    assert_null(windows);
    lull_trace_close(trace);
}

static void test_breakdown_of_windows(void **state)
{
    (void)state;
    struct lull_trace *trace = open_tape();
    struct lull_windows *windows = NULL;
    struct lull_breakdown *breakdown = NULL;
    struct lull_error err = {""};
    must(lull_windows_of_region(trace, "step", NULL, trace->arena, &windows, &err), &err);
    for (unsigned workers = 1; workers < 4; workers++) {
        const struct lull_breakdown_options options = {
            .reading = &(const struct lull_reading){.windows = windows, .workers = workers},
            .regions = true};
        must(lull_breakdown_compute(trace, &options, trace->arena, &breakdown, &err), &err);
        assert_int_equal(breakdown->runtime_ns, 400);
        assert_int_equal(breakdown->processes[1].window_ns, 25);
        assert_int_equal(breakdown->threads[0].times.ns[LULL_USEFUL][0], 380);
        assert_int_equal(breakdown->threads[0].times.ns[LULL_MPI_P2P][0], 20);
        assert_int_equal(breakdown->threads[1].times.ns[LULL_USEFUL][0], 25);
        assert_int_equal(breakdown->n_regions, 2);
        assert_string_equal(breakdown->regions[1].name, "step");
        assert_int_equal(breakdown->regions[1].visits, 5);
        assert_int_equal(breakdown->regions[1].exclusive_ns, 405);
    }
    const struct lull_breakdown_options options = {
        .reading = &(const struct lull_reading){.application = 1}};
    assert_int_equal(lull_breakdown_compute(trace, &options, trace->arena, &breakdown, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "no process of application 1"));
    lull_trace_close(trace);
}

TEST_GROUP(test_windows)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_time),
        cmocka_unit_test(test_of_region),
        cmocka_unit_test(test_unknown_region),
        cmocka_unit_test(test_breakdown_of_windows),
    };
    return run_cases(tests, set_up, tear_down);
}
