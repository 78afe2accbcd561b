/* Waits of small traces, worked out by hand: what is missing, who else communicates, windows. */
#include "activity/pass.h"
#include "support/memory_trace.h"
#include "support/test.h"
#include "wait/wait.h"

#include <stddef.h>

static const char *const regions[] = {"solve",          "MPI_Send",   "MPI_Recv",     "MPI_Barrier",
                                      "MPI_Probe",      "MPI_Ssend",  "MPI_Irecv",    "MPI_Wait",
                                      "MPI_Iallreduce", "MPI_Issend", "MPI_Finalize", NULL};
enum { SOLVE, SEND, RECV, BARRIER, PROBE, SSEND, IRECV, WAIT, IALLREDUCE, ISSEND, FINALIZE };
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

static void find_with(const struct lull_trace *trace, const struct lull_wait_options *options,
                      struct lull_wait_result *ret_result)
{
    const struct lull_pass_options pass = {.reading = options->reading};
    struct lull_waits *waits;
    struct lull_error err;
    assert_int_equal(lull_waits_create(trace, options, &waits, &err), LULL_OK);
    const struct lull_consumer consumer = lull_waits_consumer(waits);
    assert_int_equal(lull_pass_run(trace, &pass, &consumer, 1, &err), LULL_OK);
    assert_int_equal(lull_waits_conclude(waits, trace->arena, ret_result, &err), LULL_OK);
    lull_waits_destroy(waits);
}

static void find(const struct lull_trace *trace, const struct lull_windows *windows,
                 struct lull_wait_result *ret_result)
{
    const struct lull_wait_options options = {.reading =
                                                  &(const struct lull_reading){.windows = windows}};
    find_with(trace, &options, ret_result);
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
    assert_int_equal(result.n_calls,
                     2); /* a send of 20, and a receive that took 50 beyond waiting */
    assert_int_equal(result.calls[0].region, SEND);
    assert_int_equal(result.calls[0].transfer_ns, 20);
    assert_int_equal(result.calls[1].region, RECV);
    assert_int_equal(result.calls[1].calls, 1);
    assert_int_equal(result.calls[1].transfer_ns, 50);
    lull_trace_close(trace);
}

/* Times that 32 bits do not hold. */
static void hours(void **state)
{
    enum { TIMES = 30 };
    static const int64_t late = INT64_C(7200123456789);
    struct lull_trace *trace = memory_trace_simple(2, 1, TIMES * late + LENGTH, regions);
    struct lull_wait_result result;
    (void)state;
    memory_trace_world(trace, 2);
    for (int64_t i = 0; i < TIMES; i++) {
        const int64_t begin = i * late;
        add(trace, 0, LULL_EVENT_ENTER, SOLVE, begin, 0);
        add(trace, 0, LULL_EVENT_LEAVE, SOLVE, begin + late, 0);
        call(trace, 0, SEND, LULL_EVENT_SEND, begin + late, begin + late, 1);
        call(trace, 1, RECV, LULL_EVENT_RECV, begin, begin + late, 0);
    }
    find(trace, NULL, &result);
    assert_int_equal(result.n_charges, 1);
    assert_int_equal(result.charges[0].ns, TIMES * late);
    assert_int_equal(result.charges[0].waits, TIMES);
    assert_int_equal(result.charges[0].longest.ns, late);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_LATE_SENDER], TIMES * late);
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

/* Rank 2 was killed at once: rank 1 gets nothing from it, and comes alone with rank 0 to barriers,
 * but what ranks 0 and 1 send each other between is matched: rank 0 sends at 210 and 410, in each
 * of two steps of 200, and rank 1, which is not kept, waits 10 for it. */
static void a_process_has_ended(void **state)
{
    struct lull_trace *trace = make_trace(3, 1);
    struct lull_wait_result result;
    (void)state;
    for (int64_t at = 100; at <= 300; at += 200) {
        call(trace, 1, RECV, LULL_EVENT_RECV, at, at + 50, 2);
        call(trace, 0, SEND, LULL_EVENT_SEND, at + 110, at + 120, 1);
        call(trace, 1, RECV, LULL_EVENT_RECV, at + 100, at + 130, 0);
        call(trace, 0, BARRIER, LULL_EVENT_COLLECTIVE_END, at + 140, at + 150, 0);
        call(trace, 1, BARRIER, LULL_EVENT_COLLECTIVE_END, at + 135, at + 150, 0);
    }
    find(trace, NULL, &result);
    assert_int_equal(result.unmatched_operations, 2 + 4);
    assert_int_equal(result.unmatched_sends, 0);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_LATE_SENDER], 2 * 10);
    assert_int_equal(result.locations[1].transfer_ns, 2 * 20);
    assert_int_equal(result.locations[1].unmatched_ns, 2 * (50 + 15));
    assert_int_equal(result.locations[0].unmatched_ns, 2 * 10);
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
    assert_true(result.needs_each_thread);
    lull_trace_close(trace);
}

static void work_until(struct lull_trace *trace, uint32_t location, int64_t begin, int64_t end)
{
    add(trace, location, LULL_EVENT_ENTER, SOLVE, begin, 0);
    add(trace, location, LULL_EVENT_LEAVE, SOLVE, end, 0);
}

/* All messages are of one channel: the first is sent by the second thread, at 100, and received by
 * the last one; the other one is sent at 300. Then these two meet at a barrier. */
static void threads_share_a_channel(void **state)
{
    const struct lull_wait_options options = {.each_thread = true};
    struct lull_trace *trace = make_trace(2, 2);
    struct lull_wait_result result;
    (void)state;
    work_until(trace, 0, 0, 300);
    call(trace, 0, SEND, LULL_EVENT_SEND, 300, 310, 1);
    work_until(trace, 1, 0, 100);
    call(trace, 1, SEND, LULL_EVENT_SEND, 100, 110, 1);
    call(trace, 1, BARRIER, LULL_EVENT_COLLECTIVE_END, 320, 400, 0);
    work_until(trace, 2, 0, 60);
    call(trace, 2, RECV, LULL_EVENT_RECV, 60, 350, 0);
    work_until(trace, 3, 0, 50);
    call(trace, 3, RECV, LULL_EVENT_RECV, 50, 150, 0);
    call(trace, 3, BARRIER, LULL_EVENT_COLLECTIVE_END, 390, 400, 0);
    find_with(trace, &options, &result);
    assert_null(result.absent);
    assert_int_equal(result.locations[2].waited_ns[LULL_WAIT_LATE_SENDER], 240);
    assert_int_equal(result.locations[2].transfer_ns, 50);
    assert_int_equal(result.locations[3].waited_ns[LULL_WAIT_LATE_SENDER], 50);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_BARRIER], 70);
    assert_int_equal(result.waited_ns, 240 + 50 + 70);
    assert_int_equal(result.charges[0].place.process, 0);
    assert_int_equal(result.charges[0].place.thread, 0);
    assert_int_equal(result.charges[0].place.region, SOLVE);
    assert_int_equal(result.charges[0].ns, 240);
    assert_int_equal(result.messages, 2);
    lull_trace_close(trace);
}

/* ---- late receivers ------------------------------------------------------------------------ */

static void operation(struct lull_trace *trace, uint32_t location, unsigned kind, int64_t time,
                      int32_t peer, int32_t tag, uint64_t bytes, uint64_t request)
{
    struct lull_event event = memory_event(time, kind, 0);
    event.message.peer = peer;
    event.message.tag = tag;
    event.message.bytes = bytes;
    event.message.request = request;
    memory_trace_add(trace, location, &event);
}

/* A call with one operation, at its end or begin. */
static void message(struct lull_trace *trace, uint32_t location, uint32_t region, unsigned kind,
                    int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes,
                    uint64_t request)
{
    const bool at_end = kind == LULL_EVENT_RECV || kind == LULL_EVENT_SEND_DONE;
    add(trace, location, LULL_EVENT_ENTER, region, begin, 0);
    operation(trace, location, kind, at_end ? end : begin, peer, tag, bytes, request);
    add(trace, location, LULL_EVENT_LEAVE, region, end, 0);
}

static void solve(struct lull_trace *trace, uint32_t location, int64_t begin, int64_t end)
{
    add(trace, location, LULL_EVENT_ENTER, SOLVE, begin, 0);
    add(trace, location, LULL_EVENT_LEAVE, SOLVE, end, 0);
}

/* Rank 0 is in calls that need nothing: until 70 in two, one behind the other, from 90 to 100, and
 * from 400 to 420 in a send, whose message leaves at 410. By then it was 320 in solve, and 90 in
 * MPI; rank 1, which waits for it from 100 on, was 100 in solve. The window is from 20 to 415. */
static void calls_that_need_nothing(void **state)
{
    struct lull_interval interval = {20, 415}, *intervals[] = {&interval, &interval};
    uint32_t counts[] = {1, 1};
    const struct lull_windows windows = {2, intervals, counts};
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    (void)state;
    call(trace, 0, IRECV, LULL_EVENT_KINDS, 0, 30, 0);
    call(trace, 0, IRECV, LULL_EVENT_KINDS, 30, 70, 0);
    solve(trace, 0, 70, 90);
    call(trace, 0, IRECV, LULL_EVENT_KINDS, 90, 100, 0);
    solve(trace, 0, 100, 400);
    add(trace, 0, LULL_EVENT_ENTER, SEND, 400, 0);
    operation(trace, 0, LULL_EVENT_SEND, 410, 1, 7, 8, LULL_NO_REQUEST);
    add(trace, 0, LULL_EVENT_LEAVE, SEND, 420, 0);
    solve(trace, 1, 0, 100);
    message(trace, 1, RECV, LULL_EVENT_RECV, 100, 450, 0, 7, 8, LULL_NO_REQUEST);
    find(trace, &windows, &result);
    assert_int_equal(result.locations[0].mpi_ns, 75);
    assert_int_equal(result.locations[0].transfer_ns, 75);
    assert_int_equal(result.locations[0].unmatched_ns, 0);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_LATE_SENDER], 310);
    assert_int_equal(result.locations[1].transfer_ns, 5);
    assert_int_equal(result.n_charges, 2);
    assert_int_equal(result.charges[0].ns, 220);
    assert_int_equal(result.charges[0].place.region, SOLVE);
    assert_int_equal(result.charges[0].place.call, SEND);
    assert_int_equal(result.charges[1].ns, 90);
    assert_int_equal(result.charges[1].place.in_mpi, 1);
    lull_trace_close(trace);
}

static int64_t late_receiver(uint32_t send, uint64_t bytes, int64_t send_ends, bool posts_first,
                             int32_t source)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    solve(trace, 0, 0, 100);
    message(trace, 0, send, LULL_EVENT_SEND, 100, send_ends, 1, 7, bytes, LULL_NO_REQUEST);
    solve(trace, 1, 0, 300);
    if (posts_first) {
        message(trace, 1, IRECV, LULL_EVENT_RECV_POST, 300, 310, source, 7, bytes, 5);
        solve(trace, 1, 310, 600);
        message(trace, 1, WAIT, LULL_EVENT_RECV, 600, 610, 0, 7, bytes, 5);
    } else {
        message(trace, 1, RECV, LULL_EVENT_RECV, 300, 420, 0, 7, bytes, LULL_NO_REQUEST);
    }
    find(trace, NULL, &result);
    const int64_t waited = result.locations[0].waited_ns[LULL_WAIT_LATE_RECEIVER];
    assert_int_equal(result.waited_ns, waited);
    assert_int_equal(result.unmatched_operations, 0);
    if (waited > 0) {
        assert_int_equal(result.n_charges, 1);
        assert_int_equal(result.charges[0].kind, LULL_WAIT_LATE_RECEIVER);
        assert_int_equal(result.charges[0].place.process, 1);
        assert_int_equal(result.charges[0].place.region, SOLVE);
        assert_int_equal(result.charges[0].place.call, posts_first ? IRECV : RECV);
    }
    lull_trace_close(trace);
    return waited;
}

static void late_receivers(void **state)
{
    (void)state;
    assert_int_equal(late_receiver(SSEND, 8, 410, false, 0), 200);
    assert_int_equal(late_receiver(SSEND, 8, 410, true, 0), 200);
    assert_int_equal(late_receiver(SEND, 100000, 410, false, 0), 200);
    /* it is over before, or so small that no library waits, or it is not said by then which message
     * the receive takes */
    assert_int_equal(late_receiver(SEND, 100000, 290, false, 0), 0);
    assert_int_equal(late_receiver(SEND, 4096, 410, false, 0), 0);
    assert_int_equal(late_receiver(SSEND, 8, 410, true, LULL_ANY), 0);
    assert_int_equal(late_receiver(SSEND, 8, 605, true, LULL_ANY), 200);
}

/* The send does not block; the wait for it is from 150 to 410. */
static void a_wait_for_a_late_receiver(void **state)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    (void)state;
    solve(trace, 0, 0, 100);
    message(trace, 0, ISSEND, LULL_EVENT_SEND, 100, 110, 1, 7, 8, 3);
    solve(trace, 0, 110, 150);
    message(trace, 0, WAIT, LULL_EVENT_SEND_DONE, 150, 410, 1, 7, 8, 3);
    solve(trace, 1, 0, 300);
    message(trace, 1, RECV, LULL_EVENT_RECV, 300, 420, 0, 7, 8, LULL_NO_REQUEST);
    find(trace, NULL, &result);
    assert_int_equal(result.locations[0].waited_ns[LULL_WAIT_LATE_RECEIVER], 150);
    assert_int_equal(result.charges[0].ns, 150);
    lull_trace_close(trace);
}

/* Clocks contradict each other: each seems to have gone on before the other one let it. */
static void clocks_that_differ(void **state)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    (void)state;
    message(trace, 0, SSEND, LULL_EVENT_SEND, 500, 600, 1, 7, 8, LULL_NO_REQUEST);
    message(trace, 0, SEND, LULL_EVENT_SEND, 600, 610, 1, 9, 8, LULL_NO_REQUEST);
    message(trace, 1, RECV, LULL_EVENT_RECV, 100, 200, 0, 9, 8, LULL_NO_REQUEST);
    message(trace, 1, RECV, LULL_EVENT_RECV, 200, 300, 0, 7, 8, LULL_NO_REQUEST);
    find(trace, NULL, &result);
    assert_int_equal(result.unmatched_operations, 0);
    assert_int_equal(result.locations[0].waited_ns[LULL_WAIT_LATE_RECEIVER], 0);
    assert_int_equal(result.locations[1].unmatched_ns, 0);
    lull_trace_close(trace);
}

/* ---- the order of messages ----------------------------------------------------------------- */

/* Rank 1 waits for tag 2 from 100 to 400; tag 1, which it receives after that, was sent at 50, or
 * at 150. */
static void order_of(int64_t first_sent, uint8_t kind)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    message(trace, 0, SEND, LULL_EVENT_SEND, first_sent, first_sent + 5, 1, 1, 8, LULL_NO_REQUEST);
    solve(trace, 0, first_sent + 5, 400);
    message(trace, 0, SEND, LULL_EVENT_SEND, 400, 405, 1, 2, 8, LULL_NO_REQUEST);
    solve(trace, 1, 0, 100);
    message(trace, 1, RECV, LULL_EVENT_RECV, 100, 410, 0, 2, 8, LULL_NO_REQUEST);
    message(trace, 1, RECV, LULL_EVENT_RECV, 410, 420, 0, 1, 8, LULL_NO_REQUEST);
    find(trace, NULL, &result);
    assert_int_equal(result.locations[1].waited_ns[kind], 300);
    assert_int_equal(result.waited_ns, 300);
    for (uint32_t i = 0; i < result.n_charges; i++)
        assert_int_equal(result.charges[i].kind, kind);
    lull_trace_close(trace);
}

static void the_order_of_messages(void **state)
{
    (void)state;
    order_of(50, LULL_WAIT_WRONG_ORDER);
    order_of(150, LULL_WAIT_LATE_SENDER);
}

/* ---- operations that are not kept ---------------------------------------------------------- */

/* Requests of operations of a communicator with one member are given out again: what is left of the
 * first would be taken for the second, which all members share. */
static void a_request_that_is_used_again(void **state)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    (void)state;
    trace->comms = lull_arena_zero(trace->arena, 2, sizeof *trace->comms);
    trace->n_comms = 2;
    for (uint32_t c = 0; c < 2; c++)
        trace->comms[c] = (struct lull_comm){.name = "",
                                             .size = c == 0 ? 2 : 1,
                                             .parent = LULL_NONE,
                                             .remote = LULL_NONE,
                                             .paradigm = LULL_PARADIGM_MPI};
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            const uint32_t comm = round == 0 && rank == 0 ? 1 : 0;
            const int64_t begin = 100 + 300 * (int64_t)round;
            if (round == 0 && rank == 1)
                continue;
            for (int end = 0; end < 2; end++) {
                const int64_t from = begin + 100 * end + (end == 0 && rank == 1 ? 50 : 0);
                struct lull_event event = memory_event(
                    from + 1, end ? LULL_EVENT_COLLECTIVE_END : LULL_EVENT_COLLECTIVE_BEGIN, comm);
                event.op = LULL_COLLECTIVE_ALLREDUCE;
                event.collective.request = 1;
                event.collective.root = LULL_ANY;
                add(trace, rank, LULL_EVENT_ENTER, end ? WAIT : IALLREDUCE, from, 0);
                memory_trace_add(trace, rank, &event);
                add(trace, rank, LULL_EVENT_LEAVE, end ? WAIT : IALLREDUCE, from + 10, 0);
            }
        }
    find(trace, NULL, &result);
    assert_int_equal(result.unmatched_operations, 0);
    assert_int_equal(result.collectives, 2);
    lull_trace_close(trace);
}

/* ---- who is not waited for ------------------------------------------------------------------ */

/* Rank 2 has ended: rank 0 comes alone to a barrier, and sends at 200, behind it; rank 1 waits for
 * that from 120 on. */
static void behind_who_has_ended(void **state)
{
    struct lull_trace *trace = make_trace(3, 1);
    struct lull_wait_result result;
    (void)state;
    call(trace, 0, BARRIER, LULL_EVENT_COLLECTIVE_END, 100, 150, 0);
    call(trace, 0, SEND, LULL_EVENT_SEND, 200, 210, 1);
    call(trace, 1, RECV, LULL_EVENT_RECV, 120, 230, 0);
    find(trace, NULL, &result);
    assert_int_equal(result.unmatched_operations, 1);
    assert_int_equal(result.unmatched_sends, 0);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_LATE_SENDER], 80);
    assert_int_equal(result.locations[1].transfer_ns, 30);
    lull_trace_close(trace);
}

/* Rank 1 is of another application, whose sends are not looked at. */
static void another_application_sends(void **state)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_wait_result result;
    (void)state;
    ((struct lull_process *)trace->processes)[1].application = 1;
    call(trace, 0, RECV, LULL_EVENT_RECV, 100, 240, 1);
    call(trace, 1, SEND, LULL_EVENT_SEND, 200, 210, 0);
    find(trace, NULL, &result);
    assert_int_equal(result.waited_ns, 0);
    assert_int_equal(result.locations[0].unmatched_ns, 140);
    assert_int_equal(result.locations[0].transfer_ns, 0);
    lull_trace_close(trace);
}

/* ---- the end of MPI ------------------------------------------------------------------------- */

static void finalize(struct lull_trace *trace, uint32_t location, int64_t begin, int64_t end)
{
    call(trace, location, FINALIZE, LULL_EVENT_KINDS, begin, end, 0);
}

/* Rank 0 solves until 400 and comes last to MPI_Finalize; 1 waits from 100 on, 2 from 150. No
 * operation of all is counted. */
static void the_end(void **state)
{
    struct lull_trace *trace = make_trace(3, 1);
    struct lull_wait_result result;
    (void)state;
    solve(trace, 0, 0, 400);
    finalize(trace, 0, 400, 410);
    solve(trace, 1, 0, 100);
    finalize(trace, 1, 100, 420);
    solve(trace, 2, 0, 150);
    finalize(trace, 2, 150, 420);
    find(trace, NULL, &result);
    assert_int_equal(result.n_charges, 1);
    assert_int_equal(result.charges[0].kind, LULL_WAIT_FINALIZE);
    assert_int_equal(result.charges[0].place.process, 0);
    assert_int_equal(result.charges[0].place.region, SOLVE);
    assert_int_equal(result.charges[0].place.call, FINALIZE);
    assert_int_equal(result.charges[0].ns, 300 + 250);
    assert_int_equal(result.locations[1].waited_ns[LULL_WAIT_FINALIZE], 300);
    assert_int_equal(result.locations[1].transfer_ns, 20);
    assert_int_equal(result.locations[0].transfer_ns, 10);
    assert_int_equal(result.collectives, 0);
    lull_trace_close(trace);
}

/* Rank 2 never comes to it, so nobody knows what 0 and 1 wait for there; but that rank 0, which is
 * there, sends nothing more, rank 1 knows, and goes on to what it sends to 2. */
static void an_end_without_all(void **state)
{
    struct lull_trace *trace = make_trace(3, 1);
    struct lull_wait_result result;
    (void)state;
    finalize(trace, 0, 100, 900);
    call(trace, 1, RECV, LULL_EVENT_RECV, 100, 200, 0);
    call(trace, 1, SEND, LULL_EVENT_SEND, 300, 310, 2);
    finalize(trace, 1, 320, 900);
    call(trace, 2, RECV, LULL_EVENT_RECV, 100, 400, 1);
    find(trace, NULL, &result);
    assert_int_equal(result.waited_ns, 200);
    assert_int_equal(result.locations[2].waited_ns[LULL_WAIT_LATE_SENDER], 200);
    assert_int_equal(result.unmatched_operations, 1);
    assert_int_equal(result.locations[0].unmatched_ns, 800);
    assert_int_equal(result.locations[1].unmatched_ns, 100 + 580);
    lull_trace_close(trace);
}

/* Without a communicator of all it is not known whom it waits for. */
static void an_end_of_nobody(void **state)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, LENGTH, regions);
    struct lull_wait_result result;
    (void)state;
    finalize(trace, 0, 400, 410);
    finalize(trace, 1, 100, 420);
    find(trace, NULL, &result);
    assert_int_equal(result.waited_ns, 0);
    assert_int_equal(result.locations[1].unmatched_ns, 320);
    lull_trace_close(trace);
}

TEST_GROUP(test_waits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_sender),
        cmocka_unit_test(hours),
        cmocka_unit_test(a_window),
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(a_process_has_ended),
        cmocka_unit_test(another_thread_communicates),
        cmocka_unit_test(threads_share_a_channel),
        cmocka_unit_test(calls_that_need_nothing),
        cmocka_unit_test(late_receivers),
        cmocka_unit_test(a_wait_for_a_late_receiver),
        cmocka_unit_test(clocks_that_differ),
        cmocka_unit_test(the_order_of_messages),
        cmocka_unit_test(a_request_that_is_used_again),
        cmocka_unit_test(behind_who_has_ended),
        cmocka_unit_test(another_application_sends),
        cmocka_unit_test(the_end),
        cmocka_unit_test(an_end_without_all),
        cmocka_unit_test(an_end_of_nobody),
    };
    return run_cases(tests, NULL, NULL);
}
