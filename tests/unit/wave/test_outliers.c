/* Outliers of a field against their definition, cell by cell; the waves that are found in them
 * against those that are found where all iterations are given; and a raster against the waits that
 * are in it. */
#include "support/test.h"
#include "support/wave_run.h"

#include "wave/raster.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wave_wish wishes[] = {
    {.pattern = "chain:ranks=12,iterations=60", .delays = "5@i20:10ms"},
    {.pattern = "chain:ranks=12,iterations=60,boundary=periodic",
     .noise = "exponential:mean=50us",
     .delays = "5@i20:10ms 2@i40:7ms 2@i41:7ms",
     .seed = 3},
    {.pattern = "chain:ranks=16,iterations=80,collective=allreduce,every=4",
     .noise = "exponential:mean=200us",
     .delays = "7@i30:10ms",
     .seed = 5},
    {.pattern = "chain:ranks=9,iterations=50,collective=bcast,every=3",
     .noise = "exponential:mean=1ms",
     .seed = 7},
};
enum { WISHES = sizeof wishes / sizeof *wishes, MOST = 256, SEEDS = 25 };
/* A delay of a rank that is moved to its wait of the iteration before (test_wave_stalls.c). */
enum { STALLED = 3, AT = 30 };

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The one with `below` in front of it when they are sorted. */
static int64_t sorted(int64_t *values, size_t count, size_t below)
{
    qsort(values, count, sizeof *values, compare);
    return values[below];
}

/* A rank, by what a row says of it. */
struct reference {
    int64_t begin[MOST], wait[MOST], work[MOST], within[MOST]; /* within collective operations */
    uint32_t collectives[MOST];
    uint8_t operation[MOST];
    int64_t usual_wait, usual_work, usual_collective;
};

static void refer(const struct lull_wave_row *row, uint32_t n, struct reference *of)
{
    int64_t values[MOST];
    memset(of, 0, sizeof *of);
    for (uint32_t c = 0; c < row->n_collectives; c++) {
        const struct lull_wave_collective *collective = &row->collectives[c];
        if (collective->iteration >= n)
            continue;
        of->within[collective->iteration] += collective->end - collective->begin;
        of->collectives[collective->iteration]++;
        of->operation[collective->iteration] = collective->operation;
    }
    for (uint32_t i = 0; i < n; i++) {
        of->begin[i] = i ? row->cells[i - 1].end : row->begin;
        of->wait[i] = row->cells[i].wait;
        of->work[i] = row->cells[i].end - of->begin[i] - of->wait[i] - of->within[i];
    }
    memcpy(values, of->wait, n * sizeof *values);
    of->usual_wait = sorted(values, n, n / 2);
    memcpy(values, of->work, n * sizeof *values);
    of->usual_work = sorted(values, n, n / 2);
    const uint32_t some = row->n_collectives < n ? row->n_collectives : n;
    for (uint32_t c = 0; c < some; c++)
        values[c] = row->collectives[c].end - row->collectives[c].begin;
    of->usual_collective = some ? sorted(values, some, (some - 1) / 2) : 0;
}

static void check_medians(const struct wave_run *run)
{
    for (uint32_t r = 0; r < run->field->n_ranks; r++) {
        const struct lull_wave_row *row = &run->field->rows[r];
        struct reference of;
        refer(row, run->field->n_iterations, &of);
        assert_int_equal(row->usual_wait, of.usual_wait);
        assert_int_equal(row->usual_work, of.usual_work);
        assert_int_equal(row->usual_collective, of.usual_collective);
    }
}

/* All iterations of a rank, from the definition. */
static void list_rank(const struct wave_run *run, uint32_t rank, struct lull_wave_outlier *list)
{
    const struct lull_wave_row *row = &run->field->rows[rank];
    struct reference of;
    refer(row, run->field->n_iterations, &of);
    for (uint32_t i = 0; i < run->field->n_iterations; i++) {
        struct lull_wave_outlier *at = &list[i];
        at->iteration = i;
        at->operation = of.operation[i];
        at->begin = of.begin[i];
        at->end = row->cells[i].end;
        at->idle = of.wait[i] - row->usual_wait;
        at->delay = of.work[i] - row->usual_work;
        at->collective = of.within[i] - of.collectives[i] * row->usual_collective;
    }
}

static void assert_alike(const struct lull_wave_outlier *a, const struct lull_wave_outlier *b)
{
    assert_int_equal(a->iteration, b->iteration);
    assert_int_equal(a->operation, b->operation);
    assert_int_equal(a->begin, b->begin);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->idle, b->idle);
    assert_int_equal(a->delay, b->delay);
    assert_int_equal(a->collective, b->collective);
}

static void assert_same(const struct lull_waves *some, const struct lull_waves *all, uint32_t ranks)
{
    assert_int_equal(some->count, all->count);
    assert_int_equal(some->delays_alone, all->delays_alone);
    assert_int_equal(some->left_out, all->left_out);
    for (uint32_t w = 0; w < some->count; w++) {
        const struct lull_wave *a = &some->waves[w], *b = &all->waves[w];
        assert_int_equal(a->rank, b->rank);
        assert_int_equal(a->iteration, b->iteration);
        assert_int_equal(a->begin, b->begin);
        assert_int_equal(a->length, b->length);
        assert_int_equal(a->within_call, b->within_call);
        assert_int_equal(a->up.end, b->up.end);
        assert_int_equal(a->down.end, b->down.end);
        assert_memory_equal(&a->decay, &b->decay, sizeof a->decay);
        assert_memory_equal(&a->up.ranks_per_second, &b->up.ranks_per_second, sizeof a->decay);
        assert_memory_equal(a->path.arrivals, b->path.arrivals, ranks * sizeof(int32_t));
        assert_memory_equal(a->path.offsets, b->path.offsets, ranks * sizeof(int32_t));
        assert_memory_equal(a->path.carriers, b->path.carriers, ranks);
    }
}

struct counts {
    uint64_t seen, cells, waves, within_calls;
};

static void check_run(struct wave_run *run, struct counts *counts)
{
    static const struct lull_wave_options options = {0};
    const uint32_t n = run->field->n_ranks, iterations = run->field->n_iterations;
    const struct lull_wave_outliers *outliers = &run->waves.outliers;
    struct lull_error err;
    struct lull_waves of_all;
    assert_true(iterations <= MOST);
    struct lull_wave_outlier *list = calloc(n * (size_t)iterations, sizeof *list);
    uint64_t *first = calloc(n + (size_t)1, sizeof *first);
    for (uint32_t r = 0; r < n; r++) {
        list_rank(run, r, &list[r * (size_t)iterations]);
        first[r + 1] = first[r] + iterations;
    }
    for (uint64_t c = 0; c < first[n]; c++) {
        const struct lull_wave_outlier *at =
            lull_wave_outlier_of(outliers, (uint32_t)(c / iterations), (uint32_t)(c % iterations));
        if (at)
            assert_alike(at, &list[c]);
        counts->seen += at != NULL;
    }
    counts->cells += first[n];
    const struct lull_wave_outliers all = {outliers->usual, first, list};
    assert_int_equal(
        lull_waves_find(run->field, run->graph, &all, &options, run->arena, &of_all, &err),
        LULL_OK);
    assert_same(&run->waves, &of_all, n);
    for (uint32_t w = 0; w < of_all.count; w++)
        counts->within_calls += of_all.waves[w].within_call;
    counts->waves += of_all.count;
    free(list);
    free(first);
}

/* Each also with a rank that stays in a wait. */
static void test_by_definition(void **state)
{
    (void)state;
    static const struct lull_wave_options options = {0};
    struct counts counts = {0, 0, 0, 0};
    for (unsigned w = 0; w < WISHES; w++)
        for (unsigned seed = 0; seed < SEEDS; seed++) {
            static const char *const noises[] = {NULL, "exponential:mean=20us",
                                                 "exponential:mean=100us", "exponential:mean=400us",
                                                 "exponential:mean=1ms"};
            const unsigned length = 1500000 + 300000 * seed;
            char delays[128];
            struct wave_wish wish = wishes[w];
            struct wave_run run;
            snprintf(delays, sizeof delays, "5@i20:%uns %u@i%u:%uns", length, STALLED, AT + 1,
                     length);
            wish.delays = delays;
            wish.noise = noises[seed % 5];
            wish.seed = seed;
            wave_run_make(&wish, &run);
            check_medians(&run);
            check_run(&run, &counts);
            struct lull_wave_cell *cell = &run.field->rows[STALLED].cells[AT];
            cell->end += length;
            cell->wait += length;
            wave_run_find(&run, &options);
            check_run(&run, &counts);
            wave_run_free(&run);
        }
    assert_true(counts.waves > SEEDS && counts.within_calls > SEEDS);
    assert_true(counts.seen > 0 && counts.seen < counts.cells / 2); /* else they are no outliers */
}

/* Means over what is no wave, as sums of all. */
static void test_means(void **state)
{
    (void)state;
    for (unsigned w = 0; w < WISHES; w++) {
        struct wave_run run;
        wave_run_make(&wishes[w], &run);
        const struct lull_wave_usual *usual = &run.waves.outliers.usual;
        long double span = 0, work = 0, wait = 0, count = 0;
        for (uint32_t r = 0; r < run.field->n_ranks; r++) {
            struct reference of;
            refer(&run.field->rows[r], run.field->n_iterations, &of);
            for (uint32_t i = 1; i < run.field->n_iterations; i++) {
                const int64_t all = of.wait[i] + of.work[i] + of.within[i];
                if (all - of.usual_work - of.usual_wait > usual->least_delay)
                    continue;
                span += all;
                work += of.work[i];
                wait += of.wait[i];
                count++;
            }
        }
        assert_true(fabsl(usual->cycle - span / count) <= 1e-12 * span / count);
        assert_true(fabsl(usual->work - work / count) <= 1e-12 * span / count);
        assert_true(fabsl(usual->wait - wait / count) <= 1e-12 * span / count);
        wave_run_free(&run);
    }
}

/* All of a wait that is in the picture is in one of its cells, and so is each delay. */
static void test_raster(void **state)
{
    (void)state;
    for (unsigned w = 0; w < WISHES; w++) {
        struct wave_run run;
        struct lull_error err;
        const struct lull_wave_raster *raster;
        wave_run_make(&wishes[w], &run);
        assert_int_equal(lull_wave_raster_make(run.field, &run.waves, run.result.runtime, run.arena,
                                               &raster, &err),
                         LULL_OK);
        assert_true(raster->from < raster->to && raster->to <= run.result.runtime);
        double waits = 0, late = 0, seen = 0, seen_late = 0;
        for (uint32_t r = raster->first_rank; r < raster->first_rank + raster->n_ranks; r++)
            for (uint32_t i = 0; i < run.field->n_iterations; i++) {
                const struct lull_wave_cell *cell = &run.field->rows[r].cells[i];
                waits += fmax(0, fmin((double)cell->end, (double)raster->to) -
                                     fmax((double)(cell->end - cell->wait), (double)raster->from));
            }
        for (uint32_t v = 0; v < run.waves.count; v++)
            late += (double)run.waves.waves[v].length; /* it is all shown */
        for (size_t c = 0; c < (size_t)raster->rows * LULL_WAVE_RASTER_COLUMNS; c++) {
            seen += (double)raster->waits[c];
            seen_late += (double)raster->late[c];
        }
        const double unit = (double)(raster->to - raster->from) / LULL_WAVE_RASTER_COLUMNS /
                            (double)LULL_WAVE_RASTER_UNIT;
        assert_true(waits > 0);
        assert_true(fabs(seen * unit - waits) <= 1e-6 * waits);
        assert_true(fabs(seen_late * unit - late) <= 1e-6 * late);
        wave_run_free(&run);
    }
}

TEST_GROUP(test_outliers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_definition),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_raster),
    };
    return run_cases(tests, NULL, NULL);
}
