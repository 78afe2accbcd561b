/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include "base/arena.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== numbers ================================================================================= */

lull_status lull_parse_u64(const char *text, size_t length, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (length == 0)
        return LULL_ERR_RANGE;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return LULL_ERR_RANGE;
    }
    *ret_value = value;
    return LULL_OK;
}

lull_status lull_parse_real(const char *text, double *ret_value)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return LULL_ERR_RANGE;
    *ret_value = value;
    return LULL_OK;
}

struct unit {
    const char *name;
    double factor;
};

static const struct unit time_units[] = {
    {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9},
};

static const struct unit size_units[] = {
    {"B", 1},     {"kB", 1e3},   {"KB", 1e3},      {"MB", 1e6},         {"GB", 1e9},
    {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776},
};

/* The number at the start of `text`; strtod alone would take "inf", "nan" and hexadecimal. */
static bool leading_number(const char *text, double *ret_value, const char **ret_rest)
{
    const char *digits = text + (*text == '+' || *text == '-');
    if (strspn(digits, ".0123456789") == 0 ||
        (digits[0] == '0' && strchr("xX", digits[1]) && digits[1]))
        return false;
    char *rest;
    errno = 0;
    double value = strtod(text, &rest);
    if (rest == text || errno == ERANGE || !isfinite(value))
        return false;
    *ret_value = value;
    *ret_rest = rest;
    return true;
}

static bool find_unit(const char *name, const struct unit *units, size_t count, double *ret_factor)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(units[i].name, name) == 0) {
            *ret_factor = units[i].factor;
            return true;
        }
    return false;
}

lull_status lull_parse_time_real(const char *text, double bare_ns, double *ret_ns,
                                 struct lull_error *err)
{
    double value, factor = bare_ns;
    const char *unit;
    if (!leading_number(text, &value, &unit) ||
        (*unit && !find_unit(unit, time_units, sizeof time_units / sizeof *time_units, &factor)))
        return lull_fail(err, LULL_ERR_RANGE,
                         "'%s' is no time, expected a number with ns, us, ms, s, min or h", text);
    double ns = value * factor;
    if (fabs(ns) >= 9.2e18)
        return lull_fail(err, LULL_ERR_RANGE, "'%s' is too long a time", text);
    *ret_ns = ns;
    return LULL_OK;
}

lull_status lull_parse_time(const char *text, double bare_ns, int64_t *ret_ns,
                            struct lull_error *err)
{
    double ns;
    lull_status status = lull_parse_time_real(text, bare_ns, &ns, err);
    if (status == LULL_OK)
        *ret_ns = llround(ns);
    return status;
}

lull_status lull_parse_size(const char *text, uint64_t *ret_bytes, struct lull_error *err)
{
    double value, factor = 1;
    const char *unit;
    if (!leading_number(text, &value, &unit) || value < 0 ||
        (*unit && !find_unit(unit, size_units, sizeof size_units / sizeof *size_units, &factor)))
        return lull_fail(err, LULL_ERR_RANGE,
                         "'%s' is no size, expected a number with B, kB, MB, GB, KiB, MiB or GiB",
                         text);
    double bytes = value * factor;
    if (bytes >= 0x1p64)
        return lull_fail(err, LULL_ERR_RANGE, "'%s' is too large a size", text);
    *ret_bytes = (uint64_t)round(bytes);
    return LULL_OK;
}

const char **lull_split(const char *text, const char *separators, struct lull_arena *arena,
                        size_t *ret_count)
{
    size_t capacity = 0, count = 0;
    const char **pieces = NULL;
    while (text) {
        size_t length = strcspn(text, separators);
        pieces = lull_arena_grow(arena, pieces, &capacity, count + 2, sizeof *pieces);
        pieces[count++] = lull_arena_strndup(arena, text, length);
        pieces[count] = NULL;
        text = text[length] ? text + length + 1 : NULL;
    }
    *ret_count = count;
    return pieces;
}

/* Three decimals' worth of digits: 1.234, 12.34, 123.4. */
static const char *format_scaled(double value, const char *unit, char *buffer, size_t size)
{
    double magnitude = fabs(value);
    int decimals = magnitude < 9.9995 ? 3 : magnitude < 99.995 ? 2 : 1;
    snprintf(buffer, size, "%.*f %s", decimals, value, unit);
    return buffer;
}

const char *lull_format_time(int64_t ns, char *buffer, size_t size)
{
    double magnitude = fabs((double)ns);
    if (magnitude < 1e3)
        snprintf(buffer, size, "%lld ns", (long long)ns);
    else if (magnitude < 999.95e3) /* what would be printed as 1000.0 goes to the next unit */
        format_scaled((double)ns / 1e3, "us", buffer, size);
    else if (magnitude < 999.95e6)
        format_scaled((double)ns / 1e6, "ms", buffer, size);
    else
        format_scaled((double)ns / 1e9, "s", buffer, size);
    return buffer;
}

const char *lull_format_size(uint64_t bytes, char *buffer, size_t size)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(buffer, size, "%llu B", (unsigned long long)bytes);
        return buffer;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    for (; value >= 1023.95 && unit + 1 < sizeof names / sizeof *names; unit++)
        value /= 1024;
    return format_scaled(value, names[unit], buffer, size);
}

const char *lull_format_count(uint64_t count, char *buffer, size_t size)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t out = 0;
    for (int i = 0; i < length; i++) {
        bool comma = i > 0 && (length - i) % 3 == 0;
        if (out + comma + 1 >= size)
            break;
        if (comma)
            buffer[out++] = ',';
        buffer[out++] = digits[i];
    }
    if (size > 0)
        buffer[out] = '\0';
    return buffer;
}

const char *lull_format_quantity(double value, const char *unit, char *buffer, size_t size)
{
    static const char *const prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P"};
    enum { NONE = 4, PREFIXES = sizeof prefixes / sizeof *prefixes };
    if (!isfinite(value)) {
        snprintf(buffer, size, "%g %s", value, unit);
        return buffer;
    }
    /* Rounded to four digits first, so that 999.96 becomes 1.000 k. */
    char digits[32];
    snprintf(digits, sizeof digits, "%.3e", value);
    int exponent = value != 0 ? atoi(strchr(digits, 'e') + 1) : 0;
    int step = exponent >= 0 ? exponent / 3 : -((2 - exponent) / 3);
    step = step < -NONE ? -NONE : step > PREFIXES - 1 - NONE ? PREFIXES - 1 - NONE : step;
    int decimals = 3 - (exponent - 3 * step);
    decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    snprintf(buffer, size, "%.*f %s%s", decimals, value * pow(1000, -step), prefixes[step + NONE],
             unit);
    return buffer;
}

/* ==== values of options ======================================================================= */

/* "additive, multiplicative or all" */
static void join(const char *const *words, char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; words[i]; i++) {
        const char *joint = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        int added = snprintf(text + length, size - length, "%s%s", joint, words[i]);
        length += added > 0 && (size_t)added < size - length ? (size_t)added : 0;
    }
}

lull_status lull_option_word(const char *name, const char *value, const char *const *words,
                             unsigned *ret_number, struct lull_error *err)
{
    *ret_number = 0;
    for (unsigned i = 0; value && words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            *ret_number = i + 1;
    if (!value || *ret_number)
        return LULL_OK;
    char expected[256] = "";
    join(words, expected, sizeof expected);
    return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %s", name, value, expected);
}

lull_status lull_option_number(const char *name, const char *text, uint64_t least, uint64_t most,
                               uint64_t *value, struct lull_error *err)
{
    uint64_t number;
    if (!text)
        return LULL_OK;
    if (lull_parse_u64(text, strlen(text), &number) != LULL_OK || number < least || number > most)
        return most == UINT64_MAX ? lull_fail(err, LULL_ERR_RANGE,
                                              "--%s is '%s', expected a whole number", name, text)
                                  : lull_fail(err, LULL_ERR_RANGE,
                                              "--%s is '%s', expected %" PRIu64 " to %" PRIu64,
                                              name, text, least, most);
    *value = number;
    return LULL_OK;
}

lull_status lull_option_real(const char *name, const char *text, double least, double *value,
                             struct lull_error *err)
{
    double number;
    if (!text)
        return LULL_OK;
    if (lull_parse_real(text, &number) != LULL_OK || number < least)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected a number from %g up", name,
                         text, least);
    *value = number;
    return LULL_OK;
}

lull_status lull_option_percent(const char *name, const char *text, double least, double most,
                                double *value, struct lull_error *err)
{
    double percent;
    if (!text)
        return LULL_OK;
    if (lull_parse_real(text, &percent) != LULL_OK || percent < least || percent > most)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %g to %g percent", name, text,
                         least, most);
    *value = percent / 100;
    return LULL_OK;
}

lull_status lull_option_size(const char *name, const char *text, uint64_t least,
                             const char *expected, uint64_t *value, struct lull_error *err)
{
    uint64_t bytes;
    if (!text)
        return LULL_OK;
    if (lull_parse_size(text, &bytes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--%s", name);
    if (bytes < least)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %s", name, text, expected);
    *value = bytes;
    return LULL_OK;
}

lull_status lull_option_time(const char *name, const char *text, int64_t least,
                             const char *expected, int64_t *value, struct lull_error *err)
{
    int64_t ns;
    if (!text)
        return LULL_OK;
    if (lull_parse_time(text, 1, &ns, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--%s", name);
    if (ns < least)
        return lull_fail(err, LULL_ERR_RANGE, "--%s is '%s', expected %s", name, text, expected);
    *value = ns;
    return LULL_OK;
}

/* ==== similar words =========================================================================== */

#define LONGEST 32 /* of words that are looked at */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, remove, replace, swap neighbours) that lead from one word to the other: the
 * restricted Damerau-Levenshtein distance, row by row. */
static size_t distance(const char *from, const char *to)
{
    size_t n = strlen(from), m = strlen(to);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] =
                least(above[j - 1] + (from[i - 1] != to[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *lull_suggest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 1 + strlen(word) / 3; /* farther ones would only confuse */
    for (size_t i = 0; i < count; i++) {
        if (!candidates[i])
            continue;
        size_t edits = distance(word, candidates[i]);
        if (edits <= best_distance && (!best || edits < best_distance)) {
            best = candidates[i];
            best_distance = edits;
        }
    }
    return best;
}

/* ==== characters ============================================================================== */

size_t lull_utf8_decode(const char *text, uint32_t *ret_code)
{
    static const struct {
        uint8_t mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t length = 1; length <= 4; length++) {
        if ((bytes[0] & forms[length - 1].mask) != forms[length - 1].lead)
            continue;
        uint32_t code = bytes[0] & (uint8_t)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if ((bytes[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (bytes[i] & 0x3f);
        }
        if (code < forms[length - 1].least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return 0;
        *ret_code = code;
        return length;
    }
    return 0;
}

bool lull_utf8_is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t lull_utf8_clean(const char **text, char piece[LULL_UTF8_PIECE])
{
    static const char digits[] = "0123456789abcdef";
    const char *from = *text;
    uint32_t code = 0;
    size_t bytes = lull_utf8_decode(from, &code), length = 0;
    *text += bytes ? bytes : 1;
    if (bytes == 1 && (code == '\n' || code == '\t')) {
        *piece = ' ';
        return 1;
    }
    if (bytes > 0 && !lull_utf8_is_control(code)) {
        memcpy(piece, from, bytes);
        return bytes;
    }
    for (; from < *text; from++) {
        const uint8_t byte = (uint8_t)*from;
        const char shown[] = {'\\', 'x', digits[byte >> 4], digits[byte & 0xf]};
        memcpy(piece + length, shown, sizeof shown);
        length += sizeof shown;
    }
    return length;
}
