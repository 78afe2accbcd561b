/* The engine in its LogGOPSim-compatible mode gives exactly the end times of the reference
 * schedules. */
#include "sim/engine/engine.h"
#include "sim/goal/goal.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char folder[1024];

static const char *const names[] = {
    "c16_bintreereduce_16",   "c18_dissemination_128",
    "c21_linear_alltoall_32", "h01_pingpong",
    "h02_rdv_late_recv",      "h03_rdv_late_send",
    "h04_irequires_overlap",  "h05_anysource",
    "h06_fan_out_in",         "s13_stencil_8x8",
    "s15_stencil_8x4_rdv",    "w07_wave_uni_d1",
    "w09_wave_bi_d1_rdv",     "w11_wave_bi_compact3_split",
};

static struct lull_network network_of(char set)
{
    static const double of_a[] = {2500, 1500, 1000, 6, 0, 65535}, of_d[] = {700, 0, 0, 0, 0, 1e9};
    static const char *const keys[] = {"L", "o", "g", "G", "O", "S"};
    struct lull_network network;
    const struct lull_network_class *class = lull_network_find("loggops-compat");
    assert_non_null(class);
    lull_network_init(&network, class);
    for (unsigned i = 0; i < 6; i++)
        lull_network_set(&network, lull_network_parameter(class, keys[i]), LULL_LEVELS,
                         set == 'A' ? of_a[i] : of_d[i]);
    return network;
}

static void compare(const char *name, char set, const struct lull_sim_result *result)
{
    char path[1200];
    unsigned rank, n = 0;
    long long end;
    snprintf(path, sizeof path, "%s/%s.%c.expected", folder, name, set);
    FILE *file = fopen(path, "r");
    fail_if(!file, "cannot open %s", path);
    for (; fscanf(file, "%u %lld", &rank, &end) == 2; n++)
        fail_if(rank >= result->n_ranks || result->ranks[rank].end != end,
                "%s %c: rank %u ends at %lld, not at %lld", name, set, rank,
                (long long)result->ranks[rank].end, end);
    fclose(file);
    assert_int_equal(n, result->n_ranks);
}

static void run(const char *name, char set, bool with_path)
{
    char path[1200];
    struct lull_error err = {""};
    struct lull_program *program;
    struct lull_sim_result result;
    struct lull_network network = network_of(set);
    struct lull_sim_options options = {.network = &network, .path = with_path};
    struct lull_arena *arena = lull_arena_create(NULL);
    snprintf(path, sizeof path, "%s/%s.goal", folder, name);
    fail_if(lull_goal_open(path, &program, &err) != LULL_OK ||
                lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    compare(name, set, &result);
    int64_t sum = 0;
    for (unsigned i = 0; i < LULL_PATH_PARTS; i++)
        sum += result.path[i];
    assert_int_equal(sum, with_path ? result.runtime : 0);
    if (set == 'D') /* nothing but latency costs anything */
        assert_int_equal(sum, result.path[LULL_PATH_COMPUTE] + result.path[LULL_PATH_LATENCY]);
    lull_program_close(program);
    lull_arena_destroy(arena);
}

static void end_times_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (unsigned with_path = 0; with_path < 2; with_path++) {
            run(names[i], 'A', with_path);
            run(names[i], 'D', with_path);
        }
}

TEST_GROUP(test_goal_golden)
{
    const char *traces = getenv("LULL_CONFORMANCE_DIR");
    struct stat info;
    snprintf(folder, sizeof folder, "%s/../golden/goal", traces ? traces : "../../shared/traces");
    if (stat(folder, &info) != 0) {
        printf("skipped: no reference schedules in '%s'\n", folder);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(end_times_are_exact)};
    return run_cases(tests, NULL, NULL);
}
