/* Single fixes replayed side by side: the same as one after the other, and as the studies that
 * lull replay makes of them. */
#include "study/replay/fixes.h"
#include "study/replay/replay_study.h"
#include "support/folder.h"
#include "support/golden_data.h"
#include "support/replay_case.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static struct replay_case replay;

/* Six ranks of which one is slow and one late once, and all noisy. */
static const struct replay_case_wish wish = {
    .pattern = "chain:ranks=6,exec=200us+210us,iterations=30,collective=allreduce,every=5",
    .noise = "uniform:max=50us",
    .delays = "2@i7:3ms 4@i11:700us",
    .seed = 3};

static const struct lull_what_if_options of_ranks[] = {
    {0},
    {.n_cuts = 1, .cuts = {{.rank = 2}}},
    {.n_cuts = 1, .cuts = {{.rank = 4}}},
    {.n_cuts = 2, .cuts = {{.rank = 2}, {.rank = 4}}},
    {.n_cuts = 1, .cuts = {{.rank = LULL_NONE}}},
    {.n_cuts = 1, .cuts = {{.rank = LULL_NONE, .region = "compute"}}},
    {.n_cuts = 1, .cuts = {{.rank = 2, .region = "delay"}}},
    {.balance = true},
    {.balance = true, .balanced = "compute"},
    {.balance = true, .balance_share = 0.25},
    {.no_noise = true},
    {.n_regions = 1, .regions = {"compute"}, .factors = {0.5}},
    {.no_noise = true, .balance = true, .n_cuts = 1, .cuts = {{.rank = 2}}},
    {.eager = true},
};
static const struct lull_what_if_options of_threads[] = {
    {.n_threads = 1, .threads = {{LULL_THREADS_BALANCED, NULL, 0}}},
    {.n_threads = 1, .threads = {{LULL_THREADS_NO_LOCKS, NULL, 0.5}}},
    {.n_threads = 1, .threads = {{LULL_THREADS_NO_SCHEDULING, NULL, 0}}},
    {.n_threads = 1, .threads = {{LULL_THREADS_NO_SERIAL, NULL, 0.3}}},
    {.n_threads = 2,
     .threads = {{LULL_THREADS_BALANCED, NULL, 0.8}, {LULL_THREADS_NO_SERIAL, NULL, 0}},
     .balance = true},
};
enum { MOST = sizeof of_ranks / sizeof *of_ranks };

static int64_t study_of(const char *path, const struct lull_what_if_options *what_if,
                        int64_t *ret_replayed)
{
    const struct lull_supposition supposition = {.what_if = *what_if};
    struct lull_replay_study study;
    struct lull_error err;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_notices notices = {.arena = arena};
    fail_if(lull_replay_study_make(path, &supposition, NULL, &notices, arena, &study, &err) !=
                LULL_OK,
            "%s", err.text);
    const int64_t runtime = study.runs.runs[study.runs.count - 1].breakdown->runtime_ns;
    *ret_replayed = study.runs.runs[1].breakdown->runtime_ns;
    lull_replay_study_close(&study);
    lull_arena_destroy(arena);
    return runtime;
}

static void check_all(const char *path, const struct lull_what_if_options *what_ifs, uint32_t n)
{
    int64_t alone[MOST], together[MOST], replayed;
    replay_case_open(&replay, path);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t unchanged = replay_case_fixes(&replay, &what_ifs[i], 1, false, 1, &alone[i]);
        assert_int_equal(alone[i], study_of(path, &what_ifs[i], &replayed));
        assert_int_equal(unchanged, replayed);
    }
    for (unsigned workers = 1; workers <= 5; workers += 2) {
        assert_int_equal(replay_case_fixes(&replay, what_ifs, n, false, workers, together),
                         replayed);
        assert_memory_equal(together, alone, n * sizeof *alone);
    }
    replay_case_close(&replay);
}

static void test_ranks(void **state)
{
    (void)state;
    const char *path = folder_path("run");
    replay_case_simulate(&wish, path);
    check_all(path, of_ranks, MOST);
}

static void test_threads(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    const uint32_t n = sizeof of_threads / sizeof *of_threads;
    check_all(golden_data("omp2.prv", arena), of_threads, n);
    check_all(golden_data("workers.prv", arena), of_threads, n);
    lull_arena_destroy(arena);
}

/* Nothing is supposed, or nothing is there to be cut: as replayed. Two cuts of two ranks are at
 * least as good as one of them. */
static void test_identities(void **state)
{
    (void)state;
    /* All ranks compute alike, nothing disturbs them, and all messages are eager. */
    const struct lull_what_if_options fixed_already[] = {{.balance = true},
                                                         {.balance = true, .balanced = "compute"},
                                                         {.no_noise = true},
                                                         {.eager = true}};
    const uint32_t n_fixed = sizeof fixed_already / sizeof *fixed_already;
    const struct replay_case_wish quiet = {.pattern = "grid:ranks=3x3,exec=100us,iterations=9"};
    const char *path = folder_path("quiet");
    int64_t runtimes[MOST], replayed;
    const int64_t simulated = replay_case_simulate(&quiet, path);
    replay_case_open(&replay, path);
    replayed = replay_case_fixes(&replay, of_ranks, 6, true, 2, runtimes);
    for (int i = 0; i < 6; i++)
        assert_int_equal(runtimes[i], simulated);
    assert_true(replayed > 0);
    replay_case_fixes(&replay, fixed_already, n_fixed, true, 2, runtimes);
    for (uint32_t i = 0; i < n_fixed; i++)
        assert_int_equal(runtimes[i], simulated);
    replay_case_close(&replay);
    replay_case_simulate(&wish, path);
    replay_case_open(&replay, path);
    replay_case_fixes(&replay, of_ranks, 5, true, 2, runtimes);
    assert_true(runtimes[1] < runtimes[0] && runtimes[2] <= runtimes[0]);
    assert_true(runtimes[3] <= runtimes[1] && runtimes[3] <= runtimes[2]);
    replay_case_close(&replay);
}

/* A fix that cannot be, and a run without events. */
static void test_refused(void **state)
{
    (void)state;
    const struct lull_what_if_options nobody = {.n_cuts = 1, .cuts = {{.rank = 6}}};
    const struct lull_fix fixes[] = {{&of_ranks[1], NULL}, {&nobody, NULL}};
    const char *path = folder_path("run");
    int64_t runtimes[2] = {-1, -1}, replayed = -1;
    struct lull_error err;
    replay_case_open(&replay, path);
    assert_int_equal(lull_fixes_replay(&replay.runs.runs[0], fixes, 2, runtimes, &replayed, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "has no rank 6, only 6 ranks"));
    assert_true(runtimes[0] == -1 && runtimes[1] == -1 && replayed == -1);
    struct lull_run no_trace = replay.runs.runs[0];
    no_trace.trace = NULL;
    assert_int_equal(lull_fixes_replay(&no_trace, fixes, 1, runtimes, &replayed, &err),
                     LULL_ERR_RANGE);
    replay_case_close(&replay);
}

TEST_GROUP(test_fixes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_refused),
    };
    folder_make();
    int failed = run_cases(tests, NULL, NULL);
    folder_remove();
    return failed;
}
