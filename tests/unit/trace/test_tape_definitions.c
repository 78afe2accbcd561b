/* Definitions of tapes: ids of processes become those of the run, communicators and teams are put
 * together. */
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* Two processes name the same things by different ids. */
static void test_ids_are_unified(void **state)
{
    (void)state;
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        definitions_begin(&definitions, p);
        define_region(&definitions, p ? 9 : 0, "common");
        define_region(&definitions, p ? 0 : 9, p ? "only 1" : "only 0");
        definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 3 + p, "Uuss", UINT64_C(7), 0u,
                        "PAPI_TOT_INS", "");
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape_call(&tape, 10, 0, 1);
        tape_call(&tape, 20, 9, 1);
        union lull_tape_slot *reading = tape_record(&tape, 30, LULL_TAPE_COUNTERS, 1, 0, 0);
        reading[1].u64[0] = 55;
        reading[1].u32[2] = 3 + p;
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    assert_int_equal(run.trace->n_regions, 3);
    assert_int_equal(run.trace->n_counters, 1);
    assert_int_equal(run.trace->counters[0].role, LULL_COUNTER_INSTRUCTIONS);
    struct same_sequence a = run_events(0), b = run_events(1);
    assert_string_equal(run.trace->regions[a.events[0].id].name, "common");
    assert_string_equal(run.trace->regions[a.events[1].id].name, "only 0");
    assert_string_equal(run.trace->regions[b.events[0].id].name, "only 1");
    assert_string_equal(run.trace->regions[b.events[1].id].name, "common");
    assert_int_equal(a.events[2].readings.values[0].counter, 0);
    assert_int_equal(b.events[2].readings.values[0].counter, 0);
}

/* A recorder was killed while it gave up every second of six readings, at times 10 to 60: it had put those of
 * 30 and 50 in the places of 20 and 30, and was about to put another one into the third place, whose bytes
 * are 0. One of no bytes at the end, and one of more than there can be, do not count either. Times are in
 * ticks of 2 ns; the run begins at tick 5, and ends at tick 65. */
static void test_readings_of_memory(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    definitions_begin(&definitions, 0);
    define_region(&definitions, 1, "main");
    definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(0), UINT64_C(0), 0.0);
    definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(100), UINT64_C(200),
                    0.0);
    definitions_add(&definitions, LULL_TAPE_DEFINE_READINGS, 0, "UUUUUUUUUUUUUUUU", UINT64_C(10),
                    UINT64_C(100), UINT64_C(30), UINT64_C(300), UINT64_C(50), UINT64_C(0),
                    UINT64_C(40), UINT64_C(400), UINT64_C(30), UINT64_C(1), UINT64_C(60),
                    UINT64_C(600), UINT64_C(62), UINT64_MAX, UINT64_C(0), UINT64_C(0));
    definitions_write(&definitions, run.path);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 5, 1, 60);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    static const struct lull_memory_reading expected[] = {
        {10, 100}, {50, 300}, {70, 400}, {110, 600}};
    const struct lull_process *process = &run.trace->processes[0];
    assert_int_equal(process->n_readings, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(process->readings[i].time, expected[i].time);
        assert_int_equal(process->readings[i].bytes, expected[i].bytes);
    }
}

/* Of what a script has started under two ranks: two programs without MPI, each of which knows its
 * rank, and one with MPI; and one more under rank 1 alone. No application has a rank twice. */
static void test_programs_of_a_script(void **state)
{
    (void)state;
    static const struct {
        uint32_t rank, world, application;
    } processes[] = {{0, 0, 1}, {1, 0, 1}, {0, 2, 0}, {1, 2, 0}, {1, 0, 2}, {0, 0, 2}, {1, 0, 3}};
    const uint32_t n = sizeof processes / sizeof *processes;
    for (uint32_t p = 0; p < n; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        definitions_begin(&definitions, p);
        define_region(&definitions, 0, "main");
        definitions_add(&definitions, LULL_TAPE_DEFINE_PROCESS, p, "uuus", 0u, processes[p].rank,
                        UINT32_MAX, "a program");
        if (processes[p].world)
            definitions_add(&definitions, LULL_TAPE_DEFINE_WORLD, 0, "uuu", 0u, processes[p].world,
                            processes[p].rank);
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape_call(&tape, 10, 0, 1);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    assert_int_equal(run.trace->n_applications, 4);
    for (uint32_t p = 0; p < n; p++) {
        assert_int_equal(run.trace->processes[p].rank, processes[p].rank);
        assert_int_equal(run.trace->processes[p].application, processes[p].application);
    }
}

/* The members of a communicator are listed by one process; the key tells that they are the same. */
static void test_communicators_by_key(void **state)
{
    (void)state;
    static const uint32_t even[] = {4, 0, 2};
    for (uint32_t p = 0; p < 6; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, 6);
        if (p % 2 == 0) /* by another id in each process */
            define_comm(&definitions, 10 + p, 77, 3, p == 2 ? even : NULL, UINT32_MAX, "even");
        define_comm(&definitions, 30, 0, 1, &p, UINT32_MAX, "self");
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        if (p % 2 == 0)
            tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 5, 1, 42, 10 + p, 1000);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 20, 1, 5, 0, 43, 30, 2000);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    assert_int_equal(run.trace->n_comms, 1 + 1 + 6);
    for (uint32_t p = 0; p < 6; p += 2) {
        struct same_sequence events = run_events(p);
        check_event(&events, 0, LULL_EVENT_CALL, 0);
        check_event(&events, 1, LULL_EVENT_SEND, 0);
        const struct lull_comm *comm = &run.trace->comms[events.events[1].id];
        assert_string_equal(comm->name, "even");
        assert_int_equal(comm->size, 3);
        for (uint32_t r = 0; r < 3; r++)
            assert_int_equal(lull_comm_member(comm, r), even[r]);
        assert_int_equal(events.events[1].message.peer, 0); /* rank 1 there */
        assert_int_equal(events.events[1].message.tag, 42);
        assert_int_equal(events.events[1].message.bytes, 1000);
        check_event(&events, 3, LULL_EVENT_SEND, 10);
        assert_int_equal(events.events[3].message.peer, p); /* rank 0 of its own "self" */
    }
}

static void test_intercommunicator(void **state)
{
    (void)state;
    static const uint32_t left[] = {2, 0}, right[] = {3, 1};
    for (uint32_t p = 0; p < 4; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        bool is_left = p % 2 == 0;
        define_process(&definitions, p, 4);
        /* id 5: the own side, 6: the other */
        define_comm(&definitions, 5, is_left ? 100 : 200, 2, is_left ? left : right, 6, "own");
        define_comm(&definitions, 6, is_left ? 200 : 100, 2, is_left ? right : left, 5, "other");
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 1, 0, 1, 5, 8);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 20, 1, 1, 1, 1, 5, 8);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    for (uint32_t p = 0; p < 4; p++) {
        struct same_sequence events = run_events(p);
        const uint32_t *others = p % 2 == 0 ? right : left;
        assert_int_equal(events.events[1].message.peer, others[0]);
        assert_int_equal(events.events[3].message.peer, others[1]);
        assert_int_equal(run.trace->comms[run.trace->comms[events.events[1].id].remote].remote,
                         events.events[1].id);
    }
}

static void define_far(struct definitions_maker *maker, uint32_t id, uint64_t link, uint64_t own,
                       uint64_t theirs, const uint32_t *members)
{
    definitions_add(maker, LULL_TAPE_DEFINE_FAR, id, "UUUuuuuu", link, own, theirs, 2U, 0U, 2U,
                    members[0], members[1]);
}

/* Two intercommunicators of the same groups, with ids 5 and 6, and the links that their leaders
 * know, processes 0 and 1. Their keys are not known to the other group. */
static void write_halves(const uint64_t *links, uint32_t processes)
{
    static const uint32_t left[] = {0, 2}, right[] = {1, 3};
    for (uint32_t p = 0; p < processes; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        const bool is_left = p % 2 == 0;
        const uint32_t *own = is_left ? left : right, *far = is_left ? right : left;
        define_process(&definitions, p, processes);
        define_comm(&definitions, 5, is_left ? 100 : 200, 2, own, UINT32_MAX, "first");
        define_far(&definitions, 5, p < 2 ? links[0] : 0, is_left ? 10 : 20, is_left ? 20 : 10,
                   far);
        define_comm(&definitions, 6, is_left ? 101 : 201, 2, own, UINT32_MAX, "second");
        define_far(&definitions, 6, p < 2 ? links[1] : 0, is_left ? 11 : 21, is_left ? 21 : 11,
                   far);
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        for (uint32_t comm = 5; comm < 7; comm++)
            tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10 * comm, 1, 1, 1, 1, comm, 8);
        tape_write(&tape, run.path, 0);
    }
}

static void check_halves(void)
{
    for (unsigned which = 0; which < 2; which++) {
        const uint32_t left = run_events(0).events[1 + 2 * which].id;
        const uint32_t right = run_events(1).events[1 + 2 * which].id;
        assert_int_equal(run.trace->comms[left].remote, right);
        assert_int_equal(run.trace->comms[right].remote, left);
        assert_int_equal(run_events(2).events[1 + 2 * which].id, left);
        assert_int_equal(run_events(3).events[1 + 2 * which].id, right);
        for (uint32_t p = 0; p < 4; p++)
            assert_int_equal(run_events(p).events[1 + 2 * which].message.peer, p % 2 == 0 ? 3 : 2);
    }
}

static void test_linked_halves(void **state)
{
    (void)state;
    write_halves((const uint64_t[]){77, 78}, 4);
    run_open(run.path);
    check_halves();
}

/* Nobody knows a link: groups that describe each other. */
static void test_halves_without_leaders(void **state)
{
    (void)state;
    write_halves((const uint64_t[]){0, 0}, 4);
    run_open(run.path);
    check_halves();
}

/* A link says more than what the groups are called: the leaders have made them in another order. */
static void test_link_comes_first(void **state)
{
    (void)state;
    static const uint32_t left[] = {0}, right[] = {1};
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, 2);
        for (uint32_t i = 0; i < 2; i++) {
            define_comm(&definitions, 5 + i, 100 * (p + 1) + i, 1, p ? right : left, UINT32_MAX,
                        "");
            definitions_add(&definitions, LULL_TAPE_DEFINE_FAR, 5 + i, "UUUuuuu",
                            (uint64_t)(p ? 78 - i : 77 + i), (uint64_t)(p ? 20 + i : 10 + i),
                            (uint64_t)(p ? 10 + i : 20 + i), 1U, 0U, 1U, p ? 0U : 1U);
        }
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        for (uint32_t comm = 5; comm < 7; comm++)
            tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10 * comm, 1, 1, 0, 1, comm, 8);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    const struct same_sequence a = run_events(0), b = run_events(1);
    assert_int_equal(run.trace->comms[a.events[1].id].remote, b.events[3].id);
    assert_int_equal(run.trace->comms[a.events[3].id].remote, b.events[1].id);
}

/* The threads of a team are numbers in their process. */
static void test_teams(void **state)
{
    (void)state;
    const uint32_t openmp = LULL_PARADIGM_OPENMP, none = UINT32_MAX;
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker definitions;
        define_process(&definitions, p, 2);
        definitions_add(&definitions, LULL_TAPE_DEFINE_COMM, 7, "Uuuuuuuuus", UINT64_C(0), openmp,
                        2u, 0u, none, none, 2u, 2u, 0u, "listed team");
        definitions_add(&definitions, LULL_TAPE_DEFINE_COMM, 8, "Uuuuuuus", UINT64_C(0), openmp, 2u,
                        1u, none, none, 0u, "consecutive team");
        definitions_write(&definitions, run.path);
        for (uint32_t n = 0; n < 3; n++) {
            struct tape_maker tape;
            tape_begin(&tape, p, n);
            tape_record(&tape, 5, LULL_TAPE_NUMBER, 1, 7, LULL_TAPE_NUMBER_TEAM_BEGIN);
            tape_record(&tape, 6, LULL_TAPE_NUMBER, 1, 8, LULL_TAPE_NUMBER_TEAM_BEGIN);
            tape_write(&tape, run.path, 0);
        }
    }
    run_open(run.path);
    for (uint32_t p = 0; p < 2; p++) {
        struct same_sequence events = run_events(3 * p);
        check_event(&events, 0, LULL_EVENT_TEAM_BEGIN, 0);
        const struct lull_comm *listed = &run.trace->comms[events.events[0].id];
        const struct lull_comm *consecutive = &run.trace->comms[events.events[1].id];
        assert_int_equal(lull_comm_member(listed, 0), 3 * p + 2);
        assert_int_equal(lull_comm_member(listed, 1), 3 * p);
        assert_int_equal(lull_comm_member(consecutive, 0), 3 * p + 1);
        assert_int_equal(lull_comm_member(consecutive, 1), 3 * p + 2);
    }
}

/* The same node definition under different parents is two nodes. */
static void test_nodes(void **state)
{
    (void)state;
    for (uint32_t p = 0; p < 3; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, 3);
        definitions_add(&definitions, LULL_TAPE_DEFINE_NODE, 0, "uss", UINT32_MAX,
                        p == 2 ? "partition B" : "partition A", "machine");
        definitions_add(&definitions, LULL_TAPE_DEFINE_NODE, 1, "uss", 0u, "n1", "node");
        definitions_add(&definitions, LULL_TAPE_DEFINE_PROCESS, p, "uuus", 0u, p, 1u, "rank");
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    assert_int_equal(run.trace->n_nodes, 4);
    assert_int_equal(run.trace->processes[0].node, run.trace->processes[1].node);
    assert_int_not_equal(run.trace->processes[0].node, run.trace->processes[2].node);
    for (uint32_t p = 0; p < 3; p++) {
        const struct lull_node *node = &run.trace->nodes[run.trace->processes[p].node];
        assert_string_equal(node->name, "n1");
        assert_string_equal(run.trace->nodes[node->parent].name,
                            p == 2 ? "partition B" : "partition A");
    }
}

/* Worlds that were spawned by the first and the third call, the second having failed; of the third,
 * ranks 1 and 2 were not recorded. */
static void test_spawned(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {0, 1, 100, 102}, applications[] = {0, 0, 1, 3};
    static const uint32_t all[] = {0, 1, 102, 103, 104}, known[] = {0, 1, 3};
    char path[4500];
    snprintf(path, sizeof path, "%s/" LULL_TAPE_SPAWNED_NAME, run.path);
    assert_int_equal(mkdir(path, 0777), 0);
    for (uint32_t i = 0; i < 4; i++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        definitions_begin(&definitions, numbers[i]);
        definitions_add(&definitions, LULL_TAPE_DEFINE_PROCESS, numbers[i], "uuus", applications[i],
                        numbers[i] % 2, UINT32_MAX, "rank");
        define_region(&definitions, 0, "MPI_Send");
        define_comm(&definitions, 0, 9, 5, all, UINT32_MAX, "all");
        if (i == 3)
            definitions_add(&definitions, LULL_TAPE_DEFINE_COMM, 1, "Uuuuuuus", UINT64_C(8), 2u, 3u,
                            102u, UINT32_MAX, UINT32_MAX, 0u, "row");
        definitions_write(&definitions, run.path);
        tape_begin(&tape, numbers[i], 0);
        if (i == 0)
            tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 0, 5, 3, 42, 0, 1000);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    assert_int_equal(run.trace->n_applications, 3);
    for (uint32_t p = 0; p < 4; p++)
        assert_int_equal(run.trace->processes[p].application, p < 2 ? 0 : p - 1);
    assert_int_equal(run.trace->n_comms, 2);
    assert_int_equal(run.trace->comms[1].size, 1);
    assert_int_equal(lull_comm_member(&run.trace->comms[1], 0), 3);
    assert_int_equal(run.trace->comms[0].size, 3);
    for (uint32_t r = 0; r < 3; r++)
        assert_int_equal(lull_comm_member(&run.trace->comms[0], r), known[r]);
    struct same_sequence events = run_events(0);
    assert_int_equal(events.events[1].message.peer, LULL_PROC_NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_definitions)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ids_are_unified),
        TEST(test_readings_of_memory),
        TEST(test_programs_of_a_script),
        TEST(test_communicators_by_key),
        TEST(test_intercommunicator),
        TEST(test_linked_halves),
        TEST(test_halves_without_leaders),
        TEST(test_link_comes_first),
        TEST(test_teams),
        TEST(test_nodes),
        TEST(test_spawned),
    };
    return run_cases(tests, NULL, NULL);
}
