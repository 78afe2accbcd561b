/* The bytes under a Paraver trace: numbers, lines across chunks, gzip members whole and broken. */
#include "stats/random.h"
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/test.h"
#include "trace/format/paraver/prv_number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

enum {
    LINES = 60000, /* a few chunks */
    MOST_WORKERS = 4
};

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

static uint64_t sum_of_markers(const char *path, unsigned workers, lull_status *ret_status)
{
    struct lull_trace *trace = NULL;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *all;
    uint64_t sum = 0;
    *ret_status = lull_trace_open(path, &trace, &err);
    if (*ret_status == LULL_OK)
        *ret_status = collect_by_scan(trace, LULL_MASK_ALL, workers, arena, &all, &err);
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
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++) {
        lull_status status;
        uint64_t sum = sum_of_markers(folder_path(name), workers, &status);
        fail_if(status != LULL_OK, "%s", err.text);
        assert_true(sum == expected_sum());
    }
}

static void check_bad(const char *name, const char *expected)
{
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++) {
        lull_status status;
        sum_of_markers(folder_path(name), workers, &status);
        assert_int_equal(status, LULL_ERR_FORMAT);
        fail_if(!strstr(err.text, expected) || !strstr(err.text, name),
                "%u workers: message '%s', expected '%s'", workers, err.text, expected);
    }
}

/* Members of nothing before the first that has something, and a trace all the same. */
static void test_empty_members(void **state)
{
    (void)state;
    size_t size, empty_size, whole_size;
    char *text = make_text(&size);
    unsigned char *empty = pack("", 0, &empty_size), *whole = pack(text, size, &whole_size);
    unsigned char *all = malloc(2 * empty_size + whole_size);
    memcpy(all, empty, empty_size);
    memcpy(all + empty_size, empty, empty_size);
    memcpy(all + 2 * empty_size, whole, whole_size);
    folder_make();
    folder_write(folder_path("empty.gz"), all, 2 * empty_size + whole_size);
    check_good("empty.gz");
    folder_remove();
    free(all);
    free(whole);
    free(empty);
    free(text);
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

/* Replaces the value behind the time of a line by a letter, which no line has. */
static void spoil(char *text, int line)
{
    for (int i = 0; i <= line; i++)
        text = strchr(text, '\n') + 1;
    strchr(text, '7')[0] = 'x';
}

/* Lines have the same numbers whoever takes them apart, and the first that is wrong is told. */
static void test_bad_lines(void **state)
{
    (void)state;
    size_t size;
    char *text = make_text(&size);
    folder_make();
    spoil(text, 59990); /* its number in the file is 2 higher: the header is line 1 */
    folder_write(folder_path("bad.prv"), text, size);
    check_bad("bad.prv", "line 59992: expected ");
    spoil(text, 30000);
    folder_write(folder_path("bad.prv"), text, size);
    check_bad("bad.prv", "line 30002: expected ");
    strstr(text, ":20000:77:")[1] = '1'; /* 10000 */
    folder_write(folder_path("bad.prv"), text, size);
    /* It moves up 1000 lines, to behind the line of time 18999. */
    check_bad("bad.prv", "line 20002: time 10000 is before 18999");
    free(text);
    folder_remove();
}

/* The header ends the run too early, which only the last lines show: times stay as they are. */
static void test_end_behind_header(void **state)
{
    (void)state;
    size_t size, packed_size;
    char *text = make_text(&size);
    memcpy(strstr(text, "60000_ns"), "59990", 5);
    folder_make();
    folder_write(folder_path("early.prv"), text, size);
    check_good("early.prv");
    memcpy(strstr(text, "59990_ns"), "00003", 5);
    unsigned char *packed = pack(text, size, &packed_size);
    folder_write(folder_path("early.gz"), packed, packed_size);
    check_good("early.gz");
    free(packed);
    free(text);
    folder_remove();
}

static void check_messages(const char *path, unsigned workers)
{
    struct lull_trace *trace = NULL;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct same_sequence *all;
    const uint64_t mask = LULL_MASK(LULL_EVENT_SEND) | LULL_MASK(LULL_EVENT_RECV);
    assert_int_equal(lull_trace_open(path, &trace, &err), LULL_OK);
    assert_int_equal(collect_by_scan(trace, mask, workers, arena, &all, &err), LULL_OK);
    assert_int_equal(all[0].count, 2 * LINES);
    for (size_t i = 0; i < LINES; i++) {
        const struct lull_event *send = &all[0].events[2 * i], *receive = send + 1;
        assert_int_equal(send->kind, LULL_EVENT_SEND);
        assert_int_equal(send->time, 10 * i);
        assert_int_equal(send->message.tag, i);
        assert_int_equal(receive->kind, LULL_EVENT_RECV);
        assert_int_equal(receive->time, 10 * i + 5);
        assert_int_equal(receive->message.tag, i);
    }
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

/* Messages that a thread sends to itself, the i-th at 10 i, with 5 ns under way; the file has the
 * last one first. */
static void test_messages(void **state)
{
    (void)state;
    const size_t capacity = LINES * 80;
    char *text = malloc(capacity);
    size_t size = (size_t)snprintf(
        text, capacity, "#Paraver (01/02/2026 at 10:20):%d_ns:1(1):1:1(1:1),0\n", 10 * LINES + 10);
    for (int i = LINES - 1; i >= 0; i--)
        size +=
            (size_t)snprintf(text + size, capacity - size, "3:1:1:1:1:%d:%d:1:1:1:1:%d:%d:8:%d\n",
                             10 * i, 10 * i, 10 * i + 5, 10 * i + 5, i);
    folder_make();
    folder_write(folder_path("messages.prv"), text, size);
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++)
        check_messages(folder_path("messages.prv"), workers);
    free(text);
    folder_remove();
}

TEST_GROUP(test_paraver_source)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),           cmocka_unit_test(test_not_numbers),
        cmocka_unit_test(test_empty_members),     cmocka_unit_test(test_files),
        cmocka_unit_test(test_bad_lines),         cmocka_unit_test(test_messages),
        cmocka_unit_test(test_end_behind_header),
    };
    return run_cases(tests, NULL, NULL);
}
