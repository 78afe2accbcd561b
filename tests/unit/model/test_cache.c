/* The cache simulator where the number of lines is known: streams and stencils away from the sizes
 * of the caches (the predictions of Kerncraft's layer conditions, lines per line of results), and
 * conflicts worked out by hand. */
#include "machine/machine.h"
#include "model/cache.h"
#include "model/kernel/simulate.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of an Intel Haswell core, with its share of the last level. */
static struct lull_cache_spec haswell(enum lull_cache_policy policy)
{
    return (struct lull_cache_spec){.levels = {{32768, 8, policy, LULL_CACHE_NORMAL, 1},
                                               {262144, 8, policy, LULL_CACHE_NORMAL, 1},
                                               {9437184, 16, policy, LULL_CACHE_INCLUSIVE, 1}},
                                    .n_levels = 3,
                                    .line_bytes = 64,
                                    .cores = 1};
}

static struct lull_cache *open_cache(const struct lull_cache_spec *spec)
{
    struct lull_cache *cache;
    struct lull_error err = {""};
    fail_if(lull_cache_create(spec, &cache, &err) != LULL_OK, "%s", err.text);
    return cache;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* b[j][i] from a[j][i + dx] of rows j + dy, on `rows` rows of n doubles. */
struct sweep {
    size_t n, rows, n_reads;
    struct {
        int dx, dy;
        unsigned array; /* 1, 2, ...: the results are in array 0 */
    } reads[6];
    bool writes;
};

static uint64_t address_of(unsigned array, uint64_t element)
{
    return ((uint64_t)(array + 1) << 40) + array * 4160 + 8 * element;
}

static void run_sweep(struct lull_cache *cache, const struct sweep *sweep)
{
    size_t edge_x = sweep->rows > 1 || sweep->n_reads > 2, edge_y = sweep->rows > 1;
    for (size_t j = edge_y; j < sweep->rows - edge_y; j++)
        for (size_t i = edge_x; i < sweep->n - edge_x; i++) {
            lull_cache_access accesses[7];
            size_t count = 0;
            for (size_t k = 0; k < sweep->n_reads; k++)
                accesses[count++] = lull_cache_read(
                    address_of(sweep->reads[k].array,
                               (uint64_t)((int64_t)((j + 1) * sweep->n + i) + sweep->reads[k].dx +
                                          sweep->reads[k].dy * (int64_t)sweep->n)));
            if (sweep->writes)
                accesses[count++] = lull_cache_write(address_of(0, j * sweep->n + i));
            lull_cache_run(cache, 0, accesses, count);
        }
}

/* Lines loaded and stored per line of results beyond each level. */
static void check_sweep(const char *name, const struct sweep *sweep, const double *loads,
                        const double *stores)
{
    const struct lull_cache_spec spec = haswell(LULL_CACHE_LRU);
    struct lull_cache *cache = open_cache(&spec);
    run_sweep(cache, sweep);
    lull_cache_reset(cache);
    run_sweep(cache, sweep);
    size_t edge = sweep->rows > 1;
    double lines = (double)(sweep->n * (sweep->rows - 2 * edge)) / 8;
    for (size_t level = 0; level < 3; level++) {
        struct lull_cache_traffic got = lull_cache_traffic(cache, level);
        double in = (double)got.misses / lines, out = (double)got.writes / lines;
        fail_if(fabs(in - loads[level]) > 0.02 * loads[level] + 0.01 ||
                    fabs(out - stores[level]) > 0.02 * stores[level] + 0.01,
                "%s: level %zu: %.3f loads and %.3f stores, expected %g and %g", name, level + 1,
                in, out, loads[level], stores[level]);
    }
    lull_cache_free(cache);
}

static void test_layer_conditions(void **state)
{
    (void)state;
    struct sweep copy = {.rows = 1, .n_reads = 1, .reads = {{0, 0, 1}}, .writes = true};
    struct sweep dot = {.rows = 1, .n_reads = 2, .reads = {{0, 0, 1}, {0, 0, 2}}};
    struct sweep three = {
        .rows = 1, .n_reads = 3, .reads = {{-1, 0, 1}, {0, 0, 1}, {1, 0, 1}}, .writes = true};
    struct sweep five = {
        .n_reads = 4, .reads = {{-1, 0, 1}, {1, 0, 1}, {0, -1, 1}, {0, 1, 1}}, .writes = true};
    copy.n = dot.n = three.n = 1000;
    check_sweep("copy in L1", &copy, (double[]){0, 0, 0}, (double[]){0, 0, 0});
    copy.n = dot.n = three.n = 100000;
    check_sweep("copy in L3", &copy, (double[]){2, 2, 0}, (double[]){1, 1, 0});
    check_sweep("dot in L3", &dot, (double[]){2, 2, 0}, (double[]){0, 0, 0});
    check_sweep("1-D in L3", &three, (double[]){2, 2, 0}, (double[]){1, 1, 0});
    copy.n = dot.n = three.n = 2000000;
    check_sweep("copy in memory", &copy, (double[]){2, 2, 2}, (double[]){1, 1, 1});
    check_sweep("1-D in memory", &three, (double[]){2, 2, 2}, (double[]){1, 1, 1});
    five.n = 500;
    five.rows = 3000;
    check_sweep("2-D, rows fit L1", &five, (double[]){2, 2, 2}, (double[]){1, 1, 1});
    five.n = 4000;
    five.rows = 500;
    check_sweep("2-D, rows fit L2", &five, (double[]){4, 2, 2}, (double[]){1, 1, 1});
    five.n = 40000;
    five.rows = 60;
    check_sweep("2-D, rows fit L3", &five, (double[]){4, 4, 2}, (double[]){1, 1, 1});
}

/* ---- conflicts ------------------------------------------------------------------------------ */

/* Lines at a distance of 4 KiB share a set of eight ways: eight of them stay, of nine none does. */
static void test_conflicts(void **state)
{
    (void)state;
    const struct lull_cache_spec spec = haswell(LULL_CACHE_LRU);
    for (unsigned lines = 8; lines <= 9; lines++) {
        struct lull_cache *cache = open_cache(&spec);
        for (unsigned round = 0; round < 11; round++) {
            if (round == 1)
                lull_cache_reset(cache);
            for (unsigned i = 0; i < lines; i++) {
                lull_cache_access access = lull_cache_read(4096 * (uint64_t)i);
                lull_cache_run(cache, 0, &access, 1);
            }
        }
        assert_int_equal(lull_cache_traffic(cache, 0).misses, lines == 8 ? 0 : 90);
        assert_int_equal(lull_cache_traffic(cache, 1).misses, 0);
        lull_cache_free(cache);
    }
}

/* A victim cache doubles what one level holds: 16 lines of one set in 8 + 8 ways. */
static void test_victims(void **state)
{
    (void)state;
    static const struct {
        enum lull_cache_filling filling;
        uint64_t misses; /* of ten rounds over 16 lines, warm */
    } cases[] = {{LULL_CACHE_NORMAL, 160}, {LULL_CACHE_EXCLUSIVE, 0}};
    for (size_t c = 0; c < 2; c++) {
        const struct lull_cache_spec spec = {
            .levels = {{512, 8, LULL_CACHE_LRU, LULL_CACHE_NORMAL, 1},
                       {512, 8, LULL_CACHE_LRU, cases[c].filling, 1}},
            .n_levels = 2,
            .line_bytes = 64,
            .cores = 1};
        struct lull_cache *cache = open_cache(&spec);
        for (unsigned round = 0; round < 11; round++) {
            if (round == 1)
                lull_cache_reset(cache);
            for (unsigned i = 0; i < 16; i++) {
                lull_cache_access access = lull_cache_read(64 * (uint64_t)i);
                lull_cache_run(cache, 0, &access, 1);
            }
        }
        assert_int_equal(lull_cache_traffic(cache, 1).misses, cases[c].misses);
        lull_cache_free(cache);
    }
}

/* Two cores share the second level: what one has loaded the other finds there. */
static void test_shared(void **state)
{
    (void)state;
    struct lull_cache_spec spec = haswell(LULL_CACHE_LRU);
    spec.cores = 2;
    spec.levels[2].sharers = 2;
    struct lull_cache *cache = open_cache(&spec);
    lull_cache_access access = lull_cache_write(1 << 20);
    lull_cache_run(cache, 0, &access, 1);
    lull_cache_run(cache, 1, &access, 1);
    assert_int_equal(lull_cache_traffic(cache, 1).misses, 2);
    assert_int_equal(lull_cache_traffic(cache, 2).misses, 1);
    lull_cache_flush(cache); /* both copies are dirty, written back one after the other */
    assert_int_equal(lull_cache_traffic(cache, 0).writes, 2);
    lull_cache_free(cache);
}

static void test_bad_specs(void **state)
{
    (void)state;
    struct lull_cache *cache;
    struct lull_cache_spec spec = haswell(LULL_CACHE_LRU);
    spec.line_bytes = 48;
    assert_int_equal(lull_cache_create(&spec, &cache, NULL), LULL_ERR_RANGE);
    spec = haswell(LULL_CACHE_PLRU);
    spec.levels[1].ways = 12;
    assert_int_equal(lull_cache_create(&spec, &cache, NULL), LULL_ERR_RANGE);
    spec = haswell(LULL_CACHE_LRU);
    spec.levels[0].bytes = 100;
    assert_int_equal(lull_cache_create(&spec, &cache, NULL), LULL_ERR_RANGE);
    spec = haswell(LULL_CACHE_LRU);
    spec.levels[0].filling = LULL_CACHE_VICTIM;
    assert_int_equal(lull_cache_create(&spec, &cache, NULL), LULL_ERR_RANGE);
    /* No memory is asked for that nobody has. */
    for (unsigned bits = 33; bits < 64; bits++) {
        spec = haswell(LULL_CACHE_LRU);
        spec.levels[2].bytes = UINT64_C(1) << bits;
        assert_int_equal(lull_cache_create(&spec, &cache, NULL), LULL_ERR_MEMORY);
    }
}

/* ---- of a machine --------------------------------------------------------------------------- */

static void test_machine(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine = lull_machine_create(arena);
    struct lull_cache_spec spec;
    struct lull_machine_cache caches[] = {
        {.level = 1, .kind = "data", .bytes = 32768, .ways = 8, .line_bytes = 64},
        {.level = 2,
         .kind = "unified",
         .bytes = 1 << 20,
         .ways = 16,
         .shared_cores = 4,
         .inclusive = LULL_NO}};
    assert_int_equal(lull_cache_of_machine(machine, 1, false, LULL_CACHE_LRU, &spec, NULL),
                     LULL_ERR_RANGE);
    machine->caches = caches;
    machine->n_caches = 2;
    assert_int_equal(lull_cache_of_machine(machine, 2, false, LULL_CACHE_LRU, &spec, NULL),
                     LULL_OK);
    assert_int_equal(spec.levels[1].bytes, 1 << 19);
    assert_int_equal(spec.levels[1].filling, LULL_CACHE_VICTIM);
    assert_int_equal(spec.cores, 1);
    assert_int_equal(lull_cache_of_machine(machine, 2, true, LULL_CACHE_LRU, &spec, NULL), LULL_OK);
    assert_int_equal(spec.levels[1].bytes, 1 << 20);
    assert_int_equal(spec.levels[1].sharers, 4);
    assert_int_equal(spec.cores, 2);
    lull_arena_destroy(arena);
}

/* Any line can be anywhere: as many ways as lines, up to what can be simulated. */
static void test_spread(void **state)
{
    (void)state;
    struct lull_cache_spec spec = haswell(LULL_CACHE_LRU);
    spec.levels[0].bytes = 8 * 64;
    spec.levels[1].bytes = 64 * (LULL_CACHE_MAX_WAYS - 1);
    spec.levels[2].bytes = UINT64_C(1) << 40;
    const struct lull_cache_spec spread = lull_cache_spread(&spec);
    assert_int_equal(spread.levels[0].ways, 8);
    assert_int_equal(spread.levels[1].ways, LULL_CACHE_MAX_WAYS - 1);
    assert_int_equal(spread.levels[2].ways, LULL_CACHE_MAX_WAYS);
}

TEST_GROUP(test_cache)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_conditions), cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_victims),          cmocka_unit_test(test_shared),
        cmocka_unit_test(test_bad_specs),        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_spread),
    };
    return run_cases(tests, NULL, NULL);
}
