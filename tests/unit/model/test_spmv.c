/* Traffic and speed of sparse matrix-vector products: identities of the simulation, and
 * predictions worked out by hand. */
#include "machine/machine.h"
#include "model/spmv/generate.h"
#include "model/spmv/spmv.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void check_near(const char *what, double got, double want, double within)
{
    fail_if(!(fabs(got - want) <= within), "%s: %.10g, expected %.10g", what, got, want);
}

static void set_number(struct lull_machine *machine, struct lull_arena *arena, const char *name,
                       double value)
{
    struct lull_number number = lull_number_plain(value, "B/s", "published");
    number.name = name;
    lull_machine_set(machine, arena, &number);
}

/* One cache of 64 KiB, shared by two cores; 1 GHz, 8 bytes per cycle from memory. */
static struct lull_machine *small_machine(struct lull_arena *arena)
{
    struct lull_machine *machine = lull_machine_create(arena);
    machine->caches = lull_arena_zero(arena, 1, sizeof *machine->caches);
    machine->caches[0] = (struct lull_machine_cache){.level = 1,
                                                     .kind = "data",
                                                     .bytes = 65536,
                                                     .ways = 16,
                                                     .line_bytes = 64,
                                                     .shared_cores = 2};
    machine->n_caches = 1;
    set_number(machine, arena, "clock.nominal", 1e9);
    set_number(machine, arena, "memory.load.2", 8e9);
    return machine;
}

static struct lull_spmv_traffic simulate(const char *spec, bool transposed, uint32_t chunk,
                                         unsigned threads, struct lull_spmv_shape *ret_shape)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_matrix matrix;
    struct lull_sell sell = {0};
    struct lull_spmv_traffic traffic = {0};
    struct lull_error err = {""};
    fail_if(lull_generate(spec, &matrix, &err) != LULL_OK ||
                (chunk && lull_sell_build(&matrix, chunk, 1, &sell, &err) != LULL_OK) ||
                lull_spmv_simulate(&matrix, chunk ? &sell : NULL, transposed, small_machine(arena),
                                   threads, 2, &traffic, &err) != LULL_OK,
            "%s", err.text);
    *ret_shape = lull_spmv_shape(&matrix, transposed, chunk ? &sell : NULL);
    lull_sell_free(&sell);
    lull_matrix_free(&matrix);
    lull_arena_destroy(arena);
    return traffic;
}

/* The bytes that the caches move are those of the formula with the alpha that they give. */
static void check_volume(const char *spec, bool transposed, uint32_t chunk, unsigned threads,
                         double alpha, double within)
{
    struct lull_spmv_shape shape;
    struct lull_spmv_traffic got = simulate(spec, transposed, chunk, threads, &shape);
    double bytes = 64 * (got.lines[0].loads + got.lines[0].stores);
    check_near(spec, bytes, lull_spmv_bytes(&shape, got.alpha), 0.01 * bytes);
    check_near(spec, got.alpha, alpha, within);
    assert_true(got.alpha_low <= got.alpha && got.alpha <= got.alpha_high);
}

static void test_alpha(void **state)
{
    (void)state;
    /* Three rows of the grid fit: each element comes once. */
    check_volume("stencil5:nx=200,ny=400", false, 0, 1, 0.2, 0.002);
    check_volume("stencil5:nx=200,ny=400", true, 0, 1, 0.2, 0.002);
    check_volume("stencil5:nx=200,ny=400", false, 8, 1, 0.2, 0.002);
    /* They do not: three times, with one line between. */
    check_volume("stencil5:nx=20000,ny=8", false, 0, 1, 3 * 8 / (5.0 * 8 - 2) - 2 / 38.0, 0.01);
    /* Nothing is near: each nonzero brings a line, 8 elements. */
    check_volume("random:n=1000000,row=3", false, 0, 1, 8, 0.1);
    /* The vector fits: nothing comes. */
    check_volume("random:n=1000,row=200", false, 0, 1, 0, 0.02);
    /* Two threads have half of the cache each: 4000 elements do not fit, 2048 would. */
    check_volume("random:n=4000,row=100", false, 0, 2, 1, 1.2);
}

static void test_in_cache(void **state)
{
    (void)state;
    struct lull_spmv_shape shape;
    struct lull_spmv_traffic got = simulate("stencil5:nx=10,ny=10", false, 0, 1, &shape);
    check_near("lines", got.lines[0].loads + got.lines[0].stores, 0, 0);
    check_near("alpha", got.alpha, 0, 0);
}

/* 16 bytes and 2 flop per nonzero, 8e9 B/s: 1 Gflop/s. In the core 24 cycles for 8 nonzeros that do
 * not overlap, and 16 cycles from memory. */
static void test_prediction(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_spmv_shape shape = {.rows = 1000,
                                          .columns = 1000,
                                          .nonzeros = 5000,
                                          .stored = 5000,
                                          .value_bytes = 8,
                                          .flops = 2};
    const struct lull_spmv_traffic traffic = {.lines = {{0.25, 0, 0}}, .n_levels = 1, .alpha = 0};
    const struct lull_spmv_core core = {.t_ol = 10, .t_nol = 24};
    struct lull_spmv_prediction got;
    struct lull_error err = {""};
    fail_if(lull_spmv_predict(&shape, &traffic, small_machine(arena), 1, &core, arena, &got,
                              &err) != LULL_OK,
            "%s", err.text);
    check_near("Roofline", got.roofline, 1e9, 1);
    check_near("loaded once", got.roofline_once, 2 * 8e9 / 17.6, 1);
    check_near("ECM", got.ecm_naive, 16 / (40 * 1e-9), 1);
    assert_int_equal(
        lull_spmv_predict(&shape, &traffic, small_machine(arena), 4, &core, arena, &got, &err),
        LULL_OK);
    check_near("saturated", got.ecm_naive, 1e9, 1);
    lull_arena_destroy(arena);
}

/* One row per 8 nonzeros: (8 x 3 + 2) / 2 loads and stores; 8 additions of 4 cycles in 4 sums, and
 * three more for the row, two per cycle. */
static void test_core(void **state)
{
    (void)state;
    const struct lull_spmv_shape shape = {
        .rows = 100, .columns = 100, .nonzeros = 800, .stored = 800, .value_bytes = 8, .flops = 2};
    struct lull_spmv_core core = lull_spmv_estimate_core(&shape);
    check_near("T_nOL", core.t_nol, 13, 1e-9);
    check_near("T_OL", core.t_ol, 8 + 1.5, 1e-9);
}

TEST_GROUP(test_spmv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_in_cache),
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_core),
    };
    return run_cases(tests, NULL, NULL);
}
