/* The longest path against sums that every state carries along by itself. */
#include "sim/engine/path.h"
#include "stats/random.h"
#include "support/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 50, REGIONS = 7, STEPS = 400000 };

struct state {
    uint32_t node;
    struct lull_path_sum sum;
    int64_t regions[REGIONS];
};

static struct state states[STATES];
static struct lull_random random_state;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)lull_random_below(&random_state, bound);
}

static void check(const struct lull_path *path)
{
    for (unsigned i = 0; i < STATES; i++) {
        struct lull_path_sum sum;
        int64_t regions[REGIONS] = {0};
        lull_path_total(path, states[i].node, &sum, regions);
        assert_memory_equal(&sum, &states[i].sum, sizeof sum);
        assert_memory_equal(regions, states[i].regions, sizeof regions);
    }
}

/* One state becomes another one plus something. */
static void step(struct lull_path *path)
{
    struct state *to = &states[below(STATES)];
    int64_t ns = below(4);
    *to = states[below(STATES)];
    switch (below(3)) {
    case 0: {
        unsigned part = below(LULL_PATH_PARTS);
        to->node = lull_path_add(path, to->node, part, ns);
        to->sum.parts[part] += ns;
        break;
    }
    case 1:
        to->node = lull_path_hop(path, to->node, ns);
        to->sum.parts[LULL_PATH_LATENCY] += ns;
        to->sum.hops++;
        break;
    default: {
        uint32_t region = below(REGIONS + 1); /* the last one does not exist */
        to->node = lull_path_compute(path, to->node, region, ns);
        to->sum.parts[LULL_PATH_COMPUTE] += ns;
        if (region < REGIONS)
            to->regions[region] += ns;
    }
    }
}

static void compact(struct lull_path *path)
{
    lull_path_begin_compact(path);
    for (unsigned i = 0; i < STATES; i++)
        lull_path_root(path, &states[i].node);
    assert_int_equal(lull_path_end_compact(path, NULL), LULL_OK);
    /* a tree with so many leaves, chains joined */
    assert_true(lull_path_nodes(path) <= 2 * STATES + 1);
    check(path);
}

static void sums_survive_compaction_and_memory_is_bounded(void **state)
{
    (void)state;
    struct lull_path *path = lull_path_create(REGIONS);
    unsigned full = 0;
    lull_random_seed(&random_state, 7);
    memset(states, 0, sizeof states);
    for (unsigned i = 0; i < STEPS; i++) {
        step(path);
        if (lull_path_is_full(path))
            full++;
        if (lull_path_is_full(path) || i % 5003 == 0)
            compact(path);
    }
    assert_true(full == 0); /* never that many nodes when compacted often */
    for (unsigned i = 0; i < STEPS; i++) {
        step(path);
        if (lull_path_is_full(path)) {
            full++;
            compact(path);
        }
    }
    assert_true(full > 0);
    check(path);
    lull_path_destroy(path);
}

TEST_GROUP(test_path)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_survive_compaction_and_memory_is_bounded)};
    return run_cases(tests, NULL, NULL);
}
