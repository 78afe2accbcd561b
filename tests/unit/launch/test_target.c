/* Which folder the processes of a job take, whenever each of them comes. */
#include "launch/target.h"
#include "support/folder.h"
#include "support/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct lull_arena *arena;

/* Whatever has started the test, nothing has. */
static void forget_launchers(void)
{
    static const char *const begins[] = {"OMPI_", "PMIX_", "PMI_", "SLURM_", "MPI_",   "MV2_",
                                         "FLUX_", "JSM_",  "LSB_", "PALS_",  "MPIRUN_"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        for (size_t v = 0; environ[v];) {
            char name[128];
            const size_t length = strcspn(environ[v], "=");
            snprintf(name, sizeof name, "%.*s", (int)length, environ[v]);
            if (strncmp(name, begins[i], strlen(begins[i])) == 0 && length < sizeof name)
                unsetenv(name); /* the next one takes its place */
            else
                v++;
        }
}

static int set_up(void **state)
{
    (void)state;
    forget_launchers();
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

/* What launchers set for a process, in the words of their documents and sources; %1, %2 stand for
 * its rank and its rank on its node, %3 for the job. Three of the five processes are on this
 * node. */
static const struct launched {
    const char *launcher;
    const char *variables[16];
    enum lull_mpi_family family;
    bool sized, placed;
} launched[] = {
    {"mpirun of Open MPI",
     {"OMPI_COMM_WORLD_RANK=%1", "OMPI_COMM_WORLD_SIZE=5", "OMPI_COMM_WORLD_LOCAL_RANK=%2",
      "OMPI_COMM_WORLD_LOCAL_SIZE=3", "PMIX_NAMESPACE=prterun-node-%3@1", "PMIX_RANK=%1"},
     LULL_MPI_OPENMPI,
     true,
     true},
    {"srun --mpi=pmi2",
     {"SLURM_JOB_ID=%3", "SLURM_STEP_ID=0", "SLURM_PROCID=%1", "SLURM_LOCALID=%2", "SLURM_NTASKS=5",
      "PMI_JOBID=%3.0", "PMI_RANK=%1", "PMI_SIZE=5"},
     LULL_MPI_MPICH,
     true,
     false},
    {"srun --mpi=pmix",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=%3", "SLURM_PROCID=%1", "SLURM_NTASKS=5", "PMIX_RANK=%1",
      "PMIX_NAMESPACE=slurm.pmix.7.%3"},
     LULL_MPI_OPENMPI,
     true,
     false},
    {"srun --mpi=none, a step of a job",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=%3", "SLURM_PROCID=%1", "SLURM_NTASKS=5"},
     LULL_MPI_NONE,
     true,
     false},
    {"srun --mpi=cray_shasta",
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=%3", "SLURM_PROCID=%1", "SLURM_NTASKS=5", "PALS_APID=7.%3",
      "PALS_RANKID=%1", "PALS_LOCAL_RANKID=%2", "PMI_RANK=%1", "PMI_SIZE=5", "PMI_LOCAL_RANK=%2",
      "PMI_LOCAL_SIZE=3"},
     LULL_MPI_MPICH,
     true,
     true},
    {"mpiexec of PALS under PBS",
     {"PBS_JOBID=7.server", "PALS_APID=a-%3", "PALS_RANKID=%1", "PALS_LOCAL_RANKID=%2",
      "PMI_RANK=%1", "PMI_SIZE=5", "PMI_LOCAL_RANK=%2", "PMI_LOCAL_SIZE=3"},
     LULL_MPI_MPICH,
     true,
     true},
    {"mpiexec of PALS without PMI",
     {"PALS_APID=a-%3", "PALS_RANKID=%1"},
     LULL_MPI_NONE,
     false,
     false},
    {"jsrun of LSF with Spectrum MPI",
     {"LSB_JOBID=7", "JSM_NAMESPACE_RANK=%1", "JSM_NAMESPACE_SIZE=5", "JSM_NAMESPACE_LOCAL_RANK=%2",
      "JSM_NAMESPACE_LOCAL_SIZE=3", "OMPI_COMM_WORLD_RANK=%1", "OMPI_COMM_WORLD_SIZE=5",
      "PMIX_NAMESPACE=%3", "PMIX_RANK=%1"},
     LULL_MPI_OPENMPI,
     true,
     true},
    {"jsrun of LSF",
     {"LSB_JOBID=%3", "JSM_NAMESPACE_RANK=%1", "JSM_NAMESPACE_SIZE=5",
      "JSM_NAMESPACE_LOCAL_RANK=%2", "JSM_NAMESPACE_LOCAL_SIZE=3"},
     LULL_MPI_NONE,
     true,
     true},
    {"flux run, which speaks PMI",
     {"FLUX_JOB_ID=f%3", "FLUX_JOB_SIZE=5", "FLUX_JOB_NNODES=2", "FLUX_TASK_RANK=%1",
      "FLUX_TASK_LOCAL_ID=%2", "PMI_RANK=%1", "PMI_SIZE=5", "PMI_FD=7"},
     LULL_MPI_MPICH,
     true,
     false},
    {"flux run -o pmi=pmix",
     {"FLUX_JOB_ID=f%3", "FLUX_JOB_SIZE=5", "FLUX_TASK_RANK=%1", "PMIX_RANK=%1",
      "PMIX_NAMESPACE=f%3"},
     LULL_MPI_OPENMPI,
     true,
     false},
    {"flux run -o pmi=off",
     {"FLUX_JOB_ID=f%3", "FLUX_JOB_SIZE=5", "FLUX_TASK_RANK=%1", "FLUX_TASK_LOCAL_ID=%2"},
     LULL_MPI_NONE,
     true,
     false},
    {"mpirun_rsh of MVAPICH",
     {"MPIRUN_ID=%3", "MPIRUN_NPROCS=5", "PMI_ID=%1", "MV2_COMM_WORLD_RANK=%1",
      "MV2_COMM_WORLD_SIZE=5", "MV2_COMM_WORLD_LOCAL_RANK=%2", "MV2_COMM_WORLD_LOCAL_SIZE=3"},
     LULL_MPI_MPICH,
     true,
     true},
};

static struct lull_job launch(const struct launched *how, uint32_t rank, uint32_t local, int key)
{
    const struct lull_executable executable = {.mpi = LULL_MPI_MPICH};
    struct lull_job job;
    forget_launchers();
    for (size_t i = 0; how->variables[i]; i++) {
        char text[128];
        size_t length = 0;
        for (const char *at = how->variables[i]; *at; at++) {
            const long number = at[0] != '%'   ? -1
                                : at[1] == '1' ? (long)rank
                                : at[1] == '2' ? (long)local
                                               : key;
            length += number < 0 ? (size_t)snprintf(text + length, 2, "%c", *at)
                                 : (size_t)snprintf(text + length, 16, "%ld", number);
            at += number >= 0;
        }
        char *value = strchr(text, '=');
        *value = '\0';
        setenv(text, value + 1, 1);
    }
    lull_job_describe(&executable, arena, &job);
    return job;
}

static void test_launchers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof launched / sizeof *launched; i++) {
        const struct launched *how = &launched[i];
        print_message("%s\n", how->launcher);
        const struct lull_job first = launch(how, 0, 0, 41), last = launch(how, 4, 1, 41),
                              other = launch(how, 0, 0, 42);
        assert_true(first.parallel && last.parallel);
        assert_int_equal(first.family, how->family);
        assert_int_equal(last.rank, 4);
        assert_int_equal(last.size, 5);
        assert_int_equal(first.size, how->sized ? 5 : 1);
        assert_int_equal(last.node_size, how->placed ? 3 : 0);
        assert_int_equal(last.node_rank, how->placed ? 1 : 0);
        assert_true(last.tell_rank || getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") ||
                    getenv("PMIX_RANK") || getenv("SLURM_PROCID")); /* the recorder reads these */
        /* One folder for all processes of a job, whatever node they are on, and for no other. */
        assert_string_equal(first.key, last.key);
        assert_string_not_equal(first.key, other.key);
        /* No key is made of what differs between nodes. */
        char host[256], parent[64];
        gethostname(host, sizeof host);
        snprintf(parent, sizeof parent, "/%d/", (int)getppid());
        assert_true(!strstr(first.key, parent) || !strstr(first.key, host));
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_target)
{
    const struct CMUnitTest tests[] = {TEST(test_late), TEST(test_others), TEST(test_siblings),
                                       TEST(test_launchers)};
    return run_cases(tests, NULL, NULL);
}
