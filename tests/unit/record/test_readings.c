/* Readings of memory: which of many are kept, beside a list that is thinned here; the file is read byte by
 * byte. */
#include "record/core.h"
#include "record/readings.h"

#include "support/record/recorded.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 1000 };

/* What the definitions of the process end with: the room for readings that was made last. */
static void read_readings(struct lull_tape_reading ret_readings[LULL_TAPE_READINGS])
{
    struct lull_tape_definitions_header header;
    struct lull_tape_definition definition;
    bool found = false;
    size_t size = 1;
    for (uint32_t number = 0; size > 0; number++) {
        unsigned char *extent = recorded_part(LULL_TAPE_PART_DEFINITIONS, number, &size);
        if (size > 0)
            memcpy(&header, extent, sizeof header);
        for (size_t at = size > 0 ? header.header_size : 0;
             size > 0 && at < header.header_size + header.committed; at += definition.size) {
            memcpy(&definition, extent + at, sizeof definition);
            if (definition.kind != LULL_TAPE_DEFINE_READINGS)
                continue;
            found = true;
            assert_int_equal(definition.size,
                             sizeof definition + LULL_TAPE_READINGS * sizeof *ret_readings);
            memcpy(ret_readings, extent + at + sizeof definition,
                   LULL_TAPE_READINGS * sizeof *ret_readings);
        }
        free(extent);
    }
    assert_true(found);
}

/* 1, 2 ... 1000 bytes: whenever there are 128, those with odd places are given up. */
static void test_thinned(void **state)
{
    (void)state;
    struct lull_tape_reading readings[LULL_TAPE_READINGS];
    uint64_t expected[LULL_TAPE_READINGS], last = 0;
    unsigned n = 0;
    rec_readings_begin(UINT64_MAX);
    for (uint64_t bytes = 1; bytes <= MANY; bytes++) {
        rec_readings_keep(bytes, true);
        if (n == LULL_TAPE_READINGS)
            for (n = 0; n < LULL_TAPE_READINGS / 2; n++)
                expected[n] = expected[2 * n];
        expected[n++] = bytes;
    }
    read_readings(readings);
    for (unsigned i = 0; i < LULL_TAPE_READINGS; i++) {
        assert_int_equal(readings[i].bytes, i < n ? expected[i] : 0);
        assert_true(i >= n || readings[i].time >= last);
        last = readings[i].time;
    }
}

/* The second one comes too early, unless it is the last. */
static void test_too_early(void **state)
{
    (void)state;
    struct lull_tape_reading readings[LULL_TAPE_READINGS];
    rec_readings_begin(UINT64_MAX);
    rec_readings_keep(7, false);
    rec_readings_keep(8, false);
    read_readings(readings);
    assert_int_equal(readings[0].bytes, 7);
    assert_int_equal(readings[1].bytes, 0);
    rec_readings_keep(9, true);
    read_readings(readings);
    assert_int_equal(readings[1].bytes, 9);
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_thinned),
        cmocka_unit_test(test_too_early),
    };
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_readings)
{
    return recorded_main_both(tests);
}
