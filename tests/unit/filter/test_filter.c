/* Filters of functions. The first two are the examples of Score-P's user manual ("Filtering"). */
#include "filter/filter.h"
#include "support/folder.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    folder_remove();
    return 0;
}

static lull_status read_text(const char *text, const struct lull_filter **ret_filter)
{
    const char *path = folder_path("filter");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return lull_filter_read(path, arena, ret_filter, &err);
}

static const struct lull_filter *filter_of(const char *text)
{
    const struct lull_filter *filter = NULL;
    fail_if(read_text(text, &filter) != LULL_OK, "%s", err.text);
    return filter;
}

static bool has_name(const struct lull_filter *filter, const char *name)
{
    return !lull_filter_excludes_name(filter, name, name);
}

static bool has_file(const struct lull_filter *filter, const char *path)
{
    return !lull_filter_excludes_file(filter, path, path);
}

static void test_names(void **state)
{
    (void)state;
    const struct lull_filter *filter = filter_of("SCOREP_REGION_NAMES_BEGIN\n"
                                                 "  EXCLUDE *\n"
                                                 "  INCLUDE bar foo\n"
                                                 "          baz\n"
                                                 "          main\n"
                                                 "SCOREP_REGION_NAMES_END\n");
    assert_true(has_name(filter, "bar") && has_name(filter, "foo"));
    assert_true(has_name(filter, "baz") && has_name(filter, "main"));
    assert_false(has_name(filter, "foobar") || has_name(filter, "other"));
    assert_true(has_file(filter, "/any.c"));
}

static void test_files(void **state)
{
    (void)state;
    const struct lull_filter *filter = filter_of("SCOREP_FILE_NAMES_BEGIN # a comment\n"
                                                 "  EXCLUDE */foo/bar*\n"
                                                 "  INCLUDE */filter_test.c\n"
                                                 "SCOREP_FILE_NAMES_END");
    assert_false(has_file(filter, "/x/foo/bar.c"));
    assert_false(has_file(filter, "/x/foo/bar/deeper/a.c"));
    assert_true(has_file(filter, "/x/foo/bar/filter_test.c"));
    assert_true(has_file(filter, "/x/foo.c") && has_file(filter, ""));
    assert_true(has_name(filter, "bar"));
}

/* The last pattern that matches counts; either name of a file may match. */
static void test_order(void **state)
{
    (void)state;
    const struct lull_filter *filter =
        filter_of("SCOREP_FILE_NAMES_BEGIN EXCLUDE src/* SCOREP_FILE_NAMES_END\n"
                  "SCOREP_REGION_NAMES_BEGIN INCLUDE a EXCLUDE a? a INCLUDE a[b-d] "
                  "SCOREP_REGION_NAMES_END\n"
                  "SCOREP_REGION_NAMES_BEGIN EXCLUDE ac SCOREP_REGION_NAMES_END\n");
    assert_false(has_name(filter, "a") || has_name(filter, "ax") || has_name(filter, "ac"));
    assert_true(has_name(filter, "ab") && has_name(filter, "ad") && has_name(filter, "axx"));
    assert_true(lull_filter_excludes_file(filter, "src/a.c", "/home/x/src/a.c"));
    assert_true(lull_filter_excludes_file(filter, "/home/x/src/a.c", "src/a.c"));
    assert_true(has_file(filter, "/home/x/src/a.c"));
}

static void test_mangled(void **state)
{
    (void)state;
    const struct lull_filter *filter =
        filter_of("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE MANGLED _Z4stepi DEMANGLED solve(int)\n"
                  "EXCLUDE _Z* two\\ words hash\\#\nSCOREP_REGION_NAMES_END\n");
    assert_true(lull_filter_excludes_name(filter, "step(int)", "_Z4stepi"));
    assert_false(lull_filter_excludes_name(filter, "step(long)", "_Z4stepl"));
    assert_true(lull_filter_excludes_name(filter, "solve(int)", "_Z5solvei"));
    assert_true(lull_filter_excludes_name(filter, "two words", "x"));
    assert_true(lull_filter_excludes_name(filter, "hash#", "x"));
    assert_false(lull_filter_excludes_name(filter, "two", "x"));
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"EXCLUDE a", "line 1: unexpected 'EXCLUDE', expected SCOREP_REGION_NAMES_BEGIN or "},
        {"\n\nSCOREP_REGION_NAMES_BEGIN\nEXCLUDE a\n",
         "line 3: SCOREP_REGION_NAMES_BEGIN without "},
        {"SCOREP_REGION_NAMES_BEGIN\nname", "line 2: unexpected 'name', expected EXCLUDE or "},
        {"SCOREP_REGION_NAMES_BEGIN\nMANGLED", "line 2: unexpected 'MANGLED', expected EXCLUDE"},
        {"SCOREP_FILE_NAMES_BEGIN EXCLUDE MANGLED a", "line 1: unexpected 'MANGLED', expected a "},
        {"SCOREP_FILE_NAMES_BEGIN SCOREP_REGION_NAMES_END",
         "line 1: unexpected 'SCOREP_REGION_NAMES_END', expected SCOREP_FILE_NAMES_END"},
        {"SCOREP_FILE_NAMES_BEGIN\nEXCLUDE a\\\nb", "line 2: unexpected '\\'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lull_filter *filter;
        assert_int_equal(read_text(cases[i][0], &filter), LULL_ERR_FORMAT);
        const char *after = strstr(err.text, "/filter: ");
        assert_non_null(after);
        fail_if(strncmp(after + strlen("/filter: "), cases[i][1], strlen(cases[i][1])) != 0, "%s",
                err.text);
    }
    const struct lull_filter *none;
    assert_int_not_equal(lull_filter_read(folder_path("nothing"), arena, &none, &err), LULL_OK);
}

TEST_GROUP(test_filter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mangled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
