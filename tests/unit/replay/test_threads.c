/* MPI called by threads inside parallel regions, worked out by hand. */
#include "replay/ideal/ideal.h"
#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "support/memory_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PARALLEL, SEND, RECV, OTHER };
static const char *const names[] = {"OpenMP Parallel", "MPI_Send", "MPI_Recv", "MPI_Comm_rank",
                                    NULL};

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
    if (lull_ideal_runtime(trace, &options, arena, &ideal, &err) != LULL_OK)
        fail_msg("%s", err.text);
    if (ideal.absent)
        fail_msg("%s: %s", ideal.absent, ideal.detail);
    assert_int_equal(ideal.runtime, 230);

    struct lull_replay_options replayed = {.callers = callers};
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    lull_network_init(&network, lull_network_find("ideal"));
    if (lull_replay_open(trace, &replayed, &program, &err) != LULL_OK ||
        lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(program->n_streams, 4);
    assert_int_equal(result.runtime, 230);
    lull_program_close(program);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_meet_their_master)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
