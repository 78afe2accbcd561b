/* What a pass promises its consumers: order, ends, and sums of regions that nobody leaves. */
#include "activity/interpreter.h"
#include "activity/pass.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <string.h>

static const char *const regions[] = {"main", "solve", "MPI_Send", NULL};
enum { MAIN, SOLVE, SEND };

static void add(struct lull_trace *trace, uint32_t location, int64_t time, unsigned kind,
                uint32_t id)
{
    const struct lull_event event = memory_event(time, kind, id);
    memory_trace_add(trace, location, &event);
}

/* ---- who is welcome -------------------------------------------------------------------------- */

struct order {
    bool ended[2];
    uint32_t first_ended; /* LULL_NONE: none yet */
    unsigned asked;
};

static lull_status note_steps(void *context, unsigned worker, const struct lull_steps *steps,
                              struct lull_error *err)
{
    struct order *order = context;
    (void)worker;
    (void)err;
    for (uint32_t i = 0; i < steps->count; i++)
        if (steps->steps[i].kind == LULL_STEP_END) {
            order->ended[steps->location] = true;
            if (order->first_ended == LULL_NONE)
                order->first_ended = steps->location;
        }
    return LULL_OK;
}

static lull_status look_again(void *context, unsigned worker, struct lull_error *err)
{
    (void)context;
    (void)worker;
    (void)err;
    return LULL_OK;
}

static bool zero_comes_last(void *context, unsigned worker, uint32_t location)
{
    struct order *order = context;
    (void)worker;
    order->asked++;
    return location == 1 || order->ended[1];
}

static bool one_comes_last(void *context, unsigned worker, uint32_t location)
{
    struct order *order = context;
    (void)worker;
    order->asked++;
    return location == 0 || order->ended[0];
}

/* Two threads of a process, of which one is not welcome before the other has ended, if a consumer
 * says so: whichever of the consumers it is. */
static void test_each_consumer_is_asked(void **state)
{
    (void)state;
    for (int who = 0; who < 2; who++)
        for (uint32_t last = 0; last < 2; last++) {
            struct lull_trace *trace = memory_trace_simple(1, 2, 100, regions);
            for (uint32_t l = 0; l < 2; l++) {
                add(trace, l, 10, LULL_EVENT_ENTER, MAIN);
                add(trace, l, 90, LULL_EVENT_LEAVE, MAIN);
            }
            struct order order = {.first_ended = LULL_NONE};
            struct lull_consumer consumers[2];
            for (int c = 0; c < 2; c++) {
                consumers[c] = (struct lull_consumer){.context = &order,
                                                      .wants = LULL_STEP_MASK(LULL_STEP_END),
                                                      .steps = note_steps,
                                                      .abreast = true};
                if (c == who) {
                    consumers[c].welcome = last == 0 ? zero_comes_last : one_comes_last;
                    consumers[c].rest = look_again;
                }
            }
            const struct lull_pass_options options = {
                .reading = &(const struct lull_reading){
                    .application = LULL_NONE, .range = {0, 1}, .workers = 1}};
            struct lull_error err;
            fail_if(lull_pass_run(trace, &options, consumers, 2, &err) != LULL_OK, "%s", err.text);
            assert_true(order.asked > 0);
            assert_true(order.ended[0] && order.ended[1]);
            assert_int_equal(order.first_ended, 1 - last);
            lull_trace_close(trace);
        }
}

/* ---- who gets which batches ------------------------------------------------------------------ */

struct batches {
    uint64_t wants;
    unsigned count, idle; /* batches, and those without a step of these kinds */
    uint64_t wanted;      /* steps of these kinds */
};

static lull_status count_batch(void *context, unsigned worker, const struct lull_steps *steps,
                               struct lull_error *err)
{
    struct batches *batches = context;
    uint64_t wanted = 0;
    (void)worker;
    (void)err;
    for (uint32_t i = 0; i < steps->count; i++)
        wanted += batches->wants >> steps->steps[i].kind & 1;
    batches->count++;
    batches->idle += wanted == 0;
    batches->wanted += wanted;
    return LULL_OK;
}

/* A run of 5,000 visits of a region, with a lock taken in the first and in the last one. Who wants SPANs gets all
 * batches. Who wants locks gets both locks, and none of the batches in between, but for one that is read abreast. */
static void test_batches_without_what_is_wanted(void **state)
{
    (void)state;
    enum { VISITS = 5000 };
    struct lull_trace *trace = memory_trace_simple(1, 1, 10 * VISITS + 100, regions);
    add(trace, 0, 1, LULL_EVENT_ENTER, MAIN);
    for (int64_t i = 0; i < VISITS; i++) {
        add(trace, 0, 10 * i + 10, LULL_EVENT_ENTER, SOLVE);
        if (i == 0 || i == VISITS - 1)
            add(trace, 0, 10 * i + 12, LULL_EVENT_LOCK_ACQUIRE, 0);
        add(trace, 0, 10 * i + 15, LULL_EVENT_LEAVE, SOLVE);
    }
    add(trace, 0, 10 * VISITS + 90, LULL_EVENT_LEAVE, MAIN);
    const uint64_t locks = LULL_STEP_MASK(LULL_STEP_LOCK_ACQUIRE);
    for (int abreast = 0; abreast < 2; abreast++) {
        struct batches of_spans = {.wants = LULL_STEP_MASK(LULL_STEP_SPAN)},
                       of_locks = {.wants = locks};
        const struct lull_consumer consumers[] = {
            {.context = &of_spans, .wants = of_spans.wants, .steps = count_batch},
            {.context = &of_locks, .wants = locks, .steps = count_batch, .abreast = abreast}};
        const struct lull_pass_options options = {
            .reading = &(const struct lull_reading){
                .application = LULL_NONE, .range = {0, 1}, .workers = 1}};
        struct lull_error err;
        fail_if(lull_pass_run(trace, &options, consumers, 2, &err) != LULL_OK, "%s", err.text);
        assert_true(of_spans.wanted > VISITS);
        assert_true(of_spans.count > 10);
        assert_int_equal(of_locks.wanted, 2);
        assert_int_equal(of_locks.count, abreast ? of_spans.count : 2);
        assert_int_equal(of_locks.idle, of_locks.count - 2);
    }
    lull_trace_close(trace);
}

/* ---- sums of regions ------------------------------------------------------------------------- */

/* main from 10, solve inside from 30, nobody leaves them, and the run ends at 100: main was open for
 * 90, of which solve took 70. */
static void test_open_at_the_end(void **state)
{
    (void)state;
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, regions);
    add(trace, 0, 10, LULL_EVENT_ENTER, MAIN);
    add(trace, 0, 30, LULL_EVENT_ENTER, SOLVE);
    struct order order = {.first_ended = LULL_NONE};
    const struct lull_consumer consumer = {
        .context = &order, .wants = LULL_STEP_MASK(LULL_STEP_END), .steps = note_steps};
    struct lull_region_ledger sums[3];
    memset(sums, 0, sizeof sums);
    const struct lull_pass_options options = {
        .reading =
            &(const struct lull_reading){.application = LULL_NONE, .range = {0, 1}, .workers = 1},
        .regions = sums};
    struct lull_error err;
    fail_if(lull_pass_run(trace, &options, &consumer, 1, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(sums[MAIN].visits, 1);
    assert_int_equal(sums[MAIN].inclusive_ns, 90);
    assert_int_equal(sums[MAIN].exclusive_ns, 20);
    assert_int_equal(sums[SOLVE].visits, 1);
    assert_int_equal(sums[SOLVE].inclusive_ns, 70);
    assert_int_equal(sums[SOLVE].exclusive_ns, 70);
    assert_int_equal(sums[SEND].visits, 0);
    lull_trace_close(trace);
}

static void test_nothing_to_destroy(void **state)
{
    (void)state;
    lull_interpretation_destroy(NULL);
    lull_pass_destroy(NULL);
    lull_step_cursor_close(NULL);
    assert_true(true); /* none of them looked at what is not there */
}

/* ---- a consumer that fails ------------------------------------------------------------------- */

static lull_status refuse_steps(void *context, unsigned worker, const struct lull_steps *steps,
                                struct lull_error *err)
{
    unsigned *called = context;
    (void)worker;
    ++*called;
    return lull_fail(err, LULL_ERR_RANGE, "location %u is refused", steps->location);
}

/* The pass ends with its status, before the location that it is in has ended. */
static void test_a_consumer_fails(void **state)
{
    struct lull_trace *trace = memory_trace_simple(1, 1, 100, regions);
    const struct lull_pass_options options = {.reading =
                                                  &(const struct lull_reading){.workers = 1}};
    unsigned called = 0;
    struct lull_error err = {""};
    (void)state;
    add(trace, 0, 10, LULL_EVENT_ENTER, SOLVE);
    add(trace, 0, 20, LULL_EVENT_LEAVE, SOLVE);
    const struct lull_consumer consumer = {
        .context = &called, .wants = LULL_STEP_MASK(LULL_STEP_SPAN), .steps = refuse_steps};
    assert_int_equal(lull_pass_run(trace, &options, &consumer, 1, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "location 0 is refused");
    assert_int_equal(called, 1);
    lull_trace_close(trace);
}

TEST_GROUP(test_pass_order)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_consumer_is_asked),
        cmocka_unit_test(test_batches_without_what_is_wanted),
        cmocka_unit_test(test_open_at_the_end),
        cmocka_unit_test(test_nothing_to_destroy),
        cmocka_unit_test(test_a_consumer_fails),
    };
    return run_cases(tests, NULL, NULL);
}
