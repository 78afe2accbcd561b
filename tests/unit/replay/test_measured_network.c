/* The measured network: messages are made with numbers that are planted. */
#include "replay/measured_network.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum { LATENCY = 1000, RECEIVE = 200, PERIOD = 10000000, MESSAGES = 400 };
static const uint64_t sizes[] = {100, 1000, 10000, 100000};

static const char *const regions[] = {"MPI_Recv", NULL};
static struct lull_trace *trace;
static struct lull_network_samples *samples;

static void begin_of(uint32_t processes)
{
    struct lull_error err = {""};
    trace = memory_trace_simple(processes, 1, 1000, regions);
    fail_if(lull_network_samples_create(trace, 1, &samples, &err) != LULL_OK, "%s", err.text);
}

static void begin(void)
{
    begin_of(2);
}

/* The messages `turn` are of one of four sizes. A byte takes 1 ns on its way, half a ns to copy. */
static struct lull_ideal_message message(int turn)
{
    return (struct lull_ideal_message){
        .source = 0, .target = 1, .bytes = sizes[turn % 4], .sent = (int64_t)turn * PERIOD};
}

static void waited_for(int turn)
{
    struct lull_ideal_message m = message(turn);
    m.called = m.sent - 500;
    m.received = m.sent + LATENCY + (int64_t)m.bytes;
    lull_network_samples_take(samples, 0, &m);
}

/* A call for so many messages, which have been there for long. */
static void late(int turn, int count)
{
    for (int i = 0; i < count; i++) {
        struct lull_ideal_message m = message(turn);
        m.called = m.sent + PERIOD / 2;
        m.received = m.called + count * (RECEIVE + (int64_t)m.bytes / 2);
        lull_network_samples_take(samples, 0, &m);
    }
}

/* Ends what `begin` began. */
static struct lull_network fitted(struct lull_arena *arena)
{
    struct lull_network network;
    struct lull_error err = {""};
    fail_if(lull_network_samples_fit(samples, NULL, 0, arena, &network, &err) != LULL_OK, "%s",
            err.text);
    lull_network_samples_destroy(samples);
    lull_trace_close(trace);
    return network;
}

/* What a message costs, and the wait for one that is there; ns. */
static double cost(const struct lull_network *network, uint64_t bytes)
{
    const struct lull_network_range_cost *range = network->ranges[LULL_LEVEL_NODE];
    while (range->to < bytes)
        range++;
    return range->latency + (double)bytes * 1e9 / range->bandwidth;
}

static double least(const struct lull_network *network, uint64_t bytes)
{
    return (double)network->class->receiving(network, LULL_LEVEL_NODE, bytes);
}

static double value(const struct lull_network *network, const char *name)
{
    return network->values[LULL_LEVEL_NODE][lull_network_parameter(network->class, name)];
}

static void what_was_planted_is_found(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++) {
        if (turn / 4 % 2)
            waited_for(turn);
        else
            late(turn, 1);
    }
    struct lull_network network = fitted(arena);
    assert_float_equal(value(&network, "latency"), LATENCY, 1);
    assert_float_equal(value(&network, "bandwidth"), 1e9, 1e3);
    for (int i = 0; i < 4; i++)
        assert_float_equal(cost(&network, sizes[i]), LATENCY + (double)sizes[i], 1);
    for (int i = 0; i < 4; i++)
        assert_float_equal(least(&network, sizes[i]), RECEIVE + (double)sizes[i] / 2, 1);
    lull_arena_destroy(arena);
}

/* What a call for several messages takes says nothing of one of them. */
static void calls_for_several_messages_do_not_count(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++)
        late(turn, turn % 8 < 4 ? 1 : 5);
    struct lull_network network = fitted(arena);
    for (int i = 0; i < 4; i++)
        assert_float_equal(least(&network, sizes[i]), RECEIVE + (double)sizes[i] / 2, 1);
    lull_arena_destroy(arena);
}

/* Nobody was ever late: nothing is known, and nothing is added. */
static void without_evidence_receiving_takes_no_time(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++)
        waited_for(turn);
    struct lull_network network = fitted(arena);
    assert_true(least(&network, sizes[3]) == 0);
    lull_arena_destroy(arena);
}

/* One in ten is late by 50 us: all together cost what they did, while the line is that of those
 * which nobody disturbed. */
static void disturbed_messages_count(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++) {
        struct lull_ideal_message m = message(turn);
        m.called = m.sent - 500;
        m.received = m.sent + LATENCY + (int64_t)m.bytes + (turn / 4 % 10 ? 0 : 50000);
        lull_network_samples_take(samples, 0, &m);
    }
    struct lull_network network = fitted(arena);
    assert_float_equal(value(&network, "latency"), LATENCY, 1);
    for (int i = 0; i < 4; i++)
        assert_float_equal(cost(&network, sizes[i]), LATENCY + (double)sizes[i] + 5000, 1);
    lull_arena_destroy(arena);
}

/* From 1000 bytes on there is a handshake of 3 us, which no line through all sizes shows; sizes
 * that nobody sent cost as smaller ones. */
static void each_size_has_its_own_price(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++) {
        struct lull_ideal_message m = message(turn);
        m.called = m.sent - 500;
        m.received = m.sent + LATENCY + (int64_t)m.bytes + (turn % 4 ? 3000 : 0);
        lull_network_samples_take(samples, 0, &m);
    }
    struct lull_network network = fitted(arena);
    assert_float_equal(cost(&network, 100), LATENCY + 100, 1);
    assert_float_equal(cost(&network, 1000), LATENCY + 1000 + 3000, 1);
    assert_float_equal(cost(&network, 10000), LATENCY + 10000 + 3000, 1);
    assert_in_range((uint64_t)cost(&network, 300), LATENCY + 200, LATENCY + 500);
    lull_arena_destroy(arena);
}

/* A call for two messages lasts until the second is there: the first was there long before. */
static void the_last_message_of_a_call_ends_it(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++) {
        struct lull_ideal_message first = message(4 * turn), second = first;
        first.called = second.called = first.sent - 500;
        second.sent += 100000;
        first.received = second.received = second.sent + LATENCY;
        lull_network_samples_take(samples, 0, &first);
        lull_network_samples_take(samples, 0, &second);
    }
    struct lull_network network = fitted(arena);
    assert_float_equal(cost(&network, 100), LATENCY, 1);
    lull_arena_destroy(arena);
}

/* Calls for a message and a send end 20 us late in one of two turns. Among three processes that may
 * be the send, unless messages of this size are surely eager; among two it is the message. */
static void sends_to_others_may_end_a_call(void **state)
{
    (void)state;
    static const struct {
        uint32_t processes;
        int size;
        double more;
    } cases[] = {{3, 2, 0}, {3, 0, 10000}, {2, 2, 10000}};
    for (int i = 0; i < 3; i++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        begin_of(cases[i].processes);
        for (int turn = 0; turn < MESSAGES; turn++) {
            struct lull_ideal_message m = message(4 * turn + cases[i].size);
            m.with_sends = true;
            m.called = m.sent - 500;
            m.received = m.sent + LATENCY + (int64_t)m.bytes + (turn % 2 ? 20000 : 0);
            lull_network_samples_take(samples, 0, &m);
        }
        struct lull_network network = fitted(arena);
        uint64_t bytes = sizes[cases[i].size];
        assert_float_equal(cost(&network, bytes), LATENCY + (double)bytes + cases[i].more, 1);
        lull_arena_destroy(arena);
    }
}

/* One of two messages is taken 40 us late, whether it was waited for or was there before. Where
 * threads had no core for a tenth of the run, that is why, and all cost on average what they did:
 * also where calls wait for sends, too, and may do so for two messages. On free cores the low
 * quantile counts. */
static void threads_without_a_core_are_late(void **state)
{
    enum { LATE = 40000 };
    (void)state;
    for (int cores = 0; cores < 2; cores++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        begin_of(3);
        trace->locations[1].cores = (struct lull_cores){.on = 900, .off = cores ? 10 : 100};
        for (int turn = 0; turn < MESSAGES; turn++) {
            struct lull_ideal_message m = message(4 * turn + 2);
            const bool there = turn % 4 < 2;
            const int count = there ? 2 : 1;
            m.with_sends = true;
            m.called = m.sent + (there ? PERIOD / 2 : -500);
            m.received = (there ? m.called + count * (RECEIVE + (int64_t)m.bytes / 2)
                                : m.sent + LATENCY + (int64_t)m.bytes) +
                         (turn % 2 ? count * LATE : 0);
            for (int i = 0; i < count; i++)
                lull_network_samples_take(samples, 0, &m);
        }
        struct lull_network network = fitted(arena);
        assert_float_equal(cost(&network, 10000), LATENCY + 10000 + (cores ? 0 : LATE / 2), 1);
        assert_float_equal(least(&network, 10000), cores ? 0 : RECEIVE + 5000 + LATE / 2, 1);
        lull_arena_destroy(arena);
    }
}

/* Messages that were still on their way when the receiver called count as well as those that it
 * waited for before they were sent: half of each, which take 1 and 3 us. */
static void messages_under_way_count(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++) {
        struct lull_ideal_message m = message(4 * turn);
        m.called = m.sent + (turn % 2 ? 500 : -500);
        m.received = m.sent + (turn % 2 ? 1000 : 3000);
        lull_network_samples_take(samples, 0, &m);
    }
    struct lull_network network = fitted(arena);
    assert_float_equal(cost(&network, 100), 2000, 1);
    lull_arena_destroy(arena);
}

/* The first of two messages was on its way when the receiver called, and the call lasted until the
 * second was there: that says nothing of the first. */
static void who_waits_for_another_says_nothing(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    begin();
    for (int turn = 0; turn < MESSAGES; turn++) {
        struct lull_ideal_message first = message(4 * turn), second = first;
        first.called = second.called = first.sent + 100;
        second.sent += 100000;
        first.received = second.received = second.sent + LATENCY;
        lull_network_samples_take(samples, 0, &first);
        lull_network_samples_take(samples, 0, &second);
    }
    struct lull_network network = fitted(arena);
    assert_float_equal(cost(&network, 100), LATENCY, 1);
    lull_arena_destroy(arena);
}

/* Process 0 sends one message of 100,000 bytes, in *ret_sending, which must live as long. */
static struct lull_eager_evidence *largest_of_100000(struct lull_trace **ret_sending)
{
    struct lull_error err = {""};
    struct lull_eager_evidence *evidence;
    struct lull_trace *sending = memory_trace_simple(2, 1, 1000, regions);
    const struct lull_pass_options options = {.reading =
                                                  &(const struct lull_reading){.workers = 1}};
    memory_trace_world(sending, 2);
    struct lull_event events[] = {memory_event(10, LULL_EVENT_ENTER, 0),
                                  memory_event(10, LULL_EVENT_SEND, 0),
                                  memory_event(20, LULL_EVENT_LEAVE, 0)};
    events[1].message.bytes = 100000;
    events[1].message.peer = 1;
    events[1].message.tag = 0;
    events[1].message.request = LULL_NO_REQUEST;
    for (int i = 0; i < 3; i++)
        memory_trace_add(sending, 0, &events[i]);
    fail_if(lull_eager_evidence_create(sending, 1, &evidence, &err) != LULL_OK, "%s", err.text);
    const struct lull_consumer consumer = lull_eager_evidence_consumer(evidence);
    fail_if(lull_pass_run(sending, &options, &consumer, 1, &err) != LULL_OK, "%s", err.text);
    *ret_sending = sending;
    return evidence;
}

/* Some receives tell sizes that nobody sent. */
static void sizes_that_were_not_sent_do_not_count(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_network network[2];
    struct lull_error err = {""};
    for (int with = 0; with < 2; with++) {
        begin();
        for (int turn = 0; turn < MESSAGES; turn++) {
            waited_for(turn);
            struct lull_ideal_message m = message(turn);
            m.called = m.sent - 500;
            m.received = m.sent + 50 * LATENCY;
            m.bytes = UINT64_C(382) << 40;
            if (with)
                lull_network_samples_take(samples, 0, &m);
        }
        struct lull_trace *sending;
        struct lull_eager_evidence *evidence = largest_of_100000(&sending);
        fail_if(lull_network_samples_fit(samples, evidence, 0, arena, &network[with], &err) !=
                    LULL_OK,
                "%s", err.text);
        lull_eager_evidence_destroy(evidence);
        lull_trace_close(sending);
        lull_network_samples_destroy(samples);
        lull_trace_close(trace);
    }
    assert_true(value(&network[0], "bandwidth") > 0);
    assert_float_equal(value(&network[1], "bandwidth"), value(&network[0], "bandwidth"), 0);
    assert_float_equal(value(&network[1], "latency"), value(&network[0], "latency"), 0);
    assert_int_equal(network[1].n_ranges[LULL_LEVEL_NODE], network[0].n_ranges[LULL_LEVEL_NODE]);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_measured_network)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_planted_is_found),
        cmocka_unit_test(calls_for_several_messages_do_not_count),
        cmocka_unit_test(without_evidence_receiving_takes_no_time),
        cmocka_unit_test(disturbed_messages_count),
        cmocka_unit_test(each_size_has_its_own_price),
        cmocka_unit_test(the_last_message_of_a_call_ends_it),
        cmocka_unit_test(sends_to_others_may_end_a_call),
        cmocka_unit_test(threads_without_a_core_are_late),
        cmocka_unit_test(messages_under_way_count),
        cmocka_unit_test(who_waits_for_another_says_nothing),
        cmocka_unit_test(sizes_that_were_not_sent_do_not_count),
    };
    return run_cases(tests, NULL, NULL);
}
