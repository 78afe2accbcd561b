/* Threads of processes of MPI, worked out by hand: MPI called inside parallel regions, and threads
 * that the program makes itself. */
#include "replay/ideal/crew.h"
#include "replay/ideal/ideal.h"
#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum { PARALLEL, SEND, RECV, OTHER };
static const char *const names[] = {"OpenMP Parallel", "MPI_Send", "MPI_Recv", "MPI_Comm_rank",
                                    NULL};
enum { CREATE, JOIN = OTHER + 1, BARRIER, FINALIZE };
static const char *const names_of_pthreads[] = {
    "pthread_create",       "MPI_Send",     "MPI_Recv", "MPI_Comm_rank", "pthread_join",
    "pthread_barrier_wait", "MPI_Finalize", NULL};

static void visit(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                  int64_t end)
{
    struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, region);
    struct lull_event leave = memory_event(end, LULL_EVENT_LEAVE, region);
    memory_trace_add(trace, location, &enter);
    memory_trace_add(trace, location, &leave);
}

/* In a parallel region from `begin` to `end`, a call with one message. */
static void communicate(struct lull_trace *trace, uint32_t location, const int64_t times[4],
                        uint32_t call, unsigned kind, int32_t peer, int64_t at)
{
    struct lull_event events[] = {memory_event(times[0], LULL_EVENT_ENTER, PARALLEL),
                                  memory_event(times[1], LULL_EVENT_ENTER, call),
                                  memory_event(at, kind, 0),
                                  memory_event(times[2], LULL_EVENT_LEAVE, call),
                                  memory_event(times[3], LULL_EVENT_LEAVE, PARALLEL)};
    events[2].message.peer = peer;
    events[2].message.tag = 7;
    events[2].message.bytes = 8;
    events[2].message.request = LULL_NO_REQUEST;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        memory_trace_add(trace, location, &events[i]);
}

/* Process 0: 100 ns, then a parallel region in which the worker sends 40 ns after its own
 * beginning. Process 1: 10 ns, 300 ns in MPI, then a parallel region in which the worker receives
 * at once. */
static struct lull_trace *make_trace(void)
{
    struct lull_trace *trace = memory_trace_simple(2, 2, 460, names);
    memory_trace_world(trace, 2);
    visit(trace, 0, PARALLEL, 100, 160);
    visit(trace, 0, OTHER, 170, 460);
    communicate(trace, 1, (const int64_t[]){110, 150, 155, 158}, SEND, LULL_EVENT_SEND, 1, 151);
    visit(trace, 2, OTHER, 10, 310);
    visit(trace, 2, PARALLEL, 310, 410);
    visit(trace, 2, OTHER, 460, 460);
    communicate(trace, 3, (const int64_t[]){320, 320, 360, 400}, RECV, LULL_EVENT_RECV, 0, 360);
    return trace;
}

/* The message leaves at 100 + 40. The receiver's worker would be there at 10, and with the 40 ns of
 * its call done at 50; it waits until 140, computes for 40 and meets its master at 180, who goes on
 * for 50. */
static void threads_meet_their_master(void **state)
{
    (void)state;
    static const bool callers[] = {false, true, false, true};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = make_trace();
    struct lull_ideal_options options = {0};
    struct lull_ideal_result ideal;
    struct lull_error err = {""};
    fail_if(lull_ideal_runtime(trace, &options, arena, &ideal, &err) != LULL_OK, "%s", err.text);
    fail_if(ideal.absent, "%s: %s", ideal.absent, ideal.detail);
    assert_int_equal(ideal.runtime, 230);

    struct lull_replay_options replayed = {.callers = callers};
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    lull_network_init(&network, lull_network_find("ideal"));
    fail_if(lull_replay_open(trace, &replayed, &program, &err) != LULL_OK ||
                lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(program->n_streams, 4);
    assert_int_equal(result.runtime, 230);
    lull_program_close(program);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

/* ---- pthreads -------------------------------------------------------------------------------- */

static void thread_event(struct lull_trace *trace, uint32_t location, int64_t time, unsigned kind,
                         uint64_t number)
{
    struct lull_event event = memory_event(time, kind, LULL_NONE);
    event.number = number;
    memory_trace_add(trace, location, &event);
}

/* `threads` 0: a join. */
static void wait_for_threads(struct lull_trace *trace, uint32_t location, int64_t begin,
                             int64_t end, uint64_t number, uint32_t threads)
{
    struct lull_event event = memory_event(begin, LULL_EVENT_THREAD_WAIT_BEGIN, LULL_NONE);
    event.op = threads ? LULL_THREAD_WAIT_BARRIER : LULL_THREAD_WAIT_JOIN;
    event.meeting.number = number;
    event.meeting.threads = threads;
    event.meeting.location = LULL_NONE;
    struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, threads ? BARRIER : JOIN);
    struct lull_event leave = memory_event(end, LULL_EVENT_LEAVE, threads ? BARRIER : JOIN);
    memory_trace_add(trace, location, &enter);
    memory_trace_add(trace, location, &event);
    event.time = end;
    event.kind = LULL_EVENT_THREAD_WAIT_END;
    memory_trace_add(trace, location, &event);
    memory_trace_add(trace, location, &leave);
}

static void send_or_receive(struct lull_trace *trace, uint32_t location, uint32_t region,
                            int64_t begin, int64_t end, int32_t peer)
{
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, region),
                                  memory_event(region == SEND ? begin : end,
                                               region == SEND ? LULL_EVENT_SEND : LULL_EVENT_RECV,
                                               0),
                                  memory_event(end, LULL_EVENT_LEAVE, region)};
    events[1].message.peer = peer;
    events[1].message.bytes = 8;
    events[1].message.request = LULL_NO_REQUEST;
    for (int i = 0; i < 3; i++)
        memory_trace_add(trace, location, &events[i]);
}

/* Threads beside the masters are made by the program. Closes the trace. */
static void check_both(struct lull_trace *trace, int64_t expected)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_ideal_options options = {.presumes_masters = true};
    struct lull_ideal_result ideal;
    struct lull_replay_options replayed = {0};
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    struct lull_error err = {""};
    fail_if(lull_ideal_runtime(trace, &options, arena, &ideal, &err) != LULL_OK, "%s", err.text);
    fail_if(ideal.absent, "%s: %s", ideal.absent, ideal.detail);
    lull_network_init(&network, lull_network_find("ideal"));
    fail_if(lull_replay_open(trace, &replayed, &program, &err) != LULL_OK ||
                lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(ideal.runtime, expected);
    assert_int_equal(result.runtime, expected);
    lull_program_close(program);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

static struct lull_trace *two_processes(uint32_t threads)
{
    struct lull_trace *trace = memory_trace_simple(2, threads, 310, names_of_pthreads);
    memory_trace_world(trace, 2);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (l % threads > 0)
            trace->locations[l].role = LULL_THREAD_FREE;
    return trace;
}

/* Process 1 sends after 20 ns of its own. */
static void send_late(struct lull_trace *trace, uint32_t location)
{
    visit(trace, location, OTHER, 20, 240);
    send_or_receive(trace, location, SEND, 240, 245, 0);
    visit(trace, location, OTHER, 245, 310);
}

/* The master makes a thread at 100 that lives until `end`, waits for a message until 250 and for
 * the thread from then on, and goes on at 300 for 10 ns. The message costs nothing on an ideal
 * network; the join would take 50 ns, if the thread did not live so long. */
static void check_join(int64_t end)
{
    struct lull_trace *trace = two_processes(2);
    thread_event(trace, 0, 100, LULL_EVENT_THREAD_CREATE, 7);
    visit(trace, 0, CREATE, 100, 100);
    thread_event(trace, 1, 100, LULL_EVENT_THREAD_BEGIN, 7);
    thread_event(trace, 1, end, LULL_EVENT_THREAD_END, 7);
    send_or_receive(trace, 0, RECV, 100, 250, 1);
    wait_for_threads(trace, 0, 250, 300, 7, 0);
    send_late(trace, 2);
    check_both(trace, end + 10);
}

static void a_join_waits_for_the_end_of_its_thread(void **state)
{
    (void)state;
    check_join(299);
}

/* The clock shows the end of the thread and that of the join at one time. */
static void a_join_at_the_end_of_its_thread_waits_for_it(void **state)
{
    (void)state;
    check_join(300);
}

/* The first thread leaves the barrier when the clock shows the time at which the second one comes,
 * who has worked for 260 ns; so it was that it waited for, and it goes on for 30 more. */
static void a_barrier_at_one_time_waits_for_all(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(3);
    for (uint32_t t = 1; t < 3; t++) {
        thread_event(trace, 0, 0, LULL_EVENT_THREAD_CREATE, t);
        thread_event(trace, t, 0, LULL_EVENT_THREAD_BEGIN, t);
    }
    visit(trace, 0, CREATE, 0, 0);
    visit(trace, 0, FINALIZE, 5, 310);
    send_or_receive(trace, 1, RECV, 10, 250, 1);
    wait_for_threads(trace, 1, 250, 260, UINT64_C(1) << 32, 2);
    thread_event(trace, 1, 290, LULL_EVENT_THREAD_END, 1);
    wait_for_threads(trace, 2, 260, 260, UINT64_C(1) << 32, 2);
    thread_event(trace, 2, 265, LULL_EVENT_THREAD_END, 2);
    visit(trace, 1, FINALIZE, 290, 310);
    visit(trace, 2, FINALIZE, 265, 310);
    send_late(trace, 3);
    check_both(trace, 260 + 30);
}

/* A thread begins when it is made: its master waits for a message from 50 to 250, makes it at once,
 * and joins it from 250 to 290. */
static void a_thread_begins_when_it_is_made(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(2);
    send_or_receive(trace, 0, RECV, 50, 250, 1);
    thread_event(trace, 0, 250, LULL_EVENT_THREAD_CREATE, 7);
    visit(trace, 0, CREATE, 250, 250);
    thread_event(trace, 1, 251, LULL_EVENT_THREAD_BEGIN, 7);
    thread_event(trace, 1, 289, LULL_EVENT_THREAD_END, 7);
    wait_for_threads(trace, 0, 250, 290, 7, 0);
    send_late(trace, 2);
    check_both(trace, 50 + 40 + 20);
}

/* Two threads come to a barrier twice. The first one waits for a message from 10 to 250 before the
 * first one, which costs nothing; the second one comes to it at 260 for 20 ns. Both go on for 10 ns
 * to the second barrier, of 5 ns, and the second thread for 15 more. */
static void come_to_barriers_for(uint32_t threads)
{
    struct lull_trace *trace = two_processes(3);
    for (uint32_t t = 1; t < 3; t++) {
        thread_event(trace, 0, 0, LULL_EVENT_THREAD_CREATE, t);
        thread_event(trace, t, 0, LULL_EVENT_THREAD_BEGIN, t);
    }
    visit(trace, 0, CREATE, 0, 0);
    visit(trace, 0, FINALIZE, 5, 310);
    send_or_receive(trace, 1, RECV, 10, 250, 1);
    wait_for_threads(trace, 1, 250, 280, UINT64_C(1) << 32, threads);
    wait_for_threads(trace, 1, 290, 295, UINT64_C(1) << 32 | 1, threads);
    thread_event(trace, 1, 296, LULL_EVENT_THREAD_END, 1);
    wait_for_threads(trace, 2, 260, 280, UINT64_C(1) << 32, threads);
    wait_for_threads(trace, 2, 290, 295, UINT64_C(1) << 32 | 1, threads);
    thread_event(trace, 2, 310, LULL_EVENT_THREAD_END, 2);
    send_late(trace, 3);
    check_both(trace, 260 + 20 + 10 + 5 + 15);
}

static void a_barrier_waits_for_all(void **state)
{
    (void)state;
    come_to_barriers_for(2);
}

/* A third thread had paused when it came, so that nobody is waited for: what each measured stays.
 */
static void a_barrier_that_not_all_are_known_to_come_to_waits_for_nobody(void **state)
{
    (void)state;
    come_to_barriers_for(3);
}

/* Threads that nobody joins leave nothing behind for which the simulation would look again and
 * again: making and beginning are all that they have. */
static void what_nobody_waits_for_is_not_told(void **state)
{
    (void)state;
    struct lull_replay_options options = {0};
    struct lull_program *program;
    struct lull_error err = {""};
    struct lull_op ops[16];
    uint32_t count, n_syncs = 0;
    struct lull_trace *trace = two_processes(2);
    thread_event(trace, 0, 10, LULL_EVENT_THREAD_CREATE, 1);
    thread_event(trace, 0, 20, LULL_EVENT_THREAD_CREATE, 2); /* nothing else is known of it */
    visit(trace, 0, CREATE, 20, 20);
    thread_event(trace, 1, 10, LULL_EVENT_THREAD_BEGIN, 1);
    thread_event(trace, 1, 40, LULL_EVENT_THREAD_END, 1);
    fail_if(lull_replay_open(trace, &options, &program, &err) != LULL_OK, "%s", err.text);
    for (uint32_t s = 0; s < program->n_streams; s++)
        while (program->class->next(program, s, ops, 16, &count, &err) == LULL_OK && count > 0)
            for (uint32_t i = 0; i < count; i++)
                n_syncs += ops[i].kind == LULL_OP_SYNC;
    assert_int_equal(n_syncs, 2);
    lull_program_close(program);
    lull_trace_close(trace);
}

/* Barrier after barrier takes no more memory than one: also where the clock lets the first thread
 * leave at the moment at which the second one comes, which is ordered behind it. */
static void barriers_are_forgotten_when_all_have_left(void **state)
{
    (void)state;
    struct share *share = calloc(1, sizeof *share);
    struct crew crew = {.n_streams = 2};
    struct process process = {.crew = &crew};
    struct stream streams[2] = {{.process = &process}, {.process = &process}};
    static const uint8_t kinds[] = {LULL_STEP_THREAD_WAIT_BEGIN, LULL_STEP_THREAD_WAIT_END,
                                    LULL_STEP_THREAD_WAIT_BEGIN, LULL_STEP_THREAD_WAIT_END};
    assert_non_null(share);
    for (uint64_t number = 1; number <= 100; number++) {
        struct note notes[4];
        for (int i = 0; i < 4; i++) {
            notes[i] = (struct note){
                .kind = kinds[i], .op = LULL_THREAD_WAIT_BARRIER, .value = number, .number = 2};
            lull_lives_order(share, &crew, &notes[i]);
        }
        for (int i = 0; i < 4; i++)
            lull_lives_take(share, &streams[i / 2], &notes[i]);
        assert_int_equal(share->status, LULL_OK);
    }
    assert_int_equal(crew.n_barriers, 1);
    assert_int_equal(crew.barriers[0].size, 0);
    lull_lives_free(&crew);
    free(share);
}

/* A location holds two threads one after the other; the first one is joined when both have ended.
 * It is not known who made a third one, nor when a fourth one ended: nobody waits for them. */
static void what_is_not_known_is_not_waited_for(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(2);
    for (uint64_t n = 1; n < 3; n++) {
        const int64_t begin = 10 + 40 * ((int64_t)n - 1);
        thread_event(trace, 0, begin, LULL_EVENT_THREAD_CREATE, n);
        thread_event(trace, 1, begin, LULL_EVENT_THREAD_BEGIN, n);
        thread_event(trace, 1, begin + 30, LULL_EVENT_THREAD_END, n);
    }
    thread_event(trace, 1, 100, LULL_EVENT_THREAD_BEGIN, 3);
    thread_event(trace, 0, 120, LULL_EVENT_THREAD_CREATE, 4);
    visit(trace, 0, CREATE, 120, 120);
    send_or_receive(trace, 0, RECV, 120, 250, 1);
    wait_for_threads(trace, 0, 250, 260, 2, 0);
    wait_for_threads(trace, 0, 260, 270, 1, 0);
    wait_for_threads(trace, 0, 270, 280, 4, 0);
    thread_event(trace, 1, 140, LULL_EVENT_THREAD_END, 3);
    send_late(trace, 2);
    visit(trace, 1, OTHER, 140, 310);
    check_both(trace, 120 + 30 + 30);
}

TEST_GROUP(test_threads)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_meet_their_master),
        cmocka_unit_test(a_join_waits_for_the_end_of_its_thread),
        cmocka_unit_test(a_thread_begins_when_it_is_made),
        cmocka_unit_test(a_barrier_waits_for_all),
        cmocka_unit_test(a_barrier_that_not_all_are_known_to_come_to_waits_for_nobody),
        cmocka_unit_test(a_join_at_the_end_of_its_thread_waits_for_it),
        cmocka_unit_test(a_barrier_at_one_time_waits_for_all),
        cmocka_unit_test(what_nobody_waits_for_is_not_told),
        cmocka_unit_test(barriers_are_forgotten_when_all_have_left),
        cmocka_unit_test(what_is_not_known_is_not_waited_for)};
    return run_cases(tests, NULL, NULL);
}
