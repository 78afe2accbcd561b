/* Memory over time in the text and the JSON of a report, of readings that are made up. */
#include "report/model.h"
#include "study/compare.h"
#include "support/golden_data.h"
#include "support/test.h"
#include "view/report/report_document.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_report report;
static struct lull_notices notices;

static int load_report(void **state)
{
    (void)state;
    struct lull_error err;
    arena = lull_arena_create(NULL);
    notices = (struct lull_notices){.arena = arena};
    const char *path = golden_data("mpi2.prv", arena);
    const struct lull_report_options options = {.runs = {.regions = true, .no_replay = true}};
    fail_if(lull_report_load(&path, 1, &options, &notices, arena, &report, &err) != LULL_OK ||
                lull_study_compute(&report.runs, arena, &err) != LULL_OK,
            "%s", err.text);
    return 0;
}

static int close_report(void **state)
{
    (void)state;
    lull_report_close(&report);
    lull_arena_destroy(arena);
    return 0;
}

static struct lull_document *make_document(void)
{
    const struct lull_report_wish wish = {.options = ""};
    return lull_report_document(&report, &wish, &notices, arena);
}

static const struct lull_table *memory_table(const struct lull_document *document)
{
    const struct lull_table *table = document->tables;
    while (table && strcmp(table->id, "memory:mpi2") != 0)
        table = table->next;
    return table;
}

/* Rank 0 has 100 bytes at first, 300 from the middle on, and 200 at the end; rank 1 always 50. Both are
 * on a node with 1000. */
static void give_memory(struct lull_trace *trace)
{
    struct lull_memory_reading *readings = lull_arena_zero(arena, 4, sizeof *readings);
    readings[0] = (struct lull_memory_reading){0, 100};
    readings[1] = (struct lull_memory_reading){trace->duration / 2, 300};
    readings[2] = (struct lull_memory_reading){trace->duration, 200};
    readings[3] = (struct lull_memory_reading){0, 50};
    assert_int_equal(trace->n_processes, 2);
    for (uint32_t p = 0; p < 2; p++) {
        trace->processes[p].memory =
            (struct lull_process_memory){.peak = p == 0 ? 400 : 60, .node = 1000};
        trace->processes[p].node = LULL_NONE;
        trace->processes[p].readings = readings + 3 * p;
        trace->processes[p].n_readings = p == 0 ? 3 : 1;
    }
}

/* At 0, 25, 50, 75 and 100 % of the time. */
static const uint64_t expected[] = {150, 150, 350, 350, 250};

static void test_table_of_memory(void **state)
{
    (void)state;
    enum { PROCESSES, MOST, SHARE, FIRST };
    assert_null(memory_table(make_document()));
    give_memory(report.runs.runs[0].trace);
    const struct lull_table *table = memory_table(make_document());
    assert_non_null(table);
    assert_false(table->detail);
    assert_int_equal(table->n_rows, 1);
    assert_int_equal(lull_table_get(table, 0, PROCESSES).count, 2);
    assert_int_equal(lull_table_get(table, 0, MOST).count, 350);
    assert_true(lull_table_get(table, 0, SHARE).number == 0.35);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(lull_table_get(table, 0, FIRST + i).count, expected[i]);
}

static void test_memory_in_json(void **state)
{
    (void)state;
    char *text;
    size_t size;
    json_error_t wrong;
    struct lull_trace *trace = report.runs.runs[0].trace;
    const double length = 1e-9 * (double)trace->duration;
    give_memory(trace);
    FILE *out = open_memstream(&text, &size);
    const struct lull_render_options options = {0};
    lull_renderer_find("json")->render(make_document(), &options, out);
    fclose(out);
    json_t *document = json_loads(text, 0, &wrong);
    free(text);
    assert_non_null(document);
    const json_t *memory = json_object_get(document, "memory");
    assert_int_equal(json_array_size(memory), 1);
    const json_t *of = json_array_get(memory, 0), *nodes = json_object_get(of, "nodes");
    assert_string_equal(json_string_value(json_object_get(of, "run")), "mpi2");
    assert_int_equal(json_array_size(nodes), 1);
    const json_t *node = json_array_get(nodes, 0), *times = json_object_get(of, "time"),
                 *bytes = json_object_get(node, "bytes");
    assert_true(json_is_null(json_object_get(node, "node")));
    assert_int_equal(json_integer_value(json_object_get(node, "processes")), 2);
    assert_int_equal(json_integer_value(json_object_get(node, "capacity")), 1000);
    assert_int_equal(json_array_size(times), 101);
    assert_int_equal(json_array_size(bytes), 101);
    for (size_t i = 0; i <= 100; i++) {
        const double time = json_number_value(json_array_get(times, i)), share = time / length;
        assert_true(fabs(share - 0.01 * (double)i) < 1e-9);
        assert_int_equal(json_integer_value(json_array_get(bytes, i)), i < 50    ? 150
                                                                       : i < 100 ? 350
                                                                                 : 250);
    }
    json_decref(document);
}

TEST_GROUP(test_report_memory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_table_of_memory, load_report, close_report),
        cmocka_unit_test_setup_teardown(test_memory_in_json, load_report, close_report)};
    return run_cases(tests, NULL, NULL);
}
