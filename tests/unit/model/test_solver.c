/* The CG solver of G. Hager, Making Sense of Performance Numbers (2018): each row of the published
 * table, and effects worked out by hand. */
#include "model/cache.h"
#include "model/solver/solver.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_up(void **state)
{
    *state = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    lull_arena_destroy(*state);
    return 0;
}

static void check_near(const char *what, double got, double want, double within)
{
    fail_if(!(fabs(got - want) <= within), "%s: %.10g, expected %.10g", what, got, want);
}

static const char *data_path(const char *name, struct lull_arena *arena)
{
    const char *tests = getenv("LULL_TESTS_DIR");
    return lull_arena_printf(arena, "%s/../data/%s", tests ? tests : ".", name);
}

static struct lull_machine *haswell(struct lull_arena *arena)
{
    struct lull_machine *machine = NULL;
    struct lull_error err = {""};
    fail_if(lull_machine_read(data_path("haswell-e5-2695v3-cod-cg.json", arena), arena, &machine,
                              &err) != LULL_OK,
            "%s", err.text);
    return machine;
}

static const struct lull_solver_options usual = {.compiler = "gcc", .barrier = NAN};

static void test_published_table(void **state)
{
    /* links to L2, L3, memory; time on one core; cores to saturate; full domain */
    static const struct {
        double links[3], time, limit;
        unsigned cores;
    } rows[] = {{{6.7, 10, 16.9}, 37.6, 16.9, 3}, {{2.7, 4, 9.1}, 17.8, 9.11, 2},
                {{4, 6, 16.9}, 29.0, 16.9, 2},    {{4, 6, 16.9}, 29.0, 16.9, 2},
                {{1.3, 2, 4.6}, 9.90, 4.56, 3},   {{4, 6, 16.9}, 29.0, 16.9, 2}};
    const struct lull_machine *machine = haswell(*state);
    struct lull_solver solver;
    struct lull_solver_prediction got;
    struct lull_error err = {""};
    fail_if(lull_solver_read(data_path("solvers/cg.lua", *state), machine, NULL, 0, *state, &solver,
                             &err) != LULL_OK ||
                lull_solver_predict(&solver, machine, &usual, *state, &got, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(solver.n_kernels, 6);
    for (size_t i = 0; i < 6; i++) {
        for (size_t l = 0; l < 3; l++)
            check_near("link", got.kernels[i].ecm.links[l].cycles, rows[i].links[l], 0.1);
        check_near("time", got.kernels[i].cycles, rows[i].time, 0.1);
        check_near("limit", got.kernels[i].limit, rows[i].limit, 0.1);
        assert_int_equal(got.kernels[i].saturation, rows[i].cores);
    }
    check_near("sum", got.cycles, 152.0, 0.1);
    check_near("saturated sum", got.limit, 81.35, 0.1);
    assert_int_equal(got.n_scales, 7);
    /* 5 million lines of 152.02 cycles at 2.3 GHz */
    check_near("seconds", got.scales[0].seconds, 5e6 * 152.02 / 2.3e9, 1e-4);
    check_near("saturated seconds", got.scales[6].seconds, 5e6 * 81.35 / 2.3e9, 1e-4);
    assert_false(got.sync_known);
}

/* ---- what kernels leave in a cache for each other -------------------------------------------- */

enum { P, V, X, R, ARRAYS };

struct grid {
    struct lull_cache *cache;
    uint64_t nx, n;
};

static void touch(const struct grid *grid, int array, uint64_t i, bool write)
{
    uint64_t lines = (grid->n * sizeof(double) + 63) / 64;
    uint64_t at = (uint64_t)array * lines * 64 + i * sizeof(double);
    lull_cache_access access = write ? lull_cache_write(at) : lull_cache_read(at);
    lull_cache_run(grid->cache, 0, &access, 1);
}

/* Arrays in the order in which a kernel touches them, the written one last. */
static void sweep(const struct grid *grid, const int *arrays, bool writes, bool neighbours)
{
    for (uint64_t i = 0; i < grid->n; i++) {
        if (neighbours && i >= grid->nx)
            touch(grid, P, i - grid->nx, false);
        if (neighbours && i + grid->nx < grid->n)
            touch(grid, P, i + grid->nx, false);
        for (const int *array = arrays; *array != ARRAYS; array++)
            touch(grid, *array, i, writes && array[1] == ARRAYS);
    }
}

static void iterate(const struct grid *grid)
{
    static const int pv[] = {P, V, ARRAYS}, px[] = {P, X, ARRAYS}, vr[] = {V, R, ARRAYS},
                     r[] = {R, ARRAYS}, rp[] = {R, P, ARRAYS};
    sweep(grid, pv, true, true);
    sweep(grid, pv, false, false);
    sweep(grid, px, true, false);
    sweep(grid, vr, true, false);
    sweep(grid, r, false, false);
    sweep(grid, rp, true, false);
}

/* The lines that an iteration of conjugate gradients moves between the second and the third cache,
 * against a simulation of its accesses, for grids that the second one holds more or less of. */
static void test_reuse_between_kernels(void **state)
{
    enum { NX = 96, WARM = 2 };
    const struct lull_machine *machine = haswell(*state);
    const uint64_t bytes = lull_machine_cache(machine, 2)->bytes;
    const struct lull_cache_spec spec = {.levels = {{.bytes = bytes, .ways = 64, .sharers = 1}},
                                         .n_levels = 1,
                                         .line_bytes = 64,
                                         .cores = 1};
    for (double held = 0.8; held < 4.4; held += 0.4) {
        double ny = floor((double)bytes / held / NX / sizeof(double)), loads = 0, stores = 0;
        const struct lull_solver_parameter sizes[] = {{"Nx", NX, true}, {"Ny", ny, true}};
        struct grid grid = {.nx = NX, .n = NX * (uint64_t)ny};
        struct lull_solver solver;
        assert_int_equal(lull_solver_read(data_path("solvers/cg.lua", *state), machine, sizes, 2,
                                          *state, &solver, NULL),
                         LULL_OK);
        for (size_t k = 0; k < solver.n_kernels; k++) {
            loads += solver.kernels[k].lines[1].loads;
            stores += solver.kernels[k].lines[1].stores;
        }
        assert_int_equal(lull_cache_create(&spec, &grid.cache, NULL), LULL_OK);
        for (int i = 0; i < WARM; i++)
            iterate(&grid);
        lull_cache_reset(grid.cache);
        iterate(&grid);
        struct lull_cache_traffic got = lull_cache_traffic(grid.cache, 0);
        double lines = (double)grid.n / LULL_SOLVER_POINTS_PER_LINE;
        lull_cache_free(grid.cache);
        print_message("%.1f arrays fit: %.2f and %.2f lines, simulated %.2f and %.2f\n", held,
                      loads, stores, (double)got.misses / lines, (double)got.writes / lines);
        check_near("lines loaded", loads, (double)got.misses / lines, 0.1);
        check_near("lines stored", stores, (double)got.writes / lines, 0.1);
    }
}

/* One kernel, 8000 points, 10 cycles a line in the core, nothing to load; at 2.3 GHz. */
static void test_pipeline(void **state)
{
    const struct lull_machine *machine = haswell(*state);
    struct lull_solver_kernel kernel = {.name = "sweep",
                                        .count = 2,
                                        .points = 8000,
                                        .t_ol = 10,
                                        .n_lines = 3,
                                        .barriers = 3,
                                        .wavefronts = 100,
                                        .seconds = 1e-3};
    struct lull_solver solver = {.kernels = &kernel, .n_kernels = 1, .points = 8000};
    struct lull_solver_options options = {.cores = 5, .compiler = "gcc", .barrier = 1e-6};
    struct lull_solver_prediction got;
    assert_int_equal(lull_solver_predict(&solver, machine, &options, *state, &got, NULL), LULL_OK);
    double work = 2 * 1000 * 10 / 2.3e9;
    check_near("one core", got.scales[0].seconds, work + 2e-3, 1e-15);
    check_near("five cores", got.scales[4].seconds, work / 5 * 1.04 + 2 * 107e-6 + 2e-3, 1e-12);
    check_near("idle", got.scales[4].fill, work / 5 * 0.04, 1e-15);
    check_near("barriers", got.scales[4].sync, 2 * 107e-6, 1e-12);
    assert_true(got.sync_known);
}

/* A barrier of one thread costs what it was measured to cost, and nothing where it was not: those
 * of the kernel above are 3 + 100 per execution, and one region. */
static void test_one_thread(void **state)
{
    struct lull_solver_kernel kernel = {.name = "sweep",
                                        .count = 2,
                                        .points = 8000,
                                        .t_ol = 10,
                                        .n_lines = 3,
                                        .barriers = 3,
                                        .regions = 1,
                                        .wavefronts = 100};
    struct lull_solver solver = {.kernels = &kernel, .n_kernels = 1, .points = 8000};
    struct lull_solver_options options = {.cores = 1, .compiler = "gcc", .barrier = NAN};
    struct lull_solver_prediction got;
    double work = 2 * 1000 * 10 / 2.3e9;
    struct lull_machine *machine = haswell(*state);
    struct lull_number barrier = lull_number_plain(180e-9, "s", "p10"), region = barrier;
    assert_int_equal(lull_solver_predict(&solver, machine, &options, *state, &got, NULL), LULL_OK);
    check_near("not measured", got.scales[0].seconds, work, 1e-15);
    barrier.name = "openmp.gcc.barrier.1";
    region.name = "openmp.gcc.parallel.1";
    region.value = 250e-9;
    lull_machine_set(machine, *state, &barrier);
    lull_machine_set(machine, *state, &region);
    assert_int_equal(lull_solver_predict(&solver, machine, &options, *state, &got, NULL), LULL_OK);
    check_near("measured", got.scales[0].seconds, work + 2 * (103 * 180e-9 + 250e-9), 1e-15);
    check_near("of barriers", got.scales[0].sync, 2 * (103 * 180e-9 + 250e-9), 1e-15);
}

static void refuse(const char *text, const char *message, struct lull_arena *arena)
{
    char path[] = "/tmp/lull-solver-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    const struct lull_solver_parameter values[] = {{.name = "Nz", .value = 1}};
    struct lull_solver solver;
    struct lull_error err = {""};
    lull_status status = lull_solver_read(path, haswell(arena), values, 1, arena, &solver, &err);
    unlink(path);
    assert_int_not_equal(status, LULL_OK);
    fail_if(!strstr(err.text, message), "'%s', expected '%s'", err.text, message);
}

static void test_mistakes(void **state)
{
    refuse("return 3", "expected a table", *state);
    refuse("return {title = 'a', points = -1}", "'points' is -1, expected a number above 0",
           *state);
    refuse("return {title = 'a', points = 0}", "'points' is 0, expected a number above 0", *state);
    refuse("return {title = 'a', points = 8, kernels = {{name = 'k', T_OL = -1}}}",
           "kernel 'k': 'T_OL' is -1, expected a number from 0 up", *state);
    refuse("return {title = 'a', points = 8}", "'kernels' is nil", *state);
    refuse("return {title = 'a', point = 8}", "'point' is not known", *state);
    refuse("return {title = 'a', points = 8, kernels = {{name = 'k', T_OL = 1}}}",
           "kernel 'k': 'T_nOL' is missing", *state);
    refuse("return {title = 'a', points = 8, kernels = {{name = 'k', T_OL = 1, T_nOL = 1, lines = "
           "{{1, 1}}}}}",
           "has 1 pairs, the machine 3 caches", *state);
    refuse("return {title = 'a', points = 8, kernels = {{name = 'k', T_OL = 1, T_nOL = 1, lines = "
           "{{1, 1}, {1, 'x'}, {0, 0}}}}}",
           "pairs of numbers", *state);
    refuse("\nlocal x = cache(9)", "line 2: cache(9)", *state);
    refuse("return {title = 'a', points = 8, kernels = {{name = 'k', T_OL = 1, T_nOL = 1, lines = "
           "{{1, 1}, {1, 0}, {0, 0}}}}}",
           "has no parameter 'Nz'", *state);
}

TEST_GROUP(test_solver)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_published_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reuse_between_kernels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pipeline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mistakes, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
