/* Several open a run together: who reads what, and runs of more processes than are told of at a
 * time. That the run is the same for all, the other tests of tapes see with theirs (together.h). */
#include "support/container_maker.h"
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/format/tape/tape_share.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint32_t owner_of[6]; /* whom a process is to be read by */

/* What the ids of a process mean, its owner alone has looked for, until others read it. */
static void check_own(unsigned member, const struct lull_trace *trace)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence sequence;
    struct lull_error err;
    for (uint32_t p = 0; p < 6; p++)
        assert_int_equal(data->scopes[p].maps[LULL_TAPE_MAP_REGION].count > 0,
                         owner_of[p] == member);
    for (uint32_t p = 0; p < 6; p++) {
        assert_int_equal(collect_by_cursor(trace, p, 0, arena, &sequence, &err), LULL_OK);
        assert_int_equal(sequence.count, 1);
        assert_string_equal(trace->regions[sequence.events[0].id].name, "MPI_Bcast");
        assert_true(data->scopes[p].maps[LULL_TAPE_MAP_REGION].count > 0);
    }
    lull_arena_destroy(arena);
}

static void write_process(uint32_t process)
{
    struct tape_maker tape;
    begin_process(&tape, process, 6);
    tape_call(&tape, 10 + process, 6, 5);
    tape_write(&tape, run.path, 0);
}

static void test_neighbours(void **state)
{
    (void)state;
    static const uint32_t of_two[] = {0, 0, 0, 1, 1, 1}, of_four[] = {0, 0, 1, 2, 2, 3},
                          of_seven[] = {0, 1, 2, 3, 4, 5};
    static const struct {
        unsigned members;
        const uint32_t *owners;
    } cases[] = {{2, of_two}, {4, of_four}, {7, of_seven}};
    for (uint32_t p = 0; p < 6; p++)
        write_process(p);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        memcpy(owner_of, cases[c].owners, sizeof owner_of);
        together_look(run.path, cases[c].members, check_own);
    }
}

static void make_process(struct process_maker *maker, uint32_t process)
{
    struct definitions_maker definitions;
    struct tape_maker tape;
    *maker = (struct process_maker){.process = process};
    define_process(&definitions, process, 6);
    process_add_definitions(maker, &definitions);
    tape_begin(&tape, process, 0);
    tape_call(&tape, 10 + process, 6, 5);
    process_add_location(maker, &tape, 1, false);
}

/* Ranks are dealt out to nodes; each file of a node is one member's. */
static void test_nodes(void **state)
{
    (void)state;
    static const char *const names[] = {"a.tapes", "b.tapes"};
    for (uint32_t n = 0; n < 2; n++) {
        struct process_maker processes[3];
        struct container_maker maker = {0};
        for (uint32_t i = 0; i < 3; i++)
            make_process(&processes[i], n + 2 * i);
        container_make(&maker, processes, 3);
        container_write(&maker, run.path, names[n]);
        container_free(&maker);
        for (uint32_t i = 0; i < 3; i++)
            process_free(&processes[i]);
    }
    memcpy(owner_of, (const uint32_t[]){0, 1, 0, 1, 0, 1}, sizeof owner_of);
    together_look(run.path, 2, check_own);
    memcpy(owner_of, (const uint32_t[]){0, 2, 0, 2, 0, 2}, sizeof owner_of);
    together_look(run.path, 5, check_own); /* of whom three have nothing to do */
    together_check(run.path);
}

/* Three nodes of two ranks. */
static void test_three_nodes(void **state)
{
    (void)state;
    static const char *const names[] = {"a.tapes", "b.tapes", "c.tapes"};
    for (uint32_t n = 0; n < 3; n++) {
        struct process_maker processes[2];
        struct container_maker maker = {0};
        for (uint32_t i = 0; i < 2; i++)
            make_process(&processes[i], n + 3 * i);
        container_make(&maker, processes, 2);
        container_write(&maker, run.path, names[n]);
        container_free(&maker);
        for (uint32_t i = 0; i < 2; i++)
            process_free(&processes[i]);
    }
    memcpy(owner_of, (const uint32_t[]){0, 1, 2, 0, 1, 2}, sizeof owner_of);
    together_look(run.path, 3, check_own);
    together_check(run.path);
}

static void test_more_than_at_a_time(void **state)
{
    (void)state;
    enum { PROCESSES = 2 * LULL_TAPE_AT_A_TIME + 1 };
    struct lull_error difference;
    char group[4500];
    for (int g = 1; g <= PROCESSES / LULL_TAPE_GROUP; g++) {
        snprintf(group, sizeof group, "%s/%d", run.path, g);
        assert_int_equal(mkdir(group, 0777), 0);
    }
    run_empty_processes(0, PROCESSES, PROCESSES);
    fail_if(!opens_together(run.path, 2, &difference), "%s", difference.text);
}

TEST_GROUP(test_tape_together)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_neighbours, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_nodes, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_more_than_at_a_time, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_three_nodes, run_set_up, run_tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
