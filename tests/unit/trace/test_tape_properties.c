/* What a run says of itself: once for all processes, and of each what differs. */
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "support/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As it is written by hand here, not as the launcher does it. */
static void write_about(const char *key, const char *value, size_t cut)
{
    struct definitions_maker maker;
    char from[4600], to[4600];
    definitions_begin(&maker, LULL_TAPE_WHOLE_RUN);
    definitions_add(&maker, LULL_TAPE_DEFINE_PROPERTY, 0, "ss", key, value);
    definitions_add(&maker, LULL_TAPE_DEFINE_PROPERTY, 0, "ss", "folder", "/home");
    definitions_write(&maker, run.path);
    snprintf(from, sizeof from, "%s/definitions", run.path);
    snprintf(to, sizeof to, "%s/about", run.path);
    size_t size;
    unsigned char *bytes = folder_read(from, &size);
    folder_write(to, bytes, size - cut);
    free(bytes);
    assert_int_equal(remove(from), 0);
}

/* Process p says `values[p]` (NULL: nothing) for the key, and ends with the status p. */
static void write_processes(const char *key, const char *const *values, uint32_t n)
{
    for (uint32_t p = 0; p < n; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, n);
        if (values[p])
            definitions_add(&definitions, LULL_TAPE_DEFINE_PROPERTY, 0, "ss", key, values[p]);
        definitions_add(&definitions, LULL_TAPE_DEFINE_EXIT, 0, "U",
                        p == 0 ? LULL_TAPE_NOT_EXITED : (uint64_t)(p > 1));
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape_write(&tape, run.path, 0);
    }
}

static void check_property(uint32_t index, const char *key, const char *value, uint32_t processes,
                           uint32_t first)
{
    assert_true(index < run.trace->n_properties);
    const struct lull_property *property = &run.trace->properties[index];
    assert_string_equal(property->key, key);
    assert_string_equal(property->value, value);
    assert_int_equal(property->processes, processes);
    assert_int_equal(property->first, first);
}

static void test_what_differs(void **state)
{
    (void)state;
    static const char *const values[] = {NULL, "b", NULL, "b"};
    write_about("program", "a", 0);
    write_processes("program", values, 4);
    together_check(run.path);
    run_open(run.path);
    assert_int_equal(run.trace->n_properties, 5);
    check_property(0, "program", "a", 0, 0);
    check_property(1, "folder", "/home", 0, 0);
    check_property(2, "program", "b", 2, 1);
    check_property(3, "exit", "0", 1, 1); /* process 0 was killed */
    check_property(4, "exit", "1", 2, 2);
    assert_string_equal(lull_trace_property(run.trace, "program"), "a");
    assert_string_equal(lull_trace_property(run.trace, "exit"), "0");
    assert_null(lull_trace_property(run.trace, "commit"));
}

/* Runs of an older lull. */
static void test_nothing_said(void **state)
{
    (void)state;
    static const char *const values[] = {NULL};
    write_processes("program", values, 1);
    run_open(run.path);
    assert_int_equal(run.trace->n_properties, 0);
    assert_null(lull_trace_property(run.trace, "program"));
}

/* Each of many says something else: 16 values are told apart, the others are counted. */
static void test_all_differ(void **state)
{
    (void)state;
    enum { N = 40, APART = 16 };
    static char texts[N][16];
    const char *values[N];
    for (unsigned p = 0; p < N; p++) {
        snprintf(texts[p], sizeof texts[p], "%u", p);
        values[p] = texts[p];
    }
    write_processes("OMP_PLACES", values, N);
    together_check(run.path);
    run_open(run.path);
    uint32_t n = 0, processes = 0;
    for (uint32_t i = 0; i < run.trace->n_properties; i++) {
        const struct lull_property *property = &run.trace->properties[i];
        if (strcmp(property->key, "OMP_PLACES") != 0)
            continue;
        n++;
        processes += property->processes;
        if (n == APART + 1) {
            assert_string_equal(property->value, "(others)");
            assert_int_equal(property->processes, N - APART);
            assert_int_equal(property->first, APART);
        }
    }
    assert_int_equal(n, APART + 1);
    assert_int_equal(processes, N);
}

/* The run stays readable where what it says of itself does not. */
static void test_damaged(void **state)
{
    (void)state;
    static const char *const values[] = {NULL};
    write_about("program", "a", 8);
    write_processes("program", values, 1);
    together_check(run.path);
    run_open(run.path);
    struct lull_quirk *quirks;
    assert_int_equal(lull_trace_quirks(run.trace, run.arena, &quirks), 1);
    assert_string_equal(quirks[0].kind, "what the run says of itself cannot be read as a whole");
}

/* No other kind of definition is taken from there: they would change what processes mean. */
static void test_other_kinds(void **state)
{
    (void)state;
    static const char *const values[] = {NULL};
    struct definitions_maker maker;
    char from[4600], to[4600];
    definitions_begin(&maker, LULL_TAPE_WHOLE_RUN);
    define_region(&maker, 0, "intruder");
    definitions_write(&maker, run.path);
    snprintf(from, sizeof from, "%s/definitions", run.path);
    snprintf(to, sizeof to, "%s/about", run.path);
    assert_int_equal(rename(from, to), 0);
    write_processes("program", values, 1);
    run_open(run.path);
    for (uint32_t r = 0; r < run.trace->n_regions; r++)
        assert_string_not_equal(run.trace->regions[r].name, "intruder");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_properties)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_differs), TEST(test_nothing_said), TEST(test_all_differ),
        TEST(test_damaged),      TEST(test_other_kinds),
    };
    return run_cases(tests, NULL, NULL);
}
