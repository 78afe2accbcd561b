/* What the Chrome writer writes, read with jansson: it is JSON, spans of a track nest, arrows go
 * from a span to a span, times are exact. */
#include "support/folder.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    folder_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

static json_t *write_and_load(const struct lull_trace *trace)
{
    json_error_t problem;
    const char *path = folder_path("trace.json");
    const struct lull_format *format = lull_format_find("chrome");
    fail_if(lull_convert(trace, path, format, true, NULL, NULL, &err) != LULL_OK, "%s", err.text);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
    fail_if(!root, "line %d: %s", problem.line, problem.text);
    return root;
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static int64_t ns_of(const json_t *event, const char *key)
{
    double us = json_number_value(json_object_get(event, key));
    return (int64_t)(us * 1e3 + 0.5);
}

static json_int_t number_of(const json_t *event, const char *key)
{
    return json_integer_value(json_object_get(event, key));
}

/* ---- by hand --------------------------------------------------------------------------------- */

static const json_t *find(const json_t *events, const char *phase, const char *name, size_t skip)
{
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event)
    {
        if (strcmp(text_of(event, "ph"), phase) == 0 && strcmp(text_of(event, "name"), name) == 0 &&
            skip-- == 0)
            return event;
    }
    return NULL;
}

static void check_span(const json_t *events, const char *name, json_int_t process, int64_t begin,
                       int64_t duration)
{
    const json_t *span = find(events, "X", name, 0);
    assert_non_null(span);
    assert_int_equal(number_of(span, "pid"), process);
    assert_int_equal(ns_of(span, "ts"), begin);
    assert_int_equal(ns_of(span, "dur"), duration);
}

static void test_records(void **state)
{
    (void)state;
    static const char *const regions[] = {"main", "MPI_Send", "MPI_Recv", NULL};
    const int64_t late = INT64_C(86400) * 1000000000; /* a day: still exact to the ns */
    struct lull_trace *trace = memory_trace_simple(2, 1, late + 100, regions);
    trace->n_counters = 1;
    trace->counters = lull_arena_zero(trace->arena, 1, sizeof *trace->counters);
    trace->counters[0] = (struct lull_counter){.name = "cycles", .unit = ""};
    const struct lull_counter_reading reading = {.value = 6000};
    struct lull_event event = memory_event(1, LULL_EVENT_ENTER, 0);
    memory_trace_add(trace, 0, &event);
    event = memory_event(2001, LULL_EVENT_COUNTERS, LULL_NONE);
    event.readings.values = &reading;
    event.readings.count = 1;
    memory_trace_add(trace, 0, &event);
    event = memory_span(late + 1, LULL_EVENT_CALL, 1, 7);
    memory_trace_add(trace, 0, &event);
    struct lull_event message = memory_event(late + 2, LULL_EVENT_SEND, LULL_NONE);
    message.message.request = LULL_NO_REQUEST;
    message.message.peer = 1;
    message.message.bytes = 77;
    memory_trace_add(trace, 0, &message);
    event = memory_event(late + 50, LULL_EVENT_LEAVE, 0);
    memory_trace_add(trace, 0, &event);
    event = memory_span(late, LULL_EVENT_CALL, 2, 20);
    memory_trace_add(trace, 1, &event);
    message.kind = LULL_EVENT_RECV;
    message.time = late + 19;
    message.message.peer = 0;
    memory_trace_add(trace, 1, &message);

    json_t *root = write_and_load(trace);
    const json_t *events = json_object_get(root, "traceEvents");
    assert_string_equal(text_of(root, "displayTimeUnit"), "ns");
    check_span(events, "main", 0, 1, late + 49);
    check_span(events, "MPI_Send", 0, late + 1, 7);
    check_span(events, "MPI_Recv", 1, late, 20);
    const json_t *start = find(events, "s", "message", 0),
                 *finish = find(events, "f", "message", 0);
    assert_string_equal(text_of(start, "id"), text_of(finish, "id"));
    assert_int_equal(ns_of(start, "ts"), late + 2);
    assert_int_equal(ns_of(finish, "ts"), late + 19);
    assert_int_equal(number_of(json_object_get(start, "args"), "bytes"), 77);
    /* 6000 in 2.001 us, drawn from the begin of that time */
    const json_t *rate = find(events, "C", "cycles", 0);
    assert_int_equal(ns_of(rate, "ts"), 0);
    double per_us = json_number_value(json_object_get(json_object_get(rate, "args"), "per us"));
    assert_true(per_us > 2998.4 && per_us < 2998.6);
    assert_non_null(find(events, "M", "process_name", 1));
    assert_non_null(find(events, "M", "thread_name", 1));
    json_decref(root);
    lull_trace_close(trace);
}

/* ---- drawn ----------------------------------------------------------------------------------- */

struct span {
    int64_t process, thread, begin, end;
    size_t order; /* in the file: inner spans end, and are written, first */
};

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->order > b->order ? -1 : 1;
}

/* Each span lies inside the innermost one that has not ended when it begins. */
static void check_nesting(struct span *spans, size_t count)
{
    int64_t *open = calloc(count + 1, sizeof *open);
    size_t depth = 0;
    assert_non_null(open);
    qsort(spans, count, sizeof *spans, compare_spans);
    for (size_t i = 0; i < count; i++) {
        bool new_track = i == 0 || spans[i].process != spans[i - 1].process ||
                         spans[i].thread != spans[i - 1].thread;
        if (new_track)
            depth = 0;
        while (depth > 0 && open[depth - 1] <= spans[i].begin)
            depth--;
        assert_true(spans[i].begin <= spans[i].end);
        fail_if(depth > 0 && open[depth - 1] < spans[i].end, "spans cross at %lld ns",
                (long long)spans[i].begin);
        open[depth++] = spans[i].end;
    }
    free(open);
}

static uint64_t count_regions(const struct lull_trace *trace)
{
    uint64_t count = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        uint32_t n;
        const struct lull_event *events = memory_trace_events(trace, l, &n);
        for (uint32_t i = 0; i < n; i++)
            count += events[i].kind == LULL_EVENT_ENTER || events[i].kind == LULL_EVENT_CALL ||
                     events[i].kind == LULL_EVENT_STATE || events[i].kind == LULL_EVENT_FLUSH;
    }
    return count;
}

static void test_drawn(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed();
    for (uint64_t seed = first; seed - first < 20; seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        struct lull_trace *trace = memory_trace_draw(&random, NULL);
        json_t *root = write_and_load(trace), *event;
        const json_t *events = json_object_get(root, "traceEvents");
        struct span *spans = calloc(json_array_size(events) + 1, sizeof *spans);
        size_t count = 0, i;
        assert_non_null(spans);
        json_array_foreach(events, i, event)
        {
            if (strcmp(text_of(event, "ph"), "X") != 0)
                continue;
            int64_t begin = ns_of(event, "ts");
            spans[count] = (struct span){number_of(event, "pid"), number_of(event, "tid"), begin,
                                         begin + ns_of(event, "dur"), count};
            count++;
        }
        assert_true(count > 0 && count == count_regions(trace));
        check_nesting(spans, count);
        free(spans);
        json_decref(root);
        lull_trace_close(trace);
    }
}

static void test_discarded(void **state)
{
    (void)state;
    static const char *const regions[] = {"main", NULL};
    struct lull_trace *trace = memory_trace_simple(1, 1, 10, regions);
    struct lull_writer writer;
    size_t before = folder_entries(folder_path(""));
    const struct lull_format *format = lull_format_find("chrome");
    assert_int_equal(format->writer_open(trace, folder_path("dropped.json"), false, &writer, &err),
                     LULL_OK);
    assert_int_equal(writer.close(writer.state, false, &err), LULL_OK);
    assert_int_equal(folder_entries(folder_path("")), before);
    lull_trace_close(trace);
}

TEST_GROUP(test_chrome)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_discarded),
    };
    return run_cases(tests, set_up, tear_down);
}
