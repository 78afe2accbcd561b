/* A nest of two innermost loops, a copy and a daxpy over twice as many elements, as the sum of the
 * two, each with the published cycles of the single loop on Haswell (layer conditions of
 * Kerncraft): 3 between L1 and L2, 6 between L2 and L3, 16.50224 with memory. */
#include "model/kernel/predict.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double clock_rate = 2.3e9, memory = 16.50224;

/* In-core times {1 || 1} of the copy and {1 || 2} of the daxpy. */
static struct lull_kernel_prediction predict(const char *name, double n, double m,
                                             enum lull_traffic_source traffic,
                                             struct lull_arena *arena)
{
    const char *tests = getenv("LULL_TESTS_DIR");
    static const struct lull_incore_times times[] = {{1, 1}, {1, 2}};
    const struct lull_kernel_size sizes[] = {{"N", n}, {"M", m}};
    const struct lull_kernel_source source = {
        .path = lull_arena_printf(arena, "%s/data/kernel/%s.c", tests, name),
        .sizes = sizes,
        .n_sizes = 2};
    const struct lull_kernel_options options = {
        .incore = {.given = times, .n_given = 2}, .cores = 1, .traffic = traffic};
    struct lull_kernel_prediction prediction = {0};
    struct lull_kernel *kernel;
    struct lull_machine *machine;
    struct lull_error err;
    lull_status status = lull_kernel_read(&source, arena, &kernel, &err);
    if (status == LULL_OK)
        status = lull_machine_read(
            lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod.json", tests), arena,
            &machine, &err);
    if (status == LULL_OK)
        status =
            lull_kernel_predict(kernel, machine, &source, &options, NULL, arena, &prediction, &err);
    fail_if(status != LULL_OK, "%s", err.text);
    return prediction;
}

static void expect(double value, double expected)
{
    fail_if(!(fabs(value - expected) < 1e-5 * fabs(expected)), "%.9g, expected %.9g", value,
            expected);
}

/* The daxpy makes 2 N iterations for N of the copy: half a unit of work of the copy for one of it.
 * 16 flop of the daxpy in that time, none of the copy. */
static void loops_add_up_in_memory(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel_prediction nest =
        predict("copy-daxpy", 1e4, 1e4, LULL_TRAFFIC_CONDITIONS, arena);
    (void)state;
    assert_int_equal(nest.n_loops, 2);
    expect(nest.loops[0].cycles, 1 + 3 + 6 + memory);
    expect(nest.loops[1].cycles, 2 + 3 + 6 + memory);
    expect(nest.loops[0].weight, 0.5);
    expect(nest.loops[1].weight, 1);
    expect(nest.cycles, 0.5 * (10 + memory) + 11 + memory);
    expect(nest.flops, 16);
    expect(nest.ecm.t_nol, 2.5);
    expect(nest.ecm.links[1].cycles, 9);
    expect(lull_prediction_cycles(&nest, 0), 0.5 * 1 + 2);
    expect(lull_prediction_cycles(&nest, 2), 0.5 * 10 + 11);
    expect(nest.points[0].naive, 16 * clock_rate / nest.cycles);
    expect(nest.points[6].naive, 16 * clock_rate / (1.5 * memory)); /* both are saturated */
    assert_int_equal(nest.saturation, 2); /* 26.5 / 16.5 and 27.5 / 16.5 */
    lull_arena_destroy(arena);
}

/* 6 arrays of 1000 elements: 48000 bytes, more than L1 and less than L2. */
static void loops_add_up_in_the_second_cache(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel_prediction nest =
        predict("copy-daxpy", 100, 10, LULL_TRAFFIC_CONDITIONS, arena);
    (void)state;
    expect(nest.cycles, 0.5 * (1 + 3) + (2 + 3));
    assert_int_equal(nest.saturation, 0);
    lull_arena_destroy(arena);
}

/* Rows of three arrays fit into L1 together: the second loop finds there what the first one wrote,
 * and only its result comes from beyond. The conditions count the row again. */
static void the_simulation_sees_what_loops_share(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel_prediction simulated =
        predict("copy-twice", 1000, 4000, LULL_TRAFFIC_SIMULATION, arena);
    struct lull_kernel_prediction conditions =
        predict("copy-twice", 1000, 4000, LULL_TRAFFIC_CONDITIONS, arena);
    (void)state;
    assert_true(fabs(simulated.loops[0].lines[0].loads - 2) < 0.04);
    assert_true(fabs(simulated.loops[1].lines[0].loads - 1) < 0.04);
    /* Lines that are written leave later, some of them in the other loop; none is lost. */
    assert_true(fabs(simulated.loops[0].lines[0].stores + simulated.loops[1].lines[0].stores - 2) <
                0.04);
    expect(conditions.loops[0].lines[0].loads, 2);
    expect(conditions.loops[1].lines[0].loads, 2);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_nest)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_add_up_in_memory),
                                       cmocka_unit_test(loops_add_up_in_the_second_cache),
                                       cmocka_unit_test(the_simulation_sees_what_loops_share)};
    return run_cases(tests, NULL, NULL);
}
