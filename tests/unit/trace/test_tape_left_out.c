/* A tape of two processes, one of which is damaged: that is told, and the other one is read as if
 * nothing were. */
#include "support/check_trace.h"
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/same_trace.h"
#include "support/tape_maker.h"
#include "support/test.h"
#include "support/together.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct lull_error err;
static char run[4400];
static struct tape_maker damaged; /* of process 1, for a test to go on with */

static void make_definitions(uint32_t process)
{
    struct definitions_maker definitions;
    definitions_begin(&definitions, process);
    define_region(&definitions, 0, process ? "there" : "here");
    definitions_write(&definitions, run);
}

/* Calls at 10, 20 and 30, of 5 ns each. */
static void make_calls(struct tape_maker *tape, uint32_t process)
{
    tape_begin(tape, process, 0);
    for (uint64_t time = 10; time <= 30; time += 10)
        tape_call(tape, time, 0, 5);
}

static int set_up(void **state)
{
    (void)state;
    struct tape_maker good;
    struct definitions_maker whole;
    folder_make();
    snprintf(run, sizeof run, "%s", folder_path("run"));
    run_begin(run);
    definitions_begin(&whole, LULL_TAPE_WHOLE_RUN);
    definitions_add(&whole, LULL_TAPE_DEFINE_RUN, 0, "UUUffus", UINT64_C(100), UINT64_C(0),
                    UINT64_C(0), 1.0, 1.0, 0u, "");
    definitions_write(&whole, run);
    make_definitions(0);
    make_definitions(1);
    make_calls(&good, 0);
    good.header.flags = LULL_TAPE_CLOSED;
    tape_write(&good, run, 0);
    make_calls(&damaged, 1);
    damaged.header.flags = LULL_TAPE_CLOSED;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static void check_calls(const struct same_sequence *sequence, size_t calls)
{
    assert_true(sequence->count >= calls);
    for (size_t i = 0; i < calls; i++) {
        assert_int_equal(sequence->events[i].kind, LULL_EVENT_CALL);
        assert_int_equal(sequence->events[i].time, 10 + 10 * (int64_t)i);
        assert_int_equal(sequence->events[i].duration, 5);
    }
}

static void check_told(const struct lull_trace *trace, const char *file, const char *cause)
{
    struct lull_quirk *quirks;
    uint32_t n = lull_trace_quirks(trace, trace->arena, &quirks);
    assert_int_equal(n, 1);
    assert_int_equal(quirks[0].count, 1);
    assert_non_null(strstr(quirks[0].kind, "left out"));
    fail_if(!strstr(quirks[0].first, file) || !strstr(quirks[0].first, cause),
            "'%s' does not name '%s' and '%s'", quirks[0].first, file, cause);
}

/* Of process 1 there are `calls` calls and then nothing, which is told; in either order of reading,
 * and told once however often it is read. */
static void check_left_out(size_t calls, const char *file, const char *cause)
{
    struct lull_trace *trace;
    struct lull_error broken;
    together_check(run);
    fail_if(lull_trace_open(run, &trace, &err) != LULL_OK, "%s", err.text);
    for (unsigned workers = 1; workers <= 2; workers++) {
        struct same_sequence *sequences;
        fail_if(check_trace(trace, workers, &err, &broken) != LULL_OK, "%s%s", err.text,
                broken.text);
        assert_int_equal(
            collect_by_scan(trace, LULL_MASK_ALL, workers, trace->arena, &sequences, &err),
            LULL_OK);
        assert_int_equal(sequences[0].count, 3);
        check_calls(&sequences[0], 3);
        assert_int_equal(sequences[1].count, calls + 1);
        check_calls(&sequences[1], calls);
        assert_int_equal(sequences[1].events[calls].kind, LULL_EVENT_MEASURE_OFF);
        assert_int_equal(sequences[1].events[calls].time, 10 * (int64_t)calls);
    }
    struct same_sequence alone;
    assert_int_equal(collect_by_cursor(trace, 1, LULL_MASK_ALL, trace->arena, &alone, &err),
                     LULL_OK);
    assert_int_equal(alone.count, calls + 1);
    check_told(trace, file, cause);
    lull_trace_close(trace);
}

static void test_bad_record(void **state)
{
    (void)state;
    tape_record(&damaged, 40, 63, 0, 0, 0);
    tape_call(&damaged, 50, 0, 5);
    tape_write(&damaged, run, 0);
    check_left_out(3, "1.tape", "unknown record kind 63");
}

static void test_time_backwards(void **state)
{
    (void)state;
    tape_call(&damaged, 25, 0, 5);
    tape_call(&damaged, 50, 0, 5);
    tape_write(&damaged, run, 0);
    check_left_out(3, "1.0", "time runs backwards");
}

/* Of two times in the wrong order the first one is wrong where it lies behind the run. */
static void test_far_time(void **state)
{
    (void)state;
    tape_call(&damaged, UINT64_C(1) << 60, 0, 5);
    tape_call(&damaged, 50, 0, 5);
    tape_write(&damaged, run, 0);
    check_left_out(3, "1.0", "time runs backwards");
}

/* So is a call that is longer than the run and has others inside of it. */
static void test_far_call(void **state)
{
    (void)state;
    tape_call(&damaged, 40, 0, 200);
    tape_call(&damaged, 50, 0, 5);
    tape_write(&damaged, run, 0);
    check_left_out(3, "1.0", "inside of a call");
}

/* What is entered behind the run is not left either. */
static void test_far_region(void **state)
{
    (void)state;
    tape_record(&damaged, UINT64_C(1) << 60, LULL_TAPE_ENTER, 0, 0, 0);
    tape_record(&damaged, 50, LULL_TAPE_LEAVE, 0, 0, 0);
    tape_write(&damaged, run, 0);
    check_left_out(3, "1.0", "time runs backwards");
}

static void test_behind_the_end(void **state)
{
    (void)state;
    tape_call(&damaged, 96, 0, 5);
    tape_write(&damaged, run, 0);
    check_left_out(3, "1.tape", "lies outside of the run");
}

static void test_header(void **state)
{
    (void)state;
    damaged.header.magic[0] = 'X';
    tape_write(&damaged, run, 0);
    check_left_out(0, "1.tape", "no header");
}

static void test_short_file(void **state)
{
    (void)state;
    tape_write(&damaged, run, 0);
    assert_int_equal(truncate(folder_path("run/0/1.tape"), 100), 0);
    check_left_out(0, "1.tape", "truncated");
}

static void test_definitions(void **state)
{
    (void)state;
    const struct lull_tape_definitions_header header = {.magic = "LULLDEFX"};
    tape_write(&damaged, run, 0);
    process_put(run, 1, LULL_TAPE_PART_DEFINITIONS, 0, &header, sizeof header);
    check_left_out(0, "1.tape", "no header of tape definitions");
}

/* Of a run that does not say its length the records do, but not those behind a damage. */
static void test_length(void **state)
{
    (void)state;
    static const struct {
        uint64_t time;
        unsigned kind;
    } bad[] = {{UINT64_C(1) << 60, 63}, {UINT64_C(1) << 60, LULL_TAPE_ENTER}};
    assert_int_equal(unlink(folder_path("run/definitions")), 0);
    free(damaged.slots);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        make_calls(&damaged, 1);
        tape_record(&damaged, bad[i].time, bad[i].kind, 0, 0, 0);
        tape_call(&damaged, 50, 0, 5);
        tape_write(&damaged, run, 0);
        struct lull_trace *trace;
        struct lull_error broken;
        together_check_some(run);
        assert_int_equal(lull_trace_open(run, &trace, &err), LULL_OK);
        assert_int_equal(trace->duration, 25); /* from 10 to 35 */
        assert_int_equal(check_trace(trace, 1, &err, &broken), LULL_OK);
        assert_true(lull_trace_is_left_out(trace, 1));
        lull_trace_close(trace);
    }
}

/* Where all are damaged nothing is left. */
static void test_all(void **state)
{
    (void)state;
    struct lull_trace *trace;
    damaged.header.magic[0] = 'X';
    tape_write(&damaged, run, 0);
    assert_int_equal(truncate(folder_path("run/0/0.tape"), 100), 0);
    together_check(run);
    assert_int_equal(lull_trace_open(run, &trace, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "1.tape"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_GROUP(test_tape_left_out)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bad_record),     TEST(test_time_backwards),
        TEST(test_behind_the_end), TEST(test_header),
        TEST(test_short_file),     TEST(test_definitions),
        TEST(test_length),         TEST(test_all),
        TEST(test_far_time),       TEST(test_far_call),
        TEST(test_far_region),
    };
    return run_cases(tests, NULL, NULL);
}
