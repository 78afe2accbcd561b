/* The bytes under a Paraver trace: numbers, lines across chunks, gzip members whole and broken. */
#include "stats/random.h"
#include "support/folder.h"
#include "support/same_trace.h"
#include "trace/format/paraver/read/number.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static struct lull_error err;

static void test_numbers(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, 7);
    for (int round = 0; round < 100000; round++) {
        char text[64] = "";
        uint64_t number = lull_random_u64(&random) >> lull_random_below(&random, 64), read;
        unsigned zeros = (unsigned)lull_random_below(&random, 4);
        int length = snprintf(text, 40, "%.*s%" PRIu64, (int)zeros, "000", number);
        text[length] = (char)lull_random_below(&random, '0'); /* anything but a digit */
        memset(text + length + 1, (int)lull_random_below(&random, 256), 20);
        const uint8_t *at = (const uint8_t *)text;
        assert_true(lull_prv_number(&at, &read));
        assert_int_equal((const char *)at - text, length);
        assert_true(read == number);
    }
}

static void test_not_numbers(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",         ":", "-5", "x1", "\n", "18446744073709551616", "99999999999999999999999",
        "\x80\x81", "/", ":1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64] = "";
        uint64_t read;
        strcpy(text, bad[i]);
        const uint8_t *at = (const uint8_t *)text;
        assert_false(lull_prv_number(&at, &read));
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { LINES = 60000 }; /* a few chunks */

/* A trace whose lines have all lengths, so that chunks end anywhere in one. */
static char *make_text(size_t *ret_size)
{
    size_t capacity = LINES * 80, size = 0;
    char *text = malloc(capacity);
    size += (size_t)snprintf(text, capacity,
                             "#Paraver (01/02/2026 at 10:20):%d_ns:1(1):1:1(1:1),0\n", LINES);
    for (int i = 0; i < LINES; i++)
        size += (size_t)snprintf(text + size, capacity - size, "2:1:1:1:1:%d:77:%d:%d:%d\n", i, i,
                                 78 + i % 3, i * (i % 97));
    *ret_size = size;
    return text;
}

static uint64_t sum_of_markers(const char *path, lull_status *ret_status)
{
    struct lull_trace *trace = NULL;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *all;
    uint64_t sum = 0;
    *ret_status = lull_trace_open(path, &trace, &err);
    if (*ret_status == LULL_OK)
        *ret_status = collect_by_scan(trace, LULL_MASK_ALL, 1, arena, &all, &err);
    for (size_t i = 0; *ret_status == LULL_OK && i < all[0].count; i++)
        sum += all[0].events[i].number * (uint64_t)(all[0].events[i].time + 1);
    lull_arena_destroy(arena);
    lull_trace_close(trace);
    return sum;
}

static uint64_t expected_sum(void)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < LINES; i++)
        sum += (i + i * (i % 97)) * (i + 1);
    return sum;
}

static unsigned char *pack(const void *text, size_t size, size_t *ret_size)
{
    size_t capacity = size + 1000;
    unsigned char *packed = malloc(capacity);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text,
                       .avail_in = (uInt)size,
                       .next_out = packed,
                       .avail_out = (uInt)capacity};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *ret_size = stream.total_out;
    deflateEnd(&stream);
    return packed;
}

static void check_good(const char *name)
{
    lull_status status;
    uint64_t sum = sum_of_markers(folder_path(name), &status);
    if (status != LULL_OK)
        fail_msg("%s", err.text);
    assert_true(sum == expected_sum());
}

static void check_bad(const char *name, const char *expected)
{
    lull_status status;
    sum_of_markers(folder_path(name), &status);
    assert_int_equal(status, LULL_ERR_FORMAT);
    if (!strstr(err.text, expected) || !strstr(err.text, name))
        fail_msg("message '%s', expected '%s'", err.text, expected);
}

static void test_files(void **state)
{
    (void)state;
    size_t size, first_size, second_size;
    char *text = make_text(&size);
    folder_make();
    folder_write(folder_path("plain.prv"), text, size);
    check_good("plain.prv");

    /* two members, parted in the middle of a line, and zeros behind */
    unsigned char *first = pack(text, size / 2 + 5, &first_size);
    unsigned char *second = pack(text + size / 2 + 5, size - size / 2 - 5, &second_size);
    unsigned char *both = calloc(1, first_size + second_size + 512);
    memcpy(both, first, first_size);
    memcpy(both + first_size, second, second_size);
    folder_write(folder_path("members.gz"), both, first_size + second_size + 512);
    check_good("members.gz");
    memcpy(both + first_size + second_size, "garbage", 7);
    folder_write(folder_path("garbage.gz"), both, first_size + second_size + 7);
    check_good("garbage.gz");

    folder_write(folder_path("cut.gz"), both, first_size + second_size / 2);
    char place[64];
    snprintf(place, sizeof place, "compressed offset %zu", first_size + second_size / 2);
    check_bad("cut.gz", place);
    check_bad("cut.gz", "ends early");
    folder_write(folder_path("head.gz"), both, first_size - 4); /* inside the trailer */
    check_bad("head.gz", "ends early");
    both[first_size + second_size - 6] ^= 0x55; /* the check sum of the second member */
    folder_write(folder_path("flip.gz"), both, first_size + second_size);
    check_bad("flip.gz", "corrupt");
    free(both);
    free(second);
    free(first);
    free(text);
    folder_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_not_numbers),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
