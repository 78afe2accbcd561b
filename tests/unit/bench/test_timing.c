/* Blocks: every thread runs every repetition, meets the others, and oversubscription does no harm.
 * Nothing is asserted of the times themselves (test_clock_timing). */
#include "bench/timing.h"

#include "lull_features.h"
#include "support/test.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if LULL_HAVE_HWLOC

enum { MOST_THREADS = 16 };

struct work {
    atomic_ulong repetitions[MOST_THREADS], blocks[MOST_THREADS];
    atomic_uint prepared;
    atomic_uint unprepared; /* blocks that ran before all threads were prepared */
    unsigned threads;
};

static void prepare(void *context, unsigned thread)
{
    struct work *work = context;
    (void)thread;
    atomic_fetch_add(&work->prepared, 1);
}

static void body(void *context, unsigned thread, uint64_t repetitions)
{
    struct work *work = context;
    if (atomic_load(&work->prepared) != work->threads)
        atomic_fetch_add(&work->unprepared, 1);
    atomic_fetch_add(&work->repetitions[thread], repetitions);
    atomic_fetch_add(&work->blocks[thread], 1);
}

static struct lull_topology *open_host(struct lull_arena *arena)
{
    struct lull_topology *topology = NULL;
    struct lull_error err;
    assert_int_equal(lull_topology_open(arena, &topology, &err), LULL_OK);
    return topology;
}

/* More threads than cores too. */
static void test_threads_run_alike(void **state)
{
    (void)state;
    static const unsigned counts[] = {1, 2, 3, 8};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = open_host(arena);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        static struct work work;
        memset(&work, 0, sizeof work);
        work.threads = counts[i];
        const struct lull_timing timing = {.body = body,
                                           .prepare = prepare,
                                           .context = &work,
                                           .threads = counts[i],
                                           .repetitions = 3,
                                           .seconds = 0.01,
                                           .quantile = 0.1};
        struct lull_round round;
        assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
        assert_int_equal(atomic_load(&work.unprepared), 0);
        assert_int_equal(round.repetitions, 3);
        assert_true(round.blocks >= 1);
        for (unsigned k = 0; k < counts[i]; k++) {
            assert_int_equal(atomic_load(&work.blocks[k]), round.blocks + 1); /* one to warm up */
            assert_int_equal(atomic_load(&work.repetitions[k]), 3 * (round.blocks + 1));
        }
        assert_true(round.interrupted <= round.blocks);
    }
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

/* The caller's binding is what it was. */
static void test_binding_is_restored(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = open_host(arena);
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    static struct work work = {.threads = 1};
    const struct lull_timing timing = {.body = body,
                                       .prepare = prepare,
                                       .context = &work,
                                       .threads = 1,
                                       .repetitions = 1,
                                       .seconds = 0.001,
                                       .quantile = 0.1};
    struct lull_round round;
    assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
    assert_false(round.unpinned);
    sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&before, &after));
    lull_topology_close(topology);

    /* On a topology that is not the system's nothing is pinned, and that is said. */
    assert_int_equal(lull_topology_open_fake("pu:4", arena, &topology, NULL), LULL_OK);
    atomic_store(&work.prepared, 0);
    assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
    assert_true(round.unpinned);
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

static void test_steal(void **state)
{
    (void)state;
    static const struct lull_steal before = {100, 1000}, after = {150, 1200}, none = {100, 1000};
    assert_true(lull_steal_share(&before, &after) == 0.25);
    assert_true(lull_steal_share(&before, &none) == 0);
    struct lull_steal now;
    if (lull_steal_read(&now))
        assert_true(now.total > 0 && now.stolen <= now.total);
}

TEST_GROUP(test_timing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_run_alike),
        cmocka_unit_test(test_binding_is_restored),
        cmocka_unit_test(test_steal),
    };
    return run_cases(tests, NULL, NULL);
}

#else

TEST_GROUP(test_timing)
{
    puts("skipped: built without hwloc");
    return TEST_SKIPPED;
}

#endif
