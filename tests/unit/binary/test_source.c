/* Text of the source: where it is looked for, what is shown of it, and what is refused. */
#include "binary/source.h"
#include "support/folder.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static void write_source(const char *name, const char *text)
{
    folder_write(folder_path(name), text, strlen(text));
}

static void set_time(const char *name, time_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, folder_path(name), times, 0), 0);
}

static void test_lines(void **state)
{
    (void)state;
    const struct lull_source_search here = {0};
    struct lull_source_text source;
    write_source("a.c", "one\ntwo\nthree\r\nfour");
    assert_int_equal(lull_source_read(folder_path("a.c"), 2, 3, &here, arena, &source, &err), 0);
    assert_int_equal(source.first, 2);
    assert_int_equal(source.count, 2);
    assert_string_equal(source.lines[0], "two");
    assert_string_equal(source.lines[1], "three");
    assert_string_equal(source.path, folder_path("a.c"));
    assert_false(source.newer);
    /* No more than there are, and what has no newline is a line, too. */
    assert_int_equal(lull_source_read(folder_path("a.c"), 4, 90, &here, arena, &source, &err), 0);
    assert_int_equal(source.count, 1);
    assert_string_equal(source.lines[0], "four");
}

static void test_characters(void **state)
{
    (void)state;
    const struct lull_source_search here = {0};
    struct lull_source_text source;
    write_source("a.c", "\tx\n  \ty\n\x1b[31mred\nöl\n\xff\n");
    assert_int_equal(lull_source_read(folder_path("a.c"), 1, 9, &here, arena, &source, &err), 0);
    assert_int_equal(source.count, 5);
    assert_string_equal(source.lines[0], "        x");
    assert_string_equal(source.lines[1], "        y");
    assert_string_equal(source.lines[2], "\\x1b[31mred");
    assert_string_equal(source.lines[3], "öl");
    assert_string_equal(source.lines[4], "\\xff");
}

static void test_bounds(void **state)
{
    (void)state;
    static char text[1 << 20];
    const struct lull_source_search here = {0};
    struct lull_source_text source;
    memset(text, 'x', sizeof text - 1);
    write_source("long.c", text);
    assert_int_equal(lull_source_read(folder_path("long.c"), 1, 1, &here, arena, &source, &err), 0);
    assert_int_equal(strlen(source.lines[0]), LULL_SOURCE_MOST_BYTES + 3);
    assert_string_equal(source.lines[0] + LULL_SOURCE_MOST_BYTES, "...");
    memset(text, '\n', sizeof text - 1);
    write_source("many.c", text);
    assert_int_equal(
        lull_source_read(folder_path("many.c"), 1, UINT32_MAX, &here, arena, &source, &err), 0);
    assert_int_equal(source.count, LULL_SOURCE_MOST_LINES);
}

static void test_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder_path("src"), 0700), 0);
    assert_int_equal(mkdir(folder_path("src/grid"), 0700), 0);
    write_source("src/step.c", "wrong\n");
    write_source("src/grid/step.c", "right\n");
    char first[4096], second[4096];
    snprintf(first, sizeof first, "%s", folder_path("empty"));
    snprintf(second, sizeof second, "%s", folder_path("src"));
    const char *const folders[] = {first, second};
    const struct lull_source_search search = {.folders = folders, .n_folders = 2};
    struct lull_source_text source;
    assert_int_equal(
        lull_source_read("/nowhere/heat/grid/step.c", 1, 1, &search, arena, &source, &err), 0);
    assert_string_equal(source.lines[0], "right");
    assert_int_equal(lull_source_read("/nowhere/step.c", 1, 1, &search, arena, &source, &err), 0);
    assert_string_equal(source.lines[0], "wrong");
    assert_int_equal(lull_source_read("/nowhere/other.c", 1, 1, &search, arena, &source, &err),
                     LULL_ERR_IO);
    assert_string_equal(err.text, "/nowhere/other.c: source was not found");
    /* A folder is no source. */
    assert_int_equal(lull_source_read("/nowhere/grid", 1, 1, &search, arena, &source, &err),
                     LULL_ERR_IO);
}

static void test_time(void **state)
{
    (void)state;
    char binary[4096];
    snprintf(binary, sizeof binary, "%s", folder_path("heat"));
    struct lull_source_search search = {.binary = binary};
    struct lull_source_text source;
    write_source("a.c", "one\n");
    write_source("heat", "");
    set_time("a.c", 1000);
    set_time("heat", 2000);
    assert_int_equal(lull_source_read(folder_path("a.c"), 1, 1, &search, arena, &source, &err), 0);
    assert_false(source.newer);
    set_time("a.c", 3000);
    assert_int_equal(lull_source_read(folder_path("a.c"), 1, 1, &search, arena, &source, &err), 0);
    assert_true(source.newer);
    search.binary = "/nowhere/heat";
    assert_int_equal(lull_source_read(folder_path("a.c"), 1, 1, &search, arena, &source, &err), 0);
    assert_false(source.newer);
}

static void test_short(void **state)
{
    (void)state;
    const struct lull_source_search here = {0};
    struct lull_source_text source;
    write_source("a.c", "one\ntwo\n");
    assert_int_equal(lull_source_read(folder_path("a.c"), 4711, 4712, &here, arena, &source, &err),
                     LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "a.c: it has 2 lines, and line 4711 is asked for"));
}

TEST_GROUP(test_source)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
