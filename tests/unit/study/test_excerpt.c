/* A run of many steps is checked by the replay of an excerpt of it. The oracle is the replay of the
 * whole run. Runs are simulated on one network and replayed on the one that their messages show. */
#include "replay/excerpt.h"
#include "study/replay/replayed_run.h"
#include "study/runs.h"
#include "support/folder.h"
#include "support/replay_case.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/scan.h"

#include <stddef.h>
#include <stdlib.h>

/* A run of so many steps of MPI is kept whole; those below have more. */
enum { STEPS = 12000 };

struct checked {
    int64_t runtime, replayed, error;
    uint64_t openings;
    uint32_t locations;
};

static struct checked check(const char *path, uint64_t excerpt_steps, unsigned workers)
{
    const struct lull_runs_options options = {
        .workers = workers, .check = LULL_REPLAY_CHECK_MOST, .excerpt_steps = excerpt_steps};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_notices notices = {.arena = arena};
    struct lull_runs runs = {0};
    struct lull_error err;
    fail_if(lull_runs_load(&path, 1, &options, &notices, arena, &runs, &err) != LULL_OK, "%s",
            err.text);
    const struct lull_run *run = &runs.runs[0];
    const struct checked checked = {.runtime = run->breakdown->runtime_ns,
                                    .replayed = run->breakdown->replayed_runtime_ns,
                                    .error = run->breakdown->replayed_error_ns,
                                    .openings = lull_trace_openings(run->trace),
                                    .locations = run->trace->n_locations};
    lull_runs_close(&runs);
    lull_arena_destroy(arena);
    return checked;
}

/* Waits are long enough that the ideal runtime is checked, and noise differs from epoch to epoch. */
static const char *simulate(const char *pattern, const char *noise, uint64_t seed)
{
    const struct replay_case_wish wish = {.pattern = pattern, .noise = noise, .seed = seed};
    const char *path = folder_path("run.lull");
    replay_case_simulate(&wish, path);
    return path;
}

static const char halo[] =
    "chain:ranks=6,exec=20us+21us,iterations=400,collective=allreduce,every=2";
static const char noise[] = "exponential:mean=2us";

/* The run is read once, and the estimate is the same with any number of threads. */
static void test_one_reading(void **state)
{
    (void)state;
    const char *path = simulate(halo, noise, 7);
    const struct checked whole = check(path, 0, 1), part = check(path, STEPS, 1);
    assert_int_equal(whole.error, 0);
    assert_true(part.error > 0);
    assert_int_equal(part.openings, part.locations);
    assert_true(whole.openings > whole.locations);
    assert_true(llabs((long long)(part.replayed - whole.replayed)) <= part.error);
    for (unsigned workers = 2; workers <= 4; workers++) {
        const struct checked again = check(path, STEPS, workers);
        assert_int_equal(again.replayed, part.replayed);
        assert_int_equal(again.error, part.error);
    }
}

/* A run that is one sequence is not copied. */
static void test_sequence_once(void **state)
{
    struct lull_trace *trace;
    struct lull_error err;
    (void)state;
    const char *path = simulate(halo, NULL, 7), *sequence = folder_path("run.prv");
    fail_if(lull_trace_open(path, &trace, &err) != LULL_OK, "%s", err.text);
    fail_if(lull_convert(trace, sequence, lull_format_find("paraver"), false, NULL, NULL, &err) !=
                LULL_OK,
            "%s", err.text);
    lull_trace_close(trace);
    const struct checked whole = check(sequence, 0, 1), part = check(sequence, STEPS, 1);
    assert_true(part.error > 0);
    assert_int_equal(part.openings, part.locations);
    assert_true(llabs((long long)(part.replayed - whole.replayed)) <= part.error);
}

/* What cannot be divided into epochs, and what is short, is replayed as a whole. */
static void test_whole(void **state)
{
    (void)state;
    const char *path = simulate(halo, noise, 7);
    const struct checked whole = check(path, 0, 1), ample = check(path, 1000000, 1);
    assert_int_equal(ample.replayed, whole.replayed);
    assert_int_equal(ample.error, 0);
    path = simulate("chain:ranks=6,exec=20us+21us,iterations=400", noise, 7);
    assert_int_equal(check(path, STEPS, 1).replayed, check(path, 0, 1).replayed);
    assert_int_equal(check(path, STEPS, 1).error, 0);
}

/* The replay of the whole run lies in the interval in 95 of 100 runs. These are the same runs each time:
 * of 300 others chance may put it beside a few more. */
static void test_interval(void **state)
{
    const unsigned rounds = lull_test_rounds(300);
    unsigned misses = 0, parts = 0;
    (void)state;
    for (unsigned i = 0; i < rounds; i++) {
        const char *path = simulate(halo, noise, 1 + i);
        const struct checked whole = check(path, 0, 1), part = check(path, STEPS, 1);
        parts += part.error > 0;
        misses += part.error > 0 && llabs((long long)(part.replayed - whole.replayed)) > part.error;
    }
    print_message("%u of %u excerpts missed\n", misses, parts);
    assert_true(parts > rounds / 2);
    assert_true(20 * misses <= parts);
}

TEST_GROUP(test_excerpt)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_reading),
        cmocka_unit_test(test_sequence_once),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_interval),
    };
    folder_make();
    int failed = run_cases(tests, NULL, NULL);
    folder_remove();
    return failed;
}
