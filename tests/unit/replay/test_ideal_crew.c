/* Threads of one process that communicate, worked out by hand. */
#include "activity/pass.h"
#include "replay/ideal/ideal.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stddef.h>

enum { CALL };
static const char *const names[] = {"MPI_Sendrecv", NULL};

static struct lull_step step(unsigned kind, int64_t time, int64_t kept)
{
    return (struct lull_step){.time = time,
                              .kept_ns = kept,
                              .kind = (uint8_t)kind,
                              .region = CALL,
                              .comm = 0,
                              .channel = 0};
}

static struct lull_step message(unsigned kind, int64_t time, int64_t kept, int32_t peer)
{
    struct lull_step made = step(kind, time, kept);
    made.message.request = LULL_NO_REQUEST;
    made.message.peer = peer;
    return made;
}

/* A run whose threads are read one after the other, in any order; all its messages are from
 * process 0 to the last one. */
struct reading {
    struct lull_trace *trace;
    struct lull_arena *arena;
    struct lull_channels *channels[4]; /* of each thread */
    struct lull_ideal *ideal;
    struct lull_consumer consumer;
};

/* Two threads per process; the second ones have this role. */
static void begin(struct reading *reading, uint32_t n_processes, uint8_t role,
                  const struct lull_ideal_options *options)
{
    const struct lull_channel channel = {.source = 0, .target = n_processes - 1};
    reading->trace = memory_trace_simple(n_processes, 2, 300, names);
    reading->arena = lull_arena_create(NULL);
    memory_trace_world(reading->trace, n_processes);
    for (uint32_t l = 0; l < 2 * n_processes; l++) {
        if (l % 2 > 0)
            reading->trace->locations[l].role = role;
        reading->channels[l] = lull_channels_create();
        assert_int_equal(lull_channels_find(reading->channels[l], &channel), 0);
    }
    assert_int_equal(lull_ideal_create(reading->trace, options, 1, &reading->ideal, NULL), LULL_OK);
    lull_ideal_consumer(reading->ideal, &reading->consumer);
}

static void hand_over(const struct reading *reading, uint32_t location,
                      const struct lull_step *steps, uint32_t count)
{
    const struct lull_consumer *consumer = &reading->consumer;
    const struct lull_steps handed = {.location = location,
                                      .count = count,
                                      .steps = steps,
                                      .channels = reading->channels[location]};
    assert_int_equal(consumer->steps(consumer->context, 0, &handed, NULL), LULL_OK);
}

/* All has been read; its runtime and messages are these. */
static void end(struct reading *reading, int64_t runtime, uint64_t messages)
{
    const struct lull_consumer *consumer = &reading->consumer;
    struct lull_ideal_result result;
    assert_int_equal(consumer->finish(consumer->context, 0, NULL), LULL_OK);
    assert_int_equal(lull_ideal_conclude(reading->ideal, reading->arena, &result, NULL), LULL_OK);
    assert_null(result.absent);
    assert_int_equal(result.runtime, runtime);
    assert_int_equal(result.messages, messages);
    lull_ideal_destroy(reading->ideal);
    for (uint32_t l = 0; l < reading->trace->n_locations; l++)
        lull_channels_destroy(reading->channels[l]);
    lull_trace_close(reading->trace);
    lull_arena_destroy(reading->arena);
}

/* The worker of process 0 sends at 10, and again at 150, when it has kept 70 ns in all. These it is
 * taken to have done first, so at the fork at 100 it is done with them, while its master has kept
 * 20 ns only: both leave the fork at 70, and the message goes at once. Process 1, which waits for
 * both messages, goes on at 70 for 140 ns. */
static void time_is_kept_before_the_fork(void **state)
{
    (void)state;
    const struct lull_step master[] = {step(LULL_STEP_FORK, 100, 20), step(LULL_STEP_JOIN, 200, 20),
                                       step(LULL_STEP_END, 300, 20)};
    const struct lull_step worker[] = {
        step(LULL_STEP_CALL_BEGIN, 10, 10),  message(LULL_STEP_SEND, 10, 10, 1),
        step(LULL_STEP_CALL_END, 10, 10),    step(LULL_STEP_CALL_BEGIN, 150, 70),
        message(LULL_STEP_SEND, 150, 70, 1), step(LULL_STEP_CALL_END, 150, 70),
        step(LULL_STEP_END, 300, 70)};
    const struct lull_step receiver[] = {
        step(LULL_STEP_CALL_BEGIN, 0, 0), message(LULL_STEP_RECV, 20, 0, 0),
        message(LULL_STEP_RECV, 160, 0, 0), step(LULL_STEP_CALL_END, 160, 0),
        step(LULL_STEP_END, 300, 140)};
    const struct lull_step idle[] = {step(LULL_STEP_END, 300, 0)};
    const struct lull_ideal_options options = {0};
    struct reading reading;
    begin(&reading, 2, LULL_THREAD_WORKER, &options);
    hand_over(&reading, 0, master, 3);
    hand_over(&reading, 2, receiver, 5);
    hand_over(&reading, 3, idle, 1);
    hand_over(&reading, 1, worker, 7);
    end(&reading, 70 + 140, 2);
}

/* The record of a first send is lost, so the master's receive at 20 takes the message that the
 * other thread sends at 150; that one is on its own and keeps all its time. It has been read to its
 * end when there is no room for more to wait; yet what it sent counts only when its master has been
 * read as far. The master goes on at 150 for 280 ns. */
static void who_has_been_read_may_still_send(void **state)
{
    (void)state;
    const struct lull_step master[] = {
        step(LULL_STEP_CALL_BEGIN, 10, 10), message(LULL_STEP_RECV, 20, 10, 0),
        step(LULL_STEP_CALL_END, 20, 10), step(LULL_STEP_END, 300, 290)};
    const struct lull_step other[] = {
        step(LULL_STEP_CALL_BEGIN, 150, 150), message(LULL_STEP_SEND, 150, 150, 0),
        step(LULL_STEP_CALL_END, 150, 150), step(LULL_STEP_END, 300, 300)};
    const struct lull_ideal_options options = {.waiting = 1};
    struct reading reading;
    begin(&reading, 1, LULL_THREAD_FREE, &options);
    const struct lull_consumer *consumer = &reading.consumer;
    hand_over(&reading, 1, other, 4);
    hand_over(&reading, 0, master, 3);
    assert_false(consumer->welcome(consumer->context, 0, 0));
    while (!consumer->welcome(consumer->context, 0, 0))
        assert_int_equal(consumer->rest(consumer->context, 0, NULL), LULL_OK);
    hand_over(&reading, 0, master + 3, 1);
    end(&reading, 150 + 280, 1);
}

/* Many threads of process 0 send one message each, all on one channel: in an order drawn anew, the
 * n-th at 10 (n + 1), and have kept all their time. Process 1 receives one after the other; between
 * two of them it has 1 ns of its own, in the end 100. So it always waits for the next message, and
 * ends 100 ns after the last. Were messages numbered in another order, so that the last did not
 * come last, then 1 ns for each receive behind it would come on top. */
enum { SENDERS = 3000, END_OF_SENDERS = 10 * SENDERS + 200 };

static void hand_to(const struct lull_consumer *consumer, const struct lull_channels *channels,
                    uint32_t location, const struct lull_step *steps, uint32_t count)
{
    const struct lull_steps handed = {
        .location = location, .count = count, .steps = steps, .channels = channels};
    assert_int_equal(consumer->steps(consumer->context, 0, &handed, NULL), LULL_OK);
}

static void receive_all(const struct lull_consumer *consumer, const struct lull_channels *channels)
{
    static struct lull_step steps[3 * SENDERS + 1];
    for (uint32_t n = 0; n < SENDERS; n++) {
        const int64_t time = 10 * ((int64_t)n + 1);
        steps[3 * n] = step(LULL_STEP_CALL_BEGIN, time - 9, n);
        steps[3 * n + 1] = message(LULL_STEP_RECV, time, n, 0);
        steps[3 * n + 2] = step(LULL_STEP_CALL_END, time, n);
    }
    steps[3 * SENDERS] = step(LULL_STEP_END, END_OF_SENDERS, SENDERS - 1 + 100);
    hand_to(consumer, channels, SENDERS, steps, 3 * SENDERS + 1);
}

static void send_all(const struct lull_consumer *consumer, const struct lull_channels *channels)
{
    static uint32_t nth[SENDERS];
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (uint32_t t = 1; t < SENDERS; t++) {
        uint32_t other = (uint32_t)lull_random_below(&random, t + 1);
        nth[t] = nth[other];
        nth[other] = t;
    }
    for (uint32_t t = 0; t < SENDERS; t++) {
        const int64_t time = 10 * ((int64_t)nth[t] + 1);
        const struct lull_step steps[] = {
            step(LULL_STEP_CALL_BEGIN, time, time), message(LULL_STEP_SEND, time, time, 1),
            step(LULL_STEP_CALL_END, time, time), step(LULL_STEP_END, END_OF_SENDERS, time)};
        hand_to(consumer, channels, t, steps, 4);
    }
}

static void many_threads_send_in_their_measured_order(void **state)
{
    (void)state;
    const struct lull_channel channel = {.source = 0, .target = 1};
    const struct lull_step idle = step(LULL_STEP_END, END_OF_SENDERS, 0);
    const struct lull_ideal_options options = {0};
    struct lull_trace *trace = memory_trace_simple(2, SENDERS, END_OF_SENDERS, names);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_channels *channels = lull_channels_create();
    struct lull_ideal *ideal;
    struct lull_consumer consumer;
    struct lull_ideal_result result;
    memory_trace_world(trace, 2);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        trace->locations[l].role = l % SENDERS ? LULL_THREAD_FREE : LULL_THREAD_MASTER;
    assert_int_equal(lull_channels_find(channels, &channel), 0);
    assert_int_equal(lull_ideal_create(trace, &options, 1, &ideal, NULL), LULL_OK);
    lull_ideal_consumer(ideal, &consumer);
    receive_all(&consumer, channels);
    send_all(&consumer, channels);
    for (uint32_t l = SENDERS + 1; l < trace->n_locations; l++)
        hand_to(&consumer, channels, l, &idle, 1);
    assert_int_equal(consumer.finish(consumer.context, 0, NULL), LULL_OK);
    assert_int_equal(lull_ideal_conclude(ideal, arena, &result, NULL), LULL_OK);
    assert_null(result.absent);
    assert_int_equal(result.runtime, 10 * SENDERS + 100);
    assert_int_equal(result.messages, SENDERS);
    lull_ideal_destroy(ideal);
    lull_channels_destroy(channels);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_ideal_crew)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_is_kept_before_the_fork),
                                       cmocka_unit_test(many_threads_send_in_their_measured_order),
                                       cmocka_unit_test(who_has_been_read_may_still_send)};
    return run_cases(tests, NULL, NULL);
}
