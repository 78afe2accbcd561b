/* Network and noise of a simulation from a machine file. */
#include "sim/network/machine.h"

#include "machine/noise_trace.h"
#include "sim/noise/noise.h"
#include "stats/random.h"
#include "support/stream_program.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct lull_network_range ranges[] = {
    {0, 4096, "eager", {.value = 3e-7}, {.value = 4e9}},
    {4097, UINT64_MAX, "rendezvous", {.value = 9e-7}, {.value = 1.2e10}}};

static struct lull_network_level level(const char *name, double factor, bool loggp)
{
    struct lull_network_level level = {.name = name,
                                       .ranges = ranges,
                                       .n_ranges = 2,
                                       .has_eager_limit = true,
                                       .eager_limit = 4096,
                                       .latency = lull_number_empty(),
                                       .overhead = lull_number_empty(),
                                       .gap = lull_number_empty(),
                                       .gap_per_byte = lull_number_empty()};
    if (loggp) {
        level.latency.value = factor * 1e-7;
        level.overhead.value = factor * 5e-8;
        level.gap.value = factor * 6e-8;
        level.gap_per_byte.value = factor * 8e-11;
    }
    return level;
}

static double value(const struct lull_network *network, enum lull_level at, const char *parameter)
{
    return network->values[at][lull_network_parameter(network->class, parameter)];
}

static struct lull_machine *make(struct lull_network_level *levels, size_t count, uint32_t cores,
                                 uint32_t packages, struct lull_arena *arena)
{
    struct lull_machine *machine = lull_machine_create(arena);
    machine->network = levels;
    machine->n_network = count;
    machine->cpu.cores = cores;
    machine->cpu.packages = packages;
    return machine;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void test_loggops(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_network_level levels[] = {level("socket", 1, true), level("node", 2, true),
                                          level("remote", 10, true)};
    struct lull_machine *machine = make(levels, 3, 16, 2, arena);
    struct lull_network network;
    const char *note = "";
    assert_int_equal(lull_network_from_machine(machine, NULL, 64, arena, &network, &note, NULL),
                     LULL_OK);
    assert_null(note);
    assert_string_equal(network.class->name, "loggops");
    static const struct {
        enum lull_level at;
        double factor;
    } rows[] = {{LULL_LEVEL_CORE, 1},
                {LULL_LEVEL_SOCKET, 1},
                {LULL_LEVEL_NODE, 2},
                {LULL_LEVEL_SWITCH, 10},
                {LULL_LEVEL_CLUSTER, 10}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(near(value(&network, rows[i].at, "L"), rows[i].factor * 100));
        assert_true(near(value(&network, rows[i].at, "o"), rows[i].factor * 50));
        assert_true(near(value(&network, rows[i].at, "g"), rows[i].factor * 60));
        assert_true(near(value(&network, rows[i].at, "G"), rows[i].factor * 0.08));
        assert_true(value(&network, rows[i].at, "O") == 0);
        assert_true(value(&network, rows[i].at, "S") == 4096);
    }
    assert_int_equal(network.placement.cores_per_node, 16);
    assert_int_equal(network.placement.cores_per_socket, 8);
    assert_int_equal(lull_network_check(&network, 64, NULL), LULL_OK);
    assert_int_equal(lull_placement_level(&network.placement, 0, 7), LULL_LEVEL_SOCKET);
    assert_int_equal(lull_placement_level(&network.placement, 0, 8), LULL_LEVEL_NODE);
    assert_int_equal(lull_placement_level(&network.placement, 0, 16), LULL_LEVEL_CLUSTER);
    assert_int_equal(
        lull_network_from_machine(machine, "loggops-compat", 64, arena, &network, &note, NULL),
        LULL_OK);
    assert_true(near(value(&network, LULL_LEVEL_NODE, "L"), 200));
    lull_arena_destroy(arena);
}

/* What one message from rank 0 to rank 1 takes. */
static int64_t message_time(const struct lull_network *network, uint64_t bytes,
                            struct lull_arena *arena)
{
    struct lull_program *program = stream_program(2, NULL, 16);
    stream_program_add(program, 0, op_send(1, 0, bytes, 0));
    stream_program_add(program, 0, op_wait(0));
    stream_program_add(program, 1, op_receive(0, 0, 0));
    stream_program_add(program, 1, op_wait(0));
    struct lull_sim_result result = simulate(program, network, arena);
    lull_program_close(program);
    return result.runtime;
}

/* Up to 4096 bytes 300 ns and 4 GB/s, beyond 900 ns and 12 GB/s. */
static void test_ranges(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_network_level levels[] = {level("socket", 1, false)};
    struct lull_machine *machine = make(levels, 1, 2, 1, arena);
    struct lull_network network;
    const char *note;
    assert_int_equal(lull_network_from_machine(machine, NULL, 2, arena, &network, &note, NULL),
                     LULL_OK);
    assert_null(note);
    assert_string_equal(network.class->name, "ranges");
    for (int i = 0; i < LULL_LEVELS; i++)
        assert_true(value(&network, (enum lull_level)i, "eager") == 4096);
    assert_int_equal(message_time(&network, 0, arena), 300);
    assert_int_equal(message_time(&network, 4096, arena), 300 + 1024);
    assert_int_equal(message_time(&network, 4104, arena), 900 + 342);
    assert_int_equal(message_time(&network, 1200000, arena), 900 + 100000);
    assert_int_equal(lull_network_from_machine(machine, NULL, 3, arena, &network, &note, NULL),
                     LULL_OK);
    assert_string_equal(note, "3 ranks need more than the machine's 2 cores, but messages between "
                              "nodes were not measured: they cost as those between cores of a "
                              "socket");
    lull_arena_destroy(arena);
}

static void test_refused(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_network_level levels[] = {level("socket", 1, false)};
    struct lull_machine *machine = make(levels, 1, 2, 1, arena);
    struct lull_network network;
    const char *note;
    struct lull_error err;
    assert_int_equal(lull_network_from_machine(machine, "loggops", 2, arena, &network, &note, &err),
                     LULL_ERR_RANGE);
    assert_string_equal(err.text, "the machine file has no parameters of network 'loggops'");
    assert_int_equal(lull_network_from_machine(machine, "fat", 2, arena, &network, &note, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "there is no network 'fat', expected one of loggops"));
    levels[0] = level("socket", 1e30, true);
    assert_int_equal(lull_network_from_machine(machine, NULL, 2, arena, &network, &note, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "network 'socket' of the machine: L is 1e+32, expected 0 to"));
    machine->n_network = 0;
    assert_int_equal(lull_network_from_machine(machine, NULL, 2, arena, &network, &note, &err),
                     LULL_ERR_RANGE);
    assert_string_equal(err.text, "the machine file has no network");
    lull_arena_destroy(arena);
}

/* The noise of the machine is that of its trace, written and read as a recording. */
static void test_noise(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = lull_machine_create(arena);
    const struct lull_noise *noise;
    assert_int_equal(lull_noise_from_machine(machine, arena, &noise, NULL), LULL_OK);
    assert_null(noise);

    struct lull_detour detours[] = {{1e-5, 2e-6}, {3e-5, 1e-7}, {4.5e-5, 5e-6}};
    struct lull_machine_noise recordings[] = {
        {.quantum = 1e-6, .duration = 1e-4, .detours = detours, .n_detours = 3},
        {.quantum = 1e-6, .duration = 6e-5, .detours = detours, .n_detours = 2}};
    machine->noise = recordings;
    machine->n_noise = 2;
    assert_int_equal(lull_noise_from_machine(machine, arena, &noise, NULL), LULL_OK);

    char path[] = "/tmp/lull-noise-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    struct lull_noise_trace trace;
    assert_int_equal(lull_noise_trace_of(machine, arena, &trace, NULL), LULL_OK);
    lull_noise_trace_write(&trace, out);
    fclose(out);
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("recorded"));
    spec.file = path;
    const struct lull_noise *other;
    struct lull_error err;
    lull_status status = lull_noise_create(&spec, arena, &other, &err);
    unlink(path);
    assert_int_equal(status, LULL_OK);
    struct lull_random random;
    lull_random_seed(&random, 7);
    for (int i = 0; i < 10000; i++) {
        struct lull_noise_rank a = {0}, b = {0};
        uint32_t rank = (uint32_t)lull_random_below(&random, 64);
        int64_t begin = (int64_t)lull_random_below(&random, 1000000);
        int64_t work = (int64_t)lull_random_below(&random, 300000);
        assert_int_equal(lull_noise_extend(noise, 3, rank, &a, begin, work),
                         lull_noise_extend(other, 3, rank, &b, begin, work));
    }
    lull_arena_destroy(arena);
}

TEST_GROUP(test_machine_network)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loggops), cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_noise)};
    return run_cases(tests, NULL, NULL);
}
