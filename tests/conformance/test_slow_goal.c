/* The slow reference simulator against the results of LogGOPSim: it must itself be right before
 * the engine is compared with it. */
#include "support/slow_goal.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[3000];

static char *read_file(const char *name)
{
    char path[3200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "r");
    if (!in)
        return NULL;
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0 && feof(in));
    fclose(in);
    return text;
}

static void check(const char *name, char set, const struct slow_network *network)
{
    char file[200];
    struct slow_result result;
    snprintf(file, sizeof file, "%s.goal", name);
    char *text = read_file(file);
    snprintf(file, sizeof file, "%s.%c.expected", name, set);
    char *expected = read_file(file), *at = expected;
    fail_if(!text || !expected, "%s/%s: cannot read", folder, file);
    slow_goal_run(text, network, &result);
    assert_true(result.complete);
    for (unsigned r = 0; r < result.n_ranks; r++) {
        unsigned long rank = strtoul(at, &at, 10);
        long long end = strtoll(at, &at, 10);
        fail_if(rank != r || end != result.ends[r], "%s: rank %u ends at %lld, expected %lld", file,
                r, (long long)result.ends[r], end);
    }
    free(result.ends);
    free(text);
    free(expected);
}

static void gives_the_reference_results(void **state)
{
    (void)state;
    static const char *const names[] = {
        "c16_bintreereduce_16",   "c18_dissemination_128",
        "c21_linear_alltoall_32", "h01_pingpong",
        "h02_rdv_late_recv",      "h03_rdv_late_send",
        "h04_irequires_overlap",  "h05_anysource",
        "h06_fan_out_in",         "s13_stencil_8x8",
        "s15_stencil_8x4_rdv",    "w07_wave_uni_d1",
        "w09_wave_bi_d1_rdv",     "w11_wave_bi_compact3_split",
    };
    const struct slow_network a = {2500, 1500, 1000, 6, 0, 65535};
    const struct slow_network d = {700, 0, 0, 0, 0, 1000000000};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check(names[i], 'A', &a);
        check(names[i], 'D', &d);
    }
}

TEST_GROUP(test_slow_goal)
{
    const char *traces = getenv("LULL_CONFORMANCE_DIR");
    struct stat info;
    snprintf(folder, sizeof folder, "%s/../golden/goal", traces ? traces : "../../shared/traces");
    if (stat(folder, &info) != 0) {
        printf("skipped: no reference schedules in '%s'\n", folder);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(gives_the_reference_results)};
    return run_cases(tests, NULL, NULL);
}
