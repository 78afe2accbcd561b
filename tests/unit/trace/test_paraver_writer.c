/* The Paraver writer: the lines it writes, by a trace made by hand, and that they appear whole. */
#include "support/check_trace.h"
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/test.h"
#include "trace/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static struct lull_event message(int64_t time, unsigned kind, int32_t peer, uint64_t bytes)
{
    struct lull_event event = memory_event(time, kind, 0);
    event.message.bytes = bytes;
    event.message.request = LULL_NO_REQUEST;
    event.message.peer = peer;
    event.message.tag = 3;
    return event;
}

static void add(struct lull_trace *trace, uint32_t location, struct lull_event event)
{
    memory_trace_add(trace, location, &event);
}

enum { SEND, RECV, ALLREDUCE, SOLVE };

/* Two processes: a message, a collective inside a user function, instructions. */
static struct lull_trace *make(void)
{
    static const char *const regions[] = {"MPI_Send", "MPI_Recv", "MPI_Allreduce", "solve", NULL};
    static const struct lull_counter_reading reading = {.value = 500, .counter = 0};
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000, regions);
    memory_trace_world(trace, 2);
    trace->n_counters = 1;
    trace->counters = lull_arena_zero(trace->arena, 1, sizeof *trace->counters);
    trace->counters[0] = (struct lull_counter){.name = "PAPI_TOT_INS", .unit = ""};
    add(trace, 0, memory_event(10, LULL_EVENT_ENTER, SOLVE));
    add(trace, 0, memory_span(20, LULL_EVENT_CALL, SEND, 30));
    add(trace, 0, message(20, LULL_EVENT_SEND, 1, 4096));
    add(trace, 1, memory_event(15, LULL_EVENT_ENTER, RECV));
    add(trace, 1, message(60, LULL_EVENT_RECV, 0, 4096));
    add(trace, 1, memory_event(60, LULL_EVENT_LEAVE, RECV));
    for (uint32_t l = 0; l < 2; l++) {
        struct lull_event collective = memory_event(100, LULL_EVENT_COLLECTIVE_BEGIN, LULL_NONE);
        struct lull_event counters = memory_event(100, LULL_EVENT_COUNTERS, 0);
        counters.readings.values = &reading;
        counters.readings.count = 1;
        collective.op = LULL_COLLECTIVE_UNKNOWN;
        collective.collective.request = LULL_NO_REQUEST;
        collective.collective.root = LULL_ANY;
        add(trace, l, memory_event(100, LULL_EVENT_ENTER, ALLREDUCE));
        add(trace, l, counters);
        add(trace, l, collective);
        collective.time = 200;
        collective.kind = LULL_EVENT_COLLECTIVE_END;
        collective.op = LULL_COLLECTIVE_ALLREDUCE;
        collective.id = 0;
        collective.collective.sent = 8 + l;
        collective.collective.received = 16;
        add(trace, l, collective);
        add(trace, l, memory_event(200, LULL_EVENT_LEAVE, ALLREDUCE));
    }
    add(trace, 0, memory_event(900, LULL_EVENT_LEAVE, SOLVE));
    return trace;
}

static lull_status convert(const struct lull_trace *trace, const char *name, bool replace)
{
    return lull_convert(trace, folder_path(name), lull_format_find("paraver"), replace, NULL, NULL,
                        &err);
}

static const char *read_text(const char *name)
{
    static char text[1 << 16];
    size_t size;
    unsigned char *bytes = folder_read(folder_path(name), &size);
    assert_true(size < sizeof text);
    memcpy(text, bytes, size);
    text[size] = '\0';
    free(bytes);
    return text;
}

static void test_lines(void **state)
{
    (void)state;
    struct lull_trace *trace = make();
    fail_if(convert(trace, "run.prv", false) != LULL_OK, "%s", err.text);
    const char *text = read_text("run.prv");
    assert_memory_equal(text, "#Paraver (", 10);
    assert_string_equal(strstr(text, "):") + 2,
                        "1000_ns:1(2):1:2(1:1,1:1),1\n"
                        "c:1:1:2:1:2\n"
                        "1:1:1:1:1:0:10:2\n"
                        "1:2:1:2:1:0:15:2\n"
                        "1:1:1:1:1:10:20:1\n"
                        "2:1:1:1:1:10:60000019:1003\n"
                        "1:2:1:2:1:15:60:8\n"
                        "2:2:1:2:1:15:50000001:2\n"
                        "1:1:1:1:1:20:50:8\n"
                        "2:1:1:1:1:20:50000001:1\n"
                        "1:1:1:1:1:50:100:1\n"
                        "2:1:1:1:1:50:50000001:0\n"
                        "3:1:1:1:1:20:20:2:1:2:1:60:60:4096:3\n"
                        "1:2:1:2:1:60:100:1\n"
                        "2:2:1:2:1:60:50000001:0\n"
                        "1:1:1:1:1:100:200:13\n"
                        "1:2:1:2:1:100:200:13\n"
                        "2:1:1:1:1:100:50000002:10:50100001:8:50100002:16:50100003:0:50100004:1"
                        ":42000050:500\n"
                        "2:2:1:2:1:100:50000002:10:50100001:9:50100002:16:50100003:0:50100004:1"
                        ":42000050:500\n"
                        "1:1:1:1:1:200:900:1\n"
                        "1:2:1:2:1:200:1000:2\n"
                        "2:1:1:1:1:200:50000002:0\n"
                        "2:2:1:2:1:200:50000002:0\n"
                        "1:1:1:1:1:900:1000:2\n"
                        "2:1:1:1:1:900:60000019:0\n");
    assert_non_null(strstr(read_text("run.pcf"), "10    MPI_Allreduce\n"));
    assert_non_null(strstr(read_text("run.pcf"), "1003    solve\n"));
    assert_non_null(strstr(read_text("run.pcf"), "7    42000050    PAPI_TOT_INS\n"));
    assert_non_null(strstr(read_text("run.row"), "LEVEL THREAD SIZE 2\n"));
    lull_trace_close(trace);
}

/* Two operations of one number, as a graph launches them: a line for each, with their bytes. */
static void test_launch_lines(void **state)
{
    (void)state;
    static const char *const regions[] = {"cuGraphLaunch", "axpy kernel", NULL};
    struct lull_trace *trace = memory_trace_simple(1, 2, 1000, regions);
    trace->locations[1].kind = LULL_LOCATION_DEVICE;
    trace->processes[0].n_threads = 1;
    struct lull_event submit = memory_event(20, LULL_EVENT_SUBMIT, LULL_NONE);
    submit.operation.number = 7;
    submit.operation.location = 1;
    add(trace, 0, memory_span(20, LULL_EVENT_CALL, 0, 30));
    add(trace, 0, submit);
    for (int i = 0; i < 2; i++) {
        struct lull_event ran = memory_event(60 + 200 * i, LULL_EVENT_OPERATION, 0);
        ran.operation.number = 7;
        ran.operation.bytes = 64 * (uint64_t)i;
        ran.operation.sequence = LULL_NO_SEQUENCE;
        ran.operation.location = 0;
        ran.operation.peer = LULL_ANY;
        add(trace, 1, memory_span(ran.time, LULL_EVENT_CALL, 1, 100));
        add(trace, 1, ran);
    }
    fail_if(convert(trace, "launch.prv", false) != LULL_OK, "%s", err.text);
    const char *text = read_text("launch.prv");
    assert_non_null(strstr(text, ":91900018:8:91900102:2\n"));
    assert_non_null(strstr(text, "\n3:1:1:1:1:20:20:2:1:1:2:60:60:0:7\n"));
    assert_non_null(strstr(text, "\n3:1:1:1:1:20:20:2:1:1:2:260:260:64:7\n"));
    assert_non_null(strstr(text, ":91900021:8:91900102:1:91900103:"));
    lull_trace_close(trace);
}

/* Reads what was written; every promise about events must hold. */
static struct lull_trace *read_back(const char *name)
{
    struct lull_trace *trace;
    struct lull_error broken;
    fail_if(lull_trace_open(folder_path(name), &trace, &err) != LULL_OK, "%s", err.text);
    fail_if(check_trace(trace, 1, &err, &broken) != LULL_OK, "%s%s", err.text, broken.text);
    return trace;
}

/* Tasks are counted without gaps, whatever ranks they had. */
static void test_missing_ranks(void **state)
{
    (void)state;
    struct lull_trace *trace = make();
    trace->processes[0].rank = 1;
    trace->processes[1].rank = 5;
    assert_int_equal(convert(trace, "run.prv", false), LULL_OK);
    struct lull_trace *back = read_back("run.prv");
    assert_int_equal(back->n_processes, 2);
    assert_int_equal(back->n_comms, 1);
    assert_int_equal(lull_comm_member(&back->comms[0], 1), 1);
    lull_trace_close(back);
    lull_trace_close(trace);
}

struct visits {
    const struct lull_trace *trace;
    uint64_t entered, counted;
};

static lull_status count_visits(void *context, unsigned worker, const struct lull_block *block,
                                struct lull_error *error)
{
    struct visits *visits = context;
    (void)worker;
    (void)error;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        visits->entered += event->kind == LULL_EVENT_ENTER &&
                           strcmp(visits->trace->regions[event->id].name, "solve") == 0;
        if (event->kind == LULL_EVENT_COUNTERS)
            visits->counted += event->readings.values[0].value;
    }
    return LULL_OK;
}

/* A deep recursion that is open at the end: all its regions are left at one time. */
static void test_many_open_regions(void **state)
{
    enum { DEPTH = 9000 };
    (void)state;
    struct lull_trace *trace = make();
    static const struct lull_counter_reading reading = {.value = 7, .counter = 0};
    struct lull_event counters = memory_event(920, LULL_EVENT_COUNTERS, 0);
    counters.readings.values = &reading;
    counters.readings.count = 1;
    memory_trace_clear(trace, 1);
    for (int i = 0; i < DEPTH; i++)
        add(trace, 1, memory_event(i < DEPTH / 2 ? 10 : 920, LULL_EVENT_ENTER, SOLVE));
    add(trace, 1, counters);
    assert_int_equal(convert(trace, "run.prv", false), LULL_OK);
    struct lull_trace *back = read_back("run.prv");
    struct visits visits = {.trace = back};
    struct lull_visitor visitor = {&visits, NULL, count_visits, NULL};
    struct lull_scan_options options = {.workers = 1, .application = LULL_NONE};
    assert_int_equal(lull_scan(back, &options, &visitor, &err), LULL_OK);
    assert_int_equal(visits.entered, 1 + DEPTH);
    assert_int_equal(visits.counted, 500 + 7);
    struct lull_quirk *quirks;
    for (uint32_t i = 0, n = lull_trace_quirks(back, back->arena, &quirks); i < n; i++)
        fail_if(strstr(quirks[i].kind, "region") || strstr(quirks[i].kind, "did not begin"), "%s",
                quirks[i].kind);
    lull_trace_close(back);
    lull_trace_close(trace);
}

/* Nothing is replaced unless asked for, and nothing is left behind. */
static void test_outputs(void **state)
{
    (void)state;
    struct lull_trace *trace = make();
    folder_write(folder_path("run.pcf"), "mine", 4);
    assert_int_not_equal(convert(trace, "run.prv", false), LULL_OK);
    assert_non_null(strstr(err.text, "run.pcf"));
    assert_int_equal(folder_entries(folder_path("")), 1);
    assert_string_equal(read_text("run.pcf"), "mine");
    assert_int_equal(convert(trace, "run.prv", true), LULL_OK);
    assert_int_equal(folder_entries(folder_path("")), 3);
    assert_int_equal(convert(trace, "nowhere/run.prv", true), LULL_ERR_IO);
    assert_int_equal(folder_entries(folder_path("")), 3);
    lull_trace_close(trace);
}

static void test_dropped(void **state)
{
    (void)state;
    struct lull_trace *trace = make();
    struct lull_writer writer;
    const struct lull_format *format = lull_format_find("paraver");
    assert_int_equal(format->writer_open(trace, folder_path("run.prv.gz"), false, &writer, &err),
                     LULL_OK);
    assert_int_equal(writer.close(writer.state, false, &err), LULL_OK);
    assert_int_equal(folder_entries(folder_path("")), 0);
    lull_trace_close(trace);
}

TEST_GROUP(test_paraver_writer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_launch_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_ranks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_open_regions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dropped, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
