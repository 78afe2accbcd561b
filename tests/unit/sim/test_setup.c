/* Networks, placements and delays from what users type. */
#include "sim/setup.h"

#include "sim/engine/engine.h"
#include "sim/pattern/pattern.h"
#include "support/arena_case.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static struct lull_error err;

static struct lull_spec *parsed(const char *text)
{
    struct lull_spec *spec;
    if (!text)
        return NULL;
    assert_int_equal(lull_spec_parse(text, arena, &spec, &err), LULL_OK);
    return spec;
}

static struct lull_network network(const char *text, const char *placement, uint32_t n_ranks)
{
    struct lull_network network;
    fail_if(lull_network_read(parsed(text), parsed(placement), n_ranks, arena, &network, &err) !=
                LULL_OK,
            "%s: %s", text, err.text);
    return network;
}

static double value(const struct lull_network *network, const char *name, enum lull_level level)
{
    return network->values[level][lull_network_parameter(network->class, name)];
}

static void test_parameters(void **state)
{
    (void)state;
    struct lull_network plain = network("loggops-compat:L=2us,G=0.5ns/B,S=4KiB", NULL, 4);
    assert_string_equal(plain.class->name, "loggops-compat");
    for (int level = 0; level < LULL_LEVELS; level++)
        assert_true(value(&plain, "L", (enum lull_level)level) == 2000 &&
                    value(&plain, "G", (enum lull_level)level) == 0.5);
    assert_true(plain.cpu_speed == 1 && plain.algorithms == NULL);
    struct lull_network levels =
        network("hockney:latency=1us,node.latency=300ns,core.latency=100,bandwidth=10GB/s,"
                "cpu-speed=150%,algorithms=allreduce:ring",
                "block:cores-per-node=4", 8);
    assert_true(value(&levels, "latency", LULL_LEVEL_CLUSTER) == 1000);
    assert_true(value(&levels, "latency", LULL_LEVEL_SWITCH) == 1000);
    assert_true(value(&levels, "latency", LULL_LEVEL_NODE) == 300);
    assert_true(value(&levels, "latency", LULL_LEVEL_CORE) == 100);
    assert_true(value(&levels, "bandwidth", LULL_LEVEL_NODE) == 1e10);
    assert_true(levels.cpu_speed == 1.5);
    assert_string_equal(levels.algorithms, "allreduce:ring");
}

static void test_placements(void **state)
{
    (void)state;
    struct lull_network n = network("ideal", NULL, 8);
    assert_int_equal(lull_placement_level(&n.placement, 0, 1), LULL_LEVEL_CLUSTER);
    n = network("ideal", "block:cores-per-node=4,cores-per-socket=2", 8);
    assert_int_equal(lull_placement_level(&n.placement, 0, 1), LULL_LEVEL_SOCKET);
    assert_int_equal(lull_placement_level(&n.placement, 0, 3), LULL_LEVEL_NODE);
    assert_int_equal(lull_placement_level(&n.placement, 3, 4), LULL_LEVEL_CLUSTER);
    n = network("ideal", "cyclic:cores-per-node=4", 8);
    assert_int_equal(lull_placement_level(&n.placement, 0, 1), LULL_LEVEL_CLUSTER);
    assert_int_equal(lull_placement_level(&n.placement, 0, 6), LULL_LEVEL_NODE);
    n = network("ideal", "map:cores=0+7+1+8,cores-per-node=4,nodes-per-switch=2", 4);
    assert_int_equal(lull_placement_level(&n.placement, 0, 2), LULL_LEVEL_NODE);
    assert_int_equal(lull_placement_level(&n.placement, 0, 1), LULL_LEVEL_SWITCH);
    assert_int_equal(lull_placement_level(&n.placement, 0, 3), LULL_LEVEL_CLUSTER);
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *network, *placement, *message;
    } bad[] = {
        {"hockney:latency=-1", NULL, "hockney: latency is -1, expected"},
        {"hockney:bandwidth=0", NULL, "hockney: bandwidth is 0, expected"},
        {"hockney:node.latency=x", NULL,
         "hockney: node.latency is 'x', expected a time as in 1.5us"},
        {"hockney:nodes.latency=1", NULL,
         "hockney: unknown key 'nodes.latency', did you mean "
         "'node.latency'?"},
        {"hockney:algorithms=bcast:ring", NULL,
         "hockney: algorithms: 'ring' is no algorithm of bcast, known: linear, binomial"},
        {"hockney:collectives=closed", NULL, "hockney: has no closed forms"},
        {"ideal", "spread", "unknown placement 'spread', known: block, cyclic, map"},
        {"ideal", "cyclic:nodes=2,cores-per-node=3",
         "cyclic: 2 nodes of 3 cores are too few for 8 ranks"},
        {"ideal", "map:cores=0-6", "map: cores lists 7 cores for 8 ranks"},
        {"ideal", "block:cores=3", "block: unknown key 'cores'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lull_network n;
        assert_int_equal(
            lull_network_read(parsed(bad[i].network), parsed(bad[i].placement), 8, arena, &n, &err),
            LULL_ERR_RANGE);
        fail_if(strncmp(err.text, bad[i].message, strlen(bad[i].message)) != 0,
                "'%s', expected '%s'", err.text, bad[i].message);
    }
}

static void test_delays(void **state)
{
    (void)state;
    struct lull_delay delay;
    assert_int_equal(lull_delay_read("5@2ms:30us", &delay, &err), LULL_OK);
    assert_true(delay.rank == 5 && !delay.at_iteration && delay.when == 2000000 &&
                delay.length == 30000);
    assert_int_equal(lull_delay_read("0@i12:7", &delay, &err), LULL_OK);
    assert_true(delay.rank == 0 && delay.at_iteration && delay.when == 12 && delay.length == 7);
    static const char *const bad[] = {"",      "5",     "5@1ms",  "@1:2",   "5@:2",
                                      "5@1:",  "5@i:2", "5@ix:2", "5@-1:2", "5@1:-2",
                                      "x@1:2", "5:1@2", "-1@1:2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fail_if(lull_delay_read(bad[i], &delay, &err) != LULL_ERR_RANGE,
                "'%s' is taken for a delay", bad[i]);
}

/* ---- patterns on networks whose cost is known ------------------------------------------------ */

static int64_t runtime(const char *pattern, const char *text)
{
    struct lull_program *program;
    struct lull_sim_result result;
    fail_if(lull_pattern_open(parsed(pattern), &program, &err) != LULL_OK, "%s", err.text);
    struct lull_network n = network(text, NULL, program->n_ranks);
    struct lull_sim_options options = {.network = &n};
    fail_if(lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK, "%s",
            err.text);
    lull_program_close(program);
    return result.runtime;
}

/* The published model of a halo swap: 2 (latency + bytes / bandwidth) in one dimension, twice that
 * in two, when the directions are waited for one after the other. */
static void test_halo_swap(void **state)
{
    (void)state;
    static const char network_text[] = "hockney:latency=5us,bandwidth=400MB/s";
    const int64_t swap = 5000 + 8 * 1000 * 1000 / 400; /* 8 kB at 400 MB/s, in ns */
    assert_true(runtime("chain:ranks=16,boundary=periodic,wait=direction,bytes=8000,exec=0,"
                        "iterations=1",
                        network_text) == 2 * swap);
    assert_true(runtime("grid:ranks=4x4,boundary=periodic,wait=direction,bytes=8000,exec=0,"
                        "iterations=1",
                        network_text) == 4 * swap);
}

/* With latency alone, an operation takes as many latencies as its longest chain of messages. */
static void test_collective_steps(void **state)
{
    (void)state;
    static const struct {
        const char *op, *algorithm;
        int64_t steps;
    } rows[] = {
        {"barrier", "dissemination", 4},
        {"barrier", "linear", 2},
        {"barrier", "binomial", 8},
        {"barrier", "double-ring", 32},
        {"allreduce", "recursive-doubling", 4},
        {"allreduce", "rabenseifner", 8},
        {"allreduce", "ring", 30},
        {"bcast", "binomial", 4},
        {"reduce", "binomial", 4},
        {"bcast", "pipelined", 15},
        {"allgather", "bruck", 4},
        {"alltoall", "pairwise", 15},
        {"alltoall", "linear", 1},
        {"scan", "recursive-doubling", 4},
        {"scan", "linear", 15},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *pattern =
            lull_arena_printf(arena, "collective:op=%s,ranks=16,exec=0,iterations=1", rows[i].op);
        const char *text =
            lull_arena_printf(arena, "hockney:latency=1us,bandwidth=inf,algorithms=%s:%s",
                              rows[i].op, rows[i].algorithm);
        int64_t got = runtime(pattern, text);
        fail_if(got != rows[i].steps * 1000, "%s by %s takes %lld ns, expected %lld us", rows[i].op,
                rows[i].algorithm, (long long)got, (long long)rows[i].steps);
    }
}

/* Thakur, Rabenseifner and Gropp (2005), sections 4.1 to 4.6, and for the reduction to a root
 * Rabenseifner (2004): `alpha` latencies and the time of `bytes` bytes, at powers of two and beside
 * them. By default what they say MPICH takes at that size. */
static void test_published_costs(void **state)
{
    (void)state;
    static const struct {
        const char *op, *algorithm; /* "": by default */
        int ranks, bytes;           /* of the vector, or of a block */
        int64_t alpha, beta;
    } rows[] = {
        {"allgather", "recursive-doubling", 16, 64, 4, 15 * 64},
        {"allgather", "bruck", 11, 64, 4, 10 * 64},
        {"allgather", "ring", 11, 64, 10, 10 * 64},
        {"allgather", "ring", 16, 64, 15, 15 * 64},
        {"allgather", "", 16, 32767, 4, 15 * 32767},
        {"allgather", "", 16, 32768, 15, 15 * 32768},
        {"allgather", "", 11, 7447, 4, 10 * 7447},
        {"allgather", "", 11, 7448, 10, 10 * 7448},
        {"bcast", "", 16, 12000, 4, 4 * 12000},
        {"bcast", "", 16, 16384, 8, 2 * 15 * 1024},
        {"bcast", "", 16, 524288, 4 + 15, 2 * 15 * 32768},
        {"alltoall", "bruck", 16, 64, 4, 4 * 8 * 64},
        {"alltoall", "", 16, 256, 4, 4 * 8 * 256},
        {"alltoall", "", 16, 32769, 15, 15 * 32769},
        {"alltoall", "", 11, 32769, 10, 10 * 32769},
        {"reduce_scatter", "", 16, 1024, 4, 15 * 1024},
        {"reduce_scatter", "", 16, 32768, 15, 15 * 32768},
        {"reduce_scatter", "pairwise", 11, 1024, 10, 10 * 1024},
        {"allreduce", "", 16, 2048, 4, 4 * 2048},
        {"allreduce", "", 15, 2048, 3 + 2, (3 + 2) * 2048},
        {"allreduce", "", 16, 16384, 8, 2 * 15 * 1024},
        {"allreduce", "", 15, 16384, 6 + 2, 2 * 7 * 2048 + 2 * 16384},
        {"reduce", "", 16, 2048, 4, 4 * 2048},
        {"reduce", "", 16, 16384, 8, 2 * 15 * 1024},
        {"reduce,root=1", "", 15, 16384, 6 + 1, 2 * 7 * 2048 + 16384}, /* not folded */
        {"gather", "", 16, 1024, 4, 15 * 1024},
        {"scatter", "", 16, 1024, 4, 15 * 1024},
        {"scan", "", 16, 1024, 4, 4 * 1024},
        {"exscan", "", 16, 1024, 4, 4 * 1024},
        {"barrier", "", 11, 0, 4, 0},
        {"barrier", "", 16, 0, 4, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool chosen = *rows[i].algorithm;
        const char *pattern =
            lull_arena_printf(arena, "collective:op=%s,ranks=%d,bytes=%d,exec=0,iterations=1",
                              rows[i].op, rows[i].ranks, rows[i].bytes);
        const char *text =
            lull_arena_printf(arena, "hockney:latency=100ns,bandwidth=1GB/s,eager=1GB%s%s%s%s",
                              chosen ? ",algorithms=" : "", chosen ? rows[i].op : "",
                              chosen ? ":" : "", rows[i].algorithm);
        int64_t expected = 100 * rows[i].alpha + rows[i].beta, got = runtime(pattern, text);
        fail_if(got != expected, "%s by %s on %d ranks, %d bytes: %lld ns, expected %lld",
                rows[i].op, chosen ? rows[i].algorithm : "default", rows[i].ranks, rows[i].bytes,
                (long long)got, (long long)expected);
    }
}

TEST_GROUP(test_setup)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(test_parameters),
        ARENA_TEST(test_placements),
        ARENA_TEST(test_bad),
        ARENA_TEST(test_delays),
        ARENA_TEST(test_halo_swap),
        ARENA_TEST(test_collective_steps),
        ARENA_TEST(test_published_costs),
    };
    return run_cases(tests, NULL, NULL);
}
