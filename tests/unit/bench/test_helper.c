/* Helper programs: what they say, also when it is damaged, and how they are started and ended. */
#include "bench/helper_program.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEADER                                                                        \
    "{\"lull_bench\":1,\"kind\":\"mpi\",\"ranks\":2,\"nodes\":1,\"library\":\"X 1\"," \
    "\"levels\":{\"socket\":\"a and b\"}}\n"
#define RECORD                                                                               \
    "{\"what\":\"pingpong\",\"level\":\"socket\",\"bytes\":8,\"ranks\":2,\"repetitions\":3," \
    "\"interrupted\":1,\"value\":2.5,\"samples\":[1e-6,2e-6,0]}\n"
#define END "{\"end\":1}\n"

static void test_read(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_helper_output output;
    struct lull_error err;
    const char *text = "a launcher's words\n" HEADER RECORD "[1] more of them\n" END "{bad";
    assert_int_equal(lull_helper_read(text, "mpi", arena, &output, &err), LULL_OK);
    assert_int_equal(output.ranks, 2);
    assert_string_equal(output.library, "X 1");
    assert_int_equal(output.n_levels, 1);
    assert_string_equal(output.levels[0].about, "a and b");
    assert_int_equal(output.n_records, 1);
    const struct lull_helper_record *record = &output.records[0];
    assert_string_equal(record->what, "pingpong");
    assert_null(record->detail);
    assert_true(record->bytes == 8 && record->repetitions == 3 && record->interrupted == 1);
    assert_true(record->value == 2.5);
    assert_int_equal(record->n_samples, 3);
    assert_true(record->samples[1] == 2e-6);
    lull_arena_destroy(arena);
}

static void test_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "the helper said nothing"},
        {"no such thing\n", "the helper said nothing"},
        {HEADER RECORD, "the output ends before its end"},
        {HEADER "{\"what\":\"ping", "output line 2: "},
        {RECORD, "output line 1: expected \"lull_bench\":1,\"kind\":\"mpi\""},
        {"{\"lull_bench\":1,\"kind\":\"openmp\"}\n", "output line 1: expected \"lull_bench\":1"},
        {HEADER "{\"bytes\":1,\"samples\":[]}\n", "output line 2: expected \"what\""},
        {HEADER "{\"what\":\"x\"}\n", "output line 2: expected \"samples\", an array"},
        {HEADER "{\"what\":\"x\",\"samples\":[1,-1]}\n",
         "output line 2: sample 1: expected seconds from 0"},
        {HEADER "{\"what\":\"x\",\"samples\":[\"1\"]}\n",
         "output line 2: sample 0: expected seconds from 0"},
        {HEADER "{\"what\":\"x\",\"bytes\":-1,\"samples\":[]}\n",
         "output line 2: bytes, ranks, repetitions, interrupted: expected whole numbers"},
        {HEADER "{\"what\":\"x\",\"value\":0,\"samples\":[]}\n",
         "output line 2: value: expected more than 0"},
        {"{\"error\":\"out of luck\"}\n", "output line 1: out of luck"},
    };
    struct lull_arena *arena = lull_arena_create(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lull_helper_output output;
        struct lull_error err;
        assert_int_equal(lull_helper_read(cases[i].text, "mpi", arena, &output, &err),
                         LULL_ERR_FORMAT);
        fail_if(strncmp(err.text, cases[i].complaint, strlen(cases[i].complaint)) != 0,
                "'%s' instead of '%s'", err.text, cases[i].complaint);
    }
    lull_arena_destroy(arena);
}

/* Every way of cutting an output off is told, and none is taken for a whole one. */
static void test_cut_off(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    static const char whole[] = HEADER RECORD RECORD END;
    for (size_t length = 0; length + 2 < sizeof whole - 1; length++) {
        char text[sizeof whole];
        struct lull_helper_output output;
        memcpy(text, whole, length);
        text[length] = '\0';
        assert_int_equal(lull_helper_read(text, "mpi", arena, &output, NULL), LULL_ERR_FORMAT);
    }
    lull_arena_destroy(arena);
}

enum { LONG = 1000 }; /* seconds: more than any machine needs */

static lull_status launch(const char *script, double seconds, struct lull_arena *arena,
                          const char **ret_output, struct lull_error *err)
{
    static const char *const environment[] = {"LULL_TEST_WORD=word", NULL};
    const char *const command[] = {"sh", "-c", script, NULL};
    const struct lull_launch launch = {command, environment, seconds, "the end"};
    return lull_launch_run(&launch, arena, ret_output, err);
}

static void test_launch(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err;
    const char *output = NULL;
    assert_int_equal(
        launch("echo one; echo $LULL_TEST_WORD; echo >&2 no; cat", LONG, arena, &output, &err),
        LULL_OK);
    assert_string_equal(output, "one\nword\n");
    assert_int_equal(launch("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done",
                            LONG, arena, &output, &err),
                     LULL_OK);
    assert_int_equal(strlen(output), 20000 * 11);
    /* Launchers draw lines and leave blanks before they speak. */
    assert_int_equal(launch("echo ------- >&2; echo >&2; echo '  run as root? no.' >&2; exit 3",
                            LONG, arena, &output, &err),
                     LULL_ERR_IO);
    assert_string_equal(err.text, "sh: run as root? no.");
    assert_int_equal(launch("exit 3", LONG, arena, &output, &err), LULL_ERR_IO);
    assert_string_equal(err.text, "sh: ended with status 3");
    assert_int_equal(launch("kill -9 $$", LONG, arena, &output, &err), LULL_ERR_IO);
    assert_string_equal(err.text, "sh: ended by signal 9");
    assert_int_equal(launch("exec sleep 100", 0.2, arena, &output, &err), LULL_ERR_IO);
    /* What hangs when all is said, has said it; a last line must be the last, and whole. */
    assert_int_equal(launch("echo one; echo the end; exec sleep 100", LONG, arena, &output, &err),
                     LULL_OK);
    assert_string_equal(output, "one\nthe end\n");
    assert_int_equal(launch("printf 'the end\\none\\n'; exec sleep 100", 0.2, arena, &output, &err),
                     LULL_ERR_IO);
    assert_int_equal(launch("echo not the end; exec sleep 100", 0.2, arena, &output, &err),
                     LULL_ERR_IO);
    assert_string_equal(err.text, "sh: still running after 0 s");
    const char *const missing[] = {"lull-no-such-program", NULL};
    const struct lull_launch command = {missing, NULL, LONG, NULL};
    assert_int_equal(lull_launch_run(&command, arena, &output, &err), LULL_ERR_IO);
    assert_string_equal(err.text, "cannot start 'lull-no-such-program': No such file or directory");
    assert_null(lull_launch_find("lull-no-such-program", arena));
    assert_non_null(lull_launch_find("sh", arena));
    lull_arena_destroy(arena);
}

TEST_GROUP(test_helper)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_cut_off),
                                       cmocka_unit_test(test_launch)};
    return run_cases(tests, NULL, NULL);
}
