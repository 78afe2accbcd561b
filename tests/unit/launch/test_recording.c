/* A program is made ready to be recorded, or runs as it is with one line that says why not. Here no
 * recorder lies beside the program that asks; tests/record has those that are loaded. */
#include "launch/recording.h"

#include "launch/executable.h"
#include "support/folder.h"
#include "support/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct lull_arena *arena;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    /* What the launchers of MPI say of their processes. */
    static const char *const names[] = {
        "LD_PRELOAD", "LULL_RECORD_DIR", "PMI_RANK",     "PMI_SIZE",  "OMPI_COMM_WORLD_RANK",
        "PMIX_RANK",  "SLURM_PROCID",    "SLURM_NTASKS", "PMI_JOBID", "SLURM_JOB_ID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
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

/* Nothing is recorded, nothing is changed. */
static struct lull_recording prepare(const char *word)
{
    char *command[] = {lull_arena_strdup(arena, word), NULL};
    const struct lull_recording_wish wish = {.output = folder_path("run"), .command = command};
    struct lull_recording recording;
    assert_int_equal(lull_recording_prepare(&wish, arena, &recording, &err), LULL_OK);
    assert_null(recording.library);
    assert_null(getenv("LULL_RECORD_DIR"));
    assert_null(getenv("LD_PRELOAD"));
    struct stat info;
    assert_int_not_equal(stat(folder_path("run"), &info), 0);
    return recording;
}

static void test_missing_program(void **state)
{
    (void)state;
    struct lull_recording recording = prepare(folder_path("missing"));
    assert_null(recording.executable.path);
    assert_null(recording.warning); /* who starts it says it best */
}

static void test_no_program_of_this_machine(void **state)
{
    (void)state;
    const char *path = folder_path("text");
    folder_write(path, "no program\n", 11);
    assert_int_equal(chmod(path, 0755), 0);
    assert_string_equal(prepare(path).warning,
                        "'text' is no program of this machine that could be looked into; it runs "
                        "without recording");
}

static void test_no_recorder(void **state)
{
    (void)state;
    assert_string_equal(prepare("/proc/self/exe").warning,
                        "liblull-record.so: not found beside lull; 'exe' runs without recording");
}

static void test_warning_of_rank_0_only(void **state)
{
    (void)state;
    setenv("PMI_SIZE", "2", 1);
    setenv("PMI_RANK", "0", 1);
    assert_non_null(prepare("/proc/self/exe").warning);
    setenv("PMI_RANK", "1", 1);
    struct lull_recording recording = prepare("/proc/self/exe");
    assert_int_equal(recording.job.rank, 1);
    assert_null(recording.warning);
}

static void test_own_folders(void **state)
{
    (void)state;
    const char *own = lull_own_path(arena);
    const char *const *folders = lull_own_folders(arena);
    size_t length = strlen(folders[0]);
    assert_memory_equal(own, folders[0], length);
    assert_string_equal(own + length, strrchr(own, '/'));
    assert_memory_equal(folders[1], folders[0], length);
    assert_memory_equal(folders[1] + length, "/../", 4);
    assert_null(folders[2]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_recording)
{
    const struct CMUnitTest tests[] = {
        TEST(test_missing_program), TEST(test_no_program_of_this_machine),
        TEST(test_no_recorder),     TEST(test_warning_of_rank_0_only),
        TEST(test_own_folders),
    };
    return run_cases(tests, NULL, NULL);
}
