/* The eager limit that a trace shows: traces are made with a limit that is planted. */
#include "replay/measured_network.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum { SEND, RECV, ISEND, IRECV, WAIT, BSEND };
static const char *const names[] = {"MPI_Send", "MPI_Recv",  "MPI_Isend", "MPI_Irecv",
                                    "MPI_Wait", "MPI_Bsend", NULL};
enum { USUAL = 65536, PERIOD = 1000 };

static struct lull_event *message(unsigned kind, int64_t time, int32_t peer, uint64_t bytes,
                                  uint64_t request)
{
    static struct lull_event event;
    event = memory_event(time, kind, 0);
    event.message.peer = peer;
    event.message.tag = 3;
    event.message.bytes = bytes;
    event.message.request = request;
    return &event;
}

static void call(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                 int64_t end, const struct lull_event *what)
{
    struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, region);
    struct lull_event leave = memory_event(end, LULL_EVENT_LEAVE, region);
    memory_trace_add(trace, location, &enter);
    memory_trace_add(trace, location, what);
    memory_trace_add(trace, location, &leave);
}

static struct lull_trace *two_processes(bool on_one_node)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000000, names);
    memory_trace_world(trace, 2);
    for (uint32_t p = 0; p < 2; p++)
        trace->processes[p].node = on_one_node ? 0 : p;
    return trace;
}

/* Process 0 sends at the beginning of a period, process 1 posts its receive 400 ns later. */
static void exchange(struct lull_trace *trace, int turn, uint64_t bytes, bool eager,
                     uint32_t how_sent, uint32_t how_received)
{
    int64_t at = turn * PERIOD, returned = at + (eager ? 50 : 600);
    uint64_t request = 1 + (uint64_t)turn;
    if (how_sent == ISEND) {
        call(trace, 0, ISEND, at, at + 5, message(LULL_EVENT_SEND, at, 1, bytes, request));
        call(trace, 0, WAIT, at + 10, returned,
             message(LULL_EVENT_SEND_DONE, returned, 1, bytes, request));
    } else {
        call(trace, 0, how_sent, at, returned,
             message(LULL_EVENT_SEND, at, 1, bytes, LULL_NO_REQUEST));
    }
    if (how_received == IRECV) {
        call(trace, 1, IRECV, at + 400, at + 405,
             message(LULL_EVENT_RECV_POST, at + 400, 0, bytes, request));
        call(trace, 1, WAIT, at + 410, at + 600,
             message(LULL_EVENT_RECV, at + 600, 0, bytes, request));
    } else {
        call(trace, 1, RECV, at + 400, at + 600,
             message(LULL_EVENT_RECV, at + 600, 0, bytes, LULL_NO_REQUEST));
    }
}

/* Closes the trace. */
static struct lull_eager_findings findings_of(struct lull_trace *trace, bool between_nodes)
{
    struct lull_eager_evidence *evidence;
    struct lull_error err = {""};
    const struct lull_pass_options options = {.reading =
                                                  &(const struct lull_reading){.workers = 2}};
    unsigned workers = lull_pass_workers(trace, &options);
    struct lull_eager_findings findings = {0};
    fail_if(lull_eager_evidence_create(trace, workers, &evidence, &err) != LULL_OK, "%s", err.text);
    const struct lull_consumer consumer = lull_eager_evidence_consumer(evidence);
    fail_if(lull_pass_run(trace, &options, &consumer, 1, &err) != LULL_OK ||
                lull_eager_evidence_weigh(evidence, between_nodes, &findings, &err) != LULL_OK,
            "%s", err.text);
    lull_eager_evidence_destroy(evidence);
    lull_trace_close(trace);
    return findings;
}

static double limit_of(struct lull_trace *trace, bool between_nodes)
{
    const struct lull_eager_findings findings = findings_of(trace, between_nodes);
    return lull_eager_limit(&findings, USUAL);
}

/* Messages of up to 4,000 bytes are eager, of each size many. */
static void a_planted_limit_is_found(void **state)
{
    (void)state;
    static const uint32_t sent[] = {SEND, ISEND}, received[] = {RECV, IRECV};
    for (int form = 0; form < 4; form++)
        for (int one_node = 0; one_node < 2; one_node++) {
            struct lull_trace *trace = two_processes(one_node);
            for (int turn = 0; turn < 400; turn++) {
                uint64_t bytes = 200 * (1 + (uint64_t)(turn * 7) % 100);
                exchange(trace, turn, bytes, bytes <= 4000, sent[form % 2], received[form / 2]);
            }
            double limit = limit_of(trace, !one_node);
            /* A wait that ends late does not say that it had to. */
            assert_true(limit >= 4000 && (sent[form % 2] == ISEND ? limit <= USUAL : limit < 4200));
        }
}

/* One send that has returned before its receive was posted is enough for all smaller ones. */
static void larger_messages_than_usual_may_be_eager(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(true);
    exchange(trace, 0, 100000, true, SEND, RECV);
    assert_true(limit_of(trace, false) == 100000);
    trace = two_processes(true);
    exchange(trace, 0, 100000, true, ISEND, IRECV);
    assert_true(limit_of(trace, true) == USUAL);
}

/* Neither copies into a buffer nor a few sends that returned late say anything. */
static void what_says_nothing_is_passed_over(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(true);
    for (int turn = 0; turn < 20; turn++)
        exchange(trace, turn, 1000000, true, BSEND, RECV);
    for (int turn = 20; turn < 24; turn++)
        exchange(trace, turn, 100, false, SEND, RECV);
    assert_true(limit_of(trace, false) == USUAL);
}

/* Both ends of a blocking send have begun 400 ns after its begin, and know that it is over at 600.
 * What was started tells nothing of that. */
static void blocking_sends_tell_how_long_they_take(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(true);
    for (int turn = 0; turn < 40; turn++)
        exchange(trace, turn, 100000, false, turn % 4 ? SEND : ISEND, turn % 2 ? RECV : IRECV);
    const struct lull_eager_findings findings = findings_of(trace, false);
    const struct lull_handshakes *found = &findings.handshakes[17]; /* 2^16 < 100,000 < 2^17 */
    assert_int_equal(found->count, 30);
    assert_int_equal(found->bytes, 30 * 100000);
    assert_int_equal(found->ns, 30 * 200);
}

TEST_GROUP(test_eager_limit)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_planted_limit_is_found),
                                       cmocka_unit_test(larger_messages_than_usual_may_be_eager),
                                       cmocka_unit_test(blocking_sends_tell_how_long_they_take),
                                       cmocka_unit_test(what_says_nothing_is_passed_over)};
    return run_cases(tests, NULL, NULL);
}
