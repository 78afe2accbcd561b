/* Bad tapes: each gives one line naming file and place, and none does harm. */
#include "support/check_trace.h"
#include "support/folder.h"
#include "support/tape_maker.h"
#include "trace/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct lull_error err;
static char run_path[4400];
static const char *run;
static struct definitions_maker definitions;
static struct tape_maker tape;

/* A good run of one process, that a test then spoils: definitions and tape are made, not written.
 */
static int set_up(void **state)
{
    (void)state;
    folder_make();
    snprintf(run_path, sizeof run_path, "%s", folder_path("run"));
    run = run_path;
    run_begin(run);
    definitions_begin(&definitions, 0);
    define_region(&definitions, 0, "main");
    define_region(&definitions, 1, "MPI_Send");
    define_region(&definitions, 2, "MPI_Waitall");
    define_comm(&definitions, 0, 1, 1, NULL, UINT32_MAX, "world");
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 0, "Uuss", UINT64_C(1), 0u, "c", "");
    definitions_add(&definitions, LULL_TAPE_DEFINE_STATE, 0, "uus", 1u, 0u, "Running");
    definitions_add(&definitions, LULL_TAPE_DEFINE_MARKER, 0, "Us", UINT64_C(1), "m");
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 0, 5);
    return 0;
}

/* For tests that make their own. */
static void drop_run(void)
{
    free(definitions.bytes);
    free(tape.slots);
    definitions.bytes = NULL;
    tape.slots = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    drop_run();
    folder_remove();
    return 0;
}

static void write_run(void)
{
    definitions_write(&definitions, run);
    tape_write(&tape, run, 0);
}

/* Opens and reads everything; every promise about events must hold whatever the files say. */
static lull_status read_all(void)
{
    struct lull_trace *trace;
    struct lull_error broken;
    err.text[0] = '\0';
    lull_status status = lull_trace_open(run, &trace, &err);
    if (status == LULL_OK) {
        status = check_trace(trace, 1, &err, &broken);
        if (broken.text[0])
            fail_msg("promise broken: %s", broken.text);
        lull_trace_close(trace);
    }
    if (status != LULL_OK) {
        assert_true(err.text[0] != '\0');
        assert_null(strchr(err.text, '\n'));
    }
    return status;
}

/* The run is refused with a text that holds all of the (space for) parts. */
static void check_refused(const char *file, const char *cause)
{
    assert_int_not_equal(read_all(), LULL_OK);
    if (!strstr(err.text, file) || !strstr(err.text, cause))
        fail_msg("'%s' does not name '%s' and '%s'", err.text, file, cause);
}

static void test_good(void **state)
{
    (void)state;
    write_run();
    assert_int_equal(read_all(), LULL_OK);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_empty_directory(void **state)
{
    (void)state;
    run = folder_path("empty");
    assert_int_equal(mkdir(run, 0700), 0);
    check_refused("/empty", "not recognised");
}

static void test_missing(void **state)
{
    (void)state;
    run = folder_path("nothing");
    check_refused("/nothing", "No such file");
}

static void test_missing_anchor(void **state)
{
    (void)state;
    write_run();
    assert_int_equal(unlink(folder_path("run/lull-tape")), 0);
    check_refused("/run", "not recognised");
}

static void test_other_anchors(void **state)
{
    (void)state;
    static const char *const anchors[] = {"",
                                          "lull-tape",
                                          "lull-tape 3",
                                          "lull-tape 4\n",
                                          "lull-tape 0\n",
                                          "lull-tape 3\nx",
                                          "something else\n"};
    write_run();
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++) {
        folder_write(folder_path("run/lull-tape"), anchors[i], strlen(anchors[i]));
        check_refused("/run/lull-tape", "expected 'lull-tape 3'");
        assert_null(strstr(err.text, "run/lull-tape/"));
    }
    /* the anchor named by itself */
    folder_write(folder_path("run/lull-tape"), "lull-tape 4\n", 12);
    run = folder_path("run/lull-tape");
    check_refused("/run/lull-tape", "expected 'lull-tape 3'");
}

static void test_no_tape_files(void **state)
{
    (void)state;
    definitions_write(&definitions, run);
    check_refused("/run", "no tape files");
}

static void test_missing_definitions(void **state)
{
    (void)state;
    tape_write(&tape, run, 0);
    check_refused("/run/0/0.definitions", "missing");
}

/* Of four processes, the third's tape is not there: found by the communicator that counts it. */
static void test_missing_location(void **state)
{
    (void)state;
    drop_run();
    for (uint32_t p = 0; p < 4; p++) {
        definitions_begin(&definitions, p);
        define_comm(&definitions, 0, 1, 4, NULL, UINT32_MAX, "world");
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        tape_write(&tape, run, 0);
    }
    assert_int_equal(read_all(), LULL_OK);
    assert_int_equal(unlink(folder_path("run/0/2.0.tape")), 0);
    check_refused("/run", "'world' has a member without a tape");
}

static void test_no_permission(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        printf("skipped: root may read everything\n");
        skip();
    }
    write_run();
    assert_int_equal(chmod(folder_path("run/0/0.0.tape"), 0), 0);
    check_refused("/run/0/0.0.tape", "Permission denied");
    assert_int_equal(chmod(folder_path("run/0/0.0.tape"), 0600), 0);
    assert_int_equal(chmod(folder_path("run/0/0.definitions"), 0), 0);
    check_refused("/run/0/0.definitions", "Permission denied");
}

static void test_directory_in_the_place_of_a_file(void **state)
{
    (void)state;
    definitions_write(&definitions, run);
    assert_int_equal(mkdir(folder_path("run/0/0.0.tape"), 0700), 0);
    check_refused("/run/0/0.0.tape", "irectory");
}

/* ---- headers --------------------------------------------------------------------------------- */

static void test_headers(void **state)
{
    (void)state;
    struct lull_tape_header good = tape.header, bad[8];
    static const char *const causes[8] = {"no header",      "no header", "version 4",
                                          "lull",           "lull",      "belongs to process 7",
                                          "not terminated", "truncated"};
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].magic[3] = 'x';
    bad[1].byte_order = 0x04030201;
    bad[2].version = 4;
    bad[3].record_size = 32;
    bad[4].header_size = 64;
    bad[5].process = 7;
    memset(bad[6].name, 'n', sizeof bad[6].name);
    definitions_write(&definitions, run);
    drop_run();
    for (int i = 0; i < 7; i++) {
        tape_begin(&tape, 0, 0);
        tape.header = bad[i];
        /* written under the right name, whatever the header says */
        uint32_t process = tape.header.process;
        tape.header.process = 0;
        tape_write(&tape, run, 0);
        size_t size;
        unsigned char *bytes = folder_read(folder_path("run/0/0.0.tape"), &size);
        memcpy(bytes + offsetof(struct lull_tape_header, process), &process, sizeof process);
        folder_write(folder_path("run/0/0.0.tape"), bytes, size);
        free(bytes);
        check_refused("/run/0/0.0.tape", causes[i]);
    }
}

static void spoil_u64(const char *name, size_t offset, uint64_t value)
{
    size_t size;
    unsigned char *bytes = folder_read(folder_path(name), &size);
    memcpy(bytes + offset, &value, sizeof value);
    folder_write(folder_path(name), bytes, size);
    free(bytes);
}

static void test_committed_beyond_the_file(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {32, UINT64_C(1) << 40, UINT64_MAX - 15,
                                       UINT64_MAX - LULL_TAPE_HEADER_SIZE + 1};
    write_run();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        spoil_u64("run/0/0.0.tape", offsetof(struct lull_tape_header, committed), lengths[i]);
        check_refused("/run/0/0.0.tape", "truncated");
    }
    spoil_u64("run/0/0.0.tape", offsetof(struct lull_tape_header, committed), 8);
    check_refused("/run/0/0.0.tape", "");
    spoil_u64("run/0/0.0.tape", offsetof(struct lull_tape_header, committed), 16);
    spoil_u64("run/0/0.definitions", offsetof(struct lull_tape_definitions_header, committed),
              UINT64_MAX - 8);
    check_refused("/run/0/0.definitions", "truncated");
}

static void test_definitions_of_another_process(void **state)
{
    (void)state;
    write_run();
    size_t size;
    unsigned char *bytes = folder_read(folder_path("run/0/0.definitions"), &size);
    bytes[offsetof(struct lull_tape_definitions_header, process)] = 3;
    folder_write(folder_path("run/0/0.definitions"), bytes, size);
    free(bytes);
    check_refused("/run/0/0.definitions", "belongs to process 3");
}

/* ---- records --------------------------------------------------------------------------------- */

enum { AT = LULL_TAPE_HEADER_SIZE + 16 }; /* offset of a record behind the first */

static void check_record(const char *cause)
{
    char place[64];
    snprintf(place, sizeof place, "/run/0/0.0.tape: offset %d: ", AT);
    write_run();
    check_refused(place, cause);
}

#define BAD_RECORD(name, cause, ...)      \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        __VA_ARGS__;                      \
        check_record(cause);              \
    }

static union lull_tape_slot *record(unsigned kind, unsigned extra, uint32_t id, uint32_t value)
{
    return tape_record(&tape, 20, kind, extra, id, value);
}

static void message(int32_t peer, uint32_t comm)
{
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 20, 1, 1, peer, 0, comm, 0);
}

static void collective(uint32_t comm, uint32_t root)
{
    lull_tape_put_collective_call(tape_room(&tape, 2), LULL_TAPE_CALL_COLLECTIVE, 20, 1, 1, comm,
                                  root, 0, 0);
}

BAD_RECORD(unknown_region, "unknown region 17", record(LULL_TAPE_ENTER, 0, 17, 0))
BAD_RECORD(unknown_region_of_call, "unknown region 17", record(LULL_TAPE_CALL, 0, 17, 1))
BAD_RECORD(unknown_region_of_send, "unknown region 17", record(LULL_TAPE_CALL_SEND, 1, 17, 1))
BAD_RECORD(unknown_state, "unknown state 3", record(LULL_TAPE_STATE, 0, 3, 1))
BAD_RECORD(unknown_comm, "unknown communicator 9", message(0, 9))
BAD_RECORD(unknown_rank, "unknown process or rank 1", message(1, 0))
BAD_RECORD(unknown_wildcard, "unknown process or rank", message(-3, 0))
BAD_RECORD(unknown_collective_comm, "unknown communicator 9", collective(9, 0))
BAD_RECORD(unknown_root, "unknown process or rank 4", collective(0, 4))
BAD_RECORD(unknown_marker, "unknown marker 2",
           record(LULL_TAPE_NUMBER, 1, 2, LULL_TAPE_NUMBER_MARKER))
BAD_RECORD(unknown_team, "unknown communicator 2",
           record(LULL_TAPE_NUMBER, 1, 2, LULL_TAPE_NUMBER_TEAM_BEGIN))
BAD_RECORD(unknown_counter, "unknown counter 4", record(LULL_TAPE_COUNTERS, 1, 0, 0)[1].u32[2] = 4)
BAD_RECORD(unknown_target, "unknown process 5",
           record(LULL_TAPE_TRANSFER, 1, LULL_TAPE_NO_ID, 0)[1].i32[2] = 5)
BAD_RECORD(unknown_transfer, "unknown operation 77", record(LULL_TAPE_TRANSFER, 1, 0, 77))
BAD_RECORD(unknown_message, "unknown message record 7", record(LULL_TAPE_MESSAGE, 2, 0, 7))
BAD_RECORD(unknown_number, "unknown number record 17", record(LULL_TAPE_NUMBER, 1, 0, 17))
BAD_RECORD(unknown_kind, "unknown record kind 63", record(63, 0, 0, 0))
BAD_RECORD(never_written, "unknown record kind 0", record(LULL_TAPE_NOTHING, 0, 0, 0))
BAD_RECORD(call_without_message, "without its message", record(LULL_TAPE_CALL_SEND, 0, 1, 1);
           tape_room(&tape, 4))
BAD_RECORD(like_none, "call like one that there was not, shape 7",
           record(LULL_TAPE_CALL_LIKE, 0, 7, 1))
BAD_RECORD(like_no_shape, "call like one that there was not, shape 256",
           record(LULL_TAPE_CALL_LIKE, 0, LULL_TAPE_SHAPES, 1))
BAD_RECORD(short_message, "too short", record(LULL_TAPE_MESSAGE, 1, 0, 0))
BAD_RECORD(short_counters, "too short", record(LULL_TAPE_COUNTERS, 0, 0, 0))
BAD_RECORD(beyond_the_end, "crosses the end",
           record(LULL_TAPE_COUNTERS, 0, 0, 0)->record.head |= 3 << 6)

/* A record may begin in the last slot of a chunk and have extra ones in the next. */
static void test_record_crosses_a_chunk(void **state)
{
    (void)state;
    char place[64];
    while (tape.count < LULL_TAPE_CHUNK / 16 - 1)
        tape_call(&tape, 15, 0, 0);
    tape_room(&tape, 1)->record =
        (struct lull_tape_record){20, lull_tape_head(LULL_TAPE_COUNTERS, 1, 0), 0};
    tape_room(&tape, 1);
    snprintf(place, sizeof place,
             "/run/0/0.0.tape: offset %d: ", LULL_TAPE_HEADER_SIZE + LULL_TAPE_CHUNK - 16);
    write_run();
    check_refused(place, "crosses the end of its chunk");
}

static void complete(uint32_t first, uint32_t count, uint32_t matched)
{
    union lull_tape_slot *slot = record(LULL_TAPE_CALL_WAIT, 1, 2, 1);
    slot[1].u32[0] = first;
    slot[1].u32[1] = count;
    slot[1].u32[3] = matched;
}

static void test_completions_that_were_not_opened(void **state)
{
    (void)state;
    static const struct {
        uint32_t first, count, matched;
    } waits[] = {{0, 1, 0},
                 {UINT32_MAX, 1, 0},
                 {5, UINT32_MAX, 0},
                 {0, 0, LULL_TAPE_MATCHED},
                 {0, 0, LULL_TAPE_MATCHED | LULL_TAPE_LARGE}};
    definitions_write(&definitions, run);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        tape.count = 1;
        complete(waits[i].first, waits[i].count, waits[i].matched);
        struct tape_maker copy = {.header = tape.header};
        for (size_t s = 0; s < tape.count; s++)
            *tape_room(&copy, 1) = tape.slots[s];
        tape_write(&copy, run, 0);
        check_refused("/run/0/0.0.tape: offset ", "request that is not open");
    }
}

/* How long the run was, and where its times begin: then the records need not tell. */
static void define_run(uint64_t duration, uint64_t origin)
{
    struct definitions_maker whole;
    definitions_begin(&whole, LULL_TAPE_WHOLE_RUN);
    definitions_add(&whole, LULL_TAPE_DEFINE_RUN, 0, "UUUffus", duration, origin, UINT64_C(0), 1.0,
                    1.0, 0u, "");
    definitions_write(&whole, run);
    tape.header.flags = LULL_TAPE_CLOSED;
}

static void test_time_runs_backwards(void **state)
{
    (void)state;
    define_run(100, 0);
    tape_call(&tape, 9, 0, 1);
    write_run();
    check_refused("/run: 0.0: ", "time runs backwards");
}

static void test_call_in_a_call(void **state)
{
    (void)state;
    tape_call(&tape, 12, 0, 1);
    write_run();
    check_refused("0.0", "inside of a call");
}

static void test_endless_call(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {UINT64_MAX, INT64_MAX, UINT64_C(1) << 63};
    definitions_write(&definitions, run);
    for (size_t i = 0; i < 3; i++) {
        drop_run();
        tape_begin(&tape, 0, 0);
        tape_call(&tape, 10, 0, lengths[i]);
        tape_write(&tape, run, 0);
        read_all(); /* refused or not, nothing overflows */
    }
}

static void test_behind_the_end_of_the_run(void **state)
{
    (void)state;
    define_run(100, 0);
    tape_record(&tape, 101, LULL_TAPE_NUMBER, 1, 0, LULL_TAPE_NUMBER_JOIN);
    write_run();
    check_refused("/run/0/0.0.tape", "an event at 101 ns lies outside of the run of 100 ns");
}

/* Events behind the call stay in the run: its end has to be looked at. */
static void test_call_behind_the_end_of_the_run(void **state)
{
    (void)state;
    define_run(100, 0);
    tape_record(&tape, 20, LULL_TAPE_ENTER, 0, 0, 0);
    tape_call(&tape, 90, 0, 11);
    tape_record(&tape, 95, LULL_TAPE_NUMBER, 1, 0, LULL_TAPE_NUMBER_TASK_CREATE);
    write_run();
    check_refused("/run/0/0.0.tape", "at 90 ns lies outside of the run of 100 ns");
}

/* A file may say anything of where its times begin. */
static void test_far_origin(void **state)
{
    (void)state;
    static const uint64_t origins[] = {UINT64_C(1) << 63, INT64_MAX, UINT64_MAX, 1};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        define_run(100, origins[i]);
        if (i == 0)
            write_run();
        read_all(); /* refused or not, nothing overflows */
    }
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void check_definition(const char *cause)
{
    write_run();
    check_refused("/run/0/0.definitions", cause);
}

static void test_id_beyond_22_bits(void **state)
{
    (void)state;
    define_region(&definitions, LULL_TAPE_MOST_IDS, "x");
    check_definition("id 4194303");
}

/* A small file cannot make the reader reserve much memory. */
static void test_id_out_of_proportion(void **state)
{
    (void)state;
    define_region(&definitions, 1000000, "x");
    check_definition("id 1000000");
}

static void test_text_longer_than_its_definition(void **state)
{
    (void)state;
    definitions_add(&definitions, LULL_TAPE_DEFINE_MARKER, 5, "Uu", UINT64_C(1), UINT32_MAX);
    check_definition("bad definition of kind 9, id 5");
}

static void test_members_longer_than_their_definition(void **state)
{
    (void)state;
    definitions_add(&definitions, LULL_TAPE_DEFINE_COMM, 5, "Uuuuuuu", UINT64_C(8), 2u, 0x40000000u,
                    0u, UINT32_MAX, UINT32_MAX, 0x40000000u);
    check_definition("bad definition of kind 7, id 5");
}

static void test_definition_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 8, 15, 17, 20, 4096, UINT32_MAX, UINT32_MAX - 7};
    write_run();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size;
        unsigned char *bytes = folder_read(folder_path("run/0/0.definitions"), &size);
        memcpy(bytes + sizeof(struct lull_tape_definitions_header), &sizes[i], sizeof sizes[i]);
        folder_write(folder_path("run/0/0.definitions"), bytes, size);
        free(bytes);
        check_refused("/run/0/0.definitions: offset 32: ", "definition");
    }
}

static void test_clock(void **state)
{
    (void)state;
    definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(5), UINT64_C(5), 1.0);
    check_definition("one point");
}

static void test_clock_runs_backwards(void **state)
{
    (void)state;
    drop_run();
    static const uint64_t points[][4] = {{5, 50, 10, 40},
                                         {5, 50, 10, 50},
                                         {5, 50, 5, 60},
                                         {0, UINT64_C(1) << 63, 10, INT64_MAX},
                                         {0, 0, UINT64_MAX, 1}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        definitions_begin(&definitions, 0);
        for (int p = 0; p < 4; p += 2)
            definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", points[i][p],
                            points[i][p + 1], 1.0);
        definitions_write(&definitions, run);
        tape_begin(&tape, 0, 0);
        tape_write(&tape, run, 0);
        check_refused("/run/0/0.definitions", "clock does not run forward");
    }
}

static void test_communicators(void **state)
{
    (void)state;
    static const uint32_t member = 5;
    define_comm(&definitions, 3, 9, 1, &member, UINT32_MAX, "stranger");
    write_run();
    check_refused("/run", "'stranger' has a member without a tape");
}

static void test_endless_communicator(void **state)
{
    (void)state;
    drop_run();
    static const uint32_t sizes[] = {2, UINT32_MAX, UINT32_MAX - 1, 0x80000000};
    for (size_t i = 0; i < 4; i++) {
        definitions_begin(&definitions, 0);
        define_comm(&definitions, 0, 9, sizes[i], NULL, UINT32_MAX, "endless");
        definitions_write(&definitions, run);
        tape_begin(&tape, 0, 0);
        tape_write(&tape, run, 0);
        check_refused("/run", "'endless'");
    }
}

/* A definition that this version does not know is passed over. */
static void test_unknown_definition(void **state)
{
    (void)state;
    definitions_add(&definitions, 99, 3, "uu", 1u, 2u);
    write_run();
    assert_int_equal(read_all(), LULL_OK);
}

/* ---- everything ------------------------------------------------------------------------------ */

/* A small run with a record of every kind. */
static void write_everything(void)
{
    definitions_add(&definitions, LULL_TAPE_DEFINE_NODE, 0, "uss", UINT32_MAX, "n", "node");
    definitions_add(&definitions, LULL_TAPE_DEFINE_PROCESS, 0, "uuus", 0u, 0u, 0u, "rank 0");
    definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(0), UINT64_C(0), 1.0);
    definitions_add(&definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(100), UINT64_C(200),
                    1.0);
    record(LULL_TAPE_ENTER, 0, 0, 0);
    message(0, 0);
    tape_message_call(&tape, LULL_TAPE_CALL_IRECV, 22, 1, 1, -1, -1, 0, 50);
    tape_message_call(&tape, LULL_TAPE_CALL_ISEND, 24, 1, 1, 0, 1, 0, 50);
    complete(0, 2, 0);
    tape.slots[tape.count - 2].record.time = 30;
    lull_tape_put_collective_call(tape_room(&tape, 2), LULL_TAPE_CALL_COLLECTIVE, 40, 1, 1, 0, 0, 8,
                                  8);
    tape_record(&tape, 50, LULL_TAPE_STATE, 0, 0, 5);
    tape_record(&tape, 50, LULL_TAPE_FLUSH, 1, 0, 5)[1].u64[0] = 3;
    tape_record(&tape, 50, LULL_TAPE_MESSAGE, 2, 0, 0);
    tape_record(&tape, 50, LULL_TAPE_COLLECTIVE, 2, 0, 0);
    tape_record(&tape, 50, LULL_TAPE_TRANSFER, 1, LULL_TAPE_NO_ID, 0);
    tape_record(&tape, 50, LULL_TAPE_NUMBER, 1, 0, LULL_TAPE_NUMBER_MARKER);
    tape_record(&tape, 50, LULL_TAPE_COUNTERS, 2, 0, 0);
    tape_record(&tape, 60, LULL_TAPE_LEAVE, 0, 0, 0);
    write_run();
    assert_int_equal(read_all(), LULL_OK);
}

static void for_every_prefix(const char *name, size_t first, size_t step)
{
    size_t size;
    unsigned char *bytes = folder_read(folder_path(name), &size);
    for (size_t length = first; length < size; length += step) {
        folder_write(folder_path(name), bytes, length);
        if (read_all() == LULL_OK)
            fail_msg("%s: %zu of %zu bytes are accepted", name, length, size);
        if (!strstr(err.text, name))
            fail_msg("'%s' does not name %s", err.text, name);
    }
    folder_write(folder_path(name), bytes, size);
    free(bytes);
}

static void test_every_prefix(void **state)
{
    (void)state;
    write_everything();
    for_every_prefix("run/0/0.definitions", 0, 1);
    for_every_prefix("run/0/0.0.tape", LULL_TAPE_HEADER_SIZE - 3, 1);
    for_every_prefix("run/0/0.0.tape", 0, 37);
}

/* Each byte with one bit, with all bits turned, cleared: accepted or refused, and nothing worse. */
static void for_every_byte(const char *name, size_t from, size_t to)
{
    size_t size;
    unsigned char *bytes = folder_read(folder_path(name), &size);
    for (size_t i = from; i < size && i < to; i++) {
        const unsigned char good = bytes[i];
        const unsigned char bad[] = {(unsigned char)(good ^ 1u << i % 8), (unsigned char)~good, 0,
                                     0x7f};
        for (size_t b = 0; b < sizeof bad; b++) {
            bytes[i] = bad[b];
            folder_write(folder_path(name), bytes, size);
            read_all();
        }
        bytes[i] = good;
    }
    folder_write(folder_path(name), bytes, size);
    assert_int_equal(read_all(), LULL_OK);
    free(bytes);
}

static void test_every_byte(void **state)
{
    (void)state;
    write_everything();
    for_every_byte("run/0/0.definitions", 0, SIZE_MAX);
    for_every_byte("run/0/0.0.tape", 0, sizeof(struct lull_tape_header));
    for_every_byte("run/0/0.0.tape", LULL_TAPE_HEADER_SIZE, SIZE_MAX);
    for_every_byte("run/lull-tape", 0, SIZE_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_good),
        TEST(test_empty_directory),
        TEST(test_missing),
        TEST(test_missing_anchor),
        TEST(test_other_anchors),
        TEST(test_no_tape_files),
        TEST(test_missing_definitions),
        TEST(test_missing_location),
        TEST(test_no_permission),
        TEST(test_directory_in_the_place_of_a_file),
        TEST(test_headers),
        TEST(test_committed_beyond_the_file),
        TEST(test_definitions_of_another_process),
        TEST(test_unknown_region),
        TEST(test_unknown_region_of_call),
        TEST(test_unknown_region_of_send),
        TEST(test_unknown_state),
        TEST(test_unknown_comm),
        TEST(test_unknown_rank),
        TEST(test_unknown_wildcard),
        TEST(test_unknown_collective_comm),
        TEST(test_unknown_root),
        TEST(test_unknown_marker),
        TEST(test_unknown_team),
        TEST(test_unknown_counter),
        TEST(test_unknown_target),
        TEST(test_unknown_transfer),
        TEST(test_unknown_message),
        TEST(test_unknown_number),
        TEST(test_unknown_kind),
        TEST(test_never_written),
        TEST(test_call_without_message),
        TEST(test_like_none),
        TEST(test_like_no_shape),
        TEST(test_short_message),
        TEST(test_short_counters),
        TEST(test_beyond_the_end),
        TEST(test_record_crosses_a_chunk),
        TEST(test_completions_that_were_not_opened),
        TEST(test_time_runs_backwards),
        TEST(test_call_in_a_call),
        TEST(test_endless_call),
        TEST(test_behind_the_end_of_the_run),
        TEST(test_call_behind_the_end_of_the_run),
        TEST(test_far_origin),
        TEST(test_id_beyond_22_bits),
        TEST(test_id_out_of_proportion),
        TEST(test_text_longer_than_its_definition),
        TEST(test_members_longer_than_their_definition),
        TEST(test_definition_sizes),
        TEST(test_clock),
        TEST(test_clock_runs_backwards),
        TEST(test_communicators),
        TEST(test_endless_communicator),
        TEST(test_unknown_definition),
        TEST(test_every_prefix),
        TEST(test_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
