/* Files of nodes as their processes record them: the same events as in files of the processes; and
 * what is damaged, which is told in one line with file, process or location, and offset, while the
 * processes that it does not touch stay readable. */
#include "stats/random.h"
#include "support/check_trace.h"
#include "support/container_maker.h"
#include "support/folder.h"
#include "support/packed.h"
#include "support/seed.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "support/together.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = LULL_TAPE_CHUNK / sizeof(union lull_tape_slot), PROCESSES = 3, LOCATIONS = 2 };

static struct container_maker node;
static uint32_t world = PROCESSES; /* processes in the communicator */

/* How many calls a location has; each has its own. */
static unsigned calls_of(unsigned calls, uint32_t process, uint32_t location)
{
    return calls + process * LOCATIONS + location;
}

static struct process_maker make_process(uint32_t number, uint32_t locations, unsigned calls,
                                         bool tailed, unsigned flags)
{
    struct process_maker maker = {.process = number};
    struct definitions_maker definitions;
    define_process(&definitions, number, world);
    process_add_definitions(&maker, &definitions);
    for (uint32_t location = 0; location < locations; location++) {
        struct tape_maker tape;
        tape_begin(&tape, number, location);
        for (unsigned i = 0; i < calls_of(calls, number, location); i++)
            tape_call(&tape, i * UINT64_C(10), i % 7, i % 9);
        tape.header.flags = (uint16_t)flags;
        process_add_location(&maker, &tape, 1, tailed);
    }
    return maker;
}

/* Processes from `first` on, in one file. */
static void make_node(uint32_t first, uint32_t n, uint32_t locations, unsigned calls, bool tailed,
                      unsigned flags)
{
    struct process_maker *processes = calloc(n, sizeof *processes);
    for (uint32_t p = 0; p < n; p++)
        processes[p] = make_process(first + p, locations, calls, tailed, flags);
    container_make(&node, processes, n);
    for (uint32_t p = 0; p < n; p++)
        process_free(&processes[p]);
    free(processes);
}

static void write_node(const char *name)
{
    container_write(&node, run.path, name);
    container_free(&node);
}

static void check_calls(uint32_t process, uint32_t location, unsigned calls)
{
    const struct same_sequence events = run_events(process * LOCATIONS + location);
    const unsigned expected = calls_of(calls, process, location);
    assert_int_equal(events.count, expected);
    for (unsigned i = 0; i < expected; i++) {
        assert_int_equal(events.events[i].time, i * INT64_C(10));
        assert_int_equal(events.events[i].duration, i % 9);
    }
}

static void test_extents(void **state)
{
    (void)state;
    static const unsigned calls[] = {0, 1, 255, SLOTS - 1, SLOTS, 5 * SLOTS + 3};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (unsigned way = 0; way < 4; way++) {
            if (!lull_test_picks(i + way, 4))
                continue;
            make_node(0, PROCESSES, LOCATIONS, calls[i], way % 2, way / 2 ? LULL_TAPE_CLOSED : 0);
            write_node("n.tapes");
            run_open(run.path);
            assert_int_equal(run.trace->n_processes, PROCESSES);
            assert_int_equal(run.trace->n_locations, PROCESSES * LOCATIONS);
            for (uint32_t p = 0; p < PROCESSES; p++)
                for (uint32_t l = 0; l < LOCATIONS; l++)
                    check_calls(p, l, calls[i]);
            run_close();
            packed_check(run.path);
        }
}

/* Two nodes, and a process that writes a file of its own. */
static void test_several_files(void **state)
{
    (void)state;
    struct process_maker own = make_process(2, LOCATIONS, SLOTS, true, 0);
    process_write(&own, run.path);
    process_free(&own);
    make_node(3, 1, LOCATIONS, SLOTS, true, 0);
    write_node("a.tapes");
    make_node(0, 2, LOCATIONS, SLOTS, true, 0);
    write_node("b.tapes");
    run_open(run.path);
    assert_int_equal(run.trace->n_processes, 4);
    for (uint32_t p = 0; p < 4; p++)
        for (uint32_t l = 0; l < LOCATIONS; l++)
            check_calls(p, l, SLOTS);
    run_close();
    packed_check(run.path);
}

/* More than fit into the first page, and into the table behind it. */
static void test_many_processes(void **state)
{
    (void)state;
    enum { MANY = 600 };
    make_node(0, MANY, 1, 1, true, 0);
    write_node("n.tapes");
    run_open(run.path);
    assert_int_equal(run.trace->n_processes, MANY);
    for (uint32_t p = 0; p < MANY; p += 59)
        assert_int_equal(run_events(p).count, calls_of(1, p, 0));
    run_close();
    packed_check(run.path);
}

/* A process that died when it was about to begin is not there. */
static void test_not_begun(void **state)
{
    (void)state;
    world = 2;
    make_node(0, PROCESSES, LOCATIONS, 10, true, 0);
    world = PROCESSES;
    container_entry(&node, 2)->place = 0;
    write_node("n.tapes");
    run_open(run.path);
    assert_int_equal(run.trace->n_processes, 2);
    check_calls(1, 1, 10);
}

/* ---- damage -----------------------------------------------------------------------------------
 */

static void check_said(const char *text, const char *file, const char *cause)
{
    fail_if(!strstr(text, file) || !strstr(text, cause) || strchr(text, '\n'),
            "'%s', expected '%s' and '%s' in one line", text, file, cause);
}

/* The whole run is refused. */
static void check_refused(const char *file, const char *cause)
{
    write_node("n.tapes");
    together_check(run.path);
    assert_int_not_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    run.trace = NULL;
    check_said(run.err.text, file, cause);
}

/* Whether that is said of the trace. */
static bool is_quirk(const char *cause)
{
    struct lull_quirk *quirks;
    const size_t n = lull_trace_quirks(run.trace, run.arena, &quirks);
    for (size_t q = 0; q < n; q++)
        if (strstr(quirks[q].first, cause) && !strchr(quirks[q].first, '\n'))
            return true;
    for (size_t q = 0; q < n; q++)
        print_message("%s: %s\n", quirks[q].kind, quirks[q].first);
    return false;
}

/* The processes for which `whole` has a bit are there as ever, and that is said of the others. */
static void check_left_out(unsigned whole, const char *cause)
{
    write_node("n.tapes");
    together_check(run.path);
    assert_int_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    assert_true(is_quirk(cause));
    unsigned checked = 0;
    for (uint32_t l = 0; l < run.trace->n_locations; l++) {
        const uint32_t number =
            (uint32_t)run.trace->processes[run.trace->locations[l].process].rank;
        if (!(whole >> number & 1))
            continue;
        assert_int_equal(run_events(l).count, calls_of(10, number, run.trace->locations[l].number));
        checked++;
    }
    assert_int_equal(checked, LOCATIONS * (unsigned)__builtin_popcount(whole));
    run_close();
}

static void make_damaged(void)
{
    make_node(0, PROCESSES, LOCATIONS, 10, true, 0);
}

static void test_header(void **state)
{
    (void)state;
    make_damaged();
    container_header(&node)->magic[2] = 'x';
    check_refused("n.tapes", "offset 0: no header");
    make_damaged();
    container_header(&node)->version = 9;
    check_refused("n.tapes", "newer lull: version 9");
    make_damaged();
    container_header(&node)->version = 1;
    check_refused("n.tapes", "older lull: version 1");
    make_damaged();
    container_header(&node)->flags = 4;
    check_refused("n.tapes", "newer lull: flags 4, this one reads 1 and 2");
    make_damaged();
    container_header(&node)->header_size = 64;
    check_refused("n.tapes", "offset 0: no header");
    make_damaged();
    node.size = 1000;
    check_refused("n.tapes", "truncated: 1000 bytes, expected a header of 4096");
    make_damaged();
    node.size = 10;
    check_refused("n.tapes", "truncated: 10 bytes");
}

static void test_places(void **state)
{
    (void)state;
    make_damaged();
    container_entry(&node, 1)->place = 12296;
    check_left_out(1 | 4, "n.tapes: process 1: offset 12296: no header can stand there");
    make_damaged();
    container_entry(&node, 1)->place = UINT64_MAX - LULL_TAPE_PAGE + 1;
    check_left_out(1 | 4, "n.tapes: process 1: offset 18446744073709547520: no header can");
    make_damaged();
    container_entry(&node, 1)->place = UINT64_C(1) << 40;
    check_left_out(1 | 4, "n.tapes: process 1: offset 1099511627776: truncated: its header");
    make_damaged();
    container_entry(&node, 1)->place = container_entry(&node, 0)->place;
    check_left_out(4, "n.tapes: process 1: belongs to process 0");
    make_damaged();
    container_process(&node, 1)->magic[0] = 'x';
    char cause[100];
    snprintf(cause, sizeof cause, "n.tapes: process 1: offset %llu: no header of a process",
             (unsigned long long)container_entry(&node, 1)->place);
    check_left_out(1 | 4, cause);
}

static void test_numbers(void **state)
{
    (void)state;
    make_damaged();
    container_entry(&node, 1)->taken = 1;
    check_refused("n.tapes", "process 0 is there twice");
    make_damaged();
    container_write(&node, run.path, "a.tapes");
    check_refused("a.tapes: has process 0 that", "n.tapes has, too");
    remove(folder_path("run/a.tapes"));
    struct process_maker own = make_process(1, 1, 10, true, 0);
    process_write(&own, run.path);
    process_free(&own);
    make_damaged();
    check_refused("n.tapes: process 1", "there is a file of process 1, too");
}

static void test_tables(void **state)
{
    (void)state;
    make_node(0, 300, 1, 10, true, 0);
    container_header(&node)->tables[0] = UINT64_C(1) << 30;
    container_write(&node, run.path, "n.tapes");
    together_check(run.path);
    assert_int_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    assert_true(is_quirk("n.tapes: offset 1073741824: truncated: the table of processes"));
    assert_int_equal(run.trace->n_processes, LULL_TAPE_FIRST_ENTRIES);
    run_close();
    packed_check(run.path);
    container_free(&node);
    make_damaged();
    container_process(&node, 2)->n_extents = 300;
    check_left_out(1 | 2, "n.tapes: process 2: truncated: no table with extent 243");
}

static void test_extents_outside(void **state)
{
    (void)state;
    make_damaged();
    container_extent(&node, 1, 2)->page = 1 << 20;
    check_left_out(1 | 4, "n.tapes: process 1: extent 2: ");
    make_damaged();
    container_extent(&node, 0, 3)->pages = 0;
    check_left_out(2 | 4, "n.tapes: process 0: extent 3: 0 pages");
}

/* Which of two is right is not known: both are left out. */
static void test_overlap(void **state)
{
    (void)state;
    char cause[200];
    make_damaged();
    container_extent(&node, 2, 1)->page = container_extent(&node, 0, 1)->page;
    snprintf(cause, sizeof cause,
             "n.tapes: offset %llu: extent 1 of process 0, location 0 and extent 1 of process 2, "
             "location 0 overlap",
             container_extent(&node, 0, 1)->page * (unsigned long long)LULL_TAPE_PAGE);
    check_left_out(2, cause);
    make_damaged();
    container_extent(&node, 1, 1)->page =
        (uint32_t)(container_entry(&node, 0)->place / LULL_TAPE_PAGE);
    check_left_out(4, "a table of process 0 and extent 1 of process 1, location 0 overlap");
    make_damaged();
    container_extent(&node, 1, 2)->pages += 1;
    check_left_out(1, "extent 2 of process 1, location 0 and extent 2 of process 2, location 0");
}

/* What of the file is missing is found where it is needed; who stands before is whole. */
static void test_cut_short(void **state)
{
    (void)state;
    make_damaged();
    const size_t whole = node.size;
    container_free(&node);
    const size_t stride = 4 / lull_test_rounds(4);
    unsigned cuts = 0, refused = 0, read = 0, whole_ones = 0;
    size_t next;
    for (size_t size = 0; size < whole; size = next) {
        next = size + (size < 8192 ? 100 : 2048) * stride;
        next = next >= whole && size < whole - 1 ? whole - 1 : next; /* the last byte alone, too */
        make_damaged();
        node.size = size;
        write_node("n.tapes");
        together_check_some(run.path);
        const lull_status status = lull_trace_open(run.path, &run.trace, &run.err);
        cuts++;
        if (status != LULL_OK) {
            run.trace = NULL;
            check_said(run.err.text, "n.tapes", "");
            refused++;
            continue;
        }
        read++;
        bool all = true;
        for (uint32_t l = 0; l < run.trace->n_locations; l++)
            all &= run_events(l).count == calls_of(10, l / LOCATIONS, l % LOCATIONS);
        assert_true(all || is_quirk("n.tapes"));
        whole_ones += all;
        run_close();
    }
    assert_reached("the file is refused", refused, 10, cuts);
    assert_reached("what is left is read", read, 10, cuts);
    assert_reached("all that is left is whole", whole_ones, 1, cuts);
}

/* A record that cannot be right: file, location, offset. */
static void test_bad_chunk(void **state)
{
    (void)state;
    make_node(0, PROCESSES, LOCATIONS, 2 * SLOTS, true, 0);
    uint32_t number = 0; /* the second chunk of location 1 of process 1 */
    for (unsigned seen = 0; seen < 2; number++) {
        const struct lull_tape_extent *extent = container_extent(&node, 1, number);
        seen += extent->part == LULL_TAPE_PART_RECORDS && extent->location == 1;
    }
    const uint64_t offset =
        container_extent(&node, 1, number - 1)->page * (uint64_t)LULL_TAPE_PAGE + 1600;
    union lull_tape_slot *slot = (void *)(node.bytes + offset);
    slot->record.head = lull_tape_head(LULL_TAPE_KINDS, 0, 1);
    write_node("n.tapes");
    together_check(run.path);
    assert_int_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    run_events(LOCATIONS + 1);
    char cause[100];
    snprintf(cause, sizeof cause,
             "n.tapes: process 1, location 1: offset %llu: ", (unsigned long long)offset);
    assert_true(is_quirk(cause));
    check_calls(1, 0, 2 * SLOTS);
    check_calls(2, 1, 2 * SLOTS);
    run_close();
    packed_check(run.path);
}

/* Anything may stand anywhere: it is read or refused in one line, and nothing worse. */
static void test_random_damage(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(2000) * lull_test_rounds(3) / 3;
    unsigned refused = 0, odd = 0;
    for (unsigned i = 0; i < rounds; i++) {
        make_damaged();
        const unsigned strokes = 1 + (unsigned)(lull_random_u64(&random) % 3);
        for (unsigned s = 0; s < strokes; s++) {
            const uint64_t where = lull_random_u64(&random);
            const uint32_t process = (uint32_t)(where % PROCESSES);
            const size_t places[] = {where / 8 % 260,
                                     container_entry(&node, process)->place % node.size +
                                         where / 8 % 400,
                                     where / 8 % node.size};
            node.bytes[places[lull_random_u64(&random) % 3] % node.size] =
                (unsigned char)lull_random_u64(&random);
        }
        if (lull_random_u64(&random) % 8 == 0)
            node.size = lull_random_u64(&random) % node.size;
        write_node("n.tapes");
        struct lull_error broken = {""};
        together_check_some(run.path);
        if (lull_trace_open(run.path, &run.trace, &run.err) != LULL_OK) {
            run.trace = NULL;
            check_said(run.err.text, "", "");
            refused++;
            continue;
        }
        struct lull_quirk *quirks;
        odd += lull_trace_quirks(run.trace, run.arena, &quirks) > 0;
        check_trace(run.trace, 1, &run.err, &broken);
        fail_if(broken.text[0], "round %u: %s", i, broken.text);
        run_close();
        if (i % 64 == 0)
            packed_check(run.path);
    }
    assert_reached("the run is refused", refused, rounds / 50, rounds);
    assert_reached("something is odd", odd, rounds / 50, rounds);
    assert_reached("nothing is noticed", rounds - refused - odd, rounds / 50, rounds);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_container)
{
    const struct CMUnitTest tests[] = {
        TEST(test_extents),       TEST(test_several_files), TEST(test_many_processes),
        TEST(test_not_begun),     TEST(test_header),        TEST(test_places),
        TEST(test_numbers),       TEST(test_tables),        TEST(test_extents_outside),
        TEST(test_overlap),       TEST(test_cut_short),     TEST(test_bad_chunk),
        TEST(test_random_damage),
    };
    return run_cases(tests, NULL, NULL);
}
