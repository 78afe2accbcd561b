/* Call sites and clocks of several processes in tapes that are made by hand. */
#include "lull_features.h"
#include "support/folder.h"
#include "support/tape_maker.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/scan.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_error err;
static char run[4400];

static int set_up(void **state)
{
    (void)state;
    folder_make();
    snprintf(run, sizeof run, "%s", folder_path("run"));
    run_begin(run);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove();
    return 0;
}

/* One call of a region. */
static void write_tape(uint32_t process, uint64_t time, uint32_t region)
{
    struct tape_maker tape = {0};
    tape_begin(&tape, process, 0);
    tape_call(&tape, time, region, 10);
    tape_write(&tape, run, 0);
}

static struct lull_trace *open_run(void)
{
    struct lull_trace *trace;
    together_check(run);
    fail_if(lull_trace_open(run, &trace, &err) != LULL_OK, "%s", err.text);
    return trace;
}

/* The first call of a location: its region, and its time by *ret_time. */
static uint32_t first_call(const struct lull_trace *trace, uint32_t location, int64_t *ret_time)
{
    struct lull_cursor *cursor;
    struct lull_block block;
    assert_int_equal(lull_cursor_open(trace, location, LULL_MASK(LULL_EVENT_CALL), &cursor, &err),
                     LULL_OK);
    assert_int_equal(lull_cursor_next(cursor, &block, &err), LULL_OK);
    assert_true(block.count > 0);
    *ret_time = block.events[0].time;
    uint32_t region = block.events[0].id;
    lull_cursor_close(cursor);
    return region;
}

#define SITE      LULL_TAPE_DEFINE_SITE
#define THROTTLED LULL_TAPE_DEFINE_THROTTLED

/* Processes name the same place by different ids; the file does not exist. */
static void test_sites_of_two_processes(void **state)
{
    (void)state;
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    define_region(&maker, 0, "MPI_Send");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 1, "ss", "/nowhere/app", "12ab");
    definitions_add(&maker, SITE, 1, "uuuuU", 0u, 0u, 1u, 1u, UINT64_C(0x10));
    definitions_write(&maker, run);
    definitions_begin(&maker, 1);
    define_region(&maker, 5, "MPI_Send");
    define_region(&maker, 7, "!$omp parallel");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 8, "ss", "/nowhere/app", "12ab");
    definitions_add(&maker, SITE, 6, "uuuuU", 5u, 0u, 1u, 8u, UINT64_C(0x10));
    definitions_add(&maker, SITE, 9, "uuuuUuU", 5u, 3u, 2u, 8u, UINT64_C(0x20), 8u, UINT64_C(0x30));
    definitions_add(&maker, SITE, 10, "uuuuU", 7u, 1u, 1u, 8u, UINT64_C(0x40));
    definitions_write(&maker, run);
    write_tape(0, 0, 1);
    write_tape(1, 0, 6);

    struct lull_trace *trace = open_run();
    int64_t time;
    uint32_t site = first_call(trace, 0, &time);
    assert_int_equal(first_call(trace, 1, &time), site);
    assert_int_equal(trace->n_regions, 5);
    assert_string_equal(trace->regions[site].name, "MPI_Send");
    assert_string_equal(trace->regions[site].site, "app+0x10");
    assert_int_equal(trace->regions[site].activity, LULL_MPI_P2P);
    assert_int_equal(trace->regions[site].whole, 0);
    assert_string_equal(trace->regions[3].site, "app+0x20" LULL_SITE_CALLER "app+0x30");
    assert_string_equal(trace->regions[4].name, "!$omp parallel @app+0x40");
    assert_string_equal(trace->regions[4].site, "");
    lull_trace_close(trace);
}

/* An interpreter's function in a source file: its offset is a line, and no file is looked for. */
static void test_sites_in_source(void **state)
{
    (void)state;
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    define_region(&maker, 0, "MPI_Send");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 1, "ss", "/nowhere/app", "12ab");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 2, "sss", "/nowhere/mc.py", "", "main");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 3, "sss", "/nowhere/mc.py", "", "<module>");
    definitions_add(&maker, SITE, 1, "uuuuU", 0u, 0u, 1u, 2u, UINT64_C(17));
    definitions_add(&maker, SITE, 2, "uuuuUuUuU", 0u, 3u, 3u, 1u, UINT64_C(0x10), 2u, UINT64_C(18),
                    3u, UINT64_C(40));
    definitions_write(&maker, run);
    write_tape(0, 0, 1);

    struct lull_trace *trace = open_run();
    int64_t time;
    const struct lull_region *site = &trace->regions[first_call(trace, 0, &time)];
    assert_string_equal(site->site, "main (mc.py:17)");
    assert_string_equal(site->file, "/nowhere/mc.py");
    assert_int_equal(site->line, 17);
    assert_string_equal(trace->regions[2].site,
                        "app+0x10" LULL_SITE_CALLER "main (mc.py:18)" LULL_SITE_CALLER
                        "<module> (mc.py:40)");
    lull_trace_close(trace);
}

/* Callers that nobody has asked for are named where the place of the call alone is not another one
 * than those of all other calls of its function. */
static void test_callers_that_tell(void **state)
{
    (void)state;
    static const struct {
        uint32_t region, code, places[3];
        const char *site;
    } sites[] = {
        {0, 0, {0x10, 0x20, 0x50}, "app+0x10" LULL_SITE_CALLER "app+0x20"},
        {0,
         0,
         {0x10, 0x30, 0x50},
         "app+0x10" LULL_SITE_CALLER "app+0x30" LULL_SITE_CALLER "app+0x50"},
        {0,
         0,
         {0x10, 0x30, 0x60},
         "app+0x10" LULL_SITE_CALLER "app+0x30" LULL_SITE_CALLER "app+0x60"},
        {0, 0, {0x40, 0x30, 0x50}, "app+0x40"},
        {0, 0, {0x11, 0}, "app+0x11"}, /* begins as another one does */
        {0, 0, {0x11, 0x20, 0}, "app+0x11" LULL_SITE_CALLER "app+0x20"},
        {1, 0, {0x10, 0x20, 0x50}, "app+0x10"},                          /* of another function */
        {1, 3, {0x70, 0x20, 0}, "app+0x70" LULL_SITE_CALLER "app+0x20"}, /* asked for */
    };
    enum { SITES = sizeof sites / sizeof *sites };
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    define_region(&maker, 100, "MPI_Send");
    define_region(&maker, 101, "MPI_Recv");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 1, "ss", "/nowhere/app", "12ab");
    for (uint32_t i = 0; i < SITES; i++) {
        const uint32_t *at = sites[i].places, n = !at[1] ? 1 : !at[2] ? 2 : 3;
        static const char *const fields[] = {"uuuuU", "uuuuUuU", "uuuuUuUuU"};
        definitions_add(&maker, SITE, i, fields[n - 1], 100 + sites[i].region, sites[i].code, n, 1u,
                        (uint64_t)at[0], 1u, (uint64_t)at[1], 1u, (uint64_t)at[2]);
    }
    definitions_write(&maker, run);
    write_tape(0, 0, 1);

    struct lull_trace *trace = open_run();
    assert_int_equal(trace->n_regions, 2 + SITES);
    for (uint32_t i = 0; i < SITES; i++)
        assert_string_equal(trace->regions[2 + i].site, sites[i].site);
    lull_trace_close(trace);
}

static void test_bad_sites(void **state)
{
    (void)state;
    static const uint32_t bad[][5] = {
        /* region, code, n, object, of a file with these ids: region 0, object 1 */
        {3, 0, 1, 1, 0}, {0, 0, 1, 2, 0}, {0, 0, 0, 1, 0}, {0, 4, 1, 1, 0},
        {0, 1, 2, 1, 0}, {0, 2, 2, 1, 0}, {0, 0, 2, 1, 0}, {0, 0, UINT32_MAX, 1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct definitions_maker maker;
        definitions_begin(&maker, 0);
        define_region(&maker, 0, "MPI_Send");
        definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 1, "ss", "/nowhere/app", "");
        definitions_add(&maker, SITE, 1, "uuuuU", bad[i][0], bad[i][1], bad[i][2], bad[i][3],
                        UINT64_C(0));
        definitions_write(&maker, run);
        write_tape(0, 0, 1);
        struct lull_trace *trace;
        together_check(run);
        assert_int_equal(lull_trace_open(run, &trace, &err), LULL_ERR_FORMAT);
        assert_non_null(strstr(err.text, "bad definition of kind 11, id 1"));
        folder_remove();
        set_up(NULL);
    }
}

/* Functions: their files do not exist. Calls of two of them were left out in both processes, one of
 * which has not told how many. */
static void test_functions(void **state)
{
    (void)state;
    struct definitions_maker maker;
    for (uint32_t process = 0; process < 2; process++) {
        definitions_begin(&maker, process);
        define_region(&maker, 0, "function");
        definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 1, "ss", "/nowhere/app", "12ab");
        for (uint32_t f = 0; f < 3; f++)
            definitions_add(&maker, SITE, 1 + f, "uuuuU", 0u, 2u, 1u, 1u, UINT64_C(0x10) * f);
        for (uint32_t f = 1; f < 3; f++)
            definitions_add(&maker, THROTTLED, 1 + f, "UU", UINT64_C(20) + process, UINT64_MAX);
        definitions_add(&maker, THROTTLED, 2, "UU", UINT64_C(20) + process, UINT64_C(100));
        if (process == 0)
            definitions_add(&maker, THROTTLED, 3, "UU", UINT64_C(20), UINT64_C(300));
        definitions_write(&maker, run);
        write_tape(process, 0, 1);
    }
    struct lull_trace *trace = open_run();
    int64_t time;
    uint32_t function = first_call(trace, 0, &time);
    assert_string_equal(trace->regions[function].name, "app+0x0");
    assert_string_equal(trace->regions[function].site, "");
    assert_int_equal(first_call(trace, 1, &time), function);
    assert_int_equal(trace->n_left_out, 2);
    assert_string_equal(trace->regions[trace->left_out[0].region].name, "app+0x20");
    assert_int_equal(trace->left_out[0].calls, 300);
    assert_true(trace->left_out[0].at_least);
    assert_int_equal(trace->left_out[0].ns, 21);
    assert_int_equal(trace->left_out[1].calls, 200);
    assert_false(trace->left_out[1].at_least);
    lull_trace_close(trace);
}

static void test_bad_throttled(void **state)
{
    (void)state;
    struct definitions_maker maker;
    struct lull_trace *trace;
    definitions_begin(&maker, 0);
    define_region(&maker, 0, "function");
    definitions_add(&maker, THROTTLED, 7, "UU", UINT64_C(20), UINT64_C(1));
    definitions_write(&maker, run);
    write_tape(0, 0, 0);
    together_check(run);
    assert_int_equal(lull_trace_open(run, &trace, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "bad definition of kind 15, id 7"));
}

/* Two processes call regions by different ids. One says that it measured more visits than there were. */
static void test_memory_of_regions(void **state)
{
    (void)state;
    struct definitions_maker maker;
    for (uint32_t process = 0; process < 2; process++) {
        definitions_begin(&maker, process);
        for (uint32_t id = process; id < 2; id++)
            define_region(&maker, 1 + id - process, id == 0 ? "assembly" : "solver");
        for (uint32_t id = process; id < 2; id++)
            definitions_add(&maker, LULL_TAPE_DEFINE_REGION_MEMORY, 0, "uuUUU", 1 + id - process,
                            process, UINT64_C(1000) * (1 + id) + process, UINT64_C(2), UINT64_C(3));
        definitions_add(&maker, LULL_TAPE_DEFINE_REGION_MEMORY, 0, "uuUUU", 1u, process,
                        UINT64_C(5), UINT64_C(4), UINT64_C(3));
        definitions_write(&maker, run);
        write_tape(process, 1, 1);
    }
    struct lull_trace *trace = open_run();
    static const struct {
        const char *region;
        uint32_t process;
        uint64_t peak;
    } expected[] = {{"assembly", 0, 1000}, {"solver", 0, 2000}, {"solver", 1, 2001}};
    assert_int_equal(trace->n_region_memory, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct lull_region_memory *memory = &trace->region_memory[i];
        assert_string_equal(trace->regions[memory->region].name, expected[i].region);
        assert_int_equal(memory->process, expected[i].process);
        assert_int_equal(memory->peak, expected[i].peak);
        assert_int_equal(memory->measured, 2);
        assert_int_equal(memory->visits, 3);
    }
    lull_trace_close(trace);
}

static void test_memory_of_an_unknown_region(void **state)
{
    (void)state;
    struct definitions_maker maker;
    struct lull_trace *trace;
    definitions_begin(&maker, 0);
    define_region(&maker, 1, "solver");
    definitions_add(&maker, LULL_TAPE_DEFINE_REGION_MEMORY, 0, "uuUUU", 7u, 0u, UINT64_C(1),
                    UINT64_C(1), UINT64_C(1));
    definitions_write(&maker, run);
    write_tape(0, 1, 0);
    together_check(run);
    assert_int_equal(lull_trace_open(run, &trace, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "bad definition of kind 23, id 0"));
}

static void add_point(struct definitions_maker *maker, uint64_t ticks, int64_t ns)
{
    definitions_add(maker, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", ticks, (uint64_t)ns, 1.0);
}

static void add_offset(struct definitions_maker *maker, int64_t ns, int64_t offset, double error)
{
    definitions_add(maker, LULL_TAPE_DEFINE_OFFSET, 0, "UUf", (uint64_t)ns, (uint64_t)offset,
                    error);
}

/* 5000 ns of the second clock are 0 of the first one, 6000 are 900: it runs too fast. */
static void test_clocks_of_two_nodes(void **state)
{
    (void)state;
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    define_region(&maker, 0, "f");
    add_point(&maker, 0, 0);
    add_point(&maker, 1000, 1000);
    definitions_write(&maker, run);
    definitions_begin(&maker, 1);
    define_region(&maker, 0, "f");
    add_point(&maker, 0, 5000);
    add_point(&maker, 1000, 6000);
    add_offset(&maker, 6000, -5100, 4);
    add_offset(&maker, 5000, -5000, 3);
    definitions_write(&maker, run);
    write_tape(0, 100, 0);
    write_tape(1, 500, 0);
    struct lull_trace *trace = open_run();
    int64_t first, second;
    first_call(trace, 0, &first);
    first_call(trace, 1, &second);
    assert_int_equal(second - first, 450 - 100);
    assert_true(trace->clock_error == 5); /* 4 of the offset and 1 of the point */
    lull_trace_close(trace);
}

/* Compared once: how far the clocks come apart is not known any more. */
static void test_clock_compared_once(void **state)
{
    (void)state;
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    define_region(&maker, 0, "f");
    add_point(&maker, 0, 5000);
    add_point(&maker, 1000000, 1005000);
    add_offset(&maker, 5000, -5000, 3);
    definitions_write(&maker, run);
    write_tape(0, 100, 0);
    struct lull_trace *trace = open_run();
    assert_true(trace->clock_error > 1000 && trace->clock_error < 1010);
    lull_trace_close(trace);
}

/* With one point the rate is the one that the process has measured at its start. */
static void test_clock_with_one_point(void **state)
{
    (void)state;
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    definitions_add(&maker, LULL_TAPE_DEFINE_RUN, 0, "UUUffus", UINT64_C(0), UINT64_C(0),
                    UINT64_C(0), 0.5, 0.0, 0u, "lull");
    define_region(&maker, 0, "f");
    add_point(&maker, 1000, 7000);
    definitions_write(&maker, run);
    struct tape_maker tape = {0};
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 2000, 0, 10);
    tape_call(&tape, 6000, 0, 10);
    tape_write(&tape, run, 0);
    struct lull_trace *trace = open_run();
    assert_int_equal(trace->duration, 2005);
    lull_trace_close(trace);
}

static uint64_t count_quirk(const struct lull_trace *trace, const char *part)
{
    struct lull_quirk *quirks;
    const uint32_t n = lull_trace_quirks(trace, trace->arena, &quirks);
    for (uint32_t q = 0; q < n; q++)
        if (strstr(quirks[q].kind, part))
            return quirks[q].count;
    return 0;
}

/* Places in two files, by turns: it is told once of each file that it cannot be read. */
static void test_files_are_opened_once(void **state)
{
    (void)state;
    if (!LULL_HAVE_LIBDW) { /* names are looked for in no file */
        puts("skipped: built without libdw");
        skip();
    }
    struct definitions_maker maker;
    definitions_begin(&maker, 0);
    define_region(&maker, 0, "MPI_Send");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 1, "ss", "/nowhere/app", "12ab");
    definitions_add(&maker, LULL_TAPE_DEFINE_OBJECT, 2, "ss", "/nowhere/lib", "34cd");
    for (uint32_t i = 0; i < 6; i++)
        definitions_add(&maker, SITE, 1 + i, "uuuuU", 0u, 0u, 1u, 1 + i % 2, UINT64_C(0x10) + i);
    definitions_write(&maker, run);
    write_tape(0, 0, 1);
    struct lull_trace *trace = open_run();
    assert_int_equal(count_quirk(trace, "cannot be read; its call sites have no names"), 2);
    lull_trace_close(trace);
}

/* Two nodes whose clocks have these numbers; how often each was compared. Whether that is told to be too little. */
static bool clocks_were_not_compared(const uint64_t numbers[2], const unsigned compared[2])
{
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker maker;
        definitions_begin(&maker, p);
        define_region(&maker, 0, "f");
        definitions_add(&maker, LULL_TAPE_DEFINE_NODE, 0, "uss", UINT32_MAX, p ? "n1" : "n0",
                        "node");
        definitions_add(&maker, LULL_TAPE_DEFINE_PROCESS, p, "uuusU", 0u, p, 0u, "rank",
                        numbers[p]);
        add_point(&maker, 0, 5000);
        add_point(&maker, 1000, 6000);
        for (unsigned i = 0; i < compared[p]; i++)
            add_offset(&maker, 5000 + 1000 * (int64_t)i, -5000, 3);
        definitions_write(&maker, run);
        write_tape(p, 100, 0);
    }
    struct lull_trace *trace = open_run();
    const bool told = count_quirk(trace, "clocks of different nodes were not compared") == 1;
    assert_int_equal(trace->clock_error < 0, told);
    lull_trace_close(trace);
    return told;
}

static void test_clocks_that_were_not_compared(void **state)
{
    (void)state;
    static const struct {
        uint64_t numbers[2];
        unsigned compared[2];
        bool told;
    } cases[] = {{{7, 8}, {0, 0}, true}, {{7, 8}, {1, 1}, false}, {{7, 8}, {1, 2}, false},
                 {{7, 8}, {0, 1}, true}, {{7, 8}, {1, 0}, true},  {{7, 7}, {0, 0}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fail_if(clocks_were_not_compared(cases[i].numbers, cases[i].compared) != cases[i].told,
                "case %zu", i);
        folder_remove();
        set_up(NULL);
    }
}

TEST_GROUP(test_tape_sites)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sites_of_two_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sites_in_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_callers_that_tell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_sites, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_functions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_throttled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_of_regions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_of_an_unknown_region, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clocks_of_two_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clock_compared_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clock_with_one_point, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_opened_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clocks_that_were_not_compared, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
