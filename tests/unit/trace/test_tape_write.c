/* What the tape writer refuses, leaves out, and makes compact. */
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/process_maker.h"
#include "support/same_trace.h"
#include "support/test.h"
#include "tape/layout.h"
#include "trace/convert.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct lull_error err;
static struct lull_trace *trace;

static int set_up(void **state)
{
    (void)state;
    folder_make();
    trace = memory_trace_simple(2, 1, 1000, (const char *const[]){"MPI_Send", "MPI_Recv", NULL});
    memory_trace_world(trace, 2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_trace_close(trace);
    folder_remove();
    return 0;
}

static lull_status write_tape(void)
{
    return lull_convert(trace, folder_path("run"), lull_format_find("tape"), true, NULL, NULL,
                        &err);
}

static off_t records_size(void)
{
    size_t size;
    unsigned char *bytes = folder_read(folder_path("run/0/0.tape"), &size);
    struct lull_tape_header header;
    memcpy(&header, bytes + process_place(folder_path("run"), 0, LULL_TAPE_PART_HEAD, 0),
           sizeof header);
    free(bytes);
    return (off_t)header.committed;
}

static void add_message(unsigned kind, int64_t time, uint64_t bytes)
{
    struct lull_event event = memory_event(time, kind, 0);
    event.message.peer = 1;
    event.message.bytes = bytes;
    event.message.request = LULL_NO_REQUEST;
    memory_trace_add(trace, 0, &event);
}

static void add_region(unsigned kind, int64_t time, uint32_t region)
{
    struct lull_event event = memory_event(time, kind, region);
    memory_trace_add(trace, 0, &event);
}

/* A call inside which nothing happens is one record of 16 bytes, with its message one of 32. */
static void test_compact(void **state)
{
    (void)state;
    struct lull_event call = memory_span(100, LULL_EVENT_CALL, 1, 10);
    add_region(LULL_EVENT_ENTER, 10, 0);
    add_region(LULL_EVENT_LEAVE, 20, 0);
    assert_int_equal(write_tape(), LULL_OK);
    assert_int_equal(records_size(), 16);
    memory_trace_add(trace, 0, &call);
    add_message(LULL_EVENT_RECV, 110, 5);
    assert_int_equal(write_tape(), LULL_OK);
    assert_int_equal(records_size(), 16 + 32);
    add_region(LULL_EVENT_ENTER, 200, 0);
    add_message(LULL_EVENT_SEND, 200, 5);
    add_region(LULL_EVENT_LEAVE, 210, 0);
    assert_int_equal(write_tape(), LULL_OK);
    struct lull_trace *tape;
    assert_int_equal(lull_trace_open(folder_path("run"), &tape, &err), LULL_OK);
    fail_if(!same_events(trace, tape, NULL, &err), "%s", err.text);
    lull_trace_close(tape);
}

static void add_request(unsigned kind, int64_t time, uint64_t request, int32_t peer, uint64_t bytes)
{
    struct lull_event event = memory_event(time, kind, 0);
    event.message.peer = peer;
    event.message.bytes = bytes;
    event.message.request = request;
    memory_trace_add(trace, 0, &event);
}

static void add_call(int64_t time, uint32_t region)
{
    struct lull_event call = memory_span(time, LULL_EVENT_CALL, region, 10);
    memory_trace_add(trace, 0, &call);
}

/* Three calls, of which one posts a receive, one a send, and one completes both as they were
 * posted. */
static void add_exchange(int64_t time, uint64_t first)
{
    add_call(time, 1);
    add_request(LULL_EVENT_RECV_POST, time, first, 1, 5);
    add_call(time + 20, 0);
    add_request(LULL_EVENT_SEND, time + 20, first + 1, 1, 5);
    add_call(time + 40, 0);
    add_request(LULL_EVENT_RECV, time + 50, first, 1, 5);
    add_request(LULL_EVENT_SEND_DONE, time + 50, first + 1, 1, 5);
}

static void require_same_events(void)
{
    struct lull_trace *tape;
    assert_int_equal(write_tape(), LULL_OK);
    assert_int_equal(lull_trace_open(folder_path("run"), &tape, &err), LULL_OK);
    fail_if(!same_events(trace, tape, NULL, &err), "%s", err.text);
    lull_trace_close(tape);
}

/* What recorders write: 32 bytes for the first call of a shape and 16 for those like it, and a
 * wait's range of 32. */
static void test_compact_requests(void **state)
{
    (void)state;
    add_exchange(0, 0);
    require_same_events();
    assert_int_equal(records_size(), 32 + 32 + 32);
    for (int64_t i = 1; i < 4; i++)
        add_exchange(i * 100, (uint64_t)i * 2);
    require_same_events();
    assert_int_equal(records_size(), 96 + 3 * (16 + 16 + 32));
}

/* Requests that are not numbered in order, or are completed as a range of a wait cannot say: by
 * themselves, by a message from elsewhere, as withdrawn, or not at all. */
static void test_other_requests(void **state)
{
    (void)state;
    add_exchange(0, 100);
    for (uint64_t r = 0; r < 5; r++) {
        add_call(200 + (int64_t)r * 20, 1);
        add_request(LULL_EVENT_RECV_POST, 200 + (int64_t)r * 20, r, LULL_ANY, UINT64_C(1) << 33);
    }
    add_request(LULL_EVENT_REQUEST_TEST, 400, 0, 0, 0);
    add_request(LULL_EVENT_RECV, 400, 3, 1, UINT64_C(1) << 32);
    add_request(LULL_EVENT_RECV, 401, 1, 0, 7);
    add_call(410, 1);
    add_request(LULL_EVENT_REQUEST_CANCELLED, 420, 2, LULL_ANY, UINT64_C(1) << 33);
    add_request(LULL_EVENT_RECV, 420, 0, LULL_PROC_NULL, 7);
    require_same_events();
}

/* More completions than one record has room for. */
static void test_many_completions(void **state)
{
    (void)state;
    enum { MANY = 40 };
    for (uint64_t r = 0; r < MANY; r++) {
        add_call((int64_t)r * 20, 1);
        add_request(LULL_EVENT_RECV_POST, (int64_t)r * 20, r, LULL_ANY, 8);
    }
    add_call(900, 1);
    for (uint64_t r = 0; r < MANY; r++)
        add_request(LULL_EVENT_RECV, 910, r, 1, r);
    require_same_events();
    assert_int_equal(records_size(), 32 + (MANY - 1) * 16 + 3 * 16 + MANY * 16);
}

/* Windows and files have no definitions: an id that a record cannot hold is left out, not cut. */
static void test_window_beyond_22_bits(void **state)
{
    (void)state;
    static const uint32_t ids[] = {0,        5,        LULL_TAPE_MOST_IDS - 1, LULL_TAPE_MOST_IDS,
                                   0x500005, LULL_NONE};
    for (size_t i = 0; i < 6; i++) {
        struct lull_event event = memory_event((int64_t)i, LULL_EVENT_RMA, ids[i]);
        event.transfer.target = 1;
        memory_trace_add(trace, 0, &event);
    }
    assert_int_equal(write_tape(), LULL_OK);
    struct lull_trace *tape;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence e;
    assert_int_equal(lull_trace_open(folder_path("run"), &tape, &err), LULL_OK);
    assert_int_equal(collect_by_cursor(tape, 0, 0, arena, &e, &err), LULL_OK);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(e.events[i].id, i < 3 ? ids[i] : LULL_NONE);
    lull_arena_destroy(arena);
    lull_trace_close(tape);
}

/* What the kernel did for threads is there again; of one thread it is not known. */
static void test_usage(void **state)
{
    (void)state;
    const struct lull_usage usage = {
        .user = 1, .system = 2, .outside = 3, .minor = 4, .major = 5, .voluntary = 6};
    trace->locations[0].usage = usage;
    assert_int_equal(write_tape(), LULL_OK);
    struct lull_trace *tape;
    assert_int_equal(lull_trace_open(folder_path("run"), &tape, &err), LULL_OK);
    assert_memory_equal(&tape->locations[0].usage, &usage, sizeof usage);
    assert_int_equal(tape->locations[1].usage.user + tape->locations[1].usage.system, 0);
    lull_trace_close(tape);
}

/* Which cores threads might use is there again; one thread does not tell. */
static void test_cores(void **state)
{
    (void)state;
    const uint64_t set[LULL_CORE_WORDS] = {[0] = 5, [15] = UINT64_C(1) << 63};
    trace->locations[0].cores = (struct lull_cores){.on = 1, .allowed = 3, .there = 9, .set = set};
    assert_int_equal(write_tape(), LULL_OK);
    struct lull_trace *tape;
    assert_int_equal(lull_trace_open(folder_path("run"), &tape, &err), LULL_OK);
    assert_int_equal(tape->locations[0].cores.allowed, 3);
    assert_int_equal(tape->locations[0].cores.there, 9);
    assert_non_null(tape->locations[0].cores.set);
    assert_memory_equal(tape->locations[0].cores.set, set, sizeof set);
    assert_null(tape->locations[1].cores.set);
    lull_trace_close(tape);
}

static void test_too_many_definitions(void **state)
{
    (void)state;
    uint32_t *const counts[] = {&trace->n_nodes, &trace->n_regions,  &trace->n_states,
                                &trace->n_comms, &trace->n_counters, &trace->n_markers};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint32_t kept = *counts[i];
        *counts[i] = LULL_TAPE_MOST_IDS + 1;
        assert_int_equal(write_tape(), LULL_ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "definitions"));
        *counts[i] = kept;
    }
    assert_int_equal(access(folder_path("run"), F_OK), -1);
}

/* A failure on the way leaves neither the output nor a part of it. */
static void test_failure_leaves_nothing(void **state)
{
    (void)state;
    add_region(LULL_EVENT_ENTER, 20, 0);
    add_region(LULL_EVENT_LEAVE, 10, 0);
    assert_int_equal(write_tape(), LULL_ERR_FORMAT);
    assert_int_equal(folder_entries(folder_path("")), 0);
}

static void test_existing_output(void **state)
{
    (void)state;
    assert_int_equal(write_tape(), LULL_OK);
    assert_int_equal(
        lull_convert(trace, folder_path("run"), lull_format_find("tape"), false, NULL, NULL, &err),
        LULL_ERR_IO);
    assert_non_null(strstr(err.text, "exists already"));
    assert_int_equal(write_tape(), LULL_OK);
    assert_int_equal(folder_entries(folder_path("")), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_GROUP(test_tape_write)
{
    const struct CMUnitTest tests[] = {
        TEST(test_compact),
        TEST(test_compact_requests),
        TEST(test_other_requests),
        TEST(test_many_completions),
        TEST(test_window_beyond_22_bits),
        TEST(test_cores),
        TEST(test_usage),
        TEST(test_too_many_definitions),
        TEST(test_failure_leaves_nothing),
        TEST(test_existing_output),
    };
    return run_cases(tests, NULL, NULL);
}
