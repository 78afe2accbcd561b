/* A small run with a record of every kind, cut off and changed everywhere: accepted or refused with
 * one line, and nothing worse. */
#include "support/folder.h"
#include "support/process_maker.h"
#include "support/seed.h"
#include "support/spoilt_tape.h"
#include "support/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A small run with a record of every kind. */
static void write_everything(void)
{
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_NODE, 0, "uss", UINT32_MAX, "n", "node");
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_PROCESS, 0, "uuus", 0u, 0u, 0u, "rank 0");
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(0), UINT64_C(0),
                    1.0);
    definitions_add(&spoilt.definitions, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", UINT64_C(100),
                    UINT64_C(200), 1.0);
    spoilt_record(LULL_TAPE_ENTER, 0, 0, 0);
    spoilt_message(0, 0);
    tape_message_call(&spoilt.tape, LULL_TAPE_CALL_IRECV, 22, 1, 1, -1, -1, 0, 50);
    tape_message_call(&spoilt.tape, LULL_TAPE_CALL_ISEND, 24, 1, 1, 0, 1, 0, 50);
    spoilt_complete(0, 2, 0);
    spoilt.tape.slots[spoilt.tape.count - 2].record.time = 30;
    lull_tape_put_collective_call(tape_room(&spoilt.tape, 2), LULL_TAPE_CALL_COLLECTIVE, 40, 1, 1,
                                  0, 0, 8, 8);
    tape_record(&spoilt.tape, 50, LULL_TAPE_STATE, 0, 0, 5);
    tape_record(&spoilt.tape, 50, LULL_TAPE_FLUSH, 1, 0, 5)[1].u64[0] = 3;
    tape_record(&spoilt.tape, 50, LULL_TAPE_MESSAGE, 2, 0, 0);
    tape_record(&spoilt.tape, 50, LULL_TAPE_COLLECTIVE, 2, 0, 0);
    tape_record(&spoilt.tape, 50, LULL_TAPE_TRANSFER, 1, LULL_TAPE_NO_ID, 0);
    tape_record(&spoilt.tape, 50, LULL_TAPE_NUMBER, 1, 0, LULL_TAPE_NUMBER_MARKER);
    tape_record(&spoilt.tape, 50, LULL_TAPE_COUNTERS, 2, 0, 0);
    tape_record(&spoilt.tape, 60, LULL_TAPE_LEAVE, 0, 0, 0);
    spoilt_write();
    assert_int_equal(spoilt_read(), LULL_OK);
}

static void for_every_prefix(size_t first, size_t end, size_t step)
{
    size_t size;
    unsigned char *bytes = folder_read(folder_path("run/0/0.tape"), &size);
    for (size_t length = first; length < end; length += step) {
        folder_write(folder_path("run/0/0.tape"), bytes, length);
        fail_if(spoilt_read() == LULL_OK, "%zu of %zu bytes are accepted", length, size);
        fail_if(!strstr(spoilt.err.text, "run/0/0.tape"), "'%s' does not name the file",
                spoilt.err.text);
    }
    folder_write(folder_path("run/0/0.tape"), bytes, size);
    free(bytes);
}

/* Where a part begins, and how much of it is in use. */
struct span {
    size_t begin, size;
};

static struct span place_of(unsigned part)
{
    static size_t sizes[LULL_TAPE_PARTS];
    sizes[LULL_TAPE_PART_HEAD] = sizeof(struct lull_tape_header);
    sizes[LULL_TAPE_PART_RECORDS] = spoilt.tape.count * sizeof(union lull_tape_slot);
    sizes[LULL_TAPE_PART_DEFINITIONS] = sizeof spoilt.definitions.header + spoilt.definitions.size;
    return (struct span){process_place(spoilt.run, 0, part, 0), sizes[part]};
}

static void test_every_prefix(void **state)
{
    (void)state;
    write_everything();
    const struct span records = place_of(LULL_TAPE_PART_RECORDS);
    const size_t end = records.begin + records.size;
    /* A stride that has no divisor in common with the size of a slot comes to each of its bytes. */
    const size_t each = 5 / lull_test_rounds(5);
    for_every_prefix(place_of(LULL_TAPE_PART_DEFINITIONS).begin, LULL_TAPE_PAGE + 512, each);
    for_every_prefix(records.begin - 3, end, each);
    for_every_prefix(0, end, 37 * each);
}

/* Each byte with one bit, with all bits turned, cleared: accepted or refused, and nothing worse.
 * Under sanitizers each byte is changed in one of these ways, by turns. */
static void for_every_byte(const char *name, struct span span)
{
    size_t size;
    unsigned char *bytes = folder_read(folder_path(name), &size);
    unsigned tried = 0, refused = 0;
    for (size_t i = span.begin; i < size && i < span.begin + span.size; i++) {
        const unsigned char good = bytes[i];
        const unsigned char bad[] = {(unsigned char)(good ^ 1u << i % 8), (unsigned char)~good, 0,
                                     0x7f};
        for (size_t b = 0; b < sizeof bad; b++) {
            if (!lull_test_picks(i + b, sizeof bad))
                continue;
            bytes[i] = bad[b];
            folder_write(folder_path(name), bytes, size);
            tried++;
            refused += spoilt_read() != LULL_OK;
        }
        bytes[i] = good;
    }
    folder_write(folder_path(name), bytes, size);
    assert_int_equal(spoilt_read(), LULL_OK);
    assert_reached("damage is seen", refused, tried / 20, tried);
    free(bytes);
}

static void test_every_byte(void **state)
{
    (void)state;
    write_everything();
    for_every_byte("run/0/0.tape", place_of(LULL_TAPE_PART_DEFINITIONS));
    for_every_byte("run/0/0.tape", place_of(LULL_TAPE_PART_HEAD));
    for_every_byte("run/0/0.tape", place_of(LULL_TAPE_PART_RECORDS));
    for_every_byte("run/lull-tape", (struct span){0, 4096});
}

TEST_GROUP(test_tape_damage)
{
    const struct CMUnitTest tests[] = {
        SPOILT_TEST(test_every_prefix),
        SPOILT_TEST(test_every_byte),
    };
    return run_cases(tests, NULL, NULL);
}
