/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of JSON in a piece of text that may end anywhere; internal to the Kineto format.
 *
 * Each function that takes a value moves `at` behind it. It fails where the value is wrong, and where the text ends
 * within it: `what` says which. Whoever gets more of the text tries the same value again.
 *
 * What is inside of values that nobody asks for is looked at as far as is needed to find their ends. */
#ifndef LULL_TRACE_FORMAT_KINETO_JSON_TEXT_H
#define LULL_TRACE_FORMAT_KINETO_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct json_text {
    const char *at, *end; /* *end is a NUL */
    bool whole;           /* nothing follows behind `end` */
    const char *what;     /* what is wrong at `at`; NULL: the text has ended */
};

/* A part of a text: of a string without its quotes, of any other value all of it. */
struct json_span {
    const char *begin;
    uint32_t length;
    bool string;
    bool escaped; /* a string with escapes in it */
};

/* ==== values ================================================================================== */

static inline bool json_wrong(struct json_text *text, const char *what)
{
    text->what = text->at < text->end ? what : NULL;
    return false;
}

static inline void json_skip_space(struct json_text *text)
{
    while (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' || *text->at == '\r')
        text->at++;
}

/* Takes a character behind white space. */
static inline bool json_take(struct json_text *text, char wanted, const char *what)
{
    json_skip_space(text);
    if (*text->at != wanted)
        return json_wrong(text, what);
    text->at++;
    return true;
}

/* Whether a list or an object ends here, which is then behind the text; else takes the comma before its next member,
 * unless that is the first one. A comma before the end is allowed: some versions of the profiler write it. */
static inline bool json_is_end(struct json_text *text, char end, bool first, bool *ret_end)
{
    json_skip_space(text);
    if (!first && *text->at == ',') {
        text->at++;
        json_skip_space(text);
    } else if (!first && *text->at != end) {
        return json_wrong(text, "expected a comma");
    }
    *ret_end = *text->at == end;
    if (*ret_end)
        text->at++;
    else if (text->at == text->end)
        return json_wrong(text, NULL);
    return true;
}

/* Any value. The members of lists and objects are part of the span. */
bool lull_json_take_value(struct json_text *text, struct json_span *ret_value);
/* A member's name and the colon behind it. */
bool lull_json_take_name(struct json_text *text, struct json_span *ret_name);

/* ==== what values mean ======================================================================== */

static inline bool json_is(const struct json_span *span, const char *word)
{
    return span->length == strlen(word) && memcmp(span->begin, word, span->length) == 0;
}

static inline bool json_is_object(const struct json_span *span)
{
    return span->begin && !span->string && *span->begin == '{';
}

static inline bool json_is_list(const struct json_span *span)
{
    return span->begin && !span->string && *span->begin == '[';
}

/* The span of a list or an object as a text of its own, to take its members. Its end is no NUL, but that of a value. */
static inline struct json_text json_inside(const struct json_span *span)
{
    return (struct json_text){span->begin, span->begin + span->length, true, NULL};
}

/* A number times ten to the power of `scale`, exact where it is a whole number, else rounded to the nearest one; from
 * 1234567.8915 with a scale of 3 comes 1234567892. False: it is no number, or beyond 64 bits. A number in quotes is
 * one, too. */
bool lull_json_read_number(const struct json_span *span, unsigned scale, int64_t *ret_number);

/* Writes a string without escapes, at most `span->length` bytes, and returns its length. NUL, and halves of
 * characters, become question marks. */
size_t lull_json_unescape(const struct json_span *span, char *ret_text);

#endif
