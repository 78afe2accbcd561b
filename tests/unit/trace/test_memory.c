/* Sums of the memory of processes, worked out by hand. */
#include "support/test.h"
#include "trace/resources.h"

#define GIB (UINT64_C(1) << 30)

static struct lull_memory_of of(uint32_t index, uint32_t node, uint64_t peak, uint64_t node_memory,
                                uint64_t limit, uint64_t group)
{
    return (struct lull_memory_of){.memory = {.peak = peak * GIB,
                                              .node = node_memory * GIB,
                                              .limit = limit * GIB,
                                              .group = group},
                                   .node = node,
                                   .index = index};
}

/* Node 1 is the fuller one: 30 of 32 GiB; node 0 has 40 of 64. */
static void test_nodes(void **state)
{
    (void)state;
    struct lull_memory_of processes[] = {of(0, 0, 30, 64, 0, 0), of(1, 1, 15, 32, 0, 0),
                                         of(2, 0, 10, 64, 0, 0), of(3, 1, 15, 32, 0, 0)};
    processes[2].memory.swapped = 5;
    processes[3].memory.swapped = 7;
    const struct lull_memory_sum sum = lull_memory_sum(processes, 4);
    assert_int_equal(sum.known, 4);
    assert_int_equal(sum.largest, 30 * GIB);
    assert_int_equal(sum.of, 0);
    assert_int_equal(sum.together, 30 * GIB);
    assert_int_equal(sum.capacity, 32 * GIB);
    assert_int_equal(sum.node, 1);
    assert_false(sum.is_limit);
    assert_int_equal(sum.members, 2);
    assert_int_equal(sum.largest_member, 15 * GIB);
    assert_int_equal(sum.of_members, 1);
    assert_int_equal(sum.swapped, 12);
    assert_true(lull_memory_is_full(&sum)); /* 94 % */
}

/* Two groups on one node: that of processes 0 and 2 has 7 of 8 GiB. Another group on another node has the same number,
 * and does not belong to it. */
static void test_groups(void **state)
{
    (void)state;
    struct lull_memory_of processes[] = {of(0, 0, 3, 64, 8, 11), of(1, 0, 1, 64, 16, 13),
                                         of(2, 0, 4, 64, 8, 11), of(3, 1, 2, 64, 8, 11)};
    const struct lull_memory_sum sum = lull_memory_sum(processes, 4);
    assert_int_equal(sum.together, 7 * GIB);
    assert_int_equal(sum.capacity, 8 * GIB);
    assert_int_equal(sum.node, 0);
    assert_true(sum.is_limit);
    assert_int_equal(sum.largest, 4 * GIB);
    assert_int_equal(sum.of, 2);
    assert_int_equal(sum.members, 2);
    assert_int_equal(sum.largest_member, 4 * GIB);
    assert_int_equal(sum.of_members, 2);
    assert_false(lull_memory_is_full(&sum)); /* 88 % */
}

/* Of some processes nothing is known, or not where they are. */
static void test_unknown(void **state)
{
    (void)state;
    struct lull_memory_of some[] = {of(0, 0, 0, 0, 0, 0), of(1, LULL_NONE, 2, 64, 0, 0),
                                    of(2, 0, 1, 0, 0, 0)};
    struct lull_memory_sum sum = lull_memory_sum(some, 3);
    assert_int_equal(sum.known, 2);
    assert_int_equal(sum.largest, 2 * GIB);
    assert_int_equal(sum.of, 1);
    assert_int_equal(sum.capacity, 0);
    assert_int_equal(sum.node, LULL_NONE);
    assert_false(lull_memory_is_full(&sum));
    sum = lull_memory_sum(NULL, 0);
    assert_int_equal(sum.known, 0);
}

TEST_GROUP(test_memory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_unknown),
    };
    return run_cases(tests, NULL, NULL);
}
