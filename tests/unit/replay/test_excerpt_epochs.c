/* Which epochs of a run an excerpt keeps, and when it cannot be replayed. */
#include "activity/pass.h"
#include "replay/excerpt.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum { SEND, RECV, BARRIER };
enum { EPOCHS = 400, PERIOD = 1000, STEPS = 1000 };
enum {
    OF_EPOCH = 7
}; /* steps of a process: two calls, an operation, and begin and end of another */
static const char *const names[] = {"MPI_Send", "MPI_Recv", "MPI_Barrier", NULL};

static void add_call(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                     const struct lull_event *operations, uint32_t count)
{
    const struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, region),
                            leave = memory_event(begin + 10, LULL_EVENT_LEAVE, region);
    memory_trace_add(trace, location, &enter);
    for (uint32_t i = 0; i < count; i++)
        memory_trace_add(trace, location, &operations[i]);
    memory_trace_add(trace, location, &leave);
}

static void add_message(struct lull_trace *trace, uint32_t location, int64_t begin)
{
    struct lull_event event =
        memory_event(begin + 5, location == 0 ? LULL_EVENT_SEND : LULL_EVENT_RECV, 0);
    event.message.peer = 1 - (int32_t)location;
    event.message.tag = 1;
    event.message.bytes = 8;
    event.message.request = LULL_NO_REQUEST;
    add_call(trace, location, location == 0 ? SEND : RECV, begin, &event, 1);
}

static void add_barrier(struct lull_trace *trace, uint32_t location, int64_t begin)
{
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_COLLECTIVE_BEGIN, 0),
                                  memory_event(begin + 10, LULL_EVENT_COLLECTIVE_END, 0)};
    for (int i = 0; i < 2; i++) {
        events[i].op = LULL_COLLECTIVE_BARRIER;
        events[i].collective.request = LULL_NO_REQUEST;
        events[i].collective.root = LULL_ANY;
    }
    add_call(trace, location, BARRIER, begin, events, 2);
}

/* In each epoch process 0 sends a message, which process 1 receives before the barrier, or (`late`)
 * behind it. Both compute for the rest of the time. */
static struct lull_trace *draw_epochs(bool late)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, EPOCHS * PERIOD, names);
    memory_trace_world(trace, 2);
    for (int64_t e = 0; e < EPOCHS; e++) {
        const int64_t begin = e * PERIOD;
        add_message(trace, 0, begin + 100);
        add_barrier(trace, 0, begin + 500);
        if (!late)
            add_message(trace, 1, begin + 200);
        add_barrier(trace, 1, begin + 500);
        if (late)
            add_message(trace, 1, begin + 600);
    }
    return trace;
}

static bool take(const struct lull_trace *trace, uint64_t steps, struct lull_excerpt **ret_excerpt)
{
    struct lull_error err;
    const struct lull_pass_options options = {0};
    assert_int_equal(lull_excerpt_create(trace, 0, steps, ret_excerpt, &err), LULL_OK);
    const struct lull_consumer consumer = lull_excerpt_consumer(*ret_excerpt);
    assert_int_equal(lull_pass_run(trace, &options, &consumer, 1, &err), LULL_OK);
    return lull_excerpt_conclude(*ret_excerpt);
}

/* 400 epochs of 7 steps of each process, which may keep 500, those of 71 epochs: beside the first one
 * there is one in each stratum of 8, of which there are 50 (399 / 8 = 49.9), the last one with 7. */
static void test_strata(void **state)
{
    struct lull_trace *trace = draw_epochs(false);
    struct lull_excerpt *excerpt;
    uint32_t all;
    size_t counts[2];
    (void)state;
    assert_true(take(trace, STEPS, &excerpt));
    const uint32_t n = lull_excerpt_epochs(excerpt, &all);
    assert_int_equal(all, EPOCHS);
    assert_in_range(n, 1 + 49, 1 + 50);
    const struct lull_step *steps[2];
    for (uint32_t p = 0; p < 2; p++) {
        steps[p] = lull_excerpt_steps(excerpt, p, &counts[p]);
        assert_int_equal(counts[p], OF_EPOCH * n);
    }
    for (uint32_t e = 0; e < n; e++) {
        const uint32_t epoch = (uint32_t)(steps[0][OF_EPOCH * e].time / PERIOD);
        assert_int_equal(steps[1][OF_EPOCH * e].time / PERIOD, epoch);
        if (e == 0)
            assert_int_equal(epoch, 0);
        else
            assert_int_equal((epoch - 1) / 8, e - 1);
        /* 100 before the first call, and two calls of 10 in each period */
        assert_int_equal(steps[0][OF_EPOCH * e].kept_ns, 100 + (int64_t)e * (PERIOD - 20));
    }
    lull_excerpt_destroy(excerpt);
    lull_trace_close(trace);
}

static void test_what_cannot_be_replayed(void **state)
{
    struct lull_trace *apart = draw_epochs(false), *late = draw_epochs(true);
    struct lull_excerpt *excerpt;
    (void)state;
    assert_false(take(late, STEPS, &excerpt));
    lull_excerpt_destroy(excerpt);
    assert_false(
        take(apart, 2 * OF_EPOCH * EPOCHS + 2, &excerpt)); /* it is short: two steps are the ends */
    lull_excerpt_destroy(excerpt);
    assert_true(take(apart, 2 * OF_EPOCH * EPOCHS + 1, &excerpt));
    lull_excerpt_destroy(excerpt);
    assert_false(take(apart, 100, &excerpt)); /* too few epochs are left */
    lull_excerpt_destroy(excerpt);
    lull_trace_close(late);
    lull_trace_close(apart);
}

/* From barrier to barrier it is 1,000 ns when measured and 1,200 when replayed, the first one takes 600, and
 * 490 are left behind the last one. */
static void test_estimate(void **state)
{
    struct lull_trace *trace = draw_epochs(false);
    struct lull_excerpt *excerpt;
    uint32_t all;
    int64_t ends[EPOCHS], replayed, error;
    (void)state;
    assert_true(take(trace, STEPS, &excerpt));
    const uint32_t n = lull_excerpt_epochs(excerpt, &all);
    for (uint32_t e = 0; e < n; e++)
        ends[e] = 600 + 1200 * (int64_t)e;
    const struct lull_interval part = {0, EPOCHS * PERIOD};
    lull_excerpt_estimate(excerpt, ends, &part, &replayed, &error);
    assert_int_equal(replayed, 600 + 1200 * (EPOCHS - 1) + 490);
    assert_int_equal(error, 1 + 98); /* 0.2 of the tail */
    lull_excerpt_destroy(excerpt);
    lull_trace_close(trace);
}

TEST_GROUP(test_excerpt_epochs)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strata),
        cmocka_unit_test(test_what_cannot_be_replayed),
        cmocka_unit_test(test_estimate),
    };
    return run_cases(tests, NULL, NULL);
}
