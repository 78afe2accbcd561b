/* The tree of call paths of a small run that was worked out by hand. */
#include "study/call_paths.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <string.h>

static const char *const regions[] = {"main", "solve", "MPI_Send", NULL};
enum { MAIN, SOLVE, SEND };

/* Functions of an interpreter, whose names need no file. */
static struct lull_object objects[] = {
    {"/src/heat.py", "", "smooth"}, {"/src/heat.py", "", "fill"}, {"/src/other.py", "", "fill"}};
enum { SMOOTH, FILL, OTHER_FILL };

static void sample(struct lull_trace *trace, uint32_t location, int64_t time, uint32_t object,
                   uint64_t weight)
{
    struct lull_event event = memory_event(time, LULL_EVENT_SAMPLE, object);
    event.sample.offset = 10 + object;
    event.sample.weight = weight;
    memory_trace_add(trace, location, &event);
}

static void add(struct lull_trace *trace, uint32_t location, int64_t time, unsigned kind,
                uint32_t region)
{
    const struct lull_event event = memory_event(time, kind, region);
    memory_trace_add(trace, location, &event);
}

/* Rank 0 fills in main, and smooths and fills, of another file, in what solve calls; rank 1 smooths in
 * solve. What is sampled in MPI does not count. */
static struct lull_trace *make_run(void)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000, regions);
    trace->objects = objects;
    trace->n_objects = sizeof objects / sizeof *objects;
    for (uint32_t rank = 0; rank < 2; rank++) {
        add(trace, rank, 0, LULL_EVENT_ENTER, MAIN);
        if (rank == 0)
            sample(trace, rank, 50, FILL, 3);
        add(trace, rank, 100, LULL_EVENT_ENTER, SOLVE);
        sample(trace, rank, 200, SMOOTH, 5);
        if (rank == 0)
            sample(trace, rank, 250, OTHER_FILL, 2);
        add(trace, rank, 300, LULL_EVENT_ENTER, SEND);
        sample(trace, rank, 350, SMOOTH, 100);
        add(trace, rank, 400, LULL_EVENT_LEAVE, SEND);
        add(trace, rank, 500, LULL_EVENT_LEAVE, SOLVE);
        add(trace, rank, 1000, LULL_EVENT_LEAVE, MAIN);
    }
    return trace;
}

static void test_tree(void **state)
{
    static const struct lull_path_node expected[] = {{"main", "", 0, 0, 15},
                                                     {"fill", "/src/heat.py", 1, 0, 3},
                                                     {"solve", "", 1, 3, 12},
                                                     {"fill", "/src/other.py", 2, 3, 2},
                                                     {"smooth", "/src/heat.py", 2, 5, 10}};
    const uint32_t n = sizeof expected / sizeof *expected;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = make_run();
    const struct lull_reading reading = {.workers = 2};
    struct lull_asked asked = {.analysis = &lull_path_analysis};
    struct lull_error err;
    (void)state;
    assert_int_equal(lull_joint_pass_run(trace, &reading, &asked, 1, arena, &err), LULL_OK);
    const struct lull_path_tree *tree = ((const struct lull_path_state *)asked.state)->tree;
    assert_non_null(tree);
    assert_int_equal(tree->weight, 15);
    assert_int_equal(tree->n_nodes, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(tree->nodes[i].name, expected[i].name);
        assert_string_equal(tree->nodes[i].file, expected[i].file);
        assert_int_equal(tree->nodes[i].depth, expected[i].depth);
        assert_int_equal(tree->nodes[i].begin, expected[i].begin);
        assert_int_equal(tree->nodes[i].weight, expected[i].weight);
    }
    lull_asked_release(&asked, 1);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

static void test_no_samples(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = memory_trace_simple(1, 1, 1000, regions);
    const struct lull_reading reading = {.workers = 1};
    struct lull_asked asked = {.analysis = &lull_path_analysis};
    struct lull_error err;
    (void)state;
    add(trace, 0, 0, LULL_EVENT_ENTER, MAIN);
    add(trace, 0, 1000, LULL_EVENT_LEAVE, MAIN);
    assert_int_equal(lull_joint_pass_run(trace, &reading, &asked, 1, arena, &err), LULL_OK);
    assert_null(((const struct lull_path_state *)asked.state)->tree);
    lull_asked_release(&asked, 1);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_call_paths)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_no_samples),
    };
    return run_cases(tests, NULL, NULL);
}
