/* Bad records of tapes: each gives one line naming file and place, and none does harm. */
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/spoilt_tape.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>

/* "/run/0/0.tape: offset 12304: ", of a byte of the records. */
static const char *place_of(size_t offset)
{
    static char place[64];
    offset += process_place(spoilt.run, 0, LULL_TAPE_PART_RECORDS, 0);
    snprintf(place, sizeof place, "/run/0/0.tape: offset %zu: ", offset);
    return place;
}

static void check_record(const char *cause)
{
    spoilt_write();
    spoilt_check(place_of(16), cause);
}

#define BAD_RECORD(name, cause, ...)      \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        __VA_ARGS__;                      \
        check_record(cause);              \
    }

static void collective(uint32_t comm, uint32_t root)
{
    lull_tape_put_collective_call(tape_room(&spoilt.tape, 2), LULL_TAPE_CALL_COLLECTIVE, 20, 1, 1,
                                  comm, root, 0, 0);
}

BAD_RECORD(unknown_region, "unknown region 17", spoilt_record(LULL_TAPE_ENTER, 0, 17, 0))
BAD_RECORD(unknown_region_of_call, "unknown region 17", spoilt_record(LULL_TAPE_CALL, 0, 17, 1))
BAD_RECORD(unknown_region_of_operation, "unknown region 17",
           spoilt_record(LULL_TAPE_CALL_OPERATION, 1, 17, 1)[1].u32[2] = 1)
BAD_RECORD(unknown_call_of_operation, "unknown region 18",
           spoilt_record(LULL_TAPE_CALL_OPERATION, 1, 1, 1)[1].u32[2] = 18)
BAD_RECORD(short_operation, "record is too short, kind 26",
           spoilt_record(LULL_TAPE_CALL_OPERATION, 0, 1, 1))
BAD_RECORD(unknown_region_of_send, "unknown region 17",
           spoilt_record(LULL_TAPE_CALL_SEND, 1, 17, 1))
BAD_RECORD(unknown_state, "unknown state 3", spoilt_record(LULL_TAPE_STATE, 0, 3, 1))
BAD_RECORD(unknown_comm, "unknown communicator 9", spoilt_message(0, 9))
BAD_RECORD(unknown_rank, "unknown process or rank 1", spoilt_message(1, 0))
BAD_RECORD(unknown_wildcard, "unknown process or rank", spoilt_message(-3, 0))
BAD_RECORD(unknown_collective_comm, "unknown communicator 9", collective(9, 0))
BAD_RECORD(unknown_root, "unknown process or rank 4", collective(0, 4))
BAD_RECORD(unknown_marker, "unknown marker 2",
           spoilt_record(LULL_TAPE_NUMBER, 1, 2, LULL_TAPE_NUMBER_MARKER))
BAD_RECORD(unknown_team, "unknown communicator 2",
           spoilt_record(LULL_TAPE_NUMBER, 1, 2, LULL_TAPE_NUMBER_TEAM_BEGIN))
BAD_RECORD(unknown_counter, "unknown counter 4",
           spoilt_record(LULL_TAPE_COUNTERS, 1, 0, 0)[1].u32[2] = 4)
BAD_RECORD(unknown_target, "unknown process 5",
           spoilt_record(LULL_TAPE_TRANSFER, 1, LULL_TAPE_NO_ID, 0)[1].i32[2] = 5)
BAD_RECORD(unknown_transfer, "unknown operation 77", spoilt_record(LULL_TAPE_TRANSFER, 1, 0, 77))
BAD_RECORD(unknown_message, "unknown message record 7", spoilt_record(LULL_TAPE_MESSAGE, 2, 0, 7))
BAD_RECORD(unknown_number, "unknown number record 250", spoilt_record(LULL_TAPE_NUMBER, 1, 0, 250))
BAD_RECORD(unknown_kind, "unknown record kind 63", spoilt_record(63, 0, 0, 0))
BAD_RECORD(never_written, "unknown record kind 0", spoilt_record(LULL_TAPE_NOTHING, 0, 0, 0))
BAD_RECORD(call_without_message, "without its message", spoilt_record(LULL_TAPE_CALL_SEND, 0, 1, 1);
           tape_room(&spoilt.tape, 4))
BAD_RECORD(like_none, "call like one that there was not, shape 7",
           spoilt_record(LULL_TAPE_CALL_LIKE, 0, 7, 1))
BAD_RECORD(like_no_shape, "call like one that there was not, shape 256",
           spoilt_record(LULL_TAPE_CALL_LIKE, 0, LULL_TAPE_SHAPES, 1))
BAD_RECORD(short_message, "too short", spoilt_record(LULL_TAPE_MESSAGE, 1, 0, 0))
BAD_RECORD(short_counters, "too short", spoilt_record(LULL_TAPE_COUNTERS, 0, 0, 0))
BAD_RECORD(beyond_the_end, "crosses the end",
           spoilt_record(LULL_TAPE_COUNTERS, 0, 0, 0)->record.head |= 3 << 6)

/* A record may begin in the last slot of a chunk and have extra ones in the next. */
static void test_record_crosses_a_chunk(void **state)
{
    (void)state;
    while (spoilt.tape.count < LULL_TAPE_CHUNK / 16 - 1)
        tape_call(&spoilt.tape, 15, 0, 0);
    tape_room(&spoilt.tape, 1)->record =
        (struct lull_tape_record){20, lull_tape_head(LULL_TAPE_COUNTERS, 1, 0), 0};
    tape_room(&spoilt.tape, 1);
    spoilt_write();
    spoilt_check(place_of(LULL_TAPE_CHUNK - 16), "crosses the end of its chunk");
}

static void test_completions_that_were_not_opened(void **state)
{
    (void)state;
    static const struct {
        uint32_t first, count, matched;
    } waits[] = {{0, 1, 0},
                 {UINT32_MAX, 1, 0},
                 {5, UINT32_MAX, 0},
                 {0, 0, LULL_TAPE_MATCHED},
                 {0, 0, LULL_TAPE_MATCHED | LULL_TAPE_LARGE}};
    definitions_write(&spoilt.definitions, spoilt.run);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        spoilt.tape.count = 1;
        spoilt_complete(waits[i].first, waits[i].count, waits[i].matched);
        struct tape_maker copy = {.header = spoilt.tape.header};
        for (size_t s = 0; s < spoilt.tape.count; s++)
            *tape_room(&copy, 1) = spoilt.tape.slots[s];
        tape_write(&copy, spoilt.run, 0);
        spoilt_check("/run/0/0.tape: offset ", "request that is not open");
    }
}

/* How long the run was, and where its times begin: then the records need not tell. */
static void define_run(uint64_t duration, uint64_t origin)
{
    struct definitions_maker whole;
    definitions_begin(&whole, LULL_TAPE_WHOLE_RUN);
    definitions_add(&whole, LULL_TAPE_DEFINE_RUN, 0, "UUUffus", duration, origin, UINT64_C(0), 1.0,
                    1.0, 0u, "");
    definitions_write(&whole, spoilt.run);
    spoilt.tape.header.flags = LULL_TAPE_CLOSED;
}

static void test_time_runs_backwards(void **state)
{
    (void)state;
    define_run(100, 0);
    tape_call(&spoilt.tape, 9, 0, 1);
    spoilt_write();
    spoilt_check("/run: 0.0: ", "time runs backwards");
}

static void test_call_in_a_call(void **state)
{
    (void)state;
    tape_call(&spoilt.tape, 12, 0, 1);
    spoilt_write();
    spoilt_check("0.0", "inside of a call");
}

static void test_endless_call(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {UINT64_MAX, INT64_MAX, UINT64_C(1) << 63};
    definitions_write(&spoilt.definitions, spoilt.run);
    for (size_t i = 0; i < 3; i++) {
        spoilt_drop();
        tape_begin(&spoilt.tape, 0, 0);
        tape_call(&spoilt.tape, 10, 0, lengths[i]);
        tape_write(&spoilt.tape, spoilt.run, 0);
        spoilt_read(); /* refused or not, nothing overflows */
    }
}

static void test_behind_the_end_of_the_run(void **state)
{
    (void)state;
    define_run(100, 0);
    tape_record(&spoilt.tape, 101, LULL_TAPE_NUMBER, 1, 0, LULL_TAPE_NUMBER_JOIN);
    spoilt_write();
    spoilt_check("/run/0/0.tape", "an event at 101 ns lies outside of the run of 100 ns");
}

/* Events behind the call stay in the run: its end has to be looked at. */
static void test_call_behind_the_end_of_the_run(void **state)
{
    (void)state;
    define_run(100, 0);
    tape_record(&spoilt.tape, 20, LULL_TAPE_ENTER, 0, 0, 0);
    tape_call(&spoilt.tape, 90, 0, 11);
    tape_record(&spoilt.tape, 95, LULL_TAPE_NUMBER, 1, 0, LULL_TAPE_NUMBER_TASK_CREATE);
    spoilt_write();
    spoilt_check("/run/0/0.tape", "at 90 ns lies outside of the run of 100 ns");
}

/* A file may say anything of where its times begin. */
static void test_far_origin(void **state)
{
    (void)state;
    static const uint64_t origins[] = {UINT64_C(1) << 63, INT64_MAX, UINT64_MAX, 1};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        define_run(100, origins[i]);
        if (i == 0)
            spoilt_write();
        spoilt_read(); /* refused or not, nothing overflows */
    }
}

TEST_GROUP(test_tape_bad_records)
{
    const struct CMUnitTest tests[] = {
        SPOILT_TEST(test_unknown_region),
        SPOILT_TEST(test_unknown_region_of_call),
        SPOILT_TEST(test_unknown_region_of_operation),
        SPOILT_TEST(test_unknown_call_of_operation),
        SPOILT_TEST(test_short_operation),
        SPOILT_TEST(test_unknown_region_of_send),
        SPOILT_TEST(test_unknown_state),
        SPOILT_TEST(test_unknown_comm),
        SPOILT_TEST(test_unknown_rank),
        SPOILT_TEST(test_unknown_wildcard),
        SPOILT_TEST(test_unknown_collective_comm),
        SPOILT_TEST(test_unknown_root),
        SPOILT_TEST(test_unknown_marker),
        SPOILT_TEST(test_unknown_team),
        SPOILT_TEST(test_unknown_counter),
        SPOILT_TEST(test_unknown_target),
        SPOILT_TEST(test_unknown_transfer),
        SPOILT_TEST(test_unknown_message),
        SPOILT_TEST(test_unknown_number),
        SPOILT_TEST(test_unknown_kind),
        SPOILT_TEST(test_never_written),
        SPOILT_TEST(test_call_without_message),
        SPOILT_TEST(test_like_none),
        SPOILT_TEST(test_like_no_shape),
        SPOILT_TEST(test_short_message),
        SPOILT_TEST(test_short_counters),
        SPOILT_TEST(test_beyond_the_end),
        SPOILT_TEST(test_record_crosses_a_chunk),
        SPOILT_TEST(test_completions_that_were_not_opened),
        SPOILT_TEST(test_time_runs_backwards),
        SPOILT_TEST(test_call_in_a_call),
        SPOILT_TEST(test_endless_call),
        SPOILT_TEST(test_behind_the_end_of_the_run),
        SPOILT_TEST(test_call_behind_the_end_of_the_run),
        SPOILT_TEST(test_far_origin),
    };
    return run_cases(tests, NULL, NULL);
}
