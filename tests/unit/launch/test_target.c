/* Which folder the processes of a job take, whenever each of them comes. */
#include "launch/target.h"
#include "support/folder.h"
#include "support/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct lull_arena *arena;

static int set_up(void **state)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "SLURM_PROCID",
                                        "MPI_LOCALRANKID",
                                        "PMI_JOBID",
                                        "SLURM_STEP_ID",
                                        "OMPI_MCA_orte_precondition_transports"};
    (void)state;
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

/* A process as its launcher describes it. */
static struct lull_job job_of(const char *key, const char *rank, const char *size)
{
    const struct lull_executable executable = {.mpi = LULL_MPI_MPICH};
    struct lull_job job;
    setenv("PMI_JOBID", key, 1);
    setenv("PMI_RANK", rank, 1);
    setenv("PMI_SIZE", size, 1);
    lull_job_describe(&executable, arena, &job);
    return job;
}

static enum lull_target_found claim(const struct lull_job *job, bool number, const char **ret_path)
{
    const struct lull_target_options options = {.number = number};
    struct lull_error err;
    return lull_target_claim(folder_path("run.lull"), job, &options, arena, ret_path, &err);
}

static void make_old(const char *name)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, folder_path(name), times, 0), 0);
}

/* Nodes may begin minutes or hours apart. */
static void test_late(void **state)
{
    (void)state;
    const char *first, *late;
    struct lull_job job = job_of("17", "0", "2");
    assert_int_equal(claim(&job, false, &first), LULL_TARGET_MADE);
    make_old("run.lull/job");
    make_old("run.lull");
    job = job_of("17", "1", "2");
    assert_int_equal(claim(&job, false, &late), LULL_TARGET_MADE);
    assert_string_equal(first, late);
}

/* What is there of another job is left alone: of another key, of another number of processes
 * or with this process in it. */
static void test_others(void **state)
{
    (void)state;
    const char *path;
    struct lull_job job = job_of("17", "0", "2"), other = job_of("18", "1", "2"),
                    larger = job_of("17", "2", "3");
    assert_int_equal(claim(&job, false, &path), LULL_TARGET_MADE);
    assert_int_equal(claim(&other, false, &path), LULL_TARGET_EXISTS);
    assert_int_equal(claim(&larger, false, &path), LULL_TARGET_EXISTS);
    assert_int_equal(claim(&other, true, &path), LULL_TARGET_MADE);
    assert_string_equal(path, folder_path("run-2.lull"));
    assert_int_equal(mkdir(folder_path("run.lull/0"), 0700), 0);
    folder_write(folder_path("run.lull/0/0.tape"), "", 0);
    assert_int_equal(claim(&job, false, &path), LULL_TARGET_EXISTS);
}

/* Processes whose launcher tells nothing: siblings are together while one of them lives, which this
 * process does. A program without MPI is never together with another. */
static void test_siblings(void **state)
{
    (void)state;
    const char *first, *second;
    const struct lull_executable executable = {.mpi = LULL_MPI_MPICH},
                                 serial = {.mpi = LULL_MPI_NONE};
    struct lull_job job = {.siblings = true, .size = 1, .key = "host/1/2"}, alone;
    assert_int_equal(claim(&job, false, &first), LULL_TARGET_MADE);
    assert_int_equal(claim(&job, false, &second), LULL_TARGET_MADE);
    assert_string_equal(first, second);
    folder_write(folder_path("run.lull/job"), "host/1/2\n1 0", 12); /* it did not start then */
    assert_int_equal(claim(&job, false, &first), LULL_TARGET_EXISTS);
    lull_job_describe(&serial, arena, &alone);
    assert_false(alone.siblings || alone.parallel);
    lull_job_describe(&executable, arena, &job);
    assert_false(job.parallel);
    assert_string_not_equal(job.key, alone.key);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_target)
{
    const struct CMUnitTest tests[] = {TEST(test_late), TEST(test_others), TEST(test_siblings)};
    return run_cases(tests, NULL, NULL);
}
