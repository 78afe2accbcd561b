/* The critical path of the ideal runtime, worked out by hand. */
#include "replay/ideal/ideal.h"
#include "support/arena_case.h"
#include "support/memory_trace.h"
#include "support/test.h"

enum { SEND, RECV, F, G, REGIONS };
static const char *const names[] = {"MPI_Send", "MPI_Recv", "f", "g", NULL};
static const uint32_t part_of[REGIONS] = {[F] = 1, [G] = 2};
static const uint32_t site_of[REGIONS] = {[RECV] = 1};
enum { PARTS = 3, SITES = 2 };

static struct lull_trace *trace; /* of the test that runs: two ranks */

static void begin_trace(int64_t duration)
{
    trace = memory_trace_simple(2, 1, duration, names);
    memory_trace_world(trace, 2);
}

static void in_region(uint32_t process, uint32_t region, int64_t begin, int64_t end)
{
    const struct lull_event event = memory_span(begin, LULL_EVENT_CALL, region, end - begin);
    memory_trace_add(trace, process, &event);
}

static void message(uint32_t process, unsigned kind, int64_t begin, int64_t end)
{
    const bool sends = kind == LULL_EVENT_SEND;
    struct lull_event event = memory_event(sends ? begin : end, kind, 0);
    event.message.peer = 1 - (int32_t)process;
    event.message.request = LULL_NO_REQUEST;
    in_region(process, sends ? SEND : RECV, begin, end);
    memory_trace_add(trace, process, &event);
}

/* Closes the trace. */
static struct lull_ideal_result evaluate(void)
{
    const struct lull_ideal_options options = {
        .part_of = part_of, .n_parts = PARTS, .site_of = site_of, .n_sites = SITES};
    struct lull_ideal_result result;
    struct lull_error err;
    assert_int_equal(lull_ideal_runtime(trace, &options, arena, &result, &err), LULL_OK);
    assert_null(result.absent);
    lull_trace_close(trace);
    return result;
}

/* Rank 0 is in f for 3000 ns and sends. Rank 1 is in g for 1000, waits for that, is in g for 1000 more, and answers.
 * Rank 0 waits for the answer. So f has 3000 ns of the path, and g the last 1000. */
static void test_there_and_back(void **state)
{
    (void)state;
    begin_trace(4300);
    in_region(0, F, 0, 3000);
    message(0, LULL_EVENT_SEND, 3000, 3010);
    message(0, LULL_EVENT_RECV, 3010, 4300);
    in_region(1, G, 0, 1000);
    message(1, LULL_EVENT_RECV, 1000, 3100);
    in_region(1, G, 3100, 4100);
    message(1, LULL_EVENT_SEND, 4100, 4300);
    const struct lull_ideal_result result = evaluate();
    assert_int_equal(result.runtime, 4000);
    assert_int_equal(result.path[0], 0);
    assert_int_equal(result.path[1], 3000);
    assert_int_equal(result.path[2], 1000);
    assert_int_equal(result.spent[0], 0);
    assert_int_equal(result.spent[1], 3000);
    assert_int_equal(result.spent[2], 2000);
    assert_int_equal(result.changes[0], 0);
    assert_int_equal(result.changes[1], 2); /* to rank 1, and back */
}

/* Rank 1 comes later than the message: nobody waits for it, and its own time is the path. Between its calls it is
 * in no region for 500 ns. */
static void test_nobody_waits(void **state)
{
    (void)state;
    begin_trace(3000);
    in_region(0, F, 0, 200);
    message(0, LULL_EVENT_SEND, 200, 300);
    message(0, LULL_EVENT_RECV, 300, 3000);
    in_region(1, G, 0, 2000);
    message(1, LULL_EVENT_RECV, 2000, 2400);
    message(1, LULL_EVENT_SEND, 2900, 3000);
    const struct lull_ideal_result result = evaluate();
    assert_int_equal(result.runtime, 2500);
    assert_int_equal(result.path[0], 500);
    assert_int_equal(result.path[1], 0);
    assert_int_equal(result.path[2], 2000);
    assert_int_equal(result.changes[1], 1); /* rank 0 ends last, at the time of rank 1 */
}

TEST_GROUP(test_ideal_path)
{
    const struct CMUnitTest tests[] = {ARENA_TEST(test_there_and_back),
                                       ARENA_TEST(test_nobody_waits)};
    return run_cases(tests, NULL, NULL);
}
