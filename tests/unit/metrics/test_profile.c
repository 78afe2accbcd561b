/* Profiles: what is written is read back, and what is wrong is refused with its place. */
#include "metrics/breakdown.h"
#include "metrics/profile.h"
#include "stats/random.h"
#include "support/feed.h"
#include "support/random_trace.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *write_profile(const struct lull_breakdown *breakdown, size_t *ret_size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_size);
    assert_non_null(out);
    struct lull_json json;
    lull_json_begin(&json, out, false);
    lull_profile_write(&json, breakdown);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void compare_threads(const struct lull_breakdown *a, const struct lull_breakdown *b)
{
    assert_int_equal(a->n_threads, b->n_threads);
    for (uint32_t i = 0; i < a->n_threads; i++) {
        const struct lull_thread_breakdown *x = &a->threads[i], *y = &b->threads[i];
        assert_int_equal(x->process, y->process);
        assert_int_equal(x->number, y->number);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->master, y->master);
        assert_int_equal(x->disabled_ns, y->disabled_ns);
        assert_memory_equal(&x->times, &y->times, sizeof x->times);
        assert_memory_equal(x->counters, y->counters,
                            a->n_counters * LULL_ACTIVITIES * sizeof *x->counters);
    }
}

static void compare(const struct lull_breakdown *a, const struct lull_breakdown *b)
{
    assert_string_equal(a->run, b->run);
    assert_int_equal(a->duration_ns, b->duration_ns);
    assert_int_equal(a->runtime_ns, b->runtime_ns);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_counters, b->n_counters);
    for (uint32_t i = 0; i < a->n_counters; i++) {
        assert_string_equal(a->counters[i].name, b->counters[i].name);
        assert_int_equal(a->counters[i].role, b->counters[i].role);
    }
    assert_int_equal(a->n_processes, b->n_processes);
    for (uint32_t i = 0; i < a->n_processes; i++) {
        assert_int_equal(a->processes[i].rank, b->processes[i].rank);
        assert_int_equal(a->processes[i].node, b->processes[i].node);
        assert_int_equal(a->processes[i].window_ns, b->processes[i].window_ns);
        assert_int_equal(a->processes[i].n_cpu_threads, b->processes[i].n_cpu_threads);
    }
    compare_threads(a, b);
    assert_int_equal(a->n_regions, b->n_regions);
    for (uint32_t i = 0; i < a->n_regions; i++) {
        struct lull_region_breakdown x = a->regions[i], y = b->regions[i];
        assert_string_equal(x.name, y.name);
        assert_string_equal(x.site, y.site);
        assert_true(x.paradigm == y.paradigm && x.role == y.role && x.activity == y.activity);
        assert_int_equal(x.visits, y.visits);
        assert_int_equal(x.inclusive_ns, y.inclusive_ns);
        assert_int_equal(x.exclusive_ns, y.exclusive_ns);
        assert_int_equal(x.useful_ns, y.useful_ns);
    }
    assert_int_equal(a->n_parallels, b->n_parallels);
    for (uint32_t i = 0; i < a->n_parallels; i++) {
        struct lull_parallel_breakdown x = a->parallels[i], y = b->parallels[i];
        assert_string_equal(x.name, y.name);
        x.name = y.name = NULL;
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static void test_write_then_read(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, 20240610);
    for (unsigned i = 0; i < 60; i++) {
        const struct random_trace_options options = {i & 1, i & 2, 3, 3, 1, 1000};
        const struct lull_breakdown_options wanted = {.regions = i & 4};
        struct random_trace made;
        random_trace_make(&random, &options, &made);
        struct lull_breakdown *breakdown =
            feed_breakdown(&random, &made, &wanted, made.trace->arena);
        struct lull_breakdown *again = NULL;
        struct lull_error err = {""};
        size_t size = 0;
        char *text = write_profile(breakdown, &size);
        lull_status status =
            lull_profile_parse(text, size, "profile", made.trace->arena, &again, &err);
        assert_string_equal(err.text, "");
        assert_int_equal(status, LULL_OK);
        compare(breakdown, again);
        free(text);
        random_trace_free(&made);
    }
}

/* A whole profile of one rank with one thread; the parts can be exchanged. */
struct pieces {
    const char *schema, *duration, *counters, *process, *thread, *parallel;
};

static const struct pieces good = {
    .schema = "\"lull-profile/1\"",
    .duration = "100",
    .counters = "{\"name\":\"PAPI_TOT_INS\",\"role\":\"instructions\"}",
    .process = "{\"rank\":3,\"name\":\"p\"}",
    .thread = "{\"rank\":3,\"number\":0,\"kind\":\"thread\",\"master\":true,"
              "\"times\":{\"useful\":[60,10]},\"disabled_ns\":0,"
              "\"counts\":{\"useful\":[\"18446744073709551615\"]}}",
    .parallel = "{\"rank\":3,\"name\":\"r\",\"executions\":1,\"duration_ns\":10,"
                "\"useful_ns\":10,\"max_useful_ns\":10,\"schedule_ns\":0,\"lock_ns\":0,"
                "\"sync_ns\":0,\"mpi_ns\":0,\"other_ns\":0}",
};

static lull_status parse(const struct pieces *pieces, struct lull_arena *arena,
                         struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    char *text =
        lull_arena_printf(arena,
                          "{\"schema\":%s,\"run\":\"r\",\"duration_ns\":%s,\"counters\":[%s],"
                          "\"processes\":[%s],\"threads\":[%s],\"parallels\":[%s]}",
                          pieces->schema, pieces->duration, pieces->counters, pieces->process,
                          pieces->thread, pieces->parallel);
    return lull_profile_parse(text, strlen(text), "run.json", arena, ret_breakdown, err);
}

static void test_values(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = NULL;
    struct lull_error err = {""};
    assert_int_equal(parse(&good, arena, &breakdown, &err), LULL_OK);
    assert_int_equal(breakdown->processes[0].rank, 3);
    assert_int_equal(breakdown->processes[0].window_ns, 70);
    assert_int_equal(breakdown->runtime_ns, 70);
    assert_int_equal(breakdown->threads[0].times.ns[LULL_USEFUL][1], 10);
    assert_true(breakdown->threads[0].counters[LULL_USEFUL] == UINT64_MAX);
    assert_int_equal(breakdown->parallels[0].max_useful_ns, 10);
    lull_arena_destroy(arena);
}

#define THREAD(rank, number, kind, master, times, counts)                           \
    "{\"rank\":" rank ",\"number\":" number ",\"kind\":" kind ",\"master\":" master \
    ",\"times\":" times ",\"disabled_ns\":0,\"counts\":" counts "}"

static void test_faults_are_named(void **state)
{
    (void)state;
    static const struct {
        struct pieces change; /* NULL: as good */
        const char *message;
    } cases[] = {
        {{.schema = "\"lull-profile/2\""}, "run.json: /schema: expected"},
        {{.schema = "7"}, "/schema: expected"},
        {{.duration = "1.5"}, "/duration_ns: expected an integer"},
        {{.duration = "-1"}, "/duration_ns: the number is out of range"},
        {{.duration = "99999999999999999999"}, "line 1, column"},
        {{.duration = "69"}, "thread 0 of rank 3"},
        {{.counters = "{\"name\":\"a\",\"role\":\"seconds\"}"}, "/counters/0/role: the name"},
        {{.counters = "{\"name\":\"a\",\"role\":\"other\"},{\"name\":\"a\",\"role\":\"other\"}"},
         "/counters/1: the counter is named twice"},
        {{.process = "{\"rank\":3,\"name\":\"p\"},{\"rank\":3,\"name\":\"q\"}"},
         "/processes/1: the rank is there twice"},
        {{.process = "{\"rank\":4294967295,\"name\":\"p\"}"}, "/processes/0/rank: the number"},
        {{.process = "{\"name\":\"p\"}"}, "/processes/0/rank: expected an integer"},
        {{.process = "3"}, "/processes/0: expected an object"},
        {{.thread = THREAD("4", "0", "\"thread\"", "true", "{}", "{}")},
         "/threads/0/rank: there is no process of this rank"},
        {{.thread = THREAD("3", "0", "\"fiber\"", "true", "{}", "{}")},
         "/threads/0/kind: the name is not known"},
        {{.thread = THREAD("3", "0", "\"device\"", "true", "{}", "{}")},
         "/threads/0: a device is no master"},
        {{.thread = THREAD("3", "0", "\"thread\"", "1", "{}", "{}")}, "/threads/0: expected"},
        {{.thread = THREAD("3", "0", "\"thread\"", "true", "{\"rest\":[1,2]}", "{}")},
         "/threads/0/times/rest: the activity is not known"},
        {{.thread = THREAD("3", "0", "\"thread\"", "true", "{\"io\":[1]}", "{}")},
         "/threads/0/times/io: expected two times"},
        {{.thread = THREAD("3", "0", "\"thread\"", "true", "{\"io\":[1,-2]}", "{}")},
         "/threads/0/times/io: expected two times"},
        {{.thread = THREAD("3", "0", "\"thread\"", "true", "{}", "{\"io\":[1,2]}")},
         "/threads/0/counts/io: expected an array with one count per counter"},
        {{.thread = THREAD("3", "0", "\"thread\"", "true", "{}", "{\"io\":[\"1x\"]}")},
         "/threads/0/counts/io/0: expected a count"},
        {{.thread = THREAD("3", "0", "\"thread\"", "true", "{}",
                           "{}") "," THREAD("3", "0", "\"thread\"", "false", "{}", "{}")},
         "/threads/1: the thread is there twice"},
        {{.thread = THREAD("3", "0", "\"thread\"", "true", "{}",
                           "{}") "," THREAD("3", "1", "\"thread\"", "true", "{}", "{}")},
         "/threads/1: the process has two masters"},
        {{.parallel = "{\"rank\":3,\"name\":\"r\",\"executions\":-1}"},
         "/parallels/0/executions: expected a count"},
        {{.parallel = "{\"rank\":3,\"name\":\"r\",\"executions\":1,\"duration_ns\":10,"
                      "\"useful_ns\":10,\"max_useful_ns\":11,\"schedule_ns\":0,\"lock_ns\":0,"
                      "\"sync_ns\":0,\"mpi_ns\":0,\"other_ns\":0}"},
         "/parallels/0: the largest useful time exceeds the sum"},
        {{.parallel = "[]"}, "/parallels/0: expected an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct pieces *change = &cases[i].change;
        const struct pieces mixed = {
            change->schema ? change->schema : good.schema,
            change->duration ? change->duration : good.duration,
            change->counters ? change->counters : good.counters,
            change->process ? change->process : good.process,
            change->thread ? change->thread : good.thread,
            change->parallel ? change->parallel : good.parallel,
        };
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_breakdown *breakdown = NULL;
        struct lull_error err = {""};
        assert_int_not_equal(parse(&mixed, arena, &breakdown, &err), LULL_OK);
        fail_if(!strstr(err.text, cases[i].message) || strncmp(err.text, "run.json: ", 10) != 0,
                "'%s' is not in '%s'", cases[i].message, err.text);
        assert_null(breakdown);
        lull_arena_destroy(arena);
    }
}

static void test_not_json(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "[]", "null", "\xff\xfe", "{\"schema\":1,}"};
    struct lull_arena *arena = lull_arena_create(NULL);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct lull_breakdown *breakdown = NULL;
        struct lull_error err = {""};
        assert_int_equal(
            lull_profile_parse(texts[i], strlen(texts[i]), "run.json", arena, &breakdown, &err),
            LULL_ERR_FORMAT);
        assert_int_equal(strncmp(err.text, "run.json: ", 10), 0);
    }
    lull_arena_destroy(arena);
}

static void test_recognise(void **state)
{
    (void)state;
    char path[] = "/tmp/lull-profile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    assert_false(lull_profile_recognise(path));
    fputs("\n {\"schema\": \"lull-profile/1\"}", out);
    fclose(out);
    assert_true(lull_profile_recognise(path));
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_breakdown *breakdown = NULL;
    struct lull_error err = {""};
    assert_int_equal(lull_profile_read(path, arena, &breakdown, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "/run: expected a string"));
    remove(path);
    assert_false(lull_profile_recognise(path));
    assert_int_equal(lull_profile_read(path, arena, &breakdown, &err), LULL_ERR_IO);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_profile)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_then_read),  cmocka_unit_test(test_values),
        cmocka_unit_test(test_faults_are_named), cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_recognise),
    };
    return run_cases(tests, NULL, NULL);
}
