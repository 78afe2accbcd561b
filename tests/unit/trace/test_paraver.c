/* The Paraver reader on traces written by hand: what each record becomes. */
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/test.h"
#include "trace/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "#Paraver (01/02/2026 at 10:20):1000_ns:1(2):1:2(1:1,1:1),1\nc:1:1:2:1:2\n"

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

static void write_text(const char *name, const char *text)
{
    folder_write(folder_path(name), text, strlen(text));
}

static void open_text(const char *text)
{
    write_text("run.prv", text);
    lull_trace_close(trace);
    trace = NULL;
    fail_if(lull_trace_open(folder_path("run.prv"), &trace, &err) != LULL_OK, "%s", err.text);
}

static void read_text(const char *text)
{
    open_text(text);
    fail_if(collect_by_scan(trace, LULL_MASK_ALL, 1, trace->arena, &sequences, &err) != LULL_OK,
            "%s", err.text);
}

/* Reading must fail, with a message that holds `expected`. */
static void refuse(const char *text, const char *expected)
{
    struct lull_trace *bad = NULL;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *unused;
    write_text("bad.prv", text);
    lull_status status = lull_trace_open(folder_path("bad.prv"), &bad, &err);
    if (status == LULL_OK)
        status = collect_by_scan(bad, LULL_MASK_ALL, 1, arena, &unused, &err);
    lull_trace_close(bad);
    lull_arena_destroy(arena);
    assert_int_not_equal(status, LULL_OK);
    fail_if(!strstr(err.text, expected) || !strstr(err.text, "bad.prv"),
            "message '%s', expected '%s' and the file in it", err.text, expected);
}

static const struct lull_quirk *find_quirk(const char *part)
{
    static const struct lull_quirk none = {.kind = ""};
    struct lull_quirk *quirks;
    uint32_t n = lull_trace_quirks(trace, trace->arena, &quirks);
    for (uint32_t i = 0; i < n; i++)
        if (strstr(quirks[i].kind, part))
            return &quirks[i];
    return &none;
}

static uint64_t quirk_count(const char *part)
{
    return find_quirk(part)->count;
}

static const char *quirk_place(const char *part)
{
    return find_quirk(part)->first;
}

/* Events of a location as text: "enter MPI_Send@5 leave MPI_Send@9". */
static const char *story(uint32_t location)
{
    static char text[4096];
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sequences[location].count; i++) {
        const struct lull_event *event = &sequences[location].events[i];
        const char *name = "";
        if (event->kind == LULL_EVENT_ENTER || event->kind == LULL_EVENT_LEAVE)
            name = trace->regions[event->id].name;
        else if (event->kind == LULL_EVENT_STATE)
            name = trace->states[event->id].name;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s%s%s@%lld",
                                   i ? " | " : "", lull_event_kind_name(event->kind),
                                   *name ? " " : "", name, (long long)event->time);
        if (event->kind == LULL_EVENT_STATE)
            length += (size_t)snprintf(text + length, sizeof text - length, "+%lld",
                                       (long long)event->duration);
    }
    return text;
}

static const struct lull_event *find_event(uint32_t location, unsigned kind)
{
    for (size_t i = 0; i < sequences[location].count; i++)
        if (sequences[location].events[i].kind == kind)
            return &sequences[location].events[i];
    fail_msg("no %s on location %u: %s", lull_event_kind_name(kind), location, story(location));
    return NULL;
}

static const struct lull_region *find_region(const char *name)
{
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (strcmp(trace->regions[r].name, name) == 0)
            return &trace->regions[r];
    fail_msg("no region '%s'", name);
    return NULL;
}

/* ---- header ---------------------------------------------------------------------------------- */

static void test_header(void **state)
{
    (void)state;
    open_text("#Paraver (01/02/2026 at 10:20):1000_ns:2(4,2):1:3(2:1,1:2,1:2),1\nc:1:1:3:1:2:3\n");
    assert_int_equal(trace->duration, 1000);
    assert_int_equal(trace->n_nodes, 2);
    assert_int_equal(trace->n_processes, 3);
    assert_int_equal(trace->n_locations, 4);
    assert_int_equal(trace->processes[0].n_threads, 2);
    assert_int_equal(trace->processes[1].node, 1);
    assert_int_equal(trace->locations[1].process, 0);
    assert_int_equal(trace->locations[1].number, 1);
    assert_int_equal(trace->n_comms, 1);
    assert_int_equal(trace->comms[0].size, 3);
    assert_false(trace->has_states);
}

static void test_header_variants(void **state)
{
    (void)state;
    open_text("#Paraver (1/2/26 at 9:5):7:0:1:1(1:0)\n"); /* us, no nodes, two-digit year */
    assert_int_equal(trace->duration, 7000);
    assert_int_equal(trace->processes[0].node, LULL_NONE);
    assert_int_equal(trace->comms[0].size, 1); /* a world, though none is listed */
    open_text("#Paraver (01/02/2026 at 10:20):9_ns:1(3):2:2(1:1,1:1),1(1:1),0\n"); /* Extrae */
    assert_int_equal(trace->n_applications, 2);
    assert_int_equal(trace->processes[2].application, 1);
    assert_int_equal(trace->processes[2].rank, 0);
    open_text("#Paraver (01/02/2026 at 10:20):9_ns:1(3):2:2(1:1,1:1),4:1(1:1),0\r\n\n#comment\n");
    assert_int_equal(trace->n_applications, 2);
    assert_int_equal(trace->n_processes, 3);
    /* nodes without a list of their processors: any processor will do */
    read_text("#Paraver (01/02/2026 at 10:20):9_ns:4:1:2(1:1,1:4),0\n1:77:1:2:1:0:9:1\n");
    assert_int_equal(trace->n_nodes, 4);
    assert_int_equal(trace->processes[1].node, 3);
    assert_string_equal(story(1), "state Running@0+9");
}

static void test_bad_headers(void **state)
{
    (void)state;
    refuse("#Paraver\n", "#Paraver (date");
    refuse("#Paraver (01/02/2026 at 10:20):x", "duration");
    refuse("#Paraver (01/02/2026 at 10:20):99999999999999999999999_ns:1(1):1:1(1:1)\n", "duration");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:3(1):1:1(1:1)\n", "nodes");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1000000000000000000(1):1:1(1:1)\n", "nodes");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1000000000000000000:1:1(1:1)\n", "nodes");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:3:1:1(1:4)\n", "node");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):1000000000000000000:1(1:1)\n", "applications");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):1:1000000000000000000(1:1)\n", "tasks");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):1:1(1000000000000000000:1)\n", "threads");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):1:2(9000:1,9000:1)\n", "threads");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):1:1(1:2)\n", "node");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):1:1(0:1)\n", "no thread");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):1:1(1:1", "expected ')'");
    refuse("#Paraver (01/02/2026 at 10:20):5_ns:1(1):2:1(1:1)\n", "next application");
    refuse(HEADER "c:1:2:900000000000:1\n", "more members");
    refuse(HEADER "c:2:2:1:1\n", "application");
    refuse(HEADER "c:1:2:2:1\n", "next member");
}

static void test_comms(void **state)
{
    (void)state;
    open_text("#Paraver (01/02/2026 at 10:20):9_ns:1(3):1:3(1:1,1:1,1:1),3\n"
              "c:1:7:2:1:3\nc:1:2:3:1:2:3\nc:1:9:2:2:5\nc:1:8:1:-1\n");
    assert_int_equal(trace->n_comms, 2);
    assert_int_equal(lull_comm_member(&trace->comms[0], 1), 2);
    assert_string_equal(trace->comms[1].name, "world");
    assert_int_equal(quirk_count("members that its application lacks"), 2);
}

/* ---- records --------------------------------------------------------------------------------- */

static void test_states(void **state)
{
    (void)state;
    read_text(HEADER "1:1:1:1:1:0:10:1\n1:0:1:2:1:0:1000:0\n1:1:1:1:1:10:10:5\n"
                     "1:1:1:1:1:10:30:13\n1:1:1:1:1:30:40:77\n");
    assert_true(trace->has_states);
    assert_string_equal(story(0), "state Running@0+10 | state Group Communication@10+20 | "
                                  "state state named nowhere@30+10");
    assert_string_equal(story(1), "state Idle@0+1000");
    assert_int_equal(quirk_count("a number that is named nowhere"), 1);
}

static void test_regions(void **state)
{
    (void)state;
    read_text(HEADER "2:1:1:1:1:5:50000001:1\n2:1:1:1:1:9:50000001:0\n"
                     "2:2:1:2:1:9:60000001:3\n2:2:1:2:1:10:60000018:44\n"
                     "2:2:1:2:1:11:60000018:0:60000001:0\n");
    assert_string_equal(story(0), "enter MPI_Send@5 | leave MPI_Send@9");
    assert_string_equal(story(1),
                        "enter OpenMP parallel: region@9 | enter OpenMP outlined function@10 | "
                        "leave OpenMP outlined function@11 | leave OpenMP parallel: region@11");
    assert_int_equal(find_region("MPI_Send")->activity, LULL_MPI_P2P);
    assert_true(find_region("OpenMP parallel: region")->parallel);
    assert_true(find_region("OpenMP outlined function")->parallel);
    assert_true(find_region("OpenMP barrier")->parallel);
    assert_false(find_region("OpenMP named critical: lock")->parallel);
}

/* Extrae's criticals: waiting, inside, giving back, outside, each by the value that follows. */
static void test_critical(void **state)
{
    (void)state;
    read_text(HEADER "2:1:1:1:1:1:60000006:3\n2:1:1:1:1:2:60000006:6:60000032:93984374241408\n"
                     "2:1:1:1:1:3:60000006:5\n2:1:1:1:1:4:60000006:0:60000032:0\n");
    assert_string_equal(story(0),
                        "enter OpenMP named critical: lock@1 | leave OpenMP named critical: lock@2 "
                        "| enter OpenMP named critical: locked@2 | marker@2 | "
                        "leave OpenMP named critical: locked@3 | enter OpenMP named critical: "
                        "unlock@3 | leave OpenMP named critical: unlock@4 | marker@4");
    assert_int_equal(find_region("OpenMP named critical: lock")->activity, LULL_OMP_LOCK);
    assert_int_equal(find_region("OpenMP named critical: locked")->activity, LULL_USEFUL);
    assert_int_equal(find_region("OpenMP named critical: unlock")->activity, LULL_OMP_LOCK);
}

/* User functions stack; MPI calls do not: there a new value replaces the last. */
static void test_stacking(void **state)
{
    (void)state;
    write_text("run.pcf",
               "EVENT_TYPE\n0 60000019 User function\nVALUES\n0 End\n7 outer\n8\tinner\n");
    read_text(HEADER "2:1:1:1:1:1:60000019:7\n2:1:1:1:1:2:60000019:8\n2:1:1:1:1:3:60000019:0\n"
                     "2:1:1:1:1:4:60000019:0\n2:1:1:1:1:5:50000003:31\n2:1:1:1:1:6:50000003:32\n"
                     "2:1:1:1:1:7:50000003:0\n");
    assert_string_equal(story(0), "enter outer@1 | enter inner@2 | leave inner@3 | leave outer@4 | "
                                  "enter MPI_Init@5 | leave MPI_Init@6 | enter MPI_Finalize@6 | "
                                  "leave MPI_Finalize@7");
}

/* The newer OpenMP family: fork on the master, then the region. */
static void test_newer_openmp(void **state)
{
    (void)state;
    read_text(HEADER "2:1:1:1:1:1:60002:1\n2:1:1:1:1:2:60002:2\n2:1:1:1:1:3:60004:26\n"
                     "2:1:1:1:1:4:60004:0\n2:1:1:1:1:5:60002:0\n2:1:1:1:1:6:60002:0\n");
    assert_string_equal(story(0),
                        "enter OpenMP parallel: region fork and join@1 | enter OpenMP parallel: "
                        "region@2 | enter OpenMP synchronization: barrier@3 | leave OpenMP "
                        "synchronization: barrier@4 | leave OpenMP parallel: region@5 | leave "
                        "OpenMP parallel: region fork and join@6");
    assert_int_equal(find_region("OpenMP parallel: region fork and join")->activity,
                     LULL_OMP_SCHEDULE);
    assert_int_equal(find_region("OpenMP synchronization: barrier")->activity, LULL_OMP_SYNC);
}

static void test_counters(void **state)
{
    (void)state;
    write_text("run.pcf", "EVENT_TYPE\n7  42000050 PAPI_TOT_INS [Instr completed]\n"
                          "7  44000123 MY_EVENT ([native])\n");
    read_text(HEADER "2:1:1:1:1:5:50000001:1:42000050:100:42000059:18446744073709551615\n"
                     "2:1:1:1:1:5:42000050:7:44000123:3\n2:1:1:1:1:6:42000050:50:42000050:60\n");
    const struct same_sequence *first = &sequences[0];
    assert_string_equal(story(0), "counters@5 | enter MPI_Send@5 | counters@5 | counters@6 | "
                                  "leave MPI_Send@1000");
    assert_int_equal(first->events[0].readings.count, 2);
    assert_int_equal(first->events[0].readings.values[0].value, 100);
    assert_true(first->events[0].readings.values[1].value == UINT64_MAX);
    assert_int_equal(first->events[2].readings.count, 1); /* 42000050 was read at 5 already */
    assert_int_equal(first->events[2].readings.values[0].value, 3);
    assert_int_equal(first->events[3].readings.count, 1); /* the first of a line alone */
    assert_int_equal(first->events[3].readings.values[0].value, 50);
    uint32_t instructions = first->events[0].readings.values[0].counter;
    uint32_t cycles = first->events[0].readings.values[1].counter;
    assert_string_equal(trace->counters[instructions].name, "PAPI_TOT_INS");
    assert_int_equal(trace->counters[instructions].role, LULL_COUNTER_INSTRUCTIONS);
    assert_int_equal(trace->counters[cycles].role, LULL_COUNTER_CYCLES);
}

/* Labels of older versions of Extrae, and of a counter that no table knows. */
static void test_counter_labels(void **state)
{
    (void)state;
    write_text("run.pcf", "EVENT_TYPE\n7  42000050 (PAPI_TOT_INS) Instr completed\n"
                          "7  42000059 Total cycles (Total cycles)\n"
                          "7  42009999 (PAPI_XYZ) Something\n7  42000046 PAPI_BR_PRC [other]\n");
    read_text(HEADER "2:1:1:1:1:5:42000050:100:42000059:200:42009999:1:42000046:2\n");
    const struct lull_event *counters = find_event(0, LULL_EVENT_COUNTERS);
    static const char *const names[] = {"PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_XYZ", "PAPI_BR_PRC"};
    static const uint8_t roles[] = {LULL_COUNTER_INSTRUCTIONS, LULL_COUNTER_CYCLES,
                                    LULL_COUNTER_OTHER, LULL_COUNTER_OTHER};
    for (uint32_t i = 0; i < 4; i++) {
        const struct lull_counter *counter = &trace->counters[counters->readings.values[i].counter];
        assert_string_equal(counter->name, names[i]);
        assert_int_equal(counter->role, roles[i]);
    }
}

static void test_collective(void **state)
{
    (void)state;
    read_text(HEADER "2:2:1:2:1:3:50000002:7:50100001:64:50100002:0:50100003:1:50100004:1\n"
                     "2:1:1:1:1:5:50000002:10:50100001:8:50100002:16:50100004:1:42000050:9\n"
                     "2:1:1:1:1:9:50000002:0:42000050:2\n2:2:1:2:1:9:50000002:0\n");
    assert_string_equal(story(0), "counters@5 | enter MPI_Allreduce@5 | collective begin@5 | "
                                  "counters@9 | collective end@9 | leave MPI_Allreduce@9");
    const struct lull_event *end = find_event(0, LULL_EVENT_COLLECTIVE_END);
    assert_int_equal(end->op, LULL_COLLECTIVE_ALLREDUCE);
    assert_int_equal(end->id, 0);
    assert_int_equal(end->collective.sent, 8);
    assert_int_equal(end->collective.received, 16);
    assert_int_equal(end->collective.root, LULL_ANY);
    const struct lull_event *root = find_event(1, LULL_EVENT_COLLECTIVE_BEGIN);
    assert_int_equal(root->op, LULL_COLLECTIVE_BCAST);
    assert_int_equal(root->collective.root, 1);
    assert_int_equal(root->collective.sent, 64);
}

/* Communication records come out of order; each half takes its place among its location's events:
 * a receive before the end of the call at the same time, a send behind the begin. */
static void test_messages(void **state)
{
    (void)state;
    read_text(HEADER "2:1:1:1:1:5:50000001:1\n2:2:1:2:1:6:50000001:2\n2:1:1:1:1:9:50000001:0\n"
                     "2:2:1:2:1:20:50000001:0\n"
                     "3:2:1:2:1:30:31:1:1:1:1:8:40:1024:-5\n"
                     "3:1:1:1:1:5:7:2:1:2:1:6:20:4096:77\n");
    assert_string_equal(story(0), "enter MPI_Send@5 | send@5 | leave MPI_Send@9 | receive@40");
    assert_string_equal(story(1), "enter MPI_Recv@6 | receive@20 | leave MPI_Recv@20 | send@30");
    const struct lull_event *send = find_event(0, LULL_EVENT_SEND);
    assert_int_equal(send->message.bytes, 4096);
    assert_int_equal(send->message.tag, 77);
    assert_int_equal(send->message.peer, 1);
    assert_int_equal(find_event(0, LULL_EVENT_RECV)->message.tag, -5);
}

/* A message from or to a stream is none: Extrae writes one for each launch. Streams are numbered for themselves. Events of
 * lull's own tell the launch: operation 7, submitted by thread 1 to stream 1, which is thread 2 of the task. */
static void test_launches(void **state)
{
    (void)state;
    write_text("run.row", "LEVEL THREAD SIZE 3\nTHREAD 1.1.1\nCUDA-D1.S1-node\nCUDA-D1.S2-node\n");
    write_text(
        "run.pcf",
        "EVENT_TYPE\n2 91050000 device, function\nVALUES\n0 End\n1000 cuLaunchKernel\n\n"
        "EVENT_TYPE\n6 91900110 Streams\nVALUES\n2 context 3, in order 1, default 0, lost 4, "
        "clock error 35 ns, priority -5, CUDA | pci:0000:01:00.0 | NVIDIA | H100\n3 nonsense\n");
    read_text("#Paraver (01/02/2026 at 10:20):1000_ns:1(3):1:1(3:1),1\nc:1:1:1:1\n"
              "2:1:1:1:1:10:91900018:8:91900102:2\n"
              "3:1:1:1:1:10:10:2:1:1:2:20:20:64:7\n3:3:1:1:3:30:30:1:1:1:1:40:40:64:9\n"
              "2:2:1:1:2:20:91900021:8:91900102:1:91900103:91050000:91900104:1000:50001000:64\n");
    assert_string_equal(story(0), "submit@10");
    assert_string_equal(story(1), "operation@20");
    assert_string_equal(story(2), "");
    assert_int_equal(trace->locations[1].number, 0);
    assert_int_equal(trace->locations[2].number, 1);
    const struct lull_event *submit = find_event(0, LULL_EVENT_SUBMIT);
    assert_int_equal(submit->operation.number, 7);
    assert_int_equal(submit->operation.location, 1);
    const struct lull_event *ran = find_event(1, LULL_EVENT_OPERATION);
    assert_int_equal(ran->operation.number, 7);
    assert_int_equal(ran->operation.location, 0);
    assert_int_equal(ran->operation.bytes, 64);
    assert_true(ran->operation.sequence == LULL_NO_SEQUENCE && ran->operation.peer < 0);
    assert_string_equal(trace->regions[ran->id].name, "cuLaunchKernel");
    const struct lull_stream *stream = trace->locations[1].stream;
    assert_non_null(stream);
    assert_null(trace->locations[2].stream);
    assert_true(stream->context == 3 && stream->in_order && !stream->is_default);
    assert_true(stream->lost == 4 && stream->clock_error == 35);
    assert_true(stream->has_priority && stream->priority == -5);
    assert_int_equal(trace->n_devices, 1);
    assert_string_equal(trace->devices[0].runtime, "CUDA");
    assert_string_equal(trace->devices[0].key, "pci:0000:01:00.0");
    assert_string_equal(trace->devices[0].name, "NVIDIA | H100");
}

static void test_trace_control(void **state)
{
    (void)state;
    read_text(HEADER "2:1:1:1:1:1:40000012:0\n2:1:1:1:1:2:40000012:1\n2:1:1:1:1:3:40000003:1\n"
                     "2:1:1:1:1:4:40000003:0\n2:1:1:1:1:5:40000033:7\n");
    assert_string_equal(story(0), "measurement off@1 | measurement on@2 | enter flush@3 | "
                                  "leave flush@4 | marker@5");
    assert_int_equal(find_region("flush")->activity, LULL_FLUSH);
    assert_int_equal(find_event(0, LULL_EVENT_MARKER)->number, 7);
    assert_int_equal(trace->markers[find_event(0, LULL_EVENT_MARKER)->id].source_id, 40000033);
}

static void test_microseconds(void **state)
{
    (void)state;
    read_text("#Paraver (01/02/2026 at 10:20):7:1(1):1:1(1:1),0\n1:1:1:1:1:2:5:1\n");
    assert_string_equal(story(0), "state Running@2000+3000");
}

/* ---- oddities -------------------------------------------------------------------------------- */

static void test_quirks(void **state)
{
    (void)state;
    read_text(HEADER "#20220121:CUTTER:ORIGINAL:\"x\":3\n\n2:1:1:1:1:0:50000001:0\n"
                     "2:1:1:1:1:1:50000001:987654\n2:1:1:1:1:2:50000001:0\r\n"
                     "2:1:1:1:1:3:50000003:31:777777777777:-1\n5:anything\nc:1:4:1:1\n"
                     "2:1:1:1:1:2000:50000003:0");
    assert_string_equal(story(0), "enter MPI point-to-point@1 | leave MPI point-to-point@2 | "
                                  "enter MPI_Init@3 | marker@3 | leave MPI_Init@2000");
    assert_true(find_event(0, LULL_EVENT_MARKER)->number == UINT64_MAX);
    assert_int_equal(quirk_count("ends that did not begin"), 1);
    assert_int_equal(quirk_count("a value of an event type is named nowhere"), 1);
    assert_int_equal(quirk_count("unknown kind"), 1);
    assert_int_equal(quirk_count("behind the first record"), 1);
    assert_int_equal(quirk_count("the last line does not end"), 1);
    assert_int_equal(quirk_count("behind the end of the run by the header"), 1);
    assert_int_equal(quirk_count("no .pcf"), 1);
    assert_int_equal(quirk_count("no .row"), 1);
}

/* The header ends the run at 1000; the records decide, the latest of which need not be the last. */
static void test_end(void **state)
{
    (void)state;
    read_text(HEADER "1:1:1:1:1:0:6000:1\n1:1:1:2:1:10:20:1\n2:1:1:2:1:5000:50000003:31\n");
    assert_int_equal(trace->duration, 6000);
    assert_string_equal(story(0), "state Running@0+6000");
    assert_string_equal(story(1),
                        "state Running@10+10 | enter MPI_Init@5000 | leave MPI_Init@6000");
    read_text(HEADER "3:1:1:1:1:5:7:2:1:2:1:6:7000:4096:1\n");
    assert_int_equal(trace->duration, 7000);
    assert_string_equal(story(1), "receive@7000");
    /* 2e18 ns is no time of a run. */
    read_text(HEADER "1:1:1:1:1:0:1000:1\n1:1:1:2:1:10:2000000000000000000:1\n");
    assert_int_equal(trace->duration, 1000);
    assert_string_equal(story(1), "state Running@10+990");
    assert_int_equal(quirk_count("moved to its end"), 1);
    assert_int_equal(quirk_count("by the header"), 0);
    refuse(HEADER "2:1:1:1:1:2000:50000003:31\n2:1:1:3:1:3000:50000003:31\n", "line 4: task 3");
}

/* Each thread's records are in order, those of the file are not. */
static void test_order(void **state)
{
    (void)state;
    read_text(HEADER "2:1:1:1:1:10:50000003:31\n2:1:1:1:1:90:50000003:0\n"
                     "2:1:1:2:1:20:50000003:31\n2:1:1:2:1:30:50000003:0\n"
                     "2:1:1:1:1:95:50000003:32\n2:1:1:2:1:94:50000003:32\n");
    assert_string_equal(story(0), "enter MPI_Init@10 | leave MPI_Init@90 | enter MPI_Finalize@95 | "
                                  "leave MPI_Finalize@1000");
    assert_string_equal(story(1), "enter MPI_Init@20 | leave MPI_Init@30 | enter MPI_Finalize@94 | "
                                  "leave MPI_Finalize@1000");
    assert_int_equal(quirk_count("not in order of time"), 3);
}

/* Lines at the end stand behind later ones of their thread. */
static void test_late_lines(void **state)
{
    (void)state;
    read_text(HEADER "1:1:1:1:1:0:100:1\n2:1:1:1:1:10:50000003:31\n2:1:1:2:1:15:50000003:31\n"
                     "2:1:1:2:1:80:50000003:0\n2:1:1:1:1:90:50000003:0\n2:1:1:1:1:95:50000003:32\n"
                     "1:1:1:2:1:5:7:77\n2:1:1:1:1:92:40000001:5:42000050:7\n"
                     "2:1:1:1:1:91:40000001:4:42000050:6\n");
    assert_string_equal(story(0), "state Running@0+100 | enter MPI_Init@10 | leave MPI_Init@90 | "
                                  "counters@91 | marker@91 | counters@92 | marker@92 | "
                                  "enter MPI_Finalize@95 | leave MPI_Finalize@1000");
    assert_int_equal(sequences[0].events[3].readings.values[0].value, 6);
    assert_int_equal(sequences[0].events[4].number, 4);
    assert_int_equal(sequences[0].events[5].readings.values[0].value, 7);
    assert_string_equal(story(1),
                        "state state named nowhere@5+2 | enter MPI_Init@15 | leave MPI_Init@80");
    assert_int_equal(quirk_count("stand behind later ones"), 3);
    assert_int_equal(quirk_count("not in order of time"), 0);
    assert_string_equal(quirk_place("stand behind later ones"), "line 9, 1 of process 1, thread 0");
}

/* A line may be late by 1000 lines and not by one more, whichever threads these are of. */
static void test_lines_too_late(void **state)
{
    (void)state;
    enum { LINES = 1000, LENGTH = 40 };
    char *text = malloc(sizeof HEADER + (LINES + 3) * LENGTH);
    assert_non_null(text);
    for (int more = 0; more < 2; more++) {
        char *at = text + sprintf(text, HEADER "1:1:1:1:1:50:60:1\n");
        for (int i = 1; i < LINES + more; i++)
            at += sprintf(at, "2:1:1:2:1:60:40000001:%d\n", i);
        sprintf(at, "2:1:1:1:1:40:40000001:1\n");
        if (more) {
            refuse(text, "line 1004: time 40 is before 50, expected the records of a thread in "
                         "order, or at most 1000 lines late");
        } else {
            read_text(text);
            assert_string_equal(story(0), "marker@40 | state Running@50+10");
        }
    }
    free(text);
}

/* A state says that nothing was measured, an event, or both: that is told once. */
static void test_tracing_disabled(void **state)
{
    (void)state;
    static const char *const events[] = {"state Running@0+10",
                                         "measurement off@10",
                                         "state Tracing Disabled@10+20",
                                         "measurement on@30",
                                         "state Running@30+10",
                                         "measurement off@40",
                                         "state Tracing Disabled@40+20",
                                         "measurement on@60",
                                         "enter MPI_Init@70",
                                         "measurement off@80",
                                         "state Tracing Disabled@80+920",
                                         "measurement on@1000",
                                         "leave MPI_Init@1000"};
    char all[1024] = "";
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " | " : "", events[i]);
    read_text(HEADER "1:1:1:1:1:0:10:1\n1:1:1:1:1:10:30:14\n1:1:1:1:1:30:40:1\n"
                     "1:1:1:1:1:40:60:14\n2:1:1:1:1:70:50000003:31\n1:1:1:1:1:80:1000:14\n");
    assert_string_equal(story(0), all);
    read_text(HEADER "1:1:1:1:1:0:10:1\n2:1:1:1:1:10:40000012:0\n1:1:1:1:1:10:30:14\n"
                     "2:1:1:1:1:30:40000012:1\n1:1:1:1:1:30:40:1\n1:1:1:1:1:40:60:14\n"
                     "2:1:1:1:1:40:40000012:0\n2:1:1:1:1:60:40000012:1\n"
                     "2:1:1:1:1:70:50000003:31\n1:1:1:1:1:80:1000:14\n");
    assert_string_equal(story(0), all);
}

static void test_bad_records(void **state)
{
    (void)state;
    refuse(HEADER "1:1:1:1:1:50:40:1\n", "line 3: state ends before it begins");
    refuse(HEADER "2:3:1:1:1:5:40000001:1\n", "line 3: processor 3");
    refuse(HEADER "2:1:0:1:1:5:40000001:1\n", "line 3: application 0");
    refuse(HEADER "2:1:2:1:1:5:40000001:1\n", "line 3: application 2");
    refuse(HEADER "2:1:1:3:1:5:40000001:1\n", "line 3: task 3");
    refuse(HEADER "2:1:1:1:2:5:40000001:1\n", "line 3: thread 2");
    refuse(HEADER "2:1:1:1:18446744073709551615:5:40000001:1\n", "line 3: thread");
    refuse(HEADER "2:1:1:1:1:5\n", "line 3: the record ends early");
    refuse(HEADER "2:1:1:1:1:5:40000001\n", "line 3: expected 'type:value'");
    refuse(HEADER "2:1:1:1:1:5:40000033:\n", "line 3: expected a number");
    refuse(HEADER "2:1:1:1:1:5:40000033:99999999999999999999\n", "line 3: expected a number");
    refuse(HEADER "2:1:1:1:1:-5:40000033:1\n", "line 3: expected a time");
    refuse(HEADER "2:1:1:1:1:5:40000033:1x\n", "line 3: expected ':' or the end");
    refuse(HEADER "1:1:1:1:1:5\n", "line 3");
    refuse(HEADER "1:1:1:1:1:5:7\n", "line 3: expected ':', the state");
    refuse(HEADER "3:1:1:1:1:5:7:2:1:2:1:6:20:4096\n", "line 3: expected 'size:tag'");
    refuse(HEADER "3:1:1:1:1:5:7:2:1:9:1:6:20:4096:1\n", "line 3: task 9");
    refuse(HEADER "3:1:1:1:1:5\n", "line 3");
    refuse(HEADER "\x01\x02\x03\n", "line 3: expected a record");
    refuse(HEADER "2\n", "line 3: expected a record");
    /* a blank line is a line, whatever the next one begins with */
    refuse(HEADER "1:1:1:1:1:0:5:1\n\n:abc", "line 5: expected a record");
    refuse(HEADER "1:1:1:1:1:0:5:1\n\n:abc\n1:1:1:1:1:5:9:1\n", "line 5: expected a record");
}

static void test_long_line(void **state)
{
    (void)state;
    size_t size = 3 << 20;
    char *text = malloc(size + 1);
    memset(text, '7', size);
    memcpy(text, HEADER, strlen(HEADER));
    memcpy(text + strlen(HEADER), "2:1:1:1:1:5:40000033:", 21);
    text[size] = '\0';
    refuse(text, "longer than");
    free(text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_names(void **state)
{
    (void)state;
    write_text("run.pcf",
               "STATES\n0\tIdle\n1 Computing\n40 Mine\n\nSTATES_COLOR\n0 {1,2,3}\n\n"
               "EVENT_TYPE\n9   50000001    Point to point\nVALUES\n1   MPI_Isend\n0 End\n\n"
               "EVENT_TYPE\n0 123 Phase\n0 124\n7 42000008 PAPI_L3_TCM [x y]\n");
    write_text("run.row",
               "LEVEL CPU SIZE 2\na\nb\n\nLEVEL NODE SIZE 1\nlogin1\n\nLEVEL THREAD SIZE 2\n"
               "THREAD 1.1.1\nCUDA-D1.S2-login1\nsurplus\n");
    read_text("#Paraver (01/02/2026 at 10:20):1000_ns:1(2):1:1(2:1),1\nc:1:1:1:1\n"
              "2:1:1:1:1:1:50000001:1:123:5:42000008:1\n1:1:1:1:1:1:2:1\n1:1:1:1:2:2:3:40\n");
    assert_string_equal(trace->nodes[0].name, "login1");
    assert_string_equal(trace->locations[0].name, "THREAD 1.1.1");
    assert_int_equal(trace->locations[1].kind, LULL_LOCATION_DEVICE);
    assert_int_equal(trace->processes[0].n_threads, 1);
    assert_string_equal(story(0), "counters@1 | enter MPI_Isend@1 | marker@1 | state Computing@1+1 "
                                  "| leave MPI_Isend@1000");
    assert_string_equal(trace->markers[find_event(0, LULL_EVENT_MARKER)->id].name, "Phase");
    assert_string_equal(story(1), "state Mine@2+1");
}

/* As Extrae names the streams of devices: by CUDA, by HIP, by both, and by the UUIDs of devices. */
static void test_streams_of_extrae(void **state)
{
    (void)state;
    static const char *const names[] = {"THREAD 1.1.1", "CUDA-D1.S1-host", "HIP-D1.S1-host",
                                        "GPU-D1.S1-host", "GPU_a2f80454.1"};
    enum { NAMES = sizeof names / sizeof *names };
    char row[200] = "LEVEL THREAD SIZE 5\n";
    for (uint32_t i = 0; i < NAMES; i++)
        sprintf(row + strlen(row), "%s\n", names[i]);
    write_text("run.row", row);
    open_text("#Paraver (1/2/26 at 9:5):7:1(5):1:1(5:1)\n");
    assert_int_equal(trace->n_locations, NAMES);
    for (uint32_t i = 0; i < NAMES; i++) {
        assert_string_equal(trace->locations[i].name, names[i]);
        assert_int_equal(trace->locations[i].kind,
                         i > 0 ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD);
    }
}

/* No node is listed: on which one a task is, is not known. */
static void test_tasks_without_nodes(void **state)
{
    (void)state;
    open_text("#Paraver (1/2/26 at 9:5):7:0:2:1(1:3),2(2:1,1:2)\n");
    for (uint32_t p = 0; p < 3; p++)
        assert_int_equal(trace->processes[p].node, LULL_NONE);
    assert_string_equal(trace->locations[0].name, "THREAD 1.1.1");
    assert_string_equal(trace->locations[1].name, "THREAD 2.1.1");
    assert_string_equal(trace->locations[2].name, "THREAD 2.1.2");
    assert_string_equal(trace->locations[3].name, "THREAD 2.2.1");
}

/* Tables know states up to 31, a .pcf two more; what is between them has no name. */
static void test_states_between_others(void **state)
{
    (void)state;
    write_text("run.pcf", "STATES\n40 Mine\n41 Yours\n");
    read_text(HEADER "1:1:1:1:1:0:1:40\n1:1:1:1:1:1:2:41\n1:1:1:1:1:2:3:33\n1:1:1:1:1:3:4:77\n");
    const uint32_t other = trace->n_states - 1;
    const struct same_sequence *first = &sequences[0];
    assert_int_equal(first->count, 4);
    assert_string_equal(trace->states[first->events[0].id].name, "Mine");
    assert_string_equal(trace->states[first->events[1].id].name, "Yours");
    assert_int_equal(first->events[2].id, other);
    assert_int_equal(first->events[3].id, other);
}

/* Of two labels of a type the first counts, also when no type has a lower number. */
static void test_lowest_type(void **state)
{
    (void)state;
    unsigned found = 0;
    write_text("run.pcf", "EVENT_TYPE\n0 5 Lowest\n0 6 Next\nEVENT_TYPE\n0 5 Again\n");
    read_text(HEADER "2:1:1:1:1:5:5:100:6:200\n");
    for (uint32_t m = 0; m < trace->n_markers; m++) {
        found += strcmp(trace->markers[m].name, "Lowest") == 0;
        assert_string_not_equal(trace->markers[m].name, "Again");
    }
    assert_int_equal(found, 1);
}

static lull_status count_block(void *context, unsigned worker, const struct lull_block *block,
                               struct lull_error *ret)
{
    (void)worker, (void)ret;
    *(unsigned *)context += block->count;
    return LULL_OK;
}

/* Who wants the events of no process does not read the file, and finds nothing wrong in it. */
static void test_nothing_to_read(void **state)
{
    (void)state;
    unsigned events = 0;
    const struct lull_visitor visitor = {.context = &events, .block = count_block};
    const struct lull_scan_options all = {.application = LULL_NONE, .workers = 1},
                                   none = {.application = LULL_NONE, .workers = 1, .range = {1, 1}};
    open_text(HEADER "1:1:1:1:1:0:10:1\nbad\n");
    assert_int_equal(lull_scan(trace, &all, &visitor, &err), LULL_ERR_FORMAT);
    events = 0;
    assert_int_equal(lull_scan(trace, &none, &visitor, &err), LULL_OK);
    assert_int_equal(events, 0);
}

TEST_GROUP(test_paraver)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_header, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_header_variants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_comms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_regions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_critical, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stacking, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_newer_openmp, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counter_labels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_collective, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_launches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_trace_control, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_microseconds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_quirks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_late_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_too_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tracing_disabled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_streams_of_extrae, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_to_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lowest_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_states_between_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tasks_without_nodes, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
