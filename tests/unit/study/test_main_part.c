/* What a run is analysed for by default: from the end of MPI_Init to the begin of MPI_Finalize. */
#include "study/compare.h"
#include "study/replay/replay_study.h"
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SEND = 1, RECV, INIT = 8, FINALIZE };

static struct lull_notices notices;
static struct lull_runs runs;
static struct lull_error err;

/* A process that never came to MPI_Finalize has 0 for `end`, and one without MPI_Init for both. */
static void begin_recorded(struct tape_maker *tape, uint32_t process, uint64_t begin, uint64_t end)
{
    struct definitions_maker definitions;
    define_process(&definitions, process, 2);
    define_region(&definitions, INIT, "MPI_Init_thread");
    define_region(&definitions, FINALIZE, "MPI_Finalize");
    definitions_add(&definitions, LULL_TAPE_DEFINE_RUN, 0, "UUUffus", UINT64_C(0), UINT64_C(0),
                    UINT64_C(0), 1.0, 0.0, 0u, "lull 0.1.0");
    definitions_add(&definitions, LULL_TAPE_DEFINE_PROCESS, process, "uuus", 0u, process,
                    UINT32_MAX, "process");
    definitions_write(&definitions, run.path);
    tape_begin(tape, process, 0);
    tape->header.role = 1;
    tape->header.main_begin = begin;
    tape->header.main_end = end;
}

/* MPI_Init ends at 100 and 120 ns, MPI_Finalize begins at 300 and 350. Process 0 sends at 150 and
 * is in that call for 10; process 1 receives from 130 to 165. */
static void write_run(void)
{
    struct tape_maker tape;
    begin_recorded(&tape, 0, 100, 300);
    tape_call(&tape, 0, INIT, 100);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 150, SEND, 10, 1, 7, 0, 40);
    tape_call(&tape, 300, FINALIZE, 100);
    tape_write(&tape, run.path, 0);
    begin_recorded(&tape, 1, 120, 350);
    tape_call(&tape, 0, INIT, 120);
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 130, RECV, 35, 0, 7, 0, 40);
    tape_call(&tape, 350, FINALIZE, 50);
    tape_write(&tape, run.path, 0);
}

static int set_up(void **state)
{
    run_set_up(state);
    notices = (struct lull_notices){.arena = run.arena};
    write_run();
    return 0;
}

static int tear_down(void **state)
{
    lull_runs_close(&runs);
    return run_tear_down(state);
}

static const struct lull_run *load(const char *path, struct lull_runs_options options)
{
    lull_runs_close(&runs);
    notices.count = 0;
    fail_if(lull_runs_load(&path, 1, &options, &notices, run.arena, &runs, &err) != LULL_OK, "%s",
            err.text);
    return &runs.runs[0];
}

static bool told(const char *part)
{
    for (size_t i = 0; i < notices.count; i++)
        if (strstr(notices.items[i].text, part))
            return true;
    return false;
}

static int64_t time_of(const struct lull_run *of, uint32_t thread, unsigned activity)
{
    return of->breakdown->threads[thread].times.ns[activity][0];
}

static void test_default(void **state)
{
    (void)state;
    const struct lull_run *one = load(run.path, (struct lull_runs_options){0});
    assert_true(told("From the end of MPI_Init to the begin of MPI_Finalize: "));
    assert_int_equal(one->breakdown->runtime_ns, 350 - 100);
    assert_int_equal(time_of(one, 0, LULL_USEFUL), 50 + 140);
    assert_int_equal(time_of(one, 0, LULL_MPI_P2P), 10);
    assert_int_equal(time_of(one, 0, LULL_MPI_OTHER), 50); /* waits for the other */
    assert_int_equal(time_of(one, 1, LULL_USEFUL), 10 + 185);
    assert_int_equal(time_of(one, 1, LULL_MPI_P2P), 35);
    assert_int_equal(time_of(one, 1, LULL_MPI_OTHER), 20); /* was later */
    /* The message is there 50 after the begin; the receiver then computes for 185. */
    assert_int_equal(one->breakdown->ideal_runtime_ns, 50 + 185);
}

static void test_whole(void **state)
{
    (void)state;
    const struct lull_run *one = load(run.path, (struct lull_runs_options){.whole = true});
    assert_false(told("MPI_Init"));
    assert_int_equal(one->breakdown->runtime_ns, 400);
    assert_int_equal(time_of(one, 0, LULL_MPI_OTHER), 200);
    assert_int_equal(time_of(one, 1, LULL_MPI_OTHER), 170);
}

/* A window or a region is taken as it is meant. */
static void test_window(void **state)
{
    (void)state;
    const struct lull_run *one =
        load(run.path, (struct lull_runs_options){.has_window = true, .from = 50, .to = 400});
    assert_false(told("MPI_Init"));
    assert_int_equal(one->breakdown->runtime_ns, 350);
}

/* A copy of our own is ours; in a format of others it is as they would have recorded it. */
static void test_copies(void **state)
{
    (void)state;
    static const char *const formats[] = {"tape", "paraver"};
    for (int i = 0; i < 2; i++) {
        const char *copy = folder_path(i ? "copy.prv" : "copy");
        run_open(run.path);
        assert_int_equal(
            lull_convert(run.trace, copy, lull_format_find(formats[i]), false, NULL, NULL, &err),
            LULL_OK);
        run_close();
        const struct lull_run *one = load(copy, (struct lull_runs_options){.no_replay = true});
        assert_int_equal(one->breakdown->runtime_ns, i ? 400 : 250);
    }
}

/* A process that never came to MPI_Finalize is analysed up to the end; a run without MPI_Init is
 * not cut. */
static void test_missing_calls(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_recorded(&tape, 1, 120, 0);
    tape_call(&tape, 0, INIT, 120);
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 130, RECV, 35, 0, 7, 0, 40);
    tape_write(&tape, run.path, 0);
    assert_int_equal(load(run.path, (struct lull_runs_options){0})->breakdown->runtime_ns, 300);
    assert_true(told("From the end of MPI_Init to the end, as some process never came to "
                     "MPI_Finalize: "));
    assert_false(told("the begin of MPI_Finalize"));
    begin_recorded(&tape, 1, 0, 0);
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 130, RECV, 35, 0, 7, 0, 40);
    tape_write(&tape, run.path, 0);
    assert_int_equal(load(run.path, (struct lull_runs_options){0})->breakdown->runtime_ns, 400);
}

/* The replay begins and ends where the metrics do: on the ideal network it takes T_id. */
static void test_replay(void **state)
{
    (void)state;
    const struct lull_sweep *ideal;
    struct lull_replay_study study;
    struct lull_spec *spec;
    assert_int_equal(lull_spec_parse("ideal", run.arena, &spec, &err), LULL_OK);
    const struct lull_spec *const specs[] = {spec};
    assert_int_equal(lull_sweep_make(specs, 1, run.arena, &ideal, &err), LULL_OK);
    for (int whole = 0; whole < 2; whole++) {
        const struct lull_supposition supposition = {.whole = whole, .networks = ideal};
        fail_if(lull_replay_study_make(run.path, &supposition, NULL, &notices, run.arena, &study,
                                       &err) != LULL_OK,
                "%s", err.text);
        const struct lull_run *of = study.runs.runs;
        assert_int_equal(study.runs.count, 3);
        assert_int_equal(of[0].breakdown->runtime_ns, whole ? 400 : 250);
        assert_int_equal(of[2].breakdown->runtime_ns, of[0].breakdown->ideal_runtime_ns);
        assert_int_equal(of[2].breakdown->runtime_ns, 50 + 185);
        lull_replay_study_close(&study);
    }
}

TEST_GROUP(test_main_part)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_default), TEST(test_whole),         TEST(test_window),
        TEST(test_copies),  TEST(test_missing_calls), TEST(test_replay),
    };
    return run_cases(tests, NULL, NULL);
}
