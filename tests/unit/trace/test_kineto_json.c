/* Values of JSON in texts that end anywhere: numbers to the last digit, strings with their escapes, and the same values
 * from a text that comes in pieces. */
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/format/kineto/json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct json_span span_of(const char *text)
{
    return (struct json_span){text, (uint32_t)strlen(text), false, strchr(text, '\\') != NULL};
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {
        {"0", 0},
        {"1234567.891", 1234567891},
        {"-2.5", -2500},
        {"1697135742285263.123", INT64_C(1697135742285263123)},
        {"1682725898236567.0", INT64_C(1682725898236567000)},
        {"1.682725898236567e+15", INT64_C(1682725898236567000)},
        {"4203669604595.407", INT64_C(4203669604595407)},
        {"12E2", 1200000},
        {"5e-3", 5},
        {"0.0004", 0},
        {"0.0005", 1},
        {"0.00149999", 1},
        {"0.0015", 2},
        {"7.00000000000000000000000000001", 7000},
        {"9223372036854775.807", INT64_MAX},
        {"0e999999999999", 0},
        {"1e-999999999999", 0},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const struct json_span span = span_of(times[i].text);
        int64_t ns = -1;
        fail_if(!lull_json_read_number(&span, 3, &ns), "%s", times[i].text);
        fail_if(ns != times[i].ns, "%s: %" PRId64, times[i].text, ns);
    }
}

static void test_no_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "-",
                                        ".",
                                        "x",
                                        "1x",
                                        "1e",
                                        "1e+",
                                        "--1",
                                        "1.2.3",
                                        "NaN",
                                        "+1",
                                        "1 2",
                                        "0x10",
                                        "e5",
                                        "1e30",
                                        "9223372036854775.808",
                                        "99999999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct json_span span = span_of(texts[i]);
        int64_t ns;
        fail_if(lull_json_read_number(&span, 3, &ns), "%s", texts[i]);
    }
}

/* A number is written with its point anywhere, and as many zeros as one likes. */
static void test_drawn_times(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int round = 0; round < (int)lull_test_rounds(20000); round++) {
        const uint64_t ns = lull_random_u64(&random) >> (1 + lull_random_below(&random, 62));
        const int exponent = (int)lull_random_below(&random, 20) - 10;
        char digits[64], text[128];
        snprintf(digits, sizeof digits, "%030" PRIu64,
                 ns); /* ns = digits, of which the last 3 are decimals */
        const int point = 30 - 3 - exponent;
        if (point >= 30 || point < 1)
            continue;
        snprintf(text, sizeof text, "%.*s.%s%s", point, digits, digits + point, "000");
        snprintf(text + strlen(text), sizeof text - strlen(text), "e%d", exponent);
        const struct json_span span = span_of(text);
        int64_t found = -1;
        fail_if(!lull_json_read_number(&span, 3, &found) || found != (int64_t)ns, "%s: %" PRId64,
                text, found);
    }
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *plain;
    } strings[] = {
        {"plain", "plain"},
        {"a\\\"b\\\\c\\/d", "a\"b\\c/d"},
        {"\\n\\t\\r\\b\\f", "\n\t\r\b\f"},
        {"\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\\ud83dx", "?x"},
        {"\\ude00", "?"},
        {"\\u0000", "?"},
        {"\\u12", "?"},
        {"\\", "\\"},
    };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const struct json_span span = span_of(strings[i].text);
        char plain[64];
        plain[lull_json_unescape(&span, plain)] = '\0';
        assert_string_equal(plain, strings[i].plain);
    }
}

/* Each value is found whole, however much of what follows is there; and never where some of it is missing. */
static void test_pieces(void **state)
{
    (void)state;
    static const char *const values[] = {
        "\"a \\\" ]}\"",
        "12.5e3",
        "true",
        "{}",
        "[]",
        "[1, 2]",
        "{\"a\": [{}, \"}\"]}",
        "[[[[]]], {\"x\": \"\\\\\"}]",
    };
    static const char *const behind[] = {",", "]", "}", " ", "\n"};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        for (size_t b = 0; b < sizeof behind / sizeof *behind; b++) {
            char whole[128];
            const size_t length = (size_t)snprintf(whole, sizeof whole, " %s", values[v]);
            strcat(whole, behind[b]);
            for (size_t n = 0; n <= length + 1; n++) {
                char *piece =
                    calloc(1, n + 1); /* so that a sanitizer sees what is read behind it */
                memcpy(piece, whole, n);
                struct json_text text = {piece, piece + n, false, "nothing"};
                struct json_span span;
                const bool word = strchr("[{\"", values[v][0]) == NULL;
                const bool found = lull_json_take_value(&text, &span);
                fail_if(found != (n >= length + word), "%.*s", (int)n, whole);
                if (found) {
                    assert_ptr_equal(text.at, piece + length);
                } else {
                    assert_null(text.what);
                }
                free(piece);
            }
        }
    }
}

static void test_wrong_values(void **state)
{
    (void)state;
    static const char *const texts[] = {",", "]", "[}]", "{\"a\": (]}", "}", ":"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct json_text text = {texts[i], texts[i] + strlen(texts[i]), true, NULL};
        struct json_span span;
        fail_if(lull_json_take_value(&text, &span) || !text.what, "%s", texts[i]);
    }
}

TEST_GROUP(test_kineto_json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),       cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_drawn_times), cmocka_unit_test(test_strings),
        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_wrong_values),
    };
    return run_cases(tests, NULL, NULL);
}
