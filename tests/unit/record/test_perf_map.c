/* Functions made at run time, from a map file written by hand: /tmp/perf-PID.map of this process. */
#include "record/site/perf_map.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *map_path(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    return path;
}

/* Adds bytes to the file. */
static void add_text(const char *text)
{
    const int file = open(map_path(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(close(file), 0);
    rec_perf_map_look();
}

static void check_name(uintptr_t address, const char *function, const char *file)
{
    static struct rec_perf_name name;
    const struct rec_perf_function *found = rec_perf_map_find(address);
    assert_non_null(found);
    rec_perf_map_name(found, &name);
    assert_string_equal(name.function, function);
    assert_string_equal(name.file, file);
}

/* One case, as the functions keep what they have read of the process's file. */
static void test_map(void **state)
{
    static char large[200000];
    (void)state;
    unlink(map_path());
    rec_perf_map_look();
    assert_null(rec_perf_map_find(0x7f0000001000)); /* there is no file */
    /* a link is not followed, wherever it leads */
    assert_int_equal(symlink("/dev/null", map_path()), 0);
    rec_perf_map_look();
    assert_null(rec_perf_map_find(0x7f0000001000));
    assert_int_equal(unlink(map_path()), 0);

    /* nor is a file read that an earlier process with the same number has left */
    static const struct timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    add_text("");
    const int file = open(map_path(), O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(file, "7f0000001000 40 old\n", 20), 20);
    assert_int_equal(futimens(file, old), 0);
    assert_int_equal(close(file), 0);
    rec_perf_map_look();
    assert_null(rec_perf_map_find(0x7f0000001000));
    assert_int_equal(unlink(map_path()), 0);

    add_text("7f0000001000 40 py::Grid.step:/home/x/heat.py\n"
             "7f0000001040 40 py::<module>:<string>\n"
             "7f0000003000 1000 LazyCompile:*relax /home/x/a b.js:10:3\n"
             "7f0000002000 8 py::nameless\n");
    check_name(0x7f0000001000, "Grid.step", "/home/x/heat.py");
    check_name(0x7f000000103f, "Grid.step", "/home/x/heat.py");
    check_name(0x7f0000001040, "<module>", "<string>");
    assert_null(rec_perf_map_find(0x7f0000001080));
    assert_null(rec_perf_map_find(0x7f0000000fff));
    check_name(0x7f0000003fff, "LazyCompile:*relax /home/x/a b.js:10:3", "");
    check_name(0x7f0000002007, "nameless", "");

    /* half a line is read when its end has come */
    add_text("7f0000005000 10 py::half");
    assert_null(rec_perf_map_find(0x7f0000005000));
    add_text("way:/home/x/heat.py\n");
    check_name(0x7f0000005000, "halfway", "/home/x/heat.py");

    /* code in the place of code: the last one counts */
    add_text("7f0000001000 40 py::later:/home/x/later.py\n");
    check_name(0x7f0000001010, "later", "/home/x/later.py");

    /* what is no such line is passed over */
    add_text("\n 7\nzz 10 no\n7f0000006000 no\n7f0000006000 0 empty\n7f0000006000 10\n"
             "ffffffffffffffff 10 behind the end\n7f0000006100 10 py::good:g.py\n");
    assert_null(rec_perf_map_find(0x7f0000006000));
    assert_null(rec_perf_map_find(UINTPTR_MAX));
    check_name(0x7f0000006100, "good", "g.py");

    /* a line that is longer than any */
    memset(large, 'x', sizeof large - 1);
    add_text(large);
    add_text("\n7f0000007000 10 py::behind:b.py\n");
    check_name(0x7f0000007000, "behind", "b.py");

    /* the name is asked for when the file has gone */
    assert_int_equal(unlink(map_path()), 0);
    check_name(0x7f0000007000, "", "");
}

TEST_GROUP(test_perf_map)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_map)};
    return run_cases(tests, NULL, NULL);
}
