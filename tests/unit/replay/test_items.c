/* What a replay makes of a thread, worked out by hand: bursts, fixed times, calls, meetings. */
#include "replay/program/items.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

enum { SEND, RECV, OPEN, WORK, PARALLEL };
static const char *const names[] = {"MPI_Send", "MPI_Recv",        "MPI_File_write_all",
                                    "work",     "OpenMP Parallel", NULL};

static void visit(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                  int64_t end)
{
    struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, region);
    struct lull_event leave = memory_event(end, LULL_EVENT_LEAVE, region);
    memory_trace_add(trace, location, &enter);
    memory_trace_add(trace, location, &leave);
}

/* "burst 0-10=10" with ":M" for a mark and "@R" for a region, "call SEND", "end SEND", "meet 20" */
static void describe(const struct lull_item *item, char *text, size_t size)
{
    static const char *const kinds[] = {"burst", "fixed"};
    char mark[16] = "", region[16] = "";
    if (item->mark)
        snprintf(mark, sizeof mark, ":%u", item->mark);
    if (item->kind <= LULL_ITEM_FIXED && item->region != LULL_NONE)
        snprintf(region, sizeof region, "@%u", item->region);
    if (item->kind <= LULL_ITEM_FIXED)
        snprintf(text, size, "%s %d-%d=%d%s%s", kinds[item->kind], (int)item->begin, (int)item->end,
                 (int)item->ns, mark, region);
    else if (item->kind == LULL_ITEM_MEET)
        snprintf(text, size, "meet %d", (int)item->begin);
    else
        snprintf(text, size, "%s %d", lull_step_kind_name(item->step->kind), (int)item->begin);
}

/* All items of a location, separated by "; ". */
static void check(const struct lull_trace *trace, uint32_t location, const uint8_t *marks,
                  const struct lull_items_options *options, const char *expected)
{
    struct lull_item_cursor *cursor;
    struct lull_error err = {""};
    char all[1024] = "", text[64];
    uint32_t count = 1;
    fail_if(lull_item_cursor_open(trace, location, marks, options, &cursor, &err) != LULL_OK, "%s",
            err.text);
    while (count > 0) {
        const struct lull_item *items;
        fail_if(lull_item_cursor_next(cursor, &items, &count, &err) != LULL_OK, "%s", err.text);
        for (uint32_t i = 0; i < count; i++) {
            describe(&items[i], text, sizeof text);
            strncat(all, *all ? "; " : "", sizeof all - strlen(all) - 1);
            strncat(all, text, sizeof all - strlen(all) - 1);
        }
    }
    lull_item_cursor_close(cursor);
    assert_string_equal(all, expected);
}

/* 30 ns of computation of which 10 in work(), 20 ns in a file operation, 5 more of computation, a
 * send of 15 ns, and another at once, of 10. The last event is at 80, and the run goes on to 100.
 */
static struct lull_trace *make_two_sends(void)
{
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, names);
    visit(trace, 0, WORK, 10, 20);
    visit(trace, 0, OPEN, 30, 50);
    visit(trace, 0, SEND, 55, 70);
    visit(trace, 0, SEND, 70, 80);
    return trace;
}

static void bursts_between_calls_are_one(void **state)
{
    (void)state;
    static const struct lull_items_options options = {0};
    struct lull_trace *trace = make_two_sends();
    check(trace, 0, NULL, &options,
          "burst 0-30=30; call begin 30; fixed 30-50=20; call end 50; burst 50-55=5; "
          "call begin 55; call end 70; call begin 70; call end 80; burst 80-100=20");
    lull_trace_close(trace);
}

static void pieces_are_before_each_call(void **state)
{
    (void)state;
    static const struct lull_items_options options = {.pieces = true};
    struct lull_trace *trace = make_two_sends();
    check(trace, 0, NULL, &options,
          "burst 0-30=30; call begin 30; fixed 30-50=20; call end 50; burst 50-55=5; "
          "call begin 55; call end 70; burst 70-70=0; call begin 70; call end 80; "
          "burst 80-100=20");
    lull_trace_close(trace);
}

static void marked_regions_have_bursts_of_their_own(void **state)
{
    (void)state;
    static const struct lull_items_options options = {0};
    static const uint8_t marks[] = {[WORK] = 7, [PARALLEL] = 0};
    struct lull_trace *trace = make_two_sends();
    check(trace, 0, marks, &options,
          "burst 0-10=10; burst 10-20=10:7@3; burst 20-30=10; call begin 30; fixed 30-50=20; "
          "call end 50; burst 50-55=5; call begin 55; call end 70; call begin 70; call end 80; "
          "burst 80-100=20");
    lull_trace_close(trace);
}

/* What they begin later they have less behind the last event. */
static void clocks_behind_begin_later(void **state)
{
    (void)state;
    static const struct lull_items_options far = {.shift = 1000}, near = {.shift = 15};
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, names);
    visit(trace, 0, SEND, 40, 60);
    check(trace, 0, NULL, &far, "fixed 0-40=1000; burst 0-40=40; call begin 40; call end 60");
    check(trace, 0, NULL, &near,
          "fixed 0-40=15; burst 0-40=40; call begin 40; call end 60; burst 60-100=25");
    lull_trace_close(trace);
}

/* The tracer writes its buffer from 60 on for 15 ns: that is after the last event. */
static void what_is_behind_the_last_event_counts(void **state)
{
    (void)state;
    static const struct lull_items_options options = {.pieces = true};
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, names);
    struct lull_event flushes[] = {memory_span(20, LULL_EVENT_FLUSH, 0, 5),
                                   memory_span(60, LULL_EVENT_FLUSH, 0, 15)};
    memory_trace_add(trace, 0, &flushes[0]);
    visit(trace, 0, WORK, 30, 50);
    memory_trace_add(trace, 0, &flushes[1]);
    check(trace, 0, NULL, &options,
          "burst 0-20=20; fixed 20-25=5; burst 25-60=35; fixed 60-75=15; "
          "burst 75-100=25");
    lull_trace_close(trace);
}

/* The master forks at 10 and joins at 60, and forks again at 80. Its worker computes from 12 to 55,
 * with a receive from 20 to 30 that counts because it is inside; the second time from 81 on. */
static void workers_meet_their_master(void **state)
{
    (void)state;
    static const struct lull_items_options options = {0};
    struct lull_trace *trace = memory_trace_simple(1, 2, 100, names);
    visit(trace, 0, PARALLEL, 10, 60);
    visit(trace, 0, PARALLEL, 80, 90);
    struct lull_event events[] = {
        memory_event(12, LULL_EVENT_ENTER, PARALLEL), memory_event(20, LULL_EVENT_ENTER, RECV),
        memory_event(30, LULL_EVENT_LEAVE, RECV),     memory_event(55, LULL_EVENT_LEAVE, PARALLEL),
        memory_event(81, LULL_EVENT_ENTER, PARALLEL), memory_event(89, LULL_EVENT_LEAVE, PARALLEL)};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        memory_trace_add(trace, 1, &events[i]);
    check(trace, 0, NULL, &options,
          "burst 0-10=10; meet 10; burst 10-60=50; meet 60; burst 60-80=20; meet 80; "
          "burst 80-90=10; meet 90; burst 90-100=10");
    check(trace, 1, NULL, &options,
          "meet 10; burst 12-20=8; call begin 20; burst 20-30=10; call end 30; burst 30-55=25; "
          "meet 60; meet 80; burst 81-89=8; meet 90");
    lull_trace_close(trace);
}

TEST_GROUP(test_items)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_between_calls_are_one),
        cmocka_unit_test(pieces_are_before_each_call),
        cmocka_unit_test(marked_regions_have_bursts_of_their_own),
        cmocka_unit_test(clocks_behind_begin_later),
        cmocka_unit_test(what_is_behind_the_last_event_counts),
        cmocka_unit_test(workers_meet_their_master),
    };
    return run_cases(tests, NULL, NULL);
}
