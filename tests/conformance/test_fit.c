/* The law of a real program's strong scaling, against what its published speedups say one by one.
 */
#include "study/compare.h"
#include "study/model/fit_study.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SKIPPED = 77, RUNS = 3 };
static const char *folder;

/* Karp and Flatt: the serial fraction that one speedup S at P processes implies. */
static double serial_fraction(double speedup, double processes)
{
    return (1 / speedup - 1 / processes) / (1 - 1 / processes);
}

static struct lull_fit_study fit_epoch(struct lull_arena *arena)
{
    const char *paths[RUNS];
    static const int ranks[RUNS] = {1, 4, 8};
    struct lull_notices notices = {.arena = arena};
    struct lull_runs runs;
    struct lull_fit_table *table;
    struct lull_fit_study study = {0};
    struct lull_error err = {""};
    for (int i = 0; i < RUNS; i++)
        paths[i] = lull_arena_printf(arena, "%s/epoch-mpi/epoch_%dproc.prv.gz", folder, ranks[i]);
    const struct lull_runs_options options = {.regions = true, .no_replay = true};
    const struct lull_fit_wish wish = {.y = lull_fit_y_read(NULL), .by_region = true};
    const struct lull_fit_options all = {0};
    lull_status status = lull_runs_load(paths, RUNS, &options, &notices, arena, &runs, &err);
    if (status == LULL_OK)
        status = lull_study_compute(&runs, arena, &err);
    if (status == LULL_OK)
        status = lull_fit_table_of_runs(&runs, &wish, arena, &table, &err);
    if (status == LULL_OK)
        status = lull_fit_study_make(table, 0, &all, arena, &study, &err);
    fail_if(status != LULL_OK, "%s", err.text);
    lull_runs_close(&runs);
    return study;
}

static void test_epoch(void **state)
{
    (void)state;
    static const double seconds[RUNS] = {21.89865914, 6.08235221, 3.51356533}; /* published */
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_fit_study study = fit_epoch(arena);
    const struct lull_fit *fit = study.fit;
    const struct lull_fit_model *best = &fit->models[fit->best];
    assert_int_equal(fit->series->count, RUNS);
    for (int i = 0; i < RUNS; i++)
        assert_true(fabs(fit->series->points[i].y - seconds[i]) < 1e-7);
    assert_string_equal(best->law->name, "amdahl");
    const struct lull_fit_coefficient *s = &best->coefficients[1];
    double at_4 = serial_fraction(3.600360, 4), at_8 = serial_fraction(6.232603, 8);
    assert_true(s->low < at_4 && at_4 < s->high);
    assert_true(s->low < at_8 && at_8 < s->high);
    assert_true(s->low > 0 && s->high < 0.1);
    /* The computation scales further than the messages. */
    assert_true(study.stops_first < study.n_parts);
    assert_int_equal(strncmp(study.parts[study.stops_first].series->region, "MPI_", 4), 0);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_fit)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_epoch)};
    struct stat info;
    folder = getenv("LULL_CONFORMANCE_DIR");
    folder = folder && *folder ? folder : "../../shared/traces"; /* tests run in tests/ */
    if (stat(folder, &info) != 0) {
        printf("skipped: no traces in %s (LULL_CONFORMANCE_DIR)\n", folder);
        return SKIPPED;
    }
    return run_cases(tests, NULL, NULL);
}
