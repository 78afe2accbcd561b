/* The lines that the simulation of a nest counts, which runs a part of large nests only, against a
 * slow cache simulator in which the whole nest runs twice, and the second time is counted. Nests
 * are written twice: as C source for lull, and as loops of this test. Sizes are drawn. */
#include "model/kernel/simulate.h"

#include "stats/random.h"
#include "support/branches.h"
#include "support/folder.h"
#include "support/loops.h"
#include "support/seed.h"
#include "support/slow_cache.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

enum { FITS, LARGER, PART, WHOLE, KEPT, BRANCHES };
static struct branch branches[BRANCHES] = {
    [FITS] = {.what = "the last cache holds all arrays", .least = 150},
    [LARGER] = {.what = "the arrays are larger than all caches", .least = 200},
    [PART] = {.what = "a part of the nest is simulated", .least = 300},
    [WHOLE] = {.what = "the whole nest is simulated", .least = 30},
    [KEPT] = {.what = "a cache keeps lines for later iterations of an outer loop", .least = 150},
};

/* 2, 16 and 128 KiB, of lines of 64 bytes, with as many ways as there can be: conflicts differ
 * from one part of a nest to the next. */
static const struct lull_cache_spec caches = {
    .levels = {{.bytes = 2048, .ways = 32, .sharers = 1},
               {.bytes = 16384, .ways = 64, .sharers = 1},
               {.bytes = 131072, .ways = 64, .sharers = 1}},
    .n_levels = 3,
    .line_bytes = 64,
    .cores = 1};

/* ---- nests ----------------------------------------------------------------------------------- */

enum { MOST_ARRAYS = 4 };

/* Where arrays are in the slow simulation: one behind the other, each on a new line. */
struct walk {
    struct slow_cache slow;
    uint64_t base[MOST_ARRAYS + 1];
    long n, m, k;
    double bodies; /* iterations of the innermost loop */
};

static void place(struct walk *walk, size_t array, long elements, size_t bytes)
{
    walk->base[array + 1] = walk->base[array] + ((uint64_t)elements * bytes + 63) / 64 * 64;
}

static void load(struct walk *walk, size_t array, long element, size_t bytes)
{
    slow_cache_access(&walk->slow, 0, walk->base[array] + (uint64_t)element * bytes, false);
}

static void store(struct walk *walk, size_t array, long element, size_t bytes)
{
    slow_cache_access(&walk->slow, 0, walk->base[array] + (uint64_t)element * bytes, true);
}

static const char columns_text[] = "double a[N][M], b[N], c[N];\n"
                                   "for (int j = 0; j < M; j++)\n"
                                   "    for (int i = 0; i < N; i++)\n"
                                   "        c[i] = c[i] + a[i][j] * b[i];\n";
static void columns_place(struct walk *w)
{
    place(w, 0, w->n * w->m, 8), place(w, 1, w->n, 8), place(w, 2, w->n, 8);
}
static void columns_run(struct walk *w)
{
    for (long j = 0; j < w->m; j++)
        for (long i = 0; i < w->n; i++, w->bodies++) {
            load(w, 2, i, 8), load(w, 0, i * w->m + j, 8), load(w, 1, i, 8);
            store(w, 2, i, 8);
        }
}

static const char transposed_text[] = "float a[N][M], b[N][M];\n"
                                      "for (int j = 0; j < M; j++)\n"
                                      "    for (int i = 0; i < N; i++)\n"
                                      "        a[i][j] = b[i][j];\n";
static void transposed_place(struct walk *w)
{
    place(w, 0, w->n * w->m, 4), place(w, 1, w->n * w->m, 4);
}
static void transposed_run(struct walk *w)
{
    for (long j = 0; j < w->m; j++)
        for (long i = 0; i < w->n; i++, w->bodies++)
            load(w, 1, i * w->m + j, 4), store(w, 0, i * w->m + j, 4);
}

static const char again_text[] = "double a[M][N], b[M][N], c[K];\n"
                                 "for (int j = 0; j < M; j++)\n"
                                 "    for (int k = 0; k < K; k++)\n"
                                 "        for (int i = 0; i < N; i++)\n"
                                 "            a[j][i] = a[j][i] + b[j][i] * c[k];\n";
static void again_place(struct walk *w)
{
    place(w, 0, w->n * w->m, 8), place(w, 1, w->n * w->m, 8), place(w, 2, w->k, 8);
}
static void again_run(struct walk *w)
{
    for (long j = 0; j < w->m; j++)
        for (long k = 0; k < w->k; k++)
            for (long i = 0; i < w->n; i++, w->bodies++) {
                load(w, 0, j * w->n + i, 8), load(w, 1, j * w->n + i, 8), load(w, 2, k, 8);
                store(w, 0, j * w->n + i, 8);
            }
}

static const char product_text[] = "double a[N][K], b[K][M], c[N][M];\n"
                                   "for (int i = 0; i < N; i++)\n"
                                   "    for (int j = 0; j < M; j++)\n"
                                   "        for (int k = 0; k < K; k++)\n"
                                   "            c[i][j] = c[i][j] + a[i][k] * b[k][j];\n";
static void product_place(struct walk *w)
{
    place(w, 0, w->n * w->k, 8), place(w, 1, w->k * w->m, 8), place(w, 2, w->n * w->m, 8);
}
static void product_run(struct walk *w)
{
    for (long i = 0; i < w->n; i++)
        for (long j = 0; j < w->m; j++)
            for (long k = 0; k < w->k; k++, w->bodies++) {
                load(w, 2, i * w->m + j, 8), load(w, 0, i * w->k + k, 8);
                load(w, 1, k * w->m + j, 8), store(w, 2, i * w->m + j, 8);
            }
}

static const char stencil_text[] =
    "double a[M][N], b[M][N];\n"
    "for (int k = 0; k < K; k++)\n"
    "    for (int j = M - 2; j > 0; j--)\n"
    "        for (int i = 1; i < N - 1; i++)\n"
    "            a[j][i] = b[j - 1][i] + b[j][i - 1] + b[j][i + 1] + b[j + 1][i];\n";
static void stencil_place(struct walk *w)
{
    place(w, 0, w->n * w->m, 8), place(w, 1, w->n * w->m, 8);
}
static void stencil_run(struct walk *w)
{
    long n = w->n;
    for (long k = 0; k < w->k; k++)
        for (long j = w->m - 2; j > 0; j--)
            for (long i = 1; i < n - 1; i++, w->bodies++) {
                load(w, 1, (j - 1) * n + i, 8), load(w, 1, j * n + i - 1, 8);
                load(w, 1, j * n + i + 1, 8), load(w, 1, (j + 1) * n + i, 8);
                store(w, 0, j * n + i, 8);
            }
}

static const struct nest {
    const char *name, *text;
    void (*place)(struct walk *);
    void (*run)(struct walk *);
    long most[3]; /* N, M, K */
    size_t bytes; /* of an element of the result */
} nests[] = {
    {"columns", columns_text, columns_place, columns_run, {400, 400, 1}, 8},
    {"transposed", transposed_text, transposed_place, transposed_run, {400, 400, 1}, 4},
    {"again", again_text, again_place, again_run, {300, 60, 30}, 8},
    {"product", product_text, product_place, product_run, {70, 70, 70}, 8},
    {"stencil", stencil_text, stencil_place, stencil_run, {300, 200, 6}, 8},
    {"small stencil", stencil_text, stencil_place, stencil_run, {60, 50, 3}, 8},
};

/* ---- the comparison -------------------------------------------------------------------------- */

/* From a tenth of `most` on. */
static long draw_size(struct lull_random *random, long most)
{
    return most / 10 + 1 + (long)lull_random_below(random, (uint64_t)(most - most / 10));
}

static struct lull_kernel *read_nest(const struct nest *nest, const struct walk *walk,
                                     struct lull_arena *arena)
{
    const struct lull_kernel_size sizes[] = {
        {"N", (double)walk->n}, {"M", (double)walk->m}, {"K", (double)walk->k}};
    const struct lull_kernel_source source = {
        .path = lull_arena_strdup(arena, folder_path("nest.c")),
        .sizes = sizes,
        .n_sizes = strstr(nest->text, "K;") || strstr(nest->text, "K]") ? 3 : 2};
    struct lull_kernel *kernel = NULL;
    struct lull_error err;
    folder_write(source.path, nest->text, strlen(nest->text));
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s: %s", nest->name,
            err.text);
    return kernel;
}

/* Lines that one run of the nest takes from beyond a level and writes beyond it, per unit of work,
 * in caches of so many quarters of the size. */
static void run_slowly(const struct nest *nest, struct walk *walk, uint64_t quarters,
                       struct lull_ecm_lines *lines)
{
    struct lull_cache_spec spec = caches;
    for (size_t level = 0; level < spec.n_levels; level++)
        spec.levels[level].bytes = spec.levels[level].bytes / 4 * quarters;
    spec.levels[0].ways = (uint32_t)(spec.levels[0].bytes / 64);
    slow_cache_open(&walk->slow, &spec);
    walk->base[0] = 1 << 20;
    nest->place(walk);
    nest->run(walk);
    memset(walk->slow.traffic, 0, sizeof walk->slow.traffic);
    walk->bodies = 0;
    nest->run(walk);
    double units = walk->bodies / (64.0 / (double)nest->bytes);
    for (size_t level = 0; level < spec.n_levels; level++) {
        lines[level].loads = (double)walk->slow.traffic[level].misses / units;
        lines[level].stores = (double)walk->slow.traffic[level].writes / units;
    }
    slow_cache_close(&walk->slow);
}

/* Within 3 % of the whole nest, or, where a cache holds just about what is used again, between
 * what the whole nest has in smaller and in larger caches: there one part of a nest finds more
 * than another. */
static void check_lines(const struct nest *nest, const struct walk *walk, size_t level,
                        const char *what, double got, const double want[3])
{
    double least = fmin(want[0], fmin(want[1], want[2])),
           most = fmax(want[0], fmax(want[1], want[2]));
    fail_if(
        !(got >= 0.97 * least - 0.02 && got <= 1.03 * most + 0.02),
        "%s, N = %ld, M = %ld, K = %ld: lines %s beyond L%zu: %.3f, the whole nest has %.3f, and "
        "%.3f and %.3f in caches of 3/4 and 5/4 of the size",
        nest->name, walk->n, walk->m, walk->k, what, level + 1, got, want[1], want[0], want[2]);
}

static void compare_one(const struct nest *nest, struct lull_random *random)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct walk walk = {.n = draw_size(random, nest->most[0]),
                        .m = draw_size(random, nest->most[1]),
                        .k = draw_size(random, nest->most[2])};
    struct lull_ecm_lines lines[3][LULL_CACHE_LEVELS];
    struct lull_simulated simulated;
    struct lull_error err;
    struct lull_kernel *kernel = read_nest(nest, &walk, arena);
    fail_if(lull_kernel_simulate(kernel, &caches, NULL, 0, 1, &simulated, &err) != LULL_OK, "%s",
            err.text);
    for (uint64_t size = 0; size < 3; size++)
        run_slowly(nest, &walk, size + 3, lines[size]);
    for (size_t level = 0; level < caches.n_levels; level++) {
        double loads[3], stores[3];
        for (size_t size = 0; size < 3; size++) {
            loads[size] = lines[size][level].loads;
            stores[size] = lines[size][level].stores;
        }
        check_lines(nest, &walk, level, "loaded from", simulated.lines[level].loads, loads);
        check_lines(nest, &walk, level, "written", simulated.lines[level].stores, stores);
        branch_reach(&branches[KEPT], loads[1] > 0 && level + 1 < caches.n_levels &&
                                          lines[1][level + 1].loads < 0.5 * loads[1]);
    }
    double footprint = lull_kernel_footprint(kernel);
    bool part = (double)simulated.accesses != 2 * walk.bodies * (double)kernel->n_accesses;
    branch_reach(&branches[FITS], footprint <= (double)caches.levels[2].bytes);
    branch_reach(&branches[LARGER], footprint > 1.2 * (double)caches.levels[2].bytes);
    branch_reach(&branches[PART], part);
    branch_reach(&branches[WHOLE], !part);
    lull_arena_destroy(arena);
}

static void test_drawn(void **state)
{
    (void)state;
    struct lull_random random;
    const unsigned rounds = lull_test_rounds(96);
    lull_random_seed(&random, lull_test_seed());
    folder_make();
    for (unsigned round = 0; round < rounds; round++) {
        compare_one(&nests[round % (sizeof nests / sizeof *nests)], &random);
        branches_next(branches, BRANCHES);
    }
    folder_remove();
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_repeated_nest)
{
    if (!reads_loops())
        return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_drawn)};
    return run_cases(tests, NULL, NULL);
}
