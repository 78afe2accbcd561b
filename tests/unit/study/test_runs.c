/* Runs opened for a study: their order, what is told about them, and what is refused. */
#include "study/runs.h"
#include "support/folder.h"
#include "support/golden_data.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/scan.h"

#include <stddef.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_notices notices;
static struct lull_runs runs;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    notices = (struct lull_notices){.arena = arena};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_runs_close(&runs);
    lull_arena_destroy(arena);
    return 0;
}

static lull_status load(const char *const *paths, uint32_t count,
                        const struct lull_runs_options *options)
{
    return lull_runs_load(paths, count, options, &notices, arena, &runs, &err);
}

static bool told(enum lull_notice_kind kind, const char *part)
{
    for (size_t i = 0; i < notices.count; i++)
        if (notices.items[i].kind == kind && strstr(notices.items[i].text, part))
            return true;
    return false;
}

/* By threads, then processes, then as given. omp2 and mpi2 have two threads each. */
static void test_order(void **state)
{
    (void)state;
    const char *const paths[] = {golden_data("mpi2.prv", arena), golden_data("omp2.prv", arena),
                                 golden_data("mpi1.prv", arena), golden_data("mpi2.prv", arena)};
    const struct lull_runs_options options = {.no_replay = true};
    assert_int_equal(load(paths, 4, &options), LULL_OK);
    assert_int_equal(runs.count, 4);
    static const uint32_t order[] = {2, 1, 0, 3}, processes[] = {1, 1, 2, 2},
                          threads[] = {1, 2, 2, 2};
    static const char *const shapes[] = {"1 x 1", "1 x 2", "2 x 1", "2 x 1"};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(runs.runs[i].order, order[i]);
        assert_int_equal(runs.runs[i].processes, processes[i]);
        assert_int_equal(runs.runs[i].threads, threads[i]);
        assert_string_equal(lull_run_shape(&runs.runs[i], arena), shapes[i]);
    }
    assert_string_equal(runs.runs[0].name, "mpi1");
    assert_string_equal(runs.runs[2].name, paths[0]); /* twice the same name */
    assert_true(runs.runs[3].name != runs.runs[2].name &&
                strcmp(runs.runs[3].name, runs.runs[2].name) != 0);
}

static void test_shape_of_uneven_run(void **state)
{
    (void)state;
    const struct lull_run uneven = {.processes = 8, .min_threads = 1, .max_threads = 4};
    assert_string_equal(lull_run_shape(&uneven, arena), "8 x 1-4");
}

/* The numbers of tests/golden/README.md: mpi2 runs 600 us, of which its ranks use 500 and 400. */
static void test_numbers(void **state)
{
    (void)state;
    const char *path = golden_data("mpi2.prv", arena);
    const struct lull_runs_options options = {0};
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    const struct lull_pop_input *input = runs.runs[0].input;
    assert_float_equal(input->runtime, 600e-6, 1e-12);
    assert_int_equal(input->n_processes, 2);
    assert_float_equal(input->processes[0].useful, 500e-6, 1e-12);
    assert_float_equal(input->processes[1].useful, 400e-6, 1e-12);
    assert_true(told(LULL_NOTICE_INFO, "has no runtime on an ideal network"));
}

/* What is analysed beside it asks for other steps, which are nothing to it. */
static void test_ideal_runtime_beside_waits(void **state)
{
    (void)state;
    const char *path = golden_data("../tape/heat-faults", arena);
    int64_t ideal[2];
    for (int waits = 0; waits < 2; waits++) {
        const struct lull_runs_options options = {.waits = waits, .workers = 1};
        assert_int_equal(load(&path, 1, &options), LULL_OK);
        ideal[waits] = runs.runs[0].breakdown->ideal_runtime_ns;
        if (waits == 0)
            lull_runs_close(&runs);
    }
    assert_true(ideal[0] > 0);
    assert_int_equal(ideal[0], ideal[1]);
}

/* Two processes that only compute. */
static void test_processes_without_mpi(void **state)
{
    (void)state;
    static const char text[] = "#Paraver (01/01/2024 at 12:00):1000_ns:1(2):1:2(1:1,1:1),0\n"
                               "1:1:1:1:1:0:500:1\n"
                               "1:2:1:2:1:0:1000:1\n";
    const char *path = folder_path("apart.prv");
    folder_write(path, text, sizeof text - 1);
    const struct lull_runs_options options = {0};
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    assert_true(told(LULL_NOTICE_WARNING, "none of its 2 processes called MPI"));
    notices.count = 0;
    lull_runs_close(&runs);
    path = golden_data("mpi2.prv", arena);
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    assert_false(told(LULL_NOTICE_WARNING, "called MPI"));
}

/* A copy of heat-2x1, which lasts from 283 to 351 ms, as if its processes had been killed at these times. */
static const char *kill_copy(int64_t first, int64_t second)
{
    const char *path = golden_data("../tape/heat-2x1", arena), *copy = folder_path("killed");
    struct lull_trace *trace;
    assert_int_equal(lull_trace_open(path, &trace, &err), LULL_OK);
    lull_trace_cut(trace, (int64_t[]){first, second});
    for (uint32_t p = 0; p < trace->n_processes; p++)
        trace->processes[p].main_end = trace->duration;
    assert_int_equal(lull_convert(trace, copy, lull_format_find("tape"), true, NULL, NULL, &err),
                     LULL_OK);
    lull_trace_close(trace);
    return copy;
}

/* A run that was killed is analysed up to where its operations are complete, with everything that needs a replay; so
 * is a part of it before that. */
static void test_killed(void **state)
{
    (void)state;
    static const int64_t ms = 1000000;
    unsigned cut = 0;
    for (int64_t at = 300; at < 340; at++) {
        const char *path = kill_copy(at * ms, (at + 2) * ms);
        const struct lull_runs_options options = {.check = 100000};
        notices.count = 0;
        assert_int_equal(load(&path, 1, &options), LULL_OK);
        const struct lull_run *run = &runs.runs[0];
        assert_null(run->breakdown->ideal_absent);
        assert_false(told(LULL_NOTICE_INFO, "No replay"));
        const bool was_cut =
            told(LULL_NOTICE_WARNING, "was ended before all operations were complete");
        if (was_cut)
            assert_true(run->breakdown->runtime_ns <= (at + 2 - 282) * ms);
        cut += was_cut;
        lull_runs_close(&runs);
    }
    assert_true(cut > 10);
    const char *path = kill_copy(320 * ms, 322 * ms);
    const struct lull_runs_options options = {.has_window = true, .from = 290 * ms, .to = 310 * ms};
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    assert_null(runs.runs[0].breakdown->ideal_absent);
    assert_int_equal(runs.runs[0].breakdown->runtime_ns, 20 * ms);
}

/* Every piece of work that begins ends, also where it fails; shares stay between 0 and 1. */
struct watch {
    const char *what;
    unsigned begun, ended;
    double share;
};

static void begin(void *context, const char *what)
{
    struct watch *watch = context;
    assert_int_equal(watch->begun, watch->ended);
    watch->what = what;
    watch->begun++;
}

static void update(void *context, double share)
{
    struct watch *watch = context;
    assert_int_equal(watch->begun, watch->ended + 1);
    assert_true(share >= 0 && share <= 1);
}

static void end(void *context)
{
    ((struct watch *)context)->ended++;
}

static void test_progress(void **state)
{
    (void)state;
    const char *path = golden_data("replay2.prv", arena);
    struct watch watch = {0};
    const struct lull_study_progress progress = {begin, update, end, &watch};
    const struct lull_runs_options options = {.progress = &progress};
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    assert_int_equal(watch.begun, watch.ended);
    assert_true(watch.begun > 0);
    assert_string_equal(watch.what, path);
}

static void test_progress_of_failure(void **state)
{
    (void)state;
    const char *path = folder_path("cut.prv");
    static const char text[] = "#Paraver (01/01/2024 at 12:00):1000_ns:1(1):1:1(1:1),0\n"
                               "1:1:1:1:1:0:500:1\n"
                               "1:1:1:1:1:200:\n";
    folder_write(path, text, sizeof text - 1);
    struct watch watch = {0};
    const struct lull_study_progress progress = {begin, update, end, &watch};
    const struct lull_runs_options options = {.progress = &progress, .workers = 1};
    assert_int_equal(load(&path, 1, &options), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "cut.prv"));
    assert_int_equal(watch.begun, watch.ended);
}

/* Waits and the ideal runtime of a run of two threads, where no more than `most` are followed. */
static void load_bounded(uint32_t most_with_waits, uint32_t most_with_replay)
{
    const char *path = golden_data("replay2.prv", arena);
    const struct lull_runs_options options = {
        .waits = true, .most_with_waits = most_with_waits, .most_with_replay = most_with_replay};
    lull_runs_close(&runs);
    notices.count = 0;
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    assert_int_equal(runs.runs->threads, 2);
}

static void test_many_threads(void **state)
{
    (void)state;
    static const char told_both[] = "has 2 threads: who made others wait and the runtime";
    load_bounded(2, 2);
    assert_null(runs.runs->waits->absent);
    assert_true(runs.runs->breakdown->ideal_runtime_ns > 0);
    assert_false(told(LULL_NOTICE_INFO, "has 2 threads"));
    load_bounded(1, 1);
    assert_non_null(strstr(runs.runs->waits->absent, "with --waits only, and this run has 2"));
    assert_non_null(strstr(runs.runs->breakdown->ideal_absent, "--replay"));
    assert_null(runs.runs->ideal);
    assert_true(told(LULL_NOTICE_INFO, told_both) && told(LULL_NOTICE_INFO, "--waits --replay"));
    load_bounded(1, 0);
    assert_non_null(runs.runs->waits->absent);
    assert_true(runs.runs->breakdown->ideal_runtime_ns > 0);
    assert_true(told(LULL_NOTICE_INFO, "wait is left out") && !told(LULL_NOTICE_INFO, "--replay"));
    load_bounded(0, 1);
    assert_null(runs.runs->waits->absent);
    assert_null(runs.runs->ideal);
    assert_true(told(LULL_NOTICE_INFO, "network is left out") &&
                !told(LULL_NOTICE_INFO, "--waits"));
}

/* The path stands in front of every error, and only once. */
static void check_refused(const char *path, const struct lull_runs_options *options,
                          const char *part)
{
    assert_true(load(&path, 1, options) != LULL_OK);
    assert_memory_equal(err.text, path, strlen(path));
    assert_null(strstr(err.text + strlen(path), path));
    fail_if(!strstr(err.text, part), "'%s', expected '%s'", err.text, part);
    lull_runs_close(&runs);
}

static void test_refused(void **state)
{
    (void)state;
    const struct lull_runs_options plain = {0}, third = {.application = 2},
                                   elsewhere = {.region = "nowhere"},
                                   late = {.has_window = true, .from = 10000000, .to = 20000000};
    check_refused(golden_data("missing.prv", arena), &plain, "No such file");
    check_refused(golden_data("two-programs.prv", arena), &third,
                  "has no application 3, expected 1 to 2");
    check_refused(golden_data("mpi1.prv", arena), &elsewhere, "nowhere");
    check_refused(golden_data("mpi1.prv", arena), &late, "");
    check_refused(golden_data("flushing.prv", arena), &plain, "; --force prints them all the same");
}

static void test_forced(void **state)
{
    (void)state;
    const char *path = golden_data("flushing.prv", arena);
    const struct lull_runs_options options = {.force = true};
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    assert_true(told(LULL_NOTICE_WARNING, "the tracer wrote its buffer"));
}

static void test_other_applications(void **state)
{
    (void)state;
    const char *path = golden_data("two-programs.prv", arena);
    const struct lull_runs_options options = {.application = 1};
    assert_int_equal(load(&path, 1, &options), LULL_OK);
    assert_int_equal(runs.runs[0].processes, 1);
    assert_true(told(LULL_NOTICE_WARNING,
                     "holds 2 applications; only number 2 (1 process, 'application 2 rank 0') is "
                     "analysed, the others (1 process) are left out"));
}

static int set_up_folder(void **state)
{
    (void)state;
    return folder_make() ? 0 : 1;
}

static int tear_down_folder(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_runs)
{
    const struct CMUnitTest tests[] = {
        TEST(test_order),
        TEST(test_shape_of_uneven_run),
        TEST(test_numbers),
        TEST(test_ideal_runtime_beside_waits),
        TEST(test_processes_without_mpi),
        TEST(test_killed),
        TEST(test_progress),
        TEST(test_many_threads),
        TEST(test_progress_of_failure),
        TEST(test_refused),
        TEST(test_forced),
        TEST(test_other_applications),
    };
    return run_cases(tests, set_up_folder, tear_down_folder);
}
