/* Outputs that appear whole or not at all. */
#include "base/output_file.h"

#include "base/file.h"
#include "support/folder.h"
#include "support/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* ---- appearing ---------------------------------------------------------------------------------
 */

static void put_file(const char *path, bool replace, const char *content)
{
    struct lull_output *output;
    assert_int_equal(lull_output_begin(path, false, replace, &output, &err), LULL_OK);
    folder_write(lull_output_path(output), content, strlen(content));
    assert_int_equal(lull_output_commit(output, &err), LULL_OK);
}

static void put_folder(const char *path, bool replace, const char *content)
{
    struct lull_output *output;
    assert_int_equal(lull_output_begin(path, true, replace, &output, &err), LULL_OK);
    folder_fill(lull_output_path(output), content);
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
    folder_check(path, "new");
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
    folder_check(path, "old");
    assert_int_equal(folder_entries(folder), 1);
}

static void test_replace(void **state)
{
    (void)state;
    const char *path = folder_path("out"), *inside = folder_path("out/a");
    put_file(path, true, "1");
    put_file(path, true, "2");
    folder_check(path, "2");
    put_folder(path, true, "3"); /* a folder in the place of a file */
    folder_check(inside, "3");
    put_folder(path, true, "4");
    folder_check(inside, "4");
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
    folder_fill(lull_output_path(output), "2");
    check_fails(lull_output_commit(output, &err), LULL_ERR_IO, path, "with other things in it");
    folder_check(inside, "chapter 1");
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
    folder_check(folder_path("out/a"), "x");
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
    folder_fill(lull_output_path(output), "x");
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
    folder_check(path, "old");
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
    folder_check(folder_path("out/a"), "old");
    assert_int_equal(folder_entries(folder), 1);
}

/* ---- what is not replaced -------------------------------------------------------------------- */

static void check_link(const char *link, const char *expected)
{
    char target[4500];
    ssize_t length = readlink(link, target, sizeof target - 1);
    assert_true(length > 0);
    target[length] = '\0';
    assert_string_equal(target, expected);
}

/* What a link points to is replaced, or made; the link stays. */
static void test_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder_path("d"), 0700), 0);
    assert_int_equal(symlink("d/f", folder_path("first")), 0);
    assert_int_equal(symlink(folder_path("first"), folder_path("second")), 0);
    for (int i = 0; i < 2; i++) {
        put_file(folder_path("second"), true, i ? "new" : "old");
        folder_check(folder_path("d/f"), i ? "new" : "old");
        check_link(folder_path("first"), "d/f");
    }
    assert_int_equal(symlink("run", folder_path("to-run")), 0);
    put_folder(folder_path("to-run"), true, "1");
    put_folder(folder_path("to-run"), true, "2");
    folder_check(folder_path("run/a"), "2");
    check_link(folder_path("to-run"), "run");
    struct lull_output *output;
    assert_int_equal(symlink("circle", folder_path("circle")), 0);
    check_fails(lull_output_begin(folder_path("circle"), false, true, &output, &err), LULL_ERR_IO,
                "circle", "symbolic links");
}

/* Whatever the name says: a second link to the same file, a folder around it. */
static void check_what_was_read(void)
{
    struct lull_mapping mapping;
    struct lull_output *output;
    put_file(folder_path("input"), false, "x");
    put_folder(folder_path("run"), false, "x");
    assert_int_equal(link(folder_path("input"), folder_path("same")), 0);
    assert_int_equal(lull_output_begin(folder_path("run"), true, true, &output, &err), LULL_OK);
    folder_fill(lull_output_path(output), "new");
    assert_int_equal(lull_map_file(folder_path("input"), &mapping, &err), LULL_OK);
    lull_unmap(&mapping);
    assert_int_equal(lull_map_file(folder_path("run/b/c"), &mapping, &err), LULL_OK);
    lull_unmap(&mapping);
    check_fails(lull_output_commit(output, &err), LULL_ERR_IO, "run", "was read");
    folder_check(folder_path("run/a"), "x");
    static const char *const files[] = {"input", "same"};
    for (int i = 0; i < 2; i++)
        check_fails(lull_output_begin(folder_path(files[i]), false, true, &output, &err),
                    LULL_ERR_IO, files[i], "was read");
    check_fails(lull_output_begin(folder_path("run"), true, true, &output, &err), LULL_ERR_IO,
                "run", "was read");
    assert_int_equal(folder_entries(folder), 3);
}

/* A process that protects its inputs does so to its end: in one of its own. */
static void test_what_was_read(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        lull_protect_inputs();
        check_what_was_read();
        _exit(0); /* a check that fails ends it otherwise */
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Between the begin and the commit somebody else has put something there. */
static void test_what_came_meanwhile(void **state)
{
    (void)state;
    const char *path = folder_path("out");
    for (int replace = 0; replace < 2; replace++) {
        struct lull_output *output;
        assert_int_equal(lull_output_begin(path, false, replace, &output, &err), LULL_OK);
        folder_write(lull_output_path(output), "mine", 4);
        folder_write(path, "theirs", 6);
        check_fails(lull_output_commit(output, &err), LULL_ERR_IO, path, "meanwhile");
        folder_check(path, "theirs");
        assert_int_equal(unlink(path), 0);
    }
    struct lull_output *output;
    put_file(path, false, "old");
    assert_int_equal(lull_output_begin(path, false, true, &output, &err), LULL_OK);
    folder_write(folder_path("other"), "theirs", 6);
    assert_int_equal(rename(folder_path("other"), path), 0);
    check_fails(lull_output_commit(output, &err), LULL_ERR_IO, path, "meanwhile");
    folder_check(path, "theirs");
    assert_int_equal(folder_entries(folder), 1);
}

/* ---- several --------------------------------------------------------------------------------- */

static void begin_three(struct lull_output *outputs[3], bool replace)
{
    static const char *const names[] = {"1", "2", "3"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            lull_output_begin(folder_path(names[i]), false, replace, &outputs[i], &err), LULL_OK);
        folder_write(lull_output_path(outputs[i]), "new", 3);
    }
}

static void test_together(void **state)
{
    (void)state;
    struct lull_output *outputs[3];
    begin_three(outputs, false);
    folder_write(folder_path("3"), "theirs", 6);
    check_fails(lull_output_commit_all(outputs, 3, &err), LULL_ERR_IO, "3", "meanwhile");
    assert_int_equal(folder_entries(folder), 1); /* neither 1 nor 2 */
    put_file(folder_path("1"), false, "old");
    begin_three(outputs, true);
    assert_int_equal(unlink(lull_output_path(outputs[2])), 0);
    check_fails(lull_output_commit_all(outputs, 3, &err), LULL_ERR_IO, "3", "No such file");
    folder_check(folder_path("1"), "old");
    folder_check(folder_path("3"), "theirs");
    assert_int_equal(folder_entries(folder), 2);
    begin_three(outputs, true);
    assert_int_equal(lull_output_commit_all(outputs, 3, &err), LULL_OK);
    folder_check(folder_path("1"), "new");
    folder_check(folder_path("3"), "new");
    assert_int_equal(folder_entries(folder), 3);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* A failure in the middle is told with its own reason, whatever happens later. */
static void test_stream_failure(void **state)
{
    (void)state;
    int failure;
    FILE *out = lull_output_stream_open("/dev/full", &failure);
    assert_non_null(out);
    for (int i = 0; i < 100000; i++)
        fprintf(out, "%d\n", i);
    errno = ENOTTY;
    check_fails(lull_output_stream_close(out, &failure, "name", &err), LULL_ERR_IO,
                "name: cannot write", "No space left");
    assert_null(lull_output_stream_open(folder_path("missing"), &failure));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_GROUP(test_output_file)
{
    const struct CMUnitTest tests[] = {
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
        TEST(test_links),
        TEST(test_what_was_read),
        TEST(test_what_came_meanwhile),
        TEST(test_together),
        TEST(test_stream_failure),
    };
    return run_cases(tests, NULL, NULL);
}
