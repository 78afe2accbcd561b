/* The guarantees of trace/scan.h about order and nesting, one by one. */
#include "support/memory_trace.h"
#include "support/test.h"
#include "trace/nesting.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };
enum { E = LULL_EVENT_ENTER, L = LULL_EVENT_LEAVE };
enum { END = 1000 };

static struct lull_trace *trace;
static struct lull_nesting nesting;
static struct lull_event_buffer scratch;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    trace = memory_trace_simple(1, 2, END, (const char *const[]){"a", "b", "c", NULL});
    lull_nesting_begin(&nesting, LULL_MASK_ALL, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_nesting_end(&nesting);
    free(scratch.events);
    scratch = (struct lull_event_buffer){0};
    lull_trace_close(trace);
    return 0;
}

struct step {
    int64_t time;
    unsigned kind;
    uint32_t id;
};

/* Puts `in` through the repair as one block and compares with `out`. */
static void check(const struct step *in, uint32_t n_in, const struct step *out, uint32_t n_out)
{
    struct lull_event block[64];
    const struct lull_event *events = block;
    uint32_t count = n_in;
    for (uint32_t i = 0; i < n_in; i++)
        block[i] = memory_event(in[i].time, in[i].kind, in[i].id);
    fail_if(lull_nesting_repair(&nesting, trace, 0, &events, &count, &scratch, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(count, n_out);
    for (uint32_t i = 0; i < n_out; i++) {
        assert_int_equal(events[i].time, out[i].time);
        assert_int_equal(events[i].kind, out[i].kind);
        assert_int_equal(events[i].id, out[i].id);
    }
}

#define STEPS(...)                      \
    (const struct step[]){__VA_ARGS__}, \
        sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step)

static void check_end(const struct step *out, uint32_t n_out)
{
    const struct lull_event *events;
    uint32_t count;
    assert_int_equal(lull_nesting_close_all(&nesting, trace, 0, &events, &count, &scratch, &err),
                     LULL_OK);
    assert_int_equal(count, n_out);
    for (uint32_t i = 0; i < n_out; i++) {
        assert_int_equal(events[i].time, out[i].time);
        assert_int_equal(events[i].kind, L);
        assert_int_equal(events[i].id, out[i].id);
    }
}

/* The quirk whose text holds `part`, with its count; 0 of them if there is none. */
static void check_quirk(const char *part, uint64_t count, const char *place)
{
    struct lull_quirk *quirks;
    uint32_t n = lull_trace_quirks(trace, trace->arena, &quirks);
    for (uint32_t i = 0; i < n; i++)
        if (strstr(quirks[i].kind, part)) {
            assert_int_equal(quirks[i].count, count);
            assert_non_null(strstr(quirks[i].first, place));
            return;
        }
    assert_int_equal(count, 0);
}

static void check_no_quirks(void)
{
    struct lull_quirk *quirks;
    assert_int_equal(lull_trace_quirks(trace, trace->arena, &quirks), 0);
}

/* ---- nothing to repair ----------------------------------------------------------------------- */

static void test_untouched(void **state)
{
    (void)state;
    struct lull_event block[] = {
        memory_event(0, E, A), memory_event(5, LULL_EVENT_SEND, 0),   memory_event(5, E, B),
        memory_event(5, L, B), memory_span(6, LULL_EVENT_CALL, C, 4), memory_event(10, L, A)};
    const struct lull_event *events = block;
    uint32_t count = sizeof block / sizeof *block;
    assert_int_equal(lull_nesting_repair(&nesting, trace, 0, &events, &count, &scratch, &err),
                     LULL_OK);
    assert_ptr_equal(events, block);
    assert_int_equal(count, sizeof block / sizeof *block);
    assert_null(scratch.events);
    check_end(NULL, 0);
    check_no_quirks();
}

static void test_across_blocks(void **state)
{
    (void)state;
    check(STEPS({1, E, A}, {2, E, B}), STEPS({1, E, A}, {2, E, B}));
    check(STEPS({3, L, B}), STEPS({3, L, B}));
    check(STEPS({3, L, A}), STEPS({3, L, A}));
    check_end(NULL, 0);
    check_no_quirks();
}

static void test_deep(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    struct lull_event *block = malloc(2 * DEPTH * sizeof *block);
    assert_non_null(block);
    for (uint32_t i = 0; i < DEPTH; i++) {
        block[i] = memory_event(0, E, i % 3);
        block[2 * DEPTH - 1 - i] = memory_event(1, L, i % 3);
    }
    const struct lull_event *events = block;
    uint32_t count = 2 * DEPTH;
    assert_int_equal(lull_nesting_repair(&nesting, trace, 0, &events, &count, &scratch, &err),
                     LULL_OK);
    assert_ptr_equal(events, block);
    check_end(NULL, 0);
    check_no_quirks();
    free(block);
}

/* ---- repairs --------------------------------------------------------------------------------- */

static void test_cut_begin(void **state)
{
    (void)state;
    check(STEPS({1, L, B}, {2, L, A}, {3, E, C}, {4, L, C}), STEPS({3, E, C}, {4, L, C}));
    check_quirk("open when the recording began", 2, "rank 0 thread 0: 'a' at 2 ns"); /* by name */
    check(STEPS({5, L, B}), NULL, 0);
    check_quirk("open when the recording began", 2, "'a'");
    check_quirk("not entered; ignored", 1, "'b' at 5 ns");
}

static void test_leave_without_enter(void **state)
{
    (void)state;
    check(STEPS({1, E, A}, {2, L, B}, {3, E, C}, {4, L, C}, {5, L, A}),
          STEPS({1, E, A}, {3, E, C}, {4, L, C}, {5, L, A}));
    check_quirk("not entered; ignored", 1, "rank 0 thread 0: 'b' at 2 ns");
    check_end(NULL, 0);
}

static void test_leave_skips_inner_regions(void **state)
{
    (void)state;
    check(STEPS({1, E, A}, {2, E, B}, {3, E, C}, {7, L, A}, {8, E, B}),
          STEPS({1, E, A}, {2, E, B}, {3, E, C}, {7, L, C}, {7, L, B}, {7, L, A}, {8, E, B}));
    check_quirk("left before those inside it", 1, "rank 0 thread 0: 'a' at 7 ns");
    check_end((const struct step[]){{END, L, B}}, 1);
}

/* The innermost of two equal regions is the one that is left. */
static void test_recursion(void **state)
{
    (void)state;
    check(STEPS({1, E, A}, {2, E, A}, {3, E, B}, {4, L, A}, {5, L, A}),
          STEPS({1, E, A}, {2, E, A}, {3, E, B}, {4, L, B}, {4, L, A}, {5, L, A}));
    check_end(NULL, 0);
}

static void test_cut_end(void **state)
{
    (void)state;
    check(STEPS({1, E, A}, {2, E, B}), STEPS({1, E, A}, {2, E, B}));
    check_end((const struct step[]){{END, L, B}, {END, L, A}}, 2);
    check_quirk("open when the recording ended", 1, "rank 0 thread 0: 'b'");
    check_end(NULL, 0);
}

/* A file may say that it ends before its last event. */
static void test_cut_end_behind_the_duration(void **state)
{
    (void)state;
    check(STEPS({END + 7, E, A}), STEPS({END + 7, E, A}));
    check_end((const struct step[]){{END + 7, L, A}}, 1);
}

static void test_other_events_stay_where_they_are(void **state)
{
    (void)state;
    check(STEPS({1, L, A}, {1, LULL_EVENT_SEND, 0}, {2, E, A}, {2, LULL_EVENT_COUNTERS, 0},
                {3, LULL_EVENT_RECV, 0}, {3, L, B}, {3, LULL_EVENT_MARKER, 0}),
          STEPS({1, LULL_EVENT_SEND, 0}, {2, E, A}, {2, LULL_EVENT_COUNTERS, 0},
                {3, LULL_EVENT_RECV, 0}, {3, LULL_EVENT_MARKER, 0}));
}

/* ---- order ----------------------------------------------------------------------------------- */

static void check_refused(struct lull_event *block, uint32_t count, uint32_t location,
                          const char *const *parts)
{
    const struct lull_event *events = block;
    assert_int_equal(
        lull_nesting_repair(&nesting, trace, location, &events, &count, &scratch, &err),
        LULL_ERR_FORMAT);
    for (; *parts; parts++)
        fail_if(!strstr(err.text, *parts), "'%s' does not say '%s'", err.text, *parts);
    assert_null(strchr(err.text, '\n'));
}

static void test_time_runs_backwards(void **state)
{
    (void)state;
    struct lull_event block[] = {memory_event(20, E, A), memory_event(19, LULL_EVENT_MARKER, A)};
    check_refused(block, 2, 1,
                  (const char *const[]){"memory: rank 0 thread 1: time runs backwards: marker at "
                                        "19 ns after an event at 20 ns",
                                        NULL});
}

static void test_time_runs_backwards_between_blocks(void **state)
{
    (void)state;
    struct lull_event block[] = {memory_event(19, E, A)};
    check(STEPS({20, E, A}), STEPS({20, E, A}));
    check_refused(block, 1, 0, (const char *const[]){"enter at 19 ns after", NULL});
}

static void test_time_runs_backwards_after_a_repair(void **state)
{
    (void)state;
    struct lull_event block[] = {memory_event(20, L, A), memory_event(30, E, A),
                                 memory_event(29, L, A)};
    check_refused(block, 3, 0,
                  (const char *const[]){"leave at 29 ns after an event at 30 ns", NULL});
}

static void test_before_the_origin(void **state)
{
    (void)state;
    struct lull_event block[] = {memory_event(-3, E, A)};
    check_refused(block, 1, 0,
                  (const char *const[]){"enter at -3 ns, before the run begins", NULL});
}

static void test_nothing_inside_a_call(void **state)
{
    (void)state;
    struct lull_event good[] = {memory_span(10, LULL_EVENT_CALL, A, 10),
                                memory_event(15, LULL_EVENT_SEND, 0),
                                memory_span(20, LULL_EVENT_CALL, B, 5)};
    const struct lull_event *events = good;
    uint32_t count = 3;
    assert_int_equal(lull_nesting_repair(&nesting, trace, 0, &events, &count, &scratch, &err),
                     LULL_OK);
    struct lull_event bad[] = {memory_event(24, E, A)};
    check_refused(
        bad, 1, 0,
        (const char *const[]){"rank 0 thread 0: enter at 24 ns", "lasts until 25 ns", NULL});
}

static void test_impossible_call(void **state)
{
    (void)state;
    struct lull_event negative[] = {memory_span(10, LULL_EVENT_CALL, A, -1)};
    check_refused(negative, 1, 0, (const char *const[]){"call at 10 ns", NULL});
    struct lull_event endless[] = {memory_span(10, LULL_EVENT_CALL, A, INT64_MAX)};
    check_refused(endless, 1, 0, (const char *const[]){"call at 10 ns", NULL});
}

/* ---- options --------------------------------------------------------------------------------- */

static void test_masks(void **state)
{
    (void)state;
    const uint64_t enter = LULL_MASK(E), leave = LULL_MASK(L), send = LULL_MASK(LULL_EVENT_SEND);
    assert_true(lull_nesting_mask(send) == send);
    assert_true(lull_nesting_mask(enter | send) == (enter | leave | send));
    assert_true(lull_nesting_mask(leave) == (enter | leave));
    assert_true(lull_nesting_mask(LULL_MASK_ALL) == LULL_MASK_ALL);
}

static void test_only_enter(void **state)
{
    (void)state;
    lull_nesting_begin(&nesting, LULL_MASK(E), false);
    check(STEPS({1, L, A}, {2, E, A}, {3, E, B}, {4, L, B}), STEPS({2, E, A}, {3, E, B}));
    check(STEPS({5, E, C}, {6, L, C}), STEPS({5, E, C}));
    check_end(NULL, 0);
    check_quirk("open when the recording ended", 1, "'a'");
}

static void test_only_leave(void **state)
{
    (void)state;
    lull_nesting_begin(&nesting, LULL_MASK(L), false);
    check(STEPS({1, L, A}, {2, E, A}, {3, E, B}, {4, L, A}, {5, E, C}),
          STEPS({4, L, B}, {4, L, A}));
    check_end((const struct step[]){{END, L, C}}, 1);
}

static void test_unordered_messages(void **state)
{
    (void)state;
    lull_nesting_begin(&nesting, LULL_MASK_ALL, true);
    check(STEPS({10, E, A}, {500, LULL_EVENT_RECV, 0}, {3, LULL_EVENT_SEND, 0}, {11, L, B},
                {12, L, A}),
          STEPS({10, E, A}, {500, LULL_EVENT_RECV, 0}, {3, LULL_EVENT_SEND, 0}, {12, L, A}));
    struct lull_event block[] = {memory_event(11, E, A)};
    check_refused(block, 1, 0, (const char *const[]){"enter at 11 ns after an event at 12", NULL});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_GROUP(test_nesting)
{
    const struct CMUnitTest tests[] = {
        TEST(test_untouched),
        TEST(test_across_blocks),
        TEST(test_deep),
        TEST(test_cut_begin),
        TEST(test_leave_without_enter),
        TEST(test_leave_skips_inner_regions),
        TEST(test_recursion),
        TEST(test_cut_end),
        TEST(test_cut_end_behind_the_duration),
        TEST(test_other_events_stay_where_they_are),
        TEST(test_time_runs_backwards),
        TEST(test_time_runs_backwards_between_blocks),
        TEST(test_time_runs_backwards_after_a_repair),
        TEST(test_before_the_origin),
        TEST(test_nothing_inside_a_call),
        TEST(test_impossible_call),
        TEST(test_masks),
        TEST(test_only_enter),
        TEST(test_only_leave),
        TEST(test_unordered_messages),
    };
    return run_cases(tests, NULL, NULL);
}
