/* The events of a run are read once for all that a command asks for, also for what its replays have to know. The openings
 * of locations are counted (lull_trace_openings), and compared with those of a single reading and a single replay. */
#include "study/replay/fixes.h"
#include "study/replay/replayed_run.h"
#include "study/runs.h"
#include "support/folder.h"
#include "support/replay_case.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/scan.h"

#include <stddef.h>

/* Enough is lost that the ideal runtime is checked. */
static const struct replay_case_wish wish = {
    .pattern = "chain:ranks=6,exec=20us+21us,iterations=30,collective=allreduce,every=5",
    .seed = 3};

static struct lull_arena *arena;
static struct lull_notices notices;
static struct lull_runs runs;

static struct lull_run *load(const char *path, uint64_t check)
{
    const struct lull_runs_options options = {.workers = 1, .check = check};
    struct lull_error err;
    arena = lull_arena_create(NULL);
    notices = (struct lull_notices){.arena = arena};
    runs = (struct lull_runs){0};
    fail_if(lull_runs_load(&path, 1, &options, &notices, arena, &runs, &err) != LULL_OK, "%s",
            err.text);
    return &runs.runs[0];
}

static void unload(void)
{
    lull_runs_close(&runs);
    lull_arena_destroy(arena);
}

/* Openings of one replay of the run, whose runtime is *ret_runtime. The first one of a sequence
 * makes the temporary tape before. */
static uint64_t replay_once(const struct lull_run *run, int64_t *ret_runtime)
{
    struct lull_error err;
    struct lull_replayed replayed;
    fail_if(lull_replay_base_fill(run, &err) != LULL_OK, "%s", err.text);
    const struct lull_replay_base *base = run->replay_base;
    const struct lull_replay_wish measured =
        lull_measured_wish(&base->measured, run, &base->network, base->callers);
    const uint64_t before = lull_trace_openings(run->trace);
    assert_int_equal(lull_replayed_make(run->trace, &measured, arena, &replayed, &err), LULL_OK);
    *ret_runtime = replayed.runtime;
    lull_replayed_close(&replayed);
    return lull_trace_openings(run->trace) - before;
}

static void check_readings(const char *path, bool is_sequence)
{
    int64_t runtime, again;
    struct lull_error err;
    struct lull_run *run = load(path, 0);
    const uint64_t locations = run->trace->n_locations;
    assert_int_equal(lull_trace_openings(run->trace), locations);
    /* all six take part in each of the collectives */
    assert_int_equal(run->ideal->messages, 2 * 5 * 30);
    assert_int_equal(run->ideal->operations, 2 * 2 * 5 * 30 + 6 * run->ideal->collectives);
    const uint64_t of_replay = replay_once(run, &runtime);
    assert_int_equal(lull_trace_openings(run->trace),
                     (is_sequence ? 3 : 2) * locations + of_replay);
    unload();

    /* With the check: the reading (and for a sequence the tape, which is read then), and the
     * replay. */
    run = load(path, LULL_REPLAY_CHECK_MOST);
    assert_int_equal(run->breakdown->replayed_runtime_ns, runtime);
    assert_int_equal(lull_trace_openings(run->trace),
                     (is_sequence ? 2 : 1) * locations + of_replay);

    /* A price: one replay, since the runtime without the fix is that of the check. */
    const struct lull_what_if_options eager = {.eager = true};
    const struct lull_fix fix = {.what_if = &eager};
    int64_t fixed;
    const uint64_t before = lull_trace_openings(run->trace);
    assert_int_equal(lull_fixes_replay(run, &fix, 1, &fixed, &again, &err), LULL_OK);
    assert_int_equal(again, runtime);
    assert_int_equal(lull_trace_openings(run->trace) - before, of_replay);
    unload();
}

static void test_run_by_location(void **state)
{
    (void)state;
    check_readings(folder_path("run.lull"), false);
}

static void test_sequence(void **state)
{
    struct lull_trace *trace;
    struct lull_error err;
    (void)state;
    const char *sequence = folder_path("run.prv");
    fail_if(lull_trace_open(folder_path("run.lull"), &trace, &err) != LULL_OK, "%s", err.text);
    fail_if(lull_convert(trace, sequence, lull_format_find("paraver"), false, NULL, NULL, &err) !=
                LULL_OK,
            "%s", err.text);
    lull_trace_close(trace);
    check_readings(sequence, true);
}

TEST_GROUP(test_readings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_by_location),
        cmocka_unit_test(test_sequence),
    };
    folder_make();
    replay_case_simulate(&wish, folder_path("run.lull"));
    int failed = run_cases(tests, NULL, NULL);
    folder_remove();
    return failed;
}
