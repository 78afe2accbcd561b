/* Definitions that many threads write at the same time, and a disk that is full; the file is read
 * here byte by byte. */
#include "record/core.h"
#include "record/life_cycle.h"
#include "record/store/definitions.h"

#include "support/folder.h"
#include "support/record/recorded.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, EACH = 600, NAME = 200, MOST = 100000 };

static uint32_t ids[THREADS][EACH], once;
static bool twice; /* atomic */
static char names[MOST][8];

static void name_of(char name[NAME], unsigned thread, unsigned number)
{
    memset(name, 'a' + (int)thread, NAME);
    snprintf(name + NAME - 8, 8, "%02u.%04u", thread % 100, number % 10000);
}

static void define(unsigned thread)
{
    char name[NAME];
    for (unsigned i = 0; i < EACH; i++) {
        name_of(name, thread, i);
        const struct rec_region region = {.paradigm = LULL_TAPE_PARADIGM_USER, .name = name};
        ids[thread][i] = rec_define_region(&region);
    }
    const struct rec_region region = {.paradigm = LULL_TAPE_PARADIGM_USER, .name = "once"};
    uint32_t mine = rec_define_region_once(&once, &region);
    if (mine == 0 || mine != __atomic_load_n(&once, __ATOMIC_ACQUIRE))
        __atomic_store_n(&twice, true, __ATOMIC_RELAXED);
}

static void test_threads(void **state)
{
    (void)state;
    recorded_threads(THREADS, define);
    assert_false(twice);
}

/* From the first that does not fit on there are none, also when there is room again: what has no
 * definition is not recorded. */
static void test_full_disk(void **state)
{
    (void)state;
    char name[NAME];
    unsigned n = 0;
    name_of(name, 9, 9);
    const struct rec_region region = {.paradigm = LULL_TAPE_PARADIGM_USER, .name = name};
    recorded_refuse_space(true);
    while (rec_define_region(&region) != 0)
        n++;
    recorded_refuse_space(false);
    assert_true(n < EACH);
    assert_int_equal(rec_define_region(&region), 0);
    assert_int_equal(rec_define_marker(name), 0);
}

/* The last seven characters of each region's name, by its id, in one extent; false: there is none.
 */
static bool read_extent(uint32_t number, unsigned *n)
{
    size_t size;
    unsigned char *extent = recorded_part(LULL_TAPE_PART_DEFINITIONS, number, &size);
    struct lull_tape_definitions_header header;
    const bool there = size > 0;
    if (there) {
        memcpy(&header, extent, sizeof header);
        assert_in_range(header.committed, 0, size - header.header_size);
        size = header.header_size + header.committed;
    }
    for (size_t at = there ? header.header_size : size; at < size;) {
        uint32_t words[9]; /* size, kind, id, 0; paradigm, role, parallel, line, length of name */
        memcpy(words, extent + at, size - at < sizeof words ? size - at : sizeof words);
        if ((words[1] & 0xffff) == LULL_TAPE_DEFINE_REGION && words[2] < MOST) {
            uint32_t from = words[8] > 7 ? words[8] - 7 : 0;
            memcpy(names[words[2]], extent + at + 36 + from, words[8] - from);
            ++*n;
        }
        assert_in_range(words[0], 1, size - at);
        at += words[0];
    }
    free(extent);
    return there;
}

/* Each id has the name that its thread has given. */
static void test_file(void **state)
{
    (void)state;
    rec_stop();
    unsigned n = 0;
    uint32_t extents = 0;
    while (read_extent(extents, &n))
        extents++;
    assert_true(extents > 1);
    assert_true(n > THREADS * EACH);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < EACH; i++) {
            char name[NAME];
            name_of(name, thread, i);
            assert_in_range(ids[thread][i], 1, n);
            assert_string_equal(names[ids[thread][i]], name + NAME - 8);
        }
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_file),
    };
    return run_cases(all, NULL, NULL);
}

TEST_GROUP(test_definitions)
{
    return recorded_main(tests);
}
