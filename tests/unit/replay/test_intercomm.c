/* Operations between two groups, worked out by hand. With a root, that and the other group take
 * part, and the others of the root's group pass by; without one each group waits for the other. */
#include "replay/ideal/ideal.h"
#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "support/memory_trace.h"
#include "support/test.h"

enum { BCAST, REDUCE, BARRIER, ALLREDUCE, DUP, FINALIZE };
static const char *const names[] = {"MPI_Bcast",    "MPI_Reduce",   "MPI_Barrier", "MPI_Allreduce",
                                    "MPI_Comm_dup", "MPI_Finalize", NULL};
static const uint8_t operations[] = {LULL_COLLECTIVE_BCAST, LULL_COLLECTIVE_REDUCE,
                                     LULL_COLLECTIVE_BARRIER, LULL_COLLECTIVE_ALLREDUCE,
                                     LULL_COLLECTIVE_CREATE};

/* Processes 0 and 1 on one side, 2 and 3 on the other; each side knows the intercommunicator by a
 * number of its own. */
static struct lull_trace *two_groups(void)
{
    struct lull_trace *trace = memory_trace_simple(4, 1, 1000, names);
    trace->n_comms = 2;
    trace->comms = lull_arena_zero(trace->arena, 2, sizeof *trace->comms);
    for (uint32_t side = 0; side < 2; side++)
        trace->comms[side] = (struct lull_comm){.name = "between",
                                                .size = 2,
                                                .first = 2 * side,
                                                .parent = LULL_NONE,
                                                .remote = 1 - side,
                                                .paradigm = LULL_PARADIGM_MPI};
    return trace;
}

/* The root says that it is no more than that it sends or receives data. */
enum { ROOT = -100 };

static void take_part(struct lull_trace *trace, uint32_t process, uint32_t region, int64_t begin,
                      int64_t end, int32_t root)
{
    const bool is_root = root == ROOT;
    uint32_t comm = process / 2;
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, region),
                                  memory_event(begin, LULL_EVENT_COLLECTIVE_BEGIN, comm),
                                  memory_event(end, LULL_EVENT_COLLECTIVE_END, comm),
                                  memory_event(end, LULL_EVENT_LEAVE, region)};
    for (int i = 0; i < 4; i++) {
        events[i].op = operations[region];
        events[i].collective.request = LULL_NO_REQUEST;
        events[i].collective.root = is_root ? LULL_ANY : root;
        events[i].collective.sent = is_root;
        memory_trace_add(trace, process, &events[i]);
    }
}

/* On the ideal network, which lasts as long as the ideal runtime says; closes the trace. What comes
 * behind the last event of a process is MPI. */
static void replay(struct lull_trace *trace, int64_t ret_ends[4])
{
    const uint32_t n = trace->n_processes;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_replay_options options = {0};
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    struct lull_error err = {""};
    memory_trace_end_in(trace, FINALIZE);
    lull_network_init(&network, lull_network_find("ideal"));
    fail_if(lull_replay_open(trace, &options, &program, &err) != LULL_OK ||
                lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    for (uint32_t p = 0; p < n; p++)
        ret_ends[p] = result.ranks[p].end;
    struct lull_ideal_options wished = {0};
    struct lull_ideal_result ideal;
    fail_if(lull_ideal_runtime(trace, &wished, arena, &ideal, &err) != LULL_OK, "%s", err.text);
    assert_null(ideal.absent);
    assert_int_equal(ideal.runtime, result.runtime);
    lull_program_close(program);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

/* Process 1 sends at 300 and is not waited for by process 0. */
static void a_broadcast_reaches_the_other_group(void **state)
{
    (void)state;
    int64_t ends[4];
    struct lull_trace *trace = two_groups();
    take_part(trace, 0, BCAST, 10, 20, LULL_ANY);
    take_part(trace, 1, BCAST, 300, 310, ROOT);
    take_part(trace, 2, BCAST, 50, 320, 1);
    take_part(trace, 3, BCAST, 400, 410, 1);
    replay(trace, ends);
    assert_int_equal(ends[0], 10);
    assert_int_equal(ends[1], 300);
    assert_int_equal(ends[2], 300);
    assert_int_equal(ends[3], 400);
}

/* Process 3 waits for both of the other side; a barrier of all is counted right
 * behind an operation in which not all took part. */
static void a_reduction_comes_from_the_other_group(void **state)
{
    (void)state;
    int64_t ends[4];
    struct lull_trace *trace = two_groups();
    take_part(trace, 0, REDUCE, 200, 210, 3);
    take_part(trace, 1, REDUCE, 100, 110, 3);
    take_part(trace, 2, REDUCE, 50, 60, LULL_ANY);
    take_part(trace, 3, REDUCE, 10, 220, ROOT);
    replay(trace, ends);
    assert_int_equal(ends[2], 50);
    assert_int_equal(ends[3], 200);

    trace = two_groups();
    take_part(trace, 0, REDUCE, 200, 210, 3);
    take_part(trace, 1, REDUCE, 100, 110, 3);
    take_part(trace, 2, REDUCE, 50, 60, LULL_ANY);
    take_part(trace, 3, REDUCE, 10, 220, ROOT);
    for (uint32_t p = 0; p < 4; p++)
        take_part(trace, p, BARRIER, 225, 230, LULL_ANY);
    replay(trace, ends);
    for (int p = 0; p < 4; p++)
        assert_int_equal(ends[p], 200 + 15); /* process 0, like 1 (100 + 115) and 2 (50 + 165) */
}

/* One of the group of the root is late, and nobody waits for it: else the root, which is the last
 * to end, would end later. */
static void the_group_of_the_root_is_not_waited_for(void **state)
{
    (void)state;
    int64_t ends[4];
    struct lull_trace *trace = two_groups();
    take_part(trace, 0, REDUCE, 10, 20, ROOT);
    take_part(trace, 1, REDUCE, 500, 510, LULL_ANY);
    take_part(trace, 2, REDUCE, 30, 40, 0);
    take_part(trace, 3, REDUCE, 100, 110, 0);
    take_part(trace, 0, BCAST, 620, 630, 3);
    take_part(trace, 1, BCAST, 530, 600, 3);
    take_part(trace, 2, BCAST, 200, 210, LULL_ANY);
    take_part(trace, 3, BCAST, 310, 320, ROOT);
    replay(trace, ends);
    assert_int_equal(ends[0], 100 + 600);
    assert_int_equal(ends[1], 500 + 20);
    assert_int_equal(ends[2], 30 + 160);
    assert_int_equal(ends[3], 100 + 200);
}

/* Process 0 is late: its own group goes on when the other one has come, and that waits for it. */
static void an_exchange_waits_for_the_other_group(void **state)
{
    (void)state;
    static const uint32_t exchanges[] = {BARRIER, ALLREDUCE};
    for (int i = 0; i < 2; i++) {
        int64_t ends[4];
        struct lull_trace *trace = two_groups();
        take_part(trace, 0, exchanges[i], 300, 410, LULL_ANY);
        take_part(trace, 1, exchanges[i], 10, 410, LULL_ANY);
        take_part(trace, 2, exchanges[i], 50, 410, LULL_ANY);
        take_part(trace, 3, exchanges[i], 100, 410, LULL_ANY);
        replay(trace, ends);
        assert_int_equal(ends[0], 300);
        assert_int_equal(ends[1], 100);
        assert_int_equal(ends[2], 300);
        assert_int_equal(ends[3], 300);
    }
}

/* A communicator is there when all of both groups have agreed on it. */
static void making_a_communicator_waits_for_both_groups(void **state)
{
    (void)state;
    int64_t ends[4];
    struct lull_trace *trace = two_groups();
    for (uint32_t p = 0; p < 4; p++)
        take_part(trace, p, DUP, 10 + 100 * (3 - p), 410, LULL_ANY);
    replay(trace, ends);
    for (int p = 0; p < 4; p++)
        assert_int_equal(ends[p], 310);
}

/* Nobody of the other group was recorded, as where a program spawns a script: nobody is waited for. */
static void a_group_that_was_not_recorded_is_not_waited_for(void **state)
{
    (void)state;
    static const uint32_t exchanges[] = {BARRIER, ALLREDUCE, DUP};
    for (int i = 0; i < 3; i++) {
        int64_t ends[4];
        struct lull_trace *trace = memory_trace_simple(2, 1, 1000, names);
        trace->n_comms = 2;
        trace->comms = lull_arena_zero(trace->arena, 2, sizeof *trace->comms);
        for (uint32_t side = 0; side < 2; side++)
            trace->comms[side] = (struct lull_comm){.name = "between",
                                                    .size = side == 0 ? 2 : 0,
                                                    .parent = LULL_NONE,
                                                    .remote = 1 - side,
                                                    .paradigm = LULL_PARADIGM_MPI};
        take_part(trace, 0, REDUCE, 30, 60, ROOT);
        take_part(trace, 1, REDUCE, 10, 20, LULL_ANY);
        take_part(trace, 0, BCAST, 70, 80, LULL_PROC_NULL);
        take_part(trace, 1, BCAST, 70, 80, LULL_PROC_NULL);
        take_part(trace, 0, exchanges[i], 100, 410, LULL_ANY);
        take_part(trace, 1, exchanges[i], 120, 410, LULL_ANY);
        replay(trace, ends);
        assert_int_equal(ends[1], 10 + 50 + 40);
        /* All who were recorded agree on a new communicator. */
        assert_int_equal(ends[0], exchanges[i] == DUP ? ends[1] : 30 + 10 + 20);
    }
}

TEST_GROUP(test_intercomm)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broadcast_reaches_the_other_group),
        cmocka_unit_test(a_reduction_comes_from_the_other_group),
        cmocka_unit_test(the_group_of_the_root_is_not_waited_for),
        cmocka_unit_test(an_exchange_waits_for_the_other_group),
        cmocka_unit_test(making_a_communicator_waits_for_both_groups),
        cmocka_unit_test(a_group_that_was_not_recorded_is_not_waited_for)};
    return run_cases(tests, NULL, NULL);
}
