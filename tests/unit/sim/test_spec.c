/* The grammar of specs. */
#include "sim/spec.h"
#include "support/arena_case.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_error err;

static struct lull_spec *parsed(const char *text)
{
    struct lull_spec *spec = NULL;
    fail_if(lull_spec_parse(text, arena, &spec, &err) != LULL_OK, "'%s': %s", text, err.text);
    return spec;
}

static const struct lull_parameter latency = {"L", "", LULL_TIME_NS, 7, 0, 1e9, true};
static const struct lull_parameter bandwidth = {"B", "", LULL_BANDWIDTH, 5, 1, INFINITY, true};
static const struct lull_parameter gap = {"G", "", LULL_TIME_PER_BYTE, 3, 0, 1e6, true};
static const struct lull_parameter ratio = {"f", "", LULL_FACTOR, 1, 0.01, 100, false};
static const struct lull_parameter limit = {"S", "", LULL_BYTES, 9, 0, 1e18, false};
static const struct lull_parameter buses = {"n", "", LULL_COUNT, 2, 0, 1000, false};

static void test_names_and_keys(void **state)
{
    (void)state;
    struct lull_spec *spec = parsed("ideal");
    assert_string_equal(lull_spec_name(spec), "ideal");
    assert_int_equal(lull_spec_finish(spec, &err), LULL_OK);
    spec = parsed("loggops-compat:L=2500,node.L=300ns,file=a:b=c");
    assert_string_equal(lull_spec_name(spec), "loggops-compat");
    assert_string_equal(lull_spec_string(spec, "L", ""), "2500");
    assert_string_equal(lull_spec_string(spec, "node.L", ""), "300ns");
    assert_string_equal(lull_spec_string(spec, "file", ""), "a:b=c");
    assert_string_equal(lull_spec_string(spec, "x", "none"), "none");
    assert_int_equal(lull_spec_finish(spec, &err), LULL_OK);
}

static void test_bad_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "'' is no spec, expected NAME:KEY=VALUE,... or FILE.json"},
        {"L=1", "'L=1' is no spec, expected NAME:KEY=VALUE,... or FILE.json"},
        {"1a:L=1", "'1a:L=1' is no spec, expected NAME:KEY=VALUE,... or FILE.json"},
        {"a:", "a: '' is not KEY=VALUE"},
        {"a:L", "a: 'L' is not KEY=VALUE"},
        {"a:L=", "a: 'L=' is not KEY=VALUE"},
        {"a:=1", "a: '=1' is not KEY=VALUE"},
        {"a:L=1,", "a: '' is not KEY=VALUE"},
        {"a:L=1,,o=2", "a: '' is not KEY=VALUE"},
        {"a:L=1,L=2", "a: L is given twice"},
        {"a:9L=1", "a: '9L' is no key"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lull_spec *spec;
        assert_int_equal(lull_spec_parse(bad[i].text, arena, &spec, &err), LULL_ERR_RANGE);
        assert_string_equal(err.text, bad[i].message);
    }
}

static double number(const char *text, const struct lull_parameter *parameter)
{
    double value = NAN;
    fail_if(lull_spec_number(parsed(text), parameter, &value, &err) != LULL_OK, "'%s': %s", text,
            err.text);
    return value;
}

static void test_numbers(void **state)
{
    (void)state;
    assert_true(number("a", &latency) == 7);
    assert_true(number("a:L=2500", &latency) == 2500);
    assert_true(number("a:L=2.5us", &latency) == 2500);
    assert_true(number("a:L=0.25", &latency) == 0.25);
    assert_true(number("a:B=10GB/s", &bandwidth) == 1e10);
    assert_true(number("a:B=10GB", &bandwidth) == 1e10);
    assert_true(number("a:B=1KiB/s", &bandwidth) == 1024);
    assert_true(number("a:B=inf", &bandwidth) == INFINITY);
    assert_true(number("a:G=6", &gap) == 6);
    assert_true(number("a:G=0.125ns/B", &gap) == 0.125);
    assert_true(number("a:G=1us/B", &gap) == 1000);
    assert_true(number("a:f=150%", &ratio) == 1.5);
    assert_true(number("a:f=0.5", &ratio) == 0.5);
    assert_true(number("a:S=64KiB", &limit) == 65536);
    assert_true(number("a:S=65535", &limit) == 65535);
    assert_true(number("a:n=12", &buses) == 12);
}

static void test_bad_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const struct lull_parameter *parameter;
        const char *message;
    } bad[] = {
        {"a:L=-5", &latency, "a: L is -5, expected 0 ns to 1.000 s"},
        {"a:L=2s", &latency, "a: L is 2s, expected 0 ns to 1.000 s"},
        {"a:L=nan", &latency, "a: L is 'nan', expected a time as in 1.5us"},
        {"a:L=inf", &latency, "a: L is 'inf', expected a time as in 1.5us"},
        {"a:L=5kB", &latency, "a: L is '5kB', expected a time as in 1.5us"},
        {"a:B=0", &bandwidth, "a: B is 0, expected at least 1 B/s"},
        {"a:B=fast", &bandwidth, "a: B is 'fast', expected a bandwidth as in 10GB/s"},
        {"a:G=-1", &gap, "a: G is -1, expected 0 ns/B to 1e+06 ns/B"},
        {"a:f=1ns", &ratio, "a: f is '1ns', expected a factor as in 1.5 or 150%"},
        {"a:f=1000", &ratio, "a: f is 1000, expected 0.01 to 100"},
        {"a:S=-1", &limit, "a: S is '-1', expected a size as in 4KiB"},
        {"a:n=1.5", &buses, "a: n is '1.5', expected a whole number"},
        {"a:n=1001", &buses, "a: n is 1001, expected 0 to 1000"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 99;
        assert_int_equal(lull_spec_number(parsed(bad[i].text), bad[i].parameter, &value, &err),
                         LULL_ERR_RANGE);
        assert_string_equal(err.text, bad[i].message);
        assert_true(value == 99);
    }
}

static void test_levels(void **state)
{
    (void)state;
    struct lull_spec *spec = parsed("a:L=1us,node.L=300ns");
    double values[2] = {0, 5};
    assert_int_equal(lull_spec_number(spec, &latency, &values[0], &err), LULL_OK);
    assert_int_equal(lull_spec_level_number(spec, "core", &latency, &values[1], &err), LULL_OK);
    assert_true(values[0] == 1000 && values[1] == 5);
    assert_int_equal(lull_spec_level_number(spec, "node", &latency, &values[1], &err), LULL_OK);
    assert_true(values[1] == 300);
    assert_int_equal(lull_spec_finish(spec, &err), LULL_OK);
}

static void test_unknown(void **state)
{
    (void)state;
    struct lull_spec *spec = parsed("net:latncy=1");
    lull_spec_string(spec, "latency", NULL);
    lull_spec_string(spec, "bandwidth", NULL);
    lull_spec_string(spec, "node.latency", NULL);
    assert_int_equal(lull_spec_finish(spec, &err), LULL_ERR_RANGE);
    assert_string_equal(
        err.text, "net: unknown key 'latncy', did you mean 'latency'? known: latency, bandwidth");
    static const char *const names[] = {"loggops", "hockney", "ideal", NULL};
    assert_int_equal(lull_spec_unknown_name(parsed("hokney"), "network", names, &err),
                     LULL_ERR_RANGE);
    assert_string_equal(err.text, "unknown network 'hokney', did you mean 'hockney'? known: "
                                  "loggops, hockney, ideal");
}

static void test_words_and_counts(void **state)
{
    (void)state;
    static const char *const words[] = {"open", "periodic", NULL};
    struct lull_spec *spec = parsed("chain:boundary=periodic,ranks=64,wait=some");
    unsigned choice;
    uint64_t count;
    assert_int_equal(lull_spec_choice(spec, "boundary", words, 0, &choice, &err), LULL_OK);
    assert_int_equal(choice, 1);
    assert_int_equal(lull_spec_choice(spec, "other", words, 0, &choice, &err), LULL_OK);
    assert_int_equal(choice, 0);
    assert_int_equal(lull_spec_choice(spec, "wait", words, 0, &choice, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "chain: wait is 'some', expected open or periodic");
    assert_int_equal(lull_spec_count(spec, "ranks", 1, 1, 100, &count, &err), LULL_OK);
    assert_true(count == 64);
    assert_int_equal(lull_spec_count(spec, "none", 3, 1, 100, &count, &err), LULL_OK);
    assert_true(count == 3);
    assert_int_equal(lull_spec_count(spec, "ranks", 1, 1, 63, &count, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "chain: ranks is 64, expected 1 to 63");
}

static void test_lists(void **state)
{
    (void)state;
    struct lull_spec *spec =
        parsed("a:d=1+2+5-8,t=1ms+2us+3,e=8x4x2,bad=1+,down=3-1,deep=1x2x3x4,huge=70000x70000,"
               "long=0-99999999");
    const uint32_t *list;
    const int64_t *times;
    uint32_t count, extents[3];
    assert_int_equal(lull_spec_list(spec, "d", 1, 8, &list, &count, &err), LULL_OK);
    static const uint32_t want[] = {1, 2, 5, 6, 7, 8};
    assert_int_equal(count, 6);
    assert_memory_equal(list, want, sizeof want);
    assert_int_equal(lull_spec_list(spec, "d", 1, 7, &list, &count, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "a: d holds 5-8, expected 1 to 7");
    assert_int_equal(lull_spec_list(spec, "bad", 1, 7, &list, &count, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_spec_list(spec, "down", 1, 7, &list, &count, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_spec_list(spec, "long", 0, UINT32_MAX, &list, &count, &err),
                     LULL_ERR_RANGE);
    assert_int_equal(lull_spec_list(spec, "no", 1, 7, &list, &count, &err), LULL_OK);
    assert_int_equal(count, 0);
    assert_int_equal(lull_spec_times(spec, "t", &times, &count, &err), LULL_OK);
    assert_int_equal(count, 3);
    assert_true(times[0] == 1000000 && times[1] == 2000 && times[2] == 3);
    assert_int_equal(lull_spec_extents(spec, "e", 64, extents, &count, &err), LULL_OK);
    assert_true(count == 3 && extents[0] == 8 && extents[1] == 4 && extents[2] == 2);
    assert_int_equal(lull_spec_extents(spec, "e", 63, extents, &count, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_spec_extents(spec, "deep", 64, extents, &count, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_spec_extents(spec, "huge", UINT32_MAX, extents, &count, &err),
                     LULL_ERR_RANGE);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *file(const char *content)
{
    static char path[] = "/tmp/lull-test-spec.XXXXXX.json";
    snprintf(path, sizeof path, "/tmp/lull-test-spec.XXXXXX.json");
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    fputs(content, out);
    fclose(out);
    return path;
}

static void test_files(void **state)
{
    (void)state;
    const char *path = file("{\"name\": \"hockney\", \"L\": \"1us\", \"S\": 4096, \"f\": 0.1,\n"
                            " \"d\": [1, 2, \"5-6\"], \"node\": {\"L\": 300}, \"on\": true}");
    struct lull_spec *spec = parsed(path);
    double value = 0;
    const uint32_t *list;
    uint32_t count;
    assert_string_equal(lull_spec_name(spec), "hockney");
    assert_string_equal(lull_spec_text(spec), path);
    assert_int_equal(lull_spec_number(spec, &latency, &value, &err), LULL_OK);
    assert_true(value == 1000);
    assert_int_equal(lull_spec_level_number(spec, "node", &latency, &value, &err), LULL_OK);
    assert_true(value == 300);
    assert_int_equal(lull_spec_number(spec, &ratio, &value, &err), LULL_OK);
    assert_true(value == 0.1);
    assert_int_equal(lull_spec_number(spec, &limit, &value, &err), LULL_OK);
    assert_true(value == 4096);
    assert_int_equal(lull_spec_list(spec, "d", 0, 9, &list, &count, &err), LULL_OK);
    assert_int_equal(count, 4);
    assert_string_equal(lull_spec_string(spec, "on", ""), "yes");
    assert_int_equal(lull_spec_finish(spec, &err), LULL_OK);

    char text[200];
    snprintf(text, sizeof text, "%s:L=2us", path);
    spec = parsed(text);
    assert_int_equal(lull_spec_number(spec, &latency, &value, &err), LULL_OK);
    assert_true(value == 2000);
    remove(path);
}

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *content, *message;
    } bad[] = {
        {"{\"name\": \"a\", ", "line 1"},
        {"[1]", "expected a JSON object with \"name\""},
        {"{\"L\": 1}", "expected a JSON object with \"name\""},
        {"{\"name\": \"a\", \"L\": null}", "L: expected a number, a text or a list of these"},
        {"{\"name\": \"a\", \"L\": [[1]]}", "L: expected a number, a text or a list of these"},
        {"{\"name\": \"a\", \"node\": {\"x\": {\"y\": 1}}}", "node.x: an object too deep"},
        {"{\"name\": \"a\", \"L\": 1, \"L\": 2}", "duplicate"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = file(bad[i].content);
        struct lull_spec *spec;
        assert_int_equal(lull_spec_parse(path, arena, &spec, &err), LULL_ERR_FORMAT);
        fail_if(strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, bad[i].message),
                "%s gives '%s'", bad[i].content, err.text);
        remove(path);
    }
    struct lull_spec *spec;
    assert_int_equal(lull_spec_parse("/nowhere/at/all.json", arena, &spec, &err), LULL_ERR_IO);
    assert_int_equal(lull_spec_parse("/tmp", arena, &spec, &err), LULL_ERR_IO);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

static const struct lull_sweep *sweep_of(const char *text)
{
    const struct lull_spec **specs = lull_arena_zero(arena, 2, sizeof *specs);
    specs[1] = parsed(text);
    const struct lull_sweep *sweep;
    fail_if(lull_sweep_make(specs, 2, arena, &sweep, &err) != LULL_OK, "'%s': %s", text, err.text);
    return sweep;
}

static void expect_values(const char *text, const char *values)
{
    const struct lull_sweep *sweep = sweep_of(text);
    char got[500] = "";
    for (uint32_t i = 0; sweep->n_axes > 0 && i < sweep->axes[0].n_values; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "",
                 sweep->axes[0].values[i]);
    assert_string_equal(got, values);
}

static void test_sweep_values(void **state)
{
    (void)state;
    expect_values("a:L=1:5:3", "1 3 5");
    expect_values("a:L=0:1us:5", "0us 0.25us 0.5us 0.75us 1us");
    expect_values("a:L=500ns:1us:2", "0.5us 1us");
    expect_values("a:B=1GB/s:4GB/s:3:log", "1GB/s 2GB/s 4GB/s");
    expect_values("a:B=500MB/s:1GB/s:2", "0.5GB/s 1GB/s");
    expect_values("a:f=0.1:0.3:3", "0.1 0.2 0.3");
    expect_values("a:n=1:10:4:log", "1 2 5 10");
    expect_values("a:L=1us/2us/8us", "1us 2us 8us");
    expect_values("a:B=1GB/s/2GB/s", "1GB/s 2GB/s");
    expect_values("a:e=8x8/16x16", "8x8 16x16");
    expect_values("a:n=5/-3/.5", "5 -3 .5");
    expect_values("a:w=all/each/distance", "all each distance");
    expect_values("a:d=1/1+2/1+2+3", "1 1+2 1+2+3");
    expect_values("a:n=3:1:3", "3 2 1");
    /* What only looks like one. */
    expect_values("a:B=1GB/s", "");
    expect_values("a:G=6ns/B", "");
    expect_values("a:file=runs/1/noise.txt", "");
    expect_values("a:file=./1/2", "");
    expect_values("a:file=noise/one", "");
    expect_values("a:w=all/", "");
    expect_values("a:w=/all", "");
    expect_values("a:w=all/1", "");
    expect_values("a:alg=allreduce:ring", "");
    expect_values("a:alg=1:2:x", "");
    expect_values("a:d=1+2+3", "");
}

static void test_bad_sweeps(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"a:L=1us:1kB:3", "a: L is 1us:1kB:3, whose ends are of different kinds"},
        {"a:L=1:2:1", "a: L is 1:2:1, expected 2 to 100000 steps"},
        {"a:L=0:2:5:log", "a: L is 0:2:5:log, but equal ratios need ends above 0"},
        {"a:L=1:2:1000,o=1:2:1000", "a sweep over more than 100000 points"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct lull_spec *spec = parsed(bad[i].text);
        const struct lull_sweep *sweep;
        assert_int_equal(lull_sweep_make(&spec, 1, arena, &sweep, &err), LULL_ERR_RANGE);
        assert_string_equal(err.text, bad[i].message);
    }
}

static void test_points(void **state)
{
    (void)state;
    const struct lull_spec *specs[] = {parsed("net:L=1/2,o=5"), NULL, parsed("chain:n=4:6:3")};
    const struct lull_sweep *sweep;
    assert_int_equal(lull_sweep_make(specs, 3, arena, &sweep, &err), LULL_OK);
    assert_true(sweep->n_points == 6 && sweep->n_axes == 2);
    static const char *const want[][2] = {{"1", "4"}, {"1", "5"}, {"1", "6"},
                                          {"2", "4"}, {"2", "5"}, {"2", "6"}};
    for (uint32_t point = 0; point < 6; point++) {
        assert_string_equal(lull_sweep_value(sweep, point, 0), want[point][0]);
        assert_string_equal(lull_sweep_value(sweep, point, 1), want[point][1]);
    }
    struct lull_spec *spec = lull_sweep_spec(sweep, 4, 0, arena);
    assert_string_equal(lull_spec_text(spec), "net:L=2,o=5");
    assert_string_equal(lull_spec_string(spec, "L", ""), "2");
    assert_string_equal(lull_spec_string(spec, "o", ""), "5");
    assert_null(lull_sweep_spec(sweep, 4, 1, arena));
}

TEST_GROUP(test_spec)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(test_names_and_keys),
        ARENA_TEST(test_bad_texts),
        ARENA_TEST(test_numbers),
        ARENA_TEST(test_bad_numbers),
        ARENA_TEST(test_levels),
        ARENA_TEST(test_unknown),
        ARENA_TEST(test_words_and_counts),
        ARENA_TEST(test_lists),
        ARENA_TEST(test_files),
        ARENA_TEST(test_bad_files),
        ARENA_TEST(test_sweep_values),
        ARENA_TEST(test_bad_sweeps),
        ARENA_TEST(test_points),
    };
    return run_cases(tests, NULL, NULL);
}
