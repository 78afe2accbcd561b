/* Files of processes: the same events, however they are cut into extents; and what is damaged. */
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/seed.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "support/together.h"
#include "trace/format/tape/read/tape_source.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = LULL_TAPE_CHUNK / sizeof(union lull_tape_slot) };

static struct process_maker maker;

/* Calls that differ in region and duration, so many that they fill some chunks. */
static void make_calls(struct tape_maker *tape, uint32_t number, unsigned calls)
{
    tape_begin(tape, 0, number);
    for (unsigned i = 0; i < calls; i++)
        tape_call(tape, i * UINT64_C(10), i % 7, i % 9);
}

static void make_definitions(struct definitions_maker *definitions)
{
    define_process(definitions, 0, 1);
}

static void write_process(unsigned calls, unsigned chunks, bool tailed, unsigned flags)
{
    struct definitions_maker definitions;
    struct tape_maker tape;
    maker = (struct process_maker){0};
    make_definitions(&definitions);
    process_add_definitions(&maker, &definitions);
    for (uint32_t location = 0; location < 2; location++) {
        make_calls(&tape, location, calls + location);
        tape.header.flags = (uint16_t)flags;
        process_add_location(&maker, &tape, chunks, tailed);
    }
    process_write(&maker, run.path);
}

static void check_calls(uint32_t location, unsigned calls)
{
    struct same_sequence events = run_events(location);
    assert_int_equal(events.count, calls);
    for (unsigned i = 0; i < calls; i++) {
        assert_int_equal(events.events[i].time, i * INT64_C(10));
        assert_int_equal(events.events[i].duration, i % 9);
    }
}

static void test_extents(void **state)
{
    (void)state;
    static const unsigned calls[] = {0, 1, 255, 257, SLOTS - 1, SLOTS, SLOTS + 1, 5 * SLOTS + 3};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (unsigned way = 0; way < 12; way++) {
            if (!lull_test_picks(i + way, 6))
                continue;
            const bool tailed = way % 2;
            write_process(calls[i], 1 + way / 4, tailed, way / 2 % 2 ? LULL_TAPE_CLOSED : 0);
            run_open(run.path);
            assert_int_equal(run.trace->n_locations, 2);
            check_calls(0, calls[i]);
            check_calls(1, calls[i] + 1);
            run_close();
            process_free(&maker);
        }
}

/* More than fit behind the header: of locations without records. */
static void test_many_extents(void **state)
{
    (void)state;
    enum { LOCATIONS = 900 };
    struct definitions_maker definitions;
    maker = (struct process_maker){0};
    make_definitions(&definitions);
    process_add_definitions(&maker, &definitions);
    for (uint32_t location = 0; location < LOCATIONS; location++) {
        struct tape_maker tape;
        make_calls(&tape, location, 1);
        process_add_location(&maker, &tape, 1, true);
    }
    process_write(&maker, run.path);
    run_open(run.path);
    assert_int_equal(run.trace->n_locations, LOCATIONS);
    check_calls(LOCATIONS - 1, 1);
    process_free(&maker);
}

/* A process that died while a thread began; a part of a later version. */
static void test_parts_without_head(void **state)
{
    (void)state;
    write_process(10, 1, true, 0);
    process_add(&maker, LULL_TAPE_PART_TAIL, 2, "", 1);
    process_add(&maker, LULL_TAPE_PART_NONE, 0, "", 1);
    process_add(&maker, LULL_TAPE_PARTS + 7, 0, "", 1);
    process_write(&maker, run.path);
    run_open(run.path);
    assert_int_equal(run.trace->n_locations, 2);
    check_calls(0, 10);
    process_free(&maker);
}

/* Two locations with records from 0 to 10 * calls, of which the first says from when to when they
 * go. */
static void write_told(unsigned flags, uint64_t first, uint64_t last)
{
    struct definitions_maker definitions;
    struct tape_maker tape;
    maker = (struct process_maker){0};
    make_definitions(&definitions);
    process_add_definitions(&maker, &definitions);
    for (uint32_t location = 0; location < 2; location++) {
        make_calls(&tape, location, 5 * SLOTS);
        tape.header.flags = (uint16_t)flags;
        if (location == 0)
            tape.header.ends = (struct lull_tape_ends){
                .first = first, .last = last, .known = LULL_TAPE_KNOWN_SPAN};
        process_add_location(&maker, &tape, 1, true);
    }
    process_write(&maker, run.path);
    process_free(&maker);
    run_open(run.path);
}

/* What a closed location says is not looked for in its records; of others it means nothing. */
static void test_told_ends(void **state)
{
    (void)state;
    const int64_t found = (5 * SLOTS - 1) * INT64_C(10) + (5 * SLOTS - 1) % 9;
    write_told(LULL_TAPE_CLOSED, 0, 1234567);
    assert_int_equal(run.trace->duration, 1234567);
    run_close();
    write_told(LULL_TAPE_CLOSED, 0, 5);
    assert_int_equal(run.trace->duration, found);
    run_close();
    write_told(0, 0, 1234567);
    assert_int_equal(run.trace->duration, found);
}

/* ---- damage -----------------------------------------------------------------------------------
 */

static void check_refused(const char *cause)
{
    process_write(&maker, run.path);
    together_check(run.path);
    assert_int_not_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    fail_if(!strstr(run.err.text, cause), "'%s', expected '%s'", run.err.text, cause);
    assert_null(strchr(run.err.text, '\n'));
    process_free(&maker);
}

static void test_damaged_headers(void **state)
{
    (void)state;
    write_process(10, 1, true, 0);
    process_header(&maker)->magic[3] = 'x';
    check_refused("0/0.tape: offset 0: no header of a process");
    write_process(10, 1, true, 0);
    process_header(&maker)->version = 9;
    check_refused("newer lull: version 9");
    write_process(10, 1, true, 0);
    process_header(&maker)->version = 2;
    check_refused("older lull: version 2");
    write_process(10, 1, true, 0);
    process_header(&maker)->process = 3;
    check_refused("belongs to process 3");
    write_process(10, 1, true, 0);
    process_header(&maker)->n_extents = 1 << 30;
    check_refused("extents in");
    write_process(10, 1, true, 0);
    process_header(&maker)->n_extents = 300;
    check_refused("no table with extent 243");
    write_process(10, 1, true, 0);
    maker.size = 100;
    check_refused("truncated");
}

static void test_damaged_extents(void **state)
{
    (void)state;
    write_process(10, 1, true, 0);
    process_entry(&maker, 2)->page = 1 << 20;
    check_refused("extent 2: ");
    write_process(10, 1, true, 0);
    process_entry(&maker, 1)->pages = 0;
    check_refused("extent 1: 0 pages");
    write_process(10, 1, true, 0);
    process_entry(&maker, 0)->page = 0;
    check_refused("extent 0: ");
}

/* What of a file is missing is found where it is needed. */
static void test_cut(void **state)
{
    (void)state;
    struct lull_tape_header *head;
    write_process(3 * SLOTS, 1, true, LULL_TAPE_CLOSED);
    head = (void *)(maker.bytes + (size_t)process_entry(&maker, 5)->page * LULL_TAPE_PAGE);
    assert_memory_equal(head->magic, LULL_TAPE_MAGIC, 8);
    head->flushed += LULL_TAPE_CHUNK;
    head->committed += LULL_TAPE_CHUNK;
    process_write(&maker, run.path);
    together_check(run.path);
    assert_int_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    struct lull_quirk *quirks;
    assert_in_range(lull_trace_quirks(run.trace, run.arena, &quirks), 1, 10);
    assert_int_equal(run_events(1).count, 3 * SLOTS + 1);
    run_close();
    process_free(&maker);
}

/* The other process stays. */
static void test_one_of_two(void **state)
{
    (void)state;
    write_process(10, 1, true, 0);
    process_free(&maker);
    struct definitions_maker definitions;
    struct tape_maker tape;
    maker = (struct process_maker){.process = 1};
    define_process(&definitions, 1, 1);
    process_add_definitions(&maker, &definitions);
    tape_begin(&tape, 1, 0);
    tape_call(&tape, 0, 0, 1);
    process_add_location(&maker, &tape, 1, true);
    process_entry(&maker, 1)->page = 1 << 20;
    process_write(&maker, run.path);
    together_check(run.path);
    assert_int_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    assert_int_equal(run.trace->n_locations, 3);
    check_calls(0, 10);
    struct lull_quirk *quirks;
    assert_in_range(lull_trace_quirks(run.trace, run.arena, &quirks), 1, 10);
    process_free(&maker);
}

/* Pieces of 4, 3 and 5 bytes, the second before the first: from anywhere to anywhere. */
static void test_reads_across_pieces(void **state)
{
    (void)state;
    static const char text[] = "..efg.abcd...hijkl", whole[] = "abcdefghijkl";
    struct lull_tape_piece list[] = {{6, 4}, {2, 3}, {13, 5}};
    const struct lull_tape_pieces pieces = {.list = list, .n = 3, .size = 12};
    struct lull_tape_source source = {0};
    folder_write(folder_path("pieces"), text, strlen(text));
    source.fd = open(folder_path("pieces"), O_RDONLY);
    assert_true(source.fd >= 0);
    for (size_t from = 0; from <= 12; from++)
        for (size_t size = 1; size <= 13; size++) {
            char bytes[16] = {0};
            const size_t expected = size < 12 - from ? size : 12 - from;
            assert_int_equal(lull_tape_read_pieces(&source, &pieces, bytes, size, from), expected);
            assert_memory_equal(bytes, whole + from, expected);
        }
    close(source.fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_process)
{
    const struct CMUnitTest tests[] = {
        TEST(test_extents),   TEST(test_many_extents),    TEST(test_parts_without_head),
        TEST(test_told_ends), TEST(test_damaged_headers), TEST(test_damaged_extents),
        TEST(test_cut),       TEST(test_one_of_two),      TEST(test_reads_across_pieces),
    };
    return run_cases(tests, NULL, NULL);
}
