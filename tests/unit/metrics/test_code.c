/* Useful time by function, line and loop, of small runs that were worked out by hand; intervals of shares
 * against published ones. */
#include "metrics/code_table.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

static const char *const regions[] = {"main",     "MPI_Send",       "MPI_Send",
                                      "MPI_Send", "!$omp parallel", NULL};
enum { MAIN, SEND, SEND_OF_SMOOTH, SEND_OF_OTHERS, PARALLEL };
enum { BINS = 4 };

/* Functions of a source that is interpreted need no file with names; libz.so is not there. */
static struct lull_object objects[] = {
    {"/src/heat.py", "", "smooth"}, {"/src/heat.py", "", "edge"}, {"/no/such/libz.so", "", NULL}};
enum { SMOOTH, EDGE, LIBZ };

static void assert_near(double a, double b, double tolerance)
{
    fail_if(!(fabs(a - b) <= tolerance), "%.17g is not %.17g", a, b);
}

static void sample(struct lull_trace *trace, uint32_t location, int64_t time, uint32_t object,
                   uint64_t offset, uint64_t weight)
{
    struct lull_event event = memory_event(time, LULL_EVENT_SAMPLE, object);
    event.sample.offset = offset;
    event.sample.weight = weight;
    memory_trace_add(trace, location, &event);
}

static void add(struct lull_trace *trace, uint32_t location, struct lull_event event)
{
    memory_trace_add(trace, location, &event);
}

static struct lull_trace *make_trace(uint32_t processes, uint32_t threads)
{
    struct lull_trace *trace = memory_trace_simple(processes, threads, 1000, regions);
    trace->objects = objects;
    trace->n_objects = sizeof objects / sizeof *objects;
    trace->regions[SEND_OF_SMOOTH].site = "smooth (heat.py:11)";
    trace->regions[SEND_OF_SMOOTH].file = "/src/heat.py";
    trace->regions[SEND_OF_SMOOTH].line = 11;
    trace->regions[SEND_OF_OTHERS].site = "ask (net.py:7) < main (heat.py:50)";
    trace->regions[SEND_OF_OTHERS].file = "/src/net.py";
    trace->regions[SEND_OF_OTHERS].line = 7;
    return trace;
}

/* Rank 0 is in MPI_Send for 200 ns of 1000, and rank 1 never. */
static struct lull_trace *make_two(void)
{
    struct lull_trace *trace = make_trace(2, 1);
    add(trace, 0, memory_event(0, LULL_EVENT_ENTER, MAIN));
    sample(trace, 0, 100, SMOOTH, 10, 3);
    sample(trace, 0, 200, EDGE, 30, 4);
    sample(trace, 0, 300, SMOOTH, 12, 1);
    add(trace, 0, memory_span(400, LULL_EVENT_CALL, SEND_OF_SMOOTH, 150));
    sample(trace, 0, 450, SMOOTH, 11, 100);
    add(trace, 0, memory_span(550, LULL_EVENT_CALL, SEND_OF_OTHERS, 50));
    add(trace, 0, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    add(trace, 1, memory_event(0, LULL_EVENT_ENTER, MAIN));
    sample(trace, 1, 10, SMOOTH, 10, 1);
    sample(trace, 1, 20, LULL_NONE, 0, 1);
    add(trace, 1, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    return trace;
}

static struct lull_code_times collect(const struct lull_trace *trace,
                                      const struct lull_reading *reading, struct lull_arena *arena)
{
    const struct lull_pass_options pass = {.reading = reading};
    struct lull_code_collector *collector;
    struct lull_code_times code;
    struct lull_error err = {""};
    assert_int_equal(
        lull_code_create(trace, reading, lull_pass_workers(trace, &pass), BINS, &collector, &err),
        LULL_OK);
    const struct lull_consumer consumer = lull_code_consumer(collector);
    assert_int_equal(lull_pass_run(trace, &pass, &consumer, 1, &err), LULL_OK);
    assert_int_equal(lull_code_gather(collector, &err), LULL_OK);
    assert_int_equal(lull_code_conclude(collector, true, 1, arena, &code, &err), LULL_OK);
    lull_code_destroy(collector);
    return code;
}

static struct lull_code_table tabulate(const struct lull_trace *trace,
                                       const struct lull_code_times *code, const int64_t *waited,
                                       enum lull_code_level level, struct lull_arena *arena)
{
    const struct lull_breakdown_options options = {.regions = true};
    struct lull_breakdown *breakdown;
    struct lull_code_table table;
    struct lull_error err = {""};
    assert_int_equal(lull_breakdown_compute(trace, &options, arena, &breakdown, &err), LULL_OK);
    assert_int_equal(
        lull_code_table_make(code, trace, NULL, breakdown, waited, level, arena, &table, &err),
        LULL_OK);
    return table;
}

struct expected {
    const char *id, *function;
    uint32_t line;
    int64_t useful, min, median, max, mpi, waited;
    uint32_t max_process, min_process;
};

static void check_rows(const struct lull_code_table *table, const struct expected *expected,
                       uint32_t n)
{
    for (uint32_t i = 0; i < n && i < table->n_rows; i++) {
        const struct lull_code_row *row = &table->rows[i];
        assert_string_equal(row->id, expected[i].id);
        assert_string_equal(row->function, expected[i].function);
        assert_int_equal(row->line, expected[i].line);
        assert_int_equal(row->useful_ns, expected[i].useful);
        assert_int_equal(row->min_ns, expected[i].min);
        assert_int_equal(row->median_ns, expected[i].median);
        assert_int_equal(row->max_ns, expected[i].max);
        assert_int_equal(row->mpi_ns, expected[i].mpi);
        assert_int_equal(row->waited_ns, expected[i].waited);
        assert_int_equal(row->openmp_ns, 0);
        assert_int_equal(row->max_process, expected[i].max_process);
        assert_int_equal(row->min_process, expected[i].min_process);
        assert_true(row->low <= row->share && row->share <= row->high);
    }
    assert_int_equal(table->n_rows, n);
}

/* Rank 0: of 800 ns useful time 3/8 at line 10, 1/8 at line 12, 4/8 at line 30. Rank 1: of 1000 ns one half
 * at line 10, one half in code that no file holds. */
static void test_rows(void **state)
{
    static const struct expected by_function[] = {
        {"smooth (heat.py)", "smooth", 10, 900, 400, 450, 500, 150, 90, 1, 0},
        {"(unknown code)", "", 0, 500, 0, 250, 500, 0, 0, 1, 0},
        {"edge (heat.py)", "edge", 30, 400, 0, 200, 400, 0, 0, 0, 1},
        {"ask (net.py)", "ask", 7, 0, 0, 0, 0, 50, 0, 0, 0}};
    static const struct expected by_line[] = {
        {"heat.py:10", "smooth", 10, 800, 300, 400, 500, 0, 0, 1, 0},
        {"(unknown code)", "", 0, 500, 0, 250, 500, 0, 0, 1, 0},
        {"heat.py:30", "edge", 30, 400, 0, 200, 400, 0, 0, 0, 1},
        {"heat.py:12", "smooth", 12, 100, 0, 50, 100, 0, 0, 0, 1},
        {"heat.py:11", "smooth", 11, 0, 0, 0, 0, 150, 90, 0, 0},
        {"net.py:7", "ask", 7, 0, 0, 0, 0, 50, 0, 0, 0}};
    static const struct expected by_loop[] = {
        {"smooth (heat.py), in no loop", "smooth", 10, 900, 400, 450, 500, 150, 90, 1, 0},
        {"(unknown code)", "", 0, 500, 0, 250, 500, 0, 0, 1, 0},
        {"edge (heat.py), in no loop", "edge", 30, 400, 0, 200, 400, 0, 0, 0, 1},
        {"ask (net.py), in no loop", "ask", 7, 0, 0, 0, 0, 50, 0, 0, 0}};
    static const int64_t waited[] = {[SEND_OF_SMOOTH] = 90, [SEND_OF_OTHERS] = 0};
    struct lull_trace *trace = make_two();
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_code_times code = collect(trace, NULL, arena);
    (void)state;
    assert_int_equal(code.samples, 6);
    assert_int_equal(code.useful_samples, 5);
    const struct lull_code_table functions =
        tabulate(trace, &code, waited, LULL_CODE_BY_FUNCTION, arena);
    check_rows(&functions, by_function, 4);
    assert_int_equal(functions.useful_ns, 1800);
    assert_int_equal(functions.unsampled_ns, 0);
    assert_true(functions.has_calls);
    assert_near(functions.rows[0].share, 0.5, 1e-12);
    const struct lull_code_table lines = tabulate(trace, &code, waited, LULL_CODE_BY_LINE, arena);
    check_rows(&lines, by_line, 6);
    const struct lull_code_table loops = tabulate(trace, &code, waited, LULL_CODE_BY_LOOP, arena);
    check_rows(&loops, by_loop, 4);
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

/* Up to 350 ns: rank 0 has 350 ns of useful time, none of it in MPI. */
static void test_window(void **state)
{
    struct lull_trace *trace = make_two();
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_windows *windows;
    struct lull_error err = {""};
    (void)state;
    assert_int_equal(lull_windows_of_time(trace, 150, 350, arena, &windows, &err), LULL_OK);
    const struct lull_reading reading = {.windows = windows};
    const struct lull_code_times code = collect(trace, &reading, arena);
    assert_int_equal(code.useful_samples, 2);
    const struct lull_code_table table = tabulate(trace, &code, NULL, LULL_CODE_BY_LINE, arena);
    assert_int_equal(table.useful_ns, 400);
    assert_int_equal(table.unsampled_ns, 200); /* rank 1 has no sample there */
    assert_int_equal(table.unsampled_threads, 1);
    assert_string_equal(table.rows[0].id, "heat.py:30"); /* the weights are 4 and 1 */
    assert_int_equal(table.rows[0].useful_ns, 200 * 4 / 5);
    assert_near(table.rows[0].share, 160.0 / 400, 1e-12);
    assert_string_equal(table.rows[1].id, "heat.py:12");
    assert_int_equal(table.rows[1].useful_ns, 200 / 5);
    assert_true(table.rows[1].high <= 0.5); /* of the thread with samples at most all */
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

/* Of `n` samples of equal weight of one thread, `x` in a function. */
static struct lull_code_row share_of_samples(unsigned x, unsigned n, uint64_t weight)
{
    struct lull_trace *trace = make_trace(1, 1);
    struct lull_arena *arena = lull_arena_create(NULL);
    add(trace, 0, memory_event(0, LULL_EVENT_ENTER, MAIN));
    for (unsigned i = 0; i < n; i++)
        sample(trace, 0, 1 + i, i < x ? SMOOTH : EDGE, 1, weight);
    add(trace, 0, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    const struct lull_code_times code = collect(trace, NULL, arena);
    const struct lull_code_table table = tabulate(trace, &code, NULL, LULL_CODE_BY_FUNCTION, arena);
    struct lull_code_row row = {0};
    for (uint32_t i = 0; i < table.n_rows; i++)
        if (strcmp(table.rows[i].function, "smooth") == 0)
            row = table.rows[i];
    lull_arena_destroy(arena);
    lull_trace_close(trace);
    return row;
}

/* R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998)
 * 857, table I, method 3: Wilson's. */
static void test_interval(void **state)
{
    static const struct {
        unsigned x, n;
        double low, high;
    } published[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {1, 29, 0.0061, 0.1718}};
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        for (uint64_t weight = 1; weight <= 1000000; weight *= 1000000) {
            const struct lull_code_row row =
                share_of_samples(published[i].x, published[i].n, weight);
            /* whole ns of 1000 */
            assert_near(row.share, (double)published[i].x / published[i].n, 1.1e-3);
            assert_near(row.low, published[i].low, 1.1e-3);
            assert_near(row.high, published[i].high, 1.1e-3);
        }
    /* The 20 of 20 are the complement of the 0 of 20 that the table has: 0.0000 to 0.1611. */
    const struct lull_code_row all = share_of_samples(20, 20, 7);
    assert_near(all.low, 1 - 0.1611, 1e-4);
    assert_near(all.high, 1, 0);
}

/* Of two threads that have both 100 samples, one computes nine times as long: the larger one decides. With
 * shares of one half in both, the variance is 1/4 (0.9^2 + 0.1^2) / 100, that of 122 samples. */
static void test_two_threads(void **state)
{
    struct lull_trace *trace = make_trace(2, 1);
    struct lull_arena *arena = lull_arena_create(NULL);
    (void)state;
    for (uint32_t l = 0; l < 2; l++) {
        const int64_t end = l == 0 ? 900 : 100;
        add(trace, l, memory_event(0, LULL_EVENT_ENTER, MAIN));
        for (unsigned i = 0; i < 100; i++)
            sample(trace, l, i, i % 2 ? SMOOTH : EDGE, 1, 5);
        if (end < 1000)
            add(trace, l, memory_span(end, LULL_EVENT_CALL, SEND, 1000 - end));
        add(trace, l, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    }
    const struct lull_code_times code = collect(trace, NULL, arena);
    const struct lull_code_table table = tabulate(trace, &code, NULL, LULL_CODE_BY_FUNCTION, arena);
    const double n = 1 / (0.81 + 0.01) * 100, z2 = 3.8414588;
    /* Wilson's interval of one half: 1/2 +- z / 2 / sqrt(n + z^2) */
    const double half = 0.5 * 1.959964 / sqrt(n + z2);
    assert_int_equal(table.n_rows, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(table.rows[i].useful_ns, 500);
        assert_near(table.rows[i].low, 0.5 - half, 1e-6);
        assert_near(table.rows[i].high, 0.5 + half, 1e-6);
    }
    assert_true(!table.has_calls || table.rows[0].mpi_ns == 0);
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

/* What is told of code without names. */
static void test_names(void **state)
{
    struct lull_trace *trace = make_trace(1, 1);
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_code_place places[] = {
        {.object = SMOOTH, .offset = 10}, {.object = LIBZ, .offset = 0x100}, {.object = LULL_NONE}};
    struct lull_places_file *files;
    struct lull_error err = {""};
    (void)state;
    assert_int_equal(lull_code_name(trace, places, 3, true, 1, arena, &files, &err), LULL_OK);
    assert_int_equal(places[0].known, LULL_CODE_NAMED);
    assert_string_equal(places[0].symbol.short_name, "smooth");
    assert_string_equal(places[0].symbol.file, "/src/heat.py");
    assert_int_equal(places[0].symbol.line, 10);
    assert_null(places[0].loop);
    assert_true(places[1].known == LULL_CODE_ABSENT || places[1].known == LULL_CODE_NOT_BUILT);
    assert_string_equal(places[1].symbol.function, "");
    assert_non_null(strstr(files[LIBZ].why, "/no/such/libz.so"));
    assert_int_equal(places[2].known, LULL_CODE_NO_FILE);
    assert_string_equal(places[2].symbol.file, "");
    add(trace, 0, memory_event(0, LULL_EVENT_ENTER, MAIN));
    sample(trace, 0, 1, LIBZ, 0x100, 2);
    sample(trace, 0, 2, LIBZ, 0x200, 1);
    sample(trace, 0, 3, SMOOTH, 10, 1);
    add(trace, 0, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    const struct lull_code_times code = collect(trace, NULL, arena);
    const struct lull_code_table table = tabulate(trace, &code, NULL, LULL_CODE_BY_LINE, arena);
    assert_int_equal(table.n_rows, 2);
    assert_true(strncmp(table.rows[0].id, "libz.so (not ", strlen("libz.so (not ")) == 0);
    assert_int_equal(table.rows[0].useful_ns, 750);
    assert_int_equal(table.n_gaps, 1);
    assert_int_equal(table.gaps[0].object, LIBZ);
    assert_int_equal(table.gaps[0].known, table.rows[0].known);
    assert_near(table.gaps[0].share, 0.75, 1e-12);
    assert_non_null(strstr(table.gaps[0].why, "/no/such/libz.so"));
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

/* The first of three threads computes 600 of its 1000 ns outside of the parallel region: 2/3 of that at line
 * 10, where it has also all of its 400 inside, and 1/3 at line 30. So two others are idle for 800 and 400 ns. */
static void test_idle_threads(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = make_trace(1, 3);
    (void)state;
    add(trace, 0, memory_event(0, LULL_EVENT_ENTER, MAIN));
    sample(trace, 0, 100, SMOOTH, 10, 4);
    sample(trace, 0, 200, EDGE, 30, 2);
    add(trace, 0, memory_event(600, LULL_EVENT_ENTER, PARALLEL));
    sample(trace, 0, 700, SMOOTH, 10, 4);
    add(trace, 0, memory_event(1000, LULL_EVENT_LEAVE, PARALLEL));
    add(trace, 0, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    for (uint32_t t = 1; t < 3; t++) {
        add(trace, t, memory_event(600, LULL_EVENT_ENTER, PARALLEL));
        sample(trace, t, 800, EDGE, 31, 1);
        add(trace, t, memory_event(1000, LULL_EVENT_LEAVE, PARALLEL));
    }
    const struct lull_code_times code = collect(trace, NULL, arena);
    const struct lull_code_table lines = tabulate(trace, &code, NULL, LULL_CODE_BY_LINE, arena);
    assert_true(lines.has_idle);
    assert_int_equal(lines.n_rows, 3);
    assert_string_equal(lines.rows[0].id, "heat.py:10");
    assert_int_equal(lines.rows[0].idle_ns, 800);
    assert_string_equal(lines.rows[1].id, "heat.py:31");
    assert_int_equal(lines.rows[1].idle_ns, 0);
    assert_string_equal(lines.rows[2].id, "heat.py:30");
    assert_int_equal(lines.rows[2].idle_ns, 400);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

/* Of three ranks only the middle one computes at line 10, and only the last one at line 30: the first of the
 * others has the least. */
static void test_least(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = make_trace(3, 1);
    (void)state;
    for (uint32_t l = 0; l < 3; l++) {
        add(trace, l, memory_event(0, LULL_EVENT_ENTER, MAIN));
        sample(trace, l, 10, SMOOTH, 20, 1);
        if (l > 0)
            sample(trace, l, 20, l == 1 ? SMOOTH : EDGE, l == 1 ? 10 : 30, 3);
        add(trace, l, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    }
    const struct lull_code_times code = collect(trace, NULL, arena);
    const struct lull_code_table lines = tabulate(trace, &code, NULL, LULL_CODE_BY_LINE, arena);
    assert_int_equal(lines.n_rows, 3);
    assert_string_equal(lines.rows[0].id, "heat.py:20"); /* 1000, 250, 250 */
    assert_int_equal(lines.rows[0].min_ns, 250);
    assert_int_equal(lines.rows[0].min_process, 1);
    assert_int_equal(lines.rows[0].max_process, 0);
    for (uint32_t r = 1; r < 3; r++) {
        const bool middle = strcmp(lines.rows[r].id, "heat.py:10") == 0;
        assert_int_equal(lines.rows[r].max_ns, 750);
        assert_int_equal(lines.rows[r].max_process, middle ? 1 : 2);
        assert_int_equal(lines.rows[r].min_ns, 0);
        assert_int_equal(lines.rows[r].min_process, 0);
    }
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

/* At line 11 a barrier for 100 ns, and a task is made in 30: only the barrier is a wait. At line 30 a lock
 * is waited for, for 50 ns. */
static void test_openmp_waits(void **state)
{
    static const char *const names[] = {"main", "!$omp barrier", "!$omp create task",
                                        "!$omp critical", NULL};
    enum { BARRIER = 1, TASK, CRITICAL };
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = memory_trace_simple(1, 1, 1000, names);
    (void)state;
    trace->objects = objects;
    trace->n_objects = sizeof objects / sizeof *objects;
    for (uint32_t r = BARRIER; r <= CRITICAL; r++) {
        trace->regions[r].file = "/src/heat.py";
        trace->regions[r].line = r == CRITICAL ? 30 : 11;
    }
    add(trace, 0, memory_event(0, LULL_EVENT_ENTER, MAIN));
    sample(trace, 0, 10, SMOOTH, 11, 1);
    sample(trace, 0, 20, EDGE, 30, 1);
    for (uint32_t r = BARRIER; r <= CRITICAL; r++) {
        static const int64_t length[] = {[BARRIER] = 100, [TASK] = 30, [CRITICAL] = 50};
        add(trace, 0, memory_event(200 * r, LULL_EVENT_ENTER, r));
        add(trace, 0, memory_event(200 * r + length[r], LULL_EVENT_LEAVE, r));
    }
    add(trace, 0, memory_event(1000, LULL_EVENT_LEAVE, MAIN));
    const struct lull_code_times code = collect(trace, NULL, arena);
    const struct lull_code_table lines = tabulate(trace, &code, NULL, LULL_CODE_BY_LINE, arena);
    assert_int_equal(lines.n_rows, 2);
    for (uint32_t r = 0; r < 2; r++) {
        const bool first = strcmp(lines.rows[r].id, "heat.py:11") == 0;
        assert_int_equal(lines.rows[r].openmp_ns, first ? 130 : 50);
        assert_int_equal(lines.rows[r].openmp_waited_ns, first ? 100 : 50);
        assert_int_equal(lines.rows[r].waited_ns, 0);
    }
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_code)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_window),
        cmocka_unit_test(test_interval), cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_idle_threads),
        cmocka_unit_test(test_least),    cmocka_unit_test(test_openmp_waits),
    };
    return run_cases(tests, NULL, NULL);
}
