/* Working sets, thread counts, and verdicts on what was measured. */
#include "bench/benchmark.h"
#include "bench/memory/memory.h"
#include "bench/memory/stream.h"
#include "bench/number.h"

#include "lull_features.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* ---- verdicts ------------------------------------------------------------------------------ */

static void fill_rounds(struct lull_round *rounds, size_t count, double spread)
{
    for (size_t i = 0; i < count; i++) {
        double value = 1e-6 * (1 + spread * (double)i / (double)(count - 1));
        rounds[i] = (struct lull_round){.value = value,
                                        .low = value,
                                        .high = value,
                                        .median = value,
                                        .blocks = 100,
                                        .cycle = NAN,
                                        .repetitions = 1,
                                        .steal = 0};
    }
}

static void test_verdicts(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_round rounds[9];
    struct lull_probe probe = {.name = "x.1",
                               .unit = "B/s",
                               .amount = 1000,
                               .write_allocate = 1.5,
                               .rounds = rounds,
                               .n_rounds = 9};
    fill_rounds(rounds, 9, 0.005);
    struct lull_number number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_QUIET);
    /* A tenth visit lies within the nine with a probability of 8 in 10; bandwidth turns them round.
     */
    assert_true(fabs(number.value - 1000 / rounds[4].value) < 1);
    assert_true(fabs(number.low - 1000 / rounds[8].value) < 1);
    assert_true(fabs(number.high - 1000 / rounds[0].value) < 1);
    assert_true(fabs(number.confidence - 0.8) < 1e-12);
    assert_true(isnan(number.in_cycles));
    assert_true(isnan(number.mean));
    assert_true(fabs(number.with_write_allocate / number.value - 1.5) < 1e-12);
    assert_int_equal(number.samples, 900);
    assert_int_equal(number.rounds, 9);
    assert_string_equal(number.statistic, "p10");
    assert_null(number.note);

    rounds[0].interrupted = 85;
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_NOISY);
    assert_string_equal(number.note, "9 % of the blocks were interrupted");
    rounds[0].interrupted = 0;
    for (size_t i = 0; i < 9; i++)
        rounds[i].steal = 0.25;
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_NOISY);
    assert_string_equal(number.note, "the hypervisor took 25 % of the time");
    for (size_t i = 0; i < 9; i++) {
        rounds[i].steal = NAN; /* unknown */
        rounds[i].lost = i % 3 ? 0 : i == 0 ? NAN : 0.6;
    }
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_NOISY);
    assert_string_equal(number.note, "others had the cores 15 % of the time");
    for (size_t i = 0; i < 9; i++) {
        rounds[i].lost = 0;
        rounds[i].median = 1.5 * rounds[i].value;
    }
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_NOISY);
    assert_string_equal(number.note, "the median block takes 50 % longer");

    /* The median of the visits' means, one of which is not known; in a core's own clock the
     * quantile is enough. */
    for (size_t i = 0; i < 9; i++)
        rounds[i].mean = i == 3 ? NAN : 1e-6 * (double)(9 - i);
    number = lull_probe_number(&probe, 0.01, arena);
    assert_true(fabs(number.mean - (1000 / 5e-6 + 1000 / 4e-6) / 2) < 1);
    for (size_t i = 0; i < 9; i++)
        rounds[i].cycle = 1e-9;
    assert_true(isnan(lull_probe_number(&probe, 0.01, arena).mean));

    fill_rounds(rounds, 9, 0.1);
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_NOT_CONVERGED);
    probe.n_rounds = 5; /* equal values, but too few of them for an interval of 95 % */
    fill_rounds(rounds, 5, 0);
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_NOT_CONVERGED);
    assert_true(fabs(number.confidence - 4.0 / 6) < 1e-12);
    probe.n_rounds = 0;
    assert_true(isnan(lull_probe_number(&probe, 0.01, arena).value));
    lull_arena_destroy(arena);
}

static void test_openmp_settings(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    static const char *const set[] = {"HOME=/root",       "OMP_WAIT_POLICY=passive",
                                      "OMP_PROC_BIND=no", "KMP_BLOCKTIME=0",
                                      "GOMP_SPINCOUNT=5", NULL};
    assert_string_equal(lull_openmp_settings(set, arena),
                        "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0 GOMP_SPINCOUNT=5");
    assert_string_equal(lull_openmp_settings(set + 5, arena), "");
    lull_arena_destroy(arena);
}

/* In one visit there was time for two blocks, and one of them lost its slice: it took a million
 * times as long. That is no rate. */
static void test_lost_slice(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_round rounds[12];
    struct lull_probe probe = {
        .name = "peak.2", .unit = "flop/s", .amount = 1000, .rounds = rounds, .n_rounds = 12};
    fill_rounds(rounds, 12, 0.005);
    rounds[7].value = rounds[7].high = 1;
    rounds[7].blocks = 2;
    rounds[7].interrupted = 1;
    struct lull_number number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.rounds, 11);
    assert_true(number.low > 0.99e9 && number.high < 1.01e9);
    assert_string_equal(number.note, "1 of 12 visits were interrupted throughout and are left out");
    for (size_t i = 0; i < 12; i++) { /* where nothing else is there, they are told as they are */
        rounds[i].blocks = 2;
        rounds[i].interrupted = 2;
    }
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.rounds, 12);
    assert_int_equal(number.verdict, LULL_VERDICT_NOISY);
    lull_arena_destroy(arena);
}

/* A clock that rises by a third during the run changes the number of a core's own, and nothing in
 * it is unsure: 1000 bytes take 500 cycles. */
static void test_cycles(void **state)
{
    (void)state;
    enum { ROUNDS = 12 };
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_round rounds[ROUNDS];
    struct lull_probe probe = {
        .name = "x.1", .unit = "B/s", .amount = 1000, .rounds = rounds, .n_rounds = ROUNDS};
    fill_rounds(rounds, ROUNDS, 0);
    for (size_t i = 0; i < ROUNDS; i++) {
        double clock = 3e9 * (1 + (double)i / (3 * (ROUNDS - 1)));
        rounds[i].value = rounds[i].median = 500 / clock;
        rounds[i].cycle = 1 / clock;
    }
    struct lull_number number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_QUIET);
    assert_true(fabs(number.low - 6e9) < 1 && fabs(number.high - 8e9) < 1);
    assert_true(fabs(number.in_cycles - 2) < 1e-9);
    assert_true(fabs(number.in_cycles_low - 2) < 1e-9 && fabs(number.in_cycles_high - 2) < 1e-9);

    rounds[3].cycle = NAN; /* not known in one visit, so not known */
    number = lull_probe_number(&probe, 0.01, arena);
    assert_int_equal(number.verdict, LULL_VERDICT_NOT_CONVERGED);
    assert_true(isnan(number.in_cycles));

    probe = (struct lull_probe){
        .name = "y.1", .unit = "s", .scale = 0.5, .rounds = rounds, .n_rounds = ROUNDS};
    rounds[3].cycle = rounds[3].value / 500;
    assert_true(fabs(lull_probe_number(&probe, 0.01, arena).in_cycles - 250) < 1e-9);
    lull_arena_destroy(arena);
}

/* No number is surer than the clock, but for those that have no unit of time. */
static void test_clock_range(void **state)
{
    (void)state;
    double cycles[] = {0.5e-9, 0.4e-9, 0.45e-9, 0.5e-9, 0.6e-9};
    struct lull_clock_range range = lull_clock_range_of(cycles, 5);
    assert_true(fabs(range.low - 0.8) < 1e-12 && fabs(range.high - 1.2) < 1e-12);
    struct lull_number time = lull_number_plain(10e-6, "s", "p10");
    time.low = 9.9e-6, time.high = 15e-6;
    lull_number_widen(&time, &range);
    assert_true(fabs(time.low - 8e-6) < 1e-12 && time.high == 15e-6);
    struct lull_number rate = lull_number_plain(12e9, "B/s", "p10"), share = rate;
    rate.low = rate.high = 12e9;
    lull_number_widen(&rate, &range);
    assert_true(fabs(rate.low - 10e9) < 1 && fabs(rate.high - 15e9) < 1);
    share.unit = "1";
    share.low = share.high = 12e9;
    lull_number_widen(&share, &range);
    assert_true(share.low == 12e9 && share.high == 12e9);
    lull_number_widen(&time, &(struct lull_clock_range){1, 1});
    assert_true(fabs(time.low - 8e-6) < 1e-12 && time.high == 15e-6);
    range = lull_clock_range_of(cycles, 0);
    assert_true(range.low == 1 && range.high == 1);
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; lull_benchmarks[i]; i++) {
        assert_non_null(lull_bench_group_find(lull_benchmarks[i]->group));
        assert_ptr_equal(lull_benchmark_find(lull_benchmarks[i]->name), lull_benchmarks[i]);
        /* Names of both are operands: they are the same only for a group of one. */
        if (lull_bench_group_find(lull_benchmarks[i]->name))
            assert_string_equal(lull_benchmarks[i]->group, lull_benchmarks[i]->name);
    }
    assert_null(lull_benchmark_find("none"));
    double quick = 0;
    for (size_t i = 0; lull_bench_groups[i].name; i++)
        quick += lull_bench_groups[i].seconds[LULL_EFFORT_QUICK];
    assert_true(quick < 60);
}

#if LULL_HAVE_HWLOC

/* ---- working sets -------------------------------------------------------------------------- */

static struct lull_topology *fake(const char *description, struct lull_arena *arena)
{
    struct lull_topology *topology = NULL;
    assert_int_equal(lull_topology_open_fake(description, arena, &topology, NULL), LULL_OK);
    return topology;
}

#define SERVER "pack:2 l3:2(size=32MiB) core:8 l2:1(size=1MiB) l1:1(size=32KiB) pu:2"

static void test_levels(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = fake(SERVER, arena);
    struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS];
    assert_int_equal(lull_bench_find_levels(topology, 1, 0, arena, levels), 4);
    static const char *const names[] = {"L1", "L2", "L3", "memory"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(levels[i].name, names[i]);
        assert_null(levels[i].not_there);
        assert_null(levels[i].note);
    }
    /* Each fits its level and does not fit the one below. */
    assert_true(levels[0].bytes <= 32 * KIB);
    assert_true(levels[1].bytes <= 1 * MIB && levels[1].bytes > 32 * KIB);
    assert_true(levels[2].bytes <= 32 * MIB && levels[2].bytes > 1 * MIB);
    assert_true(levels[3].bytes >= 4 * 32 * MIB);
    /* 8 cores share an L3; 32 cores have four of them. */
    lull_bench_find_levels(topology, 8, 0, arena, levels);
    assert_true(8 * levels[2].bytes <= 32 * MIB && levels[2].bytes > 1 * MIB);
    assert_true(8 * levels[3].bytes >= 4 * 32 * MIB);
    lull_bench_find_levels(topology, 32, 0, arena, levels);
    assert_true(32 * levels[3].bytes >= 4 * 4 * 32 * MIB);
    /* A working set need not fill a large cache that others use too, or may use. */
    struct lull_machine_cache *last = &topology->caches[2];
    const struct lull_machine_cache known = *last;
    last->bytes = 512 * MIB;
    lull_bench_find_levels(topology, 1, 0, arena, levels);
    assert_int_equal(levels[2].bytes, 4 * MIB);
    last->shared_cores = 0; /* unknown */
    lull_bench_find_levels(topology, 1, 0, arena, levels);
    assert_int_equal(levels[2].bytes, 4 * MIB);
    *last = known;
    /* Little memory is said, too little is not used. */
    lull_bench_find_levels(topology, 1, 80 * MIB, arena, levels);
    assert_true(levels[3].bytes <= 80 * MIB && levels[3].note && !levels[3].not_there);
    lull_bench_find_levels(topology, 1, 40 * MIB, arena, levels);
    assert_non_null(levels[3].not_there);
    last->bytes = 512 * MIB; /* of one core, as some virtual machines say */
    last->shared_cores = 1;
    lull_bench_find_levels(topology, 1, 40 * MIB, arena, levels);
    assert_true(levels[2].bytes <= 40 * MIB && !levels[2].not_there);
    lull_bench_find_levels(topology, 1, 1 * MIB, arena, levels);
    assert_true(levels[2].bytes <= 1 * MIB && levels[2].not_there);
    lull_topology_close(topology);

    /* A share of the last level that is no larger than the level below is no level. */
    topology = fake("l3:1(size=8MiB) core:16 l2:1(size=1MiB) l1:1(size=32KiB) pu:1", arena);
    assert_int_equal(lull_bench_find_levels(topology, 16, 0, arena, levels), 4);
    assert_non_null(levels[2].not_there);
    lull_bench_find_levels(topology, 1, 0, arena, levels);
    assert_null(levels[2].not_there);
    lull_topology_close(topology);

    topology = fake("core:2 pu:1", arena); /* nothing known */
    assert_int_equal(lull_bench_find_levels(topology, 1, 0, arena, levels), 1);
    assert_string_equal(levels[0].name, "memory");
    assert_non_null(levels[0].note);
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

static void test_thread_counts(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        unsigned counts[16];
        size_t count;
    } cases[] = {
        {"pu:1", {1}, 1},
        {"core:2 pu:1", {1, 2}, 2},
        {"core:2 pu:2", {1, 2}, 2}, /* hyper-threads are no cores */
        {"pack:2 [numa] core:16 pu:1", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 32}, 13},
    };
    struct lull_arena *arena = lull_arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_topology *topology = fake(cases[i].topology, arena);
        unsigned counts[64];
        assert_int_equal(lull_bench_thread_counts(topology, counts, 64), cases[i].count);
        for (size_t k = 0; k < cases[i].count; k++)
            assert_int_equal(counts[k], cases[i].counts[k]);
        lull_topology_close(topology);
    }
    lull_arena_destroy(arena);
}

static void test_memory(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_bench_memory *memory;
    struct lull_error err;
    assert_int_equal(lull_bench_memory_open(3, 5 * MIB, arena, &memory, &err), LULL_OK);
    for (size_t i = 0; i < 3; i++) {
        double *region = lull_bench_memory_region(memory, i);
        assert_int_equal((uintptr_t)region % (2 * MIB), 0);
        lull_bench_memory_touch(memory, i, MIB);
        assert_true(region[0] == 1 && region[MIB / 8 - 1] == 1 && region[MIB / 8] == 0);
        region[0] = 5;
        lull_bench_memory_touch(memory, i, 5 * MIB);
        assert_true(region[0] == 5 && region[5 * MIB / 8 - 1] == 1); /* once only */
    }
    assert_int_equal(lull_bench_memory_open(1, UINT64_C(1) << 60, arena, &memory, &err),
                     LULL_ERR_MEMORY);
    lull_bench_memory_close(NULL);
    lull_arena_destroy(arena);
}

#endif

TEST_GROUP(test_run)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_openmp_settings),
        cmocka_unit_test(test_lost_slice),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_clock_range),
        cmocka_unit_test(test_table),
#if LULL_HAVE_HWLOC
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_thread_counts),
        cmocka_unit_test(test_memory),
#endif
    };
    return run_cases(tests, NULL, NULL);
}
