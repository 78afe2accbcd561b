/* Files of nodes: which processes they have, what is refused, and that a damaged one is told in one
 * line with file, location and offset, while all others stay readable. */
#include "base/file.h"
#include "lull_features.h"
#include "support/folder.h"
#include "support/packed.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "tape/layout.h"
#include "trace/pack.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if LULL_HAVE_ZSTD

enum { CALLS = 3 * LULL_TAPE_CHUNK / 16 + 5, PROCESSES = 3 };

static char packed[4400];

/* Process p is on node "n0", "n1" ..., as many as there are. */
static void write_run_with(unsigned nodes, bool alone)
{
    for (uint32_t p = 0; p < PROCESSES; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape = {0};
        char node[8];
        snprintf(node, sizeof node, "n/%u", p % nodes);
        define_process(&definitions, p, alone ? 1 : PROCESSES);
        definitions_add(&definitions, LULL_TAPE_DEFINE_NODE, 0, "uss", UINT32_MAX, node, "node");
        definitions_add(&definitions, LULL_TAPE_DEFINE_PROCESS, p, "uuus", 0u, p, 0u, "rank");
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        for (unsigned i = 0; i < CALLS; i++)
            tape_call(&tape, UINT64_C(100) + i * UINT64_C(10), (i + p) % 7, i % 9);
        tape_write(&tape, run.path, 0);
    }
}

static void write_run(unsigned nodes)
{
    write_run_with(nodes, false);
}

static lull_status pack(void)
{
    snprintf(packed, sizeof packed, "%s", folder_path("packed"));
    const struct lull_pack_wish wish = {.run = run.path, .out = packed};
    return lull_pack(&wish, &run.err);
}

static void pack_good(unsigned nodes)
{
    write_run(nodes);
    fail_if(pack() != LULL_OK, "%s", run.err.text);
}

static const char *node_path(const char *name)
{
    static char path[4500];
    snprintf(path, sizeof path, "%s/%s", packed, name);
    return path;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static void test_nodes(void **state)
{
    (void)state;
    pack_good(2);
    assert_int_equal(folder_entries(packed), 3); /* the anchor, and what cannot be in a name is _ */
    assert_int_equal(access(node_path("n_0.tapes"), F_OK), 0);
    assert_int_equal(access(node_path("n_1.tapes"), F_OK), 0);
    run_open(packed);
    assert_int_equal(run.trace->n_processes, PROCESSES);
    for (uint32_t l = 0; l < PROCESSES; l++)
        assert_int_equal(run_events(l).count, CALLS);
    run_close();
    packed_check(run.path);
}

/* The bytes do not depend on the number of workers. */
static void test_workers(void **state)
{
    (void)state;
    size_t sizes[2];
    unsigned char *bytes[2];
    write_run(1);
    for (int w = 0; w < 2; w++) {
        setenv("LULL_THREADS", w ? "5" : "1", 1);
        assert_int_equal(pack(), LULL_OK);
        bytes[w] = folder_read(node_path("n_0.tapes"), &sizes[w]);
        lull_remove_tree(packed, NULL);
    }
    unsetenv("LULL_THREADS");
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static void test_replace(void **state)
{
    (void)state;
    char beside[4400];
    write_run(1);
    struct lull_pack_wish wish = {.run = run.path, .replace = true};
    size_t before, after;
    snprintf(beside, sizeof beside, "%s/0/1.tape", run.path);
    unsigned char *a = folder_read(beside, &before);
    assert_int_equal(lull_pack(&wish, &run.err), LULL_OK);
    assert_int_not_equal(access(beside, F_OK), 0);
    assert_int_equal(lull_unpack(&wish, &run.err), LULL_OK);
    unsigned char *b = folder_read(beside, &after);
    assert_int_equal(before, after);
    assert_memory_equal(a, b, before);
    snprintf(beside, sizeof beside, "%s.packed", run.path);
    assert_int_not_equal(access(beside, F_OK), 0);
    free(a);
    free(b);
}

static void expect(lull_status status, const char *a, const char *b)
{
    assert_int_not_equal(status, LULL_OK);
    fail_if(!strstr(run.err.text, a) || !strstr(run.err.text, b) || strchr(run.err.text, '\n'),
            "'%s' does not name '%s' and '%s'", run.err.text, a, b);
}

static void test_refused(void **state)
{
    (void)state;
    pack_good(1);
    expect(pack(), packed, "exists");
    struct lull_pack_wish wish = {.run = packed, .out = folder_path("twice")};
    expect(lull_pack(&wish, &run.err), packed, "packed already");
    wish.run = run.path;
    expect(lull_unpack(&wish, &run.err), run.path, "not packed");
    assert_int_not_equal(access(wish.out, F_OK), 0);
}

/* ---- damage -----------------------------------------------------------------------------------
 */

/* The file of a node in memory. */
static struct {
    unsigned char *bytes;
    size_t size;
    struct lull_tape_node_header *header;
    struct lull_tape_node_file *files;
    struct lull_tape_node_block *blocks;
} node;

static void node_read(void)
{
    pack_good(1);
    node.bytes = folder_read(node_path("n_0.tapes"), &node.size);
    node.header = (void *)node.bytes;
    node.files = (void *)(node.header + 1);
    struct lull_tape_node_location *locations = (void *)(node.files + node.header->n_files);
    node.blocks = (void *)(locations + node.header->n_locations);
}

static void node_write(void)
{
    folder_write(node_path("n_0.tapes"), node.bytes, node.size);
    free(node.bytes);
}

/* Block number `chunk` of the records of a process. */
static struct lull_tape_node_block *chunk_of(uint32_t process, uint64_t chunk)
{
    uint32_t f = 0;
    while (node.files[f].process != process)
        f++;
    assert_in_range(chunk, 0, node.files[f].n_chunks - 1);
    return &node.blocks[node.files[f].first + node.files[f].n_plain + chunk];
}

/* Process 1 has lost its calls from chunk `chunk` on, with a line that says it; the others have
 * all.
 */
static void check_loss(unsigned chunk, uint64_t offset, const char *cause)
{
    struct lull_quirk *quirks;
    char where[64];
    assert_int_equal(lull_trace_open(packed, &run.trace, &run.err), LULL_OK);
    assert_int_equal(run.trace->n_locations, PROCESSES);
    for (uint32_t l = 0; l < PROCESSES; l++) {
        const struct same_sequence events = run_events(l);
        const size_t calls = l == 1 ? chunk * (size_t)(LULL_TAPE_CHUNK / 16) + 1 : CALLS;
        assert_int_equal(events.count, calls); /* 1: the measurement is off from there on */
    }
    assert_int_equal(lull_trace_quirks(run.trace, run.arena, &quirks), 1);
    snprintf(where, sizeof where, "offset %llu: ", (unsigned long long)offset);
    fail_if(!strstr(quirks[0].first, "n_0.tapes: 0/1.tape: ") || !strstr(quirks[0].first, where) ||
                !strstr(quirks[0].first, cause),
            "'%s' does not say '%s' at %s", quirks[0].first, cause, where);
    run_close();
}

static void test_bad_block(void **state)
{
    (void)state;
    node_read();
    const struct lull_tape_node_block *block = chunk_of(1, 2);
    const uint64_t place = block->place;
    node.bytes[place + block->size / 2] ^= 4;
    node_write();
    check_loss(2, place, "a damaged block");
}

static void test_overlap(void **state)
{
    (void)state;
    node_read();
    const uint64_t place = chunk_of(0, 1)->place;
    chunk_of(1, 1)->place = place;
    chunk_of(1, 1)->size = chunk_of(0, 1)->size;
    node_write();
    check_loss(1, place, "a damaged block");
}

static void test_gap(void **state)
{
    (void)state;
    node_read();
    struct lull_tape_node_block *block = chunk_of(1, 1);
    block->form = (block->form & 0xff000000) | 16;
    const uint64_t place = block->place;
    node_write();
    check_loss(1, place, "a damaged block");
}

static void test_bad_entry(void **state)
{
    (void)state;
    node_read();
    struct lull_tape_node_block *block = chunk_of(1, 0);
    const uint64_t place = (uint64_t)((unsigned char *)block - node.bytes);
    block->place = 3;
    node_write();
    check_loss(0, place, "bad entry of a block");
}

static void test_cut_short(void **state)
{
    (void)state;
    node_read();
    const struct lull_tape_node_block *block = chunk_of(PROCESSES - 1, 1);
    const uint64_t place = block->place;
    node.size = place + 1;
    node_write();
    assert_int_equal(lull_trace_open(packed, &run.trace, &run.err), LULL_OK);
    for (uint32_t l = 0; l < PROCESSES - 1; l++)
        assert_int_equal(run_events(l).count, CALLS);
    assert_int_equal(run_events(PROCESSES - 1).count, LULL_TAPE_CHUNK / 16 + 1);
    run_close();
    const struct lull_pack_wish wish = {.run = packed, .out = folder_path("out")};
    expect(lull_unpack(&wish, &run.err), "n_0.tapes: 0/2.tape: offset", "cut short");
    assert_int_not_equal(access(wish.out, F_OK), 0);
}

/* Nothing of the node can be read: the run is what the other node has, unless processes of the two
 * have communicated. */
static void check_bad_tables(bool alone)
{
    struct lull_quirk *quirks;
    write_run_with(2, alone);
    assert_int_equal(pack(), LULL_OK);
    node.bytes = folder_read(node_path("n_1.tapes"), &node.size);
    node.bytes[sizeof(struct lull_tape_node_header) + 4] ^= 1;
    folder_write(node_path("n_1.tapes"), node.bytes, node.size);
    if (lull_trace_open(packed, &run.trace, &run.err) != LULL_OK) {
        run.trace = NULL;
        expect(LULL_ERR_FORMAT, "n_1.tapes: offset 56: ", "tables");
        free(node.bytes);
        assert_false(alone);
        return;
    }
    assert_true(alone);
    assert_int_equal(run.trace->n_processes, 2); /* 0 and 2 */
    assert_int_equal(run_events(1).count, CALLS);
    assert_true(lull_trace_quirks(run.trace, run.arena, &quirks) >= 1);
    run_close();
    unlink(node_path("n_0.tapes"));
    expect(lull_trace_open(packed, &run.trace, &run.err), "n_1.tapes: offset 56: ", "tables");
    run.trace = NULL;
    free(node.bytes);
}

static void test_bad_tables(void **state)
{
    (void)state;
    check_bad_tables(true);
}

static void test_bad_tables_of_others(void **state)
{
    (void)state;
    check_bad_tables(false);
}

static void test_bad_headers(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        unsigned char byte;
        const char *cause;
    } cases[] = {{0, 'X', "no header"}, {8, 9, "newer lull"},    {8, 2, "older lull"},
                 {20, 5, "newer lull"}, {27, 0xff, "truncated"}, {35, 1, "truncated"},
                 {48, 1, "tables"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        node_read();
        node.bytes[cases[i].offset] ^= cases[i].byte;
        node_write();
        expect(lull_trace_open(packed, &run.trace, &run.err), "n_0.tapes", cases[i].cause);
        run.trace = NULL;
        lull_remove_tree(packed, NULL);
    }
    node_read();
    node.size = 10;
    node_write();
    expect(lull_trace_open(packed, &run.trace, &run.err), "n_0.tapes", "truncated");
    run.trace = NULL;
}

static void test_twice(void **state)
{
    (void)state;
    node_read();
    folder_write(node_path("other.tapes"), node.bytes, node.size);
    free(node.bytes);
    expect(lull_trace_open(packed, &run.trace, &run.err), "other.tapes", "n_0.tapes");
    run.trace = NULL;
}

#define PACK_TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_pack)
{
    const struct CMUnitTest tests[] = {PACK_TEST(test_nodes),
                                       PACK_TEST(test_workers),
                                       PACK_TEST(test_replace),
                                       PACK_TEST(test_refused),
                                       PACK_TEST(test_bad_block),
                                       PACK_TEST(test_overlap),
                                       PACK_TEST(test_gap),
                                       PACK_TEST(test_bad_entry),
                                       PACK_TEST(test_cut_short),
                                       PACK_TEST(test_bad_tables),
                                       PACK_TEST(test_bad_tables_of_others),
                                       PACK_TEST(test_bad_headers),
                                       PACK_TEST(test_twice)};
    return run_cases(tests, NULL, NULL);
}
#else
TEST_GROUP(test_pack)
{
    puts("skipped: built without libzstd");
    return 77;
}
#endif
