/* Computations that share memory bandwidth: by hand, by identities, and against a simulation in
 * small steps of time. */
#include "sim/engine/engine.h"
#include "sim/memory.h"
#include "sim/pattern/pattern.h"
#include "sim/setup.h"
#include "stats/random.h"
#include "support/arena_case.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct lull_error err;

static const struct lull_memory *memory_of(const char *text, const struct lull_machine *machine)
{
    struct lull_spec *spec;
    const struct lull_memory *memory = NULL;
    fail_if(lull_spec_parse(text, arena, &spec, &err) != LULL_OK ||
                lull_memory_read(spec, machine, arena, &memory, &err) != LULL_OK,
            "%s", err.text);
    return memory;
}

static struct lull_sim_result simulate(const char *pattern, const char *network_text,
                                       const struct lull_memory *memory, const char *delay_text,
                                       bool path)
{
    struct lull_spec *spec;
    struct lull_program *program = NULL;
    struct lull_network network;
    struct lull_sim_result result;
    struct lull_delay delay;
    fail_if(lull_spec_parse(pattern, arena, &spec, &err) != LULL_OK ||
                lull_pattern_open(spec, &program, &err) != LULL_OK ||
                lull_spec_parse(network_text, arena, &spec, &err) != LULL_OK ||
                lull_network_read(spec, NULL, program->n_ranks, arena, &network, &err) != LULL_OK ||
                (delay_text && lull_delay_read(delay_text, &delay, &err) != LULL_OK),
            "%s", err.text);
    const struct lull_sim_options options = {.network = &network,
                                             .memory = memory,
                                             .delays = &delay,
                                             .n_delays = delay_text ? 1 : 0,
                                             .path = path};
    fail_if(lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK, "%s: %s",
            pattern, err.text);
    lull_program_close(program);
    return result;
}

/* Four ranks of 4, 8, 12 and 16 ms, whose memory serves two at full speed: while all compute each
 * has the pace that its time is for, three have 4/3 of it, two or one twice. */
static void test_by_hand(void **state)
{
    (void)state;
    const struct lull_memory *memory = memory_of("saturation:ranks=4,cores=2", NULL);
    struct lull_sim_result result = simulate(
        "chain:ranks=4,exec=4ms+8ms+12ms+16ms,iterations=1,bytes=0", "ideal", memory, NULL, false);
    /* 4 ms; then 3 ms for 4 ms; then 2 ms for 4 ms; then 2 ms for 4 ms. Neighbours wait. */
    static const int64_t computed[] = {4000000, 7000000, 9000000, 11000000};
    for (uint32_t r = 0; r < 4; r++)
        assert_int_equal(result.ranks[r].compute, computed[r]);
    assert_int_equal(result.runtime, 11000000);
    /* Two domains of two ranks know nothing of each other. */
    memory = memory_of("saturation:ranks=2,cores=1", NULL);
    result = simulate("chain:ranks=4,exec=10ms+20ms+5ms+5ms,iterations=1,bytes=0", "ideal", memory,
                      NULL, false);
    static const int64_t paired[] = {10000000, 15000000, 5000000, 5000000};
    for (uint32_t r = 0; r < 4; r++)
        assert_int_equal(result.ranks[r].compute, paired[r]);
}

/* A delay takes no bandwidth: the other rank computes alone as long as it lasts. */
/* What takes no time ends at once, at the very beginning, too. */
static void test_nothing(void **state)
{
    (void)state;
    const struct lull_memory *memory = memory_of("saturation:ranks=2,cores=1", NULL);
    struct lull_sim_result result =
        simulate("chain:ranks=4,exec=0ms,iterations=3,bytes=0", "ideal", memory, NULL, false);
    assert_int_equal(result.runtime, 0);
    result = simulate("chain:ranks=4,exec=0ms+5ms+0ms+5ms,iterations=3,bytes=0", "ideal", memory,
                      NULL, false);
    assert_int_equal(result.runtime,
                     7500000); /* each domain has one that computes: twice as fast */
}

static void test_delay(void **state)
{
    (void)state;
    const struct lull_memory *memory = memory_of("saturation:ranks=2,cores=1", NULL);
    struct lull_sim_result result = simulate("chain:ranks=2,exec=10ms,iterations=2,bytes=0",
                                             "ideal", memory, "0@i0:8ms", false);
    /* Both compute until 10 ms; rank 0 is late until 18 ms, for which rank 1 waits. */
    assert_int_equal(result.runtime, 28000000);
    result = simulate("chain:ranks=2,exec=10ms+30ms,iterations=1,bytes=0", "ideal", memory,
                      "0@i0:8ms", false);
    assert_int_equal(result.ranks[1].compute,
                     10000000 + 10000000); /* 20 of 30 ms at twice the pace */
}

/* Memory that is enough for all changes nothing, to the nanosecond. */
static void test_enough_for_all(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "chain:ranks=13,exec=1ms+2ms+500us,iterations=20,bytes=100KiB,collective=allreduce,every=5",
        "chain:ranks=9,exec=7us+3us,distances=1+3,wait=each,direction=up,boundary=periodic",
        "grid:ranks=3x3x2,exec=10us+20us+15us+1us,iterations=5,bytes=100000,wait=direction"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (unsigned path = 0; path < 2; path++) {
            struct lull_sim_result with =
                simulate(patterns[p], "hockney", memory_of("saturation:ranks=4,cores=4", NULL),
                         "3@i2:900us", path);
            struct lull_sim_result without =
                simulate(patterns[p], "hockney", NULL, "3@i2:900us", path);
            assert_int_equal(with.runtime, without.runtime);
            for (uint32_t r = 0; r < with.n_ranks; r++)
                assert_int_equal(with.ranks[r].end, without.ranks[r].end);
            for (unsigned i = 0; path && i < LULL_PATH_PARTS; i++)
                assert_int_equal(with.path[i], without.path[i]);
        }
}

/* ---- small steps of time ----------------------------------------------------------------------
 */

enum { MOST_RANKS = 40 };

/* Ranks of a chain that in each iteration compute, send to both neighbours, and wait for theirs;
 * messages take no time. Returns when each rank has ended, in steps. */
static void step_by_step(uint32_t n_ranks, uint32_t iterations, double exec, double step,
                         uint32_t domain, uint32_t cores, uint32_t late, uint32_t when,
                         double delay, double *ends)
{
    double left[MOST_RANKS], pause[MOST_RANKS], now = 0;
    uint32_t computed[MOST_RANKS] = {0}, over = 0;
    bool computes[MOST_RANKS];
    for (uint32_t r = 0; r < n_ranks; r++) {
        left[r] = exec;
        pause[r] = 0;
        computes[r] = true;
        ends[r] = -1;
    }
    while (over < n_ranks) {
        uint32_t busy[MOST_RANKS] = {0};
        for (uint32_t r = 0; r < n_ranks; r++)
            busy[r / domain] += computes[r] && left[r] > 0;
        for (uint32_t r = 0; r < n_ranks; r++) {
            uint32_t n = busy[r / domain];
            if (!computes[r])
                continue;
            if (left[r] > 0) {
                /* bandwidth of n ranks, each its part, against that of a full domain */
                left[r] -= step * fmin(n, cores) / n / (fmin(domain, cores) / domain);
                if (left[r] <= step * 1e-6 && r == late && computed[r] == when)
                    pause[r] = delay;
            } else {
                pause[r] -= step;
            }
            if (left[r] <= step * 1e-6 && pause[r] <= step * 1e-6) {
                computes[r] = false;
                computed[r]++;
            }
        }
        now += step;
        for (uint32_t r = 0; r < n_ranks; r++) {
            if (computes[r] || ends[r] >= 0 || (r > 0 && computed[r - 1] < computed[r]) ||
                (r + 1 < n_ranks && computed[r + 1] < computed[r]))
                continue;
            if (computed[r] == iterations) {
                ends[r] = now;
                over++;
                continue;
            }
            computes[r] = true;
            left[r] = exec;
        }
    }
}

static uint32_t below(struct lull_random *random, uint32_t bound)
{
    return (uint32_t)(lull_random_below(random, bound));
}

static void test_against_small_steps(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned round = 0; round < lull_test_rounds(12); round++) {
        uint32_t ranks = 4 + below(&random, MOST_RANKS - 4);
        uint32_t domain = 2 + below(&random, 10);
        uint32_t cores = 1 + below(&random, domain);
        uint32_t late = below(&random, ranks);
        double ends[MOST_RANKS];
        char pattern[200], memory[100], delay[100];
        snprintf(pattern, sizeof pattern, "chain:ranks=%u,exec=1ms,iterations=30,bytes=0", ranks);
        snprintf(memory, sizeof memory, "saturation:ranks=%u,cores=%u", domain, cores);
        snprintf(delay, sizeof delay, "%u@i5:7ms", late);
        struct lull_sim_result result =
            simulate(pattern, "ideal", memory_of(memory, NULL), delay, false);
        step_by_step(ranks, 30, 1e6, 250, domain, cores, late, 5, 7e6, ends);
        for (uint32_t r = 0; r < ranks; r++)
            fail_if(fabs((double)result.ranks[r].end - ends[r]) > 30 * 3 * 250.0,
                    "seed %llu: %s %s %s: rank %u ends at %lld ns, in small steps at %.0f",
                    (unsigned long long)lull_test_seed(), pattern, memory, delay, r,
                    (long long)result.ranks[r].end, ends[r]);
    }
}

/* ---- what users say ---------------------------------------------------------------------------
 */

static void add_bandwidth(struct lull_machine *machine, const char *name, double value)
{
    const struct lull_number number = {.name = name, .value = value, .unit = "B/s"};
    lull_machine_set(machine, arena, &number);
}

static void test_machine(void **state)
{
    (void)state;
    struct lull_machine *machine = lull_machine_create(arena);
    machine->cpu.cores_per_numa_domain = 4;
    add_bandwidth(machine, "memory.copy.1", 10e9);
    add_bandwidth(machine, "memory.copy.2", 16e9);
    add_bandwidth(machine, "memory.copy.4", 20e9);
    const struct lull_memory *memory = memory_of("machine:kernel=copy", machine);
    assert_int_equal(memory->ranks, 4);
    static const double paces[] = {0, 2, 1.6, 1.2, 1}; /* 10, 8, 6 and 5 GB/s each; 18 of three */
    for (unsigned n = 1; n <= 4; n++)
        assert_float_equal(memory->pace[n], paces[n], 1e-12);
}

static void refused(const char *text, const struct lull_machine *machine, const char *words)
{
    struct lull_spec *spec;
    const struct lull_memory *memory;
    assert_int_equal(lull_spec_parse(text, arena, &spec, &err), LULL_OK);
    assert_int_equal(lull_memory_read(spec, machine, arena, &memory, &err), LULL_ERR_RANGE);
    fail_if(!strstr(err.text, words), "%s: %s", text, err.text);
}

static void test_refused(void **state)
{
    (void)state;
    struct lull_machine *machine = lull_machine_create(arena);
    machine->cpu.cores = 4;
    add_bandwidth(machine, "memory.triad.4", 20e9);
    refused("machine", NULL, "--machine");
    refused("machine", machine, "memory.triad.1");
    refused("machine:kernel=load", machine, "memory.load.1");
    refused("saturation:ranks=4,cores=5", NULL, "cores");
    refused("saturation:ranks=0", NULL, "ranks");
    refused("saturation:core=4", NULL, "core");
    refused("shared", NULL, "saturation");
}

static lull_status no_operations(struct lull_program *program, uint32_t stream,
                                 struct lull_op *ret_ops, uint32_t room, uint32_t *ret_count,
                                 struct lull_error *error)
{
    (void)program, (void)stream, (void)ret_ops, (void)room, (void)error;
    *ret_count = 0;
    return LULL_OK;
}

/* A rank with several threads would compute more than once at a time. */
static void test_threads_are_refused(void **state)
{
    (void)state;
    static const uint32_t first_stream[] = {0, 2};
    const struct lull_program_class class = {.name = "threads", .next = no_operations};
    struct lull_program program = {
        .class = &class, .name = "two", .n_ranks = 1, .n_streams = 2, .first_stream = first_stream};
    struct lull_network network;
    struct lull_sim_result result;
    lull_network_init(&network, lull_network_find("ideal"));
    const struct lull_sim_options options = {
        .network = &network, .memory = memory_of("saturation:ranks=1,cores=1", NULL)};
    assert_int_equal(lull_simulate(&program, &options, arena, &result, NULL, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "two: ranks can share memory in patterns alone"));
}

TEST_GROUP(test_memory)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(test_by_hand),
        ARENA_TEST(test_nothing),
        ARENA_TEST(test_delay),
        ARENA_TEST(test_enough_for_all),
        ARENA_TEST(test_against_small_steps),
        ARENA_TEST(test_machine),
        ARENA_TEST(test_refused),
        ARENA_TEST(test_threads_are_refused),
    };
    return run_cases(tests, NULL, NULL);
}
