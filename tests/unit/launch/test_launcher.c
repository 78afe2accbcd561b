/* Where the programs stand in the command lines of launchers: as their manuals describe them, and
 * as Open MPI 4.1 and Hydra 4.0 were seen to take them. */
#include "launch/launcher.h"
#include "support/folder.h"
#include "support/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_WORDS = 64, MOST_PROGRAMS = 8 };

/* A is a program that is there, B one that is not; the words that must be found stand behind
 * "=>". */
static const char *const lines[] = {
    "mpirun A => A",
    "mpirun B => B",
    "mpirun -n 4 A x y => A",
    "mpirun -np 4 B => B",
    "mpirun -c 2 --oversubscribe A => A",
    "mpirun --bind-to core --map-by ppr:1:node --report-bindings A -n 3 => A",
    "mpirun -x OMP_NUM_THREADS -x A=b -n 1 A => A",
    "mpirun --mca btl self,vader -mca pml ob1 -n 2 A => A",
    "mpirun -host a,b -n 2 A => A",
    "mpirun --host a:2,b:2 B arg => B",
    "mpirun --host=a A => A",
    "mpirun -H a -hostfile hosts -wdir /tmp A => A",
    "mpirun --machinefile hosts --rankfile ranks --output-filename out A => A",
    "mpirun --tag-output --timeout 10 A => A",
    "mpirun --no-such-option 3 A => A", /* 3 is no program */
    "mpirun --no-such-flag A => A",
    "mpirun -n 1 -- A => A",
    "mpirun -n 1 A -- A => A",
    "mpirun -n 1 A : -n 2 B x : A => A B A",
    "mpirun -n 1 A : -host c -x V -n 2 B => A B",
    "mpirun -n 1 A : => A",
    "mpirun --app file =>",
    "mpirun =>",
    "mpirun -n 2 =>",
    "mpirun -n =>",
    "mpirun --version =>",
    "mpirun.openmpi -np 2 A => A",
    "/usr/bin/mpiexec.hydra -n 2 A => A",
    "mpiexec -genvall -n 2 -ppn 1 A => A",
    "mpiexec -genv NAME value -n 2 A => A",
    "mpiexec -genv NAME=value -n 2 A => A",
    "mpiexec -n 1 -env NAME value A : -n 1 -env NAME=value B => A B",
    "mpiexec -f hosts -bind-to core -iface eth0 A => A",
    "mpiexec -n=2 A => A",
    "mpiexec -configfile file =>",
    "mpirun_rsh -np 4 -hostfile hosts MV2_USE_CUDA=0 OMP_NUM_THREADS=2 A => A",
    "srun A => A",
    "srun -n 4 -c 2 B => B",
    "srun -n4 -N2 A => A",
    "srun --ntasks=4 --mpi=pmix --cpu-bind=cores A => A",
    "srun -p queue -t 10 -A account --exclusive A => A",
    "srun --ntasks 4 --mem 2G --time 10:00 A => A",
    "srun -u -l -K A => A",
    "srun -n 1 A : -n 2 B => A B",
    "srun -n 4 --multi-prog file.conf =>",
    "srun --jobid 17 --pty A -i => A",
    "taskset -c 0-3 A -c => A",
    "taskset 0x3 A B => A",
    "taskset --cpu-list 1,2 B => B",
    "numactl -N 0 -m 0 A : B => A",
    "numactl --cpunodebind=0 --localalloc A => A",
    "numactl --physcpubind 0,1 --interleave all B => B",
    "time -v A => A",
    "time -f %e -o file B => B",
    "/usr/bin/time -p A => A",
    "env A => A",
    "env -i -u NAME X=1 Y=2 A Z=3 => A",
    "env -C folder B => B",
    "nice A => A",
    "nice -n 5 A -n 3 => A",
    "nice -5 B => B",
    "ionice -c 2 -n 7 A => A",
    "chrt -f 10 A => A",
    "stdbuf -oL -e 0 A => A",
    "timeout 10 A => A",
    "timeout -k 5 -s TERM --preserve-status 1m mpirun -n 2 A => mpirun",
    "nohup A => A",
    "setsid -w A => A",
    "time =>",
};

static char *there, *missing;

static char *word_for(char *word)
{
    return strcmp(word, "A") == 0 ? there : strcmp(word, "B") == 0 ? missing : word;
}

/* Splits into argv, and what is expected. */
static size_t split(char *line, char **argv, const char **expected)
{
    size_t words = 0, programs = 0;
    bool behind = false;
    char *rest;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "=>") == 0)
            behind = true;
        else if (behind)
            expected[programs++] = word_for(word);
        else
            argv[words++] = word_for(word);
    }
    argv[words] = NULL;
    return programs;
}

static void test_programs(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *line = strdup(lines[i]), *argv[MOST_WORDS];
        const char *expected[MOST_PROGRAMS];
        size_t found[MOST_PROGRAMS], programs = split(line, argv, expected);
        size_t count = lull_launcher_programs(argv, arena, found, MOST_PROGRAMS);
        fail_if(count != programs, "%s: %zu programs, expected %zu", lines[i], count, programs);
        for (size_t p = 0; p < count; p++)
            fail_if(strcmp(argv[found[p]], expected[p]) != 0, "%s: '%s' taken as a program",
                    lines[i], argv[found[p]]);
        free(line);
    }
    lull_arena_destroy(arena);
}

static void test_more_than_asked_for(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    char launcher[] = "mpirun", colon[] = ":";
    char *argv[] = {launcher, there, colon, there, colon, there, NULL};
    size_t found[2] = {0, 0};
    assert_int_equal(lull_launcher_programs(argv, arena, found, 2), 3);
    assert_int_equal(found[0], 1);
    assert_int_equal(found[1], 3);
    lull_arena_destroy(arena);
}

/* Our words stand in front of each program, and nothing else changes. */
static void test_insertion(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    char ours[] = "lull", record[] = "record", *words[] = {ours, record, NULL};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *line = strdup(lines[i]), *argv[MOST_WORDS];
        const char *expected[MOST_PROGRAMS];
        size_t found[MOST_PROGRAMS], programs = split(line, argv, expected);
        char **longer = lull_launcher_insert(argv, words, arena);
        if (programs == 0) {
            assert_null(longer);
            free(line);
            continue;
        }
        lull_launcher_programs(argv, arena, found, MOST_PROGRAMS);
        size_t from = 0, to = 0;
        for (size_t p = 0; argv[from]; from++) {
            if (p < programs && from == found[p]) {
                assert_string_equal(longer[to++], "lull");
                assert_string_equal(longer[to++], "record");
                p++;
            }
            assert_ptr_equal(longer[to++], argv[from]);
        }
        assert_null(longer[to]);
        assert_int_equal(to, from + 2 * programs);
        free(line);
    }
    lull_arena_destroy(arena);
}

/* One program names its run itself, several share one, and a name counts from where we are. */
static void test_output(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    char launcher[] = "mpirun", colon[] = ":", here[4096];
    char *one[] = {launcher, there, NULL}, *two[] = {launcher, there, colon, missing, NULL};
    assert_non_null(getcwd(here, sizeof here));
    assert_null(lull_launcher_output(one, NULL, arena));
    assert_string_equal(lull_launcher_output(two, NULL, arena),
                        lull_arena_printf(arena, "%s/program.lull", here));
    assert_string_equal(lull_launcher_output(one, "run", arena),
                        lull_arena_printf(arena, "%s/run", here));
    assert_string_equal(lull_launcher_output(two, "/tmp/run", arena), "/tmp/run");
    lull_arena_destroy(arena);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const good[] = {"mpirun",         "mpiexec",         "srun",
                                       "/opt/x/mpirun",  "mpirun.openmpi",  "mpiexec.hydra",
                                       "mpirun-mpich-x", "./orterun",       "prterun",
                                       "jsrun",          "/a/mpiexec.mpich"};
    static const char *const bad[] = {"",        "mpi",        "mpirunner", "mympirun", "srunx",
                                      "mpirun/", "/mpirun/sh", "sh",        "mpicc",    "lull"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(lull_is_launcher(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(lull_is_launcher(bad[i]));
}

static int set_up(void **state)
{
    (void)state;
    folder_make();
    there = strdup(folder_path("program"));
    missing = strdup(folder_path("missing"));
    folder_write(there, "#!/bin/sh\n", 10);
    return chmod(there, 0755);
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    free(there);
    free(missing);
    return 0;
}

TEST_GROUP(test_launcher)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),  cmocka_unit_test(test_more_than_asked_for),
        cmocka_unit_test(test_insertion), cmocka_unit_test(test_output),
        cmocka_unit_test(test_names),
    };
    return run_cases(tests, set_up, tear_down);
}
