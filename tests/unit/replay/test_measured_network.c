/* The measured network: messages are made with numbers that are planted. */
#include "replay/measured_network.h"
#include "support/memory_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { LATENCY = 1000, RECEIVE = 200, PERIOD = 10000000, MESSAGES = 400 };

static const char *const regions[] = {"MPI_Recv", NULL};
static struct lull_trace *trace;
static struct lull_network_samples *samples;

static void begin(void)
{
    struct lull_error err = {""};
    trace = memory_trace_simple(2, 1, 1000, regions);
    if (lull_network_samples_create(trace, 1, &samples, &err) != LULL_OK)
        fail_msg("%s", err.text);
}

/* The messages `turn` are of one of four sizes. A byte takes 1 ns on its way, half a ns to copy. */
static struct lull_ideal_message message(int turn)
{
    static const uint64_t sizes[] = {100, 1000, 10000, 100000};
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
    if (lull_network_samples_fit(samples, NULL, 0, arena, &network, &err) != LULL_OK)
        fail_msg("%s", err.text);
    lull_network_samples_destroy(samples);
    lull_trace_close(trace);
    return network;
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
    assert_float_equal(value(&network, "receive"), RECEIVE, 1);
    assert_float_equal(value(&network, "copy"), 2e9, 1e3);
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
    assert_float_equal(value(&network, "receive"), RECEIVE, 1);
    assert_float_equal(value(&network, "copy"), 2e9, 1e3);
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
    assert_true(value(&network, "receive") == 0);
    lull_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_planted_is_found),
        cmocka_unit_test(calls_for_several_messages_do_not_count),
        cmocka_unit_test(without_evidence_receiving_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
