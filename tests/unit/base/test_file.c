/* Files that are read, and trees that are removed. */
#include "base/file.h"
#include "support/folder.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct lull_error err;
static const char *folder;

static int set_up(void **state)
{
    (void)state;
    folder = folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static void check_fails(lull_status status, lull_status expected, const char *path,
                        const char *cause)
{
    assert_int_equal(status, expected);
    assert_non_null(strstr(err.text, path));
    fail_if(!strstr(err.text, cause), "'%s' does not say '%s'", err.text, cause);
}

/* ---- mapping --------------------------------------------------------------------------------- */

static void test_map(void **state)
{
    (void)state;
    const char *path = folder_path("file");
    struct lull_mapping mapping;
    folder_write(path, "content", 7);
    assert_int_equal(lull_map_file(path, &mapping, &err), LULL_OK);
    assert_int_equal(mapping.size, 7);
    assert_memory_equal(mapping.data, "content", 7);
    lull_unmap(&mapping);
    assert_null(mapping.data);
    lull_unmap(&mapping);
}

static void test_map_empty(void **state)
{
    (void)state;
    const char *path = folder_path("empty");
    struct lull_mapping mapping = {(const void *)"x", 1};
    folder_write(path, "", 0);
    assert_int_equal(lull_map_file(path, &mapping, &err), LULL_OK);
    assert_null(mapping.data);
    assert_int_equal(mapping.size, 0);
    lull_unmap(&mapping);
}

static void test_map_what_is_no_file(void **state)
{
    (void)state;
    struct lull_mapping mapping = {NULL, 42};
    const char *missing = folder_path("missing"), *fifo = folder_path("fifo");
    check_fails(lull_map_file(missing, &mapping, &err), LULL_ERR_IO, missing, "No such file");
    check_fails(lull_map_file(folder, &mapping, &err), LULL_ERR_IO, folder, "directory");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    check_fails(lull_map_file(fifo, &mapping, &err), LULL_ERR_IO, fifo, "special file");
    check_fails(lull_map_file("/dev/null", &mapping, &err), LULL_ERR_IO, "/dev/null", "special");
    assert_int_equal(mapping.size, 42);
}

/* Nobody waits for a writer. */
static void test_pipe(void **state)
{
    (void)state;
    int fd;
    struct stat info;
    const char *path = folder_path("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    check_fails(lull_open_read(path, &fd, &info, &err), LULL_ERR_IO, path, "a special file");
    check_fails(lull_check_read(path, &err), LULL_ERR_IO, path, "a special file");
}

static void test_unreadable(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        printf("skipped: root may do everything\n");
        skip();
    }
    const char *path = folder_path("secret");
    struct lull_mapping mapping;
    char head[4];
    size_t got;
    folder_write(path, "content", 7);
    assert_int_equal(chmod(path, 0), 0);
    check_fails(lull_map_file(path, &mapping, &err), LULL_ERR_IO, path, "Permission denied");
    check_fails(lull_read_head(path, head, sizeof head, &got, &err), LULL_ERR_IO, path,
                "Permission denied");
}

static void test_read_head(void **state)
{
    (void)state;
    const char *path = folder_path("file");
    char head[16] = "";
    size_t got = 99;
    folder_write(path, "0123456789", 10);
    assert_int_equal(lull_read_head(path, head, 4, &got, &err), LULL_OK);
    assert_int_equal(got, 4);
    assert_memory_equal(head, "0123", 5);
    assert_int_equal(lull_read_head(path, head, sizeof head, &got, &err), LULL_OK);
    assert_int_equal(got, 10);
    folder_write(path, "", 0);
    assert_int_equal(lull_read_head(path, head, sizeof head, &got, &err), LULL_OK);
    assert_int_equal(got, 0);
    check_fails(lull_read_head(folder, head, 4, &got, &err), LULL_ERR_IO, folder, "directory");
}

/* ---- removing ---------------------------------------------------------------------------------
 */

static void test_remove_tree(void **state)
{
    (void)state;
    const char *tree = folder_path("tree"), *outside = folder_path("outside");
    folder_write(outside, "x", 1);
    assert_int_equal(mkdir(tree, 0700), 0);
    folder_fill(tree, "x");
    assert_int_equal(symlink(outside, folder_path("tree/link")), 0);
    assert_int_equal(symlink(folder, folder_path("tree/up")), 0);
    assert_int_equal(lull_remove_tree(tree, &err), LULL_OK);
    assert_int_equal(access(tree, F_OK), -1);
    folder_check(outside, "x"); /* links are not followed */
    assert_int_equal(lull_remove_tree(tree, &err), LULL_OK);
    assert_false(lull_is_directory(tree));
    assert_true(lull_is_directory(folder));
    assert_false(lull_is_directory(outside));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_GROUP(test_file)
{
    const struct CMUnitTest tests[] = {
        TEST(test_map),         TEST(test_map_empty),  TEST(test_map_what_is_no_file),
        TEST(test_pipe),        TEST(test_unreadable), TEST(test_read_head),
        TEST(test_remove_tree),
    };
    return run_cases(tests, NULL, NULL);
}
