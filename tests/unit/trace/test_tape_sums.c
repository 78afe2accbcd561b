/* Sums of locations: what they say, and what is said about bad ones. */
#include "metrics/breakdown.h"
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/tape_maker.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS = 5, COUNTERS = 2 };
enum { USER = 1, BARRIER, PARALLEL, OMP_BARRIER }; /* region ids; 0 is not defined */

struct sum {
    uint64_t visits, ticks, counts[COUNTERS];
};

/* Sums as a test wants them. */
static struct file {
    struct lull_tape_sums_header header;
    struct sum sums[REGIONS][2];
} file;

static struct lull_error err;
static char run[4400];
static struct lull_trace *trace;
static struct lull_arena *arena;

/* The master of a profile: 1000 ns of life from 5000 on, of which
 *   user 100 outside, 50 inside; MPI_Barrier 200 outside; parallel region 150; its barrier 80;
 *   paused 40, absent 0, flushing 10 and 20; so outside of all regions 350. */
static void make_file(void)
{
    file = (struct file){.header = {.version = LULL_TAPE_VERSION,
                                    .byte_order = LULL_TAPE_BYTE_ORDER,
                                    .header_size = sizeof file.header,
                                    .sum_size = sizeof(struct sum),
                                    .regions = REGIONS,
                                    .begin = 5000,
                                    .end = 6000,
                                    .paused = 40,
                                    .flushing = {10, 20},
                                    .n_counters = COUNTERS,
                                    .counters = {7, 3},
                                    .counted = {1000, 2000}},
                         .sums = {[USER] = {{3, 100, {10, 20}}, {2, 50, {5, 6}}},
                                  [BARRIER] = {{4, 200, {400, 500}}, {0, 0, {0}}},
                                  [PARALLEL] = {{0, 0, {0}}, {1, 150, {30, 40}}},
                                  [OMP_BARRIER] = {{0, 0, {0}}, {1, 80, {7, 8}}}}};
    memcpy(file.header.magic, LULL_TAPE_SUMS_MAGIC, sizeof file.header.magic);
}

static void write_sums(void)
{
    process_put(run, 0, LULL_TAPE_PART_SUMS, file.header.number, &file, sizeof file);
}

static void write_run(uint16_t flags)
{
    struct definitions_maker definitions;
    struct tape_maker tape = {0};
    run_begin(run);
    definitions_begin(&definitions, 0);
    define_region(&definitions, USER, "solve");
    definitions_add(&definitions, LULL_TAPE_DEFINE_REGION, BARRIER, "uuuuss", 2u, 0u, 0u, 0u,
                    "MPI_Barrier", "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_REGION, PARALLEL, "uuuuss", 3u,
                    (unsigned)LULL_TAPE_ROLE_PARALLEL, 1u, 0u, "!$omp parallel", "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_REGION, OMP_BARRIER, "uuuuss", 3u,
                    (unsigned)LULL_TAPE_ROLE_BARRIER, 0u, 0u, "!$omp barrier", "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 3, "Uuss", UINT64_C(0), 0u, "cycles",
                    "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 7, "Uuss", UINT64_C(0), 0u,
                    "instructions", "");
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape.header.flags = flags;
    tape.header.role = 1;
    tape_write(&tape, run, 0);
}

static int set_up(void **state)
{
    (void)state;
    folder_make();
    snprintf(run, sizeof run, "%s", folder_path("run"));
    arena = lull_arena_create(NULL);
    make_file();
    write_run(LULL_TAPE_PROFILE | LULL_TAPE_CLOSED);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_trace_close(trace);
    trace = NULL;
    lull_arena_destroy(arena);
    folder_remove();
    return 0;
}

static lull_status break_down(struct lull_breakdown **ret_breakdown)
{
    const struct lull_breakdown_options options = {.regions = true};
    together_check(run);
    lull_status status = lull_trace_open(run, &trace, &err);
    return status == LULL_OK ? lull_breakdown_compute(trace, &options, arena, ret_breakdown, &err)
                             : status;
}

static struct lull_breakdown *good_breakdown(void)
{
    struct lull_breakdown *breakdown = NULL;
    write_sums();
    fail_if(break_down(&breakdown) != LULL_OK, "%s", err.text);
    return breakdown;
}

static void test_sums_become_states(void **state)
{
    (void)state;
    const struct lull_breakdown *breakdown = good_breakdown();
    const struct lull_thread_breakdown *thread = &breakdown->threads[0];
    assert_int_equal(trace->events, LULL_EVENTS_NONE);
    assert_int_equal(trace->duration, 1000);
    assert_true(breakdown->from_sums);
    assert_int_equal(thread->times.ns[LULL_USEFUL][0], 100 + 350);
    assert_int_equal(thread->times.ns[LULL_USEFUL][1], 50 + 150);
    assert_int_equal(thread->times.ns[LULL_MPI_COLLECTIVE][0], 200);
    assert_int_equal(thread->times.ns[LULL_OMP_SYNC][1], 80);
    assert_int_equal(thread->times.ns[LULL_FLUSH][0], 10);
    assert_int_equal(thread->times.ns[LULL_FLUSH][1], 20);
    assert_int_equal(thread->disabled_ns, 40);
    assert_int_equal(breakdown->runtime_ns, 960);
    assert_int_equal(breakdown->n_regions, 4);
    assert_string_equal(breakdown->regions[3].name, "solve");
    assert_int_equal(breakdown->regions[3].visits, 5);
    assert_int_equal(breakdown->regions[3].exclusive_ns, 150);
}

static void test_counters_belong_to_states(void **state)
{
    (void)state;
    const struct lull_breakdown *breakdown = good_breakdown();
    const uint64_t *counters = breakdown->threads[0].counters;
    assert_string_equal(breakdown->counters[0].name, "cycles");
    assert_string_equal(breakdown->counters[1].name, "instructions");
    assert_int_equal(counters[LULL_USEFUL], 2000 + 20 + 6 + 40);
    assert_int_equal(counters[LULL_ACTIVITIES + LULL_USEFUL], 1000 + 10 + 5 + 30);
    assert_int_equal(counters[LULL_ACTIVITIES + LULL_MPI_COLLECTIVE], 400);
    assert_int_equal(counters[LULL_ACTIVITIES + LULL_OMP_SYNC], 7);
}

/* A worker is idle outside of parallel regions, also between two threads and in user regions. */
static void test_worker_is_idle_outside(void **state)
{
    (void)state;
    struct tape_maker tape = {0};
    write_sums();
    tape_begin(&tape, 0, 1);
    tape.header.flags = LULL_TAPE_PROFILE;
    tape.header.role = 2;
    tape_write(&tape, run, 0);
    file.header.number = 1;
    file.header.begin = 5200;
    file.header.absent = 60;
    file.sums[BARRIER][0].ticks = 0;
    write_sums();
    struct lull_breakdown *breakdown = NULL;
    assert_int_equal(break_down(&breakdown), LULL_OK);
    const struct lull_thread_breakdown *worker = &breakdown->threads[1];
    assert_int_equal(worker->times.ns[LULL_USEFUL][0], 0);
    assert_int_equal(worker->times.ns[LULL_USEFUL][1], 200);
    assert_int_equal(worker->times.ns[LULL_IDLE][0], 1000 - 200 - 80 - 30 - 40);
    assert_int_equal(worker->times.ns[LULL_OTHER][0], 0);
}

/* From MPI_Init to MPI_Finalize: the time in the two is not one of the run. */
static void test_main_part(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    definitions_begin(&definitions, 0);
    define_region(&definitions, USER, "solve");
    define_region(&definitions, BARRIER, "MPI_Finalize");
    define_region(&definitions, PARALLEL, "!$omp parallel");
    define_region(&definitions, OMP_BARRIER, "!$omp barrier");
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 3, "Uuss", UINT64_C(0), 0u, "a", "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 7, "Uuss", UINT64_C(0), 0u, "b", "");
    definitions_write(&definitions, run);
    const struct lull_breakdown *whole = good_breakdown();
    assert_int_equal(whole->runtime_ns, 960);
    assert_int_equal(whole->threads[0].times.ns[LULL_MPI_OTHER][0], 200);
    const struct lull_breakdown_options options = {.main_part = true};
    struct lull_breakdown *part;
    assert_int_equal(lull_breakdown_compute(trace, &options, arena, &part, &err), LULL_OK);
    assert_int_equal(part->runtime_ns, 760);
    assert_int_equal(part->threads[0].times.ns[LULL_MPI_OTHER][0], 0);
    assert_int_equal(part->threads[0].times.ns[LULL_USEFUL][0],
                     whole->threads[0].times.ns[LULL_USEFUL][0]);
}

/* What is cut down in converting ticks to ns goes to the time outside: nothing is lost. */
static void test_ticks_add_up(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    definitions_begin(&definitions, 0);
    for (uint32_t r = USER; r < REGIONS; r++)
        define_region(&definitions, r, "r");
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 3, "Uuss", UINT64_C(0), 0u, "a", "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 7, "Uuss", UINT64_C(0), 0u, "b", "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(0), UINT64_C(0), 1.0);
    definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(30000),
                    UINT64_C(10000), 1.0);
    definitions_write(&definitions, run);
    const struct lull_breakdown *breakdown = good_breakdown();
    int64_t sum = breakdown->threads[0].disabled_ns;
    for (unsigned a = 0; a < LULL_ACTIVITIES; a++)
        sum += breakdown->threads[0].times.ns[a][0] + breakdown->threads[0].times.ns[a][1];
    assert_int_equal(sum, trace->duration);
    assert_in_range(trace->duration, 333, 334);
    assert_in_range(breakdown->threads[0].disabled_ns, 13, 13);
}

static void test_events_that_end_early(void **state)
{
    (void)state;
    struct tape_maker tape = {0};
    tape_begin(&tape, 0, 0);
    tape.header.flags = LULL_TAPE_BUDGET_REACHED | LULL_TAPE_CLOSED;
    tape.header.role = 1;
    tape_call(&tape, 5000, BARRIER, 5);
    tape_call(&tape, 5100, BARRIER, 50);
    tape_write(&tape, run, 0);
    const struct lull_breakdown *breakdown = good_breakdown();
    assert_int_equal(trace->events, LULL_EVENTS_FIRST);
    assert_int_equal(trace->events_end, 150);
    assert_int_equal(trace->duration, 1000);
    assert_int_equal(breakdown->threads[0].times.ns[LULL_MPI_COLLECTIVE][0], 200);
    struct lull_breakdown *events;
    const struct lull_breakdown_options options = {.source = LULL_FROM_EVENTS};
    assert_int_equal(lull_breakdown_compute(trace, &options, arena, &events, &err), LULL_OK);
    assert_int_equal(events->threads[0].times.ns[LULL_MPI_COLLECTIVE][0], 55);
}

/* The copy of a run whose events end early has the same sums, and says that they do. */
static void test_copy_of_a_cut_run(void **state)
{
    (void)state;
    struct tape_maker tape = {0};
    tape_begin(&tape, 0, 0);
    tape.header.flags = LULL_TAPE_BUDGET_REACHED | LULL_TAPE_CLOSED;
    tape.header.role = 1;
    tape_call(&tape, 5000, BARRIER, 5);
    tape_call(&tape, 5100, BARRIER, 50);
    tape_write(&tape, run, 0);
    const struct lull_breakdown *whole = good_breakdown();
    const char *copy = folder_path("copy");
    assert_int_equal(lull_convert(trace, copy, lull_format_find("tape"), false, NULL, NULL, &err),
                     LULL_OK);
    lull_trace_close(trace);
    trace = NULL;
    snprintf(run, sizeof run, "%s", copy);
    struct lull_breakdown *same;
    fail_if(break_down(&same) != LULL_OK, "%s", err.text);
    assert_int_equal(trace->events, LULL_EVENTS_FIRST);
    assert_int_equal(trace->events_end, 150);
    assert_int_equal(trace->duration, 1000);
    assert_true(same->from_sums);
    const struct lull_thread_breakdown *a = &whole->threads[0], *b = &same->threads[0];
    assert_memory_equal(&a->times, &b->times, sizeof a->times);
    assert_int_equal(a->disabled_ns, b->disabled_ns);
    assert_memory_equal(a->counters, b->counters, COUNTERS * LULL_ACTIVITIES * sizeof *a->counters);
    assert_int_equal(same->n_regions, whole->n_regions);
    for (uint32_t r = 0; r < same->n_regions; r++)
        assert_int_equal(same->regions[r].visits, whole->regions[r].visits);
    struct lull_quirk *quirks;
    assert_int_equal(lull_trace_quirks(trace, arena, &quirks), 1);
    assert_non_null(strstr(quirks[0].kind, "size budget"));
}

static void test_no_sums(void **state)
{
    (void)state;
    struct lull_breakdown *breakdown;
    struct lull_sums sums;
    assert_int_equal(break_down(&breakdown), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "holds no events (a profile)"));
    assert_int_equal(lull_trace_read_sums(trace, 0, arena, &sums, &err), LULL_ERR_UNSUPPORTED);
}

static void test_no_windows_in_a_profile(void **state)
{
    (void)state;
    struct lull_windows *windows;
    struct lull_breakdown *breakdown;
    good_breakdown();
    assert_int_equal(lull_windows_of_time(trace, 0, 500, arena, &windows, &err), LULL_OK);
    const struct lull_breakdown_options options = {
        .reading = &(const struct lull_reading){.windows = windows}};
    assert_int_equal(lull_breakdown_compute(trace, &options, arena, &breakdown, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "do not tell a part of it"));
}

/* ---- bad files --------------------------------------------------------------------------------
 */

static void refuse(const char *text)
{
    struct lull_breakdown *breakdown;
    process_put(run, 0, LULL_TAPE_PART_SUMS, 0, &file, sizeof file);
    lull_status status = break_down(&breakdown);
    fail_if(status == LULL_OK, "was read, expected '%s'", text);
    fail_if(!strstr(err.text, text) || !strstr(err.text, "0/0.tape") || strchr(err.text, '\n'),
            "'%s', expected '%s'", err.text, text);
    lull_trace_close(trace);
    trace = NULL;
    make_file();
}

static void test_bad_headers(void **state)
{
    (void)state;
    file.header.magic[0] = 'X';
    refuse("offset 0: no header of sums");
    file.header.version++;
    refuse("newer lull");
    file.header.version--;
    refuse("older lull");
    file.header.number = 9;
    refuse("belongs to thread 9 of process 0");
    file.header.sum_size = 0;
    refuse("sums of 0 bytes");
    file.header.n_counters = LULL_TAPE_MOST_COUNTERS + 1;
    refuse("with 7 counters");
    file.header.header_size = 8;
    refuse("behind a header of 8");
    file.header.regions = UINT64_MAX;
    refuse("truncated: sums of");
    file.header.regions = 100;
    refuse("truncated: sums of 100 regions");
    file.header.end = 4000;
    refuse("ends before it begins");
}

static void test_bad_sums(void **state)
{
    (void)state;
    file.header.counters[1] = 4;
    refuse("unknown counter 4");
    file.sums[0][1].visits = 1;
    refuse("unknown region 0");
    file.sums[USER][0].ticks += 351;
    refuse("more than the 1000 ticks");
    file.sums[USER][0].ticks = UINT64_MAX;
    refuse("more than the 1000 ticks");
    file.header.paused = UINT64_MAX;
    refuse("more than the 1000 ticks");
}

/* A worker whose process died before its thread began: it has no life, and no time of the run. */
static void test_a_thread_that_never_began(void **state)
{
    (void)state;
    struct tape_maker tape = {0};
    struct lull_sums sums;
    write_sums();
    tape_begin(&tape, 0, 1);
    tape.header.flags = LULL_TAPE_PROFILE;
    tape.header.role = 2;
    tape_write(&tape, run, 0);
    memset(file.sums, 0, sizeof file.sums);
    file.header.number = 1;
    file.header.begin = file.header.end = 0;
    file.header.paused = file.header.flushing[0] = file.header.flushing[1] = 0;
    write_sums();
    struct lull_breakdown *breakdown = NULL;
    fail_if(break_down(&breakdown) != LULL_OK, "%s", err.text);
    fail_if(lull_trace_read_sums(trace, 1, arena, &sums, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(sums.begin, 0);
    assert_int_equal(sums.end, 0);
    assert_int_equal(sums.outside, 0);
}

/* The events of a thread end early, at its budget. Another one is killed between the end of a call in its
 * sums, at 6110, and the record of it; what it has recorded before ends at 6100, and with it the run. */
static void test_a_thread_that_was_killed(void **state)
{
    (void)state;
    struct tape_maker tape = {0};
    struct lull_sums sums;
    write_sums();
    tape_begin(&tape, 0, 0);
    tape.header.flags = LULL_TAPE_BUDGET_REACHED | LULL_TAPE_CLOSED;
    tape.header.role = 1;
    tape_call(&tape, 5000, BARRIER, 5);
    tape_write(&tape, run, 0);
    tape = (struct tape_maker){0};
    tape_begin(&tape, 0, 1);
    tape.header.role = 2;
    tape_call(&tape, 6000, BARRIER, 100);
    tape_write(&tape, run, 0);
    file.header.number = 1;
    file.header.end = 6110;
    write_sums();
    struct lull_breakdown *breakdown = NULL;
    fail_if(break_down(&breakdown) != LULL_OK, "%s", err.text);
    assert_int_equal(trace->events, LULL_EVENTS_FIRST);
    assert_int_equal(trace->duration, 1100);
    fail_if(lull_trace_read_sums(trace, 1, arena, &sums, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(sums.end, 1100);
}

/* A thread had begun, at 6150, when its process was killed; the last event of all is at 6100, and with it the run ends. */
static void test_a_thread_that_began_at_the_end(void **state)
{
    (void)state;
    struct tape_maker tape = {0};
    struct lull_sums sums;
    write_sums();
    tape_begin(&tape, 0, 0);
    tape.header.role = 1;
    tape_call(&tape, 5000, BARRIER, 1100);
    tape_write(&tape, run, 0);
    tape = (struct tape_maker){0};
    tape_begin(&tape, 0, 1);
    tape.header.role = 2;
    tape_write(&tape, run, 0);
    memset(file.sums, 0, sizeof file.sums);
    file.header.number = 1;
    file.header.begin = 6150;
    file.header.end = 6170;
    file.header.paused = file.header.flushing[0] = file.header.flushing[1] = 0;
    write_sums();
    struct lull_breakdown *breakdown = NULL;
    fail_if(break_down(&breakdown) != LULL_OK, "%s", err.text);
    assert_int_equal(trace->duration, 1100);
    fail_if(lull_trace_read_sums(trace, 1, arena, &sums, &err) != LULL_OK, "%s", err.text);
    assert_int_equal(sums.begin, 1100);
    assert_int_equal(sums.end, 1100);
}

TEST_GROUP(test_tape_sums)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums_become_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counters_belong_to_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_worker_is_idle_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_main_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ticks_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_events_that_end_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copy_of_a_cut_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_windows_in_a_profile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_thread_that_never_began, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_thread_that_was_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_thread_that_began_at_the_end, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
