/* Timelines of small traces that are made by hand: rows, messages, waits, and what is kept. */
#include "support/memory_trace.h"
#include "support/test.h"
#include "support/timeline_case.h"
#include "timeline/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const regions[] = {"main", "MPI_Send", "MPI_Recv", "MPI_Barrier", NULL};
enum { MAIN, SEND, RECV, BARRIER };

static void call(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t from,
                 int64_t to)
{
    struct lull_event event = memory_span(from, LULL_EVENT_CALL, region, to - from);
    memory_trace_add(trace, location, &event);
}

static void enter(struct lull_trace *trace, uint32_t location, int64_t time)
{
    struct lull_event event = memory_event(time, LULL_EVENT_ENTER, MAIN);
    memory_trace_add(trace, location, &event);
}

static void leave(struct lull_trace *trace, uint32_t location, int64_t time)
{
    struct lull_event event = memory_event(time, LULL_EVENT_LEAVE, MAIN);
    memory_trace_add(trace, location, &event);
}

static void message(struct lull_trace *trace, uint32_t location, unsigned kind, int64_t time,
                    int32_t peer, int32_t tag, uint64_t bytes)
{
    struct lull_event event = memory_event(time, kind, 0);
    event.message.peer = peer;
    event.message.tag = tag;
    event.message.bytes = bytes;
    event.message.request = LULL_NO_REQUEST;
    memory_trace_add(trace, location, &event);
}

static int64_t cell_of(const struct lull_timeline *timeline, uint32_t row, unsigned level,
                       uint32_t bin, unsigned activity)
{
    int64_t ns[LULL_STEP_ACTIVITIES];
    lull_timeline_cells(timeline, row, level, bin, 1, ns);
    return ns[activity];
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Node b has ranks 0 and 2, node a rank 1 alone, each with two threads: the process of a stands
 * for its node. */
static void test_rows_of_nodes(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(3, 2, 1000, regions);
    trace->nodes = lull_arena_zero(trace->arena, 2, sizeof *trace->nodes);
    trace->nodes[0] = (struct lull_node){"a", "node", LULL_NONE};
    trace->nodes[1] = (struct lull_node){"b", "node", LULL_NONE};
    trace->n_nodes = 2;
    trace->processes[0].node = trace->processes[2].node = 1;
    trace->processes[1].node = 0;
    const struct lull_timeline_options options = {.most_steps = 100, .most_messages = 100};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    static const struct {
        uint8_t kind;
        uint32_t parent, process, n_leaves;
    } wanted[] = {{LULL_TIMELINE_NODE, LULL_NONE, 0, 4}, {LULL_TIMELINE_PROCESS, 0, 0, 2},
                  {LULL_TIMELINE_THREAD, 1, 0, 1},       {LULL_TIMELINE_THREAD, 1, 0, 1},
                  {LULL_TIMELINE_PROCESS, 0, 2, 2},      {LULL_TIMELINE_THREAD, 4, 2, 1},
                  {LULL_TIMELINE_THREAD, 4, 2, 1},       {LULL_TIMELINE_PROCESS, LULL_NONE, 1, 2},
                  {LULL_TIMELINE_THREAD, 7, 1, 1},       {LULL_TIMELINE_THREAD, 7, 1, 1}};
    assert_int_equal(made.timeline->n_rows, 10);
    for (uint32_t r = 0; r < 10; r++) {
        const struct lull_timeline_row *row = &made.timeline->rows[r];
        assert_int_equal(row->kind, wanted[r].kind);
        assert_int_equal(row->parent, wanted[r].parent);
        assert_int_equal(row->process, wanted[r].process);
        assert_int_equal(row->n_leaves, wanted[r].n_leaves);
        assert_int_equal(row->level, LULL_TIMELINE_FINEST);
    }
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* 3,000 processes are in 1,000 bands of three, which have the fine cells. Process p computes from
 * p to 6000 - p, so that each has another time. */
static void check_bands(unsigned workers)
{
    enum { N = 3000, END = 6000 };
    struct lull_trace *trace = memory_trace_simple(N, 1, END, regions);
    for (uint32_t p = 0; p < N; p++) {
        enter(trace, p, p);
        leave(trace, p, END - p);
    }
    const struct lull_timeline_options options = {.most_steps = 1000000};
    struct timeline_case made;
    timeline_case_make(trace, &options, workers, &made);
    const struct lull_timeline *timeline = made.timeline;
    assert_int_equal(timeline->n_leaves, N);
    assert_int_equal(timeline->n_rows, N + N / 3);
    for (uint32_t band = 0; band < N / 3; band++) {
        const uint32_t row = 4 * band, first = 3 * band;
        assert_int_equal(timeline->rows[row].kind, LULL_TIMELINE_BAND);
        assert_int_equal(timeline->rows[row].members, 3);
        assert_int_equal(timeline->rows[row].level, LULL_TIMELINE_FINEST);
        assert_int_equal(timeline->rows[row + 3].level, LULL_TIMELINE_COARSE);
        assert_int_equal(cell_of(timeline, row, 0, 0, LULL_USEFUL), 3 * END - 2 * (3 * first + 3));
        assert_int_equal(cell_of(timeline, row + 3, 0, 0, LULL_USEFUL), END - 2 * (first + 2));
        int64_t sum = 0;
        for (uint32_t bin = 0; bin < 2048; bin++)
            sum += cell_of(timeline, row, 11, bin, LULL_USEFUL);
        assert_int_equal(sum, 3 * END - 2 * (3 * first + 3));
        for (uint32_t bin = 0; bin < 64; bin++) {
            int64_t of_leaves = 0;
            for (uint32_t leaf = row + 1; leaf <= row + 3; leaf++)
                of_leaves += cell_of(timeline, leaf, 6, bin, LULL_USEFUL);
            assert_int_equal(of_leaves, cell_of(timeline, row, 6, bin, LULL_USEFUL));
        }
    }
    assert_int_equal(timeline->n_parties, 1000);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

static void test_bands(void **state)
{
    (void)state;
    check_bands(1);
    check_bands(5);
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Rank 0 sends 100 bytes and 0 bytes with tag 7 and 1,024 with tag 8; rank 1 receives the one with
 * tag 8 first and waits from 10 to 50, and from 60 to 70 and 90 for the others, in two calls. */
static struct lull_trace *three_messages(void)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, 100, regions);
    memory_trace_world(trace, 2);
    for (uint32_t l = 0; l < 2; l++)
        enter(trace, l, 0);
    call(trace, 0, SEND, 20, 25);
    message(trace, 0, LULL_EVENT_SEND, 21, 1, 7, 100);
    call(trace, 0, SEND, 30, 35);
    message(trace, 0, LULL_EVENT_SEND, 31, 1, 7, 0);
    call(trace, 0, SEND, 40, 45);
    message(trace, 0, LULL_EVENT_SEND, 41, 1, 8, 1024);
    call(trace, 1, RECV, 10, 50);
    message(trace, 1, LULL_EVENT_RECV, 50, 0, 8, 1024);
    call(trace, 1, RECV, 60, 70);
    message(trace, 1, LULL_EVENT_RECV, 70, 0, 7, 100);
    call(trace, 1, RECV, 80, 95);
    message(trace, 1, LULL_EVENT_RECV, 90, 0, 7, 0);
    for (uint32_t l = 0; l < 2; l++)
        leave(trace, l, 100);
    return trace;
}

static void check_message(const struct lull_timeline_message *got, int64_t sent, int64_t received,
                          uint64_t bytes, int32_t tag)
{
    assert_int_equal(got->sent, sent);
    assert_int_equal(got->received, received);
    assert_int_equal(got->sender, 0);
    assert_int_equal(got->receiver, 1);
    assert_int_equal(got->bytes, bytes);
    assert_int_equal(got->tag, tag);
}

static void test_messages(void **state)
{
    (void)state;
    struct lull_trace *trace = three_messages();
    const struct lull_timeline_options options = {.most_steps = 100, .most_messages = 3};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    const struct lull_timeline *timeline = made.timeline;
    assert_true(timeline->all_messages);
    assert_int_equal(timeline->n_kept_messages, 3);
    check_message(&timeline->messages[0], 21, 70, 100, 7);
    check_message(&timeline->messages[1], 31, 90, 0, 7);
    check_message(&timeline->messages[2], 41, 50, 1024, 8);
    assert_int_equal(timeline->unmatched, 0);
    assert_int_equal(timeline->n_traffic, 1);
    const struct lull_timeline_traffic wanted = {0, 1, 3, 1124, 3, 1124, 40 + 10 + 10};
    assert_memory_equal(timeline->traffic, &wanted, sizeof wanted);
    assert_int_equal(timeline->sizes[0], 1);  /* none */
    assert_int_equal(timeline->sizes[7], 1);  /* 64 to 127 */
    assert_int_equal(timeline->sizes[11], 1); /* 1,024 to 2,047 */
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* A receive tells more than was sent: what was sent counts. */
static void test_size_of_receives(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(2, 1, 100, regions);
    memory_trace_world(trace, 2);
    call(trace, 0, SEND, 20, 25);
    message(trace, 0, LULL_EVENT_SEND, 21, 1, 7, 100);
    call(trace, 1, RECV, 10, 50);
    message(trace, 1, LULL_EVENT_RECV, 50, 0, 7, UINT64_C(382) << 40);
    const struct lull_timeline_options options = {.most_steps = 100, .most_messages = 3};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    check_message(&made.timeline->messages[0], 21, 50, 100, 7);
    assert_int_equal(made.timeline->sent_bytes, 100);
    assert_int_equal(made.timeline->received_bytes, 100);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* One message more than may be kept: they are counted. */
static void test_too_many_messages(void **state)
{
    (void)state;
    struct lull_trace *trace = three_messages();
    const struct lull_timeline_options options = {.most_steps = 100, .most_messages = 2};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    assert_false(made.timeline->all_messages);
    assert_int_equal(made.timeline->n_kept_messages, 0);
    assert_int_equal(made.timeline->n_messages, 3);
    assert_int_equal(made.timeline->traffic[0].sent, 3);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* From 28 to 80: the first message is sent before, so that the second of its channel is not taken
 * for it; the last is received behind it. */
static void test_messages_of_a_window(void **state)
{
    (void)state;
    struct lull_trace *trace = three_messages();
    struct lull_interval intervals[2] = {{28, 80}, {28, 80}},
                         *each[] = {&intervals[0], &intervals[1]};
    uint32_t counts[] = {1, 1};
    const struct lull_windows windows = {2, each, counts};
    const struct lull_timeline_options options = {
        .reading = &(const struct lull_reading){.windows = &windows},
        .most_steps = 100,
        .most_messages = 100};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    const struct lull_timeline *timeline = made.timeline;
    assert_int_equal(timeline->begin, 28);
    assert_int_equal(timeline->end, 80);
    assert_int_equal(timeline->n_kept_messages, 1);
    check_message(&timeline->messages[0], 41, 50, 1024, 8);
    assert_int_equal(timeline->unmatched, 2);
    const struct lull_timeline_traffic wanted = {0, 1, 2, 1024, 2, 1124, 22 + 10};
    assert_memory_equal(timeline->traffic, &wanted, sizeof wanted);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* Both threads of rank 0 send on one channel: 1 byte at 10, 2 at 20, 3 at 30. Rank 1 receives them at 25,
 * 35 and 45. Of a window from 22 on, the message that is sent in it is the last one. */
static void test_threads_of_a_window(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(2, 2, 100, regions);
    memory_trace_world(trace, 2);
    for (uint32_t l = 0; l < 4; l++)
        enter(trace, l, 0);
    for (int i = 0; i < 3; i++) {
        const uint32_t thread = i == 1 ? 0 : 1;
        const uint64_t bytes = (uint64_t)i + 1;
        call(trace, thread, SEND, 10 * i + 9, 10 * i + 11);
        message(trace, thread, LULL_EVENT_SEND, 10 * i + 10, 1, 7, bytes);
        call(trace, 2, RECV, 10 * i + 24, 10 * i + 26);
        message(trace, 2, LULL_EVENT_RECV, 10 * i + 25, 0, 7, bytes);
    }
    for (uint32_t l = 0; l < 4; l++)
        leave(trace, l, 100);
    struct lull_interval intervals[2] = {{22, 80}, {22, 80}},
                         *each[] = {&intervals[0], &intervals[1]};
    uint32_t counts[] = {1, 1};
    const struct lull_windows windows = {2, each, counts};
    const struct lull_timeline_options options = {
        .reading = &(const struct lull_reading){.windows = &windows},
        .most_steps = 100,
        .most_messages = 100};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    const struct lull_timeline *timeline = made.timeline;
    assert_int_equal(timeline->n_kept_messages, 1);
    assert_int_equal(timeline->messages[0].sent, 30);
    assert_int_equal(timeline->messages[0].received, 45);
    assert_int_equal(timeline->messages[0].bytes, 3);
    assert_int_equal(timeline->unmatched, 2);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* ---- waits and steps ----------------------------------------------------------------------- */

/* Rank 0 is in 40 barriers of 1 ns, rank 1 in 39 of 1 and, in the middle, one of 30 ns. */
static struct lull_trace *barriers(void)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, 2000, regions);
    for (uint32_t l = 0; l < 2; l++) {
        enter(trace, l, 0);
        for (int i = 0; i < 40; i++)
            call(trace, l, BARRIER, 50 * i + 10, 50 * i + (l == 1 && i == 20 ? 40 : 11));
        leave(trace, l, 2000);
    }
    return trace;
}

static void test_waits(void **state)
{
    (void)state;
    struct lull_trace *trace = barriers();
    const struct lull_timeline_options options = {.most_steps = 1000};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    const struct lull_timeline *timeline = made.timeline;
    assert_true(timeline->all_steps);
    assert_int_equal(timeline->n_steps, 2 * 81);
    const struct lull_timeline_place *longest = &timeline->places[0];
    assert_int_equal(longest->begin, 1010);
    assert_int_equal(longest->end, 1040);
    assert_int_equal(longest->leaf, 1);
    assert_int_equal(longest->region, BARRIER);
    assert_int_equal(longest->activity, LULL_MPI_COLLECTIVE);
    assert_int_equal(timeline->n_places, 16); /* eight of each location */
    assert_int_equal(timeline->places[1].leaf, 0);
    assert_int_equal(timeline->places[1].begin, 10);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* Of 162 steps 130 may be kept: those around the longest wait of rank 1 (up to 64 before it and
 * behind it), and then those of rank 0 do not fit. */
static void test_steps_around_waits(void **state)
{
    (void)state;
    struct lull_trace *trace = barriers();
    const struct lull_timeline_options options = {.most_steps = 130};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    const struct lull_timeline *timeline = made.timeline;
    assert_false(timeline->all_steps);
    assert_int_equal(timeline->leaves[0].n_pieces, 0);
    assert_int_equal(timeline->leaves[1].n_pieces, 1);
    const struct lull_timeline_piece *piece = &timeline->leaves[1].pieces[0];
    bool found = false;
    for (size_t s = 1; s < piece->count; s++)
        found |= piece->steps[s].end == 1040 && piece->steps[s - 1].end == 1010;
    assert_true(found);
    assert_true(piece->count > 80);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* ---- counters ------------------------------------------------------------------------------ */

static void read_counter(struct lull_trace *trace, int64_t time, uint64_t value)
{
    const struct lull_counter_reading reading = {.value = value};
    struct lull_event event = memory_event(time, LULL_EVENT_COUNTERS, LULL_NONE);
    event.readings.values = &reading;
    event.readings.count = 1;
    memory_trace_add(trace, 0, &event);
}

/* Ten amounts of 10, 20 ... 100, each in 10 ns, where there is room for four: fours become pieces.
 */
static void test_curve(void **state)
{
    (void)state;
    struct lull_timeline_curve curve = {0};
    for (int64_t i = 0; i < 10; i++) {
        const struct lull_timeline_amount amount = {10 * i, 10 * i + 10, 10 * i + 10};
        assert_true(lull_timeline_curve_add(&curve, 4, &amount));
    }
    assert_int_equal(curve.count, 3);
    assert_true(lull_timeline_curve_between(&curve, 0, 100) == 550);
    assert_true(lull_timeline_curve_between(&curve, 40, 80) == 50 + 60 + 70 + 80);
    assert_true(lull_timeline_curve_between(&curve, 80, 95) == (90 + 100) * 0.75);
    assert_true(lull_timeline_curve_between(&curve, 100, 200) == 0);
    free(curve.pieces);
    assert_int_equal(lull_timeline_curve_room(100000), 0);
    assert_int_equal(lull_timeline_curve_room(1000) % 2, 0);
}

/* Bins are 10 ns. 100 instructions up to 20, then 90 up to 110: 10 in each bin of 10 ns; of a
 * window up to 65 (bins of about 1 ns) the second reading counts half. */
static void test_counts(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 1, 640, regions);
    trace->counters = lull_arena_zero(trace->arena, 1, sizeof *trace->counters);
    trace->counters[0] = (struct lull_counter){
        .name = "PAPI_TOT_INS", .unit = "", .role = LULL_COUNTER_INSTRUCTIONS};
    trace->n_counters = 1;
    enter(trace, 0, 0);
    read_counter(trace, 20, 100);
    read_counter(trace, 110, 90);
    leave(trace, 0, 640);
    struct lull_timeline_options options = {.most_steps = 100};
    struct timeline_case made;
    uint64_t counts[64] = {0}, sum = 0;
    timeline_case_make(trace, &options, 1, &made);
    assert_true(made.timeline->has_counts[LULL_TIMELINE_INSTRUCTIONS]);
    assert_false(made.timeline->has_counts[LULL_TIMELINE_CYCLES]);
    lull_timeline_counts(made.timeline, 0, LULL_TIMELINE_INSTRUCTIONS, counts);
    for (unsigned bin = 0; bin < 64; bin++)
        assert_int_equal(counts[bin], bin < 2 ? 50 : bin < 11 ? 10 : 0);
    struct lull_timeline_counted counted = {0};
    assert_true(lull_timeline_counted_between(made.timeline, 0, 15, 65, &counted));
    assert_true(fabs(counted.counts[LULL_TIMELINE_INSTRUCTIONS] - (25 + 45)) < 1e-9);
    assert_true(counted.counts[LULL_TIMELINE_CYCLES] == 0 && counted.useful_ns == 50);
    timeline_case_free(&made);

    struct lull_interval interval = {0, 65}, *intervals = &interval;
    uint32_t n = 1;
    const struct lull_windows windows = {1, &intervals, &n};
    options.reading = &(const struct lull_reading){.windows = &windows};
    memset(counts, 0, sizeof counts);
    timeline_case_make(trace, &options, 1, &made);
    lull_timeline_counts(made.timeline, 0, LULL_TIMELINE_INSTRUCTIONS, counts);
    for (unsigned bin = 0; bin < 64; bin++)
        sum += counts[bin];
    assert_int_equal(sum, 100 + 45);
    assert_true(counts[63] <= 2 && counts[30] >= 1 && counts[30] <= 2);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

/* ---- odd runs ------------------------------------------------------------------------------ */

static void test_no_length(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 1, 0, regions);
    const struct lull_timeline_options options = {.most_steps = 100};
    struct timeline_case made;
    timeline_case_make(trace, &options, 1, &made);
    assert_int_equal(made.timeline->n_rows, 1);
    for (unsigned a = 0; a < LULL_STEP_ACTIVITIES; a++)
        assert_int_equal(cell_of(made.timeline, 0, 0, 0, a), 0);
    timeline_case_free(&made);
    lull_trace_close(trace);
}

static void test_no_such_application(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, regions);
    const struct lull_timeline_options options = {
        .reading = &(const struct lull_reading){.application = 3}};
    struct lull_timeline_builder *builder;
    struct lull_error err = {""};
    assert_int_equal(lull_timeline_create(trace, &options, 1, &builder, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "memory: there is no process of application 3");
    lull_trace_close(trace);
}

TEST_GROUP(test_timeline)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_nodes),
        cmocka_unit_test(test_bands),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_size_of_receives),
        cmocka_unit_test(test_too_many_messages),
        cmocka_unit_test(test_messages_of_a_window),
        cmocka_unit_test(test_threads_of_a_window),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_steps_around_waits),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_curve),
        cmocka_unit_test(test_no_length),
        cmocka_unit_test(test_no_such_application),
    };
    return run_cases(tests, NULL, NULL);
}
