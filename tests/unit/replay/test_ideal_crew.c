/* Where a thread is at a fork of its master between two of its own steps, worked out by hand. */
#include "activity/pass.h"
#include "replay/ideal/ideal.h"
#include "support/memory_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

static void hand_over(const struct lull_consumer *consumer, uint32_t location,
                      const struct lull_step *steps, uint32_t count, struct lull_channels *channels)
{
    const struct lull_channel channel = {.source = 0, .target = 1, .comm = 0, .tag = 0};
    assert_int_equal(lull_channels_find(channels, &channel), 0);
    const struct lull_steps handed = {
        .location = location, .count = count, .steps = steps, .channels = channels};
    assert_int_equal(consumer->steps(consumer->context, 0, &handed, NULL), LULL_OK);
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
    struct lull_trace *trace = memory_trace_simple(2, 2, 300, names);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_channels *channels[4];
    struct lull_ideal_options options = {0};
    struct lull_ideal_result result;
    struct lull_consumer consumer;
    struct lull_ideal *ideal;
    memory_trace_world(trace, 2);
    trace->locations[1].role = trace->locations[3].role = LULL_THREAD_WORKER;
    for (int i = 0; i < 4; i++)
        channels[i] = lull_channels_create();
    assert_int_equal(lull_ideal_create(trace, &options, 1, &ideal, NULL), LULL_OK);
    lull_ideal_consumer(ideal, &consumer);
    hand_over(&consumer, 0, master, 3, channels[0]);
    hand_over(&consumer, 2, receiver, 5, channels[2]);
    hand_over(&consumer, 3, idle, 1, channels[3]);
    hand_over(&consumer, 1, worker, 7, channels[1]);
    assert_int_equal(consumer.finish(consumer.context, 0, NULL), LULL_OK);
    assert_int_equal(lull_ideal_conclude(ideal, arena, &result, NULL), LULL_OK);
    assert_null(result.absent);
    assert_int_equal(result.runtime, 70 + 140);
    assert_int_equal(result.messages, 2);
    lull_ideal_destroy(ideal);
    for (int i = 0; i < 4; i++)
        lull_channels_destroy(channels[i]);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_is_kept_before_the_fork)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
