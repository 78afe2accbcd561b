/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/format/kineto/json_text.h"

/* ==== values ================================================================================== */

static bool take_json_string(struct json_text *text, struct json_span *ret_string)
{
    json_skip_space(text);
    if (*text->at != '"')
        return json_wrong(text, "expected a string");
    const char *begin = text->at + 1, *at = begin;
    bool escaped = false;
    for (;;) {
        while (*at != '"' && *at != '\\' && *at != '\0')
            at++;
        if (*at == '"')
            break;
        if (at == text->end || (*at == '\\' && at + 1 == text->end)) {
            text->what = NULL;
            return false;
        }
        escaped |= *at == '\\';
        at += *at == '\\' ? 2 : 1;
    }
    if (at - begin > INT32_MAX)
        return json_wrong(text, "a string is longer than 2 GiB");
    *ret_string = (struct json_span){begin, (uint32_t)(at - begin), true, escaped};
    text->at = at + 1;
    return true;
}

enum { ORDINARY, QUOTE, OPENS, CLOSES, NUL };

static const uint8_t classes[256] = {
    ['"'] = QUOTE, ['['] = OPENS, ['{'] = OPENS, [']'] = CLOSES, ['}'] = CLOSES, ['\0'] = NUL};

enum { DEEPEST = 64 };

/* A list or an object. */
static bool take_nested(struct json_text *text, struct json_span *ret_value)
{
    const char *begin = text->at;
    uint64_t lists = 0; /* bit k: at depth k is a list */
    unsigned depth = 0;
    struct json_span string;
    do {
        const uint8_t is = classes[(unsigned char)*text->at];
        if (is == ORDINARY) {
            text->at++;
        } else if (is == QUOTE) {
            if (!take_json_string(text, &string))
                return false;
        } else if (is == OPENS) {
            if (depth == DEEPEST)
                return json_wrong(text, "nested more than 64 deep");
            lists = lists << 1 | (*text->at++ == '[');
            depth++;
        } else if (is == CLOSES) {
            if ((*text->at == ']') != (lists & 1))
                return json_wrong(text, "a bracket closes what another one has opened");
            lists >>= 1;
            depth--;
            text->at++;
        } else {
            return json_wrong(text, "expected a value, found a NUL");
        }
    } while (depth > 0);
    if (text->at - begin > INT32_MAX)
        return json_wrong(text, "a value is longer than 2 GiB");
    *ret_value = (struct json_span){begin, (uint32_t)(text->at - begin), false, false};
    return true;
}

/* A number, true, false, null; also what is none of these but has no quotes, as infinities. */
static bool take_word(struct json_text *text, struct json_span *ret_value)
{
    const char *begin = text->at, *at = begin;
    while (*at > ' ' && *at != ',' && *at != ':' && classes[(unsigned char)*at] == ORDINARY)
        at++;
    if (at == text->end && !text->whole) {
        text->what = NULL;
        return false;
    }
    if (at == begin)
        return json_wrong(text, "expected a value");
    *ret_value = (struct json_span){begin, (uint32_t)(at - begin), false, false};
    text->at = at;
    return true;
}

bool lull_json_take_value(struct json_text *text, struct json_span *ret_value)
{
    json_skip_space(text);
    if (*text->at == '"')
        return take_json_string(text, ret_value);
    return *text->at == '{' || *text->at == '[' ? take_nested(text, ret_value)
                                                : take_word(text, ret_value);
}

bool lull_json_take_name(struct json_text *text, struct json_span *ret_name)
{
    return take_json_string(text, ret_name) &&
           json_take(text, ':', "expected a colon behind a name");
}

/* ==== what values mean ======================================================================== */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* digits * 10^power to the nearest whole number. */
static bool scale_by(uint64_t digits, int64_t power, uint64_t *ret_number)
{
    for (; power > 0 && digits > 0; power--)
        if (__builtin_mul_overflow(digits, 10, &digits))
            return false;
    bool up = false;
    for (; power < 0 && (digits > 0 || up); power++) {
        up = digits % 10 >= 5;
        digits /= 10;
    }
    *ret_number = digits + up;
    return true;
}

bool lull_json_read_number(const struct json_span *span, unsigned scale, int64_t *ret_number)
{
    enum {
        MOST_POWER = 1000,
        ENOUGH = 19
    }; /* more digits than a number of 64 bits has need no exact value */
    const char *at = span->begin, *end = at + span->length;
    const bool negative = at < end && *at == '-';
    uint64_t digits = 0, number;
    unsigned seen = 0, kept = 0;
    int64_t power = scale;
    bool point = false;
    for (at += negative; at < end && (is_digit(*at) || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        seen++;
        if (kept < ENOUGH) {
            digits = 10 * digits + (uint64_t)(*at - '0');
            kept += digits > 0;
            power -= point;
        } else {
            power += !point;
        }
    }
    if (seen == 0)
        return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        int64_t exponent = 0;
        at++;
        const bool minus = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        if (at == end)
            return false;
        for (; at < end && is_digit(*at); at++)
            exponent = exponent < MOST_POWER ? 10 * exponent + (*at - '0') : exponent;
        power += minus ? -exponent : exponent;
    }
    if (at < end || !scale_by(digits, power, &number) || number > INT64_MAX)
        return false;
    *ret_number = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

static unsigned read_hex(const char *at, const char *end, uint32_t *ret_value)
{
    uint32_t value = 0;
    unsigned i = 0;
    for (; i < 4 && at + i < end; i++) {
        const char c = at[i];
        const int digit = is_digit(c)            ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            break;
        value = value << 4 | (uint32_t)digit;
    }
    *ret_value = value;
    return i;
}

static size_t put_character(uint32_t code, char *text)
{
    if (code < 0x80) {
        text[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        text[0] = (char)(0xc0 | code >> 6);
        text[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        text[0] = (char)(0xe0 | code >> 12);
        text[1] = (char)(0x80 | (code >> 6 & 0x3f));
        text[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | code >> 18);
    text[1] = (char)(0x80 | (code >> 12 & 0x3f));
    text[2] = (char)(0x80 | (code >> 6 & 0x3f));
    text[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* What is behind "\u", also the second half of a pair of surrogates. */
static const char *take_code(const char *at, const char *end, uint32_t *ret_code)
{
    uint32_t code, low;
    const unsigned digits = read_hex(at, end, &code);
    at += digits;
    if (digits == 4 && code >= 0xd800 && code < 0xdc00 && at + 2 < end && at[0] == '\\' &&
        at[1] == 'u' && read_hex(at + 2, end, &low) == 4 && low >= 0xdc00 && low < 0xe000) {
        *ret_code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        return at + 6;
    }
    *ret_code = digits == 4 && code > 0 && (code < 0xd800 || code >= 0xe000) ? code : '?';
    return at;
}

size_t lull_json_unescape(const struct json_span *span, char *ret_text)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    const char *at = span->begin, *end = at + span->length;
    size_t length = 0;
    while (at < end) {
        if (*at != '\\' || at + 1 == end) {
            ret_text[length++] = *at ? *at : '?';
            at++;
            continue;
        }
        const char kind = at[1];
        const char *known = kind ? strchr(from, kind) : NULL;
        at += 2;
        if (kind == 'u') {
            uint32_t code;
            at = take_code(at, end, &code);
            length += put_character(code, ret_text + length);
        } else {
            ret_text[length++] = known ? to[known - from] : kind ? kind : '?';
        }
    }
    return length;
}
