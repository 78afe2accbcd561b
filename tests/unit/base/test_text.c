/* Numbers and pieces of text. */
#include "base/text.h"

#include "base/arena.h"
#include "support/test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void test_u64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"7", 7},
                {"007", 7},
                {"18446744073709551615", UINT64_MAX},
                {"9223372036854775808", UINT64_C(1) << 63}};
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1a",
                                      "0x10",
                                      "1.0",
                                      "18446744073709551616",
                                      "99999999999999999999",
                                      "184467440737095516150",
                                      "\xb2"};
    uint64_t value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        value = 99;
        assert_int_equal(lull_parse_u64(good[i].text, strlen(good[i].text), &value), LULL_OK);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value = 99;
        assert_int_equal(lull_parse_u64(bad[i], strlen(bad[i]), &value), LULL_ERR_RANGE);
        assert_true(value == 99);
    }
    assert_int_equal(lull_parse_u64("123:456", 3, &value), LULL_OK);
    assert_true(value == 123);
}

static void test_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double bare;
        int64_t ns;
    } good[] = {
        {"250ns", 1, 250},
        {"1ns", 1, 1},
        {"0ns", 1, 0},
        {"1.5us", 1, 1500},
        {"3ms", 1, 3000000},
        {"2s", 1, 2000000000},
        {"1min", 1, INT64_C(60000000000)},
        {"2min", 1, INT64_C(120000000000)},
        {"1h", 1, INT64_C(3600000000000)},
        {"0.5h", 1, INT64_C(1800000000000)},
        {"12", 1, 12},
        {"12", 1e9, INT64_C(12000000000)},
        {"1.5", 1e3, 1500},
        {".5s", 1, 500000000},
        {"5.s", 1, INT64_C(5000000000)},
        {"-3ms", 1, -3000000},
        {"+3ms", 1, 3000000},
        {"1e3us", 1, 1000000},
        {"1e-9s", 1, 1},
        {"0.6ns", 1, 1},
        {"0.4ns", 1, 0},
        {"-0.6ns", 1, -1},
        {"100000h", 1, INT64_C(360000000000000000)},
    };
    static const char *const bad[] = {
        "",     "s",      "ms",    "1 s",  " 1s",      "1s ",       "1sec",   "1S",  "1MS",
        "inf",  "infs",   "-inf",  "+inf", "nan",      "-nan",      "nan(1)", "0x1", "0x10s",
        "-0x1", "+0X10s", "0x1p3", "1e",   "1e999",    "-1e999",    "1e10h",  "--1", "+-1s",
        ".",    "-",      "1..2s", "1,5s", "9.3e18ns", "-9.3e18ns", "1e400s", "1\n"};
    struct lull_error err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ns = 99;
        fail_if(
            lull_parse_time(good[i].text, good[i].bare, &ns, &err) != LULL_OK || ns != good[i].ns,
            "'%s' gives %lld, expected %lld", good[i].text, (long long)ns, (long long)good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t ns = 99;
        fail_if(lull_parse_time(bad[i], 1, &ns, &err) != LULL_ERR_RANGE || ns != 99,
                "'%s' gives %lld, expected an error", bad[i], (long long)ns);
        assert_non_null(strstr(err.text, "time"));
    }
}

static void test_size(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"512", 512},
        {"512B", 512},
        {"1KiB", 1024},
        {"4MB", 4000000},
        {"4kB", 4000},
        {"4KB", 4000},
        {"1.5KiB", 1536},
        {"3GiB", UINT64_C(3) << 30},
        {"2TiB", UINT64_C(2) << 40},
        {"1GB", 1000000000},
        {"1TB", UINT64_C(1000000000000)},
        {"0.4B", 0},
        {"0.5", 1},
        {"4503599627370497", UINT64_C(4503599627370497)}, /* 2^52 + 1: + 0.5 would round it */
        {"9007199254740991", UINT64_C(9007199254740991)},
        {"1e3", 1000},
        {"16777215TiB", UINT64_C(16777215) << 40},
    };
    static const char *const bad[] = {"",      "B",           "-1",   "-1KiB", "1kib",
                                      "1 KiB", "inf",         "nan",  "0x10",  "-0x10",
                                      "1K",    "16777216TiB", "2e19", "1e400"};
    struct lull_error err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t bytes = 99;
        fail_if(lull_parse_size(good[i].text, &bytes, &err) != LULL_OK || bytes != good[i].bytes,
                "'%s' gives %llu, expected %llu", good[i].text, (unsigned long long)bytes,
                (unsigned long long)good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t bytes = 99;
        fail_if(lull_parse_size(bad[i], &bytes, &err) != LULL_ERR_RANGE || bytes != 99,
                "'%s' gives %llu, expected an error", bad[i], (unsigned long long)bytes);
        assert_non_null(strstr(err.text, "size"));
    }
}

static void test_format_time(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {7, "7 ns"},
        {999, "999 ns"},
        {-999, "-999 ns"},
        {1000, "1.000 us"},
        {12345, "12.35 us"},
        {123456, "123.5 us"},
        {999949, "999.9 us"},
        {999950, "1.000 ms"}, /* not 1000.0 us: four digits at most */
        {999999, "1.000 ms"},
        {-999999, "-1.000 ms"},
        {9999500, "10.00 ms"},
        {99995000, "100.0 ms"},
        {999999999, "1.000 s"},
        {1000000000, "1.000 s"},
        {INT64_C(21898659140), "21.90 s"},
        {INT64_C(3600000000000), "3600.0 s"},
        {INT64_MAX, "9223372036.9 s"},
        {INT64_MIN, "-9223372036.9 s"},
    };
    char buffer[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = lull_format_time(cases[i].ns, buffer, sizeof buffer);
        assert_ptr_equal(text, buffer);
        assert_string_equal(text, cases[i].text);
    }
    char tiny[4];
    lull_format_time(123456, tiny, sizeof tiny);
    assert_int_equal(tiny[3], '\0');
}

static void test_format_size(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.000 KiB"},
        {1536, "1.500 KiB"},
        {12902400, "12.30 MiB"},
        {1048575, "1.000 MiB"}, /* not 1024.0 KiB */
        {1048576, "1.000 MiB"},
        {UINT64_C(1) << 40, "1.000 TiB"},
        {UINT64_MAX, "16.00 EiB"},
    };
    char buffer[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(lull_format_size(cases[i].bytes, buffer, sizeof buffer), cases[i].text);
}

static void test_format_count(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        const char *text;
    } cases[] = {{0, "0"},
                 {7, "7"},
                 {999, "999"},
                 {1000, "1,000"},
                 {22180, "22,180"},
                 {1234567, "1,234,567"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    char buffer[27];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(lull_format_count(cases[i].count, buffer, sizeof buffer),
                            cases[i].text);
    assert_string_equal(lull_format_count(5, buffer, 2), "5");
    lull_format_count(UINT64_MAX, buffer, 8);
    assert_true(strlen(buffer) < 8);
    lull_format_count(UINT64_MAX, buffer, 1);
    assert_string_equal(buffer, "");
}

static void test_format_quantity(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        {35.2e9, "B/s", "35.20 GB/s"},    {1.786e-9, "s", "1.786 ns"},   {0, "s", "0.000 s"},
        {999.94, "B", "999.9 B"},         {999.96, "B", "1.000 kB"},     {1e-6, "s", "1.000 us"},
        {0.5, "s", "500.0 ms"},           {-2500, "B/s", "-2.500 kB/s"}, {1, "Hz", "1.000 Hz"},
        {2e18, "flop/s", "2000 Pflop/s"}, {1e-13, "s", "0.1000 ps"},
    };
    char buffer[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            lull_format_quantity(cases[i].value, cases[i].unit, buffer, sizeof buffer),
            cases[i].text);
}

static void test_real(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "x", "1x", "1 ", "inf", "nan", "1e999", "1,5"};
    double value = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(lull_parse_real(wrong[i], &value), LULL_ERR_RANGE);
    assert_true(value == 7); /* written only on success */
    assert_int_equal(lull_parse_real("-2.5e3", &value), LULL_OK);
    assert_true(value == -2500);
}

static void test_split(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    static const struct {
        const char *text, *separators;
        size_t count;
        const char *pieces[4];
    } cases[] = {{"a,bc,d", ",", 3, {"a", "bc", "d"}},
                 {"abc", ",", 1, {"abc"}},
                 {"", ",", 1, {""}},
                 {",a,", ",", 3, {"", "a", ""}},
                 {"a b\tc", " \t", 3, {"a", "b", "c"}}};
    size_t count = 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char **pieces = lull_split(cases[i].text, cases[i].separators, arena, &count);
        assert_int_equal(count, cases[i].count);
        for (size_t k = 0; k < count; k++)
            assert_string_equal(pieces[k], cases[i].pieces[k]);
        assert_null(pieces[count]);
    }
    assert_null(lull_split(NULL, ",", arena, &count));
    assert_int_equal(count, 0);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_u64),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_format_time),
        cmocka_unit_test(test_format_size),
        cmocka_unit_test(test_format_count),
        cmocka_unit_test(test_format_quantity),
    };
    return run_cases(tests, NULL, NULL);
}
