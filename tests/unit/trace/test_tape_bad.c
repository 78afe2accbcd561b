/* Bad tapes, by their files, headers and definitions: each gives one line naming file and place,
 * and none does harm. */
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/spoilt_tape.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_good(void **state)
{
    (void)state;
    spoilt_write();
    assert_int_equal(spoilt_read(), LULL_OK);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_empty_directory(void **state)
{
    (void)state;
    spoilt.run = folder_path("empty");
    assert_int_equal(mkdir(spoilt.run, 0700), 0);
    spoilt_check("/empty", "not recognised");
}

static void test_missing(void **state)
{
    (void)state;
    spoilt.run = folder_path("nothing");
    spoilt_check("/nothing", "No such file");
}

static void test_missing_anchor(void **state)
{
    (void)state;
    spoilt_write();
    assert_int_equal(unlink(folder_path("run/lull-tape")), 0);
    spoilt_check("/run", "not recognised");
}

static void test_other_anchors(void **state)
{
    (void)state;
    static const char *const anchors[] = {"",
                                          "lull-tape",
                                          "lull-tape 3",
                                          "lull-tape 0\n",
                                          "lull-tape 30\n",
                                          "lull-tape 3\nx",
                                          "something else\n"};
    spoilt_write();
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++) {
        folder_write(folder_path("run/lull-tape"), anchors[i], strlen(anchors[i]));
        spoilt_check("/run/lull-tape", "expected 'lull-tape 3'");
        assert_null(strstr(spoilt.err.text, "run/lull-tape/"));
    }
    /* the anchor named by itself */
    folder_write(folder_path("run/lull-tape"), "lull-tape 0\n", 12);
    spoilt.run = folder_path("run/lull-tape");
    spoilt_check("/run/lull-tape", "expected 'lull-tape 3'");
}

static void test_other_versions(void **state)
{
    (void)state;
    spoilt.definitions.header.version = 2;
    spoilt_write();
    spoilt_check("/run/0/0.tape", "older lull: version 2, this one reads 3; record it again");
    folder_write(folder_path("run/lull-tape"), "lull-tape 1\n", 12);
    spoilt_check("/run/lull-tape", "older lull: version 1, this one reads 3; record it again");
    folder_write(folder_path("run/lull-tape"), "lull-tape 4\n", 12);
    spoilt_check("/run/lull-tape", "newer lull: version 4, this one reads 3");
}

static void test_no_tape_files(void **state)
{
    (void)state;
    definitions_write(&spoilt.definitions, spoilt.run);
    spoilt_check("/run", "no tape files");
}

static void test_missing_definitions(void **state)
{
    (void)state;
    tape_write(&spoilt.tape, spoilt.run, 0);
    spoilt_check("/run/0/0.tape", "has no definitions");
}

/* Of four processes, the third's tape is not there: found by the communicator that counts it. */
static void test_missing_location(void **state)
{
    (void)state;
    spoilt_drop();
    for (uint32_t p = 0; p < 4; p++) {
        definitions_begin(&spoilt.definitions, p);
        define_comm(&spoilt.definitions, 0, 1, 4, NULL, UINT32_MAX, "world");
        definitions_write(&spoilt.definitions, spoilt.run);
        tape_begin(&spoilt.tape, p, 0);
        tape_write(&spoilt.tape, spoilt.run, 0);
    }
    assert_int_equal(spoilt_read(), LULL_OK);
    assert_int_equal(unlink(folder_path("run/0/2.tape")), 0);
    spoilt_check("/run", "'world' has a member without a tape");
}

static void test_no_permission(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        printf("skipped: root may read everything\n");
        skip();
    }
    spoilt_write();
    assert_int_equal(chmod(folder_path("run/0/0.tape"), 0), 0);
    spoilt_check("/run/0/0.tape", "Permission denied");
}

static void test_directory_in_the_place_of_a_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder_path("run/0/0.tape"), 0700), 0);
    spoilt_check("/run/0/0.tape", "irectory");
}

/* As lull convert wrote it once. */
static void test_file_of_a_location(void **state)
{
    (void)state;
    spoilt_write();
    folder_write(folder_path("run/0/0.1.tape"), "", 0);
    spoilt_check("/run/0/0.1.tape", "older lull, with files of single locations");
}

/* ---- headers --------------------------------------------------------------------------------- */

static void spoil(size_t offset, const void *value, size_t value_size)
{
    size_t size;
    unsigned char *bytes = folder_read(folder_path("run/0/0.tape"), &size);
    memcpy(bytes + offset, value, value_size);
    folder_write(folder_path("run/0/0.tape"), bytes, size);
    free(bytes);
}

static void spoil_u64(size_t offset, uint64_t value)
{
    spoil(offset, &value, sizeof value);
}

/* Where the header of the location stands, and the definitions. */
static size_t head(void)
{
    return process_place(spoilt.run, 0, LULL_TAPE_PART_HEAD, 0);
}

static size_t definitions(void)
{
    return process_place(spoilt.run, 0, LULL_TAPE_PART_DEFINITIONS, 0);
}

static void test_headers(void **state)
{
    (void)state;
    struct lull_tape_header good = spoilt.tape.header, bad[8];
    static const char *const causes[8] = {"no header",
                                          "no header",
                                          "newer lull: version 4",
                                          "records of 32 bytes behind a header of 4096",
                                          "records of 16 bytes behind a header of 64",
                                          "belongs to process 7",
                                          "not terminated",
                                          "older lull: version 2"};
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].magic[3] = 'x';
    bad[1].byte_order = 0x04030201;
    bad[2].version = 4;
    bad[3].record_size = 32;
    bad[4].header_size = 64;
    bad[5].process = 7;
    memset(bad[6].name, 'n', sizeof bad[6].name);
    bad[7].version = 2;
    definitions_write(&spoilt.definitions, spoilt.run);
    spoilt_drop();
    for (int i = 0; i < 8; i++) {
        tape_begin(&spoilt.tape, 0, 0);
        spoilt.tape.header = bad[i];
        /* written under the right name, whatever the header says */
        uint32_t process = spoilt.tape.header.process;
        spoilt.tape.header.process = 0;
        tape_write(&spoilt.tape, spoilt.run, 0);
        spoil(head() + offsetof(struct lull_tape_header, process), &process, sizeof process);
        spoilt_check("/run/0/0.tape", causes[i]);
    }
}

static void test_committed_beyond_the_file(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {LULL_TAPE_PAGE + 16, UINT64_C(1) << 40, UINT64_MAX - 15};
    spoilt_write();
    const size_t committed = head() + offsetof(struct lull_tape_header, committed);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        spoil_u64(committed, lengths[i]);
        spoilt_check("/run/0/0.tape", "truncated");
    }
    spoil_u64(committed, 8);
    spoilt_check("/run/0/0.tape", "");
    spoil_u64(committed, 16);
    spoil_u64(definitions() + offsetof(struct lull_tape_definitions_header, committed),
              UINT64_MAX - 8);
    spoilt_check("/run/0/0.tape", "truncated");
}

static void test_definitions_of_another_process(void **state)
{
    (void)state;
    spoilt_write();
    spoil(definitions() + offsetof(struct lull_tape_definitions_header, process), "\3", 1);
    spoilt_check("/run/0/0.tape", "belongs to process 3");
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void check_definition(const char *cause)
{
    spoilt_write();
    spoilt_check("/run/0/0.tape", cause);
}

static void test_id_beyond_22_bits(void **state)
{
    (void)state;
    define_region(&spoilt.definitions, LULL_TAPE_MOST_IDS, "x");
    check_definition("id 4194303");
}

/* A small file cannot make the reader reserve much memory. */
static void test_id_out_of_proportion(void **state)
{
    (void)state;
    define_region(&spoilt.definitions, 1000000, "x");
    check_definition("id 1000000");
}

static void test_text_longer_than_its_definition(void **state)
{
    (void)state;
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_MARKER, 5, "Uu", UINT64_C(1), UINT32_MAX);
    check_definition("bad definition of kind 9, id 5");
}

static void test_members_longer_than_their_definition(void **state)
{
    (void)state;
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_COMM, 5, "Uuuuuuu", UINT64_C(8), 2u,
                    0x40000000u, 0u, UINT32_MAX, UINT32_MAX, 0x40000000u);
    check_definition("bad definition of kind 7, id 5");
}

static void test_definition_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 8, 15, 17, 20, 4096, UINT32_MAX, UINT32_MAX - 7};
    char place[64];
    spoilt_write();
    const size_t first = definitions() + sizeof(struct lull_tape_definitions_header);
    snprintf(place, sizeof place, "/run/0/0.tape: offset %zu: ", first);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        spoil(first, &sizes[i], sizeof sizes[i]);
        spoilt_check(place, "definition");
    }
}

static void test_clock(void **state)
{
    (void)state;
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(5), UINT64_C(5),
                    1.0);
    check_definition("one point");
}

static void test_clock_runs_backwards(void **state)
{
    (void)state;
    spoilt_drop();
    static const uint64_t points[][4] = {{5, 50, 10, 40},
                                         {5, 50, 10, 50},
                                         {5, 50, 5, 60},
                                         {0, UINT64_C(1) << 63, 10, INT64_MAX},
                                         {0, 0, UINT64_MAX, 1}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        definitions_begin(&spoilt.definitions, 0);
        for (int p = 0; p < 4; p += 2)
            definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", points[i][p],
                            points[i][p + 1], 1.0);
        definitions_write(&spoilt.definitions, spoilt.run);
        tape_begin(&spoilt.tape, 0, 0);
        tape_write(&spoilt.tape, spoilt.run, 0);
        spoilt_check("/run/0/0.tape", "clock does not run forward");
    }
}

static void test_communicators(void **state)
{
    (void)state;
    static const uint32_t member = 5;
    define_comm(&spoilt.definitions, 3, 9, 1, &member, UINT32_MAX, "stranger");
    spoilt_write();
    spoilt_check("/run", "'stranger' has a member without a tape");
}

static void test_endless_communicator(void **state)
{
    (void)state;
    spoilt_drop();
    static const uint32_t sizes[] = {2, UINT32_MAX, UINT32_MAX - 1, 0x80000000};
    for (size_t i = 0; i < 4; i++) {
        definitions_begin(&spoilt.definitions, 0);
        define_comm(&spoilt.definitions, 0, 9, sizes[i], NULL, UINT32_MAX, "endless");
        definitions_write(&spoilt.definitions, spoilt.run);
        tape_begin(&spoilt.tape, 0, 0);
        tape_write(&spoilt.tape, spoilt.run, 0);
        spoilt_check("/run", "'endless'");
    }
}

/* A definition that this version does not know is passed over. */
static void test_unknown_definition(void **state)
{
    (void)state;
    definitions_add(&spoilt.definitions, 99, 3, "uu", 1u, 2u);
    spoilt_write();
    assert_int_equal(spoilt_read(), LULL_OK);
}

TEST_GROUP(test_tape_bad)
{
    const struct CMUnitTest tests[] = {
        SPOILT_TEST(test_good),
        SPOILT_TEST(test_empty_directory),
        SPOILT_TEST(test_missing),
        SPOILT_TEST(test_missing_anchor),
        SPOILT_TEST(test_other_anchors),
        SPOILT_TEST(test_other_versions),
        SPOILT_TEST(test_no_tape_files),
        SPOILT_TEST(test_missing_definitions),
        SPOILT_TEST(test_missing_location),
        SPOILT_TEST(test_no_permission),
        SPOILT_TEST(test_directory_in_the_place_of_a_file),
        SPOILT_TEST(test_file_of_a_location),
        SPOILT_TEST(test_headers),
        SPOILT_TEST(test_committed_beyond_the_file),
        SPOILT_TEST(test_definitions_of_another_process),
        SPOILT_TEST(test_id_beyond_22_bits),
        SPOILT_TEST(test_id_out_of_proportion),
        SPOILT_TEST(test_text_longer_than_its_definition),
        SPOILT_TEST(test_members_longer_than_their_definition),
        SPOILT_TEST(test_definition_sizes),
        SPOILT_TEST(test_clock),
        SPOILT_TEST(test_clock_runs_backwards),
        SPOILT_TEST(test_communicators),
        SPOILT_TEST(test_endless_communicator),
        SPOILT_TEST(test_unknown_definition),
    };
    return run_cases(tests, NULL, NULL);
}
