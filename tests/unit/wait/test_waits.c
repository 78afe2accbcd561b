/* Waits of small traces, worked out by hand: what is missing, who else communicates, windows. */
#include "support/memory_trace.h"
#include "wait/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *const regions[] = {"solve",       "MPI_Send",  "MPI_Recv",
                                      "MPI_Barrier", "MPI_Probe", NULL};
enum { SOLVE, SEND, RECV, BARRIER, PROBE };
enum { LENGTH = 1000 };

static struct lull_trace *make_trace(uint32_t processes, uint32_t threads)
{
    struct lull_trace *trace = memory_trace_simple(processes, threads, LENGTH, regions);
    memory_trace_world(trace, processes);
    return trace;
}

static void add(struct lull_trace *trace, uint32_t location, unsigned kind, uint32_t id,
                int64_t time, int32_t peer)
{
    struct lull_event event = memory_event(time, kind, id);
    if (kind == LULL_EVENT_SEND || kind == LULL_EVENT_RECV) {
        event.message.peer = peer;
        event.message.tag = 7;
        event.message.request = LULL_NO_REQUEST;
    } else if (kind == LULL_EVENT_COLLECTIVE_END) {
        event.op = LULL_COLLECTIVE_BARRIER;
        event.collective.request = LULL_NO_REQUEST;
        event.collective.root = LULL_ANY;
    }
    memory_trace_add(trace, location, &event);
}

/* A call from `begin` to `end` with one operation, of `kind`. */
static void call(struct lull_trace *trace, uint32_t location, uint32_t region, unsigned kind,
                 int64_t begin, int64_t end, int32_t peer)
{
    add(trace, location, LULL_EVENT_ENTER, region, begin, 0);
    if (kind < LULL_EVENT_KINDS)
        add(trace, location, kind, 0, kind == LULL_EVENT_SEND ? begin : end, peer);
    add(trace, location, LULL_EVENT_LEAVE, region, end, 0);
}

static void find(const struct lull_trace *trace, const struct lull_windows *windows,
                 struct lull_wait_result *ret_result)
{
    const struct lull_wait_options options = {.windows = windows};
    const struct lull_pass_options pass = {.windows = windows, .workers = 1};
    struct lull_waits *waits;
    struct lull_error err;
    assert_int_equal(lull_waits_create(trace, &options, &waits, &err), LULL_OK);
    const struct lull_consumer consumer = lull_waits_consumer(waits);
    assert_int_equal(lull_pass_run(trace, &pass, &consumer, 1, &err), LULL_OK);
    assert_int_equal(lull_waits_conclude(waits, trace->arena, ret_result, &err), LULL_OK);
    lull_waits_destroy(waits);
}

/* Rank 0 is in solve until 400, and sends; rank 1 receives from 100 to 450. */
static struct lull_trace *late_sender(void)
{
    struct lull_trace *trace = make_trace(2, 1);
    add(trace, 0, LULL_EVENT_ENTER, SOLVE, 0, 0);
    add(trace, 0, LULL_EVENT_LEAVE, SOLVE, 400, 0);
    call(trace, 0, SEND, LULL_EVENT_SEND, 400, 420, 1);
    add(trace, 1, LULL_EVENT_ENTER, SOLVE, 0, 0);
    add(trace, 1, LULL_EVENT_LEAVE, SOLVE, 100, 0);
    call(trace, 1, RECV, LULL_EVENT_RECV, 100, 450, 0);
    return trace;
}

static void a_late_sender(void **state)
{
    struct lull_trace *trace = late_sender();
    struct lull_wait_result result;
    (void)state;
    find(trace, NULL, &result);
    assert_int_equal(result.n_charges, 1);
    const struct lull_wait_charge *charge = &result.charges[0];
    assert_int_equal(charge->place.process, 0);
    assert_int_equal(charge->place.region, SOLVE);
    assert_int_equal(charge->place.call, SEND);
    assert_int_equal(charge->kind, LULL_WAIT_LATE_SENDER);
    assert_int_equal(charge->ns, 300);
    assert_int_equal(charge->passed_ns, 0);
    assert_int_equal(charge->longest.location, 1);
    assert_int_equal(charge->longest.begin, 100);
    assert_int_equal(result.locations[1].transfer_ns, 50);
    assert_int_equal(result.locations[0].transfer_ns, 20);
    lull_trace_close(trace);
}

/* From 200 to 440: 200 of the wait, and 40 of the transfer; of the send all 20. */
static void a_window(void **state)
{
    struct lull_interval interval = {200, 440}, *intervals[] = {&interval, &interval};
    uint32_t counts[] = {1, 1};
    const struct lull_windows windows = {2, intervals, counts};
    struct lull_trace *trace = late_sender();
    struct lull_wait_result result;
    (void)state;
    find(trace, &windows, &result);
    assert_int_equal(result.waited_ns, 200);
    assert_int_equal(result.n_charges, 1);
    assert_int_equal(result.charges[0].ns, 200);
    assert_int_equal(result.locations[1].transfer_ns, 40);
    assert_int_equal(result.locations[0].transfer_ns, 20);
    lull_trace_close(trace);
}

/* A message that nobody sent, one that nobody receives, a barrier that one rank does not come to,
 * and calls of which nothing is recorded. */
static void what_is_missing(void **state)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    (void)state;
    call(trace, 0, RECV, LULL_EVENT_RECV, 100, 200, 1);
    call(trace, 0, SEND, LULL_EVENT_SEND, 300, 310, 1);
    call(trace, 0, BARRIER, LULL_EVENT_COLLECTIVE_END, 400, 450, 0);
    call(trace, 0, PROBE, LULL_EVENT_KINDS, 500, 505, 0);
    call(trace, 1, RECV, LULL_EVENT_KINDS, 100, 107, 0);
    find(trace, NULL, &result);
    assert_null(result.absent);
    assert_int_equal(result.waited_ns, 0);
    assert_int_equal(result.unmatched_sends, 1);
    assert_int_equal(result.unmatched_operations, 2);
    assert_int_equal(result.locations[0].unmatched_ns, 155);
    assert_int_equal(result.locations[0].transfer_ns, 10);
    assert_int_equal(result.locations[1].unmatched_ns, 7);
    lull_trace_close(trace);
}

static void another_thread_communicates(void **state)
{
    struct lull_trace *trace = make_trace(2, 2);
    struct lull_wait_result result;
    (void)state;
    call(trace, 1, SEND, LULL_EVENT_SEND, 100, 120, 1);
    find(trace, NULL, &result);
    assert_non_null(result.absent);
    lull_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_sender),
        cmocka_unit_test(a_window),
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(another_thread_communicates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
