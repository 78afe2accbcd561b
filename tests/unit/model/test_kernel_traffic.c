/* Layer conditions with the sizes in them, against hand calculations; the cache simulation against
 * layer conditions where these are exact. */
#include "model/kernel/simulate.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_kernel *example(const char *name, const struct lull_kernel_size *sizes,
                                   size_t n_sizes, struct lull_arena *arena)
{
    struct lull_kernel *kernel = NULL;
    struct lull_error err;
    const struct lull_kernel_source source = {
        .path =
            lull_arena_printf(arena, "%s/../examples/kernels/%s.c", getenv("LULL_TESTS_DIR"), name),
        .sizes = sizes,
        .n_sizes = n_sizes};
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s", err.text);
    return kernel;
}

static struct lull_machine *haswell(struct lull_arena *arena)
{
    struct lull_machine *machine = NULL;
    const char *path =
        lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod.json", getenv("LULL_TESTS_DIR"));
    assert_int_equal(lull_machine_read(path, arena, &machine, NULL), LULL_OK);
    return machine;
}

/* old[row-1][i], old[row][i-1], old[row][i+1], old[row+1][i] and new[row][i]: distances N - 1, 2,
 * N - 1. With t = N - 1: (N - 1) + 2 + (N - 1), and two first touches: 2 (N - 1), times 8 bytes. */
static void conditions_of_four_neighbours(void **state)
{
    const struct lull_kernel_size sizes[] = {{"N", 3000}, {"M", 3000}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel *kernel = example("jacobi2d", sizes, 2, arena);
    struct lull_layers layers;
    (void)state;
    assert_int_equal(lull_layers_find(kernel, haswell(arena), 1, arena, &layers, NULL), LULL_OK);
    assert_int_equal(layers.n_conditions, 2);
    const struct lull_layer_condition *rows = &layers.conditions[1];
    assert_string_equal(rows->distance, "N - 1");
    assert_string_equal(rows->formula, "32 N - 16");
    assert_true(rows->misses == 2);
    assert_string_equal(layers.conditions[0].formula, "80"); /* 8 (2 + 4 * 2) */
    assert_true(layers.conditions[0].misses == 4);
    const struct lull_layer_held *l1 = lull_layers_held(&layers, 1, 0);
    assert_false(l1->holds);
    assert_true(l1->largest == 1024); /* 32 * 1024 - 16 <= 32768 < 32 * 1025 - 16 */
    /* Half of the cache more than a block needs is no block: 8-element steps of 2998 iterations. */
    assert_true(l1->block <= 1024 && l1->block >= 1016);
    assert_true(lull_layers_held(&layers, 1, 1)->holds);
    assert_true(layers.lines[0].loads == 4 && layers.lines[0].stores == 1);
    assert_true(layers.lines[1].loads == 2 && layers.lines[2].loads == 2);
    lull_arena_destroy(arena);
}

/* The last-level cache of 9 MiB keeps the planes for one core, its seventh does not. */
static void shared_caches_are_divided(void **state)
{
    const struct lull_kernel_size sizes[] = {{"N", 400}, {"M", 400}, {"L", 400}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel *kernel = example("jacobi3d", sizes, 3, arena);
    const struct lull_machine *machine = haswell(arena);
    struct lull_layers one, seven;
    (void)state;
    assert_int_equal(lull_layers_find(kernel, machine, 1, arena, &one, NULL), LULL_OK);
    assert_int_equal(lull_layers_find(kernel, machine, 7, arena, &seven, NULL), LULL_OK);
    assert_true(one.lines[2].loads == 2);
    assert_true(seven.lines[2].loads == 4);
    assert_true(seven.capacity[2] == 9437184.0 / 7);
    assert_true(seven.lines[1].loads == one.lines[1].loads);
    lull_arena_destroy(arena);
}

static void simulate(const struct lull_kernel *kernel, const struct lull_machine *machine,
                     struct lull_simulated *ret_simulated)
{
    struct lull_cache_spec spec;
    struct lull_error err;
    assert_int_equal(lull_cache_of_machine(machine, 1, false, LULL_CACHE_LRU, &spec, &err),
                     LULL_OK);
    fail_if(lull_kernel_simulate(kernel, &spec, NULL, 0, 1, ret_simulated, &err) != LULL_OK, "%s",
            err.text);
}

/* Within 2 % where layer conditions are exact: streams of all sizes, and rows away from thresholds.
 */
static void simulation_agrees_where_conditions_are_exact(void **state)
{
    static const struct {
        const char *name;
        struct lull_kernel_size sizes[3];
        size_t n_sizes;
    } cases[] = {{"copy", {{"N", 1000}}, 1},
                 {"copy", {{"N", 10000}}, 1},
                 {"daxpy", {{"N", 100000}}, 1},
                 {"triad", {{"N", 3000000}}, 1},
                 {"dot", {{"N", 5000000}}, 1},
                 {"triad", {{"N", 10000}}, 1},
                 {"jacobi2d", {{"N", 300}, {"M", 3000}}, 2},
                 {"jacobi2d", {{"N", 3000}, {"M", 900}}, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        const struct lull_machine *machine = haswell(arena);
        struct lull_kernel *kernel =
            example(cases[i].name, cases[i].sizes, cases[i].n_sizes, arena);
        struct lull_layers layers;
        struct lull_simulated simulated;
        assert_int_equal(lull_layers_find(kernel, machine, 1, arena, &layers, NULL), LULL_OK);
        simulate(kernel, machine, &simulated);
        for (size_t level = 0; level < 3; level++) {
            double said = layers.lines[level].loads + layers.lines[level].stores;
            double found = simulated.lines[level].loads + simulated.lines[level].stores;
            fail_if(!(fabs(found - said) <= 0.02 * said + 1e-9),
                    "%s, case %zu, level %zu: %g lines, expected %g", cases[i].name, i, level,
                    found, said);
        }
        lull_arena_destroy(arena);
    }
}

/* A column of a matrix whose rows are a power of two apart falls into few sets of a cache: with a
 * hundred doubles more in a row the lines of the next column are still there. */
static void conflicts_show_up(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_machine *machine = haswell(arena);
    struct lull_simulated bad, good;
    const char *path =
        lull_arena_printf(arena, "%s/data/kernel/columns.c", getenv("LULL_TESTS_DIR"));
    (void)state;
    for (int padded = 0; padded < 2; padded++) {
        const struct lull_kernel_size sizes[] = {{"N", padded ? 1100 : 1024}, {"M", 256}};
        const struct lull_kernel_source source = {.path = path, .sizes = sizes, .n_sizes = 2};
        struct lull_kernel *kernel = NULL;
        assert_int_equal(lull_kernel_read(&source, arena, &kernel, NULL), LULL_OK);
        simulate(kernel, machine, padded ? &good : &bad);
    }
    assert_true(good.lines[0].loads < 1.3); /* a line has 8 elements of a column's neighbours */
    assert_true(bad.lines[0].loads > 7.9);  /* every access misses */
    lull_arena_destroy(arena);
}

/* A matrix of 7.6 MiB by columns: L3, of 9 MiB, has it from the second time on. L2 has the lines of a
 * column, of which the next seven use an element each, and loads them anew for every eighth. */
static void nothing_is_loaded_again_of_what_fits(void **state)
{
    const struct lull_kernel_size sizes[] = {{"N", 1000}, {"M", 1000}};
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_kernel_source source = {
        .path = lull_arena_printf(arena, "%s/data/kernel/matvec_by_columns.c",
                                  getenv("LULL_TESTS_DIR")),
        .sizes = sizes,
        .n_sizes = 2};
    struct lull_kernel *kernel = NULL;
    struct lull_simulated simulated;
    (void)state;
    assert_int_equal(lull_kernel_read(&source, arena, &kernel, NULL), LULL_OK);
    simulate(kernel, haswell(arena), &simulated);
    assert_true(simulated.lines[2].loads == 0);
    assert_true(fabs(simulated.lines[1].loads - 1) < 0.02); /* for 8 elements */
    lull_arena_destroy(arena);
}

/* An inner loop of one iteration that touches one element: a few iterations fill the caches with what
 * there is. One that has no iterations at all most of the time is refused. */
static void what_is_simulated_is_bounded(void **state)
{
    const struct lull_kernel_size sizes[] = {{"N", 1000000000}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_cache_spec spec;
    struct lull_simulated simulated;
    struct lull_error err;
    (void)state;
    assert_int_equal(lull_cache_of_machine(haswell(arena), 1, false, LULL_CACHE_LRU, &spec, &err),
                     LULL_OK);
    for (int late = 0; late < 2; late++) {
        const struct lull_kernel_source source = {
            .path = lull_arena_printf(arena, "%s/data/kernel/%s.c", getenv("LULL_TESTS_DIR"),
                                      late ? "late_inner_loop" : "one_element"),
            .sizes = sizes,
            .n_sizes = 1};
        struct lull_kernel *kernel = NULL;
        fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s", err.text);
        lull_status status = lull_kernel_simulate(kernel, &spec, NULL, 0, 1, &simulated, &err);
        assert_int_equal(status, late ? LULL_ERR_RANGE : LULL_OK);
        if (late)
            assert_non_null(
                strstr(err.text, "late_inner_loop.c: line 5: the loops around this one"));
        else
            assert_true(simulated.accesses < 100);
    }
    lull_arena_destroy(arena);
}

static void random_indices_miss_what_does_not_fit(void **state)
{
    static const struct lull_kernel_index uniform = {.array = "order", .kind = LULL_INDEX_UNIFORM};
    const struct lull_kernel_size sizes[] = {{"N", 2000000}, {"M", 131072}};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel *kernel = example("gather", sizes, 2, arena);
    struct lull_cache_spec spec = {.levels = {{.bytes = 262144, .ways = 64, .sharers = 1}},
                                   .n_levels = 1,
                                   .line_bytes = 64,
                                   .cores = 1};
    struct lull_simulated simulated;
    (void)state;
    assert_int_equal(lull_kernel_simulate(kernel, &spec, &uniform, 1, 7, &simulated, NULL),
                     LULL_OK);
    /* 1 MiB at random, of which a little less than a quarter is in the cache beside the streams: 8
     * * 3/4 misses for 8 results, 1 line of results, half a line of indices. */
    assert_true(simulated.lines[0].loads > 7.4 && simulated.lines[0].loads < 8.0);
    assert_int_equal(lull_kernel_simulate(kernel, &spec, NULL, 0, 7, &simulated, NULL),
                     LULL_ERR_RANGE);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_kernel_traffic)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_of_four_neighbours),
        cmocka_unit_test(shared_caches_are_divided),
        cmocka_unit_test(simulation_agrees_where_conditions_are_exact),
        cmocka_unit_test(conflicts_show_up),
        cmocka_unit_test(nothing_is_loaded_again_of_what_fits),
        cmocka_unit_test(what_is_simulated_is_bounded),
        cmocka_unit_test(random_indices_miss_what_does_not_fit)};
    return run_cases(tests, NULL, NULL);
}
