/* A measured run, its replay, and what if. The trace replay2 and its numbers were worked out by
 * hand: it takes 1000 us, replayed on its network 920 us. */
#include "study/replay/replay_study.h"
#include "support/golden_data.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_notices notices;
static struct lull_replay_study study;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    notices = (struct lull_notices){.arena = arena};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_replay_study_close(&study);
    lull_arena_destroy(arena);
    return 0;
}

static void make_of(const char *name, const struct lull_supposition *supposition)
{
    const char *path = golden_data(name, arena);
    lull_replay_study_close(&study);
    fail_if(lull_replay_study_make(path, supposition, NULL, &notices, arena, &study, &err) !=
                LULL_OK,
            "%s", err.text);
}

static void make(const struct lull_supposition *supposition)
{
    make_of("replay2.prv", supposition);
}

static const struct lull_sweep *networks(const char *text)
{
    struct lull_spec *spec;
    const struct lull_sweep *sweep;
    const struct lull_spec **specs = lull_arena_zero(arena, 1, sizeof *specs);
    fail_if(lull_spec_parse(text, arena, &spec, &err) != LULL_OK, "%s", err.text);
    specs[0] = spec;
    fail_if(lull_sweep_make(specs, 1, arena, &sweep, &err) != LULL_OK, "%s", err.text);
    return sweep;
}

static int64_t runtime(uint32_t run)
{
    return study.runs.runs[run].breakdown->runtime_ns;
}

static void test_nothing_supposed(void **state)
{
    (void)state;
    make(&(struct lull_supposition){0});
    assert_int_equal(study.runs.count, 2);
    assert_string_equal(study.runs.runs[0].name, "measured");
    assert_string_equal(study.runs.runs[1].name, "replayed");
    assert_int_equal(runtime(0), 1000000);
    assert_int_equal(runtime(1), 920000);
    assert_null(study.sweep);
    int speedup = lull_metric_find("speedup");
    assert_float_equal(study.runs.runs[1].values[speedup].value, 1000.0 / 920, 1e-9);
}

static uint64_t useful(uint32_t run, uint32_t thread, uint32_t counter)
{
    return study.runs.runs[run].breakdown->threads[thread].counters[counter * LULL_ACTIVITIES +
                                                                    LULL_USEFUL];
}

/* Rank 0 counts 600 and 400 thousand instructions in 200 us each, 200 thousand cycles in either;
 * rank 1 300 and 400 thousand, in 100 and 200 thousand cycles. What it counts in a send is not
 * useful, also where the replay's send takes no time. */
static void test_counters(void **state)
{
    (void)state;
    static const uint64_t instructions[2] = {1000000, 700000}, cycles[2] = {400000, 300000};
    make_of("counted2.prv", &(struct lull_supposition){.networks = networks("ideal")});
    assert_int_equal(study.runs.count, 3);
    assert_string_equal(study.runs.runs[0].breakdown->counters[0].name, "PAPI_TOT_CYC");
    for (uint32_t run = 0; run < 3; run++)
        for (uint32_t thread = 0; thread < 2; thread++) {
            assert_int_equal(useful(run, thread, 0), cycles[thread]);
            assert_int_equal(useful(run, thread, 1), instructions[thread]);
        }
    int scaling = lull_metric_find("instruction_scaling");
    assert_float_equal(study.runs.runs[2].values[scaling].value, 1, 1e-9);
}

/* Processors as fast as they are change nothing. */
static void test_same_speed(void **state)
{
    (void)state;
    make(&(struct lull_supposition){.cpu_speed = 1});
    assert_int_equal(study.runs.count, 3);
    assert_string_equal(study.runs.runs[2].name, "what if");
    assert_int_equal(runtime(2), runtime(1));
}

/* A point of a sweep takes as long as the same network by itself. */
static void test_sweep(void **state)
{
    (void)state;
    static const char *const alone[] = {"hockney:latency=1us,bandwidth=1e9",
                                        "hockney:latency=50us,bandwidth=1e9"};
    int64_t expected[2];
    for (int i = 0; i < 2; i++) {
        make(&(struct lull_supposition){.networks = networks(alone[i])});
        assert_int_equal(study.runs.count, 3);
        expected[i] = runtime(2);
    }
    assert_true(expected[0] < expected[1]);
    make(
        &(struct lull_supposition){.networks = networks("hockney:latency=1us/50us,bandwidth=1e9")});
    assert_int_equal(study.runs.count, 2);
    assert_int_equal(study.sweep->n_points, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(study.points[i].runtime, expected[i]);
        assert_string_equal(study.points[i].network, "hockney");
    }
}

/* Two processes compute, write and compute again, three times: 100 and 300 us, 100 and 100, 200 and
 * 100, with 50 us of writing between. Without noise each computation takes 100 us, by itself and as
 * a point of a sweep. */
static void test_sweep_without_noise(void **state)
{
    (void)state;
    struct lull_supposition wanted = {.networks = networks("ideal:eager=1e6"),
                                      .what_if = {.no_noise = true}};
    make_of("io2.prv", &wanted);
    assert_int_equal(runtime(0), 1080000);
    assert_int_equal(runtime(2), 3 * 250000);
    wanted.networks = networks("ideal:eager=1e5/1e6");
    make_of("io2.prv", &wanted);
    for (int i = 0; i < 2; i++)
        assert_int_equal(study.points[i].runtime, 3 * 250000);
}

static void check_refused(const char *name, const struct lull_supposition *supposition,
                          const char *part)
{
    const char *path = golden_data(name, arena);
    assert_true(lull_replay_study_make(path, supposition, NULL, &notices, arena, &study, &err) !=
                LULL_OK);
    fail_if(!strstr(err.text, part), "'%s', expected '%s'", err.text, part);
    lull_replay_study_close(&study);
}

static void test_refused(void **state)
{
    (void)state;
    const struct lull_supposition nothing = {0}, region = {.what_if = {.n_regions = 1,
                                                                       .regions = {"nowhere"},
                                                                       .factors = {2}}};
    check_refused("missing.prv", &nothing, "missing.prv");
    check_refused("replay2.prv", &region, "nowhere");
}

static void test_networks_are_checked_first(void **state)
{
    (void)state;
    const struct lull_sweep *read;
    assert_int_equal(lull_replay_networks_read("hockney:latency=1us/2us", arena, &read, &err),
                     LULL_OK);
    assert_int_equal(read->n_points, 2);
    assert_int_equal(lull_replay_networks_read("hockney:latency=1us/-2us", arena, &read, &err),
                     LULL_ERR_RANGE);
    assert_int_equal(lull_replay_networks_read("nothing", arena, &read, &err), LULL_ERR_RANGE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_replay_study)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_supposed),
        TEST(test_counters),
        TEST(test_same_speed),
        TEST(test_sweep),
        TEST(test_sweep_without_noise),
        TEST(test_refused),
        TEST(test_networks_are_checked_first),
    };
    return run_cases(tests, NULL, NULL);
}
