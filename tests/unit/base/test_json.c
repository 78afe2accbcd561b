/* The JSON writer against jansson's reader. */
#include "base/json.h"
#include "stats/random.h"
#include "support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static char *text;
static size_t text_size;

static void begin(struct lull_json *json, bool compact)
{
    FILE *out = open_memstream(&text, &text_size);
    assert_non_null(out);
    lull_json_begin(json, out, compact);
}

/* What was written, parsed; NULL fails the test with the text. */
static json_t *end(struct lull_json *json)
{
    assert_int_equal(fclose(json->out), 0);
    json_error_t error;
    json_t *root = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    fail_if(!root, "%s in: %s", error.text, text);
    free(text);
    return root;
}

/* ---- random values: made as jansson values, written by us, read back by jansson -------------- */

static json_t *draw(struct lull_random *random, int depth)
{
    switch (lull_random_below(random, depth > 5 ? 6 : 8)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(lull_random_below(random, 2));
    case 2:
        return json_integer((json_int_t)lull_random_u64(random) >> lull_random_below(random, 64));
    case 3:
        return json_real(
            ldexp(lull_random_uniform(random) - 0.5, (int)lull_random_below(random, 200) - 100));
    case 4:
    case 5: {
        char value[40];
        size_t length = lull_random_below(random, sizeof value);
        for (size_t i = 0; i < length; i++)
            value[i] = (char)(1 + lull_random_below(random, 127));
        return json_stringn(value, length);
    }
    case 6: {
        json_t *array = json_array();
        for (uint64_t n = lull_random_below(random, 6); n > 0; n--)
            json_array_append_new(array, draw(random, depth + 1));
        return array;
    }
    default: {
        json_t *object = json_object();
        for (uint64_t n = lull_random_below(random, 6); n > 0; n--) {
            char key[24];
            snprintf(key, sizeof key, "k\"%" PRIu64 "\n", lull_random_below(random, 1000));
            json_object_set_new(object, key, draw(random, depth + 1));
        }
        return object;
    }
    }
}

static void write_value(struct lull_json *json, json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lull_json_object_begin(json);
        json_object_foreach(value, key, item)
        {
            lull_json_key(json, key);
            write_value(json, item);
        }
        lull_json_object_end(json);
        break;
    case JSON_ARRAY:
        lull_json_array_begin(json);
        json_array_foreach(value, i, item) write_value(json, item);
        lull_json_array_end(json);
        break;
    case JSON_STRING:
        lull_json_string(json, json_string_value(value));
        break;
    case JSON_INTEGER:
        lull_json_int(json, json_integer_value(value));
        break;
    case JSON_REAL:
        lull_json_number(json, json_real_value(value));
        break;
    case JSON_NULL:
        lull_json_null(json);
        break;
    default:
        lull_json_bool(json, json_is_true(value));
        break;
    }
}

/* Equal; whether a whole number is called real or integer does not matter. */
static bool equal(json_t *a, json_t *b)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_number(a))
        return json_is_number(b) && json_number_value(a) == json_number_value(b) &&
               (!json_is_integer(a) || json_integer_value(a) == json_integer_value(b));
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_array(a)) {
        bool same = json_array_size(a) == json_array_size(b);
        json_array_foreach(a, i, item) same = same && equal(item, json_array_get(b, i));
        return same;
    }
    if (json_is_object(a)) {
        bool same = json_object_size(a) == json_object_size(b);
        json_object_foreach(a, key, item) same = same && equal(item, json_object_get(b, key));
        return same;
    }
    return json_equal(a, b);
}

static void test_random_values(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct lull_random random;
        lull_random_seed(&random, seed);
        json_t *value = draw(&random, 0);
        struct lull_json json;
        begin(&json, seed % 2);
        write_value(&json, value);
        json_t *back = end(&json);
        fail_if(!equal(value, back), "seed %" PRIu64 ": %s came back as %s", seed,
                json_dumps(value, JSON_ENCODE_ANY), json_dumps(back, JSON_ENCODE_ANY));
        json_decref(value);
        json_decref(back);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void test_doubles_are_exact(void **state)
{
    (void)state;
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.1,
                                     1e22,
                                     1e23,
                                     1e-300,
                                     5e-324,
                                     1.7976931348623157e308,
                                     100000,
                                     1e15,
                                     1e16,
                                     1e17,
                                     9007199254740993.0,
                                     1.0 / 3,
                                     2.2250738585072014e-308};
    struct lull_random random;
    lull_random_seed(&random, 3);
    enum { SPECIAL = sizeof special / sizeof *special };
    for (size_t i = 0; i < SPECIAL + 20000; i++) {
        double value = i < SPECIAL ? special[i] : 0;
        if (i >= SPECIAL) {
            uint64_t bits = lull_random_u64(&random);
            memcpy(&value, &bits, sizeof value);
            if (!isfinite(value))
                continue;
        }
        struct lull_json json;
        begin(&json, true);
        lull_json_number(&json, value);
        json_t *back = end(&json);
        double got = json_number_value(back);
        fail_if(memcmp(&got, &value, sizeof got) != 0, "%a came back as %a", value, got);
        json_decref(back);
    }
}

static void test_short_numbers_stay_short(void **state)
{
    (void)state;
    struct lull_json json;
    begin(&json, true);
    lull_json_array_begin(&json);
    lull_json_number(&json, 0.1);
    lull_json_number(&json, 98.5);
    lull_json_number(&json, 3);
    lull_json_array_end(&json);
    fclose(json.out);
    assert_string_equal(text, "[0.1,98.5,3]");
    free(text);
}

static void test_no_number(void **state)
{
    (void)state;
    struct lull_json json;
    begin(&json, true);
    lull_json_array_begin(&json);
    lull_json_number(&json, NAN);
    lull_json_number(&json, INFINITY);
    lull_json_number(&json, -INFINITY);
    lull_json_string(&json, NULL);
    lull_json_array_end(&json);
    fclose(json.out);
    assert_string_equal(text, "[null,null,null,null]");
    free(text);
}

static void test_integer_extremes(void **state)
{
    (void)state;
    struct lull_json json;
    begin(&json, true);
    lull_json_array_begin(&json);
    lull_json_int(&json, INT64_MIN);
    lull_json_int(&json, INT64_MAX);
    lull_json_uint(&json, UINT64_MAX);
    lull_json_uint(&json, 0);
    lull_json_array_end(&json);
    fclose(json.out);
    assert_string_equal(text, "[-9223372036854775808,9223372036854775807,18446744073709551615,0]");
    free(text);
}

/* ---- strings --------------------------------------------------------------------------------- */

static void check_string(const char *value, const char *expected)
{
    struct lull_json json;
    begin(&json, true);
    lull_json_string(&json, value);
    json_t *back = end(&json);
    assert_string_equal(json_string_value(back), expected);
    json_decref(back);
}

/* Each byte alone: ASCII stays, and what is no UTF-8 is taken for Latin-1. */
static void test_every_byte(void **state)
{
    (void)state;
    for (unsigned byte = 1; byte < 256; byte++) {
        char value[] = {'a', (char)byte, 'b', '\0'}, expected[8];
        if (byte < 0x80)
            snprintf(expected, sizeof expected, "a%cb", byte);
        else
            snprintf(expected, sizeof expected, "a%c%cb", 0xc0 | byte >> 6, 0x80 | (byte & 0x3f));
        check_string(value, expected);
    }
}

static void test_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "größe α 漢 𝄞",
        "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_string(good[i], good[i]);
}

/* No UTF-8 in whole or in part: every byte counts as Latin-1. */
static void test_no_utf8(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\xc0\xaf",         /* overlong */
        "\xe0\x80\xaf",     /* overlong */
        "\xf0\x80\x80\xaf", /* overlong */
        "\xed\xa0\x80",     /* surrogate */
        "\xf4\x90\x80\x80", /* beyond Unicode */
        "\xe2\x82",         /* cut */
        "\xf0\x9f\x98",     /* cut */
        "\xff\xfe",         "\xc3(", "\x80",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char expected[16];
        size_t length = 0;
        for (const char *c = bad[i]; *c; c++) {
            unsigned byte = (unsigned char)*c;
            if (byte >= 0x80)
                expected[length++] = (char)(0xc0 | byte >> 6);
            expected[length++] = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
        }
        expected[length] = '\0';
        check_string(bad[i], expected);
    }
}

/* Whatever the bytes are, the result is JSON. */
static void test_random_bytes(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, 4);
    for (int round = 0; round < 20000; round++) {
        char value[13];
        size_t length = lull_random_below(&random, sizeof value);
        for (size_t i = 0; i < length; i++)
            value[i] = (char)(1 + lull_random_below(&random, 255));
        value[length] = '\0';
        struct lull_json json;
        begin(&json, true);
        lull_json_string(&json, value);
        json_decref(end(&json));
    }
}

static void test_layout(void **state)
{
    (void)state;
    struct lull_json json;
    begin(&json, false);
    lull_json_object_begin(&json);
    lull_json_key(&json, "a");
    lull_json_array_begin(&json);
    lull_json_int(&json, 1);
    lull_json_object_begin(&json);
    lull_json_object_end(&json);
    lull_json_array_end(&json);
    lull_json_key(&json, "b");
    lull_json_bool(&json, false);
    lull_json_object_end(&json);
    fclose(json.out);
    assert_string_equal(text, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": false\n}\n");
    free(text);
}

TEST_GROUP(test_json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_values),
        cmocka_unit_test(test_doubles_are_exact),
        cmocka_unit_test(test_short_numbers_stay_short),
        cmocka_unit_test(test_no_number),
        cmocka_unit_test(test_integer_extremes),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_no_utf8),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_layout),
    };
    return run_cases(tests, NULL, NULL);
}
