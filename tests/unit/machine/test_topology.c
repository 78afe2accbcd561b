/* Topologies that are not ours: several sockets, hyper-threads, no caches, one core. */
#include "machine/topology.h"

#include "lull_features.h"
#include "support/test.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if LULL_HAVE_HWLOC

static struct lull_topology *fake(const char *description, struct lull_arena *arena)
{
    struct lull_topology *topology = NULL;
    struct lull_error err = {""};
    fail_if(lull_topology_open_fake(description, arena, &topology, &err) != LULL_OK, "%s: %s",
            description, err.text);
    return topology;
}

static void test_two_sockets(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = fake(
        "pack:2 [numa(memory=1GiB)] l3:2(size=8MiB) core:3 l2:1(size=1MiB) l1:1(size=32KiB) pu:2",
        arena);
    assert_int_equal(topology->n_cores, 12);
    assert_int_equal(topology->n_packages, 2);
    assert_int_equal(topology->n_numa, 2);
    assert_int_equal(topology->n_last_level, 4);
    assert_false(topology->restricted);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(topology->cores[i].threads, 2);
        assert_int_equal(topology->cores[i].cpu, 2 * i);
        assert_int_equal(topology->cores[i].package, i / 6);
        assert_int_equal(topology->cores[i].numa, i / 6);
        assert_int_equal(topology->cores[i].cache, i / 3);
    }
    static const uint64_t sizes[] = {32 << 10, 1 << 20, 8 << 20};
    static const uint32_t shared[] = {1, 1, 3}, instances[] = {12, 12, 4};
    assert_int_equal(topology->n_caches, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(topology->caches[i].level, i + 1);
        assert_int_equal(topology->caches[i].bytes, sizes[i]);
        assert_int_equal(topology->caches[i].shared_cores, shared[i]);
        assert_int_equal(topology->caches[i].instances, instances[i]);
        assert_int_equal(topology->caches[i].inclusive, LULL_UNKNOWN);
    }
    struct lull_error err;
    assert_int_equal(lull_topology_pin(topology, 0, &err), LULL_ERR_UNSUPPORTED);

    struct lull_machine *machine = lull_machine_create(arena);
    lull_machine_describe_host(machine, topology, arena);
    assert_int_equal(machine->cpu.cores, 12);
    assert_int_equal(machine->cpu.threads, 24);
    assert_int_equal(machine->cpu.threads_per_core, 2);
    assert_int_equal(machine->cpu.cores_per_numa_domain, 6);
    assert_int_equal(machine->memory_bytes, UINT64_C(2) << 30);
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

static void test_hidden_caches(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = fake("core:4 pu:1", arena);
    assert_int_equal(topology->n_caches, 0); /* unknown, not guessed from this processor */
    assert_int_equal(topology->n_cores, 4);
    assert_int_equal(topology->n_last_level, 1);
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

static void test_one_core(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = fake("pu:1", arena);
    assert_int_equal(topology->n_cores, 1);
    assert_int_equal(topology->cores[0].threads, 1);
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

static void test_nonsense(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology;
    struct lull_error err;
    assert_int_equal(lull_topology_open_fake("cores: many", arena, &topology, &err),
                     LULL_ERR_FORMAT);
    assert_int_equal(lull_topology_open_fake("no/such/file.xml", arena, &topology, &err),
                     LULL_ERR_FORMAT);
    lull_arena_destroy(arena);
}

/* The running system, bound to one processor: one core, and pinning goes there. */
static void test_cpu_set(void **state)
{
    (void)state;
    cpu_set_t before, one, now;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology;
    struct lull_error err;
    assert_int_equal(lull_topology_open(arena, &topology, &err), LULL_OK);
    assert_int_equal(topology->n_cores, 1);
    assert_int_equal(topology->cores[0].cpu, cpu);
    assert_int_equal(topology->cores[0].threads, 1);
    assert_true(topology->restricted || CPU_COUNT(&before) == 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(lull_topology_pin(topology, 0, &err), LULL_OK);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&now, &one));
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_topology)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sockets), cmocka_unit_test(test_hidden_caches),
        cmocka_unit_test(test_one_core),    cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_cpu_set),
    };
    return run_cases(tests, NULL, NULL);
}

#else

TEST_GROUP(test_topology)
{
    puts("skipped: built without hwloc");
    return 77;
}

#endif
