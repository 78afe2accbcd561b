/* Real runs through the engine: replayed on the network that their messages show, they take as long
 * as they were measured to take, within 5 %. One was recorded by lull, on cores that nobody else
 * used; the other by Score-P. */
#include "lull_features.h"
#include "study/replay/replay_study.h"
#include "study/wave/wave_study.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const double MOST = 0.05; /* of the measured runtime */

/* Its replay, with both runs open. */
static void replay(const char *path, struct lull_arena *arena, struct lull_replay_study *study)
{
    static const struct lull_supposition nothing;
    struct lull_notices notices = {.arena = arena};
    struct lull_error err = {""};
    fail_if(lull_replay_study_make(path, &nothing, NULL, &notices, arena, study, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(study->runs.count, 2);
}

static void check(const char *path, uint32_t processes)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_replay_study study;
    replay(path, arena, &study);
    const struct lull_run *measured = &study.runs.runs[0];
    assert_int_equal(measured->processes, processes);
    double wanted = (double)measured->breakdown->runtime_ns;
    double found = (double)study.runs.runs[1].breakdown->runtime_ns;
    fail_if(!(fabs(found / wanted - 1) <= MOST), "%s: %.6g s measured, %.6g s replayed", path,
            1e-9 * wanted, 1e-9 * found);
    lull_replay_study_close(&study);
    lull_arena_destroy(arena);
}

static void a_recorded_run(void **state)
{
    (void)state;
    check("data/tape/heat-2x1", 2); /* seen from tests/, where ctest starts this */
}

/* An archive of others; the test is skipped where there is none. */
static void find_archive(const char *name, char *path, size_t size)
{
    const char *folder = getenv("LULL_CONFORMANCE_DIR");
    struct stat info;
    if (!LULL_HAVE_OTF2) {
        printf("skipped: this build does not read OTF2\n");
        skip();
    }
    snprintf(path, size, "%s/%s", folder && *folder ? folder : "../../shared/traces", name);
    if (stat(path, &info) != 0) {
        printf("skipped: there is no '%s'; set LULL_CONFORMANCE_DIR\n", path);
        skip();
    }
}

static void an_archive_of_score_p(void **state)
{
    (void)state;
    char path[4096];
    find_archive("sstmacro-scorep-mpi10-otf2/traces.otf2", path, sizeof path);
    check(path, 10);
}

/* `lull wave` replays as `lull replay` does: a run whose collective operations take longer than the
 * latency of its messages explains. */
static void the_replay_of_waves(void **state)
{
    (void)state;
    char path[4096];
    find_archive("eztrace-mpi4-jacobi/eztrace_log.otf2", path, sizeof path);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_notices notices = {.arena = arena};
    struct lull_replay_study study;
    struct lull_wave_run waves;
    struct lull_error err = {""};
    replay(path, arena, &study);
    fail_if(lull_wave_run_make(path, &(struct lull_wave_run_options){0}, &notices, arena, &waves,
                               &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(waves.replay_runtime, study.runs.runs[1].breakdown->runtime_ns);
    lull_wave_run_close(&waves);
    lull_replay_study_close(&study);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_replay)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_recorded_run),
                                       cmocka_unit_test(an_archive_of_score_p),
                                       cmocka_unit_test(the_replay_of_waves)};
    return run_cases(tests, NULL, NULL);
}
