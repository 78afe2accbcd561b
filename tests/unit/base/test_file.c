/* Mappings, and outputs that appear whole or not at all. */
#include "base/file.h"
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

static void check_content(const char *path, const char *expected)
{
    size_t size;
    unsigned char *bytes = folder_read(path, &size);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(bytes, expected, size);
    free(bytes);
}

static void check_fails(lull_status status, lull_status expected, const char *path,
                        const char *cause)
{
    assert_int_equal(status, expected);
    assert_non_null(strstr(err.text, path));
    if (!strstr(err.text, cause))
        fail_msg("'%s' does not say '%s'", err.text, cause);
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

/* ---- outputs --------------------------------------------------------------------------------- */

static void put_file(const char *path, bool replace, const char *content)
{
    struct lull_output *output;
    assert_int_equal(lull_output_begin(path, false, replace, &output, &err), LULL_OK);
    folder_write(lull_output_path(output), content, strlen(content));
    assert_int_equal(lull_output_commit(output, &err), LULL_OK);
}

/* A folder that holds a file "a" and a folder "b" with a file in it. */
static void fill_folder(const char *path, const char *content)
{
    char below[4500];
    snprintf(below, sizeof below, "%s/a", path);
    folder_write(below, content, strlen(content));
    snprintf(below, sizeof below, "%s/b", path);
    assert_int_equal(mkdir(below, 0700), 0);
    snprintf(below, sizeof below, "%s/b/c", path);
    folder_write(below, "c", 1);
}

static void put_folder(const char *path, bool replace, const char *content)
{
    struct lull_output *output;
    assert_int_equal(lull_output_begin(path, true, replace, &output, &err), LULL_OK);
    fill_folder(lull_output_path(output), content);
    assert_int_equal(lull_output_commit(output, &err), LULL_OK);
}

static void test_file_appears_on_commit(void **state)
{
    (void)state;
    const char *path = folder_path("out");
    struct lull_output *output;
    assert_int_equal(lull_output_begin(path, false, false, &output, &err), LULL_OK);
    assert_int_equal(access(path, F_OK), -1);
    folder_write(lull_output_path(output), "new", 3);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(lull_output_commit(output, &err), LULL_OK);
    check_content(path, "new");
    assert_int_equal(folder_entries(folder), 1);
}

static void test_modes_follow_umask(void **state)
{
    (void)state;
    struct stat info;
    mode_t old = umask(027);
    put_file(folder_path("file"), false, "x");
    put_folder(folder_path("folder"), false, "x");
    umask(old);
    assert_int_equal(stat(folder_path("file"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(stat(folder_path("folder"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0750);
}

static void test_existing_target_is_kept(void **state)
{
    (void)state;
    const char *path = folder_path("out");
    struct lull_output *output;
    put_file(path, false, "old");
    check_fails(lull_output_begin(path, false, false, &output, &err), LULL_ERR_IO, path,
                "exists already");
    check_fails(lull_output_begin(path, true, false, &output, &err), LULL_ERR_IO, path,
                "exists already");
    check_content(path, "old");
    assert_int_equal(folder_entries(folder), 1);
}

static void test_replace(void **state)
{
    (void)state;
    const char *path = folder_path("out"), *inside = folder_path("out/a");
    put_file(path, true, "1");
    put_file(path, true, "2");
    check_content(path, "2");
    put_folder(path, true, "3"); /* a folder in the place of a file */
    check_content(inside, "3");
    put_folder(path, true, "4");
    check_content(inside, "4");
    assert_int_equal(folder_entries(folder), 1);
}

/* A wrong name with --force must not cost what cannot be written again. */
static void test_replace_refuses(void **state)
{
    (void)state;
    const char *path = folder_path("precious"), *inside = folder_path("precious/thesis");
    struct lull_output *output;
    assert_int_equal(mkdir(path, 0700), 0);
    put_folder(path, true, "1"); /* an empty folder is replaced */
    check_fails(lull_output_begin(path, false, true, &output, &err), LULL_ERR_IO, path,
                "is a folder, which is not replaced");
    assert_int_equal(unlink(folder_path("precious/a")), 0);
    folder_write(inside, "chapter 1", 9);
    assert_int_equal(lull_output_begin(path, true, true, &output, &err), LULL_OK);
    fill_folder(lull_output_path(output), "2");
    check_fails(lull_output_commit(output, &err), LULL_ERR_IO, path, "with other things in it");
    check_content(inside, "chapter 1");
    assert_int_equal(folder_entries(folder), 1);
    check_fails(lull_output_begin("/dev/null", false, true, &output, &err), LULL_ERR_IO,
                "/dev/null", "is a special file, which is not replaced");
}

static void test_discard_pending(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) { /* the lock is not given back: in a process of its own */
        struct lull_output *output;
        bool begun = lull_output_begin(folder_path("f"), false, false, &output, &err) == LULL_OK &&
                     lull_output_begin(folder_path("d"), true, false, &output, &err) == LULL_OK;
        lull_output_discard_pending();
        _exit(begun ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(folder_entries(folder), 0);
}

static void test_target_with_slash(void **state)
{
    (void)state;
    char path[4500];
    snprintf(path, sizeof path, "%s/out//", folder);
    put_folder(path, false, "x");
    check_content(folder_path("out/a"), "x");
    assert_int_equal(folder_entries(folder), 1);
}

static void test_discard_leaves_nothing(void **state)
{
    (void)state;
    struct lull_output *output;
    assert_int_equal(lull_output_begin(folder_path("f"), false, false, &output, &err), LULL_OK);
    folder_write(lull_output_path(output), "x", 1);
    lull_output_discard(output);
    assert_int_equal(lull_output_begin(folder_path("d"), true, false, &output, &err), LULL_OK);
    fill_folder(lull_output_path(output), "x");
    lull_output_discard(output);
    lull_output_discard(NULL);
    assert_int_equal(folder_entries(folder), 0);
}

static void test_discard_keeps_what_was_to_be_replaced(void **state)
{
    (void)state;
    const char *path = folder_path("out");
    struct lull_output *output;
    put_file(path, false, "old");
    assert_int_equal(lull_output_begin(path, false, true, &output, &err), LULL_OK);
    folder_write(lull_output_path(output), "new", 3);
    lull_output_discard(output);
    check_content(path, "old");
    assert_int_equal(folder_entries(folder), 1);
}

static void test_missing_folder(void **state)
{
    (void)state;
    const char *path = folder_path("no/such/out");
    struct lull_output *output;
    check_fails(lull_output_begin(path, false, false, &output, &err), LULL_ERR_IO, path,
                "No such file");
    check_fails(lull_output_begin(path, true, true, &output, &err), LULL_ERR_IO, path,
                "No such file");
    assert_int_equal(folder_entries(folder), 0);
}

/* The temporary vanished: the commit fails and what was there before is still there. */
static void test_failed_commit(void **state)
{
    (void)state;
    const char *path = folder_path("out");
    struct lull_output *output;
    put_folder(path, false, "old");
    assert_int_equal(lull_output_begin(path, true, true, &output, &err), LULL_OK);
    assert_int_equal(lull_remove_tree(lull_output_path(output), &err), LULL_OK);
    check_fails(lull_output_commit(output, &err), LULL_ERR_IO, path, "No such file");
    check_content(folder_path("out/a"), "old");
    assert_int_equal(folder_entries(folder), 1);
}

static void test_remove_tree(void **state)
{
    (void)state;
    const char *tree = folder_path("tree"), *outside = folder_path("outside");
    folder_write(outside, "x", 1);
    assert_int_equal(mkdir(tree, 0700), 0);
    fill_folder(tree, "x");
    assert_int_equal(symlink(outside, folder_path("tree/link")), 0);
    assert_int_equal(symlink(folder, folder_path("tree/up")), 0);
    assert_int_equal(lull_remove_tree(tree, &err), LULL_OK);
    assert_int_equal(access(tree, F_OK), -1);
    check_content(outside, "x"); /* links are not followed */
    assert_int_equal(lull_remove_tree(tree, &err), LULL_OK);
    assert_false(lull_is_directory(tree));
    assert_true(lull_is_directory(folder));
    assert_false(lull_is_directory(outside));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_map),
        TEST(test_map_empty),
        TEST(test_map_what_is_no_file),
        TEST(test_unreadable),
        TEST(test_read_head),
        TEST(test_file_appears_on_commit),
        TEST(test_modes_follow_umask),
        TEST(test_existing_target_is_kept),
        TEST(test_replace),
        TEST(test_replace_refuses),
        TEST(test_discard_pending),
        TEST(test_target_with_slash),
        TEST(test_discard_leaves_nothing),
        TEST(test_discard_keeps_what_was_to_be_replaced),
        TEST(test_missing_folder),
        TEST(test_failed_commit),
        TEST(test_remove_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
