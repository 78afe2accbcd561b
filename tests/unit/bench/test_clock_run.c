/* Whole runs of benchmarks, also on hosts that are odd. */
#include "bench/benchmark.h"
#include "bench/number.h"

#include "lull_features.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if LULL_HAVE_HWLOC

#define MIB (UINT64_C(1024) * 1024)

static double last_share;

static void tell(void *context, double share, const char *what)
{
    size_t *calls = context;
    ++*calls;
    assert_true(share >= last_share && share <= 1 && what && *what);
    last_share = share;
}

static struct lull_machine *run(const char *name, struct lull_topology *topology, uint64_t memory,
                                struct lull_arena *arena)
{
    const struct lull_benchmark *wanted[] = {lull_benchmark_find(name)};
    size_t calls = 0;
    const struct lull_bench_settings settings = {.effort = LULL_EFFORT_QUICK,
                                                 .precision = 1,
                                                 .wanted = wanted,
                                                 .n_wanted = 1,
                                                 .memory = memory,
                                                 .progress = tell,
                                                 .progress_context = &calls};
    struct lull_machine *machine = NULL;
    struct lull_error err = {""};
    last_share = 0;
    fail_if(lull_bench_run(&settings, topology, arena, &machine, &err) != LULL_OK, "%s", err.text);
    assert_true(calls > 0);
    return machine;
}

static void test_run(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = run("clock", NULL, 64 * MIB, arena);
    const struct lull_number *number = lull_machine_find(machine, "clock.effective");
    assert_non_null(number);
    assert_true(number->value > 0 && isfinite(number->value));
    assert_true(number->rounds >= 2 && number->samples >= number->rounds);
    assert_string_equal(machine->provenance.kind, "measured");
    assert_non_null(machine->provenance.date);
    lull_arena_destroy(arena);
}

/* Not the running system's topology, more threads than cores, no cache sizes, little memory: still
 * numbers, and what is wrong with them is said. */
static void test_odd_host(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology;
    assert_int_equal(lull_topology_open_fake("core:3 pu:1", arena, &topology, NULL), LULL_OK);
    struct lull_machine *machine = run("load", topology, 16 * MIB, arena);
    const struct lull_number *number = lull_machine_find(machine, "memory.load.3");
    assert_non_null(number);
    assert_non_null(strstr(number->note, "limited"));
    assert_non_null(strstr(number->note, "threads were not pinned"));
    assert_true(machine->provenance.n_remarks > 0);
    assert_string_equal(machine->provenance.remarks[0], "the sizes of the caches are hidden");
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_clock_run)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_run), cmocka_unit_test(test_odd_host)};
    return run_cases(tests, NULL, NULL);
}

#else

TEST_GROUP(test_clock_run)
{
    puts("skipped: built without hwloc");
    return TEST_SKIPPED;
}

#endif
