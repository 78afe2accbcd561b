/* A simulated run read back as a trace. */
#include "base/file.h"
#include "metrics/breakdown.h"
#include "metrics/pop.h"
#include "replay/ideal/ideal.h"
#include "replay/sim_tape.h"
#include "sim/goal/goal.h"
#include "sim/noise/noise.h"
#include "sim/pattern/pattern.h"
#include "sim/setup.h"
#include "support/folder.h"
#include "support/test.h"
#include "trace/scan.h"

#include <stddef.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_error err;
static const char *folder, *path;

static struct lull_network network(const char *text, uint32_t n_ranks)
{
    struct lull_spec *spec;
    struct lull_network network;
    assert_int_equal(lull_spec_parse(text, arena, &spec, &err), LULL_OK);
    fail_if(lull_network_read(spec, NULL, n_ranks, arena, &network, &err) != LULL_OK, "%s",
            err.text);
    return network;
}

static struct lull_program *pattern(const char *text)
{
    struct lull_spec *spec;
    struct lull_program *program = NULL;
    fail_if(lull_spec_parse(text, arena, &spec, &err) != LULL_OK ||
                lull_pattern_open(spec, &program, &err) != LULL_OK,
            "%s", err.text);
    return program;
}

/* Simulates the program into `path`, with the noise and the delays of `options`, and opens that. */
static struct lull_trace *taped_with(struct lull_program *program, const char *network_text,
                                     struct lull_sim_options options,
                                     struct lull_sim_result *result)
{
    struct lull_network costs = network(network_text, program->n_ranks);
    struct lull_sim_tape *tape;
    struct lull_trace *trace = NULL;
    fail_if(lull_sim_tape_open(program, NULL, path, false, &tape, &err) != LULL_OK, "%s", err.text);
    options.network = &costs;
    options.sink = lull_sim_tape_sink(tape);
    fail_if(lull_simulate(program, &options, arena, result, NULL, &err) != LULL_OK ||
                lull_sim_tape_close(tape, result, &err) != LULL_OK ||
                lull_trace_open(path, &trace, &err) != LULL_OK,
            "%s", err.text);
    lull_program_close(program);
    return trace;
}

static struct lull_trace *taped(struct lull_program *program, const char *network_text,
                                struct lull_sim_result *result)
{
    return taped_with(program, network_text, (struct lull_sim_options){0}, result);
}

struct counts {
    uint64_t kinds[LULL_EVENT_KINDS];
    uint64_t bytes_sent, bytes_received, iterations;
    int64_t in_region[16]; /* ns, inclusive */
};

static lull_status count(void *context, unsigned worker, const struct lull_block *block,
                         struct lull_error *error)
{
    struct counts *counts = context;
    (void)worker, (void)error;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        counts->kinds[event->kind]++;
        if (event->kind == LULL_EVENT_SEND)
            counts->bytes_sent += event->message.bytes;
        if (event->kind == LULL_EVENT_RECV)
            counts->bytes_received += event->message.bytes;
        if (event->kind == LULL_EVENT_MARKER)
            counts->iterations += event->number + 1;
        if (event->kind == LULL_EVENT_ENTER)
            counts->in_region[event->id] -= event->time;
        if (event->kind == LULL_EVENT_LEAVE)
            counts->in_region[event->id] += event->time;
        if (event->kind == LULL_EVENT_CALL)
            counts->in_region[event->id] += event->duration;
    }
    return LULL_OK;
}

static struct counts counted(const struct lull_trace *trace)
{
    struct counts counts = {.iterations = 0};
    struct lull_visitor visitor = {.context = &counts, .block = count};
    struct lull_scan_options options = {.workers = 1, .application = LULL_NONE};
    fail_if(lull_scan(trace, &options, &visitor, &err) != LULL_OK, "%s", err.text);
    struct lull_quirk *quirks;
    assert_int_equal(lull_trace_quirks(trace, arena, &quirks), 0);
    return counts;
}

static void test_messages(void **state)
{
    (void)state;
    struct lull_sim_result result;
    struct lull_trace *trace =
        taped(pattern("chain:ranks=10,iterations=7,bytes=100,collective=allreduce,every=2"),
              "loggops", &result);
    assert_true(trace->duration == result.runtime);
    assert_int_equal(trace->n_processes, 10);
    struct counts counts = counted(trace);
    assert_int_equal(counts.kinds[LULL_EVENT_SEND], 7 * 2 * 9);
    assert_int_equal(counts.kinds[LULL_EVENT_SEND_DONE], 7 * 2 * 9);
    assert_int_equal(counts.kinds[LULL_EVENT_RECV_POST], 7 * 2 * 9);
    assert_int_equal(counts.kinds[LULL_EVENT_RECV], 7 * 2 * 9);
    assert_int_equal(counts.bytes_sent, 7 * 2 * 9 * 100);
    assert_int_equal(counts.bytes_received, 7 * 2 * 9 * 100);
    assert_int_equal(counts.kinds[LULL_EVENT_COLLECTIVE_END], 3 * 10);
    assert_int_equal(counts.kinds[LULL_EVENT_MARKER], 7 * 10);
    assert_int_equal(counts.iterations, 10 * (1 + 2 + 3 + 4 + 5 + 6 + 7));
    lull_trace_close(trace);
}

/* What is useful in the trace is what the engine says that ranks compute. */
static const struct lull_breakdown *broken_down(const struct lull_trace *trace)
{
    struct lull_breakdown *breakdown;
    struct lull_breakdown_options options = {.reading = &(const struct lull_reading){.workers = 1}};
    fail_if(lull_breakdown_compute(trace, &options, arena, &breakdown, &err) != LULL_OK, "%s",
            err.text);
    return breakdown;
}

static int64_t useful(const struct lull_breakdown *breakdown, uint32_t rank)
{
    const struct lull_times *times = &breakdown->threads[rank].times;
    return times->ns[LULL_USEFUL][0] + times->ns[LULL_USEFUL][1];
}

static void check_useful(const struct lull_trace *trace, const struct lull_sim_result *result)
{
    const struct lull_breakdown *breakdown = broken_down(trace);
    assert_int_equal(breakdown->n_threads, result->n_ranks);
    for (uint32_t r = 0; r < result->n_ranks; r++)
        assert_true(useful(breakdown, r) == result->ranks[r].compute + result->ranks[r].noise);
}

/* Two ranks, one of which has twice the work: half of the other's time is lost. */
static void test_imbalance(void **state)
{
    (void)state;
    struct lull_sim_result result;
    struct lull_trace *trace =
        taped(pattern("chain:ranks=2,exec=2ms+1ms,iterations=3,bytes=0,collective=barrier"),
              "ideal", &result);
    assert_true(result.runtime == 6000000);
    const struct lull_breakdown *breakdown = broken_down(trace);
    assert_true(useful(breakdown, 0) == 6000000 && useful(breakdown, 1) == 3000000);
    struct lull_pop_input *input;
    struct lull_metric_value *values =
        lull_arena_zero(arena, (size_t)lull_metric_count, sizeof *values);
    assert_int_equal(lull_pop_from_breakdown(breakdown, false, arena, &input, &err), LULL_OK);
    assert_int_equal(lull_pop_compute(input, NULL, LULL_SCALING_STRONG, values, &err), LULL_OK);
    assert_float_equal(values[lull_metric_find("mpi_only_load_balance")].value, 0.75, 1e-12);
    check_useful(trace, &result);
    lull_trace_close(trace);
}

static void test_useful_time(void **state)
{
    (void)state;
    static const char *const networks[] = {"loggops", "loggops-compat", "hockney", "ideal"};
    for (unsigned n = 0; n < 4; n++) {
        struct lull_sim_result result;
        struct lull_trace *trace =
            taped(pattern("grid:ranks=3x4,exec=10us+20us+15us,iterations=5,bytes=100000,wait=each"),
                  networks[n], &result);
        check_useful(trace, &result);
        assert_true(trace->duration == result.runtime);
        lull_trace_close(trace);
        assert_int_equal(lull_remove_tree(path, &err), LULL_OK);
    }
}

/* The replay of a run, simulated on a network, takes as long as its program on the ideal one: two
 * ways with separate code. */
static void test_ideal_runtime(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "chain:ranks=8,exec=1ms+2ms+500us,iterations=20,bytes=100KiB,collective=allreduce,every=5",
        "chain:ranks=9,exec=7us+3us,distances=1+3,wait=each,direction=up,boundary=periodic",
        "grid:ranks=3x3x2,exec=10us+20us+15us+1us,iterations=5,bytes=100000,wait=direction",
        "collective:op=barrier,ranks=7,exec=5us+3us+11us",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct lull_sim_result measured, ideal;
        struct lull_ideal_options options = {.reading =
                                                 &(const struct lull_reading){.application = 0}};
        struct lull_ideal_result replayed;
        struct lull_trace *trace = taped(pattern(patterns[i]), "loggops", &measured);
        assert_int_equal(lull_ideal_runtime(trace, &options, arena, &replayed, &err), LULL_OK);
        lull_trace_close(trace);
        struct lull_program *program = pattern(patterns[i]);
        struct lull_network costs = network("ideal", program->n_ranks);
        struct lull_sim_options simulation = {.network = &costs};
        assert_int_equal(lull_simulate(program, &simulation, arena, &ideal, NULL, &err), LULL_OK);
        lull_program_close(program);
        assert_null(replayed.absent);
        assert_true(replayed.runtime == ideal.runtime && ideal.runtime < measured.runtime);
        assert_int_equal(lull_remove_tree(path, &err), LULL_OK);
    }
}

static int64_t time_in(const struct lull_trace *trace, const struct counts *counts,
                       const char *name)
{
    int64_t sum = 0;
    assert_true(trace->n_regions <= 16);
    for (uint32_t r = 0; r < trace->n_regions; r++)
        if (strcmp(trace->regions[r].name, name) == 0)
            sum += counts->in_region[r];
    return sum;
}

/* What a simulation adds to computations is told apart from them, and is useful time as before. */
static void test_disturbed(void **state)
{
    (void)state;
    const struct lull_noise *noise;
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("exponential"));
    spec.values[0] = 30000;
    assert_int_equal(lull_noise_create(&spec, arena, &noise, &err), LULL_OK);
    static const struct lull_delay delays[] = {{2, true, 3, 5000000}, {4, false, 2000000, 700000}};
    struct lull_sim_result result;
    struct lull_trace *trace = taped_with(
        pattern("chain:ranks=6,exec=1ms,iterations=9,bytes=100"), "hockney",
        (struct lull_sim_options){.noise = noise, .delays = delays, .n_delays = 2, .seed = 7},
        &result);
    struct counts counts = counted(trace);
    int64_t computed = 0, added = 0;
    for (uint32_t r = 0; r < result.n_ranks; r++) {
        computed += result.ranks[r].compute;
        added += result.ranks[r].noise;
    }
    assert_true(computed == 6 * 9 * INT64_C(1000000) && added > 5700000);
    assert_true(time_in(trace, &counts, "delay") == 5700000);
    assert_true(time_in(trace, &counts, "noise") == added - 5700000);
    assert_true(time_in(trace, &counts, "compute") == computed);
    check_useful(trace, &result);
    lull_trace_close(trace);
}

static void test_graph(void **state)
{
    (void)state;
    static const char text[] = "num_ranks 2\n"
                               "rank 0 {\nl1: calc 100\nl2: send 50b to 1 tag 3\n"
                               "l2 requires l1\nl3: calc 200\nl3 requires l2\n}\n"
                               "rank 1 {\nl1: recv 50b from 0 tag 3\nl2: calc 10\n"
                               "l2 requires l1\n}\n";
    struct lull_program *program;
    struct lull_sim_result result;
    assert_int_equal(lull_goal_parse("test", text, strlen(text), &program, &err), LULL_OK);
    struct lull_trace *trace = taped(program, "hockney:latency=1us", &result);
    check_useful(trace, &result);
    struct counts counts = counted(trace);
    assert_int_equal(counts.kinds[LULL_EVENT_SEND], 1);
    assert_int_equal(counts.kinds[LULL_EVENT_RECV], 1);
    assert_int_equal(counts.bytes_received, 50);
    lull_trace_close(trace);
}

/* Ranks are on the nodes of their placement, also on one that has a node without ranks. */
static void test_nodes(void **state)
{
    (void)state;
    const uint32_t cores[] = {4, 5, 0, 6}, expected[] = {2, 2, 0, 3};
    const struct lull_placement placement = {.cores_per_node = 2, .n_ranks = 4, .map = cores};
    struct lull_program *program = pattern("chain:ranks=4,iterations=2");
    struct lull_network costs = network("hockney", 4);
    struct lull_sim_result result;
    struct lull_sim_tape *tape;
    struct lull_trace *trace;
    assert_int_equal(lull_sim_tape_open(program, &placement, path, false, &tape, &err), LULL_OK);
    struct lull_sim_options options = {.network = &costs, .sink = lull_sim_tape_sink(tape)};
    assert_int_equal(lull_simulate(program, &options, arena, &result, NULL, &err), LULL_OK);
    assert_int_equal(lull_sim_tape_close(tape, &result, &err), LULL_OK);
    assert_int_equal(lull_trace_open(path, &trace, &err), LULL_OK);
    assert_int_equal(trace->n_nodes, 4);
    assert_string_equal(trace->nodes[3].name, "node 3");
    for (uint32_t r = 0; r < 4; r++)
        assert_int_equal(trace->processes[r].node, expected[r]);
    lull_trace_close(trace);
    lull_program_close(program);
}

/* A deadlock leaves nothing behind. */
static void test_failure(void **state)
{
    (void)state;
    static const char text[] = "num_ranks 1\nrank 0 {\nl1: recv 50b from 0 tag 3\n}\n";
    struct lull_program *program;
    struct lull_sim_result result;
    struct lull_sim_tape *tape;
    assert_int_equal(lull_goal_parse("test", text, strlen(text), &program, &err), LULL_OK);
    struct lull_network costs = network("ideal", 1);
    assert_int_equal(lull_sim_tape_open(program, NULL, path, false, &tape, &err), LULL_OK);
    struct lull_sim_options options = {.network = &costs, .sink = lull_sim_tape_sink(tape)};
    assert_int_equal(lull_simulate(program, &options, arena, &result, NULL, &err), LULL_ERR_FORMAT);
    assert_int_equal(lull_sim_tape_close(tape, NULL, &err), LULL_OK);
    assert_int_equal(folder_entries(folder), 0); /* and no temporary either */
    lull_program_close(program);
}

static int begin(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    folder = folder_make();
    path = folder_path("run");
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_remove();
    lull_arena_destroy(arena);
    return 0;
}

TEST_GROUP(test_sim_tape)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_messages, begin, end),
        cmocka_unit_test_setup_teardown(test_imbalance, begin, end),
        cmocka_unit_test_setup_teardown(test_useful_time, begin, end),
        cmocka_unit_test_setup_teardown(test_ideal_runtime, begin, end),
        cmocka_unit_test_setup_teardown(test_disturbed, begin, end),
        cmocka_unit_test_setup_teardown(test_graph, begin, end),
        cmocka_unit_test_setup_teardown(test_nodes, begin, end),
        cmocka_unit_test_setup_teardown(test_failure, begin, end),
    };
    return run_cases(tests, NULL, NULL);
}
