/* The document of lull metrics: what it saves can be loaded again, and gives the same numbers. */
#include "view/metrics/metrics_document.h"

#include "study/compare.h"
#include "support/folder.h"
#include "support/golden_data.h"
#include "support/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
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

struct loaded {
    struct lull_notices notices;
    struct lull_runs runs;
};

static struct loaded load(const char *const *paths, uint32_t count)
{
    struct loaded loaded = {.notices = {.arena = arena}};
    const struct lull_runs_options options = {.regions = true, .check = 1000};
    fail_if(lull_runs_load(paths, count, &options, &loaded.notices, arena, &loaded.runs, &err) !=
                    LULL_OK ||
                lull_study_compute(&loaded.runs, arena, &err) != LULL_OK,
            "%s", err.text);
    return loaded;
}

static char *render(const struct loaded *loaded, const struct lull_metrics_wish *wish,
                    const char *format)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const struct lull_render_options plain = {0};
    const struct lull_document *document =
        lull_metrics_document(&loaded->runs, wish, &loaded->notices, arena);
    lull_renderer_find(format)->render(document, &plain, out);
    fclose(out);
    return text;
}

static void test_saved_and_loaded(void **state)
{
    (void)state;
    const char *const paths[] = {golden_data("mpi1.prv", arena), golden_data("replay2.prv", arena),
                                 golden_data("omp2.prv", arena)};
    const char *saved_path = folder_path("saved.json");
    const struct lull_metrics_wish wish = {.scheme = LULL_CHOICE_ALL};
    struct loaded measured = load(paths, 3);
    char *text = render(&measured, &wish, "json");
    folder_write(saved_path, text, strlen(text));
    free(text);
    struct loaded saved = load(&saved_path, 1);
    bool replayed = false;
    assert_int_equal(saved.runs.count, measured.runs.count);
    for (uint32_t i = 0; i < measured.runs.count; i++) {
        const struct lull_run *a = &measured.runs.runs[i], *b = &saved.runs.runs[i];
        assert_string_equal(a->name, b->name);
        assert_null(b->trace);
        assert_true(a->breakdown->replayed_runtime_ns == b->breakdown->replayed_runtime_ns);
        replayed |= b->breakdown->replayed_runtime_ns > 0;
        assert_string_equal(lull_run_shape(a, arena), lull_run_shape(b, arena));
        for (int m = 0; m < lull_metric_count; m++) {
            assert_int_equal(!a->values[m].absent, !b->values[m].absent);
            if (!a->values[m].absent)
                assert_memory_equal(&a->values[m].value, &b->values[m].value, sizeof(double));
        }
    }
    assert_true(replayed);
    lull_runs_close(&measured.runs);
    lull_runs_close(&saved.runs);
}

/* Which trees stand in the document, by kind of runs and by choice. */
static void test_schemes(void **state)
{
    (void)state;
    static const struct {
        const char *run;
        struct lull_metrics_wish wish;
        const char *there[2], *not_there[3];
    } cases[] = {
        {"mpi1.prv", {0}, {"mpi_multiplicative,"}, {"mpi_additive,", "\nadditive,"}},
        {"mpi1.prv", {.scheme = LULL_CHOICE_ADDITIVE}, {"mpi_additive,"}, {"mpi_multiplicative,"}},
        {"mpi1.prv", {.scheme = LULL_CHOICE_ALL}, {"mpi_additive,", "mpi_multiplicative,"}, {NULL}},
        {"omp2.prv", {0}, {"\nadditive,"}, {"multiplicative,", "mpi_additive,"}},
        {"omp2.prv",
         {.scheme = LULL_CHOICE_MULTIPLICATIVE},
         {"\nmultiplicative,"},
         {"additive,", "multiplicative_nag,"}},
        {"omp2.prv",
         {.scheme = LULL_CHOICE_MULTIPLICATIVE, .nag = true},
         {"multiplicative_nag,"},
         {"\nmultiplicative,"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = golden_data(cases[i].run, arena);
        struct loaded loaded = load(&path, 1);
        char *text = render(&loaded, &cases[i].wish, "csv");
        for (int k = 0; k < 2 && cases[i].there[k]; k++)
            fail_if(!strstr(text, cases[i].there[k]), "case %zu: no '%s' in\n%s", i,
                    cases[i].there[k], text);
        for (int k = 0; k < 3 && cases[i].not_there[k]; k++)
            fail_if(strstr(text, cases[i].not_there[k]), "case %zu: '%s' in\n%s", i,
                    cases[i].not_there[k], text);
        free(text);
        lull_runs_close(&loaded.runs);
    }
}

static void test_parts(void **state)
{
    (void)state;
    static const char *const names[] = {"region", "callsite", "process", "thread"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_non_null(lull_metrics_part_find(names[i]));
        assert_string_equal(lull_metrics_part_find(names[i])->name, names[i]);
    }
    assert_null(lull_metrics_part_find("node"));
}

/* Warnings and other notices reach the document in their order, before what the view says. */
static void test_notices(void **state)
{
    (void)state;
    const char *path = golden_data("mpi1.prv", arena);
    struct loaded loaded = load(&path, 1);
    loaded.notices.count = 0;
    lull_notices_add(&loaded.notices, LULL_NOTICE_WARNING, "first %d %%", 100);
    lull_notices_add(&loaded.notices, LULL_NOTICE_INFO, "second: %s", "100 %s");
    char *text = render(&loaded, &(struct lull_metrics_wish){0}, "json");
    const char *first = strstr(text, "first 100 %\""), *second = strstr(text, "second: 100 %s"),
               *own = strstr(text, "Scheme: ");
    assert_true(first && second && own && first < second && second < own);
    assert_non_null(strstr(text, "\"kind\": \"warning\",\n      \"text\": \"first"));
    free(text);
    text = render(&loaded, &(struct lull_metrics_wish){0}, "text");
    assert_null(strstr(text, "first 100")); /* the command tells it */
    assert_non_null(strstr(text, "second"));
    free(text);
    lull_runs_close(&loaded.runs);
}

/* An efficiency above 1 is printed with the reason; scaling compares with another run and is not.
 */
static void test_above_one(void **state)
{
    (void)state;
    const char *const path = golden_data("omp2.prv", arena);
    const struct lull_metrics_wish wish = {.scheme = LULL_CHOICE_MULTIPLICATIVE};
    struct loaded loaded = load(&path, 1);
    char *text = render(&loaded, &wish, "text");
    assert_null(strstr(text, "is above 1"));
    free(text);
    struct lull_metric_value *values = loaded.runs.runs[0].values;
    values[lull_metric_find("openmp_load_balance")].value = 1.61;
    values[lull_metric_find("ipc_scaling")] = (struct lull_metric_value){.value = 1.61};
    text = render(&loaded, &wish, "text");
    assert_non_null(strstr(text, "OpenMP load balance is above 1 where"));
    assert_null(strstr(text, "IPC scaling is above 1"));
    free(text);
    lull_runs_close(&loaded.runs);
}

/* Of a run cut by --max-size there are sums, which do not tell parallel regions apart: that is said
 * where there are any, and not to who has only MPI. */
static void test_cut_runs(void **state)
{
    (void)state;
    static const struct {
        const char *run;
        bool told;
    } cases[] = {{"mpi1.prv", false}, {"omp2.prv", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = golden_data(cases[i].run, arena);
        const struct lull_metrics_wish wish = {.part = lull_metrics_part_find("region")};
        struct loaded loaded = load(&path, 1);
        loaded.runs.runs[0].breakdown->from_sums = true;
        char *text = render(&loaded, &wish, "text");
        const char *note = strstr(text, "the OpenMP parallel regions are not told apart");
        assert_int_equal(note != NULL, cases[i].told);
        free(text);
        lull_runs_close(&loaded.runs);
    }
}

TEST_GROUP(test_metrics_document)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_runs), cmocka_unit_test(test_saved_and_loaded),
        cmocka_unit_test(test_schemes),  cmocka_unit_test(test_parts),
        cmocka_unit_test(test_notices),  cmocka_unit_test(test_above_one),
    };
    return run_cases(tests, set_up, tear_down);
}
