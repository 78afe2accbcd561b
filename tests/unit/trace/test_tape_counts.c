/* Readings of several counters in one record of a tape. */
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/tape_maker.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/scan.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char run[4400];
static struct tape_maker tape;

static int set_up(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    folder_make();
    snprintf(run, sizeof run, "%s", folder_path("run"));
    run_begin(run);
    definitions_begin(&definitions, 0);
    define_region(&definitions, 1, "main");
    for (uint32_t c = 5; c < 8; c++)
        definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, c, "Uuss", (uint64_t)c, 0u,
                        c == 5   ? "instructions"
                        : c == 6 ? "cycles"
                                 : "third",
                        "");
    definitions_write(&definitions, run);
    memset(&tape, 0, sizeof tape);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 1, 5);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static lull_status read_counters(uint64_t *sums, unsigned *ret_events, struct lull_error *err)
{
    struct lull_trace *trace;
    struct lull_cursor *cursor;
    together_check(run);
    lull_status status = lull_trace_open(run, &trace, err);
    if (status != LULL_OK)
        return status;
    *ret_events = 0;
    status = lull_cursor_open(trace, 0, LULL_MASK(LULL_EVENT_COUNTERS), &cursor, err);
    struct lull_block block = {.count = 1};
    while (status == LULL_OK && block.count > 0) {
        status = lull_cursor_next(cursor, &block, err);
        for (uint32_t e = 0; status == LULL_OK && e < block.count; e++) {
            const struct lull_event *event = &block.events[e];
            ++*ret_events;
            for (uint32_t i = 0; i < event->readings.count; i++)
                sums[trace->counters[event->readings.values[i].counter].source_id - 5] +=
                    event->readings.values[i].value;
        }
    }
    lull_cursor_close(cursor);
    lull_trace_close(trace);
    return status;
}

static void put(uint64_t time, uint32_t id, uint32_t count, unsigned extra, const uint64_t *values)
{
    union lull_tape_slot *slot = tape_record(&tape, time, LULL_TAPE_COUNTS, extra, id, count);
    for (uint32_t i = 0; i < count && i < 2 * extra; i++)
        slot[1 + i / 2].u64[i % 2] = values[i];
}

/* More readings than a block has room for. */
static void test_readings(void **state)
{
    (void)state;
    enum { TIMES = 1000 };
    struct lull_error err;
    uint64_t sums[3] = {0};
    unsigned events;
    for (uint64_t i = 0; i < TIMES; i++)
        put(20 + i, 5, 3, 2, (const uint64_t[]){i, 10, UINT64_C(1) << 40});
    put(5000, 7, 1, 1, (const uint64_t[]){3});
    tape_write(&tape, run, 0);
    assert_int_equal(read_counters(sums, &events, &err), LULL_OK);
    assert_int_equal(events, TIMES + 1);
    assert_int_equal(sums[0], TIMES * (TIMES - 1) / 2);
    assert_int_equal(sums[1], 10 * TIMES);
    assert_int_equal(sums[2], TIMES * (UINT64_C(1) << 40) + 3);
}

static void refuse(const char *text)
{
    struct lull_error err;
    uint64_t sums[3] = {0};
    unsigned events;
    char place[64];
    tape_write(&tape, run, 0);
    assert_int_equal(read_counters(sums, &events, &err), LULL_ERR_FORMAT);
    snprintf(place, sizeof place, "0/0.tape: offset %zu",
             process_place(run, 0, LULL_TAPE_PART_RECORDS, 0) + 16);
    fail_if(!strstr(err.text, text) || !strstr(err.text, place), "'%s', expected '%s'", err.text,
            text);
}

static void test_unknown_counter(void **state)
{
    (void)state;
    put(20, 6, 3, 2, (const uint64_t[]){1, 2, 3});
    refuse("unknown counter 8");
}

static void test_more_than_slots(void **state)
{
    (void)state;
    put(20, 5, 3, 1, (const uint64_t[]){1, 2});
    refuse("number of counters that does not fit 3");
}

static void test_none(void **state)
{
    (void)state;
    put(20, 5, 0, 1, NULL);
    refuse("number of counters that does not fit 0");
}

static void test_without_slots(void **state)
{
    (void)state;
    put(20, 5, 0, 0, NULL);
    refuse("record is too short");
}

TEST_GROUP(test_tape_counts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_readings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_counter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_than_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_slots, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
