/* The locations of a tape: chunks, what is committed and what is not, its length, where it lies. */
#include "support/check_trace.h"
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Records of all sizes, so that chunks end with padding of all sizes. */
static void test_chunks(void **state)
{
    (void)state;
    enum { RECORDS = 30000 };
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 0, "Uuss", UINT64_C(1), 0u, "c", "");
    definitions_write(&definitions, run.path);
    tape_begin(&tape, 0, 0);
    size_t readings = 0;
    for (uint64_t i = 0; i < RECORDS; i++) {
        unsigned extra = 1 + (unsigned)(i * 7 % 15);
        union lull_tape_slot *slot = tape_record(&tape, i, LULL_TAPE_COUNTERS, extra, 0, 0);
        for (unsigned r = 1; r <= extra; r++)
            slot[r].u64[0] = readings++;
    }
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, RECORDS);
    size_t expected = 0;
    for (size_t i = 0; i < e.count; i++) {
        assert_int_equal(e.events[i].time, i);
        for (uint32_t r = 0; r < e.events[i].readings.count; r++)
            assert_int_equal(e.events[i].readings.values[r].value, expected++);
    }
    assert_int_equal(expected, readings);
}

static void test_open_call(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 2);
    tape_record(&tape, 0, LULL_TAPE_ENTER, 0, 0, 0);
    tape_call(&tape, 10, 0, 5);
    tape_record(&tape, 50, LULL_TAPE_CALL, 0, 2, LULL_TAPE_OPEN);
    tape_write(&tape, run.path, 1);
    run_empty_processes(1, 2, 2);
    run_open(run.path);
    assert_int_equal(run.trace->duration, 50);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 5);
    check_event(&e, 2, LULL_EVENT_ENTER, 50);
    assert_string_equal(run.trace->regions[e.events[2].id].name, "MPI_Recv");
    check_event(&e, 3, LULL_EVENT_LEAVE, 50);
    check_event(&e, 4, LULL_EVENT_LEAVE, 50);
}

/* Behind the committed length stands what is being written just now: anything. */
static void test_garbage_behind_the_committed_length(void **state)
{
    (void)state;
    static const struct lull_tape_record behind[] = {
        {5, LULL_TAPE_CALL | 2 << 10, LULL_TAPE_OPEN},    /* time not written yet */
        {50, LULL_TAPE_CALL | 999 << 10, LULL_TAPE_OPEN}, /* region not known yet */
        {50, LULL_TAPE_CALL | 1 << 6 | 2 << 10, 0},       /* closed, not committed */
        {UINT64_MAX, UINT32_MAX, 7},
        {0, 0, 0},
    };
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, 0, 1);
        definitions_write(&definitions, run.path);
        tape_begin(&tape, 0, 0);
        tape_call(&tape, 10, 0, 5);
        tape_room(&tape, 1)->record = behind[i];
        tape_write(&tape, run.path, 1);
        run_open(run.path);
        struct same_sequence e = run_events(0);
        assert_int_equal(e.count, 1);
        assert_int_equal(run.trace->duration, 5);
        run_close();
    }
}

/* A file is extended ahead of what is written. */
static void test_file_larger_than_committed(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    tape_call(&tape, 10, 0, 5);
    tape_write(&tape, run.path, 0);
    assert_int_equal(truncate(folder_path("run/0/0.tape"), 1 << 20), 0);
    run_open(run.path);
    assert_int_equal(run_events(0).count, 1);
}

/* What is committed after the opening is not seen, and does no harm. */
static void test_growing(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    tape_call(&tape, 10, 0, 5);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 0, 5);
    for (uint64_t i = 0; i < 10000; i++)
        tape_call(&tape, 20 + i, 0, 1);
    tape_write(&tape, run.path, 0);
    assert_int_equal(run_events(0).count, 1);
    struct lull_error broken;
    assert_int_equal(check_trace(run.trace, 1, &run.err, &broken), LULL_OK);
    run_close();
    run_open(run.path);
    assert_int_equal(run_events(0).count, 10001);
}

/* A call that goes on while messages of it fill the next chunk. */
static void test_length_is_that_of_the_longest_call(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    for (uint64_t i = 0; i < 4095; i++)
        tape_call(&tape, i, 0, 1);
    tape_call(&tape, 5000, 5, 3000); /* the last of its chunk */
    for (uint64_t i = 0; i < 3; i++)
        tape_record(&tape, 5000 + i, LULL_TAPE_MESSAGE, 2, 0, LULL_TAPE_MESSAGE_TEST);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    assert_int_equal(run.trace->duration, 8000);
}

static void define_run(struct definitions_maker *maker, int64_t duration, int64_t origin)
{
    definitions_add(maker, LULL_TAPE_DEFINE_RUN, 0, "UUUffus", (uint64_t)duration, (uint64_t)origin,
                    UINT64_C(99), 0.4, 25.0, 0u, "lull record");
}

static void test_run_definition(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run.path);
    definitions_begin(&definitions, LULL_TAPE_WHOLE_RUN);
    define_run(&definitions, 500, 100);
    definitions_write(&definitions, run.path);
    tape_begin(&tape, 0, 0);
    tape.header.flags = LULL_TAPE_CLOSED;
    tape_call(&tape, 150, 0, 5);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    assert_int_equal(run.trace->duration, 500);
    assert_int_equal(run.trace->start_realtime, 99);
    assert_true(run.trace->clock_resolution == 0.4 && run.trace->clock_error == 25.0);
    assert_string_equal(run.trace->producer, "lull record");
    struct same_sequence e = run_events(0);
    check_event(&e, 0, LULL_EVENT_CALL, 50);
}

/* Process 0 ended and said how long the run was; process 1 went on, and was killed. */
static void test_run_definition_of_a_killed_run(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    for (uint32_t p = 0; p < 2; p++) {
        define_process(&definitions, p, 2);
        define_run(&definitions, 1, 1); /* of a process: says nothing about the run */
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape.header.flags = p == 0 ? LULL_TAPE_CLOSED : 0;
        tape_call(&tape, 150, 0, p == 0 ? 5 : 700);
        tape_write(&tape, run.path, 0);
    }
    definitions_begin(&definitions, LULL_TAPE_WHOLE_RUN);
    define_run(&definitions, 500, 100);
    definitions_write(&definitions, run.path);
    run_open(run.path);
    assert_int_equal(run.trace->duration, 750);
}

static void test_anchor_as_path(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    tape_call(&tape, 10, 0, 5);
    tape_write(&tape, run.path, 0);
    run_open(folder_path("run/lull-tape"));
    assert_int_equal(run_events(0).count, 1);
    run_close();
    assert_int_equal(chdir(run.path), 0);
    run_open("lull-tape");
    assert_int_equal(run_events(0).count, 1);
    run_close();
    run_open(".");
    assert_int_equal(run_events(0).count, 1);
    assert_int_equal(chdir("/"), 0);
}

/* Process numbers need not be dense; folders of a thousand; ranks count among those that are. */
static void test_many_processes(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {0, 7, 999, 1000, 123456};
    for (size_t i = 0; i < 5; i++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        char folder[64];
        snprintf(folder, sizeof folder, "run/%u", numbers[i] / 1000);
        mkdir(folder_path(folder), 0700);
        definitions_begin(&definitions, numbers[i]);
        define_region(&definitions, 0, "main");
        define_comm(&definitions, 0, 1, 5, numbers, UINT32_MAX, "world");
        definitions_write(&definitions, run.path);
        tape_begin(&tape, numbers[i], 0);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 0, 5, 4, 0, 0, 1);
        tape_write(&tape, run.path, 0);
    }
    folder_write(folder_path("run/0/00.tape"), "", 0); /* none of ours */
    run_open(run.path);
    assert_int_equal(run.trace->n_processes, 5);
    assert_int_equal(run_events(2).events[1].message.peer, 4);
    assert_int_equal(run.trace->processes[4].rank, 123456);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape)
{
    const struct CMUnitTest tests[] = {
        TEST(test_chunks),
        TEST(test_open_call),
        TEST(test_garbage_behind_the_committed_length),
        TEST(test_file_larger_than_committed),
        TEST(test_growing),
        TEST(test_length_is_that_of_the_longest_call),
        TEST(test_run_definition),
        TEST(test_run_definition_of_a_killed_run),
        TEST(test_anchor_as_path),
        TEST(test_many_processes),
    };
    return run_cases(tests, NULL, NULL);
}
