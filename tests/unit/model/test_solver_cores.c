/* What kernels of a solver leave in caches for each other where several cores work, against
 * simulations of all accesses. */
#include "model/cache.h"
#include "model/solver/solver.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check_near(const char *what, double got, double want, double within)
{
    fail_if(!(fabs(got - want) <= within), "%s: %.10g, expected %.10g", what, got, want);
}

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

/* ---- conjugate gradients --------------------------------------------------------------------- */

enum { P, V, X, R, ARRAYS, NX = 96, LEVELS = 2 };

struct grid {
    struct lull_cache *cache;
    unsigned cores;
    uint64_t ny; /* a multiple of cores */
};

static void touch(const struct grid *grid, unsigned core, int array, uint64_t i, bool write)
{
    uint64_t at = ((uint64_t)array * grid->ny * NX + i) * sizeof(double);
    lull_cache_access access = write ? lull_cache_write(at) : lull_cache_read(at);
    lull_cache_run(grid->cache, core, &access, 1);
}

/* Arrays in the order in which a kernel touches them, the written one last. */
static void touch_row(const struct grid *grid, unsigned core, uint64_t row, const int *arrays,
                      bool writes, bool neighbours)
{
    for (uint64_t i = row * NX; i < (row + 1) * NX; i++) {
        if (neighbours && row > 0)
            touch(grid, core, P, i - NX, false);
        if (neighbours && row + 1 < grid->ny)
            touch(grid, core, P, i + NX, false);
        for (const int *array = arrays; *array != ARRAYS; array++)
            touch(grid, core, *array, i, writes && array[1] == ARRAYS);
    }
}

/* Each core has as many rows, one after the other; all are in their first one, then in the next. */
static void sweep(const struct grid *grid, const int *arrays, bool writes, bool neighbours)
{
    for (uint64_t row = 0; row < grid->ny / grid->cores; row++)
        for (unsigned core = 0; core < grid->cores; core++)
            touch_row(grid, core, core * (grid->ny / grid->cores) + row, arrays, writes,
                      neighbours);
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

static struct lull_cache_traffic simulate(struct grid *grid, uint64_t bytes, uint32_t sharers)
{
    const struct lull_cache_spec spec = {
        .levels = {{.bytes = bytes, .ways = 64, .sharers = sharers}},
        .n_levels = 1,
        .line_bytes = 64,
        .cores = grid->cores};
    assert_int_equal(lull_cache_create(&spec, &grid->cache, NULL), LULL_OK);
    for (int i = 0; i < 2; i++)
        iterate(grid);
    lull_cache_reset(grid->cache);
    iterate(grid);
    struct lull_cache_traffic got = lull_cache_traffic(grid->cache, 0);
    lull_cache_free(grid->cache);
    return got;
}

/* Of each core a second cache of 128 KiB, of each two cores a third one of 192 KiB. */
static const uint64_t bytes_of[LEVELS] = {UINT64_C(128) << 10, UINT64_C(192) << 10};
static const uint32_t sharers_of[LEVELS] = {1, 2};

static struct lull_machine *machine_of(struct lull_arena *arena)
{
    const char *tests = getenv("LULL_TESTS_DIR");
    const char *path =
        lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod-cg.json", tests ? tests : ".");
    struct lull_machine *machine = NULL;
    struct lull_error err = {""};
    fail_if(lull_machine_read(path, arena, &machine, &err) != LULL_OK, "%s", err.text);
    for (size_t l = 0; l < LEVELS; l++) {
        machine->caches[l + 1].bytes = bytes_of[l];
        machine->caches[l + 1].shared_cores = sharers_of[l];
    }
    return machine;
}

static void check_cores(const struct lull_machine *machine, unsigned cores, uint64_t ny,
                        struct lull_arena *arena)
{
    const char *path = getenv("LULL_TESTS_DIR");
    path = lull_arena_printf(arena, "%s/../data/solvers/cg.lua", path ? path : ".");
    const struct lull_solver_parameter sizes[] = {{"Nx", NX, true}, {"Ny", (double)ny, true}};
    struct grid grid = {.cores = cores, .ny = ny};
    struct lull_solver solver;
    assert_int_equal(lull_solver_read(path, machine, sizes, 2, arena, &solver, NULL), LULL_OK);
    const struct lull_solver_kernel *kernels = lull_solver_on_cores(&solver, machine, cores, arena);
    for (size_t l = 0; l < LEVELS; l++) {
        double loads = 0, stores = 0, lines = (double)ny * NX / LULL_SOLVER_POINTS_PER_LINE;
        for (size_t k = 0; k < solver.n_kernels; k++) {
            loads += kernels[k].lines[l + 1].loads;
            stores += kernels[k].lines[l + 1].stores;
        }
        struct lull_cache_traffic got = simulate(&grid, bytes_of[l], sharers_of[l]);
        print_message("%u cores, %llu rows, L%zu: %.2f and %.2f lines, simulated %.2f and %.2f\n",
                      cores, (unsigned long long)ny, l + 2, loads, stores,
                      (double)got.misses / lines, (double)got.writes / lines);
        /* Rows of others beside a core's own, and where several meet in one set. */
        check_near("lines loaded", loads, (double)got.misses / lines, 0.1);
        check_near("lines stored", stores, (double)got.writes / lines, 0.1);
    }
}

/* Four arrays of 96 points a row take 360 KiB with 120 rows, 1080 KiB with 360: more than one cache
 * of either level has, less or more than all of several cores, of which the last one may have an
 * instance to itself. */
static void test_conjugate_gradients(void **state)
{
    static const unsigned cores[] = {1, 3, 6};
    const struct lull_machine *machine = machine_of(*state);
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        for (uint64_t ny = 120; ny <= 360; ny += 240)
            check_cores(machine, cores[i], ny, *state);
}

/* ---- rows and points of rows ------------------------------------------------------------------
 */

enum { SIDE = 24, MOST_CORES = 4 };

/* An array of SIDE x SIDE elements, of which a core has a copy until another one writes to it. */
struct copies {
    bool has[MOST_CORES][SIDE][SIDE];
};

static unsigned write_all(struct copies *copies, unsigned cores, bool by_points)
{
    unsigned loads = 0;
    for (unsigned row = 0; row < SIDE; row++)
        for (unsigned i = 0; i < SIDE; i++) {
            unsigned core = (by_points ? i : row) * cores / SIDE;
            loads += !copies->has[core][row][i];
            for (unsigned c = 0; c < MOST_CORES; c++)
                copies->has[c][row][i] = c == core;
        }
    return loads;
}

/* A sweep that splits the points of rows after a loop that splits the rows, both of which write
 * all: with caches that lose nothing a core finds what both times was its part. */
static void test_splits(void **state)
{
    (void)state;
    const struct lull_solver_use use = {.array = 0, .read = true, .written = true, .times = 1};
    const struct lull_solver_walk walks[] = {{&use, 1, false}, {&use, 1, false}};
    const double sizes[LULL_SOLVER_ARRAYS] = {SIDE * SIDE};
    for (unsigned cores = 1; cores <= MOST_CORES; cores++) {
        static struct copies copies;
        struct lull_solver_kernel kernels[] = {{.count = 1, .points = SIDE * SIDE},
                                               {.count = 1, .points = SIDE * SIDE}};
        struct lull_solver solver = {.kernels = kernels, .n_kernels = 2};
        const struct lull_solver_cache cache = {cores, 1, 2 * SIDE * SIDE};
        kernels[1].wavefronts = SIDE;
        lull_solver_reuse(&solver, walks, sizes, 0, &cache);
        write_all(&copies, cores, false);
        write_all(&copies, cores, true);
        for (size_t k = 0; k < 2; k++)
            check_near("loads", kernels[k].lines[0].loads,
                       (double)write_all(&copies, cores, k == 1) / (SIDE * SIDE), 1e-12);
    }
}

TEST_GROUP(test_solver_cores)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_conjugate_gradients, set_up, tear_down),
        cmocka_unit_test(test_splits),
    };
    return run_cases(tests, NULL, NULL);
}
