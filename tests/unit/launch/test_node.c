/* What one process of a node tells the others: once, and never to the harm of who is not told. */
#include "launch/target.h"
#include "support/folder.h"
#include "support/test.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct lull_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    return folder_make() ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    folder_remove();
    return 0;
}

static const char *join(uint32_t rank, uint32_t size, struct lull_launch_node *node)
{
    return lull_node_join(folder_path("."), "a job", rank, size, arena, node);
}

/* Files in the folder; the name of one of them. */
static unsigned files(char name[NAME_MAX + 1])
{
    unsigned n = 0;
    DIR *folder = opendir(folder_path("."));
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
            n++;
        }
    closedir(folder);
    return n;
}

/* The first one tells when all others are about to ask; these come in any order, and wait. */
static void test_all_are_told(void **state)
{
    (void)state;
    enum { RANKS = 8 };
    char name[NAME_MAX + 1];
    struct lull_launch_node first;
    pid_t children[RANKS];
    int asking[2];
    assert_int_equal(pipe(asking), 0);
    assert_null(join(0, RANKS, &first));
    assert_non_null(first.shared);
    for (uint32_t r = 1; r < RANKS; r++) {
        children[r] = fork();
        if (children[r] == 0) {
            struct lull_launch_node node;
            if (write(asking[1], "a", 1) != 1)
                _exit(2);
            const char *told = join(r, RANKS, &node);
            _exit(told && strcmp(told, "/a/run") == 0 && !node.shared ? 0 : 1);
        }
    }
    for (uint32_t r = 1; r < RANKS; r++) {
        char byte;
        assert_int_equal(read(asking[0], &byte, 1), 1);
    }
    lull_node_tell(&first, "/a/run");
    for (uint32_t r = 1; r < RANKS; r++) {
        int status;
        assert_int_equal(waitpid(children[r], &status, 0), children[r]);
        assert_int_equal(status, 0);
    }
    close(asking[0]);
    close(asking[1]);
    assert_int_equal(files(name), 0);
}

/* Whoever asks again wants to know of another program. */
static void test_again(void **state)
{
    (void)state;
    struct lull_launch_node first, other;
    assert_null(join(0, 3, &first));
    lull_node_tell(&first, "/a/run");
    assert_string_equal(join(1, 3, &other), "/a/run");
    assert_null(join(1, 3, &other));
    assert_null(other.shared);
    assert_null(join(0, 3, &other));
    assert_string_equal(join(2, 3, &other), "/a/run");
    assert_null(join(0, 3, &first)); /* all have been told: this is the next program */
    assert_non_null(first.shared);
    lull_node_tell(&first, NULL);
}

static void test_first_fails(void **state)
{
    (void)state;
    struct lull_launch_node first, other;
    assert_null(join(0, 2, &first));
    lull_node_tell(&first, NULL);
    assert_null(join(1, 2, &other));
    assert_null(other.shared);
}

/* It died before it could tell, or after that: then the job may be another one, with the same key.
 */
static void test_first_dies(void **state)
{
    (void)state;
    for (int tells = 0; tells < 2; tells++) {
        char name[NAME_MAX + 1];
        struct lull_launch_node node;
        pid_t child = fork();
        if (child == 0) {
            join(0, 3, &node);
            if (tells)
                lull_node_tell(&node, "/an/old/run");
            kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(files(name), 1);
        assert_null(join(1, 3, &node));
        assert_null(node.shared);
        assert_int_equal(files(name), 0);
    }
}

/* What a job of another name has left goes. */
static void test_cleaning(void **state)
{
    (void)state;
    char name[NAME_MAX + 1];
    struct lull_launch_node node;
    pid_t child = fork();
    if (child == 0) {
        lull_node_join(folder_path("."), "an old job", 0, 2, arena, &node);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_null(join(0, 2, &node));
    assert_int_equal(files(name), 1);
    lull_node_tell(&node, "/a/run");
    assert_string_equal(join(1, 2, &node), "/a/run");
}

/* Whatever is there by the name, nobody is told by it, and it stays. */
static void test_refused(void **state)
{
    (void)state;
    char name[NAME_MAX + 1], path[4096];
    struct lull_launch_node node;
    assert_null(join(0, 3, &node));
    lull_node_tell(&node, "/a/run");
    assert_int_equal(files(name), 1);
    snprintf(path, sizeof path, "%s", folder_path(name));

    assert_int_equal(chmod(path, 0666), 0); /* others might have written it */
    assert_null(join(1, 3, &node));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, 100), 0);
    assert_null(join(1, 3, &node));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_null(join(1, 3, &node));
    assert_null(node.shared);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(join(1, 3, &node));
    assert_null(node.shared);
}

/* No such memory, none left, or nobody knows how many there are. */
static void test_missing(void **state)
{
    (void)state;
    char name[NAME_MAX + 1];
    struct lull_launch_node node;
    assert_null(lull_node_join(folder_path("nowhere"), "a job", 0, 2, arena, &node));
    assert_null(node.shared);
    assert_null(join(0, 0, &node));
    assert_null(node.shared);
    assert_null(join(2, 2, &node));
    assert_null(node.shared);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {64, 64};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(join(0, 2, &node) || node.shared ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(files(name), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_node)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_are_told), TEST(test_again),   TEST(test_first_fails), TEST(test_first_dies),
        TEST(test_cleaning),     TEST(test_refused), TEST(test_missing),
    };
    return run_cases(tests, NULL, NULL);
}
