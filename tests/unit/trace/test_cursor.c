/* Cursors on formats of both kinds, and conversion, which takes what they deliver. */
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/same_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "support/uneven_trace.h"
#include "trace/convert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct lull_error err;
static struct lull_trace *trace;

static int set_up(void **state)
{
    (void)state;
    trace = uneven_trace();
    return 0;
}

static int set_up_push(void **state)
{
    set_up(state);
    trace->format = &memory_format_push;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_trace_close(trace);
    return 0;
}

/* ---- cursors --------------------------------------------------------------------------------- */

static void check_cursors(void)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *scanned, pulled;
    assert_int_equal(collect_by_scan(trace, 0, 2, arena, &scanned, &err), LULL_OK);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        assert_int_equal(collect_by_cursor(trace, l, 0, arena, &pulled, &err), LULL_OK);
        fail_if(!same_sequences(&scanned[l], &pulled, NULL, &err), "location %u: %s", l, err.text);
    }
    lull_arena_destroy(arena);
}

static void test_cursors(void **state)
{
    (void)state;
    check_cursors();
    struct lull_cursor *cursor;
    struct lull_block block;
    assert_int_equal(lull_cursor_open(trace, 2, LULL_MASK(LULL_EVENT_SEND), &cursor, &err),
                     LULL_OK);
    for (int i = 0; i < 3; i++) { /* the end stays the end */
        assert_int_equal(lull_cursor_next(cursor, &block, &err), LULL_OK);
        assert_int_equal(block.count, 0);
    }
    lull_cursor_close(cursor);
    lull_cursor_close(NULL);
}

/* Random traces, pulled and pushed: the same events in scans and cursors. */
static void test_drawn_traces(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    for (uint64_t seed = first; seed - first < lull_test_rounds(10); seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        struct lull_trace *drawn = memory_trace_draw(&random, NULL), *kept = trace;
        struct lull_arena *arena = lull_arena_create(NULL);
        struct same_sequence *pulled, *pushed;
        assert_int_equal(collect_by_scan(drawn, 0, 3, arena, &pulled, &err), LULL_OK);
        drawn->format = &memory_format_push;
        assert_int_equal(collect_by_scan(drawn, 0, 3, arena, &pushed, &err), LULL_OK);
        for (uint32_t l = 0; l < drawn->n_locations; l++)
            fail_if(!same_sequences(&pulled[l], &pushed[l], NULL, &err), "seed %llu: %s",
                    (unsigned long long)seed, err.text);
        trace = drawn;
        check_cursors();
        trace = kept;
        lull_arena_destroy(arena);
        lull_trace_close(drawn);
    }
}

/* In $TMPDIR, once for all cursors, and gone with the trace. */
static void test_temporary_tape(void **state)
{
    (void)state;
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    const char *folder = folder_make();
    setenv("TMPDIR", folder, 1);
    check_cursors();
    assert_int_equal(folder_entries(folder), 1);
    struct lull_cursor *cursor;
    assert_int_equal(lull_cursor_open(trace, 0, 0, &cursor, &err), LULL_OK);
    assert_int_equal(folder_entries(folder), 1);
    lull_cursor_close(cursor);
    lull_trace_close(trace);
    assert_int_equal(folder_entries(folder), 0);
    trace = uneven_trace();
    trace->format = &memory_format_push;
    folder_remove();
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
}

/* Scans read the temporary tape once it is there, location by location, on several threads. */
static void test_scan_of_temporary_tape(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_scan_options options = {.workers = 2, .application = LULL_NONE};
    struct same_sequence *before, *after;
    struct lull_event added = memory_event(INT64_MAX / 2, LULL_EVENT_MEASURE_ON, 0);
    assert_int_equal(lull_scan_workers(trace, &options), 1);
    assert_int_equal(collect_by_scan(trace, 0, 2, arena, &before, &err), LULL_OK);
    assert_int_equal(lull_cursors_prepare(trace, (struct lull_process_range){0, 0}, &err), LULL_OK);
    memory_trace_add(trace, 4, &added); /* who reads the trace itself sees it */
    assert_int_equal(lull_scan_workers(trace, &options), 2);
    assert_int_equal(collect_by_scan(trace, 0, 2, arena, &after, &err), LULL_OK);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        fail_if(!same_sequences(&before[l], &after[l], NULL, &err), "location %u: %s", l, err.text);
    lull_arena_destroy(arena);
}

/* The conversion fails: told each time, and nothing is left behind. */
static void test_temporary_tape_fails(void **state)
{
    (void)state;
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    const char *folder = folder_make();
    struct lull_event late = memory_event(0, LULL_EVENT_TASK_SWITCH, 0);
    struct lull_cursor *cursor;
    memory_trace_add(trace, 4, &late);
    setenv("TMPDIR", folder, 1);
    for (int i = 0; i < 2; i++) {
        err.text[0] = '\0';
        assert_int_equal(lull_cursor_open(trace, 0, 0, &cursor, &err), LULL_ERR_FORMAT);
        assert_non_null(strstr(err.text, "time runs"));
        assert_int_equal(folder_entries(folder), 0);
    }
    setenv("TMPDIR", folder_path("no such folder"), 1);
    assert_int_equal(lull_cursor_open(trace, 0, 0, &cursor, &err), LULL_ERR_IO);
    assert_non_null(strstr(err.text, "no such folder"));
    folder_remove();
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
}

/* ---- conversion ------------------------------------------------------------------------------ */

/* A writer that checks order and keeps all events. */
struct written {
    struct lull_trace *copy;
    int64_t last;
    bool backwards, committed, closed;
    lull_status fail_with;
} written;

static lull_status write_block(void *state, const struct lull_block *block,
                               struct lull_error *error)
{
    struct written *to = state;
    for (uint32_t i = 0; i < block->count; i++) {
        to->backwards |= block->events[i].time < to->last;
        to->last = block->events[i].time;
        memory_trace_add(to->copy, block->location, &block->events[i]);
    }
    return to->fail_with ? lull_fail(error, to->fail_with, "cannot write") : LULL_OK;
}

static lull_status write_close(void *state, bool commit, struct lull_error *error)
{
    struct written *to = state;
    assert_false(to->closed);
    to->closed = true;
    to->committed = commit;
    (void)error;
    return LULL_OK;
}

static lull_status writer_open(const struct lull_trace *of, const char *path, bool replace,
                               struct lull_writer *ret_writer, struct lull_error *error)
{
    (void)of;
    (void)path;
    (void)replace;
    (void)error;
    *ret_writer =
        (struct lull_writer){.state = &written, .block = write_block, .close = write_close};
    return LULL_OK;
}

static lull_status ordered_writer_open(const struct lull_trace *of, const char *path, bool replace,
                                       struct lull_writer *ret_writer, struct lull_error *error)
{
    lull_status status = writer_open(of, path, replace, ret_writer, error);
    ret_writer->global_order = true;
    return status;
}

/* Both ways to be written to. */
static const struct lull_format into[2] = {
    {.name = "check", .writer_open = writer_open},
    {.name = "ordered check", .writer_open = ordered_writer_open},
};

/* What was written is what was there; the copy borrows the definitions of the drawn trace. */
static void check_conversion(uint64_t seed, bool global_order, bool push)
{
    struct lull_random random;
    struct progress_seen progress = {0};
    lull_random_seed(&random, seed);
    struct lull_trace *drawn = memory_trace_draw(&random, NULL);
    lull_random_seed(&random, seed);
    struct lull_trace *copy = memory_trace_draw(&random, NULL);
    for (uint32_t l = 0; l < copy->n_locations; l++)
        memory_trace_clear(copy, l);
    if (push)
        drawn->format = &memory_format_push;
    written = (struct written){.copy = copy};
    assert_int_equal(
        lull_convert(drawn, "x", &into[global_order], false, see_progress, &progress, &err),
        LULL_OK);
    assert_true(written.closed && written.committed);
    assert_false(progress.backwards || progress.outside);
    if (global_order)
        assert_false(written.backwards);
    fail_if(!same_events(drawn, copy, NULL, &err), "seed %llu: %s", (unsigned long long)seed,
            err.text);
    lull_trace_close(copy);
    lull_trace_close(drawn);
}

static void test_convert(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    for (uint64_t seed = first; seed - first < 10; seed++) {
        check_conversion(seed, false, false);
        check_conversion(seed, true, false);
        check_conversion(seed, false, true);
        check_conversion(seed, true, true);
    }
}

static void test_convert_fails(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct lull_trace *copy = uneven_trace();
        written = (struct written){.copy = copy, .fail_with = LULL_ERR_IO};
        assert_int_equal(lull_convert(trace, "x", &into[order], false, NULL, NULL, &err),
                         LULL_ERR_IO);
        assert_string_equal(err.text, "cannot write");
        assert_true(written.closed);
        assert_false(written.committed);
        lull_trace_close(copy);
    }
    assert_int_equal(lull_convert(trace, "x", NULL, false, NULL, NULL, &err), LULL_ERR_UNSUPPORTED);
    assert_int_equal(lull_convert(trace, "x", &memory_format_pull, false, NULL, NULL, &err),
                     LULL_ERR_UNSUPPORTED);
}

#define PULL(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define PUSH(name)                                         \
    {                                                      \
#name ", push", name, set_up_push, tear_down, NULL \
    }

TEST_GROUP(test_cursor)
{
    const struct CMUnitTest tests[] = {
        PULL(test_cursors),
        PUSH(test_cursors),
        PULL(test_drawn_traces),
        PUSH(test_temporary_tape),
        PUSH(test_scan_of_temporary_tape),
        PUSH(test_temporary_tape_fails),
        PULL(test_convert),
        PULL(test_convert_fails),
    };
    return run_cases(tests, NULL, NULL);
}
