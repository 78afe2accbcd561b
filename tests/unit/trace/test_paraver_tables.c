/* What states, MPI calls and processes are called where no .pcf says it. Names of states are typed in
 * from a .pcf that Extrae wrote, numbers of MPI calls from Extrae's list of event values. */
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define HEADER "#Paraver (01/02/2026 at 10:20):1000_ns:1(2):1:1(1:1),0\n"

static struct lull_error err;
static struct lull_trace *trace;
static struct same_sequence *sequences; /* per location */

static int set_up(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_trace_close(trace);
    trace = NULL;
    folder_remove();
    return 0;
}

static void read_text(const char *text)
{
    folder_write(folder_path("run.prv"), text, strlen(text));
    lull_trace_close(trace);
    trace = NULL;
    fail_if(lull_trace_open(folder_path("run.prv"), &trace, &err) != LULL_OK, "%s", err.text);
    fail_if(collect_by_scan(trace, LULL_MASK_ALL, 1, trace->arena, &sequences, &err) != LULL_OK,
            "%s", err.text);
}

/* A state of 10 ns for each number. */
static void test_states(void **state)
{
    (void)state;
    static const char *const names[] = {"Idle",
                                        "Running",
                                        "Not created",
                                        "Waiting a message",
                                        "Blocking Send",
                                        "Synchronization",
                                        "Test/Probe",
                                        "Scheduling and Fork/Join",
                                        "Wait/WaitAll",
                                        "Blocked",
                                        "Immediate Send",
                                        "Immediate Receive",
                                        "I/O",
                                        "Group Communication",
                                        "Tracing Disabled",
                                        "Others",
                                        "Send Receive",
                                        "Memory transfer",
                                        "Profiling",
                                        "On-line analysis",
                                        "Remote memory access",
                                        "Atomic memory operation",
                                        "Memory ordering operation",
                                        "Distributed locking",
                                        "Overhead",
                                        "One-sided op",
                                        "Startup latency",
                                        "Waiting links",
                                        "Data copy",
                                        "RTT",
                                        "Allocating memory",
                                        "Freeing memory"};
    enum { STATES = sizeof names / sizeof *names };
    char text[4096] = HEADER;
    for (size_t i = 0; i < STATES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "1:1:1:1:1:%zu:%zu:%zu\n", 10 * i,
                 10 * i + 10, i);
    read_text(text);
    bool seen[STATES] = {false};
    for (size_t i = 0; i < sequences[0].count; i++) {
        const struct lull_event *event = &sequences[0].events[i];
        if (event->kind != LULL_EVENT_STATE)
            continue;
        const size_t number = (size_t)event->time / 10;
        assert_true(number < STATES);
        assert_string_equal(trace->states[event->id].name, names[number]);
        seen[number] = true;
    }
    for (size_t i = 0; i < STATES; i++)
        fail_if(!seen[i], "no state %zu", i);
}

/* Type 50000002, collective operations; value 0 leaves. */
static void test_collective_calls(void **state)
{
    (void)state;
    static const struct {
        unsigned value;
        const char *name;
    } calls[] = {{7, "MPI_Bcast"},      {8, "MPI_Barrier"},    {9, "MPI_Reduce"},
                 {10, "MPI_Allreduce"}, {11, "MPI_Alltoall"},  {12, "MPI_Alltoallv"},
                 {13, "MPI_Gather"},    {14, "MPI_Gatherv"},   {15, "MPI_Scatter"},
                 {16, "MPI_Scatterv"},  {17, "MPI_Allgather"}, {18, "MPI_Allgatherv"}};
    enum { CALLS = sizeof calls / sizeof *calls };
    char text[4096] = HEADER;
    for (size_t i = 0; i < CALLS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "2:1:1:1:1:%zu:50000002:%u\n2:1:1:1:1:%zu:50000002:0\n", 10 * i, calls[i].value,
                 10 * i + 5);
    read_text(text);
    size_t n = 0;
    for (size_t i = 0; i < sequences[0].count; i++) {
        const struct lull_event *event = &sequences[0].events[i];
        if (event->kind != LULL_EVENT_ENTER)
            continue;
        assert_true(n < CALLS);
        assert_string_equal(trace->regions[event->id].name, calls[n].name);
        n++;
    }
    assert_int_equal(n, CALLS);
}

/* Of several applications, all but the first are named, counted from 1 as Paraver does. */
static void test_processes_of_applications(void **state)
{
    (void)state;
    read_text("#Paraver (01/02/2026 at 10:20):9_ns:1(4):3:2(1:1,1:1),1(1:1),1(1:1)\n");
    assert_int_equal(trace->n_processes, 4);
    assert_string_equal(trace->processes[0].name, "rank 0");
    assert_string_equal(trace->processes[1].name, "rank 1");
    assert_string_equal(trace->processes[2].name, "application 2 rank 0");
    assert_string_equal(trace->processes[3].name, "application 3 rank 0");
}

/* A .pcf that lists the values of a type says how they are called, whether it lists 0 or not. */
static void test_listed_values(void **state)
{
    (void)state;
    for (int with_zero = 0; with_zero < 2; with_zero++) {
        char pcf[256];
        snprintf(pcf, sizeof pcf,
                 "EVENT_TYPE\n9    50000001    MPI Point-to-point\nVALUES\n1      my_send\n%s\n",
                 with_zero ? "0      Outside MPI\n" : "");
        folder_write(folder_path("run.pcf"), pcf, strlen(pcf));
        read_text(HEADER "2:1:1:1:1:10:50000001:1\n2:1:1:1:1:15:50000001:0\n");
        bool entered = false;
        for (size_t i = 0; i < sequences[0].count; i++)
            if (sequences[0].events[i].kind == LULL_EVENT_ENTER) {
                entered = true;
                assert_string_equal(trace->regions[sequences[0].events[i].id].name, "my_send");
            }
        assert_true(entered);
    }
}

TEST_GROUP(test_paraver_tables)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_collective_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_processes_of_applications, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_listed_values, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
